/* Operands and attributes of data movement as the ONNX operator specification defines them, normalized: non-negative
 * axes, whole shapes, one entry a dimension. The same code serves constants and computed values, so both follow one
 * reading of the specification. https://onnx.ai/onnx/operators. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

static bool is(const zb_import_node *n, const char *name) { return strcmp(n->kind, name) == 0; }

static bool reshape(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  int64_t wanted[ZB_DIMS_MAX], known = 1;
  int count, infer = -1;
  if (!zb_import_ints(n, 1, "the shape", wanted, ZB_DIMS_MAX, &count)) return false;
  bool allow_zero = zb_onnx_int(n, "allowzero", 0) != 0;
  out->rank = count;
  for (int i = 0; i < count; ++i) {
    if (wanted[i] == -1) {
      if (infer >= 0) return zb_import_refuse(n, NULL, "the shape has more than one -1");
      infer = i;
      continue;
    }
    if (wanted[i] == 0 && !allow_zero) {
      if (i >= in->rank)
        return zb_import_refuse(n, NULL, "the shape copies (0) a dimension that the input does not have");
      wanted[i] = in->dims[i];
    }
    if (wanted[i] < 0) return zb_import_refuse(n, NULL, "the shape has a negative dimension");
    out->dims[i] = wanted[i];
    if (__builtin_mul_overflow(known, wanted[i], &known)) return zb_import_refuse(n, NULL, "the shape is too large");
  }
  int64_t elements = zb_shape_elements(in);
  if (infer >= 0) {
    if (known == 0 || elements % known != 0) return zb_import_refuse(n, NULL, "the shape's -1 does not come out even");
    out->dims[infer] = elements / known;
    known = elements;
  }
  if (known == elements) return true;
  char text[96];
  return zb_import_refuse(n,
                          "a batch size that was a number at export time can be frozen into the shape: export with the "
                          "shapes to train with",
                          "cannot reshape %s to %" PRId64 " elements", zb_shape_text(in, text), known);
}

static bool squeeze(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  int64_t axes[ZB_DIMS_MAX];
  bool removed[ZB_DIMS_MAX] = {false};
  int count = 0;
  bool all = !zb_import_has(n, 1);
  if (!all && !zb_import_ints(n, 1, "the axes", axes, ZB_DIMS_MAX, &count)) return false;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in->rank, &axis)) return false;
    if (in->dims[axis] != 1)
      return zb_import_refuse(n, NULL, "dimension %d is %" PRId64 ", expected 1", axis, in->dims[axis]);
    removed[axis] = true;
  }
  out->rank = 0;
  for (int i = 0; i < in->rank; ++i) {
    if (!(all ? in->dims[i] == 1 : removed[i])) out->dims[out->rank++] = in->dims[i];
  }
  return true;
}

static bool unsqueeze(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  int64_t axes[ZB_DIMS_MAX];
  bool added[ZB_DIMS_MAX] = {false};
  int count;
  if (!zb_import_ints(n, 1, "the axes", axes, ZB_DIMS_MAX, &count)) return false;
  out->rank = in->rank + count;
  if (out->rank > ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "the result has more than 8 dimensions");
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], out->rank, &axis)) return false;
    if (added[axis]) return zb_import_refuse(n, NULL, "an axis is named twice");
    added[axis] = true;
  }
  for (int i = 0, k = 0; i < out->rank; ++i)
    out->dims[i] = added[i] ? 1 : in->dims[k++];
  return true;
}

static bool flatten(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  int64_t axis = zb_onnx_int(n, "axis", 1);
  if (axis < -in->rank || axis > in->rank) return zb_import_refuse(n, NULL, "axis is out of range");
  if (axis < 0) axis += in->rank;
  out->rank = 2;
  out->dims[0] = out->dims[1] = 1;
  for (int i = 0; i < in->rank; ++i)
    out->dims[i >= axis] *= in->dims[i];
  return true;
}

bool zb_onnx_reshape_arguments(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  *out = (zb_shape){.dtype = in->dtype};
  if (is(n, "Squeeze")) return squeeze(n, in, out);
  if (is(n, "Unsqueeze")) return unsqueeze(n, in, out);
  if (is(n, "Flatten")) return flatten(n, in, out);
  return reshape(n, in, out);
}

bool zb_onnx_transpose_arguments(zb_import_node *n, const zb_shape *in, int64_t *permutation) {
  int count = in->rank;
  bool seen[ZB_DIMS_MAX] = {false};
  if (!zb_onnx_ints(n, "perm", permutation, ZB_DIMS_MAX, &count)) {
    if (n->im->failed) return false;
    for (int i = 0; i < in->rank; ++i)
      permutation[i] = in->rank - 1 - i;
    return true;
  }
  for (int i = 0; i < count; ++i) {
    if (permutation[i] < 0 || permutation[i] >= in->rank || seen[permutation[i]])
      return zb_import_refuse(n, NULL, "perm is no permutation");
    seen[permutation[i]] = true;
  }
  return count == in->rank || zb_import_refuse(n, NULL, "perm has not one entry a dimension");
}

bool zb_onnx_expand_arguments(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  zb_shape wanted = {.dtype = in->dtype};
  if (!zb_import_ints(n, 1, "the shape", wanted.dims, ZB_DIMS_MAX, &wanted.rank)) return false;
  for (int i = 0; i < wanted.rank; ++i) {
    if (wanted.dims[i] < 0) return zb_import_refuse(n, NULL, "the shape has a negative dimension");
  }
  const zb_shape *both[] = {in, &wanted};
  if (zb_broadcast_all(both, 2, out)) return true;
  char a[96], b[96];
  return zb_import_refuse(n, NULL, "cannot broadcast %s to %s", zb_shape_text(in, a), zb_shape_text(&wanted, b));
}

/* One dimension of a slice: NumPy's rules, with ends clamped as the specification says. */
static int64_t slice_size(int64_t dim, int64_t *start, int64_t end, int64_t step) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  int64_t bounds[2] = {*start, end};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] < 0) bounds[i] = bounds[i] < -dim ? low : bounds[i] + dim;
    if (bounds[i] < low) bounds[i] = low;
    if (bounds[i] > high) bounds[i] = high;
  }
  *start = bounds[0];
  int64_t span = step > 0 ? bounds[1] - bounds[0] : bounds[0] - bounds[1];
  int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
  return span > 0 ? (span - 1) / stride + 1 : 0;
}

