/* How many digits the ops of one operand and their gradients keep, over all floats: an independent formula of each in
 * long double, and points of every exponent, of both signs, and close to where a formula is zero or bends.
 *
 * The error is in units in the last place of the exact value; 4 are allowed. A gradient is measured as a step has it:
 * its kernel gets what F saves, the operand or the result of the kernel under test, and dout = 1. Where it is the
 * result, as in PyTorch and JAX, what a unit of the result makes of the slope is allowed too. Kernels that compute in
 * the type of their operands, not in a wider one, get what a row says in addition, which is less than PyTorch and JAX
 * lose there (test/e2e/digits.py), and 1024 of the least numbers. */
#ifndef ZB_TEST_KERNELS_DIGITS_H
#define ZB_TEST_KERNELS_DIGITS_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/suite.h"
#include "zb/kernel.h"

typedef struct digits_row {
  const char *op;
  long double (*exact)(long double x), (*slope)(long double x);
  bool saves_result; /* slope is a function of the result, else of x */
  double low, high;
  zb_attr attrs[2];
  int attr_count;
  double units[3]; /* of the result and of the gradient, computed in their own type; of the result by vectors */
  double
      absolute; /* of the gradient, in 2^-24 (f64: 2^-53), where it passes 0 between two numbers that nearly cancel */
} digits_row;

static inline long double digits_sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static inline long double digits_softplus(long double x) { return fmaxl(x, 0) + log1pl(expl(-fabsl(x))); }
static inline long double digits_cdf(long double x) { return erfcl(-x * sqrtl(0.5L)) / 2; }
static inline long double digits_density(long double x) { return expl(-x * x / 2) * 0.398942280401432677939946L; }
static inline long double digits_gate(long double x) {
  return digits_sigmoid(1.595769121605730711759784L * (x + 0.044715L * x * x * x));
}
static inline long double digits_gate_slope(long double x) {
  const long double inner = 1.595769121605730711759784L * (x + 0.044715L * x * x * x);
  return digits_sigmoid(inner) *
         (1 + x * digits_sigmoid(-inner) * 1.595769121605730711759784L * (1 + 0.134145L * x * x));
}
static inline long double digits_mish_slope_of(long double x) {
  const long double t = tanhl(digits_softplus(x));
  return t + x * (1 - t * t) * digits_sigmoid(x);
}

#define DIGITS_FUNCTION(name, expression)                                                                              \
  static inline long double digits_##name##_of(long double x) { return expression; }
