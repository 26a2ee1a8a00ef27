/* Well-formedness of plans: runtime/plan/file/check.h.
 *
 * Every number of a plan that is later used as an index, a count or an address is compared here with what it refers to.
 * The checks are in the order in which they need each other: header, regions, tensors, subprograms, jobs.
 *
 * Tests: test/runtime/plan/file/reader_test.c (mutated files), test/runtime/plan/proof/verifier_test.c
 */
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/collective.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/random.h"
#include "runtime/plan/file/container.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"

/* Fails with "rank 1: ..." and the rule's name. */
#define MALFORMED(rank, ...)                                                                                           \
  zb_status_note(ZB_ERROR(INVALID, __VA_ARGS__), "rank %d of the plan, rule \"structure\"", rank)

int64_t zb_operand_extent(const zb_plan_operand *operand) {
  if (operand->rank < 0) return 0;
  int64_t last = 0;
  for (int i = 0; i < operand->rank; ++i) {
    if (operand->shape[i] == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(operand->shape[i] - 1, operand->strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  }
  int64_t extent = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, (int64_t)zb_dtype_bytes(operand->dtype), &extent))
    return -1;
  return extent;
}

bool zb_operand_is_contiguous(const zb_plan_operand *operand) {
  int64_t stride = 1;
  for (int i = 0; i < operand->rank; ++i)
    if (operand->shape[i] == 0) return true; /* it has no elements, whatever its strides are */
  for (int i = operand->rank - 1; i >= 0; --i) {
    if (operand->shape[i] != 1 && operand->strides[i] != stride) return false;
    if (__builtin_mul_overflow(stride, operand->shape[i], &stride)) return false;
  }
  return true;
}

const char *zb_setting_text(const zb_plan_setting *setting, char text[ZB_SETTING_TEXT_BYTES]) {
  const bool named = *setting->name != '\0';
  snprintf(text, ZB_SETTING_TEXT_BYTES, "'%s'%s%s%s", zb_setting_find(setting->kind)->name, named ? " of '" : "",
           setting->name, named ? "'" : "");
  return text;
}

const char *zb_plan_job_text(const zb_plan *plan, int rank, int job, char text[ZB_JOB_TEXT_BYTES]) {
  const zb_plan_job *it = &plan->ranks[rank].jobs[job];
  char detail[64] = "";
  if (it->message >= 0)
    snprintf(detail, sizeof detail, " of message #%d", it->message);
  else if (it->stage >= 0 && it->micro_batch >= 0)
    snprintf(detail, sizeof detail, " of stage %d, micro-batch %d", it->stage, it->micro_batch);
  else if (it->stage >= 0)
    snprintf(detail, sizeof detail, " of stage %d", it->stage);
  else if (it->micro_batch >= 0)
    snprintf(detail, sizeof detail, " of micro-batch %d", it->micro_batch);
  snprintf(text, ZB_JOB_TEXT_BYTES, "rank %d job %d (%s%s)", rank, job, zb_job_mnemonic(it->kind), detail);
  return text;
}

zb_region_kind zb_plan_region_of(const zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    zb_plan_range region = rank->regions[i];
    if (offset < region.offset || bytes > region.bytes || offset - region.offset > region.bytes - bytes) continue;
    if (bytes == 0 && offset == region.offset + region.bytes && region.bytes > 0) continue; /* the next one's start */
    return (zb_region_kind)i;
  }
  return ZB_REGION_COUNT;
}

bool zb_job_waits_for(const zb_plan_rank *rank, const zb_plan_job *job, int other) {
  for (uint32_t w = 0; w < job->waits.count; ++w)
    if (rank->pool_u32[job->waits.begin + w] == (uint32_t)other) return true;
  return false;
}

static bool fits(uint64_t offset, uint64_t bytes, uint64_t limit) { return bytes <= limit && offset <= limit - bytes; }

static bool shape_is_valid(const zb_shape *shape) {
  if ((unsigned)shape->dtype >= ZB_DTYPE_COUNT || shape->rank < 0 || shape->rank > ZB_DIMS_MAX) return false;
  return zb_shape_bytes(shape) >= 0;
}

static bool number_is_valid(double value) { return isfinite(value) && value >= 0; }

/* Returns the fault of the first column whose number is out of its range. 64 bits hold every number of a column. */
#define COLUMN_FAULT(row, name, low, high, fault)                                                                      \
  if ((int64_t)(row)->name < (int64_t)(low) || (int64_t)(row)->name >= (int64_t)(high)) return fault;
#define SLICE_FAULT(row, name, pool, fault)                                                                            \
  if (!fits((row)->name.begin, (row)->name.count, pool)) return fault;

static const char *message_fault(const zb_plan *plan, const zb_plan_message *message) {
#define ZB_MESSAGE_COLUMN(type, name, low, high, fault) COLUMN_FAULT(message, name, low, high, fault)
#include "runtime/plan/file/plan_columns.def"
  return message->source != message->destination ? NULL : "its ranks must be two different ones of the plan";
}

