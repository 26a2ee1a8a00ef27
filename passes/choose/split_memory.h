/* The least memory that a rank takes with any choice of gradients in B: what lies beside the frames of its stages.
 *
 * A gradient that B computes keeps nothing for W. But what B made for W alone, and kept in a frame, is then a value of
 * B's workspace, and a message that W would have kept needs a place of its own while B runs. */
#pragma once

#include "passes/stages/jobs/problem.h"
#include "passes/stages/functions/w_groups.h"

typedef struct zb_b_stage zb_b_stage;

/* What a job changes: bytes that it adds when it starts and removes when it ends, and messages beside them. */
typedef struct zb_split_change {
  int64_t keep, release, messages;
} zb_split_change;

typedef struct zb_split_memory {
  zb_w_groups *w;
  int stage_count;
  const int *stage_rank;
  zb_b_stage *stages;
  int64_t *fixed;           /* [ranks]: parameters, their state and gradients, constants, the step */
  int64_t *workspace;       /* [ranks]: of jobs that are neither B nor W */
  zb_split_change *changes; /* [stages * ZB_KIND_COUNT], for counts of a rank's peak */
} zb_split_memory;

/* base: the framed program with everything split. Lives in the arena. MEMORY. O(operands). */
zb_status zb_split_memory_build(zb_arena *arena, zb_w_groups *w, const zb_module_problem *base,
                                zb_split_memory *out) ZB_MUST_USE;

/* Bytes of a rank beside frames and messages, with the groups as they stand: what is fixed, and the workspace of its
 * largest job. No plan takes less, for B's workspace is counted where most of it is in use. O(ops of B and W). */
int64_t zb_split_beside(const zb_split_memory *it, int rank);

/* Bytes of messages that lie beside the frames while B of a stage runs: gradients that come and go, as far as the stage
 * does not keep them for W. */
int64_t zb_split_messages(const zb_split_memory *it, int stage);

/* Ops of B and W of a rank. */
int zb_split_ops(const zb_split_memory *it, int rank);
