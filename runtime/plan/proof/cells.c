/* Where the memory of a rank is cut into cells for the walk of dataflow.c: see there.
 * Tests: test/runtime/plan/proof/verifier_test.c, test/runtime/plan/compiled/same_jobs_test.c */
#include "runtime/plan/proof/cells.h"

#include <inttypes.h>
#include <string.h>

/* ---- Boundaries ---- */

/* Each address once, although most come many times: jobs use the same memory again and again. */
typedef struct boundaries {
  uint64_t *items;
  size_t count;
  uint64_t *places; /* open addressing: address + 1, 0 where none is */
  int places_log;   /* there are 2^places_log of them, twice as many as items at most */
  bool failed;
} boundaries;

static uint64_t *boundary_place(uint64_t *places, int places_log, uint64_t at) {
  const size_t mask = ((size_t)1 << places_log) - 1;
  size_t i = (size_t)((at + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - places_log));
  while (places[i] && places[i] != at + 1)
    i = (i + 1) & mask;
  return &places[i];
}

static bool grow_boundaries(boundaries *it) {
  const int log = it->places ? it->places_log + 1 : 10;
  const size_t count = (size_t)1 << log;
  uint64_t *places = zb_alloc(count * sizeof *places), *items = zb_realloc(it->items, count / 2 * sizeof *items);
  if (items) it->items = items;
  if (!places || !items) {
    zb_free(places);
    return false;
  }
  for (size_t i = 0; i < it->count; ++i)
    *boundary_place(places, log, items[i]) = items[i] + 1;
  zb_free(it->places);
  it->places = places;
  it->places_log = log;
  return true;
}

static void add_boundary(boundaries *it, uint64_t at) {
  if (!it->places || it->count >= (size_t)1 << (it->places_log - 1)) it->failed |= !grow_boundaries(it);
  if (it->failed) return;
  uint64_t *place = boundary_place(it->places, it->places_log, at);
  if (*place) return;
  *place = at + 1;
  it->items[it->count++] = at;
}

static void free_boundaries(boundaries *it) {
  zb_free(it->items);
  zb_free(it->places);
}

/* Rising order, 11 bits at a time, for as many bits as the largest has: there are some ten thousand boundaries a rank.
 * False: out of memory. */
