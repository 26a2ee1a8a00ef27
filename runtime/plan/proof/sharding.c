/* The rule "sharding" of the proof: what replicas have a part of each (zb_plan.sharding).
 *
 * All replicas of a rank run the list of the plan, where replica r works r parts behind replica 0 (replicas.c). So that
 * every element of every trained parameter is updated by exactly one of D replicas is shown once, of replica 0: its
 * UPDATE writes the first of D equal parts that the memory of the parameter consists of, and no other tensor lies in
 * that memory. The gather of the rank brings each of these parts, behind all of its UPDATEs and in front of whatever is
 * made of whole parameters. What each replica then reads and writes is proven as in any plan, of the plan of a few
 * replicas: that it reads the sum of its own part alone is the rule "sums", that nothing uses what has not come the
 * rules "collectives" and "dataflow".
 *
 * With gradients:micro-batch the sums of each micro-batch are added to parts, so that each element is added once for
 * every one of them, in their order, is shown here, too: a part has one buffer for each micro-batch, which lies where
 * the B or W of that micro-batch left it, the same one at the same place for all.
 *
 * Tests: test/runtime/plan/compiled/sharding_test.c, test/runtime/plan/compiled/gradient_sharding_test.c */
#include "runtime/base/memory.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/proof/rules.h"

#include <inttypes.h>

uint64_t zb_sharding_place(const zb_plan *plan, const zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  const uint64_t behind = (uint64_t)zb_plan_replica_of(plan, rank->rank) * bytes;
  if (plan->derived.parts == 0 || bytes == 0 || behind > offset) return offset;
  const zb_region_kind region = zb_plan_region_of(rank, offset, bytes);
  const bool gradients = region == ZB_REGION_GRADIENTS && !zb_sharding_sums_each(plan->sharding);
  const bool parameters = region == ZB_REGION_PARAMETERS && !zb_sharding_of_parameters(plan->sharding);
  return gradients || parameters ? offset - behind : offset;
}

/* The collective over replicas that gathers parameters of the rank, and the job that takes part. */
typedef struct gather {
  const zb_plan_collective *collective;
  int job; /* -1: there is none */
} gather;

static zb_status find_gather(const zb_plan *plan, const zb_plan_rank *rank, gather *out) {
  *out = (gather){.job = -1};
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    if (!job->collective || plan->collectives[job->collective - 1].payload != ZB_PAYLOAD_PARAMETERS ||
        plan->collectives[job->collective - 1].apart)
      continue;
    if (out->job >= 0)
      return ZB_RULE(sharding, "rank %d gathers parameters twice: jobs %d, %d", rank->rank, out->job, i);
    *out = (gather){&plan->collectives[job->collective - 1], i};
  }
  return NULL;
}

static bool overlaps(const zb_plan_operand *operand, uint64_t begin, uint64_t end) {
  return operand->rank >= 0 && operand->base == 0 && operand->offset < end &&
         begin < operand->offset + (uint64_t)zb_operand_extent(operand);
}

/* How often UPDATE writes to memory of a parameter; *whole: each time its first part, all of it. */
static int count_updates(const zb_plan_rank *rank, uint64_t begin, uint64_t end, uint64_t part, bool *whole) {
  int count = 0;
  *whole = true;
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; zb_job_is_optimizer(rank->subprograms[s].kind) && i < rank->subprograms[s].instruction_count; ++i)
      for (int k = 0; k < rank->subprograms[s].instructions[i].output_count; ++k) {
        const zb_plan_operand *out = &rank->subprograms[s].instructions[i].outputs[k];
        if (!overlaps(out, begin, end)) continue;
        ++count;
        *whole &= out->offset == begin && (uint64_t)zb_operand_extent(out) == part &&
                  rank->subprograms[s].kind == ZB_JOB_UPDATE;
      }
  return count;
}

static int count_gathered(const zb_plan_rank *rank, const gather *found, uint64_t begin, uint64_t part) {
  int count = 0;
  const zb_plan_slice parts = found->job >= 0 ? rank->jobs[found->job].parts : (zb_plan_slice){0};
  for (uint32_t p = 0; p < parts.count; ++p) {
    const zb_plan_range range = rank->pool_ranges[parts.begin + p];
    count += range.offset == begin && range.bytes == part;
  }
  return count;
}

