/* Attention and its gradient without the matrix of scores: blocks of queries times blocks of keys, in scratch.
 *
 * Forward: a tile is QUERIES queries of one head; a running maximum and sum join the blocks of keys (M. Milakov, N. Gimelshein,
 * "Online normalizer calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022). Backward: a tile is one key/value head of one
 * batch entry, which owns its dk and dv and the dq of its query heads, so all sums have one order. Blocks that causality hides are skipped.
 * No workspace: scores are computed again from q, k and lse, and the row sums of out * dout for each block of keys.
 * Tests: test/kernels/fast_attention_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/common.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sgemm.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { QUERIES = 64, KEYS = 512, GRAD_QUERIES = 64, GRAD_KEYS = 512 };
_Static_assert((QUERIES * KEYS + 2 * QUERIES) * sizeof(float) <= ZB_SCRATCH_BYTES, "scores of a tile fit into scratch");
_Static_assert(2 * GRAD_QUERIES * GRAD_KEYS * sizeof(float) <= ZB_SCRATCH_BYTES, "scores and their gradients fit into scratch");

/* One operand of rank 4: [batch, time, heads, d]. */
typedef struct heads {
  const float *data;
  int64_t batch, time, head; /* strides */
} heads;

typedef struct attention {
  int64_t batch, tq, tk, heads, kv_heads, d, query_blocks;
  heads q, k, v, out, dout;  /* out, dout: gradient only */
  const float *mask;         /* NULL: none */
  int64_t mask_strides[4];   /* batch, head, query, key */
  const float *lse;
  float scale;
  bool causal;
  float *out_data, *lse_data;    /* forward */
  float *dq, *dk, *dv;           /* gradient */
  atomic_bool failed;
} attention;

static heads heads_of(const zb_tensor *x) {
  return (heads){x->data, x->strides[0], x->strides[1], x->strides[2]};
}

static const float *at(heads x, int64_t batch, int64_t time, int64_t head) {
  return x.data + batch * x.batch + time * x.time + head * x.head;
}

/* Keys before this one are visible to query i. */
static int64_t visible_keys(const attention *a, int64_t i) {
  if (!a->causal) return a->tk;
  return zb_min64(a->tk, zb_max64(0, i + 1 + a->tk - a->tq));
}

static const float *mask_row(const attention *a, int64_t batch, int64_t head, int64_t query, int64_t key) {
  const int64_t *s = a->mask_strides;
  return a->mask ? a->mask + batch * s[0] + head * s[1] + query * s[2] + key * s[3] : NULL;
}

/* scores[i, j] = scale q_i . k_j for a block; rows are KEYS apart. */
static void block_product(attention *a, const float *left, int64_t left_stride, int64_t m, const float *right,
                          int64_t right_stride, int64_t n, float scale, float *scores, int64_t stride) {
  if (!zb_sgemm(m, n, a->d, scale, (zb_matrix){left, left_stride, 1}, (zb_matrix){right, 1, right_stride}, false, scores, stride))
    atomic_store(&a->failed, true);
}

#define ZB_ISA_BODY "kernels/cpu/attention.c"
#include "kernels/cpu/isa_each.h"

static void attention_init(attention *a, const zb_kernel_call *call) {
  const zb_tensor *q = &call->inputs[0], *k = &call->inputs[1], *mask = zb_call_input(call, 3);
  *a = (attention){.batch = q->shape[0], .tq = q->shape[1], .heads = q->shape[2], .d = q->shape[3],
                   .tk = k->shape[1], .kv_heads = k->shape[2], .q = heads_of(q), .k = heads_of(k),
                   .v = heads_of(&call->inputs[2])};
  a->scale = (float)zb_attr_float(&call->attrs, "scale", 1.0 / sqrt((double)zb_max64(1, a->d)));
  a->causal = zb_attr_bool(&call->attrs, "causal", false);
  a->query_blocks = zb_ceil_div(a->tq, QUERIES);
  atomic_init(&a->failed, false);
  if (!mask) return;
  a->mask = mask->data;
  for (int i = 0; i < 4; i++) {
    int dimension = i - (4 - mask->rank);
    a->mask_strides[i] = dimension < 0 || mask->shape[dimension] == 1 ? 0 : mask->strides[dimension];
  }
}

