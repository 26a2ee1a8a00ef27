/* Convolutions, pooling and interpolation, for every importer: what an operator says of windows as plain numbers, and
 * the ops that it becomes. Functions give NULL after an error, which they report at the node.
 *
 * A maximum over windows is zb.max_place and zb.gather_elements, whose gradient goes to the places. What is linear and
 * treats each spatial dimension alike (averages, sums, interpolation) is a product with a constant matrix
 * [out, in] along each dimension: nothing is kept for its gradient, which is the product with the transposed one.
 * Tests: test/ir/import/import_test.c, test/e2e/windows.py.
 */
#pragma once

#include "ir/import/meaning/meaning.h"

enum { ZB_SPATIAL_MAX = 3 };

/* Windows over the last `rank` dimensions of a tensor. */
typedef struct zb_spatial {
  int rank;
  int64_t in[ZB_SPATIAL_MAX], out[ZB_SPATIAL_MAX]; /* sizes of images, windows along each */
  int64_t kernel[ZB_SPATIAL_MAX], strides[ZB_SPATIAL_MAX], dilations[ZB_SPATIAL_MAX];
  int64_t before[ZB_SPATIAL_MAX], after[ZB_SPATIAL_MAX]; /* pads; negative ones crop */
} zb_spatial;

/* The last `rank` dimensions of the shape are the images, with kernel, strides and dilations of 1 and no pads; false
 * after reporting that there are not so many, and `least` before them. */
bool zb_spatial_start(zb_import_node *n, const zb_shape *shape, int rank, int least, zb_spatial *s);
/* Sets how many windows there are, rounded up if so asked (the last one begins before what pads are behind it); false
 * after reporting numbers that are out of range, or that there is none. */
bool zb_spatial_count(zb_import_node *n, zb_spatial *s, bool round_up);

/* Sets the pads behind so that there are that many windows, as a transposed convolution of that many has them: fewer
 * than none where its result is cropped. False after reporting numbers that are out of range. */
bool zb_spatial_fit(zb_import_node *n, zb_spatial *s, const int64_t *windows);

/* zb.conv of x [n, c, ..] and weight, and a bias a channel (may be NULL). */
zb_operand zb_spatial_conv(zb_import_node *n, zb_operand x, zb_operand weight, zb_operand bias, const zb_spatial *s,
                           int64_t groups);
/* zb.conv_transpose: s->in are the sizes of the result. */
zb_operand zb_spatial_conv_transpose(zb_import_node *n, zb_operand x, zb_operand weight, zb_operand bias,
                                     const zb_spatial *s, int64_t groups);

/* The greatest element of every window; places (may be NULL): the i32 numbers of these elements in their images. */
zb_operand zb_spatial_max(zb_import_node *n, zb_operand x, const zb_spatial *s, zb_operand *places);

/* Sets windows as large as parts of the image, s->out along each dimension; false after reporting that these are not of
 * one size. */
bool zb_spatial_part(zb_import_node *n, zb_spatial *s);

/* What windows give, along each dimension alike: a sum; a mean over what lies in the image; or in image and pads. */
typedef enum zb_spatial_sum { ZB_SPATIAL_SUM, ZB_SPATIAL_MEAN, ZB_SPATIAL_MEAN_PADDED } zb_spatial_sum;
zb_operand zb_spatial_pool(zb_import_node *n, zb_operand x, const zb_spatial *s, zb_spatial_sum kind);
/* The mean (zb.reduce_mean), or another reduction, of all of an image, as an image of one element. */
zb_operand zb_spatial_global(zb_import_node *n, zb_operand x, int rank, const char *reduction);
/* x with dimension `axis` multiplied by the matrix [out, in]. */
zb_operand zb_spatial_multiplied(zb_import_node *n, zb_operand x, int axis, zb_known *matrix);
/* Means of parts of the image, `out` along each dimension, from floor(o * in / out) to ceil((o + 1) * in / out). */
zb_operand zb_spatial_adaptive_mean(zb_import_node *n, zb_operand x, const zb_spatial *s);

typedef enum zb_resize_mode { ZB_RESIZE_NEAREST, ZB_RESIZE_LINEAR, ZB_RESIZE_CUBIC } zb_resize_mode;
typedef enum zb_resize_rounding {
  ZB_ROUND_PREFER_FLOOR,
  ZB_ROUND_PREFER_CEIL,
  ZB_ROUND_FLOOR,
  ZB_ROUND_CEIL
} zb_resize_rounding;
/* Where an element of the result lies, as ONNX's coordinate_transformation_mode names it. */
typedef enum zb_resize_places {
  ZB_PLACES_HALF_PIXEL,
  ZB_PLACES_HALF_PIXEL_SYMMETRIC,
  ZB_PLACES_PYTORCH_HALF_PIXEL,
  ZB_PLACES_ALIGN_CORNERS,
  ZB_PLACES_ASYMMETRIC,
  ZB_PLACES_CROP,
  ZB_PLACES_HALF_PIXEL_NEAREST
} zb_resize_places;
enum { ZB_RESIZE_MAX = 1 << 30 }; /* elements of a dimension */
/* One dimension: sizes, out / in as the model says it, and the part of it that is seen, of ZB_PLACES_CROP. step above
 * 0: element o lies at o * step, in f32. */
typedef struct zb_resize_line {
  int64_t in, out;
  double scale, start, end;
  float step;
} zb_resize_line;
typedef struct zb_resize {
  zb_resize_mode mode;
  zb_resize_rounding rounding; /* of the nearest */
  zb_resize_places places;
  bool antialias, excludes_outside;
  double cubic, extrapolation; /* the parameter of cubic weights; what lies outside of ZB_PLACES_CROP */
  zb_resize_line lines[ZB_DIMS_MAX];
} zb_resize;
zb_operand zb_spatial_resized(zb_import_node *n, zb_operand x, const zb_resize *r);
/* As torch.nn.functional.interpolate has it, of sizes s->in to s->out; scales[d]: as the model says it, or 0. */
zb_operand zb_spatial_interpolated(zb_import_node *n, zb_operand x, const zb_spatial *s, bool is_linear,
                                   bool align_corners, const double *scales);

typedef struct zb_spatial_sampling {
  const char *mode, *padding; /* "bilinear" and the like; "zeros", "border", "reflection" */
  bool align_corners;
  bool is_paddle; /* as Paddle has it, else as ONNX */
} zb_spatial_sampling;
/* The image [n, c, ..] at the places of the grid [n, .., k], of -1 to 1 along each dimension, the last one first. */
zb_operand zb_spatial_sampled(zb_import_node *n, zb_operand image, zb_operand grid, const zb_spatial_sampling *how);
