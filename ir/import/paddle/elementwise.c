/* Elementwise ops, comparisons, conversions, reductions. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <math.h>
#include <string.h>

static const char *kind_of(const zb_import_node *n) { return n->op->argument; }
static bool is(const zb_import_node *n, const char *op) { return strcmp(n->op->argument, op) == 0; }

/* ---- One operand ---- */

/* Attributes of ops whose names or defaults differ from zb's; -1 after reporting. */
static int unary_attributes(zb_import_node *n, zb_attr attrs[2]) {
  if (is(n, "elu") || is(n, "celu")) return attrs[0] = zb_float("alpha", zb_paddle_real(n, "alpha", 1)), 1;
  if (is(n, "selu")) {
    attrs[0] = zb_float("alpha", zb_paddle_real(n, "alpha", 1.67326319217681884765625));
    attrs[1] = zb_float("gamma", zb_paddle_real(n, "scale", 1.05070102214813232421875));
    return 2;
  }
  if (is(n, "shrink")) {
    const double bound = zb_paddle_real(n, "lambda threshold", 0.5);
    return attrs[0] = zb_float("bias", bound), attrs[1] = zb_float("lambda", bound), 2;
  }
  if (is(n, "thresholded_relu")) {
    if (zb_paddle_real(n, "value", 0) != 0) return zb_paddle_refuse_attribute(n, "value", "0 is supported"), -1;
    return attrs[0] = zb_float("alpha", zb_paddle_real(n, "threshold", 1)), 1;
  }
  if (is(n, "silu")) return attrs[0] = zb_float("alpha", zb_paddle_real(n, "beta", 1)), 1;
  if (is(n, "gelu")) return attrs[0] = zb_bool("tanh", zb_paddle_integer(n, "approximate", 0) != 0), 1;
  if (is(n, "hard_sigmoid")) {
    attrs[0] = zb_float("alpha", zb_paddle_real(n, "slope", (float)(1.0 / 6)));
    attrs[1] = zb_float("beta", zb_paddle_real(n, "offset", 0.5));
    return 2;
  }
  const bool is_plain =
      !is(n, "hard_swish") || (zb_paddle_real(n, "threshold", 6) == 6 && zb_paddle_real(n, "scale", 6) == 6 &&
                               zb_paddle_real(n, "offset", 3) == 3);
  if (!is_plain) return zb_paddle_refuse_attribute(n, "threshold", "6, 6 and 3 are supported"), -1;
  if (is(n, "mish") && zb_paddle_real(n, "threshold lambda", 20) < 17)
    return zb_paddle_refuse_attribute(n, "threshold", "leave it at 20"), -1;
  return 0;
}

zb_result zb_paddle_unary(zb_import_node *n) {
  zb_attr attrs[2];
  zb_operand x = zb_paddle_in(n, "X");
  const int count = unary_attributes(n, attrs);
  if (count < 0 || n->im->failed) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_unary(n, kind_of(n), x, attrs, count));
}

/* Formulas whose ends are Paddle's: at 0 leaky_relu has the slope 1, and hardshrink keeps its bounds. */
zb_result zb_paddle_ends(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), zero = zb_operand_number(n, x, 0);
  if (is(n, "leaky_relu")) {
    zb_operand slope = zb_operand_number(n, x, zb_paddle_real(n, "alpha negative_slope", 0.01));
    zb_operand bent = zb_operand_apply2(n, "mul", x, slope);
    return zb_paddle_give(n, "Out", zb_operand_where(n, zb_operand_apply2(n, "less", x, zero), bent, x));
  }
  zb_operand size = zb_operand_apply1(n, "abs", x),
             bound = zb_operand_number(n, x, zb_paddle_real(n, "threshold", 0.5));
  return zb_paddle_give(n, "Out", zb_operand_where(n, zb_operand_apply2(n, "less", size, bound), zero, x));
}

