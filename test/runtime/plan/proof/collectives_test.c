/* Plans with a collective: right ones of all kinds, sizes and members are proven; planted faults that would change what
 * is trained are all refused. Drawn by a fixed seed, so a fault that the proof lets through is the same in every run.
 */
#include "test/runtime/plan/collective_plan.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/proof/proof.h"

#include "test/suite.h"

enum { FAULTS_OF_A_CLASS = 200 };

static uint64_t chance;

/* 0 .. below - 1 */
static int draw(int below) {
  chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((chance >> 33) % (uint64_t)below);
}

static void test_right_plans(void) {
  static const int sizes[] = {1, 2, 7, 64, 1000};
  int proven = 0;
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
    for (int ranks = 2; ranks <= 6; ++ranks)
      for (int members = 1; members < 1 << ranks; ++members)
        for (int micro_batches = 1; micro_batches <= 4 && collective_bits(members) >= 2; ++micro_batches) {
          const collective_case about = {(zb_collective_kind)kind, ranks, members, sizes[(members + micro_batches) % 5],
                                         micro_batches};
          zb_plan *plan = collective_plan(&about);
          zb_plan_simulation simulation;
          zb_status status = zb_plan_verify(plan);
          if (!status) status = zb_plan_simulate(plan, &simulation);
          if (status) {
            printf("\n  %s of %d ranks, members %x, %d elements, %d micro-batches: %s", zb_collective_name(about.kind),
                   ranks, (unsigned)members, about.elements, micro_batches, zb_status_text(status));
          } else {
            zb_plan_simulation_free(&simulation);
            ++proven;
          }
          CU_ASSERT_PTR_NULL(status);
          zb_status_free(status);
          zb_plan_destroy(plan);
        }
  CU_ASSERT_EQUAL(proven, ZB_COLLECTIVE_COUNT * 4 * (1 + 4 + 11 + 26 + 57));
}

/* ---- Places of a plan ---- */

/* A plan that a fault is planted in, and one of its members. */
typedef struct victim {
  zb_plan *plan;
  zb_plan_collective *row;
  int member, members;
  zb_plan_rank *rank;
  zb_plan_job *exchange;
  int exchange_at;
} victim;

static bool gathers_only(const victim *it) { return it->row->kind == ZB_COLLECTIVE_ALL_GATHER; }
static uint64_t *pooled(const victim *it, zb_plan_slice slice, int index) {
  return &it->plan->pool_u64[slice.begin + (uint32_t)index];
}
static zb_plan_range *part(const victim *it, int index) {
  return &it->rank->pool_ranges[it->exchange->parts.begin + (uint32_t)index];
}
static uint64_t sum_bytes(const victim *it) { return *pooled(it, it->row->sizes, 0); }

static void choose_member(victim *it, int member) {
  it->member = member;
  it->rank = &it->plan->ranks[*pooled(it, it->row->members, member)];
  it->exchange_at = it->rank->job_count - 2;
  it->exchange = &it->rank->jobs[it->exchange_at];
}

/* Swaps two jobs of a rank; what waits follows them. */
static void swap_jobs(zb_plan_rank *rank, int a, int b) {
  zb_plan_job kept = rank->jobs[a];
  rank->jobs[a] = rank->jobs[b];
  rank->jobs[b] = kept;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    if (rank->pool_u32[i] == (uint32_t)a)
      rank->pool_u32[i] = (uint32_t)b;
    else if (rank->pool_u32[i] == (uint32_t)b)
      rank->pool_u32[i] = (uint32_t)a;
}

/* ---- Classes of faults: false where this plan cannot have it ---- */

/* Member: one less, one too many, another rank, one twice. A member that is replaced by a rank that is none has a job
 * without being a member. */
static bool wrong_member(victim *it) {
  switch (draw(4)) {
  case 0:
    --it->row->members.count;
    if (gathers_only(it)) --it->row->counts.count;
    return true;
  case 1:
    *pooled(it, it->row->members, it->member) += 1;
    return true;
  case 2:
    if (it->members == it->plan->rank_count) return false;
    *pooled(it, it->row->members, it->member) = *pooled(it, it->row->members, (it->member + 1) % it->members);
    return true;
  default:
    it->exchange->collective = 0; /* a member that is there and takes part in nothing */
    return true;
  }
}

