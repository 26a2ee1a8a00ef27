/* Who wrote the bytes that a job reads: rule "dataflow" of the verifier (README.md), for one rank.
 *
 * The slots are cut into cells at every address where anything that some job reads or writes begins or ends. So a job
 * touches whole cells. Cells side by side that were written together, and used alike since, are one piece, which
 * remembers its last writer and what is in flight there. Walking the jobs in order then shows for every read:
 *   - the bytes were written before, in this step;
 *   - by a job of the same micro-batch (so nobody overwrote them in between);
 *   - by the same kind of writer, through the same base, at the same distance, as for every other micro-batch;
 *   - the message that brings them was waited for;
 * and for every write that no message in flight reads or fills the bytes.
 * The third is the proof that needs no names: micro-batches go through the same subprograms, so where their values come
 * from can differ only by mistake.
 *
 * Replicas of a rank have the same jobs for the most part, which are walked once: where a list begins to differ from
 * that of the first replica, its walk goes on from what the first one has found so far.
 *
 * Cost: jobs x pieces a job touches, as many as were written there, however many cells others make of the same memory;
 * cells are found once for each pair of subprogram base and address.
 *
 * Tests: test/runtime/plan/proof/verifier_test.c, test/runtime/plan/compiled/same_jobs_test.c (replicas)
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/plan/proof/cells.h"
#include "runtime/plan/proof/same_jobs.h"
#include "runtime/plan/proof/rules.h"

#include "runtime/base/assert.h"
#include "runtime/base/memory.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/file/ranks.h"

/* The source of what a subprogram writes through its base number base + 1. */
static uint64_t source_of_base(int32_t subprogram, uint32_t base) { return mix(mix(1, (uint64_t)subprogram), base); }

/* Through which base a job used a cell (-1: a part), and whether it wrote. */
static int32_t touch_of(int32_t base, bool writes) { return 2 * (base + 1) + writes; }
static int32_t touched_base(const piece *at) { return at->touched / 2 - 1; }
static bool touched_writing(const piece *at) { return at->touched % 2 != 0; }

/* Of a part of a parameter that was gathered: where its rank has it, and of which replica it is. */
static uint64_t source_of_part(uint64_t offset, int replica) { return mix(mix(4, offset), (uint64_t)replica); }

/* ---- Errors ---- */

static zb_status violation(const dataflow *it, int job, const char *verb, uint64_t at, const char *base,
                           const char *problem, int other) {
  char text[ZB_JOB_TEXT_BYTES], other_text[ZB_JOB_TEXT_BYTES];
  zb_region_kind region = zb_plan_region_of(it->rank, at, 1);
  uint64_t offset = region == ZB_REGION_COUNT ? at : at - it->rank->regions[region].offset;
  return ZB_RULE(dataflow, "%s %s %s+%" PRIu64 "%s%s%s, %s%s", zb_plan_job_text(it->plan, it->rank->rank, job, text),
                 verb, region == ZB_REGION_COUNT ? "arena" : zb_region_name(region), offset, base ? " (base '" : "",
                 base ? base : "", base ? "')" : "", problem,
                 other == NOBODY ? "" : zb_plan_job_text(it->plan, it->rank->rank, other, other_text));
}

/* ---- Reads and writes of pieces ---- */

/* One job that uses cells through one base, or one part. */
typedef struct use {
  int job;
  int32_t micro_batch;                     /* of which it may read; -1: any */
  int32_t wrote;                           /* of which it writes */
  uint64_t address;                        /* that the ranges count from */
  const char *base;                        /* name for errors, or NULL */
  int32_t base_index;                      /* -1: a part */
  uint64_t hash;                           /* of where its reads come from */
  uint64_t run_source, run_begin, run_end; /* the stretch that is not in the hash yet */
} use;

static void end_run(use *by) {
  if (by->run_end > by->run_begin) by->hash = mix(mix(mix(by->hash, by->run_begin), by->run_end), by->run_source);
  by->run_begin = by->run_end = 0;
}

