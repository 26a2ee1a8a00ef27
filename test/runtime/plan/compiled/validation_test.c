/* A plan with post-validation, as zbc makes it of a model whose tied parameter three of four ranks hold: the proof
 * accepts it, and refuses planted faults after which a step that was clipped could not be taken back, or one that was
 * not would go on with other values.
 *
 * A fault changes one rank of the plan. Each is planted on every rank where there is something to change. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 4 };

static int open_suite(void) {
  return compiled_plan_open("gathered.mlir", (zb_compile_params){.ranks = RANKS,
                                                                 .micro_batches = 6,
                                                                 .cuts = "a,b,c",
                                                                 .optimizer = "adamw",
                                                                 .schedule = "1f1b",
                                                                 .precision = "bf16",
                                                                 .clip_norm = "0.5",
                                                                 .post_validation = true});
}

/* ---- Places of a plan ---- */

typedef struct victim {
  zb_plan *plan;
  zb_plan_rank *rank;
  int verdict, snapshot; /* jobs of the rank */
} victim;

static zb_plan_range *parts_of(const victim *it, int job) {
  return &it->rank->pool_ranges[it->rank->jobs[job].parts.begin];
}

static void swap_jobs(zb_plan_rank *rank, int a, int b) {
  const zb_plan_job kept = rank->jobs[a];
  rank->jobs[a] = rank->jobs[b];
  rank->jobs[b] = kept;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i) {
    if (rank->pool_u32[i] == (uint32_t)a)
      rank->pool_u32[i] = (uint32_t)b;
    else if (rank->pool_u32[i] == (uint32_t)b)
      rank->pool_u32[i] = (uint32_t)a;
  }
}

/* Moves a job to the place of another; the ones between close up. */
static void move_job(zb_plan_rank *rank, int from, int to) {
  for (; from < to; ++from)
    swap_jobs(rank, from, from + 1);
  for (; from > to; --from)
    swap_jobs(rank, from, from - 1);
}

/* ---- Faults: false where there is nothing to change ---- */

static bool verdict_behind_b(victim *it) {
  move_job(it->rank, it->verdict, zb_plan_find_job(it->rank, ZB_JOB_B));
  return true;
}

/* What the next rank received before its verdict is sent behind this one. */
static bool verdict_first(victim *it) {
  move_job(it->rank, it->verdict, it->rank->load_count);
  return it->rank->rank < RANKS - 1;
}

/* Only the mark of one message is wrong then. */
static bool verdict_before_last_send(victim *it) {
  int send = it->verdict;
  while (send >= it->rank->load_count && it->rank->jobs[send].kind != ZB_JOB_SEND)
    --send;
  if (send < it->rank->load_count || !it->plan->messages[it->rank->jobs[send].message].crosses) return false;
  move_job(it->rank, it->verdict, send);
  return true;
}

static bool two_verdicts(victim *it) {
  it->rank->jobs[it->snapshot].kind = ZB_JOB_VERDICT;
  return true;
}

static bool other_crossing(victim *it) {
  for (int i = it->rank->load_count; i < it->verdict; ++i)
    if (it->rank->jobs[i].message >= 0) {
      it->plan->messages[it->rank->jobs[i].message].crosses ^= 1;
      return true;
    }
  return false;
}

/* A message of the backward pass, which is far from every verdict. */
static bool crossing_late(victim *it) {
  for (int i = it->verdict; i < it->snapshot; ++i)
    if (it->rank->jobs[i].kind == ZB_JOB_SEND) {
      it->plan->messages[it->rank->jobs[i].message].crosses ^= 1;
      return true;
    }
  return false;
}

static bool part_not_kept(victim *it) {
  parts_of(it, it->snapshot)[0].bytes -= 64;
  return true;
}

static bool state_not_kept(victim *it) {
  it->rank->jobs[it->snapshot].parts.count = 1;
  return true;
}

static bool copy_not_kept(victim *it) { /* the bf16 copies of parameters */
  zb_plan_slice *parts = &it->rank->jobs[it->snapshot].parts;
  const zb_plan_range last = parts_of(it, it->snapshot)[parts->count - 1];
  const zb_plan_range *constants = &it->rank->regions[ZB_REGION_CONSTANTS];
  if (last.offset < constants->offset || last.offset >= constants->offset + constants->bytes) return false;
  --parts->count;
  return true;
}

static bool keeps_gradients(victim *it) {
  parts_of(it, it->snapshot)[0].offset = it->rank->regions[ZB_REGION_GRADIENTS].offset;
  parts_of(it, it->snapshot)[0].bytes = 64;
  return true;
}

