/* 1,000 seeded mutations of an order file of each form: read or refused with a place, never a crash (run it under asan
 * too). What is read is a valid order, and is printed so that it reads the same. */
#include "fixture.h"

enum { MUTATIONS = 1000, TEXT_MAX = 1 << 16 };

static const char *const tokens[] = {
    ",",     "\n",       "\r\n",     " ",           ";",          "(",          ")OVERLAP_F_B", "(0F0;1B1)OVERLAP_F_B",
    "0F0",   "1B1",      "0I1",      "1W0",         "0BW0",       "2F1",        "0SEND_F0",     "1RECV_F0",
    "1SEND", "0UNSHARD", "1RESHARD", "REDUCE_GRAD", "99999",      "2147483647", "00",           "-1",
    "\"",    "F",        "\xff\xfe", ",,,,",        "0F99999999", "4000000F0",  "0F2147483646", "\t"};
enum { TOKENS = sizeof tokens / sizeof *tokens };

typedef struct buffer {
  char text[TEXT_MAX];
  size_t length;
} buffer;

static size_t random_at(uint64_t *seed, size_t below) { return (size_t)fixture_random(seed, (int64_t)below + 1); }

static void replace(buffer *b, size_t at, size_t removed, const char *text, size_t length) {
  if (at > b->length) at = b->length;
  if (removed > b->length - at) removed = b->length - at;
  if (b->length - removed + length >= TEXT_MAX) return;
  memmove(b->text + at + length, b->text + at + removed, b->length - at - removed);
  memcpy(b->text + at, text, length);
  b->length += length - removed;
}

/* Start and length of a cell. */
static size_t random_cell(const buffer *b, uint64_t *seed, size_t *length) {
  size_t at = random_at(seed, b->length);
  while (at > 0 && !strchr(", \n", b->text[at - 1]))
    --at;
  *length = 0;
  while (at + *length < b->length && !strchr(", \n\r", b->text[at + *length]))
    ++*length;
  return at;
}

static void mutate(buffer *b, uint64_t *seed) {
  const int64_t how = fixture_random(seed, 8);
  char cell[64];
  size_t length, other_length;
  if (how == 0 && b->length) { /* a byte */
    b->text[random_at(seed, b->length - 1)] = (char)fixture_random(seed, 256);
  } else if (how == 1) { /* some bytes less */
    replace(b, random_at(seed, b->length), (size_t)fixture_random(seed, 6), "", 0);
  } else if (how == 2) { /* a token more */
    const char *token = tokens[fixture_random(seed, TOKENS)];
    replace(b, random_at(seed, b->length), 0, token, strlen(token));
  } else if (how == 3) { /* another cell */
    const size_t at = random_cell(b, seed, &length);
    const char *token = tokens[fixture_random(seed, TOKENS)];
    replace(b, at, length, token, strlen(token));
  } else if (how == 4) { /* two cells change places, or one is copied */
    const size_t first = random_cell(b, seed, &length), second = random_cell(b, seed, &other_length);
    if (length == 0 || length >= sizeof cell || other_length == 0 || second <= first) return;
    memcpy(cell, b->text + first, length);
    char other[64];
    if (other_length >= sizeof other) return;
    memcpy(other, b->text + second, other_length);
    replace(b, second, other_length, cell, length);
    if (fixture_random(seed, 4)) replace(b, first, length, other, other_length);
  } else if (how == 5) { /* cut off */
    if (fixture_random(seed, 4) == 0) b->length = random_at(seed, b->length);
  } else if (how == 6) { /* a digit */
    const size_t at = random_at(seed, b->length);
    if (at < b->length && b->text[at] >= '0' && b->text[at] <= '9')
      b->text[at] = (char)('0' + fixture_random(seed, 10));
  } else { /* a cell goes */
    const size_t at = random_cell(b, seed, &length);
    replace(b, at, length + 1, "", 0);
  }
}

