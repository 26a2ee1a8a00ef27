/* Cuts where few bytes cross: see passes/stages/cut/cuts.h.
 *
 * For stages of at most some length, fewest bytes by dynamic programming over the cuts: the least bytes up to each
 * place come from those of a window of places for the cut before, whose ends only move on.
 *
 * Tests: test/passes/cuts_test.c. */

#include "passes/stages/cut/cuts.h"

#include <string.h>

/* Of the longest stage, in that of the cuts before. */
static const double lengths[] = {1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.5, 1.7};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
/* Longest stages up to which it is `best` bytes that count, and up to which there are prices: as many bytes again as
 * `best` are worth a quarter of the longest stage. */
static const double near = 1.1, far = 1.35, worth = 0.25;

typedef struct table {
  const zb_cut_problem *problem;
  int64_t *end;    /* [count] time of all up to an entry */
  int64_t *before; /* [count] least bytes of the cuts up to the one before, if that is behind an entry */
  int64_t *least;  /* [count] and if the one at hand is */
  int *from;       /* [stages - 1][count] where the one before is then */
  int *queue;      /* [count] entries of the window, rising bytes */
} table;

/* Places a cut, not the first. */
static void place(table *t, int cut, int64_t length) {
  const zb_cut_problem *p = t->problem;
  int first = 0, count = 0, next = 0; /* of the queue; the next entry for it */
  for (int i = 0; i < p->count; ++i) {
    for (; next < i && t->end[next] < t->end[i]; ++next) {
      while (count > first && t->before[t->queue[count - 1]] > t->before[next])
        --count;
      if (t->before[next] < INT64_MAX) t->queue[count++] = next;
    }
    while (first < count && t->end[i] - t->end[t->queue[first]] > length)
      ++first;
    t->least[i] = first < count ? t->before[t->queue[first]] + p->cut_bytes[i] : INT64_MAX;
    t->from[(int64_t)cut * p->count + i] = first < count ? t->queue[first] : -1;
  }
}

/* The cuts of fewest bytes with no stage above a length, and none without time. Returns the bytes; INT64_MAX: there are
 * no such cuts. */
static int64_t find_fewest(table *t, int64_t length, int *after) {
  const zb_cut_problem *p = t->problem;
  const int cuts = p->stages - 1;
  const int64_t whole = t->end[p->count - 1];
  int64_t best = INT64_MAX;
  for (int i = 0; i < p->count; ++i)
    t->least[i] = t->end[i] > 0 && t->end[i] <= length ? p->cut_bytes[i] : INT64_MAX;
  for (int cut = 1; cut < cuts; ++cut) {
    memcpy(t->before, t->least, (size_t)p->count * sizeof *t->before);
    place(t, cut, length);
  }
  for (int i = 0; i + 1 < p->count; ++i) {
    if (t->end[i] >= whole || whole - t->end[i] > length || t->least[i] >= best) continue;
    best = t->least[i];
    after[cuts - 1] = i;
  }
  for (int cut = cuts - 1; cut > 0 && best < INT64_MAX; --cut)
    after[cut - 1] = t->from[(int64_t)cut * p->count + after[cut]];
  return best;
}

static int64_t sum_bytes(const zb_cut_problem *p, const int *after) {
  int64_t bytes = 0;
  for (int k = 0; k + 1 < p->stages; ++k)
    bytes += p->cut_bytes[after[k]];
  return bytes;
}

/* The longest stage. */
static int64_t longest(const table *t, const int *after) {
  const zb_cut_problem *p = t->problem;
  int64_t most = 0, begin = 0;
  for (int s = 0; s < p->stages; ++s) {
    const int64_t end = t->end[s + 1 < p->stages ? after[s] : p->count - 1];
    if (end - begin > most) most = end - begin;
    begin = end;
  }
  return most;
}

zb_status zb_cuts_few(const zb_cut_problem *p, zb_arena *arena, int64_t best, int64_t enough, int *after) {
  const size_t count = (size_t)p->count, cuts = (size_t)(p->stages - 1);
  table t = {.problem = p};
  if (p->stages < 2 || best < 1 || sum_bytes(p, after) <= best) return NULL;
  t.end = ZB_NEW(arena, int64_t, count);
  t.before = ZB_NEW(arena, int64_t, count);
  t.least = ZB_NEW(arena, int64_t, count);
  t.from = ZB_NEW(arena, int, cuts *count);
  t.queue = ZB_NEW(arena, int, count);
  int *found = ZB_NEW(arena, int, cuts), *cheap = ZB_NEW(arena, int, cuts);
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < count; ++i)
    t.end[i] = (i > 0 ? t.end[i - 1] : 0) + p->cost[i];
  const int64_t most = longest(&t, after);
  double least = 1 + worth * (double)sum_bytes(p, after) / (double)best;
  memcpy(cheap, after, cuts * sizeof *after);
  for (int i = 0; i < LENGTHS; ++i) {
    const int64_t fewest = find_fewest(&t, (int64_t)(lengths[i] * (double)most), found);
    const double price = lengths[i] + worth * (double)fewest / (double)best;
    if (fewest <= (lengths[i] < near ? best : enough)) {
      memcpy(after, found, cuts * sizeof *after);
      return NULL;
    }
    if (fewest == INT64_MAX || price >= least || lengths[i] > far) continue;
    least = price;
    memcpy(cheap, found, cuts * sizeof *after);
  }
  memcpy(after, cheap, cuts * sizeof *after);
  return NULL;
}
