/* Attention and its gradient without the matrix of scores: blocks of queries times blocks of keys, in scratch.
 *
 * Forward: a tile is GROUP queries of one head; a running maximum and sum join the blocks of keys (M. Milakov, N.
 * Gimelshein, "Online normalizer calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022). Backward: a
 * tile is one key/value head of one batch entry, which owns its dk and dv and the dq of its query heads, so all sums
 * have one order. Blocks that causality hides are skipped. Rows of a head lie heads * d apart, which caches and page
 * tables serve badly, so a block is copied together before it is used. Scores are computed again from q,
 * k and lse, and the row sums of out * dout for each block of keys. Operands in bf16 become f32 when they are copied
 * together, and results are rounded when all is summed: dq of several blocks of keys is summed in the workspace, the
 * only use of it. With dropout, probabilities are multiplied by what their place in [batch, heads, tq, tk] draws, in
 * both passes. Tests: test/kernels/fast_attention_test.c, test/kernels/fast_bf16_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/drop.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sgemm.h"

#include <math.h>
#include <string.h>

/* QUERIES a product, GROUP a forward tile; a block has KEYS keys, fewer for a large d: its k and v have BLOCK_ELEMENTS
 * at most. */
enum { AHEAD = 12 /* rows */, TILE_FLOPS = 1000000 };
enum {
  QUERIES = 64,
  GROUP = 256,
  KEYS = 512,
  KEYS_UNIT = 128,
  PAD = 16,
  BLOCK_ELEMENTS = 32768,
  D_MAX = BLOCK_ELEMENTS / KEYS_UNIT
};
_Static_assert((2 * BLOCK_ELEMENTS + QUERIES * (KEYS + PAD) + (GROUP + QUERIES) * D_MAX + 2 * GROUP) * sizeof(float) +
                       ZB_SGEMM_PACK_BYTES <=
                   ZB_SCRATCH_BYTES,
               "forward: k, v, scores, results, q, row state");
_Static_assert((4 * BLOCK_ELEMENTS + 2 * QUERIES * (KEYS + PAD) + 3 * QUERIES * D_MAX) * sizeof(float) +
                       ZB_SGEMM_PACK_BYTES <=
                   ZB_SCRATCH_BYTES,
               "gradient: k, v, dk, dv, scores, their gradients, q, dout, and out or dq");

/* One operand of rank 4: [batch, time, heads, d]. */
typedef struct heads {
  const void *data;
  bool narrow;               /* bf16, else f32 */
  int64_t batch, time, head; /* strides */
} heads;

typedef struct attention {
  int64_t batch, tq, tk, heads, kv_heads, d;
  int64_t groups, keys;      /* groups of queries a head; keys a block */
  int64_t units, unit_count; /* a unit is a tile, but small units are put together, unit_count a tile */
  heads q, k, v, out, dout;  /* out, dout: gradient only */
  const float *mask;         /* NULL: none */
  int64_t mask_strides[4];   /* batch, head, query, key */
  const float *lse;
  float scale;
  bool causal, drops;
  zb_drop drop;   /* where it drops */
  void *out_data; /* forward; as q is */
  float *lse_data;
  void *dq, *dk, *dv; /* gradient; as q is */
  float *dq_sums;     /* dq, or where it is summed in f32 before it is rounded */
} attention;