/* What was read is a valid order that reads the same again. */
static void check_read(const zb_order_file *file) {
  zb_stage_cost *costs = calloc((size_t)file->stages, sizeof *costs);
  CU_ASSERT_PTR_NOT_NULL_FATAL(costs);
  const zb_problem problem = {.ranks = file->order.ranks,
                              .micro_batches = file->micro_batches,
                              .stages = file->stages,
                              .stage_rank = file->stage_rank,
                              .costs = costs};
  expect_ok(zb_order_validate(&problem, &file->order));
  char *first = zb_order_file_text(file), *second = NULL;
  zb_order_file again;
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  expect_ok(zb_order_read("again", first, strlen(first), NULL, &again));
  if (again.cells) second = zb_order_file_text(&again);
  CU_ASSERT(second && !strcmp(first, second));
  zb_order_file_deinit(&again);
  zb_free(first);
  zb_free(second);
  free(costs);
}

static void mutations_of(const char *text, uint64_t seed) {
  int read = 0, refused = 0;
  static buffer b;
  zb_order_file start;
  expect_ok(zb_order_read("start", text, strlen(text), NULL, &start));
  zb_order_file_deinit(&start);
  for (int i = 0; i < MUTATIONS; ++i) {
    b.length = strlen(text);
    memcpy(b.text, text, b.length);
    for (int64_t count = 1 + fixture_random(&seed, 3); count > 0; --count)
      mutate(&b, &seed);
    /* At the end of its memory, so that a byte too far is seen. */
    char *copy = malloc(b.length + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy + 1, b.text, b.length);
    zb_order_file file;
    zb_status status = zb_order_read("m.csv", copy + 1, b.length, NULL, &file);
    free(copy);
    if (status) {
      CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
      CU_ASSERT(strncmp(zb_status_message(status), "m.csv:", 6) == 0);
      CU_ASSERT_PTR_NULL(file.cells);
      ++refused;
    } else {
      check_read(&file);
      ++read;
    }
    zb_status_free(status);
    zb_order_file_deinit(&file);
  }
  printf(" %d read, %d refused;", read, refused);
  CU_ASSERT(refused > MUTATIONS / 2);
  CU_ASSERT(read > 0);
}

static void mutations_of_form(zb_order_style style, uint64_t seed) {
  fixture x;
  zb_order order;
  char *text = NULL;
  fixture_uniform(&x, "looped", 3, 2, 4, 20, 18, 9, 1, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("interleaved-zb", NULL), &x.problem, &order));
  expect_ok(zb_order_write(&x.problem, &order, &style, &text));
  mutations_of(text, seed);
  zb_free(text);
  zb_order_deinit(&order);
}

static void test_text(void) { mutations_of_form((zb_order_style){.form = ZB_FORM_TEXT, .whole_backward = true}, 1); }

static void test_compute_only(void) {
  mutations_of_form((zb_order_style){.form = ZB_FORM_COMPUTE_ONLY, .idle_cells = true}, 2);
}

static void test_compute_comms(void) {
  mutations_of_form((zb_order_style){.form = ZB_FORM_COMPUTE_COMMS, .whole_backward = true}, 3);
}

/* Parts in one cell, micro-batches that run backwards, tokens of 2024. */
static void test_others(void) {
  mutations_of(
      "0F0,0F1,0F2,(3F0)OVERLAP_F_B,(3F1;3B0)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3I1,3W1,(3B2;0B1)OVERLAP_F_B,0B2\r\n"
      ",1F0,2F0,1F1,2F1,1F2,2F2,2B0,1B0,2B1,1B1,2B2,1B2\r\n",
      4);
  mutations_of("0F0,0F1,0F2,,0BW2,0BW1,0B0,0W0\n,1F0,1F1,1F2,1B2,1W2,1BW1,1BW0", 5);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"text", test_text},
                                      {"compute_only", test_compute_only},
                                      {"compute_comms", test_compute_comms},
                                      {"other files", test_others},
                                      CU_TEST_INFO_NULL};
  return run_suite("order_mutation", tests);
}
