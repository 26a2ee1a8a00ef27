/* Plans whose loss is a mean over the targets of a step, as zbc makes them of a model whose last rank has no parameter:
 * the proof accepts them, and refuses planted faults by which gradients would be divided by something else than what
 * the printed loss is divided by, or on one rank alone.
 *
 * A fault changes one rank of the plan. Each is planted on every rank where there is something to change. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 4 };

/* ---- Places of a plan ---- */

typedef struct victim {
  zb_plan *plan;
  zb_plan_rank *rank;
} victim;

static zb_plan_subprogram *subprogram_of(zb_plan_rank *rank, zb_job_kind kind) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (rank->subprograms[s].kind == kind) return &rank->subprograms[s];
  return NULL;
}

static zb_plan_instruction *instruction_in(zb_plan_subprogram *subprogram, const char *op) {
  for (int i = 0; subprogram && i < subprogram->instruction_count; ++i)
    if (strcmp(subprogram->instructions[i].op, op) == 0) return &subprogram->instructions[i];
  return NULL;
}

static zb_plan_instruction *clip_of(victim *it) {
  return instruction_in(subprogram_of(it->rank, ZB_JOB_CLIP), "clip_scale");
}

/* What makes numbers of the sum of losses and weights; NULL: another rank does. */
static zb_plan_instruction *cast_of(victim *it) { return instruction_in(subprogram_of(it->rank, ZB_JOB_NORM), "cast"); }

/* What adds them up. */
static zb_plan_instruction *adder_of(victim *it) {
  return cast_of(it) ? instruction_in(subprogram_of(it->rank, ZB_JOB_W), "accumulate_add") : NULL;
}

static zb_plan_subprogram *loss_of(victim *it, zb_job_kind kind) {
  zb_plan_subprogram *found = subprogram_of(it->rank, kind);
  return found && found->loss_base ? found : NULL;
}

/* The job that moves numbers: sums them over replicas, or brings those of other ranks. */
static zb_plan_job *mover_of(victim *it, bool adds) {
  for (int i = 0; i < it->rank->job_count; ++i) {
    const int index = it->rank->jobs[i].collective;
    const zb_plan_collective *collective = index ? &it->plan->collectives[index - 1] : NULL;
    if (collective && collective->payload == ZB_PAYLOAD_NORMS && zb_collective_adds(collective->kind) == adds)
      return &it->rank->jobs[i];
  }
  return NULL;
}
static zb_plan_job *gather_of(victim *it) { return mover_of(it, false); }

/* ---- Faults: false where there is nothing to change ---- */

static bool not_weighted(victim *it) {
  it->plan->weighted = false;
  return it->rank->rank == 0;
}

/* One rank divides by the number of micro-batches, or by nothing. */
static bool no_weight(victim *it) {
  clip_of(it)->attr_count = 0;
  return true;
}

static bool weight_is_no(victim *it) {
  clip_of(it)->attrs[0].i = 0;
  return true;
}

/* The norm has the sum of losses, or lacks a number. */
static bool one_number_less(victim *it) {
  --clip_of(it)->inputs[0].shape[0];
  return true;
}

static bool one_number_later(victim *it) {
  clip_of(it)->inputs[0].offset += 8;
  --clip_of(it)->inputs[0].shape[0];
  return true;
}

static bool two_numbers(victim *it) {
  clip_of(it)->inputs[0].shape[0] = 1;
  return true;
}

static bool cast_of_elsewhere(victim *it) {
  if (cast_of(it)) cast_of(it)->inputs[0].offset += 4;
  return cast_of(it) != NULL;
}

static bool cast_elsewhere(victim *it) {
  if (cast_of(it)) cast_of(it)->outputs[0].offset -= 8;
  return cast_of(it) != NULL;
}

static bool cast_of_one(victim *it) {
  if (!cast_of(it)) return false;
  cast_of(it)->inputs[0].shape[0] = cast_of(it)->outputs[0].shape[0] = 1;
  return true;
}

static bool another_op(victim *it) {
  zb_plan_instruction *cast = cast_of(it);
  if (cast) cast->op = "neg";
  return cast != NULL;
}

static bool no_cast(victim *it) {
  if (!cast_of(it)) return false;
  --subprogram_of(it->rank, ZB_JOB_NORM)->instruction_count;
  return true;
}

/* W adds what lies behind the pair, or the pair to another sum, or other numbers, or nothing. */
static bool adds_elsewhere(victim *it) {
  if (adder_of(it)) adder_of(it)->inputs[0].offset += 8;
  return adder_of(it) != NULL;
}

static bool adds_half(victim *it) {
  if (!adder_of(it)) return false;
  adder_of(it)->inputs[0].shape[0] = adder_of(it)->outputs[0].shape[0] = 1;
  return true;
}

static bool adds_to_elsewhere(victim *it) {
  if (adder_of(it)) adder_of(it)->outputs[0].offset += 8;
  return adder_of(it) != NULL;
}

static bool does_not_add(victim *it) {
  if (adder_of(it)) adder_of(it)->accumulate = false;
  return adder_of(it) != NULL;
}

