/* Why ranks idled in the last step of a session (zb/explain.h): what the executors recorded becomes the pace of the
 * plan (runtime/plan/clock/explain.h), which is then simulated without one cause after the other.
 *
 * Of a rank's time between two jobs, the part in which it waited for messages follows from the pace of all ranks; what
 * is beyond is the interpreter's. A pace takes the middle (the median) of what jobs of one subprogram took, and so on:
 * a job that took longer by chance, and all that waited for it, is noise. On a virtual clock all of them are equal, and
 * what was measured is what the plan says, to the picosecond. The first run of a subprogram in a step is kept apart.
 * Tests: test/runtime/exec/explain_test.c, test/e2e/explain.py. */
#include "runtime/plan/clock/explain.h"
#include "runtime/exec/session_group.h"
#include "runtime/plan/mesh/mesh.h"

#include <stdlib.h>

/* Of one job; times from the start of the step on this process. The last of a rank stands for the end of its jobs. */
struct zb_job_record {
  int64_t start_ps, end_ps, waited_ps;
  int64_t complete_ps; /* of a post: when its message was complete here */
};
typedef zb_job_record job_record;

/* ---- What was recorded ---- */

static void record_rank(const zb_session *session, const zb_executor *e, job_record *out) {
  const zb_transport_def *transport = session->transport_def;
  const int64_t begin_ps = session->step_start_ps;
  const zb_plan_rank *rank = e->program;
  const int count = zb_plan_step_end(rank);
  int64_t before = 0;
  for (int i = rank->load_count; i < count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const bool timed = e->times[i].end_ps != 0 || session->device->virtual_clock; /* a queue may not time all jobs */
    out[i].start_ps = timed ? e->times[i].start_ps - begin_ps : before;
    out[i].end_ps = before = timed ? e->times[i].end_ps - begin_ps : before;
    out[i].waited_ps = e->waited_ps[i];
    if (job->message >= 0)
      out[i].complete_ps = transport->complete_ps(session->transport, e->params.rank, job->message) - begin_ps;
  }
  out[count] = (job_record){e->ended_ps - begin_ps, e->ended_ps - begin_ps, e->waited_end_ps, 0};
}

static size_t records_of(const zb_plan *plan, int first, int count) {
  size_t records = 0;
  for (int r = first; r < first + count; ++r)
    records += (size_t)zb_plan_step_end(&plan->ranks[r]) + 1;
  return records;
}

zb_status zb_session_init_records(zb_session *session) {
  ZB_TAKE(&session->memory, session->records, records_of(session->plan, session->first_rank, session->rank_count));
  return zb_arena_status(&session->memory);
}

void zb_session_record_step(zb_session *session) {
  job_record *at = session->records;
  for (int i = 0; at && i < session->executor_count; ++i) {
    record_rank(session, &session->executors[i], at);
    at += zb_plan_step_end(session->executors[i].program) + 1;
  }
}

/* ---- Middles ---- */

/* Numbers that stand for one thing, by `thing` and `size`; each is replaced by their median. */
typedef struct sample {
  uint64_t thing, size;
  int64_t value, *to;
} sample;
typedef ZB_LIST(sample) samples;

enum thing { COMPUTE, FIRST, READ, POST, AFTER, WAKE, MESSAGE };

static uint64_t thing_of(enum thing what, int rank, int which) {
  return (uint64_t)what << 60 | (uint64_t)(uint32_t)rank << 32 | (uint32_t)which;
}

static int compare(const void *a, const void *b) {
  const sample *x = a, *y = b;
  if (x->thing != y->thing) return x->thing < y->thing ? -1 : 1;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  return (x->value > y->value) - (x->value < y->value);
}

static void take_middles(samples *list) {
  if (list->count) qsort(list->items, list->count, sizeof *list->items, compare);
  for (size_t i = 0, end; i < list->count; i = end) {
    for (end = i; end < list->count && list->items[end].thing == list->items[i].thing &&
                  list->items[end].size == list->items[i].size;
         ++end) {
    }
    for (size_t k = i; k < end; ++k)
      *list->items[k].to = list->items[i + (end - i - 1) / 2].value;
  }
}

/* ---- The pace of a step ---- */

typedef struct pacer {
  const zb_session *session;
  const zb_plan *plan;  /* of all ranks, without collectives */
  job_record **records; /* [rank][job] on the clock of process 0 */
  zb_plan_pace *pace;
  int64_t *wake_ps; /* [rank] the middle */
  samples samples;
  zb_arena arena;
} pacer;

static int64_t at_least_0(int64_t value) { return value > 0 ? value : 0; }

static zb_status put(pacer *p, uint64_t thing, uint64_t size, int64_t value, int64_t *to) {
  return ZB_PUSH(&p->arena, &p->samples, (sample){thing, size, value, to}) ? NULL : ZB_OUT_OF_MEMORY();
}

