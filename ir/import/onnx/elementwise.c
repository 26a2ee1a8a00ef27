/* Elementwise operators, reductions, softmax: ONNX names and defaults to zb ops.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static zb_result give_unary(zb_import_node *n, const char *op, const zb_attr *attrs, int attr_count) {
  return zb_operand_give(n, 0, zb_meaning_unary(n, op, zb_operand_in(n, 0), attrs, attr_count));
}

/* Powers of integers are computed in f64: exact up to 2^53. */
static zb_result give_binary(zb_import_node *n, const char *op, const zb_attr *attrs, int attr_count) {
  zb_operand in[2] = {zb_operand_in(n, 0), zb_operand_in(n, 1)};
  zb_shape lhs;
  if (strcmp(op, "pow") == 0 && !n->folds) {
    if (!zb_operand_shape(n, in[0], &lhs)) return ZB_FAIL;
    if (lhs.dtype == ZB_I64 || lhs.dtype == ZB_I32) {
      MlirValue out = zb_build2(n->b, op, zb_build_cast(n->b, zb_import_ir(n, 0), ZB_F64),
                                zb_build_cast(n->b, zb_import_ir(n, 1), ZB_F64));
      return zb_import_give(n, 0, n->b->failed ? out : zb_build_cast(n->b, out, lhs.dtype));
    }
    in[1] = zb_operand_cast(n, in[1], lhs.dtype);
  }
  return zb_operand_give(n, 0, zb_operand_apply(n, op, in, 2, attrs, attr_count));
}

/* The attributes of these operators have the names and defaults of the zb ops, but for one spelling. */
zb_result zb_onnx_unary(zb_import_node *n) {
  const Onnx__NodeProto *proto = n->source;
  zb_attr attrs[4];
  int count = 0;
  for (size_t i = 0; i < proto->n_attribute && count < 4; ++i) {
    const char *name = proto->attribute[i]->name;
    if (strcmp(name, "consumed_inputs") == 0) continue; /* of opset 1: what may be overwritten */
    bool flag = strncmp(name, "detect_", 7) == 0;
    attrs[count++] = flag ? zb_bool(name, zb_onnx_int(n, name, 1) != 0)
                          : zb_float(strcmp(name, "lambd") == 0 ? "lambda" : name, zb_onnx_float(n, name, 0));
  }
  if (strcmp(n->kind, "Selu") == 0 && zb_onnx_of(n->im)->opset < 6) { /* defaults of four digits */
    attrs[0] = zb_float("alpha", zb_onnx_float(n, "alpha", 1.6732f));
    attrs[1] = zb_float("gamma", zb_onnx_float(n, "gamma", 1.0507f));
    count = 2;
  }
  return n->im->failed ? ZB_FAIL : give_unary(n, n->op->argument, attrs, count);
}

zb_result zb_onnx_gelu(zb_import_node *n) {
  char form[16];
  zb_onnx_string(n, "approximate", "none", form, sizeof form);
  bool tanh_form = strcmp(form, "tanh") == 0;
  if (!tanh_form && strcmp(form, "none") != 0)
    return zb_import_refuse(n, "'none' and 'tanh' are supported", "approximate = '%s'", form);
  const zb_attr attr = zb_bool("tanh", tanh_form);
  return give_unary(n, "gelu", &attr, 1);
}

/* Bounds that are computed become max and min. */
zb_result zb_onnx_clip(zb_import_node *n) {
  static const char *const names[] = {"min", "max"}, *const ops[] = {"max", "min"};
  double bounds[2] = {-INFINITY, INFINITY};
  zb_operand x = zb_operand_in(n, 0);
  for (int i = 0; i < 2; ++i) {
    const zb_known *c = zb_import_known(n, i + 1);
    bounds[i] = zb_onnx_float(n, names[i], bounds[i]);
    if (!zb_import_has(n, i + 1) || zb_onnx_attribute(n, names[i])) continue;
    if (c && c->elements == 1 && zb_known_is_float(c))
      bounds[i] = zb_known_real(c, 0);
    else
      x = zb_operand_apply2(n, ops[i], x, zb_operand_in(n, i + 1));
  }
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_meaning_clip(n, x, bounds[0], bounds[1]));
}

/* Before opset 7 operand 1 has the shape of operand 0, or, with `broadcast`, stands beside its dimensions from `axis`
 * on (its last ones); PRelu has a slope, or one for each channel. Then it is shaped as it broadcasts since. */
