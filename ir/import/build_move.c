/* Data movement as zb ops. What changes nothing is left out, and a movement that follows one of its kind is joined with
 * it, so that what exporters write in different ways becomes one program. Tests: test/ir/import/import_test.c. */
#include "ir/import/build.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* The op "zb.<name>" that makes x, or a null op. */
static MlirOperation producer(MlirValue x, const char *name) {
  if (!mlirValueIsAOpResult(x)) return (MlirOperation){NULL};
  MlirOperation op = mlirOpResultGetOwner(x);
  MlirStringRef full = mlirIdentifierStr(mlirOperationGetName(op));
  bool same = full.length == strlen(name) && memcmp(full.data, name, full.length) == 0;
  return same ? op : (MlirOperation){NULL};
}

MlirValue zb_onnx_build_transposed(zb_builder *b, MlirValue x, const int64_t *permutation) {
  zb_shape shape;
  int64_t joined[ZB_DIMS_MAX];
  if (b->failed || !x.ptr || !zb_type_shape(mlirValueGetType(x), &shape)) return (MlirValue){NULL};
  MlirOperation before = producer(x, "zb.transpose");
  for (int i = 0; i < shape.rank; ++i)
    joined[i] = permutation[i];
  if (before.ptr) {
    MlirAttribute first = mlirOperationGetAttributeByName(before, mlirStringRefCreateFromCString("permutation"));
    for (int i = 0; i < shape.rank; ++i)
      joined[i] = mlirDenseI64ArrayGetElement(first, (intptr_t)permutation[i]);
    x = mlirOperationGetOperand(before, 0);
  }
  bool identity = true;
  for (int i = 0; i < shape.rank; ++i)
    identity = identity && joined[i] == i;
  if (identity) return x;
  zb_attr attr = zb_ints("permutation", joined, shape.rank);
  return zb_build(b, "transpose", &x, 1, &attr, 1);
}

MlirValue zb_onnx_build_reshaped(zb_builder *b, MlirValue x, const int64_t *dims, int rank) {
  if (b->failed || !x.ptr) return (MlirValue){NULL};
  MlirOperation before = producer(x, "zb.reshape");
  if (before.ptr) x = mlirOperationGetOperand(before, 0);
  return zb_build_reshape(b, x, dims, rank);
}

MlirValue zb_onnx_build_expanded(zb_builder *b, MlirValue x, const zb_shape *shape) {
  zb_shape own;
  if (b->failed || !x.ptr || !zb_type_shape(mlirValueGetType(x), &own)) return (MlirValue){NULL};
  own.dtype = shape->dtype;
  if (zb_shape_equal(&own, shape)) return x;
  zb_attr attr = zb_ints("shape", shape->dims, shape->rank);
  return zb_build(b, "expand", &x, 1, &attr, 1);
}

zb_result zb_onnx_build_reshape(zb_onnx_node *n) {
  zb_shape in, out;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_reshape(n, &in, &out)) return ZB_FAIL;
  return zb_onnx_node_set(n, 0, zb_onnx_build_reshaped(n->b, zb_onnx_node_value(n, 0), out.dims, out.rank));
}

zb_result zb_onnx_build_transpose(zb_onnx_node *n) {
  zb_shape in;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_transpose(n, &in, permutation)) return ZB_FAIL;
  return zb_onnx_node_set(n, 0, zb_onnx_build_transposed(n->b, zb_onnx_node_value(n, 0), permutation));
}

zb_result zb_onnx_build_expand(zb_onnx_node *n) {
  zb_shape in, out;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_expand(n, &in, &out)) return ZB_FAIL;
  return zb_onnx_node_set(n, 0, zb_onnx_build_expanded(n->b, zb_onnx_node_value(n, 0), &out));
}

static MlirValue slice(zb_builder *b, MlirValue x, const int64_t *starts, const int64_t *sizes, const int64_t *steps,
                       int rank) {
  zb_attr attrs[] = {zb_ints("starts", starts, rank), zb_ints("sizes", sizes, rank), zb_ints("steps", steps, rank)};
  return zb_build(b, "slice", &x, 1, attrs, 3);
}

zb_result zb_onnx_build_slice(zb_onnx_node *n) {
  zb_shape in;
  int64_t starts[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX];
  bool whole = true;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_slice(n, &in, starts, steps, sizes)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i) {
    if (steps[i] < 0 && sizes[i] > 1) {
      return zb_onnx_node_fail(n, "reverse with Gather and constant indices",
                               "step %" PRId64 " of a computed value is not supported", steps[i]);
    }
    if (sizes[i] == 0) return zb_onnx_node_fail(n, NULL, "the slice is empty in dimension %d", i);
    if (sizes[i] <= 1) steps[i] = 1;
    whole = whole && sizes[i] == in.dims[i];
  }
  MlirValue x = zb_onnx_node_value(n, 0);
  return zb_onnx_node_set(n, 0, whole ? x : slice(n->b, x, starts, sizes, steps, in.rank));
}

