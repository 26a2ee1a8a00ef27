/* Copying a message between two arenas of one process. */
#pragma once

#include <string.h>

#include "runtime/plan/file/plan.h"

/* One side of a message: where its bytes lie. parts is borrowed from the plan. */
typedef struct zb_transport_side {
  unsigned char *arena;
  const zb_plan_range *parts;
  int part_count;
} zb_transport_side;

/* The bytes of the sender's parts go, in order, to the receiver's, wherever both are cut: the pieces that lie in one
 * part of each. The parts of both have equal totals (the plan was verified); should they not, the shorter one counts.
 */
typedef struct zb_transport_pieces {
  const zb_transport_side *from, *to;
  int from_part, to_part;
  uint64_t from_done, to_done; /* bytes of these parts */
  unsigned char *source, *destination;
  uint64_t bytes; /* of the piece */
} zb_transport_pieces;
/* The next piece; false after the last. */
static inline bool zb_transport_next_piece(zb_transport_pieces *it) {
  if (it->from_part >= it->from->part_count || it->to_part >= it->to->part_count) return false;
  const zb_plan_range *from = &it->from->parts[it->from_part], *to = &it->to->parts[it->to_part];
  uint64_t from_left = from->bytes - it->from_done, to_left = to->bytes - it->to_done;
  it->bytes = from_left < to_left ? from_left : to_left;
  it->source = it->from->arena + from->offset + it->from_done;
  it->destination = it->to->arena + to->offset + it->to_done;
  it->from_done += it->bytes;
  it->to_done += it->bytes;
  if (it->from_done == from->bytes) ++it->from_part, it->from_done = 0;
  if (it->to_done == to->bytes) ++it->to_part, it->to_done = 0;
  return true;
}

static inline void zb_transport_copy(const zb_transport_side *from, const zb_transport_side *to) {
  for (zb_transport_pieces it = {.from = from, .to = to}; zb_transport_next_piece(&it);)
    memcpy(it.destination, it.source, it.bytes);
}
