/* Who takes part in a collective, and which sums an optimizer adds: rules "collectives" and "sums" of the verifier
 * (README.md). What it scales them by is norms.c.
 *
 * A parameter that several ranks hold is updated by each of them, and stays one parameter only if all of them do so by
 * the same op, and add the same sums of gradients in the same order. So the lists of all holders are compared: those of
 * sums.c.
 *
 * Tests: test/runtime/plan/proof/collectives_test.c */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/map.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/proof/sums.h"
#include "runtime/plan/proof/rules.h"

/* ---- Rule "collectives" ---- */

/* Every member takes part once, and nobody else does (check.c); on every rank they stand in the order of the list. */
static zb_status verify_rank_collectives(const zb_plan *plan, int r, int *seen) {
  const zb_plan_rank *rank = &plan->ranks[r];
  char text[ZB_JOB_TEXT_BYTES];
  int last = 0;
  for (int i = 0; i < rank->job_count; ++i) {
    const int collective = rank->jobs[i].collective;
    if (!collective) continue;
    if (collective <= last)
      return ZB_RULE(collectives, "%s: it stands after collective %d: the order is that of the plan's list",
                     zb_plan_job_text(plan, r, i, text), last - 1);
    last = collective;
    ++seen[collective - 1];
  }
  return NULL;
}

static bool uses(const zb_plan_rank *rank, const zb_access *accesses, const zb_plan_job *job, zb_plan_range buffer) {
  const uint64_t begin = buffer.offset, end = begin + buffer.bytes;
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
    if (part.offset < end && begin < part.offset + part.bytes) return true;
  }
  if (job->subprogram < 0) return false;
  const zb_access *access = &accesses[job->subprogram];
  return zb_intervals_overlap(&access->reads[0], begin, end) || zb_intervals_overlap(&access->writes[0], begin, end);
}

/* What a reduce-scatter adds up is there from the first job on that waits for it (expand.h): there is one, and none
 * before uses it. */
static zb_status verify_scattered(const zb_plan *plan, const zb_plan_rank *rank, const zb_access *accesses, int index) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_job *sum = &rank->jobs[index];
  const uint32_t buffers = plan->collectives[sum->collective - 1].sizes.count;
  int i = index + 1;
  for (; i < rank->job_count && !zb_job_waits_for(rank, &rank->jobs[i], index); ++i)
    for (uint32_t b = 0; b < buffers; ++b)
      if (uses(rank, accesses, &rank->jobs[i], zb_collective_sum(plan, rank, sum, b)))
        return ZB_RULE(collectives, "%s uses a sum that is not added up: no job has waited for collective %d",
                       zb_plan_job_text(plan, rank->rank, i, text), sum->collective - 1);
  return i < rank->job_count ? NULL
                             : ZB_RULE(collectives, "rank %d: no job waits for collective %d, so nothing is added up",
                                       rank->rank, sum->collective - 1);
}

static zb_status verify_all_scattered(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  zb_access *accesses = NULL;
  for (int i = 0; i < rank->job_count && !status; ++i) {
    const int collective = rank->jobs[i].collective - 1;
    if (collective < 0 || plan->collectives[collective].kind != ZB_COLLECTIVE_REDUCE_SCATTER) continue;
    if (!accesses) ZB_TRY(zb_access_create_all(rank, &accesses));
    status = verify_scattered(plan, rank, accesses, i);
  }
  zb_access_destroy_all(accesses, rank->subprogram_count);
  return status;
}

