/* Views, parts, joins and pads of tensors, as every format has them under names of its own. Tests:
 * test/e2e/meaning.py, test/ir/import. */
#include "ir/import/meaning/meaning.h"

#include <inttypes.h>
#include <math.h>

zb_operand zb_meaning_range(zb_import_node *n, int64_t count, int64_t first, int64_t step) {
  zb_known *known = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {count}});
  for (int64_t i = 0; known && i < known->elements; ++i)
    zb_known_set_integer(known, i, first + i * step);
  return zb_operand_named(n, known, "places");
}

zb_operand zb_meaning_progression(zb_import_node *n, const zb_shape *shape, double start, double step) {
  zb_known *known = zb_known_new(n->im, shape);
  for (int64_t i = 0; known && i < known->elements; ++i) {
    const double value = start + (double)i * step;
    if (zb_known_is_float(known))
      zb_known_set_real(known, i, value);
    else /* whole numbers, also where they are written as floats */
      zb_known_set_integer(known, i, (int64_t)fmax(fmin(value, 9e18), -9e18));
  }
  return zb_operand_known(n, known);
}

zb_operand zb_meaning_eye(zb_import_node *n, const zb_shape *shape, int64_t k) {
  if (shape->rank != 2) return zb_import_refuse(n, NULL, "it has %d dimensions, expected 2", shape->rank), NULL;
  zb_known *known = zb_known_new(n->im, shape);
  for (int64_t i = 0; known && i < shape->dims[0]; ++i)
    if (i + k >= 0 && i + k < shape->dims[1]) zb_known_set_real(known, i * shape->dims[1] + i + k, 1);
  return zb_operand_known(n, known);
}

zb_operand zb_meaning_along(zb_import_node *n, const zb_shape *shape, int dimension, int64_t step) {
  zb_shape line = {.rank = shape->rank};
  for (int i = 0; i < shape->rank; ++i)
    line.dims[i] = i == dimension ? shape->dims[i] : 1;
  return zb_operand_reshape(n, zb_meaning_range(n, shape->dims[dimension], 0, step), &line);
}

zb_operand zb_meaning_take(zb_import_node *n, zb_operand x, const int64_t *places, int64_t count, int axis) {
  return zb_operand_gather(n, x, zb_operand_named(n, zb_known_ints(n->im, places, count), "places"), axis,
                           ZB_FROM_BOTH_ENDS);
}

/* ---- Shapes ---- */

zb_operand zb_meaning_reshape(zb_import_node *n, zb_operand x, const int64_t *wanted, int rank, bool copies) {
  zb_shape in, out = {.rank = rank};
  int64_t product = 1;
  int open = -1;
  char text[96];
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < rank; ++i) {
    if (wanted[i] == -1 && open >= 0) return zb_import_refuse(n, NULL, "the shape has more than one -1"), NULL;
    if (wanted[i] == -1) {
      open = i;
      continue;
    }
    if (wanted[i] == 0 && copies && i >= in.rank)
      return zb_import_refuse(n, NULL, "the shape copies (0) a dimension that the input does not have"), NULL;
    out.dims[i] = wanted[i] == 0 && copies ? in.dims[i] : wanted[i];
    if (out.dims[i] < 0) return zb_import_refuse(n, NULL, "the shape has a negative dimension"), NULL;
    if (__builtin_mul_overflow(product, out.dims[i], &product))
      return zb_import_refuse(n, NULL, "the shape is too large"), NULL;
  }
  const int64_t elements = zb_shape_elements(&in);
  if (open >= 0 && (product == 0 || elements % product != 0))
    return zb_import_refuse(n, NULL, "the shape's -1 does not come out even"), NULL;
  if (open >= 0) out.dims[open] = elements / product;
  if (open >= 0 || product == elements) return zb_operand_reshape(n, x, &out);
  zb_import_refuse(n,
                   "a batch size that was a number at export time can be frozen into the shape: export with the "
                   "shapes to train with",
                   "cannot reshape %s to %" PRId64 " elements", zb_shape_text(&in, text), product);
  return NULL;
}

zb_operand zb_meaning_flatten(zb_import_node *n, zb_operand x, int first, int last) {
  zb_shape in, out;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  out = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < in.rank; ++i) {
    if (i > first && i <= last)
      out.dims[out.rank - 1] *= in.dims[i];
    else
      out.dims[out.rank++] = in.dims[i];
  }
  return zb_operand_reshape(n, x, &out);
}

zb_shape zb_meaning_as_matrix(const zb_shape *shape, int64_t axis) {
  zb_shape out = {.dtype = shape->dtype, .rank = 2, .dims = {1, 1}};
  for (int i = 0; i < shape->rank; ++i)
    out.dims[i >= axis] *= shape->dims[i];
  return out;
}

