/* Plans that are compiled to be compared: of copies of a program, each with another choice. */
#ifndef ZB_PASSES_TRIAL_H
#define ZB_PASSES_TRIAL_H

#include "passes/pipeline.h"
#include "zb/schedule.h"

typedef struct zb_plan zb_plan;

/* What a plan takes. */
typedef struct zb_trial {
  bool exists;
  int64_t step_ps; /* by the metric */
  int64_t *arena;  /* [ranks] */
  int64_t most;    /* of arena; without a plan what one micro-batch at a time takes, 0 where that is not known */
} zb_trial;

/* Of two that have no plan: the first needs less, as far as that is known. */
static inline bool zb_trial_needs_less(const zb_trial *x, const zb_trial *than) {
  return x->most && (!than->most || x->most < than->most);
}

/* Adds a pass with those options of `pass` that it has too. */
zb_status zb_trial_add(const zb_pass *pass, const char *name, zb_pipeline *out) ZB_MUST_USE;

/* Adds the passes from zb-outline to zb-memory; and those from zb-schedule to zb-verify-plan. The limit of memory,
 * as text, is for schedules that look for an order within it: what is above it nevertheless is measured, not refused.
 */
zb_status zb_trial_add_frames(const zb_pass *pass, zb_pipeline *out) ZB_MUST_USE;
zb_status zb_trial_add_plan(const zb_pass *pass, const char *schedule, const char *limit, zb_pipeline *out) ZB_MUST_USE;

/* A copy of the program of the pass; release its module. */
zb_status zb_trial_copy(const zb_pass *pass, MlirModule module, zb_module *out) ZB_MUST_USE;

/* Whether other choices are looked for: not where searches of this compile have taken some ten seconds of work, so that
 * what has been found must do. The work is counted, so it is the same on every machine. */
bool zb_trial_pays(struct zb_memo *memo);

/* Runs the passes on a copy. *out_exists: false where the schedule has no order for it, which is no error here. */
zb_status zb_trial_run(const zb_pipeline *pipeline, zb_module *copy, zb_compile_state *state,
                       bool *out_exists) ZB_MUST_USE;

/* The next of the numbers of bytes for which choices are looked for: 1.6 to 3.2 % apart, whatever the limit is, so that
 * what is found for one limit is found for a higher one too. */
int64_t zb_trial_bytes_below(int64_t bytes);

/* The order that a schedule gives for a problem without a limit, in the place of *order, as plans have it: a gradient
 * leaves behind its B, also where the schedule has one backward job. */
zb_status zb_trial_order(const zb_pass *pass, const char *schedule, zb_problem *problem, zb_metric metric,
                         zb_order *order) ZB_MUST_USE;

/* What a plan takes; the arrays are in the arena. */
zb_status zb_trial_measure(zb_arena *arena, const zb_plan *plan, zb_metric metric, zb_trial *out) ZB_MUST_USE;

#endif
