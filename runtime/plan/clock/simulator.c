/* A plan on a virtual clock: zb_plan_simulate of runtime/plan/file/plan.h.
 *
 * Ranks run their jobs in list order: a job starts when the job before it ended and what it waits for is complete; a
 * rank that had to wait goes on link_wake_ps later. Every job takes job_ps of the interpreter after it, a READ read_ps.
 * A message moves when both sides are posted and its channel (ordered pair of ranks and clock) is free, for latency +
 * bytes x ps_per_byte. With link_copies the side that posts second moves it, and is busy meanwhile (no channel: each
 * side copies at its own time); else SEND and RECV take no time of the rank. Both sides of a channel post in the same
 * order, so when the second side of a message is posted its time is final. Jobs run in order of their times, of equal
 * times by rank (a heap of ranks that can go on): so the side that posts second is the one that is later. Times are
 * integers and exact; a sum beyond 2^63 ps is an error.
 *
 * A rank has a second clock for jobs that run beside the others (expand.h): each starts when the one before it on that
 * clock ended, the rank has come to its place in the list, and what it waits for is complete. With link_copies there is
 * none, as the rank itself moves the bytes.
 *
 * Memory is counted in list order, which is time order on a rank. A home (what a base or a part spans) is held from its
 * first write, or the posting of its RECV, to its last use before it is written anew, and while a SEND of it is not
 * waited for.
 *
 * Tests: test/runtime/plan/clock/simulator_test.c
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/file/access.h"
#include "runtime/base/assert.h"
#include "runtime/base/heap.h"
#include "runtime/base/sorted.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

enum { NO_JOB = -1, OF_STEP_BEFORE = -2, REPLICAS_COPYING_MAX = 64 };

typedef struct message_state {
  int send, recv; /* jobs that posted it, NO_JOB */
  int channel;
  int64_t complete_ps; /* once both are there */
} message_state;

typedef struct simulator {
  const zb_plan *plan;
  const zb_plan_pace *pace; /* NULL: the costs of the plan */
  zb_plan_simulation *out;
  message_state *messages;
  int64_t *channel_free_ps;
  int channel_count;
  int *beside;       /* [rank] its first job on the second clock; job_count: there is none */
  int *next;         /* [clock] next job; the clocks of all ranks, then their second clocks */
  int64_t *now_ps;   /* [clock] */
  int *blocked_on;   /* [clock] message, -1 */
  bool **ran;        /* [rank][subprogram] in this step */
  int64_t **sums_ps; /* [rank][subprogram] what of its time are sums over shards */
  zb_heap ready;     /* clocks that can go on, by the start of their next job */
  bool overflow;
  /* Steps that follow each other, of a plan with post-validation; else verdict_ps is NULL: */
  int *clip;           /* [rank] job */
  int64_t *verdict_ps; /* [rank] when it knew the verdict of the step before */
  int64_t *norm_ps;    /* [message] when those with numbers of the norm of the step before were complete */
  bool follows;        /* there was one */
} simulator;

static int64_t add_time(simulator *it, int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  it->overflow = true;
  return INT64_MAX;
}

static int64_t max_time(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t transfer_time(simulator *it, int message) {
  if (it->pace) return it->pace->message_ps[message];
  double moving = (double)zb_plan_timed_bytes(&it->plan->messages[message]) * it->plan->link_ps_per_byte;
  if (moving < 9e18) return add_time(it, it->plan->link_latency_ps, (int64_t)llround(moving));
  it->overflow = true;
  return INT64_MAX;
}

static int64_t after_time(const simulator *it, int r, int job) {
  return it->pace ? it->pace->after_ps[r][job] : it->plan->job_ps;
}

static int64_t wake_time(const simulator *it, int r, int job) {
  return it->pace ? it->pace->wake_ps[r][job] : it->plan->link_wake_ps;
}

/* Whether an update is made before its norm is known. */
static bool validates(const simulator *it) { return it->verdict_ps != NULL; }

static bool carries_norms(const simulator *it, int message) {
  return message >= 0 && zb_plan_brings_norms(it->plan, &it->plan->messages[message]);
}

static bool copies(const simulator *it) { return it->pace ? it->pace->copies : it->plan->link_copies; }

static int rank_of(const simulator *it, int clock) {
  return clock < it->plan->rank_count ? clock : clock - it->plan->rank_count;
}

static int second_of(const simulator *it, int rank) { return it->plan->rank_count + rank; }

static bool is_beside(const simulator *it, int r, int job) {
  return it->plan->ranks[r].jobs[job].derived.beside && !copies(it);
}

/* The first job from `job` on that runs on the second clock; job_count: there is none. */
static int next_beside(const simulator *it, int r, int job) {
  while (job < it->plan->ranks[r].job_count && !is_beside(it, r, job))
    ++job;
  return job;
}

/* ---- Setting up ---- */

static int compare_keys(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return left < right ? -1 : left > right;
}

static uint64_t channel_key(const zb_plan *plan, const zb_plan_message *message) {
  return (uint64_t)(uint32_t)message->source << 33 | (uint64_t)(uint32_t)message->destination << 1 |
         zb_plan_travels_beside(plan, message);
}

/* Numbers the channels and gives each message its own. */
static zb_status number_channels(simulator *it) {
  size_t count = (size_t)it->plan->message_count, channels = 0;
  uint64_t *keys = zb_alloc(count * sizeof *keys);
  if (!keys) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < count; ++i)
    keys[i] = channel_key(it->plan, &it->plan->messages[i]);
  qsort(keys, count, sizeof *keys, compare_keys);
  for (size_t i = 0; i < count; ++i)
    if (i == 0 || keys[i] != keys[channels - 1]) keys[channels++] = keys[i];
  it->channel_free_ps = zb_alloc(channels * sizeof *it->channel_free_ps);
  it->channel_count = (int)channels;
  for (size_t i = 0; it->channel_free_ps && i < count; ++i) {
    uint64_t key = channel_key(it->plan, &it->plan->messages[i]);
    const uint64_t *found = bsearch(&key, keys, channels, sizeof *keys, compare_keys);
    it->messages[i] = (message_state){.send = NO_JOB, .recv = NO_JOB, .channel = (int)(found - keys)};
  }
  zb_free(keys);
  return it->channel_free_ps ? NULL : ZB_OUT_OF_MEMORY();
}