/* The piece from a cell to the one where it ends. */
static zb_status read_piece(dataflow *it, use *by, size_t index, size_t end) {
  piece *at = &it->pieces[index];
  const uint64_t begin = it->begins[index];
  if (it->flights[index].filling != NOBODY)
    return violation(it, by->job, "reads", begin, by->base, "which is being received, without waiting for ",
                     it->flights[index].filling);
  if (at->writer == NOBODY)
    return violation(it, by->job, "reads", begin, by->base, "which no job wrote before", NOBODY);
  if (at->micro_batch == ANY_MICRO_BATCH && it->rank->jobs[by->job].kind == ZB_JOB_W)
    return violation(it, by->job, "reads", begin, by->base, "parameters that were gathered, and a W reads none: by ",
                     at->writer);
  if (by->micro_batch >= 0 && at->micro_batch != by->micro_batch && at->micro_batch != ANY_MICRO_BATCH)
    return violation(it, by->job, "reads", begin, by->base, "which was last written for another micro-batch by ",
                     at->writer);
  if (at->touched_by == by->job && touched_writing(at) && touched_base(at) != by->base_index)
    return violation(it, by->job, "reads", begin, by->base, "which it writes through another base too", NOBODY);
  at->touched_by = by->job;
  at->touched = touch_of(by->base_index, false);
  const uint64_t source = mix(at->source, by->address - at->writer_base);
  if (by->run_end != begin - by->address || by->run_source != source) {
    end_run(by);
    by->run_begin = begin - by->address;
    by->run_source = source;
  }
  by->run_end = it->begins[end] - by->address;
  return NULL;
}

/* Whether the job may write to a piece. */
static zb_status check_written(const dataflow *it, const use *by, size_t index) {
  const piece *at = &it->pieces[index];
  const flight in_flight = it->flights[index];
  if (in_flight.filling != NOBODY)
    return violation(it, by->job, "writes", it->begins[index], by->base,
                     "which is being received, without waiting for ", in_flight.filling);
  if (in_flight.sending > 0)
    return violation(it, by->job, "writes", it->begins[index], by->base,
                     "which a SEND still reads that was not waited for", NOBODY);
  if (at->touched_by == by->job && touched_base(at) != by->base_index)
    return violation(it, by->job, "writes", it->begins[index], by->base, "which it uses through another base too",
                     NOBODY);
  return NULL;
}

/* A range is one piece from now on. `filling`: the RECV that brings it, NOBODY where it is there at once. */
static zb_status write_range(dataflow *it, const use *by, size_t from, uint64_t end, uint64_t source, int32_t filling) {
  size_t at = from;
  for (size_t next; it->begins[at] < end; at = next) {
    next = piece_end(it, at, end);
    ZB_TRY(check_written(it, by, at));
  }
  if (at == from) return NULL;
  join(it, from, at);
  it->flights[from] = (flight){.filling = filling};
  it->pieces[from] = (piece){.source = source,
                             .writer_base = by->address,
                             .writer = by->job,
                             .micro_batch = by->wrote,
                             .touched_by = by->job,
                             .touched = touch_of(by->base_index, true)};
  return NULL;
}

/* Checks that the reads came from where they came from the first time. */
static zb_status compare(dataflow *it, use *by, signature *first) {
  end_run(by);
  if (first->job == NOBODY) {
    *first = (signature){.hash = by->hash, .job = by->job};
    return NULL;
  }
  if (first->hash == by->hash) return NULL;
  return violation(it, by->job, "reads", by->address, by->base,
                   "whose bytes come from other writers or places than for ", first->job);
}

static zb_status run_base_reads(dataflow *it, int index, uint32_t i) {
  const zb_plan_job *job = &it->rank->jobs[index];
  const zb_intervals *reads = &it->accesses[job->subprogram].reads[i + 1];
  if (reads->count == 0) return NULL;
  uint32_t id = it->first_id[job->subprogram] + i;
  use by = {.job = index,
            .micro_batch = job->micro_batch,
            .address = it->rank->pool_u64[job->bases.begin + i],
            .base = it->rank->subprograms[job->subprogram].bases[i],
            .base_index = (int32_t)i};
  size_t at = find_home(it, id, by.address)->first_cell;
  for (size_t r = 0; r < reads->count; ++r) {
    const uint64_t end = by.address + reads->items[r].end;
    at = piece_from(it, at, by.address + reads->items[r].begin);
    for (size_t next; it->begins[at] < end; at = next) {
      next = piece_end(it, at, end);
      ZB_TRY(read_piece(it, &by, at, next));
    }
  }
  return compare(it, &by, &it->signatures[id]);
}

/* Of what a subprogram copies to that place of its base; two own parts do not lie side by side there. *next: mostly the
 * instruction that does. */
