/* Data movement: copies, gather, and their gradients. The device side is move.cu. */
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/common.h"
#include "runtime/base/text.h"

/* ---- Copies ---- */

/* The kernel for units of a size, given that for units of 1 byte. */
static zb_cuda_function for_bytes(zb_cuda_function unit1, size_t bytes) {
  unsigned step = 0;
  while ((size_t)1 << step < bytes)
    ++step;
  return unit1 + step;
}

/* Whether the last dimension can be counted in units of n elements. */
static bool divisible(const zb_cuda_dims *dims, const void *data, int64_t n, size_t element_bytes) {
  int last = dims->rank - 1;
  if (dims->stride[last] != 1 || dims->shape[last] % n != 0) return false;
  if ((uintptr_t)data % ((uintptr_t)n * element_bytes) != 0) return false;
  for (int i = 0; i < last; ++i)
    if (dims->stride[i] % n != 0) return false;
  return true;
}

static void divide(zb_cuda_dims *dims, int64_t n) {
  dims->shape[dims->rank - 1] /= n;
  for (int i = 0; i < dims->rank - 1; ++i)
    dims->stride[i] /= n;
}

zb_status zb_cuda_copy(zb_cuda_launcher *on, const zb_tensor *to, const zb_tensor *x) {
  size_t bytes = zb_dtype_bytes(to->dtype);
  int64_t n = 16 / (int64_t)bytes;
  zb_move_args args = {.out = to->data, .in = x->data, .elements = zb_tensor_elements(to)};
  (void)zb_cuda_dims_all(to, to, &args.out_dims);
  (void)zb_cuda_dims_all(to, x, &args.in_dims);
  if (divisible(&args.out_dims, to->data, n, bytes) && divisible(&args.in_dims, x->data, n, bytes)) {
    divide(&args.out_dims, n);
    divide(&args.in_dims, n);
    args.elements /= n;
    bytes = 16;
  }
  return zb_cuda_enqueue_each(on, for_bytes(ZB_FUNCTION_zb_move_1, bytes), args.elements, ZB_MOVE_THREADS, &args);
}

bool zb_cuda_matches_contiguous(const zb_kernel_call *call) {
  return zb_cuda_complete(call, 1, 1, false) && call->inputs[0].dtype == call->outputs[0].dtype &&
         zb_tensor_same_shape(&call->inputs[0], &call->outputs[0]);
}
zb_status zb_cuda_run_contiguous(const zb_kernel_call *call, zb_cuda_launcher *on) {
  return zb_cuda_copy(on, &call->outputs[0], &call->inputs[0]);
}

/* ---- Shards: what one of them alone has ---- */

/* Whether `all` is `part` with a dimension of the members in front, and has that place. */
static bool has_part(const zb_kernel_call *call, const zb_tensor *all, const zb_tensor *part, int64_t place) {
  if (!zb_cuda_complete(call, 1, 1, false) || all->dtype != part->dtype || all->rank < 1) return false;
  if (all->shape[0] != zb_attr_int(&call->attrs, "members", 0) || place < 0 || place >= all->shape[0]) return false;
  const zb_tensor first = zb_tensor_part(all, 0);
  return zb_tensor_same_shape(&first, part);
}

bool zb_cuda_matches_own_part(const zb_kernel_call *call) {
  return has_part(call, &call->inputs[0], &call->outputs[0], zb_attr_int(&call->attrs, "place", 0));
}
zb_status zb_cuda_run_own_part(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor part = zb_tensor_part(&call->inputs[0], zb_attr_int(&call->attrs, "place", 0));
  return zb_cuda_copy(on, &call->outputs[0], &part);
}

bool zb_cuda_matches_gather_parts(const zb_kernel_call *call) {
  return has_part(call, &call->outputs[0], &call->inputs[0], 0);
}
zb_status zb_cuda_run_gather_parts(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor part = zb_tensor_part(&call->outputs[0], 0);
  ZB_TRY(zb_cuda_enqueue_zero(on, &call->outputs[0]));
  return zb_cuda_copy(on, &part, &call->inputs[0]);
}

/* The part of the result that operand i becomes, `place` along the axis. */
static zb_tensor concat_part(const zb_kernel_call *call, int i, int64_t axis, int64_t place) {
  zb_tensor part = zb_tensor_from(&call->outputs[0], place * call->outputs[0].strides[axis]);
  part.shape[axis] = call->inputs[i].shape[axis];
  return part;
}

