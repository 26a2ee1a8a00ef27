/* What an optimizer scales gradients by: the rule "norms" of the verifier (README.md).
 *
 * The factor that clips is one number on all ranks only if each of them makes it of the same numbers in the same order:
 * one of every trained parameter. So every number that a CLIP reads is followed to the NORM that made it, and to the
 * gradient that this NORM read. Of shards the numbers of parts must have been summed over them on the way, and those of
 * whole gradients must not. So of replicas: where each has a part of a gradient, its number is a sum, in the order of
 * replicas, of what each of them made of its own part of the same gradient. Of shards of such replicas it is the sum
 * over shards of these sums, by whichever job: so bits do not depend on where shards are summed. Of a weighted plan the
 * last two of them are the sum of what its F report of micro-batches.
 *
 * Tests: test/runtime/plan/compiled/clipping_test.c, test/runtime/plan/compiled/gradient_clipping_test.c */
#include <inttypes.h>
#include <string.h>

#include "runtime/base/map.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/proof/sums.h"
#include "runtime/plan/proof/rules.h"

/* What makes a number of the norm. */
typedef struct number {
  const zb_plan_rank *rank;
  zb_sums_place at;
  const char *reduction; /* over shards, on the way to the factor; NULL: none */
  uint64_t inside;       /* of what the instruction gives: where in it the number is */
  int sums, sum;         /* how many collectives sum it over replicas, on the way; 1 + the first of them; 0: none */
  uint32_t buffer;       /* of that one, and where it is in it */
  uint64_t within;
  int summed_at, reduced_at; /* the jobs of that one, and of the NORM that sums it over shards; 0: there is none */
} number;

/* The instruction of a rank that makes the factor; false: it has none. */
static bool find_clip(const zb_plan_rank *rank, zb_sums_place *out) {
  for (out->job = 0; out->job < rank->job_count; ++out->job) {
    if (rank->jobs[out->job].kind != ZB_JOB_CLIP) continue;
    const zb_plan_subprogram *clip = &rank->subprograms[rank->jobs[out->job].subprogram];
    for (out->instruction = 0; out->instruction < clip->instruction_count; ++out->instruction)
      if (strcmp(clip->instructions[out->instruction].op, "clip_scale") == 0) return true;
  }
  return false;
}

/* The place of a byte in an operand of side by side elements; -1: it is elsewhere. */
static int64_t byte_in(const zb_plan *plan, const zb_plan_rank *rank, int job, const zb_plan_operand *operand,
                       uint64_t address) {
  if (operand->rank != 1 || operand->dtype != ZB_F64 || !zb_operand_is_contiguous(operand)) return -1;
  const uint64_t begin = zb_sums_address(plan, rank, job, operand);
  return address >= begin && address - begin < (uint64_t)zb_operand_extent(operand) ? (int64_t)(address - begin) : -1;
}

/* Whether what it gives are numbers of its operands, in their order, or those of all shards. */
static bool hands_on(const zb_plan_instruction *instruction) {
  return strcmp(instruction->op, "all_reduce") == 0 || strcmp(instruction->op, "concat") == 0 ||
         strcmp(instruction->op, "contiguous") == 0;
}

/* Where the number that an instruction of CLIP or NORM gives at byte `at` of its result lies among its operands; false:
 * what it gives is no number of an operand, or of the same one of all shards. */
static bool enter_instruction(const zb_plan *plan, const zb_plan_rank *rank, int job,
                              const zb_plan_instruction *instruction, int64_t at, uint64_t *address,
                              const char **reduction) {
  const bool is_sum = strcmp(instruction->op, "all_reduce") == 0;
  const zb_attrs attrs = {instruction->attrs, instruction->attr_count};
  if (is_sum && *reduction) return false;
  if (is_sum) *reduction = zb_attr_string(&attrs, "reduction", "");
  if (!hands_on(instruction)) return false;
  for (int k = 0; k < instruction->input_count; ++k) {
    const int64_t extent = (int64_t)zb_operand_extent(&instruction->inputs[k]);
    *address = zb_sums_address(plan, rank, job, &instruction->inputs[k]) + (uint64_t)at;
    if (at < extent) return byte_in(plan, rank, job, &instruction->inputs[k], *address) == at;
    at -= extent;
  }
  return false;
}

