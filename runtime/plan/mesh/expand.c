/* Collectives as messages and sums, groups of micro-batches as FOLDs: zb_plan_expand of runtime/plan/file/plan.h;
 * expand.h says which. Tests: test/runtime/plan/proof/collectives_test.c, test/runtime/plan/compiled/groups_test.c,
 * test/e2e/collectives.py.
 */
#include "runtime/plan/mesh/expand.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "runtime/base/memory.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

/* ---- Messages ---- */

static int member_count(const zb_plan_collective *collective) { return (int)collective->members.count; }

/* A job that waits for a sum waits for its posts: where the last of them stand behind the ADD, for that as well. Of a
 * reduce-scatter they stand in front of it, so it is added up in front of the first job that waits: on the second clock
 * where that is the next sum. A sum over shards is a part of the job that it interrupts, but where others
 * run meanwhile. */
static bool runs_beside(const zb_plan_collective *collective) {
  if (collective->payload == ZB_PAYLOAD_SHARDS) return collective->derived.beside;
  return zb_collective_adds(collective->kind);
}

static bool adds_late(const zb_plan_collective *collective) {
  return zb_collective_adds(collective->kind) && !zb_collective_gathers(collective->kind);
}

static int phase_count(const zb_plan_collective *collective) {
  return zb_collective_adds(collective->kind) + zb_collective_gathers(collective->kind);
}

static int messages_of(const zb_plan_collective *collective) {
  return phase_count(collective) * member_count(collective) * (member_count(collective) - 1);
}

/* A piece of a collective: one message. */
typedef struct piece {
  int source, destination; /* members */
  bool adds;               /* of the phase that adds */
} piece;

/* Piece `index` of a collective: phase, then round, then source. */
static piece piece_at(const zb_plan_collective *collective, int index) {
  const int members = member_count(collective), phase = index / (members * (members - 1));
  const int round = index / members % (members - 1) + 1, source = index % members;
  return (piece){source, (source + round) % members, phase == 0 && zb_collective_adds(collective->kind)};
}

/* A member that gives nothing sends nothing. */
static bool is_sent(const zb_plan *plan, const zb_plan_collective *collective, piece it) {
  return zb_collective_adds(collective->kind) || zb_collective_part_count(plan, collective, it.source) > 0;
}

static int timed_members(const zb_plan_collective *collective) {
  return collective->derived.timed_members ? (int)collective->derived.timed_members : member_count(collective);
}

static zb_plan_message message_of(const zb_plan *plan, int index, piece it) {
  const zb_plan_collective *collective = &plan->collectives[index];
  zb_plan_message message = {.source = zb_collective_rank(plan, collective, it.source),
                             .destination = zb_collective_rank(plan, collective, it.destination),
                             .source_stage = -1,
                             .destination_stage = -1,
                             .micro_batch = -1,
                             .payload = collective->payload,
                             .derived.part_of = index + 1};
  if (!zb_collective_adds(collective->kind)) {
    const uint32_t first = zb_collective_first_part(plan, collective, it.source);
    message.part_count = (int32_t)zb_collective_part_count(plan, collective, it.source);
    for (uint32_t p = 0; p < (uint32_t)message.part_count; ++p) {
      message.bytes += zb_collective_size(plan, collective, first + p);
      /* to all others at once; of what is gathered apart the last member may stand for several, the first never does */
      message.derived.phase_bytes += zb_collective_size(plan, collective, collective->apart ? p : first + p);
    }
    const bool shares_link = collective->payload == ZB_PAYLOAD_PARAMETERS || collective->payload == ZB_PAYLOAD_SHARDS ||
                             collective->payload == ZB_PAYLOAD_BUFFERS;
    const uint64_t timed = (uint64_t)timed_members(collective);
    /* all parts of shards together are as large, however few of them are there */
    if (collective->payload == ZB_PAYLOAD_SHARDS)
      message.derived.phase_bytes = message.derived.phase_bytes * collective->members.count / timed;
    message.derived.phase_bytes *= shares_link ? timed - 1 : 0;
    return message;
  }
  message.part_count = (int32_t)collective->sizes.count;
  zb_plan_collective timed = *collective;
  if (timed.derived.timed_members && !collective->of_parts) timed.members.count = timed.derived.timed_members;
  for (uint32_t b = 0; b < collective->sizes.count; ++b) {
    message.bytes += zb_collective_shard(plan, collective, b, it.adds ? it.destination : it.source).bytes;
    /* the last shard is never smaller than others; parts are equal, however many members there are */
    message.derived.phase_bytes += zb_collective_shard(plan, &timed, b, member_count(&timed) - 1).bytes;
  }
  message.derived.phase_bytes *= (uint64_t)timed_members(collective) - 1;
  return message;
}

/* ---- Jobs of a rank ---- */

/* What the first collective with a list of parts became on a rank: those that are alike, with the same list, become the
 * same, but for messages and waits. */
