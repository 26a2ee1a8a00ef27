/* zb_compile: initial values of parameters, from --weights, from the model or drawn.
 * Test: test/e2e/weights.py. */

#include "passes/compile/parts.h"
#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "runtime/plan/clock/delays.h"
#include "runtime/plan/file/tensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t next_random(uint64_t *state) {
  const uint64_t drawn = zb_mix64(*state);
  *state += UINT64_C(0x9E3779B97F4A7C15);
  return drawn;
}

static double uniform(uint64_t *state) { return ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0; }

/* Zeros, as PyTorch has them in the buffers of its own modules; but ones in a variance. */
static zb_status begin_buffer(zb_store *store, const char *name, const zb_shape *shape) {
  const int64_t bytes = zb_shape_bytes(shape), count = zb_shape_elements(shape);
  if (bytes < 0) return ZB_ERROR(INVALID, "buffer '%s' is too large", name);
  float *values = zb_alloc((size_t)bytes + sizeof *values);
  if (!values) return ZB_OUT_OF_MEMORY();
  for (int64_t i = 0; i < count && shape->dtype == ZB_F32 && zb_ends_with(name, "var"); ++i)
    values[i] = 1.0f;
  zb_status status = zb_store_add(store, name, shape, values, true);
  zb_free(values);
  return status;
}

/* Tensors of two dimensions or more: normal with deviation 0.02 (Box-Muller), seeded by the name alone; others: zeros
 * where the name ends in "bias", else ones. */
static zb_status draw(zb_store *store, const char *name, const zb_shape *shape) {
  int64_t count = zb_shape_elements(shape);
  if (shape->dtype != ZB_F32 || count < 0)
    return ZB_ERROR(INVALID, "parameter '%s' is no f32 tensor: give its values with --weights", name);
  float *values = zb_alloc((size_t)count * sizeof *values + 1);
  if (!values) return ZB_OUT_OF_MEMORY();
  uint64_t state = zb_fnv1a(ZB_FNV_START, name, strlen(name));
  const double pi = 3.14159265358979323846;
  for (int64_t i = 0; i < count && shape->rank < 2; ++i)
    values[i] = zb_ends_with(name, "bias") ? 0.0f : 1.0f;
  for (int64_t i = 0; i < count && shape->rank >= 2; i += 2) { /* a pair a draw */
    double radius = 0.02 * sqrt(-2.0 * log(uniform(&state))), angle = 2.0 * pi * uniform(&state);
    values[i] = (float)(radius * cos(angle));
    if (i + 1 < count) values[i + 1] = (float)(radius * sin(angle));
  }
  zb_status status = zb_store_add(store, name, shape, values, true);
  zb_free(values);
  return status;
}

/* ---- Initial values from elsewhere ---- */

void zb_given_values_deinit(zb_given_values *given) {
  zb_weights_destroy(given->weights);
  zb_free(given->wanted);
  zb_free(given->shapes);
  zb_store_destroy(given->store);
}

static zb_status match_given(zb_given_values *given, const zb_compile_params *p, int count) {
  ZB_TRY(zb_weights_match(given->store, p->weights, given->wanted, count, p->weights_partial, &given->weights));
  for (int i = 0; zb_weights_note(given->weights, i); ++i) {
    zb_text line = {0};
    zb_text_add_shown(&line, p->weights);
    zb_text_add(&line, ": note: %s\n", zb_weights_note(given->weights, i));
    if (!line.failed) fputs(line.data, stderr);
    zb_text_deinit(&line);
  }
  return NULL;
}

zb_status zb_given_match_model(zb_given_values *given, const zb_compile_params *p, const zb_store *model) {
  int count = zb_store_count(model);
  given->wanted = zb_alloc(sizeof *given->wanted * ((size_t)count + 1));
  if (!given->wanted) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i)
    given->wanted[i] = (zb_wanted){zb_store_at(model, i)->name, &zb_store_at(model, i)->shape};
  return match_given(given, p, count);
}

zb_status zb_given_match_plan(zb_given_values *given, const zb_compile_params *p, const zb_plan *plan) {
  int count = 0, most = 1;
  for (int r = 0; r < plan->rank_count; ++r)
    most += plan->ranks[r].parameter_count;
  given->wanted = zb_alloc(sizeof *given->wanted * (size_t)most);
  given->shapes = zb_alloc(sizeof *given->shapes * (size_t)most);
  if (!given->wanted || !given->shapes) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &plan->ranks[r].parameters[i];
      if (!parameter->owner) continue;
      given->shapes[count] = zb_plan_whole_shape(&parameter->tensor);
      given->wanted[count] = (zb_wanted){parameter->tensor.name, &given->shapes[count]};
      ++count;
    }
  return match_given(given, p, count);
}

static zb_status add_widened(zb_store *out, const char *name, const zb_shape *shape, const zb_stored_tensor *t) {
  if (t->shape.dtype == shape->dtype) return zb_store_add(out, name, &t->shape, t->data, false);
  size_t count = (size_t)zb_shape_elements(shape);
  float *values = zb_alloc(count * sizeof *values + 1);
  if (!values) return ZB_OUT_OF_MEMORY();
  zb_widen(t->shape.dtype, t->data, count, values);
  zb_status status = zb_store_add(out, name, shape, values, true);
  zb_free(values);
  return status;
}

/* One parameter: as --weights gives it, else as the model has it, else drawn; none where it comes later. */
static zb_status gather_weight(const zb_plan_parameter *parameter, const zb_store *model, const zb_weights *given,
                               zb_store *out) {
  const zb_plan_tensor *tensor = &parameter->tensor;
  const zb_stored_tensor *t = given ? zb_weights_find(given, tensor->name) : NULL;
  char want[96], got[96];
  const zb_shape whole = zb_plan_whole_shape(tensor);
  if (t) return add_widened(out, tensor->name, &whole, t);
  if (!model && parameter->buffer) return begin_buffer(out, tensor->name, &whole);
  if (!model) return draw(out, tensor->name, &whole);
  t = zb_store_find(model, tensor->name);
  if (!t) return NULL; /* the model says that its value comes later, or its importer would have refused it */
  if (!zb_shape_equal(&t->shape, &whole))
    return ZB_ERROR(INVALID, "parameter '%s': expected %s, the weights hold %s", tensor->name,
                    zb_shape_text(&whole, want), zb_shape_text(&t->shape, got));
  return zb_store_add(out, tensor->name, &t->shape, t->data, false);
}

zb_status zb_gather_weights(const zb_plan *plan, const zb_store *model, const zb_weights *given, zb_store **out) {
  *out = zb_store_create();
  if (!*out) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      if (plan->ranks[r].parameters[i].owner) ZB_TRY(gather_weight(&plan->ranks[r].parameters[i], model, given, *out));
  return NULL;
}
