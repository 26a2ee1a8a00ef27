/* Data movement, casts, and constants that are computed: slice_grad, concat, contiguous, gather, scatter and their
 * relatives, cast, iota, triangle, coordinate, accumulate_add, all_reduce and its relatives. */
#include "kernels/cpu/ref/ref.h"
#include "runtime/base/text.h"

static void zero_fill(const zb_tensor *tensor) {
  memset(tensor->data, 0, (size_t)zb_tensor_elements(tensor) * zb_dtype_bytes(tensor->dtype));
}

/* Copies x to `to`, whose shape it has and whose data lies at any strides. */
static void copy_all(const zb_tensor *to, const zb_tensor *x) {
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, to);
  (void)zb_ref_walk_add(&walk, x);
  for (; walk.left > 0; zb_ref_walk_next(&walk))
    zb_ref_copy(to, walk.offset[0], x, walk.offset[1]);
}

const char *zb_ref_contiguous(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  if (call->inputs[0].dtype != call->outputs[0].dtype) return ZB_REF_BAD_TYPE;
  if (!zb_tensor_same_shape(&call->inputs[0], &call->outputs[0])) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  copy_all(&call->outputs[0], &call->inputs[0]);
  return NULL;
}

/* What one shard alone has of it. */
const char *zb_ref_all_reduce(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  if (!zb_dtype_is_float(call->inputs[0].dtype)) return ZB_REF_BAD_TYPE;
  return zb_ref_contiguous(call);
}

static const char *check_part(const zb_kernel_call *call, const zb_tensor *all, const zb_tensor *part, int64_t place) {
  if (!zb_dtype_is_float(all->dtype) || all->dtype != part->dtype) return ZB_REF_BAD_TYPE;
  if (all->rank < 1 || all->shape[0] != zb_attr_int(&call->attrs, "members", 0)) return ZB_REF_BAD_SHAPE;
  if (place < 0 || place >= all->shape[0]) return ZB_REF_BAD_SHAPE;
  const zb_tensor first = zb_tensor_part(all, 0);
  return zb_tensor_same_shape(&first, part) ? NULL : ZB_REF_BAD_SHAPE;
}

const char *zb_ref_own_part(const zb_kernel_call *call) {
  const int64_t place = zb_attr_int(&call->attrs, "place", 0);
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  ZB_REF_TRY(check_part(call, &call->inputs[0], &call->outputs[0], place));
  ZB_REF_CHECKED(call);
  const zb_tensor part = zb_tensor_part(&call->inputs[0], place);
  copy_all(&call->outputs[0], &part);
  return NULL;
}

/* What one shard alone has of it: it is the first. */
const char *zb_ref_reduce_scatter(const zb_kernel_call *call) { return zb_ref_own_part(call); }

/* What one shard alone has of it: it is the first, and the others have nothing. */
const char *zb_ref_gather_parts(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  ZB_REF_TRY(check_part(call, &call->outputs[0], &call->inputs[0], 0));
  ZB_REF_CHECKED(call);
  zero_fill(&call->outputs[0]);
  const zb_tensor part = zb_tensor_part(&call->outputs[0], 0);
  copy_all(&part, &call->inputs[0]);
  return NULL;
}

const char *zb_ref_accumulate_add(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, true));
  const zb_tensor *value = &call->inputs[0], *sum = &call->outputs[0];
  if (!zb_dtype_is_float(value->dtype) || !zb_dtype_is_float(sum->dtype)) return ZB_REF_BAD_TYPE;
  if (!zb_tensor_same_shape(value, sum)) return ZB_REF_BAD_SHAPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, sum);
  (void)zb_ref_walk_add(&walk, value);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk))
    zb_ref_put(sum, walk.offset[0], zb_ref_get(value, walk.offset[1]), call->accumulate);
  return NULL;
}

const char *zb_ref_cast(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const char *name = zb_attr_string(&call->attrs, "dtype", zb_dtype_name(out->dtype));
  zb_dtype dtype;
  if (!zb_dtype_parse(name, &dtype) || dtype != out->dtype) return "the result is not of the type that the cast names";
  if (!zb_tensor_same_shape(x, out)) return ZB_REF_BAD_SHAPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  (void)zb_ref_walk_add(&walk, x);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    if (zb_dtype_is_float(x->dtype))
      zb_ref_set(out, walk.offset[0], zb_ref_get(x, walk.offset[1]));
    else
      zb_ref_set_int(out, walk.offset[0], zb_ref_get_int(x, walk.offset[1]));
  }
  return NULL;
}

