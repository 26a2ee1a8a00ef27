/* Data movement: folded, or zb ops. Operands and attributes are read as the ONNX operator specification defines them,
 * and normalized: non-negative axes, whole shapes, one entry a dimension. The same code serves constants and computed
 * values, so both follow one reading of the specification. https://onnx.ai/onnx/operators.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

static bool is(const zb_import_node *n, const char *name) { return strcmp(n->kind, name) == 0; }

/* ---- Views ---- */

zb_result zb_onnx_reshape(zb_import_node *n) {
  int64_t dims[ZB_DIMS_MAX];
  int count;
  if (!zb_onnx_ints_of(n, 1, "shape", "the shape", dims, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  const bool copies = zb_onnx_int(n, "allowzero", 0) == 0;
  return zb_operand_give(n, 0, zb_meaning_reshape(n, zb_operand_in(n, 0), dims, count, copies));
}

zb_result zb_onnx_squeeze(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count = -1;
  if ((zb_import_has(n, 1) || zb_onnx_attribute(n, "axes")) &&
      !zb_onnx_ints_of(n, 1, "axes", "the axes", axes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_squeeze(n, zb_operand_in(n, 0), axes, count, true));
}

zb_result zb_onnx_unsqueeze(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_onnx_ints_of(n, 1, "axes", "the axes", axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_meaning_unsqueeze(n, zb_operand_in(n, 0), axes, count));
}

zb_result zb_onnx_flatten(zb_import_node *n) {
  zb_shape in;
  const int64_t axis = zb_onnx_int(n, "axis", 1);
  if (!zb_import_shape(n, 0, &in)) return ZB_FAIL;
  if (axis < -in.rank || axis > in.rank) return zb_import_refuse(n, NULL, "axis is out of range");
  const zb_shape out = zb_meaning_as_matrix(&in, axis < 0 ? axis + in.rank : axis);
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_in(n, 0), &out));
}

zb_result zb_onnx_transpose(zb_import_node *n) {
  zb_shape in;
  int64_t axes[ZB_DIMS_MAX];
  int count = 0;
  if (!zb_import_shape(n, 0, &in)) return ZB_FAIL;
  if (!zb_onnx_ints(n, "perm", axes, ZB_DIMS_MAX, &count))
    for (count = 0; count < in.rank; ++count)
      axes[count] = in.rank - 1 - count;
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_meaning_permute(n, zb_operand_in(n, 0), axes, count));
}

static bool expand_arguments(zb_import_node *n, const zb_shape *in, zb_shape *out) {
  zb_shape wanted = {.dtype = in->dtype};
  if (!zb_import_dims(n, 1, &wanted)) return false;
  const zb_shape *both[] = {in, &wanted};
  if (zb_broadcast_all(both, 2, out)) return true;
  char a[96], b[96];
  return zb_import_refuse(n, NULL, "cannot broadcast %s to %s", zb_shape_text(in, a), zb_shape_text(&wanted, b));
}

zb_result zb_onnx_expand(zb_import_node *n) {
  zb_shape in, out;
  if (!zb_import_shape(n, 0, &in) || !expand_arguments(n, &in, &out)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_expand(n, zb_operand_in(n, 0), &out));
}

/* ---- Parts ---- */

