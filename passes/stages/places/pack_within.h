/* Whether pieces fit into a capacity: the search that passes/stages/places/pack.c starts where packing in an order
 * wastes memory. */
#pragma once

#include "passes/stages/places/piece.h"
#include "runtime/base/arena.h"

/* What is held of a piece at a time: bytes [begin, end) of it from `from` to `to`. */
typedef struct zb_held {
  int64_t begin, end;
  int from, to;
} zb_held;
enum { ZB_HELD_MAX = 3 };
int zb_piece_holds(const zb_piece *piece, zb_held out[ZB_HELD_MAX]); /* how many */

typedef struct zb_within zb_within;
/* Looks at the pieces; they must stay alive and keep their lives. Takes 40 bytes a pair of pieces, in the arena. NULL
 * when out of memory. */
zb_within *zb_within_create(zb_arena *arena, const zb_piece *pieces, size_t count) ZB_MUST_USE;
/* An order in which first fit stays within the capacity; false if none was found in a limited number of steps. Of
 * pieces that could lie equally low the one that comes first in `wanted` is tried first. *work is what all calls
 * together may still look at, pieces and times: it becomes less, and below 0 ends the search. Deterministic. */
bool zb_within_find(zb_within *within, uint64_t capacity, const int *wanted, int64_t *work, int *out_order);
