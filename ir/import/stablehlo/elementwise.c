/* Elementwise ops, comparisons, conversions. Both dialects give operands of one shape, so nothing is broadcast here but
 * scalars of select and clamp. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <string.h>

/* An op of up to three operands, by its reference kernel or as IR. */
static zb_result fold_or_build(zb_import_node *n, const char *op, int count, const zb_attr *attrs, int attr_count) {
  if (n->folds) {
    const zb_known *in[3] = {zb_import_known(n, 0), count > 1 ? zb_import_known(n, 1) : NULL,
                             count > 2 ? zb_import_known(n, 2) : NULL};
    if (count == 3) return zb_import_give_known(n, 0, zb_import_fold_where(n, in[0], in[1], in[2]));
    return zb_import_give_known(n, 0,
                                count == 1 ? zb_import_fold_op(n, op, in, 1, attrs, attr_count)
                                           : zb_import_fold_binary(n, op, in[0], in[1], attrs, attr_count));
  }
  MlirValue in[3];
  for (int i = 0; i < count; ++i)
    in[i] = zb_import_ir(n, i);
  return n->im->failed ? ZB_FAIL : zb_import_give(n, 0, zb_build(n->b, op, in, count, attrs, attr_count));
}

zb_result zb_stablehlo_unary(zb_import_node *n) {
  zb_shape shape;
  const char *op = n->op->argument;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  if (strcmp(op, "not") == 0 && shape.dtype != ZB_I1) op = "bitwise_not";
  return fold_or_build(n, op, 1, NULL, 0);
}

/* Whether every element of an input is zero and known. */
static bool is_zero(zb_import_node *n, int input) {
  const zb_known *known = zb_import_known(n, input);
  for (int64_t i = 0; known && i < known->elements; ++i)
    if (zb_known_real(known, i) != 0) return false;
  return known != NULL;
}

/* Of i1, arithmetic is logic: a sum is `or`, a product `and`. */
static const char *of_logic(const char *op) {
  static const struct {
    const char *op, *logic;
  } rows[] = {{"add", "or"}, {"max", "or"}, {"mul", "and"}, {"min", "and"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (strcmp(rows[i].op, op) == 0) return rows[i].logic;
  return op;
}

static const char *of_integers(const char *op) {
  return strcmp(op, "and") == 0   ? "bitwise_and"
         : strcmp(op, "or") == 0  ? "bitwise_or"
         : strcmp(op, "xor") == 0 ? "bitwise_xor"
                                  : op;
}

/* jax.nn.relu is maximum(x, 0) with the gradient 0 at 0, which zb.relu has. */
zb_result zb_stablehlo_binary(zb_import_node *n) {
  zb_shape shape;
  const char *op = n->op->argument;
  const zb_attr fmod = zb_bool("fmod", true);
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  op = shape.dtype == ZB_I1 ? of_logic(op) : of_integers(op);
  for (int i = 0; i < 2 && !n->folds && strcmp(op, "max") == 0 && shape.dtype == ZB_F32; ++i) {
    if (!is_zero(n, 1 - i)) continue;
    return zb_import_give(n, 0, zb_build1(n->b, "relu", zb_import_ir(n, i)));
  }
  return fold_or_build(n, op, 2, &fmod, strcmp(op, "mod") == 0);
}

zb_result zb_stablehlo_square(zb_import_node *n) {
  const zb_known *x = n->folds ? zb_import_known(n, 0) : NULL;
  if (x) return zb_import_give_known(n, 0, zb_import_fold_binary(n, "mul", x, x, NULL, 0));
  MlirValue value = zb_import_ir(n, 0);
  return value.ptr ? zb_import_give(n, 0, zb_build2(n->b, "mul", value, value)) : ZB_FAIL;
}

/* tanh(x / 2) * (exp(x) + 1), which keeps the digits of small x that exp(x) - 1 loses. */
zb_result zb_stablehlo_expm1(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_shape shape;
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &shape)) return ZB_FAIL;
  MlirValue half = zb_build1(b, "tanh", zb_build2(b, "mul", x, zb_build_scalar(b, shape.dtype, 0.5)));
  MlirValue sum = zb_build2(b, "add", zb_build1(b, "exp", x), zb_build_scalar(b, shape.dtype, 1));
  return zb_import_give(n, 0, zb_build2(b, "mul", half, sum));
}

/* 2 * atanh(x / (x + 2)), likewise. */
zb_result zb_stablehlo_log1p(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_shape shape;
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &shape)) return ZB_FAIL;
  MlirValue two = zb_build_scalar(b, shape.dtype, 2);
  MlirValue quotient = zb_build2(b, "div", x, zb_build2(b, "add", x, two));
  return zb_import_give(n, 0, zb_build2(b, "mul", zb_build1(b, "atanh", quotient), two));
}

