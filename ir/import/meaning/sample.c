/* An image read at places that are computed. What lies at the taps around each place is gathered as rows of channels
 * and weighted, so that gradients of the image and of the places, and all kernels, are those of these ops.
 *
 *   linear: taps floor(p), floor(p) + 1 with weights 1 - f and f along each dimension, f = p - floor(p)
 *
 * ONNX moves places beyond the border before the taps are found, and taps beyond it in the same way. Cubic ones are
 * moved tap by tap at a border that is repeated, as by PyTorch and ONNX Runtime: ONNX's reference evaluator moves the
 * place. In Paddle taps beyond the border weigh nothing, and places at it have a slope
 * (paddle/phi/kernels/cpu/grid_sample_grad_kernel.cc). Tests: test/e2e/onnx_nodes.py, test/e2e/onnx_random.py,
 * test/e2e/points.py. */
#include "ir/import/meaning/spatial.h"

#include <string.h>

enum { TAPS_MAX = 4 };

typedef enum padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION } padding;

typedef struct sampling {
  zb_shape x, places; /* places: [n, points, rank] */
  int64_t points;
  int rank, taps; /* taps along each dimension: 1 is the nearest, 2 linear, 4 cubic */
  padding padding;
  bool align_corners, is_paddle;
} sampling;

/* What is read along one dimension: weights and places of each tap, [n, points, 1]. */
typedef struct line {
  zb_operand weights[TAPS_MAX], places[TAPS_MAX]; /* a weight of NULL is 1 */
} line;

static bool read_words(zb_import_node *n, const char *mode, const char *border, sampling *s) {
  static const struct {
    const char *word;
    int taps;
  } modes[] = {{"linear", 2}, {"nearest", 1}, {"cubic", 4}, {"bilinear", 2}, {"bicubic", 4}};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  int found = 0;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i)
    if (strcmp(mode, modes[i].word) == 0) s->taps = modes[i].taps;
  while (found < 3 && strcmp(border, paddings[found]) != 0)
    ++found;
  s->padding = (padding)found;
  if (!s->taps) return zb_import_refuse(n, "linear, nearest and cubic are supported", "the mode is not supported");
  return found < 3 ||
         zb_import_refuse(n, "zeros, border and reflection are supported", "the padding_mode is not supported");
}

static bool read_shapes(zb_import_node *n, zb_operand x, zb_operand given, zb_shape *grid, sampling *s) {
  char image[96], places[96];
  s->points = 1;
  if (!zb_operand_shape(n, x, &s->x) || !zb_operand_shape(n, given, grid)) return false;
  s->rank = s->x.rank - 2;
  const bool fits = s->rank >= 1 && s->rank <= ZB_SPATIAL_MAX && grid->rank == s->x.rank &&
                    grid->dims[grid->rank - 1] == s->rank && grid->dims[0] == s->x.dims[0] && grid->dtype == s->x.dtype;
  if (!fits)
    return zb_import_refuse(n, "x: [N, C, D1 .. Dk], grid: [N, O1 .. Ok, k] of the same type, k of 1 to 3",
                            "a grid of %s does not fit an image of %s", zb_shape_text(grid, places),
                            zb_shape_text(&s->x, image));
  for (int i = 1; i <= s->rank; ++i)
    s->points *= grid->dims[i];
  s->places = (zb_shape){.dtype = grid->dtype, .rank = 3, .dims = {grid->dims[0], s->points, s->rank}};
  return true;
}

/* ---- Arithmetic ---- */

static zb_operand with(zb_import_node *n, const char *op, zb_operand x, double number) {
  return zb_operand_apply2(n, op, x, zb_operand_number(n, x, number));
}

static zb_operand clamped(zb_import_node *n, zb_operand x, int64_t size) {
  return with(n, "min", with(n, "max", x, 0), (double)(size - 1));
}

/* A place of the image: without a slope at both ends, as PyTorch has it (clip_coordinates_set_grad), or with one. */
static zb_operand clamped_place(zb_import_node *n, const sampling *s, zb_operand x, int64_t size) {
  zb_operand at = zb_operand_apply1(n, "detach", clamped(n, x, size));
  zb_operand inside =
      s->is_paddle ? zb_operand_apply2(n, "equal", at, x)
                   : zb_operand_apply2(n, "and", with(n, "greater", x, 0), with(n, "less", x, (double)(size - 1)));
  return zb_operand_with_slope(n, at, x, zb_operand_cast(n, inside, s->x.dtype));
}

