/* Who takes part in a collective, which sums an optimizer adds, and what it scales them by: rules "collectives", "sums"
 * and "norms" of the verifier (README.md).
 *
 * A parameter that several ranks hold is updated by each of them, and stays one parameter only if all of them add the
 * same sums of gradients in the same order. So every sum that an update reads is followed to the rank and place where B
 * and W added to it, through the transfer that brought it, and the lists of all holders are compared.
 *
 * The factor that clips is one number on all ranks only if each of them makes it of the same numbers in the same order:
 * one of every trained parameter. So every number that a CLIP reads is followed to the NORM that made it, and to the
 * gradient that this NORM read. Of shards the numbers of parts must have been summed over them on the way, and those of
 * whole gradients must not.
 *
 * Tests: test/runtime/plan/collectives_test.c */
#include <inttypes.h>
#include <string.h>

#include "runtime/plan/expand.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/plan/verifier.h"

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

static bool waits_for(const zb_plan_rank *rank, const zb_plan_job *job, int other) {
  for (uint32_t w = 0; w < job->waits.count; ++w)
    if (rank->pool_u32[job->waits.begin + w] == (uint32_t)other) return true;
  return false;
}

/* What a reduce-scatter adds up is there from the first job on that waits for it (expand.h): there is one, and none
 * before uses it. */