typedef struct made_of_list {
  int collective; /* 1 + its index; 0: none yet */
  int subprogram; /* that adds up, or places own parts; -1: not made yet */
  uint32_t bases; /* of its job, in the pool */
  uint32_t parts; /* of its first piece, in the pool; those of others follow */
} made_of_list;

/* A list of a rank for which a subprogram was made, which others may run with bases of their own. */
typedef struct ready_list {
  const zb_plan_rank *rank;
  zb_plan_slice parts;
  int collective, subprogram;
  int before; /* 1 + the one before it for the same sizes; 0: it is the first */
} ready_list;

/* What grows while the jobs of one rank are written. */
typedef struct expansion {
  const zb_plan *from;
  zb_plan *to;
  const int *first_message; /* [collective] its first message in `to` */
  const int *new_message;   /* [message of from] */
  zb_plan_rank *rank;
  zb_plan_slice *posts; /* [job of from] the jobs of `to` that it became */
  zb_plan_job *late;    /* [job of from] of a reduce-scatter that is not added up: the job; else collective is 0 */
  made_of_list *made;   /* [begin of parts in from] */
  made_of_list other;
  int64_t *woven_ps; /* [job of from] */
  int *last_ready;   /* [begin of sizes in from] 1 + the last one in `ready`; of all ranks, one after the other */
  ready_list *ready;
  size_t ready_count, ready_capacity;
  bool failed;
} expansion;

/* What collectives like that of a job, with its list, become; where the list is that of another one, too, nothing is
 * remembered. */
static made_of_list *made_for(expansion *it, const zb_plan_job *job) {
  made_of_list *made = &it->made[job->parts.begin];
  const zb_plan_collective *all = it->from->collectives;
  const bool is_first = made->collective == 0;
  if (!is_first && zb_collective_is_alike(it->from, &all[made->collective - 1], &all[job->collective - 1])) return made;
  if (!is_first) made = &it->other;
  *made = (made_of_list){.collective = job->collective, .subprogram = -1, .parts = UINT32_MAX};
  return made;
}

static uint32_t add_range(expansion *it, uint64_t offset, uint64_t bytes) {
  it->rank->pool_ranges[it->rank->pool_range_count] = (zb_plan_range){offset, bytes};
  return it->rank->pool_range_count++;
}

/* The homes that one side of a piece uses, as parts of a job: the number-th of a member that is not made yet. */
static zb_plan_slice parts_of(expansion *it, const zb_plan_job *job, piece about, bool sends, uint32_t number) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const zb_plan_range *homes = it->rank->pool_ranges + job->parts.begin;
  zb_plan_slice parts = {it->rank->pool_range_count, 0};
  if (!zb_collective_adds(collective->kind)) {
    parts.begin = job->parts.begin + zb_collective_first_part(it->from, collective, about.source);
    parts.count = zb_collective_part_count(it->from, collective, about.source);
    return parts;
  }
  made_of_list *made = made_for(it, job);
  if (made->parts == UINT32_MAX) made->parts = parts.begin;
  const uint32_t known = made->parts + number * collective->sizes.count;
  if (known < parts.begin) return (zb_plan_slice){known, collective->sizes.count};
  const uint64_t members = zb_collective_landing_members(it->from, collective);
  uint64_t landing = homes[collective->sizes.count].offset; /* of the buffer at hand */
  for (uint32_t b = 0; b < collective->sizes.count; ++b, ++parts.count) {
    const zb_plan_range shard =
        zb_collective_shard(it->from, collective, b, about.adds ? about.destination : about.source);
    const uint64_t each = zb_collective_landing_each(it->from, collective, b);
    const bool lands = about.adds && !sends;
    add_range(it, lands ? landing + (uint64_t)about.source * each : homes[b].offset + shard.offset, shard.bytes);
    landing += members * each;
  }
  return parts;
}

/* Appends the posts of a phase in the order of their messages; `waits` of each is as given. */
static void add_posts(expansion *it, const zb_plan_job *job, int member, bool adds, zb_plan_slice waits) {
  const int index = job->collective - 1;
  const zb_plan_collective *collective = &it->from->collectives[index];
  int message = it->first_message[index];
  uint32_t number = 0; /* of the pieces of the member */
  for (int i = 0; i < messages_of(collective); ++i) {
    piece about = piece_at(collective, i);
    if (!is_sent(it->from, collective, about)) continue;
    ++message;
    if (about.source != member && about.destination != member) continue;
    ++number;
    if (about.adds != adds) continue;
    bool sends = about.source == member;
    it->rank->jobs[it->rank->job_count++] = (zb_plan_job){.kind = sends ? ZB_JOB_SEND : ZB_JOB_RECV,
                                                          .subprogram = -1,
                                                          .stage = -1,
                                                          .micro_batch = -1,
                                                          .message = message - 1,
                                                          .input = -1,
                                                          .parts = parts_of(it, job, about, sends, number - 1),
                                                          .waits = waits,
                                                          .derived.beside = runs_beside(collective)};
  }
}

