/* Liveness of the slots region, backwards over the jobs of a rank.
 *
 * A byte is live after a job if a later job reads it before any writes it. The parts of a message are held as well,
 * from the posting until the first job that waits for it (or the end of the step): the other side may still read or
 * write them. What is neither live nor held is free. Tests: test/runtime/exec/liveness_test.c.
 */
#include "runtime/plan/clock/liveness.h"
#include "runtime/base/assert.h"

#include "runtime/base/memory.h"
#include "runtime/base/sorted.h"
#include "runtime/plan/mesh/mesh.h"

#include <string.h>

typedef struct interval {
  uint64_t begin, end;
} interval;

/* Disjoint intervals in ascending order. Out of memory is sticky. */
typedef struct interval_set {
  interval *items;
  size_t count, capacity;
  bool failed;
} interval_set;

typedef struct walk {
  const zb_plan_rank *rank;
  zb_plan_list list; /* whose jobs are walked */
  interval slots;
  interval_set live, touched, use;
  int *released; /* for SEND and RECV: the first job that waits for it, else the end of the list */
  zb_plan_range *pool;
  size_t pool_count, pool_capacity;
  uint64_t highest, largest_workspace; /* end in the slots; bytes */
  bool failed;
} walk;

static bool reserve(interval_set *set, size_t count) {
  if (!zb_grow((void **)&set->items, &set->capacity, count, sizeof(interval))) set->failed = true;
  return !set->failed;
}

/* Replaces items[first..last) by `with` (count items). */
static void splice(interval_set *set, size_t first, size_t last, const interval *with, size_t count) {
  if (!reserve(set, set->count - (last - first) + count)) return;
  memmove(set->items + first + count, set->items + last, sizeof(interval) * (set->count - last));
  if (count > 0) memcpy(set->items + first, with, sizeof(interval) * count);
  set->count = set->count - (last - first) + count;
}

/* First item that ends at or after `at`. */
static size_t lower(const interval_set *set, uint64_t at) {
  return zb_count_below(set->items, sizeof *set->items, offsetof(interval, end), set->count, at);
}

static void add(interval_set *set, interval add_this) {
  if (add_this.begin >= add_this.end) return;
  size_t first = lower(set, add_this.begin), last = first;
  for (; last < set->count && set->items[last].begin <= add_this.end; ++last) {
    if (set->items[last].begin < add_this.begin) add_this.begin = set->items[last].begin;
    if (set->items[last].end > add_this.end) add_this.end = set->items[last].end;
  }
  splice(set, first, last, &add_this, 1);
}

static void take(interval_set *set, interval away) {
  if (away.begin >= away.end) return;
  size_t first = lower(set, away.begin), last = first, kept_count = 0;
  interval kept[2]; /* what is left of the first and of the last one */
  for (; last < set->count && set->items[last].begin < away.end; ++last) {
    interval item = set->items[last];
    if (item.begin < away.begin && kept_count < 2)
      kept[kept_count++] = (interval){item.begin, item.end < away.begin ? item.end : away.begin};
    if (item.end > away.end && kept_count < 2) kept[kept_count++] = (interval){away.end, item.end};
  }
  if (last > first) splice(set, first, last, kept, kept_count);
}

static void add_all(interval_set *set, const interval_set *others) {
  for (size_t i = 0; i < others->count; ++i)
    add(set, others->items[i]);
}

/* The part of a range that lies in the slots region. */
static interval in_slots(const walk *w, uint64_t begin, uint64_t end) {
  if (begin < w->slots.begin) begin = w->slots.begin;
  if (end > w->slots.end) end = w->slots.end;
  return (interval){begin, end > begin ? end : begin};
}

static interval part_interval(const walk *w, const zb_plan_range *part) {
  return in_slots(w, part->offset, part->offset + part->bytes);
}

static interval operand_interval(const walk *w, const zb_plan_job *job, const zb_plan_operand *operand) {
  if (operand->rank < 0) return (interval){0, 0};
  uint64_t last = 0; /* element with the highest address */
  for (int i = 0; i < operand->rank; ++i) {
    if (operand->shape[i] == 0) return (interval){0, 0};
    last += (uint64_t)(operand->shape[i] - 1) * (uint64_t)operand->strides[i];
  }
  uint64_t base = operand->base > 0 ? w->rank->pool_u64[job->bases.begin + operand->base - 1] : 0;
  uint64_t begin = base + operand->offset;
  return in_slots(w, begin, begin + (last + 1) * zb_dtype_bytes(operand->dtype));
}

