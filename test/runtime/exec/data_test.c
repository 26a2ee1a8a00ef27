/* The rule that places rows in a corpus, and every way a corpus can be wrong. */
#include "test/runtime/exec/tiny.h"

#include "runtime/exec/data.h"

static zb_plan *plan_with(int count, const zb_plan_input *inputs) {
  zb_plan *plan = zb_plan_create();
  plan->micro_batches = 3;
  plan->inputs = zb_plan_alloc(plan, sizeof(zb_plan_input) * (size_t)(count + 1));
  memcpy(plan->inputs, inputs, sizeof(zb_plan_input) * (size_t)count);
  plan->input_count = count;
  return plan;
}

#define INPUT(name, type, ...)                                                                                         \
  ((zb_plan_input){name, {.dtype = type, .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), .dims = {__VA_ARGS__}}})

static const char *source(char text[700], const char *prefix, const char *name, const char *suffix) {
  char path[600];
  snprintf(text, 700, "%s%s%s", prefix, tiny_path(path, name), suffix);
  return text;
}

/* Opens, reads nothing, and checks the failure. */
static void expect_failure(int count, const zb_plan_input *inputs, const char *from, zb_code code, const char *word) {
  zb_plan *plan = plan_with(count, inputs);
  zb_data *data = NULL;
  zb_data_params params = {.plan = plan, .source = from};
  tiny_expect(zb_data_create(&params, &data), code, word);
  CU_ASSERT_PTR_NULL(data);
  zb_plan_destroy(plan);
}

static void test_rows_of_text(void) {
  enum { N = 50, T = 5, B = 2, M = 3 };
  unsigned char corpus[N];
  char text[700];
  for (int i = 0; i < N; ++i)
    corpus[i] = (unsigned char)(250 - 3 * i); /* bytes above 127 too */
  char path[600];
  tiny_write(tiny_path(path, "rows.txt"), corpus, N);
  zb_plan *plan =
      plan_with(2, (zb_plan_input[]){INPUT("y", ZB_I32, B, T), INPUT("x", ZB_I64, B, T)}); /* found by name */
  zb_data *data = NULL;
  zb_data_params params = {.plan = plan, .source = source(text, "text:", "rows.txt", "")};
  TINY_OK(zb_data_create(&params, &data));
  for (int64_t k = 0; k < 7; ++k) {
    for (int i = 0; i < M; ++i) {
      int32_t y[B * T];
      int64_t x[B * T];
      TINY_OK(zb_data_read(data, 0, k, i, y));
      TINY_OK(zb_data_read(data, 1, k, i, x));
      for (int64_t r = 0; r < B; ++r) {
        int64_t start = ((k * M + i) * B + r) * T % (N - T - 1);
        for (int64_t t = 0; t < T; ++t) {
          CU_ASSERT_EQUAL(x[r * T + t], corpus[start + t]);
          CU_ASSERT_EQUAL(y[r * T + t], corpus[start + t + 1]);
        }
      }
    }
  }
  CU_ASSERT_EQUAL(zb_data_position(data, 7), 7 * M * B);
  zb_data_destroy(data);

  /* After a resume the rows go on where they were. */
  int64_t a[B * T], b[B * T];
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 1, 5, 2, a));
  zb_data_destroy(data);
  params.first_step = 4;
  params.first_row = 4 * M * B;
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 1, 5, 2, b));
  CU_ASSERT_EQUAL(memcmp(a, b, sizeof a), 0);
  zb_data_destroy(data);
  zb_plan_destroy(plan);
}

/* Where a value stands that the model does not know; nothing is added where it does not stand. */
static void test_blame(void) {
  enum { N = 100, T = 5, B = 2, M = 3 };
  unsigned char corpus[N] = {0};
  char text[700], path[600];
  corpus[(1 * M + 2) * B * T + T + 3] = 200; /* step 1, micro-batch 2, row 1, position 3 of x; position 2 of y */
  tiny_write(tiny_path(path, "blame.txt"), corpus, N);
  zb_plan *plan = plan_with(2, (zb_plan_input[]){INPUT("x", ZB_I64, B, T), INPUT("y", ZB_I64, B, T)});
  zb_data *data = NULL;
  zb_data_params params = {.plan = plan, .source = source(text, "text:", "blame.txt", "")};
  TINY_OK(zb_data_create(&params, &data));
  zb_kernel_fault fault = {true, 200, 0, 99};
  zb_status status = zb_data_blame(data, 1, 2, &fault, ZB_ERROR(INVALID, "wrong"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "the token 200 stands at place 58 (from 0) of '"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "blame.txt': input 'x', row 1, position 3"));
  tiny_expect(status, ZB_INVALID, "hint: text:FILE makes a token of every byte");
  status = zb_data_blame(data, 1, 1, &fault, ZB_ERROR(INVALID, "wrong"));
  CU_ASSERT_STRING_EQUAL(zb_status_text(status), "error: wrong\n");
  status = zb_data_blame(NULL, 1, 2, &fault, status);
  tiny_expect(status, ZB_INVALID, "error: wrong");
  zb_data_destroy(data);
  zb_plan_destroy(plan);
}