/* Members rise, and every member has its counts and sizes. */
static const char *collective_fault(const zb_plan *plan, const zb_plan_collective *collective) {
#define ZB_COLLECTIVE_COLUMN(type, name, low, high, fault) COLUMN_FAULT(collective, name, low, high, fault)
#define ZB_COLLECTIVE_SLICE(name, pool, fault) SLICE_FAULT(collective, name, pool, fault)
#include "runtime/plan/file/plan_columns.def"
  const uint64_t *members = plan->pool_u64 + collective->members.begin,
                 *counts = plan->pool_u64 + collective->counts.begin;
  const uint64_t *sizes = plan->pool_u64 + collective->sizes.begin;
  bool adds = zb_collective_adds(collective->kind);
  const bool buffers = collective->payload == ZB_PAYLOAD_BUFFERS;
  const bool of_replicas = collective->members.count == 1 && (adds || collective->of_parts || buffers);
  if (collective->coordinate ? !of_replicas : collective->members.count < 2)
    return "it has fewer than two members, or one of replicas does not add, or is of several ranks";
  const bool norms = collective->payload == ZB_PAYLOAD_NORMS;
  if (collective->coordinate &&
      (collective->of_parts != 0) != (plan->sharding != ZB_SHARDING_NONE && !norms && !buffers))
    return "replicas share optimizer state, and it does not move parts of it";
  if (buffers && (adds || (!collective->coordinate && zb_plan_mesh(plan) == 1)))
    return "it carries buffers, and does not bring those of one replica to the others";
  if (collective->greatest && !(adds && norms)) return "it gives the greatest of what are no numbers of the norm";
  const bool each = zb_sharding_sums_each(plan->sharding) && adds && collective->payload == ZB_PAYLOAD_GRADIENTS;
  if (((collective->of_micro_batch > 0) != each && !collective->apart) ||
      (each && collective->kind != ZB_COLLECTIVE_REDUCE_SCATTER))
    return "gradients are summed over replicas for each micro-batch, or once a step, and it does not";
  if ((collective->apart != 0) !=
          (zb_sharding_of_parameters(plan->sharding) && collective->payload == ZB_PAYLOAD_PARAMETERS) ||
      (collective->apart && (adds || !collective->of_parts)))
    return "replicas have a part of every parameter, and it does not gather those apart";
  if (collective->apart && collective->sizes.count % collective->members.count != 0)
    return "its members do not give as many parts each";
  if (collective->of_parts && !collective->coordinate && adds) return "it adds up parts of other ranks";
  for (uint32_t i = 0; i < collective->members.count; ++i)
    if (members[i] >= (uint64_t)plan->rank_count || (i > 0 && members[i] <= members[i - 1]))
      return "its members must be ranks of the plan, rising";
  if (collective->counts.count != (adds ? 0 : collective->members.count)) return "it has not one count a member";
  uint64_t parts = adds ? collective->sizes.count : 0, total = 0;
  for (uint32_t i = 0; i < collective->counts.count; ++i) {
    if (counts[i] > collective->sizes.count) return "a member has more parts than there are";
    parts += counts[i];
  }
  if (parts != collective->sizes.count || parts == 0) return "it has not one size a part";
  for (uint32_t i = 0; i < collective->sizes.count; ++i)
    if (sizes[i] == 0 || sizes[i] > INT64_MAX || __builtin_add_overflow(total, sizes[i], &total) || total > INT64_MAX ||
        (adds && sizes[i] % (uint64_t)zb_dtype_bytes(collective->dtype) != 0))
      return "a part has no valid size";
  return NULL;
}

static zb_status check_transfers(const zb_plan *plan) {
  for (int i = 0; i < plan->message_count; ++i) {
    const char *fault = message_fault(plan, &plan->messages[i]);
    if (fault) return ZB_ERROR(INVALID, "message #%d is malformed: %s", i, fault);
  }
  for (int i = 0; i < plan->collective_count; ++i) {
    const char *fault = collective_fault(plan, &plan->collectives[i]);
    if (!fault && i > 0 && plan->collectives[i].before < plan->collectives[i - 1].before)
      fault = "it stands in the list before one that comes earlier";
    const bool evaluates = i >= plan->collective_count - plan->evaluation_collectives;
    if (!fault && evaluates && !plan->collectives[i].apart) fault = "an evaluation gathers parameters alone";
    if (!fault && !evaluates && plan->collectives[i].before > plan->message_count - plan->evaluation_messages)
      fault = "it stands among the messages of an evaluation";
    if (!fault && evaluates && plan->collectives[i].before < plan->message_count - plan->evaluation_messages)
      fault = "it is of an evaluation, and stands among the messages of a step";
    if (fault) return ZB_ERROR(INVALID, "collective %d is malformed: %s", i, fault);
  }
  return NULL;
}

/* A batch that has its arrays in the order of arguments means the same whoever reads the plan. */
static zb_status check_arguments(const zb_plan *plan) {
  zb_arena arena = {0};
  zb_map *places = zb_arena_map(&arena);
  zb_status status = NULL;
  for (int i = 0; i < plan->argument_count; ++i) {
    if (places && zb_map_get(places, plan->arguments[i], NULL))
      ZB_TRY_GOTO(ZB_ERROR(INVALID, "two arguments of the plan are named '%s'", plan->arguments[i]));
    zb_arena_map_set(&arena, places, plan->arguments[i], i);
  }
  ZB_TRY_GOTO(zb_arena_status(&arena));
  int64_t before = -1;
  for (int i = 0; i < plan->input_count; ++i) {
    const char *name = plan->inputs[i].name;
    if (strcmp(name, ZB_COUNTER_INPUT) == 0) continue;
    const int64_t place = zb_map_get_or(places, name, -1);
    if (place <= before)
      ZB_TRY_GOTO(ZB_ERROR(INVALID, "input '%s' of the plan %s", name,
                           place < 0 ? "is none of its arguments" : "does not stand in the order of its arguments"));
    before = place;
  }
cleanup:
  zb_arena_deinit(&arena);
  return status ? zb_status_note(status, "the plan, rule \"arguments\"") : NULL;
}

