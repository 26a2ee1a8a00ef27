/* The plan of all shards: zb_plan_shard of runtime/plan/file/plan.h.
 *
 * A plan of shards is one program a rank, whatever their number (zb-shard). Here it becomes the ordinary plan of all of
 * them: message m of shard c is message m * shards + c, collectives join ranks of one shard, and every sum over shards
 * becomes a collective of the shards of one rank. A subprogram with such sums is cut behind each of them into segments,
 * subprograms of their own on the same memory; the job that ran it becomes a job for each segment and a collective
 * between two, which waits for what comes:
 *
 *   F s0_F micro-batch 1                     F s0_F.0 micro-batch 1
 *     matmul x w -> p                          matmul x w -> p
 *     all_reduce p -> y               ->       contiguous p -> y       (nothing, where both are one place)
 *     add y b -> z                           COLLECTIVE y
 *                                            F s0_F.1 micro-batch 1    waits for it
 *                                              add y b -> z
 *
 * Of reduce_scatter the own part of p goes to y, and of gather_parts x to its place among the parts. What runs on the
 * rank meanwhile are segments of W alone (weave.h), subprograms of their own behind the collective, which then goes on
 * the second clock of the rank:
 *
 *   F s0_F micro-batch 1                     F s0_F.0 micro-batch 1
 *                                            COLLECTIVE y
 *                                            W s0_W.0-2 micro-batch 0
 *                                   ->       F s0_F.1 micro-batch 1    waits for the collective
 *   W s0_W micro-batch 0                     W s0_W.2-5 micro-batch 0
 *     instructions 0-2 ahead
 *
 * They touch nothing that the sum, or what follows, uses: the rule "woven" of the proof.
 *
 * Tests: test/runtime/plan/compiled/shards_plan_test.c, test/e2e/shards.py. */
#include "runtime/plan/file/check.h"
#include "runtime/base/assert.h"
#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/mesh/mesh.h"

#include <stdio.h>
#include <string.h>

/* ---- The plan of all shards ---- */

typedef struct sharding {
  const zb_plan *from;
  zb_plan *to;
  int shards;
  int listed;   /* collectives of `to` that came from those of `from` */
  int *segment; /* [subprogram of the rank at hand] the first of its segments in the new list */
  int *ahead,
      *left; /* [segment of the rank at hand] its subprogram there, and the first one of what is left behind it */
} sharding;

static int rank_at(const sharding *it, int rank, int shard) { return rank * it->shards + shard; }

static zb_collective_kind kind_of(const zb_plan_instruction *instruction) {
  return zb_collective_of_op(instruction->op);
}

static int sums_of(const zb_plan_subprogram *subprogram) {
  int count = 0;
  for (int i = 0; i < subprogram->instruction_count; ++i)
    count += zb_is_shard_sum(&subprogram->instructions[i]);
  return count;
}

static zb_status shard_messages(sharding *it) {
  const zb_plan *from = it->from;
  zb_plan *to = it->to;
  if ((int64_t)from->message_count * it->shards > INT32_MAX)
    return ZB_ERROR(INVALID, "the plan has more than 2^31 messages with its %d shards", it->shards);
  to->message_count = from->message_count * it->shards;
  to->evaluation_messages = from->evaluation_messages * it->shards;
  to->messages = zb_plan_alloc(to, ((size_t)to->message_count + 1) * sizeof *to->messages);
  if (!to->messages) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < to->message_count; ++i) {
    zb_plan_message *message = &to->messages[i];
    *message = from->messages[i / it->shards];
    message->source = rank_at(it, message->source, i % it->shards);
    message->destination = rank_at(it, message->destination, i % it->shards);
  }
  return NULL;
}

