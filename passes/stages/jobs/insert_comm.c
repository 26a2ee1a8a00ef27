/* zb-insert-comm: a straight-line @main for each rank: its jobs as calls on SSA values, with messages between ranks.
 *
 *   before                                         after
 *     module @rank1 {zb.order = "1F0 1B0 1W0"}       func.func @main(%p, %s, %k, %t) {
 *                                                      %g = zb.zeros
 *                                                      %a = zb.recv {peer = 0, part = 0}
 *                                                      %loss, %fb, %fw = call @s1_F(%p, %a, ...) {zb.micro_batch = 0}
 *
 * A program with functions E gets an @evaluate in the same way, whose order is decided by evaluation.c.
 *
 * transfers.c finds what crosses from rank to rank and numbers it by simulated time; rank_main.c builds the @main of a
 * rank. All edges of the plan go forward in the simulated time, which is why it cannot deadlock, with zero buffering
 * too (zb-verify-plan shows it again).
 *
 * Tests: test/passes/insert-comm.mlir. */

#include "passes/stages/frames.h"
#include "passes/pipeline.h"
#include "passes/stages/classes.h"
#include "passes/stages/jobs/rank_main.h"
#include "runtime/plan/file/plan.h"

static int *new_positions(zb_arena *arena, const zb_timetable *t) {
  const zb_problem *problem = &t->p.problem;
  int *positions = ZB_NEW(arena, int, (size_t)problem->stages * ZB_KIND_COUNT * (size_t)problem->micro_batches);
  for (int rank = 0; rank < problem->ranks && positions; ++rank)
    for (int j = 0; j < t->order.counts[rank]; ++j) {
      const zb_job job = t->order.jobs[rank][j];
      positions[(job.stage * ZB_KIND_COUNT + (int)job.kind) * problem->micro_batches + job.micro_batch] = j;
    }
  return positions;
}

static zb_status read_timetable(MlirModule module, int micro_batches, zb_timetable *t) {
  ZB_TRY(zb_module_problem_build(module, micro_batches, &t->p));
  ZB_TRY(zb_module_order(&t->p, &t->order));
  ZB_TRY(zb_order_validate(&t->p.problem, &t->order));
  return zb_simulate(&t->p.problem, &t->order, &t->simulation);
}

/* Where values of hops come from, and the interfaces of the functions of stages. */
static zb_status read_stages(zb_arena *arena, zb_connection *c) {
  const zb_module_problem *p = &c->t.p;
  const size_t stages = (size_t)p->problem.stages;
  c->sources = zb_arena_map_pointer(arena);
  c->interfaces = ZB_NEW(arena, zb_subprogram_interface, stages * ZB_KIND_COUNT);
  c->frames = ZB_NEW(arena, MlirValue, stages * FRAME_COUNT * (size_t)p->problem.micro_batches);
  c->gathered = ZB_NEW(arena, MlirValue, stages * ZB_KIND_COUNT * (size_t)p->problem.micro_batches);
  ZB_TRY(zb_arena_status(arena));
  for (size_t h = 0; h < p->hops.count; ++h)
    for (size_t i = 0; i < p->hops.items[h].values.count; ++i) {
      const zb_hop *hop = &p->hops.items[h];
      zb_arena_map_set(arena, c->sources, zb_source_key(c, hop->values.items[i], hop->destination), hop->source);
    }
  for (size_t i = 0; i < stages * ZB_KIND_COUNT; ++i)
    if (!mlirOperationIsNull(p->functions[i]))
      ZB_TRY(zb_subprogram_interface_read(arena, p->functions[i], &c->interfaces[i]));
  return zb_arena_status(arena);
}

/* A step, and an evaluation, which may have no stages. */
enum { CONNECTIONS = ZB_LIST_COUNT };
typedef struct connections {
  zb_connection of[CONNECTIONS];
} connections;

/* Simulated times of every job of the rank: zb-allocate holds memory by them. */
static zb_status write_times(const connections *all, zb_rank_work *work) {
  ZB_LIST(zb_times_row) times = {0};
  for (int c = 0; c < CONNECTIONS; ++c) {
    const zb_timetable *t = &all->of[c].t;
    for (int j = 0; t->p.problem.stages > 0 && j < t->order.counts[work->rank]; ++j)
      (void)ZB_PUSH(&work->arena, &times,
                    (zb_times_row){.start_ps = t->simulation.jobs[work->rank][j].start_ps,
                                   .end_ps = t->simulation.jobs[work->rank][j].end_ps});
  }
  ZB_TRY(zb_arena_status(&work->arena));
  zb_times_set(work->module, times.items, (int)times.count);
  return NULL;
}

