/* Elementwise kernels on f32 and bf16: any strides and broadcasting, one vector expression an op, a row of
 * ref/unary.def or ref/binary.def.
 *
 * The index space is cut into tiles of ZB_TILE_ELEMENTS, and these into segments on which every operand is dense:
 * operands that lie so are read in place, others (scalars, broadcast rows, transposes, bf16) are first laid out in
 * scratch as f32; a bf16 result is computed there too, and rounded once. So an expression is compiled once and an
 * element's bits do not depend on its place: the tail of a segment is a vector with unused lanes. Tests:
 * test/kernels/fast_elementwise_test.c, test/kernels/fast_math_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

#include <math.h>

enum { OPERANDS_MAX = 3, SEGMENT = 512, SHORT_ROW = 16 };

/* out[i] = f(in[0][i], in[1][i], ...) for i < count; a and b are attributes. */
typedef void (*map_run)(float *out, const void *const *in, int64_t count, float a, float b);

typedef struct map_context {
  zb_loop loop; /* of the operands; the result is contiguous */
  const char *data[OPERANDS_MAX];
  int element_bytes[OPERANDS_MAX];
  bool narrow[OPERANDS_MAX]; /* bf16 */
  char *out;
  bool out_narrow;
  map_run run;
  float a, b;
} map_context;

#define ZB_ISA_BODY "kernels/cpu/elementwise.c"
#include "kernels/cpu/isa_each.h"

/* One run of bf16 elements as f32. */
static void lay_out_narrow(const uint16_t *from, int64_t stride, int64_t count, float *to) {
  if (stride == 1) {
    zb_bf16_widen(to, from, count);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = zb_bf16_value(from[i * stride]);
  }
}

/* Copies elements position..position+count of the operand's broadcast form: bytes, or f32. */
static void lay_out(const map_context *map, int operand, int64_t position, int64_t count, char *to) {
  const zb_loop *loop = &map->loop;
  int last = loop->rank - 1;
  int64_t inner = last < 0 ? 1 : loop->shape[last], stride = last < 0 ? 0 : loop->strides[operand][last];
  int bytes = map->element_bytes[operand] == 1 ? 1 : (int)sizeof(float);
  while (count > 0) {
    int64_t column = position % inner, length = zb_min64(inner - column, count);
    int64_t offset = zb_loop_offset(loop, operand, last < 0 ? 0 : last, position / inner) + column * stride;
    if (bytes == 1) {
      for (int64_t i = 0; i < length; ++i)
        to[i] = map->data[operand][offset + i * stride];
    } else if (map->narrow[operand]) {
      lay_out_narrow((const uint16_t *)(const void *)map->data[operand] + offset, stride, length, (float *)(void *)to);
    } else {
      const float *from = (const float *)(const void *)map->data[operand] + offset;
      float *dense = (float *)(void *)to;
      for (int64_t i = 0; i < length; ++i)
        dense[i] = from[i * stride];
    }
    to += length * bytes;
    position += length;
    count -= length;
  }
}

/* Whether the operand can be read in place over a whole segment: over rows when segments stay in a row, else
 * everywhere. */
static bool is_dense(const map_context *map, int operand, bool by_row) {
  const zb_loop *loop = &map->loop;
  if (map->narrow[operand]) return false;
  int last = loop->rank - 1;
  if (last < 0 || loop->strides[operand][last] != 1) return loop->elements == 1;
  int64_t expected = loop->shape[last];
  for (int d = last - 1; d >= 0 && !by_row; --d) {
    if (loop->strides[operand][d] != expected) return false;
    expected *= loop->shape[d];
  }
  return true;
}

/* Which operands can be read in place. True if all can, and the result is written in place. */
static bool find_dense(const map_context *map, bool by_row, bool *dense) {
  bool all = !map->out_narrow;
  for (int k = 0; k < map->loop.operand_count; ++k) {
    dense[k] = is_dense(map, k, by_row);
    all &= dense[k];
  }
  return all;
}

/* One segment, whose operands are f32 (or bytes) now. `buffer` has room for a result behind the operands. */
static void run_segment(const map_context *map, const void *const *in, int64_t position, int64_t count, char *buffer) {
  if (!map->out_narrow) {
    map->run((float *)(void *)map->out + position, in, count, map->a, map->b);
    return;
  }
  float *result = (float *)(void *)(buffer + OPERANDS_MAX * SEGMENT * (int)sizeof(float));
  map->run(result, in, count, map->a, map->b);
  zb_bf16_narrow((uint16_t *)(void *)map->out + position, result, count);
}