/* Buffers that are added up are whole sums of gradients, of which no two overlap. */
zb_status zb_verify_collectives(const zb_plan *plan) {
  zb_status status = NULL;
  int *seen = zb_alloc(((size_t)plan->collective_count + 1) * sizeof *seen);
  if (!seen) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    ZB_TRY_GOTO(verify_rank_collectives(plan, r, seen));
    ZB_TRY_GOTO(verify_all_scattered(plan, &plan->ranks[r]));
  }
  for (int c = 0; c < plan->collective_count; ++c) {
    const zb_plan_collective *collective = &plan->collectives[c];
    bool norms = collective->payload == ZB_PAYLOAD_NORMS && zb_collective_gathers(collective->kind);
    const bool parameters =
        collective->payload == ZB_PAYLOAD_PARAMETERS && !zb_collective_adds(collective->kind) && collective->of_parts;
    const bool buffers = collective->payload == ZB_PAYLOAD_BUFFERS && !zb_collective_adds(collective->kind);
    if (collective->payload != ZB_PAYLOAD_GRADIENTS && !norms && !parameters && !buffers)
      ZB_TRY_GOTO(ZB_RULE(collectives,
                          "collective %d carries neither sums of gradients nor norms for all, nor parts of parameters, "
                          "nor buffers",
                          c));
    if (seen[c] != (int)collective->members.count)
      ZB_TRY_GOTO(ZB_RULE(collectives, "%d of the %u members of collective %d take part", seen[c],
                          collective->members.count, c));
  }
cleanup:
  zb_free(seen);
  return status;
}

/* ---- Rule "sums" ---- */

/* A buffer that a member adds up, and what of it the optimizer of the member may read. alone: it is what sums of
 * micro-batches are added to, and B and W do not write to it. */
typedef struct summed {
  zb_plan_range buffer, shard;
  bool alone;
} summed;

static int compare_buffers(const void *a, const void *b) {
  const summed *left = a, *right = b;
  return left->buffer.offset != right->buffer.offset ? zb_sums_compare(left->buffer.offset, right->buffer.offset)
                                                     : zb_sums_compare(left->buffer.bytes, right->buffer.bytes);
}

/* What is wrong with an operand that touches bytes of a buffer; NULL: nothing. */
static const char *buffer_fault(const summed *it, const zb_plan_operand *operand, bool is_output, zb_dtype dtype) {
  const uint64_t begin = operand->offset, end = begin + (uint64_t)zb_operand_extent(operand);
  const zb_plan_range within = is_output ? it->buffer : it->shard;
  if (is_output && it->alone) return "writes to what sums of micro-batches are added to";
  if (begin < within.offset || end > within.offset + within.bytes)
    return is_output ? "adds to a sum of which only a part is exchanged" : "reads what is no sum of all members";
  return operand->dtype == dtype ? NULL : "uses it as another dtype";
}

/* The same for all buffers of a collective, which are sorted and share no bytes. */
static const char *operand_fault(const zb_plan_operand *operand, bool is_output, zb_dtype dtype, const summed *list,
                                 size_t count) {
  const char *fault = NULL;
  if (operand->rank < 0 || operand->base != 0) return NULL;
  const uint64_t begin = operand->offset, end = begin + (uint64_t)zb_operand_extent(operand);
  size_t low = 0, high = count;
  while (low < high) { /* the first that ends behind its begin */
    const size_t middle = low + (high - low) / 2;
    if (list[middle].buffer.offset + list[middle].buffer.bytes <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < count && list[low].buffer.offset < end && begin < end && !fault; ++low)
    fault = buffer_fault(&list[low], operand, is_output, dtype);
  return fault;
}

/* B and W write to buffers, the optimizer reads them. */
static const char *subprogram_fault(const zb_plan_subprogram *subprogram, zb_dtype dtype, const summed *list,
                                    size_t count) {
  const char *fault = NULL;
  const bool reads = zb_job_is_optimizer(subprogram->kind);
  for (int i = 0; i < subprogram->instruction_count && subprogram->kind != ZB_JOB_LOAD && !fault; ++i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i];
    for (int k = 0; k < instruction->input_count && reads && !fault; ++k)
      fault = operand_fault(&instruction->inputs[k], false, dtype, list, count);
    for (int k = 0; k < instruction->output_count && !reads && !fault; ++k)
      fault = operand_fault(&instruction->outputs[k], true, dtype, list, count);
  }
  return fault;
}