static zb_status verify_scattered(const zb_plan *plan, const zb_plan_rank *rank, const zb_access *accesses, int index) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_job *sum = &rank->jobs[index];
  const uint32_t buffers = plan->collectives[sum->collective - 1].sizes.count;
  int i = index + 1;
  for (; i < rank->job_count && !waits_for(rank, &rank->jobs[i], index); ++i)
    for (uint32_t b = 0; b < buffers; ++b)
      if (uses(rank, accesses, &rank->jobs[i], rank->pool_ranges[sum->parts.begin + b]))
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
    bool norms = collective->payload == ZB_PAYLOAD_NORMS && !zb_collective_adds(collective->kind);
    const bool parameters =
        collective->payload == ZB_PAYLOAD_PARAMETERS && !zb_collective_adds(collective->kind) && collective->of_parts;
    if (collective->payload != ZB_PAYLOAD_GRADIENTS && !norms && !parameters)
      ZB_TRY_GOTO(ZB_RULE("collectives",
                          "collective %d carries neither sums of gradients nor gathers norms or parts of parameters",
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

/* A sum of gradients: the rank and the place where B and W add to it; of what a collective adds up the collective, as
 * -1 - index, and the buffer. */
typedef struct origin {
  int64_t rank;
  uint64_t offset;
} origin;

/* A sum that came to a rank. */
typedef struct arrival {
  uint64_t offset, bytes;
  origin from;
} arrival;

typedef struct sums {
  const zb_plan *plan;
  arrival **arrivals; /* [rank] */
  size_t *counts, *capacities;
} sums;

static zb_status add_arrival(sums *it, int rank, zb_plan_range home, origin from) {
  if (!zb_grow((void **)&it->arrivals[rank], &it->capacities[rank], it->counts[rank] + 1, sizeof(arrival)))
    return ZB_OUT_OF_MEMORY();
  it->arrivals[rank][it->counts[rank]++] = (arrival){home.offset, home.bytes, from};
  return NULL;
}

/* What a rank has at that place when it comes to a job: a sum of its own, or what a collective before made of it. */
static origin origin_at(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job, uint64_t offset) {
  while (job-- > rank->jobs) {
    if (!job->collective || !zb_collective_adds(plan->collectives[job->collective - 1].kind)) continue;
    for (uint32_t b = 0; b < plan->collectives[job->collective - 1].sizes.count; ++b)
      if (rank->pool_ranges[job->parts.begin + b].offset == offset) return (origin){-(int64_t)job->collective, b};
  }
  return (origin){rank->rank, offset};
}

/* The job of a rank with that message (or, `collective`: with that collective); NULL: it has none. */
static const zb_plan_job *job_with(const zb_plan_rank *rank, int message, int collective) {
  for (int i = rank->job_count - 1; i >= 0; --i) /* sums travel late */
    if (collective ? rank->jobs[i].collective == collective : rank->jobs[i].message == message) return &rank->jobs[i];
  return NULL;
}

static zb_status add_message_arrivals(sums *it, int index) {
  const zb_plan_message *message = &it->plan->messages[index];
  const zb_plan_rank *from = &it->plan->ranks[message->source], *to = &it->plan->ranks[message->destination];
  const zb_plan_job *send = job_with(from, index, 0), *recv = job_with(to, index, 0);
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

static zb_status add_gathered(sums *it, int index) {
  const zb_plan_collective *collective = &it->plan->collectives[index];
  const uint64_t *members = it->plan->pool_u64 + collective->members.begin;
  uint32_t part = 0;
  for (uint32_t m = 0; m < collective->members.count; ++m) {
    const zb_plan_rank *from = &it->plan->ranks[members[m]];
    const zb_plan_job *job = job_with(from, -1, index + 1);
    const zb_plan_range *own = from->pool_ranges + job->parts.begin;
    const uint32_t end = part + (uint32_t)it->plan->pool_u64[collective->counts.begin + m];
    for (; part < end; ++part)
      for (uint32_t other = 0; other < collective->members.count; ++other) {
        const zb_plan_rank *to = &it->plan->ranks[members[other]];
        if (other == m) continue;
        ZB_TRY(add_arrival(it, to->rank, to->pool_ranges[job_with(to, -1, index + 1)->parts.begin + part],
                           origin_at(it->plan, from, job, place_of(it->plan, collective, from, own[part]))));
      }
  }
  return NULL;
}

static zb_status add_reduced(sums *it, int index) {
  const zb_plan_collective *collective = &it->plan->collectives[index];
  for (uint32_t m = 0; m < collective->members.count; ++m) {
    const zb_plan_rank *rank = &it->plan->ranks[it->plan->pool_u64[collective->members.begin + m]];
    const zb_plan_range *buffers = rank->pool_ranges + job_with(rank, -1, index + 1)->parts.begin;
    for (uint32_t b = 0; b < collective->sizes.count; ++b)
      ZB_TRY(add_arrival(it, rank->rank, buffers[b], (origin){-1 - (int64_t)index, b}));
  }
  return NULL;
}

static zb_status find_arrivals(sums *it) {
  for (int i = 0; i < it->plan->message_count; ++i)
    if (it->plan->messages[i].payload == ZB_PAYLOAD_GRADIENTS) ZB_TRY(add_message_arrivals(it, i));
  for (int i = 0; i < it->plan->collective_count; ++i)
    if (it->plan->collectives[i].payload == ZB_PAYLOAD_GRADIENTS)
      ZB_TRY(zb_collective_adds(it->plan->collectives[i].kind) ? add_reduced(it, i) : add_gathered(it, i));
  return NULL;
}

/* What an update adds up, from the last sum to the first as its instructions have them. */
typedef struct terms {
  origin *items;
  size_t count, capacity;
  bool failed;
} terms;

typedef struct update {
  const sums *all;
  const zb_plan_rank *rank;
  terms *out;
} update;

/* An instruction of the optimizer of a rank: that of a job. */
typedef struct place {
  int job, instruction;
} place;

/* Of an UPDATE of a part, the address that replica 0 has: so updates of all replicas compare. */
static uint64_t address_of(const zb_plan *plan, const zb_plan_rank *rank, int job, const zb_plan_operand *operand) {
  if (operand->base == 0 && rank->jobs[job].kind == ZB_JOB_UPDATE)
    return zb_sharding_place(plan, rank, operand->offset, (uint64_t)zb_operand_extent(operand));
  return operand->offset + (operand->base ? rank->pool_u64[rank->jobs[job].bases.begin + operand->base - 1] : 0);
}

/* What the optimizer finds at an address: a sum that came, or one of the rank itself. Other values (a step number, a
 * rate) are none. */
static void add_term(const update *it, uint64_t at, uint64_t bytes) {
  origin found = {it->rank->rank, at};
  bool came = false;
  const arrival *arrivals = it->all->arrivals[it->rank->rank];
  for (size_t i = 0; i < it->all->counts[it->rank->rank]; ++i)
    if (arrivals[i].offset == at) {
      found = arrivals[i].from;
      came = true;
    }
  if (bytes == 0 || (!came && zb_plan_region_of(it->rank, at, bytes) != ZB_REGION_GRADIENTS)) return;
  if (!zb_grow((void **)&it->out->items, &it->out->capacity, it->out->count + 1, sizeof found))
    it->out->failed = true;
  else
    it->out->items[it->out->count++] = found;
}

static const zb_plan_instruction *instruction_at(const zb_plan_rank *rank, place at) {
  return &rank->subprograms[rank->jobs[at.job].subprogram].instructions[at.instruction];
}

static bool writes_exactly(const zb_plan *plan, const zb_plan_rank *rank, place at, uint64_t address) {
  const zb_plan_instruction *instruction = instruction_at(rank, at);
  for (int k = 0; k < instruction->output_count; ++k)
    if (address_of(plan, rank, at.job, &instruction->outputs[k]) == address) return true;
  return false;
}

/* The instruction of the optimizer before *at; false: there is none. Its phases may be jobs of their own. */
static bool step_back(const zb_plan_rank *rank, place *at) {
  while (--at->instruction < 0) {
    do {
      if (--at->job < 0) return false;
    } while (!zb_job_is_optimizer(rank->jobs[at->job].kind));
    at->instruction = rank->subprograms[rank->jobs[at->job].subprogram].instruction_count;
  }
  return true;
}

/* Follows an operand of the instruction at `user` back to the sums of gradients that it is made of. */
static void follow_operand(const update *it, const zb_plan_operand *operand, place user) {
  if (operand->rank < 0 || it->out->failed) return;
  const uint64_t address = address_of(it->all->plan, it->rank, user.job, operand);
  place writer = user;
  do {
    if (!step_back(it->rank, &writer)) {
      add_term(it, address, (uint64_t)zb_operand_extent(operand));
      return;
    }
  } while (!writes_exactly(it->all->plan, it->rank, writer, address));
  const zb_plan_instruction *instruction = instruction_at(it->rank, writer);
  if (it->rank->jobs[writer.job].kind == ZB_JOB_CLIP) return; /* a factor: the rule "norms" is about it */
  if (instruction->accumulate) follow_operand(it, &instruction->outputs[0], writer);
  for (int k = 0; k < instruction->input_count; ++k)
    follow_operand(it, &instruction->inputs[k], writer);
}

/* The instruction of the optimizer that writes there last, before *at; false: none does. */
static bool find_writer(const zb_plan *plan, const zb_plan_rank *rank, uint64_t address, place *at) {
  while (step_back(rank, at))
    if (writes_exactly(plan, rank, *at, address)) return true;
  return false;
}

/* The sums that an instruction adds, or what it reads is made of. */
static void find_terms_at(const sums *it, const zb_plan_rank *rank, place at, terms *out) {
  const update by = {it, rank, out};
  const zb_plan_instruction *instruction = instruction_at(rank, at);
  out->count = 0;
  for (int k = 0; k < instruction->input_count; ++k)
    follow_operand(&by, &instruction->inputs[k], at);
}

/* The sums that the update of a parameter adds on a rank; none where the rank does not update it. */
static void find_terms(const sums *it, const zb_plan_rank *rank, const zb_plan_parameter *parameter, terms *out) {
  place at = {.job = rank->job_count};
  out->count = 0;
  if (find_writer(it->plan, rank, parameter->tensor.offset, &at)) find_terms_at(it, rank, at, out);
}

/* Whether a B or W of the rank adds to the sum. */
static bool is_added_to(const zb_plan_rank *rank, uint64_t offset) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i) {
      const zb_plan_subprogram *subprogram = &rank->subprograms[s];
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      if (zb_job_is_optimizer(subprogram->kind) || subprogram->kind == ZB_JOB_LOAD) break;
      for (int k = 0; k < instruction->output_count; ++k)
        if (instruction->outputs[k].base == 0 && instruction->outputs[k].offset == offset) return true;
    }
  return false;
}

/* What is wrong with an operand that touches bytes of a buffer, of which `shard` can be used; NULL: nothing. */
static const char *buffer_fault(zb_job_kind kind, const zb_plan_operand *operand, bool written, zb_dtype dtype,
                                zb_plan_range buffer, zb_plan_range shard) {
  const uint64_t begin = operand->offset, end = begin + (uint64_t)zb_operand_extent(operand);
  if (operand->rank < 0 || operand->base != 0 || begin >= buffer.offset + buffer.bytes || end <= buffer.offset)
    return NULL;
  if (begin == end || kind == ZB_JOB_LOAD || written != (!zb_job_is_optimizer(kind))) return NULL;
  const zb_plan_range within = written ? buffer : shard;
  if (begin < within.offset || end > within.offset + within.bytes)
    return written ? "adds to a sum of which only a part is exchanged" : "reads what is no sum of all members";
  return operand->dtype == dtype ? NULL : "uses it as another dtype";
}

/* A buffer that is added up holds whole sums, of its dtype, to which B and W of the member add; the optimizer reads of
 * it what the member has the sum of. */
static zb_status verify_buffer(const zb_plan *plan, int index, int member, uint32_t number) {
  const zb_plan_collective *collective = &plan->collectives[index];
  const zb_plan_rank *rank = &plan->ranks[plan->pool_u64[collective->members.begin + (uint32_t)member]];
  zb_plan_range buffer = rank->pool_ranges[job_with(rank, -1, index + 1)->parts.begin + number];
  zb_plan_range shard = zb_collective_shard(plan, collective, number, member);
  shard.offset += buffer.offset;
  if (collective->of_parts) buffer.bytes = (uint64_t)plan->parts * shard.bytes; /* of which a few replicas are proven */
  if (zb_collective_gathers(collective->kind)) shard = buffer;
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i) {
      const zb_plan_subprogram *subprogram = &rank->subprograms[s];
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      const char *fault = NULL;
      for (int k = 0; k < instruction->input_count && !fault; ++k)
        fault = buffer_fault(subprogram->kind, &instruction->inputs[k], false, collective->dtype, buffer, shard);
      for (int k = 0; k < instruction->output_count && !fault; ++k)
        fault = buffer_fault(subprogram->kind, &instruction->outputs[k], true, collective->dtype, buffer, shard);
      if (fault)
        return ZB_RULE("sums", "rank %d: buffer %u of collective %d: subprogram %s %s", rank->rank, number, index,
                       subprogram->name, fault);
    }
  if (!is_added_to(rank, buffer.offset))
    return ZB_RULE("sums", "rank %d: buffer %u of collective %d is no sum to which a B or W adds", rank->rank, number,
                   index);
  return NULL;
}

