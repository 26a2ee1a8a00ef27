/* Measured costs: what `zb-run --profile` and `zb-run --calibrate` write, and `zbc --costs` and `zb-sched --costs`
 * read.
 *
 * One JSON object. A profile has everything below; a calibration of the machine has no program, and only machine, link,
 * overheads, machine rates and products. Times are whole picoseconds; every time is the median over steps of the mean
 * of a step's runs, because jobs add up within a step, and a step that something else disturbed must not count.
 *
 *   {"format": "zb-costs", "version": 1,
 *    "machine": {"device": "cpu", "instruction_set": "avx512", "cores": 2, "threads": 1, "virtual_clock": false},
 *    "program": {"model": "gpt2.onnx", "schedule": "zb-h1", "ranks": 2, "micro_batches": 8, "steps": 20},
 *    "stages": [{"stage": 0, "rank": 0, "fb_bytes": 0, "fw_bytes": 4096, "bw_bytes": 2048}, ...],
 *    "ranks": [{"rank": 0, "base_bytes": 65536}, ...],
 *    "edges": [{"source": 0, "destination": 1, "forward_bytes": 4096, "backward_bytes": 4096}, ...],
 *    "subprograms": [{"name": "s0_F", "rank": 0, "stage": 0, "kind": "F", "key": "9a...", "first_ps": 1100,
 *                      "time_ps": 1000, "runs": 80}, ...],
 *    "ops": [{"op": "matmul 8x16xf32 16x4xf32", "time_ps": 700, "runs": 640}, ...],
 *    "messages": [{"source": 0, "destination": 1, "bytes": 4096, "time_ps": 300, "runs": 80}, ...],
 *    "link": {"latency_ps": 100, "ps_per_byte": 0.05, "copies": true, "wake_ps": 20},
 *    "overheads": {"job_ps": 10, "read_ps": 50, "step_ps": 400},
 *    "rates": {"op_ps": 500000, "ps_per_byte": 100},
 *    "products": [{"flops": 2097152, "time_ps": 20000000}, ...]}
 *
 * base_bytes: weights, optimizer state, workspace: what is always there. Edges are between stages, a micro-batch;
 * messages between ranks, by size. Ops go by name, shapes and attributes, over all ranks, so that they add up to the
 * subprograms.
 *
 * A member that the table of runtime/formats/costs.c does not know is an error, as is a missing one: a typing error
 * must not pass for a cost.
 */
#ifndef ZB_COSTS_H
#define ZB_COSTS_H

#include "zb/schedule.h"
#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ZB_COSTS_VERSION = 1 };

/* What was measured on. No names of hosts, users or folders. */
typedef struct zb_cost_machine {
  char *device, *instruction_set;
  int64_t cores, threads; /* threads a rank */
  bool virtual_clock;     /* of the sim device: costs of a cost model, not of a machine */
} zb_cost_machine;

/* What was run; ranks 0: a calibration. */
typedef struct zb_cost_program {
  char *model, *schedule;
  int64_t ranks, micro_batches, steps;
} zb_cost_program;

typedef struct zb_cost_stage {
  int64_t stage, rank, fb_bytes, fw_bytes, bw_bytes; /* frames: see zb_stage_cost */
} zb_cost_stage;

typedef struct zb_cost_rank {
  int64_t rank, base_bytes;
} zb_cost_rank;

typedef struct zb_cost_edge {
  int64_t source, destination, forward_bytes, backward_bytes; /* as zb_edge */
} zb_cost_edge;

typedef struct zb_cost_subprogram {
  char *name;
  int64_t rank, stage;   /* stage -1: of no stage alone */
  char *kind;            /* "F", "B", "W", a phase of the optimizer (zb/phases.def), "LOAD" */
  uint64_t key;          /* of its ops: the same subprogram in another plan has the same key */
  int64_t first_ps;      /* its first run of a step: the optimizer and the other jobs of a step leave cold caches */
  int64_t time_ps, runs; /* the others; where there is one run a step, the same */
} zb_cost_subprogram;

