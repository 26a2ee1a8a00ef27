/* zb-loss-mean: what the loss of a step is the mean of.
 *
 *   before   %loss = cross_entropy(%logits, %labels) {ignore_index = -100, reduction = "mean"}
 *            return %loss {zb.loss}
 *   after    %sum = cross_entropy(%logits, %labels) {ignore_index = -100, reduction = "sum"}
 *            %weight = reduce_sum(cast(not(equal(%labels, -100))))
 *            %pair = concat(reshape(%sum), reshape(%weight))
 *            return %pair {zb.loss}
 *
 * A loss that is a mean over targets, some of which do not count, has another divisor in each micro-batch. The mean of
 * such means, which PyTorch gives with gradient accumulation, lets every micro-batch count alike, however few targets
 * it has: mean=micro-batches, where this pass only says what it found. With mean=targets the loss of a micro-batch
 * becomes a sum with its weight, the number of targets that count, of which zb-autodiff makes a mean over the whole
 * step: sums of gradients are divided by the sum of weights. So a micro-batch without such a target adds 0, not NaN.
 *
 * The mean is found by dataflow, from the loss upwards through what only scales it: a loss op of reduction mean that
 * ignores a label, or a division of a sum by another sum that depends on inputs alone, as masked losses are written.
 * Both must add as many terms, so that a term is one target, and the divisor must not add up the first dimension
 * elsewhere: then it is the sum of those of micro-batches. A lower bound of 1 of a count, which keeps a mean of nothing
 * from being NaN, is left out.
 *
 * Tests: test/passes/loss-mean.mlir; numbers: test/e2e/loss_mean.py. */

#include "passes/graph/autodiff_parts.h"
#include "runtime/base/text.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

typedef struct loss_mean {
  zb_pass *pass;
  zb_graph graph;
  uint8_t *depends;
  int result;                    /* which result of the function is the loss */
  ZB_LIST(MlirOperation) scales; /* from the loss to the mean: each gives a multiple of what the next one gives */
  MlirOperation mean;            /* null: none was found, and `why` and `at` say the reason */
  MlirValue sum, weight;         /* of a division; of a loss op null */
  int64_t ignored;               /* of a loss op */
  MlirOperation at;
  const char *why, *hint;
} loss_mean;

static bool refuse(loss_mean *it, MlirOperation at, const char *why, const char *hint) {
  if (!it->why) it->at = at, it->why = why, it->hint = hint;
  return false;
}

static bool is_constant(MlirValue value) {
  double number;
  return zb_scalar_constant(value, &number);
}

static unsigned depends_of(const loss_mean *it, MlirValue value) {
  const int number = zb_graph_value(&it->graph, value);
  return number < 0 ? ZB_DEPENDS_DATA | ZB_DEPENDS_TRAINED : it->depends[number];
}

static bool is_one_float(MlirValue value) {
  zb_shape shape;
  return zb_value_shape(value, &shape) && zb_shape_elements(&shape) == 1 && shape.dtype == ZB_F32;
}

static int64_t elements_of(MlirValue value) {
  zb_shape shape;
  return zb_value_shape(value, &shape) ? zb_shape_elements(&shape) : -1;
}

/* ---- Scalars ---- */

/* The operand of which the op gives a multiple, or the same number in another form; null: it does something else. */
static MlirValue scaled_operand(MlirOperation op) {
  if (zb_op_is(op, "zb.reshape") || zb_op_is(op, "zb.neg") || zb_op_is(op, "zb.cast"))
    return mlirOperationGetOperand(op, 0);
  if (zb_op_is(op, "zb.div") && is_constant(mlirOperationGetOperand(op, 1))) return mlirOperationGetOperand(op, 0);
  if (!zb_op_is(op, "zb.mul")) return (MlirValue){0};
  for (int side = 0; side < 2; ++side)
    if (is_constant(mlirOperationGetOperand(op, 1 - side))) return mlirOperationGetOperand(op, side);
  return (MlirValue){0};
}

/* The sum of all elements that a scalar is a multiple of; null: of none. */
static MlirOperation find_sum(MlirValue value) {
  for (MlirOperation op = zb_producer(value); !mlirOperationIsNull(op); op = zb_producer(value)) {
    const bool sums = zb_op_is(op, "zb.reduce_sum") || zb_op_is(op, "zb.cross_entropy") || zb_op_is(op, "zb.nll_loss");
    const char *reduction = zb_get_string(op, "reduction");
    if (sums) return !reduction || strcmp(reduction, "sum") == 0 ? op : (MlirOperation){0};
    value = scaled_operand(op);
    if (mlirValueIsNull(value)) break;
  }
  return (MlirOperation){0};
}

