/* Transposed values without transposes, for zb-raise.
 *
 *   %t = transpose(%q) [0, 2, 1, 3]                 %a = mul(%q, %cos')
 *   %a = mul(%t, %cos)                              %b = concat(neg(slice(%q)), slice(%q))
 *   %b = concat(neg(slice(%t)), slice(%t))    ->    add(%a, %b)
 *   transpose(add(%a, %b)) [0, 2, 1, 3]
 *
 * A rotary embedding is between the transpose of the exporter and that of zb.attention, and would be computed on
 * strided data, with a copy for each of its ops. Where all ways up from a value end in transposes that cancel, or in
 * values that only move dimensions of size 1, the ops between are made again in the other order of dimensions. They
 * compute the same numbers, so no bit changes. */

#include "passes/graph/raise_match.h"

#include <string.h>

enum { OPS_MAX = 48, DEPTH_MAX = 16 };

/* The ops between, in the order in which their operands are ready. */
typedef struct hoist {
  const int64_t *permutation;
  int rank;
  MlirOperation ops[OPS_MAX];
  MlirValue made[OPS_MAX]; /* what replaces the result of ops[i] */
  int count;
} hoist;

static int find_op(const hoist *h, MlirOperation op) {
  for (int i = 0; i < h->count; ++i)
    if (mlirOperationEqual(h->ops[i], op)) return i;
  return -1;
}

/* The transpose that makes `value` and that h's permutation undoes, or null. */
static MlirOperation cancelled(const hoist *h, MlirValue value) {
  int64_t inner[ZB_DIMS_MAX];
  MlirOperation op = zb_producer_named(value, "zb.transpose");
  if (mlirOperationIsNull(op) || zb_get_ints(op, "permutation", inner) != h->rank) return (MlirOperation){0};
  for (int i = 0; i < h->rank; ++i)
    if (inner[h->permutation[i]] != i) return (MlirOperation){0};
  return op;
}

/* The permuted shape of a value, filled up with leading ones to the rank. */
static bool permuted_shape(const hoist *h, MlirValue value, zb_shape *out) {
  zb_shape shape;
  if (!zb_value_shape(value, &shape) || shape.rank > h->rank) return false;
  *out = (zb_shape){.dtype = shape.dtype, .rank = h->rank};
  int missing = h->rank - shape.rank;
  for (int i = 0; i < h->rank; ++i) {
    int from = (int)h->permutation[i];
    out->dims[i] = from < missing ? 1 : shape.dims[from - missing];
  }
  return true;
}

/* Whether permuting moves nothing but dimensions of size 1, so that a reshape does it. */
static bool is_reshape(const hoist *h, MlirValue value) {
  zb_shape shape, moved;
  if (!permuted_shape(h, value, &moved) || !zb_value_shape(value, &shape)) return false;
  int missing = h->rank - shape.rank;
  int64_t last = -1;
  for (int i = 0; i < h->rank; ++i) {
    if (moved.dims[i] == 1) continue;
    int64_t from = h->permutation[i] - missing;
    if (from < last) return false;
    last = from;
  }
  return true;
}

static bool is_hoistable(const hoist *h, MlirOperation op) {
  const zb_op_def *def = mlirOperationIsNull(op) ? NULL : zb_op_find(op);
  zb_shape shape;
  if (!zb_has_trait(def, ZB_TRAIT_PURE) || mlirOperationGetNumResults(op) != 1) return false;
  if (!zb_value_shape(mlirOperationGetResult(op, 0), &shape) || shape.rank != h->rank) return false;
  if (zb_has_trait(def, ZB_TRAIT_RANDOM)) return false; /* what an element gets is that of its place */
  return zb_has_trait(def, ZB_TRAIT_ELEMENTWISE) || strcmp(def->name, "slice") == 0 || strcmp(def->name, "concat") == 0;
}

