/* zb.attention: softmax(scale * q k^T + mask) v, token-major, with fewer key/value heads allowed; and its gradient.
 *
 * The gradient recomputes the probabilities from lse, so F keeps no [tq, tk] matrix. Its one workspace is a row of sums
 * a query (the "delta" of FlashAttention, Dao 2022, section B.4).
 *
 * With dropout of the probabilities it is another op: a row has one optional operand, which is the mask. Nothing is
 * saved for it, as the gradient draws again.
 *
 * Tests: test/ir/ops/attention.mlir.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <inttypes.h>

enum { Q, K, V, MASK, COUNTER /* of the ops with dropout */ };
enum { OUT, LSE, DOUT }; /* from the operand on that is behind the others */
enum { BATCH, TOKENS, HEADS, WIDTH };

/* C1 to C5 on the first four operands of both ops. */
static zb_result check_operands(const zb_op_view *op, zb_op_error *error) {
  const zb_shape *q = &op->operands[Q], *k = &op->operands[K], *mask = &op->operands[MASK];
  if (q->rank != 4 || k->rank != 4)
    return zb_op_fail(error, "q is [batch, tokens, heads, width]; k and v are [batch, tokens, kv_heads, width]",
                      "q, k and v need rank 4: expected 4, got %d and %d (C1)", q->rank, k->rank);
  if (!zb_check_dtype(op, Q, ZB_REALS, "C2", error) || !zb_check_same_dtype(op, K, Q, "C2", error)) return ZB_FAIL;
  if (k->dims[BATCH] != q->dims[BATCH] || k->dims[WIDTH] != q->dims[WIDTH])
    return zb_op_fail(error, NULL,
                      "k does not fit q: expected batch %" PRId64 " and width %" PRId64 ", got %" PRId64 " and %" PRId64
                      " (C3)",
                      q->dims[BATCH], q->dims[WIDTH], k->dims[BATCH], k->dims[WIDTH]);
  if (k->dims[HEADS] < 1 || q->dims[HEADS] % k->dims[HEADS] != 0)
    return zb_op_fail(error, "each key/value head serves heads / kv_heads query heads",
                      "the heads do not divide: expected a divisor of %" PRId64 " heads of q, got %" PRId64
                      " heads of k (C4)",
                      q->dims[HEADS], k->dims[HEADS]);
  if (!zb_check_same_type(op, V, K, "C5", error)) return ZB_FAIL;
  if (mask->rank < 0) return ZB_OK;
  zb_shape scores = {zb_dtype_wide(q->dtype), 4, {q->dims[BATCH], q->dims[HEADS], q->dims[TOKENS], k->dims[TOKENS]}},
           both = scores;
  char expected[96], got[96];
  if (mask->dtype == scores.dtype && zb_broadcast(mask, &scores, &both) && zb_shape_equal(&both, &scores)) return ZB_OK;
  return zb_op_fail(error, "the mask is added to the scores [batch, heads, q tokens, k tokens]",
                    "the mask does not broadcast to the scores: expected %s, got %s (C6)",
                    zb_shape_text(&scores, expected), zb_shape_text(mask, got));
}

static zb_shape lse_shape(const zb_shape *q) {
  return (zb_shape){zb_dtype_wide(q->dtype), 3, {q->dims[BATCH], q->dims[HEADS], q->dims[TOKENS]}};
}

static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_operands(op, error)) return ZB_FAIL;
  results[0] = op->operands[Q];
  results[1] = lse_shape(&op->operands[Q]);
  return ZB_OK;
}

/* Query/key pairs that are computed, over batch and heads: causal rows stop at the diagonal. */
static double visible_pairs(const zb_op_view *op) {
  const zb_shape *q = &op->operands[Q];
  int64_t tq = q->dims[TOKENS], tk = op->operands[K].dims[TOKENS];
  double pairs = (double)tq * (double)tk;
  if (zb_attr_bool(&op->attrs, "causal", false)) {
    /* Row i sees i + 1 + tk - tq keys, if positive. */
    double first = (double)(tk - tq + 1 > 0 ? tk - tq + 1 : 1), rows = (double)(tk < tq ? tk : tq);
    pairs = rows * (first + (double)tk) / 2;
  }
  return pairs * (double)q->dims[BATCH] * (double)q->dims[HEADS];
}

/* Operations a pair beside its products. */
static double pair_flops(const zb_op_view *op, double without) {
  return without + (zb_attr_find(&op->attrs, "rate") ? ZB_DRAW_FLOPS : 0);
}

/* Two products and the softmax. */
static zb_cost cost(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  double pairs = visible_pairs(op), product = 4 * pairs * (double)op->operands[Q].dims[WIDTH];
  return (zb_cost){.flops = product + pair_flops(op, 12) * pairs, .product_flops = product};
}

/* Five products: scores again, dv, dp, dq, dk. */
static zb_cost cost_grad(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  double pairs = visible_pairs(op), product = 10 * pairs * (double)op->operands[Q].dims[WIDTH];
  return (zb_cost){.flops = product + pair_flops(op, 14) * pairs, .product_flops = product};
}

static void grad(zb_gradient *g) {
  bool refused = g->view.operands[MASK].rank >= 0 && g->needs[MASK];
  if (refused)
    zb_op_error_at(g->op, "compile with --no-raise, or freeze what the mask is computed from",
                   "zb.%s gives no gradient for its mask, but a trained parameter leads to it", g->view.def->name);
  g->b->failed |= refused;
  if (!refused) zb_grad_named(g);
}