/* Follows 8 bytes back to the instruction of a NORM that made them, through what a NORM did to them since. */
static bool find_number(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, int before_job, number *out) {
  uint64_t within;
  out->rank = rank;
  out->at = (zb_sums_place){.job = before_job};
  out->reduced_at = 0;
  while (zb_sums_maker(it, rank, address, &out->at, &within)) {
    if (rank->jobs[out->at.job].kind != ZB_JOB_NORM) return false;
    const zb_plan_instruction *made = zb_sums_instruction(rank, out->at);
    out->inside = within;
    if (!hands_on(made)) return true;
    if (strcmp(made->op, "all_reduce") == 0) out->reduced_at = out->at.job;
    if (!enter_instruction(it->plan, rank, out->at.job, made, (int64_t)within, &address, &out->reduction)) return false;
  }
  return false;
}

static bool lies_in(uint64_t address, zb_plan_range range) {
  return address >= range.offset && address - range.offset < range.bytes;
}

/* Where the rank that gave 8 bytes to a gather has them, and the job by which it gave them; false: the rank has them
 * from no other. */
static bool leave_gather(const zb_plan *plan, const zb_plan_rank **rank, int *job, uint64_t *address) {
  const int index = (*rank)->jobs[*job].collective;
  const zb_plan_collective *collective = &plan->collectives[index - 1];
  const zb_plan_range *parts = (*rank)->pool_ranges + (*rank)->jobs[*job].parts.begin;
  for (uint32_t m = 0, p = 0; m < collective->counts.count; ++m) {
    const zb_plan_rank *from = &plan->ranks[plan->pool_u64[collective->members.begin + m]];
    const uint32_t end = p + (uint32_t)plan->pool_u64[collective->counts.begin + m];
    for (; p < end; ++p) {
      if (from == *rank || !lies_in(*address, parts[p])) continue;
      const zb_plan_job *sent = zb_sums_job(from, -1, index);
      *address = from->pool_ranges[sent->parts.begin + p].offset + (*address - parts[p].offset);
      *rank = from;
      *job = (int)(sent - from->jobs);
      return true;
    }
  }
  return false;
}

/* Notes that the collective of a job sums what the rank has there; false: it does not. */
static bool note_sum(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job, uint64_t address,
                     number *out) {
  const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
  if (!zb_collective_adds(collective->kind) || collective->payload != ZB_PAYLOAD_NORMS) return false;
  for (uint32_t b = 0; b < collective->sizes.count; ++b) {
    const zb_plan_range buffer = rank->pool_ranges[job->parts.begin + b];
    if (!lies_in(address, buffer)) continue;
    out->sum = job->collective;
    out->buffer = b;
    out->within = address - buffer.offset;
    out->summed_at = (int)(job - rank->jobs);
    ++out->sums;
    return true;
  }
  return false;
}

/* Follows 8 bytes that the CLIP at job `clip` reads to what made them, through what was done to them last first: a
 * gather that brought them from another rank, sums over replicas. */
static bool trace_number(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, int clip, number *out) {
  const char *reduction = out->reduction;
  int job = clip;
  bool made = find_number(it, rank, address, job, out);
  while (--job >= 0 && !(made && job == out->at.job)) {
    if (!rank->jobs[job].collective || note_sum(it->plan, rank, &rank->jobs[job], address, out)) continue;
    if (!leave_gather(it->plan, &rank, &job, &address)) continue;
    out->reduction = reduction;
    made = find_number(it, rank, address, job, out);
  }
  return made;
}

/* Follows 8 bytes that the instruction `clip` reads: through what CLIP does before, then to what made them. */
static bool follow_number(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place clip,
                          number *out) {
  const char *reduction = NULL;
  for (zb_sums_place at = clip; --at.instruction >= 0;) {
    const zb_plan_instruction *instruction = zb_sums_instruction(rank, at);
    for (int k = 0; k < instruction->output_count; ++k) {
      const int64_t byte = byte_in(it->plan, rank, at.job, &instruction->outputs[k], address);
      if (byte < 0) continue;
      if (!enter_instruction(it->plan, rank, at.job, instruction, byte, &address, &reduction)) return false;
      break;
    }
  }
  *out = (number){.reduction = reduction};
  return trace_number(it, rank, address, clip.job, out);
}

