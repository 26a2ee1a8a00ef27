/* What is taken out of a session: checkpoints, gradient norms, the time profile, memory. Tests: test/runtime/exec. */
#include "runtime/exec/session_group.h"

#include "runtime/base/map.h"
#include "runtime/base/text.h"
#include "runtime/exec/values.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checkpoints ---- */

zb_status zb_session_fetch(const zb_session *session, const zb_executor *e, const zb_plan_tensor *tensor,
                           zb_value_rule rule, void *to) {
  char rank[ZB_RANK_TEXT_BYTES];
  const size_t bytes = (size_t)zb_shape_bytes(&tensor->shape);
  ZB_TRY(e->params.device->download(e->device, to, e->arena + tensor->offset, bytes));
  const char *fault = zb_values_fault(rule, tensor->shape.dtype, to, (uint64_t)zb_shape_elements(&tensor->shape));
  if (!fault) return NULL;
  return zb_status_hint(
      ZB_ERROR(RUNTIME, "after step %lld '%s' is %s on %s: it is neither saved nor handed out",
               (long long)session->steps, tensor->name, fault, zb_plan_rank_text(session->plan, e->params.rank, rank)),
      "go on from the last checkpoint with a lower rate, or leave steps whose gradients are not finite out: zbc "
      "--clip-norm 1 (or inf), then zb-run --non-finite skip");
}

/* memory: of the host copy of the tensor, which the store borrows until it is written. */
static zb_status add_tensor(const zb_session *session, const zb_executor *e, const zb_plan_tensor *tensor,
                            zb_value_rule rule, zb_store *store, zb_arena *memory) {
  void *copy = zb_arena_take(memory, (size_t)zb_shape_bytes(&tensor->shape) + 1, 1);
  if (!copy) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_session_fetch(session, e, tensor, rule, copy));
  return zb_store_add(store, tensor->name, &tensor->shape, copy, false);
}

/* ---- Parts of tensors that shards or replicas have ---- */

/* A part on its way to process 0: this, then the name with its NUL, then its bytes. */
typedef struct part_record {
  zb_plan_tensor tensor; /* its pointers mean nothing there */
  int64_t runs[ZB_PLAN_RUNS_MAX], dims[ZB_DIMS_MAX];
  zb_plan_place place;
  bool of_state;
  uint64_t name_bytes, bytes;
} part_record;

static zb_status send_part(const zb_session *session, int rank, const zb_plan_tensor *tensor, bool of_state,
                           zb_value_rule rule, zb_text *out) {
  const zb_executor *e = &session->executors[rank - session->first_rank];
  part_record record = {.tensor = *tensor,
                        .place = zb_plan_place_of(session->plan, rank),
                        .of_state = of_state,
                        .name_bytes = strlen(tensor->name) + 1,
                        .bytes = (uint64_t)zb_shape_bytes(&tensor->shape)};
  void *part = zb_alloc((size_t)record.bytes + 1);
  if (!part) return ZB_OUT_OF_MEMORY();
  if (tensor->run_count) memcpy(record.runs, tensor->runs, (size_t)tensor->run_count * sizeof *tensor->runs);
  if (tensor->dim_count) memcpy(record.dims, tensor->dims, (size_t)tensor->dim_count * sizeof *tensor->dims);
  zb_status status = zb_session_fetch(session, e, tensor, rule, part);
  zb_text_add_bytes(out, (const char *)&record, sizeof record);
  zb_text_add_bytes(out, tensor->name, (size_t)record.name_bytes);
  zb_text_add_bytes(out, part, (size_t)record.bytes);
  zb_free(part);
  return status;
}