static bool another_adder(victim *it) {
  zb_plan_instruction *adder = adder_of(it);
  if (adder) adder->op = "neg";
  return adder != NULL;
}

static bool nobody_adds(victim *it) {
  if (!adder_of(it)) return false;
  --subprogram_of(it->rank, ZB_JOB_W)->instruction_count;
  return true;
}

/* F leaves other bytes than those that are added: their reports lie there, too. */
static bool loss_elsewhere(victim *it) {
  zb_plan_subprogram *f = loss_of(it, ZB_JOB_F);
  if (!f) return false;
  f->loss_offset += 8;
  for (int i = 0; i < it->rank->job_count; ++i)
    if (it->rank->jobs[i].kind == ZB_JOB_REPORT && it->rank->jobs[i].micro_batch >= 0 && i < zb_plan_step_end(it->rank))
      it->rank->pool_ranges[it->rank->jobs[i].parts.begin].offset += 8;
  return true;
}

static bool report_of_half(victim *it) {
  if (!loss_of(it, ZB_JOB_F)) return false;
  for (int i = 0; i < it->rank->job_count; ++i)
    if (it->rank->jobs[i].kind == ZB_JOB_REPORT) it->rank->pool_ranges[it->rank->jobs[i].parts.begin].bytes = 4;
  return true;
}

static bool evaluation_leaves_half(victim *it) {
  zb_plan_subprogram *e = loss_of(it, ZB_JOB_EVALUATE);
  if (e) e->loss_offset = e->base_bytes[e->loss_base - 1] - 4;
  return e != NULL;
}

/* The numbers come apart, or their ends do. */
static bool half_travels(victim *it) {
  zb_plan_job *gather = gather_of(it);
  zb_plan_range *parts = &it->rank->pool_ranges[gather->parts.begin];
  parts[gather->parts.count - 1].bytes = 8;
  return true;
}

static bool lands_elsewhere(victim *it) {
  zb_plan_job *gather = gather_of(it);
  it->rank->pool_ranges[gather->parts.begin + gather->parts.count - 1].offset += 8;
  return true;
}

/* Gradients are those of a mean already. */
static bool scaled(victim *it) {
  zb_plan_instruction *square = instruction_in(subprogram_of(it->rank, ZB_JOB_NORM), "square_sum");
  zb_plan_instruction *update = instruction_in(subprogram_of(it->rank, ZB_JOB_UPDATE), "sgd");
  if (!square || !update) return false;
  for (int i = 0; i < square->attr_count; ++i)
    square->attrs[i].f = 0.5;
  for (int i = 0; i < update->attr_count; ++i)
    if (strcmp(update->attrs[i].name, "gradient_scale") == 0) update->attrs[i].f = 0.5;
  return true;
}

/* ---- Of parts ---- */

/* The instruction that takes the two numbers of what is cast. */
static zb_plan_instruction *taker_of(victim *it) {
  return cast_of(it) ? instruction_in(subprogram_of(it->rank, ZB_JOB_NORM), "contiguous") : NULL;
}

static bool cast_of_the_next_part(victim *it) {
  if (cast_of(it)) cast_of(it)->inputs[0].offset += 64;
  return cast_of(it) != NULL;
}

static bool cast_of_the_pair_alone(victim *it) {
  if (cast_of(it)) cast_of(it)->inputs[0].shape[0] = cast_of(it)->outputs[0].shape[0] = 2;
  return cast_of(it) != NULL;
}

static bool numbers_behind_the_pair(victim *it) {
  if (taker_of(it)) taker_of(it)->inputs[0].offset += 8;
  return taker_of(it) != NULL;
}

/* Other replicas than the first divide by 0. */
static bool weight_is_not_summed(victim *it) {
  if (!cast_of(it)) return false;
  const zb_plan_job *sum = mover_of(it, true);
  zb_plan_range *numbers = &it->rank->pool_ranges[sum->parts.begin];
  numbers->bytes -= 8;
  it->plan->pool_u64[it->plan->collectives[sum->collective - 1].sizes.begin] -= 8;
  return true;
}

/* W begins with something else than zeros. */
static bool begins_with_ones(victim *it) {
  zb_plan_subprogram *w = adder_of(it) ? subprogram_of(it->rank, ZB_JOB_W) : NULL;
  zb_plan_instruction *zeros = instruction_in(w, "iota");
  for (int i = 0; zeros && i < zeros->attr_count; ++i)
    if (strcmp(zeros->attrs[i].name, "start") == 0) zeros->attrs[i].f = 1;
  return zeros != NULL;
}

typedef struct fault {
  const char *name;
  bool (*plant)(victim *it);
  int ranks; /* on how many there is something to change */
} fault;

