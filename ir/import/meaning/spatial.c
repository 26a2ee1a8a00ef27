/* Convolutions, pooling and interpolation for every importer: spatial.h says what becomes of them. */
#include "ir/import/meaning/spatial.h"

#include <string.h>

/* Sizes, strides and pads that are sane; sums and products of two of them do not overflow. */
static const int64_t most = INT64_C(1) << 30;

bool zb_spatial_start(zb_import_node *n, const zb_shape *shape, int rank, int least, zb_spatial *s) {
  char text[96];
  *s = (zb_spatial){.rank = rank};
  if (rank < 1 || rank > ZB_SPATIAL_MAX || shape->rank < rank + least)
    return zb_import_refuse(n, "1 to 3 spatial dimensions are supported",
                            "a %s does not have %d spatial dimensions behind %d others", zb_shape_text(shape, text),
                            rank, least);
  for (int d = 0; d < rank; ++d) {
    s->in[d] = shape->dims[shape->rank - rank + d];
    s->kernel[d] = s->strides[d] = s->dilations[d] = 1;
    if (s->in[d] > most) return zb_import_refuse(n, NULL, "an image is too large");
  }
  return true;
}

/* Whether all numbers of a dimension but its pads behind are sane. */
static bool check_dimension(zb_import_node *n, const zb_spatial *s, int d) {
  const int64_t numbers[] = {s->kernel[d], s->strides[d], s->dilations[d]};
  for (int i = 0; i < 3; ++i)
    if (numbers[i] < 1 || numbers[i] > most)
      return zb_import_refuse(n, NULL, "kernel, stride or dilation of spatial dimension %d is out of range", d);
  if (s->before[d] < -most || s->before[d] > most)
    return zb_import_refuse(n, NULL, "the pad before spatial dimension %d is out of range", d);
  return true;
}

bool zb_spatial_count(zb_import_node *n, zb_spatial *s, bool round_up) {
  for (int d = 0; d < s->rank; ++d) {
    if (!check_dimension(n, s, d)) return false;
    if (s->after[d] < -most || s->after[d] > most)
      return zb_import_refuse(n, NULL, "the pad behind spatial dimension %d is out of range", d);
    const int64_t free = s->in[d] + s->before[d] + s->after[d] - s->dilations[d] * (s->kernel[d] - 1) - 1;
    if (free < 0) return zb_import_refuse(n, NULL, "no window fits along spatial dimension %d", d);
    s->out[d] = free / s->strides[d] + 1;
    if (round_up && free % s->strides[d] && s->out[d] * s->strides[d] < s->in[d] + s->before[d]) ++s->out[d];
  }
  return true;
}

bool zb_spatial_fit(zb_import_node *n, zb_spatial *s, const int64_t *windows) {
  for (int d = 0; d < s->rank; ++d) {
    if (!check_dimension(n, s, d)) return false;
    if (windows[d] < 1 || windows[d] > most) return zb_import_refuse(n, NULL, "an image is empty or too large");
    s->out[d] = windows[d];
    s->after[d] = (windows[d] - 1) * s->strides[d] + s->dilations[d] * (s->kernel[d] - 1) + 1 - s->in[d] - s->before[d];
  }
  return true;
}

bool zb_spatial_part(zb_import_node *n, zb_spatial *s) {
  for (int d = 0; d < s->rank; ++d) {
    if (s->in[d] % s->out[d] != 0)
      return zb_import_refuse(n, "make the size of the result a divisor of that of the image",
                              "parts of %lld elements in %lld differ in size", (long long)s->in[d],
                              (long long)s->out[d]);
    s->kernel[d] = s->strides[d] = s->in[d] / s->out[d];
  }
  return true;
}

/* ---- Convolutions ---- */

