/* Rows of arrays: see data_rows.h. Tests: test/runtime/exec/data_rows_test.c, test/e2e/arrays.py. */
#include "runtime/exec/data_rows.h"

#include "runtime/base/random.h"
#include "runtime/base/words.h"

#include <string.h>

static zb_status missing(const zb_rows *rows, const zb_plan_input *input, const char *path, const char *option) {
  char shape[96];
  const int count = zb_store_count(rows->arrays.store);
  const char **names = zb_alloc(sizeof *names * (size_t)(count + 1));
  for (int i = 0; names && i < count; ++i)
    names[i] = zb_store_at(rows->arrays.store, i)->name;
  const char *nearest = names ? zb_nearest(input->name, names, count) : NULL;
  zb_status status = ZB_ERROR(INVALID, "%s: '%s' has no array '%s', which the plan reads (%s in a micro-batch)", option,
                              path, input->name, zb_shape_text(&input->shape, shape));
  status = nearest ? zb_status_hint(status, "the nearest name that is there is '%s'", nearest)
                   : zb_status_hint(status, "numpy.savez(FILE, %s=...) names an array as an input", input->name);
  zb_free(names);
  return status;
}

/* Of an input in a micro-batch; a scalar is one. */
static int64_t rows_of(const zb_shape *shape) { return shape->rank > 0 ? shape->dims[0] : 1; }

int64_t zb_data_rows_of_plan(const zb_plan *plan) {
  int64_t rows = 0;
  for (int i = 0; i < plan->input_count; ++i) {
    const zb_plan_input *input = &plan->inputs[i];
    if (zb_data_is_counter(input)) continue;
    if (input->shape.rank == 0 || (rows && rows != rows_of(&input->shape))) return 1;
    rows = rows_of(&input->shape);
  }
  return rows > 0 ? rows : 1;
}

static zb_status check(zb_rows *rows, const zb_plan_input *input, const zb_stored_tensor *array, const char *path,
                       const char *option) {
  char got[96], needed[96];
  const int64_t own = rows_of(&input->shape), unit = rows->whole ? own : 1;
  zb_shape wanted = input->shape;
  if (own < 1)
    return ZB_ERROR(INVALID, "%s: the input '%s' is %s in a micro-batch, which is no rows", option, input->name,
                    zb_shape_text(&wanted, got));
  rows->at_once = own / unit;
  if (array->shape.rank > 0) {
    wanted.rank = wanted.rank > 0 ? wanted.rank : 1;
    wanted.dims[0] = array->shape.dims[0];
  }
  if (!zb_shape_equal(&array->shape, &wanted))
    return zb_status_hint(ZB_ERROR(INVALID, "%s: the array '%s' in '%s' is %s, and a micro-batch is %s", option,
                                   input->name, path, zb_shape_text(&array->shape, got),
                                   zb_shape_text(&input->shape, needed)),
                          "it needs the type of a micro-batch, and its shape but for the number of rows");
  const int64_t count = rows_of(&array->shape);
  if (count < 1) return ZB_ERROR(INVALID, "%s: the array '%s' in '%s' has no rows", option, input->name, path);
  if (count % unit != 0)
    return zb_status_hint(ZB_ERROR(INVALID, "%s: the array '%s' in '%s' has %lld rows, and a micro-batch has %lld",
                                   option, input->name, path, (long long)count, (long long)own),
                          "inputs of this model have different numbers of rows: their arrays have those of whole "
                          "micro-batches");
  if (rows->rows && rows->rows != count / unit)
    return ZB_ERROR(INVALID, "%s: the array '%s' in '%s' has %lld %s, and another one %lld", option, input->name, path,
                    (long long)(count / unit), rows->whole ? "micro-batches" : "rows", (long long)rows->rows);
  rows->rows = count / unit;
  return NULL;
}

