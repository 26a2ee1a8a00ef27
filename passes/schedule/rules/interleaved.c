/* Interleaved 1F1B: 1F1B over the chunks of a rank, which take turns with groups of micro-batches; whole or split.
 *
 * Whole: Narayanan et al. 2021, Megatron-LM, arXiv 2104.04473, section 2.2.2. Groups of p; where p does not divide m, m
 * div p groups as even as can be, which is PyTorch's ScheduleInterleaved1F1B where they are of one size. With option
 * group: Megatron-LM core's get_schedule_table, groups of microbatch_group_size_per_vp_stage, defined where the last,
 * smaller one has p or more. Warm-up (v-1)g + 2(p-1-r) forwards, g being the largest group. The bubble is
 * (p-1)(F+B+W)/v where p divides m, the memory of rank 0 then p + (p-1)/v micro-batches.
 *
 * Split: PyTorch's ScheduleInterleavedZeroBubble (torch.distributed.pipelining), after Qi, Wan, Huang, Lin 2024, arXiv
 * 2401.10241. The warm-up is (v-1)g + p-1-r, and rank r holds back r W jobs. With R = max(1, m div p) rounds, chunks
 * take turns with groups of m/R micro-batches; PyTorch defines it where R divides m. Elsewhere the first m mod R groups
 * here have one more, so that none is smaller than p; the warm-up goes by the largest. One chunk: ZB-H1. The bubble is
 * (p-1)(F+B-W)/v where p divides m, the memory p micro-batches then.
 *
 * Why they end. Let w be the warm-up of rank r; give its i-th forward the time 2r + 2i and its j-th backward 2r +
 * 2(w+j) + 1: the rank's own order. A forward from the rank before is 2 earlier, a backward from the rank after 2.
 * Around the ends a forward comes from step i-G of the last rank, 2(G-(p-1)) earlier, G being the group's size, and so
 * does a backward: no circle as long as every G >= p. With one group of m < p, all that the last rank has to send
 * around lies in its warm-up. Smaller last groups do deadlock (p=4, m=5, v=3). The split order ends for the same
 * reason, with times r + 2i for forwards: groups of more than (p-1)/2 are enough.
 *
 * Tests: test/passes/schedule/looped_test.c, schedules_test.c.
 */
#include "passes/schedule/rules/emit.h"

enum { GROUP, AHEAD };
static const zb_schedule_option option_rows[] = {
    [GROUP] = {"group", 0, 0, INT_MAX,
               "micro-batches that a chunk takes at a turn; 0: as many as ranks, or few more (Megatron-LM's "
               "microbatch_group_size_per_vp_stage)",
               0},
    [AHEAD] =
        {"ahead", 0, 0, INT_MAX,
         "further forwards before the first backward (Megatron-LM with overlapped all-to-all: 1; PaddlePaddle's VPP "
         "for as many micro-batches as ranks: all)",
         1},
    {0},
};

/* The smallest group that Megatron-LM takes; the one of all micro-batches always is. */
static int least_group(int micro_batches, int least) {
  int group = least;
  while (micro_batches % group && micro_batches % group < least)
    ++group;
  return group;
}

static zb_status choose_turns(const zb_problem *problem, const int64_t *options, zb_turns *out) {
  const int micro_batches = problem->micro_batches, least = zb_min_int(problem->ranks, micro_batches);
  *out = zb_turns_even(micro_batches, problem->ranks);
  if (!options[GROUP]) return NULL;
  const int group = (int)options[GROUP], last = group <= micro_batches ? micro_batches % group : 0;
  if (group < least || group > micro_batches)
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "interleaved-1f1b: group: expected 0 or %d to %d for %d ranks and %d micro-batches, "
                                   "got %d",
                                   least, micro_batches, problem->ranks, micro_batches, group),
                          "a chunk must keep all ranks busy while it has its turn; group=0 chooses");
  if (last && last < least)
    return zb_status_hint(
        ZB_ERROR(USAGE,
                 "interleaved-1f1b: group=%d leaves a last group of %d, expected none or one of %d or "
                 "more (the ranks): they would wait for each other",
                 group, last, least),
        "group=%d is the smallest that does; group=0 takes groups that differ by one",
        least_group(micro_batches, least));
  *out = zb_turns_of_size(micro_batches, group);
  return NULL;
}

typedef struct manner {
  zb_turns turns;
  int64_t ahead; /* forwards beside the warm-up */
  bool split;
} manner;

static int64_t warmup(const zb_problem *problem, const manner *m, int position) {
  const int chunks = problem->stages / problem->ranks, behind = problem->ranks - 1 - position;
  return (int64_t)(chunks - 1) * m->turns.size + (m->split ? behind : 2 * behind);
}

static void emit_position(zb_emitter *e, int position, const void *how) {
  const manner *m = how;
  const int total = e->micro_batches * e->chunks;
  const int64_t ahead = warmup(e->problem, m, position) + m->ahead;
  int forward = 0;
  while (forward < total && forward < ahead)
    zb_emit(e, zb_turn(&m->turns, e->chunks, forward++), ZB_F);
  for (int backward = 0; backward < total; ++backward) {
    if (forward < total) zb_emit(e, zb_turn(&m->turns, e->chunks, forward++), ZB_F);
    zb_emit(e, e->chunks - 1 - zb_turn(&m->turns, e->chunks, backward), ZB_B);
    if (!m->split || backward >= position) zb_emit_oldest_w(e);
  }
  zb_emit_rest_w(e);
}

/* With the options left alone. */
static manner default_manner(const zb_problem *problem, bool split) {
  return (manner){.turns = zb_turns_even(problem->micro_batches, problem->ranks), .split = split};
}

static zb_status emit_whole(const zb_problem *problem, const int64_t *options, zb_order *out) {
  manner m = {.ahead = options[AHEAD]};
  ZB_TRY(choose_turns(problem, options, &m.turns));
  return zb_emit_all(problem, emit_position, &m, out);
}

/* The warm-up and one more, a chunk being the v-th part of a micro-batch. */
static double whole_bound(const zb_problem *problem, int rank) {
  const manner m = default_manner(problem, false);
  const int chunks = problem->stages / problem->ranks;
  const int64_t most = warmup(problem, &m, zb_rank_position(problem, rank)) + 1;
  const int64_t all = (int64_t)problem->micro_batches * chunks;
  return (double)(most < all ? most : all) / chunks;
}

static zb_status emit_split(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  const manner m = default_manner(problem, true);
  return zb_emit_all(problem, emit_position, &m, out);
}

static double split_bound(const zb_problem *problem, int rank) {
  const manner m = default_manner(problem, true);
  const int position = zb_rank_position(problem, rank);
  return zb_held_memory_bound(problem, rank, (double)warmup(problem, &m, position) + 1, position,
                              problem->stages / problem->ranks);
}

const zb_schedule_def zb_schedule_interleaved_1f1b = {
    .name = "interleaved-1f1b",
    .summary =
        "1F1B whose chunks take turns with groups of micro-batches (Megatron-LM, arXiv 2104.04473, section 2.2.2)",
    ZB_PLACED_LOOPED,
    .options = option_rows,
    .emit = emit_whole,
    .memory_bound = whole_bound,
};
const zb_schedule_def zb_schedule_interleaved_zb = {
    .name = "interleaved-zb",
    .summary = "interleaved 1F1B with the backward split, at less memory (PyTorch's InterleavedZeroBubble); one chunk: "
               "zb-h1",
    ZB_PLACED_LOOPED,
    .splits_backward = true,
    .emit = emit_split,
    .memory_bound = split_bound,
};
