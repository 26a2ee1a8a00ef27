/* What all schedules for the V placement share: position i of the pipeline holds stage i (chunk 0) and stage 2p-1-i
 * (chunk 1), on whatever rank that is. */
#ifndef ZB_PASSES_SCHEDULE_V_SHAPE_H
#define ZB_PASSES_SCHEDULE_V_SHAPE_H

#include "passes/schedule/emit.h"

/* Position of a rank: the stage of its chunk 0. O(ranks). */
int zb_v_position(const zb_problem *problem, int rank);

/* The most that a rank of a V schedule holds, in micro-batches of both its chunks: `chunk_activations` of its larger
 * chunk, and never more than all micro-batches. < 0 where F keeps nothing. */
double zb_v_memory_bound(const zb_problem *problem, int rank, int chunk_activations);

#endif