static void test_tokens(void) {
  static const unsigned char bytes[] = {0x34, 0x12, 0xff, 0xff, 1, 0, 0, 0x80, 5, 0, 6, 0};
  char text[700], path[600];
  tiny_write(tiny_path(path, "tokens.bin"), bytes, sizeof bytes);
  zb_plan *plan =
      plan_with(2, (zb_plan_input[]){INPUT("input_ids", ZB_I64, 1, 1), INPUT("labels", ZB_I64, 1, 1)}); /* by order */
  int64_t x = 0, y = 0;
  zb_data *data = NULL;
  zb_data_params params = {.plan = plan, .source = source(text, "tokens:", "tokens.bin", "")};
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 0, 0, 0, &x));
  TINY_OK(zb_data_read(data, 1, 0, 0, &y));
  CU_ASSERT_EQUAL(x, 0x1234);
  CU_ASSERT_EQUAL(y, 0xffff);
  zb_data_destroy(data);
  params.source = source(text, "tokens:", "tokens.bin", ":u32");
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 0, 0, 0, &x));
  TINY_OK(zb_data_read(data, 1, 0, 0, &y));
  CU_ASSERT_EQUAL(x, 0xffff1234);
  CU_ASSERT_EQUAL(y, 0x80000001);
  zb_data_destroy(data);
  zb_plan_destroy(plan);
  plan = plan_with(1, (zb_plan_input[]){INPUT("x", ZB_I32, 1, 1)});
  params.plan = plan;
  TINY_OK(zb_data_create(&params, &data));
  int32_t narrow = 0;
  tiny_expect(zb_data_read(data, 0, 0, 0, &narrow), ZB_INVALID, "does not fit the i32 input 'x'");
  zb_data_destroy(data);
  zb_plan_destroy(plan);
}

static void test_what_is_wrong_with_a_corpus(void) {
  const zb_plan_input good[] = {INPUT("x", ZB_I64, 2, 5), INPUT("y", ZB_I64, 2, 5)};
  char text[700], path[600];
  tiny_write(tiny_path(path, "short.txt"), "123456", 6);
  expect_failure(2, good, source(text, "text:", "short.txt", ""), ZB_INVALID,
                 "holds 6 tokens, but one row of the model needs 7");
  expect_failure(2, good, source(text, "tokens:", "short.txt", ""), ZB_INVALID, "holds 3 tokens");
  tiny_write(tiny_path(path, "exact.txt"), "1234567", 7);
  expect_failure(2, good, source(text, "tokens:", "exact.txt", ":u16"), ZB_INVALID,
                 "no whole number of tokens of 2 bytes");
  expect_failure(2, good, source(text, "tokens:", "exact.txt", ":u32"), ZB_INVALID,
                 "no whole number of tokens of 4 bytes");
  tiny_write(tiny_path(path, "empty.txt"), "", 0);
  expect_failure(2, good, source(text, "text:", "empty.txt", ""), ZB_INVALID, "holds 0 tokens");
  expect_failure(2, good, source(text, "text:", "not-there.txt", ""), ZB_IO, "not-there.txt");
  expect_failure(2, good, source(text, "text:", "", ""), ZB_IO, "is a folder, expected a file");
  expect_failure(2, good, "corpus.txt", ZB_USAGE, "write text:corpus.txt");
  expect_failure(2, good, "text:", ZB_USAGE, "text:FILE");
  expect_failure(2, good, "tokens::u16", ZB_USAGE, "text:FILE");
  expect_failure(2, good, NULL, ZB_USAGE, "the model reads the input 'x'");
  zb_plan *plan = plan_with(2, good); /* N = T + 2 is enough: every row starts at 0 */
  zb_data *data = NULL;
  zb_data_params params = {.plan = plan, .source = source(text, "text:", "exact.txt", "")};
  TINY_OK(zb_data_create(&params, &data));
  int64_t y[10];
  TINY_OK(zb_data_read(data, 1, 9, 2, y));
  CU_ASSERT_EQUAL(y[4], '6');
  CU_ASSERT_EQUAL(y[9], '6');
  zb_data_destroy(data);
  zb_plan_destroy(plan);
}

