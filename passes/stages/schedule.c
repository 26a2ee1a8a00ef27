/* zb-schedule: orders the jobs of each rank with the schedule library.
 *
 *   before                              after
 *     module @rank0 { ... }               module @rank0 attributes {zb.order = "0F0 0F1 0B0 0W0 ..."} { ... }
 *
 * The problem is read off the framed functions: times, frame bytes, edges between stages, memory that is always there.
 *
 * A schedule that looks for an order within a memory limit gets what is left for frames. What messages, inputs and
 * packing take on top depends on the order, so the order is laid out as the plan will be (zb-insert-comm and
 * zb-allocate on a copy), and a rank that is over the limit is searched again with that much less. Where a search finds
 * nothing, the order is one micro-batch at a time, the least any can need: zb-allocate then says how much that is, and
 * where.
 *
 * A W is placed right behind its B as far as no rank ends later (zb_order_advance_w). An order from outside
 * (schedule=FILE.csv) is read and proven by the library and stays as it is; messages and memory are ours like for any
 * other.
 *
 * Tests: test/passes/schedule.mlir, test/tools/zbc-schedule.test. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/buckets.h"
#include "passes/stages/orders.h"
#include "passes/stages/problem.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/step_time.h"

#include <string.h>

typedef struct settings {
  const char *file; /* NULL: choice */
  zb_schedule_choice choice;
  int micro_batches; /* 0: those of the file */
  uint64_t limit;
  zb_metric metric;
  bool settle;
} settings;

/* ---- The order on the module ---- */

static MlirOperation rank_module(MlirModule module, int rank) {
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module))
    if (zb_op_is(op, "builtin.module") && zb_get_i64(op, ZB_ATTR_RANK, -1) == rank) return op;
  return (MlirOperation){0};
}

static zb_status write_order(MlirModule module, const zb_order *order, const char *name, int micro_batches) {
  for (int rank = 0; rank < order->ranks; ++rank) {
    char *text = zb_order_text(order, rank);
    if (!text) return ZB_OUT_OF_MEMORY();
    zb_set_string(rank_module(module, rank), ZB_ATTR_ORDER, text);
    zb_free(text);
  }
  MlirOperation top = mlirModuleGetOperation(module);
  const char *slash = strrchr(name, '/');
  zb_set_string(top, ZB_ATTR_SCHEDULE, slash ? slash + 1 : name);
  zb_set_i64(top, ZB_ATTR_MICRO_BATCHES, micro_batches);
  /* For --csv, which writes the order again; our passes send a gradient after its B. */
  if (order->whole_backward) zb_set_i64(top, ZB_ATTR_WHOLE_BACKWARD, 1);
  return NULL;
}

static zb_status time_order(const zb_problem *problem, const zb_order *order, int64_t *out_ps) {
  zb_simulation simulation;
  zb_period period;
  if (problem->metric == ZB_METRIC_PERIOD) {
    ZB_TRY(zb_order_period(problem, order, &period));
    *out_ps = period.period_ps;
    return NULL;
  }
  ZB_TRY(zb_simulate(problem, order, &simulation));
  *out_ps = problem->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps;
  zb_simulation_deinit(&simulation);
  return NULL;
}

/* A search that counts sums over replicas looks elsewhere, so what one finds that does not may take less with them:
 * both are made unless no order takes less than the first, and the shorter one is kept. */
static zb_status run_choice(const zb_pass *pass, const settings *s, const zb_problem *problem, zb_order *out) {
  zb_problem without = *problem;
  zb_order other = {0};
  zb_status status = NULL;
  int64_t own_ps, other_ps;
  without.reduction_count = 0;
  ZB_TRY(zb_choice_order(pass->program->memo, &s->choice, s->settle, problem, out));
  if (problem->reduction_count == 0 || !s->choice.schedule->searches) return NULL;
  ZB_TRY_GOTO(time_order(problem, out, &own_ps));
  if (own_ps <= zb_lower_bound_ps(problem)) return NULL;
  ZB_TRY_GOTO(zb_choice_order(pass->program->memo, &s->choice, s->settle, &without, &other));
  ZB_TRY_GOTO(time_order(problem, &other, &other_ps));
  if (other_ps < own_ps) {
    zb_order_deinit(out);
    *out = other;
    other = (zb_order){0};
  }
cleanup:
  zb_order_deinit(&other);
  if (status) zb_order_deinit(out);
  return status;
}

/* ---- Within a memory limit ---- */

