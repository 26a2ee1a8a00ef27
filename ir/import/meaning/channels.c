/* Normalizations: over the last dimensions, by groups of channels, by channels with running statistics. Tests:
 * test/e2e/meaning.py, test/ir/import. */
#include "ir/import/meaning/meaning.h"

/* One number a channel, as [C, 1, ...], which broadcasts to a tensor of that shape. */
static zb_operand by_channel(zb_import_node *n, zb_operand numbers, const zb_shape *shape) {
  zb_shape column = {.rank = shape->rank - 1};
  for (int i = 0; i < column.rank; ++i)
    column.dims[i] = i ? 1 : shape->dims[1];
  return zb_operand_reshape(n, numbers, &column);
}

static zb_operand scaled(zb_import_node *n, zb_operand x, zb_operand scale, zb_operand bias, const zb_shape *shape) {
  if (scale) x = zb_operand_apply2(n, "mul", x, by_channel(n, scale, shape));
  if (bias) x = zb_operand_apply2(n, "add", x, by_channel(n, bias, shape));
  return x;
}

static zb_operand refuse_rank(zb_import_node *n, int rank) {
  zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, ...]", rank);
  return NULL;
}

/* x beside its mean, without what that was rounded by, too, which has no gradient: of numbers that lie close beside
 * each other, far from 0, the first difference has lost the digits that count. */
static zb_operand centered(zb_import_node *n, zb_operand x, const int64_t *axes, int count, zb_operand *mean) {
  *mean = zb_operand_reduce(n, "reduce_mean", x, axes, count, true);
  zb_operand beside = zb_operand_apply2(n, "sub", x, *mean);
  zb_operand rest = zb_operand_apply1(n, "detach", zb_operand_reduce(n, "reduce_mean", beside, axes, count, true));
  return zb_operand_apply2(n, "sub", beside, rest);
}

static zb_operand mean_of_squares(zb_import_node *n, zb_operand x, const int64_t *axes, int count) {
  return zb_operand_reduce(n, "reduce_mean", zb_operand_apply2(n, "mul", x, x), axes, count, true);
}

/* ---- The last dimensions ---- */

/* Scale or bias of the dimensions that are normalized. */
static zb_operand affine(zb_import_node *n, zb_operand numbers, const zb_shape *wanted) {
  zb_shape own;
  if (!zb_operand_shape(n, numbers, &own)) return NULL;
  const bool is_whole = own.rank != wanted->rank && zb_shape_elements(&own) == zb_shape_elements(wanted);
  return is_whole ? zb_operand_reshape(n, numbers, wanted) : zb_operand_expand(n, numbers, wanted);
}

bool zb_meaning_layer_norm(zb_import_node *n, const char *op, zb_operand x, zb_operand scale, zb_operand bias, int axis,
                           double epsilon, zb_operand out[3]) {
  zb_shape in;
  MlirValue values[3];
  if (!zb_operand_shape(n, x, &in)) return false;
  const zb_shape wanted = zb_subshape(&in, axis, in.rank);
  scale = scale ? affine(n, scale, &wanted) : zb_operand_filled(n, &wanted, zb_operand_scalar(n, in.dtype, 1));
  if (bias && !(bias = affine(n, bias, &wanted))) return false;
  const zb_operand operands[] = {x, scale, bias};
  for (int i = 0; i < 3 && !n->im->failed; ++i)
    values[i] = operands[i] ? zb_import_value_ir(n->im, operands[i]) : (MlirValue){NULL};
  if (!scale || n->im->failed || n->b->failed) return false;
  const zb_attr attrs[] = {zb_int("axis", axis), zb_float("epsilon", (float)epsilon)};
  MlirOperation made = zb_build_op(n->b, op, values, bias ? 3 : 2, attrs, 2, -1);
  if (mlirOperationIsNull(made)) return false;
  for (intptr_t i = 0; i < 3; ++i)
    out[i] = i < mlirOperationGetNumResults(made) ? zb_operand_computed(n, mlirOperationGetResult(made, i)) : NULL;
  return true;
}

