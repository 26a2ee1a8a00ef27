/* Placement of products and attention (ir/placement.h): by columns, by rows, by heads.
 *
 * Of a product x W whose x is replicated the columns of W are cut, and so is the result; where x has come cut along the
 * columns of x, W is cut along its rows, and the result is a sum over shards. A bias is added behind that sum, once.
 *
 * Tests: test/passes/shard.mlir, test/passes/shard_test.c. */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

/* ---- matmul ---- */

enum { LHS, RHS, BIAS };

/* Dimensions of the operands and of the result. */
typedef struct product {
  int m, k, rhs_k, n, out_m, out_n;
  bool bias;
} product;

static product product_of(const zb_placing *p) {
  const zb_op_view *op = p->op;
  const int l = op->operands[LHS].rank, r = op->operands[RHS].rank, out = p->results[0].rank;
  const bool tl = zb_attr_bool(&op->attrs, "transpose_lhs", false),
             tr = zb_attr_bool(&op->attrs, "transpose_rhs", false);
  return (product){l - (tl ? 1 : 2),
                   l - (tl ? 2 : 1),
                   r - (tr ? 1 : 2),
                   r - (tr ? 2 : 1),
                   out - 2,
                   out - 1,
                   op->operand_count > BIAS && op->operands[BIAS].rank >= 0};
}

/* The bias is added to the sum, not to each part of it. */
static void build_with_bias(zb_shard_build *s) {
  zb_builder *b = s->b;
  MlirValue part = zb_build(b, "matmul", s->operands, 2, s->op->attrs.items, s->op->attrs.count);
  MlirValue sum = zb_build_all_reduce(b, part, s->placing->shards, "sum");
  s->results[0] = zb_build2(b, "add", sum, s->operands[BIAS]);
}

/* Each shard adds it to the tokens that it has of the sum. */
static void build_with_bias_by_tokens(zb_shard_build *s) {
  zb_builder *b = s->b;
  MlirValue part = zb_build(b, "matmul", s->operands, 2, s->op->attrs.items, s->op->attrs.count);
  MlirValue sum = zb_build_scatter(b, part, &s->placing->results[0], &s->placing->out[0], s->placing->shards);
  s->results[0] = zb_build2(b, "add", sum, s->operands[BIAS]);
}

static void cut_inner(zb_placing *p, const product *d, zb_place cut) {
  p->operands[LHS] = p->operands[RHS] = cut;
  p->operands[LHS].dim = d->k;
  p->operands[RHS].dim = d->rhs_k;
  if (d->bias && p->sequence) {
    p->build = build_with_bias_by_tokens;
    p->out[0] = *p->sequence;
  } else if (d->bias) {
    p->build = build_with_bias;
    p->whole = 1u << BIAS;
  } else {
    p->out[0].spread = ZB_PARTIAL;
  }
}

static void cut_columns(zb_placing *p, const product *d, zb_place cut) {
  cut.dim = d->n;
  p->operands[RHS] = p->out[0] = cut;
  p->out[0].dim = d->out_n;
  if (!d->bias) return;
  p->operands[BIAS] = cut;
  p->operands[BIAS].dim = 0;
}

/* A dimension of both operands before the last two, where the other one has it. */
static void cut_batch(zb_placing *p, int from, int to, zb_place cut) {
  const zb_shape *other = &p->op->operands[to];
  const int behind = p->op->operands[from].rank - cut.dim, dim = other->rank - behind;
  p->operands[from] = p->out[0] = cut;
  p->out[0].dim = p->results[0].rank - behind;
  if (dim < 0 || other->dims[dim] == 1) return;
  p->operands[to] = cut;
  p->operands[to].dim = dim;
}

/* Tokens are put together for a product of which each shard computes columns, or rows. */
static bool needs_all_tokens(zb_placing *p, const product *d, const zb_place *r) {
  zb_place columns;
  if (r->spread != ZB_OPEN) return zb_is_cut(r);
  return zb_place_parameter(p, d->n, p->op->operands[RHS].dims[d->n], &columns);
}

