/* What runs beside sums over shards, as zbc makes it. The proof accepts it; the plan of all shards takes as long as
 * that of one says, and not longer than without. Of plans whose segments were changed at random the proof accepts none
 * that computes something else: an own look at the order of all instructions and sums of a shard says which do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/base/memory.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, SHARDS = 2, MICRO_BATCHES = 4, MUTANTS = 1000 };

static int open_suite(void) {
  return compiled_plan_open("../data/gpt2-tiny.onnx", (zb_compile_params){.ranks = RANKS,
                                                                          .micro_batches = MICRO_BATCHES,
                                                                          .tensor_parallel = SHARDS,
                                                                          .schedule = "zb-h2",
                                                                          .clip_norm = "1"});
}

static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return plan;
}

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

static int64_t step_of(const zb_plan *plan) {
  zb_plan_simulation simulation;
  CU_ASSERT_FATAL(succeeds(zb_plan_simulate(plan, &simulation)));
  const int64_t step = simulation.step_ps;
  zb_plan_simulation_free(&simulation);
  return step;
}

/* ---- The order of a shard ---- */

/* An instruction, or the begin or end of a sum; and what it uses. */
typedef struct event {
  zb_job_kind kind; /* of its job, with stage and micro-batch, and its number there */
  int stage, micro_batch, number;
  const zb_plan_job *job;
  const zb_plan_instruction *instruction; /* NULL: a sum, by the parts of `job` */
  int place;                              /* in the order of the other plan */
} event;

typedef struct order {
  const zb_plan_rank *rank;
  event *events;
  int count;
  int *numbers; /* [kind][stage][micro-batch] events so far */
} order;

static int *number_of(order *it, zb_job_kind kind, int stage, int micro_batch) {
  return &it->numbers[((int)kind * 8 + stage + 1) * 8 + micro_batch + 1];
}

static void add_event(order *it, const zb_plan_job *of, const zb_plan_job *job,
                      const zb_plan_instruction *instruction) {
  it->events[it->count++] = (event){.kind = of->kind,
                                    .stage = of->stage,
                                    .micro_batch = of->micro_batch,
                                    .number = (*number_of(it, of->kind, of->stage, of->micro_batch))++,
                                    .job = job,
                                    .instruction = instruction};
}

static const zb_plan_job *waiter_of(const zb_plan_rank *rank, int collective) {
  for (int i = collective + 1; i < rank->job_count; ++i)
    if (zb_job_waits_for(rank, &rank->jobs[i], collective)) return &rank->jobs[i];
  return NULL;
}

/* Of the plan of all shards: the jobs of a step of a rank. */
static order order_of(const zb_plan *plan, int r) {
  order it = {.rank = &plan->ranks[r]};
  size_t most = 1;
  for (int i = 0; i < it.rank->job_count; ++i)
    most += it.rank->jobs[i].subprogram < 0
                ? 2
                : (size_t)it.rank->subprograms[it.rank->jobs[i].subprogram].instruction_count;
  it.events = zb_alloc(most * sizeof *it.events);
  it.numbers = zb_alloc(ZB_JOB_KIND_COUNT * 64 * sizeof *it.numbers);
  for (int i = it.rank->load_count; i < zb_plan_step_end(it.rank); ++i) {
    const zb_plan_job *job = &it.rank->jobs[i];
    for (uint32_t w = 0; w < job->waits.count; ++w) {
      const zb_plan_job *waited = &it.rank->jobs[it.rank->pool_u32[job->waits.begin + w]];
      if (waited->kind == ZB_JOB_COLLECTIVE && job->subprogram >= 0) add_event(&it, job, waited, NULL);
    }
    const zb_plan_job *waiter = job->kind == ZB_JOB_COLLECTIVE ? waiter_of(it.rank, i) : NULL;
    if (waiter && waiter->subprogram >= 0) add_event(&it, waiter, job, NULL);
    for (int k = 0; job->subprogram >= 0 && k < it.rank->subprograms[job->subprogram].instruction_count; ++k)
      add_event(&it, job, job, &it.rank->subprograms[job->subprogram].instructions[k]);
  }
  return it;
}

