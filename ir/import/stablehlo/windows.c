/* Gather and scatter, whose windows are any: an index for every element, or for every row of what the windows have
 * whole.
 *
 *   stablehlo.gather(table [256, 64], tokens [4, 64, 1]) {offset_dims = [2], collapsed_slice_dims = [0],
 *       start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 64]}
 *   zb.gather(table, tokens [4, 64]) {axis = 0}
 *
 *   stablehlo.scatter(%x [5, 6, 7], %at [2, 2], %u [2, 2, 7]) {window of 2 elements of dimension 1}
 *   zb.scatter(x [30, 7], places [2 * 2], u [4, 7])          places = index 0 * 6 + index 1 + place in the window
 *
 * Indices of a gather are clamped so that its window fits. What a scatter would write out of range goes to a row behind
 * the end, which is cut off. Places of known indices are known, and where these are all rows in order, nothing is
 * gathered. Tests: test/ir/import/stablehlo, test/e2e/stablehlo_testdata.py, on
 * test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

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
  const struct {
    const char *gather, *scatter;
    int64_t *to;
    int *count;
  } fields[] = {{"offset_dims", "update_window_dims", g->offset, &g->offset_count},
                {"collapsed_slice_dims", "inserted_window_dims", g->collapsed, &g->collapsed_count},
                {"operand_batching_dims", "input_batching_dims", g->batch, &g->batch_count},
                {"start_indices_batching_dims", "scatter_indices_batching_dims", g->index_batch, &g->index_batch_count},
                {"start_index_map", "scatter_dims_to_operand_dims", g->map, &g->map_count}};
  const char *name = g->is_scatter ? "scatter_dimension_numbers" : "dimension_numbers";
  int count;
  if (!zb_import_shape(n, 0, &g->operand) || !zb_import_shape(n, 1, &g->indices)) return false;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
    if (!zb_stablehlo_field(n, name, g->is_scatter ? fields[i].scatter : fields[i].gather, fields[i].to, ZB_DIMS_MAX,
                            fields[i].count))
      return false;
  return zb_stablehlo_field(n, name, "index_vector_dim", &g->vector, 1, &count);
}

/* Sizes of a window: of a gather they are given, of a scatter the updates have them. */
static bool read_sizes(zb_import_node *n, windows *g) {
  zb_shape updates;
  int next = 0;
  if (!g->is_scatter) return zb_stablehlo_per_dimension(n, "slice_sizes", false, g->operand.rank, g->sizes);
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

static bool read_all(zb_import_node *n, windows *g) {
  return read_windows(n, g) && read_sizes(n, g) && check_windows(n, g) && sort_windows(n, g);
}

/* ---- Places ---- */

static int tuple_dimension(const windows *g, int64_t d) { return (int)(d > g->vector ? d - 1 : d); }

/* Entry k of every tuple, in the shape of the tuples and then ones. */
static zb_operand component(zb_import_node *n, const windows *g, int k) {
  int64_t permutation[ZB_DIMS_MAX];
  int count = 0;
  zb_shape line = g->places;
  zb_operand indices = zb_operand_in(n, 1);
  for (int d = g->tuples.rank; d < line.rank; ++d)
    line.dims[d] = 1;
  if (g->vector < g->indices.rank) {
    indices = zb_operand_part(n, indices, (int)g->vector, k, 1);
    for (int d = 0; d < g->indices.rank; ++d)
      if (d != g->vector) permutation[count++] = d;
    permutation[count++] = g->vector;
    indices = zb_operand_transpose(n, indices, permutation);
  }
  return zb_operand_reshape(n, indices, &line);
}

static zb_operand joined(zb_import_node *n, zb_operand valid, zb_operand also) {
  return valid ? zb_operand_apply2(n, "and", valid, also) : also;
}

/* The index of one dimension of the operand. Of a scatter it is in i64, since a large one plus its place in the window
 * must not wrap around; whether it is in range is joined to *valid. */
static zb_operand index_of(zb_import_node *n, const windows *g, int64_t d, zb_operand *valid) {
  const int map = position(g->map, g->map_count, d), batch = position(g->batch, g->batch_count, d);
  const double dim = (double)g->operand.dims[d];
  zb_operand index = map >= 0     ? component(n, g, map)
                     : batch >= 0 ? zb_meaning_along(n, &g->places, tuple_dimension(g, g->index_batch[batch]), 1)
                                  : zb_operand_scalar(n, ZB_I64, 0);
  if (g->space.rank > 1 || g->is_scatter || g->window_dimension[d] >= 0) index = zb_operand_cast(n, index, ZB_I64);
  zb_operand zero = zb_operand_number(n, index, 0), end = zb_operand_number(n, index, dim);
  if (map >= 0 && !g->is_scatter) {
    index = zb_operand_apply2(n, "max", index, zero);
    index = zb_operand_apply2(n, "min", index, zb_operand_number(n, index, dim - (double)g->sizes[d]));
  }
  if (g->is_scatter) {
    *valid = joined(n, *valid, zb_operand_apply2(n, "greater_equal", index, zero));
    *valid = joined(n, *valid, zb_operand_apply2(n, "less", index, end));
  }
  if (g->window_dimension[d] < 0) return index;
  index = zb_operand_apply2(n, "add", index, zb_meaning_along(n, &g->places, g->window_dimension[d], 1));
  if (g->is_scatter) *valid = joined(n, *valid, zb_operand_apply2(n, "less", index, end));
  return index;
}

/* The row of every element; `behind` stands where it is out of range. */
static zb_operand places_of(zb_import_node *n, const windows *g, int64_t behind) {
  zb_operand place = NULL, valid = NULL;
  for (int i = 0; i < g->space.rank; ++i) {
    zb_operand index = index_of(n, g, g->permutation[i], &valid);
    if (place) place = zb_meaning_line(n, place, (double)g->space.dims[i], 0);
    place = place ? zb_operand_apply2(n, "add", place, index) : index;
  }
  if (!place) place = zb_operand_scalar(n, ZB_I64, 0);
  if (valid) place = zb_operand_where(n, valid, place, zb_operand_scalar(n, ZB_I64, (double)behind));
  place = zb_operand_expand(n, place, &g->places);
  if (place && place->known) place->name = "places";
  return place;
}

/* The operand as [space, rows]. */
static zb_operand as_rows(zb_import_node *n, const windows *g) {
  zb_shape shape = {.rank = 1, .dims = {zb_shape_elements(&g->space)}};
  for (int i = 0; i < g->rows.rank; ++i)
    shape.dims[shape.rank++] = g->rows.dims[i];
  return zb_operand_reshape(n, zb_operand_transpose(n, zb_operand_in(n, 0), g->permutation), &shape);
}

/* Where a dimension of the result (or of the updates) is among places and rows: a permutation from one to the other;
 * dims: those of the result, in the order of places and rows with the ones that windows have there. */
static bool place_dimensions(const windows *g, zb_shape *out, int64_t *permutation) {
  int64_t *dims = out->dims;
  int *const rank = &out->rank;
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

zb_result zb_stablehlo_gather(zb_import_node *n) {
  windows g = {.is_scatter = false};
  zb_shape placed;
  int64_t permutation[ZB_DIMS_MAX];
  if (!read_all(n, &g)) return ZB_FAIL;
  if (!place_dimensions(&g, &placed, permutation))
    return zb_import_refuse(n, NULL, "offset_dims does not fit the indices");
  zb_operand rows = zb_meaning_gather_rows(n, as_rows(n, &g), places_of(n, &g, 0));
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_reshape(n, rows, &placed), permutation));
}

