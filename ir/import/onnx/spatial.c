/* Convolutions and pooling. Tests: test/ir/import/import_test.c, test/e2e/windows.py. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/meaning/spatial.h"

#include <string.h>

/* A list of `count` numbers; left as it is where there is none. False after reporting. */
static bool read_numbers(zb_import_node *n, const char *name, int count, int64_t *out) {
  int64_t numbers[2 * ZB_SPATIAL_MAX];
  int found = 0;
  if (!zb_onnx_ints(n, name, numbers, 2 * ZB_SPATIAL_MAX, &found)) return !n->im->failed && !zb_onnx_attribute(n, name);
  if (found == count) return memcpy(out, numbers, (size_t)count * sizeof *out), true;
  return zb_import_refuse(n, NULL, "attribute '%s' has %d entries, expected %d", name, found, count);
}

/* strides, dilations and pads, and the kernel, which of convolutions is that of the weight. */
static bool read_windows(zb_import_node *n, const zb_shape *weight, zb_spatial *s) {
  int64_t pads[2 * ZB_SPATIAL_MAX] = {0};
  if (weight) memcpy(s->kernel, weight->dims + 2, (size_t)s->rank * sizeof *s->kernel);
  if (!weight && !zb_onnx_attribute(n, "kernel_shape")) return zb_import_refuse(n, NULL, "it has no kernel_shape");
  int64_t named[ZB_SPATIAL_MAX];
  memcpy(named, s->kernel, sizeof named);
  if (!read_numbers(n, "kernel_shape", s->rank, named) || !read_numbers(n, "strides", s->rank, s->strides) ||
      !read_numbers(n, "dilations", s->rank, s->dilations) || !read_numbers(n, "pads", 2 * s->rank, pads))
    return false;
  if (weight && memcmp(named, s->kernel, (size_t)s->rank * sizeof *named) != 0)
    return zb_import_refuse(n, NULL, "kernel_shape is not the shape of the weight");
  memcpy(s->kernel, named, sizeof named);
  memcpy(s->before, pads, (size_t)s->rank * sizeof *pads);
  memcpy(s->after, pads + s->rank, (size_t)s->rank * sizeof *pads);
  return true;
}

/* Half of what is to be padded before, the odd one behind, or before for SAME_LOWER. */
static void divide_pads(zb_spatial *s, int d, int64_t total, bool upper) {
  if (total < 0) total = 0;
  s->before[d] = upper ? total / 2 : total - total / 2;
  s->after[d] = total - s->before[d];
}

typedef enum automatic { AUTOMATIC_NOT, AUTOMATIC_VALID, AUTOMATIC_UPPER, AUTOMATIC_LOWER, AUTOMATIC_WRONG } automatic;

static automatic read_automatic(zb_import_node *n) {
  static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  for (int i = 0; i < 4; ++i)
    if (zb_onnx_string_is(n, "auto_pad", "NOTSET", names[i])) return (automatic)i;
  zb_import_refuse(n, "NOTSET, VALID, SAME_UPPER and SAME_LOWER are supported", "auto_pad has another value");
  return AUTOMATIC_WRONG;
}

/* Pads of auto_pad: as many windows as strides fit into the image. */
static bool pad_automatically(zb_import_node *n, zb_spatial *s) {
  const automatic kind = read_automatic(n);
  const int64_t most = INT64_C(1) << 30;
  for (int d = 0; d < s->rank && kind != AUTOMATIC_NOT; ++d) {
    const int64_t stride = s->strides[d];
    if (stride < 1 || stride > most || s->kernel[d] < 1 || s->kernel[d] > most || s->dilations[d] > most) return true;
    const int64_t reach = s->dilations[d] * (s->kernel[d] - 1) + 1, windows = (s->in[d] + stride - 1) / stride;
    const int64_t total = kind == AUTOMATIC_VALID ? 0 : (windows - 1) * stride + reach - s->in[d];
    divide_pads(s, d, total, kind == AUTOMATIC_UPPER);
  }
  return kind != AUTOMATIC_WRONG;
}

