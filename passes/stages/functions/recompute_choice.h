/* Which activations are computed again in the backward pass, and the ops that do it.
 *
 * What B and W of a stage read of its forward pass is kept from F on, once for each micro-batch under way. Computed
 * again, a value takes no memory between F and B but that of what it is computed from, at the price of its time. The
 * same ops run on the same values, so its bits are the same.
 */
#pragma once

#include "passes/stages/layers.h"
#include "zb/costs.h"

/* How much of what an op makes is computed again: nothing; what saves bytes and needs no product of matrices; all that
 * is not an input of a layer. */
typedef enum zb_again { ZB_AGAIN_NOTHING, ZB_AGAIN_CHEAP, ZB_AGAIN_ALL } zb_again;

typedef struct zb_recompute {
  zb_arena *arena;
  zb_graph graph;
  zb_flow flow;
  zb_layers layers;
  int *stage; /* per node */
  int stages;
  zb_again *mode;   /* per node; read by zb_recompute_choose */
  bool *again;      /* per value: computed again in its stage; set by zb_recompute_choose */
  bool *crosses;    /* per value: another layer of its stage reads it */
  int64_t *time_ps; /* per node */
  bool *is_cheap;   /* per node: no product of matrices */
  zb_map *kept;     /* (stage, value): 1 where the stage keeps the value */
  int *seen;        /* per value: the search that met it last */
  int searches;
} zb_recompute;

/* Reads the function of a program of level staged; costs may be NULL. All modes are ZB_AGAIN_NOTHING. Lives in the
 * arena. MEMORY. O(operands). */
zb_status zb_recompute_build(zb_arena *arena, MlirOperation function, const zb_costs *costs,
                             zb_recompute *out) ZB_MUST_USE;

/* Sets the mode of every op by that of its layer. modes: [layers.count]. */
void zb_recompute_set(zb_recompute *r, const zb_again *modes);

/* Whether an op may run again: what nobody described may have effects, and what is added up as it is (a loss with its
 * weight) is what F reports. */
bool zb_recompute_may_run_again(const zb_recompute *r, int node);

/* Chooses values by the modes. */
zb_status zb_recompute_choose(zb_recompute *r) ZB_MUST_USE;

/* Clones the ops that make the chosen values: each before the first op of the backward pass that reads one of its
 * results, with the attribute zb.recomputed. The snapshot is stale after that. *changes: how many ops. */
zb_status zb_recompute_apply(zb_recompute *r, int64_t *changes) ZB_MUST_USE;
