/* Softmax, normalization and losses: one block a row of the operand. The device side is softmax.cu, norm.cu and
 * loss.cu. */
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.h"

/* Threads of a block for rows of a length: whole warps, no more than there is work for. */
static int row_threads(int64_t size) { return (int)zb_max64(32, zb_min64(ZB_ROW_THREADS, zb_ceil_div(size, 32) * 32)); }

/* The same where a thread takes 16 bytes of that type at a time. */
static int group_threads(int64_t size, zb_dtype dtype) {
  return row_threads(zb_ceil_div(size, zb_cuda_group_elements(zb_dtype_bytes(dtype))));
}

enum { WARP_SUMS_BYTES = 32 * sizeof(double) };

/* An operand by rows of `space`, whose dimensions `along` are in a row; a thread takes n elements at a time. */
static bool row_operand(const zb_tensor *space, const zb_tensor *x, unsigned along, int n, zb_row_operand *out) {
  *out = (zb_row_operand){.data = x->data, .dtype = (int32_t)x->dtype};
  if (!zb_cuda_dims_of(space, x, ~along, &out->rows) || !zb_cuda_dims_of(space, x, along, &out->along)) return false;
  out->dense = zb_cuda_in_groups(&out->rows, &out->along, out->data, n, zb_dtype_bytes(x->dtype));
  return true;
}

/* ---- Softmax ---- */

static bool softmax_matches(const zb_kernel_call *call, int inputs) {
  if (!zb_cuda_complete(call, inputs, 1, false)) return false;
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  if (axis < 0 || axis >= out->rank || !zb_cuda_is_float(out->dtype)) return false;
  for (int i = 0; i < inputs; ++i)
    if (call->inputs[i].dtype != out->dtype || !zb_tensor_same_shape(&call->inputs[i], out)) return false;
  return true;
}

static zb_status softmax_run(const zb_kernel_call *call, zb_cuda_launcher *on, zb_cuda_function f32, bool gradient,
                             bool logarithm) {
  const zb_tensor *x = &call->inputs[0], *dout = gradient ? &call->inputs[1] : x, *out = &call->outputs[0];
  unsigned along = 1u << zb_attr_int(&call->attrs, "axis", -1);
  zb_softmax_args args = {.logarithm = logarithm};
  args.rows = zb_cuda_count(out, ~along);
  args.size = zb_cuda_count(out, along);
  if (args.size == 0) return NULL;
  int n = zb_cuda_group_elements(zb_dtype_bytes(out->dtype));
  (void)row_operand(out, x, along, n, &args.x); /* matches() asked */
  (void)row_operand(out, dout, along, n, &args.dout);
  (void)row_operand(out, out, along, n, &args.out);
  return zb_cuda_enqueue(on, zb_cuda_for_float(f32, out->dtype), args.rows, 1, group_threads(args.size, out->dtype),
                         WARP_SUMS_BYTES, &args);
}

#define SOFTMAX(name, kernel, gradient, logarithm)                                                                     \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return softmax_matches(call, gradient ? 2 : 1); }          \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return softmax_run(call, on, ZB_FUNCTION_zb_##kernel##_f32, gradient, logarithm);                                  \
  }
SOFTMAX(softmax, softmax, false, false)
SOFTMAX(log_softmax, softmax, false, true)
SOFTMAX(softmax_grad, softmax_grad, true, false)
SOFTMAX(log_softmax_grad, softmax_grad, true, true)

/* ---- Normalization ---- */

/* Operand numbers of the forms of the op; -1: it has none. */
typedef struct norm_form {
  int scale, bias, mean, rstd, dout, residual; /* operands; x is 0 */
  int out_mean, out_rstd;                      /* results */
  int inputs, outputs;                         /* that must be there */
  bool centered, accumulates;
} norm_form;

