/* Constants and data movement. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

/* What is broadcast while importing has at most so many elements, where it is one value and otherwise: masks of whole
 * attention matrices are folded, biases of activations stay a scalar and zb.expand. */
enum { SPLAT_ELEMENTS = 1 << 16, BROADCAST_ELEMENTS = 1 << 22 };

/* ---- Constants ---- */

/* Element i of an array of any shape, for types without a reader of their own. */
static MlirAttribute element_of(MlirAttribute value, int64_t i) {
  uint64_t at[ZB_DIMS_MAX] = {0};
  if (mlirDenseElementsAttrIsSplat(value)) return mlirDenseElementsAttrGetSplatValue(value);
  MlirType type = mlirAttributeGetType(value);
  const int rank = (int)mlirShapedTypeGetRank(type);
  for (int d = rank - 1; d >= 0; --d) {
    const int64_t dim = mlirShapedTypeGetDimSize(type, d);
    at[d] = (uint64_t)(i % dim);
    i /= dim;
  }
  return mlirElementsAttrGetValue(value, rank, at);
}

static int64_t read_integer(MlirAttribute value, zb_stablehlo_integer type, int64_t i) {
  switch (type.bits) {
  case 8:
    return type.is_unsigned ? mlirDenseElementsAttrGetUInt8Value(value, i)
                            : mlirDenseElementsAttrGetInt8Value(value, i);
  case 16:
    return type.is_unsigned ? mlirDenseElementsAttrGetUInt16Value(value, i)
                            : mlirDenseElementsAttrGetInt16Value(value, i);
  case 32:
    return type.is_unsigned ? (int64_t)mlirDenseElementsAttrGetUInt32Value(value, i)
                            : (int64_t)mlirDenseElementsAttrGetInt32Value(value, i);
  case 64:
    return type.is_unsigned ? (int64_t)mlirDenseElementsAttrGetUInt64Value(value, i)
                            : mlirDenseElementsAttrGetInt64Value(value, i);
  default: { /* of four bits */
    MlirAttribute one = element_of(value, i);
    return type.is_unsigned ? (int64_t)mlirIntegerAttrGetValueUInt(one)
                            : zb_stablehlo_wrap(mlirIntegerAttrGetValueInt(one), type);
  }
  }
}

static void read_element(zb_known *out, MlirAttribute value, int64_t i) {
  switch (out->shape.dtype) {
  case ZB_F32:
    ((float *)out->data)[i] = mlirDenseElementsAttrGetFloatValue(value, i);
    break;
  case ZB_F64:
    ((double *)out->data)[i] = mlirDenseElementsAttrGetDoubleValue(value, i);
    break;
  case ZB_I1:
    ((uint8_t *)out->data)[i] = mlirDenseElementsAttrGetBoolValue(value, i);
    break;
  default:
    zb_known_set_integer(out, i, read_integer(value, zb_stablehlo_integer_of(mlirAttributeGetType(value)), i));
  }
}

void zb_stablehlo_read_dense(MlirAttribute value, zb_known *out) {
  const bool splat = out->elements > 0 && mlirDenseElementsAttrIsSplat(value);
  if (splat) read_element(out, value, 0);
  for (int64_t i = 1; splat && i < out->elements; ++i)
    zb_known_put(out, i, out, 0, 1);
  for (int64_t i = 0; !splat && i < out->elements; ++i)
    read_element(out, value, i);
}

/* bf16 and f16, as f32, which is exact, cast by the program. */
static zb_result narrow_constant(zb_import_node *n, const zb_shape *shape, MlirAttribute value) {
  zb_shape wide = *shape;
  wide.dtype = ZB_F32;
  if (mlirDenseElementsAttrIsSplat(value)) wide.rank = 0;
  zb_known *known = zb_known_new(n->im, &wide);
  for (int64_t i = 0; known && i < known->elements; ++i)
    zb_known_set_real(known, i, mlirFloatAttrGetValueDouble(element_of(value, i)));
  if (!known) return ZB_FAIL;
  MlirValue built = zb_build_cast(n->b, zb_import_literal_ir(n->im, known, "constant"), shape->dtype);
  return built.ptr ? zb_import_give(n, 0, zb_import_expanded(n->b, built, shape)) : ZB_FAIL;
}

