/* Elementwise operators, reductions, softmax: ONNX names and defaults to zb ops.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/build.h"

#include <string.h>

MlirValue zb_onnx_build_casted(zb_builder *b, MlirValue x, zb_dtype dtype) {
  zb_shape shape;
  if (b->failed || !x.ptr) return (MlirValue){NULL};
  if (zb_type_shape(mlirValueGetType(x), &shape) && shape.dtype == dtype) return x;
  zb_attr attr = zb_string("dtype", zb_dtype_name(dtype));
  return zb_build(b, "cast", &x, 1, &attr, 1);
}

/* ONNX spells one attribute differently. */
static const char *attribute_name(const char *onnx) { return strcmp(onnx, "lambd") == 0 ? "lambda" : onnx; }

/* The attributes of these operators have the names and defaults of the zb ops. */
zb_result zb_onnx_build_unary(zb_onnx_node *n) {
  zb_attr attrs[4];
  int count = 0;
  MlirValue x = zb_onnx_node_value(n, 0);
  for (size_t i = 0; i < n->proto->n_attribute && count < 4; ++i) {
    const char *name = n->proto->attribute[i]->name;
    bool flag = strncmp(name, "detect_", 7) == 0;
    attrs[count++] = flag ? zb_bool(name, zb_onnx_node_int(n, name, 1) != 0)
                          : zb_float(attribute_name(name), zb_onnx_node_float(n, name, 0));
  }
  if (n->im->failed) return ZB_FAIL;
  return zb_onnx_node_set(n, 0, zb_build(n->b, n->row->argument, &x, 1, attrs, count));
}

zb_result zb_onnx_build_gelu(zb_onnx_node *n) {
  char form[16];
  zb_onnx_node_string(n, "approximate", "none", form, sizeof form);
  bool tanh_form = strcmp(form, "tanh") == 0;
  if (!tanh_form && strcmp(form, "none") != 0)
    return zb_onnx_node_fail(n, "'none' and 'tanh' are supported", "approximate = '%s'", form);
  MlirValue x = zb_onnx_node_value(n, 0);
  zb_attr attr = zb_bool("tanh", tanh_form);
  return zb_onnx_node_set(n, 0, zb_build(n->b, "gelu", &x, 1, &attr, 1));
}

/* Bounds that are constants are attributes; others become max and min. */
zb_result zb_onnx_build_clip(zb_onnx_node *n) {
  static const char *const names[] = {NULL, "min", "max"}, *const ops[] = {NULL, "max", "min"};
  zb_attr attrs[2];
  int count = 0;
  zb_shape shape;
  if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
  MlirValue x = zb_onnx_node_value(n, 0);
  for (int i = 1; i <= 2; ++i) {
    const zb_onnx_const *c = zb_onnx_node_has(n, i) ? zb_onnx_node_constant(n, i) : NULL;
    if (!zb_onnx_node_has(n, i)) continue;
    if (c && c->elements == 1 && shape.dtype == ZB_F32)
      attrs[count++] = zb_float(names[i], zb_onnx_const_real(c, 0));
    else
      x = zb_build2(n->b, ops[i], x, zb_onnx_node_value(n, i));
  }
  if (count > 0) x = zb_build(n->b, "clip", &x, 1, attrs, count);
  return zb_onnx_node_set(n, 0, x);
}

zb_result zb_onnx_build_binary(zb_onnx_node *n) {
  zb_attr attrs[1];
  int count = 0;
  const char *op = n->row->argument;
  MlirValue in[2] = {zb_onnx_node_value(n, 0), zb_onnx_node_value(n, 1)};
  zb_shape lhs, rhs;
  if (!zb_onnx_node_value_shape(n, in[0], &lhs) || !zb_onnx_node_value_shape(n, in[1], &rhs)) return ZB_FAIL;
  if (strcmp(op, "pow") == 0 && lhs.dtype == ZB_F32) in[1] = zb_onnx_build_casted(n->b, in[1], ZB_F32);
  if (strcmp(op, "mod") == 0) attrs[count++] = zb_bool("fmod", zb_onnx_node_int(n, "fmod", 0) != 0);
  if (strcmp(op, "bit_shift") == 0) {
    bool left = zb_onnx_node_string_is(n, "direction", "", "LEFT");
    if (!left && !zb_onnx_node_string_is(n, "direction", "", "RIGHT"))
      return zb_onnx_node_fail(n, "LEFT or RIGHT", "the direction is not understood");
    attrs[count++] = zb_bool("left", left);
  }
  if (n->im->failed) return ZB_FAIL;
  return zb_onnx_node_set(n, 0, zb_build(n->b, op, in, 2, attrs, count));
}

