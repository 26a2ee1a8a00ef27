/* The functions E of zb-outline: clones of the forward ops that the loss and outputs need. See outline.c. Tests:
 * test/passes/evaluation.mlir, test/passes/evaluation_form_test.c. */
#include "passes/stages/functions/outline_parts.h"

#include "runtime/base/assert.h"

#include <stdio.h>

/* Which operands of an op an evaluation needs: all but the counter of an op that draws random numbers, which is the
 * last, and what only a step needs. */
static int evaluated_begin(const zb_node *node) { return is_by_mode(node) ? 1 : 0; }
static int evaluated_operands(const zb_node *node) {
  return node->operand_count - (node->def && node->def->in_evaluation ? 1 : 0);
}

bool zb_outline_is_replaced(const zb_node *node) {
  return is_by_mode(node) || (node->def && node->def->in_evaluation && !*node->def->in_evaluation);
}

/* The op that stands for a random one: its results are the first ones of `node`. */
static bool build_in_evaluation(outline *o, int sub, const zb_node *node, const zb_op_def *def) {
  enum { MOST = 16 };
  const int operand_count = evaluated_operands(node), result_count = def ? zb_op_names_arity(def->results).named : 0;
  char name[64];
  MlirValue operands[MOST];
  MlirType types[MOST];
  MlirNamedAttribute attributes[MOST];
  int attribute_count = 0;
  ZB_ASSERT(def && operand_count <= MOST && result_count <= node->result_count && result_count <= MOST);
  for (int i = 0; i < operand_count; ++i)
    if (!zb_outline_lookup(o, sub, zb_operand(&o->graph, node, i), &operands[i])) return false;
  for (int r = 0; r < result_count; ++r)
    types[r] = mlirValueGetType(o->graph.values[node->result_begin + r].value);
  for (const zb_attr_def *row = def->attrs; row && row->name && attribute_count < MOST; ++row)
    if (zb_has_attribute(node->op, row->name))
      attributes[attribute_count++] = zb_named(o->context, row->name, zb_get_attribute(node->op, row->name));
  zb_builder builder = zb_builder_at_end(o->subs[sub].f.block, mlirOperationGetLocation(node->op));
  snprintf(name, sizeof name, "zb.%s", def->name);
  MlirOperation op =
      zb_build_any(&builder, name, operands, operand_count, types, result_count, attributes, attribute_count);
  if (builder.failed || mlirOperationIsNull(op)) return false;
  zb_class_set(op, ZB_JOB_EVALUATE);
  zb_set_i64(op, ZB_ATTR_STAGE, o->stage[node->number]);
  for (int r = 0; r < result_count; ++r)
    if (!zb_outline_remember(o, sub, node->result_begin + r, mlirOperationGetResult(op, r))) return false;
  return true;
}

/* An op as an evaluation has it: as it is, as another, or left out. */
static bool evaluate_op(outline *o, const zb_node *node) {
  const int sub = evaluation_sub(o->stage[node->number]);
  const int begin = evaluated_begin(node);
  MlirValue local;
  zb_outline_start(o, sub); /* an op without operands resolves none */
  for (int i = begin; i < evaluated_operands(node); ++i)
    if (!zb_outline_resolve(o, sub, zb_operand(&o->graph, node, i))) return false;
  if (zb_outline_is_replaced(node))
    return zb_outline_lookup(o, sub, zb_operand(&o->graph, node, begin), &local) &&
           zb_outline_remember(o, sub, node->result_begin, local);
  if (!node->def || !node->def->in_evaluation) return zb_outline_clone(o, sub, node->number);
  return build_in_evaluation(o, sub, node, zb_op_find_name(node->def->in_evaluation));
}

int zb_outline_reported(const outline *o) {
  int plain = -1;
  for (int i = 0; i < o->graph.returned_count; ++i) {
    if (zb_result_has(o->graph.function, i, ZB_ATTR_LOSS)) return i;
    const zb_port port = zb_result_port(o->graph.function, i);
    if (plain < 0 && !port.update && !port.output && !port.buffer) plain = i;
  }
  return plain;
}

bool zb_outline_evaluation(outline *o) {
  const int reported = zb_outline_reported(o);
  bool *needed = ZB_NEW(&o->pass->arena, bool, o->graph.value_count);
  if (!needed) return false;
  o->evaluates = reported >= 0 || o->inference;
  if (!o->evaluates) return true;
  for (int i = 0; i < o->graph.returned_count; ++i)
    needed[o->graph.returned[i]] |= i == reported || zb_result_string(o->graph.function, i, ZB_ATTR_OUTPUT);
  ZB_FOR_EACH_NODE_BACKWARD(node, &o->graph) {
    bool any = false;
    ZB_FOR_EACH_RESULT(value, node)
      any |= needed[value];
    for (int i = evaluated_begin(node); any && i < evaluated_operands(node); ++i)
      needed[zb_operand(&o->graph, node, i)] = true;
  }
  ZB_FOR_EACH_NODE(node, &o->graph) {
    bool any = false;
    ZB_FOR_EACH_RESULT(value, node)
      any |= needed[value];
    if (any && zb_outline_home(o, node->number) >= 0 && o->kind[node->number] == ZB_JOB_F && !evaluate_op(o, node))
      return false;
  }
  return true;
}
