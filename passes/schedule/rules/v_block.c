/* The engine of v_block.h: a simulation in which every rank decides what to run next.
 *
 * Decisions are taken in the order of time, so that at each one all that runs anywhere at that time is known, and with
 * it when its messages arrive. O(jobs * log ranks), and for each job that is run early what the block has in between.
 * Tests: test/passes/schedule/v_schedules_test.c.
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
  bool over;                       /* a limit was not kept */
  int warm_end, cool_begin;        /* the repeated block is kept as it is between these slots */
  place *places;                   /* [ranks] by position */
  int *position;                   /* [ranks] of a rank */
  uint8_t *passes;                 /* [ranks * jobs of a rank] what ran; micro-batches rise, so they need not be kept */
  int32_t *missing[ZB_LINK_KINDS]; /* [stages * micro_batches] inputs that have not been sent */
  int64_t *ready[ZB_LINK_KINDS];   /* when the last of those that have been sent arrives */
  int64_t *channel;                /* [ranks * ranks] when it is free */
  zb_agenda agenda;                /* of positions */
};

static zb_status take_arrays(zb_v_engine *e, zb_arena *arena) {
  const int pairs = e->model->problem->stages * e->micro_batches;
  ZB_TAKE(arena, e->places, e->ranks);
  ZB_TAKE(arena, e->position, e->ranks);
  ZB_TAKE(arena, e->passes, e->ranks * ZB_V_PASSES * e->micro_batches);
  ZB_TAKE(arena, e->channel, e->ranks * e->ranks);
  zb_agenda_take(arena, e->ranks, &e->agenda);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    ZB_TAKE(arena, e->missing[kind], pairs);
    ZB_TAKE(arena, e->ready[kind], pairs);
  }
  return zb_arena_status(arena);
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
  e->position[p->stage_rank[position]] = position;
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
  return NULL;
}

static void reset(zb_v_engine *e, const zb_v_slots *block, const zb_v_rules *rules) {
  const size_t ranks = (size_t)e->ranks, micro_batches = (size_t)e->micro_batches;
  memset(e->channel, 0, ranks * ranks * sizeof *e->channel);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    memset(e->ready[kind], 0, 2 * ranks * micro_batches * sizeof *e->ready[kind]);
    for (size_t stage = 0; stage < 2 * ranks; ++stage)
      for (size_t i = 0; i < micro_batches; ++i)
        e->missing[kind][stage * micro_batches + i] = e->model->input_counts[kind][stage];
  }
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
  e->over = false;
  e->warm_end = block[0].start[ZB_V_B0];
  e->cool_begin = block[0].start[ZB_V_F0] + ZB_V_INTERVAL * (e->micro_batches - 1);
  memset(e->agenda.due, 0, ranks * sizeof *e->agenda.due);
  zb_agenda_start(&e->agenda);
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

/* When the inputs of the next micro-batch of a pass are there; INT64_MAX: not known yet, or none is left. */
static int64_t input_time(const zb_v_engine *e, const place *x, int pass) {
  const int micro_batch = x->next[pass], chunk = PASS_CHUNK[pass];
  const zb_kind kind = PASS_KIND[pass];
  if (micro_batch >= e->micro_batches) return INT64_MAX;
  const size_t at = (size_t)x->stage[chunk] * (size_t)e->micro_batches + (size_t)micro_batch;
  if (e->missing[kind][at] > 0) return INT64_MAX;
  if (kind == ZB_B && x->next[chunk == 0 ? ZB_V_F0 : ZB_V_F1] <= micro_batch) return INT64_MAX;
  return e->ready[kind][at];
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

static void deliver(zb_v_engine *e, int stage, zb_kind kind, int micro_batch, int64_t end) {
  const zb_model *model = e->model;
  for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
    int64_t arrival = end;
    if (link->channel >= 0 && e->costs == ZB_V_REAL) {
      int64_t *free_at = &e->channel[link->channel];
      arrival = *free_at = (*free_at > end ? *free_at : end) + link->time_ps;
    }
    const size_t to = (size_t)link->stage * (size_t)e->micro_batches + (size_t)micro_batch;
    if (arrival > e->ready[kind][to]) e->ready[kind][to] = arrival;
    if (--e->missing[kind][to] > 0) continue;
    const int position = e->position[model->problem->stage_rank[link->stage]];
    const int64_t clock = e->places[position].clock, ready = e->ready[kind][to];
    const int64_t earliest = ready > clock ? ready : clock;
    if (earliest < e->agenda.due[position]) zb_agenda_set(&e->agenda, position, earliest);
  }
}

/* What a position has run, in order. */
static uint8_t *passes_of(const zb_v_engine *e, int position) {
  return &e->passes[(size_t)position * ZB_V_PASSES * (size_t)e->micro_batches];
}

