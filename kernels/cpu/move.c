/* Data movement: contiguous, concat, slice_grad, gather and its gradient, scatter, for any element type.
 *
 * A strided copy is a loop over runs: dense runs are memcpy, a dense dimension that is not the last one is copied by
 * square blocks, so that both sides use whole cache lines. Tests: test/kernels/fast_move_test.c
 */
#include "kernels/cpu/common.h"
#include "kernels/cpu/kernels.h"

#include <string.h>

enum { BLOCK = 16 };

/* ---- Strided copies: both sides may have strides ---- */

typedef struct copy {
  zb_loop loop; /* operands: to, from */
  char *to;
  const char *from;
  int bytes;             /* of an element */
  int crossing;          /* dimension where `from` is dense while the last one is not, or -1 */
  int64_t blocks_across; /* blocks of the crossing dimension */
  int64_t tile_rows;
} copy;

/* Moves one run of elements with strides. */
static void copy_run(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, int bytes) {
  if (to_stride == 1 && from_stride == 1) {
    memcpy(to, from, (size_t)(count * bytes));
    return;
  }
#define COPY_AS(type)                                                                                                  \
  for (int64_t i = 0; i < count; ++i)                                                                                  \
  memcpy(to + i * to_stride * (int64_t)sizeof(type), from + i * from_stride * (int64_t)sizeof(type), sizeof(type))
  switch (bytes) {
  case 1:
    COPY_AS(uint8_t);
    break;
  case 2:
    COPY_AS(uint16_t);
    break;
  case 4:
    COPY_AS(uint32_t);
    break;
  default:
    COPY_AS(uint64_t);
    break;
  }
#undef COPY_AS
}

/* A tile of rows: the last dimension is a run. */
static void copy_rows_tile(void *context, int64_t tile, void *scratch) {
  const copy *c = context;
  const zb_loop *loop = &c->loop;
  int last = loop->rank - 1;
  int64_t length = last < 0 ? 1 : loop->shape[last], rows = loop->elements / length;
  int64_t to_stride = last < 0 ? 1 : loop->strides[0][last], from_stride = last < 0 ? 1 : loop->strides[1][last];
  int64_t end = zb_min64((tile + 1) * c->tile_rows, rows);
  (void)scratch;
  zb_cursor cursor;
  zb_cursor_init(&cursor, loop, last < 0 ? 0 : last, tile * c->tile_rows);
  for (int64_t row = tile * c->tile_rows; row < end; ++row, zb_cursor_next(&cursor, loop))
    copy_run(c->to + cursor.offset[0] * c->bytes, to_stride, c->from + cursor.offset[1] * c->bytes, from_stride, length,
             c->bytes);
}

/* A BLOCK x BLOCK block of 4-byte elements, read along one dimension and written along the other. */
static void cross_block(uint32_t *to, int64_t to_stride, const uint32_t *from, int64_t from_stride, int64_t across,
                        int64_t along) {
  if (across == BLOCK && along == BLOCK) {
    uint32_t block[BLOCK][BLOCK];
    for (int j = 0; j < BLOCK; ++j)
      for (int i = 0; i < BLOCK; ++i)
        block[i][j] = from[j * from_stride + i];
    for (int i = 0; i < BLOCK; ++i)
      memcpy(to + i * to_stride, block[i], sizeof block[i]);
    return;
  }
  for (int64_t i = 0; i < across; ++i)
    for (int64_t j = 0; j < along; ++j)
      to[i * to_stride + j] = from[j * from_stride + i];
}

