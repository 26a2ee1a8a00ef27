/* Proven lower bounds of the step time of any order.
 *
 * Both take nothing for granted about the order but what every order obeys: a rank runs one job at a time; F of a stage
 * needs the F of the stages that send to it, B needs its F and the B of the stages that send gradients to it, W needs
 * its B; a message between ranks takes its time; the optimizer of a rank starts after all its jobs; live bytes stay
 * within the limit. All costs may differ, edges may skip, placement is any. Time 0 is the start of the first job of
 * all.
 *
 * head(j): longest chain of jobs and messages of one micro-batch that must be over before j starts, so j starts at
 * head(j) or later. tail(j): longest chain that can only start when j has ended (for W: the optimizer), so the step
 * ends tail(j) after j's end or later. All micro-batches are alike, so there are 3 classes of m jobs each a stage.
 *
 * 1. Chain. head(j) + time(j) + tail(j) <= step, for every j.
 *
 * 2. One rank. For a set S of jobs of one rank: the first of them starts at min head(S) or later, they take the sum of
 * their times one after the other, and after the last of them at least min tail(S) passes. So min head(S) + sum time(S)
 * + min tail(S) <= step. For given thresholds (a, b) the best S is {j: head(j) >= a, tail(j) >= b}; heads and tails
 * take 3v values each, so all sets that matter are tried. It contains m(F+B+W) + (p-1)(F/v+c) (all jobs of the last
 * rank), (m+p-1)(F+B)+W+2(p-1)c (its F and B), and m(B+W) after the first backward has come back to rank 0.
 *
 * 3. One rank with a memory limit. Let H be the least head of a B of rank r. Before H the rank can run F jobs only
 * (every other job needs a B of this rank first). Each started F of stage s leaves keep-free bytes until its B, so the
 * F jobs started before the first B satisfy sum n_s (keep_s - free_s) <= limit - base - (the last of them keeps its
 * free bytes until its end, which only adds), n_s <= m. Let X be the most F time such n_s allow: the fractional
 * knapsack, an upper bound of the whole-number one. At most X of the rank's work is over by H, so H + (m sum(F+B+W) -
 * X) + optimizer <= step. Without a limit X is all F time and this is the set {B, W} of 2.
 *
 * 4. One rank with a memory limit, from both ends. Let s be the stage of the rank's last F, and t when that starts. Its
 * B starts at t + D(s) or later, where D(s) is the chain from there back. Until then the rank runs this F, and B and W
 * jobs of micro-batches whose F was over: all of them live at t, in flight (keep_F - free_F bytes, B and W to do) or
 * between B and W (what B left, W to do). With keep_F of this F they fit the limit, so their time is at most Y(s),
 * again a fractional knapsack, and the rank is idle for D(s) - F(s) - Y(s) or more. Before its first B it is idle for D
 * - X or more (3). If not all F of the rank fit at once, its last F comes after its first B, and the two times add up.
 * The rank starts at its least head or later. For one chunk, F = B and limit p this is (p-1)(F+B-W) + 4(p-1)c: ZB-H1
 * cannot be beaten at its memory.
 *
 * 5. What the last F of a rank needs has been freed by then. Let s be the stage of the last F of rank r, and t when
 * that starts. All other F of r are over, and with keep_F of this one they fit the limit; so B and W jobs of r have
 * given back R = base + m sum(keep_F - free_F) - (keep_F - free_F of s) + keep_F of s - limit before t. Let X(s) be the
 * least time of such jobs: at most m of a kind, and no more W than B of a stage. As fractions may run it is at least
 * that of a knapsack again, in which B and then W of a stage are two pieces if B gives back more in its time, and one
 * piece if W does. So t is the start of r
 * + sum of the other F + X(s) or later, and the chain from F of s follows: head + m sum(F) - F(s) + X(s) + (F(s) +
 * tail)
 * <= step, for the least over s.
 *
 * 6. Reductions. After the last W of a stage the reductions behind it, and those that come later on the clock of its
 * rank, run one after the other before the optimizer: that, less the lead of the first of them, is part of its tail. So
 * "after all jobs" of a rank, the last of which is a W, at least the least tail of its W passes. And a reduction behind
 * W of micro-batch i starts no earlier than i + 1 micro-batches of its stage have run F, B and W; those that follow on
 * its clock come after it.
 *
 * Whole backwards: B takes the time of W too, and W is empty.
 *
 * Stage metric: time from the start of a rank's first job to its end. The first B of rank r, of stage s and micro-batch
 * i, starts after F of s and i has started and the chain from there back to the B has run: D(s) after that start, and
 * the rank started no later. With D = min D(s) over its stages, its span is at least D + (m sum(F+B+W) - X) +
 * optimizer, and at least m sum(F+B+W) + optimizer; and 4. And 5 for every rank r: where each F of r needs one of rank
 * q of the same micro-batch, r starts no earlier than q and the least such chain; and the chain from F of s ends with B
 * and W of a stage of q.
 *
 * Tests: test/passes/schedule/bounds_test.c compares with exhaustive search and with every simulated order.
 */