/* Sum, Mean, Max, Min of any number: a chain from the left. */
zb_result zb_onnx_build_variadic(zb_onnx_node *n) {
  bool mean = strcmp(n->row->argument, "mean") == 0;
  int count = zb_onnx_node_inputs(n);
  MlirValue sum = zb_onnx_node_value(n, 0);
  for (int i = 1; i < count; ++i)
    sum = zb_build2(n->b, mean ? "add" : n->row->argument, sum, zb_onnx_node_value(n, i));
  if (mean && count > 1) sum = zb_build2(n->b, "mul", sum, zb_build_scalar(n->b, ZB_F32, 1.0 / count));
  return zb_onnx_node_set(n, 0, sum);
}

zb_result zb_onnx_build_where(zb_onnx_node *n) {
  MlirValue in[3] = {zb_onnx_node_value(n, 0), zb_onnx_node_value(n, 1), zb_onnx_node_value(n, 2)};
  return zb_onnx_node_set(n, 0, zb_build(n->b, "where", in, 3, NULL, 0));
}

zb_result zb_onnx_build_cast(zb_onnx_node *n) {
  zb_dtype dtype;
  if (!zb_onnx_arguments_cast(n, &dtype)) return ZB_FAIL;
  if (dtype == ZB_F64) {
    return zb_onnx_node_fail(n, "remove .double() from the model, or export it in float32",
                             "a cast to double of a value that is computed each step");
  }
  return zb_onnx_node_set(n, 0, zb_onnx_build_casted(n->b, zb_onnx_node_value(n, 0), dtype));
}

static MlirValue reduce(zb_builder *b, const char *op, MlirValue x, const int64_t *axes, int count, bool keepdims) {
  zb_attr attrs[] = {zb_ints("axes", axes, count), zb_bool("keepdims", keepdims)};
  return zb_build(b, op, &x, 1, attrs, 2);
}

/* log(sum(exp(x - max))) + max, which does not overflow. */
static MlirValue log_sum_exp(zb_builder *b, MlirValue x, const int64_t *axes, int count, bool keepdims) {
  MlirValue top = reduce(b, "reduce_max", x, axes, count, true);
  MlirValue sum = reduce(b, "reduce_sum", zb_build1(b, "exp", zb_build2(b, "sub", x, top)), axes, count, keepdims);
  MlirValue flat = keepdims ? top : reduce(b, "reduce_max", x, axes, count, false);
  return zb_build2(b, "add", zb_build1(b, "log", sum), flat);
}

zb_result zb_onnx_build_reduce(zb_onnx_node *n) {
  const char *op = n->row->argument;
  bool reduced[ZB_DIMS_MAX], keepdims, identity;
  int64_t axes[ZB_DIMS_MAX];
  int count = 0;
  zb_shape shape;
  if (!zb_onnx_node_shape(n, 0, &shape) || !zb_onnx_arguments_axes(n, shape.rank, reduced, &keepdims, &identity))
    return ZB_FAIL;
  MlirValue x = zb_onnx_node_value(n, 0);
  if (identity && strncmp(op, "reduce_", 7) == 0) return zb_onnx_node_set(n, 0, x);
  if (identity)
    return zb_onnx_node_fail(n, "give it axes", "noop_with_empty_axes without axes is not supported for this operator");
  for (int i = 0; i < shape.rank; ++i) {
    if (reduced[i]) axes[count++] = i;
  }
  zb_builder *b = n->b;
  if (strncmp(op, "reduce_", 7) == 0) return zb_onnx_node_set(n, 0, reduce(b, op, x, axes, count, keepdims));
  if (strcmp(op, "log_sum_exp") == 0) return zb_onnx_node_set(n, 0, log_sum_exp(b, x, axes, count, keepdims));
  if (strcmp(op, "l1") == 0)
    x = zb_build1(b, "abs", x);
  else if (strcmp(op, "log_sum") != 0)
    x = zb_build2(b, "mul", x, x); /* l2, sum_square */
  x = reduce(b, "reduce_sum", x, axes, count, keepdims);
  if (strcmp(op, "l2") == 0)
    x = zb_build1(b, "sqrt", x);
  else if (strcmp(op, "log_sum") == 0)
    x = zb_build1(b, "log", x);
  return zb_onnx_node_set(n, 0, x);
}

