/* The host side of all CUDA kernels: see common.h. */
#include "kernels/cuda/common.h"

int64_t zb_cuda_count(const zb_tensor *x, unsigned dimensions) {
  int64_t count = 1;
  for (int i = 0; i < x->rank; ++i)
    if (dimensions >> i & 1) count *= x->shape[i];
  return count;
}

bool zb_cuda_complete(const zb_kernel_call *call, int inputs, int outputs, bool accumulates) {
  return zb_cuda_complete_up_to(call, inputs, inputs, outputs, accumulates);
}

bool zb_cuda_complete_up_to(const zb_kernel_call *call, int inputs, int most, int outputs, bool accumulates) {
  if (call->accumulate && !accumulates) return false;
  for (int i = most; i < call->input_count; ++i)
    if (zb_call_input(call, i)) return false;
  for (int i = 0; i < inputs; ++i)
    if (!zb_call_input(call, i)) return false;
  for (int i = 0; i < outputs; ++i)
    if (!zb_call_output(call, i) || !zb_tensor_contiguous(&call->outputs[i])) return false;
  return true;
}

zb_cuda_function zb_cuda_for_float(zb_cuda_function f32, zb_dtype dtype) {
  return f32 + (dtype == ZB_BF16 ? 1 : dtype == ZB_F16 ? 2 : 0);
}

zb_cuda_function zb_cuda_for_integer(zb_cuda_function i64, zb_dtype dtype) { return i64 + (dtype == ZB_I32 ? 1 : 0); }

zb_cuda_function zb_cuda_for_any(zb_cuda_function f32, zb_dtype dtype) {
  if (dtype == ZB_I1) return f32 + 5;
  return zb_dtype_is_index(dtype) ? zb_cuda_for_integer(f32 + 3, dtype) : zb_cuda_for_float(f32, dtype);
}

/* Appends a dimension, merged with the one before it where their strides allow. */
static void add_dimension(zb_cuda_dims *dims, int64_t size, int64_t stride) {
  if (size == 1) return;
  int last = dims->rank - 1;
  if (last >= 0 && dims->stride[last] == stride * size) {
    dims->shape[last] *= size;
    dims->stride[last] = stride;
    return;
  }
  dims->shape[dims->rank] = size;
  dims->stride[dims->rank++] = stride;
}

bool zb_cuda_dims_of(const zb_tensor *space, const zb_tensor *x, unsigned dimensions, zb_cuda_dims *out) {
  int shift = space->rank - x->rank;
  int64_t positions = 1;
  memset(out, 0, sizeof *out);
  if (shift < 0) return false;
  for (int i = 0; i < space->rank; ++i) {
    int64_t size = i < shift ? 1 : x->shape[i - shift];
    if (size != 1 && size != space->shape[i]) return false;
    if (!(dimensions >> i & 1)) continue;
    positions *= space->shape[i];
    add_dimension(out, space->shape[i], size == 1 ? 0 : x->strides[i - shift]);
  }
  if (out->rank == 0) {
    out->rank = 1;
    out->shape[0] = 1;
  }
  out->narrow = positions <= UINT32_MAX;
  return true;
}

bool zb_cuda_dims_all(const zb_tensor *space, const zb_tensor *x, zb_cuda_dims *out) {
  return zb_cuda_dims_of(space, x, ~0u, out);
}

bool zb_cuda_in_groups(const zb_cuda_dims *rows, const zb_cuda_dims *along, const void *data, int n,
                       size_t element_bytes) {
  size_t bytes = element_bytes * (size_t)n;
  if (along->rank != 1 || along->stride[0] != 1 || along->shape[0] % n != 0) return false;
  for (int i = 0; i < rows->rank; ++i)
    if (rows->stride[i] % n != 0) return false;
  return (uintptr_t)data % (bytes < 16 ? bytes : 16) == 0;
}

zb_status zb_cuda_enqueue_zero(zb_cuda_launcher *on, const zb_tensor *x) {
  size_t bytes = (size_t)zb_tensor_elements(x) * zb_dtype_bytes(x->dtype);
  if (bytes == 0 || on->only_choosing) return NULL;
  return ZB_CU(on->api, cuMemsetD8Async, (CUdeviceptr)(uintptr_t)x->data, 0, bytes, on->stream);
}

uint64_t zb_cuda_no_table(int count ZB_UNUSED) { return 0; }