static heads heads_of(const zb_tensor *x) {
  return (heads){x->data, x->dtype == ZB_BF16, x->strides[0], x->strides[1], x->strides[2]};
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

/* Distance of the rows of a block of scores: no power of two, whose rows would share the sets of a cache. */
static int64_t score_stride(int64_t count) {
  return zb_ceil_div(count, PAD) * PAD + (count % (4 * PAD) == 0 ? PAD : 0);
}

/* A tile's scratch begins with what its products are packed into. */
enum { PACK = ZB_SGEMM_PACK_BYTES / sizeof(float) };

/* out (+)= scale left right for matrices in scratch. */
static void product(float *pack, int64_t m, int64_t n, int64_t k, float scale, zb_matrix left, zb_matrix right,
                    bool accumulate, float *out, int64_t out_stride) {
  zb_sgemm_call call = {m, n, k, scale, left, right, accumulate ? out : NULL, out_stride, out, out_stride, true};
  zb_sgemm(&call, pack);
}

static zb_matrix matrix(const float *data, int64_t row_stride, int64_t column_stride) {
  return (zb_matrix){data, false, row_stride, column_stride};
}

#define ZB_ISA_BODY "kernels/cpu/attention.c"
#include "kernels/cpu/isa_each.h"

enum { COUNTER = 4 }; /* of the ops with dropout, behind the mask */

static void attention_init(attention *a, const zb_kernel_call *call) {
  const zb_tensor *q = &call->inputs[0], *k = &call->inputs[1], *mask = zb_call_input(call, 3);
  *a = (attention){.batch = q->shape[0],
                   .tq = q->shape[1],
                   .heads = q->shape[2],
                   .d = q->shape[3],
                   .tk = k->shape[1],
                   .kv_heads = k->shape[2],
                   .q = heads_of(q),
                   .k = heads_of(k),
                   .v = heads_of(&call->inputs[2])};
  a->scale = (float)zb_attr_float(&call->attrs, "scale", 1.0 / sqrt((double)zb_max64(1, a->d)));
  a->causal = zb_attr_bool(&call->attrs, "causal", false);
  a->groups = zb_ceil_div(a->tq, GROUP);
  a->keys = zb_min64(KEYS, BLOCK_ELEMENTS / zb_max64(1, a->d) / KEYS_UNIT * KEYS_UNIT);
  if (!mask) return;
  a->mask = mask->data;
  for (int i = 0; i < 4; ++i) {
    int dimension = i - (4 - mask->rank);
    a->mask_strides[i] = dimension < 0 || mask->shape[dimension] == 1 ? 0 : mask->strides[dimension];
  }
}

/* Tiles of at least TILE_FLOPS; work is flops / (keys * d) of a unit. */
static void over_units(const zb_kernel_call *call, attention *a, int64_t units, int64_t work, zb_tile_run run) {
  int64_t flops = work * a->tk * a->d;
  a->units = units;
  a->unit_count = zb_max64(1, TILE_FLOPS / zb_max64(1, flops));
  zb_parallel_for(call->threads, zb_ceil_div(units, a->unit_count), run, a);
}

static const char *attend(const zb_kernel_call *call, bool drops) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(attention_tile);
  attention a;
  attention_init(&a, call);
  if (drops) a.drop = zb_drop_of(call, COUNTER);
  a.drops = drops && a.drop.last != UINT32_MAX;
  a.out_data = call->outputs[0].data;
  a.lse_data = call->outputs[1].data;
  over_units(call, &a, a.batch * a.heads * a.groups, 4 * zb_min64(GROUP, a.tq), tiles[zb_isa()]);
  return NULL;
}

const char *zb_cpu_attention(const zb_kernel_call *call) { return attend(call, false); }
const char *zb_cpu_attention_dropout(const zb_kernel_call *call) { return attend(call, true); }

static const char *attend_gradient(const zb_kernel_call *call, bool drops) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(attention_grad_tile);
  const zb_tensor *saved = call->inputs + (drops ? COUNTER + 1 : COUNTER); /* out, lse, dout */
  attention a;
  attention_init(&a, call);
  if (drops) a.drop = zb_drop_of(call, COUNTER);
  a.drops = drops && a.drop.last != UINT32_MAX;
  a.out = heads_of(&saved[0]);
  a.lse = saved[1].data;
  a.dout = heads_of(&saved[2]);
  a.dq = call->outputs[0].data;
  a.dk = call->outputs[1].data;
  a.dv = call->outputs[2].data;
  a.dq_sums = a.q.narrow ? call->workspace : a.dq;
  if (!a.dq_sums && zb_tensor_elements(&call->outputs[0]) > 0)
    return "the gradient of attention in bf16 needs its workspace";
  over_units(call, &a, a.batch * a.kv_heads, 10 * a.heads / zb_max64(1, a.kv_heads) * a.tq, tiles[zb_isa()]);
  return NULL;
}

const char *zb_cpu_attention_grad(const zb_kernel_call *call) { return attend_gradient(call, false); }
const char *zb_cpu_attention_dropout_grad(const zb_kernel_call *call) { return attend_gradient(call, true); }

