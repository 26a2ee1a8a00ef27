/* oneDNN's dnnl_sgemm, one thread a call: on several it gives other bits (DESIGN section 5). */
#include "kernels/cpu/sgemm.h"
#include "kernels/cpu/common.h"

#include <oneapi/dnnl/dnnl.h>
#include <omp.h>

/* Stored row by row with that distance (transpose flag 'N')? A single row has any distance. */
static bool by_rows(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return (column_stride == 1 || columns <= 1) && (row_stride >= columns || rows <= 1);
}

bool zb_sgemm_readable(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return by_rows(rows, columns, row_stride, column_stride) || by_rows(columns, rows, column_stride, row_stride);
}

static char transpose_flag(int64_t rows, int64_t columns, zb_matrix x, int64_t *leading) {
  bool normal = by_rows(rows, columns, x.row_stride, x.column_stride);
  *leading = normal ? zb_max64(x.row_stride, columns) : zb_max64(x.column_stride, rows);
  if (normal && rows <= 1) *leading = columns;
  if (!normal && columns <= 1) *leading = rows;
  *leading = zb_max64(*leading, 1);
  return normal ? 'N' : 'T';
}

bool zb_sgemm(int64_t m, int64_t n, int64_t k, float alpha, zb_matrix lhs, zb_matrix rhs, bool accumulate, float *out,
              int64_t out_stride) {
  int64_t lhs_leading, rhs_leading;
  char lhs_flag = transpose_flag(m, k, lhs, &lhs_leading), rhs_flag = transpose_flag(k, n, rhs, &rhs_leading);
  int threads = omp_get_max_threads();
  if (threads != 1) omp_set_num_threads(1);
  dnnl_status_t status = dnnl_sgemm(lhs_flag, rhs_flag, m, n, k, alpha, lhs.data, lhs_leading, rhs.data, rhs_leading,
                                    accumulate ? 1.0f : 0.0f, out, zb_max64(out_stride, n));
  if (threads != 1) omp_set_num_threads(threads);
  return status == dnnl_success;
}
