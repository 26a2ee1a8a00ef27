/* The proof that a plan is right: zb_plan_verify of runtime/plan/file/plan.h, and its rules for one rank alone:
 * regions, ranges, load, complete, order, optimizer. rules.def lists all; the other files here hold the others. Nothing
 * here is shared with the scheduler or the allocator: every fact is found again from the plan.
 *
 * Tests: test/runtime/plan/proof/verifier_test.c (a plan for each rule that breaks only that rule)
 */
#include "runtime/plan/proof/rules.h"
#include "runtime/base/assert.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"

#include <inttypes.h>
#include <string.h>

/* ---- Rule "regions" ---- */

static zb_status verify_regions(const zb_plan_rank *rank) {
  uint64_t end = 0;
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    zb_plan_range region = rank->regions[i];
    const char *name = zb_region_name((zb_region_kind)i);
    if (region.offset % ZB_ALIGNMENT != 0)
      return ZB_RULE(regions, "rank %d: the region %s starts at %" PRIu64 ", not at a multiple of %d", rank->rank, name,
                     region.offset, ZB_ALIGNMENT);
    if (region.offset < end)
      return ZB_RULE(regions,
                     "rank %d: the region %s starts at %" PRIu64 ", before the end %" PRIu64 " of the one before it",
                     rank->rank, name, region.offset, end);
    end = region.offset + region.bytes;
  }
  if (rank->regions[ZB_REGION_STEP].bytes < sizeof(int64_t))
    return ZB_RULE(regions, "rank %d: the region step has no room for the step number (8 bytes)", rank->rank);
  return NULL;
}

/* Places a tensor in its region, where nothing else may be. */
static zb_status place_tensor(const zb_plan_rank *rank, zb_intervals *used, const char *name, uint64_t offset,
                              int64_t bytes, zb_region_kind expected) {
  if (bytes == 0) return NULL;
  if (zb_plan_region_of(rank, offset, (uint64_t)bytes) != expected)
    return ZB_RULE(regions, "rank %d: '%s' at %" PRIu64 " does not lie in the region %s", rank->rank, name, offset,
                   zb_region_name(expected));
  if (zb_intervals_overlap(used, offset, offset + (uint64_t)bytes))
    return ZB_RULE(regions, "rank %d: '%s' at %" PRIu64 " overlaps another tensor of the region %s", rank->rank, name,
                   offset, zb_region_name(expected));
  zb_intervals_assign(used, offset, offset + (uint64_t)bytes, 0);
  return used->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* Bytes of a gradient once it is summed: of sums of micro-batches the part of one replica. */
static uint64_t gradient_bytes(const zb_plan *plan, const zb_plan_parameter *parameter) {
  const zb_shape whole = zb_plan_shape_of_replicas(&parameter->tensor);
  if (!zb_sharding_sums_each(plan->sharding)) return (uint64_t)zb_shape_bytes(&whole);
  return zb_plan_part_bytes(&whole, plan->derived.parts ? plan->derived.parts : zb_plan_replicas(plan));
}

static zb_status verify_tensors(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  zb_intervals used = {0};
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_tensor *tensor = &rank->parameters[i].tensor;
    int64_t bytes = zb_shape_bytes(&tensor->shape), gradient = rank->parameters[i].gradient_offset;
    const zb_region_kind region = rank->parameters[i].buffer ? ZB_REGION_BUFFERS : ZB_REGION_PARAMETERS;
    ZB_TRY_GOTO(place_tensor(rank, &used, tensor->name, tensor->offset, bytes, region));
    if (gradient < 0 || !rank->parameters[i].trained || bytes == 0) continue;
    if (zb_plan_region_of(rank, (uint64_t)gradient, gradient_bytes(plan, &rank->parameters[i])) == ZB_REGION_GRADIENTS)
      continue;
    status = ZB_RULE(regions, "rank %d: the gradient of '%s' does not lie in the region gradients", rank->rank,
                     tensor->name);
    goto cleanup;
  }
  for (int i = 0; i < rank->state_count; ++i) {
    const zb_plan_tensor *tensor = &rank->states[i];
    ZB_TRY_GOTO(
        place_tensor(rank, &used, tensor->name, tensor->offset, zb_shape_bytes(&tensor->shape), ZB_REGION_STATE));
  }
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_tensor *tensor = &rank->constants[i].tensor;
    ZB_TRY_GOTO(
        place_tensor(rank, &used, tensor->name, tensor->offset, zb_shape_bytes(&tensor->shape), ZB_REGION_CONSTANTS));
  }

