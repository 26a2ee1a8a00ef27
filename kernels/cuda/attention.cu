/* Attention without the score matrix, and its gradient, in f32 arithmetic: tiles of 32 queries x 32 keys, heads padded
 * to D columns.
 *
 * A block has 32 rows (queries; of dk and dv: keys), four neighbouring threads a row; a thread holds 8 scores of its
 * row and D / 4 columns of its sums. Forward: the softmax is made tile by tile (running maximum and sum, as in Milakov
 * and Gimelshein, "Online normalizer calculation for softmax", 2018, and Dao et al., "FlashAttention", 2022). Gradient:
 * probabilities are computed again from lse; dq has one block a tile of queries, dk and dv one a tile of keys, which
 * goes over the heads of its group and their queries in order: no atomics.
 */
#include "kernels/cuda/device.cuh"

#define ZB_RANDOM_FUNCTION ZB_DEVICE
#include "runtime/base/random.h"

enum { TILE = ZB_ATTENTION_TILE, LANES = ZB_ATTENTION_THREADS / TILE, SCORES = TILE / LANES };

typedef pack<float, 4> four;

template <int D> struct rows {
  float at[TILE][D + 4]; /* 4: neighbouring rows begin in other banks */
};
struct pairs {
  float at[TILE][TILE + 4];
};

struct place {
  int row, lane;                       /* of this thread */
  int64_t batch, head, kv_head, first; /* first: token of row 0 */
};

ZB_DEVICE const void *row_of(const zb_attention_operand &o, size_t bytes, int64_t batch, int64_t head) {
  return (const char *)o.data + (batch * o.batch + head * o.head) * (int64_t)bytes;
}

/* 32 rows of a head from token `first` on; what lies beyond the tokens or the width is 0. */
template <typename T, int D>
ZB_DEVICE void load_rows(rows<D> &to, const zb_attention_operand &o, int64_t batch, int64_t head, int64_t first,
                         int64_t tokens, int width) {
  const T *from = (const T *)row_of(o, sizeof(T), batch, head);
  for (int i = (int)threadIdx.x; i < TILE * D; i += ZB_ATTENTION_THREADS) {
    int row = i / D, column = i % D;
    bool inside = first + row < tokens && column < width;
    to.at[row][column] = inside ? value_of(from[(first + row) * o.token + column * o.column]) : 0;
  }
}

ZB_DEVICE float dot(four x, four y, float sum) {
  for (int i = 0; i < 4; ++i)
    sum += x.v[i] * y.v[i];
  return sum;
}

/* sums[s] = own row . row lane + 4 s of the other tile. */
template <int D> ZB_DEVICE void products(const float *own, const rows<D> &other, int lane, float (&sums)[SCORES]) {
  for (int s = 0; s < SCORES; ++s)
    sums[s] = 0;
  for (int c = 0; c < D; c += 4) {
    four x = *(const four *)(own + c);
    for (int s = 0; s < SCORES; ++s)
      sums[s] = dot(x, *(const four *)&other.at[lane + LANES * s][c], sums[s]);
  }
}

/* The columns of a row that a thread owns: 4 (lane + 4 i) and the three after it. */
template <int D>
ZB_DEVICE void add_rows(float (&sums)[D / LANES], const float *weights, const rows<D> &from, int lane) {
  for (int r = 0; r < TILE; ++r) {
    float weight = weights[r];
    for (int i = 0; i < D / 16; ++i) {
      four x = *(const four *)&from.at[r][4 * (lane + LANES * i)];
      for (int k = 0; k < 4; ++k)
        sums[4 * i + k] += weight * x.v[k];
    }
  }
}

template <typename T, int D>
ZB_DEVICE void store_row(T *to, const float (&sums)[D / LANES], float factor, int lane, int width) {
  for (int i = 0; i < D / 16; ++i)
    for (int k = 0; k < 4; ++k) {
      int column = 4 * (lane + LANES * i) + k;
      if (column < width) set(to[column], sums[4 * i + k] * factor);
    }
}

