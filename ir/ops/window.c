/* zb.conv, zb.conv_transpose and zb.conv_weight, which are each other's gradients, and zb.max_place.
 *
 *   out = conv(x, weight)               dx = conv_transpose(dout, weight)    dweight = conv_weight(x, dout)
 *   out = conv_transpose(x, weight)     dx = conv(dout, weight)              dweight = conv_weight(dout, x)
 *
 * So W of a convolution is one op, which reads x and dout: no matrix of windows is kept from F.
 *
 * Tests: test/ir/ops/window.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

#include <inttypes.h>
#include <string.h>

enum { X, WEIGHT, DOUT = 1, SPATIAL_MAX = 3, LIMIT_BITS = 40 };

/* What attributes say of windows, by spatial dimension. */
typedef struct windows {
  int rank;
  int64_t kernel[SPATIAL_MAX], strides[SPATIAL_MAX], dilations[SPATIAL_MAX], before[SPATIAL_MAX], after[SPATIAL_MAX];
} windows;

/* Entries of an attribute, each within bounds that leave room for sums and products of them. */
static zb_result check_entries(const zb_op_view *op, const char *name, int count, int64_t least, const char *label,
                               int64_t *out, zb_op_error *error) {
  const int64_t most = INT64_C(1) << LIMIT_BITS;
  const zb_attr *entries = zb_attr_ints(op, name);
  if (entries->count != count)
    return zb_op_fail(error, NULL, "wrong number of entries in %s: expected %d, got %d (%s)", name, count,
                      entries->count, label);
  for (int i = 0; i < count; ++i) {
    out[i] = entries->ints[i];
    if (out[i] < least || out[i] > most)
      return zb_op_fail(error, NULL,
                        "an entry of %s is out of range: expected %" PRId64 " to 2^%d, got %" PRId64 " (%s)", name,
                        least, LIMIT_BITS, out[i], label);
  }
  return ZB_OK;
}

/* strides, dilations and pads for `rank` spatial dimensions. C3. */
static zb_result check_windows(const zb_op_view *op, int rank, windows *w, zb_op_error *error) {
  int64_t pads[2 * SPATIAL_MAX];
  w->rank = rank;
  if (!check_entries(op, "strides", rank, 1, "C3", w->strides, error) ||
      !check_entries(op, "dilations", rank, 1, "C3", w->dilations, error) ||
      !check_entries(op, "pads", 2 * rank, -(INT64_C(1) << LIMIT_BITS), "C3", pads, error))
    return ZB_FAIL;
  memcpy(w->before, pads, (size_t)rank * sizeof *pads);
  memcpy(w->after, pads + rank, (size_t)rank * sizeof *pads);
  return ZB_OK;
}

/* Windows along spatial dimension d of `size`; below 1: none fits. */
static int64_t window_count(const windows *w, int d, int64_t size) {
  const double reach = (double)w->dilations[d] * (double)(w->kernel[d] - 1) + 1;
  const int64_t padded = size + w->before[d] + w->after[d];
  if (reach > (double)padded) return 0;
  return (padded - w->dilations[d] * (w->kernel[d] - 1) - 1) / w->strides[d] + 1;
}