/* Bytes of the arena of every rank with this order: the plan is laid out on a copy. */
static zb_status find_arenas(zb_pass *pass, MlirModule module, const zb_order *order, int micro_batches,
                             int64_t *arena) {
  zb_module copy = *pass->program;
  copy.module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(module)));
  zb_pipeline pipeline = {0};
  zb_status status = NULL;
  if (mlirModuleIsNull(copy.module)) return ZB_OUT_OF_MEMORY();
  zb_compile_state state = {0};
  zb_module_set_level(copy.module, "scheduled");
  ZB_TRY_GOTO(write_order(copy.module, order, "", micro_batches));
  ZB_TRY_GOTO(zb_pipeline_add(&pipeline, "zb-insert-comm", NULL));
  ZB_TRY_GOTO(zb_pipeline_add(&pipeline, "zb-allocate", NULL));
  ZB_TRY_GOTO(zb_pipeline_run(&pipeline, &copy, &state, NULL));
  for (int rank = 0; rank < order->ranks; ++rank)
    arena[rank] = zb_get_i64(rank_module(copy.module, rank), ZB_ATTR_ARENA, 0);
cleanup:
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

/* One micro-batch at a time. */
static zb_status emit_serial(const zb_problem *problem, zb_order *out) {
  ZB_TRY(zb_order_init(out, problem->ranks));
  for (int m = 0; m < problem->micro_batches; ++m) {
    for (int s = 0; s < problem->stages; ++s)
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_F, m));
    for (int s = problem->stages - 1; s >= 0; --s) {
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_B, m));
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_W, m));
    }
  }
  return NULL;
}

/* Makes the limits of the ranks that are over it smaller by what their arena has besides the frames; true if none is.
 * Each such rank gets less than it took, so that the same order does not come again. */
static bool within(const zb_problem *problem, const zb_order *order, const int64_t *arena, int64_t limit, int64_t *peak,
                   int64_t *rank_limit) {
  bool fits = true;
  zb_order_peaks(problem, order, peak);
  for (int rank = 0; rank < problem->ranks; ++rank) {
    if (arena[rank] <= limit) continue;
    fits = false;
    rank_limit[rank] = limit - (arena[rank] - peak[rank]);
    if (rank_limit[rank] < 1) rank_limit[rank] = 1;
  }
  return fits;
}

/* For a rule that has no order within the limit; status may be what the library said for the limits of ranks that were
 * left for frames. */
static zb_status not_within(zb_status status, const zb_schedule_def *schedule, const zb_problem *problem,
                            int64_t limit) {
  int64_t other = 0; /* most of a rank besides frames */
  for (int rank = 0; rank < problem->ranks; ++rank)
    if (limit - problem->rank_limit_bytes[rank] > other) other = limit - problem->rank_limit_bytes[rank];
  if (!status)
    status = ZB_ERROR(INFEASIBLE, "%s has no order within %lld bytes a rank", schedule->name, (long long)limit);
  if (other)
    status = zb_status_note(status, "of the %lld bytes of a rank, messages, inputs and packing take up to %lld",
                            (long long)limit, (long long)other);
  return zb_status_hint(status, "schedule search finds an order within every limit that one micro-batch fits");
}

/* The greatest below `bytes` of a fixed row of sizes, each a sixteenth above the one before. */
static int64_t step_below(int64_t bytes) {
  int64_t size = 1024, next = size + size / 16;
  for (; next < bytes; next += next / 16)
    size = next;
  return size;
}

/* The schedule library is given less and less, all ranks alike, until the plan fits: where one order takes much for its
 * messages, what is left of the limit beside them says little of the next order. The limits that are tried are the same
 * for every limit of the plan, so that a higher one finds no slower order here (one that the first tries found may be
 * slower). *fits false: none does. */
static zb_status walk_down(zb_pass *pass, MlirModule module, const settings *s, zb_problem problem, int64_t *arena,
                           zb_order *out, bool *fits) {
  enum { STEPS = 48 };
  const int64_t limit = (int64_t)s->limit;
  problem.rank_limit_bytes = NULL;
  for (int i = 0; i < STEPS; ++i) {
    problem.memory_limit_bytes = step_below(i ? problem.memory_limit_bytes : limit);
    zb_order_deinit(out);
    ZB_TRY(run_choice(pass, s, &problem, out));
    ZB_TRY(find_arenas(pass, module, out, problem.micro_batches, arena));
    *fits = true;
    for (int rank = 0; rank < problem.ranks; ++rank)
      *fits &= arena[rank] <= limit;
    if (*fits) return NULL;
  }
  return NULL;
}

