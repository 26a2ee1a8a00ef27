/* Images of another size: along each dimension a gather of the nearest elements, or a product with a constant matrix of
 * weights [out, in], of which the gradient is the product with the transposed one.
 *
 *   y = resized(x: 2x4xf32, sizes [2, 2], linear)   ->   y = x * w^T,  w = [[.5, .5, 0, 0], [0, 0, .5, .5]]
 *
 * Tests: test/e2e/meaning.py, test/e2e/onnx_nodes.py, test/e2e/onnx_gradients.py, test/e2e/windows.py. */
#include "ir/import/meaning/spatial.h"

#include <math.h>

/* Where element o of the result lies among those of the tensor. With align_corners the size of the result is in * scale
 * where it is no whole number, as in ONNX's reference. */
static double place_of(const zb_resize *r, const zb_resize_line *l, int64_t o) {
  if (l->step > 0) return (double)(l->step * (float)o);
  const double most = ZB_RESIZE_MAX, x = (double)o, width = (double)l->in * l->scale, last = (double)(l->in - 1);
  double place = (x + 0.5) / l->scale - 0.5;
  switch (r->places) {
  case ZB_PLACES_HALF_PIXEL:
    break;
  case ZB_PLACES_HALF_PIXEL_SYMMETRIC:
    place += (double)l->in / 2 * (1 - (double)l->out / width);
    break;
  case ZB_PLACES_PYTORCH_HALF_PIXEL:
    place = l->out > 1 ? place : 0;
    break;
  case ZB_PLACES_ALIGN_CORNERS:
    place = l->out > 1 ? x * last / (width - 1) : 0;
    break;
  case ZB_PLACES_ASYMMETRIC:
    place = x / l->scale;
    break;
  case ZB_PLACES_CROP:
    place =
        l->out > 1 ? l->start * last + x * (l->end - l->start) * last / (width - 1) : (l->start + l->end) * last / 2;
    break;
  case ZB_PLACES_HALF_PIXEL_NEAREST:
    place = (x + 0.5) / l->scale;
    break;
  }
  return fmax(fmin(place, most), -most);
}

static bool is_inside(const zb_resize *r, const zb_resize_line *l, double place) {
  return r->places != ZB_PLACES_CROP || (place >= 0 && place <= (double)(l->in - 1));
}

static double clamped(const zb_resize_line *l, double place) { return fmax(fmin(place, (double)(l->in - 1)), 0); }

static double nearest(const zb_resize *r, double place) {
  switch (r->rounding) {
  case ZB_ROUND_PREFER_FLOOR:
    return ceil(place - 0.5);
  case ZB_ROUND_PREFER_CEIL:
    return floor(place + 0.5);
  case ZB_ROUND_FLOOR:
    return floor(place);
  default:
    return ceil(place);
  }
}

