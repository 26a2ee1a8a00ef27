/* Attention (opset 23): zb.attention where it says what that does, else the products, the softmax and what stands
 * between them, each as an op of its own: softcap, caches, scores as an output, a mask that parameters lead to, values
 * of another size than keys.
 *
 *   y, k2, v2 = Attention(q, k, v, past_k, past_v)   ->   k2 = concat(past_k, k); v2 = concat(past_v, v);
 *                                                         y = softmax(q k2^T * scale + bias) v2
 *
 * Tests: test/ir/import/import_test.c, test/e2e/onnx_gradients.py. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>

enum { INPUT_Q, INPUT_K, INPUT_V, INPUT_MASK, INPUT_PAST_K, INPUT_PAST_V, INPUT_LENGTHS };
enum { OUTPUT_Y, OUTPUT_K, OUTPUT_V, OUTPUT_SCORES };
/* What qk_matmul_output_mode counts. */
enum { SCORES_RAW, SCORES_CAPPED, SCORES_MASKED, SCORES_SOFTMAX, SCORES_COUNT };

/* [b, h, t, d] <-> [b, t, h, d]. */
static const int64_t swap[] = {0, 2, 1, 3};

typedef struct heads {
  zb_shape q, k, v; /* [batch, heads, tokens, size], k and v with what is in the cache */
  int64_t past;
  double scale, softcap;
  bool causal, is_flat; /* inputs are [batch, tokens, heads*size] */
  int64_t mode;
} heads;

/* ---- What the node says ---- */

/* The shape of an input as [b, h, t, d]; false after reporting. */
static bool read_heads(zb_import_node *n, int input, const char *heads_name, zb_shape *out) {
  zb_shape shape;
  if (!zb_import_shape(n, input, &shape)) return false;
  *out = shape;
  if (shape.rank == 4) return true;
  const int64_t count = zb_onnx_int(n, heads_name, 0);
  if (shape.rank != 3 || count < 1 || shape.dims[2] % count != 0)
    return zb_import_refuse(n, NULL,
                            "input %d: expected [batch, heads, tokens, size], or [batch, tokens, heads*size] with %s",
                            input, heads_name);
  *out =
      (zb_shape){.dtype = shape.dtype, .rank = 4, .dims = {shape.dims[0], count, shape.dims[1], shape.dims[2] / count}};
  return true;
}

/* A cache before k or v: the same but for its tokens, which are added. */
static bool read_past(zb_import_node *n, int input, zb_shape *shape, int64_t *tokens) {
  zb_shape past, wanted = *shape;
  char got[96], expected[96];
  *tokens = 0;
  if (!zb_import_has(n, input)) return true;
  if (!zb_import_shape(n, input, &past)) return false;
  wanted.dims[2] = past.rank == 4 ? past.dims[2] : wanted.dims[2];
  if (!zb_shape_equal(&past, &wanted))
    return zb_import_refuse(n, NULL, "input %d is %s, expected %s but for its tokens", input, zb_shape_text(&past, got),
                            zb_shape_text(&wanted, expected));
  *tokens = past.dims[2];
  shape->dims[2] += past.dims[2];
  return true;
}

static bool read_attention(zb_import_node *n, heads *a) {
  int64_t past_v;
  *a = (heads){.causal = zb_onnx_int(n, "is_causal", 0) != 0, .mode = zb_onnx_int(n, "qk_matmul_output_mode", 0)};
  zb_shape given;
  if (!zb_import_shape(n, INPUT_Q, &given) || !read_heads(n, INPUT_Q, "q_num_heads", &a->q) ||
      !read_heads(n, INPUT_K, "kv_num_heads", &a->k) || !read_heads(n, INPUT_V, "kv_num_heads", &a->v) ||
      !read_past(n, INPUT_PAST_K, &a->k, &a->past) || !read_past(n, INPUT_PAST_V, &a->v, &past_v))
    return false;
  const int64_t *q = a->q.dims, *k = a->k.dims, *v = a->v.dims;
  if (a->past != past_v) return zb_import_refuse(n, NULL, "past keys and values differ in tokens, or one is missing");
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || k[1] < 1 || q[1] % k[1] != 0)
    return zb_import_refuse(n, NULL, "queries, keys and values do not fit each other");
  a->is_flat = given.rank == 3;
  a->scale = zb_onnx_float(n, "scale", 1.0 / sqrt((double)q[3]));
  a->softcap = zb_onnx_float(n, "softcap", 0);
  if (a->mode < 0 || a->mode >= SCORES_COUNT)
    return zb_import_refuse(n, "0 to 3", "qk_matmul_output_mode %" PRId64 " is not supported", a->mode);
  const int64_t precision = zb_onnx_int(n, "softmax_precision", 1);
  if (precision != 1)
    return zb_import_refuse(n, "1 (float32)", "softmax_precision %" PRId64 " is not supported", precision);
  return !n->im->failed;
}

