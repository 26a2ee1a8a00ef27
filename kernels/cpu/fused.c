/* The gradient of zb.swiglu: both results of an element in one pass, f32 and bf16. (The forward form is a row of
 * ref/binary.def.) Tests: test/kernels/fast_fused_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

enum { SEGMENT = 512 };

typedef void (*swiglu_run)(const float *gate, const float *up, const float *dout, float *dgate, float *dup,
                           int64_t count);

typedef struct swiglu {
  const void *gate, *up, *dout;
  void *dgate, *dup;
  int64_t elements;
  swiglu_run run;
} swiglu;

#define ZB_ISA_BODY "kernels/cpu/fused.c"
#include "kernels/cpu/isa_each.h"

static void swiglu_tile(void *context, int64_t tile, void *scratch) {
  const swiglu *s = context;
  int64_t at = tile * ZB_TILE_ELEMENTS, count = zb_min64(ZB_TILE_ELEMENTS, s->elements - at);
  (void)scratch;
  s->run((const float *)s->gate + at, (const float *)s->up + at, (const float *)s->dout + at, (float *)s->dgate + at,
         (float *)s->dup + at, count);
}

static void swiglu_tile_bf16(void *context, int64_t tile, void *scratch) {
  const swiglu *s = context;
  float (*rows)[SEGMENT] = scratch;
  int64_t end = zb_min64((tile + 1) * ZB_TILE_ELEMENTS, s->elements);
  for (int64_t at = tile * ZB_TILE_ELEMENTS; at < end; at += SEGMENT) {
    int64_t count = zb_min64(SEGMENT, end - at);
    zb_bf16_widen(rows[0], (const uint16_t *)s->gate + at, count);
    zb_bf16_widen(rows[1], (const uint16_t *)s->up + at, count);
    zb_bf16_widen(rows[2], (const uint16_t *)s->dout + at, count);
    s->run(rows[0], rows[1], rows[2], rows[3], rows[4], count);
    zb_bf16_narrow((uint16_t *)s->dgate + at, rows[3], count);
    zb_bf16_narrow((uint16_t *)s->dup + at, rows[4], count);
  }
}

const char *zb_cpu_swiglu_grad(const zb_kernel_call *call) {
  static const swiglu_run runs[] = ZB_ISA_ROW(swiglu_run_each);
  swiglu s = {.gate = call->inputs[0].data,
              .up = call->inputs[1].data,
              .dout = call->inputs[2].data,
              .dgate = call->outputs[0].data,
              .dup = call->outputs[1].data,
              .elements = zb_tensor_elements(&call->outputs[0]),
              .run = runs[zb_isa()]};
  bool narrow = call->outputs[0].dtype == ZB_BF16;
  zb_parallel_for(call->threads, zb_ceil_div(s.elements, ZB_TILE_ELEMENTS), narrow ? swiglu_tile_bf16 : swiglu_tile,
                  &s);
  return NULL;
}

bool zb_cpu_swiglu_grad_matches(const zb_kernel_call *call) {
  if (call->input_count != 3 || call->output_count != 2 || !zb_call_contiguous(call)) return false;
  for (int i = 0; i < 3; ++i)
    if (call->inputs[i].dtype != call->outputs[0].dtype || !zb_tensor_same_shape(&call->inputs[i], &call->outputs[0]))
      return false;
  return zb_is_f32_or_bf16(call->outputs[0].dtype);
}

#else /* ---- For one instruction set ---- */

/* slope = share (1 + gate (1 - share)), as the gradient of silu has it (elementwise.c). */
static void ZB_ISA(swiglu_run_each)(const float *gate, const float *up, const float *dout, float *dgate, float *dup,
                                    int64_t count) {
  const vf one = v_set(1);
  for (int64_t i = 0; i < count; i += V_LANES) {
    vf x = v_take(gate, i, count), d = v_take(dout, i, count), share = v_sigmoid(x);
    v_give(dgate, d * v_take(up, i, count) * (share * v_fma(x, one - share, one)), i, count);
    v_give(dup, d * (x * share), i, count);
  }
}
#endif