static void simulator_deinit(simulator *it) {
  for (int r = 0; it->ran && r < it->plan->rank_count; ++r)
    zb_free(it->ran[r]);
  for (int r = 0; it->sums_ps && r < it->plan->rank_count; ++r)
    zb_free(it->sums_ps[r]);
  zb_free(it->ran);
  zb_free(it->sums_ps);
  zb_free(it->messages);
  zb_free(it->channel_free_ps);
  zb_free(it->beside);
  zb_free(it->next);
  zb_free(it->now_ps);
  zb_free(it->blocked_on);
  zb_free(it->ready.items);
  zb_free(it->clip);
  zb_free(it->verdict_ps);
  zb_free(it->norm_ps);
}

static zb_status simulator_init(simulator *it, const zb_plan *plan, const zb_plan_pace *pace, zb_plan_simulation *out) {
  size_t ranks = (size_t)plan->rank_count;
  ZB_ASSERT(zb_plan_is_expanded(plan));
  *it = (simulator){.plan = plan, .pace = pace, .out = out};
  it->messages = zb_alloc((size_t)plan->message_count * sizeof *it->messages);
  it->beside = zb_alloc(ranks * sizeof *it->beside);
  it->next = zb_alloc(2 * ranks * sizeof *it->next);
  it->now_ps = zb_alloc(2 * ranks * sizeof *it->now_ps);
  it->blocked_on = zb_alloc(2 * ranks * sizeof *it->blocked_on);
  it->ran = zb_alloc(ranks * sizeof *it->ran);
  it->sums_ps = zb_alloc(ranks * sizeof *it->sums_ps);
  it->ready.items = zb_alloc(2 * ranks * sizeof *it->ready.items);
  out->rank_count = plan->rank_count;
  out->ranks = zb_alloc(ranks * sizeof *out->ranks);
  out->jobs = zb_alloc(ranks * sizeof *out->jobs);
  if (!it->messages || !it->beside || !it->next || !it->now_ps || !it->blocked_on || !it->ran || !it->sums_ps ||
      !it->ready.items || !out->ranks || !out->jobs)
    return ZB_OUT_OF_MEMORY();
  for (size_t r = 0; r < ranks; ++r) {
    out->jobs[r] = zb_alloc((size_t)plan->ranks[r].job_count * sizeof **out->jobs);
    it->ran[r] = zb_alloc((size_t)plan->ranks[r].subprogram_count + 1);
    it->sums_ps[r] = zb_alloc(((size_t)plan->ranks[r].subprogram_count + 1) * sizeof **it->sums_ps);
    if (!out->jobs[r] || !it->ran[r] || !it->sums_ps[r]) return ZB_OUT_OF_MEMORY();
    zb_sums_of_subprograms(plan, &plan->ranks[r], it->sums_ps[r]);
    it->beside[r] = next_beside(it, (int)r, plan->ranks[r].load_count);
  }
  return number_channels(it);
}

/* ---- Clocks that can go on ---- */

/* A VERDICT waits for the numbers of the norm of the step before. */
static int64_t verdict_start(simulator *it, int r, int64_t start) {
  const zb_plan_rank *rank = &it->plan->ranks[r];
  for (int i = rank->load_count; i < rank->job_count && it->follows; ++i) {
    const int message = rank->jobs[i].message;
    if (carries_norms(it, message) && it->norm_ps[message] > start)
      start = add_time(it, it->norm_ps[message], it->plan->link_wake_ps);
  }
  return start;
}

