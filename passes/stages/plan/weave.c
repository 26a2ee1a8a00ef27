/* W beside sums over shards: weave.h. Tests: test/passes/weave.test, test/e2e/weave.py */
#include "passes/stages/plan/weave.h"

#include <string.h>

#include "passes/stages/jobs/step_time.h"
#include "runtime/base/arena.h"
#include "runtime/base/digest.h"
#include "runtime/base/map.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/mesh/weave.h"

/* What there is to know of a subprogram. */
typedef struct about {
  int64_t *begins_ps; /* of instructions, without sums */
  bool *cuts_at;      /* before which of them it may be cut */
  int ahead;          /* how many instructions of a W may run ahead: up to its first sum; 0: none */
} about;

/* What is known of a W and a job before it. */
typedef struct pair {
  int *last; /* [instruction of the W] the last instruction of the other that uses what it writes, or writes what it
                uses; -1: none does */
} pair;

typedef struct weaver {
  const zb_plan *plan;
  zb_plan_rank *rank;
  zb_arena arena;
  about *parts; /* [subprogram] */
  zb_map *pairs;
  uint64_t shift; /* how far the workspace of a W that runs ahead lies behind its region's begin */
  int *done;      /* [job] of a W: how many of its instructions run ahead */
  int *guests;    /* the Ws of the rank, in the order of the list */
  int guest_count;
  ZB_LIST(zb_plan_segment) rows; /* of all jobs */
  int *first_row, *row_count;    /* [job] */
} weaver;

/* ---- Memory ---- */

typedef struct use {
  uint64_t begin, end;
  bool writes;
} use;

static bool in_workspace(const zb_plan_rank *rank, uint64_t offset) {
  const zb_plan_range workspace = rank->regions[ZB_REGION_WORKSPACE];
  return offset >= workspace.offset && offset < workspace.offset + workspace.bytes;
}

/* Where it will be: the workspace of each W that may run ahead is moved. */
static use use_of(const weaver *w, const zb_plan_job *job, const zb_plan_instruction *instruction, int number) {
  const int operands = instruction->input_count + instruction->output_count;
  use made = {instruction->scratch_offset, instruction->scratch_offset + instruction->scratch_bytes, true};
  bool fixed = true;
  if (number < operands) {
    const bool writes = number >= instruction->input_count;
    const zb_plan_operand *operand =
        writes ? &instruction->outputs[number - instruction->input_count] : &instruction->inputs[number];
    if (operand->rank < 0) return (use){0};
    fixed = operand->base == 0;
    made.begin = operand->offset + (fixed ? 0 : w->rank->pool_u64[job->bases.begin + operand->base - 1]);
    made.end = made.begin + (uint64_t)zb_operand_extent(operand);
    made.writes = writes;
  }
  if (fixed && w->parts[job->subprogram].ahead && made.begin < made.end && in_workspace(w->rank, made.begin))
    made.begin += w->shift, made.end += w->shift;
  return made;
}

static bool meet(use a, use b) { return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end; }

static bool instructions_meet(const weaver *w, const zb_plan_job *guest, const zb_plan_instruction *own,
                              const zb_plan_job *other, const zb_plan_instruction *with) {
  for (int a = 0; a <= own->input_count + own->output_count; ++a)
    for (int b = 0; b <= with->input_count + with->output_count; ++b)
      if (meet(use_of(w, guest, own, a), use_of(w, other, with, b))) return true;
  return false;
}

/* It depends on both subprograms, and on how far apart their bases lie. NULL: out of memory. */
static const pair *pair_of(weaver *w, const zb_plan_job *guest, const zb_plan_job *other) {
  const int numbers[] = {guest->subprogram, other->subprogram};
  zb_digest digest;
  int64_t known;
  zb_digest_begin(&digest);
  zb_digest_add(&digest, numbers, sizeof numbers);
  for (uint32_t a = 0; a < guest->bases.count; ++a)
    for (uint32_t b = 0; b < other->bases.count; ++b) {
      const uint64_t apart = w->rank->pool_u64[guest->bases.begin + a] - w->rank->pool_u64[other->bases.begin + b];
      zb_digest_add(&digest, &apart, sizeof apart);
    }
  const void *key = (const void *)(uintptr_t)zb_digest_end(&digest);
  if (zb_map_get(w->pairs, key, &known)) return (const pair *)(uintptr_t)known;
  const zb_plan_subprogram *own = &w->rank->subprograms[guest->subprogram],
                           *with = &w->rank->subprograms[other->subprogram];
  const int ahead = w->parts[guest->subprogram].ahead;
  pair *made = zb_arena_take(&w->arena, 1, sizeof *made);
  if (!made) return NULL;
  ZB_TAKE(&w->arena, made->last, ahead + 1);
  if (!made->last) return NULL;
  for (int i = 0; i < ahead; ++i) {
    int last = with->instruction_count - 1;
    while (last >= 0 && !instructions_meet(w, guest, &own->instructions[i], other, &with->instructions[last]))
      --last;
    made->last[i] = last;
  }
  zb_arena_map_set(&w->arena, w->pairs, key, (int64_t)(uintptr_t)made);
  return made;
}

