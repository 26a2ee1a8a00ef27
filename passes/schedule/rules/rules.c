/* Rules to build orders by. Tests: test/passes/schedule/search_test.c. */
#include "passes/schedule/rules/rules.h"

#include <limits.h>

static void fill_priority(const zb_scheduler *w, int class, int64_t urgency, int64_t *priority) {
  for (int i = 0; i < w->micro_batches; ++i)
    priority[zb_class_job(w, class, i)] = urgency * (INT64_C(1) << 32) + i;
}

zb_status zb_priority_rules_init(zb_scheduler *w, zb_priority_rules *out) {
  *out = (zb_priority_rules){.scheduler = w};
  for (int i = 0; i < 3; ++i)
    ZB_TAKE(w->arena, out->priority[i], w->jobs);
  ZB_TAKE(w->arena, out->cap, w->stages);
  ZB_TAKE(w->arena, out->urgency, 2 * w->chunks);
  ZB_TRY(zb_arena_status(w->arena));
  /* B before F before W; F of a later chunk first: what is further on its way frees memory sooner. */
  for (int late = 0; late < 2; ++late)
    for (int class = 0; class < w->classes; ++class) {
      const int kind = class % ZB_KIND_COUNT, chunk = w->model->stage_chunk[class / ZB_KIND_COUNT];
      const int behind = w->chunks - chunk;
      fill_priority(w, class,
                    kind == ZB_F   ? behind
                    : kind == ZB_B ? (late && chunk == 0 ? w->chunks + 1 : 0)
                                   : w->chunks + 2,
                    out->priority[late]);
    }
  return NULL;
}

/* Shuffles F and B of the chunks. */
static const int64_t *draw_priority(zb_priority_rules *rules, uint64_t order) {
  const zb_scheduler *w = rules->scheduler;
  if (rules->drawn == order) return rules->priority[2];
  rules->drawn = order;
  uint64_t random = order;
  for (int i = 0; i < 2 * w->chunks; ++i) {
    const int at = zb_random_below(&random, i + 1);
    rules->urgency[i] = rules->urgency[at];
    rules->urgency[at] = i;
  }
  for (int class = 0; class < w->classes; ++class) {
    const int kind = class % ZB_KIND_COUNT, chunk = w->model->stage_chunk[class / ZB_KIND_COUNT];
    fill_priority(w, class, kind == ZB_W ? 2 * w->chunks : rules->urgency[2 * chunk + (kind == ZB_B)],
                  rules->priority[2]);
  }
  return rules->priority[2];
}

/* Caps that fall by slope from stage to stage and together fill the memory of the fullest rank. The time that a
 * micro-batch takes from a stage to the next one, and so the slope, falls with the chunks. */
static void fill_caps(zb_priority_rules *rules, const zb_rule_numbers *numbers, const int64_t *limit) {
  const zb_scheduler *w = rules->scheduler;
  const double slope = numbers->slope / 4.0 / (w->chunks > 2 ? w->chunks : 1);
  double least = 1e9;
  for (int rank = 0; rank < w->ranks; ++rank) {
    double one = 0, sloped = 0;
    for (int k = 0; k < w->chunks; ++k) {
      const int stage = w->model->rank_stages[rank * w->chunks + k];
      one += (double)w->hold[stage];
      sloped += (double)w->hold[stage] * slope * (w->stages - 1 - stage);
    }
    if (one <= 0) continue;
    const double most = ((double)(limit[rank] - w->base[rank]) - sloped) / one;
    if (most < least) least = most;
  }
  for (int stage = 0; stage < w->stages; ++stage) {
    const double cap = least + numbers->shift / 2.0 + slope * (w->stages - 1 - stage) + 0.5;
    rules->cap[stage] = cap < 1 ? 1 : cap > w->micro_batches ? w->micro_batches : (int)cap;
  }
}

