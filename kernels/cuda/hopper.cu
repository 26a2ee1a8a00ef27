/* Attention and its gradient on the warpgroup products of compute capability 9.0: the algorithm of flash.cu, for calls
 * without a mask and with a scale above 0 (attention.c). On other GPUs nothing launches these kernels; there they are
 * traps.
 *
 * A block is a warpgroup. The tile after the one that is worked on is on its way; what a warpgroup waits for, those of
 * other blocks hide. One description of a tile serves its products by rows and by columns, so nothing is moved between
 * the products. Blocks next to each other have the same tile of other heads: those with most work, of all heads, start
 * first. */
#include "kernels/cuda/flash.cuh"
#include "kernels/cuda/warpgroup.cuh"

#ifdef ZB_HAS_WARPGROUPS
enum { TILE = ZB_HOPPER_TILE };
template <typename T, int D> using tile = warpgroup_tile<T, D, TILE>;

/* Tokens are counted in `int` here (attention.c asks), in a call's fewest registers. */
ZB_DEVICE flash_place hopper_place_of_block(const zb_attention_args &a, int64_t heads, int64_t tokens,
                                            bool early_first) {
  int64_t all = a.batch * heads, block = blockIdx.x;
  return flash_place_of(a, heads, block % all, block / all, flash_tiles(tokens), early_first);
}

/* What a thread copies of the tiles of a head: 16 bytes of every STEP-th row, zeros beyond the tokens and the width. */
template <typename T> struct tile_feed {
  const T *at; /* of the next tile */
  int left;    /* tokens from its row on; <= 0: zeros */
};
template <typename T, int D>
ZB_DEVICE tile_feed<T> feed_of(const zb_attention_operand &o, int64_t batch, int64_t head, int64_t first,
                               int64_t tokens, int width) {
  int row = (int)threadIdx.x / (D / 8), column = (int)threadIdx.x % (D / 8) * 8;
  int64_t left = column < width ? tokens - first - row : 0;
  return {(const T *)o.data + batch * o.batch + head * o.head + (first + row) * o.token + column, (int)left};
}
template <typename T, int D> ZB_DEVICE void copy_next(tile<T, D> &to, tile_feed<T> &from, int64_t token) {
  constexpr int STEP = ZB_ATTENTION_THREADS / (D / 8);
  static_assert(STEP % 8 == 0, "all rows of a thread are permuted alike");
  T *place = eight_of(to, (int)threadIdx.x / (D / 8), (int)threadIdx.x % (D / 8) * 8);
  const T *at = from.at;
  ZB_UNROLL
  for (int k = 0; k < TILE / STEP; ++k, at += STEP * token)
    copy_ahead(place + k * STEP * 64, at, k * STEP < from.left);
  from.at += TILE * token;
  from.left -= TILE;
}
template <typename T, int D>
ZB_DEVICE void copy_tile(tile<T, D> &to, const zb_attention_operand &o, int64_t batch, int64_t head, int64_t first,
                         int64_t tokens, int width) {
  tile_feed<T> from = feed_of<T, D>(o, batch, head, first, tokens, width);
  copy_next<T, D>(to, from, o.token);
}

/* What all threads copied is there, for products too; and none works any more on what the next copies go over. */
ZB_DEVICE void meet() {
  copies_arrive();
  warpgroup_publish();
  __syncthreads();
}

/* Begins sums[own row][other row] = own row . other row, over the D columns. */
template <typename T, int D>
ZB_DEVICE void begin_row_products(float (&sums)[TILE / 8][4], const tile<T, D> &own, const tile<T, D> &other) {
  constexpr int PANEL = TILE * WARPGROUP_ROW;
  uint64_t left = describe(&own, WARPGROUP_UNIT), right = describe(&other, WARPGROUP_UNIT);
  ZB_UNROLL
  for (int k = 0; k < D / 16; ++k) { /* 16 columns are 2 units of a row of a panel */
    int at = k / 4 * PANEL + k % 4 * 2;
    warpgroup_multiply<0>(T(), sums, left + at, right + at, k > 0);
  }
  warpgroup_commit();
}