/* Lets a clock go on at the time its next job can start, or remembers which message it lacks. */
static void schedule_job(simulator *it, int clock, int64_t start) {
  const int r = rank_of(it, clock);
  const zb_plan_rank *rank = &it->plan->ranks[r];
  const zb_plan_job *job = &rank->jobs[it->next[clock]];
  if (validates(it) && job->kind == ZB_JOB_VERDICT) start = verdict_start(it, r, start);
  const bool skipped = validates(it) && job->kind == ZB_JOB_CLIP; /* it runs at the verdict */
  for (uint32_t i = 0; i < job->waits.count && !skipped; ++i) {
    int waited = rank->jobs[rank->pool_u32[job->waits.begin + i]].message;
    const message_state *message = &it->messages[waited];
    if (message->send == NO_JOB || message->recv == NO_JOB) {
      it->blocked_on[clock] = waited;
      return;
    }
    if (message->complete_ps > start) start = add_time(it, message->complete_ps, wake_time(it, r, it->next[clock]));
  }
  zb_heap_push(&it->ready, start, clock);
}

/* Its next job, unless the rank has not come to it: until the job runs, its times say when the rank did. */
static void schedule_second(simulator *it, int r) {
  const int clock = second_of(it, r), index = it->next[clock];
  it->blocked_on[clock] = -1;
  if (index < it->next[r]) schedule_job(it, clock, max_time(it->now_ps[clock], it->out->jobs[r][index].start_ps));
}

static void schedule(simulator *it, int clock) {
  const int r = rank_of(it, clock);
  if (clock != r) {
    schedule_second(it, r);
    return;
  }
  it->blocked_on[r] = -1;
  while (it->next[r] < it->plan->ranks[r].job_count && is_beside(it, r, it->next[r])) {
    const int index = it->next[r]++;
    it->out->jobs[r][index].start_ps = it->now_ps[r];
    if (it->next[second_of(it, r)] == index) schedule_second(it, r);
  }
  if (it->next[r] < it->plan->ranks[r].job_count) schedule_job(it, r, it->now_ps[r]);
}

/* ---- Time ---- */

/* Whoever waits for the message: the other side, or a rank for what its second clock posts. */
static void wake(simulator *it, int message) {
  const zb_plan_message *about = &it->plan->messages[message];
  const int clocks[] = {about->source, about->destination, second_of(it, about->source),
                        second_of(it, about->destination)};
  for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; ++i)
    if (it->blocked_on[clocks[i]] == message) schedule(it, clocks[i]);
}

/* Posts one side; when it is the second, the message's time is known and whoever waits for it can go on. */
static zb_status post(simulator *it, int r, int index) {
  const zb_plan_job *job = &it->plan->ranks[r].jobs[index];
  const zb_plan_message *about = &it->plan->messages[job->message];
  message_state *message = &it->messages[job->message];
  int *side = job->kind == ZB_JOB_SEND ? &message->send : &message->recv;
  if (*side != NO_JOB)
    return ZB_ERROR(INVALID, "rank %d job %d posts message #%d a second time", r, index, job->message);
  *side = index;
  if (message->send == NO_JOB || message->recv == NO_JOB) return NULL;
  zb_plan_times *send = &it->out->jobs[about->source][message->send],
                *recv = &it->out->jobs[about->destination][message->recv];
  int64_t start = max_time(send->start_ps, recv->start_ps);
  if (!copies(it)) start = max_time(it->channel_free_ps[message->channel], start);
  message->complete_ps = add_time(it, start, transfer_time(it, job->message));
  it->channel_free_ps[message->channel] = send->end_ps = recv->end_ps = message->complete_ps;
  if (copies(it)) it->now_ps[r] = add_time(it, message->complete_ps, after_time(it, r, index));
  wake(it, job->message);
  return NULL;
}

static void count_compute(zb_plan_rank_result *result, zb_job_kind kind, int64_t time) {
  switch (kind) {
  case ZB_JOB_F:
  case ZB_JOB_EVALUATE:
    result->f_ps += time;
    break;
  case ZB_JOB_B:
    result->b_ps += time;
    break;
  case ZB_JOB_W:
    result->w_ps += time;
    break;
  default:
    result->opt_ps += time;
    break;
  }
  result->busy_ps += time; /* cannot overflow: the rank's clock, which was checked, is never before it */
}

/* What of the time of a job its own instructions take: neither sums over shards, nor what runs beside these. At a pace
 * of its own a job is as long as that says. */
static int64_t computing(const simulator *it, int r, const zb_plan_job *job, int64_t time) {
  return it->pace ? time : max_time(time - job->derived.woven_ps - it->sums_ps[r][job->subprogram], 0);
}

