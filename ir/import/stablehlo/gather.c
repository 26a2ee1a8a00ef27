/* gather as zb.gather of rows: what indices name comes first, numbered by one index, and whole rows lie behind it.
 * Other windows: scatter.c.
 *
 *   stablehlo.gather(table [256, 64], tokens [4, 64, 1]) {offset_dims = [2], collapsed_slice_dims = [0],
 *       start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 64]}
 *   zb.gather(table, tokens [4, 64]) {axis = 0}
 *
 * Indices of a gather are clamped, as StableHLO has them: zb.gather counts negative ones from the end, and refuses
 * others. Known ones become numbers of rows here; where these are all rows in order, nothing is gathered. Tests:
 * test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <inttypes.h>
#include <string.h>

typedef struct gather {
  zb_shape operand, indices;                            /* indices: as given */
  int64_t offset[ZB_DIMS_MAX], collapsed[ZB_DIMS_MAX];  /* dimensions of the result, of the operand */
  int64_t batch[ZB_DIMS_MAX], index_batch[ZB_DIMS_MAX]; /* of the operand, of the indices */
  int64_t map[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], vector; /* start_index_map, slice_sizes, index_vector_dim */
  int offset_count, collapsed_count, batch_count, index_batch_count, map_count, size_count;
  zb_shape space;                   /* the dimensions that a tuple names: batch, then map */
  zb_shape rest;                    /* whole dimensions behind them: a row */
  zb_shape kept;                    /* the dimensions of a slice as the result has them */
  zb_shape tuples;                  /* of the indices, without the vector */
  int64_t permutation[ZB_DIMS_MAX]; /* of the operand: space, then rest */
} gather;

static bool has(const int64_t *list, int count, int64_t value) {
  for (int i = 0; i < count; ++i)
    if (list[i] == value) return true;
  return false;
}

static bool read_numbers(zb_import_node *n, gather *g) {
  const char *name = "dimension_numbers";
  int64_t vector[1] = {0};
  int count;
  return zb_import_shape(n, 0, &g->operand) && zb_import_shape(n, 1, &g->indices) &&
         zb_stablehlo_field(n, name, "offset_dims", g->offset, ZB_DIMS_MAX, &g->offset_count) &&
         zb_stablehlo_field(n, name, "collapsed_slice_dims", g->collapsed, ZB_DIMS_MAX, &g->collapsed_count) &&
         zb_stablehlo_field(n, name, "operand_batching_dims", g->batch, ZB_DIMS_MAX, &g->batch_count) &&
         zb_stablehlo_field(n, name, "start_indices_batching_dims", g->index_batch, ZB_DIMS_MAX,
                            &g->index_batch_count) &&
         zb_stablehlo_field(n, name, "start_index_map", g->map, ZB_DIMS_MAX, &g->map_count) &&
         zb_stablehlo_field(n, name, "index_vector_dim", vector, 1, &count) &&
         zb_stablehlo_ints(n, "slice_sizes", false, g->sizes, ZB_DIMS_MAX, &g->size_count) &&
         (g->vector = vector[0], true);
}

/* Whether every number is of a dimension of the operand, and space and rest are all of them. */
static bool sort_dimensions(zb_import_node *n, gather *g) {
  const int rank = g->operand.rank;
  int count = 0;
  if (g->size_count != rank || g->batch_count != g->index_batch_count || g->vector < 0 || g->vector > g->indices.rank)
    return zb_import_refuse(n, NULL, "the numbers of dimensions do not fit each other");
  g->space = g->rest = g->kept = (zb_shape){.dtype = g->operand.dtype};
  for (int i = 0; i < g->batch_count + g->map_count; ++i) {
    const int64_t d = i < g->batch_count ? g->batch[i] : g->map[i - g->batch_count];
    if (d < 0 || d >= rank || has(g->permutation, count, d) || g->sizes[d] != 1)
      return zb_import_refuse(n, "whole rows are gathered; write other windows with lax.dynamic_slice",
                              "dimension %" PRId64 " is not indexed by one element at a time", d);
    g->permutation[count++] = d;
    g->space.dims[g->space.rank++] = g->operand.dims[d];
  }
  for (int d = 0; d < rank; ++d) {
    const bool is_named = has(g->permutation, g->space.rank, d);
    if (!has(g->collapsed, g->collapsed_count, d) && !has(g->batch, g->batch_count, d))
      g->kept.dims[g->kept.rank++] = g->sizes[d];
    if (is_named) continue;
    if (g->sizes[d] != g->operand.dims[d] && !has(g->collapsed, g->collapsed_count, d))
      return zb_import_refuse(n, "whole rows are gathered; write other windows with lax.dynamic_slice",
                              "of dimension %d %" PRId64 " of %" PRId64 " elements are gathered", d, g->sizes[d],
                              g->operand.dims[d]);
    if (g->sizes[d] != g->operand.dims[d]) return zb_import_refuse(n, NULL, "dimension %d is collapsed", d);
    g->permutation[count++] = d;
    g->rest.dims[g->rest.rank++] = g->operand.dims[d];
  }
  return g->space.rank > 0 || zb_import_refuse(n, NULL, "no dimension is indexed");
}

