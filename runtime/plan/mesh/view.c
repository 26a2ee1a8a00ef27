/* Plans of one list alone: zb_plan_view of runtime/plan/file/plan.h. Tests: test/runtime/plan/mesh/view_test.c. */
#include "runtime/plan/mesh/mesh.h"
#include "runtime/base/assert.h"
#include "runtime/plan/file/ranks.h"

/* The first message and collective of the list. */
typedef struct view_begin {
  int message, collective;
} view_begin;

/* The subprograms of the list; place[i]: where number i is among them. */
static zb_status take_subprograms(zb_plan *view, const zb_plan_rank *from, zb_plan_rank *rank, int *place) {
  rank->subprograms = zb_plan_alloc(view, (size_t)from->subprogram_count * sizeof *rank->subprograms);
  rank->subprogram_count = 0;
  if (!rank->subprograms) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < from->subprogram_count; ++i) {
    place[i] = rank->subprogram_count;
    if (zb_plan_list_of(&from->subprograms[i]) == view->derived.list)
      rank->subprograms[rank->subprogram_count++] = from->subprograms[i];
  }
  return NULL;
}

/* The waits of a job of `from`, whose list begins at job `begin` there. */
static void take_waits(const zb_plan_rank *from, zb_plan_rank *rank, zb_plan_job *job, int begin) {
  const zb_plan_slice waits = job->waits;
  job->waits.begin = rank->pool_u32_count;
  for (uint32_t i = 0; i < waits.count; ++i)
    rank->pool_u32[rank->pool_u32_count++] = from->pool_u32[waits.begin + i] - (uint32_t)begin;
}

/* What of jobs runs ahead: of a step. */
static zb_status take_segments(zb_plan *view, const zb_plan_rank *from, zb_plan_rank *rank, const int *place) {
  rank->segment_count = view->derived.list == ZB_LIST_STEP ? from->segment_count : 0;
  rank->segments = zb_plan_alloc(view, ((size_t)rank->segment_count + 1) * sizeof *rank->segments);
  if (!rank->segments) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->segment_count; ++i) {
    rank->segments[i] = from->segments[i];
    rank->segments[i].subprogram = place[from->segments[i].subprogram];
  }
  return NULL;
}

/* LOAD jobs go with the step. */
static zb_status take_jobs(zb_plan *view, const zb_plan_rank *from, zb_plan_rank *rank, const int *place,
                           view_begin first) {
  const int begin = view->derived.list == ZB_LIST_STEP ? 0 : zb_plan_step_end(from),
            end = zb_plan_list_end(from, view->derived.list);
  size_t waits = 0;
  for (int i = begin; i < end; ++i)
    waits += from->jobs[i].waits.count;
  rank->jobs = zb_plan_alloc(view, ((size_t)(end - begin) + 1) * sizeof *rank->jobs);
  rank->pool_u32 = zb_plan_alloc(view, (waits + 1) * sizeof *rank->pool_u32);
  rank->job_count = 0;
  rank->pool_u32_count = 0;
  if (!rank->jobs || !rank->pool_u32) return ZB_OUT_OF_MEMORY();
  for (int i = begin; i < end; ++i) {
    zb_plan_job *job = &rank->jobs[rank->job_count++];
    *job = from->jobs[i];
    if (job->subprogram >= 0) job->subprogram = place[job->subprogram];
    if (job->message >= 0) job->message -= first.message;
    if (job->collective > 0) job->collective -= first.collective;
    take_waits(from, rank, job, begin);
  }
  if (view->derived.list != ZB_LIST_STEP) rank->load_count = 0;
  return NULL;
}

static zb_status take_rank(zb_plan *view, const zb_plan_rank *from, zb_plan_rank *rank, view_begin first) {
  *rank = zb_plan_rank_in(from, view->derived.list);
  if (!from->jobs) return NULL; /* not read */
  int *place = zb_alloc((size_t)from->subprogram_count * sizeof *place);
  if (!place) return ZB_OUT_OF_MEMORY();
  rank->evaluation_count = 0;
  rank->evaluation_slots = rank->evaluation_workspace = (zb_plan_range){0, 0};
  zb_status status = take_subprograms(view, from, rank, place);
  if (!status) status = take_segments(view, from, rank, place);
  if (!status) status = take_jobs(view, from, rank, place, first);
  zb_free(place);
  return status;
}

static zb_status take_collectives(const zb_plan *plan, zb_plan *view, view_begin first) {
  const bool mixed = zb_plan_shard_mesh(plan) > 1;
  view->collective_count = mixed ? plan->collective_count
                           : view->derived.list == ZB_LIST_EVALUATION
                               ? plan->evaluation_collectives
                               : plan->collective_count - plan->evaluation_collectives;
  view->collectives = zb_plan_alloc(view, ((size_t)view->collective_count + 1) * sizeof *view->collectives);
  if (!view->collectives) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < view->collective_count; ++i) {
    view->collectives[i] = plan->collectives[first.collective + i];
    view->collectives[i].before -= first.message;
  }
  return NULL;
}

zb_status zb_plan_view(const zb_plan *plan, zb_plan_list list, zb_plan **out) {
  zb_status status = NULL;
  *out = NULL;
  ZB_ASSERT(plan->derived.list == ZB_LIST_STEP && (plan->evaluates || list == ZB_LIST_STEP));
  zb_plan *view = zb_plan_create_like(plan);
  if (!view) return ZB_OUT_OF_MEMORY();
  /* Of all shards, sums over them of both lists stand behind whatever else there is: a view has those of the other. */
  const bool mixed = zb_plan_shard_mesh(plan) > 1;
  const int of_step = plan->message_count - (mixed ? 0 : plan->evaluation_messages);
  view_begin first = {0, 0};
  if (list == ZB_LIST_EVALUATION && !mixed)
    first = (view_begin){of_step, plan->collective_count - plan->evaluation_collectives};
  view->derived.list = list;
  view->evaluates = false;
  view->evaluation_messages = view->evaluation_collectives = 0;
  if (first.message) view->messages = plan->messages + first.message;
  view->message_count = list == ZB_LIST_EVALUATION && !mixed ? plan->evaluation_messages : of_step;
  if (list == ZB_LIST_STEP) view->output_count = 0;
  ZB_TRY_GOTO(take_collectives(plan, view, first));
  view->ranks = zb_plan_alloc(view, (size_t)plan->rank_count * sizeof *view->ranks);
  if (!view->ranks) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY_GOTO(take_rank(view, &plan->ranks[r], &view->ranks[r], first));
  *out = view;
  view = NULL;
cleanup:
  zb_plan_destroy(view);
  return status;
}