zb_build_rule zb_rule_make(zb_priority_rules *rules, const zb_rule_numbers *numbers, const int64_t *limit) {
  if (numbers->slope) fill_caps(rules, numbers, limit);
  return (zb_build_rule){.priority = numbers->order < 2 ? rules->priority[numbers->order]
                                                        : draw_priority(rules, numbers->order),
                         .limit = limit,
                         .cap = numbers->slope ? rules->cap : NULL,
                         .patience = numbers->patience,
                         .extra = numbers->extra,
                         .idle = numbers->idle_ps,
                         .share_idle = numbers->share_idle,
                         .count_start = rules->scheduler->model->problem->metric == ZB_METRIC_BARRIER};
}

zb_rule_numbers zb_rule_fixed(int index, int64_t idle_ps, int64_t work_ps) {
  static const struct {
    int8_t late_b, slope, shift;
    int16_t patience;
    int8_t idle_share; /* -1: none; else the idle time of the bound and this many 1/400 of the work */
  } rows[ZB_RULES_FIXED] = {{1, 4, -1, 0, 0},  {1, 7, 2, 0, 0}, {0, 8, -1, 0, 0}, {1, 9, 0, 0, 0},
                            {1, 5, -1, 64, 2}, {1, 8, 1, 0, 0}, {0, 2, -1, 0, 0}, {0, 1, 4, 64, -1}};
  const int share = rows[index].idle_share;
  return (zb_rule_numbers){.extra = -1,
                           .order = (uint64_t)rows[index].late_b,
                           .slope = rows[index].slope,
                           .shift = rows[index].shift,
                           .patience = rows[index].patience,
                           .idle_ps = share < 0 ? -1 : idle_ps + work_ps / 400 * share};
}

/* ---- Least memory ---- */

/* Chunks up to this are ordered by all ways to place their W; 2 CHUNKS + 1 steps of the chain x sets of W that ran. */
enum { EXACT_CHUNKS = 6, EXACT_STATES = (2 * EXACT_CHUNKS + 1) << EXACT_CHUNKS, EXACT_JOBS = 3 * EXACT_CHUNKS };

/* Job number `step` of the chain of one micro-batch on a rank: F of all chunks, then B of all chunks backwards. */
static int chain_job(int chunks, int step) {
  return step < chunks ? step * ZB_KIND_COUNT + ZB_F : (2 * chunks - 1 - step) * ZB_KIND_COUNT + ZB_B;
}

/* One micro-batch alone on a rank: where its W stand so that the peak is least. A shortest path over (steps of the
 * chain, set of W that ran), where a path is as long as its peak. jobs gets chunk * kinds + kind. */
static void place_w(const zb_scheduler *w, int rank, int jobs[EXACT_JOBS]) {
  const zb_direction *d = &w->forwards;
  const int *stages = &w->model->rank_stages[rank * w->chunks], chunks = w->chunks;
  int64_t peak[EXACT_STATES], live[EXACT_STATES];
  int8_t last[EXACT_STATES]; /* the job that led here: a chunk whose W it is, or -1: the chain */
  const int full = (1 << chunks) - 1, end = 2 * chunks << chunks | full;
  for (int state = 0; state <= end; ++state)
    peak[state] = INT64_MAX;
  peak[0] = live[0] = w->base[rank];
  for (int state = 0; state < end; ++state) {
    const int step = state >> chunks, set = state & full;
    if (peak[state] == INT64_MAX) continue;
    for (int k = chunks - 1; k >= -1; --k) {
      if (k < 0 ? step == 2 * chunks : (set >> k & 1) || step < 2 * chunks - k) continue;
      const int job = k < 0 ? chain_job(chunks, step) : k * ZB_KIND_COUNT + ZB_W;
      const int class = stages[job / ZB_KIND_COUNT] * ZB_KIND_COUNT + job % ZB_KIND_COUNT;
      const int next = k < 0 ? state + (1 << chunks) : state | 1 << k;
      const int64_t top = live[state] + d->keep[class], most = top > peak[state] ? top : peak[state];
      live[next] = top - d->release[class];
      if (most >= peak[next]) continue;
      peak[next] = most;
      last[next] = (int8_t)k;
    }
  }
  for (int state = end, i = 3 * chunks - 1; i >= 0; --i) {
    const int k = last[state];
    state = k < 0 ? state - (1 << chunks) : state & ~(1 << k);
    jobs[i] = k < 0 ? chain_job(chunks, state >> chunks) : k * ZB_KIND_COUNT + ZB_W;
  }
}

