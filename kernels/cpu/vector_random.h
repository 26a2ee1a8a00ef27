/* Philox on vectors, a call a lane, for the instruction set ZB_ISA_LEVEL (see isa_each.h). No include guard. The words
 * are those of runtime/base/random.h. */
#define vu ZB_ISA(vu)
#define vw ZB_ISA(vw)
#define multiply_even ZB_ISA(multiply_even)
#define multiply ZB_ISA(multiply)
#define draw ZB_ISA(draw)
#define draw_factors ZB_ISA(draw_factors)

typedef uint32_t vu __attribute__((vector_size(4 * V_LANES)));
typedef uint64_t vw __attribute__((vector_size(4 * V_LANES)));

/* The products of lanes 0, 2, .., 64 bits each. */
V_INLINE vw multiply_even(vw x, uint32_t factor) {
#if ZB_ISA_LEVEL == 2
  return (vw)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(factor));
#elif ZB_ISA_LEVEL == 1
  return (vw)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(factor));
#elif defined(ZB_ISA_X86)
  return (vw)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(factor));
#else
  return (x & UINT32_MAX) * factor;
#endif
}

/* Both halves of the product of each lane. */
V_INLINE void multiply(vu x, uint32_t factor, vu *high, vu *low) {
  vw even = multiply_even((vw)x, factor), odd = multiply_even((vw)x >> 32, factor);
  *high = (vu)(even >> 32 | (odd & ~(uint64_t)UINT32_MAX));
  *low = (vu)((even & UINT32_MAX) | odd << 32);
}

/* The words of V_LANES calls from `call` on, a multiple of V_LANES: as zb_philox. */
V_INLINE void draw(const zb_random_stream *stream, uint64_t call, vu word[4]) {
  static const uint32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  vu zero = {0}, high[2], low[2];
  uint32_t key_0 = stream->key[0], key_1 = stream->key[1];
  memcpy(&word[0], lanes, sizeof word[0]);
  word[0] += (uint32_t)call;
  word[1] = zero + ((uint32_t)(call >> 32) | stream->op);
  word[2] = zero + stream->place[0];
  word[3] = zero + stream->place[1];
  for (int round = 0; round < ZB_PHILOX_ROUNDS; ++round) {
    multiply(word[0], ZB_PHILOX_MULTIPLIER_0, &high[0], &low[0]);
    multiply(word[2], ZB_PHILOX_MULTIPLIER_1, &high[1], &low[1]);
    word[0] = high[1] ^ word[1] ^ key_0;
    word[1] = low[1];
    word[2] = high[0] ^ word[3] ^ key_1;
    word[3] = low[0];
    key_0 += ZB_PHILOX_KEY_STEP_0;
    key_1 += ZB_PHILOX_KEY_STEP_1;
  }
}

/* What elements group + 16 w + lane, and the V_LANES - 1 behind it, are multiplied by, for w of 0..3. group: a multiple
 * of ZB_RANDOM_GROUP. */
V_INLINE void draw_factors(const zb_drop *drop, int64_t group, int lane, vf factor[4]) {
  const vi scale = v_bits(v_set(drop->scale));
  vu word[4];
  draw(&drop->stream, (uint64_t)group / ZB_RANDOM_GROUP * ZB_RANDOM_LANES + (uint64_t)lane, word);
  for (int w = 0; w < 4; ++w)
    factor[w] = v_float((vi)(word[w] <= drop->last) & scale);
}
