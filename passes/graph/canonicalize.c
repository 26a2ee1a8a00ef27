/* zb-canonicalize: brings ops to one form, so that later passes match fewer of them, without changing what is rounded.
 *
 *   %t = transpose(%w) [1, 0]            %y = matmul(%x, %w) {transpose_rhs = true}
 *   %y = matmul(%x, %t)            ->
 *   reshape(reshape(%x))                 reshape(%x)
 *   reshape(transpose(%x) [0, 2, 1])     transpose(reshape(%x)) [0, 1, 3, 2]
 *   add(%x, expand(constant))            add(%x, constant)
 *
 * One walk in program order: operands are in their final form when an op is met, so one walk is enough. Rules are rows
 * of a table by op name; a rule changes its op in place, replaces it, or leaves it. Ops that nobody reads any more are
 * erased at the end. Values keep their bits: x + 0 stays (it turns -0 into +0), x - 0, x * 1, x / 1 and dropout of
 * nothing go. Constants are folded only where one rounding of the same operation gives the result
 * (canonicalize_fold.c). Forward ops of a differentiated program stay as they are: gradient ops name them by number
 * (zb.id, zb.of).
 *
 * Tests: test/passes/canonicalize.mlir. */

#include "passes/graph/canonicalize_rules.h"
#include "passes/pipeline.h"

#include <math.h>
#include <string.h>

static MlirValue result_of(MlirOperation op) { return mlirOperationGetResult(op, 0); }

static bool is_kernel(MlirOperation op) {
  const zb_op_def *def = mlirOperationIsNull(op) ? NULL : zb_op_find(op);
  return def && def->op_class == ZB_CLASS_KERNEL;
}

/* Whether it gives the loss, or an output that is handed out. */
static bool is_reported(MlirOperation op) {
  MlirOpOperand use = mlirValueGetFirstUse(result_of(op));
  for (; !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!zb_op_is(user, "func.return")) continue;
    MlirOperation function = mlirOperationGetParentOperation(user);
    const int index = (int)mlirOpOperandGetOperandNumber(use);
    if (zb_result_has(function, index, ZB_ATTR_OUTPUT) || zb_result_has(function, index, ZB_ATTR_LOSS)) return true;
  }
  return false;
}

/* What is reported is computed by an op: one that does nothing stays where an argument or a view of one would take its
 * place. */
static zb_outcome replace(MlirOperation op, MlirValue value) {
  if (is_kernel(op) && !is_kernel(zb_producer(value)) && is_reported(op)) return ZB_KEPT;
  zb_replace_op(op, value);
  return ZB_REPLACED;
}

/* ---- Views ---- */

/* An op of one operand that gives it unchanged when the types are equal: reshape, expand, cast, slice, concat of one,
 * split in one. */
static zb_outcome drop_identity(MlirOperation op) {
  MlirValue x = mlirOperationGetOperand(op, 0);
  if (mlirOperationGetNumOperands(op) != 1 || mlirOperationGetNumResults(op) != 1 || !zb_same_type(x, result_of(op)))
    return ZB_KEPT;
  return replace(op, x);
}

/* op(op(x)) where only the outer shape matters: reshape, expand. */
static zb_outcome skip_same(MlirOperation op) {
  MlirOperation inner = zb_producer(mlirOperationGetOperand(op, 0));
  if (mlirOperationIsNull(inner) || !mlirIdentifierEqual(mlirOperationGetName(op), mlirOperationGetName(inner)))
    return ZB_KEPT;
  mlirOperationSetOperand(op, 0, mlirOperationGetOperand(inner, 0));
  return ZB_CHANGED;
}

static bool is_identity(const int64_t *permutation, int rank) {
  for (int i = 0; i < rank; ++i)
    if (permutation[i] != i) return false;
  return true;
}

static zb_outcome transpose(MlirOperation op) {
  int64_t outer[ZB_DIMS_MAX], inner[ZB_DIMS_MAX];
  int rank = zb_get_ints(op, "permutation", outer);
  if (rank < 0) return ZB_KEPT;
  MlirValue x = mlirOperationGetOperand(op, 0);
  if (is_identity(outer, rank)) return replace(op, x);
  MlirOperation producer = zb_producer_named(x, "zb.transpose");
  if (mlirOperationIsNull(producer) || zb_get_ints(producer, "permutation", inner) != rank) return ZB_KEPT;
  for (int i = 0; i < rank; ++i)
    outer[i] = inner[outer[i]];
  mlirOperationSetOperand(op, 0, mlirOperationGetOperand(producer, 0));
  zb_set_ints(op, "permutation", outer, rank);
  return ZB_CHANGED;
}