static zb_status verify_buffers(const zb_plan *plan) {
  for (int c = 0; c < plan->collective_count; ++c)
    for (uint32_t m = 0; zb_collective_adds(plan->collectives[c].kind) && m < plan->collectives[c].members.count; ++m)
      for (uint32_t b = 0; b < plan->collectives[c].sizes.count; ++b)
        ZB_TRY(verify_buffer(plan, c, (int)m, b));
  return NULL;
}

static bool same_terms(const terms *a, const terms *b) {
  return a->count == b->count && (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

static zb_status compare_terms(const sums *it, const char *name, int first_rank, const terms *first, int rank,
                               const terms *here) {
  if (!same_terms(first, here))
    return ZB_RULE(
        "sums", "the updates of '%s' on rank %d and on rank %d do not add the same sums of gradients in the same order",
        name, first_rank, rank);
  for (size_t i = 0; i < here->count; ++i)
    if (here->items[i].rank >= 0 && !is_added_to(&it->plan->ranks[here->items[i].rank], here->items[i].offset))
      return ZB_RULE(
          "sums", "rank %d: the update of '%s' reads a sum at %" PRIu64 " of rank %" PRId64 ", to which no B or W adds",
          rank, name, here->items[i].offset, here->items[i].rank);
  return NULL;
}

/* One parameter against the rank that was met first with it. */
static zb_status verify_holder(const sums *it, zb_map *first_of, int rank, int index) {
  zb_status status = NULL;
  const zb_plan_parameter *parameter = &it->plan->ranks[rank].parameters[index];
  const char *name = parameter->tensor.name;
  terms first = {0}, here = {0};
  int64_t packed = 0;
  if (!parameter->trained) return NULL;
  if (!zb_map_get(first_of, name, &packed))
    return zb_map_set(first_of, name, (int64_t)rank << 32 | index) ? NULL : ZB_OUT_OF_MEMORY();
  const zb_plan_rank *other = &it->plan->ranks[packed >> 32];
  find_terms(it, other, &other->parameters[packed & INT32_MAX], &first);
  find_terms(it, &it->plan->ranks[rank], parameter, &here);
  status = first.failed || here.failed ? ZB_OUT_OF_MEMORY() : compare_terms(it, name, other->rank, &first, rank, &here);
  zb_free(first.items);
  zb_free(here.items);
  return status;
}

/* ---- Rule "norms" ---- */

/* What makes a number of the norm. */
typedef struct number {
  const zb_plan_rank *rank;
  place at;
  const char *reduction; /* over shards, on the way to the factor; NULL: none */
} number;

/* The instruction of a rank that makes the factor; false: it has none. */
static bool find_clip(const zb_plan_rank *rank, place *out) {
  for (out->job = 0; out->job < rank->job_count; ++out->job) {
    if (rank->jobs[out->job].kind != ZB_JOB_CLIP) continue;
    const zb_plan_subprogram *clip = &rank->subprograms[rank->jobs[out->job].subprogram];
    for (out->instruction = 0; out->instruction < clip->instruction_count; ++out->instruction)
      if (strcmp(clip->instructions[out->instruction].op, "clip_scale") == 0) return true;
  }
  return false;
}

static bool find_number(const zb_plan *plan, const zb_plan_rank *rank, uint64_t address, int before_job, number *out) {
  *out = (number){rank, {.job = before_job}, NULL};
  return find_writer(plan, rank, address, &out->at) && rank->jobs[out->at.job].kind == ZB_JOB_NORM;
}

/* Follows 8 bytes that the CLIP at job `clip` reads to what made them, through the collective that brought them last.
 */
static bool trace_number(const zb_plan *plan, const zb_plan_rank *rank, uint64_t address, int clip, number *out) {
  bool own = find_number(plan, rank, address, clip, out);
  for (int i = own ? out->at.job + 1 : 0; i < clip; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    if (!job->collective) continue;
    const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
    const zb_plan_range *parts = rank->pool_ranges + job->parts.begin;
    for (uint32_t m = 0, p = 0; m < collective->counts.count; ++m) {
      const zb_plan_rank *from = &plan->ranks[plan->pool_u64[collective->members.begin + m]];
      const uint32_t end = p + (uint32_t)plan->pool_u64[collective->counts.begin + m];
      for (; p < end; ++p) {
        if (from == rank || address - parts[p].offset >= parts[p].bytes || address < parts[p].offset) continue;
        const zb_plan_job *sent = job_with(from, -1, job->collective);
        const uint64_t there = from->pool_ranges[sent->parts.begin + p].offset + (address - parts[p].offset);
        return find_number(plan, from, there, (int)(sent - from->jobs), out);
      }
    }
  }
  return own;
}

/* The place of a byte in an operand of side by side elements; -1: it is elsewhere. */
static int64_t byte_in(const zb_plan *plan, const zb_plan_rank *rank, int job, const zb_plan_operand *operand,
                       uint64_t address) {
  if (operand->rank != 1 || operand->dtype != ZB_F64 || !zb_operand_is_contiguous(operand)) return -1;
  const uint64_t begin = address_of(plan, rank, job, operand);
  return address >= begin && address - begin < (uint64_t)zb_operand_extent(operand) ? (int64_t)(address - begin) : -1;
}

/* Where the number that an instruction of CLIP gives at byte `at` of its result lies among its operands; false: what it
 * gives is no number of an operand, or of the same one of all shards. */
static bool enter_instruction(const zb_plan *plan, const zb_plan_rank *rank, int job,
                              const zb_plan_instruction *instruction, int64_t at, uint64_t *address,
                              const char **reduction) {
  const bool is_sum = strcmp(instruction->op, "all_reduce") == 0;
  const zb_attrs attrs = {instruction->attrs, instruction->attr_count};
  if (is_sum && *reduction) return false;
  if (is_sum) *reduction = zb_attr_string(&attrs, "reduction", "");
  if (!is_sum && strcmp(instruction->op, "concat") != 0 && strcmp(instruction->op, "contiguous") != 0) return false;
  for (int k = 0; k < instruction->input_count; ++k) {
    const int64_t extent = (int64_t)zb_operand_extent(&instruction->inputs[k]);
    *address = address_of(plan, rank, job, &instruction->inputs[k]) + (uint64_t)at;
    if (at < extent) return byte_in(plan, rank, job, &instruction->inputs[k], *address) == at;
    at -= extent;
  }
  return false;
}

/* Follows 8 bytes that the instruction `clip` reads: through what CLIP does before, then to what made them. */
static bool follow_number(const zb_plan *plan, const zb_plan_rank *rank, uint64_t address, place clip, number *out) {
  const char *reduction = NULL;
  for (place at = clip; --at.instruction >= 0;) {
    const zb_plan_instruction *instruction = instruction_at(rank, at);
    for (int k = 0; k < instruction->output_count; ++k) {
      const int64_t byte = byte_in(plan, rank, at.job, &instruction->outputs[k], address);
      if (byte < 0) continue;
      if (!enter_instruction(plan, rank, at.job, instruction, byte, &address, &reduction)) return false;
      break;
    }
  }
  if (!trace_number(plan, rank, address, clip.job, out)) return false;
  out->reduction = reduction;
  return true;
}

static const zb_attr *attr_of(const zb_plan_instruction *instruction, const char *name) {
  return zb_attr_find(&(zb_attrs){instruction->attrs, instruction->attr_count}, name);
}

static double scale_of(const zb_plan_instruction *instruction, const char *name) {
  const zb_attr *attr = attr_of(instruction, name);
  return attr ? attr->f : 1;
}

/* The parameter whose gradient, as its update takes it, the number is made of; NULL: it is of none. */
static zb_status find_gradient(const sums *it, const number *made, const zb_plan_parameter **out) {
  const zb_plan_instruction *instruction = instruction_at(made->rank, made->at);
  const uint64_t address = address_of(it->plan, made->rank, made->at.job, &instruction->inputs[0]);
  terms read = {0}, added = {0};
  *out = NULL;
  for (int i = 0; i < made->rank->parameter_count && !*out; ++i) {
    const zb_plan_parameter *parameter = &made->rank->parameters[i];
    place updated = {.job = made->rank->job_count};
    if (!parameter->trained || parameter->gradient_offset != (int64_t)address ||
        zb_operand_extent(&instruction->inputs[0]) != zb_shape_bytes(&parameter->tensor.shape) ||
        !find_writer(it->plan, made->rank, parameter->tensor.offset, &updated))
      continue;
    find_terms_at(it, made->rank, made->at, &read);
    find_terms(it, made->rank, parameter, &added);
    if (same_terms(&read, &added) &&
        scale_of(instruction, "scale") == scale_of(instruction_at(made->rank, updated), "gradient_scale"))
      *out = parameter;
  }
  const bool failed = read.failed || added.failed;
  zb_free(read.items);
  zb_free(added.items);
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* The numbers that the CLIP of a rank reads are of the parameters of `order`, which the first rank fills. */
static zb_status verify_numbers(const sums *it, const zb_plan_rank *rank, place clip, bool first, zb_map *order,
                                int *count) {
  const zb_plan_operand *parts = &instruction_at(rank, clip)->inputs[0];
  const uint64_t begin = address_of(it->plan, rank, clip.job, parts);
  const char *type = zb_attr_string(
      &(zb_attrs){instruction_at(rank, clip)->attrs, instruction_at(rank, clip)->attr_count}, "norm_type", "2");
  const bool greatest = strcmp(type, "inf") == 0;
  const char *op = greatest ? "abs_max" : "square_sum";
  const int64_t numbers = parts->rank == 1 && zb_operand_is_contiguous(parts) ? parts->shape[0] : 0;
  if (!first && numbers != *count)
    return ZB_RULE("norms", "rank %d makes the norm of %" PRId64 " numbers, another rank of %d", rank->rank, numbers,
                   *count);
  for (int64_t k = 0; k < numbers; ++k) {
    const zb_plan_parameter *parameter = NULL;
    number made;
    int64_t place_in_order = k;
    if (!follow_number(it->plan, rank, begin + (uint64_t)k * sizeof(double), clip, &made) ||
        strcmp(instruction_at(made.rank, made.at)->op, op) != 0)
      return ZB_RULE("norms", "rank %d: no %s of a NORM makes number %" PRId64 " of the norm", rank->rank, op, k);
    ZB_TRY(find_gradient(it, &made, &parameter));
    if (!parameter)
      return ZB_RULE("norms", "rank %d: number %" PRId64 " of the norm is not of a gradient as its update takes it",
                     rank->rank, k);
    const char *reduction = parameter->tensor.cut ? greatest ? "max" : "sum" : "";
    if (strcmp(made.reduction ? made.reduction : "", reduction) != 0)
      return ZB_RULE("norms", "rank %d: number %" PRId64 " of the norm is of '%s', %s", rank->rank, k,
                     parameter->tensor.name,
                     *reduction ? "of which every shard has a part, and is not of all parts"
                                : "which is whole on every shard, and is counted once a shard");
    const bool known = zb_map_get(order, parameter->tensor.name, &place_in_order);
    if (known == first || place_in_order != k)
      return ZB_RULE("norms", "rank %d: number %" PRId64 " of the norm is of '%s', which %s", rank->rank, k,
                     parameter->tensor.name, first ? "is in it twice" : "has another place in that of another rank");
    if (first && !zb_map_set(order, parameter->tensor.name, k)) return ZB_OUT_OF_MEMORY();
  }
  *count = (int)numbers;
  return NULL;
}

/* Every parameter that is updated is in the norm, and its update takes the factor of its own rank. */
static zb_status verify_factors(const zb_plan *plan, const zb_plan_rank *rank, const place *clip, const zb_map *order) {
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    place updated = {.job = rank->job_count};
    if (!parameter->trained || parameter->gradient_offset < 0 ||
        !find_writer(plan, rank, parameter->tensor.offset, &updated))
      continue;
    if (!zb_map_get(order, parameter->tensor.name, NULL))
      return ZB_RULE("norms", "rank %d: the gradient of '%s' is not in the norm", rank->rank, parameter->tensor.name);
    const zb_plan_instruction *instruction = instruction_at(rank, updated);
    bool takes = false;
    for (int k = 0; k < instruction->input_count && clip && !takes; ++k) {
      place writer = updated;
      const zb_plan_operand *operand = &instruction->inputs[k];
      takes = operand->rank >= 0 && find_writer(plan, rank, address_of(plan, rank, updated.job, operand), &writer) &&
              writer.job == clip->job && writer.instruction == clip->instruction &&
              address_of(plan, rank, writer.job, &instruction_at(rank, writer)->outputs[0]) ==
                  address_of(plan, rank, updated.job, operand);
    }
    if (!takes)
      return ZB_RULE("norms", "rank %d: the update of '%s' does not take the factor that CLIP makes", rank->rank,
                     parameter->tensor.name);
  }
  return NULL;
}

/* Its greatest norm is the setting of the run, which is one number on all ranks. */
static bool takes_max_norm(const zb_plan_rank *rank, place clip) {
  const zb_plan_instruction *instruction = instruction_at(rank, clip);
  for (int i = 0; i < rank->setting_count && instruction->input_count == 3; ++i)
    if (rank->settings[i].kind == ZB_SETTING_MAX_NORM && instruction->inputs[2].base == 0 &&
        instruction->inputs[2].offset == rank->settings[i].offset)
      return rank->settings[i].default_count == 1 && rank->settings[i].defaults[0] > 0;
  return false;
}

static zb_status verify_norms(const sums *it) {
  zb_status status = NULL;
  const zb_plan *plan = it->plan;
  zb_map *order = zb_map_create();
  int count = 0;
  bool first = true;
  if (!order) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    place clip;
    if (!find_clip(&plan->ranks[r], &clip)) continue;
    if (!takes_max_norm(&plan->ranks[r], clip))
      ZB_TRY_GOTO(ZB_RULE("norms", "rank %d: CLIP does not read the setting max_norm", r));
    ZB_TRY_GOTO(verify_numbers(it, &plan->ranks[r], clip, first, order, &count));
    first = false;
  }
  for (int r = 0; r < plan->rank_count && !first; ++r) {
    place clip;
    const bool clips = find_clip(&plan->ranks[r], &clip);
    ZB_TRY_GOTO(verify_factors(plan, &plan->ranks[r], clips ? &clip : NULL, order));
  }

cleanup:
  zb_map_destroy(order);
  return status;
}

zb_status zb_verify_sums(const zb_plan *plan) {
  zb_status status = NULL;
  const size_t ranks = (size_t)plan->rank_count;
  sums it = {plan, zb_alloc(ranks * sizeof *it.arrivals), zb_alloc(ranks * sizeof *it.counts),
             zb_alloc(ranks * sizeof *it.capacities)};
  zb_map *first_of = zb_map_create();
  if (!it.arrivals || !it.counts || !it.capacities || !first_of) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(find_arrivals(&it));
  ZB_TRY_GOTO(verify_buffers(plan));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      ZB_TRY_GOTO(verify_holder(&it, first_of, r, i));
  ZB_TRY_GOTO(verify_norms(&it));

cleanup:
  zb_map_destroy(first_of);
  for (size_t r = 0; it.arrivals && r < ranks; ++r)
    zb_free(it.arrivals[r]);
  zb_free(it.arrivals);
  zb_free(it.counts);
  zb_free(it.capacities);
  return status;
}
