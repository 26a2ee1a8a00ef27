/* What zb_clocks runs: the jobs of one replica in an order in which each comes behind all that it waits for. Private to
 * runtime/plan. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/plan/clock/delays.h"
#include "runtime/plan/file/plan.h"

/* Along which axis a transfer goes: a message between ranks of one pipeline, or one phase of a sum over all replicas or
 * all shards of a rank, in which every member sends a message to every other. */
typedef enum zb_clock_axis { ZB_CLOCK_PIPELINE, ZB_CLOCK_REPLICAS, ZB_CLOCK_SHARDS } zb_clock_axis;

typedef struct zb_clock_transfer {
  zb_clock_axis axis;
  bool beside;      /* posted on the second clocks, where that takes no time */
  int64_t takes_ps; /* each message of it */
  int channel;      /* of messages, and of phases over replicas (the rank, or behind all ranks that of sums): which come
                       one after the other */
  int waits;        /* that ask for it, of all ranks in a step */
} zb_clock_transfer;

/* A wait for messages of a transfer: of a phase those that the rank sends, those that it receives, or both, in the
 * order in which they are posted. */
typedef struct zb_clock_wait {
  int transfer;
  bool sends, receives;
} zb_clock_wait;

typedef enum zb_clock_node_kind {
  ZB_CLOCK_RUN,  /* a job that takes time_ps, or none */
  ZB_CLOCK_POST, /* one side of a message, or all posts of a rank in a phase */
  ZB_CLOCK_PASS, /* the rank comes to a job of its second clock */
  ZB_CLOCK_END,  /* the rank waits for what it posted */
} zb_clock_node_kind;

typedef struct zb_clock_node {
  zb_clock_node_kind kind;
  int rank;
  bool second;    /* on the second clock of the rank */
  bool computes;  /* of RUN */
  bool one_shard; /* only shard 0 has it */
  int passed;     /* of PASS, and of what is on the second clock: which of the jobs that are passed */
  int transfer;   /* of POST */
  int64_t time_ps;
  uint64_t key; /* zb_delay_key */
  size_t first_wait, wait_count;
} zb_clock_node;

typedef struct zb_clock_lists {
  zb_arena memory;
  ZB_LIST(zb_clock_node) nodes;
  ZB_LIST(zb_clock_wait) waits;
  ZB_LIST(zb_clock_transfer) transfers;
  int rank_count;  /* of the pipeline */
  int channels;    /* of messages */
  int passed;      /* jobs that are passed, of all ranks */
  double bound_ps; /* no step takes longer, but for delays */
} zb_clock_lists;

/* *out_fits: whether the plan has nothing that zb_clocks does not do. Release with zb_clock_lists_deinit in any case.
 */
zb_status zb_clock_lists_init(const zb_plan *plan, zb_clock_lists *out, bool *out_fits) ZB_MUST_USE;
void zb_clock_lists_deinit(zb_clock_lists *lists);
