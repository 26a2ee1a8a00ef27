/* Attention and its gradient in bf16 and f16 on tensor cores: the algorithm of attention.cu, with products of 16 x 8 x
 * 16 by a warp.
 *
 * A block has 64 rows (queries; of dk and dv: keys), 16 a warp. Operand tiles lie in shared memory by rows, 16 bytes
 * longer than a head, so that the rows of an 8 x 8 matrix begin in different banks. The tile after the one that is
 * worked on is on its way (two stages, one barrier a tile). Scores and sums are f32; shares and gradients of scores are
 * rounded to the narrow type where they enter a product, as in Dao, "FlashAttention-2", 2023. Exponents are to base 2.
 * The gradient of q comes first and leaves lse and sum(dout * out) of every query for that of k and v
 * (args.statistics).
 *
 * Two neighbouring sums of a product (flash.cuh) are the left operand of the next one without a move. */
#include "kernels/cuda/flash.cuh"

enum { GRADIENT_TILE = ZB_FLASH_GRADIENT_TILE };

template <typename T, int D, int N> struct tile {
  T at[N][D + 8];
};

ZB_DEVICE flash_place flash_place_of_block(const zb_attention_args &a, int64_t heads, int64_t tokens,
                                           bool early_first) {
  int64_t tiles = flash_tiles(tokens), block = blockIdx.x;
  return flash_place_of(a, heads, block / tiles, block % tiles, tiles, early_first);
}

/* N tokens of a head from `first` on are on their way; zeros beyond the tokens and the width (a multiple of 8). A
 * thread copies 16 bytes of every STEP-th row. */
template <typename T, int D, int N>
ZB_DEVICE void copy_tile(tile<T, D, N> &to, const zb_attention_operand &o, int64_t batch, int64_t head, int64_t first,
                         int64_t tokens, int width) {
  constexpr int STEP = ZB_ATTENTION_THREADS / (D / 8);
  int row = (int)threadIdx.x / (D / 8), column = (int)threadIdx.x % (D / 8) * 8;
  int64_t left = column < width ? tokens - first - row : 0;
  const T *from = (const T *)o.data + batch * o.batch + head * o.head + (first + row) * o.token + column;
  ZB_UNROLL
  for (int k = 0; k < N / STEP; ++k, from += STEP * o.token)
    copy_ahead(&to.at[row + k * STEP][column], from, k * STEP < left);
}

/* The 16 x 16 left operand at (row, column). */
template <typename T, int D, int N>
ZB_DEVICE void load_left(uint32_t (&to)[4], const tile<T, D, N> &from, int row, int column, int lane) {
  load_matrices(to, &from.at[row + lane % 16][column + lane / 16 * 8]);
}

/* sums[row of own][row of other] = own row . other row, over the D columns: 16 rows of `own` from `row` on, all N of
 * `other`. */
template <typename T, int D, int M, int N>
ZB_DEVICE void row_products(float (&sums)[N / 8][4], const tile<T, D, M> &own, int row, const tile<T, D, N> &other,
                            int lane) {
  ZB_UNROLL
  for (int n = 0; n < N / 8; ++n)
    ZB_UNROLL
  for (int e = 0; e < 4; ++e)
    sums[n][e] = 0;
  for (int k = 0; k < D; k += 16) {
    uint32_t left[4], right[4];
    load_left(left, own, row, k, lane);
    ZB_UNROLL
    for (int n = 0; n < N / 16; ++n) {
      load_matrices(right, &other.at[n * 16 + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8]);
      multiply(T(), sums[2 * n], left, right[0], right[1]);
      multiply(T(), sums[2 * n + 1], left, right[2], right[3]);
    }
  }
}

/* sums[row][column] += sum over the N rows of `from` of weights[row][r] * from[r][column]; weights as sums of a product
 * lie. */
template <typename T, int D, int N>
ZB_DEVICE void add_weighted(float (&sums)[D / 8][4], const float (&weights)[N / 8][4], const tile<T, D, N> &from,
                            int lane) {
  ZB_UNROLL
  for (int k = 0; k < N / 16; ++k) {
    const float (&w)[4] = weights[2 * k], (&x)[4] = weights[2 * k + 1];
    uint32_t left[4] = {pair_of(T(), w[0], w[1]), pair_of(T(), w[2], w[3]), pair_of(T(), x[0], x[1]),
                        pair_of(T(), x[2], x[3])},
             right[4];
    ZB_UNROLL
    for (int n = 0; n < D / 16; ++n) {
      load_matrices_transposed(right, &from.at[k * 16 + lane % 16][n * 16 + lane / 16 * 8]);
      multiply(T(), sums[2 * n], left, right[0], right[1]);
      multiply(T(), sums[2 * n + 1], left, right[2], right[3]);
    }
  }
}

