/* Gather and scatter whose windows are any: an index for every element, or for every row of what the windows have
 * whole.
 *
 *   stablehlo.scatter(%x [5, 6, 7], %at [2, 2], %u [2, 2, 7]) {window of 2 elements of dimension 1}
 *   zb.scatter(x [30, 7], places [2 * 2], u [4, 7])          places = index 0 * 6 + index 1 + place in the window
 *
 * Indices of a gather are clamped so that its window fits. What a scatter would write out of range goes to a row behind
 * the end, which is cut off. Tests: test/e2e/stablehlo_testdata.py, on
 * test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* The dimensions of an op in the words of both. */
typedef struct windows {
  zb_shape operand, indices;
  int64_t offset[ZB_DIMS_MAX], collapsed[ZB_DIMS_MAX]; /* dimensions of the result or updates; of the operand */
  int64_t batch[ZB_DIMS_MAX], index_batch[ZB_DIMS_MAX], map[ZB_DIMS_MAX], vector;
  int64_t sizes[ZB_DIMS_MAX]; /* of a window */
  int offset_count, collapsed_count, batch_count, index_batch_count, map_count;
  bool is_scatter, is_row[ZB_DIMS_MAX]; /* a dimension that windows have whole and no index names */
  zb_shape tuples;                      /* of the indices, without the vector */
  zb_shape places;                      /* tuples, then the window in dimensions that are no rows */
  int window_dimension[ZB_DIMS_MAX];    /* in `places`, of a dimension of the operand; -1: it is one element there */
  zb_shape space, rows;                 /* dimensions that are none, and those that are rows */
  int64_t permutation[ZB_DIMS_MAX];     /* of the operand: space, then rows */
} windows;

static int position(const int64_t *list, int count, int64_t value) {
  for (int i = 0; i < count; ++i)
    if (list[i] == value) return i;
  return -1;
}

static bool read_windows(zb_import_node *n, windows *g) {
  const bool s = g->is_scatter;
  const char *name = s ? "scatter_dimension_numbers" : "dimension_numbers";
  int64_t vector[1] = {0};
  int count;
  if (!zb_import_shape(n, 0, &g->operand) || !zb_import_shape(n, 1, &g->indices) ||
      !zb_stablehlo_field(n, name, s ? "update_window_dims" : "offset_dims", g->offset, ZB_DIMS_MAX,
                          &g->offset_count) ||
      !zb_stablehlo_field(n, name, s ? "inserted_window_dims" : "collapsed_slice_dims", g->collapsed, ZB_DIMS_MAX,
                          &g->collapsed_count) ||
      !zb_stablehlo_field(n, name, s ? "input_batching_dims" : "operand_batching_dims", g->batch, ZB_DIMS_MAX,
                          &g->batch_count) ||
      !zb_stablehlo_field(n, name, s ? "scatter_indices_batching_dims" : "start_indices_batching_dims", g->index_batch,
                          ZB_DIMS_MAX, &g->index_batch_count) ||
      !zb_stablehlo_field(n, name, s ? "scatter_dims_to_operand_dims" : "start_index_map", g->map, ZB_DIMS_MAX,
                          &g->map_count) ||
      !zb_stablehlo_field(n, name, "index_vector_dim", vector, 1, &count))
    return false;
  g->vector = vector[0];
  return true;
}

/* Sizes of a window: of a gather they are given, of a scatter the updates have them. */
static bool read_sizes(zb_import_node *n, windows *g) {
  zb_shape updates;
  int count, next = 0;
  if (!g->is_scatter) {
    if (!zb_stablehlo_ints(n, "slice_sizes", false, g->sizes, ZB_DIMS_MAX, &count)) return false;
    return count == g->operand.rank || zb_import_refuse(n, NULL, "slice_sizes has not one entry a dimension");
  }
  if (!zb_import_shape(n, 2, &updates)) return false;
  for (int d = 0; d < g->operand.rank; ++d) {
    const bool is_one =
        position(g->collapsed, g->collapsed_count, d) >= 0 || position(g->batch, g->batch_count, d) >= 0;
    g->sizes[d] = 1;
    if (is_one) continue;
    if (next == g->offset_count || g->offset[next] < 0 || g->offset[next] >= updates.rank)
      return zb_import_refuse(n, NULL, "the window does not fit the updates");
    g->sizes[d] = updates.dims[g->offset[next++]];
  }
  return next == g->offset_count || zb_import_refuse(n, NULL, "the window does not fit the updates");
}

