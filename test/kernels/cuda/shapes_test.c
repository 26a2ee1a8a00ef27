/* CUDA kernels at the sizes where their plans change, which the cases of all kernels do not reach: heads of 65 to 256
 * columns, sums that are split over blocks, thousands of indices, many parameters in one optimizer launch, labels and
 * indices that are out of range. */
#include "test/kernels/fast.h"

#include "kernels/cpu/ref/ref.h"
#include "test/kernels/cuda/driver.h"
#include "test/suite.h"

static zb_kernel_call call_of(const fast_call *c, const zb_tensor *outputs) {
  return (zb_kernel_call){.inputs = c->inputs,
                          .input_count = c->input_count,
                          .outputs = outputs,
                          .output_count = c->output_count,
                          .attrs = {c->attrs, c->attr_count},
                          .accumulate = c->accumulate};
}

static zb_tensor copy_of(const zb_tensor *x) {
  zb_tensor out = fast_tensor(x->dtype, x->rank, x->shape);
  memcpy(out.data, x->data, (size_t)fast_elements(x) * zb_dtype_bytes(x->dtype));
  return out;
}

static double value(const zb_tensor *x, int64_t i) { return zb_ref_get(x, i); }

/* Runs the call on the kernel that is chosen for it, with these operands and results. */
static void run_once(const fast_call *c, const zb_tensor *inputs, const zb_tensor *outputs) {
  zb_kernel_call call = call_of(c, outputs);
  const zb_cuda_kernel *kernel;
  call.inputs = inputs;
  zb_status status = zb_cuda_kernel_find(c->op, &call, NULL, &kernel);
  if (!status) status = kernel->run(&call, &emulated_launcher);
  if (status) fprintf(stderr, "%s: %s", c->op, zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
}

/* Runs the call on the reference and, in every order, emulated; all results within `scaled` of the largest +
 * `absolute`. */
static void check(const fast_call *c, double scaled, double absolute) {
  zb_tensor want[FAST_RESULTS], got[FAST_RESULTS];
  for (int i = 0; i < c->output_count; ++i)
    want[i] = copy_of(&c->outputs[i]);
  zb_kernel_call reference = call_of(c, want);
  CU_ASSERT_PTR_NULL_FATAL(zb_kernel_reference(c->op)->run(&reference));
  for (int order = 0; order < ZB_ORDER_COUNT; ++order) {
    zb_emulated_set_order((zb_emulated_order)order);
    for (int i = 0; i < c->output_count; ++i)
      got[i] = copy_of(&c->outputs[i]);
    run_once(c, c->inputs, got);
    for (int i = 0; i < c->output_count; ++i) {
      double largest = 0, error = 0;
      for (int64_t k = 0; k < fast_elements(&want[i]); ++k) {
        largest = fmax(largest, fabs(value(&want[i], k)));
        error = fmax(error, fabs(value(&want[i], k) - value(&got[i], k)));
      }
      if (!(error <= scaled * largest + absolute))
        fprintf(stderr, "%s, result %d: error %g of %g\n", c->op, i, error, largest);
      CU_ASSERT(error <= scaled * largest + absolute);
      free(got[i].data);
    }
  }
  zb_emulated_set_order(ZB_ORDER_FORWARD);
  for (int i = 0; i < c->output_count; ++i)
    free(want[i].data);
}

/* The same values an element further on, where no group of 16 bytes can be read at once, must give the same bits. */
static void check_moved(const fast_call *c) {
  zb_tensor inputs[FAST_OPERANDS], outputs[2][FAST_RESULTS];
  for (int i = 0; i < c->output_count; ++i) {
    outputs[0][i] = copy_of(&c->outputs[i]);
    outputs[1][i] = copy_of(&c->outputs[i]);
  }
  for (int i = 0; i < c->input_count; ++i) {
    inputs[i] = c->inputs[i];
    if (inputs[i].rank < 0) continue;
    size_t bytes = zb_dtype_bytes(inputs[i].dtype);
    inputs[i] = copy_of(&c->inputs[i]);
    memmove((char *)inputs[i].data + bytes, inputs[i].data, (size_t)fast_elements(&inputs[i]) * bytes);
    inputs[i].data = (char *)inputs[i].data + bytes;
  }
  run_once(c, c->inputs, outputs[0]);
  run_once(c, inputs, outputs[1]);
  for (int i = 0; i < c->output_count; ++i) {
    size_t bytes = (size_t)fast_elements(&c->outputs[i]) * zb_dtype_bytes(c->outputs[i].dtype);
    CU_ASSERT_EQUAL(memcmp(outputs[0][i].data, outputs[1][i].data, bytes), 0);
    free(outputs[0][i].data);
    free(outputs[1][i].data);
  }
  for (int i = 0; i < c->input_count; ++i)
    if (inputs[i].rank >= 0) free((char *)inputs[i].data - zb_dtype_bytes(inputs[i].dtype));
}

static void release(fast_call *c) {
  for (int i = 0; i < c->input_count; ++i)
    free(c->inputs[i].data);
  for (int i = 0; i < c->output_count; ++i)
    free(c->outputs[i].data);
}

/* Rounds a tensor to a narrow type, in place of itself. */
static void narrow(zb_tensor *x, zb_dtype dtype) {
  if (dtype == ZB_F32) return;
  zb_tensor out = fast_tensor(dtype, x->rank, x->shape);
  for (int64_t i = 0; i < fast_elements(x); ++i)
    zb_ref_set(&out, i, (double)((const float *)x->data)[i]);
  free(x->data);
  *x = out;
}

typedef struct attention_shape {
  int64_t queries, keys, heads, kv_heads, width, value_width;
  bool causal, mask;
  zb_dtype dtype;
} attention_shape;

/* Checks attention and its gradient on one batch of made-up values. */
static void check_attention(const attention_shape *s, double forward_scaled, double back_scaled, double back_absolute) {
  fast_call c = {.op = "attention", .input_count = 4, .output_count = 2, .attr_count = 1};
  c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(1, s->queries, s->heads, s->width));
  c.inputs[1] = fast_uniform(-1, 1, FAST_SHAPE(1, s->keys, s->kv_heads, s->width));
  c.inputs[2] = fast_uniform(-1, 1, FAST_SHAPE(1, s->keys, s->kv_heads, s->value_width));
  c.inputs[3] = (zb_tensor){.rank = -1};
  if (s->mask) c.inputs[3] = fast_uniform(-3, 0, FAST_SHAPE(1, 1, s->queries, s->keys));
  c.outputs[0] = fast_uniform(0, 1, FAST_SHAPE(1, s->queries, s->heads, s->value_width));
  c.outputs[1] = fast_uniform(0, 1, FAST_SHAPE(1, s->heads, s->queries));
  c.attrs[0] = (zb_attr){.name = "causal", .kind = ZB_ATTR_BOOL, .i = s->causal};
  for (int k = 0; k < 3; ++k)
    narrow(&c.inputs[k], s->dtype);
  narrow(&c.outputs[0], s->dtype);
  check(&c, forward_scaled, 0);
  zb_kernel_call forward = call_of(&c, c.outputs);
  CU_ASSERT_PTR_NULL(zb_kernel_reference("attention")->run(&forward));
  fast_call back = c;
  back.op = "attention_grad";
  back.input_count = 7;
  back.inputs[4] = c.outputs[0];
  back.inputs[5] = c.outputs[1];
  back.inputs[6] = fast_uniform(-1, 1, 4, c.outputs[0].shape);
  narrow(&back.inputs[6], s->dtype);
  back.output_count = 3;
  for (int k = 0; k < 3; ++k) {
    back.outputs[k] = fast_uniform(0, 1, 4, c.inputs[k].shape);
    narrow(&back.outputs[k], s->dtype);
  }
  check(&back, back_scaled, back_absolute);
  release(&back);
}

