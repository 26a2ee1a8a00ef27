/* Plans of replicas that sum the gradients of each micro-batch into parts (zbc --sharding gradients:micro-batch), as
 * zbc makes them: the proof accepts them with any number of replicas, and refuses planted faults by which a gradient
 * would be lost, counted twice, added to another one's sum, or overwritten before all of it is sent. What they train is
 * test/e2e/sharding.py. */
#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 4, MICRO_BATCHES = 3 };

/* A tied parameter on both ranks, many buckets, and dimensions that four does not divide. */
static int open_suite(void) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = MICRO_BATCHES,
                                                                      .data_parallel = REPLICAS,
                                                                      .precision = "bf16",
                                                                      .bucket_bytes = 64,
                                                                      .sharding = "gradients:micro-batch"});
}

static zb_plan_collective *sum_at(zb_plan *plan, const zb_plan_rank *rank, int job) {
  return &plan->collectives[rank->jobs[job].collective - 1];
}

/* What buffer `number` of a sum is, and what it is added to. */
static zb_plan_range *buffer_at(zb_plan_rank *rank, int job, uint32_t number) {
  return &rank->pool_ranges[rank->jobs[job].parts.begin + number];
}
static zb_plan_range *part_at(zb_plan *plan, zb_plan_rank *rank, int job, uint32_t number) {
  return buffer_at(rank, job, sum_at(plan, rank, job)->sizes.count + 1 + number);
}

/* Every micro-batch has its sums, whose buffers are no gradients of the rank but of the micro-batch, and whose parts
 * are 1/D of the memory that sums of whole gradients would have. */
static void test_right_plan(void) {
  zb_plan *plan = plan_sums_read();
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  CU_ASSERT_EQUAL(plan->sharding, ZB_SHARDING_GRADIENTS_MICRO_BATCH);
  for (int r = 0; r < RANKS; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums), of[MICRO_BATCHES] = {0};
    uint64_t bytes[MICRO_BATCHES] = {0};
    CU_ASSERT_FATAL(count >= 2 * MICRO_BATCHES && count < PLAN_SUMS_MAX);
    for (int i = 0; i < count; ++i) {
      const zb_plan_collective *sum = sum_at(plan, rank, sums[i]);
      const int m = sum->of_micro_batch - 1;
      CU_ASSERT_FATAL(m >= 0 && m < MICRO_BATCHES);
      ++of[m];
      for (uint32_t b = 0; b < sum->sizes.count; ++b) {
        const zb_plan_range *buffer = buffer_at(rank, sums[i], b), *part = part_at(plan, rank, sums[i], b);
        CU_ASSERT_EQUAL(zb_plan_region_of(rank, buffer->offset, buffer->bytes), ZB_REGION_SLOTS);
        CU_ASSERT_EQUAL(zb_plan_region_of(rank, part->offset, part->bytes), ZB_REGION_GRADIENTS);
        bytes[m] += part->bytes;
      }
    }
    for (int m = 0; m < MICRO_BATCHES; ++m) {
      CU_ASSERT_EQUAL(of[m], count / MICRO_BATCHES);
      CU_ASSERT_EQUAL(bytes[m], rank->regions[ZB_REGION_GRADIENTS].bytes);
    }
  }
  zb_plan_destroy(plan);
}

/* ---- Planted faults ---- */

static void of_another_micro_batch(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  sum_at(plan, rank, sums[0])->of_micro_batch = MICRO_BATCHES;
}
static void micro_batches_swapped(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  zb_plan_collective *first = sum_at(plan, rank, sums[0]), *last = sum_at(plan, rank, sums[count - 1]);
  const int32_t kept = first->of_micro_batch;
  first->of_micro_batch = last->of_micro_batch;
  last->of_micro_batch = kept;
}
static void of_all_micro_batches(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  sum_at(plan, rank, sums[0])->of_micro_batch = 0;
}
static void sum_kept_whole(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  sum_at(plan, rank, sums[0])->kind = ZB_COLLECTIVE_ALL_REDUCE;
}
static void first_added_elsewhere(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  part_at(plan, rank, sums[0], 0)->offset += 64;
}
static void last_added_elsewhere(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  zb_plan_range *part = part_at(plan, rank, sums[count - 1], 0);
  const zb_plan_range region = rank->regions[ZB_REGION_GRADIENTS];
  part->offset += part->offset + part->bytes < region.offset + region.bytes ? 64 : (uint64_t)-64;
}
static void added_to_parameters(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  part_at(plan, rank, sums[0], 0)->offset = rank->regions[ZB_REGION_PARAMETERS].offset;
}
static void two_sums_swapped(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  zb_plan_range *one = part_at(plan, rank, sums[count - 1], 0), *other = part_at(plan, rank, sums[count - 2], 0);
  const uint64_t kept = one->offset;
  one->offset = other->offset;
  other->offset = kept;
}
static void all_of_two_sums_added_to_one(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  const uint64_t from = part_at(plan, rank, sums[0], 0)->offset, to = part_at(plan, rank, sums[1], 0)->offset;
  for (int i = 0; i < count; ++i)
    for (uint32_t b = 0; b < sum_at(plan, rank, sums[i])->sizes.count; ++b)
      if (part_at(plan, rank, sums[i], b)->offset == from) part_at(plan, rank, sums[i], b)->offset = to;
}
static void sends_another_gradient(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  buffer_at(rank, sums[0], 0)->offset += 64;
}
static void sends_sums_of_all(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  buffer_at(rank, sums[0], 0)->offset = rank->regions[ZB_REGION_GRADIENTS].offset;
}
static void lands_in_its_gradients(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  plan_sums_landing(plan, rank, sums[0])->offset = buffer_at(rank, sums[0], 0)->offset;
}
static void room_is_too_small(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  plan_sums_landing(plan, rank, sums[1])->bytes -= 64;
}
static void sent_before_the_last_is_added(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  rank->jobs[sums[1]].waits.count = 0;
}
static void last_sum_is_not_added(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  plan_sums_never_wait(rank, 0, rank->job_count - 1, sums[count - 1]);
}
/* Gradients are added to what the frame had before. */
static void begins_with_no_zeros(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], job;
  plan_sums_find(plan, rank, sums);
  for (job = sums[0]; rank->jobs[job].collective; --job)
    ;
  zb_plan_subprogram *maker = &rank->subprograms[rank->jobs[job].subprogram];
  int kept = 0;
  for (int i = 0; i < maker->instruction_count; ++i)
    if (strcmp(maker->instructions[i].op, "iota") != 0) maker->instructions[kept++] = maker->instructions[i];
  CU_ASSERT(kept < maker->instruction_count);
  maker->instruction_count = kept;
}
static void another_level(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_GRADIENTS_STEP;
}
static void no_level(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_NONE;
}

