/* Ops that move data or only say that it lies differently: views (reshape, transpose, slice, expand, split), concat,
 * contiguous, gather, scatter.
 *
 * The views are stride arithmetic over those of the operand; only zb.reshape can fail, and then zb-layout puts a copy
 * before it.
 *
 * Tests: test/ir/ops/movement.mlir, test/ir/view_test.c (against brute force).
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"
#include "runtime/base/text.h"

#include <inttypes.h>
#include <string.h>

static zb_strided strided_at(int64_t offset) { return (zb_strided){.offset = offset}; }

/* ---- reshape ---- */

static zb_result infer_reshape(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_shape_attr(op, "shape", op->operands[0].dtype, &results[0], "C1", error)) return ZB_FAIL;
  int64_t expected = zb_shape_elements(&op->operands[0]), got = zb_shape_elements(&results[0]);
  if (expected == got) return ZB_OK;
  return zb_op_fail(error, NULL, "the number of elements changes: expected %" PRId64 ", got %" PRId64 " (C2)", expected,
                    got);
}

static void grad_reshape(zb_gradient *g) {
  const zb_shape *x = &g->view.operands[0];
  g->din[0] = zb_build_reshape(g->b, g->dout[0], x->dims, x->rank);
}

/* A maximal run of dimensions that lies like one: `size` elements, `stride` apart. */
typedef struct run {
  int64_t size, stride;
} run;

/* Merges dimensions that can be walked with one stride; those of size 1 do not matter. */
static int find_runs(const zb_shape *shape, const int64_t *strides, run runs[ZB_DIMS_MAX]) {
  int count = 0;
  for (int i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] == 1) continue;
    if (count > 0 && runs[count - 1].stride == shape->dims[i] * strides[i]) {
      runs[count - 1].size *= shape->dims[i];
      runs[count - 1].stride = strides[i];
    } else {
      runs[count++] = (run){.size = shape->dims[i], .stride = strides[i]};
    }
  }
  return count;
}

/* A dimension of the result has one stride, so it lies within one run: the result is a view iff its dimensions, from
 * the last, fill the runs exactly. */
static bool view_reshape(const zb_op_view *op, const zb_strided *in, int result ZB_UNUSED, const zb_shape *shape,
                         zb_strided *out) {
  run runs[ZB_DIMS_MAX];
  int dim = shape->rank - 1;
  int64_t stride = 1;
  *out = strided_at(in->offset);
  if (zb_shape_elements(shape) == 0) {
    for (; dim >= 0; --dim)
      out->strides[dim] = 1; /* no element is ever read */
    return true;
  }
  for (int r = find_runs(&op->operands[0], in->strides, runs) - 1; r >= 0; --r) {
    int64_t left = runs[r].size;
    stride = runs[r].stride;
    for (; left > 1; --dim) {
      if (dim < 0 || left % shape->dims[dim] != 0) return false;
      out->strides[dim] = stride;
      stride *= shape->dims[dim];
      left /= shape->dims[dim];
    }
  }
  for (; dim >= 0; --dim)
    out->strides[dim] = stride; /* only ones are left */
  return true;
}

const zb_op_def zb_op_reshape = {
    ZB_ROW(reshape),
    .summary = "The same elements in row-major order, in another shape.",
    .doc = "C1: shape has at most 8 entries, each >= 0. C2: the number of elements stays the same.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "shape of the result: shape = array<i64: 4, 8>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_reshape,
    .view = view_reshape,
    .grad = grad_reshape,
    .place = zb_place_reshape,
};

/* ---- transpose ---- */

static zb_result infer_transpose(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  const zb_attr *permutation = zb_attr_ints(op, "permutation");
  bool seen[ZB_DIMS_MAX] = {false};
  if (permutation->count != x->rank)
    return zb_op_fail(error, NULL, "wrong number of entries in permutation: expected %d, got %d (C1)", x->rank,
                      permutation->count);
  results[0] = *x;
  for (int i = 0; i < x->rank; ++i) {
    int64_t from = permutation->ints[i];
    if (from < 0 || from >= x->rank || seen[from])
      return zb_op_fail(error, "it must name each dimension from 0 to rank - 1 once",
                        "no permutation: entry %d is %" PRId64 " (C2)", i, from);
    seen[from] = true;
    results[0].dims[i] = x->dims[from];
  }
  return ZB_OK;
}

