/* zb-schedule: orders the jobs of each rank with the schedule library.
 *
 *   before                              after
 *     module @rank0 { ... }               module @rank0 attributes {zb.order = "0F0 0F1 0B0 0W0 ..."} { ... }
 *
 * The problem is read off the framed functions: times, frame bytes, edges between stages, memory that is always there.
 *
 * A schedule that looks for an order within a memory limit gets what is left for frames. What messages, inputs and
 * packing take on top depends on the order, so the plan of an order is made to know, on a copy. A rule is given less,
 * in fixed steps, and the best plan is kept; it, or a search, is made again with less for each rank that is over the
 * limit. Where a search finds nothing, the order is one micro-batch at a time, and others need little less: zb-allocate
 * then says how much that is, and where.
 *
 * A search is asked twice: with messages that come while ranks compute, and as a plan runs, where a rank waits for what
 * it receives. The better plan is kept.
 *
 * A W is placed right behind its B as far as no rank ends later (zb_order_advance_w). An order from outside
 * (schedule=FILE.csv) is read and proven by the library and stays as it is; messages and memory are ours like for any
 * other.
 *
 * Tests: test/passes/schedule.mlir, test/tools/zbc-schedule.test. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/buckets.h"
#include "passes/stages/chosen.h"
#include "passes/stages/orders.h"
#include "passes/stages/problem.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/step_time.h"
#include "passes/stages/trial.h"
#include "runtime/base/digest.h"
#include "runtime/plan/file/plan.h"

#include <string.h>

typedef struct settings {
  const zb_choice *chosen; /* NULL: file */
  const char *file;        /* NULL: choice */
  zb_schedule_choice choice;
  int micro_batches; /* 0: those of the file */
  uint64_t limit;
  zb_metric metric;
  bool settle;
} settings;

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

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
  zb_set_string(top, ZB_ATTR_SCHEDULE, name);
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

static void swap_orders(zb_order *a, zb_order *b) {
  const zb_order before = *a;
  *a = *b;
  *b = before;
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
  if (other_ps < own_ps) swap_orders(out, &other);
cleanup:
  zb_order_deinit(&other);
  if (status) zb_order_deinit(out);
  return status;
}

static zb_status note_order(const zb_pass *pass, const zb_order *order, const char *name, int micro_batches) {
  zb_choice *notes = zb_chosen_notes(pass);
  if (!notes) return NULL;
  notes->decided |= ZB_CHOICE_ORDER;
  notes->schedule = zb_arena_strdup(&notes->arena, name);
  notes->micro_batches = micro_batches;
  ZB_TRY(zb_choice_set_order(notes, order));
  return zb_arena_status(&notes->arena);
}

/* ---- As a plan runs ---- */

static int64_t message_time(const zb_problem *problem, int64_t bytes) {
  return problem->link_latency_ps + (int64_t)((double)bytes * problem->link_ps_per_byte);
}

static void wait_for(zb_stage_cost *receiver, zb_kind kind, int64_t *longest, int64_t time_ps) {
  if (time_ps <= *longest) return;
  receiver->time_ps[kind] += time_ps - *longest;
  *longest = time_ps;
}

/* A receive is posted right before the job that reads it (insert_comm.c), so the rank waits for as long as the message
 * takes: here the wait is part of the job, and messages take no time. Costs are of the arena. */
static zb_status add_waits(zb_arena *arena, const zb_problem *problem, zb_problem *out) {
  zb_stage_cost *costs = ZB_NEW(arena, zb_stage_cost, problem->stages);
  int64_t *longest = ZB_NEW(arena, int64_t, 2 * problem->stages);
  ZB_TRY(zb_arena_status(arena));
  memcpy(costs, problem->costs, (size_t)problem->stages * sizeof *costs);
  for (int e = 0; e < problem->edge_count; ++e) {
    const zb_edge *edge = &problem->edges[e];
    const int low = edge->source, high = edge->destination;
    if (problem->stage_rank[low] == problem->stage_rank[high]) continue;
    if (edge->forward_bytes) wait_for(&costs[high], ZB_F, &longest[high], message_time(problem, edge->forward_bytes));
    if (edge->backward_bytes)
      wait_for(&costs[low], ZB_B, &longest[problem->stages + low], message_time(problem, edge->backward_bytes));
  }
  *out = *problem;
  out->costs = costs;
  out->link_latency_ps = 0;
  out->link_ps_per_byte = 0;
  return NULL;
}