zb_status zb_plan_check_header(const zb_plan *plan) {
  if (plan->rank_count < 1 || plan->rank_count > ZB_PLAN_RANKS_MAX)
    return ZB_ERROR(INVALID, "the plan has %d ranks, expected 1 to %d", plan->rank_count, ZB_PLAN_RANKS_MAX);
  if (plan->stage_count < 1 || plan->micro_batches < 1 || plan->chunk_count < 1)
    return ZB_ERROR(INVALID, "the plan has %d stages, %d chunks, %d micro-batches: each must be at least 1",
                    plan->stage_count, plan->chunk_count, plan->micro_batches);
  if (plan->replicas < 0 || plan->replicas > ZB_PLAN_REPLICAS_MAX ||
      (int64_t)zb_plan_replicas(plan) * plan->micro_batches > INT32_MAX)
    return ZB_ERROR(INVALID, "the plan has %d replicas of %d micro-batches, expected 1 to %d of them", plan->replicas,
                    plan->micro_batches, ZB_PLAN_REPLICAS_MAX);
  if ((unsigned)plan->sharding >= ZB_SHARDING_COUNT ||
      (plan->sharding != ZB_SHARDING_NONE && zb_plan_replicas(plan) * zb_plan_mesh(plan) == 1))
    return ZB_ERROR(INVALID, "the plan shares state in a way that is not known, or has one replica alone");
  if (plan->sum_groups < 0 || (plan->sum_groups > 1 && plan->micro_batches % plan->sum_groups != 0))
    return ZB_ERROR(INVALID, "the plan has %d groups of its %d micro-batches, expected a divisor", plan->sum_groups,
                    plan->micro_batches);
  if (plan->sum_inner < 0 || plan->sum_inner > (plan->sum_groups > 1))
    return ZB_ERROR(INVALID, "the plan sums %d groups of micro-batches in an order that is not known",
                    plan->sum_groups);
  if (plan->sum_groups > 1 && zb_plan_replicas(plan) > 1)
    return ZB_ERROR(INVALID, "the plan has %d groups of micro-batches and %d replicas, which have none",
                    plan->sum_groups, plan->replicas);
  if (plan->shards < 0 || plan->shards > ZB_PLAN_SHARDS_MAX)
    return ZB_ERROR(INVALID, "the plan has %d shards, expected 1 to %d", plan->shards, ZB_PLAN_SHARDS_MAX);
  if (plan->shard_sum_count != (zb_plan_shards(plan) > 1 ? 2 * plan->rank_count : 0))
    return ZB_ERROR(INVALID, "the plan says of %d ranks how many sums over shards they make, it has %d and %d shards",
                    plan->shard_sum_count / 2, plan->rank_count, plan->shards);
  for (int i = 0; i < plan->shard_sum_count; ++i)
    if (plan->shard_sums[i] < 0)
      return ZB_ERROR(INVALID, "rank %d makes %d sums over shards", i / 2, plan->shard_sums[i]);
  for (int i = 0; i < plan->stage_count; ++i)
    if (plan->stage_rank[i] < 0 || plan->stage_rank[i] >= plan->rank_count)
      return ZB_ERROR(INVALID, "stage %d is on rank %d, the plan has %d ranks", i, plan->stage_rank[i],
                      plan->rank_count);
  for (int i = 0; i < plan->input_count; ++i)
    if (!shape_is_valid(&plan->inputs[i].shape))
      return ZB_ERROR(INVALID, "input '%s' has no valid shape", plan->inputs[i].name);
  ZB_TRY(check_arguments(plan));
  if (plan->output_count < 0) return ZB_ERROR(INVALID, "the plan has %d outputs", plan->output_count);
  for (int i = 0; i < plan->output_count; ++i)
    if (!shape_is_valid(&plan->outputs[i].shape))
      return ZB_ERROR(INVALID, "output '%s' has no valid shape", plan->outputs[i].name);
  bool times = plan->link_latency_ps >= 0 && plan->link_wake_ps >= 0 && plan->job_ps >= 0 && plan->read_ps >= 0 &&
               plan->step_ps >= 0;
  if (!times || !number_is_valid(plan->link_ps_per_byte) || !number_is_valid(plan->copy_ps_per_byte))
    return ZB_ERROR(INVALID, "the costs of messages, jobs and steps must be numbers >= 0");
  if (plan->evaluation_messages < 0 || plan->evaluation_messages > (plan->evaluates ? plan->message_count : 0))
    return ZB_ERROR(INVALID, "the plan has %d messages, and %d of them are said to be of an evaluation",
                    plan->message_count, plan->evaluation_messages);
  if (plan->evaluation_collectives < 0 || plan->evaluation_collectives > (plan->evaluates ? plan->collective_count : 0))
    return ZB_ERROR(INVALID, "the plan has %d collectives, and %d of them are said to be of an evaluation",
                    plan->collective_count, plan->evaluation_collectives);
  if (plan->inference && !plan->evaluates && plan->derived.list == ZB_LIST_STEP && plan->output_count)
    return ZB_ERROR(INVALID, "the plan is for inference, but has no evaluation");
  if (plan->output_count && !plan->evaluates && plan->derived.list != ZB_LIST_EVALUATION)
    return ZB_ERROR(INVALID, "the plan has outputs, but no evaluation");
  return check_transfers(plan);
}