bool zb_onnx_slice_arguments(zb_import_node *n, const zb_shape *in, int64_t *starts, int64_t *steps, int64_t *sizes) {
  int64_t first[ZB_DIMS_MAX], last[ZB_DIMS_MAX], axes[ZB_DIMS_MAX], stride[ZB_DIMS_MAX];
  int count, ends, axis_count, step_count;
  if (!zb_import_ints(n, 1, "starts", first, ZB_DIMS_MAX, &count) ||
      !zb_import_ints(n, 2, "ends", last, ZB_DIMS_MAX, &ends))
    return false;
  axis_count = step_count = count;
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    axes[i] = i, stride[i] = 1;
  if (zb_import_has(n, 3) && !zb_import_ints(n, 3, "axes", axes, ZB_DIMS_MAX, &axis_count)) return false;
  if (zb_import_has(n, 4) && !zb_import_ints(n, 4, "steps", stride, ZB_DIMS_MAX, &step_count)) return false;
  if (ends != count || axis_count != count || step_count != count)
    return zb_import_refuse(n, NULL, "starts, ends, axes and steps differ in length");
  for (int i = 0; i < in->rank; ++i)
    starts[i] = 0, steps[i] = 1, sizes[i] = in->dims[i];
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in->rank, &axis)) return false;
    if (stride[i] == 0) return zb_import_refuse(n, NULL, "a step is 0");
    starts[axis] = first[i];
    steps[axis] = stride[i];
    sizes[axis] = slice_size(in->dims[axis], &starts[axis], last[i], stride[i]);
    if (sizes[axis] == 0) starts[axis] = 0;
  }
  return true;
}