static const zb_attr *attr_of(const zb_plan_instruction *instruction, const char *name) {
  return zb_attr_find(&(zb_attrs){instruction->attrs, instruction->attr_count}, name);
}

static double scale_of(const zb_plan_instruction *instruction, const char *name) {
  const zb_attr *attr = attr_of(instruction, name);
  return attr ? attr->f : 1;
}

/* The parameter whose gradient, as its update takes it, the number is made of; NULL: it is of none. */
static zb_status find_gradient(const zb_sums *it, const number *made, const zb_plan_parameter **out) {
  const zb_plan_instruction *instruction = zb_sums_instruction(made->rank, made->at);
  const uint64_t address = zb_sums_address(it->plan, made->rank, made->at.job, &instruction->inputs[0]);
  zb_sums_list read = {0}, added = {0};
  *out = NULL;
  for (int i = 0; i < made->rank->parameter_count && !*out; ++i) {
    const zb_plan_parameter *parameter = &made->rank->parameters[i];
    zb_sums_place updated = {.job = made->rank->job_count};
    const zb_shape whole = zb_plan_shape_of_replicas(&parameter->tensor);
    const uint64_t bytes = zb_plan_sums_of_parts(it->plan) ? zb_plan_part_bytes(&whole, it->plan->derived.parts)
                                                           : (uint64_t)zb_shape_bytes(&parameter->tensor.shape);
    if (!parameter->trained || parameter->gradient_offset != (int64_t)address ||
        (uint64_t)zb_operand_extent(&instruction->inputs[0]) != bytes ||
        !zb_sums_writer(it, made->rank, parameter->tensor.offset, &updated))
      continue;
    zb_sums_added_at(it, made->rank, made->at, &read);
    zb_sums_added(it, made->rank, parameter, &added);
    if (zb_sums_same(&read, &added) &&
        scale_of(instruction, "scale") == scale_of(zb_sums_instruction(made->rank, updated), "gradient_scale"))
      *out = parameter;
  }
  const bool failed = read.failed || added.failed;
  zb_free(read.items);
  zb_free(added.items);
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* What a replica gives to the sum of a number; false: no NORM made it. */
static bool find_part(const zb_sums *it, const number *made, int member, number *out) {
  const zb_plan *plan = it->plan;
  const uint64_t *members = plan->pool_u64 + plan->collectives[made->sum - 1].members.begin;
  const zb_plan_rank *rank = &plan->ranks[members[member]];
  const zb_plan_job *job = zb_sums_job(rank, -1, made->sum);
  const uint64_t address = rank->pool_ranges[job->parts.begin + made->buffer].offset + made->within;
  *out = (number){0};
  return zb_plan_replica_of(plan, rank->rank) == member && find_number(it, rank, address, (int)(job - rank->jobs), out);
}

/* Whether the number is one sum over all replicas of its rank. */
static bool is_of_replicas(const zb_plan *plan, const number *made) {
  const zb_plan_collective *collective = made->sum ? &plan->collectives[made->sum - 1] : NULL;
  return made->sums == 1 && collective->members.count == (uint32_t)zb_plan_mesh(plan) && collective->dtype == ZB_F64 &&
         made->within % sizeof(double) == 0;
}

/* What a replica gives to the sum of a number: of its own part of the same gradient. *fault: what is wrong, or NULL. */
static zb_status verify_part(const zb_sums *it, const number *made, int member, const char *op, const char *name,
                             const char **fault) {
  const zb_plan_parameter *parameter = NULL;
  number part;
  *fault = "to which a replica gives what is not of its part";
  if (!find_part(it, made, member, &part) || part.inside != 0 ||
      strcmp(zb_sums_instruction(part.rank, part.at)->op, op) != 0)
    return NULL;
  ZB_TRY(find_gradient(it, &part, &parameter));
  if (parameter && strcmp(parameter->tensor.name, name) == 0) *fault = NULL;
  return NULL;
}

/* Of replicas that have a part of each gradient, a number is one sum of what all of them made, in their order (the
 * greatest, where the norm is that); else it is the same on all of them. */
static zb_status verify_replicas(const zb_sums *it, const number *made, int64_t k, const char *op, const char *name) {
  const zb_plan *plan = it->plan;
  const zb_plan_collective *collective = made->sum ? &plan->collectives[made->sum - 1] : NULL;
  const char *fault = NULL;
  if (!zb_plan_sums_of_parts(plan))
    fault = made->sums ? "which is whole on every replica, and is counted once a replica" : NULL;
  else if (!is_of_replicas(plan, made) || (collective->greatest != 0) != (strcmp(op, "abs_max") == 0))
    fault = "of which every replica has a part, and is not of all parts";
  else if (made->reduced_at && made->reduced_at < made->summed_at)
    fault = "which is summed over shards before it is summed over replicas";
  for (int m = 0; m < zb_plan_mesh(plan) && zb_plan_sums_of_parts(plan) && !fault; ++m)
    ZB_TRY(verify_part(it, made, m, op, name, &fault));
  if (!fault) return NULL;
  return ZB_RULE(norms, "rank %d: number %" PRId64 " of the norm is of '%s', %s", made->rank->rank, k, name, fault);
}

/* ---- The weight of a step ---- */

typedef struct weight {
  zb_sums_list sum; /* of the first rank */
  bool *shown;      /* [rank] that a sum of it is that of what its F report */
} weight;

/* Whether the instruction casts a pair; where replicas have parts, the part in which it is, or behind it. */
static bool casts_pair(const zb_plan *plan, const zb_plan_instruction *cast) {
  const zb_plan_operand *in = &cast->inputs[0], *out = &cast->outputs[0];
  const zb_shape pair = {.dtype = ZB_F32, .rank = 1, .dims = {ZB_WEIGHT_NUMBERS}};
  if (strcmp(cast->op, "cast") != 0) return false;
  if (!zb_plan_sums_of_parts(plan)) return zb_weight_is_pair(in, ZB_F32) && zb_weight_is_pair(out, ZB_F64);
  return in->rank == 1 && in->dtype == ZB_F32 && zb_operand_is_contiguous(in) && out->rank == 1 &&
         out->dtype == ZB_F64 && out->shape[0] == in->shape[0] &&
         (uint64_t)zb_operand_extent(in) == zb_plan_part_bytes(&pair, plan->derived.parts);
}

/* Whether number k of the pair is the sum of what each replica has at that place of its part of one sum: those behind
 * the first one have zeros there. With the greatest norm it is the greatest of them, which is the weight, or says as it
 * does that there is none. */
static bool is_pair_of_parts(const zb_sums *it, const number *made) {
  const zb_plan_instruction *cast = zb_sums_instruction(made->rank, made->at);
  const uint64_t address = zb_sums_address(it->plan, made->rank, made->at.job, &cast->inputs[0]);
  if (!is_of_replicas(it->plan, made)) return false;
  for (int m = 0; m < zb_plan_mesh(it->plan); ++m) {
    number part;
    if (!find_part(it, made, m, &part) || part.inside != made->inside) return false;
    const zb_plan_instruction *other = zb_sums_instruction(part.rank, part.at);
    if (!casts_pair(it->plan, other) || zb_sums_address(it->plan, part.rank, part.at.job, &other->inputs[0]) != address)
      return false;
  }
  return true;
}

/* Whether two numbers that the instruction `clip` reads side by side are those of one cast of a pair, handed on as they
 * are: on all shards the same, and on replicas, or of parts the sum. */
static bool follow_pair(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place clip,
                        number *out) {
  for (int k = 0; k < ZB_WEIGHT_NUMBERS; ++k) {
    number made;
    if (!follow_number(it, rank, address + (uint64_t)k * sizeof(double), clip, &made) || made.reduction ||
        made.inside != (uint64_t)k * sizeof(double))
      return false;
    if (zb_plan_sums_of_parts(it->plan) ? !is_pair_of_parts(it, &made) : made.sums > 0) return false;
    if (k > 0 && (made.rank != out->rank || made.at.job != out->at.job || made.at.instruction != out->at.instruction))
      return false;
    *out = made;
  }
  return casts_pair(it->plan, zb_sums_instruction(out->rank, out->at));
}

/* The last two numbers that the CLIP of a rank reads, at `address`, are the sum of the losses and weights of all
 * micro-batches: the same one on all ranks. */
static zb_status verify_weight(const zb_sums *it, const zb_plan_rank *rank, zb_sums_place clip, uint64_t address,
                               weight *all) {
  number made;
  zb_sums_list here = {0};
  if (!follow_pair(it, rank, address, clip, &made))
    return ZB_RULE(norms, "rank %d: the weight of the step is not what one cast of a NORM makes of a sum", rank->rank);
  const zb_plan_operand *sum = &zb_sums_instruction(made.rank, made.at)->inputs[0];
  zb_sums_added_at(it, made.rank, made.at, &here);
  const bool known = all->sum.count > 0, same = !known || zb_sums_same(&all->sum, &here);
  bool *shown = &all->shown[made.rank->rank];
  *shown = here.count == 1 && (*shown || zb_weight_is_reported(it->plan, made.rank,
                                                               zb_sums_address(it->plan, made.rank, made.at.job, sum)));
  zb_status status = here.failed ? ZB_OUT_OF_MEMORY() : NULL;
  if (!status && (!*shown || !same))
    status =
        ZB_RULE(norms, "rank %d: the weight of the step is %s", rank->rank,
                *shown ? "another sum than that of another rank" : "no sum of what F reports of every micro-batch");
  if (status || known)
    zb_free(here.items);
  else
    all->sum = here;
  return status;
}

/* ---- All ---- */

/* The numbers that the CLIP of a rank reads are of the parameters of `order`, which the first rank fills. */
static zb_status verify_numbers(const zb_sums *it, const zb_plan_rank *rank, zb_sums_place clip, bool first,
                                zb_map *order, int *count, weight *all) {
  const zb_plan_instruction *instruction = zb_sums_instruction(rank, clip);
  const zb_plan_operand *parts = &instruction->inputs[0];
  const zb_attrs attrs = {instruction->attrs, instruction->attr_count};
  const uint64_t begin = zb_sums_address(it->plan, rank, clip.job, parts);
  const bool greatest = strcmp(zb_attr_string(&attrs, "norm_type", "2"), "inf") == 0, weighted = it->plan->weighted;
  const char *op = greatest ? "abs_max" : "square_sum";
  const int64_t vector = parts->rank == 1 && zb_operand_is_contiguous(parts) ? parts->shape[0] : 0;
  const int64_t numbers = vector - (weighted ? ZB_WEIGHT_NUMBERS : 0);
  if (zb_attr_bool(&attrs, "weighted", false) != weighted || numbers < 0)
    return ZB_RULE(norms, "rank %d: CLIP %s by a weight", rank->rank, weighted ? "does not divide" : "divides");
  if (weighted) ZB_TRY(verify_weight(it, rank, clip, begin + (uint64_t)numbers * sizeof(double), all));
  if (!first && numbers != *count)
    return ZB_RULE(norms, "rank %d makes the norm of %" PRId64 " numbers, another rank of %d", rank->rank, numbers,
                   *count);
  for (int64_t k = 0; k < numbers; ++k) {
    const zb_plan_parameter *parameter = NULL;
    number made;
    int64_t place_in_order = k;
    if (!follow_number(it, rank, begin + (uint64_t)k * sizeof(double), clip, &made) || made.inside != 0 ||
        strcmp(zb_sums_instruction(made.rank, made.at)->op, op) != 0)
      return ZB_RULE(norms, "rank %d: no %s of a NORM makes number %" PRId64 " of the norm", rank->rank, op, k);
    ZB_TRY(find_gradient(it, &made, &parameter));
    if (!parameter)
      return ZB_RULE(norms, "rank %d: number %" PRId64 " of the norm is not of a gradient as its update takes it",
                     rank->rank, k);
    if (weighted && scale_of(zb_sums_instruction(made.rank, made.at), "scale") != 1)
      return ZB_RULE(norms, "rank %d: '%s' is scaled, and divided by a weight", rank->rank, parameter->tensor.name);
    const char *reduction = parameter->tensor.cut ? greatest ? "max" : "sum" : "";
    if (strcmp(made.reduction ? made.reduction : "", reduction) != 0)
      return ZB_RULE(norms, "rank %d: number %" PRId64 " of the norm is of '%s', %s", rank->rank, k,
                     parameter->tensor.name,
                     *reduction ? "of which every shard has a part, and is not of all parts"
                                : "which is whole on every shard, and is counted once a shard");
    ZB_TRY(verify_replicas(it, &made, k, op, parameter->tensor.name));
    const bool known = zb_map_get(order, parameter->tensor.name, &place_in_order);
    if (known == first || place_in_order != k)
      return ZB_RULE(norms, "rank %d: number %" PRId64 " of the norm is of '%s', which %s", rank->rank, k,
                     parameter->tensor.name, first ? "is in it twice" : "has another place in that of another rank");
    if (first && !zb_map_set(order, parameter->tensor.name, k)) return ZB_OUT_OF_MEMORY();
  }
  *count = (int)numbers;
  return NULL;
}

/* Every parameter that is updated is in the norm, and its update takes the factor of its own rank. */
static zb_status verify_factors(const zb_sums *it, const zb_plan_rank *rank, const zb_sums_place *clip,
                                const zb_map *order) {
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    zb_sums_place updated = {.job = rank->job_count};
    if (!parameter->trained || parameter->gradient_offset < 0 ||
        !zb_sums_writer(it, rank, parameter->tensor.offset, &updated))
      continue;
    if (!zb_map_get(order, parameter->tensor.name, NULL))
      return ZB_RULE(norms, "rank %d: the gradient of '%s' is not in the norm", rank->rank, parameter->tensor.name);
    const zb_plan_instruction *instruction = zb_sums_instruction(rank, updated);
    bool takes = false;
    for (int k = 0; k < instruction->input_count && clip && !takes; ++k) {
      zb_sums_place writer = updated;
      const zb_plan_operand *operand = &instruction->inputs[k];
      if (operand->rank < 0) continue;
      const uint64_t address = zb_sums_address(it->plan, rank, updated.job, operand);
      takes = zb_sums_writer(it, rank, address, &writer) && writer.job == clip->job &&
              writer.instruction == clip->instruction &&
              zb_sums_address(it->plan, rank, writer.job, &zb_sums_instruction(rank, writer)->outputs[0]) == address;
    }
    if (!takes)
      return ZB_RULE(norms, "rank %d: the update of '%s' does not take the factor that CLIP makes", rank->rank,
                     parameter->tensor.name);
  }
  return NULL;
}

