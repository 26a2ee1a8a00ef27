/* Whole batches of an embedder as inputs of micro-batches. Tests: test/runtime/exec/evaluation_test.c, test/python. */
#include <string.h>

#include "zb/runtime.h"

static zb_status copy(const zb_batches *batches, const zb_batch *batch, const char *what, const char *name,
                      int64_t number, int micro_batch, void *to, uint64_t bytes) {
  if (batch->number != number || !batch->data)
    return ZB_ERROR(USAGE, "there is no batch for %s %lld", what, (long long)number + 1);
  for (int i = 0; i < batches->count; ++i)
    if (strcmp(batches->names[i], name) == 0) {
      memcpy(to, (const char *)batch->data[i] + (uint64_t)micro_batch * bytes, (size_t)bytes);
      return NULL;
    }
  return ZB_ERROR(USAGE, "the batch for %s %lld has no input '%s'", what, (long long)number + 1, name);
}

zb_status zb_batches_input(void *batches, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  const zb_batches *all = batches;
  return copy(all, &all->steps[step % ZB_BATCHES], "step", name, step, micro_batch, to, bytes);
}

zb_status zb_batches_evaluation(void *batches, const char *name, int64_t batch, int micro_batch, void *to,
                                uint64_t bytes) {
  const zb_batches *all = batches;
  return copy(all, &all->evaluation, "the evaluation of batch", name, batch, micro_batch, to, bytes);
}
