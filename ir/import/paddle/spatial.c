/* Convolutions, pooling, and normalizations by channels. Images have the channels before them (NCHW, NCL, NCDHW).
 * Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"
#include "ir/import/meaning/spatial.h"

#include <string.h>

/* ---- Windows ---- */

static bool check_layout(zb_import_node *n) {
  const char *layout = zb_paddle_text(n, "data_format data_layout", "NCHW");
  if (strncmp(layout, "NC", 2) == 0 || strcmp(layout, "AnyLayout") == 0) return true;
  return zb_import_refuse(n, "give layers data_format=\"NCHW\"", "its data_format '%s' is not supported", layout);
}

/* An attribute of one number a spatial dimension; absent or empty: left as it is. */
static bool read_numbers(zb_import_node *n, const char *names, const char *slot, int rank, int64_t *out) {
  int64_t numbers[ZB_SPATIAL_MAX];
  int count;
  if (!zb_paddle_integers(n, names, slot, numbers, ZB_SPATIAL_MAX, &count)) return false;
  if (count <= 0) return true;
  if (count != rank && count != 1) return zb_paddle_refuse_attribute(n, names, NULL);
  for (int d = 0; d < rank; ++d)
    out[d] = numbers[count == 1 ? 0 : d];
  return true;
}

/* One pad a dimension for both sides, or one for each side. */
static bool read_explicit_pads(zb_import_node *n, zb_spatial *s) {
  int64_t pads[2 * ZB_SPATIAL_MAX];
  int count;
  if (!zb_paddle_integers(n, "paddings", NULL, pads, 2 * ZB_SPATIAL_MAX, &count)) return false;
  if (count <= 0) return true;
  if (count != s->rank && count != 2 * s->rank) return zb_paddle_refuse_attribute(n, "paddings", NULL);
  for (int d = 0; d < s->rank; ++d) {
    s->before[d] = pads[count == s->rank ? d : 2 * d];
    s->after[d] = pads[count == s->rank ? d : 2 * d + 1];
  }
  return true;
}

/* Behind kernel and strides. SAME, with which Paddle does not dilate: as many windows as strides fit in the image. */
static bool read_pads(zb_import_node *n, const int64_t *image, zb_spatial *s) {
  const char *algorithm = zb_paddle_text(n, "padding_algorithm", "EXPLICIT");
  if (strcmp(algorithm, "VALID") == 0) return true;
  if (strcmp(algorithm, "EXPLICIT") == 0) return read_explicit_pads(n, s);
  if (strcmp(algorithm, "SAME") != 0)
    return zb_paddle_refuse_attribute(n, "padding_algorithm", "EXPLICIT, SAME, VALID");
  for (int d = 0; d < s->rank; ++d) {
    if (s->strides[d] < 1) return zb_paddle_refuse_attribute(n, "strides", NULL);
    const int64_t windows = (image[d] + s->strides[d] - 1) / s->strides[d];
    const int64_t missing = (windows - 1) * s->strides[d] + s->kernel[d] - image[d];
    s->dilations[d] = 1;
    s->before[d] = missing > 0 ? missing / 2 : 0;
    s->after[d] = missing > 0 ? missing - missing / 2 : 0;
  }
  return true;
}

/* The shape that the program declares for a result. */
static bool declared_shape(zb_import_node *n, const char *slot, int rank, zb_shape *out) {
  const zb_paddle_value *value = zb_paddle_output(zb_paddle_source(n), slot);
  if (value && value->is_typed && value->is_static && value->shape.rank == rank) return *out = value->shape, true;
  return zb_import_refuse(n, n->im->format->types_hint, "its result %s has no shape of %d dimensions", slot, rank);
}

/* ---- Convolutions ---- */