zb_operand zb_meaning_squeeze(zb_import_node *n, zb_operand x, const int64_t *axes, int count, bool refuses_others) {
  zb_shape in, out;
  bool goes[ZB_DIMS_MAX] = {false};
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in.rank, &axis)) return NULL;
    if (refuses_others && in.dims[axis] != 1)
      return zb_import_refuse(n, NULL, "dimension %d is %" PRId64 ", expected 1", axis, in.dims[axis]), NULL;
    goes[axis] = true;
  }
  out = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < in.rank; ++i)
    if (in.dims[i] != 1 || (count >= 0 && !goes[i])) out.dims[out.rank++] = in.dims[i];
  return zb_operand_reshape(n, x, &out);
}

zb_operand zb_meaning_unsqueeze(zb_import_node *n, zb_operand x, const int64_t *axes, int count) {
  zb_shape in, out;
  bool added[ZB_DIMS_MAX] = {false};
  if (!zb_operand_shape(n, x, &in)) return NULL;
  out = (zb_shape){.dtype = in.dtype, .rank = in.rank + count};
  if (out.rank > ZB_DIMS_MAX)
    return zb_import_refuse(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX), NULL;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], out.rank, &axis)) return NULL;
    if (added[axis]) return zb_import_refuse(n, NULL, "axis %d is named twice", axis), NULL;
    added[axis] = true;
  }
  for (int i = 0, k = 0; i < out.rank; ++i)
    out.dims[i] = added[i] ? 1 : in.dims[k++];
  return zb_operand_reshape(n, x, &out);
}

zb_operand zb_meaning_permute(zb_import_node *n, zb_operand x, const int64_t *axes, int count) {
  zb_shape in;
  int64_t permutation[ZB_DIMS_MAX];
  bool seen[ZB_DIMS_MAX] = {false};
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (count != in.rank) return zb_import_refuse(n, NULL, "%d dimensions of a tensor of %d", count, in.rank), NULL;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in.rank, &axis)) return NULL;
    if (seen[axis]) return zb_import_refuse(n, NULL, "dimension %d is named twice", axis), NULL;
    seen[axis] = true;
    permutation[i] = axis;
  }
  return zb_operand_transpose(n, x, permutation);
}

/* ---- Parts ---- */

int64_t zb_meaning_slice_size(int64_t dim, int64_t *start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  int64_t bounds[2] = {*start, end};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] < 0) bounds[i] = bounds[i] < -dim ? low : bounds[i] + dim;
    if (bounds[i] < low) bounds[i] = low;
    if (bounds[i] > high) bounds[i] = high;
  }
  const int64_t span = step > 0 ? bounds[1] - bounds[0] : bounds[0] - bounds[1];
  const int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
  *start = span > 0 ? bounds[0] : 0;
  return span > 0 ? (span - 1) / stride + 1 : 0;
}

/* zb.slice has no steps back: dimensions that have are gathered by their places. */
zb_operand zb_meaning_slice(zb_import_node *n, zb_operand x, const int64_t *axes, const int64_t *starts,
                            const int64_t *ends, const int64_t *steps, int count) {
  int64_t begin[ZB_DIMS_MAX] = {0}, stride[ZB_DIMS_MAX];
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < in.rank; ++i)
    stride[i] = 1;
  for (int i = 0; i < count; ++i) {
    int axis;
    const int64_t step = steps ? steps[i] : 1;
    if (!zb_import_axis(n, axes ? axes[i] : i, in.rank, &axis)) return NULL;
    if (step == 0) return zb_import_refuse(n, NULL, "a step is 0"), NULL;
    begin[axis] = starts[i];
    in.dims[axis] = zb_meaning_slice_size(in.dims[axis], &begin[axis], ends[i], step);
    stride[axis] = in.dims[axis] > 1 ? step : 1;
  }
  for (int axis = 0; axis < in.rank && x; ++axis) {
    if (stride[axis] > 0) continue;
    const zb_operand places = zb_meaning_range(n, in.dims[axis], begin[axis], stride[axis]);
    x = zb_operand_gather(n, x, places, axis, ZB_FROM_BOTH_ENDS);
    begin[axis] = 0;
    stride[axis] = 1;
  }
  return zb_operand_slice(n, x, begin, in.dims, stride);
}

bool zb_meaning_parts(zb_import_node *n, int64_t dim, int64_t size, int64_t *sizes, int *count) {
  if (size < 1 || (dim + size - 1) / size > ZB_MEANING_PARTS)
    return zb_import_refuse(n, NULL, "the number of parts is out of range");
  *count = (int)((dim + size - 1) / size);
  for (int i = 0; i < *count; ++i)
    sizes[i] = i + 1 < *count ? size : dim - size * i;
  return true;
}