/* A way that turns round at both borders, as often as it meets them: what has not turned keeps all its digits, since
 * the nearest pixel of a place between two hangs on the last. At borders Paddle's has the slope of the side that it
 * comes from. */
static zb_operand reflected(zb_import_node *n, const sampling *s, zb_operand x, int64_t size) {
  const bool aligned = s->align_corners;
  const double low = aligned ? 0 : -0.5, width = (double)size - (aligned ? 1 : 0);
  if (width == 0) return with(n, "mul", x, 0);
  zb_operand from = with(n, "sub", x, low), way = zb_operand_apply1(n, "abs", from);
  zb_operand rounds = zb_operand_apply1(n, "floor", with(n, "div", way, 2 * width));
  zb_operand rest = zb_operand_apply2(n, "sub", way, with(n, "mul", rounds, 2 * width));
  zb_operand back = with(n, "add", zb_operand_apply1(n, "neg", rest), 2 * width);
  zb_operand at = with(n, "add", zb_operand_apply2(n, "min", rest, back), low);
  if (!s->is_paddle) return at;
  zb_operand turned = zb_operand_apply2(n, "xor", with(n, "less", from, 0), with(n, "greater", rest, width));
  zb_operand slope = with(n, "add", with(n, "mul", zb_operand_cast(n, turned, s->x.dtype), -2), 1);
  at = zb_operand_with_slope(n, zb_operand_apply1(n, "detach", at), x, slope);
  return aligned ? at : clamped_place(n, s, at, size);
}

/* ---- Places and taps ---- */

/* -1 to 1 of dimension d, of which the grid has the last one first, as a place of the image. */
static zb_operand place_of(zb_import_node *n, const sampling *s, zb_operand grid, int d) {
  const int64_t size = s->x.dims[2 + d];
  zb_operand x = with(n, "add", zb_operand_part(n, grid, 2, s->rank - 1 - d, 1), 1);
  x = s->align_corners ? with(n, "mul", with(n, "mul", x, 0.5), (double)(size - 1))
                       : with(n, "mul", with(n, "sub", with(n, "mul", x, (double)size), 1), 0.5);
  if (s->padding == PADDING_REFLECTION) x = reflected(n, s, x, size);
  const bool is_clamped = s->padding == PADDING_BORDER || (s->padding == PADDING_REFLECTION && !s->is_paddle);
  if (is_clamped && s->taps < TAPS_MAX) x = clamped_place(n, s, x, size);
  return s->taps == 1 ? zb_operand_apply1(n, "round", x) : x;
}

/* a t^3 + b t^2 + c t + d. */
static zb_operand cubic(zb_import_node *n, zb_operand t, const double *factors) {
  zb_operand out = with(n, "mul", t, factors[0]);
  for (int i = 1; i < 3; ++i)
    out = zb_operand_apply2(n, "mul", with(n, "add", out, factors[i]), t);
  return with(n, "add", out, factors[3]);
}

/* The weights of the taps, of the fraction f. Those of cubic convolution have a = -0.75. */
static void weigh(zb_import_node *n, const sampling *s, zb_operand f, zb_operand *weights) {
  static const double near[] = {1.25, -2.25, 0, 1}, far[] = {-0.75, 3.75, -6, 3};
  if (s->taps == 1) return;
  zb_operand rest = with(n, "add", zb_operand_apply1(n, "neg", f), 1);
  if (s->taps == 2) {
    weights[0] = rest;
    weights[1] = f;
    return;
  }
  weights[0] = cubic(n, with(n, "add", f, 1), far);
  weights[1] = cubic(n, f, near);
  weights[2] = cubic(n, rest, near);
  weights[3] = cubic(n, with(n, "add", rest, 1), far);
}