static zb_status fit(zb_pass *pass, MlirModule module, const settings *s, zb_problem problem, zb_order *out) {
  enum { ATTEMPTS = 16 };
  const int64_t limit = (int64_t)s->limit;
  int64_t *rank_limit = ZB_NEW(&pass->arena, int64_t, problem.ranks);
  int64_t *arena = ZB_NEW(&pass->arena, int64_t, problem.ranks), *peak = ZB_NEW(&pass->arena, int64_t, problem.ranks);
  zb_status status = NULL;
  bool fits = false;
  ZB_TRY(zb_arena_status(&pass->arena));
  for (int r = 0; r < problem.ranks; ++r)
    rank_limit[r] = limit;
  problem.rank_limit_bytes = rank_limit;
  for (int i = 0; i < ATTEMPTS && !fits && !status; ++i) {
    zb_order_deinit(out);
    status = run_choice(pass, s, &problem, out);
    if (!status) status = find_arenas(pass, module, out, problem.micro_batches, arena);
    if (!status) fits = within(&problem, out, arena, limit, peak, rank_limit);
  }
  if (fits || (status && zb_status_code(status) != ZB_INFEASIBLE)) return status;
  if (!s->choice.schedule->searches) {
    zb_status walked = walk_down(pass, module, s, problem, arena, out, &fits);
    if (fits || (walked && zb_status_code(walked) != ZB_INFEASIBLE)) {
      zb_status_free(status);
      return walked;
    }
    zb_status_free(walked);
    return not_within(status, s->choice.schedule, &problem, limit);
  }
  zb_status_free(status);
  zb_order_deinit(out);
  return emit_serial(&problem, out);
}

/* ---- The pass ---- */

static zb_status schedule_module(zb_pass *pass, MlirModule module, const settings *s) {
  zb_module_problem problem;
  zb_order order = {0};
  zb_status status = NULL;
  ZB_TRY(zb_module_problem_build(module, s->micro_batches, &problem));
  problem.problem.metric = s->metric;
  ZB_TRY_GOTO(zb_buckets_reductions(&problem, NULL));
  for (int rank = 0; rank < problem.problem.ranks && s->metric == ZB_METRIC_PERIOD; ++rank)
    problem.optimizer_ps[rank] += problem.snapshot_ps[rank];
  if (s->file)
    ZB_TRY_GOTO(zb_schedule_file_order(s->file, &problem.problem, &order));
  else if (s->limit && s->choice.schedule->keeps_limit)
    ZB_TRY_GOTO(fit(pass, module, s, problem.problem, &order));
  else
    ZB_TRY_GOTO(run_choice(pass, s, &problem.problem, &order));
  ZB_TRY_GOTO(write_order(module, &order, s->file ? s->file : s->choice.schedule->name, problem.problem.micro_batches));
  pass->changes += order.ranks;
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  settings s = {0};
  const char *given = zb_pass_option(pass, "micro-batches"), *schedule = zb_pass_option(pass, "schedule");
  int64_t micro_batches = *given ? zb_pass_option_int(pass, "micro-batches", 0) : 1;
  if (micro_batches < 1 || micro_batches > ZB_MICRO_BATCHES_MAX)
    return zb_pass_option_error(pass, top, "micro-batches", "for example 8", "expected 1 to %d micro-batches, got '%s'",
                                ZB_MICRO_BATCHES_MAX, given);
  s.file = zb_schedule_is_file(schedule) ? schedule : NULL;
  s.micro_batches = s.file && !*given ? 0 : (int)micro_batches;
  if (!zb_pass_option_bytes(pass, "memory-limit", &s.limit)) return ZB_FAIL;
  const char *settle = zb_pass_option(pass, "settle");
  s.settle = strcmp(settle, "true") == 0;
  if (!zb_pass_option_metric(pass, top, &s.metric)) return ZB_FAIL;
  if (!s.settle && strcmp(settle, "false") != 0)
    return zb_pass_option_error(pass, top, "settle", "false leaves every W where the schedule has it",
                                "expected true or false, got '%s'", settle);
  if (!s.file) ZB_PASS_TRY(pass, zb_schedule_to_train(schedule, &s.choice));
  ZB_PASS_TRY(pass, schedule_module(pass, module, &s));
  return ZB_OK;
}

static const zb_option_def options[] = {
    {"schedule", "zb-h1",
     "name of a schedule (zb-sched --list), with its options: NAME:option=number,...; or FILE.csv, an order of "
     "PyTorch's pipelining"},
    {"micro-batches", "", "micro-batches a step (default: 1, or those of the file)"},
    {"memory-limit", "",
     "bytes a rank may take, with K, M or G: schedules that search look for the fastest order within it"},
    {"metric", "barrier", "barrier, stage or period: what schedules that search make short"},
    {"settle", "true",
     "true: each W right behind its B, as far as no rank ends later; false: where the schedule has it"},
    {0},
};

const zb_pass_def zb_pass_schedule = {
    .name = "zb-schedule",
    .summary = "Order the jobs of each rank with a schedule of the library.",
    .options = options,
    .requires_level = "framed",
    .ensures_level = "scheduled",
    .run = run,
};
