/* The analytic cost model: what an op takes without measurements. */
#ifndef ZB_PASSES_COST_H
#define ZB_PASSES_COST_H

#include "ir/op.h"

typedef struct zb_op_cost {
  int64_t time_ps;
  double flops, product_flops;
} zb_op_cost;

/* Rates of one core: matrix products 100 GFLOP/s (dnnl_sgemm at small training shapes), everything else by the bytes it moves, 10 GB/s, and
 * 0.5 us to start. They only weigh ops against each other; a measured profile replaces them. Views and structure ops are free. */
zb_op_cost zb_cost_of(MlirOperation op, const zb_op_def *def);
/* A message between ranks: latency and time a byte of the same model. */
#define ZB_COST_LINK_LATENCY_PS INT64_C(5000000)
#define ZB_COST_LINK_PS_PER_BYTE 100.0

#endif