static const plan_fault faults[] = {FAULT(of_another_micro_batch),
                                    FAULT(micro_batches_swapped),
                                    FAULT(of_all_micro_batches),
                                    FAULT(sum_kept_whole),
                                    FAULT(first_added_elsewhere),
                                    FAULT(last_added_elsewhere),
                                    FAULT(added_to_parameters),
                                    FAULT(two_sums_swapped),
                                    FAULT(all_of_two_sums_added_to_one),
                                    FAULT(sends_another_gradient),
                                    FAULT(sends_sums_of_all),
                                    FAULT(lands_in_its_gradients),
                                    FAULT(room_is_too_small),
                                    FAULT(sent_before_the_last_is_added),
                                    FAULT(last_sum_is_not_added),
                                    FAULT(begins_with_no_zeros),
                                    FAULT(another_level),
                                    FAULT(no_level)};

static void test_planted_faults(void) { plan_sums_refuses(faults, sizeof faults / sizeof faults[0], RANKS); }

/* Whether job `index` writes into the gradients that a sum sends, or into its landing. */
static bool writes_to_sum(const zb_plan *plan, const zb_plan_rank *rank, int index, int sum) {
  const zb_plan_job *job = &rank->jobs[index], *at = &rank->jobs[sum];
  const uint32_t ranges = plan->collectives[at->collective - 1].sizes.count + 1;
  for (uint32_t b = 0; b < job->bases.count; ++b) {
    const uint64_t begin = rank->pool_u64[job->bases.begin + b];
    const uint64_t end = begin + rank->subprograms[job->subprogram].base_bytes[b];
    for (uint32_t p = 0; p < ranges; ++p) {
      const zb_plan_range range = rank->pool_ranges[at->parts.begin + p];
      if (begin < range.offset + range.bytes && range.offset < end) return true;
    }
  }
  return false;
}

/* No job waits for a sum until one has overwritten what it sends: the proof notices, for every sum of which that is so.
 */
static void test_each_frame(void) {
  int refused = 0;
  for (int r = 0; r < RANKS; ++r)
    for (int s = 0;; ++s) {
      zb_plan *plan = plan_sums_read();
      zb_plan_rank *rank = &plan->ranks[r];
      int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums), next = s < count ? sums[s] + 1 : 0;
      while (s < count && next < rank->job_count && !writes_to_sum(plan, rank, next, sums[s]))
        ++next;
      if (s < count && next < rank->job_count) {
        plan_sums_never_wait(rank, 0, next, sums[s]);
        zb_status status = zb_plan_verify(plan);
        CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
        refused += status != NULL;
        zb_status_free(status);
      }
      zb_plan_destroy(plan);
      if (s >= count) break;
    }
  CU_ASSERT(refused > RANKS);
}

/* Every job waits for all sums before it, several times, which changes nothing: a plan that names so many has room for
 * them when it is expanded. */
static void test_many_waits(void) {
  enum { TIMES = 9 };
  zb_plan *plan = plan_sums_read();
  for (int r = 0; r < RANKS; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    int sums[PLAN_SUMS_MAX];
    const int count = plan_sums_find(plan, rank, sums);
    const size_t most = rank->pool_u32_count + (size_t)rank->job_count * (size_t)count * TIMES;
    uint32_t *pool = zb_plan_alloc(plan, most * sizeof *pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    memcpy(pool, rank->pool_u32, rank->pool_u32_count * sizeof *pool);
    rank->pool_u32 = pool;
    for (int i = 0; i < rank->job_count; ++i) {
      zb_plan_job *job = &rank->jobs[i];
      const zb_plan_slice before = job->waits;
      if (job->collective || zb_plan_step_end(rank) <= i) continue;
      job->waits = (zb_plan_slice){rank->pool_u32_count, 0};
      for (uint32_t w = 0; w < before.count; ++w, ++job->waits.count)
        pool[rank->pool_u32_count++] = pool[before.begin + w];
      for (int k = 0; k < count * TIMES; ++k)
        if (sums[k % count] < i) pool[rank->pool_u32_count++] = (uint32_t)sums[k % count], ++job->waits.count;
    }
  }
  for (int c = 0; c < plan->collective_count; ++c)
    plan->collectives[c].lead_ps = 0; /* W runs in one, and tries twice where it is to be cut */
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  zb_plan_destroy(plan);
}

SUITE_MAIN_WITH("sums of micro-batches", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"many waits", test_many_waits}, {"planted faults", test_planted_faults},
                {"each frame alone", test_each_frame})
