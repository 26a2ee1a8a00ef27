/* Placement of views and gathers: where the cut dimension of an operand comes to lie (ir/placement.h).
 *
 * Tests: test/passes/shard.mlir, test/passes/shard_test.c. */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <string.h>

static const zb_place REPLICATED = {.spread = ZB_REPLICATED};

/* Of views: a value that is added up later may be moved before. True: that was all. */
static bool passes_on(zb_placing *p) {
  const zb_spread spread = p->operands[0].spread;
  if (spread == ZB_CUT) return false;
  if (spread == ZB_OPEN) p->operands[0] = REPLICATED;
  if (spread == ZB_PARTIAL)
    for (int r = 0; r < p->op->result_count; ++r)
      p->out[r].spread = ZB_PARTIAL;
  return true;
}

/* ---- reshape ---- */

/* Dimensions of x and of the result that hold the same elements: from .. to - 1. */
typedef struct group {
  int x_from, x_to, out_from, out_to;
} group;

/* The group that has dimension `dim` of x. */
static bool find_group(const zb_shape *x, const zb_shape *out, int dim, group *g) {
  *g = (group){0};
  while (g->x_to <= dim) {
    int64_t left, right;
    g->x_from = g->x_to;
    g->out_from = g->out_to;
    if (g->x_to >= x->rank || g->out_to >= out->rank) return false;
    left = x->dims[g->x_to++];
    right = out->dims[g->out_to++];
    while (left != right) {
      if (left < right && g->x_to < x->rank)
        left *= x->dims[g->x_to++];
      else if (left > right && g->out_to < out->rank)
        right *= out->dims[g->out_to++];
      else
        return false;
    }
  }
  return true;
}

/* The first dimension from `from` on that is no 1; `to`: there is none. */
static int first_wide(const zb_shape *shape, int from, int to) {
  while (from < to && shape->dims[from] == 1)
    ++from;
  return from;
}

/* Runs of `size` elements each. */
static void set_runs(zb_place *cut, int count, int64_t size) {
  cut->segment_count = count;
  for (int i = 0; i < count; ++i)
    cut->segments[i] = size;
}

static bool are_equal_runs(const zb_place *cut, int64_t count) {
  if (cut->segment_count != count) return false;
  for (int i = 1; i < cut->segment_count; ++i)
    if (cut->segments[i] != cut->segments[0]) return false;
  return true;
}

/* Whether the dimension before `second` looks like that of q, k and v: heads and their elements are behind it. */
static bool counts_runs(const zb_shape *out, int second, int to) {
  return second < to && first_wide(out, second + 1, to) < to;
}

/* The cut dimension of n elements, the first of its group, becomes several: the first of them is cut, or it counts runs
 * and the second is. */
static bool divide(zb_placing *p, const group *g, int64_t n, zb_place *cut) {
  const zb_shape *out = &p->results[0];
  const int first = first_wide(out, g->out_from, g->out_to), second = first_wide(out, first + 1, g->out_to);
  const int64_t count = out->dims[first], each = n / count;
  zb_place whole_runs = *cut;
  cut->dim = first;
  for (int i = 0; i < cut->segment_count; ++i) {
    if (cut->segments[i] % each != 0) cut->segments[i] = -1;
    cut->segments[i] /= each;
  }
  if (zb_placement_fits(cut, count, p->shards)) return true;
  const bool runs = second < g->out_to && count <= ZB_SEGMENTS_MAX && out->dims[second] % p->shards == 0;
  if (runs && are_equal_runs(&whole_runs, count)) {
    *cut = zb_cut_at(second);
    cut->sequence = whole_runs.sequence;
    return true;
  }
  if (!runs) p->undivided = counts_runs(out, second, g->out_to) ? out->dims[second] : count; /* heads */
  if (!runs || whole_runs.segment_count > 0) return false;
  p->run_count = (int)count; /* so many of them would do */
  for (int i = 0; i < p->run_count; ++i)
    p->runs[i] = each;
  return false;
}

/* The cut dimension becomes one with those behind it, and with one before it, of which it then has runs. */
static bool merge(const zb_placing *p, const group *g, zb_place *cut) {
  const zb_shape *x = &p->op->operands[0], *out = &p->results[0];
  const int first = first_wide(x, g->x_from, g->x_to), to = first_wide(out, g->out_from, g->out_to);
  const int64_t count = first == cut->dim ? 1 : x->dims[first], n = x->dims[cut->dim];
  if (out->dims[to] % (count * n) != 0) return false;
  const int64_t each = out->dims[to] / (count * n);
  if (count > 1) {
    if (first_wide(x, first + 1, g->x_to) != cut->dim || cut->segment_count > 0 || count > ZB_SEGMENTS_MAX)
      return false;
    set_runs(cut, (int)count, n * each);
  } else {
    for (int i = 0; i < cut->segment_count; ++i)
      cut->segments[i] *= each;
  }
  cut->dim = to;
  return true;
}