typedef struct zb_cost_op {
  char *op; /* "matmul 8x16xf32 16x4xf32 transpose_rhs=1": name, operands, whole-number attributes */
  int64_t time_ps, runs;
} zb_cost_op;

typedef struct zb_cost_message {
  int64_t source, destination, bytes, time_ps, runs; /* from when both sides are posted until it is complete */
} zb_cost_message;

/* time of a message = latency_ps + bytes x ps_per_byte, from when both sides are posted. */
typedef struct zb_cost_link {
  int64_t latency_ps;
  double ps_per_byte;
  bool copies;     /* the side that posts second moves the bytes and does nothing else meanwhile */
  int64_t wake_ps; /* until a rank that waited goes on after its message is complete */
} zb_cost_link;

typedef struct zb_cost_overheads {
  int64_t job_ps;  /* of the interpreter, each job */
  int64_t read_ps; /* beside it, each READ job */
  int64_t step_ps; /* a step: to wake all ranks, clear gradients, and hear that all are done */
} zb_cost_overheads;

/* The analytic model: op_ps + the larger of moving its bytes and computing its products (by `products`). */
typedef struct zb_cost_rates {
  int64_t op_ps;
  double ps_per_byte; /* of what elementwise ops read and write */
} zb_cost_rates;

typedef struct zb_cost_product {
  int64_t flops, time_ps;
} zb_cost_product;

typedef struct zb_costs {
  zb_cost_machine machine;
  zb_cost_program program;
  zb_cost_stage *stages;
  zb_cost_rank *ranks;
  zb_cost_edge *edges;
  zb_cost_subprogram *subprograms;
  zb_cost_op *ops;
  zb_cost_message *messages;
  zb_cost_link link;
  zb_cost_overheads overheads;
  bool has_rates;
  zb_cost_rates rates;
  zb_cost_product *products; /* by rising flops; none: the rates of the built-in model */
  int64_t stage_count, rank_count, edge_count, subprogram_count, op_count, message_count, product_count;
  struct zb_map *op_index; /* text -> ops; made by reading */
} zb_costs;

/* Reads and checks a file. INVALID names the file, the place in it, what was expected and what was got; the hint says
 * what to do. */
ZB_API zb_status zb_costs_read(const char *path, zb_costs **out) ZB_MUST_USE;
/* The same of a text; name stands for the file in messages. */
ZB_API zb_status zb_costs_parse(const char *text, size_t bytes, const char *name, zb_costs **out) ZB_MUST_USE;
/* Writes the file, atomically. The same costs give the same bytes. */
ZB_API zb_status zb_costs_write(const zb_costs *costs, const char *path) ZB_MUST_USE;
/* Frees costs and all it points to; fine with NULL. */
ZB_API void zb_costs_destroy(zb_costs *costs);

/* Whether a file looks like costs at all ("format" is "zb-costs"): for tools that take several kinds of JSON. False if
 * it cannot be read; a pipe is not looked at. */
ZB_API bool zb_costs_is(const char *path);

/* Time of an op by its text, in ps; -1 if it was not measured. O(1). */
ZB_API int64_t zb_costs_op(const zb_costs *costs, const char *op);
/* A subprogram of this kind, stage and key, else of this kind and key on any stage; NULL if none was measured.
 * O(subprograms). */
ZB_API const zb_cost_subprogram *zb_costs_subprogram(const zb_costs *costs, const char *kind, int64_t stage,
                                                     uint64_t key);
/* Whether it is a phase of the optimizer. */
ZB_API bool zb_cost_is_optimizer(const zb_cost_subprogram *subprogram);
/* Time of a product of so many flops by the calibration, between the two nearest sizes; -1 without one. O(products). */
ZB_API int64_t zb_costs_product(const zb_costs *costs, double flops);

/* The schedule problem of the program that was measured: stage times, what they keep, edges, link, optimizer, base
 * memory. micro_batches 0: as measured. INVALID for a calibration. Part of the schedule library. Release with
 * zb_problem_data_deinit; on failure it is empty. */
ZB_API zb_status zb_costs_problem(const zb_costs *costs, int micro_batches, zb_problem_data *out) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
