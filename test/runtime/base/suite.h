/* One CUnit suite as a program: SUITE_MAIN("name", {"test", function}, ...). The process fails if any check does. */
#ifndef ZB_TEST_SUITE_H
#define ZB_TEST_SUITE_H

#include <CUnit/Basic.h>
#include <stdbool.h>

static inline int run_suite(CU_SuiteInfo *suites) {
  if (CU_initialize_registry() != CUE_SUCCESS) return 2;
  if (CU_register_suites(suites) != CUE_SUCCESS) return 2;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  bool ran = CU_get_number_of_tests_run() > 0;
  CU_cleanup_registry();
  return failures == 0 && ran ? 0 : 1;
}

#define SUITE_MAIN(name, ...)                                                                                          \
  int main(void) {                                                                                                     \
    static CU_TestInfo tests[] = {__VA_ARGS__, CU_TEST_INFO_NULL};                                                     \
    static CU_SuiteInfo suites[] = {{name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};                        \
    return run_suite(suites);                                                                                          \
  }

#endif
