/* Placements of values over shards: what rules of several rows share (ir/placement.h).
 *
 * Tests: test/passes/shard*.mlir, test/passes/shard_test.c.
 */
#include "ir/placement.h"

#include "ir/ops/support.h"

#include <string.h>

bool zb_same_placement(const zb_place *a, const zb_place *b) {
  if (a->spread != b->spread) return false;
  if (a->spread != ZB_CUT) return true;
  return a->dim == b->dim && a->padded == b->padded && a->segment_count == b->segment_count &&
         memcmp(a->segments, b->segments, (size_t)a->segment_count * sizeof a->segments[0]) == 0;
}

bool zb_placement_fits(const zb_place *p, int64_t size, int64_t shards) {
  int64_t sum = 0;
  if (p->padded) return p->segment_count == 0 && size >= shards;
  if (p->segment_count == 0) return size > 0 && size % shards == 0;
  for (int i = 0; i < p->segment_count; ++i) {
    if (p->segments[i] <= 0 || p->segments[i] % shards != 0) return false;
    sum += p->segments[i];
  }
  return sum == size;
}

zb_shape zb_part_shape(const zb_shape *whole, const zb_place *p, int64_t shards) {
  zb_shape part = *whole;
  if (p->spread == ZB_CUT) part.dims[p->dim] = (part.dims[p->dim] + shards - 1) / shards;
  return part;
}

/* ---- Rules ---- */

void zb_place_whole(zb_placing *p) {
  for (int k = 0; k < p->op->operand_count; ++k)
    p->operands[k] = (zb_place){.spread = ZB_REPLICATED};
}