/* ---- Within a memory limit ---- */

/* What the plan of this order takes: it is made on a copy. */
static zb_status try_order(zb_pass *pass, MlirModule module, const zb_problem *problem, const zb_order *order,
                           zb_trial *out) {
  zb_module copy;
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  ZB_TRY(zb_trial_copy(pass, module, &copy));
  zb_status status = NULL;
  zb_module_set_level(copy.module, "scheduled");
  ZB_TRY_GOTO(write_order(copy.module, order, "", problem->micro_batches));
  ZB_TRY_GOTO(zb_pipeline_add(&pipeline, "zb-insert-comm", NULL));
  ZB_TRY_GOTO(zb_pipeline_add(&pipeline, "zb-allocate", NULL));
  ZB_TRY_GOTO(zb_pipeline_add(&pipeline, "zb-verify-plan", NULL));
  ZB_TRY_GOTO(zb_pipeline_run(&pipeline, &copy, &state, NULL));
  status = zb_trial_measure(&pass->arena, state.plan, problem->metric, out);
cleanup:
  zb_plan_destroy(state.plan);
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

typedef struct tried {
  uint64_t digest; /* of the order */
  zb_trial trial;
} tried;

/* What looks for the plan of one module. */
typedef struct fitting {
  zb_pass *pass;
  MlirModule module;
  const settings *s;
  zb_problem problem, asked;  /* asked: what the schedule gets; as a plan runs, or the same */
  int64_t *rank_limit, *peak; /* [ranks] */
  ZB_LIST(tried) tried;
  bool fits; /* best is there */
  zb_order best;
  int64_t best_ps;     /* of its plan */
  int64_t other_bytes; /* most of a rank besides frames, as far as the last limit was divided */
} fitting;

static uint64_t order_digest(const zb_order *order) {
  uint64_t digest = ZB_FNV_START;
  for (int rank = 0; rank < order->ranks; ++rank) {
    digest = zb_fnv1a(digest, &order->counts[rank], sizeof order->counts[rank]);
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job *job = &order->jobs[rank][i];
      const int fields[] = {job->stage, job->kind, job->micro_batch};
      digest = zb_fnv1a(digest, fields, sizeof fields);
    }
  }
  return digest;
}

/* What the plan takes, made once for each order: many limits give the same. Two orders of one digest would only make
 * another choice of plan, whose memory zb-allocate checks. */
static zb_status try_once(fitting *f, const zb_order *order, zb_trial *out) {
  const uint64_t digest = order_digest(order);
  for (size_t i = 0; i < f->tried.count; ++i)
    if (f->tried.items[i].digest == digest) {
      *out = f->tried.items[i].trial;
      return NULL;
    }
  ZB_TRY(try_order(f->pass, f->module, &f->problem, order, out));
  return ZB_PUSH(&f->pass->arena, &f->tried, (tried){digest, *out}) ? NULL : zb_arena_status(&f->pass->arena);
}

static bool is_infeasible(zb_status status) { return status && zb_status_code(status) == ZB_INFEASIBLE; }

/* Gives every rank that is over the limit less, by what its arena has besides the frames; true if none is. It is less
 * than the rank took, so that the same order does not come again. */
static bool within(fitting *f, const zb_order *order, const int64_t *arena, int64_t limit) {
  bool fits = true;
  zb_order_peaks(&f->problem, order, f->peak);
  for (int rank = 0; rank < f->problem.ranks; ++rank) {
    if (arena[rank] <= limit) continue;
    fits = false;
    f->rank_limit[rank] = limit - (arena[rank] - f->peak[rank]);
    if (f->rank_limit[rank] < 1) f->rank_limit[rank] = 1;
  }
  return fits;
}

