/* Outputs of evaluations: runtime/exec/outputs.h. Tests: test/e2e/outputs.py. */
#include "runtime/exec/outputs.h"

#include "runtime/base/folder.h"
#include "runtime/base/words.h"
#include "zb/runtime.h"

#include <string.h>

static int find_output(const zb_plan *plan, const char *name, size_t length) {
  for (int i = 0; i < plan->output_count; ++i)
    if (strlen(plan->outputs[i].name) == length && memcmp(plan->outputs[i].name, name, length) == 0) return i;
  return -1;
}

static zb_status unknown(const zb_plan *plan, zb_arena *memory, const char *text, int length) {
  const char **names = ZB_NEW(memory, const char *, plan->output_count);
  char *given = zb_arena_strdup(memory, text);
  ZB_TRY(zb_arena_status(memory));
  given[length] = '\0';
  for (int i = 0; i < plan->output_count; ++i)
    names[i] = plan->outputs[i].name;
  const char *nearest = zb_nearest(given, names, plan->output_count);
  zb_status status = ZB_ERROR(USAGE, "--output: the plan keeps no output named '%s'", given);
  if (nearest) return zb_status_hint(status, "did you mean '%s'?", nearest);
  if (plan->output_count == 0)
    return zb_status_hint(status, "zbc --keep-output NAME keeps an output of the model for evaluations");
  return zb_status_hint(status, "it keeps '%s'%s", names[0], plan->output_count > 1 ? ", and others" : "");
}

/* Whether one of the ranks here makes the output. */
static bool is_made_here(const zb_plan *plan, int output, int first, int ranks) {
  for (int r = first; r < first + ranks; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i)
      for (int k = 0; k < plan->ranks[r].subprograms[i].output_count; ++k)
        if (plan->ranks[r].subprograms[i].outputs[k].output == output) return true;
  return false;
}

/* path NULL: it stays in memory. */
static zb_status add_output(zb_outputs *outputs, zb_arena *memory, const zb_plan *plan, int output, const char *path) {
  zb_output_file *file = &outputs->files[outputs->count];
  *file =
      (zb_output_file){.output = output,
                       .path = path ? zb_arena_strdup(memory, path) : NULL,
                       .bytes = (uint64_t)zb_shape_bytes(&plan->outputs[output].shape) * (uint64_t)plan->micro_batches};
  if (path) ZB_TRY(zb_output_check("--output", path, ".npy"));
  outputs->batch[output] = ZB_NEW(memory, unsigned char, file->bytes);
  ZB_TRY(zb_arena_status(memory));
  ++outputs->count;
  return NULL;
}

zb_status zb_outputs_open(zb_outputs *outputs, zb_arena *memory, const zb_outputs_params *params) {
  const zb_plan *plan = params->plan;
  *outputs = (zb_outputs){.files = ZB_NEW(memory, zb_output_file, params->count),
                          .named = ZB_NEW(memory, bool, plan->output_count),
                          .batch = ZB_NEW(memory, unsigned char *, plan->output_count),
                          .each = params->each};
  ZB_TRY(zb_arena_status(memory));
  for (int i = 0; i < params->count; ++i) {
    const char *text = params->texts[i], *colon = params->in_memory ? text + strlen(text) : strrchr(text, ':');
    if (!params->in_memory && (!colon || colon == text || !colon[1]))
      return zb_status_hint(ZB_ERROR(USAGE, "--output: expected NAME:FILE.npy, got '%s'", text),
                            "for example --output logits:logits.npy");
    const int output = find_output(plan, text, (size_t)(colon - text));
    if (output < 0) return unknown(plan, memory, text, (int)(colon - text));
    if (outputs->named[output])
      return zb_status_hint(ZB_ERROR(USAGE, "--output: '%s' is given twice", plan->outputs[output].name),
                            "an output goes to one file");
    outputs->named[output] = true;
    if (is_made_here(plan, output, params->first_rank, params->ranks))
      ZB_TRY(add_output(outputs, memory, plan, output, params->in_memory ? NULL : colon + 1));
  }
  return NULL;
}

