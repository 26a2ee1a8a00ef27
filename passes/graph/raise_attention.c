/* Attention of zb-raise: matmul(softmax(matmul(q, k^T) * scale + mask), v) for [batch, heads, t, d] becomes one
 * zb.attention.
 *
 *   %s = matmul(%q, %k) {transpose_rhs}          %qt, %kt, %vt = transposes (0, 2, 1, 3): token-major
 *   %p = softmax(%s * scale + %mask)       ->    %o, %lse = attention(%qt, %kt, %vt, %mask?) {scale, causal}
 *   %o = matmul(%p, %v)                          transpose(%o) (0, 2, 1, 3)
 *
 * With matmul(dropout(%p), %v) it becomes one zb.attention_dropout, which drops the same.
 * The transposes meet those of the exporter and cancel, also through a rotary embedding (raise_hoist.c). Taken apart
 * are: the scale before or after the product, on q or on k; a mask that is added or selected by zb.where; key and value
 * heads repeated for groups of query heads; the guard against rows of NaN that PyTorch's exporter writes around the
 * softmax. Not raised: a mask that needs a gradient, probabilities with another reader (attention maps that are
 * returned), a computed mask that hides by a large finite number: a row that it hides whole sees every key alike,
 * and lse, of the size of that number, has no room for how many those are. With the guard such a mask was boolean: the
 * exporter writes the least float for what PyTorch takes for -infinity, and PyTorch's row is then zero, as that of
 * zb.attention. */

#include "passes/graph/raise_match.h"

enum { DEPTH_MAX = 8, AXES = 4 };
enum { BATCH, HEADS, ROWS, COLUMNS }; /* dimensions of heads-major tensors */

/* At or below this an added number hides a key: exp of it is 0 in f32 whatever the row's other scores. */
static const double hidden = -1e4;
/* From here on a number swallows the scores that it is added to. */
static const double swallows = 1e30;

typedef struct parts {
  zb_shape scores;       /* [batch, heads, tq, tk] */
  MlirOperation product; /* matmul(q, k) */
  double scale;
  MlirValue mask;        /* added, or null */
  MlirOperation boolean; /* the zb.where that makes it of a boolean one, or null */
  MlirOperation drop;    /* the zb.dropout of the probabilities, or null */
  bool guarded;          /* a row of NaN becomes zeros */
  bool causal;
} parts;

/* ---- Masks ---- */

static bool same_last_two(const zb_shape *a, const zb_shape *b) {
  return a->rank >= 2 && b->rank >= 2 && a->dims[a->rank - 1] == b->dims[b->rank - 1] &&
         a->dims[a->rank - 2] == b->dims[b->rank - 2];
}

/* The op that makes a value, through views that keep its last two dimensions. */
static MlirOperation behind_mask_views(MlirValue value) {
  for (int depth = 0; depth < DEPTH_MAX; ++depth) {
    MlirOperation op = zb_producer(value);
    zb_shape in, out;
    if (!zb_op_is(op, "zb.expand") && !zb_op_is(op, "zb.reshape")) return op;
    MlirValue x = mlirOperationGetOperand(op, 0);
    if (!zb_value_shape(x, &in) || !zb_value_shape(value, &out) || !same_last_two(&in, &out)) break;
    value = x;
  }
  return (MlirOperation){0};
}

/* A zb.triangle over [.., tq, tk] that is `lower` exactly where key j is visible to query i (j <= i + tk - tq). */
static bool causal_triangle(MlirValue value, const zb_shape *scores, double *lower, double *upper) {
  MlirOperation op = behind_mask_views(value);
  zb_shape shape;
  zb_op_view view;
  zb_op_view_storage storage;
  if (!zb_op_is(op, "zb.triangle") || !zb_value_shape(value, &shape) || !same_last_two(&shape, scores)) return false;
  if (!zb_op_view_get(op, &view, &storage)) return false;
  *lower = zb_attr_float(&view.attrs, "lower", 0);
  *upper = zb_attr_float(&view.attrs, "upper", 0);
  return zb_attr_int(&view.attrs, "diagonal", 0) == scores->dims[COLUMNS] - scores->dims[ROWS];
}