#define ATTENTION_ATTRS                                                                                                \
  {"scale", ZB_ATTR_FLOAT, false, 0, "factor of the scores: scale = 0.125 : f64"},                                     \
      {"causal", ZB_ATTR_BOOL, true, 0, "key j is visible to query i iff j <= i + tk - tq"}
#define GRADIENT_DOC                                                                                                   \
  " C7: out and dout have the type of q. C8: lse has the shape [batch, heads, tokens] of q and its type (for bf16 "    \
  "and "                                                                                                               \
  "f16: f32)."
#define OPERANDS_DOC                                                                                                   \
  "C1: q, k and v have rank 4. C2: they have one float type. C3: batch and width of q and k are equal. C4: the heads " \
  "of k divide those of q. C5: v has the type of k. C6: the mask has that element type (for bf16 and f16: f32) and "   \
  "broadcasts to the scores."

const zb_op_def zb_op_attention = {
    ZB_ROW(attention),
    .summary = "softmax(scale * q k^T + mask) v, token-major; lse is the logarithm of the softmax denominators.",
    .doc = OPERANDS_DOC "\n",
    .operands = "q, k, v, mask?",
    .results = "out, lse",
    .attrs = ZB_ATTRS(ATTENTION_ATTRS),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_LOW,
    .full_operands = 1u << MASK,
    .infer = infer,
    .cost = cost,
    .grad = grad,
    .place = zb_place_attention,
};

/* saved: the operand `out`. */
static zb_result infer_gradients(const zb_op_view *op, int saved, zb_shape *results, zb_op_error *error) {
  const zb_shape *q = &op->operands[Q];
  if (!check_operands(op, error)) return ZB_FAIL;
  if (!zb_check_same_type(op, saved + OUT, Q, "C7", error) || !zb_check_same_type(op, saved + DOUT, Q, "C7", error))
    return ZB_FAIL;
  zb_shape lse = lse_shape(q);
  if (!zb_check_type(op, saved + LSE, &lse, "batch, heads and tokens of q", "C8", error)) return ZB_FAIL;
  for (int i = 0; i < 3; ++i)
    results[i] = op->operands[i];
  return ZB_OK;
}

static zb_result infer_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  return infer_gradients(op, MASK + 1, results, error);
}

/* Of bf16 and f16: dq in f32, before it is rounded. Then one f32 a query and head: the sum of dout * out over its
 * width. */
static uint64_t scratch_bytes(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  const zb_shape *q = &op->operands[Q];
  uint64_t rows = (uint64_t)q->dims[BATCH] * (uint64_t)q->dims[HEADS] * (uint64_t)q->dims[TOKENS];
  uint64_t sums = zb_dtype_wide(q->dtype) == q->dtype ? 0 : rows * (uint64_t)q->dims[WIDTH];
  return zb_align(sums * 4) + zb_align(rows * 4);
}

const zb_op_def zb_op_attention_grad = {
    ZB_ROW(attention_grad),
    .summary = "Gradients of zb.attention for q, k and v; the mask has none.",
    .doc = OPERANDS_DOC GRADIENT_DOC "\n",
    .operands = "q, k, v, mask?, out, lse, dout",
    .results = "dq, dk, dv",
    .attrs = ZB_ATTRS(ATTENTION_ATTRS),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .infer = infer_grad,
    .cost = cost_grad,
    .scratch_bytes = scratch_bytes,
};

/* ---- With dropout ---- */

static zb_result check_drop(const zb_op_view *op, zb_op_error *error) {
  return zb_check_counter(op, COUNTER, "C9", error) && zb_check_drop(op, "C9", "C9", error) ? ZB_OK : ZB_FAIL;
}

static zb_result infer_dropout(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  return infer(op, results, error) && check_drop(op, error) ? ZB_OK : ZB_FAIL;
}

static zb_result infer_dropout_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  return infer_gradients(op, COUNTER + 1, results, error) && check_drop(op, error) ? ZB_OK : ZB_FAIL;
}

#define DROP_DOC " C9: counter, rate and op are as in zb.dropout.\n"

const zb_op_def zb_op_attention_dropout = {
    ZB_ROW(attention_dropout),
    .summary = "dropout(softmax(scale * q k^T + mask)) v, as zb.attention.",
    .doc = OPERANDS_DOC DROP_DOC,
    .operands = "q, k, v, mask?, counter",
    .results = "out, lse",
    .attrs = ZB_ATTRS(ATTENTION_ATTRS, ZB_DROP_ATTRS),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED | ZB_TRAIT_RANDOM,
    .mixed = ZB_MIXED_LOW,
    .full_operands = 1u << MASK,
    .infer = infer_dropout,
    .cost = cost,
    .grad = grad,
    .in_evaluation = "attention",
    .place = zb_place_attention,
};

const zb_op_def zb_op_attention_dropout_grad = {
    ZB_ROW(attention_dropout_grad),
    .summary = "Gradients of zb.attention_dropout for q, k and v; the mask has none.",
    .doc = OPERANDS_DOC GRADIENT_DOC DROP_DOC,
    .operands = "q, k, v, mask?, counter, out, lse, dout",
    .results = "dq, dk, dv",
    .attrs = ZB_ATTRS(ATTENTION_ATTRS, ZB_DROP_ATTRS),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED | ZB_TRAIT_RANDOM,
    .infer = infer_dropout_grad,
    .cost = cost_grad,
    .scratch_bytes = scratch_bytes,
};