/* ---- One rank ---- */

static zb_status check_regions(const zb_plan_rank *rank) {
  if (rank->arena_bytes > INT64_MAX) return MALFORMED(rank->rank, "the arena is larger than 2^63 bytes");
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    if (!fits(rank->regions[i].offset, rank->regions[i].bytes, rank->arena_bytes))
      return MALFORMED(rank->rank, "the region %s ends outside of the arena of %" PRIu64 " bytes",
                       zb_region_name((zb_region_kind)i), rank->arena_bytes);
  const zb_plan_range of_evaluation[] = {rank->evaluation_slots, rank->evaluation_workspace};
  for (int i = 0; i < 2; ++i) {
    const bool none = of_evaluation[i].offset == 0 && of_evaluation[i].bytes == 0;
    if (!fits(of_evaluation[i].offset, of_evaluation[i].bytes, rank->arena_bytes) || (!none && !rank->evaluation_count))
      return MALFORMED(rank->rank,
                       "the region %s of an evaluation ends outside of the arena, or there is no evaluation",
                       zb_region_name(i ? ZB_REGION_WORKSPACE : ZB_REGION_SLOTS));
  }
  return NULL;
}

/* The part that every replica has of what its shard has. */
static bool flat_is_valid(const zb_plan *plan, const zb_plan_tensor *tensor) {
  if (!tensor->flat) return tensor->dim_count == 0;
  if (plan->sharding == ZB_SHARDING_NONE || tensor->dim_count < 0 || tensor->dim_count > ZB_DIMS_MAX) return false;
  const zb_shape all = zb_plan_shape_of_replicas(tensor);
  return shape_is_valid(&all) && tensor->shape.rank == 1 &&
         (uint64_t)zb_shape_bytes(&tensor->shape) ==
             zb_plan_part_bytes(&all, zb_plan_replicas(plan) * zb_plan_mesh(plan));
}

/* The part that every shard has of a tensor: of each of its runs as much. One run alone may be padded. */
static bool cut_is_valid(const zb_plan *plan, const zb_plan_tensor *tensor) {
  const int shards = zb_plan_shards(plan) * zb_plan_shard_mesh(plan);
  int64_t part = 0, whole = 0;
  if (!flat_is_valid(plan, tensor)) return false;
  if (tensor->cut == 0) return tensor->run_count == 0;
  const zb_shape own = zb_plan_shape_of_replicas(tensor);
  if (tensor->cut < 0 || tensor->cut > own.rank || tensor->run_count < 1 || tensor->run_count > ZB_PLAN_RUNS_MAX ||
      shards == 1)
    return false;
  for (int i = 0; i < tensor->run_count; ++i) {
    const int64_t run = tensor->runs[i];
    if (run < 1 || run > INT32_MAX || (run % shards != 0 && tensor->run_count > 1)) return false;
    part += (run + shards - 1) / shards;
    whole += run;
  }
  const zb_shape shape = zb_plan_whole_shape(tensor);
  return part == own.dims[tensor->cut - 1] && whole <= INT32_MAX && shape_is_valid(&shape);
}

/* has_digest: its value is in a file beside the plan, and the plan says which value. */
static zb_status check_tensor(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_tensor *tensor,
                              bool has_digest) {
  if (!shape_is_valid(&tensor->shape)) return MALFORMED(rank->rank, "tensor '%s' has no valid shape", tensor->name);
  if (!cut_is_valid(plan, tensor)) return MALFORMED(rank->rank, "tensor '%s' is no part of a whole one", tensor->name);
  if (!fits(tensor->offset, (uint64_t)zb_shape_bytes(&tensor->shape), rank->arena_bytes))
    return MALFORMED(rank->rank, "tensor '%s' ends outside of the arena", tensor->name);
  if ((tensor->digest != 0) != has_digest)
    return MALFORMED(rank->rank, "tensor '%s' has %s of its value, expected %s", tensor->name,
                     tensor->digest ? "a digest" : "no digest", has_digest ? "one" : "none");
  return NULL;
}

static zb_status check_tensors(const zb_plan *plan, const zb_plan_rank *rank) {
  for (int i = 0; i < rank->state_count; ++i)
    ZB_TRY(check_tensor(plan, rank, &rank->states[i], false));
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    ZB_TRY(check_tensor(plan, rank, &parameter->tensor, plan->value_digests));
    if (parameter->state_begin < 0 || parameter->state_count < 0 ||
        parameter->state_begin > rank->state_count - parameter->state_count)
      return MALFORMED(rank->rank, "parameter '%s' refers to states that are not there", parameter->tensor.name);
    uint64_t bytes = (uint64_t)zb_shape_bytes(&parameter->tensor.shape);
    if (parameter->gradient_offset < -1 ||
        (parameter->gradient_offset >= 0 && !fits((uint64_t)parameter->gradient_offset, bytes, rank->arena_bytes)))
      return MALFORMED(rank->rank, "the gradient of parameter '%s' is outside of the arena", parameter->tensor.name);
  }
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_constant *constant = &rank->constants[i];
    ZB_TRY(check_tensor(plan, rank, &constant->tensor, plan->value_digests && !constant->computed && !constant->bytes));
    if (constant->bytes && constant->byte_count != (uint64_t)zb_shape_bytes(&constant->tensor.shape))
      return MALFORMED(rank->rank, "constant '%s' has %" PRIu64 " bytes, its shape needs %" PRId64,
                       constant->tensor.name, constant->byte_count, zb_shape_bytes(&constant->tensor.shape));
  }
  return NULL;
}

