/* What a step takes with some of the activations computed again, without a compile for each choice.
 *
 * A rank has a level: 0 nothing, 1 what is cheap in each of its layers, then all of more and more of its layers; and a
 * share: which of its gradients of parameters B does in the place of W. One compile a level up to its frames says what
 * each level takes; a share changes that by sums (w_groups.h). So times and frames of a choice are those that its plan
 * has; what a plan takes beside them, for messages, inputs and packing, is estimated by a first plan.
 */
#ifndef ZB_PASSES_RECOMPUTE_MODEL_H
#define ZB_PASSES_RECOMPUTE_MODEL_H

#include "passes/pipeline.h"
#include "passes/stages/problem.h"
#include "passes/stages/recompute_choice.h"
#include "passes/stages/w_groups.h"

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
  zb_module classified, framed; /* copies, while the rest is found: the ops of the groups, of the problem */
  zb_graph graph;
  zb_w_groups w;
  int *stage_begin, *stage_group;  /* groups by stage, in program order: [stages + 1], [groups] */
  bool *in_b[ZB_SHARES];           /* [groups] */
  zb_stage_cost *costs[ZB_SHARES]; /* [stages] */
  int64_t *base_bytes[ZB_SHARES];  /* [ranks] */
  zb_module_problem problem;       /* with share 0 */
} zb_level;

typedef struct zb_recompute_model {
  zb_pass *pass;
  MlirModule module;
  const zb_layers *layers;
  int ranks, stages, levels, shares; /* shares: ZB_SHARES for --split auto, else 1: that of the option */
  const int *stage_rank;
  int *layers_of; /* [stages] */
  zb_metric metric;
  bool searches;    /* the schedule looks for an order within a limit */
  const char *rule; /* that makes orders for looks; NULL: they are at the order that there is */
  zb_level level[ZB_LEVELS_MAX];
  zb_order order;                   /* of level 0, share 0; then of the choice looked at last */
  int64_t *besides;                 /* [ranks]: what plans take beside base and frames */
  zb_stage_cost *costs;             /* [stages] of the choice looked at */
  int64_t *base_bytes, *rank_limit; /* [ranks] */
  int64_t jobs;                     /* simulated so far */
} zb_recompute_model;

/* What the model has with some picks. */
typedef struct zb_outlook {
  int64_t step_ps; /* by the metric; INT64_MAX: the schedule has no order within the limit */
  int64_t most;    /* bytes of the fullest rank */
  int64_t above;   /* sum of what ranks have above a number of bytes */
} zb_outlook;

/* A model without costs. module: of level staged; layers: its own. The options of the pass are those of zb-recompute.
 * Release with zb_recompute_model_deinit, after a failure too. MEMORY. */
zb_status zb_recompute_model_init(zb_pass *pass, MlirModule module, const zb_recompute *r, zb_metric metric,
                                  zb_recompute_model *out) ZB_MUST_USE;
/* What levels and shares take. */
zb_status zb_recompute_model_build(zb_recompute_model *model) ZB_MUST_USE;
void zb_recompute_model_deinit(zb_recompute_model *model);

/* Looks at picks[ranks]; bytes: for outlook.above. A rule makes the order anew: it holds W back as far as ranks do not
 * wait for it, and that depends on times. */
zb_status zb_recompute_look(zb_recompute_model *model, const zb_pick *picks, int64_t bytes,
                            zb_outlook *out) ZB_MUST_USE;

/* The same with the order that a schedule which searches finds within the limit. */
zb_status zb_recompute_look_within(zb_recompute_model *model, const zb_pick *picks, int64_t limit,
                                   zb_outlook *out) ZB_MUST_USE;

/* A step with no order of jobs is shorter within the limit. */
int64_t zb_recompute_bound(zb_recompute_model *model, const zb_pick *picks, int64_t limit);

/* Most bytes of a rank with a pick in the order of level 0, share 0. peak: [ranks], of the same pick on all ranks. */
void zb_recompute_peaks(zb_recompute_model *model, zb_pick pick, int64_t *peak);

/* A copy of the program with these picks, classified; release its module. *in_b (NULL for one share): [*groups] whether
 * B does a group, for zb_compile_state; in the arena of the pass. */
zb_status zb_recompute_copy(const zb_recompute_model *model, const zb_pick *picks, zb_module *out, bool **in_b,
                            int *groups) ZB_MUST_USE;

/* Sets the modes of `r` by the levels of the picks. */
zb_status zb_recompute_set_picks(const zb_recompute_model *model, const zb_pick *picks, zb_recompute *r) ZB_MUST_USE;

#endif
