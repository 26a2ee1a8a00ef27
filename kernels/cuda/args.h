/* What host code passes to device code: one structure a family of kernels, by value, the only parameter of a launch.
 *
 * Included by C (*.c here), by nvcc and by the CPU emulation of the tests, so only plain types. Pointers are device
 * addresses: the host never reads through them. Counts and strides are in elements.
 */
#pragma once

#include "runtime/base/map.h"
#include "zb/base.h"

/* Some dimensions of an operand, as positions 0.. in row-major order; neighbours merged, never empty: rank >= 1. */
typedef struct zb_cuda_dims {
  int32_t rank;
  int32_t narrow; /* all positions fit in 32 bits */
  int64_t shape[ZB_DIMS_MAX], stride[ZB_DIMS_MAX];
} zb_cuda_dims;

/* Where a kernel puts a value that its op cannot take. The first one written stays until the host clears `set`. */
typedef struct zb_cuda_fault_record {
  int32_t set;
  int32_t instruction; /* the number that the launcher had */
  int32_t kind;        /* zb_cuda_fault_kind */
  int32_t padding;
  int64_t value, least, most;
} zb_cuda_fault_record;

typedef struct zb_cuda_fault_place {
  zb_cuda_fault_record *record;
  int32_t instruction;
} zb_cuda_fault_place;

/* ---- Elementwise: map.cu ---- */

/* How the elements of a group of a map lie in an operand. */
enum { ZB_GROUP_STRIDED, ZB_GROUP_DENSE, ZB_GROUP_REPEATED };

enum { ZB_MAP_OPERANDS = 3, ZB_MAP_THREADS = 256 };
typedef struct zb_map_args {
  void *out, *second; /* the second result of ops that have two */
  const void *in[ZB_MAP_OPERANDS];
  int64_t elements;
  int32_t group[ZB_MAP_OPERANDS], out_group, second_group;
  int32_t in_dtype, out_dtype; /* of cast and accumulate, which take any pair */
  int32_t flag, accumulate;
  double a, b;
  zb_cuda_fault_place fault;
  zb_cuda_dims dims[ZB_MAP_OPERANDS];
} zb_map_args;

/* iota and triangle: out = start + step * (position along the axis), or one of two values by the place in the last two
 * dimensions. */
typedef struct zb_fill_args {
  void *out;
  int64_t elements;
  int32_t dtype;
  int64_t inner, size; /* iota: position / inner % size; triangle: rows `inner`, columns `size` */
  int64_t diagonal;
  double a, b; /* start and step; lower and upper */
} zb_fill_args;

/* rotary and its gradient: rotary.cu. A thread takes a group of the first half of a row, and of the second. */
typedef struct zb_rotary_args {
  void *out;
  const void *x, *cos, *sin;
  int64_t rows, half, row_groups;          /* row_groups: threads a row */
  int64_t x_step, cos_step, sin_step;      /* strides of the last dimension */
  int32_t table_dtype, back, group;        /* group: how x lies; out is dense then too */
  int32_t table_group;                     /* how both tables lie */
  zb_cuda_dims x_rows, cos_rows, sin_rows; /* the dimensions before it */
} zb_rotary_args;

/* dropout: dropout.cu. A thread takes a call of Philox, which is four elements. */
typedef struct zb_dropout_args {
  void *out;
  const void *x;
  const int64_t *counter;
  int64_t elements, op, threshold;
  double scale;
  zb_cuda_dims dims;
} zb_dropout_args;

/* uniform: dropout.cu, likewise. */
typedef struct zb_uniform_args {
  void *out;
  const int64_t *counter;
  int64_t elements, op;
  int32_t whole; /* i64, else f32 */
} zb_uniform_args;

/* ---- Moves: move.cu. out[..] = in[..] for two lists of dimensions of equal size ---- */

enum { ZB_MOVE_THREADS = 256 };
typedef struct zb_move_args {
  void *out;
  const void *in;
  int64_t elements; /* of the unit that is moved: 1, 2, 4, 8 or 16 bytes */
  zb_cuda_dims out_dims, in_dims;
} zb_move_args;

