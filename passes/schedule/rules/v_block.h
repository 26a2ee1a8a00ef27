/* Building blocks for the V placement, repeated and turned into orders.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362: a block is the F and B of
 * one micro-batch on all ranks, in unit time; it is repeated every 6 units (2 chunks x F, B, W), squeezed (no job waits
 * for its slot), and warm-up and cool-down are reordered within the memory that the repeated block needs.
 *
 * Squeezing and reordering are one forward pass here: every rank runs the next job of the repeated block as soon as its
 * inputs are there; while it waits, it runs the first later job that is ready, if all that the block has in between
 * still fits in memory; else a W. So an order always ends: the job that is first in the repeated block among all jobs
 * that are left is ready, and fits.
 */
#pragma once

#include "passes/schedule/rules/emit.h"

/* Jobs of a block on one rank, in the order of the data. W stands in the first slot after its B that is free. */
typedef enum zb_v_pass { ZB_V_F0, ZB_V_F1, ZB_V_B1, ZB_V_B0, ZB_V_W1, ZB_V_W0, ZB_V_PASSES } zb_v_pass;
enum { ZB_V_INTERVAL = 6 };

/* start[position][pass] of micro-batch 0; micro-batch k starts ZB_V_INTERVAL * k later. */
typedef struct zb_v_slots {
  int start[ZB_V_PASSES];
} zb_v_slots;

/* Differences of start times along the way of one micro-batch: between neighbours on each leg, and at the turns. */
typedef struct zb_v_legs {
  int f0, turn_f, f1, back, b1, turn_b, b0;
} zb_v_legs;
/* False where two passes of a rank meet in one slot of the interval. O(ranks). */
bool zb_v_block_fill(int ranks, const zb_v_legs *legs, zb_v_slots *block);

/* Gives the W of a block whose other passes are set their slots; false where passes meet. */
bool zb_v_place_w(int ranks, zb_v_slots *block);

/* Most chunk activations that the repeated block holds on any rank, each from its F to its W. O(ranks). */
int zb_v_block_peak(int ranks, const zb_v_slots *block);

/* What jobs are taken to last and keep while an order is made. */
typedef enum zb_v_costs {
  ZB_V_UNIT, /* as in the paper: every job 1, messages 0, a chunk keeps 1 from F to W */
  ZB_V_REAL, /* times, messages and bytes of the problem */
} zb_v_costs;

typedef struct zb_v_engine zb_v_engine;
/* Its memory is the model's. */
zb_status zb_v_engine_new(zb_model *model, zb_v_costs costs, zb_v_engine **out) ZB_MUST_USE;

typedef struct zb_v_rules {
  const int64_t *limits; /* [position] most live bytes (ZB_V_UNIT: chunk activations), base not included; NULL: none */
  zb_v_pass keep_w; /* W keeps its slot while jobs of this pass are to come, ZB_V_F0 or ZB_V_F1; then it fills gaps */
  bool w_first;     /* a gap is filled with W, where there is one, rather than with later F and B */
  bool all_early;   /* gaps in the middle are filled with later F and B too, not only in warm-up and cool-down */
  bool reserve;     /* before its first B a rank keeps room for the F of chunk 1 that come until then */
  bool b1_first;    /* after the last F, B of chunk 1 before B of chunk 0: it has the longer way to go */
  const zb_v_engine *follow; /* take the order of this engine's last run as it is; NULL: make one */
  int64_t less_than;         /* give up when the result cannot be below this; INT64_MAX: never */
} zb_v_rules;

/* Makes the order of a block; its time in the problem's metric (without a result: less_than), or less_than if it gave
 * up, kept no limit, or came to a stop (`reserve` may). Near-linear in jobs. Jobs that ran are added to *jobs. */
int64_t zb_v_engine_run(zb_v_engine *engine, const zb_v_slots *block, const zb_v_rules *rules, int64_t *jobs);
/* Appends the order that the last run made. */
zb_status zb_v_engine_emit(const zb_v_engine *engine, zb_order *out) ZB_MUST_USE;

/* The whole of V-Min, V-Half and V-ZB: the order of a block in unit time within the peak of the repeated block.
 * `manner` says how; its limits and less_than do not count. */
zb_status zb_v_block_emit(const zb_v_legs *legs, const zb_v_rules *manner, const zb_problem *problem,
                          zb_order *out) ZB_MUST_USE;

/* V-Min, the block with the least memory. */
zb_status zb_v_min_emit(const zb_problem *problem, zb_order *out) ZB_MUST_USE;