/* The memory of all parts, in its region, where nothing else may be. */
static zb_status take_memory(const zb_plan_rank *rank, zb_intervals *taken, const char *what, uint64_t begin,
                             uint64_t bytes, zb_region_kind region) {
  if (zb_plan_region_of(rank, begin, bytes) != region || zb_intervals_overlap(taken, begin, begin + bytes))
    return ZB_RULE(sharding, "rank %d: the parts of %s at %" PRIu64 " do not lie in the region %s, or others do",
                   rank->rank, what, begin, zb_region_name(region));
  zb_intervals_assign(taken, begin, begin + bytes, 0);
  return taken->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

static zb_status verify_states(const zb_plan_rank *rank, const zb_plan_parameter *parameter) {
  for (int k = parameter->state_begin; k < parameter->state_begin + parameter->state_count; ++k) {
    const zb_shape all = zb_plan_shape_of_replicas(&parameter->tensor);
    const zb_shape of_state = zb_plan_shape_of_replicas(&rank->states[k]);
    if (!rank->states[k].flat || !zb_shape_equal(&of_state, &all))
      return ZB_RULE(sharding, "rank %d: '%s' is no part of a state of '%s'", rank->rank, rank->states[k].name,
                     parameter->tensor.name);
  }
  return NULL;
}

/* *gathered: parameters of which a part is gathered. */
static zb_status verify_parameter(const zb_plan *plan, const zb_plan_rank *rank, const gather *found,
                                  const zb_plan_parameter *parameter, zb_intervals *taken, uint32_t *gathered) {
  const char *name = parameter->tensor.name;
  const zb_shape all = zb_plan_shape_of_replicas(&parameter->tensor);
  const bool apart = zb_sharding_of_parameters(plan->sharding) && !parameter->buffer;
  const uint64_t begin = parameter->tensor.offset, size = (uint64_t)zb_shape_bytes(&all);
  const uint64_t part = zb_plan_part_bytes(&all, plan->replicas);
  bool whole;
  /* A rank that only reads it has sums of its gradient from others (the rule "sums"). */
  const bool has_sums = parameter->gradient_offset >= 0 || count_updates(rank, begin, begin + part, part, &whole) > 0;
  const bool shared = parameter->trained && has_sums && size > 0;
  const uint64_t bytes = apart ? part : shared ? part * (uint64_t)plan->replicas : size;
  if (bytes == 0) return NULL;
  const zb_region_kind region = parameter->buffer ? ZB_REGION_BUFFERS : ZB_REGION_PARAMETERS;
  if (apart != parameter->tensor.flat)
    return ZB_RULE(sharding, "rank %d: '%s' is %s part of a parameter, and %s", rank->rank, name, apart ? "no" : "a",
                   apart ? "every replica has one" : "replicas have whole ones");
  ZB_TRY(take_memory(rank, taken, name, begin, bytes, region));
  if (!shared) return NULL;
  ZB_TRY(verify_states(rank, parameter));
  if (count_updates(rank, begin, begin + bytes, part, &whole) != 1 || !whole)
    return ZB_RULE(sharding, "rank %d: no UPDATE updates the %" PRIu64 " bytes of '%s' that each of %d replicas has",
                   rank->rank, part, name, plan->replicas);
  if (apart) return NULL;
  if (count_gathered(rank, found, begin, part) != 1)
    return ZB_RULE(sharding, "rank %d: the parts of '%s' are not gathered, each once", rank->rank, name);
  ++*gathered;
  return NULL;
}

static zb_status verify_parameters(const zb_plan *plan, const zb_plan_rank *rank, const gather *found) {
  zb_status status = NULL;
  zb_intervals taken = {0};
  uint32_t gathered = 0;
  for (int i = 0; i < rank->parameter_count && !status; ++i)
    status = verify_parameter(plan, rank, found, &rank->parameters[i], &taken, &gathered);
  zb_intervals_deinit(&taken);
  if (!status && found->job >= 0 && gathered != found->collective->sizes.count)
    status = ZB_RULE(sharding, "rank %d gathers more than parts of what it updates", rank->rank);
  return status;
}

/* UPDATE, then the gather, then RENEW. */
static zb_status verify_order(const zb_plan *plan, const zb_plan_rank *rank, const gather *found) {
  char text[ZB_JOB_TEXT_BYTES];
  for (int i = rank->load_count; i < zb_plan_step_end(rank); ++i) {
    const zb_job_kind kind = rank->jobs[i].kind;
    if (found->job < 0 ? kind == ZB_JOB_RENEW
                       : (kind == ZB_JOB_UPDATE && i > found->job) || (kind == ZB_JOB_RENEW && i < found->job))
      return ZB_RULE(sharding, "%s stands on the wrong side of the gather of parameters (job %d)",
                     zb_plan_job_text(plan, rank->rank, i, text), found->job);
  }
  return NULL;
}

/* ---- Sums of gradients ---- */

/* Buffers of sums over replicas: all parts of each lie in the gradients, where no other buffer does. */
static zb_status verify_sum(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *sum,
                            zb_intervals *taken) {
  const zb_plan_collective *collective = &plan->collectives[sum->collective - 1];
  for (uint32_t b = 0; b < collective->sizes.count; ++b) {
    const zb_plan_range part = rank->pool_ranges[sum->parts.begin + b];
    if (part.bytes % ZB_ALIGNMENT != 0)
      return ZB_RULE(sharding, "rank %d: part %u of collective %d does not end where another may begin", rank->rank, b,
                     sum->collective - 1);
    ZB_TRY(take_memory(rank, taken, "a gradient", part.offset, part.bytes * (uint64_t)plan->replicas,
                       ZB_REGION_GRADIENTS));
  }
  return NULL;
}

/* Of gradients no replica keeps more than its part: a sum is scattered, and added up before the next one is sent.
 * before: the sum over replicas in front of it; -1: it is the first. */
static zb_status verify_level(const zb_plan *plan, const zb_plan_rank *rank, int sum, int before) {
  const int collective = rank->jobs[sum].collective - 1;
  if (!zb_sharding_scatters(plan->sharding)) return NULL;
  if (zb_collective_gathers(plan->collectives[collective].kind))
    return ZB_RULE(sharding, "rank %d: collective %d leaves whole sums of gradients, not a part of each", rank->rank,
                   collective);
  if (before >= 0 && !zb_job_waits_for(rank, &rank->jobs[sum], before))
    return ZB_RULE(sharding, "rank %d: collective %d does not wait until collective %d is added up", rank->rank,
                   collective, rank->jobs[before].collective - 1);
  return NULL;
}

/* ---- Sums of gradients of each micro-batch ---- */

/* A part of the gradients that such sums are added to. */
typedef struct added {
  zb_plan_range into;
  int32_t subprogram; /* that makes what is summed, at `offset` of its base `base` */
  uint32_t base;
  uint64_t offset;
  int next; /* micro-batch */
} added;

typedef struct parts {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  added *items;
  size_t count, capacity;
  size_t hint; /* mostly the next one: every micro-batch has them in the same order */
  zb_intervals taken;
} parts;

int zb_sharding_maker(const zb_plan_rank *rank, int index, zb_plan_range range, uint32_t *base) {
  while (--index >= 0) {
    const zb_plan_job *job = &rank->jobs[index];
    for (*base = 1; *base <= job->bases.count; ++*base) {
      const uint64_t begin = rank->pool_u64[job->bases.begin + *base - 1];
      const uint64_t bytes = rank->subprograms[job->subprogram].base_bytes[*base - 1];
      if (begin < range.offset + range.bytes && range.offset < begin + bytes) return index;
    }
  }
  return -1;
}

/* Whether it adds a gradient, of which each replica has a part of that size, at that place. */
static bool makes_gradient(const zb_plan *plan, const zb_plan_subprogram *subprogram, uint32_t base, uint64_t offset,
                           uint64_t part) {
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    const zb_plan_operand *out = subprogram->instructions[i].outputs;
    if (!subprogram->instructions[i].accumulate || out->base != base || out->offset != offset) continue;
    const zb_shape whole = {.dtype = out->dtype, .rank = 1, .dims = {zb_operand_extent(out) / (int64_t)sizeof(float)}};
    return out->dtype == ZB_F32 && zb_plan_part_bytes(&whole, plan->replicas) == part;
  }
  return false;
}