/* Live before the job from live after it; collects what it touches. */
static void step_back_compute(walk *w, const zb_plan_job *job) {
  const zb_plan_subprogram *subprogram = &w->rank->subprograms[job->subprogram];
  for (int i = subprogram->instruction_count - 1; i >= 0; --i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i];
    for (int k = 0; k < instruction->output_count; ++k) {
      interval out = operand_interval(w, job, &instruction->outputs[k]);
      add(&w->touched, out);
      if (k == 0 && instruction->accumulate)
        add(&w->live, out);
      else
        take(&w->live, out);
    }
    for (int k = 0; k < instruction->input_count; ++k) {
      interval in = operand_interval(w, job, &instruction->inputs[k]);
      add(&w->touched, in);
      add(&w->live, in);
    }
  }
}

static void step_back(walk *w, const zb_plan_job *job) {
  if (zb_job_is_compute(job->kind)) {
    step_back_compute(w, job);
    return;
  }
  bool writes = zb_job_flow(job->kind) == ZB_PARTS_IN;
  for (uint32_t i = 0; i < job->parts.count; ++i) {
    interval part = part_interval(w, &w->rank->pool_ranges[job->parts.begin + i]);
    add(&w->touched, part);
    if (writes)
      take(&w->live, part);
    else
      add(&w->live, part);
  }
}

/* Adds the parts of messages that are on their way once job `index` has run, or, if `waiting`, while it still waits to
 * start. */
static void add_held(walk *w, interval_set *set, int index, bool waiting) {
  for (int p = zb_plan_list_begin(w->rank, w->list); p <= index; ++p) {
    const zb_plan_job *job = &w->rank->jobs[p];
    if (!zb_job_is_post(job->kind)) continue;
    if (waiting ? w->released[p] < index : w->released[p] <= index) continue;
    for (uint32_t i = 0; i < job->parts.count; ++i)
      add(set, part_interval(w, &w->rank->pool_ranges[job->parts.begin + i]));
  }
}

/* Appends the gaps between the intervals of a set within the slots region. */
static zb_plan_slice gaps(walk *w, const interval_set *set) {
  zb_plan_slice slice = {(uint32_t)w->pool_count, 0};
  uint64_t at = w->slots.begin;
  for (size_t i = 0; i <= set->count; ++i) {
    uint64_t end = i < set->count ? set->items[i].begin : w->slots.end;
    if (end > at) {
      if (!zb_grow((void **)&w->pool, &w->pool_capacity, w->pool_count + 1, sizeof(zb_plan_range))) {
        w->failed = true;
        return slice;
      }
      w->pool[w->pool_count++] = (zb_plan_range){at, end - at};
      ++slice.count;
    }
    if (i < set->count) at = set->items[i].end;
  }
  return slice;
}

/* Bytes of a set in units of ZB_ALIGNMENT: every value that is counted is rounded first. */
static uint64_t rounded_bytes(const interval_set *set) {
  uint64_t bytes = 0, counted = 0; /* everything below `counted` is */
  for (size_t i = 0; i < set->count; ++i) {
    uint64_t begin = set->items[i].begin / ZB_ALIGNMENT * ZB_ALIGNMENT, end = zb_align(set->items[i].end);
    if (begin < counted) begin = counted;
    if (end > begin) bytes += end - begin;
    if (end > counted) counted = end;
  }
  return bytes;
}

static void find_releases(walk *w) {
  for (int i = 0; i < w->rank->job_count; ++i)
    w->released[i] = i < zb_plan_step_end(w->rank) ? zb_plan_step_end(w->rank) : w->rank->job_count;
  for (int i = w->rank->job_count - 1; i >= 0; --i) {
    const zb_plan_slice *waits = &w->rank->jobs[i].waits;
    for (uint32_t k = 0; k < waits->count; ++k)
      w->released[w->rank->pool_u32[waits->begin + k]] = i;
  }
}

