/* Convolutions, pooling and interpolation. Tests: test/ir/import/aten, test/e2e/windows.py. */
#include "ir/import/aten/aten.h"
#include "ir/import/meaning/spatial.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* The result, and places of maxima where they are read. */
static zb_result give_maxima(zb_import_node *n, const zb_spatial *s) {
  zb_operand places;
  if (!zb_operand_give(n, 0, zb_spatial_max(n, zb_operand_in(n, 0), s, &places))) return ZB_FAIL;
  return zb_import_wants(n, 1) ? zb_operand_give(n, 1, zb_operand_cast(n, places, ZB_I64)) : ZB_OK;
}

/* An argument of one number a spatial dimension, or one for all; absent or empty: left as it is. */
static bool read_numbers(zb_import_node *n, const char *name, int rank, int64_t *out) {
  int64_t numbers[ZB_SPATIAL_MAX];
  int count;
  if (!zb_aten_ints(n, name, numbers, ZB_SPATIAL_MAX, &count)) return !n->im->failed;
  if (count == 0) return true;
  if (count != rank && count != 1) return zb_aten_refuse_argument(n, name, NULL);
  for (int d = 0; d < rank; ++d)
    out[d] = numbers[count == 1 ? 0 : d];
  return true;
}

static bool read_windows(zb_import_node *n, zb_spatial *s) {
  if (!read_numbers(n, "stride", s->rank, s->strides) || !read_numbers(n, "dilation", s->rank, s->dilations) ||
      !read_numbers(n, "padding", s->rank, s->before))
    return false;
  memcpy(s->after, s->before, sizeof s->after);
  return true;
}

zb_result zb_aten_convolution(zb_import_node *n) {
  zb_shape x, weight, made;
  zb_spatial s;
  const int64_t groups = zb_aten_int(n, "groups", 1);
  const bool is_transposed = zb_aten_flag(n, "transposed", false);
  if (!zb_import_shape(n, 0, &x) || !zb_import_shape(n, 1, &weight) || !zb_aten_result_shape(n, 0, &made))
    return ZB_FAIL;
  if (x.rank != weight.rank || made.rank != x.rank)
    return zb_import_refuse(n, NULL, "the weight has %d dimensions, expected %d", weight.rank, x.rank);
  if (!zb_spatial_start(n, is_transposed ? &made : &x, x.rank - 2, 2, &s) || !read_windows(n, &s)) return ZB_FAIL;
  memcpy(s.kernel, weight.dims + 2, (size_t)s.rank * sizeof *s.kernel);
  if (is_transposed ? !zb_spatial_fit(n, &s, x.dims + 2) : !zb_spatial_count(n, &s, false)) return ZB_FAIL;
  zb_operand (*const convolve)(zb_import_node *, zb_operand, zb_operand, zb_operand, const zb_spatial *, int64_t) =
      is_transposed ? zb_spatial_conv_transpose : zb_spatial_conv;
  return zb_operand_give(n, 0,
                         convolve(n, zb_operand_in(n, 0), zb_operand_in(n, 1), zb_operand_optional(n, 2), &s, groups));
}

/* Kernel, which strides are as large as unless they are given, and how many windows there are. */
static bool read_pool(zb_import_node *n, zb_spatial *s) {
  zb_shape x;
  const int rank = n->op->argument[0] - '0';
  if (!zb_import_shape(n, 0, &x) || !zb_spatial_start(n, &x, rank, 1, s)) return false;
  if (!read_numbers(n, "kernel_size", rank, s->kernel)) return false;
  memcpy(s->strides, s->kernel, sizeof s->strides);
  return read_windows(n, s) && zb_spatial_count(n, s, zb_aten_flag(n, "ceil_mode", false));
}

zb_result zb_aten_max_pool(zb_import_node *n) {
  zb_spatial s;
  return read_pool(n, &s) ? give_maxima(n, &s) : ZB_FAIL;
}