/* x plus one number a channel. */
static zb_operand with_bias(zb_import_node *n, zb_operand x, zb_operand bias, int rank) {
  zb_shape own;
  if (!bias || !x || !zb_operand_shape(n, bias, &own)) return x;
  const zb_shape column = {.rank = rank + 1, .dims = {zb_shape_elements(&own), 1, 1, 1}};
  return zb_operand_apply2(n, "add", x, zb_operand_reshape(n, bias, &column));
}

static zb_operand convolution(zb_import_node *n, const char *op, zb_operand x, zb_operand weight, const zb_spatial *s,
                              int64_t groups, bool is_transposed) {
  int64_t pads[2 * ZB_SPATIAL_MAX];
  memcpy(pads, s->before, (size_t)s->rank * sizeof *pads);
  memcpy(pads + s->rank, s->after, (size_t)s->rank * sizeof *pads);
  const zb_attr attrs[] = {zb_ints("strides", s->strides, s->rank), zb_ints("pads", pads, 2 * s->rank),
                           zb_ints("dilations", s->dilations, s->rank), zb_int("groups", groups),
                           zb_ints("shape", s->in, s->rank)};
  return zb_operand_build(n, op, (zb_operand[]){x, weight}, 2, attrs, is_transposed ? 5 : 4);
}

zb_operand zb_spatial_conv(zb_import_node *n, zb_operand x, zb_operand weight, zb_operand bias, const zb_spatial *s,
                           int64_t groups) {
  return with_bias(n, convolution(n, "conv", x, weight, s, groups, false), bias, s->rank);
}

zb_operand zb_spatial_conv_transpose(zb_import_node *n, zb_operand x, zb_operand weight, zb_operand bias,
                                     const zb_spatial *s, int64_t groups) {
  return with_bias(n, convolution(n, "conv_transpose", x, weight, s, groups, true), bias, s->rank);
}

/* ---- Maxima ---- */

zb_operand zb_spatial_max(zb_import_node *n, zb_operand x, const zb_spatial *s, zb_operand *places) {
  int64_t pads[2 * ZB_SPATIAL_MAX];
  zb_shape shape;
  memcpy(pads, s->before, (size_t)s->rank * sizeof *pads);
  memcpy(pads + s->rank, s->after, (size_t)s->rank * sizeof *pads);
  const zb_attr attrs[] = {zb_ints("kernel", s->kernel, s->rank), zb_ints("strides", s->strides, s->rank),
                           zb_ints("pads", pads, 2 * s->rank), zb_ints("dilations", s->dilations, s->rank),
                           zb_ints("shape", s->out, s->rank)};
  zb_operand found = zb_operand_build(n, "max_place", &x, 1, attrs, 5);
  if (!zb_operand_shape(n, found, &shape)) return NULL;
  const int axis = shape.rank - s->rank;
  zb_operand flat = zb_meaning_flatten(n, x, axis, shape.rank - 1);
  flat =
      zb_operand_gather_elements(n, flat, zb_meaning_flatten(n, found, axis, shape.rank - 1), axis, ZB_FROM_BOTH_ENDS);
  if (places) *places = found;
  return zb_operand_reshape(n, flat, &shape);
}

/* ---- Products along dimensions ---- */

zb_operand zb_spatial_multiplied(zb_import_node *n, zb_operand x, int axis, zb_known *matrix) {
  zb_shape shape;
  zb_operand factor = zb_operand_named(n, matrix, "resampling"), out;
  if (!factor || !zb_operand_shape(n, x, &shape)) return NULL;
  factor = zb_operand_cast(n, factor, shape.dtype);
  zb_shape flat = {.rank = 3, .dims = {1, shape.dims[axis], 1}};
  for (int d = 0; d < shape.rank; ++d)
    if (d != axis) flat.dims[d < axis ? 0 : 2] *= shape.dims[d];
  shape.dims[axis] = matrix->shape.dims[0];
  if (flat.dims[2] == 1) { /* the last dimension: one product for all */
    const zb_attr attr = zb_bool("transpose_rhs", true);
    flat.rank = 2;
    out = zb_operand_build(n, "matmul", (zb_operand[]){zb_operand_reshape(n, x, &flat), factor}, 2, &attr, 1);
  } else {
    out = zb_operand_build(n, "matmul", (zb_operand[]){factor, zb_operand_reshape(n, x, &flat)}, 2, NULL, 0);
  }
  return zb_operand_reshape(n, out, &shape);
}

