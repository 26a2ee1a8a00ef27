/* Steps without a barrier: the same bits, steps on the virtual clock that take the plan's period, what is refused while
 * ranks run ahead, and ends. */
#include "test/runtime/exec/tiny.h"
#include "runtime/plan/clock/simulator.h"

#include <pthread.h>
#include <time.h>

enum { STEPS = 24, WEIGHTS = (8192 + 256 + 8192) / 4 };

typedef struct outcome {
  double losses[STEPS];
  float weights[WEIGHTS];
} outcome;

static void copy_weights(const zb_session *session, outcome *out) {
  memcpy(out->weights, session->executors[0].arena, 8192 + 256);
  memcpy(out->weights + (8192 + 256) / 4, session->executors[1].arena, 8192);
}

/* Announces up to `ahead` steps at a time. */
static void train(const zb_session_params *params, bool poison, int ahead, int steps, outcome *out) {
  zb_session *session = NULL;
  memset(out, 0, sizeof *out);
  TINY_OK(tiny_session(params, tiny_plan(), poison, &session));
  for (int i = 0; i < steps; ++i) {
    zb_step_result result;
    if (ahead > 0) zb_session_announce(session, (i / ahead + 1) * ahead < steps ? (i / ahead + 1) * ahead : steps);
    TINY_OK(zb_session_step(session, &result));
    CU_ASSERT_EQUAL(result.step, i);
    CU_ASSERT_FALSE(result.stopping);
    CU_ASSERT(result.seconds > 0 && result.idle_share > -1e-9 && result.idle_share < 1);
    for (int rank = 0; rank < 2; ++rank)
      CU_ASSERT(result.waiting_shares[rank] >= 0 && result.waiting_shares[rank] < 1);
    out->losses[i] = result.loss;
  }
  CU_ASSERT_FALSE(session->stepping);
  copy_weights(session, out);
  zb_session_destroy(session);
}

static void expect_same(const outcome *wanted, const outcome *got) {
  CU_ASSERT_EQUAL(memcmp(wanted->losses, got->losses, sizeof wanted->losses), 0);
  CU_ASSERT_EQUAL(memcmp(wanted->weights, got->weights, sizeof wanted->weights), 0);
}

static void test_same_bits(void) {
  static outcome wanted, got;
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  train(&params, false, 0, STEPS, &wanted);
  params.barrier = true; /* announced or not */
  train(&params, false, STEPS, STEPS, &got);
  expect_same(&wanted, &got);
  params.barrier = false;
  for (int ahead = 0; ahead <= STEPS; ahead = ahead < 4 ? ahead + 1 : ahead * 2) {
    train(&params, ahead % 2, ahead, STEPS, &got);
    expect_same(&wanted, &got);
  }
  params.device = "sim";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    params.seed = seed;
    train(&params, seed % 2, 5 + (int)seed, STEPS, &got);
    expect_same(&wanted, &got);
  }
}

/* The steps of a run on the virtual clock, in ps. */
static void sim_steps(zb_plan *plan, int count, int64_t *out_ps) {
  const zb_session_params params = {.device = "sim", .no_kernels = true};
  zb_session *session = NULL;
  TINY_OK(tiny_session(&params, plan, false, &session));
  zb_session_announce(session, count);
  for (int i = 0; i < count; ++i) {
    zb_step_result result;
    TINY_OK(zb_session_step(session, &result));
    out_ps[i] = (int64_t)(result.seconds * 1e12 + 0.5);
  }
  zb_session_destroy(session);
}

static void expect_period(zb_plan *plan) {
  enum { COUNT = 200, LAST = 60 };
  int64_t took_ps[COUNT], sum = 0;
  zb_plan_period period;
  TINY_OK(zb_plan_find_period(plan, &period));
  CU_ASSERT_FATAL(period.exact && period.steps <= LAST && period.after < COUNT - LAST);
  sim_steps(plan, COUNT, took_ps);
  for (int i = COUNT - period.steps; i < COUNT; ++i)
    sum += took_ps[i];
  CU_ASSERT_EQUAL(sum, period.cycle_ps);
}

/* By hand, as test_sim_clock of session_test.c: what rank 0 begins with comes back from rank 1 as its last gradient, so
 * it gains nothing. Then an optimizer of rank 1 that takes long: it begins a step when that has ended, and has the
 * first message 0.1256 us later, since it posts the receive then, and rank 0 is early. */
static void test_period(void) {
  zb_plan *plan = tiny_plan();
  zb_plan_period period;
  TINY_OK(zb_plan_find_period(plan, &period));
  CU_ASSERT_EQUAL(period.cycle_ps, 1000000 + 125600 + 11000000 + 125600 + 2000000 + 500000);
  CU_ASSERT_EQUAL(period.steps, 1);
  expect_period(plan);
  plan = tiny_plan();
  for (int i = 0; i < plan->ranks[1].subprogram_count; ++i)
    if (plan->ranks[1].subprograms[i].kind == ZB_JOB_UPDATE) plan->ranks[1].subprograms[i].time_ps = 50500000;
  TINY_OK(zb_plan_find_period(plan, &period));
  CU_ASSERT_EQUAL(period.cycle_ps, 12000000 + 50500000 + 125600);
  CU_ASSERT_EQUAL(period.steps, 1);
  expect_period(plan);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    plan = tiny_random_plan(seed);
    plan->link_copies = seed % 5 == 4;
    plan->link_wake_ps = (int64_t)(seed % 3) * 1000;
    plan->job_ps = (int64_t)(seed % 4) * 70;
    plan->read_ps = (int64_t)(seed % 2) * 900;
    expect_period(plan);
  }
}

