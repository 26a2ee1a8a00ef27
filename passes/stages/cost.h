/* What an op takes: by a file of costs (zb-run --profile, --calibrate), else by the analytic model. */
#pragma once

#include "ir/op.h"
#include "passes/pass.h"
#include "zb/costs.h"

typedef struct zb_op_cost {
  int64_t time_ps;
  int64_t sums_ps; /* of it, what sums over shards take: a rank waits for them, and messages are no part of profiles */
  double flops, product_flops;
} zb_op_cost;

/* costs may be NULL: rates of one core, so that a compile does not depend on the machine: matrix products 100 GFLOP/s
 * (zb_sgemm at small training shapes), everything else by the bytes it moves, 10 GB/s, and 0.5 us to start. They only
 * weigh ops against each other. Views and structure ops are free. A sum over shards takes two latencies of the link and
 * 2 (T - 1) / T of its bytes, as the collective does in which a run makes it. */
zb_op_cost zb_cost_of(MlirOperation op, const zb_op_def *def, const zb_costs *costs);

/* What an op is in a file of costs: "matmul 8x16xf32 16x4xf32 transpose_rhs=1": name, operands, attributes that are
 * whole numbers or texts. The same at every level of the program. False for what is no single instruction: views,
 * structure, ops of other dialects. */
enum { ZB_COST_TEXT_BYTES = 1024 };
bool zb_cost_text(MlirOperation op, const zb_op_def *def, char text[ZB_COST_TEXT_BYTES]);

/* Sum over a block. *out_key (may be NULL): the sum of the keys of its ops' texts, whatever their order. */
uint64_t zb_cost_key(const char *text);
zb_op_cost zb_cost_of_block(MlirBlock block, const zb_costs *costs, uint64_t *out_key);

/* The file that the option `costs` of a pass names; NULL if it names none. Release with zb_costs_destroy. */
zb_status zb_pass_costs(const zb_pass *pass, zb_costs **out) ZB_MUST_USE;

/* Costs of everything except ops, kept on the module from zb-memory on: as in zb_plan. Without a file of costs a
 * message has a latency of 5 us and 10 GB/s, and the rest takes no time. */
typedef struct zb_link_costs {
  int64_t latency_ps;
  double ps_per_byte;
  bool copies;
  int64_t wake_ps, job_ps, read_ps, step_ps;
  double copy_ps_per_byte; /* within a rank */
} zb_link_costs;
zb_link_costs zb_link_costs_of(const zb_costs *costs); /* NULL: those of the model */
void zb_link_costs_set(MlirOperation module, const zb_link_costs *costs);
zb_link_costs zb_link_costs_get(MlirOperation module);
