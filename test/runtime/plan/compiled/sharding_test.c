/* Plans of replicas that share optimizer state, as zbc makes them: the proof accepts them with any number of replicas,
 * and refuses planted faults by which an element would be updated twice or not at all, from another sum, or be read
 * before it has come. As the plan of all replicas every element has one that updates it. What they train is
 * test/e2e/sharding.py. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/base/memory.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/runtime/plan/compiled/plan_sums.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 5, MICRO_BATCHES = 3 };

/* A tied parameter on both ranks, copies of parameters in bf16, and dimensions that five does not divide. */
static int open_suite(void) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = MICRO_BATCHES,
                                                                      .data_parallel = REPLICAS,
                                                                      .precision = "bf16",
                                                                      .bucket_bytes = 512,
                                                                      .sharding = "optimizer"});
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

/* ---- Right plans ---- */

static uint64_t part_of(const zb_plan_parameter *parameter) {
  return zb_plan_part_bytes(&parameter->tensor.shape, REPLICAS);
}

/* The replicas of a rank write, each, one part of the parameter, and no two the same. */
static void check_updates(const zb_plan *all, int rank_in_replica, const zb_plan_parameter *parameter) {
  int writers[REPLICAS] = {0};
  for (int c = 0; c < REPLICAS; ++c) {
    const zb_plan_rank *rank = &all->ranks[rank_in_replica * REPLICAS + c];
    for (int s = 0; s < rank->subprogram_count; ++s)
      for (int i = 0; rank->subprograms[s].kind == ZB_JOB_UPDATE && i < rank->subprograms[s].instruction_count; ++i) {
        const zb_plan_operand *out = &rank->subprograms[s].instructions[i].outputs[0];
        if (out->base || out->offset < parameter->tensor.offset ||
            out->offset >= parameter->tensor.offset + REPLICAS * part_of(parameter))
          continue;
        CU_ASSERT_EQUAL((uint64_t)zb_operand_extent(out), part_of(parameter));
        CU_ASSERT_EQUAL(out->offset, parameter->tensor.offset + (uint64_t)c * part_of(parameter));
        ++writers[c];
      }
  }
  for (int c = 0; c < REPLICAS; ++c)
    CU_ASSERT_EQUAL(writers[c], 1);
}

static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *all = NULL;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT_EQUAL(plan->sharding, ZB_SHARDING_OPTIMIZER);
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_replicate(plan, 0, &all));
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    uint64_t parts = 0;
    for (int i = 0; i < rank->parameter_count; ++i) {
      if (!rank->parameters[i].trained) continue;
      parts += part_of(&rank->parameters[i]);
      check_updates(all, r, &rank->parameters[i]);
    }
    CU_ASSERT_EQUAL(rank->regions[ZB_REGION_STATE].bytes, 2 * parts);
    CU_ASSERT_EQUAL(rank->regions[ZB_REGION_PARAMETERS].bytes, REPLICAS * parts);
    CU_ASSERT(zb_plan_find_job(rank, ZB_JOB_RENEW) > zb_plan_find_job(rank, ZB_JOB_UPDATE));
    CU_ASSERT(zb_plan_find_job(rank, ZB_JOB_UPDATE) > 0);
  }
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

static void test_flat_parts(void) {
  int64_t dims[] = {3, 7}; /* 21 elements: parts of 16 */
  const zb_plan_tensor tensor = {.shape = {ZB_F32, 1, {16}}, .flat = true, .dims = dims, .dim_count = 2};
  const zb_shape whole = zb_plan_whole_shape(&tensor);
  int32_t numbers[21], back[21] = {0}, part[16];
  CU_ASSERT_EQUAL(zb_shape_elements(&whole), 21);
  CU_ASSERT_EQUAL(zb_plan_part_bytes(&whole, 2), 64);
  for (int32_t i = 0; i < 21; ++i)
    numbers[i] = i + 1;
  for (int c = 0; c < 3; ++c) { /* the third has padding alone */
    zb_plan_copy_part(&tensor, (zb_plan_place){1, 0, c}, 4, ZB_WHOLE_TO_PART, numbers, part);
    for (int32_t i = 0; i < 16; ++i)
      CU_ASSERT_EQUAL(part[i], 16 * c + i < 21 ? 16 * c + i + 1 : 0);
    zb_plan_copy_part(&tensor, (zb_plan_place){1, 0, c}, 4, ZB_PART_TO_WHOLE, part, back);
  }
  CU_ASSERT_EQUAL(memcmp(numbers, back, sizeof numbers), 0);
}

/* ---- Planted faults ---- */

static int job_with(const zb_plan *plan, const zb_plan_rank *rank, zb_payload payload, bool adds) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_collective *collective =
        rank->jobs[i].collective ? &plan->collectives[rank->jobs[i].collective - 1] : NULL;
    if (collective && collective->payload == payload && zb_collective_adds(collective->kind) == adds) return i;
  }
  return -1;
}