static bool readable(const zb_tensor *x, zb_dtype dtype) {
  return x->rank == 4 && x->dtype == dtype && zb_is_f32_or_bf16(dtype) && (x->strides[3] == 1 || x->shape[3] <= 1);
}

static bool operands_match(const zb_kernel_call *call, int first, int count) {
  const zb_tensor *q = &call->inputs[0], *k = &call->inputs[1], *mask = zb_call_input(call, 3);
  for (int i = first; i < first + count; ++i)
    if (!readable(&call->inputs[i], q->dtype)) return false;
  if (k->shape[2] < 1 || q->shape[2] % k->shape[2] != 0 || q->shape[3] > D_MAX) return false;
  return !mask || (mask->dtype == ZB_F32 && mask->rank <= 4);
}

bool zb_cpu_attention_matches(const zb_kernel_call *call) {
  return call->input_count >= 3 && operands_match(call, 0, 3) && call->outputs[0].dtype == call->inputs[0].dtype &&
         call->outputs[1].dtype == ZB_F32;
}

bool zb_cpu_attention_grad_matches(const zb_kernel_call *call) {
  const zb_tensor *saved = call->inputs + call->input_count - 3; /* out, lse, dout */
  zb_dtype dtype = call->inputs[0].dtype;
  if (call->input_count < 7 || !operands_match(call, 0, 3) || !readable(&saved[0], dtype) ||
      !readable(&saved[2], dtype))
    return false;
  for (int i = 0; i < 3; ++i)
    if (call->outputs[i].dtype != dtype) return false;
  return saved[1].dtype == ZB_F32 && zb_tensor_contiguous(&saved[1]);
}

#else /* ---- Tiles, for one instruction set ---- */

#include "kernels/cpu/vector_random.h"

/* What the shares of query i, of `count` keys from `key` on, are multiplied by: the first lies at what is returned, in
 * a buffer of whole groups. */
static const float *ZB_ISA(draw_row)(const attention *a, int64_t batch, int64_t head, int64_t i, int64_t key,
                                     int64_t count, float buffer[KEYS + 2 * ZB_RANDOM_GROUP]) {
  int64_t element = ((batch * a->heads + head) * a->tq + i) * a->tk + key, before = element % ZB_RANDOM_GROUP;
  for (int64_t at = 0; at < before + count; at += ZB_RANDOM_GROUP) {
    for (int lane = 0; lane < ZB_RANDOM_LANES; lane += V_LANES) {
      vf factor[4];
      draw_factors(&a->drop, element - before + at, lane, factor);
      for (int w = 0; w < 4; ++w)
        v_store(buffer + at + w * ZB_RANDOM_LANES + lane, factor[w]);
    }
  }
  return buffer + before;
}

V_INLINE void ZB_ISA(drop_row)(float *row, const float *factors, int64_t count) {
  for (int64_t j = 0; j < count; j += V_LANES)
    v_give(row, v_take(row, j, count) * v_take(factors, j, count), j, count);
}

V_INLINE void ZB_ISA(add_mask)(float *scores, const float *mask, int64_t stride, int64_t count) {
  if (stride == 1) {
    for (int64_t j = 0; j < count; j += V_LANES)
      v_give(scores, v_take(scores, j, count) + v_take(mask, j, count), j, count);
  } else {
    for (int64_t j = 0; j < count; ++j)
      scores[j] += mask[j * stride];
  }
}

V_INLINE void ZB_ISA(scale_row)(float *row, float factor, int64_t count) {
  for (int64_t j = 0; j < count; j += V_LANES)
    v_give(row, v_take(row, j, count) * v_set(factor), j, count);
}

/* Scores of one row become exp(score - maximum); joins them to the row's running maximum and sum, and scales what the
 * row has so far. */
static void ZB_ISA(join_row)(float *scores, int64_t visible, int64_t count, float *highest, float *sum, float *out,
                             int64_t d) {
  float block_highest = v_row_highest(scores, visible);
  float joined = *highest > block_highest ? *highest : block_highest;
  float base = joined == -INFINITY ? 0.0f : joined; /* a row that sees nothing sums to 0; a NaN shows up in the sum */
  float block_sum = v_row_exp(scores, visible, base, scores);
  if (*sum != 0.0f && joined != *highest) {
    float factor = expf(*highest - joined);
    ZB_ISA(scale_row)(out, factor, d);
    *sum *= factor;
  }
  *sum += block_sum;
  *highest = joined;
  for (int64_t j = visible; j < count; j += V_LANES)
    v_give(scores, v_set(0), j, count);
}

