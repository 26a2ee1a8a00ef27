/* The rule "woven" of the verifier: what runs while sums over shards travel (segments of runtime/plan/file/plan.h).
 *
 * All other rules take a W at its place in the list. A segment of it runs ahead of that place, and so ahead of the sum
 * that travels meanwhile, of what follows that in its job, and of all jobs between. That changes nothing where none of
 * them writes to memory that the segment uses, or uses memory that it writes to; memory that a message reads or fills
 * is used until somebody has waited for it. Segments of a W run in their order, and behind those of every earlier job
 * that run at the same place or before, which is how the list has them. The workspace is memory like any other here.
 *
 * The answer for a segment and a job depends on their subprograms, and on how far apart their bases lie, alone, and is
 * remembered by that: most micro-batches are alike.
 *
 * Tests: test/runtime/plan/compiled/weave_test.c */
#include <inttypes.h>

#include "runtime/base/digest.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/mesh/weave.h"
#include "runtime/plan/proof/rules.h"

typedef struct woven {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  zb_map *clear; /* what was compared and shares no memory */
} woven;

/* Memory that an instruction uses; an empty one: none. */
typedef struct use {
  uint64_t begin, end;
  bool writes;
} use;

static uint64_t address_of(const woven *it, const zb_plan_job *job, uint32_t base) {
  return base ? it->rank->pool_u64[job->bases.begin + base - 1] : 0;
}

/* The number-th operand of an instruction: inputs, outputs, then its scratch. */
static use use_of(const woven *it, const zb_plan_job *job, const zb_plan_instruction *instruction, int number) {
  const int operands = instruction->input_count + instruction->output_count;
  if (number == operands)
    return (use){instruction->scratch_offset, instruction->scratch_offset + instruction->scratch_bytes, true};
  const bool writes = number >= instruction->input_count;
  const zb_plan_operand *operand =
      writes ? &instruction->outputs[number - instruction->input_count] : &instruction->inputs[number];
  if (operand->rank < 0) return (use){0};
  const uint64_t begin = address_of(it, job, operand->base) + operand->offset;
  return (use){begin, begin + (uint64_t)zb_operand_extent(operand), writes};
}

static int uses_of(const zb_plan_instruction *instruction) {
  return instruction->input_count + instruction->output_count + 1;
}

static bool meet(use a, use b) { return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end; }

/* Whether a segment shares memory with `with`; *out: a byte of it. */
static bool meets(const woven *it, const zb_plan_job *job, const zb_plan_segment *segment, use with, uint64_t *out) {
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[job->subprogram];
  for (int i = segment->begin; i < segment->end; ++i)
    for (int k = 0; k < uses_of(&subprogram->instructions[i]); ++k) {
      const use own = use_of(it, job, &subprogram->instructions[i], k);
      if (!meet(own, with)) continue;
      *out = own.begin > with.begin ? own.begin : with.begin;
      return true;
    }
  return false;
}

/* What the answer depends on: segment, the other's subprogram, its first instruction, how far apart bases lie. */
static uint64_t key_of(const woven *it, const zb_plan_job *job, int segment, const zb_plan_job *other, int from) {
  const int numbers[] = {segment, other->subprogram, from};
  zb_digest digest;
  zb_digest_begin(&digest);
  zb_digest_add(&digest, numbers, sizeof numbers);
  for (uint32_t a = 1; a <= job->bases.count; ++a)
    for (uint32_t b = 1; b <= other->bases.count; ++b) {
      const uint64_t apart = address_of(it, job, a) - address_of(it, other, b);
      zb_digest_add(&digest, &apart, sizeof apart);
    }
  return zb_digest_end(&digest);
}

static zb_status refuse(const woven *it, int job, int segment, int other, uint64_t byte) {
  char text[ZB_JOB_TEXT_BYTES], other_text[ZB_JOB_TEXT_BYTES];
  return ZB_RULE(woven,
                 "%s: its instructions %d to %d run ahead of %s, which uses arena byte %" PRIu64
                 " as well, and one of them writes to it",
                 zb_plan_job_text(it->plan, it->rank->rank, job, text), it->rank->segments[segment].begin,
                 it->rank->segments[segment].end, zb_plan_job_text(it->plan, it->rank->rank, other, other_text), byte);
}