static int64_t subprogram_time(simulator *it, int r, int subprogram) {
  const zb_plan_subprogram *s = &it->plan->ranks[r].subprograms[subprogram];
  bool first = !it->ran[r][subprogram];
  it->ran[r][subprogram] = true;
  return first && s->first_ps ? s->first_ps : s->time_ps;
}

static int64_t job_time(simulator *it, int r, int index) {
  const zb_plan_job *job = &it->plan->ranks[r].jobs[index];
  if (it->pace) return it->pace->job_ps[r][index];
  if (validates(it) && job->kind == ZB_JOB_CLIP) return 0;
  if (validates(it) && job->kind == ZB_JOB_SNAPSHOT) return zb_plan_snapshot_ps(it->plan, r);
  if (job->subprogram >= 0) return max_time(subprogram_time(it, r, job->subprogram) + job->derived.woven_ps, 0);
  return job->kind == ZB_JOB_READ ? it->plan->read_ps : 0;
}

/* The CLIP of the step before, once its numbers are there. */
static int64_t run_clip(simulator *it, int r, int64_t start) {
  const int clip = it->plan->ranks[r].jobs[it->clip[r]].subprogram;
  const int64_t time = subprogram_time(it, r, clip);
  count_compute(&it->out->ranks[r], ZB_JOB_CLIP, time);
  return it->verdict_ps[r] = add_time(it, add_time(it, start, time), it->plan->job_ps);
}

/* Runs the next job of the second clock of a rank. */
static zb_status run_second(simulator *it, int r, int64_t start) {
  const int clock = second_of(it, r), index = it->next[clock];
  const zb_plan_job *job = &it->plan->ranks[r].jobs[index];
  const int64_t time = job_time(it, r, index), end = add_time(it, start, time);
  it->next[clock] = next_beside(it, r, index + 1);
  it->now_ps[clock] = end;
  it->out->jobs[r][index] = (zb_plan_times){start, end};
  if (job->message >= 0) ZB_TRY(post(it, r, index));
  if (job->subprogram >= 0) count_compute(&it->out->ranks[r], job->kind, time);
  schedule_second(it, r);
  return NULL;
}

/* Runs the next job of a clock. */
static zb_status run_job(simulator *it, int r, int64_t start) {
  if (r >= it->plan->rank_count) return run_second(it, rank_of(it, r), start);
  const zb_plan_rank *rank = &it->plan->ranks[r];
  zb_plan_rank_result *result = &it->out->ranks[r];
  int index = it->next[r]++;
  const zb_plan_job *job = &rank->jobs[index];
  result->waiting_ps += start - it->now_ps[r];
  if (validates(it) && it->follows && job->kind == ZB_JOB_VERDICT) start = run_clip(it, r, start);
  const int64_t time = job_time(it, r, index), end = add_time(it, start, time);
  if (it->overflow) return NULL;
  it->now_ps[r] = add_time(it, end, after_time(it, r, index));
  it->out->jobs[r][index] = (zb_plan_times){start, end};
  if (job->message >= 0) ZB_TRY(post(it, r, index));
  if (job->subprogram >= 0) {
    if (result->start_ps < 0) result->start_ps = start;
    result->end_ps = end;
    count_compute(result, job->kind, computing(it, r, job, time));
  }
  schedule(it, r);
  return NULL;
}

static zb_status stuck(const simulator *it) {
  zb_status status = ZB_ERROR(TIMEOUT, "the plan cannot finish: ranks wait for messages that nobody posts");
  int told = 0;
  for (int r = 0; r < it->plan->rank_count && told < 8; ++r) {
    if (it->next[r] >= it->plan->ranks[r].job_count) continue;
    char text[ZB_JOB_TEXT_BYTES];
    const zb_plan_message *message = &it->plan->messages[it->blocked_on[r]];
    status = zb_status_note(status, "%s waits for message #%d from rank %d to rank %d, which rank %d did not post",
                            zb_plan_job_text(it->plan, r, it->next[r], text), it->blocked_on[r], message->source,
                            message->destination, message->source == r ? message->destination : message->source);
    ++told;
  }
  return status;
}

static zb_status run_all(simulator *it) {
  const zb_plan *plan = it->plan;
  for (int r = plan->rank_count - 1; r >= 0; --r) {
    it->next[r] = plan->ranks[r].load_count; /* LOAD is before the step */
    it->next[second_of(it, r)] = it->beside[r];
    it->now_ps[second_of(it, r)] = it->now_ps[r];
    it->blocked_on[second_of(it, r)] = -1;
    it->out->ranks[r].start_ps = -1; /* until its first compute job */
    schedule(it, r);
  }
  while (it->ready.count > 0 && !it->overflow) {
    const zb_heap_item next = zb_heap_pop(&it->ready);
    ZB_TRY(run_job(it, (int)next.number, next.key));
  }
  for (int r = 0; r < plan->rank_count; ++r)
    add_time(it, it->now_ps[r], it->pace ? it->pace->step_ps : plan->step_ps);
  if (it->overflow) return ZB_ERROR(INVALID, "the plan's times add up to more than 2^63 ps");
  for (int r = 0; r < plan->rank_count; ++r) {
    if (it->next[r] < plan->ranks[r].job_count) return stuck(it);
    if (it->out->ranks[r].start_ps < 0) it->out->ranks[r].start_ps = 0;
  }
  return NULL;
}