/* ---- Scatter ---- */

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
static zb_operand without_lost(zb_import_node *n, zb_operand news, zb_operand places, int64_t rows) {
  zb_shape shape;
  MlirAttribute unique = zb_get_attribute(zb_stablehlo_source(n), "unique_indices");
  if (unique.ptr && mlirAttributeIsABool(unique) && mlirBoolAttrGetValue(unique)) return news;
  if (!n->inputs[2]->reached || !zb_operand_shape(n, news, &shape) || !zb_dtype_is_float(shape.dtype)) return news;
  zb_operand owners = zb_operand_expand(n, zb_operand_scalar(n, ZB_I64, 0), &(zb_shape){.rank = 1, .dims = {rows}});
  zb_operand numbers = zb_meaning_range(n, shape.dims[0], 0, 1);
  owners = zb_meaning_scatter(n, owners, places, numbers, "none");
  zb_operand stays = zb_operand_apply2(n, "equal", zb_operand_gather(n, owners, places, 0, ZB_FROM_BOTH_ENDS), numbers);
  for (int d = 1; d < shape.rank; ++d)
    shape.dims[d] = 1;
  return zb_operand_where(n, zb_operand_reshape(n, stays, &shape), news, zb_operand_apply1(n, "detach", news));
}

/* Whether a place is, or may be, behind the end. */
static bool any_behind(zb_operand places, int64_t behind) {
  bool any = places && !places->known;
  for (int64_t i = 0; places && places->known && i < places->known->elements && !any; ++i)
    any = zb_known_integer(places->known, i) == behind;
  return any;
}