static void attention_of_wide_heads(void) {
  static const attention_shape shapes[] = {{40, 70, 2, 1, 100, 72, true, false, ZB_F32},
                                           {33, 33, 2, 2, 128, 128, true, false, ZB_F32},
                                           {5, 37, 1, 1, 200, 130, false, false, ZB_F32},
                                           {33, 1, 1, 1, 256, 256, true, false, ZB_F32}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    check_attention(&shapes[i], 1e-5, 2e-5, 3e-7); /* one key: dq and dk are differences of equal sums */
}

/* Tensor cores: several tiles of 64 queries and keys, heads of 64 and 128 columns, groups, a cut last tile, queries
 * that see nothing, a mask. */
static void check_tensor_cores(void) {
  static const attention_shape shapes[] = {
      {130, 130, 2, 1, 64, 64, true, false, ZB_BF16}, {70, 200, 2, 2, 128, 64, true, false, ZB_BF16},
      {65, 129, 1, 1, 40, 128, false, true, ZB_BF16}, {150, 150, 4, 1, 64, 48, true, false, ZB_BF16},
      {33, 300, 4, 2, 16, 64, true, false, ZB_F16},   {97, 33, 4, 2, 128, 128, true, false, ZB_F16},
      {70, 197, 2, 1, 72, 64, false, false, ZB_F16},  {130, 60, 2, 2, 64, 32, true, false, ZB_BF16}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    double digit = shapes[i].dtype == ZB_BF16 ? 0x1p-7 : 0x1p-10;
    check_attention(&shapes[i], digit, digit, 0);
  }
}
static void attention_on_tensor_cores(void) { check_tensor_cores(); }
static void attention_on_warpgroups(void) {
  emulated_launcher.warpgroups = true;
  check_tensor_cores();
  emulated_launcher.warpgroups = false;
}

static struct kept_launch {
  CUfunction function;
  unsigned blocks;
  zb_attention_args args;
} kept[8];
static int kept_count;

static CUresult keep_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                            void **parameters, void **extra) {
  (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes, (void)stream,
      (void)extra;
  kept[kept_count] = (struct kept_launch){.function = function, .blocks = grid_x};
  memcpy(&kept[kept_count++].args, parameters[0], sizeof kept[0].args);
  return CUDA_SUCCESS;
}

/* A tensor [.., .., .., ..] at a made-up address, which nothing reads. */
static zb_tensor nowhere(uintptr_t address, zb_dtype dtype, int rank, const int64_t *shape) {
  zb_tensor x = {.data = (void *)address, .dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; stride *= shape[i--]) {
    x.shape[i] = shape[i];
    x.strides[i] = stride;
  }
  return x;
}

/* The statistics of 64 heads x 40,000 queries fill more than half of the scratch: one element of the batch at a time.
 * Heads of which one does not fit are computed in f32, which needs none. */
static void gradients_of_many_queries_in_parts(void) {
  enum { HEADS = 64, KV_HEADS = 2, QUERIES = 40000, KEYS = 70, WIDTH = 64 };
  const int64_t q[] = {3, QUERIES, HEADS, WIDTH}, k[] = {3, KEYS, KV_HEADS, WIDTH}, lse[] = {3, HEADS, QUERIES};
  zb_tensor inputs[7] = {
      nowhere(1 << 20, ZB_BF16, 4, q), nowhere(2 << 20, ZB_BF16, 4, k),  nowhere(3 << 20, ZB_BF16, 4, k), fast_absent(),
      nowhere(4 << 20, ZB_BF16, 4, q), nowhere(5 << 20, ZB_F32, 3, lse), nowhere(6 << 20, ZB_BF16, 4, q)};
  zb_tensor outputs[3] = {nowhere(7 << 20, ZB_BF16, 4, q), nowhere(8 << 20, ZB_BF16, 4, k),
                          nowhere(9 << 20, ZB_BF16, 4, k)};
  zb_kernel_call call = {.inputs = inputs, .input_count = 7, .outputs = outputs, .output_count = 3};
  const zb_cuda_kernel *kernel;
  zb_cuda_api api = *emulated_launcher.api;
  zb_cuda_launcher on = emulated_launcher;
  api.cuLaunchKernel = keep_launch;
  on.api = &api;
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_kernel_find("attention_grad", &call, NULL, &kernel));
  kept_count = 0;
  CU_ASSERT_PTR_NULL(kernel->run(&call, &on));
  CU_ASSERT_EQUAL(kept_count, 6);
  for (int i = 0; i < kept_count; ++i) {
    const zb_attention_args *a = &kept[i].args;
    uintptr_t part = (uintptr_t)(i / 2), q_bytes = part * QUERIES * HEADS * WIDTH * 2,
              k_bytes = part * KEYS * KV_HEADS * WIDTH * 2;
    CU_ASSERT_EQUAL(a->batch, 1);
    CU_ASSERT_EQUAL(kept[i].blocks, i % 2 ? KV_HEADS * 2 : HEADS * QUERIES / ZB_FLASH_ROWS);
    CU_ASSERT((uintptr_t)a->q.data == (1 << 20) + q_bytes && (uintptr_t)a->k.data == (2 << 20) + k_bytes &&
              (uintptr_t)a->v.data == (3 << 20) + k_bytes);
    CU_ASSERT((uintptr_t)a->out.data == (4 << 20) + q_bytes && (uintptr_t)a->dout.data == (6 << 20) + q_bytes &&
              !a->mask);
    CU_ASSERT((uintptr_t)a->lse == (5 << 20) + part * QUERIES * HEADS * 4 && (uintptr_t)a->dq == (7 << 20) + q_bytes);
    CU_ASSERT((uintptr_t)a->dk == (8 << 20) + k_bytes && (uintptr_t)a->dv == (9 << 20) + k_bytes);
  }
  CUfunction on_tensor_cores = kept[0].function;
  inputs[0].shape[1] = inputs[4].shape[1] = inputs[5].shape[2] = inputs[6].shape[1] = outputs[0].shape[1] =
      2 * QUERIES; /* rows of other batches overlap */
  outputs[0].strides[0] *= 2;
  kept_count = 0;
  CU_ASSERT_PTR_NULL(zb_cuda_kernel_find("attention_grad", &call, NULL, &kernel));
  CU_ASSERT_PTR_NULL(kernel->run(&call, &on));
  CU_ASSERT(kept_count == 2 && kept[0].function != on_tensor_cores && kept[0].args.batch == 3);
}