bool zb_cuda_matches_concat(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, call->input_count, 1, false) || call->input_count < 1) return false;
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1), place = 0;
  if (axis < 0 || axis >= out->rank) return false;
  for (int i = 0; i < call->input_count; ++i) {
    const zb_tensor *x = &call->inputs[i];
    if (x->rank != out->rank || x->dtype != out->dtype) return false;
    zb_tensor part = concat_part(call, i, axis, 0);
    if (!zb_tensor_same_shape(x, &part)) return false;
    place += x->shape[axis];
  }
  return place == out->shape[axis];
}

zb_status zb_cuda_run_concat(const zb_kernel_call *call, zb_cuda_launcher *on) {
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1), place = 0;
  for (int i = 0; i < call->input_count; ++i) {
    zb_tensor part = concat_part(call, i, axis, place);
    ZB_TRY(zb_cuda_copy(on, &part, &call->inputs[i]));
    place += call->inputs[i].shape[axis];
  }
  return NULL;
}

bool zb_cuda_matches_slice_grad(const zb_kernel_call *call) {
  zb_tensor part;
  return zb_cuda_complete(call, 1, 1, false) && call->inputs[0].dtype == call->outputs[0].dtype &&
         !zb_slice_part(call, &part);
}
zb_status zb_cuda_run_slice_grad(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_tensor part;
  (void)zb_slice_part(call, &part); /* matches() asked */
  ZB_TRY(zb_cuda_enqueue_zero(on, &call->outputs[0]));
  return zb_cuda_copy(on, &part, &call->inputs[0]);
}

/* ---- gather ---- */

bool zb_cuda_matches_gather(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 2, 1, false)) return false;
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  if (axis < 0 || axis >= data->rank || !zb_dtype_is_index(indices->dtype) || data->dtype != out->dtype) return false;
  if (out->rank != data->rank - 1 + indices->rank) return false;
  int64_t rows = zb_cuda_count(data, zb_cuda_before(axis)) * zb_cuda_count(data, zb_cuda_from(data, axis + 1));
  return zb_tensor_elements(out) == rows * zb_tensor_elements(indices);
}

/* 16 bytes at a time where rows are dense and everything else is a multiple. */
static size_t widen_gather(zb_gather_args *args, size_t bytes) {
  int64_t n = 16 / (int64_t)bytes;
  zb_cuda_dims *outer = &args->outer_dims;
  if (!divisible(&args->inner_dims, args->data, n, bytes) || args->inner_dims.rank > 1 || args->axis_stride % n != 0)
    return bytes;
  if ((uintptr_t)args->out % 16 != 0) return bytes;
  for (int i = 0; i < outer->rank; ++i)
    if (outer->stride[i] % n != 0) return bytes;
  for (int i = 0; i < outer->rank; ++i)
    outer->stride[i] /= n;
  divide(&args->inner_dims, n);
  args->axis_stride /= n;
  args->inner_size /= n;
  args->elements /= n;
  return 16;
}

static zb_status launch_gather(zb_cuda_launcher *on, const zb_gather_args *args, size_t bytes) {
  return zb_cuda_enqueue_each(on, for_bytes(ZB_FUNCTION_zb_gather_1, bytes), args->elements, ZB_MOVE_THREADS, args);
}

static zb_gather_args gather_plan(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  return (zb_gather_args){.out = out->data,
                          .data = data->data,
                          .indices = indices->data,
                          .elements = zb_tensor_elements(out),
                          .inner_size = 1,
                          .index_count = zb_tensor_elements(indices),
                          .axis_size = data->shape[axis],
                          .axis_stride = data->strides[axis],
                          .least = zb_least_index(call, data->shape[axis]),
                          .index_dtype = (int32_t)indices->dtype,
                          .fault = zb_cuda_fault_of(on)};
}

zb_status zb_cuda_run_gather(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  zb_gather_args args = gather_plan(call, on);
  args.inner_size = zb_cuda_count(data, zb_cuda_from(data, axis + 1));
  (void)zb_cuda_dims_all(indices, indices, &args.index_dims);
  (void)zb_cuda_dims_of(data, data, zb_cuda_before(axis), &args.outer_dims);
  (void)zb_cuda_dims_of(data, data, zb_cuda_from(data, axis + 1), &args.inner_dims);
  size_t bytes = widen_gather(&args, zb_dtype_bytes(data->dtype));
  return launch_gather(on, &args, bytes);
}

/* data with the shape of the indices, whose elements it is asked for. */
static bool by_element(const zb_tensor *data, const zb_tensor *indices, int64_t axis, zb_tensor *selected) {
  if (data->rank != indices->rank || axis < 0 || axis >= data->rank || !zb_dtype_is_index(indices->dtype)) return false;
  *selected = *data;
  for (int i = 0; i < data->rank; ++i) {
    if (i != axis && indices->shape[i] > data->shape[i]) return false;
    selected->shape[i] = indices->shape[i];
  }
  return true;
}

