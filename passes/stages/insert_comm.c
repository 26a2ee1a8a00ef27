/* zb-insert-comm: a straight-line @main for each rank: its jobs as calls on SSA values, with messages between ranks.
 *
 *   before                                         after
 *     module @rank1 {zb.order = "1F0 1B0 1W0"}       func.func @main(%p, %s, %k, %t) {
 *                                                      %g = zb.zeros
 *                                                      %a = zb.recv {peer = 0, part = 0}
 *                                                      %loss, %fb, %fw = call @s1_F(%p, %a, ...) {zb.micro_batch = 0}
 *
 * transfers.c finds what crosses from rank to rank and numbers it by simulated time; rank_main.c builds the @main of a
 * rank. All edges of the plan go forward in the simulated time, which is why it cannot deadlock, with zero buffering
 * too (zb-verify-plan shows it again).
 *
 * Tests: test/passes/insert-comm.mlir. */

#include "passes/stages/frames.h"
#include "passes/pipeline.h"
#include "passes/stages/rank_main.h"

static zb_status read_timetable(zb_pass *pass, MlirModule module, int micro_batches, zb_timetable *t) {
  ZB_TRY(zb_module_problem_build(module, micro_batches, &t->p));
  const zb_problem *problem = &t->p.problem;
  ZB_TRY(zb_module_order(&t->p, &t->order));
  ZB_TRY(zb_order_validate(problem, &t->order));
  ZB_TRY(zb_simulate(problem, &t->order, &t->simulation));
  t->positions = ZB_NEW(&pass->arena, int, (size_t)problem->stages * ZB_KIND_COUNT * (size_t)micro_batches);
  ZB_TRY(zb_arena_status(&pass->arena));
  for (int rank = 0; rank < problem->ranks; ++rank)
    for (int j = 0; j < t->order.counts[rank]; ++j) {
      const zb_job job = t->order.jobs[rank][j];
      t->positions[(job.stage * ZB_KIND_COUNT + (int)job.kind) * micro_batches + job.micro_batch] = j;
    }
  return NULL;
}

/* Where values of hops come from, and the interfaces of the functions of stages. */
static zb_status read_stages(zb_arena *arena, zb_connection *c) {
  const zb_module_problem *p = &c->t.p;
  const size_t stages = (size_t)p->problem.stages;
  c->sources = zb_arena_map_pointer(arena);
  c->interfaces = ZB_NEW(arena, zb_subprogram_interface, stages * ZB_KIND_COUNT);
  c->frames = ZB_NEW(arena, MlirValue, stages * FRAME_COUNT * (size_t)p->problem.micro_batches);
  ZB_TRY(zb_arena_status(arena));
  for (size_t h = 0; h < p->hops.count; ++h)
    for (size_t i = 0; i < p->hops.items[h].values.count; ++i) {
      const zb_hop *hop = &p->hops.items[h];
      zb_arena_map_set(arena, c->sources, zb_source_key(c, hop->values.items[i], hop->destination), hop->source);
    }
  for (size_t i = 0; i < stages * ZB_KIND_COUNT; ++i)
    ZB_TRY(zb_subprogram_interface_read(arena, p->functions[i], &c->interfaces[i]));
  return zb_arena_status(arena);
}

/* Simulated times of every job of the rank: zb-allocate holds memory by them. */
static zb_status write_times(const zb_timetable *t, zb_rank_work *work) {
  int count = t->order.counts[work->rank];
  zb_times_row *times = ZB_NEW(&work->arena, zb_times_row, count);
  ZB_TRY(zb_arena_status(&work->arena));
  for (int j = 0; j < count; ++j)
    times[j] = (zb_times_row){.start_ps = t->simulation.jobs[work->rank][j].start_ps,
                              .end_ps = t->simulation.jobs[work->rank][j].end_ps};
  zb_times_set(work->module, times, count);
  return NULL;
}

static zb_status connect_rank(void *context, zb_rank_work *work) {
  const zb_connection *c = context;
  ZB_TRY(write_times(&c->t, work));
  return zb_rank_main_build(c, work);
}

static zb_status connect_all(zb_pass *pass, MlirModule module, int micro_batches, zb_connection *c) {
  ZB_TRY(read_timetable(pass, module, micro_batches, &c->t));
  ZB_TRY(read_stages(&pass->arena, c));
  ZB_TRY(zb_transfers_find(&pass->arena, &c->t, &c->transfers));
  ZB_TRY(zb_transfers_write(&pass->arena, &c->t, &c->transfers));
  return zb_for_each_rank(module, connect_rank, c, &pass->changes);
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  const int micro_batches = (int)zb_get_i64(top, ZB_ATTR_MICRO_BATCHES, 0);
  if (micro_batches < 1)
    return zb_op_error_at(top, "run zb-schedule before zb-insert-comm", "module needs zb.micro_batches");
  zb_connection c = {0};
  zb_status status = connect_all(pass, module, micro_batches, &c);
  zb_simulation_deinit(&c.t.simulation);
  zb_order_deinit(&c.t.order);
  zb_module_problem_deinit(&c.t.p);
  return status ? zb_pass_fail(pass, status) : ZB_OK;
}

const zb_pass_def zb_pass_insert_comm = {
    .name = "zb-insert-comm",
    .summary = "Build each rank's straight-line main: jobs as calls, messages between ranks in one global order.",
    .requires_level = "scheduled",
    .ensures_level = "connected",
    .run = run,
};
