/* Data movement: folded, or zb ops. Operands and attributes are read as the ONNX operator specification defines them,
 * and normalized: non-negative axes, whole shapes, one entry a dimension. The same code serves constants and computed
 * values, so both follow one reading of the specification. https://onnx.ai/onnx/operators.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/operand.h"

#include <inttypes.h>
#include <string.h>

enum { SPLIT_MAX = 256 };

/* ---- Operands and attributes, normalized: false after reporting ---- */

static bool is(const zb_import_node *n, const char *name) { return strcmp(n->kind, name) == 0; }

static bool reshape(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  int64_t wanted[ZB_DIMS_MAX], known = 1;
  int count, infer = -1;
  if (!zb_onnx_ints_of(n, 1, "shape", "the shape", wanted, ZB_DIMS_MAX, &count)) return false;
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
  bool all = !zb_import_has(n, 1) && !zb_onnx_attribute(n, "axes");
  if (!all && !zb_onnx_ints_of(n, 1, "axes", "the axes", axes, ZB_DIMS_MAX, &count)) return false;
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
  if (!zb_onnx_ints_of(n, 1, "axes", "the axes", axes, ZB_DIMS_MAX, &count)) return false;
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

static bool reshape_arguments(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  *out = (zb_shape){.dtype = in->dtype};
  if (is(n, "Squeeze")) return squeeze(n, in, out);
  if (is(n, "Unsqueeze")) return unsqueeze(n, in, out);
  if (is(n, "Flatten")) return flatten(n, in, out);
  return reshape(n, in, out);
}

static bool transpose_arguments(zb_import_node *n, const zb_shape *in, int64_t *permutation) {
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

static bool expand_arguments(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  zb_shape wanted = {.dtype = in->dtype};
  if (!zb_import_dims(n, 1, &wanted)) return false;
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

static bool slice_arguments(zb_import_node *n, const zb_shape *in, int64_t *starts, int64_t *steps, int64_t *sizes) {
  int64_t first[ZB_DIMS_MAX], last[ZB_DIMS_MAX], axes[ZB_DIMS_MAX], stride[ZB_DIMS_MAX];
  int count, ends;
  if (!zb_onnx_ints_of(n, 1, "starts", "starts", first, ZB_DIMS_MAX, &count)) return false;
  if (!zb_onnx_ints_of(n, 2, "ends", "ends", last, ZB_DIMS_MAX, &ends)) return false;
  int axis_count = count, step_count = count;
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    axes[i] = i, stride[i] = 1;
  if ((zb_import_has(n, 3) || zb_onnx_attribute(n, "axes")) &&
      !zb_onnx_ints_of(n, 3, "axes", "axes", axes, ZB_DIMS_MAX, &axis_count))
    return false;
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

static bool split_arguments(zb_import_node *n, const zb_shape *in, int *axis, int64_t *sizes, int *count) {
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", 0), in->rank, axis)) return false;
  int64_t dim = in->dims[*axis], sum = 0;
  bool sequence = is(n, "SplitToSequence");
  if (zb_import_has(n, 1) || zb_onnx_attribute(n, "split")) {
    const zb_known *c = zb_import_known(n, 1);
    if (!zb_onnx_ints_of(n, 1, "split", "the sizes", sizes, SPLIT_MAX, count)) return false;
    if (sequence && c && c->shape.rank == 0) { /* one size for all parts; the last may be smaller */
      int64_t size = sizes[0];
      if (size < 1 || (dim - 1) / size + 1 > SPLIT_MAX)
        return zb_import_refuse(n, NULL, "the split size is out of range");
      *count = (int)((dim - 1) / size + 1);
      for (int i = 0; i < *count; ++i)
        sizes[i] = i + 1 < *count ? size : dim - size * i;
    }
  } else {
    int64_t parts = sequence ? dim : zb_onnx_int(n, "num_outputs", n->output_count);
    if (parts < 1 || parts > SPLIT_MAX) return zb_import_refuse(n, NULL, "the number of parts is out of range");
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

/* Of opset 1: how often, and along which dimension. */
static bool tile_old(zb_import_node *n, const zb_shape *in, int64_t *repeats) {
  int64_t tiles, wanted;
  int count, axis;
  if (!zb_import_ints(n, 1, "the tiles", &tiles, 1, &count) || !zb_import_ints(n, 2, "the axis", &wanted, 1, &count) ||
      !zb_import_axis(n, wanted, in->rank, &axis))
    return false;
  for (int i = 0; i < in->rank; ++i)
    repeats[i] = i == axis ? tiles : 1;
  return tiles >= 0 || zb_import_refuse(n, NULL, "a repeat is negative");
}

static bool tile_arguments(zb_import_node *n, const zb_shape *in, int64_t *repeats) {
  int count;
  if (zb_onnx_of(n->im)->opset < 6) return tile_old(n, in, repeats);
  if (!zb_import_ints(n, 1, "the repeats", repeats, ZB_DIMS_MAX, &count)) return false;
  if (count != in->rank) return zb_import_refuse(n, NULL, "the repeats have not one entry a dimension");
  for (int i = 0; i < count; ++i) {
    if (repeats[i] < 0) return zb_import_refuse(n, NULL, "a repeat is negative");
  }
  return true;
}

static bool pad_arguments(zb_import_node *n, const zb_shape *in, int64_t *before, int64_t *after) {
  int64_t pads[2 * ZB_DIMS_MAX], axes[ZB_DIMS_MAX];
  int count, axis_count = in->rank;
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    axes[i] = i, before[i] = after[i] = 0;
  const char *name = zb_onnx_of(n->im)->opset < 2 ? "paddings" : "pads";
  if (!zb_onnx_ints_of(n, 1, name, "the pads", pads, 2 * ZB_DIMS_MAX, &count)) return false;
  if (zb_import_has(n, 3) && !zb_import_ints(n, 3, "the axes", axes, ZB_DIMS_MAX, &axis_count)) return false;
  if (count != 2 * axis_count) return zb_import_refuse(n, NULL, "the pads have not two entries a dimension");
  for (int i = 0; i < axis_count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in->rank, &axis)) return false;
    before[axis] = pads[i];
    after[axis] = pads[i + axis_count];
  }
  return true;
}

/* Negative pads cut input 0 before the others add to it. */
static bool crop(zb_import_node *n, zb_shape *shape, int64_t *before, int64_t *after) {
  for (int i = 0; i < shape->rank && n->inputs[0]; ++i) {
    if (before[i] >= 0 && after[i] >= 0) continue;
    n->inputs[0] = zb_operand_pad(n, n->inputs[0], i, before[i] < 0 ? before[i] : 0, after[i] < 0 ? after[i] : 0, NULL);
    if (before[i] < 0) before[i] = 0;
    if (after[i] < 0) after[i] = 0;
  }
  return n->inputs[0] && zb_import_shape(n, 0, shape);
}

/* ---- Operators ---- */

zb_result zb_onnx_reshape(zb_import_node *n) {
  zb_shape in, out;
  if (!zb_import_shape(n, 0, &in) || !reshape_arguments(n, &in, &out)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_in(n, 0), &out));
}

zb_result zb_onnx_transpose(zb_import_node *n) {
  zb_shape in;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !transpose_arguments(n, &in, permutation)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_in(n, 0), permutation));
}

zb_result zb_onnx_expand(zb_import_node *n) {
  zb_shape in, out;
  if (!zb_import_shape(n, 0, &in) || !expand_arguments(n, &in, &out)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_expand(n, zb_operand_in(n, 0), &out));
}

/* Constant places along one dimension. */
static MlirValue gather_along(zb_import_node *n, MlirValue x, int axis, int64_t count, const int64_t *places) {
  const zb_known *known = zb_known_ints(n->im, places, count);
  MlirValue in[2] = {x, known ? zb_import_literal_ir(n->im, known, "places") : (MlirValue){NULL}};
  const zb_attr attr = zb_int("axis", axis);
  return in[1].ptr && !n->b->failed ? zb_build(n->b, "gather", in, 2, &attr, 1) : (MlirValue){NULL};
}

/* Dimensions that are read backwards, by their places. */
static MlirValue reversed(zb_import_node *n, MlirValue x, const zb_shape *in, int64_t *starts, int64_t *steps,
                          int64_t *sizes) {
  for (int i = 0; i < in->rank && x.ptr; ++i) {
    if (steps[i] > 0) continue;
    int64_t *places = zb_import_take(n->im, (size_t)sizes[i] * sizeof *places);
    for (int64_t k = 0; places && k < sizes[i]; ++k)
      places[k] = starts[i] + k * steps[i];
    x = places ? gather_along(n, x, i, sizes[i], places) : (MlirValue){NULL};
    starts[i] = 0;
    steps[i] = 1;
  }
  return x;
}

zb_result zb_onnx_slice(zb_import_node *n) {
  zb_shape in;
  int64_t starts[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX];
  bool whole = true;
  if (!zb_import_shape(n, 0, &in) || !slice_arguments(n, &in, starts, steps, sizes)) return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, zb_import_fold_slice(n, zb_import_known(n, 0), starts, steps, sizes));
  for (int i = 0; i < in.rank; ++i) {
    if (sizes[i] == 0) return zb_import_refuse(n, NULL, "the slice is empty in dimension %d", i);
    if (sizes[i] == 1) steps[i] = 1;
  }
  MlirValue x = reversed(n, zb_import_ir(n, 0), &in, starts, steps, sizes);
  zb_shape now;
  if (!x.ptr || !zb_import_ir_shape(n, x, &now)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i)
    whole = whole && sizes[i] == now.dims[i];
  if (!whole)
    x = ZB_BUILD(n->b, "slice", x, zb_ints("starts", starts, in.rank), zb_ints("sizes", sizes, in.rank),
                 zb_ints("steps", steps, in.rank));
  return zb_import_give(n, 0, x);
}