zb_result zb_onnx_slice(zb_import_node *n) {
  int64_t starts[ZB_DIMS_MAX], ends[ZB_DIMS_MAX], axes[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
  int count, end_count;
  zb_shape out;
  if (!zb_onnx_ints_of(n, 1, "starts", "starts", starts, ZB_DIMS_MAX, &count) ||
      !zb_onnx_ints_of(n, 2, "ends", "ends", ends, ZB_DIMS_MAX, &end_count))
    return ZB_FAIL;
  int axis_count = count, step_count = count;
  const bool has_axes = zb_import_has(n, 3) || zb_onnx_attribute(n, "axes"), has_steps = zb_import_has(n, 4);
  if (has_axes && !zb_onnx_ints_of(n, 3, "axes", "axes", axes, ZB_DIMS_MAX, &axis_count)) return ZB_FAIL;
  if (has_steps && !zb_import_ints(n, 4, "steps", steps, ZB_DIMS_MAX, &step_count)) return ZB_FAIL;
  if (end_count != count || axis_count != count || step_count != count)
    return zb_import_refuse(n, NULL, "starts, ends, axes and steps differ in length");
  zb_operand x =
      zb_meaning_slice(n, zb_operand_in(n, 0), has_axes ? axes : NULL, starts, ends, has_steps ? steps : NULL, count);
  if (!zb_operand_shape(n, x, &out)) return ZB_FAIL;
  for (int i = 0; i < out.rank && !n->folds; ++i)
    if (out.dims[i] == 0) return zb_import_refuse(n, NULL, "the slice is empty in dimension %d", i);
  return zb_operand_give(n, 0, x);
}

/* Sizes by operand or attribute; else so many parts (of a sequence: one for each element), of which the last may be
 * smaller. */
static bool split_arguments(zb_import_node *n, const zb_shape *in, int *axis, int64_t *sizes, int *count) {
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", 0), in->rank, axis)) return false;
  const int64_t dim = in->dims[*axis];
  const bool sequence = is(n, "SplitToSequence");
  if (zb_import_has(n, 1) || zb_onnx_attribute(n, "split")) {
    const zb_known *c = zb_import_known(n, 1);
    if (!zb_onnx_ints_of(n, 1, "split", "the sizes", sizes, ZB_MEANING_PARTS, count)) return false;
    return !sequence || !c || c->shape.rank != 0 || zb_meaning_parts(n, dim, sizes[0], sizes, count);
  }
  const int64_t parts = sequence ? dim : zb_onnx_int(n, "num_outputs", n->output_count);
  if (parts < 1) return zb_import_refuse(n, NULL, "the number of parts is out of range");
  return zb_meaning_parts(n, dim, (dim + parts - 1) / parts, sizes, count);
}

/* The parts of input 0. */
static bool read_parts(zb_import_node *n, int *axis, int *count, zb_operand *parts) {
  zb_shape in;
  int64_t sizes[ZB_MEANING_PARTS];
  return zb_import_shape(n, 0, &in) && split_arguments(n, &in, axis, sizes, count) &&
         zb_meaning_split(n, zb_operand_in(n, 0), *axis, sizes, *count, parts);
}

zb_result zb_onnx_split(zb_import_node *n) {
  zb_operand parts[ZB_MEANING_PARTS];
  int axis, count;
  if (!read_parts(n, &axis, &count, parts)) return ZB_FAIL;
  if (count != n->output_count) return zb_import_refuse(n, NULL, "%d parts of %d outputs", count, n->output_count);
  for (int i = 0; i < count; ++i)
    if (!zb_operand_give(n, i, parts[i])) return ZB_FAIL;
  return ZB_OK;
}

zb_result zb_onnx_split_to_sequence(zb_import_node *n) {
  zb_operand parts[ZB_MEANING_PARTS];
  int axis, count;
  if (!read_parts(n, &axis, &count, parts)) return ZB_FAIL;
  const int64_t along = axis;
  const bool keepdims = zb_import_has(n, 1) || zb_onnx_int(n, "keepdims", 1) != 0;
  zb_import_value **items = zb_import_take(n->im, (size_t)count * sizeof *items);
  for (int i = 0; items && i < count; ++i)
    if (!(items[i] = keepdims ? parts[i] : zb_meaning_squeeze(n, parts[i], &along, 1, true))) return ZB_FAIL;
  return zb_import_give_items(n, 0, items, count);
}

/* ---- Joining ---- */

zb_result zb_onnx_concat(zb_import_node *n) {
  enum { FOLDED_MAX = 1024 };
  const int count = n->input_count;
  int axis;
  zb_shape shape;
  if (n->folds && count > FOLDED_MAX)
    return zb_import_refuse(n, NULL, "%d inputs, expected 1 to %d", count, FOLDED_MAX);
  if (!zb_onnx_attribute(n, "axis") && zb_onnx_of(n->im)->opset >= 4)
    return zb_import_refuse(n, NULL, "attribute 'axis' is missing");
  if (!zb_onnx_shape_axis(n, 1, &shape, &axis)) return ZB_FAIL;
  zb_operand *parts = zb_import_take(n->im, (size_t)count * sizeof *parts);
  for (int i = 0; parts && i < count; ++i)
    parts[i] = zb_operand_in(n, i);
  return parts ? zb_operand_give(n, 0, zb_operand_concat(n, parts, count, axis)) : ZB_FAIL;
}

zb_result zb_onnx_concat_from_sequence(zb_import_node *n) {
  const zb_import_value *sequence = zb_import_sequence(n, 0);
  zb_shape shape;
  int axis;
  const int64_t given = zb_onnx_int(n, "axis", 0);
  if (!sequence) return ZB_FAIL;
  const int count = sequence->item_count;
  if (count < 1) return zb_import_refuse(n, NULL, "input 0 is an empty sequence");
  if (zb_onnx_int(n, "new_axis", 0) != 0)
    return zb_operand_give(n, 0, zb_meaning_stack(n, sequence->items, count, given));
  if (!zb_operand_shape(n, sequence->items[0], &shape) || !zb_import_axis(n, given, shape.rank, &axis)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_concat(n, sequence->items, count, axis));
}

/* Gather and GatherElements. */
zb_result zb_onnx_gather(zb_import_node *n) {
  zb_shape data;
  int axis;
  if (!zb_onnx_shape_axis(n, 0, &data, &axis)) return ZB_FAIL;
  const bool elements = strcmp(n->op->argument, "gather_elements") == 0;
  return zb_operand_give(n, 0,
                         (elements ? zb_operand_gather_elements : zb_operand_gather)(
                             n, zb_operand_in(n, 0), zb_operand_in(n, 1), axis, ZB_FROM_BOTH_ENDS));
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
  return true;
}

zb_result zb_onnx_tile(zb_import_node *n) {
  zb_shape in;
  int64_t repeats[ZB_DIMS_MAX];
  int count;
  if (!zb_import_shape(n, 0, &in)) return ZB_FAIL;
  if (zb_onnx_of(n->im)->opset < 6) {
    if (!tile_old(n, &in, repeats)) return ZB_FAIL;
    count = in.rank;
  } else if (!zb_import_ints(n, 1, "the repeats", repeats, ZB_DIMS_MAX, &count)) {
    return ZB_FAIL;
  }
  if (count != in.rank) return zb_import_refuse(n, NULL, "the repeats have not one entry a dimension");
  return zb_operand_give(n, 0, zb_meaning_tile(n, zb_operand_in(n, 0), repeats, count));
}

/* ---- Pad ---- */

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
    n->inputs[0] = zb_meaning_pad(n, n->inputs[0], i, before[i] < 0 ? before[i] : 0, after[i] < 0 ? after[i] : 0, NULL);
    if (before[i] < 0) before[i] = 0;
    if (after[i] < 0) after[i] = 0;
  }
  return n->inputs[0] && zb_import_shape(n, 0, shape);
}