static bool norm_operand(const zb_kernel_call *call, int index, int64_t axis, zb_row_operand *out) {
  const zb_tensor *x = &call->inputs[0], *operand = index < 0 ? NULL : zb_call_input(call, index);
  if (!operand) return true;
  int n = zb_cuda_group_elements(zb_dtype_bytes(x->dtype));
  return zb_cuda_is_float(operand->dtype) && row_operand(x, operand, zb_cuda_from(x, axis), n, out);
}

static bool norm_plan(const zb_kernel_call *call, const norm_form *form, zb_norm_args *args) {
  *args = (zb_norm_args){.centered = form->centered};
  bool optional = form->bias >= form->inputs || form->residual >= form->inputs;
  int most = form->inputs + optional;
  if (!zb_cuda_complete_up_to(call, form->inputs, most, form->outputs, form->accumulates)) return false;
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  if (axis < 0 || axis >= x->rank || !zb_cuda_is_float(out->dtype)) return false;
  if (form->dout >= 0 && call->inputs[form->dout].dtype != x->dtype) return false;
  args->rows = zb_cuda_count(x, zb_cuda_before(axis));
  args->size = zb_cuda_count(x, zb_cuda_from(x, axis));
  args->epsilon = zb_attr_number(call, "epsilon", 1e-5);
  args->out = out->data;
  args->out_dtype = (int32_t)out->dtype;
  if (form->out_mean >= 0) {
    args->mean = call->outputs[form->out_mean].data;
    args->mean_dtype = (int32_t)call->outputs[form->out_mean].dtype;
  }
  if (form->out_rstd >= 0) {
    args->rstd = call->outputs[form->out_rstd].data;
    args->rstd_dtype = (int32_t)call->outputs[form->out_rstd].dtype;
  }
  return norm_operand(call, 0, axis, &args->x) && norm_operand(call, form->scale, axis, &args->scale) &&
         norm_operand(call, form->bias, axis, &args->bias) && norm_operand(call, form->mean, axis, &args->saved_mean) &&
         norm_operand(call, form->rstd, axis, &args->saved_rstd) && norm_operand(call, form->dout, axis, &args->dout) &&
         norm_operand(call, form->residual, axis, &args->residual);
}

static bool norm_matches(const zb_kernel_call *call, const norm_form *form) {
  zb_norm_args args;
  if (!norm_plan(call, form, &args)) return false;
  int64_t elements = form->accumulates ? args.size : args.rows * args.size;
  return zb_tensor_elements(&call->outputs[0]) == elements;
}

/* How the groups of a row of the results lie. */
static void norm_groups(const zb_kernel_call *call, zb_norm_args *args) {
  int n = zb_cuda_group_elements(zb_dtype_bytes(call->inputs[0].dtype));
  size_t out_bytes = zb_dtype_bytes((zb_dtype)args->out_dtype);
  zb_cuda_dims rows = {.rank = 1, .shape = {args->rows}, .stride = {args->size}},
               along = {.rank = 1, .shape = {args->size}, .stride = {1}};
  args->dense_out = zb_cuda_in_groups(&rows, &along, args->out, n, out_bytes);
  args->dense_narrow = zb_cuda_in_groups(&rows, &along, args->narrow, n, sizeof(uint16_t));
}

/* Whether the statistics of rows are f32 at one stride. */
static bool plain_rows(const zb_row_operand *o) { return o->rows.rank == 1 && o->dtype == ZB_F32; }

/* Whether a kernel that keeps rows in registers may read an operand. */
static bool kept_operand(const zb_row_operand *o) { return !o->data || (o->dense && plain_rows(o)); }

/* The kernel for x that keeps rows in registers, ZB_ROW_THREADS groups of a row once or up to four times, where all
 * lies so and is f32; else any other. */