static void test_inputs_that_tokens_cannot_fill(void) {
  char text[700], path[600];
  tiny_write(tiny_path(path, "good.txt"), "0123456789abcdef", 16);
  const char *from = source(text, "text:", "good.txt", "");
  expect_failure(2, (zb_plan_input[]){INPUT("x", ZB_I64, 2, 5), INPUT("mask", ZB_F32, 2, 5)}, from, ZB_INVALID,
                 "the input 'mask' (2x5xf32) cannot be filled from text or tokens: it is no integer input");
  expect_failure(3, (zb_plan_input[]){INPUT("x", ZB_I64, 2, 5), INPUT("y", ZB_I64, 2, 5), INPUT("z", ZB_I64, 2, 5)},
                 from, ZB_INVALID,
                 "the input 'z' (2x5xi64) cannot be filled from text or tokens: there are two already");
  expect_failure(1, (zb_plan_input[]){INPUT("x", ZB_I64, 10)}, from, ZB_INVALID, "not [rows, tokens]");
  expect_failure(2, (zb_plan_input[]){INPUT("x", ZB_I64, 2, 5), INPUT("y", ZB_I64, 5, 2)}, from, ZB_INVALID,
                 "differs from that of the first");
}

/* An embedder's callback, which is not asked for the counter. */
static zb_status fill_ones(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  (void)context, (void)step, (void)micro_batch;
  CU_ASSERT_STRING_EQUAL(name, "x");
  memset(to, 1, bytes);
  return NULL;
}

/* The counter of random numbers, wherever it stands among the inputs. */
static void test_counter(void) {
  enum { N = 50, T = 5, B = 2 };
  unsigned char corpus[N] = {0};
  char text[700], path[600];
  tiny_write(tiny_path(path, "counter.txt"), corpus, N);
  const zb_plan_input counter = INPUT("zb.counter", ZB_I64, 4);
  zb_plan *plan = plan_with(3, (zb_plan_input[]){counter, INPUT("x", ZB_I64, B, T), INPUT("y", ZB_I64, B, T)});
  zb_data *data = NULL;
  zb_data_params params = {
      .plan = plan, .source = source(text, "text:", "counter.txt", ""), .random_seed = UINT64_C(0x7fffffffffffffff)};
  int64_t words[4], x[B * T];
  CU_ASSERT(zb_data_has_counter(plan));
  CU_ASSERT_PTR_EQUAL(zb_data_first_input(plan), &plan->inputs[1]);
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 0, 70, 2, words));
  CU_ASSERT(words[0] == INT64_MAX && words[1] == 70 && words[2] == 2 && words[3] == 0);
  TINY_OK(zb_data_read(data, 1, 70, 2, x));
  tiny_expect(zb_data_read(data, 0, INT64_C(1) << 40, 0, words), ZB_RUNTIME, "random numbers are drawn for 2^40 steps");
  zb_kernel_fault fault = {true, 200, 0, 99};
  tiny_expect(zb_data_blame(data, 1, 2, &fault, ZB_ERROR(INVALID, "wrong")), ZB_INVALID, "error: wrong");
  zb_data_destroy(data);
  zb_plan_destroy(plan);

  plan = plan_with(2, (zb_plan_input[]){INPUT("x", ZB_I64, B, T), counter});
  params = (zb_data_params){.plan = plan, .input = fill_ones, .random_seed = 5};
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 0, 3, 1, x));
  TINY_OK(zb_data_read(data, 1, 3, 1, words));
  CU_ASSERT(x[0] == INT64_C(0x0101010101010101) && words[0] == 5 && words[1] == 3 && words[2] == 1);
  zb_data_destroy(data);
  zb_plan_destroy(plan);

  /* Data is asked for what it feeds, not for the counter. */
  plan = plan_with(1, &counter);
  params = (zb_data_params){.plan = plan, .random_seed = 5};
  CU_ASSERT_PTR_NULL(zb_data_first_input(plan));
  TINY_OK(zb_data_create(&params, &data));
  TINY_OK(zb_data_read(data, 0, 3, 1, words));
  CU_ASSERT(words[0] == 5 && words[1] == 3 && words[2] == 1);
  zb_data_destroy(data);
  zb_plan_destroy(plan);
  expect_failure(2, (zb_plan_input[]){counter, INPUT("x", ZB_I64, B, T)}, NULL, ZB_USAGE, "reads the input 'x'");
  expect_failure(1, (zb_plan_input[]){INPUT("zb.counter", ZB_I32, 4)}, NULL, ZB_INVALID,
                 "the input 'zb.counter' is 4xi32, expected 4xi64");
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"the counter of random numbers", test_counter},
      {"rows of text", test_rows_of_text},
      {"tokens of 16 and 32 bits", test_tokens},
      {"where a wrong value stands", test_blame},
      {"what is wrong with a corpus", test_what_is_wrong_with_a_corpus},
      {"inputs that tokens cannot fill", test_inputs_that_tokens_cannot_fill},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("data", tests);
}
