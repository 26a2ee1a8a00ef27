/* What a step takes with some of the activations computed again, without a compile for each choice.
 *
 * A rank has a level: 0 nothing, 1 what is cheap in each of its layers, then all of more and more of its layers; and a
 * share: which of its gradients of parameters B does in the place of W. One compile a level up to its frames says what
 * each level takes; a share changes that by sums (w_groups.h). So times and frames of a choice are those that its plan
 * has; what a plan takes beside them, for messages, inputs and packing, is estimated by a first plan.
 */
#pragma once

#include "passes/choose/search.h"
#include "passes/stages/functions/recompute_choice.h"
#include "passes/stages/functions/w_groups.h"

/* Shares: none in B; more and more of what frees most bytes for its time, in equal parts of the bytes; what is no
 * product of matrices; all. */
enum {
  ZB_LAYER_LEVELS = 4,
  ZB_LEVELS_MAX = 2 + ZB_LAYER_LEVELS,
  ZB_SHARE_PARTS = 16,
  ZB_SHARE_PRODUCTS,
  ZB_SHARE_ALL_IN_B,
  ZB_SHARES
};

typedef struct zb_pick {
  int level, share;
} zb_pick;

/* The program with one level on all ranks. */
typedef struct zb_level {
  zb_graph graph; /* of what the judge has lent, while shares are found */
  zb_w_groups w;
  zb_choice_items again;              /* what it computes again */
  bool *in_b[ZB_SHARES];              /* [groups] */
  zb_choice_items b_items[ZB_SHARES]; /* the gradients of these */
  zb_stage_cost *costs[ZB_SHARES];    /* [stages] */
  int64_t *base_bytes[ZB_SHARES];     /* [ranks] */
  zb_module_problem problem;          /* with share 0 */
} zb_level;

typedef struct zb_again_model {
  zb_choice_search *search;
  const zb_asked *asked;
  const zb_choice *above; /* where it is cut */
  zb_arena arena;
  zb_choice placed;                  /* its placement and cuts */
  zb_recompute cut;                  /* the program of that choice: values by layers */
  int ranks, stages, levels, shares; /* shares: ZB_SHARES for --split auto, else 1: that of the option */
  const int *stage_rank;
  int *layers_of; /* [stages] */
  zb_metric metric;
  bool searches; /* the schedule looks for an order within a limit */
  zb_asked rule; /* that makes orders for looks, */
  bool has_rule; /* or false: they are at the order that there is */
  zb_level level[ZB_LEVELS_MAX];
  zb_order order;       /* of level 0, share 0; then of the choice looked at last */
  int64_t *besides;     /* [ranks]: what plans take beside base and frames */
  zb_stage_cost *costs; /* [stages] of the choice looked at */
  int64_t *base_bytes;  /* [ranks] */
  int64_t jobs;         /* simulated so far */
} zb_again_model;

/* What the model has with some picks. */
typedef struct zb_outlook {
  int64_t step_ps; /* by the metric; INT64_MAX: the schedule has no order within the limit */
  int64_t most;    /* bytes of the fullest rank */
  int64_t above;   /* sum of what ranks have above a number of bytes */
} zb_outlook;

/* A model without costs of a program that is cut as a choice says. Release with zb_again_model_deinit, after a failure
 * too. MEMORY, and the failures of passes. */
zb_status zb_again_model_init(zb_choice_search *search, const zb_asked *asked, const zb_choice *above,
                              zb_again_model *out) ZB_MUST_USE;
/* What levels and shares take. */
zb_status zb_again_model_build(zb_again_model *model) ZB_MUST_USE;
void zb_again_model_deinit(zb_again_model *model);

/* Looks at picks[ranks]; bytes: for outlook.above. A rule makes the order anew: it holds W back as far as ranks do not
 * wait for it, and that depends on times. */
zb_status zb_again_look(zb_again_model *model, const zb_pick *picks, int64_t bytes, zb_outlook *out) ZB_MUST_USE;

/* The same with the order that a schedule which searches finds within the limit, if it takes less than known_ps. */
zb_status zb_again_look_within(zb_again_model *model, const zb_pick *picks, int64_t limit, double known_ps,
                               zb_outlook *out) ZB_MUST_USE;

/* A step with no order of jobs is shorter within the limit. */
int64_t zb_again_bound(zb_again_model *model, const zb_pick *picks, int64_t limit);

/* Most bytes of a rank with a pick in the order of level 0, share 0. peak: [ranks], of the same pick on all ranks. */
void zb_again_peaks(zb_again_model *model, zb_pick pick, int64_t *peak);

/* The choice of these picks: of what is computed again, and, with more than one share, of what is in B. Release with
 * zb_choice_deinit. */
zb_status zb_again_choice(zb_again_model *model, const zb_pick *picks, zb_choice *out) ZB_MUST_USE;
