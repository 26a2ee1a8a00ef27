/* Of the rule "sharding" what concerns parameters of which every replica has a part alone (zb_plan.sharding): who reads
 * them, and what is gathered for that.
 *
 * No job of a step or an evaluation reads a parameter where it lies, since there is no more than a part of it: F, B and
 * E read what was gathered, from the slots, and W reads none. A gather brings whole parts of parameters, or of copies
 * that LOAD and UPDATE make of them, before UPDATE changes them. That a job reads at each place the parameter that it
 * read there for every other micro-batch, of all replicas, and after it has come, is the rule "dataflow", by which W
 * reads nothing that was gathered, either.
 *
 * Tests: test/runtime/plan/compiled/parameter_sharding_test.c */
#include <inttypes.h>

#include "runtime/plan/proof/rules.h"

/* Whether the range is what the rank has of a parameter, all of it. */
static bool is_parameter(const zb_plan_rank *rank, zb_plan_range range) {
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_tensor *tensor = &rank->parameters[i].tensor;
    const bool is_it = tensor->offset == range.offset && (uint64_t)zb_shape_bytes(&tensor->shape) == range.bytes;
    if (is_it && !rank->parameters[i].buffer) return true; /* one without elements may lie in front of it */
  }
  return false;
}

/* Whether the range is a constant that LOAD computes, all of it. */
static bool is_copy(const zb_plan_rank *rank, zb_plan_range range) {
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_tensor *tensor = &rank->constants[i].tensor;
    const bool is_it = tensor->offset == range.offset && (uint64_t)zb_shape_bytes(&tensor->shape) == range.bytes;
    if (is_it && rank->constants[i].computed) return true;
  }
  return false;
}

static bool overlap(zb_plan_range a, zb_plan_range b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/* All parts of what is gathered lie in the slots of the list, and no two share a byte. */
static zb_status verify_places(const zb_plan *plan, const zb_plan_rank *rank, int index, uint32_t count) {
  const bool evaluates = index >= zb_plan_step_end(rank);
  const zb_plan_range slots = evaluates ? rank->evaluation_slots : rank->regions[ZB_REGION_SLOTS];
  const zb_plan_range *parts = rank->pool_ranges + rank->jobs[index].parts.begin;
  char text[ZB_JOB_TEXT_BYTES];
  zb_status status = NULL;
  zb_intervals taken = {0};
  for (uint32_t p = 0; p < count && !status; ++p) {
    const uint64_t begin = parts[p].offset, end = begin + parts[p].bytes * (uint64_t)plan->replicas;
    if (begin < slots.offset || end > slots.offset + slots.bytes || zb_intervals_overlap(&taken, begin, end))
      status = ZB_RULE(sharding, "%s: the parts of its parameter %u do not lie in the slots, or others do",
                       zb_plan_job_text(plan, rank->rank, index, text), p);
    zb_intervals_assign(&taken, begin, end, 0);
    if (!status && taken.failed) status = ZB_OUT_OF_MEMORY();
  }
  zb_intervals_deinit(&taken);
  return status;
}

/* Whether an instruction of F, B, W or E reads the range where it lies; which subprogram. NULL: none does. */
static const zb_plan_subprogram *reader_of(const zb_plan_rank *rank, zb_plan_range range) {
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *it = &rank->subprograms[s];
    if (it->kind != ZB_JOB_F && it->kind != ZB_JOB_B && it->kind != ZB_JOB_W && it->kind != ZB_JOB_EVALUATE) continue;
    for (int i = 0; i < it->instruction_count; ++i)
      for (int k = 0; k < it->instructions[i].input_count; ++k) {
        const zb_plan_operand *x = &it->instructions[i].inputs[k];
        if (x->rank >= 0 && x->base == 0 && overlap(range, (zb_plan_range){x->offset, (uint64_t)zb_operand_extent(x)}))
          return it;
      }
  }
  return NULL;
}

/* Own parts: whole ones, which no job reads where they lie. */
static zb_status verify_own_parts(const zb_plan *plan, const zb_plan_rank *rank, int index, uint32_t count) {
  const zb_plan_range *own = rank->pool_ranges + rank->jobs[index].parts.begin + count;
  char text[ZB_JOB_TEXT_BYTES];
  for (uint32_t p = 0; p < count; ++p) {
    const bool copy = is_copy(rank, own[p]);
    if (!copy && !is_parameter(rank, own[p]))
      return ZB_RULE(sharding, "%s: what it gathers at %" PRIu64 " is no part of a parameter or of a copy of one",
                     zb_plan_job_text(plan, rank->rank, index, text), own[p].offset);
    const zb_plan_subprogram *reader = copy ? reader_of(rank, own[p]) : NULL;
    if (reader)
      return ZB_RULE(sharding,
                     "rank %d, subprogram %s reads the part of a copy of a parameter at %" PRIu64
                     ", and not what is gathered",
                     rank->rank, reader->name, own[p].offset);
  }
  return NULL;
}

/* How many parameters a list of a job has for which all this holds, in the slots of a step or of an evaluation; 0: it
 * is not known. */
typedef struct proven_list {
  uint32_t counts[ZB_LIST_COUNT];
} proven_list;

/* lists: [begin of parts]. Gathers for jobs of one function have few lists, and what holds for a list holds for each
 * job that has it. */
static zb_status verify_gather(const zb_plan *plan, const zb_plan_rank *rank, int index, bool updated,
                               proven_list *lists) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_collective *collective = &plan->collectives[rank->jobs[index].collective - 1];
  const uint32_t count = collective->sizes.count / collective->members.count;
  if (updated)
    return ZB_RULE(sharding, "%s: it gathers parameters that the step has updated",
                   zb_plan_job_text(plan, rank->rank, index, text));
  const zb_plan_list list = index >= zb_plan_step_end(rank) ? ZB_LIST_EVALUATION : ZB_LIST_STEP;
  uint32_t *proven = &lists[rank->jobs[index].parts.begin].counts[list];
  if (count > 0 && *proven == count) return NULL;
  ZB_TRY(verify_places(plan, rank, index, count));
  ZB_TRY(verify_own_parts(plan, rank, index, count));
  *proven = count;
  return NULL;
}

zb_status zb_verify_gathered(const zb_plan *plan, const zb_plan_rank *rank) {
  const zb_plan_subprogram *reader = reader_of(rank, rank->regions[ZB_REGION_PARAMETERS]);
  bool updated = false;
  if (reader)
    return ZB_RULE(sharding, "rank %d, subprogram %s: a %s reads parameters where the rank has parts of them",
                   rank->rank, reader->name, zb_job_mnemonic(reader->kind));
  proven_list *lists = zb_alloc(((size_t)rank->pool_range_count + 1) * sizeof *lists);
  zb_status status = lists ? NULL : ZB_OUT_OF_MEMORY();
  for (int i = rank->load_count; i < rank->job_count && !status; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    if (i == zb_plan_step_end(rank)) updated = false;
    updated |= job->kind == ZB_JOB_UPDATE;
    if (job->collective && plan->collectives[job->collective - 1].apart)
      status = verify_gather(plan, rank, i, updated, lists);
  }
  zb_free(lists);
  return status;
}
