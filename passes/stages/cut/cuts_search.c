/* All cuts, stage after stage, with what is left of the ranks as the bound: see passes/stages/cut/cuts.h.
 *
 * Tests: test/passes/cuts_test.c. */

#include "passes/stages/cut/cuts.h"

#include <string.h>

typedef struct search {
  const zb_cut_problem *problem;
  int64_t *end;  /* [count] time of all up to an entry */
  int64_t *load; /* [ranks] of the stages that are placed */
  int *left;     /* [ranks] stages that are not */
  int *cut, *best_cut;
  int64_t best, nodes;
  bool found;
} search;

/* What ranks that have stages left can take and stay below the best. */
static int64_t room(const search *x) {
  int64_t sum = 0;
  for (int r = 0; r < x->problem->ranks; ++r)
    if (x->left[r] > 0) sum += x->best - 1 - x->load[r];
  return sum;
}

static void keep(search *x) {
  x->best = 0;
  for (int r = 0; r < x->problem->ranks; ++r)
    if (x->load[r] > x->best) x->best = x->load[r];
  memcpy(x->best_cut, x->cut, (size_t)(x->problem->stages - 1) * sizeof *x->cut);
  x->found = true;
}

/* A cut behind an entry that takes no time leaves the next stage fewer entries and no less time. */
static bool is_useless(const search *x, int entry) { return x->problem->cost[entry] == 0; }

/* Places `stage`, which starts at the entry `begin`, and all after it. */
static void place(search *x, int stage, int begin) {
  const zb_cut_problem *p = x->problem;
  const int rank = p->stage_rank[stage];
  const int64_t start = begin > 0 ? x->end[begin - 1] : 0, all = x->end[p->count - 1];
  if (--x->nodes < 0 || room(x) < all - start) return;
  --x->left[rank];
  if (stage == p->stages - 1 && all > start) {
    x->load[rank] += all - start;
    if (x->load[rank] < x->best) keep(x);
    x->load[rank] -= all - start;
  }
  for (int e = p->count - p->stages + stage; stage < p->stages - 1 && e >= begin; --e) {
    const int64_t time = x->end[e] - start;
    if (x->load[rank] + time >= x->best || is_useless(x, e)) continue;
    if (x->left[rank] == 0 && room(x) < all - x->end[e]) break; /* and shorter stages leave more to the others */
    x->load[rank] += time;
    x->cut[stage] = e;
    place(x, stage + 1, e + 1);
    x->load[rank] -= time;
  }
  ++x->left[rank];
}

zb_status zb_cuts_search(const zb_cut_problem *p, zb_arena *arena, int64_t longest_ps, int64_t nodes, int *after,
                         bool *out_found, bool *out_complete) {
  search x = {.problem = p,
              .end = ZB_NEW(arena, int64_t, p->count),
              .load = ZB_NEW(arena, int64_t, p->ranks),
              .left = ZB_NEW(arena, int, p->ranks),
              .cut = ZB_NEW(arena, int, p->stages),
              .best_cut = after,
              .best = longest_ps,
              .nodes = nodes};
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < p->count; ++i)
    x.end[i] = (i > 0 ? x.end[i - 1] : 0) + p->cost[i];
  for (int s = 0; s < p->stages; ++s)
    ++x.left[p->stage_rank[s]];
  place(&x, 0, 0);
  *out_found = x.found;
  *out_complete = x.nodes >= 0;
  return NULL;
}
