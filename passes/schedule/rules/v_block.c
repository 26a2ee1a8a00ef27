/* The engine of v_block.h: a simulation in which every rank decides what to run next.
 *
 * Decisions are taken in the order of time, so that at each one all that runs anywhere at that time is known, and with
 * it when its messages arrive. In real time that takes an agenda of who decides next, O(jobs * log ranks). In unit time
 * all ranks decide together, slot after slot, and a micro-batch has come if as many were sent: O(jobs). Beside that, a
 * job that is run early costs what the block has in between. An order that is there is timed without either: each rank
 * runs until an input is missing. Tests: test/passes/schedule/v_schedules_test.c.
 */
#include "passes/schedule/rules/v_block.h"

#include "passes/schedule/rules/build.h"

#include <string.h>

static const int PASS_CHUNK[ZB_V_PASSES] = {0, 1, 1, 0, 1, 0};
static const zb_kind PASS_KIND[ZB_V_PASSES] = {ZB_F, ZB_F, ZB_B, ZB_B, ZB_W, ZB_W};
/* The passes that come first in zb_v_pass, and that others wait for: all but W. */
enum { MOVERS = ZB_V_W1 };

/* ---- Blocks ---- */

bool zb_v_block_fill(int ranks, const zb_v_legs *legs, zb_v_slots *block) {
  const int last = ranks - 1;
  const int f1_last = last * legs->f0 + legs->turn_f;
  const int b1_first = f1_last + last * legs->f1 + legs->back;
  const int b0_last = b1_first + last * legs->b1 + legs->turn_b;
  for (int i = 0; i < ranks; ++i)
    block[i] = (zb_v_slots){
        {i * legs->f0, f1_last + (last - i) * legs->f1, b1_first + i * legs->b1, b0_last + (last - i) * legs->b0}};
  return zb_v_place_w(ranks, block);
}

bool zb_v_place_w(int ranks, zb_v_slots *block) {
  for (int i = 0; i < ranks; ++i) {
    int *start = block[i].start;
    unsigned taken = 0;
    for (int pass = 0; pass < MOVERS; ++pass) {
      const unsigned bit = 1U << (start[pass] % ZB_V_INTERVAL);
      if (taken & bit) return false;
      taken |= bit;
    }
    const bool b1_first = start[ZB_V_B1] % ZB_V_INTERVAL < start[ZB_V_B0] % ZB_V_INTERVAL;
    for (int turn = 0; turn < 2; ++turn) {
      const bool one = (turn == 0) == b1_first;
      int slot = start[one ? ZB_V_B1 : ZB_V_B0] + 1;
      while (taken & 1U << (slot % ZB_V_INTERVAL))
        ++slot;
      taken |= 1U << (slot % ZB_V_INTERVAL);
      start[one ? ZB_V_W1 : ZB_V_W0] = slot;
    }
  }
  return true;
}

/* How many of the intervals [begin, end], one every ZB_V_INTERVAL, contain a slot that is `at` modulo it. */
static int alive(int begin, int end, int at) {
  const int shift = (at - begin % ZB_V_INTERVAL + ZB_V_INTERVAL) % ZB_V_INTERVAL;
  return end - begin < shift ? 0 : (end - begin - shift) / ZB_V_INTERVAL + 1;
}

int zb_v_block_peak(int ranks, const zb_v_slots *block) {
  int peak = 0;
  for (int i = 0; i < ranks; ++i) {
    const int *start = block[i].start;
    for (int at = 0; at < ZB_V_INTERVAL; ++at)
      peak = zb_max_int(peak, alive(start[ZB_V_F0], start[ZB_V_W0], at) + alive(start[ZB_V_F1], start[ZB_V_W1], at));
  }
  return peak;
}

/* ---- The engine ---- */

/* What a job does to its rank. */
typedef struct job_cost {
  int64_t time, keep, release;
} job_cost;

/* One position of the pipeline. */
typedef struct place {
  int slot[ZB_V_PASSES]; /* of the next micro-batch in the repeated block; INT32_MAX: none is left */
  int end[ZB_V_PASSES];  /* the slot behind the last one */
  job_cost cost[ZB_V_PASSES];
  int64_t work, optimizer; /* work: of all jobs */
  int stage[2];
  int next[ZB_V_PASSES]; /* micro-batches */
  int64_t limit, live;
  int64_t clock, first, left; /* end of the last job, start of the first (-1: none yet), work to come */
  int done;
} place;