static bool view_transpose(const zb_op_view *op, const zb_strided *in, int result ZB_UNUSED, const zb_shape *shape,
                           zb_strided *out) {
  const zb_attr *permutation = zb_attr_ints(op, "permutation");
  *out = strided_at(in->offset);
  for (int i = 0; i < shape->rank; ++i)
    out->strides[i] = in->strides[permutation->ints[i]];
  return true;
}

static void grad_transpose(zb_gradient *g) {
  const zb_attr *permutation = zb_attr_ints(&g->view, "permutation");
  int64_t inverse[ZB_DIMS_MAX];
  for (int i = 0; i < permutation->count; ++i)
    inverse[permutation->ints[i]] = i;
  g->din[0] = ZB_BUILD(g->b, "transpose", g->dout[0], zb_ints("permutation", inverse, permutation->count));
}

const zb_op_def zb_op_transpose = {
    ZB_ROW(transpose),
    .summary = "Dimension i of the result is dimension permutation[i] of x.",
    .doc = "C1: permutation has one entry a dimension. C2: it names each dimension once.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"permutation", ZB_ATTR_INTS, false, 0, "permutation = array<i64: 1, 0>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_transpose,
    .view = view_transpose,
    .grad = grad_transpose,
    .place = zb_place_transpose,
};

/* ---- slice ---- */

/* Whether start, start + step, ... (size entries) lies within 0..dim-1. Written so that nothing overflows. */
static bool slice_fits(int64_t start, int64_t size, int64_t step, int64_t dim) {
  if (start < 0 || size < 0 || step < 1 || start > dim) return false;
  return size == 0 || (start < dim && size - 1 <= (dim - 1 - start) / step);
}

static zb_result infer_slice(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  const zb_attr *starts = zb_attr_ints(op, "starts"), *sizes = zb_attr_ints(op, "sizes"),
                *steps = zb_attr_ints(op, "steps");
  if (starts->count != x->rank || sizes->count != x->rank || steps->count != x->rank)
    return zb_op_fail(error, "write every dimension: start 0, its size, step 1 for a whole one",
                      "starts, sizes and steps need one entry a dimension: expected %d, got %d, %d and %d (C1)",
                      x->rank, starts->count, sizes->count, steps->count);
  results[0] = *x;
  for (int i = 0; i < x->rank; ++i) {
    if (!slice_fits(starts->ints[i], sizes->ints[i], steps->ints[i], x->dims[i]))
      return zb_op_fail(error, "starts are >= 0 and steps >= 1",
                        "the slice leaves dimension %d: expected indices 0 to %" PRId64 ", got start %" PRId64
                        ", size %" PRId64 ", step %" PRId64 " (C2)",
                        i, x->dims[i] - 1, starts->ints[i], sizes->ints[i], steps->ints[i]);
    results[0].dims[i] = sizes->ints[i];
  }
  return ZB_OK;
}

static bool view_slice(const zb_op_view *op, const zb_strided *in, int result ZB_UNUSED, const zb_shape *shape,
                       zb_strided *out) {
  const zb_attr *starts = zb_attr_ints(op, "starts"), *steps = zb_attr_ints(op, "steps");
  *out = strided_at(in->offset);
  for (int i = 0; i < shape->rank; ++i) {
    out->strides[i] = in->strides[i] * steps->ints[i];
    if (shape->dims[i] > 0) out->offset += in->strides[i] * starts->ints[i];
  }
  return true;
}