/* Sums as left operands of the next products. */
template <typename T> ZB_DEVICE void to_left(uint32_t (&to)[TILE / 16][4], const float (&sums)[TILE / 8][4]) {
  ZB_UNROLL
  for (int k = 0; k < TILE / 16; ++k)
    ZB_UNROLL
  for (int i = 0; i < 4; ++i)
    to[k][i] = pair_of(T(), sums[2 * k + i / 2][i % 2 * 2], sums[2 * k + i / 2][i % 2 * 2 + 1]);
}

/* Begins sums[row][column] += sum over the rows of `from` of left[row][r] * from[r][column]. */
template <typename T, int D>
ZB_DEVICE void begin_weighted(float (&sums)[D / 8][4], const uint32_t (&left)[TILE / 16][4], const tile<T, D> &from) {
  uint64_t right = describe(&from, TILE * 128);
  ZB_UNROLL
  for (int k = 0; k < TILE / 16; ++k)
    warpgroup_multiply<1>(T(), sums, left[k], right + k * 16 * WARPGROUP_ROW, 1);
  warpgroup_commit();
}

/* Behind the last key that some of the block's queries see. */
ZB_DEVICE int keys_end(const zb_attention_args &a, int first) {
  int end = first + ROWS + (int)(a.keys - a.queries);
  return !a.causal || end > (int)a.keys ? (int)a.keys : end;
}
/* Whether all pairs of a tile see each other: most tiles, which need no questions. */
ZB_DEVICE bool all_visible(const zb_attention_args &a, int query, int key) {
  return query + TILE <= (int)a.queries && key + TILE <= (int)a.keys &&
         (!a.causal || key + TILE - 1 <= query + (int)(a.keys - a.queries));
}

/* Products of the lane's queries with a tile of keys: -infinity for those that they do not see. */
ZB_DEVICE void hide_keys(float (&scores)[TILE / 8][4], const zb_attention_args &a, const flash_place &p, int key) {
  if (all_visible(a, (int)p.first, key)) return;
  int row = (int)p.first + p.warp * 16 + p.group, shift = (int)(a.keys - a.queries), keys = (int)a.keys;
  ZB_UNROLL
  for (int half = 0; half < 2; ++half, row += 8) {
    int last = row >= (int)a.queries ? -1 : a.causal && row + shift < keys ? row + shift : keys - 1;
    int end = within(last - key, -1, TILE) - p.pair * 2; /* the last of the tile's keys that the row sees */
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 2; ++e)
      if (n * 8 + e > end) scores[n][half * 2 + e] = -INFINITY;
  }
}
/* The same of its keys with a tile of queries. */
ZB_DEVICE void hide_queries(float (&scores)[TILE / 8][4], const zb_attention_args &a, const flash_place &p, int query) {
  if (all_visible(a, query, (int)p.first)) return;
  int row = (int)p.first + p.warp * 16 + p.group, shift = (int)(a.keys - a.queries);
  int end = within((int)a.queries - query, 0, TILE) - p.pair * 2;
  ZB_UNROLL
  for (int half = 0; half < 2; ++half, row += 8) {
    int begin = row >= (int)a.keys ? TILE : a.causal ? within(row - shift - query, 0, TILE) : 0;
    begin -= p.pair * 2; /* the first of the tile's queries that sees the row */
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 2; ++e)
      if (n * 8 + e < begin || n * 8 + e >= end) scores[n][half * 2 + e] = -INFINITY;
  }
}

/* ---- Forward ---- */

template <typename T, int D> struct key_tiles {
  tile<T, D> k, v;
};
template <typename T, int D> struct hopper_memory {
  tile<T, D> q;
  key_tiles<T, D> stages[STAGES];
};

