/* Attention, token-major, with grouped key/value heads, an added mask and the causal limit; and its gradient. With
 * dropout: what of a probability meets v is that of the element of the matrix [batch, heads, tq, tk].
 *
 * Nothing of size tq x tk is stored: a score is computed again where it is needed. Results are made in blocks of
 * columns whose sums live on the stack, so that no workspace is needed. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

enum { BLOCK = 64 }; /* columns of a head whose sums are held at a time */

typedef struct attention {
  const zb_tensor *q, *k, *v, *mask; /* mask may be NULL */
  int64_t batch, queries, keys, heads, kv_heads, group, width, value_width;
  int64_t mask_strides[4]; /* over [batch, heads, tq, tk] */
  double scale;
  bool causal, drops;
  zb_ref_drop drop; /* where it drops */
} attention;

static int64_t at(const zb_tensor *t, int64_t b, int64_t token, int64_t head, int64_t column) {
  return b * t->strides[0] + token * t->strides[1] + head * t->strides[2] + column * t->strides[3];
}

static const char *start_attention(const zb_kernel_call *call, attention *a) {
  const zb_tensor *q = &call->inputs[0], *k = &call->inputs[1], *v = &call->inputs[2];
  const zb_tensor *mask = zb_call_input(call, 3);
  if (q->rank != 4 || k->rank != 4 || v->rank != 4) return "attention needs operands of rank 4";
  if (!zb_dtype_is_float(q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype) return ZB_REF_BAD_TYPE;
  if (mask && !zb_dtype_is_float(mask->dtype)) return ZB_REF_BAD_TYPE;
  *a = (attention){.q = q, .k = k, .v = v, .mask = mask, .batch = q->shape[0], .queries = q->shape[1]};
  a->heads = q->shape[2];
  a->width = q->shape[3];
  a->keys = k->shape[1];
  a->kv_heads = k->shape[2];
  a->value_width = v->shape[3];
  bool fits = k->shape[0] == a->batch && v->shape[0] == a->batch && k->shape[3] == a->width && v->shape[1] == a->keys &&
              v->shape[2] == a->kv_heads;
  if (!fits) return ZB_REF_BAD_SHAPE;
  if (a->kv_heads < 1 || a->heads % a->kv_heads) return "the number of heads is no multiple of the key/value heads";
  a->group = a->heads / a->kv_heads;
  a->scale = zb_attr_number(call, "scale", 1 / sqrt((double)a->width));
  a->causal = zb_attr_bool(&call->attrs, "causal", false);
  zb_ref_walk walk;
  zb_tensor scores = {.rank = 4, .shape = {a->batch, a->heads, a->queries, a->keys}};
  zb_ref_walk_init(&walk, &scores);
  if (!zb_ref_walk_add(&walk, mask)) return "the mask cannot be broadcast to [batch, heads, tq, tk]";
  memcpy(a->mask_strides, walk.strides[1], sizeof a->mask_strides);
  return NULL;
}

/* What the share of a pair is multiplied by. */
static double factor(const attention *a, int64_t b, int64_t h, int64_t i, int64_t j) {
  return a->drops ? zb_ref_drop_factor(&a->drop, ((b * a->heads + h) * a->queries + i) * a->keys + j) : 1;
}

/* scale * q.k + mask, or -infinity where key j is hidden from query i. */
static double score(const attention *a, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (a->causal && j > i + (a->keys - a->queries)) return -(double)INFINITY;
  int64_t from_q = at(a->q, b, i, h, 0), from_k = at(a->k, b, j, h / a->group, 0);
  double product = 0;
  for (int64_t c = 0; c < a->width; ++c)
    product += zb_ref_get(a->q, from_q + c * a->q->strides[3]) * zb_ref_get(a->k, from_k + c * a->k->strides[3]);
  double value = a->scale * product;
  if (!a->mask) return value;
  const int64_t *s = a->mask_strides;
  return value + zb_ref_get(a->mask, b * s[0] + h * s[1] + i * s[2] + j * s[3]);
}

/* log(sum over j of exp(score)); -infinity for a row that sees nothing. */
static double log_sum(const attention *a, int64_t b, int64_t h, int64_t i) {
  double largest = -(double)INFINITY, sum = 0;
  for (int64_t j = 0; j < a->keys; ++j) {
    double value = score(a, b, h, i, j);
    if (value > largest || isnan(value)) largest = value; /* NaN must not look like a row that sees nothing */
  }
  if (largest == -(double)INFINITY) return largest;
  for (int64_t j = 0; j < a->keys; ++j)
    sum += exp(score(a, b, h, i, j) - largest);
  return largest + log(sum);
}

static double share(double one_score, double lse) { return lse == -(double)INFINITY ? 0 : exp(one_score - lse); }

static int64_t block_size(int64_t begin, int64_t end) { return end - begin < BLOCK ? end - begin : BLOCK; }

static void store_block(const zb_tensor *to, int64_t element, const double *sums, int64_t count) {
  for (int64_t c = 0; c < count; ++c)
    zb_ref_set(to, element + c, sums[c]);
}

static void attend_row(const attention *a, int64_t b, int64_t h, int64_t i, double lse, const zb_tensor *out) {
  for (int64_t begin = 0; begin < a->value_width; begin += BLOCK) {
    int64_t count = block_size(begin, a->value_width);
    double sums[BLOCK] = {0};
    for (int64_t j = 0; j < a->keys; ++j) {
      double p = share(score(a, b, h, i, j), lse) * factor(a, b, h, i, j);
      for (int64_t c = 0; c < count; ++c)
        sums[c] += p * zb_ref_get(a->v, at(a->v, b, j, h / a->group, begin + c));
    }
    store_block(out, at(out, b, i, h, begin), sums, count);
  }
}

static const char *start_drop(const zb_kernel_call *call, attention *a) {
  a->drops = true;
  return zb_ref_drop_of(call, 4, &a->drop);
}

static const char *attend(const zb_kernel_call *call, bool drops) {
  ZB_REF_TRY(zb_ref_check(call, 3, 2, false));
  attention a;
  ZB_REF_TRY(start_attention(call, &a));
  if (drops) ZB_REF_TRY(start_drop(call, &a));
  const zb_tensor *out = &call->outputs[0], *lse = &call->outputs[1];
  const zb_tensor rows = {.rank = 4, .shape = {a.batch, a.queries, a.heads, a.value_width}};
  const zb_tensor sums = {.rank = 3, .shape = {a.batch, a.heads, a.queries}};
  if (!zb_tensor_same_shape(out, &rows) || !zb_tensor_same_shape(lse, &sums)) return ZB_REF_BAD_SHAPE;
  if (!zb_dtype_is_float(out->dtype) || !zb_dtype_is_float(lse->dtype)) return ZB_REF_BAD_TYPE;
  ZB_REF_CHECKED(call);
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i) {
        double row = log_sum(&a, b, h, i);
        zb_ref_set(lse, (b * a.heads + h) * a.queries + i, row);
        attend_row(&a, b, h, i, row, out);
      }
  return NULL;
}