/* ---- Step after step ---- */

struct zb_plan_steps {
  simulator it;
  zb_plan_simulation out;
};

static zb_status prepare_verdicts(simulator *it) {
  const size_t ranks = (size_t)it->plan->rank_count;
  if (zb_plan_find_job(&it->plan->ranks[0], ZB_JOB_VERDICT) < 0) return NULL;
  it->clip = zb_alloc(ranks * sizeof *it->clip);
  it->verdict_ps = zb_alloc(ranks * sizeof *it->verdict_ps);
  it->norm_ps = zb_alloc(((size_t)it->plan->message_count + 1) * sizeof *it->norm_ps);
  if (!it->clip || !it->verdict_ps || !it->norm_ps) return ZB_OUT_OF_MEMORY();
  for (size_t r = 0; r < ranks; ++r)
    it->clip[r] = zb_plan_find_job(&it->plan->ranks[r], ZB_JOB_CLIP);
  return NULL;
}

zb_status zb_plan_steps_create(const zb_plan *plan, zb_plan_steps **out) {
  zb_plan_steps *steps = *out = zb_alloc(sizeof *steps);
  if (!steps) return ZB_OUT_OF_MEMORY();
  zb_status status = simulator_init(&steps->it, plan, NULL, &steps->out);
  if (!status) status = prepare_verdicts(&steps->it);
  if (!status) return NULL;
  zb_plan_steps_destroy(steps);
  *out = NULL;
  return status;
}

void zb_plan_steps_destroy(zb_plan_steps *steps) {
  if (!steps) return;
  simulator_deinit(&steps->it);
  zb_plan_simulation_free(&steps->out);
  zb_free(steps);
}

/* A rank waits for all that it posted, in the order of its list, before its step is done; for the numbers of the norm
 * at its VERDICT. */
static void drain(simulator *it, int r) {
  const zb_plan_rank *rank = &it->plan->ranks[r];
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    if (rank->jobs[i].message < 0 || (validates(it) && carries_norms(it, rank->jobs[i].message))) continue;
    const int64_t complete = it->messages[rank->jobs[i].message].complete_ps;
    if (complete > it->now_ps[r]) it->now_ps[r] = add_time(it, complete, it->plan->link_wake_ps);
  }
}

zb_status zb_plan_steps_next(zb_plan_steps *steps, const int64_t *begin_ps) {
  simulator *it = &steps->it;
  for (int i = 0; i < it->plan->message_count; ++i)
    it->messages[i].send = it->messages[i].recv = NO_JOB;
  for (int r = 0; r < it->plan->rank_count; ++r) {
    memset(it->ran[r], 0, (size_t)it->plan->ranks[r].subprogram_count);
    it->now_ps[r] = begin_ps[r];
  }
  ZB_TRY(run_all(it));
  for (int r = 0; r < it->plan->rank_count; ++r)
    drain(it, r);
  for (int i = 0; i < it->plan->message_count && validates(it); ++i)
    it->norm_ps[i] = it->messages[i].complete_ps;
  it->follows = true;
  return it->overflow ? ZB_ERROR(INVALID, "the plan's times add up to more than 2^63 ps") : NULL;
}

const int64_t *zb_plan_steps_verdict_ps(const zb_plan_steps *steps) { return steps->it.verdict_ps; }

const int64_t *zb_plan_steps_end_ps(const zb_plan_steps *steps) { return steps->it.now_ps; }

const int64_t *zb_plan_steps_channels_ps(const zb_plan_steps *steps, int *out_count) {
  *out_count = steps->it.channel_count;
  return steps->it.channel_free_ps;
}

/* ---- Memory ---- */

/* A piece of the slots between two addresses where homes begin or end. */
typedef struct piece {
  uint64_t begin;
  int32_t first, last; /* jobs of what is there now, NO_JOB */
  int32_t micro_batch;
} piece;

typedef struct memory {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  const zb_access *accesses;
  piece *pieces;
  size_t piece_count;
  uint64_t *set; /* of addresses, open addressing; 0: empty, address + 1 else */
  size_t set_capacity, set_count;
  int64_t *change;   /* [job_count + 1] live bytes at the start of the job minus those at the one before */
  int32_t *released; /* [job_count] SEND: job that waits for it */
} memory;

static size_t set_slot(const memory *it, uint64_t key) {
  size_t mask = it->set_capacity - 1, i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
  while (it->set[i] != 0 && it->set[i] != key)
    i = (i + 1) & mask;
  return i;
}

