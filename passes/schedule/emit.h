/* What a schedule file needs: one cursor a rank, which knows the next micro-batch of every (chunk, kind).
 *
 * A schedule is a file with one zb_schedule_def and one row in schedules.def. Its emit walks the ranks and says, job by
 * job, "the next forward of chunk 0"; numbers, stages and the queue of pending W are the cursor's business. Errors
 * stick in the cursor, so that a rule reads like the paper; zb_emit_finish returns the first one.
 */
#ifndef ZB_PASSES_SCHEDULE_EMIT_H
#define ZB_PASSES_SCHEDULE_EMIT_H

#include "passes/schedule/model.h"

#define ZB_SCHEDULE(c_name, aliases) extern const zb_schedule_def zb_schedule_##c_name;
#include "passes/schedule/schedules.def"
#undef ZB_SCHEDULE

/* The default options of a schedule. */
void zb_schedule_default(const zb_schedule_def *schedule, zb_schedule_choice *out);
/* Checks that the schedule takes the problem, which must be a right one, and emits: USAGE where not. Neither the order
 * nor its memory is checked. On failure *out is empty. */
zb_status zb_schedule_emit(const zb_schedule_choice *choice, const zb_problem *problem, zb_order *out) ZB_MUST_USE;
/* The zb schedule within limits[ranks]: the best of a few rules by the stage metric, one micro-batch after the other
 * where none of them can go on within the limits. less_than_ps does not count. */
zb_status zb_heuristic(const zb_problem *problem, const int64_t *limits, int64_t less_than_ps,
                       zb_order *out) ZB_MUST_USE;
/* The same for the V placement (zb-v-auto): the best of a few rules by the metric of the problem. */
zb_status zb_v_heuristic(const zb_problem *problem, const int64_t *limits, int64_t less_than_ps,
                         zb_order *out) ZB_MUST_USE;
/* limits[ranks] of a memory of `percent` of what 1F1B needs; 0: those of the problem, rounded down to a level of
 * rules.h, so that memory between two levels changes nothing. */
zb_status zb_level_limits(const zb_problem *problem, int64_t percent, int64_t *limits) ZB_MUST_USE;

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
} zb_emitter;

/* Starts on rank 0. */
void zb_emit_init(zb_emitter *emitter, const zb_problem *problem, zb_order *order);
/* Goes to the start of another rank. */
void zb_emit_rank(zb_emitter *emitter, int rank);
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
/* Releases the cursor; the first error. */
zb_status zb_emit_finish(zb_emitter *emitter) ZB_MUST_USE;

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

/* Whether a schedule takes that many chunks a rank, so placed. */
bool zb_schedule_takes(const zb_schedule_def *schedule, const zb_problem *problem);
/* USAGE where a schedule does not take that many chunks a rank. */
zb_status zb_schedule_check_chunks(const zb_schedule_def *schedule, int chunks) ZB_MUST_USE;

/* Rules that several schedules are cases of. */

/* All forwards of each chunk in turn, then all backwards of each, from the last chunk. */
zb_status zb_emit_breadth_first(const zb_problem *problem, zb_order *out) ZB_MUST_USE;
/* One chunk a rank: warm-up forwards, then one backward, one forward, alternately. depth 1: as many forwards first as
 * 1F1B, depth 2: nearly twice. split: W apart from B, and stage s holds depth * s of them back. */
zb_status zb_emit_one_by_one(const zb_problem *problem, int depth, bool split, zb_order *out) ZB_MUST_USE;
/* Forwards that the rank of `stage` runs first under zb_emit_one_by_one. */
static inline int zb_warmup(const zb_problem *problem, int stage, int depth) {
  return depth * (problem->stages - stage) - (depth - 1);
}
/* Memory of zb_emit_one_by_one with split backwards in units of M_B, as zb_schedule_def.memory_bound states it. */
double zb_split_memory_bound(const zb_problem *problem, int rank, int depth);

/* The greatest; of 0 and x it is x. */
static inline int64_t zb_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static inline int zb_min_int(int a, int b) { return a < b ? a : b; }
static inline int zb_max_int(int a, int b) { return a > b ? a : b; }

/* The first stage of a rank: its place in the pipeline, whatever its number. Linear in ranks. */
int zb_rank_position(const zb_problem *problem, int rank);

/* Bytes that one micro-batch keeps on a rank after its F (M_B of the papers), and between its B and W (M_W), over all
 * chunks. */
int64_t zb_memory_after_f(const zb_problem *problem, int rank);
int64_t zb_memory_after_b(const zb_problem *problem, int rank);

#endif