static zb_status match(zb_rows *rows, const zb_plan *plan, const char *path, const char *option, bool all) {
  const zb_store *store = rows->arrays.store;
  rows->whole = zb_data_rows_of_plan(plan) == 1;
  const bool one = zb_store_count(store) == 1 && !*zb_store_at(store, 0)->name; /* .npy has no name */
  int used = 0;
  for (int i = 0; i < plan->input_count; ++i) {
    const zb_plan_input *input = &plan->inputs[i];
    if (zb_data_is_counter(input)) continue;
    rows->of[i] = one && used == 0 ? zb_store_at(store, 0) : zb_store_find(store, input->name);
    if (!rows->of[i]) return missing(rows, input, path, option);
    ZB_TRY(check(rows, input, rows->of[i], path, option));
    ++used;
  }
  const int64_t step_rows = rows->at_once * plan->micro_batches;
  if (used && !all && rows->rows < step_rows)
    return zb_status_hint(ZB_ERROR(INVALID, "%s: '%s' has %lld %s, and a batch is %lld", option, path,
                                   (long long)rows->rows, rows->whole ? "micro-batches" : "rows", (long long)step_rows),
                          "give more rows, or compile with fewer --micro-batches");
  rows->epoch_rows = !used ? 0 : all ? rows->rows : rows->rows / step_rows * step_rows;
  return NULL;
}

zb_status zb_rows_open(zb_rows *rows, zb_arrays_kind kind, const char *path, const zb_plan *plan, const char *option,
                       uint64_t seed, bool all) {
  *rows = (zb_rows){.seed = seed};
  rows->of = zb_alloc(sizeof *rows->of * (size_t)(plan->input_count + 1));
  zb_status status = rows->of ? zb_arrays_open(kind, path, &rows->arrays) : ZB_OUT_OF_MEMORY();
  if (!status) status = match(rows, plan, path, option, all);
  if (status) zb_rows_close(rows);
  return status;
}

void zb_rows_close(zb_rows *rows) {
  zb_arrays_close(&rows->arrays);
  zb_free(rows->of);
  *rows = (zb_rows){0};
}

/* A network of Feistel's on numbers of 2 * half bits is a permutation of them, whatever its rounds compute; one that
 * leaves 0 .. count - 1 is followed until it comes back. */
int64_t zb_rows_shuffled(uint64_t seed, int64_t epoch, int64_t count, int64_t index) {
  enum { ROUNDS = 8 };
  int half = 1;
  while (half < 31 && UINT64_C(1) << (2 * half) < (uint64_t)count)
    ++half;
  const uint32_t mask = (uint32_t)((UINT64_C(1) << half) - 1);
  uint64_t at = (uint64_t)index;
  do {
    uint32_t left = (uint32_t)(at >> half), right = (uint32_t)at & mask;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
      const zb_philox_block counter = {{right, round, (uint32_t)epoch, (uint32_t)((uint64_t)epoch >> 32)}};
      const uint32_t word = zb_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32)).word[0];
      const uint32_t next = left ^ (word & mask);
      left = right;
      right = next;
    }
    at = (uint64_t)left << half | right;
  } while (at >= (uint64_t)count);
  return (int64_t)at;
}

int64_t zb_rows_place(const zb_rows *rows, int64_t index) {
  const int64_t epoch = index / rows->epoch_rows, within = index % rows->epoch_rows;
  return rows->seed ? zb_rows_shuffled(rows->seed, epoch, rows->rows, within) : within;
}

void zb_rows_read(const zb_rows *rows, int input, int64_t index, int64_t count, void *to) {
  const zb_stored_tensor *array = rows->of[input];
  const uint64_t bytes = array->bytes / (uint64_t)rows->rows;
  for (int64_t i = 0; i < rows->at_once; ++i)
    memcpy((char *)to + (uint64_t)i * bytes,
           (const char *)array->data + (uint64_t)zb_rows_place(rows, index + i % count) * bytes, (size_t)bytes);
}

bool zb_rows_find(const zb_rows *rows, int input, int64_t index, int64_t count, int64_t value, int64_t *out_row) {
  const zb_stored_tensor *array = rows->of[input];
  if (!array || (array->shape.dtype != ZB_I64 && array->shape.dtype != ZB_I32)) return false;
  const size_t size = zb_dtype_bytes(array->shape.dtype);
  const uint64_t bytes = array->bytes / (uint64_t)rows->rows;
  for (int64_t i = 0; i < count; ++i) {
    *out_row = zb_rows_place(rows, index + i);
    const char *row = (const char *)array->data + (uint64_t)*out_row * bytes;
    for (uint64_t at = 0; at < bytes; at += size) {
      int64_t wide = 0;
      int32_t narrow = 0;
      if (size == sizeof wide)
        memcpy(&wide, row + at, size);
      else
        memcpy(&narrow, row + at, size);
      if ((size == sizeof wide ? wide : narrow) == value) return true;
    }
  }
  return false;
}
