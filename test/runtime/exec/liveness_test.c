/* Liveness of the slots of the small plan, checked against a byte-by-byte replay that shares no code with it. */
#include "test/runtime/exec/tiny.h"

static bool covers(const zb_liveness *l, zb_plan_slice slice, uint64_t offset) {
  for (uint32_t i = 0; i < slice.count; ++i) {
    const zb_plan_range *range = &l->ranges[slice.begin + i];
    if (offset >= range->offset && offset < range->offset + range->bytes) return true;
  }
  return false;
}

static int find_job(const zb_plan_rank *rank, zb_job_kind kind, int micro_batch) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == kind && rank->jobs[i].micro_batch == micro_batch) return i;
  return -1;
}

/* Frames of rank 1, micro-batch 0: free before the first write, live until the last reader, free again after. */
static void test_homes_of_rank_1(void) {
  zb_plan *plan = tiny_plan();
  const zb_plan_rank *rank = &plan->ranks[1];
  zb_liveness l;
  TINY_OK(zb_liveness_init(plan, 1, &l));
  uint64_t fb = rank->regions[ZB_REGION_SLOTS].offset, fw = fb + TINY_FB1_BYTES, bw = fw + 256, dh = bw + 8192;
  int f = find_job(rank, ZB_JOB_F, 0), b = find_job(rank, ZB_JOB_B, 0), w = find_job(rank, ZB_JOB_W, 0);
  int send = find_job(rank, ZB_JOB_SEND, 0), read = find_job(rank, ZB_JOB_READ, 0),
      report = find_job(rank, ZB_JOB_REPORT, 0);
  const struct {
    uint64_t offset;
    int job;
    bool free;
  } rows[] = {
      {fb + TINY_Y, read - 1, true},
      {fb + TINY_Y, read, false},
      {fb + TINY_Y, f, false},
      {fb + TINY_Y, b, true},
      {fb + TINY_LOGITS, f - 1, true},
      {fb + TINY_LOGITS, f, false},
      {fb + TINY_LOGITS + 8191, b, true},
      {fb + TINY_LOSS, f, false},
      {fb + TINY_LOSS, report, true},
      {fw, rank->load_count, false}, /* posted, so held */
      {fw, f, false},
      {fw, b, false},
      {fw, w, true},
      {bw, f, true},
      {bw, b, false},
      {bw, w, true},
      {dh, f, true},
      {dh, b, false},
      {dh, send, false}, /* held until B2 waits for it */
      {dh, find_job(rank, ZB_JOB_F, 2), false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    bool is_free = covers(&l, l.free_after[rows[i].job], rows[i].offset);
    if (is_free != rows[i].free)
      printf("\nrow %zu: byte %llu after job %d", i, (unsigned long long)rows[i].offset, rows[i].job);
    CU_ASSERT_EQUAL(is_free, rows[i].free);
  }
  for (int i = rank->load_count; i < rank->job_count; ++i) /* what is quiet during a job is free after it */
    for (uint32_t k = 0; k < l.quiet[i].count; ++k)
      CU_ASSERT(covers(&l, l.free_after[i], l.ranges[l.quiet[i].begin + k].offset));
  zb_liveness_deinit(&l);
  zb_plan_destroy(plan);
}

/* The peak by hand. Rank 0, 1B... the most is when both sets of fw are kept, a message is held and the gradient has
 * come. */
static void test_use(void) {
  zb_plan *plan = tiny_plan();
  for (int r = 0; r < 2; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    zb_liveness l;
    TINY_OK(zb_liveness_init(plan, r, &l));
    uint64_t fixed = rank->regions[ZB_REGION_SLOTS].offset, most = 0;
    for (int i = rank->load_count; i < rank->job_count; ++i) {
      CU_ASSERT(l.use_bytes[i] >= fixed && l.use_bytes[i] <= rank->arena_bytes);
      if (l.use_bytes[i] > most) most = l.use_bytes[i];
    }
    CU_ASSERT_EQUAL(l.most_live_bytes, most);
    CU_ASSERT_EQUAL(l.high_water_bytes, rank->arena_bytes);
    /* Rank 0, B of micro-batch 1: fw of 1 and 2, h of 1 and 2 on their way, bw of 1. Rank 1, B of 2: all of set 0; of
     * set 1 h of micro-batch 3 (posted) and dh of micro-batch 1 (on its way). loss and, with B done, lse are over. */
    uint64_t expected = r == 0 ? 2 * TINY_FW0_BYTES + 2 * 256 + TINY_BW0_BYTES : (TINY_SET1_BYTES - 64) + 256 + 256;
    CU_ASSERT_EQUAL(l.most_live_bytes, fixed + expected);
    zb_liveness_deinit(&l);
  }
  zb_plan_destroy(plan);
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"homes of rank 1", test_homes_of_rank_1},
      {"bytes in use", test_use},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("liveness", tests);
}