/* reshape(transpose(x)) where the transpose swaps the last two dimensions and the reshape keeps them: the transpose
 * goes last, so that it meets the product (PyTorch's exporter joins batch and heads around it). */
static zb_outcome reshape_of_swap(MlirOperation op) {
  int64_t p[ZB_DIMS_MAX];
  zb_shape in, out;
  MlirOperation swap = zb_producer_named(mlirOperationGetOperand(op, 0), "zb.transpose");
  int rank = mlirOperationIsNull(swap) ? -1 : zb_get_ints(swap, "permutation", p);
  if (rank < 2 || p[rank - 1] != rank - 2 || p[rank - 2] != rank - 1 || !is_identity(p, rank - 2)) return ZB_KEPT;
  if (!zb_value_shape(mlirOperationGetResult(swap, 0), &in) || !zb_value_shape(result_of(op), &out)) return ZB_KEPT;
  int last = out.rank - 1;
  if (last < 1 || out.dims[last] != in.dims[rank - 1] || out.dims[last - 1] != in.dims[rank - 2]) return ZB_KEPT;
  MlirValue x = mlirOperationGetOperand(swap, 0);
  MlirOperation before = zb_producer_named(x, "zb.reshape");
  if (!mlirOperationIsNull(before)) x = mlirOperationGetOperand(before, 0);
  out.dims[last] = in.dims[rank - 2];
  out.dims[last - 1] = in.dims[rank - 1];
  for (int i = 0; i <= last; ++i)
    p[i] = i;
  p[last] = last - 1;
  p[last - 1] = last;
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(op, op, &mark);
  MlirValue value = zb_build_reshape(&builder, x, out.dims, out.rank);
  value = builder.failed ? value : zb_build_transpose(&builder, value, p, out.rank);
  return builder.failed ? ZB_FAILED : replace(op, value);
}

/* slice(slice(x)): element i of the outer one is x[start + step * (outer start + outer step * i)]. A slice of
 * everything has the type of its operand and steps 1 (drop_identity), for it could not keep every dimension otherwise.
 */
static zb_outcome slice_of_slice(MlirOperation op) {
  MlirOperation inner = zb_producer_named(mlirOperationGetOperand(op, 0), "zb.slice");
  int64_t starts[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], inner_starts[ZB_DIMS_MAX], inner_steps[ZB_DIMS_MAX];
  if (mlirOperationIsNull(inner)) return ZB_KEPT;
  int rank = zb_get_ints(op, "starts", starts);
  if (rank < 0 || zb_get_ints(op, "steps", steps) != rank || zb_get_ints(inner, "starts", inner_starts) != rank ||
      zb_get_ints(inner, "steps", inner_steps) != rank)
    return ZB_KEPT;
  for (int i = 0; i < rank; ++i) {
    starts[i] = inner_starts[i] + inner_steps[i] * starts[i];
    steps[i] *= inner_steps[i];
  }
  mlirOperationSetOperand(op, 0, mlirOperationGetOperand(inner, 0));
  zb_set_ints(op, "starts", starts, rank);
  zb_set_ints(op, "steps", steps, rank);
  return ZB_CHANGED;
}

/* A reduction over dimensions of size 1 gives its operand's elements. */
static zb_outcome reduce_nothing(MlirOperation op) {
  MlirValue x = mlirOperationGetOperand(op, 0);
  zb_shape in, out;
  if (!zb_value_shape(x, &in) || !zb_value_shape(result_of(op), &out)) return ZB_KEPT;
  if (zb_shape_elements(&in) != zb_shape_elements(&out) || zb_shape_elements(&in) == 0) return ZB_KEPT;
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(op, op, &mark);
  MlirValue value = zb_build_reshape(&builder, x, out.dims, out.rank);
  return builder.failed ? ZB_FAILED : replace(op, value);
}

