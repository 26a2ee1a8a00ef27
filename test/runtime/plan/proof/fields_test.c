/* Every number of a plan, changed alone: the proof refuses it, or a row below says why it need not. A field that nobody
 * thought of fails here.
 *
 * Free is what the proof cannot know: costs and times, names for people, and what only the model knows (which parameter
 * is which). */
#include <stdio.h>

#include "test/runtime/plan/collective_plan.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/evaluation_plan.h"
#include "test/suite.h"

typedef enum expectation {
  CAUGHT, /* every change is refused */
  SOME,   /* some changes do no harm, because */
  FREE    /* no change does harm, because */
} expectation;

/* ROW(structure, field, type, expectation, why). */
#define FIELDS(ROW)                                                                                                    \
  ROW(subprogram, stage, int, CAUGHT, "")                                                                              \
  ROW(subprogram, kind, int, CAUGHT, "")                                                                               \
  ROW(subprogram, workspace_bytes, uint64_t, SOME, "it may declare more than it uses")                                 \
  ROW(subprogram, time_ps, int64_t, SOME, "a cost, not below 0")                                                       \
  ROW(subprogram, first_ps, int64_t, SOME, "a cost, not below 0")                                                      \
  ROW(subprogram, key, uint64_t, FREE, "what it is in a file of costs")                                                \
  ROW(subprogram, loss_base, uint32_t, CAUGHT, "")                                                                     \
  ROW(subprogram, loss_offset, uint64_t, SOME, "without a base it is nothing")                                         \
  ROW(job, kind, int, CAUGHT, "")                                                                                      \
  ROW(job, subprogram, int32_t, CAUGHT, "")                                                                            \
  ROW(job, segments.begin, uint32_t, CAUGHT, "")                                                                       \
  ROW(job, segments.count, uint32_t, CAUGHT, "")                                                                       \
  ROW(job, stage, int32_t, SOME, "of jobs that do not compute it is for people")                                       \
  ROW(job, micro_batch, int32_t, CAUGHT, "")                                                                           \
  ROW(job, message, int32_t, CAUGHT, "")                                                                               \
  ROW(job, input, int32_t, CAUGHT, "")                                                                                 \
  ROW(job, output, int32_t, CAUGHT, "")                                                                                \
  ROW(output_home, output, int32_t, CAUGHT, "")                                                                        \
  ROW(output_home, base, uint32_t, CAUGHT, "")                                                                         \
  ROW(output_home, offset, uint64_t, CAUGHT, "")                                                                       \
  ROW(parameter, trained, bool, CAUGHT, "")                                                                            \
  ROW(parameter, owner, bool, CAUGHT, "")                                                                              \
  ROW(parameter, state_begin, int, SOME, "without states it is nothing")                                               \
  ROW(parameter, state_count, int, CAUGHT, "")                                                                         \
  ROW(parameter, gradient_offset, int64_t, SOME, "an optimizer that sums uses in its workspace does not name it")      \
  ROW(parameter, tensor.offset, uint64_t, CAUGHT, "")                                                                  \
  ROW(parameter, tensor.digest, uint64_t, SOME, "of a value that one rank holds the file alone can tell")              \
  ROW(state, digest, uint64_t, CAUGHT, "")                                                                             \
  ROW(constant, tensor.digest, uint64_t, CAUGHT, "")                                                                   \
  ROW(state, offset, uint64_t, CAUGHT, "")                                                                             \
  ROW(constant, tensor.offset, uint64_t, SOME, "nobody reads one of the two")                                          \
  ROW(constant, computed, bool, CAUGHT, "")                                                                            \
  ROW(setting, kind, int, CAUGHT, "")                                                                                  \
  ROW(setting, offset, uint64_t, CAUGHT, "")                                                                           \
  ROW(setting, own, uint32_t, SOME, "of one rank it is what the program says")                                         \
  ROW(setting, default_count, int, CAUGHT, "")                                                                         \
  ROW(message, source, int32_t, CAUGHT, "")                                                                            \
  ROW(message, destination, int32_t, CAUGHT, "")                                                                       \
  ROW(message, source_stage, int32_t, SOME, "of sums of gradients it is for people")                                   \
  ROW(message, destination_stage, int32_t, SOME, "of sums of gradients it is for people")                              \
  ROW(message, micro_batch, int32_t, CAUGHT, "")                                                                       \
  ROW(message, bytes, uint64_t, CAUGHT, "")                                                                            \
  ROW(message, part_count, int, CAUGHT, "")                                                                            \
  ROW(message, step, int32_t, CAUGHT, "")                                                                              \
  ROW(collective, coordinate, int32_t, CAUGHT, "")                                                                     \
  ROW(collective, step, int32_t, CAUGHT, "")                                                                           \
  ROW(collective, kind, int, SOME, "where shards are wanted, the whole sum does no harm")                              \
  ROW(collective, payload, int, CAUGHT, "")                                                                            \
  ROW(collective, dtype, int, SOME, "what only moves has bytes")                                                       \
  ROW(collective, before, int32_t, SOME, "its messages go by other channels than some that are before it")             \
  ROW(collective, members.begin, uint32_t, CAUGHT, "")                                                                 \
  ROW(collective, members.count, uint32_t, CAUGHT, "")                                                                 \
  ROW(collective, counts.begin, uint32_t, SOME, "what adds has no counts")                                             \
  ROW(collective, counts.count, uint32_t, CAUGHT, "")                                                                  \
  ROW(collective, sizes.begin, uint32_t, CAUGHT, "")                                                                   \
  ROW(collective, sizes.count, uint32_t, CAUGHT, "")                                                                   \
  ROW(collective_pool, value, uint64_t, CAUGHT, "")                                                                    \
  ROW(job, collective, int32_t, CAUGHT, "")                                                                            \
  ROW(base, value, uint64_t, CAUGHT, "")                                                                               \
  ROW(wait, value, uint32_t, SOME, "a later transfer may be waited for, if the first is by then complete")             \
  ROW(part, offset, uint64_t, CAUGHT, "")                                                                              \
  ROW(part, bytes, uint64_t, SOME, "a READ and a REPORT have room to spare")                                           \
  ROW(region, offset, uint64_t, CAUGHT, "")                                                                            \
  ROW(region, bytes, uint64_t, SOME, "the end of a region may be used by nobody")                                      \
  ROW(rank, evaluation_count, int, CAUGHT, "")                                                                         \
  ROW(rank, evaluation_slots.offset, uint64_t, CAUGHT, "")                                                             \
  ROW(rank, evaluation_slots.bytes, uint64_t, CAUGHT, "")                                                              \
  ROW(rank, evaluation_workspace.offset, uint64_t, CAUGHT, "")                                                         \
  ROW(rank, evaluation_workspace.bytes, uint64_t, SOME, "the end of a region may be used by nobody")                   \
  ROW(plan, evaluates, bool, CAUGHT, "")                                                                               \
  ROW(plan, weighted, bool, CAUGHT, "")                                                                                \
  ROW(plan, evaluation_messages, int, CAUGHT, "")

