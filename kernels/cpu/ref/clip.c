/* The norm of all gradients: what a parameter gives to it, and the factor that clips. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

enum { BLOCK = 4096, LANES = 16, WEIGHTED_NUMBERS = 2 };

/* Elements of an operand of any strides by their place in row-major order. */
static double element(const zb_tensor *x, int64_t place) {
  int64_t offset = 0;
  for (int d = x->rank - 1; d >= 0; --d) {
    offset += place % x->shape[d] * x->strides[d];
    place /= x->shape[d];
  }
  return zb_ref_get(x, offset);
}

static int64_t blocks_of(int64_t count) { return zb_ceil_div(count, BLOCK); }

/* Number `index` of level 0 is the square of that element; of level n + 1 the sum of that block of level n, which has
 * `count` numbers. */
static double level_sum(const zb_tensor *x, int level, int64_t index, int64_t elements) {
  if (level == 0) {
    const double value = element(x, index);
    return value * value;
  }
  int64_t count = elements;
  for (int i = 1; i < level; ++i)
    count = blocks_of(count);
  const int64_t begin = index * BLOCK, end = zb_min64(begin + BLOCK, count);
  double lanes[LANES] = {0};
  for (int64_t i = begin; i < end; ++i)
    lanes[(i - begin) % LANES] += level_sum(x, level - 1, i, elements);
  for (int left = LANES / 2; left > 0; left /= 2)
    for (int k = 0; k < left; ++k)
      lanes[k] += lanes[k + left];
  return lanes[0];
}

static const char *check_part(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *out = &call->outputs[0];
  if (!zb_dtype_is_float(call->inputs[0].dtype) || out->dtype != ZB_F64) return ZB_REF_BAD_TYPE;
  return zb_tensor_elements(out) == 1 ? NULL : ZB_REF_BAD_SHAPE;
}

const char *zb_ref_square_sum(const zb_kernel_call *call) {
  ZB_REF_TRY(check_part(call));
  ZB_REF_CHECKED(call);
  const zb_tensor *x = &call->inputs[0];
  const int64_t elements = zb_tensor_elements(x);
  const double scale = zb_attr_number(call, "scale", 1);
  int level = 1;
  for (int64_t blocks = blocks_of(elements); blocks > 1; blocks = blocks_of(blocks))
    ++level;
  zb_ref_set(&call->outputs[0], 0, scale * scale * level_sum(x, level, 0, elements));
  return NULL;
}

const char *zb_ref_abs_max(const zb_kernel_call *call) {
  ZB_REF_TRY(check_part(call));
  ZB_REF_CHECKED(call);
  double most = 0;
  for (int64_t i = 0; i < zb_tensor_elements(&call->inputs[0]); ++i) {
    const double value = fabs(element(&call->inputs[0], i));
    if (value > most || isnan(value)) most = value;
  }
  zb_ref_set(&call->outputs[0], 0, zb_attr_number(call, "scale", 1) * most);
  return NULL;
}

const char *zb_ref_clip_scale(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 3, 2, false));
  const zb_tensor *parts = &call->inputs[0], *step = &call->inputs[1], *most = &call->inputs[2], *out = call->outputs;
  if (parts->dtype != ZB_F64 || step->dtype != ZB_I64 || most->dtype != ZB_F64 || out[0].dtype != ZB_F64 ||
      out[1].dtype != ZB_F32)
    return ZB_REF_BAD_TYPE;
  if (parts->rank != 1 || zb_tensor_elements(step) != 1 || zb_tensor_elements(most) != 1 ||
      zb_tensor_elements(&out[0]) != 2 || zb_tensor_elements(&out[1]) != 1)
    return ZB_REF_BAD_SHAPE;
  const bool is_max = strcmp(zb_attr_string(&call->attrs, "norm_type", "2"), "inf") == 0;
  const bool weighted = zb_attr_bool(&call->attrs, "weighted", false);
  const int64_t numbers = parts->shape[0] - (weighted ? WEIGHTED_NUMBERS : 0);
  if (numbers < 0) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  const double max_norm = zb_ref_get(most, 0);
  if (!(max_norm > 0)) return "the greatest norm must be above 0";
  const double weight = weighted ? zb_ref_get(parts, (numbers + 1) * parts->strides[0]) : 1;
  double total = 0;
  for (int64_t i = 0; i < numbers; ++i) {
    const double part = zb_ref_get(parts, i * parts->strides[0]);
    if (!is_max)
      total += part;
    else if (part > total || isnan(part))
      total = part;
  }
  const double exact = (is_max ? total : sqrt(total)) / weight;
  const float norm = weight <= 0 ? -1 : (float)exact; /* no target counts */
  zb_ref_set(&out[0], 0, (double)zb_ref_get_int(step, 0));
  zb_ref_set(&out[0], 1, !isfinite(norm) || norm < 0 ? -1 : fmin(1, max_norm / (exact + 1e-6)) / weight);
  zb_ref_set(&out[1], 0, (double)norm);
  return NULL;
}