static uint64_t source_of_own_part(const dataflow *it, int index, uint64_t place, int *next) {
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[it->rank->jobs[index].subprogram];
  const int replica = zb_plan_replica_of(it->plan, it->rank->rank), count = subprogram->instruction_count;
  for (int i = 0, at = *next; i < count; ++i, ++at) {
    const zb_plan_instruction *copy = &subprogram->instructions[at % count];
    if (copy->outputs[0].offset != place) continue;
    *next = at % count + 1;
    return source_of_part(copy->inputs[0].offset, replica);
  }
  return 0;
}

static zb_status run_base_writes(dataflow *it, int index, uint32_t i) {
  const zb_plan_job *job = &it->rank->jobs[index];
  const zb_intervals *writes = &it->accesses[job->subprogram].writes[i + 1];
  if (writes->count == 0) return NULL;
  const bool places = it->rank->subprograms[job->subprogram].derived.places > 0;
  uint32_t id = it->first_id[job->subprogram] + i;
  use by = {.job = index,
            .wrote = places ? ANY_MICRO_BATCH : job->micro_batch,
            .address = it->rank->pool_u64[job->bases.begin + i],
            .base = it->rank->subprograms[job->subprogram].bases[i],
            .base_index = (int32_t)i};
  uint64_t source = source_of_base(it->known_as[job->subprogram], i);
  size_t at = find_home(it, id, by.address)->first_cell;
  int next = 0;
  for (size_t w = 0; w < writes->count; ++w) {
    at = piece_from(it, at, by.address + writes->items[w].begin);
    if (places) source = source_of_own_part(it, index, writes->items[w].begin, &next);
    ZB_TRY(write_range(it, &by, at, by.address + writes->items[w].end, source, NOBODY));
  }
  return NULL;
}

/* ---- Messages in fixed memory ---- */

static zb_status use_fixed_cell(const dataflow *it, int index, const fixed_cell *at, bool writes) {
  if (at->filling != NOBODY)
    return violation(it, index, "uses", at->begin, NULL, "which is being received, without waiting for ", at->filling);
  if (!writes || at->sender == NOBODY) return NULL;
  if (at->sending > 0)
    return violation(it, index, "writes", at->begin, NULL, "without waiting for the end of ", at->sender);
  if (!zb_job_is_optimizer(it->rank->jobs[index].kind))
    return violation(it, index, "changes", at->begin, NULL, "a sum that was already sent by ", at->sender);
  return NULL;
}

/* What a job reads or writes at fixed places. */
static zb_status use_fixed(const dataflow *it, int index, const zb_intervals *list, bool writes) {
  const uint64_t first = it->fixed[0].begin, end = it->fixed[it->fixed_count].begin;
  for (size_t i = zb_intervals_find(list, first); i < list->count && list->items[i].begin < end; ++i)
    for (size_t c = fixed_at(it, list->items[i].begin); c < it->fixed_count && it->fixed[c].begin < list->items[i].end;
         ++c)
      ZB_TRY(use_fixed_cell(it, index, &it->fixed[c], writes));
  return NULL;
}

/* Whether the part is one sum of gradients, whole: what the optimizer of this rank adds up, too. */
static bool is_whole_sum(const zb_plan_rank *rank, zb_plan_range part) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; zb_job_is_optimizer(rank->subprograms[s].kind) && i < rank->subprograms[s].instruction_count; ++i) {
      const zb_plan_instruction *instruction = &rank->subprograms[s].instructions[i];
      for (int k = 0; k < instruction->input_count; ++k) {
        const zb_plan_operand *sum = &instruction->inputs[k];
        uint64_t bytes = (uint64_t)zb_operand_extent(sum);
        if (sum->rank >= 0 && sum->base == 0 && sum->offset == part.offset && bytes <= part.bytes &&
            part.bytes <= zb_align(bytes))
          return true;
      }
    }
  return false;
}

/* Whether the message carries shards of a buffer that is added up: it replaces them, and expand.c made it. */
static bool part_of_sum(const dataflow *it, int index) {
  const zb_plan_collective *of = zb_plan_carried(it->plan, &it->plan->messages[it->rank->jobs[index].message]);
  return of && zb_collective_adds(of->kind);
}