zb_result zb_paddle_round(zb_import_node *n) {
  const double scale = pow(10, (double)zb_paddle_integer(n, "decimals", 0));
  zb_operand x = zb_operand_apply1(n, "round", zb_meaning_line(n, zb_paddle_in(n, "X"), scale, 0));
  if (scale != 1) x = zb_operand_apply2(n, "div", x, zb_operand_number(n, x, scale));
  return zb_paddle_give(n, "Out", x);
}

/* x - tanh(x), whose slope is tanh(x)^2. */
zb_result zb_paddle_tanh_shrink(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), bent = zb_operand_apply1(n, "tanh", x);
  zb_operand y = zb_operand_apply1(n, "detach", zb_operand_apply2(n, "sub", x, bent));
  return zb_paddle_give(n, "Out", zb_operand_with_slope(n, y, x, zb_operand_apply2(n, "mul", bent, bent)));
}

zb_result zb_paddle_softplus(zb_import_node *n) {
  const double beta = zb_paddle_real(n, "beta", 1), threshold = zb_paddle_real(n, "threshold", 20);
  return zb_paddle_give(n, "Out", zb_meaning_softplus(n, zb_paddle_in(n, "X"), beta, threshold));
}

/* x * scale + bias, or (x + bias) * scale. */
zb_result zb_paddle_scale(zb_import_node *n) {
  double factor;
  zb_operand x = zb_paddle_in(n, "X");
  const double bias = zb_paddle_real(n, "bias", 0);
  const bool is_after = zb_paddle_integer(n, "bias_after_scale", 1) != 0;
  if (!zb_paddle_number(n, "scale", "ScaleTensor", 1, &factor)) return ZB_FAIL;
  if (!is_after) x = zb_meaning_line(n, x, 1, bias);
  return zb_paddle_give(n, "Out", zb_meaning_line(n, x, factor, is_after ? bias : 0));
}

zb_result zb_paddle_power(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X");
  const double power = zb_paddle_real(n, "factor y", 1);
  if (power == 2) return zb_paddle_give(n, "Out", zb_operand_apply2(n, "mul", x, x));
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, "pow", x, zb_operand_number(n, x, power)));
}

/* relu6 between 0 and 6, hardtanh between t_min and t_max. */
zb_result zb_paddle_bounded(zb_import_node *n) {
  const bool is_six = is(n, "6");
  const double least = is_six ? 0 : zb_paddle_real(n, "t_min", -1);
  const double most = is_six ? zb_paddle_real(n, "threshold", 6) : zb_paddle_real(n, "t_max", 1);
  return zb_paddle_give(n, "Out", zb_meaning_hardtanh(n, zb_paddle_in(n, "X"), least, most));
}

zb_result zb_paddle_clip(zb_import_node *n) {
  double least, most;
  if (!zb_paddle_number(n, "min", "Min", -INFINITY, &least) || !zb_paddle_number(n, "max", "Max", INFINITY, &most))
    return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_clip(n, zb_paddle_in(n, "X"), least, most));
}

zb_result zb_paddle_cast(zb_import_node *n) {
  zb_dtype dtype;
  if (!zb_paddle_declared(n, "Out", &dtype)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_operand_cast(n, zb_paddle_in(n, "X"), dtype));
}

zb_result zb_paddle_identity(zb_import_node *n) { return zb_paddle_give(n, "Out", zb_paddle_in(n, "X")); }

/* In an evaluation nothing is dropped; x is scaled there if it is not scaled up in training. */
zb_result zb_paddle_dropout(zb_import_node *n) {
  double rate;
  zb_operand x = zb_paddle_in(n, "X");
  const char *mode = zb_paddle_text(n, "dropout_implementation mode", "downgrade_in_infer");
  const bool scales_up = strcmp(mode, "upscale_in_train") == 0;
  const bool trains = zb_paddle_integer(n, "is_test", 0) == 0 && !n->im->params->inference;
  if (!zb_paddle_number(n, "dropout_prob p", "P", 0.5, &rate)) return ZB_FAIL;
  if (!(rate >= 0 && rate < 1)) return zb_paddle_refuse_attribute(n, "p", "0 <= p < 1");
  if (rate == 0 || (!trains && scales_up)) return zb_paddle_give(n, "Out", x);
  if (!trains) return zb_paddle_give(n, "Out", zb_meaning_line(n, x, 1 - rate, 0));
  if (!scales_up) return zb_paddle_refuse_attribute(n, "mode", "use mode=\"upscale_in_train\", Paddle's default");
  return zb_paddle_give(n, "Out", zb_meaning_drop(n, x, rate));
}

