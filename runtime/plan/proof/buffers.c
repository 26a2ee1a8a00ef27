/* Who uses a buffer: rule "buffers" of the verifier (README.md), for one rank. A buffer holds what the forward pass of
 * one micro-batch leaves for the next, so what is read there depends on the order of jobs. That order is proven of one
 * stage alone (rule "order"), and only for its F: so nothing else of a step may look at it. Replicas have other
 * micro-batches: when a step ends each of them has the buffers of replica 0, so that what a checkpoint has is what all
 * have. That no job uses a buffer while or after it travels is the rule "dataflow".
 *
 * Tests: test/runtime/plan/proof/verifier_test.c
 */
#include "runtime/plan/proof/rules.h"
#include "runtime/plan/file/ranks.h"

/* The index of the only subprogram that writes the bytes; -1: none does, -2: several do. */
static int find_writer(const zb_plan_rank *rank, const zb_access *accesses, uint64_t begin, uint64_t end) {
  int found = -1;
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (zb_intervals_overlap(&accesses[s].writes[0], begin, end)) found = found == -1 ? s : -2;
  return found;
}

static zb_status verify_buffer(const zb_plan_rank *rank, const zb_access *accesses, const zb_plan_parameter *buffer) {
  const char *name = buffer->tensor.name;
  const uint64_t begin = buffer->tensor.offset, end = begin + (uint64_t)zb_shape_bytes(&buffer->tensor.shape);
  if (buffer->trained || buffer->state_count > 0 || buffer->gradient_offset >= 0)
    return ZB_RULE(buffers, "rank %d: the buffer '%s' is trained, or has a gradient or a state", rank->rank, name);
  if (begin == end) return NULL;
  const int writer = find_writer(rank, accesses, begin, end);
  if (writer < 0)
    return ZB_RULE(buffers, "rank %d: %s F updates the buffer '%s'", rank->rank, writer == -1 ? "no" : "more than one",
                   name);
  if (!zb_intervals_cover(&accesses[writer].writes[0], begin, end))
    return ZB_RULE(buffers, "rank %d: %s updates a part of the buffer '%s' only", rank->rank,
                   rank->subprograms[writer].name, name);
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (s != writer && zb_intervals_overlap(&accesses[s].reads[0], begin, end))
      return ZB_RULE(buffers, "rank %d: %s reads the buffer '%s', which %s updates", rank->rank,
                     rank->subprograms[s].name, name, rank->subprograms[writer].name);
  return NULL;
}

/* ---- Of replicas ---- */

/* How often the job brings the buffer, whole, from replica 0 to all others. */
static int count_brought(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job,
                         const zb_plan_parameter *buffer) {
  const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
  const uint64_t *members = plan->pool_u64 + collective->members.begin;
  const uint64_t *counts = plan->pool_u64 + collective->counts.begin;
  int count = 0;
  if (collective->payload != ZB_PAYLOAD_BUFFERS || collective->members.count != (uint32_t)zb_plan_mesh(plan) ||
      counts[0] != collective->sizes.count)
    return 0;
  for (uint32_t m = 0; m < collective->members.count; ++m)
    if (zb_plan_replica_of(plan, (int)members[m]) != (int)m ||
        zb_plan_rank_in_replica(plan, (int)members[m]) != zb_plan_rank_in_replica(plan, rank->rank))
      return 0;
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
    count += part.offset == buffer->tensor.offset && part.bytes == (uint64_t)zb_shape_bytes(&buffer->tensor.shape);
  }
  return count;
}

zb_status zb_verify_shared_buffers(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count && zb_plan_mesh(plan) > 1; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    for (int i = 0; i < rank->parameter_count; ++i) {
      const zb_plan_parameter *buffer = &rank->parameters[i];
      int count = 0;
      if (!buffer->buffer || zb_shape_bytes(&buffer->tensor.shape) == 0) continue;
      for (int j = 0; j < rank->job_count; ++j)
        if (rank->jobs[j].collective) count += count_brought(plan, rank, &rank->jobs[j], buffer);
      if (count != 1)
        return ZB_RULE(buffers, "rank %d: the buffer '%s' does not come from replica 0 to all others once a step", r,
                       buffer->tensor.name);
    }
  }
  return NULL;
}

zb_status zb_verify_buffers(const zb_plan_rank *rank, const zb_access *accesses) {
  for (int i = 0; i < rank->parameter_count; ++i)
    if (rank->parameters[i].buffer) ZB_TRY(verify_buffer(rank, accesses, &rank->parameters[i]));
  return NULL;
}