/* From its post on a message has its bytes; several may send the same. */
static zb_status take_fixed(dataflow *it, int index, zb_plan_range part, bool is_send) {
  for (size_t c = fixed_at(it, part.offset); it->fixed[c].begin < part.offset + part.bytes; ++c) {
    fixed_cell *at = &it->fixed[c];
    if (at->filling != NOBODY || (!is_send && at->sending > 0))
      return violation(it, index, "uses", at->begin, NULL, "which is in flight in ",
                       at->filling != NOBODY ? at->filling : at->sender);
    at->sending += is_send;
    *(is_send ? &at->sender : &at->filling) = index;
  }
  it->fixed_posted = true;
  return NULL;
}

static zb_status post_fixed(dataflow *it, int index, zb_plan_range part) {
  bool is_send = zb_job_flow(it->rank->jobs[index].kind) == ZB_PARTS_OUT;
  uint64_t end = part.offset + part.bytes;
  const bool is_shard = part_of_sum(it, index);
  if (!is_shard && !is_whole_sum(it->rank, part))
    return violation(it, index, "moves", part.offset, NULL,
                     "which is no sum of gradients that the optimizer of the rank reads", NOBODY);
  for (int s = 0; !is_send && !is_shard && s < it->rank->subprogram_count; ++s)
    if (it->first_run[s] != NOBODY && (zb_intervals_overlap(&it->accesses[s].reads[0], part.offset, end) ||
                                       zb_intervals_overlap(&it->accesses[s].writes[0], part.offset, end)))
      return violation(it, index, "fills", part.offset, NULL, "which was used before it came, by ", it->first_run[s]);
  return take_fixed(it, index, part, is_send);
}

/* Whether an UPDATE that ran has written the bytes. */
static bool is_updated(const dataflow *it, uint64_t begin, uint64_t end) {
  for (int s = 0; s < it->rank->subprogram_count; ++s)
    if (it->rank->subprograms[s].kind == ZB_JOB_UPDATE && it->first_run[s] != NOBODY &&
        zb_intervals_cover(&it->accesses[s].writes[0], begin, end))
      return true;
  return false;
}

/* The first job behind `index`, but for RENEW, that uses the bytes; or an UPDATE anywhere that writes them. NOBODY:
 * none.
 */
static int user_of_parameters(const dataflow *it, int index, uint64_t begin, uint64_t end) {
  for (int i = it->rank->load_count; i < it->rank->job_count; ++i) {
    const zb_plan_job *job = &it->rank->jobs[i];
    if (job->subprogram < 0 || job->kind == ZB_JOB_RENEW || (i < index && job->kind != ZB_JOB_UPDATE)) continue;
    const zb_access *access = &it->accesses[job->subprogram];
    if (zb_intervals_overlap(&access->writes[0], begin, end) ||
        (i > index && zb_intervals_overlap(&access->reads[0], begin, end)))
      return i;
  }
  return NOBODY;
}

/* A buffer goes from one replica to the others when no job of the step uses it any more. */
static zb_status post_buffers(dataflow *it, int index, zb_plan_range part) {
  const bool is_send = zb_job_flow(it->rank->jobs[index].kind) == ZB_PARTS_OUT;
  const uint64_t end = part.offset + part.bytes;
  for (int i = index + 1; i < it->rank->job_count; ++i) {
    const int subprogram = it->rank->jobs[i].subprogram;
    const zb_access *access = subprogram < 0 ? NULL : &it->accesses[subprogram];
    if (access && (zb_intervals_overlap(&access->writes[0], part.offset, end) ||
                   zb_intervals_overlap(&access->reads[0], part.offset, end)))
      return violation(it, index, "moves", part.offset, NULL, "which this step still uses: ", i);
  }
  return take_fixed(it, index, part, is_send);
}

/* A part of a parameter: what this rank has updated goes out, what others have updated comes where no job uses it until
 * the step ends. */
static zb_status post_parameters(dataflow *it, int index, zb_plan_range part) {
  const bool is_send = zb_job_flow(it->rank->jobs[index].kind) == ZB_PARTS_OUT;
  const uint64_t end = part.offset + part.bytes;
  const int user = is_send ? NOBODY : user_of_parameters(it, index, part.offset, end);
  if (is_send && !is_updated(it, part.offset, end))
    return violation(it, index, "sends", part.offset, NULL, "which no UPDATE before it has written", NOBODY);
  if (user != NOBODY)
    return violation(it, index, "fills", part.offset, NULL, "which this step still uses or updates: ", user);
  return take_fixed(it, index, part, is_send);
}

/* ---- Jobs ---- */

