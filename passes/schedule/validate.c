/* Proof that an order is right: every job once, on its rank, after what it needs, what adds to gradients in
 * micro-batch order, and no cycle between ranks.
 *
 * A cycle is found by running the order: where every rank is in list order, it ends for some times if and only if it
 * ends for all, so one run is a proof. Tests: test/passes/schedule/order_test.c.
 */

#include "passes/schedule/model.h"

/* Every job is there, and F before B before W on its rank. */
static zb_status check_jobs(const zb_model *model, const zb_order *order, const int32_t *index) {
  const zb_problem *p = model->problem;
  char text[32], earlier[32];
  for (int stage = 0; stage < p->stages; ++stage)
    for (int micro_batch = 0; micro_batch < p->micro_batches; ++micro_batch)
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
        const zb_job job = {stage, micro_batch, (zb_kind)kind};
        const int rank = p->stage_rank[stage];
        const int32_t at = index[zb_model_job(model, stage, job.kind, micro_batch)];
        if (at < 0)
          return zb_order_with_chart(ZB_ERROR(INVALID, "rank %d: %s is missing", rank, zb_job_text(job, text)), order,
                                     rank, -1);
        if (kind == 0 || index[zb_model_job(model, stage, (zb_kind)(kind - 1), micro_batch)] < at) continue;
        const zb_job before = {stage, micro_batch, (zb_kind)(kind - 1)};
        return zb_order_with_chart(ZB_ERROR(INVALID, "rank %d, job %d: %s stands before %s, which it needs", rank, at,
                                            zb_job_text(job, text), zb_job_text(before, earlier)),
                                   order, rank, at);
      }
  return NULL;
}

/* A kind of job that adds to gradients, or updates buffers, runs in rising micro-batch order. */
static zb_status check_rising(const zb_model *model, const zb_order *order, const int32_t *index, int stage,
                              zb_kind kind) {
  const zb_problem *p = model->problem;
  char text[32], earlier[32];
  for (int micro_batch = 1; micro_batch < p->micro_batches; ++micro_batch) {
    const int32_t at = index[zb_model_job(model, stage, kind, micro_batch)];
    if (index[zb_model_job(model, stage, kind, micro_batch - 1)] < at) continue;
    const zb_job job = {stage, micro_batch, kind}, before = {stage, micro_batch - 1, kind};
    return zb_order_with_chart(
        zb_status_hint(
            ZB_ERROR(
                INVALID, "rank %d, job %d: %s stands before %s: expected %c of a stage in rising micro-batch order",
                p->stage_rank[stage], at, zb_job_text(job, text), zb_job_text(before, earlier), zb_kind_letter(kind)),
            "%s in this order, so that every schedule gives the same bits; number the micro-batches by it",
            kind == ZB_F ? "buffers are updated" : "gradients accumulate"),
        order, p->stage_rank[stage], at);
  }
  return NULL;
}

static zb_status check_sums(const zb_model *model, const zb_order *order, const int32_t *index) {
  for (int stage = 0; stage < model->problem->stages; ++stage) {
    if (model->problem->costs[stage].f_updates) ZB_TRY(check_rising(model, order, index, stage, ZB_F));
    if (model->problem->costs[stage].b_accumulates) ZB_TRY(check_rising(model, order, index, stage, ZB_B));
    ZB_TRY(check_rising(model, order, index, stage, ZB_W));
  }
  return NULL;
}

static zb_status check_whole(const zb_model *model, const zb_order *order, const int32_t *index) {
  const zb_problem *p = model->problem;
  char text[32];
  const bool whole = order->whole_backward || p->whole_backward;
  for (int stage = 0; whole && stage < p->stages; ++stage)
    for (int micro_batch = 0; micro_batch < p->micro_batches; ++micro_batch) {
      const int32_t at = index[zb_model_job(model, stage, ZB_B, micro_batch)];
      if (index[zb_model_job(model, stage, ZB_W, micro_batch)] == at + 1) continue;
      const zb_job job = {stage, micro_batch, ZB_B};
      return zb_order_with_chart(
          ZB_ERROR(INVALID, "rank %d, job %d: %s is not followed by its W: expected whole backwards in this %s",
                   p->stage_rank[stage], at, zb_job_text(job, text), order->whole_backward ? "order" : "problem"),
          order, p->stage_rank[stage], at);
    }
  if (whole && !order->whole_backward)
    return zb_status_hint(ZB_ERROR(INVALID, "B and W are one job in this problem, and the order sends when B ends"),
                          "set whole_backward of the order");
  return NULL;
}

zb_status zb_order_validate(const zb_problem *problem, const zb_order *order) {
  zb_model model;
  int32_t *index;
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_index(&model, order, &model.arena, &index));
  ZB_TRY_GOTO(check_jobs(&model, order, index));
  ZB_TRY_GOTO(check_sums(&model, order, index));
  ZB_TRY_GOTO(check_whole(&model, order, index));
  ZB_TRY_GOTO(zb_order_run_to_end(&model, order, NULL, ZB_INVALID,
                                  "the order deadlocks: ranks wait for each other in a circle"));
cleanup:
  zb_model_deinit(&model);
  return status;
}
