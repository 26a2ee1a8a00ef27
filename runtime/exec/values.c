/* Values into arenas: see values.h. */
#include "runtime/exec/values.h"

#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"
#include "runtime/plan/file/tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A piece stays in the cache between its digest and its copy; a device that copies by itself likes larger ones. */
enum { PIECE_BYTES = 256 << 10, DEVICE_PIECE_BYTES = 16 << 20, THREADS_MAX = 16, NAMES_SHOWN = 4 };
static const uint64_t parallel_min_bytes = 8 << 20;

/* ---- The parameters of a plan ---- */

zb_status zb_wanted_init(const zb_plan *plan, zb_wanted_list *out) {
  int most = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    most += plan->ranks[r].parameter_count;
  *out = (zb_wanted_list){0};
  zb_map *seen = zb_arena_map(&out->memory);
  zb_shape *shapes = ZB_NEW(&out->memory, zb_shape, most);
  ZB_TAKE(&out->memory, out->items, most);
  ZB_TRY(zb_arena_status(&out->memory));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      if (zb_map_get(seen, tensor->name, NULL)) continue;
      zb_arena_map_set(&out->memory, seen, tensor->name, 1);
      shapes[out->count] = zb_plan_whole_shape(tensor);
      out->items[out->count] = (zb_wanted){zb_arena_strdup(&out->memory, tensor->name), &shapes[out->count]};
      ++out->count;
    }
  return zb_arena_status(&out->memory);
}

void zb_wanted_deinit(zb_wanted_list *list) {
  zb_arena_deinit(&list->memory);
  *list = (zb_wanted_list){0};
}

/* ---- Numbers ---- */

zb_value_rule zb_session_value_rule(const zb_session *session, int rank, int index) {
  const zb_plan_parameter *parameter = &session->plan->ranks[rank].parameters[index];
  const bool infinite = parameter->buffer || session->infinite[rank - session->first_rank][index];
  if (!parameter->trained && !parameter->buffer) return ZB_VALUES_ANY;
  return infinite ? ZB_VALUES_NO_NAN : ZB_VALUES_FINITE;
}

