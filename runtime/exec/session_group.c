/* Sessions of several processes: see session_group.h. Tests: test/runtime/exec/session_group_test.c,
 * test/e2e/processes.py. */
#include "runtime/exec/session_group.h"

#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"

#include <stdio.h>
#include <string.h>

enum { NOBODY = INT32_MAX, MESSAGE_BYTES = 768, HINT_BYTES = 256, SET_BYTES = 32 };

typedef struct failure_record {
  int32_t process; /* NOBODY: all are well */
  int32_t code;
  char message[MESSAGE_BYTES], hint[HINT_BYTES];
} failure_record;

/* How a process is, merged: the first that failed. */
typedef struct state_record {
  failure_record failure;
  /* At the start only. */
  uint64_t digest;        /* of the plan */
  int32_t digest_process; /* the first whose plan is another; NOBODY */
  int32_t set_process;    /* the first whose instruction set is another */
  char set[SET_BYTES], other_set[SET_BYTES];
} state_record;

/* Of one rank, one step. */
typedef struct rank_share {
  zb_rank_time time;
  int64_t known;
} rank_share;

/* Of one micro-batch. */
typedef struct loss_share {
  double loss, weight;
  int64_t known;
} loss_share;

/* A step, merged. */
struct zb_step_record {
  int64_t took_ps, stopping, ranks, micro_batches, has_norm;
  double norm;
  rank_share share[]; /* ranks of them, then the losses */
};

zb_status zb_session_group_open(zb_session *session, const zb_session_params *params) {
  session->processes = 1;
  if (!session->group_def) return NULL;
  const zb_bootstrap *by = params->bootstrap;
  zb_group_params group = {.timeout_ms = session->timeout_ms, .give_up = params->give_up};
  if (by && by->launcher) {
    group.launcher = by->launcher;
    group.process = by->process;
    group.processes = by->processes;
    group.address = by->address[0] ? by->address : NULL;
    group.port = by->port;
    group.ports = by->ports;
    group.run = by->run;
  }
  ZB_TRY(session->group_def->open(&group, &session->group));
  session->process = session->group_def->process(session->group);
  session->processes = session->group_def->processes(session->group);
  return NULL;
}

zb_status zb_session_ranks_of(zb_session *session, int rank_count) {
  if (session->processes > rank_count)
    return zb_status_hint(ZB_ERROR(USAGE, "there are %d processes, but the plan has %d rank%s", session->processes,
                                   rank_count, rank_count == 1 ? "" : "s"),
                          "start %d processes or fewer, or compile the model with --ranks %d", rank_count,
                          session->processes);
  session->rank_count = zb_group_ranks(rank_count, session->processes, session->process, &session->first_rank);
  return NULL;
}

/* ---- One status for all ---- */

static void merge_state(void *total, const void *one, size_t bytes) {
  state_record *all = total;
  const state_record *next = one;
  (void)bytes;
  if (all->failure.process == NOBODY) all->failure = next->failure;
  /* digest_process and set_process of `next` are its own number until here. */
  if (all->digest_process == NOBODY && next->digest != all->digest) all->digest_process = next->digest_process;
  if (all->set_process == NOBODY && strcmp(next->set, all->set) != 0) {
    all->set_process = next->set_process;
    memcpy(all->other_set, next->set, sizeof all->other_set);
  }
}

static void describe(const zb_session *session, zb_status status, state_record *out) {
  int32_t own = session->process == 0 ? NOBODY : session->process;
  failure_record *failure = &out->failure;
  *out = (state_record){.failure.process = NOBODY, .digest_process = own, .set_process = own};
  if (session->plan) out->digest = session->plan->digest;
  snprintf(out->set, sizeof out->set, "%s", session->instruction_set);
  if (!status) return;
  failure->process = session->process;
  failure->code = (int32_t)zb_status_code(status);
  snprintf(failure->message, sizeof failure->message, "%s", zb_status_message(status));
  if (zb_status_hint_text(status)) snprintf(failure->hint, sizeof failure->hint, "%s", zb_status_hint_text(status));
}

