/* Reductions whose region is any, of one value or of several (argmax), and reductions of windows.
 *
 *   stablehlo.reduce(%x init: %c) across dimensions = [1]     halves of the dimension are combined by the region until
 *                                                             one is left, and that with the initial value
 *   stablehlo.reduce_window(%x, %c) {window_dimensions = 3}   the input is filled up with the initial value, and the
 *                                                             elements of small windows are combined in their order; of
 *                                                             large ones windows of 1, 2, 4, .. elements are made of
 * two of half the size, one dimension at a time
 *
 * StableHLO leaves the order of a reduction open, so its region is taken to be associative. Tests:
 * test/e2e/stablehlo_testdata.py, on test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

enum { VALUES_MAX = ZB_STABLEHLO_LANES_MAX / 2, IN_ORDER_MAX = 16 };

/* ---- Reductions ---- */

/* Whether the first `count` operands have the dimensions of the first; reports. */
bool zb_stablehlo_are_alike(zb_import_node *n, int count) {
  zb_shape first, other;
  for (int i = 0; i < count; ++i) {
    if (!zb_import_shape(n, 0, &first) || !zb_import_shape(n, i, &other)) return false;
    other.dtype = first.dtype;
    if (!zb_shape_equal(&first, &other)) return zb_import_refuse(n, NULL, "operand %d has another shape", i);
  }
  return true;
}

/* How two lists of `count` tensors become one: by the region; or of a window of greatest elements by the first of equal
 * ones, which gets all of the gradient: `wins` says when the left one stays. */
typedef struct combination {
  int count;
  const char *wins; /* NULL: the region */
  bool begins;      /* the initial value changes something */
} combination;

static zb_result combine(zb_import_node *n, const MlirValue *x, const MlirValue *y, const combination *c,
                         MlirValue *out) {
  MlirValue both[ZB_STABLEHLO_LANES_MAX];
  zb_shape lanes;
  if (c->wins) {
    MlirValue stays = zb_build2(n->b, "or", zb_build2(n->b, c->wins, x[0], y[0]), zb_build1(n->b, "is_nan", x[0]));
    out[0] = zb_build_where(n->b, stays, x[0], y[0]);
    return n->b->failed ? ZB_FAIL : ZB_OK;
  }
  for (int i = 0; i < c->count; ++i) {
    both[i] = x[i];
    both[c->count + i] = y[i];
  }
  if (!zb_import_ir_shape(n, y[0], &lanes)) return ZB_FAIL;
  return zb_stablehlo_lanes(n, 0, both, 2 * c->count, &lanes, out, c->count);
}

/* What the region of floats is: logaddexp, as JAX has it, is a region of several ops that begins at -infinity. */
static combination combination_of(zb_import_node *n, int count) {
  char body[32] = "";
  combination c = {.count = count, .begins = true};
  const zb_known *start = count == 1 ? zb_import_known(n, 1) : NULL;
  if (!start || start->elements != 1 || !zb_known_is_float(start)) return c;
  const double value = zb_known_real(start, 0);
  const bool is_one = zb_stablehlo_region_op(n, 0, body, sizeof body);
  const bool is_max = strcmp(body, "maximum") == 0, is_min = strcmp(body, "minimum") == 0;
  const bool is_product = strcmp(body, "multiply") == 0;
  c.begins = value != (is_max || !is_one ? -INFINITY : is_min ? INFINITY : is_product ? 1 : 0);
  if (is_max || is_min) c.wins = is_max ? "greater_equal" : "less_equal";
  return c;
}

/* The initial values, before what was reduced. */
static zb_result give_begun(zb_import_node *n, MlirValue *x, const combination *c) {
  MlirValue initial[VALUES_MAX], out[VALUES_MAX];
  const int count = c->count;
  for (int i = 0; i < count; ++i) {
    zb_shape shape;
    if (!zb_import_ir_shape(n, x[i], &shape)) return ZB_FAIL;
    initial[i] = zb_import_ir(n, count + i);
    initial[i] = initial[i].ptr ? zb_import_expanded(n->b, initial[i], &shape) : initial[i];
  }
  if (n->im->failed || n->b->failed || (c->begins && !combine(n, initial, x, c, out))) return ZB_FAIL;
  for (int i = 0; i < count; ++i)
    if (!zb_import_give(n, i, c->begins ? out[i] : x[i])) return ZB_FAIL;
  return ZB_OK;
}