/* Whether a number is above a limit, as bits without the sign. */
#define ANY_ABOVE(bits)                                                                                                \
  static bool any_above_##bits(const unsigned char *values, uint64_t count, uint##bits##_t limit) {                    \
    uint##bits##_t above = 0;                                                                                          \
    for (uint64_t i = 0; i < count; ++i) {                                                                             \
      uint##bits##_t number;                                                                                           \
      memcpy(&number, values + i * sizeof number, sizeof number);                                                      \
      above |= (number & (uint##bits##_t) ~((uint##bits##_t)1 << (bits - 1))) > limit;                                 \
    }                                                                                                                  \
    return above;                                                                                                      \
  }
ANY_ABOVE(16)
ANY_ABOVE(32)
ANY_ABOVE(64)

/* less 1: infinities count as well. */
static bool has_fault(zb_dtype dtype, const void *values, uint64_t count, unsigned less) {
  switch (dtype) {
  case ZB_F32:
    return any_above_32(values, count, UINT32_C(0x7f800000) - less);
  case ZB_F64:
    return any_above_64(values, count, UINT64_C(0x7ff0000000000000) - less);
  case ZB_F16:
    return any_above_16(values, count, (uint16_t)(0x7c00 - less));
  case ZB_BF16:
    return any_above_16(values, count, (uint16_t)(0x7f80 - less));
  default:
    return false;
  }
}

const char *zb_values_fault(zb_value_rule rule, zb_dtype dtype, const void *values, uint64_t count) {
  if (rule == ZB_VALUES_ANY || !has_fault(dtype, values, count, rule == ZB_VALUES_FINITE)) return NULL;
  return has_fault(dtype, values, count, 0) ? "not a number" : "infinite";
}

/* ---- Where they come from ---- */

static zb_status missing(const zb_store *store, const char *what, const char *name) {
  zb_status status = ZB_ERROR(INVALID, "there is no value for the %s '%s'", what, name);
  int count = store ? zb_store_count(store) : 0;
  const char **names = zb_alloc(sizeof(char *) * (size_t)(count + 1));
  for (int i = 0; names && i < count; ++i)
    names[i] = zb_store_at(store, i)->name;
  const char *nearest = names ? zb_nearest(name, names, count) : NULL;
  status = nearest ? zb_status_hint(status, "the nearest name that is there is '%s'", nearest)
                   : zb_status_hint(status, "the files of a plan belong together: copy the folder as zbc wrote it");
  zb_free(names);
  return status;
}

static zb_status add_value(zb_values *values, zb_value value, uint64_t bytes) {
  values->bytes += bytes;
  return ZB_PUSH(&values->memory, values, value) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status not_of_the_plan(const zb_value *value, const zb_session_sources *sources, uint64_t digest) {
  bool is_constant = strcmp(value->what, "constant") == 0;
  const char *folder = sources->folder ? sources->folder : "memory";
  zb_status status = ZB_ERROR(
      INVALID,
      "the %s '%s' in '%s/%s.safetensors' is not the one that '%s/plan.zb' was compiled with: its digest is %016" PRIx64
      ", expected %016" PRIx64,
      value->what, value->tensor->name, folder, is_constant ? "constants" : "weights", folder, digest,
      value->tensor->digest);
  return is_constant
             ? zb_status_hint(status, "the files of a plan belong together: compile the model again")
             : zb_status_hint(status, "zb-run --weights FILE starts from other weights; or compile the model again");
}

/* Of what is cut, the part of the rank, which is made here. */
static zb_status add_part(zb_values *values, zb_value value, const void *whole, const zb_session_sources *sources) {
  const zb_shape shape = zb_plan_whole_shape(value.tensor);
  const size_t element = zb_dtype_bytes(value.dtype);
  if (value.checked) {
    const uint64_t digest = zb_digest_of(whole, (size_t)zb_shape_elements(&shape) * element);
    if (digest != value.tensor->digest) return not_of_the_plan(&value, sources, digest);
  }
  const uint64_t bytes = (uint64_t)zb_shape_elements(&value.tensor->shape) * element;
  void *part = zb_arena_take(&values->memory, bytes + 1, 1);
  if (!part) return ZB_OUT_OF_MEMORY();
  zb_plan_copy_part(value.tensor, zb_plan_place_of(values->plan, value.rank), element, ZB_WHOLE_TO_PART, whole, part);
  value.bytes = part;
  value.checked = false;
  return add_value(values, value, bytes);
}

static zb_status add_bytes(zb_values *values, zb_value value, const void *data, uint64_t bytes, zb_dtype dtype,
                           const zb_session_sources *sources) {
  value.dtype = dtype;
  if (zb_plan_in_parts(value.tensor)) return add_part(values, value, data, sources);
  value.bytes = data;
  return add_value(values, value, bytes);
}

/* value: all but what is stored. */
static zb_status add_stored(zb_values *values, zb_value value, const zb_store *store,
                            const zb_session_sources *sources) {
  const zb_stored_tensor *stored = store ? zb_store_find(store, value.tensor->name) : NULL;
  const zb_shape whole = zb_plan_whole_shape(value.tensor);
  char expected[96], got[96];
  if (!stored) return missing(store, value.what, value.tensor->name);
  if (!zb_shape_equal(&stored->shape, &whole))
    return ZB_ERROR(INVALID, "the %s '%s' is %s: expected %s", value.what, value.tensor->name,
                    zb_shape_text(&stored->shape, got), zb_shape_text(&whole, expected));
  return add_bytes(values, value, stored->data, stored->bytes, stored->shape.dtype, sources);
}

static zb_status add_constant(zb_values *values, zb_value value, const zb_plan_constant *constant,
                              const zb_session_sources *sources) {
  if (constant->computed) return NULL;
  if (!constant->bytes) return add_stored(values, value, sources->constants, sources);
  value.bytes = constant->bytes;
  value.checked = false; /* by the checksum of the plan */
  value.dtype = constant->tensor.shape.dtype;
  return add_value(values, value, constant->byte_count);
}

static int by_size(const void *a, const void *b) {
  const zb_value *left = a, *right = b;
  int64_t left_bytes = zb_shape_bytes(&left->tensor->shape), right_bytes = zb_shape_bytes(&right->tensor->shape);
  if (left_bytes != right_bytes) return left_bytes > right_bytes ? -1 : 1;
  if (left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
  return left->tensor < right->tensor ? -1 : left->tensor > right->tensor;
}

/* What the plan was compiled without, and nobody gives: all of it is counted, the first ones are named. */
static zb_status check_given(const zb_plan *plan, const zb_weights *weights) {
  zb_text names = {0};
  int count = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &plan->ranks[r].parameters[i];
      const bool is_given = weights && zb_weights_find(weights, parameter->tensor.name);
      if (!parameter->owner || parameter->tensor.digest != ZB_PLAN_VALUE_LATER || is_given) continue;
      if (count++ < NAMES_SHOWN) zb_text_add(&names, "%s'%s'", count > 1 ? ", " : "", parameter->tensor.name);
    }
  zb_status status = names.failed ? ZB_OUT_OF_MEMORY() : NULL;
  if (count && !status)
    status = zb_status_hint(ZB_ERROR(INVALID, "the plan was compiled without values, and %d parameter%s %s none: %s%s",
                                     count, count == 1 ? "" : "s", count == 1 ? "has" : "have", names.data,
                                     count > NAMES_SHOWN ? ", ..." : ""),
                            "--weights PATH gives them: a safetensors file, or the folder of a checkpoint");
  zb_text_deinit(&names);
  return status;
}

static zb_status add_parameter(zb_values *values, zb_value value, const zb_session_sources *sources,
                               const zb_checkpoint *checkpoint, const zb_weights *weights) {
  const zb_stored_tensor *other = weights ? zb_weights_find(weights, value.tensor->name) : NULL;
  if (checkpoint) return add_stored(values, value, checkpoint->weights, sources);
  value.checked = !other && value.tensor->digest != 0;
  if (!other) return add_stored(values, value, sources->weights, sources);
  return add_bytes(values, value, other->data, other->bytes, other->shape.dtype, sources);
}

zb_status zb_values_find(const zb_session *session, const zb_session_sources *sources, const zb_checkpoint *checkpoint,
                         const zb_weights *weights, zb_values *out) {
  zb_status status = NULL;
  *out = (zb_values){.plan = session->plan};
  if (!checkpoint && (weights || sources->weights)) ZB_TRY_GOTO(check_given(session->plan, weights));
  for (int r = session->first_rank; r < session->first_rank + session->rank_count; ++r) {
    const zb_plan_rank *rank = &session->plan->ranks[r];
    for (int i = 0; i < rank->parameter_count && (checkpoint || weights || sources->weights); ++i)
      ZB_TRY_GOTO(add_parameter(out,
                                (zb_value){.rank = r,
                                           .what = rank->parameters[i].buffer ? "buffer" : "parameter",
                                           .rule = zb_session_value_rule(session, r, i),
                                           .infinite = &session->infinite[r - session->first_rank][i],
                                           .tensor = &rank->parameters[i].tensor},
                                sources, checkpoint, weights));
    for (int i = 0; i < rank->state_count && checkpoint; ++i)
      ZB_TRY_GOTO(add_stored(
          out, (zb_value){.rank = r, .what = "optimizer state", .rule = ZB_VALUES_FINITE, .tensor = &rank->states[i]},
          checkpoint->optimizer, sources));
    for (int i = 0; i < rank->constant_count && !session->params.no_kernels; ++i) {
      const zb_plan_constant *constant = &rank->constants[i];
      zb_value value = {
          .rank = r, .what = "constant", .tensor = &constant->tensor, .checked = constant->tensor.digest != 0};
      ZB_TRY_GOTO(add_constant(out, value, constant, sources));
    }
  }
  if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, by_size);
cleanup:
  if (status) zb_values_deinit(out);
  return status;
}

void zb_values_deinit(zb_values *values) {
  zb_arena_deinit(&values->memory);
  *values = (zb_values){0};
}

/* ---- Into the arenas ---- */

typedef struct loading {
  zb_session *session;
  const zb_session_sources *sources;
  const zb_values *values;
  zb_status *statuses; /* one a value */
} loading;

static zb_status not_finite(const zb_value *value, const char *fault) {
  return zb_status_hint(
      ZB_ERROR(INVALID, "the %s '%s' that the run would begin with is %s", value->what, value->tensor->name, fault),
      "begin with an earlier checkpoint, or with other weights (--weights): it can only spread");
}

static zb_status copy_value(const zb_executor *e, const zb_value *value, float *wide, uint64_t *out_digest) {
  const zb_device_def *device = e->params.device;
  const unsigned char *from = value->bytes;
  unsigned char *to = e->arena + value->tensor->offset;
  size_t element = zb_dtype_bytes(value->dtype), wide_element = zb_dtype_bytes(value->tensor->shape.dtype);
  uint64_t left = (uint64_t)zb_shape_elements(&value->tensor->shape);
  bool widens = element != wide_element;
  uint64_t piece = (widens ? ZB_SCRATCH_BYTES : device->queue ? DEVICE_PIECE_BYTES : PIECE_BYTES) / wide_element;
  zb_digest digest;
  zb_digest_begin(&digest);
  while (left > 0) {
    uint64_t count = left < piece ? left : piece;
    const char *fault = zb_values_fault(value->rule, value->dtype, from, count);
    if (fault && (!value->infinite || zb_values_fault(ZB_VALUES_NO_NAN, value->dtype, from, count)))
      return not_finite(value, fault);
    if (fault) *value->infinite = true;
    if (value->checked) zb_digest_add(&digest, from, (size_t)count * element);
    if (widens) zb_widen(value->dtype, from, (size_t)count, wide);
    ZB_TRY(device->upload(e->device, to, widens ? (const void *)wide : from, count * wide_element));
    from += count * element;
    to += count * wide_element;
    left -= count;
  }
  *out_digest = zb_digest_end(&digest);
  return NULL;
}

static void load_tile(void *context, int64_t tile, void *scratch) {
  loading *all = context;
  const zb_value *value = &all->values->items[tile];
  const zb_executor *e = &all->session->executors[value->rank - all->session->first_rank];
  uint64_t digest = 0;
  zb_status status = copy_value(e, value, scratch, &digest);
  if (!status && value->checked && digest != value->tensor->digest)
    status = not_of_the_plan(value, all->sources, digest);
  all->statuses[tile] = status;
}

zb_status zb_values_load(zb_session *session, const zb_session_sources *sources, const zb_values *values) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  bool parallel = !session->device->queue && values->bytes >= parallel_min_bytes;
  loading all = {session, sources, values, zb_alloc(sizeof(zb_status) * (values->count + 1))};
  zb_threads *threads = zb_threads_create(!parallel || cores < 1 ? 1 : cores < THREADS_MAX ? (int)cores : THREADS_MAX);
  zb_status status = all.statuses && threads ? NULL : ZB_OUT_OF_MEMORY();
  if (!status) {
    zb_parallel_for(threads, (int64_t)values->count, load_tile, &all);
    status = zb_status_first(all.statuses, (int)values->count);
  }
  zb_threads_destroy(threads);
  zb_free(all.statuses);
  return status;
}
