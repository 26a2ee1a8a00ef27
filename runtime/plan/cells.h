/* What the walk of dataflow.c remembers of memory: boundaries and the pieces between them, homes of bases, what reads
 * found the first time. dataflow.c alone includes it. */
#ifndef ZB_PLAN_CELLS_H
#define ZB_PLAN_CELLS_H

#include "runtime/base/memory.h"
#include "runtime/plan/verifier.h"

/* Of a piece of the slots, in the row of its first cell: what was written there last. Where cells begin and what is in
 * flight is in arrays of their own, since most walks read little else. */
typedef struct piece {
  uint64_t source;      /* what kind of writer: see source_of_* */
  uint64_t writer_base; /* address that the writer counts from */
  int32_t writer;       /* job */
  int32_t micro_batch;  /* of what it wrote */
  int32_t touched_by;   /* job that last used it, and through which base, to find bases that share bytes */
  int32_t touched;      /* touch_of */
} piece;

typedef struct flight {
  int32_t filling; /* RECV that is in flight */
  int32_t sending; /* number of SENDs in flight */
} flight;

/* Where base `base` of subprogram `subprogram` begins when a job puts it at `address`. */
typedef struct home {
  uint64_t address;
  uint32_t id; /* 1 + row of `first_read`; 0: empty entry */
  uint32_t first_cell;
} home;

/* How the reads of one (subprogram, base), or of one kind of message, were satisfied the first time. */
typedef struct signature {
  uint64_t hash;
  int32_t job; /* NOBODY: not yet */
} signature;

/* A piece of what messages carry from or to fixed memory (gradients, parameters), cut where a part of one begins or
 * ends; it ends where the next one begins. */
typedef struct fixed_cell {
  uint64_t begin;
  int32_t filling; /* RECV that is in flight */
  int32_t sending; /* number of SENDs in flight */
  int32_t sender;  /* the last SEND of this step */
} fixed_cell;

typedef struct message_signature {
  zb_payload payload;
  int32_t source_stage, destination_stage, part;
  signature found;
} message_signature;

typedef struct boundaries {
  uint64_t *items;
  size_t count, capacity;
  bool failed;
} boundaries;

static inline void add_boundary(boundaries *it, uint64_t at) {
  if (!zb_grow((void **)&it->items, &it->capacity, it->count + 1, sizeof *it->items)) it->failed = true;
  if (!it->failed) it->items[it->count++] = at;
}

/* Rising order, 11 bits at a time, for as many bits as the largest has: there are some ten thousand boundaries a rank,
 * most of them many times over. False: out of memory. */
static inline bool sort_boundaries(boundaries *it) {
  enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
  uint64_t *from = it->items, *to = zb_alloc((it->count + 1) * sizeof *to), all_bits = 0;
  if (!to) return false;
  for (size_t i = 0; i < it->count; ++i)
    all_bits |= from[i];
  for (int shift = 0; shift < 64 && all_bits >> shift; shift += DIGIT_BITS) {
    size_t begin[DIGITS + 1] = {0};
    for (size_t i = 0; i < it->count; ++i)
      ++begin[(from[i] >> shift) % DIGITS + 1];
    for (int digit = 0; digit < DIGITS; ++digit)
      begin[digit + 1] += begin[digit];
    for (size_t i = 0; i < it->count; ++i)
      to[begin[(from[i] >> shift) % DIGITS]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  it->items = from;
  zb_free(to);
  return true;
}

#endif