bool zb_cuda_matches_gather_elements(const zb_kernel_call *call) {
  zb_tensor selected;
  if (!zb_cuda_complete(call, 2, 1, false) || call->inputs[0].dtype != call->outputs[0].dtype) return false;
  return by_element(&call->inputs[0], &call->inputs[1], zb_attr_int(&call->attrs, "axis", 0), &selected) &&
         zb_tensor_same_shape(&call->inputs[1], &call->outputs[0]);
}

zb_status zb_cuda_run_gather_elements(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  zb_tensor selected;
  (void)by_element(data, indices, axis, &selected); /* matches() asked */
  selected.strides[axis] = 0;
  zb_gather_args args = gather_plan(call, on);
  args.by_element = 1;
  (void)zb_cuda_dims_all(indices, indices, &args.index_dims);
  (void)zb_cuda_dims_all(indices, &selected, &args.outer_dims);
  return launch_gather(on, &args, zb_dtype_bytes(data->dtype));
}

/* ---- Gradients: (indices, dout) -> (ddata) ---- */

static bool gradient_types(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 2, 1, true)) return false;
  const zb_tensor *indices = &call->inputs[0], *dout = &call->inputs[1], *ddata = &call->outputs[0];
  return zb_dtype_is_index(indices->dtype) && zb_cuda_is_float(dout->dtype) && zb_cuda_is_float(ddata->dtype);
}

static zb_scatter_args scatter_plan(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *indices = &call->inputs[0], *dout = &call->inputs[1], *ddata = &call->outputs[0];
  return (zb_scatter_args){.ddata = ddata->data,
                           .indices = indices->data,
                           .dout = dout->data,
                           .axis_size = ddata->shape[zb_attr_int(&call->attrs, "axis", 0)],
                           .index_dtype = (int32_t)indices->dtype,
                           .data_dtype = (int32_t)ddata->dtype,
                           .dout_dtype = (int32_t)dout->dtype,
                           .fault = zb_cuda_fault_of(on)};
}

bool zb_cuda_matches_gather_grad(const zb_kernel_call *call) {
  if (!gradient_types(call)) return false;
  const zb_tensor *indices = &call->inputs[0], *dout = &call->inputs[1], *ddata = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  if (axis < 0 || axis >= ddata->rank || zb_tensor_elements(indices) > INT32_MAX) return false;
  int64_t rows = zb_cuda_count(ddata, zb_cuda_before(axis)) * zb_cuda_count(ddata, zb_cuda_from(ddata, axis + 1));
  return zb_tensor_elements(dout) == rows * zb_tensor_elements(indices);
}

/* Sorted positions of the indices into the scratch; *positions gets their address. */
static zb_status sort_indices(zb_cuda_launcher *on, const zb_tensor *indices, int64_t axis_size,
                              const int32_t **positions) {
  int64_t count = zb_tensor_elements(indices);
  if (count * 2 * (int64_t)sizeof(int32_t) > ZB_CUDA_SCRATCH_BYTES)
    return ZB_ERROR(UNAVAILABLE, "the CUDA kernels of gather_grad and scatter take at most %d indices, not %lld",
                    ZB_CUDA_SCRATCH_BYTES / 8, (long long)count);
  zb_sort_args args = {
      .indices = indices->data, .index_count = count, .axis_size = axis_size, .index_dtype = (int32_t)indices->dtype};
  args.positions = (int32_t *)(void *)zb_cuda_scratch(on);
  args.other = args.positions + count;
  args.fault = zb_cuda_fault_of(on);
  for (args.passes = 1; axis_size >> (args.passes * ZB_SORT_DIGIT_BITS) > 0;)
    ++args.passes;
  (void)zb_cuda_dims_all(indices, indices, &args.index_dims);
  *positions = args.positions;
  int64_t shared =
      (ZB_SORT_DIGITS + 2) * ZB_SORT_THREADS * (int64_t)sizeof(int32_t); /* counts, one of 17 places empty; sums */
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_sort_indices, 1, 1, ZB_SORT_THREADS, shared, &args);
}