/* Waits for the posts from job `begin` on that send (or receive, or both). */
static zb_plan_slice wait_for(expansion *it, int begin, bool sends, bool receives) {
  zb_plan_rank *rank = it->rank;
  zb_plan_slice waits = {rank->pool_u32_count, 0};
  for (int i = begin; i < rank->job_count; ++i) {
    if (!zb_job_is_post(rank->jobs[i].kind)) continue;
    if (zb_job_flow(rank->jobs[i].kind) == ZB_PARTS_OUT ? !sends : !receives) continue;
    rank->pool_u32[rank->pool_u32_count++] = (uint32_t)i;
    ++waits.count;
  }
  return waits;
}

/* ---- The sum of a shard ---- */

static zb_plan_operand operand_of(zb_dtype dtype, uint32_t base, uint64_t offset, uint64_t bytes) {
  zb_plan_operand operand = {.base = base, .offset = offset, .dtype = dtype, .rank = 1};
  operand.shape[0] = (int64_t)(bytes / (uint64_t)zb_dtype_bytes(dtype));
  operand.strides[0] = 1;
  return operand;
}

/* to += what; or the greater of both. */
static void add_instruction(expansion *it, zb_plan_subprogram *subprogram, zb_plan_operand to, zb_plan_operand what,
                            bool greatest) {
  it->failed |= !zb_add_instruction(it->to, subprogram, greatest ? "max" : "accumulate_add", &what, &to);
}

/* Whether the buffers lie in the slots, not in the region of gradients. */
static bool sums_in_slots(const zb_plan_collective *collective) {
  return collective->of_micro_batch || collective->payload == ZB_PAYLOAD_NORMS;
}

/* What the ADD of a job has its bases at: where others' shards landed, and the buffers where they lie in the slots. */
typedef struct sum_bases {
  zb_plan_range landing, buffers;
} sum_bases;

static sum_bases bases_of_sum(const zb_plan_collective *collective, const zb_plan_range *homes) {
  sum_bases bases = {.landing = homes[collective->sizes.count], .buffers = homes[0]};
  uint64_t end = homes[0].offset + homes[0].bytes;
  for (uint32_t b = 1; b < collective->sizes.count; ++b) {
    if (homes[b].offset < bases.buffers.offset) bases.buffers.offset = homes[b].offset;
    if (homes[b].offset + homes[b].bytes > end) end = homes[b].offset + homes[b].bytes;
  }
  bases.buffers.bytes = end - bases.buffers.offset;
  return bases;
}

/* Where the fold of a buffer takes place: the own shard, in the slots behind the first of the buffers; where others
 * landed lies `landing` behind the begin of that room. A collective of shards has its sum apart. */
typedef struct fold_place {
  uint64_t landing, buffers;
} fold_place;

static zb_plan_operand own_shard(const expansion *it, const zb_plan_job *job, uint32_t buffer, zb_plan_range shard,
                                 fold_place place) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const zb_plan_range *homes = it->rank->pool_ranges + job->parts.begin;
  const uint64_t home = homes[buffer].offset + shard.offset;
  if (sums_in_slots(collective)) return operand_of(collective->dtype, 2, home - place.buffers, shard.bytes);
  const bool apart = job->parts.count > collective->sizes.count + 1;
  return operand_of(collective->dtype, 0, apart ? homes[collective->sizes.count + 1].offset : home, shard.bytes);
}

/* The fold of one buffer: ((s0 + s1) + ..) in the order of members. What comes before the own shard is added up where
 * it landed; two addends have one sum in either order. Of a micro-batch it is then added to the part of the rank. */
static void add_fold(expansion *it, zb_plan_subprogram *subprogram, const zb_plan_job *job, uint32_t buffer, int member,
                     fold_place place) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const zb_plan_range shard = zb_collective_shard(it->from, collective, buffer, member);
  if (shard.bytes == 0) return;
  const zb_plan_range *homes = it->rank->pool_ranges + job->parts.begin;
  const bool greatest = collective->greatest;
  const uint64_t each = zb_collective_landing_each(it->from, collective, buffer);
  zb_plan_operand own = own_shard(it, job, buffer, shard, place), first = own;
  for (int m = 0; m < member_count(collective); ++m) {
    zb_plan_operand landed = operand_of(collective->dtype, 1, place.landing + (uint64_t)m * each, shard.bytes);
    if (m == 0 && member != 0)
      first = landed;
    else if (m < member)
      add_instruction(it, subprogram, first, landed, greatest);
    else if (m == member && m > 0)
      add_instruction(it, subprogram, own, first, greatest);
    else if (m > member)
      add_instruction(it, subprogram, own, landed, greatest);
  }
  if (collective->of_micro_batch)
    add_instruction(it, subprogram,
                    operand_of(collective->dtype, 0, homes[collective->sizes.count + 1 + buffer].offset, shard.bytes),
                    own, false);
}

/* The next subprogram of the rank: an ADD of a collective, called PREFIX_ and its number, with room for instructions.
 * NULL: out of memory. */
