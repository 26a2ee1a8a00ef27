/* Matrix products and attention. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <math.h>

zb_result zb_aten_product(zb_import_node *n) {
  return zb_operand_give(n, 0, zb_meaning_product(n, zb_operand_in(n, 0), zb_operand_in(n, 1)));
}

/* beta * self + alpha * (a @ b). */
zb_result zb_aten_sum_product(zb_import_node *n) {
  const double alpha = zb_aten_real(n, "alpha", 1), beta = zb_aten_real(n, "beta", 1);
  zb_operand product = zb_meaning_product(n, zb_operand_in(n, 1), zb_operand_in(n, 2));
  return zb_operand_give(n, 0, zb_meaning_weighted_sum(n, product, alpha, zb_operand_in(n, 0), beta));
}

/* x @ weight^T + bias. */
zb_result zb_aten_linear(zb_import_node *n) {
  zb_operand out = zb_meaning_product(n, zb_operand_in(n, 0), zb_meaning_swapped(n, zb_operand_in(n, 1)));
  if (zb_import_has(n, 2)) out = zb_operand_apply2(n, "add", out, zb_operand_in(n, 2));
  return zb_operand_give(n, 0, out);
}

/* The sum over dimensions of a product of three, as of torch.nn.Bilinear. */
zb_result zb_aten_trilinear(zb_import_node *n) {
  zb_shape shape;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  static const char *const names[] = {"expand1", "expand2", "expand3"};
  zb_operand out = NULL;
  for (int i = 0; i < 3; ++i) {
    zb_aten_ints(n, names[i], axes, ZB_DIMS_MAX, &count);
    zb_operand x = zb_meaning_unsqueeze(n, zb_operand_in(n, i), axes, count);
    out = i == 0 ? x : zb_operand_apply2(n, "mul", out, x);
  }
  if (!zb_operand_shape(n, out, &shape)) return ZB_FAIL;
  zb_aten_ints(n, "sumdim", axes, ZB_DIMS_MAX, &count);
  for (int i = 0; i < count; ++i)
    if (axes[i] < 0 || axes[i] >= shape.rank) return zb_aten_refuse_argument(n, "sumdim", NULL);
  return zb_operand_give(n, 0, count ? zb_operand_reduce(n, "reduce_sum", out, axes, count, false) : out);
}

/* ---- Dropout ---- */

/* The mask of native_dropout, where it is read, is what the same op makes of ones. */
zb_result zb_aten_dropout(zb_import_node *n) {
  const double rate = zb_aten_flag(n, "train", true) ? zb_aten_real(n, "p", 0.5) : 0;
  if (zb_import_wants(n, 1))
    return zb_import_refuse(n, "use torch.nn.Dropout", "the mask of what is dropped is not supported");
  return zb_operand_give(n, 0, zb_meaning_drop(n, zb_operand_in(n, 0), rate));
}

/* ---- Attention ---- */

/* Key or value heads, each for its group of query heads: [b, kv, t, d] -> [b, kv * groups, t, d]. */
static zb_operand repeated(zb_import_node *n, zb_operand x, int64_t heads) {
  zb_shape shape;
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  if (shape.rank != 4 || shape.dims[1] < 1 || heads % shape.dims[1])
    return zb_import_refuse(n, NULL, "the heads of keys do not divide those of queries"), NULL;
  return zb_meaning_repeat_each(n, x, 1, heads / shape.dims[1]);
}

/* -infinity above the diagonal, 0 on it and below. */
static zb_operand causal_mask(zb_import_node *n, const zb_shape *q, const zb_shape *k) {
  const zb_shape shape = {.dtype = ZB_F32, .rank = 2, .dims = {q->dims[q->rank - 2], k->dims[k->rank - 2]}};
  zb_known *mask = zb_known_new(n->im, &shape);
  for (int64_t i = 0; mask && i < mask->elements; ++i)
    zb_known_set_real(mask, i, i % shape.dims[1] > i / shape.dims[1] ? -INFINITY : 0);
  return zb_operand_known(n, mask);
}

/* Products and a softmax, of which zb-raise makes zb.attention: it knows masks and groups of heads. Both factors are
 * scaled by the root of the scale, as PyTorch does. A row that a bool mask hides whole is zero, as PyTorch has it. */
zb_result zb_aten_attention(zb_import_node *n) {
  zb_shape q_shape, k_shape, mask_shape;
  zb_operand q = zb_operand_in(n, 0), k = zb_operand_in(n, 1), v = zb_operand_in(n, 2), mask = NULL, boolean = NULL;
  if (!zb_operand_shape(n, q, &q_shape) || !zb_operand_shape(n, k, &k_shape)) return ZB_FAIL;
  if (q_shape.rank < 2 || k_shape.rank < 2) return zb_import_refuse(n, NULL, "queries and keys are vectors");
  const float size = (float)q_shape.dims[q_shape.rank - 1];
  const double given = zb_aten_real(n, "scale", 0);
  const float scale = zb_aten_has(n, "scale") ? (float)given : 1 / sqrtf(size), root = sqrtf(scale);
  if (!(scale > 0)) return zb_aten_refuse_argument(n, "scale", "a positive number");
  if (zb_aten_flag(n, "is_causal", false)) mask = causal_mask(n, &q_shape, &k_shape);
  if (zb_aten_flag(n, "enable_gqa", false)) {
    k = repeated(n, k, q_shape.dims[1]);
    v = repeated(n, v, q_shape.dims[1]);
  }
  if (zb_import_has(n, 3)) {
    if (mask) return zb_import_refuse(n, NULL, "attn_mask and is_causal are both given");
    mask = zb_operand_in(n, 3);
    if (!zb_operand_shape(n, mask, &mask_shape)) return ZB_FAIL;
    if (mask_shape.dtype == ZB_I1) boolean = mask;
  }
  zb_operand zero = zb_operand_scalar(n, ZB_F32, 0);
  q = zb_meaning_line(n, q, root, 0);
  k = zb_meaning_line(n, zb_meaning_swapped(n, k), root, 0);
  if (boolean) mask = zb_operand_where(n, boolean, zero, zb_operand_scalar(n, ZB_F32, -INFINITY));
  zb_operand scores = zb_operand_matmul(n, q, k);
  if (mask) scores = zb_operand_apply2(n, "add", scores, mask);
  zb_operand weights = zb_meaning_softmax(n, "softmax", scores, q_shape.rank - 1);
  if (boolean) weights = zb_operand_where(n, zb_operand_apply1(n, "is_nan", weights), zero, weights);
  weights = zb_meaning_drop(n, weights, zb_aten_real(n, "dropout_p", 0));
  return zb_operand_give(n, 0, zb_operand_matmul(n, weights, v));
}
