/* One CUnit suite as a program: SUITE_MAIN("name", {"test", function}, ...). The process fails if any check does, or if
 * no test ran. */
#ifndef ZB_TEST_SUITE_H
#define ZB_TEST_SUITE_H

#include <CUnit/Basic.h>
#include <stdbool.h>

/* Runs the suites; the exit status of the program. */
static inline int suite_run(CU_SuiteInfo *suites) {
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) return 2;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  bool failed = CU_get_number_of_failures() > 0;
  bool ran = CU_get_number_of_tests_run() > 0;
  CU_cleanup_registry();
  return ran && !failed ? 0 : 1;
}

/* open and close run before and after all tests (NULL: nothing does); each returns 0 if it went well. */
#define SUITE_MAIN_WITH(name, open, close, ...)                                                                        \
  int main(void) {                                                                                                     \
    static CU_TestInfo tests[] = {__VA_ARGS__, CU_TEST_INFO_NULL};                                                     \
    static CU_SuiteInfo suites[] = {{name, open, close, NULL, NULL, tests}, CU_SUITE_INFO_NULL};                       \
    return suite_run(suites);                                                                                          \
  }
#define SUITE_MAIN(name, ...) SUITE_MAIN_WITH(name, NULL, NULL, __VA_ARGS__)

#endif