/* gather: position p of out is data[outer][index][inner], with index = indices[(p / inner_size) % index_count]. */
typedef struct zb_gather_args {
  void *out;
  const void *data;
  const void *indices;
  int64_t elements, inner_size, index_count, axis_size, axis_stride, least; /* least: index that is taken */
  int32_t index_dtype, by_element;
  zb_cuda_fault_place fault;
  zb_cuda_dims index_dims, outer_dims, inner_dims; /* by element: index_dims and outer_dims over the whole of out */
} zb_gather_args;

/* gather_grad: ddata[outer][index][inner] += dout. */
enum { ZB_SORT_THREADS = 1024, ZB_SORT_DIGIT_BITS = 4, ZB_SORT_DIGITS = 16 };
typedef struct zb_sort_args {
  const void *indices;
  int32_t *positions,
      *other; /* index_count each: places in `indices`, in the order of what is there; result in `positions` */
  int64_t index_count, axis_size;
  int32_t index_dtype, passes;
  zb_cuda_fault_place fault;
  zb_cuda_dims index_dims;
} zb_sort_args;

enum { ZB_SCATTER_THREADS = 128 };
typedef struct zb_scatter_args {
  void *ddata;
  const void *indices, *dout;
  const int32_t *positions;
  int64_t outer_size, index_count, inner_size, axis_size;
  int32_t index_dtype, data_dtype, dout_dtype;
  zb_cuda_fault_place fault;
  zb_cuda_dims index_dims;
  zb_cuda_dims dout_dims; /* of (outer, index, inner) as one list; by element: lines (all but the axis) */
  int64_t dout_axis_stride, index_axis_stride, axis_stride; /* by element only */
  zb_cuda_dims data_dims;                                   /* by element only: the lines of ddata */
} zb_scatter_args;

/* scatter: places of rows are replaced by the last, or get the sum, of the updates of a run of equal indices. */
enum zb_put_reduction { ZB_PUT_NONE, ZB_PUT_ADD, ZB_PUT_MUL, ZB_PUT_MIN, ZB_PUT_MAX, ZB_PUT_COUNT };
typedef struct zb_put_args {
  void *out;
  const void *indices, *updates;
  const int32_t *positions;
  int64_t index_count, inner_size, axis_size;
  int32_t index_dtype, dtype, reduction; /* one of zb_put_reduction */
  zb_cuda_fault_place fault;
  zb_cuda_dims index_dims, update_dims; /* update_dims: of (index, inner) as one list */
} zb_put_args;

typedef struct zb_ravel_args {
  int64_t *out;
  const void *indices;
  int64_t tuples, entry_stride;
  int64_t shape[ZB_DIMS_MAX];
  int32_t index_dtype, count;
  zb_cuda_fault_place fault;
  zb_cuda_dims tuple_dims;
} zb_ravel_args;

/* cumsum: a thread owns a line along the axis. */
typedef struct zb_cumsum_args {
  void *out;
  const void *x;
  int64_t lines, size, x_step, out_step;
  int32_t dtype, exclusive;
  zb_cuda_dims x_lines, out_lines;
} zb_cumsum_args;

/* top_k: a thread owns a line along the axis, and looks through it k times. */
typedef struct zb_top_k_args {
  int64_t *out;
  const void *x;
  int64_t lines, size, k, x_step, out_step;
  int32_t dtype, largest;
  zb_cuda_dims x_lines, out_lines;
} zb_top_k_args;

/* ---- Reductions: reduce.cu ---- */

enum { ZB_REDUCE_THREADS = 256 };
typedef struct zb_reduce_args {
  const void *in;
  void *out; /* [splits][kept]: splits > 1 are partial results in f32 or i64 */
  int64_t kept, reduced;
  int64_t part; /* positions of `reduced` a split */
  double count; /* 0, or what a mean divides by */
  int32_t out_dtype, accumulate;
  int32_t dense; /* columns: a thread takes 16 bytes of neighbouring results, else one result */
  zb_cuda_dims kept_dims, reduced_dims;
} zb_reduce_args;

