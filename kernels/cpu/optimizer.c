/* AdamW, Adam, Lion and SGD: one fused pass over parameter, gradient and state, in place.
 * Constants of the step are computed in double, as torch.optim does. Tests: test/kernels/fast_optimizer_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/common.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

#include <math.h>
#include <string.h>

typedef struct update {
  float *parameter, *first, *second; /* second: of Adam; first: exp_avg or momentum buffer (NULL: none) */
  const float *gradient;
  int64_t elements;
  float gradient_scale, decay; /* AdamW, Lion: the factor 1 - lr * weight_decay; Adam, SGD: weight_decay */
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float step_size, root_correction, eps;
  float lr, momentum, gradient_share; /* SGD, lr of Lion too; gradient_share is 1 - dampening */
  bool first_step, nesterov;
} update;

#define ZB_ISA_BODY "kernels/cpu/optimizer.c"
#include "kernels/cpu/isa_each.h"

/* The plan lets result `out` share the memory of operand `in`; where it does not, the operand is copied first. */
static float *updated(const zb_kernel_call *call, int out, int in) {
  const zb_tensor *to = &call->outputs[out], *from = &call->inputs[in];
  if (to->data != from->data) memcpy(to->data, from->data, (size_t)zb_tensor_elements(from) * sizeof(float));
  return to->data;
}

static int64_t step_number(const zb_tensor *step) {
  if (step->dtype == ZB_F64) return (int64_t)*(const double *)step->data;
  return step->dtype == ZB_I64 ? *(const int64_t *)step->data : *(const int32_t *)step->data;
}

/* gradient_scale, times the factor that comes with the step, if one does; negative: nothing is to change. */
static float scale_of(const zb_kernel_call *call, const zb_tensor *step) {
  const double own = zb_attr_float(&call->attrs, "gradient_scale", 1);
  const double factor = step && step->dtype == ZB_F64 ? ((const double *)step->data)[1] : 1;
  return factor < 0 ? -1 : (float)(own * factor);
}

static const char *adam(const zb_kernel_call *call, bool coupled, zb_tile_run tile) {
  const zb_attrs *attrs = &call->attrs;
  const double *settings = call->inputs[5].data, lr = settings[0], eps = zb_attr_float(attrs, "eps", 1e-8);
  double beta1 = zb_attr_float(attrs, "beta1", 0.9), beta2 = zb_attr_float(attrs, "beta2", 0.999);
  double step = (double)step_number(&call->inputs[4]);
  update u = {
      .parameter = updated(call, 0, 0),
      .first = updated(call, 1, 2),
      .second = updated(call, 2, 3),
      .gradient = call->inputs[1].data,
      .elements = zb_tensor_elements(&call->inputs[0]),
      .gradient_scale = scale_of(call, &call->inputs[4]),
      .decay = (float)(coupled ? settings[1] : 1 - lr * settings[1]),
      .beta1 = (float)beta1,
      .one_minus_beta1 = (float)(1 - beta1),
      .beta2 = (float)beta2,
      .one_minus_beta2 = (float)(1 - beta2),
      .step_size = (float)(lr / (1 - pow(beta1, step))),
      .root_correction = (float)(1 / sqrt(1 - pow(beta2, step))),
      .eps = (float)eps,
  };
  if (u.gradient_scale < 0) return NULL;
  zb_parallel_for(call->threads, zb_ceil_div(u.elements, ZB_TILE_ELEMENTS), tile, &u);
  return NULL;
}

const char *zb_cpu_adamw(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(adamw_tile);
  return adam(call, false, tiles[zb_isa()]);
}

const char *zb_cpu_adam(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(adam_tile);
  return adam(call, true, tiles[zb_isa()]);
}