DIGITS_FUNCTION(abs, fabsl(x))
DIGITS_FUNCTION(abs_slope, x > 0 ? 1 : -1)
DIGITS_FUNCTION(acos_slope, -1 / sqrtl((1 - x) * (1 + x)))
DIGITS_FUNCTION(acosh_slope, 1 / (sqrtl(x - 1) * sqrtl(x + 1)))
DIGITS_FUNCTION(asin_slope, 1 / sqrtl((1 - x) * (1 + x)))
DIGITS_FUNCTION(asinh_slope, 1 / hypotl(1, x))
DIGITS_FUNCTION(atan_slope, 1 / (1 + x * x))
DIGITS_FUNCTION(atanh_slope, 1 / ((1 - x) * (1 + x)))
DIGITS_FUNCTION(cos_slope, -sinl(x))
DIGITS_FUNCTION(celu, x > 0 ? x : 0.75L * expm1l(x / 0.75L))
DIGITS_FUNCTION(celu_slope, x > 0 ? 1 : expl(x / 0.75L))
DIGITS_FUNCTION(clip, fminl(fmaxl(x, -0.5L), 1.25L))
DIGITS_FUNCTION(clip_slope, x >= -0.5L && x <= 1.25L)
DIGITS_FUNCTION(elu, x > 0 ? x : 1.75L * expm1l(x))
DIGITS_FUNCTION(elu_slope, x > 0 ? 1 : 1.75L * expl(x))
DIGITS_FUNCTION(erf_slope, 1.128379167095512573896159L * expl(-x * x))
DIGITS_FUNCTION(erfc_slope, -1.128379167095512573896159L * expl(-x * x))
DIGITS_FUNCTION(gelu, x *digits_cdf(x))
DIGITS_FUNCTION(gelu_slope, digits_cdf(x) + x * digits_density(x))
DIGITS_FUNCTION(gelu_tanh, x *digits_gate(x))
DIGITS_FUNCTION(gelu_tanh_slope, digits_gate_slope(x))
DIGITS_FUNCTION(hard_sigmoid, fminl(fmaxl(x / 6.0 + 0.5L, 0), 1))
DIGITS_FUNCTION(hard_sigmoid_slope, x > -3 && x < 3 ? 1 / 6.0L : 0)
DIGITS_FUNCTION(hard_swish, x *fminl(fmaxl(x + 3, 0), 6) / 6)
DIGITS_FUNCTION(hard_swish_slope, x <= -3 ? 0 : x < 3 ? (2 * x + 3) / 6 : 1)
DIGITS_FUNCTION(leaky_relu, x > 0 ? x : 0.25L * x)
DIGITS_FUNCTION(leaky_relu_slope, x > 0 ? 1 : 0.25L)
DIGITS_FUNCTION(log1p_slope, 1 / (1 + x))
DIGITS_FUNCTION(mish, x *tanhl(digits_softplus(x)))
DIGITS_FUNCTION(neg, -x)
DIGITS_FUNCTION(minus_one, x != x ? x : -1)
DIGITS_FUNCTION(reciprocal, 1 / x)
DIGITS_FUNCTION(reciprocal_slope, -x *x)
DIGITS_FUNCTION(relu, x > 0 ? x : 0)
DIGITS_FUNCTION(relu_slope, x > 0)
DIGITS_FUNCTION(rsqrt, 1 / sqrtl(x))
DIGITS_FUNCTION(rsqrt_slope, -0.5L * x * x * x)
DIGITS_FUNCTION(selu, 1.05070102214813232421875L * (x > 0 ? x : 1.67326319217681884765625L * expm1l(x)))
DIGITS_FUNCTION(selu_slope, 1.05070102214813232421875L * (x > 0 ? 1 : 1.67326319217681884765625L * expl(x)))
DIGITS_FUNCTION(shrink, x < -0.75L ? x + 0.25L : x > 0.75L ? x - 0.25L : 0)
DIGITS_FUNCTION(shrink_slope, x < -0.75L || x > 0.75L)
DIGITS_FUNCTION(sigmoid_slope, x * (1 - x))
DIGITS_FUNCTION(silu, x *digits_sigmoid(x))
DIGITS_FUNCTION(silu_slope, digits_sigmoid(x) * (1 + x * digits_sigmoid(-x)))
DIGITS_FUNCTION(softsign, x / (1 + fabsl(x)))
DIGITS_FUNCTION(softsign_slope, 1 / ((1 + fabsl(x)) * (1 + fabsl(x))))
DIGITS_FUNCTION(sqrt_slope, 0.5L / x)
DIGITS_FUNCTION(tan_slope, 1 + tanl(x) * tanl(x))
DIGITS_FUNCTION(tanh_slope, (1 - x) * (1 + x))
DIGITS_FUNCTION(thresholded_relu, x > 0.75L ? x : 0)
DIGITS_FUNCTION(thresholded_relu_slope, x > 0.75L)
DIGITS_FUNCTION(same, x)
DIGITS_FUNCTION(sigmoid, digits_sigmoid(x))
DIGITS_FUNCTION(softplus, digits_softplus(x))
#undef DIGITS_FUNCTION