static void order_deinit(order *it) {
  zb_free(it->events);
  zb_free(it->numbers);
}

typedef struct use {
  uint64_t begin, end;
  bool writes;
} use;

static use operand_use(const order *it, const zb_plan_job *job, const zb_plan_operand *operand, bool writes) {
  if (operand->rank < 0) return (use){0};
  const uint64_t base = operand->base ? it->rank->pool_u64[job->bases.begin + operand->base - 1] : 0;
  return (use){base + operand->offset, base + operand->offset + (uint64_t)zb_operand_extent(operand), writes};
}

/* The number-th use of an event; false: it has no more. */
static bool use_at(const order *it, const event *e, int number, use *out) {
  if (!e->instruction) {
    if (number >= (int)e->job->parts.count) return false;
    const zb_plan_range part = it->rank->pool_ranges[e->job->parts.begin + (uint32_t)number];
    *out = (use){part.offset, part.offset + part.bytes, true};
    return true;
  }
  const zb_plan_instruction *instruction = e->instruction;
  if (number < instruction->input_count) {
    *out = operand_use(it, e->job, &instruction->inputs[number], false);
    return true;
  }
  number -= instruction->input_count;
  if (number < instruction->output_count) {
    *out = operand_use(it, e->job, &instruction->outputs[number], true);
    return true;
  }
  *out = (use){instruction->scratch_offset, instruction->scratch_offset + instruction->scratch_bytes, true};
  return number == instruction->output_count;
}

