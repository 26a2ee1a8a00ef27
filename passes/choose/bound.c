/* Bounds of choices: see passes/choose/bound.h. Tests: test/e2e/joint_search.py, test/e2e/memory.py. */

#include "passes/choose/bound.h"

#include <string.h>

/* Plans have jobs without ops that a problem has not, and round times. */
static const double rounding = 1.001;

zb_asked zb_asked_fixed(const zb_asked *asked, const char *split, const char *recompute) {
  zb_asked fixed = *asked;
  fixed.cuts_are_open = fixed.placement_is_open = false;
  if (strcmp(asked->split, "auto") == 0) fixed.split = split;
  if (strcmp(asked->recompute, "auto") == 0) fixed.recompute = recompute;
  return fixed;
}

/* What is decided keeps what it keeps; what is open may keep less. */
static bool is_decided(const zb_asked *asked, const zb_choice *choice) {
  return ((choice->decided & ZB_CHOICE_AGAIN) || strcmp(asked->recompute, "auto") != 0) &&
         ((choice->decided & ZB_CHOICE_IN_B) || strcmp(asked->split, "auto") != 0);
}

zb_status zb_bound_allows(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice,
                          const zb_candidate *best, bool *out) {
  const zb_asked fixed = zb_asked_fixed(asked, "all", "none");
  const zb_judged *framed;
  zb_module_problem problem;
  *out = true;
  if (!zb_candidate_fits(best, asked->limit)) return NULL;
  zb_status status = zb_judge_program(judge, &fixed, choice, ZB_JUDGED_FRAMED, &framed);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status);
    *out = false;
    return NULL;
  }
  ZB_TRY(status);
  ZB_TRY(zb_module_problem_build(framed->program.module, asked->micro_batches, &problem));
  if (asked->limit && is_decided(asked, choice)) problem.problem.memory_limit_bytes = asked->limit;
  *out = (double)zb_asked_bound(asked, &problem.problem) < rounding * (double)best->step_ps;
  zb_module_problem_deinit(&problem);
  return NULL;
}

zb_status zb_bound_bytes(zb_plan_judge *judge, const zb_asked *least, const zb_choice *choice, int64_t *out) {
  const zb_judged *framed;
  zb_module_problem problem;
  zb_order order = {0};
  *out = 0;
  zb_status status = zb_judge_program(judge, least, choice, ZB_JUDGED_FRAMED, &framed);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  ZB_TRY(zb_module_problem_build(framed->program.module, least->micro_batches, &problem));
  int64_t *peak = ZB_NEW(&problem.arena, int64_t, problem.problem.ranks);
  ZB_TRY_GOTO(zb_arena_status(&problem.arena));
  ZB_TRY_GOTO(zb_order_one_by_one(&problem.problem, &order));
  zb_order_peaks(&problem.problem, &order, peak);
  for (int r = 0; r < problem.problem.ranks; ++r)
    if (peak[r] > *out) *out = peak[r];
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}