/* The function that a call of attention launches. */
static CUfunction launched_by(const zb_kernel_call *call, bool warpgroups) {
  const zb_cuda_kernel *kernel;
  zb_cuda_api api = *emulated_launcher.api;
  zb_cuda_launcher on = emulated_launcher;
  api.cuLaunchKernel = keep_launch;
  on.api = &api;
  on.warpgroups = warpgroups;
  kept_count = 0;
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_kernel_find("attention", call, NULL, &kernel));
  CU_ASSERT_PTR_NULL(kernel->run(call, &on));
  CU_ASSERT_EQUAL(kept_count, 1);
  return kept[0].function;
}

/* Compute capability 9.0 has own kernels for calls without a mask, with a scale above 0 and lengths that an int holds.
 */
static void calls_that_warpgroups_take(void) {
  const int64_t q[] = {2, 100, 4, 64}, k[] = {2, 100, 2, 64}, lse[] = {2, 4, 100}, mask[] = {100, 100};
  zb_tensor inputs[4] = {nowhere(1 << 20, ZB_BF16, 4, q), nowhere(2 << 20, ZB_BF16, 4, k),
                         nowhere(3 << 20, ZB_BF16, 4, k), fast_absent()};
  zb_tensor outputs[2] = {nowhere(4 << 20, ZB_BF16, 4, q), nowhere(5 << 20, ZB_F32, 3, lse)};
  zb_attr scale = {.name = "scale", .kind = ZB_ATTR_FLOAT, .f = 0.5};
  zb_kernel_call call = {.inputs = inputs, .input_count = 4, .outputs = outputs, .output_count = 2};
  CUfunction on_all = emulated_function("zb_flash_64_bf16"), on_9 = emulated_function("zb_hopper_64_bf16");
  call.attrs.items = &scale;
  call.attrs.count = 1;
  CU_ASSERT(launched_by(&call, false) == on_all && launched_by(&call, true) == on_9);
  scale.f = 0;
  CU_ASSERT_EQUAL(launched_by(&call, true), on_all);
  scale.f = -0.5;
  CU_ASSERT_EQUAL(launched_by(&call, true), on_all);
  scale.f = 0.5;
  inputs[1].shape[1] = inputs[2].shape[1] = INT64_C(1) << 30;
  CU_ASSERT_EQUAL(launched_by(&call, true), on_all);
  inputs[1].shape[1] = inputs[2].shape[1] = 100;
  inputs[3] = nowhere(6 << 20, ZB_F32, 2, mask);
  CU_ASSERT_EQUAL(launched_by(&call, true), on_all);
}

static void sums_that_are_split(void) {
  static const int64_t axes_sets[][1] = {{0}, {1}};
  for (int i = 0; i < 2; ++i) {
    fast_call c = {.op = "reduce_sum", .input_count = 1, .output_count = 1, .attr_count = 1};
    c.inputs[0] = i ? fast_uniform(-1, 1, FAST_SHAPE(2, 20011)) : fast_uniform(-1, 1, FAST_SHAPE(1500, 37));
    c.outputs[0] = i ? fast_uniform(0, 1, FAST_SHAPE(2)) : fast_uniform(0, 1, FAST_SHAPE(37));
    c.attrs[0] = (zb_attr){.name = "axes", .kind = ZB_ATTR_INTS, .ints = axes_sets[i], .count = 1};
    check(&c, 1e-5, 0);
    release(&c);
  }
  fast_call c = {.op = "rms_norm_grad_scale", .input_count = 3, .output_count = 1, .attr_count = 1, .accumulate = true};
  c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(700, 40));
  c.inputs[1] = fast_uniform(0.5f, 2, FAST_SHAPE(700, 1));
  c.inputs[2] = fast_uniform(-1, 1, FAST_SHAPE(700, 40));
  c.outputs[0] = fast_uniform(-1, 1, FAST_SHAPE(40));
  c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 1};
  check(&c, 1e-5, 0);
  release(&c);
}

/* ---- Rows and columns that are read 16 bytes at a time ---- */

static void check_groups(fast_call *c, double scaled) {
  check(c, scaled, 1e-6);
  check_moved(c);
}

/* Sizes of rows: one group a thread and several, a last one that is cut, rows that are no whole groups. */
static const int64_t row_sizes[] = {768, 2304, 4099, 20};
static const zb_dtype row_types[] = {ZB_F32, ZB_BF16};
enum { ROW_CASES = 8 };

