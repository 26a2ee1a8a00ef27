/* Elementwise ops: which kernel, and how its threads read the operands. The device side is map.cuh. */
#include "kernels/cuda/map.h"

#include "kernels/cuda/kernels.h"

#include <math.h>

bool zb_cuda_map_fits(const zb_kernel_call *call, int count) {
  zb_cuda_dims dims;
  if (!zb_cuda_complete(call, count, 1, false)) return false;
  for (int i = 0; i < count; ++i)
    if (!zb_cuda_dims_all(&call->outputs[0], &call->inputs[i], &dims)) return false;
  return true;
}

static bool aligned(const void *data, int64_t bytes) { return (uintptr_t)data % (uintptr_t)bytes == 0; }

/* Groups start at multiples of `n`; they must not go over the end of the last dimension. */
static int group_of(const zb_cuda_dims *dims, const void *data, int n, size_t element_bytes) {
  int last = dims->rank - 1;
  if (dims->rank > 1 && dims->shape[last] % n != 0) return ZB_GROUP_STRIDED;
  if (dims->stride[last] == 0) return ZB_GROUP_REPEATED;
  if (dims->stride[last] != 1 || !aligned(data, n * (int64_t)element_bytes)) return ZB_GROUP_STRIDED;
  for (int i = 0; i < last; ++i)
    if (dims->stride[i] % n != 0) return ZB_GROUP_STRIDED;
  return ZB_GROUP_DENSE;
}

zb_map_args zb_cuda_map_plan(const zb_kernel_call *call, int count, int group_elements) {
  const zb_tensor *out = &call->outputs[0];
  zb_map_args args = {.out = out->data, .elements = zb_tensor_elements(out), .out_dtype = (int32_t)out->dtype};
  size_t out_bytes = zb_dtype_bytes(out->dtype);
  args.out_group = aligned(out->data, group_elements * (int64_t)out_bytes) ? ZB_GROUP_DENSE : ZB_GROUP_STRIDED;
  for (int i = 0; i < count; ++i) {
    const zb_tensor *x = &call->inputs[i];
    (void)zb_cuda_dims_all(out, x, &args.dims[i]); /* matches() asked */
    args.in[i] = x->data;
    args.group[i] = group_of(&args.dims[i], x->data, group_elements, zb_dtype_bytes(x->dtype));
  }
  return args;
}

zb_status zb_cuda_map_launch(zb_cuda_launcher *on, zb_cuda_function function, const zb_map_args *args,
                             int group_elements) {
  int64_t groups = zb_ceil_div(args->elements, group_elements);
  return zb_cuda_enqueue_each(on, function, groups, ZB_MAP_THREADS, args);
}

/* ---- One operand: the rows of unary.def ---- */

typedef struct parameter {
  const char *name;
  double fallback;
} parameter;

#define NONE ((parameter){NULL, 0})
#define PARAMETER(name, fallback) ((parameter){name, fallback})

enum { NO_INTEGERS = -1 };
typedef struct unary {
  int operands; /* 1, or 2: (saved, dout) */
  parameter a, b;
  zb_cuda_function f32;
  int i64; /* zb_cuda_function, or NO_INTEGERS */
} unary;

static bool unary_matches(const zb_kernel_call *call, const unary *op) {
  if (!zb_cuda_map_fits(call, op->operands)) return false;
  zb_dtype dtype = call->outputs[0].dtype;
  for (int i = 0; i < op->operands; ++i)
    if (call->inputs[i].dtype != dtype) return false;
  return zb_cuda_is_float(dtype) || (op->i64 != NO_INTEGERS && zb_dtype_is_index(dtype));
}

static zb_status unary_run(const zb_kernel_call *call, zb_cuda_launcher *on, const unary *op) {
  zb_dtype dtype = call->outputs[0].dtype;
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  zb_map_args args = zb_cuda_map_plan(call, op->operands, n);
  args.a = op->a.name ? zb_attr_number(call, op->a.name, op->a.fallback) : 0;
  args.b = op->b.name ? zb_attr_number(call, op->b.name, op->b.fallback) : 0;
  zb_cuda_function function = zb_cuda_is_float(dtype) ? zb_cuda_for_float(op->f32, dtype)
                                                      : zb_cuda_for_integer((zb_cuda_function)op->i64, dtype);
  return zb_cuda_map_launch(on, function, &args, n);
}

enum {
#define ZB_REF_UNARY(name, saved, a, b, forward, gradient) UNARY_##name,
#define ZB_REF_UNARY_FLAT(name, a, b, forward) UNARY_##name,
#include "kernels/cpu/ref/unary.def"
  UNARY_COUNT
};
/* The integer kernel + 1; 0 for none. */
static const int integer_kernels[UNARY_COUNT] = {
#define ZB_REF_UNARY_INTEGER(name, forward) [UNARY_##name] = ZB_FUNCTION_zb_##name##_i64 + 1,
#include "kernels/cpu/ref/unary.def"
};