/* Whether a parameter that is trained leads to a value. */
static bool is_trained(zb_import_node *n, const zb_import_value *value) {
  const zb_import *im = n->im;
  bool *seen = zb_import_take(n->im, im->value_count * sizeof *seen);
  const zb_import_value **open = zb_import_take(n->im, im->value_count * sizeof(void *));
  size_t count = 0;
  if (!seen || !open) return false;
  open[count++] = value;
  while (count > 0) {
    const zb_import_value *x = open[--count];
    if (x->kind == ZB_VALUE_INITIAL && x->role == ZB_ROLE_TRAINED) return true;
    for (int i = 0; x->producer && i < x->producer->input_count; ++i) {
      const zb_import_value *input = x->producer->inputs[i];
      if (!input || seen[input->number]) continue;
      seen[input->number] = true;
      open[count++] = input;
    }
  }
  return false;
}

/* Whether zb.attention does it. */
static bool is_plain(zb_import_node *n, const heads *a) {
  zb_shape mask;
  if (a->softcap != 0 || zb_import_has(n, INPUT_PAST_K) || zb_import_has(n, INPUT_LENGTHS)) return false;
  if (a->q.dtype == ZB_F64 || (a->causal && a->q.dims[2] != a->k.dims[2])) return false;
  if (a->v.dims[3] != a->k.dims[3]) return false;
  for (int i = OUTPUT_K; i <= OUTPUT_SCORES; ++i)
    if (zb_import_wants(n, i)) return false;
  if (!zb_import_has(n, INPUT_MASK)) return true;
  if (!zb_import_shape(n, INPUT_MASK, &mask) || mask.rank < 1) return false;
  if (mask.dims[mask.rank - 1] != a->k.dims[2]) return false;
  return mask.dtype == ZB_I1 || !is_trained(n, n->inputs[INPUT_MASK]);
}

/* ---- zb.attention ---- */

static MlirValue token_major(zb_import_node *n, int input, const zb_shape *shape, bool is_flat) {
  const int64_t dims[] = {shape->dims[0], shape->dims[2], shape->dims[1], shape->dims[3]};
  MlirValue x = zb_import_ir(n, input);
  return is_flat ? zb_import_reshaped(n->b, x, dims, 4) : zb_import_transposed(n->b, x, swap);
}

/* A bool mask says what is visible; zb adds numbers. */
static MlirValue additive_mask(zb_import_node *n) {
  zb_shape shape;
  if (!zb_import_shape(n, INPUT_MASK, &shape)) return (MlirValue){NULL};
  MlirValue mask = zb_import_ir(n, INPUT_MASK);
  if (shape.dtype != ZB_I1) return mask;
  MlirValue in[3] = {mask, zb_build_scalar(n->b, ZB_F32, 0), zb_build_scalar(n->b, ZB_F32, -INFINITY)};
  return zb_build(n->b, "where", in, 3, NULL, 0);
}

static zb_result build_plain(zb_import_node *n, const heads *a) {
  MlirValue in[4] = {token_major(n, INPUT_Q, &a->q, a->is_flat), token_major(n, INPUT_K, &a->k, a->is_flat),
                     token_major(n, INPUT_V, &a->v, a->is_flat), (MlirValue){NULL}};
  const int count = zb_import_has(n, INPUT_MASK) ? 4 : 3;
  if (count == 4) in[3] = additive_mask(n);
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  zb_attr attrs[] = {zb_float("scale", a->scale), zb_bool("causal", a->causal)};
  MlirOperation made = zb_build_op(n->b, "attention", in, count, attrs, 2, 2);
  if (mlirOperationIsNull(made)) return ZB_FAIL;
  MlirValue out = mlirOperationGetResult(made, 0);
  if (!a->is_flat) return zb_import_give(n, OUTPUT_Y, zb_import_transposed(n->b, out, swap));
  const int64_t dims[] = {a->q.dims[0], a->q.dims[2], a->q.dims[1] * a->v.dims[3]};
  return zb_import_give(n, OUTPUT_Y, zb_build_reshape(n->b, out, dims, 3));
}

