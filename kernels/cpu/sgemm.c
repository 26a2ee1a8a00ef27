/* Matrix products in f32, blocked for the caches (K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", 2008; F. Van Zee, R. van de Geijn, "BLIS", 2015).
 *
 * A block of rhs, DEPTH of k by BLOCK_COLUMNS, is packed into panels of PANEL columns with k outermost and stays in the
 * second cache. For each panel of up to ROWS rows of lhs, which then stay in the first, the inner loop goes over the
 * panels of rhs and keeps ROWS x PANEL sums in registers. lhs is read where it lies if its rows are dense. An element
 * is a sum over k in order, cut at places that depend on k alone: tiles and threads do not change its bits. Tests:
 * test/kernels/fast_matmul_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/sgemm.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"

#include <string.h>

/* Measured on AVX-512 with caches of 48 KiB and 2 MiB; 384 x 512 and 512 x 384 are within 3 %. Rows of packed lhs are
 * no power of two apart, or they would share the sets of a cache; rows at a multiple of SAME_SETS are packed for that
 * reason. Operands that a step of training reads are in no near cache: what comes next is asked for, AHEAD rows before
 * it is packed, LINE floats a time. Without that a product of 512 x 384 x 128 runs at 126 to 133 GFLOP/s instead of 140
 * to 146. */
enum {
  DEPTH = 512,
  BLOCK_COLUMNS = 512,
  BLOCK_ROWS = 112,
  LHS_STRIDE = DEPTH + 16,
  SAME_SETS = 1024,
  LINE = 16,
  AHEAD = 8,
  NEXT_MOST = 6144
};
_Static_assert((DEPTH * BLOCK_COLUMNS + BLOCK_ROWS * (LHS_STRIDE + 16)) * sizeof(float) <= ZB_SGEMM_PACK_BYTES,
               "a block of rhs, one of lhs");

/* Lines of an operand (rows of lhs, columns of rhs), each of the length k. */
typedef struct lines {
  const void *data;
  bool narrow;
  int64_t line_stride, depth_stride;
} lines;

static lines lines_from(lines x, int64_t line, int64_t depth) {
  int64_t offset = line * x.line_stride + depth * x.depth_stride;
  x.data = (const char *)x.data + offset * (int64_t)(x.narrow ? sizeof(uint16_t) : sizeof(float));
  return x;
}

/* Sums of one panel of lhs and one of rhs go to `columns` columns of out. */
typedef struct micro_call {
  int64_t depth, columns;
  const float *lhs, *rhs, *start;
  int64_t row_stride, depth_stride; /* of lhs */
  int64_t start_stride, out_stride;
  float *out;
  float alpha;
  bool near;
} micro_call;

/* A block of lhs as the inner loop reads it. */
typedef struct lhs_block {
  const float *data;
  int64_t row_stride, depth_stride; /* within a panel */
  int64_t panel_stride, panel_rows;
  bool in_place; /* not packed */
} lhs_block;

typedef void (*micro_run)(const micro_call *call);
typedef void (*sgemm_run)(const zb_sgemm_call *call, float *pack);

#define ZB_ISA_BODY "kernels/cpu/sgemm.c"
#include "kernels/cpu/isa_each.h"

void zb_sgemm(const zb_sgemm_call *call, float *pack) {
  static const sgemm_run runs[] = ZB_ISA_ROW(sgemm);
  runs[zb_isa()](call, pack);
}

#else /* ---- For one instruction set ---- */

#undef ROWS
#undef PANEL
#if ZB_ISA_LEVEL == 2 /* 32 registers of vectors: 28 sums, two of rhs, one of lhs; else 16: 12 sums */
#define ROWS 14
#else
#define ROWS 6
#endif
#define PANEL (2 * V_LANES)

/* ---- Packing ---- */

/* `count` (V_LANES at most) elements from `offset` on as f32, zeros after them. */
V_INLINE vf ZB_ISA(load_line)(lines x, bool narrow, int64_t offset, int64_t count) {
  if (!narrow)
    return count >= V_LANES ? v_load((const float *)x.data + offset)
                            : v_load_part((const float *)x.data + offset, count);
  typedef uint16_t narrow_lanes __attribute__((vector_size(2 * V_LANES)));
  narrow_lanes bits = {0};
  memcpy(&bits, (const uint16_t *)x.data + offset, (size_t)(count >= V_LANES ? V_LANES : count) * sizeof(uint16_t));
  return v_float(__builtin_convertvector(bits, vi) << 16);
}

/* A hint: the address may lie beyond the operand. */
V_INLINE void ZB_ISA(ask_for)(lines x, bool narrow, int64_t offset) {
  __builtin_prefetch(
      (const void *)((uintptr_t)x.data + (uintptr_t)offset * (narrow ? sizeof(uint16_t) : sizeof(float))));
}

