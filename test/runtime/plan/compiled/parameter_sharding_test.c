/* Plans of replicas that have a part of every parameter each (zbc --sharding parameters:step), as zbc makes them: the
 * proof accepts them with every --gather, and refuses planted faults by which a job would read a part as if it were
 * whole, another parameter than for other micro-batches, one that has not come, or one that the step has updated. What
 * they train is test/e2e/sharding.py. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/check.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 5, MICRO_BATCHES = 3 };
static const char *const gathers[] = {"job", "micro-batch", "step"};
enum { GATHERS = sizeof gathers / sizeof gathers[0] };
static char paths[GATHERS][sizeof compiled_plan_path];

/* A tied parameter on both ranks, copies of parameters in bf16, and dimensions that five does not divide. */
static int open_suite(void) {
  for (int g = 0; g < GATHERS; ++g) {
    if (compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                     .micro_batches = MICRO_BATCHES,
                                                                     .data_parallel = REPLICAS,
                                                                     .precision = "bf16",
                                                                     .bucket_bytes = 512,
                                                                     .sharding = "parameters:step",
                                                                     .gather = gathers[g]}))
      return 1;
    memcpy(paths[g], compiled_plan_path, sizeof compiled_plan_path);
  }
  return 0;
}

static int close_suite(void) {
  int failed = 0;
  for (int g = 0; g < GATHERS; ++g) {
    memcpy(compiled_plan_path, paths[g], sizeof compiled_plan_path);
    failed |= compiled_plan_close();
  }
  return failed;
}

static zb_plan *read_plan(int g) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(paths[g], -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return plan;
}

static bool is_refused(const zb_plan *plan) {
  zb_status status = zb_plan_verify(plan);
  const bool refused = zb_status_code(status) == ZB_INVALID;
  zb_status_free(status);
  return refused;
}

/* The number-th gather of the rank, from `begin` on; -1: there is none. */
static int gather_at(const zb_plan *plan, const zb_plan_rank *rank, int begin, int number) {
  for (int i = begin; i < rank->job_count; ++i)
    if (rank->jobs[i].collective && plan->collectives[rank->jobs[i].collective - 1].apart && number-- == 0) return i;
  return -1;
}

static uint32_t parameters_of(const zb_plan *plan, const zb_plan_job *gather) {
  return plan->collectives[gather->collective - 1].sizes.count;
}

/* ---- Right plans ---- */

static int count_gathers(const zb_plan *plan, const zb_plan_rank *rank, int begin, int end) {
  int count = 0;
  for (int i = begin; i < end; ++i)
    count += rank->jobs[i].collective && plan->collectives[rank->jobs[i].collective - 1].apart;
  return count;
}

/* As many gathers as --gather says, of a step and of an evaluation, and parts alone where parameters lie. */
static void test_right_plans(void) {
  const int of_step[GATHERS] = {2 * MICRO_BATCHES, MICRO_BATCHES, 1};
  const int of_evaluation[GATHERS] = {MICRO_BATCHES, MICRO_BATCHES, 1};
  for (int g = 0; g < GATHERS; ++g) {
    zb_plan *plan = read_plan(g);
    zb_status status = zb_plan_verify(plan);
    if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
    CU_ASSERT_PTR_NULL_FATAL(status);
    for (int r = 0; r < RANKS; ++r) {
      const zb_plan_rank *rank = &plan->ranks[r];
      uint64_t parts = 0;
      for (int i = 0; i < rank->parameter_count; ++i) {
        const zb_shape whole = zb_plan_whole_shape(&rank->parameters[i].tensor);
        CU_ASSERT(rank->parameters[i].tensor.flat);
        parts += zb_plan_part_bytes(&whole, REPLICAS);
      }
      CU_ASSERT_EQUAL(rank->regions[ZB_REGION_PARAMETERS].bytes, parts);
      CU_ASSERT_EQUAL(rank->regions[ZB_REGION_STATE].bytes, 2 * parts);
      CU_ASSERT_EQUAL(count_gathers(plan, rank, 0, zb_plan_step_end(rank)), of_step[g]);
      CU_ASSERT_EQUAL(count_gathers(plan, rank, zb_plan_step_end(rank), rank->job_count), of_evaluation[g]);
    }
    zb_plan_destroy(plan);
  }
}

