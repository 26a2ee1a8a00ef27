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
 * Cost: jobs x pieces a job touches, as many as were written there, however many cells others make of the same memory;
 * cells are found once for each pair of subprogram base and address.
 *
 * Tests: test/runtime/plan/verifier_test.c
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/plan/cells.h"
#include "runtime/plan/expand.h"
#include "runtime/plan/verifier.h"

#include "runtime/base/memory.h"

enum { WORD_BITS = 64 };
enum { NOTED = 1 }; /* a range whose boundaries are known */
enum { NOBODY = -1, ANY_MICRO_BATCH = -2 /* of parameters that were gathered */ };

typedef struct dataflow {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  const zb_access *accesses;
  zb_plan_range slots, gradients, workspace;
  uint64_t *begins; /* [cell_count + 1] where each begins; the last one ends where the slots do */
  uint64_t *starts; /* [cell_count + 1] bits: a piece begins there */
  piece *pieces;    /* [cell_count + 1] */
  flight *flights;  /* [cell_count + 1] of pieces */
  size_t cell_count;
  home *homes;          /* open addressing */
  size_t home_capacity; /* a power of two */
  size_t home_count;
  uint32_t *first_id;    /* [subprogram_count] id of its base 1 */
  int32_t *known_as;     /* [subprogram_count] itself, or the first one that is the same part of the same W */
  signature *signatures; /* [id] */
  message_signature *message_signatures;
  size_t message_signature_count, message_signature_capacity;
  fixed_cell *fixed; /* and one more, where the last one ends */
  size_t fixed_count;
  uint32_t *range_cells; /* [pool_range_count] of what posts move: its first cell, or fixed cell */
  bool *waited;          /* [job_count] */
  int32_t *first_run;    /* [subprogram_count] first job in the step, NOBODY */
  int32_t last_compute;  /* NOBODY: none yet */
  int32_t placed;        /* the last subprogram that placed own parts of parameters, NOBODY */
  int32_t placed_for;    /* 1 + the collective that was posted behind it, and has its list; 0: none yet */
  bool fixed_posted;     /* a message of fixed memory */
} dataflow;

static void dataflow_deinit(dataflow *it) {
  zb_free(it->begins);
  zb_free(it->starts);
  zb_free(it->pieces);
  zb_free(it->flights);
  zb_free(it->homes);
  zb_free(it->first_id);
  zb_free(it->known_as);
  zb_free(it->signatures);
  zb_free(it->message_signatures);
  zb_free(it->fixed);
  zb_free(it->range_cells);
  zb_free(it->waited);
  zb_free(it->first_run);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

/* The source of what a subprogram writes through its base number base + 1. */
static uint64_t source_of_base(int32_t subprogram, uint32_t base) { return mix(mix(1, (uint64_t)subprogram), base); }

/* Through which base a job used a cell (-1: a part), and whether it wrote. */
static int32_t touch_of(int32_t base, bool writes) { return 2 * (base + 1) + writes; }
static int32_t touched_base(const piece *at) { return at->touched / 2 - 1; }
static bool touched_writing(const piece *at) { return at->touched % 2 != 0; }

/* Of a part of a parameter that was gathered: where its rank has it, and of which replica it is. */
static uint64_t source_of_part(uint64_t offset, int replica) { return mix(mix(4, offset), (uint64_t)replica); }

/* ---- Homes and cells ---- */

static home *find_home(const dataflow *it, uint32_t id, uint64_t address) {
  size_t mask = it->home_capacity - 1;
  for (size_t i = (size_t)mix(address, id) & mask;; i = (i + 1) & mask) {
    home *entry = &it->homes[i];
    if (entry->id == 0 || (entry->id == id && entry->address == address)) return entry;
  }
}

static bool grow_homes(dataflow *it) {
  dataflow bigger = *it;
  bigger.home_capacity = it->home_capacity * 2;
  bigger.homes = zb_alloc(bigger.home_capacity * sizeof *bigger.homes);
  if (!bigger.homes) return false;
  for (size_t i = 0; i < it->home_capacity; ++i)
    if (it->homes[i].id) *find_home(&bigger, it->homes[i].id, it->homes[i].address) = it->homes[i];
  zb_free(it->homes);
  *it = bigger;
  return true;
}

static bool in_slots(const dataflow *it, uint64_t offset, uint64_t bytes) {
  return offset >= it->slots.offset && bytes <= it->slots.bytes && offset - it->slots.offset <= it->slots.bytes - bytes;
}

static void add_access_boundaries(boundaries *to, const zb_intervals *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->count; ++i) {
    add_boundary(to, address + ranges->items[i].begin);
    add_boundary(to, address + ranges->items[i].end);
  }
}