zb_result zb_onnx_concat(zb_import_node *n) {
  enum { FOLDED_MAX = 1024 };
  int count = n->input_count, axis, used = 0;
  zb_shape shape, part;
  if (n->folds && count > FOLDED_MAX)
    return zb_import_refuse(n, NULL, "%d inputs, expected 1 to %d", count, FOLDED_MAX);
  if (!zb_onnx_attribute(n, "axis") && zb_onnx_of(n->im)->opset >= 4)
    return zb_import_refuse(n, NULL, "attribute 'axis' is missing");
  if (!zb_onnx_shape_axis(n, 1, &shape, &axis)) return ZB_FAIL;
  zb_operand *parts = zb_import_take(n->im, (size_t)count * sizeof *parts);
  for (int i = 0; parts && i < count; ++i) {
    if (!n->folds && !zb_import_shape(n, i, &part)) return ZB_FAIL;
    if (!n->folds && part.rank == shape.rank && part.dims[axis] == 0) continue; /* joins nothing */
    parts[used++] = zb_operand_in(n, i);
  }
  if (used == 0) return zb_import_refuse(n, NULL, "all inputs are empty");
  return zb_operand_give(n, 0, zb_operand_concat(n, parts, used, axis));
}

/* The parts of a computed value; one is the value itself. */
static void split(zb_import_node *n, int axis, const int64_t *sizes, int count, MlirValue *parts) {
  parts[0] = zb_import_ir(n, 0);
  if (count > 1) zb_build_split(n->b, parts[0], axis, sizes, count, parts);
}

