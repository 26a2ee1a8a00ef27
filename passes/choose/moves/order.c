/* The order of jobs.
 *
 * A schedule that looks for an order within a memory limit gets what is left for frames. What messages, inputs and
 * packing take on top depends on the order, so the plan of an order is made to know. A rule is given less, in fixed
 * steps, and the best plan is kept; it, or a search, is made again with less for each rank that is over the limit.
 * Where a search finds nothing, the order is one micro-batch at a time, and others need little less: zb-allocate then
 * says how much that is, and where.
 *
 * A search is asked twice: with messages that come while ranks compute, and as a plan runs, where a rank waits for what
 * it receives. The better plan is kept.
 *
 * Tests: test/tools/zbc-schedule.test, test/e2e/memory.py. */

#include "passes/choose/search.h"

#include "passes/choose/levels.h"
#include "passes/stages/jobs/orders.h"
#include "passes/stages/jobs/schedule_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* A problem where ranks wait for messages may say a little more of an order than its plan takes. What a rule's order
 * leaves for the next one may make that so much shorter. */
static const double waits = 1.005, adjusts = 1.005;

/* A search that counts sums over replicas looks elsewhere, so what one finds that does not may take less with them:
 * both are made unless no order takes less than the first, and the shorter one is kept. */
static zb_status run_choice(const zb_choice_search *search, const zb_asked *asked, const zb_problem *problem,
                            const zb_candidate *own, zb_order *out) {
  zb_memo *memo = asked->pass->program->memo;
  zb_asked told = *asked;
  if (search->best) zb_asked_tell(&told, search->slack * (double)search->best->step_ps);
  if (own) zb_asked_tell(&told, waits * (double)own->step_ps);
  zb_problem without = *problem;
  zb_order other = {0};
  zb_status status = NULL;
  int64_t own_ps, other_ps;
  without.reduction_count = 0;
  ZB_TRY(zb_choice_order(memo, &told.rule, true, problem, out));
  if (problem->reduction_count == 0 || !asked->rule.schedule->searches) return NULL;
  ZB_TRY_GOTO(time_order(problem, out, &own_ps));
  if (own_ps <= zb_lower_bound_ps(problem)) return NULL;
  zb_asked_tell(&told, (double)own_ps);
  ZB_TRY_GOTO(zb_choice_order(memo, &told.rule, true, &without, &other));
  ZB_TRY_GOTO(time_order(problem, &other, &other_ps));
  if (other_ps < own_ps) swap_orders(out, &other);
cleanup:
  zb_order_deinit(&other);
  if (status) zb_order_deinit(out);
  return status;
}

/* ---- As a plan runs ---- */

/* The same with the waits of ranks in their jobs: messages take no time then. Costs are of the arena. */
static zb_status add_waits(zb_arena *arena, const zb_problem *problem, zb_problem *out) {
  zb_stage_cost *costs = ZB_NEW(arena, zb_stage_cost, problem->stages);
  zb_job_waits *of_stages = ZB_NEW(arena, zb_job_waits, problem->stages);
  ZB_TRY(zb_arena_status(arena));
  memcpy(costs, problem->costs, (size_t)problem->stages * sizeof *costs);
  zb_find_waits(problem, of_stages);
  *out = *problem;
  out->costs = costs;
  zb_add_waits(of_stages, out, costs);
  return NULL;
}

/* ---- Within a memory limit ---- */

/* What looks for the plan of one framed program. */
typedef struct fitting {
  zb_choice_search *search;
  const zb_asked *asked;
  const zb_judged *framed;
  zb_module_problem *module;
  zb_arena arena;
  zb_problem problem, as_run, given; /* as_run: as a plan runs; given: what the schedule gets, one of these */
  int64_t *rank_limit, *peak;        /* [ranks] */
  const zb_candidate *best;          /* within the limit; NULL: none yet */
  int64_t order_bytes;               /* what the last order takes on its fullest rank: its plan, or else its frames */
  int64_t same_from;                 /* limits from here to the last one mostly have the same first order */
  int64_t other_bytes;               /* most of a rank besides frames, as far as the last limit was divided */
} fitting;

/* What the plan takes. */
static zb_status try_order(fitting *f, const zb_order *order, const zb_candidate **out) {
  return zb_judge_order(&f->search->judge, f->asked, f->framed, f->module, order, out);
}