/* Lists of parts stand in the pools once for equal ones: of two gathers with the same list one slice names both. */
static void test_one_list(void) {
  for (int g = 0; g < GATHERS; ++g) {
    zb_plan *plan = read_plan(g);
    for (int r = 0; r < RANKS; ++r) {
      const zb_plan_rank *rank = &plan->ranks[r];
      for (int a = gather_at(plan, rank, 0, 0); a >= 0; a = gather_at(plan, rank, a + 1, 0))
        for (int b = gather_at(plan, rank, a + 1, 0); b >= 0; b = gather_at(plan, rank, b + 1, 0)) {
          const zb_plan_slice first = rank->jobs[a].parts, second = rank->jobs[b].parts;
          const bool equal =
              first.count == second.count && memcmp(rank->pool_ranges + first.begin, rank->pool_ranges + second.begin,
                                                    first.count * sizeof *rank->pool_ranges) == 0;
          CU_ASSERT_EQUAL(equal, first.begin == second.begin);
          if (!equal) continue;
          CU_ASSERT_EQUAL(plan->collectives[rank->jobs[a].collective - 1].sizes.begin,
                          plan->collectives[rank->jobs[b].collective - 1].sizes.begin);
        }
    }
    zb_plan_destroy(plan);
  }
}

/* ---- Planted faults ---- */

static zb_plan_range *places(const zb_plan *plan, zb_plan_rank *rank, int begin, int number) {
  const int gather = gather_at(plan, rank, begin, number);
  return gather < 0 ? NULL : rank->pool_ranges + rank->jobs[gather].parts.begin;
}

/* The first subprogram of that kind. */
static zb_plan_subprogram *subprogram_of(zb_plan_rank *rank, zb_job_kind kind) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (rank->subprograms[s].kind == kind) return &rank->subprograms[s];
  return NULL;
}

/* An operand of the subprogram in one of its bases; NULL: it has none. */
static zb_plan_operand *operand_in(zb_plan_subprogram *subprogram, const char *base) {
  for (int i = 0; i < subprogram->instruction_count; ++i)
    for (int k = 0; k < subprogram->instructions[i].input_count; ++k) {
      zb_plan_operand *x = &subprogram->instructions[i].inputs[k];
      if (x->rank >= 0 && x->base > 0 && strcmp(subprogram->bases[x->base - 1], base) == 0) return x;
    }
  return NULL;
}

static void parameters_are_whole(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_GRADIENTS_STEP;
}
static void summed_each(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_PARAMETERS_MICRO_BATCH;
}
static void more_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  ++plan->replicas;
}
static void fewer_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  --plan->replicas;
}
static void whole_parameter(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->parameters[0].tensor.flat = false;
  rank->parameters[0].tensor.dim_count = 0;
}
static void gathered_in_place(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[gather_at(plan, rank, 0, 0)].collective - 1].apart = 0;
}
static void gathered_as_gradients(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[rank->jobs[gather_at(plan, rank, 0, 0)].collective - 1].payload = ZB_PAYLOAD_GRADIENTS;
}
static void brought_elsewhere(zb_plan *plan, zb_plan_rank *rank) { places(plan, rank, 0, 0)[0].offset += 64; }
static void brought_elsewhere_in_an_evaluation(zb_plan *plan, zb_plan_rank *rank) {
  places(plan, rank, zb_plan_step_end(rank), 0)[0].offset += 64;
}
static void brought_to_one_place(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_range *parts = places(plan, rank, 0, 0);
  parts[1].offset = parts[0].offset;
}
static void brought_out_of_the_slots(zb_plan *plan, zb_plan_rank *rank) {
  places(plan, rank, 0, 0)[0].offset = rank->regions[ZB_REGION_PARAMETERS].offset;
}
/* Gives a gather a list of its own, with the same parts. */
static void separate(zb_plan *plan, zb_plan_rank *rank, int gather) {
  zb_plan_slice *parts = &rank->jobs[gather].parts;
  zb_plan_range *pool = zb_plan_alloc(plan, ((size_t)rank->pool_range_count + parts->count) * sizeof *pool);
  CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
  memcpy(pool, rank->pool_ranges, rank->pool_range_count * sizeof *pool);
  memcpy(pool + rank->pool_range_count, pool + parts->begin, parts->count * sizeof *pool);
  rank->pool_ranges = pool;
  parts->begin = rank->pool_range_count;
  rank->pool_range_count += parts->count;
}

