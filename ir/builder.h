/* Building zb ops: zb_build(b, "matmul", operands...) with types inferred by the op's row. zb/op.h has the parts that
 * rows of embedders need, too. */
#pragma once

#include "ir/op.h"

#include <string.h>

zb_builder zb_builder_before(MlirOperation op); /* same block and location as op */
zb_builder zb_builder_at_end(MlirBlock block, MlirLocation location);

/* The same for ops of one operand: ZB_BUILD(b, "transpose", x, zb_ints("permutation", dims, rank)). */
#define ZB_BUILD(b, name, x, ...)                                                                                      \
  zb_build((b), (name), (MlirValue[]){x}, 1, (zb_attr[]){__VA_ARGS__},                                                 \
           (int)(sizeof((zb_attr[]){__VA_ARGS__}) / sizeof(zb_attr)))
/* Builds the gradients of op's operands by the `grad` of its row, with dout, needs and din as in zb_gradient. */
zb_result zb_op_gradient(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs, MlirValue *din);

/* Short forms used everywhere. */
MlirValue zb_build_where(zb_builder *b, MlirValue condition, MlirValue yes, MlirValue no);
/* zb.slice in all dimensions; steps NULL: each is 1. */
MlirValue zb_build_slice(zb_builder *b, MlirValue x, const int64_t *starts, const int64_t *sizes, const int64_t *steps,
                         int rank);
MlirValue zb_build1(zb_builder *b, const char *name, MlirValue x);
MlirValue zb_build2(zb_builder *b, const char *name, MlirValue lhs, MlirValue rhs);
/* zb.constant of a type; value: elements. */
MlirValue zb_build_constant(zb_builder *b, MlirType type, MlirAttribute value);
MlirValue zb_build_scalar(zb_builder *b, zb_dtype dtype, double value); /* zb.constant of rank 0 */
MlirValue zb_build_expand(zb_builder *b, MlirValue x, const zb_shape *shape);
MlirValue zb_build_splat(zb_builder *b, const zb_shape *shape, double value); /* scalar constant + zb.expand */
MlirValue zb_build_reshape(zb_builder *b, MlirValue x, const int64_t *dims,
                           int rank); /* x itself when already that shape */
MlirValue zb_build_iota(zb_builder *b, const zb_shape *shape, int axis, double start, double step);
MlirValue zb_build_cast(zb_builder *b, MlirValue x, zb_dtype dtype); /* x itself when it has that element type */
MlirValue zb_build_sum_to(zb_builder *b, MlirValue x,
                          const zb_shape *shape); /* sums over what was broadcast; x itself if nothing was */
/* Concatenates any tensors along an axis (values[0] itself for one). IRDL makes the third and later operands of one
 * zb.concat have one type (ir/DECISIONS.md), so other lists become a chain. */
MlirValue zb_build_concat(zb_builder *b, const MlirValue *values, int count, int64_t axis);
/* Cuts x along an axis into out[0..count-1]: one zb.split where the third and later sizes are equal, else zb.slice
 * each. */
void zb_build_split(zb_builder *b, MlirValue x, int64_t axis, const int64_t *sizes, int count, MlirValue *out);

MlirNamedAttribute zb_named(MlirContext context, const char *name, MlirAttribute value);
MlirAttribute zb_mlir_i64(MlirContext context, int64_t value);
MlirAttribute zb_mlir_string(MlirContext context, const char *value);
/* Attribute of an op by name; null when absent. */
MlirAttribute zb_get_attribute(MlirOperation op, const char *name);
bool zb_has_attribute(MlirOperation op, const char *name);
void zb_set_attribute(MlirOperation op, const char *name, MlirAttribute value);
/* Entry `index` of an attribute that is a list of dictionaries, as "arg_attrs" and "res_attrs" of a function are; null:
 * there is none. */
MlirAttribute zb_get_entry(MlirOperation function, const char *list, intptr_t index);
/* Integer (or real, or string) attribute of an op by name; fallback / NULL when absent. The string is borrowed from the
 * context and, as MLIR guarantees for uniqued string attributes, NUL-terminated. */
int64_t zb_get_i64(MlirOperation op, const char *name, int64_t fallback);
double zb_get_float(MlirOperation op, const char *name, double fallback);
const char *zb_get_string(MlirOperation op, const char *name);
/* False for a null op. Asked of most ops by each pass, so the length of the name is known where it is compiled. */
static inline bool zb_op_is(MlirOperation op, const char *full_name) {
  if (mlirOperationIsNull(op)) return false;
  const MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return name.length == strlen(full_name) && memcmp(name.data, full_name, name.length) == 0;
}