/* Its greatest norm is the setting of the run, which is one number on all ranks. */
static bool takes_max_norm(const zb_plan_rank *rank, zb_sums_place clip) {
  const zb_plan_instruction *instruction = zb_sums_instruction(rank, clip);
  for (int i = 0; i < rank->setting_count && instruction->input_count == 3; ++i)
    if (rank->settings[i].kind == ZB_SETTING_MAX_NORM && instruction->inputs[2].base == 0 &&
        instruction->inputs[2].offset == rank->settings[i].offset)
      return rank->settings[i].default_count == 1 && rank->settings[i].defaults[0] > 0;
  return false;
}

zb_status zb_verify_norms(const zb_sums *it) {
  zb_status status = NULL;
  const zb_plan *plan = it->plan;
  zb_map *order = zb_map_create();
  weight all = {.shown = zb_alloc(((size_t)plan->rank_count + 1) * sizeof *all.shown)};
  int count = 0;
  bool first = true;
  if (!order || !all.shown) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int r = 0; r < plan->rank_count; ++r) {
    zb_sums_place clip;
    if (!find_clip(&plan->ranks[r], &clip)) continue;
    if (!takes_max_norm(&plan->ranks[r], clip))
      ZB_TRY_GOTO(ZB_RULE(norms, "rank %d: CLIP does not read the setting max_norm", r));
    ZB_TRY_GOTO(verify_numbers(it, &plan->ranks[r], clip, first, order, &count, &all));
    first = false;
  }
  if (first && plan->weighted) ZB_TRY_GOTO(ZB_RULE(norms, "no CLIP divides by the weight of a step"));
  for (int r = 0; r < plan->rank_count && !first; ++r) {
    zb_sums_place clip;
    const bool clips = find_clip(&plan->ranks[r], &clip);
    ZB_TRY_GOTO(verify_factors(it, &plan->ranks[r], clips ? &clip : NULL, order));
  }

cleanup:
  zb_map_destroy(order);
  zb_free(all.sum.items);
  zb_free(all.shown);
  return status;
}
