/* 1,000 seeded mutations of a choice: read or refused with a place, never a crash (run it under asan too). What is read
 * is written so that it reads the same. */
#include "passes/choice/choice.h"
#include "test/passes/schedule/fixture.h"

enum { MUTATIONS = 1000, TEXT_MAX = 4096 };

static const char good[] = "zbc-choice 1\nprogram 0123456789abcdef # x\nschedule zb-h1\nranks 2\nchunks 2\n"
                           "placement v\nmicro-batches 2\nstage 0 ends 3\nstage 1 ends 7\nstage 2 ends 9\n"
                           "again 2-5 9.1\nin-b 0 4-7 h.0.*.bias \"12\"\n"
                           "order 0 0F0 3F0 0B0 0W0\norder 1 1F0 2F0 2B0 2W0\n";
static const char *const tokens[] = {"\n",       " ",      "#",      "\"",    "\\", "again ",    "in-b ",
                                     "order 0 ", "stage ", "ranks ", "99999", "-1", "268435456", "3-",
                                     "9.9",      "0F0",    "\xff",   "ends",  "\t", "\r\n",      "2147483648"};

static size_t random_at(uint64_t *seed, size_t below) { return (size_t)fixture_random(seed, (int64_t)below + 1); }

static size_t replace(char *text, size_t length, size_t at, size_t removed, const char *by, size_t count) {
  if (removed > length - at) removed = length - at;
  if (length - removed + count >= TEXT_MAX) return length;
  memmove(text + at + count, text + at + removed, length - at - removed);
  memcpy(text + at, by, count);
  return length - removed + count;
}

static size_t mutate(char *text, size_t length, uint64_t *seed) {
  const size_t at = random_at(seed, length);
  const int64_t how = fixture_random(seed, 5);
  const char *token = tokens[fixture_random(seed, sizeof tokens / sizeof *tokens)];
  const char byte = (char)fixture_random(seed, 256);
  if (how == 0) return replace(text, length, at, 1, &byte, 1);
  if (how == 1) return replace(text, length, at, random_at(seed, 8), "", 0);
  if (how == 2) return replace(text, length, at, 0, token, strlen(token));
  if (how == 3) return replace(text, length, at, random_at(seed, 4), token, strlen(token));
  const size_t from = random_at(seed, length), count = random_at(seed, length - from < 40 ? length - from : 40);
  char copy[64];
  memcpy(copy, text + from, count);
  return replace(text, length, at, 0, copy, count);
}

static void check_read(const zb_choice *c) {
  char *text = zb_choice_text(c), *second = NULL;
  zb_choice again;
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  zb_status status = zb_choice_read("again", text, strlen(text), &again);
  if (status) printf("\n%s%s", zb_status_text(status), text);
  CU_ASSERT_PTR_NULL_FATAL(status);
  second = zb_choice_text(&again);
  CU_ASSERT(second && !strcmp(text, second));
  zb_choice_deinit(&again);
  zb_free(text);
  zb_free(second);
}

static void test_mutations(void) {
  uint64_t seed = 38;
  int read = 0;
  for (int i = 0; i < MUTATIONS; ++i) {
    char text[TEXT_MAX];
    size_t length = sizeof good - 1;
    memcpy(text, good, length);
    for (int64_t count = 1 + fixture_random(&seed, 3); count > 0; --count)
      length = mutate(text, length, &seed);
    char *copy = malloc(length + 1); /* at the end of its memory, so that a byte too far is seen */
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy + 1, text, length);
    zb_choice c;
    zb_status status = zb_choice_read("m", copy + 1, length, &c);
    free(copy);
    CU_ASSERT(!status || (zb_status_code(status) == ZB_INVALID && strncmp(zb_status_message(status), "m:", 2) == 0));
    if (!status) check_read(&c);
    read += !status;
    zb_status_free(status);
    zb_choice_deinit(&c);
  }
  printf(" %d read, %d refused;", read, MUTATIONS - read);
  CU_ASSERT(read > 50 && read < MUTATIONS / 2);
}

SUITE_MAIN("choice mutations", {"mutations", test_mutations})
