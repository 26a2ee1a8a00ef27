/* Damaged files for an importer, text above all: seeded mutations of good files. Each must be imported or refused with
 * a message; none may crash, hang or, under the address sanitizer, touch memory that is not its own. A test sets
 * `importer`, and gives its tests to mutate_main. */
#ifndef ZB_TEST_MUTATE_TEXT_H
#define ZB_TEST_MUTATE_TEXT_H

#include "ir/import/importers.h"
#include "test/suite.h"
#include "runtime/base/file.h"

#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { MUTATIONS = 1000, SECONDS = 60 };

/* The importer that is tested, and a pattern for --train, or NULL; of Paddle the startup program, or, where that is the
 * one that is damaged, the program. */
static zb_import_function *importer;
static const char *train, *startup, *model;

static MlirContext context;
static uint64_t state = 20261126;
static int reported;
static char path[4096];

static void ignore(void *user, const char *text) {
  int *count = user;
  *count += text[0] != '\0';
}

static int set_up(void) {
  static zb_diagnostics diagnostics = {.write = ignore, .context = &reported};
  context = zb_context_create(false);
  zb_diagnostics_attach(context, &diagnostics);
  snprintf(path, sizeof path, "%s/mutated.%d.mlir", ZB_BINARY_DIR, (int)getpid());
  return mlirContextIsNull(context);
}

static int tear_down(void) {
  unlink(path);
  mlirContextDestroy(context);
  return 0;
}

static uint64_t next(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

/* The line at or before a place: from, and its length with its end. */
static size_t line_at(const char *text, size_t bytes, size_t at, size_t *length) {
  size_t begin = at, end = at;
  while (begin > 0 && text[begin - 1] != '\n')
    --begin;
  while (end < bytes && text[end] != '\n')
    ++end;
  *length = (end < bytes ? end + 1 : end) - begin;
  return begin;
}

/* The next place from `at` on, around, with one of these letters; at: there is none. */
static size_t find_letter(const char *text, size_t bytes, size_t at, const char *letters) {
  for (size_t i = 0; i < bytes; ++i)
    if (text[(at + i) % bytes] && strchr(letters, text[(at + i) % bytes])) return (at + i) % bytes;
  return at;
}

static void cut(char *text, size_t *bytes, size_t at, size_t length) {
  memmove(text + at, text + at + length, *bytes - at - length);
  *bytes -= length;
}

/* The next word from `at` on, around: a name of an op, an attribute or a type, a value, a number. */
static size_t word_at(const char *text, size_t bytes, size_t at, size_t *length) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%#@";
  size_t begin = find_letter(text, bytes, at, letters), end = begin;
  while (begin > 0 && text[begin - 1] && strchr(letters, text[begin - 1]))
    --begin;
  while (end < bytes && text[end] && strchr(letters, text[end]))
    ++end;
  *length = end - begin;
  return begin;
}

static int kind_of(char first) {
  return first == '%' || first == '@' ? first : first >= '0' && first <= '9' ? '0' : 'a';
}

/* A word in the place of another one of its kind: it then parses, and means something else. */
static void replace_word(char *text, size_t *bytes, size_t at) {
  char word[256];
  size_t length, wanted, from = word_at(text, *bytes, at, &length);
  for (int tries = 0; tries < 16; ++tries) {
    const size_t other = word_at(text, *bytes, (size_t)(next() % *bytes), &wanted);
    if (wanted >= sizeof word || kind_of(text[other]) != kind_of(text[from])) continue;
    memcpy(word, text + other, wanted);
    memmove(text + from + wanted, text + from + length, *bytes - from - length);
    memcpy(text + from, word, wanted);
    *bytes += wanted - length;
    return;
  }
}

/* One mutation of text[0..*bytes): room for twice the size. */
static void mutate(char *text, size_t *bytes) {
  size_t at = (size_t)(next() % *bytes), other = (size_t)(next() % *bytes), length, from;
  char line[8192];
  switch (next() % 12) {
  case 0: /* a digit: dimensions, numbers of values, lists */
  case 1:
    at = find_letter(text, *bytes, at, "0123456789");
    text[at] = (char)('0' + next() % 10);
    break;
  case 2: /* a letter of the syntax */
    at = find_letter(text, *bytes, at, "<>(){}[]:,=%@\"-");
    text[at] = "<>(){}[]:,=%@\"- 9x"[next() % 18];
    break;
  case 3: /* a line out */
    from = line_at(text, *bytes, at, &length);
    if (length < *bytes) cut(text, bytes, from, length);
    break;
  case 4: /* a line twice, elsewhere */
    from = line_at(text, *bytes, at, &length);
    if (length > sizeof line) break;
    memcpy(line, text + from, length);
    from = line_at(text, *bytes, other, &other);
    memmove(text + from + length, text + from, *bytes - from);
    memcpy(text + from, line, length);
    *bytes += length;
    break;
  case 5: /* a name of an op or an attribute */
    at = find_letter(text, *bytes, at, "_");
    text[at] = 'q';
    break;
  case 6: /* any byte */
    text[at] = (char)next();
    break;
  case 7:
  case 8:
  case 9:
  case 10:
    replace_word(text, bytes, at);
    break;
  default: /* a piece out */
    length = (size_t)(next() % 24) + 1;
    if (length < *bytes - at) cut(text, bytes, at, length);
  }
}

