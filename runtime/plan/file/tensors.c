/* Tensors of which ranks have parts: what shards have of a dimension, and replicas of what their shard has, flat.
 *
 * Tests: test/runtime/plan/compiled/shards_plan_test.c, test/runtime/plan/compiled/sharding_test.c,
 * test/runtime/plan/compiled/mesh_sharding_test.c */
#include "runtime/plan/file/tensors.h"

#include "runtime/base/digest.h"

#include <stdlib.h>
#include <string.h>

zb_shape zb_plan_shape_of_replicas(const zb_plan_tensor *tensor) {
  zb_shape shape = tensor->shape;
  if (!tensor->flat) return shape;
  shape.rank = tensor->dim_count;
  for (int d = 0; d < shape.rank && d < ZB_DIMS_MAX; ++d)
    shape.dims[d] = tensor->dims[d];
  return shape;
}

zb_shape zb_plan_whole_shape(const zb_plan_tensor *tensor) {
  zb_shape whole = zb_plan_shape_of_replicas(tensor);
  if (tensor->cut) whole.dims[tensor->cut - 1] = 0;
  for (int i = 0; i < tensor->run_count && tensor->cut; ++i)
    whole.dims[tensor->cut - 1] += tensor->runs[i];
  return whole;
}

uint64_t zb_plan_tensor_hash(const zb_plan_tensor *tensor) {
  char text[96];
  const zb_shape whole = zb_plan_whole_shape(tensor);
  zb_shape_text(&whole, text);
  return zb_fnv1a(zb_fnv1a(ZB_FNV_START, tensor->name, strlen(tensor->name)), text, strlen(text));
}

/* ---- As text ---- */

static const char flat_mark[] = "flat:";

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Numbers between commas, up to what is none. */
static const char *read_numbers(const char *at, int64_t *out, int *count) {
  char *end;
  for (bool more = is_digit(*at); more; at = end + more) {
    out[(*count)++] = strtoll(at, &end, 10);
    more = *end == ',' && is_digit(end[1]);
  }
  return at;
}

zb_status zb_plan_set_cut(zb_plan *plan, zb_plan_tensor *tensor, const char *text) {
  const char *at = text;
  char *end;
  if (!text) return NULL;
  tensor->runs = zb_plan_alloc(plan, (strlen(text) + 1) * sizeof *tensor->runs);
  tensor->dims = zb_plan_alloc(plan, (strlen(text) + 1) * sizeof *tensor->dims);
  if (!tensor->runs || !tensor->dims) return ZB_OUT_OF_MEMORY();
  if (is_digit(*at)) {
    tensor->cut = 1 + (int)strtol(at, &end, 10);
    at = *end == ':' ? read_numbers(end + 1, tensor->runs, &tensor->run_count) : end;
    if (*at == ';' && at[1] == flat_mark[0]) ++at;
  }
  tensor->flat = strncmp(at, flat_mark, strlen(flat_mark)) == 0;
  if (tensor->flat) at = read_numbers(at + strlen(flat_mark), tensor->dims, &tensor->dim_count);
  const int rank = tensor->flat ? tensor->dim_count : tensor->shape.rank;
  const bool cut = tensor->cut > 0 && tensor->cut <= rank && tensor->run_count > 0;
  if (*at == '\0' && rank <= ZB_DIMS_MAX && (cut || (tensor->cut == 0 && tensor->flat))) return NULL;
  return ZB_ERROR(INVALID,
                  "%s: expected a dimension and runs of it, as in \"1:128,128\", \"flat:8,5\", or both with a "
                  "semicolon, got \"%s\"",
                  tensor->name, text);
}

/* ---- Copies ---- */

/* What a rank has of the tensor of its shard: bytes begin to end of it. */
typedef struct window {
  size_t begin, end;
} window;

static window window_of(const zb_plan_tensor *tensor, int replica, size_t element_bytes) {
  const zb_shape all = zb_plan_shape_of_replicas(tensor);
  const size_t bytes = (size_t)zb_shape_elements(&all) * element_bytes;
  if (!tensor->flat) return (window){0, bytes};
  const size_t part = (size_t)tensor->shape.dims[0] * element_bytes, begin = part * (size_t)replica;
  return (window){begin < bytes ? begin : bytes, begin + part < bytes ? begin + part : bytes};
}

/* Copies what a run of bytes, at one place of the whole tensor and another of the shard's, has in the window. */
static void copy_run(window all, size_t in_whole, size_t in_shard, size_t bytes, zb_part_way way, const char *from,
                     char *to) {
  const size_t begin = in_shard > all.begin ? in_shard : all.begin;
  const size_t end = in_shard + bytes < all.end ? in_shard + bytes : all.end;
  if (begin >= end) return;
  const size_t whole = in_whole + (begin - in_shard), part = begin - all.begin;
  memcpy(to + (way == ZB_WHOLE_TO_PART ? part : whole), from + (way == ZB_WHOLE_TO_PART ? whole : part), end - begin);
}

void zb_plan_copy_part(const zb_plan_tensor *tensor, zb_plan_place place, size_t element_bytes, zb_part_way way,
                       const void *from, void *to) {
  const window all = window_of(tensor, place.replica, element_bytes);
  if (way == ZB_WHOLE_TO_PART) memset(to, 0, (size_t)zb_shape_elements(&tensor->shape) * element_bytes);
  if (tensor->cut == 0) {
    copy_run(all, 0, 0, all.end, way, from, to);
    return;
  }
  const zb_shape whole = zb_plan_whole_shape(tensor), own = zb_plan_shape_of_replicas(tensor);
  const int dim = tensor->cut - 1;
  int64_t outer = 1, inner = (int64_t)element_bytes, first = 0;
  for (int d = 0; d < dim; ++d)
    outer *= whole.dims[d];
  for (int d = dim + 1; d < whole.rank; ++d)
    inner *= whole.dims[d];
  const size_t whole_row = (size_t)(whole.dims[dim] * inner), own_row = (size_t)(own.dims[dim] * inner);
  for (int64_t i = 0, at = 0; i < tensor->run_count; first += tensor->runs[i++]) {
    const int64_t part = (tensor->runs[i] + place.shards - 1) / place.shards, begin = part * place.shard;
    const int64_t left = tensor->runs[i] - begin, count = left < 0 ? 0 : left < part ? left : part;
    for (int64_t row = 0; row < outer && count; ++row)
      copy_run(all, (size_t)row * whole_row + (size_t)((first + begin) * inner),
               (size_t)row * own_row + (size_t)(at * inner), (size_t)(count * inner), way, from, to);
    at += part;
  }
}
