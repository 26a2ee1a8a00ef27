/* zb.dropout on f32 and bf16, zb.uniform of f32: Philox on vectors, a call a lane (runtime/base/random.h says which
 * element gets which word). The bits are those of the reference on every instruction set.
 * Tests: test/kernels/fast_dropout_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/drop.h"
#include "kernels/cpu/kernels.h"

enum { SEGMENT = 512 };
_Static_assert(ZB_TILE_ELEMENTS % SEGMENT == 0 && SEGMENT % ZB_RANDOM_GROUP == 0, "tiles are whole groups");

typedef struct dropout dropout;
/* out[i] = x[i] * factor of element first + i, or its number, for i < count; first is where a group begins. */
typedef void (*dropout_run)(const dropout *d, float *out, const float *x, int64_t first, int64_t count);

struct dropout {
  const void *x; /* of zb.uniform what is not read: out */
  void *out;
  int64_t elements;
  zb_drop drop;
  dropout_run run;
};

#define ZB_ISA_BODY "kernels/cpu/dropout.c"
#include "kernels/cpu/isa_each.h"

static void dropout_tile(void *context, int64_t tile, void *scratch) {
  const dropout *d = context;
  int64_t first = tile * ZB_TILE_ELEMENTS, count = zb_min64(ZB_TILE_ELEMENTS, d->elements - first);
  (void)scratch;
  d->run(d, (float *)d->out + first, (const float *)d->x + first, first, count);
}

static void dropout_tile_bf16(void *context, int64_t tile, void *scratch) {
  const dropout *d = context;
  float (*rows)[SEGMENT] = scratch;
  int64_t end = zb_min64((tile + 1) * ZB_TILE_ELEMENTS, d->elements);
  for (int64_t first = tile * ZB_TILE_ELEMENTS; first < end; first += SEGMENT) {
    int64_t count = zb_min64(SEGMENT, end - first);
    zb_bf16_widen(rows[0], (const uint16_t *)d->x + first, count);
    d->run(d, rows[1], rows[0], first, count);
    zb_bf16_narrow((uint16_t *)d->out + first, rows[1], count);
  }
}

static const char *run_dropout(const zb_kernel_call *call, int counter, dropout_run run) {
  const zb_tensor *out = &call->outputs[0];
  dropout d = {.x = counter ? call->inputs[0].data : out->data,
               .out = out->data,
               .elements = zb_tensor_elements(out),
               .drop = zb_drop_of(call, counter),
               .run = run};
  zb_parallel_for(call->threads, zb_ceil_div(d.elements, ZB_TILE_ELEMENTS),
                  out->dtype == ZB_BF16 ? dropout_tile_bf16 : dropout_tile, &d);
  return NULL;
}

const char *zb_cpu_dropout(const zb_kernel_call *call) {
  static const dropout_run runs[] = ZB_ISA_ROW(dropout_run_each);
  return run_dropout(call, 1, runs[zb_isa()]);
}

bool zb_cpu_dropout_matches(const zb_kernel_call *call) {
  return zb_call_contiguous(call) && zb_is_f32_or_bf16(call->outputs[0].dtype);
}

const char *zb_cpu_uniform(const zb_kernel_call *call) {
  static const dropout_run runs[] = ZB_ISA_ROW(uniform_run_each);
  return run_dropout(call, 0, runs[zb_isa()]);
}

bool zb_cpu_uniform_matches(const zb_kernel_call *call) {
  return zb_call_contiguous(call) && call->outputs[0].dtype == ZB_F32;
}

#else /* ---- For one instruction set ---- */

#include "kernels/cpu/vector_random.h"

static void ZB_ISA(dropout_run_each)(const dropout *d, float *out, const float *x, int64_t first, int64_t count) {
  for (int64_t at = 0; at < count; at += ZB_RANDOM_GROUP) {
    for (int lane = 0; lane < ZB_RANDOM_LANES; lane += V_LANES) {
      vf factor[4];
      draw_factors(&d->drop, first + at, lane, factor);
      for (int w = 0; w < 4; ++w) {
        int64_t i = at + w * ZB_RANDOM_LANES + lane;
        if (i < count) v_give(out, v_take(x, i, count) * factor[w], i, count);
      }
    }
  }
}

static void ZB_ISA(uniform_run_each)(const dropout *d, float *out, const float *x ZB_UNUSED, int64_t first,
                                     int64_t count) {
  for (int64_t at = 0; at < count; at += ZB_RANDOM_GROUP) {
    const uint64_t call = (uint64_t)(first + at) / ZB_RANDOM_GROUP * ZB_RANDOM_LANES;
    for (int lane = 0; lane < ZB_RANDOM_LANES; lane += V_LANES) {
      vu word[4];
      draw(&d->drop.stream, call + (uint64_t)lane, word);
      for (int w = 0; w < 4; ++w) {
        const int64_t i = at + w * ZB_RANDOM_LANES + lane;
        if (i < count) v_give(out, __builtin_convertvector((vi)(word[w] >> 8), vf) * (1.0f / 16777216), i, count);
      }
    }
  }
}
#endif