/* What this process says of a failure somewhere. */
static zb_status after_merge(const zb_session *session, zb_status status, const failure_record *failure) {
  if (failure->process == NOBODY || failure->process == session->process) return status;
  zb_status_free(status);
  zb_code code = failure->code > 0 && failure->code < ZB_CODE_COUNT ? (zb_code)failure->code : ZB_PEER;
  status = zb_status_make(code, __FILE__, __LINE__, "process %d stops because process %d failed: %s", session->process,
                          (int)failure->process, failure->message);
  if (failure->hint[0]) status = zb_status_hint(status, "%s", failure->hint);
  return zb_status_set_told(status);
}

/* The processes cannot agree any more: where the ranks of this one are is what is looked for. Takes and returns
 * ownership. */
static zb_status lost(zb_session *session, zb_status status) {
  if (!status) return NULL;
  session->apart = true;
  return zb_executors_note_positions(session->executors, session->executor_count, status);
}

static zb_status merge_states(zb_session *session, zb_status status, state_record *record) {
  describe(session, status, record);
  zb_status failed = session->group_def->merge(session->group, record, sizeof *record, merge_state);
  if (failed) { /* what failed here can follow from it: process 0 clears away a save that cannot be finished */
    failed = lost(session, failed);
    if (status) failed = zb_status_note(failed, "this process failed, too: %s", zb_status_message(status));
    zb_status_free(status);
    return failed;
  }
  return after_merge(session, status, &record->failure);
}

zb_status zb_session_agree(zb_session *session, zb_status status) {
  state_record record;
  return session->group ? merge_states(session, status, &record) : status;
}

void zb_session_merge_u64(void *total, const void *one, size_t bytes) {
  uint64_t *all = total;
  const uint64_t *next = one;
  for (size_t i = 0; i < bytes / sizeof *all; ++i)
    if (next[i]) all[i] = next[i];
}

zb_status zb_session_note_arenas(zb_session *session, const zb_plan *plan) {
  if (!session->arena_bytes) ZB_TAKE(&session->memory, session->arena_bytes, plan->rank_count);
  ZB_TRY(zb_arena_status(&session->memory));
  for (int i = 0; i < plan->rank_count; ++i)
    if (plan->ranks[i].arena_bytes > 0) session->arena_bytes[i] = plan->ranks[i].arena_bytes;
  return NULL;
}

static zb_status share_arenas(zb_session *session) {
  size_t bytes = sizeof(uint64_t) * (size_t)session->plan->rank_count;
  if (!session->group) return NULL;
  ZB_TRY(session->group_def->merge(session->group, session->arena_bytes, bytes, zb_session_merge_u64));
  return zb_session_compare_clocks(session);
}

static zb_status make_record(zb_session *session) {
  if (!session->group) return NULL;
  session->record_bytes = sizeof *session->record + sizeof(rank_share) * (size_t)session->plan->rank_count +
                          sizeof(loss_share) * (size_t)session->plan->micro_batches;
  session->record = zb_arena_take(&session->memory, 1, session->record_bytes);
  return zb_arena_status(&session->memory);
}

zb_status zb_session_compare_facts(zb_session *session, const zb_facts *facts) {
  if (!session->group) return NULL;
  void *all = NULL;
  size_t bytes = 0;
  uint64_t length = facts->records.length;
  zb_text mine = {0};
  zb_text_add_bytes(&mine, (const char *)&length, sizeof length);
  zb_text_add_bytes(&mine, facts->records.data, facts->records.length);
  zb_status status = zb_session_agree(session, mine.failed || facts->records.failed ? ZB_OUT_OF_MEMORY() : NULL);
  if (!status) status = zb_session_gather(session, mine.data, mine.length, &all, &bytes);
  if (!status)
    status = zb_session_agree(session, all ? zb_facts_compare_all(facts, session->processes, all, bytes) : NULL);
  zb_text_deinit(&mine);
  zb_free(all);
  return status;
}

zb_status zb_session_agree_start(zb_session *session, zb_status status) {
  state_record record = {.digest_process = NOBODY, .set_process = NOBODY};
  if (!status) status = make_record(session);
  if (session->group) status = merge_states(session, status, &record);
  if (status) return status;
  if (record.digest_process != NOBODY) {
    status = zb_status_hint(ZB_ERROR(USAGE, "process %d reads another plan than process 0", (int)record.digest_process),
                            "give all processes the same folder, on a file system that all of them see");
    return session->process == 0 ? status : zb_status_set_told(status);
  }
  ZB_TRY(zb_session_compare_facts(session, &session->contents));
  zb_facts_deinit(&session->contents);
  if (record.set_process != NOBODY)
    snprintf(session->mixed, sizeof session->mixed,
             "process 0 computes with %s, process %d with %s: results may differ in the last bits", record.set,
             (int)record.set_process, record.other_set);
  ZB_TRY(share_arenas(session));
  return session->transport_def->connect
             ? zb_session_agree(session, session->transport_def->connect(session->transport))
             : NULL;
}