zb_status zb_plan_sums_of_rank(const zb_plan_rank *rank, size_t counts[2]) {
  counts[0] = counts[1] = 0;
  if (!rank->jobs) return NULL;
  size_t *runs = zb_alloc(((size_t)rank->subprogram_count + 1) * sizeof *runs);
  if (!runs) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].subprogram >= 0) ++runs[rank->jobs[i].subprogram];
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; runs[s] > 0 && i < rank->subprograms[s].instruction_count; ++i) {
      const zb_plan_instruction *instruction = &rank->subprograms[s].instructions[i];
      if (zb_is_shard_sum(instruction)) counts[kind_of(instruction) != ZB_COLLECTIVE_ALL_REDUCE] += runs[s];
    }
  zb_free(runs);
  return NULL;
}

static zb_status shard_collectives(sharding *it) {
  const zb_plan *from = it->from;
  zb_plan *to = it->to;
  size_t sums = 0, numbers = from->pool_u64_count;
  for (int i = 0; i < from->shard_sum_count; ++i)
    sums += (size_t)from->shard_sums[i];
  for (int c = 0; c < from->collective_count; ++c)
    numbers += (size_t)it->shards * from->collectives[c].members.count;
  numbers += sums * 3 * (size_t)it->shards;
  const size_t count = (size_t)from->collective_count * (size_t)it->shards + sums;
  if (numbers > UINT32_MAX || count > INT32_MAX)
    return ZB_ERROR(INVALID, "the plan has more than 2^31 sums over its %d shards", it->shards);
  to->collectives = zb_plan_alloc(to, (count + 1) * sizeof *to->collectives);
  to->pool_u64 = zb_plan_alloc(to, (numbers + 1) * sizeof *to->pool_u64);
  if (!to->collectives || !to->pool_u64) return ZB_OUT_OF_MEMORY();
  if (from->pool_u64_count) memcpy(to->pool_u64, from->pool_u64, from->pool_u64_count * sizeof *to->pool_u64);
  to->collective_count = it->listed = from->collective_count * it->shards;
  for (int i = 0; i < it->listed; ++i) {
    const zb_plan_collective *old = &from->collectives[i / it->shards];
    zb_plan_collective *collective = &to->collectives[i];
    *collective = *old;
    collective->before = old->before * it->shards;
    collective->members.begin = to->pool_u64_count;
    for (uint32_t m = 0; m < old->members.count; ++m)
      to->pool_u64[to->pool_u64_count++] =
          (uint64_t)rank_at(it, (int)from->pool_u64[old->members.begin + m], i % it->shards);
  }
  return NULL;
}

static zb_plan_slice add_numbers(zb_plan *plan, int count, uint64_t number) {
  const zb_plan_slice slice = {plan->pool_u64_count, (uint32_t)count};
  for (int i = 0; i < count; ++i)
    plan->pool_u64[plan->pool_u64_count++] = number;
  return slice;
}

/* The collective of the shards of a rank that `instruction` is. All shards have it under one number. NULL: of a rank
 * that is not read, where it takes its number, and those of its messages. */
static void add_sum(sharding *it, int rank, zb_collective_kind kind, const zb_plan_instruction *instruction) {
  zb_plan *to = it->to;
  const zb_attrs attrs = instruction ? (zb_attrs){instruction->attrs, instruction->attr_count} : (zb_attrs){0};
  const bool greatest = strcmp(zb_attr_string(&attrs, "reduction", "sum"), "max") == 0;
  const bool adds = zb_collective_adds(kind);
  const uint64_t bytes = instruction ? (uint64_t)zb_operand_extent(zb_shard_sum_whole(instruction)) : 0;
  zb_plan_collective *collective = &to->collectives[to->collective_count++];
  *collective = (zb_plan_collective){.kind = kind,
                                     .payload = ZB_PAYLOAD_SHARDS,
                                     .dtype = instruction ? instruction->outputs[0].dtype : ZB_F32,
                                     .before = to->message_count,
                                     .greatest = greatest,
                                     .derived.timed_members = (uint32_t)it->from->shards,
                                     .members = {to->pool_u64_count, (uint32_t)it->shards}};
  for (int c = 0; c < it->shards; ++c)
    to->pool_u64[to->pool_u64_count++] = (uint64_t)rank_at(it, rank, c);
  collective->sizes = adds ? add_numbers(to, 1, bytes) : add_numbers(to, it->shards, bytes / (uint64_t)it->shards);
  if (!adds) collective->counts = add_numbers(to, it->shards, 1);
}

