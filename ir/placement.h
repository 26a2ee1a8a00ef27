/* Where the parts of a value are when several shards compute one program (tensor parallel), and what an op needs of its
 * operands for that.
 *
 * REPLICATED: every shard has all of it. CUT: a shard has an equal part of one dimension. PARTIAL: every shard has a
 * value of that shape, and the true one is their sum. OPEN: a parameter, or what is made of one alone, which may still
 * be cut as its readers want. LOCAL: of a region between zb.to_local and zb.from_local (ops/local.c): every shard has a
 * value of its own; all that is computed of one is, whatever the row, but what is a BORDER. `place` of an op's row
 * (ir/op.h) says what it needs and what it gives; passes/graph/shard.c puts collectives where that does not fit. */
#ifndef ZB_IR_PLACEMENT_H
#define ZB_IR_PLACEMENT_H

#include "ir/op.h"

typedef enum zb_spread { ZB_REPLICATED, ZB_CUT, ZB_PARTIAL, ZB_OPEN, ZB_LOCAL } zb_spread;

enum { ZB_SEGMENTS_MAX = 16, ZB_PLACED_RESULTS = 64 };

/* segments: the dimension consists of so many runs one behind the other, and a shard has a part of each (the columns of
 * q, k and v in one product); 0: of one run. padded: the shards do not divide it: the last ones have elements that mean
 * nothing (one run alone). sequence: of the tokens of activations (sequence parallel): an op that needs all of it gets
 * it, where another cut would be given up; equal runs are those of several samples. */
typedef struct zb_place {
  zb_spread spread;
  int dim;
  bool padded, sequence;
  int segment_count;
  int64_t segments[ZB_SEGMENTS_MAX];
} zb_place;

/* What `place` works on. Shapes are those of the whole program. It sets what the op needs of each operand (as it comes:
 * leave it), and what its results then are. What it does not set of results is REPLICATED. */
struct zb_sharding;
typedef struct zb_placing {
  const zb_op_view *op;
  const zb_shape *results;
  int64_t shards;
  const bool *from_data; /* [operand] depends on an input of the model */
  /* Where a sum over shards of the shape of result 0 is to be cut by tokens; NULL: nowhere, every shard gets it whole.
   */
  const zb_place *sequence;
  zb_place operands[ZB_VIEW_OPERANDS];
  zb_place out[ZB_PLACED_RESULTS];
  /* Operands that every shard reads for all: a REPLICATED one whose gradient is whole on every shard. Bit k: operand k.
   */
  uint64_t whole;
  /* An attribute that is another one for the part of a shard. */
  zb_attr changed[2];
  int changed_count;
  int64_t numbers[2][ZB_VIEW_INTS];
  /* What each shard computes where it is not the op on parts. NULL: it is. */
  void (*build)(struct zb_sharding *s);
  /* Why operand `about` cannot stay cut, where another cut would do: ends of the runs that it has to consist of, in
   * elements of its dimension. 0: no other would. */
  int about, run_count;
  int64_t runs[ZB_SEGMENTS_MAX];
  int64_t undivided; /* heads or elements for whose number nothing is cut: the shards do not divide it; 0: none */
} zb_placing;

/* What `build` of a placing works on. */
typedef struct zb_sharding {
  zb_builder *b;
  const zb_op_view *op; /* whole */
  const zb_placing *placing;
  MlirValue operands[ZB_VIEW_OPERANDS]; /* of a shard, as the op needs them; null: absent */
  MlirValue coordinate;                 /* i64 [1]: number of the shard */
  MlirValue results[ZB_PLACED_RESULTS]; /* to set */
} zb_sharding;

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

/* ---- Rules that several rows share ---- */

/* Elementwise with broadcasting: all operands are cut where the first cut one is. LINEAR ops pass on PARTIAL values. */
void zb_place_elementwise(zb_placing *p);
/* Of an op along dimensions from or at its axis ("axis"): others may be cut. Operand 0 and all results have its shape,
 * up to the axis; other operands are read whole. */
void zb_place_rows(zb_placing *p);

/* Sets the attribute of that name, INTS, for the part of a shard. */
void zb_placing_change(zb_placing *p, const char *name, const int64_t *values, int count);
/* Sets "shape" to the part that a shard has of result 0. */
void zb_placing_change_shape(zb_placing *p);
/* Nothing is cut: every shard has all operands. */
void zb_place_whole(zb_placing *p);
/* What a parameter of so many elements along a dimension can be cut into: padded where the shards do not divide them,
 * of many. False: it stays whole. */
bool zb_place_parameter(zb_placing *p, int dim, int64_t size, zb_place *out);

/* ---- Pieces of `build` ---- */

/* Between a value that every shard has, of shape `whole`, and the part of each, cut in equal runs or in one, not
 * padded: scatter: of the sum of x over shards; gather: the parts of all, `shared` for readers that compute a part;
 * own: of what all have. */
MlirValue zb_build_scatter(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards);
MlirValue zb_build_gather(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *from, int64_t shards,
                          bool shared);
MlirValue zb_build_own(zb_builder *b, MlirValue x, const zb_shape *whole, const zb_place *to, int64_t shards);
/* The sum, or the greatest, over all shards. */
MlirValue zb_build_all_reduce(zb_builder *b, MlirValue x, int64_t shards, const char *reduction);
/* The number of the first element that a shard has of a dimension of which each has `part`: i64 [1]. */
MlirValue zb_build_first(const zb_sharding *s, int64_t part);
/* Indices into a dimension of `size` elements that is cut in parts of `part`: *inside says which are of the shard, and
 * the result is their number in its part, 0 for others. An index that is out of range is an error, as of zb.gather. */
MlirValue zb_build_local_index(const zb_sharding *s, MlirValue indices, int64_t size, int64_t part, MlirValue *inside);

#endif