/* Buffer `number` of a member. Of a micro-batch it is what the sum is added to. */
static summed buffer_of(const zb_plan *plan, int index, int member, const zb_plan_rank *rank, uint32_t number) {
  const zb_plan_collective *collective = &plan->collectives[index];
  zb_plan_range buffer = zb_collective_sum(plan, rank, zb_sums_job(rank, -1, index + 1), number);
  if (collective->of_micro_batch) return (summed){buffer, buffer, true};
  zb_plan_range shard = zb_collective_shard(plan, collective, number, member);
  shard.offset += buffer.offset;
  if (collective->of_parts) buffer.bytes = (uint64_t)plan->derived.parts * shard.bytes; /* a few replicas are proven */
  return (summed){buffer, zb_collective_gathers(collective->kind) ? buffer : shard, false};
}

/* The buffers of a member, sorted. No two of them share bytes, and a B or W adds to each. */
static zb_status list_buffers(const zb_sums *it, int index, int member, const zb_plan_rank *rank, summed *list) {
  const uint32_t count = it->plan->collectives[index].sizes.count;
  for (uint32_t b = 0; b < count; ++b) {
    list[b] = buffer_of(it->plan, index, member, rank, b);
    if (!list[b].alone && !zb_sums_is_added_to(it, rank->rank, list[b].buffer.offset))
      return ZB_RULE(sums, "rank %d: buffer %u of collective %d is no sum to which a B or W adds", rank->rank, b,
                     index);
  }
  if (count > 0) qsort(list, count, sizeof *list, compare_buffers);
  for (uint32_t b = 1; b < count; ++b)
    if (list[b].buffer.offset < list[b - 1].buffer.offset + list[b - 1].buffer.bytes)
      return ZB_RULE(sums, "rank %d: two buffers of collective %d share the bytes at %" PRIu64, rank->rank, index,
                     list[b].buffer.offset);
  return NULL;
}

/* Buffers that are added up hold whole sums, of their dtype, to which B and W of the member add; the optimizer reads of
 * them what the member has the sum of. `list` has room for all of them. */
static zb_status verify_member(const zb_sums *it, int index, int member, summed *list) {
  const zb_plan_collective *collective = &it->plan->collectives[index];
  const zb_plan_rank *rank = &it->plan->ranks[it->plan->pool_u64[collective->members.begin + (uint32_t)member]];
  ZB_TRY(list_buffers(it, index, member, rank, list));
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const char *fault = subprogram_fault(&rank->subprograms[s], collective->dtype, list, collective->sizes.count);
    if (fault)
      return ZB_RULE(sums, "rank %d: of a buffer of collective %d: subprogram %s %s", rank->rank, index,
                     rank->subprograms[s].name, fault);
  }
  return NULL;
}

/* Whether a member uses its buffers as the first one does: it runs the same subprograms, has them at the same places,
 * and what may be read of them does not depend on the member. */
static bool is_as_first(const zb_plan *plan, int index, int member) {
  const zb_plan_collective *collective = &plan->collectives[index];
  const uint64_t *members = plan->pool_u64 + collective->members.begin;
  const zb_plan_rank *first = &plan->ranks[members[0]], *rank = &plan->ranks[members[member]];
  return member > 0 && zb_collective_gathers(collective->kind) && rank->subprograms == first->subprograms &&
         rank->pool_ranges == first->pool_ranges &&
         zb_sums_job(rank, -1, index + 1)->parts.begin == zb_sums_job(first, -1, index + 1)->parts.begin;
}

static zb_status verify_buffers(const zb_sums *it) {
  zb_status status = NULL;
  for (int c = 0; c < it->plan->collective_count && !status; ++c) {
    const zb_plan_collective *collective = &it->plan->collectives[c];
    if (!zb_collective_adds_gradients(collective)) continue;
    if (collective->of_micro_batch > 1) continue; /* those of the first stand for all: the rule "sharding" */
    summed *list = zb_alloc(((size_t)collective->sizes.count + 1) * sizeof *list);
    if (!list) return ZB_OUT_OF_MEMORY();
    for (uint32_t m = 0; m < collective->members.count && !status; ++m)
      if (!is_as_first(it->plan, c, (int)m)) status = verify_member(it, c, (int)m, list);
    zb_free(list);
  }
  return status;
}