static zb_plan_instruction *update_of(zb_plan_rank *rank, zb_plan_subprogram **out) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; rank->subprograms[s].kind == ZB_JOB_UPDATE && i < rank->subprograms[s].instruction_count; ++i)
      if (rank->subprograms[s].instructions[i].output_count == 3) {
        if (out) *out = &rank->subprograms[s];
        return &rank->subprograms[s].instructions[i];
      }
  return NULL;
}

static void shares_nothing(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_NONE;
}
static void more_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  ++plan->replicas;
}
static void fewer_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  --plan->replicas;
}
static void two_replicas_less(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->replicas -= 3; /* as few as have parts of two thirds */
}
static void shorter_update(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *update = update_of(rank, NULL);
  (void)plan;
  for (int k = 0; k < 4; ++k)
    --update->inputs[k].shape[0];
  for (int k = 0; k < 3; ++k)
    --update->outputs[k].shape[0];
}
static void longer_update(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *update = update_of(rank, NULL);
  (void)plan;
  for (int k = 0; k < 4; ++k)
    update->inputs[k].shape[0] += 16;
  for (int k = 0; k < 3; ++k)
    update->outputs[k].shape[0] += 16;
}
static void second_part(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *update = update_of(rank, NULL);
  (void)plan;
  update->inputs[0].offset += 64;
  update->outputs[0].offset += 64;
}
static void sum_of_another_part(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  update_of(rank, NULL)->inputs[1].offset += 64;
}
static void updated_twice(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_subprogram *subprogram = NULL;
  const zb_plan_instruction *update = update_of(rank, &subprogram);
  zb_plan_instruction *more = zb_plan_alloc(plan, ((size_t)subprogram->instruction_count + 1) * sizeof *more);
  memcpy(more, subprogram->instructions, (size_t)subprogram->instruction_count * sizeof *more);
  more[subprogram->instruction_count++] = *update;
  subprogram->instructions = more;
}
static void not_updated(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_subprogram *subprogram = NULL;
  zb_plan_instruction *update = update_of(rank, &subprogram);
  (void)plan;
  *update = subprogram->instructions[--subprogram->instruction_count];
}
static void not_gathered(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *gather = &rank->jobs[job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false)];
  rank->pool_ranges[gather->parts.begin].offset += 64;
}
static void gathered_twice(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *gather = &rank->jobs[job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false)];
  zb_plan_range *parts = rank->pool_ranges + gather->parts.begin;
  uint64_t *sizes = plan->pool_u64 + plan->collectives[gather->collective - 1].sizes.begin;
  parts[1] = parts[0];
  sizes[1] = sizes[0];
}
static void half_gathered(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *gather = &rank->jobs[job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false)];
  uint64_t *size = plan->pool_u64 + plan->collectives[gather->collective - 1].sizes.begin;
  rank->pool_ranges[gather->parts.begin].bytes = *size = *size / 2;
}
static void gathered_as_a_whole(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false)].collective - 1].of_parts = 0;
}
static void gathered_as_gradients(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false)].collective - 1].payload =
      ZB_PAYLOAD_GRADIENTS;
}
static void gathered_too_soon(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false);
  plan_sums_swap(rank, gather, gather - 1);
}
static void renewed_too_soon(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = job_with(plan, rank, ZB_PAYLOAD_PARAMETERS, false);
  rank->jobs[gather + 1].waits.count = 0;
  plan_sums_swap(rank, gather, gather + 1);
}
static void renewed_without_waiting(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->jobs[zb_plan_find_job(rank, ZB_JOB_RENEW)].waits.count = 0;
}
static void never_renewed(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_subprogram *renew = &rank->subprograms[rank->jobs[zb_plan_find_job(rank, ZB_JOB_RENEW)].subprogram];
  (void)plan;
  --renew->instruction_count;
}
static void sum_without_waiting(zb_plan *plan, zb_plan_rank *rank) {
  const int sum = job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, true);
  for (int i = 0; i < rank->job_count; ++i)
    for (uint32_t w = 0; w < rank->jobs[i].waits.count; ++w)
      if (rank->pool_u32[rank->jobs[i].waits.begin + w] == (uint32_t)sum) rank->jobs[i].waits.count = 0;
}
static void sum_of_whole_buffers(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, true)].collective - 1].of_parts = 0;
}
static void smaller_parts_of_a_sum(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *sum = &rank->jobs[job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, true)];
  plan->pool_u64[plan->collectives[sum->collective - 1].sizes.begin] -= 4;
  rank->pool_ranges[sum->parts.begin].bytes -= 4;
}
static void larger_parts_of_a_sum(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *sum = &rank->jobs[job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, true)];
  plan->pool_u64[plan->collectives[sum->collective - 1].sizes.begin] += 64;
  rank->pool_ranges[sum->parts.begin].bytes += 64;
}
static void tied_sum_of_whole_buffers(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, false)].collective - 1].of_parts = 0;
}
static void tied_sum_before_it_is_added(zb_plan *plan, zb_plan_rank *rank) {
  rank->jobs[job_with(plan, rank, ZB_PAYLOAD_GRADIENTS, false)].waits.count = 0;
}
static void whole_state(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->states[0].flat = false;
  rank->states[0].dim_count = 0;
}
static void state_of_another_shape(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  --rank->states[0].dims[0];
}
static void parameter_in_parts_of_another(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_parameter *last = &rank->parameters[rank->parameter_count - 1];
  (void)plan;
  *last = rank->parameters[0];
  last->tensor.name = "another";
  last->tensor.offset += REPLICAS * part_of(&rank->parameters[0]) - 64;
  last->trained = false;
  last->gradient_offset = -1;
  last->state_count = 0;
}

