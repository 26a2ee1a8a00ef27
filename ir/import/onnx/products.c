/* Matrix products, Einsum in its product forms, Attention. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A vector on the left is a row, on the right a column; the added dimension is taken out of the result. */
zb_result zb_onnx_matmul(zb_import_node *n) {
  zb_shape a, b, out;
  zb_known *folded = n->folds ? zb_import_fold_matmul(n, zb_import_known(n, 0), zb_import_known(n, 1)) : NULL;
  if (folded || n->im->failed) return zb_import_give_known(n, 0, folded);
  if (!zb_import_shape(n, 0, &a) || !zb_import_shape(n, 1, &b)) return ZB_FAIL;
  if (a.rank == 0 || b.rank == 0) return zb_import_refuse(n, NULL, "an operand is a scalar");
  MlirValue lhs = zb_import_ir(n, 0), rhs = zb_import_ir(n, 1);
  if (a.rank == 1) lhs = zb_import_reshaped(n->b, lhs, (int64_t[]){1, a.dims[0]}, 2);
  if (b.rank == 1) rhs = zb_import_reshaped(n->b, rhs, (int64_t[]){b.dims[0], 1}, 2);
  MlirValue product = zb_build2(n->b, "matmul", lhs, rhs);
  if ((a.rank > 1 && b.rank > 1) || n->b->failed) return zb_import_give(n, 0, product);
  if (!zb_import_ir_shape(n, product, &out)) return ZB_FAIL;
  if (b.rank == 1) --out.rank;
  if (a.rank == 1) {
    int row = out.rank - (b.rank == 1 ? 1 : 2);
    for (int i = row; i + 1 < out.rank; ++i)
      out.dims[i] = out.dims[i + 1];
    --out.rank;
  }
  return zb_import_give(n, 0, zb_build_reshape(n->b, product, out.dims, out.rank));
}

static MlirValue scaled(zb_builder *b, MlirValue x, double factor) {
  return factor == 1 ? x : zb_build2(b, "mul", x, zb_build_scalar(b, ZB_F32, factor));
}

zb_result zb_onnx_gemm(zb_import_node *n) {
  zb_attr attrs[] = {zb_bool("transpose_lhs", zb_onnx_int(n, "transA", 0) != 0),
                     zb_bool("transpose_rhs", zb_onnx_int(n, "transB", 0) != 0)};
  double alpha = zb_onnx_float(n, "alpha", 1), beta = zb_onnx_float(n, "beta", 1);
  MlirValue in[2] = {zb_import_ir(n, 0), zb_import_ir(n, 1)};
  if (n->im->failed) return ZB_FAIL;
  MlirValue out = scaled(n->b, zb_build(n->b, "matmul", in, 2, attrs, 2), alpha);
  if (zb_import_has(n, 2) && beta != 0) out = zb_build2(n->b, "add", out, scaled(n->b, zb_import_ir(n, 2), beta));
  return zb_import_give(n, 0, out);
}

/* ---- Einsum: two operands, each letter once in each of them ---- */

typedef struct einsum {
  char term[3][ZB_DIMS_MAX + 1]; /* lhs, rhs, out */
  int64_t size[128];             /* by letter */
} einsum;

static zb_result einsum_fail(zb_import_node *n, const char *equation) {
  return zb_import_refuse(n, "write it as permute, reshape and matmul",
                          "equation '%s' is not supported: two operands, one letter a dimension, no "
                          "repeated letters and no '...' are",
                          equation);
}

static bool parse_equation(const char *text, einsum *e) {
  int part = 0, length = 0;
  for (const char *c = text; *c; ++c) {
    if (*c == ' ') continue;
    bool comma = *c == ',', arrow = c[0] == '-' && c[1] == '>';
    if (comma || arrow) {
      if (part != (comma ? 0 : 1)) return false;
      e->term[part++][length] = '\0';
      length = 0;
      c += arrow;
      continue;
    }
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!letter || length == ZB_DIMS_MAX || memchr(e->term[part], *c, (size_t)length)) return false;
    e->term[part][length++] = *c;
  }
  e->term[part][length] = '\0';
  return part == 2;
}

