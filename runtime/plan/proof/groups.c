/* The rule "groups" of the proof: where the sums of groups of micro-batches (zbc --sum-groups) lie, and that nothing
 * but their FOLDs uses the place of their totals (runtime/plan/mesh/fold.c). Tests:
 * test/runtime/plan/compiled/groups_test.c */
#include <inttypes.h>

#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/proof/rules.h"

/* What is wrong with an operand of a plan whose sums lie below `above`; NULL: nothing. */
static const char *sum_fault(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                             const zb_plan_operand *operand, uint64_t above) {
  uint64_t bytes;
  if (!zb_fold_adds_to(rank, operand, &bytes)) return NULL;
  if (operand->offset + bytes > above) return "uses what lies in the place of the totals of groups";
  if (!zb_job_is_optimizer(subprogram->kind) && operand->dtype != ZB_F32) return "adds to a sum that is not of f32";
  return NULL;
}

/* Sums that two jobs add to would be complete behind the later one alone. */
static zb_status verify_rank(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  zb_intervals known = {0}, own = {0};
  const zb_plan_range *gradients = &rank->regions[ZB_REGION_GRADIENTS];
  uint64_t where = 0;
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    const char *fault = NULL;
    for (int i = 0; i < subprogram->instruction_count && !fault; ++i) {
      const zb_plan_instruction *it = &subprogram->instructions[i];
      for (int k = 0; k < it->input_count + it->output_count && !fault; ++k)
        fault = sum_fault(rank, subprogram, k < it->input_count ? &it->inputs[k] : &it->outputs[k - it->input_count],
                          gradients->offset + gradients->bytes / zb_fold_buffers(plan));
    }
    if (fault) ZB_TRY_GOTO(ZB_RULE(groups, "rank %d: subprogram %s %s", rank->rank, subprogram->name, fault));
    if (!zb_fold_adds(rank, subprogram)) continue;
    zb_intervals_deinit(&own);
    own = (zb_intervals){0};
    if (!zb_fold_sums(rank, subprogram, &own)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
    if (zb_intervals_meet(&known, &own, &where))
      ZB_TRY_GOTO(ZB_RULE(groups, "rank %d: subprogram %s adds to arena byte %" PRIu64 ", to which another one adds",
                          rank->rank, subprogram->name, where));
    for (size_t i = 0; i < own.count; ++i)
      zb_intervals_assign(&known, own.items[i].begin, own.items[i].end, 0);
    if (known.failed) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
cleanup:
  zb_intervals_deinit(&known);
  zb_intervals_deinit(&own);
  return status;
}

zb_status zb_verify_groups(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count && plan->sum_groups > 1; ++r)
    ZB_TRY(verify_rank(plan, &plan->ranks[r]));
  return NULL;
}
