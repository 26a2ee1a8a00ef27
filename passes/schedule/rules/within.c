/* Tests: test/passes/schedule/iclr24_test.c, v_schedules_test.c. */
#include "passes/schedule/rules/within.h"

#include <string.h>

#include "passes/schedule/rules/rules.h"

typedef struct emitter {
  const zb_within_def *within;
  zb_scheduler *w;
  void *state;
  zb_bounds *bounds;
  zb_slot *sequence, *best; /* [jobs] */
  int64_t *limits, *most;   /* [ranks] bytes */
  int64_t best_ps;          /* by the metric of the problem; INT64_MAX: no order yet */
} emitter;

/* Asks for the limits as they are, and keeps the order if it keeps `most`, too, and is the best so far. What it is
 * depends on these limits and on nothing else: not on those of the problem, nor on what was found before. *slack: as
 * zb_within_answer says. */
static zb_status ask_once(emitter *e, const int64_t *most, int64_t *slack) {
  zb_within_answer answer;
  const zb_within_request request = {e->limits, most, INT64_MAX};
  ZB_TRY(e->within->ask(e->state, &request, e->sequence, &answer));
  *slack = answer.slack_bytes;
  if (!answer.found) return NULL;
  zb_timing timing;
  if (!zb_time_sequence(e->w, e->sequence, &timing, NULL, NULL)) return NULL;
  const int64_t time = zb_metric_time(e->w, &timing);
  if (time >= e->best_ps) return NULL;
  e->best_ps = time;
  memcpy(e->best, e->sequence, e->w->jobs * sizeof *e->best);
  return NULL;
}

/* The best of all fine levels within the limits of the problem, the highest first, as long as a lower one can be
 * faster: what the rules make of one level may be slower than what they make of a lower one. */
static zb_status ask_levels(emitter *e, int64_t most) {
  int64_t slack;
  int64_t level = zb_level_fine(e->w, most, false);
  if (level <= 0) level = most;
  while (level > 0) {
    for (int rank = 0; rank < e->w->ranks; ++rank)
      e->limits[rank] = e->most[rank] < level ? e->most[rank] : level;
    if (zb_bounds_within(e->bounds, e->limits) >= e->best_ps) return NULL;
    ZB_TRY(ask_once(e, e->limits, &slack));
    const int64_t next = slack >= level ? 0 : zb_level_fine(e->w, level - slack - 1, false);
    level = next < level ? next : 0;
  }
  return NULL;
}

/* The orders of levels above the limits that need no more than these: so a limit that is what an order takes gives that
 * order or a better one. */
static zb_status ask_levels_above(emitter *e, int64_t most) {
  for (int64_t level = zb_level_most(e->w), slack; level > most;
       level = zb_level_next_above(e->w, most, level, slack)) {
    if (zb_bounds_within(e->bounds, e->most) >= e->best_ps) return NULL;
    for (int rank = 0; rank < e->w->ranks; ++rank)
      e->limits[rank] = level;
    ZB_TRY(ask_once(e, e->most, &slack));
  }
  return NULL;
}

zb_status zb_within_emit(const zb_within_def *within, const zb_problem *problem, int64_t percent, zb_order *out) {
  zb_model model;
  zb_scheduler w;
  zb_order made = {0};
  int64_t slack;
  emitter e = {.within = within, .w = &w, .best_ps = INT64_MAX};
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_scheduler_init(&model, &w));
  ZB_TAKE(w.arena, e.sequence, w.jobs);
  ZB_TAKE(w.arena, e.best, w.jobs);
  ZB_TAKE(w.arena, e.limits, w.ranks);
  ZB_TAKE(w.arena, e.most, w.ranks);
  ZB_TRY_GOTO(zb_arena_status(w.arena));
  ZB_TRY_GOTO(zb_bounds_new(problem, &e.bounds));
  ZB_TRY_GOTO(within->open(&w, &e.state));
  if (percent) {
    zb_level_percent(&w, percent, e.limits);
    ZB_TRY_GOTO(ask_once(&e, e.limits, &slack));
  } else {
    zb_level_rank_limits(&w, e.most);
    const int64_t most = zb_most_of(e.most, w.ranks, 0);
    ZB_TRY_GOTO(ask_levels(&e, most));
    ZB_TRY_GOTO(ask_levels_above(&e, most));
  }
  if (e.best_ps == INT64_MAX) zb_sequence_least(&w, e.best, e.most);
  ZB_TRY_GOTO(zb_sequence_write(&w, e.best, &made));
  zb_order_deinit(out);
  *out = made;
cleanup:
  zb_bounds_free(e.bounds);
  zb_model_deinit(&model);
  return status;
}