static void norms_of_rows(void) {
  for (int k = 0; k < ROW_CASES; ++k) {
    int64_t size = row_sizes[k / 2], rows = 70;
    zb_dtype dtype = row_types[k % 2];
    double digit = dtype == ZB_BF16 ? 0x1p-7 : 1e-5;
    fast_call c = {.op = "layer_norm", .input_count = 3, .output_count = 3, .attr_count = 1};
    c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 1};
    c.inputs[0] = fast_uniform(-1, 3, FAST_SHAPE(rows, size));
    c.inputs[1] = fast_uniform(0, 2, FAST_SHAPE(size));
    c.inputs[2] = fast_uniform(-1, 1, FAST_SHAPE(size));
    c.outputs[0] = fast_uniform(0, 1, FAST_SHAPE(rows, size));
    c.outputs[1] = fast_uniform(0, 1, FAST_SHAPE(rows, 1));
    c.outputs[2] = fast_uniform(0, 1, FAST_SHAPE(rows, 1));
    narrow(&c.inputs[0], dtype);
    narrow(&c.outputs[0], dtype);
    check_groups(&c, digit);
    zb_kernel_call forward = call_of(&c, c.outputs);
    CU_ASSERT_PTR_NULL(zb_kernel_reference("layer_norm")->run(&forward));
    zb_tensor dout = fast_uniform(-1, 1, FAST_SHAPE(rows, size)),
              residual = fast_uniform(-1, 1, FAST_SHAPE(rows, size));
    zb_tensor dscale = fast_uniform(-1, 1, FAST_SHAPE(size));
    narrow(&dout, dtype);
    fast_call back = {.op = "layer_norm_grad_x",
                      .input_count = 6,
                      .output_count = 1,
                      .attrs = {c.attrs[0]},
                      .attr_count = 1,
                      .inputs = {c.inputs[0], c.inputs[1], c.outputs[1], c.outputs[2], dout, residual},
                      .outputs = {c.outputs[0]}};
    check_groups(&back, digit);
    fast_call scale = {.op = "layer_norm_grad_scale",
                       .input_count = 4,
                       .output_count = 1,
                       .attrs = {c.attrs[0]},
                       .attr_count = 1,
                       .inputs = {c.inputs[0], c.outputs[1], c.outputs[2], dout},
                       .outputs = {dscale},
                       .accumulate = true};
    check_groups(&scale, 1e-5);
    free(dout.data);
    free(residual.data);
    free(dscale.data);
    release(&c);
  }
}

/* The functions of the last two launches while launches are noted. */
static CUfunction noted[2];

static CUresult note_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                            void **parameters, void **extra) {
  noted[0] = noted[1];
  noted[1] = function;
  return emulated_api()->cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                        stream, parameters, extra);
}

/* Rows around the sizes that kernels keep in registers: not in groups; one group a thread; up to four; more. */
static const int64_t kept_sizes[] = {1, 31, 33, 255, 767, 768, 769, 1000, 1024, 1028, 4096, 4100, 5000, 16384};
enum { KEPT_SIZES = sizeof kept_sizes / sizeof kept_sizes[0], KEPT_ROWS = 3 };

/* Against the reference; and the same bits by the kernel that reads rows as often as it needs them, which must be
 * another one where rows can be kept. */
static void check_kept(fast_call *c, int64_t size) {
  CUfunction once = emulated_function(c->output_count > 1 ? "zb_norm_kept_1" : "zb_norm_grad_x_kept_1"),
             often = emulated_function(c->output_count > 1 ? "zb_norm_kept_4" : "zb_norm_grad_x_kept_4"),
             any = emulated_function(c->output_count > 1 ? "zb_norm_f32" : "zb_norm_grad_x_f32");
  check_groups(c, 1e-5);
  CU_ASSERT_PTR_EQUAL(noted[0], size % 4 || size > 4096 ? any : size > 1024 ? often : once);
  CU_ASSERT_PTR_EQUAL(noted[1], any);
}

/* One operand, or the first result, in bf16: no kernel may keep such rows. */
static void check_not_kept(const fast_call *c, int operand) {
  fast_call other = *c;
  zb_tensor *x = operand < 0 ? &other.outputs[0] : &other.inputs[operand];
  *x = copy_of(x);
  narrow(x, ZB_BF16);
  check(&other, operand < 0 ? 0x1p-7 : 1e-5, 1e-6);
  CU_ASSERT_PTR_EQUAL(noted[1], emulated_function(c->output_count > 1 ? "zb_norm_f32" : "zb_norm_grad_x_f32"));
  free(x->data);
}

/* A norm and its gradient; `more`: with a bias, and a residual. */
static void check_kept_norm(int64_t size, bool centered, bool more) {
  fast_call c = {.op = centered ? "layer_norm" : "rms_norm", .attr_count = 1};
  c.input_count = centered && more ? 3 : 2;
  c.output_count = centered ? 3 : 2;
  c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 1};
  c.inputs[0] = fast_uniform(-1, 3, FAST_SHAPE(KEPT_ROWS, size));
  c.inputs[1] = fast_uniform(0, 2, FAST_SHAPE(size));
  c.inputs[2] = fast_uniform(-1, 1, FAST_SHAPE(size));
  for (int i = 0; i < 3; ++i)
    c.outputs[i] = fast_uniform(0, 1, FAST_SHAPE(KEPT_ROWS, i ? 1 : size));
  check_kept(&c, size);
  zb_kernel_call forward = call_of(&c, c.outputs);
  CU_ASSERT_PTR_NULL(zb_kernel_reference(c.op)->run(&forward));
  fast_call back = {.op = centered ? "layer_norm_grad_x" : "rms_norm_grad_x", .output_count = 1, .attr_count = 1};
  back.attrs[0] = c.attrs[0];
  back.outputs[0] = c.outputs[0];
  for (int i = 0; i < c.output_count + 1; ++i)
    back.inputs[i] = i < 2 ? c.inputs[i] : c.outputs[i - 1];
  back.input_count = c.output_count + (more ? 3 : 2);
  zb_tensor rest[] = {fast_uniform(-1, 1, FAST_SHAPE(KEPT_ROWS, size)),
                      fast_uniform(-1, 1, FAST_SHAPE(KEPT_ROWS, size))};
  back.inputs[c.output_count + 1] = rest[0];
  back.inputs[c.output_count + 2] = rest[1];
  check_kept(&back, size);
  for (int i = -1; size == 768 && i < back.input_count; ++i)
    if (i && i != c.output_count + 1) check_not_kept(&back, i); /* x and dout have one type */
  for (int i = 1; size == 768 && i < c.input_count; ++i)
    check_not_kept(&c, i);
  free(rest[0].data);
  free(rest[1].data);
  c.input_count = c.output_count = 3;
  release(&c);
}