zb_result zb_onnx_split(zb_import_node *n) {
  zb_shape in;
  int64_t sizes[SPLIT_MAX], starts[ZB_DIMS_MAX] = {0}, steps[ZB_DIMS_MAX];
  MlirValue parts[SPLIT_MAX];
  int axis, count;
  if (!zb_import_shape(n, 0, &in) || !split_arguments(n, &in, &axis, sizes, &count)) return ZB_FAIL;
  if (!n->folds) split(n, axis, sizes, count, parts);
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    steps[i] = 1;
  for (int i = 0; i < count; starts[axis] += sizes[i++]) {
    in.dims[axis] = sizes[i];
    if (!(n->folds ? zb_import_give_known(n, i, zb_import_fold_slice(n, zb_import_known(n, 0), starts, steps, in.dims))
                   : zb_import_give(n, i, parts[i])))
      return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_onnx_split_to_sequence(zb_import_node *n) {
  zb_shape in;
  int64_t sizes[SPLIT_MAX];
  MlirValue parts[SPLIT_MAX];
  int axis, count;
  if (!zb_import_shape(n, 0, &in) || !split_arguments(n, &in, &axis, sizes, &count)) return ZB_FAIL;
  bool keepdims = zb_import_has(n, 1) || zb_onnx_int(n, "keepdims", 1) != 0;
  split(n, axis, sizes, count, parts);
  zb_import_value **items = zb_import_take(n->im, (size_t)count * sizeof *items);
  for (int i = 0; items && i < count; ++i) {
    int64_t dims[ZB_DIMS_MAX];
    int rank = 0;
    for (int d = 0; d < in.rank; ++d) {
      if (keepdims || d != axis) dims[rank++] = d == axis ? sizes[i] : in.dims[d];
    }
    items[i] = zb_import_value_new(n->im, "", ZB_VALUE_NODE);
    MlirValue part = parts[i].ptr ? zb_build_reshape(n->b, parts[i], dims, rank) : parts[i];
    if (!part.ptr) n->im->failed = true;
    if (!items[i] || !part.ptr) return ZB_FAIL;
    items[i]->value = part;
  }
  return zb_import_give_items(n, 0, items, count);
}

zb_result zb_onnx_concat_from_sequence(zb_import_node *n) {
  zb_import_value *sequence = zb_import_has(n, 0) ? n->inputs[0] : NULL;
  zb_shape shape;
  int axis = 0;
  if (!sequence || sequence->kind != ZB_VALUE_SEQUENCE || sequence->item_count < 1)
    return zb_import_refuse(n, NULL, "input 0 is no sequence, or an empty one");
  bool stack = zb_onnx_int(n, "new_axis", 0) != 0;
  MlirValue *parts = zb_import_take(n->im, (size_t)sequence->item_count * sizeof *parts);
  for (int i = 0; parts && i < sequence->item_count; ++i) {
    parts[i] = zb_import_value_ir(n->im, sequence->items[i]);
    if (!zb_import_ir_shape(n, parts[i], &shape) ||
        !zb_import_axis(n, zb_onnx_int(n, "axis", 0), shape.rank + stack, &axis))
      return ZB_FAIL;
    if (!stack) continue;
    if (shape.rank == ZB_DIMS_MAX)
      return zb_import_refuse(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX);
    memmove(&shape.dims[axis + 1], &shape.dims[axis], (size_t)(shape.rank - axis) * sizeof *shape.dims);
    shape.dims[axis] = 1;
    parts[i] = zb_build_reshape(n->b, parts[i], shape.dims, shape.rank + 1);
  }
  if (!parts || n->b->failed) return ZB_FAIL;
  return zb_import_give(n, 0, zb_build_concat(n->b, parts, sequence->item_count, axis));
}

/* Gather and GatherElements. */
zb_result zb_onnx_gather(zb_import_node *n) {
  zb_shape data;
  int axis;
  if (!zb_onnx_shape_axis(n, 0, &data, &axis)) return ZB_FAIL;
  const bool elements = strcmp(n->op->argument, "gather_elements") == 0;
  return zb_operand_give(
      n, 0,
      (elements ? zb_operand_gather_elements : zb_operand_gather)(n, zb_operand_in(n, 0), zb_operand_in(n, 1), axis));
}

/* A repeat is an expand along a new dimension before the repeated one. */
zb_result zb_onnx_tile(zb_import_node *n) {
  zb_shape in, split, wide;
  int64_t repeats[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &in) || !tile_arguments(n, &in, repeats)) return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, zb_import_fold_tile(n, zb_import_known(n, 0), repeats));
  split = (zb_shape){.dtype = in.dtype};
  wide = split;
  zb_shape out = in;
  for (int i = 0; i < in.rank; ++i) {
    if (repeats[i] == 0) return zb_import_refuse(n, NULL, "the result is empty");
    if (split.rank + 2 > ZB_DIMS_MAX)
      return zb_import_refuse(n, "use Expand", "the repeats need more than %d dimensions", ZB_DIMS_MAX);
    if (repeats[i] > 1) {
      split.dims[split.rank++] = 1;
      wide.dims[wide.rank++] = repeats[i];
    }
    split.dims[split.rank++] = wide.dims[wide.rank++] = in.dims[i];
    if (__builtin_mul_overflow(out.dims[i], repeats[i], &out.dims[i]))
      return zb_import_refuse(n, NULL, "the result is too large");
  }
  MlirValue x = zb_import_reshaped(n->b, zb_import_ir(n, 0), split.dims, split.rank);
  x = zb_import_expanded(n->b, x, &wide);
  return zb_import_give(n, 0, x.ptr ? zb_build_reshape(n->b, x, out.dims, out.rank) : x);
}