/* From this step on no plan is made, and of a rule no other order looked for: where plans take their time, none that is
 * no faster than best is worth it. */
static double too_slow(const fitting *f) {
  enum { LARGE = 1000 };
  if (!f->best) return INFINITY;
  return (f->asked->searches || f->best->size > LARGE ? 1 : adjusts) * (double)f->best->step_ps;
}

static bool is_infeasible(zb_status status) { return status && zb_status_code(status) == ZB_INFEASIBLE; }

/* Gives every rank that is over the limit less, by what its arena has besides the frames; true if none is. It is less
 * than the rank took, so that the same order does not come again. */
static bool within(fitting *f, const int64_t *arena, int64_t limit) {
  bool fits = true;
  for (int rank = 0; rank < f->problem.ranks; ++rank) {
    if (arena[rank] <= limit) continue;
    fits = false;
    f->rank_limit[rank] = limit - (arena[rank] - f->peak[rank]);
    if (f->rank_limit[rank] < 1) f->rank_limit[rank] = 1;
  }
  return fits;
}

/* The order for the limits of ranks, which is made best if its plan fits. *slower: it takes no less than best, so no
 * plan is made; *by_far: without waiting for messages, too. */
static zb_status try_limits(fitting *f, int64_t limit, bool *fits, bool *slower, bool *by_far) {
  zb_order order = {0};
  const zb_candidate *next;
  int64_t ps, least_ps;
  zb_status status = NULL;
  ZB_TRY(run_choice(f->search, f->asked, &f->given, f->best, &order));
  zb_order_peaks(&f->problem, &order, f->peak);
  ZB_TRY_GOTO(time_order(&f->as_run, &order, &ps));
  ZB_TRY_GOTO(time_order(&f->problem, &order, &least_ps));
  if (f->problem.metric == ZB_METRIC_STAGE) ps = least_ps; /* a rank that waits before its first job starts later */
  *slower = (double)ps >= too_slow(f);
  f->order_bytes = 0;
  for (int r = 0; r < f->problem.ranks; ++r)
    if (f->peak[r] > f->order_bytes) f->order_bytes = f->peak[r];
  *by_far = f->best && least_ps >= f->best->step_ps;
  if (*slower) goto cleanup;
  ZB_TRY_GOTO(try_order(f, &order, &next));
  f->order_bytes = next->most;
  *fits = within(f, next->bytes, limit);
  if (zb_candidate_fits(next, f->asked->limit) && *fits && (!f->best || zb_candidate_is_better(next, f->best, 0)))
    f->best = next;
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
  bool slower = false, by_far = false;
  limit_ranks(f, limit);
  for (int i = 0; i < TRIES && !status && !*fits && !slower; ++i) {
    status = try_limits(f, limit, fits, &slower, &by_far);
    if (i == 0) *hopeless = is_infeasible(status) || by_far;
    if (i == 0) f->same_from = *fits || slower ? f->order_bytes : INT64_MAX;
  }
  f->other_bytes = 0;
  for (int rank = 0; rank < f->problem.ranks; ++rank)
    if (limit - f->rank_limit[rank] > f->other_bytes) f->other_bytes = limit - f->rank_limit[rank];
  return status;
}

/* Of a search: the better of what it finds for the problem, and for that as a plan runs. */
static zb_status adjust_both(fitting *f) {
  bool fits = false, hopeless = false;
  const int64_t limit = f->asked->limit;
  zb_status status = adjust(f, limit, &fits, &hopeless);
  if (status && !is_infeasible(status)) return status;
  fits = false;
  f->given = f->as_run;
  zb_status other = adjust(f, limit, &fits, &hopeless);
  if (is_infeasible(other)) {
    zb_status_free(other);
    other = NULL;
  }
  if (!f->best && !other) return status;
  zb_status_free(status);
  return other;
}

/* Without a limit: of a search the better of the same two. */
static zb_status run_both(fitting *f) {
  zb_order order = {0}, other = {0};
  const zb_candidate *next;
  zb_status status = NULL;
  ZB_TRY(run_choice(f->search, f->asked, &f->problem, NULL, &order));
  ZB_TRY_GOTO(try_order(f, &order, &f->best));
  if (!f->asked->rule.schedule->searches || f->problem.ranks == 1) goto cleanup;
  ZB_TRY_GOTO(add_waits(&f->arena, &f->problem, &f->as_run));
  ZB_TRY_GOTO(run_choice(f->search, f->asked, &f->as_run, f->best, &other));
  ZB_TRY_GOTO(try_order(f, &other, &next));
  if (zb_candidate_is_better(next, f->best, 0)) f->best = next;
cleanup:
  zb_order_deinit(&order);
  zb_order_deinit(&other);
  return status;
}

