/* Rotary embedding and its gradient: how the threads lie over the rows. The device side is rotary.cu. */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

enum { X, COS, SIN, OPERANDS };

static bool aligned(const void *data) { return (uintptr_t)data % 16 == 0; }

/* Whether groups of n elements lie together in both halves of the rows of operand i. */
static bool halves_in_groups(const zb_kernel_call *call, int i, const zb_rotary_args *args, const zb_cuda_dims *rows,
                             int64_t step, int n) {
  zb_cuda_dims half = {.rank = 1, .shape = {args->half}, .stride = {step}};
  return zb_cuda_in_groups(rows, &half, call->inputs[i].data, n, zb_dtype_bytes(call->inputs[i].dtype));
}

static void plan_groups(const zb_kernel_call *call, zb_rotary_args *args, int n) {
  bool x = halves_in_groups(call, X, args, &args->x_rows, args->x_step, n) && aligned(call->outputs[0].data);
  bool tables = halves_in_groups(call, COS, args, &args->cos_rows, args->cos_step, n) &&
                halves_in_groups(call, SIN, args, &args->sin_rows, args->sin_step, n);
  args->group = x ? ZB_GROUP_DENSE : ZB_GROUP_STRIDED;
  args->table_group = tables ? ZB_GROUP_DENSE : ZB_GROUP_STRIDED;
}

static bool plan(const zb_kernel_call *call, zb_rotary_args *args) {
  const zb_tensor *x = &call->inputs[X], *cos = &call->inputs[COS], *sin = &call->inputs[SIN], *out = &call->outputs[0];
  *args = (zb_rotary_args){
      .out = out->data, .x = x->data, .cos = cos->data, .sin = sin->data, .table_dtype = (int32_t)cos->dtype};
  if (!zb_cuda_complete(call, OPERANDS, 1, false) || !zb_cuda_is_float(x->dtype) || !zb_cuda_is_float(cos->dtype))
    return false;
  if (out->dtype != x->dtype || sin->dtype != cos->dtype || !zb_tensor_same_shape(x, out) || x->rank < 1) return false;
  int last = x->rank - 1;
  for (int i = 0; i < OPERANDS; ++i)
    if (call->inputs[i].rank < 1 || call->inputs[i].shape[call->inputs[i].rank - 1] != x->shape[last]) return false;
  if (x->shape[last] % 2 != 0) return false;
  args->half = x->shape[last] / 2;
  args->rows = zb_cuda_count(x, zb_cuda_before(last));
  args->x_step = x->strides[last];
  args->cos_step = cos->strides[cos->rank - 1];
  args->sin_step = sin->strides[sin->rank - 1];
  return zb_cuda_dims_of(out, x, zb_cuda_before(last), &args->x_rows) &&
         zb_cuda_dims_of(out, cos, zb_cuda_before(last), &args->cos_rows) &&
         zb_cuda_dims_of(out, sin, zb_cuda_before(last), &args->sin_rows);
}

static bool matches(const zb_kernel_call *call) {
  zb_rotary_args args;
  return plan(call, &args);
}

static zb_status run(const zb_kernel_call *call, zb_cuda_launcher *on, bool back) {
  zb_rotary_args args;
  (void)plan(call, &args); /* matches() asked */
  zb_dtype dtype = call->outputs[0].dtype;
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  args.back = back;
  plan_groups(call, &args, n);
  args.row_groups = zb_ceil_div(args.half, n);
  int64_t blocks = zb_ceil_div(args.rows * args.row_groups, ZB_MAP_THREADS);
  return zb_cuda_enqueue(on, zb_cuda_for_float(ZB_FUNCTION_zb_rotary_f32, dtype), blocks, 1, ZB_MAP_THREADS, 0, &args);
}

bool zb_cuda_matches_rotary(const zb_kernel_call *call) { return matches(call); }
zb_status zb_cuda_run_rotary(const zb_kernel_call *call, zb_cuda_launcher *on) { return run(call, on, false); }
bool zb_cuda_matches_rotary_grad(const zb_kernel_call *call) { return matches(call); }
zb_status zb_cuda_run_rotary_grad(const zb_kernel_call *call, zb_cuda_launcher *on) { return run(call, on, true); }