struct zb_v_engine {
  const zb_model *model;
  const zb_v_rules *rules; /* of this run */
  zb_v_costs costs;
  int ranks, micro_batches;
  bool given_up;            /* a limit was not kept, or the time can no longer be below less_than */
  int warm_end, cool_begin; /* the repeated block is kept as it is between these slots */
  place *places;            /* [ranks] by position */
  uint8_t *passes;          /* [ranks * jobs of a rank] what ran; micro-batches rise, so they need not be kept */
  /* in unit time */
  int32_t *ended;    /* [position * MOVERS + pass] micro-batches whose job has ended */
  int *sources;      /* places in `ended` of what sends to a pass, */
  int *source_begin; /* [ranks * MOVERS + 1] from here to those of the next one */
  int8_t *chosen;    /* [ranks] the pass that a position runs now, -1: none */
  /* in real time */
  int32_t *missing[ZB_LINK_KINDS]; /* [stages * micro_batches] inputs that have not been sent */
  int64_t *ready[ZB_LINK_KINDS];   /* when the last of those that have been sent arrives */
  int64_t *channel;                /* [ranks * ranks] when it is free */
  zb_agenda agenda;                /* of positions */
  int *stack;                      /* [ranks] positions that may go on with an order that is there */
  int stacked;
  bool *is_stacked; /* [ranks] */
};

static zb_status take_arrays(zb_v_engine *e, zb_arena *arena) {
  const int pairs = e->model->problem->stages * e->micro_batches;
  ZB_TAKE(arena, e->places, e->ranks);
  ZB_TAKE(arena, e->passes, e->ranks * ZB_V_PASSES * e->micro_batches);
  if (e->costs == ZB_V_UNIT) {
    ZB_TAKE(arena, e->ended, e->ranks * MOVERS);
    ZB_TAKE(arena, e->sources,
            e->model->link_begin[ZB_F][e->model->problem->stages] +
                e->model->link_begin[ZB_B][e->model->problem->stages] + 1);
    ZB_TAKE(arena, e->source_begin, e->ranks * MOVERS + 1);
    ZB_TAKE(arena, e->chosen, e->ranks);
    return zb_arena_status(arena);
  }
  ZB_TAKE(arena, e->channel, e->ranks * e->ranks);
  ZB_TAKE(arena, e->stack, e->ranks);
  ZB_TAKE(arena, e->is_stacked, e->ranks);
  zb_agenda_take(arena, e->ranks, &e->agenda);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    ZB_TAKE(arena, e->missing[kind], pairs);
    ZB_TAKE(arena, e->ready[kind], pairs);
  }
  return zb_arena_status(arena);
}

static int position_of(const zb_v_engine *e, int stage) { return stage < e->ranks ? stage : 2 * e->ranks - 1 - stage; }

/* Where `ended` and `source_begin` have the F or B of a stage. */
static int mover_of(const zb_v_engine *e, int stage, zb_kind kind) {
  const bool down = stage < e->ranks;
  return position_of(e, stage) * MOVERS + (kind == ZB_F ? (down ? ZB_V_F0 : ZB_V_F1) : down ? ZB_V_B0 : ZB_V_B1);
}

static void fill_sources(zb_v_engine *e) {
  const zb_model *model = e->model;
  const int stages = model->problem->stages;
  int *filled = e->ended; /* which nothing has written yet */
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
    for (int stage = 0; stage < stages; ++stage)
      e->source_begin[mover_of(e, stage, kind) + 1] = model->input_counts[kind][stage];
  for (int at = 0; at < e->ranks * MOVERS; ++at)
    e->source_begin[at + 1] += e->source_begin[at];
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
    for (int stage = 0; stage < stages; ++stage)
      for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
        const int to = mover_of(e, link->stage, kind);
        e->sources[e->source_begin[to] + filled[to]++] = mover_of(e, stage, kind);
      }
}

