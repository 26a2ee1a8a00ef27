/* Timelines of real and simulated runs: what the executors recorded, as events of runtime/formats/timeline.h. Tests:
 * test/runtime/exec. */
#include "runtime/base/memory.h"
#include "runtime/formats/timeline.h"
#include "runtime/exec/session_group.h"

#include <stdio.h>
#include <string.h>

typedef struct recording {
  zb_event *events;
  size_t event_count, event_capacity;
  zb_memory_sample *memory;
  size_t memory_count, memory_capacity;
} recording;

static int chunk_of(const zb_plan *plan, int stage) {
  int chunk = 0;
  for (int i = 0; i < stage; ++i)
    if (plan->stage_rank[i] == plan->stage_rank[stage]) ++chunk;
  return chunk;
}

static zb_status add_event(const zb_session *session, const zb_executor *e, int index, recording *r) {
  const zb_plan *plan = session->plan;
  const zb_plan_job *job = &e->program->jobs[index];
  const char letter = zb_job_letter(job->kind);
  if (!letter) return NULL;
  if (!zb_grow((void **)&r->events, &r->event_capacity, r->event_count + 1, sizeof(zb_event)))
    return ZB_OUT_OF_MEMORY();
  const zb_plan_message *message = job->message >= 0 ? &plan->messages[job->message] : NULL;
  const zb_transport_def *transport = session->transport_def;
  int64_t start = message && transport->start_ps ? transport->start_ps(session->transport, e->params.rank, job->message)
                                                 : e->times[index].start_ps;
  int64_t end =
      message ? transport->complete_ps(session->transport, e->params.rank, job->message) : e->times[index].end_ps;
  r->events[r->event_count++] = (zb_event){
      .rank = e->params.rank,
      .lane = !message                                 ? ZB_LANE_COMPUTE
              : zb_job_flow(job->kind) == ZB_PARTS_OUT ? ZB_LANE_SEND
                                                       : ZB_LANE_RECV,
      .kind = letter,
      .stage = job->stage,
      .chunk = job->stage >= 0 ? chunk_of(plan, job->stage) : 0,
      .micro_batch = job->micro_batch,
      .message = job->message,
      .start_ps = start - session->step_start_ps,
      .end_ps = end - session->step_start_ps,
      .bytes = message ? message->bytes : 0,
      .flops = job->subprogram >= 0 ? e->program->subprograms[job->subprogram].flops : 0,
  };
  return NULL;
}

static zb_status add_rank(const zb_session *session, const zb_executor *e, recording *r) {
  zb_liveness liveness;
  ZB_TRY(zb_liveness_init(session->plan, e->params.rank, &liveness));
  zb_status status = NULL;
  for (int i = e->program->load_count; i < e->program->job_count; ++i) {
    ZB_TRY_GOTO(add_event(session, e, i, r));
    if (!zb_job_is_compute(e->program->jobs[i].kind)) continue;
    if (!zb_grow((void **)&r->memory, &r->memory_capacity, r->memory_count + 1, sizeof(zb_memory_sample))) {
      status = ZB_OUT_OF_MEMORY();
      goto cleanup;
    }
    r->memory[r->memory_count++] =
        (zb_memory_sample){e->params.rank, e->times[i].start_ps - session->step_start_ps, liveness.use_bytes[i]};
  }
cleanup:
  zb_liveness_deinit(&liveness);
  return status;
}

/* What all processes recorded, at process 0; elsewhere nothing (*out_events is NULL). */
static zb_status gather_recordings(zb_session *session, const recording *mine, zb_event **out_events,
                                   size_t *event_bytes, zb_memory_sample **out_memory, size_t *memory_bytes) {
  void *events = NULL, *memory = NULL;
  zb_status status =
      zb_session_gather(session, mine->events, mine->event_count * sizeof(zb_event), &events, event_bytes);
  if (!status)
    status =
        zb_session_gather(session, mine->memory, mine->memory_count * sizeof(zb_memory_sample), &memory, memory_bytes);
  *out_events = events;
  *out_memory = memory;
  return status;
}