/* Makes the order best if its plan is within the limit, where there is none or it takes less. Takes the order. */
static void keep_better(fitting *f, zb_order *order, const zb_trial *trial) {
  if (f->fits && trial->step_ps >= f->best_ps) {
    zb_order_deinit(order);
    return;
  }
  zb_order_deinit(&f->best);
  f->fits = true;
  f->best = *order;
  f->best_ps = trial->step_ps;
  *order = (zb_order){0};
}

/* The order for the limits of ranks, which is made best if its plan fits. *ps: what the order takes, without messages
 * and inputs; where that is no less than best takes, no plan is made. */
static zb_status try_limits(fitting *f, int64_t limit, bool *fits, int64_t *ps) {
  zb_order order = {0};
  zb_trial trial;
  zb_status status = NULL;
  ZB_TRY(run_choice(f->pass, f->s, &f->asked, &order));
  ZB_TRY_GOTO(time_order(&f->problem, &order, ps));
  if (f->fits && *ps >= f->best_ps) goto cleanup;
  ZB_TRY_GOTO(try_once(f, &order, &trial));
  *fits = within(f, &order, trial.arena, limit);
  if (*fits && trial.most <= (int64_t)f->s->limit) keep_better(f, &order, &trial);
cleanup:
  zb_order_deinit(&order);
  return status;
}

static void limit_ranks(fitting *f, int64_t bytes) {
  for (int r = 0; r < f->problem.ranks; ++r)
    f->rank_limit[r] = bytes;
}

/* The limit itself, then for each rank that is over it what its arena leaves for frames. *hopeless: no lower limit has
 * an order that is better than best. INFEASIBLE where the schedule has no order for what is left. */
static zb_status adjust(fitting *f, int64_t limit, bool *fits, bool *hopeless) {
  enum { TRIES = 16 };
  zb_status status = NULL;
  int64_t ps = 0;
  bool better = true;
  limit_ranks(f, limit);
  for (int i = 0; i < TRIES && !status && !*fits && better; ++i) {
    status = try_limits(f, limit, fits, &ps);
    better = *fits || !f->fits || ps < f->best_ps;
    if (i == 0) *hopeless = is_infeasible(status) || !better;
  }
  f->other_bytes = 0;
  for (int rank = 0; rank < f->problem.ranks; ++rank)
    if (limit - f->rank_limit[rank] > f->other_bytes) f->other_bytes = limit - f->rank_limit[rank];
  return status;
}

/* Of a search: the better of what it finds for the problem, and for that as a plan runs. */
static zb_status adjust_both(fitting *f) {
  bool fits = false, hopeless = false;
  const int64_t limit = (int64_t)f->s->limit;
  zb_status status = adjust(f, limit, &fits, &hopeless);
  if (status && !is_infeasible(status)) return status;
  fits = false;
  zb_status other = add_waits(&f->pass->arena, &f->problem, &f->asked);
  if (!other) other = adjust(f, limit, &fits, &hopeless);
  if (is_infeasible(other)) {
    zb_status_free(other);
    other = NULL;
  }
  if (!f->fits && !other) return status;
  zb_status_free(status);
  return other;
}

/* Without a limit: of a search the better of the same two. */
static zb_status run_both(zb_pass *pass, MlirModule module, const settings *s, const zb_problem *problem,
                          zb_order *out) {
  fitting f = {.pass = pass, .module = module, .s = s, .problem = *problem};
  zb_problem waiting;
  zb_order other = {0};
  zb_trial own_trial, other_trial;
  zb_status status = NULL;
  ZB_TRY(run_choice(pass, s, problem, out));
  if (!s->choice.schedule->searches || problem->ranks == 1) return NULL;
  ZB_TRY_GOTO(add_waits(&pass->arena, problem, &waiting));
  ZB_TRY_GOTO(run_choice(pass, s, &waiting, &other));
  if (order_digest(out) == order_digest(&other)) goto cleanup;
  ZB_TRY_GOTO(try_once(&f, out, &own_trial));
  ZB_TRY_GOTO(try_once(&f, &other, &other_trial));
  if (other_trial.step_ps < own_trial.step_ps) swap_orders(out, &other);
cleanup:
  zb_order_deinit(&other);
  if (status) zb_order_deinit(out);
  return status;
}