/* For a rule: less and less for all ranks alike. Where one order takes much for its messages, what is left of the limit
 * beside them says little of the next order. */
static zb_status walk_down(fitting *f, int64_t limit, bool *fits) {
  enum { RUNGS = 16 };
  bool slower, by_far;
  for (int64_t size = zb_level_within(limit, RUNGS); size && !*fits; size = zb_level_within(size - 1, RUNGS)) {
    limit_ranks(f, size);
    ZB_TRY(try_limits(f, limit, fits, &slower, &by_far));
  }
  return NULL;
}

/* INFEASIBLE: no order that the rule has for less than the limit fits it. */
static zb_status fit_rule_within(fitting *f, int64_t limit, bool *hopeless) {
  bool fits = false;
  zb_status status = adjust(f, limit, &fits, hopeless);
  if (status && !is_infeasible(status)) return status;
  if (f->best || limit > f->asked->limit) {
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
  return ZB_ERROR(INFEASIBLE, "%s has no order within %s a rank", f->asked->rule.schedule->name,
                  zb_bytes_exact_text((uint64_t)limit, text));
}

/* Of a rule: the best plan within the limit of those for the sizes of a row, each taken for the limit. The row is the
 * same for every limit, so that a higher one has the plans of a lower one to choose from; it begins above the limit, as
 * a plan mostly takes less than it may. It ends where no plan can be better any more, and for large problems after a
 * few sizes. Where none has a plan, the limit is between the least that the rule can and the next size. */
static zb_status fit_rule(fitting *f) {
  enum { RUNGS = 32, ABOVE = 3, WORK = 1024, SMALL = 64, WORK_OF_SMALL = 4096 /* stages x micro-batches of plans */ };
  const int64_t limit = f->asked->limit, work = (int64_t)f->problem.stages * f->problem.micro_batches;
  bool hopeless = false;
  int64_t size = limit, same_from = INT64_MAX, left = (work > SMALL ? WORK : WORK_OF_SMALL) + ABOVE * work;
  for (int i = 0; i < ABOVE; ++i)
    size += size / (2 * RUNGS);
  for (size = zb_level_within(size, RUNGS); size && left > 0 && !hopeless; size = zb_level_below(size, RUNGS)) {
    zb_status status = fit_rule_within(f, size, &hopeless);
    if (status && !is_infeasible(status)) return status;
    zb_status_free(status);
    /* Most sizes above what the order takes have the same one, and quickly. */
    if (size < same_from || f->asked->rule.schedule->is_slow) left -= work;
    if (f->same_from < same_from) same_from = f->same_from;
  }
  return f->best ? NULL : fit_rule_within(f, limit, &hopeless);
}

/* The least limit of a row above this one for which the rule has a plan; 0: none of them. No rule needs far less than
 * one micro-batch at a time. */
static zb_status find_enough(fitting *f, const zb_candidate *serial, int64_t *out) {
  enum { RUNGS = 32, TRIES = 128 };
  const zb_asked *asked = f->asked;
  const int64_t least = serial->most - serial->most / 4;
  zb_asked more = *asked;
  zb_status status = NULL;
  *out = 0;
  if (more.limit < least) more.limit = least;
  f->asked = &more;
  f->problem.rank_limit_bytes = f->rank_limit;
  for (int i = 0; i < TRIES && !f->best && !status; ++i) {
    bool fits = false, hopeless = false;
    more.limit = zb_level_within(more.limit + more.limit / RUNGS + 1, RUNGS);
    status = adjust(f, more.limit, &fits, &hopeless);
    if (!is_infeasible(status)) continue;
    zb_status_free(status);
    status = NULL;
  }
  if (!status && f->best) *out = more.limit;
  f->best = NULL;
  f->asked = asked;
  f->problem.rank_limit_bytes = NULL;
  return status;
}

/* status says that a rule has no order within the limit: adds what of the limit it had, and what has one. What is
 * enough is looked for once a compile, as that takes as long as many plans. */
static zb_status explain(fitting *f, const zb_candidate *serial, zb_status status) {
  const int64_t other = f->other_bytes;
  char limit[64], most[64], enough[64] = "";
  int64_t bytes = 0;
  if (other)
    status = zb_status_note(status, "of the %s of a rank, messages, inputs and packing take up to %s",
                            zb_bytes_exact_text((uint64_t)f->asked->limit, limit),
                            zb_bytes_exact_text((uint64_t)other, most));
  if (f->search->says_why) {
    zb_status failed = find_enough(f, serial, &bytes);
    if (failed) {
      zb_status_free(status);
      return failed;
    }
  }
  const zb_asked *given = f->search->given;
  const bool has_split = strcmp(given->split, "all") == 0 || strcmp(given->split, "products") == 0;
  const bool has_less = strcmp(given->recompute, "auto") != 0 && strcmp(given->recompute, "all") != 0;
  const bool may_cut = !*zb_pass_option(given->pass, "cuts") && !*zb_pass_option(given->pass, "layout");
  const bool may_order = serial->most <= f->asked->limit;
  if (bytes) (void)snprintf(enough, sizeof enough, "%lld bytes are enough; or ", (long long)bytes);
  return zb_status_hint(status, "%suse %s%s%smore ranks or smaller micro-batches", enough,
                        may_order
                            ? "--schedule search, which finds an order within every limit that one micro-batch at "
                              "a time fits, "
                        : may_cut ? "--schedule search, which may cut the stages elsewhere, "
                                  : "",
                        has_split ? "--split auto, " : "", has_less ? "--recompute auto, " : "");
}

/* Nothing fits: a search has the order that needs least, a rule has none. */
static zb_status give_up(fitting *f, zb_status why) {
  zb_order order = {0};
  const zb_candidate *serial;
  zb_status status = zb_order_one_by_one(&f->problem, &order);
  if (!status) status = try_order(f, &order, &serial);
  zb_order_deinit(&order);
  if (status || f->asked->searches) {
    zb_status_free(why);
    f->best = status ? NULL : serial;
    return status;
  }
  return zb_judge_refuse(&f->search->judge, &f->framed->made, serial->most, explain(f, serial, why), &f->best);
}

static zb_status fit(fitting *f) {
  f->peak = ZB_NEW(&f->arena, int64_t, f->problem.ranks);
  f->rank_limit = ZB_NEW(&f->arena, int64_t, f->problem.ranks);
  f->problem.rank_limit_bytes = f->rank_limit;
  ZB_TRY(zb_arena_status(&f->arena));
  ZB_TRY(add_waits(&f->arena, &f->problem, &f->as_run));
  f->given = f->problem;
  zb_status status = f->asked->searches ? adjust_both(f) : fit_rule(f);
  if (f->best || (status && !is_infeasible(status))) return status;
  f->problem.rank_limit_bytes = NULL;
  return give_up(f, status);
}

/* ---- The row ---- */

static zb_status run_file(fitting *f) {
  zb_order order = {0};
  zb_status status = zb_schedule_file_order(f->asked->schedule, &f->problem, &order);
  if (!status) status = try_order(f, &order, &f->best);
  zb_order_deinit(&order);
  return status;
}

static zb_status find(fitting *f) {
  ZB_TRY(zb_order_problem_build(f->framed->program.module, f->asked->micro_batches, f->asked->metric, f->module));
  f->problem = f->module->problem;
  f->problem.watch = f->asked->watch;
  zb_status status = f->asked->is_file ? run_file(f) : f->asked->limit && f->asked->keeps_limit ? fit(f) : run_both(f);
  zb_module_problem_deinit(f->module);
  return status;
}

/* What has no plan, for a reason that other choices may not have. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_module_problem module;
  fitting f = {.search = search, .asked = asked, .module = &module};
  zb_status status = zb_judge_program(&search->judge, asked, above, ZB_JUDGED_FRAMED, &f.framed);
  const bool is_framed = !status;
  if (!status) status = find(&f);
  if (zb_judge_is_no_plan(status))
    status = zb_judge_refuse(&search->judge, is_framed ? &f.framed->made : above, 0, status, &f.best);
  zb_arena_deinit(&f.arena);
  out->candidate = f.best;
  return status;
}

static bool is_open(const zb_asked *asked ZB_UNUSED) { return true; }

const zb_move zb_move_order = {.decision = ZB_CHOICE_ORDER, .is_open = is_open, .decide = decide};