static zb_status check_settings(const zb_plan_rank *rank) {
  char text[ZB_SETTING_TEXT_BYTES];
  for (int i = 0; i < rank->setting_count; ++i) {
    const zb_plan_setting *setting = &rank->settings[i];
    const zb_setting_def *def = zb_setting_find(setting->kind);
    if (!def) return MALFORMED(rank->rank, "setting %d is of no kind that is known", i);
    zb_setting_text(setting, text);
    if (setting->default_count != def->values)
      return MALFORMED(rank->rank, "the setting %s has %d values, expected %d", text, setting->default_count,
                       def->values);
    if (setting->offset % sizeof(double) != 0 ||
        !fits(setting->offset, (uint64_t)def->values * sizeof(double), rank->arena_bytes))
      return MALFORMED(rank->rank, "the setting %s is not aligned to 8 bytes, or ends outside of the arena", text);
    if (setting->own >> def->values != 0)
      return MALFORMED(rank->rank, "the setting %s has own numbers that are not there", text);
    for (int k = 0; k < def->values; ++k)
      if (!number_is_valid(setting->defaults[k]) &&
          !(setting->kind == ZB_SETTING_MAX_NORM && setting->defaults[k] > 0)) /* infinity: nothing is clipped */
        return MALFORMED(rank->rank, "the setting %s: its values must be numbers >= 0", text);
  }
  return NULL;
}

static const char *operand_fault(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                                 const zb_plan_operand *operand, bool is_output) {
  if (operand->rank == -1) return is_output ? "a result is absent" : NULL;
  if ((unsigned)operand->dtype >= ZB_DTYPE_COUNT) return "an operand's dtype is not known";
  if (operand->rank < 0 || operand->rank > ZB_DIMS_MAX) return "an operand's rank is out of range";
  for (int i = 0; i < operand->rank; ++i)
    if (operand->shape[i] < 0 || operand->strides[i] < 0) return "an operand has a negative dimension or stride";
  if (operand->base > (uint32_t)subprogram->base_count) return "an operand refers to a base that is not there";
  int64_t extent = zb_operand_extent(operand);
  uint64_t limit = operand->base == 0 ? rank->arena_bytes : subprogram->base_bytes[operand->base - 1];
  if (extent < 0 || !fits(operand->offset, (uint64_t)extent, limit)) return "an operand ends outside of its base";
  int64_t elements = 1; /* a broadcast can have more elements than any memory */
  for (int i = 0; i < operand->rank; ++i)
    if (__builtin_mul_overflow(elements, operand->shape[i], &elements)) return "an operand's size overflows";
  if (is_output && !zb_operand_is_contiguous(operand)) return "a result is not contiguous";
  return operand->offset % zb_dtype_bytes(operand->dtype) == 0 ? NULL : "an operand is not aligned to its element";
}

static const char *instruction_fault(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                                     const zb_plan_instruction *instruction) {
  if (instruction->op[0] == '\0') return "an instruction has no op";
  for (int i = 0; i < instruction->input_count; ++i) {
    const char *fault = operand_fault(rank, subprogram, &instruction->inputs[i], false);
    if (fault) return fault;
  }
  for (int i = 0; i < instruction->output_count; ++i) {
    const char *fault = operand_fault(rank, subprogram, &instruction->outputs[i], true);
    if (fault) return fault;
  }
  for (int i = 0; i < instruction->attr_count; ++i) {
    const zb_attr *attr = &instruction->attrs[i];
    if (attr->kind > ZB_ATTR_STRING || attr->count < 0) return "an attribute has no valid kind";
  }
  if (instruction->accumulate && instruction->output_count < 1) return "it accumulates but has no result";
  if (!number_is_valid(instruction->flops) || !number_is_valid(instruction->product_flops)) return "flops must be >= 0";
  if (instruction->time_ps < 0) return "its time must be >= 0";
  if (!fits(instruction->scratch_offset, instruction->scratch_bytes, rank->arena_bytes))
    return "its scratch is outside of the arena";
  return NULL;
}

static int sums_between(const zb_plan_subprogram *subprogram, int begin, int end) {
  int count = 0;
  for (int i = begin; i < end; ++i)
    count += zb_collective_of_op(subprogram->instructions[i].op) != ZB_COLLECTIVE_COUNT;
  return count;
}

static const char *segment_fault(const zb_plan_rank *rank, const zb_plan_segment *segment) {
#define ZB_SEGMENT_COLUMN(type, name, low, high, fault) COLUMN_FAULT(segment, name, low, high, fault)
#include "runtime/plan/file/plan_columns.def"
  const zb_plan_subprogram *subprogram = &rank->subprograms[segment->subprogram];
  if (subprogram->kind != ZB_JOB_W) return "its subprogram is no W";
  if (segment->end <= segment->begin || segment->end > subprogram->instruction_count)
    return "its instructions are not those of its subprogram";
  return sums_between(subprogram, segment->begin, segment->end) == 0 ? NULL : "it sums over shards itself";
}