/* ---- Subprograms ---- */

/* Part `shard` of what has a dimension of parts in front. */
static zb_plan_operand part_of(const zb_plan_operand *all, int shard) {
  zb_plan_operand part = *all;
  part.offset += (uint64_t)(shard * all->strides[0] * (int64_t)zb_dtype_bytes(all->dtype));
  part.rank = all->rank - 1;
  memmove(part.shape, part.shape + 1, (size_t)part.rank * sizeof *part.shape);
  memmove(part.strides, part.strides + 1, (size_t)part.rank * sizeof *part.strides);
  return part;
}

/* The instruction in place of a collective: the shard's own part goes where the sum, or all parts, will be. */
static zb_status own_part(sharding *it, const zb_plan_instruction *sum, int shard, zb_plan_instruction *copy) {
  *copy = *sum;
  copy->op = "contiguous";
  copy->attrs = NULL;
  copy->attr_count = 0;
  copy->scratch_offset = copy->scratch_bytes = 0;
  if (kind_of(sum) == ZB_COLLECTIVE_ALL_REDUCE) return NULL;
  const bool scatters = kind_of(sum) == ZB_COLLECTIVE_REDUCE_SCATTER;
  zb_plan_operand *part = zb_plan_alloc(it->to, sizeof *part);
  if (!part) return ZB_OUT_OF_MEMORY();
  *part = part_of(zb_shard_sum_whole(sum), shard);
  if (scatters)
    copy->inputs = part;
  else
    copy->outputs = part;
  return NULL;
}

static bool is_in_place(const zb_plan_instruction *sum) {
  return kind_of(sum) == ZB_COLLECTIVE_ALL_REDUCE && sum->inputs[0].base == sum->outputs[0].base &&
         sum->inputs[0].offset == sum->outputs[0].offset && zb_operand_is_contiguous(&sum->inputs[0]);
}

/* The number of the shard, where the program asks for it. */
static zb_status set_place(sharding *it, zb_plan_instruction *instruction, int shard) {
  zb_attr *attrs = zb_plan_alloc(it->to, ((size_t)instruction->attr_count + 1) * sizeof *attrs);
  int count = 0;
  if (!attrs) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < instruction->attr_count; ++i)
    if (strcmp(instruction->attrs[i].name, "place") != 0) attrs[count++] = instruction->attrs[i];
  attrs[count++] = (zb_attr){.name = "place", .kind = ZB_ATTR_INT, .i = shard};
  instruction->attrs = attrs;
  instruction->attr_count = count;
  return NULL;
}

static bool asks_for_place(const zb_plan_instruction *instruction) {
  return strcmp(instruction->op, "coordinate") == 0 || strcmp(instruction->op, "own_part") == 0;
}

/* Instructions `begin` to `end` of a subprogram: all of it, or what is left of a W where a segment of it ends. */
typedef struct stretch {
  const zb_plan_subprogram *of;
  int begin, end;
  bool cold; /* what it takes at its first run in a step is known */
} stretch;

