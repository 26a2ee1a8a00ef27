/* Rotary embedding and its gradient, f32 and bf16 (the tables may be f32 where x is bf16): a row at a time, both halves
 * at once. The products are rounded before they are added, as in the ops that zb.rotary stands for. Tests:
 * test/kernels/fast_fused_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

enum { X, COS, SIN, OPERANDS, WIDTH_MAX = 1 << 15 }; /* WIDTH_MAX: four rows in scratch */

/* out_first = first * cos[0..half) - second * a, out_second = second * cos[half..) + first * b. */
typedef void (*turn_run)(const float *x, const float *cos, const float *a, const float *b, float sign, float *out,
                         int64_t half);

typedef struct rotary {
  zb_loop rows; /* of x, cos and sin, without the last dimension */
  const char *data[OPERANDS];
  zb_dtype dtypes[OPERANDS];
  char *out;
  int64_t width, tile_rows;
  bool back;
  turn_run run;
} rotary;

#define ZB_ISA_BODY "kernels/cpu/rotary.c"
#include "kernels/cpu/isa_each.h"

static void rotary_tile(void *context, int64_t tile, void *scratch) {
  const rotary *r = context;
  float *buffers = scratch;
  int64_t width = r->width, half = width / 2, end = zb_min64((tile + 1) * r->tile_rows, r->rows.elements);
  bool narrow = r->dtypes[X] == ZB_BF16;
  zb_cursor at;
  zb_cursor_init(&at, &r->rows, r->rows.rank, tile * r->tile_rows);
  for (int64_t row = tile * r->tile_rows; row < end; ++row) {
    const float *in[OPERANDS];
    for (int k = 0; k < OPERANDS; ++k)
      in[k] = zb_row_f32(r->data[k], r->dtypes[k], at.offset[k], width, buffers + k * width);
    float *out = narrow ? buffers + OPERANDS * width : (float *)(void *)r->out + row * width;
    const float *near = in[SIN], *far = in[SIN] + half;
    r->run(in[X], in[COS], r->back ? far : near, r->back ? near : far, r->back ? -1.0f : 1.0f, out, half);
    if (narrow) zb_bf16_narrow((uint16_t *)(void *)r->out + row * width, out, width);
    zb_cursor_next(&at, &r->rows);
  }
}

static const char *turn(const zb_kernel_call *call, bool back) {
  static const turn_run runs[] = ZB_ISA_ROW(turn_row);
  zb_tensor space = call->outputs[0], operands[OPERANDS];
  const zb_tensor *const pointers[OPERANDS] = {&operands[X], &operands[COS], &operands[SIN]};
  rotary r = {.out = space.data, .width = space.shape[space.rank - 1], .back = back, .run = runs[zb_isa()]};
  --space.rank;
  for (int k = 0; k < OPERANDS; ++k) {
    operands[k] = call->inputs[k];
    --operands[k].rank;
    r.data[k] = operands[k].data;
    r.dtypes[k] = operands[k].dtype;
  }
  if (r.width == 0) return NULL;
  if (!zb_loop_init(&r.rows, &space, pointers, OPERANDS)) return "the tables do not broadcast to x";
  r.tile_rows = zb_tile_rows(r.width);
  zb_parallel_for(call->threads, zb_ceil_div(r.rows.elements, r.tile_rows), rotary_tile, &r);
  return NULL;
}

const char *zb_cpu_rotary(const zb_kernel_call *call) { return turn(call, false); }

const char *zb_cpu_rotary_grad(const zb_kernel_call *call) { return turn(call, true); }

bool zb_cpu_rotary_matches(const zb_kernel_call *call) {
  if (call->input_count != OPERANDS || call->output_count != 1) return false;
  const zb_tensor *out = &call->outputs[0];
  int64_t width = out->rank < 1 ? 0 : out->shape[out->rank - 1];
  if (!zb_is_f32_or_bf16(out->dtype) || !zb_tensor_contiguous(out) || out->rank < 1 || width % 2 != 0 ||
      width > WIDTH_MAX)
    return false;
  if (!zb_tensor_same_shape(&call->inputs[X], out) || call->inputs[X].dtype != out->dtype) return false;
  for (int k = 0; k < OPERANDS; ++k) {
    const zb_tensor *x = &call->inputs[k];
    if (x->dtype != ZB_F32 && x->dtype != out->dtype) return false;
    if (x->rank < 1 || x->shape[x->rank - 1] != width || (width > 1 && x->strides[x->rank - 1] != 1)) return false;
  }
  return true;
}

#else /* ---- For one instruction set ---- */

static void ZB_ISA(turn_row)(const float *x, const float *cos, const float *a, const float *b, float sign, float *out,
                             int64_t half) {
  const vf s = v_set(sign);
  for (int64_t i = 0; i < half; i += V_LANES) {
    vf first = v_take(x, i, half), second = v_take(x + half, i, half);
    v_give(out, first * v_take(cos, i, half) - second * (s * v_take(a, i, half)), i, half);
    v_give(out + half, second * v_take(cos + half, i, half) + first * (s * v_take(b, i, half)), i, half);
  }
}
#endif