/* A condition that says which keys are seen (*when = true) or hidden (*when = false). */
static bool causal_condition(MlirValue condition, const zb_shape *scores, bool *when) {
  double lower, upper;
  if (!causal_triangle(condition, scores, &lower, &upper)) return false;
  *when = lower != 0;
  return (lower != 0) != (upper != 0);
}

static bool causal_addend(MlirValue mask, const zb_shape *scores) {
  double lower, upper;
  bool when;
  if (causal_triangle(mask, scores, &lower, &upper)) return lower == 0 && upper <= hidden;
  MlirOperation where = behind_mask_views(mask);
  if (!zb_op_is(where, "zb.where") || !causal_condition(mlirOperationGetOperand(where, 0), scores, &when)) return false;
  double seen, unseen;
  return zb_scalar_constant(mlirOperationGetOperand(where, when ? 1 : 2), &seen) && seen == 0 &&
         zb_scalar_constant(mlirOperationGetOperand(where, when ? 2 : 1), &unseen) && unseen <= hidden;
}

/* where(visible, 0, very negative) under the guard: what the exporter makes of a boolean mask. */
static bool boolean_mask(MlirValue mask, const parts *p) {
  double seen, unseen;
  MlirOperation where = zb_producer_named(mask, "zb.where");
  return p->guarded && !mlirOperationIsNull(where) && zb_scalar_constant(mlirOperationGetOperand(where, 1), &seen) &&
         seen == 0 && zb_scalar_constant(mlirOperationGetOperand(where, 2), &unseen) && unseen <= -swallows;
}

/* Whether a value is computed from such a number. */
static bool computed_with_least(MlirValue value, int depth) {
  double number;
  MlirOperation op = zb_producer(value);
  if (mlirOperationIsNull(op) || depth > DEPTH_MAX) return false;
  if (zb_scalar_constant(value, &number)) return isfinite(number) && fabs(number) >= swallows;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (computed_with_least(mlirOperationGetOperand(op, i), depth + 1)) return true;
  return false;
}

static bool add_mask(const zb_raise *r, MlirValue mask, parts *p) {
  zb_shape shape;
  if (p->scale != 1) return false; /* the mask would be scaled as well */
  if (causal_addend(mask, &p->scores)) {
    p->causal = true;
    return true;
  }
  if (!mlirValueIsNull(p->mask) || zb_raise_trainable(r, mask)) return false;
  if (!zb_value_shape(mask, &shape) || shape.dtype != p->scores.dtype || shape.rank > AXES) return false;
  bool boolean = boolean_mask(mask, p);
  if (!boolean && computed_with_least(mask, 0)) return false;
  if (boolean) p->boolean = zb_producer_named(mask, "zb.where");
  p->mask = mask;
  return true;
}

/* ---- Scores ---- */

/* scalar * x, x * scalar or x / scalar that nobody else reads: takes the number into *scale and gives x, else null. */
static MlirValue strip_scale(MlirValue value, double *scale) {
  MlirValue x;
  double number;
  if (zb_inner_with_scalar(value, "zb.mul", true, &x, &number))
    *scale *= number;
  else if (zb_inner_with_scalar(value, "zb.div", false, &x, &number) && number != 0)
    *scale /= number;
  else
    return (MlirValue){0};
  return zb_same_type(x, value) ? x : (MlirValue){0};
}

static bool peel(const zb_raise *r, MlirValue value, int depth, parts *p);

/* Sum of scores and a mask, in either order. */
static bool peel_sum(const zb_raise *r, MlirOperation sum, int depth, parts *p) {
  for (int side = 0; side < 2; ++side) {
    parts attempt = *p;
    MlirValue scores = mlirOperationGetOperand(sum, side), mask = mlirOperationGetOperand(sum, 1 - side);
    if (!zb_same_type(scores, mlirOperationGetResult(sum, 0))) continue;
    if (!add_mask(r, mask, &attempt) || !peel(r, scores, depth + 1, &attempt)) continue;
    *p = attempt;
    return true;
  }
  return false;
}

