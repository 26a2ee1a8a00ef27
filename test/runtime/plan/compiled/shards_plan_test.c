/* A plan of shards, as zbc makes it: the proof accepts it, and refuses planted faults by which shards would wait for
 * each other in vain, or add or load something else. As the plan of all shards it comes to its end; parts of tensors go
 * back and forth. What they train is test/e2e/shards.py. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/base/memory.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, SHARDS = 2, MICRO_BATCHES = 3 };

static int open_suite(void) {
  return compiled_plan_open(
      "Inputs/shards.mlir",
      (zb_compile_params){.ranks = RANKS, .micro_batches = MICRO_BATCHES, .tensor_parallel = SHARDS, .clip_norm = "1"});
}

/* Without what runs beside sums: that is test/runtime/plan/compiled/weave_test.c. */
static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  zb_plan_unweave(plan);
  return plan;
}

/* ---- Right plans ---- */

static int sums_of(const zb_plan_rank *rank, int subprogram) {
  int count = 0;
  for (int i = 0; i < rank->subprograms[subprogram].instruction_count; ++i)
    count += strcmp(rank->subprograms[subprogram].instructions[i].op, "all_reduce") == 0;
  return count;
}

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

/* All shards run the jobs of their rank, in their order, cut where it has sums. */
static void check_jobs(const zb_plan *plan, const zb_plan *all, int r, int shard) {
  const zb_plan_rank *from = &plan->ranks[r], *rank = &all->ranks[r * SHARDS + shard];
  int at = 0;
  CU_ASSERT_EQUAL(rank->rank, r * SHARDS + shard);
  for (int i = 0; i < from->job_count; ++i) {
    const zb_plan_job *job = &from->jobs[i];
    if (job->kind == ZB_JOB_REPORT && job->micro_batch >= 0 && shard > 0) continue; /* the norm is for all */
    const int sums = job->subprogram < 0 ? 0 : sums_of(from, job->subprogram);
    for (int k = 0; k <= sums; ++k) {
      CU_ASSERT_EQUAL_FATAL(rank->jobs[at].kind, job->kind);
      CU_ASSERT_EQUAL(rank->jobs[at].micro_batch, job->micro_batch);
      if (job->message >= 0) CU_ASSERT_EQUAL(rank->jobs[at].message, job->message * SHARDS + shard);
      if (job->subprogram >= 0) CU_ASSERT_EQUAL(sums_of(rank, rank->jobs[at].subprogram), 0);
      ++at;
      if (k == sums) break;
      CU_ASSERT_EQUAL_FATAL(rank->jobs[at].kind, ZB_JOB_COLLECTIVE);
      const zb_plan_collective *sum = &all->collectives[rank->jobs[at].collective - 1];
      CU_ASSERT_EQUAL(sum->members.count, SHARDS);
      CU_ASSERT_EQUAL(all->pool_u64[sum->members.begin + (uint32_t)shard], (uint64_t)rank->rank);
      CU_ASSERT(zb_collective_landing_bytes(all, sum) <= rank->pool_ranges[rank->jobs[at].parts.begin + 1].bytes);
      ++at;
    }
  }
  CU_ASSERT_EQUAL(at, rank->job_count);
}

static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *all = NULL, *expanded = NULL;
  zb_plan_simulation one, many;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT_EQUAL(plan->shards, SHARDS);
  CU_ASSERT(succeeds(zb_plan_shard(plan, 0, &all)));
  CU_ASSERT_EQUAL_FATAL(all->rank_count, RANKS * SHARDS);
  CU_ASSERT_EQUAL(all->message_count, plan->message_count * SHARDS);
  for (int r = 0; r < RANKS; ++r)
    for (int c = 0; c < SHARDS; ++c)
      check_jobs(plan, all, r, c);
  zb_plan *view;
  CU_ASSERT(succeeds(zb_plan_expand(all, &expanded)));
  CU_ASSERT(succeeds(zb_plan_view(expanded, ZB_LIST_STEP, &view)));
  CU_ASSERT(succeeds(zb_plan_simulate(plan, &one)));
  CU_ASSERT(succeeds(zb_plan_simulate(view, &many))); /* they come to their end */
  CU_ASSERT_EQUAL(many.rank_count, RANKS * SHARDS);
  CU_ASSERT_EQUAL(many.step_ps, one.step_ps);
  zb_plan_simulation_free(&one);
  zb_plan_simulation_free(&many);
  zb_plan_destroy(view);
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* Two phases of 5 us and of the bytes of the larger half at 10 GB/s. */
static int64_t sum_ps(const zb_plan_operand *out) {
  int64_t elements = 1;
  for (int d = 0; d < out->rank; ++d)
    elements *= out->shape[d];
  return 2 * (5000000 + 100 * ((elements + 1) / 2) * (out->dtype == ZB_F64 ? 8 : 4));
}