static zb_status note_bases(dataflow *it, int index, boundaries *to) {
  const zb_plan_job *job = &it->rank->jobs[index];
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[job->subprogram];
  const zb_access *access = &it->accesses[job->subprogram];
  char text[ZB_JOB_TEXT_BYTES];
  for (uint32_t i = 0; i < job->bases.count; ++i) {
    uint64_t address = it->rank->pool_u64[job->bases.begin + i];
    if (subprogram->base_bytes[i] == 0) continue; /* nothing can be there */
    if (!in_slots(it, address, subprogram->base_bytes[i]))
      return ZB_RULE("ranges", "%s: base '%s' at %" PRIu64 " does not lie in the slots",
                     zb_plan_job_text(it->plan, it->rank->rank, index, text), subprogram->bases[i], address);
    if (address % sizeof(int64_t) != 0)
      return ZB_RULE("ranges", "%s: base '%s' at %" PRIu64 " is not aligned to 8 bytes",
                     zb_plan_job_text(it->plan, it->rank->rank, index, text), subprogram->bases[i], address);
    if (it->home_count >= it->home_capacity / 2 && !grow_homes(it)) return ZB_OUT_OF_MEMORY();
    uint32_t id = it->first_id[job->subprogram] + i;
    home *entry = find_home(it, id, address);
    if (entry->id) continue;
    *entry = (home){.address = address, .id = id};
    ++it->home_count;
    add_boundary(to, address);
    add_access_boundaries(to, &access->reads[i + 1], address);
    add_access_boundaries(to, &access->writes[i + 1], address);
  }
  return NULL;
}

