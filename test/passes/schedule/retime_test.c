/* Times after a change against those of the whole sequence: random changes of random orders, some of them taken back.
 */
#include "fixture.h"
#include "passes/schedule/search/retime.h"
#include "random_order.h"

/* Exchanges two neighbours of a rank that may stand either way; false if they may not. */
static bool exchange(const zb_scheduler *w, zb_slot *slots, int i) {
  const zb_slot moved = slots[i];
  if (slots[i].class / ZB_KIND_COUNT == slots[i + 1].class / ZB_KIND_COUNT) return false;
  slots[i] = slots[i + 1];
  slots[i + 1] = moved;
  return i + 1 < w->per_rank;
}

static void check_same(zb_scheduler *w, const zb_retimer *x, const zb_slot *sequence, bool ends, int64_t *start,
                       int64_t *span) {
  zb_timing timing;
  CU_ASSERT_EQUAL(zb_time_sequence(w, sequence, &timing, start, span), ends);
  if (!ends) return;
  bool same = zb_retime_metric_ps(x) == zb_metric_time(w, &timing);
  for (size_t i = 0; i < w->jobs; ++i) {
    const size_t job = (size_t)sequence[i].class * (size_t)w->micro_batches + (size_t)sequence[i].micro_batch;
    same = same && x->start[i] == start[job] && x->place[job] == (int32_t)(i % (size_t)w->per_rank);
  }
  for (int rank = 0; rank < w->ranks; ++rank)
    same = same && x->span[rank] == span[rank];
  CU_ASSERT(same);
}

/* Returns how many changes ended. */
static int check(const zb_problem *problem, uint64_t *seed, bool *channels_wait) {
  zb_model model;
  zb_scheduler w;
  zb_retimer x;
  zb_order order;
  expect_ok(zb_model_init(problem, &model));
  expect_ok(zb_scheduler_init(&model, &w));
  expect_ok(zb_retimer_init(&w, &x));
  *channels_wait = x.channels_wait;
  random_order(problem, seed, &order);
  zb_slot *sequence = zb_alloc(w.jobs * sizeof *sequence), *scratch = zb_alloc((size_t)w.per_rank * sizeof *scratch);
  int64_t *start = zb_alloc(w.jobs * sizeof *start), *span = zb_alloc((size_t)w.ranks * sizeof *span);
  zb_sequence_read(&w, &order, sequence, scratch);
  CU_ASSERT(zb_retime_all(&x, sequence));
  int ended = 0;
  for (int round = 0; round < 60; ++round) {
    zb_change changes[2];
    int count = 0;
    for (int rank = (int)fixture_random(seed, w.ranks); rank < w.ranks && count < 2; ++rank) {
      const int i = (int)fixture_random(seed, w.per_rank - 1);
      if (exchange(&w, &sequence[(size_t)rank * (size_t)w.per_rank], i)) changes[count++] = (zb_change){rank, i, i + 1};
    }
    if (count == 0) continue;
    const bool ends = zb_retime(&x, sequence, changes, count, INT64_MAX);
    check_same(&w, &x, sequence, ends, start, span);
    ended += ends;
    if (ends && round % 3) continue;
    for (int k = 0; k < count; ++k)
      exchange(&w, &sequence[(size_t)changes[k].rank * (size_t)w.per_rank], changes[k].first);
    zb_retime_undo(&x, sequence, changes, count);
    check_same(&w, &x, sequence, true, start, span);
  }
  zb_free(sequence);
  zb_free(scratch);
  zb_free(start);
  zb_free(span);
  zb_order_deinit(&order);
  zb_model_deinit(&model);
  return ended;
}

static void test_changes(void) {
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  uint64_t seed = 4;
  int ended = 0, waiting = 0, rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    fixture x;
    bool channels_wait;
    const int kind = (int)fixture_random(&seed, 4), p = 1 + (int)fixture_random(&seed, 4);
    const int v = kind == 0 ? 1 : 2, m = 2 + (int)fixture_random(&seed, 8);
    if (round % 2)
      fixture_uneven(&x, &seed, placements[kind], p, v, m);
    else
      fixture_uniform(&x, placements[kind], p, v, m, 40, 38, 20, 2, 0.4);
    x.problem.metric = round / 2 % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
    ended += check(&x.problem, &seed, &channels_wait);
    waiting += channels_wait;
  }
  CU_ASSERT(ended > 20 * rounds);
  CU_ASSERT(waiting > 20 && waiting < rounds - 20);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"times after changes", test_changes}, CU_TEST_INFO_NULL};
  return run_suite("retime", tests);
}