/* Size: of the row or of one part on one rank. */
static bool wrong_size(victim *it) {
  const uint64_t change = 4 * (uint64_t)(1 + draw(3));
  const int index = draw(gathers_only(it) ? it->members : 1);
  switch (draw(4)) {
  case 0:
    *pooled(it, it->row->sizes, index) += change;
    return true;
  case 1:
    if (sum_bytes(it) <= change) return false;
    *pooled(it, it->row->sizes, index) -= change;
    return true;
  case 2:
    if (sum_bytes(it) <= change) return false;
    part(it, index)->bytes -= change;
    return true;
  default: /* every member agrees on a smaller part */
    if (sum_bytes(it) <= change) return false;
    *pooled(it, it->row->sizes, index) -= change;
    for (int m = 0; m < it->members; ++m) {
      choose_member(it, m);
      part(it, index)->bytes -= change;
    }
    return true;
  }
}

/* Order: of members (a fold in another order has other bits), of terms of an update, of parts on one rank. */
static bool wrong_order(victim *it) {
  const int other = (it->member + 1) % it->members;
  if (!gathers_only(it) || draw(3) == 0) {
    const uint64_t kept = *pooled(it, it->row->members, it->member);
    *pooled(it, it->row->members, it->member) = *pooled(it, it->row->members, other);
    *pooled(it, it->row->members, other) = kept;
    return true;
  }
  if (draw(2)) { /* the homes of two members on one rank; on all ranks alike it would be another name for the same */
    const zb_plan_range kept = *part(it, it->member);
    *part(it, it->member) = *part(it, other);
    *part(it, other) = kept;
    return true;
  }
  /* The update of one rank adds in another order. Of the first two terms it does not matter: a + b is b + a. */
  zb_plan_subprogram *update = &it->rank->subprograms[2];
  if (it->members < 3) return false;
  zb_plan_operand *second = &update->instructions[1 + draw(it->members - 2)].inputs[1],
                  *first = &update->instructions[0].inputs[draw(2)], kept = *first;
  *first = *second;
  *second = kept;
  return true;
}

/* Home: the part, the landing or an address of another job lies elsewhere. */
static bool wrong_place(victim *it) {
  const uint64_t distance = 64 * (uint64_t)(1 + draw(2));
  const int own = gathers_only(it) ? it->member : 0;
  switch (draw(7)) {
  case 0: /* of what is sent */
    part(it, own)->offset += draw(2) ? distance : 4;
    return true;
  case 1:
    part(it, own)->offset -= distance;
    return true;
  case 2: /* of what comes; or the landing, into memory that is no slot */
    if (gathers_only(it))
      part(it, (it->member + 1) % it->members)->offset = part(it, it->member)->offset;
    else
      part(it, 1)->offset = it->rank->regions[draw(2) ? ZB_REGION_PARAMETERS : ZB_REGION_WORKSPACE].offset;
    return true;
  case 3: /* too little room to land in: what follows the slots is overwritten */
    if (gathers_only(it)) return false;
    part(it, 1)->bytes -= 64;
    return true;
  case 4: /* the landing over the end of the slots */
    if (gathers_only(it)) return false;
    part(it, 1)->offset += 64;
    return true;
  case 5: /* The landing over what is being sent. The last rank sends nothing, the room for what a member would send to
           * itself (of the first member, the first) is not used, nor any where its shard is empty. */
    if (gathers_only(it) || it->rank->rank == it->plan->rank_count - 1 || it->member == 0 ||
        zb_collective_shard(it->plan, it->row, 0, it->member).bytes == 0)
      return false;
    part(it, 1)->offset = it->rank->regions[ZB_REGION_SLOTS].offset + COLLECTIVE_VALUE * sizeof(float);
    return true;
  default: { /* UPDATE reads another place */
    zb_plan_operand *read = &it->rank->subprograms[2].instructions[0].inputs[gathers_only(it) ? draw(2) : 1];
    read->offset += gathers_only(it) && draw(2) ? zb_align(sum_bytes(it)) : 4;
    return read->shape[0] > 0;
  }
  }
}

/* Posts and waits: none, twice, too early, not waited for; a sum that is changed after its post. */
static bool wrong_post(victim *it) {
  zb_plan_job *jobs = it->rank->jobs;
  const int at = it->exchange_at;
  switch (draw(6)) {
  case 0: /* missing: UPDATE takes its place, and waits for nothing */
    jobs[at] = jobs[at + 1];
    jobs[at].waits.count = 0;
    --it->rank->job_count;
    return true;
  case 1: /* twice */
    jobs[at + 2] = jobs[at + 1];
    jobs[at + 1] = jobs[at];
    ++it->rank->job_count;
    return true;
  case 2: /* not waited for */
    jobs[at + 1].waits.count = 0;
    return true;
  case 3: /* before the last W, which changes the sum while it is in flight */
    swap_jobs(it->rank, at, at - 1);
    return true;
  case 4: { /* the same, waited for: the sum is changed after it was sent */
    swap_jobs(it->rank, at, at - 1);
    zb_plan_job *weights = &jobs[at];
    weights->waits = (zb_plan_slice){it->rank->pool_u32_count, 1};
    it->rank->pool_u32[it->rank->pool_u32_count++] = (uint32_t)at - 1;
    return true;
  }
  default: /* after the update */
    jobs[at + 1].waits.count = 0;
    swap_jobs(it->rank, at, at + 1);
    return true;
  }
}