zb_result zb_stablehlo_constant(zb_import_node *n) {
  zb_shape shape, declared;
  MlirAttribute value = zb_stablehlo_attribute(zb_stablehlo_source(n), "value");
  if (!zb_stablehlo_result_shape(n, 0, &shape)) return ZB_FAIL;
  if (!value.ptr || !mlirAttributeIsADenseElements(value))
    return zb_import_refuse(n, "pass large arrays as arguments of the function", "the value is no dense<...>");
  if (!zb_stablehlo_shape(mlirAttributeGetType(value), &declared) || !zb_shape_equal(&shape, &declared))
    return zb_import_refuse(n, NULL, "the value does not have the type of the result");
  if (shape.dtype == ZB_BF16 || shape.dtype == ZB_F16) return narrow_constant(n, &shape, value);
  zb_known *out = zb_known_new(n->im, &shape);
  if (out) zb_stablehlo_read_dense(value, out);
  return zb_import_give_known(n, 0, out);
}

zb_result zb_stablehlo_iota(zb_import_node *n) {
  zb_shape shape;
  int64_t axis;
  if (!zb_stablehlo_result_shape(n, 0, &shape) || !zb_stablehlo_int(n, "iota_dimension", &axis)) return ZB_FAIL;
  if (axis < 0 || axis >= shape.rank)
    return zb_import_refuse(n, NULL, "iota_dimension %" PRId64 " is no dimension", axis);
  if (shape.dtype == ZB_I1) return zb_import_refuse(n, NULL, "an iota of i1");
  if (zb_shape_elements(&shape) > BROADCAST_ELEMENTS || shape.dtype == ZB_BF16 || shape.dtype == ZB_F16)
    return zb_import_give(n, 0, zb_build_iota(n->b, &shape, (int)axis, 0, 1));
  zb_known *out = zb_known_new(n->im, &shape);
  int64_t inner = 1;
  for (int i = (int)axis + 1; i < shape.rank; ++i)
    inner *= shape.dims[i];
  for (int64_t i = 0; out && i < out->elements; ++i)
    zb_known_set_real(out, i, (double)(i / inner % shape.dims[axis]));
  return zb_import_give_known(n, 0, out);
}

/* ---- Shapes ---- */

static zb_result same_elements(zb_import_node *n, const zb_shape *in, const zb_shape *out) {
  char a[96], b[96];
  if (zb_shape_elements(in) == zb_shape_elements(out)) return ZB_OK;
  return zb_import_refuse(n, NULL, "cannot reshape %s to %s", zb_shape_text(in, a), zb_shape_text(out, b));
}

zb_result zb_stablehlo_reshape(zb_import_node *n) {
  zb_shape in, out;
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_result_shape(n, 0, &out) || !same_elements(n, &in, &out))
    return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, zb_known_alias(n->im, zb_import_known(n, 0), &out));
  return zb_import_give(n, 0, zb_import_reshaped(n->b, zb_import_ir(n, 0), out.dims, out.rank));
}

/* Reads a permutation or a rising list of dimensions, each once. */
static bool read_dimensions(zb_import_node *n, const char *name, int count, int rank, int64_t *out) {
  bool seen[ZB_DIMS_MAX] = {false};
  int found;
  if (!zb_stablehlo_ints(n, name, false, out, ZB_DIMS_MAX, &found)) return false;
  bool good = found == count;
  for (int i = 0; good && i < count; ++i) {
    good = out[i] >= 0 && out[i] < rank && !seen[out[i]];
    if (good) seen[out[i]] = true;
  }
  return good || zb_import_refuse(n, NULL, "%s does not name dimensions, each once", name);
}

