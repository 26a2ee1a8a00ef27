/* Ranks of a plan of a mesh: which replica and which shard one is, and what people are told of it. */
#pragma once

#include "runtime/plan/file/plan.h"

/* Where ranks are those of a mesh: replicas of a rank stand beside each other, and shards of a replica. */
static inline int zb_plan_mesh(const zb_plan *plan) { return plan->derived.mesh > 1 ? plan->derived.mesh : 1; }
static inline int zb_plan_shard_mesh(const zb_plan *plan) {
  return plan->derived.shard_mesh > 1 ? plan->derived.shard_mesh : 1;
}
static inline int zb_plan_rank_in_replica(const zb_plan *plan, int rank) {
  return rank / zb_plan_shard_mesh(plan) / zb_plan_mesh(plan);
}
static inline int zb_plan_replica_of(const zb_plan *plan, int rank) {
  return rank / zb_plan_shard_mesh(plan) % zb_plan_mesh(plan);
}
static inline int zb_plan_shard_of(const zb_plan *plan, int rank) { return rank % zb_plan_shard_mesh(plan); }
/* What people are told of ranks that follow each other: "rank 3", "ranks 4 to 7"; of a mesh with coordinates on
 * pipeline, replicas and shards, as far as there are some, "rank 3 (pp1-dp1)". Returns text, of ZB_RANK_TEXT_BYTES. */
enum { ZB_RANK_TEXT_BYTES = 144 };
const char *zb_plan_ranks_text(int replicas, int shards, int first, int count, char *text);
static inline const char *zb_plan_rank_text(const zb_plan *plan, int rank, char *text) {
  return zb_plan_ranks_text(zb_plan_mesh(plan), zb_plan_shard_mesh(plan), rank, 1, text);
}
/* What a message is of: "micro-batch 3", "sum over ranks 0 to 1 (pp0-dp0 to pp0-dp1)", "gathering from 4 of ranks 0 to
 * 6", "accumulators". Returns text, of ZB_MESSAGE_TEXT_BYTES. */
enum { ZB_MESSAGE_TEXT_BYTES = ZB_RANK_TEXT_BYTES + 48 };
const char *zb_plan_message_text(const zb_plan *plan, int message, char *text);
/* The micro-batches of a rank: so many, from its first on. */
static inline int zb_plan_own_micro_batches(const zb_plan *plan) { return plan->micro_batches / zb_plan_mesh(plan); }
static inline int zb_plan_first_micro_batch(const zb_plan *plan, int rank) {
  return zb_plan_replica_of(plan, rank) * zb_plan_own_micro_batches(plan);
}
