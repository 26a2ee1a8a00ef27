/* Helpers of the passes that rewrite ops: see passes/rewrite.h. Tested through every pass. */

#include "passes/rewrite.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* ---- Ops and values ---- */

MlirOperation zb_producer(MlirValue value) {
  if (mlirValueIsNull(value) || !mlirValueIsAOpResult(value)) return (MlirOperation){0};
  return mlirOpResultGetOwner(value);
}

MlirOperation zb_producer_named(MlirValue value, const char *name) {
  MlirOperation op = zb_producer(value);
  return zb_op_is(op, name) ? op : (MlirOperation){0};
}

bool zb_has_trait(const zb_op_def *def, unsigned trait) { return def && (def->traits & trait) != 0; }

int zb_value_uses(MlirValue value, int limit) {
  int count = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use) && count < limit;
       use = mlirOpOperandGetNextUse(use))
    ++count;
  return count;
}

bool zb_value_unused(MlirValue value) { return mlirOpOperandIsNull(mlirValueGetFirstUse(value)); }

bool zb_value_used_once(MlirValue value) { return zb_value_uses(value, 2) == 1; }

zb_status zb_op_list_collect(zb_arena *arena, MlirOperation function, zb_op_list *out) {
  MlirBlock block = zb_function_block(function);
  MlirOperation terminator = mlirBlockGetTerminator(block);
  *out = (zb_op_list){0};
  ZB_FOR_EACH_OP(op, block)
    if (!mlirOperationEqual(op, terminator)) (void)ZB_PUSH(arena, out, op);
  return zb_arena_status(arena);
}

bool zb_is_numbered(MlirOperation op) { return zb_has_attribute(op, ZB_ATTR_ID); }

/* ---- Attributes ---- */

int zb_get_ints(MlirOperation op, const char *name, int64_t out[ZB_DIMS_MAX]) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsADenseI64Array(attribute)) return -1;
  intptr_t count = mlirDenseArrayGetNumElements(attribute);
  if (count > ZB_DIMS_MAX) return -1;
  for (intptr_t i = 0; i < count; ++i)
    out[i] = mlirDenseI64ArrayGetElement(attribute, i);
  return (int)count;
}

bool zb_get_flag(MlirOperation op, const char *name) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  if (mlirAttributeIsNull(attribute)) return false;
  return mlirAttributeIsABool(attribute) ? mlirBoolAttrGetValue(attribute) : mlirAttributeIsAUnit(attribute);
}

void zb_set_flag(MlirOperation op, const char *name, bool value) {
  if (value)
    zb_set_attribute(op, name, mlirBoolAttrGet(mlirOperationGetContext(op), 1));
  else
    zb_remove_attribute(op, name);
}

/* ---- Constants ---- */

