/* Plans of replicas that share state, whose ranks have shards (zbc --data-parallel --tensor-parallel --sharding), as
 * zbc makes them: the proof accepts them; as the plan of the whole mesh every element of every parameter and state is
 * one rank's or a copy of it; and planted faults are refused by which shards would sum other parts, count numbers of
 * the norm twice or in another order, or load and save something else. What holds without shards is sharding_test.c and
 * gradient_clipping_test.c; what such plans train is test/e2e/mesh_sharding.py. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/plan_sums.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 3, SHARDS = 2 };

/* A tied parameter on both ranks, runs, padding of both kinds (33 rows, parts of 16), and a gradient that shards sum.
 */
static int open_plan(const char *sharding, bool late) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = 2,
                                                                      .data_parallel = REPLICAS,
                                                                      .tensor_parallel = SHARDS,
                                                                      .clip_norm = "0.5",
                                                                      .post_validation = late,
                                                                      .bucket_bytes = 64,
                                                                      .sharding = sharding});
}

static int open_suite(void) { return open_plan("gradients:step", true); }

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

/* ---- Parts of tensors ---- */

/* Element i of the whole tensor is i + 1; what nothing lies in is 0. */
static void check_parts(const zb_plan_tensor *tensor, int shards, int replicas, const int *wanted) {
  const zb_shape whole = zb_plan_whole_shape(tensor);
  const int64_t count = zb_shape_elements(&whole), part_count = zb_shape_elements(&tensor->shape);
  int32_t *numbers = zb_alloc((size_t)count * 4), *back = zb_alloc((size_t)count * 4),
          *part = zb_alloc((size_t)part_count * 4);
  for (int32_t i = 0; i < count; ++i)
    numbers[i] = i + 1;
  for (int c = 0; c < shards; ++c)
    for (int r = 0; r < replicas; ++r) {
      const zb_plan_place place = {shards, c, r};
      zb_plan_copy_part(tensor, place, 4, ZB_WHOLE_TO_PART, numbers, part);
      for (int64_t i = 0; i < part_count; ++i)
        CU_ASSERT_EQUAL(part[i], wanted[(c * replicas + r) * part_count + i]);
      zb_plan_copy_part(tensor, place, 4, ZB_PART_TO_WHOLE, part, back);
    }
  CU_ASSERT_EQUAL(memcmp(numbers, back, (size_t)count * 4), 0);
  zb_free(numbers);
  zb_free(back);
  zb_free(part);
}

static void test_parts(void) {
  int64_t runs[] = {2, 4}, own[] = {2, 3}, padded[] = {3}, rows[] = {2, 2};
  /* Two rows of six, in runs of two and four; a shard has 1, 3, 4 | 7, 9, 10, in parts of 4. */
  check_parts(
      &(zb_plan_tensor){
          .shape = {ZB_F32, 1, {4}}, .cut = 2, .runs = runs, .run_count = 2, .flat = true, .dims = own, .dim_count = 2},
      2, 2, (const int[]){1, 3, 4, 7, 9, 10, 0, 0, 2, 5, 6, 8, 11, 12, 0, 0});
  /* Three rows of two: the second shard has one, and padding. */
  check_parts(&(zb_plan_tensor){.shape = {ZB_F32, 1, {3}},
                                .cut = 1,
                                .runs = padded,
                                .run_count = 1,
                                .flat = true,
                                .dims = rows,
                                .dim_count = 2},
              2, 2, (const int[]){1, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0});
}