static zb_known *new_matrix(zb_import_node *n, int64_t out, int64_t in) {
  return zb_known_new(n->im, &(zb_shape){.dtype = ZB_F32, .rank = 2, .dims = {out, in}});
}

static void add_to(zb_known *matrix, int64_t row, int64_t column, double value) {
  const int64_t at = row * matrix->shape.dims[1] + column;
  zb_known_set_real(matrix, at, zb_known_real(matrix, at) + value);
}

/* Spatial dimension d of x. */
static int axis_of(zb_import_node *n, zb_operand x, const zb_spatial *s, int d) {
  zb_shape shape;
  return zb_operand_shape(n, x, &shape) ? shape.rank - s->rank + d : -1;
}

/* What window o of dimension d sums, divided as the kind says. */
static zb_known *pool_matrix(zb_import_node *n, const zb_spatial *s, int d, zb_spatial_sum kind) {
  zb_known *matrix = new_matrix(n, s->out[d], s->in[d]);
  for (int64_t o = 0; matrix && o < s->out[d]; ++o) {
    const int64_t start = o * s->strides[d] - s->before[d];
    int64_t inside = 0, padded = 0;
    for (int64_t k = 0; k < s->kernel[d]; ++k) {
      const int64_t place = start + k * s->dilations[d];
      inside += place >= 0 && place < s->in[d];
      padded += place < s->in[d] + s->after[d];
    }
    const int64_t count = kind == ZB_SPATIAL_SUM ? 1 : kind == ZB_SPATIAL_MEAN ? inside : padded;
    for (int64_t k = 0; k < s->kernel[d]; ++k) {
      const int64_t place = start + k * s->dilations[d];
      if (place >= 0 && place < s->in[d]) add_to(matrix, o, place, 1 / (double)count);
    }
  }
  return matrix;
}

zb_operand zb_spatial_pool(zb_import_node *n, zb_operand x, const zb_spatial *s, zb_spatial_sum kind) {
  for (int d = s->rank - 1; d >= 0 && x; --d)
    if (s->kernel[d] != 1 || s->in[d] != s->out[d] || s->before[d] != 0)
      x = zb_spatial_multiplied(n, x, axis_of(n, x, s, d), pool_matrix(n, s, d, kind));
  return x;
}

zb_operand zb_spatial_global(zb_import_node *n, zb_operand x, int rank, const char *reduction) {
  zb_shape shape;
  int64_t axes[ZB_DIMS_MAX];
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  for (int d = 0; d < rank; ++d)
    axes[d] = shape.rank - rank + d;
  return zb_operand_reduce(n, reduction, x, axes, rank, true);
}

zb_operand zb_spatial_adaptive_mean(zb_import_node *n, zb_operand x, const zb_spatial *s) {
  bool is_global = true;
  for (int d = 0; d < s->rank; ++d)
    is_global = is_global && s->out[d] == 1;
  if (is_global) return zb_spatial_global(n, x, s->rank, "reduce_mean");
  for (int d = s->rank - 1; d >= 0 && x; --d) {
    zb_known *matrix = s->in[d] == s->out[d] ? NULL : new_matrix(n, s->out[d], s->in[d]);
    if (s->in[d] == s->out[d]) continue;
    for (int64_t o = 0; matrix && o < s->out[d]; ++o) {
      const int64_t from = o * s->in[d] / s->out[d], to = ((o + 1) * s->in[d] + s->out[d] - 1) / s->out[d];
      for (int64_t i = from; i < to; ++i)
        add_to(matrix, o, i, 1 / (double)(to - from));
    }
    x = zb_spatial_multiplied(n, x, axis_of(n, x, s, d), matrix);
  }
  return x;
}