static zb_plan_subprogram *begin_add(expansion *it, const char *prefix, const zb_plan_job *job, int bases,
                                     size_t most) {
  zb_plan_subprogram *made = &it->rank->subprograms[it->rank->subprogram_count];
  char name[64];
  snprintf(name, sizeof name, "%s_%d", prefix, job->collective - 1);
  *made =
      (zb_plan_subprogram){.name = zb_plan_strdup(it->to, name), .stage = -1, .kind = ZB_JOB_ADD, .base_count = bases};
  made->bases = zb_plan_alloc(it->to, (size_t)bases * sizeof *made->bases);
  made->base_bytes = zb_plan_alloc(it->to, (size_t)bases * sizeof *made->base_bytes);
  made->instructions = zb_plan_alloc(it->to, (most + 1) * sizeof *made->instructions);
  if (made->name && made->bases && made->base_bytes && made->instructions) return made;
  it->failed = true;
  return NULL;
}

static void name_base(zb_plan_subprogram *made, int number, const char *name, zb_plan_range where) {
  made->bases[number] = name;
  made->base_bytes[number] = where.bytes;
}

/* Where the next base of a job is. */
static void add_base(expansion *it, zb_plan_range where) {
  it->rank->pool_u64[it->rank->pool_u64_count++] = where.offset;
}

/* Whether two lists are equal but for where `count` of their parts lie, all of them that far from each other. */
static bool are_moved(const zb_plan_range *a, const zb_plan_range *b, uint32_t count) {
  for (uint32_t p = 0; p < count; ++p)
    if (a[p].bytes != b[p].bytes || a[p].offset - a[0].offset != b[p].offset - b[0].offset) return false;
  return true;
}

/* Whether the list of a job differs from an earlier one by bases alone: in where parts come to, or in where buffers and
 * the landing lie; own parts, and sums that are added to, lie at fixed places. */
static bool can_run(const expansion *it, const ready_list *ready, const zb_plan_job *job) {
  const zb_plan_collective *all = it->from->collectives, *collective = &all[job->collective - 1];
  const zb_plan_range *a = it->rank->pool_ranges + ready->parts.begin, *b = it->rank->pool_ranges + job->parts.begin;
  const uint32_t count = collective->sizes.count, landing = zb_collective_adds(collective->kind) ? 1 : 0;
  if (ready->parts.count != job->parts.count ||
      !zb_collective_is_alike(it->from, &all[ready->collective - 1], collective) ||
      !(landing ? sums_in_slots(collective) : collective->apart))
    return false;
  if (!are_moved(a, b, count) || (landing && a[count].bytes != b[count].bytes)) return false;
  const size_t fixed = (size_t)(job->parts.count - count - landing) * sizeof *a;
  return memcmp(a + count + landing, b + count + landing, fixed) == 0;
}

/* The subprogram of an earlier list of the rank that a job can run; -1: there is none. */
static int find_add(const expansion *it, const zb_plan_job *job) {
  int at = it->last_ready[it->from->collectives[job->collective - 1].sizes.begin];
  for (; at > 0 && it->ready[at - 1].rank == it->rank; at = it->ready[at - 1].before)
    if (can_run(it, &it->ready[at - 1], job)) return it->ready[at - 1].subprogram;
  return -1;
}

/* It is whole, and others may run it. */
static void end_add(expansion *it, const zb_plan_job *job, made_of_list *made) {
  int *last = &it->last_ready[it->from->collectives[job->collective - 1].sizes.begin];
  made->subprogram = it->rank->subprogram_count++;
  if (!zb_grow((void **)&it->ready, &it->ready_capacity, it->ready_count + 1, sizeof *it->ready)) {
    it->failed = true;
    return;
  }
  it->ready[it->ready_count++] = (ready_list){it->rank, job->parts, job->collective, made->subprogram, *last};
  *last = (int)it->ready_count;
}

/* The job that runs it. */
static void add_run(expansion *it, const made_of_list *made, zb_plan_slice waits, bool beside) {
  zb_plan_rank *rank = it->rank;
  if (it->failed) return;
  rank->jobs[rank->job_count++] =
      (zb_plan_job){.kind = ZB_JOB_ADD,
                    .subprogram = made->subprogram,
                    .stage = -1,
                    .micro_batch = -1,
                    .message = -1,
                    .input = -1,
                    .bases = {made->bases, (uint32_t)rank->subprograms[made->subprogram].base_count},
                    .waits = waits,
                    .derived.beside = beside};
}

/* The subprogram ADD of a job. */
static void make_sum(expansion *it, const zb_plan_job *job, int member, sum_bases bases, made_of_list *known) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const size_t most = (size_t)collective->sizes.count * ((size_t)member_count(collective) + 1);
  const bool in_slots = sums_in_slots(collective);
  zb_plan_subprogram *made = begin_add(it, "ADD", job, in_slots ? 2 : 1, most);
  if (!made) return;
  name_base(made, 0, "landing", bases.landing);
  if (in_slots) name_base(made, 1, collective->payload == ZB_PAYLOAD_NORMS ? "norms" : "gradients", bases.buffers);
  fold_place place = {.buffers = bases.buffers.offset};
  for (uint32_t b = 0; b < collective->sizes.count && !it->failed; ++b) {
    add_fold(it, made, job, b, member, place);
    place.landing +=
        zb_collective_landing_members(it->from, collective) * zb_collective_landing_each(it->from, collective, b);
  }
  end_add(it, job, known);
}

