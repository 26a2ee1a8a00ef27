/* Elements, calls and walks: what all reference kernels share. See ref.h. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>
#include <string.h>

double zb_ref_from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

double zb_ref_from_f16(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  double fraction = (double)(bits & 1023);
  double magnitude;
  if (exponent == 31)
    magnitude = fraction == 0 ? (double)INFINITY : (double)NAN;
  else if (exponent == 0)
    magnitude = ldexp(fraction, -24);
  else
    magnitude = ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/* The nearest multiple of 2^q with `digits` binary digits, q >= minimum: one rounding, also for subnormal results. */
static double round_to_digits(double value, int digits, int minimum) {
  if (value == 0 || !isfinite(value)) return value;
  int q = ilogb(value) + 1 - digits;
  if (q < minimum) q = minimum;
  return ldexp(nearbyint(ldexp(value, -q)), q);
}

uint16_t zb_ref_to_bf16(double value) {
  if (isnan(value)) return 0x7fc0;
  /* Beyond the largest bf16 the conversion to float gives infinity, whose upper half is the bf16 infinity. */
  double rounded = round_to_digits(value, 8, -133);
  float narrow = fabs(rounded) > 3.4e38 ? (rounded < 0 ? -INFINITY : INFINITY) : (float)rounded;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return (uint16_t)(bits >> 16);
}

uint16_t zb_ref_to_f16(double value) {
  if (isnan(value)) return 0x7e00;
  unsigned sign = signbit(value) ? 0x8000u : 0;
  double magnitude = fabs(round_to_digits(value, 11, -24));
  if (magnitude > 65504) return (uint16_t)(sign | 0x7c00u);
  if (magnitude < 0x1p-14) return (uint16_t)(sign | (unsigned)ldexp(magnitude, 24));
  int exponent = ilogb(magnitude);
  unsigned fraction = (unsigned)ldexp(magnitude, 10 - exponent) - 1024u;
  return (uint16_t)(sign | (unsigned)(exponent + 15) << 10 | fraction);
}

int64_t zb_ref_to_i64(double value) {
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return (int64_t)value;
}

const char *zb_ref_check(const zb_kernel_call *call, int inputs, int outputs, bool accumulates) {
  if (call->input_count < inputs) return "an operand is missing";
  if (call->output_count < outputs) return "a result is missing";
  if (call->accumulate && !accumulates) return "this op cannot add into its result";
  for (int i = 0; i < inputs; ++i)
    if (call->inputs[i].rank < 0) return "an operand that this op needs is absent";
  for (int i = 0; i < outputs; ++i)
    if (call->outputs[i].rank < 0) return "a result that this op needs is absent";
  return NULL;
}

const int64_t *zb_ref_ints(const zb_kernel_call *call, const char *name, int *count) {
  const zb_attr *attr = zb_attr_find(&call->attrs, name);
  *count = attr && attr->kind == ZB_ATTR_INTS ? attr->count : 0;
  return *count ? attr->ints : NULL;
}

void zb_ref_walk_init(zb_ref_walk *walk, const zb_tensor *space) {
  *walk = (zb_ref_walk){.rank = space->rank, .total = 1};
  for (int i = 0; i < space->rank; ++i) {
    walk->shape[i] = space->shape[i];
    walk->total *= space->shape[i];
  }
  walk->left = walk->total;
  (void)zb_ref_walk_add(walk, space);
}

bool zb_ref_walk_add(zb_ref_walk *walk, const zb_tensor *tensor) {
  if (walk->operand_count == ZB_REF_WALK_MAX) return false;
  int64_t *strides = walk->strides[walk->operand_count++];
  if (!tensor) return true;
  if (tensor->rank > walk->rank) return false;
  for (int i = 0, shift = walk->rank - tensor->rank; i < tensor->rank; ++i) {
    if (tensor->shape[i] == 1) continue; /* broadcast, or only index 0 anyway */
    if (tensor->shape[i] != walk->shape[i + shift]) return false;
    strides[i + shift] = tensor->strides[i];
  }
  return true;
}

void zb_ref_walk_next(zb_ref_walk *walk) {
  --walk->left;
  for (int i = walk->rank - 1; i >= 0; --i) {
    if (++walk->index[i] < walk->shape[i]) {
      for (int k = 0; k < walk->operand_count; ++k)
        walk->offset[k] += walk->strides[k][i];
      return;
    }
    walk->index[i] = 0;
    for (int k = 0; k < walk->operand_count; ++k)
      walk->offset[k] -= walk->strides[k][i] * (walk->shape[i] - 1);
  }
}

void zb_ref_walk_split(const zb_ref_walk *walk, unsigned inner_dimensions, zb_ref_walk *outer, zb_ref_walk *inner) {
  *outer = *inner = (zb_ref_walk){.operand_count = walk->operand_count, .total = 1};
  for (int i = 0; i < walk->rank; ++i) {
    zb_ref_walk *to = inner_dimensions >> i & 1 ? inner : outer;
    int at = to->rank++;
    to->shape[at] = walk->shape[i];
    to->total *= walk->shape[i];
    for (int k = 0; k < walk->operand_count; ++k)
      to->strides[k][at] = walk->strides[k][i];
  }
  outer->left = outer->total;
  inner->left = inner->total;
}
