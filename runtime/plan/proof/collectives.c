/* Who takes part in a collective, and which sums an optimizer adds: rules "collectives" and "sums" of the verifier
 * (README.md). What it scales them by is norms.c.
 *
 * A parameter that several ranks hold is updated by each of them, and stays one parameter only if all of them do so by
 * the same op, and add the same sums of gradients in the same order. So every sum that an update reads is followed to
 * the rank and place where B and W added to it, through the transfer that brought it, and the lists of all holders are
 * compared.
 *
 * Tests: test/runtime/plan/collectives_test.c */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/proof/sums.h"
#include "runtime/plan/proof/verifier.h"

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
      return ZB_RULE("collectives", "%s: it stands after collective %d: the order is that of the plan's list",
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

/* Where the sum of a buffer is: in its place, or of a micro-batch in the gradients. */
static zb_plan_range sum_of(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job, uint32_t buffer) {
  const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
  const uint32_t behind = collective->of_micro_batch ? collective->sizes.count + 1 : 0;
  return rank->pool_ranges[job->parts.begin + behind + buffer];
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
      if (uses(rank, accesses, &rank->jobs[i], sum_of(plan, rank, sum, b)))
        return ZB_RULE("collectives", "%s uses a sum that is not added up: no job has waited for collective %d",
                       zb_plan_job_text(plan, rank->rank, i, text), sum->collective - 1);
  return i < rank->job_count ? NULL
                             : ZB_RULE("collectives", "rank %d: no job waits for collective %d, so nothing is added up",
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
      ZB_TRY_GOTO(ZB_RULE("collectives",
                          "collective %d carries neither sums of gradients nor norms for all, nor parts of parameters, "
                          "nor buffers",
                          c));
    if (seen[c] != (int)collective->members.count)
      ZB_TRY_GOTO(ZB_RULE("collectives", "%d of the %u members of collective %d take part", seen[c],
                          collective->members.count, c));
  }
cleanup:
  zb_free(seen);
  return status;
}

/* ---- Rule "sums" ---- */

/* A sum that came to a rank; number: how many came before it. */
typedef struct arrival {
  uint64_t offset, number;
  zb_sums_origin from;
} arrival;

/* Where the optimizer of a rank writes. */
typedef struct optimizer_write {
  uint64_t address;
  zb_sums_place at;
} optimizer_write;

/* An instruction of the optimizer that makes several f64 at once, side by side. */
typedef struct vector_write {
  uint64_t begin, end;
  zb_sums_place at;
} vector_write;

/* What is looked up of a rank again and again, sorted. */
typedef struct zb_sums_of_rank {
  arrival *arrivals; /* by offset; of equal ones, in the order in which they come */
  size_t arrival_count, arrival_capacity;
  optimizer_write *writes; /* by address, then by place */
  size_t write_count, write_capacity;
  vector_write *vectors; /* by place: they are few */
  size_t vector_count, vector_capacity;
  uint64_t *added; /* where B and W add to sums, or write at a fixed place */
  size_t added_count, added_capacity;
  bool borrowed; /* all but arrivals: a replica before has them */
} zb_sums_of_rank;

static zb_status add_arrival(zb_sums *it, int rank, zb_plan_range home, zb_sums_origin from) {
  zb_sums_of_rank *to = &it->ranks[rank];
  if (!zb_grow((void **)&to->arrivals, &to->arrival_capacity, to->arrival_count + 1, sizeof *to->arrivals))
    return ZB_OUT_OF_MEMORY();
  to->arrivals[to->arrival_count] = (arrival){home.offset, to->arrival_count, from};
  ++to->arrival_count;
  return NULL;
}

static bool adds_gradients(const zb_plan_collective *collective) {
  return zb_collective_adds(collective->kind) && collective->payload == ZB_PAYLOAD_GRADIENTS;
}

/* What a rank has at that place when it comes to a job: a sum of its own, or what a collective before made of it. */
static zb_sums_origin origin_at(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job,
                                uint64_t offset) {
  while (job-- > rank->jobs) {
    if (!job->collective || !adds_gradients(&plan->collectives[job->collective - 1])) continue;
    for (uint32_t b = 0; b < plan->collectives[job->collective - 1].sizes.count; ++b)
      if (sum_of(plan, rank, job, b).offset == offset) return (zb_sums_origin){-(int64_t)job->collective, b};
  }
  return (zb_sums_origin){rank->rank, offset};
}

const zb_plan_job *zb_sums_job(const zb_plan_rank *rank, int message, int collective) {
  for (int i = rank->job_count - 1; i >= 0; --i) /* sums travel late */
    if (collective ? rank->jobs[i].collective == collective : rank->jobs[i].message == message) return &rank->jobs[i];
  return NULL;
}

static zb_status add_message_arrivals(zb_sums *it, int index) {
  const zb_plan_message *message = &it->plan->messages[index];
  const zb_plan_rank *from = &it->plan->ranks[message->source], *to = &it->plan->ranks[message->destination];
  const zb_plan_job *send = zb_sums_job(from, index, 0), *recv = zb_sums_job(to, index, 0);
  if (!send || !recv) return NULL; /* the rule "messages" says so */
  for (int p = 0; p < message->part_count; ++p)
    ZB_TRY(add_arrival(it, message->destination, to->pool_ranges[recv->parts.begin + (uint32_t)p],
                       origin_at(it->plan, from, send, from->pool_ranges[send->parts.begin + (uint32_t)p].offset)));
  return NULL;
}

/* Where a rank has a part of what a collective moves, of parts that of replica 0. */
static uint64_t place_of(const zb_plan *plan, const zb_plan_collective *collective, const zb_plan_rank *rank,
                         zb_plan_range part) {
  return collective->of_parts ? zb_sharding_place(plan, rank, part.offset, part.bytes) : part.offset;
}

static zb_status add_gathered(zb_sums *it, int index) {
  const zb_plan_collective *collective = &it->plan->collectives[index];
  const uint64_t *members = it->plan->pool_u64 + collective->members.begin;
  uint32_t part = 0;
  for (uint32_t m = 0; m < collective->members.count; ++m) {
    const zb_plan_rank *from = &it->plan->ranks[members[m]];
    const zb_plan_job *job = zb_sums_job(from, -1, index + 1);
    const zb_plan_range *own = from->pool_ranges + job->parts.begin;
    const uint32_t end = part + (uint32_t)it->plan->pool_u64[collective->counts.begin + m];
    for (; part < end; ++part)
      for (uint32_t other = 0; other < collective->members.count; ++other) {
        const zb_plan_rank *to = &it->plan->ranks[members[other]];
        if (other == m) continue;
        ZB_TRY(add_arrival(it, to->rank, to->pool_ranges[zb_sums_job(to, -1, index + 1)->parts.begin + part],
                           origin_at(it->plan, from, job, place_of(it->plan, collective, from, own[part]))));
      }
  }
  return NULL;
}

static zb_status add_reduced(zb_sums *it, int index) {
  const zb_plan_collective *collective = &it->plan->collectives[index];
  for (uint32_t m = 0; m < collective->members.count; ++m) {
    const zb_plan_rank *rank = &it->plan->ranks[it->plan->pool_u64[collective->members.begin + m]];
    const zb_plan_job *job = zb_sums_job(rank, -1, index + 1);
    for (uint32_t b = 0; b < collective->sizes.count; ++b)
      ZB_TRY(add_arrival(it, rank->rank, sum_of(it->plan, rank, job, b), (zb_sums_origin){-1 - (int64_t)index, b}));
  }
  return NULL;
}

static int compare_numbers(uint64_t left, uint64_t right) { return (left > right) - (left < right); }

static int compare_arrivals(const void *a, const void *b) {
  const arrival *left = a, *right = b;
  return left->offset != right->offset ? compare_numbers(left->offset, right->offset)
                                       : compare_numbers(left->number, right->number);
}

static zb_status find_arrivals(zb_sums *it) {
  for (int i = 0; i < it->plan->message_count; ++i)
    if (it->plan->messages[i].payload == ZB_PAYLOAD_GRADIENTS) ZB_TRY(add_message_arrivals(it, i));
  for (int i = 0; i < it->plan->collective_count; ++i)
    if (it->plan->collectives[i].payload == ZB_PAYLOAD_GRADIENTS)
      ZB_TRY(zb_collective_adds(it->plan->collectives[i].kind) ? add_reduced(it, i) : add_gathered(it, i));
  for (int r = 0; r < it->plan->rank_count; ++r)
    if (it->ranks[r].arrival_count)
      qsort(it->ranks[r].arrivals, it->ranks[r].arrival_count, sizeof(arrival), compare_arrivals);
  return NULL;
}

typedef struct update {
  const zb_sums *all;
  const zb_plan_rank *rank;
  zb_sums_list *out;
} update;

uint64_t zb_sums_address(const zb_plan *plan, const zb_plan_rank *rank, int job, const zb_plan_operand *operand) {
  if (operand->base == 0 && zb_plan_works_on_parts(plan, rank->jobs[job].kind))
    return zb_sharding_place(plan, rank, operand->offset, (uint64_t)zb_operand_extent(operand));
  return operand->offset + (operand->base ? rank->pool_u64[rank->jobs[job].bases.begin + operand->base - 1] : 0);
}

/* What came last to that address; NULL: nothing did. */
static const arrival *last_arrival(const zb_sums_of_rank *at, uint64_t address) {
  size_t low = 0, high = at->arrival_count;
  while (low < high) { /* the first behind it */
    const size_t middle = low + (high - low) / 2;
    if (at->arrivals[middle].offset <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && at->arrivals[low - 1].offset == address ? &at->arrivals[low - 1] : NULL;
}

/* What the optimizer finds at an address: a sum that came, or one of the rank itself. Other values (a step number, a
 * rate) are none. */
static void add_term(const update *it, uint64_t at, uint64_t bytes) {
  const arrival *came = last_arrival(&it->all->ranks[it->rank->rank], at);
  const zb_sums_origin found = came ? came->from : (zb_sums_origin){it->rank->rank, at};
  if (bytes == 0 || (!came && zb_plan_region_of(it->rank, at, bytes) != ZB_REGION_GRADIENTS)) return;
  if (!zb_grow((void **)&it->out->items, &it->out->capacity, it->out->count + 1, sizeof found))
    it->out->failed = true;
  else
    it->out->items[it->out->count++] = found;
}

const zb_plan_instruction *zb_sums_instruction(const zb_plan_rank *rank, zb_sums_place at) {
  return &rank->subprograms[rank->jobs[at.job].subprogram].instructions[at.instruction];
}

static int compare_writes(const void *a, const void *b) {
  const optimizer_write *left = a, *right = b;
  if (left->address != right->address) return compare_numbers(left->address, right->address);
  if (left->at.job != right->at.job) return left->at.job < right->at.job ? -1 : 1;
  return (left->at.instruction > right->at.instruction) - (left->at.instruction < right->at.instruction);
}

bool zb_sums_writer(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place *at) {
  const zb_sums_of_rank *of = &it->ranks[rank->rank];
  const optimizer_write wanted = {address, *at};
  size_t low = 0, high = of->write_count;
  while (low < high) { /* the first that is not before it */
    const size_t middle = low + (high - low) / 2;
    if (compare_writes(&of->writes[middle], &wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || of->writes[low - 1].address != address) return false;
  *at = of->writes[low - 1].at;
  return true;
}

static bool is_before(zb_sums_place a, zb_sums_place b) {
  return a.job != b.job ? a.job < b.job : a.instruction < b.instruction;
}

bool zb_sums_maker(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place *at, uint64_t *within) {
  const zb_sums_of_rank *of = &it->ranks[rank->rank];
  zb_sums_place last = *at;
  const bool found = zb_sums_writer(it, rank, address, &last);
  *within = 0;
  for (size_t i = of->vector_count; i-- > 0;) {
    const vector_write *vector = &of->vectors[i];
    if (!is_before(vector->at, *at) || address < vector->begin || address >= vector->end) continue;
    if (found && is_before(vector->at, last)) break;
    *within = address - vector->begin;
    *at = vector->at;
    return true;
  }
  *at = last;
  return found;
}

/* Follows an operand of the instruction at `user` back to the sums of gradients that it is made of. */
static void follow_operand(const update *it, const zb_plan_operand *operand, zb_sums_place user) {
  if (operand->rank < 0 || it->out->failed) return;
  const uint64_t address = zb_sums_address(it->all->plan, it->rank, user.job, operand);
  zb_sums_place writer = user;
  if (!zb_sums_writer(it->all, it->rank, address, &writer)) {
    add_term(it, address, (uint64_t)zb_operand_extent(operand));
    return;
  }
  const zb_plan_instruction *instruction = zb_sums_instruction(it->rank, writer);
  if (it->rank->jobs[writer.job].kind == ZB_JOB_CLIP) return; /* a factor: the rule "norms" is about it */
  if (instruction->accumulate) follow_operand(it, &instruction->outputs[0], writer);
  for (int k = 0; k < instruction->input_count; ++k)
    follow_operand(it, &instruction->inputs[k], writer);
}

void zb_sums_added_at(const zb_sums *it, const zb_plan_rank *rank, zb_sums_place at, zb_sums_list *out) {
  const update by = {it, rank, out};
  const zb_plan_instruction *instruction = zb_sums_instruction(rank, at);
  out->count = 0;
  for (int k = 0; k < instruction->input_count; ++k)
    follow_operand(&by, &instruction->inputs[k], at);
}

void zb_sums_added(const zb_sums *it, const zb_plan_rank *rank, const zb_plan_parameter *parameter, zb_sums_list *out) {
  zb_sums_place at = {.job = rank->job_count};
  out->count = 0;
  if (zb_sums_writer(it, rank, parameter->tensor.offset, &at)) zb_sums_added_at(it, rank, at, out);
}

static int compare_offsets(const void *a, const void *b) {
  return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Whether a B or W of the rank adds to the sum. */
static bool is_added_to(const zb_sums *it, int rank, uint64_t offset) {
  const zb_sums_of_rank *of = &it->ranks[rank];
  return of->added_count > 0 && bsearch(&offset, of->added, of->added_count, sizeof offset, compare_offsets);
}

/* A buffer that a member adds up, and what of it the optimizer of the member may read. alone: it is what sums of
 * micro-batches are added to, and B and W do not write to it. */
typedef struct summed {
  zb_plan_range buffer, shard;
  bool alone;
} summed;

static int compare_buffers(const void *a, const void *b) {
  const summed *left = a, *right = b;
  return left->buffer.offset != right->buffer.offset ? compare_numbers(left->buffer.offset, right->buffer.offset)
                                                     : compare_numbers(left->buffer.bytes, right->buffer.bytes);
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
  zb_plan_range buffer = sum_of(plan, rank, zb_sums_job(rank, -1, index + 1), number);
  if (collective->of_micro_batch) return (summed){buffer, buffer, true};
  zb_plan_range shard = zb_collective_shard(plan, collective, number, member);
  shard.offset += buffer.offset;
  if (collective->of_parts) buffer.bytes = (uint64_t)plan->parts * shard.bytes; /* a few replicas are proven */
  return (summed){buffer, zb_collective_gathers(collective->kind) ? buffer : shard, false};
}

/* The buffers of a member, sorted. No two of them share bytes, and a B or W adds to each. */
static zb_status list_buffers(const zb_sums *it, int index, int member, const zb_plan_rank *rank, summed *list) {
  const uint32_t count = it->plan->collectives[index].sizes.count;
  for (uint32_t b = 0; b < count; ++b) {
    list[b] = buffer_of(it->plan, index, member, rank, b);
    if (!list[b].alone && !is_added_to(it, rank->rank, list[b].buffer.offset))
      return ZB_RULE("sums", "rank %d: buffer %u of collective %d is no sum to which a B or W adds", rank->rank, b,
                     index);
  }
  if (count > 0) qsort(list, count, sizeof *list, compare_buffers);
  for (uint32_t b = 1; b < count; ++b)
    if (list[b].buffer.offset < list[b - 1].buffer.offset + list[b - 1].buffer.bytes)
      return ZB_RULE("sums", "rank %d: two buffers of collective %d share the bytes at %" PRIu64, rank->rank, index,
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
      return ZB_RULE("sums", "rank %d: of a buffer of collective %d: subprogram %s %s", rank->rank, index,
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
    if (!adds_gradients(collective)) continue;
    if (collective->of_micro_batch > 1) continue; /* those of the first stand for all: the rule "sharding" */
    summed *list = zb_alloc(((size_t)collective->sizes.count + 1) * sizeof *list);
    if (!list) return ZB_OUT_OF_MEMORY();
    for (uint32_t m = 0; m < collective->members.count && !status; ++m)
      if (!is_as_first(it->plan, c, (int)m)) status = verify_member(it, c, (int)m, list);
    zb_free(list);
  }
  return status;
}

bool zb_sums_same(const zb_sums_list *a, const zb_sums_list *b) {
  return a->count == b->count && (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

static zb_status compare_terms(const zb_sums *it, const char *name, int first_rank, const zb_sums_list *first, int rank,
                               const zb_sums_list *here) {
  if (!zb_sums_same(first, here))
    return ZB_RULE(
        "sums", "the updates of '%s' on rank %d and on rank %d do not add the same sums of gradients in the same order",
        name, first_rank, rank);
  for (size_t i = 0; i < here->count; ++i)
    if (here->items[i].rank >= 0 && !is_added_to(it, (int)here->items[i].rank, here->items[i].offset))
      return ZB_RULE(
          "sums", "rank %d: the update of '%s' reads a sum at %" PRIu64 " of rank %" PRId64 ", to which no B or W adds",
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
    return ZB_RULE("sums", "the updates of '%s' on rank %d and on rank %d are not the same", name, other->rank, rank);
  zb_sums_added(it, other, met, &first);
  zb_sums_added(it, &it->plan->ranks[rank], parameter, &here);
  status = first.failed || here.failed ? ZB_OUT_OF_MEMORY() : compare_terms(it, name, other->rank, &first, rank, &here);
  zb_free(first.items);
  zb_free(here.items);
  return status;
}

/* ---- What is looked up again and again ---- */

static zb_status add_write(const zb_plan *plan, const zb_plan_rank *rank, zb_sums_place at, const zb_plan_operand *what,
                           zb_sums_of_rank *out) {
  const uint64_t begin = zb_sums_address(plan, rank, at.job, what), bytes = (uint64_t)zb_operand_extent(what);
  if (!zb_grow((void **)&out->writes, &out->write_capacity, out->write_count + 1, sizeof *out->writes))
    return ZB_OUT_OF_MEMORY();
  out->writes[out->write_count++] = (optimizer_write){begin, at};
  if (what->dtype != ZB_F64 || bytes <= sizeof(double)) return NULL;
  if (!zb_grow((void **)&out->vectors, &out->vector_capacity, out->vector_count + 1, sizeof *out->vectors))
    return ZB_OUT_OF_MEMORY();
  out->vectors[out->vector_count++] = (vector_write){begin, begin + bytes, at};
  return NULL;
}

static zb_status list_writes(const zb_plan *plan, const zb_plan_rank *rank, zb_sums_of_rank *out) {
  for (int j = 0; j < rank->job_count; ++j) {
    if (!zb_job_is_optimizer(rank->jobs[j].kind)) continue;
    const zb_plan_subprogram *subprogram = &rank->subprograms[rank->jobs[j].subprogram];
    for (int i = 0; i < subprogram->instruction_count; ++i)
      for (int k = 0; k < subprogram->instructions[i].output_count; ++k)
        ZB_TRY(add_write(plan, rank, (zb_sums_place){j, i}, &subprogram->instructions[i].outputs[k], out));
  }
  if (out->write_count) qsort(out->writes, out->write_count, sizeof *out->writes, compare_writes);
  return NULL;
}

static zb_status list_added(const zb_plan_rank *rank, zb_sums_of_rank *out) {
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    if (zb_job_is_optimizer(subprogram->kind) || subprogram->kind == ZB_JOB_LOAD) continue;
    for (int i = 0; i < subprogram->instruction_count; ++i)
      for (int k = 0; k < subprogram->instructions[i].output_count; ++k) {
        if (subprogram->instructions[i].outputs[k].base != 0) continue;
        if (!zb_grow((void **)&out->added, &out->added_capacity, out->added_count + 1, sizeof *out->added))
          return ZB_OUT_OF_MEMORY();
        out->added[out->added_count++] = subprogram->instructions[i].outputs[k].offset;
      }
  }
  if (out->added_count) qsort(out->added, out->added_count, sizeof *out->added, compare_offsets);
  return NULL;
}

/* Whether it is another replica of the rank before and runs its subprograms at its addresses (replicas.c). */
static bool is_as_before(const zb_plan *plan, int r) {
  if (r == 0 || zb_plan_replica_of(plan, r) == 0) return false;
  const zb_plan_rank *rank = &plan->ranks[r], *before = &plan->ranks[r - 1];
  return rank->subprograms == before->subprograms && rank->pool_u64 == before->pool_u64;
}

static zb_status sums_init(zb_sums *it, const zb_plan *plan) {
  *it = (zb_sums){plan, zb_alloc(((size_t)plan->rank_count + 1) * sizeof *it->ranks)};
  if (!it->ranks) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    if (is_as_before(plan, r)) {
      it->ranks[r] = it->ranks[r - 1];
      it->ranks[r].borrowed = true;
      continue;
    }
    ZB_TRY(list_writes(plan, &plan->ranks[r], &it->ranks[r]));
    ZB_TRY(list_added(&plan->ranks[r], &it->ranks[r]));
  }
  return find_arrivals(it);
}

static void sums_deinit(zb_sums *it) {
  for (int r = 0; it->ranks && r < it->plan->rank_count; ++r) {
    zb_free(it->ranks[r].arrivals);
    if (it->ranks[r].borrowed) continue;
    zb_free(it->ranks[r].writes);
    zb_free(it->ranks[r].vectors);
    zb_free(it->ranks[r].added);
  }
  zb_free(it->ranks);
}

zb_status zb_verify_sums(const zb_plan *plan) {
  zb_status status = NULL;
  zb_sums it;
  zb_map *first_of = zb_map_create();
  ZB_TRY_GOTO(sums_init(&it, plan));
  if (!first_of) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(verify_buffers(&it));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      ZB_TRY_GOTO(verify_holder(&it, first_of, r, i));
  ZB_TRY_GOTO(zb_verify_norms(&it));

cleanup:
  zb_map_destroy(first_of);
  sums_deinit(&it);
  return status;
}
