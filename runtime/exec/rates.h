/* Learning rates and weight decays of a run: the options --lr, --weight-decay, --group and --lr-schedule, what a
 * checkpoint keeps of them, and what each setting of a plan is at a step. Everything is computed in f64. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/base/line.h"
#include "runtime/base/update_groups.h"
#include "runtime/plan/file/plan.h"
#include "zb/runtime.h"

typedef struct zb_rates {
  zb_arena memory;                   /* of what is below */
  double numbers[ZB_UPDATE_NUMBERS]; /* of all parameters but those that have their own; NAN: the plan's */
  const char **groups;               /* as they were given */
  zb_update_group *parsed;           /* the same */
  int group_count;
  const char *schedule; /* as it was given; NULL: none */
  zb_line line;         /* the same */
  const char *table;    /* the text of the file of "table:FILE"; NULL: another schedule */
  double *factors;      /* of it, by step */
  int64_t factor_count;
  zb_text changes; /* for people: a line for each thing that a run was resumed with and had otherwise before */
} zb_rates;

/* What the parameters say, and of what they do not say what the run that is resumed did (NULL: nothing). USAGE for a
 * wrong line; INVALID for a wrong table, with file and line. In any case release with zb_rates_close. */
zb_status zb_rates_open(const zb_session_params *params, const char *saved, const char *saved_table,
                        zb_rates *out) ZB_MUST_USE;
void zb_rates_close(zb_rates *rates);

/* The groups that no parameter of a whole plan is in: USAGE. */
zb_status zb_rates_check_groups(const zb_rates *rates, const zb_plan *plan) ZB_MUST_USE;
/* What a setting of the plan is before the factor of a step. */
void zb_rates_base(const zb_rates *rates, const zb_plan_setting *setting, double out[ZB_UPDATE_NUMBERS]);
/* What the rates of a step, from 0, are multiplied with. */
double zb_rates_factor(const zb_rates *rates, int64_t step);

/* What a checkpoint keeps: a line each, "lr=3e-4", "group=GLOB:lr=0", "schedule=cosine:..."; "": nothing was said. */
void zb_rates_save(const zb_rates *rates, zb_text *out);
/* The same in one line for people. */
void zb_rates_describe(const zb_rates *rates, zb_text *out);
