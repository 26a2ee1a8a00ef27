/* Attention and its gradient in bf16 and f16 on tensor cores: the algorithm of attention.cu, with products of 16 x 8 x 16 by a warp.
 *
 * A block has 64 rows (queries; of dk and dv: keys), 16 a warp. Operand tiles lie in shared memory by rows, 16 bytes longer than a head,
 * so that the rows of an 8 x 8 matrix begin in different banks. Scores and sums are f32; shares and gradients of scores are rounded to
 * the narrow type where they enter a product, as in Dao, "FlashAttention-2", 2023. Exponents are to base 2.
 *
 * Which element a lane holds (PTX manual, m16n8k16): of a sum, rows lane / 4 and 8 more, columns 2 (lane % 4) and 1 more. Two neighbouring
 * sums of a product are the left operand of the next one without a move. */
#include "kernels/cuda/device.cuh"

enum { ROWS = ZB_FLASH_ROWS, WARPS = ZB_ATTENTION_THREADS / 32, KEY_TILE = 64, GRADIENT_TILE = ZB_FLASH_GRADIENT_TILE };

#define LOG2_E 1.4426950408889634f
#define LN_2 0.69314718055994531f

template <typename T, int D, int N> struct tile {
  T at[N][D + 8];
};

struct flash_place {
  int warp, lane, group, pair; /* rows of this lane: 16 warp + group and 8 more; columns: 8 n + 2 pair and 1 more */
  int64_t batch, head, kv_head, first;
};

ZB_DEVICE flash_place flash_place_of_block(const zb_attention_args &a, int64_t heads, int64_t tokens) {
  int64_t tiles = (tokens + ROWS - 1) / ROWS, which = (int64_t)blockIdx.x / tiles;
  flash_place p;
  p.warp = (int)threadIdx.x / 32;
  p.lane = (int)threadIdx.x % 32;
  p.group = p.lane / 4;
  p.pair = p.lane % 4;
  p.batch = which / heads;
  p.head = which % heads;
  p.kv_head = heads == a.heads ? p.head / a.group : p.head;
  p.first = (tiles - 1 - (int64_t)blockIdx.x % tiles) * ROWS; /* late tiles see most keys: they start first */
  return p;
}

/* N tokens of a head from `first` on, 16 bytes a load; zeros beyond the tokens and the width (a multiple of 8). */
template <typename T, int D, int N>
ZB_DEVICE void load_tile(tile<T, D, N> &to, const zb_attention_operand &o, int64_t batch, int64_t head, int64_t first, int64_t tokens, int width) {
  typedef pack<T, 8> eight;
  const T *from = (const T *)o.data + batch * o.batch + head * o.head;
  for (int i = (int)threadIdx.x; i < N * (D / 8); i += ZB_ATTENTION_THREADS) {
    int row = i / (D / 8), column = i % (D / 8) * 8;
    eight x = {};
    if (first + row < tokens && column < width) x = *(const eight *)(from + (first + row) * o.token + column);
    *(eight *)&to.at[row][column] = x;
  }
}

/* The 16 x 16 left operand at (row, column). */
template <typename T, int D, int N> ZB_DEVICE void load_left(uint32_t (&to)[4], const tile<T, D, N> &from, int row, int column, int lane) {
  load_matrices(to, &from.at[row + lane % 16][column + lane / 16 * 8]);
}

/* sums[row of own][row of other] = own row . other row, over the D columns: 16 rows of `own` from `row` on, all N of `other`. */
template <typename T, int D, int M, int N>
ZB_DEVICE void row_products(float (&sums)[N / 8][4], const tile<T, D, M> &own, int row, const tile<T, D, N> &other, int lane) {
  for (int n = 0; n < N / 8; n++)
    for (int e = 0; e < 4; e++)
      sums[n][e] = 0;
  for (int k = 0; k < D; k += 16) {
    uint32_t left[4], right[4];
    load_left(left, own, row, k, lane);
    for (int n = 0; n < N / 16; n++) {
      load_matrices(right, &other.at[n * 16 + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8]);
      multiply(T(), sums[2 * n], left, right[0], right[1]);
      multiply(T(), sums[2 * n + 1], left, right[2], right[3]);
    }
  }
}

