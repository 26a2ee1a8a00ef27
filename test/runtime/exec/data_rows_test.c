/* Rows of arrays: epochs are permutations, drawn evenly; what is read is what the file has; every allocation may fail.
 * Formats and errors: test/e2e/arrays.py. */
#include "test/runtime/exec/tiny.h"

#include "runtime/exec/data.h"
#include "runtime/exec/data_rows.h"

enum { MOST = 1100 };

static void test_permutations(void) {
  static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 63, 64, 65, 100, 255, 257, 1000, 1100};
  int same = 0, pairs = 0;
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c)
    for (int64_t epoch = 0; epoch < 4; ++epoch)
      for (uint64_t seed = 1; seed < 4; ++seed) {
        bool seen[MOST] = {false};
        int moved = 0;
        for (int64_t i = 0; i < counts[c]; ++i) {
          const int64_t at = zb_rows_shuffled(seed, epoch, counts[c], i);
          CU_ASSERT_FATAL(at >= 0 && at < counts[c] && !seen[at]);
          seen[at] = true;
          moved += at != i;
          if (counts[c] > 50) same += at == zb_rows_shuffled(seed, epoch + 1, counts[c], i);
          pairs += counts[c] > 50;
        }
        if (counts[c] > 50) CU_ASSERT(moved > counts[c] * 9 / 10);
      }
  CU_ASSERT(same < pairs / 20); /* of two random permutations of n, one in n is in the same place */
}

/* Over many epochs each row comes to each place about as often. */
static void test_even(void) {
  enum { COUNT = 6, EPOCHS = 6000 };
  int hits[COUNT][COUNT] = {{0}};
  for (int64_t epoch = 0; epoch < EPOCHS; ++epoch)
    for (int64_t i = 0; i < COUNT; ++i)
      ++hits[i][zb_rows_shuffled(99, epoch, COUNT, i)];
  for (int i = 0; i < COUNT; ++i)
    for (int k = 0; k < COUNT; ++k)
      CU_ASSERT(hits[i][k] > 850 && hits[i][k] < 1150); /* 1000; five times the deviation of 29 */
}

/* An .npy of `rows` x 4 of i64: row r is r, r + 1, r + 2, r + 3. */
static const char *write_array(int64_t rows, char source[700]) {
  char path[600], header[128];
  static unsigned char file[128 + 100 * 32];
  const int length = snprintf(header, sizeof header, "{'descr': '<i8', 'fortran_order': False, 'shape': (%lld, 4), }",
                              (long long)rows);
  memset(file, ' ', 128);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  memcpy(file + 10, header, (size_t)length);
  file[127] = '\n';
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < 4; ++k)
      memcpy(file + 128 + (r * 4 + k) * 8, &(int64_t){r + k}, 8);
  tiny_write(tiny_path(path, "rows.npy"), file, (size_t)(128 + rows * 32));
  snprintf(source, 700, "npy:%s", path);
  return source;
}

static zb_plan *plan_of_one(void) {
  zb_plan *plan = zb_plan_create();
  plan->micro_batches = 3;
  plan->inputs = zb_plan_alloc(plan, sizeof *plan->inputs);
  plan->inputs[0] = (zb_plan_input){"x", {.dtype = ZB_I64, .rank = 2, .dims = {2, 4}}};
  plan->input_count = 1;
  return plan;
}

/* 20 rows are three steps of 6; with first_row a run goes on in the middle of an epoch. */
static void test_reading(void) {
  char source[700];
  zb_plan *plan = plan_of_one();
  for (uint64_t shuffle = 0; shuffle < 3; ++shuffle)
    for (int64_t first_step = 0; first_step < 8; ++first_step) {
      zb_data *data = NULL;
      const zb_data_params params = {.plan = plan,
                                     .source = write_array(20, source),
                                     .first_step = first_step,
                                     .first_row = first_step * 6,
                                     .shuffle = shuffle};
      TINY_OK(zb_data_create(&params, &data));
      CU_ASSERT_EQUAL(zb_data_rows(data), 20);
      CU_ASSERT_EQUAL(zb_data_position(data, first_step + 5), first_step * 6 + 30);
      for (int64_t step = first_step; step < 9; ++step)
        for (int m = 0; m < 3; ++m) {
          int64_t got[8];
          TINY_OK(zb_data_read(data, 0, step, m, got));
          for (int64_t r = 0; r < 2; ++r) {
            const int64_t within = step % 3 * 6 + m * 2 + r;
            const int64_t row = shuffle ? zb_rows_shuffled(shuffle, step / 3, 20, within) : within;
            for (int64_t k = 0; k < 4; ++k)
              CU_ASSERT_EQUAL(got[r * 4 + k], row + k);
          }
        }
      zb_data_destroy(data);
    }
  zb_plan_destroy(plan);
}

static void test_out_of_memory(void) {
  char source[700];
  zb_plan *plan = plan_of_one();
  const zb_data_params params = {.plan = plan, .source = write_array(20, source), .shuffle = 1};
  zb_data *data = NULL;
  int failed = 0;
  for (uint64_t n = 1; !data && n < 1000; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_data_create(&params, &data);
    zb_allocation_fail_at(0);
    failed += status != NULL;
    CU_ASSERT(!status || zb_status_code(status) == ZB_MEMORY);
    zb_status_free(status);
  }
  CU_ASSERT(data && failed > 3);
  const uint64_t before = zb_allocation_count();
  int64_t got[8];
  if (data) TINY_OK(zb_data_read(data, 0, 7, 2, got));
  CU_ASSERT_EQUAL(zb_allocation_count(), before); /* a step allocates nothing */
  zb_data_destroy(data);
  zb_plan_destroy(plan);
}

int main(void) {
  static CU_TestInfo tests[] = {{"permutations", test_permutations},
                                {"even", test_even},
                                {"reading", test_reading},
                                {"out of memory", test_out_of_memory},
                                CU_TEST_INFO_NULL};
  return tiny_run("data_rows", tests);
}