/* Rows of `d` elements. The hardware does not foresee rows that lie far apart, so they are asked for ahead. */
static void ZB_ISA(copy_rows)(float *to, int64_t to_stride, const float *from, int64_t from_stride, int64_t rows,
                              int64_t d) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t ahead = zb_min64(i + AHEAD, rows - 1);
    for (int64_t j = 0; j < d; j += 16) {
      __builtin_prefetch(from + ahead * from_stride + j);
      __builtin_prefetch(to + ahead * to_stride + j, 1);
    }
    for (int64_t j = 0; j < d; j += V_LANES)
      v_give(to + i * to_stride, v_take(from + i * from_stride, j, d), j, d);
  }
}

/* Rows time.. of one head, together in scratch as f32. */
static void ZB_ISA(read_rows)(float *to, heads x, int64_t batch, int64_t time, int64_t head, int64_t rows, int64_t d) {
  int64_t from = batch * x.batch + time * x.time + head * x.head;
  if (!x.narrow) {
    ZB_ISA(copy_rows)(to, d, (const float *)x.data + from, x.time, rows, d);
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    zb_bf16_widen(to + i * d, (const uint16_t *)x.data + from + i * x.time, d);
}

/* Rows of scratch into a contiguous result, of which they lie `stride` elements apart from `first` on. */
static void ZB_ISA(write_rows)(void *result, bool narrow, int64_t first, int64_t stride, const float *from,
                               int64_t from_stride, int64_t rows, int64_t d) {
  if (!narrow) {
    ZB_ISA(copy_rows)((float *)result + first, stride, from, from_stride, rows, d);
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    zb_bf16_narrow((uint16_t *)result + first + i * stride, from + i * from_stride, d);
}

/* Joins one block of keys (k and v in scratch) to the queries first..first+rows of one head. */
static void ZB_ISA(forward_block)(attention *a, int64_t batch, int64_t head, int64_t first, int64_t key, const float *k,
                                  const float *v, float *q, float *scores, float *highest, float *sum, float *out,
                                  float *pack) {
  int64_t rows = zb_min64(QUERIES, a->tq - first), count = zb_min64(a->keys, visible_keys(a, first + rows - 1) - key);
  if (count <= 0) return;
  const int64_t stride = score_stride(count);
  ZB_ISA(read_rows)(q, a->q, batch, first, head, rows, a->d);
  product(pack, rows, count, a->d, a->scale, matrix(q, a->d, 1), matrix(k, 1, a->d), false, scores, stride);
  for (int64_t i = 0; i < rows; ++i) {
    float *row = scores + i * stride;
    int64_t visible = zb_min64(count, zb_max64(0, visible_keys(a, first + i) - key));
    const float *mask = mask_row(a, batch, head, first + i, key);
    if (mask) ZB_ISA(add_mask)(row, mask, a->mask_strides[3], visible);
    ZB_ISA(join_row)(row, visible, count, &highest[i], &sum[i], out + i * a->d, a->d);
    if (!a->drops) continue;
    float buffer[KEYS + 2 * ZB_RANDOM_GROUP];
    ZB_ISA(drop_row)(row, ZB_ISA(draw_row)(a, batch, head, first + i, key, visible, buffer), visible);
  }
  product(pack, rows, a->d, count, 1.0f, matrix(scores, stride, 1), matrix(v, a->d, 1), key > 0, out, a->d);
}

/* GROUP queries of one head. */
static void ZB_ISA(forward_unit)(attention *a, int64_t unit, void *scratch) {
  int64_t head = unit / a->groups % a->heads, batch = unit / a->groups / a->heads,
          kv_head = head / (a->heads / a->kv_heads);
  int64_t first = unit % a->groups * GROUP, end = zb_min64(first + GROUP, a->tq),
          visible_end = visible_keys(a, end - 1);
  float *k = (float *)scratch + PACK, *v = k + BLOCK_ELEMENTS, *scores = v + BLOCK_ELEMENTS,
        *highest = scores + QUERIES * (KEYS + PAD);
  float *sum = highest + GROUP, *q = sum + GROUP, *out = q + QUERIES * D_MAX;
  for (int64_t i = 0; i < GROUP; ++i)
    highest[i] = -INFINITY, sum[i] = 0.0f;
  for (int64_t key = 0; key < visible_end; key += a->keys) {
    int64_t count = zb_min64(a->keys, visible_end - key);
    ZB_ISA(read_rows)(k, a->k, batch, key, kv_head, count, a->d);
    ZB_ISA(read_rows)(v, a->v, batch, key, kv_head, count, a->d);
    for (int64_t i = first; i < end; i += QUERIES)
      ZB_ISA(forward_block)
    (a, batch, head, i, key, k, v, q, scores, highest + (i - first), sum + (i - first), out + (i - first) * a->d,
     scratch);
  }
  float *lse = a->lse_data + (batch * a->heads + head) * a->tq + first;
  int64_t at = ((batch * a->tq + first) * a->heads + head) * a->d;
  for (int64_t i = 0; i < end - first; ++i, at += a->heads * a->d) {
    float *row = out + i * a->d, *to = a->q.narrow ? row : (float *)a->out_data + at;
    lse[i] = highest[i] + logf(sum[i]); /* -inf for a row that sees nothing */
    vf factor = v_set(1.0f / sum[i]);
    for (int64_t j = 0; j < a->d; j += V_LANES)
      v_give(to, sum[i] != 0.0f ? v_take(row, j, a->d) * factor : v_set(0), j, a->d);
    if (a->q.narrow) zb_bf16_narrow((uint16_t *)a->out_data + at, row, a->d);
  }
}

static void ZB_ISA(attention_tile)(void *context, int64_t tile, void *scratch) {
  attention *a = context;
  int64_t end = zb_min64((tile + 1) * a->unit_count, a->units);
  for (int64_t unit = tile * a->unit_count; unit < end; ++unit)
    ZB_ISA(forward_unit)(a, unit, scratch);
}

V_INLINE float ZB_ISA(dot)(const float *x, const float *y, int64_t count) {
  vf sum = v_set(0);
  for (int64_t j = 0; j < count; j += V_LANES)
    sum = v_fma(v_take(x, j, count), v_take(y, j, count), sum);
  return v_sum(sum);
}

/* One row of a block: p = exp(score - lse) replaces scores, scale p (dp - delta) replaces dp. */
static void ZB_ISA(grad_row)(float *scores, float *dp, int64_t visible, int64_t count, float lse, float delta,
                             float scale) {
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

/* What a gradient tile has in scratch. */
typedef struct ZB_ISA(grad_scratch) {
  float *pack;
  float *k, *v, *dk, *dv;                /* one block of keys */
  float *scores, *dp, *q, *dout, *other; /* other: out, then dq */
} ZB_ISA(grad_scratch);

/* Adds what QUERIES queries of one head give, for one block of keys. */
static void ZB_ISA(grad_block)(attention *a, int64_t batch, int64_t head, int64_t first, int64_t key,
                               const ZB_ISA(grad_scratch) * s) {
  int64_t rows = zb_min64(QUERIES, a->tq - first), count = zb_min64(a->keys, visible_keys(a, first + rows - 1) - key),
          d = a->d, stride = score_stride(count);
  float *dq = a->dq_sums + ((batch * a->tq + first) * a->heads + head) * d;
  for (int64_t i = 0; i < rows && count <= 0 && key == 0; ++i) /* these queries see nothing */
    memset(dq + i * a->heads * d, 0, (size_t)d * sizeof *dq);
  if (count <= 0) return;
  ZB_ISA(read_rows)(s->q, a->q, batch, first, head, rows, d);
  ZB_ISA(read_rows)(s->dout, a->dout, batch, first, head, rows, d);
  product(s->pack, rows, count, d, a->scale, matrix(s->q, d, 1), matrix(s->k, 1, d), false, s->scores, stride);
  product(s->pack, rows, count, d, 1.0f, matrix(s->dout, d, 1), matrix(s->v, 1, d), false, s->dp, stride);
  ZB_ISA(read_rows)(s->other, a->out, batch, first, head, rows, d);
  const float *lse = a->lse + (batch * a->heads + head) * a->tq + first;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t visible = zb_min64(count, zb_max64(0, visible_keys(a, first + i) - key));
    const float *mask = mask_row(a, batch, head, first + i, key);
    if (mask) ZB_ISA(add_mask)(s->scores + i * stride, mask, a->mask_strides[3], visible);
    float delta = ZB_ISA(dot)(s->other + i * d, s->dout + i * d, d), buffer[KEYS + 2 * ZB_RANDOM_GROUP];
    const float *factors = a->drops ? ZB_ISA(draw_row)(a, batch, head, first + i, key, visible, buffer) : NULL;
    if (factors) ZB_ISA(drop_row)(s->dp + i * stride, factors, visible);
    ZB_ISA(grad_row)(s->scores + i * stride, s->dp + i * stride, visible, count, lse[i], delta, a->scale);
    if (factors) ZB_ISA(drop_row)(s->scores + i * stride, factors, visible);
  }
  if (key > 0) ZB_ISA(copy_rows)(s->other, d, dq, a->heads * d, rows, d);
  product(s->pack, rows, d, count, 1.0f, matrix(s->dp, stride, 1), matrix(s->k, d, 1), key > 0, s->other, d);
  ZB_ISA(copy_rows)(dq, a->heads * d, s->other, d, rows, d);
  product(s->pack, count, d, rows, 1.0f, matrix(s->dp, 1, stride), matrix(s->q, d, 1), true, s->dk, d);
  product(s->pack, count, d, rows, 1.0f, matrix(s->scores, 1, stride), matrix(s->dout, d, 1), true, s->dv, d);
}

/* One key/value head of one batch entry. */
static void ZB_ISA(gradient_unit)(attention *a, int64_t unit, void *scratch) {
  int64_t batch = unit / a->kv_heads, kv_head = unit % a->kv_heads, group = a->heads / a->kv_heads, d = a->d;
  float *base = (float *)scratch + PACK;
  ZB_ISA(grad_scratch)
  s = {.pack = scratch,
       .k = base,
       .v = base + BLOCK_ELEMENTS,
       .dk = base + 2 * BLOCK_ELEMENTS,
       .dv = base + 3 * BLOCK_ELEMENTS};
  s.scores = base + 4 * BLOCK_ELEMENTS;
  s.dp = s.scores + QUERIES * (KEYS + PAD);
  s.q = s.dp + QUERIES * (KEYS + PAD);
  s.dout = s.q + QUERIES * D_MAX;
  s.other = s.dout + QUERIES * D_MAX;
  for (int64_t key = 0; key < zb_max64(1, a->tk); key += a->keys) {
    int64_t count = zb_min64(a->keys, a->tk - key);
    ZB_ISA(read_rows)(s.k, a->k, batch, key, kv_head, count, d);
    ZB_ISA(read_rows)(s.v, a->v, batch, key, kv_head, count, d);
    memset(s.dk, 0, (size_t)(count * d) * sizeof *s.dk);
    memset(s.dv, 0, (size_t)(count * d) * sizeof *s.dv);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (int64_t first = 0; first < a->tq; first += QUERIES)
        ZB_ISA(grad_block)(a, batch, head, first, key, &s);
    int64_t row = (batch * a->tk + key) * a->kv_heads + kv_head;
    ZB_ISA(write_rows)(a->dk, a->q.narrow, row * d, a->kv_heads * d, s.dk, d, count, d);
    ZB_ISA(write_rows)(a->dv, a->q.narrow, row * d, a->kv_heads * d, s.dv, d, count, d);
  }
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group && a->q.narrow; ++head) {
    int64_t first = (batch * a->tq * a->heads + head) * d;
    ZB_ISA(write_rows)(a->dq, true, first, a->heads * d, a->dq_sums + first, a->heads * d, a->tq, d);
  }
}

static void ZB_ISA(attention_grad_tile)(void *context, int64_t tile, void *scratch) {
  attention *a = context;
  int64_t end = zb_min64((tile + 1) * a->unit_count, a->units);
  for (int64_t unit = tile * a->unit_count; unit < end; ++unit)
    ZB_ISA(gradient_unit)(a, unit, scratch);
}
#endif
