/* Which gradients of parameters stay in B although they could wait in W (--split auto): as few as the memory asks for.
 *
 * Plans are compared: all in W, those of products of matrices, none, and choices of zb_split_choose for the order that
 * the schedule gives. Of those within the memory the fastest stays, of equal ones the first. The memory is the limit;
 * without one it is what 1F1B takes on its fullest rank with everything split (and a hundredth), the promise of ZB-H1
 * (Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, table 1).
 *
 * Test: test/e2e/split.py. */

#include "passes/choose/levels.h"
#include "passes/choose/search.h"
#include "passes/choose/split_bound.h"
#include "passes/function.h"
#include "passes/stages/functions/chosen.h"
#include "passes/stages/cost.h"

#include <stdlib.h>
#include <string.h>

/* With so few groups a number of bytes falls between two choices, and less of them may be faster: lower numbers are
 * tried too. */
enum { FEW_GROUPS = 32 };

/* A plan with the groups as they stood. */
typedef struct outcome {
  const zb_candidate *plan;
  bool *in_b; /* [groups] */
} outcome;

typedef struct policy {
  zb_choice_search *search;
  const zb_asked *asked;
  zb_arena arena;
  zb_choice above; /* with what is computed again */
  zb_graph graph;
  zb_w_groups w;
  int64_t limit; /* 0: none given */
  int ranks;
  zb_module_problem base; /* with everything split */
  zb_split_memory memory;
  zb_order first;        /* that the schedule gave before a plan */
  const zb_order *order; /* of the last plan */
  bool is_off;           /* the model is not that of the plans: no bound follows from it */
  int64_t bound_ps;      /* least step of the best plan's order with any groups; 0: not known */
  bool proven;           /* it is that of the best plan */
} policy;

/* ---- One plan ---- */

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
static bool is_as_modelled(const policy *p, const zb_candidate *plan) {
  const zb_split_problem it = {
      .w = (zb_w_groups *)&p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &plan->choice.order};
  for (int s = 0; s < p->base.problem.stages; ++s) {
    const zb_stage_cost cost = zb_split_cost(&it, s);
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (llabs(cost.time_ps[kind] - plan->costs[s].time_ps[kind]) > 1) return false;
  }
  for (int r = 0; r < p->ranks; ++r)
    if (zb_split_peak(&it, r) > plan->bytes[r]) return false;
  return true;
}

/* The plan with the groups as they stand. Its order is p->order from now on. */
static zb_status compile(policy *p, const zb_asked *asked, outcome *out) {
  zb_choice choice = {0};
  zb_found found = {0};
  *out = (outcome){.in_b = ZB_NEW(&p->arena, bool, p->w.group_count)};
  ZB_TRY(zb_arena_status(&p->arena));
  for (int g = 0; g < p->w.group_count; ++g)
    out->in_b[g] = p->w.groups[g].in_b;
  zb_status status = zb_choice_take(&choice, &p->above, ZB_CHOICE_ALL);
  if (!status) status = zb_chosen_put_in_b(&p->w, &choice);
  if (!status) status = zb_search_below(p->search, &zb_move_in_b, asked, &choice, &found);
  zb_choice_deinit(&choice);
  ZB_TRY(status);
  out->plan = found.candidate;
  if (!out->plan->exists) return NULL;
  p->order = &out->plan->choice.order;
  p->is_off |= !is_as_modelled(p, out->plan);
  return NULL;
}

/* From the order that the schedule gives with everything split: p->order. */
static zb_status begin_again(policy *p) {
  p->order = &p->first;
  return zb_order_plain(p->asked, &p->base.problem, &p->first);
}

/* ---- auto ---- */

/* With everything split: what ranks take at least. */
static zb_status build_base(policy *p) {
  zb_asked all = *p->asked;
  const zb_judged *framed;
  all.split = "all";
  ZB_TRY(zb_judge_program(&p->search->judge, &all, &p->above, ZB_JUDGED_FRAMED, &framed));
  ZB_TRY(zb_module_problem_build(framed->program.module, p->asked->micro_batches, &p->base));
  return zb_split_memory_build(&p->arena, &p->w, &p->base, &p->memory);
}