/* ---- Op by op ---- */

static zb_operand scalar(zb_import_node *n, const heads *a, double value) {
  return zb_operand_scalar(n, a->q.dtype, value);
}

/* Keys or values, [b, h, t, d], behind those of the cache. */
static zb_operand with_past(zb_import_node *n, int input, const zb_shape *shape, int past, const heads *a) {
  const int64_t added = shape->dims[2] - (past >= 0 && zb_import_has(n, past) ? a->past : 0);
  const zb_shape flat = {.rank = 4, .dims = {shape->dims[0], added, shape->dims[1], shape->dims[3]}};
  zb_operand x = zb_operand_in(n, input);
  if (a->is_flat) x = zb_operand_transpose(n, zb_operand_reshape(n, x, &flat), swap);
  if (past < 0 || !zb_import_has(n, past)) return x;
  return zb_operand_concat(n, (zb_operand[]){n->inputs[past], x}, 2, 2);
}

/* 0 where it is true, else -infinity. */
static zb_operand unless(zb_import_node *n, const heads *a, zb_operand is_visible) {
  return zb_operand_where(n, is_visible, scalar(n, a, 0), scalar(n, a, -INFINITY));
}

/* The mask as numbers for all keys: none is seen behind its end. */
static zb_operand mask_of(zb_import_node *n, const heads *a) {
  zb_shape shape;
  zb_operand mask = zb_operand_in(n, INPUT_MASK);
  if (!zb_operand_shape(n, mask, &shape)) return NULL;
  if (shape.dtype == ZB_I1) mask = unless(n, a, mask);
  if (shape.rank < 1 || shape.rank > 4 || shape.dims[shape.rank - 1] > a->k.dims[2])
    return zb_import_refuse(n, NULL, "the mask does not fit the %" PRId64 " keys", a->k.dims[2]), NULL;
  const int last = shape.rank - 1;
  const int64_t missing = a->k.dims[2] - shape.dims[last];
  if (missing == 0 || shape.dims[last] == 1) return mask;
  shape.dims[last] = missing;
  zb_operand hidden = zb_operand_filled(n, &shape, scalar(n, a, -INFINITY));
  return zb_operand_concat(n, (zb_operand[]){mask, hidden}, 2, last);
}

/* Key minus query, [q, k], or keys alone, as [k]. */
static zb_operand places(zb_import_node *n, const heads *a, bool less_queries) {
  const int64_t rows = less_queries ? a->q.dims[2] : 1, columns = a->k.dims[2];
  zb_known *known = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 2, .dims = {rows, columns}});
  for (int64_t i = 0; known && i < rows * columns; ++i)
    zb_known_set_integer(known, i, i % columns - (less_queries ? i / columns : 0));
  return zb_operand_known(n, known);
}

static zb_operand sum_of(zb_import_node *n, zb_operand a, zb_operand b) {
  return a ? zb_operand_apply2(n, "add", a, b) : b;
}

/* What is added to the scores: the mask, what causality hides, and what lies behind the lengths. NULL: nothing, or a
 * failure. */
static zb_operand bias_of(zb_import_node *n, const heads *a) {
  const zb_shape column = {.rank = 4, .dims = {a->q.dims[0], 1, 1, 1}};
  zb_operand bias = zb_import_has(n, INPUT_MASK) ? mask_of(n, a) : NULL, lengths = NULL;
  zb_operand offset = zb_operand_scalar(n, ZB_I64, (double)a->past);
  if (zb_import_has(n, INPUT_LENGTHS)) {
    lengths = zb_operand_reshape(n, zb_operand_cast(n, n->inputs[INPUT_LENGTHS], ZB_I64), &column);
    zb_operand count = zb_operand_scalar(n, ZB_I64, (double)a->q.dims[2]);
    offset = zb_operand_apply2(n, "sub", lengths, count);
    bias = sum_of(n, bias, unless(n, a, zb_operand_apply2(n, "less", places(n, a, false), lengths)));
  }
  if (a->causal && !n->im->failed)
    bias = sum_of(n, bias, unless(n, a, zb_operand_apply2(n, "less_equal", places(n, a, true), offset)));
  return n->im->failed ? NULL : bias;
}

