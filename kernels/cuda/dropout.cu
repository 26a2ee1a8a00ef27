/* Dropout, and numbers alone: a thread computes one call of Philox, whose four words are for elements 16 apart, so that
 * neighbouring threads read and write neighbours. Each thread reads the counter: it stays in the cache. */
#include "kernels/cuda/device.cuh"

#define ZB_RANDOM_FUNCTION ZB_DEVICE
#include "runtime/base/random.h"

/* give(i, word) for the elements of this thread's call. */
template <typename F> ZB_DEVICE void draw_words(const int64_t *counter, int64_t op, int64_t elements, F give) {
  int64_t call = global_thread(), first = call / ZB_RANDOM_LANES * ZB_RANDOM_GROUP + call % ZB_RANDOM_LANES;
  if (first >= elements) return;
  zb_random_stream stream = zb_random_stream_of(counter, op);
  zb_philox_block block = zb_random_call(&stream, (uint64_t)call);
  ZB_UNROLL
  for (int w = 0; w < 4; ++w) {
    int64_t i = first + w * ZB_RANDOM_LANES;
    if (i < elements) give(i, block.word[w]);
  }
}

template <typename T> ZB_DEVICE void dropout(const zb_dropout_args &a) {
  draw_words(a.counter, a.op, a.elements, [&](int64_t i, uint32_t word) {
    float factor = (int64_t)word < a.threshold ? (float)a.scale : 0.0f;
    set(((T *)a.out)[i], value_of(((const T *)a.x)[at(a.dims, i)]) * factor);
  });
}

ZB_KERNEL(zb_uniform, zb_uniform_args, ZB_MAP_THREADS) {
  draw_words(a.counter, a.op, a.elements, [&](int64_t i, uint32_t word) {
    if (a.whole)
      ((int64_t *)a.out)[i] = (int64_t)word;
    else
      ((float *)a.out)[i] = zb_random_real(word);
  });
}

ZB_FLOAT_KERNELS(zb_dropout, zb_dropout_args, ZB_MAP_THREADS, dropout)
