/* Matrix products on the CPU against the reference: transposes, strides, broadcast batches, accumulation, tile edges.
 */
#include "test/kernels/fast.h"

typedef struct shape {
  int64_t m, n, k;
} shape;

/* A matrix of logical size rows x columns, stored swapped when `swapped`, with `batch` leading entries (0: rank 2). */
static zb_tensor matrix(int64_t batch, int64_t rows, int64_t columns, bool swapped) {
  int64_t dims[3] = {batch, swapped ? columns : rows, swapped ? rows : columns};
  return batch > 0 ? fast_uniform(-1, 1, 3, dims) : fast_uniform(-1, 1, 2, dims + 1);
}

static void check_product(zb_tensor lhs, zb_tensor rhs, bool transpose_lhs, bool transpose_rhs, zb_tensor out,
                          bool accumulate) {
  fast_call c = {.op = "matmul", .accumulate = accumulate};
  fast_input(&c, lhs);
  fast_input(&c, rhs);
  fast_output(&c, out);
  fast_bool(&c, "transpose_lhs", transpose_lhs);
  fast_bool(&c, "transpose_rhs", transpose_rhs);
  fast_check(&c, 2e-5f, 2e-5f);
  fast_free(&c, 0);
}

static void test_shapes(void) {
  static const shape shapes[] = {{1, 1, 1},    {1, 7, 5},      {7, 1, 5},      {5, 7, 1},      {3, 50, 17},
                                 {65, 97, 33}, {257, 390, 20}, {40, 1000, 64}, {300, 200, 150}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    for (int bits = 0; bits < 8; ++bits) {
      shape s = shapes[i];
      check_product(matrix(0, s.m, s.k, bits & 1), matrix(0, s.k, s.n, bits & 2), bits & 1, bits & 2,
                    fast_uniform(-1, 1, FAST_SHAPE(s.m, s.n)), bits & 4);
    }
  }
}

static void test_batches(void) {
  for (int bits = 0; bits < 8; ++bits) {
    for (int64_t m = 1; m < 40; m += 13) {
      check_product(matrix(6, m, 16, bits & 1), matrix(bits & 4 ? 0 : 6, 16, 24, bits & 2), bits & 1, bits & 2,
                    fast_uniform(-1, 1, FAST_SHAPE(6, m, 24)), false);
      check_product(matrix(bits & 4 ? 1 : 0, m, 16, bits & 1), matrix(6, 16, 24, bits & 2), bits & 1, bits & 2,
                    fast_uniform(-1, 1, FAST_SHAPE(6, m, 24)), true);
    }
  }
}

/* Heads that are a stride: [batch, time, heads, d] read as [batch, heads, time, d]. */
static void test_strides(void) {
  zb_tensor q = fast_swap(fast_uniform(-1, 1, FAST_SHAPE(2, 30, 5, 16)), 1, 2),
            k = fast_swap(fast_uniform(-1, 1, FAST_SHAPE(2, 40, 5, 16)), 1, 2);
  check_product(q, k, false, true, fast_tensor(ZB_F32, FAST_SHAPE(2, 5, 30, 40)), false);
  zb_tensor lhs =
      fast_swap(fast_uniform(-1, 1, FAST_SHAPE(3, 20, 8)), 1, 2); /* a transpose as a stride, batches fold not */
  check_product(lhs, fast_uniform(-1, 1, FAST_SHAPE(20, 6)), false, false, fast_tensor(ZB_F32, FAST_SHAPE(3, 8, 6)),
                false);
  zb_tensor wide = fast_uniform(-1, 1, FAST_SHAPE(3, 20, 30)); /* a slice of columns */
  wide.shape[2] = 10;
  check_product(wide, fast_uniform(-1, 1, FAST_SHAPE(10, 6)), false, false, fast_tensor(ZB_F32, FAST_SHAPE(3, 20, 6)),
                false);
  zb_tensor one = fast_uniform(-1, 1, FAST_SHAPE(7, 1, 12)); /* rows from a batch */
  one.strides[1] = 999;
  check_product(one, fast_uniform(-1, 1, FAST_SHAPE(12, 6)), false, false, fast_tensor(ZB_F32, FAST_SHAPE(7, 1, 6)),
                false);
}