const zb_op_def zb_op_slice = {
    ZB_ROW(slice),
    .summary = "Elements starts, starts + steps, ... (sizes of them) along every dimension.",
    .doc = "C1: starts, sizes and steps have one entry a dimension. C2: starts >= 0, steps >= 1, and every index is "
           "within x.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"starts", ZB_ATTR_INTS, false, 0, "first index along each dimension: starts = array<i64: 0, 2>"},
                      {"sizes", ZB_ATTR_INTS, false, 0, "shape of the result: sizes = array<i64: 4, 3>"},
                      {"steps", ZB_ATTR_INTS, false, 0, "distance along each dimension: steps = array<i64: 1, 1>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_slice,
    .view = view_slice,
    .grad = zb_grad_named,
    .place = zb_place_slice,
};

static zb_result infer_slice_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *dout = &op->operands[0];
  const zb_attr *starts = zb_attr_ints(op, "starts"), *steps = zb_attr_ints(op, "steps");
  if (!zb_check_shape_attr(op, "shape", dout->dtype, &results[0], "C1", error)) return ZB_FAIL;
  if (results[0].rank != dout->rank || starts->count != dout->rank || steps->count != dout->rank)
    return zb_op_fail(error, NULL,
                      "starts, steps and shape need one entry a dimension: expected %d, got %d, %d and %d (C2)",
                      dout->rank, starts->count, steps->count, results[0].rank);
  for (int i = 0; i < dout->rank; ++i)
    if (!slice_fits(starts->ints[i], dout->dims[i], steps->ints[i], results[0].dims[i]))
      return zb_op_fail(error, NULL,
                        "dout does not fit into dimension %d: expected indices 0 to %" PRId64 ", got start %" PRId64
                        ", size %" PRId64 ", step %" PRId64 " (C3)",
                        i, results[0].dims[i] - 1, starts->ints[i], dout->dims[i], steps->ints[i]);
  return ZB_OK;
}

