/* Elementwise ops, comparisons, conversions. Both dialects give operands of one shape, so nothing is broadcast here but
 * scalars of select and clamp. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <string.h>

/* An op of up to three operands, by its reference kernel or as IR. */
static zb_result give_applied(zb_import_node *n, const char *op, int count) {
  zb_operand in[3];
  for (int i = 0; i < count; ++i)
    in[i] = zb_operand_in(n, i);
  return zb_operand_give(n, 0, zb_operand_apply(n, op, in, count, NULL, 0));
}

/* JAX's slope of |x| is 1 at 0. What is added makes -0 a zero without a sign. */
static zb_operand absolute(zb_import_node *n, zb_operand x) {
  zb_operand zero = zb_operand_number(n, x, 0), negated = zb_operand_apply1(n, "neg", x);
  zb_operand size = zb_operand_where(n, zb_operand_apply2(n, "greater_equal", x, zero), x, negated);
  return zb_operand_apply2(n, "add", size, zero);
}

zb_result zb_stablehlo_unary(zb_import_node *n) {
  zb_shape shape;
  const char *op = n->op->argument;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  if (strcmp(op, "not") == 0 && shape.dtype != ZB_I1) op = "bitwise_not";
  if (strcmp(op, "abs") == 0 && !n->folds && zb_dtype_is_float(shape.dtype))
    return zb_operand_give(n, 0, absolute(n, zb_operand_in(n, 0)));
  return zb_operand_give(n, 0, zb_meaning_unary(n, op, zb_operand_in(n, 0), NULL, 0));
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

static zb_result ordered_binary(zb_import_node *n, const char *op) {
  const zb_stablehlo_integer type = zb_stablehlo_operand_integer(n, 0);
  MlirValue x = zb_import_ir(n, 0), y = zb_import_ir(n, 1);
  if (!x.ptr || !y.ptr) return ZB_FAIL;
  MlirValue out = zb_build2(n->b, op, zb_stablehlo_ordered(n, x, type), zb_stablehlo_ordered(n, y, type));
  return zb_import_give(n, 0, zb_stablehlo_ordered(n, out, type));
}

static zb_result divided(zb_import_node *n, bool remainder) {
  MlirValue x = zb_import_ir(n, 0), y = zb_import_ir(n, 1);
  return x.ptr && y.ptr ? zb_import_give(n, 0, zb_stablehlo_divided(n, x, y, remainder)) : ZB_FAIL;
}

/* x to the power of y: the product of x^(2^k) over the bits of y. Of a negative y it is 1 / x^-y, which is 0 but for 1
 * and -1. */
static zb_result integer_power(zb_import_node *n, zb_dtype dtype) {
  zb_builder *b = n->b;
  const zb_stablehlo_integer type = zb_stablehlo_operand_integer(n, 0);
  MlirValue x = zb_import_ir(n, 0), y = zb_import_ir(n, 1);
  if (!x.ptr || !y.ptr) return ZB_FAIL;
  MlirValue zero = zb_stablehlo_scalar(n, dtype, 0), one = zb_stablehlo_scalar(n, dtype, 1);
  MlirValue minus = zb_stablehlo_scalar(n, dtype, -1), is_odd = zb_build2(b, "bitwise_and", y, one), power = x,
            out = one;
  for (int bit = 0; bit < type.bits && !b->failed; ++bit) {
    MlirValue place = zb_stablehlo_scalar(n, dtype, zb_stablehlo_wrap((int64_t)(UINT64_C(1) << bit), type));
    MlirValue is_set = zb_build1(b, "not", zb_build2(b, "equal", zb_build2(b, "bitwise_and", y, place), zero));
    out = zb_build_where(n->b, is_set, zb_build2(b, "mul", out, power), out);
    if (bit + 1 < type.bits) power = zb_build2(b, "mul", power, power);
  }
  if (!type.is_unsigned) {
    MlirValue sign = zb_build_where(n->b, zb_build2(b, "equal", is_odd, zero), one, minus);
    MlirValue inverse = zb_build_where(n->b, zb_build2(b, "equal", x, one), one, zero);
    inverse = zb_build_where(n->b, zb_build2(b, "equal", x, minus), sign, inverse);
    out = zb_build_where(n->b, zb_build2(b, "less", y, zero), inverse, out);
  }
  return zb_import_give(n, 0, out);
}

zb_result zb_stablehlo_binary(zb_import_node *n) {
  zb_shape shape;
  const char *op = n->op->argument;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  op = shape.dtype == ZB_I1 ? of_logic(op) : of_integers(op);
  if (zb_stablehlo_is_wide_unsigned(zb_stablehlo_operand_integer(n, 0))) {
    if (strcmp(op, "max") == 0 || strcmp(op, "min") == 0) return ordered_binary(n, op);
    if (strcmp(op, "div") == 0 || strcmp(op, "mod") == 0) return divided(n, *op == 'm');
  }
  if (strcmp(op, "pow") == 0 && !zb_dtype_is_float(shape.dtype)) return integer_power(n, shape.dtype);
  if (strcmp(op, "mod") == 0)
    return zb_operand_give(n, 0, zb_meaning_rest(n, zb_operand_in(n, 0), zb_operand_in(n, 1), true));
  return give_applied(n, op, 2);
}

/* Half away from zero; floor(|x| + 1/2) would round what lies just below a half. */
zb_result zb_stablehlo_round_away(zb_import_node *n) {
  zb_operand x = zb_operand_in(n, 0);
  zb_operand size = zb_operand_apply1(n, "abs", x), whole = zb_operand_apply1(n, "floor", size);
  zb_operand up =
      zb_operand_apply2(n, "greater_equal", zb_operand_apply2(n, "sub", size, whole), zb_operand_number(n, x, 0.5));
  whole = zb_operand_where(n, up, zb_meaning_line(n, whole, 1, 1), whole);
  zb_operand negative = zb_operand_apply2(n, "less", x, zb_operand_number(n, x, 0));
  return zb_operand_give(n, 0, zb_operand_where(n, negative, zb_operand_apply1(n, "neg", whole), whole));
}

/* ---- Comparisons ---- */

static const struct {
  const char *direction, *op;
} comparisons[] = {{"EQ", "equal"},   {"NE", "differs"},    {"GE", "greater_equal"},
                   {"GT", "greater"}, {"LE", "less_equal"}, {"LT", "less"}};

zb_result zb_stablehlo_compare(zb_import_node *n) {
  char direction[16] = "", type[16] = "";
  const char *op = NULL;
  zb_stablehlo_word(zb_stablehlo_source(n), "comparison_direction", direction, sizeof direction);
  zb_stablehlo_word(zb_stablehlo_source(n), "compare_type", type, sizeof type);
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; ++i)
    if (strcmp(comparisons[i].direction, direction) == 0) op = comparisons[i].op;
  if (!op) return zb_import_refuse(n, "EQ, NE, GE, GT, LE or LT", "the comparison_direction is '%s'", direction);
  const zb_stablehlo_integer integer = zb_stablehlo_operand_integer(n, 0);
  const bool is_total = strcmp(type, "TOTALORDER") == 0;
  zb_operand x = zb_operand_in(n, 0), y = zb_operand_in(n, 1);
  if (is_total || zb_stablehlo_is_wide_unsigned(integer)) {
    MlirValue both[] = {zb_import_ir(n, 0), zb_import_ir(n, 1)};
    if (!both[0].ptr || !both[1].ptr) return ZB_FAIL;
    for (int i = 0; i < 2; ++i)
      both[i] = is_total ? zb_stablehlo_total_order(n, both[i]) : zb_stablehlo_ordered(n, both[i], integer);
    x = zb_operand_computed(n, both[0]);
    y = zb_operand_computed(n, both[1]);
  }
  return zb_operand_give(n, 0, zb_meaning_compare(n, op, x, y));
}

