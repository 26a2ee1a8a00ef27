/* What writes a plan, in two parts: what a rank has in its arena (emit_tables.c), and all else (emit_plan.c). */
#pragma once

#include "passes/stages/places/addresses.h"
#include "passes/tables.h"
#include "runtime/plan/file/plan.h"

/* The parts of the jobs that gather a list of zb.parts into a frame at one address. */
typedef struct zb_emitted_gather {
  uint64_t frame;
  int first_row;
  zb_plan_slice parts;
} zb_emitted_gather;

typedef struct zb_emitter {
  MlirOperation module, rank_op;
  zb_plan *plan;
  zb_plan *memory; /* takes the allocations: the plan, or one whose memory the plan gets in the end */
  zb_plan_rank *rank;
  zb_plan_rank in_evaluation; /* the rank with the regions of an evaluation */
  zb_arena arena;             /* what lives as long as the rank at hand */
  zb_subprograms subprograms;
  zb_map *input_index, *output_index; /* name -> plan.inputs, plan.outputs */
  zb_map *lists;                      /* digest of a list of a collective -> where the first one stands in its pool */
  zb_map *made;                       /* first row in zb.parts -> where its sizes stand in the pool of the plan */
  zb_map *gathered;                   /* digest of a frame's address and a first row -> what became of it, in gathers */
  ZB_LIST(zb_emitted_gather) gathers;
  uint64_t model_hash; /* of the parameters that the rank owns */
  /* They grow in the arena; copied into the plan at the end. */
  ZB_LIST(zb_plan_input) inputs;
  ZB_LIST(zb_plan_output) outputs;
  ZB_LIST(zb_plan_constant) constants;
  ZB_LIST(zb_plan_job) jobs;
  ZB_LIST(uint64_t) pool_u64;
  ZB_LIST(zb_plan_range) pool_ranges;
  ZB_LIST(uint32_t) pool_u32;
  int number_count;                 /* messages and collectives */
  int32_t *place;                   /* [number] of emit_transfers */
  int32_t *job_of_message;          /* [number] index of the job of this rank that posts it */
  zb_table members, frame_parts;    /* of the module */
  zb_table addresses, waits, posts; /* of the rank at hand; how far they are read: */
  int address_at, wait_at, post_at;
} zb_emitter;

#define ZB_EMIT_NEW(e, count, type) ((type *)zb_plan_alloc((e)->memory, ((size_t)(count) + 1) * sizeof(type)))

/* The items of a list in the plan's memory; NULL when out of memory. */
void *zb_emit_keep(zb_emitter *e, const void *items, size_t count, size_t bytes);
#define ZB_EMIT_KEEP(e, list) zb_emit_keep(e, (list).items, (list).count, sizeof *(list).items)

/* Of a parameter, trained or frozen, or of a buffer. */
const char *zb_emit_parameter_name(const zb_entry *entry);

/* Of the rank at hand: parameters, whose owners are known by name, buffers, and optimizer state; constants, which are
 * found in its functions, too; and settings. */
zb_status zb_emit_tables(zb_emitter *e, const zb_map *owners) ZB_MUST_USE;
zb_status zb_emit_constants(zb_emitter *e) ZB_MUST_USE;
zb_status zb_emit_settings(zb_emitter *e) ZB_MUST_USE;
