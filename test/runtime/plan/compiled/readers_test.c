/* A plan in which rank 0 only reads a parameter that rank 2 trains, as zbc makes it with clipping and without: the
 * proof accepts it, and refuses planted faults by which the parameter would become another one on rank 0. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { READER = 0, TRAINER = 2 };

/* The plan of rank READER: the place where it updates what it reads. */
typedef struct victim {
  zb_plan *plan;
  zb_plan_rank *rank;
  zb_plan_parameter *parameter;
  zb_plan_job *update;
  zb_plan_subprogram *sum; /* NULL: without clipping */
  zb_plan_instruction *sgd;
} victim;

static void choose(victim *it, zb_plan *plan) {
  *it = (victim){.plan = plan, .rank = &plan->ranks[READER]};
  for (int i = 0; i < it->rank->parameter_count; ++i)
    if (strcmp(it->rank->parameters[i].tensor.name, "w") == 0) it->parameter = &it->rank->parameters[i];
  for (int i = 0; i < it->rank->job_count; ++i) {
    zb_plan_job *job = &it->rank->jobs[i];
    if (job->kind == ZB_JOB_SUM) it->sum = &it->rank->subprograms[job->subprogram];
    if (job->kind == ZB_JOB_UPDATE) it->update = job;
  }
  it->sgd = &it->rank->subprograms[it->update->subprogram].instructions[0];
}

/* ---- Faults: false where there is nothing to change ---- */

static bool no_update(victim *it) {
  it->rank->subprograms[it->update->subprogram].instruction_count = 0;
  return true;
}

static bool half_updated(victim *it) {
  it->sgd->inputs[0].shape[0] /= 2;
  it->sgd->inputs[1].shape[0] /= 2;
  it->sgd->outputs[0].shape[0] /= 2;
  return true;
}

/* The update reads the parameter as if that were the sum. */
static bool other_sum(victim *it) {
  it->sgd->inputs[1] = it->sgd->inputs[0];
  return true;
}

static bool before_it_came(victim *it) {
  if (it->sum) return false;
  it->update->waits.count = 0;
  return true;
}

static bool not_summed(victim *it) {
  if (it->sum) it->sum->instruction_count = 0;
  return it->sum != NULL;
}

static bool half_summed(victim *it) {
  if (!it->sum) return false;
  it->sum->instructions[0].inputs[0].shape[0] /= 2;
  it->sum->instructions[0].outputs[0].shape[0] /= 2;
  return true;
}

static bool gradient_of_elsewhere(victim *it) {
  if (it->sum) it->parameter->gradient_offset += 64;
  return it->sum != NULL;
}

static bool other_scale(victim *it) {
  for (int i = 0; i < it->sgd->attr_count; ++i)
    if (strcmp(it->sgd->attrs[i].name, "gradient_scale") == 0) it->sgd->attrs[i].f *= 2;
  return true;
}

static bool not_scaled(victim *it) {
  if (!it->sum) return false;
  for (int s = 0; s < it->rank->subprogram_count; ++s)
    if (it->rank->subprograms[s].kind == ZB_JOB_CLIP)
      it->sgd->inputs[3] = it->rank->subprograms[s].instructions[0].inputs[1];
  return true;
}

static bool frozen(victim *it) {
  it->parameter->trained = false;
  return true;
}

static bool two_owners(victim *it) {
  it->parameter->owner = true;
  return true;
}

/* The rank that trains it gives what is no sum of it. */
static bool other_given(victim *it) {
  zb_plan_rank *rank = &it->plan->ranks[TRAINER];
  for (int i = 0; i < rank->job_count; ++i) {
    const int collective = rank->jobs[i].collective;
    if (collective && it->plan->collectives[collective - 1].payload == ZB_PAYLOAD_GRADIENTS)
      rank->pool_ranges[rank->jobs[i].parts.begin].offset = rank->parameters[0].tensor.offset;
  }
  return true;
}

static const struct {
  const char *name;
  bool (*plant)(victim *it);
} faults[] = {
    {"no update", no_update},
    {"half updated", half_updated},
    {"other sum", other_sum},
    {"before it came", before_it_came},
    {"not summed", not_summed},
    {"half summed", half_summed},
    {"gradient of elsewhere", gradient_of_elsewhere},
    {"other scale", other_scale},
    {"not scaled", not_scaled},
    {"frozen", frozen},
    {"two owners", two_owners},
    {"other given", other_given},
};

static void verify(zb_plan *plan, const char *fault) {
  zb_status status = zb_plan_verify(plan);
  if (!fault && status) fputs(zb_status_text(status), stderr);
  if (fault && zb_status_code(status) != ZB_INVALID) fprintf(stderr, "\n  %s is not noticed\n", fault);
  if (fault && getenv("ZB_TEST_SHOW")) fprintf(stderr, "\n  %s: %s", fault, zb_status_text(status));
  CU_ASSERT_EQUAL(zb_status_code(status), fault ? ZB_INVALID : 0);
  zb_status_free(status);
}

/* Returns how many faults there were to plant. */
static int plant_all(const char *clip_norm) {
  int planted = 0;
  const zb_compile_params params = {
      .ranks = 3, .micro_batches = 2, .cuts = "a,b", .optimizer = "sgd:lr=0.1", .clip_norm = clip_norm};
  CU_ASSERT_EQUAL_FATAL(compiled_plan_open("readers.mlir", params), 0);
  for (size_t f = 0; f <= sizeof faults / sizeof faults[0]; ++f) {
    zb_plan *plan = NULL;
    victim it;
    const bool is_right = f == sizeof faults / sizeof faults[0];
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_read(compiled_plan_path, -1, &plan));
    choose(&it, plan);
    if (!is_right && faults[f].plant(&it)) ++planted, verify(plan, faults[f].name);
    if (is_right) verify(plan, NULL);
    zb_plan_destroy(plan);
  }
  CU_ASSERT_EQUAL(compiled_plan_close(), 0);
  return planted;
}

static void test_plain(void) { CU_ASSERT_EQUAL(plant_all(NULL), 8); }
static void test_clipped(void) { CU_ASSERT_EQUAL(plant_all("1"), 11); }

SUITE_MAIN("readers", {"plain", test_plain}, {"clipped", test_clipped})