#define UNARY_FUNCTIONS(name, operands, a, b, f32, i64)                                                                \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) {                                                            \
    const unary op = {operands, a, b, f32, i64};                                                                       \
    return unary_matches(call, &op);                                                                                   \
  }                                                                                                                    \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    const unary op = {operands, a, b, f32, i64};                                                                       \
    return unary_run(call, on, &op);                                                                                   \
  }
#define ZB_REF_UNARY(name, saved, a, b, forward, gradient)                                                             \
  UNARY_FUNCTIONS(name, 1, a, b, ZB_FUNCTION_zb_##name##_f32, integer_kernels[UNARY_##name] - 1)                       \
  UNARY_FUNCTIONS(name##_grad, 2, a, b, ZB_FUNCTION_zb_##name##_grad_f32, NO_INTEGERS)
#define ZB_REF_UNARY_FLAT(name, a, b, forward)                                                                         \
  UNARY_FUNCTIONS(name, 1, a, b, ZB_FUNCTION_zb_##name##_f32, integer_kernels[UNARY_##name] - 1)
#include "kernels/cpu/ref/unary.def"

/* ---- Two operands: the rows of binary.def ---- */

enum { REALS = 1, INTEGERS = 2, LOGIC = 4, EVERYTHING = 7 };

static bool binary_matches(const zb_kernel_call *call, int types, bool comparison) {
  if (!zb_cuda_map_fits(call, 2)) return false;
  zb_dtype dtype = call->inputs[0].dtype;
  if (call->inputs[1].dtype != dtype || call->outputs[0].dtype != (comparison ? ZB_I1 : dtype)) return false;
  int type = zb_cuda_is_float(dtype) ? REALS : zb_dtype_is_index(dtype) ? INTEGERS : dtype == ZB_I1 ? LOGIC : 0;
  return (types & type) != 0;
}

static zb_status binary_run(const zb_kernel_call *call, zb_cuda_launcher *on, zb_cuda_function f32, const char *flag) {
  zb_dtype dtype = call->inputs[0].dtype;
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  zb_map_args args = zb_cuda_map_plan(call, 2, n);
  args.flag = flag && zb_attr_number(call, flag, 0) != 0;
  args.fault = zb_cuda_fault_of(on);
  return zb_cuda_map_launch(on, zb_cuda_for_any(f32, dtype), &args, n);
}

#define BINARY_FUNCTIONS(name, types, comparison, flag)                                                                \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return binary_matches(call, types, comparison); }          \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return binary_run(call, on, ZB_FUNCTION_zb_##name##_f32, flag);                                                    \
  }
#define ZB_REF_BINARY(name, types, flag, divisor, real, integer) BINARY_FUNCTIONS(name, types, false, flag)
#define ZB_REF_COMPARE(name, operator) BINARY_FUNCTIONS(name, EVERYTHING, true, NULL)
#include "kernels/cpu/ref/binary.def"

/* ---- The others of map.cu ---- */

static bool test_matches(const zb_kernel_call *call) {
  return zb_cuda_map_fits(call, 1) && zb_cuda_is_float(call->inputs[0].dtype) && call->outputs[0].dtype == ZB_I1;
}

static zb_status test_run(const zb_kernel_call *call, zb_cuda_launcher *on, zb_cuda_function f32) {
  zb_dtype dtype = call->inputs[0].dtype;
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  zb_map_args args = zb_cuda_map_plan(call, 1, n);
  args.a = zb_attr_number(call, "detect_negative", 1);
  args.b = zb_attr_number(call, "detect_positive", 1);
  return zb_cuda_map_launch(on, zb_cuda_for_float(f32, dtype), &args, n);
}

bool zb_cuda_matches_is_inf(const zb_kernel_call *call) { return test_matches(call); }
zb_status zb_cuda_run_is_inf(const zb_kernel_call *call, zb_cuda_launcher *on) {
  return test_run(call, on, ZB_FUNCTION_zb_is_inf_f32);
}
bool zb_cuda_matches_is_nan(const zb_kernel_call *call) { return test_matches(call); }
zb_status zb_cuda_run_is_nan(const zb_kernel_call *call, zb_cuda_launcher *on) {
  return test_run(call, on, ZB_FUNCTION_zb_is_nan_f32);
}

static zb_status simple_run(const zb_kernel_call *call, zb_cuda_launcher *on, zb_cuda_function function, int count,
                            size_t widest) {
  int n = zb_cuda_group_elements(widest);
  zb_map_args args = zb_cuda_map_plan(call, count, n);
  return zb_cuda_map_launch(on, function, &args, n);
}

bool zb_cuda_matches_not(const zb_kernel_call *call) {
  return zb_cuda_map_fits(call, 1) && call->inputs[0].dtype == ZB_I1 && call->outputs[0].dtype == ZB_I1;
}
zb_status zb_cuda_run_not(const zb_kernel_call *call, zb_cuda_launcher *on) {
  return simple_run(call, on, ZB_FUNCTION_zb_not_i1, 1, 1);
}

bool zb_cuda_matches_bitwise_not(const zb_kernel_call *call) {
  return zb_cuda_map_fits(call, 1) && zb_dtype_is_index(call->inputs[0].dtype) &&
         call->outputs[0].dtype == call->inputs[0].dtype;
}
zb_status zb_cuda_run_bitwise_not(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_dtype dtype = call->inputs[0].dtype;
  return simple_run(call, on, zb_cuda_for_integer(ZB_FUNCTION_zb_bitwise_not_i64, dtype), 1, zb_dtype_bytes(dtype));
}

bool zb_cuda_matches_where(const zb_kernel_call *call) {
  if (!zb_cuda_map_fits(call, 3) || call->inputs[0].dtype != ZB_I1) return false;
  return call->inputs[1].dtype == call->outputs[0].dtype && call->inputs[2].dtype == call->outputs[0].dtype;
}
zb_status zb_cuda_run_where(const zb_kernel_call *call, zb_cuda_launcher *on) {
  size_t bytes = zb_dtype_bytes(call->outputs[0].dtype);
  zb_cuda_function function = bytes == 8   ? ZB_FUNCTION_zb_where_8
                              : bytes == 4 ? ZB_FUNCTION_zb_where_4
                              : bytes == 2 ? ZB_FUNCTION_zb_where_2
                                           : ZB_FUNCTION_zb_where_1;
  return simple_run(call, on, function, 3, bytes);
}

/* ---- Casts, and sums of two types ---- */

/* The cast kernels that read and write in groups: from, to, function. */
static const struct cast_row {
  zb_dtype from, to;
  zb_cuda_function function;
} casts[] = {
    {ZB_F32, ZB_BF16, ZB_FUNCTION_zb_cast_bf16_f32},
    {ZB_BF16, ZB_F32, ZB_FUNCTION_zb_cast_f32_bf16},
    {ZB_F32, ZB_F16, ZB_FUNCTION_zb_cast_f16_f32},
    {ZB_F16, ZB_F32, ZB_FUNCTION_zb_cast_f32_f16},
};

static zb_status cast_any(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_map_args args = zb_cuda_map_plan(call, 1, 1);
  args.in_dtype = (int32_t)call->inputs[0].dtype;
  args.accumulate = call->accumulate;
  return zb_cuda_map_launch(on, ZB_FUNCTION_zb_cast_any, &args, 1);
}

bool zb_cuda_matches_cast(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 1, 1, false) || !zb_tensor_same_shape(&call->inputs[0], &call->outputs[0])) return false;
  const char *name = zb_attr_string(&call->attrs, "dtype", zb_dtype_name(call->outputs[0].dtype));
  zb_dtype dtype;
  return zb_dtype_parse(name, &dtype) && dtype == call->outputs[0].dtype;
}

