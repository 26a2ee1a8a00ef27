/* Optimizer updates, in place, of many parameters in one launch: torch.optim.AdamW, Adam and SGD, and Lion, in f32.
 *
 * The table of tensors is the kernel's argument, or lies in device memory; a block finds its tensor by its number and
 * updates ZB_UPDATE_ELEMENTS of it. */
#include "kernels/cuda/device.cuh"

ZB_DEVICE const zb_update_tensor &tensor_of_block(const zb_update_args &a) {
  const zb_update_tensor *tensors = a.table ? a.table : a.tensors;
  int low = 0, high = a.tensor_count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (tensors[middle].first_block <= (int)blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  return tensors[low];
}

/* The address of an operand, or NULL. */
ZB_DEVICE void *operand_at(const zb_update_args &a, uint8_t base, uint64_t offset) {
  return base == ZB_UPDATE_NONE ? NULL : (void *)(uintptr_t)(a.bases[base] + offset);
}

/* What the session set for the step. */
struct update_settings {
  double lr;
  float weight_decay;
};

ZB_DEVICE update_settings settings_of(const zb_update_args &a, const zb_update_tensor &t) {
  const double *pair = (const double *)operand_at(a, t.settings_base, t.settings);
  return update_settings{pair[0], (float)pair[1]};
}

/* The number of the step; with zb.clip_scale it comes with a factor of the gradient, negative where nothing is to
 * change.
 */
ZB_DEVICE int64_t step_of(const zb_update_args &a) {
  return a.step_dtype == ZB_F64 ? (int64_t)((const double *)a.step)[0] : load_integer(a.step, a.step_dtype, 0);
}
ZB_DEVICE double factor_of(const zb_update_args &a) { return a.step_dtype == ZB_F64 ? ((const double *)a.step)[1] : 1; }

/* Calls update(p, g, first, second) for the elements of the block, four at a time where they lie so. */
template <typename F> ZB_DEVICE void for_each_element(const zb_update_args &a, const zb_update_tensor &t, F update) {
  int64_t begin = (int64_t)((int)blockIdx.x - t.first_block) * ZB_UPDATE_ELEMENTS, end = begin + ZB_UPDATE_ELEMENTS;
  if (end > t.elements) end = t.elements;
  const double factor = factor_of(a);
  if (factor < 0) return;
  float scale = (float)(a.gradient_scale * factor), none = 0;
  void *parameter = operand_at(a, t.parameter_base, t.parameter), *first = operand_at(a, t.first_base, t.first);
  void *second = operand_at(a, t.second_base, t.second);
  const void *gradient = operand_at(a, t.gradient_base, t.gradient);
  bool aligned = (((uintptr_t)parameter | (uintptr_t)gradient | (uintptr_t)first | (uintptr_t)second) & 15) == 0;
  if (t.dense && aligned && end - begin == ZB_UPDATE_ELEMENTS) {
    typedef pack<float, 4> four;
    for (int64_t i = begin + (int64_t)threadIdx.x * 4; i < end; i += ZB_UPDATE_THREADS * 4) {
      four p = *(four *)((float *)parameter + i), g = *(const four *)((const float *)gradient + i), m = {}, v = {};
      if (first) m = *(four *)((float *)first + i);
      if (second) v = *(four *)((float *)second + i);
      for (int k = 0; k < 4; ++k)
        update(p.v[k], g.v[k] * scale, m.v[k], v.v[k]);
      *(four *)((float *)parameter + i) = p;
      if (first) *(four *)((float *)first + i) = m;
      if (second) *(four *)((float *)second + i) = v;
    }
    return;
  }
  for (int64_t i = begin + threadIdx.x; i < end; i += ZB_UPDATE_THREADS) {
    float p = load_float(parameter, t.parameter_dtype, i), g = load_float(gradient, t.gradient_dtype, i) * scale;
    float m = first ? load_float(first, t.state_dtype, i) : none,
          v = second ? load_float(second, t.state_dtype, i) : none;
    update(p, g, m, v);
    store_float(parameter, t.parameter_dtype, i, p);
    if (first) store_float(first, t.state_dtype, i, m);
    if (second) store_float(second, t.state_dtype, i, v);
  }
}

/* coupled: weight decay is part of the gradient. */
template <bool coupled> ZB_DEVICE void adam(const zb_update_args &a) {
  const zb_update_tensor &t = tensor_of_block(a);
  float *shared = (float *)zb_shared(); /* step size, root: two powers in f64, once a block */
  int64_t step = step_of(a);
  update_settings now = settings_of(a, t);
  if (threadIdx.x == 0) shared[0] = (float)(now.lr / (1 - pow(a.beta1, (double)step)));
  if (threadIdx.x == 32) shared[1] = (float)sqrt(1 - pow(a.beta2, (double)step)); /* another warp, at the same time */
  __syncthreads();
  float step_size = shared[0], root = shared[1], eps = (float)a.eps, decay = (float)(now.lr * (double)now.weight_decay);
  float beta1 = (float)a.beta1, beta2 = (float)a.beta2, rest1 = (float)(1 - a.beta1), rest2 = (float)(1 - a.beta2);
  for_each_element(a, t, [&](float &p, float g, float &m, float &v) {
    if (coupled) g += now.weight_decay * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    if (!coupled) p -= decay * p;
    p -= step_size * m / (sqrt(v) / root + eps);
  });
}

ZB_KERNEL(zb_adamw, zb_update_args, ZB_UPDATE_THREADS) { adam<false>(a); }
ZB_KERNEL(zb_adam, zb_update_args, ZB_UPDATE_THREADS) { adam<true>(a); }

ZB_KERNEL(zb_lion, zb_update_args, ZB_UPDATE_THREADS) {
  const zb_update_tensor &t = tensor_of_block(a);
  update_settings now = settings_of(a, t);
  float lr = (float)now.lr, decay = (float)(now.lr * (double)now.weight_decay);
  float beta1 = (float)a.beta1, beta2 = (float)a.beta2, rest1 = (float)(1 - a.beta1), rest2 = (float)(1 - a.beta2);
  for_each_element(a, t, [&](float &p, float g, float &m, float &) {
    float direction = beta1 * m + rest1 * g;
    m = beta2 * m + rest2 * g;
    p -= decay * p;
    p -= lr * (direction > 0 ? 1.0f : direction < 0 ? -1.0f : direction); /* 0 and NaN stay */
  });
}

/* beta1 is momentum, beta2 dampening; first is the momentum buffer, or NULL. */
ZB_KERNEL(zb_sgd, zb_update_args, ZB_UPDATE_THREADS) {
  const zb_update_tensor &t = tensor_of_block(a);
  bool starts = step_of(a) == 1;
  update_settings now = settings_of(a, t);
  float lr = (float)now.lr, momentum = (float)a.beta1, rest = (float)(1 - a.beta2);
  for_each_element(a, t, [&](float &p, float g, float &buffer, float &) {
    g += now.weight_decay * p;
    if (t.first_base != ZB_UPDATE_NONE) {
      buffer = starts ? g : momentum * buffer + rest * g;
      g = a.nesterov ? g + momentum * buffer : buffer;
    }
    p -= lr * g;
  });
}