static bool add_address(memory *it, uint64_t address) {
  if (it->set_count >= it->set_capacity / 2) {
    memory bigger = *it;
    bigger.set_capacity = it->set_capacity ? it->set_capacity * 2 : 256;
    bigger.set = zb_alloc(bigger.set_capacity * sizeof *bigger.set);
    if (!bigger.set) return false;
    for (size_t i = 0; i < it->set_capacity; ++i)
      if (it->set[i]) bigger.set[set_slot(&bigger, it->set[i])] = it->set[i];
    zb_free(it->set);
    *it = bigger;
  }
  size_t slot = set_slot(it, address + 1);
  it->set_count += it->set[slot] == 0;
  it->set[slot] = address + 1;
  return true;
}

static bool in_slots(const memory *it, uint64_t offset, uint64_t bytes) {
  return bytes > 0 && zb_plan_region_of(it->rank, offset, bytes) == ZB_REGION_SLOTS;
}

static zb_status make_pieces(memory *it) {
  const zb_plan_rank *rank = it->rank;
  bool ok = add_address(it, rank->regions[ZB_REGION_SLOTS].offset + rank->regions[ZB_REGION_SLOTS].bytes);
  for (int i = rank->load_count; ok && i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    for (uint32_t b = 0; ok && b < job->bases.count; ++b) {
      uint64_t at = rank->pool_u64[job->bases.begin + b], bytes = rank->subprograms[job->subprogram].base_bytes[b];
      if (in_slots(it, at, bytes)) ok = add_address(it, at) && add_address(it, at + bytes);
    }
    for (uint32_t p = 0; ok && p < job->parts.count; ++p) {
      zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
      if (in_slots(it, part.offset, part.bytes))
        ok = add_address(it, part.offset) && add_address(it, part.offset + part.bytes);
    }
  }
  if (!ok || !(it->pieces = zb_alloc(it->set_count * sizeof *it->pieces))) return ZB_OUT_OF_MEMORY();
  size_t count = 0;
  for (size_t i = 0; i < it->set_capacity; ++i)
    if (it->set[i]) it->set[count++] = it->set[i] - 1;
  qsort(it->set, count, sizeof *it->set, compare_keys);
  for (size_t i = 0; i < count; ++i)
    it->pieces[i] = (piece){.begin = it->set[i], .first = NO_JOB, .last = NO_JOB};
  it->piece_count = count;
  return NULL;
}

static piece *piece_at(const memory *it, uint64_t address) {
  return &it->pieces[zb_count_up_to(it->pieces, sizeof *it->pieces, offsetof(piece, begin), it->piece_count, address) -
                     1];
}

/* Counts what was in the piece, from its first to its last use. */
static void close_piece(memory *it, piece *at) {
  if (at->first == NO_JOB) return;
  int64_t bytes = (int64_t)((at + 1)->begin - at->begin);
  it->change[at->first] += bytes;
  it->change[at->last + 1] -= bytes;
  at->first = NO_JOB;
}

static void touch(memory *it, piece *at, int32_t job, int32_t until, int32_t micro_batch, bool reads) {
  if (at->first != NO_JOB && !reads && at->micro_batch != micro_batch) close_piece(it, at);
  if (at->first == NO_JOB) *at = (piece){.begin = at->begin, .first = job, .last = job, .micro_batch = micro_batch};
  if (until > at->last) at->last = until;
}

/* Whether a list has a byte of the piece; *at: an index that rises with the pieces. */
static bool is_used(const zb_intervals *list, size_t *at, uint64_t begin, uint64_t end) {
  while (*at < list->count && list->items[*at].end <= begin)
    ++*at;
  return *at < list->count && list->items[*at].begin < end;
}

static void touch_bases(memory *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  const zb_access *access = &it->accesses[job->subprogram];
  for (uint32_t b = 0; b < job->bases.count; ++b) {
    uint64_t base = it->rank->pool_u64[job->bases.begin + b],
             bytes = it->rank->subprograms[job->subprogram].base_bytes[b];
    size_t read = 0, written = 0;
    if (!in_slots(it, base, bytes)) continue;
    for (piece *at = piece_at(it, base); at->begin < base + bytes; ++at) {
      uint64_t begin = at->begin - base, end = (at + 1)->begin - base;
      bool reads = is_used(&access->reads[b + 1], &read, begin, end);
      bool writes = is_used(&access->writes[b + 1], &written, begin, end);
      if (reads || writes) touch(it, at, index, index, job->micro_batch, reads);
    }
  }
}