static void end_transfer(bool is_send, int32_t *sending, int32_t *filling) {
  if (is_send)
    --*sending;
  else
    *filling = NOBODY;
}

static void finish_wait(dataflow *it, uint32_t waited) {
  if (it->waited[waited]) return;
  it->waited[waited] = true;
  const zb_plan_job *job = &it->rank->jobs[waited];
  const bool is_send = zb_job_flow(job->kind) == ZB_PARTS_OUT;
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    const uint64_t end = part.offset + part.bytes;
    if (part.bytes == 0) continue;
    if (in_slots(it, part.offset, part.bytes)) {
      for (size_t at = split(it, it->range_cells[job->parts.begin + p]), next; it->begins[at] < end; at = next) {
        next = piece_end(it, at, end);
        end_transfer(is_send, &it->flights[at].sending, &it->flights[at].filling);
      }
    } else {
      for (size_t at = it->range_cells[job->parts.begin + p]; it->fixed[at].begin < end; ++at)
        end_transfer(is_send, &it->fixed[at].sending, &it->fixed[at].filling);
    }
  }
}

static zb_status run_compute(dataflow *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  for (uint32_t i = 0; i < job->bases.count; ++i)
    ZB_TRY(run_base_reads(it, index, i));
  for (uint32_t i = 0; i < job->bases.count; ++i)
    ZB_TRY(run_base_writes(it, index, i));
  if (it->fixed_posted) {
    ZB_TRY(use_fixed(it, index, &it->accesses[job->subprogram].reads[0], false));
    ZB_TRY(use_fixed(it, index, &it->accesses[job->subprogram].writes[0], true));
  }
  if (it->first_run[job->subprogram] == NOBODY) it->first_run[job->subprogram] = index;
  if (!it->rank->subprograms[job->subprogram].derived.places) return NULL;
  it->placed = job->subprogram;
  it->placed_for = 0;
  return NULL;
}

/* The first gather that is posted behind a copy of own parts is that which they are for. */
static void note_gather(dataflow *it, const zb_plan_message *message) {
  const zb_plan_collective *carried = zb_plan_carried(it->plan, message);
  if (it->placed == NOBODY || it->placed_for || !carried) return;
  const zb_plan_collective *of = &it->plan->derived.carried[it->rank->subprograms[it->placed].derived.places - 1];
  if (zb_collective_is_alike(it->plan, of, carried)) it->placed_for = message->derived.part_of;
}

static message_signature *find_signature(dataflow *it, const zb_plan_message *message, uint32_t part) {
  for (size_t i = 0; i < it->message_signature_count; ++i) {
    message_signature *one = &it->message_signatures[i];
    if (one->payload == message->payload && one->source_stage == message->source_stage &&
        one->destination_stage == message->destination_stage && one->part == (int32_t)part)
      return one;
  }
  if (!zb_grow((void **)&it->message_signatures, &it->message_signature_capacity, it->message_signature_count + 1,
               sizeof *it->message_signatures))
    return NULL;
  message_signature *fresh = &it->message_signatures[it->message_signature_count++];
  *fresh = (message_signature){
      message->payload, message->source_stage, message->destination_stage, (int32_t)part, {0, NOBODY}};
  return fresh;
}

/* The micro-batch of this rank whose gradients a message carries; -1: those of all, or it carries others. */
static int32_t summed_micro_batch(const dataflow *it, const zb_plan_message *message) {
  const zb_plan_collective *whole = zb_plan_carried(it->plan, message);
  if (!whole || !whole->of_micro_batch || whole->apart) return -1;
  return zb_plan_first_micro_batch(it->plan, it->rank->rank) + whole->of_micro_batch - 1;
}

/* Of parameters a rank sends its own parts from the slots, and nothing that came to it. */
static zb_status check_own_parts(const dataflow *it, int index, size_t first_cell, zb_plan_range part) {
  const piece *first = &it->pieces[first_cell];
  const zb_plan_job *writer = &it->rank->jobs[first->writer];
  const bool places = writer->subprogram >= 0 && it->rank->subprograms[writer->subprogram].derived.places > 0;
  for (size_t at = first_cell; it->begins[at] < part.offset + part.bytes; at = next_piece(it, at))
    if (!places || it->pieces[at].source != first->source)
      return violation(it, index, "sends", it->begins[at], NULL, "which is no own part of a parameter: written by ",
                       it->pieces[at].writer);
  return NULL;
}