/* Segments of a subprogram and its sums together take what the subprogram does. */
static void test_times(void) {
  zb_plan *plan = read_plan(), *all = NULL;
  CU_ASSERT(succeeds(zb_plan_shard(plan, 0, &all)));
  for (int r = 0; r < RANKS; ++r)
    for (int s = 0, at = 0; s < plan->ranks[r].subprogram_count; ++s) {
      const zb_plan_subprogram *whole = &plan->ranks[r].subprograms[s];
      int64_t left = whole->time_ps;
      for (int k = sums_of(&plan->ranks[r], s); k >= 0; --k)
        left -= all->ranks[r * SHARDS].subprograms[at++].time_ps;
      for (int i = 0; i < whole->instruction_count; ++i)
        if (strcmp(whole->instructions[i].op, "all_reduce") == 0) left -= sum_ps(&whole->instructions[i].outputs[0]);
      if (left) fprintf(stderr, "\n  rank %d %s: %lld ps are left\n", r, whole->name, (long long)left);
      CU_ASSERT_EQUAL(left, 0);
    }
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
    zb_plan_unweave(part);
    CU_ASSERT(succeeds(zb_plan_unfold_own(&part)));
    CU_ASSERT(succeeds(zb_plan_expand_own(&part)));
    CU_ASSERT_EQUAL(part->message_count, whole->message_count);
    for (int c = r * SHARDS; c < (r + 1) * SHARDS; ++c) {
      const zb_plan_rank *rank = &part->ranks[c], *wanted = &whole->ranks[c];
      CU_ASSERT_EQUAL_FATAL(rank->job_count, wanted->job_count);
      for (int i = 0; i < rank->job_count; ++i)
        CU_ASSERT_EQUAL(rank->jobs[i].message, wanted->jobs[i].message);
    }
    zb_plan_destroy(part);
  }
  zb_plan_destroy(whole);
}

/* ---- Parts of tensors ---- */

static void check_parts(const zb_plan_tensor *tensor, int shards, const int *wanted) {
  const zb_shape whole = zb_plan_whole_shape(tensor);
  const int64_t count = zb_shape_elements(&whole), part_count = zb_shape_elements(&tensor->shape);
  int32_t *numbers = zb_alloc((size_t)count * 4), *back = zb_alloc((size_t)count * 4),
          *part = zb_alloc((size_t)part_count * 4);
  for (int32_t i = 0; i < count; ++i)
    numbers[i] = i + 1;
  for (int c = 0; c < shards; ++c) {
    zb_plan_copy_part(tensor, (zb_plan_place){shards, c, 0}, 4, ZB_WHOLE_TO_PART, numbers, part);
    for (int64_t i = 0; i < part_count; ++i)
      CU_ASSERT_EQUAL(part[i], wanted[c * part_count + i]);
    zb_plan_copy_part(tensor, (zb_plan_place){shards, c, 0}, 4, ZB_PART_TO_WHOLE, part, back);
  }
  CU_ASSERT_EQUAL(memcmp(numbers, back, (size_t)count * 4), 0);
  zb_free(numbers);
  zb_free(back);
  zb_free(part);
}