void zb_place_reshape(zb_placing *p) {
  const zb_shape *x = &p->op->operands[0], *out = &p->results[0];
  zb_place cut = p->operands[0];
  group g;
  if (passes_on(p)) return;
  bool fits = zb_shape_elements(x) > 0 && find_group(x, out, cut.dim, &g);
  const int to = fits ? first_wide(out, g.out_from, g.out_to) : 0;
  const int64_t n = x->dims[cut.dim];
  fits = fits && to < g.out_to;
  if (fits && out->dims[to] == n && first_wide(x, g.x_from, g.x_to) == cut.dim)
    cut.dim = to;
  else if (fits && !cut.padded && out->dims[to] < n && first_wide(x, g.x_from, g.x_to) == cut.dim)
    fits = divide(p, &g, n, &cut);
  else
    fits = fits && !cut.padded && merge(p, &g, &cut);
  if (!fits) {
    zb_place_whole(p);
    return;
  }
  p->out[0] = cut;
  zb_placing_change_shape(p);
}

/* ---- The other views ---- */

void zb_place_transpose(zb_placing *p) {
  const zb_attr *permutation = zb_attr_ints(p->op, "permutation");
  if (passes_on(p)) return;
  p->out[0] = p->operands[0];
  for (int i = 0; i < permutation->count; ++i)
    if (permutation->ints[i] == p->operands[0].dim) p->out[0].dim = i;
}

void zb_place_expand(zb_placing *p) {
  const zb_shape *x = &p->op->operands[0];
  if (passes_on(p)) return;
  p->out[0] = p->operands[0];
  p->out[0].dim += p->results[0].rank - x->rank;
  zb_placing_change_shape(p);
}

/* The runs of a cut dimension from element `begin` on, `size` of them, as a cut of their own. False: they end within a
 * run. */
static bool take_runs(const zb_place *cut, int64_t begin, int64_t size, zb_place *out) {
  int64_t at = 0;
  int i = 0;
  *out = zb_cut_at(cut->dim);
  for (; i < cut->segment_count && at < begin; ++i)
    at += cut->segments[i];
  if (at != begin) return false;
  for (; i < cut->segment_count && at < begin + size; ++i) {
    at += cut->segments[i];
    out->segments[out->segment_count++] = cut->segments[i];
  }
  if (at != begin + size) return false;
  if (out->segment_count == 1) out->segment_count = 0;
  return true;
}

void zb_place_slice(zb_placing *p) {
  const zb_shape *x = &p->op->operands[0];
  const zb_attr *starts = zb_attr_ints(p->op, "starts"), *steps = zb_attr_ints(p->op, "steps");
  const zb_place cut = p->operands[0];
  int64_t begins[ZB_DIMS_MAX];
  if (passes_on(p)) return;
  const int64_t n = x->dims[cut.dim], begin = starts->ints[cut.dim], size = p->results[0].dims[cut.dim];
  if (size == n) {
    p->out[0] = cut;
  } else if (cut.padded || steps->ints[cut.dim] != 1 || !take_runs(&cut, begin, size, &p->out[0])) {
    if (steps->ints[cut.dim] == 1 && !cut.padded) {
      const int64_t runs[] = {begin, size, n - begin - size};
      for (int i = 0; i < 3; ++i)
        if (runs[i] > 0) p->runs[p->run_count++] = runs[i];
    }
    p->out[0] = REPLICATED;
    zb_place_whole(p);
    return;
  }
  for (int i = 0; i < x->rank; ++i)
    begins[i] = i == cut.dim ? begin / p->shards : starts->ints[i];
  const zb_shape part = zb_part_shape(&p->results[0], &p->out[0], p->shards);
  zb_placing_change(p, "starts", begins, x->rank);
  zb_placing_change(p, "sizes", part.dims, part.rank);
}

void zb_place_split(zb_placing *p) {
  const zb_attr *sizes = zb_attr_ints(p->op, "sizes");
  const zb_place cut = p->operands[0];
  const int axis = (int)zb_attr_int(&p->op->attrs, "axis", 0);
  int64_t begin = 0, parts[ZB_VIEW_INTS];
  bool fits = true;
  if (passes_on(p)) return;
  for (int r = 0; r < sizes->count; begin += sizes->ints[r++]) {
    p->out[r] = cut;
    if (cut.dim == axis) fits &= !cut.padded && take_runs(&cut, begin, sizes->ints[r], &p->out[r]);
    parts[r] = cut.dim == axis ? sizes->ints[r] / p->shards : sizes->ints[r];
  }
  if (fits) {
    zb_placing_change(p, "sizes", parts, sizes->count);
    return;
  }
  for (int r = 0; r < sizes->count; ++r)
    p->out[r] = REPLICATED;
  zb_place_whole(p);
  p->run_count = sizes->count <= ZB_SEGMENTS_MAX && !cut.padded ? sizes->count : 0;
  memcpy(p->runs, sizes->ints, (size_t)p->run_count * sizeof *p->runs);
}