static bool sort_indices(zb_import_node *n, gather *g) {
  const bool has_vector = g->vector < g->indices.rank;
  g->tuples = (zb_shape){.dtype = ZB_I64};
  for (int d = 0; d < g->indices.rank; ++d)
    if (d != g->vector) g->tuples.dims[g->tuples.rank++] = g->indices.dims[d];
  bool fits = (has_vector ? g->indices.dims[g->vector] : 1) == g->map_count && g->offset_count == g->kept.rank &&
              g->tuples.rank + g->kept.rank <= ZB_DIMS_MAX && g->tuples.rank + 1 <= ZB_DIMS_MAX &&
              (g->indices.dtype == ZB_I32 || g->indices.dtype == ZB_I64);
  for (int i = 0; fits && i < g->batch_count; ++i)
    fits = g->index_batch[i] >= 0 && g->index_batch[i] < g->indices.rank && g->index_batch[i] != g->vector &&
           g->indices.dims[g->index_batch[i]] == g->operand.dims[g->batch[i]];
  for (int i = 0; fits && i < g->offset_count; ++i)
    fits = g->offset[i] >= 0 && g->offset[i] < g->tuples.rank + g->kept.rank;
  return fits || zb_import_refuse(n, NULL, "the indices do not fit the numbers of dimensions");
}

/* Dimension of the tuples that is dimension d of the indices. */
static int tuple_dimension(const gather *g, int64_t d) { return (int)(d > g->vector ? d - 1 : d); }

static int64_t clamped(int64_t index, int64_t dim) { return index < 0 ? 0 : index < dim ? index : dim - 1; }

/* The row of every tuple of known indices. */
static zb_known *known_rows(zb_import_node *n, const gather *g, const zb_known *indices) {
  int64_t strides[ZB_DIMS_MAX], place[ZB_DIMS_MAX] = {0};
  zb_known *rows = zb_known_new(n->im, &g->tuples);
  zb_strides(&g->indices, strides);
  for (int64_t t = 0; rows && t < rows->elements; ++t) {
    int64_t at = 0, row = 0, left = t;
    for (int d = g->tuples.rank - 1; d >= 0; left /= g->tuples.dims[d--])
      place[d] = left % g->tuples.dims[d];
    for (int d = 0; d < g->indices.rank; ++d)
      if (d != g->vector) at += place[tuple_dimension(g, d)] * strides[d];
    for (int i = 0; i < g->space.rank; ++i) {
      const int k = i - g->batch_count;
      const int64_t step = g->vector < g->indices.rank ? strides[g->vector] : 0, dim = g->space.dims[i];
      const int64_t given = k < 0 ? 0 : zb_known_integer(indices, at + k * step);
      const int64_t index = k < 0 ? place[tuple_dimension(g, g->index_batch[i])] : clamped(given, dim);
      row = row * dim + index;
    }
    zb_known_set_integer(rows, t, row);
  }
  return rows;
}

static bool in_order(const zb_known *rows, int64_t count) {
  bool same = rows->elements == count;
  for (int64_t i = 0; same && i < count; ++i)
    same = zb_known_integer(rows, i) == i;
  return same;
}

/* Whether windows are whole but for the dimensions that indices name, of which they have one element. */
static bool takes_rows(const gather *g) {
  for (int d = 0; d < g->operand.rank && d < g->size_count; ++d) {
    const bool is_named = has(g->map, g->map_count, d) || has(g->batch, g->batch_count, d);
    if (is_named ? g->sizes[d] != 1 : g->sizes[d] != g->operand.dims[d]) return false;
  }
  return g->map_count + g->batch_count > 0;
}