static void fill_place(const zb_v_engine *e, int position) {
  const zb_problem *p = e->model->problem;
  place *x = &e->places[position];
  x->stage[0] = position;
  x->stage[1] = p->stages - 1 - position;
  for (int pass = 0; pass < ZB_V_PASSES; ++pass) {
    const zb_kind kind = PASS_KIND[pass];
    const zb_stage_cost *cost = &p->costs[x->stage[PASS_CHUNK[pass]]];
    x->cost[pass] = e->costs == ZB_V_UNIT
                        ? (job_cost){1, kind == ZB_F, kind == ZB_W}
                        : (job_cost){cost->time_ps[kind], cost->keep_bytes[kind], cost->free_bytes[kind]};
    x->work += x->cost[pass].time * p->micro_batches;
  }
  if (e->costs == ZB_V_REAL) x->optimizer = e->model->optimizer_ps[p->stage_rank[position]];
}

zb_status zb_v_engine_new(zb_model *model, zb_v_costs costs, zb_v_engine **out) {
  zb_v_engine *e;
  *out = ZB_TAKE(&model->arena, e, 1);
  ZB_TRY(zb_arena_status(&model->arena));
  *e = (zb_v_engine){
      .model = model, .costs = costs, .ranks = model->problem->ranks, .micro_batches = model->problem->micro_batches};
  ZB_TRY(take_arrays(e, &model->arena));
  for (int position = 0; position < e->ranks; ++position)
    fill_place(e, position);
  if (costs == ZB_V_UNIT) fill_sources(e);
  return NULL;
}

static void reset_inputs(zb_v_engine *e) {
  const size_t ranks = (size_t)e->ranks, micro_batches = (size_t)e->micro_batches;
  if (e->costs == ZB_V_UNIT) {
    memset(e->ended, 0, ranks * MOVERS * sizeof *e->ended);
    return;
  }
  memset(e->channel, 0, ranks * ranks * sizeof *e->channel);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    memset(e->ready[kind], 0, 2 * ranks * micro_batches * sizeof *e->ready[kind]);
    for (size_t stage = 0; stage < 2 * ranks; ++stage)
      for (size_t i = 0; i < micro_batches; ++i)
        e->missing[kind][stage * micro_batches + i] = e->model->input_counts[kind][stage];
  }
}

static void reset(zb_v_engine *e, const zb_v_slots *block, const zb_v_rules *rules) {
  reset_inputs(e);
  for (int position = 0; position < e->ranks; ++position) {
    place *x = &e->places[position];
    memcpy(x->slot, block[position].start, sizeof x->slot);
    for (int pass = 0; pass < ZB_V_PASSES; ++pass)
      x->end[pass] = x->slot[pass] + ZB_V_INTERVAL * e->micro_batches;
    memset(x->next, 0, sizeof x->next);
    x->limit = rules->limits ? rules->limits[position] : INT64_MAX;
    x->live = x->clock = 0;
    x->first = -1;
    x->left = x->work;
    x->done = 0;
  }
  e->rules = rules;
  e->given_up = false;
  e->warm_end = block[0].start[ZB_V_B0];
  e->cool_begin = block[0].start[ZB_V_F0] + ZB_V_INTERVAL * (e->micro_batches - 1);
}

static void advance(const place *x, int *slot, int pass) {
  slot[pass] += ZB_V_INTERVAL;
  if (slot[pass] == x->end[pass]) slot[pass] = INT32_MAX;
}

/* The one of passes 0..passes-1 that the block has next; -1: none is left. */
static int first_pass(const int *slot, int passes) {
  int best = -1, least = INT32_MAX;
  for (int pass = 0; pass < passes; ++pass) {
    if (slot[pass] >= least) continue;
    best = pass;
    least = slot[pass];
  }
  return best;
}

/* When the inputs of the next micro-batch of a pass are there; INT64_MAX: not known yet, or none is left. In unit time
 * what is not there now is not known, which no rule tells apart: a slot of time is the least that any gap has. */
static int64_t input_time(const zb_v_engine *e, const place *x, int pass) {
  const int micro_batch = x->next[pass], chunk = PASS_CHUNK[pass];
  const zb_kind kind = PASS_KIND[pass];
  if (micro_batch >= e->micro_batches) return INT64_MAX;
  if (kind == ZB_B && x->next[chunk == 0 ? ZB_V_F0 : ZB_V_F1] <= micro_batch) return INT64_MAX;
  if (e->costs == ZB_V_UNIT) {
    const int *source = &e->source_begin[x->stage[0] * MOVERS + pass];
    for (int i = source[0]; i < source[1]; ++i)
      if (e->ended[e->sources[i]] <= micro_batch) return INT64_MAX;
    return 0;
  }
  const size_t at = (size_t)x->stage[chunk] * (size_t)e->micro_batches + (size_t)micro_batch;
  return e->missing[kind][at] > 0 ? INT64_MAX : e->ready[kind][at];
}

