/* Timelines of real and simulated runs: what the executors recorded, as events of runtime/formats/timeline.h. Tests:
 * test/runtime/exec. */
#include "runtime/formats/timeline.h"
#include "runtime/exec/session_group.h"

#include <stdio.h>

typedef struct recording {
  zb_arena arena;
  ZB_LIST(zb_event) events;
  ZB_LIST(zb_memory_sample) memory;
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
  const zb_plan_message *message = job->message >= 0 ? &plan->messages[job->message] : NULL;
  const zb_transport_def *transport = session->transport_def;
  int64_t start = message && transport->start_ps ? transport->start_ps(session->transport, e->params.rank, job->message)
                                                 : e->times[index].start_ps;
  int64_t end =
      message ? transport->complete_ps(session->transport, e->params.rank, job->message) : e->times[index].end_ps;
  const zb_event event = {
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
  return ZB_PUSH(&r->arena, &r->events, event) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status add_rank(const zb_session *session, const zb_executor *e, recording *r) {
  zb_liveness liveness;
  ZB_TRY(zb_liveness_init(session->plan, e->params.rank, &liveness));
  zb_status status = NULL;
  for (int i = e->program->load_count; i < zb_plan_step_end(e->program); ++i) {
    zb_memory_sample use = {e->params.rank, e->times[i].start_ps - session->step_start_ps, liveness.use_bytes[i]};
    ZB_TRY_GOTO(add_event(session, e, i, r));
    if (zb_job_is_compute(e->program->jobs[i].kind) && !ZB_PUSH(&r->arena, &r->memory, use))
      ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
cleanup:
  zb_liveness_deinit(&liveness);
  return status;
}

/* What all processes recorded, at process 0; elsewhere *out has no items. To be released with zb_free. */
static zb_status gather_recordings(zb_session *session, const recording *mine, recording *out) {
  void *events = NULL, *memory = NULL;
  size_t event_bytes = mine->events.count * sizeof(zb_event),
         memory_bytes = mine->memory.count * sizeof(zb_memory_sample);
  zb_status status = zb_session_gather(session, mine->events.items, event_bytes, &events, &event_bytes);
  if (!status) status = zb_session_gather(session, mine->memory.items, memory_bytes, &memory, &memory_bytes);
  out->events.items = events;
  out->events.count = event_bytes / sizeof(zb_event);
  out->memory.items = memory;
  out->memory.count = memory_bytes / sizeof(zb_memory_sample);
  return status;
}

/* When a rank began the step, on the clock of process 0. */
static int64_t start_of(const zb_session *session, int rank) {
  int process = zb_group_process_of(session->plan->rank_count, session->processes, rank);
  return session->times[rank].start_ps + (session->clock_ps ? session->clock_ps[process] : 0);
}

static int64_t first_start(const zb_session *session) {
  int64_t first_ps = INT64_MAX;
  for (int rank = 0; rank < session->plan->rank_count; ++rank)
    if (start_of(session, rank) < first_ps) first_ps = start_of(session, rank);
  return first_ps;
}

int64_t zb_session_shift_of(const zb_session *session, int rank) {
  return session->processes == 1 ? 0 : start_of(session, rank) - first_start(session);
}

/* Times of each process count from its own start of the step; here they come to count from the first start of all. */
static void align(const zb_session *session, recording *r) {
  if (session->processes == 1 || !r->events.items) return;
  const int64_t first_ps = first_start(session);
  for (size_t i = 0; i < r->events.count; ++i) {
    r->events.items[i].start_ps += start_of(session, r->events.items[i].rank) - first_ps;
    r->events.items[i].end_ps += start_of(session, r->events.items[i].rank) - first_ps;
  }
  for (size_t i = 0; r->memory.items && i < r->memory.count; ++i)
    r->memory.items[i].time_ps += start_of(session, r->memory.items[i].rank) - first_ps;
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
  recording mine = {0}, all = {0};
  char title[256], note[256];
  ZB_TRY_GOTO(zb_session_agree(session, record_here(session, &mine)));
  ZB_TRY_GOTO(gather_recordings(session, &mine, &all));
  snprintf(title, sizeof title, "%s, %d ranks, %d micro-batches (%s, step %lld)",
           session->plan->schedule ? session->plan->schedule : "plan", session->plan->rank_count,
           session->plan->micro_batches, session->device->name, (long long)session->steps);
  const char *clock = session->device->virtual_clock ? "virtual clock"
                      : session->device->queue       ? "events of the GPU, one clock for all ranks"
                                                     : "one monotonic clock for all ranks";
  align(session, &all);
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
      .events = all.events.items,
      .event_count = (int64_t)all.events.count,
      .memory = all.memory.items,
      .memory_count = (int64_t)all.memory.count,
  };
  status = zb_session_agree(session, session->process == 0 ? write(&timeline, path) : NULL);
cleanup:
  zb_free(all.events.items);
  zb_free(all.memory.items);
  zb_arena_deinit(&mine.arena);
  return status;
}

zb_status zb_session_timeline(zb_session *session, const char *path_svg) {
  return write_timeline(session, path_svg, zb_timeline_svg);
}

zb_status zb_session_trace(zb_session *session, const char *path_json) {
  return write_timeline(session, path_json, zb_timeline_chrome);
}