/* A job that computes, from an instruction on. */
static zb_status verify_compute(woven *it, int index, int segment, int other, int from) {
  const zb_plan_job *job = &it->rank->jobs[index], *against = &it->rank->jobs[other];
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[against->subprogram];
  const void *key = (const void *)(uintptr_t)key_of(it, job, segment, against, from);
  if (zb_map_get(it->clear, key, NULL)) return NULL;
  for (int i = from; i < subprogram->instruction_count; ++i)
    for (int k = 0; k < uses_of(&subprogram->instructions[i]); ++k) {
      uint64_t byte;
      const use with = use_of(it, against, &subprogram->instructions[i], k);
      if (with.begin < with.end && meets(it, job, &it->rank->segments[segment], with, &byte))
        return refuse(it, index, segment, other, byte);
    }
  return zb_map_set(it->clear, key, 1) ? NULL : ZB_OUT_OF_MEMORY();
}

/* What a job moves by its parts: filled, unless it is known to be read alone. */
static zb_status verify_parts(const woven *it, int index, int segment, int other) {
  const zb_plan_job *against = &it->rank->jobs[other];
  for (uint32_t p = 0; p < against->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[against->parts.begin + p];
    const use with = {part.offset, part.offset + part.bytes, zb_job_flow(against->kind) != ZB_PARTS_OUT};
    uint64_t byte;
    if (meets(it, &it->rank->jobs[index], &it->rank->segments[segment], with, &byte))
      return refuse(it, index, segment, other, byte);
  }
  return NULL;
}

/* All of a job between, and what it has waited for. */
static zb_status verify_between(woven *it, int index, int segment, int other) {
  const zb_plan_job *against = &it->rank->jobs[other];
  ZB_TRY(verify_parts(it, index, segment, other));
  for (uint32_t w = 0; w < against->waits.count; ++w)
    ZB_TRY(verify_parts(it, index, segment, (int)it->rank->pool_u32[against->waits.begin + w]));
  return against->subprogram < 0 ? NULL : verify_compute(it, index, segment, other, 0);
}

/* Where a segment runs. */
typedef struct place {
  int host, sum;
} place;

static place place_of(const woven *it, int job, int segment) {
  return (place){zb_plan_job_before(it->rank, job, it->rank->segments[segment].host), it->rank->segments[segment].sum};
}

/* Whether all of a job has run when a segment at `at` does. */
static bool has_run(const woven *it, int job, place at) {
  const zb_plan_job *other = &it->rank->jobs[job];
  if (other->segments.count == 0) return false;
  const int last = (int)(other->segments.begin + other->segments.count) - 1;
  if (it->rank->segments[last].end < it->rank->subprograms[other->subprogram].instruction_count) return false;
  const place end = place_of(it, job, last);
  return end.host < at.host || (end.host == at.host && end.sum <= at.sum);
}

static int instruction_of_sum(const zb_plan_subprogram *subprogram, int sum) {
  int i = 0;
  for (; !zb_is_shard_sum(&subprogram->instructions[i]) || sum-- > 0; ++i) {
  }
  return i;
}

static zb_status verify_segment(woven *it, int index, int segment) {
  const place at = place_of(it, index, segment);
  const zb_plan_subprogram *host = &it->rank->subprograms[it->rank->jobs[at.host].subprogram];
  ZB_TRY(verify_compute(it, index, segment, at.host, instruction_of_sum(host, at.sum)));
  for (int other = at.host + 1; other < index; ++other)
    if (!has_run(it, other, at)) ZB_TRY(verify_between(it, index, segment, other));
  return NULL;
}

/* Where a device runs some instructions as one it would lose that, and a bit with it. */
static zb_status verify_ends(const zb_plan_rank *rank, const zb_plan_segment *segment) {
  const zb_plan_subprogram *subprogram = &rank->subprograms[segment->subprogram];
  bool *cuts_at = zb_alloc((size_t)subprogram->instruction_count + 1);
  const bool known = cuts_at && zb_cuts_of(rank, subprogram, cuts_at), is_right = known && cuts_at[segment->end];
  zb_free(cuts_at);
  if (!known) return ZB_OUT_OF_MEMORY();
  if (is_right) return NULL;
  return ZB_RULE(woven,
                 "rank %d: what of %s runs ahead ends at instruction %d, across which a value of the workspace lives",
                 rank->rank, subprogram->name, segment->end);
}

static zb_status verify_rank(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  for (int i = 0; i < rank->segment_count; ++i)
    ZB_TRY(verify_ends(rank, &rank->segments[i]));
  woven it = {plan, rank, zb_map_create_pointer()};
  if (!it.clear) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->job_count && !status; ++i)
    for (uint32_t s = 0; s < rank->jobs[i].segments.count && !status; ++s)
      status = verify_segment(&it, i, (int)(rank->jobs[i].segments.begin + s));
  zb_map_destroy(it.clear);
  return status;
}

zb_status zb_verify_woven(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r)
    if (plan->ranks[r].segment_count > 0) ZB_TRY(verify_rank(plan, &plan->ranks[r]));
  return NULL;
}