/* The same with W right behind B. */
static int early_job(int chunks, int index) {
  if (index < chunks) return chain_job(chunks, index);
  const int back = index - chunks, b = chain_job(chunks, chunks + back / 2);
  return back % 2 ? b - ZB_B + ZB_W : b;
}

void zb_sequence_least(const zb_scheduler *w, zb_slot *sequence, int64_t *peak) {
  for (int rank = 0; rank < w->ranks; ++rank) {
    zb_slot *slots = &sequence[zb_rank_begin(w, rank)];
    const int *stages = &w->model->rank_stages[rank * w->chunks];
    int exact[EXACT_JOBS];
    const bool is_exact = !w->whole && w->chunks <= EXACT_CHUNKS;
    if (is_exact) place_w(w, rank, exact);
    for (int i = 0; i < w->micro_batches; ++i)
      for (int j = 0; j < 3 * w->chunks; ++j) {
        const int job = is_exact ? exact[j] : early_job(w->chunks, j);
        *slots++ = (zb_slot){stages[job / ZB_KIND_COUNT] * ZB_KIND_COUNT + job % ZB_KIND_COUNT, i};
      }
  }
  zb_sequence_peaks(w, sequence, peak);
}

static bool sends_to(const zb_model *model, zb_kind kind, int from, int to) {
  const zb_link *end = zb_links(model, kind, from + 1);
  for (const zb_link *link = zb_links(model, kind, from); link < end; ++link)
    if (link->stage == to) return true;
  return false;
}

/* Every stage waits for the one before it, forwards and backwards: so one micro-batch has one order but for its W. */
static bool is_chain(const zb_model *model, int stages) {
  for (int s = 0; s + 1 < stages; ++s)
    if (!sends_to(model, ZB_F, s, s + 1) || !sends_to(model, ZB_B, s + 1, s)) return false;
  return true;
}

/* F, B and W of one stage and micro-batch. */
static int64_t stage_peak(const zb_direction *d, int stage) {
  int64_t live = 0, peak = 0;
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
    const int class = stage * ZB_KIND_COUNT + kind;
    live += d->keep[class];
    if (live > peak) peak = live;
    live -= d->release[class];
  }
  return peak;
}

void zb_least_bytes(const zb_scheduler *w, zb_slot *sequence, int64_t *least) {
  const bool is_exact = w->whole || w->chunks <= EXACT_CHUNKS;
  zb_sequence_least(w, sequence, least);
  if (is_exact && is_chain(w->model, w->stages)) return;
  for (int rank = 0; rank < w->ranks; ++rank) {
    int64_t most = 0;
    for (int k = 0; k < w->chunks; ++k) {
      const int64_t peak = stage_peak(&w->forwards, w->model->rank_stages[rank * w->chunks + k]);
      if (peak > most) most = peak;
    }
    least[rank] = w->base[rank] + most;
  }
}

/* ---- Levels ---- */

int64_t zb_level_most(const zb_scheduler *w) {
  int64_t most = 1;
  for (int rank = 0; rank < w->ranks; ++rank) {
    int64_t bytes = w->base[rank];
    for (int k = 0; k < w->chunks; ++k)
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
        bytes += w->micro_batches * w->forwards.keep[zb_class_at(w, rank, k, kind)];
    if (bytes > most) most = bytes;
  }
  return most;
}