/* ---- Two and three operands ---- */

/* Y with dimensions of 1 behind it, where `axis` says to which dimension of X its first one belongs. */
static zb_operand aligned(zb_import_node *n, zb_operand x, zb_operand y) {
  zb_shape left, right;
  const int64_t axis = zb_paddle_integer(n, "axis", -1);
  if (!zb_operand_shape(n, x, &left) || !zb_operand_shape(n, y, &right)) return NULL;
  if (axis == -1 || right.rank >= left.rank || axis == left.rank - right.rank) return y;
  if (axis < 0 || axis + right.rank > left.rank)
    return zb_paddle_refuse_attribute(n, "axis", NULL), n->im->failed = true, NULL;
  while (axis + right.rank < left.rank)
    right.dims[right.rank++] = 1;
  return zb_operand_reshape(n, y, &right);
}

zb_result zb_paddle_binary(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  if (x && y) y = aligned(n, x, y);
  return zb_paddle_give(n, "Out", x && y ? zb_operand_apply2(n, kind_of(n), x, y) : NULL);
}

zb_result zb_paddle_compare(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  if (x && y) y = aligned(n, x, y);
  return zb_paddle_give(n, "Out", zb_meaning_compare(n, kind_of(n), x, y));
}

zb_result zb_paddle_logic(zb_import_node *n) {
  zb_operand x = zb_operand_cast(n, zb_paddle_in(n, "X"), ZB_I1);
  if (is(n, "not")) return zb_paddle_give(n, "Out", zb_operand_apply1(n, "not", x));
  zb_operand y = zb_operand_cast(n, zb_paddle_in(n, "Y"), ZB_I1);
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, kind_of(n), x, y));
}

zb_result zb_paddle_select(zb_import_node *n) {
  zb_operand condition = zb_operand_cast(n, zb_paddle_in(n, "Condition"), ZB_I1);
  return zb_paddle_give(n, "Out", zb_operand_where(n, condition, zb_paddle_in(n, "X"), zb_paddle_in(n, "Y")));
}

zb_result zb_paddle_lerp(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y"), weight = zb_paddle_in(n, "Weight");
  return zb_paddle_give(n, "Out", zb_meaning_lerp(n, x, y, weight));
}

zb_result zb_paddle_masked_fill(zb_import_node *n) {
  zb_operand mask = zb_operand_cast(n, zb_paddle_in(n, "Mask"), ZB_I1);
  return zb_paddle_give(n, "Out", zb_operand_where(n, mask, zb_paddle_in(n, "Value"), zb_paddle_in(n, "X")));
}

/* One slope, or one a channel, which is the second dimension. */
zb_result zb_paddle_prelu(zb_import_node *n) {
  zb_shape in, slopes;
  zb_operand x = zb_paddle_in(n, "X"), slope = zb_paddle_in(n, "Alpha");
  const char *mode = zb_paddle_text(n, "mode", "all");
  if (!x || !slope || !zb_operand_shape(n, x, &in) || !zb_operand_shape(n, slope, &slopes)) return ZB_FAIL;
  const int64_t count = zb_shape_elements(&slopes);
  if (strcmp(mode, "channel") == 0) {
    if (strncmp(zb_paddle_text(n, "data_format", "NCHW"), "NC", 2) != 0 || in.rank < 2 || count != in.dims[1])
      return zb_paddle_refuse_attribute(n, "data_format", "channels are the second dimension");
    slopes = (zb_shape){.dtype = slopes.dtype, .rank = in.rank - 1};
    for (int i = 0; i < slopes.rank; ++i)
      slopes.dims[i] = i == 0 ? count : 1;
    slope = zb_operand_reshape(n, slope, &slopes);
  } else if (strcmp(mode, "all") != 0 || count != 1) {
    return zb_paddle_refuse_attribute(n, "mode", "all, channel");
  }
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, "prelu", x, slope));
}