/* A tile: BLOCK positions of the crossing dimension, for one position of the others, all along the last dimension. */
static void copy_cross_tile(void *context, int64_t tile, void *scratch) {
  const copy *c = context;
  const zb_loop *loop = &c->loop;
  int last = loop->rank - 1;
  int64_t outer = tile / c->blocks_across, first = tile % c->blocks_across * BLOCK;
  int64_t across = zb_min64(BLOCK, loop->shape[c->crossing] - first), length = loop->shape[last];
  int64_t to = first * loop->strides[0][c->crossing], from = first * loop->strides[1][c->crossing];
  (void)scratch;
  for (int d = last - 1; d >= 0; --d) {
    if (d == c->crossing) continue;
    to += outer % loop->shape[d] * loop->strides[0][d];
    from += outer % loop->shape[d] * loop->strides[1][d];
    outer /= loop->shape[d];
  }
  uint32_t *out = (uint32_t *)(void *)c->to + to;
  const uint32_t *in = (const uint32_t *)(const void *)c->from + from;
  int64_t along = loop->strides[1][last];
  for (int64_t j = 0; j < length; j += BLOCK) {
    for (int64_t k = j + BLOCK; k < zb_min64(j + 2 * BLOCK, length); ++k)
      __builtin_prefetch(in + k * along); /* far apart: not foreseen */
    cross_block(out + j, loop->strides[0][c->crossing], in + j * along, along, across, zb_min64(BLOCK, length - j));
  }
}

/* A long run is cut into pieces, so that one big dense copy has tiles. */
static void copy_dense_tile(void *context, int64_t tile, void *scratch) {
  const copy *c = context;
  int64_t first = tile * ZB_TILE_ELEMENTS, count = zb_min64(ZB_TILE_ELEMENTS, c->loop.elements - first);
  (void)scratch;
  memcpy(c->to + first * c->bytes, c->from + first * c->bytes, (size_t)(count * c->bytes));
}

/* Copies `from` into `to` (same shape, same type, any strides). */
static void copy_strided(zb_threads *threads, const zb_tensor *to, const zb_tensor *from) {
  copy c = {.to = to->data, .from = from->data, .bytes = (int)zb_dtype_bytes(to->dtype), .crossing = -1};
  const zb_tensor *const operands[2] = {to, from};
  if (!zb_loop_init(&c.loop, to, operands, 2) || c.loop.elements == 0) return;
  int last = c.loop.rank - 1;
  int64_t length = last < 0 ? 1 : c.loop.shape[last];
  bool dense = last <= 0 && (last < 0 || (c.loop.strides[0][0] == 1 && c.loop.strides[1][0] == 1));
  if (dense) {
    zb_parallel_for(threads, zb_ceil_div(c.loop.elements, ZB_TILE_ELEMENTS), copy_dense_tile, &c);
    return;
  }
  for (int d = 0; d < last; ++d)
    if (c.loop.strides[1][d] == 1 && c.loop.shape[d] >= 4) c.crossing = d;
  if (c.bytes == 4 && c.crossing >= 0 && c.loop.strides[0][last] == 1 && length >= 4) {
    c.blocks_across = zb_ceil_div(c.loop.shape[c.crossing], BLOCK);
    int64_t outer = c.loop.elements / length / c.loop.shape[c.crossing];
    zb_parallel_for(threads, outer * c.blocks_across, copy_cross_tile, &c);
    return;
  }
  c.tile_rows = zb_tile_rows(length);
  zb_parallel_for(threads, zb_ceil_div(c.loop.elements / length, c.tile_rows), copy_rows_tile, &c);
}

const char *zb_cpu_contiguous(const zb_kernel_call *call) {
  copy_strided(call->threads, &call->outputs[0], &call->inputs[0]);
  return NULL;
}

bool zb_cpu_contiguous_matches(const zb_kernel_call *call) {
  return call->inputs[0].rank == call->outputs[0].rank && call->inputs[0].dtype == call->outputs[0].dtype;
}

const char *zb_cpu_concat(const zb_kernel_call *call) {
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0), place = 0;
  for (int i = 0; i < call->input_count; ++i) {
    zb_tensor part = zb_tensor_from(out, place * out->strides[axis]);
    part.shape[axis] = call->inputs[i].shape[axis];
    copy_strided(call->threads, &part, &call->inputs[i]);
    place += part.shape[axis];
  }
  return NULL;
}

bool zb_cpu_concat_matches(const zb_kernel_call *call) {
  for (int i = 0; i < call->input_count; ++i)
    if (call->inputs[i].rank != call->outputs[0].rank || call->inputs[i].dtype != call->outputs[0].dtype) return false;
  return true;
}