static void run_pass(zb_v_engine *e, int position, int pass, int64_t now) {
  place *x = &e->places[position];
  const job_cost *cost = &x->cost[pass];
  const zb_kind kind = PASS_KIND[pass];
  const int micro_batch = x->next[pass]++;
  advance(x, x->slot, pass);
  passes_of(e, position)[x->done++] = (uint8_t)pass;
  if (x->first < 0) x->first = now;
  x->clock = now + cost->time;
  x->left -= cost->time;
  x->live += cost->keep;
  e->over = e->over || x->live > x->limit;
  x->live -= cost->release;
  zb_agenda_set(&e->agenda, position, x->clock);
  if (kind != ZB_W) deliver(e, x->stage[PASS_CHUNK[pass]], kind, micro_batch, x->clock);
}

/* A job fills a gap if half of it fits: the one that is due is delayed by the other half at most. */
static bool fills(const place *x, int pass, int64_t gap) { return gap == INT64_MAX || 2 * gap >= x->cost[pass].time; }

/* The pass that may run before the one that is due, the first that the block has; -1: none. *wake: when one more may.
 */
static int early_pass(const zb_v_engine *e, const place *x, int due, int64_t now, int64_t gap, int64_t *wake) {
  const bool crowded = crowds(e, x);
  int best = -1, slot = INT32_MAX;
  for (int pass = 0; pass < MOVERS; ++pass) {
    if (pass == due || (pass == ZB_V_F0 && crowded)) continue;
    const int64_t input = input_time(e, x, pass);
    if (input > now) {
      if (input < *wake) *wake = input;
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

/* What runs while the pass that is due waits until `until`; nothing: sleeps until the next input that is known. */
static void fill_gap(zb_v_engine *e, int position, int due, int w, int64_t now, int64_t until) {
  const place *x = &e->places[position];
  const int64_t gap = until == INT64_MAX ? INT64_MAX : until - now;
  int64_t wake = until;
  int pass = early_pass(e, x, due, now, gap, &wake);
  if (w >= 0 && fills(x, w, gap) && (pass < 0 || e->rules->w_first)) pass = w;
  if (pass >= 0)
    run_pass(e, position, pass, now);
  else
    zb_agenda_set(&e->agenda, position, wake);
}

/* The F or B that is to run next; -1: none is left. */
static int due_pass(const zb_v_engine *e, const place *x, int64_t now) {
  const int due = first_pass(x->slot, MOVERS);
  if (due == ZB_V_F0 && crowds(e, x)) return ZB_V_F1 + first_pass(x->slot + ZB_V_F1, MOVERS - ZB_V_F1);
  const bool cool = due == ZB_V_B0 && x->next[ZB_V_F1] >= e->micro_batches;
  return cool && e->rules->b1_first && input_time(e, x, ZB_V_B1) <= now ? ZB_V_B1 : due;
}

static void decide(zb_v_engine *e, int position, int64_t now) {
  const place *x = &e->places[position];
  const int due = due_pass(e, x, now), w = pending_w(x);
  if (due < 0) {
    if (w >= 0)
      run_pass(e, position, w, now);
    else
      zb_agenda_set(&e->agenda, position, INT64_MAX);
    return;
  }
  const bool w_due = w >= 0 && x->next[e->rules->keep_w] < e->micro_batches && x->slot[w] < x->slot[due];
  const int64_t input = input_time(e, x, due);
  if (w_due || (w >= 0 && input <= now && x->live + x->cost[due].keep > x->limit))
    run_pass(e, position, w, now);
  else if (input > now)
    fill_gap(e, position, due, w, now, input);
  else
    run_pass(e, position, due, now);
}

/* The same with an order that is given. */
static void follow(zb_v_engine *e, int position, int64_t now) {
  const place *x = &e->places[position];
  if (x->done == ZB_V_PASSES * e->micro_batches) {
    zb_agenda_set(&e->agenda, position, INT64_MAX);
    return;
  }
  const int pass = passes_of(e->rules->follow, position)[x->done];
  const int64_t input = PASS_KIND[pass] == ZB_W ? now : input_time(e, x, pass);
  if (input > now)
    zb_agenda_set(&e->agenda, position, input);
  else
    run_pass(e, position, pass, now);
}

/* The least that a position can still end with. */
static int64_t least_end(const zb_v_engine *e, const place *x) {
  const bool stage_metric = e->model->problem->metric == ZB_METRIC_STAGE;
  return x->clock + x->left + x->optimizer - (stage_metric && x->first > 0 ? x->first : 0);
}

int64_t zb_v_engine_run(zb_v_engine *e, const zb_v_slots *block, const zb_v_rules *rules, int64_t *jobs) {
  reset(e, block, rules);
  bool given_up = false;
  while (!given_up) {
    const int position = e->agenda.first[1];
    const int64_t now = e->agenda.due[position];
    if (now == INT64_MAX) break;
    (rules->follow ? follow : decide)(e, position, now);
    given_up = e->over || least_end(e, &e->places[position]) >= rules->less_than;
  }
  int64_t time = 0;
  for (int position = 0; position < e->ranks; ++position) {
    const place *x = &e->places[position];
    const int64_t end = least_end(e, x);
    if (end > time) time = end;
    *jobs += x->done;
    given_up = given_up || x->done < ZB_V_PASSES * e->micro_batches;
  }
  return given_up ? rules->less_than : time;
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