/* ---- Rows: softmax.cu, norm.cu, loss.cu. One block a row ---- */

enum { ZB_ROW_THREADS = 256 };
typedef struct zb_row_operand {
  void *data;
  int32_t dtype; /* data == NULL: absent */
  int32_t dense; /* groups of a row can be moved at once */
  zb_cuda_dims rows, along;
} zb_row_operand;

typedef struct zb_softmax_args {
  int64_t rows, size;
  int32_t logarithm;
  zb_row_operand x, dout, out; /* x: of the gradient, `out` */
} zb_softmax_args;

typedef struct zb_norm_args {
  void *out, *mean, *rstd;
  void *narrow; /* out, which is f32 then, once more as the cast after the norm makes it; NULL: there is none */
  int32_t out_dtype, mean_dtype, rstd_dtype;
  int32_t centered;
  int32_t dense_out; /* groups of out can be written at once */
  int32_t narrow_dtype, dense_narrow;
  int32_t plain; /* norm_grad_scale: x and dout are dense, they and the statistics, in f32, have one stride from row to
                    row */
  int64_t rows, size;
  double epsilon;
  int64_t part; /* norm_grad_scale: rows a split */
  zb_row_operand x, scale, bias, saved_mean, saved_rstd, dout, residual;
} zb_norm_args;

enum { ZB_LOSS_MEAN, ZB_LOSS_SUM, ZB_LOSS_NONE };
enum { ZB_LOSS_SUM_THREADS = 1024 };
typedef struct zb_loss_args {
  const void *scores, *labels, *saved_lse, *dloss;
  void *loss, *lse, *dscores;
  float *weight; /* of a row, made by the kernel that counts, read by the gradient */
  int64_t rows, classes, class_stride;
  int64_t ignore_index;
  int32_t ignores, reduction;
  int32_t label_dtype, score_dtype, lse_dtype, loss_dtype;
  int32_t dense, dense_out;    /* groups of scores, of dscores, lie so that they can be moved at once; of the gradient:
                                  scores are of its type too */
  int32_t negative_likelihood; /* nll_loss: scores are log-probabilities, there is no lse */
  zb_cuda_fault_place fault;
  zb_cuda_dims score_rows, label_rows, lse_rows, dloss_rows;
} zb_loss_args;

/* ---- The norm of all gradients: clip.cu. Half a warp a block of 4,096 ---- */

enum { ZB_PART_THREADS = 256, ZB_PART_BLOCK = 4096, ZB_PART_LANES = 16, ZB_CLIP_THREADS = 32 };
typedef struct zb_part_args {
  const void *in; /* the operand, then sums of its blocks */
  double *out;    /* one a block */
  int64_t elements;
  double scale; /* of the last sum, squared for squares; else 1 */
  int32_t largest;
  zb_cuda_dims dims; /* of the operand */
} zb_part_args;

typedef struct zb_clip_args {
  const double *parts;
  const int64_t *step;
  double *scaled_step;
  float *norm;
  const double *max_norm;
  int64_t count, stride; /* of the parts of the norm; weighted: a sum of losses and one of weights are behind them */
  int32_t largest, weighted;
} zb_clip_args;

/* ---- Optimizers: optimizer.cu. All parameters of a subprogram in one launch ---- */

/* Up to ZB_UPDATE_TENSORS lie in the arguments (4,096 bytes, what every driver takes), more in a table in device
 * memory. */
enum {
  ZB_UPDATE_THREADS = 256,
  ZB_UPDATE_ELEMENTS = 4096,
  ZB_UPDATE_TENSORS = 62,
  ZB_UPDATE_BASES = 8,
  ZB_UPDATE_NONE = 255
};
/* Where an operand lies: bytes from a base, of which the arguments have the address. So a table serves wherever the
 * bases are. */