static void touch_parts(memory *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  int32_t micro_batch = job->message >= 0 ? it->plan->messages[job->message].micro_batch : job->micro_batch;
  bool reads = zb_job_flow(job->kind) == ZB_PARTS_OUT;
  int32_t until = job->kind == ZB_JOB_SEND ? it->released[index] - 1 : index;
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    if (!in_slots(it, part.offset, part.bytes)) continue;
    for (piece *at = piece_at(it, part.offset); at->begin < part.offset + part.bytes; ++at)
      touch(it, at, index, until, micro_batch, reads);
  }
}

/* What a VERDICT needs of the step before is held from the begin of the list to the VERDICT, and, of this step, to the
 * end. */
static void hold_kept(memory *it, int verdict, int32_t from, int32_t until) {
  const zb_plan_slice parts = it->rank->jobs[verdict].parts;
  for (uint32_t p = 0; p < parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[parts.begin + p];
    for (piece *at = piece_at(it, part.offset); at->begin < part.offset + part.bytes; ++at)
      touch(it, at, from, until, OF_STEP_BEFORE, until + 1 == it->rank->job_count);
  }
}

static uint64_t find_peak(memory *it) {
  const zb_plan_rank *rank = it->rank;
  uint64_t fixed = 0, peak = 0;
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    if (i != ZB_REGION_SLOTS && i != ZB_REGION_WORKSPACE) fixed += rank->regions[i].bytes;
  int64_t live = 0;
  for (int i = 0; i < rank->job_count; ++i) {
    live += it->change[i];
    uint64_t workspace =
        rank->jobs[i].subprogram >= 0 ? rank->subprograms[rank->jobs[i].subprogram].workspace_bytes : 0;
    uint64_t used = fixed + (uint64_t)live + workspace;
    if (used > peak) peak = used;
  }
  return peak > fixed ? peak : fixed;
}

static zb_status measure_memory(const zb_plan *plan, int r, uint64_t *peak) {
  zb_status status = NULL;
  const zb_plan_rank *rank = &plan->ranks[r];
  zb_access *accesses = NULL;
  memory it = {.plan = plan, .rank = rank};
  ZB_TRY_GOTO(zb_access_create_all(rank, &accesses));
  it.accesses = accesses;
  it.change = zb_alloc(((size_t)rank->job_count + 1) * sizeof *it.change);
  it.released = zb_alloc((size_t)rank->job_count * sizeof *it.released);
  if (!it.change || !it.released) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  ZB_TRY_GOTO(make_pieces(&it));
  for (int i = 0; i < rank->job_count; ++i)
    it.released[i] = rank->job_count;
  for (int i = rank->job_count - 1; i >= 0; --i) /* backwards: the first that waits stays */
    for (uint32_t w = 0; w < rank->jobs[i].waits.count; ++w)
      it.released[rank->pool_u32[rank->jobs[i].waits.begin + w]] = i;
  const int verdict = zb_plan_find_job(rank, ZB_JOB_VERDICT);
  if (verdict >= 0) hold_kept(&it, verdict, rank->load_count, verdict);
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    if (rank->jobs[i].subprogram >= 0)
      touch_bases(&it, i);
    else if (i != verdict)
      touch_parts(&it, i);
  }
  if (verdict >= 0) hold_kept(&it, verdict, rank->job_count - 1, rank->job_count - 1);
  for (size_t i = 0; i < it.piece_count; ++i)
    close_piece(&it, &it.pieces[i]);
  *peak = find_peak(&it);

cleanup:
  zb_access_destroy_all(accesses, rank->subprogram_count);
  zb_free(it.pieces);
  zb_free(it.set);
  zb_free(it.change);
  zb_free(it.released);
  return status;
}

/* ---- Results ---- */

static int64_t exposed_time(const simulator *it, int r) {
  const zb_plan_rank *rank = &it->plan->ranks[r];
  int64_t worked = 0, complete = 0;
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    const zb_job_kind kind = rank->jobs[i].kind;
    const int64_t end = it->out->jobs[r][i].end_ps;
    if (zb_job_is_optimizer(kind)) break; /* what follows are sums of numbers of the norm */
    if (kind == ZB_JOB_F || kind == ZB_JOB_B || kind == ZB_JOB_W) worked = max_time(worked, end);
    if (rank->jobs[i].derived.beside) complete = max_time(complete, end);
  }
  return max_time(complete - worked, 0);
}

static void summarize(const simulator *it, zb_plan_simulation *out) {
  int64_t end = 0, longest = 0;
  double busy = 0;
  for (int r = 0; r < out->rank_count; ++r) {
    const zb_plan_rank_result *rank = &out->ranks[r];
    end = max_time(end, it->now_ps[r]);
    longest = max_time(longest, rank->end_ps - rank->start_ps);
    busy += (double)rank->busy_ps / out->rank_count;
  }
  for (int r = 0; r < out->rank_count; ++r) {
    out->ranks[r].waiting_ps += end - it->now_ps[r];
    out->ranks[r].exposed_ps = exposed_time(it, r);
  }
  out->step_ps = end + (it->pace ? it->pace->step_ps : it->plan->step_ps); /* checked by run_all */
  out->bubble_barrier = out->step_ps > 0 ? 1 - busy / (double)out->step_ps : 0;
  out->bubble_stage = longest > 0 ? 1 - busy / (double)longest : 0;
}