static const char *failure(attention *a) { return atomic_load(&a->failed) ? "the matrix product ran out of memory" : NULL; }

const char *zb_cpu_attention(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(attention_tile);
  attention a;
  attention_init(&a, call);
  a.out_data = call->outputs[0].data;
  a.lse_data = call->outputs[1].data;
  zb_parallel_for(call->threads, a.batch * a.heads * a.query_blocks, tiles[zb_isa()], &a);
  return failure(&a);
}

const char *zb_cpu_attention_grad(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(attention_grad_tile);
  attention a;
  attention_init(&a, call);
  a.out = heads_of(&call->inputs[4]);
  a.lse = call->inputs[5].data;
  a.dout = heads_of(&call->inputs[6]);
  a.dq = call->outputs[0].data;
  a.dk = call->outputs[1].data;
  a.dv = call->outputs[2].data;
  zb_parallel_for(call->threads, a.batch * a.kv_heads, tiles[zb_isa()], &a);
  return failure(&a);
}

/* A head's matrix [time, d] that dnnl_sgemm reads: dense rows that do not overlap. */
static bool readable(const zb_tensor *x) {
  if (x->rank != 4 || x->dtype != ZB_F32) return false;
  bool dense = x->strides[3] == 1 || x->shape[3] <= 1;
  return dense && (x->strides[1] >= x->shape[3] || x->shape[1] <= 1);
}

static bool operands_match(const zb_kernel_call *call, int first, int count) {
  const zb_tensor *q = &call->inputs[0], *k = &call->inputs[1], *mask = zb_call_input(call, 3);
  for (int i = first; i < first + count; i++)
    if (!readable(&call->inputs[i])) return false;
  if (k->shape[2] < 1 || q->shape[2] % k->shape[2] != 0) return false;
  return !mask || (mask->dtype == ZB_F32 && mask->rank <= 4);
}

bool zb_cpu_attention_matches(const zb_kernel_call *call) {
  return call->input_count >= 3 && operands_match(call, 0, 3) && call->outputs[0].dtype == ZB_F32 &&
         call->outputs[1].dtype == ZB_F32;
}

bool zb_cpu_attention_grad_matches(const zb_kernel_call *call) {
  if (call->input_count != 7 || !operands_match(call, 0, 3) || !readable(&call->inputs[4]) || !readable(&call->inputs[6]))
    return false;
  return call->inputs[5].dtype == ZB_F32 && zb_tensor_contiguous(&call->inputs[5]) && call->outputs[0].dtype == ZB_F32;
}

#else /* ---- Tiles, for one instruction set ---- */

V_INLINE void ZB_ISA(add_mask)(float *scores, const float *mask, int64_t stride, int64_t count) {
  if (stride == 1) {
    for (int64_t j = 0; j < count; j += V_LANES)
      v_give(scores, v_take(scores, j, count) + v_take(mask, j, count), j, count);
  } else {
    for (int64_t j = 0; j < count; j++) scores[j] += mask[j * stride];
  }
}

V_INLINE void ZB_ISA(scale_row)(float *row, float factor, int64_t count) {
  for (int64_t j = 0; j < count; j += V_LANES) v_give(row, v_take(row, j, count) * v_set(factor), j, count);
}

