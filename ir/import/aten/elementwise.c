/* Elementwise ops, comparisons, conversions, reductions. Operands take the type that PyTorch promotes them to, which
 * the declared type of the result says. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <math.h>
#include <string.h>

static bool is(const zb_import_node *n, const char *op) { return strcmp(n->op->argument, op) == 0; }

/* The operand in the type of the result, which is *out; NULL after an error. */
static zb_operand in_declared(zb_import_node *n, zb_shape *out) {
  return zb_aten_result_shape(n, 0, out) ? zb_operand_cast(n, zb_operand_in(n, 0), out->dtype) : NULL;
}

/* ---- One operand ---- */

/* Attributes of ops whose names or defaults differ from PyTorch's. */
static int unary_attributes(zb_import_node *n, zb_attr attrs[2]) {
  const char *op = n->op->argument;
  if (strcmp(op, "elu") == 0 || strcmp(op, "celu") == 0)
    return attrs[0] = zb_float("alpha", zb_aten_real(n, "alpha", 1)), 1;
  if (strcmp(op, "leaky_relu") == 0) return attrs[0] = zb_float("alpha", zb_aten_real(n, "negative_slope", 0.01)), 1;
  if (strcmp(op, "gelu") == 0) {
    char form[16];
    zb_aten_string(n, "approximate", form, sizeof form);
    return attrs[0] = zb_bool("tanh", strcmp(form, "tanh") == 0), 1;
  }
  if (strcmp(op, "hard_sigmoid") == 0)
    return attrs[0] = zb_float("alpha", 1.0 / 6), attrs[1] = zb_float("beta", 0.5), 2;
  if (strcmp(op, "shrink") == 0) {
    const double lambda = zb_aten_real(n, "lambd", 0.5);
    attrs[0] = zb_float("lambda", lambda);
    attrs[1] = zb_float("bias", strcmp(n->kind, "aten.hardshrink") == 0 ? 0 : lambda);
    return 2;
  }
  return 0;
}

zb_result zb_aten_unary(zb_import_node *n) {
  zb_attr attrs[2];
  zb_shape out, in;
  zb_operand x = zb_operand_in(n, 0);
  const char *op = n->op->argument;
  if (!zb_aten_result_shape(n, 0, &out) || !zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (strcmp(op, "not") == 0)
    x = zb_operand_cast(n, x, ZB_I1);
  else if (out.dtype != ZB_I1)
    x = zb_operand_cast(n, x, out.dtype);
  if (strcmp(op, "bitwise_not") == 0 && in.dtype == ZB_I1) op = "not";
  if (strcmp(op, "sign") == 0 && out.dtype == ZB_F32) return zb_operand_give(n, 0, zb_meaning_sign(n, x));
  if (strcmp(op, "elu") == 0 && (zb_aten_real(n, "scale", 1) != 1 || zb_aten_real(n, "input_scale", 1) != 1))
    return zb_aten_refuse_argument(n, "scale", NULL);
  const int count = unary_attributes(n, attrs);
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_meaning_unary(n, op, x, attrs, count));
}

/* Numbers that do not depend on dimensions round as they are. */
zb_result zb_aten_rounding(zb_import_node *n) {
  zb_shape in;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  const bool is_whole = in.dtype == ZB_I64 || in.dtype == ZB_I32 || in.dtype == ZB_I1;
  return zb_operand_give(n, 0, is_whole ? x : zb_operand_apply1(n, n->op->argument, x));
}

zb_result zb_aten_softplus(zb_import_node *n) {
  const double beta = zb_aten_real(n, "beta", 1), threshold = zb_aten_real(n, "threshold", 20);
  return zb_operand_give(n, 0, zb_meaning_softplus(n, zb_operand_in(n, 0), beta, threshold));
}

zb_result zb_aten_threshold(zb_import_node *n) {
  zb_operand x = zb_operand_in(n, 0);
  if (zb_aten_real(n, "value", 0) != 0) return zb_aten_refuse_argument(n, "value", "0 is supported");
  const zb_attr attr = zb_float("alpha", zb_aten_real(n, "threshold", 0));
  return zb_operand_give(n, 0, zb_operand_apply(n, "thresholded_relu", &x, 1, &attr, 1));
}