/* The W that is to run next, of those whose B has run; -1: none. */
static int pending_w(const place *x) {
  const bool zero = x->next[ZB_V_W0] < x->next[ZB_V_B0], one = x->next[ZB_V_W1] < x->next[ZB_V_B1];
  if (zero && one) return x->slot[ZB_V_W1] < x->slot[ZB_V_W0] ? ZB_V_W1 : ZB_V_W0;
  return zero ? ZB_V_W0 : one ? ZB_V_W1 : -1;
}

/* Whether a pass may run before all that the block has first: that must still fit behind it. */
static bool fits_early(const place *x, int early) {
  if (x->limit == INT64_MAX) return true;
  const int reached = x->slot[early];
  int slot[ZB_V_PASSES];
  memcpy(slot, x->slot, sizeof slot);
  int64_t live = x->live;
  int pass = early;
  do {
    live += x->cost[pass].keep;
    if (live > x->limit) return false;
    live -= x->cost[pass].release;
    advance(x, slot, pass);
    pass = first_pass(slot, ZB_V_PASSES);
  } while (pass >= 0 && slot[pass] < reached);
  return true;
}

/* Whether one more F of chunk 0 would take the room of F of chunk 1 that come before the first B. That are as many as
 * there are ranks from here to the end of the pipeline on rank 0, until they take half of the memory. */
static bool crowds(const zb_v_engine *e, const place *x) {
  if (!e->rules->reserve || x->limit == INT64_MAX || x->next[ZB_V_F0] == 0 || x->next[ZB_V_B1] > 0) return false;
  const int64_t zero = x->cost[ZB_V_F0].keep - x->cost[ZB_V_F0].release;
  const int64_t one = x->cost[ZB_V_F1].keep - x->cost[ZB_V_F1].release;
  if (zero + one <= 0) return false;
  int64_t coming = zb_min_int(x->stage[0] + 1, e->micro_batches);
  if (coming > x->limit / (zero + one)) coming = x->limit / (zero + one);
  coming -= x->next[ZB_V_F1];
  return x->live + zero + (coming > 0 ? coming : 0) * one > x->limit;
}

/* The position of a stage whose input has become known: it may decide when that is there, or go on with its order. */
static void wake(zb_v_engine *e, int position, int64_t input) {
  const place *x = &e->places[position];
  const int64_t earliest = zb_max64(input, x->clock);
  if (!e->rules->follow) {
    if (earliest < e->agenda.due[position]) zb_agenda_set(&e->agenda, position, earliest);
  } else if (!e->is_stacked[position]) {
    e->is_stacked[position] = true;
    e->stack[e->stacked++] = position;
  }
}

static void deliver(zb_v_engine *e, int stage, zb_kind kind, int micro_batch, int64_t end) {
  const zb_model *model = e->model;
  for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
    const int64_t arrival = zb_link_send(link, e->channel, end);
    const size_t to = (size_t)link->stage * (size_t)e->micro_batches + (size_t)micro_batch;
    if (arrival > e->ready[kind][to]) e->ready[kind][to] = arrival;
    if (--e->missing[kind][to] == 0) wake(e, position_of(e, link->stage), e->ready[kind][to]);
  }
}

/* What a position has run, in order. */
static uint8_t *passes_of(const zb_v_engine *e, int position) {
  return &e->passes[(size_t)position * ZB_V_PASSES * (size_t)e->micro_batches];
}

/* The least that a position can still end with. */
static int64_t least_end(const zb_v_engine *e, const place *x) {
  const bool stage_metric = e->model->problem->metric == ZB_METRIC_STAGE;
  return x->clock + x->left + x->optimizer - (stage_metric && x->first > 0 ? x->first : 0);
}

/* Runs the next job of a pass; its micro-batch. */
static int run_pass(zb_v_engine *e, int position, int pass, int64_t now) {
  place *x = &e->places[position];
  const job_cost *cost = &x->cost[pass];
  advance(x, x->slot, pass);
  passes_of(e, position)[x->done++] = (uint8_t)pass;
  if (x->first < 0) x->first = now;
  x->clock = now + cost->time;
  x->left -= cost->time;
  x->live += cost->keep;
  e->given_up |= x->live > x->limit || least_end(e, x) >= e->rules->less_than;
  x->live -= cost->release;
  return x->next[pass]++;
}

