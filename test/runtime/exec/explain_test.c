/* Why ranks idled in a step: on a virtual clock what is measured is what the plan says, to the picosecond; on a real
 * one the parts add up to the idle time. */
#include "test/runtime/exec/tiny.h"

static void check_sums(const zb_explanation *e) {
  for (int r = 0; r < e->ranks; ++r) {
    int64_t sum = 0;
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
      CU_ASSERT(e->part_ps[r][cause] >= 0);
      sum += e->part_ps[r][cause];
    }
    CU_ASSERT_EQUAL(sum, e->idle_ps[r]);
  }
}

static void explain(const zb_session_params *params, zb_plan *plan, int steps, zb_step_result *result,
                    zb_explanation *measured, zb_explanation *simulated) {
  zb_session *session = NULL;
  TINY_OK(tiny_session(params, plan, false, &session));
  for (int i = 0; i < steps; ++i)
    TINY_OK(zb_session_step(session, result));
  TINY_OK(zb_session_explain(session, measured, simulated));
  check_sums(measured);
  check_sums(simulated);
  CU_ASSERT_DOUBLE_EQUAL((double)measured->time_ps, result->seconds * 1e12, 1);
  for (int r = 0; r < measured->ranks; ++r)
    CU_ASSERT_DOUBLE_EQUAL((double)measured->idle_ps[r] / (double)measured->time_ps, result->idle_shares[r], 1e-9);
  zb_session_destroy(session);
}

static void test_virtual(void) {
  const zb_session_params params = {.device = "sim", .no_kernels = true, .explain = true};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    zb_explanation measured, simulated;
    zb_step_result result;
    explain(&params, tiny_random_plan(seed), 2, &result, &measured, &simulated);
    CU_ASSERT_EQUAL(measured.time_ps, simulated.time_ps);
    for (int r = 0; r < 2; ++r) {
      CU_ASSERT_EQUAL(measured.idle_ps[r], simulated.idle_ps[r]);
      for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
        CU_ASSERT_EQUAL(measured.part_ps[r][cause], simulated.part_ps[r][cause]);
    }
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
      CU_ASSERT_EQUAL(measured.saved_ps[cause], simulated.saved_ps[cause]);
    zb_explanation_deinit(&measured);
    zb_explanation_deinit(&simulated);
  }
}

/* Messages that are late by chance are noise. */
static void test_delays(void) {
  int64_t noise = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const zb_session_params params = {.device = "sim", .no_kernels = true, .explain = true, .seed = seed};
    zb_explanation measured, simulated;
    zb_step_result result;
    explain(&params, tiny_random_plan(7), 1, &result, &measured, &simulated);
    for (int r = 0; r < 2; ++r)
      noise += measured.part_ps[r][ZB_CAUSE_NOISE];
    CU_ASSERT(measured.time_ps >= simulated.time_ps);
    zb_explanation_deinit(&measured);
    zb_explanation_deinit(&simulated);
  }
  CU_ASSERT(noise > 0);
}

static void test_real(void) {
  zb_session_params params = {.data = tiny_data(), .explain = true, .timeout_ms = 10000};
  zb_explanation measured, simulated;
  zb_step_result result;
  explain(&params, tiny_plan(), 5, &result, &measured, &simulated);
  CU_ASSERT(measured.idle_ps[0] > 0);
  CU_ASSERT(measured.part_ps[0][ZB_CAUSE_INTERPRETER] + measured.part_ps[0][ZB_CAUSE_NOISE] > 0);
  zb_explanation_deinit(&measured);
  zb_explanation_deinit(&simulated);
}

static void test_refused(void) {
  zb_session_params params = {.device = "sim", .no_kernels = true};
  zb_session *session = NULL;
  zb_step_result result;
  zb_explanation measured, simulated;
  for (int on = 0; on < 2; ++on) {
    params.explain = on == 1;
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    if (!on) TINY_OK(zb_session_step(session, &result));
    zb_status status = zb_session_explain(session, &measured, &simulated);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_USAGE);
    CU_ASSERT_PTR_NULL(measured.idle_ps);
    zb_status_free(status);
    zb_session_destroy(session);
  }
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"virtual clock", test_virtual}, {"delays", test_delays}, {"real clock", test_real},
      {"refused", test_refused},       CU_TEST_INFO_NULL,
  };
  return tiny_run("explain", tests);
}