static void test_parts(void) {
  int64_t whole[] = {4}, runs[] = {2, 4}, padded[] = {5};
  check_parts(&(zb_plan_tensor){.shape = {ZB_F32, 2, {2, 2}}, .cut = 1, .runs = whole, .run_count = 1}, 2,
              (const int[]){1, 2, 3, 4, 5, 6, 7, 8});
  check_parts(&(zb_plan_tensor){.shape = {ZB_F32, 2, {2, 3}}, .cut = 2, .runs = runs, .run_count = 2}, 2,
              (const int[]){1, 3, 4, 7, 9, 10, 2, 5, 6, 8, 11, 12});
  check_parts(&(zb_plan_tensor){.shape = {ZB_F32, 2, {1, 2}}, .cut = 2, .runs = padded, .run_count = 1}, 4,
              (const int[]){1, 2, 3, 4, 5, 0, 0, 0});
}

/* ---- Planted faults ---- */

static zb_plan_instruction *instruction_of(zb_plan_rank *rank, const char *op) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, op) == 0) return &rank->subprograms[s].instructions[i];
  return NULL;
}

static zb_attr *attr_of(zb_plan_instruction *instruction, const char *name) {
  for (int i = 0; instruction && i < instruction->attr_count; ++i)
    if (strcmp(instruction->attrs[i].name, name) == 0) return &instruction->attrs[i];
  return NULL;
}

static zb_plan_parameter *cut_parameter(zb_plan_rank *rank) {
  for (int i = 0; i < rank->parameter_count; ++i)
    if (rank->parameters[i].tensor.cut && rank->parameters[i].state_count) return &rank->parameters[i];
  return NULL;
}

static bool no_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->shards = 1;
  return true;
}
static bool more_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->shards = 4;
  return true;
}
static bool more_sums(zb_plan *plan, zb_plan_rank *rank) { return ++plan->shard_sums[2 * rank->rank] > 0; }
static bool fewer_sums(zb_plan *plan, zb_plan_rank *rank) { return plan->shard_sums[2 * rank->rank]-- > 0; }
static bool other_members(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_attr *members = attr_of(instruction_of(rank, "all_reduce"), "members");
  return members && ++members->i;
}
static bool other_reduction(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_attr *reduction = attr_of(instruction_of(rank, "all_reduce"), "reduction");
  return reduction && (reduction->s = "min");
}
static bool no_room(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = instruction_of(rank, "all_reduce");
  return sum && sum->scratch_bytes-- > 0;
}
static bool other_type(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = instruction_of(rank, "all_reduce");
  return sum && (sum->inputs[0].dtype = ZB_BF16, true);
}
static bool one_coordinate(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *instruction = instruction_of(rank, "coordinate");
  zb_attr *place = zb_plan_alloc(plan, sizeof *place);
  if (!instruction || !place) return false;
  *place = (zb_attr){.name = "place", .kind = ZB_ATTR_INT, .i = 1};
  instruction->attrs = place;
  instruction->attr_count = 1;
  return true;
}
static bool whole_parameter(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_parameter *parameter = cut_parameter(rank);
  return parameter && (parameter->tensor.cut = parameter->tensor.run_count = 0, true);
}
static bool whole_state(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_parameter *parameter = cut_parameter(rank);
  return parameter &&
         (rank->states[parameter->state_begin].cut = rank->states[parameter->state_begin].run_count = 0, true);
}
static bool longer_run(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_parameter *parameter = cut_parameter(rank);
  return parameter && (parameter->tensor.runs[0] += 2);
}
static bool other_dimension(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_parameter *parameter = cut_parameter(rank);
  return parameter && ++parameter->tensor.cut;
}
static bool other_home(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = instruction_of(rank, "all_reduce");
  return sum &&
         (sum->scratch_offset = sum->outputs[0].base ? rank->regions[ZB_REGION_SLOTS].offset : sum->outputs[0].offset,
          true);
}

