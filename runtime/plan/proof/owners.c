/* Which rank saves what: rule "owners" of the verifier (README.md). A plan can train without an error and still lose
 * what a checkpoint needs: a parameter that no rank saves, a state that is saved under the name of another. So it is
 * proven that
 *   - every parameter has one owner, and is the same on all ranks that hold it;
 *   - every state belongs to one parameter, whose name its own name begins with;
 *   - what updates a parameter reads it, and the gradient and the settings, and reads and writes the states, that the
 *     table says are its own.
 *
 * Tests: test/runtime/plan/proof/verifier_test.c
 */
#include <string.h>

#include "runtime/plan/proof/rules.h"

#include "runtime/base/map.h"
#include "runtime/plan/file/ranks.h"

/* ---- States of a rank ---- */

/* "h.0.w.exp_avg" is a state of "h.0.w". */
static bool is_state_of(const char *state, const char *parameter) {
  size_t length = strlen(parameter);
  return strncmp(state, parameter, length) == 0 && state[length] == '.' && state[length + 1] != '\0';
}

static zb_status verify_states(const zb_plan_rank *rank) {
  zb_status status = NULL;
  zb_map *names = zb_map_create();
  bool *taken = zb_alloc((size_t)rank->state_count + 1);
  if (!names || !taken) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    for (int s = parameter->state_begin; s < parameter->state_begin + parameter->state_count; ++s) {
      const char *state = rank->states[s].name;
      if (taken[s])
        ZB_TRY_GOTO(ZB_RULE(owners, "rank %d: the state '%s' belongs to '%s' and to another parameter", rank->rank,
                            state, parameter->tensor.name));
      if (!is_state_of(state, parameter->tensor.name))
        ZB_TRY_GOTO(ZB_RULE(owners, "rank %d: the state '%s' is said to be of the parameter '%s'", rank->rank, state,
                            parameter->tensor.name));
      taken[s] = true;
    }
  }
  for (int s = 0; s < rank->state_count; ++s) {
    if (!taken[s])
      ZB_TRY_GOTO(ZB_RULE(owners, "rank %d: the state '%s' belongs to no parameter", rank->rank, rank->states[s].name));
    if (zb_map_get(names, rank->states[s].name, NULL))
      ZB_TRY_GOTO(ZB_RULE(owners, "rank %d: two states have the name '%s'", rank->rank, rank->states[s].name));
    if (!zb_map_set(names, rank->states[s].name, s)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }

cleanup:
  zb_map_destroy(names);
  zb_free(taken);
  return status;
}

/* ---- What updates a parameter ---- */

/* Names of a rank by the place in its arena. */
typedef struct places {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  zb_intervals parameters, settings; /* writer: the index */
} places;

static uint64_t place_of(const places *it, const zb_plan_operand *operand) {
  return zb_sharding_place(it->plan, it->rank, operand->offset, (uint64_t)zb_operand_extent(operand));
}

/* The parameter that lies exactly where the result of an update does, or of which that is the part of this replica;
 * NULL if none does. */
static const zb_plan_parameter *parameter_at(const places *it, const zb_plan_operand *operand) {
  if (operand->rank < 0 || operand->base != 0) return NULL;
  const uint64_t offset = place_of(it, operand);
  size_t at = zb_intervals_find(&it->parameters, offset);
  if (at == it->parameters.count || it->parameters.items[at].begin > offset) return NULL;
  const zb_plan_parameter *parameter = &it->rank->parameters[it->parameters.items[at].writer];
  uint64_t bytes = it->plan->derived.parts ? zb_plan_part_bytes(&parameter->tensor.shape, it->plan->derived.parts)
                                           : (uint64_t)zb_shape_bytes(&parameter->tensor.shape);
  return parameter->tensor.offset == offset && (uint64_t)zb_operand_extent(operand) == bytes ? parameter : NULL;
}

static bool in_region(const zb_plan_rank *rank, const zb_plan_operand *operand, zb_region_kind region) {
  uint64_t bytes = (uint64_t)zb_operand_extent(operand);
  return operand->rank >= 0 && operand->base == 0 && bytes > 0 &&
         zb_plan_region_of(rank, operand->offset, bytes) == region;
}