#include "passes/schedule/model.h"

#include <math.h>
#include <string.h>

/* What a rank may hold of one stage: `count` items of so many bytes, each with so much work. */
typedef struct item {
  int64_t time, bytes;
} item;

typedef struct chains {
  const zb_model *model;
  int64_t *head; /* [stages * kinds] */
  int64_t *tail;
  int64_t *loop; /* [stages] D(s): start of F to start of B of one micro-batch */
  /* For the stage metric, [stages * ranks], -1: no chain. From the start of F on a rank to that of F of a stage; from
   * the start of F of a stage to the end of W on a rank. */
  int64_t *from_rank, *to_rank;
  int64_t *after; /* [stages] from the start of F to the end of the step: F and its tail */
  int *by_tail;   /* [chunks * kinds] scratch */
  item *items;    /* [2 * chunks] scratch */
} chains;

/* Longest way, over all receivers of (stage, kind), of message + then[receiver]; 0 if there is none. */
static int64_t longest_link(const zb_model *model, zb_kind kind, int stage, const int64_t *receiver_time) {
  int64_t longest = 0;
  for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
    longest = zb_max64(longest, link->time_ps + receiver_time[link->stage * ZB_KIND_COUNT + (int)kind]);
  }
  return longest;
}

/* Moves the starts of what receives from (stage, kind) behind its end; -1: it is on no chain. */
static void push_starts(const zb_model *model, int64_t *start, zb_kind kind, int stage) {
  const int64_t own = start[stage * ZB_KIND_COUNT + (int)kind];
  if (own < 0) return;
  const int64_t end = own + model->problem->costs[stage].time_ps[kind];
  for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
    int64_t *to = &start[link->stage * ZB_KIND_COUNT + (int)kind];
    *to = zb_max64(*to, end + link->time_ps);
  }
}

/* Forward edges go up in stage number and backward edges down, so one sweep each way visits every chain in order. */
static void fill_heads(const chains *c) {
  const zb_problem *p = c->model->problem;
  for (int stage = 0; stage < p->stages; ++stage)
    push_starts(c->model, c->head, ZB_F, stage);
  for (int stage = p->stages - 1; stage >= 0; --stage) {
    int64_t *head = &c->head[stage * ZB_KIND_COUNT];
    head[ZB_B] = zb_max64(head[ZB_B], head[ZB_F] + p->costs[stage].time_ps[ZB_F]);
    head[ZB_W] = head[ZB_B] + p->costs[stage].time_ps[ZB_B];
    push_starts(c->model, c->head, ZB_B, stage);
  }
}

/* What follows the last W of a stage on its rank: its reductions, all behind them, and the optimizer. */
static int64_t after_last_w(const zb_model *model, int stage) {
  const zb_problem *p = model->problem;
  const int rank = p->stage_rank[stage];
  int64_t behind = 0, longest = 0;
  for (const zb_rank_reduction *r = zb_reductions(model, rank + 1); r-- > zb_reductions(model, rank);) {
    behind += r->time_ps;
    if (r->stage == stage && r->after == p->micro_batches - 1) longest = zb_max64(longest, behind - r->lead_ps);
  }
  return longest + model->optimizer_ps[rank];
}

