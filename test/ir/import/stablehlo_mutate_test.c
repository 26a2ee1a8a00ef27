/* Damaged StableHLO text: seeded mutations of good files. Each must be imported or refused with a message; none may
 * crash, hang or, under the address sanitizer, touch memory that is not its own.
 *
 * usage: stablehlo_mutate_test                          own files, 1,000 mutations each
 *        stablehlo_mutate_test SEED COUNT FILE...       COUNT mutations of each file; prints how many were refused */
#include "test/ir/import/mutate_text.h"

static void test_mutations(void) {
  static const char *const names[] = {"plain", "sgd", "adamw", "nesterov", "odd", "scan", "windows"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char good[4096];
    int imported = 0, refused = 0;
    snprintf(good, sizeof good, ZB_SOURCE_DIR "/test/ir/import/stablehlo/Inputs/%s.mlir", names[i]);
    mutate_file(good, MUTATIONS, &imported, &refused);
    CU_ASSERT(imported > MUTATIONS / 100);
    CU_ASSERT(refused > MUTATIONS / 4);
  }
}

static void test_memory(void) {
  fail_allocations(ZB_SOURCE_DIR "/test/ir/import/stablehlo/Inputs/adam.mlir");
  fail_allocations(ZB_SOURCE_DIR "/test/ir/import/stablehlo/Inputs/windows.mlir");
}

int main(int argc, char **argv) {
  static CU_TestInfo tests[] = {{"mutations", test_mutations}, {"out of memory", test_memory}, CU_TEST_INFO_NULL};
  importer = zb_import_stablehlo;
  train = "*"; /* files without names of arguments, too */
  return mutate_main("damaged StableHLO", tests, argc, argv);
}