/* The place within 0 .. dim - 1 of one beside it. */
static int64_t mirrored(int64_t place, int64_t dim, const char *mode) {
  const int64_t period = strcmp(mode, "reflect") == 0 ? 2 * (dim - 1) : dim;
  if (strcmp(mode, "edge") == 0) return place < 0 ? 0 : place < dim ? place : dim - 1;
  if (period < 1) return 0;
  place = ((place % period) + period) % period;
  return place < dim ? place : period - place;
}

/* edge, reflect, wrap: a gather along each dimension. */
static zb_operand padded_by_places(zb_import_node *n, zb_operand x, const zb_shape *shape, const char *mode,
                                   const int64_t *before, const int64_t *after) {
  for (int i = 0; i < shape->rank && x; ++i) {
    const int64_t dim = shape->dims[i];
    int64_t count;
    if (before[i] == 0 && after[i] == 0) continue;
    if (__builtin_add_overflow(dim, before[i], &count) || __builtin_add_overflow(count, after[i], &count) ||
        count > INT64_C(1) << 40)
      return zb_import_refuse(n, NULL, "the result is too large"), NULL;
    int64_t *places = zb_import_take(n->im, (size_t)count * sizeof *places);
    for (int64_t k = 0; places && k < count; ++k)
      places[k] = mirrored(k - before[i], dim, mode);
    x = places ? zb_meaning_take(n, x, places, count, i) : NULL;
  }
  return x;
}

