/* Attention: operands and the plan of its blocks. The device side is hopper.cu and flash.cu (bf16 and f16,
 * heads of up to 128 columns; hopper.cu on compute capability 9.0) and attention.cu (f32, wider heads, operands at odd
 * places). */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

#include <math.h>

enum { Q, K, V, MASK, COUNTER /* of the ops with dropout */ };
enum { OUT, LSE, DOUT };

/* The kernels are made for heads of these widths; narrower ones are padded. */
static const int padded_widths[] = {64, 128, 256};
enum { WIDTHS = sizeof padded_widths / sizeof padded_widths[0] };

/* zb_attention_<width> of f32, then bf16 and f16; the same for the gradients. */
static const struct width_row {
  zb_cuda_function forward, grad_q, grad_kv;
} functions[WIDTHS] = {
#define WIDTH_ROW(D)                                                                                                   \
  {ZB_FUNCTION_zb_attention_##D##_f32, ZB_FUNCTION_zb_attention_grad_q_##D##_f32,                                      \
   ZB_FUNCTION_zb_attention_grad_kv_##D##_f32}
    WIDTH_ROW(64),
    WIDTH_ROW(128),
    WIDTH_ROW(256),
};

static zb_attention_operand operand(const zb_tensor *x) {
  return (zb_attention_operand){x->data, x->strides[0], x->strides[1], x->strides[2], x->strides[3]};
}

/* Fills what forward and gradient share; false where no kernel takes the call. */
static bool plan(const zb_kernel_call *call, zb_attention_args *args) {
  const zb_tensor *q = &call->inputs[Q], *k = &call->inputs[K], *v = &call->inputs[V],
                  *mask = zb_call_input(call, MASK);
  memset(args, 0, sizeof *args);
  if (q->rank != 4 || k->rank != 4 || v->rank != 4) return false;
  if (!zb_cuda_is_float(q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype) return false;
  bool fits = k->shape[0] == q->shape[0] && v->shape[0] == q->shape[0] && k->shape[3] == q->shape[3] &&
              v->shape[1] == k->shape[1] && v->shape[2] == k->shape[2];
  if (!fits || k->shape[2] < 1 || q->shape[2] % k->shape[2] != 0) return false;
  if (q->shape[3] > ZB_ATTENTION_WIDTH_MAX || v->shape[3] > ZB_ATTENTION_WIDTH_MAX) return false;
  args->q = operand(q);
  args->k = operand(k);
  args->v = operand(v);
  args->batch = q->shape[0];
  args->queries = q->shape[1];
  args->heads = q->shape[2];
  args->width = (int32_t)q->shape[3];
  args->keys = k->shape[1];
  args->kv_heads = k->shape[2];
  args->group = args->heads / args->kv_heads;
  args->value_width = (int32_t)v->shape[3];
  args->scale = (float)zb_attr_number(call, "scale", 1 / sqrt((double)q->shape[3]));
  args->causal = zb_attr_bool(&call->attrs, "causal", false);
  if (!mask) return true;
  int shift = 4 - mask->rank;
  const int64_t scores[4] = {args->batch, args->heads, args->queries, args->keys};
  for (int i = 0; i < mask->rank; ++i) {
    if (shift < 0 || (mask->shape[i] != 1 && mask->shape[i] != scores[i + shift])) return false;
    args->mask_strides[i + shift] = mask->shape[i] == 1 ? 0 : mask->strides[i];
  }
  args->mask = mask->data;
  args->mask_dtype = (int32_t)mask->dtype;
  return zb_cuda_is_float(mask->dtype);
}

/* Whether the call may drop, and by what: rate, op and the counter behind the mask. */
static bool plan_drop(const zb_kernel_call *call, zb_attention_args *args) {
  zb_cuda_drop drop;
  if (call->input_count <= COUNTER || !zb_cuda_drop_of(call, COUNTER, &drop)) return false;
  args->counter = drop.counter;
  args->op = drop.op;
  args->threshold = drop.threshold;
  args->kept = (float)drop.scale;
  args->drops = drop.threshold < INT64_C(1) << 32;
  return true;
}

/* ---- On tensor cores ---- */

/* The functions are those of bf16, then f16. The tiles of keys, and those that gradients go over, have so many rows;
 * rows are `padding` elements longer than a head. */
typedef struct flash_row {
  int width, padding, key_tile, gradient_tile;
  zb_cuda_function forward, grad_q, grad_kv;
} flash_row;
#define FLASH_ROW(name, D, padding, key_tile, gradient_tile)                                                           \
  {D,                                                                                                                  \
   padding,                                                                                                            \
   key_tile,                                                                                                           \
   gradient_tile,                                                                                                      \
   ZB_FUNCTION_##name##_##D##_bf16,                                                                                    \
   ZB_FUNCTION_##name##_grad_q_##D##_bf16,                                                                             \
   ZB_FUNCTION_##name##_grad_kv_##D##_bf16}
enum { FLASH_ROWS = 2, FLASH_STAGES = 2 };
static const flash_row flash_rows[FLASH_ROWS] = {
    FLASH_ROW(zb_flash, 64, 8, ZB_FLASH_KEYS_64, ZB_FLASH_GRADIENT_TILE),
    FLASH_ROW(zb_flash, 128, 8, ZB_FLASH_KEYS_128, ZB_FLASH_GRADIENT_TILE),
};
static const flash_row hopper_rows[FLASH_ROWS] = {
    FLASH_ROW(zb_hopper, 64, 0, ZB_HOPPER_TILE, ZB_HOPPER_TILE),
    FLASH_ROW(zb_hopper, 128, 0, ZB_HOPPER_TILE, ZB_HOPPER_TILE),
};

/* Whether every row of a head can be read 16 bytes at a time. */
static bool in_eights(const zb_attention_operand *o) {
  bool strides = o->batch % 8 == 0 && o->token % 8 == 0 && o->head % 8 == 0;
  return o->column == 1 && strides && (uintptr_t)o->data % 16 == 0;
}

/* Whether two elements can be written at a time. */
static bool in_pairs(const void *data) { return (uintptr_t)data % 4 == 0; }

/* Bytes of lse and delta of all queries of one element of the batch, whole blocks of them. */
static int64_t statistics_bytes(const zb_attention_args *args) {
  return 2 * args->heads * zb_ceil_div(args->queries, ZB_FLASH_ROWS) * ZB_FLASH_ROWS * (int64_t)sizeof(float);
}

/* Whether hopper.cu takes what flash.cu takes: it scales after the largest product is known, and counts in int. */
static bool in_warpgroups(const zb_attention_args *args, const zb_cuda_launcher *on) {
  const int64_t tokens_most = INT32_MAX / 2;
  return on->warpgroups && !args->mask && args->scale > 0 && args->queries <= tokens_most &&
         args->keys <= tokens_most && args->heads <= INT32_MAX;
}

/* The row for a call, or NULL: then it is computed in f32, as dropout is. */
static const flash_row *find_flash_row(const zb_attention_args *args, zb_dtype dtype, bool gradient,
                                       const zb_cuda_launcher *on) {
  int wider = args->width > args->value_width ? args->width : args->value_width, row = 0;
  if (dtype == ZB_F32 || args->drops || args->width % 8 != 0 || args->value_width % 8 != 0) return NULL;
  if (!in_eights(&args->q) || !in_eights(&args->k) || !in_eights(&args->v)) return NULL;
  if (!gradient && !in_pairs(args->result)) return NULL;
  if (gradient && (!in_eights(&args->out) || !in_eights(&args->dout) || statistics_bytes(args) > ZB_CUDA_SCRATCH_BYTES))
    return NULL;
  if (gradient && (!in_pairs(args->dq) || !in_pairs(args->dk) || !in_pairs(args->dv))) return NULL;
  while (row < FLASH_ROWS && flash_rows[row].width < wider)
    ++row;
  if (row == FLASH_ROWS) return NULL;
  return in_warpgroups(args, on) ? &hopper_rows[row] : &flash_rows[row];
}

/* As the structures of flash.cu and hopper.cu: `rows` rows of a head in the narrow type, and lse and delta of
 * `statistics` queries. */
static int64_t flash_bytes(const flash_row *f, int rows, int statistics) {
  return rows * (int64_t)(f->width + f->padding) * 2 + 2 * statistics * (int64_t)sizeof(float);
}

static int64_t flash_blocks(int64_t batch, int64_t heads, int64_t tokens) {
  return batch * heads * zb_ceil_div(tokens, ZB_FLASH_ROWS);
}

static zb_status run_flash(const zb_attention_args *args, zb_dtype dtype, const flash_row *f, zb_cuda_launcher *on) {
  int64_t blocks = flash_blocks(args->batch, args->heads, args->queries);
  int64_t shared = flash_bytes(f, ZB_FLASH_ROWS + FLASH_STAGES * 2 * f->key_tile, 0);
  return zb_cuda_enqueue(on, f->forward + (dtype == ZB_F16), blocks, 1, ZB_ATTENTION_THREADS, shared, args);
}

static const void *moved(const void *data, int64_t elements, size_t bytes) {
  return data ? (const void *)((uintptr_t)data + (uintptr_t)elements * bytes) : NULL;
}

/* `count` elements of the batch from `first` on. */
static zb_attention_args batch_part(const zb_attention_args *args, zb_dtype dtype, int64_t first, int64_t count) {
  zb_attention_args part = *args;
  zb_attention_operand *const operands[] = {&part.q, &part.k, &part.v, &part.out, &part.dout};
  size_t bytes = zb_dtype_bytes(dtype);
  for (size_t i = 0; i < sizeof operands / sizeof operands[0]; ++i)
    operands[i]->data = moved(operands[i]->data, first * operands[i]->batch, bytes);
  part.mask = moved(args->mask, first * args->mask_strides[0], zb_dtype_bytes((zb_dtype)args->mask_dtype));
  part.lse = moved(args->lse, first * args->lse_strides[0], zb_dtype_bytes((zb_dtype)args->lse_dtype));
  part.dq = (char *)args->dq + (size_t)(first * args->queries * args->heads * args->width) * bytes;
  part.dk = (char *)args->dk + (size_t)(first * args->keys * args->kv_heads * args->width) * bytes;
  part.dv = (char *)args->dv + (size_t)(first * args->keys * args->kv_heads * args->value_width) * bytes;
  part.batch = count;
  return part;
}

/* The scratch holds the statistics of some elements of the batch at a time. */
static zb_status run_flash_gradient(const zb_attention_args *args, zb_dtype dtype, const flash_row *f,
                                    zb_cuda_launcher *on) {
  int rows = 2 * ZB_FLASH_ROWS + FLASH_STAGES * 2 * f->gradient_tile;
  int64_t at_once = ZB_CUDA_SCRATCH_BYTES / zb_max64(statistics_bytes(args), 1);
  int64_t q_shared = flash_bytes(f, rows, ZB_FLASH_ROWS),
          kv_shared = flash_bytes(f, rows, FLASH_STAGES * f->gradient_tile);
  for (int64_t first = 0; first < args->batch; first += at_once) {
    zb_attention_args part = batch_part(args, dtype, first, zb_min64(at_once, args->batch - first));
    part.statistics = (float *)(void *)zb_cuda_scratch(on);
    int64_t of_queries = flash_blocks(part.batch, part.heads, part.queries),
            of_keys = flash_blocks(part.batch, part.kv_heads, part.keys);
    ZB_TRY(zb_cuda_enqueue(on, f->grad_q + (dtype == ZB_F16), of_queries, 1, ZB_ATTENTION_THREADS, q_shared, &part));
    ZB_TRY(zb_cuda_enqueue(on, f->grad_kv + (dtype == ZB_F16), of_keys, 1, ZB_ATTENTION_THREADS, kv_shared, &part));
  }
  return NULL;
}

/* ---- In f32 arithmetic ---- */

static int width_row(const zb_attention_args *args) {
  int row = 0;
  while (padded_widths[row] < args->width || padded_widths[row] < args->value_width)
    ++row;
  return row;
}

/* As the structures forward_memory and gradient_memory of attention.cu. */
static int64_t shared_bytes(int width, int tiles, int pairs, int statistics) {
  int64_t rows = ZB_ATTENTION_TILE * (int64_t)(width + 4), square = ZB_ATTENTION_TILE * (ZB_ATTENTION_TILE + 4);
  return (tiles * rows + pairs * square + statistics * ZB_ATTENTION_TILE) * (int64_t)sizeof(float);
}

static int64_t blocks(int64_t batch, int64_t heads, int64_t tokens) {
  return batch * heads * zb_ceil_div(tokens, ZB_ATTENTION_TILE);
}

/* `count` operands up to the one behind the mask; drops: with the counter. */
static bool fits(const zb_kernel_call *call, int count, int results, bool drops, zb_attention_args *args) {
  return call->input_count <= count && zb_cuda_complete_up_to(call, 3, count, results, false) && plan(call, args) &&
         (!drops || plan_drop(call, args));
}

static bool matches(const zb_kernel_call *call, bool drops) {
  zb_attention_args args;
  if (!fits(call, drops ? COUNTER + 1 : COUNTER, 2, drops, &args)) return false;
  const zb_tensor *out = &call->outputs[0], *lse = &call->outputs[1];
  return out->dtype == call->inputs[Q].dtype && zb_cuda_is_float(lse->dtype) &&
         zb_tensor_elements(out) == args.batch * args.queries * args.heads * args.value_width &&
         zb_tensor_elements(lse) == args.batch * args.queries * args.heads;
}

static zb_status run(const zb_kernel_call *call, zb_cuda_launcher *on, bool drops) {
  zb_attention_args args;
  (void)plan(call, &args); /* matches() asked */
  if (drops) (void)plan_drop(call, &args);
  args.result = call->outputs[0].data;
  args.lse_out = call->outputs[1].data;
  args.lse_dtype = (int32_t)call->outputs[1].dtype;
  const flash_row *flash = find_flash_row(&args, call->inputs[Q].dtype, false, on);
  if (flash) return run_flash(&args, call->inputs[Q].dtype, flash, on);
  int row = width_row(&args);
  return zb_cuda_enqueue(on, zb_cuda_for_float(functions[row].forward, call->inputs[Q].dtype),
                         blocks(args.batch, args.heads, args.queries), 1, ZB_ATTENTION_THREADS,
                         shared_bytes(padded_widths[row], 2, 1, 0), &args);
}

static bool matches_gradient(const zb_kernel_call *call, bool drops) {
  const int count = drops ? 8 : 7;
  zb_attention_args args;
  if (call->input_count != count || !fits(call, count, 3, drops, &args)) return false;
  const zb_tensor *q = &call->inputs[Q], *saved = call->inputs + count - 3;
  const zb_tensor *out = &saved[OUT], *lse = &saved[LSE], *dout = &saved[DOUT];
  if (out->rank != 4 || lse->rank != 3 || out->dtype != q->dtype || dout->dtype != q->dtype) return false;
  if (!zb_tensor_same_shape(out, dout) || out->shape[3] != args.value_width || !zb_cuda_is_float(lse->dtype))
    return false;
  for (int i = 0; i < 3; ++i)
    if (!zb_tensor_same_shape(&call->outputs[i], &call->inputs[i]) || call->outputs[i].dtype != q->dtype) return false;
  return true;
}

static zb_status run_gradient(const zb_kernel_call *call, zb_cuda_launcher *on, bool drops) {
  const zb_tensor *saved = call->inputs + call->input_count - 3, *lse = &saved[LSE];
  zb_attention_args args;
  (void)plan(call, &args); /* matches() asked */
  if (drops) (void)plan_drop(call, &args);
  args.out = operand(&saved[OUT]);
  args.dout = operand(&saved[DOUT]);
  args.lse = lse->data;
  args.lse_dtype = (int32_t)lse->dtype;
  memcpy(args.lse_strides, lse->strides, sizeof args.lse_strides);
  args.dq = call->outputs[0].data;
  args.dk = call->outputs[1].data;
  args.dv = call->outputs[2].data;
  zb_dtype dtype = call->inputs[Q].dtype;
  const flash_row *flash = find_flash_row(&args, dtype, true, on);
  if (flash) return run_flash_gradient(&args, dtype, flash, on);
  int row = width_row(&args);
  int64_t shared = shared_bytes(padded_widths[row], 4, 2, 2);
  ZB_TRY(zb_cuda_enqueue(on, zb_cuda_for_float(functions[row].grad_q, dtype),
                         blocks(args.batch, args.heads, args.queries), 1, ZB_ATTENTION_THREADS, shared, &args));
  return zb_cuda_enqueue(on, zb_cuda_for_float(functions[row].grad_kv, dtype),
                         blocks(args.batch, args.kv_heads, args.keys), 1, ZB_ATTENTION_THREADS, shared, &args);
}

#define ATTENTION_FUNCTIONS(name, drops)                                                                               \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return matches(call, drops); }                             \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) { return run(call, on, drops); }      \
  bool zb_cuda_matches_##name##_grad(const zb_kernel_call *call) { return matches_gradient(call, drops); }             \
  zb_status zb_cuda_run_##name##_grad(const zb_kernel_call *call, zb_cuda_launcher *on) {                              \
    return run_gradient(call, on, drops);                                                                              \
  }
ATTENTION_FUNCTIONS(attention, false)
ATTENTION_FUNCTIONS(attention_dropout, true)
