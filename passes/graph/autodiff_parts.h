/* The three parts of zb-autodiff: chains (before), sweep (autodiff.c), optimizer (after). */
#pragma once

#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "runtime/base/update_groups.h"

/* ---- Chains: what is computed from parameters and constants alone ---- */

/* Gives every reader of a parameter chain a chain of its own, directly before the reader, by moving or cloning. A chain
 * is made of the pure ops whose operands depend on parameters and constants alone; its reader is an op that is not part
 * of a chain, or the terminator. Adds the number of clones to *changes. O(ops + clones). */
zb_status zb_autodiff_own_chains(zb_arena *arena, MlirOperation function, int64_t *changes) ZB_MUST_USE;

/* ---- Optimizer ---- */

/* "adamw:lr=1e-3,beta1=0.9". */
typedef struct zb_optimizer {
  const struct zb_optimizer_def *def;
  zb_line line;
} zb_optimizer;

/* Groups as the option of the pass has them, "GLOB:lr=1;GLOB:weight_decay=0". *out, with *out_count, is in the arena.
 */
zb_status zb_optimizer_groups(zb_arena *arena, const char *text, zb_update_group **out, int *out_count) ZB_MUST_USE;

/* Reads the text. USAGE with a hint for an unknown optimizer or key (the nearest one), a key given twice or a value out
 * of range. */
zb_status zb_optimizer_parse(const char *text, zb_optimizer *out) ZB_MUST_USE;

/* Clipping by the norm of all gradients, as torch.nn.utils.clip_grad_norm_ has it. */
typedef struct zb_clipping {
  double max_norm; /* 0: gradients are not clipped; infinity: their norm is known, and no more */
  bool greatest;   /* the greatest absolute value is the norm, else the root of the sum of squares */
} zb_clipping;

/* Reads "1.0" or "inf", and "2" or "inf"; "" or NULL: no clipping, and "2". USAGE, named as the options of zbc, for
 * another text, and for a type without a norm. */
zb_status zb_clipping_parse(const char *max_norm, const char *type, zb_clipping *out) ZB_MUST_USE;

/* The accumulates of one parameter, last use first, as the sweep made them. */
typedef struct zb_parameter_uses {
  int argument;
  ZB_LIST(MlirOperation) accumulates;
  ZB_LIST(int64_t) members; /* of each: over so many shards it is summed, once a step; 0: it is whole */
} zb_parameter_uses;

/* What zb-loss-mean makes of a loss: the sum of losses, as a vector of one, of a pair of f32 that is the concat of that
 * and of its weight. Null: the value is no such pair. */
MlirValue zb_weighted_sum(MlirValue loss);
/* The sums of the pair over micro-batches, in place of the name of a parameter. */
#define ZB_WEIGHTED_LOSS "zb.weighted_loss"

/* Adds, before the terminator: the sum of the uses of each parameter, what it gives to the norm, if there is clipping,
 * its update, the arguments for state and step, the results {zb.update} and {zb.report = "norm"}. Parameters without
 * uses become frozen (their argument then has zb.frozen instead of zb.param). */
typedef struct zb_update_rules {
  zb_optimizer optimizer;
  zb_clipping clipping;
  zb_update_group *groups;
  int group_count;
  int64_t micro_batches, replicas, shards;
  MlirValue weighted_loss; /* the accumulate of the pair of a loss; null: gradients are those of a mean already */
} zb_update_rules;
/* USAGE for a group that no parameter with uses is in. */
zb_status zb_autodiff_optimize(zb_arena *arena, MlirOperation function, const zb_update_rules *rules,
                               const zb_parameter_uses *parameters, int parameter_count) ZB_MUST_USE;
