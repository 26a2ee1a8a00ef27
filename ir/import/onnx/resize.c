/* Resize and Upsample: what a node of any opset says of each dimension. Tests: test/ir/import/import_test.c,
 * test/e2e/onnx_nodes.py, test/e2e/onnx_gradients.py. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/meaning/spatial.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Inputs of Resize since opset 11; before, and of Upsample, the scales are input 1. */
enum { INPUT_ROI = 1, INPUT_SCALES, INPUT_SIZES, SCALES_OF_OLD = 1, OPSET_OF_ROI = 11 };
static const double SIZE_MAX_OF_IMAGE = ZB_RESIZE_MAX;

static const char *const MODES[] = {"nearest", "linear", "cubic", NULL};
static const char *const ROUNDINGS[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const PLACES[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
                                     "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};

/* ---- What the node says ---- */

/* The number of an attribute's value in a list; -1 after reporting. */
static int choice(zb_import_node *n, const char *name, const char *fallback, const char *const *values) {
  char text[64];
  zb_onnx_string(n, name, fallback, text, sizeof text);
  if (strcmp(name, "mode") == 0 && (strcmp(text, "bilinear") == 0 || strcmp(text, "trilinear") == 0))
    return ZB_RESIZE_LINEAR; /* of opset 1 */
  for (int i = 0; values[i] && !n->im->failed; ++i)
    if (strcmp(text, values[i]) == 0) return i;
  zb_import_refuse(n, NULL, "%s '%s' is not supported", name, text);
  return -1;
}

static bool read_modes(zb_import_node *n, zb_resize *r) {
  const bool is_old = zb_onnx_of(n->im)->opset < OPSET_OF_ROI || strcmp(n->op->argument, "upsample") == 0;
  const int mode = choice(n, "mode", "nearest", MODES);
  const int rounding = choice(n, "nearest_mode", is_old ? "floor" : "round_prefer_floor", ROUNDINGS);
  const int places = choice(n, "coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel", PLACES);
  if (mode < 0 || rounding < 0 || places < 0) return false;
  r->mode = (zb_resize_mode)mode;
  r->rounding = (zb_resize_rounding)rounding;
  r->places = (zb_resize_places)places;
  r->antialias = zb_onnx_int(n, "antialias", 0) != 0 && r->mode != ZB_RESIZE_NEAREST;
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
static bool apply_scales(zb_import_node *n, zb_resize *r, const int *axes, int count, const double *scales) {
  for (int i = 0; i < count; ++i) {
    zb_resize_line *l = &r->lines[axes[i]];
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
static bool apply_sizes(zb_import_node *n, zb_resize *r, const int *axes, int count, const double *sizes) {
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
    zb_resize_line *l = &r->lines[axes[i]];
    const double out = policy == 0 ? sizes[i] : fmax(floor(common * (double)l->in + 0.5), 1);
    if (out > SIZE_MAX_OF_IMAGE) return zb_import_refuse(n, NULL, "dimension %d becomes %g long", axes[i], out);
    l->out = (int64_t)out;
    l->scale = policy == 0 ? sizes[i] / (double)l->in : common;
  }
  return true;
}

static bool read_lines(zb_import_node *n, zb_shape *x, zb_resize *r) {
  const bool is_old = zb_onnx_of(n->im)->opset < OPSET_OF_ROI || strcmp(n->op->argument, "upsample") == 0;
  int axes[ZB_DIMS_MAX], count;
  double numbers[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], roi[2 * ZB_DIMS_MAX];
  bool has_scales, has_sizes = false, has_roi = false;
  if (!zb_import_shape(n, 0, x) || !read_axes(n, x->rank, axes, &count)) return false;
  for (int i = 0; i < x->rank; ++i) {
    r->lines[i] = (zb_resize_line){.in = x->dims[i], .out = x->dims[i], .scale = 1, .end = 1};
    if (x->dims[i] < 1) return zb_import_refuse(n, NULL, "its tensor has no elements");
  }
  if (!read_numbers(n, is_old ? SCALES_OF_OLD : INPUT_SCALES, "the scales", count, numbers, &has_scales) ||
      (is_old && !has_scales && !read_old_scales(n, x->rank, numbers, &has_scales)) ||
      (!is_old && !read_numbers(n, INPUT_SIZES, "the sizes", count, sizes, &has_sizes)))
    return false;
  if (has_scales == has_sizes) return zb_import_refuse(n, NULL, "expected either scales or sizes");
  if (r->places == ZB_PLACES_CROP && !read_numbers(n, INPUT_ROI, "the roi", 2 * count, roi, &has_roi)) return false;
  if (r->places == ZB_PLACES_CROP && !has_roi) return zb_import_refuse(n, NULL, "tf_crop_and_resize needs a roi");
  for (int i = 0; has_roi && i < count; ++i) {
    r->lines[axes[i]].start = roi[i];
    r->lines[axes[i]].end = roi[count + i];
  }
  return has_scales ? apply_scales(n, r, axes, count, numbers) : apply_sizes(n, r, axes, count, sizes);
}

zb_result zb_onnx_resize(zb_import_node *n) {
  zb_resize r = {.mode = ZB_RESIZE_NEAREST};
  zb_shape x;
  if (!read_modes(n, &r) || !read_lines(n, &x, &r)) return n->im->failed = true, ZB_FAIL;
  const bool is_real = x.dtype != ZB_I64 && x.dtype != ZB_I32 && x.dtype != ZB_I1;
  if (!is_real && r.mode != ZB_RESIZE_NEAREST)
    return zb_import_refuse(n, "cast it to float32", "integers are interpolated by 'nearest' alone");
  return zb_operand_give(n, 0, zb_spatial_resized(n, zb_operand_in(n, 0), &r));
}
