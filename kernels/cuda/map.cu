/* Elementwise ops that are no row of the formulas' tables: is_inf, is_nan, not, bitwise_not, where, cast,
 * accumulate_add, swiglu_grad; and constants that are computed: iota, triangle. */
#include "kernels/cuda/map.cuh"

template <typename T> ZB_DEVICE void run_is_inf(const zb_map_args &args) {
  bool negative = args.a != 0, positive = args.b != 0;
  map<uint8_t, T, absent, absent>(args, [&](uint8_t &out, T x, absent, absent) {
    float value = value_of(x);
    out = (value == INFINITY && positive) || (value == -INFINITY && negative);
  });
}
template <typename T> ZB_DEVICE void run_is_nan(const zb_map_args &args) {
  map<uint8_t, T, absent, absent>(args, [](uint8_t &out, T x, absent, absent) { out = value_of(x) != value_of(x); });
}
template <typename T> ZB_DEVICE void run_not(const zb_map_args &args) {
  map<T, T, absent, absent>(
      args, [](T &out, T x, absent, absent) { set(out, sizeof(T) == 1 ? !value_of(x) : ~value_of(x)); });
}
/* T: an unsigned integer of the element's size; the bits are copied. */
template <typename T> ZB_DEVICE void run_where(const zb_map_args &args) {
  map<T, uint8_t, T, T>(args, [](T &out, uint8_t condition, T lhs, T rhs) { out = condition ? lhs : rhs; });
}
template <typename To, typename From> ZB_DEVICE void run_cast(const zb_map_args &args) {
  map<To, From, absent, absent>(args, [](To &out, From x, absent, absent) { set(out, value_of(x)); });
}
/* Signed integers of the sizes of the elements: the sign fills bits that are more, and the lower ones of fewer stay. */
template <typename To, typename From> ZB_DEVICE void run_bits(const zb_map_args &args) {
  map<To, From, absent, absent>(args, [](To &out, From x, absent, absent) { out = (To)x; });
}
template <typename T> ZB_DEVICE void run_accumulate(const zb_map_args &args) {
  map<float, T, absent, float>(args, [](float &out, T value, absent, float before) { out = before + value_of(value); });
}
/* As kernels/cpu/ref/fused.c. */
template <typename T> ZB_DEVICE void run_swiglu_grad(const zb_map_args &args) {
  map_to_two<T>(args, [](T &dgate, T &dup, T gate, T up, T dout) {
    float x = value_of(gate), d = value_of(dout), share = SIGMOID(x);
    set(dgate, d * value_of(up) * (share * (1 + x * (1 - share))));
    set(dup, d * (x * share));
  });
}

ZB_FLOAT_KERNELS(zb_is_inf, zb_map_args, ZB_MAP_THREADS, run_is_inf)
ZB_FLOAT_KERNELS(zb_is_nan, zb_map_args, ZB_MAP_THREADS, run_is_nan)
ZB_MAP_KERNEL(zb_not_i1, run_not<uint8_t>(a);)
ZB_MAP_KERNEL(zb_bitwise_not_i64, run_not<int64_t>(a);)
ZB_MAP_KERNEL(zb_bitwise_not_i32, run_not<int32_t>(a);)
ZB_MAP_KERNEL(zb_where_1, run_where<uint8_t>(a);)
ZB_MAP_KERNEL(zb_where_2, run_where<uint16_t>(a);)
ZB_MAP_KERNEL(zb_where_4, run_where<uint32_t>(a);)
ZB_MAP_KERNEL(zb_where_8, run_where<uint64_t>(a);)
ZB_MAP_KERNEL(zb_bits_2_4, run_bits<int32_t, int16_t>(a);)
ZB_MAP_KERNEL(zb_bits_4_2, run_bits<int16_t, int32_t>(a);)
ZB_MAP_KERNEL(zb_bits_4, run_bits<int32_t, int32_t>(a);)
ZB_MAP_KERNEL(zb_bits_8, run_bits<int64_t, int64_t>(a);)
ZB_MAP_KERNEL(zb_cast_bf16_f32, run_cast<bf16, float>(a);)
ZB_MAP_KERNEL(zb_cast_f32_bf16, run_cast<float, bf16>(a);)
ZB_MAP_KERNEL(zb_cast_f16_f32, run_cast<f16, float>(a);)
ZB_MAP_KERNEL(zb_cast_f32_f16, run_cast<float, f16>(a);)
/* sum += value, into f32. */
ZB_FLOAT_KERNELS(zb_accumulate_add, zb_map_args, ZB_MAP_THREADS, run_accumulate)
ZB_FLOAT_KERNELS(zb_swiglu_grad, zb_map_args, ZB_MAP_THREADS, run_swiglu_grad)

/* Any type to any type, element by element: floats through double, integers through int64_t. With args.accumulate the
 * value is added to what is there. */
ZB_KERNEL(zb_cast_any, zb_map_args, ZB_MAP_THREADS) {
  int64_t i = global_thread();
  if (i >= a.elements) return;
  int64_t from = at(a.dims[0], i);
  if (is_float(a.in_dtype)) {
    double value = load_double(a.in[0], a.in_dtype, from);
    if (a.accumulate) value += load_double(a.out, a.out_dtype, i);
    store_double(a.out, a.out_dtype, i, value);
    return;
  }
  int64_t value = load_integer(a.in[0], a.in_dtype, from);
  if (a.out_dtype == ZB_F32)
    ((float *)a.out)[i] = (float)value;
  else if (is_float(a.out_dtype))
    store_double(a.out, a.out_dtype, i, (double)value);
  else
    store_integer(a.out, a.out_dtype, i, value);
}

ZB_KERNEL(zb_iota, zb_fill_args, ZB_MAP_THREADS) {
  int64_t i = global_thread();
  if (i < a.elements) store_double(a.out, a.dtype, i, a.a + a.b * (double)(i / a.inner % a.size));
}

ZB_KERNEL(zb_triangle, zb_fill_args, ZB_MAP_THREADS) {
  int64_t i = global_thread();
  if (i >= a.elements) return;
  int64_t row = i / a.size % a.inner, column = i % a.size;
  store_double(a.out, a.dtype, i, column <= row + a.diagonal ? a.a : a.b);
}
