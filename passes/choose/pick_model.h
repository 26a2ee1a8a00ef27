/* What a step takes with some of the activations computed again and some of the gradients in B, without a compile for
 * each choice.
 *
 * A rank has a pick. Its level says what it computes again: 0 nothing, 1 what is cheap in each of its layers, then all
 * of more and more of its layers. Its share says which of its gradients of parameters B does in the place of W. One
 * compile a level up to its frames says what each level takes; a share changes that by sums (w_groups.h). So times and
 * frames of a choice are those that its plan has; what a plan takes beside them, for messages, inputs and packing, is
 * estimated by a first plan. Where what is computed again is not to choose, there is one level: what is decided.
 */
#pragma once

#include "passes/choose/search.h"
#include "passes/choose/split_choice.h"
#include "passes/stages/functions/chosen.h"

enum { ZB_LAYER_LEVELS = 4, ZB_LEVELS_MAX = 2 + ZB_LAYER_LEVELS };

typedef struct zb_pick {
  int level, share; /* share: of its level */
} zb_pick;

typedef struct zb_share {
  bool *in_b;           /* [groups] of the level */
  zb_stage_cost *costs; /* [stages] */
  int64_t *base_bytes;  /* [ranks] */
  int64_t *peak;        /* [ranks] most bytes, in the order that it was first looked at with; 0: not yet */
} zb_share;

/* The program with one level on all ranks. */
typedef struct zb_level {
  zb_graph graph; /* of what the judge has lent, while the model is built */
  zb_w_groups w;
  zb_split_memory memory;
  int64_t *beside;       /* [ranks] bytes beside frames and messages, with nothing in B */
  zb_choice_items again; /* what it computes again */
  zb_w_gradient *gradients;
  int gradient_count;
  ZB_LIST(zb_share) shares;
  int plain[ZB_IN_B_ALL + 1]; /* of these: nothing in B, or what the option says, .. */
  zb_module_problem problem;  /* with the first share */
} zb_level;

typedef struct zb_pick_model {
  zb_choice_search *search;
  const zb_asked *asked;
  const zb_choice *above; /* where it is cut */
  zb_arena arena;
  zb_choice placed; /* its placement and cuts, and what is computed again, unless that is to choose */
  zb_recompute cut; /* the program of that choice: values by layers */
  bool chooses_again, chooses_in_b;
  int ranks, stages, levels;
  const int *stage_rank;
  int *layers_of; /* [stages] */
  zb_metric metric;
  bool keeps_limit; /* the schedule looks for an order within a limit */
  zb_asked rule;    /* that makes orders for looks, */
  bool has_rule;    /* or false: they are at the order that there is */
  zb_level level[ZB_LEVELS_MAX];
  zb_order order;       /* of level 0, share 0; then of the choice looked at last */
  int64_t *besides;     /* [ranks]: what plans take beside base and frames */
  zb_stage_cost *costs; /* [stages] of the choice looked at */
  zb_job_waits *waits;  /* [stages] */
  int64_t *base_bytes;  /* [ranks] */
  int64_t jobs;         /* simulated so far */
} zb_pick_model;

/* What the model has with some picks. */
typedef struct zb_outlook {
  int64_t step_ps; /* by the metric; INT64_MAX: the schedule has no order within the limit */
  int64_t most;    /* bytes of the fullest rank */
  int64_t above;   /* sum of what ranks have above a number of bytes */
} zb_outlook;

/* A model without costs of a program that is cut as a choice says. Release with zb_pick_model_deinit, after a failure
 * too. MEMORY, and the failures of passes. */
zb_status zb_pick_model_init(zb_choice_search *search, const zb_asked *asked, const zb_choice *above,
                             zb_pick_model *out) ZB_MUST_USE;
/* What levels and their first shares take. */
zb_status zb_pick_model_build(zb_pick_model *model) ZB_MUST_USE;
void zb_pick_model_deinit(zb_pick_model *model);

static inline const zb_share *zb_picked_share(const zb_pick_model *model, zb_pick pick) {
  return &model->level[pick.level].shares.items[pick.share];
}

/* Looks at picks[ranks]; bytes: for outlook.above. A rule makes the order anew: it holds W back as far as ranks do not
 * wait for it, and that depends on times. */
zb_status zb_picks_look(zb_pick_model *model, const zb_pick *picks, int64_t bytes, zb_outlook *out) ZB_MUST_USE;

/* The same with the order that a schedule which searches finds within the limit, if it takes less than known_ps. */
zb_status zb_picks_look_within(zb_pick_model *model, const zb_pick *picks, int64_t limit, double known_ps,
                               zb_outlook *out) ZB_MUST_USE;

/* Gives each rank, at its level, a share with as little time in B as is found of those that take at most bytes[rank]
 * in the order looked at last, which was that of the picks. A share that there is not yet is added. MEMORY. */
zb_status zb_picks_fit(zb_pick_model *model, const int64_t *bytes, zb_pick *picks) ZB_MUST_USE;

/* The same in the order that a schedule which searches finds within a limit (0: none) for the picks. *out: it does. */
zb_status zb_picks_fit_within(zb_pick_model *model, int64_t limit, const int64_t *bytes, zb_pick *picks,
                              bool *out) ZB_MUST_USE;

/* The pick of a rank whose level is 0 and whose groups are as they stand. MEMORY. */
zb_status zb_picks_of_groups(zb_pick_model *model, int rank, zb_pick *out) ZB_MUST_USE;

/* A step with no order of jobs is shorter within the limit. */
int64_t zb_picks_bound(zb_pick_model *model, const zb_pick *picks, int64_t limit);

/* peak: [ranks], most bytes with these picks, in the order at hand. */
void zb_picks_peaks(zb_pick_model *model, const zb_pick *picks, int64_t *peak);

/* The choice of these picks, as far as that is to choose. Release with zb_choice_deinit. */
zb_status zb_picks_choice(zb_pick_model *model, const zb_pick *picks, zb_choice *out) ZB_MUST_USE;
