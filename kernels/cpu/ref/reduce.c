/* Reductions, softmax and log-softmax. Sums and products are taken in double, in row-major order, and rounded once. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

/* ---- Reductions: (x) {axes, keepdims} -> (out) ---- */

typedef struct reduction {
  bool floats_only;
  bool widens; /* takes {dtype = "f32"}: f32 sums of bf16 and f16 */
  double start;
  double (*real)(double total, double x);
  double (*finish)(double total, double count); /* NULL: the total */
  int64_t integer_start;
  int64_t (*integer)(int64_t total, int64_t x);
} reduction;

static double add_real(double total, double x) { return total + x; }
static double multiply_real(double total, double x) { return total * x; }
static double larger_real(double total, double x) { return x > total || isnan(x) ? x : total; }
static double smaller_real(double total, double x) { return x < total || isnan(x) ? x : total; }
static double divide_real(double total, double count) { return total / count; }
static int64_t add_integer(int64_t total, int64_t x) { return (int64_t)((uint64_t)total + (uint64_t)x); }
static int64_t multiply_integer(int64_t total, int64_t x) { return (int64_t)((uint64_t)total * (uint64_t)x); }
static int64_t larger_integer(int64_t total, int64_t x) { return x > total ? x : total; }
static int64_t smaller_integer(int64_t total, int64_t x) { return x < total ? x : total; }

/* The bit set of the reduced dimensions: all of them for an empty list. */
static const char *reduced_dimensions(const zb_kernel_call *call, unsigned *out) {
  int rank = call->inputs[0].rank, count = 0;
  const int64_t *axes = zb_ref_ints(call, "axes", &count);
  *out = count ? 0 : (1u << rank) - 1;
  for (int i = 0; i < count; ++i) {
    if (axes[i] < 0 || axes[i] >= rank) return ZB_REF_BAD_AXIS;
    *out |= 1u << axes[i];
  }
  return NULL;
}

static const char *run_reduction(const zb_kernel_call *call, const reduction *op) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  bool real = zb_dtype_is_float(x->dtype);
  bool wide = op->widens && out->dtype == ZB_F32 && (zb_dtype_is_narrow(x->dtype));
  if ((x->dtype != out->dtype && !wide) || !(real || (zb_dtype_is_index(x->dtype) && !op->floats_only)))
    return ZB_REF_BAD_TYPE;
  unsigned dimensions;
  ZB_REF_TRY(reduced_dimensions(call, &dimensions));
  zb_ref_walk whole, kept, reduced;
  zb_ref_walk_init(&whole, x);
  zb_ref_walk_split(&whole, dimensions, &kept, &reduced);
  if (kept.total != zb_tensor_elements(out)) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  /* Kept dimensions come in the order of the result, so its elements are met one after the other. */
  for (int64_t to = 0; kept.left > 0; zb_ref_walk_next(&kept), ++to) {
    double total = op->start;
    int64_t integer_total = op->integer_start;
    for (zb_ref_walk_again(&reduced); reduced.left > 0; zb_ref_walk_next(&reduced)) {
      int64_t from = kept.offset[0] + reduced.offset[0];
      if (real)
        total = op->real(total, zb_ref_get(x, from));
      else
        integer_total = op->integer(integer_total, zb_ref_get_int(x, from));
    }
    if (real)
      zb_ref_set(out, to, op->finish ? op->finish(total, (double)reduced.total) : total);
    else
      zb_ref_set_int(out, to, integer_total);
  }
  return NULL;
}

const char *zb_ref_reduce_sum(const zb_kernel_call *call) {
  static const reduction op = {false, true, 0, add_real, NULL, 0, add_integer};
  return run_reduction(call, &op);
}

const char *zb_ref_reduce_mean(const zb_kernel_call *call) {
  static const reduction op = {true, false, 0, add_real, divide_real, 0, NULL};
  return run_reduction(call, &op);
}

const char *zb_ref_reduce_max(const zb_kernel_call *call) {
  static const reduction op = {false, false, -(double)INFINITY, larger_real, NULL, INT64_MIN, larger_integer};
  return run_reduction(call, &op);
}

const char *zb_ref_reduce_min(const zb_kernel_call *call) {
  static const reduction op = {false, false, (double)INFINITY, smaller_real, NULL, INT64_MAX, smaller_integer};
  return run_reduction(call, &op);
}