static bool has_bits_of(zb_dtype real, zb_dtype integer) {
  return (real == ZB_F32 && integer == ZB_I32) || (real == ZB_F64 && integer == ZB_I64) ||
         ((real == ZB_BF16 || real == ZB_F16) && integer == ZB_I32);
}

const char *zb_ref_bitcast(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  if (!has_bits_of(x->dtype, out->dtype) && !has_bits_of(out->dtype, x->dtype)) return ZB_REF_BAD_TYPE;
  if (strcmp(zb_attr_string(&call->attrs, "dtype", ""), zb_dtype_name(out->dtype)) != 0)
    return "the result is not of the type that the op names";
  if (!zb_tensor_same_shape(x, out)) return ZB_REF_BAD_SHAPE;
  const size_t from = zb_dtype_bytes(x->dtype), to = zb_dtype_bytes(out->dtype);
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  (void)zb_ref_walk_add(&walk, x);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    const char *source = (const char *)x->data + walk.offset[1] * (int64_t)from;
    int16_t half;
    memcpy(&half, source, sizeof half); /* the lower ones: tensors are little-endian */
    const int32_t wide = half;
    memcpy((char *)out->data + walk.offset[0] * (int64_t)to, to > from ? (const void *)&wide : source, to);
  }
  return NULL;
}

const char *zb_ref_concat(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1), place = 0;
  if (axis < 0 || axis >= out->rank) return ZB_REF_BAD_AXIS;
  for (int i = 0; i < call->input_count; ++i) {
    const zb_tensor *x = &call->inputs[i];
    if (x->rank != out->rank) return ZB_REF_BAD_SHAPE;
    if (x->dtype != out->dtype) return ZB_REF_BAD_TYPE;
    zb_tensor part = zb_tensor_from(out, place * out->strides[axis]);
    part.shape[axis] = x->shape[axis];
    if (place + x->shape[axis] > out->shape[axis] || !zb_tensor_same_shape(x, &part)) return ZB_REF_BAD_SHAPE;
    if (out->data) copy_all(&part, x); /* else only checked */
    place += x->shape[axis];
  }
  return place == out->shape[axis] ? NULL : ZB_REF_BAD_SHAPE;
}

const char *zb_ref_slice_grad(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *dout = &call->inputs[0], *dx = &call->outputs[0];
  zb_tensor part;
  ZB_REF_TRY(zb_slice_part(call, &part));
  if (dout->dtype != dx->dtype) return ZB_REF_BAD_TYPE;
  ZB_REF_CHECKED(call);
  zero_fill(dx);
  copy_all(&part, dout);
  return NULL;
}

/* ---- gather: (data, indices) {axis} -> (out) of shape data[:axis] + indices + data[axis+1:] ---- */

/* Makes `data` look like `out`: its dimension `axis` becomes the dimensions of the indices, all with stride 0, because
 * the index itself is added by hand. `positions` are the indices in the same shape. False where the rank would be too
 * high. */
static bool spread_axis(const zb_tensor *data, const zb_tensor *indices, int64_t axis, zb_tensor *spread,
                        zb_tensor *positions) {
  int rank = data->rank - 1 + indices->rank;
  if (rank > ZB_DIMS_MAX) return false;
  *spread = *positions = (zb_tensor){.data = data->data, .dtype = data->dtype, .rank = rank};
  positions->data = indices->data;
  positions->dtype = indices->dtype;
  for (int i = 0; i < rank; ++i) {
    int inside = i - (int)axis;
    if (inside >= 0 && inside < indices->rank) {
      spread->shape[i] = positions->shape[i] = indices->shape[inside];
      positions->strides[i] = indices->strides[inside];
    } else {
      int from = inside < 0 ? i : i - indices->rank + 1;
      spread->shape[i] = positions->shape[i] = data->shape[from];
      spread->strides[i] = data->strides[from];
    }
  }
  return true;
}

/* The place that an index names, counting negative ones from the end; -1 when it is out of range. */
static int64_t wrap_index(int64_t index, int64_t least, int64_t size) {
  if (index < least || index >= size) return -1;
  return index < 0 ? index + size : index;
}

#define BAD_INDEX "an index is out of range"

/* Copies the elements of `data` that `indices` name to `selected` (out); or, with `add`, adds `selected` (dout) into
 * `data` (the gradient of the operand). Both walk the elements of `selected` in row-major order, so gradients of rows
 * that occur several times are added in the order of the indices. */