#define ALL -HUGE_VAL, HUGE_VAL
#define AT(NAME, VALUE) {.name = NAME, .kind = ZB_ATTR_FLOAT, .f = VALUE}
#define DIGITS_TRUE(NAME) {.name = NAME, .kind = ZB_ATTR_BOOL, .i = 1}
/* clang-format off */
static const digits_row digits_rows[] = {
    {"abs", fabsl, digits_abs_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"acos", acosl, digits_acos_slope_of, false, -1, 1, {{0}}, 0, {0}, 0},
    {"acosh", acoshl, digits_acosh_slope_of, false, 1, HUGE_VAL, {{0}}, 0, {0}, 0},
    {"asin", asinl, digits_asin_slope_of, false, -1, 1, {{0}}, 0, {0}, 0},
    {"asinh", asinhl, digits_asinh_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"atan", atanl, digits_atan_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"atanh", atanhl, digits_atanh_slope_of, false, -1, 1, {{0}}, 0, {0}, 0},
    {"cos", cosl, digits_cos_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"cosh", coshl, sinhl, false, ALL, {{0}}, 0, {0}, 0},
    {"celu", digits_celu_of, digits_celu_slope_of, false, ALL, {AT("alpha", 0.75)}, 1, {0, 400}, 0},
    {"clip", digits_clip_of, digits_clip_slope_of, false, ALL, {AT("min", -0.5), AT("max", 1.25)}, 2, {0}, 0},
    {"elu", digits_elu_of, digits_elu_slope_of, false, ALL, {AT("alpha", 1.75)}, 1, {0}, 0},
    {"erf", erfl, digits_erf_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"erfc", erfcl, digits_erfc_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"exp", expl, digits_same_of, true, ALL, {{0}}, 0, {0}, 0},
    {"expm1", expm1l, expl, false, ALL, {{0}}, 0, {0}, 0},
    {"gelu", digits_gelu_of, digits_gelu_slope_of, false, ALL, {{0}}, 0, {700, 0, 7}, 2},
    {"gelu", digits_gelu_tanh_of, digits_gelu_tanh_slope_of, false, ALL, {DIGITS_TRUE("tanh")}, 1, {1300, 64, 256}, 2},
    {"hard_sigmoid", digits_hard_sigmoid_of, digits_hard_sigmoid_slope_of, false, ALL,
     {AT("alpha", 1.0 / 6), AT("beta", 0.5)}, 2, {0}, 0},
    {"hard_swish", digits_hard_swish_of, digits_hard_swish_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"leaky_relu", digits_leaky_relu_of, digits_leaky_relu_slope_of, false, ALL, {AT("alpha", 0.25)}, 1, {0}, 0},
    {"log", logl, digits_reciprocal_of, false, 0, HUGE_VAL, {{0}}, 0, {0}, 0},
    {"log1p", log1pl, digits_log1p_slope_of, false, -1, HUGE_VAL, {{0}}, 0, {0}, 0},
    {"mish", digits_mish_of, digits_mish_slope_of, false, ALL, {{0}}, 0, {0, 16}, 2},
    {"neg", digits_neg_of, digits_minus_one_of, false, ALL, {{0}}, 0, {0}, 0},
    {"reciprocal", digits_reciprocal_of, digits_reciprocal_slope_of, true, ALL, {{0}}, 0, {0}, 0},
    {"relu", digits_relu_of, digits_relu_slope_of, true, ALL, {{0}}, 0, {0}, 0},
    {"rsqrt", digits_rsqrt_of, digits_rsqrt_slope_of, true, 0, HUGE_VAL, {{0}}, 0, {0}, 0},
    {"selu", digits_selu_of, digits_selu_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"shrink", digits_shrink_of, digits_shrink_slope_of, false, ALL, {AT("bias", 0.25), AT("lambda", 0.75)}, 2, {0}, 0},
    {"sigmoid", digits_sigmoid_of, digits_sigmoid_slope_of, true, ALL, {{0}}, 0, {0}, 0},
    {"silu", digits_silu_of, digits_silu_slope_of, false, ALL, {{0}}, 0, {0, 16}, 2},
    {"sin", sinl, cosl, false, ALL, {{0}}, 0, {0}, 0},
    {"sinh", sinhl, coshl, false, ALL, {{0}}, 0, {0}, 0},
    {"softplus", digits_softplus_of, digits_sigmoid_of, false, ALL, {{0}}, 0, {0}, 0},
    {"softsign", digits_softsign_of, digits_softsign_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"sqrt", sqrtl, digits_sqrt_slope_of, true, 0, HUGE_VAL, {{0}}, 0, {0}, 0},
    {"tan", tanl, digits_tan_slope_of, false, ALL, {{0}}, 0, {0}, 0},
    {"tanh", tanhl, digits_tanh_slope_of, true, ALL, {{0}}, 0, {0}, 0},
    {"thresholded_relu", digits_thresholded_relu_of, digits_thresholded_relu_slope_of, false, ALL,
     {AT("alpha", 0.75)}, 1, {0}, 0},
};
#undef ALL
#undef AT
/* clang-format on */
enum { DIGITS_ROWS = sizeof digits_rows / sizeof digits_rows[0] };