/* What 1F1B takes with everything split, and a hundredth, for what messages and packing differ by: of one chunk a rank
 * as a plan; of several, whose rules for 1F1B take more, the same number of micro-batches, p, on every rank. 0 where
 * there is no plan. */
static zb_status find_promise(policy *p, const outcome *all, int64_t *out) {
  outcome one_by_one;
  zb_asked rule;
  const zb_problem *problem = &p->base.problem;
  *out = 0;
  if (problem->stages == p->ranks) {
    ZB_TRY(zb_asked_rule(p->asked, "1f1b", &rule));
    ZB_TRY(compile(p, &rule, &one_by_one));
    *out = one_by_one.plan->most + one_by_one.plan->most / 100;
    return NULL;
  }
  for (int rank = 0; rank < p->ranks && all->plan->exists; ++rank) {
    int64_t held = 0;
    for (int s = 0; s < problem->stages; ++s)
      if (problem->stage_rank[s] == rank) held += p->base.costs[s].keep_bytes[ZB_F];
    const int in_flight = p->ranks < problem->micro_batches ? p->ranks : problem->micro_batches;
    const int64_t bytes =
        all->plan->bytes[rank] - all->plan->frames[rank] + p->base.base_bytes[rank] + held * in_flight;
    if (bytes + bytes / 100 > *out) *out = bytes + bytes / 100;
  }
  return NULL;
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
static zb_status fit(policy *p, int64_t limit, int64_t bytes, double share, const outcome *all, outcome *best) {
  enum { ATTEMPTS = 12 };
  zb_split_problem it = {.w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = p->order};
  zb_split_problem of_all = it;
  allotment *ranks = ZB_NEW(&p->arena, allotment, p->ranks);
  int64_t *limits = ZB_NEW(&p->arena, int64_t, p->ranks);
  ZB_TRY(zb_arena_status(&p->arena));
  zb_w_groups_set_all(&p->w, ZB_IN_B_NONE);
  of_all.order = &all->plan->choice.order;
  for (int r = 0; r < p->ranks; ++r) {
    ranks[r] = (allotment){.next = bytes, .within = -1, .above = INT64_MAX};
    if (all->plan->exists) ranks[r].next -= all->plan->bytes[r] - zb_split_peak(&of_all, r);
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
    ZB_TRY(compile(p, p->asked, &next));
    if (!next.plan->exists) return NULL;
    if (zb_candidate_is_better(next.plan, best->plan, limit)) *best = next;
    if (!zb_judge_pays(&p->search->judge)) return NULL;
    goes_on = false;
    for (int r = 0; r < p->ranks; ++r)
      goes_on |= adjust(&ranks[r], next.plan->bytes[r], bytes);
  }
  return NULL;
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
  bool *fastest = ZB_NEW(&p->arena, bool, p->w.group_count);
  int64_t step, bound;
  ZB_TRY(zb_arena_status(&p->arena));
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
static zb_status prove_order(policy *p, int64_t bytes, outcome *best, budget *left) {
  zb_arena *arena = &p->arena;
  zb_split_problem it = {
      .w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &best->plan->choice.order};
  ZB_LIST(zb_split_refusal) refusals = {0};
  for (;;) {
    outcome next;
    const size_t refused = refusals.count;
    it.refusals = refusals.items;
    it.refusal_count = (int)refusals.count;
    ZB_TRY(find_bound(p, &it, bytes, best, &left->jobs));
    if (!p->bound_ps || p->proven || left->plans-- < 1 || p->is_off) return NULL;
    ZB_TRY(keep_ranks(p, &it, best));
    ZB_TRY(compile(p, p->asked, &next));
    if (!next.plan->exists) return NULL;
    const bool is_same = is_same_order(&next.plan->choice.order, &best->plan->choice.order),
               better = zb_candidate_is_better(next.plan, best->plan, bytes);
    for (int r = 0; r < p->ranks && is_same; ++r)
      if (next.plan->bytes[r] > bytes && !ZB_PUSH(arena, &refusals, (zb_split_refusal){r, next.in_b}))
        return zb_arena_status(arena);
    if (better) *best = next;
    if (better && !is_same) refusals.count = 0;
    if (!better && refusals.count == refused) return NULL;
  }
}

/* The order with W of the first `count` backwards of each rank behind their B, as zb_order_advance_w moves them. */
static zb_status advance(policy *p, const zb_order *from, int count, zb_order *out) {
  zb_arena *arena = &p->arena;
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

static zb_status try_plan(policy *p, int64_t bytes, outcome *best, budget *left) {
  outcome next;
  --left->plans;
  ZB_TRY(compile(p, p->asked, &next));
  if (zb_candidate_is_better(next.plan, best->plan, bytes)) *best = next;
  return NULL;
}

/* The order goes with times: a schedule holds W back as far as others would wait. So there may be better plans whose
 * ranks hold back more or less than those of the best one: for each such order its best choice is tried, and the same
 * with as much in B as costs nothing. */
static zb_status try_orders(policy *p, int64_t bytes, outcome *best, budget *left, bool *out_better) {
  enum { ORDERS = 16 };
  const int micro_batches = p->base.problem.micro_batches, orders = micro_batches < ORDERS ? micro_batches : ORDERS;
  zb_split_problem it = {
      .w = &p->w, .memory = &p->memory, .problem = &p->base.problem, .order = &best->plan->choice.order};
  const int64_t before = best->plan->step_ps;
  int64_t own, bound;
  *out_better = false;
  set_groups(p, best->in_b);
  ZB_TRY(zb_split_step(&it, &own));
  for (int i = orders; i >= 0 && left->plans > 0 && !*out_better; --i) {
    zb_order other;
    ZB_TRY(advance(p, &best->plan->choice.order, (int)((int64_t)micro_batches * i / orders), &other));
    it.order = &other;
    if (is_same_order(&other, &best->plan->choice.order)) continue;
    ZB_TRY(zb_split_shortest(&it, bytes, &left->jobs, &bound));
    if (!bound || bound >= own) continue;
    ZB_TRY(try_plan(p, bytes, best, left));
    ZB_TRY(fill_b(p, &it));
    ZB_TRY(try_plan(p, bytes, best, left));
    *out_better = best->plan->step_ps < before;
  }
  return NULL;
}

/* Of a schedule that looks for an order within the limit each plan has another order: the bound alone. */
static zb_status prove(policy *p, int64_t bytes, outcome *best) {
  enum { PLANS = 24, SIZE = 4096, SIMULATED_JOBS = 2000000 };
  const int64_t size = p->graph.node_count + (int64_t)p->base.problem.stages * p->base.problem.micro_batches;
  budget left = {.plans = p->asked->keeps_limit ? 0
                          : size > SIZE         ? (int)(PLANS * SIZE / size)
                                                : PLANS,
                 .jobs = SIMULATED_JOBS};
  if (p->base.problem.stages != p->ranks || p->asked->metric != ZB_METRIC_BARRIER) return NULL;
  for (bool better = true; better;) {
    ZB_TRY(prove_order(p, bytes, best, &left));
    ZB_TRY(try_orders(p, bytes, best, &left, &better));
  }
  return NULL;
}

/* Whether a rank takes more than that with any choice and any order, for parameters, their state and the like; or the
 * plan with all in B does by far, which takes the least memory, but for the workspace of B. */
static bool is_hopeless(const policy *p, const outcome *whole, int64_t bytes) {
  if (!zb_candidate_fits(whole->plan, bytes) && whole->plan->most > bytes + bytes / 8) return true;
  for (int r = 0; r < p->ranks; ++r)
    if (p->memory.fixed[r] > bytes) return true;
  return false;
}

static zb_status choose(policy *p, outcome *all, outcome *best) {
  outcome products, whole;
  enum { RUNGS = 32 };
  int64_t bytes = p->limit;
  zb_status status = NULL;
  ZB_TRY_GOTO(build_base(p));
  zb_w_groups_set_all(&p->w, ZB_IN_B_NONE);
  ZB_TRY_GOTO(compile(p, p->asked, all));
  *best = *all;
  if (!p->limit) ZB_TRY_GOTO(find_promise(p, all, &bytes));
  zb_w_groups_set_all(&p->w, ZB_IN_B_OTHERS);
  ZB_TRY_GOTO(compile(p, p->asked, &products));
  if (zb_candidate_is_better(products.plan, best->plan, bytes)) *best = products;
  zb_w_groups_set_all(&p->w, ZB_IN_B_ALL);
  ZB_TRY_GOTO(compile(p, p->asked, &whole));
  if (zb_candidate_is_better(whole.plan, best->plan, bytes)) *best = whole;
  for (double share = 1; share > 0.2 && !is_hopeless(p, &whole, bytes); share /= 2) {
    ZB_TRY_GOTO(begin_again(p));
    ZB_TRY_GOTO(fit(p, bytes, bytes, share, all, best));
    if (!p->limit || !p->asked->keeps_limit || !zb_judge_pays(&p->search->judge)) break;
  }
  for (int64_t less = bytes;
       p->w.group_count <= FEW_GROUPS && p->limit && !p->asked->keeps_limit && !is_hopeless(p, &whole, bytes);) {
    less = zb_level_below(less, RUNGS);
    if (less < bytes - bytes / 8) break;
    ZB_TRY_GOTO(begin_again(p));
    ZB_TRY_GOTO(fit(p, bytes, less, 1, all, best));
  }
  if (best->plan->exists && best->plan->most <= bytes) {
    status = prove(p, bytes, best);
    goto cleanup;
  }
  /* Nothing fits. What needs the least of the choices that do not depend on the limit: it fits where the error says. */
  *best = *all;
  if (zb_candidate_is_better(products.plan, best->plan, bytes)) *best = products;
  if (zb_candidate_is_better(whole.plan, best->plan, bytes)) *best = whole;
cleanup:
  zb_order_deinit(&p->first);
  zb_module_problem_deinit(&p->base);
  return status;
}

/* ---- The row ---- */

static zb_status read_program(policy *p, const zb_choice *above) {
  const zb_judged *classified;
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  ZB_TRY(zb_judge_program(&p->search->judge, p->asked, above, ZB_JUDGED_CLASSIFIED, &classified));
  ZB_TRY(zb_choice_take(&p->above, &classified->made, ZB_CHOICE_ALL));
  if (!zb_pass_function(classified->program.module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_graph_build(&p->arena, function, &p->graph));
  ZB_TRY(zb_pass_costs(p->asked->pass, &costs));
  zb_status status = zb_w_groups_build(&p->arena, &p->graph, costs, &p->w);
  zb_costs_destroy(costs);
  return status;
}

static zb_status run(policy *p, const zb_choice *above, zb_found *out) {
  outcome all, best;
  ZB_TRY(read_program(p, above));
  ZB_TRY(choose(p, &all, &best));
  *out = (zb_found){.candidate = best.plan};
  if (!all.plan->exists || !best.plan->exists) return NULL;
  out->split_ps = all.plan->step_ps;
  out->split_bytes = all.plan->most;
  if (p->is_off) return NULL;
  out->split_is_proven = p->proven;
  out->split_bound_ps = p->proven ? best.plan->step_ps : p->bound_ps;
  return NULL;
}

static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  policy p = {.search = search, .asked = asked, .limit = asked->limit, .ranks = asked->ranks};
  zb_status status = run(&p, above, out);
  zb_choice_deinit(&p.above);
  zb_arena_deinit(&p.arena);
  if (!zb_judge_is_no_plan(status)) return status;
  return zb_judge_refuse(&search->judge, above, 0, status, &out->candidate);
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->split, "auto") == 0; }

const zb_move zb_move_in_b = {.decision = ZB_CHOICE_IN_B, .is_open = is_open, .decide = decide};