/* sums[row][column] += sum over the N rows of `from` of weights[row][r] * from[r][column]; weights as sums of a product lie. */
template <typename T, int D, int N>
ZB_DEVICE void add_weighted(float (&sums)[D / 8][4], const float (&weights)[N / 8][4], const tile<T, D, N> &from, int lane) {
  for (int k = 0; k < N / 16; k++) {
    const float(&w)[4] = weights[2 * k], (&x)[4] = weights[2 * k + 1];
    uint32_t left[4] = {pair_of(T(), w[0], w[1]), pair_of(T(), w[2], w[3]), pair_of(T(), x[0], x[1]), pair_of(T(), x[2], x[3])}, right[4];
    for (int n = 0; n < D / 16; n++) {
      load_matrices_transposed(right, &from.at[k * 16 + lane % 16][n * 16 + lane / 16 * 8]);
      multiply(T(), sums[2 * n], left, right[0], right[1]);
      multiply(T(), sums[2 * n + 1], left, right[2], right[3]);
    }
  }
}

/* Writes the two rows of this lane, scaled, to rows `first` + ... of a result [.., tokens, heads, width]. */
template <typename T, int D>
ZB_DEVICE void store_rows(T *to, const float (&sums)[D / 8][4], const float (&factor)[2], const flash_place &p, int64_t tokens, int64_t heads, int width) {
  for (int half = 0; half < 2; half++) {
    int64_t token = p.first + p.warp * 16 + p.group + half * 8;
    if (token >= tokens) continue;
    T *row = to + ((p.batch * tokens + token) * heads + p.head) * width;
    for (int n = 0; n < D / 8; n++) {
      int column = n * 8 + p.pair * 2;
      if (column < width) *(uint32_t *)(row + column) = pair_of(T(), sums[n][half * 2] * factor[half], sums[n][half * 2 + 1] * factor[half]);
    }
  }
}

/* scale * product + mask of query i and key j, times log2(e); -infinity where they do not see each other. */
ZB_DEVICE float flash_score(const zb_attention_args &a, int64_t batch, int64_t head, int64_t i, int64_t j, float product) {
  if (i >= a.queries || j >= a.keys || (a.causal && j > i + (a.keys - a.queries))) return -INFINITY;
  float value = a.scale * product;
  const int64_t *s = a.mask_strides;
  if (a.mask) value += load_float(a.mask, a.mask_dtype, batch * s[0] + head * s[1] + i * s[2] + j * s[3]);
  return value * LOG2_E;
}

/* Whether all pairs of some queries and keys see each other, and there is no mask: most tiles, which need no questions. */
ZB_DEVICE bool all_visible(const zb_attention_args &a, int64_t first_query, int64_t queries, int64_t first_key, int64_t keys) {
  return !a.mask && first_query + queries <= a.queries && first_key + keys <= a.keys &&
         (!a.causal || first_key + keys - 1 <= first_query + (a.keys - a.queries));
}

