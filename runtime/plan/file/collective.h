/* A collective of a plan: its members, their parts and shards, and the room that a sum needs. Functions of the plan
 * alone, thread-safe. What a collective is carried as: runtime/plan/mesh/expand.h. */
#pragma once

#include "runtime/plan/file/plan.h"

/* The rank of a member; the bytes of a part; how many parts a member of a collective that only gathers gives. */
static inline int zb_collective_rank(const zb_plan *plan, const zb_plan_collective *collective, int member) {
  return (int)plan->pool_u64[collective->members.begin + (uint32_t)member];
}
static inline uint64_t zb_collective_size(const zb_plan *plan, const zb_plan_collective *collective, uint32_t part) {
  return plan->pool_u64[collective->sizes.begin + part];
}
static inline uint32_t zb_collective_part_count(const zb_plan *plan, const zb_plan_collective *collective, int member) {
  return (uint32_t)plan->pool_u64[collective->counts.begin + (uint32_t)member];
}
/* The place of the rank among the members; -1: it is none. */
int zb_collective_member(const zb_plan *plan, const zb_plan_collective *collective, int rank);
/* The first part of a member of a collective that only gathers. */
uint32_t zb_collective_first_part(const zb_plan *plan, const zb_plan_collective *collective, int member);
static inline bool zb_collective_adds_gradients(const zb_plan_collective *collective) {
  return zb_collective_adds(collective->kind) && collective->payload == ZB_PAYLOAD_GRADIENTS;
}
/* Where the sum of a buffer of a job is: in its place, or of a micro-batch in the gradients. */
zb_plan_range zb_collective_sum(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job, uint32_t buffer);
/* Of an expanded plan: the collective of which a message carries a piece; NULL: of none. */
static inline const zb_plan_collective *zb_plan_carried(const zb_plan *plan, const zb_plan_message *message) {
  const int of = message->derived.part_of;
  return of && plan->derived.carried ? &plan->derived.carried[of - 1] : NULL;
}
/* Whether two collectives are of one kind, and their sizes one list; is_alike: of the same members, too, so that they
 * do the same to equal lists of parts. Gathers for jobs of one function are, and sums of its micro-batches. */
bool zb_collective_moves_alike(const zb_plan_collective *a, const zb_plan_collective *b);
bool zb_collective_is_alike(const zb_plan *plan, const zb_plan_collective *a, const zb_plan_collective *b);
/* Room that a member of `members` needs for what the others send of buffers of these sizes. */
uint64_t zb_landing_bytes(const uint64_t *sizes, uint32_t count, uint64_t members, zb_dtype dtype);
/* Replicas run the same lists, and their collectives join ranks that stand at the same place of them: what holds for a
 * few holds for all. So no more are proven than show every place in a sum: first, between others, last. */
enum { ZB_REPLICAS_PROVEN = 3 };
/* The same for a sum over replicas, which is proven with ZB_REPLICAS_PROVEN of them where there are more: the shards of
 * fewer are larger, and each begins at a multiple of the alignment. */
uint64_t zb_landing_room(const uint64_t *sizes, uint32_t count, int replicas, zb_dtype dtype);
/* Shard `member` of a buffer: bytes from its start. */
zb_plan_range zb_collective_shard(const zb_plan *plan, const zb_plan_collective *collective, uint32_t buffer,
                                  int member);
/* Room that a member needs for what others send of the buffers. */
uint64_t zb_collective_landing_bytes(const zb_plan *plan, const zb_plan_collective *collective);
/* There the shards that members send of one buffer lie side by side: of so many members, and what each takes. */
uint64_t zb_collective_landing_members(const zb_plan *plan, const zb_plan_collective *collective);
uint64_t zb_collective_landing_each(const zb_plan *plan, const zb_plan_collective *collective, uint32_t buffer);