/* When the last of the messages that a job waits for was there. */
static int64_t arrival_of(const pacer *p, int r, int job) {
  const zb_plan_rank *rank = &p->plan->ranks[r];
  int64_t last = 0;
  if (job == rank->job_count) return p->records[r][job].start_ps;
  for (uint32_t w = 0; w < rank->jobs[job].waits.count; ++w) {
    const int64_t complete = p->records[r][rank->pool_u32[rank->jobs[job].waits.begin + w]].complete_ps;
    if (complete > last) last = complete;
  }
  return last;
}

/* What a job of the rank waited; a queue does not wait in the host, so there it is from the job before to the message.
 */
static int64_t wait_of(const pacer *p, int r, int job, int64_t before_ps) {
  const job_record *record = &p->records[r][job];
  if (record->waited_ps > 0 || !p->session->device->queue) return record->waited_ps;
  const int64_t arrival = arrival_of(p, r, job);
  return at_least_0((arrival < record->start_ps ? arrival : record->start_ps) - before_ps);
}

static zb_status pace_rank(pacer *p, int r) {
  const zb_plan_rank *rank = &p->plan->ranks[r];
  const job_record *records = p->records[r];
  zb_plan_pace *pace = p->pace;
  bool *ran;
  int64_t before = 0, *after = &pace->begin_ps[r];
  uint64_t after_thing = thing_of(AFTER, r, -1);
  ZB_TAKE(&p->arena, ran, rank->subprogram_count + 1);
  ZB_TRY(zb_arena_status(&p->arena));
  for (int i = rank->load_count; i <= rank->job_count; ++i) {
    const int64_t waited = wait_of(p, r, i, before), start = records[i].start_ps;
    if (i == rank->job_count) after_thing = thing_of(AFTER, r, -2); /* to the end of the rank: once, as its begin */
    ZB_TRY(put(p, after_thing, 0, at_least_0(start - waited - before), after));
    if (i == rank->job_count) break;
    const zb_plan_job *job = &rank->jobs[i];
    const int64_t took = at_least_0(records[i].end_ps - start), wake = at_least_0(start - arrival_of(p, r, i));
    if (waited > 0) ZB_TRY(put(p, thing_of(WAKE, r, 0), 0, wake < waited ? wake : waited, &p->wake_ps[r]));
    after = &pace->after_ps[r][i];
    after_thing = thing_of(AFTER, r, (int)job->kind);
    before = records[i].end_ps;
    pace->job_ps[r][i] = 0;
    if (job->subprogram >= 0) {
      const bool first = !ran[job->subprogram];
      ran[job->subprogram] = true;
      ZB_TRY(put(p, thing_of(first ? FIRST : COMPUTE, r, job->subprogram), 0, took, &pace->job_ps[r][i]));
    } else if (job->kind == ZB_JOB_READ) {
      ZB_TRY(put(p, thing_of(READ, r, job->input), 0, took, &pace->job_ps[r][i]));
    } else if (!pace->copies || !zb_job_is_post(job->kind)) {
      ZB_TRY(put(p, thing_of(POST, r, (int)job->kind), 0, took, &pace->job_ps[r][i]));
    }
  }
  return NULL;
}

/* Where each message is posted: [2 * message + (1: its receiver)] a record. */
static zb_status find_posts(pacer *p, const job_record ***out) {
  ZB_TAKE(&p->arena, *out, 2 * ((size_t)p->plan->message_count + 1));
  ZB_TRY(zb_arena_status(&p->arena));
  for (int r = 0; r < p->plan->rank_count; ++r)
    for (int i = p->plan->ranks[r].load_count; i < p->plan->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &p->plan->ranks[r].jobs[i];
      if (zb_job_is_post(job->kind)) (*out)[2 * job->message + (job->kind == ZB_JOB_RECV)] = &p->records[r][i];
    }
  return NULL;
}

/* What the second side took to copy; or what it took from when both were posted and the channel was free. */
static zb_status pace_messages(pacer *p) {
  const size_t ranks = (size_t)p->plan->rank_count;
  const job_record **posts;
  int64_t *channels;
  ZB_TRY(find_posts(p, &posts));
  ZB_TAKE(&p->arena, channels, ranks * ranks);
  ZB_TRY(zb_arena_status(&p->arena));
  for (int m = 0; m < p->plan->message_count; ++m) {
    const zb_plan_message *about = &p->plan->messages[m];
    const job_record *send = posts[2 * m], *recv = posts[2 * m + 1];
    if (!send || !recv) continue;
    const size_t channel = (size_t)about->source * ranks + (size_t)about->destination;
    const job_record *second = send->start_ps > recv->start_ps ? send : recv;
    int64_t took = second->end_ps - second->start_ps, begin = second->start_ps;
    if (p->pace->copies && send->start_ps == recv->start_ps && send->end_ps > recv->end_ps)
      took = send->end_ps - send->start_ps;
    if (channels[channel] > begin) begin = channels[channel];
    channels[channel] = recv->complete_ps;
    if (!p->pace->copies) took = recv->complete_ps - begin;
    ZB_TRY(put(p, thing_of(MESSAGE, 0, (int)channel), about->bytes, at_least_0(took), &p->pace->message_ps[m]));
  }
  return NULL;
}

