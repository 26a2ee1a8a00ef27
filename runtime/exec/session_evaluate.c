/* Evaluations of a session, and what they have in common with its steps. Tests: test/runtime/exec/evaluation_test.c,
 * test/e2e/evaluation.py. */
#include "runtime/exec/session_group.h"
#include "runtime/exec/data_rows.h"

#include <math.h>

/* ---- Of steps, too ---- */

zb_status zb_session_run_list(zb_session *session, void (*begin_list)(zb_executor *executor, int64_t number),
                              int64_t number, int64_t *out_ps) {
  ZB_TRY(session->transport_def->reset(session->transport));
  session->step_start_ps = session->device->virtual_clock ? 0 : zb_monotonic_ps();
  for (int i = 0; i < session->executor_count; ++i)
    begin_list(&session->executors[i], number);
  ZB_TRY(session->driver_def->run(session->driver, out_ps));
  return zb_session_share_step(session, number, out_ps);
}

zb_status zb_session_check_alive(zb_session *session, const char *next, int64_t number) {
  if (session->failed)
    return zb_status_hint(ZB_ERROR(RUNTIME, "this session ended with a failed step"),
                          "make a new one, with a checkpoint to resume from if there is one");
  if (!atomic_load(&session->interrupted)) return NULL;
  zb_session_abort(session, "interrupted");
  return ZB_ERROR(INTERRUPTED, "interrupted before %s %lld", next, (long long)number);
}

bool zb_session_take_back(zb_session *session, zb_status status) {
  const zb_code code = zb_status_code(status);
  const bool by_batch = code == ZB_INVALID || code == ZB_RUNTIME || code == ZB_USAGE;
  const zb_transport_def *def = session->transport_def;
  if (!by_batch || session->stepping || session->measure || !def->revive || !session->transport) return false;
  for (int i = 0; i < session->executor_count; ++i)
    if (!zb_executor_take_back(&session->executors[i])) return false;
  return def->revive(session->transport);
}

/* ---- Evaluations ---- */

zb_status zb_session_open_evaluation(zb_session *session, const zb_session_params *params) {
  const zb_data_params data = {.plan = session->plan,
                               .source = params->evaluation,
                               .option = "--eval",
                               .input = params->evaluation_input,
                               .input_context = params->input_context,
                               .all_rows = true};
  if (!session->plan->evaluates)
    return zb_status_hint(ZB_ERROR(INVALID, "the plan has no evaluation: it was made of a program without a loss"),
                          "leave --eval out");
  ZB_TRY(zb_data_create(&data, &session->evaluation));
  const zb_outputs_params outputs = {.plan = session->plan,
                                     .texts = params->outputs,
                                     .count = params->output_count,
                                     .first_rank = session->first_rank,
                                     .ranks = session->rank_count,
                                     .in_memory = !params->evaluation,
                                     .each = zb_data_rows_of_plan(session->plan)};
  ZB_TRY(zb_outputs_open(&session->outputs, &session->memory, &outputs));
  if (!params->evaluation) return NULL; /* batch after batch */
  const int64_t rows = zb_data_rows(session->evaluation),
                needed = zb_data_rows_at_once(session->evaluation) * session->plan->micro_batches;
  const int64_t whole = needed > 0 ? rows / needed : 1, rest = needed > 0 ? rows % needed : 0;
  const int64_t all = whole + (rest > 0), wanted = params->evaluation_batches > 0 ? params->evaluation_batches : all;
  session->batches = wanted < whole ? wanted : whole;
  session->rest = wanted > whole ? rest : 0;
  if (wanted > all)
    return zb_status_hint(ZB_ERROR(INVALID, "--eval-steps: '%s' has %lld rows, which are no %lld batches of %lld",
                                   params->evaluation, (long long)rows, (long long)wanted, (long long)needed),
                          "they are %lld; without --eval-steps all of them are evaluated", (long long)all);
  return NULL;
}

static void swap_times(zb_session *session, int64_t *start_ps) {
  zb_rank_time *times = session->times;
  const int64_t start = session->step_start_ps;
  session->times = session->other_times;
  session->other_times = times;
  session->step_start_ps = *start_ps;
  *start_ps = start;
}

/* What became of the files in one process is known in all, which else would go on without it. */
static zb_status agree_on_files(zb_session *session, zb_status status) {
  return session->params.output_count > 0 ? zb_session_agree(session, status) : status;
}

static zb_status run_batch(zb_session *session, zb_evaluation_result *out) {
  int64_t took_ps = 0;
  zb_status status = zb_session_run_list(session, zb_executor_begin_evaluation, out->batches, &took_ps);
  out->seconds += (double)took_ps / 1e12;
  out->stopping = session->ends;
  return status;
}

/* Takes and returns ownership. */
static zb_status end_batch(zb_session *session, zb_status status, zb_evaluation_result *out) {
  if (status) {
    session->failed = !zb_session_take_back(session, status);
    return zb_status_note(status, "evaluation after step %lld, batch %lld", (long long)session->steps,
                          (long long)out->batches + 1);
  }
  ++out->batches;
  if (out->has_loss) out->loss = out->loss_sum / out->loss_weight;
  return NULL;
}