/* ---- Pad ---- */

/* The place within 0 .. dim - 1 of one beside it. */
static int64_t mirrored(int64_t place, int64_t dim, const char *mode) {
  const int64_t period = strcmp(mode, "reflect") == 0 ? 2 * (dim - 1) : dim;
  if (strcmp(mode, "edge") == 0) return place < 0 ? 0 : place < dim ? place : dim - 1;
  if (period < 1) return 0;
  place = ((place % period) + period) % period;
  return place < dim ? place : period - place;
}

/* edge, reflect, wrap: a gather along each dimension. */
static zb_result pad_by_places(zb_import_node *n, const zb_shape *shape, const char *mode, const int64_t *before,
                               const int64_t *after) {
  MlirValue x = zb_import_ir(n, 0);
  for (int i = 0; i < shape->rank && x.ptr; ++i) {
    const int64_t dim = shape->dims[i];
    int64_t count;
    if (before[i] == 0 && after[i] == 0) continue;
    if (__builtin_add_overflow(dim, before[i], &count) || __builtin_add_overflow(count, after[i], &count) ||
        count > INT64_C(1) << 40)
      return zb_import_refuse(n, NULL, "the result is too large");
    int64_t *places = zb_import_take(n->im, (size_t)count * sizeof *places);
    if (!places) return ZB_FAIL;
    for (int64_t k = 0; k < count; ++k)
      places[k] = mirrored(k - before[i], dim, mode);
    x = gather_along(n, x, i, count, places);
  }
  return zb_import_give(n, 0, x);
}