/* The tiles of keys of a head, one after the other. */
template <typename T> struct key_feed {
  tile_feed<T> k, v;
};
template <typename T, int D> ZB_DEVICE key_feed<T> keys_of(const zb_attention_args &a, const flash_place &p) {
  return {feed_of<T, D>(a.k, p.batch, p.kv_head, 0, a.keys, a.width),
          feed_of<T, D>(a.v, p.batch, p.kv_head, 0, a.keys, a.value_width)};
}
template <typename T, int D>
ZB_DEVICE void copy_keys(key_tiles<T, D> &to, key_feed<T> &from, const zb_attention_args &a) {
  copy_next<T, D>(to.k, from.k, a.k.token);
  copy_next<T, D>(to.v, from.v, a.v.token);
}

/* Turns products into shares of one more tile of keys; `sums` and `total` are scaled to the new maximum. `scale` is to
 * base 2, above 0: so it can wait until the largest product is known. */
template <int D>
ZB_DEVICE void next_shares(float (&scores)[TILE / 8][4], float (&sums)[D / 8][4], float scale, float (&largest)[2],
                           float (&total)[2]) {
  ZB_UNROLL
  for (int half = 0; half < 2; ++half) {
    float next = -INFINITY;
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      next = larger_value()(next, larger_value()(scores[n][half * 2], scores[n][half * 2 + 1]));
    next = larger_value()(largest[half], over_lanes(next, larger_value()) * scale);
    float base = next == -INFINITY ? 0 : next; /* nothing seen so far: all shares are 0 */
    float factor = near_exp2(largest[half] - base);
    largest[half] = next;
    float sum[2] = {total[half] * factor, 0};
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 2; ++e) {
      float share = near_exp2(scores[n][half * 2 + e] * scale - base);
      scores[n][half * 2 + e] = share;
      sum[e] += share;
    }
    total[half] = sum[0] + sum[1];
    ZB_UNROLL
    for (int n = 0; n < D / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 2; ++e)
      sums[n][half * 2 + e] *= factor;
  }
}