static void test_empty(void) {
  check_product(fast_tensor(ZB_F32, FAST_SHAPE(4, 0)), fast_tensor(ZB_F32, FAST_SHAPE(0, 5)), false, false,
                fast_uniform(-1, 1, FAST_SHAPE(4, 5)), false);
  check_product(fast_tensor(ZB_F32, FAST_SHAPE(4, 0)), fast_tensor(ZB_F32, FAST_SHAPE(0, 5)), false, false,
                fast_uniform(-1, 1, FAST_SHAPE(4, 5)), true);
  check_product(fast_tensor(ZB_F32, FAST_SHAPE(0, 4)), fast_tensor(ZB_F32, FAST_SHAPE(4, 5)), false, false,
                fast_tensor(ZB_F32, FAST_SHAPE(0, 5)), false);
}

/* The bits do not depend on where operands lie: a plan may place the same product anywhere in the arena. */
static void test_addresses(void) {
  static const shape shapes[] = {{64, 128, 32}, {17, 33, 70}, {64, 64, 1024}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    shape s = shapes[i];
    fast_results first = {.error = NULL};
    for (int64_t shift = 0; shift < 40; shift += 5) {
      zb_tensor lhs = fast_tensor(ZB_F32, FAST_SHAPE(s.m * s.k + shift));
      zb_tensor rhs = fast_tensor(ZB_F32, FAST_SHAPE(s.k * s.n + 2 * shift));
      fast_call c = {.op = "matmul"};
      fast_input(&c, (zb_tensor){(float *)lhs.data + shift, ZB_F32, 2, {s.m, s.k}, {s.k, 1}});
      fast_input(&c, (zb_tensor){(float *)rhs.data + 2 * shift, ZB_F32, 2, {s.k, s.n}, {s.n, 1}});
      for (int64_t k = 0; k < s.m * s.k; ++k)
        ((float *)c.inputs[0].data)[k] = (float)(k * 7919 % 1000) * 0.001f;
      for (int64_t k = 0; k < s.k * s.n; ++k)
        ((float *)c.inputs[1].data)[k] = (float)(k * 104729 % 1000) * 0.001f;
      fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(s.m, s.n)));
      fast_results results = fast_run(&c, false, NULL);
      CU_ASSERT(results.error == NULL);
      if (shift == 0)
        first = results;
      else
        CU_ASSERT(memcmp(results.tensor[0].data, first.tensor[0].data, fast_bytes(&first.tensor[0])) == 0);
      if (shift != 0) fast_results_free(&results);
      free(lhs.data), free(rhs.data), free(c.outputs[0].data);
    }
    fast_results_free(&first);
  }
}

/* Neither stride is 1, or one is 0: operands of any strides are packed. */
static void test_any_strides(void) {
  zb_tensor x = fast_uniform(-1, 1, FAST_SHAPE(70, 90)), broadcast = fast_uniform(-1, 1, FAST_SHAPE(1, 45));
  zb_tensor spread = x;
  spread.shape[0] = 35, spread.shape[1] = 45, spread.strides[0] = 180, spread.strides[1] = 2;
  check_product(spread, fast_uniform(-1, 1, FAST_SHAPE(45, 33)), false, false, fast_tensor(ZB_F32, FAST_SHAPE(35, 33)),
                false);
  zb_tensor y = fast_uniform(-1, 1, FAST_SHAPE(90, 66));
  y.shape[0] = 45, y.shape[1] = 33, y.strides[0] = 132, y.strides[1] = 2;
  check_product(fast_uniform(-1, 1, FAST_SHAPE(20, 45)), y, false, false, fast_uniform(-1, 1, FAST_SHAPE(20, 33)),
                true);
  broadcast.shape[0] = 17, broadcast.strides[0] = 0;
  check_product(broadcast, fast_uniform(-1, 1, FAST_SHAPE(45, 33)), false, false,
                fast_tensor(ZB_F32, FAST_SHAPE(17, 33)), false);
}