/* ---- Points ---- */

/* Points of a row: every exponent with drawn fractions, what is close to places where formulas bend or are zero, and
 * drawn ones between -20 and 20. Returns how many. */
static inline int64_t digits_points(const digits_row *row, double *x, int64_t most, bool wide) {
  static const double places[] = {1,           -1,       0.5,        -0.5,       3, -3,    0.75, -0.75,  1.25, -1.5,
                                  -1.27846454, -1.19242, -0.7517916, -0.7524614, 6, -88.7, 88.7, -103.9, 20};
  const int highest = wide ? 1024 : 128, lowest = wide ? -1074 : -149, fractions = (int)(most / 4 / (highest - lowest));
  int64_t count = 0;
  uint64_t state = 7;
  for (int exponent = lowest; exponent < highest; ++exponent)
    for (int k = 0; k < 2 * fractions; ++k) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      x[count++] = ldexp((k & 1 ? -1 : 1) * (1 + (double)(state >> 12) * 0x1p-52), exponent);
    }
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i)
    for (int k = 0; k < 64 && count < most; ++k)
      x[count++] = places[i] * (1 + (k & 1 ? -1 : 1) * ldexp(1, -k / 2));
  while (count < most) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    x[count++] = (double)(state >> 12) * 0x1p-52 * 40 - 20;
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = wide ? x[i] : (double)(float)x[i];
    if (value > row->low && value < row->high && value != 0 && isfinite(value)) x[kept++] = value;
  }
  return kept;
}

/* ---- Errors ---- */

/* A unit in the last place of x, of a type with so many digits whose least normal exponent is `least`. */
static inline long double digits_unit(long double x, bool wide) {
  int exponent;
  frexpl(x, &exponent);
  const int least = wide ? -1022 : -126, digits = wide ? 52 : 23;
  if (x == 0 || exponent - 1 < least) exponent = least + 1;
  return ldexpl(1, exponent - 1 - digits);
}

typedef struct digits_error {
  double units, x, got, wanted;
} digits_error;

/* Takes in a value of one point: by how many units it is further off than `spare`. */
static inline void digits_take(digits_error *worst, double x, double got, long double wanted, long double spare,
                               bool wide) {
  const long double most = wide ? 0x1p1024L : 0x1p128L;
  long double at = fminl(fmaxl((long double)got, -most), most), exact = fminl(fmaxl(wanted, -most), most);
  if (isnan(got) && isnan(wanted)) return;
  long double units = (fabsl(at - exact) - spare) / digits_unit(fabsl(exact) == most ? exact / 2 : exact, wide);
  if (isnan(got) || isnan(wanted)) units = HUGE_VALL;
  if ((double)units <= worst->units) return;
  *worst = (digits_error){(double)units, x, got, (double)wanted};
}

/* ---- A run ---- */

/* Computes op of the operands, `count` elements of one type; false where there is no such kernel. */
typedef bool (*digits_run)(const char *op, const zb_tensor *in, int in_count, zb_tensor *out, const digits_row *row);