/* Index of the cell that begins at `at`, which is a boundary. */
static size_t cell_at(const dataflow *it, uint64_t at) {
  size_t low = 0, high = it->cell_count;
  while (low + 1 < high) {
    size_t middle = low + (high - low) / 2;
    if (it->begins[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* ---- Pieces ---- */

static bool begins_piece(const dataflow *it, size_t at) { return it->starts[at / WORD_BITS] >> at % WORD_BITS & 1; }

/* Lets a piece begin at the cell; the cell. */
static size_t split(dataflow *it, size_t at) {
  if (begins_piece(it, at)) return at;
  size_t word = at / WORD_BITS;
  uint64_t before = it->starts[word] & ((UINT64_C(1) << at % WORD_BITS) - 1);
  while (!before) /* the first cell begins a piece */
    before = it->starts[--word];
  const size_t from = word * WORD_BITS + WORD_BITS - 1 - (size_t)__builtin_clzll(before);
  it->starts[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
  it->pieces[at] = it->pieces[from];
  it->flights[at] = it->flights[from];
  return at;
}

/* Where the next piece begins; the one behind the slots has none. */
static size_t next_piece(const dataflow *it, size_t at) {
  size_t word = ++at / WORD_BITS;
  if (at > it->cell_count) return it->cell_count;
  uint64_t behind = it->starts[word] & ~((UINT64_C(1) << at % WORD_BITS) - 1);
  while (!behind)
    behind = it->starts[++word];
  return word * WORD_BITS + (size_t)__builtin_ctzll(behind);
}

/* Makes one piece of those from a cell to another one. */
static void join(dataflow *it, size_t from, size_t to) {
  for (size_t at = next_piece(it, from); at < to; at = next_piece(it, at))
    it->starts[at / WORD_BITS] &= ~(UINT64_C(1) << at % WORD_BITS);
}

/* The first cell from `at` on that begins at the address or behind it, where a piece begins now. */
static size_t piece_from(dataflow *it, size_t at, uint64_t address) {
  for (size_t next = at; it->begins[next] <= address; next = next_piece(it, next))
    at = next;
  while (it->begins[at] < address)
    ++at;
  return split(it, at);
}

/* Where the piece at `at` ends: that of a range ends there as well. */
static size_t piece_end(dataflow *it, size_t at, uint64_t range_end) {
  const size_t next = next_piece(it, at);
  return it->begins[next] <= range_end ? next : piece_from(it, at + 1, range_end);
}

/* What a READ fills of its part: the input, not what the part is rounded up to. */
static uint64_t moved_bytes(const dataflow *it, const zb_plan_job *job, zb_plan_range part) {
  if (job->kind == ZB_JOB_READ) return (uint64_t)zb_shape_bytes(&it->plan->inputs[job->input].shape);
  return job->output ? (uint64_t)zb_shape_bytes(&it->plan->outputs[job->output - 1].shape) : part.bytes;
}

static zb_status make_fixed_cells(dataflow *it, boundaries *all) {
  if (all->failed || !sort_boundaries(all)) return ZB_OUT_OF_MEMORY();
  it->fixed = zb_alloc((all->count + 1) * sizeof *it->fixed);
  if (!it->fixed) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < all->count; ++i)
    if (i == 0 || all->items[i] != all->items[i - 1])
      it->fixed[it->fixed_count++] = (fixed_cell){.begin = all->items[i], .filling = NOBODY, .sender = NOBODY};
  if (it->fixed_count > 0) --it->fixed_count;
  return NULL;
}

/* The first cell that ends behind `at`. */
static size_t fixed_at(const dataflow *it, uint64_t at) {
  size_t low = 0, high = it->fixed_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (it->fixed[middle + 1].begin <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Where each range begins that posts move. */
static void find_range_cells(dataflow *it) {
  for (uint32_t i = 0; i < it->rank->pool_range_count; ++i) {
    const zb_plan_range part = it->rank->pool_ranges[i];
    if (it->range_cells[i] != NOTED || part.bytes == 0) continue;
    it->range_cells[i] =
        (uint32_t)(in_slots(it, part.offset, part.bytes) ? cell_at(it, part.offset) : fixed_at(it, part.offset));
  }
}

/* Cells between boundaries that are sorted, all one piece; nothing was written yet. */
static zb_status cut_slots(dataflow *it, boundaries *all) {
  size_t count = 0;
  for (size_t i = 0; i < all->count; ++i)
    if (i == 0 || all->items[i] != all->items[i - 1]) all->items[count++] = all->items[i];
  it->cell_count = count;
  it->begins = zb_alloc((count + 1) * sizeof *it->begins);
  it->starts = zb_alloc((count / WORD_BITS + 1) * sizeof *it->starts);
  it->pieces = zb_alloc((count + 1) * sizeof *it->pieces);
  it->flights = zb_alloc((count + 1) * sizeof *it->flights);
  if (!it->begins || !it->starts || !it->pieces || !it->flights) return ZB_OUT_OF_MEMORY();
  memcpy(it->begins, all->items, count * sizeof *it->begins);
  it->begins[count] = UINT64_MAX;
  it->pieces[0] = (piece){.writer = NOBODY, .touched_by = NOBODY};
  it->flights[0].filling = NOBODY;
  it->starts[0] = 1;
  (void)split(it, count - 1);
  (void)split(it, count);
  return NULL;
}

static zb_status make_cells(dataflow *it) {
  zb_status status = NULL;
  boundaries all = {0}, fixed = {0};
  add_boundary(&all, it->slots.offset);
  add_boundary(&all, it->slots.offset + it->slots.bytes);
  for (int i = 0; i < it->rank->job_count; ++i) {
    const zb_plan_job *job = &it->rank->jobs[i];
    if (job->subprogram >= 0) ZB_TRY_GOTO(note_bases(it, i, &all));
    for (uint32_t p = 0; p < job->parts.count; ++p) {
      zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
      uint32_t *noted = &it->range_cells[job->parts.begin + p];
      if (zb_job_is_post(job->kind) && *noted) continue; /* many posts may have one list */
      if (zb_job_is_post(job->kind)) *noted = NOTED;
      if (!in_slots(it, part.offset, part.bytes)) {
        if (!zb_job_is_post(job->kind) || part.bytes == 0) continue;
        add_boundary(&fixed, part.offset);
        add_boundary(&fixed, part.offset + part.bytes);
        continue;
      }
      add_boundary(&all, part.offset);
      add_boundary(&all, part.offset + moved_bytes(it, job, part));
      add_boundary(&all, part.offset + part.bytes);
    }
  }
  if (all.failed || !sort_boundaries(&all)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(cut_slots(it, &all));
  for (size_t i = 0; i < it->home_capacity; ++i)
    if (it->homes[i].id) it->homes[i].first_cell = (uint32_t)cell_at(it, it->homes[i].address);
  status = make_fixed_cells(it, &fixed);
  if (!status) find_range_cells(it);

cleanup:
  zb_free(all.items);
  zb_free(fixed.items);
  return status;
}

/* The first subprogram that is the same part of a W, which is cut for several micro-batches; else the one itself. */
static int32_t same_part(const zb_plan_rank *rank, int32_t subprogram) {
  const zb_plan_subprogram *part = &rank->subprograms[subprogram];
  for (int32_t i = part->part_of; part->part_of && i < subprogram; ++i) {
    const zb_plan_subprogram *other = &rank->subprograms[i];
    if (other->part_of == part->part_of && other->instructions == part->instructions &&
        other->instruction_count == part->instruction_count)
      return i;
  }
  return subprogram;
}

static zb_status dataflow_init(dataflow *it, const zb_plan *plan, int rank, const zb_access *accesses) {
  *it = (dataflow){
      .plan = plan, .rank = &plan->ranks[rank], .accesses = accesses, .last_compute = NOBODY, .placed = NOBODY};
  it->slots = it->rank->regions[ZB_REGION_SLOTS];
  it->gradients = it->rank->regions[ZB_REGION_GRADIENTS];
  it->workspace = it->rank->regions[ZB_REGION_WORKSPACE];
  size_t subprograms = (size_t)it->rank->subprogram_count;
  it->home_capacity = 1024;
  it->homes = zb_alloc(it->home_capacity * sizeof *it->homes);
  it->first_id = zb_alloc(subprograms * sizeof *it->first_id);
  it->known_as = zb_alloc(subprograms * sizeof *it->known_as);
  it->first_run = zb_alloc(subprograms * sizeof *it->first_run);
  it->waited = zb_alloc((size_t)it->rank->job_count * sizeof *it->waited);
  it->range_cells = zb_alloc(((size_t)it->rank->pool_range_count + 1) * sizeof *it->range_cells);
  if (!it->range_cells || !it->homes || !it->first_id || !it->known_as || !it->first_run || !it->waited)
    return ZB_OUT_OF_MEMORY();
  uint32_t next_id = 1;
  for (size_t i = 0; i < subprograms; ++i) {
    it->first_run[i] = NOBODY;
    it->known_as[i] = same_part(it->rank, (int32_t)i);
    it->first_id[i] = next_id;
    if (it->known_as[i] != (int32_t)i) {
      it->first_id[i] = it->first_id[it->known_as[i]];
      continue;
    }
    next_id += (uint32_t)it->rank->subprograms[i].base_count;
  }
  it->signatures = zb_alloc((size_t)next_id * sizeof *it->signatures);
  if (!it->signatures) return ZB_OUT_OF_MEMORY();
  for (uint32_t i = 0; i < next_id; ++i)
    it->signatures[i].job = NOBODY;
  return make_cells(it);
}

/* ---- Errors ---- */

static zb_status violation(const dataflow *it, int job, const char *verb, uint64_t at, const char *base,
                           const char *problem, int other) {
  char text[ZB_JOB_TEXT_BYTES], other_text[ZB_JOB_TEXT_BYTES];
  zb_region_kind region = zb_plan_region_of(it->rank, at, 1);
  uint64_t offset = region == ZB_REGION_COUNT ? at : at - it->rank->regions[region].offset;
  return ZB_RULE("dataflow", "%s %s %s+%" PRIu64 "%s%s%s, %s%s", zb_plan_job_text(it->plan, it->rank->rank, job, text),
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
  const bool places = it->rank->subprograms[job->subprogram].places > 0;
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
  const int32_t collective = it->plan->messages[it->rank->jobs[index].message].part_of;
  return collective > 0 && it->plan->carried && zb_collective_adds(it->plan->carried[collective - 1].kind);
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
  it->last_compute = index;
  if (!it->rank->subprograms[job->subprogram].places) return NULL;
  it->placed = job->subprogram;
  it->placed_for = 0;
  return NULL;
}

/* The first gather that is posted behind a copy of own parts is that which they are for. */
static void note_gather(dataflow *it, const zb_plan_message *message) {
  if (it->placed == NOBODY || it->placed_for || !message->part_of || !it->plan->carried) return;
  const zb_plan_collective *of = &it->plan->carried[it->rank->subprograms[it->placed].places - 1];
  if (zb_collective_is_alike(it->plan, of, &it->plan->carried[message->part_of - 1])) it->placed_for = message->part_of;
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
  const zb_plan_collective *whole =
      message->part_of && it->plan->carried ? &it->plan->carried[message->part_of - 1] : NULL;
  if (!whole || !whole->of_micro_batch || whole->apart) return -1;
  return zb_plan_first_micro_batch(it->plan, it->rank->rank) + whole->of_micro_batch - 1;
}

/* Of parameters a rank sends its own parts from the slots, and nothing that came to it. */
static zb_status check_own_parts(const dataflow *it, int index, size_t first_cell, zb_plan_range part) {
  const piece *first = &it->pieces[first_cell];
  const zb_plan_job *writer = &it->rank->jobs[first->writer];
  const bool places = writer->subprogram >= 0 && it->rank->subprograms[writer->subprogram].places > 0;
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
  if (it->placed == NOBODY || message->part_of == 0) return 0;
  const zb_plan_subprogram *subprogram = &it->rank->subprograms[it->placed];
  if (it->placed_for != message->part_of || p >= (uint32_t)subprogram->instruction_count) return 0;
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
      return ZB_RULE("ranges",
                     "%s: its part %u lies neither in the slots nor, as a message may, in the gradients or, as one of "
                     "parameters or buffers, there",
                     zb_plan_job_text(it->plan, it->rank->rank, index, text), p);
    }
  }
  return NULL;
}

zb_status zb_verify_dataflow(const zb_plan *plan, int rank, const zb_access *accesses) {
  zb_status status = NULL;
  dataflow it;
  ZB_TRY_GOTO(dataflow_init(&it, plan, rank, accesses));
  for (int i = it.rank->load_count; i < it.rank->job_count; ++i) {
    const zb_plan_job *job = &it.rank->jobs[i];
    for (uint32_t w = 0; w < job->waits.count; ++w)
      finish_wait(&it, it.rank->pool_u32[job->waits.begin + w]);
    if (job->subprogram >= 0)
      ZB_TRY_GOTO(run_compute(&it, i));
    else
      ZB_TRY_GOTO(run_parts(&it, i));
  }

cleanup:
  dataflow_deinit(&it);
  return status;
}
