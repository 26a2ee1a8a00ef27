/* Products by cuBLASLt: what descriptions a product becomes (golden text), numbers through an emulated library that
 * computes from the descriptions alone, one choice of an algorithm a shape, and the own kernel where the library does
 * not take a product. */
#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/ref/ref.h"
#include "kernels/cuda/blas.h"
#include "test/kernels/cuda/blas.h"
#include "test/kernels/cuda/driver.h"
#include "test/suite.h"

/* A product of made-up numbers. Operands lie in `lhs` and `rhs` with the strides given. */
typedef struct product {
  const char *name;
  zb_dtype in, out;
  bool transpose_lhs, transpose_rhs, accumulate;
  int rank;
  int64_t lhs_shape[4], lhs_strides[4], rhs_shape[4], rhs_strides[4], out_shape[4];
  int64_t lhs_offset;
  int calls;               /* of the library; 0: the own kernel */
  const char *description; /* of the last call */
  bool bias;
} product;

/* A product a row. */
/* clang-format off */
static const product rows[] = {
    {"plain", ZB_F32, ZB_F32, false, false, false, 2, {3, 5}, {5, 1}, {5, 4}, {4, 1}, {3, 4}, 0, 1,
     "A f32 N 4x5 ld 4 stride 0; B f32 N 5x3 ld 5 stride 0; D f32 N 4x3 ld 4 stride 0; "
     "1 batches, beta 0, aligned 101010, schemes 2", false},
    {"transposed lhs: dW of a linear layer into f32", ZB_BF16, ZB_F32, true, false, true, 2, {6, 3}, {3, 1},
     {6, 4}, {4, 1}, {3, 4}, 0, 1,
     "A bf16 N 4x6 ld 4 stride 0; B bf16 T 3x6 ld 3 stride 0; D f32 N 4x3 ld 4 stride 0; "
     "1 batches, beta 1, aligned 101010, schemes 2", false},
    {"transposed rhs: dX of a linear layer", ZB_BF16, ZB_BF16, false, true, false, 2, {3, 4}, {4, 1}, {6, 4},
     {4, 1}, {3, 6}, 0, 1,
     "A bf16 T 4x6 ld 4 stride 0; B bf16 N 4x3 ld 4 stride 0; D bf16 N 6x3 ld 6 stride 0; "
     "1 batches, beta 0, aligned 101010, schemes 2", false},
    {"transposed by strides", ZB_F32, ZB_F32, false, false, false, 2, {3, 5}, {1, 3}, {5, 4}, {1, 5}, {3, 4}, 0, 1,
     "A f32 T 5x4 ld 5 stride 0; B f32 T 3x5 ld 3 stride 0; D f32 N 4x3 ld 4 stride 0; "
     "1 batches, beta 0, aligned 101010, schemes 2", false},
    {"rows that lie apart, at an odd address", ZB_F16, ZB_F16, false, false, false, 2, {3, 5}, {9, 1}, {5, 4},
     {8, 1}, {3, 4}, 1, 1,
     "A f16 N 4x5 ld 8 stride 0; B f16 N 5x3 ld 9 stride 0; D f16 N 4x3 ld 4 stride 0; "
     "1 batches, beta 0, aligned 100210, schemes 2", false},
    {"batches that share the rhs are rows", ZB_F32, ZB_F32, false, false, false, 3, {2, 3, 5}, {15, 5, 1},
     {1, 5, 4}, {20, 4, 1}, {2, 3, 4}, 0, 1,
     "A f32 N 4x5 ld 4 stride 0; B f32 N 5x6 ld 5 stride 0; D f32 N 4x6 ld 4 stride 0; "
     "1 batches, beta 0, aligned 101010, schemes 2", false},
    {"batches", ZB_F32, ZB_F32, false, false, false, 3, {2, 3, 5}, {15, 5, 1}, {2, 5, 4}, {20, 4, 1}, {2, 3, 4}, 0, 1,
     "A f32 N 4x5 ld 4 stride 20; B f32 N 5x3 ld 5 stride 15; D f32 N 4x3 ld 4 stride 12; "
     "2 batches, beta 0, aligned 101010, schemes 2", false},
    {"batches that share the lhs", ZB_F32, ZB_F32, false, false, false, 3, {1, 3, 5}, {15, 5, 1}, {2, 5, 4},
     {20, 4, 1}, {2, 3, 4}, 0, 1,
     "A f32 N 4x5 ld 4 stride 20; B f32 N 5x3 ld 5 stride 0; D f32 N 4x3 ld 4 stride 12; "
     "2 batches, beta 0, aligned 101010, schemes 2", false},
    {"heads of tokens: q k^T, two batch dimensions that do not merge", ZB_F32, ZB_F32, false, true, false, 4,
     {2, 3, 4, 2}, {24, 2, 6, 1}, {2, 3, 5, 2}, {30, 2, 6, 1}, {2, 3, 4, 5}, 0, 2,
     "A f32 T 2x5 ld 6 stride 2; B f32 N 2x4 ld 6 stride 2; D f32 N 5x4 ld 5 stride 20; "
     "3 batches, beta 0, aligned 81010, schemes 2", false},
    {"every other element: the own kernel", ZB_F32, ZB_F32, false, false, false, 2, {3, 5}, {10, 2}, {5, 4},
     {4, 1}, {3, 4}, 0, 0, NULL, false},
    {"one row for all: the own kernel", ZB_F32, ZB_F32, false, false, false, 2, {3, 5}, {0, 1}, {5, 4}, {4, 1},
     {3, 4}, 0, 0, NULL, false},
    {"a bias a column: the product is added to it", ZB_BF16, ZB_BF16, false, false, false, 3, {2, 3, 5}, {15, 5, 1},
     {1, 5, 4}, {20, 4, 1}, {2, 3, 4}, 0, 1,
     "A bf16 N 4x5 ld 4 stride 0; B bf16 N 5x6 ld 5 stride 0; D bf16 N 4x6 ld 4 stride 0; "
     "1 batches, beta 1, aligned 101010, schemes 2", true},
    {"a bias, aligned rows", ZB_BF16, ZB_BF16, false, false, false, 2, {3, 8}, {8, 1}, {8, 16}, {16, 1}, {3, 16}, 0, 1,
     "A bf16 N 16x8 ld 16 stride 0; B bf16 N 8x3 ld 8 stride 0; D bf16 N 16x3 ld 16 stride 0; "
     "bias aligned 10, 1 batches, beta 0, aligned 101010, schemes 2", true},
    {"a bias, rows that are not aligned, into f32", ZB_BF16, ZB_F32, false, false, false, 2, {3, 5}, {5, 1}, {5, 4},
     {4, 1}, {3, 4}, 0, 1,
     "A bf16 N 4x5 ld 4 stride 0; B bf16 N 5x3 ld 5 stride 0; D f32 N 4x3 ld 4 stride 0; "
     "bias aligned 10, 1 batches, beta 0, aligned 101010, schemes 2", true},
    {"a bias that is added, rows that are not aligned: the own kernel", ZB_BF16, ZB_BF16, false, false, true, 2, {3, 5},
     {5, 1}, {5, 4}, {4, 1}, {3, 4}, 0, 0, NULL, true},
    {"a bias under a batch", ZB_F32, ZB_F32, false, false, true, 3, {2, 3, 5}, {15, 5, 1}, {2, 5, 4}, {20, 4, 1},
     {2, 3, 4}, 0, 1,
     "A f32 N 4x5 ld 4 stride 20; B f32 N 5x3 ld 5 stride 15; D f32 N 4x3 ld 4 stride 12; "
     "bias aligned 10, 2 batches, beta 1, aligned 101010, schemes 2", true},
    {"a bias, every other element: the own kernel", ZB_F32, ZB_F32, false, false, false, 2, {3, 5}, {10, 2},
     {5, 4}, {4, 1}, {3, 4}, 0, 0, NULL, true},
    {"a vector", ZB_F32, ZB_F32, false, false, false, 2, {1, 5}, {5, 1}, {5, 1}, {1, 1}, {1, 1}, 0, 1,
     "A f32 N 1x5 ld 1 stride 0; B f32 N 5x1 ld 5 stride 0; D f32 N 1x1 ld 1 stride 0; "
     "1 batches, beta 0, aligned 101010, schemes 2", false},
};
/* clang-format on */
enum { LHS, RHS, OUT, WANT, BIAS };
enum { ROWS = sizeof rows / sizeof rows[0], BUFFER = 4096 };