static const char *run_gather(const zb_kernel_call *call, const zb_tensor *data, const zb_tensor *indices,
                              const zb_tensor *selected, bool by_element, bool add) {
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  if (axis < 0 || axis >= data->rank) return ZB_REF_BAD_AXIS;
  const int64_t size = data->shape[axis], least = zb_least_index(call, size);
  if (!zb_dtype_is_index(indices->dtype) || data->dtype != selected->dtype) return ZB_REF_BAD_TYPE;
  zb_tensor spread, positions;
  if (by_element) {
    if (data->rank != indices->rank) return ZB_REF_BAD_SHAPE;
    for (int i = 0; i < data->rank; ++i)
      if (i != axis && indices->shape[i] > data->shape[i]) return ZB_REF_BAD_SHAPE;
    spread = *data;
    positions = *indices;
    memcpy(spread.shape, indices->shape, sizeof spread.shape);
    spread.strides[axis] = 0;
  } else if (!spread_axis(data, indices, axis, &spread, &positions)) {
    return ZB_REF_BAD_SHAPE;
  }
  if (!zb_tensor_same_shape(&spread, selected)) return ZB_REF_BAD_SHAPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, selected);
  (void)zb_ref_walk_add(&walk, &spread);
  (void)zb_ref_walk_add(&walk, &positions);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t index = zb_ref_get_int(indices, walk.offset[2]), place = wrap_index(index, least, size);
    if (place < 0) return zb_kernel_wrong_value(call, index, index < 0 ? least : 0, size - 1, BAD_INDEX);
    int64_t element = walk.offset[1] + place * data->strides[axis];
    if (add)
      zb_ref_put(data, element, zb_ref_get(selected, walk.offset[0]), true);
    else
      zb_ref_copy(selected, walk.offset[0], data, element);
  }
  return NULL;
}

static const char *gather_forward(const zb_kernel_call *call, bool by_element) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  return run_gather(call, &call->inputs[0], &call->inputs[1], &call->outputs[0], by_element, false);
}

static const char *gather_gradient(const zb_kernel_call *call, bool by_element) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, true));
  const zb_tensor *ddata = &call->outputs[0];
  if (!zb_dtype_is_float(ddata->dtype)) return ZB_REF_BAD_TYPE;
  if (!call->accumulate && ddata->data) zero_fill(ddata);
  return run_gather(call, ddata, &call->inputs[0], &call->inputs[1], by_element, true);
}

const char *zb_ref_gather(const zb_kernel_call *call) { return gather_forward(call, false); }
const char *zb_ref_gather_grad(const zb_kernel_call *call) { return gather_gradient(call, false); }
const char *zb_ref_gather_elements(const zb_kernel_call *call) { return gather_forward(call, true); }
const char *zb_ref_gather_elements_grad(const zb_kernel_call *call) { return gather_gradient(call, true); }

/* ---- scatter ---- */

/* The number of the tuple whose entries lie `stride` apart from `element` on; -1 after an error in *error. */
static int64_t ravel(const zb_kernel_call *call, int64_t element, int64_t stride, const int64_t *shape, int count,
                     const char **error) {
  int64_t number = 0;
  for (int i = 0; i < count; ++i) {
    int64_t index = zb_ref_get_int(&call->inputs[0], element + i * stride),
            place = wrap_index(index, -shape[i], shape[i]);
    if (place < 0) {
      *error = zb_kernel_wrong_value(call, index, index < 0 ? -shape[i] : 0, shape[i] - 1, BAD_INDEX);
      return -1;
    }
    number = number * shape[i] + place;
  }
  return number;
}

const char *zb_ref_ravel_index(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *indices = &call->inputs[0], *out = &call->outputs[0];
  int count = 0, last = indices->rank - 1;
  const int64_t *shape = zb_ref_ints(call, "shape", &count);
  if (!zb_dtype_is_index(indices->dtype) || out->dtype != ZB_I64) return ZB_REF_BAD_TYPE;
  if (last < 0 || count < 1 || indices->shape[last] != count) return ZB_REF_BAD_SHAPE;
  zb_tensor tuples = *indices;
  tuples.rank = last;
  if (!zb_tensor_same_shape(&tuples, out)) return ZB_REF_BAD_SHAPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  (void)zb_ref_walk_add(&walk, &tuples);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    const char *error = NULL;
    int64_t number = ravel(call, walk.offset[1], indices->strides[last], shape, count, &error);
    if (error) return error;
    zb_ref_set_int(out, walk.offset[0], number);
  }
  return NULL;
}

