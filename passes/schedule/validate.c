/* Proof that an order is right: every job once, on its rank, after what it needs, W in micro-batch order, and no cycle
 * between ranks.
 *
 * A cycle is found by running the order: where every rank is in list order, it ends for some times if and only if it
 * ends for all, so one run is a proof. Messages show the job as text, who waits for what, and the lists around the
 * place with the cell in brackets. Tests: test/passes/schedule/order_test.c.
 */
#include "passes/schedule/model.h"

static zb_status with_chart(zb_status status, const zb_order *order, int rank, int index) {
  char *chart = zb_order_chart_marked(order, rank, index);
  if (chart) status = zb_status_note(status, "the order, with the cell marked:\n%s", chart);
  zb_free(chart);
  return status;
}

zb_status zb_order_index(const zb_model *model, const zb_order *order, int32_t **out) {
  const zb_problem *p = model->problem;
  *out = NULL;
  if (order->ranks != p->ranks)
    return ZB_ERROR(INVALID, "the order has %d ranks, the problem has %d", order->ranks, p->ranks);
  const size_t jobs = zb_model_jobs(model);
  int32_t *index = zb_alloc(jobs * sizeof *index);
  if (!index) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < jobs; ++i)
    index[i] = -1;
  char text[32];
  zb_status status = NULL;
  for (int rank = 0; rank < order->ranks && !status; ++rank)
    for (int i = 0; i < order->counts[rank] && !status; ++i) {
      const zb_job job = order->jobs[rank][i];
      if (job.kind < 0 || job.kind >= ZB_KIND_COUNT || job.stage < 0 || job.stage >= p->stages || job.micro_batch < 0 ||
          job.micro_batch >= p->micro_batches)
        status = with_chart(ZB_ERROR(INVALID,
                                     "rank %d, job %d: there is no job %s: expected stages 0..%d, micro-batches 0..%d",
                                     rank, i, zb_job_text(job, text), p->stages - 1, p->micro_batches - 1),
                            order, rank, i);
      else if (p->stage_rank[job.stage] != rank)
        status = with_chart(ZB_ERROR(INVALID, "rank %d, job %d: %s belongs to rank %d, which owns stage %d", rank, i,
                                     zb_job_text(job, text), p->stage_rank[job.stage], job.stage),
                            order, rank, i);
      else if (index[zb_model_job(model, job.stage, job.kind, job.micro_batch)] >= 0)
        status = with_chart(ZB_ERROR(INVALID, "rank %d, job %d: %s is there twice (job %d too)", rank, i,
                                     zb_job_text(job, text),
                                     index[zb_model_job(model, job.stage, job.kind, job.micro_batch)]),
                            order, rank, i);
      else
        index[zb_model_job(model, job.stage, job.kind, job.micro_batch)] = i;
    }
  if (status)
    zb_free(index);
  else
    *out = index;
  return status;
}

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
          return with_chart(ZB_ERROR(INVALID, "rank %d: %s is missing", rank, zb_job_text(job, text)), order, rank, -1);
        if (kind == 0 || index[zb_model_job(model, stage, (zb_kind)(kind - 1), micro_batch)] < at) continue;
        const zb_job before = {stage, micro_batch, (zb_kind)(kind - 1)};
        return with_chart(ZB_ERROR(INVALID, "rank %d, job %d: %s stands before %s, which it needs", rank, at,
                                   zb_job_text(job, text), zb_job_text(before, earlier)),
                          order, rank, at);
      }
  return NULL;
}

static zb_status check_w_order(const zb_model *model, const zb_order *order, const int32_t *index) {
  const zb_problem *p = model->problem;
  char text[32], earlier[32];
  for (int stage = 0; stage < p->stages; ++stage)
    for (int micro_batch = 1; micro_batch < p->micro_batches; ++micro_batch) {
      const int32_t at = index[zb_model_job(model, stage, ZB_W, micro_batch)];
      if (index[zb_model_job(model, stage, ZB_W, micro_batch - 1)] < at) continue;
      const zb_job job = {stage, micro_batch, ZB_W}, before = {stage, micro_batch - 1, ZB_W};
      return with_chart(
          zb_status_hint(
              ZB_ERROR(INVALID,
                       "rank %d, job %d: %s stands before %s: expected W of a stage in rising micro-batch order",
                       p->stage_rank[stage], at, zb_job_text(job, text), zb_job_text(before, earlier)),
              "gradients accumulate in this order, so that every schedule gives the same bits; number the "
              "micro-batches by it"),
          order, p->stage_rank[stage], at);
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
      return with_chart(
          ZB_ERROR(INVALID, "rank %d, job %d: %s is not followed by its W: expected whole backwards in this %s",
                   p->stage_rank[stage], at, zb_job_text(job, text), order->whole_backward ? "order" : "problem"),
          order, p->stage_rank[stage], at);
    }
  if (whole && !order->whole_backward)
    return zb_status_hint(ZB_ERROR(INVALID, "B and W are one job in this problem, and the order sends when B ends"),
                          "set whole_backward of the order");
  return NULL;
}