static uint64_t fixed_bytes(const zb_plan_rank *rank) {
  uint64_t bytes = 0;
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    if (i != ZB_REGION_SLOTS && i != ZB_REGION_WORKSPACE) bytes += rank->regions[i].bytes;
  return bytes;
}

static void visit(walk *w, int index, zb_liveness *out) {
  const zb_plan_job *job = &w->rank->jobs[index];
  w->touched.count = 0;
  w->use.count = 0;
  add_all(&w->use, &w->live);
  add_held(w, &w->use, index, false);
  out->free_after[index] = gaps(w, &w->use);
  step_back(w, job);
  add_all(&w->use, &w->live);
  add_all(&w->use, &w->touched);
  uint64_t workspace = job->subprogram >= 0 ? w->rank->subprograms[job->subprogram].workspace_bytes : 0;
  out->use_bytes[index] = fixed_bytes(w->rank) + rounded_bytes(&w->use) + zb_align(workspace);
  if (out->use_bytes[index] > out->most_live_bytes) out->most_live_bytes = out->use_bytes[index];
  if (zb_align(workspace) > w->largest_workspace) w->largest_workspace = zb_align(workspace);
  add_held(w, &w->use, index, true);
  uint64_t end = w->use.count ? zb_align(w->use.items[w->use.count - 1].end) : 0;
  if (end > w->highest) w->highest = end;
  uint64_t slots = w->highest > w->slots.begin ? w->highest - w->slots.begin : 0;
  const uint64_t high_water = fixed_bytes(w->rank) + slots + w->largest_workspace;
  if (high_water > out->high_water_bytes) out->high_water_bytes = high_water;
  out->quiet[index] = gaps(w, &w->use);
}

/* Nothing lives in a slot between two lists, or two runs of one, but what a VERDICT needs of the step before. */
static void begin_list(walk *w, zb_plan_list list) {
  const zb_plan_range slots = zb_plan_rank_in(w->rank, list).regions[ZB_REGION_SLOTS];
  w->list = list;
  w->slots = (interval){slots.offset, slots.offset + slots.bytes};
  w->live.count = 0;
  w->highest = w->largest_workspace = 0;
  const int verdict = list == ZB_LIST_STEP ? zb_plan_find_job(w->rank, ZB_JOB_VERDICT) : -1;
  const zb_plan_slice kept = verdict < 0 ? (zb_plan_slice){0, 0} : w->rank->jobs[verdict].parts;
  for (uint32_t i = 0; i < kept.count; ++i)
    add(&w->live, part_interval(w, &w->rank->pool_ranges[kept.begin + i]));
}

zb_status zb_liveness_init(const zb_plan *plan, int rank, zb_liveness *out) {
  memset(out, 0, sizeof *out);
  zb_status status = NULL;
  const zb_plan_rank *program = &plan->ranks[rank];
  ZB_ASSERT(zb_plan_is_expanded(plan));
  walk w = {.rank = program};
  size_t jobs = (size_t)program->job_count + 1;
  out->free_after = zb_alloc(sizeof(zb_plan_slice) * jobs);
  out->quiet = zb_alloc(sizeof(zb_plan_slice) * jobs);
  out->use_bytes = zb_alloc(sizeof(uint64_t) * jobs);
  w.released = zb_alloc(sizeof(int) * jobs);
  if (!out->free_after || !out->quiet || !out->use_bytes || !w.released) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  find_releases(&w);
  for (zb_plan_list list = ZB_LIST_STEP; list < ZB_LIST_COUNT; ++list) {
    begin_list(&w, list);
    for (int i = zb_plan_list_end(program, list) - 1; i >= zb_plan_list_begin(program, list); --i)
      visit(&w, i, out);
  }
  if (w.failed || w.live.failed || w.touched.failed || w.use.failed) status = ZB_OUT_OF_MEMORY();
  out->ranges = w.pool;
cleanup:
  zb_free(w.live.items);
  zb_free(w.touched.items);
  zb_free(w.use.items);
  zb_free(w.released);
  if (status) zb_liveness_deinit(out);
  return status;
}

void zb_liveness_deinit(zb_liveness *liveness) {
  zb_free(liveness->ranges);
  zb_free(liveness->free_after);
  zb_free(liveness->quiet);
  zb_free(liveness->use_bytes);
  memset(liveness, 0, sizeof *liveness);
}