static void norms_that_keep_rows(void) {
  zb_cuda_api api = *emulated_launcher.api;
  const zb_cuda_api *before = emulated_launcher.api;
  api.cuLaunchKernel = note_launch;
  emulated_launcher.api = &api;
  for (int k = 0; k < 4 * KEPT_SIZES; ++k)
    check_kept_norm(kept_sizes[k / 4], k & 1, k & 2);
  emulated_launcher.api = before;
}

/* What the cast after a norm makes of its result: as one launch, or, where it must not lie there, as two. */
typedef struct norm_then_cast {
  fast_call norm;
  zb_tensor narrow, cast_inputs[1], cast_outputs[1];
  zb_kernel_call calls[2];
  zb_cuda_item items[2];
} norm_then_cast;

static void run_items(norm_then_cast *n, int launches, long kernels) {
  zb_cuda_program *program = NULL;
  long before = zb_emulated_launches();
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_program_create(n->items, 2, &emulated_launcher, &program));
  CU_ASSERT_EQUAL(zb_cuda_program_launches(program), launches);
  for (int i = 0; i < zb_cuda_program_launches(program); ++i)
    CU_ASSERT_PTR_NULL(zb_cuda_program_run(program, i, &emulated_launcher, 0));
  CU_ASSERT_EQUAL(zb_emulated_launches() - before, kernels);
  zb_cuda_program_destroy(program);
}

static void make_items(norm_then_cast *n) {
  n->calls[0] = call_of(&n->norm, n->norm.outputs);
  n->cast_inputs[0] = n->norm.outputs[0];
  n->cast_outputs[0] = n->narrow;
  n->calls[1] =
      (zb_kernel_call){.inputs = n->cast_inputs, .input_count = 1, .outputs = n->cast_outputs, .output_count = 1};
  for (int i = 0; i < 2; ++i) {
    n->items[i] = (zb_cuda_item){.call = &n->calls[i]};
    CU_ASSERT_PTR_NULL_FATAL(zb_cuda_kernel_find(i ? "cast" : n->norm.op, &n->calls[i], NULL, &n->items[i].kernel));
  }
}

static void norms_with_the_cast_of_their_result(void) {
  enum { ROWS = 40 };
  for (int k = 0; k < ROW_CASES + 2 * KEPT_SIZES; ++k) {
    int64_t size = k < ROW_CASES ? row_sizes[k / 2] : kept_sizes[(k - ROW_CASES) / 2];
    zb_dtype dtype = k % 2 ? ZB_BF16 : ZB_F16;
    norm_then_cast n = {.norm = {.op = "rms_norm_grad_x", .input_count = 5, .output_count = 1, .attr_count = 1}};
    n.norm.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 1};
    for (int i = 0; i < 5; ++i)
      n.norm.inputs[i] =
          i == 1 ? fast_uniform(0, 2, FAST_SHAPE(size)) : fast_uniform(0.5f, 2, FAST_SHAPE(ROWS, i == 2 ? 1 : size));
    n.norm.outputs[0] = fast_uniform(0, 1, FAST_SHAPE(ROWS, size));
    n.narrow = fast_tensor(dtype, FAST_SHAPE(ROWS, size));
    make_items(&n);
    for (int i = 0; i < 2; ++i) /* one after the other */
      CU_ASSERT_PTR_NULL(n.items[i].kernel->run(n.items[i].call, &emulated_launcher));
    zb_tensor wide = copy_of(&n.norm.outputs[0]), narrow_then = copy_of(&n.narrow);
    size_t elements = (size_t)(ROWS * size);
    memset(n.norm.outputs[0].data, 0, elements * 4);
    memset(n.narrow.data, 0, elements * 2);
    run_items(&n, 1, 1);
    CU_ASSERT(memcmp(wide.data, n.norm.outputs[0].data, elements * 4) == 0 &&
              memcmp(narrow_then.data, n.narrow.data, elements * 2) == 0);
    free(n.narrow.data);
    n.narrow.data =
        n.norm.inputs[3]
            .data; /* where dout is, which blocks of other rows still read: a launch of the program, two kernels */
    make_items(&n);
    run_items(&n, 1, 2);
    CU_ASSERT(memcmp(wide.data, n.norm.outputs[0].data, elements * 4) == 0 &&
              memcmp(narrow_then.data, n.narrow.data, elements * 2) == 0);
    n.cast_inputs[0].data = n.norm.inputs[0].data; /* of something else */
    n.cast_outputs[0].data = narrow_then.data;
    run_items(&n, 2, 2);
    CU_ASSERT_NOT_EQUAL(memcmp(narrow_then.data, n.narrow.data, elements * 2), 0);
    free(wide.data);
    free(narrow_then.data);
    release(&n.norm);
  }
}

static void softmax_of_rows(void) {
  for (int k = 0; k < 2 * ROW_CASES; ++k) {
    bool logarithm = k % 2;
    int64_t size = row_sizes[k / 4];
    zb_dtype dtype = row_types[k / 2 % 2];
    fast_call c = {.op = logarithm ? "log_softmax" : "softmax", .input_count = 1, .output_count = 1, .attr_count = 1};
    c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 1};
    c.inputs[0] = fast_uniform(-9, 9, FAST_SHAPE(7, size));
    c.outputs[0] = fast_uniform(0, 1, FAST_SHAPE(7, size));
    for (int i = 0; i < 17 && !logarithm; ++i)
      ((float *)c.inputs[0].data)[size + i] = -INFINITY;
    narrow(&c.inputs[0], dtype);
    narrow(&c.outputs[0], dtype);
    check_groups(&c, dtype == ZB_BF16 ? 0x1p-8 : 1e-5);
    zb_kernel_call forward = call_of(&c, c.outputs);
    CU_ASSERT_PTR_NULL(zb_kernel_reference(c.op)->run(&forward));
    zb_tensor dout = fast_uniform(-1, 1, FAST_SHAPE(7, size)), dx = fast_uniform(-1, 1, FAST_SHAPE(7, size));
    narrow(&dout, dtype);
    narrow(&dx, dtype);
    fast_call back = {.op = logarithm ? "log_softmax_grad" : "softmax_grad",
                      .input_count = 2,
                      .output_count = 1,
                      .attrs = {c.attrs[0]},
                      .attr_count = 1,
                      .inputs = {c.outputs[0], dout},
                      .outputs = {dx}};
    check_groups(&back, dtype == ZB_BF16 ? 0x1p-7 : 2e-5);
    free(dout.data);
    free(dx.data);
    release(&c);
  }
}