/* That gradients of a micro-batch lie at the same place of what made them for each is the rule "sharding". */
static zb_status run_send_part(dataflow *it, int index, uint32_t p, zb_plan_range part) {
  const zb_plan_message *message = &it->plan->messages[it->rank->jobs[index].message];
  const int32_t summed = summed_micro_batch(it, message);
  use by = {.job = index,
            .micro_batch = summed >= 0 ? summed : message->micro_batch,
            .address = part.offset,
            .base_index = -1};
  const uint64_t end = part.offset + part.bytes;
  const size_t first_cell = split(it, it->range_cells[it->rank->jobs[index].parts.begin + p]);
  for (size_t at = first_cell, next; it->begins[at] < end; at = next) {
    next = piece_end(it, at, end);
    ZB_TRY(read_piece(it, &by, at, next));
    ++it->flights[at].sending;
  }
  if (summed >= 0 || part_of_sum(it, index)) return NULL; /* shards of a sum lie at other places for each member */
  if (message->payload == ZB_PAYLOAD_PARAMETERS) return check_own_parts(it, index, first_cell, part);
  message_signature *first = find_signature(it, message, p);
  return first ? compare(it, &by, &first->found) : ZB_OUT_OF_MEMORY();
}

/* A part of a parameter of another replica, which has it where this one has its own: what it copied for this gather
 * before. 0: it did not. */
static uint64_t source_of_received(const dataflow *it, const zb_plan_message *message, uint32_t p) {
  if (it->placed == NOBODY || message->derived.part_of == 0) return 0;
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[it->placed];
  if (it->placed_for != message->derived.part_of || p >= (uint32_t)subprogram->instruction_count) return 0;
  return source_of_part(subprogram->instructions[p].inputs[0].offset, zb_plan_replica_of(it->plan, message->source));
}

/* RECV and READ. */
static zb_status run_filling_part(dataflow *it, int index, uint32_t p, zb_plan_range part) {
  const zb_plan_job *job = &it->rank->jobs[index];
  use by = {.job = index, .wrote = job->micro_batch, .address = part.offset, .base_index = -1};
  uint64_t source = mix(mix(2, (uint64_t)job->input), p);
  if (job->kind == ZB_JOB_RECV) {
    const zb_plan_message *message = &it->plan->messages[job->message];
    by.wrote = message->payload == ZB_PAYLOAD_PARAMETERS ? ANY_MICRO_BATCH : message->micro_batch;
    source = mix(mix(mix(mix(3, (uint64_t)message->payload), (uint64_t)message->source_stage),
                     (uint64_t)message->destination_stage),
                 p);
    if (message->payload == ZB_PAYLOAD_PARAMETERS) source = source_of_received(it, message, p);
  }
  const size_t at = zb_job_is_post(job->kind) ? it->range_cells[job->parts.begin + p] : cell_at(it, part.offset);
  return write_range(it, &by, split(it, at), part.offset + moved_bytes(it, job, part), source,
                     job->kind == ZB_JOB_RECV ? index : NOBODY);
}

/* Whether the F that wrote this piece left its loss at this address, or the CLIP the norm. */
static bool left_loss(const dataflow *it, const piece *written, bool is_norm, uint64_t at) {
  const zb_plan_job *writer = &it->rank->jobs[written->writer];
  if (writer->subprogram < 0) return false;
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[writer->subprogram];
  return subprogram->loss_base > 0 && (subprogram->kind == ZB_JOB_CLIP) == is_norm &&
         written->writer_base + subprogram->loss_offset == at &&
         written->source == source_of_base(writer->subprogram, subprogram->loss_base - 1);
}

/* Whether the E that wrote this piece left that output at this address. */
static bool left_output(const dataflow *it, const piece *written, int output, uint64_t at) {
  const int writer = it->rank->jobs[written->writer].subprogram;
  for (int i = 0; writer >= 0 && i < it->rank->subprograms[writer].output_count; ++i) {
    const zb_plan_output_home *left = &it->rank->subprograms[writer].outputs[i];
    if (left->output == output)
      return written->writer_base + left->offset == at && written->source == source_of_base(writer, left->base - 1);
  }
  return false;
}