static bool is_dimension_list(const int64_t *list, int count, int rank) {
  for (int i = 0; i < count; ++i)
    if (list[i] < 0 || list[i] >= rank || position(list, i, list[i]) >= 0) return false;
  return true;
}

static bool check_windows(zb_import_node *n, const windows *g) {
  const int rank = g->operand.rank;
  bool fits = g->vector >= 0 && g->vector <= g->indices.rank && g->batch_count == g->index_batch_count &&
              is_dimension_list(g->collapsed, g->collapsed_count, rank) &&
              is_dimension_list(g->batch, g->batch_count, rank) && is_dimension_list(g->map, g->map_count, rank) &&
              is_dimension_list(g->index_batch, g->index_batch_count, g->indices.rank) &&
              (g->vector < g->indices.rank ? g->indices.dims[g->vector] : 1) == g->map_count &&
              (g->indices.dtype == ZB_I32 || g->indices.dtype == ZB_I64) &&
              g->offset_count == rank - g->collapsed_count - g->batch_count;
  for (int i = 0; fits && i < g->batch_count; ++i)
    fits = g->index_batch[i] != g->vector && g->indices.dims[g->index_batch[i]] == g->operand.dims[g->batch[i]];
  for (int d = 0; fits && d < rank; ++d) {
    fits = g->sizes[d] >= 1 && g->sizes[d] <= g->operand.dims[d];
    if (position(g->collapsed, g->collapsed_count, d) >= 0 || position(g->batch, g->batch_count, d) >= 0)
      fits = fits && g->sizes[d] == 1;
  }
  return fits || zb_import_refuse(n, NULL, "the numbers of dimensions do not fit each other");
}

static bool sort_windows(zb_import_node *n, windows *g) {
  int count = 0;
  g->tuples = (zb_shape){.dtype = ZB_I64};
  g->space = g->rows = (zb_shape){.dtype = g->operand.dtype};
  for (int d = 0; d < g->indices.rank; ++d)
    if (d != g->vector) g->tuples.dims[g->tuples.rank++] = g->indices.dims[d];
  g->places = g->tuples;
  for (int rows = 0; rows < 2; ++rows)
    for (int d = 0; d < g->operand.rank; ++d) {
      g->is_row[d] = position(g->map, g->map_count, d) < 0 && position(g->batch, g->batch_count, d) < 0 &&
                     g->sizes[d] == g->operand.dims[d];
      if (g->is_row[d] != (rows == 1)) continue;
      zb_shape *to = rows ? &g->rows : &g->space;
      to->dims[to->rank++] = g->operand.dims[d];
      g->permutation[count++] = d;
      g->window_dimension[d] = -1;
      if (rows || g->sizes[d] == 1) continue;
      if (g->places.rank == ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "it has too many dimensions");
      g->window_dimension[d] = g->places.rank;
      g->places.dims[g->places.rank++] = g->sizes[d];
    }
  return g->places.rank + g->rows.rank <= ZB_DIMS_MAX || zb_import_refuse(n, NULL, "it has too many dimensions");
}

static int tuple_dimension(const windows *g, int64_t d) { return (int)(d > g->vector ? d - 1 : d); }

/* ---- Places ---- */

