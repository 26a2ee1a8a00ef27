/* The matrix product that the kernels are built on: oneDNN's dnnl_sgemm on the calling thread. */
#ifndef ZB_KERNELS_CPU_SGEMM_H
#define ZB_KERNELS_CPU_SGEMM_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix as a product reads it: element (i, j) at data[i * row_stride + j * column_stride]. */
typedef struct zb_matrix {
  const float *data;
  int64_t row_stride, column_stride;
} zb_matrix;

/* Whether zb_sgemm can read rows x columns elements so: one unit stride, and rows (or columns) that do not overlap. */
bool zb_sgemm_readable(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);

/* out[i * out_stride + j] = (accumulate ? out : 0) + alpha * sum_p lhs(i, p) rhs(p, j) for i < m, j < n, p < k. Runs on
 * the calling thread alone and leaves the caller's OpenMP settings as they were. The bits depend on shapes, strides and
 * values only. False when the library reports an error (out of memory). Thread-safe. */
bool zb_sgemm(int64_t m, int64_t n, int64_t k, float alpha, zb_matrix lhs, zb_matrix rhs, bool accumulate, float *out,
              int64_t out_stride);

#endif