/* What is computed is cut by one zb.split. */
bool zb_meaning_split(zb_import_node *n, zb_operand x, int axis, const int64_t *sizes, int count, zb_operand *parts) {
  zb_shape in;
  zb_known *known;
  MlirValue values[ZB_MEANING_PARTS] = {{NULL}};
  int64_t sum = 0, least = INT64_MAX;
  bool fits = true;
  if (!zb_operand_shape(n, x, &in) || !zb_import_value_known(n->im, x, &known)) return false;
  for (int i = 0; i < count; ++i) {
    fits = fits && sizes[i] >= 0 && sizes[i] <= in.dims[axis];
    least = sizes[i] < least ? sizes[i] : least;
    sum += fits ? sizes[i] : 0;
  }
  if (!fits || sum != in.dims[axis] || count < 1 || count > ZB_MEANING_PARTS)
    return zb_import_refuse(n, NULL, "its %d parts are not the %" PRId64 " elements of dimension %d", count,
                            in.dims[axis], axis);
  if (!known && least < 1) return zb_import_refuse(n, NULL, "a part is empty");
  if (!known) values[0] = zb_import_value_ir(n->im, x);
  if (values[0].ptr && count > 1) zb_build_split(n->b, values[0], axis, sizes, count, values);
  sum = 0;
  for (int i = 0; i < count; sum += sizes[i++]) {
    parts[i] = known ? zb_operand_part(n, x, axis, sum, sizes[i]) : zb_operand_computed(n, values[i]);
    if (!parts[i]) return false;
  }
  return true;
}

/* ---- Joining ---- */

zb_operand zb_meaning_stack(zb_import_node *n, const zb_operand *parts, int count, int64_t axis) {
  zb_shape shape;
  int place;
  zb_operand *wide = zb_import_take(n->im, (size_t)count * sizeof *wide + 1);
  if (!wide || count < 1 || !zb_operand_shape(n, parts[0], &shape) || !zb_import_axis(n, axis, shape.rank + 1, &place))
    return NULL;
  for (int i = 0; i < count; ++i)
    wide[i] = zb_meaning_unsqueeze(n, parts[i], &axis, 1);
  return zb_operand_concat(n, wide, count, place);
}

/* Each repeat is an expand along a new dimension before the repeated one. */
zb_operand zb_meaning_tile(zb_import_node *n, zb_operand x, const int64_t *repeats, int count) {
  zb_shape in, split, wide, out;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  split = wide = out = (zb_shape){.dtype = in.dtype, .rank = 0};
  const int rank = count > in.rank ? count : in.rank;
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - in.rank), given = i - (rank - count);
    const int64_t dim = own >= 0 ? in.dims[own] : 1, times = given >= 0 ? repeats[given] : 1;
    if (times < 0 || times > INT32_MAX) return zb_import_refuse(n, NULL, "a repeat is negative or too large"), NULL;
    if (split.rank + (times != 1) >= ZB_DIMS_MAX)
      return zb_import_refuse(n, "use expand", "the repeats need more than %d dimensions", ZB_DIMS_MAX), NULL;
    if (times != 1) {
      split.dims[split.rank++] = 1;
      wide.dims[wide.rank++] = times;
    }
    split.dims[split.rank++] = wide.dims[wide.rank++] = dim;
    if (__builtin_mul_overflow(dim, times, &out.dims[out.rank++]))
      return zb_import_refuse(n, NULL, "the result is too large"), NULL;
  }
  if (zb_shape_bytes(&out) < 0) return zb_import_refuse(n, NULL, "the result is too large"), NULL;
  if (zb_shape_elements(&out) == 0) return zb_operand_known(n, zb_known_new(n->im, &out));
  return zb_operand_reshape(n, zb_operand_expand(n, zb_operand_reshape(n, x, &split), &wide), &out);
}

zb_operand zb_meaning_repeat_each(zb_import_node *n, zb_operand x, int axis, int64_t times) {
  zb_shape in, wide;
  const int64_t behind = axis + 1;
  if (times == 1) return x;
  if (!zb_operand_shape(n, x, &in) || !zb_operand_shape(n, x = zb_meaning_unsqueeze(n, x, &behind, 1), &wide))
    return NULL;
  wide.dims[behind] = times;
  if (times < 1 || __builtin_mul_overflow(in.dims[axis], times, &in.dims[axis]) || zb_shape_bytes(&in) < 0)
    return zb_import_refuse(n, NULL, "the result is too large"), NULL;
  return zb_operand_reshape(n, zb_operand_expand(n, x, &wide), &in);
}