/* Whether nothing that may run ahead of a W uses what a job moves by its parts. */
static bool passes_parts(const weaver *w, const zb_plan_job *guest, const zb_plan_job *other) {
  const zb_plan_subprogram *own = &w->rank->subprograms[guest->subprogram];
  for (uint32_t p = 0; p < other->parts.count; ++p) {
    const zb_plan_range part = w->rank->pool_ranges[other->parts.begin + p];
    const use with = {part.offset, part.offset + part.bytes, zb_job_flow(other->kind) != ZB_PARTS_OUT};
    for (int i = 0; i < w->parts[guest->subprogram].ahead; ++i)
      for (int k = 0; k <= own->instructions[i].input_count + own->instructions[i].output_count; ++k)
        if (meet(use_of(w, guest, &own->instructions[i], k), with)) return false;
  }
  return true;
}

/* ---- Who may run ahead of what ---- */

static bool is_through(const weaver *w, int job) {
  const zb_plan_job *it = &w->rank->jobs[job];
  return it->kind == ZB_JOB_W && w->done[job] == w->rank->subprograms[it->subprogram].instruction_count;
}

/* Whether all that may run ahead of the W can pass the jobs between it and one before it. */
static zb_status passes_between(weaver *w, int guest, int host, bool *out) {
  const zb_plan_job *it = &w->rank->jobs[guest];
  int computing = 1;
  *out = false;
  for (int i = guest - 1; i > host; --i) {
    const zb_plan_job *other = &w->rank->jobs[i];
    computing += zb_job_is_compute(other->kind);
    if (computing > ZB_HOSTS_MAX) return NULL;
    if (is_through(w, i)) continue;
    if (!passes_parts(w, it, other)) return NULL;
    for (uint32_t k = 0; k < other->waits.count; ++k)
      if (!passes_parts(w, it, &w->rank->jobs[w->rank->pool_u32[other->waits.begin + k]])) return NULL;
    if (other->subprogram < 0) continue;
    const pair *met = pair_of(w, it, other);
    if (!met) return ZB_OUT_OF_MEMORY();
    for (int k = 0; k < w->parts[it->subprogram].ahead; ++k)
      if (met->last[k] >= 0) return NULL;
  }
  *out = true;
  return NULL;
}

/* ---- Filling sums ---- */

/* The time of one sum, in which instructions of W run. late: which share of an instruction may end behind the sum. */
typedef struct gap {
  int host, sum, instruction; /* of the sum in its subprogram */
  int64_t left_ps;
  double late;
} gap;

static zb_status add_rows(weaver *w, gap *at, int guest, int end) {
  const zb_plan_job *job = &w->rank->jobs[guest];
  int host = 0;
  for (int i = guest - 1; i >= at->host; --i)
    host += zb_job_is_compute(w->rank->jobs[i].kind);
  if (w->row_count[guest] == 0) w->first_row[guest] = (int)w->rows.count;
  const zb_plan_segment row = {
      .subprogram = job->subprogram, .begin = w->done[guest], .end = end, .host = host, .sum = at->sum};
  if (!ZB_PUSH(&w->arena, &w->rows, row)) return ZB_OUT_OF_MEMORY();
  ++w->row_count[guest];
  w->done[guest] = end;
  return NULL;
}

/* What of a W runs beside the sum. */
static zb_status fill(weaver *w, gap *at, int guest) {
  const zb_plan_job *job = &w->rank->jobs[guest];
  const about *own = &w->parts[job->subprogram];
  const pair *met = pair_of(w, job, &w->rank->jobs[at->host]);
  int end = w->done[guest];
  if (!met) return ZB_OUT_OF_MEMORY();
  while (end < own->ahead) {
    int next = end;
    bool ready = true;
    do
      ready &= met->last[next++] < at->instruction;
    while (!own->cuts_at[next]);
    const int64_t takes = own->begins_ps[next] - own->begins_ps[end];
    if (!ready || (double)takes * (1 - at->late) > (double)at->left_ps) break;
    at->left_ps -= takes;
    end = next;
  }
  return end > w->done[guest] ? add_rows(w, at, guest, end) : NULL;
}