typedef struct zb_update_tensor {
  uint64_t parameter, gradient, first,
      second;        /* parameter, exp_avg and exp_avg_sq (or the momentum buffer) are updated in place */
  uint64_t settings; /* learning rate and weight decay, f64 */
  int64_t elements;
  int32_t first_block;
  uint8_t parameter_base, gradient_base, first_base, second_base, settings_base; /* ZB_UPDATE_NONE: absent */
  uint8_t parameter_dtype, gradient_dtype, state_dtype;
  uint8_t dense; /* all operands f32 */
} zb_update_tensor;

typedef struct zb_update_args {
  uint64_t bases[ZB_UPDATE_BASES]; /* addresses */
  const zb_update_tensor *table;   /* NULL: tensors */
  const void *step;
  double beta1, beta2, eps, gradient_scale; /* sgd: beta1 is momentum, beta2 is dampening */
  int32_t tensor_count, nesterov, step_dtype;
  zb_update_tensor tensors[ZB_UPDATE_TENSORS];
} zb_update_args;

/* ---- Products: matmul.cu, for what cuBLASLt does not take ---- */

enum { ZB_MATMUL_THREADS = 256, ZB_MATMUL_TILE = 64, ZB_MATMUL_DEPTH = 16 };
typedef struct zb_matmul_args {
  const void *lhs, *rhs;
  void *out;
  const void *bias; /* [n] of the type of out, or NULL */
  int64_t m, n, k;
  int64_t lhs_row, lhs_column, rhs_row, rhs_column; /* strides */
  int32_t out_dtype, accumulate;
  zb_cuda_dims lhs_batch, rhs_batch;
} zb_matmul_args;

/* ---- Convolutions and windows: window.cu ---- */

enum { ZB_WINDOW_THREADS = 128, ZB_WINDOW_SPATIAL = 3 };
/* One dimension: window o reads the places o * stride - before + k * dilation within 0..in-1, k < kernel. */
typedef struct zb_window_dimension {
  int64_t in, out, kernel, stride, dilation, before;
} zb_window_dimension;

/* images [batch, groups * channels, in], results [batch, groups * filters, out], weight [groups * filters, channels,
 * kernel], with the strides of their five dimensions; the one that the op makes is `made`. max_place: images [batch,
 * in], made dense. */
typedef struct zb_window_args {
  const void *images, *results, *weight;
  void *made;
  int64_t elements; /* of what is made */
  int64_t batch, groups, channels, filters;
  int64_t image_strides[5], result_strides[5], weight_strides[5];
  zb_window_dimension d[ZB_WINDOW_SPATIAL];
  int32_t made_dtype, accumulate;
  zb_cuda_dims image_dims; /* max_place: the dimensions before the spatial ones */
} zb_window_args;

/* ---- Attention: attention.cu ---- */

enum { ZB_ATTENTION_THREADS = 128, ZB_ATTENTION_TILE = 32, ZB_ATTENTION_WIDTH_MAX = 256 };
/* hopper.cu: rows of all its tiles. */
enum { ZB_HOPPER_TILE = 64 };
/* flash.cu: on tensor cores, rows of a block, of the tiles of keys that it goes over with heads of up to 64 and 128
 * columns, and of the tiles that its gradients go over. */
enum { ZB_FLASH_ROWS = 64, ZB_FLASH_KEYS_64 = 64, ZB_FLASH_KEYS_128 = 32, ZB_FLASH_GRADIENT_TILE = 32 };
typedef struct zb_attention_operand {
  const void *data;
  int64_t batch, token, head, column; /* strides */
} zb_attention_operand;

typedef struct zb_attention_args {
  zb_attention_operand q, k, v, out, dout; /* out: of the gradient, an operand */
  void *result, *lse_out;                  /* forward */
  void *dq, *dk, *dv;                      /* gradient */
  float *statistics; /* gradient, flash.cu: lse and delta of every query, from one kernel to the next */
  const void *mask, *lse;
  int64_t mask_strides[4], lse_strides[3];
  int64_t batch, queries, keys, heads, kv_heads, group;
  int32_t width, value_width, causal;
  int32_t mask_dtype, lse_dtype;
  float scale;
  const int64_t *counter; /* read if it drops */
  int64_t op, threshold;
  float kept; /* what stays is multiplied by this */
  int32_t drops;
} zb_attention_args;