static bool has_dims(const zb_shape *a, const zb_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

void zb_place_elementwise(zb_placing *p) {
  const int last = p->op->operand_count - ((p->op->def->traits & ZB_TRAIT_RANDOM) != 0);
  const int rank = p->results[0].rank;
  int lead = -1, sum = -1;
  bool partial = p->op->def->traits & ZB_TRAIT_LINEAR, sequence = false;
  for (int k = last - 1; k >= 0; --k) {
    if (zb_is_cut(&p->operands[k])) lead = k;
    if (p->operands[k].spread == ZB_PARTIAL && has_dims(&p->op->operands[k], &p->results[0])) sum = k;
    partial &= p->operands[k].spread == ZB_PARTIAL;
    sequence |= zb_is_cut(&p->operands[k]) && p->operands[k].sequence;
  }
  if (partial) p->out[0].spread = ZB_PARTIAL;
  if (partial) return;
  if (lead < 0 && (sum < 0 || !p->sequence)) {
    zb_place_whole(p);
    return;
  }
  zb_place cut = lead < 0 ? *p->sequence : p->operands[lead];
  if (lead >= 0) cut.dim += rank - p->op->operands[lead].rank;
  cut.sequence |= sequence;
  zb_place_whole(p);
  for (int k = 0; k < last; ++k) {
    const int dim = cut.dim - (rank - p->op->operands[k].rank);
    if (dim < 0 || p->op->operands[k].dims[dim] == 1) continue;
    p->operands[k] = cut;
    p->operands[k].dim = dim;
  }
  for (int r = 0; r < p->op->result_count; ++r)
    p->out[r] = cut;
}

void zb_place_rows(zb_placing *p) {
  zb_place cut = p->operands[0];
  if (cut.spread == ZB_PARTIAL && p->sequence) cut = *p->sequence;
  zb_place_whole(p);
  if (!zb_is_cut(&cut) || cut.padded || cut.dim >= zb_attr_int(&p->op->attrs, "axis", 0)) return;
  p->operands[0] = cut;
  for (int r = 0; r < p->op->result_count; ++r)
    p->out[r] = cut;
}

void zb_placing_change(zb_placing *p, const char *name, const int64_t *values, int count) {
  int64_t *numbers = p->numbers[p->changed_count];
  memcpy(numbers, values, (size_t)count * sizeof *values);
  p->changed[p->changed_count++] = zb_ints(name, numbers, count);
}

void zb_placing_change_shape(zb_placing *p) {
  const zb_shape part = zb_part_shape(&p->results[0], &p->out[0], p->shards);
  zb_placing_change(p, "shape", part.dims, part.rank);
}

enum { PADDED_LEAST = 16 }; /* elements a shard */

bool zb_place_parameter(zb_placing *p, int dim, int64_t size, zb_place *out) {
  *out = zb_cut_at(dim);
  out->padded = size % p->shards != 0;
  if (!out->padded || size >= PADDED_LEAST * p->shards) return true;
  p->undivided = size;
  return false;
}

/* ---- Pieces ---- */

MlirValue zb_build_all_reduce(zb_builder *b, MlirValue x, int64_t shards, const char *reduction) {
  return ZB_BUILD(b, "all_reduce", x, zb_int("members", shards), zb_string("reduction", reduction));
}

/* A dimension of parts in front, [shards, outer, part, inner], and back. */
typedef struct parts {
  int64_t front[4], behind[4]; /* [outer, shards, part, inner] */
} parts;

static parts parts_of(const zb_shape *whole, const zb_place *cut, int64_t shards) {
  const int64_t runs = cut->segment_count ? cut->segment_count : 1, part = whole->dims[cut->dim] / runs / shards;
  int64_t outer = runs, inner = 1;
  for (int d = 0; d < cut->dim; ++d)
    outer *= whole->dims[d];
  for (int d = cut->dim + 1; d < whole->rank; ++d)
    inner *= whole->dims[d];
  return (parts){{shards, outer, part, inner}, {outer, shards, part, inner}};
}

/* Exchanges the first two dimensions, of which `rows` and `columns` elements are there. */
static MlirValue exchange(zb_builder *b, MlirValue x, const int64_t to[4]) {
  const int64_t order[] = {1, 0, 2, 3};
  if (to[0] == 1 || to[1] == 1) return zb_build_reshape(b, x, to, 4);
  return ZB_BUILD(b, "transpose", x, zb_ints("permutation", order, 4));
}

static MlirValue take(zb_builder *b, const char *op, MlirValue x, const zb_shape *whole, const zb_place *to,
                      int64_t shards) {
  const parts p = parts_of(whole, to, shards);
  const zb_shape part = zb_part_shape(whole, to, shards);
  MlirValue all = exchange(b, zb_build_reshape(b, x, p.behind, 4), p.front);
  return zb_build_reshape(b, ZB_BUILD(b, op, all, zb_int("members", shards)), part.dims, part.rank);
}

MlirValue zb_build_scatter(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards) {
  return take(b, "reduce_scatter", x, whole, to, shards);
}

MlirValue zb_build_own(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards) {
  return take(b, "own_part", x, whole, to, shards);
}

MlirValue zb_build_gather(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *from, int64_t shards,
                          bool shared) {
  const parts p = parts_of(whole, from, shards);
  MlirValue part = zb_build_reshape(b, x, p.front + 1, 3);
  MlirValue all = ZB_BUILD(b, "gather_parts", part, zb_int("members", shards), zb_bool("shared", shared));
  return zb_build_reshape(b, exchange(b, all, p.behind), whole->dims, whole->rank);
}

static MlirValue integer(zb_builder *b, int64_t value) { return zb_build_scalar(b, ZB_I64, (double)value); }

MlirValue zb_build_first(const zb_shard_build *s, int64_t part) {
  return zb_build2(s->b, "mul", s->coordinate, integer(s->b, part));
}

MlirValue zb_build_local_index(const zb_shard_build *s, MlirValue indices, int64_t size, int64_t part,
                               MlirValue *inside) {
  zb_builder *b = s->b;
  const zb_shape all = {.dtype = ZB_I64, .rank = 1, .dims = {size}};
  const zb_attr *from_end = zb_attr_find(&s->op->attrs, "from_end");
  zb_attr attrs[] = {zb_int("axis", 0), from_end ? *from_end : zb_bool("from_end", true)};
  /* Its own number: what zb.gather does not find is an error, and negative numbers count from the end. */
  MlirValue operands[] = {zb_build_iota(b, &all, 0, 0, 1), indices};
  MlirValue number = zb_build(b, "gather", operands, 2, attrs, from_end ? 2 : 1);
  MlirValue zero = integer(b, 0), local = zb_build2(b, "sub", number, zb_build_first(s, part));
  *inside =
      zb_build2(b, "and", zb_build2(b, "greater_equal", local, zero), zb_build2(b, "less", local, integer(b, part)));
  return zb_build_where(b, *inside, local, zero);
}