static void test_texts(void) {
  static const struct {
    const char *text;
    int rank, cut, runs, dims; /* cut -1: it is refused */
  } rows[] = {{"1:128,128;flat:8,64", 1, 2, 2, 2},
              {"0:33", 2, 1, 1, 0},
              {"flat:", 1, 0, 0, 0},
              {"flat:8,5", 1, 0, 0, 2},
              {"1:4", 1, -1, 0, 0},
              {"2:4;flat:8,5", 1, -1, 0, 0},
              {"0:4,", 2, -1, 0, 0},
              {"0:", 2, -1, 0, 0},
              {"0", 2, -1, 0, 0},
              {"0:4;", 2, -1, 0, 0},
              {"", 2, -1, 0, 0},
              {"0:4;flat", 2, -1, 0, 0},
              {"flat:8;0:4", 1, -1, 0, 0},
              {"x:4", 2, -1, 0, 0},
              {"0:4;flat:4,-1", 1, -1, 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    zb_plan *plan = zb_plan_create();
    zb_plan_tensor tensor = {.name = "w", .shape = {ZB_F32, rows[i].rank, {4, 4}}};
    zb_status status = zb_plan_set_cut(plan, &tensor, rows[i].text);
    if (!status != (rows[i].cut >= 0)) fprintf(stderr, "\n  \"%s\": %s\n", rows[i].text, zb_status_text(status));
    CU_ASSERT_EQUAL(!status, rows[i].cut >= 0);
    if (!status) CU_ASSERT_EQUAL(tensor.cut, rows[i].cut);
    if (!status) CU_ASSERT_EQUAL(tensor.run_count, rows[i].runs);
    if (!status) CU_ASSERT_EQUAL(tensor.dim_count, rows[i].dims);
    if (!status) CU_ASSERT_EQUAL(tensor.flat, strstr(rows[i].text, "flat") != NULL);
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
}

/* ---- Right plans ---- */

/* Adds 1 to every element of the tensor of which the rank has the part, or, whole, all of it. */
static void count_part(const zb_plan *all, int rank, const zb_plan_tensor *tensor, float *counts) {
  const zb_shape whole = zb_plan_whole_shape(tensor);
  const int64_t elements = zb_shape_elements(&whole), own = zb_shape_elements(&tensor->shape);
  float *part = zb_alloc((size_t)own * 4 + 4), *here = zb_alloc((size_t)elements * 4 + 4);
  for (int64_t i = 0; i < own; ++i)
    part[i] = 1;
  if (zb_plan_in_parts(tensor)) zb_plan_copy_part(tensor, zb_plan_place_of(all, rank), 4, ZB_PART_TO_WHOLE, part, here);
  for (int64_t i = 0; i < elements; ++i)
    counts[i] += zb_plan_in_parts(tensor) ? here[i] : 1;
  zb_free(part);
  zb_free(here);
}

/* Of the ranks of a plan rank: each element is on as many as have the same part of it. saved: those that save it. */
static void check_tensor(const zb_plan *all, int r, int index, int state, bool saved) {
  float *counts = NULL;
  int64_t elements = 0;
  int copies = 1;
  for (int k = 0; k < REPLICAS * SHARDS; ++k) {
    const int rank = r * REPLICAS * SHARDS + k;
    const zb_plan_parameter *parameter = &all->ranks[rank].parameters[index];
    const zb_plan_tensor *tensor =
        state < 0 ? &parameter->tensor : &all->ranks[rank].states[parameter->state_begin + state];
    const zb_shape whole = zb_plan_whole_shape(tensor);
    elements = zb_shape_elements(&whole);
    if (!counts) counts = zb_alloc((size_t)elements * 4 + 4);
    copies = saved ? 1 : (tensor->flat ? 1 : REPLICAS) * (tensor->cut ? 1 : SHARDS);
    const bool saves = zb_plan_in_parts(tensor)
                           ? parameter->derived.owns_part && zb_plan_saves_part(tensor, zb_plan_place_of(all, rank))
                           : parameter->owner;
    if (!saved || saves) count_part(all, rank, tensor, counts);
  }
  for (int64_t i = 0; i < elements; ++i)
    CU_ASSERT_EQUAL(counts[i], copies);
  zb_free(counts);
}

/* A rank has 1/D of what its shard has of each state, and padding; of the mesh every element once. */
static void check_mesh(const zb_plan *plan, const zb_plan *all) {
  for (int r = 0; r < RANKS; ++r) {
    uint64_t parts = 0;
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &plan->ranks[r].parameters[i];
      const zb_shape of_shard = zb_plan_shape_of_replicas(&parameter->tensor);
      parts += zb_plan_part_bytes(&of_shard, REPLICAS);
      for (int state = -1; state < parameter->state_count; ++state) {
        check_tensor(all, r, i, state, false);
        if (parameter->owner) check_tensor(all, r, i, state, true);
      }
    }
    CU_ASSERT_EQUAL(plan->ranks[r].regions[ZB_REGION_STATE].bytes, 2 * parts);
    CU_ASSERT_EQUAL(plan->ranks[r].regions[ZB_REGION_PARAMETERS].bytes,
                    (zb_sharding_of_parameters(plan->sharding) ? 1 : REPLICAS) * parts);
  }
}

static void check_right(void) {
  zb_plan *plan = plan_sums_read(), *all = NULL, *expanded = NULL, *view = NULL;
  zb_plan_simulation simulation;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT_FATAL(succeeds(zb_plan_replicate(plan, 0, &all)));
  CU_ASSERT_FATAL(succeeds(zb_plan_unfold_own(&all)));
  CU_ASSERT_EQUAL_FATAL(all->rank_count, RANKS * REPLICAS * SHARDS);
  check_mesh(plan, all);
  CU_ASSERT_FATAL(succeeds(zb_plan_expand(all, &expanded)));
  CU_ASSERT_FATAL(succeeds(zb_plan_view(expanded, ZB_LIST_STEP, &view)));
  CU_ASSERT_FATAL(succeeds(zb_plan_simulate(view, &simulation))); /* they come to their end */
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(view);
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

static void test_right_plans(void) {
  static const char *const levels[] = {"optimizer",     "gradients:micro-batch",  "parameters:step",
                                       "optimizer",     "parameters:micro-batch", "gradients:micro-batch",
                                       "gradients:step"};
  check_right();
  for (int i = 0; i < 7; ++i) { /* the last is the one of the suite */
    CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
    CU_ASSERT_EQUAL_FATAL(open_plan(levels[i], i >= 5 || i == 3), 0);
    check_right();
  }
}

/* ---- Planted faults ---- */

static zb_plan_parameter *cut_parameter(zb_plan_rank *rank) {
  int i = 0;
  while (!rank->parameters[i].tensor.cut || !rank->parameters[i].state_count)
    ++i;
  return &rank->parameters[i];
}
static zb_plan_tensor *cut_state(zb_plan_rank *rank) { return &rank->states[cut_parameter(rank)->state_begin]; }

/* The first instruction of that op in a subprogram of that kind. */
static zb_plan_instruction *instruction_in(zb_plan_rank *rank, zb_job_kind kind, const char *op, int *job) {
  for (*job = rank->load_count; *job < rank->job_count; ++*job) {
    if (rank->jobs[*job].kind != kind) continue;
    const zb_plan_subprogram *subprogram = &rank->subprograms[rank->jobs[*job].subprogram];
    for (int i = 0; i < subprogram->instruction_count; ++i)
      if (strcmp(subprogram->instructions[i].op, op) == 0) return &subprogram->instructions[i];
  }
  return NULL;
}

/* Where shards of a rank sum numbers of the norm, before it is known whether the step was clipped. */
static zb_plan_instruction *sum_of_numbers(zb_plan_rank *rank, int *job) {
  for (*job = 0; *job < rank->job_count; ++*job) {
    const zb_plan_subprogram *subprogram =
        rank->jobs[*job].kind == ZB_JOB_NORM ? &rank->subprograms[rank->jobs[*job].subprogram] : NULL;
    for (int i = 0; subprogram && i < subprogram->instruction_count; ++i)
      if (strcmp(subprogram->instructions[i].op, "all_reduce") == 0 &&
          subprogram->instructions[i].outputs[0].dtype == ZB_F64)
        return &subprogram->instructions[i];
  }
  return NULL;
}

/* The gradient of a norm's scale, of which each shard has an addend: on the rank that has it. */
static zb_plan_instruction *sum_of_gradient(zb_plan_rank *rank) {
  int job;
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; zb_job_is_optimizer(rank->subprograms[s].kind) && i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, "all_reduce") == 0 &&
          rank->subprograms[s].instructions[i].outputs[0].dtype == ZB_F32)
        return &rank->subprograms[s].instructions[i];
  return instruction_in(rank, ZB_JOB_UPDATE, "adamw", &job); /* there is none: another fault of the same kind */
}

