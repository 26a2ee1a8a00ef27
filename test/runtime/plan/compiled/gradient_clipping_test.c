/* Plans that clip, of replicas that have a part of each gradient (zbc --clip-norm --sharding gradients:*,
 * parameters:*), as zbc makes them: the proof accepts them with any number of replicas, and refuses planted faults by
 * which a number of the norm would be of one part alone, of another part, of one twice, or not be there yet. What holds
 * of clipping with whole gradients is clipping_test.c; the numbers themselves are test/e2e/sharding.py. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/file/collective.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/plan_sums.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 5 };

/* A tied parameter on both ranks, and dimensions that five does not divide. */
static int open_plan(const char *sharding, const char *type) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = 3,
                                                                      .data_parallel = REPLICAS,
                                                                      .clip_norm = "0.5",
                                                                      .clip_norm_type = type,
                                                                      .bucket_bytes = 64,
                                                                      .sharding = sharding});
}

static int open_suite(void) { return open_plan("gradients:step", "2"); }

/* ---- Places of a plan ---- */

/* The job of a rank that moves norms: sums them over replicas, or gathers them. */
static zb_plan_job *norms_of(const zb_plan *plan, const zb_plan_rank *rank, bool adds) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_collective *collective =
        rank->jobs[i].collective ? &plan->collectives[rank->jobs[i].collective - 1] : NULL;
    if (collective && collective->payload == ZB_PAYLOAD_NORMS && zb_collective_adds(collective->kind) == adds)
      return &rank->jobs[i];
  }
  return NULL;
}

static zb_plan_collective *sum_of(zb_plan *plan, const zb_plan_rank *rank) {
  return &plan->collectives[norms_of(plan, rank, true)->collective - 1];
}

static zb_plan_instruction *square_of(const zb_plan_rank *rank) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; rank->subprograms[s].kind == ZB_JOB_NORM && i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, "square_sum") == 0)
        return &rank->subprograms[s].instructions[i];
  return NULL;
}

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

/* ---- Right plans ---- */

static void check_right(int greatest) {
  zb_plan *plan = plan_sums_read();
  zb_plan_simulation simulation;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_collective *sum = sum_of(plan, &plan->ranks[r]);
    CU_ASSERT_EQUAL(sum->kind, ZB_COLLECTIVE_ALL_REDUCE);
    CU_ASSERT_EQUAL(sum->greatest, greatest);
    CU_ASSERT(norms_of(plan, &plan->ranks[r], true) < norms_of(plan, &plan->ranks[r], false));
  }
  CU_ASSERT_FATAL(succeeds(zb_plan_simulate(plan, &simulation)));
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(plan);
}

static void test_right_plans(void) {
  static const char *const levels[] = {"parameters:step", "parameters:micro-batch", "gradients:micro-batch",
                                       "gradients:step"};
  check_right(0);
  for (int i = 0; i < 8; ++i) { /* the last is the one of the suite */
    CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
    CU_ASSERT_EQUAL_FATAL(open_plan(levels[i % 4], i < 4 ? "inf" : "2"), 0);
    check_right(i < 4);
  }
}

/* As the plan of all replicas: each part of each gradient is squared by one of them. */
static void test_parts(void) {
  zb_plan *plan = plan_sums_read(), *all = NULL;
  CU_ASSERT_FATAL(succeeds(zb_plan_replicate(plan, 0, &all)));
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_operand *first = &square_of(&all->ranks[r * REPLICAS])->inputs[0];
    for (int c = 0; c < REPLICAS; ++c) {
      const zb_plan_operand *part = &square_of(&all->ranks[r * REPLICAS + c])->inputs[0];
      CU_ASSERT_EQUAL(part->offset, first->offset + (uint64_t)c * (uint64_t)zb_operand_extent(first));
      CU_ASSERT_EQUAL(part->shape[0], first->shape[0]);
    }
  }
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* ---- Planted faults ---- */

/* A copy of an array in which element `at` stands twice. */
static void *doubled(zb_plan *plan, const void *from, int count, size_t bytes, int at) {
  char *copy = zb_plan_alloc(plan, ((size_t)count + 1) * bytes);
  memcpy(copy, from, ((size_t)at + 1) * bytes);
  memcpy(copy + ((size_t)at + 1) * bytes, (const char *)from + (size_t)at * bytes, (size_t)(count - at) * bytes);
  return copy;
}

