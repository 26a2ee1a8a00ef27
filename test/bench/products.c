/* Matrix products of training, operands not in cache as in a step, one thread: zb_sgemm beside oneDNN's dnnl_sgemm, in
 * turn.
 *
 *   zb-bench-products [ISA]      ISA: 0 baseline, 1 AVX2, 2 AVX-512 (oneDNN's by ONEDNN_MAX_CPU_ISA)
 *
 * Built by hand (target zb-bench-products; needs libdnnl-dev); never a test.
 */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/sgemm.h"

#include "zb/base.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct shape {
  int64_t m, n, k;
  bool transpose_lhs, transpose_rhs;
} shape;

/* The forward products, dX and dW (lhs transposed, adds to what is there) of GPT-2 and Llama of 128 wide, of GPT-2 of
 * 512 wide, of its head. */
static const shape shapes[] = {
    {512, 384, 128, false, false},   {512, 128, 128, false, false},  {512, 512, 128, false, false},
    {512, 128, 512, false, false},   {512, 128, 384, false, true},   {512, 128, 512, false, true},
    {512, 512, 128, false, true},    {128, 384, 512, true, false},   {128, 512, 512, true, false},
    {512, 128, 512, true, false},    {512, 320, 128, false, true},   {512, 128, 320, false, true},
    {512, 64, 128, false, true},     {320, 128, 512, true, false},   {1024, 1536, 512, false, false},
    {1024, 512, 1536, false, true},  {512, 1536, 1024, true, false}, {1024, 2048, 512, false, false},
    {1024, 512, 2048, false, true},  {2048, 512, 1024, true, false}, {512, 50304, 128, false, true},
    {512, 128, 50304, false, false}, {50304, 128, 512, true, false},
};

enum { ROUNDS = 5, COLD_BYTES = 48 << 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *numbers(int64_t count) {
  float *x = zb_alloc_aligned((size_t)count * sizeof *x, 64);
  if (!x) abort();
  for (int64_t i = 0; i < count; ++i)
    x[i] = (float)(i * 7919 % 1000) / 500.0f - 1.0f;
  return x;
}

static void ours(const shape *s, const float *lhs, const float *rhs, float *out, float *pack) {
  zb_matrix left = {lhs, false, s->transpose_lhs ? 1 : s->k, s->transpose_lhs ? s->m : 1};
  zb_matrix right = {rhs, false, s->transpose_rhs ? 1 : s->n, s->transpose_rhs ? s->k : 1};
  zb_sgemm_call call = {s->m, s->n, s->k, 1, left, right, s->transpose_lhs ? out : NULL, s->n, out, s->n, false};
  zb_sgemm(&call, pack);
}

static void peers(const shape *s, const float *lhs, const float *rhs, float *out) {
  dnnl_status_t status = dnnl_sgemm(s->transpose_lhs ? 'T' : 'N', s->transpose_rhs ? 'T' : 'N', s->m, s->n, s->k, 1,
                                    lhs, s->transpose_lhs ? s->m : s->k, rhs, s->transpose_rhs ? s->k : s->n,
                                    s->transpose_lhs ? 1 : 0, out, s->n);
  if (status != dnnl_success) abort();
}

/* Seconds a product of each, the best of some rounds over so many copies of the operands that none stays in a cache. */
static void measure(const shape *s, float *pack, double best[2]) {
  int64_t lhs_count = s->m * s->k, rhs_count = s->k * s->n, out_count = s->m * s->n;
  int64_t copies = 1 + COLD_BYTES / (int64_t)sizeof(float) / (lhs_count + rhs_count + out_count);
  float *lhs = numbers(copies * lhs_count), *rhs = numbers(copies * rhs_count), *out = numbers(copies * out_count);
  for (int round = 0; round < ROUNDS; ++round)
    for (int peer = 0; peer < 2; ++peer) {
      double start = now();
      for (int64_t i = 0; i < copies; ++i) {
        if (peer)
          peers(s, lhs + i * lhs_count, rhs + i * rhs_count, out + i * out_count);
        else
          ours(s, lhs + i * lhs_count, rhs + i * rhs_count, out + i * out_count, pack);
      }
      double seconds = (now() - start) / (double)copies;
      if (round == 0 || seconds < best[peer]) best[peer] = seconds;
    }
  zb_free(lhs), zb_free(rhs), zb_free(out);
}

int main(int argc, char **argv) {
  if (argc > 1) zb_isa_limit((zb_isa_level)atoi(argv[1]));
  omp_set_num_threads(1);
  float *pack = zb_alloc_aligned(ZB_SGEMM_PACK_BYTES, 64);
  if (!pack) abort();
  printf("products of %s, GFLOP/s             zb_sgemm  dnnl_sgemm   ratio\n", zb_isa_name());
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    const shape *s = &shapes[i];
    double seconds[2], flops = 2.0 * (double)s->m * (double)s->n * (double)s->k;
    measure(s, pack, seconds);
    printf("%6lld x %6lld x %6lld %c%c %s %11.1f %11.1f %7.2f\n", (long long)s->m, (long long)s->n, (long long)s->k,
           s->transpose_lhs ? 'T' : 'N', s->transpose_rhs ? 'T' : 'N', s->transpose_lhs ? "+=" : "= ",
           flops / seconds[0] * 1e-9, flops / seconds[1] * 1e-9, seconds[1] / seconds[0]);
    fflush(stdout);
  }
  zb_free(pack);
  return 0;
}