/* How many terms a sum has: elements, or rows of a loss. */
static int64_t terms_of(MlirOperation sum) {
  return elements_of(mlirOperationGetOperand(sum, zb_op_is(sum, "zb.reduce_sum") ? 0 : 1));
}

/* ---- The weight ---- */

static bool is_integral(MlirValue value) {
  zb_shape shape;
  for (MlirOperation op = zb_producer(value); !mlirOperationIsNull(op); op = zb_producer(value)) {
    if (!zb_op_is(op, "zb.cast") && !zb_op_is(op, "zb.reshape")) break;
    value = mlirOperationGetOperand(op, 0);
  }
  return zb_value_shape(value, &shape) && (shape.dtype == ZB_I1 || shape.dtype == ZB_I32 || shape.dtype == ZB_I64);
}

/* What max(x, 1) or clip(x, min = 1) bounds from below by no more than 1; null: it is no such op. */
static MlirValue bounded_operand(MlirOperation op) {
  double bound;
  const MlirAttribute least = zb_get_attribute(op, "min");
  if (zb_op_is(op, "zb.clip") && !zb_has_attribute(op, "max") && mlirAttributeIsAFloat(least) &&
      mlirFloatAttrGetValueDouble(least) <= 1)
    return mlirOperationGetOperand(op, 0);
  for (int side = 0; side < 2 && zb_op_is(op, "zb.max"); ++side)
    if (zb_scalar_constant(mlirOperationGetOperand(op, 1 - side), &bound) && bound <= 1)
      return mlirOperationGetOperand(op, side);
  return (MlirValue){0};
}

/* The formula of a value whose slope is given beside it, detach(formula) + zb.slope; null: it is no such value. */
static MlirValue formula_of(MlirOperation op) {
  if (!zb_op_is(op, "zb.add") || !zb_op_is(zb_producer(mlirOperationGetOperand(op, 1)), "zb.slope"))
    return (MlirValue){0};
  const MlirOperation stopped = zb_producer(mlirOperationGetOperand(op, 0));
  return zb_op_is(stopped, "zb.detach") ? mlirOperationGetOperand(stopped, 0) : mlirOperationGetOperand(op, 0);
}

/* Without a lower bound, which a count of the whole step does not need. */
static MlirValue unbounded(MlirValue value, bool *was_bounded) {
  for (MlirOperation op = zb_producer(value); !mlirOperationIsNull(op); op = zb_producer(value)) {
    const MlirValue bounded = bounded_operand(op), formula = formula_of(op);
    const bool moves = zb_op_is(op, "zb.reshape") || zb_op_is(op, "zb.cast");
    if (mlirValueIsNull(bounded) && mlirValueIsNull(formula) && !moves) break;
    *was_bounded |= !mlirValueIsNull(bounded);
    value = !mlirValueIsNull(bounded) ? bounded : moves ? mlirOperationGetOperand(op, 0) : formula;
  }
  return value;
}

/* Whether an op adds up, or compares, samples: what it gives of a batch is not what its parts give. */
static bool joins_samples(MlirOperation op) {
  static const char *const names[] = {"zb.reduce_sum",  "zb.reduce_mean", "zb.reduce_max", "zb.reduce_min",
                                      "zb.reduce_prod", "zb.cumsum",      "zb.matmul"};
  bool reduces = false;
  int64_t axes[ZB_DIMS_MAX];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    reduces |= zb_op_is(op, names[i]);
  if (!reduces) return false;
  if (zb_op_is(op, "zb.matmul")) return true;
  const int count = zb_get_ints(op, "axes", axes);
  for (int i = 0; i < count; ++i)
    if (axes[i] == 0) return true;
  return count <= 0 && zb_get_i64(op, "axis", 0) == 0;
}