typedef zb_plan_subprogram structure_subprogram;
typedef zb_plan_job structure_job;
typedef zb_plan_parameter structure_parameter;
typedef zb_plan_tensor structure_state;
typedef zb_plan_constant structure_constant;
typedef zb_plan_setting structure_setting;
typedef zb_plan_message structure_message;
typedef zb_plan_range structure_part, structure_region;
typedef zb_plan_collective structure_collective;
typedef zb_plan_output_home structure_output_home;
typedef zb_plan_rank structure_rank;
typedef zb_plan structure_plan;
typedef struct structure_base {
  uint64_t value;
} structure_base, structure_collective_pool;
typedef struct structure_wait {
  uint32_t value;
} structure_wait;

/* The first of the structures of a rank, and how many there are. */
#define ARRAY(structure, items, count)                                                                                 \
  static int array_##structure(zb_plan *plan, int r, void **out) {                                                     \
    zb_plan_rank *rank = &plan->ranks[r];                                                                              \
    *out = items;                                                                                                      \
    return (int)rank->count;                                                                                           \
  }
ARRAY(subprogram, rank->subprograms, subprogram_count)
ARRAY(job, rank->jobs, job_count)
ARRAY(parameter, rank->parameters, parameter_count)
ARRAY(state, rank->states, state_count)
ARRAY(constant, rank->constants, constant_count)
ARRAY(setting, rank->settings, setting_count)
ARRAY(base, rank->pool_u64, pool_u64_count)
ARRAY(wait, rank->pool_u32, pool_u32_count)
ARRAY(part, rank->pool_ranges, pool_range_count)

