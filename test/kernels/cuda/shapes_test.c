/* CUDA kernels at the sizes where their plans change, which the cases of all kernels do not reach: heads of 65 to 256 columns, sums that
 * are split over blocks, thousands of indices, many parameters in one optimizer launch, labels and indices that are out of range. */
#include "test/kernels/fast.h"

#include "kernels/cpu/ref/ref.h"
#include "test/kernels/cuda/driver.h"
#include "test/suite.h"

static zb_kernel_call call_of(const fast_call *c, const zb_tensor *outputs) {
  return (zb_kernel_call){.inputs = c->inputs, .input_count = c->input_count, .outputs = outputs, .output_count = c->output_count,
                          .attrs = {c->attrs, c->attr_count}, .accumulate = c->accumulate};
}

static zb_tensor copy_of(const zb_tensor *x) {
  zb_tensor out = fast_tensor(x->dtype, x->rank, x->shape);
  memcpy(out.data, x->data, (size_t)fast_elements(x) * zb_dtype_bytes(x->dtype));
  return out;
}

static double value(const zb_tensor *x, int64_t i) {
  return zb_ref_get(x, i);
}

/* Runs the call on the reference and, in every order, emulated; all results within `scaled` of the largest + `absolute`. */
static void check(const fast_call *c, double scaled, double absolute) {
  zb_tensor want[FAST_RESULTS], got[FAST_RESULTS];
  for (int i = 0; i < c->output_count; i++)
    want[i] = copy_of(&c->outputs[i]);
  zb_kernel_call reference = call_of(c, want);
  CU_ASSERT_PTR_NULL_FATAL(zb_kernel_reference(c->op)->run(&reference));
  for (int order = 0; order < ZB_ORDER_COUNT; order++) {
    zb_emulated_set_order((zb_emulated_order)order);
    for (int i = 0; i < c->output_count; i++)
      got[i] = copy_of(&c->outputs[i]);
    zb_kernel_call call = call_of(c, got);
    const zb_cuda_kernel *kernel;
    zb_status status = zb_cuda_kernel_find(c->op, &call, NULL, &kernel);
    if (!status) status = kernel->run(&call, &emulated_launcher);
    if (status) fprintf(stderr, "%s: %s", c->op, zb_status_text(status));
    CU_ASSERT_PTR_NULL(status);
    zb_status_free(status);
    for (int i = 0; i < c->output_count; i++) {
      double largest = 0, error = 0;
      for (int64_t k = 0; k < fast_elements(&want[i]); k++) {
        largest = fmax(largest, fabs(value(&want[i], k)));
        error = fmax(error, fabs(value(&want[i], k) - value(&got[i], k)));
      }
      if (!(error <= scaled * largest + absolute)) fprintf(stderr, "%s, result %d: error %g of %g\n", c->op, i, error, largest);
      CU_ASSERT(error <= scaled * largest + absolute);
      free(got[i].data);
    }
  }
  zb_emulated_set_order(ZB_ORDER_FORWARD);
  for (int i = 0; i < c->output_count; i++)
    free(want[i].data);
}

static void release(fast_call *c) {
  for (int i = 0; i < c->input_count; i++)
    free(c->inputs[i].data);
  for (int i = 0; i < c->output_count; i++)
    free(c->outputs[i].data);
}