/* Collects the ops above a value, operands first; as deep as a pattern (DEPTH_MAX). */
static bool collect(hoist *h, MlirValue value, int depth) {
  if (!mlirOperationIsNull(cancelled(h, value)) || is_reshape(h, value)) return true;
  MlirOperation op = zb_producer(value);
  if (!is_hoistable(h, op) || depth > DEPTH_MAX) return false;
  if (find_op(h, op) >= 0) return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (!collect(h, mlirOperationGetOperand(op, i), depth + 1)) return false;
  if (h->count == OPS_MAX) return false;
  h->ops[h->count++] = op;
  return true;
}

/* Another reader would need the old order as well: the work would be done twice. The last op is read by the pattern. */
static bool read_inside_only(const hoist *h) {
  for (int i = 0; i + 1 < h->count; ++i)
    for (MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(h->ops[i], 0)); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use))
      if (find_op(h, mlirOpOperandGetOwner(use)) < 0) return false;
  return zb_value_used_once(mlirOperationGetResult(h->ops[h->count - 1], 0));
}

static MlirValue made_value(const hoist *h, zb_builder *b, MlirValue value) {
  MlirOperation transpose = cancelled(h, value);
  zb_shape shape;
  if (!mlirOperationIsNull(transpose)) return mlirOperationGetOperand(transpose, 0);
  int index = find_op(h, zb_producer(value));
  if (index >= 0) return h->made[index];
  permuted_shape(h, value, &shape);
  return zb_build_reshape(b, value, shape.dims, shape.rank);
}

/* Attributes that name dimensions: lists with an entry a dimension are permuted, an axis goes where its dimension goes.
 */
static void permute_attributes(const hoist *h, MlirOperation op) {
  static const char *const lists[] = {"starts", "sizes", "steps"};
  int64_t values[ZB_DIMS_MAX], permuted[ZB_DIMS_MAX];
  for (size_t k = 0; k < sizeof lists / sizeof lists[0]; ++k) {
    if (zb_get_ints(op, lists[k], values) != h->rank) continue;
    for (int i = 0; i < h->rank; ++i)
      permuted[i] = values[h->permutation[i]];
    zb_set_ints(op, lists[k], permuted, h->rank);
  }
  int64_t axis = zb_get_i64(op, "axis", -1);
  for (int i = 0; i < h->rank && axis >= 0; ++i) {
    if (h->permutation[i] != axis) continue;
    zb_set_i64(op, "axis", i);
    break;
  }
}

static MlirValue make_again(const hoist *h, zb_builder *b, MlirOperation op) {
  MlirValue operands[ZB_VIEW_OPERANDS];
  intptr_t count = mlirOperationGetNumOperands(op);
  zb_shape shape;
  if (count > ZB_VIEW_OPERANDS) return (MlirValue){0};
  for (intptr_t i = 0; i < count; ++i)
    operands[i] = made_value(h, b, mlirOperationGetOperand(op, i));
  if (b->failed || !permuted_shape(h, mlirOperationGetResult(op, 0), &shape)) return (MlirValue){0};
  MlirOperation copy = mlirOperationClone(op);
  mlirBlockInsertOwnedOperationBefore(b->block, b->before, copy);
  mlirOperationSetOperands(copy, count, operands);
  mlirValueSetType(mlirOperationGetResult(copy, 0), zb_shape_type(b->context, &shape));
  permute_attributes(h, copy);
  return mlirOperationGetResult(copy, 0);
}

MlirValue zb_raise_transposed(zb_builder *b, MlirValue value, const int64_t *permutation, int rank) {
  hoist h = {.permutation = permutation, .rank = rank};
  zb_shape shape;
  bool fits = zb_value_shape(value, &shape) && shape.rank == rank;
  if (!fits || !collect(&h, value, 0) || h.count == 0 || !read_inside_only(&h))
    return zb_build_transpose(b, value, permutation, rank);
  for (int i = 0; i < h.count; ++i) {
    h.made[i] = make_again(&h, b, h.ops[i]);
    if (mlirValueIsNull(h.made[i])) {
      b->failed = true;
      return (MlirValue){0};
    }
  }
  return h.made[h.count - 1];
}
