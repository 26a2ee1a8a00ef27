/* How far the lists of two replicas of a rank are the same: see same_jobs.h.
 *
 * Replicas are copies of one list, and differ in what collectives move: mostly behind the last W. What is the same need
 * not be walked again (dataflow.c). Nothing here trusts how the copies were made: each job is compared, by all that the
 * rule "dataflow" reads of it. Both lists have messages for collectives (expand.h).
 *
 * Tests: test/runtime/plan/compiled/same_jobs_test.c. */
#include "runtime/plan/proof/same_jobs.h"
#include "runtime/plan/file/ranks.h"

#include <string.h>

typedef struct both {
  const zb_plan *plan;
  const zb_plan_rank *a, *b;
  int32_t ahead; /* micro-batches of b are so many behind those of a */
} both;

static bool same_bytes(const void *a, const void *b, size_t bytes) {
  return a == b || bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool same_micro_batch(const both *it, int32_t a, int32_t b) { return a < 0 ? a == b : b == a + it->ahead; }

/* Names of bases are for errors alone; of what each is a part is compared where that matters (take_signatures of
 * dataflow.c). */
static bool same_subprogram(const both *it, int32_t index) {
  const zb_plan_subprogram *a = &it->a->subprograms[index], *b = &it->b->subprograms[index];
  return a->kind == b->kind && a->stage == b->stage && a->instructions == b->instructions &&
         a->instruction_count == b->instruction_count && a->base_count == b->base_count &&
         same_bytes(a->base_bytes, b->base_bytes, (size_t)a->base_count * sizeof *a->base_bytes) &&
         a->loss_base == b->loss_base && a->loss_offset == b->loss_offset && a->outputs == b->outputs &&
         a->output_count == b->output_count && a->derived.places == 0 && b->derived.places == 0;
}

/* Messages of collectives are told apart by more than these fields. */
static bool same_message(const both *it, int32_t a_index, int32_t b_index) {
  if (a_index < 0 || b_index < 0) return a_index == b_index;
  const zb_plan_message *a = &it->plan->messages[a_index], *b = &it->plan->messages[b_index];
  return a->derived.part_of == 0 && b->derived.part_of == 0 && a->payload == b->payload &&
         a->source_stage == b->source_stage && a->destination_stage == b->destination_stage &&
         same_micro_batch(it, a->micro_batch, b->micro_batch);
}

static bool lies_in(zb_plan_range part, zb_plan_range region) {
  return part.offset >= region.offset && part.bytes <= region.bytes &&
         part.offset - region.offset <= region.bytes - part.bytes;
}

static bool same_parts(const both *it, const zb_plan_job *a, const zb_plan_job *b) {
  if (a->parts.count != b->parts.count) return false;
  const zb_plan_range *of_a = it->a->pool_ranges + a->parts.begin, *of_b = it->b->pool_ranges + b->parts.begin;
  for (uint32_t p = 0; p < a->parts.count; ++p)
    if (of_a[p].offset != of_b[p].offset || of_a[p].bytes != of_b[p].bytes ||
        !lies_in(of_a[p], it->a->regions[ZB_REGION_SLOTS]))
      return false;
  return true;
}

static bool same_job(const both *it, const zb_plan_job *a, const zb_plan_job *b) {
  return a->kind == b->kind && a->subprogram == b->subprogram && a->stage == b->stage && a->input == b->input &&
         a->output == b->output && same_micro_batch(it, a->micro_batch, b->micro_batch) &&
         same_message(it, a->message, b->message) && a->bases.count == b->bases.count &&
         a->waits.count == b->waits.count && (a->subprogram < 0 || same_subprogram(it, a->subprogram)) &&
         same_bytes(it->a->pool_u64 + a->bases.begin, it->b->pool_u64 + b->bases.begin,
                    a->bases.count * sizeof *it->a->pool_u64) &&
         same_bytes(it->a->pool_u32 + a->waits.begin, it->b->pool_u32 + b->waits.begin,
                    a->waits.count * sizeof *it->a->pool_u32) &&
         same_parts(it, a, b);
}

int zb_plan_same_jobs(const zb_plan *plan, int first, int other) {
  const both it = {plan, &plan->ranks[first], &plan->ranks[other],
                   zb_plan_first_micro_batch(plan, other) - zb_plan_first_micro_batch(plan, first)};
  int same = 0;
  if (it.a->load_count != it.b->load_count || it.a->subprogram_count != it.b->subprogram_count ||
      !same_bytes(it.a->regions, it.b->regions, sizeof it.a->regions))
    return 0;
  const int count = it.a->job_count < it.b->job_count ? it.a->job_count : it.b->job_count;
  while (same < count && same_job(&it, &it.a->jobs[same], &it.b->jobs[same]))
    ++same;
  return same;
}