/* C1 of the first operand: [n, channels, ..] of 1 to 3 spatial dimensions. */
static zb_result check_images(const zb_op_view *op, zb_op_error *error) {
  char got[96];
  const int rank = op->operands[X].rank - 2;
  if (!zb_check_dtype(op, X, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (rank >= 1 && rank <= SPATIAL_MAX) return ZB_OK;
  return zb_op_fail(error, "reshape it", "x has no 1 to 3 spatial dimensions: expected [n, channels, ..], got %s (C1)",
                    zb_shape_text(&op->operands[X], got));
}

/* The three tensors of a convolution: images that windows are laid over, results of windows, the weight. */
typedef struct convolution {
  windows w;
  zb_shape images, results, weight;
} convolution;

/* C4: channels in groups; C5: the windows of the images are the results. */
static zb_result check_sizes(const zb_op_view *op, const convolution *c, zb_op_error *error) {
  char a[96], b[96], w[96];
  const int64_t groups = zb_attr_int(&op->attrs, "groups", 1);
  const int64_t channels = c->images.dims[1], filters = c->results.dims[1];
  if (groups < 1 || c->weight.dims[0] != filters || channels % groups != 0 || filters % groups != 0 ||
      c->weight.dims[1] != channels / groups)
    return zb_op_fail(error, "the weight is [filters, channels / groups, ..]",
                      "channels and groups do not fit: %" PRId64 " groups of channels of %s, filters of %s, weight %s "
                      "(C4)",
                      groups, zb_shape_text(&c->images, a), zb_shape_text(&c->results, b),
                      zb_shape_text(&c->weight, w));
  for (int d = 0; d < c->w.rank; ++d) {
    const int64_t count = window_count(&c->w, d, c->images.dims[2 + d]);
    if (c->images.dims[0] == c->results.dims[0] && count == c->results.dims[2 + d] && count > 0) continue;
    return zb_op_fail(error, NULL,
                      "the windows do not fit: %s has %" PRId64 " along spatial dimension %d, expected those of %s "
                      "(C5)",
                      zb_shape_text(&c->images, a), count, d, zb_shape_text(&c->results, b));
  }
  return ZB_OK;
}

/* C2: the operand has the element type and rank of x. */
static zb_result check_like(const zb_op_view *op, int operand, zb_op_error *error) {
  char got[96];
  if (!zb_check_same_dtype(op, operand, X, "C2", error)) return ZB_FAIL;
  if (op->operands[operand].rank == op->operands[X].rank) return ZB_OK;
  return zb_op_fail(error, NULL, "an operand has another rank than x: expected %d dimensions, got %s (C2)",
                    op->operands[X].rank, zb_shape_text(&op->operands[operand], got));
}

/* What all three begin with: x, the other operand, strides, dilations, pads. */
static zb_result check_start(const zb_op_view *op, convolution *c, zb_op_error *error) {
  *c = (convolution){0};
  if (!check_images(op, error) || !check_like(op, 1, error)) return ZB_FAIL;
  return check_windows(op, op->operands[X].rank - 2, &c->w, error);
}

static void read_kernel(convolution *c) {
  for (int d = 0; d < c->w.rank; ++d)
    c->w.kernel[d] = c->weight.dims[2 + d];
}

static zb_result infer_conv(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  convolution c;
  if (!check_start(op, &c, error)) return ZB_FAIL;
  c.images = c.results = op->operands[X];
  c.weight = op->operands[WEIGHT];
  c.results.dims[1] = c.weight.dims[0];
  read_kernel(&c);
  for (int d = 0; d < c.w.rank; ++d)
    c.results.dims[2 + d] = c.weight.dims[2 + d] < 1 ? 0 : window_count(&c.w, d, c.images.dims[2 + d]);
  results[0] = c.results;
  return check_sizes(op, &c, error);
}

static zb_result infer_conv_transpose(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  convolution c;
  const int64_t groups = zb_attr_int(&op->attrs, "groups", 1);
  if (!check_start(op, &c, error)) return ZB_FAIL;
  c.images = c.results = op->operands[X];
  c.weight = op->operands[WEIGHT];
  if (groups < 1 || c.weight.dims[1] > INT64_MAX / groups)
    return zb_op_fail(error, NULL, "channels and groups do not fit: got %" PRId64 " groups (C4)", groups);
  c.images.dims[1] = c.weight.dims[1] * groups;
  if (!check_entries(op, "shape", c.w.rank, 1, "C6", c.images.dims + 2, error)) return ZB_FAIL;
  read_kernel(&c);
  results[0] = c.images;
  return check_sizes(op, &c, error);
}

static zb_result infer_conv_weight(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  convolution c;
  const int64_t groups = zb_attr_int(&op->attrs, "groups", 1);
  if (!check_start(op, &c, error)) return ZB_FAIL;
  c.images = c.weight = op->operands[X];
  c.results = op->operands[DOUT];
  if (!check_entries(op, "shape", c.w.rank, 1, "C6", c.weight.dims + 2, error)) return ZB_FAIL;
  c.weight.dims[0] = c.results.dims[1];
  c.weight.dims[1] = groups < 1 ? 0 : c.images.dims[1] / groups;
  read_kernel(&c);
  results[0] = c.weight;
  return check_sizes(op, &c, error);
}

/* A multiply and an add for each element of each filter at each window. */
static zb_cost product_cost(const zb_shape *results, const zb_shape *weight) {
  const double filters = (double)weight->dims[0];
  const double flops = filters > 0 ? 2 * zb_elements(results) * zb_elements(weight) / filters : 0;
  return (zb_cost){.flops = flops, .product_flops = flops};
}

static zb_cost cost_conv(const zb_op_view *op, const zb_shape *results) {
  return product_cost(&results[0], &op->operands[WEIGHT]);
}
static zb_cost cost_conv_transpose(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  return product_cost(&op->operands[X], &op->operands[WEIGHT]);
}
static zb_cost cost_conv_weight(const zb_op_view *op, const zb_shape *results) {
  return product_cost(&op->operands[DOUT], &results[0]);
}

/* One of the three ops with the windows of another, and spatial sizes `shape` unless it is a zb.conv. */
static MlirValue build_like(zb_gradient *g, const char *name, MlirValue a, MlirValue b, const zb_shape *shape) {
  zb_attr attrs[] = {*zb_attr_ints(&g->view, "strides"), *zb_attr_ints(&g->view, "pads"),
                     *zb_attr_ints(&g->view, "dilations"), zb_int("groups", zb_attr_int(&g->view.attrs, "groups", 1)),
                     zb_ints("shape", NULL, 0)};
  if (shape) attrs[4] = zb_ints("shape", shape->dims + 2, shape->rank - 2);
  return zb_build(g->b, name, (MlirValue[]){a, b}, 2, attrs, shape ? 5 : 4);
}

static void grad_conv(zb_gradient *g) {
  const zb_shape *x = &g->view.operands[X], *weight = &g->view.operands[WEIGHT];
  if (g->needs[X]) g->din[X] = build_like(g, "conv_transpose", g->dout[0], zb_operand(g->op, WEIGHT), x);
  if (g->needs[WEIGHT]) g->din[WEIGHT] = build_like(g, "conv_weight", zb_operand(g->op, X), g->dout[0], weight);
}

static void grad_conv_transpose(zb_gradient *g) {
  const zb_shape *weight = &g->view.operands[WEIGHT];
  if (g->needs[X]) g->din[X] = build_like(g, "conv", g->dout[0], zb_operand(g->op, WEIGHT), NULL);
  if (g->needs[WEIGHT]) g->din[WEIGHT] = build_like(g, "conv_weight", g->dout[0], zb_operand(g->op, X), weight);
}

#define WINDOW_ATTRS                                                                                                   \
  {"strides", ZB_ATTR_INTS, false, 0, "from window to window: strides = array<i64: 1, 1>"},                            \
      {"pads", ZB_ATTR_INTS, false, 0, "before all spatial dimensions, then behind: pads = array<i64: 1, 1, 1, 1>"},   \
      {"dilations", ZB_ATTR_INTS, false, 0, "from element to element of a window: dilations = array<i64: 1, 1>"}
#define CONV_ATTRS WINDOW_ATTRS, {"groups", ZB_ATTR_INT, true, 1, "how many parts of channels and filters meet"}
#define CONV_DOC                                                                                                       \
  "C1: x is [n, channels, ..] of a float type with 1 to 3 spatial dimensions. C2: the other operand has its type and " \
  "rank. C3: strides and dilations have an entry a spatial dimension, at least 1, and pads two. C4: groups divide "    \
  "channels and filters, and the weight is [filters, channels / groups, ..]. C5: there are windows, those of the "     \
  "results."

const zb_op_def zb_op_conv = {
    ZB_ROW(conv),
    .summary = "Convolution (as deep learning calls it: the kernel is not turned) over 1 to 3 spatial dimensions.",
    .doc = CONV_DOC "\n",
    .operands = "x, weight",
    .results = "out",
    .attrs = ZB_ATTRS(CONV_ATTRS),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_conv,
    .cost = cost_conv,
    .grad = grad_conv,
};

const zb_op_def zb_op_conv_transpose = {
    ZB_ROW(conv_transpose),
    .summary = "Transposed convolution, which is the gradient of zb.conv for x.",
    .doc = CONV_DOC " C6: shape has the spatial sizes of the result.\n",
    .operands = "x, weight",
    .results = "out",
    .attrs = ZB_ATTRS(CONV_ATTRS,
                      {"shape", ZB_ATTR_INTS, false, 0, "spatial sizes of the result: shape = array<i64: 8, 8>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_conv_transpose,
    .cost = cost_conv_transpose,
    .grad = grad_conv_transpose,
};

const zb_op_def zb_op_conv_weight = {
    ZB_ROW(conv_weight),
    .summary = "Gradient of zb.conv for its weight: dW of a convolution.",
    .doc = CONV_DOC " C6: shape has the spatial sizes of the weight.\n",
    .operands = "x, dout",
    .results = "dweight",
    .attrs =
        ZB_ATTRS(CONV_ATTRS, {"shape", ZB_ATTR_INTS, false, 0, "spatial sizes of a filter: shape = array<i64: 3, 3>"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,
    .infer = infer_conv_weight,
    .cost = cost_conv_weight,
};

/* ---- max_place ---- */

static bool window_has_element(const windows *w, int d, int64_t o, int64_t size) {
  const int64_t start = o * w->strides[d] - w->before[d], step = w->dilations[d];
  const int64_t first = start >= 0 ? 0 : (step - 1 - start) / step;
  return first < w->kernel[d] && start + first * step < size;
}

/* Whether each of the windows 0..count-1 has. Windows go from before the image to behind it; between the first and the
 * last one only those whose elements lie further apart than the image is long can miss it. */
static bool all_have_elements(const windows *w, int d, int64_t count, int64_t size) {
  const bool has_gaps = w->dilations[d] > size && w->kernel[d] > 1;
  if (!window_has_element(w, d, 0, size)) return false;
  for (int64_t o = has_gaps ? 1 : count - 1; o < count; ++o)
    if (!window_has_element(w, d, o, size)) return false;
  return true;
}

static zb_result infer_max_place(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[X];
  const int rank = zb_attr_ints(op, "kernel")->count;
  const double most = 2147483647;
  windows w = {0};
  zb_shape image = {.dtype = ZB_I32};
  int64_t shape[SPATIAL_MAX];
  if (!zb_check_dtype(op, X, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (rank < 1 || rank > SPATIAL_MAX || x->rank < rank)
    return zb_op_fail(error, NULL, "wrong number of entries in kernel: expected 1 to 3 of %d dimensions, got %d (C2)",
                      x->rank, rank);
  if (!check_entries(op, "kernel", rank, 1, "C2", w.kernel, error) || !check_windows(op, rank, &w, error) ||
      !check_entries(op, "shape", rank, 1, "C4", shape, error))
    return ZB_FAIL;
  results[0] = *x;
  results[0].dtype = ZB_I32;
  for (int d = 0; d < rank; ++d) {
    const int64_t size = x->dims[x->rank - rank + d], count = window_count(&w, d, size);
    if (shape[d] < count - 1 || shape[d] > count + 1)
      return zb_op_fail(error, NULL,
                        "shape does not fit the windows along spatial dimension %d: expected about %" PRId64
                        ", got %" PRId64 " (C4)",
                        d, count, shape[d]);
    if (!all_have_elements(&w, d, shape[d], size))
      return zb_op_fail(error, "make pads smaller than the kernel",
                        "a window along spatial dimension %d has no element of x (C5)", d);
    results[0].dims[x->rank - rank + d] = shape[d];
  }
  image = zb_subshape(x, x->rank - rank, x->rank);
  if (zb_elements(&image) <= most) return ZB_OK;
  return zb_op_fail(error, NULL, "an image has %g elements: places are numbers of 31 bits (C6)", zb_elements(&image));
}

static zb_cost cost_max_place(const zb_op_view *op, const zb_shape *results) {
  const zb_attr *kernel = zb_attr_ints(op, "kernel");
  double flops = zb_elements(&results[0]);
  for (int d = 0; d < kernel->count; ++d)
    flops *= (double)kernel->ints[d];
  return (zb_cost){.flops = flops};
}

const zb_op_def zb_op_max_place = {
    ZB_ROW(max_place),
    .summary = "Where in its image the first greatest element of every window lies.",
    .doc =
        "C1: x has a float type. C2: kernel has 1 to 3 entries, at least 1, for the last dimensions of x. C3: strides "
        "and dilations have as many, at least 1, and pads twice as many. C4: shape has as many, at least 1, each the "
        "number of windows or one more or less. C5: every window has an element of x. C6: an image has fewer than "
        "2^31 elements.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"kernel", ZB_ATTR_INTS, false, 0, "sizes of a window: kernel = array<i64: 2, 2>"}, WINDOW_ATTRS,
                      {"shape", ZB_ATTR_INTS, false, 0, "windows by dimension: shape = array<i64: 4, 4>"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
    .mixed = ZB_MIXED_ANY,
    .infer = infer_max_place,
    .cost = cost_max_place,
};