cleanup:
  zb_intervals_deinit(&used);
  return status;
}

/* ---- Rule "ranges" ---- */

/* Whether a subprogram of this kind may write to the region through base 0. */
static bool may_write(zb_job_kind kind, zb_region_kind region) {
  switch (kind) {
  case ZB_JOB_LOAD:
  case ZB_JOB_RENEW:
    return region == ZB_REGION_CONSTANTS;
  case ZB_JOB_EVALUATE: /* between steps: what is trained stays as it is */
    return false;
  case ZB_JOB_F:
    return region == ZB_REGION_GRADIENTS || region == ZB_REGION_BUFFERS;
  case ZB_JOB_UPDATE: /* SUM and NORM, when they run with it, too */
    return region == ZB_REGION_PARAMETERS || region == ZB_REGION_STATE || region == ZB_REGION_GRADIENTS ||
           region == ZB_REGION_CONSTANTS; /* copies of parameters, see the rule "load" */
  default:
    return region == ZB_REGION_GRADIENTS;
  }
}

/* F, B, W and E read no gradients: those are sums of the micro-batches that came before, and so depend on the order.
 * What an instruction adds to is its result, and no input. */
static zb_status verify_reads(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram) {
  if (zb_job_is_optimizer(subprogram->kind) || subprogram->kind == ZB_JOB_ADD || subprogram->kind == ZB_JOB_FOLD)
    return NULL;
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i];
    for (int k = 0; k < instruction->input_count; ++k) {
      const zb_plan_operand *x = &instruction->inputs[k];
      const uint64_t bytes = (uint64_t)zb_operand_extent(x);
      if (bytes > 0 && x->base == 0 && zb_plan_region_of(rank, x->offset, bytes) == ZB_REGION_GRADIENTS)
        return ZB_RULE(ranges, "rank %d, subprogram %s, instruction %d (%s): a %s may not read the region gradients",
                       rank->rank, subprogram->name, i, instruction->op, zb_job_mnemonic(subprogram->kind));
    }
  }
  return NULL;
}

static zb_status verify_subprogram(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                                   const zb_access *access) {
  if (access->fault) {
    const zb_plan_instruction *instruction =
        subprogram->instruction_count > 0 ? &subprogram->instructions[access->fault_instruction] : NULL;
    return ZB_RULE(ranges, "rank %d, subprogram %s, instruction %d (%s%s%s): %s", rank->rank, subprogram->name,
                   access->fault_instruction, instruction ? instruction->op : "none",
                   instruction && instruction->location[0] ? ", " : "", instruction ? instruction->location : "",
                   access->fault);
  }
  const zb_intervals *writes = &access->writes[0];
  for (int region = 0; region < ZB_REGION_COUNT; ++region) {
    zb_plan_range range = rank->regions[region];
    if (may_write(subprogram->kind, (zb_region_kind)region) || region == ZB_REGION_WORKSPACE) continue;
    if (zb_intervals_overlap(writes, range.offset, range.offset + range.bytes))
      return ZB_RULE(ranges, "rank %d, subprogram %s: a %s may not write to the region %s", rank->rank,
                     subprogram->name, zb_job_mnemonic(subprogram->kind), zb_region_name((zb_region_kind)region));
  }
  return verify_reads(rank, subprogram);
}

/* ---- Rules "complete" and "order" ---- */

/* Where the jobs of one rank stand: for each kind F, B, W (of an evaluation: E), stage and micro-batch the index of the
 * job, -1 if there is none. */
typedef struct positions {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  const zb_job_kind *kinds; /* that run for each micro-batch; the first is there for every stage */
  int kind_count;
  int *row_of_stage; /* [stage_count] row of the stages of this rank, -1 for others */
  int rows;
  int first_micro_batch, micro_batches; /* of the rank */
  int *at;                              /* [kind][rows][micro_batches] */
  int *subprograms;                     /* [kind][rows] */
  int *runs;                            /* [subprogram_count] how often each ran */
} positions;

static const zb_job_kind step_kinds[] = {ZB_JOB_F, ZB_JOB_B, ZB_JOB_W}, evaluation_kinds[] = {ZB_JOB_EVALUATE};

static int batch_row(const positions *it, zb_job_kind kind) {
  for (int i = 0; i < it->kind_count; ++i)
    if (it->kinds[i] == kind) return i;
  return -1;
}