const char *zb_cpu_lion(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(lion_tile);
  const double *settings = call->inputs[4].data;
  double beta1 = zb_attr_float(&call->attrs, "beta1", 0.9), beta2 = zb_attr_float(&call->attrs, "beta2", 0.99);
  update u = {
      .parameter = updated(call, 0, 0),
      .first = updated(call, 1, 2),
      .gradient = call->inputs[1].data,
      .elements = zb_tensor_elements(&call->inputs[0]),
      .gradient_scale = scale_of(call, &call->inputs[3]),
      .decay = (float)(1 - settings[0] * settings[1]),
      .beta1 = (float)beta1,
      .one_minus_beta1 = (float)(1 - beta1),
      .beta2 = (float)beta2,
      .one_minus_beta2 = (float)(1 - beta2),
      .lr = (float)settings[0],
  };
  if (u.gradient_scale < 0) return NULL;
  zb_parallel_for(call->threads, zb_ceil_div(u.elements, ZB_TILE_ELEMENTS), tiles[zb_isa()], &u);
  return NULL;
}

const char *zb_cpu_sgd(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(sgd_tile);
  const zb_attrs *attrs = &call->attrs;
  const zb_tensor *buffer = zb_call_output(call, 1);
  const double *settings = call->inputs[4].data;
  update u = {
      .parameter = updated(call, 0, 0),
      .first = buffer ? updated(call, 1, 2) : NULL,
      .gradient = call->inputs[1].data,
      .elements = zb_tensor_elements(&call->inputs[0]),
      .gradient_scale = scale_of(call, &call->inputs[3]),
      .decay = (float)settings[1],
      .lr = (float)settings[0],
      .momentum = (float)zb_attr_float(attrs, "momentum", 0),
      .gradient_share = (float)(1 - zb_attr_float(attrs, "dampening", 0)),
      .first_step = step_number(&call->inputs[3]) <= 1,
      .nesterov = zb_attr_bool(attrs, "nesterov", false),
  };
  if (u.gradient_scale < 0) return NULL;
  zb_parallel_for(call->threads, zb_ceil_div(u.elements, ZB_TILE_ELEMENTS), tiles[zb_isa()], &u);
  return NULL;
}

/* All but the step number, and the settings behind it, are f32 and contiguous. */
static bool dense_but_step(const zb_kernel_call *call, int step) {
  for (int i = 0; i < call->input_count; ++i) {
    const zb_tensor *x = zb_call_input(call, i);
    if (!x && i < step) continue;
    bool is_pair = x && x->dtype == ZB_F64 && zb_tensor_elements(x) == 2 && zb_tensor_contiguous(x);
    bool good = x && (i == step       ? zb_dtype_is_index(x->dtype) || is_pair
                      : i == step + 1 ? is_pair
                                      : x->dtype == ZB_F32 && zb_tensor_contiguous(x));
    if (!good) return false;
  }
  for (int i = 0; i < call->output_count; ++i) {
    const zb_tensor *x = zb_call_output(call, i);
    if (x && (x->dtype != ZB_F32 || !zb_tensor_contiguous(x))) return false;
  }
  return true;
}

bool zb_cpu_adamw_matches(const zb_kernel_call *call) {
  return call->input_count == 6 && call->output_count == 3 && dense_but_step(call, 4);
}

bool zb_cpu_lion_matches(const zb_kernel_call *call) {
  return call->input_count == 5 && call->output_count == 2 && dense_but_step(call, 3);
}

bool zb_cpu_sgd_matches(const zb_kernel_call *call) {
  bool has_buffer = zb_call_output(call, 1) != NULL;
  if (has_buffer != (zb_attr_float(&call->attrs, "momentum", 0) != 0.0)) return false;
  return call->input_count == 5 && dense_but_step(call, 3);
}

#else /* ---- One tile, for one instruction set ---- */

V_INLINE void ZB_ISA(adam_step)(const update *u, bool coupled, vf gradient, vf *parameter, vf *first, vf *second) {
  vf g = gradient * v_set(u->gradient_scale);
  if (coupled) g = v_fma(v_set(u->decay), *parameter, g);
  vf m = v_fma(v_set(u->one_minus_beta1), g, v_set(u->beta1) * *first);
  vf v = v_fma(v_set(u->one_minus_beta2) * g, g, v_set(u->beta2) * *second);
  vf denominator = v_fma(v_sqrt(v), v_set(u->root_correction), v_set(u->eps));
  if (!coupled) *parameter *= v_set(u->decay);
  *parameter = v_fma(v_set(-u->step_size), m / denominator, *parameter);
  *first = m;
  *second = v;
}