/* Programs that passes have fused have ops of these names that do more. */
static bool check_unfused(zb_import_node *n) {
  static const char *const flags[] = {"fuse_relu", "fuse_with_relu", "fuse_relu_before_depthwise_conv",
                                      "fuse_residual_connection"};
  bool is_fused = *zb_paddle_text(n, "fuse_activation", "");
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
    is_fused |= zb_paddle_integer(n, flags[i], 0) != 0;
  return !is_fused || zb_import_refuse(n, "save the program before passes fuse its ops", "another op is fused into it");
}

static bool read_convolution(zb_import_node *n, const zb_shape *image, const zb_shape *filters, zb_spatial *s) {
  if (filters->rank != image->rank)
    return zb_import_refuse(n, NULL, "Filter has %d dimensions, expected %d", filters->rank, image->rank);
  if (!check_layout(n) || !check_unfused(n) || !zb_spatial_start(n, image, image->rank - 2, 2, s)) return false;
  memcpy(s->kernel, filters->dims + 2, (size_t)s->rank * sizeof *s->kernel);
  return read_numbers(n, "strides", NULL, s->rank, s->strides) &&
         read_numbers(n, "dilations", NULL, s->rank, s->dilations);
}

zb_result zb_paddle_convolution(zb_import_node *n) {
  zb_shape image, filters;
  zb_spatial s;
  zb_operand x = zb_paddle_in(n, "Input"), weight = zb_paddle_in(n, "Filter");
  if (!zb_operand_shape(n, x, &image) || !zb_operand_shape(n, weight, &filters)) return ZB_FAIL;
  if (!read_convolution(n, &image, &filters, &s) || !read_pads(n, s.in, &s) || !zb_spatial_count(n, &s, false))
    return ZB_FAIL;
  const int64_t groups = zb_paddle_integer(n, "groups", 1);
  return zb_paddle_give(n, "Output", zb_spatial_conv(n, x, weight, NULL, &s, groups));
}

/* Pads and windows are those of the convolution that it is the transpose of, whose image is the result. */
zb_result zb_paddle_convolution_transpose(zb_import_node *n) {
  zb_shape image, filters, made;
  zb_spatial s;
  zb_operand x = zb_paddle_in(n, "Input"), weight = zb_paddle_in(n, "Filter");
  if (!zb_operand_shape(n, x, &image) || !zb_operand_shape(n, weight, &filters)) return ZB_FAIL;
  if (!declared_shape(n, "Output", image.rank, &made) || !read_convolution(n, &made, &filters, &s) ||
      !read_pads(n, image.dims + 2, &s) || !zb_spatial_fit(n, &s, image.dims + 2))
    return ZB_FAIL;
  const int64_t groups = zb_paddle_integer(n, "groups", 1);
  return zb_paddle_give(n, "Output", zb_spatial_conv_transpose(n, x, weight, NULL, &s, groups));
}

/* ---- Pooling ---- */

typedef struct pool {
  zb_operand x;
  zb_spatial s;
  bool is_adaptive; /* s.out are the sizes of the result */
} pool;

/* Windows whose number is the one that the program declares: with ceil_mode Paddle may have one more than others. */
static bool read_windows(zb_import_node *n, pool *p, const zb_shape *image) {
  zb_shape made;
  zb_spatial *s = &p->s;
  if (!read_numbers(n, "strides", NULL, s->rank, s->strides)) return false;
  if (zb_paddle_integer(n, "global_pooling", 0)) {
    memcpy(s->kernel, s->in, sizeof s->kernel);
    memset(s->before, 0, sizeof s->before);
    memset(s->after, 0, sizeof s->after);
  } else if (!read_pads(n, s->in, s)) {
    return false;
  }
  if (!zb_spatial_count(n, s, zb_paddle_integer(n, "ceil_mode", 0)) || !declared_shape(n, "Out", image->rank, &made))
    return false;
  if (memcmp(s->out, made.dims + image->rank - s->rank, (size_t)s->rank * sizeof *s->out) == 0) return true;
  return zb_import_refuse(n, "leave ceil_mode out, or make strides fit", "it has windows that begin behind the image");
}