/* ---- Steps ---- */

static loss_share *losses_of(zb_step_record *record) { return (loss_share *)(void *)(record->share + record->ranks); }

static void merge_step(void *total, const void *one, size_t bytes) {
  zb_step_record *all = total;
  const zb_step_record *next = one;
  const loss_share *from = (const loss_share *)(const void *)(next->share + next->ranks);
  loss_share *to = losses_of(all);
  (void)bytes;
  if (next->took_ps > all->took_ps) all->took_ps = next->took_ps;
  all->stopping |= next->stopping;
  if (next->has_norm) all->norm = next->norm; /* one number on all ranks that have it */
  all->has_norm |= next->has_norm;
  for (int64_t i = 0; i < all->ranks; ++i)
    if (next->share[i].known) all->share[i] = next->share[i];
  for (int64_t i = 0; i < all->micro_batches; ++i)
    if (from[i].known) to[i] = from[i];
}

/* Which micro-batches report their loss here. */
static void fill_losses(const zb_session *session, loss_share *out) {
  for (int i = 0; i < session->executor_count; ++i) {
    const zb_plan_rank *program = session->executors[i].program;
    for (int k = 0; k < program->job_count; ++k)
      if (program->jobs[k].kind == ZB_JOB_REPORT && program->jobs[k].micro_batch >= 0 && !program->jobs[k].output) {
        const int at = program->jobs[k].micro_batch;
        out[at] = (loss_share){session->micro_losses[at], session->micro_weights ? session->micro_weights[at] : 1, 1};
      }
  }
}

/* What the ranks here say of it. Without a barrier a rank's step begins when its own one before it has ended. */
static void take_records(zb_session *session, int64_t number) {
  const bool follows = session->stepping;
  const size_t count = (size_t)session->plan->micro_batches;
  session->has_norm = false;
  for (int i = 0; i < session->executor_count; ++i) {
    const zb_run_record *one = zb_executor_record(&session->executors[i], number);
    const int64_t began_ps = follows ? one->began_ps : session->step_start_ps;
    if (one->has_norm) session->norm = (double)one->norm;
    session->has_norm |= one->has_norm;
    session->times[session->first_rank + i] =
        (zb_rank_time){began_ps, one->compute_ps, one->waiting_ps, one->ended_ps - began_ps};
  }
  if (!session->overlaps) return;
  const size_t kept =
      session->executors[0].list == ZB_LIST_STEP ? (size_t)(number % ZB_STEPS_IN_FLIGHT) : 0; /* as executors have it */
  memcpy(session->micro_losses, session->losses_kept + kept * count, count * sizeof *session->micro_losses);
  if (session->micro_weights)
    memcpy(session->micro_weights, session->weights_kept + kept * count, count * sizeof *session->micro_weights);
}

zb_status zb_session_share_step(zb_session *session, int64_t number, int64_t *took_ps) {
  const zb_plan *plan = session->plan;
  take_records(session, number);
  session->ends = atomic_load(&session->stopping) != 0;
  if (!session->group) return NULL;
  zb_step_record *record = session->record;
  memset(record, 0, session->record_bytes);
  /* Without a barrier the steps of one process add up to its time, and the longest of each to more. */
  record->took_ps = session->stepping && session->process > 0 ? 0 : *took_ps;
  record->stopping = session->ends;
  record->ranks = plan->rank_count;
  record->micro_batches = plan->micro_batches;
  record->has_norm = session->has_norm;
  record->norm = session->norm;
  for (int i = session->first_rank; i < session->first_rank + session->rank_count; ++i)
    record->share[i] = (rank_share){session->times[i], 1};
  fill_losses(session, losses_of(record));
  ZB_TRY(lost(session, session->group_def->merge(session->group, record, session->record_bytes, merge_step)));
  *took_ps = record->took_ps;
  session->has_norm = record->has_norm != 0;
  session->norm = record->norm;
  session->ends = record->stopping != 0; /* what comes later counts for the next step, in every process */
  for (int i = 0; i < plan->rank_count; ++i)
    session->times[i] = record->share[i].time;
  for (int i = 0; i < plan->micro_batches && !plan->inference; ++i) {
    if (!losses_of(record)[i].known) return ZB_ERROR(RUNTIME, "no process reported the loss of micro-batch %d", i);
    session->micro_losses[i] = losses_of(record)[i].loss;
    if (session->micro_weights) session->micro_weights[i] = losses_of(record)[i].weight;
  }
  return NULL;
}

