/* Questions about operands, and collapsed loops. */
#include "kernels/cpu/common.h"

bool zb_call_contiguous(const zb_kernel_call *call) {
  for (int i = 0; i < call->input_count; ++i)
    if (zb_tensor_present(&call->inputs[i]) && !zb_tensor_contiguous(&call->inputs[i])) return false;
  for (int i = 0; i < call->output_count; ++i)
    if (zb_tensor_present(&call->outputs[i]) && !zb_tensor_contiguous(&call->outputs[i])) return false;
  return true;
}

bool zb_call_dense_f32(const zb_kernel_call *call) {
  for (int i = 0; i < call->input_count; ++i)
    if (zb_tensor_present(&call->inputs[i]) && call->inputs[i].dtype != ZB_F32) return false;
  for (int i = 0; i < call->output_count; ++i)
    if (zb_tensor_present(&call->outputs[i]) && call->outputs[i].dtype != ZB_F32) return false;
  return zb_call_contiguous(call);
}

/* Whether dimension i of the loop can be merged with the one after it. */
static bool mergeable(const zb_loop *loop, int i) {
  for (int k = 0; k < loop->operand_count; ++k)
    if (loop->strides[k][i] != loop->strides[k][i + 1] * loop->shape[i + 1]) return false;
  return true;
}

/* Drops dimension i. */
static void drop(zb_loop *loop, int i) {
  --loop->rank;
  for (int d = i; d < loop->rank; ++d) {
    loop->shape[d] = loop->shape[d + 1];
    for (int k = 0; k < loop->operand_count; ++k)
      loop->strides[k][d] = loop->strides[k][d + 1];
  }
}

bool zb_loop_init(zb_loop *loop, const zb_tensor *space, const zb_tensor *const *operands, int operand_count) {
  loop->rank = space->rank;
  loop->operand_count = operand_count;
  loop->elements = zb_tensor_elements(space);
  for (int d = 0; d < space->rank; ++d)
    loop->shape[d] = space->shape[d];
  for (int k = 0; k < operand_count; ++k) {
    int shift = space->rank - operands[k]->rank;
    if (shift < 0) return false;
    for (int d = 0; d < space->rank; ++d) {
      int64_t size = d < shift ? 1 : operands[k]->shape[d - shift];
      if (size != 1 && size != space->shape[d]) return false;
      loop->strides[k][d] = size == 1 ? 0 : operands[k]->strides[d - shift];
    }
  }
  for (int d = loop->rank - 1; d >= 0; --d)
    if (loop->shape[d] == 1) drop(loop, d);
  for (int d = loop->rank - 2; d >= 0; --d) {
    if (!mergeable(loop, d)) continue;
    loop->shape[d + 1] *= loop->shape[d];
    drop(loop, d);
  }
  return true;
}

int64_t zb_loop_offset(const zb_loop *loop, int operand, int rank_used, int64_t position) {
  int64_t offset = 0;
  for (int d = rank_used - 1; d >= 0; --d) {
    offset += position % loop->shape[d] * loop->strides[operand][d];
    position /= loop->shape[d];
  }
  return offset;
}

void zb_cursor_init(zb_cursor *cursor, const zb_loop *loop, int rank, int64_t position) {
  cursor->rank = rank;
  for (int k = 0; k < loop->operand_count; ++k)
    cursor->offset[k] = zb_loop_offset(loop, k, rank, position);
  for (int d = rank - 1; d >= 0; --d) {
    cursor->index[d] = position % loop->shape[d];
    position /= loop->shape[d];
  }
}