/* All sums of a job. *next: the first W that is not through. */
static zb_status fill_host(weaver *w, int host, int *next, double late) {
  const zb_plan_subprogram *subprogram = &w->rank->subprograms[w->rank->jobs[host].subprogram];
  gap at = {.host = host, .sum = -1, .late = late};
  int checked = -1;
  bool passes = false;
  for (; at.instruction < subprogram->instruction_count; ++at.instruction) {
    if (!zb_is_shard_sum(&subprogram->instructions[at.instruction])) continue;
    ++at.sum;
    at.left_ps = zb_shard_sum_ps(w->plan, &subprogram->instructions[at.instruction]) - w->plan->link_wake_ps;
    while (*next < w->guest_count && at.left_ps > 0) {
      const int guest = w->guests[*next];
      const int ahead = w->parts[w->rank->jobs[guest].subprogram].ahead;
      if (guest > host && checked != guest) ZB_TRY(passes_between(w, guest, host, &passes));
      checked = guest;
      if (guest > host && passes) ZB_TRY(fill(w, &at, guest));
      if (guest > host && !(passes && is_through(w, guest))) break; /* what is behind it comes later */
      if (guest <= host || w->done[guest] == ahead) ++*next;
    }
  }
  return NULL;
}

static zb_status fill_rank(weaver *w, double late) {
  const zb_plan_rank *rank = w->rank;
  int next = 0;
  w->rows.count = 0;
  memset(w->done, 0, (size_t)rank->job_count * sizeof *w->done);
  memset(w->row_count, 0, (size_t)rank->job_count * sizeof *w->row_count);
  for (int i = rank->load_count; i < zb_plan_step_end(rank); ++i) {
    const zb_job_kind kind = rank->jobs[i].kind;
    if (kind == ZB_JOB_F || kind == ZB_JOB_B || kind == ZB_JOB_W) ZB_TRY(fill_host(w, i, &next, late));
  }
  return zb_arena_status(&w->arena);
}

/* ---- A rank ---- */

/* Of a W how many of its instructions may run ahead: none where it leaves something in the slots, which has its place
 * there from its own on. */
static int ahead_of(const zb_plan_subprogram *subprogram) {
  int ahead = 0;
  if (subprogram->kind != ZB_JOB_W) return 0;
  for (int i = 0; i < subprogram->instruction_count; ++i)
    for (int k = 0; k < subprogram->instructions[i].output_count; ++k)
      if (subprogram->instructions[i].outputs[k].base > 0) return 0;
  while (ahead < subprogram->instruction_count && !zb_is_shard_sum(&subprogram->instructions[ahead]))
    ++ahead;
  return ahead;
}

/* Whether a W may run ahead at all: not one that waits, nor one that is run in parts, as sums over replicas begin
 * before its end. */
static bool is_guest(const weaver *w, int job) {
  const zb_plan_job *it = &w->rank->jobs[job];
  const int collective = job + 1 < w->rank->job_count ? it[1].collective - 1 : -1;
  return it->kind == ZB_JOB_W && it->waits.count == 0 && w->parts[it->subprogram].ahead > 0 &&
         !(collective >= 0 && w->plan->collectives[collective].lead_ps > 0);
}

static zb_status read_rank(weaver *w, const zb_plan *plan, zb_plan_rank *rank) {
  *w = (weaver){.plan = plan, .rank = rank};
  w->pairs = zb_arena_map_pointer(&w->arena);
  ZB_TAKE(&w->arena, w->parts, rank->subprogram_count + 1);
  ZB_TAKE(&w->arena, w->done, rank->job_count + 1);
  ZB_TAKE(&w->arena, w->guests, rank->job_count + 1);
  ZB_TAKE(&w->arena, w->first_row, rank->job_count + 1);
  ZB_TAKE(&w->arena, w->row_count, rank->job_count + 1);
  ZB_TRY(zb_arena_status(&w->arena));
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    w->parts[s].ahead = ahead_of(subprogram);
    if (w->parts[s].ahead == 0) continue;
    ZB_TAKE(&w->arena, w->parts[s].begins_ps, subprogram->instruction_count + 1);
    ZB_TAKE(&w->arena, w->parts[s].cuts_at, subprogram->instruction_count + 1);
    ZB_TRY(zb_arena_status(&w->arena));
    if (!zb_cuts_of(rank, subprogram, w->parts[s].cuts_at)) return ZB_OUT_OF_MEMORY();
    while (!w->parts[s].cuts_at[w->parts[s].ahead])
      --w->parts[s].ahead;
    zb_instruction_times(plan, subprogram, subprogram->time_ps, w->parts[s].begins_ps);
  }
  for (int i = rank->load_count; i < zb_plan_step_end(rank); ++i)
    if (is_guest(w, i)) w->guests[w->guest_count++] = i;
  return NULL;
}