static bool read_pool(zb_import_node *n, pool *p) {
  zb_shape image;
  p->x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, p->x, &image) || !check_layout(n)) return false;
  if (!zb_spatial_start(n, &image, image.rank - 2, 1, &p->s)) return false;
  p->is_adaptive = zb_paddle_integer(n, "adaptive", 0);
  if (!read_numbers(n, "ksize kernel_size", "KSize", p->s.rank, p->is_adaptive ? p->s.out : p->s.kernel)) return false;
  if (!p->is_adaptive) return read_windows(n, p, &image);
  for (int d = 0; d < p->s.rank; ++d)
    if (p->s.in[d] < 1 || p->s.out[d] < 1) return zb_import_refuse(n, NULL, "an image is empty");
  return true;
}

static zb_result give_maximum(zb_import_node *n, pool *p) {
  if (p->is_adaptive && !zb_spatial_part(n, &p->s)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_spatial_max(n, p->x, &p->s, NULL));
}

zb_result zb_paddle_pool(zb_import_node *n) {
  pool p;
  const char *type = zb_paddle_text(n, "pooling_type", "max");
  if (!read_pool(n, &p)) return ZB_FAIL;
  if (strcmp(type, "max") == 0) return give_maximum(n, &p);
  if (strcmp(type, "avg") != 0) return zb_paddle_refuse_attribute(n, "pooling_type", "max and avg are supported");
  if (p.is_adaptive) return zb_paddle_give(n, "Out", zb_spatial_adaptive_mean(n, p.x, &p.s));
  const bool leaves_out_pads = zb_paddle_integer(n, "exclusive", 1);
  const zb_spatial_sum kind = leaves_out_pads ? ZB_SPATIAL_MEAN : ZB_SPATIAL_MEAN_PADDED;
  return zb_paddle_give(n, "Out", zb_spatial_pool(n, p.x, &p.s, kind));
}

zb_result zb_paddle_max_pool(zb_import_node *n) {
  pool p;
  if (!read_pool(n, &p) || !zb_paddle_check_unread(n, "Mask")) return ZB_FAIL;
  return give_maximum(n, &p);
}

/* ---- Interpolation ---- */

/* The result has the sizes that the program declares; where it says scales, places are those of the scales. */
zb_result zb_paddle_interpolate(zb_import_node *n) {
  static const char *const slots[] = {"OutSize", "SizeTensor", "Scale"};
  zb_shape in;
  zb_spatial s;
  double scales[ZB_SPATIAL_MAX] = {0};
  const bool is_linear = strcmp(n->op->argument, "linear") == 0;
  const bool aligns = zb_paddle_integer(n, "align_corners", 0) != 0;
  zb_operand x = zb_paddle_in(n, "X");
  const zb_paddle_value *out = zb_paddle_output(zb_paddle_source(n), "Out");
  const zb_paddle_attribute *given = zb_paddle_find(zb_paddle_source(n), "scale");
  if (!check_layout(n) || !zb_operand_shape(n, x, &in)) return ZB_FAIL;
  for (size_t i = 0; i < sizeof slots / sizeof *slots; ++i)
    if (zb_paddle_has(n, slots[i]))
      return zb_import_refuse(n, "give sizes and scales as numbers", "its operand %s is not supported", slots[i]);
  if (is_linear && !aligns && zb_paddle_integer(n, "align_mode", 1) != 0)
    return zb_paddle_refuse_attribute(n, "align_mode", "0");
  if (in.rank < 3 || !out || !out->is_static || out->shape.rank != in.rank)
    return zb_import_refuse(n, NULL, "the sizes of its result are not known");
  if (!zb_spatial_start(n, &in, in.rank - 2, 2, &s)) return ZB_FAIL;
  for (int d = 0; d < s.rank; ++d) {
    s.out[d] = out->shape.dims[d + 2];
    if (given && given->kind == ZB_PADDLE_REALS && given->count > 0)
      scales[d] = given->reals[given->count == s.rank ? d : 0];
    if (s.out[d] < 1 || !(scales[d] >= 0)) return zb_paddle_refuse_attribute(n, "scale", NULL);
  }
  return zb_paddle_give(n, "Out", zb_spatial_interpolated(n, x, &s, is_linear, aligns, scales));
}