/* `through` holds time + tail, what longest_link adds up. */
static void fill_tails(const chains *c, int64_t *through) {
  const zb_problem *p = c->model->problem;
  for (int stage = 0; stage < p->stages; ++stage) {
    int64_t *tail = &c->tail[stage * ZB_KIND_COUNT], *sum = &through[stage * ZB_KIND_COUNT];
    tail[ZB_W] = after_last_w(c->model, stage);
    sum[ZB_W] = p->costs[stage].time_ps[ZB_W] + tail[ZB_W];
    tail[ZB_B] = zb_max64(sum[ZB_W], longest_link(c->model, ZB_B, stage, through));
    sum[ZB_B] = p->costs[stage].time_ps[ZB_B] + tail[ZB_B];
  }
  for (int stage = p->stages - 1; stage >= 0; --stage) {
    int64_t *tail = &c->tail[stage * ZB_KIND_COUNT], *sum = &through[stage * ZB_KIND_COUNT];
    tail[ZB_F] = zb_max64(sum[ZB_B], longest_link(c->model, ZB_F, stage, through));
    sum[ZB_F] = p->costs[stage].time_ps[ZB_F] + tail[ZB_F];
  }
}

/* Chains that start at F of one stage: heads again, with everything before that stage left out. `way` is scratch,
 * [stages * kinds]. */
static void fill_loop(const chains *c, int from, int64_t *way) {
  const zb_problem *p = c->model->problem;
  for (int i = 0; i < p->stages * ZB_KIND_COUNT; ++i)
    way[i] = -1;
  way[from * ZB_KIND_COUNT + ZB_F] = 0;
  for (int stage = from; stage < p->stages; ++stage)
    push_starts(c->model, way, ZB_F, stage);
  for (int stage = p->stages - 1; stage >= 0; --stage) {
    int64_t *start = &way[stage * ZB_KIND_COUNT];
    if (start[ZB_F] >= 0) start[ZB_B] = zb_max64(start[ZB_B], start[ZB_F] + p->costs[stage].time_ps[ZB_F]);
    push_starts(c->model, way, ZB_B, stage);
  }
  c->loop[from] = way[from * ZB_KIND_COUNT + ZB_B];
  for (int stage = 0; stage < p->stages; ++stage) {
    const int64_t *start = &way[stage * ZB_KIND_COUNT];
    int64_t *there = &c->from_rank[stage * p->ranks + p->stage_rank[from]];
    int64_t *back = &c->to_rank[from * p->ranks + p->stage_rank[stage]];
    *there = zb_max64(*there, start[ZB_F]);
    if (start[ZB_B] >= 0)
      *back = zb_max64(*back, start[ZB_B] + p->costs[stage].time_ps[ZB_B] + p->costs[stage].time_ps[ZB_W]);
  }
}

/* Its memory is the model's. */
static zb_status chains_init(chains *c, zb_model *model) {
  const int stages = model->problem->stages, entries = stages * ZB_KIND_COUNT;
  const size_t pairs = (size_t)stages * (size_t)model->problem->ranks;
  int64_t *scratch;
  *c = (chains){.model = model};
  ZB_TAKE(&model->arena, c->head, entries);
  ZB_TAKE(&model->arena, c->tail, entries);
  ZB_TAKE(&model->arena, scratch, entries);
  ZB_TAKE(&model->arena, c->loop, stages);
  ZB_TAKE(&model->arena, c->after, stages);
  ZB_TAKE(&model->arena, c->from_rank, pairs);
  ZB_TAKE(&model->arena, c->to_rank, pairs);
  ZB_TAKE(&model->arena, c->by_tail, model->chunks * ZB_KIND_COUNT);
  ZB_TAKE(&model->arena, c->items, 2 * model->chunks);
  ZB_TRY(zb_arena_status(&model->arena));
  memset(c->from_rank, -1, pairs * sizeof *c->from_rank);
  memset(c->to_rank, -1, pairs * sizeof *c->to_rank);
  fill_heads(c);
  fill_tails(c, scratch);
  for (int stage = 0; stage < stages; ++stage) {
    fill_loop(c, stage, scratch);
    c->after[stage] = model->problem->costs[stage].time_ps[ZB_F] + c->tail[stage * ZB_KIND_COUNT];
  }
  return NULL;
}