static zb_status connect_rank(void *context, zb_rank_work *work) {
  const connections *all = context;
  zb_rank_posts posts = {0};
  ZB_TRY(write_times(all, work));
  for (int c = 0; c < CONNECTIONS; ++c)
    if (all->of[c].t.p.problem.stages > 0) ZB_TRY(zb_rank_main_build(&all->of[c], work, &posts));
  zb_posts_set(work->module, posts.items, (int)posts.count);
  return NULL;
}

static bool is_for_inference(MlirModule module) {
  return zb_has_attribute(mlirModuleGetOperation(module), ZB_ATTR_INFERENCE);
}

static zb_status connect_all(zb_pass *pass, MlirModule module, int micro_batches, connections *all) {
  zb_connection *step = &all->of[ZB_LIST_STEP], *evaluation = &all->of[ZB_LIST_EVALUATION];
  zb_arena *arena = &pass->arena;
  step->t.replicas = evaluation->t.replicas = (int)zb_get_i64(mlirModuleGetOperation(module), ZB_ATTR_REPLICAS, 1);
  step->name = "main";
  evaluation->name = "evaluate";
  ZB_TRY(read_timetable(module, micro_batches, &step->t));
  for (int r = 0; r < step->t.order.ranks && is_for_inference(module); ++r)
    step->t.order.counts[r] = 0;
  ZB_TRY(zb_evaluation_timetable(arena, module, micro_batches, &evaluation->t));
  for (int c = 0; c < CONNECTIONS; ++c) {
    zb_connection *it = &all->of[c];
    if (it->t.p.problem.stages == 0) continue;
    it->t.positions = new_positions(arena, &it->t);
    ZB_TRY(zb_arena_status(arena));
    ZB_TRY(read_stages(arena, it));
    ZB_TRY(zb_transfers_find(arena, &it->t, &it->transfers));
  }
  if (zb_has_attribute(mlirModuleGetOperation(module), ZB_ATTR_POST_VALIDATION)) {
    zb_verdict_place *verdicts = NULL;
    ZB_TRY(zb_verdicts_find(arena, &step->t, &step->transfers, &verdicts));
    step->verdicts = verdicts;
  }
  evaluation->first_message = (int)step->transfers.list.count;
  ZB_TRY(zb_transfers_write(arena, &step->t, &step->transfers, &evaluation->transfers));
  return zb_for_each_rank(module, connect_rank, all, &pass->changes);
}

/* A program for inference has no step: its stages have functions F, B and W for zb-schedule alone, which are empty. */
static zb_status drop_step(void *context, zb_rank_work *work) {
  MlirBlock body = zb_function_block(work->module);
  (void)context;
  for (MlirOperation op = mlirBlockGetFirstOperation(body), next; !mlirOperationIsNull(op); op = next) {
    const zb_job_kind kind = zb_class_get(op);
    next = mlirOperationGetNextInBlock(op);
    if (kind == ZB_JOB_F || kind == ZB_JOB_B || kind == ZB_JOB_W) mlirOperationDestroy(op);
  }
  return NULL;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  const int micro_batches = (int)zb_get_i64(top, ZB_ATTR_MICRO_BATCHES, 0);
  if (micro_batches < 1)
    return zb_op_error_at(top, "run zb-schedule before zb-insert-comm", "module needs zb.micro_batches");
  connections all = {0};
  zb_status status = connect_all(pass, module, micro_batches, &all);
  if (!status && is_for_inference(module)) status = zb_for_each_rank(module, drop_step, NULL, NULL);
  for (int c = 0; c < CONNECTIONS; ++c) {
    zb_simulation_deinit(&all.of[c].t.simulation);
    zb_order_deinit(&all.of[c].t.order);
    zb_module_problem_deinit(&all.of[c].t.p);
  }
  return status ? zb_pass_fail(pass, status) : ZB_OK;
}

const zb_pass_def zb_pass_insert_comm = {
    .name = "zb-insert-comm",
    .summary = "Build each rank's straight-line main: jobs as calls, messages between ranks in one global order.",
    .requires_level = "scheduled",
    .ensures_level = "connected",
    .run = run,
};
