/* A plan of shards by tokens (zbc --sequence-parallel): the proof accepts it, and refuses planted faults in what its
 * shards gather, scatter, and take of their own. As the plan of all shards it comes to its end in the time of the plan.
 * What they train is test/e2e/shards.py; other plans of shards are in shards_plan_test.c. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, SHARDS = 2, MICRO_BATCHES = 3 };

static int open_suite(void) {
  return compiled_plan_open("Inputs/tokens.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = MICRO_BATCHES,
                                                                      .tensor_parallel = SHARDS,
                                                                      .sequence_parallel = true});
}

static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return plan;
}

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

static zb_plan_instruction *instruction_of(zb_plan_rank *rank, const char *op) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, op) == 0) return &rank->subprograms[s].instructions[i];
  return NULL;
}

/* ---- Right plans ---- */

static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *all = NULL, *expanded = NULL, *view = NULL;
  zb_plan_simulation one, many;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT_PTR_NOT_NULL(instruction_of(&plan->ranks[0], "own_part"));
  CU_ASSERT(succeeds(zb_plan_shard(plan, 0, &all)));
  CU_ASSERT_EQUAL_FATAL(all->rank_count, RANKS * SHARDS);
  for (int r = 0; r < all->rank_count; ++r)
    for (zb_collective_kind kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
      for (int s = 0; s < all->ranks[r].subprogram_count; ++s)
        for (int i = 0; i < all->ranks[r].subprograms[s].instruction_count; ++i)
          CU_ASSERT_EQUAL(zb_collective_of_op(all->ranks[r].subprograms[s].instructions[i].op), ZB_COLLECTIVE_COUNT);
  CU_ASSERT(succeeds(zb_plan_expand(all, &expanded)));
  CU_ASSERT(succeeds(zb_plan_view(expanded, ZB_LIST_STEP, &view)));
  CU_ASSERT(succeeds(zb_plan_simulate(plan, &one)));
  CU_ASSERT(succeeds(zb_plan_simulate(view, &many))); /* they come to their end */
  CU_ASSERT_EQUAL(many.step_ps, one.step_ps);
  zb_plan_simulation_free(&one);
  zb_plan_simulation_free(&many);
  zb_plan_destroy(view);
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* Messages have the numbers of the whole plan for who reads one rank. */
static void test_parts_of_plan(void) {
  zb_plan *whole = read_plan();
  CU_ASSERT(succeeds(zb_plan_unfold_own(&whole)));
  CU_ASSERT(succeeds(zb_plan_expand_own(&whole)));
  for (int r = 0; r < RANKS; ++r) {
    zb_plan *part = NULL;
    CU_ASSERT_FATAL(succeeds(zb_plan_read_some(compiled_plan_path, r, 1, &part)));
    CU_ASSERT(succeeds(zb_plan_unfold_own(&part)));
    CU_ASSERT(succeeds(zb_plan_expand_own(&part)));
    CU_ASSERT_EQUAL(part->message_count, whole->message_count);
    for (int c = r * SHARDS; c < (r + 1) * SHARDS; ++c) {
      CU_ASSERT_EQUAL_FATAL(part->ranks[c].job_count, whole->ranks[c].job_count);
      for (int i = 0; i < part->ranks[c].job_count; ++i)
        CU_ASSERT_EQUAL(part->ranks[c].jobs[i].message, whole->ranks[c].jobs[i].message);
    }
    zb_plan_destroy(part);
  }
  zb_plan_destroy(whole);
}

/* ---- Planted faults, in the first instruction of a rank that is one of these ---- */

static bool set_number(zb_plan *plan, zb_plan_instruction *it, const char *name, int64_t number) {
  zb_attr *attrs = zb_plan_alloc(plan, ((size_t)it->attr_count + 1) * sizeof *attrs);
  int count = 0;
  if (!attrs) return false;
  for (int i = 0; i < it->attr_count; ++i)
    if (strcmp(it->attrs[i].name, name) != 0) attrs[count++] = it->attrs[i];
  attrs[count++] = (zb_attr){.name = name, .kind = ZB_ATTR_INT, .i = number};
  it->attrs = attrs;
  it->attr_count = count;
  return true;
}

static bool other_members(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)rank;
  return set_number(plan, it, "members", SHARDS + 1);
}
static bool one_place(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)rank;
  return set_number(plan, it, "place", 1);
}
static bool no_room(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)plan, (void)rank;
  return it->scratch_bytes-- > 0;
}
static bool larger_part(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  zb_plan_operand *part = strcmp(it->op, "gather_parts") == 0 ? it->inputs : it->outputs;
  (void)plan, (void)rank;
  return ++part->shape[part->rank - 1] > 0;
}
static bool spaced_parts(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  zb_plan_operand *all = strcmp(it->op, "gather_parts") == 0 ? it->outputs : it->inputs;
  (void)plan, (void)rank;
  return ++all->strides[0] > 0;
}
static bool more_parts(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  zb_plan_operand *all = strcmp(it->op, "gather_parts") == 0 ? it->outputs : it->inputs;
  (void)plan, (void)rank;
  return ++all->shape[0] > 0;
}
static bool other_type(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)plan, (void)rank;
  return (it->inputs[0].dtype = ZB_F64, true);
}
static bool alone(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)plan, (void)rank;
  return (it->op = "own_part", true);
}
static bool room_over_sum(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)plan;
  it->scratch_offset = it->outputs[0].base ? rank->regions[ZB_REGION_SLOTS].offset : it->outputs[0].offset;
  return true;
}
static bool sum_over_parts(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)plan, (void)rank;
  it->outputs[0].base = it->inputs[0].base;
  it->outputs[0].offset = it->inputs[0].offset;
  return true;
}
static bool more_of_one_phase(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)it;
  return ++plan->shard_sums[2 * rank->rank + 1] > 0;
}
static bool counted_as_sum(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it) {
  (void)it;
  ++plan->shard_sums[2 * rank->rank];
  return plan->shard_sums[2 * rank->rank + 1]-- > 0;
}