/* The least of values[stage * stride] over the stages of a rank. */
static int64_t least_of_rank(const zb_model *model, int rank, const int64_t *values, int stride) {
  int64_t least = INT64_MAX;
  for (int k = 0; k < model->chunks; ++k) {
    const int64_t value = values[model->rank_stages[rank * model->chunks + k] * stride];
    if (value < least) least = value;
  }
  return least;
}

/* What passes at least after the last job of a rank. */
static int64_t least_finish(const chains *c, int rank) {
  return least_of_rank(c->model, rank, &c->tail[ZB_W], ZB_KIND_COUNT);
}

/* The classes (stage * kinds + kind) of a rank by falling tail. */
static void sort_by_tail(const chains *c, int rank) {
  const int *stages = &c->model->rank_stages[rank * c->model->chunks];
  for (int i = 0; i < c->model->chunks * ZB_KIND_COUNT; ++i) {
    const int moved = stages[i / ZB_KIND_COUNT] * ZB_KIND_COUNT + i % ZB_KIND_COUNT;
    int at = i;
    for (; at > 0 && c->tail[c->by_tail[at - 1]] < c->tail[moved]; --at)
      c->by_tail[at] = c->by_tail[at - 1];
    c->by_tail[at] = moved;
  }
}

/* Bound 1, and bound 2 of one rank: for each least head, sets that grow as the least tail falls. O(classes^2). */
static int64_t bound_rank(const chains *c, int rank) {
  const zb_problem *p = c->model->problem;
  const int classes = c->model->chunks * ZB_KIND_COUNT;
  int64_t best = 0;
  sort_by_tail(c, rank);
  for (int i = 0; i < classes; ++i) {
    const int at = c->by_tail[i];
    const int64_t least_head = c->head[at];
    best = zb_max64(best, least_head + p->costs[at / ZB_KIND_COUNT].time_ps[at % ZB_KIND_COUNT] + c->tail[at]);
    int64_t sum = 0;
    for (int j = 0; j < classes; ++j) {
      const int other = c->by_tail[j];
      if (c->head[other] < least_head) continue;
      sum += p->micro_batches * p->costs[other / ZB_KIND_COUNT].time_ps[other % ZB_KIND_COUNT];
      if (sum > 0) best = zb_max64(best, least_head + sum + c->tail[other]);
    }
  }
  return best;
}

/* Work of an item of which only so many bytes fit, rounded up generously: doubles have 53 bits, and too much only
 * weakens the bound. */
static int64_t part(const item *x, int64_t bytes) {
  if (bytes == 0) return 0;
  const double work = (double)x->time * ((double)bytes / (double)x->bytes) * (1 + 1e-12) + 1;
  return work >= (double)x->time ? x->time : (int64_t)work;
}

/* Items by falling rate, equal ones as they stand; those of a rate below 0 are left out. Items are few, so the next one
 * is searched again. */
typedef struct ranking {
  const item *items;
  int count;
  double (*rate)(const item *x);
  int last; /* -1: none yet */
  double last_rate;
} ranking;

static const item *next_item(ranking *r) {
  int best = -1;
  double best_rate = -1;
  for (int i = 0; i < r->count; ++i) {
    const double rate = r->rate(&r->items[i]);
    const bool taken = r->last >= 0 && (rate > r->last_rate || (rate == r->last_rate && i <= r->last));
    if (taken || rate <= best_rate) continue;
    best_rate = rate;
    best = i;
  }
  r->last = best;
  r->last_rate = best_rate;
  return best < 0 ? NULL : &r->items[best];
}

static double work_a_byte(const item *x) { return x->bytes > 0 ? (double)x->time / (double)x->bytes : 1e300; }

/* The most work that items of at most `room` bytes have, `count` of each at most: the one with the most work a byte
 * first, the last one in part. */