/* Halves of whole groups and not, tables in f32 and of the type of x. */
static void rotary_of_rows(void) {
  for (int k = 0; k < 12; ++k) {
    int64_t width = k % 3 == 0 ? 64 : k % 3 == 1 ? 72 : 10, rows = 31;
    zb_dtype dtype = k / 3 % 2 ? ZB_BF16 : ZB_F32;
    fast_call c = {.op = k % 2 ? "rotary" : "rotary_grad", .input_count = 3, .output_count = 1};
    c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(2, rows, 3, width));
    c.inputs[1] = fast_uniform(-1, 1, FAST_SHAPE(rows, 1, width));
    c.inputs[2] = fast_uniform(-1, 1, FAST_SHAPE(rows, 1, width));
    c.outputs[0] = fast_uniform(-1, 1, FAST_SHAPE(2, rows, 3, width));
    narrow(&c.inputs[0], dtype);
    narrow(&c.outputs[0], dtype);
    for (int i = 1; i < 3 && k >= 6; ++i)
      narrow(&c.inputs[i], dtype);
    check_groups(&c, dtype == ZB_BF16 ? 0x1p-7 : 1e-6);
    release(&c);
  }
}

static void losses_of_rows(void) {
  for (int k = 0; k < ROW_CASES; ++k) {
    int64_t classes = row_sizes[k / 2];
    zb_dtype dtype = row_types[k % 2];
    fast_call c = {.op = "cross_entropy", .input_count = 2, .output_count = 2};
    c.inputs[0] = fast_uniform(-9, 9, FAST_SHAPE(5, classes));
    c.inputs[1] = fast_tensor(ZB_I64, FAST_SHAPE(5));
    for (int i = 0; i < 5; ++i)
      ((int64_t *)c.inputs[1].data)[i] = i * (classes - 1) / 4;
    for (int64_t i = classes; i < classes + 17; ++i)
      ((float *)c.inputs[0].data)[i] = -INFINITY; /* masked classes, which fill the first group of a thread */
    ((int64_t *)c.inputs[1].data)[1] = classes - 1;
    c.outputs[0] = fast_tensor(ZB_F32, 0, NULL);
    c.outputs[1] = fast_uniform(0, 1, FAST_SHAPE(5));
    narrow(&c.inputs[0], dtype);
    check_groups(&c, 1e-5);
    zb_kernel_call forward = call_of(&c, c.outputs);
    CU_ASSERT_PTR_NULL(zb_kernel_reference("cross_entropy")->run(&forward));
    zb_tensor dloss = fast_uniform(1, 2, 0, NULL), dscores = fast_uniform(0, 1, FAST_SHAPE(5, classes));
    narrow(&dscores, dtype);
    fast_call back = {.op = "cross_entropy_grad",
                      .input_count = 4,
                      .output_count = 1,
                      .inputs = {c.inputs[0], c.inputs[1], c.outputs[1], dloss},
                      .outputs = {dscores}};
    check_groups(&back, dtype == ZB_BF16 ? 0x1p-8 : 1e-5);
    free(dloss.data);
    free(dscores.data);
    release(&c);
  }
}

static void sums_of_columns(void) {
  static const int64_t axis[] = {0};
  for (int k = 0; k < ROW_CASES; ++k) {
    fast_call c = {.op = "reduce_sum", .input_count = 1, .output_count = 1, .attr_count = 1};
    c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(333, row_sizes[k / 2]));
    c.outputs[0] = fast_uniform(0, 1, FAST_SHAPE(row_sizes[k / 2]));
    c.attrs[0] = (zb_attr){.name = "axes", .kind = ZB_ATTR_INTS, .ints = axis, .count = 1};
    narrow(&c.inputs[0], row_types[k % 2]);
    check_groups(&c, 1e-5);
    release(&c);
  }
}

/* More indices than the threads that sort them, more values than one digit holds, runs of one index, of a few, of
 * hundreds and of all, in one line and under an axis before: sums in the order of the indices, bit for bit. */
static void thousands_of_indices(void) {
  static const struct {
    int64_t places, frequent;
    bool columns;
  } rows[] = {{700, 3, false}, {70000, 3, false}, {3, 0, true}, {1, 1, false}};
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    fast_call c = {.op = "gather_grad", .input_count = 2, .output_count = 1, .attr_count = 1, .accumulate = true};
    c.inputs[0] = fast_tensor(ZB_I64, FAST_SHAPE(3000));
    for (int i = 0; i < 3000; ++i) /* one of `frequent` names the last places, counted from behind */
      ((int64_t *)c.inputs[0].data)[i] = rows[k].frequent && i % rows[k].frequent == 0
                                             ? -1 - i % (rows[k].places < 5 ? rows[k].places : 5)
                                             : (int64_t)fast_random(0, (float)rows[k].places);
    c.inputs[1] = rows[k].columns ? fast_uniform(-1, 1, FAST_SHAPE(2, 3000)) : fast_uniform(-1, 1, FAST_SHAPE(3000, 9));
    c.outputs[0] = rows[k].columns ? fast_uniform(-1, 1, FAST_SHAPE(2, rows[k].places))
                                   : fast_uniform(-1, 1, FAST_SHAPE(rows[k].places, 9));
    c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = rows[k].columns};
    check(&c, 0, 0);
    release(&c);
  }
}

/* ---- Optimizers ---- */

enum { PARAMETERS = 130, OF_ONE_EPS = 100, RESULTS = 3, HOMES = 9, REGION_BYTES = 2 << 20, REGIONS_MOST = 12 };
enum { STEP = 4, SETTINGS, UPDATE_INPUTS }; /* operands */

/* Parameters of adamw in an arena, as a plan has them: operands in regions that start at bases, the results where the
 * operands are. */