/* ---- Products ---- */

/* A transpose that swaps the last two dimensions becomes a flag; the rest of what it does stays a transpose. */
static zb_outcome absorb_transpose(MlirOperation op, int side) {
  static const char *const flags[] = {"transpose_lhs", "transpose_rhs"};
  int64_t permutation[ZB_DIMS_MAX];
  MlirOperation producer = zb_producer_named(mlirOperationGetOperand(op, side), "zb.transpose");
  int rank = mlirOperationIsNull(producer) ? -1 : zb_get_ints(producer, "permutation", permutation);
  if (rank < 2 || permutation[rank - 1] > permutation[rank - 2]) return ZB_KEPT;
  int64_t last = permutation[rank - 1];
  permutation[rank - 1] = permutation[rank - 2];
  permutation[rank - 2] = last;
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(op, op, &mark);
  MlirValue x = zb_build_transpose(&builder, mlirOperationGetOperand(producer, 0), permutation, rank);
  if (builder.failed) return ZB_FAILED;
  mlirOperationSetOperand(op, side, x);
  zb_set_flag(op, flags[side], !zb_get_flag(op, flags[side]));
  return ZB_CHANGED;
}

static zb_outcome absorb_transposes(MlirOperation op) {
  const zb_outcome outcome = absorb_transpose(op, 0);
  return outcome == ZB_KEPT ? absorb_transpose(op, 1) : outcome;
}

/* ---- Arithmetic with a neutral constant ---- */

static zb_outcome drop_neutral(MlirOperation op, int side, double neutral, bool sign_matters) {
  double value;
  MlirValue x = mlirOperationGetOperand(op, 1 - side);
  if (!zb_scalar_constant(mlirOperationGetOperand(op, side), &value) || value != neutral) return ZB_KEPT;
  if (sign_matters && signbit(value)) return ZB_KEPT;
  if (!zb_same_type(x, result_of(op))) return ZB_KEPT;
  return replace(op, x);
}

static zb_outcome mul_one(MlirOperation op) {
  zb_outcome outcome = drop_neutral(op, 1, 1.0, false);
  return outcome == ZB_KEPT ? drop_neutral(op, 0, 1.0, false) : outcome;
}

static zb_outcome rhs_one(MlirOperation op) { return drop_neutral(op, 1, 1.0, false); }
static zb_outcome sub_zero(MlirOperation op) { return drop_neutral(op, 1, 0.0, true); } /* -0 - +0 = -0 */

/* x + 0 keeps every integer; of floats only x + -0 does. */
static zb_outcome add_zero(MlirOperation op) {
  zb_shape shape;
  double value;
  if (!zb_value_shape(result_of(op), &shape)) return ZB_KEPT;
  bool integer = shape.dtype == ZB_I64 || shape.dtype == ZB_I32;
  for (int side = 1; side >= 0; --side) {
    if (!zb_scalar_constant(mlirOperationGetOperand(op, side), &value) || value != 0 || !(integer || signbit(value)))
      continue;
    zb_outcome outcome = drop_neutral(op, side, 0.0, false);
    if (outcome != ZB_KEPT) return outcome;
  }
  return ZB_KEPT;
}

static zb_outcome double_negation(MlirOperation op) {
  MlirOperation inner = zb_producer_named(mlirOperationGetOperand(op, 0), "zb.neg");
  return mlirOperationIsNull(inner) ? ZB_KEPT : replace(op, mlirOperationGetOperand(inner, 0));
}

/* A rate of 0 keeps every element as it is. */
static zb_outcome drop_nothing(MlirOperation op) {
  return zb_get_float(op, "rate", 1) == 0 ? replace(op, mlirOperationGetOperand(op, 0)) : ZB_KEPT;
}

/* ---- Broadcasting ---- */

/* An operand behind zb.expand goes direct where the op broadcasts by itself to the same result. The row's infer says
 * so. */
