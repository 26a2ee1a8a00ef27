/* Where a program is cut into stages: by the longest stage, or, where ranks have several, by the longest rank. No MLIR.
 */
#pragma once

#include "runtime/base/arena.h"

/* The entries are the ops that can be cut between, in program order: at least as many as stages. */
typedef struct zb_cut_problem {
  int count;
  const int64_t *cost;      /* [count] ps, with the gradient ops */
  const int64_t *cut_bytes; /* [count]: what crosses a cut after it */
  int stages, ranks;
  const int *stage_rank; /* [stages] */
  double ps_per_byte;    /* what a byte that crosses a cut is worth */
} zb_cut_problem;

typedef struct zb_cuts {
  int *after;         /* [stages - 1] entries after which a stage ends, ascending */
  int64_t longest_ps; /* of a rank */
  int64_t bound_ps;   /* with no stages that all take time is the longest rank shorter; 0: not known */
} zb_cuts;

/* What the cuts of a program were chosen from, for who wants to try others (zb_compile_state.places). */
typedef struct zb_cut_places {
  zb_arena arena; /* of the arrays */
  int count, stages;
  int *number;               /* [count] of each, as a choice has it (passes/choice/choice.h) */
  int64_t *cost, *cut_bytes; /* [count] as in zb_cut_problem */
  double ps_per_byte;
  int *after;       /* [stages - 1] the cuts that the program has */
  int *few;         /* [stages - 1] those that it has with --recompute all, for auto; NULL: the same */
  int64_t bound_ps; /* zb_cuts.bound_ps */
} zb_cut_places;

/* With one stage a rank: the shortest longest stage together with its transfers. With several: the longest rank is at
 * most a hundredth above the mean, or, where that is not found, as short as is found; among such cuts few bytes cross,
 * and stages are even. The arrays are in the arena. MEMORY. Near-linear in entries. */
zb_status zb_cuts_choose(const zb_cut_problem *problem, zb_arena *arena, zb_cuts *out) ZB_MUST_USE;

/* ---- The parts ---- */

/* Moves cuts of which more than `best` bytes cross in all: to where at most so many do, with the longest stage less
 * than a tenth longer; or at most `enough`, with it at most 1.7 times as long; both as short as is found. Else to where
 * fewer bytes cross, at most a third longer. O(stages * entries). MEMORY. */
zb_status zb_cuts_few(const zb_cut_problem *problem, zb_arena *arena, int64_t best, int64_t enough,
                      int *after) ZB_MUST_USE;
/* By the longest stage alone, whatever ranks there are. */
zb_status zb_cuts_by_stage(const zb_cut_problem *problem, zb_arena *arena, int *after) ZB_MUST_USE;
/* Moves cuts until the longest rank is balanced. */
zb_status zb_cuts_by_rank(const zb_cut_problem *problem, zb_arena *arena, int *after) ZB_MUST_USE;
/* Looks for cuts with a longest rank below longest_ps and stages that all take time, depth first, as far as `nodes`
 * placed stages go. *out_found: `after` has the best of them. *out_complete: there are none that are better. */
zb_status zb_cuts_search(const zb_cut_problem *problem, zb_arena *arena, int64_t longest_ps, int64_t nodes, int *after,
                         bool *out_found, bool *out_complete) ZB_MUST_USE;
/* The longest rank of cuts. O(count). */
zb_status zb_cuts_longest(const zb_cut_problem *problem, zb_arena *arena, const int *after,
                          int64_t *out_ps) ZB_MUST_USE;
/* What a rank takes in the mean, rounded up. */
int64_t zb_cuts_mean(const zb_cut_problem *problem);
/* Up to which a longest rank counts as balanced. */
int64_t zb_cuts_balanced(const zb_cut_problem *problem);
