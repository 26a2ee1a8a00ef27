/* Outputs of evaluations: runtime/exec/outputs.h. Tests: test/e2e/outputs.py. */
#include "runtime/exec/outputs.h"

#include "runtime/base/file.h"
#include "runtime/base/folder.h"
#include "runtime/base/words.h"

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

static zb_status add_file(zb_outputs *outputs, zb_arena *memory, const zb_plan *plan, int output, const char *path) {
  zb_output_file *file = &outputs->files[outputs->count];
  *file =
      (zb_output_file){.output = output,
                       .path = zb_arena_strdup(memory, path),
                       .bytes = (uint64_t)zb_shape_bytes(&plan->outputs[output].shape) * (uint64_t)plan->micro_batches};
  ZB_TRY(zb_output_check("--output", path, ".npy"));
  outputs->batch[output] = ZB_NEW(memory, unsigned char, file->bytes);
  ZB_TRY(zb_arena_status(memory));
  ++outputs->count;
  return NULL;
}

zb_status zb_outputs_open(zb_outputs *outputs, zb_arena *memory, const zb_plan *plan, const char *const *texts,
                          int count, int first, int ranks) {
  *outputs = (zb_outputs){.files = ZB_NEW(memory, zb_output_file, count),
                          .batch = ZB_NEW(memory, unsigned char *, plan->output_count)};
  bool *named = ZB_NEW(memory, bool, plan->output_count);
  ZB_TRY(zb_arena_status(memory));
  for (int i = 0; i < count; ++i) {
    const char *colon = strrchr(texts[i], ':');
    if (!colon || colon == texts[i] || !colon[1])
      return zb_status_hint(ZB_ERROR(USAGE, "--output: expected NAME:FILE.npy, got '%s'", texts[i]),
                            "for example --output logits:logits.npy");
    const int output = find_output(plan, texts[i], (size_t)(colon - texts[i]));
    if (output < 0) return unknown(plan, memory, texts[i], (int)(colon - texts[i]));
    if (named[output])
      return zb_status_hint(ZB_ERROR(USAGE, "--output: '%s' is given twice", plan->outputs[output].name),
                            "an output goes to one file");
    named[output] = true;
    if (is_made_here(plan, output, first, ranks)) ZB_TRY(add_file(outputs, memory, plan, output, colon + 1));
  }
  return NULL;
}

zb_status zb_outputs_begin(zb_outputs *outputs, const zb_plan *plan, int64_t batches) {
  for (int i = 0; i < outputs->count; ++i) {
    zb_output_file *file = &outputs->files[i];
    ZB_TRY(zb_npy_open(&file->writer, file->path, &plan->outputs[file->output].shape, batches * plan->micro_batches));
    file->is_open = true;
  }
  return NULL;
}

zb_status zb_outputs_add(zb_outputs *outputs) {
  for (int i = 0; i < outputs->count; ++i) {
    zb_output_file *file = &outputs->files[i];
    ZB_TRY(zb_npy_add(&file->writer, outputs->batch[file->output], file->bytes));
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
  }
}
