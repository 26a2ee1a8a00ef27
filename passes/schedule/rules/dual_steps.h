/* The eight steps that DualPipe and DualPipeV have in common. */
#ifndef ZB_PASSES_SCHEDULE_DUAL_STEPS_H
#define ZB_PASSES_SCHEDULE_DUAL_STEPS_H

#include "passes/schedule/emit.h"

typedef struct zb_dual_rank {
  int half;          /* ranks from an end to the middle */
  int distance;      /* of this rank to its end: 0..half-1 */
  int micro_batches; /* the number that the order is made for, of each chunk: 2 * half or more */
  int early;         /* the chunk that the steps call 0; the other one is 1 */
} zb_dual_rank;

/* Writes the jobs of the current rank; micro-batches that do not exist are left out. */
void zb_dual_steps(zb_emitter *emitter, const zb_dual_rank *rank);

#endif