/* The place of the element of known indices, or -1. */
static int64_t known_place(const windows *g, const zb_known *indices, const int64_t *strides, const int64_t *at) {
  int64_t tuple = 0, place = 0;
  for (int d = 0; d < g->indices.rank; ++d)
    if (d != g->vector) tuple += at[tuple_dimension(g, d)] * strides[d];
  const int64_t step = g->vector < g->indices.rank ? strides[g->vector] : 0;
  for (int i = 0; i < g->space.rank; ++i) {
    const int64_t d = g->permutation[i], dim = g->operand.dims[d];
    const int map = position(g->map, g->map_count, d), batch = position(g->batch, g->batch_count, d);
    int64_t index = map >= 0 ? zb_known_integer(indices, tuple + map * step) : 0;
    if (batch >= 0) index = at[tuple_dimension(g, g->index_batch[batch])];
    if (!g->is_scatter && index < 0) index = 0;
    if (!g->is_scatter && index > dim - g->sizes[d]) index = dim - g->sizes[d];
    if (index < 0 || index >= dim) return -1;
    if (g->window_dimension[d] >= 0) index += at[g->window_dimension[d]];
    if (index >= dim) return -1;
    place = place * dim + index;
  }
  return place;
}

/* Of every element; out of range: *missing is set, and `behind` stands there. */
static zb_known *known_places(zb_import_node *n, const windows *g, const zb_known *indices, int64_t behind,
                              bool *missing) {
  int64_t strides[ZB_DIMS_MAX], at[ZB_DIMS_MAX] = {0};
  zb_known *out = zb_known_new(n->im, &g->places);
  zb_strides(&g->indices, strides);
  for (int64_t t = 0; out && t < out->elements; ++t) {
    int64_t left = t;
    for (int d = g->places.rank - 1; d >= 0; left /= g->places.dims[d--])
      at[d] = left % g->places.dims[d];
    const int64_t place = known_place(g, indices, strides, at);
    *missing |= place < 0;
    zb_known_set_integer(out, t, place < 0 ? behind : place);
  }
  return out;
}

/* Entry k of every tuple as i64, in the shape of the tuples and then ones. */
static MlirValue component(zb_import_node *n, const windows *g, MlirValue indices, int k) {
  int64_t permutation[ZB_DIMS_MAX];
  int count = 0;
  zb_shape line = g->places;
  for (int d = g->tuples.rank; d < line.rank; ++d)
    line.dims[d] = 1;
  if (g->vector < g->indices.rank) {
    indices = zb_stablehlo_cut(n, indices, (int)g->vector, k, 1, 1);
    for (int d = 0; d < g->indices.rank; ++d)
      if (d != g->vector) permutation[count++] = d;
    permutation[count++] = g->vector;
    indices = zb_import_transposed(n->b, indices, permutation);
  }
  return zb_build_cast(n->b, zb_import_reshaped(n->b, indices, line.dims, line.rank), ZB_I64);
}

static MlirValue line_along(zb_import_node *n, const windows *g, int dimension) {
  zb_shape line = g->places;
  for (int d = 0; d < line.rank; ++d)
    if (d != dimension) line.dims[d] = 1;
  return zb_build_iota(n->b, &line, dimension, 0, 1);
}

/* The index of one dimension of the operand, and (of a scatter) whether it is in range, joined to *valid. */
static MlirValue computed_index(zb_import_node *n, const windows *g, MlirValue indices, int64_t d, MlirValue *valid) {
  zb_builder *b = n->b;
  const int map = position(g->map, g->map_count, d), batch = position(g->batch, g->batch_count, d);
  const int64_t dim = g->operand.dims[d];
  MlirValue zero = zb_stablehlo_scalar(n, ZB_I64, 0), index = zero;
  if (batch >= 0) index = line_along(n, g, tuple_dimension(g, g->index_batch[batch]));
  if (map >= 0) index = component(n, g, indices, map);
  if (map >= 0 && !g->is_scatter) {
    index = zb_build2(b, "max", index, zero);
    index = zb_build2(b, "min", index, zb_stablehlo_scalar(n, ZB_I64, dim - g->sizes[d]));
  }
  if (g->is_scatter) { /* a large index plus its place in the window must not wrap around */
    MlirValue good = zb_build2(b, "and", zb_build2(b, "greater_equal", index, zero),
                               zb_build2(b, "less", index, zb_stablehlo_scalar(n, ZB_I64, dim)));
    *valid = valid->ptr ? zb_build2(b, "and", *valid, good) : good;
  }
  if (g->window_dimension[d] < 0) return index;
  index = zb_build2(b, "add", index, line_along(n, g, g->window_dimension[d]));
  if (g->is_scatter)
    *valid = zb_build2(b, "and", *valid, zb_build2(b, "less", index, zb_stablehlo_scalar(n, ZB_I64, dim)));
  return index;
}