static added *find_added(parts *it, uint64_t offset) {
  for (size_t i = 0; i < it->count; ++i) {
    added *one = &it->items[(it->hint + i) % it->count];
    if (one->into.offset != offset) continue;
    it->hint = (size_t)(one - it->items) + 1;
    return one;
  }
  return NULL;
}

/* The part is new: this is the first micro-batch. */
static zb_status add_part(parts *it, added what) {
  if (what.into.bytes % ZB_ALIGNMENT != 0)
    return ZB_RULE(sharding, "rank %d: the part of a gradient at %" PRIu64 " does not end where another may begin",
                   it->rank->rank, what.into.offset);
  ZB_TRY(take_memory(it->rank, &it->taken, "a gradient", what.into.offset, what.into.bytes, ZB_REGION_GRADIENTS));
  if (!zb_grow((void **)&it->items, &it->capacity, it->count + 1, sizeof what)) return ZB_OUT_OF_MEMORY();
  it->items[it->count++] = what;
  return NULL;
}

static zb_status verify_added(parts *it, int index, uint32_t buffer) {
  const zb_plan_rank *rank = it->rank;
  const zb_plan_job *job = &rank->jobs[index];
  const zb_plan_collective *collective = &it->plan->collectives[job->collective - 1];
  const zb_plan_range *homes = rank->pool_ranges + job->parts.begin;
  const int m = collective->of_micro_batch - 1;
  const zb_plan_range all = {homes[buffer].offset, homes[buffer].bytes * (uint64_t)it->plan->replicas};
  added what = {.into = homes[collective->sizes.count + 1 + buffer], .next = 0};
  const int maker = zb_sharding_maker(rank, index, all, &what.base);
  char text[ZB_JOB_TEXT_BYTES];
  const zb_plan_job *made = maker < 0 ? NULL : &rank->jobs[maker];
  if (made)
    what.subprogram = made->subprogram, what.offset = all.offset - rank->pool_u64[made->bases.begin + what.base - 1];
  if (!made || made->micro_batch != m || (made->kind != ZB_JOB_B && made->kind != ZB_JOB_W) ||
      !makes_gradient(it->plan, &rank->subprograms[made->subprogram], what.base, what.offset, homes[buffer].bytes))
    return ZB_RULE(sharding, "%s: buffer %u is no gradient that a B or W made of micro-batch %d",
                   zb_plan_job_text(it->plan, rank->rank, index, text), buffer, m);
  added *known = find_added(it, what.into.offset);
  if (!known) {
    ZB_TRY(add_part(it, what));
    known = &it->items[it->count - 1];
  }
  if (known->next++ != m || known->subprogram != what.subprogram || known->base != what.base ||
      known->offset != what.offset)
    return ZB_RULE(sharding,
                   "%s: buffer %u: the gradients of micro-batch %d are not those that come next at %" PRIu64
                   ", or lie elsewhere than those before",
                   zb_plan_job_text(it->plan, rank->rank, index, text), buffer, m, what.into.offset);
  return NULL;
}

