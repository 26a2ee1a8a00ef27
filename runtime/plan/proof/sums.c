/* Which sums of gradients an optimizer adds: every sum that an update reads is followed to the rank and place where B
 * and W added to it, through the transfer that brought it. See sums.h.
 *
 * Tests: test/runtime/plan/proof/collectives_test.c, test/runtime/plan/compiled/clipping_test.c */
#include "runtime/plan/proof/sums.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/base/sorted.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/proof/rules.h"

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

/* What a rank has at that place when it comes to a job: a sum of its own, or what a collective before made of it. */
static zb_sums_origin origin_at(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job,
                                uint64_t offset) {
  while (job-- > rank->jobs) {
    if (!job->collective || !zb_collective_adds_gradients(&plan->collectives[job->collective - 1])) continue;
    for (uint32_t b = 0; b < plan->collectives[job->collective - 1].sizes.count; ++b)
      if (zb_collective_sum(plan, rank, job, b).offset == offset) return (zb_sums_origin){-(int64_t)job->collective, b};
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
      ZB_TRY(add_arrival(it, rank->rank, zb_collective_sum(it->plan, rank, job, b),
                         (zb_sums_origin){-1 - (int64_t)index, b}));
  }
  return NULL;
}

static int compare_arrivals(const void *a, const void *b) {
  const arrival *left = a, *right = b;
  return left->offset != right->offset ? zb_sums_compare(left->offset, right->offset)
                                       : zb_sums_compare(left->number, right->number);
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
  const size_t count =
      zb_count_up_to(at->arrivals, sizeof *at->arrivals, offsetof(arrival, offset), at->arrival_count, address);
  return count > 0 && at->arrivals[count - 1].offset == address ? &at->arrivals[count - 1] : NULL;
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
  if (left->address != right->address) return zb_sums_compare(left->address, right->address);
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
  return zb_sums_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

bool zb_sums_is_added_to(const zb_sums *it, int rank, uint64_t offset) {
  const zb_sums_of_rank *of = &it->ranks[rank];
  return of->added_count > 0 && bsearch(&offset, of->added, of->added_count, sizeof offset, compare_offsets);
}

bool zb_sums_same(const zb_sums_list *a, const zb_sums_list *b) {
  return a->count == b->count && (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
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

zb_status zb_sums_init(zb_sums *it, const zb_plan *plan) {
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

void zb_sums_deinit(zb_sums *it) {
  for (int r = 0; it->ranks && r < it->plan->rank_count; ++r) {
    zb_free(it->ranks[r].arrivals);
    if (it->ranks[r].borrowed) continue;
    zb_free(it->ranks[r].writes);
    zb_free(it->ranks[r].vectors);
    zb_free(it->ranks[r].added);
  }
  zb_free(it->ranks);
}
