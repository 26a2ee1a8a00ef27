/* What runs beside sums over shards: segments of jobs (zb_plan_segment of runtime/plan/file/plan.h). Private to
 * runtime/plan and to what decides of them. Thread-safe. */
#pragma once

#include "runtime/plan/file/plan.h"

/* Segment number `segment` of the job `job` runs while sum number `sum` of the job `host` travels. */
typedef struct zb_woven {
  int host, sum, job, segment;
} zb_woven;

/* All segments of a rank, by host, then sum, then job: the order in which they run. *out is NULL where there are none;
 * released by zb_free. MEMORY. O(n log n) of segments. */
zb_status zb_woven_of(const zb_plan_rank *rank, zb_woven **out, size_t *count) ZB_MUST_USE;
/* Whether a rank has jobs of which something runs ahead. */
bool zb_plan_is_woven(const zb_plan *plan);
/* Takes that back, in a plan of the caller: each job runs at its place, with the same bits. */
void zb_plan_unweave(zb_plan *plan);

/* Whether an instruction is a sum over shards, or gathers or scatters what they have. */
bool zb_is_shard_sum(const zb_plan_instruction *instruction);
/* Of those the one that is the whole: the larger of what it takes and what it gives. */
const zb_plan_operand *zb_shard_sum_whole(const zb_plan_instruction *sum);
/* What a collective of shards of so many elements in all takes by the cost model: one phase or two, in each of which a
 * shard sends all pieces but its own over its link, the largest of which decides, and the jobs that post them, add, and
 * go on. */
typedef struct zb_sum_costs {
  int64_t latency_ps, wake_ps, job_ps;
  double ps_per_byte;
} zb_sum_costs;
int64_t zb_sum_over_shards_ps(const zb_sum_costs *costs, zb_collective_kind kind, int64_t elements,
                              int64_t element_bytes, int64_t shards);

/* What it takes by the costs of the plan. */
int64_t zb_shard_sum_ps(const zb_plan *plan, const zb_plan_instruction *sum);
/* Of a rank: what of the time of each of its subprograms are sums over shards, hidden or not. ps: subprogram_count. */
void zb_sums_of_subprograms(const zb_plan *plan, const zb_plan_rank *rank, int64_t *ps);
/* What they take in the jobs of a step, and for how long of that segments of others run. MEMORY. */
zb_status zb_weave_hidden(const zb_plan *plan, const zb_plan_rank *rank, int64_t *all_ps,
                          int64_t *hidden_ps) ZB_MUST_USE;
/* When each instruction of a subprogram begins, and last when it ends, if it takes `time_ps` with its sums, and these
 * took no time: by the times of instructions, or where these are not known by their number. begins_ps:
 * instruction_count + 1. */
void zb_instruction_times(const zb_plan *plan, const zb_plan_subprogram *subprogram, int64_t time_ps,
                          int64_t *begins_ps);
/* Of a rank: what each of its segments takes. ps: segment_count. MEMORY. */
zb_status zb_segment_times(const zb_plan *plan, const zb_plan_rank *rank, int64_t *ps) ZB_MUST_USE;
/* How much longer (or, negative, shorter) than its subprogram each job of a rank takes by what runs beside its sums,
 * and by what of it runs beside those of others: change_ps[job], zeros before. MEMORY. */
zb_status zb_weave_times(const zb_plan *plan, const zb_plan_rank *rank, int64_t *change_ps) ZB_MUST_USE;