static int *position(const positions *it, int kind_row, int row, int micro_batch) {
  return &it->at[((size_t)kind_row * (size_t)it->rows + (size_t)row) * (size_t)it->micro_batches +
                 (size_t)(micro_batch - it->first_micro_batch)];
}

static void positions_deinit(positions *it) {
  zb_free(it->row_of_stage);
  zb_free(it->at);
  zb_free(it->subprograms);
  zb_free(it->runs);
}

static zb_status positions_init(positions *it, const zb_plan *plan, const zb_plan_rank *rank) {
  const bool evaluates = plan->derived.list == ZB_LIST_EVALUATION;
  *it = (positions){.plan = plan,
                    .rank = rank,
                    .kinds = evaluates ? evaluation_kinds : step_kinds,
                    .kind_count = evaluates ? 1 : sizeof step_kinds / sizeof step_kinds[0]};
  it->row_of_stage = zb_alloc((size_t)plan->stage_count * sizeof *it->row_of_stage);
  if (!it->row_of_stage) return ZB_OUT_OF_MEMORY();
  for (int stage = 0; stage < plan->stage_count; ++stage)
    it->row_of_stage[stage] = plan->stage_rank[stage] == zb_plan_rank_in_replica(plan, rank->rank) ? it->rows++ : -1;
  it->micro_batches = zb_plan_own_micro_batches(plan);
  it->first_micro_batch = zb_plan_first_micro_batch(plan, rank->rank);
  size_t subprogram_rows = (size_t)it->kind_count * (size_t)it->rows, count = 0;
  if (!__builtin_mul_overflow(subprogram_rows, (size_t)it->micro_batches, &count) && count <= SIZE_MAX / sizeof *it->at)
    it->at = zb_alloc(count * sizeof *it->at);
  it->subprograms = zb_alloc(subprogram_rows * sizeof *it->subprograms);
  it->runs = zb_alloc((size_t)rank->subprogram_count * sizeof *it->runs);
  if (!it->at || !it->subprograms || !it->runs) {
    positions_deinit(it);
    return ZB_OUT_OF_MEMORY();
  }
  memset(it->at, 0xff, count * sizeof *it->at);
  memset(it->subprograms, 0xff, subprogram_rows * sizeof *it->subprograms);
  return NULL;
}

static zb_status note_subprograms(const positions *it) {
  const zb_plan_rank *rank = it->rank;
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[i];
    int kind_row = batch_row(it, subprogram->kind);
    if (kind_row >= 0 && subprogram->stage < 0)
      return ZB_RULE(complete, "rank %d: subprogram %s has no stage", rank->rank, subprogram->name);
    int row = subprogram->stage >= 0 ? it->row_of_stage[subprogram->stage] : -1;
    if (subprogram->stage >= 0 && row < 0)
      return ZB_RULE(complete, "rank %d: subprogram %s is of stage %d, which is on rank %d", rank->rank,
                     subprogram->name, subprogram->stage, it->plan->stage_rank[subprogram->stage]);
    if (kind_row < 0 || subprogram->derived.part_of) continue;
    int *entry = &it->subprograms[kind_row * it->rows + row];
    if (*entry >= 0)
      return ZB_RULE(complete, "rank %d: stage %d has two subprograms of the kind %s", rank->rank, subprogram->stage,
                     zb_job_mnemonic(subprogram->kind));
    *entry = i;
  }
  return NULL;
}

static zb_status note_jobs(const positions *it) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_rank *rank = it->rank;
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    if (!zb_job_is_compute(job->kind)) continue;
    ++it->runs[job->subprogram];
    int kind_row = batch_row(it, job->kind);
    if ((kind_row >= 0) != (job->micro_batch >= 0))
      return ZB_RULE(complete, "%s: F, B, W and E are of a micro-batch, others are not",
                     zb_plan_job_text(it->plan, rank->rank, i, text));
    if (kind_row < 0) continue;
    if (job->micro_batch < it->first_micro_batch || job->micro_batch >= it->first_micro_batch + it->micro_batches)
      return ZB_RULE(complete, "%s: that micro-batch is of another replica",
                     zb_plan_job_text(it->plan, rank->rank, i, text));
    int *at = position(it, kind_row, it->row_of_stage[job->stage], job->micro_batch);
    const bool is_part =
        rank->subprograms[job->subprogram].derived.part_of != 0; /* of W, which begins with the first */
    if (*at >= 0 && !is_part)
      return ZB_RULE(complete, "%s: the same job is there twice, first as job %d",
                     zb_plan_job_text(it->plan, rank->rank, i, text), *at);
    if (*at < 0) *at = i;
  }
  return NULL;
}