const char *zb_ref_attention(const zb_kernel_call *call) { return attend(call, false); }
const char *zb_ref_attention_dropout(const zb_kernel_call *call) { return attend(call, true); }

/* ---- Gradient. With p = exp(score - lse), f the factor of the pair, dp = dout.v and delta = dout.out of the row:
 *      ds = p * (f dp - delta); dq = scale * sum_j ds k; dk = scale * sum_i ds q; dv = sum_i f p dout. ---- */

typedef struct attention_gradient {
  attention a;
  const zb_tensor *out, *lse, *dout;
} attention_gradient;

static double dot_rows(const zb_tensor *x, int64_t from_x, const zb_tensor *y, int64_t from_y, int64_t count) {
  double total = 0;
  for (int64_t c = 0; c < count; ++c)
    total += zb_ref_get(x, from_x + c * x->strides[3]) * zb_ref_get(y, from_y + c * y->strides[3]);
  return total;
}

/* f p of one pair and, where ds is asked for, its score's gradient. */
static double pair_gradient(const attention_gradient *g, int64_t b, int64_t h, int64_t i, int64_t j, double *ds) {
  const attention *a = &g->a;
  const int64_t *s = g->lse->strides;
  double p = share(score(a, b, h, i, j), zb_ref_get(g->lse, b * s[0] + h * s[1] + i * s[2]));
  double f = factor(a, b, h, i, j);
  if (!ds) return f * p;
  int64_t from = at(g->dout, b, i, h, 0);
  double dp = dot_rows(g->dout, from, a->v, at(a->v, b, j, h / a->group, 0), a->value_width);
  double delta = dot_rows(g->dout, from, g->out, at(g->out, b, i, h, 0), a->value_width);
  *ds = p == 0 ? 0 : p * (f * dp - delta);
  return f * p;
}

