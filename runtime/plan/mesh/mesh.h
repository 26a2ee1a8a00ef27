/* Plans made of a plan: of one list alone, of all replicas, of all shards, with collectives as messages. */
#pragma once

#include "runtime/plan/file/collective.h"
#include "runtime/plan/mesh/weave.h"

/* A plan of one list alone: *out has its jobs (of a step after those of LOAD), its subprograms, messages and regions,
 * and no evaluation beside it. So what proves, simulates or draws a plan needs to know one list only. It borrows what
 * did not change, so `plan` must outlive it. list EVALUATION: of a plan that evaluates. MEMORY. */
zb_status zb_plan_view(const zb_plan *plan, zb_plan_list list, zb_plan **out) ZB_MUST_USE;

/* Whether no job is of a collective, none is followed by sums of its group, and none runs ahead: what executors, clocks
 * and the proof of memory take. */
static inline bool zb_plan_is_expanded(const zb_plan *plan) {
  return plan->collective_count == 0 && plan->sum_groups < 2 && !zb_plan_is_woven(plan);
}
/* Carries collectives by messages: *out is the same plan without collectives, each job of one replaced by SEND, RECV
 * and ADD. It borrows what did not change, so `plan` must outlive it. Where there are none *out is NULL. Executors see
 * only such plans; proof and simulator expand by themselves. The order of sums and the numbers of messages are
 * functions of the plan alone. MEMORY. */
zb_status zb_plan_expand(const zb_plan *plan, zb_plan **out) ZB_MUST_USE;
/* The same for an owner: *plan is replaced by the expanded plan, which takes its memory. */
zb_status zb_plan_expand_own(zb_plan **plan) ZB_MUST_USE;
/* The plan of all replicas together, as an ordinary plan: rank r of replica c is rank r * replicas + c, its
 * micro-batches are those from c * micro_batches on, and collectives over replicas list their members. Values that are
 * in the file once have one owner, of replica 0. It borrows what did not change, so `plan` must outlive it. Where there
 * are no replicas *out is NULL. `replicas`: so many of them, 2 or more, whose sums take as long as those of all; 0:
 * those of the plan. What ranks do is a function of the plan and their replica alone. MEMORY. */
zb_status zb_plan_replicate(const zb_plan *plan, int replicas, zb_plan **out) ZB_MUST_USE;
/* The plan of all shards together, as an ordinary plan: shard c of rank r is rank r * shards + c. Each runs the jobs of
 * its rank on its parts; a job whose subprogram has collectives of shards (all_reduce) becomes several, up to each and
 * behind it, with a collective between them. Shard 0 reports what is of a micro-batch. Replicas come before. It borrows
 * what did not change, so `plan` must outlive it. Where there are no shards *out is NULL. `shards`: as `replicas`
 * above. What ranks do is a function of the plan and their shard alone. MEMORY. */
zb_status zb_plan_shard(const zb_plan *plan, int shards, zb_plan **out) ZB_MUST_USE;
/* Both for an owner: *plan is replaced by the plan of all replicas and shards, which takes its memory. */
zb_status zb_plan_unfold_own(zb_plan **plan) ZB_MUST_USE;
/* Sets shard_sums of a plan that has all its ranks. MEMORY. */
zb_status zb_plan_count_shard_sums(zb_plan *plan) ZB_MUST_USE;

/* Of an expanded plan: whether a message brings numbers of the norm to where CLIP reads them, for which a verdict
 * waits; those of a sum over replicas, which comes before, a step waits for. */
static inline bool zb_plan_brings_norms(const zb_plan *plan, const zb_plan_message *message) {
  const zb_plan_collective *of = zb_plan_carried(plan, message);
  return message->payload == ZB_PAYLOAD_NORMS && !(of && zb_collective_adds(of->kind));
}
/* Of an expanded plan: whether a message is a piece of a sum that runs beside the jobs. Such have channels of their own
 * between two ranks: which of them goes first is then said by the lists alone, not by when a rank comes to what. */
static inline bool zb_plan_travels_beside(const zb_plan *plan, const zb_plan_message *message) {
  const zb_plan_collective *of = zb_plan_carried(plan, message);
  return of && message->payload != ZB_PAYLOAD_SHARDS && zb_collective_adds(of->kind);
}
/* What the cost model of messages counts: pieces of a sum that a rank sends at the same time share its link. */
static inline uint64_t zb_plan_timed_bytes(const zb_plan_message *message) {
  return message->derived.phase_bytes > message->bytes ? message->derived.phase_bytes : message->bytes;
}