/* Appends the job that adds up, after what it waits for. */
static void add_sum(expansion *it, const zb_plan_job *job, int member, zb_plan_slice waits, bool beside) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const sum_bases bases = bases_of_sum(collective, it->rank->pool_ranges + job->parts.begin);
  made_of_list *made = made_for(it, job);
  if (made->subprogram < 0) {
    made->bases = it->rank->pool_u64_count;
    add_base(it, bases.landing);
    if (sums_in_slots(collective)) add_base(it, bases.buffers);
    made->subprogram = find_add(it, job);
  }
  if (made->subprogram < 0) make_sum(it, job, member, bases, made);
  add_run(it, made, waits, beside);
}

/* From the first to the last byte of what is gathered apart. */
static zb_plan_range gathered_frame(const zb_plan_collective *collective, const zb_plan_range *parts) {
  uint64_t begin = parts[0].offset, end = begin;
  for (uint32_t p = 0; p < collective->sizes.count; ++p) {
    if (parts[p].offset < begin) begin = parts[p].offset;
    if (parts[p].offset + parts[p].bytes > end) end = parts[p].offset + parts[p].bytes;
  }
  return (zb_plan_range){begin, end - begin};
}

/* The own parts of what is gathered apart, copied to their place among those of others: of a plan that stands for more
 * replicas the last one's several times. */
static void make_own_parts(expansion *it, const zb_plan_job *job, int member, zb_plan_range frame,
                           made_of_list *known) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const uint32_t count = zb_collective_part_count(it->from, collective, member);
  const uint32_t first = zb_collective_first_part(it->from, collective, member);
  const zb_plan_range *to = it->rank->pool_ranges + job->parts.begin, *from = to + collective->sizes.count;
  zb_plan_subprogram *made = begin_add(it, "PLACE", job, 1, count);
  if (!made) return;
  made->derived.places = job->collective;
  name_base(made, 0, "gathered", frame);
  for (uint32_t p = 0; p < count; ++p) {
    const int64_t elements = (int64_t)(from[p].bytes / sizeof(float)),
                  times = (int64_t)(to[first + p].bytes / from[p].bytes);
    const zb_plan_operand own = {
        .offset = from[p].offset, .dtype = ZB_F32, .rank = 2, .shape = {times, elements}, .strides = {0, 1}};
    zb_plan_operand place = own;
    place.base = 1;
    place.offset = to[first + p].offset - frame.offset;
    place.strides[0] = elements;
    it->failed |= !zb_add_instruction(it->to, made, "contiguous", &own, &place);
  }
  end_add(it, job, known);
}

static void add_own_parts(expansion *it, const zb_plan_job *job, int member) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const zb_plan_range frame = gathered_frame(collective, it->rank->pool_ranges + job->parts.begin);
  made_of_list *made = made_for(it, job);
  if (made->subprogram < 0) {
    made->bases = it->rank->pool_u64_count;
    add_base(it, frame);
    made->subprogram = find_add(it, job);
  }
  if (made->subprogram < 0) make_own_parts(it, job, member, frame, made);
  add_run(it, made, job->waits, false);
}

static void expand_job(expansion *it, const zb_plan_job *job) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const int member = zb_collective_member(it->from, collective, it->rank->rank), begin = it->rank->job_count;
  if (zb_collective_adds(collective->kind)) {
    add_posts(it, job, member, true, job->waits);
    if (adds_late(collective)) return;
    add_sum(it, job, member, wait_for(it, begin, false, true), runs_beside(collective));
    /* What comes now lies where the shards were that were sent. */
    add_posts(it, job, member, false, wait_for(it, begin, true, false));
  } else {
    if (collective->apart) add_own_parts(it, job, member);
    add_posts(it, job, member, false, job->waits);
  }
}

/* What follows the last job of a group of micro-batches that adds to sums. */
static zb_status add_fold_job(expansion *it, const zb_plan_job *job) {
  zb_plan_rank *rank = it->rank;
  zb_plan_subprogram *subprogram = &rank->subprograms[rank->subprogram_count];
  ZB_TRY(zb_fold_make(it->from, it->to, rank, job, subprogram));
  rank->jobs[rank->job_count++] = (zb_plan_job){.kind = ZB_JOB_FOLD,
                                                .subprogram = rank->subprogram_count++,
                                                .stage = job->stage,
                                                .micro_batch = -1,
                                                .message = -1,
                                                .input = -1};
  return NULL;
}

/* A job that waited for a collective waits for all its posts. */
static zb_plan_slice new_waits(expansion *it, zb_plan_slice old) {
  zb_plan_rank *rank = it->rank;
  zb_plan_slice waits = {rank->pool_u32_count, 0};
  for (uint32_t w = 0; w < old.count; ++w) {
    zb_plan_slice posts = it->posts[rank->pool_u32[old.begin + w]];
    for (uint32_t i = 0; i < posts.count; ++i) {
      if (!zb_job_is_post(rank->jobs[posts.begin + i].kind)) continue;
      rank->pool_u32[rank->pool_u32_count++] = posts.begin + i;
      ++waits.count;
    }
  }
  return waits;
}

