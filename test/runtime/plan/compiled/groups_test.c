/* A plan that sums groups of micro-batches, as zbc makes it of a model whose tied parameter three of four ranks hold:
 * the proof accepts it, every rank has its FOLDs, and faults by which totals would be overwritten or summed by another
 * number of micro-batches are refused. That it gives the bits of replicas is test/e2e/replicas.py. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 4, MICRO_BATCHES = 6, GROUPS = 3 };

static int open_suite(void) {
  return compiled_plan_open("gathered.mlir", (zb_compile_params){.ranks = RANKS,
                                                                 .micro_batches = MICRO_BATCHES,
                                                                 .sum_groups = GROUPS,
                                                                 .cuts = "a,b,c",
                                                                 .optimizer = "sgd:lr=0.1,momentum=0.9"});
}

static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_read(compiled_plan_path, -1, &plan));
  return plan;
}

/* Each F, B or W that adds to sums is followed by a FOLD as often as there are groups, right behind the last of each.
 */
static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *expanded = NULL;
  CU_ASSERT_EQUAL(plan->sum_groups, GROUPS);
  CU_ASSERT_PTR_NULL(zb_plan_verify(plan));
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_expand(plan, &expanded));
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_rank *rank = &expanded->ranks[r];
    int expected = 0, folds = 0;
    for (int s = 0; s < plan->ranks[r].subprogram_count; ++s)
      expected += zb_fold_adds(&plan->ranks[r], &plan->ranks[r].subprograms[s]) ? GROUPS : 0;
    for (int i = 0; i < rank->job_count; ++i) {
      if (rank->jobs[i].kind != ZB_JOB_FOLD) continue;
      const zb_plan_job *before = &rank->jobs[i - 1];
      CU_ASSERT(before->kind == ZB_JOB_B || before->kind == ZB_JOB_W);
      CU_ASSERT_EQUAL(before->micro_batch % (MICRO_BATCHES / GROUPS), MICRO_BATCHES / GROUPS - 1);
      ++folds;
    }
    CU_ASSERT(folds > 0);
    CU_ASSERT_EQUAL(folds, expected);
  }
  zb_plan_destroy(expanded);
  zb_plan_destroy(plan);
}

/* ---- Faults ---- */

static void other_groups(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sum_groups = 4;
}

static void negative_groups(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sum_groups = -1;
}

static void with_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->replicas = 2;
}

/* There is no room for a total of each micro-batch. */
static void inner_first(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sum_inner = 1;
}

static void in_no_order(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sum_inner = 2;
}

/* The totals would lie on sums. */
static void no_room(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_range *gradients = &rank->regions[ZB_REGION_GRADIENTS];
  (void)plan;
  gradients->bytes = zb_align(gradients->bytes / 2 + 1);
}

/* The first sum of the rank. */
static zb_plan_operand *sum_of(zb_plan_rank *rank, int number) {
  for (int s = 0; s < rank->subprogram_count; ++s) {
    if (!zb_fold_adds(rank, &rank->subprograms[s])) continue;
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i) {
      zb_plan_instruction *it = &rank->subprograms[s].instructions[i];
      if (it->accumulate && it->outputs[0].base == 0 && number-- == 0) return &it->outputs[0];
    }
  }
  return NULL;
}

static void on_a_total(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  sum_of(rank, 0)->offset += rank->regions[ZB_REGION_GRADIENTS].bytes / 2;
}

/* A job of the rank that is no part of the backward pass adds to a sum as well. */
static void added_by_two(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_operand *sum = sum_of(rank, 0);
  zb_plan_subprogram *forward = NULL;
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (rank->subprograms[s].kind == ZB_JOB_F) forward = &rank->subprograms[s];
  zb_plan_instruction *all =
      zb_plan_alloc(plan, ((size_t)forward->instruction_count + 1) * sizeof *forward->instructions);
  zb_plan_operand *operands = zb_plan_alloc(plan, 2 * sizeof *operands);
  memcpy(all, forward->instructions, (size_t)forward->instruction_count * sizeof *all);
  operands[0] = *sum;
  operands[0].offset = rank->parameters[0].tensor.offset;
  operands[1] = *sum;
  all[forward->instruction_count] = (zb_plan_instruction){.op = "accumulate_add",
                                                          .location = "",
                                                          .inputs = operands,
                                                          .input_count = 1,
                                                          .outputs = operands + 1,
                                                          .output_count = 1,
                                                          .accumulate = true,
                                                          .cost_op = ""};
  forward->instructions = all;
  ++forward->instruction_count;
}

static void test_faults(void) {
  static const struct {
    const char *name, *wanted;
    void (*plant)(zb_plan *plan, zb_plan_rank *rank);
  } faults[] = {{"another number of groups", "expected a divisor", other_groups},
                {"a negative number of groups", "expected a divisor", negative_groups},
                {"with replicas", "replicas", with_replicas},
                {"a total a micro-batch", "groups", inner_first},
                {"another order", "order that is not known", in_no_order},
                {"no room for totals", "", no_room},
                {"a sum on a total", "groups", on_a_total},
                {"a sum that two jobs add to", "to which another one adds", added_by_two}};
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f)
    for (int r = 0; r < RANKS; ++r) {
      zb_plan *plan = read_plan();
      faults[f].plant(plan, &plan->ranks[r]);
      zb_status status = zb_plan_verify(plan);
      const char *text = status ? zb_status_text(status) : "accepted";
      if (zb_status_code(status) != ZB_INVALID || !strstr(text, faults[f].wanted))
        printf("\n  %s, rank %d: %s", faults[f].name, r, text);
      CU_ASSERT(zb_status_code(status) == ZB_INVALID && strstr(text, faults[f].wanted));
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

SUITE_MAIN_WITH("groups", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_faults})