zb_result zb_onnx_build_concat(zb_onnx_node *n) {
  int count = zb_onnx_node_inputs(n), axis, used = 0;
  zb_shape shape;
  if (!zb_onnx_node_attr(n, "axis")) return zb_onnx_node_fail(n, NULL, "attribute 'axis' is missing");
  if (!zb_onnx_node_shape(n, 0, &shape) || !zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", 0), shape.rank, &axis))
    return ZB_FAIL;
  MlirValue *parts = zb_alloc((size_t)count * sizeof *parts + 1);
  if (!parts) return zb_onnx_memory(n->im);
  zb_result result = ZB_OK;
  for (int i = 0; i < count && result; ++i) {
    zb_shape part;
    result = zb_onnx_node_shape(n, i, &part) ? ZB_OK : ZB_FAIL;
    if (result && part.rank == shape.rank && part.dims[axis] == 0) continue; /* joins nothing */
    if (result) parts[used] = zb_onnx_node_value(n, i);
    if (result && parts[used++].ptr == NULL) result = ZB_FAIL;
  }
  if (result && used == 0) result = zb_onnx_node_fail(n, NULL, "all inputs are empty");
  if (result) result = zb_onnx_node_set(n, 0, zb_build_concat(n->b, parts, used, axis));
  zb_free(parts);
  return result;
}

zb_result zb_onnx_build_split(zb_onnx_node *n) {
  zb_shape in;
  int64_t sizes[ZB_SPLIT_MAX];
  MlirValue parts[ZB_SPLIT_MAX];
  int axis, count;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_split(n, &in, &axis, sizes, &count)) return ZB_FAIL;
  MlirValue x = zb_onnx_node_value(n, 0);
  if (count == 1)
    parts[0] = x;
  else
    zb_build_split(n->b, x, axis, sizes, count, parts);
  for (int i = 0; i < count; ++i) {
    if (!zb_onnx_node_set(n, i, parts[i])) return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_onnx_build_split_to_sequence(zb_onnx_node *n) {
  zb_shape in;
  int64_t sizes[ZB_SPLIT_MAX];
  MlirValue parts[ZB_SPLIT_MAX];
  int axis, count;
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_split(n, &in, &axis, sizes, &count)) return ZB_FAIL;
  bool keepdims = zb_onnx_node_has(n, 1) || zb_onnx_node_int(n, "keepdims", 1) != 0;
  MlirValue x = zb_onnx_node_value(n, 0);
  if (count == 1)
    parts[0] = x;
  else
    zb_build_split(n->b, x, axis, sizes, count, parts);
  zb_onnx_value **items = zb_alloc((size_t)count * sizeof *items);
  if (!items) return zb_onnx_memory(n->im);
  for (int i = 0; i < count; ++i) {
    int64_t dims[ZB_DIMS_MAX];
    int rank = 0;
    for (int d = 0; d < in.rank; ++d) {
      if (keepdims || d != axis) dims[rank++] = d == axis ? sizes[i] : in.dims[d];
    }
    items[i] = zb_onnx_value_new(n->im, "", ZB_VALUE_NODE);
    MlirValue part = parts[i].ptr ? zb_build_reshape(n->b, parts[i], dims, rank) : parts[i];
    if (!items[i] || !part.ptr) {
      zb_free(items);
      n->im->failed = true;
      return ZB_FAIL;
    }
    items[i]->value = part;
  }
  return zb_onnx_node_set_sequence(n, 0, items, count);
}

zb_result zb_onnx_build_concat_from_sequence(zb_onnx_node *n) {
  zb_onnx_value *sequence = zb_onnx_node_input(n, 0);
  zb_shape shape;
  int axis;
  if (!sequence || sequence->kind != ZB_VALUE_SEQUENCE || sequence->item_count < 1) {
    return zb_onnx_node_fail(n, NULL, "input 0 is no sequence, or an empty one");
  }
  bool stack = zb_onnx_node_int(n, "new_axis", 0) != 0;
  MlirValue *parts = zb_alloc((size_t)sequence->item_count * sizeof *parts);
  if (!parts) return zb_onnx_memory(n->im);
  zb_result result = ZB_OK;
  for (int i = 0; i < sequence->item_count && result; ++i) {
    parts[i] = zb_onnx_value_ir(n->im, sequence->items[i]);
    if (!zb_onnx_node_value_shape(n, parts[i], &shape) ||
        !zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", 0), shape.rank + stack, &axis)) {
      result = ZB_FAIL;
    } else if (stack && shape.rank == ZB_DIMS_MAX) {
      result = zb_onnx_node_fail(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX);
    } else if (stack) {
      memmove(&shape.dims[axis + 1], &shape.dims[axis], (size_t)(shape.rank - axis) * sizeof *shape.dims);
      shape.dims[axis] = 1;
      parts[i] = zb_build_reshape(n->b, parts[i], shape.dims, shape.rank + 1);
    }
  }
  if (result && !n->b->failed)
    result = zb_onnx_node_set(n, 0, zb_build_concat(n->b, parts, sequence->item_count, axis));
  zb_free(parts);
  return n->b->failed ? ZB_FAIL : result;
}

static zb_result gather(zb_onnx_node *n, const char *op) {
  zb_shape data;
  int axis;
  if (!zb_onnx_node_shape(n, 0, &data) || !zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", 0), data.rank, &axis))
    return ZB_FAIL;
  MlirValue in[2] = {zb_onnx_node_value(n, 0), zb_onnx_node_value(n, 1)};
  zb_attr attr = zb_int("axis", axis);
  return zb_onnx_node_set(n, 0, zb_build(n->b, op, in, 2, &attr, 1));
}

zb_result zb_onnx_build_gather(zb_onnx_node *n) { return gather(n, "gather"); }

zb_result zb_onnx_build_gather_elements(zb_onnx_node *n) { return gather(n, "gather_elements"); }

/* A repeat is an expand along a new dimension before the repeated one. */
zb_result zb_onnx_build_tile(zb_onnx_node *n) {
  zb_shape in, split, wide;
  int64_t repeats[ZB_DIMS_MAX];
  if (!zb_onnx_node_shape(n, 0, &in) || !zb_onnx_arguments_tile(n, &in, repeats)) return ZB_FAIL;
  split = (zb_shape){.dtype = in.dtype};
  wide = split;
  zb_shape out = in;
  for (int i = 0; i < in.rank; ++i) {
    if (repeats[i] == 0) return zb_onnx_node_fail(n, NULL, "the result is empty");
    if (split.rank + 2 > ZB_DIMS_MAX)
      return zb_onnx_node_fail(n, "use Expand", "the repeats need more than %d dimensions", ZB_DIMS_MAX);
    if (repeats[i] > 1) {
      split.dims[split.rank++] = 1;
      wide.dims[wide.rank++] = repeats[i];
    }
    split.dims[split.rank++] = wide.dims[wide.rank++] = in.dims[i];
    if (__builtin_mul_overflow(out.dims[i], repeats[i], &out.dims[i]))
      return zb_onnx_node_fail(n, NULL, "the result is too large");
  }
  MlirValue x = zb_onnx_build_reshaped(n->b, zb_onnx_node_value(n, 0), split.dims, split.rank);
  x = zb_onnx_build_expanded(n->b, x, &wide);
  return zb_onnx_node_set(n, 0, x.ptr ? zb_build_reshape(n->b, x, out.dims, out.rank) : x);
}

/* Constant padding: joins with splats, one dimension after the other. */
zb_result zb_onnx_build_pad(zb_onnx_node *n) {
  zb_shape shape;
  int64_t before[ZB_DIMS_MAX], after[ZB_DIMS_MAX];
  if (!zb_onnx_node_shape(n, 0, &shape) || !zb_onnx_arguments_pad(n, &shape, before, after)) return ZB_FAIL;
  const zb_onnx_const *fill = zb_onnx_node_has(n, 2) ? zb_onnx_node_constant(n, 2) : NULL;
  if (zb_onnx_node_has(n, 2) && (!fill || fill->elements != 1))
    return zb_onnx_node_fail(n, NULL, "the fill is no constant scalar");
  double value = fill ? zb_onnx_const_real(fill, 0) : 0;
  MlirValue x = zb_onnx_node_value(n, 0);
  for (int i = 0; i < shape.rank && x.ptr; ++i) {
    MlirValue parts[3];
    int count = 0;
    int64_t dim = shape.dims[i];
    if (before[i]) shape.dims[i] = before[i], parts[count++] = zb_build_splat(n->b, &shape, value);
    parts[count++] = x;
    if (after[i]) shape.dims[i] = after[i], parts[count++] = zb_build_splat(n->b, &shape, value);
    if (count > 1 && !n->b->failed) x = zb_build_concat(n->b, parts, count, i);
    if (__builtin_add_overflow(dim, before[i], &dim) || __builtin_add_overflow(dim, after[i], &shape.dims[i])) {
      return zb_onnx_node_fail(n, NULL, "the result is too large");
    }
  }
  return n->b->failed ? ZB_FAIL : zb_onnx_node_set(n, 0, x);
}

/* where(triangle, x, 0). */
zb_result zb_onnx_build_trilu(zb_onnx_node *n) {
  zb_shape shape, mask;
  int64_t k = 0;
  int count = 1;
  if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
  if (zb_onnx_node_has(n, 1) && !zb_onnx_node_ints(n, 1, "k", &k, 1, &count)) return ZB_FAIL;
  if (shape.rank < 2 || count != 1)
    return zb_onnx_node_fail(n, NULL, "expected an input of 2 dimensions or more and one k");
  bool upper = zb_onnx_node_int(n, "upper", 1) != 0;
  mask = (zb_shape){.dtype = ZB_I1, .rank = 2, .dims = {shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]}};
  zb_attr attrs[] = {zb_ints("shape", mask.dims, 2), zb_int("diagonal", upper ? k - 1 : k), zb_float("lower", !upper),
                     zb_float("upper", upper), zb_string("dtype", "i1")};
  MlirValue in[3] = {zb_build(n->b, "triangle", NULL, 0, attrs, 5), zb_onnx_node_value(n, 0),
                     zb_build_scalar(n->b, shape.dtype, 0)};
  return zb_onnx_node_set(n, 0, zb_build(n->b, "where", in, 3, NULL, 0));
}
