/* The rule "shards" of the proof: what of a plan of shards the proof of one shard does not say.
 *
 * All shards of a rank run one list, and sums over them stand at the same place of it. So a shard waits only for others
 * that come to the same sum, and what holds for the lists of the plan (no deadlock, memory, dataflow, where a sum is an
 * instruction that reads its part and writes the sum) holds for all of them together. What is left: that every sum is
 * of all shards and has room for what they send, that numbers of shards are for the runtime to set, and that parts of
 * parameters and their states are cut alike, on all ranks: over shards, and parameters over replicas, too, where these
 * share them (of states that is the rule "sharding").
 *
 * Tests: test/runtime/plan/compiled/shards_plan_test.c */
#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/proof/rules.h"

#include "runtime/plan/file/check.h"
#include "runtime/base/map.h"
#include "runtime/plan/file/collective.h"

#include <inttypes.h>
#include <string.h>

/* Whether `all` is `part` with a dimension of `members` in front, without gaps. */
static bool has_parts(const zb_plan_operand *all, const zb_plan_operand *part, int64_t members) {
  bool same = all->dtype == part->dtype && all->rank == part->rank + 1 && zb_operand_is_contiguous(all);
  for (int d = 0; same && d < all->rank; ++d)
    same = all->shape[d] == (d == 0 ? members : part->shape[d - 1]);
  return same;
}

static bool same_shape(const zb_plan_operand *a, const zb_plan_operand *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (int d = 0; same && d < a->rank; ++d)
    same = a->shape[d] == b->shape[d];
  return same;
}

/* What is wrong with a collective of shards; NULL: nothing. */
static const char *sum_fault(const zb_plan *plan, const zb_plan_instruction *sum, zb_job_kind kind) {
  const zb_attrs attrs = {sum->attrs, sum->attr_count};
  const zb_collective_kind collective = zb_collective_of_op(sum->op);
  const char *reduction = zb_attr_string(&attrs, "reduction", "sum");
  const int64_t shards = zb_plan_shards(plan);
  if (shards == 1) return "is a sum over shards, of which the plan has one";
  if (kind == ZB_JOB_LOAD) return "is a sum over shards before the first step";
  if (sum->input_count != 1 || sum->output_count != 1 || sum->accumulate) return "has not one operand and one result";
  if (zb_attr_int(&attrs, "members", 0) != shards) return "is a sum of other shards than the plan has";
  if (strcmp(reduction, "sum") != 0 && strcmp(reduction, "max") != 0) return "is neither a sum nor the greatest";
  const zb_plan_operand *in = &sum->inputs[0], *out = &sum->outputs[0];
  if (collective == ZB_COLLECTIVE_ALL_REDUCE && !same_shape(in, out)) return "gives another type than it takes";
  if (collective == ZB_COLLECTIVE_REDUCE_SCATTER && !has_parts(in, out, shards))
    return "gives no part of what it takes";
  if (collective == ZB_COLLECTIVE_ALL_GATHER && !has_parts(out, in, shards))
    return "does not give the parts of all shards";
  const uint64_t bytes = (uint64_t)zb_operand_extent(collective == ZB_COLLECTIVE_REDUCE_SCATTER ? in : out);
  if (zb_collective_adds(collective) && sum->scratch_bytes < zb_landing_bytes(&bytes, 1, (uint64_t)shards, out->dtype))
    return "has too little room for what the other shards send";
  return NULL;
}

static const char *place_fault(const zb_plan *plan, const zb_plan_instruction *instruction) {
  const zb_attrs attrs = {instruction->attrs, instruction->attr_count};
  const bool takes = strcmp(instruction->op, "own_part") == 0;
  if (!takes && strcmp(instruction->op, "coordinate") != 0) return NULL;
  if (zb_plan_shards(plan) > 1 && zb_attr_int(&attrs, "place", 0) != 0) return "has the number of one shard for all";
  if (!takes || zb_plan_shards(plan) == 1) return NULL;
  if (zb_attr_int(&attrs, "members", 0) != zb_plan_shards(plan)) return "is a part of other shards than the plan has";
  return NULL;
}

static zb_status verify_instructions(const zb_plan *plan, const zb_plan_rank *rank) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i) {
      const zb_plan_subprogram *subprogram = &rank->subprograms[s];
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      const bool is_sum = zb_collective_of_op(instruction->op) != ZB_COLLECTIVE_COUNT;
      const char *fault = is_sum ? sum_fault(plan, instruction, subprogram->kind) : place_fault(plan, instruction);
      if (fault) return ZB_RULE(shards, "rank %d: %s: instruction %d %s", rank->rank, subprogram->name, i, fault);
    }
  return NULL;
}

static bool same_numbers(const int64_t *a, int a_count, const int64_t *b, int b_count) {
  return a_count == b_count && (a_count == 0 || memcmp(a, b, (size_t)a_count * sizeof *a) == 0);
}

static bool same_cut(const zb_plan_tensor *a, const zb_plan_tensor *b) {
  return a->cut == b->cut && same_numbers(a->runs, a->run_count, b->runs, b->run_count);
}

static bool same_parts(const zb_plan_tensor *a, const zb_plan_tensor *b) {
  return same_cut(a, b) && a->flat == b->flat && same_numbers(a->dims, a->dim_count, b->dims, b->dim_count);
}

static zb_status verify_tensors(const zb_plan *plan, zb_map *first_of, int r) {
  const zb_plan_rank *rank = &plan->ranks[r];
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    const zb_plan_tensor *tensor = &parameter->tensor;
    int64_t packed;
    for (int k = 0; k < parameter->state_count; ++k)
      if (!same_cut(tensor, &rank->states[parameter->state_begin + k]))
        return ZB_RULE(shards, "rank %d: '%s' is not cut as its parameter is", r,
                       rank->states[parameter->state_begin + k].name);
    if (!zb_map_get(first_of, tensor->name, &packed)) {
      if (!zb_map_set(first_of, tensor->name, (int64_t)r << 32 | i)) return ZB_OUT_OF_MEMORY();
    } else if (!same_parts(tensor, &plan->ranks[packed >> 32].parameters[packed & INT32_MAX].tensor)) {
      return ZB_RULE(shards, "rank %d: '%s' is cut in another way than on rank %" PRId64, r, tensor->name,
                     packed >> 32);
    }
  }
  return NULL;
}

zb_status zb_verify_shards(const zb_plan *plan) {
  zb_map *first_of = zb_map_create();
  zb_status status = first_of ? NULL : ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count && !status; ++r) {
    status = verify_instructions(plan, &plan->ranks[r]);
    if (!status) status = verify_tensors(plan, first_of, r);
    if (!status && zb_plan_shards(plan) > 1) status = ZB_RULE_OF(shards, zb_plan_check_shard_sums(plan, r));
  }
  zb_map_destroy(first_of);
  return status;
}