/* The greatest of a fixed row of sizes that is at most `bytes`, each 1/parts above the one before; 0 where `bytes` is
 * below the first. */
static int64_t size_within(int64_t bytes, int64_t parts) {
  int64_t size = 0;
  for (int64_t next = 1024; next <= bytes; next += next / parts)
    size = next;
  return size;
}

/* For a rule: less and less for all ranks alike. Where one order takes much for its messages, what is left of the limit
 * beside them says little of the next order. */
static zb_status walk_down(fitting *f, int64_t limit, bool *fits) {
  enum { PARTS = 16 };
  int64_t ps;
  for (int64_t size = size_within(limit, PARTS); size && !*fits; size = size_within(size - 1, PARTS)) {
    limit_ranks(f, size);
    ZB_TRY(try_limits(f, limit, fits, &ps));
  }
  return NULL;
}

/* INFEASIBLE: no order that the rule has for less than the limit fits it. */
static zb_status fit_rule_within(fitting *f, int64_t limit, bool *hopeless) {
  bool fits = false;
  zb_status status = adjust(f, limit, &fits, hopeless);
  if (status && !is_infeasible(status)) return status;
  if (f->fits || limit > (int64_t)f->s->limit) {
    zb_status_free(status);
    return NULL;
  }
  zb_status walked = walk_down(f, limit, &fits);
  *hopeless = !fits;
  if (fits || (walked && !is_infeasible(walked))) {
    zb_status_free(status);
    return walked;
  }
  zb_status_free(walked);
  if (status) return status;
  char text[64];
  return ZB_ERROR(INFEASIBLE, "%s has no order within %s a rank", f->s->choice.schedule->name,
                  zb_bytes_exact_text((uint64_t)limit, text));
}

/* Of a rule: the best plan within the limit of those for the sizes of a row, each taken for the limit. The row is the
 * same for every limit, so that a higher one has the plans of a lower one to choose from; it begins above the limit, as
 * a plan mostly takes less than it may. It ends where no plan can be better any more, and for large problems after a
 * few sizes. Where none has a plan, the limit is between the least that the rule can and the next size. */
