/* zb-layout: decides which views are strides, and puts zb.contiguous where a reader needs its data dense.
 *
 *   %t = transpose(%x) [0, 2, 1, 3]          %t = transpose(%x) [0, 2, 1, 3]      strides, no data moves
 *   %r = reshape(%t) [8, 64]           ->    %c = contiguous(%t)
 *                                            %r = reshape(%c) [8, 64]
 *
 * Every value has strides: results of kernels and arguments are contiguous, views follow from their row (`view`).
 * After this pass every view can be expressed by strides over its base, and every reader takes the strides that it
 * gets. It also decides whether the product that feeds a zb.accumulate adds into the sum itself (unit attribute
 * zb.in_product): if nobody else reads it and its row ACCUMULATES. Reshapes between the two are looked through: they
 * are the same bytes. Both decisions can change bits, so they are made here, on the whole program, before partition. So
 * is whether a sum of bf16 values is rounded to bf16 or given as f32: where its only reader is a cast to f32, the cast
 * becomes part of it.
 *
 * A copy that a gradient op needs carries the op's zb.of, so that it lands in its stage; copies are shared by the
 * forward readers of a value, and by gradient ops of one zb.of. A gradient op also takes the copy that the op it
 * differentiates read.
 *
 * Tests: test/passes/layout.mlir. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

enum { IDS_MAX = 1 << 24 }; /* far above what zb-autodiff gives; a larger zb.id only shares no copies */

typedef struct value_state {
  zb_strided strided;
  bool is_strided;         /* known shape, not contiguous */
  MlirValue forward_copy;  /* what forward readers take, or null */
  MlirValue gradient_copy; /* what gradient ops of number gradient_of take, or null */
  int64_t gradient_of;
} value_state;

typedef struct strider {
  zb_graph graph;
  value_state *values;
  MlirOperation *forward_ops; /* by zb.id */
  int64_t id_count;
  int64_t changes;
} strider;

/* ---- Layouts ---- */

/* The stride of a dimension of one element never counts; the offset does not matter to a reader. */
static bool is_contiguous(const zb_shape *shape, const zb_strided *strided) {
  zb_strided dense;
  zb_contiguous(shape, &dense);
  if (zb_shape_elements(shape) == 0) return true;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dims[i] != 1 && strided->strides[i] != dense.strides[i]) return false;
  return true;
}

/* ---- What readers take ---- */

/* A matrix operand: one of the last two strides is 1 and the other steps over a whole row (or column), as sgemm asks.
 */
static bool takes_matrix(const zb_shape *shape, const zb_strided *strided) {
  if (shape->rank < 2) return is_contiguous(shape, strided);
  int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
  int64_t row = strided->strides[shape->rank - 2], column = strided->strides[shape->rank - 1];
  bool row_major = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  bool column_major = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  return row_major || column_major;
}

static bool takes_dense_last(const zb_shape *shape, const zb_strided *strided) {
  return shape->rank == 0 || shape->dims[shape->rank - 1] == 1 || strided->strides[shape->rank - 1] == 1;
}

/* Ops that take strides, but not all. */
static const struct {
  const char *op;
  bool (*takes)(const zb_shape *shape, const zb_strided *strided);
} conditions[] = {
    {"matmul", takes_matrix},
    {"attention", takes_dense_last},
    {"attention_grad", takes_dense_last},
    {"rotary", takes_dense_last},
    {"rotary_grad", takes_dense_last},
    {"attention_dropout", takes_dense_last},
    {"attention_dropout_grad", takes_dense_last},
};

static bool reader_takes(const zb_op_def *def, const zb_shape *shape, const zb_strided *strided) {
  if (!zb_has_trait(def, ZB_TRAIT_STRIDED)) return false;
  for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; ++i)
    if (strcmp(conditions[i].op, def->name) == 0) return conditions[i].takes(shape, strided);
  return true;
}

/* ---- Copies ---- */

/* The copy that the forward op `of` read of this value, if it did. */
static MlirValue copy_of_forward_op(const strider *l, const value_state *state, int64_t of) {
  if (mlirValueIsNull(state->forward_copy) || of >= l->id_count || mlirOperationIsNull(l->forward_ops[of]))
    return (MlirValue){0};
  MlirOperation op = l->forward_ops[of];
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (mlirValueEqual(mlirOperationGetOperand(op, i), state->forward_copy)) return state->forward_copy;
  return (MlirValue){0};
}

/* A contiguous copy of the value for `reader`, an earlier one if it serves. Null after an error. */
static MlirValue contiguous_for(strider *l, int value, MlirOperation reader) {
  value_state *state = &l->values[value];
  int64_t of = zb_get_i64(reader, ZB_ATTR_OF, -1);
  if (of < 0 && !mlirValueIsNull(state->forward_copy)) return state->forward_copy;
  if (of >= 0 && !mlirValueIsNull(state->gradient_copy) && state->gradient_of == of) return state->gradient_copy;
  if (of >= 0) {
    MlirValue shared = copy_of_forward_op(l, state, of);
    if (!mlirValueIsNull(shared)) return shared;
  }
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(reader, reader, &mark);
  MlirValue copy = zb_build1(&builder, "contiguous", l->graph.values[value].value);
  if (builder.failed) return (MlirValue){0};
  ++l->changes;
  if (of < 0) {
    state->forward_copy = copy;
  } else {
    state->gradient_copy = copy;
    state->gradient_of = of;
  }
  return copy;
}

/* ---- The walk ---- */