/* Segments that cross rows: operands that are not dense throughout are laid out. */
static void map_flat(const map_context *map, int64_t position, int64_t end, char *buffer) {
  const zb_loop *loop = &map->loop;
  bool dense[OPERANDS_MAX], all_dense = find_dense(map, false, dense);
  int64_t filled[OPERANDS_MAX] = {0}; /* how much of the buffer of an operand that is one value has it */
  while (position < end) {
    int64_t length = all_dense ? end - position : zb_min64(end - position, SEGMENT);
    const void *in[OPERANDS_MAX];
    for (int k = 0; k < loop->operand_count; ++k) {
      char *own = buffer + k * SEGMENT * (int)sizeof(float);
      in[k] = dense[k] ? map->data[k] + position * map->element_bytes[k] : own;
      bool one_value = loop->rank == 1 && loop->strides[k][0] == 0;
      if (dense[k] || (one_value && filled[k] >= length)) continue;
      lay_out(map, k, position, length, own);
      filled[k] = length;
    }
    run_segment(map, in, position, length, buffer);
    position += length;
  }
}

/* Segments within rows: an operand that is dense in its rows is read in place. */
static void map_rows(const map_context *map, int64_t position, int64_t end, char *buffer) {
  const zb_loop *loop = &map->loop;
  int last = loop->rank - 1;
  int64_t inner = loop->shape[last], column = position % inner;
  bool dense[OPERANDS_MAX], all_dense = find_dense(map, true, dense);
  zb_cursor row;
  zb_cursor_init(&row, loop, last, position / inner);
  while (position < end) {
    int64_t length = zb_min64(end - position, inner - column);
    if (!all_dense) length = zb_min64(length, SEGMENT);
    const void *in[OPERANDS_MAX];
    for (int k = 0; k < loop->operand_count; ++k) {
      char *own = buffer + k * SEGMENT * (int)sizeof(float);
      in[k] = dense[k] ? map->data[k] + (row.offset[k] + column) * map->element_bytes[k] : own;
      if (!dense[k]) lay_out(map, k, position, length, own);
    }
    run_segment(map, in, position, length, buffer);
    position += length;
    column += length;
    if (column < inner) continue;
    column = 0;
    zb_cursor_next(&row, loop);
  }
}

static void map_tile(void *context, int64_t tile, void *scratch) {
  const map_context *map = context;
  int last = map->loop.rank - 1;
  int64_t position = tile * ZB_TILE_ELEMENTS, end = zb_min64(position + ZB_TILE_ELEMENTS, map->loop.elements);
  if (last > 0 && map->loop.shape[last] >= SHORT_ROW)
    map_rows(map, position, end, scratch);
  else
    map_flat(map, position, end, scratch);
}

static const char *run_map(const zb_kernel_call *call, map_run run, const zb_tensor *const *operands, int count,
                           float a, float b) {
  map_context map = {
      .out = call->outputs[0].data, .out_narrow = call->outputs[0].dtype == ZB_BF16, .run = run, .a = a, .b = b};
  for (int k = 0; k < count; ++k) {
    map.data[k] = operands[k]->data;
    map.element_bytes[k] = (int)zb_dtype_bytes(operands[k]->dtype);
    map.narrow[k] = operands[k]->dtype == ZB_BF16;
  }
  if (!zb_loop_init(&map.loop, &call->outputs[0], operands, count))
    return "the operands do not broadcast to the result";
  zb_parallel_for(call->threads, zb_ceil_div(map.loop.elements, ZB_TILE_ELEMENTS), map_tile, &map);
  return NULL;
}

/* An attribute of an op. */
typedef struct attribute {
  const char *name; /* NULL: the op has none */
  double fallback;
} attribute;
#define NONE ((attribute){NULL, 0})
#define PARAMETER(name, fallback) ((attribute){name, fallback})

static float value_of(const zb_kernel_call *call, attribute a) {
  return a.name ? (float)zb_attr_float(&call->attrs, a.name, a.fallback) : 0.0f;
}