/* The sums of parts that a job waits for, which come in front of it: beside the others where the job itself does. */
static void add_late_sums(expansion *it, const zb_plan_job *by) {
  const zb_plan_slice old = by->waits;
  const bool beside = by->collective && runs_beside(&it->from->collectives[by->collective - 1]);
  for (uint32_t w = 0; w < old.count; ++w) {
    const uint32_t waited = it->rank->pool_u32[old.begin + w];
    zb_plan_job job = it->late[waited];
    if (!job.collective) continue;
    const zb_plan_collective *collective = &it->from->collectives[job.collective - 1];
    it->late[waited].collective = 0;
    zb_plan_slice waits = new_waits(it, (zb_plan_slice){old.begin + w, 1});
    for (uint32_t i = 0; i < job.waits.count; ++i, ++waits.count) /* for room that the posts alone have waited for */
      it->rank->pool_u32[it->rank->pool_u32_count++] = it->rank->pool_u32[job.waits.begin + i];
    add_sum(it, &job, zb_collective_member(it->from, collective, it->rank->rank), waits, beside);
  }
}

/* ---- Sizes of what a rank becomes ---- */

typedef struct sizes {
  size_t jobs, ranges, u32, u64, subprograms;
} sizes;

/* How many messages a member posts in all phases. */
static size_t posts_of(const zb_plan_collective *collective) {
  return 2 * ((size_t)member_count(collective) - 1) * (size_t)phase_count(collective);
}

/* Whether the ranges of a list are there already when a job gets to it: those of made_for are made once. */
static bool has_ranges(const expansion *it, const zb_plan_job *job) {
  const zb_plan_collective *all = it->from->collectives;
  made_of_list *made = &it->made[job->parts.begin];
  if (made->collective) return zb_collective_is_alike(it->from, &all[made->collective - 1], &all[job->collective - 1]);
  made->collective = job->collective;
  return false;
}

/* Marks lists in `made`. */
static sizes sizes_of(const expansion *it, const zb_plan_rank *rank) {
  const zb_plan *plan = it->from;
  sizes all = {(size_t)rank->job_count, rank->pool_range_count, rank->pool_u32_count, rank->pool_u64_count,
               (size_t)rank->subprogram_count};
  const size_t groups = plan->sum_groups > 1 ? (size_t)(plan->sum_inner ? plan->micro_batches : plan->sum_groups) : 0;
  for (int i = 0; i < rank->subprogram_count && groups; ++i) {
    if (!zb_fold_adds(rank, &rank->subprograms[i])) continue;
    all.jobs += groups;
    all.subprograms += groups;
  }
  for (int i = 0; i < rank->job_count; ++i) {
    if (!rank->jobs[i].collective) continue;
    const zb_plan_collective *collective = &plan->collectives[rank->jobs[i].collective - 1];
    const size_t posts = posts_of(collective);
    all.jobs += posts + 3; /* ADD, and what it cuts W into */
    if (zb_collective_adds(collective->kind) && !has_ranges(it, &rank->jobs[i]))
      all.ranges += posts * collective->sizes.count;
    all.u32 += 2 * posts;
    all.u64 += 2;
    all.subprograms += 3;
  }
  /* A wait becomes as many as the collective that it waits for has posts, and is written again for what is made of the
   * job: for the parts of a W, or for a sum that is added up late; and once more for the late sum that it waits for. */
  for (int i = 0; i < rank->job_count; ++i)
    for (uint32_t w = 0; w < rank->jobs[i].waits.count; ++w) {
      const int waited = rank->jobs[rank->pool_u32[rank->jobs[i].waits.begin + w]].collective;
      all.u32 += waited ? 3 * posts_of(&plan->collectives[waited - 1]) : 2;
    }
  return all;
}

/* A copy of an array with room for more; NULL when out of memory. */
static void *with_room(zb_plan *plan, const void *from, size_t count, size_t room, size_t element_bytes) {
  void *copy = zb_plan_alloc(plan, room * element_bytes);
  if (copy && count) memcpy(copy, from, count * element_bytes);
  return copy;
}

static bool make_room(zb_plan *to, const zb_plan_rank *from, sizes room, zb_plan_rank *rank) {
  rank->jobs = zb_plan_alloc(to, room.jobs * sizeof *rank->jobs);
  rank->job_count = 0;
  rank->pool_ranges = with_room(to, from->pool_ranges, from->pool_range_count, room.ranges, sizeof *rank->pool_ranges);
  rank->pool_u32 = with_room(to, from->pool_u32, from->pool_u32_count, room.u32, sizeof *rank->pool_u32);
  rank->pool_u64 = with_room(to, from->pool_u64, from->pool_u64_count, room.u64, sizeof *rank->pool_u64);
  rank->subprograms =
      with_room(to, from->subprograms, (size_t)from->subprogram_count, room.subprograms, sizeof *rank->subprograms);
  return rank->jobs && rank->pool_ranges && rank->pool_u32 && rank->pool_u64 && rank->subprograms;
}