/* For the order of its numbers, as signed ones. */
static zb_operand ordered(zb_import_node *n, zb_operand x, zb_stablehlo_integer type) {
  if (!x || !zb_stablehlo_is_wide_unsigned(type)) return x;
  return zb_operand_computed(n, zb_stablehlo_ordered(n, zb_import_value_ir(n->im, x), type));
}

zb_result zb_stablehlo_scatter(zb_import_node *n) {
  const char *reduction = reduction_of(n);
  windows g = {.is_scatter = true};
  zb_shape updates, placed, rows, whole = {.rank = 0};
  int64_t permutation[ZB_DIMS_MAX], inverse[ZB_DIMS_MAX];
  if (!reduction)
    return zb_import_refuse(n, "one of add, multiply, maximum, minimum, or the update itself",
                            "its region is not one op of its two arguments");
  if (!read_all(n, &g) || !zb_import_shape(n, 2, &updates)) return ZB_FAIL;
  bool fits = place_dimensions(&g, &placed, permutation) && placed.rank == updates.rank;
  for (int d = 0; fits && d < placed.rank; ++d) {
    inverse[permutation[d]] = d;
    fits = updates.dims[d] == placed.dims[permutation[d]];
  }
  if (!fits) return zb_import_refuse(n, NULL, "the updates do not fit the indices");
  zb_operand x = as_rows(n, &g), news = zb_operand_transpose(n, zb_operand_in(n, 2), inverse);
  if (!zb_operand_shape(n, x, &rows)) return ZB_FAIL;
  const int64_t count = rows.dims[0];
  const zb_shape list = {.rank = 1, .dims = {zb_shape_elements(&g.places)}};
  zb_operand places = zb_operand_reshape(n, places_of(n, &g, count), &list);
  if (places && places->known) places->name = "places";
  rows.dims[0] = list.dims[0];
  news = zb_operand_reshape(n, news, &rows);
  const bool is_behind = any_behind(places, count), is_last = strcmp(reduction, "none") == 0;
  if (is_last) news = without_lost(n, news, places, count + is_behind);
  if (is_behind) x = zb_meaning_pad(n, x, 0, 0, 1, zb_operand_number(n, x, 0));
  const bool by_order = strcmp(reduction, "max") == 0 || strcmp(reduction, "min") == 0;
  const zb_stablehlo_integer type = by_order ? zb_stablehlo_operand_integer(n, 0) : (zb_stablehlo_integer){0, false};
  x = zb_stablehlo_scattered(n, ordered(n, x, type), places, ordered(n, news, type), reduction);
  x = zb_operand_part(n, ordered(n, x, type), 0, 0, count);
  for (int i = 0; i < g.operand.rank; ++i) {
    whole.dims[whole.rank++] = g.operand.dims[g.permutation[i]];
    inverse[g.permutation[i]] = i;
  }
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_reshape(n, x, &whole), inverse));
}