V_INLINE float ZB_ISA(load_element)(lines x, bool narrow, int64_t offset) {
  if (!narrow) return ((const float *)x.data)[offset];
  return zb_bf16_value(((const uint16_t *)x.data)[offset]);
}

/* Lane j of vector i goes to lane i of vector j. */
V_INLINE void ZB_ISA(transpose)(vf x[V_LANES]) {
#if V_LANES == 16
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif V_LANES == 8
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
  const vi lane = {0, 1, 2, 3};
#endif
#pragma GCC unroll 4
  for (int step = 1; step < V_LANES; step *= 2) {
    const vi odd = (lane & step) != 0, low = lane + (odd & (V_LANES - step)), high = low + step;
#pragma GCC unroll 16
    for (int i = 0; i < V_LANES; ++i) {
      if (i & step) continue;
      vf a = x[i], b = x[i + step];
      x[i] = __builtin_shuffle(a, b, low);
      x[i + step] = __builtin_shuffle(a, b, high);
    }
  }
}

/* One panel of `width` <= PANEL lines that are dense along k: element p of line i to to[p * PANEL + i]. What is beside
 * them is unspecified. */
V_INLINE void ZB_ISA(pack_turned)(float *restrict to, lines x, bool narrow, int64_t width, int64_t depth) {
  for (int64_t i = 0; i < width; i += V_LANES) {
    int64_t p = 0, last = zb_min64(V_LANES, width - i) - 1;
    for (; p + V_LANES <= depth; p += V_LANES) {
      vf block[V_LANES];
#pragma GCC unroll 16
      for (int k = 0; k < V_LANES; ++k)
        block[k] = ZB_ISA(load_line)(x, narrow, (i + zb_min64(k, last)) * x.line_stride + p, V_LANES);
      ZB_ISA(transpose)(block);
#pragma GCC unroll 16
      for (int k = 0; k < V_LANES; ++k)
        v_store(to + (p + k) * PANEL + i, block[k]);
    }
    for (; p < depth; ++p)
      for (int64_t k = i; k <= i + last; ++k)
        to[p * PANEL + k] = ZB_ISA(load_element)(x, narrow, k * x.line_stride + p);
  }
}

/* Panels of lines that lie next to each other: read along the lines, as the hardware fetches ahead. */
V_INLINE void ZB_ISA(pack_beside)(float *restrict to, lines x, bool narrow, int64_t width, int64_t depth) {
  for (int64_t p = 0; p < depth; ++p) {
    int64_t i = 0, from = p * x.depth_stride;
    float *row = to + p * PANEL;
    for (; i + PANEL <= width; i += PANEL, row += PANEL * depth) {
      for (int k = 0; k < PANEL; k += LINE)
        ZB_ISA(ask_for)(x, narrow, from + 2 * AHEAD * x.depth_stride + i + k);
      v_store(row, ZB_ISA(load_line)(x, narrow, from + i, V_LANES));
      v_store(row + V_LANES, ZB_ISA(load_line)(x, narrow, from + i + V_LANES, V_LANES));
    }
    for (; i < width; i += V_LANES, row += V_LANES)
      v_store(row, ZB_ISA(load_line)(x, narrow, from + i, width - i));
  }
}

V_INLINE void ZB_ISA(pack_any)(float *restrict to, lines x, bool narrow, int64_t width, int64_t depth) {
  for (int64_t i = 0; i < width; ++i)
    for (int64_t p = 0; p < depth; ++p)
      to[i / PANEL * PANEL * depth + p * PANEL + i % PANEL] =
          ZB_ISA(load_element)(x, narrow, i * x.line_stride + p * x.depth_stride);
}

/* A block of rhs: panels of PANEL columns, depth x PANEL each. */
V_INLINE void ZB_ISA(pack_rhs_as)(float *to, lines x, bool narrow, int64_t width, int64_t depth) {
  if (x.line_stride == 1) {
    ZB_ISA(pack_beside)(to, x, narrow, width, depth);
  } else if (x.depth_stride == 1) {
    for (int64_t i = 0; i < width; i += PANEL)
      ZB_ISA(pack_turned)(to + i * depth, lines_from(x, i, 0), narrow, zb_min64(PANEL, width - i), depth);
  } else {
    ZB_ISA(pack_any)(to, x, narrow, width, depth);
  }
}

static void ZB_ISA(pack_rhs)(float *to, lines x, int64_t width, int64_t depth) {
  if (x.narrow)
    ZB_ISA(pack_rhs_as)(to, x, true, width, depth);
  else
    ZB_ISA(pack_rhs_as)(to, x, false, width, depth);
}

