/* Segments of jobs and what they take. Tests: test/runtime/plan/compiled/weave_test.c, test/e2e/weave.py */
#include "runtime/plan/mesh/weave.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/plan/file/check.h"

/* ---- Which ---- */

bool zb_plan_is_woven(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r)
    if (plan->ranks[r].segment_count > 0) return true;
  return false;
}

void zb_plan_unweave(zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r) {
    for (int i = 0; i < plan->ranks[r].job_count && plan->ranks[r].segment_count > 0; ++i)
      plan->ranks[r].jobs[i].segments = (zb_plan_slice){0, 0};
    plan->ranks[r].segment_count = 0;
  }
}

static int compare(const void *x, const void *y) {
  const zb_woven *a = x, *b = y;
  if (a->host != b->host) return a->host < b->host ? -1 : 1;
  if (a->sum != b->sum) return a->sum < b->sum ? -1 : 1;
  return a->job < b->job ? -1 : a->job > b->job;
}

zb_status zb_woven_of(const zb_plan_rank *rank, zb_woven **out, size_t *count) {
  size_t all = 0;
  *out = NULL;
  *count = 0;
  for (int i = 0; i < rank->job_count && rank->segment_count > 0; ++i)
    all += rank->jobs[i].segments.count;
  if (all == 0) return NULL;
  zb_woven *list = *out = zb_alloc(all * sizeof *list);
  if (!list) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->job_count; ++i)
    for (uint32_t s = 0; s < rank->jobs[i].segments.count; ++s) {
      const int segment = (int)(rank->jobs[i].segments.begin + s);
      list[(*count)++] = (zb_woven){.host = zb_plan_job_before(rank, i, rank->segments[segment].host),
                                    .sum = rank->segments[segment].sum,
                                    .job = i,
                                    .segment = segment};
    }
  qsort(list, all, sizeof *list, compare);
  return NULL;
}

/* ---- Times ---- */

bool zb_is_shard_sum(const zb_plan_instruction *instruction) {
  return zb_collective_of_op(instruction->op) != ZB_COLLECTIVE_COUNT;
}

const zb_plan_operand *zb_shard_sum_whole(const zb_plan_instruction *sum) {
  return zb_collective_of_op(sum->op) == ZB_COLLECTIVE_REDUCE_SCATTER ? &sum->inputs[0] : &sum->outputs[0];
}

int64_t zb_sum_over_shards_ps(const zb_sum_costs *costs, zb_collective_kind kind, int64_t elements,
                              int64_t element_bytes, int64_t shards) {
  const bool adds = zb_collective_adds(kind);
  const int phases = adds + zb_collective_gathers(kind);
  const int64_t piece = (elements + shards - 1) / shards * element_bytes, jobs = phases * 2 * (shards - 1) + adds + 1;
  const double moving = (double)((shards - 1) * piece) * costs->ps_per_byte;
  const double all =
      phases * ((double)costs->latency_ps + (double)costs->wake_ps + moving) + (double)(jobs * costs->job_ps);
  if (!(all < 9e18)) return INT64_MAX;
  return phases * (costs->latency_ps + costs->wake_ps + llround(moving)) + jobs * costs->job_ps;
}

int64_t zb_shard_sum_ps(const zb_plan *plan, const zb_plan_instruction *sum) {
  const zb_sum_costs costs = {plan->link_latency_ps, plan->link_wake_ps, plan->job_ps, plan->link_ps_per_byte};
  const zb_plan_operand *whole = zb_shard_sum_whole(sum);
  const int64_t element = (int64_t)zb_dtype_bytes(whole->dtype);
  return zb_sum_over_shards_ps(&costs, zb_collective_of_op(sum->op), zb_operand_extent(whole) / element, element,
                               plan->shards);
}

static int64_t sums_of(const zb_plan *plan, const zb_plan_subprogram *subprogram) {
  int64_t all = 0;
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    if (!zb_is_shard_sum(&subprogram->instructions[i])) continue;
    if (__builtin_add_overflow(all, zb_shard_sum_ps(plan, &subprogram->instructions[i]), &all)) return INT64_MAX;
  }
  return all;
}

void zb_sums_of_subprograms(const zb_plan *plan, const zb_plan_rank *rank, int64_t *ps) {
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *it = &rank->subprograms[s];
    const int64_t sums = zb_plan_shards(plan) > 1 ? sums_of(plan, it) : 0;
    ps[s] = sums < it->time_ps ? sums : it->time_ps;
  }
}

static double weight_of(const zb_plan_instruction *instruction, bool timed) {
  if (zb_is_shard_sum(instruction)) return 0;
  return timed ? (double)instruction->time_ps : 1;
}