template <typename T, int D> ZB_DEVICE void hopper(const zb_attention_args &a) {
  hopper_memory<T, D> &m = *(hopper_memory<T, D> *)warpgroup_shared();
  flash_place p = hopper_place_of_block(a, a.heads, a.queries, false);
  int end = keys_end(a, (int)p.first), stage = 0;
  float sums[D / 8][4] = {}, scores[TILE / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  uint32_t shares[TILE / 16][4];
  copy_tile<T, D>(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  key_feed<T> feed = keys_of<T, D>(a, p);
  if (end > 0) copy_keys<T, D>(m.stages[0], feed, a);
  for (int key = 0; key < end; key += TILE, stage ^= 1) {
    meet();
    hold(scores);
    warpgroup_begin();
    begin_row_products<T, D>(scores, m.q, m.stages[stage].k);
    if (key + TILE < end) copy_keys<T, D>(m.stages[stage ^ 1], feed, a);
    warpgroup_wait<0>();
    hold(scores);
    hide_keys(scores, a, p, key);
    next_shares<D>(scores, sums, a.scale * LOG2_E, largest, total);
    to_left<T>(shares, scores);
    hold(sums);
    warpgroup_begin();
    begin_weighted<T, D>(sums, shares, m.stages[stage].v);
    warpgroup_wait<0>();
    hold(sums);
  }
  copies_arrive();
  store_result<T, D>(a, p, sums, largest, total, p.first + p.warp * 16 + p.group);
}

/* ---- Gradient ---- */

template <typename T, int D> struct hopper_q_memory {
  tile<T, D> q, dout;
  key_tiles<T, D> stages[STAGES];
  query_statistics<ROWS> statistics;
};

template <typename T, int D> ZB_DEVICE void hopper_grad_q(const zb_attention_args &a) {
  hopper_q_memory<T, D> &m = *(hopper_q_memory<T, D> *)warpgroup_shared();
  flash_place p = hopper_place_of_block(a, a.heads, a.queries, false);
  int end = keys_end(a, (int)p.first), own = p.warp * 16 + p.group, stage = 0;
  float sums[D / 8][4] = {}, scores[TILE / 8][4] = {}, dp[TILE / 8][4] = {}, scale = a.scale * LOG2_E;
  uint32_t left[TILE / 16][4];
  copy_tile<T, D>(m.q, a.q, p.batch, p.head, p.first, a.queries, a.width);
  copy_tile<T, D>(m.dout, a.dout, p.batch, p.head, p.first, a.queries, a.value_width);
  key_feed<T> feed = keys_of<T, D>(a, p);
  if (end > 0) copy_keys<T, D>(m.stages[0], feed, a);
  make_statistics<T>(a, p, m.statistics);
  __syncthreads();
  const float lse[2] = {m.statistics.lse[own], m.statistics.lse[own + 8]},
              delta[2] = {m.statistics.delta[own], m.statistics.delta[own + 8]};
  for (int key = 0; key < end; key += TILE, stage ^= 1) {
    meet();
    hold(scores);
    hold(dp);
    warpgroup_begin();
    begin_row_products<T, D>(scores, m.q, m.stages[stage].k);
    begin_row_products<T, D>(dp, m.dout, m.stages[stage].v);
    if (key + TILE < end) copy_keys<T, D>(m.stages[stage ^ 1], feed, a);
    warpgroup_wait<1>();
    hold(scores);
    hide_keys(scores, a, p, key);
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      scores[n][e] = near_exp2(scores[n][e] * scale - lse[e / 2]);
    warpgroup_wait<0>();
    hold(dp);
    ZB_UNROLL
    for (int n = 0; n < TILE / 8; ++n)
      ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      dp[n][e] = gradient_of_score(scores[n][e], dp[n][e], delta[e / 2]);
    to_left<T>(left, dp);
    hold(sums);
    warpgroup_begin();
    begin_weighted<T, D>(sums, left, m.stages[stage].k);
    warpgroup_wait<0>();
    hold(sums);
  }
  copies_arrive();
  const float factor[2] = {a.scale, a.scale};
  store_rows<T, D>((T *)a.dq, sums, factor, p, a.queries, a.heads, a.width);
}

template <typename T, int D> struct query_tiles {
  tile<T, D> q, dout;
};
template <typename T, int D> struct hopper_kv_memory {
  tile<T, D> k, v;
  query_tiles<T, D> stages[STAGES];
  query_statistics<TILE> statistics[STAGES];
};

template <typename T, int D>
ZB_DEVICE void copy_queries(hopper_kv_memory<T, D> &m, int stage, const zb_attention_args &a, int64_t batch,
                            int64_t head, int64_t first) {
  constexpr int COPIES = TILE / 4;
  query_tiles<T, D> &to = m.stages[stage];
  query_statistics<TILE> &known = m.statistics[stage];
  copy_tile<T, D>(to.q, a.q, batch, head, first, a.queries, a.width);
  copy_tile<T, D>(to.dout, a.dout, batch, head, first, a.queries, a.value_width);
  int which = (int)threadIdx.x / COPIES, i = (int)threadIdx.x % COPIES * 4;
  if (which < 2)
    copy_ahead((which ? known.delta : known.lse) + i, statistics_of(a, batch, head, which) + first + i, true);
}

/* Shares, from products of the lane's keys with the tile's queries. */
ZB_DEVICE void shares_of_queries(float (&scores)[TILE / 8][4], const query_statistics<TILE> &known, float scale,
                                 int pair) {
  ZB_UNROLL
  for (int n = 0; n < TILE / 8; ++n) {
    const pack<float, 2> lse = *(const pack<float, 2> *)&known.lse[n * 8 + pair * 2];
    ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      scores[n][e] = near_exp2(scores[n][e] * scale - lse.v[e % 2]);
  }
}
ZB_DEVICE void gradients_of_queries(float (&dp)[TILE / 8][4], const float (&shares)[TILE / 8][4],
                                    const query_statistics<TILE> &known, int pair) {
  ZB_UNROLL
  for (int n = 0; n < TILE / 8; ++n) {
    const pack<float, 2> delta = *(const pack<float, 2> *)&known.delta[n * 8 + pair * 2];
    ZB_UNROLL
    for (int e = 0; e < 4; ++e)
      dp[n][e] = gradient_of_score(shares[n][e], dp[n][e], delta.v[e % 2]);
  }
}

template <typename T, int D> ZB_DEVICE void hopper_grad_kv(const zb_attention_args &a) {
  hopper_kv_memory<T, D> &m = *(hopper_kv_memory<T, D> *)warpgroup_shared();
  flash_place p = hopper_place_of_block(a, a.kv_heads, a.keys, true);
  int queries = (int)a.queries, begin = (int)(p.first - (a.keys - a.queries));
  begin = a.causal && begin > 0 ? begin / TILE * TILE : 0; /* before the first query that sees one of the keys */
  int head = (int)(p.head * a.group), heads_end = head + (int)a.group, first = begin, stage = 0;
  float dk[D / 8][4] = {}, dv[D / 8][4] = {}, scores[TILE / 8][4] = {}, dp[TILE / 8][4] = {};
  uint32_t left_v[TILE / 16][4], left_k[TILE / 16][4];
  copy_tile<T, D>(m.k, a.k, p.batch, p.head, p.first, a.keys, a.width);
  copy_tile<T, D>(m.v, a.v, p.batch, p.head, p.first, a.keys, a.value_width);
  if (begin >= queries) head = heads_end;
  if (head < heads_end) copy_queries<T, D>(m, 0, a, p.batch, head, first);
  for (; head < heads_end; stage ^= 1) { /* over the queries of a head, then the next head */
    const query_tiles<T, D> &now = m.stages[stage];
    int next = first + TILE < queries ? first + TILE : begin, next_head = next == begin ? head + 1 : head;
    meet();
    hold(scores);
    hold(dp);
    warpgroup_begin();
    begin_row_products<T, D>(scores, m.k, now.q);
    begin_row_products<T, D>(dp, m.v, now.dout);
    if (next_head < heads_end) copy_queries<T, D>(m, stage ^ 1, a, p.batch, next_head, next);
    warpgroup_wait<1>();
    hold(scores);
    hide_queries(scores, a, p, first);
    shares_of_queries(scores, m.statistics[stage], a.scale * LOG2_E, p.pair);
    warpgroup_wait<0>();
    hold(dp);
    gradients_of_queries(dp, scores, m.statistics[stage], p.pair);
    to_left<T>(left_v, scores);
    to_left<T>(left_k, dp);
    hold(dv);
    hold(dk);
    warpgroup_begin();
    begin_weighted<T, D>(dv, left_v, now.dout);
    begin_weighted<T, D>(dk, left_k, now.q);
    warpgroup_wait<0>();
    hold(dk);
    hold(dv);
    head = next_head;
    first = next;
  }
  copies_arrive();
  store_key_gradients<T, D>(a, p, dk, dv);
}
#else
template <typename T, int D> ZB_DEVICE void hopper(const zb_attention_args &) { asm volatile("trap;"); }
template <typename T, int D> ZB_DEVICE void hopper_grad_q(const zb_attention_args &) { asm volatile("trap;"); }
template <typename T, int D> ZB_DEVICE void hopper_grad_kv(const zb_attention_args &) { asm volatile("trap;"); }
#endif

/* Blocks at a time, by registers and shared memory. */
#define ZB_HOPPER_KERNELS(D, T)                                                                                        \
  ZB_KERNEL_OF_BLOCKS(zb_hopper_##D##_##T, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 4 : 2) {                 \
    hopper<T, D>(a);                                                                                                   \
  }                                                                                                                    \
  ZB_KERNEL_OF_BLOCKS(zb_hopper_grad_q_##D##_##T, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 4 : 2) {          \
    hopper_grad_q<T, D>(a);                                                                                            \
  }                                                                                                                    \
  ZB_KERNEL_OF_BLOCKS(zb_hopper_grad_kv_##D##_##T, zb_attention_args, ZB_ATTENTION_THREADS, D == 64 ? 3 : 2) {         \
    hopper_grad_kv<T, D>(a);                                                                                           \
  }
ZB_HOPPER_KERNELS(64, bf16)
ZB_HOPPER_KERNELS(64, f16)
ZB_HOPPER_KERNELS(128, bf16)
ZB_HOPPER_KERNELS(128, f16)
