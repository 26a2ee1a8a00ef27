/* Optimizer updates, in place, of many parameters in one launch: torch.optim.AdamW and torch.optim.SGD in f32.
 *
 * The table of tensors is the kernel's argument; a block finds its tensor by its number and updates ZB_UPDATE_ELEMENTS of it. */
#include "kernels/cuda/device.cuh"

ZB_DEVICE const zb_update_tensor &tensor_of_block(const zb_update_args &a) {
  int low = 0, high = a.tensor_count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (a.tensors[middle].first_block <= (int)blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  return a.tensors[low];
}

/* Calls update(p, g, first, second) for the elements of the block, four at a time where they lie so. */
template <typename F> ZB_DEVICE void for_each_element(const zb_update_args &a, const zb_update_tensor &t, F update) {
  int64_t begin = (int64_t)((int)blockIdx.x - t.first_block) * ZB_UPDATE_ELEMENTS, end = begin + ZB_UPDATE_ELEMENTS;
  if (end > t.elements) end = t.elements;
  float scale = (float)a.gradient_scale, none = 0;
  if (t.dense && end - begin == ZB_UPDATE_ELEMENTS) {
    typedef pack<float, 4> four;
    for (int64_t i = begin + (int64_t)threadIdx.x * 4; i < end; i += ZB_UPDATE_THREADS * 4) {
      four p = *(four *)((float *)t.parameter + i), g = *(const four *)((const float *)t.gradient + i), m = {}, v = {};
      if (t.first) m = *(four *)((float *)t.first + i);
      if (t.second) v = *(four *)((float *)t.second + i);
      for (int k = 0; k < 4; k++)
        update(p.v[k], g.v[k] * scale, m.v[k], v.v[k]);
      *(four *)((float *)t.parameter + i) = p;
      if (t.first) *(four *)((float *)t.first + i) = m;
      if (t.second) *(four *)((float *)t.second + i) = v;
    }
    return;
  }
  for (int64_t i = begin + threadIdx.x; i < end; i += ZB_UPDATE_THREADS) {
    float p = load_float(t.parameter, t.parameter_dtype, i), g = load_float(t.gradient, t.gradient_dtype, i) * scale;
    float m = t.first ? load_float(t.first, t.state_dtype, i) : none, v = t.second ? load_float(t.second, t.state_dtype, i) : none;
    update(p, g, m, v);
    store_float(t.parameter, t.parameter_dtype, i, p);
    if (t.first) store_float(t.first, t.state_dtype, i, m);
    if (t.second) store_float(t.second, t.state_dtype, i, v);
  }
}

ZB_KERNEL(zb_adamw, zb_update_args, ZB_UPDATE_THREADS) {
  const zb_update_tensor &t = tensor_of_block(a);
  float *shared = (float *)zb_shared(); /* step size, root: two powers in f64, once a block */
  int64_t step = load_integer(t.step, t.step_dtype, 0);
  if (threadIdx.x == 0) {
    shared[0] = (float)(a.lr / (1 - pow(a.beta1, (double)step)));
    shared[1] = (float)sqrt(1 - pow(a.beta2, (double)step));
  }
  __syncthreads();
  float step_size = shared[0], root = shared[1], eps = (float)a.eps, decay = (float)(a.lr * (double)t.weight_decay);
  float beta1 = (float)a.beta1, beta2 = (float)a.beta2, rest1 = (float)(1 - a.beta1), rest2 = (float)(1 - a.beta2);
  for_each_element(a, t, [&](float &p, float g, float &m, float &v) {
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    p -= decay * p;
    p -= step_size * m / (sqrt(v) / root + eps);
  });
}

/* beta1 is momentum, beta2 dampening; first is the momentum buffer, or NULL. */
ZB_KERNEL(zb_sgd, zb_update_args, ZB_UPDATE_THREADS) {
  const zb_update_tensor &t = tensor_of_block(a);
  bool starts = load_integer(t.step, t.step_dtype, 0) == 1;
  float lr = (float)a.lr, momentum = (float)a.beta1, rest = (float)(1 - a.beta2);
  for_each_element(a, t, [&](float &p, float g, float &buffer, float &) {
    g += t.weight_decay * p;
    if (t.first) {
      buffer = starts ? g : momentum * buffer + rest * g;
      g = a.nesterov ? g + momentum * buffer : buffer;
    }
    p -= lr * g;
  });
}