/* where(visible, scores, very negative), or the other way round. */
static bool peel_where(const zb_raise *r, MlirOperation where, int depth, parts *p) {
  bool when;
  double unseen;
  if (p->scale != 1 || !causal_condition(mlirOperationGetOperand(where, 0), &p->scores, &when)) return false;
  if (!zb_scalar_constant(mlirOperationGetOperand(where, when ? 2 : 1), &unseen) || unseen > hidden) return false;
  p->causal = true;
  return peel(r, mlirOperationGetOperand(where, when ? 1 : 2), depth + 1, p);
}

/* Takes scores apart, from the softmax to the product; as deep as a pattern (DEPTH_MAX). */
static bool peel(const zb_raise *r, MlirValue value, int depth, parts *p) {
  if (depth > DEPTH_MAX || !zb_value_used_once(value)) return false;
  MlirOperation op = zb_producer(value);
  if (zb_op_is(op, "zb.matmul")) {
    p->product = op;
    return true;
  }
  if (zb_op_is(op, "zb.add")) return peel_sum(r, op, depth, p);
  if (zb_op_is(op, "zb.where")) return peel_where(r, op, depth, p);
  MlirValue scaled = strip_scale(value, &p->scale);
  return !mlirValueIsNull(scaled) && peel(r, scaled, depth + 1, p);
}

/* ---- Operands ---- */

/* q, k or v: heads-major [batch, heads, t, d], or stored with the last two swapped. */
typedef struct operand {
  MlirValue value;
  bool swapped;
} operand;

static bool swaps_last_two(MlirOperation transpose) {
  int64_t p[ZB_DIMS_MAX];
  return zb_get_ints(transpose, "permutation", p) == AXES && p[0] == 0 && p[1] == 1 && p[2] == 3 && p[3] == 2;
}

/* repeat_kv: [b, kv, t, d] -> [b, kv, 1, t, d] -> [b, kv, groups, t, d] -> [b, kv * groups, t, d]. Gives the one with
 * 1, or null. */
static MlirValue repeated(MlirValue value) {
  zb_shape out, wide, narrow;
  MlirValue repeat = zb_inner_operand(value, "zb.reshape", 0), x = zb_inner_operand(repeat, "zb.expand", 0);
  if (mlirValueIsNull(x) || !zb_value_shape(value, &out) || !zb_value_shape(x, &narrow) ||
      !zb_value_shape(repeat, &wide))
    return (MlirValue){0};
  if (out.rank != AXES || wide.rank != AXES + 1 || narrow.rank != AXES + 1 || narrow.dims[2] != 1)
    return (MlirValue){0};
  bool same = wide.dims[0] == out.dims[0] && wide.dims[1] * wide.dims[2] == out.dims[1] &&
              wide.dims[3] == out.dims[2] && wide.dims[4] == out.dims[3];
  for (int i = 0; i < AXES + 1; ++i)
    same = same && (i == 2 || wide.dims[i] == narrow.dims[i]);
  return same ? x : (MlirValue){0};
}

/* Walks from an operand of a product to where it comes from. Scales go to *scale if it is not NULL. */
static void strip_operand(operand *o, double *scale) {
  for (int depth = 0; depth < DEPTH_MAX; ++depth) {
    MlirValue x = scale ? strip_scale(o->value, scale) : (MlirValue){0};
    MlirOperation transpose = zb_inner(o->value, "zb.transpose");
    if (!mlirValueIsNull(x)) {
      o->value = x;
    } else if (!mlirOperationIsNull(transpose) && swaps_last_two(transpose)) {
      o->value = mlirOperationGetOperand(transpose, 0);
      o->swapped = !o->swapped;
    } else {
      return;
    }
  }
}

