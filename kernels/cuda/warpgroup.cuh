/* Products of a warpgroup: 128 threads that begin at a multiple of 128, on the tensor cores of compute capability 9.0,
 * in the words of the PTX manual (wgmma). All threads of the warpgroup call these together.
 *
 * sums (64 x N) += a (64 x 16) b (16 x N): a warp has 16 rows of the sums; a lane holds of them what it holds of
 * m16n8k16 (flash.cuh), eight columns after the other. `b`, and `a` where it is not in registers, lie in shared memory
 * in a warpgroup_tile and are read while the thread goes on, until warpgroup_wait.
 *
 * Other GPUs have none of this (ZB_HAS_WARPGROUPS). */
#pragma once

#include "kernels/cuda/device.cuh"

/* Panels of 64 columns, 128 bytes a row, whose eighths are permuted by the row: the tensor core reads it without
 * conflicts of banks, by rows and by columns. It begins at a multiple of 1,024 bytes. */
template <typename T, int D, int N> struct warpgroup_tile {
  T at[D / 64][N][64];
};
/* (row, column) of a tile, column a multiple of 8: 8 elements lie together. */
template <typename T, int D, int N> ZB_DEVICE T *eight_of(warpgroup_tile<T, D, N> &tile, int row, int column) {
  return &tile.at[column / 64][row][(column % 64 / 8 ^ row % 8) * 8];
}

/* How a tile lies, for the tensor core: by its rows (`b` is its transpose: N of its rows, 16 of its columns), or as it
 * is (16 of its rows, N of its columns, in panels that are `panel` bytes long). Addresses and lengths are in units of
 * 16 bytes; 128 bytes are what is permuted. */
enum { WARPGROUP_UNIT = 16, WARPGROUP_ROW = 128 / WARPGROUP_UNIT };
ZB_DEVICE uint64_t warpgroup_description(uint32_t address, uint32_t panel) {
  const uint64_t eight_rows = 8 * WARPGROUP_ROW, permuted_by_128 = 1;
  return (uint64_t)((address & 0x3ffff) / WARPGROUP_UNIT) | (uint64_t)(panel / WARPGROUP_UNIT) << 16 |
         eight_rows << 32 | permuted_by_128 << 62;
}

#ifdef __CUDACC__
ZB_DEVICE void *warpgroup_shared() {
  extern __shared__ __align__(1024) unsigned char zb_warpgroup_memory[];
  return zb_warpgroup_memory;
}
ZB_DEVICE uint64_t describe(const void *tile, uint32_t panel) {
  return warpgroup_description((uint32_t)__cvta_generic_to_shared(tile), panel);
}
#else
ZB_DEVICE void *warpgroup_shared() { return zb_shared(); }
ZB_DEVICE uint64_t describe(const void *tile, uint32_t panel) {
  return warpgroup_description((uint32_t)((const unsigned char *)tile - (const unsigned char *)zb_shared()), panel);
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ZB_HAS_WARPGROUPS 1
/* What this thread wrote to shared memory, copies that have arrived too, is seen by products behind the next barrier.
 */
ZB_DEVICE void warpgroup_publish() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
/* Sums and left operands in registers are as they should be. */
ZB_DEVICE void warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
ZB_DEVICE void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
/* All but the last LEFT commits are through. */
template <int LEFT> ZB_DEVICE void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(LEFT) : "memory");
}
/* The compiler leaves sums where they are, before products begin and after they were waited for. */
template <int N> ZB_DEVICE void hold(float (&sums)[N][4]) {
  ZB_UNROLL
  for (int n = 0; n < N; ++n)
    ZB_UNROLL
  for (int e = 0; e < 4; ++e)
    asm volatile("" : "+f"(sums[n][e]) : : "memory");
}

/* clang-format off */
#define SUMS_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15" \
                ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define SUMS_64 SUMS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
                        ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FOUR(n) "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
#define HELD_32 FOUR(0), FOUR(1), FOUR(2), FOUR(3), FOUR(4), FOUR(5), FOUR(6), FOUR(7)
#define HELD_64 HELD_32, FOUR(8), FOUR(9), FOUR(10), FOUR(11), FOUR(12), FOUR(13), FOUR(14), FOUR(15)
/* `more`: whether the sums are added to, or begin at 0. BY_COLUMNS: b is described as it is, not by its rows. H is half
 * of N, the sums of a lane; the numbers behind it are those of the operands behind them. */
