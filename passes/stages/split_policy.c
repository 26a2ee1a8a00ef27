/* zb-split-policy: which gradients of parameters stay in B although they could wait in W.
 *
 *   split=all        W computes all of them, as zb-classify leaves it
 *   split=products   W computes those that are products of matrices, B those of norms and biases
 *   split=none       B computes all of them
 *   split=GLOB,...   W computes those of the parameters that a GLOB names, B all others
 *   split=auto       B computes as few as the memory asks for; see below
 *
 * What W reads is kept until it runs: for a norm both its input and the gradient of its output, although its work is
 * small. A gradient that B computes keeps nothing, but makes B longer, and other ranks wait for B. No bit changes: the
 * sums are the same, because a B that adds to gradients runs in rising micro-batch order, as W does
 * (zb_stage_cost.b_accumulates).
 *
 * auto compares plans, each compiled on a copy to its end: all, products, none, and choices of zb_split_choose for the
 * order that the schedule gives. Of those within the memory it takes the fastest, of equal ones the first. The memory
 * is memory-limit; without one it is what 1F1B takes on its fullest rank with everything split (and a hundredth), the
 * promise of ZB-H1 (Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, table 1).
 *
 * Tests: test/passes/split-policy.mlir, test/e2e/split.py. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/chosen.h"
#include "passes/stages/classes.h"
#include "passes/stages/cost.h"
#include "passes/stages/problem.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/split_bound.h"
#include "passes/stages/step_time.h"
#include "passes/stages/trial.h"
#include "passes/stages/w_groups.h"

#include "runtime/base/text.h"
#include "runtime/base/words.h"
#include "runtime/plan/file/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With so few groups a number of bytes falls between two choices, and less of them may be faster: lower numbers are
 * tried too. */
enum { FEW_GROUPS = 32 };

/* A whole compile with the groups as they stand. */
typedef struct outcome {
  zb_trial plan;
  int64_t *frames; /* [ranks] of the problem: most bytes of frames, and what is there anyway, in the plan's order */
  zb_order order;  /* that the plan has; in the arena */
  bool *in_b;      /* [groups] */
} outcome;

/* What was compiled before: looks for several shares and numbers of bytes come to the same choices. */
typedef struct known {
  const char *schedule;
  outcome found;
} known;

typedef struct policy {
  zb_pass *pass;
  MlirModule module;
  const zb_choice *chosen; /* NULL: it decides */
  zb_graph graph;
  zb_w_groups w;
  int64_t limit; /* 0: none given */
  zb_metric metric;
  int ranks;
  zb_module_problem base; /* with everything split */
  zb_split_memory memory;
  zb_order first;        /* that the schedule gave before a plan */
  const zb_order *order; /* of the last plan */
  ZB_LIST(known) known;
  bool is_off;      /* the model is not that of the plans: no bound follows from it */
  int64_t bound_ps; /* least step of the best plan's order with any groups; 0: not known */
  bool proven;      /* it is that of the best plan */
} policy;

/* ---- One compile ---- */

static zb_status copy_order(zb_arena *arena, const zb_order *from, zb_order *out) {
  *out = (zb_order){.ranks = from->ranks,
                    .jobs = ZB_NEW(arena, zb_job *, from->ranks),
                    .counts = ZB_NEW(arena, int, from->ranks),
                    .whole_backward = from->whole_backward};
  ZB_TRY(zb_arena_status(arena));
  for (int r = 0; r < from->ranks; ++r) {
    out->counts[r] = from->counts[r];
    out->jobs[r] = ZB_NEW(arena, zb_job, from->counts[r]);
    ZB_TRY(zb_arena_status(arena));
    memcpy(out->jobs[r], from->jobs[r], (size_t)from->counts[r] * sizeof(zb_job));
  }
  return NULL;
}

static bool is_same_order(const zb_order *x, const zb_order *y) {
  for (int r = 0; r < x->ranks; ++r)
    for (int i = 0; i < x->counts[r]; ++i) {
      const zb_job a = x->jobs[r][i], b = y->jobs[r][i];
      if (a.stage != b.stage || a.kind != b.kind || a.micro_batch != b.micro_batch) return false;
    }
  return true;
}

