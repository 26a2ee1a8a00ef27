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

bool zb_stablehlo_number(MlirOperation constant, zb_known *out) {
  zb_shape shape;
  MlirAttribute value = zb_get_attribute(constant, "value");
  if (!value.ptr || !mlirAttributeIsADenseElements(value) || !zb_stablehlo_shape(mlirAttributeGetType(value), &shape))
    return false;
  const bool is_one =
      zb_shape_elements(&shape) == 1 || (zb_shape_elements(&shape) > 1 && mlirDenseElementsAttrIsSplat(value));
  if (!is_one || zb_dtype_is_narrow(shape.dtype)) return false;
  out->shape = (zb_shape){.dtype = shape.dtype};
  out->elements = 1;
  read_element(out, value, 0);
  return true;
}

/* bf16 and f16, as f32, which is exact, cast by the program. */
static zb_result narrow_constant(zb_import_node *n, const zb_shape *shape, MlirAttribute value) {
  zb_shape wide = *shape;
  wide.dtype = ZB_F32;
  if (mlirDenseElementsAttrIsSplat(value)) wide.rank = 0;
  zb_known *known = zb_known_new(n->im, &wide);
  for (int64_t i = 0; known && i < known->elements; ++i)
    zb_known_set_real(known, i, mlirFloatAttrGetValueDouble(element_of(value, i)));
  zb_operand rounded = zb_operand_cast(n, zb_operand_known(n, known), shape->dtype);
  return zb_operand_give(n, 0, zb_operand_expand(n, rounded, shape));
}

zb_result zb_stablehlo_constant(zb_import_node *n) {
  zb_shape shape, declared;
  MlirAttribute value = zb_get_attribute(zb_stablehlo_source(n), "value");
  if (!zb_stablehlo_result_shape(n, 0, &shape)) return ZB_FAIL;
  if (!value.ptr || !mlirAttributeIsADenseElements(value))
    return zb_import_refuse(n, "pass large arrays as arguments of the function", "the value is no dense<...>");
  if (!zb_stablehlo_shape(mlirAttributeGetType(value), &declared) || !zb_shape_equal(&shape, &declared))
    return zb_import_refuse(n, NULL, "the value does not have the type of the result");
  if (zb_dtype_is_narrow(shape.dtype)) return narrow_constant(n, &shape, value);
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
  if (zb_shape_elements(&shape) > BROADCAST_ELEMENTS || zb_dtype_is_narrow(shape.dtype))
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

zb_result zb_stablehlo_reshape(zb_import_node *n) {
  zb_shape in, out;
  char a[96], b[96];
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_result_shape(n, 0, &out)) return ZB_FAIL;
  if (zb_shape_elements(&in) != zb_shape_elements(&out))
    return zb_import_refuse(n, NULL, "cannot reshape %s to %s", zb_shape_text(&in, a), zb_shape_text(&out, b));
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_in(n, 0), &out));
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
  zb_operand x = zb_operand_reshape(n, zb_operand_transpose(n, zb_operand_in(n, 0), permutation), &whole);
  const int64_t most = zb_shape_elements(&in) == 1 ? SPLAT_ELEMENTS : BROADCAST_ELEMENTS;
  if (!n->folds || zb_shape_elements(&out) <= most) return zb_operand_give(n, 0, zb_operand_expand(n, x, &out));
  return x ? zb_import_give(n, 0, zb_import_expanded(n->b, zb_import_value_ir(n->im, x), &out)) : ZB_FAIL;
}

zb_result zb_stablehlo_transpose(zb_import_node *n) {
  zb_shape in;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !read_dimensions(n, "permutation", in.rank, in.rank, permutation)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_in(n, 0), permutation));
}

/* ---- Slices ---- */

zb_result zb_stablehlo_slice(zb_import_node *n) {
  zb_shape in;
  int64_t starts[ZB_DIMS_MAX], limits[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_per_dimension(n, "start_indices", false, in.rank, starts) ||
      !zb_stablehlo_per_dimension(n, "limit_indices", false, in.rank, limits) ||
      !zb_stablehlo_per_dimension(n, "strides", false, in.rank, steps))
    return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i) {
    if (starts[i] < 0 || limits[i] > in.dims[i] || starts[i] > limits[i] || steps[i] < 1)
      return zb_import_refuse(n, NULL, "the slice of dimension %d is out of range", i);
  }
  return zb_operand_give(n, 0, zb_meaning_slice(n, zb_operand_in(n, 0), NULL, starts, limits, steps, in.rank));
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
static zb_operand gathered(zb_import_node *n, zb_operand x, int axis, int64_t size, zb_operand start) {
  zb_shape in, index;
  if (!zb_operand_shape(n, x, &in) || !zb_operand_shape(n, start, &index)) return NULL;
  zb_operand place = zb_operand_apply2(n, "max", start, zb_operand_number(n, start, 0));
  place = zb_operand_apply2(n, "min", place, zb_operand_number(n, start, (double)(in.dims[axis] - size)));
  if (size > 1)
    place = zb_operand_apply2(n, "add", zb_operand_cast(n, zb_meaning_range(n, size, 0, 1), index.dtype), place);
  else
    place = zb_operand_reshape(n, place, &(zb_shape){.rank = 1, .dims = {1}});
  return zb_operand_gather(n, x, place, axis, ZB_FROM_BOTH_ENDS);
}

