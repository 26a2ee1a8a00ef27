/* Normalizations by channels: see channels.h. */
#include "ir/import/channels.h"

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

/* ---- Groups ---- */

zb_operand zb_channels_group_norm(zb_import_node *n, zb_operand x, int64_t count, zb_operand scale, zb_operand bias,
                                  double epsilon) {
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
  zb_operand flat = zb_operand_reshape(n, x, &groups), mean = zb_operand_reduce(n, "reduce_mean", flat, &axis, 1, true);
  zb_operand centered = zb_operand_apply2(n, "sub", flat, mean);
  zb_operand variance =
      zb_operand_reduce(n, "reduce_mean", zb_operand_apply2(n, "mul", centered, centered), &axis, 1, true);
  variance = zb_operand_apply2(n, "add", variance, zb_operand_scalar(n, in.dtype, epsilon));
  zb_operand out = zb_operand_apply2(n, "mul", centered, zb_operand_apply1(n, "rsqrt", variance));
  return scaled(n, zb_operand_reshape(n, out, &in), scale, bias, &in);
}

/* ---- Batches ---- */

static zb_operand mean_of_channels(zb_import_node *n, zb_operand x, int rank) {
  int64_t axes[ZB_DIMS_MAX] = {0};
  for (int i = 2; i < rank; ++i)
    axes[i - 1] = i;
  return zb_operand_reduce(n, "reduce_mean", x, axes, rank - 1, false);
}

/* Sets new running statistics, where they are wanted. */
static void update(zb_import_node *n, zb_running *running, zb_operand now) {
  if (!running->wanted) return;
  zb_operand kept = zb_operand_apply2(n, "mul", running->old, zb_operand_scalar(n, ZB_F32, running->keeps));
  zb_operand taken = zb_operand_apply2(n, "mul", now, zb_operand_scalar(n, ZB_F32, running->takes));
  running->updated = zb_operand_apply2(n, "add", kept, taken);
}

/* What an evaluation takes in place of the statistics of the batch: buffers, if they are some. */
static zb_operand unless_kept(zb_import_node *n, zb_operand buffer, zb_operand of_batch, zb_operand of_buffer) {
  const zb_operand both[] = {of_batch, of_buffer};
  return buffer && buffer->role == ZB_ROLE_BUFFER ? zb_operand_build(n, "by_mode", both, 2, NULL, 0) : of_batch;
}

zb_operand zb_channels_batch_norm(zb_import_node *n, zb_batch_norm *norm) {
  zb_shape in;
  zb_operand x = norm->x, mean = norm->mean.first, variance = norm->variance.first, centered = NULL;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (in.rank < 2) return refuse_rank(n, in.rank);
  if (mean) centered = zb_operand_apply2(n, "sub", x, by_channel(n, mean, &in));
  if (norm->trains) {
    zb_operand own = mean_of_channels(n, x, in.rank);
    zb_operand beside = zb_operand_apply2(n, "sub", x, by_channel(n, own, &in));
    zb_operand square = mean_of_channels(n, zb_operand_apply2(n, "mul", beside, beside), in.rank);
    centered = unless_kept(n, mean, beside, centered);
    variance = unless_kept(n, variance, square, variance);
    update(n, &norm->mean, own);
    update(n, &norm->variance, square);
  }
  zb_operand epsilon = zb_operand_scalar(n, ZB_F32, norm->epsilon);
  zb_operand factor = zb_operand_apply1(n, "rsqrt", zb_operand_apply2(n, "add", variance, epsilon));
  if (norm->scale) factor = zb_operand_apply2(n, "mul", factor, norm->scale);
  return scaled(n, zb_operand_apply2(n, "mul", centered, by_channel(n, factor, &in)), NULL, norm->bias, &in);
}