/* Operands with the dimensions that are reduced as one, the last. */
static MlirValue gathered_last(zb_import_node *n, int operand, const int64_t *axes, int count, int64_t *size) {
  zb_shape shape;
  int64_t permutation[ZB_DIMS_MAX], dims[ZB_DIMS_MAX];
  bool is_reduced[ZB_DIMS_MAX] = {false};
  int rank = 0, kept = 0;
  MlirValue x = zb_import_ir(n, operand);
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  *size = 1;
  for (int i = 0; i < count; ++i)
    is_reduced[axes[i]] = true;
  for (int reduced = 0; reduced < 2; ++reduced)
    for (int d = 0; d < shape.rank; ++d) {
      if (is_reduced[d] != (reduced == 1)) continue;
      permutation[rank++] = d;
      if (reduced)
        *size *= shape.dims[d];
      else
        dims[kept++] = shape.dims[d];
    }
  dims[kept++] = *size;
  return zb_import_reshaped(n->b, zb_import_transposed(n->b, x, permutation), dims, kept);
}

zb_result zb_stablehlo_reduce_any(zb_import_node *n, const int64_t *axes, int axis_count) {
  const int count = n->input_count / 2;
  MlirValue x[VALUES_MAX], low[VALUES_MAX], high[VALUES_MAX];
  int64_t size = 1;
  if (count < 1 || count > VALUES_MAX || n->input_count != 2 * count || n->output_count != count)
    return zb_import_refuse(n, NULL, "a reduction of %d values", count);
  if (!zb_stablehlo_are_alike(n, count)) return ZB_FAIL;
  for (int i = 0; i < count; ++i)
    if (!(x[i] = gathered_last(n, i, axes, axis_count, &size)).ptr) return ZB_FAIL;
  zb_shape shape;
  if (!zb_import_ir_shape(n, x[0], &shape)) return ZB_FAIL;
  const int axis = shape.rank - 1;
  combination c = combination_of(n, count);
  c.wins = NULL; /* equal elements share a gradient */
  for (int64_t left = size; left > 1; left = left / 2 + left % 2) {
    MlirValue rest[VALUES_MAX];
    for (int i = 0; i < count; ++i) {
      low[i] = zb_stablehlo_cut(n, x[i], axis, 0, left / 2, 1);
      high[i] = zb_stablehlo_cut(n, x[i], axis, left / 2, left / 2, 1);
      if (left % 2) rest[i] = zb_stablehlo_cut(n, x[i], axis, left - 1, 1, 1);
    }
    if (n->b->failed || !combine(n, low, high, &c, x)) return ZB_FAIL;
    for (int i = 0; i < count && left % 2; ++i)
      x[i] = zb_build_concat(n->b, (MlirValue[]){x[i], rest[i]}, 2, axis);
  }
  for (int i = 0; i < count && !n->b->failed; ++i)
    x[i] = zb_import_reshaped(n->b, x[i], shape.dims, axis);
  return n->b->failed ? ZB_FAIL : give_begun(n, x, &c);
}

/* ---- Windows ---- */

static bool read_window(zb_import_node *n, int rank, zb_stablehlo_window *w) {
  struct {
    const char *name;
    int64_t *to;
  } lists[] = {{"window_dimensions", w->size},
               {"window_strides", w->stride},
               {"base_dilations", w->base},
               {"window_dilations", w->dilation}};
  for (int k = 0; k < 4; ++k) {
    if (!zb_stablehlo_per_dimension(n, lists[k].name, k > 0, rank, lists[k].to)) return false;
    for (int i = 0; i < rank; ++i)
      if (lists[k].to[i] < 1 || lists[k].to[i] > INT32_MAX)
        return zb_import_refuse(n, NULL, "an entry of %s is out of range", lists[k].name);
  }
  int64_t padding[2 * ZB_DIMS_MAX] = {0};
  int count;
  if (!zb_stablehlo_ints(n, "padding", true, padding, 2 * ZB_DIMS_MAX, &count)) return false;
  if (count != 0 && count != 2 * rank) return zb_import_refuse(n, NULL, "padding has not two entries a dimension");
  for (int i = 0; i < rank; ++i) {
    w->low[i] = padding[2 * i];
    w->high[i] = padding[2 * i + 1];
    if (!zb_stablehlo_is_pad(w->low[i]) || !zb_stablehlo_is_pad(w->high[i]))
      return zb_import_refuse(n, NULL, "the padding of dimension %d is out of range", i);
  }
  return true;
}

