/* Placements of values over shards (zb/op.h): what zb-shard and the rows of zb ops share. */
#pragma once

#include "ir/op.h"

static inline zb_place zb_cut_at(int dim) { return (zb_place){.spread = ZB_CUT, .dim = dim}; }
static inline bool zb_is_cut(const zb_place *p) { return p->spread == ZB_CUT; }
/* Equal in all that counts. */
bool zb_same_placement(const zb_place *a, const zb_place *b);
/* Whether a dimension of `size` elements can be cut so. */
bool zb_placement_fits(const zb_place *p, int64_t size, int64_t shards);
/* The part of a shard; other placements: the shape itself. */
zb_shape zb_part_shape(const zb_shape *whole, const zb_place *p, int64_t shards);

/* What the attribute `placement` of zb.to_local and zb.from_local says: "S(1)", "R", "P", or the long names of Paddle
 * and PyTorch, "Shard(1)", "Replicate", "Partial". OPEN: it says nothing. False: it is none of them. */
bool zb_stated_place(const zb_attrs *attrs, zb_place *out);

/* ---- Rules that several rows share; more of them in zb/op.h ---- */

/* Sets "shape" to the part that a shard has of result 0. */
void zb_placing_change_shape(zb_placing *p);

/* ---- Pieces of `build` ---- */

/* Between a value that every shard has, of shape `whole`, and the part of each, cut in equal runs or in one, not
 * padded: scatter: of the sum of x over shards; gather: the parts of all, `shared` for readers that compute a part;
 * own: of what all have. */
MlirValue zb_build_scatter(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards);
MlirValue zb_build_gather(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *from, int64_t shards,
                          bool shared);
MlirValue zb_build_own(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards);
/* The number of the first element that a shard has of a dimension of which each has `part`: i64 [1]. */
MlirValue zb_build_first(const zb_shard_build *s, int64_t part);
/* Indices into a dimension of `size` elements that is cut in parts of `part`: *inside says which are of the shard, and
 * the result is their number in its part, 0 for others. An index that is out of range is an error, as of zb.gather. */
MlirValue zb_build_local_index(const zb_shard_build *s, MlirValue indices, int64_t size, int64_t part,
                               MlirValue *inside);