/* One job of a collective, or one that is as it was. */
static void expand_any(expansion *it, const zb_plan_rank *from, int index) {
  zb_plan_job job = from->jobs[index];
  job.segments = (zb_plan_slice){0, 0};
  job.derived.woven_ps = it->woven_ps[index];
  add_late_sums(it, &job);
  job.waits = new_waits(it, job.waits);
  if (job.message >= 0) job.message = it->new_message[job.message];
  it->posts[index].begin = (uint32_t)it->rank->job_count;
  if (job.collective)
    expand_job(it, &job);
  else
    it->rank->jobs[it->rank->job_count++] = job;
  it->posts[index].count = (uint32_t)it->rank->job_count - it->posts[index].begin;
  if (job.collective && adds_late(&it->from->collectives[job.collective - 1])) it->late[index] = job;
}

/* ---- Parts of W ---- */

/* Whether the job is a collective that is posted before the end of the job in front of it. */
static bool has_lead(const expansion *it, const zb_plan_rank *from, int index) {
  const int collective = from->jobs[index].collective - 1;
  return collective >= 0 && runs_beside(&it->from->collectives[collective]) &&
         it->from->collectives[collective].lead_ps > 0;
}

/* Instructions begin to end of a subprogram, which take what lies between two times before its end. */
static void add_part(expansion *it, const zb_plan_job *job, int begin, int end, int64_t from_ps, int64_t to_ps) {
  zb_plan_rank *rank = it->rank;
  const zb_plan_subprogram *whole = &rank->subprograms[job->subprogram];
  zb_plan_subprogram *part = &rank->subprograms[rank->subprogram_count];
  char name[128];
  snprintf(name, sizeof name, "%s.%d", whole->name, begin);
  *part = *whole;
  part->name = zb_plan_strdup(it->to, name);
  part->instructions += begin;
  part->instruction_count = end - begin;
  part->time_ps = from_ps - to_ps;
  part->first_ps = 0;
  part->key = 0;
  part->derived.part_of = job->subprogram + 1;
  part->flops = part->product_flops = 0;
  for (int i = begin; i < end; ++i) {
    part->flops += whole->instructions[i].flops;
    part->product_flops += whole->instructions[i].product_flops;
  }
  it->failed |= !part->name;
  zb_plan_job *made = &rank->jobs[rank->job_count++];
  *made = *job;
  made->subprogram = rank->subprogram_count++;
  if (begin > 0) made->waits.count = 0;
}

/* The last W of a stage and the collectives behind it, each at its place between the parts of W. False: none of them
 * has a place before its end, and nothing was done. */
static bool expand_parts(expansion *it, const zb_plan_rank *from, int index) {
  const zb_plan_job *w = &from->jobs[index];
  if (w->kind != ZB_JOB_W) return false;
  const zb_plan_subprogram *whole = &from->subprograms[w->subprogram];
  zb_plan_job job = *w;
  job.segments = (zb_plan_slice){0, 0};
  const bool only = zb_plan_own_micro_batches(it->from) == 1 && whole->first_ps > 0;
  const int64_t all_ps = only ? whole->first_ps : whole->time_ps;
  int done = 0;
  int64_t left_ps = all_ps;
  add_late_sums(it, w);
  job.waits = new_waits(it, job.waits);
  for (int i = index + 1; i < from->job_count && has_lead(it, from, i) && !it->failed; ++i) {
    const zb_plan_collective *collective = &it->from->collectives[from->jobs[i].collective - 1];
    const int cut = zb_part_cut(from, w, from->pool_ranges + from->jobs[i].parts.begin, collective->sizes.count);
    it->failed |= cut == 0;
    if (cut == 0 || cut >= whole->instruction_count) break; /* those behind it come later still */
    double lead = whole->time_ps > 0 ? (double)collective->lead_ps / (double)whole->time_ps : 0;
    int64_t lead_ps = only ? (int64_t)((double)all_ps * lead) : collective->lead_ps;
    if (lead_ps > left_ps) lead_ps = left_ps;
    if (cut > done) {
      add_part(it, &job, done, cut, left_ps, lead_ps);
      left_ps = lead_ps;
      done = cut;
    }
    expand_any(it, from, i);
  }
  if (done == 0) return false;
  add_part(it, &job, done, whole->instruction_count, left_ps, 0);
  return true;
}