zb_status zb_cuda_run_gather_grad(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *indices = &call->inputs[0], *dout = &call->inputs[1], *ddata = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  zb_scatter_args args = scatter_plan(call, on);
  if (!call->accumulate) ZB_TRY(zb_cuda_enqueue_zero(on, ddata));
  if (zb_tensor_elements(dout) == 0) return NULL;
  args.index_count = zb_tensor_elements(indices);
  args.outer_size = zb_cuda_count(ddata, zb_cuda_before(axis));
  args.inner_size = zb_cuda_count(ddata, zb_cuda_from(ddata, axis + 1));
  (void)zb_cuda_dims_all(indices, indices, &args.index_dims);
  (void)zb_cuda_dims_all(dout, dout, &args.dout_dims);
  ZB_TRY(sort_indices(on, indices, args.axis_size, &args.positions));
  int64_t lines = zb_min64(zb_ceil_div(args.outer_size * args.inner_size, ZB_SCATTER_THREADS), 1024);
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_scatter_add, args.index_count, lines, ZB_SCATTER_THREADS, 0, &args);
}

bool zb_cuda_matches_gather_elements_grad(const zb_kernel_call *call) {
  zb_tensor selected;
  return gradient_types(call) &&
         by_element(&call->outputs[0], &call->inputs[0], zb_attr_int(&call->attrs, "axis", 0), &selected) &&
         zb_tensor_same_shape(&call->inputs[0], &call->inputs[1]);
}

zb_status zb_cuda_run_gather_elements_grad(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *indices = &call->inputs[0], *dout = &call->inputs[1], *ddata = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  unsigned lines = ~(1u << axis);
  zb_tensor selected;
  (void)by_element(ddata, indices, axis, &selected); /* matches() asked */
  zb_scatter_args args = scatter_plan(call, on);
  if (!call->accumulate) ZB_TRY(zb_cuda_enqueue_zero(on, ddata));
  args.outer_size = zb_cuda_count(indices, lines);
  args.index_count = indices->shape[axis];
  args.index_axis_stride = indices->strides[axis];
  args.dout_axis_stride = dout->strides[axis];
  args.axis_stride = ddata->strides[axis];
  (void)zb_cuda_dims_of(indices, indices, lines, &args.index_dims);
  (void)zb_cuda_dims_of(indices, dout, lines, &args.dout_dims);
  (void)zb_cuda_dims_of(indices, &selected, lines, &args.data_dims);
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_scatter_lines, args.outer_size, ZB_SCATTER_THREADS, &args);
}

/* ---- scatter: (data, indices, updates) -> (out) ---- */

/* In the order of zb_put_reduction; ZB_PUT_COUNT: it is none of them. */
static int put_reduction(const zb_kernel_call *call) {
  const int found = zb_word_index("none add mul min max", zb_attr_string(&call->attrs, "reduction", ""));
  return found < 0 ? ZB_PUT_COUNT : found;
}

bool zb_cuda_matches_scatter(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 3, 1, false)) return false;
  const zb_tensor *data = &call->inputs[0], *indices = &call->inputs[1], *updates = &call->inputs[2],
                  *out = &call->outputs[0];
  const int reduction = put_reduction(call);
  if (reduction == ZB_PUT_COUNT) return false;
  if (!zb_cuda_is_float(out->dtype) && !zb_dtype_is_index(out->dtype) &&
      (reduction != ZB_PUT_NONE || out->dtype != ZB_I1))
    return false;
  if (data->dtype != out->dtype || updates->dtype != out->dtype || !zb_dtype_is_index(indices->dtype)) return false;
  if (out->rank < 1 || !zb_tensor_same_shape(data, out) || zb_tensor_elements(indices) > INT32_MAX) return false;
  int64_t inner = zb_cuda_count(out, zb_cuda_from(out, 1));
  return updates->rank == indices->rank + out->rank - 1 &&
         zb_tensor_elements(updates) == inner * zb_tensor_elements(indices);
}

zb_status zb_cuda_run_scatter(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *indices = &call->inputs[1], *updates = &call->inputs[2], *out = &call->outputs[0];
  zb_put_args args = {.out = out->data,
                      .indices = indices->data,
                      .updates = updates->data,
                      .index_count = zb_tensor_elements(indices),
                      .inner_size = zb_cuda_count(out, zb_cuda_from(out, 1)),
                      .axis_size = out->shape[0],
                      .index_dtype = (int32_t)indices->dtype,
                      .dtype = (int32_t)out->dtype,
                      .reduction = put_reduction(call),
                      .fault = zb_cuda_fault_of(on)};
  ZB_TRY(zb_cuda_copy(on, out, &call->inputs[0]));
  if (zb_tensor_elements(updates) == 0) return NULL;
  (void)zb_cuda_dims_all(indices, indices, &args.index_dims);
  (void)zb_cuda_dims_all(updates, updates, &args.update_dims);
  ZB_TRY(sort_indices(on, indices, args.axis_size, &args.positions));
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_put_rows, args.index_count, 1, ZB_SCATTER_THREADS, 0, &args);
}