/* Scores of one row become exp(score - maximum); joins them to the row's running maximum and sum, and scales what the row has so far. */
static void ZB_ISA(join_row)(float *scores, int64_t visible, int64_t count, float *highest, float *sum, float *out,
                             int64_t d) {
  float block_highest = v_row_highest(scores, visible);
  float joined = *highest > block_highest ? *highest : block_highest;
  if (joined == -INFINITY) {
    memset(scores, 0, (size_t)count * sizeof *scores);
    return;
  }
  float block_sum = v_row_exp(scores, visible, joined, scores);
  if (*sum != 0.0f && joined != *highest) {
    float factor = expf(*highest - joined);
    ZB_ISA(scale_row)(out, factor, d);
    *sum *= factor;
  }
  *sum += block_sum;
  *highest = joined;
  for (int64_t j = visible; j < count; j += V_LANES) v_give(scores, v_set(0), j, count);
}

static void ZB_ISA(attention_tile)(void *context, int64_t tile, void *scratch) {
  attention *a = context;
  int64_t block = tile % a->query_blocks, head = tile / a->query_blocks % a->heads, batch = tile / a->query_blocks / a->heads;
  int64_t first = block * QUERIES, rows = zb_min64(QUERIES, a->tq - first), kv_head = head / (a->heads / a->kv_heads);
  int64_t out_stride = a->heads * a->d, visible_end = visible_keys(a, first + rows - 1);
  float *scores = scratch, *highest = scores + QUERIES * KEYS, *sum = highest + QUERIES;
  float *out = a->out_data + ((batch * a->tq + first) * a->heads + head) * a->d;
  for (int64_t i = 0; i < rows; i++) highest[i] = -INFINITY, sum[i] = 0.0f;
  for (int64_t key = 0; key < visible_end; key += KEYS) {
    int64_t count = zb_min64(KEYS, visible_end - key);
    block_product(a, at(a->q, batch, first, head), a->q.time, rows, at(a->k, batch, key, kv_head), a->k.time, count, a->scale,
                  scores, KEYS);
    for (int64_t i = 0; i < rows; i++) {
      int64_t visible = zb_min64(count, zb_max64(0, visible_keys(a, first + i) - key));
      const float *mask = mask_row(a, batch, head, first + i, key);
      if (mask) ZB_ISA(add_mask)(scores + i * KEYS, mask, a->mask_strides[3], visible);
      ZB_ISA(join_row)(scores + i * KEYS, visible, count, &highest[i], &sum[i], out + i * out_stride, key > 0 ? a->d : 0);
    }
    zb_matrix left = {scores, KEYS, 1}, right = {at(a->v, batch, key, kv_head), a->v.time, 1};
    if (!zb_sgemm(rows, a->d, count, 1.0f, left, right, key > 0, out, out_stride)) atomic_store(&a->failed, true);
  }
  float *lse = a->lse_data + (batch * a->heads + head) * a->tq + first;
  for (int64_t i = 0; i < rows; i++) {
    lse[i] = highest[i] + logf(sum[i]); /* -inf for a row that sees nothing */
    if (sum[i] > 0.0f) ZB_ISA(scale_row)(out + i * out_stride, 1.0f / sum[i], a->d);
    else memset(out + i * out_stride, 0, (size_t)a->d * sizeof *out);
  }
}

V_INLINE float ZB_ISA(dot)(const float *x, const float *y, int64_t count) {
  vf sum = v_set(0);
  for (int64_t j = 0; j < count; j += V_LANES) sum = v_fma(v_take(x, j, count), v_take(y, j, count), sum);
  return v_sum(sum);
}

/* One row of a block: p = exp(score - lse) replaces scores, scale p (dp - delta) replaces dp. */
static void ZB_ISA(grad_row)(float *scores, float *dp, int64_t visible, int64_t count, float lse, float delta, float scale) {
  if (lse == -INFINITY) visible = 0;
  for (int64_t j = 0; j < visible; j += V_LANES) {
    vf p = v_exp(v_take(scores, j, visible) - v_set(lse));
    v_give(dp, p * (v_take(dp, j, visible) - v_set(delta)) * v_set(scale), j, visible);
    v_give(scores, p, j, visible);
  }
  for (int64_t j = visible; j < count; j += V_LANES) {
    v_give(scores, v_set(0), j, count);
    v_give(dp, v_set(0), j, count);
  }
}