static bool is_done(const zb_model *model, const int *done, const int32_t *index, zb_job job) {
  const int32_t at = index[zb_model_job(model, job.stage, job.kind, job.micro_batch)];
  return at >= 0 && at < done[model->problem->stage_rank[job.stage]];
}

bool zb_order_blocker(const zb_model *model, const zb_order *order, const int *done, const int32_t *index, int rank,
                      zb_job *out) {
  if (done[rank] >= order->counts[rank]) return false;
  const zb_job job = order->jobs[rank][done[rank]];
  if (job.kind != ZB_F) {
    *out = (zb_job){job.stage, job.micro_batch, (zb_kind)(job.kind - 1)};
    if (!is_done(model, done, index, *out)) return true;
    if (job.kind == ZB_W) return false;
  }
  for (int stage = 0; stage < model->problem->stages; ++stage)
    for (int i = model->link_begin[job.kind][stage]; i < model->link_begin[job.kind][stage + 1]; ++i) {
      if (model->links[job.kind][i].stage != job.stage) continue;
      *out = (zb_job){stage, job.micro_batch, job.kind};
      if (!is_done(model, done, index, *out)) return true;
    }
  return false;
}

static zb_status note_wait(zb_status status, const zb_model *model, const zb_order *order, const int *done,
                           const int32_t *index, int rank, zb_job blocker) {
  char text[32], waits[32], behind[32];
  const int owner = model->problem->stage_rank[blocker.stage];
  zb_job_text(order->jobs[rank][done[rank]], text);
  zb_job_text(blocker, waits);
  if (index[zb_model_job(model, blocker.stage, blocker.kind, blocker.micro_batch)] < 0)
    return zb_status_note(status, "rank %d at %s (job %d) waits for %s, which is in no list", rank, text, done[rank],
                          waits);
  if (done[owner] >= order->counts[owner])
    return zb_status_note(status, "rank %d at %s (job %d) waits for %s of rank %d", rank, text, done[rank], waits,
                          owner);
  return zb_status_note(status, "rank %d at %s (job %d) waits for %s of rank %d, which stands behind %s (job %d)", rank,
                        text, done[rank], waits, owner, zb_job_text(order->jobs[owner][done[owner]], behind),
                        done[owner]);
}

zb_status zb_order_explain(zb_status status, const zb_model *model, const zb_order *order, const int *done,
                           const int32_t *index) {
  int first = -1;
  bool *seen = zb_alloc((size_t)order->ranks * sizeof *seen);
  if (!seen) return status;
  for (int rank = 0; rank < order->ranks && first < 0; ++rank)
    if (done[rank] < order->counts[rank]) first = rank;
  zb_job blocker;
  /* Following who waits for whom ends in a rank that was seen (the cycle) or in a job that is nowhere. */
  for (int rank = first; rank >= 0 && !seen[rank]; rank = model->problem->stage_rank[blocker.stage]) {
    seen[rank] = true;
    if (!zb_order_blocker(model, order, done, index, rank, &blocker)) break;
    status = note_wait(status, model, order, done, index, rank, blocker);
  }
  zb_free(seen);
  return first < 0 ? status : with_chart(status, order, first, done[first]);
}

static zb_status check_ends(const zb_model *model, const zb_order *order, const int32_t *index) {
  int *done = zb_alloc((size_t)order->ranks * sizeof *done);
  if (!done) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  if (!zb_order_run(model, order, done, NULL)) status = ZB_OUT_OF_MEMORY();
  for (int rank = 0; rank < order->ranks && !status; ++rank)
    if (done[rank] < order->counts[rank]) {
      status = ZB_ERROR(INVALID, "the order deadlocks: ranks wait for each other in a circle");
      status = zb_order_explain(status, model, order, done, index);
    }
  zb_free(done);
  return status;
}

zb_status zb_order_validate(const zb_problem *problem, const zb_order *order) {
  zb_model model;
  int32_t *index = NULL;
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_index(&model, order, &index));
  ZB_TRY_GOTO(check_jobs(&model, order, index));
  ZB_TRY_GOTO(check_w_order(&model, order, index));
  ZB_TRY_GOTO(check_whole(&model, order, index));
  ZB_TRY_GOTO(check_ends(&model, order, index));
cleanup:
  zb_free(index);
  zb_model_deinit(&model);
  return status;
}