bool zb_cuda_matches_ravel_index(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 1, 1, false)) return false;
  const zb_tensor *indices = &call->inputs[0], *out = &call->outputs[0];
  const zb_attr *shape = zb_attr_find(&call->attrs, "shape");
  if (!shape || shape->kind != ZB_ATTR_INTS || shape->count < 1 || shape->count > ZB_DIMS_MAX) return false;
  if (!zb_dtype_is_index(indices->dtype) || out->dtype != ZB_I64 || indices->rank != out->rank + 1) return false;
  return indices->shape[out->rank] == shape->count &&
         zb_tensor_elements(indices) == zb_tensor_elements(out) * shape->count;
}

zb_status zb_cuda_run_ravel_index(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *indices = &call->inputs[0], *out = &call->outputs[0];
  const zb_attr *shape = zb_attr_find(&call->attrs, "shape");
  zb_ravel_args args = {.out = out->data,
                        .indices = indices->data,
                        .tuples = zb_tensor_elements(out),
                        .entry_stride = indices->strides[out->rank],
                        .index_dtype = (int32_t)indices->dtype,
                        .count = shape->count,
                        .fault = zb_cuda_fault_of(on)};
  memcpy(args.shape, shape->ints, (size_t)shape->count * sizeof *args.shape);
  (void)zb_cuda_dims_of(indices, indices, zb_cuda_before(out->rank), &args.tuple_dims);
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_ravel_index, args.tuples, ZB_MOVE_THREADS, &args);
}

/* ---- cumsum ---- */

bool zb_cuda_matches_cumsum(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 1, 1, false)) return false;
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  if (axis < 0 || axis >= x->rank || x->dtype != out->dtype || !zb_tensor_same_shape(x, out)) return false;
  return zb_cuda_is_float(x->dtype) || zb_dtype_is_index(x->dtype);
}

zb_status zb_cuda_run_cumsum(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0), size = x->shape[axis];
  bool reverse = zb_attr_bool(&call->attrs, "reverse", false);
  unsigned lines = ~(1u << axis) & zb_cuda_from(x, 0);
  int64_t first = reverse ? size - 1 : 0;
  if (zb_tensor_elements(out) == 0) return NULL;
  zb_cumsum_args args = {.out = zb_tensor_from(out, first * out->strides[axis]).data,
                         .x = zb_tensor_from(x, first * x->strides[axis]).data,
                         .lines = zb_cuda_count(x, lines),
                         .size = size,
                         .x_step = reverse ? -x->strides[axis] : x->strides[axis],
                         .out_step = reverse ? -out->strides[axis] : out->strides[axis],
                         .dtype = (int32_t)x->dtype,
                         .exclusive = zb_attr_bool(&call->attrs, "exclusive", false)};
  (void)zb_cuda_dims_of(x, x, lines, &args.x_lines);
  (void)zb_cuda_dims_of(x, out, lines, &args.out_lines);
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_cumsum, args.lines, ZB_SCATTER_THREADS, &args);
}

/* ---- top_k ---- */

bool zb_cuda_matches_top_k(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 1, 1, false)) return false;
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const int64_t axis = zb_attr_int(&call->attrs, "axis", -1), k = zb_attr_int(&call->attrs, "k", 0);
  if (axis < 0 || axis >= x->rank || out->dtype != ZB_I64) return false;
  zb_tensor like = *x;
  like.shape[axis] = k;
  if (k < 1 || k > x->shape[axis] || !zb_tensor_same_shape(&like, out)) return false;
  return zb_cuda_is_float(x->dtype) || zb_dtype_is_index(x->dtype);
}

zb_status zb_cuda_run_top_k(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  const unsigned lines = ~(1u << axis) & zb_cuda_from(x, 0);
  if (zb_tensor_elements(out) == 0) return NULL;
  zb_top_k_args args = {.out = out->data,
                        .x = x->data,
                        .lines = zb_cuda_count(x, lines),
                        .size = x->shape[axis],
                        .k = zb_attr_int(&call->attrs, "k", 0),
                        .x_step = x->strides[axis],
                        .out_step = out->strides[axis],
                        .dtype = (int32_t)x->dtype,
                        .largest = zb_attr_bool(&call->attrs, "largest", true)};
  (void)zb_cuda_dims_of(x, x, lines, &args.x_lines);
  (void)zb_cuda_dims_of(out, out, lines, &args.out_lines); /* it has k where x has all */
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_top_k, args.lines, ZB_SCATTER_THREADS, &args);
}