#define WARPGROUP_PRODUCTS(T, N, H, i, j, k, l, m, n, o)                                                               \
  template <int BY_COLUMNS>                                                                                            \
  ZB_DEVICE void warpgroup_multiply(T, float (&sums)[N / 8][4], const uint32_t (&a)[4], uint64_t b, int more) {        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n ", 0;\n"                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #T "." #T " {" SUMS_##H "}, "                       \
                 "{%" #i ",%" #j ",%" #k ",%" #l "}, %" #m ", p, 1, 1, %" #o ";\n}"                                    \
                 : HELD_##H                                                                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(more), "n"(BY_COLUMNS));                    \
  }                                                                                                                    \
  template <int BY_COLUMNS>                                                                                            \
  ZB_DEVICE void warpgroup_multiply(T, float (&sums)[N / 8][4], uint64_t a, uint64_t b, int more) {                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #k ", 0;\n"                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #T "." #T " {" SUMS_##H "}, "                       \
                 "%" #i ", %" #j ", p, 1, 1, 0, %" #l ";\n}"                                                           \
                 : HELD_##H                                                                                            \
                 : "l"(a), "l"(b), "r"(more), "n"(BY_COLUMNS));                                                        \
  }
WARPGROUP_PRODUCTS(bf16, 64, 32, 32, 33, 34, 35, 36, 37, 38)
WARPGROUP_PRODUCTS(f16, 64, 32, 32, 33, 34, 35, 36, 37, 38)
WARPGROUP_PRODUCTS(bf16, 128, 64, 64, 65, 66, 67, 68, 69, 70)
WARPGROUP_PRODUCTS(f16, 128, 64, 64, 65, 66, 67, 68, 69, 70)
/* clang-format on */

#elif !defined(__CUDACC__)
#define ZB_HAS_WARPGROUPS 1
/* The emulation, from the descriptions. A product happens when it is waited for: what needs it before, or writes over
 * its operands, gets other bits. */
ZB_DEVICE void warpgroup_publish() { zb_emulated_publish(); }
ZB_DEVICE void warpgroup_begin() { zb_emulated_products_begin(); }
ZB_DEVICE void warpgroup_commit() { zb_emulated_products_commit(); }
template <int LEFT> ZB_DEVICE void warpgroup_wait() { zb_emulated_products_wait(LEFT); }
template <int N> ZB_DEVICE void hold(float (&)[N][4]) {}

template <typename T> ZB_DEVICE float emulated_element(uint64_t description, uint32_t offset) {
  uint32_t at = (uint32_t)(description & 0x3fff) * WARPGROUP_UNIT + offset;
  T element;
  memcpy(&element, (const unsigned char *)zb_shared() + (at ^ (at >> 7 & 7) << 4), sizeof element);
  return value_of(element);
}
template <int BY_COLUMNS, typename T, int N>
ZB_DEVICE void emulated_sums(float (&sums)[N][4], const float (&a)[2][16], uint64_t b, int more) {
  uint32_t lane = threadIdx.x % 32, panel = (uint32_t)(b >> 16 & 0x3fff) * WARPGROUP_UNIT;
  for (uint32_t n = 0; n < N; ++n)
    for (uint32_t e = 0; e < 4; ++e) {
      uint32_t column = n * 8 + lane % 4 * 2 + e % 2;
      uint32_t first = BY_COLUMNS ? column / 64 * panel + column % 64 * 2 : column * 128;
      float sum = more ? sums[n][e] : 0;
      for (uint32_t k = 0; k < 16; ++k)
        sum += a[e / 2][k] * emulated_element<T>(b, first + k * (BY_COLUMNS ? 128 : 2));
      sums[n][e] = sum;
    }
}
template <int BY_COLUMNS, typename T, int N>
ZB_DEVICE void warpgroup_multiply(T, float (&sums)[N][4], const uint32_t (&a)[4], uint64_t b, int more) {
  const unsigned char *all = zb_emulated_exchange(a, sizeof a);
  struct {
    float at[2][16];
  } left;
  for (uint32_t half = 0; half < 2; ++half)
    for (uint32_t k = 0; k < 16; ++k) {
      T element;
      memcpy(&element, all + 64 * (threadIdx.x % 32 / 4 * 4 + k % 8 / 2) + 4 * (half + k / 8 * 2) + 2 * (k % 2), 2);
      left.at[half][k] = value_of(element);
    }
  zb_emulated_product([&sums, left, b, more]() { emulated_sums<BY_COLUMNS, T>(sums, left.at, b, more); });
}
template <int BY_COLUMNS, typename T, int N>
ZB_DEVICE void warpgroup_multiply(T, float (&sums)[N][4], uint64_t a, uint64_t b, int more) {
  zb_emulated_product([&sums, a, b, more]() {
    uint32_t row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    float left[2][16];
    for (uint32_t half = 0; half < 2; ++half)
      for (uint32_t k = 0; k < 16; ++k)
        left[half][k] = emulated_element<T>(a, (row + half * 8) * 128 + k * 2);
    emulated_sums<BY_COLUMNS, T>(sums, left, b, more);
  });
}
#endif