static zb_outcome skip_expand(MlirOperation op) {
  const zb_op_def *def = zb_op_find(op);
  zb_op_view view;
  zb_op_view_storage storage;
  zb_op_error error;
  zb_shape wanted, got;
  if (!zb_has_trait(def, ZB_TRAIT_ELEMENTWISE) || !def->infer || mlirOperationGetNumOperands(op) < 2) return ZB_KEPT;
  for (int i = 0; i < (int)mlirOperationGetNumOperands(op); ++i) {
    MlirOperation expand = zb_producer_named(mlirOperationGetOperand(op, i), "zb.expand");
    if (mlirOperationIsNull(expand)) continue;
    if (!zb_op_view_get(op, &view, &storage) || !zb_value_shape(result_of(op), &wanted)) return ZB_KEPT;
    MlirValue source = mlirOperationGetOperand(expand, 0);
    if (view.operand_count != (int)mlirOperationGetNumOperands(op) || !zb_value_shape(source, &storage.shapes[i]))
      return ZB_KEPT;
    if (!def->infer(&view, &got, &error) || !zb_shape_equal(&got, &wanted)) continue;
    mlirOperationSetOperand(op, i, source);
    return ZB_CHANGED;
  }
  return ZB_KEPT;
}

/* ---- The table ---- */

/* Rules of one op are tried in order; after a change they start again. */
static const struct {
  const char *op;
  zb_outcome (*apply)(MlirOperation op);
} rules[] = {
    {"transpose", transpose},
    {"reshape", drop_identity},
    {"reshape", skip_same},
    {"reshape", reshape_of_swap},
    {"reshape", zb_fold_reshape},
    {"expand", drop_identity},
    {"expand", skip_same},
    {"cast", drop_identity},
    {"cast", zb_fold_cast},
    {"slice", drop_identity},
    {"slice", slice_of_slice},
    {"split", drop_identity},
    {"concat", drop_identity},
    {"reduce_sum", reduce_nothing},
    {"reduce_mean", reduce_nothing},
    {"reduce_max", reduce_nothing},
    {"reduce_min", reduce_nothing},
    {"reduce_prod", reduce_nothing},
    {"matmul", absorb_transposes},
    {"mul", mul_one},
    {"div", rhs_one},
    {"pow", rhs_one},
    {"sub", sub_zero},
    {"add", add_zero},
    {"neg", double_negation},
    {"dropout", drop_nothing},
    {"add", zb_fold_arithmetic},
    {"sub", zb_fold_arithmetic},
    {"mul", zb_fold_arithmetic},
    {"div", zb_fold_arithmetic},
    {"neg", zb_fold_arithmetic},
    {"sqrt", zb_fold_arithmetic},
    {"reciprocal", zb_fold_arithmetic},
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0], TRIES_MAX = 64 };

/* Composite gradients are ops of differentiated programs; their operands may be rewritten like all others.
 */
static zb_outcome apply_once(MlirOperation op, const zb_op_def *def) {
  for (int i = 0; i < RULE_COUNT; ++i) {
    if (strcmp(rules[i].op, def->name) != 0) continue;
    zb_outcome outcome = rules[i].apply(op);
    if (outcome != ZB_KEPT) return outcome;
  }
  return skip_expand(op);
}

static zb_result canonicalize_op(zb_pass *pass, MlirOperation op) {
  const zb_op_def *def = zb_op_find(op);
  if (!def || def->op_class == ZB_CLASS_FOREIGN || zb_is_numbered(op)) return ZB_OK;
  for (int tries = 0; tries < TRIES_MAX; ++tries) {
    zb_outcome outcome = apply_once(op, def);
    if (outcome == ZB_FAILED) return ZB_FAIL;
    if (outcome == ZB_KEPT) return ZB_OK;
    ++pass->changes;
    if (outcome == ZB_REPLACED) return ZB_OK;
  }
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  zb_op_list list;
  zb_result result = ZB_OK;
  int64_t erased;
  ZB_PASS_TRY(pass, zb_op_list_collect(&pass->arena, function, &list));
  for (size_t i = 0; i < list.count && result; ++i)
    result = canonicalize_op(pass, list.items[i]);
  if (!result || pass->changes == 0) return result;
  ZB_PASS_TRY(pass, zb_erase_dead(&pass->arena, function, &erased));
  return ZB_OK;
}

const zb_pass_def zb_pass_canonicalize = {
    .name = "zb-canonicalize",
    .summary = "bring ops to one form: transposes into products, views composed, neutral ops dropped",
    .requires_level = "graph",
    .last_level = "split",
    .run_on_function = run,
};
