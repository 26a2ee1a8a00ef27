/* The rules of the proof, a function or more each; private to runtime/plan. Each assumes a plan that passed
 * zb_plan_check. */
#pragma once

#include "runtime/plan/file/access.h"
#include "runtime/plan/file/check.h"

typedef enum zb_plan_rule {
#define ZB_PLAN_RULE(name, holds) ZB_RULE_##name,
#include "runtime/plan/proof/rules.def"
#undef ZB_PLAN_RULE
} zb_plan_rule;
/* Ends a message with the name of the rule: ZB_RULE(dataflow, "rank %d ..", rank). */
#define ZB_RULE_OF(rule, status) zb_status_note(status, "rule \"%s\" of plans", ((void)ZB_RULE_##rule, #rule))
#define ZB_RULE(rule, ...) ZB_RULE_OF(rule, ZB_ERROR(INVALID, __VA_ARGS__))

/* Rule "dataflow" for ranks first to first + count - 1, which are replicas of one (at most ZB_REPLICAS_PROVEN):
 * contents of the slots of each and what is in flight. A rank that has a status is passed over; where the first one
 * has, or gets, one, so are all others, whose jobs are mostly the same. */
void zb_verify_dataflow(const zb_plan *plan, int first, int count, zb_access *const *accesses, zb_status *statuses);
/* Rule "owners": what each rank saves, and that nothing is missing. */
zb_status zb_verify_owners(const zb_plan *plan) ZB_MUST_USE;
/* Rule "buffers": what is kept from micro-batch to micro-batch is the business of one stage. Of a step. */
zb_status zb_verify_buffers(const zb_plan_rank *rank, const zb_access *accesses) ZB_MUST_USE;
/* Of replicas: buffers come from the first one. Of the plan of all of them, or of a few, a list of a step. */
zb_status zb_verify_shared_buffers(const zb_plan *plan) ZB_MUST_USE;
/* Rule "settings": what a session writes before each step, and who reads it. */
zb_status zb_verify_settings(const zb_plan *plan) ZB_MUST_USE;
/* Where the settings of a rank lie; writer: the index. False: out of memory. */
bool zb_setting_places(const zb_plan_rank *rank, zb_intervals *out) ZB_MUST_USE;
/* Rules "collectives", "sums" and "norms": who takes part in a collective, which sums of gradients an optimizer adds,
 * and what the factor that clips them is made of. zb_verify_sums: the latter two. */
zb_status zb_verify_collectives(const zb_plan *plan) ZB_MUST_USE;
zb_status zb_verify_sums(const zb_plan *plan) ZB_MUST_USE;
/* Rule "beside" for one rank: what runs on its second clock shares no memory with the jobs that run meanwhile. */
zb_status zb_verify_beside(const zb_plan *plan, int rank, const zb_access *accesses) ZB_MUST_USE;
/* Rule "groups": where the sums of groups of micro-batches lie. */
zb_status zb_verify_groups(const zb_plan *plan) ZB_MUST_USE;
/* Rule "shards": sums over shards, and parts of parameters. */
zb_status zb_verify_shards(const zb_plan *plan) ZB_MUST_USE;
/* Rule "woven": what runs beside sums over shards. */
zb_status zb_verify_woven(const zb_plan *plan) ZB_MUST_USE;
/* Rule "sharding": what replicas have a part of each. Of the plan of one replica. */
zb_status zb_verify_sharding(const zb_plan *plan) ZB_MUST_USE;
/* Of it: where replicas have a part of every parameter, who reads one, and what is gathered for that (gathered.c). */
zb_status zb_verify_gathered(const zb_plan *plan, const zb_plan_rank *rank) ZB_MUST_USE;
/* The last job before number `index` that has one of its bases in a range of the slots, and which; -1: none has. */
int zb_sharding_maker(const zb_plan_rank *rank, int index, zb_plan_range range, uint32_t *base);
/* The place of an operand of base 0, or of `bytes` that a collective of parts moves, as replica 0 would have it. */
uint64_t zb_sharding_place(const zb_plan *plan, const zb_plan_rank *rank, uint64_t offset, uint64_t bytes);
/* Of a weighted plan: a sum of losses and its weight, side by side. */
enum { ZB_WEIGHT_NUMBERS = 2 };
bool zb_weight_is_pair(const zb_plan_operand *operand, zb_dtype dtype);
/* Whether the pair at that offset of the arena gets, for every micro-batch, what F reports of it, and nothing else. */
bool zb_weight_is_reported(const zb_plan *plan, const zb_plan_rank *rank, uint64_t offset);
/* Rules "messages", "deadlock", "reports": between ranks. */
zb_status zb_verify_messages(const zb_plan *plan) ZB_MUST_USE;
/* Rule "deadlock" alone: the jobs of the ranks, as far as they go. */
zb_status zb_verify_progress(const zb_plan *plan) ZB_MUST_USE;
/* Rule "validation": what runs before the verdict of a step, and what is done again after it. */
zb_status zb_verify_validation(const zb_plan *plan) ZB_MUST_USE;