/* The shapes of x and weight, and x as the images of windows. */
static bool read_operands(zb_import_node *n, zb_shape *x, zb_shape *weight, zb_spatial *s) {
  if (!zb_import_shape(n, 0, x) || !zb_import_shape(n, 1, weight)) return false;
  if (weight->rank != x->rank)
    return zb_import_refuse(n, NULL, "the weight has %d dimensions, expected %d", weight->rank, x->rank);
  return zb_spatial_start(n, x, x->rank - 2, 2, s);
}

zb_result zb_onnx_conv(zb_import_node *n) {
  zb_shape x, weight;
  zb_spatial s;
  if (!read_operands(n, &x, &weight, &s) || !read_windows(n, &weight, &s) || !pad_automatically(n, &s) ||
      !zb_spatial_count(n, &s, false))
    return ZB_FAIL;
  zb_operand image = zb_operand_in(n, 0), filters = zb_operand_in(n, 1), bias = zb_operand_optional(n, 2);
  return zb_operand_give(n, 0, zb_spatial_conv(n, image, filters, bias, &s, zb_onnx_int(n, "group", 1)));
}

/* Sizes of the result of a transposed convolution, and pads where its result is asked for instead. */
static bool size_transposed(zb_import_node *n, zb_spatial *s) {
  const automatic kind = read_automatic(n);
  const bool named = zb_onnx_attribute(n, "output_shape") != NULL;
  int64_t added[ZB_SPATIAL_MAX] = {0}, wanted[ZB_SPATIAL_MAX];
  if (kind == AUTOMATIC_WRONG || !read_numbers(n, "output_padding", s->rank, added)) return false;
  for (int d = 0; d < s->rank; ++d)
    wanted[d] = s->in[d] * (s->strides[d] < (INT64_C(1) << 30) ? s->strides[d] : 1);
  if (!read_numbers(n, "output_shape", s->rank, wanted)) return false;
  const int64_t most = INT64_C(1) << 30;
  for (int d = 0; d < s->rank; ++d) {
    const int64_t numbers[] = {s->kernel[d],    s->strides[d], s->dilations[d], s->before[d] + 1,
                               s->after[d] + 1, added[d] + 1,  wanted[d]};
    for (int i = 0; i < 7; ++i)
      if (numbers[i] < 1 || numbers[i] > most)
        return zb_import_refuse(n, NULL, "an attribute of spatial dimension %d is out of range", d);
    const int64_t whole = s->strides[d] * (s->in[d] - 1) + added[d] + s->dilations[d] * (s->kernel[d] - 1) + 1;
    if (kind == AUTOMATIC_VALID) s->before[d] = s->after[d] = 0;
    const bool asked = named || kind == AUTOMATIC_UPPER || kind == AUTOMATIC_LOWER;
    if (asked) divide_pads(s, d, whole - wanted[d], kind == AUTOMATIC_UPPER);
    s->in[d] = asked ? wanted[d] : whole - s->before[d] - s->after[d];
    if (s->in[d] < 1) return zb_import_refuse(n, NULL, "its result is empty along spatial dimension %d", d);
  }
  return true;
}

zb_result zb_onnx_conv_transpose(zb_import_node *n) {
  zb_shape x, weight;
  zb_spatial s;
  if (!read_operands(n, &x, &weight, &s) || !read_windows(n, &weight, &s) || !size_transposed(n, &s) ||
      !zb_spatial_fit(n, &s, x.dims + 2))
    return ZB_FAIL;
  zb_operand image = zb_operand_in(n, 0), filters = zb_operand_in(n, 1), bias = zb_operand_optional(n, 2);
  return zb_operand_give(n, 0, zb_spatial_conv_transpose(n, image, filters, bias, &s, zb_onnx_int(n, "group", 1)));
}

/* ---- Pooling ---- */