static zb_status make_pace(pacer *p, int64_t step_ps) {
  int64_t last = 0;
  ZB_TRY(zb_plan_pace_init(p->pace, p->plan));
  ZB_TAKE(&p->arena, p->wake_ps, p->plan->rank_count);
  ZB_TRY(zb_arena_status(&p->arena));
  if (!p->session->device->virtual_clock) p->pace->copies = p->session->transport_def->copies;
  for (int r = 0; r < p->plan->rank_count; ++r) {
    p->wake_ps[r] = p->plan->link_wake_ps; /* of a rank that never waited it is not known */
    const int64_t ended = p->records[r][p->plan->ranks[r].job_count].end_ps;
    if (ended > last) last = ended;
    ZB_TRY(pace_rank(p, r));
  }
  ZB_TRY(pace_messages(p));
  take_middles(&p->samples);
  for (int r = 0; r < p->plan->rank_count; ++r)
    for (int i = 0; i < p->plan->ranks[r].job_count; ++i)
      p->pace->wake_ps[r][i] = p->wake_ps[r];
  p->pace->step_ps = at_least_0(step_ps - last);
  return NULL;
}

/* ---- Explaining ---- */

/* Records of each rank, on the clock of process 0; the end of the last to *out_end. */
static zb_status place_records(pacer *p, job_record *records, int64_t *out_end) {
  const zb_plan *plan = p->plan;
  ZB_TAKE(&p->arena, p->records, plan->rank_count);
  ZB_TRY(zb_arena_status(&p->arena));
  *out_end = 0;
  for (int r = 0; r < plan->rank_count; records += plan->ranks[r++].job_count + 1) {
    const int64_t shift = zb_session_shift_of(p->session, r);
    p->records[r] = records;
    for (int i = plan->ranks[r].load_count; i <= plan->ranks[r].job_count; ++i) {
      records[i].start_ps += shift;
      records[i].end_ps += shift;
      records[i].complete_ps += shift;
    }
    if (records[plan->ranks[r].job_count].end_ps > *out_end) *out_end = records[plan->ranks[r].job_count].end_ps;
  }
  return NULL;
}

static zb_status explain_measured(const zb_session *session, const zb_plan *plan, job_record *records,
                                  zb_explanation *out) {
  zb_plan_pace pace = {0};
  pacer p = {.session = session, .plan = plan, .pace = &pace};
  zb_status status = NULL;
  int64_t step_ps = 0, *busy;
  ZB_TRY_GOTO(place_records(&p, records, &step_ps));
  if (session->took_ps > step_ps) step_ps = session->took_ps;
  ZB_TRY_GOTO(make_pace(&p, step_ps));
  ZB_TAKE(&p.arena, busy, plan->rank_count);
  ZB_TRY_GOTO(zb_arena_status(&p.arena));
  for (int r = 0; r < plan->rank_count; ++r)
    busy[r] = session->times[r].compute_ps;
  const zb_plan_measured measured = {step_ps, busy};
  ZB_TRY_GOTO(zb_plan_explain(plan, &pace, &measured, out));
cleanup:
  zb_plan_pace_deinit(&pace);
  zb_arena_deinit(&p.arena);
  return status;
}

static zb_status explain_simulated(const zb_plan *plan, zb_explanation *out) {
  zb_plan_pace pace;
  zb_status status = zb_plan_pace_init(&pace, plan);
  if (!status) status = zb_plan_explain(plan, &pace, NULL, out);
  zb_plan_pace_deinit(&pace);
  return status;
}

/* Records of all ranks, of which process 0 has the plan. */
static zb_status explain_here(const zb_session *session, job_record *records, zb_explanation *measured,
                              zb_explanation *simulated) {
  const zb_plan *plan = session->whole ? session->whole : session->plan;
  zb_plan *step = NULL;
  if (plan->evaluates) ZB_TRY(zb_plan_view(plan, ZB_LIST_STEP, &step));
  zb_status status = explain_measured(session, step ? step : plan, records, measured);
  if (!status) status = explain_simulated(step ? step : plan, simulated);
  zb_plan_destroy(step);
  return status;
}

static zb_status can_explain(const zb_session *session) {
  if (!session->params.explain) return ZB_ERROR(USAGE, "the session keeps no times: set explain in its parameters");
  if (session->steps_here == 0 || session->failed) return ZB_ERROR(USAGE, "there is nothing to explain before a step");
  return NULL;
}

zb_status zb_session_explain(zb_session *session, zb_explanation *measured, zb_explanation *simulated) {
  void *records = NULL;
  *measured = *simulated = (zb_explanation){0};
  ZB_TRY(can_explain(session)); /* the same in all processes */
  size_t bytes = records_of(session->plan, session->first_rank, session->rank_count) * sizeof(job_record);
  ZB_TRY(zb_session_gather(session, session->records, bytes, &records, &bytes));
  zb_status status = session->process == 0 ? explain_here(session, records, measured, simulated) : NULL;
  zb_free(records);
  status = zb_session_agree(session, status);
  if (status) {
    zb_explanation_deinit(measured);
    zb_explanation_deinit(simulated);
  }
  return status;
}