/* Constant padding: joins with splats, one dimension after the other. */
zb_result zb_onnx_pad(zb_import_node *n) {
  zb_shape shape;
  char mode[16];
  int64_t before[ZB_DIMS_MAX], after[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &shape) || !pad_arguments(n, &shape, before, after) || !crop(n, &shape, before, after))
    return ZB_FAIL;
  zb_onnx_string(n, "mode", "constant", mode, sizeof mode);
  if (strcmp(mode, "edge") == 0 || strcmp(mode, "reflect") == 0 || strcmp(mode, "wrap") == 0)
    return pad_by_places(n, &shape, mode, before, after);
  if (strcmp(mode, "constant") != 0)
    return zb_import_refuse(n, "constant, edge, reflect and wrap are supported", "mode '%s' is not supported", mode);
  const double set = zb_onnx_float(n, "value", 0);
  const zb_known *fill = zb_import_known(n, 2);
  if (n->folds && set == 0)
    return zb_import_give_known(n, 0, zb_import_fold_pad(n, zb_import_known(n, 0), fill, before, after));
  if (zb_import_has(n, 2) && (!fill || fill->elements != 1))
    return zb_import_refuse(n, NULL, "the fill is no constant scalar");
  double value = fill ? zb_known_real(fill, 0) : set;
  MlirValue x = zb_import_ir(n, 0);
  for (int i = 0; i < shape.rank && x.ptr; ++i) {
    MlirValue parts[3];
    int count = 0;
    int64_t dim = shape.dims[i];
    if (before[i]) shape.dims[i] = before[i], parts[count++] = zb_build_splat(n->b, &shape, value);
    parts[count++] = x;
    if (after[i]) shape.dims[i] = after[i], parts[count++] = zb_build_splat(n->b, &shape, value);
    if (count > 1 && !n->b->failed) x = zb_build_concat(n->b, parts, count, i);
    if (__builtin_add_overflow(dim, before[i], &dim) || __builtin_add_overflow(dim, after[i], &shape.dims[i]))
      return zb_import_refuse(n, NULL, "the result is too large");
  }
  return n->b->failed ? ZB_FAIL : zb_import_give(n, 0, x);
}