zb_result zb_stablehlo_erfc(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_shape shape;
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &shape)) return ZB_FAIL;
  return zb_import_give(n, 0, zb_build2(b, "sub", zb_build_scalar(b, shape.dtype, 1), zb_build1(b, "erf", x)));
}

zb_result zb_stablehlo_is_finite(zb_import_node *n) {
  zb_builder *b = n->b;
  MlirValue x = zb_import_ir(n, 0);
  if (!x.ptr) return ZB_FAIL;
  MlirValue other = zb_build2(b, "or", zb_build1(b, "is_inf", x), zb_build1(b, "is_nan", x));
  return zb_import_give(n, 0, zb_build1(b, "not", other));
}

/* ---- Comparisons ---- */

static const struct {
  const char *direction, *op;
} comparisons[] = {{"EQ", "equal"},   {"NE", "equal"},      {"GE", "greater_equal"},
                   {"GT", "greater"}, {"LE", "less_equal"}, {"LT", "less"}};

zb_result zb_stablehlo_compare(zb_import_node *n) {
  char direction[16] = "", type[16] = "";
  const char *op = NULL;
  zb_stablehlo_word(zb_stablehlo_source(n), "comparison_direction", direction, sizeof direction);
  zb_stablehlo_word(zb_stablehlo_source(n), "compare_type", type, sizeof type);
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; ++i)
    if (strcmp(comparisons[i].direction, direction) == 0) op = comparisons[i].op;
  if (!op) return zb_import_refuse(n, "EQ, NE, GE, GT, LE or LT", "the comparison_direction is '%s'", direction);
  if (strcmp(type, "TOTALORDER") == 0)
    return zb_import_refuse(n, "compare as FLOAT", "the compare_type TOTALORDER is not supported");
  if (!fold_or_build(n, op, 2, NULL, 0)) return ZB_FAIL;
  if (strcmp(direction, "NE") != 0) return ZB_OK;
  zb_import_value *out = n->outputs[0];
  if (!out) return ZB_OK;
  if (out->known)
    return zb_import_give_known(n, 0, zb_import_fold_op(n, "not", (const zb_known *[]){out->known}, 1, NULL, 0));
  return zb_import_give(n, 0, zb_build1(n->b, "not", out->value));
}

zb_result zb_stablehlo_select(zb_import_node *n) { return fold_or_build(n, "where", 3, NULL, 0); }

/* min, x, max: bounds are scalars or of the shape of x. */
zb_result zb_stablehlo_clamp(zb_import_node *n) {
  if (n->folds) {
    const zb_known *low = zb_import_fold_binary(n, "max", zb_import_known(n, 1), zb_import_known(n, 0), NULL, 0);
    return zb_import_give_known(n, 0,
                                low ? zb_import_fold_binary(n, "min", low, zb_import_known(n, 2), NULL, 0) : NULL);
  }
  MlirValue x = zb_import_ir(n, 1), low = zb_import_ir(n, 0), high = zb_import_ir(n, 2);
  if (n->im->failed) return ZB_FAIL;
  return zb_import_give(n, 0, zb_build2(n->b, "min", zb_build2(n->b, "max", x, low), high));
}

/* ---- Types ---- */

zb_result zb_stablehlo_convert(zb_import_node *n) {
  zb_shape to;
  if (!zb_stablehlo_result_shape(n, 0, &to)) return ZB_FAIL;
  if (n->folds && to.dtype != ZB_BF16 && to.dtype != ZB_F16)
    return zb_import_give_known(n, 0, zb_import_fold_cast(n, zb_import_known(n, 0), to.dtype));
  if (to.dtype == ZB_F64)
    return zb_import_refuse(n, "leave jax_enable_x64 off", "a conversion to f64 of a value that is computed each step");
  MlirValue x = zb_import_ir(n, 0);
  return x.ptr ? zb_import_give(n, 0, zb_build_cast(n->b, x, to.dtype)) : ZB_FAIL;
}

zb_result zb_stablehlo_identity(zb_import_node *n) {
  if (n->output_count > n->input_count) return zb_import_refuse(n, NULL, "it has more results than operands");
  for (int i = 0; i < n->output_count; ++i)
    if (!zb_import_give_value(n, i, n->inputs[i])) return ZB_FAIL;
  return ZB_OK;
}

/* Targets that are ops under another name. */
zb_result zb_stablehlo_custom_call(zb_import_node *n) {
  char target[128] = "";
  zb_stablehlo_string(zb_stablehlo_source(n), "call_target_name", target, sizeof target);
  if (strcmp(target, "mhlo.erf") == 0) {
    MlirValue x = zb_import_ir(n, 0);
    return x.ptr ? zb_import_give(n, 0, zb_build1(n->b, "erf", x)) : ZB_FAIL;
  }
  if (strcmp(target, "Sharding") == 0) return zb_stablehlo_identity(n);
  return zb_import_refuse(n, "write it with ops of jax.numpy; attention as products and a softmax",
                          "the call of '%s' is not supported", target);
}