static void query_gradient(const attention_gradient *g, int64_t b, int64_t h, int64_t i, const zb_tensor *dq) {
  const attention *a = &g->a;
  for (int64_t begin = 0; begin < a->width; begin += BLOCK) {
    int64_t count = block_size(begin, a->width);
    double sums[BLOCK] = {0}, ds;
    for (int64_t j = 0; j < a->keys; ++j) {
      (void)pair_gradient(g, b, h, i, j, &ds);
      for (int64_t c = 0; c < count; ++c)
        sums[c] += a->scale * ds * zb_ref_get(a->k, at(a->k, b, j, h / a->group, begin + c));
    }
    store_block(dq, at(dq, b, i, h, begin), sums, count);
  }
}

/* dk of key j, or dv when `values`: over all queries of all heads of its group, by head, then by query. */
static void key_gradient(const attention_gradient *g, int64_t b, int64_t kv_head, int64_t j, bool values,
                         const zb_tensor *to) {
  const attention *a = &g->a;
  int64_t width = values ? a->value_width : a->width;
  for (int64_t begin = 0; begin < width; begin += BLOCK) {
    int64_t count = block_size(begin, width);
    double sums[BLOCK] = {0}, ds = 0;
    for (int64_t h = kv_head * a->group; h < (kv_head + 1) * a->group; ++h)
      for (int64_t i = 0; i < a->queries; ++i) {
        double p = pair_gradient(g, b, h, i, j, values ? NULL : &ds);
        const zb_tensor *from = values ? g->dout : a->q;
        for (int64_t c = 0; c < count; ++c)
          sums[c] += (values ? p : a->scale * ds) * zb_ref_get(from, at(from, b, i, h, begin + c));
      }
    store_block(to, at(to, b, j, kv_head, begin), sums, count);
  }
}

static const char *attend_gradient(const zb_kernel_call *call, bool drops) {
  const int first = drops ? 5 : 4;
  if (call->input_count != first + 3)
    return drops ? "attention_dropout_grad takes eight operands: q, k, v, mask (may be absent), counter, out, lse, dout"
                 : "attention_grad takes seven operands: q, k, v, mask (may be absent), out, lse, dout";
  ZB_REF_TRY(zb_ref_check(call, 3, 3, false));
  attention_gradient g = {
      .out = &call->inputs[first], .lse = &call->inputs[first + 1], .dout = &call->inputs[first + 2]};
  ZB_REF_TRY(start_attention(call, &g.a));
  if (drops) ZB_REF_TRY(start_drop(call, &g.a));
  const attention *a = &g.a;
  const zb_tensor rows = {.rank = 4, .shape = {a->batch, a->queries, a->heads, a->value_width}};
  const zb_tensor sums = {.rank = 3, .shape = {a->batch, a->heads, a->queries}};
  if (!zb_tensor_same_shape(g.out, &rows) || !zb_tensor_same_shape(g.dout, &rows) ||
      !zb_tensor_same_shape(g.lse, &sums))
    return ZB_REF_BAD_SHAPE;
  if (!zb_dtype_is_float(g.out->dtype) || !zb_dtype_is_float(g.lse->dtype) || !zb_dtype_is_float(g.dout->dtype))
    return ZB_REF_BAD_TYPE;
  for (int i = 0; i < 3; ++i)
    if (!zb_tensor_same_shape(&call->outputs[i], &call->inputs[i])) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  for (int64_t b = 0; b < a->batch; ++b) {
    for (int64_t h = 0; h < a->heads; ++h)
      for (int64_t i = 0; i < a->queries; ++i)
        query_gradient(&g, b, h, i, &call->outputs[0]);
    for (int64_t h = 0; h < a->kv_heads; ++h)
      for (int64_t j = 0; j < a->keys; ++j) {
        key_gradient(&g, b, h, j, false, &call->outputs[1]);
        key_gradient(&g, b, h, j, true, &call->outputs[2]);
      }
  }
  return NULL;
}

const char *zb_ref_attention_grad(const zb_kernel_call *call) { return attend_gradient(call, false); }
const char *zb_ref_attention_dropout_grad(const zb_kernel_call *call) { return attend_gradient(call, true); }