static void number_of_the_second_part(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  square_of(rank)->inputs[0].offset += 64;
}
static void number_of_less_than_a_part(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  --square_of(rank)->inputs[0].shape[0];
}
static void number_of_more_than_a_part(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  square_of(rank)->inputs[0].shape[0] += 16;
}
static void greatest_of_squares(zb_plan *plan, zb_plan_rank *rank) { sum_of(plan, rank)->greatest = 1; }
static void summed_as_gradients(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_collective *sum = sum_of(plan, rank);
  sum->payload = ZB_PAYLOAD_GRADIENTS;
  sum->of_parts = 1;
}
static void summed_as_parts(zb_plan *plan, zb_plan_rank *rank) { sum_of(plan, rank)->of_parts = 1; }
static void summed_as_f32(zb_plan *plan, zb_plan_rank *rank) { sum_of(plan, rank)->dtype = ZB_F32; }
static void scattered(zb_plan *plan, zb_plan_rank *rank) { sum_of(plan, rank)->kind = ZB_COLLECTIVE_REDUCE_SCATTER; }
static void moved(zb_plan *plan, zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  const zb_plan_job *job = norms_of(plan, rank, true);
  rank->pool_ranges[job->parts.begin].offset += offset;
  rank->pool_ranges[job->parts.begin].bytes -= bytes;
  plan->pool_u64[sum_of(plan, rank)->sizes.begin] -= bytes;
}
static void sum_of_others(zb_plan *plan, zb_plan_rank *rank) { moved(plan, rank, 8, 0); }
static void sum_between_numbers(zb_plan *plan, zb_plan_rank *rank) { moved(plan, rank, (uint64_t)-4, 0); }
static void first_is_not_summed(zb_plan *plan, zb_plan_rank *rank) { moved(plan, rank, 8, 8); }
static void last_is_not_summed(zb_plan *plan, zb_plan_rank *rank) { moved(plan, rank, 0, 8); }
static void lands_in_the_numbers(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *job = norms_of(plan, rank, true);
  plan_sums_landing(plan, rank, (int)(job - rank->jobs))->offset = rank->pool_ranges[job->parts.begin].offset;
}
static void room_is_too_small(zb_plan *plan, zb_plan_rank *rank) {
  plan_sums_landing(plan, rank, (int)(norms_of(plan, rank, true) - rank->jobs))->bytes -= 64;
}
static void gathered_before_it_is_summed(zb_plan *plan, zb_plan_rank *rank) {
  norms_of(plan, rank, false)->waits.count = 0;
}
static void summed_before_it_is_made(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *sum = norms_of(plan, rank, true), *norm = sum;
  while (norm->kind != ZB_JOB_NORM)
    --norm;
  const zb_plan_job kept = *norm;
  *norm = *sum;
  *sum = kept;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    if (rank->pool_u32[i] == (uint32_t)(sum - rank->jobs)) rank->pool_u32[i] = (uint32_t)(norm - rank->jobs);
}
/* Once more, behind the first time: what waited for that waits for this. */
static void summed_twice(zb_plan *plan, zb_plan_rank *rank) {
  const int job = (int)(norms_of(plan, rank, true) - rank->jobs), collective = rank->jobs[job].collective - 1;
  plan->collectives = doubled(plan, plan->collectives, plan->collective_count++, sizeof *plan->collectives, collective);
  rank->jobs = doubled(plan, rank->jobs, rank->job_count++, sizeof *rank->jobs, job);
  rank->pool_u32 =
      doubled(plan, rank->pool_u32, (int)rank->pool_u32_count, sizeof *rank->pool_u32, (int)rank->pool_u32_count - 1);
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    rank->pool_u32[i] += rank->pool_u32[i] >= (uint32_t)job;
  rank->pool_u32[rank->pool_u32_count] = (uint32_t)job;
  rank->jobs[job + 1].waits = (zb_plan_slice){rank->pool_u32_count++, 1};
  for (int r = 0; r < RANKS; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i)
      if (plan->ranks[r].jobs[i].collective > collective + 1) ++plan->ranks[r].jobs[i].collective;
  ++rank->jobs[job + 1].collective;
}
/* Whole on each of them. */
static void summed_where_replicas_share_nothing(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_NONE;
}
static void whole_sums_level(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_OPTIMIZER;
}

static const plan_fault faults[] = {FAULT(number_of_the_second_part),
                                    FAULT(number_of_less_than_a_part),
                                    FAULT(number_of_more_than_a_part),
                                    FAULT(greatest_of_squares),
                                    FAULT(summed_as_gradients),
                                    FAULT(summed_as_parts),
                                    FAULT(summed_as_f32),
                                    FAULT(scattered),
                                    FAULT(sum_of_others),
                                    FAULT(sum_between_numbers),
                                    FAULT(first_is_not_summed),
                                    FAULT(last_is_not_summed),
                                    FAULT(lands_in_the_numbers),
                                    FAULT(room_is_too_small),
                                    FAULT(gathered_before_it_is_summed),
                                    FAULT(summed_before_it_is_made),
                                    FAULT(summed_twice),
                                    FAULT(whole_sums_level),
                                    FAULT(summed_where_replicas_share_nothing)};

static void test_planted_faults(void) { plan_sums_refuses(faults, sizeof faults / sizeof faults[0], RANKS); }

/* ---- A sum that must not be ---- */