V_INLINE void ZB_ISA(adam_elements)(const void *context, bool coupled, int64_t tile) {
  const update copy = *(const update *)context, *u = &copy; /* stores to the tensors cannot change it */
  int64_t i = tile * ZB_TILE_ELEMENTS, end = zb_min64(i + ZB_TILE_ELEMENTS, u->elements);
  for (; i + V_LANES <= end; i += V_LANES) {
    vf p = v_load(u->parameter + i), m = v_load(u->first + i), v = v_load(u->second + i);
    ZB_ISA(adam_step)(u, coupled, v_load(u->gradient + i), &p, &m, &v);
    v_store(u->parameter + i, p);
    v_store(u->first + i, m);
    v_store(u->second + i, v);
  }
  int64_t left = end - i;
  if (left <= 0) return;
  vf p = v_load_part(u->parameter + i, left), m = v_load_part(u->first + i, left), v = v_load_part(u->second + i, left);
  ZB_ISA(adam_step)(u, coupled, v_load_part(u->gradient + i, left), &p, &m, &v);
  v_store_part(u->parameter + i, p, left);
  v_store_part(u->first + i, m, left);
  v_store_part(u->second + i, v, left);
}

static void ZB_ISA(adamw_tile)(void *context, int64_t tile, void *scratch ZB_UNUSED) {
  ZB_ISA(adam_elements)(context, false, tile);
}

static void ZB_ISA(adam_tile)(void *context, int64_t tile, void *scratch ZB_UNUSED) {
  ZB_ISA(adam_elements)(context, true, tile);
}

static void ZB_ISA(lion_tile)(void *context, int64_t tile, void *scratch) {
  const update copy = *(const update *)context, *u = &copy; /* stores to the tensors cannot change it */
  int64_t i = tile * ZB_TILE_ELEMENTS, end = zb_min64(i + ZB_TILE_ELEMENTS, u->elements);
  (void)scratch;
  for (; i < end; i += V_LANES) {
    int64_t n = zb_min64(V_LANES, end - i);
    vf p = v_load_part(u->parameter + i, n), m = v_load_part(u->first + i, n);
    vf g = v_load_part(u->gradient + i, n) * v_set(u->gradient_scale);
    vf direction = v_fma(v_set(u->one_minus_beta1), g, v_set(u->beta1) * m);
    vm moves = v_lt(v_set(0), v_abs(direction)); /* 0 and NaN stay */
    vf sign = v_select(moves, v_copysign(v_set(1), direction), direction);
    v_store_part(u->parameter + i, v_fma(v_set(-u->lr), sign, p * v_set(u->decay)), n);
    v_store_part(u->first + i, v_fma(v_set(u->one_minus_beta2), g, v_set(u->beta2) * m), n);
  }
}

V_INLINE void ZB_ISA(sgd_step)(const update *u, vf gradient, vf *parameter, vf *buffer) {
  vf g = v_fma(v_set(u->decay), *parameter, gradient * v_set(u->gradient_scale)), direction = g;
  if (u->first) {
    *buffer = u->first_step ? g : v_fma(v_set(u->gradient_share), g, v_set(u->momentum) * *buffer);
    direction = u->nesterov ? v_fma(v_set(u->momentum), *buffer, g) : *buffer;
  }
  *parameter = v_fma(v_set(-u->lr), direction, *parameter);
}

static void ZB_ISA(sgd_tile)(void *context, int64_t tile, void *scratch) {
  const update copy = *(const update *)context, *u = &copy; /* stores to the tensors cannot change it */
  int64_t i = tile * ZB_TILE_ELEMENTS, end = zb_min64(i + ZB_TILE_ELEMENTS, u->elements);
  (void)scratch;
  for (; i < end; i += V_LANES) {
    int64_t n = zb_min64(V_LANES, end - i);
    vf p = v_load_part(u->parameter + i, n), b = v_set(0);
    if (u->first) b = v_load_part(u->first + i, n);
    ZB_ISA(sgd_step)(u, v_load_part(u->gradient + i, n), &p, &b);
    v_store_part(u->parameter + i, p, n);
    if (u->first) v_store_part(u->first + i, b, n);
  }
}
#endif