/* The model of a choice, which bounds follow from, must be that of its plan: the same times of jobs (a job without ops
 * takes a picosecond), and no more memory. It is not where whole jobs were measured. */
static bool is_as_modelled(const policy *p, const zb_problem *problem, const outcome *found) {
  const zb_split_problem it = {
      .w = (zb_w_groups *)&p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &found->order};
  for (int s = 0; s < problem->stages; ++s) {
    const zb_stage_cost cost = zb_split_cost(&it, s);
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (llabs(cost.time_ps[kind] - problem->costs[s].time_ps[kind]) > 1) return false;
  }
  for (int r = 0; r < problem->ranks; ++r)
    if (zb_split_peak(&it, r) > found->plan.arena[r]) return false;
  return true;
}

/* What a plan takes: its step and its arenas. */
static zb_status measure(policy *p, MlirModule module, const zb_plan *plan, outcome *out) {
  zb_module_problem problem;
  zb_order order = {0};
  zb_status status = NULL;
  ZB_TRY(zb_trial_measure(&p->pass->arena, plan, p->metric, &out->plan));
  ZB_TRY(zb_module_problem_build(module, plan->micro_batches, &problem));
  ZB_TRY_GOTO(zb_module_order(&problem, &order));
  ZB_TRY_GOTO(copy_order(&p->pass->arena, &order, &out->order));
  zb_order_peaks(&problem.problem, &order, out->frames);
  p->is_off |= !is_as_modelled(p, &problem.problem, out);
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}

/* Compiles a copy with the groups as they stand. Where the schedule has no order for it, out->plan.exists stays
 * false. */
static zb_status compile_new(policy *p, const char *schedule, outcome *out) {
  zb_arena *arena = &p->pass->arena;
  *out = (outcome){.frames = ZB_NEW(arena, int64_t, p->ranks), .in_b = ZB_NEW(arena, bool, p->w.group_count)};
  ZB_TRY(zb_arena_status(arena));
  zb_module copy;
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  bool exists;
  for (int g = 0; g < p->w.group_count; ++g)
    out->in_b[g] = p->w.groups[g].in_b;
  zb_w_groups_write(&p->w);
  ZB_TRY(zb_trial_copy(p->pass, p->module, &copy));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_trial_add_frames(p->pass, &pipeline));
  ZB_TRY_GOTO(zb_trial_add_plan(p->pass, schedule, zb_pass_option(p->pass, "memory-limit"), &pipeline));
  ZB_TRY_GOTO(zb_trial_run(&pipeline, &copy, &state, &exists));
  out->plan.most = (int64_t)state.needed_bytes;
  if (exists) status = measure(p, copy.module, state.plan, out);
  if (!status && !ZB_PUSH(arena, &p->known, (known){schedule, *out})) status = zb_arena_status(arena);
cleanup:
  zb_plan_destroy(state.plan);
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

static bool is_known(const policy *p, const char *schedule, const known *k) {
  bool same = strcmp(k->schedule, schedule) == 0;
  for (int g = 0; g < p->w.group_count && same; ++g)
    same = k->found.in_b[g] == p->w.groups[g].in_b;
  return same;
}

/* The same, once for each choice. The order of a plan is p->order from now on. */
static zb_status compile(policy *p, const char *schedule, outcome *out) {
  size_t i = 0;
  while (i < p->known.count && !is_known(p, schedule, &p->known.items[i]))
    ++i;
  if (i == p->known.count) ZB_TRY(compile_new(p, schedule, out));
  *out = p->known.items[i].found;
  if (out->plan.exists) p->order = &p->known.items[i].found.order;
  return NULL;
}

/* From the order that the schedule gives with everything split: p->order. */
static zb_status begin_again(policy *p, const char *schedule) {
  p->order = &p->first;
  return zb_trial_order(p->pass, schedule, &p->base.problem, p->metric, &p->first);
}

/* ---- auto ---- */