/* How many runs of a subprogram are those of its parts, of which one is the first. */
static int runs_in_parts(const zb_plan_rank *rank, int subprogram) {
  int runs = 0;
  for (int i = subprogram + 1; i < rank->subprogram_count; ++i)
    runs += rank->subprograms[i].derived.part_of == subprogram + 1 &&
            rank->subprograms[i].instructions == rank->subprograms[subprogram].instructions;
  return runs;
}

static zb_status verify_complete(const positions *it) {
  const zb_plan_rank *rank = it->rank;
  ZB_TRY(note_subprograms(it));
  ZB_TRY(note_jobs(it));
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[i];
    if (subprogram->kind == ZB_JOB_ADD) continue; /* as often as collectives have its list */
    int expected = batch_row(it, subprogram->kind) >= 0 && !subprogram->derived.part_of ? it->micro_batches : 1;
    expected -= runs_in_parts(rank, i);
    if (it->runs[i] != expected)
      return ZB_RULE(complete, "rank %d: subprogram %s runs %d times, expected %d", rank->rank, subprogram->name,
                     it->runs[i], expected);
  }
  for (int stage = 0; stage < it->plan->stage_count; ++stage)
    if (it->row_of_stage[stage] >= 0 && it->subprograms[it->row_of_stage[stage]] < 0)
      return ZB_RULE(complete, "rank %d: stage %d has no %s", rank->rank, stage, zb_job_mnemonic(it->kinds[0]));
  return NULL;
}

/* F before B before W of a stage and micro-batch; W, and whatever else adds to gradients or writes buffers, in rising
 * micro-batch order. */
static zb_status verify_order(const positions *it, const zb_access *accesses) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_range gradients = it->rank->regions[ZB_REGION_GRADIENTS],
                      buffers = it->rank->regions[ZB_REGION_BUFFERS];
  for (int row = 0; row < it->rows; ++row) {
    for (int kind_row = 0; kind_row < it->kind_count; ++kind_row) {
      int subprogram = it->subprograms[kind_row * it->rows + row];
      if (subprogram < 0) continue;
      const zb_intervals *writes = &accesses[subprogram].writes[0];
      bool adds = zb_intervals_overlap(writes, gradients.offset, gradients.offset + gradients.bytes);
      bool keeps = zb_intervals_overlap(writes, buffers.offset, buffers.offset + buffers.bytes);
      const int first = it->first_micro_batch;
      for (int micro_batch = first; micro_batch < first + it->micro_batches; ++micro_batch) {
        int at = *position(it, kind_row, row, micro_batch);
        for (int before = 0; before < kind_row; ++before)
          if (*position(it, before, row, micro_batch) > at)
            return ZB_RULE(order, "%s comes before its %s", zb_plan_job_text(it->plan, it->rank->rank, at, text),
                           zb_job_mnemonic(it->kinds[before]));
        bool rises = micro_batch == first || *position(it, kind_row, row, micro_batch - 1) < at;
        if (!rises && keeps)
          return ZB_RULE(order, "%s updates buffers before micro-batch %d does",
                         zb_plan_job_text(it->plan, it->rank->rank, at, text), micro_batch - 1);
        if (!rises && (adds || it->kinds[kind_row] == ZB_JOB_W))
          return ZB_RULE(order, "%s adds to gradients before micro-batch %d does",
                         zb_plan_job_text(it->plan, it->rank->rank, at, text), micro_batch - 1);
      }
    }
  }
  return NULL;
}

/* ---- Rule "optimizer" ---- */

/* No byte is updated by two subprograms. What one of them reads, another may update only in an earlier phase, and
 * before. */
static zb_status verify_two_optimizers(const char *text, const zb_access *own, zb_job_kind kind,
                                       const zb_plan_subprogram *other, const zb_access *access, bool other_first) {
  uint64_t where = 0;
  if (zb_intervals_meet(&own->writes[0], &access->writes[0], &where))
    return ZB_RULE(optimizer, "%s and subprogram %s both update arena byte %" PRIu64, text, other->name, where);
  if (zb_intervals_meet(&own->reads[0], &access->writes[0], &where) && (other->kind >= kind || !other_first))
    return ZB_RULE(optimizer, "%s reads arena byte %" PRIu64 ", which subprogram %s updates %s", text, where,
                   other->name, other_first ? "in no earlier phase" : "later");
  return NULL;
}