/* Dimension i of x becomes dimension dims[i] of the result; all others are 1 first, and then as long as the result. */
zb_result zb_stablehlo_broadcast(zb_import_node *n) {
  zb_shape in, out, whole;
  int64_t dims[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_result_shape(n, 0, &out) ||
      !read_dimensions(n, "broadcast_dimensions", in.rank, out.rank, dims))
    return ZB_FAIL;
  whole = out;
  for (int i = 0; i < out.rank; ++i)
    whole.dims[i] = 1;
  int order = 0;
  for (int d = 0; d < out.rank; ++d)
    for (int i = 0; i < in.rank; ++i) {
      if (dims[i] != d) continue;
      permutation[order++] = i;
      whole.dims[d] = in.dims[i];
      if (in.dims[i] != 1 && in.dims[i] != out.dims[d])
        return zb_import_refuse(n, NULL, "dimension %d of %" PRId64 " elements does not become one of %" PRId64, i,
                                in.dims[i], out.dims[d]);
    }
  const zb_known *known = n->folds ? zb_import_known(n, 0) : NULL;
  const int64_t most = known && known->elements == 1 ? SPLAT_ELEMENTS : BROADCAST_ELEMENTS;
  if (known && zb_shape_elements(&out) <= most) {
    known = zb_import_fold_transpose(n, known, permutation);
    if (known) known = zb_known_alias(n->im, known, &whole);
    return zb_import_give_known(n, 0, known ? zb_import_fold_expand(n, known, &out) : NULL);
  }
  MlirValue x = zb_import_transposed(n->b, zb_import_ir(n, 0), permutation);
  x = zb_import_reshaped(n->b, x, whole.dims, whole.rank);
  return zb_import_give(n, 0, zb_import_expanded(n->b, x, &out));
}

zb_result zb_stablehlo_transpose(zb_import_node *n) {
  zb_shape in;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !read_dimensions(n, "permutation", in.rank, in.rank, permutation)) return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, zb_import_fold_transpose(n, zb_import_known(n, 0), permutation));
  return zb_import_give(n, 0, zb_import_transposed(n->b, zb_import_ir(n, 0), permutation));
}

/* ---- Slices ---- */

static MlirValue sliced(zb_builder *b, MlirValue x, const zb_shape *in, const int64_t *starts, const int64_t *steps,
                        const int64_t *sizes) {
  bool whole = true;
  for (int i = 0; i < in->rank; ++i)
    whole = whole && sizes[i] == in->dims[i];
  if (whole || !x.ptr) return x;
  return ZB_BUILD(b, "slice", x, zb_ints("starts", starts, in->rank), zb_ints("sizes", sizes, in->rank),
                  zb_ints("steps", steps, in->rank));
}

static zb_result give_slice(zb_import_node *n, const zb_shape *in, const int64_t *starts, const int64_t *steps,
                            const int64_t *sizes) {
  zb_shape out = {.dtype = in->dtype, .rank = in->rank};
  memcpy(out.dims, sizes, sizeof out.dims);
  if (zb_shape_elements(&out) == 0) /* of jnp.roll: concatenate leaves it out */
    return zb_import_give_known(n, 0, zb_known_new(n->im, &out));
  const zb_known *known = zb_import_known(n, 0);
  if (known) return zb_import_give_known(n, 0, zb_import_fold_slice(n, known, starts, steps, sizes));
  return zb_import_give(n, 0, sliced(n->b, zb_import_ir(n, 0), in, starts, steps, sizes));
}