/* With everything split: a copy up to its frames, and what ranks take at least. */
static zb_status build_base(policy *p, zb_module *copy) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  ZB_TRY(zb_trial_copy(p->pass, p->module, copy));
  zb_status status = zb_trial_add_frames(p->pass, &pipeline);
  if (!status) status = zb_pipeline_run(&pipeline, copy, &state, NULL);
  zb_pipeline_deinit(&pipeline);
  const int micro_batches = (int)zb_pass_option_int(p->pass, "micro-batches", 1);
  if (!status) status = zb_module_problem_build(copy->module, micro_batches, &p->base);
  if (!status) status = zb_split_memory_build(&p->pass->arena, &p->w, &p->base, &p->memory);
  return status;
}

/* What 1F1B takes with everything split, and a hundredth, for what messages and packing differ by: of one chunk a rank
 * as a plan; of several, whose rules for 1F1B take more, the same number of micro-batches, p, on every rank. 0 where
 * there is no plan. */
static zb_status find_promise(policy *p, const outcome *all, int64_t *out) {
  outcome one_by_one;
  const zb_problem *problem = &p->base.problem;
  *out = 0;
  if (problem->stages == p->ranks) {
    ZB_TRY(compile(p, "1f1b", &one_by_one));
    *out = one_by_one.plan.most + one_by_one.plan.most / 100;
    return NULL;
  }
  for (int rank = 0; rank < p->ranks && all->plan.exists; ++rank) {
    int64_t held = 0;
    for (int s = 0; s < problem->stages; ++s)
      if (problem->stage_rank[s] == rank) held += p->base.costs[s].keep_bytes[ZB_F];
    const int in_flight = p->ranks < problem->micro_batches ? p->ranks : problem->micro_batches;
    const int64_t bytes = all->plan.arena[rank] - all->frames[rank] + p->base.base_bytes[rank] + held * in_flight;
    if (bytes + bytes / 100 > *out) *out = bytes + bytes / 100;
  }
  return NULL;
}

/* Within the memory before above it; then the faster; above it the smaller; last what has no plan, that which needs
 * least first. */
static bool is_better(const outcome *x, const outcome *best, int64_t bytes) {
  if (!x->plan.exists && !best->plan.exists) return zb_trial_needs_less(&x->plan, &best->plan);
  if (!x->plan.exists || !best->plan.exists) return x->plan.exists;
  const bool fits = x->plan.most <= bytes, best_fits = best->plan.most <= bytes;
  if (fits != best_fits) return fits;
  if (fits || x->plan.most == best->plan.most) return x->plan.step_ps < best->plan.step_ps;
  return x->plan.most < best->plan.most;
}

/* In B: nothing, what has no product, or all: then B and W are one, which takes the least memory. */
typedef enum in_b { IN_B_NONE, IN_B_OTHERS, IN_B_ALL } in_b;
static void set_all(policy *p, in_b which) {
  for (int g = 0; g < p->w.group_count; ++g)
    zb_w_group_set(&p->w, g, which == IN_B_ALL || (which == IN_B_OTHERS && !p->w.groups[g].has_product));
}

/* Bytes for which groups of a rank are chosen. What a plan takes beside what the model counts (packing, messages under
 * way) differs by some per mille from choice to choice, so the best number is between one that was within the memory
 * and one that was not. */
typedef struct allotment {
  int64_t next, peak, within, above; /* peak: of what was chosen for `next`; within: -1, above: INT64_MAX: none yet */
} allotment;

/* The next number to try after a plan that takes `arena`; false: the same again, or as near as it pays. */
static bool adjust(allotment *a, int64_t arena, int64_t bytes) {
  const int64_t tried = a->next, left = bytes - (arena - a->peak);
  if (arena <= bytes && tried > a->within) a->within = tried;
  if (arena > bytes && tried < a->above) a->above = tried;
  a->next = left;
  if (a->within >= a->above) a->within = -1; /* of another order */
  if (a->within >= 0 && a->above < INT64_MAX) {
    a->next = a->within + (a->above - a->within) / 2;
    if (a->above - a->within <= bytes / 1000) a->next = a->within;
  } else if (arena <= bytes && a->next < tried) {
    a->next = tried;
  } else if (arena > bytes && a->next >= tried) {
    a->next = tried - 1;
  }
  return a->next != tried;
}