/* ---- Decisions ---- */

/* A job fills a gap if half of it fits: the one that is due is delayed by the other half at most. */
static bool fills(const place *x, int pass, int64_t gap) { return gap == INT64_MAX || 2 * gap >= x->cost[pass].time; }

/* The pass that may run before the one that is due, the first that the block has; -1: none. *next: when one more may.
 */
static int early_pass(const zb_v_engine *e, const place *x, int due, int64_t now, int64_t gap, int64_t *next) {
  const bool crowded = crowds(e, x);
  int best = -1, slot = INT32_MAX;
  for (int pass = 0; pass < MOVERS; ++pass) {
    if (pass == due || (pass == ZB_V_F0 && crowded)) continue;
    const int64_t input = input_time(e, x, pass);
    if (input > now) {
      if (input < *next) *next = input;
      continue;
    }
    const int at = x->slot[pass];
    const bool middle = at >= e->warm_end && at < e->cool_begin;
    if (at >= slot || (middle && !crowded && !e->rules->all_early) || !fills(x, pass, gap)) continue;
    const bool frees = x->cost[pass].keep <= x->cost[pass].release && x->live + x->cost[pass].keep <= x->limit;
    if (!frees && !fits_early(x, pass)) continue;
    best = pass;
    slot = at;
  }
  return best;
}

/* The F or B that is to run next; -1: none is left. */
static int due_pass(const zb_v_engine *e, const place *x, int64_t now) {
  const int due = first_pass(x->slot, MOVERS);
  if (due == ZB_V_F0 && crowds(e, x)) return ZB_V_F1 + first_pass(x->slot + ZB_V_F1, MOVERS - ZB_V_F1);
  const bool cool = due == ZB_V_B0 && x->next[ZB_V_F1] >= e->micro_batches;
  return cool && e->rules->b1_first && input_time(e, x, ZB_V_B1) <= now ? ZB_V_B1 : due;
}

/* The pass that a position runs now; -1: none before *next, as far as is known. */
static int decide(const zb_v_engine *e, const place *x, int64_t now, int64_t *next) {
  const int due = due_pass(e, x, now), w = pending_w(x);
  *next = INT64_MAX;
  if (due < 0) return w;
  if (w >= 0 && x->next[e->rules->keep_w] < e->micro_batches && x->slot[w] < x->slot[due]) return w;
  const int64_t input = input_time(e, x, due);
  if (input <= now) return w >= 0 && x->live + x->cost[due].keep > x->limit ? w : due;
  const int64_t gap = input == INT64_MAX ? INT64_MAX : input - now;
  *next = input;
  const int early = early_pass(e, x, due, now, gap, next);
  return w >= 0 && fills(x, w, gap) && (early < 0 || e->rules->w_first) ? w : early;
}

/* ---- Runs ---- */

/* In unit time: what runs in a slot of time ends with it, on all ranks. Nothing starts in one only if nothing can. */
static void run_units(zb_v_engine *e) {
  bool moved = true;
  for (int64_t now = 0; moved && !e->given_up; ++now) {
    int64_t next;
    moved = false;
    for (int position = 0; position < e->ranks; ++position) {
      const int pass = decide(e, &e->places[position], now, &next);
      e->chosen[position] = (int8_t)pass;
      if (pass < 0) continue;
      moved = true;
      run_pass(e, position, pass, now);
    }
    for (int position = 0; position < e->ranks; ++position)
      if (e->chosen[position] >= 0 && e->chosen[position] < MOVERS) ++e->ended[position * MOVERS + e->chosen[position]];
  }
}

/* A job in real time: what waits for it learns when it ends. */
static void run_job(zb_v_engine *e, int position, int pass, int64_t now) {
  const place *x = &e->places[position];
  const int micro_batch = run_pass(e, position, pass, now);
  if (PASS_KIND[pass] != ZB_W) deliver(e, x->stage[PASS_CHUNK[pass]], PASS_KIND[pass], micro_batch, x->clock);
}