typedef struct zero_context {
  char *data;
  int64_t bytes;
} zero_context;

enum { ZERO_TILE_BYTES = 1 << 18 };

static void zero_tile(void *context, int64_t tile, void *scratch) {
  const zero_context *z = context;
  int64_t first = tile * ZERO_TILE_BYTES;
  (void)scratch;
  memset(z->data + first, 0, (size_t)zb_min64(ZERO_TILE_BYTES, z->bytes - first));
}

static void fill_zeros(zb_threads *threads, const zb_tensor *x) {
  zero_context z = {x->data, zb_tensor_elements(x) * (int64_t)zb_dtype_bytes(x->dtype)};
  zb_parallel_for(threads, zb_ceil_div(z.bytes, ZERO_TILE_BYTES), zero_tile, &z);
}

const char *zb_cpu_slice_grad(const zb_kernel_call *call) {
  const zb_tensor *dout = &call->inputs[0], *dx = &call->outputs[0];
  zb_tensor part;
  if (zb_tensor_elements(dout) != zb_tensor_elements(dx)) fill_zeros(call->threads, dx);
  const char *error = zb_slice_part(call, &part);
  if (!error) copy_strided(call->threads, &part, dout);
  return error;
}

bool zb_cpu_slice_grad_matches(const zb_kernel_call *call) {
  zb_tensor part;
  return call->inputs[0].dtype == call->outputs[0].dtype && !zb_slice_part(call, &part);
}

/* ---- Gather along one axis: data seen as [outer, size, inner], indices flat. ---- */

typedef struct gather {
  int64_t outer, size, inner, count; /* count: number of indices */
  int64_t least;                     /* index that is taken */
  const zb_tensor *indices;
  const char *from;
  char *to;
  int bytes;
  int64_t tile_rows;
} gather;

static int64_t given_index(const gather *g, int64_t i) {
  const void *data = g->indices->data;
  return g->indices->dtype == ZB_I64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
}

static int64_t index_at(const gather *g, int64_t i) {
  int64_t index = given_index(g, i);
  return index < 0 ? index + g->size : index;
}

static const char *check_indices(const zb_kernel_call *call, const gather *g) {
  for (int64_t i = 0; i < g->count; ++i) {
    int64_t index = given_index(g, i);
    if (index < g->least || index >= g->size)
      return zb_kernel_wrong_value(call, index, index < 0 ? g->least : 0, g->size - 1,
                                   "an index is out of range of the gathered axis");
  }
  return NULL;
}

static void gather_tile(void *context, int64_t tile, void *scratch) {
  const gather *g = context;
  int64_t row_bytes = g->inner * g->bytes, end = zb_min64((tile + 1) * g->tile_rows, g->outer * g->count);
  (void)scratch;
  for (int64_t row = tile * g->tile_rows; row < end; ++row) {
    int64_t source = row / g->count * g->size + index_at(g, row % g->count);
    memcpy(g->to + row * row_bytes, g->from + source * row_bytes, (size_t)row_bytes);
  }
}

static void gather_init(gather *g, const zb_tensor *data, const zb_tensor *indices, int64_t axis) {
  *g = (gather){.outer = zb_shape_product(data, 0, (int)axis),
                .size = data->shape[axis],
                .indices = indices,
                .inner = zb_shape_product(data, (int)axis + 1, data->rank),
                .count = zb_tensor_elements(indices),
                .bytes = (int)zb_dtype_bytes(data->dtype)};
  g->least = -g->size;
  g->tile_rows = zb_tile_rows(g->inner);
}

const char *zb_cpu_gather(const zb_kernel_call *call) {
  gather g;
  gather_init(&g, &call->inputs[0], &call->inputs[1], zb_attr_int(&call->attrs, "axis", 0));
  g.least = zb_least_index(call, g.size);
  g.from = call->inputs[0].data;
  g.to = call->outputs[0].data;
  const char *error = check_indices(call, &g);
  if (!error && g.inner > 0)
    zb_parallel_for(call->threads, zb_ceil_div(g.outer * g.count, g.tile_rows), gather_tile, &g);
  return error;
}