/* Plans with as little in B as keeps every rank within `bytes` (at most the limit), from p->order on; each next one
 * goes by the order of the last. share: of what the first order takes too much; the rest is left to a schedule that
 * looks for an order within the limit. */
static zb_status fit(policy *p, const char *schedule, int64_t limit, int64_t bytes, double share, const outcome *all,
                     outcome *best) {
  enum { ATTEMPTS = 12 };
  zb_split_problem it = {.w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = p->order};
  zb_split_problem of_all = it;
  allotment *ranks = ZB_NEW(&p->pass->arena, allotment, p->ranks);
  int64_t *limits = ZB_NEW(&p->pass->arena, int64_t, p->ranks);
  ZB_TRY(zb_arena_status(&p->pass->arena));
  set_all(p, IN_B_NONE);
  of_all.order = &all->order;
  for (int r = 0; r < p->ranks; ++r) {
    ranks[r] = (allotment){.next = bytes, .within = -1, .above = INT64_MAX};
    if (all->plan.exists) ranks[r].next -= all->plan.arena[r] - zb_split_peak(&of_all, r);
    const int64_t peak = zb_split_peak(&it, r), over = peak - ranks[r].next;
    if (over > 0) ranks[r].next = peak - (int64_t)(share * (double)over);
  }
  bool goes_on = true;
  for (int i = 0; i < ATTEMPTS && goes_on; ++i) {
    outcome next;
    for (int r = 0; r < p->ranks; ++r)
      limits[r] = i + 1 == ATTEMPTS && ranks[r].within >= 0 ? ranks[r].within : ranks[r].next;
    it.order = p->order;
    ZB_TRY(zb_split_choose(&it, limits));
    for (int r = 0; r < p->ranks; ++r)
      ranks[r].peak = zb_split_peak(&it, r);
    ZB_TRY(compile(p, schedule, &next));
    if (!next.plan.exists) return NULL;
    if (is_better(&next, best, limit)) *best = next;
    if (!zb_trial_pays(p->pass->program->memo)) return NULL;
    goes_on = false;
    for (int r = 0; r < p->ranks; ++r)
      goes_on |= adjust(&ranks[r], next.plan.arena[r], bytes);
  }
  return NULL;
}

static bool keeps_limit(const char *schedule) {
  zb_schedule_choice choice;
  zb_status status = zb_schedule_is_file(schedule) ? NULL : zb_schedule_parse(schedule, &choice);
  const bool keeps = !status && !zb_schedule_is_file(schedule) && choice.schedule->keeps_limit;
  zb_status_free(status);
  return keeps;
}

/* ---- The proof ---- */

static void set_groups(policy *p, const bool *to) {
  for (int g = 0; g < p->w.group_count; ++g)
    zb_w_group_set(&p->w, g, to[g]);
}

static void set_rank(policy *p, int rank, const bool *to) {
  for (int g = 0; g < p->w.group_count; ++g)
    if (p->base.stage_rank[p->w.groups[g].stage] == rank) zb_w_group_set(&p->w, g, to[g]);
}

/* From what would be fastest: ranks that make the step no longer with what the best plan has keep that, for it is known
 * to fit. */
static zb_status keep_ranks(policy *p, const zb_split_problem *it, const outcome *best) {
  bool *fastest = ZB_NEW(&p->pass->arena, bool, p->w.group_count);
  int64_t step, bound;
  ZB_TRY(zb_arena_status(&p->pass->arena));
  ZB_TRY(zb_split_step(it, &bound));
  for (int g = 0; g < p->w.group_count; ++g)
    fastest[g] = p->w.groups[g].in_b;
  for (int r = 0; r < p->ranks; ++r) {
    set_rank(p, r, best->in_b);
    ZB_TRY(zb_split_step(it, &step));
    if (step > bound) set_rank(p, r, fastest);
  }
  return NULL;
}