/* All parts that the ranks of this process have. */
static zb_status send_parts(const zb_session *session, bool states, zb_text *out) {
  for (int rank = session->first_rank; rank < session->first_rank + session->rank_count; ++rank) {
    const zb_plan_rank *program = &session->plan->ranks[rank];
    const zb_plan_place place = zb_plan_place_of(session->plan, rank);
    for (int i = 0; i < program->parameter_count; ++i) {
      const zb_plan_parameter *parameter = &program->parameters[i];
      if (!parameter->derived.owns_part) continue;
      if (zb_plan_saves_part(&parameter->tensor, place))
        ZB_TRY(send_part(session, rank, &parameter->tensor, false, zb_session_value_rule(session, rank, i), out));
      for (int k = parameter->state_begin; states && k < parameter->state_begin + parameter->state_count; ++k)
        if (zb_plan_saves_part(&program->states[k], place))
          ZB_TRY(send_part(session, rank, &program->states[k], true, ZB_VALUES_FINITE, out));
    }
  }
  return out->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

typedef struct whole_tensor {
  bool of_state;
  const char *name;
  zb_shape shape;
  void *data;
} whole_tensor;

static int by_tensor_name(const void *a, const void *b) {
  return strcmp(((const whole_tensor *)a)->name, ((const whole_tensor *)b)->name);
}

/* Puts the parts of all processes together, in the order of names. */
static zb_status join_parts(const char *records, size_t bytes, zb_checkpoint *checkpoint, zb_arena *memory) {
  ZB_LIST(whole_tensor) wholes = {0};
  zb_map *known[2] = {zb_arena_map(memory), zb_arena_map(memory)};
  ZB_TRY(zb_arena_status(memory));
  for (size_t at = 0; at < bytes;) {
    part_record record;
    int64_t index;
    memcpy(&record, records + at, sizeof record);
    const char *name = records + at + sizeof record;
    record.tensor.runs = record.runs;
    record.tensor.dims = record.dims;
    if (!zb_map_get(known[record.of_state], name, &index)) {
      const zb_shape shape = zb_plan_whole_shape(&record.tensor);
      void *data = zb_arena_take(memory, (size_t)zb_shape_bytes(&shape) + 1, 1);
      index = (int64_t)wholes.count;
      if (!data || !ZB_PUSH(memory, &wholes, (whole_tensor){record.of_state, name, shape, data}))
        return ZB_OUT_OF_MEMORY();
      zb_arena_map_set(memory, known[record.of_state], name, index);
    }
    zb_plan_copy_part(&record.tensor, record.place, zb_dtype_bytes(record.tensor.shape.dtype), ZB_PART_TO_WHOLE,
                      name + record.name_bytes, wholes.items[index].data);
    at += sizeof record + (size_t)record.name_bytes + (size_t)record.bytes;
  }
  ZB_TRY(zb_arena_status(memory)); /* of one that is not known the next part has begun another */
  if (wholes.count) qsort(wholes.items, wholes.count, sizeof *wholes.items, by_tensor_name);
  for (size_t i = 0; i < wholes.count; ++i)
    ZB_TRY(zb_store_add(wholes.items[i].of_state ? checkpoint->optimizer : checkpoint->weights, wholes.items[i].name,
                        &wholes.items[i].shape, wholes.items[i].data, false));
  return NULL;
}

/* Of what is cut: process 0 gets all parts, and saves them as whole tensors. All processes call it. *records is what
 * the checkpoint borrows names from. */
static zb_status collect_parts(zb_session *session, zb_checkpoint *checkpoint, zb_arena *memory, void **records) {
  zb_text mine = {0};
  size_t bytes = 0;
  if (zb_plan_shard_mesh(session->plan) == 1 && session->plan->sharding == ZB_SHARDING_NONE) return NULL;
  zb_status status = zb_session_agree(session, send_parts(session, checkpoint->optimizer, &mine));
  if (!status) status = zb_session_gather(session, mine.data, mine.length, records, &bytes);
  if (!status && *records) status = join_parts(*records, bytes, checkpoint, memory);
  zb_text_deinit(&mine);
  return status;
}

/* The k-th state tensor of a parameter in the order of names. Plans list the few that there are in any order. */
static const zb_plan_tensor *state_by_name(const zb_plan_rank *rank, const zb_plan_parameter *parameter, int k) {
  const zb_plan_tensor *states = rank->states + parameter->state_begin;
  for (int i = 0; i < parameter->state_count; ++i) {
    int before = 0;
    for (int other = 0; other < parameter->state_count; ++other)
      before += strcmp(states[other].name, states[i].name) < 0;
    if (before == k) return &states[i];
  }
  return &states[k]; /* two of one name: zb_store_add refuses them */
}

/* Parameters, and the state of the trained ones, in the order of names: the files do not depend on ranks or schedule.
 */
static zb_status collect(const zb_session *session, zb_checkpoint *checkpoint, zb_arena *memory) {
  for (int i = 0; i < session->owned_count; ++i) {
    const zb_executor *e = &session->executors[session->owned[i].rank - session->first_rank];
    const zb_plan_parameter *parameter = &e->program->parameters[session->owned[i].index];
    if (zb_plan_in_parts(&parameter->tensor)) continue; /* collect_parts */
    const zb_value_rule rule = zb_session_value_rule(session, session->owned[i].rank, session->owned[i].index);
    ZB_TRY(add_tensor(session, e, &parameter->tensor, rule, checkpoint->weights, memory));
    for (int k = 0; checkpoint->optimizer && k < parameter->state_count; ++k) {
      const zb_plan_tensor *state = state_by_name(e->program, parameter, k);
      if (!zb_plan_in_parts(state))
        ZB_TRY(add_tensor(session, e, state, ZB_VALUES_FINITE, checkpoint->optimizer, memory));
    }
  }
  return NULL;
}

zb_status zb_session_collect(zb_session *session, zb_checkpoint *checkpoint, zb_arena *memory, void **out_parts) {
  *out_parts = NULL;
  ZB_TRY(zb_session_agree(session, collect(session, checkpoint, memory)));
  return zb_session_agree(session, collect_parts(session, checkpoint, memory, out_parts));
}

/* Process 0 begins a save under the lock of the session, or, where another folder is given than it was made for, under
 * one of its own. */
static zb_status begin_save(const zb_session *session, const char *folder, zb_folder_lock *lock) {
  zb_status status = zb_checkpoint_lock(folder, session->save_lock.held ? session->save_lock.path : NULL, lock);
  return status ? status : zb_checkpoint_begin(folder);
}

/* The parts of all processes as one checkpoint. Each step is agreed on before the next, so that none waits for another
 * in vain. */
static zb_status write_parts(zb_session *session, const char *folder, const zb_checkpoint *checkpoint,
                             zb_folder_lock *lock) {
  bool first = session->process == 0;
  ZB_TRY(zb_session_agree(session, first ? begin_save(session, folder, lock) : NULL));
  zb_status status = zb_checkpoint_write_part(folder, session->plan, checkpoint, session->process, session->processes);
  status = zb_session_agree(session, status);
  if (status) return first ? zb_checkpoint_abandon(folder, status) : status;
  zb_status committed = first ? zb_checkpoint_commit(folder, session->processes) : NULL;
  bool is_there = first && !committed;
  status = zb_session_agree(session, committed);
  if (!status || !first) return status;
  if (!is_there) return zb_checkpoint_abandon(folder, status);
  return zb_status_note(status, "the checkpoint of step %lld in '%s' was finished before", (long long)session->steps,
                        folder);
}

zb_status zb_session_save(zb_session *session, const char *folder) {
  if (session->failed)
    return zb_status_hint(ZB_ERROR(RUNTIME, "nothing is saved: the last step failed, so the weights belong to no step"),
                          "an earlier checkpoint stays whole");
  if (session->params.no_kernels) return ZB_ERROR(USAGE, "a run without kernels has nothing to save");
  if (!session->data) return ZB_ERROR(USAGE, "a session that makes no steps has nothing to save");
  ZB_TRY(zb_session_check_still(session));
  zb_arena copies = {0};
  zb_text rates = {0};
  void *parts = NULL;
  zb_rates_save(&session->rates, &rates);
  zb_checkpoint checkpoint = {.weights = zb_store_create(),
                              .optimizer = zb_store_create(),
                              .rates = rates.data,
                              .rate_table = session->rates.table,
                              .settings = session->settings,
                              .step = session->steps,
                              .skipped = session->skipped,
                              .data_position = zb_data_position(session->data, session->steps),
                              .random_seed = session->random_seed};
  zb_status status = checkpoint.weights && checkpoint.optimizer && !rates.failed ? NULL : ZB_OUT_OF_MEMORY();
  status = zb_session_agree(session, status);
  if (!status) status = zb_session_collect(session, &checkpoint, &copies, &parts);
  zb_folder_lock lock = {.held = false};
  if (!status) status = write_parts(session, folder, &checkpoint, &lock);
  zb_folder_lock_release(&lock);
  zb_checkpoint_close(&checkpoint);
  zb_text_deinit(&rates);
  zb_arena_deinit(&copies);
  zb_free(parts);
  return status;
}

zb_status zb_session_try_save(zb_session *session, const char *folder) {
  bool first = session->process == 0;
  zb_status begun = first ? zb_checkpoint_lock(folder, NULL, &session->save_lock) : NULL;
  if (first && !begun) begun = zb_checkpoint_try_begin(folder);
  ZB_TRY(zb_session_agree(session, begun));
  zb_status status = zb_session_agree(session, zb_checkpoint_try_part(folder, session->process, session->processes));
  zb_status removed = first ? zb_checkpoint_try_end(folder) : NULL;
  if (!status) return zb_session_agree(session, removed);
  zb_status_free(removed); /* the first failure is the one to tell */
  return status;
}

zb_status zb_session_save_check(const char *folder) { return zb_checkpoint_check_folder(folder); }

/* L2 norm over f32 elements, in order, in fp64. */
static double norm_of(const float *values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += (double)values[i] * (double)values[i];
  return sqrt(sum);
}

/* A norm, as processes send them to process 0: this, then the name with its NUL. */
typedef struct norm_record {
  double norm;
  uint64_t name_bytes;
} norm_record;

/* Of a gradient, or of the part of it that a rank has: one record. */
static zb_status collect_norm(const zb_session *session, int rank, const zb_plan_parameter *parameter, zb_text *out) {
  const zb_executor *e = &session->executors[rank - session->first_rank];
  if (!parameter->trained || parameter->gradient_offset < 0) return NULL;
  const zb_shape whole = zb_plan_shape_of_replicas(&parameter->tensor);
  int64_t first = 0, count = zb_shape_elements(&whole);
  if (session->plan->sharding != ZB_SHARDING_NONE) { /* of the other parts it may not have the sum */
    const int replicas = zb_plan_mesh(session->plan);
    const int64_t part = (int64_t)(zb_plan_part_bytes(&whole, replicas) / sizeof(float));
    first = part * zb_plan_replica_of(session->plan, rank);
    count = count - first < part ? count - first : part;
    if (count < 0) count = 0;
    if (zb_sharding_sums_each(session->plan->sharding)) first = 0; /* there is no other part */
  }
  float *values = zb_alloc(sizeof(float) * (size_t)count + 1);
  if (!values) return ZB_OUT_OF_MEMORY();
  zb_status status = e->params.device->download(e->device, values,
                                                e->arena + parameter->gradient_offset + first * (int64_t)sizeof(float),
                                                sizeof(float) * (uint64_t)count);
  norm_record record = {.name_bytes = strlen(parameter->tensor.name) + 1};
  if (!status) record.norm = norm_of(values, count) / session->step_weight;
  zb_free(values);
  if (status) return status;
  zb_text_add_bytes(out, (const char *)&record, sizeof record);
  zb_text_add_bytes(out, parameter->tensor.name, (size_t)record.name_bytes);
  return NULL;
}

/* Whether a rank has something of a gradient that no other rank has: shards of one that is cut, and replicas that share
 * gradients, have parts of it. */
static bool gives_norm(const zb_session *session, int rank, const zb_plan_parameter *parameter) {
  const zb_plan_place place = zb_plan_place_of(session->plan, rank);
  const bool shared = session->plan->sharding != ZB_SHARDING_NONE;
  return parameter->owner || (parameter->derived.owns_part && (parameter->tensor.cut || place.shard == 0) &&
                              (shared || place.replica == 0));
}

/* The norms of the parameters that this process owns, or has parts of, one record after another. */
static zb_status collect_norms(const zb_session *session, zb_text *out) {
  for (int rank = session->first_rank; rank < session->first_rank + session->rank_count; ++rank)
    for (int i = 0; i < session->plan->ranks[rank].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &session->plan->ranks[rank].parameters[i];
      if (gives_norm(session, rank, parameter)) ZB_TRY(collect_norm(session, rank, parameter, out));
    }
  return out->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

typedef struct named_norm {
  const char *name;
  double norm;
} named_norm;

static int by_norm_name(const void *a, const void *b) {
  const char *left = ((const named_norm *)a)->name, *right = ((const named_norm *)b)->name;
  const int order = strcmp(left, right);
  return order ? order : left < right ? -1 : left > right; /* parts in the order of ranks */
}

/* Visits the records of all processes in the order of names; parts of one gradient together. */
static zb_status visit_norms(const char *records, size_t bytes,
                             void (*visit)(void *context, const char *name, double norm), void *context) {
  zb_arena memory = {0};
  ZB_LIST(named_norm) norms = {0};
  bool kept = true;
  for (size_t at = 0; at < bytes && kept;) {
    norm_record record;
    memcpy(&record, records + at, sizeof record);
    kept = ZB_PUSH(&memory, &norms, (named_norm){records + at + sizeof record, record.norm});
    at += sizeof record + (size_t)record.name_bytes;
  }
  if (norms.count > 0) qsort(norms.items, norms.count, sizeof *norms.items, by_norm_name);
  for (size_t i = 0, end; i < norms.count && kept; i = end) {
    double squares = 0;
    for (end = i; end < norms.count && strcmp(norms.items[end].name, norms.items[i].name) == 0; ++end)
      squares += norms.items[end].norm * norms.items[end].norm;
    visit(context, norms.items[i].name, end == i + 1 ? norms.items[i].norm : sqrt(squares));
  }
  zb_status status = zb_arena_status(&memory);
  zb_arena_deinit(&memory);
  return status;
}

zb_status zb_session_gradient_norms(zb_session *session, void (*visit)(void *context, const char *name, double norm),
                                    void *context) {
  if (session->steps_here == 0 || session->failed) return ZB_ERROR(USAGE, "there are no gradients before a step");
  if (session->params.no_kernels) return ZB_ERROR(USAGE, "a run without kernels has no gradients");
  ZB_TRY(zb_session_check_still(session));
  void *all = NULL;
  size_t all_bytes = 0;
  zb_text mine = {0};
  zb_status status = zb_session_agree(session, collect_norms(session, &mine));
  if (!status) status = zb_session_gather(session, mine.data, mine.length, &all, &all_bytes);
  if (!status && all) status = visit_norms(all, all_bytes, visit, context);
  zb_text_deinit(&mine);
  zb_free(all);
  return status;
}

zb_status zb_session_write_costs(const zb_session *session, const char *path) {
  zb_costs costs;
  if (!session->measure) return ZB_ERROR(USAGE, "the session measures no costs: set costs in its parameters");
  ZB_TRY(zb_measure_costs(session->measure, &costs));
  return zb_costs_write(&costs, path);
}

static void add_profiles(void *total, const void *one, size_t bytes) {
  zb_device_profile *all = total;
  const zb_device_profile *next = one;
  (void)bytes;
  for (int i = 0; i < ZB_PROFILE_COUNT; ++i) {
    all->ps[i] += next->ps[i];
    all->calls[i] += next->calls[i];
    all->flops[i] += next->flops[i];
  }
}

zb_status zb_session_profile(zb_session *session, void (*visit)(void *context, const zb_profile_row *row),
                             void *context) {
  if (!session->params.profile)
    return ZB_ERROR(USAGE, "the session does not count the time of kernels: set profile in its parameters");
  ZB_TRY(zb_session_check_still(session));
  zb_device_profile total = {0};
  for (int rank = 0; rank < session->executor_count; ++rank) {
    zb_device_profile one = {0};
    session->device->profile(session->executors[rank].device, &one);
    add_profiles(&total, &one, sizeof one);
  }
  if (session->group) ZB_TRY(session->group_def->merge(session->group, &total, sizeof total, add_profiles));
  double all_ps = (double)session->ran_ps * session->plan->rank_count;
  for (int i = 0; i < ZB_PROFILE_COUNT; ++i) {
    zb_profile_row row = {.category = zb_profile_name((zb_profile_category)i),
                          .help = zb_profile_help((zb_profile_category)i),
                          .seconds = (double)total.ps[i] / 1e12,
                          .share = all_ps > 0 ? (double)total.ps[i] / all_ps : 0,
                          .calls = total.calls[i],
                          .flops = total.flops[i]};
    visit(context, &row);
  }
  zb_profile_row waiting = {.category = "waiting",
                            .help = "waiting for messages of other ranks",
                            .seconds = (double)session->waiting_ps / 1e12,
                            .share = all_ps > 0 ? (double)session->waiting_ps / all_ps : 0};
  visit(context, &waiting);
  return NULL;
}

uint64_t zb_session_arena_bytes(const zb_session *session, int rank) {
  return rank >= 0 && rank < session->plan->rank_count ? session->arena_bytes[rank] : 0;
}

zb_status zb_session_memory(zb_session *session, int rank, zb_session_memory_use *out) {
  *out = (zb_session_memory_use){0};
  if (rank < 0 || rank >= session->plan->rank_count)
    return ZB_ERROR(INVALID, "expected a rank of 0..%d, got %d", session->plan->rank_count - 1, rank);
  if (session->clocks)
    return zb_status_hint(ZB_ERROR(USAGE, "the ranks of this session are not run, so none of them uses memory"),
                          "set memory in its parameters");
  bool here = rank >= session->first_rank && rank < session->first_rank + session->rank_count;
  zb_liveness liveness;
  zb_status status = here ? zb_liveness_init(session->plan, rank, &liveness) : NULL;
  if (here && !status) {
    *out = (zb_session_memory_use){.arena_bytes = session->plan->ranks[rank].arena_bytes,
                                   .high_water_bytes = liveness.high_water_bytes,
                                   .most_live_bytes = liveness.most_live_bytes};
    zb_liveness_deinit(&liveness);
  }
  status = zb_session_agree(session, status);
  if (status || !session->group) return status;
  return session->group_def->merge(session->group, out, sizeof *out, zb_session_merge_u64);
}
