/* What a collective is carried as: SEND, RECV and ADD. Private to runtime/plan, but for zb_plan_expand (plan.h).
 *
 * A collective of k members becomes messages between pairs, so that every transport has it, with the same bits:
 *   all-gather        member a sends its parts to every other member.
 *   reduce-scatter    member a sends shard b of its buffers to member b, which adds what came, in the order of members,
 * by a subprogram of its own (ADD), onto its shard. all-reduce        a reduce-scatter, then member a sends its shard,
 * which is a sum now, to every other member: a ring's bytes, 2 (k - 1) / k of the buffer out and in. The messages of a
 * phase go in rounds: in round d member a sends to the d-th member after it, so no rank is the target of all at once.
 * They are numbered in this order where the collective stands among the messages.
 */
#ifndef ZB_PLAN_EXPAND_H
#define ZB_PLAN_EXPAND_H

#include "runtime/plan/plan.h"

/* The place of the rank among the members; -1: it is none. */
int zb_collective_member(const zb_plan *plan, const zb_plan_collective *collective, int rank);
/* The first part of a member of a collective that only gathers. */
uint32_t zb_collective_first_part(const zb_plan *plan, const zb_plan_collective *collective, int member);
/* Shard `member` of a buffer: bytes from its start. */
zb_plan_range zb_collective_shard(const zb_plan *plan, const zb_plan_collective *collective, uint32_t buffer,
                                  int member);

#endif