bool zb_onnx_split_arguments(zb_import_node *n, const zb_shape *in, int *axis, int64_t *sizes, int *count) {
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", 0), in->rank, axis)) return false;
  int64_t dim = in->dims[*axis], sum = 0;
  bool sequence = is(n, "SplitToSequence");
  if (zb_import_has(n, 1)) {
    const zb_known *c = zb_import_known(n, 1);
    if (!zb_import_ints(n, 1, "the sizes", sizes, ZB_SPLIT_MAX, count)) return false;
    if (sequence && c && c->shape.rank == 0) { /* one size for all parts; the last may be smaller */
      int64_t size = sizes[0];
      if (size < 1 || (dim - 1) / size + 1 > ZB_SPLIT_MAX)
        return zb_import_refuse(n, NULL, "the split size is out of range");
      *count = (int)((dim - 1) / size + 1);
      for (int i = 0; i < *count; ++i)
        sizes[i] = i + 1 < *count ? size : dim - size * i;
    }
  } else {
    int64_t parts = sequence ? dim : zb_onnx_int(n, "num_outputs", n->output_count);
    if (parts < 1 || parts > ZB_SPLIT_MAX) return zb_import_refuse(n, NULL, "the number of parts is out of range");
    *count = (int)parts;
    int64_t size = (dim + parts - 1) / parts;
    for (int i = 0; i < *count; ++i) {
      int64_t left = dim - size * i;
      sizes[i] = left < size ? left : size;
    }
  }
  for (int i = 0; i < *count; ++i) {
    if (sizes[i] < 0 || sizes[i] > dim) return zb_import_refuse(n, NULL, "a size is out of range");
    sum += sizes[i];
  }
  if (sum == dim && (sequence || *count == n->output_count)) return true;
  return zb_import_refuse(n, NULL, "%d sizes that sum to %" PRId64 ", expected %d that sum to %" PRId64, *count, sum,
                          n->output_count, dim);
}

bool zb_onnx_axes_arguments(zb_import_node *n, int rank, bool *reduced, bool *keepdims, bool *identity) {
  int64_t axes[ZB_DIMS_MAX];
  int count = 0;
  *keepdims = zb_onnx_int(n, "keepdims", 1) != 0;
  bool noop = zb_onnx_int(n, "noop_with_empty_axes", 0) != 0;
  if (zb_import_has(n, 1)) {
    if (!zb_import_ints(n, 1, "the axes", axes, ZB_DIMS_MAX, &count)) return false;
  } else if (!zb_onnx_ints(n, "axes", axes, ZB_DIMS_MAX, &count) && n->im->failed) {
    return false;
  }
  *identity = count == 0 && noop;
  for (int i = 0; i < rank; ++i)
    reduced[i] = count == 0 && !noop;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], rank, &axis)) return false;
    reduced[axis] = true;
  }
  return true;
}

bool zb_onnx_tile_arguments(zb_import_node *n, const zb_shape *in, int64_t *repeats) {
  int count;
  if (!zb_import_ints(n, 1, "the repeats", repeats, ZB_DIMS_MAX, &count)) return false;
  if (count != in->rank) return zb_import_refuse(n, NULL, "the repeats have not one entry a dimension");
  for (int i = 0; i < count; ++i) {
    if (repeats[i] < 0) return zb_import_refuse(n, NULL, "a repeat is negative");
  }
  return true;
}

bool zb_onnx_pad_arguments(zb_import_node *n, const zb_shape *in, int64_t *before, int64_t *after) {
  int64_t pads[2 * ZB_DIMS_MAX], axes[ZB_DIMS_MAX];
  int count, axis_count = in->rank;
  if (!zb_onnx_string_is(n, "mode", "constant", "constant"))
    return zb_import_refuse(n, "only mode 'constant' is supported", "the mode is not supported");
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    axes[i] = i, before[i] = after[i] = 0;
  if (!zb_import_ints(n, 1, "the pads", pads, 2 * ZB_DIMS_MAX, &count)) return false;
  if (zb_import_has(n, 3) && !zb_import_ints(n, 3, "the axes", axes, ZB_DIMS_MAX, &axis_count)) return false;
  if (count != 2 * axis_count) return zb_import_refuse(n, NULL, "the pads have not two entries a dimension");
  for (int i = 0; i < axis_count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in->rank, &axis)) return false;
    before[axis] = pads[i];
    after[axis] = pads[i + axis_count];
    if (pads[i] < 0 || pads[i + axis_count] < 0)
      return zb_import_refuse(n, "cut with Slice instead", "a pad is negative");
  }
  return true;
}

bool zb_onnx_cast_arguments(zb_import_node *n, zb_dtype *out) {
  if (is(n, "CastLike")) {
    zb_shape like;
    if (!zb_import_shape(n, 1, &like)) return false;
    *out = like.dtype;
    return true;
  }
  int64_t to = zb_onnx_int(n, "to", 0);
  if (to > 0 && to < INT32_MAX && zb_onnx_dtype(to, out)) return true;
  zb_import_refuse(n,
                   "f32, bf16, f16, f64 (constants only), i64, i32 and bool are supported; export the model in "
                   "float32 (model.float())",
                   "cast to %s (%" PRId64 ") is not supported", zb_onnx_dtype_text(to), to);
  return false;
}
