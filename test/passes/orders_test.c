/* zb_choice_order with a memo: the same orders as without, whatever was asked before, and asked again without the work
 * of a search. */
#include "passes/stages/jobs/orders.h"

#include "test/passes/schedule/fixture.h"

static bool same(const zb_order *a, const zb_order *b) {
  if (a->ranks != b->ranks || a->whole_backward != b->whole_backward) return false;
  for (int r = 0; r < a->ranks; ++r) {
    if (a->counts[r] != b->counts[r]) return false;
    for (int i = 0; i < a->counts[r]; ++i) {
      const zb_job x = a->jobs[r][i], y = b->jobs[r][i];
      if (x.stage != y.stage || x.kind != y.kind || x.micro_batch != y.micro_batch) return false;
    }
  }
  return true;
}

/* Asks with and without a memo; twice with it. False: there is no order. */
static bool check(zb_memo *memo, const char *name, bool settled, const zb_problem *problem) {
  zb_schedule_choice choice;
  zb_order plain, first, second;
  CU_ASSERT_PTR_NULL_FATAL(zb_schedule_parse(name, &choice));
  zb_status status = zb_choice_order(NULL, &choice, settled, problem, &plain);
  zb_status statuses[] = {zb_choice_order(memo, &choice, settled, problem, &first),
                          zb_choice_order(memo, &choice, settled, problem, &second)};
  for (int i = 0; i < 2; ++i) {
    CU_ASSERT_EQUAL(zb_status_code(statuses[i]), zb_status_code(status));
    zb_status_free(statuses[i]);
  }
  CU_ASSERT(same(&plain, &first) && same(&plain, &second));
  zb_order_deinit(&plain);
  zb_order_deinit(&first);
  zb_order_deinit(&second);
  const bool exists = !status;
  zb_status_free(status);
  return exists;
}

/* Changes one number of a problem, so that a question that leaves it out would get the answer of before. */
static void change(fixture *x, int what, int64_t *limits) {
  zb_stage_cost *cost = &x->costs[x->problem.stages / 2];
  switch (what) {
  case 0:
    cost->time_ps[ZB_B] += 25;
    break;
  case 1:
    cost->keep_bytes[ZB_F] += 70, cost->free_bytes[ZB_W] += 70;
    break;
  case 2:
    x->problem.link_latency_ps += 9;
    break;
  case 3:
    x->problem.link_ps_per_byte += 1.5;
    break;
  case 4:
    x->problem.edges ? (void)(x->edges[0].forward_bytes += 8) : (void)0;
    break;
  case 5:
    x->optimizer[0] += 200, x->problem.optimizer_ps = x->optimizer;
    break;
  case 6:
    x->base[0] += 150, x->problem.base_bytes = x->base;
    break;
  case 7:
    x->problem.metric = ZB_METRIC_STAGE;
    break;
  case 8:
    x->problem.micro_batches += 1;
    break;
  case 9:
    x->problem.rank_limit_bytes = limits;
    break;
  case 10:
    limits[0] -= 40;
    break;
  case 11:
    x->problem.rank_limit_bytes = NULL, x->problem.memory_limit_bytes = limits[1];
    break;
  default:
    cost->f_updates = true;
    break;
  }
}
enum { CHANGES = 13 };

static void test_same(void) {
  static const struct {
    const char *name, *placement;
    int chunks;
  } rows[] = {{"search:budget=8", "plain", 1},
              {"zb", "plain", 1},
              {"zb-v-auto", "v", 2},
              {"1f1b", "plain", 1},
              {"zb-h1", "plain", 1},
              {"interleaved-1f1b", "looped", 2},
              {"search:budget=5,seed=3", "plain", 1}};
  enum { ROWS = sizeof rows / sizeof rows[0] };
  zb_memo *memo = zb_memo_create(1 << 24);
  uint64_t seed = 11;
  int found = 0;
  for (int round = 0; round < 2 * ROWS; ++round) {
    const int i = round % ROWS, ranks = 3 + (int)fixture_random(&seed, 2);
    fixture x;
    int64_t limits[FIXTURE_STAGES];
    fixture_uneven(&x, &seed, rows[i].placement, ranks, rows[i].chunks, 6 + (int)fixture_random(&seed, 3));
    for (int r = 0; r < ranks; ++r)
      limits[r] = 1500 + fixture_random(&seed, 500);
    for (int what = 0; what < CHANGES; ++what) {
      change(&x, what, limits);
      found += check(memo, rows[i].name, round % 4 != 0, &x.problem);
    }
    found += check(memo, rows[i].name, round % 4 == 0, &x.problem);
  }
  CU_ASSERT(found > 50);
  zb_memo_destroy(memo);
}

static void test_work(void) {
  zb_memo *memo = zb_memo_create(1 << 24);
  zb_schedule_choice choice;
  fixture x;
  int64_t spent[2];
  fixture_uniform(&x, "v", 4, 2, 12, 60000, 61000, 40000, 700, 0.5);
  x.problem.memory_limit_bytes = 8500;
  CU_ASSERT_PTR_NULL_FATAL(zb_schedule_parse("search", &choice));
  for (int i = 0; i < 2; ++i) {
    zb_order order;
    zb_status status = zb_choice_order(memo, &choice, true, &x.problem, &order);
    spent[i] = zb_memo_spent(memo);
    CU_ASSERT_PTR_NULL(status);
    zb_order_deinit(&order);
  }
  CU_ASSERT(spent[0] > 0);
  CU_ASSERT_EQUAL(spent[0], spent[1]);
  zb_memo_destroy(memo);
}

SUITE_MAIN("orders", {"the same as without a memo", test_same}, {"asked again", test_work})
