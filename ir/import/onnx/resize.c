/* Resize and Upsample: along each dimension a gather of the nearest elements, or a product with a constant matrix of
 * weights [out, in], of which the gradient is the product with the transposed one.
 *
 *   y = Resize(x: 2x4xf32, sizes [2, 2], linear)   ->   y = x * w^T,  w = [[.5, .5, 0, 0], [0, 0, .5, .5]]
 *
 * Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py, test/e2e/onnx_gradients.py. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/meaning/spatial.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Inputs of Resize since opset 11; before, and of Upsample, the scales are input 1. */
enum { INPUT_ROI = 1, INPUT_SCALES, INPUT_SIZES, SCALES_OF_OLD = 1, OPSET_OF_ROI = 11 };
static const double SIZE_MAX_OF_IMAGE = 1 << 30;

typedef enum resize_mode { MODE_NEAREST, MODE_LINEAR, MODE_CUBIC } resize_mode;
static const char *const MODES[] = {"nearest", "linear", "cubic", NULL};

typedef enum resize_rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL } resize_rounding;
static const char *const ROUNDINGS[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

typedef enum resize_places {
  PLACES_HALF_PIXEL,
  PLACES_HALF_PIXEL_SYMMETRIC,
  PLACES_PYTORCH_HALF_PIXEL,
  PLACES_ALIGN_CORNERS,
  PLACES_ASYMMETRIC,
  PLACES_CROP,
  PLACES_HALF_PIXEL_NEAREST
} resize_places;
static const char *const PLACES[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
                                     "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};

/* One dimension: sizes, out / in as the model says it, and the part of it that is seen, of PLACES_CROP. */
typedef struct line {
  int64_t in, out;
  double scale, start, end;
} line;

typedef struct resize {
  zb_shape x;
  resize_mode mode;
  resize_rounding rounding;
  resize_places places;
  bool antialias, excludes_outside;
  double cubic, extrapolation;
  line lines[ZB_DIMS_MAX];
} resize;

/* ---- What the node says ---- */

/* The number of an attribute's value in a list; -1 after reporting. */
static int choice(zb_import_node *n, const char *name, const char *fallback, const char *const *values) {
  char text[64];
  zb_onnx_string(n, name, fallback, text, sizeof text);
  if (strcmp(name, "mode") == 0 && (strcmp(text, "bilinear") == 0 || strcmp(text, "trilinear") == 0))
    return MODE_LINEAR; /* of opset 1 */
  for (int i = 0; values[i] && !n->im->failed; ++i)
    if (strcmp(text, values[i]) == 0) return i;
  zb_import_refuse(n, NULL, "%s '%s' is not supported", name, text);
  return -1;
}

static bool read_modes(zb_import_node *n, resize *r) {
  const bool is_old = zb_onnx_of(n->im)->opset < OPSET_OF_ROI || strcmp(n->op->argument, "upsample") == 0;
  const int mode = choice(n, "mode", "nearest", MODES);
  const int rounding = choice(n, "nearest_mode", is_old ? "floor" : "round_prefer_floor", ROUNDINGS);
  const int places = choice(n, "coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel", PLACES);
  if (mode < 0 || rounding < 0 || places < 0) return false;
  r->mode = (resize_mode)mode;
  r->rounding = (resize_rounding)rounding;
  r->places = (resize_places)places;
  r->antialias = zb_onnx_int(n, "antialias", 0) != 0 && r->mode != MODE_NEAREST;
  r->excludes_outside = zb_onnx_int(n, "exclude_outside", 0) != 0;
  r->cubic = zb_onnx_float(n, "cubic_coeff_a", -0.75);
  r->extrapolation = zb_onnx_float(n, "extrapolation_value", 0);
  return !n->im->failed;
}

/* The dimensions that scales, sizes and roi are of: all, unless 'axes' names some. */
static bool read_axes(zb_import_node *n, int rank, int *axes, int *count) {
  int64_t given[ZB_DIMS_MAX];
  bool seen[ZB_DIMS_MAX] = {false};
  *count = rank;
  for (int i = 0; i < rank; ++i)
    axes[i] = i;
  if (!zb_onnx_ints(n, "axes", given, ZB_DIMS_MAX, count)) return !n->im->failed;
  for (int i = 0; i < *count; ++i) {
    if (!zb_import_axis(n, given[i], rank, &axes[i])) return false;
    if (seen[axes[i]]) return zb_import_refuse(n, NULL, "axis %d is named twice", axes[i]);
    seen[axes[i]] = true;
  }
  return true;
}

/* `count` numbers of a constant input; false after reporting. *given: it is there, and not empty. */
static bool read_numbers(zb_import_node *n, int input, const char *what, int count, double *out, bool *given) {
  *given = zb_import_has(n, input);
  if (!*given) return true;
  const zb_known *known = zb_import_known(n, input);
  if (!known)
    return zb_import_refuse(n, "give it as a constant (--constants for an input of the model)",
                            "%s (input %d) is not a constant", what, input);
  *given = known->elements > 0;
  if (*given && known->elements != count)
    return zb_import_refuse(n, NULL, "%s has %" PRId64 " entries, expected %d", what, known->elements, count);
  for (int i = 0; *given && i < count; ++i) {
    const bool is_integer = known->shape.dtype == ZB_I64 || known->shape.dtype == ZB_I32;
    out[i] = is_integer ? (double)zb_known_integer(known, i) : zb_known_real(known, i);
    if (!isfinite(out[i])) return zb_import_refuse(n, NULL, "%s: entry %d is not finite", what, i);
  }
  return true;
}

/* Scales that older opsets have as attributes. */
static bool read_old_scales(zb_import_node *n, int rank, double *out, bool *given) {
  int count;
  *given = zb_onnx_attribute(n, "scales") || zb_onnx_attribute(n, "height_scale");
  if (!*given || zb_onnx_attribute(n, "scales")) {
    if (!zb_onnx_floats(n, "scales", out, ZB_DIMS_MAX, &count)) return false;
    return !*given || count == rank || zb_import_refuse(n, NULL, "%d scales of %d dimensions", count, rank);
  }
  for (int i = 0; i < rank; ++i)
    out[i] = i == rank - 1   ? zb_onnx_float(n, "width_scale", 1)
             : i == rank - 2 ? zb_onnx_float(n, "height_scale", 1)
                             : 1;
  return !n->im->failed;
}

/* Sizes by scales, in f32 as ONNX's own shape inference computes them. */
static bool apply_scales(zb_import_node *n, resize *r, const int *axes, int count, const double *scales) {
  for (int i = 0; i < count; ++i) {
    line *l = &r->lines[axes[i]];
    l->scale = scales[i];
    if (!(l->scale > 0)) return zb_import_refuse(n, NULL, "the scale of dimension %d is %g", axes[i], l->scale);
    const double out = (double)floorf((float)l->in * (float)l->scale);
    if (!(out >= 1 && out <= SIZE_MAX_OF_IMAGE))
      return zb_import_refuse(n, NULL, "dimension %d becomes %g long", axes[i], out);
    l->out = (int64_t)out;
  }
  return true;
}

/* Sizes as they are, or one scale for all of them. */
static bool apply_sizes(zb_import_node *n, resize *r, const int *axes, int count, const double *sizes) {
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  const int policy = choice(n, "keep_aspect_ratio_policy", "stretch", policies);
  double common = policy == 1 ? (double)INFINITY : 0;
  if (policy < 0) return false;
  for (int i = 0; i < count; ++i) {
    const double scale = sizes[i] / (double)r->lines[axes[i]].in;
    if (!(sizes[i] >= 1 && sizes[i] <= SIZE_MAX_OF_IMAGE))
      return zb_import_refuse(n, NULL, "dimension %d becomes %g long", axes[i], sizes[i]);
    common = policy == 1 ? fmin(common, scale) : fmax(common, scale);
  }
  for (int i = 0; i < count; ++i) {
    line *l = &r->lines[axes[i]];
    const double out = policy == 0 ? sizes[i] : fmax(floor(common * (double)l->in + 0.5), 1);
    if (out > SIZE_MAX_OF_IMAGE) return zb_import_refuse(n, NULL, "dimension %d becomes %g long", axes[i], out);
    l->out = (int64_t)out;
    l->scale = policy == 0 ? sizes[i] / (double)l->in : common;
  }
  return true;
}

static bool read_lines(zb_import_node *n, resize *r) {
  const bool is_old = zb_onnx_of(n->im)->opset < OPSET_OF_ROI || strcmp(n->op->argument, "upsample") == 0;
  int axes[ZB_DIMS_MAX], count;
  double numbers[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], roi[2 * ZB_DIMS_MAX];
  bool has_scales, has_sizes = false, has_roi = false;
  if (!zb_import_shape(n, 0, &r->x) || !read_axes(n, r->x.rank, axes, &count)) return false;
  for (int i = 0; i < r->x.rank; ++i) {
    r->lines[i] = (line){.in = r->x.dims[i], .out = r->x.dims[i], .scale = 1, .end = 1};
    if (r->x.dims[i] < 1) return zb_import_refuse(n, NULL, "its tensor has no elements");
  }
  if (!read_numbers(n, is_old ? SCALES_OF_OLD : INPUT_SCALES, "the scales", count, numbers, &has_scales) ||
      (is_old && !has_scales && !read_old_scales(n, r->x.rank, numbers, &has_scales)) ||
      (!is_old && !read_numbers(n, INPUT_SIZES, "the sizes", count, sizes, &has_sizes)))
    return false;
  if (has_scales == has_sizes) return zb_import_refuse(n, NULL, "expected either scales or sizes");
  if (r->places == PLACES_CROP && !read_numbers(n, INPUT_ROI, "the roi", 2 * count, roi, &has_roi)) return false;
  if (r->places == PLACES_CROP && !has_roi) return zb_import_refuse(n, NULL, "tf_crop_and_resize needs a roi");
  for (int i = 0; has_roi && i < count; ++i) {
    r->lines[axes[i]].start = roi[i];
    r->lines[axes[i]].end = roi[count + i];
  }
  return has_scales ? apply_scales(n, r, axes, count, numbers) : apply_sizes(n, r, axes, count, sizes);
}

/* ---- Places and weights ---- */

/* Where element o of the result lies among those of the tensor. With align_corners the size of the result is in * scale
 * where it is no whole number, as in ONNX's reference. */
static double place_of(const resize *r, const line *l, int64_t o) {
  const double x = (double)o, width = (double)l->in * l->scale, last = (double)(l->in - 1);
  double place = (x + 0.5) / l->scale - 0.5;
  switch (r->places) {
  case PLACES_HALF_PIXEL:
    break;
  case PLACES_HALF_PIXEL_SYMMETRIC:
    place += (double)l->in / 2 * (1 - (double)l->out / width);
    break;
  case PLACES_PYTORCH_HALF_PIXEL:
    place = l->out > 1 ? place : 0;
    break;
  case PLACES_ALIGN_CORNERS:
    place = l->out > 1 ? x * last / (width - 1) : 0;
    break;
  case PLACES_ASYMMETRIC:
    place = x / l->scale;
    break;
  case PLACES_CROP:
    place =
        l->out > 1 ? l->start * last + x * (l->end - l->start) * last / (width - 1) : (l->start + l->end) * last / 2;
    break;
  case PLACES_HALF_PIXEL_NEAREST:
    place = (x + 0.5) / l->scale;
    break;
  }
  return fmax(fmin(place, SIZE_MAX_OF_IMAGE), -SIZE_MAX_OF_IMAGE);
}

static bool is_inside(const resize *r, const line *l, double place) {
  return r->places != PLACES_CROP || (place >= 0 && place <= (double)(l->in - 1));
}

static double clamped(const line *l, double place) { return fmax(fmin(place, (double)(l->in - 1)), 0); }

static double nearest(const resize *r, double place) {
  switch (r->rounding) {
  case ROUND_PREFER_FLOOR:
    return ceil(place - 0.5);
  case ROUND_PREFER_CEIL:
    return floor(place + 0.5);
  case ROUND_FLOOR:
    return floor(place);
  default:
    return ceil(place);
  }
}

/* The weight of an element at a distance: a triangle, or Keys' cubic with its parameter. */
static double weight_at(const resize *r, double distance) {
  const double a = r->cubic, d = fabs(distance);
  if (r->mode == MODE_LINEAR) return fmax(1 - d, 0);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Weights of one element of the result. What lies outside is the element at the edge, or left out. With antialias
 * weights are those of wider distances where the result is smaller. */
static void add_weights(const resize *r, const line *l, double place, zb_known *matrix, int64_t row) {
  const double shrink = r->antialias ? fmin(l->scale, 1) : 1, reach = (r->mode == MODE_LINEAR ? 1 : 2) / shrink;
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

static zb_operand gathered(zb_import_node *n, const resize *r, int axis, zb_operand x) {
  const line *l = &r->lines[axis];
  int64_t *places = zb_import_take(n->im, (size_t)l->out * sizeof *places);
  for (int64_t o = 0; places && o < l->out; ++o)
    places[o] = (int64_t)clamped(l, nearest(r, place_of(r, l, o)));
  return places ? zb_meaning_take(n, x, places, l->out, axis) : NULL;
}

static zb_operand weighted(zb_import_node *n, const resize *r, int axis, zb_operand x) {
  const line *l = &r->lines[axis];
  const zb_dtype dtype = r->x.dtype == ZB_F64 ? ZB_F64 : ZB_F32;
  zb_known *matrix = zb_known_new(n->im, &(zb_shape){.dtype = dtype, .rank = 2, .dims = {l->out, l->in}});
  for (int64_t o = 0; matrix && o < l->out; ++o)
    add_weights(r, l, place_of(r, l, o), matrix, o);
  return zb_spatial_multiplied(n, x, axis, matrix);
}

/* The value for what lies outside, along one dimension. */
static zb_operand extrapolated(zb_import_node *n, const resize *r, int axis, zb_operand x) {
  const line *l = &r->lines[axis];
  zb_shape shape = {.dtype = ZB_I1, .rank = r->x.rank};
  bool any = false;
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
                          zb_operand_scalar(n, r->x.dtype, r->extrapolation));
}

zb_result zb_onnx_resize(zb_import_node *n) {
  resize r = {.mode = MODE_NEAREST};
  if (!read_modes(n, &r) || !read_lines(n, &r)) return n->im->failed = true, ZB_FAIL;
  const bool is_real = r.x.dtype != ZB_I64 && r.x.dtype != ZB_I32 && r.x.dtype != ZB_I1;
  if (!is_real && r.mode != MODE_NEAREST)
    return zb_import_refuse(n, "cast it to float32", "integers are interpolated by 'nearest' alone");
  zb_operand x = zb_operand_in(n, 0);
  for (int i = 0; i < r.x.rank && x; ++i) {
    const line *l = &r.lines[i];
    if (l->in == l->out && l->scale == 1 && (r.places != PLACES_CROP || (l->start == 0 && l->end == 1))) continue;
    x = r.mode == MODE_NEAREST ? gathered(n, &r, i, x) : weighted(n, &r, i, x);
  }
  for (int i = 0; i < r.x.rank && x && r.places == PLACES_CROP; ++i)
    x = extrapolated(n, &r, i, x);
  return zb_operand_give(n, 0, x);
}