/* The least step of the order of the best plan, and whether its own is that. The groups are then what would be fastest.
 */
static zb_status find_bound(policy *p, zb_split_problem *it, int64_t bytes, const outcome *best, int64_t *work) {
  int64_t own;
  set_groups(p, best->in_b);
  ZB_TRY(zb_split_step(it, &own));
  ZB_TRY(zb_split_shortest(it, bytes, work, &p->bound_ps));
  p->proven = p->bound_ps >= own;
  return NULL;
}

/* What is left of plans to compile, and of jobs to simulate for bounds. */
typedef struct budget {
  int plans;
  int64_t jobs;
} budget;

/* Compiles what would be faster by the model. A rank that is over the limit with it refuses that choice, until nothing
 * faster is left, which proves the best plan the best of its order, or plans run out: the bound is then near it. */
static zb_status prove_order(policy *p, const char *schedule, int64_t bytes, outcome *best, budget *left) {
  zb_arena *arena = &p->pass->arena;
  zb_split_problem it = {.w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &best->order};
  ZB_LIST(zb_split_refusal) refusals = {0};
  for (;;) {
    outcome next;
    const size_t refused = refusals.count;
    it.refusals = refusals.items;
    it.refusal_count = (int)refusals.count;
    ZB_TRY(find_bound(p, &it, bytes, best, &left->jobs));
    if (!p->bound_ps || p->proven || left->plans-- < 1 || p->is_off) return NULL;
    ZB_TRY(keep_ranks(p, &it, best));
    ZB_TRY(compile(p, schedule, &next));
    if (!next.plan.exists) return NULL;
    const bool is_same = is_same_order(&next.order, &best->order), better = is_better(&next, best, bytes);
    for (int r = 0; r < p->ranks && is_same; ++r)
      if (next.plan.arena[r] > bytes && !ZB_PUSH(arena, &refusals, (zb_split_refusal){r, next.in_b}))
        return zb_arena_status(arena);
    if (better) *best = next;
    if (better && !is_same) refusals.count = 0;
    if (!better && refusals.count == refused) return NULL;
  }
}

/* The order with W of the first `count` backwards of each rank behind their B, as zb_order_advance_w moves them. */
static zb_status advance(policy *p, const zb_order *from, int count, zb_order *out) {
  zb_arena *arena = &p->pass->arena;
  const int micro_batches = p->base.problem.micro_batches;
  bool *moved = ZB_NEW(arena, bool, (size_t)p->base.problem.stages *(size_t)micro_batches);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(copy_order(arena, from, out));
  for (int r = 0; r < from->ranks; ++r) {
    zb_job *at = out->jobs[r];
    for (int i = 0, backwards = 0; i < from->counts[r]; ++i) {
      const zb_job job = from->jobs[r][i];
      bool *own = &moved[job.stage * micro_batches + job.micro_batch];
      if (job.kind == ZB_W && *own) continue;
      *at++ = job;
      if (job.kind != ZB_B || backwards++ >= count) continue;
      *own = true;
      *at++ = (zb_job){.stage = job.stage, .kind = ZB_W, .micro_batch = job.micro_batch};
    }
  }
  return NULL;
}

/* Gives B what makes the step no longer: ranks that wait less for others hold W back less. */
static zb_status fill_b(policy *p, const zb_split_problem *it) {
  int64_t step, next;
  ZB_TRY(zb_split_step(it, &step));
  for (int g = 0; g < p->w.group_count; ++g) {
    if (p->w.groups[g].in_b) continue;
    zb_w_group_set(&p->w, g, true);
    ZB_TRY(zb_split_step(it, &next));
    if (next > step) zb_w_group_set(&p->w, g, false);
  }
  return NULL;
}

static zb_status try_plan(policy *p, const char *schedule, int64_t bytes, outcome *best, budget *left) {
  outcome next;
  --left->plans;
  ZB_TRY(compile(p, schedule, &next));
  if (is_better(&next, best, bytes)) *best = next;
  return NULL;
}

/* The order goes with times: a schedule holds W back as far as others would wait. So there may be better plans whose
 * ranks hold back more or less than those of the best one: for each such order its best choice is tried, and the same
 * with as much in B as costs nothing. */