/* Room of the pools for what a sum of norms adds. */
static void make_room(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives = doubled(plan, plan->collectives, plan->collective_count, sizeof *plan->collectives, 0);
  plan->pool_u64 = memcpy(zb_plan_alloc(plan, (plan->pool_u64_count + 2) * sizeof *plan->pool_u64), plan->pool_u64,
                          plan->pool_u64_count * sizeof *plan->pool_u64);
  rank->pool_u32 = memcpy(zb_plan_alloc(plan, (rank->pool_u32_count + 2) * sizeof *rank->pool_u32), rank->pool_u32,
                          rank->pool_u32_count * sizeof *rank->pool_u32);
  rank->pool_ranges = memcpy(zb_plan_alloc(plan, (rank->pool_range_count + 2) * sizeof *rank->pool_ranges),
                             rank->pool_ranges, rank->pool_range_count * sizeof *rank->pool_ranges);
}

/* Where CLIP has the numbers of the norm. */
static zb_plan_range numbers_of(const zb_plan_rank *rank, const zb_plan_job *clip) {
  const zb_plan_subprogram *subprogram = &rank->subprograms[clip->subprogram];
  uint32_t base = 0;
  while (strcmp(subprogram->bases[base], "norms") != 0)
    ++base;
  const int64_t count = subprogram->instructions[subprogram->instruction_count - 1].inputs[0].shape[0]; /* clip_scale */
  return (zb_plan_range){rank->pool_u64[clip->bases.begin + base], (uint64_t)count * sizeof(double)};
}

/* A sum over replicas of the numbers of a rank, between NORM and CLIP. */
static void sum_numbers(zb_plan *plan, zb_plan_rank *rank) {
  const int clip = zb_plan_find_job(rank, ZB_JOB_CLIP);
  const zb_plan_range numbers = numbers_of(rank, &rank->jobs[clip]), slots = rank->regions[ZB_REGION_SLOTS];
  const uint64_t landing = zb_landing_room(&numbers.bytes, 1, REPLICAS, ZB_F64);
  const uint32_t range = rank->pool_range_count, wait = rank->pool_u32_count;
  make_room(plan, rank);
  rank->jobs = doubled(plan, rank->jobs, rank->job_count++, sizeof *rank->jobs, clip);
  for (uint32_t i = 0; i < wait; ++i)
    rank->pool_u32[i] += rank->pool_u32[i] >= (uint32_t)clip;
  rank->pool_u32[rank->pool_u32_count++] = (uint32_t)clip;
  rank->pool_ranges[rank->pool_range_count++] = numbers;
  rank->pool_ranges[rank->pool_range_count++] = (zb_plan_range){slots.offset + slots.bytes - landing, landing};
  rank->jobs[clip] = (zb_plan_job){.kind = ZB_JOB_COLLECTIVE,
                                   .subprogram = -1,
                                   .stage = -1,
                                   .micro_batch = -1,
                                   .message = -1,
                                   .input = -1,
                                   .collective = plan->collective_count + 1,
                                   .parts = {range, 2}};
  rank->jobs[clip + 1].waits = (zb_plan_slice){wait, 1};
  plan->pool_u64[plan->pool_u64_count] = 0; /* the rank */
  plan->pool_u64[plan->pool_u64_count + 1] = numbers.bytes;
  plan->collectives[plan->collective_count++] =
      (zb_plan_collective){.kind = ZB_COLLECTIVE_ALL_REDUCE,
                           .payload = ZB_PAYLOAD_NORMS,
                           .dtype = ZB_F64,
                           .before = plan->message_count - plan->evaluation_messages,
                           .coordinate = 1,
                           .members = {plan->pool_u64_count, 1},
                           .sizes = {plan->pool_u64_count + 1, 1}};
  plan->pool_u64_count += 2;
}

/* Numbers of whole gradients are the same on all replicas, and count once. */
static void test_whole_gradients(void) {
  CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
  CU_ASSERT_EQUAL_FATAL(
      compiled_plan_open(
          "Inputs/shards.mlir",
          (zb_compile_params){.ranks = 1, .micro_batches = 3, .data_parallel = REPLICAS, .clip_norm = "0.5"}),
      0);
  zb_plan *plan = plan_sums_read();
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  sum_numbers(plan, &plan->ranks[0]);
  zb_status status = zb_plan_verify(plan);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  if (!strstr(zb_status_text(status), "counted once a replica")) fprintf(stderr, "\n  %s", zb_status_text(status));
  CU_ASSERT(strstr(zb_status_text(status), "counted once a replica") != NULL);
  zb_status_free(status);
  zb_plan_destroy(plan);
}

SUITE_MAIN_WITH("gradient clipping", open_suite, compiled_plan_close, {"right plans", test_right_plans},
                {"parts", test_parts}, {"planted faults", test_planted_faults},
                {"whole gradients", test_whole_gradients})