/* The softmax of the scores, with rows of 0 for queries that see nothing. */
static zb_operand shares_of(zb_import_node *n, const heads *a, zb_operand scores, zb_operand bias) {
  const zb_attr axis = zb_int("axis", 3);
  zb_shape shape;
  if (!bias || (!zb_import_has(n, INPUT_MASK) && !zb_import_has(n, INPUT_LENGTHS)))
    return zb_operand_apply(n, "softmax", &scores, 1, &axis, 1);
  if (!zb_operand_shape(n, bias, &shape)) return NULL;
  const int64_t last = shape.rank - 1;
  zb_operand top = zb_operand_reduce(n, "reduce_max", bias, &last, 1, true);
  zb_operand sees = zb_operand_apply2(n, "greater", top, scalar(n, a, -INFINITY)), zero = scalar(n, a, 0);
  zb_operand shares = zb_operand_where(n, sees, scores, zero);
  return zb_operand_where(n, sees, zb_operand_apply(n, "softmax", &shares, 1, &axis, 1), zero);
}

static zb_result give_optional(zb_import_node *n, int output, zb_operand value) {
  return zb_import_wants(n, output) ? zb_operand_give(n, output, value) : ZB_OK;
}

static zb_result build_whole(zb_import_node *n, const heads *a) {
  const zb_shape flat = {.rank = 3, .dims = {a->q.dims[0], a->q.dims[2], a->q.dims[1] * a->v.dims[3]}};
  const zb_attr attr = zb_bool("transpose_rhs", true);
  zb_operand scores[SCORES_COUNT], q = with_past(n, INPUT_Q, &a->q, -1, a);
  zb_operand k = with_past(n, INPUT_K, &a->k, INPUT_PAST_K, a), v = with_past(n, INPUT_V, &a->v, INPUT_PAST_V, a);
  if (!give_optional(n, OUTPUT_K, k) || !give_optional(n, OUTPUT_V, v)) return ZB_FAIL;
  k = zb_meaning_repeat_each(n, k, 1, a->q.dims[1] / a->k.dims[1]);
  v = zb_meaning_repeat_each(n, v, 1, a->q.dims[1] / a->v.dims[1]);
  zb_operand product = zb_operand_build(n, "matmul", (zb_operand[]){q, k}, 2, &attr, 1);
  scores[SCORES_RAW] = scores[SCORES_CAPPED] = zb_operand_apply2(n, "mul", product, scalar(n, a, a->scale));
  if (a->softcap != 0) {
    zb_operand share = zb_operand_apply2(n, "mul", scores[SCORES_RAW], scalar(n, a, 1 / a->softcap));
    scores[SCORES_CAPPED] = zb_operand_apply2(n, "mul", zb_operand_apply1(n, "tanh", share), scalar(n, a, a->softcap));
  }
  zb_operand bias = bias_of(n, a);
  scores[SCORES_MASKED] = bias ? sum_of(n, scores[SCORES_CAPPED], bias) : scores[SCORES_CAPPED];
  scores[SCORES_SOFTMAX] = shares_of(n, a, scores[SCORES_MASKED], bias);
  zb_operand out = zb_operand_build(n, "matmul", (zb_operand[]){scores[SCORES_SOFTMAX], v}, 2, NULL, 0);
  if (a->is_flat) out = zb_operand_reshape(n, zb_operand_transpose(n, out, swap), &flat);
  if (!zb_operand_give(n, OUTPUT_Y, out)) return ZB_FAIL;
  return give_optional(n, OUTPUT_SCORES, scores[a->mode]);
}

zb_result zb_onnx_attention(zb_import_node *n) {
  heads a;
  if (!read_attention(n, &a)) return n->im->failed = true, ZB_FAIL;
  const bool is_op = is_plain(n, &a);
  if (n->im->failed) return ZB_FAIL;
  return is_op ? build_plain(n, &a) : build_whole(n, &a);
}