ZB_DEVICE bool visible(const zb_attention_args &a, int64_t i, int64_t j) {
  return i < a.queries && j < a.keys && (!a.causal || j <= i + (a.keys - a.queries));
}

/* scale * product + mask; -infinity for a pair that does not see each other. */
ZB_DEVICE float score(const zb_attention_args &a, const place &at_, int64_t head, int64_t i, int64_t j, float product) {
  if (!visible(a, i, j)) return -INFINITY;
  float value = a.scale * product;
  if (!a.mask) return value;
  const int64_t *s = a.mask_strides;
  return value + load_float(a.mask, a.mask_dtype, at_.batch * s[0] + head * s[1] + i * s[2] + j * s[3]);
}

/* What the share of a pair is multiplied by: a draw for its place in [batch, heads, queries, keys]. */
ZB_DEVICE float draw(const zb_attention_args &a, const place &at_, int64_t head, int64_t i, int64_t j) {
  if (!a.drops) return 1;
  zb_random_stream stream = zb_random_stream_of(a.counter, a.op);
  int64_t element = ((at_.batch * a.heads + head) * a.queries + i) * a.keys + j;
  return (int64_t)zb_random_word(&stream, element) < a.threshold ? a.kept : 0;
}

/* Over the four threads of a row. */
template <typename F> ZB_DEVICE float over_row(float value, F combine) {
  value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

/* Block number to (batch, head, tile); late tiles, which see most keys, start first. */
ZB_DEVICE place place_of_block(const zb_attention_args &a, int64_t heads, int64_t tokens) {
  int64_t tiles = (tokens + TILE - 1) / TILE, pair = (int64_t)blockIdx.x / tiles;
  place p;
  p.row = (int)threadIdx.x / LANES;
  p.lane = (int)threadIdx.x % LANES;
  p.batch = pair / heads;
  p.head = pair % heads;
  p.kv_head = heads == a.heads ? p.head / a.group : p.head;
  p.first = (tiles - 1 - (int64_t)blockIdx.x % tiles) * TILE;
  return p;
}

/* Behind the last key that a tile of queries sees; before the first query that sees a tile of keys, rounded down to a
 * tile. */
ZB_DEVICE int64_t keys_end(const zb_attention_args &a, int64_t first_query) {
  int64_t end = first_query + TILE + (a.keys - a.queries);
  return a.causal && end < a.keys ? end : a.keys;
}
ZB_DEVICE int64_t queries_begin(const zb_attention_args &a, int64_t first_key) {
  int64_t begin = first_key - (a.keys - a.queries);
  return a.causal && begin > 0 ? begin / TILE * TILE : 0;
}

/* ---- Forward ---- */

template <int D> struct forward_memory {
  rows<D> q, kv;
  pairs p;
};

template <typename T, int D> ZB_DEVICE void attention(const zb_attention_args &a) {
  forward_memory<D> &m = *(forward_memory<D> *)zb_shared();
  place p = place_of_block(a, a.heads, a.queries);
  int64_t query = p.first + p.row, end = keys_end(a, p.first);
  float sums[D / LANES] = {}, scores[SCORES], largest = -INFINITY, total = 0;
  load_rows<T>(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  for (int64_t key = 0; key < end; key += TILE) {
    load_rows<T>(m.kv, a.k, p.batch, p.kv_head, key, a.keys, a.width);
    __syncthreads();
    products(m.q.at[p.row], m.kv, p.lane, scores);
    float tile_largest = -INFINITY;
    for (int s = 0; s < SCORES; ++s) {
      scores[s] = score(a, p, p.head, query, key + p.lane + LANES * s, scores[s]);
      tile_largest = larger_value()(tile_largest, scores[s]);
    }
    float next = larger_value()(largest, over_row(tile_largest, larger_value()));
    bool nothing = next == -INFINITY; /* seen so far */
    float factor = nothing ? 1 : exp(largest - next);
    total *= factor;
    for (int i = 0; i < D / LANES; ++i)
      sums[i] *= factor;
    for (int s = 0; s < SCORES; ++s) {
      float share = nothing ? 0 : exp(scores[s] - next);
      total += share;
      int64_t j = key + p.lane + LANES * s;
      m.p.at[p.row][p.lane + LANES * s] = share == 0 ? 0 : share * draw(a, p, p.head, query, j);
    }
    largest = next;
    __syncthreads();
    load_rows<T>(m.kv, a.v, p.batch, p.kv_head, key, a.keys, a.value_width);
    __syncthreads();
    add_rows<D>(sums, m.p.at[p.row], m.kv, p.lane);
    __syncthreads();
  }
  total = over_row(total, add_values());
  if (query >= a.queries) return;
  bool nothing = largest == -INFINITY;
  T *to = (T *)a.result + ((p.batch * a.queries + query) * a.heads + p.head) * a.value_width;
  store_row<T, D>(to, sums, nothing ? 0 : 1 / total, p.lane, a.value_width);
  if (p.lane == 0)
    store_float(a.lse_out, a.lse_dtype, (p.batch * a.heads + p.head) * a.queries + query,
                nothing ? largest : largest + log(total));
}

/* ---- Gradient ---- */

template <int D> struct gradient_memory {
  rows<D> q, dout, k, v;
  pairs p, ds;
  float lse[TILE], delta[TILE];
};

/* lse and sum(dout * out) of 32 queries; a query that is none, or sees nothing, gets lse = -infinity. */
template <typename T>
ZB_DEVICE void load_statistics(const zb_attention_args &a, const place &p, int64_t head, int64_t first, float *lse,
                               float *delta) {
  int64_t query = first + p.row;
  float sum = 0;
  if (query < a.queries) {
    const T *dout = (const T *)row_of(a.dout, sizeof(T), p.batch, head) + query * a.dout.token;
    const T *out = (const T *)row_of(a.out, sizeof(T), p.batch, head) + query * a.out.token;
    for (int c = p.lane; c < a.value_width; c += LANES)
      sum += value_of(dout[c * a.dout.column]) * value_of(out[c * a.out.column]);
  }
  sum = over_row(sum, add_values());
  if (p.lane > 0) return;
  const int64_t *s = a.lse_strides;
  delta[p.row] = sum;
  lse[p.row] =
      query < a.queries ? load_float(a.lse, a.lse_dtype, p.batch * s[0] + head * s[1] + query * s[2]) : -INFINITY;
}

/* What of the share of a pair meets v, and the gradient of its scaled product. */
ZB_DEVICE float pair_gradient(const zb_attention_args &a, const place &at_, int64_t head, int64_t i, int64_t j,
                              float one_score, float lse, float dp, float delta, float *ds) {
  float share = lse == -INFINITY || one_score == -INFINITY ? 0 : exp(one_score - lse);
  float factor = share == 0 ? 0 : draw(a, at_, head, i, j);
  *ds = share == 0 ? 0 : a.scale * share * (factor * dp - delta);
  return share * factor;
}

template <typename T, int D> ZB_DEVICE void attention_grad_q(const zb_attention_args &a) {
  gradient_memory<D> &m = *(gradient_memory<D> *)zb_shared();
  place p = place_of_block(a, a.heads, a.queries);
  int64_t query = p.first + p.row, end = keys_end(a, p.first);
  float sums[D / LANES] = {}, scores[SCORES], dp[SCORES];
  load_rows<T>(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  load_rows<T>(m.dout, a.dout, p.batch, p.head, p.first, a.queries, a.value_width);
  load_statistics<T>(a, p, p.head, p.first, m.lse, m.delta);
  for (int64_t key = 0; key < end; key += TILE) {
    load_rows<T>(m.k, a.k, p.batch, p.kv_head, key, a.keys, a.width);
    load_rows<T>(m.v, a.v, p.batch, p.kv_head, key, a.keys, a.value_width);
    __syncthreads();
    products(m.q.at[p.row], m.k, p.lane, scores);
    products(m.dout.at[p.row], m.v, p.lane, dp);
    for (int s = 0; s < SCORES; ++s) {
      int j = p.lane + LANES * s;
      float value = score(a, p, p.head, query, key + j, scores[s]);
      (void)pair_gradient(a, p, p.head, query, key + j, value, m.lse[p.row], dp[s], m.delta[p.row], &m.ds.at[p.row][j]);
    }
    __syncthreads();
    add_rows<D>(sums, m.ds.at[p.row], m.k, p.lane);
    __syncthreads();
  }
  if (query >= a.queries) return;
  store_row<T, D>((T *)a.dq + ((p.batch * a.queries + query) * a.heads + p.head) * a.width, sums, 1, p.lane, a.width);
}

template <typename T, int D> ZB_DEVICE void attention_grad_kv(const zb_attention_args &a) {
  gradient_memory<D> &m = *(gradient_memory<D> *)zb_shared();
  place p = place_of_block(a, a.kv_heads, a.keys);
  int64_t key = p.first + p.row;
  float dk[D / LANES] = {}, dv[D / LANES] = {}, scores[SCORES], dp[SCORES];
  load_rows<T>(m.k, a.k, p.batch, p.head, p.first, a.keys, a.width);
  load_rows<T>(m.v, a.v, p.batch, p.head, p.first, a.keys, a.value_width);
  for (int64_t head = p.head * a.group; head < (p.head + 1) * a.group; ++head) {
    for (int64_t first = queries_begin(a, p.first); first < a.queries; first += TILE) {
      load_rows<T>(m.q, a.q, p.batch, head, first, a.queries, a.width);
      load_rows<T>(m.dout, a.dout, p.batch, head, first, a.queries, a.value_width);
      load_statistics<T>(a, p, head, first, m.lse, m.delta);
      __syncthreads();
      products(m.k.at[p.row], m.q, p.lane, scores);
      products(m.v.at[p.row], m.dout, p.lane, dp);
      for (int s = 0; s < SCORES; ++s) {
        int i = p.lane + LANES * s;
        float value = score(a, p, head, first + i, key, scores[s]);
        m.p.at[p.row][i] =
            pair_gradient(a, p, head, first + i, key, value, m.lse[i], dp[s], m.delta[i], &m.ds.at[p.row][i]);
      }
      __syncthreads();
      add_rows<D>(dv, m.p.at[p.row], m.dout, p.lane);
      add_rows<D>(dk, m.ds.at[p.row], m.q, p.lane);
      __syncthreads();
    }
  }
  if (key >= a.keys) return;
  int64_t row = (p.batch * a.keys + key) * a.kv_heads + p.head;
  store_row<T, D>((T *)a.dk + row * a.width, dk, 1, p.lane, a.width);
  store_row<T, D>((T *)a.dv + row * a.value_width, dv, 1, p.lane, a.value_width);
}

#define ZB_ATTENTION_KERNELS(D, suffix, T)                                                                             \
  ZB_KERNEL(zb_attention_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) { attention<T, D>(a); }              \
  ZB_KERNEL(zb_attention_grad_q_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) {                             \
    attention_grad_q<T, D>(a);                                                                                         \
  }                                                                                                                    \
  ZB_KERNEL(zb_attention_grad_kv_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS) {                            \
    attention_grad_kv<T, D>(a);                                                                                        \
  }
#define ZB_ATTENTION_WIDTH(D)                                                                                          \
  ZB_ATTENTION_KERNELS(D, f32, float)                                                                                  \
  ZB_ATTENTION_KERNELS(D, bf16, bf16)                                                                                  \
  ZB_ATTENTION_KERNELS(D, f16, f16)
ZB_ATTENTION_WIDTH(64)
ZB_ATTENTION_WIDTH(128)
ZB_ATTENTION_WIDTH(256)