/* The first op in front of `sum` that joins samples; null: none does. */
static zb_status find_joint(const loss_mean *it, MlirOperation sum, MlirOperation *out) {
  bool *needed = ZB_NEW(&it->pass->arena, bool, it->graph.value_count);
  ZB_TRY(zb_arena_status(&it->pass->arena));
  *out = (MlirOperation){0};
  needed[zb_graph_value(&it->graph, mlirOperationGetOperand(sum, 0))] = true;
  ZB_FOR_EACH_NODE_BACKWARD(node, &it->graph) {
    bool any = false;
    ZB_FOR_EACH_RESULT(value, node)
      any |= needed[value];
    if (!any) continue;
    if (joins_samples(node->op)) *out = node->op;
    ZB_FOR_EACH_OPERAND(operand, &it->graph, node)
      needed[operand] = true;
  }
  return NULL;
}

/* ---- The mean ---- */

static bool take_loss_op(loss_mean *it, MlirOperation op) {
  const char *reduction = zb_get_string(op, "reduction");
  if (reduction && strcmp(reduction, "mean") != 0)
    return refuse(it, op, "it is a sum, not a mean over targets", "divide it by the number of targets in the model");
  if (mlirAttributeIsNull(zb_get_attribute(op, "ignore_index")))
    return refuse(it, op, "its mean ignores no target, so micro-batches have equal numbers of them",
                  "leave --loss-mean out: nothing would change");
  it->ignored = zb_get_i64(op, "ignore_index", 0);
  it->mean = op;
  return true;
}

static const char *const division_hint =
    "a mean over targets is a loss with ignore_index, or a sum of one term a target, divided by the sum of their "
    "weights";

/* sum / weight: both add one term a target, and the weight is made of inputs alone. */
static bool take_division(loss_mean *it, MlirOperation op, MlirValue sum, MlirValue divisor) {
  bool was_bounded = false;
  const unsigned depends = depends_of(it, divisor);
  if (depends & ZB_DEPENDS_TRAINED)
    return refuse(it, op, "it is divided by what parameters change, not by a number of targets", division_hint);
  if (!(depends & ZB_DEPENDS_DATA))
    return refuse(it, op, "it is divided by a constant, so micro-batches have equal numbers of targets",
                  "leave --loss-mean out: nothing would change");
  const MlirValue weight = unbounded(divisor, &was_bounded);
  const MlirOperation counted = find_sum(weight), added = find_sum(sum);
  if (mlirOperationIsNull(counted) || !zb_op_is(counted, "zb.reduce_sum"))
    return refuse(it, op, "what it is divided by is no sum of weights of targets", division_hint);
  if (mlirOperationIsNull(added)) return refuse(it, op, "what is divided is no sum of losses", division_hint);
  if (terms_of(counted) != terms_of(added))
    return refuse(it, op, "what is divided and its divisor do not add as many terms", division_hint);
  if (was_bounded && !is_integral(mlirOperationGetOperand(counted, 0)))
    return refuse(it, op, "its divisor has a lower bound, and is no count",
                  "count whole targets, or leave the bound out");
  it->sum = sum;
  it->weight = weight;
  it->mean = op;
  return true;
}

/* What takes a loss that is made otherwise. */
static const char *reason_of(MlirOperation op) {
  if (mlirOperationIsNull(op)) return "it is computed by no op";
  if (zb_op_is(op, "zb.reduce_mean"))
    return "it is a mean over all elements, so micro-batches have equal numbers of them";
  if (zb_op_is(op, "zb.add") || zb_op_is(op, "zb.sub"))
    return "it is made of several terms, which may have means over different targets";
  return "it is no mean over targets that are not ignored";
}

static bool find_mean(loss_mean *it, MlirValue loss) {
  for (MlirValue value = loss;;) {
    const MlirOperation op = zb_producer(value);
    if (mlirOperationIsNull(op)) return refuse(it, it->graph.function, reason_of(op), division_hint);
    if (!is_one_float(value)) return refuse(it, op, "it is no scalar of f32", "compute the loss in f32");
    if (zb_op_is(op, "zb.cross_entropy") || zb_op_is(op, "zb.nll_loss")) return take_loss_op(it, op);
    const MlirValue inner = scaled_operand(op);
    if (!mlirValueIsNull(inner)) {
      if (!ZB_PUSH(&it->pass->arena, &it->scales, op)) return false;
      value = inner;
      continue;
    }
    if (zb_op_is(op, "zb.div"))
      return take_division(it, op, mlirOperationGetOperand(op, 0), mlirOperationGetOperand(op, 1));
    for (int side = 0; side < 2 && zb_op_is(op, "zb.mul"); ++side) {
      const MlirOperation inverse = zb_producer_named(mlirOperationGetOperand(op, 1 - side), "zb.reciprocal");
      if (!mlirOperationIsNull(inverse))
        return take_division(it, op, mlirOperationGetOperand(op, side), mlirOperationGetOperand(inverse, 0));
    }
    return refuse(it, op, reason_of(op), division_hint);
  }
}