static bool align_old(zb_import_node *n) {
  zb_shape x, y;
  char a[96], b[96];
  const bool is_prelu = strcmp(n->kind, "PRelu") == 0;
  if (zb_onnx_of(n->im)->opset >= 7) return true;
  if (!zb_import_shape(n, 0, &x) || !zb_import_shape(n, 1, &y)) return false;
  int64_t axis =
      is_prelu ? (y.rank == 1 && y.dims[0] != 1 ? 1 : x.rank - y.rank) : zb_onnx_int(n, "axis", x.rank - y.rank);
  const bool broadcasts = is_prelu || zb_onnx_int(n, "broadcast", 0) != 0;
  const zb_dtype dtype = y.dtype;
  y.dtype = x.dtype;
  if (n->im->failed || zb_shape_equal(&x, &y)) return !n->im->failed;
  y.dtype = dtype;
  if (axis < 0) axis += x.rank;
  if (!broadcasts || axis < 0 || axis + y.rank > x.rank)
    return zb_import_refuse(n, "before opset 7 shapes are equal, or 'broadcast' is 1 and 'axis' says where",
                            "operands of %s and %s, without broadcast", zb_shape_text(&x, a), zb_shape_text(&y, b));
  while (y.rank < x.rank - axis)
    y.dims[y.rank++] = 1;
  n->inputs[1] = zb_operand_reshape(n, n->inputs[1], &y);
  return n->inputs[1] != NULL;
}

zb_result zb_onnx_binary(zb_import_node *n) {
  zb_attr attrs[1];
  int count = 0;
  const char *op = n->op->argument;
  if (!align_old(n)) return ZB_FAIL;
  if (strcmp(op, "mod") == 0)
    return zb_operand_give(
        n, 0, zb_meaning_rest(n, zb_operand_in(n, 0), zb_operand_in(n, 1), zb_onnx_int(n, "fmod", 0) != 0));
  if (strcmp(op, "bit_shift") == 0) {
    bool left = zb_onnx_string_is(n, "direction", "", "LEFT");
    if (!left && !zb_onnx_string_is(n, "direction", "", "RIGHT"))
      return zb_import_refuse(n, "LEFT or RIGHT", "the direction is not understood");
    attrs[count++] = zb_bool("left", left);
  }
  return n->im->failed ? ZB_FAIL : give_binary(n, op, attrs, count);
}

/* Sum, Mean, Max, Min of any number: a chain from the left. */
zb_result zb_onnx_variadic(zb_import_node *n) {
  const bool mean = strcmp(n->op->argument, "mean") == 0;
  zb_operand sum = zb_operand_in(n, 0);
  zb_shape shape;
  if (n->input_count == 1) return zb_import_give_value(n, 0, n->inputs[0]);
  for (int i = 1; i < n->input_count; ++i)
    sum = zb_operand_apply2(n, mean ? "add" : n->op->argument, sum, zb_operand_in(n, i));
  if (mean && zb_operand_shape(n, sum, &shape)) {
    const zb_dtype dtype = n->folds && shape.dtype != ZB_F64 ? ZB_F32 : shape.dtype;
    sum = zb_operand_apply2(n, "mul", sum, zb_operand_scalar(n, dtype, 1.0 / n->input_count));
  }
  return zb_operand_give(n, 0, sum);
}

zb_result zb_onnx_where(zb_import_node *n) {
  return zb_operand_give(n, 0, zb_operand_where(n, zb_operand_in(n, 0), zb_operand_in(n, 1), zb_operand_in(n, 2)));
}

static bool cast_arguments(zb_import_node *n, zb_dtype *out) {
  if (strcmp(n->kind, "CastLike") == 0) {
    zb_shape like;
    if (!zb_import_shape(n, 1, &like)) return false;
    *out = like.dtype;
    return true;
  }
  static const char *const names[] = {"",      "FLOAT", "UINT8",  "INT8", "UINT16",  "INT16",
                                      "INT32", "INT64", "STRING", "BOOL", "FLOAT16", "DOUBLE"};
  enum { NAMES = sizeof names / sizeof *names };
  int64_t to = 0;
  if (zb_onnx_of(n->im)->opset < 6)
    while (++to < NAMES && !zb_onnx_string_is(n, "to", "", names[to]))
      ;
  else
    to = zb_onnx_int(n, "to", 0);
  if (to > 0 && to < INT32_MAX && zb_onnx_dtype(to, out)) return true;
  zb_import_refuse(n,
                   "f32, bf16, f16, f64 (constants only), i64, i32 and bool are supported; export the model in "
                   "float32 (model.float())",
                   "cast to %s (%" PRId64 ") is not supported", zb_onnx_dtype_text(to), to);
  return false;
}

/* A constant as bf16 or f16 stays an op: rounded by its kernel, when a plan is loaded. */
zb_result zb_onnx_cast(zb_import_node *n) {
  zb_dtype dtype;
  if (!cast_arguments(n, &dtype)) return ZB_FAIL;
  if (n->folds && dtype != ZB_BF16 && dtype != ZB_F16)
    return zb_import_give_known(n, 0, zb_import_fold_cast(n, zb_import_known(n, 0), dtype));
  if (dtype == ZB_F64 && !n->im->params->inference)
    return zb_import_refuse(n, "remove .double() from the model, or export it in float32",
                            "a cast to double of a value that is computed each step");
  return zb_import_give(n, 0, zb_build_cast(n->b, zb_import_ir(n, 0), dtype));
}

