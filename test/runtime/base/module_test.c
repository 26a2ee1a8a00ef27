/* Modules: found beside the program, opened, checked; every way to be missing says what to install. */
#include <dlfcn.h>
#include <string.h>

#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test/modules/"

static void expect(zb_status status, const char *word, const char *hint) {
  CU_ASSERT_EQUAL_FATAL(zb_status_code(status), ZB_UNAVAILABLE);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), word));
  CU_ASSERT_PTR_NOT_NULL_FATAL(zb_status_hint_text(status));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_hint_text(status), hint));
  zb_status_free(status);
}

static void test_good(void) {
  const zb_module *module = NULL, *again = NULL;
  CU_ASSERT_PTR_NULL_FATAL(zb_module_open_file("mpi", FOLDER "good.so", &module));
  CU_ASSERT_STRING_EQUAL(module->name, "mpi");
  CU_ASSERT_STRING_EQUAL(module->build_id, ZB_BUILD_ID);
  CU_ASSERT_EQUAL(strlen(ZB_BUILD_ID), 16);
  CU_ASSERT_PTR_NULL_FATAL(zb_module_open_file("mpi", FOLDER "good.so", &again));
  CU_ASSERT_PTR_EQUAL(module, again);
}

/* The linker's digest of each: of the program for whatever lies in it, of the module for what lies there, and ours
 * where nothing lies. */
static void test_object_ids(void) {
  static const char here = 0, there = 0;
  const zb_module *module = NULL;
  char program[ZB_OBJECT_ID_BYTES], same[ZB_OBJECT_ID_BYTES], other[ZB_OBJECT_ID_BYTES], none[ZB_OBJECT_ID_BYTES];
  CU_ASSERT_PTR_NULL_FATAL(zb_module_open_file("mpi", FOLDER "good.so", &module));
  CU_ASSERT_TRUE(zb_object_id(&here, program) && zb_object_id(&there, same) && zb_object_id(module, other));
  CU_ASSERT_STRING_EQUAL(program, same);
  CU_ASSERT_STRING_NOT_EQUAL(program, other);
  CU_ASSERT_EQUAL(strlen(program), 16);
  CU_ASSERT_EQUAL(strspn(program, "0123456789abcdef"), 16);
  CU_ASSERT_STRING_NOT_EQUAL(program, ZB_BUILD_ID);
  CU_ASSERT_FALSE(zb_object_id(NULL, none));
  CU_ASSERT_STRING_EQUAL(none, ZB_BUILD_ID);
}

/* What a module allocates is counted by, and released to, the allocator of the program. */
static void test_shares_allocator(void) {
  const zb_module *module = NULL;
  CU_ASSERT_PTR_NULL_FATAL(zb_module_open_file("mpi", FOLDER "good.so", &module));
  void *handle = dlopen(FOLDER "good.so", RTLD_NOW | RTLD_NOLOAD);
  CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
  zb_status (*make)(void) = NULL;
  *(void **)&make = dlsym(handle, "fixture_make");
  CU_ASSERT_PTR_NOT_NULL_FATAL(make);
  uint64_t before = zb_allocation_count();
  zb_status status = make();
  CU_ASSERT(zb_allocation_count() > before);
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "made in a module");
  zb_status_free(status);
  dlclose(handle);
}

static void test_foreign(void) {
  const zb_module *module = NULL;
  expect(zb_module_open_file("mpi", FOLDER "abi.so", &module), "its interface is 999, this program's is 1",
         "as a whole");
  expect(zb_module_open_file("mpi", FOLDER "id.so", &module),
         "its id is 0123456789abcdef, this program's is " ZB_BUILD_ID, "as a whole");
  expect(zb_module_open_file("mpi", FOLDER "name.so", &module), "is the module 'cuda', expected 'mpi'", "as a whole");
  expect(zb_module_open_file("mpi", FOLDER "nothing.so", &module), "it does not define zb_module_description",
         "as a whole");
  CU_ASSERT_PTR_NULL(module);
}

static void test_missing(void) {
  const zb_module *module = NULL;
  expect(zb_module_open_file("mpi", FOLDER "needs.so", &module), "libzb-absent.so: cannot open shared object file",
         "openmpi-bin");
  expect(zb_module_open_file("mpi", FOLDER "none.so", &module), "none.so: cannot open shared object file",
         "as a whole");
  zb_status status = zb_module_open("jazz", &module, NULL);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_USAGE);
  zb_status_free(status);
  CU_ASSERT_PTR_NULL(module);
}

SUITE_MAIN("module", {"a good module", test_good}, {"one allocator", test_shares_allocator},
           {"builds", test_object_ids}, {"modules of others", test_foreign},
           {"missing files and libraries", test_missing})