#define RUN_MAP(name, operands, a, b)                                                                                  \
  const char *zb_cpu_##name(const zb_kernel_call *call) {                                                              \
    static const map_run rows[] = ZB_ISA_ROW(map_##name);                                                              \
    const zb_tensor *const tensors[2] = {&call->inputs[0], &call->inputs[(operands) - 1]};                             \
    return run_map(call, rows[zb_isa()], tensors, operands, value_of(call, a), value_of(call, b));                     \
  }
#define ZB_REF_UNARY_VECTOR(name, saved, a, b, forward, gradient) RUN_MAP(name, 1, a, b) RUN_MAP(name##_grad, 2, a, b)
#include "kernels/cpu/ref/unary.def"
#define ZB_REF_BINARY_VECTOR(name, types, flag, divisor, real, integer) RUN_MAP(name, 2, NONE, NONE)
#include "kernels/cpu/ref/binary.def"
RUN_MAP(gelu_erf, 1, NONE, NONE)
RUN_MAP(gelu_tanh, 1, NONE, NONE)
RUN_MAP(gelu_erf_grad, 2, NONE, NONE)
RUN_MAP(gelu_tanh_grad, 2, NONE, NONE)

const char *zb_cpu_where(const zb_kernel_call *call) {
  static const map_run rows[] = ZB_ISA_ROW(map_where);
  const zb_tensor *const operands[3] = {&call->inputs[0], &call->inputs[1], &call->inputs[2]};
  return run_map(call, rows[zb_isa()], operands, 3, 0.0f, 0.0f);
}

const char *zb_cpu_cast(const zb_kernel_call *call) {
  static const map_run copy[] = ZB_ISA_ROW(map_copy);
  const zb_tensor *const operands[1] = {&call->inputs[0]};
  return run_map(call, copy[zb_isa()], operands, 1, 0.0f, 0.0f);
}

const char *zb_cpu_accumulate_add(const zb_kernel_call *call) {
  static const map_run add[] = ZB_ISA_ROW(map_add), copy[] = ZB_ISA_ROW(map_copy);
  const zb_tensor *const operands[2] = {&call->inputs[0], &call->outputs[0]};
  if (!call->accumulate) return run_map(call, copy[zb_isa()], operands, 1, 0.0f, 0.0f);
  return run_map(call, add[zb_isa()], operands, 2, 0.0f, 0.0f);
}

/* The exponents 2 and 3 are products, which are nearer to the exact power than powf needs to be. */
const char *zb_cpu_pow(const zb_kernel_call *call) {
  static const map_run square[] = ZB_ISA_ROW(map_mul), cube[] = ZB_ISA_ROW(map_cube), general[] = ZB_ISA_ROW(map_pow);
  const zb_tensor *x = &call->inputs[0], *y = &call->inputs[1];
  const zb_tensor *const operands[2] = {x, y}, *const twice[2] = {x, x};
  bool one_exponent = zb_tensor_elements(y) == 1 && zb_tensor_elements(&call->outputs[0]) > 0;
  float exponent = one_exponent ? *(const float *)y->data : 0.0f;
  if (exponent == 2.0f) return run_map(call, square[zb_isa()], twice, 2, 0.0f, 0.0f);
  if (exponent == 3.0f) return run_map(call, cube[zb_isa()], operands, 1, 0.0f, 0.0f);
  return run_map(call, general[zb_isa()], operands, 2, 0.0f, 0.0f);
}

/* Operands from `first` on and the result are all f32, or all bf16. */
static bool one_dtype(const zb_kernel_call *call, int first) {
  zb_dtype dtype = call->outputs[0].dtype;
  for (int i = first; i < call->input_count; ++i)
    if (call->inputs[i].dtype != dtype) return false;
  return zb_is_f32_or_bf16(dtype);
}

bool zb_cpu_map_matches(const zb_kernel_call *call) { return one_dtype(call, 0); }
bool zb_cpu_cast_matches(const zb_kernel_call *call) {
  return zb_is_f32_or_bf16(call->inputs[0].dtype) && zb_is_f32_or_bf16(call->outputs[0].dtype);
}
/* Sums are f32, what is added may be bf16. */
bool zb_cpu_accumulate_add_matches(const zb_kernel_call *call) {
  return zb_is_f32_or_bf16(call->inputs[0].dtype) && call->outputs[0].dtype == ZB_F32;
}
bool zb_cpu_pow_matches(const zb_kernel_call *call) { return one_dtype(call, 0) && call->outputs[0].dtype == ZB_F32; }
bool zb_cpu_where_matches(const zb_kernel_call *call) { return one_dtype(call, 1) && call->inputs[0].dtype == ZB_I1; }
bool zb_cpu_gelu_erf_matches(const zb_kernel_call *call) {
  return one_dtype(call, 0) && !zb_attr_bool(&call->attrs, "tanh", false);
}
bool zb_cpu_gelu_tanh_matches(const zb_kernel_call *call) {
  return one_dtype(call, 0) && zb_attr_bool(&call->attrs, "tanh", false);
}