static int job_of_norms(const zb_plan *plan, const zb_plan_rank *rank, bool adds) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_collective *collective =
        rank->jobs[i].collective ? &plan->collectives[rank->jobs[i].collective - 1] : NULL;
    if (collective && collective->payload == ZB_PAYLOAD_NORMS && zb_collective_adds(collective->kind) == adds) return i;
  }
  return -1;
}

static void no_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->shards = 1;
}
static void more_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  ++plan->shards;
}
static void more_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  ++plan->replicas;
}
static void no_sharing(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_NONE;
}
static void parameter_whole_on_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_tensor *tensor = &cut_parameter(rank)->tensor;
  tensor->cut = tensor->run_count = 0;
}
static void state_whole_on_shards(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  cut_state(rank)->cut = cut_state(rank)->run_count = 0;
}
static void state_whole_on_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  cut_state(rank)->flat = false;
  cut_state(rank)->dim_count = 0;
}
static void state_in_parts_of_the_whole(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_tensor *state = cut_state(rank);
  const zb_shape whole = zb_plan_whole_shape(state);
  memcpy(state->dims, whole.dims, (size_t)whole.rank * sizeof *state->dims);
}
static void state_of_another_run(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  cut_state(rank)->runs[0] += 1;
}
static void state_cut_along_another_dimension(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_tensor *state = cut_state(rank);
  state->cut = state->cut == 1 ? 2 : 1;
}
static void state_of_another_shape(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  ++cut_state(rank)->dims[0];
}
static void parameter_is_a_part(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_tensor *tensor = &cut_parameter(rank)->tensor;
  tensor->dims = tensor->shape.dims;
  tensor->dim_count = tensor->shape.rank;
  tensor->flat = true;
}
static void less_than_a_part_is_summed(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = sum_of_gradient(rank);
  --sum->inputs[0].shape[0];
  --sum->outputs[0].shape[0];
}
static void another_part_is_summed(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_instruction *sum = sum_of_gradient(rank);
  const uint64_t bytes = (uint64_t)zb_operand_extent(&sum->inputs[sum->input_count > 1 ? 1 : 0]);
  sum->inputs[sum->input_count > 1 ? 1 : 0].offset += bytes;
}
/* The two jobs in the other order, and the gather behind them waits for the second one. */
static void shards_sum_before_replicas(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  sum_of_numbers(rank, &job);
  const int sum = job_of_norms(plan, rank, true);
  const zb_plan_job kept = rank->jobs[job];
  rank->jobs[job] = rank->jobs[sum];
  rank->jobs[sum] = kept;
  rank->jobs[sum].waits.count = 0;
  rank->pool_u32[kept.waits.begin] = (uint32_t)job;
  rank->jobs[job_of_norms(plan, rank, false)].waits = kept.waits;
}
static void numbers_before_they_are_summed(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  (void)plan;
  sum_of_numbers(rank, &job);
  rank->jobs[job].waits.count = 0;
}
static void numbers_of_one_shard(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  zb_plan_instruction *sum = sum_of_numbers(rank, &job);
  sum->op = "contiguous";
  sum->attr_count = 0;
  sum->scratch_bytes = 0;
  --plan->shard_sums[2 * rank->rank];
}
static void numbers_without_the_first(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  (void)plan;
  zb_plan_instruction *sum = sum_of_numbers(rank, &job);
  sum->inputs[0].offset += sizeof(double);
  sum->outputs[0].offset += sizeof(double);
  --sum->inputs[0].shape[0];
  --sum->outputs[0].shape[0];
}
static void greatest_number(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  (void)plan;
  zb_plan_instruction *sum = sum_of_numbers(rank, &job);
  for (int i = 0; i < sum->attr_count; ++i)
    if (strcmp(sum->attrs[i].name, "reduction") == 0) sum->attrs[i].s = "max";
}
static void no_room_for_numbers(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  (void)plan;
  --sum_of_numbers(rank, &job)->scratch_bytes;
}
static void square_of_the_second_part(zb_plan *plan, zb_plan_rank *rank) {
  int job;
  (void)plan;
  zb_plan_operand *gradient = &instruction_in(rank, ZB_JOB_NORM, "square_sum", &job)->inputs[0];
  gradient->offset += (uint64_t)zb_operand_extent(gradient);
}
static void larger_gather(zb_plan *plan, zb_plan_rank *rank) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].collective && plan->collectives[rank->jobs[i].collective - 1].payload == ZB_PAYLOAD_PARAMETERS) {
      plan->pool_u64[plan->collectives[rank->jobs[i].collective - 1].sizes.begin] += 64;
      rank->pool_ranges[rank->jobs[i].parts.begin].bytes += 64;
      return;
    }
}

