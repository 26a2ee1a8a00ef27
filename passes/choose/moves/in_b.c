/* Which gradients of parameters stay in B although they could wait in W (--split auto): as few as the memory asks for,
 * by a ladder of bytes (passes/choose/ladder.h). The memory is the limit; without one it is what 1F1B takes on its
 * fullest rank with everything split (and a hundredth), the promise of ZB-H1 (Qi, Wan, Huang, Lin 2024, "Zero Bubble
 * Pipeline Parallelism", arXiv 2401.10241, table 1).
 *
 * Test: test/e2e/split.py. */

#include "passes/choose/fit.h"
#include "passes/choose/ladder.h"

#include <string.h>

/* With all gradients in W. Release problem with zb_module_problem_deinit, after a failure too. */
static zb_status find_all(zb_choice_search *search, const zb_asked *all, const zb_choice *above,
                          zb_module_problem *problem, const zb_candidate **out) {
  const zb_judged *framed;
  zb_found found;
  ZB_TRY(zb_judge_program(&search->judge, all, above, ZB_JUDGED_FRAMED, &framed));
  ZB_TRY(zb_module_problem_build(framed->program.module, all->micro_batches, problem));
  ZB_TRY(zb_search_below(search, &zb_move_in_b, all, above, &found));
  *out = found.candidate;
  return NULL;
}

/* Of several chunks a rank, whose rules for 1F1B take more: p micro-batches on each of p ranks. */
static int64_t promise_of(const zb_module_problem *all, const zb_candidate *plan) {
  const zb_problem *problem = &all->problem;
  const int in_flight = problem->ranks < problem->micro_batches ? problem->ranks : problem->micro_batches;
  int64_t most = 0;
  for (int rank = 0; rank < problem->ranks && plan->exists; ++rank) {
    int64_t held = 0;
    for (int s = 0; s < problem->stages; ++s)
      if (problem->stage_rank[s] == rank) held += all->costs[s].keep_bytes[ZB_F];
    const int64_t bytes = plan->bytes[rank] - plan->frames[rank] + all->base_bytes[rank] + held * in_flight;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* What 1F1B takes with everything split, and a hundredth, for what messages and packing differ by. 0 where there is no
 * plan. */
static zb_status find_promise(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, int64_t *out) {
  zb_asked all = *asked, rule;
  zb_module_problem problem = {0};
  const zb_candidate *plan;
  zb_found found;
  all.split = "all";
  zb_status status = find_all(search, &all, above, &problem, &plan);
  if (!status && problem.problem.stages > problem.problem.ranks) {
    *out = promise_of(&problem, plan);
  } else if (!status) {
    status = zb_asked_rule(&all, "1f1b", &rule);
    if (!status) status = zb_search_below(search, &zb_move_in_b, &rule, above, &found);
    if (!status) *out = found.candidate->most;
  }
  *out += *out / 100;
  zb_module_problem_deinit(&problem);
  return status;
}

static zb_status choose(zb_chooser *c, zb_found *out) {
  const zb_candidate *plan;
  const bool searches = c->asked->searches;
  if (searches) ZB_TRY(zb_chooser_add_parts(c));
  if (searches) ZB_TRY(zb_ladder_find(c));
  ZB_TRY((searches ? zb_fit_searched : c->asked->keeps_limit ? zb_fit_adaptive : zb_fit_rule)(c));
  ZB_TRY(zb_chooser_compare(c));
  if (searches) {
    ZB_TRY(zb_fit_around(c));
    ZB_TRY(zb_chooser_compare(c));
  }
  if (searches) ZB_TRY(zb_fit_best(c));
  if (!c->best) ZB_TRY(zb_chooser_try(c, c->plain, &plan));
  *out = (zb_found){.split_ps = c->plain_plan->step_ps, .split_bytes = c->plain_plan->most};
  ZB_TRY(zb_fit_bound(c, out));
  out->candidate = c->best;
  if (!c->plain_plan->exists || !c->best->exists) *out = (zb_found){.candidate = c->best};
  return NULL;
}

static zb_status run(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_chooser c;
  int64_t bytes = asked->limit;
  if (!bytes) ZB_TRY(find_promise(search, asked, above, &bytes));
  zb_status status = zb_chooser_init(search, &zb_move_in_b, asked, above, bytes, &c);
  if (!status) status = choose(&c, out);
  zb_chooser_deinit(&c);
  return status;
}

static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_status status = run(search, asked, above, out);
  if (!zb_judge_is_no_plan(status)) return status;
  return zb_judge_refuse(&search->judge, above, 0, status, &out->candidate);
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->split, "auto") == 0; }

const zb_move zb_move_in_b = {.decision = ZB_CHOICE_IN_B, .is_open = is_open, .decide = decide};
