/* What attention on tensor cores has in common, whatever makes its products: flash.cu (mma.sync, all GPUs) and
 * hopper.cu (wgmma). A block has 64 rows (queries; of dk and dv: keys), 16 a warp. Scores and sums lie as the PTX
 * manual says of m16n8k16: a lane holds rows lane / 4 and 8 more, columns 2 (lane % 4) and 1 more. */
#pragma once

#include "kernels/cuda/device.cuh"

enum { ROWS = ZB_FLASH_ROWS, STAGES = 2 };

#define LOG2_E 1.4426950408889634f
#define LN_2 0.69314718055994531f

struct flash_place {
  int warp, lane, group, pair; /* rows of this lane: 16 warp + group and 8 more; columns: 8 n + 2 pair and 1 more */
  int64_t batch, head, kv_head, first;
};

/* Of tile `tile` of `tiles`, of head `which` of the batch. Blocks with most work start first: with a causal mask late
 * queries see most keys, and early keys are seen by most queries (early_first). */
ZB_DEVICE flash_place flash_place_of(const zb_attention_args &a, int64_t heads, int64_t which, int64_t tile,
                                     int64_t tiles, bool early_first) {
  flash_place p;
  p.warp = (int)threadIdx.x / 32;
  p.lane = (int)threadIdx.x % 32;
  p.group = p.lane / 4;
  p.pair = p.lane % 4;
  p.batch = which / heads;
  p.head = which % heads;
  p.kv_head = heads == a.heads ? p.head / a.group : p.head;
  p.first = (early_first ? tile : tiles - 1 - tile) * ROWS;
  return p;
}

ZB_DEVICE int64_t flash_tiles(int64_t tokens) { return (tokens + ROWS - 1) / ROWS; }

/* Over the four lanes that share a row. */
template <typename F> ZB_DEVICE float over_lanes(float value, F combine) {
  value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

template <typename I> ZB_DEVICE int within(I x, int least, int most) {
  return x < least ? least : x > most ? most : (int)x;
}

/* Writes the two rows of this lane, scaled, to rows `first` + ... of a result [.., tokens, heads, width]. */
template <typename T, int D>
ZB_DEVICE void store_rows(T *to, const float (&sums)[D / 8][4], const float (&factor)[2], const flash_place &p,
                          int64_t tokens, int64_t heads, int width) {
  ZB_UNROLL
  for (int half = 0; half < 2; ++half) {
    int64_t token = p.first + p.warp * 16 + p.group + half * 8;
    if (token >= tokens) continue;
    T *row = to + ((p.batch * tokens + token) * heads + p.head) * width;
    ZB_UNROLL
    for (int n = 0; n < D / 8; ++n) {
      int column = n * 8 + p.pair * 2;
      if (column < width)
        *(uint32_t *)(row + column) =
            pair_of(T(), sums[n][half * 2] * factor[half], sums[n][half * 2 + 1] * factor[half]);
    }
  }
}

/* The result and lse of the lane's queries, `row` and 8 more, from their sums, the largest score to base 2 and the
 * lane's own part of the total of the shares. */
template <typename T, int D>
ZB_DEVICE void store_result(const zb_attention_args &a, const flash_place &p, const float (&sums)[D / 8][4],
                            const float (&largest)[2], float (&total)[2], int64_t row) {
  float factor[2];
  ZB_UNROLL
  for (int half = 0; half < 2; ++half) {
    total[half] = over_lanes(total[half], add_values());
    bool nothing = largest[half] == -INFINITY;
    factor[half] = nothing ? 0 : 1 / total[half];
    if (p.pair == 0 && row + half * 8 < a.queries)
      store_float(a.lse_out, a.lse_dtype, (p.batch * a.heads + p.head) * a.queries + row + half * 8,
                  nothing ? -INFINITY : (largest[half] + log2(total[half])) * LN_2);
  }
  store_rows<T, D>((T *)a.result, sums, factor, p, a.queries, a.heads, a.value_width);
}

/* ---- Gradient ---- */

/* What the gradient needs to know of N queries: lse to base 2, infinity for what is no query or sees nothing, so that
 * its shares are 0; and delta = sum(dout * out). */
template <int N> struct query_statistics {
  float lse[N], delta[N];
};

/* Where the statistics of a head's queries lie, whose number is rounded up to whole blocks: all lse, then all delta. */
ZB_DEVICE float *statistics_of(const zb_attention_args &a, int64_t batch, int64_t head, int which) {
  return a.statistics + ((which * a.batch + batch) * a.heads + head) * flash_tiles(a.queries) * ROWS;
}

/* Of the block's queries, for this block and for the kernel that comes after. */
template <typename T>
ZB_DEVICE void make_statistics(const zb_attention_args &a, const flash_place &p, query_statistics<ROWS> &to) {
  constexpr int LANES = ZB_ATTENTION_THREADS / ROWS;
  int row = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
  int64_t query = p.first + row;
  float sum = 0, lse = INFINITY;
  if (query < a.queries) {
    const T *dout = (const T *)a.dout.data + p.batch * a.dout.batch + p.head * a.dout.head + query * a.dout.token;
    const T *out = (const T *)a.out.data + p.batch * a.out.batch + p.head * a.out.head + query * a.out.token;
    const int64_t *s = a.lse_strides;
    for (int c = lane * 8; c < a.value_width; c += LANES * 8) {
      float x[8], y[8];
      load_dense(dout + c, x);
      load_dense(out + c, y);
      for (int i = 0; i < 8; ++i)
        sum += x[i] * y[i];
    }
    lse = load_float(a.lse, a.lse_dtype, p.batch * s[0] + p.head * s[1] + query * s[2]);
    lse = lse == -INFINITY ? INFINITY : lse * LOG2_E;
  }
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (lane > 0) return;
  to.lse[row] = statistics_of(a, p.batch, p.head, 0)[query] = lse;
  to.delta[row] = statistics_of(a, p.batch, p.head, 1)[query] = sum;
}

/* The gradients of the lane's two keys and values, whose scores have the factor scale. */
template <typename T, int D>
ZB_DEVICE void store_key_gradients(const zb_attention_args &a, const flash_place &p, const float (&dk)[D / 8][4],
                                   const float (&dv)[D / 8][4]) {
  const float one[2] = {1, 1}, factor[2] = {a.scale, a.scale};
  store_rows<T, D>((T *)a.dk, dk, factor, p, a.keys, a.kv_heads, a.width);
  store_rows<T, D>((T *)a.dv, dv, one, p, a.keys, a.kv_heads, a.value_width);
}

/* The gradient of a score, but for the factor scale, from its share and `dp`. A pair that does not see each other gives
 * 0 whatever dp is. */
ZB_DEVICE float gradient_of_score(float share, float dp, float delta) { return share == 0 ? 0 : share * (dp - delta); }
