/* Movement of computed values: what changes nothing is left out, and a movement that follows one of its kind is joined
 * with it, so that what exporters write in different ways becomes one program. Tests: test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include <mlir-c/BuiltinAttributes.h>

/* The op "zb.<name>" that makes x, or a null op. */
static MlirOperation producer(MlirValue x, const char *name) {
  if (!mlirValueIsAOpResult(x)) return (MlirOperation){NULL};
  MlirOperation op = mlirOpResultGetOwner(x);
  return zb_op_is(op, name) ? op : (MlirOperation){NULL};
}

MlirValue zb_import_transposed(zb_builder *b, MlirValue x, const int64_t *permutation) {
  zb_shape shape;
  int64_t joined[ZB_DIMS_MAX];
  if (b->failed || !x.ptr || !zb_type_shape(mlirValueGetType(x), &shape)) return (MlirValue){NULL};
  MlirOperation before = producer(x, "zb.transpose");
  for (int i = 0; i < shape.rank; ++i)
    joined[i] = permutation[i];
  if (before.ptr) {
    MlirAttribute first = zb_get_attribute(before, "permutation");
    for (int i = 0; i < shape.rank; ++i)
      joined[i] = mlirDenseI64ArrayGetElement(first, (intptr_t)permutation[i]);
    x = mlirOperationGetOperand(before, 0);
  }
  bool identity = true;
  for (int i = 0; i < shape.rank; ++i)
    identity = identity && joined[i] == i;
  if (identity) return x;
  return ZB_BUILD(b, "transpose", x, zb_ints("permutation", joined, shape.rank));
}

MlirValue zb_import_reshaped(zb_builder *b, MlirValue x, const int64_t *dims, int rank) {
  if (b->failed || !x.ptr) return (MlirValue){NULL};
  MlirOperation before = producer(x, "zb.reshape");
  if (before.ptr) x = mlirOperationGetOperand(before, 0);
  return zb_build_reshape(b, x, dims, rank);
}

MlirValue zb_import_expanded(zb_builder *b, MlirValue x, const zb_shape *shape) {
  zb_shape own;
  if (b->failed || !x.ptr || !zb_type_shape(mlirValueGetType(x), &own)) return (MlirValue){NULL};
  own.dtype = shape->dtype;
  return zb_shape_equal(&own, shape) ? x : zb_build_expand(b, x, shape);
}
