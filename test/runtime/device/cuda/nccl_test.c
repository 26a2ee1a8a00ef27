/* The NCCL transport on a fake NCCL without buffers: the values of the cpu; communicators, order, groups; errors,
 * time-outs, aborts. */
#include "runtime/device/cuda/cuda.h"
#include "test/runtime/device/cuda/fake.h"
#include "test/runtime/device/cuda/host_kernels.h"
#include "test/runtime/device/cuda/nccl_ranks.h"
#include "test/runtime/exec/tiny.h"

enum { STEPS = 3, SEEDS = 8 };

typedef struct fixture {
  zb_plan *plan;
  zb_store *weights;
  zb_data *data;
  nccl_ranks *ranks;
} fixture;

static zb_status set_up_as(fixture *f, int processes, uint64_t seed, int64_t timeout_ms) {
  *f = (fixture){.plan = tiny_plan(), .weights = tiny_weights()};
  fake_start(seed);
  const zb_data_params data = {.plan = f->plan, .source = tiny_data()};
  ZB_TRY(zb_data_create(&data, &f->data));
  return nccl_ranks_open(f->plan, processes, f->weights, NULL, f->data, timeout_ms, &f->ranks);
}

/* A process a rank. */
static zb_status set_up(fixture *f, uint64_t seed, int64_t timeout_ms) { return set_up_as(f, 2, seed, timeout_ms); }

static int tear_down(fixture *f) {
  nccl_ranks_close(f->ranks);
  zb_data_destroy(f->data);
  zb_store_destroy(f->weights);
  zb_plan_destroy(f->plan);
  return fake_stop();
}

static void test_values(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  double expected[STEPS];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  for (int i = 0; i < STEPS; ++i) {
    zb_step_result result;
    TINY_OK(zb_session_step(session, &result));
    expected[i] = result.loss;
  }
  zb_session_destroy(session);
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    fixture f;
    TINY_OK(set_up(&f, seed, 10000));
    for (int i = 0; i < STEPS; ++i) {
      double loss = 0;
      TINY_OK(nccl_ranks_step(f.ranks, i, &loss));
      CU_ASSERT_EQUAL(loss, expected[i]);
    }
    CU_ASSERT_EQUAL(fake_races(), 0);
    if (fake_races()) printf("\n%s\n", fake_first_race());
    CU_ASSERT_EQUAL(fake_nccl_made(), 4); /* two channels, two ends each */
    CU_ASSERT_EQUAL(tear_down(&f), 0);
  }
}

/* Channels are connected and warmed up in the order of their first messages, before any job; a step makes no
 * communicator. */
static void test_order(void) {
  fixture f;
  double loss = 0;
  TINY_OK(set_up(&f, 1, 10000));
  const char *log = fake_log(), *first = strstr(log, "send "), *second = first ? strstr(first + 1, "receive ") : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(second);
  CU_ASSERT(strncmp(first, "send m", 6) == 0 &&
            strstr(first, ", 64\n") != NULL);      /* rank 0 opens channel 0 as its source ... */
  CU_ASSERT(strncmp(second, "receive m", 9) == 0); /* ... then channel 1 as its destination */
  int made = fake_nccl_made();
  fake_log_clear();
  TINY_OK(nccl_ranks_step(f.ranks, 0, &loss));
  CU_ASSERT_EQUAL(fake_nccl_made(), made);
  int sends = 0, receives = 0;
  for (const char *line = fake_log(); (line = strstr(line, ": send ")); ++line)
    ++sends;
  for (const char *line = fake_log(); (line = strstr(line, ": receive ")); ++line)
    ++receives;
  CU_ASSERT_EQUAL(sends, 2 * TINY_MICRO_BATCHES);
  CU_ASSERT_EQUAL(receives, sends);
  CU_ASSERT_PTR_NULL(strstr(fake_log(), "copy "));
  CU_ASSERT_EQUAL(tear_down(&f), 0);
}