zb_operand zb_meaning_flip(zb_import_node *n, zb_operand x, const int64_t *axes, int count) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < count && x; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], in.rank, &axis)) return NULL;
    x = zb_operand_gather(n, x, zb_meaning_range(n, in.dims[axis], in.dims[axis] - 1, -1), axis, ZB_FROM_BOTH_ENDS);
  }
  return x;
}

zb_operand zb_meaning_roll(zb_import_node *n, zb_operand x, int64_t shift, int axis) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const int64_t dim = in.dims[axis], back = dim ? (dim - shift % dim) % dim : 0;
  if (back == 0) return x;
  const zb_operand parts[] = {zb_operand_part(n, x, axis, back, dim - back), zb_operand_part(n, x, axis, 0, back)};
  return zb_operand_concat(n, parts, 2, axis);
}

zb_operand zb_meaning_pad(zb_import_node *n, zb_operand x, int axis, int64_t before, int64_t after, zb_operand fill) {
  const int64_t pads[] = {before, after};
  zb_shape in;
  zb_operand parts[3];
  int used = 0;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  zb_shape border = in;
  for (int side = 0; side < 2; ++side) {
    border.dims[axis] = pads[side];
    if (pads[side] < -in.dims[axis] || (pads[side] > 0 && zb_shape_bytes(&border) < 0))
      return zb_import_refuse(n, NULL, "a pad of dimension %d is out of range", axis), NULL;
  }
  in.dims[axis] += (before < 0 ? before : 0) + (after < 0 ? after : 0);
  if ((before < 0 || after < 0) && in.dims[axis] < 1)
    return zb_import_refuse(n, NULL, "nothing is left of dimension %d", axis), NULL;
  if (before < 0 || after < 0) x = zb_operand_part(n, x, axis, before < 0 ? -before : 0, in.dims[axis]);
  for (int side = 0; side < 2; ++side) {
    border.dims[axis] = pads[side];
    if (side == 1) parts[used++] = x;
    if (pads[side] > 0) parts[used++] = zb_operand_filled(n, &border, fill);
  }
  return used == 1 ? x : zb_operand_concat(n, parts, used, axis);
}

zb_operand zb_meaning_replace(zb_import_node *n, zb_operand x, zb_operand part, int axis, int64_t start, int64_t size) {
  zb_shape in;
  zb_operand parts[3];
  int count = 0;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const int64_t behind = in.dims[axis] - start - size;
  if (start > 0) parts[count++] = zb_operand_part(n, x, axis, 0, start);
  if (size > 0) parts[count++] = part;
  if (behind > 0) parts[count++] = zb_operand_part(n, x, axis, start + size, behind);
  return count == 1 ? parts[0] : zb_operand_concat(n, parts, count, axis);
}

/* ---- Of the last dimensions ---- */

/* The triangle is a constant, which the core writes as zb.triangle. */
zb_operand zb_meaning_triangle(zb_import_node *n, zb_operand x, bool upper, int64_t diagonal) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (in.rank < 2) return zb_import_refuse(n, NULL, "the tensor has %d dimensions, expected 2 or more", in.rank), NULL;
  const int64_t columns = in.dims[in.rank - 1];
  zb_known *mask = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I1, .rank = 2, .dims = {in.dims[in.rank - 2], columns}});
  for (int64_t i = 0; mask && i < mask->elements; ++i) {
    const int64_t above = i % columns - i / columns;
    zb_known_set_integer(mask, i, upper ? above >= diagonal : above <= diagonal);
  }
  return zb_operand_where(n, zb_operand_known(n, mask), x, zb_operand_scalar(n, in.dtype, 0));
}

zb_operand zb_meaning_depth_to_space(zb_import_node *n, zb_operand x, int64_t r, bool channels_first) {
  static const int64_t by_row[] = {0, 1, 4, 2, 5, 3}, by_column[] = {0, 3, 4, 1, 5, 2};
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const int64_t *d = in.dims, channels = r < 1 || r > 1 << 20 ? 0 : d[1] / (r * r);
  if (in.rank != 4 || channels < 1 || channels * r * r != d[1])
    return zb_import_refuse(n, NULL, "%" PRId64 " channels are no whole number of blocks", d[1]), NULL;
  zb_shape apart = {.rank = 6, .dims = {d[0], r, r, channels, d[2], d[3]}};
  if (channels_first) apart.dims[1] = channels, apart.dims[3] = r;
  x = zb_operand_transpose(n, zb_operand_reshape(n, x, &apart), channels_first ? by_row : by_column);
  return zb_operand_reshape(n, x, &(zb_shape){.rank = 4, .dims = {d[0], channels, d[2] * r, d[3] * r}});
}