/* Beyond the image a tap weighs nothing, or is moved into it. */
static void find_taps(zb_import_node *n, const sampling *s, zb_operand grid, int d, line *out) {
  const int64_t size = s->x.dims[2 + d];
  zb_operand place = place_of(n, s, grid, d), first = zb_operand_apply1(n, "floor", place);
  weigh(n, s, zb_operand_apply2(n, "sub", place, first), out->weights);
  for (int t = 0; t < s->taps; ++t) {
    zb_operand tap = with(n, "add", first, t - (s->taps == TAPS_MAX));
    if (s->padding == PADDING_ZEROS || s->is_paddle) {
      zb_operand is_in =
          zb_operand_apply2(n, "and", with(n, "greater_equal", tap, 0), with(n, "less_equal", tap, (double)(size - 1)));
      zb_operand weight = out->weights[t] ? out->weights[t] : zb_operand_scalar(n, s->x.dtype, 1);
      out->weights[t] = zb_operand_where(n, is_in, weight, zb_operand_scalar(n, s->x.dtype, 0));
    } else if (s->padding == PADDING_REFLECTION) {
      tap = reflected(n, s, tap, size);
    }
    out->places[t] = zb_operand_cast(n, clamped(n, tap, size), ZB_I64);
  }
}

/* ---- The sum over taps ---- */

/* What one choice of a tap along each dimension adds: [n, points, c]. */
static zb_operand read_tap(zb_import_node *n, const sampling *s, const line *lines, zb_operand rows, int64_t choice) {
  const zb_shape flat = {.rank = 2, .dims = {s->places.dims[0], s->points}};
  int64_t image = 1;
  zb_operand place = NULL, weight = NULL;
  for (int d = 0; d < s->rank; ++d, choice /= s->taps) {
    zb_operand own = lines[d].weights[choice % s->taps], tap = lines[d].places[choice % s->taps];
    image *= s->x.dims[2 + d];
    place = place ? zb_operand_apply2(n, "add", with(n, "mul", place, (double)s->x.dims[2 + d]), tap) : tap;
    weight = weight && own ? zb_operand_apply2(n, "mul", weight, own) : weight ? weight : own;
  }
  zb_known *first = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 3, .dims = {s->x.dims[0], 1, 1}});
  for (int64_t i = 0; first && i < first->elements; ++i)
    zb_known_set_integer(first, i, i * image);
  place = zb_operand_apply2(n, "add", place, zb_operand_known(n, first));
  zb_operand found = zb_operand_gather(n, rows, zb_operand_reshape(n, place, &flat), 0, ZB_FROM_BOTH_ENDS);
  return weight ? zb_operand_apply2(n, "mul", found, weight) : found;
}

zb_operand zb_spatial_sampled(zb_import_node *n, zb_operand image, zb_operand given, const zb_spatial_sampling *how) {
  sampling s = {.align_corners = how->align_corners, .is_paddle = how->is_paddle};
  line lines[ZB_SPATIAL_MAX] = {0};
  zb_shape grid, out;
  if (!read_words(n, how->mode, how->padding, &s) || !read_shapes(n, image, given, &grid, &s))
    return n->im->failed = true, NULL;
  int64_t to_rows[ZB_DIMS_MAX] = {0}, choices = 1;
  zb_shape rows = {.rank = 2, .dims = {s.x.dims[0], s.x.dims[1]}};
  for (int d = 0; d < s.rank; ++d) {
    to_rows[1 + d] = 2 + d;
    rows.dims[0] *= s.x.dims[2 + d];
    choices *= s.taps;
  }
  to_rows[1 + s.rank] = 1;
  zb_operand x = zb_operand_reshape(n, zb_operand_transpose(n, image, to_rows), &rows), sum = NULL;
  zb_operand places = zb_operand_reshape(n, given, &s.places);
  for (int d = 0; d < s.rank && !n->im->failed; ++d)
    find_taps(n, &s, places, d, &lines[d]);
  for (int64_t i = 0; i < choices && !n->im->failed; ++i) {
    zb_operand part = read_tap(n, &s, lines, x, i);
    sum = sum ? zb_operand_apply2(n, "add", sum, part) : part;
  }
  out = zb_subshape(&s.x, 0, s.x.rank);
  memcpy(out.dims + 2, grid.dims + 1, (size_t)s.rank * sizeof *out.dims);
  return zb_operand_reshape(n, zb_operand_transpose(n, sum, (int64_t[]){0, 2, 1}), &out);
}
