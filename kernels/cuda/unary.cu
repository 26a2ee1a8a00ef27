/* Elementwise ops of one operand and their gradients: the rows of kernels/cpu/ref/unary.def. */
#include "kernels/cuda/map.cuh"

/* out = forward(x); the gradient is one of saved and dout. a and b are the row's attributes. */
#define FORMULA(name, variable, formula)                                                                               \
  struct name {                                                                                                        \
    ZB_DEVICE float operator()(float variable, float dout, float a, float b) const {                                   \
      typedef float T;                                                                                                 \
      (void)variable, (void)dout, (void)a, (void)b;                                                                    \
      return (T)(formula);                                                                                             \
    }                                                                                                                  \
  };
#define ZB_REF_UNARY(name, saved, pa, pb, forward, gradient)                                                           \
  FORMULA(name##_forward, x, forward) FORMULA(name##_gradient, saved, gradient)
#define ZB_REF_UNARY_FLAT(name, pa, pb, forward) FORMULA(name##_forward, x, forward)
#define ZB_REF_UNARY_INTEGER(name, forward)                                                                            \
  struct name##_integer {                                                                                              \
    ZB_DEVICE int64_t operator()(int64_t x, double a, double b) const {                                                \
      (void)a, (void)b;                                                                                                \
      return forward;                                                                                                  \
    }                                                                                                                  \
  };
#include "kernels/cpu/ref/unary.def"

template <typename T, typename F> ZB_DEVICE void run_unary(const zb_map_args &args, F f) {
  float a = (float)args.a, b = (float)args.b;
  map<T, T, absent, absent>(args, [&](T &out, T x, absent, absent) { set(out, f(value_of(x), 0.0f, a, b)); });
}

template <typename T, typename F> ZB_DEVICE void run_gradient(const zb_map_args &args, F f) {
  float a = (float)args.a, b = (float)args.b;
  map<T, T, T, absent>(args,
                       [&](T &out, T saved, T dout, absent) { set(out, f(value_of(saved), value_of(dout), a, b)); });
}

template <typename T, typename F> ZB_DEVICE void run_integer(const zb_map_args &args, F f) {
  map<T, T, absent, absent>(args, [&](T &out, T x, absent, absent) { set(out, f(value_of(x), args.a, args.b)); });
}

#define FLOATS(name, run, f)                                                                                           \
  ZB_MAP_KERNEL(name##_f32, run<float>(a, f());)                                                                       \
  ZB_MAP_KERNEL(name##_bf16, run<bf16>(a, f());)                                                                       \
  ZB_MAP_KERNEL(name##_f16, run<f16>(a, f());)
#define ZB_REF_UNARY(name, saved, pa, pb, forward, gradient)                                                           \
  FLOATS(zb_##name, run_unary, name##_forward)                                                                         \
  FLOATS(zb_##name##_grad, run_gradient, name##_gradient)
#define ZB_REF_UNARY_FLAT(name, pa, pb, forward) FLOATS(zb_##name, run_unary, name##_forward)
#define ZB_REF_UNARY_INTEGER(name, forward)                                                                            \
  ZB_MAP_KERNEL(zb_##name##_i64, run_integer<int64_t>(a, name##_integer());)                                           \
  ZB_MAP_KERNEL(zb_##name##_i32, run_integer<int32_t>(a, name##_integer());)
#include "kernels/cpu/ref/unary.def"