static inline double digits_get(const zb_tensor *t, int64_t i) {
  return t->dtype == ZB_F64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

static inline zb_tensor digits_tensor(zb_dtype dtype, int64_t count) {
  zb_tensor t = {.dtype = dtype, .rank = 1, .shape = {count}, .strides = {1}};
  t.data = calloc((size_t)count + 64, zb_dtype_bytes(dtype));
  if (!t.data) abort();
  return t;
}

static inline void digits_set(zb_tensor *t, int64_t i, double value) {
  if (t->dtype == ZB_F64)
    ((double *)t->data)[i] = value;
  else
    ((float *)t->data)[i] = (float)value;
}

static inline void digits_judge(const digits_row *row, const char *kernels, const char *what, const digits_error *e,
                                double limit) {
  if (getenv("ZB_DIGITS") || e->units > limit)
    fprintf(stderr, "%s %s%s (%s): %.4g units at %.9g: %.9g, expected %.9g; allowed %.4g\n",
            e->units > limit ? "FAIL" : "    ", row->op, what, kernels, e->units, e->x, e->got, e->wanted, limit);
  CU_ASSERT(e->units <= limit);
}

/* How kernels compute: in a wider type, with vectors, or by the formulas of unary.def in the type of their operands;
 * on a GPU these give 0 for what is below the normal numbers. */
typedef enum digits_kind { DIGITS_WIDE, DIGITS_VECTOR, DIGITS_PLAIN, DIGITS_GPU } digits_kind;

static inline double digits_limit(const digits_row *row, int result, digits_kind kind) {
  if (kind == DIGITS_WIDE) return 4;
  return fmax(4, row->units[kind == DIGITS_VECTOR && result == 0 ? 2 : result]);
}

static inline long double digits_below(digits_kind kind, bool wide) {
  return kind == DIGITS_WIDE ? 0 : kind == DIGITS_GPU ? 128 * 0x1p-126L : 1024 * digits_unit(0, wide);
}

/* All rows, computed by `run` on `points` points in `dtype`. */
static inline void digits_check(const char *kernels, digits_run run, zb_dtype dtype, int64_t points, digits_kind kind) {
  const bool wide = dtype == ZB_F64, exactly = kind == DIGITS_WIDE;
  double *x = malloc((size_t)points * sizeof *x);
  if (!x) abort();
  for (int r = 0; r < DIGITS_ROWS; ++r) {
    const digits_row *row = &digits_rows[r];
    char gradient[64];
    snprintf(gradient, sizeof gradient, "%s_grad", row->op);
    const int64_t count = digits_points(row, x, points, wide);
    zb_tensor in[2] = {digits_tensor(dtype, count), digits_tensor(dtype, count)}, out = digits_tensor(dtype, count);
    zb_tensor dx = digits_tensor(dtype, count);
    for (int64_t i = 0; i < count; ++i)
      digits_set(&in[0], i, x[i]), digits_set(&in[1], i, 1);
    digits_error errors[2] = {{.units = 0}, {.units = 0}};
    const bool has[2] = {run(row->op, in, 1, &out, row),
                         run(gradient, (zb_tensor[]){row->saves_result ? out : in[0], in[1]}, 2, &dx, row)};
    for (int64_t i = 0; i < count; ++i) {
      const long double value = row->exact(x[i]), at = row->saves_result ? value : (long double)x[i];
      long double slope = row->slope(at), unit = digits_unit(value, wide), spare = 0;
      if (row->saves_result) spare = fabsl(row->slope(value + unit) - row->slope(value - unit));
      const long double little = wide ? 0x1p-53L : 0x1p-24L, below = digits_below(kind, wide);
      if (has[0]) digits_take(&errors[0], x[i], digits_get(&out, i), value, below, wide);
      if (!exactly) spare = fmaxl(fmaxl(spare, row->absolute * little), below);
      if (has[1]) digits_take(&errors[1], x[i], digits_get(&dx, i), slope, spare, wide);
    }
    for (int k = 0; k < 2; ++k)
      if (has[k]) digits_judge(row, kernels, k ? "_grad" : "", &errors[k], digits_limit(row, k, kind));
    free(in[0].data), free(in[1].data), free(out.data), free(dx.data);
  }
  free(x);
}

#endif