static zb_status try_orders(policy *p, const char *schedule, int64_t bytes, outcome *best, budget *left,
                            bool *out_better) {
  enum { ORDERS = 16 };
  const int micro_batches = p->base.problem.micro_batches, orders = micro_batches < ORDERS ? micro_batches : ORDERS;
  zb_split_problem it = {.w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &best->order};
  const int64_t before = best->plan.step_ps;
  int64_t own, bound;
  *out_better = false;
  set_groups(p, best->in_b);
  ZB_TRY(zb_split_step(&it, &own));
  for (int i = orders; i >= 0 && left->plans > 0 && !*out_better; --i) {
    zb_order other;
    ZB_TRY(advance(p, &best->order, (int)((int64_t)micro_batches * i / orders), &other));
    it.order = &other;
    if (is_same_order(&other, &best->order)) continue;
    ZB_TRY(zb_split_shortest(&it, bytes, &left->jobs, &bound));
    if (!bound || bound >= own) continue;
    ZB_TRY(try_plan(p, schedule, bytes, best, left));
    ZB_TRY(fill_b(p, &it));
    ZB_TRY(try_plan(p, schedule, bytes, best, left));
    *out_better = best->plan.step_ps < before;
  }
  return NULL;
}

/* Of a schedule that looks for an order within the limit each plan has another order: the bound alone. */
static zb_status prove(policy *p, const char *schedule, int64_t bytes, outcome *best) {
  enum { PLANS = 24, SIZE = 4096, SIMULATED_JOBS = 2000000 };
  const int64_t size = p->graph.node_count + (int64_t)p->base.problem.stages * p->base.problem.micro_batches;
  budget left = {.plans = keeps_limit(schedule) ? 0
                          : size > SIZE         ? (int)(PLANS * SIZE / size)
                                                : PLANS,
                 .jobs = SIMULATED_JOBS};
  if (p->base.problem.stages != p->ranks || p->metric != ZB_METRIC_BARRIER) return NULL;
  for (bool better = true; better;) {
    ZB_TRY(prove_order(p, schedule, bytes, best, &left));
    ZB_TRY(try_orders(p, schedule, bytes, best, &left, &better));
  }
  return NULL;
}

/* Whether a rank takes more than that with any choice and any order, for parameters, their state and the like. */
static bool is_hopeless(const policy *p, int64_t bytes) {
  for (int r = 0; r < p->ranks; ++r)
    if (p->memory.fixed[r] > bytes) return true;
  return false;
}