/* ---- Clocks ---- */

enum { CLOCK_ROUNDS = 8 };

/* What a process saw of its clock around merges in which all took part, and which clock it is: processes of one boot
 * share theirs. */
typedef struct clock_record {
  uint64_t boot;
  int64_t before_ps[CLOCK_ROUNDS], after_ps[CLOCK_ROUNDS];
} clock_record;

static uint64_t boot_id(void) {
  char *text = NULL;
  size_t bytes = 0;
  zb_status status = zb_file_read("/proc/sys/kernel/random/boot_id", 0, &text, &bytes);
  uint64_t id = status ? 0 : zb_fnv1a(ZB_FNV_START, text, bytes);
  zb_status_free(status);
  zb_free(text);
  return id;
}

/* Process 0's clock minus that of the other. What the other sent after `before` was there before process 0's `after`,
 * and the other way round: each round bounds the difference from both sides. */
static int64_t clock_difference(const clock_record *zero, const clock_record *other, int64_t *error_ps) {
  int64_t least = INT64_MIN, most = INT64_MAX;
  *error_ps = 0;
  if (zero->boot != 0 && zero->boot == other->boot) return 0;
  for (int i = 0; i < CLOCK_ROUNDS; ++i) {
    if (zero->before_ps[i] - other->after_ps[i] > least) least = zero->before_ps[i] - other->after_ps[i];
    if (zero->after_ps[i] - other->before_ps[i] < most) most = zero->after_ps[i] - other->before_ps[i];
  }
  *error_ps = (most - least) / 2;
  return least + *error_ps;
}

zb_status zb_session_compare_clocks(zb_session *session) {
  clock_record mine = {.boot = boot_id()};
  void *all = NULL;
  size_t bytes = 0;
  if (!session->group || !session->params.trace) return NULL;
  for (int i = 0; i < CLOCK_ROUNDS; ++i) {
    uint64_t nothing = 0;
    mine.before_ps[i] = zb_monotonic_ps();
    ZB_TRY(session->group_def->merge(session->group, &nothing, sizeof nothing, zb_session_merge_u64));
    mine.after_ps[i] = zb_monotonic_ps();
  }
  ZB_TRY(zb_session_gather(session, &mine, sizeof mine, &all, &bytes));
  const clock_record *records = all;
  ZB_TAKE(&session->memory, session->clock_ps, session->processes);
  zb_status status = zb_arena_status(&session->memory);
  for (int i = 1; records && !status && i < session->processes; ++i) {
    int64_t error_ps = 0;
    session->clock_ps[i] = clock_difference(&records[0], &records[i], &error_ps);
    if (error_ps > session->clock_error_ps) session->clock_error_ps = error_ps;
  }
  zb_free(all);
  return zb_session_agree(session, status);
}

zb_status zb_session_gather(zb_session *session, const void *mine, size_t bytes, void **out, size_t *out_bytes) {
  *out_bytes = bytes;
  *out = NULL;
  if (session->group) return lost(session, session->group_def->gather(session->group, mine, bytes, out, out_bytes));
  *out = zb_alloc(bytes + 1);
  if (!*out) return ZB_OUT_OF_MEMORY();
  if (bytes > 0) memcpy(*out, mine, bytes);
  return NULL;
}

_Static_assert((int)ZB_SESSION_RANKS_TEXT >= (int)ZB_RANK_TEXT_BYTES, "what is written of ranks fits");

const char *zb_session_ranks_text(const zb_session_info *info, int process, char text[ZB_SESSION_RANKS_TEXT]) {
  int first;
  const int count = zb_group_ranks(info->ranks, info->processes, process, &first);
  return zb_plan_ranks_text(info->replicas, info->shards, first, count, text);
}