/* The runs of all operands, one behind the other. */
static bool join_runs(const zb_placing *p, zb_place *out) {
  *out = zb_cut_at(p->operands[0].dim);
  for (int k = 0; k < p->op->operand_count; ++k) {
    const zb_place *cut = &p->operands[k];
    const int64_t n = p->op->operands[k].dims[out->dim];
    if (!zb_is_cut(cut) || cut->dim != out->dim || cut->padded) return false;
    const int count = cut->segment_count ? cut->segment_count : 1;
    if (out->segment_count + count > ZB_SEGMENTS_MAX) return false;
    for (int i = 0; i < count; ++i)
      out->segments[out->segment_count++] = cut->segment_count ? cut->segments[i] : n;
  }
  return true;
}

void zb_place_concat(zb_placing *p) {
  const int axis = (int)zb_attr_int(&p->op->attrs, "axis", 0);
  zb_place cut = REPLICATED;
  for (int k = p->op->operand_count - 1; k >= 0; --k)
    if (zb_is_cut(&p->operands[k])) cut = p->operands[k];
  if (zb_is_cut(&cut) && cut.dim == axis && join_runs(p, &p->out[0])) return;
  p->out[0] = REPLICATED;
  zb_place_whole(p);
  if (!zb_is_cut(&cut) || cut.dim == axis) return;
  for (int k = 0; k < p->op->operand_count; ++k)
    p->operands[k] = cut;
  p->out[0] = cut;
}

void zb_place_rotary(zb_placing *p) {
  const zb_place cut = p->operands[0];
  if (zb_is_cut(&cut) && cut.dim < p->results[0].rank - 1 && !cut.padded)
    zb_place_elementwise(p);
  else
    zb_place_whole(p);
}

/* ---- gather ---- */

/* A table whose rows are cut: rows of indices that are elsewhere are zeros, and their sum over shards is the result. */
static void build_rows(zb_shard_build *s) {
  const zb_shape *table = &s->op->operands[0], *indices = &s->op->operands[1];
  const zb_shape part = zb_part_shape(table, &s->placing->operands[0], s->placing->shards);
  const int64_t axis = zb_attr_int(&s->op->attrs, "axis", 0);
  MlirValue inside;
  MlirValue local = zb_build_local_index(s, s->operands[1], table->dims[axis], part.dims[axis], &inside);
  MlirValue operands[] = {s->operands[0], local};
  MlirValue rows = zb_build(s->b, "gather", operands, 2, s->op->attrs.items, s->op->attrs.count);
  zb_shape mask = {.dtype = ZB_I1, .rank = indices->rank};
  memcpy(mask.dims, indices->dims, sizeof mask.dims);
  for (int64_t i = axis + 1; i < table->rank; ++i)
    mask.dims[mask.rank++] = 1;
  MlirValue choice[] = {zb_build_reshape(s->b, inside, mask.dims, mask.rank), rows,
                        zb_build_scalar(s->b, table->dtype, 0)};
  s->results[0] = zb_build(s->b, "where", choice, 3, NULL, 0);
}

void zb_place_gather(zb_placing *p) {
  const zb_shape *data = &p->op->operands[0], *indices = &p->op->operands[1];
  const int axis = (int)zb_attr_int(&p->op->attrs, "axis", 0);
  zb_place table = p->operands[0], at = p->operands[1];
  const bool open = table.spread == ZB_OPEN && axis == 0 && data->rank == 2 && p->from_data[1] &&
                    zb_place_parameter(p, 0, data->dims[0], &table);
  zb_place_whole(p);
  if ((open || (zb_is_cut(&table) && table.dim == axis)) && table.segment_count == 0 && indices->rank > 0) {
    p->operands[0] = table;
    p->out[0].spread = ZB_PARTIAL;
    p->build = build_rows;
  } else if (zb_is_cut(&table) && table.dim != axis && !table.padded) {
    p->operands[0] = p->out[0] = table;
    if (table.dim > axis) p->out[0].dim += indices->rank - 1;
  } else if (zb_is_cut(&at) && !at.padded) {
    p->operands[1] = p->out[0] = at;
    p->out[0].dim += axis;
  }
}

void zb_place_gather_elements(zb_placing *p) {
  const zb_shape *data = &p->op->operands[0], *indices = &p->op->operands[1];
  zb_place cut = zb_is_cut(&p->operands[0]) ? p->operands[0] : p->operands[1];
  zb_place_whole(p);
  if (!zb_is_cut(&cut) || cut.padded || cut.dim == zb_attr_int(&p->op->attrs, "axis", 0) ||
      data->dims[cut.dim] != indices->dims[cut.dim])
    return;
  p->operands[0] = p->operands[1] = p->out[0] = cut;
}