static bool read_pool(zb_import_node *n, zb_spatial *s) {
  zb_shape x;
  if (!zb_import_shape(n, 0, &x) || !zb_spatial_start(n, &x, x.rank - 2, 2, s)) return false;
  return read_windows(n, NULL, s) && pad_automatically(n, s) &&
         zb_spatial_count(n, s, zb_onnx_int(n, "ceil_mode", 0) != 0);
}

static zb_operand with_number(zb_import_node *n, const char *op, zb_operand x, int64_t number) {
  return zb_operand_apply2(n, op, x, zb_operand_scalar(n, ZB_I64, (double)number));
}

/* Row-major places as places by columns: the first spatial dimension is that of neighbours. */
static zb_operand by_columns(zb_import_node *n, zb_operand places, const zb_spatial *s) {
  zb_operand rest = places, sum = NULL;
  int64_t step = 1;
  for (int d = 0; d < s->rank; ++d)
    step *= s->in[d];
  for (int d = s->rank - 1; d >= 0; --d) {
    step /= s->in[d];
    zb_operand own = with_number(n, "mul", with_number(n, "mod", rest, s->in[d]), step);
    rest = with_number(n, "div", rest, s->in[d]);
    sum = sum ? zb_operand_apply2(n, "add", sum, own) : own;
  }
  return sum;
}

/* Places in images as places in the whole tensor. */
static zb_operand places_of_all(zb_import_node *n, zb_operand places, const zb_spatial *s) {
  zb_shape shape;
  int64_t image = 1;
  if (!zb_operand_shape(n, places, &shape)) return NULL;
  for (int d = 0; d < s->rank; ++d) {
    image *= s->in[d];
    shape.dims[2 + d] = 1;
  }
  zb_operand first = zb_operand_reshape(n, zb_meaning_range(n, shape.dims[0] * shape.dims[1], 0, image), &shape);
  places = zb_operand_cast(n, places, ZB_I64);
  if (zb_onnx_int(n, "storage_order", 0) != 0) places = by_columns(n, places, s);
  return zb_operand_apply2(n, "add", places, first);
}

zb_result zb_onnx_max_pool(zb_import_node *n) {
  zb_spatial s;
  zb_operand places;
  if (!read_pool(n, &s)) return ZB_FAIL;
  if (!zb_operand_give(n, 0, zb_spatial_max(n, zb_operand_in(n, 0), &s, &places))) return ZB_FAIL;
  return zb_import_wants(n, 1) ? zb_operand_give(n, 1, places_of_all(n, places, &s)) : ZB_OK;
}

zb_result zb_onnx_average_pool(zb_import_node *n) {
  zb_spatial s;
  if (!read_pool(n, &s)) return ZB_FAIL;
  const bool is_padded = zb_onnx_int(n, "count_include_pad", 0) != 0;
  return zb_operand_give(
      n, 0, zb_spatial_pool(n, zb_operand_in(n, 0), &s, is_padded ? ZB_SPATIAL_MEAN_PADDED : ZB_SPATIAL_MEAN));
}

zb_result zb_onnx_global_pool(zb_import_node *n) {
  zb_shape x;
  zb_spatial s;
  if (!zb_import_shape(n, 0, &x) || !zb_spatial_start(n, &x, x.rank - 2, 2, &s)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_spatial_global(n, zb_operand_in(n, 0), s.rank, n->op->argument));
}