static zb_status compare_terms(const zb_sums *it, const char *name, int first_rank, const zb_sums_list *first, int rank,
                               const zb_sums_list *here) {
  if (!zb_sums_same(first, here))
    return ZB_RULE(
        sums, "the updates of '%s' on rank %d and on rank %d do not add the same sums of gradients in the same order",
        name, first_rank, rank);
  for (size_t i = 0; i < here->count; ++i)
    if (here->items[i].rank >= 0 && !zb_sums_is_added_to(it, (int)here->items[i].rank, here->items[i].offset))
      return ZB_RULE(
          sums, "rank %d: the update of '%s' reads a sum at %" PRIu64 " of rank %" PRId64 ", to which no B or W adds",
          rank, name, here->items[i].offset, here->items[i].rank);
  return NULL;
}

static bool same_attr(const zb_attr *a, const zb_attr *b) {
  const bool texts = a->s && b ? b->s && strcmp(a->s, b->s) == 0 : b && !b->s;
  return texts && a->kind == b->kind && a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0;
}

/* Whether two ranks update a parameter by the same op with the same numbers; or neither does. */
static bool same_update(const zb_sums *it, const zb_plan_rank *a, uint64_t place_a, const zb_plan_rank *b,
                        uint64_t place_b) {
  zb_sums_place at_a = {.job = a->job_count}, at_b = {.job = b->job_count};
  const bool of_a = zb_sums_writer(it, a, place_a, &at_a), of_b = zb_sums_writer(it, b, place_b, &at_b);
  if (!of_a || !of_b) return of_a == of_b;
  const zb_plan_instruction *x = zb_sums_instruction(a, at_a), *y = zb_sums_instruction(b, at_b);
  const zb_attrs attrs = {y->attrs, y->attr_count};
  bool same = strcmp(x->op, y->op) == 0 && x->attr_count == y->attr_count;
  for (int i = 0; i < x->attr_count && same; ++i)
    same = same_attr(&x->attrs[i], zb_attr_find(&attrs, x->attrs[i].name));
  return same;
}

/* One parameter against the rank that was met first with it. */
static zb_status verify_holder(const zb_sums *it, zb_map *first_of, int rank, int index) {
  zb_status status = NULL;
  const zb_plan_parameter *parameter = &it->plan->ranks[rank].parameters[index];
  const char *name = parameter->tensor.name;
  zb_sums_list first = {0}, here = {0};
  int64_t packed = 0;
  if (!parameter->trained) return NULL;
  if (!zb_map_get(first_of, name, &packed))
    return zb_map_set(first_of, name, (int64_t)rank << 32 | index) ? NULL : ZB_OUT_OF_MEMORY();
  const zb_plan_rank *other = &it->plan->ranks[packed >> 32];
  const zb_plan_parameter *met = &other->parameters[packed & INT32_MAX];
  if (!same_update(it, other, met->tensor.offset, &it->plan->ranks[rank], parameter->tensor.offset))
    return ZB_RULE(sums, "the updates of '%s' on rank %d and on rank %d are not the same", name, other->rank, rank);
  zb_sums_added(it, other, met, &first);
  zb_sums_added(it, &it->plan->ranks[rank], parameter, &here);
  status = first.failed || here.failed ? ZB_OUT_OF_MEMORY() : compare_terms(it, name, other->rank, &first, rank, &here);
  zb_free(first.items);
  zb_free(here.items);
  return status;
}

zb_status zb_verify_sums(const zb_plan *plan) {
  zb_status status = NULL;
  zb_sums it;
  zb_map *first_of = zb_map_create();
  ZB_TRY_GOTO(zb_sums_init(&it, plan));
  if (!first_of) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(verify_buffers(&it));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      ZB_TRY_GOTO(verify_holder(&it, first_of, r, i));
  ZB_TRY_GOTO(zb_verify_norms(&it));

cleanup:
  zb_map_destroy(first_of);
  zb_sums_deinit(&it);
  return status;
}
