/* What is taken out of a session: checkpoints, gradient norms, the time profile. Tests: test/runtime/exec. */
#include "runtime/exec/session.h"

#include "runtime/base/text.h"

#include <math.h>
#include <string.h>

/* Host copies of tensors, alive until the stores that borrow them are written. */
typedef struct copies {
  void **items;
  size_t count, capacity;
} copies;

static void free_copies(copies *c) {
  for (size_t i = 0; i < c->count; ++i)
    zb_free(c->items[i]);
  zb_free(c->items);
}

static zb_status add_tensor(const zb_executor *e, const zb_plan_tensor *tensor, zb_store *store, copies *c) {
  int64_t bytes = zb_shape_bytes(&tensor->shape);
  if (!zb_grow((void **)&c->items, &c->capacity, c->count + 1, sizeof(void *))) return ZB_OUT_OF_MEMORY();
  void *copy = zb_alloc((size_t)bytes + 1);
  if (!copy) return ZB_OUT_OF_MEMORY();
  c->items[c->count++] = copy;
  ZB_TRY(e->params.device->download(e->device, copy, e->arena + tensor->offset, (uint64_t)bytes));
  return zb_store_add(store, tensor->name, &tensor->shape, copy, false);
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
static zb_status collect(const zb_session *session, zb_checkpoint *checkpoint, copies *c) {
  for (int i = 0; i < session->owned_count; ++i) {
    const zb_executor *e = &session->executors[session->owned[i].rank];
    const zb_plan_parameter *parameter = &e->program->parameters[session->owned[i].index];
    ZB_TRY(add_tensor(e, &parameter->tensor, checkpoint->weights, c));
    for (int k = 0; k < parameter->state_count; ++k)
      ZB_TRY(add_tensor(e, state_by_name(e->program, parameter, k), checkpoint->optimizer, c));
  }
  return NULL;
}

zb_status zb_session_save(const zb_session *session, const char *folder) {
  if (session->failed)
    return zb_status_hint(ZB_ERROR(RUNTIME, "nothing is saved: the last step failed, so the weights belong to no step"),
                          "the last saved checkpoint is whole");
  if (session->params.no_kernels) return ZB_ERROR(USAGE, "a run without kernels has nothing to save");
  zb_status status = NULL;
  copies c = {0};
  zb_checkpoint checkpoint = {.weights = zb_store_create(),
                              .optimizer = zb_store_create(),
                              .step = session->steps,
                              .data_position = zb_data_position(session->data, session->steps)};
  if (!checkpoint.weights || !checkpoint.optimizer) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  ZB_TRY_GOTO(collect(session, &checkpoint, &c));
  ZB_TRY_GOTO(zb_checkpoint_write(folder, session->plan, &checkpoint));
cleanup:
  zb_checkpoint_close(&checkpoint);
  free_copies(&c);
  return status;
}

zb_status zb_session_save_check(const char *folder) {
  return zb_checkpoint_check_folder(folder);
}

/* L2 norm over f32 elements, in order, in fp64. */
static double norm_of(const float *values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += (double)values[i] * (double)values[i];
  return sqrt(sum);
}

zb_status zb_session_gradient_norms(const zb_session *session,
                                    void (*visit)(void *context, const char *name, double norm), void *context) {
  if (session->steps_here == 0 || session->failed) return ZB_ERROR(USAGE, "there are no gradients before a step");
  if (session->params.no_kernels) return ZB_ERROR(USAGE, "a run without kernels has no gradients");
  for (int i = 0; i < session->owned_count; ++i) {
    const zb_executor *e = &session->executors[session->owned[i].rank];
    const zb_plan_parameter *parameter = &e->program->parameters[session->owned[i].index];
    if (!parameter->trained || parameter->gradient_offset < 0) continue;
    int64_t count = zb_shape_elements(&parameter->tensor.shape);
    float *values = zb_alloc(sizeof(float) * (size_t)count + 1);
    if (!values) return ZB_OUT_OF_MEMORY();
    zb_status status = e->params.device->download(e->device, values, e->arena + parameter->gradient_offset,
                                                  sizeof(float) * (uint64_t)count);
    if (!status) visit(context, parameter->tensor.name, norm_of(values, count) / session->plan->micro_batches);
    zb_free(values);
    if (status) return status;
  }
  return NULL;
}

zb_status zb_session_write_costs(const zb_session *session, const char *path) {
  zb_costs *costs = NULL;
  if (!session->measure) return ZB_ERROR(USAGE, "the session measures no costs: set costs in its parameters");
  ZB_TRY(zb_measure_costs(session->measure, &costs));
  zb_status status = zb_costs_write(costs, path);
  zb_costs_destroy(costs);
  return status;
}

zb_status zb_session_profile(const zb_session *session, void (*visit)(void *context, const zb_profile_row *row),
                             void *context) {
  if (!session->params.profile)
    return ZB_ERROR(USAGE, "the session does not count the time of kernels: set profile in its parameters");
  zb_device_profile total = {0};
  for (int rank = 0; rank < session->executor_count; ++rank) {
    zb_device_profile one = {0};
    session->device->profile(session->executors[rank].device, &one);
    for (int i = 0; i < ZB_PROFILE_COUNT; ++i) {
      total.ps[i] += one.ps[i];
      total.calls[i] += one.calls[i];
      total.flops[i] += one.flops[i];
    }
  }
  double all_ps = (double)session->ran_ps * session->executor_count;
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