static zb_cuda_function norm_kernel(const zb_norm_args *a, zb_dtype dtype, bool gradient) {
  zb_cuda_function any = gradient ? ZB_FUNCTION_zb_norm_grad_x_f32 : ZB_FUNCTION_zb_norm_f32;
  int64_t once = (int64_t)ZB_ROW_THREADS * zb_cuda_group_elements(zb_dtype_bytes(ZB_F32));
  bool f32 = dtype == ZB_F32 && a->out_dtype == ZB_F32 && (!a->mean || a->mean_dtype == ZB_F32) &&
             (!a->rstd || a->rstd_dtype == ZB_F32);
  bool statistics =
      (!a->saved_mean.data || plain_rows(&a->saved_mean)) && (!a->saved_rstd.data || plain_rows(&a->saved_rstd));
  bool groups = a->dense_out && (!a->narrow || a->dense_narrow) && kept_operand(&a->x) && kept_operand(&a->scale) &&
                kept_operand(&a->bias) && kept_operand(&a->dout) && kept_operand(&a->residual);
  if (!f32 || !statistics || !groups || a->size > 4 * once) return zb_cuda_for_float(any, dtype);
  if (gradient) return a->size > once ? ZB_FUNCTION_zb_norm_grad_x_kept_4 : ZB_FUNCTION_zb_norm_grad_x_kept_1;
  return a->size > once ? ZB_FUNCTION_zb_norm_kept_4 : ZB_FUNCTION_zb_norm_kept_1;
}

/* dscale: partial sums over splits of the rows, then their sum. */
static zb_status norm_grad_scale(const zb_kernel_call *call, zb_cuda_launcher *on, zb_norm_args *args) {
  int n = zb_cuda_group_elements(zb_dtype_bytes(call->inputs[0].dtype));
  int64_t blocks = zb_ceil_div(args->size, 32 * n);
  int64_t splits = zb_cuda_splits(blocks, args->rows, 32, args->size * 4, &args->part);
  const zb_tensor *out = &call->outputs[0];
  if (args->size * 4 > ZB_CUDA_SCRATCH_BYTES)
    return ZB_ERROR(UNAVAILABLE, "the CUDA kernel for the gradient of a scale takes at most %d elements, not %lld",
                    ZB_CUDA_SCRATCH_BYTES / 4, (long long)args->size);
  args->out = zb_cuda_scratch(on);
  args->plain = args->x.dense && args->dout.dense && args->x.rows.rank == 1 && args->dout.rows.rank == 1 &&
                plain_rows(&args->saved_rstd) && (!args->centered || plain_rows(&args->saved_mean));
  zb_cuda_function function = zb_cuda_for_float(ZB_FUNCTION_zb_norm_grad_scale_f32, call->inputs[0].dtype);
  ZB_TRY(
      zb_cuda_enqueue(on, function, blocks, splits, ZB_ROW_THREADS, ZB_ROW_THREADS * n * (int64_t)sizeof(float), args));
  return zb_cuda_combine(on, ZB_FUNCTION_zb_sum_column_f32, ZB_F32, args->out, splits, args->size, out, 0,
                         call->accumulate);
}

/* narrow: the result of the cast that goes with it, or NULL. */
static zb_status norm_run(const zb_kernel_call *call, zb_cuda_launcher *on, const norm_form *form,
                          const zb_tensor *narrow) {
  zb_norm_args args;
  (void)norm_plan(call, form, &args); /* matches() asked */
  if (narrow) {
    args.narrow = narrow->data;
    args.narrow_dtype = (int32_t)narrow->dtype;
  }
  norm_groups(call, &args);
  if (form->accumulates) return norm_grad_scale(call, on, &args);
  zb_dtype dtype = call->inputs[0].dtype;
  return zb_cuda_enqueue(on, norm_kernel(&args, dtype, form->dout >= 0), args.rows, 1, group_threads(args.size, dtype),
                         WARP_SUMS_BYTES, &args);
}

/* ---- A norm in f32 and the cast of its result to a narrow type, which mixed precision puts behind most norms, in one
 * launch: the same bits, without reading the result again ---- */