bool zb_stablehlo_read_window(zb_import_node *n, const zb_shape *in, zb_stablehlo_window *w) {
  if (!read_window(n, in->rank, w)) return false;
  w->out = *in;
  for (int d = 0; d < in->rank; ++d) {
    const int64_t filled = (in->dims[d] - 1) * w->base[d] + 1 + w->low[d] + w->high[d];
    const int64_t reach = (w->size[d] - 1) * w->dilation[d] + 1;
    if (filled < reach) return zb_import_refuse(n, NULL, "a window is larger than dimension %d", d);
    w->out.dims[d] = (filled - reach) / w->stride[d] + 1;
  }
  return true;
}

/* x[i] combined over the window that begins at i, for all i: windows whose sizes are the powers of 2 in `size`, one
 * behind the other. */
static zb_result slide(zb_import_node *n, MlirValue *x, const combination *c, int axis, int64_t size,
                       int64_t dilation) {
  const int count = c->count;
  MlirValue whole[VALUES_MAX], a[VALUES_MAX], b[VALUES_MAX];
  int64_t done = 0; /* elements of whole */
  for (int64_t bit = 1; bit <= size; bit *= 2) {
    zb_shape shape, left;
    if (!zb_import_ir_shape(n, x[0], &shape)) return ZB_FAIL;
    if (size & bit) {
      for (int i = 0; i < count && done; ++i) {
        if (!zb_import_ir_shape(n, whole[i], &left)) return ZB_FAIL;
        const int64_t room = shape.dims[axis] - done * dilation;
        a[i] = zb_stablehlo_cut(n, whole[i], axis, 0, room < left.dims[axis] ? room : left.dims[axis], 1);
        b[i] = zb_stablehlo_cut(n, x[i], axis, done * dilation, room < left.dims[axis] ? room : left.dims[axis], 1);
      }
      if (done && (n->b->failed || !combine(n, a, b, c, whole))) return ZB_FAIL;
      if (!done) memcpy(whole, x, (size_t)count * sizeof *x);
      done += bit;
    }
    if (2 * bit > size) break;
    const int64_t room = shape.dims[axis] - bit * dilation;
    for (int i = 0; i < count; ++i) {
      a[i] = zb_stablehlo_cut(n, x[i], axis, 0, room, 1);
      b[i] = zb_stablehlo_cut(n, x[i], axis, bit * dilation, room, 1);
    }
    if (n->b->failed || !combine(n, a, b, c, x)) return ZB_FAIL;
  }
  memcpy(x, whole, (size_t)count * sizeof *x);
  return ZB_OK;
}

/* Element `at` of every window. */
static MlirValue of_window(zb_import_node *n, MlirValue x, const zb_stablehlo_window *w, const int64_t *at) {
  zb_shape shape;
  int64_t steps[ZB_DIMS_MAX], starts[ZB_DIMS_MAX];
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  for (int d = 0; d < shape.rank; ++d) {
    steps[d] = w->out.dims[d] > 1 ? w->stride[d] : 1;
    starts[d] = at[d] * w->dilation[d];
  }
  return zb_build_slice(n->b, x, starts, w->out.dims, steps, shape.rank);
}

/* The next element of a window, in row-major order. */
static void advance(const zb_stablehlo_window *w, int64_t *at) {
  for (int d = w->out.rank - 1; d >= 0; --d) {
    if (++at[d] < w->size[d]) return;
    at[d] = 0;
  }
}

static int64_t window_elements(const zb_stablehlo_window *w, int64_t most) {
  int64_t elements = 1;
  for (int d = 0; d < w->out.rank && elements <= most; ++d)
    elements *= w->size[d] <= most ? w->size[d] : most + 1;
  return elements;
}