const char *zb_ref_reduce_prod(const zb_kernel_call *call) {
  static const reduction op = {false, false, 1, multiply_real, NULL, 1, multiply_integer};
  return run_reduction(call, &op);
}

/* ---- Along one axis ---- */

/* Walks over the rows (outer) and along the axis (inner) of result 0 and of the operands, which have its shape. */
static const char *start_rows(const zb_kernel_call *call, int inputs, zb_ref_walk *rows, zb_ref_walk *along) {
  ZB_REF_TRY(zb_ref_check(call, inputs, 1, false));
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  if (axis < 0 || axis >= out->rank) return ZB_REF_BAD_AXIS;
  zb_ref_walk whole;
  zb_ref_walk_init(&whole, out);
  for (int i = 0; i < inputs; ++i) {
    if (!zb_dtype_is_float(call->inputs[i].dtype) || call->inputs[i].dtype != out->dtype) return ZB_REF_BAD_TYPE;
    if (!zb_tensor_same_shape(&call->inputs[i], out)) return ZB_REF_BAD_SHAPE;
    if (!zb_ref_walk_add(&whole, &call->inputs[i])) return ZB_REF_BAD_SHAPE;
  }
  zb_ref_walk_split(&whole, 1u << axis, rows, along);
  return NULL;
}

static const char *run_softmax(const zb_kernel_call *call, bool logarithm) {
  zb_ref_walk rows, along;
  ZB_REF_TRY(start_rows(call, 1, &rows, &along));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  ZB_REF_CHECKED(call);
  for (; rows.left > 0; zb_ref_walk_next(&rows)) {
    double largest = -(double)INFINITY, total = 0;
    for (zb_ref_walk_again(&along); along.left > 0; zb_ref_walk_next(&along))
      largest = larger_real(largest, zb_ref_get(x, rows.offset[1] + along.offset[1]));
    if (largest == -(double)INFINITY && !logarithm) largest = 0; /* a row that sees nothing */
    for (zb_ref_walk_again(&along); along.left > 0; zb_ref_walk_next(&along))
      total += exp(zb_ref_get(x, rows.offset[1] + along.offset[1]) - largest);
    double shift = log(total), divisor = total == 0 ? 1 : total;
    for (zb_ref_walk_again(&along); along.left > 0; zb_ref_walk_next(&along)) {
      double centered = zb_ref_get(x, rows.offset[1] + along.offset[1]) - largest;
      zb_ref_set(out, rows.offset[0] + along.offset[0], logarithm ? centered - shift : exp(centered) / divisor);
    }
  }
  return NULL;
}

const char *zb_ref_softmax(const zb_kernel_call *call) { return run_softmax(call, false); }
const char *zb_ref_log_softmax(const zb_kernel_call *call) { return run_softmax(call, true); }

/* (out, dout) -> (dx): softmax out * (dout - sum(dout*out)), log-softmax dout - exp(out)*sum(dout). */
static const char *run_softmax_grad(const zb_kernel_call *call, bool logarithm) {
  zb_ref_walk rows, along;
  ZB_REF_TRY(start_rows(call, 2, &rows, &along));
  const zb_tensor *out = &call->inputs[0], *dout = &call->inputs[1], *dx = &call->outputs[0];
  ZB_REF_CHECKED(call);
  for (; rows.left > 0; zb_ref_walk_next(&rows)) {
    double total = 0;
    for (zb_ref_walk_again(&along); along.left > 0; zb_ref_walk_next(&along)) {
      double d = zb_ref_get(dout, rows.offset[2] + along.offset[2]);
      total += logarithm ? d : d * zb_ref_get(out, rows.offset[1] + along.offset[1]);
    }
    for (zb_ref_walk_again(&along); along.left > 0; zb_ref_walk_next(&along)) {
      double d = zb_ref_get(dout, rows.offset[2] + along.offset[2]);
      double value = zb_ref_get(out, rows.offset[1] + along.offset[1]);
      zb_ref_set(dx, rows.offset[0] + along.offset[0], logarithm ? d - exp(value) * total : value * (d - total));
    }
  }
  return NULL;
}

const char *zb_ref_softmax_grad(const zb_kernel_call *call) { return run_softmax_grad(call, false); }
const char *zb_ref_log_softmax_grad(const zb_kernel_call *call) { return run_softmax_grad(call, true); }

/* ---- cumsum ---- */

