/* A plan that clips by the norm of all gradients, as zbc makes it of a model whose tied parameter three of four ranks
 * hold: the proof accepts it, and refuses planted faults by which ranks would scale by other factors, or by none.
 *
 * A fault changes one rank of the plan. Each is planted on every rank where there is something to change. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 4, TIED_HOLDERS = 3 };

static int open_suite(void) {
  return compiled_plan_open("gathered.mlir", (zb_compile_params){.ranks = RANKS,
                                                                 .micro_batches = 2,
                                                                 .cuts = "a,b,c",
                                                                 .optimizer = "sgd:lr=0.1,momentum=0.9",
                                                                 .clip_norm = "0.5"});
}

/* ---- Places of a plan ---- */

typedef struct victim {
  zb_plan *plan;
  zb_plan_rank *rank;
  zb_plan_job *gather, *clip; /* jobs of the rank */
  zb_plan_subprogram *norm;   /* the first NORM of a stage; NULL: there is none */
} victim;

static zb_plan_job *job_of(zb_plan_rank *rank, zb_job_kind kind) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == kind) return &rank->jobs[i];
  return NULL;
}

static zb_plan_instruction *instruction_of(zb_plan_rank *rank, const char *op, int number) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count; ++i)
      if (strcmp(rank->subprograms[s].instructions[i].op, op) == 0 && number-- == 0)
        return &rank->subprograms[s].instructions[i];
  return NULL;
}

static void choose(victim *it, zb_plan *plan, int rank) {
  *it = (victim){.plan = plan, .rank = &plan->ranks[rank]};
  it->clip = job_of(it->rank, ZB_JOB_CLIP);
  zb_plan_job *norm = job_of(it->rank, ZB_JOB_NORM);
  it->norm = norm ? &it->rank->subprograms[norm->subprogram] : NULL;
  for (int i = 0; i < it->rank->job_count; ++i) {
    const int collective = it->rank->jobs[i].collective;
    if (collective && plan->collectives[collective - 1].payload == ZB_PAYLOAD_NORMS) it->gather = &it->rank->jobs[i];
  }
}

static zb_attr *attr(zb_plan_instruction *instruction, const char *name) {
  for (int i = 0; i < instruction->attr_count; ++i)
    if (strcmp(instruction->attrs[i].name, name) == 0) return &instruction->attrs[i];
  return NULL;
}

static void swap_jobs(zb_plan_rank *rank, zb_plan_job *a, zb_plan_job *b) {
  const zb_plan_job kept = *a;
  *a = *b;
  *b = kept;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i) {
    const uint32_t first = (uint32_t)(a - rank->jobs), second = (uint32_t)(b - rank->jobs);
    if (rank->pool_u32[i] == first)
      rank->pool_u32[i] = second;
    else if (rank->pool_u32[i] == second)
      rank->pool_u32[i] = first;
  }
}

/* ---- Faults: false where there is nothing to change ---- */

static bool other_order(victim *it) {
  zb_plan_range *parts = &it->rank->pool_ranges[it->gather->parts.begin];
  const uint32_t last = it->gather->parts.count - 1;
  if (parts[0].bytes != parts[last].bytes) return false;
  const zb_plan_range kept = parts[0];
  parts[0] = parts[last];
  parts[last] = kept;
  return true;
}

/* Its own number is written to where another's comes. */
static bool other_place(victim *it) {
  zb_plan_instruction *square = instruction_of(it->rank, "square_sum", 0);
  if (!square) return false;
  square->outputs[0].offset ^= 8;
  return true;
}

static bool other_gradient(victim *it) {
  zb_plan_instruction *square = instruction_of(it->rank, "square_sum", 0);
  if (!square || square->inputs[0].offset == 0) return false;
  square->inputs[0].offset -= 256;
  return true;
}

/* Half of the gradient. */
static bool part_of_gradient(victim *it) {
  zb_plan_instruction *square = instruction_of(it->rank, "square_sum", 0);
  if (!square) return false;
  square->inputs[0].shape[0] /= 2;
  return true;
}

static bool other_scale(victim *it) {
  zb_plan_instruction *square = instruction_of(it->rank, "square_sum", 0);
  if (!square) return false;
  attr(square, "scale")->f *= 2;
  return true;
}

static bool other_square(victim *it) {
  zb_plan_instruction *square = instruction_of(it->rank, "square_sum", 0);
  if (square) square->op = "abs_max";
  return square != NULL;
}

static bool no_square(victim *it) {
  if (!it->norm) return false;
  for (int i = 0; i < it->norm->instruction_count; ++i)
    if (strcmp(it->norm->instructions[i].op, "square_sum") == 0) {
      it->norm->instructions[i] = it->norm->instructions[--it->norm->instruction_count];
      return true;
    }
  return false;
}

static zb_plan_setting *max_norm_of(zb_plan_rank *rank) {
  int i = 0;
  while (rank->settings[i].kind != ZB_SETTING_MAX_NORM)
    ++i;
  return &rank->settings[i];
}

static bool other_maximum(victim *it) {
  max_norm_of(it->rank)->defaults[0] = 0.25;
  return true;
}

/* The greatest norm is a learning rate. */
static bool other_setting(victim *it) {
  zb_plan_operand *most = &instruction_of(it->rank, "clip_scale", 0)->inputs[2];
  const uint64_t own = most->offset;
  for (int i = 0; i < it->rank->setting_count; ++i)
    if (it->rank->settings[i].offset != own) most->offset = it->rank->settings[i].offset;
  return true;
}

static bool too_few_numbers(victim *it) {
  --instruction_of(it->rank, "clip_scale", 0)->inputs[0].shape[0];
  return true;
}