/* The weight of an element at a distance: a triangle, or Keys' cubic with its parameter. */
static double weight_at(const zb_resize *r, double distance) {
  const double a = r->cubic, d = fabs(distance);
  if (r->mode == ZB_RESIZE_LINEAR) return fmax(1 - d, 0);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Weights of one element of the result. What lies outside is the element at the edge, or left out. With antialias
 * weights are those of wider distances where the result is smaller. */
static void add_weights(const zb_resize *r, const zb_resize_line *l, double place, zb_known *matrix, int64_t row) {
  const double shrink = r->antialias ? fmin(l->scale, 1) : 1, reach = (r->mode == ZB_RESIZE_LINEAR ? 1 : 2) / shrink;
  const bool is_share = r->antialias || r->excludes_outside;
  double sum = 0;
  for (int pass = is_share ? 0 : 1; pass < 2; ++pass)
    for (double i = ceil(place - reach); i <= floor(place + reach); ++i) {
      const double weight = weight_at(r, shrink * (i - place)), at = clamped(l, i);
      if (weight == 0 || (r->excludes_outside && at != i)) continue;
      const int64_t element = row * l->in + (int64_t)at;
      if (pass == 0)
        sum += weight;
      else
        zb_known_set_real(matrix, element, zb_known_real(matrix, element) + (is_share ? weight / sum : weight));
    }
}

static zb_operand gathered(zb_import_node *n, const zb_resize *r, int axis, zb_operand x) {
  const zb_resize_line *l = &r->lines[axis];
  int64_t *places = zb_import_take(n->im, (size_t)l->out * sizeof *places);
  for (int64_t o = 0; places && o < l->out; ++o)
    places[o] = (int64_t)clamped(l, nearest(r, place_of(r, l, o)));
  return places ? zb_meaning_take(n, x, places, l->out, axis) : NULL;
}

static zb_operand weighted(zb_import_node *n, const zb_resize *r, int axis, zb_operand x) {
  const zb_resize_line *l = &r->lines[axis];
  zb_shape shape;
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  const zb_dtype dtype = shape.dtype == ZB_F64 ? ZB_F64 : ZB_F32;
  zb_known *matrix = zb_known_new(n->im, &(zb_shape){.dtype = dtype, .rank = 2, .dims = {l->out, l->in}});
  for (int64_t o = 0; matrix && o < l->out; ++o)
    add_weights(r, l, place_of(r, l, o), matrix, o);
  return zb_spatial_multiplied(n, x, axis, matrix);
}

/* The value for what lies outside, along one dimension. */
static zb_operand extrapolated(zb_import_node *n, const zb_resize *r, int axis, zb_operand x) {
  const zb_resize_line *l = &r->lines[axis];
  zb_shape in, shape = {.dtype = ZB_I1};
  bool any = false;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  shape.rank = in.rank;
  for (int i = 0; i < shape.rank; ++i)
    shape.dims[i] = i == axis ? l->out : 1;
  zb_known *inside = zb_known_new(n->im, &shape);
  for (int64_t o = 0; inside && o < l->out; ++o) {
    const bool is_in = is_inside(r, l, place_of(r, l, o));
    zb_known_set_integer(inside, o, is_in);
    any = any || !is_in;
  }
  if (!any) return x;
  return zb_operand_where(n, zb_operand_named(n, inside, "inside"), x,
                          zb_operand_scalar(n, in.dtype, r->extrapolation));
}

zb_operand zb_spatial_resized(zb_import_node *n, zb_operand x, const zb_resize *r) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < in.rank && x; ++i) {
    const zb_resize_line *l = &r->lines[i];
    if (l->in == l->out && l->scale == 1 && (r->places != ZB_PLACES_CROP || (l->start == 0 && l->end == 1))) continue;
    x = r->mode == ZB_RESIZE_NEAREST ? gathered(n, r, i, x) : weighted(n, r, i, x);
  }
  for (int i = 0; i < in.rank && x && r->places == ZB_PLACES_CROP; ++i)
    x = extrapolated(n, r, i, x);
  return x;
}

/* PyTorch counts the places of nearest elements in f32. */
zb_operand zb_spatial_interpolated(zb_import_node *n, zb_operand x, const zb_spatial *s, bool is_linear,
                                   bool align_corners, const double *scales) {
  zb_resize r = {.mode = is_linear ? ZB_RESIZE_LINEAR : ZB_RESIZE_NEAREST,
                 .rounding = ZB_ROUND_FLOOR,
                 .places = align_corners ? ZB_PLACES_ALIGN_CORNERS : ZB_PLACES_HALF_PIXEL};
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < in.rank; ++i)
    r.lines[i] = (zb_resize_line){.in = in.dims[i], .out = in.dims[i], .scale = 1};
  for (int d = 0; d < s->rank; ++d) {
    zb_resize_line *l = &r.lines[in.rank - s->rank + d];
    if (s->in[d] == s->out[d]) continue;
    l->out = s->out[d];
    l->scale = scales[d] > 0 ? scales[d] : (double)l->out / (double)l->in;
    if (!is_linear) l->step = scales[d] > 0 ? (float)(1 / scales[d]) : (float)l->in / (float)l->out;
  }
  return zb_spatial_resized(n, x, &r);
}
