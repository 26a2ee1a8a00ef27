/* See orders.h. The question is the problem as JSON, which has all of it exactly (problem_json_test.c reads back what
 * it writes), behind the schedule and its options. Test: test/passes/orders_test.c. */
#include "passes/stages/jobs/orders.h"

#include "passes/stages/jobs/buckets.h"

#include "runtime/base/text.h"

#include <string.h>

/* whole_backward and the counts of all ranks, then the jobs of all ranks. */
static zb_status keep_order(zb_memo *memo, const zb_question *question, const zb_order *order) {
  size_t jobs = 0;
  for (int r = 0; r < order->ranks; ++r)
    jobs += (size_t)order->counts[r];
  const size_t bytes =
      sizeof order->whole_backward + (size_t)order->ranks * sizeof *order->counts + jobs * sizeof(zb_job);
  unsigned char *answer = zb_alloc(bytes), *at = answer;
  if (!answer) return ZB_OUT_OF_MEMORY();
  memcpy(at, &order->whole_backward, sizeof order->whole_backward);
  memcpy(at += sizeof order->whole_backward, order->counts, (size_t)order->ranks * sizeof *order->counts);
  at += (size_t)order->ranks * sizeof *order->counts;
  for (int r = 0; r < order->ranks; ++r) {
    memcpy(at, order->jobs[r], (size_t)order->counts[r] * sizeof(zb_job));
    at += (size_t)order->counts[r] * sizeof(zb_job);
  }
  zb_status status = zb_memo_keep(memo, question, answer, bytes);
  zb_free(answer);
  return status;
}

static zb_status add_jobs(zb_order *order, int rank, int count, const unsigned char **at) {
  for (int i = 0; i < count; ++i) {
    zb_job job;
    memcpy(&job, *at, sizeof job);
    *at += sizeof job;
    ZB_TRY(zb_order_add(order, rank, job.stage, job.kind, job.micro_batch));
  }
  return NULL;
}

/* Leaves *out empty where there is none. */
static zb_status find_order(zb_memo *memo, const zb_question *question, int ranks, zb_order *out) {
  void *answer;
  size_t bytes;
  ZB_TRY(zb_memo_find(memo, question, &answer, &bytes));
  if (!answer) return NULL;
  const unsigned char *counts = (unsigned char *)answer + sizeof out->whole_backward;
  const unsigned char *at = counts + (size_t)ranks * sizeof *out->counts;
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_init(out, ranks));
  memcpy(&out->whole_backward, answer, sizeof out->whole_backward);
  for (int r = 0; r < ranks; ++r) {
    int count;
    memcpy(&count, counts + (size_t)r * sizeof count, sizeof count);
    ZB_TRY_GOTO(add_jobs(out, r, count, &at));
  }
cleanup:
  zb_free(answer);
  if (status) zb_order_deinit(out);
  return status;
}

static zb_status run_choice(const zb_schedule_choice *choice, bool settled, const zb_problem *problem, zb_order *out) {
  ZB_TRY(zb_schedule_run_choice(choice, problem, out));
  zb_status status = settled ? zb_order_advance_w(problem, out) : NULL;
  if (status) zb_order_deinit(out);
  return status;
}

/* Others take less time than the question. */
static bool is_slow(const zb_schedule_def *schedule) { return schedule->searches || schedule->is_slow; }

/* NULL: out of memory. */
static char *question_text(const zb_schedule_choice *choice, bool settled, const zb_problem *problem) {
  zb_text text = {0};
  char *json = zb_problem_json(problem);
  zb_text_add(&text, "%s %d", choice->schedule->name, settled);
  for (int i = 0; i < ZB_SCHEDULE_OPTIONS_MAX; ++i)
    zb_text_add(&text, " %lld", (long long)choice->options[i]);
  if (json) zb_text_add(&text, "\n%s", json);
  char *out = json && !text.failed ? zb_strdup(text.data) : NULL;
  zb_free(json);
  zb_text_deinit(&text);
  return out;
}

zb_status zb_choice_order(zb_memo *memo, const zb_schedule_choice *choice, bool settled, const zb_problem *problem,
                          zb_order *out) {
  *out = (zb_order){0};
  if (!memo || !is_slow(choice->schedule)) return run_choice(choice, settled, problem, out);
  ZB_TRY(zb_problem_check(problem));
  char *text = question_text(choice, settled, problem);
  if (!text) return ZB_OUT_OF_MEMORY();
  const zb_question question = {"zb_choice_order", text, strlen(text)};
  zb_status status = NULL;
  ZB_TRY_GOTO(find_order(memo, &question, problem->ranks, out));
  if (out->jobs) goto cleanup;
  status = run_choice(choice, settled, problem, out);
  zb_memo_spend(memo, out->timed_jobs);
  if (status) goto cleanup;
  status = keep_order(memo, &question, out);
  if (status) zb_order_deinit(out);
cleanup:
  zb_free(text);
  return status;
}

zb_status zb_order_problem_build(MlirModule module, int micro_batches, zb_metric metric, zb_module_problem *out) {
  ZB_TRY(zb_module_problem_build(module, micro_batches, out));
  out->problem.metric = metric;
  zb_status status = zb_buckets_reductions(out, NULL);
  for (int rank = 0; rank < out->problem.ranks && metric == ZB_METRIC_PERIOD; ++rank)
    out->optimizer_ps[rank] += out->snapshot_ps[rank];
  if (status) zb_module_problem_deinit(out);
  return status;
}