zb_result zb_aten_glu(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", -1, in.rank, &axis)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_glu(n, x, axis));
}

/* clamp_backward of PyTorch: x at a bound keeps its gradient, a bound has that of x beyond it, and of equal bounds none
 * has any, nor what is no number. Operands are chosen, since a mask would multiply an infinite gradient by 0.
 * low, high: NULL for none. */
static zb_result give_clamped(zb_import_node *n, zb_operand x, zb_operand low, zb_operand high, zb_dtype dtype) {
  zb_operand value = low ? zb_operand_apply2(n, "max", x, low) : x;
  if (high) value = zb_operand_apply2(n, "min", value, high);
  if (dtype == ZB_I64 || dtype == ZB_I32 || dtype == ZB_I1) return zb_operand_give(n, 0, value);
  zb_operand stopped = zb_operand_apply1(n, "detach", value), out = stopped, is_x = NULL;
  if (high) {
    zb_operand beyond = zb_operand_apply2(n, "greater", x, high);
    if (low) beyond = zb_operand_apply2(n, "or", beyond, zb_operand_apply2(n, "less", high, low));
    out = zb_operand_where(n, beyond, high, out);
    is_x = zb_operand_apply2(n, "less_equal", x, high);
  }
  if (low) {
    zb_operand beyond = zb_operand_apply2(n, "less", x, low), inside = zb_operand_apply2(n, "greater_equal", x, low);
    if (high) beyond = zb_operand_apply2(n, "and", beyond, zb_operand_apply2(n, "less", low, high));
    out = zb_operand_where(n, beyond, low, out);
    is_x = is_x ? zb_operand_apply2(n, "and", is_x, inside) : inside;
  }
  out = zb_operand_where(n, is_x, x, out);
  return zb_operand_give(n, 0, zb_operand_where(n, zb_operand_apply1(n, "is_nan", stopped), stopped, out));
}

/* Bounds are numbers, or, as operands, tensors. */
zb_result zb_aten_clamp(zb_import_node *n) {
  static const char *const names[] = {"min", "max"};
  zb_shape out;
  double bounds[2] = {-INFINITY, INFINITY};
  zb_operand x = in_declared(n, &out), ends[2] = {NULL, NULL};
  if (!x) return ZB_FAIL;
  if (strcmp(n->kind, "aten.hardtanh") == 0) {
    const double low = zb_aten_real(n, "min_val", -1), high = zb_aten_real(n, "max_val", 1);
    return zb_operand_give(n, 0, zb_meaning_hardtanh(n, x, low, high));
  }
  for (int i = 0; i < 2; ++i) {
    bounds[i] = zb_aten_real(n, names[i], bounds[i]);
    if (zb_import_has(n, i + 1)) ends[i] = zb_operand_cast(n, n->inputs[i + 1], out.dtype);
  }
  if (ends[0] || ends[1]) return give_clamped(n, x, ends[0], ends[1], out.dtype);
  return zb_operand_give(n, 0, zb_meaning_clip(n, x, bounds[0], bounds[1]));
}

/* ---- Two operands ---- */

typedef struct pair {
  zb_operand x[2];
  zb_shape shapes[2], out; /* out: the declared type of the result */
} pair;

/* Two operands: each a tensor, or a number with one of these names. A number has no dimensions, and the type of its
 * kind: it promotes as PyTorch's numbers do. */
static bool read_pair(zb_import_node *n, pair *p) {
  static const char *const names[2][2] = {{"self", "input"}, {"other", "exponent"}};
  int next = 0;
  for (int k = 0; k < 2; ++k) {
    const char *name = NULL;
    for (int i = 0; i < 2; ++i)
      if (zb_aten_has(n, names[k][i])) name = names[k][i];
    p->x[k] = name ? zb_aten_number(n, name, zb_aten_number_type(n, name)) : zb_operand_in(n, next++);
    if (!zb_operand_shape(n, p->x[k], &p->shapes[k])) return false;
  }
  return zb_aten_result_shape(n, 0, &p->out) && !n->im->failed;
}