/* Attribute or input 1: all, or with noop_with_empty_axes none, where there is none. */
static bool axes_arguments(zb_import_node *n, int rank, int64_t *axes, int *count) {
  int64_t given[ZB_DIMS_MAX];
  int found = 0;
  const bool has_input = zb_import_has(n, 1);
  if (has_input && !zb_import_ints(n, 1, "the axes", given, ZB_DIMS_MAX, &found)) return false;
  if (!has_input) zb_onnx_ints(n, "axes", given, ZB_DIMS_MAX, &found);
  *count = 0;
  if (found == 0 && zb_onnx_int(n, "noop_with_empty_axes", 0)) return !n->im->failed;
  return !n->im->failed && zb_import_axes(n, given, found, rank, axes, count);
}

/* As max(dim) of PyTorch, which has places, too: the first of equal elements gets all of the gradient. */
static zb_operand of_first(zb_import_node *n, zb_operand x, zb_operand extreme, int64_t axis, bool keepdims) {
  zb_operand first;
  zb_meaning_top_k(n, x, (int)axis, 1, strcmp(n->op->argument, "reduce_max") == 0, &first);
  if (!keepdims) first = zb_operand_reduce(n, "reduce_sum", first, &axis, 1, false);
  return zb_operand_with_slope(n, zb_operand_apply1(n, "detach", extreme), first, zb_operand_number(n, first, 1));
}

/* What stands around a reduction is done over no axes all the same. */
static zb_operand reduced(zb_import_node *n, zb_operand x, const int64_t *axes, int count, bool keepdims) {
  const char *op = n->op->argument;
  if (*op == 'l' && strlen(op) == 2) return zb_meaning_norm(n, x, op[1] - '0', axes, count, keepdims); /* l1, l2 */
  if (strcmp(op, "log_sum_exp") == 0) return zb_meaning_log_sum_exp(n, x, true, axes, count, keepdims);
  if (strcmp(op, "sum_square") == 0) x = zb_operand_apply2(n, "mul", x, x);
  x = zb_operand_reduce(n, strncmp(op, "reduce_", 7) == 0 ? op : "reduce_sum", x, axes, count, keepdims);
  return strcmp(op, "log_sum") == 0 ? zb_operand_apply1(n, "log", x) : x;
}

zb_result zb_onnx_reduce(zb_import_node *n) {
  const bool keepdims = zb_onnx_int(n, "keepdims", 1) != 0;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  zb_shape shape;
  if (!zb_import_shape(n, 0, &shape) || !axes_arguments(n, shape.rank, axes, &count)) return ZB_FAIL;
  zb_operand x = zb_operand_in(n, 0), out = reduced(n, x, axes, count, keepdims);
  const bool has_places = zb_onnx_rules.is_within(n, "max.dim") || zb_onnx_rules.is_within(n, "min.dim");
  if (has_places && !n->folds && count == 1 && shape.dtype == ZB_F32) out = of_first(n, x, out, axes[0], keepdims);
  return zb_operand_give(n, 0, out);
}

zb_result zb_onnx_cumsum(zb_import_node *n) {
  zb_shape in;
  int64_t wanted;
  int count, axis;
  if (!zb_import_shape(n, 0, &in) || !zb_import_ints(n, 1, "the axis", &wanted, 1, &count)) return ZB_FAIL;
  if (count != 1) return zb_import_refuse(n, NULL, "expected one axis, got %d", count);
  if (!zb_import_axis(n, wanted, in.rank, &axis)) return ZB_FAIL;
  const bool exclusive = zb_onnx_int(n, "exclusive", 0) != 0, reverse = zb_onnx_int(n, "reverse", 0) != 0;
  return zb_operand_give(n, 0, zb_meaning_cumsum(n, zb_operand_in(n, 0), axis, exclusive, reverse));
}

bool zb_onnx_softmax_shape(zb_import_node *n, zb_shape *whole, zb_shape *seen, int *axis) {
  const bool by_two = zb_onnx_of(n->im)->opset < 13;
  if (!zb_onnx_shape_axis(n, by_two ? 1 : -1, whole, axis)) return false;
  *seen = *whole;
  if (!by_two || *axis == whole->rank - 1) return true;
  *seen = zb_meaning_as_matrix(whole, *axis);
  *axis = 1;
  return true;
}