zb_result zb_stablehlo_select(zb_import_node *n) { return give_applied(n, "where", 3); }

/* min, x, max: bounds are scalars or of the shape of x. */
zb_result zb_stablehlo_clamp(zb_import_node *n) {
  const zb_stablehlo_integer type = zb_stablehlo_operand_integer(n, 1);
  if (!zb_stablehlo_is_wide_unsigned(type)) {
    zb_operand x = zb_operand_apply2(n, "max", zb_operand_in(n, 1), zb_operand_in(n, 0));
    return zb_operand_give(n, 0, zb_operand_apply2(n, "min", x, zb_operand_in(n, 2)));
  }
  MlirValue x = zb_import_ir(n, 1), low = zb_import_ir(n, 0), high = zb_import_ir(n, 2);
  if (n->im->failed) return ZB_FAIL;
  x = zb_build2(n->b, "max", zb_stablehlo_ordered(n, x, type), zb_stablehlo_ordered(n, low, type));
  x = zb_build2(n->b, "min", x, zb_stablehlo_ordered(n, high, type));
  return zb_import_give(n, 0, zb_stablehlo_ordered(n, x, type));
}

/* ---- Types ---- */

zb_result zb_stablehlo_convert(zb_import_node *n) {
  zb_shape from, to;
  if (!zb_import_shape(n, 0, &from) || !zb_stablehlo_result_shape(n, 0, &to)) return ZB_FAIL;
  const bool is_real = zb_dtype_is_float(from.dtype), becomes_real = zb_dtype_is_float(to.dtype);
  if (is_real != becomes_real) {
    MlirValue wide = {NULL};
    if (becomes_real && zb_stablehlo_is_wide_unsigned(zb_stablehlo_operand_integer(n, 0)))
      wide = zb_stablehlo_real_of_wide(n, zb_import_ir(n, 0));
    if (is_real && zb_stablehlo_is_wide_unsigned(zb_stablehlo_result_integer(n, 0)))
      wide = zb_stablehlo_wide_of_real(n, zb_import_ir(n, 0));
    if (wide.ptr) return zb_import_give(n, 0, zb_build_cast(n->b, wide, to.dtype));
  }
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  if (n->folds && to.dtype != ZB_BF16 && to.dtype != ZB_F16)
    return zb_import_give_known(n, 0, zb_import_fold_cast(n, zb_import_known(n, 0), to.dtype));
  MlirValue x = zb_import_ir(n, 0);
  if (!x.ptr) return ZB_FAIL;
  const zb_stablehlo_integer integer = zb_stablehlo_result_integer(n, 0);
  if (is_real && zb_stablehlo_is_held(integer)) /* what does not fit i32 still has its low bits */
    return zb_import_give(n, 0, zb_build_cast(n->b, zb_build_cast(n->b, x, ZB_I64), to.dtype));
  return zb_import_give(n, 0, zb_build_cast(n->b, x, to.dtype));
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
  if (strcmp(target, "mhlo.erf") == 0 && n->input_count == 1 && n->output_count == 1) return give_applied(n, "erf", 1);
  if (strcmp(target, "Sharding") == 0) return zb_stablehlo_identity(n);
  const char *hint = strncmp(target, "lapack_", 7) == 0
                         ? "matrices are not factored or solved here: write it with products, or compute it before"
                         : "write it with ops of jax.numpy; attention as products and a softmax";
  return zb_import_refuse(n, hint, "the call of '%s' is not supported", target);
}
