/* What travels between the ranks of a scheduled program, in one global order: see transfers.c. */
#pragma once

#include "passes/stages/jobs/problem.h"
#include "runtime/plan/file/plan.h"
#include "passes/tables.h"

/* The schedule with its simulated times. */
typedef struct zb_timetable {
  zb_module_problem p;
  zb_order order;
  zb_simulation simulation;
  int replicas;   /* of all ranks */
  bool evaluates; /* it is of an evaluation: F stands for E, and there is no B and W */
  int *positions; /* [(stage * ZB_KIND_COUNT + kind) * micro-batches + m] -> position in its rank's order */
} zb_timetable;

/* One member of a gather and what it gives: the accumulators of the parameter, one a use; or parts of the frame of
 * norms, each as long as its numbers lie side by side. */
typedef struct zb_gather_member {
  int rank;
  ZB_LIST(zb_entry) sums;
  ZB_LIST(zb_plan_range) parts;
} zb_gather_member;

/* What several ranks exchange once a step. */
typedef enum zb_gather_kind {
  ZB_GATHER_SUMS,       /* of a parameter that several ranks update: each gets the accumulators of all others */
  ZB_GATHER_NORM,       /* what every rank gives to the norm */
  ZB_REDUCE_NORM,       /* of one rank and its replicas: of numbers of parts of gradients those of whole ones */
  ZB_REDUCE_SUMS,       /* of one rank and its replicas: its accumulators become the sums of all of them */
  ZB_GATHER_BUFFERS,    /* of one rank and its replicas: each gets those of replica 0 */
  ZB_GATHER_PARAMETERS, /* of one rank and its replicas: each gets the parts that the others updated */
  ZB_GATHER_FOR_JOBS    /* of one rank and its replicas: parameters that a job reads, in a frame of their own */
} zb_gather_kind;

typedef struct zb_gather {
  zb_gather_kind kind;
  const char *parameter;             /* of ZB_GATHER_SUMS */
  ZB_LIST(zb_gather_member) members; /* by rank */
  MlirType type;                     /* of every accumulator */
  int position;                      /* of ZB_REDUCE_SUMS and ZB_GATHER_FOR_JOBS: before which job of its rank */
  int64_t lead_ps;                   /* of it, too: zb_bucket.lead_ps */
  int stage, frame, micro_batch; /* of it, where the gradients of a micro-batch are summed, which frame that has; else
                                    micro_batch is -1 */
  const int64_t *into;           /* then: [part] where in the frame of gradients it is added to; else NULL */
  /* Of ZB_GATHER_FOR_JOBS: of which stage; for which kind of job it is made first; its micro-batch, -1: all; into:
   * where in the frame that is gathered; pools: in which pool of the rank the own part lies. */
  zb_kind job_kind;
  const int64_t *pools;
} zb_gather;

/* A message of a hop, or a gather, which has members instead of a source and a destination (-1). Its number is its
 * index in the list. */
typedef struct zb_rank_transfer {
  int64_t time;     /* when it can start */
  int64_t produced; /* when its producer ends */
  const zb_hop *hop;
  const zb_gather *gather;
  int source, destination; /* ranks */
  int source_stage, destination_stage;
  int micro_batch;                  /* -1 of a gather */
  int send_position, recv_position; /* before which job of the rank */
} zb_rank_transfer;

typedef struct zb_transfers {
  ZB_LIST(zb_rank_transfer) list; /* by number */
  ZB_LIST(zb_gather) gathers;
} zb_transfers;

/* Where a rank must know whether the step before was clipped: before the receives of that position of its order from
 * that message on. */
typedef struct zb_verdict_place {
  int position, message;
} zb_verdict_place;

/* [rank] the latest places before the first B such that no message is received before its rank's and sent behind that
 * of the other. INVALID where a rank trains nothing, as it gets no norm. */
zb_status zb_verdicts_find(zb_arena *arena, const zb_timetable *t, const zb_transfers *transfers,
                           zb_verdict_place **out) ZB_MUST_USE;

zb_status zb_transfers_find(zb_arena *arena, const zb_timetable *t, zb_transfers *out) ZB_MUST_USE;
/* Writes zb.messages, those of an evaluation after those of a step, and zb.members where there are gathers. */
zb_status zb_transfers_write(zb_arena *arena, const zb_timetable *t, const zb_transfers *step,
                             const zb_transfers *evaluation) ZB_MUST_USE;

/* The timetable of an evaluation: micro-batches in order, each stage as soon as it can, the last stages first, so that
 * values are used soon. A program without one: the problem has no stages. */
zb_status zb_evaluation_timetable(zb_arena *arena, MlirModule module, int micro_batches, zb_timetable *out) ZB_MUST_USE;