static zb_status verify_micro_batches(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  parts it = {.plan = plan, .rank = rank};
  if (!zb_sharding_sums_each(plan->sharding)) return NULL;
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_collective *collective =
        rank->jobs[i].collective ? &plan->collectives[rank->jobs[i].collective - 1] : NULL;
    for (uint32_t b = 0; collective && !collective->apart && collective->of_micro_batch && b < collective->sizes.count;
         ++b)
      ZB_TRY_GOTO(verify_added(&it, i, b));
  }
  for (size_t i = 0; i < it.count; ++i)
    if (it.items[i].next != plan->micro_batches)
      ZB_TRY_GOTO(ZB_RULE(sharding, "rank %d: of %d micro-batches the gradients of %d are added up at %" PRIu64,
                          rank->rank, plan->micro_batches, it.items[i].next, it.items[i].into.offset));
cleanup:
  zb_intervals_deinit(&it.taken);
  zb_free(it.items);
  return status;
}

static zb_status verify_sums(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  zb_intervals taken = {0};
  int before = -1;
  for (int i = 0; i < rank->job_count && !status; ++i) {
    const zb_plan_collective *collective =
        rank->jobs[i].collective ? &plan->collectives[rank->jobs[i].collective - 1] : NULL;
    if (!collective || !collective->coordinate || !zb_collective_adds(collective->kind)) continue;
    if (collective->payload == ZB_PAYLOAD_NORMS) continue; /* the rule "norms" */
    if (!collective->of_micro_batch) status = verify_sum(plan, rank, &rank->jobs[i], &taken);
    if (!status) status = verify_level(plan, rank, i, before);
    before = i;
  }
  zb_intervals_deinit(&taken);
  return status;
}

zb_status zb_verify_sharding(const zb_plan *plan) {
  if (plan->sharding == ZB_SHARDING_NONE) return NULL;
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    gather found;
    ZB_TRY(find_gather(plan, rank, &found));
    ZB_TRY(verify_parameters(plan, rank, &found));
    ZB_TRY(verify_order(plan, rank, &found));
    ZB_TRY(verify_sums(plan, rank));
    ZB_TRY(verify_micro_batches(plan, rank));
    if (zb_sharding_of_parameters(plan->sharding)) ZB_TRY(zb_verify_gathered(plan, rank));
  }
  return NULL;
}