void zb_level_rank_limits(const zb_scheduler *w, int64_t *limits) {
  const int64_t most = zb_level_most(w);
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t limit = zb_rank_limit(w->model->problem, rank);
    limits[rank] = limit == 0 || limit > most ? most : limit;
  }
}

bool zb_is_placed_as_v(const zb_problem *problem) {
  const int *rank = problem->stage_rank;
  bool is_v = problem->stages == 2 * problem->ranks;
  for (int i = 0; i < problem->ranks && is_v; ++i)
    is_v = rank[i] == rank[2 * problem->ranks - 1 - i];
  return is_v;
}

/* A share of what 1F1B needs. */
typedef struct share {
  int64_t part, of;
} share;

/* The level after one, in sixteenths: 2, 4, ... 32, 40, 48, 64, 80, ... */
static int64_t next_sixteenths(const zb_scheduler *w, int64_t part) {
  if (w->jobs > ZB_JOBS_LARGE) return part < 24 ? part + 4 : part < 32 ? 32 : 2 * part;
  if (w->chunks > 1 && w->jobs > ZB_JOBS_SMALL && !zb_is_placed_as_v(w->model->problem) && part < 32) return part + 4;
  if (part < 32) return part + 2;
  int64_t double_of = 32;
  while (2 * double_of <= part)
    double_of *= 2;
  return part == double_of ? part + part / 4 : part == double_of + double_of / 4 ? part + double_of / 4 : 2 * double_of;
}

/* Whether levels count chunks that are held, up to the memory of 1F1B: a sixteenth of them at once; how many levels
 * these are. */
static bool counts_chunks(const zb_scheduler *w, int *steps, int *step) {
  const int all = w->chunks * w->ranks;
  *step = all < 16 ? 1 : all / 16;
  *steps = (all + *step - 1) / *step;
  return w->chunks > 1 && (w->jobs <= ZB_JOBS_LARGE || !zb_is_placed_as_v(w->model->problem));
}

/* How many of the lowest levels have one half way below them: those up to three quarters of what 1F1B needs. Above,
 * none of the schedules gains by it. */
static int levels_with_half(const zb_scheduler *w) {
  int steps, step;
  return counts_chunks(w, &steps, &step) && zb_is_placed_as_v(w->model->problem) ? 3 * steps / 4 : 0;
}

int zb_level_below(const zb_scheduler *w, int level, bool coarse) {
  int steps, step;
  return coarse && counts_chunks(w, &steps, &step) && level <= steps && level % 2 == 0 ? level - 2 : level - 1;
}

bool zb_level_is_half(const zb_scheduler *w, int level) { return level % 2 == 1 && level < 2 * levels_with_half(w); }

static share share_of(const zb_scheduler *w, int level) {
  share x = {0, 16};
  int steps, step;
  if (counts_chunks(w, &steps, &step)) {
    const int most = w->chunks * w->ranks;
    if (level <= steps) return (share){level == steps ? most : level * step, most};
    level -= steps;
    x.part = 16;
  }
  for (int i = 0; i < level && x.part < INT64_MAX / 4; ++i)
    x.part = next_sixteenths(w, x.part);
  return x;
}

/* What one micro-batch keeps on the rank where that is most. */
static int64_t largest_unit(const zb_scheduler *w) {
  int64_t unit = 0;
  for (int rank = 0; rank < w->ranks; ++rank)
    unit = zb_max64(unit, w->one_each[rank] - w->base[rank]);
  return unit;
}

int64_t zb_level_of_1f1b(const zb_scheduler *w) {
  const int64_t unit = largest_unit(w), most = zb_level_most(w);
  return unit > most / w->ranks ? most : zb_most_of(w->base, w->ranks, 0) + unit * w->ranks;
}

