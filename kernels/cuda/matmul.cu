/* Products that cuBLASLt does not take (strides that no matrix layout describes), and all products where it is not
 * there: tiles of 64 x 64 by 256 threads, 4 x 4 sums a thread, in f32, along k in order. */
#include "kernels/cuda/device.cuh"

/* A tile of an operand in shared memory, [depth][row]: elements beyond the operand are 0. */
template <typename T>
ZB_DEVICE void load_tile(float (*tile)[ZB_MATMUL_TILE + 4], const T *from, int64_t row, int64_t rows,
                         int64_t row_stride, int64_t k, int64_t depth, int64_t k_stride) {
  bool along_k = k_stride == 1; /* neighbouring threads read neighbouring elements */
  for (int i = (int)threadIdx.x; i < ZB_MATMUL_TILE * ZB_MATMUL_DEPTH; i += ZB_MATMUL_THREADS) {
    int r = along_k ? i / ZB_MATMUL_DEPTH : i % ZB_MATMUL_TILE, d = along_k ? i % ZB_MATMUL_DEPTH : i / ZB_MATMUL_TILE;
    bool inside = row + r < rows && k + d < depth;
    tile[d][r] = inside ? value_of(from[(row + r) * row_stride + (k + d) * k_stride]) : 0;
  }
}

struct matmul_tiles {
  float lhs[ZB_MATMUL_DEPTH][ZB_MATMUL_TILE + 4], rhs[ZB_MATMUL_DEPTH][ZB_MATMUL_TILE + 4];
};

template <typename T> ZB_DEVICE void matmul(const zb_matmul_args &a) {
  matmul_tiles &tiles = *(matmul_tiles *)zb_shared();
  int64_t tiles_n = (a.n + ZB_MATMUL_TILE - 1) / ZB_MATMUL_TILE, batch = blockIdx.y;
  int64_t row = (int64_t)blockIdx.x / tiles_n * ZB_MATMUL_TILE, column = (int64_t)blockIdx.x % tiles_n * ZB_MATMUL_TILE;
  const T *lhs = (const T *)a.lhs + at(a.lhs_batch, batch), *rhs = (const T *)a.rhs + at(a.rhs_batch, batch);
  int r0 = (int)threadIdx.x / 16 * 4, c0 = (int)threadIdx.x % 16 * 4;
  float sums[4][4] = {};
  for (int64_t k = 0; k < a.k; k += ZB_MATMUL_DEPTH) {
    load_tile(tiles.lhs, lhs, row, a.m, a.lhs_row, k, a.k, a.lhs_column);
    load_tile(tiles.rhs, rhs, column, a.n, a.rhs_column, k, a.k, a.rhs_row);
    __syncthreads();
    for (int d = 0; d < ZB_MATMUL_DEPTH; ++d) {
      pack<float, 4> x = *(pack<float, 4> *)&tiles.lhs[d][r0], y = *(pack<float, 4> *)&tiles.rhs[d][c0];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sums[i][j] += x.v[i] * y.v[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      if (row + r0 + i >= a.m || column + c0 + j >= a.n) continue;
      int64_t to = (batch * a.m + row + r0 + i) * a.n + column + c0 + j;
      float value = sums[i][j];
      if (a.accumulate) value += load_float(a.out, a.out_dtype, to);
      if (a.bias) value += load_float(a.bias, a.out_dtype, column + c0 + j);
      store_float(a.out, a.out_dtype, to, value);
    }
}

ZB_FLOAT_KERNELS(zb_matmul, zb_matmul_args, ZB_MATMUL_THREADS, matmul)
