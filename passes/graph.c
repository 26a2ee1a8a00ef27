/* A function as plain arrays of ops and values: see passes/graph.h. Tested through every pass. */

#include "passes/graph.h"

#include "passes/function.h"
#include "passes/pass.h"
#include "runtime/base/assert.h"

typedef struct totals {
  size_t nodes, operands, results;
} totals;

/* ---- What regions read ---- */

typedef struct inner_walk {
  zb_graph *graph;
  MlirOperation op;
  MlirValue from, to;
  size_t count;
  int end; /* of graph->operands */
} inner_walk;

static void walk_inside(inner_walk *walk, MlirOperationWalkCallback visit) {
  if (mlirOperationGetNumRegions(walk->op) > 0) mlirOperationWalk(walk->op, visit, walk, MlirWalkPreOrder);
}

static MlirWalkResult count_operands(MlirOperation op, void *context) {
  inner_walk *walk = context;
  if (!mlirOperationEqual(op, walk->op)) walk->count += (size_t)mlirOperationGetNumOperands(op);
  return MlirWalkResultAdvance;
}

/* Adds each value of the function once. */
static MlirWalkResult add_operands(MlirOperation op, void *context) {
  inner_walk *walk = context;
  zb_graph *graph = walk->graph;
  const zb_node *node = &graph->nodes[graph->node_count - 1];
  const int own = node->operand_begin + (int)mlirOperationGetNumOperands(walk->op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !mlirOperationEqual(op, walk->op); ++i) {
    const int value = zb_graph_value(graph, mlirOperationGetOperand(op, i));
    int at = own;
    while (at < walk->end && graph->operands[at] != value)
      ++at;
    if (value < 0 || at < walk->end) continue;
    graph->operands[walk->end++] = value;
    ++graph->values[value].use_count;
  }
  return MlirWalkResultAdvance;
}

static MlirWalkResult replace_operands(MlirOperation op, void *context) {
  const inner_walk *walk = context;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !mlirOperationEqual(op, walk->op); ++i)
    if (mlirValueEqual(mlirOperationGetOperand(op, i), walk->from)) mlirOperationSetOperand(op, i, walk->to);
  return MlirWalkResultAdvance;
}

void zb_graph_set_operand(const zb_graph *graph, MlirOperation op, int index, int value, MlirValue other) {
  if (index < mlirOperationGetNumOperands(op)) {
    mlirOperationSetOperand(op, index, other);
    return;
  }
  inner_walk walk = {.op = op, .from = graph->values[value].value, .to = other};
  walk_inside(&walk, replace_operands);
}

/* ---- Building ---- */

static totals count_ops(MlirBlock block, MlirOperation *out_terminator) {
  totals total = {0};
  MlirOperation terminator = mlirBlockGetTerminator(block);
  *out_terminator = terminator;
  ZB_FOR_EACH_OP(op, block) {
    if (mlirOperationEqual(op, terminator)) continue;
    ++total.nodes;
    inner_walk inside = {.op = op, .count = (size_t)mlirOperationGetNumOperands(op)};
    walk_inside(&inside, count_operands);
    total.operands += inside.count;
    total.results += (size_t)mlirOperationGetNumResults(op);
  }
  return total;
}

static void add_value(zb_graph *graph, MlirValue value, int producer, int index, bool *failed) {
  int number = graph->value_count++;
  graph->values[number] = (zb_value){.value = value, .producer = producer, .index = index};
  *failed |= !zb_map_set(graph->numbers, value.ptr, number);
}

static void fill_node(zb_graph *graph, MlirOperation op, int *operand_count, bool *failed) {
  int number = graph->node_count++;
  zb_node *node = &graph->nodes[number];
  *node = (zb_node){.op = op, .def = zb_op_find(op), .number = number};
  node->name = mlirIdentifierStr(mlirOperationGetName(op));
  node->operand_begin = *operand_count;
  node->operand_count = (int)mlirOperationGetNumOperands(op);
  for (int i = 0; i < node->operand_count; ++i) {
    int value = zb_graph_value(graph, mlirOperationGetOperand(op, i));
    ZB_ASSERT(value >= 0); /* the verifier has shown that operands are defined before */
    graph->operands[(*operand_count)++] = value;
    ++graph->values[value].use_count;
  }
  inner_walk inside = {.graph = graph, .op = op, .end = *operand_count};
  walk_inside(&inside, add_operands);
  if (inside.end > *operand_count) node->def = NULL;
  node->operand_count += inside.end - *operand_count;
  *operand_count = inside.end;
  node->result_begin = graph->value_count;
  node->result_count = (int)mlirOperationGetNumResults(op);
  for (int i = 0; i < node->result_count; ++i)
    add_value(graph, mlirOperationGetResult(op, i), number, i, failed);
}