/* where(triangle, x, 0). */
zb_result zb_onnx_trilu(zb_import_node *n) {
  zb_shape shape, mask;
  int64_t k = 0;
  int count = 1;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  if (zb_import_has(n, 1) && !zb_import_ints(n, 1, "k", &k, 1, &count)) return ZB_FAIL;
  if (n->folds && shape.rank < 2)
    return zb_import_refuse(n, NULL, "the input has %d dimensions, expected 2 or more", shape.rank);
  if (shape.rank < 2 || count != 1)
    return zb_import_refuse(n, NULL, "expected an input of 2 dimensions or more and one k");
  bool upper = zb_onnx_int(n, "upper", 1) != 0;
  if (n->folds) return zb_import_give_known(n, 0, zb_import_fold_triangle(n, zb_import_known(n, 0), upper, k));
  mask = (zb_shape){.dtype = ZB_I1, .rank = 2, .dims = {shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]}};
  zb_attr attrs[] = {zb_ints("shape", mask.dims, 2), zb_int("diagonal", upper ? k - 1 : k), zb_float("lower", !upper),
                     zb_float("upper", upper), zb_string("dtype", "i1")};
  MlirValue in[3] = {zb_build(n->b, "triangle", NULL, 0, attrs, 5), zb_import_ir(n, 0),
                     zb_build_scalar(n->b, shape.dtype, 0)};
  return zb_import_give(n, 0, zb_build(n->b, "where", in, 3, NULL, 0));
}

/* ---- Blocks of pixels ---- */

/* Reshape, transpose, reshape. */
static zb_result rearrange(zb_import_node *n, const int64_t split[6], const int64_t permutation[6],
                           const int64_t out[4]) {
  MlirValue x = zb_import_transposed(n->b, zb_import_reshaped(n->b, zb_import_ir(n, 0), split, 6), permutation);
  return zb_import_give(n, 0, zb_import_reshaped(n->b, x, out, 4));
}

static bool block_arguments(zb_import_node *n, zb_shape *x, int64_t *block) {
  *block = zb_onnx_int(n, "blocksize", 0);
  if (!zb_import_shape(n, 0, x)) return false;
  if (x->rank != 4) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, H, W]", x->rank);
  if (*block < 1 || *block > 1 << 20) return zb_import_refuse(n, NULL, "the blocksize is out of range");
  return true;
}

zb_result zb_onnx_depth_to_space(zb_import_node *n) {
  static const int64_t by_column[6] = {0, 3, 4, 1, 5, 2}, by_row[6] = {0, 1, 4, 2, 5, 3};
  zb_shape x;
  int64_t block;
  if (!block_arguments(n, &x, &block)) return ZB_FAIL;
  const bool crd = zb_onnx_string_is(n, "mode", "DCR", "CRD");
  if (!crd && !zb_onnx_string_is(n, "mode", "DCR", "DCR"))
    return zb_import_refuse(n, "DCR or CRD", "the mode is not understood");
  const int64_t channels = x.dims[1] / (block * block);
  if (channels < 1 || channels * block * block != x.dims[1])
    return zb_import_refuse(n, NULL, "%" PRId64 " channels are no whole number of blocks", x.dims[1]);
  const int64_t depth_first[6] = {x.dims[0], block, block, channels, x.dims[2], x.dims[3]};
  const int64_t channels_first[6] = {x.dims[0], channels, block, block, x.dims[2], x.dims[3]};
  const int64_t out[4] = {x.dims[0], channels, x.dims[2] * block, x.dims[3] * block};
  return rearrange(n, crd ? channels_first : depth_first, crd ? by_row : by_column, out);
}

zb_result zb_onnx_space_to_depth(zb_import_node *n) {
  static const int64_t permutation[6] = {0, 3, 5, 1, 2, 4};
  zb_shape x;
  int64_t block;
  if (!block_arguments(n, &x, &block)) return ZB_FAIL;
  if (x.dims[2] % block || x.dims[3] % block)
    return zb_import_refuse(n, NULL, "%" PRId64 " x %" PRId64 " are no whole number of blocks", x.dims[2], x.dims[3]);
  const int64_t rows = x.dims[2] / block, columns = x.dims[3] / block;
  const int64_t split[6] = {x.dims[0], x.dims[1], rows, block, columns, block};
  return rearrange(n, split, permutation, (int64_t[]){x.dims[0], x.dims[1] * block * block, rows, columns});
}