/* Where the workspace of W lies while others run: behind that of F and B, if the arena has no more than `most` then, or
 * is not larger for it; else at its end, where some sums leave some. */
static void find_shift(weaver *w, uint64_t most) {
  const zb_plan_rank *rank = w->rank;
  const zb_plan_range region = rank->regions[ZB_REGION_WORKSPACE];
  uint64_t hosts = 0, guests = 0;
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *it = &rank->subprograms[s];
    uint64_t *of = w->parts[s].ahead ? &guests : &hosts;
    if (it->kind != ZB_JOB_F && it->kind != ZB_JOB_B && it->kind != ZB_JOB_W) continue;
    if (it->workspace_bytes > *of) *of = it->workspace_bytes;
  }
  const uint64_t end = region.offset + zb_align(hosts) + guests;
  w->shift = guests ? zb_align(hosts) : 0;
  if (end <= rank->arena_bytes || end <= most) return;
  w->shift = (region.bytes - guests) / ZB_ALIGNMENT * ZB_ALIGNMENT;
}

/* ---- Writing it down ---- */

static void move_workspace(const zb_plan_rank *rank, zb_plan_subprogram *subprogram, uint64_t shift) {
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    zb_plan_instruction *instruction = &subprogram->instructions[i];
    for (int k = 0; k < instruction->input_count; ++k)
      if (instruction->inputs[k].base == 0 && in_workspace(rank, instruction->inputs[k].offset))
        instruction->inputs[k].offset += shift;
    for (int k = 0; k < instruction->output_count; ++k)
      if (instruction->outputs[k].base == 0 && in_workspace(rank, instruction->outputs[k].offset))
        instruction->outputs[k].offset += shift;
    if (instruction->scratch_bytes) instruction->scratch_offset += shift;
  }
  subprogram->workspace_bytes += shift;
}

/* Of all W that may run ahead, once one does. */
static void move_workspaces(const weaver *w, zb_plan_rank *rank) {
  zb_plan_range region = rank->regions[ZB_REGION_WORKSPACE];
  if (rank->segment_count == 0 || w->shift == 0) return;
  for (int s = 0; s < rank->subprogram_count; ++s) {
    zb_plan_subprogram *subprogram = &rank->subprograms[s];
    if (w->parts[s].ahead == 0 || subprogram->workspace_bytes == 0) continue;
    move_workspace(rank, subprogram, w->shift);
    if (subprogram->workspace_bytes > region.bytes) region.bytes = subprogram->workspace_bytes;
  }
  rank->regions[ZB_REGION_WORKSPACE] = region;
  if (region.offset + region.bytes > rank->arena_bytes) rank->arena_bytes = zb_align(region.offset + region.bytes);
}

/* The rows of each job; those of one that has the same ones stand there once. */
static zb_status write_rows(weaver *w, zb_plan *plan, zb_plan_rank *rank) {
  zb_map *known = zb_arena_map_pointer(&w->arena);
  rank->segments = zb_plan_alloc(plan, (w->rows.count + 1) * sizeof *rank->segments);
  if (!rank->segments || !known) return ZB_OUT_OF_MEMORY();
  rank->segment_count = 0;
  for (int i = 0; i < w->guest_count; ++i) {
    zb_plan_job *job = &rank->jobs[w->guests[i]];
    const int count = w->row_count[w->guests[i]];
    job->segments = (zb_plan_slice){0, 0};
    if (count == 0) continue;
    const zb_plan_segment *rows = &w->rows.items[w->first_row[w->guests[i]]];
    const void *key = (const void *)(uintptr_t)zb_digest_of(rows, (size_t)count * sizeof *rows);
    const int64_t at = zb_map_get_or(known, key, -1);
    const bool same = at >= 0 && at + count <= rank->segment_count &&
                      memcmp(rank->segments + at, rows, (size_t)count * sizeof *rows) == 0;
    job->segments = (zb_plan_slice){same ? (uint32_t)at : (uint32_t)rank->segment_count, (uint32_t)count};
    if (same) continue;
    memcpy(rank->segments + rank->segment_count, rows, (size_t)count * sizeof *rows);
    zb_arena_map_set(&w->arena, known, key, rank->segment_count);
    rank->segment_count += count;
  }
  return zb_arena_status(&w->arena);
}

/* ---- All ---- */