/* Uses come out in program order because nodes are visited in it. */
static void fill_uses(zb_graph *graph) {
  int begin = 0;
  for (int v = 0; v < graph->value_count; ++v) {
    graph->values[v].use_begin = begin;
    begin += graph->values[v].use_count;
    graph->values[v].use_count = 0;
  }
  ZB_FOR_EACH_NODE(node, graph) {
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      zb_value *value = &graph->values[operand];
      graph->uses[value->use_begin + value->use_count++] = node->number;
    }
  }
  for (zb_node *node = graph->nodes; node < graph->nodes + graph->node_count; ++node) {
    ZB_FOR_EACH_RESULT(v, node)
      node->use_count += graph->values[v].use_count;
    if (node->result_count) node->use_begin = graph->values[node->result_begin].use_begin;
  }
}

static void fill_returned(zb_graph *graph) {
  for (int i = 0; i < graph->returned_count; ++i) {
    int value = zb_graph_value(graph, mlirOperationGetOperand(graph->terminator, i));
    ZB_ASSERT(value >= 0);
    graph->returned[i] = value;
    graph->values[value].returned = true;
  }
}

zb_status zb_graph_build(zb_arena *arena, MlirOperation function, zb_graph *out) {
  *out = (zb_graph){.function = function};
  bool failed = false;
  int operand_count = 0;
  out->block = zb_function_block(function);
  totals total = count_ops(out->block, &out->terminator);
  out->argument_count = (int)mlirBlockGetNumArguments(out->block);
  out->returned_count = mlirOperationIsNull(out->terminator) ? 0 : (int)mlirOperationGetNumOperands(out->terminator);
  out->nodes = ZB_NEW(arena, zb_node, total.nodes);
  out->values = ZB_NEW(arena, zb_value, total.results + (size_t)out->argument_count);
  out->operands = ZB_NEW(arena, int, total.operands);
  out->uses = ZB_NEW(arena, int, total.operands);
  out->returned = ZB_NEW(arena, int, out->returned_count);
  out->numbers = zb_arena_map_pointer(arena);
  ZB_TRY(zb_arena_status(arena));
  if (!zb_map_reserve(out->numbers, total.results + (size_t)out->argument_count)) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < out->argument_count; ++i)
    add_value(out, mlirBlockGetArgument(out->block, i), -1, i, &failed);
  ZB_FOR_EACH_OP(op, out->block) {
    if (!mlirOperationEqual(op, out->terminator)) fill_node(out, op, &operand_count, &failed);
  }
  if (failed) return ZB_OUT_OF_MEMORY();
  fill_uses(out);
  fill_returned(out);
  return NULL;
}

zb_status zb_pass_graph(zb_pass *pass, MlirOperation function, zb_graph *out) {
  zb_kept_graph *kept = pass->kept;
  if (kept->graph.function.ptr != function.ptr) {
    zb_kept_graph_drop(kept);
    ZB_TRY(zb_graph_build(&kept->arena, function, &kept->graph));
  }
  *out = kept->graph;
  return NULL;
}

void zb_kept_graph_drop(zb_kept_graph *kept) {
  zb_arena_deinit(&kept->arena);
  *kept = (zb_kept_graph){0};
}

int zb_graph_value(const zb_graph *graph, MlirValue value) { return (int)zb_map_get_or(graph->numbers, value.ptr, -1); }

const char *zb_argument_string(MlirOperation function, int index, const char *name) {
  return zb_dictionary_string(zb_argument_dictionary(function, index), name);
}

bool zb_argument_has(MlirOperation function, int index, const char *name) {
  return zb_dictionary_has(zb_argument_dictionary(function, index), name);
}

const char *zb_result_string(MlirOperation function, int index, const char *name) {
  return zb_dictionary_string(zb_result_dictionary(function, index), name);
}

bool zb_result_has(MlirOperation function, int index, const char *name) {
  return zb_dictionary_has(zb_result_dictionary(function, index), name);
}

zb_result zb_pass_function(MlirModule module, MlirOperation *out_function, MlirBlock *out_block) {
  MlirOperation found = {0};
  int count = 0;
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module)) {
    if (!zb_op_is(op, "func.func") || mlirRegionIsNull(mlirOperationGetRegion(op, 0)) ||
        mlirBlockIsNull(zb_function_block(op)))
      continue;
    found = op;
    ++count;
  }
  if (count != 1)
    return zb_op_error_at(mlirModuleGetOperation(module), "a program is one func.func on one micro-batch",
                          "expected exactly one function with a body, got %d", count);
  *out_function = found;
  *out_block = zb_function_block(found);
  return ZB_OK;
}