/* What the segments of a stretch take: each from where one begins to where the next one does. */
static zb_status time_segments(const sharding *it, const stretch *all, zb_plan_subprogram *segments, int count) {
  const zb_plan_subprogram *of = all->of;
  if (count == 1 && all->begin == 0 && all->end == of->instruction_count) return NULL;
  const size_t times = (size_t)of->instruction_count + 1;
  int64_t *later = zb_alloc(2 * times * sizeof *later), *first = later + times;
  if (!later) return ZB_OUT_OF_MEMORY();
  zb_instruction_times(it->from, of, of->time_ps, later);
  zb_instruction_times(it->from, of, of->first_ps, first);
  for (int i = 0, begin = all->begin, end = begin; i < count; ++i, begin = end) {
    zb_plan_subprogram *segment = &segments[i];
    segment->flops = segment->product_flops = 0;
    for (; end < all->end; ++end) {
      const bool opens = i > 0 && end == begin; /* the sum in front of it */
      if (zb_is_shard_sum(&of->instructions[end]) && !opens) break;
      segment->flops += of->instructions[end].flops;
      segment->product_flops += of->instructions[end].product_flops;
    }
    segment->time_ps = later[end] - later[begin];
    segment->first_ps = all->cold && of->first_ps ? first[end] - first[begin] : 0;
  }
  zb_free(later);
  return NULL;
}

/* The next subprogram of the rank, without instructions yet. */
static zb_plan_subprogram *begin_segment(zb_plan_rank *rank, const stretch *all, zb_plan_instruction *instructions) {
  zb_plan_subprogram *segment = &rank->subprograms[rank->subprogram_count++];
  *segment = *all->of;
  segment->instructions = instructions;
  segment->instruction_count = 0;
  return segment;
}

/* Appends the segments of a stretch to those of the rank. */
static zb_status add_segments(sharding *it, zb_plan_rank *rank, const stretch *all, int shard) {
  const zb_plan_subprogram *from = all->of;
  zb_plan_instruction *instructions =
      zb_plan_alloc(it->to, ((size_t)from->instruction_count + 1) * sizeof *instructions);
  if (!instructions) return ZB_OUT_OF_MEMORY();
  const int first = rank->subprogram_count;
  zb_plan_subprogram *segment = begin_segment(rank, all, instructions);
  for (int i = all->begin; i < all->end; ++i) {
    const zb_plan_instruction *instruction = &from->instructions[i];
    if (!zb_is_shard_sum(instruction)) {
      *instructions = *instruction;
      if (asks_for_place(instruction)) ZB_TRY(set_place(it, instructions, shard));
      ++instructions;
      ++segment->instruction_count;
      continue;
    }
    if (!is_in_place(instruction)) {
      ZB_TRY(own_part(it, instruction, shard, instructions++));
      ++segment->instruction_count;
    }
    segment->loss_base = 0;
    segment->output_count = 0;
    segment = begin_segment(rank, all, instructions);
  }
  for (int i = first; i < rank->subprogram_count && rank->subprogram_count - first > 1; ++i) {
    char name[256];
    snprintf(name, sizeof name, "%s.%d", from->name, i - first);
    rank->subprograms[i].name = zb_plan_strdup(it->to, name);
    if (!rank->subprograms[i].name) return ZB_OUT_OF_MEMORY();
  }
  return time_segments(it, all, rank->subprograms + first, rank->subprogram_count - first);
}

/* What runs ahead of a W, and what is left of it behind: one subprogram, or several where that has sums. */
static zb_status add_ahead(sharding *it, const zb_plan_rank *from, zb_plan_rank *rank, int segment, int shard) {
  const zb_plan_segment *row = &from->segments[segment];
  const zb_plan_subprogram *of = &from->subprograms[row->subprogram];
  const stretch ahead = {of, row->begin, row->end, false}, left = {of, row->end, of->instruction_count, false};
  char name[256];
  it->ahead[segment] = rank->subprogram_count;
  ZB_TRY(add_segments(it, rank, &ahead, shard));
  snprintf(name, sizeof name, "%s.%d-%d", of->name, row->begin, row->end);
  rank->subprograms[it->ahead[segment]].name = zb_plan_strdup(it->to, name);
  if (!rank->subprograms[it->ahead[segment]].name) return ZB_OUT_OF_MEMORY();
  if (it->left[segment] < 0 || left.begin == left.end) return NULL;
  it->left[segment] = rank->subprogram_count;
  return add_segments(it, rank, &left, shard);
}