/* Segments of a job: from its first instruction on, one behind the other, beside sums in the order of the list. */
static const char *segments_fault(const zb_plan *plan, const zb_plan_rank *rank, int index) {
  const zb_plan_job *job = &rank->jobs[index];
  const zb_plan_segment *before = NULL;
  if (job->segments.count == 0) return NULL;
  if (zb_plan_shards(plan) == 1) return "it runs beside sums over shards, but the plan has one shard";
  if (job->kind != ZB_JOB_W || index >= zb_plan_step_end(rank)) return "only a W runs beside sums over shards";
  if (job->waits.count > 0) return "it waits, so that nothing of it can run ahead";
  for (uint32_t i = 0; i < job->segments.count; ++i) {
    const zb_plan_segment *segment = &rank->segments[job->segments.begin + i];
    if (segment->subprogram != job->subprogram) return "a segment is of another subprogram";
    const int host = zb_plan_job_before(rank, index, segment->host);
    if (host < 0) return "a segment is in no job before it";
    const zb_plan_subprogram *hosts = &rank->subprograms[rank->jobs[host].subprogram];
    if (segment->sum >= sums_between(hosts, 0, hosts->instruction_count)) return "a segment is beside no sum";
    if (segment->begin != (before ? before->end : 0)) return "its segments are not one behind the other";
    if (before && (segment->host > before->host || (segment->host == before->host && segment->sum <= before->sum)))
      return "its segments are not in the order of the sums that they run beside";
    before = segment;
  }
  return NULL;
}

static uint64_t reported_bytes(const zb_plan *plan, bool of_norm) {
  return of_norm ? sizeof(float) : zb_plan_loss_bytes(plan);
}

static bool loss_fits(const zb_plan *plan, const zb_plan_subprogram *subprogram) {
  const bool gives =
      subprogram->kind == ZB_JOB_F || subprogram->kind == ZB_JOB_EVALUATE || subprogram->kind == ZB_JOB_CLIP;
  if (!gives || subprogram->loss_base > (uint32_t)subprogram->base_count) return false;
  uint64_t limit = subprogram->base_bytes[subprogram->loss_base - 1];
  return fits(subprogram->loss_offset, reported_bytes(plan, subprogram->kind == ZB_JOB_CLIP), limit) &&
         subprogram->loss_offset % sizeof(float) == 0;
}

static bool output_fits(const zb_plan *plan, const zb_plan_subprogram *subprogram, const zb_plan_output_home *home) {
  return subprogram->kind == ZB_JOB_EVALUATE && home->output >= 0 && home->output < plan->output_count &&
         home->base > 0 && home->base <= (uint32_t)subprogram->base_count &&
         fits(home->offset, (uint64_t)zb_shape_bytes(&plan->outputs[home->output].shape),
              subprogram->base_bytes[home->base - 1]);
}

static zb_status check_subprogram(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_subprogram *subprogram) {
  if (!zb_job_is_compute(subprogram->kind))
    return MALFORMED(rank->rank, "subprogram %s is of the kind %s, which does not compute", subprogram->name,
                     zb_job_mnemonic(subprogram->kind));
  if (subprogram->stage < -1 || subprogram->stage >= plan->stage_count)
    return MALFORMED(rank->rank, "subprogram %s is of stage %d, the plan has %d", subprogram->name, subprogram->stage,
                     plan->stage_count);
  if (subprogram->time_ps < 0 || subprogram->first_ps < 0 || !number_is_valid(subprogram->flops) ||
      !number_is_valid(subprogram->product_flops))
    return MALFORMED(rank->rank, "subprogram %s: time and flops must be numbers >= 0", subprogram->name);
  if (subprogram->loss_base && !loss_fits(plan, subprogram))
    return MALFORMED(
        rank->rank,
        "subprogram %s: its loss (or norm) must be %llu bytes of one of its bases, made by an F or E (or CLIP)",
        subprogram->name, (unsigned long long)reported_bytes(plan, subprogram->kind == ZB_JOB_CLIP));
  if (subprogram->output_count < 0)
    return MALFORMED(rank->rank, "subprogram %s has %d outputs", subprogram->name, subprogram->output_count);
  for (int i = 0; i < subprogram->output_count; ++i)
    if (!output_fits(plan, subprogram, &subprogram->outputs[i]))
      return MALFORMED(rank->rank, "subprogram %s: its output %d must lie in one of its bases, made by an E",
                       subprogram->name, i);
  for (int i = 0; i < subprogram->base_count; ++i)
    if (subprogram->base_bytes[i] > rank->arena_bytes)
      return MALFORMED(rank->rank, "subprogram %s: base '%s' is larger than the arena", subprogram->name,
                       subprogram->bases[i]);
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i];
    const char *fault = instruction_fault(rank, subprogram, instruction);
    if (fault)
      return MALFORMED(rank->rank, "subprogram %s, instruction %d (%s, %s): %s", subprogram->name, i, instruction->op,
                       instruction->location[0] ? instruction->location : "no location", fault);
  }
  return NULL;
}