/* A block of lhs: rows that are dense along k become rows LHS_STRIDE apart, else each panel has k outermost. */
V_INLINE lhs_block ZB_ISA(pack_lhs_as)(float *to, lines x, bool narrow, int64_t rows, int64_t panel, int64_t depth) {
  if (x.depth_stride == 1) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = 0; p < depth; p += V_LANES)
        v_store(to + i * LHS_STRIDE + p, ZB_ISA(load_line)(x, narrow, i * x.line_stride + p, depth - p));
    return (lhs_block){to, LHS_STRIDE, 1, panel * LHS_STRIDE, panel, false};
  }
  int64_t panel_stride = panel * depth + V_LANES; /* the last store of a panel goes beyond its end */
  for (int64_t p = 0; p < depth; ++p) {
    float *at = to + p * panel;
    int64_t from = p * x.depth_stride;
    for (int64_t i = 0; i < rows; i += LINE)
      ZB_ISA(ask_for)(x, narrow, from + AHEAD * x.depth_stride + i);
    for (int64_t i = 0; i < rows; i += panel, at += panel_stride) {
      int64_t some = zb_min64(panel, rows - i);
      for (int64_t k = 0; k < some && x.line_stride == 1; k += V_LANES)
        v_store(at + k, ZB_ISA(load_line)(x, narrow, from + i + k, rows - i - k));
      for (int64_t k = 0; k < some && x.line_stride != 1; ++k)
        at[k] = ZB_ISA(load_element)(x, narrow, from + (i + k) * x.line_stride);
    }
  }
  return (lhs_block){to, 1, panel, panel_stride, panel, false};
}

static lhs_block ZB_ISA(pack_lhs)(float *to, lines x, int64_t rows, int64_t panel, int64_t depth) {
  return x.narrow ? ZB_ISA(pack_lhs_as)(to, x, true, rows, panel, depth)
                  : ZB_ISA(pack_lhs_as)(to, x, false, rows, panel, depth);
}

/* ---- The inner loop ---- */

/* Where the rows of a panel lie: rows 0 and 7, and distances of some rows in bytes. An address is then one of the two
 * and a distance, or four times one, which x86 adds in the instruction. */
typedef struct ZB_ISA(rows_at) {
  const char *first, *seventh;
  int64_t one, two, three, five, six;
} ZB_ISA(rows_at);

V_INLINE vf ZB_ISA(broadcast_row)(const int row, const ZB_ISA(rows_at) * at) {
  const int i = row % 7;
  const int64_t distance = i == 0   ? 0
                           : i == 1 ? at->one
                           : i == 2 ? at->two
                           : i == 3 ? at->three
                           : i == 4 ? at->one * 4
                           : i == 5 ? at->five
                                    : at->six;
  return v_set(*(const float *)((row < 7 ? at->first : at->seventh) + distance));
}

V_INLINE void ZB_ISA(micro)(const int rows, const micro_call *c) {
  vf sums[ROWS][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
    sums[i][0] = sums[i][1] = v_set(0);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    if (c->near) continue;
    __builtin_prefetch(c->out + i * c->out_stride, 1);
    __builtin_prefetch(c->out + i * c->out_stride + zb_min64(V_LANES, c->columns - 1), 1);
  }
  int64_t one = c->row_stride * (int64_t)sizeof(float), step = c->depth_stride * (int64_t)sizeof(float);
  ZB_ISA(rows_at) at = {(const char *)c->lhs, (const char *)c->lhs + 7 * one, one, 2 * one, 3 * one, 5 * one, 6 * one};
  for (const float *rhs = c->rhs, *end = rhs + c->depth * PANEL; rhs != end; rhs += PANEL) {
    vf left = v_load(rhs), right = v_load(rhs + V_LANES);
    __asm__(""
            : "+r"(at.one), "+r"(at.two), "+r"(at.three), "+r"(at.five),
              "+r"(at.six)); /* else the multiples are kept, and there are not enough registers */
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      vf x = ZB_ISA(broadcast_row)(i, &at);
      sums[i][0] = v_fma(x, left, sums[i][0]);
      sums[i][1] = v_fma(x, right, sums[i][1]);
    }
    at.first += step;
    at.seventh += step;
  }
  vf alpha = v_set(c->alpha);
  float *out = c->out;
  const float *start = c->start;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      int64_t left = c->columns - j * V_LANES;
      if (left >= V_LANES) {
        v_store(out + j * V_LANES, v_fma(alpha, sums[i][j], start ? v_load(start + j * V_LANES) : v_set(0)));
      } else if (left > 0) {
        v_store_part(out + j * V_LANES,
                     v_fma(alpha, sums[i][j], start ? v_load_part(start + j * V_LANES, left) : v_set(0)), left);
      }
    }
    out += c->out_stride;
    start = start ? start + c->start_stride : NULL;
  }
}