static int norm_and_cast(const zb_cuda_item *items, int count) {
  if (count < 2 || strcmp(items[1].kernel->op, "cast") != 0) return 1;
  const zb_tensor *out = &items[0].call->outputs[0], *x = &items[1].call->inputs[0],
                  *narrow = &items[1].call->outputs[0];
  if (out->dtype != ZB_F32 || x->dtype != ZB_F32 || (narrow->dtype != ZB_BF16 && narrow->dtype != ZB_F16)) return 1;
  if (!zb_tensor_contiguous(x) || zb_tensor_elements(x) != zb_tensor_elements(out)) return 1;
  if (!items[0].places || !items[1].places) return out->data && out->data == x->data ? 2 : 1;
  const zb_cuda_place *result = &items[0].places[items[0].call->input_count], *operand = &items[1].places[0];
  return result->base == operand->base && result->offset == operand->offset ? 2 : 1;
}

/* The bytes that an operand reaches. */
static void reach(const zb_tensor *x, uintptr_t *begin, uintptr_t *end) {
  size_t bytes = zb_dtype_bytes(x->dtype);
  *begin = (uintptr_t)x->data;
  *end = *begin + bytes;
  for (int i = 0; i < x->rank; ++i) {
    uintptr_t span = (uintptr_t)zb_max64(x->shape[i] - 1, 0) *
                     (uintptr_t)(x->strides[i] < 0 ? -x->strides[i] : x->strides[i]) * bytes;
    if (x->strides[i] < 0)
      *begin -= span;
    else
      *end += span;
  }
}

static bool overlap(const zb_tensor *x, const zb_tensor *y) {
  uintptr_t x_begin, x_end, y_begin, y_end;
  reach(x, &x_begin, &x_end);
  reach(y, &y_begin, &y_end);
  return x_begin < y_end && y_begin < x_end;
}

/* Whether the plan puts the cast's result where the norm, whose blocks are not all at the same row, still reads or
 * writes. */
static bool in_the_way(const zb_tensor *narrow, const zb_kernel_call *norm) {
  for (int i = 0; i < norm->input_count; ++i)
    if (zb_call_input(norm, i) && overlap(narrow, &norm->inputs[i])) return true;
  for (int i = 0; i < norm->output_count; ++i)
    if (zb_call_output(norm, i) && overlap(narrow, &norm->outputs[i])) return true;
  return false;
}

static zb_status norm_and_cast_run(const zb_cuda_item *items, zb_cuda_launcher *on, const norm_form *form) {
  const zb_tensor *narrow = &items[1].call->outputs[0];
  if (!in_the_way(narrow, items[0].call)) return norm_run(items[0].call, on, form, narrow);
  ZB_TRY(items[0].kernel->run(items[0].call, on));
  return items[1].kernel->run(items[1].call, on);
}

#define NORM(name, ...)                                                                                                \
  static const norm_form name##_form = {__VA_ARGS__};                                                                  \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return norm_matches(call, &name##_form); }                 \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return norm_run(call, on, &name##_form, NULL);                                                                     \
  }
#define NORM_AND_CAST(name, ...)                                                                                       \
  NORM(name, __VA_ARGS__)                                                                                              \
  static zb_status run_group_##name(const zb_cuda_item *items, int count, CUdeviceptr table, zb_cuda_launcher *on) {   \
    (void)count, (void)table;                                                                                          \
    return norm_and_cast_run(items, on, &name##_form);                                                                 \
  }                                                                                                                    \
  const zb_cuda_group zb_cuda_group_##name = {norm_and_cast, zb_cuda_no_table, NULL, run_group_##name};
