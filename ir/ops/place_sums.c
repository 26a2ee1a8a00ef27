/* Placement of reductions and of the loss (ir/placement.h).
 *
 * Tests: test/passes/shard.mlir, test/passes/shard_test.c. */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <math.h>
#include <string.h>

/* ---- Reductions ---- */

static bool is_mean(const zb_op_view *op) { return strcmp(op->def->name, "reduce_mean") == 0; }

/* The mean of all is the sum of the means of equal parts, each divided by their number. */
static void build_mean(zb_shard_build *s) {
  MlirValue mean = zb_build(s->b, "reduce_mean", s->operands, 1, s->op->attrs.items, s->op->attrs.count);
  MlirValue share = zb_build_scalar(s->b, s->op->operands[0].dtype, 1.0 / (double)s->placing->shards);
  s->results[0] = zb_build2(s->b, "mul", mean, share);
}

void zb_place_reduce(zb_placing *p) {
  const zb_attr *axes = zb_attr_ints(p->op, "axes");
  const bool keeps = zb_attr_bool(&p->op->attrs, "keepdims", false), sums = p->op->def->traits & ZB_TRAIT_LINEAR;
  const zb_place cut = p->operands[0];
  bool reduced = axes->count == 0;
  int before = 0;
  if (cut.spread == ZB_PARTIAL && sums) {
    p->out[0].spread = ZB_PARTIAL;
    return;
  }
  zb_place_whole(p);
  if (!zb_is_cut(&cut) || cut.padded) return;
  for (int i = 0; i < axes->count; ++i) {
    reduced |= axes->ints[i] == cut.dim;
    before += axes->ints[i] < cut.dim;
  }
  if (reduced && !sums) return;
  p->operands[0] = cut;
  if (reduced) {
    p->out[0].spread = ZB_PARTIAL;
    if (is_mean(p->op)) p->build = build_mean;
    return;
  }
  p->out[0] = cut;
  if (!keeps) p->out[0].dim -= before;
}

/* ---- cross_entropy ---- */

/* Columns behind the last class are -infinity. */
static MlirValue mask_padding(const zb_shard_build *s, MlirValue logits, int64_t part) {
  zb_builder *b = s->b;
  const zb_shape *whole = &s->op->operands[0], row = {.dtype = ZB_I64, .rank = 1, .dims = {part}};
  MlirValue number = zb_build2(b, "add", zb_build_iota(b, &row, 0, 0, 1), zb_build_first(s, part));
  MlirValue classes = zb_build_scalar(b, ZB_I64, (double)whole->dims[whole->rank - 1]);
  MlirValue choice[] = {zb_build2(b, "less", number, classes), logits, zb_build_scalar(b, whole->dtype, -INFINITY)};
  return zb_build(b, "where", choice, 3, NULL, 0);
}

/* Rows that do not count are zeros; *count gets the number of the others, which the mean divides by. */
static MlirValue reduce_rows(const zb_shard_build *s, MlirValue rows, MlirValue valid, const zb_shape *shape) {
  zb_builder *b = s->b;
  const char *reduction = zb_attr_string(&s->op->attrs, "reduction", "");
  const zb_attr all = {.name = "axes", .kind = ZB_ATTR_INTS};
  if (strcmp(reduction, "none") == 0) return rows;
  MlirValue sum = zb_build(b, "reduce_sum", &rows, 1, &all, 1);
  if (strcmp(reduction, "sum") == 0) return sum;
  MlirValue count = zb_build_scalar(b, shape->dtype, zb_elements(shape));
  if (!mlirValueIsNull(valid)) count = ZB_BUILD(b, "reduce_sum", zb_build_cast(b, valid, shape->dtype), all);
  return zb_build2(b, "div", sum, count);
}

/* What fails where a label is no class: zb.gather refuses an index behind the end, and takes negative ones. */
static MlirValue checked_labels(zb_builder *b, MlirValue labels, zb_dtype dtype, int64_t classes) {
  MlirValue zero = zb_build_scalar(b, dtype, 0);
  MlirValue choice[] = {zb_build2(b, "less", labels, zero), zb_build_scalar(b, dtype, (double)classes), labels};
  return zb_build(b, "where", choice, 3, NULL, 0);
}

/* log(sum(exp(x))) - x[label] over parts of x: the greatest over all shards, the sum of exp, and the logit of the
 * label, which one shard has. Nothing is differentiated through the greatest: it takes from one term what it adds to
 * the other. */
static void build_cross_entropy(zb_shard_build *s) {
  zb_builder *b = s->b;
  const zb_shape *logits = &s->op->operands[0], *labels = &s->op->operands[1];
  const int64_t shards = s->placing->shards, last = logits->rank - 1, classes = logits->dims[last];
  const int64_t part = zb_part_shape(logits, &s->placing->operands[0], shards).dims[last];
  const zb_attr *ignored = zb_attr_find(&s->op->attrs, "ignore_index");
  const zb_attr axis = zb_int("axis", last), axes = zb_ints("axes", &last, 1);
  zb_shape rows = zb_subshape(logits, 0, (int)last), column = rows;
  MlirValue label = s->operands[1], valid = {NULL}, inside;
  rows.dtype = column.dtype = zb_dtype_wide(logits->dtype);
  column.dims[column.rank++] = 1;
  MlirValue x = zb_build_cast(
      b, s->placing->operands[0].padded ? mask_padding(s, s->operands[0], part) : s->operands[0], rows.dtype);
  MlirValue greatest =
      zb_build_all_reduce(b, ZB_BUILD(b, "reduce_max", x, axes, zb_bool("keepdims", true)), shards, "max");
  MlirValue moved = zb_build2(b, "sub", x, greatest);
  MlirValue sum = ZB_BUILD(b, "reduce_sum", zb_build1(b, "exp", moved), axes, zb_bool("keepdims", false));
  MlirValue logarithm = zb_build1(b, "log", zb_build_all_reduce(b, sum, shards, "sum"));
  label = checked_labels(b, label, labels->dtype, classes);
  if (ignored) {
    valid = zb_build1(b, "not",
                      zb_build2(b, "equal", s->operands[1], zb_build_scalar(b, labels->dtype, (double)ignored->i)));
    label = zb_build_where(b, valid, label, zb_build_scalar(b, labels->dtype, 0));
  }
  MlirValue local = zb_build_local_index(s, label, classes, part, &inside);
  MlirValue picked = zb_build(b, "gather_elements",
                              (MlirValue[]){moved, zb_build_reshape(b, local, column.dims, column.rank)}, 2, &axis, 1);
  MlirValue zero = zb_build_scalar(b, rows.dtype, 0);
  MlirValue own = zb_build_where(b, inside, zb_build_reshape(b, picked, rows.dims, rows.rank), zero);
  MlirValue loss = zb_build2(b, "sub", logarithm, zb_build_all_reduce(b, own, shards, "sum"));
  if (ignored) loss = zb_build_where(b, valid, loss, zero);
  s->results[0] = reduce_rows(s, loss, valid, &rows);
  s->results[1] = zb_build2(b, "add", logarithm, zb_build_reshape(b, greatest, rows.dims, rows.rank));
}

void zb_place_cross_entropy(zb_placing *p) {
  const zb_place cut = p->operands[0];
  const int last = p->op->operands[0].rank - 1;
  zb_place_whole(p);
  if (!zb_is_cut(&cut) || cut.dim != last || cut.segment_count || p->op->operands[1].rank == 0) return;
  p->operands[0] = cut;
  p->build = build_cross_entropy;
}