static zb_status run_output_report(dataflow *it, int index, zb_plan_range part) {
  const zb_plan_job *job = &it->rank->jobs[index];
  use by = {.job = index, .micro_batch = job->micro_batch, .address = part.offset, .base_index = -1};
  const uint64_t end = part.offset + moved_bytes(it, job, part);
  for (size_t at = split(it, cell_at(it, part.offset)), next; it->begins[at] < end; at = next) {
    next = piece_end(it, at, end);
    ZB_TRY(read_piece(it, &by, at, next));
    if (!left_output(it, &it->pieces[at], job->output - 1, part.offset))
      return violation(it, index, "reads", part.offset, NULL,
                       "which is not where an E left the output: it was written by ", it->pieces[at].writer);
  }
  return NULL;
}

/* A REPORT hands out the loss of its micro-batch, where the F left it; without a micro-batch the norm. */
static zb_status run_report(dataflow *it, int index, zb_plan_range part) {
  use by = {.job = index, .micro_batch = it->rank->jobs[index].micro_batch, .address = part.offset, .base_index = -1};
  if (!in_slots(it, part.offset, part.bytes))
    return violation(it, index, "reads", part.offset, NULL, "which is not in the slots", NOBODY);
  if (it->rank->jobs[index].output) return run_output_report(it, index, part);
  const uint64_t end = part.offset + (by.micro_batch < 0 ? sizeof(float) : zb_plan_loss_bytes(it->plan));
  for (size_t at = split(it, cell_at(it, part.offset)), next; it->begins[at] < end; at = next) {
    next = piece_end(it, at, end);
    ZB_TRY(read_piece(it, &by, at, next));
    if (!left_loss(it, &it->pieces[at], by.micro_batch < 0, part.offset))
      return violation(it, index, "reads", part.offset, NULL,
                       by.micro_batch < 0 ? "which is not where CLIP left the norm: it was written by "
                                          : "which is not where an F left the loss: it was written by ",
                       it->pieces[at].writer);
  }
  return NULL;
}

static zb_status run_parts(dataflow *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  char text[ZB_JOB_TEXT_BYTES];
  if (job->kind == ZB_JOB_VERDICT || job->kind == ZB_JOB_SNAPSHOT) return NULL; /* the rule "validation" */
  if (zb_job_is_post(job->kind)) note_gather(it, &it->plan->messages[job->message]);
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    if (part.bytes == 0) continue;
    bool slots = in_slots(it, part.offset, part.bytes);
    if (job->kind == ZB_JOB_REPORT) {
      ZB_TRY(run_report(it, index, part));
    } else if (slots && job->kind == ZB_JOB_SEND && it->plan->messages[job->message].payload == ZB_PAYLOAD_GRADIENTS &&
               summed_micro_batch(it, &it->plan->messages[job->message]) < 0) {
      return violation(it, index, "sends", part.offset, NULL, "which is no sum of gradients", NOBODY);
    } else if (slots && job->kind == ZB_JOB_SEND) {
      ZB_TRY(run_send_part(it, index, p, part));
    } else if (slots) {
      ZB_TRY(run_filling_part(it, index, p, part));
    } else if (job->kind != ZB_JOB_READ &&
               zb_plan_region_of(it->rank, part.offset, part.bytes) == ZB_REGION_GRADIENTS) {
      ZB_TRY(post_fixed(it, index, part));
    } else if (zb_job_is_post(job->kind) && it->plan->messages[job->message].payload == ZB_PAYLOAD_PARAMETERS &&
               zb_plan_region_of(it->rank, part.offset, part.bytes) == ZB_REGION_PARAMETERS) {
      ZB_TRY(post_parameters(it, index, part));
    } else if (zb_job_is_post(job->kind) && it->plan->messages[job->message].payload == ZB_PAYLOAD_BUFFERS &&
               zb_plan_region_of(it->rank, part.offset, part.bytes) == ZB_REGION_BUFFERS) {
      ZB_TRY(post_buffers(it, index, part));
    } else {
      return ZB_RULE(ranges,
                     "%s: its part %u lies neither in the slots nor, as a message may, in the gradients or, as one of "
                     "parameters or buffers, there",
                     zb_plan_job_text(it->plan, it->rank->rank, index, text), p);
    }
  }
  return NULL;
}

/* The jobs from one on, up to another. */
static zb_status walk(dataflow *it, int from, int to) {
  for (int i = from; i < to; ++i) {
    const zb_plan_job *job = &it->rank->jobs[i];
    for (uint32_t w = 0; w < job->waits.count; ++w)
      finish_wait(it, it->rank->pool_u32[job->waits.begin + w]);
    ZB_TRY(job->subprogram >= 0 ? run_compute(it, i) : run_parts(it, i));
  }
  return NULL;
}

