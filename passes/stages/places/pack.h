/* Offline packing: addresses for pieces of memory whose lives are known. No MLIR. */
#pragma once

#include "passes/stages/places/piece.h"
#include "runtime/base/memo.h"
#include "zb/status.h"

/* Gives every piece an offset so that no two overlap in memory and time, and *out_bytes that all of them take.
 * Deterministic. Up to 1,024 pieces are packed in several orders until no byte is wasted or the budget of tries is used
 * up: O(count^2) each; of up to 512 what is still wasted is searched for in a fixed number of steps; more
 * than 1,024 are packed by start alone: O(count x pieces alive). memo, which may be NULL, has the packings of before.
 * MEMORY when there is none. */
zb_status zb_pack(zb_memo *memo, zb_piece *pieces, size_t count, uint64_t *out_bytes) ZB_MUST_USE;
/* Most bytes held at a time: no packing takes less. UINT64_MAX when out of memory. */
uint64_t zb_pack_bound(const zb_piece *pieces, size_t count);