static bool numbers_of_elsewhere(victim *it) {
  zb_plan_operand *parts = &instruction_of(it->rank, "clip_scale", 0)->inputs[0];
  --parts->shape[0];
  parts->offset += 8;
  return true;
}

/* The step number alone, as without clipping. */
static bool no_factor(victim *it) {
  zb_plan_instruction *update = instruction_of(it->rank, "sgd", 0);
  update->inputs[3] = instruction_of(it->rank, "clip_scale", 0)->inputs[1];
  return true;
}

/* What lies beside the factor. */
static bool other_factor(victim *it) {
  zb_plan_instruction *clip = instruction_of(it->rank, "clip_scale", 0);
  zb_plan_operand kept = clip->outputs[0];
  clip->outputs[0].base = clip->outputs[1].base;
  clip->outputs[1].base = kept.base;
  return true;
}

static bool update_before_clip(victim *it) {
  swap_jobs(it->rank, it->clip, job_of(it->rank, ZB_JOB_UPDATE));
  return true;
}

static bool clip_before_gather(victim *it) {
  swap_jobs(it->rank, it->gather, it->clip);
  return true;
}

static bool gather_before_norm(victim *it) {
  zb_plan_job *norm = job_of(it->rank, ZB_JOB_NORM);
  if (norm) swap_jobs(it->rank, norm, it->gather);
  return norm != NULL;
}

static bool no_wait(victim *it) {
  it->clip->waits.count = 0;
  return true;
}

static bool no_member(victim *it) {
  zb_plan_collective *row = &it->plan->collectives[it->gather->collective - 1];
  it->plan->pool_u64[row->members.begin] = it->plan->pool_u64[row->members.begin + 1];
  return it->rank->rank == 0;
}

static bool other_payload(victim *it) {
  static const zb_payload payloads[] = {ZB_PAYLOAD_GRADIENTS, ZB_PAYLOAD_FORWARD, ZB_PAYLOAD_BACKWARD};
  if (it->rank->rank >= 3) return false;
  it->plan->collectives[it->gather->collective - 1].payload = payloads[it->rank->rank];
  return true;
}

static bool report_of_elsewhere(victim *it) {
  for (int i = 0; i < it->rank->job_count; ++i)
    if (it->rank->jobs[i].kind == ZB_JOB_REPORT && it->rank->jobs[i].micro_batch < 0)
      it->rank->pool_ranges[it->rank->jobs[i].parts.begin].offset -= 64;
  return true;
}

static bool no_norm(victim *it) {
  it->rank->subprograms[it->clip->subprogram].loss_base = 0;
  return true;
}

/* The uses of the tied parameter in another order, in NORM or SUM of one holder alone. */
static bool other_sums(victim *it) {
  zb_plan_instruction *first = instruction_of(it->rank, "add", 0), *second = instruction_of(it->rank, "add", 1);
  if (!first || !second) return false;
  const zb_plan_operand kept = first->inputs[1];
  first->inputs[1] = second->inputs[1];
  second->inputs[1] = kept;
  return true;
}

static const struct {
  const char *name;
  bool (*plant)(victim *it);
  int ranks; /* on how many there is something to change */
} faults[] = {
    {"other order", other_order, RANKS},
    {"other place", other_place, 2},
    {"other gradient", other_gradient, 2},
    {"part of a gradient", part_of_gradient, 2},
    {"other scale", other_scale, 2},
    {"other square", other_square, 2},
    {"no square", no_square, 2},
    {"other maximum", other_maximum, RANKS},
    {"other setting", other_setting, RANKS},
    {"too few numbers", too_few_numbers, RANKS},
    {"numbers of elsewhere", numbers_of_elsewhere, RANKS},
    {"no factor", no_factor, RANKS},
    {"other factor", other_factor, RANKS},
    {"update before clip", update_before_clip, RANKS},
    {"clip before gather", clip_before_gather, RANKS},
    {"gather before norm", gather_before_norm, 2},
    {"no wait", no_wait, RANKS},
    {"no member", no_member, 1},
    {"other payload", other_payload, 3},
    {"report of elsewhere", report_of_elsewhere, RANKS},
    {"no norm", no_norm, RANKS},
    {"other sums", other_sums, TIED_HOLDERS},
};

static void test_right_plan(void) {
  zb_plan *plan = NULL;
  zb_plan_simulation simulation;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  status = zb_plan_verify(plan);
  if (status) fputs(zb_status_text(status), stderr);
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  status = zb_plan_simulate(plan, &simulation);
  CU_ASSERT_PTR_NULL_FATAL(status);
  zb_plan_simulation_free(&simulation);
  for (int rank = 0; rank < RANKS; ++rank)
    CU_ASSERT_EQUAL(max_norm_of(&plan->ranks[rank])->defaults[0], 0.5);
  zb_plan_destroy(plan);
}

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
    int planted = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
      zb_plan *plan = NULL;
      victim it;
      zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
      CU_ASSERT_PTR_NULL_FATAL(status);
      choose(&it, plan, rank);
      if (faults[f].plant(&it)) {
        ++planted;
        status = zb_plan_verify(plan);
        if (zb_status_code(status) != ZB_INVALID)
          fprintf(stderr, "\n  %s on rank %d is not noticed\n", faults[f].name, rank);
        else if (getenv("ZB_TEST_SHOW"))
          fprintf(stderr, "\n  %s on rank %d: %s", faults[f].name, rank, zb_status_text(status));
        CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
        zb_status_free(status);
      }
      zb_plan_destroy(plan);
    }
    if (planted != faults[f].ranks) fprintf(stderr, "\n  %s was planted on %d ranks\n", faults[f].name, planted);
    CU_ASSERT_EQUAL(planted, faults[f].ranks);
  }
}

SUITE_MAIN_WITH("clipping", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_planted_faults})