zb_result zb_stablehlo_slice(zb_import_node *n) {
  zb_shape in;
  int64_t starts[ZB_DIMS_MAX], limits[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX] = {0};
  int counts[3];
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_ints(n, "start_indices", false, starts, ZB_DIMS_MAX, &counts[0]) ||
      !zb_stablehlo_ints(n, "limit_indices", false, limits, ZB_DIMS_MAX, &counts[1]) ||
      !zb_stablehlo_ints(n, "strides", false, steps, ZB_DIMS_MAX, &counts[2]))
    return ZB_FAIL;
  for (int k = 0; k < 3; ++k)
    if (counts[k] != in.rank)
      return zb_import_refuse(n, NULL, "starts, limits and strides have not one entry a dimension");
  for (int i = 0; i < in.rank; ++i) {
    if (starts[i] < 0 || limits[i] > in.dims[i] || starts[i] > limits[i] || steps[i] < 1)
      return zb_import_refuse(n, NULL, "the slice of dimension %d is out of range", i);
    sizes[i] = (limits[i] - starts[i] + steps[i] - 1) / steps[i];
    if (sizes[i] <= 1) steps[i] = 1;
  }
  return give_slice(n, &in, starts, steps, sizes);
}

/* Operands from `first` on as indices, clamped so that a slice of these sizes fits; is_known[i]: starts[i] is it. */
static zb_result read_starts(zb_import_node *n, int first, const zb_shape *in, const int64_t *sizes, int64_t *starts,
                             bool *is_known) {
  if (n->input_count != first + in->rank)
    return zb_import_refuse(n, NULL, "it has %d indices, expected %d", n->input_count - first, in->rank);
  for (int i = 0; i < in->rank; ++i) {
    const zb_known *c = zb_import_known(n, first + i);
    if (sizes[i] < 1 || sizes[i] > in->dims[i])
      return zb_import_refuse(n, NULL, "dimension %d is cut to %" PRId64 " of %" PRId64, i, sizes[i], in->dims[i]);
    const int64_t most = in->dims[i] - sizes[i];
    is_known[i] = most == 0 || (c && c->elements == 1 && !zb_known_is_float(c));
    starts[i] = most == 0 || !is_known[i] ? 0 : zb_known_integer(c, 0);
    if (starts[i] < 0) starts[i] = 0;
    if (starts[i] > most) starts[i] = most;
  }
  return ZB_OK;
}

/* x along one dimension from a computed place on: rows are gathered, and the place is clamped first. */
static MlirValue gathered(zb_import_node *n, MlirValue x, const zb_shape *in, int axis, int64_t size, MlirValue start) {
  zb_builder *b = n->b;
  zb_shape index, line = {.dtype = ZB_I32, .rank = 1, .dims = {size}};
  if (!x.ptr || !zb_import_ir_shape(n, start, &index)) return (MlirValue){NULL};
  line.dtype = index.dtype;
  MlirValue low = zb_build2(b, "max", start, zb_build_scalar(b, index.dtype, 0));
  MlirValue place = zb_build2(b, "min", low, zb_build_scalar(b, index.dtype, (double)(in->dims[axis] - size)));
  if (size > 1)
    place = zb_build2(b, "add", zb_build_iota(b, &line, 0, 0, 1), place);
  else
    place = b->failed ? place : zb_build_reshape(b, place, &size, 1);
  zb_attr attr = zb_int("axis", axis);
  return zb_build(b, "gather", (MlirValue[]){x, place}, 2, &attr, 1);
}