static bool convert(zb_import_node *n, pair *p, zb_dtype dtype) {
  for (int k = 0; k < 2; ++k)
    p->x[k] = zb_operand_cast(n, p->x[k], dtype);
  return p->x[0] && p->x[1];
}

/* In the type of the result. */
static bool read_converted(zb_import_node *n, pair *p) { return read_pair(n, p) && convert(n, p, p->out.dtype); }

/* Of bool, arithmetic is logic. */
static const char *of_type(const char *op, zb_dtype dtype) {
  static const struct {
    const char *op, *logic;
  } rows[] = {{"add", "or"},          {"max", "or"},        {"mul", "and"},        {"min", "and"},
              {"bitwise_and", "and"}, {"bitwise_or", "or"}, {"bitwise_xor", "xor"}};
  for (size_t i = 0; dtype == ZB_I1 && i < sizeof rows / sizeof *rows; ++i)
    if (strcmp(rows[i].op, op) == 0) return rows[i].logic;
  return op;
}

zb_result zb_aten_binary(zb_import_node *n) {
  pair p;
  if (!read_converted(n, &p)) return ZB_FAIL;
  if (strcmp(n->kind, "aten.rsub.Scalar") == 0) { /* other - alpha * self */
    zb_operand first = p.x[0];
    p.x[0] = p.x[1];
    p.x[1] = first;
  }
  const double alpha = zb_aten_real(n, "alpha", 1);
  if (alpha != 1) p.x[1] = zb_operand_apply2(n, "mul", p.x[1], zb_operand_scalar(n, p.out.dtype, alpha));
  return zb_operand_give(n, 0, zb_operand_apply2(n, of_type(n->op->argument, p.out.dtype), p.x[0], p.x[1]));
}

/* A power with PyTorch's roots, which are no numbers of -infinity: x^0.5 and x^-0.5, and with y x^(y - 1). */
static zb_operand root_or_power(zb_import_node *n, zb_operand x, double y) {
  if (y == 0.5) return zb_operand_apply1(n, "sqrt", x);
  return y == -0.5 ? zb_operand_apply1(n, "reciprocal", zb_operand_apply1(n, "sqrt", x)) : zb_meaning_power(n, x, y);
}

/* Powers of integers that are computed: a product where the exponent is 2. */
zb_result zb_aten_power(zb_import_node *n) {
  pair p;
  if (!read_converted(n, &p)) return ZB_FAIL;
  const bool is_whole = p.out.dtype == ZB_I64 || p.out.dtype == ZB_I32;
  const double exponent = zb_aten_real(n, "exponent", 0), twice = 2 * exponent;
  if (is_whole && !p.x[0]->known && exponent == 2)
    return zb_operand_give(n, 0, zb_operand_apply2(n, "mul", p.x[0], p.x[0]));
  if (p.out.dtype == ZB_F32 && exponent == 0.5) return zb_operand_give(n, 0, root_or_power(n, p.x[0], 0.5));
  if (p.out.dtype == ZB_F32 && (twice != floor(twice) || exponent == -0.5 || exponent == 1.5)) {
    zb_operand slope =
        zb_operand_apply2(n, "mul", root_or_power(n, p.x[0], exponent - 1), zb_operand_scalar(n, ZB_F32, exponent));
    zb_operand value = zb_operand_apply1(n, "detach", root_or_power(n, p.x[0], exponent));
    return zb_operand_give(n, 0, zb_operand_with_slope(n, value, p.x[0], slope));
  }
  return zb_operand_give(n, 0, zb_operand_apply2(n, "pow", p.x[0], p.x[1]));
}

zb_result zb_aten_modulus(zb_import_node *n) {
  pair p;
  if (!read_converted(n, &p)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_rest(n, p.x[0], p.x[1], is(n, "fmod")));
}

