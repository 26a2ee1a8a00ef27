/* The schedule problem of a framed module: what zb-schedule, zb-insert-comm and the summary count with. */
#pragma once

#include "passes/function.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "zb/schedule.h"

/* One hop of values from stage to stage: what one message a micro-batch carries. */
typedef struct zb_hop {
  int source, destination; /* stages; forward: source < destination, backward: source > destination */
  ZB_LIST(int64_t) values; /* value ids, ascending: the parts */
  int64_t bytes;
} zb_hop;

typedef struct zb_module_problem {
  zb_arena arena;     /* owns all arrays */
  zb_problem problem; /* pointers into the arrays below */
  int *stage_rank;
  zb_stage_cost *costs;
  zb_edge *edges;
  int64_t *base_bytes, *optimizer_ps;
  int64_t *snapshot_ps;     /* [rank] of post-validation; in no time above: a step with a barrier takes none */
  int64_t job_ps;           /* of the interpreter, in every time above */
  ZB_LIST(zb_hop) hops;     /* forward and backward ones, by (source, destination) */
  MlirOperation top;        /* the module */
  MlirOperation *ranks;     /* the nested modules by rank */
  MlirOperation *functions; /* [stage * ZB_KIND_COUNT + kind] */
} zb_module_problem;

/* The functions of stages, [stage * ZB_KIND_COUNT + class]; null where one is missing. NULL: out of memory. */
MlirOperation *zb_stage_functions(zb_arena *arena, MlirModule module, int stages) ZB_MUST_USE;
/* zb_id_key of each value that one of them gives -> its index there. */
zb_map *zb_value_producers(zb_arena *arena, const MlirOperation *functions, int stages) ZB_MUST_USE;

/* Reads a module of level framed or later. micro_batches may be 0 (not known yet). */
zb_status zb_module_problem_build(MlirModule module, int micro_batches, zb_module_problem *out) ZB_MUST_USE;
/* The same of an evaluation, which has functions E in the place of F, and nothing in the places of B and W: no schedule
 * is made for it, but its hops and costs are read as those of a step. A program without an evaluation: stages is 0. */
zb_status zb_module_evaluation_build(MlirModule module, int micro_batches, zb_module_problem *out) ZB_MUST_USE;
void zb_module_problem_deinit(zb_module_problem *problem);

/* Frame bytes of a stage from its functions' results: kind "fb", "fw" or "bw". */
int64_t zb_frame_bytes(MlirOperation function, const char *kind);

/* A schedule and its options as zb_schedule_parse reads them. USAGE too for one that can only be simulated. */
zb_status zb_schedule_to_train(const char *text, zb_schedule_choice *out) ZB_MUST_USE;

/* Order of a rank as text "0F0 0F1 0B0" and back. */
char *zb_order_text(const zb_order *order, int rank) ZB_MUST_USE;
zb_status zb_order_parse(const char *text, int rank, zb_order *order) ZB_MUST_USE;
/* Writes the order of a schedule of that name on the module and its ranks. MEMORY. */
zb_status zb_module_order_write(MlirModule module, const zb_order *order, const char *name,
                                int micro_batches) ZB_MUST_USE;
/* The order that zb-schedule wrote on the rank modules. Release with zb_order_deinit. */
zb_status zb_module_order(const zb_module_problem *problem, zb_order *out) ZB_MUST_USE;