/* silu(x) * y; without y both are halves of x. */
zb_result zb_paddle_swiglu(zb_import_node *n) {
  zb_shape in;
  zb_operand x = zb_paddle_in(n, "X"), y = NULL;
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (zb_paddle_has(n, "Y")) {
    y = zb_paddle_in(n, "Y");
  } else {
    if (in.rank < 1 || in.dims[in.rank - 1] % 2)
      return zb_import_refuse(n, NULL, "its last dimension cannot be halved");
    const int64_t half = in.dims[in.rank - 1] / 2;
    y = zb_operand_part(n, x, in.rank - 1, half, half);
    x = zb_operand_part(n, x, in.rank - 1, 0, half);
  }
  zb_operand gate = zb_operand_apply2(n, "mul", x, zb_operand_apply1(n, "sigmoid", x));
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, "mul", gate, y));
}

/* The sum of a list of tensors. */
zb_result zb_paddle_sum(zb_import_node *n) {
  zb_operand total = zb_paddle_in(n, "X");
  for (int i = 1; i < n->input_count && total; ++i)
    if (n->inputs[i]) total = zb_operand_apply2(n, "add", total, n->inputs[i]);
  return zb_paddle_give(n, "Out", total);
}

/* ---- Reductions ---- */

bool zb_paddle_read_reduced(zb_import_node *n, zb_operand x, zb_paddle_reduced *out) {
  int64_t given[ZB_DIMS_MAX];
  int found;
  out->x = x;
  if (!zb_operand_shape(n, x, &out->in) || !zb_paddle_integers(n, "dim axis", "AxisTensor", given, ZB_DIMS_MAX, &found))
    return false;
  if (zb_paddle_integer(n, "reduce_all asvector", 0)) found = 0;
  out->keeps = zb_paddle_integer(n, "keep_dim keepdim", 0) != 0;
  return zb_import_axes(n, given, found, out->in.rank, out->axes, &out->count);
}

/* Older versions of Paddle declare one dimension of 1 where nothing is left. */
static zb_operand as_declared(zb_import_node *n, zb_operand x) {
  const zb_paddle_value *out = zb_paddle_output(zb_paddle_source(n), "Out");
  zb_shape shape;
  if (!x || !out || !out->is_static || out->shape.rank != 1 || out->shape.dims[0] != 1) return x;
  return zb_operand_shape(n, x, &shape) && shape.rank == 0 ? zb_operand_reshape(n, x, &out->shape) : x;
}

zb_result zb_paddle_reduction(zb_import_node *n) {
  zb_paddle_reduced r;
  zb_dtype dtype;
  zb_operand x = zb_paddle_in(n, "X");
  if (!x || !zb_paddle_declared(n, "Out", &dtype) || !zb_paddle_read_reduced(n, zb_operand_cast(n, x, dtype), &r))
    return ZB_FAIL;
  return zb_paddle_give(n, "Out", as_declared(n, zb_operand_reduce(n, kind_of(n), r.x, r.axes, r.count, r.keeps)));
}

zb_result zb_paddle_truth(zb_import_node *n) {
  zb_paddle_reduced r;
  if (!zb_paddle_read_reduced(n, zb_paddle_in(n, "X"), &r)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", as_declared(n, zb_meaning_truth(n, r.x, is(n, "all"), r.axes, r.count, r.keeps)));
}

zb_result zb_paddle_softmax(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "axis", -1, in.rank, &axis)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_softmax(n, kind_of(n), x, axis));
}