/* Of the processor, not of a clock: the machine may be busy. Ends the program by a signal. */
static void limit_time(int seconds) {
  const struct itimerval limit = {.it_value = {.tv_sec = seconds}};
  CU_ASSERT_EQUAL(setitimer(ITIMER_PROF, &limit, NULL), 0);
}

static void import_text(const char *text, size_t bytes, int *imported, int *refused) {
  FILE *file = fopen(path, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  CU_ASSERT_EQUAL_FATAL(fwrite(text, 1, bytes, file), bytes);
  fclose(file);
  zb_module module;
  zb_import_params params = {.path = model ? model : path,
                             .startup = model ? path : startup,
                             .fold_limit = UINT64_C(64) << 20,
                             .train = &train,
                             .train_count = train != NULL};
  reported = 0;
  limit_time(SECONDS);
  zb_status status = importer(context, &params, &module);
  limit_time(0);
  if (!status) {
    ++*imported;
    mlirModuleDestroy(module.module);
    zb_store_destroy(module.weights);
    zb_store_destroy(module.constants);
    return;
  }
  ++*refused;
  CU_ASSERT(*zb_status_message(status) != '\0');
  CU_ASSERT(reported > 0 || strstr(zb_status_text(status), ".mlir") || zb_status_code(status) == ZB_MEMORY);
  CU_ASSERT(module.module.ptr == NULL && module.weights == NULL && module.constants == NULL);
  zb_status_free(status);
}

static void mutate_file(const char *good_path, int count, int *imported, int *refused) {
  char *good = NULL;
  size_t good_bytes = 0;
  zb_status status = zb_file_read(good_path, 0, &good, &good_bytes);
  CU_ASSERT_PTR_NULL_FATAL(status);
  char *text = zb_alloc(2 * good_bytes + (1 << 20));
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  for (int i = 0; i < count; ++i) {
    size_t bytes = good_bytes;
    memcpy(text, good, good_bytes);
    for (uint64_t k = next() % 3 + 1; k > 0; --k)
      mutate(text, &bytes);
    import_text(text, bytes, imported, refused);
  }
  zb_free(text);
  zb_free(good);
}

/* Every allocation fails once: the import ends with an error, and nothing is lost (the leak sanitizer sees to that). */
static void fail_allocations(const char *good_path) {
  zb_import_params params = {.path = good_path};
  int failures = 0;
  for (uint64_t n = 1;; n += 1 + n / 8) {
    zb_module module;
    zb_allocation_fail_at(n);
    zb_status status = importer(context, &params, &module);
    zb_allocation_fail_at(0);
    if (!status) {
      mlirModuleDestroy(module.module);
      zb_store_destroy(module.weights);
      zb_store_destroy(module.constants);
      break;
    }
    ++failures;
    zb_status_free(status);
    CU_ASSERT_FATAL(n < UINT64_C(1) << 24);
  }
  CU_ASSERT(failures > 20);
}

static char **given; /* SEED, COUNT, FILE... */

static void test_given(void) {
  for (char **file = given + 2; *file; ++file) {
    int imported = 0, refused = 0;
    mutate_file(*file, atoi(given[1]), &imported, &refused);
    printf("\n%s: %d imported, %d refused", *file, imported, refused);
    fflush(stdout);
  }
}

/* Without SEED, COUNT and FILEs: the tests of the program. */
static int mutate_main(const char *name, CU_TestInfo *tests, int argc, char **argv) {
  static CU_TestInfo files[] = {{"given files", test_given}, CU_TEST_INFO_NULL};
  CU_SuiteInfo suites[] = {{name, set_up, tear_down, NULL, NULL, argc < 4 ? tests : files}, CU_SUITE_INFO_NULL};
  given = argv + 1;
  if (argc >= 4) state = strtoull(argv[1], NULL, 10) * 2 + 1;
  return suite_run(suites);
}

#endif