/* One line: `count` elements, `step` apart in x and `to_step` apart in out, from the first that is summed. */
static void sum_line(const zb_tensor *out, int64_t to, int64_t to_step, const zb_tensor *x, int64_t from, int64_t step,
                     int64_t count, bool exclusive) {
  double sum = 0;
  uint64_t whole = 0;
  bool real = zb_dtype_is_float(x->dtype);
  for (int64_t k = 0; k < count; ++k, to += to_step, from += step) {
    double before = sum;
    uint64_t whole_before = whole;
    if (real)
      sum += zb_ref_get(x, from);
    else
      whole += (uint64_t)zb_ref_get_int(x, from);
    if (real)
      zb_ref_set(out, to, exclusive ? before : sum);
    else
      zb_ref_set_int(out, to, (int64_t)(exclusive ? whole_before : whole));
  }
}

const char *zb_ref_cumsum(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  bool exclusive = zb_attr_bool(&call->attrs, "exclusive", false),
       reverse = zb_attr_bool(&call->attrs, "reverse", false);
  if (x->dtype != out->dtype || x->dtype == ZB_I1) return ZB_REF_BAD_TYPE;
  if (!zb_tensor_same_shape(x, out)) return ZB_REF_BAD_SHAPE;
  if (axis < 0 || axis >= x->rank) return ZB_REF_BAD_AXIS;
  ZB_REF_CHECKED(call);
  zb_tensor lines = *out, starts = *x;
  int64_t size = x->shape[axis], back = reverse ? -1 : 1, last = reverse ? size - 1 : 0;
  lines.shape[axis] = starts.shape[axis] = size > 0;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, &lines);
  (void)zb_ref_walk_add(&walk, &starts);
  for (; walk.left > 0; zb_ref_walk_next(&walk))
    sum_line(out, walk.offset[0] + last * out->strides[axis], back * out->strides[axis], x,
             walk.offset[1] + last * x->strides[axis], back * x->strides[axis], size, exclusive);
  return NULL;
}

/* ---- top_k ---- */

/* 1: element a comes before element b; -1: after it; 0: they are equal. NaN is the greatest. */
static int order_of(const zb_tensor *x, int64_t a, int64_t b, bool largest) {
  int greater;
  if (zb_dtype_is_float(x->dtype)) {
    const double left = zb_ref_get(x, a), right = zb_ref_get(x, b);
    greater = isnan(left) || isnan(right) ? (isnan(left) != 0) - (isnan(right) != 0) : (left > right) - (left < right);
  } else {
    const int64_t left = zb_ref_get_int(x, a), right = zb_ref_get_int(x, b);
    greater = (left > right) - (left < right);
  }
  return largest ? greater : -greater;
}

/* The place that comes next behind `last` (-1: the first of all), of equal elements in the order of their places. */
static int64_t next_place(const zb_tensor *x, int64_t from, int64_t step, int64_t size, int64_t last, bool largest) {
  int64_t best = -1;
  for (int64_t i = 0; i < size; ++i) {
    const int behind = last < 0 ? -1 : order_of(x, from + i * step, from + last * step, largest);
    if (behind > 0 || (behind == 0 && i <= last)) continue;
    if (best < 0 || order_of(x, from + i * step, from + best * step, largest) > 0) best = i;
  }
  return best;
}

const char *zb_ref_top_k(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const int64_t axis = zb_attr_int(&call->attrs, "axis", -1), k = zb_attr_int(&call->attrs, "k", 0);
  const bool largest = zb_attr_bool(&call->attrs, "largest", true);
  if (out->dtype != ZB_I64 || x->dtype == ZB_I1) return ZB_REF_BAD_TYPE;
  if (axis < 0 || axis >= x->rank) return ZB_REF_BAD_AXIS;
  zb_tensor lines = *out, starts = *x;
  lines.shape[axis] = starts.shape[axis] = 1;
  if (k < 1 || k > x->shape[axis] || out->shape[axis] != k || !zb_tensor_same_shape(&lines, &starts))
    return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, &lines);
  (void)zb_ref_walk_add(&walk, &starts);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t last = -1;
    for (int64_t i = 0; i < k; ++i) {
      last = next_place(x, walk.offset[1], x->strides[axis], x->shape[axis], last, largest);
      zb_ref_set_int(out, walk.offset[0] + i * out->strides[axis], last);
    }
  }
  return NULL;
}
