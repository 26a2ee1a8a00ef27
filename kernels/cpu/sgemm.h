/* The matrix product that the kernels are built on: operands of f32 or bf16, sums in f32, on the calling thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A matrix as a product reads it: element (i, j) at data[i * row_stride + j * column_stride], with any strides; one of
 * them 1 is fast. */
typedef struct zb_matrix {
  const void *data;
  bool narrow; /* bf16, else f32 */
  int64_t row_stride, column_stride;
} zb_matrix;

/* The same matrix `offset` elements further on. */
static inline zb_matrix zb_matrix_from(zb_matrix x, int64_t offset) {
  x.data = (const char *)x.data + offset * (int64_t)(x.narrow ? sizeof(uint16_t) : sizeof(float));
  return x;
}

/* Bytes that a product packs its operands into. */
enum { ZB_SGEMM_PACK_BYTES = 5 << 18 };

/* out[i * out_stride + j] = start[i * start_stride + j] + alpha * sum_p lhs(i, p) rhs(p, j) for i < m, j < n, p < k;
 * start may be NULL (zeros), out itself (accumulates), or a row with start_stride 0 (a bias). */
typedef struct zb_sgemm_call {
  int64_t m, n, k;
  float alpha;
  zb_matrix lhs, rhs;
  const float *start;
  int64_t start_stride;
  float *out;
  int64_t out_stride;
  bool near; /* a hint: the operands are in a near cache, nothing needs to be asked for ahead */
} zb_sgemm_call;

/* Runs on the calling thread. pack: ZB_SGEMM_PACK_BYTES, aligned to 64. The bits of an element depend on its row of
 * lhs, its column of rhs and k only, not on m, n, strides or where it lies: a product may be cut into tiles of any
 * size. Thread-safe. */
void zb_sgemm(const zb_sgemm_call *call, float *pack);