NORM_AND_CAST(layer_norm, 1, 2, -1, -1, -1, -1, 1, 2, 2, 3, true, false)
NORM_AND_CAST(rms_norm, 1, -1, -1, -1, -1, -1, -1, 1, 2, 2, false, false)
NORM_AND_CAST(layer_norm_grad_x, 1, -1, 2, 3, 4, 5, -1, -1, 5, 1, true, false)
NORM_AND_CAST(rms_norm_grad_x, 1, -1, -1, 2, 3, 4, -1, -1, 4, 1, false, false)
NORM(layer_norm_grad_scale, -1, -1, 1, 2, 3, -1, -1, -1, 4, 1, true, true)
NORM(rms_norm_grad_scale, -1, -1, -1, 1, 2, -1, -1, -1, 3, 1, false, true)

/* ---- Losses ---- */

/* Which operand is what; -1: none. scores: -1 is result 0 (the gradient of nll_loss gets no scores). */
typedef struct loss_form {
  int scores, labels, lse, dloss; /* operands */
  int inputs, outputs;
  bool gradient, negative_likelihood;
} loss_form;

static bool read_reduction(const zb_kernel_call *call, int32_t *out) {
  static const char *const names[] = {[ZB_LOSS_MEAN] = "mean", [ZB_LOSS_SUM] = "sum", [ZB_LOSS_NONE] = "none"};
  const char *text = zb_attr_string(&call->attrs, "reduction", "mean");
  for (*out = ZB_LOSS_MEAN; *out <= ZB_LOSS_NONE; ++*out)
    if (strcmp(text, names[*out]) == 0) return true;
  return false;
}

/* The rows of an operand that has the shape of the labels. */
static bool loss_rows(const zb_tensor *scores, const zb_tensor *x, zb_cuda_dims *out) {
  zb_tensor wide = zb_tensor_append_unit(x);
  return zb_cuda_dims_of(scores, &wide, zb_cuda_before(scores->rank - 1), out);
}

static bool loss_types(const zb_kernel_call *call, const loss_form *form, const zb_tensor *scores, zb_loss_args *args) {
  const zb_attr *ignore = zb_attr_find(&call->attrs, "ignore_index");
  const zb_tensor *labels = &call->inputs[form->labels];
  args->ignores = ignore != NULL;
  args->ignore_index = ignore ? ignore->i : 0;
  args->negative_likelihood = form->negative_likelihood;
  args->score_dtype = (int32_t)scores->dtype;
  args->label_dtype = (int32_t)labels->dtype;
  args->labels = labels->data;
  args->scores = scores->data;
  args->classes = scores->shape[scores->rank - 1];
  args->class_stride = scores->strides[scores->rank - 1];
  args->rows = zb_tensor_elements(labels);
  return zb_cuda_is_float(scores->dtype) && zb_dtype_is_index(labels->dtype) &&
         read_reduction(call, &args->reduction) && loss_rows(scores, labels, &args->label_rows) &&
         zb_cuda_dims_of(scores, scores, zb_cuda_before(scores->rank - 1), &args->score_rows);
}

static bool loss_plan(const zb_kernel_call *call, const loss_form *form, zb_loss_args *args) {
  *args = (zb_loss_args){0};
  if (!zb_cuda_complete(call, form->inputs, form->outputs, false)) return false;
  const zb_tensor *scores = form->scores < 0 ? &call->outputs[0] : &call->inputs[form->scores];
  const zb_tensor *loss = form->gradient ? &call->inputs[form->dloss] : &call->outputs[0];
  const zb_tensor *lse = form->lse >= 0                         ? &call->inputs[form->lse]
                         : !form->gradient && form->outputs > 1 ? &call->outputs[1]
                                                                : NULL;
  if (scores->rank != call->inputs[form->labels].rank + 1 || !loss_types(call, form, scores, args)) return false;
  if (!zb_cuda_is_float(loss->dtype)) return false;
  args->loss_dtype = (int32_t)loss->dtype;
  if (form->gradient) {
    args->dloss = loss->data;
    args->dscores = call->outputs[0].data;
    if (loss->rank == 0)
      args->dloss_rows = (zb_cuda_dims){.rank = 1, .shape = {1}};
    else if (!loss_rows(scores, loss, &args->dloss_rows))
      return false;
  } else {
    args->loss = loss->data;
    if (zb_tensor_elements(loss) != (args->reduction == ZB_LOSS_NONE ? args->rows : 1)) return false;
  }
  if (!lse) return true;
  args->lse_dtype = (int32_t)lse->dtype;
  args->lse = form->gradient ? NULL : lse->data;
  args->saved_lse = lse->data;
  return zb_cuda_is_float(lse->dtype) && loss_rows(scores, lse, &args->lse_rows);
}