/* Windows of few elements are combined one after another, from the initial value on. */
static zb_result reduce_in_order(zb_import_node *n, const MlirValue *x, const combination *c,
                                 const zb_stablehlo_window *w, int64_t elements) {
  const int count = c->count;
  int64_t at[ZB_DIMS_MAX] = {0};
  MlirValue sum[VALUES_MAX], next[VALUES_MAX];
  for (int64_t k = 0; k < elements; ++k, advance(w, at)) {
    for (int i = 0; i < count; ++i) {
      zb_shape shape;
      next[i] = of_window(n, x[i], w, at);
      if (k > 0) continue;
      sum[i] = next[i];
      if (!c->begins) continue;
      sum[i] = zb_import_ir(n, count + i);
      if (!zb_import_ir_shape(n, next[i], &shape) || !sum[i].ptr) return ZB_FAIL;
      sum[i] = zb_import_expanded(n->b, sum[i], &shape);
    }
    if (n->b->failed) return ZB_FAIL;
    if ((k > 0 || c->begins) && !combine(n, sum, next, c, sum)) return ZB_FAIL;
  }
  for (int i = 0; i < count; ++i)
    if (!zb_import_give(n, i, sum[i])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Windows of all elements up to each one ---- */

/* Whether a window begins (or ends) with the dimension and goes to each element; sets the dimension. */
static bool is_cumulative(const zb_stablehlo_window *w, const zb_shape *in, int *axis, bool *from_end) {
  *axis = -1;
  for (int d = 0; d < in->rank; ++d) {
    const int64_t size = in->dims[d], before = w->low[d], behind = w->high[d];
    if (w->stride[d] != 1 || w->base[d] != 1 || (w->size[d] > 1 && w->dilation[d] != 1)) return false;
    if (w->size[d] == 1 && before == 0 && behind == 0) continue;
    if (*axis >= 0 || w->size[d] != size || before + behind != size - 1 || (before != 0 && behind != 0)) return false;
    *axis = d;
    *from_end = before == 0;
  }
  return *axis >= 0;
}

typedef struct scan {
  zb_import_node *n;
  const combination *c;
  int axis;
  bool from_end;
} scan;

/* Every `step`-th of `count` elements from one on, in the order of the scan, which may be the other way round. */
static MlirValue elements_of(const scan *s, MlirValue x, int64_t total, int64_t first, int64_t count, int64_t step) {
  const int64_t start = s->from_end ? total - 1 - first - step * (count - 1) : first;
  return zb_stablehlo_cut(s->n, x, s->axis, start, count, step);
}

/* first[0], second[0], first[1], ..; one of first may be left over. */
static MlirValue interleaved(const scan *s, MlirValue first, MlirValue second, int64_t total) {
  zb_builder *b = s->n->b;
  zb_shape shape;
  MlirValue rest = {NULL}, parts[2];
  const int64_t half = total / 2;
  if (total % 2) rest = elements_of(s, first, half + 1, half, 1, 1);
  if (total % 2) first = elements_of(s, first, half + 1, 0, half, 1);
  if (!zb_import_ir_shape(s->n, first, &shape) || shape.rank == ZB_DIMS_MAX) return (MlirValue){NULL};
  for (int d = shape.rank++; d > s->axis; --d)
    shape.dims[d] = d == s->axis + 1 ? 1 : shape.dims[d - 1];
  if (s->axis + 1 < shape.rank) shape.dims[s->axis + 1] = 1;
  parts[s->from_end] = zb_import_reshaped(b, first, shape.dims, shape.rank);
  parts[!s->from_end] = zb_import_reshaped(b, second, shape.dims, shape.rank);
  MlirValue both = b->failed ? first : zb_build_concat(b, parts, 2, s->axis + 1);
  for (int d = s->axis + 1; d + 1 < shape.rank; ++d)
    shape.dims[d] = shape.dims[d + 1];
  shape.dims[s->axis] = 2 * half;
  both = zb_import_reshaped(b, both, shape.dims, shape.rank - 1);
  if (b->failed || total % 2 == 0) return both;
  return zb_build_concat(b, s->from_end ? (MlirValue[]){rest, both} : (MlirValue[]){both, rest}, 2, s->axis);
}

/* As lax.associative_scan, whose tree says how equal elements share a gradient: pairs are combined, and those scanned
 * in the same way; the elements between them are one more each. */
static zb_result scan_all(const scan *s, MlirValue *x, int64_t total) {
  MlirValue a[VALUES_MAX], b[VALUES_MAX], odd[VALUES_MAX];
  const int count = s->c->count;
  const int64_t half = total / 2, between = (total - 1) / 2;
  if (total < 2) return ZB_OK;
  for (int i = 0; i < count; ++i) {
    a[i] = elements_of(s, x[i], total, 0, half, 2);
    b[i] = elements_of(s, x[i], total, 1, half, 2);
  }
  if (s->n->b->failed || !combine(s->n, a, b, s->c, odd) || !scan_all(s, odd, half)) return ZB_FAIL;
  for (int i = 0; i < count && between > 0; ++i) {
    a[i] = elements_of(s, odd[i], half, 0, between, 1);
    b[i] = elements_of(s, x[i], total, 2, between, 2);
  }
  if (s->n->b->failed || (between > 0 && !combine(s->n, a, b, s->c, a))) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    MlirValue even = elements_of(s, x[i], total, 0, 1, 1);
    if (between > 0)
      even = zb_build_concat(s->n->b, s->from_end ? (MlirValue[]){a[i], even} : (MlirValue[]){even, a[i]}, 2, s->axis);
    x[i] = interleaved(s, even, odd[i], total);
    if (!x[i].ptr) return ZB_FAIL;
  }
  return s->n->b->failed ? ZB_FAIL : ZB_OK;
}

static zb_result reduce_cumulative(zb_import_node *n, combination *c, int axis, bool from_end, int64_t total) {
  MlirValue x[VALUES_MAX];
  c->wins = NULL;
  const scan s = {n, c, axis, from_end};
  for (int i = 0; i < c->count; ++i)
    if (!(x[i] = zb_import_ir(n, i)).ptr) return ZB_FAIL;
  return scan_all(&s, x, total) ? give_begun(n, x, c) : ZB_FAIL;
}

zb_result zb_stablehlo_reduce_window(zb_import_node *n) {
  const int count = n->input_count / 2;
  MlirValue x[VALUES_MAX];
  zb_stablehlo_window w;
  zb_shape in;
  if (count < 1 || count > VALUES_MAX || n->input_count != 2 * count || n->output_count != count)
    return zb_import_refuse(n, NULL, "windows of %d values", count);
  if (!zb_stablehlo_are_alike(n, count) || !zb_import_shape(n, 0, &in) || !zb_stablehlo_read_window(n, &in, &w))
    return ZB_FAIL;
  combination c = combination_of(n, count);
  int axis;
  bool from_end;
  if (is_cumulative(&w, &in, &axis, &from_end)) return reduce_cumulative(n, &c, axis, from_end, in.dims[axis]);
  for (int i = 0; i < count; ++i) {
    MlirValue initial = zb_import_ir(n, count + i);
    x[i] = zb_import_ir(n, i);
    for (int d = 0; d < in.rank && !n->im->failed; ++d)
      x[i] = zb_stablehlo_padded(n, x[i], initial, d, w.low[d], w.high[d], w.base[d] - 1);
    if (n->im->failed || n->b->failed) return ZB_FAIL;
  }
  const int64_t elements = window_elements(&w, IN_ORDER_MAX);
  if (elements <= IN_ORDER_MAX) return reduce_in_order(n, x, &c, &w, elements);
  for (int d = in.rank - 1; d >= 0; --d) { /* of equal ones the first is that of the first row */
    if (w.size[d] > 1 && !slide(n, x, &c, d, w.size[d], w.dilation[d])) return ZB_FAIL;
    for (int i = 0; i < count; ++i)
      x[i] = zb_stablehlo_cut(n, x[i], d, 0, w.out.dims[d], w.stride[d]);
  }
  return n->b->failed ? ZB_FAIL : give_begun(n, x, &c);
}

/* ---- Select and scatter ---- */

/* Each window adds its source to the element that it selects, which is known by its number. What is filled up is never
 * selected: it has the number -1, and any other is taken before it. */
typedef struct selection {
  MlirValue value, number;
} selection;

static zb_result select_one(zb_import_node *n, selection *best, selection next, const zb_shape *lanes) {
  zb_builder *b = n->b;
  MlirValue keeps, zero = zb_stablehlo_scalar(n, ZB_I64, 0);
  if (!zb_stablehlo_lanes(n, 0, (MlirValue[]){best->value, next.value}, 2, lanes, &keeps, 1)) return ZB_FAIL;
  MlirValue best_is = zb_build2(b, "greater_equal", best->number, zero);
  MlirValue next_is = zb_build2(b, "greater_equal", next.number, zero);
  keeps = zb_build2(b, "or", keeps, zb_build1(b, "not", next_is));
  keeps = zb_build2(b, "and", keeps, best_is);
  best->value = zb_build_where(b, keeps, best->value, next.value);
  best->number = zb_build_where(b, keeps, best->number, next.number);
  return b->failed ? ZB_FAIL : ZB_OK;
}

zb_result zb_stablehlo_select_and_scatter(zb_import_node *n) {
  enum { WINDOW_MAX = 1024 };
  char body[32];
  zb_stablehlo_window w;
  zb_shape in, source;
  int64_t at[ZB_DIMS_MAX] = {0};
  if (!zb_import_shape(n, 0, &in) || !zb_import_shape(n, 1, &source) || !zb_stablehlo_read_window(n, &in, &w))
    return ZB_FAIL;
  const bool is_logic = in.dtype == ZB_I1;
  if (!zb_stablehlo_region_op(n, 1, body, sizeof body) || strcmp(body, is_logic ? "or" : "add") != 0) {
    if (!is_logic || strcmp(body, "add") != 0) return zb_import_refuse(n, NULL, "its second region does not add");
  }
  const int64_t elements = window_elements(&w, WINDOW_MAX);
  if (elements > WINDOW_MAX || !zb_shape_equal(&source, &w.out))
    return zb_import_refuse(n, NULL, "its windows are too large, or do not fit its source");
  const int64_t total = zb_shape_elements(&in);
  const zb_shape line = {.dtype = ZB_I64, .rank = 1, .dims = {total}};
  MlirValue x = zb_import_ir(n, 0), numbers = zb_build_iota(n->b, &line, 0, 0, 1);
  MlirValue initial = zb_import_ir(n, 2), none = zb_stablehlo_scalar(n, ZB_I64, -1);
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  numbers = zb_build_reshape(n->b, numbers, in.dims, in.rank);
  for (int d = 0; d < in.rank; ++d) {
    x = zb_stablehlo_padded(n, x, initial, d, w.low[d], w.high[d], 0);
    numbers = zb_stablehlo_padded(n, numbers, none, d, w.low[d], w.high[d], 0);
  }
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  selection best = {of_window(n, x, &w, at), of_window(n, numbers, &w, at)};
  for (int64_t k = 1; k < elements && !n->b->failed; ++k) {
    advance(&w, at);
    const selection next = {of_window(n, x, &w, at), of_window(n, numbers, &w, at)};
    if (!select_one(n, &best, next, &w.out)) return ZB_FAIL;
  }
  if (n->b->failed) return ZB_FAIL;
  const zb_shape room = {.dtype = in.dtype, .rank = 1, .dims = {total + 1}},
                 windows = {.rank = 1, .dims = {zb_shape_elements(&source)}};
  zb_operand places = zb_operand_computed(n, best.number), behind = zb_operand_scalar(n, ZB_I64, (double)total);
  zb_operand is_missing = zb_operand_apply2(n, "less", places, zb_operand_scalar(n, ZB_I64, 0));
  places = zb_operand_reshape(n, zb_operand_where(n, is_missing, behind, places), &windows);
  zb_operand data = zb_operand_expand(n, zb_operand_in(n, 2), &room);
  zb_operand out = zb_stablehlo_scattered(n, data, places, zb_operand_reshape(n, zb_operand_in(n, 1), &windows), "add");
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_part(n, out, 0, 0, total), &in));
}
