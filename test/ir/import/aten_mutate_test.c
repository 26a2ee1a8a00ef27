/* Damaged text of zb.aten (mutate_text.h), with the values of the good file beside it.
 *
 * usage: aten_mutate_test                          own files, 1,000 mutations each
 *        aten_mutate_test SEED COUNT FILE...       COUNT mutations of each file; prints how many were refused */
#include "test/ir/import/mutate_text.h"

static const char *const names[] = {"nanogpt", "llama", "vision", "mamba-like", "t5", "batchnorm"};
enum { FILES = sizeof names / sizeof *names };

static void path_of(const char *name, const char *ending, const char *folder, char out[4096]) {
  snprintf(out, 4096, "%s/%s%s", folder, name, ending);
}

/* A damaged file is written to the build folder, and names its values. */
static void lay_values(const char *name) {
  char good[4096], beside[4096];
  path_of(name, ".safetensors", ZB_SOURCE_DIR "/test/data/aten", good);
  path_of(name, ".safetensors", ZB_BINARY_DIR, beside);
  unlink(beside);
  CU_ASSERT_EQUAL_FATAL(symlink(good, beside), 0);
}

static void test_mutations(void) {
  for (size_t i = 0; i < FILES; ++i) {
    char good[4096];
    int imported = 0, refused = 0;
    path_of(names[i], ".mlir", ZB_SOURCE_DIR "/test/data/aten", good);
    lay_values(names[i]);
    mutate_file(good, MUTATIONS, &imported, &refused);
    CU_ASSERT(imported > MUTATIONS / 100);
    CU_ASSERT(refused > MUTATIONS / 4);
  }
}

static void test_memory(void) { fail_allocations(ZB_SOURCE_DIR "/test/data/aten/nanogpt.mlir"); }

int main(int argc, char **argv) {
  static CU_TestInfo tests[] = {{"mutations", test_mutations}, {"out of memory", test_memory}, CU_TEST_INFO_NULL};
  importer = zb_import_aten;
  return mutate_main("damaged aten text", tests, argc, argv);
}
