/* The choice between the rules for cuts: see passes/stages/cut/cuts.h.
 *
 * Tests: test/passes/cuts_test.c, test/passes/partition.mlir. */

#include "passes/stages/cut/cuts.h"

enum { SEARCH_STAGES_MAX = 64, SEARCH_NODES = 300000 };

/* The mean, or an op that takes longer. */
static int64_t simple_bound(const zb_cut_problem *p) {
  int64_t bound = zb_cuts_mean(p);
  for (int i = 0; i < p->count; ++i)
    if (p->cost[i] > bound) bound = p->cost[i];
  return bound;
}

zb_status zb_cuts_choose(const zb_cut_problem *p, zb_arena *arena, zb_cuts *out) {
  bool found = false, complete = false;
  *out = (zb_cuts){.after = ZB_NEW(arena, int, p->stages)};
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_cuts_by_stage(p, arena, out->after));
  if (p->stages > p->ranks) {
    out->bound_ps = simple_bound(p);
    ZB_TRY(zb_cuts_by_rank(p, arena, out->after));
  }
  ZB_TRY(zb_cuts_longest(p, arena, out->after, &out->longest_ps));
  const int64_t enough = zb_cuts_balanced(p) > out->bound_ps ? zb_cuts_balanced(p) : out->bound_ps;
  if (p->stages == p->ranks || p->stages > SEARCH_STAGES_MAX || out->longest_ps <= enough) return NULL;
  ZB_TRY(zb_cuts_search(p, arena, out->longest_ps, SEARCH_NODES, out->after, &found, &complete));
  if (found) ZB_TRY(zb_cuts_longest(p, arena, out->after, &out->longest_ps));
  if (complete) out->bound_ps = out->longest_ps;
  if (found) ZB_TRY(zb_cuts_by_rank(p, arena, out->after)); /* fewer bytes, and as balanced */
  if (found) ZB_TRY(zb_cuts_longest(p, arena, out->after, &out->longest_ps));
  return NULL;
}
