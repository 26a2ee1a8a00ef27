/* The simulated step of a plan as a picture: jobs of the simulator become events of runtime/formats/timeline.h. */

#include "runtime/plan/clock/timeline.h"

#include "runtime/base/text.h"
#include "runtime/formats/timeline.h"
#include "runtime/plan/clock/liveness.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"

#include <stdio.h>

static int chunk_of(const zb_plan *plan, int stage) {
  int chunk = 0;
  for (int s = 0; s < stage; ++s)
    chunk += plan->stage_rank[s] == plan->stage_rank[stage];
  return chunk;
}

static bool event_of(const zb_plan *plan, const int *chunks, int rank, const zb_plan_job *job,
                     const zb_plan_times *times, zb_event *out) {
  const char letter = zb_job_letter(job->kind);
  if (!letter) return false;
  *out = (zb_event){.rank = rank,
                    .kind = letter,
                    .stage = job->stage,
                    .micro_batch = job->micro_batch,
                    .message = job->message,
                    .start_ps = times->start_ps,
                    .end_ps = times->end_ps};
  out->lane = !zb_job_is_post(job->kind)               ? ZB_LANE_COMPUTE
              : zb_job_flow(job->kind) == ZB_PARTS_OUT ? ZB_LANE_SEND
                                                       : ZB_LANE_RECV;
  if (job->stage >= 0 && job->stage < plan->stage_count) out->chunk = chunks[job->stage];
  if (job->subprogram >= 0) out->flops = plan->ranks[rank].subprograms[job->subprogram].flops;
  if (job->message >= 0) out->bytes = plan->messages[job->message].bytes;
  return true;
}

/* What a rank has in use while each compute job runs, from its start on. */
static zb_status sample_memory(const zb_plan *plan, int rank, const zb_plan_times *times, zb_memory_sample *out,
                               size_t *count) {
  zb_liveness liveness;
  ZB_TRY(zb_liveness_init(plan, rank, &liveness));
  for (int j = plan->ranks[rank].load_count; j < plan->ranks[rank].job_count; ++j)
    if (zb_job_is_compute(plan->ranks[rank].jobs[j].kind))
      out[(*count)++] = (zb_memory_sample){rank, times[j].start_ps, liveness.use_bytes[j]};
  zb_liveness_deinit(&liveness);
  return NULL;
}

/* A plan without collectives. */
static zb_status draw(const zb_plan *plan, const char *path) {
  zb_plan_simulation simulation;
  ZB_TRY(zb_plan_simulate(plan, &simulation));
  size_t total = 0, count = 0, samples = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    total += (size_t)plan->ranks[r].job_count;
  zb_event *events = zb_alloc((total + 1) * sizeof *events);
  zb_memory_sample *memory = zb_alloc((total + 1) * sizeof *memory);
  int *chunks = zb_alloc(((size_t)plan->stage_count + 1) * sizeof *chunks);
  zb_status status = NULL;
  if (!events || !memory || !chunks) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int s = 0; s < plan->stage_count; ++s)
    chunks[s] = chunk_of(plan, s);
  for (int r = 0; r < plan->rank_count; ++r)
    for (int j = plan->ranks[r].load_count; j < plan->ranks[r].job_count; ++j)
      count += event_of(plan, chunks, r, &plan->ranks[r].jobs[j], &simulation.jobs[r][j], &events[count]);
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY_GOTO(sample_memory(plan, r, simulation.jobs[r], memory, &samples));
  char title[160];
  snprintf(title, sizeof title, "%s, %d ranks, %d micro-batches (simulated)", plan->schedule, plan->rank_count,
           plan->micro_batches);
  zb_timeline timeline = {.title = title,
                          .note = "simulated, zb " ZB_VERSION,
                          .ranks = plan->rank_count,
                          .chunks = plan->chunk_count,
                          .events = events,
                          .event_count = (int64_t)count,
                          .memory = memory,
                          .memory_count = (int64_t)samples};
  ZB_TRY_GOTO(zb_ends_with(path, ".svg") ? zb_timeline_svg(&timeline, path) : zb_timeline_chrome(&timeline, path));
cleanup:
  zb_free(events);
  zb_free(memory);
  zb_free(chunks);
  zb_plan_simulation_free(&simulation);
  return status;
}

zb_status zb_plan_timeline(const zb_plan *plan, const char *path) {
  zb_plan *view = NULL, *expanded = NULL;
  zb_status status = NULL;
  if (!zb_ends_with(path, ".svg") && !zb_ends_with(path, ".json"))
    return zb_status_hint(ZB_ERROR(USAGE, "cannot tell what picture '%s' is", path),
                          "end it with .svg, or with .json for a Chrome trace");
  if (plan->evaluates) ZB_TRY(zb_plan_view(plan, ZB_LIST_STEP, &view));
  const zb_plan *step = view ? view : plan;
  ZB_TRY_GOTO(zb_plan_expand(step, &expanded));
  status = draw(expanded ? expanded : step, path);
cleanup:
  zb_plan_destroy(expanded);
  zb_plan_destroy(view);
  return status;
}