/* Over the four lanes that share a row. */
template <typename F> ZB_DEVICE float over_lanes(float value, F combine) {
  value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

/* ---- Forward ---- */

template <typename T, int D> struct flash_memory {
  tile<T, D, ROWS> q;
  tile<T, D, KEY_TILE> k, v;
};

/* Turns products into shares of one more tile of keys; `sums` and `total` are scaled to the new maximum. */
template <int D, int N>
ZB_DEVICE void next_shares(float (&scores)[N / 8][4], float (&sums)[D / 8][4], float (&largest)[2], float (&total)[2]) {
  for (int half = 0; half < 2; half++) {
    float next = -INFINITY;
    for (int n = 0; n < N / 8; n++)
      next = larger_value()(next, larger_value()(scores[n][half * 2], scores[n][half * 2 + 1]));
    next = larger_value()(largest[half], over_lanes(next, larger_value()));
    bool nothing = next == -INFINITY; /* seen so far */
    float factor = nothing ? 1 : exp2(largest[half] - next);
    largest[half] = next;
    total[half] *= factor;
    for (int n = 0; n < D / 8; n++) {
      sums[n][half * 2] *= factor;
      sums[n][half * 2 + 1] *= factor;
    }
    for (int n = 0; n < N / 8; n++)
      for (int e = half * 2; e < half * 2 + 2; e++) {
        scores[n][e] = nothing ? 0 : exp2(scores[n][e] - next);
        total[half] += scores[n][e];
      }
  }
}

template <typename T, int D> ZB_DEVICE void flash(const zb_attention_args &a) {
  flash_memory<T, D> &m = *(flash_memory<T, D> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.heads, a.queries);
  int64_t end = p.first + ROWS + (a.keys - a.queries), row = p.first + p.warp * 16 + p.group;
  if (!a.causal || end > a.keys) end = a.keys;
  float sums[D / 8][4] = {}, scores[KEY_TILE / 8][4], largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  load_tile(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  for (int64_t key = 0; key < end; key += KEY_TILE) {
    load_tile(m.k, a.k, p.batch, p.kv_head, key, a.keys, a.width);
    load_tile(m.v, a.v, p.batch, p.kv_head, key, a.keys, a.value_width);
    __syncthreads();
    row_products(scores, m.q, p.warp * 16, m.k, p.lane);
    bool plain = all_visible(a, p.first, ROWS, key, KEY_TILE);
    for (int n = 0; n < KEY_TILE / 8; n++)
      for (int e = 0; e < 4; e++) {
        int64_t j = key + n * 8 + p.pair * 2 + e % 2;
        scores[n][e] = plain ? scores[n][e] * (a.scale * LOG2_E) : flash_score(a, p.batch, p.head, row + e / 2 * 8, j, scores[n][e]);
      }
    next_shares<D, KEY_TILE>(scores, sums, largest, total);
    add_weighted(sums, scores, m.v, p.lane);
    __syncthreads();
  }
  float factor[2];
  for (int half = 0; half < 2; half++) {
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

/* lse (to base 2) and sum(dout * out) of N queries from `first` on; -infinity for what is no query or sees nothing. */
template <typename T, int N>
ZB_DEVICE void load_statistics(const zb_attention_args &a, int64_t batch, int64_t head, int64_t first, float *lse, float *delta) {
  constexpr int LANES = ZB_ATTENTION_THREADS / N;
  typedef pack<T, 8> eight;
  int row = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
  int64_t query = first + row;
  float sum = 0;
  if (query < a.queries) {
    const T *dout = (const T *)a.dout.data + batch * a.dout.batch + head * a.dout.head + query * a.dout.token;
    const T *out = (const T *)a.out.data + batch * a.out.batch + head * a.out.head + query * a.out.token;
    for (int c = lane * 8; c < a.value_width; c += LANES * 8) {
      eight x = *(const eight *)(dout + c), y = *(const eight *)(out + c);
      for (int i = 0; i < 8; i++)
        sum += value_of(x.v[i]) * value_of(y.v[i]);
    }
  }
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (lane > 0) return;
  const int64_t *s = a.lse_strides;
  delta[row] = sum;
  lse[row] = query < a.queries ? load_float(a.lse, a.lse_dtype, batch * s[0] + head * s[1] + query * s[2]) * LOG2_E : -INFINITY;
}

/* Of a pair: its share (returned), and the gradient of its product. */
ZB_DEVICE float share_of(const zb_attention_args &a, float one_score, float lse, float dp, float delta, float *ds) {
  float share = lse == -INFINITY || one_score == -INFINITY ? 0 : exp2(one_score - lse);
  *ds = share == 0 ? 0 : a.scale * share * (dp - delta);
  return share;
}

template <typename T, int D> struct flash_q_memory {
  tile<T, D, ROWS> q, dout;
  tile<T, D, GRADIENT_TILE> k, v;
  float lse[ROWS], delta[ROWS];
};

template <typename T, int D> ZB_DEVICE void flash_grad_q(const zb_attention_args &a) {
  flash_q_memory<T, D> &m = *(flash_q_memory<T, D> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.heads, a.queries);
  int64_t end = p.first + ROWS + (a.keys - a.queries);
  if (!a.causal || end > a.keys) end = a.keys;
  int own = p.warp * 16 + p.group;
  float sums[D / 8][4] = {}, scores[GRADIENT_TILE / 8][4], dp[GRADIENT_TILE / 8][4];
  load_tile(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  load_tile(m.dout, a.dout, p.batch, p.head, p.first, a.queries, a.value_width);
  load_statistics<T, ROWS>(a, p.batch, p.head, p.first, m.lse, m.delta);
  for (int64_t key = 0; key < end; key += GRADIENT_TILE) {
    load_tile(m.k, a.k, p.batch, p.kv_head, key, a.keys, a.width);
    load_tile(m.v, a.v, p.batch, p.kv_head, key, a.keys, a.value_width);
    __syncthreads();
    row_products(scores, m.q, p.warp * 16, m.k, p.lane);
    row_products(dp, m.dout, p.warp * 16, m.v, p.lane);
    bool plain = all_visible(a, p.first, ROWS, key, GRADIENT_TILE);
    for (int n = 0; n < GRADIENT_TILE / 8; n++)
      for (int e = 0; e < 4; e++) {
        int row = own + e / 2 * 8;
        float value = plain ? scores[n][e] * (a.scale * LOG2_E)
                            : flash_score(a, p.batch, p.head, p.first + row, key + n * 8 + p.pair * 2 + e % 2, scores[n][e]);
        (void)share_of(a, value, m.lse[row], dp[n][e], m.delta[row], &scores[n][e]);
      }
    add_weighted(sums, scores, m.k, p.lane);
    __syncthreads();
  }
  const float one[2] = {1, 1};
  store_rows<T, D>((T *)a.dq, sums, one, p, a.queries, a.heads, a.width);
}

template <typename T, int D> struct flash_kv_memory {
  tile<T, D, ROWS> k, v;
  tile<T, D, GRADIENT_TILE> q, dout;
  float lse[GRADIENT_TILE], delta[GRADIENT_TILE];
};

template <typename T, int D> ZB_DEVICE void flash_grad_kv(const zb_attention_args &a) {
  flash_kv_memory<T, D> &m = *(flash_kv_memory<T, D> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.kv_heads, a.keys);
  int64_t begin = p.first - (a.keys - a.queries), own = p.first + p.warp * 16 + p.group;
  begin = a.causal && begin > 0 ? begin / GRADIENT_TILE * GRADIENT_TILE : 0;
  float dk[D / 8][4] = {}, dv[D / 8][4] = {}, scores[GRADIENT_TILE / 8][4], dp[GRADIENT_TILE / 8][4];
  load_tile(m.k, a.k, p.batch, p.head, p.first, a.keys, a.width);
  load_tile(m.v, a.v, p.batch, p.head, p.first, a.keys, a.value_width);
  for (int64_t head = p.head * a.group; head < (p.head + 1) * a.group; head++) {
    for (int64_t first = begin; first < a.queries; first += GRADIENT_TILE) {
      load_tile(m.q, a.q, p.batch, head, first, a.queries, a.width);
      load_tile(m.dout, a.dout, p.batch, head, first, a.queries, a.value_width);
      load_statistics<T, GRADIENT_TILE>(a, p.batch, head, first, m.lse, m.delta);
      __syncthreads();
      row_products(scores, m.k, p.warp * 16, m.q, p.lane);
      row_products(dp, m.v, p.warp * 16, m.dout, p.lane);
      bool plain = all_visible(a, first, GRADIENT_TILE, p.first, ROWS);
      for (int n = 0; n < GRADIENT_TILE / 8; n++)
        for (int e = 0; e < 4; e++) {
          int column = n * 8 + p.pair * 2 + e % 2;
          float value = plain ? scores[n][e] * (a.scale * LOG2_E)
                              : flash_score(a, p.batch, head, first + column, own + e / 2 * 8, scores[n][e]);
          scores[n][e] = share_of(a, value, m.lse[column], dp[n][e], m.delta[column], &dp[n][e]);
        }
      add_weighted(dv, scores, m.dout, p.lane);
      add_weighted(dk, dp, m.q, p.lane);
      __syncthreads();
    }
  }
  const float one[2] = {1, 1};
  store_rows<T, D>((T *)a.dk, dk, one, p, a.keys, a.kv_heads, a.width);
  store_rows<T, D>((T *)a.dv, dv, one, p, a.keys, a.kv_heads, a.value_width);
}

#define ZB_FLASH_KERNELS(D, suffix, T)                                                                                 \
  ZB_KERNEL(zb_flash_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) {                                        \
    flash<T, D>(a);                                                                                                    \
  }                                                                                                                    \
  ZB_KERNEL(zb_flash_grad_q_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) {                                 \
    flash_grad_q<T, D>(a);                                                                                             \
  }                                                                                                                    \
  ZB_KERNEL(zb_flash_grad_kv_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) {                                \
    flash_grad_kv<T, D>(a);                                                                                            \
  }
ZB_FLASH_KERNELS(64, bf16, bf16)
ZB_FLASH_KERNELS(64, f16, f16)
ZB_FLASH_KERNELS(128, bf16, bf16)
ZB_FLASH_KERNELS(128, f16, f16)
