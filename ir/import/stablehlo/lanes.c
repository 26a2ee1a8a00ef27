/* The region of a reduction, a sort or a window, applied to whole tensors: its ops, which the file has for one element,
 * are built by their rows for all lanes at once.
 *
 *   ^bb0(%a: tensor<f32>, %b: tensor<f32>):                     zb.max(lo, hi) : tensor<4x8xf32>
 *     %m = stablehlo.maximum %a, %b : tensor<f32>
 *     stablehlo.return %m : tensor<f32>
 *
 * Tests: test/e2e/stablehlo_testdata.py, on
 * test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <string.h>

enum { DEPTH_MAX = 16, NODE_OPERANDS_MAX = 16, REGION_OPS_MAX = 1024 };

static zb_import_value *value_in(zb_import_node *n, const zb_map *values, MlirOperation op, intptr_t operand) {
  const int64_t number = zb_map_get_or(values, mlirOperationGetOperand(op, operand).ptr, -1);
  if (number >= 0) return n->im->values[number];
  zb_import_refuse(n, "pass it to the op instead", "its region reads a value from outside of it");
  return NULL;
}

static zb_import_value *new_value(zb_import_node *n, zb_map *values, MlirValue key) {
  zb_import_value *value = zb_import_value_new(n->im, "", ZB_VALUE_NODE);
  if (!value) return NULL;
  if (!zb_map_set(values, key.ptr, (int64_t)value->number)) return zb_import_memory(n->im), NULL;
  return value;
}

static zb_result run_block(zb_import_node *n, MlirBlock block, zb_import_value *const *arguments, intptr_t count,
                           zb_import_value **out, int out_count, int depth);

static zb_result run_call(zb_import_node *n, zb_map *values, MlirOperation op, zb_import_value *const *inputs,
                          zb_import_value **outputs, int depth) {
  char name[256];
  MlirOperation callee = {NULL};
  if (zb_stablehlo_string(op, "callee", name, sizeof name))
    callee = zb_stablehlo_function(zb_stablehlo_of(n->im), name);
  if (!callee.ptr) return zb_import_refuse(n, NULL, "its region calls a function that is not there");
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(callee, 0));
  if (mlirBlockIsNull(block)) return zb_import_refuse(n, NULL, "its region calls a function without a body");
  const int results = (int)mlirOperationGetNumResults(op);
  if (!run_block(n, block, inputs, mlirOperationGetNumOperands(op), outputs, results, depth + 1)) return ZB_FAIL;
  for (int i = 0; i < results; ++i)
    if (!zb_map_set(values, mlirOperationGetResult(op, i).ptr, (int64_t)outputs[i]->number))
      return zb_import_memory(n->im);
  return ZB_OK;
}

/* One op of the region as a node of its own. */
static zb_result run_op(zb_import_node *n, zb_map *values, MlirOperation op, int depth) {
  zb_import_value **inputs = zb_import_take(n->im, NODE_OPERANDS_MAX * sizeof *inputs);
  zb_import_value **outputs = zb_import_take(n->im, NODE_OPERANDS_MAX * sizeof *outputs);
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(op, &is_chlo);
  const intptr_t operands = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  if (!inputs || !outputs) return ZB_FAIL;
  if (operands > NODE_OPERANDS_MAX || results > NODE_OPERANDS_MAX || mlirOperationGetNumRegions(op) > 0)
    return zb_import_refuse(n, NULL, "its region has %s, which is not supported there",
                            mlirIdentifierStr(mlirOperationGetName(op)).data);
  for (intptr_t i = 0; i < operands; ++i)
    if (!(inputs[i] = value_in(n, values, op, i))) return ZB_FAIL;
  if (zb_op_is(op, "func.call") || zb_op_is(op, "stablehlo.call"))
    return run_call(n, values, op, inputs, outputs, depth);
  for (intptr_t i = 0; i < results; ++i)
    if (!(outputs[i] = new_value(n, values, mlirOperationGetResult(op, i)))) return ZB_FAIL;
  const zb_import_op *row = kind ? zb_stablehlo_of(n->im)->find_row(kind, is_chlo) : NULL;
  if (!row || operands < row->min_inputs || (row->max_inputs >= 0 && operands > row->max_inputs))
    return zb_import_refuse(n, NULL, "its region has %s, which is not supported there",
                            mlirIdentifierStr(mlirOperationGetName(op)).data);
  zb_import_node *node = zb_import_take(n->im, sizeof *node);
  if (!node) return ZB_FAIL;
  *node = *n;
  node->kind = mlirIdentifierStr(mlirOperationGetName(op)).data;
  node->op = row;
  node->inputs = inputs;
  node->outputs = outputs;
  node->input_count = (int)operands;
  node->output_count = (int)results;
  node->folds = false;
  node->source = op.ptr;
  for (intptr_t i = 0; i < results; ++i)
    outputs[i]->producer = node;
  return row->run(node) && !n->im->failed && !n->b->failed ? zb_import_apply_rule(node, true) : ZB_FAIL;
}