/* When a rank began the step, on the clock of process 0. */
static int64_t start_of(const zb_session *session, int rank) {
  int process = zb_group_process_of(session->plan->rank_count, session->processes, rank);
  return session->times[rank].start_ps + (session->clock_ps ? session->clock_ps[process] : 0);
}

/* Times of each process count from its own start of the step; here they come to count from the first start of all. */
static void align(const zb_session *session, zb_event *events, size_t event_count, zb_memory_sample *memory,
                  size_t memory_count) {
  int64_t first_ps = INT64_MAX;
  if (session->processes == 1 || !events) return;
  for (int rank = 0; rank < session->plan->rank_count; ++rank)
    if (start_of(session, rank) < first_ps) first_ps = start_of(session, rank);
  for (size_t i = 0; i < event_count; ++i) {
    events[i].start_ps += start_of(session, events[i].rank) - first_ps;
    events[i].end_ps += start_of(session, events[i].rank) - first_ps;
  }
  for (size_t i = 0; memory && i < memory_count; ++i)
    memory[i].time_ps += start_of(session, memory[i].rank) - first_ps;
}

static zb_status record_here(const zb_session *session, recording *r) {
  if (!session->params.trace) return ZB_ERROR(USAGE, "the session records no times: set trace in its parameters");
  if (session->steps_here == 0 || session->failed) return ZB_ERROR(USAGE, "there is no timeline before a step");
  for (int i = 0; i < session->executor_count; ++i)
    ZB_TRY(add_rank(session, &session->executors[i], r));
  return NULL;
}

static zb_status write_timeline(zb_session *session, const char *path,
                                zb_status (*write)(const zb_timeline *timeline, const char *path)) {
  zb_status status = NULL;
  recording r = {0};
  zb_event *events = NULL;
  zb_memory_sample *memory = NULL;
  size_t event_bytes = 0, memory_bytes = 0;
  char title[256], note[256];
  ZB_TRY_GOTO(zb_session_agree(session, record_here(session, &r)));
  ZB_TRY_GOTO(gather_recordings(session, &r, &events, &event_bytes, &memory, &memory_bytes));
  snprintf(title, sizeof title, "%s, %d ranks, %d micro-batches (%s, step %lld)",
           session->plan->schedule ? session->plan->schedule : "plan", session->plan->rank_count,
           session->plan->micro_batches, session->device->name, (long long)session->steps);
  const char *clock = session->device->virtual_clock ? "virtual clock"
                      : session->device->queue       ? "events of the GPU, one clock for all ranks"
                                                     : "one monotonic clock for all ranks";
  align(session, events, event_bytes / sizeof *events, memory, memory_bytes / sizeof *memory);
  if (session->clock_error_ps > 0)
    snprintf(note, sizeof note, "clocks of %d processes, compared to within %.0f us, zb %s", session->processes,
             (double)session->clock_error_ps / 1e6, ZB_VERSION);
  else
    snprintf(note, sizeof note, "%s, zb %s", clock, ZB_VERSION);
  zb_timeline timeline = {
      .title = title,
      .note = note,
      .ranks = session->plan->rank_count,
      .chunks = session->plan->chunk_count,
      .events = events,
      .event_count = (int64_t)(event_bytes / sizeof *events),
      .memory = memory,
      .memory_count = (int64_t)(memory_bytes / sizeof *memory),
  };
  status = zb_session_agree(session, session->process == 0 ? write(&timeline, path) : NULL);
cleanup:
  zb_free(events);
  zb_free(memory);
  zb_free(r.events);
  zb_free(r.memory);
  return status;
}

zb_status zb_session_timeline(zb_session *session, const char *path_svg) {
  return write_timeline(session, path_svg, zb_timeline_svg);
}

zb_status zb_session_trace(zb_session *session, const char *path_json) {
  return write_timeline(session, path_json, zb_timeline_chrome);
}
