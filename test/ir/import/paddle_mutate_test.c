/* Damaged programs of Paddle: seeded mutations of good ones, in both formats, each beside its startup program. Each
 * must be imported or refused with a message; none may crash, hang or, under the address sanitizer, touch memory that
 * is not its own.
 *
 * usage: paddle_mutate_test                          own files, 1,000 mutations each
 *        paddle_mutate_test SEED COUNT FILE...       COUNT mutations of each file; prints how many were refused */
#include "test/ir/import/mutate_text.h"

#define INPUTS ZB_SOURCE_DIR "/test/ir/import/paddle/Inputs/"

static void test_mutations(void) {
  static const char *const names[] = {"sgd.main.json", "sgd.main.pb",     "llama.main.json",
                                      "llama.main.pb", "adamw.main.json", "adamw.main.pb"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char good[4096], beside[4096];
    int imported = 0, refused = 0;
    snprintf(good, sizeof good, INPUTS "%s", names[i]);
    snprintf(beside, sizeof beside, INPUTS "%.*s.startup%s", (int)strcspn(names[i], "."), names[i],
             strrchr(names[i], '.'));
    startup = beside;
    mutate_file(good, MUTATIONS, &imported, &refused);
    CU_ASSERT(imported > MUTATIONS / 100);
    CU_ASSERT(refused > MUTATIONS / 4);
  }
  startup = NULL;
}

/* The other files that are read: the startup program, and parameters in Paddle's own form. */
static void test_startup(void) {
  static const char *const endings[] = {"json", "pb"};
  for (int i = 0; i < 2; ++i) {
    char good[4096], main[4096];
    int imported = 0, refused = 0;
    snprintf(main, sizeof main, INPUTS "adamw.main.%s", endings[i]);
    snprintf(good, sizeof good, INPUTS "adamw.startup.%s", endings[i]);
    model = main;
    mutate_file(good, MUTATIONS, &imported, &refused);
    CU_ASSERT(imported > MUTATIONS / 100);
    CU_ASSERT(refused > MUTATIONS / 10);
  }
  model = NULL;
}

static void test_memory(void) {
  fail_allocations(INPUTS "adamw.main.json");
  fail_allocations(INPUTS "adamw.main.pb");
}

int main(int argc, char **argv) {
  static CU_TestInfo tests[] = {{"mutations", test_mutations},
                                {"startup programs", test_startup},
                                {"out of memory", test_memory},
                                CU_TEST_INFO_NULL};
  importer = zb_import_paddle;
  return mutate_main("damaged programs of Paddle", tests, argc, argv);
}