/* It lies in the slots of a step, and is known to be right there. */
static void evaluation_has_a_list_of_the_step(zb_plan *plan, zb_plan_rank *rank) {
  const int of_step = gather_at(plan, rank, 0, 0), gather = gather_at(plan, rank, zb_plan_step_end(rank), 0);
  separate(plan, rank, of_step);
  zb_plan_range *parts = places(plan, rank, 0, 0);
  for (uint32_t p = 0; p < parameters_of(plan, &rank->jobs[of_step]); ++p)
    parts[p].offset += 64;
  rank->jobs[gather].parts = rank->jobs[of_step].parts;
}
/* Two own parts of one size, in the first gather alone: jobs of that micro-batch read one for the other. Rank 0 has
 * such. */
static void swapped_once(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank, 0, 0);
  const uint32_t count = parameters_of(plan, &rank->jobs[gather]);
  separate(plan, rank, gather);
  zb_plan_range *own = places(plan, rank, 0, 0) + count;
  for (uint32_t a = 0; a < count; ++a)
    for (uint32_t b = a + 1; b < count; ++b)
      if (own[a].bytes == own[b].bytes) {
        const zb_plan_range kept = own[a];
        own[a] = own[b];
        own[b] = kept;
        return;
      }
}
static void own_part_of_nothing(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank, 0, 0);
  places(plan, rank, 0, 0)[parameters_of(plan, &rank->jobs[gather])].offset += 64;
}
static void own_part_of_a_state(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank, 0, 0);
  places(plan, rank, 0, 0)[parameters_of(plan, &rank->jobs[gather])].offset = rank->states[0].offset;
}
static void never_waited_for(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank, 0, 0);
  for (int i = 0; i < rank->job_count; ++i)
    if (zb_job_waits_for(rank, &rank->jobs[i], gather)) rank->jobs[i].waits.count = 0;
}
static void never_waited_for_in_an_evaluation(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank, zb_plan_step_end(rank), 0);
  for (int i = 0; i < rank->job_count; ++i)
    if (zb_job_waits_for(rank, &rank->jobs[i], gather)) rank->jobs[i].waits.count = 0;
}
static void gathered_behind_the_update(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  const int gather = gather_at(plan, rank, 0, 0), update = zb_plan_find_job(rank, ZB_JOB_UPDATE);
  const zb_plan_job kept = rank->jobs[gather];
  rank->jobs[gather] = rank->jobs[update];
  rank->jobs[update] = kept;
}
static void f_reads_where_parts_lie(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_operand *x = operand_in(subprogram_of(rank, ZB_JOB_F), "gathered");
  x->base = 0;
  x->offset = rank->parameters[0].tensor.offset;
  x->rank = 0;
}
static void w_reads_where_parts_lie(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_operand *x = &subprogram_of(rank, ZB_JOB_W)->instructions[0].inputs[0];
  (void)plan;
  x->base = 0;
  x->offset = rank->parameters[0].tensor.offset;
  x->rank = 0;
}
static void e_reads_where_parts_lie(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  zb_plan_operand *x = operand_in(subprogram_of(rank, ZB_JOB_EVALUATE), "gathered");
  x->base = 0;
  x->offset = rank->parameters[0].tensor.offset;
  x->rank = 0;
}
/* W has the frame of its B, which is dead by then or not, in the place of one of its own. */
static void w_reads_what_was_gathered(zb_plan *plan, zb_plan_rank *rank) {
  uint64_t frame = 0;
  (void)plan;
  for (int i = 0; i < rank->job_count; ++i) {
    zb_plan_job *job = &rank->jobs[i];
    const zb_plan_subprogram *subprogram = job->subprogram < 0 ? NULL : &rank->subprograms[job->subprogram];
    for (uint32_t b = 0; subprogram && b < job->bases.count; ++b)
      if (strcmp(subprogram->bases[b], "gathered") == 0) frame = rank->pool_u64[job->bases.begin + b];
    if (job->kind != ZB_JOB_W) continue;
    rank->pool_u64[job->bases.begin] = frame;
    return;
  }
}
static void evaluation_has_one_less(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  --plan->evaluation_collectives;
}
static void evaluation_has_one_more(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  ++plan->evaluation_collectives;
}