static zb_status choose(policy *p, const char *schedule, outcome *all, outcome *best) {
  zb_module copy = {0};
  outcome products, whole;
  int64_t bytes = p->limit;
  zb_status status = NULL;
  ZB_TRY_GOTO(build_base(p, &copy));
  set_all(p, IN_B_NONE);
  ZB_TRY_GOTO(compile(p, schedule, all));
  *best = *all;
  if (!p->limit) ZB_TRY_GOTO(find_promise(p, all, &bytes));
  set_all(p, IN_B_OTHERS);
  ZB_TRY_GOTO(compile(p, schedule, &products));
  if (is_better(&products, best, bytes)) *best = products;
  set_all(p, IN_B_ALL);
  ZB_TRY_GOTO(compile(p, schedule, &whole));
  if (is_better(&whole, best, bytes)) *best = whole;
  for (double share = 1; share > 0.2 && !is_hopeless(p, bytes); share /= 2) {
    ZB_TRY_GOTO(begin_again(p, schedule));
    ZB_TRY_GOTO(fit(p, schedule, bytes, bytes, share, all, best));
    if (!p->limit || !keeps_limit(schedule) || !zb_trial_pays(p->pass->program->memo)) break;
  }
  for (int64_t less = bytes;
       p->w.group_count <= FEW_GROUPS && p->limit && !keeps_limit(schedule) && !is_hopeless(p, bytes);) {
    less = zb_trial_bytes_below(less);
    if (less < bytes - bytes / 8) break;
    ZB_TRY_GOTO(begin_again(p, schedule));
    ZB_TRY_GOTO(fit(p, schedule, bytes, less, 1, all, best));
  }
  if (best->plan.exists && best->plan.most <= bytes) {
    status = prove(p, schedule, bytes, best);
    goto cleanup;
  }
  /* Nothing fits. What needs the least of the choices that do not depend on the limit: it fits where the error says. */
  *best = *all;
  if (is_better(&products, best, bytes)) *best = products;
  if (is_better(&whole, best, bytes)) *best = whole;
cleanup:
  for (int g = 0; g < p->w.group_count && !status; ++g)
    zb_w_group_set(&p->w, g, best->in_b[g]);
  zb_order_deinit(&p->first);
  zb_module_problem_deinit(&p->base);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

static zb_status run_auto(policy *p) {
  outcome all, best;
  zb_compile_state *state = p->pass->shared;
  ZB_TRY(choose(p, zb_pass_option(p->pass, "schedule"), &all, &best));
  if (!state || !state->summary || !all.plan.exists || !best.plan.exists) return NULL;
  state->summary->split_seconds = 1e-12 * (double)all.plan.step_ps;
  state->summary->split_bytes = (uint64_t)all.plan.most;
  if (p->is_off) return NULL;
  state->summary->split_proven = p->proven;
  state->summary->split_bound_seconds = 1e-12 * (double)(p->proven ? best.plan.step_ps : p->bound_ps);
  return NULL;
}

/* ---- GLOBs ---- */

/* Whether a gradient of the group is of a parameter that the glob names. */
static bool is_named(const policy *p, const zb_w_group *group, const char *glob) {
  for (size_t i = 0; i < group->nodes.count; ++i) {
    const char *name = zb_get_string(p->graph.nodes[group->nodes.items[i]].op, "parameter");
    if (name && zb_glob(glob, name)) return true;
  }
  return false;
}

static const char *const words[] = {"all", "products", "none", "auto"};
enum { WORDS = sizeof words / sizeof words[0] };

/* A GLOB that names no parameter: of a list that a word was written into, or nearly a name or a word. */
static zb_result report_unnamed(policy *p, const char *glob) {
  MlirOperation module = mlirModuleGetOperation(p->module);
  static const char hint[] = "all, products, none, auto, or globs of parameters whose gradients wait in W, such as "
                             "'*.weight'";
  ZB_LIST(const char *) names = {0};
  for (int i = 0; i < WORDS; ++i) {
    if (strcmp(glob, words[i]) == 0)
      return zb_pass_option_error(p->pass, module, "split", hint, "'%s' stands alone, not in a list", glob);
    (void)ZB_PUSH(&p->pass->arena, &names, words[i]);
  }
  for (int g = 0; g < p->w.group_count; ++g)
    for (size_t i = 0; i < p->w.groups[g].nodes.count; ++i) {
      const char *name = zb_get_string(p->graph.nodes[p->w.groups[g].nodes.items[i]].op, "parameter");
      if (name) (void)ZB_PUSH(&p->pass->arena, &names, zb_arena_strdup(&p->pass->arena, name));
    }
  ZB_PASS_TRY(p->pass, zb_arena_status(&p->pass->arena));
  char near[ZB_NEAREST_GLOB_BYTES];
  const bool is_near = zb_nearest_glob(glob, names.items, (int)names.count, near, sizeof near);
  return zb_pass_option_error(p->pass, module, "split", hint, "'%s' names no trained parameter%s%s%s", glob,
                              is_near ? ", did you mean '" : "", is_near ? near : "", is_near ? "'?" : "");
}

/* "A,B": W has the gradients of the parameters that they name, B all others. */
static zb_result split_named(policy *p, const char *text) {
  char *globs = zb_arena_strdup(&p->pass->arena, text);
  ZB_PASS_TRY(p->pass, zb_arena_status(&p->pass->arena));
  for (int g = 0; g < p->w.group_count; ++g)
    zb_w_group_set(&p->w, g, true);
  while (globs) {
    char *next = strchr(globs, ',');
    if (next) *next++ = '\0';
    int named = 0;
    for (int g = 0; g < p->w.group_count; ++g) {
      if (!is_named(p, &p->w.groups[g], globs)) continue;
      zb_w_group_set(&p->w, g, false);
      ++named;
    }
    if (!named) return report_unnamed(p, globs);
    globs = next;
  }
  return ZB_OK;
}

/* ---- The pass ---- */

/* What zb-recompute chose together with its own; false: it did not. */
static bool set_chosen(policy *p) {
  const char *text = zb_get_string(mlirModuleGetOperation(p->module), ZB_ATTR_GROUPS_IN_B);
  for (const char *at = text; at && *at;) {
    char *end;
    const long group = strtol(at, &end, 10);
    if (end == at || group < 0 || group >= p->w.group_count) return false;
    zb_w_group_set(&p->w, (int)group, true);
    at = *end == ',' ? end + 1 : end;
  }
  return text != NULL;
}

static zb_result apply(policy *p) {
  const char *split = zb_pass_option(p->pass, "split");
  uint64_t limit;
  if (!zb_pass_option_bytes(p->pass, "memory-limit", &limit)) return ZB_FAIL;
  if (!zb_pass_option_metric(p->pass, mlirModuleGetOperation(p->module), &p->metric)) return ZB_FAIL;
  p->limit = (int64_t)limit;
  if (p->chosen)
    ZB_PASS_TRY(p->pass, zb_chosen_in_b(p->chosen, &p->w));
  else if (set_chosen(p))
    zb_remove_attribute(mlirModuleGetOperation(p->module), ZB_ATTR_GROUPS_IN_B);
  else if (strcmp(split, "auto") == 0)
    ZB_PASS_TRY(p->pass, run_auto(p));
  else if (strcmp(split, "all") == 0)
    set_all(p, IN_B_NONE);
  else if (strcmp(split, "products") == 0)
    set_all(p, IN_B_OTHERS);
  else if (strcmp(split, "none") == 0)
    set_all(p, IN_B_ALL);
  else if (!split_named(p, split))
    return ZB_FAIL;
  ZB_PASS_TRY(p->pass, zb_chosen_note_in_b(p->pass, &p->w));
  zb_w_groups_write(&p->w);
  for (int g = 0; g < p->w.group_count; ++g)
    p->pass->changes += p->w.groups[g].in_b;
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  policy p = {.pass = pass, .module = module, .chosen = zb_chosen(pass, ZB_CHOICE_IN_B)};
  MlirOperation function;
  MlirBlock block;
  if (p.chosen ? !p.chosen->in_b.count : strcmp(zb_pass_option(pass, "split"), "all") == 0) return ZB_OK;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_graph_build(&pass->arena, function, &p.graph));
  zb_costs *costs;
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &costs));
  zb_status status = zb_w_groups_build(&pass->arena, &p.graph, costs, &p.w);
  zb_costs_destroy(costs);
  ZB_PASS_TRY(pass, status);
  p.ranks = (int)zb_get_i64(mlirModuleGetOperation(module), ZB_ATTR_RANKS, 1);
  return apply(&p);
}

static const zb_option_def options[] = {
    {"split", "all",
     "which gradients of parameters wait in W: all, products, none, auto (as memory allows), or GLOB,... of "
     "parameters"},
    {"schedule", "zb-h1", "auto: as of zb-schedule, and so on"},
    {"micro-batches", "1", "auto: micro-batches a step"},
    {"memory-limit", "", "auto: bytes a rank may take (default: what 1F1B takes with everything split)"},
    {"metric", "barrier", "auto: as of zb-schedule"},
    {"costs", "", "auto: file of costs (default: the built-in model)"},
    {"sharding", "none", "auto: as of zb-shard-optimizer"},
    {"gather", "job", "auto: as of zb-shard-optimizer"},
    {0},
};

const zb_pass_def zb_pass_split_policy = {
    .name = "zb-split-policy",
    .summary = "Choose which gradients of parameters stay in B, by the memory that W would keep.",
    .options = options,
    .requires_level = "classified",
    .run = run,
};
