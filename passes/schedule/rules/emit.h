/* What a schedule file needs.
 *
 * A schedule is a zb_schedule_def and one row in schedules.def; those that are cases of one rule share a file. Its emit
 * says for each position of the pipeline, job by job, "the next forward of chunk 0".
 *
 * An emitter is the cursor of the rank that is being written: it knows the next micro-batch of every chunk and kind,
 * and which W are still to come. An error sticks in it, so that a rule reads like the paper; zb_emit_all returns the
 * first one.
 *
 * A turn is a group of micro-batches that one chunk runs before the next chunk does.
 */
#pragma once

#include <limits.h>

#include "passes/schedule/model.h"

typedef struct zb_emitter {
  const zb_problem *problem;
  zb_order *order;
  int ranks, chunks, micro_batches;
  int rank;            /* the rank that is being written */
  int *stage_of_chunk; /* [ranks * chunks] */
  int *next;           /* [chunks * kinds] next micro-batch of the current rank */
  int *pending;        /* chunks of emitted B whose W is still to come, oldest first */
  int pending_begin, pending_end;
  zb_status status;
  zb_arena arena;
} zb_emitter;

/* Emits the next micro-batch of (chunk, kind) on the current rank; nothing if all are emitted. */
void zb_emit(zb_emitter *emitter, int chunk, zb_kind kind);
/* Emits B and, directly after it, its W: one backward where it is not split. */
void zb_emit_backward(zb_emitter *emitter, int chunk);
/* Emits the W of the oldest B that still lacks it (of any chunk); nothing if there is none. */
void zb_emit_oldest_w(zb_emitter *emitter);
/* Emits all W that are still to come, oldest first. */
void zb_emit_rest_w(zb_emitter *emitter);
/* How many of (chunk, kind) are still to be emitted on the current rank. */
int zb_emit_left(const zb_emitter *emitter, int chunk, zb_kind kind);
/* Emits a whole order: `emit` once for each position of the pipeline, on the rank that holds it. */
typedef void (*zb_emit_position)(zb_emitter *emitter, int position, const void *how);
zb_status zb_emit_all(const zb_problem *problem, zb_emit_position emit, const void *how, zb_order *out) ZB_MUST_USE;

/* Chunks take turns: each is given a group of micro-batches, then the next one is, round and round. First `large`
 * groups of `size`, the most there is, then groups of `rest`. */
typedef struct zb_turns {
  int size, large, rest;
} zb_turns;
/* Groups of `size`, and a smaller last one of what is left over. */
zb_turns zb_turns_of_size(int micro_batches, int size);
/* max(1, micro_batches div ranks) groups, as even as can be, larger ones first: none is smaller than `ranks`, unless
 * there are fewer micro-batches. */
zb_turns zb_turns_even(int micro_batches, int ranks);
/* The chunk whose turn it is at the step-th forward of a rank, from 0; a backward is on chunks - 1 - this. */
int zb_turn(const zb_turns *turns, int chunks, int step);

/* The first stage of a rank: its place in the pipeline, whatever its number. Linear in ranks. */
int zb_rank_position(const zb_problem *problem, int rank);

/* Bytes that one micro-batch keeps on a rank after its F (M_B of the papers), and between its B and W (M_W), over all
 * chunks. */
int64_t zb_memory_after_f(const zb_problem *problem, int rank);
int64_t zb_memory_after_b(const zb_problem *problem, int rank);

/* Bounds of memory in units of M_B, as zb_schedule_def.memory_bound states them; < 0 where F keeps nothing. So many
 * forwards in M_B and so many W held back in M_W, each of a chunk, and never more than all micro-batches: */
double zb_held_memory_bound(const zb_problem *problem, int rank, double forwards, double held_w, int chunks);
/* On the V placement, `chunk_activations` of the larger chunk, and never more than all micro-batches of both. */
double zb_v_memory_bound(const zb_problem *problem, int rank, int chunk_activations);
/* None is stated. */
double zb_no_memory_bound(const zb_problem *problem, int rank);

/* What the rows of many schedules have in common: one chunk a rank; any number of them, one round behind the other; two
 * chunks on the V placement, where position i of the pipeline holds stages i and 2p-1-i. */
#define ZB_PLACED_PLAIN .placement = "plain", .chunks_min = 1, .chunks_max = 1
#define ZB_PLACED_LOOPED .placement = "looped", .chunks_min = 1, .chunks_max = INT_MAX
#define ZB_PLACED_V .placement = "v", .chunks_min = 2, .chunks_max = 2