static const plan_fault faults[] = {FAULT(no_shards),
                                    FAULT(more_shards),
                                    FAULT(more_replicas),
                                    FAULT(no_sharing),
                                    FAULT(parameter_whole_on_shards),
                                    FAULT(state_whole_on_shards),
                                    FAULT(state_whole_on_replicas),
                                    FAULT(state_in_parts_of_the_whole),
                                    FAULT(state_of_another_run),
                                    FAULT(state_cut_along_another_dimension),
                                    FAULT(state_of_another_shape),
                                    FAULT(parameter_is_a_part),
                                    FAULT(less_than_a_part_is_summed),
                                    FAULT(another_part_is_summed),
                                    FAULT(larger_gather)};

/* The other rank has no numbers of parts of its own. */
static const plan_fault faults_of_numbers[] = {FAULT(shards_sum_before_replicas),
                                               FAULT(numbers_before_they_are_summed),
                                               FAULT(numbers_of_one_shard),
                                               FAULT(numbers_without_the_first),
                                               FAULT(greatest_number),
                                               FAULT(no_room_for_numbers),
                                               FAULT(square_of_the_second_part)};

static void test_planted_faults(void) {
  plan_sums_refuses(faults, sizeof faults / sizeof faults[0], RANKS);
  plan_sums_refuses(faults_of_numbers, sizeof faults_of_numbers / sizeof faults_of_numbers[0], 1);
}

/* ---- Of parameters ---- */

static void part_of_another_shape(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  ++cut_parameter(rank)->tensor.dims[0];
}
static void part_of_a_whole_shard(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  cut_parameter(rank)->tensor.flat = false;
  cut_parameter(rank)->tensor.dim_count = 0;
}

static const plan_fault faults_of_parameters[] = {
    FAULT(parameter_whole_on_shards), FAULT(state_whole_on_shards), FAULT(part_of_another_shape),
    FAULT(part_of_a_whole_shard),     FAULT(more_shards),           FAULT(more_replicas)};

static void test_parameters(void) {
  CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
  CU_ASSERT_EQUAL_FATAL(open_plan("parameters:step", false), 0);
  plan_sums_refuses(faults_of_parameters, sizeof faults_of_parameters / sizeof faults_of_parameters[0], RANKS);
}

SUITE_MAIN_WITH("sharding of a mesh", open_suite, compiled_plan_close, {"parts", test_parts}, {"texts", test_texts},
                {"right plans", test_right_plans}, {"planted faults", test_planted_faults},
                {"parts of parameters", test_parameters})