/* [batch, heads, t, d] of an operand after stripping; false for another rank. */
static bool operand_shape(const operand *o, MlirValue value, zb_shape *out) {
  if (!zb_value_shape(value, out)) return false;
  if (out->rank == AXES + 1) { /* before repeat_kv */
    out->rank = AXES;
    out->dims[ROWS] = out->dims[ROWS + 1];
    out->dims[COLUMNS] = out->dims[COLUMNS + 1];
  }
  if (out->rank != AXES) return false;
  if (o->swapped) {
    int64_t rows = out->dims[ROWS];
    out->dims[ROWS] = out->dims[COLUMNS];
    out->dims[COLUMNS] = rows;
  }
  return true;
}

/* Key and value may come repeated over groups of heads: then *source is before the repetition, of rank 5 with a 1. */
static void strip_repetition(operand *o) {
  MlirValue source = o->swapped ? (MlirValue){0} : repeated(o->value);
  if (!mlirValueIsNull(source)) o->value = source;
}

static MlirValue token_major(zb_builder *b, const operand *o) {
  static const int64_t straight[] = {0, 2, 1, 3}, crossed[] = {0, 3, 1, 2};
  zb_shape shape;
  MlirValue x = o->value;
  zb_value_shape(x, &shape);
  if (shape.rank == AXES + 1) {
    MlirOperation made = zb_producer_named(x, "zb.reshape");
    MlirValue before = mlirOperationIsNull(made) ? (MlirValue){0} : mlirOperationGetOperand(made, 0);
    zb_shape direct;
    int64_t dims[] = {shape.dims[0], shape.dims[1], shape.dims[3], shape.dims[4]};
    bool is_unsqueeze = !mlirValueIsNull(before) && zb_value_shape(before, &direct) && direct.rank == AXES &&
                        direct.dims[0] == dims[0] && direct.dims[1] == dims[1] && direct.dims[2] == dims[2];
    x = is_unsqueeze ? before : zb_build_reshape(b, x, dims, AXES);
  }
  return b->failed ? x : zb_raise_transposed(b, x, o->swapped ? crossed : straight, AXES);
}

/* ---- The pattern ---- */

/* The softmax that makes the probabilities: directly, or behind where(is_nan(p), 0, p). */
static MlirOperation softmax_of(MlirValue probabilities, bool *guarded) {
  double zero;
  MlirOperation guard = zb_inner(probabilities, "zb.where");
  *guarded = !mlirOperationIsNull(guard);
  if (!*guarded) return zb_inner(probabilities, "zb.softmax");
  MlirValue p = mlirOperationGetOperand(guard, 2);
  MlirOperation is_nan = zb_inner(mlirOperationGetOperand(guard, 0), "zb.is_nan");
  if (mlirOperationIsNull(is_nan) || !mlirValueEqual(mlirOperationGetOperand(is_nan, 0), p)) return (MlirOperation){0};
  if (!zb_scalar_constant(mlirOperationGetOperand(guard, 1), &zero) || zero != 0 || zb_value_uses(p, 3) != 2)
    return (MlirOperation){0};
  return zb_producer_named(p, "zb.softmax");
}

static bool shapes_fit(const parts *p, const zb_shape *q, const zb_shape *k, const zb_shape *v) {
  const int64_t *s = p->scores.dims;
  if (q->dims[BATCH] != s[BATCH] || q->dims[HEADS] != s[HEADS] || q->dims[ROWS] != s[ROWS]) return false;
  if (k->dims[BATCH] != s[BATCH] || k->dims[ROWS] != s[COLUMNS] || k->dims[COLUMNS] != q->dims[COLUMNS]) return false;
  if (k->dims[HEADS] < 1 || s[HEADS] % k->dims[HEADS] != 0) return false;
  for (int i = 0; i < AXES; ++i)
    if (v->dims[i] != k->dims[i]) return false;
  return true;
}