/* Letters of `from` that are in / not in the others, in order of `order`. */
static int pick(char *out, const char *order, const char *with, const char *without) {
  int count = 0;
  for (const char *c = order; *c; ++c) {
    if (strchr(with, *c) && !strchr(without, *c)) out[count++] = *c;
  }
  out[count] = '\0';
  return count;
}

static int64_t product_of(const einsum *e, const char *letters) {
  int64_t product = 1;
  for (const char *c = letters; *c; ++c)
    product *= e->size[(int)*c];
  return product;
}

/* x with dimensions `have` -> [batch..., rows, columns]. */
static MlirValue arrange(zb_import_node *n, const einsum *e, MlirValue x, const char *have, const char *batch,
                         const char *rows, const char *columns) {
  char order[3 * ZB_DIMS_MAX + 1];
  int64_t permutation[ZB_DIMS_MAX], dims[ZB_DIMS_MAX];
  int rank = 0;
  snprintf(order, sizeof order, "%s%s%s", batch, rows, columns);
  for (int i = 0; order[i]; ++i)
    permutation[i] = strchr(have, order[i]) - have;
  for (const char *c = batch; *c; ++c)
    dims[rank++] = e->size[(int)*c];
  dims[rank++] = product_of(e, rows);
  dims[rank++] = product_of(e, columns);
  x = zb_import_transposed(n->b, x, permutation);
  return zb_import_reshaped(n->b, x, dims, rank);
}

