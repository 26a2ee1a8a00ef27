/* What a collective is carried as: SEND, RECV and ADD; and groups of micro-batches: FOLD. Private to runtime/plan, but
 * for zb_plan_expand (plan.h).
 *
 * A collective of k members becomes messages between pairs, so that every transport has it, with the same bits:
 *   all-gather        member a sends its parts to every other member.
 *   reduce-scatter    member a sends shard b of its buffers to member b. Member b adds the k shards b, its own among
 *                     them, in the order of members, by a subprogram of its own (ADD); its shard b then is the sum.
 *   all-reduce        a reduce-scatter; then member a sends its shard, which is now a sum, to every other member.
 *                     These are the bytes of a ring: 2 (k - 1) / k of the buffer out and in.
 *
 * Where replicas share optimizer state a collective over them is a reduce-scatter of gradients, whose ADD stands in
 * front of the first job that waits for it, and an all-gather of parameters. Where that job is another sum over
 * replicas, the ADD runs beside the others as well, and is done when a post of that sum is complete. Its buffers
 * consist of the parts of all replicas (zb_plan_part_bytes), so its shards are those parts.
 *
 * What is gathered apart (parameters of which every replica has a part) begins with a copy of the own parts to their
 * place among the others (a subprogram of kind ADD that `places`), from where they are sent.
 *
 * The jobs of an all-reduce, and the posts of a reduce-scatter, run beside the others (beside): on a second clock of
 * the rank, one after the other in the order of the list, each once the rank has come to its place in the list. So the
 * rank computes while sums travel, and waits only where a job waits for a post of theirs. To run them at their place
 * instead, one after the other with the rest, is right as well, and what a device with a queue does.
 *
 * Where a collective with a lead_ps stands behind a W, that W runs in parts: the collective is posted when the last
 * instruction that writes its buffers is done, unless values of the workspace would live across.
 *
 * The messages of a phase go in rounds: in round d member a sends to the d-th member after it, so no rank is the target
 * of all at once. In this order they take the numbers that follow at the place of the collective in the list.
 */
#pragma once

#include "runtime/plan/file/intervals.h"
#include "runtime/plan/file/plan.h"

/* How many all-reduces over shards the jobs of a rank make, and how many collectives of one phase; of one that is not
 * read none. MEMORY. */
zb_status zb_plan_sums_of_rank(const zb_plan_rank *rank, size_t counts[2]) ZB_MUST_USE;
/* INVALID unless the plan says how many these are, of a rank that is read. */
zb_status zb_plan_check_shard_sums(const zb_plan *plan, int rank) ZB_MUST_USE;

/* Before which instructions of a subprogram, and at its end, no value of the workspace lives: there it can be cut, and
 * devices that run some instructions as one lose none. cuts_at: instruction_count + 1. False: out of memory. */
bool zb_cuts_of(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, bool *cuts_at);

/* Where the W of a job can be cut for a buffer list: how many instructions come before the cut. No value of the
 * workspace lives across, and all that writes to the `count` ranges is in front. instruction_count: at its end alone;
 * 0: out of memory.
 */
int zb_part_cut(const zb_plan_rank *rank, const zb_plan_job *job, const zb_plan_range *ranges, uint32_t count);

/* Appends an instruction of one operand, for which there is room: out = op(in), or, of accumulate_add, out += in.
 * False: out of memory. */
bool zb_add_instruction(zb_plan *plan, zb_plan_subprogram *subprogram, const char *op, const zb_plan_operand *in,
                        const zb_plan_operand *out);
/* Whether an operand lies in the region gradients, in base 0, and how many bytes it has: what is in the region step,
 * parameters, .. is not meant. */
bool zb_fold_adds_to(const zb_plan_rank *rank, const zb_plan_operand *operand, uint64_t *out_bytes);
/* The sums that a job of a micro-batch adds to, by their places. False: out of memory. */
bool zb_fold_sums(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, zb_intervals *out);
/* How many buffers as large as the sums the region gradients has. */
uint64_t zb_fold_buffers(const zb_plan *plan);
/* Whether F, B or W adds to sums of gradients. */
bool zb_fold_adds(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram);
/* Whether a FOLD follows a job of a plan: it is the last of its group of micro-batches, and adds to sums. */
bool zb_fold_follows(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job);
/* Its subprogram, in the memory of another plan: adds the sums of the job to the totals of the groups before, see
 * fold.c. */
zb_status zb_fold_make(const zb_plan *plan, zb_plan *memory, const zb_plan_rank *rank, const zb_plan_job *job,
                       zb_plan_subprogram *out) ZB_MUST_USE;