void zb_instruction_times(const zb_plan *plan, const zb_plan_subprogram *subprogram, int64_t time_ps,
                          int64_t *begins_ps) {
  const int count = subprogram->instruction_count;
  const int64_t sums = sums_of(plan, subprogram);
  double all = 0, done = 0;
  bool timed = false;
  for (int i = 0; i < count; ++i)
    timed |= !zb_is_shard_sum(&subprogram->instructions[i]) && subprogram->instructions[i].time_ps > 0;
  for (int i = 0; i < count; ++i)
    all += weight_of(&subprogram->instructions[i], timed);
  const int64_t left = time_ps > sums ? time_ps - sums : 0;
  for (int i = 0; i < count; ++i) {
    begins_ps[i] = done < all ? (int64_t)((double)left * (done / all)) : left;
    done += weight_of(&subprogram->instructions[i], timed);
  }
  begins_ps[count] = left;
}

zb_status zb_segment_times(const zb_plan *plan, const zb_plan_rank *rank, int64_t *ps) {
  for (int i = 0; i < rank->segment_count; ++i) {
    const zb_plan_segment *segment = &rank->segments[i];
    const zb_plan_subprogram *subprogram = &rank->subprograms[segment->subprogram];
    int64_t *begins = zb_alloc(((size_t)subprogram->instruction_count + 1) * sizeof *begins);
    if (!begins) return ZB_OUT_OF_MEMORY();
    zb_instruction_times(plan, subprogram, subprogram->time_ps, begins);
    ps[i] = begins[segment->end] - begins[segment->begin];
    zb_free(begins);
  }
  return NULL;
}

/* The number-th sum of a subprogram. */
static const zb_plan_instruction *sum_at(const zb_plan_subprogram *subprogram, int number) {
  const zb_plan_instruction *at = subprogram->instructions;
  for (; !zb_is_shard_sum(at) || number-- > 0; ++at) {
  }
  return at;
}

/* The sums of a rank beside which something runs, one after the other. */
typedef struct filled_sums {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  zb_woven *woven;
  size_t count, next;
  int64_t *parts; /* [segment] what it takes */
  int64_t *change_ps;
} filled_sums;

static zb_status filled_init(filled_sums *it, const zb_plan *plan, const zb_plan_rank *rank, int64_t *change_ps) {
  *it = (filled_sums){.plan = plan, .rank = rank, .change_ps = change_ps};
  it->parts = zb_alloc(((size_t)rank->segment_count + 1) * sizeof *it->parts);
  if (!it->parts) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_segment_times(plan, rank, it->parts));
  return zb_woven_of(rank, &it->woven, &it->count);
}

static void filled_deinit(filled_sums *it) {
  zb_free(it->parts);
  zb_free(it->woven);
}

/* The next one: its host, what runs beside it, and what it takes. What of jobs runs there leaves their place. */
static bool filled_next(filled_sums *it, int *host, int64_t *beside_ps, int64_t *takes_ps) {
  if (it->next == it->count) return false;
  const zb_woven first = it->woven[it->next];
  *host = first.host;
  *beside_ps = 0;
  for (; it->next < it->count && it->woven[it->next].host == first.host && it->woven[it->next].sum == first.sum;
       ++it->next) {
    const zb_woven *at = &it->woven[it->next];
    *beside_ps += it->parts[at->segment];
    if (it->change_ps) it->change_ps[at->job] -= it->parts[at->segment];
  }
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[it->rank->jobs[first.host].subprogram];
  *takes_ps = zb_shard_sum_ps(it->plan, sum_at(subprogram, first.sum));
  return true;
}

zb_status zb_weave_times(const zb_plan *plan, const zb_plan_rank *rank, int64_t *change_ps) {
  filled_sums it;
  int host;
  int64_t beside, takes;
  zb_status status = filled_init(&it, plan, rank, change_ps);
  /* Who comes when all is there goes on at once, others wake up. */
  while (!status && filled_next(&it, &host, &beside, &takes))
    if (beside >= takes - plan->link_wake_ps) change_ps[host] += beside - takes;
  filled_deinit(&it);
  return status;
}

zb_status zb_weave_hidden(const zb_plan *plan, const zb_plan_rank *rank, int64_t *all_ps, int64_t *hidden_ps) {
  filled_sums it;
  int host;
  int64_t beside, takes, *sums = zb_alloc(((size_t)rank->subprogram_count + 1) * sizeof *sums);
  *all_ps = *hidden_ps = 0;
  if (!sums) return ZB_OUT_OF_MEMORY();
  zb_sums_of_subprograms(plan, rank, sums);
  for (int i = rank->load_count; i < zb_plan_step_end(rank); ++i)
    if (rank->jobs[i].subprogram >= 0) *all_ps += sums[rank->jobs[i].subprogram];
  zb_free(sums);
  zb_status status = filled_init(&it, plan, rank, NULL);
  while (!status && filled_next(&it, &host, &beside, &takes))
    *hidden_ps += beside < takes ? beside : takes;
  filled_deinit(&it);
  return status;
}
