/* Copying a message between two arenas of one process. */
#ifndef ZB_RUNTIME_TRANSPORT_COPY_H
#define ZB_RUNTIME_TRANSPORT_COPY_H

#include "runtime/plan/plan.h"

/* One side of a message: where its bytes lie. parts is borrowed from the plan. */
typedef struct zb_transport_side {
  unsigned char *arena;
  const zb_plan_range *parts;
  int part_count;
} zb_transport_side;

/* Copies the bytes of the sender's parts, in order, to the receiver's. The parts of both have equal totals (the plan
 * was verified); should they not, the shorter total is copied. */
void zb_transport_copy(const zb_transport_side *from, const zb_transport_side *to);

#endif