static void run_events(zb_v_engine *e) {
  memset(e->agenda.due, 0, (size_t)e->ranks * sizeof *e->agenda.due);
  zb_agenda_start(&e->agenda);
  while (!e->given_up) {
    const int position = e->agenda.first[1];
    const int64_t now = e->agenda.due[position];
    int64_t next;
    if (now == INT64_MAX) return;
    const int pass = decide(e, &e->places[position], now, &next);
    if (pass < 0) {
      zb_agenda_set(&e->agenda, position, next);
      continue;
    }
    zb_agenda_set(&e->agenda, position, now + e->places[position].cost[pass].time);
    run_job(e, position, pass, now);
  }
}

/* The order of another engine, as far as a position can go. */
static void follow(zb_v_engine *e, int position) {
  place *x = &e->places[position];
  const uint8_t *passes = passes_of(e->rules->follow, position);
  while (x->done < ZB_V_PASSES * e->micro_batches && !e->given_up) {
    const int pass = passes[x->done];
    const int64_t input = PASS_KIND[pass] == ZB_W ? 0 : input_time(e, x, pass);
    if (input == INT64_MAX) return;
    run_job(e, position, pass, zb_max64(input, x->clock));
  }
}

/* Times depend on no order of visits: the sender's list alone decides what a channel carries. */
static void follow_all(zb_v_engine *e) {
  e->stacked = 0;
  for (int position = e->ranks - 1; position >= 0; --position) {
    e->stack[e->stacked++] = position;
    e->is_stacked[position] = true;
  }
  while (e->stacked > 0 && !e->given_up) {
    const int position = e->stack[--e->stacked];
    e->is_stacked[position] = false;
    follow(e, position);
  }
}

int64_t zb_v_engine_run(zb_v_engine *e, const zb_v_slots *block, const zb_v_rules *rules, int64_t *jobs) {
  reset(e, block, rules);
  (rules->follow ? follow_all : e->costs == ZB_V_UNIT ? run_units : run_events)(e);
  int64_t time = 0;
  for (int position = 0; position < e->ranks; ++position) {
    const place *x = &e->places[position];
    time = zb_max64(time, least_end(e, x));
    *jobs += x->done;
    e->given_up |= x->done < ZB_V_PASSES * e->micro_batches;
  }
  return e->given_up ? rules->less_than : time;
}

zb_status zb_v_engine_emit(const zb_v_engine *e, zb_order *out) {
  for (int position = 0; position < e->ranks; ++position) {
    const place *x = &e->places[position];
    const uint8_t *passes = passes_of(e, position);
    int next[ZB_V_PASSES] = {0};
    for (int i = 0; i < x->done; ++i)
      ZB_TRY(zb_order_add(out, e->model->problem->stage_rank[position], x->stage[PASS_CHUNK[passes[i]]],
                          PASS_KIND[passes[i]], next[passes[i]]++));
  }
  return NULL;
}

/* ---- V-Min, V-Half, V-ZB ---- */

zb_status zb_v_block_emit(const zb_v_legs *legs, const zb_v_rules *manner, const zb_problem *problem, zb_order *out) {
  zb_model model;
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  zb_v_engine *engine;
  zb_v_slots *block;
  int64_t *limits;
  ZB_TAKE(&model.arena, block, problem->ranks);
  ZB_TAKE(&model.arena, limits, problem->ranks);
  ZB_TRY_GOTO(zb_arena_status(&model.arena));
  if (!zb_v_block_fill(problem->ranks, legs, block))
    ZB_TRY_GOTO(ZB_ERROR(INVALID, "the passes of a building block meet on %d ranks", problem->ranks));
  for (int i = 0; i < problem->ranks; ++i)
    limits[i] = zb_v_block_peak(problem->ranks, block);
  ZB_TRY_GOTO(zb_v_engine_new(&model, ZB_V_UNIT, &engine));
  zb_v_rules rules = *manner;
  rules.limits = limits;
  rules.less_than = INT64_MAX;
  int64_t jobs = 0;
  if (zb_v_engine_run(engine, block, &rules, &jobs) == INT64_MAX && rules.reserve) {
    rules.reserve = false; /* which always ends */
    zb_v_engine_run(engine, block, &rules, &jobs);
  }
  ZB_TRY_GOTO(zb_v_engine_emit(engine, out));
cleanup:
  zb_model_deinit(&model);
  return status;
}