/* The mask of query i and key j, times log2(e). Called: for compute capability 10.0 nvcc would load the masks of all
 * elements of a tile at once, in registers that it then takes from the sums. */
ZB_CALLED_DEVICE float mask_score(const zb_attention_args &a, int64_t batch, int64_t head, int64_t i, int64_t j) {
  const int64_t *s = a.mask_strides;
  return load_float(a.mask, a.mask_dtype, batch * s[0] + head * s[1] + i * s[2] + j * s[3]) * LOG2_E;
}

/* Whether all pairs of some queries and keys see each other, and there is no mask: most tiles, which need no questions.
 */
ZB_DEVICE bool all_visible(const zb_attention_args &a, int64_t first_query, int64_t queries, int64_t first_key,
                           int64_t keys) {
  return !a.mask && first_query + queries <= a.queries && first_key + keys <= a.keys &&
         (!a.causal || first_key + keys - 1 <= first_query + (a.keys - a.queries));
}

/* ---- Forward ---- */

template <typename T, int D, int N> struct key_tiles {
  tile<T, D, N> k, v;
};
template <typename T, int D, int N> struct flash_memory {
  tile<T, D, ROWS> q;
  key_tiles<T, D, N> stages[STAGES];
};

template <typename T, int D, int N>
ZB_DEVICE void copy_keys(key_tiles<T, D, N> &to, const zb_attention_args &a, const flash_place &p, int64_t key) {
  copy_tile(to.k, a.k, p.batch, p.kv_head, key, a.keys, a.width);
  copy_tile(to.v, a.v, p.batch, p.kv_head, key, a.keys, a.value_width);
}

/* Behind the last key that some of the block's queries see. */
ZB_DEVICE int64_t flash_keys_end(const zb_attention_args &a, const flash_place &p) {
  int64_t end = p.first + ROWS + (a.keys - a.queries);
  return !a.causal || end > a.keys ? a.keys : end;
}

/* Products of the lane's rows of the block, queries, with N keys become scores to base 2. */
template <int N>
ZB_DEVICE void to_scores(float (&scores)[N / 8][4], const zb_attention_args &a, const flash_place &p, int64_t key) {
  int64_t row = p.first + p.warp * 16 + p.group, shift = a.keys - a.queries;
  float scale = a.scale * LOG2_E;
  if (all_visible(a, p.first, ROWS, key, N)) {
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      scores[n][e] *= scale;
    return;
  }
  ZB_UNROLL
  for (int half = 0; half < 2; ++half, row += 8) {
    int64_t last = row >= a.queries ? -1 : a.causal && row + shift < a.keys ? row + shift : a.keys - 1;
    int end = within(last - key, -1, N); /* the last of the tile's keys that the row sees */
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = half * 2; e < half * 2 + 2; ++e) {
      int j = n * 8 + p.pair * 2 + e % 2;
      bool seen = j <= end;
      scores[n][e] = seen ? scores[n][e] * scale : -INFINITY;
      if (a.mask && seen) scores[n][e] += mask_score(a, p.batch, p.head, row, key + j);
    }
  }
}

/* The same of its rows, keys, with N queries. */
template <int N>
ZB_DEVICE void to_scores_of_queries(float (&scores)[N / 8][4], const zb_attention_args &a, const flash_place &p,
                                    int64_t head, int64_t query) {
  int64_t row = p.first + p.warp * 16 + p.group, shift = a.keys - a.queries;
  float scale = a.scale * LOG2_E;
  if (all_visible(a, query, N, p.first, ROWS)) {
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      scores[n][e] *= scale;
    return;
  }
  int end = within(a.queries - query, 0, N);
  ZB_UNROLL
  for (int half = 0; half < 2; ++half, row += 8) {
    int begin = row >= a.keys ? N
                : a.causal    ? within(row - shift - query, 0, N)
                              : 0; /* the first of the tile's queries that sees the row */
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = half * 2; e < half * 2 + 2; ++e) {
      int i = n * 8 + p.pair * 2 + e % 2;
      bool seen = i >= begin && i < end;
      scores[n][e] = seen ? scores[n][e] * scale : -INFINITY;
      if (a.mask && seen) scores[n][e] += mask_score(a, p.batch, head, query + i, row);
    }
  }
}