const zb_op_def zb_op_slice_grad = {
    ZB_ROW(slice_grad),
    .summary = "Gradient of zb.slice: zeros with dout written into the slice.",
    .doc = "C1: shape has at most 8 entries, each >= 0. C2: starts, steps and shape have one entry a dimension. C3: "
           "dout fits.\n",
    .operands = "dout",
    .results = "dx",
    .attrs =
        ZB_ATTRS({"starts", ZB_ATTR_INTS, false, 0, "as in zb.slice"},
                 {"steps", ZB_ATTR_INTS, false, 0, "as in zb.slice"}, {"shape", ZB_ATTR_INTS, false, 0, "shape of x"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_slice_grad,
};

/* ---- expand ---- */

static zb_result infer_expand(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape both;
  char from[96], to[96];
  if (!zb_check_shape_attr(op, "shape", op->operands[0].dtype, &results[0], "C1", error)) return ZB_FAIL;
  both = results[0];
  if (zb_broadcast(&op->operands[0], &results[0], &both) && zb_shape_equal(&both, &results[0])) return ZB_OK;
  return zb_op_fail(error, "dimensions are aligned at the end; only those of size 1 grow",
                    "x does not broadcast to shape: expected dimensions of %s, got %s (C2)",
                    zb_shape_text(&results[0], to), zb_shape_text(&op->operands[0], from));
}

static bool view_expand(const zb_op_view *op, const zb_strided *in, int result ZB_UNUSED, const zb_shape *shape,
                        zb_strided *out) {
  const zb_shape *x = &op->operands[0];
  int extra = shape->rank - x->rank;
  *out = strided_at(in->offset);
  for (int i = 0; i < shape->rank; ++i)
    out->strides[i] = i < extra || x->dims[i - extra] != shape->dims[i] ? 0 : in->strides[i - extra];
  return true;
}

static void grad_expand(zb_gradient *g) { g->din[0] = zb_build_sum_to(g->b, g->dout[0], &g->view.operands[0]); }

const zb_op_def zb_op_expand = {
    ZB_ROW(expand),
    .summary = "x broadcast to a shape, as in NumPy (strides 0).",
    .doc = "C1: shape has at most 8 entries, each >= 0. C2: x broadcasts to it.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "shape of the result: shape = array<i64: 4, 8>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_expand,
    .view = view_expand,
    .grad = grad_expand,
    .place = zb_place_expand,
};

/* ---- split and concat ---- */

static zb_result infer_split(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  const zb_attr *sizes = zb_attr_ints(op, "sizes");
  if (!zb_check_axis(op, "axis", x->rank, "C1", error)) return ZB_FAIL;
  if (sizes->count != op->result_count)
    return zb_op_fail(error, NULL, "wrong number of sizes: expected one a result (%d), got %d (C2)", op->result_count,
                      sizes->count);
  int64_t axis = zb_attr_int(&op->attrs, "axis", 0), left = x->dims[axis];
  for (int i = 0; i < op->result_count; ++i) {
    if (sizes->ints[i] < 0 || sizes->ints[i] > left)
      return zb_op_fail(error, NULL,
                        "the sizes do not add up to dimension %" PRId64 ": size %d is %" PRId64 ", %" PRId64
                        " left (C3)",
                        axis, i, sizes->ints[i], left);
    if (i > 2 && sizes->ints[i] != sizes->ints[2])
      return zb_op_fail(error, "use zb.slice for other sizes",
                        "the third and later sizes differ: expected %" PRId64 ", got %" PRId64 " (C4)", sizes->ints[2],
                        sizes->ints[i]);
    left -= sizes->ints[i];
    results[i] = *x;
    results[i].dims[axis] = sizes->ints[i];
  }
  if (left == 0) return ZB_OK;
  return zb_op_fail(error, NULL,
                    "the sizes do not add up to dimension %" PRId64 ": %" PRId64 " of %" PRId64 " left over (C3)", axis,
                    left, x->dims[axis]);
}

static bool view_split(const zb_op_view *op, const zb_strided *in, int result, const zb_shape *shape, zb_strided *out) {
  const zb_attr *sizes = zb_attr_ints(op, "sizes");
  int64_t stride = in->strides[zb_attr_int(&op->attrs, "axis", 0)];
  (void)shape;
  *out = *in;
  for (int i = 0; i < result; ++i)
    out->offset += sizes->ints[i] * stride;
  return true;
}

static void grad_split(zb_gradient *g) {
  MlirValue parts[ZB_VIEW_OPERANDS];
  for (int i = 0; i < g->view.result_count; ++i) {
    zb_shape shape = zb_value_shape(zb_result_value(g->op, i));
    parts[i] = mlirValueIsNull(g->dout[i]) ? zb_build_splat(g->b, &shape, 0) : g->dout[i];
  }
  zb_attr axis = *zb_attr_find(&g->view.attrs, "axis");
  g->din[0] = zb_build(g->b, "concat", parts, g->view.result_count, &axis, 1);
}

const zb_op_def zb_op_split = {
    ZB_ROW(split),
    .summary = "x cut along an axis into parts of given sizes.",
    .doc = "C1: axis is a dimension of x. C2: there is one size a result. C3: sizes are >= 0 and add up to the "
           "dimension. C4: the third "
           "and later sizes are equal (IRDL knows no lists of different types).\n",
    .operands = "x",
    .results = "first, second, rest*",
    .attrs = ZB_ATTRS({"axis", ZB_ATTR_INT, false, 0, "dimension that is cut, from 0: axis = 1 : i64"},
                      {"sizes", ZB_ATTR_INTS, false, 0, "sizes = array<i64: 8, 8, 8>"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_split,
    .view = view_split,
    .grad = grad_split,
    .place = zb_place_split,
};

static zb_result infer_concat(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *first = &op->operands[0];
  if (!zb_check_axis(op, "axis", first->rank, "C1", error)) return ZB_FAIL;
  int64_t axis = zb_attr_int(&op->attrs, "axis", 0);
  results[0] = *first;
  for (int i = 1; i < op->operand_count; ++i) {
    const zb_shape *x = &op->operands[i];
    if (!zb_check_same_dtype(op, i, 0, "C2", error)) return ZB_FAIL;
    bool fits = x->rank == first->rank;
    for (int d = 0; fits && d < x->rank; ++d)
      fits = d == axis || x->dims[d] == first->dims[d];
    char expected[96], got[96];
    if (!fits)
      return zb_op_fail(error, NULL, "wrong shape of operand %d: expected %s up to dimension %" PRId64 ", got %s (C3)",
                        i, zb_shape_text(first, expected), axis, zb_shape_text(x, got));
    if (i > 2 && !zb_shape_equal(x, &op->operands[2]))
      return zb_op_fail(error, "concatenate them in two steps",
                        "the third and later operands differ in type: expected %s, got %s (C4)",
                        zb_shape_text(&op->operands[2], expected), zb_shape_text(x, got));
    if (x->dims[axis] > INT64_MAX - results[0].dims[axis])
      return zb_op_fail(error, NULL, "the result has more than 2^63 elements (C3)");
    results[0].dims[axis] += x->dims[axis];
  }
  return ZB_OK;
}

static void grad_concat(zb_gradient *g) {
  int64_t axis = zb_attr_int(&g->view.attrs, "axis", 0), sizes[ZB_VIEW_OPERANDS];
  MlirValue parts[ZB_VIEW_OPERANDS];
  int count = g->view.operand_count;
  for (int i = 0; i < count; ++i)
    sizes[i] = g->view.operands[i].dims[axis];
  zb_build_split(g->b, g->dout[0], axis, sizes, count, parts);
  for (int i = 0; i < count; ++i)
    if (g->needs[i]) g->din[i] = parts[i];
}

const zb_op_def zb_op_concat = {
    ZB_ROW(concat),
    .summary = "Operands one after the other along an axis.",
    .doc = "C1: axis is a dimension. C2: one element type. C3: shapes are equal up to the axis. C4: the third and "
           "later operands have "
           "one type (IRDL knows no lists of different types).\n",
    .operands = "first, second, rest*",
    .results = "out",
    .attrs = ZB_ATTRS({"axis", ZB_ATTR_INT, false, 0, "dimension along which they follow, from 0: axis = 1 : i64"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_concat,
    .grad = grad_concat,
    .place = zb_place_concat,
};

/* ---- contiguous ---- */

static zb_result infer_contiguous(const zb_op_view *op, zb_shape *results, zb_op_error *error ZB_UNUSED) {
  results[0] = op->operands[0];
  return ZB_OK;
}

static void grad_contiguous(zb_gradient *g) { g->din[0] = g->dout[0]; }

const zb_op_def zb_op_contiguous = {
    ZB_ROW(contiguous),
    .summary = "The same values, stored contiguously.",
    .doc = "x may have any strides.\n",
    .operands = "x",
    .results = "out",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED | ZB_TRAIT_LINEAR | ZB_TRAIT_OF_PARTS,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_contiguous,
    .grad = grad_contiguous,
    .place = zb_place_elementwise,
};

/* ---- gather ---- */

/* data[:axis] + indices + data[axis + 1:]. */
static zb_result gathered_shape(const zb_shape *data, const zb_shape *indices, int64_t axis, zb_shape *out,
                                const char *label, zb_op_error *error) {
  int rank = data->rank + indices->rank - 1;
  if (rank > ZB_DIMS_MAX)
    return zb_op_fail(error, NULL, "the result has too many dimensions: expected at most %d, got %d (%s)", ZB_DIMS_MAX,
                      rank, label);
  *out = (zb_shape){.dtype = data->dtype, .rank = rank};
  for (int i = 0; i < rank; ++i) {
    if (i < axis)
      out->dims[i] = data->dims[i];
    else if (i < axis + indices->rank)
      out->dims[i] = indices->dims[i - axis];
    else
      out->dims[i] = data->dims[i - indices->rank + 1];
  }
  return ZB_OK;
}

static zb_result infer_gather(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_axis(op, "axis", op->operands[0].rank, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 1, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  return gathered_shape(&op->operands[0], &op->operands[1], zb_attr_int(&op->attrs, "axis", 0), &results[0], "C3",
                        error);
}

#define AXIS_ATTR {"axis", ZB_ATTR_INT, false, 0, "dimension of data that indices choose from, from 0: axis = 0 : i64"}
#define FROM_END_ATTR {"from_end", ZB_ATTR_BOOL, true, 1, "whether negative indices count from the end, or are refused"}

/* C1 to C3 of both gather gradients: (indices, dout) {axis, shape}. */
static zb_result check_gather_grad(const zb_op_view *op, zb_shape *data, zb_op_error *error) {
  if (!zb_check_shape_attr(op, "shape", op->operands[1].dtype, data, "C1", error)) return ZB_FAIL;
  if (!zb_check_axis(op, "axis", data->rank, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 0, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  return zb_check_dtype(op, 1, ZB_REALS, "C3", error);
}

static zb_result infer_gather_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape out;
  if (!check_gather_grad(op, &results[0], error)) return ZB_FAIL;
  if (!gathered_shape(&results[0], &op->operands[0], zb_attr_int(&op->attrs, "axis", 0), &out, "C4", error))
    return ZB_FAIL;
  return zb_check_type(op, 1, &out, "the gathered shape", "C4", error);
}

/* indices have the rank of data and fit into it in every dimension but the axis. */
static zb_result check_element_indices(const zb_shape *data, const zb_shape *indices, int64_t axis, const char *label,
                                       zb_op_error *error) {
  bool fits = data->rank == indices->rank;
  for (int i = 0; fits && i < data->rank; ++i)
    fits = i == axis || indices->dims[i] <= data->dims[i];
  char expected[96], got[96];
  if (fits) return ZB_OK;
  return zb_op_fail(error, NULL,
                    "indices do not fit data: expected at most %s but in dimension %" PRId64 ", got %s (%s)",
                    zb_shape_text(data, expected), axis, zb_shape_text(indices, got), label);
}

static zb_result infer_gather_elements(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *data = &op->operands[0], *indices = &op->operands[1];
  if (!zb_check_axis(op, "axis", data->rank, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 1, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  if (!check_element_indices(data, indices, zb_attr_int(&op->attrs, "axis", 0), "C3", error)) return ZB_FAIL;
  results[0] = *indices;
  results[0].dtype = data->dtype;
  return ZB_OK;
}

static zb_result infer_gather_elements_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_gather_grad(op, &results[0], error)) return ZB_FAIL;
  if (!check_element_indices(&results[0], &op->operands[0], zb_attr_int(&op->attrs, "axis", 0), "C4", error))
    return ZB_FAIL;
  zb_shape out = op->operands[0];
  out.dtype = op->operands[1].dtype;
  return zb_check_type(op, 1, &out, "the shape of indices", "C4", error);
}

#define GATHER_ROWS(NAME, MEANING, C3, GRAD_MEANING, C4)                                                               \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = MEANING,                                                                                              \
      .doc = "C1: axis is a dimension of data. C2: indices are i64 or i32. C3: " C3 "\n",                              \
      .operands = "data, indices",                                                                                     \
      .results = "out",                                                                                                \
      .attrs = ZB_ATTRS(AXIS_ATTR, FROM_END_ATTR),                                                                     \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .mixed = ZB_MIXED_FOLLOW,                                                                                        \
      .infer = infer_##NAME,                                                                                           \
      .grad = zb_grad_named,                                                                                           \
      .place = zb_place_##NAME,                                                                                        \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradient of zb." #NAME " for data" GRAD_MEANING,                                                     \
      .doc = "C1: shape is a shape and axis one of its dimensions. C2: indices are i64 or i32. C3: dout has a float "  \
             "type. C4: " C4 "\n",                                                                                     \
      .operands = "indices, dout",                                                                                     \
      .results = "ddata",                                                                                              \
      .attrs = ZB_ATTRS(AXIS_ATTR, {"shape", ZB_ATTR_INTS, false, 0, "shape of data: shape = array<i64: 256, 64>"}),   \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,                                                                  \
      .infer = infer_##NAME##_grad,                                                                                    \
      .flops = 1,                                                                                                      \
      .counted = ZB_OPERAND(1),                                                                                        \
  };

GATHER_ROWS(
    gather,
    "Slices of data along an axis, chosen by indices; negative ones count from the end, unless from_end is false.",
    "the result has at most 8 dimensions.", ": dout added where indices point, in index order.",
    "dout has the shape shape[:axis] + indices + shape[axis+1:].")
GATHER_ROWS(gather_elements, "Element [.., indices[i, j, ..], ..] of data for every element of indices.",
            "indices have the rank of data and fit into it but in the axis.", ", added in index order.",
            "indices fit into shape, and dout has their shape.")

/* ---- scatter ---- */

static zb_result infer_ravel_index(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *indices = &op->operands[0];
  zb_shape space;
  if (!zb_check_dtype(op, 0, ZB_INTEGERS, "C1", error)) return ZB_FAIL;
  if (!zb_check_shape_attr(op, "shape", ZB_I64, &space, "C2", error)) return ZB_FAIL;
  if (space.rank < 1 || indices->rank < 1 || indices->dims[indices->rank - 1] != space.rank) {
    char got[96];
    return zb_op_fail(error, NULL, "the last dimension of indices holds a tuple: expected %d entries, got %s (C3)",
                      space.rank, zb_shape_text(indices, got));
  }
  results[0] = zb_subshape(indices, 0, indices->rank - 1);
  results[0].dtype = ZB_I64;
  return ZB_OK;
}

const zb_op_def zb_op_ravel_index = {
    ZB_ROW(ravel_index),
    .summary = "The row-major number of every index tuple within a shape; negative entries count from the end.",
    .doc = "C1: indices are i64 or i32. C2: shape is a shape. C3: the last dimension of indices has one entry a "
           "dimension of "
           "shape.\n",
    .operands = "indices",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "what the tuples index: shape = array<i64: 4, 8>"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_ravel_index,
};

static zb_result infer_scatter(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *data = &op->operands[0];
  zb_shape updates;
  const char *reduction = zb_attr_string(&op->attrs, "reduction", "");
  if (data->rank < 1) return zb_op_fail(error, NULL, "data has no rows: its rank is 0 (C1)");
  if (!zb_check_dtype(op, 1, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  if (!gathered_shape(data, &op->operands[1], 0, &updates, "C3", error)) return ZB_FAIL;
  if (!zb_check_type(op, 2, &updates, "the shape of indices and the rest of data", "C3", error)) return ZB_FAIL;
  if (zb_word_index("none add mul min max", reduction) < 0)
    return zb_op_fail(error, NULL,
                      "wrong value of attribute 'reduction': expected \"none\", \"add\", \"mul\", \"min\" or \"max\", "
                      "got \"%s\" (C4)",
                      reduction);
  if (strcmp(reduction, "none") != 0 && !zb_check_dtype(op, 0, ZB_REALS | ZB_INTEGERS, "C5", error)) return ZB_FAIL;
  results[0] = *data;
  return ZB_OK;
}

/* Of equal indices every one gets the gradient of the place, as PyTorch does. */
static void grad_scatter(zb_gradient *g) {
  const char *reduction = zb_attr_string(&g->view.attrs, "reduction", "");
  if (strcmp(reduction, "none") != 0 && strcmp(reduction, "add") != 0) {
    zb_location_error(mlirOperationGetLocation(g->op), "write it with a sum, or with operations that have one",
                      "zb.scatter: the reduction \"%s\" has no gradient", reduction);
    g->b->failed = true;
    return;
  }
  zb_attr axis = zb_int("axis", 0), none = zb_string("reduction", "none");
  MlirValue operands[] = {g->dout[0], zb_operand(g->op, 1), {NULL}};
  bool add = strcmp(zb_attr_string(&g->view.attrs, "reduction", ""), "add") == 0;
  if (g->needs[0] && add) g->din[0] = g->dout[0];
  if (g->needs[0] && !add) {
    operands[2] = zb_build_splat(g->b, &g->view.operands[2], 0);
    g->din[0] = zb_build(g->b, "scatter", operands, 3, &none, 1);
  }
  if (g->needs[2]) g->din[2] = zb_build(g->b, "gather", operands, 2, &axis, 1);
}

const zb_op_def zb_op_scatter = {
    ZB_ROW(scatter),
    .summary = "data with rows replaced by updates, or combined with them, where indices point, in index order.",
    .doc = "C1: data has rank 1 or more. C2: indices are i64 or i32. C3: updates have the type of data and the shape "
           "indices + "
           "data[1:]. C4: reduction is \"none\", \"add\", \"mul\", \"min\" or \"max\". C5: all but \"none\" take "
           "numbers.\n",
    .operands = "data, indices, updates",
    .results = "out",
    .attrs = ZB_ATTRS({"reduction", ZB_ATTR_STRING, false, 0,
                       "\"none\": the last update stays; \"add\": all are added; also \"mul\", \"min\", \"max\""}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_scatter,
    .flops = 1,
    .counted = ZB_OPERAND(2),
    .grad = grad_scatter,
};