static int64_t most_work(const item *items, int item_count, int64_t count, int64_t room) {
  ranking r = {items, item_count, work_a_byte, -1, 0};
  int64_t work = 0;
  for (const item *x; (x = next_item(&r)) != NULL;) {
    const int64_t fit = x->bytes > 0 ? (room > 0 ? room / x->bytes : 0) : count;
    work += (fit < count ? fit : count) * x->time;
    if (fit < count) return work + part(x, room > 0 ? room % x->bytes : 0);
    room -= count * x->bytes;
  }
  return work;
}

/* X: most F time of a rank before its first B, at least the true one. */
static int64_t most_forward(const chains *c, int rank) {
  const zb_problem *p = c->model->problem;
  const int *stages = &c->model->rank_stages[rank * c->model->chunks];
  for (int k = 0; k < c->model->chunks; ++k)
    c->items[k] = (item){p->costs[stages[k]].time_ps[ZB_F], zb_held_after(&p->costs[stages[k]], ZB_F)};
  const int64_t limit = zb_rank_limit(p, rank);
  return most_work(c->items, c->model->chunks, p->micro_batches, limit ? limit - zb_base_bytes(p, rank) : INT64_MAX);
}

/* Least idle time between the start of the last F of a rank and its B. */
static int64_t idle_after_last_f(const chains *c, int rank) {
  const zb_problem *p = c->model->problem;
  const int chunks = c->model->chunks;
  const int *stages = &c->model->rank_stages[rank * chunks];
  const int64_t limit = zb_rank_limit(p, rank);
  if (limit == 0) return 0;
  for (int k = 0; k < chunks; ++k) {
    const zb_stage_cost *cost = &p->costs[stages[k]];
    c->items[k] = (item){cost->time_ps[ZB_B] + cost->time_ps[ZB_W], zb_held_after(cost, ZB_F)};
    c->items[chunks + k] = (item){cost->time_ps[ZB_W], zb_held_after(cost, ZB_B)};
  }
  int64_t least = INT64_MAX;
  for (int k = 0; k < chunks; ++k) {
    const zb_stage_cost *cost = &p->costs[stages[k]];
    const int64_t room = limit - zb_base_bytes(p, rank) - cost->keep_bytes[ZB_F];
    const int64_t work = most_work(c->items, 2 * chunks, p->micro_batches, room);
    const int64_t idle = c->loop[stages[k]] - cost->time_ps[ZB_F] - work;
    if (idle < least) least = idle;
  }
  return zb_max64(least, 0);
}

/* Whether all F of a rank fit its limit at once. */
static bool all_forwards_fit(const chains *c, int rank) {
  const zb_problem *p = c->model->problem;
  const int64_t limit = zb_rank_limit(p, rank);
  int64_t bytes = zb_base_bytes(p, rank);
  for (int k = 0; k < c->model->chunks; ++k)
    bytes += p->micro_batches * zb_held_after(&p->costs[c->model->rank_stages[rank * c->model->chunks + k]], ZB_F);
  return limit == 0 || bytes <= limit;
}

static int64_t total_work(const zb_model *model, int rank) {
  const zb_problem *p = model->problem;
  int64_t work = 0;
  for (int k = 0; k < model->chunks; ++k)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      work += p->micro_batches * p->costs[model->rank_stages[rank * model->chunks + k]].time_ps[kind];
  return work;
}

/* The stage bound of a rank, without its optimizer. */
static int64_t bound_span(const chains *c, int rank) {
  const int64_t first_b = least_of_rank(c->model, rank, c->loop, 1);
  const int64_t before = zb_max64(first_b - most_forward(c, rank), 0), after = idle_after_last_f(c, rank);
  return total_work(c->model, rank) + (all_forwards_fit(c, rank) ? zb_max64(before, after) : before + after);
}

/* Bounds 3 and 4 of a rank. */
static int64_t bound_memory(const chains *c, int rank) {
  const zb_model *model = c->model;
  const int64_t first = least_of_rank(model, rank, &c->head[ZB_F], ZB_KIND_COUNT);
  const int64_t first_b = least_of_rank(model, rank, &c->head[ZB_B], ZB_KIND_COUNT);
  const int64_t after = first_b + total_work(model, rank) - most_forward(c, rank);
  return zb_max64(after, first + bound_span(c, rank)) + least_finish(c, rank);
}