/* Behind which segments something is left: the last ones of jobs. */
static void mark_last(sharding *it, const zb_plan_rank *from) {
  for (int i = 0; i < from->segment_count; ++i)
    it->left[i] = -1;
  for (int i = 0; i < from->job_count; ++i) {
    const zb_plan_slice segments = from->jobs[i].segments;
    if (segments.count > 0) it->left[segments.begin + segments.count - 1] = 0;
  }
}

static zb_status shard_subprograms(sharding *it, const zb_plan_rank *from, zb_plan_rank *rank, int shard) {
  size_t count = (size_t)from->subprogram_count;
  for (int s = 0; s < from->subprogram_count; ++s)
    count += (size_t)sums_of(&from->subprograms[s]);
  for (int i = 0; i < from->segment_count; ++i)
    count += 2 + (size_t)sums_of(&from->subprograms[from->segments[i].subprogram]);
  rank->subprograms = zb_plan_alloc(it->to, (count + 1) * sizeof *rank->subprograms);
  if (!rank->subprograms) return ZB_OUT_OF_MEMORY();
  rank->subprogram_count = 0;
  for (int s = 0; s < from->subprogram_count; ++s) {
    const stretch all = {&from->subprograms[s], 0, from->subprograms[s].instruction_count, true};
    it->segment[s] = rank->subprogram_count;
    ZB_TRY(add_segments(it, rank, &all, shard));
  }
  mark_last(it, from);
  for (int i = 0; i < from->segment_count; ++i)
    ZB_TRY(add_ahead(it, from, rank, i, shard));
  return NULL;
}

/* ---- Jobs ---- */

typedef struct job_lists {
  sharding *it;
  const zb_plan_rank *from;
  zb_plan_rank *rank;
  uint32_t *place;       /* [job of from] the job of the new list that posts what it posted */
  int next_sum;          /* the collective of the next sum of the rank */
  const zb_woven *woven; /* what runs ahead, in its order */
  size_t woven_count, next_woven;
} job_lists;

static uint64_t address_in(const zb_plan_rank *rank, const zb_plan_job *job, const zb_plan_operand *operand) {
  return operand->offset + (operand->base ? rank->pool_u64[job->bases.begin + operand->base - 1] : 0);
}

static zb_plan_slice one_wait(job_lists *lists, int job) {
  zb_plan_rank *rank = lists->rank;
  rank->pool_u32[rank->pool_u32_count] = (uint32_t)job;
  return (zb_plan_slice){rank->pool_u32_count++, 1};
}

static void add_part(zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  rank->pool_ranges[rank->pool_range_count++] = (zb_plan_range){offset, bytes};
}

/* The homes of what a collective moves: those of all parts; or the buffer, room for what comes, and where the sum of a
 * part goes that stays no part of the buffer. */
static zb_plan_slice add_parts(job_lists *lists, const zb_plan_job *job, const zb_plan_instruction *sum) {
  zb_plan_rank *rank = lists->rank;
  const uint32_t begin = rank->pool_range_count;
  const zb_plan_operand *whole = zb_shard_sum_whole(sum);
  const uint64_t bytes = (uint64_t)zb_operand_extent(whole), shards = (uint64_t)lists->it->shards;
  const uint64_t home = address_in(lists->from, job, whole);
  if (zb_collective_adds(kind_of(sum))) {
    add_part(rank, home, bytes);
    add_part(rank, sum->scratch_offset, sum->scratch_bytes);
    if (whole == &sum->inputs[0]) add_part(rank, address_in(lists->from, job, &sum->outputs[0]), bytes / shards);
  } else {
    for (uint64_t c = 0; c < shards; ++c)
      add_part(rank, home + c * (bytes / shards), bytes / shards);
  }
  return (zb_plan_slice){begin, rank->pool_range_count - begin};
}