/* Turns scores into shares of one more tile of keys; `sums` and `total` are scaled to the new maximum. */
template <int D, int N>
ZB_DEVICE void next_shares(float (&scores)[N / 8][4], float (&sums)[D / 8][4], float (&largest)[2], float (&total)[2]) {
  ZB_UNROLL
  for (int half = 0; half < 2; ++half) {
    float next = -INFINITY;
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      next = larger_value()(next, larger_value()(scores[n][half * 2], scores[n][half * 2 + 1]));
    next = larger_value()(largest[half], over_lanes(next, larger_value()));
    float base = next == -INFINITY ? 0 : next; /* nothing seen so far: all shares are 0 */
    float factor = near_exp2(largest[half] - base);
    largest[half] = next;
    total[half] *= factor;
    ZB_UNROLL
    for (int n = 0; n < D / 8; ++n) {
      sums[n][half * 2] *= factor;
      sums[n][half * 2 + 1] *= factor;
    }
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = half * 2; e < half * 2 + 2; ++e) {
      scores[n][e] = near_exp2(scores[n][e] - base);
      total[half] += scores[n][e];
    }
  }
}

template <typename T, int D> ZB_DEVICE void flash(const zb_attention_args &a) {
  constexpr int N = D == 64 ? ZB_FLASH_KEYS_64 : ZB_FLASH_KEYS_128;
  flash_memory<T, D, N> &m = *(flash_memory<T, D, N> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.heads, a.queries, false);
  int64_t end = flash_keys_end(a, p), row = p.first + p.warp * 16 + p.group;
  float sums[D / 8][4] = {}, scores[N / 8][4], largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  int stage = 0;
  copy_tile(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  if (end > 0) copy_keys(m.stages[0], a, p, 0);
  for (int64_t key = 0; key < end; key += N, stage ^= 1) {
    copies_arrive();
    __syncthreads(); /* all have this tile, and none works on the one before, where the next one goes */
    if (key + N < end) copy_keys(m.stages[stage ^ 1], a, p, key + N);
    row_products(scores, m.q, p.warp * 16, m.stages[stage].k, p.lane);
    to_scores<N>(scores, a, p, key);
    next_shares<D, N>(scores, sums, largest, total);
    add_weighted(sums, scores, m.stages[stage].v, p.lane);
  }
  copies_arrive();
  store_result<T, D>(a, p, sums, largest, total, row);
}

/* ---- Gradient ---- */

/* A score becomes the share of its pair, `dp` the gradient of the score but for the factor scale. */
ZB_DEVICE void to_gradient(float &score, float &dp, float lse, float delta) {
  score = near_exp2(score - lse);
  dp = gradient_of_score(score, dp, delta);
}

template <typename T, int D> struct flash_q_memory {
  tile<T, D, ROWS> q, dout;
  key_tiles<T, D, GRADIENT_TILE> stages[STAGES];
  query_statistics<ROWS> statistics;
};

template <typename T, int D> ZB_DEVICE void flash_grad_q(const zb_attention_args &a) {
  constexpr int N = GRADIENT_TILE;
  flash_q_memory<T, D> &m = *(flash_q_memory<T, D> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.heads, a.queries, false);
  int64_t end = flash_keys_end(a, p);
  int own = p.warp * 16 + p.group, stage = 0;
  float sums[D / 8][4] = {}, scores[N / 8][4], dp[N / 8][4];
  copy_tile(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  copy_tile(m.dout, a.dout, p.batch, p.head, p.first, a.queries, a.value_width);
  if (end > 0) copy_keys(m.stages[0], a, p, 0);
  make_statistics<T>(a, p, m.statistics);
  for (int64_t key = 0; key < end; key += N, stage ^= 1) {
    copies_arrive();
    __syncthreads();
    if (key + N < end) copy_keys(m.stages[stage ^ 1], a, p, key + N);
    row_products(scores, m.q, p.warp * 16, m.stages[stage].k, p.lane);
    row_products(dp, m.dout, p.warp * 16, m.stages[stage].v, p.lane);
    to_scores<N>(scores, a, p, key);
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      to_gradient(scores[n][e], dp[n][e], m.statistics.lse[own + e / 2 * 8], m.statistics.delta[own + e / 2 * 8]);
    add_weighted(sums, dp, m.stages[stage].k, p.lane);
  }
  copies_arrive();
  const float factor[2] = {a.scale, a.scale};
  store_rows<T, D>((T *)a.dq, sums, factor, p, a.queries, a.heads, a.width);
}

template <typename T, int D> struct query_tiles {
  tile<T, D, GRADIENT_TILE> q, dout;
  query_statistics<GRADIENT_TILE> statistics;
};
template <typename T, int D> struct flash_kv_memory {
  tile<T, D, ROWS> k, v;
  query_tiles<T, D> stages[STAGES];
};

template <typename T, int D>
ZB_DEVICE void copy_queries(query_tiles<T, D> &to, const zb_attention_args &a, int64_t batch, int64_t head,
                            int64_t first) {
  constexpr int COPIES = GRADIENT_TILE / 4;
  copy_tile(to.q, a.q, batch, head, first, a.queries, a.width);
  copy_tile(to.dout, a.dout, batch, head, first, a.queries, a.value_width);
  int which = (int)threadIdx.x / COPIES, i = (int)threadIdx.x % COPIES * 4;
  if (which < 2)
    copy_ahead((which ? to.statistics.delta : to.statistics.lse) + i, statistics_of(a, batch, head, which) + first + i,
               true);
}

template <typename T, int D> ZB_DEVICE void flash_grad_kv(const zb_attention_args &a) {
  constexpr int N = GRADIENT_TILE;
  flash_kv_memory<T, D> &m = *(flash_kv_memory<T, D> *)zb_shared();
  flash_place p = flash_place_of_block(a, a.kv_heads, a.keys, true);
  int64_t begin = p.first - (a.keys - a.queries);
  begin = a.causal && begin > 0 ? begin / N * N : 0; /* before the first query that sees one of the keys */
  int64_t head = p.head * a.group, heads_end = head + a.group, first = begin;
  float dk[D / 8][4] = {}, dv[D / 8][4] = {}, scores[N / 8][4], dp[N / 8][4];
  int stage = 0;
  copy_tile(m.k, a.k, p.batch, p.head, p.first, a.keys, a.width);
  copy_tile(m.v, a.v, p.batch, p.head, p.first, a.keys, a.value_width);
  if (begin >= a.queries) head = heads_end;
  if (head < heads_end) copy_queries(m.stages[0], a, p.batch, head, first);
  for (; head < heads_end; stage ^= 1) { /* over the queries of a head, then the next head */
    const query_tiles<T, D> &now = m.stages[stage];
    int64_t next = first + N < a.queries ? first + N : begin, next_head = next == begin ? head + 1 : head;
    copies_arrive();
    __syncthreads();
    if (next_head < heads_end) copy_queries(m.stages[stage ^ 1], a, p.batch, next_head, next);
    row_products(scores, m.k, p.warp * 16, now.q, p.lane);
    row_products(dp, m.v, p.warp * 16, now.dout, p.lane);
    to_scores_of_queries<N>(scores, a, p, head, first);
    ZB_UNROLL
    for (int n = 0; n < N / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      to_gradient(scores[n][e], dp[n][e], now.statistics.lse[n * 8 + p.pair * 2 + e % 2],
                  now.statistics.delta[n * 8 + p.pair * 2 + e % 2]);
    add_weighted(dv, scores, now.dout, p.lane);
    add_weighted(dk, dp, now.q, p.lane);
    head = next_head;
    first = next;
  }
  copies_arrive();
  store_key_gradients<T, D>(a, p, dk, dv);
}

/* Blocks at a time: with more registers a thread, fewer warps would hide what each other waits for. */
#define ZB_FLASH_KERNELS(D, suffix, T)                                                                                 \
  ZB_KERNEL_OF_BLOCKS(zb_flash_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 4 : 3) {             \
    flash<T, D>(a);                                                                                                    \
  }                                                                                                                    \
  ZB_KERNEL_OF_BLOCKS(zb_flash_grad_q_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 4 : 3) {      \
    flash_grad_q<T, D>(a);                                                                                             \
  }                                                                                                                    \
  ZB_KERNEL_OF_BLOCKS(zb_flash_grad_kv_##D##_##suffix, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 4 : 2) {     \
    flash_grad_kv<T, D>(a);                                                                                            \
  }
ZB_FLASH_KERNELS(64, bf16, bf16)
ZB_FLASH_KERNELS(64, f16, f16)
ZB_FLASH_KERNELS(128, bf16, bf16)
ZB_FLASH_KERNELS(128, f16, f16)