/* ---- What was found ---- */

/* Inputs that say which targets count: "'labels'", "'x', 'y'". */
static zb_status add_inputs(const loss_mean *it, MlirValue from, zb_text *out) {
  bool *needed = ZB_NEW(&it->pass->arena, bool, it->graph.value_count);
  ZB_TRY(zb_arena_status(&it->pass->arena));
  needed[zb_graph_value(&it->graph, from)] = true;
  ZB_FOR_EACH_NODE_BACKWARD(node, &it->graph) {
    bool any = false;
    ZB_FOR_EACH_RESULT(value, node)
      any |= needed[value];
    ZB_FOR_EACH_OPERAND(operand, &it->graph, node)
      needed[operand] |= any;
  }
  int count = 0;
  for (int a = 0; a < it->graph.argument_count; ++a) {
    const char *name = needed[a] ? zb_argument_string(it->graph.function, a, ZB_ATTR_INPUT) : NULL;
    if (name) zb_text_add(out, "%s'%s'", count++ ? ", " : "", name);
  }
  return NULL;
}

static zb_status note(const loss_mean *it, bool targets) {
  zb_text text = {0};
  const MlirOperation module = mlirModuleGetOperation(it->pass->program->module);
  const bool divides = !mlirValueIsNull(it->weight);
  zb_text_add(&text, "the mean over targets that %s", divides ? "have a weight (" : "are not ignored (");
  if (!divides) zb_text_add(&text, "%lld, by ", (long long)it->ignored);
  zb_status status = add_inputs(it, divides ? it->weight : mlirOperationGetOperand(it->mean, 1), &text);
  zb_text_add(&text, targets ? ") of the whole step" : ") of each micro-batch, all of which count alike");
  if (!status && text.failed) status = ZB_OUT_OF_MEMORY();
  if (!status) zb_set_string(module, ZB_ATTR_LOSS_MEAN, text.data);
  zb_text_deinit(&text);
  return status;
}

/* ---- The pair ---- */

static MlirValue sum_of_losses(const loss_mean *it) {
  if (!mlirValueIsNull(it->sum)) return it->sum;
  MlirOperation sum = mlirOperationClone(it->mean);
  zb_set_string(sum, "reduction", "sum");
  mlirBlockInsertOwnedOperationBefore(it->graph.block, it->mean, sum);
  return mlirOperationGetResult(sum, 0);
}

static MlirValue weight_of(const loss_mean *it, zb_builder *b) {
  const zb_attr all = {.name = "axes", .kind = ZB_ATTR_INTS};
  zb_shape labels;
  if (!mlirValueIsNull(it->weight)) return zb_build_cast(b, it->weight, ZB_F32);
  const MlirValue label = mlirOperationGetOperand(it->mean, 1);
  if (!zb_value_shape(label, &labels)) return label;
  const MlirValue ignored = zb_build2(b, "equal", label, zb_build_scalar(b, labels.dtype, (double)it->ignored));
  const MlirValue counts = zb_build_cast(b, zb_build1(b, "not", ignored), ZB_F32);
  return ZB_BUILD(b, "reduce_sum", counts, all);
}

/* The ops behind the mean once more, of the sum. */
static MlirValue scaled_again(const loss_mean *it, MlirValue value) {
  for (size_t i = it->scales.count; i-- > 0;) {
    MlirOperation op = mlirOperationClone(it->scales.items[i]);
    for (int k = 0; k < (int)mlirOperationGetNumOperands(op); ++k)
      if (!is_constant(mlirOperationGetOperand(op, k))) mlirOperationSetOperand(op, k, value);
    mlirBlockInsertOwnedOperationBefore(it->graph.block, it->scales.items[i], op);
    value = mlirOperationGetResult(op, 0);
  }
  return value;
}