/* The mask with -infinity where a boolean one hides. */
static MlirValue mask_of(zb_builder *b, const parts *p) {
  zb_shape shape;
  if (mlirOperationIsNull(p->boolean)) return p->mask;
  MlirValue in[3] = {mlirOperationGetOperand(p->boolean, 0), mlirOperationGetOperand(p->boolean, 1), {0}};
  (void)zb_value_shape(p->mask, &shape); /* add_mask asked */
  in[2] = zb_build_scalar(b, shape.dtype, -INFINITY);
  return b->failed ? p->mask : zb_build(b, "where", in, 3, NULL, 0);
}

static zb_raised build_attention(const zb_raise *r, const parts *p, const operand *q, const operand *k,
                                 const operand *v) {
  static const int64_t back[] = {0, 2, 1, 3};
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(r->root, r->root, &mark);
  MlirValue operands[5] = {token_major(&builder, q)};
  operands[1] = token_major(&builder, k);
  operands[2] = token_major(&builder, v);
  operands[3] = mask_of(&builder, p);
  zb_attr attrs[4] = {zb_float("scale", p->scale), zb_bool("causal", p->causal)};
  const bool drops = !mlirOperationIsNull(p->drop);
  if (drops) {
    operands[4] = mlirOperationGetOperand(p->drop, 1);
    attrs[2] = zb_float("rate", zb_get_float(p->drop, "rate", 0));
    attrs[3] = zb_int("op", zb_get_i64(p->drop, "op", 0));
  }
  if (builder.failed) return ZB_RAISED_FAILED;
  MlirOperation op = zb_build_op(&builder, drops ? "attention_dropout" : "attention", operands, drops ? 5 : 4, attrs,
                                 drops ? 4 : 2, -1);
  if (builder.failed) return ZB_RAISED_FAILED;
  return zb_raise_finish(&builder, r->root, zb_build_transpose(&builder, mlirOperationGetResult(op, 0), back, AXES));
}

zb_raised zb_raise_attention(const zb_raise *r) {
  parts p = {.scale = 1};
  zb_shape q_shape, k_shape, v_shape;
  if (!zb_op_is(r->root, "zb.matmul") || zb_get_flag(r->root, "transpose_lhs")) return ZB_RAISED_NOT;
  MlirValue probabilities = zb_raise_operand(r, 0);
  p.drop = zb_inner(probabilities, "zb.dropout");
  if (!mlirOperationIsNull(p.drop)) probabilities = mlirOperationGetOperand(p.drop, 0);
  MlirOperation softmax = softmax_of(probabilities, &p.guarded);
  if (mlirOperationIsNull(softmax)) return ZB_RAISED_NOT;
  if (!zb_value_shape(mlirOperationGetResult(softmax, 0), &p.scores) || p.scores.rank != AXES ||
      zb_get_i64(softmax, "axis", -1) != COLUMNS)
    return ZB_RAISED_NOT;
  if (!peel(r, mlirOperationGetOperand(softmax, 0), 0, &p)) return ZB_RAISED_NOT;
  operand q = {mlirOperationGetOperand(p.product, 0), zb_get_flag(p.product, "transpose_lhs")};
  operand k = {mlirOperationGetOperand(p.product, 1), !zb_get_flag(p.product, "transpose_rhs")};
  operand v = {zb_raise_operand(r, 1), zb_get_flag(r->root, "transpose_rhs")};
  strip_operand(&q, &p.scale);
  strip_operand(&k, &p.scale);
  strip_operand(&v, NULL);
  strip_repetition(&k);
  strip_repetition(&v);
  if (!operand_shape(&q, q.value, &q_shape) || !operand_shape(&k, k.value, &k_shape) ||
      !operand_shape(&v, v.value, &v_shape))
    return ZB_RAISED_NOT;
  if (!shapes_fit(&p, &q_shape, &k_shape, &v_shape)) return ZB_RAISED_NOT;
  return build_attention(r, &p, &q, &k, &v);
}