bool zb_cpu_gather_matches(const zb_kernel_call *call) {
  return zb_dtype_is_index(call->inputs[1].dtype) && call->inputs[0].rank > 0 &&
         call->inputs[0].dtype == call->outputs[0].dtype && zb_call_contiguous(call);
}

/* Columns of the gradient: each tile adds its columns of all rows, in the order of the indices. */
enum { GATHER_COLUMNS = 128 };

static void gather_grad_tile(void *context, int64_t tile, void *scratch) {
  const gather *g = context;
  int64_t first = tile * GATHER_COLUMNS, width = zb_min64(GATHER_COLUMNS, g->inner - first);
  const float *dout = (const float *)(const void *)g->from + first;
  float *ddata = (float *)(void *)g->to + first;
  (void)scratch;
  for (int64_t row = 0; row < g->outer * g->count; ++row) {
    float *to = ddata + (row / g->count * g->size + index_at(g, row % g->count)) * g->inner;
    const float *from = dout + row * g->inner;
    for (int64_t i = 0; i < width; ++i)
      to[i] += from[i];
  }
}

const char *zb_cpu_gather_grad(const zb_kernel_call *call) {
  gather g;
  gather_init(&g, &call->outputs[0], &call->inputs[0], zb_attr_int(&call->attrs, "axis", 0));
  g.from = call->inputs[1].data;
  g.to = call->outputs[0].data;
  const char *error = check_indices(call, &g);
  if (error) return error;
  if (!call->accumulate) fill_zeros(call->threads, &call->outputs[0]);
  zb_parallel_for(call->threads, zb_ceil_div(g.inner, GATHER_COLUMNS), gather_grad_tile, &g);
  return NULL;
}

bool zb_cpu_gather_grad_matches(const zb_kernel_call *call) {
  return zb_dtype_is_index(call->inputs[0].dtype) && call->inputs[1].dtype == ZB_F32 &&
         call->outputs[0].dtype == ZB_F32 && call->outputs[0].rank > 0 && zb_call_contiguous(call);
}

/* ---- Scatter: rows of updates put at, or added to, rows of a copy of data ---- */

/* Columns of all rows, in index order: of equal indices the last one stays. */
static void put_tile(void *context, int64_t tile, void *scratch) {
  const gather *g = context;
  int64_t first = tile * GATHER_COLUMNS * g->bytes,
          width = zb_min64((int64_t)GATHER_COLUMNS * g->bytes, g->inner * g->bytes - first);
  (void)scratch;
  for (int64_t row = 0; row < g->count; ++row)
    memcpy(g->to + index_at(g, row) * g->inner * g->bytes + first, g->from + row * g->inner * g->bytes + first,
           (size_t)width);
}

const char *zb_cpu_scatter(const zb_kernel_call *call) {
  gather g;
  gather_init(&g, &call->outputs[0], &call->inputs[1], 0);
  g.from = call->inputs[2].data;
  g.to = call->outputs[0].data;
  const char *error = check_indices(call, &g);
  if (error) return error;
  copy_strided(call->threads, &call->outputs[0], &call->inputs[0]);
  bool add = strcmp(zb_attr_string(&call->attrs, "reduction", ""), "add") == 0;
  zb_parallel_for(call->threads, zb_ceil_div(g.inner, GATHER_COLUMNS), add ? gather_grad_tile : put_tile, &g);
  return NULL;
}

bool zb_cpu_scatter_matches(const zb_kernel_call *call) {
  const zb_tensor *data = &call->inputs[0], *updates = &call->inputs[2], *out = &call->outputs[0];
  const char *reduction = zb_attr_string(&call->attrs, "reduction", "");
  if (!zb_dtype_is_index(call->inputs[1].dtype) || data->dtype != out->dtype || updates->dtype != out->dtype ||
      out->rank < 1)
    return false;
  return (strcmp(reduction, "none") == 0 || (strcmp(reduction, "add") == 0 && out->dtype == ZB_F32)) &&
         zb_call_contiguous(call);
}