#else /* ---- The expressions, for one instruction set ---- */

#define expm1_of ZB_ISA(expm1_of)
#define bell ZB_ISA(bell)
#define bounded ZB_ISA(bounded)
#define rest_of_square ZB_ISA(rest_of_square)
#define normal_cdf ZB_ISA(normal_cdf)
#define gelu_erf_slope ZB_ISA(gelu_erf_slope)
#define gelu_argument ZB_ISA(gelu_argument)
#define gelu_tanh_slope ZB_ISA(gelu_tanh_slope)
#define silu_slope ZB_ISA(silu_slope)
#define softplus_of ZB_ISA(softplus_of)

/* exp(x) - 1 for x <= 0. */
V_INLINE vf expm1_of(vf x) {
  vf n, clamped = v_max(v_set(-30.0f), x);
  vf p = v_exp_part(clamped, &n);
  vf power = v_float((v_to_int(n) + 127) << 23);
  return v_fma(p, power, power - v_set(1));
}

/* exp(-factor x^2), with the rounding error of the square put right: without a fused multiply-add by halves of x whose
 * products are exact (Dekker). */
V_INLINE vf bell(vf x, float factor) {
  vf square = v_min(v_set(1e4f), x * x), negative = v_set(-factor);
#if ZB_ISA_LEVEL == 0
  vf shifted = x * v_set(4097.0f), high = shifted - (shifted - x), low = x - high;
  vf error = ((high * high - x * x) + v_set(2) * high * low) + low * low;
#else
  vf error = v_fma(x, x, -(x * x));
#endif
  vf e = v_exp(square * negative);
  return v_select(v_lt(square, v_set(1e3f)), v_fma(e * negative, error, e), e);
}

V_INLINE vf rest_of_square(vf x) {
#if ZB_ISA_LEVEL == 0
  return (v_set(1) - x) * (v_set(1) + x);
#else
  return v_fma(-x, x, v_set(1));
#endif
}

/* x where a slope has not reached its limit, which it has beyond; NaN of infinity (SATURATED of words.def). */
V_INLINE vf bounded(vf x) { return v_min(v_set(1e4f), v_max(v_set(-1e4f), x)) + (x - x); }

/* The normal distribution function from bell(x): no cancellation for negative x. */
V_INLINE vf normal_cdf(vf x, vf bell_x) {
  vf t = v_min(v_set(1e4f), v_abs(x) * v_set(0.707106781f));
  vf tail = v_set(0.5f) * bell_x * v_erfcx(t);
  return v_select(v_lt(v_set(0), x), v_set(1) - tail, tail);
}

V_INLINE vf gelu_erf_slope(vf from) {
  vf x = bounded(from), bell_x = bell(x, 0.5f);
  return v_fma(x * v_set(0.398942280f), bell_x, normal_cdf(x, bell_x));
}

/* (1 + tanh(u)) / 2 = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
V_INLINE vf gelu_argument(vf x) { return v_set(1.59576912f) * x * v_fma(v_set(0.044715f) * x, x, v_set(1)); }

V_INLINE vf gelu_tanh_slope(vf from) {
  vf x = bounded(from), rest, gate = v_sigmoid_pair(gelu_argument(x), &rest);
  vf argument_slope = v_set(1.59576912f) * v_fma(v_set(0.134145f) * x, x, v_set(1));
  return gate * v_fma(x * rest, argument_slope, v_set(1));
}

V_INLINE vf silu_slope(vf x) {
  vf at = bounded(x), rest, gate = v_sigmoid_pair(at, &rest);
  return gate * v_fma(at, rest, v_set(1));
}

/* max(x, 0) + log(1 + exp(-|x|)): log(1 + e) = log(s) e / (s - 1) with s = 1 + e rounded keeps small e (Kahan). */
V_INLINE vf softplus_of(vf x) {
  vf e = v_exp(-v_abs(x)), s = v_set(1) + e;
  vf rounded = s - v_set(1);
  vf log_part = v_select(v_lt(v_set(0), rounded), v_log(s) * (e / rounded), e);
  return v_max(v_set(0), x) + log_part;
}