typedef struct updates {
  fast_call calls[PARAMETERS];
  zb_cuda_place places[PARAMETERS][HOMES];
  zb_kernel_call alone[PARAMETERS], joined[PARAMETERS];
  zb_tensor results[PARAMETERS][RESULTS], joined_inputs[PARAMETERS][UPDATE_INPUTS], joined_results[PARAMETERS][RESULTS];
  zb_cuda_item items[PARAMETERS];
  uint64_t offsets[REGIONS_MOST]; /* next free byte of a region */
  int64_t step;
} updates;

static fast_call update_call(int i, int64_t *step) {
  fast_call c = {.op = "adamw", .input_count = UPDATE_INPUTS, .output_count = RESULTS, .attr_count = 1};
  int64_t size = i % 7 == 0 ? 5001 : i % 11 == 0 ? 0 : 1 + i * 3; /* more than a block, less, and nothing at all */
  for (int k = 0; k < 4; ++k)
    c.inputs[k] = fast_uniform(k == 3 ? 0 : -1, 1, 1, &size);
  c.inputs[STEP] = fast_tensor(ZB_I64, 0, NULL);
  *step = *(int64_t *)c.inputs[STEP].data = 3;
  c.inputs[SETTINGS] = fast_settings(i % 3 ? 1e-2 : 1e-3, i % 2 ? 0.1 : 0);
  c.attrs[0] = (zb_attr){.name = "eps", .kind = ZB_ATTR_FLOAT, .f = i < OF_ONE_EPS ? 1e-8 : 1e-6};
  return c;
}

/* Gradients lie in regions 1 and up, all else in 0; now and then at an address that is no multiple of 16. */
static void place_update(updates *u, int i, int regions) {
  for (int k = 0; k < 4; ++k) {
    uint32_t region = k == 1 ? (uint32_t)(1 + i % (regions - 1)) : 0;
    uint64_t *next = &u->offsets[region];
    u->places[i][k] = (zb_cuda_place){*next + (i % 13 == 0 ? 4 : 0), region};
    *next += ((uint64_t)fast_elements(&u->calls[i].inputs[k]) * 4 + 64 + 15) / 16 * 16;
  }
  u->places[i][STEP] = (zb_cuda_place){0, 0}; /* the step of all: the first bytes; then the settings of each */
  u->places[i][SETTINGS] = (zb_cuda_place){8 + 16 * (uint64_t)i, 0};
  for (int k = 0; k < RESULTS; ++k)
    u->places[i][UPDATE_INPUTS + k] = u->places[i][k ? k + 1 : 0];
}

static void make_updates(updates *u, int regions) {
  memset(u, 0, sizeof *u);
  u->offsets[0] = 64 + 16 * PARAMETERS;
  for (int i = 0; i < PARAMETERS; ++i) {
    u->calls[i] = update_call(i, &u->step);
    place_update(u, i, regions);
    for (int k = 0; k < RESULTS; ++k)
      u->results[i][k] = copy_of(&u->calls[i].inputs[k ? k + 1 : 0]);
    u->alone[i] = call_of(&u->calls[i], u->results[i]);
    u->joined[i] = u->alone[i];
    memcpy(u->joined_inputs[i], u->calls[i].inputs, sizeof u->joined_inputs[i]);
    memcpy(u->joined_results[i], u->results[i], sizeof u->joined_results[i]);
    u->joined[i].inputs = u->joined_inputs[i];
    u->joined[i].outputs = u->joined_results[i];
    CU_ASSERT_PTR_NULL_FATAL(zb_cuda_kernel_find("adamw", &u->joined[i], NULL, &u->items[i].kernel));
    u->items[i] = (zb_cuda_item){u->items[i].kernel, &u->joined[i], u->places[i]};
    zb_status status = u->items[i].kernel->run(&u->alone[i], &emulated_launcher);
    CU_ASSERT_PTR_NULL(status);
  }
}

static void end_updates(updates *u) {
  for (int i = 0; i < PARAMETERS; ++i) {
    for (int k = 0; k < RESULTS; ++k)
      free(u->results[i][k].data);
    release(&u->calls[i]);
  }
}

/* Copies the operands to an arena, each region at its base, and lets the calls work there. */
static void fill_arena(updates *u, unsigned char *const bases[]) {
  memcpy(bases[0], &u->step, sizeof u->step);
  for (int i = 0; i < PARAMETERS; ++i) {
    for (int k = 0; k < UPDATE_INPUTS; ++k) {
      const zb_cuda_place *home = &u->places[i][k];
      u->joined_inputs[i][k].data = bases[home->base] + home->offset;
      if (k != STEP)
        memcpy(u->joined_inputs[i][k].data, u->calls[i].inputs[k].data, fast_bytes(&u->calls[i].inputs[k]));
    }
    for (int k = 0; k < RESULTS; ++k)
      u->joined_results[i][k].data =
          bases[u->places[i][UPDATE_INPUTS + k].base] + u->places[i][UPDATE_INPUTS + k].offset;
  }
}

static bool as_alone(const updates *u) {
  for (int i = 0; i < PARAMETERS; ++i)
    for (int k = 0; k < RESULTS; ++k)
      if (memcmp(u->results[i][k].data, u->joined_results[i][k].data, (size_t)fast_elements(&u->results[i][k]) * 4) !=
          0)
        return false;
  return true;
}

/* Runs all as one program in two arenas, whose bases lie otherwise: the table that was written before either is that of
 * both. */