/* The reductions of a rank, from the start of its first job or, for the barrier metric, from that of all. */
static int64_t bound_reductions(const chains *c, int rank, bool stage_metric) {
  const zb_model *model = c->model;
  int64_t stream = 0;
  for (const zb_rank_reduction *r = zb_reductions(model, rank); r < zb_reductions(model, rank + 1); ++r) {
    const int64_t *time = model->problem->costs[r->stage].time_ps;
    const int64_t *head = &c->head[r->stage * ZB_KIND_COUNT];
    const int64_t runs = (r->after + 1) * (time[ZB_F] + time[ZB_B] + time[ZB_W]);
    const int64_t one = c->loop[r->stage] + time[ZB_B] + (r->after + 1) * time[ZB_W];
    const int64_t from_start = zb_max64(runs, one),
                  from_all = zb_max64(head[ZB_F] + runs, head[ZB_B] + time[ZB_B] + (r->after + 1) * time[ZB_W]);
    stream = zb_reduction_end(r, stream, stage_metric ? from_start : from_all);
  }
  return stream > 0 ? stream + model->optimizer_ps[rank] : 0;
}

/* ---- Bound 5 ---- */

static double bytes_a_time(const item *x) {
  if (x->bytes <= 0) return -1;
  return x->time > 0 ? (double)x->bytes / (double)x->time : 1e300;
}

/* The least time, rounded down generously, of items that give back so many bytes, `count` of each at most (all of them
 * if they never do); those with the most bytes a time first, the last one in part. */
static int64_t least_work(const item *items, int item_count, int64_t count, int64_t bytes) {
  ranking r = {items, item_count, bytes_a_time, -1, 0};
  double work = 0;
  for (const item *x; bytes > 0 && (x = next_item(&r)) != NULL;) {
    const double wanted = (double)bytes / (double)x->bytes;
    work += (double)x->time * (wanted < (double)count ? wanted : (double)count);
    bytes -= bytes / x->bytes >= count ? count * x->bytes : bytes;
  }
  return work > 1 ? (int64_t)(work * (1 - 1e-12)) - 1 : 0;
}

/* B and W of a stage as pieces to be taken one after the other, of falling bytes a time. */
static void fill_pieces(const zb_stage_cost *cost, item pieces[2]) {
  const item b = {cost->time_ps[ZB_B], cost->free_bytes[ZB_B] - cost->keep_bytes[ZB_B]};
  const item w = {cost->time_ps[ZB_W], cost->free_bytes[ZB_W] - cost->keep_bytes[ZB_W]};
  const bool is_falling = (double)b.bytes * (double)w.time >= (double)w.bytes * (double)b.time;
  pieces[0] = is_falling ? b : (item){b.time + w.time, b.bytes + w.bytes};
  pieces[1] = is_falling ? w : (item){0, 0};
}

/* Least time from the start of rank r to the start of its last F and then along the chain `then`[stage * stride] from
 * there, -1 where there is none; 0: not known. */
static int64_t bound_last_f(const chains *c, int rank, const int64_t *then, int stride) {
  const zb_problem *p = c->model->problem;
  const int chunks = c->model->chunks;
  const int *stages = &c->model->rank_stages[rank * chunks];
  const int64_t limit = zb_rank_limit(p, rank);
  int64_t held = zb_base_bytes(p, rank), forward = 0, least = INT64_MAX;
  for (int k = 0; k < chunks; ++k) {
    const zb_stage_cost *cost = &p->costs[stages[k]];
    held += p->micro_batches * zb_held_after(cost, ZB_F);
    forward += p->micro_batches * cost->time_ps[ZB_F];
    fill_pieces(cost, &c->items[2 * k]);
  }
  for (int k = 0; k < chunks; ++k) {
    const zb_stage_cost *cost = &p->costs[stages[k]];
    const int64_t chain = then[stages[k] * stride];
    if (chain < 0) return 0;
    const int64_t over = limit ? held + cost->free_bytes[ZB_F] - limit : 0;
    const int64_t freeing = least_work(c->items, 2 * chunks, p->micro_batches, over);
    const int64_t time = forward - cost->time_ps[ZB_F] + freeing + chain;
    if (time < least) least = time;
  }
  return least;
}