/* The reductions of a scatter, in the order of this list. */
enum { PUT, ADD, MULTIPLY, LEAST, GREATEST, REDUCTION_COUNT };

static int reduction_of(const char *name) {
  const int found = zb_word_index("none add mul min max", name);
  return found < 0 ? REDUCTION_COUNT : found;
}

/* A NaN of either stays. */
static double reduce_reals(double a, double b, int reduction) {
  if (reduction == MULTIPLY) return a * b;
  if (a != a) return a;
  return (reduction == LEAST ? a < b : a > b) ? a : b;
}

/* Modulo 2^64. */
static int64_t reduce_integers(int64_t a, int64_t b, int reduction) {
  if (reduction == ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (reduction == MULTIPLY) return (int64_t)((uint64_t)a * (uint64_t)b);
  return (reduction == LEAST ? a < b : a > b) ? a : b;
}

static void scatter_one(const zb_tensor *out, int64_t to, const zb_tensor *updates, int64_t from, int reduction) {
  if (reduction == PUT)
    zb_ref_copy(out, to, updates, from);
  else if (!zb_dtype_is_float(out->dtype))
    zb_ref_set_int(out, to, reduce_integers(zb_ref_get_int(out, to), zb_ref_get_int(updates, from), reduction));
  else if (reduction == ADD)
    zb_ref_put(out, to, zb_ref_get(updates, from), true);
  else
    zb_ref_set(out, to, reduce_reals(zb_ref_get(out, to), zb_ref_get(updates, from), reduction));
}

const char *zb_ref_scatter(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 3, 1, false));
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1], *updates = &call->inputs[2],
                  *out = &call->outputs[0];
  const int reduction = reduction_of(zb_attr_string(&call->attrs, "reduction", ""));
  zb_tensor spread, positions;
  if (reduction == REDUCTION_COUNT) return "the reduction is none that is known";
  if (!zb_dtype_is_index(indices->dtype) || data->dtype != out->dtype || updates->dtype != out->dtype)
    return ZB_REF_BAD_TYPE;
  if (reduction != PUT && out->dtype == ZB_I1) return ZB_REF_BAD_TYPE;
  if (out->rank < 1 || !zb_tensor_same_shape(data, out)) return ZB_REF_BAD_SHAPE;
  if (!spread_axis(out, indices, 0, &spread, &positions) || !zb_tensor_same_shape(&spread, updates))
    return ZB_REF_BAD_SHAPE;
  for (int i = 0; i < indices->rank; ++i)
    spread.strides[i] = 0;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, updates);
  (void)zb_ref_walk_add(&walk, &spread);
  (void)zb_ref_walk_add(&walk, &positions);
  ZB_REF_CHECKED(call);
  copy_all(out, data);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t index = zb_ref_get_int(indices, walk.offset[2]), size = out->shape[0];
    int64_t place = wrap_index(index, -size, size);
    if (place < 0) return zb_kernel_wrong_value(call, index, index < 0 ? -size : 0, size - 1, BAD_INDEX);
    scatter_one(out, walk.offset[1] + place * out->strides[0], updates, walk.offset[0], reduction);
  }
  return NULL;
}

/* ---- Constants ---- */

const char *zb_ref_iota(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 0, 1, false));
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  if (axis < 0 || axis >= out->rank) return ZB_REF_BAD_AXIS;
  double start = zb_attr_number(call, "start", 0), step = zb_attr_number(call, "step", 1);
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk))
    zb_ref_set(out, walk.offset[0], start + step * (double)walk.index[axis]);
  return NULL;
}

const char *zb_ref_coordinate(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 0, 1, false));
  const zb_tensor *out = &call->outputs[0];
  if (out->dtype != ZB_I64) return ZB_REF_BAD_TYPE;
  if (out->rank != 1 || out->shape[0] != 1) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  *(int64_t *)out->data = zb_attr_int(&call->attrs, "place", 0);
  return NULL;
}

const char *zb_ref_triangle(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 0, 1, false));
  const zb_tensor *out = &call->outputs[0];
  if (out->rank < 2) return "a triangle needs rank 2 or more";
  int64_t diagonal = zb_attr_int(&call->attrs, "diagonal", 0);
  double lower = zb_attr_number(call, "lower", 0), upper = zb_attr_number(call, "upper", 0);
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t i = walk.index[out->rank - 2], j = walk.index[out->rank - 1];
    zb_ref_set(out, walk.offset[0], j <= i + diagonal ? lower : upper);
  }
  return NULL;
}