/* What runs beside sum number `sum` of a job. */
static bool add_woven(job_lists *lists, int host, int sum) {
  zb_plan_rank *rank = lists->rank;
  const int begin = rank->job_count;
  for (; lists->next_woven < lists->woven_count; ++lists->next_woven) {
    const zb_woven *at = &lists->woven[lists->next_woven];
    if (at->host != host || at->sum != sum) break;
    zb_plan_job job = lists->from->jobs[at->job];
    job.subprogram = lists->it->ahead[at->segment];
    job.segments = (zb_plan_slice){0, 0};
    rank->jobs[rank->job_count++] = job;
  }
  return rank->job_count > begin;
}

/* A job for each segment of its subprogram, and between two the collective that both sides wait for. Of one of which a
 * part ran ahead: of what is left of it. */
static void add_segment_jobs(job_lists *lists, const zb_plan_job *job, int index) {
  zb_plan_rank *rank = lists->rank;
  const zb_plan_subprogram *whole = &lists->from->subprograms[job->subprogram];
  const uint32_t last = job->segments.begin + job->segments.count - 1;
  const int begin = job->segments.count ? lists->from->segments[last].end : 0;
  zb_plan_job part = *job;
  int sum = 0;
  part.segments = (zb_plan_slice){0, 0};
  part.subprogram = job->segments.count ? lists->it->left[last] : lists->it->segment[job->subprogram];
  if (begin < whole->instruction_count || !job->segments.count) rank->jobs[rank->job_count++] = part;
  for (int i = begin; i < whole->instruction_count; ++i) {
    if (!zb_is_shard_sum(&whole->instructions[i])) continue;
    const int collective = lists->next_sum++, posted = rank->job_count;
    rank->jobs[rank->job_count++] = (zb_plan_job){.kind = ZB_JOB_COLLECTIVE,
                                                  .subprogram = -1,
                                                  .stage = -1,
                                                  .micro_batch = -1,
                                                  .message = -1,
                                                  .collective = 1 + collective,
                                                  .input = -1,
                                                  .parts = add_parts(lists, job, &whole->instructions[i])};
    lists->it->to->collectives[collective].derived.beside |= add_woven(lists, index, sum++);
    ++part.subprogram;
    part.waits = one_wait(lists, posted);
    rank->jobs[rank->job_count++] = part;
  }
}

/* An arrangement of `from` for a rank of the new plan, without the jobs that shard 0 does for all. The norm is for all
 * of them: by it each knows whether its step changed anything. */
static void shard_jobs(job_lists *lists, int shard) {
  const zb_plan_rank *from = lists->from;
  zb_plan_rank *rank = lists->rank;
  const int shards = lists->it->shards;
  rank->load_count = rank->evaluation_count = 0;
  for (int i = 0; i < from->job_count; ++i) {
    zb_plan_job job = from->jobs[i];
    const int begin = rank->job_count;
    lists->place[i] = (uint32_t)begin;
    if (job.kind == ZB_JOB_REPORT && job.micro_batch >= 0 && shard > 0) continue;
    for (uint32_t w = 0; w < job.waits.count; ++w)
      rank->pool_u32[rank->pool_u32_count + w] = lists->place[from->pool_u32[from->jobs[i].waits.begin + w]];
    job.waits.begin = rank->pool_u32_count;
    rank->pool_u32_count += job.waits.count;
    if (job.message >= 0) job.message = job.message * shards + shard;
    if (job.collective) job.collective = 1 + (job.collective - 1) * shards + shard;
    if (job.subprogram >= 0)
      add_segment_jobs(lists, &job, i);
    else
      rank->jobs[rank->job_count++] = job;
    if (i < from->load_count) rank->load_count = rank->job_count;
    if (i >= from->job_count - from->evaluation_count) rank->evaluation_count += rank->job_count - begin;
  }
}

static void *copy_with_room(zb_plan *plan, const void *from, size_t count, size_t more, size_t bytes) {
  void *copy = zb_plan_alloc(plan, (count + more + 1) * bytes);
  if (copy && count) memcpy(copy, from, count * bytes);
  return copy;
}