static const char *compute_job_fault(const zb_plan_rank *rank, const zb_plan_job *job) {
  if (job->subprogram < 0 || job->subprogram >= rank->subprogram_count) return "its subprogram is not there";
  const zb_plan_subprogram *subprogram = &rank->subprograms[job->subprogram];
  if (subprogram->kind != job->kind) return "its subprogram is of another kind";
  if (subprogram->stage != job->stage) return "its subprogram is of another stage";
  if (job->bases.count != (uint32_t)subprogram->base_count) return "it does not bring one address a base";
  for (uint32_t i = 0; i < job->bases.count; ++i)
    if (!fits(rank->pool_u64[job->bases.begin + i], subprogram->base_bytes[i], rank->arena_bytes))
      return "a base ends outside of the arena";
  return job->parts.count == 0 ? NULL : "a compute job has no parts";
}

/* The rank is a member, and has a home of the right size for every part. */
static const char *collective_job_fault(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job) {
  const zb_plan_collective *collective = &plan->collectives[job->collective - 1];
  const uint64_t *sizes = plan->pool_u64 + collective->sizes.begin;
  const zb_plan_range *parts = rank->pool_ranges + job->parts.begin;
  bool adds = zb_collective_adds(collective->kind);
  if (zb_collective_member(plan, collective, rank->rank) < 0) return "the rank is no member of its collective";
  if (job->micro_batch >= 0) return "a collective is of no micro-batch";
  if (job->parts.count != zb_collective_job_parts(collective)) return "its parts are not those of its collective";
  for (uint32_t i = 0; i < collective->sizes.count; ++i)
    if (parts[i].bytes != sizes[i]) return "a part is not as large as its collective says";
  const uint64_t replicas = (uint64_t)zb_plan_mesh(plan); /* of whose parts a buffer consists, if they are there */
  for (uint32_t i = 0; collective->apart && i < collective->sizes.count / collective->members.count; ++i)
    if (parts[collective->sizes.count + i].bytes != sizes[i] || sizes[i] % sizeof(float) != 0)
      return "what it gathers is not as large as the own parts";
  for (uint32_t i = 0; adds && collective->of_micro_batch && i < collective->sizes.count; ++i)
    if (parts[collective->sizes.count + 1 + i].bytes * replicas != sizes[i])
      return "what it adds to is not as large as a part";
  if (adds && parts[collective->sizes.count].bytes < zb_collective_landing_bytes(plan, collective))
    return "its room for what others send is too small";
  return NULL;
}

/* What is restored, and the factor that an update takes: a step as f64, and the factor. */
static const char *validation_job_fault(const zb_plan_rank *rank, const zb_plan_job *job) {
  const zb_plan_range region = rank->regions[ZB_REGION_SNAPSHOT];
  if (job->micro_batch >= 0 || job->stage >= 0) return "it is of no stage and no micro-batch";
  if (job->parts.count == 0) return "it has no parts";
  if (job->kind == ZB_JOB_VERDICT)
    return rank->pool_ranges[job->parts.begin].bytes >= 2 * sizeof(double) ? NULL : "its first part holds no factor";
  return zb_plan_snapshot_place(rank, job, job->parts.count) <= region.offset + region.bytes
             ? NULL
             : "what it keeps does not fit into the region snapshot";
}

static const char *other_job_fault(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job) {
  if (job->subprogram != -1 || job->bases.count != 0) return "only compute jobs have a subprogram and bases";
  uint64_t total = 0;
  for (uint32_t i = 0; i < job->parts.count; ++i) {
    zb_plan_range part = rank->pool_ranges[job->parts.begin + i];
    if (!fits(part.offset, part.bytes, rank->arena_bytes)) return "a part ends outside of the arena";
    total += part.bytes;
    if (total > INT64_MAX) return "its parts are too large";
    if (job->kind == ZB_JOB_READ && part.bytes < (uint64_t)zb_shape_bytes(&plan->inputs[job->input].shape))
      return "a part is smaller than the input";
  }
  if (job->kind == ZB_JOB_READ) return job->parts.count >= 1 ? NULL : "it reads into no part";
  if (job->kind == ZB_JOB_REPORT && job->output)
    return job->parts.count == 1 && total >= (uint64_t)zb_shape_bytes(&plan->outputs[job->output - 1].shape)
               ? NULL
               : "it must have one part that is no smaller than its output";
  if (job->kind == ZB_JOB_REPORT)
    return job->parts.count == 1 && total >= reported_bytes(plan, job->micro_batch < 0)
               ? NULL
               : "it must have one part that is no smaller than what it reports";
  if (job->kind == ZB_JOB_COLLECTIVE) return collective_job_fault(plan, rank, job);
  if (job->kind == ZB_JOB_VERDICT || job->kind == ZB_JOB_SNAPSHOT) return validation_job_fault(rank, job);
  const zb_plan_message *message = &plan->messages[job->message];
  if (rank->rank != (zb_job_flow(job->kind) == ZB_PARTS_OUT ? message->source : message->destination))
    return "its message is of other ranks";
  if (job->micro_batch != message->micro_batch) return "its message is of another micro-batch";
  if (job->parts.count != (uint32_t)message->part_count || total != message->bytes)
    return "its parts are not those of its message";
  return NULL;
}

/* A job belongs to one list: it waits for no other's jobs and posts no other's messages, and jobs E are of an
 * evaluation, which has nothing else that computes. */