bool zb_dense_element(MlirAttribute elements, zb_dtype dtype, int64_t index, double *out_float, int64_t *out_int) {
  if (mlirAttributeIsNull(elements) || !mlirAttributeIsADenseElements(elements)) return false;
  const bool splat = mlirDenseElementsAttrIsSplat(elements);
  switch (dtype) {
#define TYPE(DTYPE, Name, c_type, is_float)                                                                            \
  case DTYPE: {                                                                                                        \
    const c_type element = (c_type)(splat ? mlirDenseElementsAttrGet##Name##SplatValue(elements)                       \
                                          : mlirDenseElementsAttrGet##Name##Value(elements, index));                   \
    *out_float = (double)element;                                                                                      \
    *out_int = is_float ? 0 : (int64_t)element;                                                                        \
    return true;                                                                                                       \
  }
    ZB_DENSE_TYPES(TYPE)
#undef TYPE
  default:
    return false;
  }
}

/* Views that repeat or rearrange keep the property "all elements are equal". */
static MlirOperation behind_views(MlirValue value) {
  for (int depth = 0; depth < 8; ++depth) {
    MlirOperation op = zb_producer(value);
    if (!zb_op_is(op, "zb.expand") && !zb_op_is(op, "zb.reshape")) return op;
    value = mlirOperationGetOperand(op, 0);
  }
  return (MlirOperation){0};
}

bool zb_scalar_constant(MlirValue value, double *out) {
  MlirOperation op = behind_views(value);
  zb_shape shape;
  int64_t integer;
  if (!zb_op_is(op, "zb.constant") || !zb_value_shape(mlirOperationGetResult(op, 0), &shape)) return false;
  MlirAttribute elements = zb_get_attribute(op, "value");
  if (mlirAttributeIsNull(elements) || !mlirAttributeIsADenseElements(elements)) return false;
  if (!mlirDenseElementsAttrIsSplat(elements) && zb_shape_elements(&shape) != 1) return false;
  return zb_dense_element(elements, shape.dtype, 0, out, &integer);
}

/* ---- Building and erasing ---- */

zb_builder zb_builder_marked(MlirOperation op, MlirOperation mark, MlirNamedAttribute *storage) {
  zb_builder builder = zb_builder_before(op);
  MlirAttribute of = zb_get_attribute(mark, ZB_ATTR_OF);
  if (mlirAttributeIsNull(of)) return builder;
  *storage = zb_named(builder.context, ZB_ATTR_OF, of);
  builder.marks = storage;
  builder.mark_count = 1;
  return builder;
}

MlirValue zb_build_transpose(zb_builder *b, MlirValue x, const int64_t *permutation, int rank) {
  int64_t inner[ZB_DIMS_MAX], composed[ZB_DIMS_MAX];
  MlirOperation producer = zb_producer_named(x, "zb.transpose");
  bool compose = !mlirOperationIsNull(producer) && zb_get_ints(producer, "permutation", inner) == rank;
  bool identity = true;
  for (int i = 0; i < rank; ++i) {
    composed[i] = compose ? inner[permutation[i]] : permutation[i];
    identity = identity && composed[i] == i;
  }
  if (compose) x = mlirOperationGetOperand(producer, 0);
  if (identity) return x;
  zb_attr attribute = zb_ints("permutation", composed, rank);
  return zb_build(b, "transpose", &x, 1, &attribute, 1);
}

void zb_erase_op(MlirOperation op) {
  mlirOperationRemoveFromParent(op);
  mlirOperationDestroy(op);
}

void zb_replace_op(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  zb_erase_op(op);
}

static bool is_dead(MlirOperation op) {
  if (!zb_has_trait(zb_op_find(op), ZB_TRAIT_PURE)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (!zb_value_unused(mlirOperationGetResult(op, i))) return false;
  return true;
}

zb_status zb_erase_dead(zb_arena *arena, MlirOperation function, int64_t *erased) {
  zb_op_list list;
  *erased = 0;
  ZB_TRY(zb_op_list_collect(arena, function, &list));
  for (size_t i = list.count; i-- > 0;) {
    if (!is_dead(list.items[i])) continue;
    zb_erase_op(list.items[i]);
    ++*erased;
  }
  return NULL;
}

/* The op of a row with the optional attribute `dtype` that makes the value, through views, if every value on the way
 * has one reader. */
static MlirOperation sum_behind_views(MlirValue value) {
  for (;;) {
    MlirOperation op = zb_producer(value);
    const zb_op_def *def = mlirOperationIsNull(op) ? NULL : zb_op_find(op);
    if (!def || !zb_value_used_once(value) || mlirOperationGetNumResults(op) != 1 || zb_is_numbered(op))
      return (MlirOperation){0};
    for (const zb_attr_def *row = def->attrs; row && row->name; ++row)
      if (row->optional && strcmp(row->name, "dtype") == 0) return op;
    if (def->op_class != ZB_CLASS_VIEW || mlirOperationGetNumOperands(op) != 1) return (MlirOperation){0};
    value = mlirOperationGetOperand(op, 0);
  }
}

/* Whether the op is right as its attributes are now; a bias, which has the type of the result, keeps a product narrow.
 */
static bool infers(MlirOperation op) {
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape result;
  zb_op_error error;
  const zb_op_def *def = zb_op_find(op);
  return zb_op_view_get(op, &view, &storage) && def->infer(&view, &result, &error);
}

bool zb_fold_widening_cast(MlirOperation op) {
  zb_shape from, to;
  if (!zb_op_is(op, "zb.cast") || zb_is_numbered(op)) return false;
  MlirValue value = mlirOperationGetOperand(op, 0);
  if (!zb_value_shape(value, &from) || !zb_value_shape(mlirOperationGetResult(op, 0), &to)) return false;
  if (to.dtype != ZB_F32 || (from.dtype != ZB_BF16 && from.dtype != ZB_F16)) return false;
  MlirOperation sum = sum_behind_views(value);
  if (mlirOperationIsNull(sum)) return false;
  MlirContext context = mlirOperationGetContext(op);
  zb_set_attribute(sum, "dtype", zb_mlir_string(context, zb_dtype_name(to.dtype)));
  if (!infers(sum)) {
    zb_remove_attribute(sum, "dtype");
    return false;
  }
  for (MlirValue at = value;; at = mlirOperationGetOperand(zb_producer(at), 0)) {
    zb_value_shape(at, &from);
    from.dtype = to.dtype;
    mlirValueSetType(at, zb_shape_type(context, &from));
    if (mlirOperationEqual(zb_producer(at), sum)) break;
  }
  zb_replace_op(op, value);
  return true;
}

void zb_contiguous(const zb_shape *shape, zb_strided *out) {
  *out = (zb_strided){0};
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    out->strides[i] = stride;
    stride *= shape->dims[i] > 0 ? shape->dims[i] : 1;
  }
}

/* ---- What a value depends on ---- */

static uint8_t argument_depends(MlirOperation function, int index) {
  if (zb_argument_has(function, index, ZB_ATTR_PARAM)) return ZB_DEPENDS_TRAINED;
  if (zb_argument_has(function, index, ZB_ATTR_FROZEN)) return ZB_DEPENDS_FROZEN;
  return zb_argument_has(function, index, ZB_ATTR_CONSTANT) ? 0 : ZB_DEPENDS_DATA;
}

unsigned zb_node_depends(const zb_graph *graph, const uint8_t *depends, const zb_node *node) {
  unsigned bits = zb_has_trait(node->def, ZB_TRAIT_PURE) ? 0 : ZB_DEPENDS_DATA;
  ZB_FOR_EACH_OPERAND(value, graph, node)
    bits |= depends[value];
  return bits;
}

bool zb_is_chain(unsigned depends) { return (depends & ZB_DEPENDS_WEIGHT) && !(depends & ZB_DEPENDS_DATA); }

uint8_t *zb_graph_depends(zb_arena *arena, const zb_graph *graph) {
  uint8_t *depends = ZB_NEW(arena, uint8_t, graph->value_count);
  if (!depends) return NULL;
  for (int i = 0; i < graph->argument_count; ++i)
    depends[i] = argument_depends(graph->function, i);
  ZB_FOR_EACH_NODE(node, graph)
    ZB_FOR_EACH_RESULT(value, node)
      depends[value] = (uint8_t)zb_node_depends(graph, depends, node);
  return depends;
}