/* floor, trunc or the quotient itself; of integers (a - mod(a, b)) / b, which is whole. */
zb_result zb_aten_divide(zb_import_node *n) {
  pair p;
  char mode[8] = "floor";
  if (!is(n, "floor")) zb_aten_string(n, "rounding_mode", mode, sizeof mode);
  if (!read_converted(n, &p)) return ZB_FAIL;
  const bool is_floor = strcmp(mode, "floor") == 0, is_trunc = strcmp(mode, "trunc") == 0;
  const bool is_whole = p.out.dtype == ZB_I64 || p.out.dtype == ZB_I32;
  const zb_attr attr = zb_bool("fmod", false);
  if (is_whole && is_floor) p.x[0] = zb_operand_apply2(n, "sub", p.x[0], zb_operand_apply(n, "mod", p.x, 2, &attr, 1));
  if (!is_whole && is_floor) return zb_operand_give(n, 0, zb_meaning_floored_quotient(n, p.x[0], p.x[1]));
  zb_operand quotient = zb_operand_apply2(n, "div", p.x[0], p.x[1]);
  if (!is_whole && is_trunc) quotient = zb_meaning_unary(n, "trunc", quotient, NULL, 0);
  return zb_operand_give(n, 0, quotient);
}

zb_result zb_aten_compare(zb_import_node *n) {
  pair p;
  if (!read_pair(n, &p) || !convert(n, &p, zb_aten_promoted(&p.shapes[0], &p.shapes[1]))) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_compare(n, n->op->argument, p.x[0], p.x[1]));
}

zb_result zb_aten_logic(zb_import_node *n) {
  pair p;
  if (!read_pair(n, &p) || !convert(n, &p, ZB_I1)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_apply2(n, n->op->argument, p.x[0], p.x[1]));
}

/* ---- Three operands ---- */

/* where(condition, a, b), and masked_fill(a, mask, value). */
zb_result zb_aten_select(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  const bool fills = is(n, "masked_fill");
  zb_operand in[3] = {zb_operand_in(n, fills ? 1 : 0), NULL, NULL};
  int next = 1;
  const char *const names[] = {"self", "other"};
  for (int k = 1; k < 3 && !fills; ++k)
    in[k] = zb_aten_has(n, names[k - 1]) ? zb_aten_number(n, names[k - 1], out.dtype) : zb_operand_in(n, next++);
  if (fills) {
    in[1] = zb_aten_has(n, "value") ? zb_aten_number(n, "value", out.dtype) : zb_operand_in(n, 2);
    in[2] = zb_operand_in(n, 0);
  }
  for (int k = 1; k < 3; ++k)
    in[k] = zb_operand_cast(n, in[k], out.dtype);
  return zb_operand_give(n, 0, zb_operand_where(n, zb_operand_cast(n, in[0], ZB_I1), in[1], in[2]));
}

/* self + value * a * b, or value * a / b. */
zb_result zb_aten_addc(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  zb_operand factor = zb_operand_in(n, 1);
  const double value = zb_aten_real(n, "value", 1);
  if (value != 1) factor = zb_operand_apply2(n, "mul", factor, zb_operand_scalar(n, out.dtype, value));
  zb_operand product = zb_operand_apply2(n, n->op->argument, factor, zb_operand_in(n, 2));
  return zb_operand_give(n, 0, zb_operand_apply2(n, "add", zb_operand_in(n, 0), product));
}

zb_result zb_aten_lerp(zb_import_node *n) {
  zb_operand start = zb_operand_in(n, 0), end = zb_operand_in(n, 1), weight;
  weight = zb_aten_has(n, "weight") ? zb_operand_number(n, start, zb_aten_real(n, "weight", 0)) : zb_operand_in(n, 2);
  return zb_operand_give(n, 0, zb_meaning_lerp(n, start, end, weight));
}

/* ---- Types ---- */

zb_result zb_aten_convert(zb_import_node *n) {
  zb_shape out;
  return zb_operand_give(n, 0, in_declared(n, &out));
}

zb_result zb_aten_identity(zb_import_node *n) { return zb_operand_give(n, 0, zb_operand_in(n, 0)); }

/* ---- Reductions ---- */

/* What is reduced: the dimensions of `dim`, or all of them where it names none. */
typedef struct reduced {
  zb_operand x;
  zb_shape in;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  bool keeps;
} reduced;