static zb_status verify_one_optimizer(const positions *it, const zb_access *accesses, const int *last_run, int at) {
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_rank *rank = it->rank;
  const zb_plan_job *job = &rank->jobs[at];
  const zb_access *own = &accesses[job->subprogram];
  zb_plan_job_text(it->plan, rank->rank, at, text);
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const zb_plan_subprogram *other = &rank->subprograms[i];
    uint64_t where = 0;
    if (i == job->subprogram) continue;
    if (zb_job_is_optimizer(other->kind)) {
      ZB_TRY(verify_two_optimizers(text, own, job->kind, other, &accesses[i], last_run[i] < at));
      continue;
    }
    if (last_run[i] < at) continue;
    if (job->stage >= 0 && job->stage == other->stage)
      return ZB_RULE(optimizer, "%s runs before the last %s of its stage (job %d)", text, zb_job_mnemonic(other->kind),
                     last_run[i]);
    if (zb_intervals_meet(&own->writes[0], &accesses[i].reads[0], &where) ||
        zb_intervals_meet(&own->writes[0], &accesses[i].writes[0], &where) ||
        zb_intervals_meet(&own->reads[0], &accesses[i].writes[0], &where))
      return ZB_RULE(optimizer, "%s runs before the last run of %s (job %d), which uses arena byte %" PRIu64 " too",
                     text, other->name, last_run[i], where);
  }
  return NULL;
}

/* A gradient that no job adds to would be zero for ever. That sums of micro-batches are added to it is the rule
 * "sharding"; that what a SUM brings there is what B and W of other ranks add up, the rule "sums". */
static bool gradient_is_made(const zb_plan *plan, const zb_plan_rank *rank, const zb_access *accesses,
                             const zb_plan_parameter *parameter) {
  const zb_shape whole = zb_plan_shape_of_replicas(&parameter->tensor);
  uint64_t begin = (uint64_t)parameter->gradient_offset, end = begin + (uint64_t)zb_shape_bytes(&whole);
  const uint64_t part = zb_plan_sums_of_parts(plan) ? zb_plan_part_bytes(&whole, plan->derived.parts) : end - begin;
  const uint64_t own =
      zb_plan_sums_of_parts(plan) ? begin + (uint64_t)zb_plan_replica_of(plan, rank->rank) * part : begin;
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const zb_job_kind kind = rank->subprograms[i].kind;
    const zb_intervals *writes = &accesses[i].writes[0];
    if ((kind == ZB_JOB_B || kind == ZB_JOB_W) && zb_intervals_cover(writes, begin, end)) return true;
    if (kind == ZB_JOB_SUM && zb_intervals_cover(writes, own, own + part)) return true;
  }
  return begin == end;
}

/* Every trained parameter with a gradient is updated, whole, as is one whose gradient other ranks make (the rule
 * "sums"); no other is. And its gradient is made. */
static zb_status verify_updates(const zb_plan *plan, const zb_plan_rank *rank, const zb_access *accesses) {
  for (int p = 0; p < rank->parameter_count; ++p) {
    const zb_plan_parameter *parameter = &rank->parameters[p];
    uint64_t begin = parameter->tensor.offset, end = begin + (uint64_t)zb_shape_bytes(&parameter->tensor.shape);
    bool covered = begin == end || plan->sharding != ZB_SHARDING_NONE, touched = false; /* the rule "sharding" */
    for (int i = 0; i < rank->subprogram_count; ++i) {
      if (!zb_job_is_optimizer(rank->subprograms[i].kind)) continue;
      covered |= zb_intervals_cover(&accesses[i].writes[0], begin, end);
      touched |= zb_intervals_overlap(&accesses[i].writes[0], begin, end);
    }
    if (parameter->trained && (parameter->gradient_offset >= 0 || touched) && !covered)
      return ZB_RULE(optimizer, "rank %d: no UPDATE updates the trained parameter '%s'", rank->rank,
                     parameter->tensor.name);
    if (parameter->trained && parameter->gradient_offset >= 0 && !zb_sharding_sums_each(plan->sharding) &&
        !gradient_is_made(plan, rank, accesses, parameter))
      return ZB_RULE(optimizer, "rank %d: no B or W adds to the gradient of the trained parameter '%s'", rank->rank,
                     parameter->tensor.name);
    if (!parameter->trained && touched)
      return ZB_RULE(optimizer, "rank %d: an UPDATE updates the frozen parameter '%s'", rank->rank,
                     parameter->tensor.name);
  }
  return NULL;
}