zb_status zb_outputs_find(const zb_outputs *outputs, const zb_plan *plan, const char *name, zb_shape *out_shape,
                          const void **out_data) {
  const int output = find_output(plan, name, strlen(name));
  *out_data = NULL;
  if (output < 0 || !outputs->named || !outputs->named[output])
    return zb_status_hint(ZB_ERROR(USAGE, "the session hands out no output '%s'", name),
                          "name it in its parameter outputs");
  *out_shape = plan->outputs[output].shape;
  *out_data = outputs->batch[output];
  for (int i = 0; i < outputs->count; ++i)
    if (outputs->files[i].output == output && outputs->files[i].rows) *out_data = outputs->files[i].rows;
  return NULL;
}

/* What a row of a micro-batch has of an output; false: it has no rows. */
static bool row_of(const zb_outputs *outputs, const zb_shape *shape, zb_shape *out) {
  *out = *shape;
  if (shape->rank == 0 || shape->dims[0] % outputs->each != 0) return false;
  out->dims[0] /= outputs->each;
  return true;
}

zb_status zb_outputs_begin(zb_outputs *outputs, const zb_plan *plan, int64_t batches, int64_t rows) {
  for (int i = 0; i < outputs->count; ++i) {
    zb_output_file *file = &outputs->files[i];
    int64_t count = batches * plan->micro_batches;
    zb_shape shape = plan->outputs[file->output].shape, row;
    if (row_of(outputs, &shape, &row))
      shape = row, count = count * outputs->each + rows;
    else if (rows > 0)
      return zb_status_hint(ZB_ERROR(INVALID, "--output: '%s' has not the rows of a batch, and the last one has %lld",
                                     plan->outputs[file->output].name, (long long)rows),
                            "--eval-steps %lld evaluates whole batches alone", (long long)batches);
    ZB_TRY(zb_npy_open(&file->writer, file->path, &shape, count));
    file->is_open = true;
  }
  return NULL;
}

/* What the micro-batches have of the rows, which come in each of them again and again. */
static zb_status add_rows(zb_outputs *outputs, zb_output_file *file, const zb_plan *plan, int64_t rows, int64_t part) {
  zb_shape row;
  if (!row_of(outputs, &plan->outputs[file->output].shape, &row)) return NULL;
  const uint64_t bytes = (uint64_t)zb_shape_bytes(&row), each = bytes * (uint64_t)outputs->each;
  if (!file->path && !file->rows) file->rows = zb_alloc(file->bytes + 1);
  if (!file->path && !file->rows) return ZB_OUT_OF_MEMORY();
  for (int m = 0; m < plan->micro_batches; ++m) {
    const zb_batch_share share = zb_batch_share_of(rows, outputs->each, part + m);
    const unsigned char *from = outputs->batch[file->output] + (uint64_t)m * each;
    const size_t count = (size_t)((uint64_t)share.rows * bytes);
    if (file->path)
      ZB_TRY(zb_npy_add(&file->writer, from, count));
    else
      memcpy(file->rows + (uint64_t)share.first * bytes, from, count);
  }
  return NULL;
}

zb_status zb_outputs_add_rows(zb_outputs *outputs, const zb_plan *plan, int64_t rows, int64_t part) {
  for (int i = 0; i < outputs->count; ++i)
    ZB_TRY(add_rows(outputs, &outputs->files[i], plan, rows, part));
  return NULL;
}

static void forget_rows(zb_output_file *file) {
  zb_free(file->rows);
  file->rows = NULL;
}

zb_status zb_outputs_add(zb_outputs *outputs) {
  for (int i = 0; i < outputs->count; ++i) {
    zb_output_file *file = &outputs->files[i];
    forget_rows(file);
    if (file->path) ZB_TRY(zb_npy_add(&file->writer, outputs->batch[file->output], file->bytes));
  }
  return NULL;
}

zb_status zb_outputs_commit(zb_outputs *outputs) {
  for (int i = 0; i < outputs->count; ++i) {
    outputs->files[i].is_open = false;
    ZB_TRY(zb_npy_commit(&outputs->files[i].writer));
  }
  return NULL;
}

void zb_outputs_abandon(zb_outputs *outputs) {
  for (int i = 0; i < outputs->count; ++i) {
    if (outputs->files[i].is_open) zb_npy_abandon(&outputs->files[i].writer);
    outputs->files[i].is_open = false;
    forget_rows(&outputs->files[i]);
  }
}