#define FAULT(name) {#name, name}
static const struct {
  const char *name;
  void (*plant)(zb_plan *plan, zb_plan_rank *rank);
} faults[] = {FAULT(shares_nothing),
              FAULT(more_replicas),
              FAULT(fewer_replicas),
              FAULT(two_replicas_less),
              FAULT(shorter_update),
              FAULT(longer_update),
              FAULT(second_part),
              FAULT(sum_of_another_part),
              FAULT(updated_twice),
              FAULT(not_updated),
              FAULT(not_gathered),
              FAULT(gathered_twice),
              FAULT(half_gathered),
              FAULT(gathered_as_a_whole),
              FAULT(gathered_as_gradients),
              FAULT(gathered_too_soon),
              FAULT(renewed_too_soon),
              FAULT(renewed_without_waiting),
              FAULT(never_renewed),
              FAULT(sum_without_waiting),
              FAULT(sum_of_whole_buffers),
              FAULT(smaller_parts_of_a_sum),
              FAULT(larger_parts_of_a_sum),
              FAULT(tied_sum_of_whole_buffers),
              FAULT(tied_sum_before_it_is_added),
              FAULT(whole_state),
              FAULT(state_of_another_shape),
              FAULT(parameter_in_parts_of_another)};

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f)
    for (int rank = 0; rank < RANKS; ++rank) {
      zb_plan *plan = read_plan();
      faults[f].plant(plan, &plan->ranks[rank]);
      zb_status status = zb_plan_verify(plan);
      if (zb_status_code(status) != ZB_INVALID)
        fprintf(stderr, "\n  %s on rank %d is not noticed: %s\n", faults[f].name, rank, zb_status_text(status));
      CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

/* ---- Every number of the updates and of what is gathered, changed alone ---- */

static bool is_refused(const zb_plan *plan) {
  zb_status status = zb_plan_verify(plan);
  const bool refused = status != NULL;
  zb_status_free(status);
  return refused;
}

static void change_operand(const zb_plan *plan, zb_plan_operand *operand, const char *what) {
  for (int change = -64; change <= 64; change += 128) {
    if (operand->rank < 0 || operand->base != 0) continue;
    operand->offset += (uint64_t)(int64_t)change;
    if (!is_refused(plan))
      fprintf(stderr, "\n  %s at %llu: an offset %+d is not noticed\n", what, (unsigned long long)operand->offset,
              change);
    CU_ASSERT(is_refused(plan));
    operand->offset -= (uint64_t)(int64_t)change;
    if (operand->rank != 1) continue;
    operand->shape[0] += change / 16;
    if (!is_refused(plan)) fprintf(stderr, "\n  %s: %+d elements are not noticed\n", what, change / 16);
    CU_ASSERT(is_refused(plan));
    operand->shape[0] -= change / 16;
  }
}

static void test_numbers(void) {
  zb_plan *plan = read_plan();
  for (int r = 0; r < RANKS; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    for (int s = 0; s < rank->subprogram_count; ++s)
      for (int i = 0; rank->subprograms[s].kind == ZB_JOB_UPDATE && i < rank->subprograms[s].instruction_count; ++i) {
        zb_plan_instruction *instruction = &rank->subprograms[s].instructions[i];
        for (int k = 0; k < instruction->output_count; ++k)
          change_operand(plan, &instruction->outputs[k], "a result of UPDATE");
        for (int k = 0; k < instruction->input_count && k < 2; ++k)
          change_operand(plan, &instruction->inputs[k], "an operand of UPDATE");
      }
    for (int i = 0; i < rank->job_count; ++i)
      for (uint32_t p = 0; rank->jobs[i].collective && p < rank->jobs[i].parts.count; ++p) {
        zb_plan_range *part = &rank->pool_ranges[rank->jobs[i].parts.begin + p];
        const bool lands = zb_collective_adds(plan->collectives[rank->jobs[i].collective - 1].kind) &&
                           p + 1 == rank->jobs[i].parts.count;
        part->offset += 64;
        if (!is_refused(plan) && !lands) fprintf(stderr, "\n  rank %d, job %d, part %u: not noticed\n", r, i, p);
        CU_ASSERT(is_refused(plan) || lands);
        part->offset -= 64;
        part->bytes -= 4;
        CU_ASSERT(is_refused(plan));
        part->bytes += 4;
      }
  }
  CU_ASSERT(!is_refused(plan));
  zb_plan_destroy(plan);
}

SUITE_MAIN_WITH("sharding", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"flat parts", test_flat_parts}, {"planted faults", test_planted_faults},
                {"each number alone", test_numbers})