static zb_status verify_optimizer(const positions *it, const zb_access *accesses) {
  zb_status status = NULL;
  const zb_plan_rank *rank = it->rank;
  int *last_run = zb_alloc((size_t)rank->subprogram_count * sizeof *last_run);
  if (!last_run) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].subprogram >= 0) last_run[rank->jobs[i].subprogram] = i;
  for (int i = 0; i < rank->job_count; ++i)
    if (zb_job_is_optimizer(rank->jobs[i].kind)) ZB_TRY_GOTO(verify_one_optimizer(it, accesses, last_run, i));
  status = verify_updates(it->plan, rank, accesses);

cleanup:
  zb_free(last_run);
  return status;
}

/* ---- Rule "load" ---- */

static bool is_computed(const zb_plan_rank *rank, uint64_t position) {
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_tensor *tensor = &rank->constants[i].tensor;
    if (position - tensor->offset < (uint64_t)zb_shape_bytes(&tensor->shape) && position >= tensor->offset)
      return rank->constants[i].computed;
  }
  return false;
}

/* An optimizer writes no constants but those that LOAD computes: copies of parameters. */
static zb_status verify_copies_written(const zb_plan_rank *rank, const zb_access *accesses) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->constant_count && zb_job_is_optimizer(rank->subprograms[s].kind); ++i) {
      const zb_plan_tensor *tensor = &rank->constants[i].tensor;
      uint64_t end = tensor->offset + (uint64_t)zb_shape_bytes(&tensor->shape);
      if (!rank->constants[i].computed && zb_intervals_overlap(&accesses[s].writes[0], tensor->offset, end))
        return ZB_RULE(load, "rank %d, subprogram %s: an optimizer may not write to the constant '%s'", rank->rank,
                       rank->subprograms[s].name, tensor->name);
    }
  return NULL;
}

static bool written_by_optimizer(const zb_plan_rank *rank, const zb_access *accesses, uint64_t begin, uint64_t end) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (zb_job_is_optimizer(rank->subprograms[s].kind) && zb_intervals_overlap(&accesses[s].writes[0], begin, end))
      return true;
  return false;
}

/* What LOAD computes from a parameter that the optimizer updates, the optimizer computes again: else it would be that
 * of the first step for ever. */
static zb_status verify_copies_renewed(const zb_plan_rank *rank, const zb_access *accesses) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; i < rank->subprograms[s].instruction_count && rank->subprograms[s].kind == ZB_JOB_LOAD; ++i) {
      const zb_plan_instruction *instruction = &rank->subprograms[s].instructions[i];
      bool updated = false;
      for (int k = 0; k < instruction->input_count && !updated; ++k) {
        const zb_plan_operand *x = &instruction->inputs[k];
        if (x->rank >= 0 && x->base == 0) updated = written_by_optimizer(rank, accesses, x->offset, x->offset + 1);
      }
      for (int k = 0; k < instruction->output_count && updated; ++k) {
        const zb_plan_operand *out = &instruction->outputs[k];
        uint64_t bytes = zb_dtype_bytes(out->dtype);
        for (int d = 0; d < out->rank; ++d)
          bytes *= (uint64_t)out->shape[d];
        bool renewed = bytes == 0;
        for (int other = 0; other < rank->subprogram_count && !renewed; ++other)
          renewed = zb_job_is_optimizer(rank->subprograms[other].kind) &&
                    zb_intervals_cover(&accesses[other].writes[0], out->offset, out->offset + bytes);
        if (!renewed)
          return ZB_RULE(load,
                         "rank %d: LOAD computes %s at %" PRIu64
                         " from a parameter that is updated, but no UPDATE computes it again",
                         rank->rank, instruction->op, out->offset);
      }
    }
  return NULL;
}