/* Nothing in the list waits for the parts of parameters that a rank gathers last, but it has them when its step ends.
 */
static void wait_for_parameters(simulator *it, int r) {
  const int64_t before = it->now_ps[r];
  drain(it, r);
  it->out->ranks[r].waiting_ps += it->now_ps[r] - before;
}

zb_status zb_plan_simulate_pace(const zb_plan *plan, const zb_plan_pace *pace, zb_plan_simulation *out) {
  zb_status status = NULL;
  simulator it = {0};
  *out = (zb_plan_simulation){0};
  ZB_TRY_GOTO(simulator_init(&it, plan, pace, out));
  for (int r = 0; pace && r < plan->rank_count; ++r)
    it.now_ps[r] = pace->begin_ps[r];
  ZB_TRY_GOTO(run_all(&it));
  for (int r = 0; r < plan->rank_count && plan->sharding != ZB_SHARDING_NONE; ++r)
    wait_for_parameters(&it, r);
  summarize(&it, out);

cleanup:
  simulator_deinit(&it);
  if (status) zb_plan_simulation_free(out);
  return status;
}

/* All replicas do the same at the same time: what is told is the first one. */
static void keep_first_replica(zb_plan_simulation *out, int replicas) {
  for (int r = 0; r < out->rank_count; ++r) {
    if (r % replicas != 0) {
      zb_free(out->jobs[r]);
      out->jobs[r] = NULL;
      continue;
    }
    zb_plan_times *jobs = out->jobs[r];
    out->jobs[r] = NULL;
    out->jobs[r / replicas] = jobs;
    out->ranks[r / replicas] = out->ranks[r];
  }
  out->rank_count /= replicas;
}

zb_status zb_plan_replicate_timed(const zb_plan *plan, zb_plan **out) {
  *out = NULL;
  if (!plan->link_copies) return zb_plan_replicate(plan, 2, out);
  if (zb_plan_replicas(plan) <= REPLICAS_COPYING_MAX) return zb_plan_replicate(plan, 0, out);
  return zb_status_hint(ZB_ERROR(INVALID,
                                 "the costs of messages are those of ranks that are threads of one machine, and there "
                                 "are %d replicas; up to %d can be simulated so",
                                 plan->replicas, REPLICAS_COPYING_MAX),
                        "compile without --costs");
}

/* The view comes first: the list that nobody asks for is not replicated. */
zb_status zb_timed_step_init(const zb_plan *plan, zb_timed_step *out) {
  *out = (zb_timed_step){.plan = plan};
  ZB_TRY(zb_plan_check(plan));
  if (plan->evaluates) ZB_TRY(zb_plan_view(plan, ZB_LIST_STEP, &out->made[0]));
  if (out->made[0]) out->plan = out->made[0];
  ZB_TRY(zb_plan_replicate_timed(out->plan, &out->made[1]));
  if (out->made[1]) out->plan = out->made[1];
  ZB_TRY(zb_plan_expand(out->plan, &out->made[2]));
  if (out->made[2]) out->plan = out->made[2];
  return NULL;
}

void zb_timed_step_deinit(zb_timed_step *step) {
  for (int i = 2; i >= 0; --i)
    zb_plan_destroy(step->made[i]);
  *step = (zb_timed_step){0};
}

zb_status zb_timed_step_simulate(const zb_timed_step *step, zb_plan_simulation *out) {
  ZB_TRY(zb_plan_simulate_pace(step->plan, NULL, out));
  if (step->made[1]) keep_first_replica(out, step->made[1]->derived.mesh);
  return NULL;
}

zb_status zb_plan_simulate(const zb_plan *plan, zb_plan_simulation *out) {
  zb_timed_step step;
  *out = (zb_plan_simulation){0};
  zb_status status = zb_timed_step_init(plan, &step);
  if (!status) status = zb_timed_step_simulate(&step, out);
  const int mesh = status ? 1 : zb_plan_mesh(step.plan);
  for (int r = 0; !status && r < step.plan->rank_count; r += mesh) /* of replicas the first one is told of */
    status = measure_memory(step.plan, r, &out->ranks[step.made[1] ? r / mesh : r].peak_bytes);
  if (status) zb_plan_simulation_free(out);
  zb_timed_step_deinit(&step);
  return status;
}

void zb_plan_simulation_free(zb_plan_simulation *simulation) {
  for (int r = 0; simulation->jobs && r < simulation->rank_count; ++r)
    zb_free(simulation->jobs[r]);
  zb_free(simulation->jobs);
  zb_free(simulation->ranks);
  *simulation = (zb_plan_simulation){0};
}