/* Adds what GRAD_QUERIES queries of one head give, for one block of keys. */
static void ZB_ISA(grad_block)(attention *a, int64_t batch, int64_t head, int64_t first, int64_t key, float *scores) {
  int64_t rows = zb_min64(GRAD_QUERIES, a->tq - first), kv_head = head / (a->heads / a->kv_heads);
  int64_t count = zb_min64(GRAD_KEYS, visible_keys(a, first + rows - 1) - key);
  if (count <= 0) return;
  float *dp = scores + GRAD_QUERIES * GRAD_KEYS;
  const float *q = at(a->q, batch, first, head), *k = at(a->k, batch, key, kv_head), *v = at(a->v, batch, key, kv_head);
  const float *dout = at(a->dout, batch, first, head);
  block_product(a, q, a->q.time, rows, k, a->k.time, count, a->scale, scores, GRAD_KEYS);
  block_product(a, dout, a->dout.time, rows, v, a->v.time, count, 1.0f, dp, GRAD_KEYS);
  const float *lse = a->lse + (batch * a->heads + head) * a->tq + first;
  for (int64_t i = 0; i < rows; i++) {
    int64_t visible = zb_min64(count, zb_max64(0, visible_keys(a, first + i) - key));
    const float *mask = mask_row(a, batch, head, first + i, key);
    if (mask) ZB_ISA(add_mask)(scores + i * GRAD_KEYS, mask, a->mask_strides[3], visible);
    float delta = ZB_ISA(dot)(at(a->out, batch, first + i, head), at(a->dout, batch, first + i, head), a->d);
    ZB_ISA(grad_row)(scores + i * GRAD_KEYS, dp + i * GRAD_KEYS, visible, count, lse[i], delta, a->scale);
  }
  int64_t q_stride = a->heads * a->d, kv_stride = a->kv_heads * a->d;
  float *dq = a->dq + ((batch * a->tq + first) * a->heads + head) * a->d;
  float *dk = a->dk + ((batch * a->tk + key) * a->kv_heads + kv_head) * a->d;
  float *dv = a->dv + ((batch * a->tk + key) * a->kv_heads + kv_head) * a->d;
  bool good = zb_sgemm(rows, a->d, count, 1.0f, (zb_matrix){dp, GRAD_KEYS, 1}, (zb_matrix){k, a->k.time, 1}, key > 0, dq, q_stride);
  good &= zb_sgemm(count, a->d, rows, 1.0f, (zb_matrix){dp, 1, GRAD_KEYS}, (zb_matrix){q, a->q.time, 1}, true, dk, kv_stride);
  good &= zb_sgemm(count, a->d, rows, 1.0f, (zb_matrix){scores, 1, GRAD_KEYS}, (zb_matrix){dout, a->dout.time, 1}, true, dv,
                   kv_stride);
  if (!good) atomic_store(&a->failed, true);
}

static void ZB_ISA(attention_grad_tile)(void *context, int64_t tile, void *scratch) {
  attention *a = context;
  int64_t batch = tile / a->kv_heads, kv_head = tile % a->kv_heads, group = a->heads / a->kv_heads;
  for (int64_t j = 0; j < a->tk; j++) {
    int64_t row = ((batch * a->tk + j) * a->kv_heads + kv_head) * a->d;
    memset(a->dk + row, 0, (size_t)a->d * sizeof *a->dk);
    memset(a->dv + row, 0, (size_t)a->d * sizeof *a->dv);
  }
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
    for (int64_t i = 0; i < a->tq; i++) /* rows that see nothing keep these zeros */
      memset(a->dq + ((batch * a->tq + i) * a->heads + head) * a->d, 0, (size_t)a->d * sizeof *a->dq);
    for (int64_t key = 0; key < a->tk; key += GRAD_KEYS)
      for (int64_t first = 0; first < a->tq; first += GRAD_QUERIES) ZB_ISA(grad_block)(a, batch, head, first, key, scratch);
  }
}
#endif