/* ---- Groups ---- */

zb_operand zb_meaning_group_norm(zb_import_node *n, zb_operand x, int64_t count, zb_operand scale, zb_operand bias,
                                 bool by_group, double epsilon) {
  zb_shape in, groups;
  const int64_t axis = 2;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (in.rank < 2) return refuse_rank(n, in.rank);
  if (count < 1 || in.dims[1] % count) {
    zb_import_refuse(n, NULL, "%lld groups do not divide the %lld channels", (long long)count, (long long)in.dims[1]);
    return NULL;
  }
  groups = (zb_shape){.dtype = in.dtype, .rank = 3, .dims = {in.dims[0], count, 0}};
  groups.dims[2] = zb_shape_elements(&in) / (in.dims[0] * count);
  zb_operand mean, beside = centered(n, zb_operand_reshape(n, x, &groups), &axis, 1, &mean);
  zb_operand variance = zb_meaning_line(n, mean_of_squares(n, beside, &axis, 1), 1, epsilon);
  zb_operand out = zb_operand_apply2(n, "mul", beside, zb_operand_apply1(n, "rsqrt", variance));
  if (by_group) return zb_operand_reshape(n, scaled(n, out, scale, bias, &groups), &in);
  return scaled(n, zb_operand_reshape(n, out, &in), scale, bias, &in);
}

/* ---- Batches ---- */

/* Sets new running statistics, where they are wanted. */
static void update(zb_import_node *n, zb_running *running, zb_operand now) {
  running->of_batch = now;
  if (!running->wanted) return;
  zb_operand kept = running->keeps == 0 ? NULL : zb_meaning_line(n, running->old, running->keeps, 0);
  running->updated = zb_meaning_line(n, now, running->takes, 0);
  if (kept) running->updated = zb_operand_apply2(n, "add", kept, running->updated);
}

/* What an evaluation takes in place of the statistics of the batch: buffers, if they are some. */
static zb_operand unless_kept(zb_import_node *n, zb_operand buffer, zb_operand of_batch, zb_operand of_buffer) {
  const zb_operand both[] = {of_batch, of_buffer};
  return buffer && buffer->role == ZB_ROLE_BUFFER ? zb_operand_build(n, "by_mode", both, 2, NULL, 0) : of_batch;
}

zb_operand zb_meaning_batch_norm(zb_import_node *n, zb_batch_norm *norm) {
  zb_shape in;
  zb_operand x = norm->x, mean = norm->mean.first, variance = norm->variance.first, out = NULL;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (in.rank < 2) return refuse_rank(n, in.rank);
  if (mean) out = zb_operand_apply2(n, "sub", x, by_channel(n, mean, &in));
  if (norm->trains) {
    const zb_shape channels = {.rank = 1, .dims = {in.dims[1]}};
    int64_t axes[ZB_DIMS_MAX] = {0};
    for (int i = 2; i < in.rank; ++i)
      axes[i - 1] = i;
    zb_operand own, beside = centered(n, x, axes, in.rank - 1, &own);
    zb_operand square = zb_operand_reshape(n, mean_of_squares(n, beside, axes, in.rank - 1), &channels);
    out = unless_kept(n, mean, beside, out);
    variance = unless_kept(n, variance, square, variance);
    update(n, &norm->mean, zb_operand_reshape(n, own, &channels));
    update(n, &norm->variance, square);
  }
  zb_operand factor = zb_operand_apply1(n, "rsqrt", zb_meaning_line(n, variance, 1, norm->epsilon));
  if (norm->scale) factor = zb_operand_apply2(n, "mul", factor, norm->scale);
  return scaled(n, zb_operand_apply2(n, "mul", out, by_channel(n, factor, &in)), NULL, norm->bias, &in);
}
