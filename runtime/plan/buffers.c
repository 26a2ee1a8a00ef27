/* Who uses a buffer: rule "buffers" of the verifier (README.md), for one rank. A buffer holds what the forward pass of
 * one micro-batch leaves for the next, so what is read there depends on the order of jobs. That order is proven of one
 * stage alone (rule "order"), and only for its F: so nothing else of a step may look at it.
 *
 * Tests: test/runtime/plan/verifier_test.c
 */
#include "runtime/plan/verifier.h"

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
    return ZB_RULE("buffers", "rank %d: the buffer '%s' is trained, or has a gradient or a state", rank->rank, name);
  if (begin == end) return NULL;
  const int writer = find_writer(rank, accesses, begin, end);
  if (writer < 0)
    return ZB_RULE("buffers", "rank %d: %s F updates the buffer '%s'", rank->rank,
                   writer == -1 ? "no" : "more than one", name);
  if (!zb_intervals_cover(&accesses[writer].writes[0], begin, end))
    return ZB_RULE("buffers", "rank %d: %s updates a part of the buffer '%s' only", rank->rank,
                   rank->subprograms[writer].name, name);
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (s != writer && zb_intervals_overlap(&accesses[s].reads[0], begin, end))
      return ZB_RULE("buffers", "rank %d: %s reads the buffer '%s', which %s updates", rank->rank,
                     rank->subprograms[s].name, name, rank->subprograms[writer].name);
  return NULL;
}

zb_status zb_verify_buffers(const zb_plan_rank *rank, const zb_access *accesses) {
  for (int i = 0; i < rank->parameter_count; ++i)
    if (rank->parameters[i].buffer) ZB_TRY(verify_buffer(rank, accesses, &rank->parameters[i]));
  return NULL;
}