static const struct {
  const char *name, *op;
  bool (*plant)(zb_plan *plan, zb_plan_rank *rank, zb_plan_instruction *it);
  int ranks; /* on how many it can be planted */
} faults[] = {
    {"a scatter over other shards", "reduce_scatter", other_members, 1},
    {"a scatter of too little room", "reduce_scatter", no_room, 1},
    {"a scatter to a larger part", "reduce_scatter", larger_part, 1},
    {"a scatter of what has gaps", "reduce_scatter", spaced_parts, 1},
    {"a scatter of more parts", "reduce_scatter", more_parts, 1},
    {"a scatter to another type", "reduce_scatter", other_type, 1},
    {"a scatter that nobody takes part in", "reduce_scatter", alone, 1},
    {"what comes lies over the sum", "reduce_scatter", room_over_sum, 1},
    {"a sum over what is sent", "reduce_scatter", sum_over_parts, 1},
    {"a gather over other shards", "gather_parts", other_members, 2},
    {"a gather of larger parts", "gather_parts", larger_part, 2},
    {"a gather with gaps", "gather_parts", spaced_parts, 2},
    {"a gather of more parts", "gather_parts", more_parts, 2},
    {"a gather of another type", "gather_parts", other_type, 2},
    {"the part of one shard", "own_part", one_place, 2},
    {"a part of other shards", "own_part", other_members, 2},
    {"more collectives than jobs make", "gather_parts", more_of_one_phase, 2},
    {"a collective of two phases", "gather_parts", counted_as_sum, 2},
};

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
    int planted = 0;
    for (int r = 0; r < RANKS; ++r) {
      zb_plan *plan = read_plan();
      zb_plan_instruction *it = instruction_of(&plan->ranks[r], faults[f].op);
      if (it && faults[f].plant(plan, &plan->ranks[r], it)) {
        ++planted;
        zb_status status = zb_plan_verify(plan);
        if (zb_status_code(status) != ZB_INVALID)
          fprintf(stderr, "\n  %s on rank %d is not noticed\n", faults[f].name, r);
        CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
        zb_status_free(status);
      }
      zb_plan_destroy(plan);
    }
    if (planted != faults[f].ranks) fprintf(stderr, "\n  %s was planted on %d ranks\n", faults[f].name, planted);
    CU_ASSERT_EQUAL(planted, faults[f].ranks);
  }
}

SUITE_MAIN_WITH("shards by tokens", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"parts of the plan", test_parts_of_plan}, {"planted faults", test_planted_faults})