static int64_t whole_level_bytes(const zb_scheduler *w, int level) {
  const int64_t most = zb_level_most(w);
  const int64_t unit = largest_unit(w);
  const int64_t base = zb_most_of(w->base, w->ranks, 0);
  if (unit == 0) return most; /* a micro-batch alone takes nothing: there is one level */
  const share x = share_of(w, level);
  const double about = (double)base + (double)unit * w->ranks * ((double)x.part / (double)x.of);
  if (about > 1.01 * (double)most || (double)unit * w->ranks > 4e18) return most;
  const int64_t all = unit * w->ranks, bytes = base + all / x.of * x.part + all % x.of * x.part / x.of;
  return bytes < most ? bytes : most;
}

int64_t zb_level_bytes(const zb_scheduler *w, int level) {
  const int halves = levels_with_half(w);
  if (level >= 2 * halves) return whole_level_bytes(w, level - halves);
  const int64_t below = whole_level_bytes(w, level / 2);
  return level % 2 == 0 ? below : below + (whole_level_bytes(w, level / 2 + 1) - below) / 2;
}

int zb_level_within(const zb_scheduler *w, int64_t limit) {
  const int64_t most = zb_level_most(w);
  int level = 0;
  while (limit == 0 || zb_level_bytes(w, level + 1) <= limit) {
    ++level;
    if (zb_level_bytes(w, level) == most) break;
  }
  return level;
}

int64_t zb_level_above(const zb_scheduler *w, int64_t bytes) {
  const int level = zb_level_within(w, bytes);
  const int64_t below = level > 0 ? zb_level_bytes(w, level) : 0;
  return below == bytes || below == zb_level_most(w) ? below : zb_level_bytes(w, level + 1);
}

/* In how many parts a fine level counts a micro-batch, and how many of these are one level. */
static int64_t fine_parts(const zb_scheduler *w, int64_t *step) {
  *step = w->jobs <= ZB_JOBS_LARGE || w->ranks < 16 ? 1 : w->ranks / 16;
  return w->jobs <= 4000 ? 16 : w->jobs <= 8000 ? 8 : w->jobs <= 32000 ? 4 : w->jobs <= ZB_JOBS_LARGE ? 2 : 1;
}

/* What a fine level keeps, rounded down to bytes. */
static int64_t fine_bytes(int64_t level, int64_t unit, int64_t parts) {
  return level / parts * unit + level % parts * unit / parts;
}

int64_t zb_level_fine(const zb_scheduler *w, int64_t bytes, bool above) {
  const int64_t most = zb_level_most(w), base = zb_most_of(w->base, w->ranks, 0), unit = largest_unit(w);
  int64_t step;
  const int64_t parts = fine_parts(w, &step), live = bytes - base;
  if (bytes >= most || (above && (unit == 0 || unit > INT64_MAX / 64))) return most;
  if (unit == 0 || unit > INT64_MAX / 64) return 0; /* there is one level */
  if (live <= 0) return bytes;
  int64_t level = (live / unit * parts + live % unit * parts / unit) / step * step;
  if (fine_bytes(level + step, unit, parts) <= live) level += step; /* a level itself, whose bytes were rounded down */
  const int64_t below = base + fine_bytes(level, unit, parts);
  if (!above || below == bytes) return below;
  const int64_t next = base + fine_bytes(level + step, unit, parts);
  return next < most ? next : most;
}

int64_t zb_level_next_above(const zb_scheduler *w, int64_t limit, int64_t level, int64_t slack) {
  const int64_t unit = largest_unit(w);
  if (slack >= level - limit) return limit;
  const int64_t highest = unit > (level - limit) / 2 ? level - 1 : limit + 2 * unit;
  const int64_t next = level - slack - 1, below = next < highest ? next : highest;
  return below > zb_most_of(w->base, w->ranks, 0) ? zb_level_fine(w, below, false) : limit;
}

void zb_level_percent(const zb_scheduler *w, int64_t percent, int64_t *limits) {
  const int64_t all = zb_level_most(w), unit = largest_unit(w);
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t given = (int64_t)((double)unit * w->ranks * (double)percent / 100) + w->base[rank];
    limits[rank] = given < all ? given : all;
  }
}