static MlirValue computed_places(zb_import_node *n, const windows *g, int64_t behind) {
  zb_builder *b = n->b;
  MlirValue indices = zb_import_ir(n, 1), place = zb_stablehlo_scalar(n, ZB_I64, 0), valid = {NULL};
  if (!indices.ptr) return indices;
  for (int i = 0; i < g->space.rank; ++i) {
    const int64_t d = g->permutation[i];
    MlirValue index = computed_index(n, g, indices, d, &valid);
    place = zb_build2(b, "mul", place, zb_stablehlo_scalar(n, ZB_I64, g->operand.dims[d]));
    place = zb_build2(b, "add", place, index);
  }
  if (valid.ptr)
    place = zb_build(b, "where", (MlirValue[]){valid, place, zb_stablehlo_scalar(n, ZB_I64, behind)}, 3, NULL, 0);
  return b->failed ? (MlirValue){NULL} : zb_import_expanded(b, place, &g->places);
}

/* Places as a list, of which `missing` says whether some are behind the end. */
static MlirValue places_of(zb_import_node *n, const windows *g, int64_t behind, bool *missing) {
  const zb_known *indices = zb_import_known(n, 1);
  const int64_t count = zb_shape_elements(&g->places);
  *missing = false;
  MlirValue places;
  if (indices) {
    const zb_known *known = known_places(n, g, indices, behind, missing);
    places = known ? zb_import_literal_ir(n->im, known, "places") : (MlirValue){NULL};
  } else {
    *missing = g->is_scatter;
    places = computed_places(n, g, behind);
  }
  return places.ptr ? zb_import_reshaped(n->b, places, &count, 1) : places;
}

static zb_result read_all(zb_import_node *n, windows *g) {
  return read_windows(n, g) && read_sizes(n, g) && check_windows(n, g) && sort_windows(n, g) ? ZB_OK : ZB_FAIL;
}

/* The operand as [space, rows]. */
static MlirValue as_rows(zb_import_node *n, const windows *g, MlirValue x, int64_t *dims) {
  dims[0] = zb_shape_elements(&g->space);
  for (int i = 0; i < g->rows.rank; ++i)
    dims[1 + i] = g->rows.dims[i];
  return zb_import_reshaped(n->b, zb_import_transposed(n->b, x, g->permutation), dims, 1 + g->rows.rank);
}

/* Where a dimension of the result (or of the updates) is among places and rows: a permutation from one to the other;
 * dims: those of the result, in the order of places and rows with the ones that windows have there. */