static int array_region(zb_plan *plan, int r, void **out) {
  *out = plan->ranks[r].regions;
  return ZB_REGION_COUNT;
}

static int array_output_home(zb_plan *plan, int r, void **out) {
  zb_plan_rank *rank = &plan->ranks[r];
  zb_plan_subprogram *last = rank->subprogram_count ? &rank->subprograms[rank->subprogram_count - 1] : NULL;
  *out = last ? last->outputs : NULL;
  return last ? last->output_count : 0;
}

static int array_rank(zb_plan *plan, int r, void **out) {
  *out = &plan->ranks[r];
  return 1;
}

static int array_plan(zb_plan *plan, int r, void **out) {
  *out = plan;
  return r == 0;
}

/* Messages are those of the plan: with the first rank. */
static int array_message(zb_plan *plan, int r, void **out) {
  *out = plan->messages;
  return r == 0 ? plan->message_count : 0;
}

static int array_collective(zb_plan *plan, int r, void **out) {
  *out = plan->collectives;
  return r == 0 ? plan->collective_count : 0;
}

static int array_collective_pool(zb_plan *plan, int r, void **out) {
  *out = plan->pool_u64;
  return r == 0 ? (int)plan->pool_u64_count : 0;
}

typedef struct field {
  const char *name;
  int (*array)(zb_plan *plan, int rank, void **out);
  size_t item_bytes, offset, bytes;
  bool is_flag;
  expectation expected;
  const char *why;
} field;

static const field fields[] = {
#define ROW(structure, member, type, expected, why)                                                                    \
  {#structure " " #member,                                                                                             \
   array_##structure,                                                                                                  \
   sizeof(structure_##structure),                                                                                      \
   offsetof(structure_##structure, member),                                                                            \
   sizeof(type),                                                                                                       \
   sizeof(type) == sizeof(bool),                                                                                       \
   expected,                                                                                                           \
   why},
    FIELDS(ROW)
#undef ROW
};

static const int64_t changes[] = {1, -1, 2, 4, 8, -8, 32, 64, -64, 128, 192, 256, 512};

/* Changes one number, asks the proof, and changes it back. Little-endian: the low bytes are the number. */
static bool survives(zb_plan *plan, const field *it, unsigned char *at, int64_t change) {
  int64_t kept = 0, now = 0;
  memcpy(&kept, at, it->bytes);
  now = it->is_flag ? !kept : kept + change;
  memcpy(at, &now, it->bytes);
  zb_status status = zb_plan_verify(plan);
  memcpy(at, &kept, it->bytes);
  bool right = !status;
  zb_status_free(status);
  return right;
}

static void change_all(zb_plan *plan, const field *it, int *tried, int *survived) {
  for (int r = 0; r < plan->rank_count; ++r) {
    void *items = NULL;
    int count = it->array(plan, r, &items);
    for (int i = 0; i < count; ++i)
      for (size_t c = 0; c < sizeof changes / sizeof changes[0]; ++c) {
        bool good = survives(plan, it, (unsigned char *)items + (size_t)i * it->item_bytes + it->offset, changes[c]);
        ++*tried;
        *survived += good;
        if (good && it->expected == CAUGHT)
          printf("\n  rank %d, %s of number %d: %+d is not noticed", r, it->name, i, (int)changes[c]);
      }
  }
  zb_plan_destroy(plan);
}

/* Fields of collectives in a plan of each kind, others in the sample and its evaluation. */
static void test_field(const field *it) {
  int tried = 0, survived = 0;
  if (strstr(it->name, "collective")) {
    for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
      change_all(collective_plan(&(collective_case){(zb_collective_kind)kind, 4, 0xb, 10, 2}), it, &tried, &survived);
  } else {
    change_all(evaluation_plan(3, 4, 2), it, &tried, &survived);
  }
  expectation found = survived == 0 ? CAUGHT : survived < tried ? SOME : FREE;
  if (found != it->expected) printf("\n  %s: %d of %d changes are not noticed\n", it->name, survived, tried);
  CU_ASSERT(tried > 0 && found == it->expected && (it->expected == CAUGHT) == (it->why[0] == '\0'));
}

static void test_fields(void) {
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
    test_field(&fields[i]);
}

SUITE_MAIN("fields of plans", {"each number alone", test_fields})