/* Softmax and LogSoftmax. */
zb_result zb_onnx_softmax(zb_import_node *n) {
  zb_shape whole, seen;
  int axis;
  if (!zb_onnx_softmax_shape(n, &whole, &seen, &axis)) return ZB_FAIL;
  zb_operand x = zb_meaning_softmax(n, n->op->argument, zb_operand_reshape(n, zb_operand_in(n, 0), &seen), axis);
  return zb_operand_give(n, 0, zb_operand_reshape(n, x, &whole));
}

/* A constant stays a constant, a sequence a sequence, a parameter the same argument. */
zb_result zb_onnx_identity(zb_import_node *n) {
  return zb_import_has(n, 0) ? zb_import_give_value(n, 0, n->inputs[0])
                             : zb_import_refuse(n, NULL, "its input is missing");
}

/* The op, and the mask where it is read: what the same op makes of ones. */
static zb_result drop(zb_import_node *n, const zb_shape *shape, double rate) {
  const zb_attr attrs[] = {zb_float("rate", rate), zb_int("op", n->im->random_ops++)};
  MlirValue operands[2];
  operands[0] = zb_import_ir(n, 0);
  operands[1] = zb_import_counter(n->im);
  if (!operands[0].ptr || !operands[1].ptr) return ZB_FAIL;
  if (!zb_import_give(n, 0, zb_build(n->b, "dropout", operands, 2, attrs, 2))) return ZB_FAIL;
  if (!zb_import_wants(n, 1)) return ZB_OK;
  const zb_dtype type = zb_onnx_of(n->im)->opset < 10 ? shape->dtype : ZB_I1;
  operands[0] = zb_build_splat(n->b, shape, 1);
  MlirValue mask = zb_build(n->b, "dropout", operands, 2, attrs, 2);
  return zb_import_give(n, 1, n->b->failed ? mask : zb_build_cast(n->b, zb_build_cast(n->b, mask, ZB_I1), type));
}

zb_result zb_onnx_dropout(zb_import_node *n) {
  const zb_known *ratio = zb_import_known(n, 1), *training = zb_import_known(n, 2);
  zb_shape shape;
  if ((zb_import_has(n, 1) && !ratio) || (zb_import_has(n, 2) && !training))
    return zb_import_refuse(n, "export with constants, as tools/export_onnx.py does",
                            "the ratio or the training mode is not a constant");
  const int64_t opset = zb_onnx_of(n->im)->opset;
  bool trains = training && training->elements == 1 && zb_known_integer(training, 0) != 0;
  if (opset < 7) trains = zb_onnx_int(n, "is_test", 0) == 0;
  trains = trains && !n->im->params->inference;
  double rate = ratio && ratio->elements == 1 ? zb_known_real(ratio, 0) : zb_onnx_float(n, "ratio", 0.5);
  if (trains && !(rate >= 0 && rate < 1))
    return zb_import_refuse(n, "it is the share that is dropped", "the ratio is %g, expected 0 <= ratio < 1", rate);
  if (trains && zb_onnx_attribute(n, "seed"))
    return zb_import_refuse(n, "leave it out: zb-run --random-seed N seeds all random ops of a run",
                            "attribute 'seed' is not supported in training mode");
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  if (trains && rate != 0) return drop(n, &shape, rate);
  if (zb_import_wants(n, 1) && opset < 10) {
    if (!zb_import_give(n, 1, zb_build_splat(n->b, &shape, 1))) return ZB_FAIL;
  } else if (zb_import_wants(n, 1)) {
    shape.dtype = ZB_I1;
    if (!zb_import_give_known(n, 1, zb_known_filled(n->im, &shape, &(uint8_t){1}))) return ZB_FAIL;
  }
  return zb_onnx_identity(n);
}

/* (condition, x): x where the branch is taken, else 0. (condition, yes, no): the choice of both. */
zb_result zb_onnx_if(zb_import_node *n) {
  zb_shape condition, yes, no;
  char shapes[2][96];
  if (!zb_import_shape(n, 0, &condition) || !zb_import_shape(n, 1, &yes)) return ZB_FAIL;
  if (zb_shape_elements(&condition) != 1) return zb_import_refuse(n, NULL, "the condition is not one value");
  no = yes;
  if (n->input_count == 3 && !zb_import_shape(n, 2, &no)) return ZB_FAIL;
  if (!zb_shape_equal(&yes, &no))
    return zb_import_refuse(n, "control flow that depends on values has a static graph if both branches give one shape",
                            "the condition is not a constant, and its branches give %s and %s",
                            zb_shape_text(&yes, shapes[0]), zb_shape_text(&no, shapes[1]));
  MlirValue other = n->input_count == 3 ? zb_import_ir(n, 2) : zb_build_scalar(n->b, yes.dtype, 0);
  MlirValue here = zb_import_reshaped(n->b, zb_import_ir(n, 0), NULL, 0);
  return zb_import_give(n, 0, zb_build(n->b, "where", (MlirValue[]){here, zb_import_ir(n, 1), other}, 3, NULL, 0));
}