static const fault faults[] = {
    {"a plan that is not weighted", not_weighted, 1},
    {"no weight", no_weight, RANKS},
    {"weighted is false", weight_is_no, RANKS},
    {"one number less", one_number_less, RANKS},
    {"one number later", one_number_later, RANKS},
    {"fewer numbers than a weight", two_numbers, RANKS},
    {"a cast of elsewhere", cast_of_elsewhere, 1},
    {"a cast to elsewhere", cast_elsewhere, 1},
    {"a cast of one number", cast_of_one, 1},
    {"another op", another_op, 1},
    {"no cast", no_cast, 1},
    {"W adds what is elsewhere", adds_elsewhere, 1},
    {"W adds the sum of losses alone", adds_half, 1},
    {"W adds to elsewhere", adds_to_elsewhere, 1},
    {"W does not add", does_not_add, 1},
    {"W adds by another op", another_adder, 1},
    {"nobody adds", nobody_adds, 1},
    {"F leaves its loss elsewhere", loss_elsewhere, 1},
    {"half of a loss is reported", report_of_half, 1},
    {"an evaluation leaves half of a loss", evaluation_leaves_half, 1},
    {"half of the numbers travels", half_travels, RANKS},
    {"numbers land elsewhere", lands_elsewhere, RANKS},
    {"scaled gradients", scaled, 2},
};

static const fault faults_of_parts[] = {
    {"a cast of the next part", cast_of_the_next_part, 1},
    {"a cast of the pair alone", cast_of_the_pair_alone, 1},
    {"numbers behind the pair", numbers_behind_the_pair, 1},
    {"a weight that is not summed over replicas", weight_is_not_summed, 1},
};

static const fault fault_of_micro_batches = {"a sum that begins with ones", begins_with_ones, 1};

static const zb_compile_params plain = {.ranks = RANKS,
                                        .micro_batches = 2,
                                        .cuts = "a,b,c",
                                        .optimizer = "sgd:lr=0.1,momentum=0.9",
                                        .loss_mean = "targets"};

/* A plan of this file, of so many replicas, which share that; NULL: nothing. */
static void open_plan(int replicas, const char *sharding) {
  zb_compile_params params = plain;
  params.data_parallel = replicas;
  params.sharding = sharding;
  CU_ASSERT_EQUAL_FATAL(compiled_plan_open("Inputs/ignored.mlir", params), 0);
}

static void test_right_plans(void) {
  static const char *const levels[] = {NULL, NULL, "gradients:step", "gradients:micro-batch", "parameters:step"};
  for (int i = 0; i < 5; ++i) {
    const int replicas = i == 0 ? 1 : 4;
    zb_plan *plan = NULL;
    open_plan(replicas, levels[i]);
    zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
    CU_ASSERT_PTR_NULL_FATAL(status);
    status = zb_plan_verify(plan);
    if (status) fputs(zb_status_text(status), stderr);
    CU_ASSERT_PTR_NULL(status);
    CU_ASSERT(plan->weighted && plan->replicas == replicas);
    CU_ASSERT_EQUAL(plan->ranks[RANKS - 1].parameter_count, 0);
    zb_status_free(status);
    zb_plan_destroy(plan);
    compiled_plan_close();
  }
}

static void plant(const fault *what, const char *text) {
  int planted = 0;
  for (int rank = 0; rank < RANKS; ++rank) {
    zb_plan *plan = NULL;
    zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
    CU_ASSERT_PTR_NULL_FATAL(status);
    victim it = {plan, &plan->ranks[rank]};
    if (what->plant(&it)) {
      ++planted;
      status = zb_plan_verify(plan);
      if (zb_status_code(status) != ZB_INVALID)
        fprintf(stderr, "\n  %s on rank %d of %s is not noticed\n", what->name, rank, text);
      else if (getenv("ZB_TEST_SHOW"))
        fprintf(stderr, "\n  %s on rank %d of %s: %s", what->name, rank, text, zb_status_text(status));
      CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
      zb_status_free(status);
    }
    zb_plan_destroy(plan);
  }
  if (planted != what->ranks) fprintf(stderr, "\n  %s was planted on %d ranks of %s\n", what->name, planted, text);
  CU_ASSERT_EQUAL(planted, what->ranks);
}

static void plant_all(const char *text) {
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i)
    plant(&faults[i], text);
}

static void test_planted_faults(void) {
  for (int replicas = 1; replicas <= 2; ++replicas) {
    open_plan(replicas, NULL);
    plant_all(replicas == 1 ? "one pipeline" : "two replicas");
    compiled_plan_close();
  }
}

/* Replica 0 has the pair in its part of the sums. */
static void test_parts(void) {
  static const char *const levels[] = {"gradients:step", "gradients:micro-batch"};
  for (int level = 0; level < 2; ++level) {
    open_plan(3, levels[level]);
    plant_all(levels[level]);
    for (size_t i = 0; i < sizeof faults_of_parts / sizeof faults_of_parts[0]; ++i)
      plant(&faults_of_parts[i], levels[level]);
    if (level == 1) plant(&fault_of_micro_batches, levels[level]);
    compiled_plan_close();
  }
}

SUITE_MAIN("mean over targets", {"right plans", test_right_plans}, {"planted faults", test_planted_faults},
           {"parts", test_parts})