/* ---- Replicas of a rank ---- */

/* What was written, with the micro-batches of this rank: its cells begin where those of the other one do, and
 * elsewhere, too. */
static void take_pieces(dataflow *it, const dataflow *from) {
  const int32_t ahead =
      zb_plan_first_micro_batch(it->plan, it->rank->rank) - zb_plan_first_micro_batch(it->plan, from->rank->rank);
  size_t to = 0;
  for (size_t at = 0; at < from->cell_count; at = next_piece(from, at)) {
    while (it->begins[to] < from->begins[at])
      ++to;
    it->starts[to / WORD_BITS] |= UINT64_C(1) << to % WORD_BITS;
    it->pieces[to] = from->pieces[at];
    it->flights[to] = from->flights[at];
    if (it->pieces[to].micro_batch >= 0) it->pieces[to].micro_batch += ahead;
  }
}

/* Where the reads of the subprograms came from that ran. */
static bool take_signatures(dataflow *it, const dataflow *from) {
  for (int s = 0; s < it->rank->subprogram_count; ++s) {
    it->first_run[s] = from->first_run[s];
    if (it->first_run[s] == NOBODY) continue;
    if (it->known_as[s] != from->known_as[s]) return false;
    for (int i = 0; i < it->rank->subprograms[s].base_count; ++i)
      it->signatures[it->first_id[s] + (uint32_t)i] = from->signatures[from->first_id[s] + (uint32_t)i];
  }
  const size_t count = from->message_signature_count, bytes = sizeof *it->message_signatures;
  if (!zb_grow((void **)&it->message_signatures, &it->message_signature_capacity, count, bytes)) return false;
  if (count) memcpy(it->message_signatures, from->message_signatures, count * bytes);
  it->message_signature_count = count;
  return true;
}

/* Goes on where another replica of the rank is, whose first jobs were the same: none of them moves what is at fixed
 * places, and none places own parts (same_jobs.c). False: it has to begin by itself. */
static bool go_on(dataflow *it, const dataflow *from) {
  const int of_it = it->rank->job_count, of_from = from->rank->job_count;
  ZB_ASSERT(!from->fixed_posted && from->placed == NOBODY);
  if (!take_signatures(it, from)) return false;
  take_pieces(it, from);
  memcpy(it->waited, from->waited, (size_t)(of_it < of_from ? of_it : of_from) * sizeof *it->waited);
  return true;
}

/* The walk of another replica, from the job on where its list is no longer that of the first one. */
static zb_status walk_other(const dataflow *first, int jobs, int rank, const zb_access *accesses) {
  zb_status status = NULL;
  dataflow it;
  const int load_count = first->plan->ranks[rank].load_count;
  ZB_TRY_GOTO(zb_dataflow_init(&it, first->plan, rank, accesses, jobs > load_count ? first : NULL,
                               jobs > load_count ? jobs : 0));
  if (jobs > load_count && !go_on(&it, first)) {
    zb_dataflow_deinit(&it);
    ZB_TRY_GOTO(zb_dataflow_init(&it, first->plan, rank, accesses, NULL, 0));
    jobs = load_count;
  }
  status = walk(&it, jobs > load_count ? jobs : load_count, it.rank->job_count);
cleanup:
  zb_dataflow_deinit(&it);
  return status;
}

void zb_verify_dataflow(const zb_plan *plan, int first, int count, zb_access *const *accesses, zb_status *statuses) {
  dataflow it;
  int same[ZB_REPLICAS_PROVEN] = {0};
  if (statuses[0]) return;
  statuses[0] = zb_dataflow_init(&it, plan, first, accesses[0], NULL, 0);
  for (int i = 1; i < count; ++i)
    same[i] = statuses[i] ? NOBODY : zb_plan_same_jobs(plan, first, first + i);
  for (int at = it.rank->load_count; !statuses[0];) {
    int next = 0, to = it.rank->job_count; /* the first one itself, to its end */
    for (int i = 1; i < count; ++i)
      if (same[i] != NOBODY && same[i] <= to) to = same[next = i];
    if (to > at) {
      statuses[0] = walk(&it, at, to);
      at = to;
    }
    if (next == 0) break;
    same[next] = NOBODY;
    if (!statuses[0]) statuses[next] = walk_other(&it, to, first + next, accesses[next]);
  }
  zb_dataflow_deinit(&it);
}