/* ---- Normalizations ---- */

zb_result zb_paddle_group_norm(zb_import_node *n) {
  const double epsilon = zb_paddle_real(n, "epsilon", 1e-5);
  if (!check_layout(n) || !zb_paddle_check_unread(n, "Mean Variance")) return ZB_FAIL;
  return zb_paddle_give(n, "Y",
                        zb_meaning_group_norm(n, zb_paddle_in(n, "X"), zb_paddle_integer(n, "groups", 1),
                                              zb_paddle_optional(n, "Scale"), zb_paddle_optional(n, "Bias"), false,
                                              epsilon));
}

/* Each channel is a group. */
zb_result zb_paddle_instance_norm(zb_import_node *n) {
  zb_shape in;
  const double epsilon = zb_paddle_real(n, "epsilon", 1e-5);
  zb_operand x = zb_paddle_in(n, "X");
  if (!check_layout(n) || !zb_paddle_check_unread(n, "SavedMean SavedVariance") || !zb_operand_shape(n, x, &in))
    return ZB_FAIL;
  return zb_paddle_give(n, "Y",
                        zb_meaning_group_norm(n, x, in.rank > 1 ? in.dims[1] : 0, zb_paddle_optional(n, "Scale"),
                                              zb_paddle_optional(n, "Bias"), false, epsilon));
}

bool zb_paddle_batch_norm_trains(zb_import_node *n) {
  return !zb_paddle_integer(n, "is_test", 0) && !zb_paddle_integer(n, "use_global_stats", 0) &&
         !n->im->params->inference;
}

/* New running statistics have the biased variance, as Paddle's on CPUs. */
zb_result zb_paddle_batch_norm(zb_import_node *n) {
  static const char *const slots[] = {"Mean", "Variance"}, *const updated[] = {"MeanOut", "VarianceOut"};
  const bool trains = zb_paddle_batch_norm_trains(n);
  const double keeps = zb_paddle_real(n, "momentum", 0.9);
  zb_batch_norm norm = {.x = zb_paddle_in(n, "X"),
                        .scale = zb_paddle_optional(n, "Scale"),
                        .bias = zb_paddle_optional(n, "Bias"),
                        .trains = trains,
                        .epsilon = zb_paddle_real(n, "epsilon", 1e-5)};
  zb_running *const running[] = {&norm.mean, &norm.variance};
  if (!check_layout(n) || !check_unfused(n) || !zb_paddle_check_unread(n, "SavedMean SavedVariance ReserveSpace"))
    return ZB_FAIL;
  for (int i = 0; i < 2; ++i) {
    zb_operand old = zb_paddle_in(n, slots[i]);
    *running[i] = (zb_running){.old = old, .first = old, .keeps = keeps, .takes = 1 - keeps, .wanted = true};
  }
  zb_operand out = zb_meaning_batch_norm(n, &norm);
  for (int i = 0; i < 2 && out; ++i)
    if (!zb_paddle_give(n, updated[i], trains ? running[i]->updated : running[i]->old)) return ZB_FAIL;
  return zb_paddle_give(n, "Y", out);
}

zb_result zb_paddle_grid_sample(zb_import_node *n) {
  const zb_spatial_sampling how = {zb_paddle_text(n, "mode", "bilinear"), zb_paddle_text(n, "padding_mode", "zeros"),
                                   zb_paddle_integer(n, "align_corners", 1) != 0, true};
  return zb_paddle_give(n, "Output", zb_spatial_sampled(n, zb_paddle_in(n, "X"), zb_paddle_in(n, "Grid"), &how));
}