/* The next batch: number out->batches, whose loss is added to *out. */
static zb_status add_batch(zb_session *session, zb_evaluation_result *out) {
  zb_status status = run_batch(session, out);
  if (!status) status = agree_on_files(session, zb_outputs_add(&session->outputs));
  if (status) return end_batch(session, status, out);
  const bool weighted = session->micro_weights != NULL;
  out->loss_sum += weighted ? zb_session_loss_sum(session) : zb_session_mean_loss(session);
  out->loss_weight += weighted ? zb_session_loss_weight(session) : 1;
  out->tokens += zb_session_batch_tokens(session->plan);
  return end_batch(session, NULL, out);
}

/* The losses of micro-batches that got `part` and those behind it: each counts by its rows, and is that of rows which
 * came as often as they fit. Returns how many rows they were. */
static int64_t add_shares(zb_session *session, int64_t rows, int64_t each, int64_t part, zb_evaluation_result *out) {
  int64_t taken = 0;
  for (int m = 0; m < session->plan->micro_batches; ++m) {
    const zb_batch_share share = zb_batch_share_of(rows, each, part + m);
    const double whole = (double)share.rows / (double)each;
    taken += share.rows;
    if (share.rows == 0) break;
    out->loss_sum += session->micro_losses[m] * (session->micro_weights ? whole : whole / session->plan->micro_batches);
    out->loss_weight +=
        session->micro_weights ? session->micro_weights[m] * whole : whole / session->plan->micro_batches;
  }
  return taken;
}

/* The next batch, of fewer rows, from that one of the data on. */
static zb_status add_rows(zb_session *session, int64_t first, int64_t rows, zb_evaluation_result *out) {
  const int64_t each = zb_data_rows_of_plan(session->plan);
  const double row_tokens = zb_session_batch_tokens(session->plan) / (double)(each * session->plan->micro_batches);
  zb_status status = NULL;
  for (int64_t taken = 0, part = 0; taken < rows && !status; part += session->plan->micro_batches) {
    zb_data_set_partial(session->evaluation, first, rows, part);
    status = run_batch(session, out);
    if (!status) status = agree_on_files(session, zb_outputs_add_rows(&session->outputs, session->plan, rows, part));
    if (!status) taken += add_shares(session, rows, each, part, out);
  }
  zb_data_set_partial(session->evaluation, 0, 0, 0);
  out->tokens += row_tokens * (double)rows;
  return end_batch(session, status, out);
}

static zb_status begin_evaluation(zb_session *session, bool has_data, const char *hint, zb_evaluation_result *out) {
  out->step = session->steps;
  out->has_loss = !session->plan->inference;
  if (out->batches == 0) out->loss = (double)NAN;
  if (!has_data) return zb_status_hint(ZB_ERROR(USAGE, "the session has no data to evaluate"), "%s", hint);
  ZB_TRY(zb_session_check_alive(session, "the evaluation after step", session->steps));
  return zb_session_check_still(session);
}

zb_status zb_session_evaluate(zb_session *session, zb_evaluation_result *out) {
  *out = (zb_evaluation_result){0};
  ZB_TRY(begin_evaluation(session, session->batches + session->rest > 0, "set evaluation in its parameters (--eval)",
                          out));
  int64_t start_ps = 0;
  ZB_TRY(agree_on_files(session, zb_outputs_begin(&session->outputs, session->plan, session->batches, session->rest)));
  swap_times(session, &start_ps); /* timelines are of the last step */
  zb_status status = NULL;
  while (out->batches < session->batches && !out->stopping && !status)
    status = add_batch(session, out);
  const int64_t first = session->batches * zb_data_rows_of_plan(session->plan) * session->plan->micro_batches;
  if (session->rest > 0 && !out->stopping && !status) status = add_rows(session, first, session->rest, out);
  swap_times(session, &start_ps);
  if (!status && !out->stopping) return agree_on_files(session, zb_outputs_commit(&session->outputs));
  zb_outputs_abandon(&session->outputs); /* of some batches only */
  return status;
}

/* rows 0: all. */
static zb_status evaluate_next(zb_session *session, int64_t rows, zb_evaluation_result *out) {
  const bool has_data = session->evaluation && session->batches + session->rest == 0;
  int64_t start_ps = 0;
  ZB_TRY(begin_evaluation(session, has_data, "set evaluation_input in its parameters", out));
  swap_times(session, &start_ps);
  zb_status status = rows > 0 ? add_rows(session, 0, rows, out) : add_batch(session, out);
  swap_times(session, &start_ps);
  return status;
}

zb_status zb_session_evaluate_batch(zb_session *session, zb_evaluation_result *out) {
  return evaluate_next(session, 0, out);
}

zb_status zb_session_evaluate_rows(zb_session *session, int64_t rows, zb_evaluation_result *out) {
  const int64_t all = zb_data_rows_of_plan(session->plan) * session->plan->micro_batches;
  if (rows < 1 || rows > all)
    return ZB_ERROR(USAGE, "a batch has %lld rows: expected 1 to %lld", (long long)rows, (long long)all);
  return evaluate_next(session, rows == all ? 0 : rows, out);
}

zb_status zb_session_output(const zb_session *session, const char *name, zb_shape *out_shape, const void **out_data) {
  return zb_outputs_find(&session->outputs, session->plan, name, out_shape, out_data);
}