/* A peer that is gone: the watchdog names it, and every communicator is aborted. */
static void test_peer_is_gone(void) {
  fixture f;
  double loss = 0;
  TINY_OK(set_up(&f, 1, 10000));
  fake_nccl_error_after(20, ncclRemoteError);
  zb_status status = nccl_ranks_step(f.ranks, 0, &loss);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "channel from rank"));
  tiny_expect(status, ZB_PEER, "network error");
  CU_ASSERT(fake_nccl_aborted() >= 2);
  tiny_expect(nccl_ranks_step(f.ranks, 1, &loss), ZB_PEER, "");
  tear_down(&f);
}

/* A GPU that stands still is a time-out, and is aborted too. */
static void test_hang(void) {
  fixture f;
  double loss = 0;
  TINY_OK(set_up(&f, 1, 50));
  fake_hang(true);
  tiny_expect(nccl_ranks_step(f.ranks, 0, &loss), ZB_TIMEOUT,
              "no job was started or ended for 0.1 s; process 1 of 2 does not answer");
  CU_ASSERT(fake_nccl_aborted() >= 2);
  tear_down(&f);
}

static void test_failing_calls(void) {
  static const char *const functions[] = {"ncclCommInitRankConfig", "ncclSend", "ncclRecv",
                                          "cuStreamCreateWithPriority", "cuStreamWaitEvent"};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    int failed = 0;
    for (int n = 0; n < 10; n = 2 * n + 1) {
      fixture f;
      double loss = 0;
      zb_status status = set_up(&f, 1, 10000);
      if (!status) fake_fail(functions[i], n, ncclSystemError);
      if (!status) status = nccl_ranks_step(f.ranks, 0, &loss);
      failed += status != NULL;
      if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), functions[i]));
      zb_status_free(status);
      tear_down(&f);
    }
    CU_ASSERT(failed > 0 || i == 0 || i == 3); /* those are called before the first step only */
  }
}

/* What stays in a process is copied: no communicator, no message of NCCL. Both kinds in one run are in
 * test/e2e/cuda_fake.py. */
static void test_all_in_one(void) {
  fixture f;
  double loss = 0;
  TINY_OK(set_up_as(&f, 1, 1, 10000));
  CU_ASSERT_EQUAL(fake_nccl_made(), 0);
  fake_log_clear();
  TINY_OK(nccl_ranks_step(f.ranks, 0, &loss));
  CU_ASSERT_PTR_NULL(strstr(fake_log(), ": send "));
  CU_ASSERT_PTR_NOT_NULL(strstr(fake_log(), ": copy "));
  CU_ASSERT_EQUAL(tear_down(&f), 0);
}

static void test_more_processes_than_ranks(void) {
  fixture f;
  tiny_expect(set_up_as(&f, 3, 1, 1000), ZB_USAGE, "3 processes for 2 ranks");
  tear_down(&f);
}

/* A message that waits on the GPU must not hold up what it waits for: a stream of its own for each, and room for all.
 */
static void test_room(void) {
  fixture f;
  fake_device_queues(2);
  zb_status status = set_up(&f, 1, 1000);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "start more processes"));
  tiny_expect(status, ZB_USAGE, "has 2 queues, and they need 3");
  tear_down(&f);
  TINY_OK(set_up_as(&f, 1, 1, 1000)); /* nothing waits for another process */
  CU_ASSERT_EQUAL(tear_down(&f), 0);
  fake_device_queues(0);
  f = (fixture){.plan = tiny_plan(), .weights = tiny_weights()};
  fake_start(1);
  fake_processors(7);
  const zb_data_params data = {.plan = f.plan, .source = tiny_data()};
  TINY_OK(zb_data_create(&data, &f.data));
  tiny_expect(nccl_ranks_open(f.plan, 2, f.weights, NULL, f.data, 1000, &f.ranks), ZB_USAGE, "has 7 multiprocessors");
  tear_down(&f);
}

int main(void) {
  CU_TestInfo tests[] = {{"values are bitwise those of the cpu, in any order", test_values},
                         {"channels, order and groups", test_order},
                         {"a peer that is gone", test_peer_is_gone},
                         {"a GPU that stands still", test_hang},
                         {"any call may fail", test_failing_calls},
                         {"all ranks in one process", test_all_in_one},
                         {"more processes than ranks", test_more_processes_than_ranks},
                         {"queues and multiprocessors for all that waits", test_room},
                         CU_TEST_INFO_NULL};
  return tiny_run("nccl on a fake", tests);
}