/* What the row says: kind, dtype, payload, count of parts, place among the messages. */
static bool wrong_row(victim *it) {
  switch (draw(4)) {
  case 0: /* an all-reduce that stops at its shards, or goes on where each has a parameter of its own */
    if (gathers_only(it)) return false;
    it->row->kind = it->row->kind == ZB_COLLECTIVE_ALL_REDUCE ? ZB_COLLECTIVE_REDUCE_SCATTER : ZB_COLLECTIVE_ALL_GATHER;
    return true;
  case 1:                               /* shards of other elements, another rounding */
    if (gathers_only(it)) return false; /* what only moves has bytes */
    it->row->dtype = draw(2) ? ZB_BF16 : ZB_I32;
    return true;
  case 2:
    it->row->payload = draw(2) ? ZB_PAYLOAD_FORWARD : ZB_PAYLOAD_BACKWARD;
    return true;
  default: /* one member gives the part of another */
    if (!gathers_only(it)) return false;
    *pooled(it, it->row->counts, it->member) += 1;
    *pooled(it, it->row->counts, (it->member + 1) % it->members) -= 1;
    return true;
  }
}

/* The sum of every member is added up twice: all that a member needs for two buffers is there. */
static bool wrong_count(victim *it) {
  if (gathers_only(it)) return false;
  *pooled(it, it->row->sizes, (int)it->row->sizes.count++) = sum_bytes(it);
  ++it->plan->pool_u64_count;
  for (int m = 0; m < it->members; ++m) {
    choose_member(it, m);
    zb_plan_range *landing = part(it, 1), buffer = *part(it, 0);
    const uint64_t more = landing->bytes;
    landing[1] = (zb_plan_range){landing->offset, 2 * more};
    *landing = buffer;
    ++it->exchange->parts.count;
    ++it->rank->pool_range_count;
    it->rank->regions[ZB_REGION_SLOTS].bytes += more; /* of which the landing is the end, and no W uses the workspace */
    it->rank->regions[ZB_REGION_WORKSPACE].offset += more;
    it->rank->arena_bytes += more;
  }
  return true;
}

static const struct fault_class {
  const char *name;
  bool (*plant)(victim *it);
} classes[] = {
    {"wrong member", wrong_member}, {"wrong size", wrong_size}, {"wrong order", wrong_order},
    {"wrong place", wrong_place},   {"wrong post", wrong_post}, {"wrong row", wrong_row},
    {"wrong count", wrong_count},
};

/* Whether the fault is refused by a rule; a plan that cannot have the fault is drawn again. */
static bool is_refused(const struct fault_class *kind, int number) {
  for (;;) {
    collective_case about = {.kind = (zb_collective_kind)draw(ZB_COLLECTIVE_COUNT), .ranks = 2 + draw(5)};
    do
      about.members = 1 + draw((1 << about.ranks) - 1);
    while (collective_bits(about.members) < 2);
    about.elements = 1 + draw(100);
    about.micro_batches = 1 + draw(4);
    zb_plan *plan = collective_plan(&about);
    victim it = {.plan = plan, .row = plan->collectives, .members = collective_bits(about.members)};
    choose_member(&it, draw(it.members));
    const uint64_t before = chance;
    if (!kind->plant(&it)) {
      zb_plan_destroy(plan);
      continue;
    }
    zb_status status = zb_plan_verify(plan);
    const bool refused = zb_status_code(status) == ZB_INVALID;
    if (!refused)
      printf("\n  %s, number %d (%llx), %s of %d ranks, members %x, member %d, %d elements, %d micro-batches: %s",
             kind->name, number, (unsigned long long)before, zb_collective_name(about.kind), about.ranks,
             (unsigned)about.members, it.member, about.elements, about.micro_batches,
             status ? zb_status_text(status) : "accepted");
    zb_status_free(status);
    zb_plan_destroy(plan);
    return refused;
  }
}

static void test_faults(void) {
  for (size_t c = 0; c < sizeof classes / sizeof *classes; ++c) {
    int refused = 0;
    chance = 5 + c;
    for (int i = 0; i < FAULTS_OF_A_CLASS; ++i)
      refused += is_refused(&classes[c], i);
    CU_ASSERT_EQUAL(refused, FAULTS_OF_A_CLASS);
  }
}

SUITE_MAIN("collectives", {"right plans", test_right_plans}, {"planted faults", test_faults})