static zb_tensor part_of(zb_tensor x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  x.data = (float *)x.data + row * x.strides[0] + column * x.strides[1];
  x.shape[0] = rows, x.shape[1] = columns;
  return x;
}

/* The bits of an element do not depend on what else is computed with it: a product may be cut anywhere, which tiles
 * rely on. */
static void check_cut(int64_t m, int64_t n, int64_t k, bool transposed) {
  zb_tensor lhs =
      transposed ? fast_swap(fast_uniform(-1, 1, FAST_SHAPE(k, m)), 0, 1) : fast_uniform(-1, 1, FAST_SHAPE(m, k));
  zb_tensor rhs =
      transposed ? fast_swap(fast_uniform(-1, 1, FAST_SHAPE(n, k)), 0, 1) : fast_uniform(-1, 1, FAST_SHAPE(k, n));
  fast_call c = {.op = "matmul"};
  fast_input(&c, lhs);
  fast_input(&c, rhs);
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(m, n)));
  fast_results whole = fast_run(&c, false, NULL);
  for (int64_t row = 0; row < m; row += 1 + m / 3)
    for (int64_t column = 0; column < n; column += 1 + n / 4) {
      int64_t rows = row + 1 + m / 3 < m ? 1 + m / 3 : m - row,
              columns = column + 1 + n / 4 < n ? 1 + n / 4 : n - column;
      fast_call part = {.op = "matmul"};
      fast_input(&part, part_of(lhs, row, rows, 0, k));
      fast_input(&part, part_of(rhs, 0, k, column, columns));
      fast_output(&part, fast_tensor(ZB_F32, FAST_SHAPE(rows, columns)));
      fast_results cut = fast_run(&part, false, NULL);
      bool equal = cut.error == NULL;
      for (int64_t i = 0; i < rows && equal; ++i)
        equal = memcmp((float *)cut.tensor[0].data + i * columns,
                       (float *)whole.tensor[0].data + (row + i) * n + column, (size_t)columns * sizeof(float)) == 0;
      CU_ASSERT(equal);
      fast_results_free(&cut);
      free(part.outputs[0].data);
    }
  fast_results_free(&whole);
  free(lhs.data), free(rhs.data), free(c.outputs[0].data);
}

static void test_cuts(void) {
  static const shape shapes[] = {{16, 36, 7}, {115, 70, 600}, {230, 530, 1030}, {40, 1100, 64}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    for (int transposed = 0; transposed < 2; ++transposed)
      check_cut(shapes[i].m, shapes[i].n, shapes[i].k, transposed);
}

/* An empty sum, with a bias, is the bias; a bias beside a sum that goes on is left to the reference. */
static void test_bias(void) {
  zb_tensor lhs = fast_tensor(ZB_F32, FAST_SHAPE(4, 0)), rhs = fast_tensor(ZB_F32, FAST_SHAPE(0, 5)),
            bias = fast_uniform(-1, 1, FAST_SHAPE(5));
  zb_tensor inputs[3] = {lhs, rhs, bias}, out = fast_uniform(-1, 1, FAST_SHAPE(4, 5));
  zb_kernel_call call = {.inputs = inputs, .input_count = 3, .outputs = &out, .output_count = 1};
  CU_ASSERT(zb_kernel_cpu("matmul", &call) != zb_kernel_reference("matmul"));
  CU_ASSERT(zb_kernel_cpu("matmul", &call)->run(&call) == NULL);
  for (int64_t i = 0; i < 4; ++i)
    CU_ASSERT(memcmp((float *)out.data + 5 * i, bias.data, 5 * sizeof(float)) == 0);
  call.accumulate = true;
  CU_ASSERT(zb_kernel_cpu("matmul", &call) == zb_kernel_reference("matmul"));
  free(lhs.data), free(rhs.data), free(bias.data), free(out.data);
}

int main(void) {
  CU_TestInfo tests[] = {{"shapes", test_shapes}, {"batches", test_batches},     {"strides", test_strides},
                         {"empty", test_empty},   {"addresses", test_addresses}, {"any strides", test_any_strides},
                         {"cuts", test_cuts},     {"bias", test_bias},           CU_TEST_INFO_NULL};
  return fast_main("fast matrix products", tests);
}