static zb_result run_block(zb_import_node *n, MlirBlock block, zb_import_value *const *arguments, intptr_t count,
                           zb_import_value **out, int out_count, int depth) {
  zb_map *values = zb_arena_map_pointer(&n->im->memory);
  int ops = 0;
  if (!values) return zb_import_memory(n->im);
  if (depth > DEPTH_MAX || mlirBlockGetNumArguments(block) != count)
    return zb_import_refuse(n, NULL, "its region does not fit its operands");
  for (intptr_t i = 0; i < count; ++i)
    if (!zb_map_set(values, mlirBlockGetArgument(block, i).ptr, (int64_t)arguments[i]->number))
      return zb_import_memory(n->im);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (++ops > REGION_OPS_MAX) break;
    if (!zb_op_is(op, "stablehlo.return") && !zb_op_is(op, "func.return")) {
      if (!run_op(n, values, op, depth)) return ZB_FAIL;
      continue;
    }
    if (mlirOperationGetNumOperands(op) != out_count) break;
    for (int i = 0; i < out_count; ++i)
      if (!(out[i] = value_in(n, values, op, i))) return ZB_FAIL;
    return ZB_OK;
  }
  return zb_import_refuse(n, NULL, "its region returns something else than expected");
}

zb_result zb_stablehlo_lanes(zb_import_node *n, int region, const MlirValue *arguments, int count,
                             const zb_shape *lanes, MlirValue *out, int out_count) {
  zb_stablehlo *it = zb_stablehlo_of(n->im);
  zb_import_value *in[ZB_STABLEHLO_LANES_MAX], *returned[ZB_STABLEHLO_LANES_MAX];
  MlirOperation op = zb_stablehlo_source(n);
  MlirBlock block = {NULL};
  if (region < mlirOperationGetNumRegions(op)) block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
  if (mlirBlockIsNull(block) || count > ZB_STABLEHLO_LANES_MAX || out_count > ZB_STABLEHLO_LANES_MAX)
    return zb_import_refuse(n, NULL, "it has no region of one block, or too many operands");
  for (int i = 0; i < count; ++i) {
    if (!arguments[i].ptr) return ZB_FAIL;
    in[i] = zb_import_value_new(n->im, "", ZB_VALUE_NODE);
    if (!in[i]) return ZB_FAIL;
    in[i]->value = arguments[i];
    in[i]->defined = true;
  }
  ++it->in_lanes;
  const zb_result result = run_block(n, block, in, count, returned, out_count, 0);
  --it->in_lanes;
  for (int i = 0; result && i < out_count; ++i) {
    zb_shape shape, whole = *lanes;
    out[i] = zb_import_value_ir(n->im, returned[i]);
    if (!zb_import_ir_shape(n, out[i], &shape)) return ZB_FAIL;
    whole.dtype = shape.dtype;
    out[i] = zb_import_expanded(n->b, out[i], &whole);
  }
  return result && !n->b->failed ? ZB_OK : ZB_FAIL;
}