/* False after reporting. */
static bool read_reduced(zb_import_node *n, zb_operand x, reduced *r) {
  int64_t given[ZB_DIMS_MAX];
  int found = 0;
  r->x = x;
  if (!zb_operand_shape(n, x, &r->in)) return false;
  zb_aten_ints(n, "dim", given, ZB_DIMS_MAX, &found);
  r->keeps = zb_aten_flag(n, "keepdim", false);
  return !n->im->failed && zb_import_axes(n, given, found, r->in.rank, r->axes, &r->count);
}

zb_result zb_aten_reduction(zb_import_node *n) {
  zb_shape out;
  reduced r;
  if (!read_reduced(n, in_declared(n, &out), &r)) return ZB_FAIL;
  if (zb_import_wants(n, 1))
    return zb_import_refuse(n, "use torch.amax or torch.amin, which give values alone",
                            "its indices are not supported");
  return zb_operand_give(n, 0, zb_operand_reduce(n, n->op->argument, r.x, r.axes, r.count, r.keeps));
}

zb_result zb_aten_truth(zb_import_node *n) {
  reduced r;
  if (!read_reduced(n, zb_operand_in(n, 0), &r)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_truth(n, r.x, is(n, "all"), r.axes, r.count, r.keeps));
}

/* Variance, and standard deviation. One that norms are made of is a mean of squares, which zb-raise knows. */
zb_result zb_aten_variance(zb_import_node *n) {
  reduced r;
  double elements = 1;
  zb_operand x = zb_operand_in(n, 0), variance;
  if (!read_reduced(n, x, &r)) return ZB_FAIL;
  for (int i = 0; i < r.count; ++i)
    elements *= (double)r.in.dims[r.axes[i]];
  const bool is_root = is(n, "std");
  const double freedom = elements - zb_aten_real(n, "correction", 1);
  if (!(freedom > 0)) return zb_import_refuse(n, NULL, "%g elements are too few", elements);
  if (freedom == elements && r.keeps && !is_root) {
    zb_operand mean = zb_operand_reduce(n, "reduce_mean", x, r.axes, r.count, true);
    variance = zb_meaning_unary(n, "square", zb_operand_apply2(n, "sub", x, mean), NULL, 0);
    variance = zb_operand_reduce(n, "reduce_mean", variance, r.axes, r.count, true);
  } else {
    variance = zb_meaning_variance(n, x, is_root, freedom, r.axes, r.count, r.keeps);
  }
  if (zb_import_wants(n, 1) && !zb_operand_give(n, 1, zb_operand_reduce(n, "reduce_mean", x, r.axes, r.count, r.keeps)))
    return ZB_FAIL;
  return zb_operand_give(n, 0, variance);
}

zb_result zb_aten_log_sum_exp(zb_import_node *n) {
  reduced r;
  if (!read_reduced(n, zb_operand_in(n, 0), &r)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_log_sum_exp(n, r.x, true, r.axes, r.count, r.keeps));
}

/* The norm of vectors: of order 0 (how many are not zero), 1, 2, infinity or another number. */
zb_result zb_aten_vector_norm(zb_import_node *n) {
  zb_shape out;
  reduced r;
  const double order = zb_aten_real(n, "ord", 2);
  if (!zb_aten_result_shape(n, 0, &out) || !read_reduced(n, zb_operand_cast(n, zb_operand_in(n, 0), ZB_F32), &r))
    return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_cast(n, zb_meaning_norm(n, r.x, order, r.axes, r.count, r.keeps), out.dtype));
}

zb_result zb_aten_cumsum(zb_import_node *n) {
  zb_shape in, out;
  int axis;
  zb_operand x = in_declared(n, &out);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank == 0) return zb_operand_give(n, 0, x);
  if (!zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_cumsum(n, x, axis, false, false));
}

zb_result zb_aten_softmax(zb_import_node *n) {
  zb_shape in, out;
  int axis;
  zb_operand x = in_declared(n, &out);
  if (!zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", -1, in.rank, &axis)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_softmax(n, n->op->argument, x, axis));
}