zb_result zb_stablehlo_dynamic_slice(zb_import_node *n) {
  zb_shape in;
  int64_t sizes[ZB_DIMS_MAX], starts[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], first[ZB_DIMS_MAX];
  bool is_known[ZB_DIMS_MAX], all = true;
  int count;
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_ints(n, "slice_sizes", false, sizes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  if (count != in.rank) return zb_import_refuse(n, NULL, "slice_sizes has not one entry a dimension");
  if (!read_starts(n, 1, &in, sizes, starts, is_known)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i) {
    all = all && is_known[i];
    steps[i] = 1;
    first[i] = is_known[i] ? sizes[i] : in.dims[i];
  }
  if (all) return give_slice(n, &in, starts, steps, sizes);
  MlirValue x = sliced(n->b, zb_import_ir(n, 0), &in, starts, steps, first);
  for (int i = 0; i < in.rank; ++i)
    if (!is_known[i]) x = gathered(n, x, &in, i, sizes[i], zb_import_ir(n, 1 + i));
  return zb_import_give(n, 0, x);
}

/* x with an update at a place that is computed: every element of it has the number that it gets in x. */
static zb_result update_computed(zb_import_node *n, const zb_shape *in, const zb_shape *update) {
  zb_builder *b = n->b;
  zb_shape whole = *update;
  whole.dtype = ZB_I64;
  const int64_t total = zb_shape_elements(in), count = zb_shape_elements(update);
  int64_t strides[ZB_DIMS_MAX];
  zb_strides(in, strides);
  MlirValue place = zb_stablehlo_scalar(n, ZB_I64, 0);
  for (int d = 0; d < in->rank; ++d) {
    zb_shape line = whole;
    for (int k = 0; k < line.rank; ++k)
      if (k != d) line.dims[k] = 1;
    MlirValue start = zb_import_ir(n, 2 + d);
    if (!start.ptr) return ZB_FAIL;
    start = zb_build2(b, "max", zb_build_cast(b, start, ZB_I64), zb_stablehlo_scalar(n, ZB_I64, 0));
    start = zb_build2(b, "min", start, zb_stablehlo_scalar(n, ZB_I64, in->dims[d] - update->dims[d]));
    start = zb_build2(b, "add", zb_build_iota(b, &line, d, 0, 1), start);
    place = zb_build2(b, "add", place, zb_build2(b, "mul", start, zb_stablehlo_scalar(n, ZB_I64, strides[d])));
  }
  MlirValue x = zb_import_reshaped(b, zb_import_ir(n, 0), &total, 1);
  MlirValue news = zb_import_reshaped(b, zb_import_ir(n, 1), &count, 1);
  if (n->im->failed || b->failed) return ZB_FAIL;
  place = zb_import_reshaped(b, zb_import_expanded(b, place, &whole), &count, 1);
  MlirValue out = zb_stablehlo_scattered(n, x, place, news, "none");
  return zb_import_give(n, 0, zb_import_reshaped(b, out, in->dims, in->rank));
}

/* x with an update in one dimension, at a place that is known (what lax.scan writes its outputs with): three parts. */
zb_result zb_stablehlo_dynamic_update_slice(zb_import_node *n) {
  zb_shape in, update, part;
  int64_t starts[ZB_DIMS_MAX], zeros[ZB_DIMS_MAX] = {0}, steps[ZB_DIMS_MAX];
  bool is_known[ZB_DIMS_MAX];
  int axis = -1, count = 0;
  MlirValue parts[3];
  if (!zb_import_shape(n, 0, &in) || !zb_import_shape(n, 1, &update)) return ZB_FAIL;
  if (in.rank != update.rank) return zb_import_refuse(n, NULL, "the update has another rank");
  if (!read_starts(n, 2, &in, update.dims, starts, is_known)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i) {
    steps[i] = 1;
    if (!is_known[i]) return update_computed(n, &in, &update);
    if (update.dims[i] == in.dims[i]) continue;
    if (axis >= 0) return update_computed(n, &in, &update);
    axis = i;
  }
  if (axis < 0) return zb_import_give_value(n, 0, n->inputs[1]);
  MlirValue x = zb_import_ir(n, 0), middle = zb_import_ir(n, 1);
  part = in;
  part.dims[axis] = starts[axis];
  if (starts[axis] > 0) parts[count++] = sliced(n->b, x, &in, zeros, steps, part.dims);
  parts[count++] = middle;
  zeros[axis] = starts[axis] + update.dims[axis];
  part.dims[axis] = in.dims[axis] - zeros[axis];
  if (part.dims[axis] > 0) parts[count++] = sliced(n->b, x, &in, zeros, steps, part.dims);
  if (n->b->failed || n->im->failed) return ZB_FAIL;
  return zb_import_give(n, 0, zb_build_concat(n->b, parts, count, axis));
}

/* Rows by known indices from the last on: zb.slice has no steps back. */
zb_result zb_stablehlo_reverse(zb_import_node *n) {
  zb_shape in;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_ints(n, "dimensions", false, axes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  const zb_known *known = n->folds ? zb_import_known(n, 0) : NULL;
  MlirValue x = n->folds ? (MlirValue){NULL} : zb_import_ir(n, 0);
  for (int i = 0; i < count; ++i) {
    if (axes[i] < 0 || axes[i] >= in.rank)
      return zb_import_refuse(n, NULL, "dimension %" PRId64 " is out of range", axes[i]);
    const zb_shape line = {.dtype = ZB_I64, .rank = 1, .dims = {in.dims[axes[i]]}};
    zb_known *places = zb_known_new(n->im, &line);
    for (int64_t k = 0; places && k < places->elements; ++k)
      zb_known_set_integer(places, k, places->elements - 1 - k);
    if (!places) return ZB_FAIL;
    zb_attr axis = zb_int("axis", axes[i]);
    if (n->folds)
      known = zb_import_fold_gather(n, known, places, (int)axes[i]);
    else
      x = zb_build(n->b, "gather", (MlirValue[]){x, zb_import_literal_ir(n->im, places, "reversed")}, 2, &axis, 1);
    if (n->folds ? !known : !x.ptr) return ZB_FAIL;
  }
  if (!n->folds) return zb_import_give(n, 0, x);
  return zb_import_give_known(n, 0, zb_known_alias(n->im, known, &known->shape));
}

/* ---- Joining ---- */

zb_result zb_stablehlo_concatenate(zb_import_node *n) {
  zb_shape shape;
  int64_t axis;
  if (!zb_import_shape(n, 0, &shape) || !zb_stablehlo_int(n, "dimension", &axis)) return ZB_FAIL;
  if (axis < 0 || axis >= shape.rank) return zb_import_refuse(n, NULL, "dimension %" PRId64 " is out of range", axis);
  const zb_known **folded = zb_import_take(n->im, (size_t)n->input_count * sizeof *folded);
  MlirValue *parts = zb_import_take(n->im, (size_t)n->input_count * sizeof *parts);
  if (!folded || !parts) return ZB_FAIL;
  int count = 0;
  for (int i = 0; i < n->input_count; ++i) {
    const zb_known *known = zb_import_known(n, i);
    if (known && known->elements == 0 && !n->folds) continue;
    if (n->folds)
      folded[count++] = known;
    else
      parts[count++] = zb_import_ir(n, i);
  }
  if (n->im->failed) return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, zb_import_fold_concat(n, folded, count, (int)axis));
  return zb_import_give(n, 0, count == 1 ? parts[0] : zb_build_concat(n->b, parts, count, axis));
}

/* Splats of the padding beside x, one dimension after the other; negative padding cuts. */
zb_result zb_stablehlo_pad(zb_import_node *n) {
  zb_shape shape;
  int64_t low[ZB_DIMS_MAX], high[ZB_DIMS_MAX], inner[ZB_DIMS_MAX];
  int counts[3];
  if (!zb_import_shape(n, 0, &shape) ||
      !zb_stablehlo_ints(n, "edge_padding_low", false, low, ZB_DIMS_MAX, &counts[0]) ||
      !zb_stablehlo_ints(n, "edge_padding_high", false, high, ZB_DIMS_MAX, &counts[1]) ||
      !zb_stablehlo_ints(n, "interior_padding", false, inner, ZB_DIMS_MAX, &counts[2]))
    return ZB_FAIL;
  if (counts[0] != shape.rank || counts[1] != shape.rank || counts[2] != shape.rank)
    return zb_import_refuse(n, NULL, "the padding has not one entry a dimension");
  MlirValue x = zb_import_ir(n, 0), fill = zb_import_ir(n, 1);
  for (int d = 0; d < shape.rank && !n->im->failed; ++d) {
    if (inner[d] < 0 || inner[d] > INT32_MAX)
      return zb_import_refuse(n, NULL, "the padding of dimension %d is out of range", d);
    x = zb_stablehlo_padded(n, x, fill, d, low[d], high[d], inner[d]);
  }
  return n->im->failed || n->b->failed ? ZB_FAIL : zb_import_give(n, 0, x);
}