zb_result zb_aten_avg_pool(zb_import_node *n) {
  zb_spatial s;
  const int64_t divisor = zb_aten_has(n, "divisor_override") ? zb_aten_int(n, "divisor_override", 0) : 0;
  const bool is_padded = zb_aten_flag(n, "count_include_pad", true);
  if (!read_pool(n, &s)) return ZB_FAIL;
  if (zb_aten_has(n, "divisor_override") && divisor == 0) return zb_aten_refuse_argument(n, "divisor_override", NULL);
  const zb_spatial_sum kind = divisor ? ZB_SPATIAL_SUM : is_padded ? ZB_SPATIAL_MEAN_PADDED : ZB_SPATIAL_MEAN;
  zb_operand out = zb_spatial_pool(n, zb_operand_in(n, 0), &s, kind);
  return zb_operand_give(n, 0, divisor ? zb_meaning_line(n, out, 1 / (double)divisor, 0) : out);
}

/* The sizes of the result are those that the text declares. */
static bool read_sizes(zb_import_node *n, zb_spatial *s) {
  zb_shape x, made;
  const int rank = n->op->argument[0] - '0';
  if (!zb_import_shape(n, 0, &x) || !zb_aten_result_shape(n, 0, &made)) return false;
  if (!zb_spatial_start(n, &x, rank, 1, s)) return false;
  if (made.rank != x.rank) return zb_import_refuse(n, NULL, "its result has %d dimensions", made.rank);
  memcpy(s->out, made.dims + made.rank - rank, (size_t)rank * sizeof *s->out);
  for (int d = 0; d < rank; ++d)
    if (s->in[d] < 1 || s->out[d] < 1) return zb_import_refuse(n, NULL, "an image is empty");
  return true;
}

zb_result zb_aten_adaptive_mean(zb_import_node *n) {
  zb_spatial s;
  return read_sizes(n, &s) ? zb_operand_give(n, 0, zb_spatial_adaptive_mean(n, zb_operand_in(n, 0), &s)) : ZB_FAIL;
}

/* Maxima of parts of the image, which are windows where all of them are of one size. */
zb_result zb_aten_adaptive_max(zb_import_node *n) {
  zb_spatial s;
  return read_sizes(n, &s) && zb_spatial_part(n, &s) ? give_maxima(n, &s) : ZB_FAIL;
}

/* scale_factors: a number a spatial dimension, or none. */
static bool read_scales(zb_import_node *n, int rank, double *out) {
  MlirAttribute list = zb_aten_attribute(n, "scale_factors");
  if (!list.ptr) return true;
  if (!mlirAttributeIsAArray(list) || mlirArrayAttrGetNumElements(list) != rank)
    return zb_aten_refuse_argument(n, "scale_factors", NULL);
  for (int d = 0; d < rank; ++d) {
    MlirAttribute scale = mlirArrayAttrGetElement(list, d);
    if (!mlirAttributeIsAFloat(scale)) return zb_aten_refuse_argument(n, "scale_factors", NULL);
    out[d] = mlirFloatAttrGetValueDouble(scale);
  }
  return true;
}

zb_result zb_aten_interpolate(zb_import_node *n) {
  zb_spatial s;
  double scales[ZB_SPATIAL_MAX] = {0};
  const bool is_linear = strstr(n->op->argument, "linear") != NULL;
  const bool aligns = zb_aten_flag(n, "align_corners", false);
  if (!read_sizes(n, &s) || !read_scales(n, s.rank, scales)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_spatial_interpolated(n, zb_operand_in(n, 0), &s, is_linear, aligns, scales));
}

zb_result zb_aten_grid_sample(zb_import_node *n) {
  static const char *const modes[] = {"bilinear", "nearest", "bicubic"}, *const paddings[] = {"zeros", "border",
                                                                                              "reflection"};
  const int64_t mode = zb_aten_int(n, "interpolation_mode", 0), padding = zb_aten_int(n, "padding_mode", 0);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return zb_aten_refuse_argument(n, "padding_mode", NULL);
  const zb_spatial_sampling how = {modes[mode], paddings[padding], zb_aten_flag(n, "align_corners", false), false};
  return zb_operand_give(n, 0, zb_spatial_sampled(n, zb_operand_in(n, 0), zb_operand_in(n, 1), &how));
}