/* Constants that LOAD computes are written before they are read, and no others are written. */
static zb_status verify_load(const zb_plan *plan, const zb_plan_rank *rank, const zb_access *accesses) {
  zb_status status = NULL;
  char text[ZB_JOB_TEXT_BYTES];
  zb_intervals waiting = {0}; /* computed constants that nobody wrote yet */
  uint64_t where = 0;
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_tensor *tensor = &rank->constants[i].tensor;
    if (rank->constants[i].computed)
      zb_intervals_assign(&waiting, tensor->offset, tensor->offset + (uint64_t)zb_shape_bytes(&tensor->shape), i);
  }
  for (int i = 0; i < rank->load_count; ++i) {
    const zb_access *access = &accesses[rank->jobs[i].subprogram];
    zb_plan_job_text(plan, rank->rank, i, text);
    if (rank->jobs[i].bases.count > 0) {
      status = ZB_RULE(load, "%s has bases, but slots hold nothing before the first step", text);
      goto cleanup;
    }
    if (zb_intervals_meet(&waiting, &access->reads[0], &where)) {
      status = ZB_RULE(load, "%s reads the constant at %" PRIu64 " before it is computed", text, where);
      goto cleanup;
    }
    for (size_t w = 0; w < access->writes[0].count; ++w) {
      zb_interval write = access->writes[0].items[w];
      if (!is_computed(rank, write.begin)) {
        status = ZB_RULE(load, "%s writes at %" PRIu64 ", where no constant is computed", text, write.begin);
        goto cleanup;
      }
      zb_intervals_remove(&waiting, write.begin, write.end);
    }
  }
  if (waiting.failed)
    status = ZB_OUT_OF_MEMORY();
  else if (waiting.count > 0)
    status = ZB_RULE(load, "rank %d: no LOAD computes the constant '%s'", rank->rank,
                     rank->constants[waiting.items[0].writer].tensor.name);

cleanup:
  zb_intervals_deinit(&waiting);
  return status;
}

/* ---- All ---- */

static zb_status verify_rank(const zb_plan *plan, int index, const zb_access *accesses) {
  const zb_plan_rank *rank = &plan->ranks[index];
  ZB_TRY(verify_regions(rank));
  ZB_TRY(verify_tensors(plan, rank));
  for (int i = 0; i < rank->subprogram_count; ++i)
    ZB_TRY(verify_subprogram(rank, &rank->subprograms[i], &accesses[i]));
  if (plan->derived.list == ZB_LIST_STEP) { /* LOAD ran before any evaluation, too */
    ZB_TRY(verify_load(plan, rank, accesses));
    ZB_TRY(verify_copies_written(rank, accesses));
    ZB_TRY(verify_copies_renewed(rank, accesses));
  }
  positions it;
  if (plan->inference && plan->derived.list == ZB_LIST_STEP) return NULL; /* LOAD alone */
  ZB_TRY(positions_init(&it, plan, rank));
  zb_status status = verify_complete(&it);
  if (!status) status = verify_order(&it, accesses);
  if (!status && plan->derived.list == ZB_LIST_STEP) status = verify_optimizer(&it, accesses);
  if (!status && plan->derived.list == ZB_LIST_STEP) status = zb_verify_buffers(rank, accesses);
  positions_deinit(&it);
  return status;
}

/* Ranks are proven apart, each on one of two threads: what one rank does in its arena, no other can see. So are rules
 * that need nothing of what another one has shown. */
enum { VERIFY_THREADS = 2 };

typedef enum joint_rule { JOINT_SETTINGS, JOINT_OWNERS, JOINT_MESSAGES, JOINT_COUNT } joint_rule;

typedef struct verify_all {
  const zb_plan *plan;
  int together;        /* so many ranks, replicas of one, are proven by one tile */
  zb_status *statuses; /* one a rank, then one a joint rule */
} verify_all;

/* Replicas of a rank stand beside each other. */
static int ranks_together(const zb_plan *plan) {
  const int replicas = zb_plan_mesh(plan);
  return replicas <= ZB_REPLICAS_PROVEN && zb_plan_shard_mesh(plan) == 1 ? replicas : 1;
}

static void verify_whole_ranks(const zb_plan *plan, int first, int count, zb_status *statuses) {
  zb_access *accesses[ZB_REPLICAS_PROVEN] = {NULL};
  for (int i = 0; i < count; ++i) {
    statuses[i] = zb_access_create_like(&plan->ranks[first + i], &plan->ranks[first], accesses[0], &accesses[i]);
    if (!statuses[i]) statuses[i] = verify_rank(plan, first + i, accesses[i]);
    if (!statuses[i]) statuses[i] = zb_verify_beside(plan, first + i, accesses[i]);
  }
  zb_verify_dataflow(plan, first, count, accesses, statuses);
  for (int i = count - 1; i >= 0; --i) /* the first one last: others may have lists of it */
    zb_access_destroy_all(accesses[i], plan->ranks[first + i].subprogram_count);
}