static bool place_dimensions(const windows *g, int64_t *dims, int64_t *permutation, int *rank) {
  int64_t window[ZB_DIMS_MAX];
  int tuple = 0, next = 0, kept = 0;
  *rank = 0;
  for (int d = 0; d < g->tuples.rank; ++d)
    dims[(*rank)++] = g->tuples.dims[d];
  for (int rows = 0; rows < 2; ++rows)
    for (int d = 0; d < g->operand.rank; ++d) {
      if (g->is_row[d] != (rows == 1) || position(g->collapsed, g->collapsed_count, d) >= 0 ||
          position(g->batch, g->batch_count, d) >= 0)
        continue;
      if (*rank == ZB_DIMS_MAX) return false;
      window[d] = *rank;
      dims[(*rank)++] = g->sizes[d];
    }
  int64_t order[ZB_DIMS_MAX];
  for (int d = 0; d < g->operand.rank; ++d)
    if (position(g->collapsed, g->collapsed_count, d) < 0 && position(g->batch, g->batch_count, d) < 0)
      order[kept++] = window[d];
  for (int d = 0; d < *rank; ++d) {
    const bool is_window = position(g->offset, g->offset_count, d) >= 0;
    if (is_window ? next == kept : tuple == g->tuples.rank) return false;
    permutation[d] = is_window ? order[next++] : tuple++;
  }
  return true;
}

zb_result zb_stablehlo_gather_any(zb_import_node *n) {
  windows g = {.is_scatter = false};
  int64_t dims[ZB_DIMS_MAX], placed[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  int rank;
  bool missing;
  if (!read_all(n, &g)) return ZB_FAIL;
  /* A collapsed dimension of one element is a row of one: it is whole. */
  if (!place_dimensions(&g, placed, permutation, &rank))
    return zb_import_refuse(n, NULL, "offset_dims does not fit the indices");
  MlirValue x = as_rows(n, &g, zb_import_ir(n, 0), dims);
  MlirValue places = places_of(n, &g, 0, &missing);
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  zb_attr axis = zb_int("axis", 0);
  x = zb_build(n->b, "gather", (MlirValue[]){x, places}, 2, &axis, 1);
  x = zb_import_reshaped(n->b, x, placed, rank);
  return zb_import_give(n, 0, zb_import_transposed(n->b, x, permutation));
}

/* x [rows, ...] with one row more. */
static MlirValue with_row(zb_import_node *n, MlirValue x) {
  zb_shape row;
  if (!zb_import_ir_shape(n, x, &row)) return (MlirValue){NULL};
  row.dims[0] = 1;
  MlirValue zeros = zb_build_expand(n->b, zb_build_scalar(n->b, row.dtype, 0), &row);
  return n->b->failed ? (MlirValue){NULL} : zb_build_concat(n->b, (MlirValue[]){x, zeros}, 2, 0);
}

/* What the region does with what is there and the update, as zb.scatter has it; NULL: something else. */
static const char *reduction_of(const zb_import_node *n) {
  static const struct {
    const char *body, *reduction;
  } rows[] = {{"add", "add"},     {"multiply", "mul"}, {"maximum", "max"},
              {"minimum", "min"}, {"or", "add"},       {"and", "mul"}};
  char body[32];
  zb_shape shape;
  MlirOperation op = zb_stablehlo_source(n);
  if (mlirOperationGetNumRegions(op) < 1) return NULL;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  if (mlirBlockIsNull(block) || mlirBlockGetNumArguments(block) != 2) return NULL;
  if (zb_stablehlo_region_op(n, 0, body, sizeof body)) {
    if (!zb_stablehlo_shape(mlirValueGetType(mlirBlockGetArgument(block, 0)), &shape)) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) /* `or` and `and` of bits are no such sums */
      if (strcmp(rows[i].body, body) == 0 && (i < 4 || shape.dtype == ZB_I1)) return rows[i].reduction;
    return NULL;
  }
  MlirOperation last = mlirBlockGetFirstOperation(block);
  if (!last.ptr || mlirOperationGetNumOperands(last) != 1 || mlirOperationGetNumResults(last) != 0) return NULL;
  return mlirValueEqual(mlirOperationGetOperand(last, 0), mlirBlockGetArgument(block, 1)) ? "none" : NULL;
}