zb_result zb_onnx_pad(zb_import_node *n) {
  zb_shape shape;
  char mode[16];
  int64_t before[ZB_DIMS_MAX], after[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &shape) || !pad_arguments(n, &shape, before, after) || !crop(n, &shape, before, after))
    return ZB_FAIL;
  zb_onnx_string(n, "mode", "constant", mode, sizeof mode);
  zb_operand x = zb_operand_in(n, 0), fill;
  if (strcmp(mode, "edge") == 0 || strcmp(mode, "reflect") == 0 || strcmp(mode, "wrap") == 0)
    return zb_operand_give(n, 0, padded_by_places(n, x, &shape, mode, before, after));
  if (strcmp(mode, "constant") != 0)
    return zb_import_refuse(n, "constant, edge, reflect and wrap are supported", "mode '%s' is not supported", mode);
  const zb_known *known = zb_import_known(n, 2);
  if (zb_import_has(n, 2) && (!known || known->elements != 1 || known->shape.dtype != shape.dtype))
    return zb_import_refuse(n, NULL, "the fill is no constant scalar of the type");
  fill = known ? n->inputs[2] : zb_operand_scalar(n, shape.dtype, zb_onnx_float(n, "value", 0));
  for (int i = 0; i < shape.rank && x; ++i)
    x = zb_meaning_pad(n, x, i, before[i], after[i], fill);
  return zb_operand_give(n, 0, x);
}

zb_result zb_onnx_trilu(zb_import_node *n) {
  int64_t k = 0;
  int count = 1;
  if (zb_import_has(n, 1) && !zb_import_ints(n, 1, "k", &k, 1, &count)) return ZB_FAIL;
  if (count != 1) return zb_import_refuse(n, NULL, "expected one k");
  return zb_operand_give(n, 0, zb_meaning_triangle(n, zb_operand_in(n, 0), zb_onnx_int(n, "upper", 1) != 0, k));
}

/* ---- Blocks of pixels ---- */

zb_result zb_onnx_depth_to_space(zb_import_node *n) {
  const bool crd = zb_onnx_string_is(n, "mode", "DCR", "CRD");
  if (!crd && !zb_onnx_string_is(n, "mode", "DCR", "DCR"))
    return zb_import_refuse(n, "DCR or CRD", "the mode is not understood");
  return zb_operand_give(n, 0, zb_meaning_depth_to_space(n, zb_operand_in(n, 0), zb_onnx_int(n, "blocksize", 0), crd));
}

zb_result zb_onnx_space_to_depth(zb_import_node *n) {
  static const int64_t permutation[6] = {0, 3, 5, 1, 2, 4};
  zb_shape x;
  const int64_t block = zb_onnx_int(n, "blocksize", 0), *d = x.dims;
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (x.rank != 4) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, H, W]", x.rank);
  if (block < 1 || block > 1 << 20 || d[2] % block || d[3] % block)
    return zb_import_refuse(n, NULL, "%" PRId64 " x %" PRId64 " are no whole number of blocks", d[2], d[3]);
  const zb_shape apart = {.rank = 6, .dims = {d[0], d[1], d[2] / block, block, d[3] / block, block}};
  const zb_shape out = {.rank = 4, .dims = {d[0], d[1] * block * block, d[2] / block, d[3] / block}};
  zb_operand y = zb_operand_transpose(n, zb_operand_reshape(n, zb_operand_in(n, 0), &apart), permutation);
  return zb_operand_give(n, 0, zb_operand_reshape(n, y, &out));
}
