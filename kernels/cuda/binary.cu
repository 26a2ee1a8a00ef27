/* Elementwise ops of two operands: the rows of kernels/cpu/ref/binary.def. A row that does not take a type has an empty
 * kernel there, which the host never launches. */
#include "kernels/cuda/map.cuh"

enum { REALS = 1, INTEGERS = 2, LOGIC = 4 };
enum { ANY_DIVISOR, NOT_ZERO, NOT_NEGATIVE };

#define ZB_REF_BINARY(name, type_set, flag_name, divisor_rule, real_formula, integer_formula)                          \
  struct name##_pair {                                                                                                 \
    static const int types = type_set, divisor = divisor_rule;                                                         \
    ZB_DEVICE float real(float x, float y, bool flag) const {                                                          \
      typedef float T;                                                                                                 \
      (void)x, (void)y, (void)flag;                                                                                    \
      return (T)(real_formula);                                                                                        \
    }                                                                                                                  \
    ZB_DEVICE int64_t integer(int64_t x, int64_t y, bool flag) const {                                                 \
      (void)x, (void)y, (void)flag;                                                                                    \
      return (int64_t)(integer_formula);                                                                               \
    }                                                                                                                  \
  };
#define ZB_REF_COMPARE(name, operator_of)                                                                              \
  struct name##_pair {                                                                                                 \
    template <typename V> ZB_DEVICE bool operator()(V x, V y) const { return x operator_of y; }                        \
  };
#include "kernels/cpu/ref/binary.def"

template <typename T, typename F> ZB_DEVICE void run_real(const zb_map_args &args, F f) {
  if constexpr ((F::types & REALS) != 0)
    map<T, T, T, absent>(args,
                         [&](T &out, T x, T y, absent) { set(out, f.real(value_of(x), value_of(y), args.flag != 0)); });
}

/* Operands of integer types and i1. An operand that the op cannot take gives 0 and a fault. */
template <typename T, int TYPE, typename F> ZB_DEVICE void run_whole(const zb_map_args &args, F f) {
  if constexpr ((F::types & TYPE) != 0)
    map<T, T, T, absent>(args, [&](T &out, T x, T y, absent) {
      int64_t right = value_of(y);
      bool wrong = F::divisor == NOT_ZERO ? right == 0 : F::divisor == NOT_NEGATIVE && right < 0;
      if (wrong) {
        bool division = F::divisor == NOT_ZERO;
        report_fault(args.fault, division ? ZB_FAULT_DIVISION : ZB_FAULT_SHIFT, right, division ? 1 : 0, INT64_MAX);
        set(out, (int64_t)0);
      } else {
        set(out, f.integer(value_of(x), right, args.flag != 0));
      }
    });
}

template <typename T, typename F> ZB_DEVICE void run_comparison(const zb_map_args &args, F f) {
  map<uint8_t, T, T, absent>(args, [&](uint8_t &out, T x, T y, absent) { out = f(value_of(x), value_of(y)); });
}

#define ZB_REF_BINARY(name, type_set, flag_name, divisor_rule, real_formula, integer_formula)                          \
  ZB_MAP_KERNEL(zb_##name##_f32, run_real<float>(a, name##_pair());)                                                   \
  ZB_MAP_KERNEL(zb_##name##_bf16, run_real<bf16>(a, name##_pair());)                                                   \
  ZB_MAP_KERNEL(zb_##name##_f16, run_real<f16>(a, name##_pair());)                                                     \
  ZB_MAP_KERNEL(zb_##name##_i64, run_whole<int64_t, INTEGERS>(a, name##_pair());)                                      \
  ZB_MAP_KERNEL(zb_##name##_i32, run_whole<int32_t, INTEGERS>(a, name##_pair());)                                      \
  ZB_MAP_KERNEL(zb_##name##_i1, run_whole<uint8_t, LOGIC>(a, name##_pair());)
#define ZB_REF_COMPARE(name, operator_of)                                                                              \
  ZB_MAP_KERNEL(zb_##name##_f32, run_comparison<float>(a, name##_pair());)                                             \
  ZB_MAP_KERNEL(zb_##name##_bf16, run_comparison<bf16>(a, name##_pair());)                                             \
  ZB_MAP_KERNEL(zb_##name##_f16, run_comparison<f16>(a, name##_pair());)                                               \
  ZB_MAP_KERNEL(zb_##name##_i64, run_comparison<int64_t>(a, name##_pair());)                                           \
  ZB_MAP_KERNEL(zb_##name##_i32, run_comparison<int32_t>(a, name##_pair());)                                           \
  ZB_MAP_KERNEL(zb_##name##_i1, run_comparison<uint8_t>(a, name##_pair());)
#include "kernels/cpu/ref/binary.def"