static void test_refused(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  char path[600];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  zb_session_announce(session, 3);
  TINY_OK(zb_session_step(session, &result));
  tiny_expect(zb_session_save(session, tiny_path(path, "early")), ZB_USAGE, "ranks have gone on beyond step 1");
  tiny_expect(zb_session_gradient_norms(session, NULL, NULL), ZB_USAGE, "steps up to 3 were announced");
  TINY_OK(zb_session_step(session, &result));
  TINY_OK(zb_session_step(session, &result));
  TINY_OK(zb_session_save(session, tiny_path(path, "third")));
  TINY_OK(zb_session_step(session, &result)); /* not announced: all end it */
  TINY_OK(zb_session_save(session, tiny_path(path, "fourth")));
  zb_session_destroy(session);
  for (int round = 0; round < 4; ++round) { /* what needs the barrier has it */
    params = (zb_session_params){
        .data = tiny_data(), .explain = round == 0, .trace = round == 1, .costs = round == 2, .barrier = round == 3};
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    zb_session_announce(session, 100);
    TINY_OK(zb_session_step(session, &result));
    TINY_OK(zb_session_save(session, tiny_path(path, "first")));
    zb_session_destroy(session);
  }
}

static void *stop_soon(void *session) {
  nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
  zb_session_stop(session);
  return NULL;
}

/* Asked at any moment, from another thread: the last step that was begun is the last on all ranks. */
static void test_stop(void) {
  static outcome wanted, got;
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  for (int round = 0; round < 6; ++round) {
    zb_session *session = NULL;
    zb_step_result result = {0};
    pthread_t thread;
    params.device = round % 2 ? "sim" : "cpu";
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    zb_session_announce(session, 1000000);
    int steps = 0;
    if (round > 3) CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stop_soon, session), 0);
    for (; !result.stopping; ++steps) {
      if (round <= 3 && steps == round) zb_session_stop(session);
      TINY_OK(zb_session_step(session, &result));
    }
    if (round > 3) pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(zb_session_steps(session), steps);
    CU_ASSERT_FALSE(session->stepping);
    for (int rank = 0; rank < 2; ++rank)
      CU_ASSERT_EQUAL(session->executors[rank].step + 1, steps);
    if (round <= 3) CU_ASSERT(steps > round && steps <= round + 1 + ZB_STEPS_IN_FLIGHT);
    copy_weights(session, &got);
    zb_session_destroy(session);
    if (steps > STEPS) continue;
    train(&(zb_session_params){.data = tiny_data(), .timeout_ms = 10000}, false, 0, steps, &wanted);
    CU_ASSERT_EQUAL(memcmp(wanted.weights, got.weights, sizeof got.weights), 0);
  }
}

/* What does not fit in a session: it is interrupted, fails at a step, or is destroyed while ranks are ahead. */
static zb_status bad_input(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  const int64_t bad = *(const int64_t *)context;
  (void)name;
  memset(to, 0, bytes);
  if (step == bad && micro_batch == 2) return ZB_ERROR(IO, "the data has a hole");
  return NULL;
}

static void test_ends(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  for (int round = 0; round < 4; ++round) {
    params.device = round % 2 ? "sim" : "cpu";
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    zb_session_announce(session, 1000000);
    for (int i = 0; i < round; ++i)
      TINY_OK(zb_session_step(session, &result));
    zb_session_destroy(session); /* no rank waits for another for ever */
  }
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  zb_session_announce(session, 1000000);
  TINY_OK(zb_session_step(session, &result));
  zb_session_interrupt(session);
  tiny_expect(zb_session_step(session, &result), ZB_INTERRUPTED, "interrupted");
  zb_session_destroy(session);
  params.data = NULL;
  params.input = bad_input;
  for (int64_t bad = 0; bad < 7; ++bad) {
    char named[32];
    params.input_context = &bad;
    params.device = bad % 2 ? "sim" : "cpu";
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    zb_session_announce(session, 20);
    zb_status status = NULL;
    while (!status)
      status = zb_session_step(session, &result);
    snprintf(named, sizeof named, "step %lld\n", (long long)bad + 1);
    CU_ASSERT(zb_session_steps(session) <= bad);
    tiny_expect(status, ZB_IO, named);
    tiny_expect(zb_session_step(session, &result), ZB_RUNTIME, "ended with a failed step");
    zb_session_destroy(session);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"the same bits", test_same_bits},
                         {"steps on sim take the period", test_period},
                         {"refused while ranks are ahead", test_refused},
                         {"stop", test_stop},
                         {"ends", test_ends},
                         CU_TEST_INFO_NULL};
  return tiny_run("overlap", tests);
}