/* An instruction of CLIP, which sums the numbers of parameters that are cut, and has that of one that is whole. */
static zb_plan_instruction *clipping(zb_plan_rank *rank, const char *op) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; rank->subprograms[s].kind == ZB_JOB_CLIP && i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, op) == 0) return &rank->subprograms[s].instructions[i];
  return NULL;
}
static bool own_numbers(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *sum = clipping(rank, "all_reduce");
  if (!sum) return false;
  sum->op = "contiguous";
  sum->attr_count = 0;
  return plan->shard_sums[2 * rank->rank]-- > 0;
}
static bool greatest_number(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_attr *reduction = attr_of(clipping(rank, "all_reduce"), "reduction");
  return reduction && (reduction->s = "max");
}
static bool other_numbers(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = clipping(rank, "all_reduce");
  return sum && (sum->inputs[0].offset += sizeof(double));
}
static bool unsummed_numbers(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *concat = clipping(rank, "concat"), *sum = clipping(rank, "all_reduce");
  return concat && (concat->inputs[0] = sum->inputs[0], true);
}
static bool number_twice(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *concat = clipping(rank, "concat");
  return concat && (concat->inputs[1].offset -= sizeof(double));
}
static bool numbers_exchanged(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *concat = clipping(rank, "concat");
  if (!concat) return false;
  const zb_plan_operand first = concat->inputs[0];
  concat->inputs[0] = concat->inputs[1];
  concat->inputs[1] = first;
  return true; /* another order than on the other rank */
}
static bool numbers_summed_twice(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *concat = clipping(rank, "concat"), *sum = clipping(rank, "all_reduce");
  if (!concat) return false;
  concat->op = "all_reduce";
  concat->attrs = sum->attrs;
  concat->attr_count = sum->attr_count;
  return ++plan->shard_sums[2 * rank->rank] > 0;
}
static bool numbers_multiplied(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *concat = clipping(rank, "concat");
  return concat && (concat->op = "mul");
}

/* rule: which finds it; NULL: any. */
static const struct {
  const char *name;
  bool (*plant)(zb_plan *plan, zb_plan_rank *rank);
  int ranks; /* on how many it can be planted */
  const char *rule;
} faults[] = {
    {"a plan of no shards", no_shards, 2, NULL},
    {"more shards than parts", more_shards, 2, NULL},
    {"more sums than jobs make", more_sums, 2, NULL},
    {"fewer sums than jobs make", fewer_sums, 2, NULL},
    {"a sum of other shards", other_members, 2, NULL},
    {"another reduction", other_reduction, 2, NULL},
    {"too little room for what comes", no_room, 2, NULL},
    {"a sum of another type", other_type, 2, NULL},
    {"what comes lies over the sum", other_home, 2, NULL},
    {"the number of one shard", one_coordinate, 2, NULL},
    {"a parameter that is whole", whole_parameter, 2, NULL},
    {"a state that is whole", whole_state, 2, NULL},
    {"a run that is longer than the parts", longer_run, 2, NULL},
    {"another dimension", other_dimension, 2, NULL},
    {"numbers of parts that are not summed", own_numbers, 2, "norms"},
    {"the greatest of the numbers of parts", greatest_number, 2, "norms"},
    {"the number of what is whole summed", other_numbers, 2, "norms"},
    {"numbers of parts beside their sum", unsummed_numbers, 2, "norms"},
    {"the number of a part without its sum", number_twice, 2, "norms"},
    {"numbers in another order", numbers_exchanged, 2, "norms"},
    {"numbers summed twice", numbers_summed_twice, 2, NULL},
    {"numbers multiplied", numbers_multiplied, 2, NULL},
};

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
    int planted = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
      zb_plan *plan = read_plan();
      if (faults[f].plant(plan, &plan->ranks[rank])) {
        ++planted;
        zb_status status = zb_plan_verify(plan);
        if (zb_status_code(status) != ZB_INVALID)
          fprintf(stderr, "\n  %s on rank %d is not noticed\n", faults[f].name, rank);
        CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
        if (faults[f].rule && !strstr(zb_status_text(status), faults[f].rule))
          fprintf(stderr, "\n  %s on rank %d: %s\n", faults[f].name, rank, zb_status_text(status));
        CU_ASSERT(!faults[f].rule || strstr(zb_status_text(status), faults[f].rule));
        zb_status_free(status);
      }
      zb_plan_destroy(plan);
    }
    if (planted != faults[f].ranks) fprintf(stderr, "\n  %s was planted on %d ranks\n", faults[f].name, planted);
    CU_ASSERT_EQUAL(planted, faults[f].ranks);
  }
}

SUITE_MAIN_WITH("shards", open_suite, compiled_plan_close, {"right plan", test_right_plan}, {"times", test_times},
                {"parts of the plan", test_parts_of_plan}, {"parts", test_parts},
                {"planted faults", test_planted_faults})