static bool keeps_twice(victim *it) {
  zb_plan_range *parts = parts_of(it, it->snapshot);
  parts[1] = parts[0];
  return true;
}

static bool snapshot_too_small(victim *it) {
  it->rank->regions[ZB_REGION_SNAPSHOT].bytes -= 64;
  return true;
}

static bool snapshot_behind_update(victim *it) {
  move_job(it->rank, it->snapshot, zb_plan_find_job(it->rank, ZB_JOB_UPDATE));
  return true;
}

static bool snapshot_before_w(victim *it) {
  int w = it->snapshot;
  while (w > 0 && it->rank->jobs[w].kind != ZB_JOB_W)
    --w;
  move_job(it->rank, it->snapshot, w);
  return true;
}

static bool norm_not_kept(victim *it) {
  --it->rank->jobs[it->verdict].parts.count;
  return true;
}

static bool part_of_norm_not_kept(victim *it) {
  zb_plan_slice parts = it->rank->jobs[it->verdict].parts;
  it->rank->pool_ranges[parts.begin + parts.count - 1].offset += 8;
  return true;
}

static bool other_factor(victim *it) {
  zb_plan_range *parts = parts_of(it, it->verdict), kept = parts[0];
  parts[0] = parts[1];
  parts[1] = kept;
  return true;
}

static bool no_factor(victim *it) {
  parts_of(it, it->verdict)[0].bytes = 8;
  return true;
}

/* More is kept, from the lowest part down or from the highest up: there lie values of the next step. */
static bool kept_place_used(victim *it) {
  const zb_plan_slice parts = it->rank->jobs[it->verdict].parts;
  const zb_plan_range slots = it->rank->regions[ZB_REGION_SLOTS];
  zb_plan_range *lowest = &it->rank->pool_ranges[parts.begin], *highest = lowest;
  for (uint32_t i = 0; i < parts.count; ++i) {
    zb_plan_range *part = &it->rank->pool_ranges[parts.begin + i];
    if (part->offset < lowest->offset) lowest = part;
    if (part->offset > highest->offset) highest = part;
  }
  highest->bytes = slots.offset + slots.bytes - highest->offset;
  lowest->bytes += lowest->offset - slots.offset;
  lowest->offset = slots.offset;
  return true;
}

static bool kept_elsewhere(victim *it) {
  zb_plan_slice parts = it->rank->jobs[it->verdict].parts;
  it->rank->pool_ranges[parts.begin + 1].offset = it->rank->regions[ZB_REGION_GRADIENTS].offset;
  return true;
}

static bool update_waits(victim *it) {
  zb_plan_job *update = &it->rank->jobs[zb_plan_find_job(it->rank, ZB_JOB_UPDATE)];
  update->waits = it->rank->jobs[zb_plan_find_job(it->rank, ZB_JOB_CLIP)].waits;
  return update->waits.count > 0;
}

static const struct {
  const char *name, *rule;
  bool (*plant)(victim *it);
  int ranks; /* on how many there is something to change */
} faults[] = {
    {"verdict behind B", "rule \"validation\"", verdict_behind_b, RANKS},
    {"verdict first", "is received before the VERDICT of rank", verdict_first, RANKS - 1},
    {"verdict before the last send", "rule \"validation\"", verdict_before_last_send, RANKS - 1},
    {"two verdicts", "expected one of each, or none", two_verdicts, RANKS},
    {"other crossing", "but is marked otherwise", other_crossing, RANKS},
    {"crossing late", "does not cross the verdicts, but is marked", crossing_late, RANKS},
    {"part not kept", "overwrites what is not in the snapshot", part_not_kept, RANKS},
    {"state not kept", "overwrites what is not in the snapshot", state_not_kept, RANKS},
    {"copy not kept", "overwrites what is not in the snapshot", copy_not_kept, RANKS - 1},
    {"keeps gradients", "keeps what is no parameter, buffer, state or constant", keeps_gradients, RANKS},
    {"keeps twice", "keeps what is no parameter, buffer, state or constant, or twice", keeps_twice, RANKS},
    {"snapshot too small", "does not fit into the region snapshot", snapshot_too_small, RANKS},
    {"snapshot behind UPDATE", "stands before the SNAPSHOT", snapshot_behind_update, RANKS},
    {"snapshot before W", "stands behind the SNAPSHOT", snapshot_before_w, RANKS},
    {"norm not kept", "uses slots that are no parts of the VERDICT", norm_not_kept, RANKS},
    {"part of the norm not kept", "rule \"validation\"", part_of_norm_not_kept, RANKS},
    {"other factor", "reads slots that are not the first part", other_factor, RANKS},
    {"no factor", "its first part holds no factor", no_factor, RANKS},
    {"kept place used", "uses what is kept for the VERDICT", kept_place_used, RANKS},
    {"kept elsewhere", "keeps what is no part of the slots", kept_elsewhere, RANKS},
    {"UPDATE waits", "which only CLIP may do", update_waits, RANKS},
};