static bool has_state_at(const zb_plan_rank *rank, const zb_plan_parameter *parameter, uint64_t offset) {
  for (int s = 0; s < parameter->state_count; ++s)
    if (rank->states[parameter->state_begin + s].offset == offset) return true;
  return false;
}

/* NULL: none lies there. */
static const zb_plan_setting *setting_at(const places *it, const zb_plan_operand *operand) {
  if (operand->rank < 0 || operand->base != 0) return NULL;
  const size_t at = zb_intervals_find(&it->settings, operand->offset);
  if (at == it->settings.count || it->settings.items[at].begin != operand->offset) return NULL;
  return &it->rank->settings[it->settings.items[at].writer];
}

/* An optimizer that is one instruction gives the parameter first, then its states. */
static zb_status verify_update(const places *it, const zb_plan_subprogram *subprogram,
                               const zb_plan_instruction *update) {
  const zb_plan_rank *rank = it->rank;
  const zb_plan_parameter *parameter = update->output_count > 0 ? parameter_at(it, &update->outputs[0]) : NULL;
  if (!parameter) return NULL;
  const int64_t bytes = zb_operand_extent(&update->outputs[0]);
  for (int k = 0; k < update->input_count; ++k) {
    const zb_plan_operand *read = &update->inputs[k];
    const zb_plan_setting *setting = setting_at(it, read);
    if (setting && *setting->name && strcmp(setting->name, parameter->tensor.name) != 0)
      return ZB_RULE(owners, "rank %d, subprogram %s: the update of '%s' reads the settings of '%s'", rank->rank,
                     subprogram->name, parameter->tensor.name, setting->name);
    if (in_region(rank, read, ZB_REGION_PARAMETERS) && read->offset != update->outputs[0].offset)
      return ZB_RULE(owners, "rank %d, subprogram %s: the update of '%s' reads another parameter", rank->rank,
                     subprogram->name, parameter->tensor.name);
    if (!in_region(rank, read, ZB_REGION_GRADIENTS) || zb_operand_extent(read) != bytes) continue;
    if ((int64_t)place_of(it, read) != parameter->gradient_offset)
      return ZB_RULE(owners,
                     "rank %d, subprogram %s: the update of '%s' reads a gradient that is not said to be its own",
                     rank->rank, subprogram->name, parameter->tensor.name);
  }
  for (int k = 1; k < update->output_count; ++k) {
    if (!in_region(rank, &update->outputs[k], ZB_REGION_STATE)) continue;
    if (!has_state_at(rank, parameter, update->outputs[k].offset))
      return ZB_RULE(owners, "rank %d, subprogram %s: the update of '%s' writes a state that is not said to be its own",
                     rank->rank, subprogram->name, parameter->tensor.name);
  }
  for (int k = 0; k < update->input_count; ++k)
    if (in_region(rank, &update->inputs[k], ZB_REGION_STATE) &&
        !has_state_at(rank, parameter, update->inputs[k].offset))
      return ZB_RULE(owners, "rank %d, subprogram %s: the update of '%s' reads a state that is not said to be its own",
                     rank->rank, subprogram->name, parameter->tensor.name);
  return NULL;
}

static zb_status verify_all_updates(const zb_plan *plan, const zb_plan_rank *rank) {
  zb_status status = NULL;
  places it = {.plan = plan, .rank = rank};
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_tensor *tensor = &rank->parameters[i].tensor;
    zb_intervals_assign(&it.parameters, tensor->offset, tensor->offset + (uint64_t)zb_shape_bytes(&tensor->shape), i);
  }
  if (it.parameters.failed || !zb_setting_places(rank, &it.settings)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int s = 0; s < rank->subprogram_count; ++s)
    for (int i = 0; rank->subprograms[s].kind != ZB_JOB_RENEW && zb_job_is_optimizer(rank->subprograms[s].kind) &&
                    i < rank->subprograms[s].instruction_count;
         ++i)
      ZB_TRY_GOTO(verify_update(&it, &rank->subprograms[s], &rank->subprograms[s].instructions[i]));