zb_result zb_onnx_build_cumsum(zb_onnx_node *n) {
  zb_shape in;
  int64_t wanted;
  int count, axis;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_node_ints(n, 1, "the axis", &wanted, 1, &count)) return ZB_FAIL;
  if (count != 1) return zb_onnx_node_fail(n, NULL, "expected one axis, got %d", count);
  if (!zb_onnx_node_axis(n, wanted, in.rank, &axis)) return ZB_FAIL;
  MlirValue x = zb_onnx_node_value(n, 0);
  zb_attr attrs[] = {zb_int("axis", axis), zb_bool("exclusive", zb_onnx_node_int(n, "exclusive", 0) != 0),
                     zb_bool("reverse", zb_onnx_node_int(n, "reverse", 0) != 0)};
  return zb_onnx_node_set(n, 0, zb_build(n->b, "cumsum", &x, 1, attrs, 3));
}

zb_result zb_onnx_build_softmax(zb_onnx_node *n) {
  zb_shape shape;
  int axis;
  if (!zb_onnx_node_shape(n, 0, &shape) || !zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", -1), shape.rank, &axis))
    return ZB_FAIL;
  MlirValue x = zb_onnx_node_value(n, 0);
  zb_attr attr = zb_int("axis", axis);
  return zb_onnx_node_set(n, 0, zb_build(n->b, n->row->argument, &x, 1, &attr, 1));
}

/* A constant stays a constant, a sequence a sequence, a parameter the same argument. */
zb_result zb_onnx_build_identity(zb_onnx_node *n) {
  zb_onnx_value *in = zb_onnx_node_input(n, 0);
  return in ? zb_onnx_node_set_like(n, 0, in) : zb_onnx_node_fail(n, NULL, "its input is missing");
}

zb_result zb_onnx_build_dropout(zb_onnx_node *n) {
  const zb_onnx_const *ratio = zb_onnx_node_has(n, 1) ? zb_onnx_node_constant(n, 1) : NULL;
  const zb_onnx_const *training = zb_onnx_node_has(n, 2) ? zb_onnx_node_constant(n, 2) : NULL;
  if ((zb_onnx_node_has(n, 1) && !ratio) || (zb_onnx_node_has(n, 2) && !training)) {
    return zb_onnx_node_fail(n, "export with dropout = 0", "the ratio or the training mode is not a constant");
  }
  bool trains = training && training->elements == 1 && zb_onnx_const_integer(training, 0) != 0;
  double share = ratio && ratio->elements == 1 ? zb_onnx_const_real(ratio, 0) : 0.5;
  if (trains && share != 0) {
    return zb_onnx_node_fail(
        n, "export with dropout = 0 (a model in training mode with its dropout probabilities set to 0)",
        "dropout of %g in training mode is not supported: results would depend on random numbers", share);
  }
  if (zb_onnx_node_output_used(n, 1)) {
    zb_shape shape;
    if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
    shape.dtype = ZB_I1;
    zb_onnx_const *mask = zb_onnx_const_new(n->im, &shape);
    if (mask) memset(mask->data, 1, (size_t)mask->elements);
    if (!zb_onnx_node_set_constant(n, 1, mask)) return ZB_FAIL;
  }
  return zb_onnx_build_identity(n);
}