/* How the groups of a row lie: n elements of `dtype`, the type that the kernel is made for. */
static void loss_groups(const zb_kernel_call *call, const loss_form *form, zb_dtype dtype, zb_loss_args *args) {
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  zb_cuda_dims along = {.rank = 1, .shape = {args->classes}, .stride = {args->class_stride}};
  zb_cuda_dims rows = {.rank = 1, .shape = {args->rows}, .stride = {args->classes}};
  args->dense = args->score_dtype == (int32_t)dtype &&
                zb_cuda_in_groups(&args->score_rows, &along, args->scores, n, zb_dtype_bytes(dtype));
  along.stride[0] = 1;
  args->dense_out = form->gradient && zb_cuda_in_groups(&rows, &along, call->outputs[0].data, n, zb_dtype_bytes(dtype));
}

static bool loss_matches(const zb_kernel_call *call, const loss_form *form) {
  zb_loss_args args;
  if (!loss_plan(call, form, &args)) return false;
  if (!form->gradient) return true;
  const zb_tensor *out = &call->outputs[0];
  return zb_cuda_is_float(out->dtype) && zb_tensor_elements(out) == args.rows * args.classes;
}

static zb_status loss_run(const zb_kernel_call *call, zb_cuda_launcher *on, const loss_form *form) {
  zb_loss_args args;
  (void)loss_plan(call, form, &args); /* matches() asked */
  args.fault = zb_cuda_fault_of(on);
  zb_dtype dtype = form->gradient ? call->outputs[0].dtype : (zb_dtype)args.score_dtype;
  int threads = group_threads(args.classes, dtype);
  loss_groups(call, form, dtype, &args);
  if (form->gradient) {
    args.weight = (float *)(void *)zb_cuda_scratch(on);
    ZB_TRY(zb_cuda_enqueue(on, ZB_FUNCTION_zb_loss_weight, 1, 1, ZB_LOSS_SUM_THREADS, WARP_SUMS_BYTES, &args));
    zb_cuda_function function = zb_cuda_for_float(ZB_FUNCTION_zb_loss_grad_f32, dtype);
    return args.classes == 0 ? NULL : zb_cuda_enqueue(on, function, args.rows, 1, threads, WARP_SUMS_BYTES, &args);
  }
  if (!form->negative_likelihood) {
    zb_cuda_function function = zb_cuda_for_float(ZB_FUNCTION_zb_row_lse_f32, dtype);
    ZB_TRY(zb_cuda_enqueue(on, function, args.rows, 1, threads, WARP_SUMS_BYTES, &args));
  }
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_loss_total, 1, 1, ZB_LOSS_SUM_THREADS, WARP_SUMS_BYTES, &args);
}

#define LOSS(name, ...)                                                                                                \
  static const loss_form name##_form = {__VA_ARGS__};                                                                  \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return loss_matches(call, &name##_form); }                 \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return loss_run(call, on, &name##_form);                                                                           \
  }
LOSS(cross_entropy, 0, 1, -1, -1, 2, 2, false, false)
LOSS(cross_entropy_grad, 0, 1, 2, 3, 4, 1, true, false)
LOSS(nll_loss, 0, 1, -1, -1, 2, 1, false, true)
LOSS(nll_loss_grad, -1, 0, -1, 1, 2, 1, true, true)