zb_result zb_stablehlo_dynamic_slice(zb_import_node *n) {
  zb_shape in, first;
  int64_t sizes[ZB_DIMS_MAX], starts[ZB_DIMS_MAX];
  bool is_known[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_per_dimension(n, "slice_sizes", false, in.rank, sizes))
    return ZB_FAIL;
  if (!read_starts(n, 1, &in, sizes, starts, is_known)) return ZB_FAIL;
  first = in;
  for (int i = 0; i < in.rank; ++i)
    if (is_known[i]) first.dims[i] = sizes[i];
  zb_operand x = zb_operand_slice(n, zb_operand_in(n, 0), starts, first.dims, NULL);
  for (int i = 0; i < in.rank; ++i)
    if (!is_known[i]) x = gathered(n, x, i, sizes[i], zb_operand_in(n, 1 + i));
  return zb_operand_give(n, 0, x);
}

/* x with an update at a place that is computed: every element of it has the number that it gets in x. */
static zb_operand update_computed(zb_import_node *n, const zb_shape *in, const zb_shape *update) {
  const zb_shape all = {.rank = 1, .dims = {zb_shape_elements(in)}},
                 news = {.rank = 1, .dims = {zb_shape_elements(update)}};
  int64_t strides[ZB_DIMS_MAX];
  zb_strides(in, strides);
  zb_operand place = zb_operand_scalar(n, ZB_I64, 0), zero = place;
  for (int d = 0; d < in->rank; ++d) {
    zb_operand start = zb_operand_apply2(n, "max", zb_operand_cast(n, zb_operand_in(n, 2 + d), ZB_I64), zero);
    zb_operand most = zb_operand_scalar(n, ZB_I64, (double)(in->dims[d] - update->dims[d]));
    start = zb_operand_apply2(n, "min", start, most);
    zb_operand own = zb_meaning_along(n, update, d, 1);
    own = zb_meaning_line(n, zb_operand_apply2(n, "add", own, start), (double)strides[d], 0);
    place = zb_operand_apply2(n, "add", place, own);
  }
  place = zb_operand_reshape(n, zb_operand_expand(n, place, update), &news);
  zb_operand x = zb_operand_reshape(n, zb_operand_in(n, 0), &all);
  x = zb_meaning_scatter(n, x, place, zb_operand_reshape(n, zb_operand_in(n, 1), &news), "none");
  return zb_operand_reshape(n, x, in);
}

/* x with an update in one dimension, at a place that is known (what lax.scan writes its outputs with): three parts. */
zb_result zb_stablehlo_dynamic_update_slice(zb_import_node *n) {
  zb_shape in, update;
  int64_t starts[ZB_DIMS_MAX];
  bool is_known[ZB_DIMS_MAX], is_one = true;
  int axis = -1;
  if (!zb_import_shape(n, 0, &in) || !zb_import_shape(n, 1, &update)) return ZB_FAIL;
  if (in.rank != update.rank) return zb_import_refuse(n, NULL, "the update has another rank");
  if (!read_starts(n, 2, &in, update.dims, starts, is_known)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i) {
    is_one = is_one && is_known[i] && (update.dims[i] == in.dims[i] || axis < 0);
    if (update.dims[i] != in.dims[i]) axis = i;
  }
  if (!is_one) return zb_operand_give(n, 0, update_computed(n, &in, &update));
  zb_operand part = zb_operand_in(n, 1);
  if (axis < 0) return zb_operand_give(n, 0, part);
  part = zb_meaning_replace(n, zb_operand_in(n, 0), part, axis, starts[axis], update.dims[axis]);
  return zb_operand_give(n, 0, part);
}

zb_result zb_stablehlo_reverse(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_stablehlo_ints(n, "dimensions", false, axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_flip(n, zb_operand_in(n, 0), axes, count));
}

/* ---- Joining ---- */

zb_result zb_stablehlo_concatenate(zb_import_node *n) {
  zb_shape shape;
  int64_t axis;
  if (!zb_import_shape(n, 0, &shape) || !zb_stablehlo_int(n, "dimension", &axis)) return ZB_FAIL;
  if (axis < 0 || axis >= shape.rank) return zb_import_refuse(n, NULL, "dimension %" PRId64 " is out of range", axis);
  zb_operand *parts = zb_import_take(n->im, (size_t)n->input_count * sizeof *parts);
  for (int i = 0; parts && i < n->input_count; ++i)
    parts[i] = zb_operand_in(n, i);
  return parts ? zb_operand_give(n, 0, zb_operand_concat(n, parts, n->input_count, (int)axis)) : ZB_FAIL;
}