static zb_status fit_rule(fitting *f) {
  enum { PARTS = 64, ABOVE = 3, WORK = 1024, SMALL = 64, WORK_OF_SMALL = 4096 /* stages x micro-batches of plans */ };
  const int64_t limit = (int64_t)f->s->limit, work = (int64_t)f->problem.stages * f->problem.micro_batches;
  bool hopeless = false;
  int64_t size = limit, left = (work > SMALL ? WORK : WORK_OF_SMALL) + ABOVE * work;
  for (int i = 0; i < ABOVE; ++i)
    size += size / PARTS;
  for (size = size_within(size, PARTS); size && left > 0 && !hopeless; size = size_within(size - 1, PARTS)) {
    zb_status status = fit_rule_within(f, size, &hopeless);
    if (status && !is_infeasible(status)) return status;
    zb_status_free(status);
    left -= work;
  }
  return f->fits ? NULL : fit_rule_within(f, limit, &hopeless);
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

/* status says that a rule has no order within the limit: adds what of the limit it had, and what has one. */
static zb_status explain(const fitting *f, const zb_trial *serial, zb_status status) {
  char limit[64], most[64];
  zb_compile_state *state = f->pass->shared;
  if (state) state->needed_bytes = (uint64_t)serial->most;
  if (f->other_bytes)
    status =
        zb_status_note(status, "of the %s of a rank, messages, inputs and packing take up to %s",
                       zb_bytes_exact_text(f->s->limit, limit), zb_bytes_exact_text((uint64_t)f->other_bytes, most));
  if (serial->most <= (int64_t)f->s->limit)
    return zb_status_hint(status, "schedule search finds an order within every limit that one micro-batch fits");
  return zb_status_hint(
      status,
      "one micro-batch at a time takes %s, and other orders of these stages little less: schedule search may cut them "
      "elsewhere; or use --recompute auto, more ranks or smaller micro-batches",
      zb_bytes_exact_text((uint64_t)serial->most, most));
}

static zb_status fit(zb_pass *pass, MlirModule module, const settings *s, const zb_problem *problem, zb_order *out) {
  fitting f = {.pass = pass, .module = module, .s = s, .problem = *problem};
  const bool searches = s->choice.schedule->searches;
  zb_trial serial;
  f.peak = ZB_NEW(&pass->arena, int64_t, problem->ranks);
  f.rank_limit = ZB_NEW(&pass->arena, int64_t, problem->ranks);
  f.problem.rank_limit_bytes = f.rank_limit;
  ZB_TRY(zb_arena_status(&pass->arena));
  f.asked = f.problem;
  zb_status status = searches ? adjust_both(&f) : fit_rule(&f), other = NULL;
  *out = f.best;
  if (f.fits || (status && !is_infeasible(status))) return status;
  other = emit_serial(problem, out);
  if (!other && !searches) other = try_order(pass, module, problem, out, &serial);
  if (!other && !searches) return explain(&f, &serial, status);
  zb_status_free(status);
  return other;
}

/* ---- The pass ---- */

static zb_status schedule_module(zb_pass *pass, MlirModule module, const settings *s) {
  zb_module_problem problem;
  zb_order order = {0};
  const zb_order *decided = s->chosen ? &s->chosen->order : &order;
  const char *name = s->chosen ? s->chosen->schedule : s->file ? base_name(s->file) : s->choice.schedule->name;
  zb_status status = NULL;
  ZB_TRY(zb_module_problem_build(module, s->micro_batches, &problem));
  problem.problem.metric = s->metric;
  ZB_TRY_GOTO(zb_buckets_reductions(&problem, NULL));
  for (int rank = 0; rank < problem.problem.ranks && s->metric == ZB_METRIC_PERIOD; ++rank)
    problem.optimizer_ps[rank] += problem.snapshot_ps[rank];
  if (s->chosen)
    ZB_TRY_GOTO(zb_choice_order_error(s->chosen, zb_order_validate(&problem.problem, decided)));
  else if (s->file)
    ZB_TRY_GOTO(zb_schedule_file_order(s->file, &problem.problem, &order));
  else if (s->limit && s->choice.schedule->keeps_limit)
    ZB_TRY_GOTO(fit(pass, module, s, &problem.problem, &order));
  else
    ZB_TRY_GOTO(run_both(pass, module, s, &problem.problem, &order));
  ZB_TRY_GOTO(write_order(module, decided, name, problem.problem.micro_batches));
  ZB_TRY_GOTO(note_order(pass, decided, name, problem.problem.micro_batches));
  pass->changes += decided->ranks;
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  settings s = {.chosen = zb_chosen(pass, ZB_CHOICE_ORDER)};
  const char *given = zb_pass_option(pass, "micro-batches"), *schedule = zb_pass_option(pass, "schedule");
  int64_t micro_batches = *given ? zb_pass_option_int(pass, "micro-batches", 0) : 1;
  if (micro_batches < 1 || micro_batches > ZB_MICRO_BATCHES_MAX)
    return zb_pass_option_error(pass, top, "micro-batches", "for example 8", "expected 1 to %d micro-batches, got '%s'",
                                ZB_MICRO_BATCHES_MAX, given);
  s.file = !s.chosen && zb_schedule_is_file(schedule) ? schedule : NULL;
  s.micro_batches = s.file && !*given ? 0 : (int)micro_batches;
  if (!zb_pass_option_bytes(pass, "memory-limit", &s.limit)) return ZB_FAIL;
  const char *settle = zb_pass_option(pass, "settle");
  s.settle = strcmp(settle, "true") == 0;
  if (!zb_pass_option_metric(pass, top, &s.metric)) return ZB_FAIL;
  if (!s.settle && strcmp(settle, "false") != 0)
    return zb_pass_option_error(pass, top, "settle", "false leaves every W where the schedule has it",
                                "expected true or false, got '%s'", settle);
  if (!s.file && !s.chosen) ZB_PASS_TRY(pass, zb_schedule_to_train(schedule, &s.choice));
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
