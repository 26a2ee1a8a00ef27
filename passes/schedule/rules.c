/* Rules to build orders by. Tests: test/passes/schedule/search_test.c. */
#include "passes/schedule/rules.h"

#include <limits.h>

static void fill_priority(const zb_workshop *w, int class, int64_t urgency, int64_t *priority) {
  for (int i = 0; i < w->micro_batches; ++i)
    priority[(size_t) class * (size_t)w->micro_batches + (size_t)i] = urgency * (INT64_C(1) << 32) + i;
}

zb_status zb_rulebook_init(zb_workshop *w, zb_rulebook *out) {
  *out = (zb_rulebook){.workshop = w};
  for (int i = 0; i < 3; ++i)
    out->priority[i] = zb_alloc(w->jobs * sizeof(int64_t));
  out->cap = zb_alloc((size_t)w->stages * sizeof *out->cap);
  out->urgency = zb_alloc(2 * (size_t)w->chunks * sizeof *out->urgency);
  if (!out->priority[0] || !out->priority[1] || !out->priority[2] || !out->cap || !out->urgency) {
    zb_rulebook_deinit(out);
    return ZB_OUT_OF_MEMORY();
  }
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
static const int64_t *draw_priority(zb_rulebook *book, uint64_t order) {
  const zb_workshop *w = book->workshop;
  if (book->drawn == order) return book->priority[2];
  book->drawn = order;
  uint64_t random = order;
  for (int i = 0; i < 2 * w->chunks; ++i) {
    const int at = zb_random_below(&random, i + 1);
    book->urgency[i] = book->urgency[at];
    book->urgency[at] = i;
  }
  for (int class = 0; class < w->classes; ++class) {
    const int kind = class % ZB_KIND_COUNT, chunk = w->model->stage_chunk[class / ZB_KIND_COUNT];
    fill_priority(w, class, kind == ZB_W ? 2 * w->chunks : book->urgency[2 * chunk + (kind == ZB_B)],
                  book->priority[2]);
  }
  return book->priority[2];
}

void zb_rulebook_deinit(zb_rulebook *rulebook) {
  zb_free(rulebook->priority[0]);
  zb_free(rulebook->priority[1]);
  zb_free(rulebook->priority[2]);
  zb_free(rulebook->urgency);
  zb_free(rulebook->cap);
  *rulebook = (zb_rulebook){0};
}

/* Caps that fall by slope from stage to stage and together fill the memory of the fullest rank. */
static void fill_caps(zb_rulebook *book, const zb_rule_numbers *numbers, const int64_t *limit) {
  const zb_workshop *w = book->workshop;
  const double slope = numbers->slope / 4.0;
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
    book->cap[stage] = cap < 1 ? 1 : cap > w->micro_batches ? w->micro_batches : (int)cap;
  }
}

zb_build_rule zb_rule_make(zb_rulebook *book, const zb_rule_numbers *numbers, const int64_t *limit) {
  if (numbers->slope) fill_caps(book, numbers, limit);
  return (zb_build_rule){.priority =
                             numbers->order < 2 ? book->priority[numbers->order] : draw_priority(book, numbers->order),
                         .limit = limit,
                         .cap = numbers->slope ? book->cap : NULL,
                         .patience = numbers->patience,
                         .extra = numbers->extra,
                         .idle = numbers->idle_ps,
                         .share_idle = numbers->share_idle,
                         .count_start = book->workshop->model->problem->metric == ZB_METRIC_BARRIER};
}

zb_rule_numbers zb_rule_fixed(int index, int64_t idle_ps, int64_t work_ps) {
  static const struct {
    int8_t late_b, slope, shift;
    int16_t patience;
    int8_t idle_share; /* -1: none; else the idle time of the bound and so many 1/400 of the work */
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

static void write_least(const zb_workshop *w, zb_slot *sequence, int rank, bool w_last) {
  zb_slot *slots = &sequence[(size_t)rank * (size_t)w->per_rank];
  const int *stages = &w->model->rank_stages[rank * w->chunks];
  for (int i = 0; i < w->micro_batches; ++i) {
    for (int k = 0; k < w->chunks; ++k)
      *slots++ = (zb_slot){stages[k] * ZB_KIND_COUNT + ZB_F, i};
    for (int k = w->chunks - 1; k >= 0; --k) {
      *slots++ = (zb_slot){stages[k] * ZB_KIND_COUNT + ZB_B, i};
      if (!w_last) *slots++ = (zb_slot){stages[k] * ZB_KIND_COUNT + ZB_W, i};
    }
    for (int k = w->chunks - 1; w_last && k >= 0; --k)
      *slots++ = (zb_slot){stages[k] * ZB_KIND_COUNT + ZB_W, i};
  }
}

void zb_sequence_least(const zb_workshop *w, zb_slot *sequence, int64_t *least, int64_t *other) {
  for (int rank = 0; rank < w->ranks; ++rank)
    write_least(w, sequence, rank, true);
  zb_sequence_peaks(w, sequence, other);
  for (int rank = 0; rank < w->ranks; ++rank)
    write_least(w, sequence, rank, false);
  zb_sequence_peaks(w, sequence, least);
  for (int rank = 0; rank < w->ranks; ++rank)
    if (!w->whole && other[rank] < least[rank]) {
      least[rank] = other[rank];
      write_least(w, sequence, rank, true);
    }
}

/* ---- Levels ---- */

int64_t zb_level_most(const zb_workshop *w) {
  int64_t most = 1;
  for (int rank = 0; rank < w->ranks; ++rank) {
    int64_t bytes = w->base[rank];
    for (int k = 0; k < w->chunks; ++k)
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
        bytes +=
            w->micro_batches * w->forwards.keep[w->model->rank_stages[rank * w->chunks + k] * ZB_KIND_COUNT + kind];
    if (bytes > most) most = bytes;
  }
  return most;
}

int64_t zb_level_bytes(const zb_workshop *w, int level) {
  const int64_t most = zb_level_most(w);
  int64_t base = 0, unit = 0;
  for (int rank = 0; rank < w->ranks; ++rank) {
    if (w->base[rank] > base) base = w->base[rank];
    if (w->one_each[rank] - w->base[rank] > unit) unit = w->one_each[rank] - w->base[rank];
  }
  if (unit == 0) return most; /* a micro-batch alone takes nothing: there is one level */
  /* 1 to 16 eighths, then 2.5, 3, 4, 5, 6, 8, 10, 12, 16, ... */
  double eighths = level;
  for (int above = 16; above < level; above += 3) {
    static const double steps[] = {1.25, 1.5, 2};
    const int step = level - above > 3 ? 3 : level - above;
    eighths = above == 16 ? 16 * steps[step - 1] : eighths * steps[step - 1];
  }
  const double bytes = (double)base + (double)unit * w->ranks * eighths / 8;
  return bytes >= (double)most ? most : (int64_t)bytes;
}

int zb_level_within(const zb_workshop *w, int64_t limit) {
  const int64_t most = zb_level_most(w);
  int level = 0;
  while (limit == 0 || zb_level_bytes(w, level + 1) <= limit) {
    ++level;
    if (zb_level_bytes(w, level) == most) break;
  }
  return level;
}