cleanup:
  zb_intervals_deinit(&it.parameters);
  zb_intervals_deinit(&it.settings);
  return status;
}

/* ---- All ranks ---- */

/* Where a parameter was met first, and who saves it. */
typedef struct holder {
  int rank, index;
  int owner; /* rank, or -1 */
} holder;

static const zb_plan_parameter *parameter_of(const zb_plan *plan, const holder *it) {
  return &plan->ranks[it->rank].parameters[it->index];
}

/* A parameter that several ranks hold is the same on all of them. */
static zb_status compare_holders(const zb_plan *plan, const holder *first, int rank, int index) {
  const zb_plan_rank *a = &plan->ranks[first->rank], *b = &plan->ranks[rank];
  const zb_plan_parameter *x = parameter_of(plan, first), *y = &b->parameters[index];
  if (first->rank == rank) return ZB_RULE(owners, "rank %d holds the parameter '%s' twice", rank, y->tensor.name);
  const bool replicas = zb_plan_rank_in_replica(plan, first->rank) == zb_plan_rank_in_replica(plan, rank);
  if ((x->buffer || y->buffer) && !replicas)
    return ZB_RULE(owners, "ranks %d and %d both hold the buffer '%s'", first->rank, rank, y->tensor.name);
  bool same = zb_shape_equal(&x->tensor.shape, &y->tensor.shape) && x->tensor.digest == y->tensor.digest &&
              x->trained == y->trained && x->state_count == y->state_count;
  for (int s = 0; same && s < x->state_count; ++s) {
    const zb_plan_tensor *p = &a->states[x->state_begin + s], *q = &b->states[y->state_begin + s];
    same = strcmp(p->name, q->name) == 0 && zb_shape_equal(&p->shape, &q->shape);
  }
  return same ? NULL
              : ZB_RULE(owners, "the parameter '%s' is not the same on rank %d and on rank %d", y->tensor.name,
                        first->rank, rank);
}

/* Adds the parameters of a rank to the holders, which have room. */
static zb_status add_holders(const zb_plan *plan, int rank, zb_map *index_of, holder *holders, int *count) {
  for (int i = 0; i < plan->ranks[rank].parameter_count; ++i) {
    const zb_plan_parameter *parameter = &plan->ranks[rank].parameters[i];
    int64_t at;
    if (!zb_map_get(index_of, parameter->tensor.name, &at)) {
      at = (*count)++;
      holders[at] = (holder){rank, i, -1};
      if (!zb_map_set(index_of, parameter->tensor.name, at)) return ZB_OUT_OF_MEMORY();
    } else {
      ZB_TRY(compare_holders(plan, &holders[at], rank, i));
    }
    if (!parameter->owner) continue;
    if (holders[at].owner >= 0)
      return ZB_RULE(owners, "the parameter '%s' has two owners, rank %d and rank %d", parameter->tensor.name,
                     holders[at].owner, rank);
    holders[at].owner = rank;
  }
  return NULL;
}

zb_status zb_verify_owners(const zb_plan *plan) {
  zb_status status = NULL;
  size_t room = 1;
  int count = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    room += (size_t)plan->ranks[r].parameter_count;
  zb_map *index_of = zb_map_create();
  holder *holders = zb_alloc(room * sizeof *holders);
  if (!index_of || !holders) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int r = 0; r < plan->rank_count; ++r) {
    ZB_TRY_GOTO(verify_states(&plan->ranks[r]));
    ZB_TRY_GOTO(verify_all_updates(plan, &plan->ranks[r]));
    ZB_TRY_GOTO(add_holders(plan, r, index_of, holders, &count));
  }
  for (int i = 0; i < count; ++i)
    if (holders[i].owner < 0)
      ZB_TRY_GOTO(ZB_RULE(owners, "the parameter '%s' has no owner: no checkpoint would hold it",
                          parameter_of(plan, &holders[i])->tensor.name));

cleanup:
  zb_map_destroy(index_of);
  zb_free(holders);
  return status;
}