static zb_status expand_rank(expansion *it, int index) {
  const zb_plan_rank *from = &it->from->ranks[index];
  zb_plan_rank *rank = it->rank = &it->to->ranks[index];
  if (!from->jobs) return NULL; /* not read */
  const size_t made_bytes = ((size_t)from->pool_range_count + 1) * sizeof *it->made;
  sizes room = {0};
  it->posts = zb_alloc((size_t)from->job_count * sizeof *it->posts);
  it->late = zb_alloc((size_t)from->job_count * sizeof *it->late);
  it->made = zb_alloc(made_bytes);
  it->woven_ps = zb_alloc((size_t)from->job_count * sizeof *it->woven_ps);
  zb_status status = NULL;
  if (!it->posts || !it->late || !it->made || !it->woven_ps) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(zb_weave_times(it->from, from, it->woven_ps));
  rank->segments = NULL;
  rank->segment_count = 0;
  room = sizes_of(it, from);
  memset(it->made, 0, made_bytes);
  if (!make_room(it->to, from, room, rank)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0; i < from->job_count && !it->failed && !status; ++i) {
    if (it->posts[i].count > 0) continue; /* between parts of W */
    if (!expand_parts(it, from, i)) expand_any(it, from, i);
    if (zb_fold_follows(it->from, from, &from->jobs[i])) status = add_fold_job(it, &from->jobs[i]);
  }
  ZB_ASSERT((size_t)rank->job_count <= room.jobs && (size_t)rank->subprogram_count <= room.subprograms &&
            rank->pool_range_count <= room.ranges && rank->pool_u32_count <= room.u32 &&
            rank->pool_u64_count <= room.u64);
  if (from->evaluation_count)
    rank->evaluation_count = rank->job_count - (int)it->posts[from->job_count - from->evaluation_count].begin;
  if (!status && it->failed) status = ZB_OUT_OF_MEMORY();
cleanup:
  zb_free(it->posts);
  zb_free(it->late);
  zb_free(it->made);
  zb_free(it->woven_ps);
  return status;
}

/* ---- The plan ---- */

/* The messages of the new plan, and where those of the old one and of the collectives are in it. */
static zb_status expand_messages(const zb_plan *from, zb_plan *to, int *first_message, int *new_message) {
  int64_t count = from->message_count;
  for (int c = 0; c < from->collective_count; ++c)
    count += messages_of(&from->collectives[c]);
  if (count > INT32_MAX) return ZB_ERROR(INVALID, "the plan has more than 2^31 messages with its collectives");
  to->messages = zb_plan_alloc(to, (size_t)count * sizeof *to->messages);
  if (!to->messages) return ZB_OUT_OF_MEMORY();
  to->message_count = 0;
  for (int m = 0, c = 0; m <= from->message_count; ++m) {
    for (; c < from->collective_count && from->collectives[c].before == m; ++c) {
      first_message[c] = to->message_count;
      for (int i = 0; i < messages_of(&from->collectives[c]); ++i) {
        const piece it = piece_at(&from->collectives[c], i);
        if (is_sent(from, &from->collectives[c], it)) to->messages[to->message_count++] = message_of(from, c, it);
      }
      if (c >= from->collective_count - from->evaluation_collectives)
        to->evaluation_messages += to->message_count - first_message[c];
    }
    if (m == from->message_count) break;
    new_message[m] = to->message_count;
    to->messages[to->message_count++] = from->messages[m];
  }
  return NULL;
}

/* Whether no job of a rank is of a collective any more, and each posts a message that there is. */
static bool is_carried(const zb_plan *plan, const zb_plan_rank *rank) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].collective || rank->jobs[i].message >= plan->message_count) return false;
  return true;
}

zb_status zb_plan_expand(const zb_plan *plan, zb_plan **out) {
  zb_status status = NULL;
  *out = NULL;
  if (zb_plan_is_expanded(plan)) return NULL;
  ZB_ASSERT(!plan->derived.carried); /* else its pieces would be of another plan */
  int *first_message = zb_alloc(((size_t)plan->collective_count + 1) * sizeof *first_message);
  int *new_message = zb_alloc(((size_t)plan->message_count + 1) * sizeof *new_message);
  zb_plan *to = zb_plan_create_like(plan);
  expansion it = {.last_ready = zb_alloc(((size_t)plan->pool_u64_count + 1) * sizeof *it.last_ready)};
  if (!first_message || !new_message || !it.last_ready || !to) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  to->derived.carried = plan->collectives;
  to->collectives = NULL;
  to->collective_count = to->evaluation_collectives = 0;
  to->sum_groups = 0;
  to->ranks = with_room(to, plan->ranks, (size_t)plan->rank_count, (size_t)plan->rank_count, sizeof *to->ranks);
  if (!to->ranks) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(expand_messages(plan, to, first_message, new_message));
  it.from = plan, it.to = to, it.first_message = first_message, it.new_message = new_message;
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY_GOTO(expand_rank(&it, r));
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_ASSERT(is_carried(to, &to->ranks[r]));
  *out = to;
  to = NULL;

cleanup:
  zb_plan_destroy(to);
  zb_free(first_message);
  zb_free(new_message);
  zb_free(it.last_ready);
  zb_free(it.ready);
  return status;
}

zb_status zb_plan_expand_own(zb_plan **plan) {
  zb_plan *expanded;
  ZB_TRY(zb_plan_expand(*plan, &expanded));
  zb_plan_replace(plan, expanded);
  return NULL;
}
