/* Where the jobs of an order stand, and which job each rank waits for where it does not go on. Messages show the job as
 * text, which rank waits for which job, and the lists around the place with the cell in brackets. Tests:
 * test/passes/schedule/order_test.c.
 */
#include <string.h>

#include "passes/schedule/model.h"

zb_status zb_order_with_chart(zb_status status, const zb_order *order, int rank, int index) {
  char *chart = zb_order_marked(order, rank, index);
  if (chart) status = zb_status_note(status, "the order, with the cell marked:\n%s", chart);
  zb_free(chart);
  return status;
}

/* What is wrong with a job where it stands; index knows the jobs before it. */
static zb_status check_job(const zb_model *model, int rank, int i, zb_job job, const int32_t *index) {
  const zb_problem *p = model->problem;
  char text[32];
  if (job.kind < 0 || job.kind >= ZB_KIND_COUNT || job.stage < 0 || job.stage >= p->stages || job.micro_batch < 0 ||
      job.micro_batch >= p->micro_batches)
    return ZB_ERROR(INVALID, "rank %d, job %d: there is no job %s: expected stages 0..%d, micro-batches 0..%d", rank, i,
                    zb_job_text(job, text), p->stages - 1, p->micro_batches - 1);
  if (p->stage_rank[job.stage] != rank)
    return ZB_ERROR(INVALID, "rank %d, job %d: %s belongs to rank %d, which owns stage %d", rank, i,
                    zb_job_text(job, text), p->stage_rank[job.stage], job.stage);
  const int32_t other = index[zb_model_job(model, job.stage, job.kind, job.micro_batch)];
  if (other < 0) return NULL;
  return ZB_ERROR(INVALID, "rank %d, job %d: %s is there twice (job %d too)", rank, i, zb_job_text(job, text), other);
}

zb_status zb_order_index(const zb_model *model, const zb_order *order, zb_arena *arena, int32_t **out) {
  if (order->ranks != model->problem->ranks)
    return ZB_ERROR(INVALID, "the order has %d ranks, the problem has %d", order->ranks, model->problem->ranks);
  int32_t *index = ZB_TAKE(arena, *out, zb_model_jobs(model));
  ZB_TRY(zb_arena_status(arena));
  memset(index, -1, zb_model_jobs(model) * sizeof *index);
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      zb_status status = check_job(model, rank, i, job, index);
      if (status) return zb_order_with_chart(status, order, rank, i);
      index[zb_model_job(model, job.stage, job.kind, job.micro_batch)] = i;
    }
  return NULL;
}

static bool is_done(const zb_model *model, const int *done, const int32_t *index, zb_job job) {
  const int32_t at = index[zb_model_job(model, job.stage, job.kind, job.micro_batch)];
  return at >= 0 && at < done[model->problem->stage_rank[job.stage]];
}

/* The job that a rank waits for at done[rank]; false if it waits for none. */
static bool find_blocker(const zb_model *model, const zb_order *order, const int *done, const int32_t *index, int rank,
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

/* Following from each rank to the one that it waits for ends in a rank that was seen (the cycle) or in a job that is
 * nowhere. */
static zb_status note_waits(zb_status status, const zb_model *model, const zb_order *order, const int *done,
                            const int32_t *index, int first, bool *seen) {
  zb_job blocker;
  for (int rank = first; !seen[rank]; rank = model->problem->stage_rank[blocker.stage]) {
    seen[rank] = true;
    if (!find_blocker(model, order, done, index, rank, &blocker)) break;
    status = note_wait(status, model, order, done, index, rank, blocker);
  }
  return zb_order_with_chart(status, order, first, done[first]);
}

zb_status zb_order_explain(zb_status status, const zb_model *model, const zb_order *order, const int *done) {
  zb_arena arena = {0};
  int32_t *index;
  bool *seen;
  int first = 0;
  while (first < order->ranks && done[first] == order->counts[first])
    ++first;
  ZB_TAKE(&arena, seen, order->ranks);
  zb_status none = zb_order_index(model, order, &arena, &index);
  if (first < order->ranks && !none) status = note_waits(status, model, order, done, index, first, seen);
  zb_status_free(none);
  zb_arena_deinit(&arena);
  return status;
}