static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return plan;
}

static victim victim_of(zb_plan *plan, int rank) {
  zb_plan_rank *program = &plan->ranks[rank];
  return (victim){plan, program, zb_plan_find_job(program, ZB_JOB_VERDICT), zb_plan_find_job(program, ZB_JOB_SNAPSHOT)};
}

static void expect_refused(const zb_plan *plan, const char *name, int rank, const char *expected) {
  zb_status status = zb_plan_verify(plan);
  const bool refused = zb_status_code(status) == ZB_INVALID && strstr(zb_status_text(status), expected) != NULL;
  if (!refused)
    fprintf(stderr, "\n  %s on rank %d: expected '%s', got %s\n", name, rank, expected,
            status ? zb_status_text(status) : "a right plan");
  CU_ASSERT_TRUE(refused);
  zb_status_free(status);
}

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
    int planted = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
      zb_plan *plan = read_plan();
      victim it = victim_of(plan, rank);
      if (faults[f].plant(&it)) {
        ++planted;
        expect_refused(plan, faults[f].name, rank, faults[f].rule);
      }
      zb_plan_destroy(plan);
    }
    if (planted != faults[f].ranks) fprintf(stderr, "\n  %s was planted on %d ranks\n", faults[f].name, planted);
    CU_ASSERT_EQUAL(planted, faults[f].ranks);
  }
}

/* Of one rank alone, in the view of a step, where its jobs are the last ones. */
static void test_one_rank_without(void) {
  for (int rank = 0; rank < RANKS; ++rank) {
    zb_plan *plan = read_plan(), *view = NULL;
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_view(plan, ZB_LIST_STEP, &view));
    victim it = victim_of(view, rank);
    move_job(it.rank, it.snapshot, it.rank->job_count - 1);
    move_job(it.rank, it.verdict, it.rank->job_count - 2);
    it.rank->job_count -= 2;
    expect_refused(view, "no verdict", rank, "3 of 4 ranks have a VERDICT");
    zb_plan_destroy(view);
    zb_plan_destroy(plan);
  }
}

/* A message in a plan without verdicts crosses none. */
static void test_crossing_without_verdict(void) {
  zb_plan *plan = read_plan(), *view = NULL;
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_view(plan, ZB_LIST_EVALUATION, &view));
  view->messages[0].crosses = 1;
  expect_refused(view, "crossing without verdict", 0, "does not cross the verdicts, but is marked");
  zb_plan_destroy(view);
  zb_plan_destroy(plan);
}

/* What a verdict can need, and no more: parameters, two states and bf16 copies of what a rank trains, byte for byte. */
static void test_price(void) {
  zb_plan *plan = read_plan();
  zb_status status = zb_plan_verify(plan);
  if (status) fputs(zb_status_text(status), stderr);
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  for (int rank = 0; rank < RANKS; ++rank) {
    const zb_plan_rank *program = &plan->ranks[rank];
    uint64_t bytes = 0;
    for (int i = 0; i < program->parameter_count; ++i)
      if (program->parameters[i].trained)
        bytes += zb_align((uint64_t)zb_shape_bytes(&program->parameters[i].tensor.shape));
    for (int i = 0; i < program->state_count; ++i)
      bytes += zb_align((uint64_t)zb_shape_bytes(&program->states[i].shape));
    for (int i = 0; i < program->constant_count; ++i)
      if (program->constants[i].computed && program->constants[i].tensor.shape.dtype == ZB_BF16)
        bytes += zb_align((uint64_t)zb_shape_bytes(&program->constants[i].tensor.shape));
    CU_ASSERT_EQUAL(program->regions[ZB_REGION_SNAPSHOT].bytes, bytes);
  }
  zb_plan_destroy(plan);
}

SUITE_MAIN_WITH("post-validation", open_suite, compiled_plan_close, {"price", test_price},
                {"planted faults", test_planted_faults}, {"one rank without", test_one_rank_without},
                {"crossing without a verdict", test_crossing_without_verdict})