static _Alignas(64) uint64_t memory[6][BUFFER / 4]; /* by LHS.. */

static zb_tensor operand(int buffer, zb_dtype dtype, int rank, const int64_t *shape, const int64_t *strides,
                         int64_t offset) {
  zb_tensor x = {.data = memory[buffer], .dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; stride *= shape[i--]) {
    x.shape[i] = shape[i];
    x.strides[i] = strides ? strides[i] : stride;
  }
  for (int64_t i = 0; i < 200; ++i)
    zb_ref_set(&x, i, (double)((i * 37 + buffer * 11) % 29 - 14) / 8);
  x.data = (char *)x.data + offset * (int64_t)zb_dtype_bytes(dtype);
  return x;
}

static bool run_row(const product *row) {
  int64_t columns = row->out_shape[row->rank - 1];
  zb_tensor inputs[3] = {operand(LHS, row->in, row->rank, row->lhs_shape, row->lhs_strides, row->lhs_offset),
                         operand(RHS, row->in, row->rank, row->rhs_shape, row->rhs_strides, 0),
                         operand(BIAS, row->out, 1, &columns, NULL, 0)};
  zb_tensor out = operand(2, row->out, row->rank, row->out_shape, NULL, 0),
            want = operand(2, row->out, row->rank, row->out_shape, NULL, 0);
  want.data = memory[3];
  memcpy(memory[3], memory[2], sizeof memory[3]);
  zb_attr attrs[2] = {{.name = "transpose_lhs", .kind = ZB_ATTR_BOOL, .i = row->transpose_lhs},
                      {.name = "transpose_rhs", .kind = ZB_ATTR_BOOL, .i = row->transpose_rhs}};
  zb_kernel_call call = {.inputs = inputs,
                         .input_count = row->bias ? 3 : 2,
                         .outputs = &out,
                         .output_count = 1,
                         .attrs = {attrs, 2},
                         .accumulate = row->accumulate};
  zb_kernel_call reference = call;
  reference.outputs = &want;
  const zb_cuda_kernel *kernel;
  zb_status status = zb_cuda_kernel_find("matmul", &call, NULL, &kernel);
  if (!status) status = kernel->run(&call, &emulated_launcher);
  if (status) fprintf(stderr, "%s: %s", row->name, zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  CU_ASSERT_PTR_NULL(zb_kernel_reference("matmul")->run(&reference));
  /* All numbers are small multiples of 1/64: sums are exact in f32, and equal in bf16 after one rounding. */
  return memcmp(memory[2], memory[3], sizeof memory[2]) == 0;
}

static void products_become_descriptions(void) {
  for (int i = 0; i < ROWS; ++i) {
    (void)emulated_blas_products();
    bool equal = run_row(&rows[i]);
    int calls = emulated_blas_products();
    if (!equal || calls != rows[i].calls || (calls && strcmp(emulated_blas_last(), rows[i].description) != 0)) {
      fprintf(stderr, "%s: %s, %d calls, expected %d\n  got      %s\n  expected %s\n", rows[i].name,
              equal ? "right" : "wrong numbers", calls, rows[i].calls, calls ? emulated_blas_last() : "",
              rows[i].description ? rows[i].description : "");
      CU_FAIL("see standard error");
    }
  }
}

static void an_algorithm_is_chosen_once(void) {
  int refused = 0, before = zb_cuda_blas_products(emulated_launcher.blas, &refused);
  for (int i = 0; i < ROWS; ++i)
    CU_ASSERT(run_row(&rows[i]));
  CU_ASSERT_EQUAL(zb_cuda_blas_products(emulated_launcher.blas, &refused), before);
  CU_ASSERT_EQUAL(refused, 0);
}

static void what_the_library_refuses_runs_on_the_own_kernel(void) {
  product row = rows[0];
  row.lhs_shape[0] = row.out_shape[0] = 7; /* a new shape */
  int refused = 0;
  emulated_blas_refuse(true);
  (void)emulated_blas_products();
  CU_ASSERT(run_row(&row));
  emulated_blas_refuse(false);
  CU_ASSERT(run_row(&row)); /* remembered */
  CU_ASSERT_EQUAL(emulated_blas_products(), 0);
  (void)zb_cuda_blas_products(emulated_launcher.blas, &refused);
  CU_ASSERT_EQUAL(refused, 1);
}

static void tf32_is_an_option(void) {
  zb_cuda_blas *exact = emulated_launcher.blas;
  zb_cuda_blas_options options = {.tf32 = true};
  CU_ASSERT_PTR_NULL(zb_cuda_blas_create(emulated_launcher.api, &options, &emulated_launcher.blas));
  CU_ASSERT(run_row(&rows[0]));
  CU_ASSERT_PTR_NOT_NULL(strstr(emulated_blas_last(), "tf32"));
  CU_ASSERT(run_row(&rows[1])); /* bf16 has no such choice */
  CU_ASSERT_PTR_NULL(strstr(emulated_blas_last(), "tf32"));
  zb_cuda_blas_destroy(emulated_launcher.blas);
  emulated_launcher.blas = exact;
}

/* The gradients of a linear layer, x of 6 x 3, dout of 6 x 4: the sums of dout into a place of their own, x^T dout
 * added into the weights'. */
static void gradients_of_weights_and_bias(void) {
  static const int64_t axes[] = {0};
  static const zb_attr sum_attrs[] = {{.name = "axes", .kind = ZB_ATTR_INTS, .ints = axes, .count = 1}};
  static const zb_attr product_attrs[] = {{.name = "transpose_lhs", .kind = ZB_ATTR_BOOL, .i = 1}};
  for (int way = 0; way < 4; ++way) {                              /* f32; bf16; refused by the library; another dout */
    zb_dtype in = way == 1 ? ZB_BF16 : way == 2 ? ZB_F16 : ZB_F32; /* f16: a product that the library has not met */
    const int64_t x_shape[] = {6, 3}, dout_shape[] = {6, 4}, weights_shape[] = {3, 4}, bias_shape[] = {4};
    zb_tensor x = operand(0, in, 2, x_shape, NULL, 0), dout = operand(1, in, 2, dout_shape, NULL, 0),
              other = operand(5, in, 2, dout_shape, NULL, 0);
    zb_tensor weights = operand(2, ZB_F32, 2, weights_shape, NULL, 0),
              bias = operand(3, ZB_F32, 1, bias_shape, NULL, 0);
    zb_tensor inputs[] = {x, way == 3 ? other : dout}, want[2] = {weights, bias};
    static _Alignas(64) float memory_of_want[2][256];
    zb_kernel_call calls[2] = {
        {.inputs = &dout, .input_count = 1, .outputs = &bias, .output_count = 1, .attrs = {sum_attrs, 1}},
        {.inputs = inputs,
         .input_count = 2,
         .outputs = &weights,
         .output_count = 1,
         .attrs = {product_attrs, 1},
         .accumulate = true}};
    zb_cuda_item items[2] = {{.call = &calls[0]}, {.call = &calls[1]}};
    zb_cuda_program *program = NULL;
    for (int i = 0; i < 2; ++i) {
      want[i].data = memcpy(memory_of_want[i], i ? bias.data : weights.data, sizeof memory_of_want[i]);
      CU_ASSERT_PTR_NULL(zb_cuda_kernel_find(i ? "matmul" : "reduce_sum", &calls[i], NULL, &items[i].kernel));
    }
    emulated_blas_refuse_gradients(way == 2);
    (void)emulated_blas_products();
    CU_ASSERT_PTR_NULL_FATAL(zb_cuda_program_create(items, 2, &emulated_launcher, &program));
    CU_ASSERT_EQUAL(zb_cuda_program_launches(program), way == 3 ? 2 : 1);
    for (int i = 0; i < zb_cuda_program_launches(program); ++i)
      CU_ASSERT_PTR_NULL(zb_cuda_program_run(program, i, &emulated_launcher, 0));
    CU_ASSERT_EQUAL(emulated_blas_products(), 1);
    const char *told = strstr(emulated_blas_last(), "bias gradient aligned 10, 1 batches, beta 1");
    CU_ASSERT((told != NULL) == (way < 2));
    calls[0].outputs = &want[1];
    calls[1].outputs = &want[0];
    CU_ASSERT_PTR_NULL(zb_kernel_reference("reduce_sum")->run(&calls[0]));
    CU_ASSERT_PTR_NULL(zb_kernel_reference("matmul")->run(&calls[1]));
    CU_ASSERT(memcmp(weights.data, want[0].data, sizeof(float) * 12) == 0 &&
              memcmp(bias.data, want[1].data, sizeof(float) * 4) == 0);
    zb_cuda_program_destroy(program);
    emulated_blas_refuse_gradients(false);
  }
}

static void nothing_leaks_and_memory_can_end(void) {
  int alive = emulated_blas_alive();
  zb_cuda_blas *kept = emulated_launcher.blas;
  for (uint64_t n = 1; n < 6; ++n) {
    zb_cuda_blas *blas = NULL;
    zb_allocation_fail_at(n);
    zb_status status = zb_cuda_blas_create(emulated_launcher.api, NULL, &blas);
    emulated_launcher.blas = blas;
    bool done = status == NULL;
    zb_tensor x = operand(0, ZB_F32, 2, (int64_t[]){2, 2}, NULL, 0),
              y = operand(2, ZB_F32, 2, (int64_t[]){2, 2}, NULL, 0);
    zb_tensor inputs[2] = {x, x};
    zb_kernel_call call = {.inputs = inputs, .input_count = 2, .outputs = &y, .output_count = 1};
    const zb_cuda_kernel *kernel;
    if (done && !status) status = zb_cuda_kernel_find("matmul", &call, NULL, &kernel);
    if (done && !status) status = kernel->run(&call, &emulated_launcher);
    zb_allocation_fail_at(0);
    CU_ASSERT(n > 2 ? status == NULL : zb_status_code(status) == ZB_MEMORY);
    zb_status_free(status);
    zb_cuda_blas_destroy(blas);
    CU_ASSERT_EQUAL(emulated_blas_alive(), alive);
  }
  emulated_launcher.blas = kept;
}

static int open_launcher(void) {
  if (emulated_suite_open()) return 1;
  emulated_blas(emulated_api());
  return zb_cuda_blas_create(emulated_launcher.api, NULL, &emulated_launcher.blas) ? 1 : 0;
}

static int close_launcher(void) {
  zb_cuda_blas_destroy(emulated_launcher.blas);
  emulated_launcher.blas = NULL;
  return emulated_suite_close() || emulated_blas_alive();
}

SUITE_MAIN_WITH("products by cuBLASLt, emulated", open_launcher, close_launcher,
                {"products become descriptions", products_become_descriptions},
                {"an algorithm is chosen once a shape", an_algorithm_is_chosen_once},
                {"what the library refuses runs on the own kernel", what_the_library_refuses_runs_on_the_own_kernel},
                {"TF32 is an option", tf32_is_an_option},
                {"gradients of weights and bias are one call", gradients_of_weights_and_bias},
                {"nothing leaks, and memory can end", nothing_leaks_and_memory_can_end})
