/* Questions about collectives: collective.h. Tests: test/runtime/plan/proof/collectives_test.c */
#include "runtime/plan/file/collective.h"

#include <string.h>

int zb_collective_member(const zb_plan *plan, const zb_plan_collective *collective, int rank) {
  for (int i = 0; i < (int)collective->members.count; ++i)
    if (zb_collective_rank(plan, collective, i) == rank) return i;
  return -1;
}

uint32_t zb_collective_first_part(const zb_plan *plan, const zb_plan_collective *collective, int member) {
  uint32_t first = 0;
  for (int i = 0; i < member; ++i)
    first += zb_collective_part_count(plan, collective, i);
  return first;
}

zb_plan_range zb_collective_shard(const zb_plan *plan, const zb_plan_collective *collective, uint32_t buffer,
                                  int member) {
  const uint64_t element = (uint64_t)zb_dtype_bytes(collective->dtype), members = collective->members.count;
  const uint64_t elements = zb_collective_size(plan, collective, buffer) / element;
  /* elements * member would overflow for what no memory holds only, but a file can say so */
  const uint64_t each = elements / members, rest = elements % members, m = (uint64_t)member;
  const uint64_t begin = each * m + rest * m / members, end = each * (m + 1) + rest * (m + 1) / members;
  return (zb_plan_range){begin * element, (end - begin) * element};
}

zb_plan_range zb_collective_sum(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job,
                                uint32_t buffer) {
  const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
  const uint32_t behind = collective->of_micro_batch ? collective->sizes.count + 1 : 0;
  return rank->pool_ranges[job->parts.begin + behind + buffer];
}

bool zb_collective_moves_alike(const zb_plan_collective *a, const zb_plan_collective *b) {
  return a->kind == b->kind && a->payload == b->payload && a->dtype == b->dtype && a->apart == b->apart &&
         a->coordinate == b->coordinate && a->of_parts == b->of_parts && a->greatest == b->greatest &&
         (a->of_micro_batch > 0) == (b->of_micro_batch > 0) && a->derived.timed_members == b->derived.timed_members &&
         a->sizes.begin == b->sizes.begin && a->sizes.count == b->sizes.count;
}

static bool is_equal(const zb_plan *plan, zb_plan_slice a, zb_plan_slice b) {
  return a.count == b.count && (a.begin == b.begin || memcmp(plan->pool_u64 + a.begin, plan->pool_u64 + b.begin,
                                                             a.count * sizeof *plan->pool_u64) == 0);
}

bool zb_collective_is_alike(const zb_plan *plan, const zb_plan_collective *a, const zb_plan_collective *b) {
  return zb_collective_moves_alike(a, b) && is_equal(plan, a->members, b->members) &&
         is_equal(plan, a->counts, b->counts);
}

/* What one member's shard of a buffer takes there. All members have the same layout: the largest shard decides. */
static uint64_t landing_shard(uint64_t size, uint64_t members, zb_dtype dtype) {
  const uint64_t element = (uint64_t)zb_dtype_bytes(dtype);
  return zb_align((size / element / members + 1) * element);
}

uint64_t zb_landing_bytes(const uint64_t *sizes, uint32_t count, uint64_t members, zb_dtype dtype) {
  uint64_t bytes = 0;
  for (uint32_t b = 0; b < count; ++b)
    bytes += members * landing_shard(sizes[b], members, dtype);
  return bytes;
}

uint64_t zb_landing_room(const uint64_t *sizes, uint32_t count, int replicas, zb_dtype dtype) {
  const uint64_t all = zb_landing_bytes(sizes, count, (uint64_t)replicas, dtype);
  if (replicas <= ZB_REPLICAS_PROVEN) return all;
  const uint64_t proven = zb_landing_bytes(sizes, count, ZB_REPLICAS_PROVEN, dtype);
  return proven > all ? proven : all;
}

uint64_t zb_collective_landing_members(const zb_plan *plan, const zb_plan_collective *collective) {
  return collective->coordinate ? (uint64_t)zb_plan_replicas(plan) : collective->members.count;
}

uint64_t zb_collective_landing_each(const zb_plan *plan, const zb_plan_collective *collective, uint32_t buffer) {
  return landing_shard(zb_collective_size(plan, collective, buffer), zb_collective_landing_members(plan, collective),
                       collective->dtype);
}

/* The parts of all replicas are the buffer, and each lands where a shard does. */
static uint64_t landing_of_parts(const zb_plan *plan, const zb_plan_collective *collective) {
  uint64_t bytes = 0;
  for (uint32_t b = 0; b < collective->sizes.count; ++b)
    bytes +=
        (uint64_t)zb_plan_replicas(plan) * landing_shard(zb_collective_size(plan, collective, b), 1, collective->dtype);
  return bytes;
}

uint64_t zb_collective_landing_bytes(const zb_plan *plan, const zb_plan_collective *collective) {
  if (collective->coordinate && collective->of_parts) return landing_of_parts(plan, collective);
  if (collective->coordinate)
    return zb_landing_room(plan->pool_u64 + collective->sizes.begin, collective->sizes.count, zb_plan_replicas(plan),
                           collective->dtype);
  return zb_landing_bytes(plan->pool_u64 + collective->sizes.begin, collective->sizes.count,
                          zb_collective_landing_members(plan, collective), collective->dtype);
}