/* Entry k of every tuple, in the shape of the tuples and 1, clamped. */
static MlirValue component(zb_import_node *n, const gather *g, MlirValue indices, int k) {
  zb_builder *b = n->b;
  zb_shape line = g->tuples;
  line.dims[line.rank++] = 1;
  int64_t starts[ZB_DIMS_MAX] = {0}, steps[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  int count = 0;
  for (int d = 0; d < g->indices.rank; ++d) {
    steps[d] = 1;
    sizes[d] = d == g->vector ? 1 : g->indices.dims[d];
    if (d != g->vector) permutation[count++] = d;
  }
  if (g->vector < g->indices.rank) {
    permutation[count++] = g->vector;
    starts[g->vector] = k;
    if (g->map_count > 1)
      indices = ZB_BUILD(b, "slice", indices, zb_ints("starts", starts, g->indices.rank),
                         zb_ints("sizes", sizes, g->indices.rank), zb_ints("steps", steps, g->indices.rank));
    indices = zb_import_transposed(b, indices, permutation);
  }
  indices = zb_import_reshaped(b, indices, line.dims, line.rank);
  const double dim = (double)g->space.dims[g->batch_count + k];
  MlirValue zero = zb_build_scalar(b, g->indices.dtype, 0);
  indices = zb_build2(b, "max", indices, zero);
  return zb_build2(b, "min", indices, zb_build_scalar(b, g->indices.dtype, dim - 1));
}

/* The row of every tuple, in the shape of the tuples. */
static MlirValue computed_rows(zb_import_node *n, const gather *g) {
  zb_builder *b = n->b;
  MlirValue parts[ZB_DIMS_MAX], indices = zb_import_ir(n, 1);
  int count = 0;
  if (!indices.ptr) return indices;
  zb_shape whole = g->tuples;
  whole.dims[whole.rank++] = 1;
  for (int i = 0; i < g->batch_count; ++i) {
    zb_shape line = whole;
    const int axis = tuple_dimension(g, g->index_batch[i]);
    for (int d = 0; d < line.rank; ++d)
      line.dims[d] = d == axis ? whole.dims[d] : 1;
    parts[count++] = zb_import_expanded(b, zb_build_iota(b, &line, axis, 0, 1), &whole);
  }
  for (int k = 0; k < g->map_count; ++k) {
    MlirValue part = component(n, g, indices, k);
    if (b->failed) return (MlirValue){NULL};
    parts[count++] = g->space.rank > 1 ? zb_build_cast(b, part, ZB_I64) : part;
  }
  if (g->space.rank == 1) return zb_import_reshaped(b, parts[0], g->tuples.dims, g->tuples.rank);
  MlirValue tuples = zb_build_concat(b, parts, count, g->tuples.rank);
  return ZB_BUILD(b, "ravel_index", tuples, zb_ints("shape", g->space.dims, g->space.rank));
}

/* [tuples..., slice...] with the dimensions of the slice where offset_dims has them. */
static zb_result give_placed(zb_import_node *n, const gather *g, MlirValue rows) {
  int64_t dims[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  const int tuples = g->tuples.rank, rank = tuples + g->kept.rank;
  int tuple = 0, kept = 0;
  for (int d = 0; d < tuples; ++d)
    dims[d] = g->tuples.dims[d];
  for (int d = 0; d < g->kept.rank; ++d)
    dims[tuples + d] = g->kept.dims[d];
  for (int d = 0; d < rank; ++d) {
    const bool is_kept = has(g->offset, g->offset_count, d);
    if (is_kept ? kept == g->kept.rank : tuple == tuples)
      return zb_import_refuse(n, NULL, "offset_dims is no list of dimensions");
    permutation[d] = is_kept ? tuples + kept++ : tuple++;
  }
  rows = zb_import_reshaped(n->b, rows, dims, rank);
  return zb_import_give(n, 0, zb_import_transposed(n->b, rows, permutation));
}

zb_result zb_stablehlo_gather(zb_import_node *n) {
  gather g = {.vector = 0};
  if (!read_numbers(n, &g)) return ZB_FAIL;
  if (!takes_rows(&g)) return zb_stablehlo_gather_any(n);
  if (!sort_dimensions(n, &g) || !sort_indices(n, &g)) return ZB_FAIL;
  int64_t dims[ZB_DIMS_MAX] = {zb_shape_elements(&g.space)};
  for (int i = 0; i < g.rest.rank; ++i)
    dims[1 + i] = g.rest.dims[i];
  MlirValue x = zb_import_transposed(n->b, zb_import_ir(n, 0), g.permutation);
  x = zb_import_reshaped(n->b, x, dims, 1 + g.rest.rank);
  const zb_known *indices = zb_import_known(n, 1), *known = indices ? known_rows(n, &g, indices) : NULL;
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  if (known && in_order(known, dims[0])) return give_placed(n, &g, x);
  zb_attr axis = zb_int("axis", 0);
  MlirValue in[2] = {x, known ? zb_import_literal_ir(n->im, known, "rows") : computed_rows(n, &g)};
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  return give_placed(n, &g, zb_build(n->b, "gather", in, 2, &axis, 1));
}