static bool share_memory(const order *it, const event *a, const event *b) {
  use x, y;
  for (int i = 0; use_at(it, a, i, &x); ++i)
    for (int k = 0; use_at(it, b, k, &y); ++k)
      if ((x.writes || y.writes) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

/* Whether two orders of a rank are the same but for what shares no memory. */
static bool orders_agree(const order *plain, order *woven) {
  bool agree = plain->count == woven->count;
  for (int i = 0; i < woven->count && agree; ++i) {
    event *e = &woven->events[i];
    e->place = -1;
    for (int k = 0; k < plain->count && e->place < 0; ++k) {
      const event *other = &plain->events[k];
      if (e->kind == other->kind && e->stage == other->stage && e->micro_batch == other->micro_batch &&
          e->number == other->number)
        e->place = k;
    }
    agree = e->place >= 0;
  }
  for (int i = 0; i < woven->count && agree; ++i)
    for (int k = i + 1; k < woven->count && agree; ++k)
      agree =
          woven->events[i].place < woven->events[k].place || !share_memory(woven, &woven->events[i], &woven->events[k]);
  return agree;
}

/* Whether a woven plan does what the plan does without. */
static bool means_the_same(zb_plan *woven) {
  zb_plan *all = NULL, *plain_all = NULL, *plain = read_plan();
  bool same = true;
  for (int r = 0; r < RANKS; ++r) /* with the workspaces where they are in the other one */
    plain->ranks[r] = woven->ranks[r];
  CU_ASSERT_FATAL(succeeds(zb_plan_shard(woven, 0, &all)));
  for (int r = 0; r < RANKS; ++r) {
    zb_plan_job *jobs = zb_plan_alloc(plain, ((size_t)woven->ranks[r].job_count + 1) * sizeof *jobs);
    memcpy(jobs, woven->ranks[r].jobs, (size_t)woven->ranks[r].job_count * sizeof *jobs);
    plain->ranks[r].jobs = jobs;
  }
  zb_plan_unweave(plain);
  CU_ASSERT_FATAL(succeeds(zb_plan_shard(plain, 0, &plain_all)));
  for (int r = 0; r < RANKS * SHARDS && same; r += SHARDS) {
    order a = order_of(plain_all, r), b = order_of(all, r);
    same = orders_agree(&a, &b);
    order_deinit(&a);
    order_deinit(&b);
  }
  zb_plan_destroy(all);
  zb_plan_destroy(plain_all);
  zb_plan_destroy(plain);
  return same;
}

/* ---- Right plans ---- */

static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *all = NULL, *expanded = NULL, *view = NULL;
  CU_ASSERT(zb_plan_is_woven(plan));
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT(means_the_same(plan));
  CU_ASSERT(succeeds(zb_plan_shard(plan, 0, &all)));
  CU_ASSERT(!zb_plan_is_woven(all));
  CU_ASSERT(succeeds(zb_plan_expand(all, &expanded)));
  CU_ASSERT(succeeds(zb_plan_view(expanded, ZB_LIST_STEP, &view)));
  const int64_t woven = step_of(plan);
  CU_ASSERT_EQUAL(step_of(view), woven);
  zb_plan_unweave(plan);
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT(step_of(plan) > woven);
  zb_plan_destroy(view);
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* All that sums take, and what of it is hidden: what segments take, where these are not longer. */
static void test_hidden(void) {
  zb_plan *plan = read_plan();
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    int64_t all, hidden, change = 0, *changes = zb_alloc((size_t)rank->job_count * sizeof *changes);
    CU_ASSERT(succeeds(zb_weave_hidden(plan, rank, &all, &hidden)));
    CU_ASSERT(succeeds(zb_weave_times(plan, rank, changes)));
    for (int i = 0; i < rank->job_count; ++i)
      change += changes[i];
    CU_ASSERT(0 < hidden && hidden < all);
    CU_ASSERT_EQUAL(change, -hidden);
    zb_free(changes);
  }
  zb_plan_destroy(plan);
}

/* ---- Wrong ones ---- */

static zb_plan_segment *segment_of(zb_plan_rank *rank, int number) { return &rank->segments[number]; }

static int first_woven(const zb_plan_rank *rank) {
  int i = 0;
  while (rank->jobs[i].segments.count == 0)
    ++i;
  return i;
}

static void beside_earlier_sum(zb_plan_rank *rank) {
  for (int i = 0; i < rank->segment_count; ++i)
    segment_of(rank, i)->sum = 0;
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].segments.count > 0) rank->jobs[i].segments.count = 1;
  segment_of(rank, 0)->end = rank->subprograms[segment_of(rank, 0)->subprogram].instruction_count;
}
static bool has_sums(const zb_plan_rank *rank, int job) {
  const zb_plan_subprogram *subprogram = &rank->subprograms[rank->jobs[job].subprogram];
  for (int i = 0; i < subprogram->instruction_count; ++i)
    if (zb_is_shard_sum(&subprogram->instructions[i])) return true;
  return false;
}
static void before_its_b(zb_plan_rank *rank) {
  zb_plan_segment *first = segment_of(rank, 0);
  do
    ++first->host;
  while (!has_sums(rank, zb_plan_job_before(rank, first_woven(rank), first->host)));
  first->sum = 0;
}
static void workspaces_together(zb_plan_rank *rank) {
  zb_plan_subprogram *w = &rank->subprograms[rank->jobs[first_woven(rank)].subprogram];
  const zb_plan_range workspace = rank->regions[ZB_REGION_WORKSPACE];
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < w->instruction_count; ++i)
    for (int k = 0; k < w->instructions[i].output_count; ++k) {
      const zb_plan_operand *out = &w->instructions[i].outputs[k];
      if (out->base == 0 && out->offset >= workspace.offset && out->offset < least) least = out->offset;
    }
  for (int i = 0; i < w->instruction_count; ++i) {
    zb_plan_instruction *it = &w->instructions[i];
    for (int k = 0; k < it->input_count + it->output_count; ++k) {
      zb_plan_operand *x = k < it->input_count ? &it->inputs[k] : &it->outputs[k - it->input_count];
      if (x->rank >= 0 && x->base == 0 && x->offset >= workspace.offset) x->offset -= least - workspace.offset;
    }
  }
}
static void waits(zb_plan_rank *rank) { rank->jobs[first_woven(rank)].waits.count = 1; }
static void other_subprogram(zb_plan_rank *rank) { segment_of(rank, 0)->subprogram = 0; }
static void no_such_sum(zb_plan_rank *rank) { segment_of(rank, 0)->sum = 1000; }
static void no_such_host(zb_plan_rank *rank) { segment_of(rank, 0)->host = ZB_HOSTS_MAX; }
static void not_from_the_first(zb_plan_rank *rank) {
  segment_of(rank, 0)->begin = 1;
  segment_of(rank, 0)->end = 2;
}
static void behind_its_end(zb_plan_rank *rank) { segment_of(rank, rank->segment_count - 1)->end = 1000; }
static void of_an_f(zb_plan_rank *rank) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == ZB_JOB_F) rank->jobs[i].segments = rank->jobs[first_woven(rank)].segments;
}