/* The span of a rank, by the last F of every rank. Without its optimizer. */
static int64_t bound_span_last_f(const chains *c, int rank) {
  const zb_problem *p = c->model->problem;
  int64_t best = 0;
  for (int other = 0; other < p->ranks; ++other) {
    const int64_t offset = least_of_rank(c->model, other, &c->from_rank[rank], p->ranks);
    const int64_t time = offset >= 0 ? bound_last_f(c, other, &c->to_rank[rank], p->ranks) : 0;
    if (time > 0) best = zb_max64(best, offset + time);
  }
  return best;
}

/* The step, by the last F of a rank. */
static int64_t bound_step_last_f(const chains *c, int rank) {
  const int64_t time = bound_last_f(c, rank, c->after, 1);
  return time > 0 ? least_of_rank(c->model, rank, &c->head[ZB_F], ZB_KIND_COUNT) + time : 0;
}

static int64_t bound_of(const chains *c, bool stage_metric) {
  int64_t best = 0;
  for (int rank = 0; rank < c->model->problem->ranks; ++rank) {
    if (stage_metric) {
      const int64_t span = zb_max64(bound_span(c, rank), bound_span_last_f(c, rank));
      best = zb_max64(best, span + least_finish(c, rank));
    } else {
      best = zb_max64(best, zb_max64(bound_rank(c, rank), bound_memory(c, rank)));
      best = zb_max64(best, bound_step_last_f(c, rank));
    }
    best = zb_max64(best, bound_reductions(c, rank, stage_metric));
  }
  return best;
}

/* Whole backwards: the costs of all stages as those of two jobs. */
static zb_status make_whole(zb_model *model, zb_problem *whole) {
  zb_stage_cost *costs;
  ZB_TAKE(&model->arena, costs, whole->stages);
  ZB_TRY(zb_arena_status(&model->arena));
  for (int stage = 0; stage < whole->stages; ++stage)
    costs[stage] = zb_whole_cost(&whole->costs[stage]);
  whole->costs = costs;
  return NULL;
}

struct zb_bounds {
  zb_problem problem; /* with the limits that are asked for, and whole backwards as its costs */
  zb_model model;
  chains chains; /* no limit changes them */
};

zb_status zb_bounds_new(const zb_problem *problem, zb_bounds **out) {
  zb_bounds *const b = zb_alloc(sizeof *b);
  *out = NULL;
  if (!b) return ZB_OUT_OF_MEMORY();
  *b = (zb_bounds){.problem = *problem};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_model_init(problem, &b->model));
  b->model.problem = &b->problem;
  if (problem->whole_backward) ZB_TRY_GOTO(make_whole(&b->model, &b->problem));
  ZB_TRY_GOTO(chains_init(&b->chains, &b->model));
  *out = b;
cleanup:
  if (status) zb_bounds_free(b);
  return status;
}

void zb_bounds_free(zb_bounds *b) {
  if (b) zb_model_deinit(&b->model);
  zb_free(b);
}

int64_t zb_bounds_within(zb_bounds *b, const int64_t *limits) {
  b->problem.rank_limit_bytes = limits;
  return bound_of(&b->chains, b->problem.metric == ZB_METRIC_STAGE);
}

static int64_t lower_bound(const zb_problem *problem, bool stage_metric) {
  zb_bounds *bounds;
  zb_status status = zb_bounds_new(problem, &bounds);
  const int64_t best = status ? 0 : bound_of(&bounds->chains, stage_metric);
  zb_status_free(status);
  zb_bounds_free(bounds);
  return best;
}

int64_t zb_lower_bound_ps(const zb_problem *problem) { return lower_bound(problem, false); }
int64_t zb_lower_bound_stage_ps(const zb_problem *problem) { return lower_bound(problem, true); }