#undef MICROS
#if ROWS == 14
#define MICROS(row)                                                                                                    \
  row(1) row(2) row(3) row(4) row(5) row(6) row(7) row(8) row(9) row(10) row(11) row(12) row(13) row(14)
#else
#define MICROS(row) row(1) row(2) row(3) row(4) row(5) row(6)
#endif
#define MICRO(rows)                                                                                                    \
  static void ZB_ISA(micro_##rows)(const micro_call *c) { ZB_ISA(micro)(rows, c); }
MICROS(MICRO)
#undef MICRO
#define MICRO(rows) ZB_ISA(micro_##rows),
static const micro_run ZB_ISA(micros)[] = {NULL, MICROS(MICRO)};
#undef MICRO

/* ---- Blocks ---- */

/* Rows row..row+rows-1 of the result, at the columns and the part of k that are packed. */
static void ZB_ISA(block)(const zb_sgemm_call *call, int64_t row, int64_t rows, int64_t column, int64_t columns,
                          bool first, int64_t depth, lhs_block lhs, const float *rhs) {
  const float *start = first ? call->start : call->out;
  micro_call c = {.depth = depth, .row_stride = lhs.row_stride, .depth_stride = lhs.depth_stride, .alpha = call->alpha};
  c.near = call->near;
  c.start_stride = first ? call->start_stride : call->out_stride;
  c.out_stride = call->out_stride;
  c.lhs = lhs.data;
  for (int64_t i = 0; i < rows; i += lhs.panel_rows, c.lhs += lhs.panel_stride) {
    micro_run run = ZB_ISA(micros)[zb_min64(lhs.panel_rows, rows - i)];
    /* While this panel is worked on, the next one comes, if it was not packed just now and both fit the first cache. */
    int64_t lines_a_row = zb_ceil_div(depth, LINE), next_rows = zb_min64(lhs.panel_rows, rows - i - lhs.panel_rows);
    int64_t next_lines = lhs.in_place && !call->near && next_rows > 0 && lhs.panel_rows * depth <= NEXT_MOST
                             ? lines_a_row * next_rows
                             : 0,
            line = 0;
    int64_t share = zb_ceil_div(next_lines, zb_ceil_div(columns, PANEL));
    for (int64_t j = 0; j < columns; j += PANEL) {
      c.columns = zb_min64(PANEL, columns - j);
      c.rhs = rhs + j * depth;
      c.out = call->out + (row + i) * call->out_stride + column + j;
      c.start = start ? start + (row + i) * c.start_stride + column + j : NULL;
      for (int64_t part = 0; part < share && line < next_lines; ++part, ++line)
        __builtin_prefetch(c.lhs + lhs.panel_stride + line / lines_a_row * lhs.row_stride + line % lines_a_row * LINE);
      run(&c);
    }
  }
}

static void ZB_ISA(sgemm)(const zb_sgemm_call *call, float *pack) {
  lines lhs = {call->lhs.data, call->lhs.narrow, call->lhs.row_stride, call->lhs.column_stride};
  lines rhs = {call->rhs.data, call->rhs.narrow, call->rhs.column_stride, call->rhs.row_stride};
  bool direct = lhs.depth_stride == 1 && !lhs.narrow && lhs.line_stride % SAME_SETS != 0;
  int64_t block_columns = zb_part_size(call->n, BLOCK_COLUMNS, PANEL),
          block_rows = zb_part_size(call->m, BLOCK_ROWS, 1);
  int64_t block_depth = zb_max64(1, zb_part_size(call->k, DEPTH, 1)), panel = zb_part_size(block_rows, ROWS, 1);
  for (int64_t column = 0; column < call->n; column += block_columns) {
    int64_t columns = zb_min64(block_columns, call->n - column);
    for (int64_t p = 0; p == 0 || p < call->k; p += block_depth) { /* once for an empty sum */
      int64_t depth = zb_min64(block_depth, call->k - p);
      ZB_ISA(pack_rhs)(pack, lines_from(rhs, column, p), columns, depth);
      for (int64_t row = 0; row < call->m; row += block_rows) {
        int64_t rows = zb_min64(block_rows, call->m - row);
        lines from = lines_from(lhs, row, p);
        lhs_block block = {from.data, lhs.line_stride, 1, panel * lhs.line_stride, panel, true};
        if (!direct) block = ZB_ISA(pack_lhs)(pack + BLOCK_COLUMNS * DEPTH, from, rows, panel, depth);
        ZB_ISA(block)(call, row, rows, column, columns, p == 0, depth, block, pack);
      }
    }
  }
}
#endif