zb_status zb_cuda_run_cast(const zb_kernel_call *call, zb_cuda_launcher *on) {
  for (size_t i = 0; i < sizeof casts / sizeof casts[0]; ++i)
    if (casts[i].from == call->inputs[0].dtype && casts[i].to == call->outputs[0].dtype)
      return simple_run(call, on, casts[i].function, 1, 4);
  return cast_any(call, on);
}

/* ---- Bits as another type ---- */

static bool has_bits_of(zb_dtype real, zb_dtype integer) {
  return (real == ZB_F32 && integer == ZB_I32) || (real == ZB_F64 && integer == ZB_I64) ||
         ((real == ZB_BF16 || real == ZB_F16) && integer == ZB_I32);
}

bool zb_cuda_matches_bitcast(const zb_kernel_call *call) {
  if (!zb_cuda_matches_cast(call)) return false;
  const zb_dtype from = call->inputs[0].dtype, to = call->outputs[0].dtype;
  return has_bits_of(from, to) || has_bits_of(to, from);
}

zb_status zb_cuda_run_bitcast(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const size_t from = zb_dtype_bytes(call->inputs[0].dtype), to = zb_dtype_bytes(call->outputs[0].dtype);
  const zb_cuda_function function = from == 2   ? ZB_FUNCTION_zb_bits_2_4
                                    : to == 2   ? ZB_FUNCTION_zb_bits_4_2
                                    : from == 4 ? ZB_FUNCTION_zb_bits_4
                                                : ZB_FUNCTION_zb_bits_8;
  return simple_run(call, on, function, 1, from > to ? from : to);
}