/* What a file has once belongs to shard 0; of what is cut every shard has its part. */
static zb_status shard_parameters(sharding *it, zb_plan_rank *rank, int shard) {
  zb_plan_parameter *parameters =
      copy_with_room(it->to, rank->parameters, (size_t)rank->parameter_count, 0, sizeof *parameters);
  if (!parameters) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->parameter_count; ++i) {
    parameters[i].derived.owns_part |= parameters[i].owner;
    parameters[i].owner &= shard == 0;
  }
  rank->parameters = parameters;
  return NULL;
}

static zb_status shard_rank(sharding *it, int r, int shard, int first_sum) {
  const zb_plan_rank *from = &it->from->ranks[r];
  zb_plan_rank *rank = &it->to->ranks[rank_at(it, r, shard)];
  *rank = *from;
  rank->rank = rank_at(it, r, shard);
  ZB_TRY(shard_parameters(it, rank, shard));
  if (!from->jobs) return NULL; /* not read */
  size_t counts[2];
  ZB_TRY(zb_plan_sums_of_rank(from, counts));
  const size_t sums = counts[0] + counts[1], parts = 2 * counts[0] + counts[1] * ((size_t)it->shards + 1);
  zb_woven *woven;
  size_t woven_count;
  ZB_TRY(shard_subprograms(it, from, rank, shard));
  ZB_TRY(zb_woven_of(from, &woven, &woven_count));
  rank->segments = NULL;
  rank->segment_count = 0;
  rank->jobs = zb_plan_alloc(it->to, ((size_t)from->job_count + 2 * sums + woven_count + 1) * sizeof *rank->jobs);
  rank->job_count = 0;
  rank->pool_ranges =
      copy_with_room(it->to, from->pool_ranges, from->pool_range_count, parts, sizeof *rank->pool_ranges);
  rank->pool_u32 = zb_plan_alloc(it->to, ((size_t)from->pool_u32_count + sums + 1) * sizeof *rank->pool_u32);
  rank->pool_u32_count = 0;
  uint32_t *place = zb_alloc(((size_t)from->job_count + 1) * sizeof *place);
  if (rank->jobs && rank->pool_ranges && rank->pool_u32 && place)
    shard_jobs(&(job_lists){.it = it,
                            .from = from,
                            .rank = rank,
                            .place = place,
                            .next_sum = first_sum,
                            .woven = woven,
                            .woven_count = woven_count},
               shard);
  const bool failed = !rank->jobs || !rank->pool_ranges || !rank->pool_u32 || !place;
  zb_free(place);
  zb_free(woven);
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

zb_status zb_plan_count_shard_sums(zb_plan *plan) {
  plan->shard_sum_count = zb_plan_shards(plan) > 1 ? 2 * plan->rank_count : 0;
  plan->shard_sums = zb_plan_alloc(plan, ((size_t)plan->shard_sum_count + 1) * sizeof *plan->shard_sums);
  if (!plan->shard_sums) return ZB_OUT_OF_MEMORY();
  for (int r = 0; 2 * r < plan->shard_sum_count; ++r) {
    size_t counts[2];
    ZB_TRY(zb_plan_sums_of_rank(&plan->ranks[r], counts));
    for (int i = 0; i < 2; ++i)
      plan->shard_sums[2 * r + i] = (int)counts[i];
  }
  return NULL;
}

zb_status zb_plan_check_shard_sums(const zb_plan *plan, int rank) {
  const zb_plan_rank *read = &plan->ranks[rank];
  const bool said = 2 * rank + 1 < plan->shard_sum_count;
  const int *sums = said ? plan->shard_sums + 2 * (size_t)rank : (const int[]){0, 0};
  size_t counts[2];
  if (!read->jobs) return NULL;
  ZB_TRY(zb_plan_sums_of_rank(read, counts));
  if (said && (size_t)sums[0] == counts[0] && (size_t)sums[1] == counts[1]) return NULL;
  return ZB_ERROR(INVALID, "rank %d: its jobs make %zu sums over shards and %zu of one phase, the plan says %d and %d",
                  rank, counts[0], counts[1], sums[0], sums[1]);
}

/* The collectives of shards of a rank, in the order of its jobs; then its shards. */
static zb_status shard_all(sharding *it, int r) {
  const zb_plan_rank *from = &it->from->ranks[r];
  const int first_sum = it->to->collective_count;
  zb_status status = NULL;
  ZB_TRY(zb_plan_check_shard_sums(it->from, r));
  for (int i = 0; i < it->from->shard_sums[2 * r] && !from->jobs; ++i)
    add_sum(it, r, ZB_COLLECTIVE_ALL_REDUCE, NULL);
  for (int i = 0; i < it->from->shard_sums[2 * r + 1] && !from->jobs; ++i)
    add_sum(it, r, ZB_COLLECTIVE_REDUCE_SCATTER, NULL);
  for (int i = 0; i < from->job_count && from->jobs; ++i) {
    if (from->jobs[i].subprogram < 0) continue;
    const zb_plan_subprogram *subprogram = &from->subprograms[from->jobs[i].subprogram];
    for (int k = 0; k < subprogram->instruction_count; ++k)
      if (zb_is_shard_sum(&subprogram->instructions[k]))
        add_sum(it, r, kind_of(&subprogram->instructions[k]), &subprogram->instructions[k]);
  }
  it->segment = zb_alloc(((size_t)from->subprogram_count + 1) * sizeof *it->segment);
  it->ahead = zb_alloc(((size_t)from->segment_count + 1) * sizeof *it->ahead);
  it->left = zb_alloc(((size_t)from->segment_count + 1) * sizeof *it->left);
  if (!it->segment || !it->ahead || !it->left) status = ZB_OUT_OF_MEMORY();
  for (int c = 0; c < it->shards && !status; ++c)
    status = shard_rank(it, r, c, first_sum);
  zb_free(it->segment);
  zb_free(it->ahead);
  zb_free(it->left);
  return status;
}

zb_status zb_plan_shard(const zb_plan *plan, int shards, zb_plan **out) {
  zb_status status = NULL;
  *out = NULL;
  if (zb_plan_shards(plan) == 1) return NULL;
  ZB_ASSERT(zb_plan_replicas(plan) == 1 && !plan->derived.shard_mesh && !plan->derived.carried); /* behind replicas */
  sharding it = {.from = plan, .to = zb_plan_create_like(plan), .shards = shards ? shards : plan->shards};
  if (!it.to) return ZB_OUT_OF_MEMORY();
  if ((int64_t)plan->rank_count * it.shards > INT32_MAX)
    ZB_TRY_GOTO(ZB_ERROR(INVALID, "%d shards of %d ranks are more than 2^31", it.shards, plan->rank_count));
  it.to->shards = 1;
  it.to->derived.shard_mesh = it.shards;
  it.to->shard_sum_count = 0;
  it.to->rank_count = plan->rank_count * it.shards;
  it.to->ranks = zb_plan_alloc(it.to, (size_t)it.to->rank_count * sizeof *it.to->ranks);
  it.to->pool_u64_count = plan->pool_u64_count;
  if (!it.to->ranks) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(shard_messages(&it));
  ZB_TRY_GOTO(shard_collectives(&it));
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY_GOTO(shard_all(&it, r));
  *out = it.to;
  it.to = NULL;
cleanup:
  zb_plan_destroy(it.to);
  return status;
}

zb_status zb_plan_unfold_own(zb_plan **plan) {
  zb_plan *all;
  ZB_TRY(zb_plan_replicate(*plan, 0, &all));
  zb_plan_replace(plan, all);
  ZB_TRY(zb_plan_shard(*plan, 0, &all));
  zb_plan_replace(plan, all);
  return NULL;
}