static const struct {
  const char *name;
  void (*plant)(zb_plan_rank *rank);
  const char *text;
} faults[] = {
    {"all beside the first sum", beside_earlier_sum, "rule \"woven\""},
    {"in front of its B", before_its_b, "rule \""},
    {"workspaces at one place", workspaces_together, "rule \"woven\""},
    {"it waits", waits, "it waits"},
    {"another subprogram", other_subprogram, "its subprogram is no W"},
    {"no such sum", no_such_sum, "beside no sum"},
    {"no such host", no_such_host, "in no job before it"},
    {"not from the first instruction on", not_from_the_first, "not one behind the other"},
    {"behind its end", behind_its_end, "its instructions are not those of its subprogram"},
    {"of an F", of_an_f, "only a W runs beside sums"},
};

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f)
    for (int r = 0; r < RANKS; ++r) {
      zb_plan *plan = read_plan();
      faults[f].plant(&plan->ranks[r]);
      zb_status status = zb_plan_verify(plan);
      const bool is_said = zb_status_code(status) == ZB_INVALID && strstr(zb_status_text(status), faults[f].text);
      if (!is_said)
        fprintf(stderr, "\n  %s on rank %d: %s\n", faults[f].name, r, status ? zb_status_text(status) : "accepted");
      CU_ASSERT(is_said);
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

/* Changes a number or two of what runs ahead. */
static void mutate(zb_plan *plan) {
  zb_plan_rank *rank = &plan->ranks[rand() % RANKS];
  for (int changes = 1 + rand() % 3; changes > 0; --changes) {
    zb_plan_segment *segment = segment_of(rank, rand() % rank->segment_count);
    zb_plan_job *job = &rank->jobs[rand() % rank->job_count];
    switch (rand() % 5) {
    case 0:
      segment->host += rand() % 3 - 1;
      break;
    case 1:
      segment->sum += rand() % 5 - 2;
      break;
    case 2: /* the border between two, or the last one's end */
      segment->end += rand() % 7 - 3;
      if (segment + 1 < rank->segments + rank->segment_count && segment[1].begin > 0) segment[1].begin = segment->end;
      break;
    case 3:
      if (job->segments.count) job->segments.count -= (uint32_t)(rand() % 2);
      break;
    case 4:
      if (job->kind == ZB_JOB_W) job->segments = rank->jobs[first_woven(rank)].segments;
      break;
    }
  }
}

static void test_mutants(void) {
  int accepted = 0, refused = 0;
  srand(39);
  for (int i = 0; i < MUTANTS; ++i) {
    zb_plan *plan = read_plan();
    mutate(plan);
    zb_status status = zb_plan_verify(plan);
    const bool is_right = status || means_the_same(plan);
    if (!is_right) fprintf(stderr, "\n  mutant %d computes something else and is accepted\n", i);
    CU_ASSERT(is_right);
    ++*(status ? &refused : &accepted);
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
  CU_ASSERT(refused > MUTANTS / 4);
  CU_ASSERT(accepted > MUTANTS / 20);
}

SUITE_MAIN_WITH("weave", open_suite, compiled_plan_close, {"right plan", test_right_plan}, {"hidden", test_hidden},
                {"planted faults", test_planted_faults}, {"mutants", test_mutants})