zb_result zb_onnx_einsum(zb_import_node *n) {
  char equation[128], batch[ZB_DIMS_MAX + 1], left[ZB_DIMS_MAX + 1], right[ZB_DIMS_MAX + 1], inner[ZB_DIMS_MAX + 1],
      flat[32] = "";
  einsum e = {{{0}}, {0}};
  zb_onnx_string(n, "equation", "", equation, sizeof equation);
  if (n->input_count != 2 || !parse_equation(equation, &e)) return einsum_fail(n, equation);
  for (int k = 0; k < 2; ++k) {
    zb_shape shape;
    if (!zb_import_shape(n, k, &shape)) return ZB_FAIL;
    if (shape.rank != (int)strlen(e.term[k]))
      return zb_import_refuse(n, NULL, "operand %d has %d dimensions, not those of '%s'", k, shape.rank, equation);
    for (int i = 0; i < shape.rank; ++i) {
      int64_t *size = &e.size[(int)e.term[k][i]];
      if (*size && *size != shape.dims[i])
        return zb_import_refuse(n, NULL, "'%c' is %" PRId64 " and %" PRId64, e.term[k][i], *size, shape.dims[i]);
      *size = shape.dims[i];
    }
  }
  char shared[ZB_DIMS_MAX + 1];
  pick(shared, e.term[0], e.term[1], "");
  pick(batch, e.term[2], shared, "");
  pick(inner, shared, shared, e.term[2]);
  pick(left, e.term[0], e.term[2], e.term[1]);
  pick(right, e.term[1], e.term[2], e.term[0]);
  snprintf(flat, sizeof flat, "%s%s%s", batch, left, right);
  bool complete = strlen(batch) + strlen(left) + strlen(inner) == strlen(e.term[0]) &&
                  strlen(batch) + strlen(right) + strlen(inner) == strlen(e.term[1]) &&
                  strlen(flat) == strlen(e.term[2]) && strlen(batch) + 2 <= ZB_DIMS_MAX;
  if (!complete) return einsum_fail(n, equation);
  MlirValue in[2] = {arrange(n, &e, zb_import_ir(n, 0), e.term[0], batch, left, inner),
                     arrange(n, &e, zb_import_ir(n, 1), e.term[1], batch, inner, right)};
  MlirValue product = zb_build(n->b, "matmul", in, 2, NULL, 0);
  int64_t dims[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  int rank = (int)strlen(flat);
  for (int i = 0; i < rank; ++i)
    dims[i] = e.size[(int)flat[i]], permutation[i] = strchr(flat, e.term[2][i]) - flat;
  if (n->b->failed) return ZB_FAIL;
  return zb_import_give(n, 0, zb_import_transposed(n->b, zb_build_reshape(n->b, product, dims, rank), permutation));
}

/* ---- Attention (opset 23), where it says what zb.attention does ---- */

/* [b, h, t, d] <-> [b, t, h, d]. */
static const int64_t swap[] = {0, 2, 1, 3};

/* [b, h, t, d] or [b, t, h*d] -> [b, t, h, d]. */
static MlirValue token_major(zb_import_node *n, int input, const char *heads_name) {
  zb_shape shape;
  if (!zb_import_shape(n, input, &shape)) return (MlirValue){NULL};
  if (shape.rank == 4) return zb_import_transposed(n->b, zb_import_ir(n, input), swap);
  int64_t heads = zb_onnx_int(n, heads_name, 0);
  if (shape.rank != 3 || heads < 1 || shape.dims[2] % heads != 0) {
    zb_import_refuse(n, NULL, "input %d: expected [batch, heads, tokens, size], or [batch, tokens, heads*size] with %s",
                     input, heads_name);
    n->b->failed = true;
    return (MlirValue){NULL};
  }
  int64_t dims[] = {shape.dims[0], shape.dims[1], heads, shape.dims[2] / heads};
  return zb_import_reshaped(n->b, zb_import_ir(n, input), dims, 4);
}

/* A bool mask says what is visible; zb adds numbers. */
static MlirValue additive_mask(zb_import_node *n) {
  zb_shape shape;
  if (!zb_import_shape(n, 3, &shape)) return (MlirValue){NULL};
  MlirValue mask = zb_import_ir(n, 3);
  if (shape.dtype != ZB_I1) return mask;
  MlirValue in[3] = {mask, zb_build_scalar(n->b, ZB_F32, 0), zb_build_scalar(n->b, ZB_F32, -INFINITY)};
  return zb_build(n->b, "where", in, 3, NULL, 0);
}

zb_result zb_onnx_attention(zb_import_node *n) {
  zb_shape given, q, k;
  for (int i = 4; i < n->input_count; ++i) {
    if (zb_import_has(n, i))
      return zb_import_refuse(n, "export for training, without a cache", "past keys and values are not supported");
  }
  if (zb_import_wants(n, 1) || zb_import_wants(n, 2) || zb_import_wants(n, 3))
    return zb_import_refuse(n, "export for training, without a cache", "only the first output is supported");
  if (zb_onnx_float(n, "softcap", 0) != 0) return zb_import_refuse(n, NULL, "softcap is not supported");
  int64_t precision = zb_onnx_int(n, "softmax_precision", 1);
  if (precision != 1)
    return zb_import_refuse(n, "1 (float32)", "softmax_precision %" PRId64 " is not supported", precision);
  bool causal = zb_onnx_int(n, "is_causal", 0) != 0;
  MlirValue in[4] = {
      token_major(n, 0, "q_num_heads"), token_major(n, 1, "kv_num_heads"), token_major(n, 2, "kv_num_heads"), {NULL}};
  int count = zb_import_has(n, 3) ? 4 : 3;
  if (count == 4) in[3] = additive_mask(n);
  if (n->im->failed || n->b->failed || !zb_import_ir_shape(n, in[0], &q) || !zb_import_ir_shape(n, in[1], &k))
    return ZB_FAIL;
  if (causal && q.dims[1] != k.dims[1])
    return zb_import_refuse(n, "give the mask as a tensor", "is_causal with %" PRId64 " queries and %" PRId64 " keys",
                            q.dims[1], k.dims[1]);
  zb_attr attrs[] = {zb_float("scale", zb_onnx_float(n, "scale", 1.0 / sqrt((double)q.dims[3]))),
                     zb_bool("causal", causal)};
  MlirOperation made = zb_build_op(n->b, "attention", in, count, attrs, 2, 2);
  if (mlirOperationIsNull(made) || !zb_import_shape(n, 0, &given)) return ZB_FAIL;
  MlirValue out = mlirOperationGetResult(made, 0);
  if (given.rank == 4) return zb_import_give(n, 0, zb_import_transposed(n->b, out, swap));
  zb_shape shape;
  if (!zb_import_ir_shape(n, out, &shape)) return ZB_FAIL;
  return zb_import_give(
      n, 0, zb_build_reshape(n->b, out, (int64_t[]){shape.dims[0], shape.dims[1], shape.dims[2] * shape.dims[3]}, 3));
}