#define FAULT(name) {#name, name}
static const struct {
  const char *name;
  void (*plant)(zb_plan *plan, zb_plan_rank *rank);
} faults[] = {FAULT(parameters_are_whole),
              FAULT(summed_each),
              FAULT(more_replicas),
              FAULT(fewer_replicas),
              FAULT(whole_parameter),
              FAULT(gathered_in_place),
              FAULT(gathered_as_gradients),
              FAULT(brought_elsewhere),
              FAULT(brought_elsewhere_in_an_evaluation),
              FAULT(evaluation_has_a_list_of_the_step),
              FAULT(brought_to_one_place),
              FAULT(brought_out_of_the_slots),
              FAULT(own_part_of_nothing),
              FAULT(own_part_of_a_state),
              FAULT(never_waited_for),
              FAULT(never_waited_for_in_an_evaluation),
              FAULT(gathered_behind_the_update),
              FAULT(f_reads_where_parts_lie),
              FAULT(w_reads_where_parts_lie),
              FAULT(e_reads_where_parts_lie),
              FAULT(w_reads_what_was_gathered),
              FAULT(evaluation_has_one_less),
              FAULT(evaluation_has_one_more)};

static void check_fault(const char *name, void (*plant)(zb_plan *plan, zb_plan_rank *rank), int g, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    zb_plan *plan = read_plan(g);
    plant(plan, &plan->ranks[rank]);
    const bool refused = is_refused(plan);
    if (!refused) fprintf(stderr, "\n  %s on rank %d (%s) is not noticed\n", name, rank, gathers[g]);
    CU_ASSERT(refused);
    zb_plan_destroy(plan);
  }
}

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f)
    for (int g = 0; g < GATHERS; ++g)
      check_fault(faults[f].name, faults[f].plant, g, RANKS);
  for (int g = 0; g < 2; ++g) /* with one gather a step there is no other to compare it with */
    check_fault("swapped_once", swapped_once, g, 1);
}

/* Whether a gather before brought the same parameter to the same place: who reads there reads what is right. */
static bool was_there(const zb_plan *plan, const zb_plan_rank *rank, int gather, uint32_t part) {
  const zb_plan_job *job = &rank->jobs[gather];
  const uint32_t count = parameters_of(plan, job);
  const zb_plan_range *parts = rank->pool_ranges + job->parts.begin;
  for (int i = gather_at(plan, rank, 0, 0); i < gather && part < count; i = gather_at(plan, rank, i + 1, 0)) {
    const zb_plan_range *others = rank->pool_ranges + rank->jobs[i].parts.begin;
    const uint32_t other_count = parameters_of(plan, &rank->jobs[i]);
    for (uint32_t p = 0; p < other_count; ++p)
      if (others[p].offset == parts[part].offset && others[other_count + p].offset == parts[count + part].offset)
        return true;
  }
  return false;
}

/* Each place of every gather changed alone; a list that several name is not changed for others. */
static void test_each_place(void) {
  for (int g = 0; g < GATHERS; ++g) {
    zb_plan *plan = read_plan(g);
    for (int r = 0; r < RANKS; ++r) {
      zb_plan_rank *rank = &plan->ranks[r];
      for (int i = gather_at(plan, rank, 0, 0); i >= 0; i = gather_at(plan, rank, i + 1, 0))
        separate(plan, rank, i);
      for (int i = gather_at(plan, rank, 0, 0); i >= 0; i = gather_at(plan, rank, i + 1, 0))
        for (uint32_t p = 0; p < rank->jobs[i].parts.count; ++p) {
          zb_plan_range *part = &rank->pool_ranges[rank->jobs[i].parts.begin + p];
          const bool serves = was_there(plan, rank, i, p);
          part->offset += 64;
          if (!is_refused(plan) && !serves)
            fprintf(stderr, "\n  %s, rank %d, job %d, part %u: not noticed\n", gathers[g], r, i, p);
          CU_ASSERT(is_refused(plan) || serves);
          part->offset -= 64;
          part->bytes -= 4;
          CU_ASSERT(is_refused(plan));
          part->bytes += 4;
        }
    }
    CU_ASSERT(!is_refused(plan));
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN_WITH("parameter sharding", open_suite, close_suite, {"right plans", test_right_plans},
                {"one list for equal ones", test_one_list}, {"planted faults", test_planted_faults},
                {"each place alone", test_each_place})
