/* Data movement on the CPU against the reference: copies of any strides and types, concat, slice_grad, gather. */
#include "test/kernels/fast.h"

static zb_tensor bytes_of(zb_dtype dtype, int rank, const int64_t *shape) {
  zb_tensor x = fast_tensor(dtype, rank, shape);
  for (size_t i = 0; i < fast_bytes(&x); ++i)
    ((uint8_t *)x.data)[i] = (uint8_t)(dtype == ZB_I1 ? i & 1 : i * 37 % 120);
  return x;
}

static void check_contiguous(zb_tensor x) {
  fast_call c = {.op = "contiguous"};
  fast_input(&c, x);
  fast_output(&c, fast_tensor(x.dtype, x.rank, x.shape));
  fast_check(&c, 0, 0);
  free(c.outputs[0].data);
}

static void test_contiguous(void) {
  static const zb_dtype types[] = {ZB_F32, ZB_I64, ZB_I32, ZB_I1, ZB_BF16};
  for (int k = 0; k < 5; ++k) {
    for (int64_t n = 1; n <= 67; n += 6) {
      zb_tensor x = bytes_of(types[k], FAST_SHAPE(3, 5, n, 18));
      check_contiguous(x);
      for (int a = 0; a < 4; ++a)
        for (int b = a + 1; b < 4; ++b)
          check_contiguous(fast_swap(x, a, b));
      check_contiguous(fast_swap(fast_swap(x, 0, 3), 1, 2));
      zb_tensor slice = x, spread = x;
      slice.shape[3] = 7;
      check_contiguous(slice);
      check_contiguous(fast_swap(slice, 2, 3));
      spread.shape[3] = 6, spread.strides[3] = 3;
      check_contiguous(spread);
      spread.strides[1] = 0;
      check_contiguous(spread);
      free(x.data);
    }
  }
  zb_tensor large = bytes_of(ZB_F32, FAST_SHAPE(300, 200));
  check_contiguous(large);
  check_contiguous(fast_swap(large, 0, 1));
  free(large.data);
}

static void test_concat(void) {
  for (int axis = 0; axis < 3; ++axis) {
    fast_call c = {.op = "concat"};
    int64_t shape[3] = {4, 6, 9}, total[3] = {4, 6, 9};
    total[axis] = 0;
    for (int i = 1; i <= 3; ++i) {
      shape[axis] = i * 3;
      total[axis] += shape[axis];
      fast_input(&c, fast_uniform(-1, 1, 3, shape));
    }
    int64_t swapped[3] = {shape[0], shape[2], shape[1]};
    free(c.inputs[1].data);
    shape[axis] = swapped[axis == 0 ? 0 : 3 - axis] = 6;
    c.inputs[1] = fast_swap(fast_uniform(-1, 1, 3, swapped), 1, 2);
    fast_output(&c, fast_tensor(ZB_F32, 3, total));
    fast_int(&c, "axis", axis);
    fast_check(&c, 0, 0);
    fast_free(&c, 0);
  }
}

static void test_slice_grad(void) {
  const int64_t shape[3] = {7, 20, 33};
  for (int64_t step = 1; step <= 3; ++step) {
    int64_t starts[3] = {1, 2, 0}, steps[3] = {1, 1, step}, sizes[3] = {6, 5, 33 / step};
    fast_call c = {.op = "slice_grad"};
    fast_input(&c, fast_uniform(-1, 1, 3, sizes));
    fast_output(&c, fast_uniform(-1, 1, 3, shape));
    fast_ints(&c, "starts", 3, starts);
    fast_ints(&c, "steps", 3, steps);
    fast_ints(&c, "shape", 3, shape);
    fast_check(&c, 0, 0);
    fast_free(&c, 0);
  }
}

static void check_gather(zb_dtype type, int axis, int64_t width, int accumulate) {
  const int64_t shape[3] = {5, 11, width};
  int64_t out[4] = {shape[0], shape[1], shape[2], 0};
  for (int d = 3; d > axis + 1; --d)
    out[d] = shape[d - 1];
  out[axis] = 3, out[axis + 1] = 4;
  zb_tensor indices = fast_tensor(type, FAST_SHAPE(3, 4));
  for (int64_t i = 0; i < 12; ++i) {
    int64_t index = i * 7 % shape[axis] - (i % 2) * shape[axis];
    if (type == ZB_I64)
      ((int64_t *)indices.data)[i] = index;
    else
      ((int32_t *)indices.data)[i] = (int32_t)index;
  }
  fast_call c = {.op = "gather"}, g = {.op = "gather_grad", .accumulate = accumulate == 1};
  fast_input(&c, fast_uniform(-1, 1, 3, shape));
  fast_input(&c, indices);
  fast_output(&c, fast_tensor(ZB_F32, 4, out));
  fast_int(&c, "axis", axis);
  fast_check(&c, 0, 0);
  fast_input(&g, indices);
  fast_input(&g, fast_uniform(-1, 1, 4, out));
  fast_output(&g, fast_uniform(-1, 1, 3, shape));
  fast_int(&g, "axis", axis);
  fast_ints(&g, "shape", 3, shape);
  fast_check(&g, 1e-6f, 1e-6f);
  fast_free(&c, 0);
  fast_free(&g, 1);
}

static void test_gather(void) {
  for (int axis = 0; axis < 3; ++axis)
    for (int64_t width = 11; width < 300; width += 96)
      for (int k = 0; k < 4; ++k)
        check_gather(k & 1 ? ZB_I64 : ZB_I32, axis, width, k >> 1);
}

static void test_bad_index(void) {
  fast_call c = {.op = "gather"};
  fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(5, 2)));
  fast_input(&c, fast_tensor(ZB_I64, FAST_SHAPE(1)));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(1, 2)));
  for (int64_t bad = -6; bad <= 5; bad += 11) {
    *(int64_t *)c.inputs[1].data = bad;
    fast_results r = fast_run(&c, false, NULL);
    CU_ASSERT(r.error != NULL);
    fast_results_free(&r);
  }
  fast_free(&c, 0);
}

int main(void) {
  CU_TestInfo tests[] = {{"contiguous", test_contiguous}, {"concat", test_concat},
                         {"slice_grad", test_slice_grad}, {"gather", test_gather},
                         {"bad index", test_bad_index},   CU_TEST_INFO_NULL};
  return fast_main("fast data movement", tests);
}