static bool sort_boundaries(boundaries *it) {
  enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
  uint64_t *from = it->items, *to = zb_alloc((it->count + 1) * sizeof *to), all_bits = 0;
  if (!to) return false;
  for (size_t i = 0; i < it->count; ++i)
    all_bits |= from[i];
  for (int shift = 0; shift < 64 && all_bits >> shift; shift += DIGIT_BITS) {
    size_t begin[DIGITS + 1] = {0};
    for (size_t i = 0; i < it->count; ++i)
      ++begin[(from[i] >> shift) % DIGITS + 1];
    for (int digit = 0; digit < DIGITS; ++digit)
      begin[digit + 1] += begin[digit];
    for (size_t i = 0; i < it->count; ++i)
      to[begin[(from[i] >> shift) % DIGITS]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  it->items = from;
  zb_free(to);
  return true;
}

/* ---- Homes ---- */

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

/* Ranges mostly begin where the one before ends. */
static void add_access_boundaries(boundaries *to, const zb_intervals *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->count; ++i) {
    if (i == 0 || ranges->items[i].begin != ranges->items[i - 1].end)
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
      return ZB_RULE(ranges, "%s: base '%s' at %" PRIu64 " does not lie in the slots",
                     zb_plan_job_text(it->plan, it->rank->rank, index, text), subprogram->bases[i], address);
    if (address % sizeof(int64_t) != 0)
      return ZB_RULE(ranges, "%s: base '%s' at %" PRIu64 " is not aligned to 8 bytes",
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

/* ---- Cells ---- */

static zb_status make_fixed_cells(dataflow *it, boundaries *all) {
  if (all->failed || !sort_boundaries(all)) return ZB_OUT_OF_MEMORY();
  it->fixed = zb_alloc((all->count + 1) * sizeof *it->fixed);
  if (!it->fixed) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < all->count; ++i)
    it->fixed[it->fixed_count++] = (fixed_cell){.begin = all->items[i], .filling = NOBODY, .sender = NOBODY};
  if (it->fixed_count > 0) --it->fixed_count;
  return NULL;
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
  const size_t count = it->cell_count = all->count;
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

/* What the job's posts move is noted once, although many may have one list. */
static bool is_noted(dataflow *it, const zb_plan_job *job, uint32_t part) {
  uint32_t *noted = &it->range_cells[job->parts.begin + part];
  const bool before = zb_job_is_post(job->kind) && *noted;
  if (zb_job_is_post(job->kind)) *noted = NOTED;
  return before;
}

static void note_parts(dataflow *it, const zb_plan_job *job, boundaries *all, boundaries *fixed) {
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    if (is_noted(it, job, p)) continue;
    if (!in_slots(it, part.offset, part.bytes)) {
      if (!zb_job_is_post(job->kind) || part.bytes == 0) continue;
      add_boundary(fixed, part.offset);
      add_boundary(fixed, part.offset + part.bytes);
      continue;
    }
    add_boundary(all, part.offset);
    add_boundary(all, part.offset + moved_bytes(it, job, part));
    add_boundary(all, part.offset + part.bytes);
  }
}

/* `jobs` at the begin are those of `like`, whose cells are cut for them, too; NULL, 0: of no other. */
static zb_status make_cells(dataflow *it, const dataflow *like, int jobs) {
  zb_status status = NULL;
  boundaries all = {0}, fixed = {0};
  add_boundary(&all, it->slots.offset);
  add_boundary(&all, it->slots.offset + it->slots.bytes);
  for (size_t i = 0; like && i < like->cell_count; ++i)
    add_boundary(&all, like->begins[i]);
  for (int i = 0; i < jobs; ++i)
    for (uint32_t p = 0; p < it->rank->jobs[i].parts.count; ++p)
      (void)is_noted(it, &it->rank->jobs[i], p);
  for (int i = jobs; i < it->rank->job_count; ++i) {
    if (it->rank->jobs[i].subprogram >= 0) ZB_TRY_GOTO(note_bases(it, i, &all));
    note_parts(it, &it->rank->jobs[i], &all, &fixed);
  }
  if (all.failed || !sort_boundaries(&all)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(cut_slots(it, &all));
  for (size_t i = 0; i < it->home_capacity; ++i)
    if (it->homes[i].id) it->homes[i].first_cell = (uint32_t)cell_at(it, it->homes[i].address);
  status = make_fixed_cells(it, &fixed);
  if (!status) find_range_cells(it);

cleanup:
  free_boundaries(&all);
  free_boundaries(&fixed);
  return status;
}

/* The first subprogram that is the same part of a W, which is cut for several micro-batches; else the one itself. */
static int32_t same_part(const zb_plan_rank *rank, int32_t subprogram) {
  const zb_plan_subprogram *part = &rank->subprograms[subprogram];
  for (int32_t i = part->derived.part_of; part->derived.part_of && i < subprogram; ++i) {
    const zb_plan_subprogram *other = &rank->subprograms[i];
    if (other->derived.part_of == part->derived.part_of && other->instructions == part->instructions &&
        other->instruction_count == part->instruction_count)
      return i;
  }
  return subprogram;
}

zb_status zb_dataflow_init(dataflow *it, const zb_plan *plan, int rank, const zb_access *accesses, const dataflow *like,
                           int jobs) {
  *it = (dataflow){.plan = plan, .rank = &plan->ranks[rank], .accesses = accesses, .placed = NOBODY};
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
  return make_cells(it, like, jobs);
}

void zb_dataflow_deinit(dataflow *it) {
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