/* Rounds a tensor to a narrow type, in place of itself. */
static void narrow(zb_tensor *x, zb_dtype dtype) {
  if (dtype == ZB_F32) return;
  zb_tensor out = fast_tensor(dtype, x->rank, x->shape);
  for (int64_t i = 0; i < fast_elements(x); i++)
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
  for (int k = 0; k < 3; k++)
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
  for (int k = 0; k < 3; k++) {
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
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    check_attention(&shapes[i], 1e-5, 2e-5, 3e-7); /* one key: dq and dk are differences of equal sums */
}

/* Tensor cores: several tiles of 64 queries and keys, heads of 64 and 128 columns, groups, a cut last tile, a mask. */
static void attention_on_tensor_cores(void) {
  static const attention_shape shapes[] = {{130, 130, 2, 1, 64, 64, true, false, ZB_BF16},
                                           {70, 200, 2, 2, 128, 64, true, false, ZB_BF16},
                                           {65, 129, 1, 1, 40, 128, false, true, ZB_BF16},
                                           {97, 33, 4, 2, 128, 128, true, false, ZB_F16}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    double digit = shapes[i].dtype == ZB_BF16 ? 0x1p-7 : 0x1p-10;
    check_attention(&shapes[i], digit, digit, 0);
  }
}

static void sums_that_are_split(void) {
  static const int64_t axes_sets[][1] = {{0}, {1}};
  for (int i = 0; i < 2; i++) {
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

/* More indices than the threads that sort them, more values than one digit holds; sums in the order of the indices, bit for bit. */
static void thousands_of_indices(void) {
  fast_call c = {.op = "gather_grad", .input_count = 2, .output_count = 1, .attr_count = 1, .accumulate = true};
  c.inputs[0] = fast_tensor(ZB_I64, FAST_SHAPE(3000));
  for (int i = 0; i < 3000; i++)
    ((int64_t *)c.inputs[0].data)[i] = i % 3 == 0 ? -1 - i % 5 : (int64_t)fast_random(0, 700);
  c.inputs[1] = fast_uniform(-1, 1, FAST_SHAPE(3000, 9));
  c.outputs[0] = fast_uniform(-1, 1, FAST_SHAPE(700, 9));
  c.attrs[0] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = 0};
  check(&c, 0, 0);
  release(&c);
}

/* ---- Optimizers ---- */

enum { PARAMETERS = 130 };

static fast_call update_call(int i) {
  fast_call c = {.op = "adamw", .input_count = 5, .output_count = 3, .attr_count = 2};
  int64_t size = i % 7 == 0 ? 9001 : 1 + i * 3; /* more than a block, and less */
  for (int k = 0; k < 4; k++)
    c.inputs[k] = fast_uniform(k == 3 ? 0 : -1, 1, 1, &size);
  c.inputs[4] = fast_tensor(ZB_I64, 0, NULL);
  *(int64_t *)c.inputs[4].data = 3;
  c.attrs[0] = (zb_attr){.name = "lr", .kind = ZB_ATTR_FLOAT, .f = i < 100 ? 1e-2 : 1e-3};
  c.attrs[1] = (zb_attr){.name = "weight_decay", .kind = ZB_ATTR_FLOAT, .f = i % 2 ? 0.1 : 0};
  return c;
}

/* 100 parameters of one rate, then 30 of another: launches of 60, 40 and 30; each the same bits as alone. */
static void many_parameters_in_a_launch(void) {
  static fast_call calls[PARAMETERS];
  static zb_tensor alone[PARAMETERS][3], together[PARAMETERS][3];
  static zb_kernel_call single[PARAMETERS], joined[PARAMETERS];
  static zb_cuda_item items[PARAMETERS];
  int failed = -1;
  for (int i = 0; i < PARAMETERS; i++) {
    calls[i] = update_call(i);
    for (int k = 0; k < 3; k++) {
      alone[i][k] = copy_of(&calls[i].inputs[k ? k + 1 : 0]);
      together[i][k] = copy_of(&calls[i].inputs[k ? k + 1 : 0]);
    }
    single[i] = call_of(&calls[i], alone[i]);
    joined[i] = call_of(&calls[i], together[i]);
    CU_ASSERT_PTR_NULL(zb_cuda_kernel_find("adamw", &joined[i], NULL, &items[i].kernel));
    items[i].call = &joined[i];
  }
  long before = zb_emulated_launches();
  CU_ASSERT_PTR_NULL(zb_cuda_run_items(items, PARAMETERS, &emulated_launcher, 0, &failed));
  CU_ASSERT_EQUAL(zb_emulated_launches() - before, 3);
  for (int i = 0; i < PARAMETERS; i++) {
    CU_ASSERT_PTR_NULL(items[i].kernel->run(&single[i], &emulated_launcher));
    for (int k = 0; k < 3; k++) {
      CU_ASSERT(memcmp(alone[i][k].data, together[i][k].data, (size_t)fast_elements(&alone[i][k]) * 4) == 0);
      free(alone[i][k].data);
      free(together[i][k].data);
    }
    release(&calls[i]);
  }
}

/* ---- Faults ---- */

static void faults_name_instruction_and_value(void) {
  fast_call c = {.op = "gather", .input_count = 2, .output_count = 1};
  c.inputs[0] = fast_uniform(-1, 1, FAST_SHAPE(10, 4));
  c.inputs[1] = fast_tensor(ZB_I64, FAST_SHAPE(3));
  ((int64_t *)c.inputs[1].data)[1] = 12;
  c.outputs[0] = fast_uniform(5, 6, FAST_SHAPE(3, 4));
  zb_kernel_call call = call_of(&c, c.outputs);
  zb_cuda_item item = {NULL, &call};
  int failed;
  memset(emulated_launcher.fault, 0, sizeof *emulated_launcher.fault);
  CU_ASSERT_PTR_NULL(zb_cuda_kernel_find("gather", &call, NULL, &item.kernel));
  CU_ASSERT_PTR_NULL(zb_cuda_run_items(&item, 1, &emulated_launcher, 41, &failed));
  const zb_cuda_fault_record *fault = emulated_launcher.fault;
  CU_ASSERT(fault->set == 1 && fault->instruction == 41 && fault->value == 12 && fault->least == 0 && fault->most == 9);
  CU_ASSERT_STRING_EQUAL(zb_cuda_fault_text(fault), "an index is out of range");
  CU_ASSERT_EQUAL(value(&c.outputs[0], 4), 0); /* the row of the bad index */
  CU_ASSERT_EQUAL(value(&c.outputs[0], 0), value(&c.inputs[0], 0));
  ((int64_t *)c.inputs[1].data)[1] = -11; /* the first fault stays */
  CU_ASSERT_PTR_NULL(zb_cuda_run_items(&item, 1, &emulated_launcher, 42, &failed));
  CU_ASSERT(fault->instruction == 41 && fault->value == 12);
  memset(emulated_launcher.fault, 0, sizeof *emulated_launcher.fault);
  release(&c);
}

SUITE_MAIN_WITH("shapes of CUDA kernels", emulated_suite_open, emulated_suite_close,
                {"attention of wide heads", attention_of_wide_heads},
                {"attention on tensor cores", attention_on_tensor_cores},
                {"sums that are split over blocks", sums_that_are_split},
                {"thousands of indices", thousands_of_indices},
                {"many parameters in one launch", many_parameters_in_a_launch},
                {"faults name instruction and value", faults_name_instruction_and_value})