/* (sum of |x|^p)^(1/p) of windows, or of all of an image. */
zb_result zb_onnx_lp_pool(zb_import_node *n) {
  zb_shape x;
  zb_spatial s;
  const bool is_global = strcmp(n->op->argument, "reduce_sum") == 0;
  const double p = zb_onnx_of(n->im)->opset < 2 ? zb_onnx_float(n, "p", 2) : (double)zb_onnx_int(n, "p", 2);
  if (!zb_import_shape(n, 0, &x) || !zb_spatial_start(n, &x, x.rank - 2, 2, &s)) return ZB_FAIL;
  if (p < 1) return zb_import_refuse(n, NULL, "p is %g, expected 1 or more", p);
  if (!is_global && !read_pool(n, &s)) return ZB_FAIL;
  zb_operand power = zb_operand_apply1(n, "abs", zb_operand_in(n, 0));
  if (p > 1) power = zb_operand_apply2(n, "pow", power, zb_operand_scalar(n, x.dtype, p));
  zb_operand sum =
      is_global ? zb_spatial_global(n, power, s.rank, "reduce_sum") : zb_spatial_pool(n, power, &s, ZB_SPATIAL_SUM);
  if (p > 1) sum = zb_operand_apply2(n, "pow", sum, zb_operand_scalar(n, x.dtype, 1 / p));
  return zb_operand_give(n, 0, sum);
}

/* What pooling took, back at its places in a tensor of zeros: places are those of the whole tensor of the size that the
 * windows tell, and output_shape adds zeros behind it. */
zb_result zb_onnx_max_unpool(zb_import_node *n) {
  zb_shape x, places, whole, wanted;
  zb_spatial s;
  if (!zb_import_shape(n, 0, &x) || !zb_import_shape(n, 1, &places) || !zb_spatial_start(n, &x, x.rank - 2, 2, &s) ||
      !read_windows(n, NULL, &s))
    return n->im->failed = true, ZB_FAIL;
  whole = x;
  const int64_t most = INT64_C(1) << 30;
  for (int d = 0; d < s.rank; ++d) {
    if (s.strides[d] < 1 || s.strides[d] > most || s.kernel[d] < 1 || s.kernel[d] > most || s.in[d] > most)
      return zb_import_refuse(n, NULL, "an attribute of spatial dimension %d is out of range", d);
    whole.dims[2 + d] = (s.in[d] - 1) * s.strides[d] - s.before[d] - s.after[d] + s.kernel[d];
    if (whole.dims[2 + d] < 1) return zb_import_refuse(n, NULL, "its result is empty along spatial dimension %d", d);
  }
  wanted = whole;
  if (zb_import_has(n, 2) && !zb_import_dims(n, 2, &wanted)) return ZB_FAIL;
  bool fits = wanted.rank == whole.rank && zb_shape_bytes(&whole) >= 0 && places.dtype == ZB_I64 &&
              zb_shape_elements(&places) == zb_shape_elements(&x);
  for (int d = 0; fits && d < whole.rank; ++d)
    fits = wanted.dims[d] >= whole.dims[d];
  if (!fits) return zb_import_refuse(n, NULL, "its places or its output_shape do not fit what windows of x tell");
  const zb_shape flat = {.rank = 1, .dims = {zb_shape_elements(&x)}},
                 all = {.rank = 1, .dims = {zb_shape_elements(&whole)}};
  const zb_operand zero = zb_operand_scalar(n, x.dtype, 0);
  zb_operand out =
      zb_meaning_scatter(n, zb_operand_filled(n, &all, zero), zb_operand_reshape(n, zb_operand_in(n, 1), &flat),
                         zb_operand_reshape(n, zb_operand_in(n, 0), &flat), "none");
  out = zb_operand_reshape(n, out, &whole);
  for (int d = 0; d < whole.rank; ++d)
    out = zb_meaning_pad(n, out, d, 0, wanted.dims[d] - whole.dims[d], zero);
  return zb_operand_give(n, 0, out);
}

zb_result zb_onnx_grid_sample(zb_import_node *n) {
  char mode[16], padding[16];
  zb_onnx_string(n, "mode", "linear", mode, sizeof mode);
  zb_onnx_string(n, "padding_mode", "zeros", padding, sizeof padding);
  const zb_spatial_sampling how = {mode, padding, zb_onnx_int(n, "align_corners", 0) != 0, false};
  return zb_operand_give(n, 0, zb_spatial_sampled(n, zb_operand_in(n, 0), zb_operand_in(n, 1), &how));
}