/* Splats of the padding beside x, one dimension after the other; negative padding cuts. */
zb_result zb_stablehlo_pad(zb_import_node *n) {
  zb_shape shape;
  int64_t low[ZB_DIMS_MAX], high[ZB_DIMS_MAX], inner[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &shape) || !zb_stablehlo_per_dimension(n, "edge_padding_low", false, shape.rank, low) ||
      !zb_stablehlo_per_dimension(n, "edge_padding_high", false, shape.rank, high) ||
      !zb_stablehlo_per_dimension(n, "interior_padding", false, shape.rank, inner))
    return ZB_FAIL;
  MlirValue x = zb_import_ir(n, 0), fill = zb_import_ir(n, 1);
  for (int d = 0; d < shape.rank && !n->im->failed; ++d) {
    if (inner[d] < 0 || inner[d] > INT32_MAX)
      return zb_import_refuse(n, NULL, "the padding of dimension %d is out of range", d);
    x = zb_stablehlo_padded(n, x, fill, d, low[d], high[d], inner[d]);
  }
  return n->im->failed || n->b->failed ? ZB_FAIL : zb_import_give(n, 0, x);
}

/* ---- Parts of tensors ---- */

MlirValue zb_stablehlo_cut(zb_import_node *n, MlirValue x, int axis, int64_t start, int64_t size, int64_t step) {
  zb_shape shape;
  int64_t starts[ZB_DIMS_MAX] = {0}, sizes[ZB_DIMS_MAX], steps[] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  if (start == 0 && size == shape.dims[axis]) return x;
  memcpy(sizes, shape.dims, sizeof sizes);
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = size > 1 ? step : 1;
  return zb_build_slice(n->b, x, starts, sizes, steps, shape.rank);
}

/* x with `inner` elements of fill between its own along an axis: a dimension of 1 + inner behind it, without the last
 * ones. */
static MlirValue spread(zb_import_node *n, MlirValue x, MlirValue fill, int axis, int64_t inner) {
  zb_shape shape, part;
  if (inner == 0 || !zb_import_ir_shape(n, x, &shape) || shape.dims[axis] < 2) return x;
  part = shape;
  if (shape.rank == ZB_DIMS_MAX)
    return zb_import_refuse(n, NULL, "it has too many dimensions to be spread"), (MlirValue){NULL};
  for (int i = shape.rank; i > axis + 1; --i)
    part.dims[i] = part.dims[i - 1];
  part.dims[axis + 1] = 1;
  ++part.rank;
  MlirValue parts[2] = {zb_import_reshaped(n->b, x, part.dims, part.rank), {NULL}};
  part.dims[axis + 1] = inner;
  parts[1] = zb_build_expand(n->b, fill, &part);
  if (n->b->failed) return (MlirValue){NULL};
  x = zb_build_concat(n->b, parts, 2, axis + 1);
  shape.dims[axis] *= 1 + inner;
  x = zb_import_reshaped(n->b, x, shape.dims, shape.rank);
  return zb_stablehlo_cut(n, x, axis, 0, shape.dims[axis] - inner, 1);
}

/* More is no padding of a tensor, and sums of such numbers do not overflow. */
bool zb_stablehlo_is_pad(int64_t pad) {
  const int64_t most = INT64_C(1) << 40;
  return pad >= -most && pad <= most;
}

MlirValue zb_stablehlo_padded(zb_import_node *n, MlirValue x, MlirValue fill, int axis, int64_t low, int64_t high,
                              int64_t inner) {
  zb_shape shape, part;
  x = spread(n, x, fill, axis, inner);
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  const int64_t start = zb_stablehlo_is_pad(low) && low < 0 ? -low : 0,
                end = zb_stablehlo_is_pad(high) && high < 0 ? -high : 0;
  if (!zb_stablehlo_is_pad(low) || !zb_stablehlo_is_pad(high) || shape.dims[axis] - start - end < 1)
    return zb_import_refuse(n, NULL, "the padding of dimension %d is out of range", axis), (MlirValue){NULL};
  x = zb_stablehlo_cut(n, x, axis, start, shape.dims[axis] - start - end, 1);
  MlirValue parts[3];
  int count = 0;
  part = shape;
  part.dims[axis] = low;
  if (low > 0) parts[count++] = zb_build_expand(n->b, fill, &part);
  parts[count++] = x;
  part.dims[axis] = high;
  if (high > 0) parts[count++] = zb_build_expand(n->b, fill, &part);
  return n->b->failed ? (MlirValue){NULL} : zb_build_concat(n->b, parts, count, axis);
}

/* Of i1 a sum is `or`, a product `and`. */
zb_operand zb_stablehlo_scattered(zb_import_node *n, zb_operand data, zb_operand places, zb_operand updates,
                                  const char *reduction) {
  zb_shape shape;
  if (!zb_operand_shape(n, data, &shape)) return NULL;
  if (shape.dtype != ZB_I1 || strcmp(reduction, "none") == 0)
    return zb_meaning_scatter(n, data, places, updates, reduction);
  data = zb_operand_cast(n, data, ZB_I32);
  updates = zb_operand_cast(n, updates, ZB_I32);
  reduction = strcmp(reduction, "add") == 0 ? "max" : strcmp(reduction, "mul") == 0 ? "min" : reduction;
  return zb_operand_cast(n, zb_meaning_scatter(n, data, places, updates, reduction), ZB_I1);
}