static bool any_real(zb_dtype dtype) { return zb_cuda_is_float(dtype) || dtype == ZB_F64; }

bool zb_cuda_matches_accumulate_add(const zb_kernel_call *call) {
  return zb_cuda_complete(call, 1, 1, true) && zb_tensor_same_shape(&call->inputs[0], &call->outputs[0]) &&
         any_real(call->inputs[0].dtype) && any_real(call->outputs[0].dtype);
}

zb_status zb_cuda_run_accumulate_add(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_dtype from = call->inputs[0].dtype;
  if (!call->accumulate || !zb_cuda_is_float(from) || call->outputs[0].dtype != ZB_F32) return cast_any(call, on);
  int n = zb_cuda_group_elements(4);
  zb_map_args args = zb_cuda_map_plan(call, 1, n);
  args.in[2] = args.out; /* the sum before is the third operand of the kernel */
  args.group[2] = args.out_group;
  (void)zb_cuda_dims_all(&call->outputs[0], &call->outputs[0], &args.dims[2]);
  return zb_cuda_map_launch(on, zb_cuda_for_float(ZB_FUNCTION_zb_accumulate_add_f32, from), &args, n);
}

/* ---- Two results ---- */

bool zb_cuda_matches_swiglu_grad(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 3, 2, false) || !zb_cuda_is_float(call->outputs[0].dtype)) return false;
  zb_dtype dtype = call->outputs[0].dtype;
  for (int i = 0; i < 3; ++i)
    if (call->inputs[i].dtype != dtype || !zb_tensor_same_shape(&call->inputs[i], &call->outputs[0])) return false;
  return call->outputs[1].dtype == dtype && zb_tensor_same_shape(&call->outputs[1], &call->outputs[0]);
}

zb_status zb_cuda_run_swiglu_grad(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_dtype dtype = call->outputs[0].dtype;
  int n = zb_cuda_group_elements(zb_dtype_bytes(dtype));
  zb_map_args args = zb_cuda_map_plan(call, 3, n);
  args.second = call->outputs[1].data;
  args.second_group = aligned(args.second, n * (int64_t)zb_dtype_bytes(dtype)) ? ZB_GROUP_DENSE : ZB_GROUP_STRIDED;
  return zb_cuda_map_launch(on, zb_cuda_for_float(ZB_FUNCTION_zb_swiglu_grad_f32, dtype), &args, n);
}

/* ---- Constants that are computed ---- */

bool zb_cuda_matches_iota(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 0, 1, false)) return false;
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  return axis >= 0 && axis < call->outputs[0].rank;
}

zb_status zb_cuda_run_iota(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *out = &call->outputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", 0);
  zb_fill_args args = {.out = out->data, .elements = zb_tensor_elements(out), .dtype = (int32_t)out->dtype};
  args.inner = zb_cuda_count(out, zb_cuda_from(out, axis + 1));
  args.size = out->shape[axis];
  args.a = zb_attr_number(call, "start", 0);
  args.b = zb_attr_number(call, "step", 1);
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_iota, args.elements, ZB_MAP_THREADS, &args);
}

bool zb_cuda_matches_coordinate(const zb_kernel_call *call) {
  const zb_tensor *out = &call->outputs[0];
  return zb_cuda_complete(call, 0, 1, false) && out->dtype == ZB_I64 && out->rank == 1 && out->shape[0] == 1;
}

/* One number, as the first of many. */
zb_status zb_cuda_run_coordinate(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_fill_args args = {.out = call->outputs[0].data,
                             .elements = 1,
                             .dtype = (int32_t)ZB_I64,
                             .inner = 1,
                             .size = 1,
                             .a = (double)zb_attr_int(&call->attrs, "place", 0)};
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_iota, 1, 1, ZB_MAP_THREADS, 0, &args);
}

bool zb_cuda_matches_triangle(const zb_kernel_call *call) {
  return zb_cuda_complete(call, 0, 1, false) && call->outputs[0].rank >= 2;
}

zb_status zb_cuda_run_triangle(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *out = &call->outputs[0];
  zb_fill_args args = {.out = out->data, .elements = zb_tensor_elements(out), .dtype = (int32_t)out->dtype};
  args.inner = out->shape[out->rank - 2];
  args.size = out->shape[out->rank - 1];
  args.diagonal = zb_attr_int(&call->attrs, "diagonal", 0);
  args.a = zb_attr_number(call, "lower", 0);
  args.b = zb_attr_number(call, "upper", 0);
  return zb_cuda_enqueue_each(on, ZB_FUNCTION_zb_triangle, args.elements, ZB_MAP_THREADS, &args);
}