static zb_status set_loss(const loss_mean *it, MlirValue pair) {
  zb_function_builder f;
  zb_function_open(&f, it->graph.function);
  if (it->result < (int)f.results.count) f.results.items[it->result] = pair;
  return zb_function_close(&f, it->graph.function);
}

static zb_result rewrite(loss_mean *it) {
  MlirValue parts[2];
  const MlirValue scaled = scaled_again(it, sum_of_losses(it));
  zb_builder builder = zb_builder_before(it->graph.terminator);
  builder.location = mlirOperationGetLocation(it->mean);
  parts[0] = zb_build_reshape(&builder, scaled, (int64_t[]){1}, 1);
  parts[1] = zb_build_reshape(&builder, weight_of(it, &builder), (int64_t[]){1}, 1);
  const MlirValue pair = zb_build_concat(&builder, parts, 2, 0);
  if (builder.failed) return ZB_FAIL;
  ZB_PASS_TRY(it->pass, set_loss(it, pair));
  ++it->pass->changes;
  ZB_PASS_TRY(it->pass, zb_erase_dead(&it->pass->arena, it->graph.function, &it->pass->changes));
  return ZB_OK;
}

MlirValue zb_weighted_sum(MlirValue loss) {
  const MlirOperation op = zb_producer_named(loss, "zb.concat");
  zb_shape shape;
  if (mlirOperationIsNull(op) || mlirOperationGetNumOperands(op) != 2 || !zb_value_shape(loss, &shape) ||
      shape.dtype != ZB_F32 || shape.rank != 1 || shape.dims[0] != 2)
    return (MlirValue){0};
  return elements_of(mlirOperationGetOperand(op, 0)) == 1 ? mlirOperationGetOperand(op, 0) : (MlirValue){0};
}

/* ---- The pass ---- */

static zb_result find(loss_mean *it, bool targets) {
  const MlirValue loss = it->graph.values[it->graph.returned[it->result]].value;
  MlirOperation joint = {0};
  if (find_mean(it, loss) && !mlirValueIsNull(it->weight)) {
    ZB_PASS_TRY(it->pass, find_joint(it, find_sum(it->weight), &joint));
    if (!mlirOperationIsNull(joint)) {
      it->mean = (MlirOperation){0};
      (void)refuse(it, joint, "its divisor adds up or compares samples before weights are added", division_hint);
    }
  }
  ZB_PASS_TRY(it->pass, zb_arena_status(&it->pass->arena));
  if (!mlirOperationIsNull(it->mean) || !targets) return ZB_OK;
  return zb_op_error_at(it->at, it->hint, "--loss-mean targets is not possible for this loss: %s", it->why);
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  loss_mean it = {.pass = pass, .result = -1};
  const char *mean = zb_pass_option(pass, "loss-mean");
  const bool targets = strcmp(mean, "targets") == 0;
  if (!targets && strcmp(mean, "micro-batches") != 0)
    return zb_pass_option_error(pass, function, "loss-mean", NULL, "expected micro-batches or targets, got '%s'", mean);
  if (zb_has_attribute(mlirModuleGetOperation(pass->program->module), ZB_ATTR_INFERENCE)) return ZB_OK;
  ZB_PASS_TRY(pass, zb_graph_build(&pass->arena, function, &it.graph));
  it.depends = zb_graph_depends(&pass->arena, &it.graph);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  for (int i = 0; i < it.graph.returned_count && it.result < 0; ++i)
    if (zb_result_has(function, i, ZB_ATTR_LOSS)) it.result = i;
  for (int i = 0; i < it.graph.returned_count; ++i)
    if (zb_result_has(function, i, ZB_ATTR_UPDATE)) it.result = -1; /* differentiated elsewhere */
  if (it.result < 0)
    return targets ? zb_op_error_at(function, "give zbc the forward program, which it differentiates itself",
                                    "--loss-mean targets needs a forward program with a loss")
                   : ZB_OK;
  if (!find(&it, targets)) return ZB_FAIL;
  if (mlirOperationIsNull(it.mean)) return ZB_OK;
  ZB_PASS_TRY(pass, note(&it, targets));
  return targets ? rewrite(&it) : ZB_OK;
}

const zb_pass_def zb_pass_loss_mean = {
    .name = "zb-loss-mean",
    .summary = "make a loss that is a mean over targets a sum with its weight, so that a step divides by all of them",
    .requires_level = "graph",
    .run_on_function = run,
};