static zb_result visit_reader(strider *l, MlirOperation op, const zb_op_def *def, const int *operands,
                              int operand_count) {
  for (int i = 0; i < operand_count; ++i) {
    const value_state *state = &l->values[operands[i]];
    zb_shape shape;
    if (!state->is_strided || !zb_value_shape(l->graph.values[operands[i]].value, &shape)) continue;
    if (reader_takes(def, &shape, &state->strided)) continue;
    MlirValue copy = contiguous_for(l, operands[i], op);
    if (mlirValueIsNull(copy)) return ZB_FAIL;
    zb_graph_set_operand(&l->graph, op, i, operands[i], copy);
  }
  return ZB_OK;
}

/* Layouts of the results over that of operand 0. False if strides cannot express one of them. */
static bool view_results(strider *l, const zb_node *node, const zb_op_view *view, const zb_strided *in) {
  ZB_FOR_EACH_RESULT(value, node) {
    value_state *state = &l->values[value];
    zb_shape shape;
    if (!zb_value_shape(l->graph.values[value].value, &shape) ||
        !node->def->view(view, in, value - node->result_begin, &shape, &state->strided))
      return false;
    state->is_strided = !is_contiguous(&shape, &state->strided);
  }
  return true;
}

static zb_result visit_view(strider *l, const zb_node *node) {
  zb_op_view view;
  zb_op_view_storage storage;
  zb_strided dense;
  int operand = l->graph.operands[node->operand_begin];
  if (!zb_op_view_get(node->op, &view, &storage)) return visit_reader(l, node->op, NULL, &operand, 1);
  if (view_results(l, node, &view, &l->values[operand].strided)) return ZB_OK;
  MlirValue copy = contiguous_for(l, operand, node->op);
  if (mlirValueIsNull(copy)) return ZB_FAIL;
  mlirOperationSetOperand(node->op, 0, copy);
  zb_contiguous(&view.operands[0], &dense);
  if (view_results(l, node, &view, &dense)) return ZB_OK;
  return zb_op_error_at(node->op, "correct the `view` of its row", "'%s' is no view even of contiguous data",
                        node->def->name);
}

static bool is_view(const zb_node *node) {
  return node->def && node->def->op_class == ZB_CLASS_VIEW && node->def->view && node->operand_count == 1;
}

static zb_result visit_all(strider *l) {
  ZB_FOR_EACH_NODE(node, &l->graph) {
    zb_result result = is_view(node) ? visit_view(l, node)
                                     : visit_reader(l, node->op, node->def, l->graph.operands + node->operand_begin,
                                                    node->operand_count);
    if (!result) return ZB_FAIL;
  }
  return visit_reader(l, l->graph.terminator, NULL, l->graph.returned, l->graph.returned_count);
}

/* ---- Products that add into sums ---- */

static bool can_add(const zb_graph *graph, const zb_node *accumulate) {
  for (const zb_node *reader = accumulate;;) {
    const zb_value *value = &graph->values[zb_operand(graph, reader, 0)];
    if (value->producer < 0 || value->use_count != 1 || value->returned || value->index != 0) return false;
    reader = &graph->nodes[value->producer];
    if (!zb_op_is(reader->op, "zb.reshape")) return zb_has_trait(reader->def, ZB_TRAIT_ACCUMULATES);
  }
}

static void let_producers_add(strider *l) {
  ZB_FOR_EACH_NODE(node, &l->graph) {
    if (!zb_node_is(node, "zb.accumulate") || node->operand_count != 1 || !can_add(&l->graph, node)) continue;
    if (zb_has_attribute(node->op, ZB_ATTR_IN_PRODUCT)) continue;
    zb_set_attribute(node->op, ZB_ATTR_IN_PRODUCT, mlirUnitAttrGet(mlirOperationGetContext(node->op)));
    ++l->changes;
  }
}

/* ---- The pass ---- */

static zb_status strider_init(zb_arena *arena, MlirOperation function, strider *l) {
  ZB_TRY(zb_graph_build(arena, function, &l->graph));
  ZB_FOR_EACH_NODE(node, &l->graph) {
    int64_t id = zb_get_i64(node->op, ZB_ATTR_ID, -1);
    if (id >= l->id_count && id < IDS_MAX) l->id_count = id + 1;
  }
  l->values = ZB_NEW(arena, value_state, l->graph.value_count);
  l->forward_ops = ZB_NEW(arena, MlirOperation, l->id_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_NODE(node, &l->graph) {
    int64_t id = zb_get_i64(node->op, ZB_ATTR_ID, -1);
    if (id >= 0 && id < l->id_count) l->forward_ops[id] = node->op;
  }
  for (int v = 0; v < l->graph.value_count; ++v) {
    zb_shape shape;
    if (zb_value_shape(l->graph.values[v].value, &shape)) zb_contiguous(&shape, &l->values[v].strided);
  }
  return NULL;
}

/* Gradients that leave bf16 permanently, dW above all, do so in the op that sums them. */
static zb_result widen_sums(zb_pass *pass, MlirOperation function) {
  zb_op_list list;
  ZB_PASS_TRY(pass, zb_op_list_collect(&pass->arena, function, &list));
  for (size_t i = 0; i < list.count; ++i)
    pass->changes += zb_fold_widening_cast(list.items[i]);
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  strider l = {0};
  if (!widen_sums(pass, function)) return ZB_FAIL;
  ZB_PASS_TRY(pass, strider_init(&pass->arena, function, &l));
  if (!visit_all(&l)) return ZB_FAIL;
  let_producers_add(&l);
  pass->changes += l.changes;
  return ZB_OK;
}

const zb_pass_def zb_pass_layout = {
    .name = "zb-layout",
    .summary = "make views strides, copy where a reader needs dense data, let products add into sums themselves",
    .requires_level = "split",
    .run_on_function = run,
};