/* Of updates to one place the last one stays, and it alone gets a gradient. */
static MlirValue without_lost(zb_import_node *n, MlirValue news, MlirValue places, int64_t rows) {
  zb_builder *b = n->b;
  zb_shape shape, line;
  MlirAttribute unique = zb_stablehlo_attribute(zb_stablehlo_source(n), "unique_indices");
  if (unique.ptr && mlirAttributeIsABool(unique) && mlirBoolAttrGetValue(unique)) return news;
  if (!n->inputs[2]->reached || !zb_import_ir_shape(n, news, &shape) || !zb_stablehlo_is_float(shape.dtype))
    return news;
  line = (zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {rows}};
  MlirValue owners = zb_build_expand(b, zb_stablehlo_scalar(n, ZB_I64, 0), &line);
  line.dims[0] = shape.dims[0];
  MlirValue numbers = zb_build_iota(b, &line, 0, 0, 1);
  const zb_attr axis = zb_int("axis", 0);
  owners = zb_stablehlo_scattered(n, owners, places, numbers, "none");
  if (b->failed) return news;
  MlirValue stays = zb_build2(b, "equal", zb_build(b, "gather", (MlirValue[]){owners, places}, 2, &axis, 1), numbers);
  for (int d = 1; d < shape.rank; ++d)
    shape.dims[d] = 1;
  stays = zb_import_reshaped(b, stays, shape.dims, shape.rank);
  return zb_build(b, "where", (MlirValue[]){stays, news, zb_build1(b, "detach", news)}, 3, NULL, 0);
}

zb_result zb_stablehlo_scatter(zb_import_node *n) {
  const char *reduction = reduction_of(n);
  windows g = {.is_scatter = true};
  int64_t dims[ZB_DIMS_MAX], placed[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX], inverse[ZB_DIMS_MAX];
  zb_shape updates, operand;
  int rank;
  bool missing;
  if (!reduction)
    return zb_import_refuse(n, "one of add, multiply, maximum, minimum, or the update itself",
                            "its region is not one op of its two arguments");
  if (!read_all(n, &g) || !zb_import_shape(n, 2, &updates)) return ZB_FAIL;
  if (!place_dimensions(&g, placed, permutation, &rank) || rank != updates.rank)
    return zb_import_refuse(n, NULL, "the updates do not fit the indices");
  for (int d = 0; d < rank; ++d) {
    inverse[permutation[d]] = d;
    if (updates.dims[d] != placed[permutation[d]])
      return zb_import_refuse(n, NULL, "the updates do not fit the indices");
  }
  MlirValue x = as_rows(n, &g, zb_import_ir(n, 0), dims);
  MlirValue places = places_of(n, &g, dims[0], &missing);
  MlirValue news = zb_import_transposed(n->b, zb_import_ir(n, 2), inverse);
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  const int64_t before = dims[0];
  dims[0] = zb_shape_elements(&g.places);
  news = zb_import_reshaped(n->b, news, dims, 1 + g.rows.rank);
  if (strcmp(reduction, "none") == 0) news = without_lost(n, news, places, before + missing);
  const bool is_ordered = strcmp(reduction, "max") == 0 || strcmp(reduction, "min") == 0;
  const zb_stablehlo_integer type = is_ordered ? zb_stablehlo_operand_integer(n, 0) : (zb_stablehlo_integer){0, false};
  x = zb_stablehlo_ordered(n, missing ? with_row(n, x) : x, type);
  MlirValue out = zb_stablehlo_scattered(n, x, places, zb_stablehlo_ordered(n, news, type), reduction);
  out = zb_stablehlo_ordered(n, out, type);
  if (missing) out = zb_stablehlo_cut(n, out, 0, 0, before, 1);
  operand = (zb_shape){.rank = g.operand.rank};
  for (int i = 0; i < g.operand.rank; ++i) {
    operand.dims[i] = g.operand.dims[g.permutation[i]];
    inverse[g.permutation[i]] = i;
  }
  out = zb_import_reshaped(n->b, out, operand.dims, operand.rank);
  return n->b->failed ? ZB_FAIL : zb_import_give(n, 0, zb_import_transposed(n->b, out, inverse));
}