static const char *list_fault(const zb_plan *plan, const zb_plan_rank *rank, int index) {
  const zb_plan_job *job = &rank->jobs[index];
  const int begin = zb_plan_step_end(rank), first_message = plan->message_count - plan->evaluation_messages;
  const bool evaluates = index >= begin, in_evaluation = evaluates || plan->derived.list == ZB_LIST_EVALUATION;
  if (job->message >= 0 && (job->message >= first_message) != evaluates) return "its message is of another list";
  for (uint32_t i = 0; i < job->waits.count && evaluates; ++i)
    if (rank->pool_u32[job->waits.begin + i] < (uint32_t)begin) return "it waits for a job of another list";
  if (job->kind == ZB_JOB_LOAD) return NULL;
  if (zb_job_is_compute(job->kind) && (job->kind == ZB_JOB_EVALUATE) != in_evaluation)
    return in_evaluation ? "an evaluation computes by jobs E alone" : "a job E is of an evaluation";
  if (in_evaluation && (job->kind == ZB_JOB_VERDICT || job->kind == ZB_JOB_SNAPSHOT))
    return "an evaluation updates nothing";
  const int first_collective =
      plan->collective_count -
      (plan->derived.list == ZB_LIST_EVALUATION ? plan->collective_count : plan->evaluation_collectives);
  return job->collective && (job->collective > first_collective) != in_evaluation ? "its collective is of another list"
                                                                                  : NULL;
}

static const char *job_fault(const zb_plan *plan, const zb_plan_rank *rank, int index) {
  const zb_plan_job *job = &rank->jobs[index];
#define ZB_JOB_COLUMN(type, name, low, high, fault) COLUMN_FAULT(job, name, low, high, fault)
#define ZB_JOB_SLICE(name, pool, fault) SLICE_FAULT(job, name, pool, fault)
#include "runtime/plan/file/plan_columns.def"
  if (zb_job_is_post(job->kind) != (job->message >= 0)) return "its message is not there";
  if ((job->kind == ZB_JOB_READ) != (job->input >= 0)) return "its input is not there";
  if ((job->kind == ZB_JOB_COLLECTIVE) != (job->collective > 0)) return "its collective is not there";
  if (job->kind != ZB_JOB_REPORT && job->output) return "only a REPORT has an output";
  for (uint32_t i = 0; i < job->waits.count; ++i) {
    uint32_t waited = rank->pool_u32[job->waits.begin + i];
    if (waited >= (uint32_t)index) return "it waits for a job that is not before it";
    if (zb_job_class_of(rank->jobs[waited].kind) != ZB_CLASS_TRANSFER)
      return "it waits for a job that is neither SEND nor RECV";
  }
  if ((index < rank->load_count) != (job->kind == ZB_JOB_LOAD)) return "LOAD jobs come first, and are load_count many";
  const char *fault = zb_job_is_compute(job->kind) ? compute_job_fault(rank, job) : other_job_fault(plan, rank, job);
  if (!fault) fault = segments_fault(plan, rank, index);
  return fault ? fault : list_fault(plan, rank, index);
}

zb_status zb_plan_check_rank(const zb_plan *plan, int index) {
  const zb_plan_rank *rank = &plan->ranks[index];
  if (rank->rank != index) return MALFORMED(index, "it calls itself rank %d", rank->rank);
  ZB_TRY(check_regions(rank));
  ZB_TRY(check_tensors(plan, rank));
  ZB_TRY(check_settings(rank));
  for (int i = 0; i < rank->subprogram_count; ++i)
    ZB_TRY(check_subprogram(plan, rank, &rank->subprograms[i]));
  for (int i = 0; i < rank->segment_count; ++i) {
    const char *fault = segment_fault(rank, &rank->segments[i]);
    if (fault) return MALFORMED(index, "segment %d of its subprograms: %s", i, fault);
  }
  if (rank->load_count < 0 || rank->load_count > rank->job_count)
    return MALFORMED(index, "%d of %d jobs are said to be LOAD", rank->load_count, rank->job_count);
  if (rank->evaluation_count < 0 || rank->evaluation_count > rank->job_count - rank->load_count ||
      (rank->evaluation_count > 0) != plan->evaluates)
    return MALFORMED(index, "%d of %d jobs are said to be of an evaluation", rank->evaluation_count, rank->job_count);
  if (plan->inference && plan->evaluates && rank->job_count != rank->load_count + rank->evaluation_count)
    return MALFORMED(index, "the plan is for inference, but %d jobs are of a step",
                     rank->job_count - rank->load_count - rank->evaluation_count);
  for (int i = 0; i < rank->job_count; ++i) {
    const char *fault = job_fault(plan, rank, i);
    if (fault) return MALFORMED(index, "job %d (%s): %s", i, zb_job_mnemonic(rank->jobs[i].kind), fault);
  }
  return NULL;
}

zb_status zb_plan_check(const zb_plan *plan) {
  ZB_TRY(zb_plan_check_header(plan));
  for (int i = 0; i < plan->rank_count; ++i) {
    if (!plan->ranks[i].jobs)
      return zb_status_hint(ZB_ERROR(INVALID, "rank %d of the plan has no jobs", i), "read the plan for all ranks");
    ZB_TRY(zb_plan_check_rank(plan, i));
  }
  return NULL;
}