/* How much of an instruction may end behind the sum that it runs beside: the step tells which is best. */
static const double late[] = {0, 0.1, 0.5, 0.9, 1};
enum { LATE_COUNT = sizeof late / sizeof late[0] };

typedef struct weaving {
  zb_plan *plan;
  weaver *weavers; /* [rank] */
  int *late;       /* [rank] of the best, in the table */
  zb_metric metric;
  int64_t without_ps[ZB_METRIC_COUNT], best_ps;
} weaving;

static zb_status time_plan(const zb_plan *plan, int64_t ps[ZB_METRIC_COUNT]) {
  zb_plan_simulation simulation = {0};
  zb_status status = zb_plan_simulate(plan, &simulation);
  for (int m = 0; m < ZB_METRIC_COUNT && !status; ++m)
    status = zb_step_time(plan, &simulation, (zb_metric)m, &ps[m]);
  zb_plan_simulation_free(&simulation);
  return status;
}

static zb_status weave_rank(weaving *it, int rank, int choice) {
  ZB_TRY(fill_rank(&it->weavers[rank], late[choice]));
  return write_rows(&it->weavers[rank], it->plan, &it->plan->ranks[rank]);
}

/* Whether the plan is the best so far, and by no metric longer than without segments. */
static zb_status is_best(weaving *it, bool *out) {
  int64_t ps[ZB_METRIC_COUNT];
  ZB_TRY(time_plan(it->plan, ps));
  *out = ps[it->metric] < it->best_ps;
  for (int m = 0; m < ZB_METRIC_COUNT; ++m)
    *out &= ps[m] <= it->without_ps[m];
  if (*out) it->best_ps = ps[it->metric];
  return NULL;
}

/* The same for all ranks. */
static zb_status weave_alike(weaving *it) {
  int best = 0;
  for (int choice = 0; choice < LATE_COUNT; ++choice) {
    bool better;
    for (int r = 0; r < it->plan->rank_count; ++r)
      ZB_TRY(weave_rank(it, r, choice));
    ZB_TRY(is_best(it, &better));
    if (better) best = choice;
  }
  for (int r = 0; r < it->plan->rank_count; ++r) {
    it->late[r] = best;
    ZB_TRY(weave_rank(it, r, best));
  }
  return NULL;
}

/* Each rank otherwise than the others, where that is better; of few ranks, as each takes the simulated step anew. */
static zb_status weave_apart(weaving *it) {
  enum { RANKS_MOST = 16 };
  for (int r = 0; r < it->plan->rank_count && it->plan->rank_count <= RANKS_MOST; ++r) {
    const int before = it->late[r];
    for (int choice = 0; choice < LATE_COUNT; ++choice) {
      bool better = false;
      if (choice == before) continue;
      ZB_TRY(weave_rank(it, r, choice));
      ZB_TRY(is_best(it, &better));
      if (better) it->late[r] = choice;
    }
    ZB_TRY(weave_rank(it, r, it->late[r]));
  }
  return NULL;
}

static zb_status weave(weaving *it, bool grows) {
  zb_plan *plan = it->plan;
  uint64_t most = 0;
  for (int r = 0; r < plan->rank_count && grows; ++r)
    if (plan->ranks[r].arena_bytes > most) most = plan->ranks[r].arena_bytes;
  ZB_TRY(time_plan(plan, it->without_ps));
  it->best_ps = INT64_MAX;
  for (int r = 0; r < plan->rank_count; ++r) {
    ZB_TRY(read_rank(&it->weavers[r], plan, &plan->ranks[r]));
    find_shift(&it->weavers[r], most);
  }
  ZB_TRY(weave_alike(it));
  ZB_TRY(weave_apart(it));
  for (int r = 0; r < plan->rank_count; ++r)
    move_workspaces(&it->weavers[r], &plan->ranks[r]);
  return NULL;
}

zb_status zb_weave(zb_plan *plan, zb_metric metric, bool grows) {
  if (zb_plan_shards(plan) == 1 || plan->inference || plan->link_copies || plan->sum_groups > 1) return NULL;
  const size_t ranks = (size_t)plan->rank_count;
  weaving it = {.plan = plan, .metric = metric};
  it.weavers = zb_alloc(ranks * sizeof *it.weavers);
  it.late = zb_alloc(ranks * sizeof *it.late);
  zb_status status = it.weavers && it.late ? weave(&it, grows) : ZB_OUT_OF_MEMORY();
  for (size_t r = 0; it.weavers && r < ranks; ++r)
    zb_arena_deinit(&it.weavers[r].arena);
  zb_free(it.weavers);
  zb_free(it.late);
  return status;
}
