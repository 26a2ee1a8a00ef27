/* Random numbers that depend on what they are for, and on nothing else: Philox4x32-10 of J. K. Salmon, M. A. Moraes,
 * R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
 *
 * There is no state. The word of an element is a function of five numbers: the seed of the run, the step, the
 * micro-batch, the number of the op that draws, and the place of the element in the whole tensor. So neither schedule
 * nor ranks, threads, recomputing or the device change a result, and a backward pass draws again what its forward pass
 * drew. The first three come as an input of the model that no data feeds, ZB_COUNTER_INPUT: the session fills it.
 *
 * One call of Philox gives four words. Elements are drawn in groups of 64, sixteen calls each: element 16 w + l of a
 * group gets word w of call l, so that sixteen neighbours get the same word of neighbouring calls, and vectors of 4, 8
 * or 16 lanes (or the threads of a GPU) store them without moving them. In bits:
 *
 *   counter word 0, 1   the call: 44 bits of (element / 64 * 16 + element % 16), then 20 of the op
 *   counter word 2, 3   24 bits of the micro-batch, then 40 of the step
 *   key word 0, 1       the seed
 *
 * Included by C, by nvcc (which defines ZB_RANDOM_FUNCTION), and by the CPU emulation of the tests. Tests:
 * test/runtime/base/random_test.c.
 */
#pragma once

#include <stdint.h>

#ifndef ZB_RANDOM_FUNCTION
#define ZB_RANDOM_FUNCTION static inline
#endif

/* The input, an i64 tensor of ZB_COUNTER_WORDS: seed, step (from 0), micro-batch, and a 0 that is kept for later. */
#define ZB_COUNTER_INPUT "zb.counter"
enum { ZB_COUNTER_SEED, ZB_COUNTER_STEP, ZB_COUNTER_MICRO_BATCH, ZB_COUNTER_WORDS = 4 };

enum {
  ZB_RANDOM_OP_BITS = 20,
  ZB_RANDOM_MICRO_BATCH_BITS = 24,
  ZB_RANDOM_STEP_BITS = 40,
  ZB_RANDOM_ELEMENT_BITS = 46,
  ZB_RANDOM_GROUP = 64, /* elements */
  ZB_RANDOM_LANES = 16, /* calls of a group */
};

#define ZB_PHILOX_MULTIPLIER_0 UINT32_C(0xD2511F53)
#define ZB_PHILOX_MULTIPLIER_1 UINT32_C(0xCD9E8D57)
#define ZB_PHILOX_KEY_STEP_0 UINT32_C(0x9E3779B9) /* the golden ratio */
#define ZB_PHILOX_KEY_STEP_1 UINT32_C(0xBB67AE85) /* sqrt(3) - 1 */
enum { ZB_PHILOX_ROUNDS = 10 };

typedef struct zb_philox_block {
  uint32_t word[4];
} zb_philox_block;

ZB_RANDOM_FUNCTION zb_philox_block zb_philox(zb_philox_block counter, uint32_t key_0, uint32_t key_1) {
  zb_philox_block x = counter;
  for (int round = 0; round < ZB_PHILOX_ROUNDS; ++round) {
    uint64_t even = (uint64_t)ZB_PHILOX_MULTIPLIER_0 * x.word[0], odd = (uint64_t)ZB_PHILOX_MULTIPLIER_1 * x.word[2];
    x.word[0] = (uint32_t)(odd >> 32) ^ x.word[1] ^ key_0;
    x.word[2] = (uint32_t)(even >> 32) ^ x.word[3] ^ key_1;
    x.word[1] = (uint32_t)odd;
    x.word[3] = (uint32_t)even;
    key_0 += ZB_PHILOX_KEY_STEP_0;
    key_1 += ZB_PHILOX_KEY_STEP_1;
  }
  return x;
}

/* What the words of one op in one micro-batch have in common. */
typedef struct zb_random_stream {
  uint32_t key[2], place[2]; /* place: counter words 2 and 3 */
  uint32_t op;               /* where its bits stand in counter word 1 */
} zb_random_stream;

/* counter: the values of ZB_COUNTER_INPUT. */
ZB_RANDOM_FUNCTION zb_random_stream zb_random_stream_of(const int64_t *counter, int64_t op) {
  uint64_t seed = (uint64_t)counter[ZB_COUNTER_SEED];
  uint64_t place = (uint64_t)counter[ZB_COUNTER_STEP] << ZB_RANDOM_MICRO_BATCH_BITS;
  place |= (uint64_t)counter[ZB_COUNTER_MICRO_BATCH] & ((UINT64_C(1) << ZB_RANDOM_MICRO_BATCH_BITS) - 1);
  zb_random_stream stream;
  stream.key[0] = (uint32_t)seed;
  stream.key[1] = (uint32_t)(seed >> 32);
  stream.place[0] = (uint32_t)place;
  stream.place[1] = (uint32_t)(place >> 32);
  stream.op = (uint32_t)op << (32 - ZB_RANDOM_OP_BITS);
  return stream;
}

ZB_RANDOM_FUNCTION zb_philox_block zb_random_call(const zb_random_stream *stream, uint64_t call) {
  zb_philox_block counter;
  counter.word[0] = (uint32_t)call;
  counter.word[1] = (uint32_t)(call >> 32) | stream->op;
  counter.word[2] = stream->place[0];
  counter.word[3] = stream->place[1];
  return zb_philox(counter, stream->key[0], stream->key[1]);
}

/* The word of one element. */
ZB_RANDOM_FUNCTION uint32_t zb_random_word(const zb_random_stream *stream, int64_t element) {
  uint64_t group = (uint64_t)element / ZB_RANDOM_GROUP, within = (uint64_t)element % ZB_RANDOM_GROUP;
  zb_philox_block block = zb_random_call(stream, group * ZB_RANDOM_LANES + within % ZB_RANDOM_LANES);
  return block.word[within / ZB_RANDOM_LANES];
}

/* A multiple of 2^-24 in [0, 1). */
ZB_RANDOM_FUNCTION float zb_random_real(uint32_t word) { return (float)(word >> 8) * (1.0f / 16777216); }

/* An element stays where its word is below this: 2^32 (1 - rate), to the nearest, so that the share that stays is exact
 * to 2^-33. For rates of 0 <= rate < 1; 2^32, which no word reaches, for 0. */
ZB_RANDOM_FUNCTION uint64_t zb_random_threshold(double rate) { return (uint64_t)((1.0 - rate) * 4294967296.0 + 0.5); }