/* The words of the rows (ref/words.def), on vectors. */
#define C(value) v_set((float)(value))
#define SELECT(condition, yes, no) v_select(condition, yes, no)
#define LESS(x, y) v_lt(x, y)
#define AT_MOST(x, y) v_le(x, y)
#define IS_NAN(x) v_nan(x)
#define CLIP(x, low, high) v_min(high, v_max(low, x))
#define SIGMOID(x) v_sigmoid(x)
#define BELL(x) bell(x, 1)
#define REST_OF_SQUARE(x) rest_of_square(x)
#define SILU_SLOPE(x) silu_slope(x)
#define SOFTPLUS(x) softplus_of(x)
#define fabs(x) v_abs(x)
#define erf(x) v_erf(x)
#define exp(x) v_exp(x)
#define expm1(x) expm1_of(x)
#define log(x) v_log(x)
#define sqrt(x) v_sqrt(x)
#define tanh(x) v_tanh(x)

#define LOAD(k) v_load((const float *)in[k] + i)
#define LOAD_PART(k) v_load_part((const float *)in[k] + i, count - i)
/* map_NAME: the expression of one operand, or of two. */
#define MAP_BODY(name, operands, first, second, expression)                                                            \
  static void ZB_ISA(map_##name)(float *to, const void *const *in, int64_t count, float a_value, float b_value) {      \
    const vf a = v_set(a_value), b = v_set(b_value);                                                                   \
    (void)a, (void)b;                                                                                                  \
    int64_t i = 0;                                                                                                     \
    for (; i + V_LANES <= count; i += V_LANES) {                                                                       \
      vf first = LOAD(0), second = LOAD((operands) - 1);                                                               \
      (void)first, (void)second;                                                                                       \
      v_store(to + i, (expression));                                                                                   \
    }                                                                                                                  \
    if (i < count) {                                                                                                   \
      vf first = LOAD_PART(0), second = LOAD_PART((operands) - 1);                                                     \
      (void)first, (void)second;                                                                                       \
      v_store_part(to + i, (expression), count - i);                                                                   \
    }                                                                                                                  \
  }
#define ZB_REF_UNARY_VECTOR(name, saved, a, b, forward, gradient)                                                      \
  MAP_BODY(name, 1, x, same, forward) MAP_BODY(name##_grad, 2, saved, dout, gradient)
#include "kernels/cpu/ref/unary.def"
#define ZB_REF_BINARY_VECTOR(name, types, flag, divisor, real, integer) MAP_BODY(name, 2, x, y, real)
#include "kernels/cpu/ref/binary.def"
MAP_BODY(cube, 1, x, same, (x * x * x))
MAP_BODY(gelu_erf, 1, x, same, (x * normal_cdf(x, bell(x, 0.5f))))
MAP_BODY(gelu_tanh, 1, x, same, (x * v_sigmoid(gelu_argument(x))))
MAP_BODY(gelu_erf_grad, 2, x, dout, (dout * gelu_erf_slope(x)))
MAP_BODY(gelu_tanh_grad, 2, x, dout, (dout * gelu_tanh_slope(x)))

static void ZB_ISA(map_where)(float *out, const void *const *in, int64_t count, float a, float b) {
  const uint8_t *condition = in[0];
  const float *yes = in[1], *no = in[2];
  (void)a, (void)b;
  for (int64_t i = 0; i < count; ++i)
    out[i] = condition[i] ? yes[i] : no[i];
}

static void ZB_ISA(map_copy)(float *out, const void *const *in, int64_t count, float a, float b) {
  (void)a, (void)b;
  memcpy(out, in[0], (size_t)count * sizeof *out);
}

static void ZB_ISA(map_pow)(float *out, const void *const *in, int64_t count, float a, float b) {
  const float *x = in[0], *y = in[1];
  (void)a, (void)b;
  for (int64_t i = 0; i < count; ++i)
    out[i] = powf(x[i], y[i]);
}

#endif