static void run_updates(updates *u, bool homes, const int *launches, int launch_count, uint64_t table_bytes) {
  static _Alignas(64) unsigned char arenas[2][REGIONS_MOST][REGION_BYTES];
  unsigned char *bases[2][REGIONS_MOST];
  zb_cuda_program *program = NULL;
  for (int k = 0; k < REGIONS_MOST; ++k) {
    CU_ASSERT_FATAL(u->offsets[k] <= REGION_BYTES);
    bases[0][k] = arenas[0][k];
    bases[1][k] = arenas[1][REGIONS_MOST - 1 - k];
  }
  for (int i = 0; i < PARAMETERS && !homes; ++i)
    u->items[i].places = NULL;
  if (!homes) fill_arena(u, bases[0]);
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_program_create(u->items, PARAMETERS, &emulated_launcher, &program));
  CU_ASSERT_EQUAL(zb_cuda_program_launches(program), launch_count);
  for (int i = 0, first = 0, next = 0; i < launch_count && i < zb_cuda_program_launches(program);
       ++i, next += launches[i - 1]) {
    CU_ASSERT_EQUAL(zb_cuda_program_items(program, i, &first), launches[i]);
    CU_ASSERT_EQUAL(first, next);
  }
  CU_ASSERT_EQUAL(zb_cuda_program_table_bytes(program), table_bytes);
  for (int arena = 0; arena < (homes ? 2 : 1); ++arena) {
    long before = zb_emulated_launches();
    fill_arena(u, bases[arena]);
    for (int i = 0; i < launch_count; ++i)
      CU_ASSERT_PTR_NULL(zb_cuda_program_run(program, i, &emulated_launcher, 0));
    CU_ASSERT_EQUAL(zb_emulated_launches() - before, launch_count);
    CU_ASSERT(as_alone(u));
  }
  zb_cuda_program_destroy(program);
}

/* 100 parameters of one eps, then 30 of another, of two rates, in two regions: two launches, of which the first has a
 * table. Each the same bits as alone. */
static void any_number_of_parameters_in_a_launch(void) {
  static updates u;
  make_updates(&u, 2);
  run_updates(&u, true, (int[]){OF_ONE_EPS, PARAMETERS - OF_ONE_EPS}, 2,
              (OF_ONE_EPS * sizeof(zb_update_tensor) + 255) / 256 * 256);
  end_updates(&u);
}

/* Where homes are not known, addresses go with the launch, as many as its arguments take. */
static void parameters_without_homes(void) {
  static updates u;
  make_updates(&u, 2);
  run_updates(&u, false, (int[]){ZB_UPDATE_TENSORS, OF_ONE_EPS - ZB_UPDATE_TENSORS, PARAMETERS - OF_ONE_EPS}, 3, 0);
  end_updates(&u);
}

/* Gradients behind 11 bases, beside the arena's own: the first seven parameters name 8 bases, and so do the next seven
 * or eight. */
static void parameters_behind_many_bases(void) {
  static updates u;
  static int launches[PARAMETERS];
  int count = 0;
  make_updates(&u, REGIONS_MOST);
  for (int first = 0; first < PARAMETERS; first += launches[count++]) {
    int end = first < OF_ONE_EPS ? OF_ONE_EPS : PARAMETERS;
    launches[count] = end - first < ZB_UPDATE_BASES - 1 ? end - first : ZB_UPDATE_BASES - 1;
  }
  run_updates(&u, true, launches, count, 0);
  end_updates(&u);
}

/* No memory for the table, on the host or on the GPU: an error, and nothing stays. */
static void no_memory_for_a_table(void) {
  static updates u;
  zb_cuda_program *program = NULL;
  make_updates(&u, 2);
  for (uint64_t n = 1; n <= 3; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_cuda_program_create(u.items, PARAMETERS, &emulated_launcher, &program);
    zb_allocation_fail_at(0);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    CU_ASSERT_PTR_NULL(program);
    zb_status_free(status);
  }
  end_updates(&u);
}

/* ---- Faults ---- */

static void faults_name_instruction_and_value(void) {
  fast_call c = {.op = "gather", .input_count = 2, .output_count = 1};
  c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(10, 4));
  c.inputs[1] = fast_tensor(ZB_I64, FAST_SHAPE(3));
  ((int64_t *)c.inputs[1].data)[1] = 12;
  c.outputs[0] = fast_uniform(5, 6, FAST_SHAPE(3, 4));
  zb_kernel_call call = call_of(&c, c.outputs);
  const zb_cuda_kernel *kernel;
  memset(emulated_launcher.fault, 0, sizeof *emulated_launcher.fault);
  CU_ASSERT_PTR_NULL(zb_cuda_kernel_find("gather", &call, NULL, &kernel));
  emulated_launcher.instruction = 41;
  CU_ASSERT_PTR_NULL(kernel->run(&call, &emulated_launcher));
  const zb_cuda_fault_record *fault = emulated_launcher.fault;
  CU_ASSERT(fault->set == 1 && fault->instruction == 41 && fault->value == 12 && fault->least == 0 && fault->most == 9);
  CU_ASSERT_STRING_EQUAL(zb_cuda_fault_text(fault), "an index is out of range");
  CU_ASSERT_EQUAL(value(&c.outputs[0], 4), 0); /* the row of the bad index */
  CU_ASSERT_EQUAL(value(&c.outputs[0], 0), value(&c.inputs[0], 0));
  ((int64_t *)c.inputs[1].data)[1] = -11; /* the first fault stays */
  emulated_launcher.instruction = 42;
  CU_ASSERT_PTR_NULL(kernel->run(&call, &emulated_launcher));
  CU_ASSERT(fault->instruction == 41 && fault->value == 12);
  memset(emulated_launcher.fault, 0, sizeof *emulated_launcher.fault);
  release(&c);
}

SUITE_MAIN_WITH("shapes of CUDA kernels", emulated_suite_open, emulated_suite_close,
                {"attention of wide heads", attention_of_wide_heads},
                {"attention on tensor cores", attention_on_tensor_cores},
                {"attention on warpgroups", attention_on_warpgroups},
                {"calls that warpgroups take", calls_that_warpgroups_take},
                {"gradients of many queries, in parts", gradients_of_many_queries_in_parts},
                {"sums that are split over blocks", sums_that_are_split}, {"norms of rows of any size", norms_of_rows},
                {"norms that keep rows in registers", norms_that_keep_rows},
                {"norms with the cast of their result", norms_with_the_cast_of_their_result},
                {"softmax of rows of any size", softmax_of_rows},
                {"rotary embeddings of rows of any size", rotary_of_rows},
                {"losses of rows of any size", losses_of_rows}, {"sums of columns", sums_of_columns},
                {"thousands of indices", thousands_of_indices},
                {"any number of parameters in one launch", any_number_of_parameters_in_a_launch},
                {"parameters whose homes are not known", parameters_without_homes},
                {"parameters behind many bases", parameters_behind_many_bases},
                {"no memory for a table of parameters", no_memory_for_a_table},
                {"faults name instruction and value", faults_name_instruction_and_value})
