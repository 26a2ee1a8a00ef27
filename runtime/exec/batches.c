/* Batches of an embedder as inputs of micro-batches. Tests: test/runtime/exec/evaluation_test.c, test/python. */
#include <string.h>

#include "zb/runtime.h"

/* Pieces are as large as can be: whole micro-batches, then divisors of one, so that each is there as often as others.
 */
zb_batch_share zb_batch_share_of(int64_t rows, int64_t each, int64_t index) {
  zb_batch_share share = {.first = 0, .rows = 0};
  for (int64_t i = 0; i <= index; ++i) {
    share.first += share.rows;
    const int64_t left = rows - share.first;
    share.rows = left < each ? left : each;
    while (share.rows > 1 && each % share.rows != 0)
      --share.rows;
  }
  return share;
}

/* A piece of a batch that has fewer rows, as often as it fits. */
static void copy_piece(const zb_batch *batch, int64_t each, int micro_batch, const char *from, char *to,
                       uint64_t bytes) {
  zb_batch_share share = zb_batch_share_of(batch->rows, each, micro_batch);
  if (share.rows == 0) share = zb_batch_share_of(batch->rows, each, 0);
  const uint64_t row = bytes / (uint64_t)each, piece = (uint64_t)share.rows * row;
  for (uint64_t at = 0; at < bytes && piece > 0; at += piece)
    memcpy(to + at, from + (uint64_t)share.first * row, (size_t)piece);
}

static zb_status copy(const zb_batches *batches, const zb_batch *batch, const char *what, const char *name,
                      int64_t number, int micro_batch, void *to, uint64_t bytes) {
  if (batch->number != number || !batch->data)
    return ZB_ERROR(USAGE, "there is no batch for %s %lld", what, (long long)number + 1);
  for (int i = 0; i < batches->count; ++i)
    if (strcmp(batches->names[i], name) == 0) {
      if (batch->rows > 0)
        copy_piece(batch, batches->rows, micro_batch, batch->data[i], to, bytes);
      else
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