static zb_status verify_joint(const zb_plan *plan, joint_rule rule) {
  switch (rule) {
  case JOINT_SETTINGS:
    return zb_verify_settings(plan);
  case JOINT_OWNERS: /* an evaluation updates nothing */
    return plan->derived.list == ZB_LIST_STEP ? zb_verify_owners(plan) : NULL;
  case JOINT_MESSAGES:
    return zb_verify_messages(plan);
  case JOINT_COUNT:
    break;
  }
  return NULL;
}

static void verify_tile(void *context, int64_t tile, void *scratch) {
  verify_all *all = context;
  const int group = (int)tile - JOINT_COUNT; /* joint rules come first: each takes as long as several ranks */
  (void)scratch;
  if (group >= 0)
    verify_whole_ranks(all->plan, group * all->together, all->together, all->statuses + group * all->together);
  else
    all->statuses[all->plan->rank_count + (int)tile] = verify_joint(all->plan, (joint_rule)tile);
}

/* A plan without collectives. */
static zb_status verify_expanded(const zb_plan *plan) {
  ZB_ASSERT(zb_plan_is_expanded(plan));
  const int together = ranks_together(plan), statuses = plan->rank_count + JOINT_COUNT;
  const int tiles = plan->rank_count / together + JOINT_COUNT;
  verify_all all = {plan, together, zb_alloc((size_t)statuses * sizeof(zb_status))};
  if (!all.statuses) return ZB_OUT_OF_MEMORY();
  /* Threads are worth their start for long plans only; without them (or without memory for them) one thread takes all
   * tiles. */
  zb_threads *threads = zb_plan_is_long(plan) ? zb_threads_create(VERIFY_THREADS) : NULL;
  if (threads) {
    zb_parallel_for(threads, tiles, verify_tile, &all);
    zb_threads_destroy(threads);
  } else {
    for (int i = 0; i < tiles; ++i)
      verify_tile(&all, i, NULL);
  }
  zb_status status = zb_status_first(all.statuses, statuses);
  zb_free(all.statuses);
  return status ? status : zb_verify_validation(plan);
}

/* One list: a plan without an evaluation, or a view. */
static zb_status verify_list(const zb_plan *plan) {
  zb_plan *expanded = NULL;
  const bool evaluates = plan->derived.list == ZB_LIST_EVALUATION; /* it adds up and updates nothing */
  ZB_TRY(zb_verify_collectives(plan));
  if (!evaluates) ZB_TRY(zb_verify_groups(plan));
  if (!evaluates) ZB_TRY(zb_verify_shared_buffers(plan));
  ZB_TRY(zb_plan_expand(plan, &expanded));
  zb_status status = verify_expanded(expanded ? expanded : plan);
  zb_plan_destroy(expanded);
  return status || evaluates ? status : zb_verify_sums(plan);
}

/* One list of a plan, with replicas. */
static zb_status verify_replicas(const zb_plan *plan) {
  zb_plan *all = NULL;
  const int replicas = zb_plan_replicas(plan);
  ZB_TRY(zb_plan_replicate(plan, replicas < ZB_REPLICAS_PROVEN ? replicas : ZB_REPLICAS_PROVEN, &all));
  const zb_status status = verify_list(all ? all : plan);
  zb_plan_destroy(all);
  return status;
}

/* The lists that the plan has. */
static zb_status verify_lists(const zb_plan *plan) {
  zb_status status = NULL;
  if (!plan->evaluates) return verify_replicas(plan);
  for (zb_plan_list list = ZB_LIST_STEP; list < ZB_LIST_COUNT && !status; ++list) {
    zb_plan *view;
    ZB_TRY(zb_plan_view(plan, list, &view));
    status = verify_replicas(view);
    zb_plan_destroy(view);
    if (status && list == ZB_LIST_EVALUATION) status = zb_status_note(status, "in the list of an evaluation");
  }
  return status;
}

zb_status zb_plan_verify(const zb_plan *plan) {
  ZB_TRY(zb_plan_check(plan));
  ZB_TRY(zb_verify_shards(plan));
  ZB_TRY(zb_verify_woven(plan));
  ZB_TRY(zb_verify_sharding(plan));
  return verify_lists(plan);
}