void zb_place_matmul(zb_placing *p) {
  const product d = product_of(p);
  const zb_shape *lhs = &p->op->operands[LHS], *rhs = &p->op->operands[RHS];
  zb_place l = p->operands[LHS], r = p->operands[RHS];
  zb_place_whole(p);
  if (zb_is_cut(&l) && l.sequence && needs_all_tokens(p, &d, &r)) l = p->operands[LHS];
  if (zb_is_cut(&l) && l.padded) l = p->operands[LHS];
  if (zb_is_cut(&r) && r.padded && r.dim != d.n) r = p->operands[RHS];
  if (zb_is_cut(&l) && l.dim == d.k) {
    cut_inner(p, &d, l);
  } else if (zb_is_cut(&l) && l.dim == d.m) {
    p->operands[LHS] = p->out[0] = l;
    p->out[0].dim = d.out_m;
  } else if (zb_is_cut(&l)) {
    cut_batch(p, LHS, RHS, l);
  } else if (zb_is_cut(&r) && r.dim == d.rhs_k) {
    cut_inner(p, &d, r);
  } else if (zb_is_cut(&r) && r.dim == d.n) {
    cut_columns(p, &d, r);
  } else if (zb_is_cut(&r)) {
    cut_batch(p, RHS, LHS, r);
  } else if (r.spread == ZB_OPEN && l.spread != ZB_OPEN && zb_place_parameter(p, d.n, rhs->dims[d.n], &r)) {
    cut_columns(p, &d, r);
  } else if (l.spread == ZB_OPEN && r.spread != ZB_OPEN && zb_place_parameter(p, d.m, lhs->dims[d.m], &l) &&
             !l.padded) {
    p->operands[LHS] = p->out[0] = l;
    p->out[0].dim = d.out_m;
  }
}

/* ---- attention ---- */

enum { Q, K, V, MASK, BATCH = 0, HEADS = 2, LSE_HEADS = 1 };

/* Fewer key/value heads than shards: each shard takes the head that its query heads read. */
static void build_one_head(zb_shard_build *s) {
  zb_builder *b = s->b;
  const int64_t heads = s->op->operands[K].dims[HEADS];
  const zb_attr axis = zb_int("axis", HEADS);
  MlirValue scaled = zb_build2(b, "mul", s->coordinate, zb_build_scalar(b, ZB_I64, (double)heads));
  MlirValue head = zb_build2(b, "div", scaled, zb_build_scalar(b, ZB_I64, (double)s->placing->shards));
  MlirValue operands[ZB_VIEW_OPERANDS];
  for (int k = 0; k < s->op->operand_count; ++k)
    operands[k] = s->operands[k];
  for (int k = K; k <= V; ++k)
    operands[k] = zb_build(b, "gather", (MlirValue[]){s->operands[k], head}, 2, &axis, 1);
  MlirOperation op = zb_build_op(b, s->op->def->name, operands, s->op->operand_count, s->op->attrs.items,
                                 s->op->attrs.count, s->op->result_count);
  for (int r = 0; r < s->op->result_count && !b->failed; ++r)
    s->results[r] = mlirOperationGetResult(op, r);
}

static void cut_mask(zb_placing *p, zb_place cut) {
  const zb_shape *mask = &p->op->operands[MASK];
  const int dim = cut.dim == HEADS ? mask->rank - 3 : mask->rank - 4;
  if (mask->rank < 0 || dim < 0 || mask->dims[dim] == 1) return;
  p->operands[MASK] = cut;
  p->operands[MASK].dim = dim;
}

void zb_place_attention(zb_placing *p) {
  const int64_t heads = p->op->operands[Q].dims[HEADS], pairs = p->op->operands[K].dims[HEADS];
  zb_place cut = {.spread = ZB_REPLICATED};
  for (int k = V; k >= Q; --k)
    if (zb_is_cut(&p->operands[k])) cut = p->operands[k];
  zb_place_whole(p);
  if (zb_is_cut(&cut) && cut.dim > HEADS && heads % p->shards != 0) p->undivided = heads;
  if (!zb_is_cut(&cut) || cut.padded || cut.segment_count || (cut.dim != BATCH && cut.dim != HEADS)) return;
  const bool few = cut.dim == HEADS && pairs % p->shards != 0;
  if (cut.dim == HEADS && (heads % p->shards != 0 || (few && p->shards % pairs != 0))) {
    p->undivided = heads % p->shards != 0 ? heads : pairs;
    return;
  }
  p->operands[Q] = cut;
  if (few)
    p->build = build_one_head;
  else
    p->operands[K] = p->operands[V] = cut;
  cut_mask(p, cut);
  p->out[0] = p->out[1] = cut;
  if (cut.dim == HEADS) p->out[1].dim = LSE_HEADS;
}
