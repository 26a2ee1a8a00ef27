/* zb.dropout, zb.uniform: what is drawn is a function of the counter, the op and the place alone
 * (runtime/base/random.h). */
#include "kernels/cpu/ref/ref.h"

static const char *stream_of(const zb_kernel_call *call, int operand, zb_random_stream *out) {
  const zb_tensor *counter = zb_call_input(call, operand);
  int64_t op = zb_attr_int(&call->attrs, "op", 0), words[ZB_COUNTER_WORDS] = {0};
  if (!counter) return "the counter is missing";
  if (counter->dtype != ZB_I64) return ZB_REF_BAD_TYPE;
  if (counter->rank != 1 || counter->shape[0] != ZB_COUNTER_WORDS) return ZB_REF_BAD_SHAPE;
  if (op < 0 || op >> ZB_RANDOM_OP_BITS != 0) return "the number of the op is out of range";
  for (int i = 0; i < ZB_COUNTER_WORDS && counter->data; ++i) /* else it is only checked */
    words[i] = zb_ref_get_int(counter, i * counter->strides[0]);
  *out = zb_random_stream_of(words, op);
  return NULL;
}

const char *zb_ref_drop_of(const zb_kernel_call *call, int operand, zb_ref_drop *out) {
  double rate = zb_attr_number(call, "rate", 0);
  zb_random_stream stream;
  ZB_REF_TRY(stream_of(call, operand, &stream));
  if (!(rate >= 0 && rate < 1)) return "the rate is not in 0 <= rate < 1";
  *out = (zb_ref_drop){stream, zb_random_threshold(rate), 1 / (1 - rate)};
  return NULL;
}

const char *zb_ref_dropout(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  zb_ref_drop drop;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  if (!zb_dtype_is_float(x->dtype) || x->dtype != out->dtype) return ZB_REF_BAD_TYPE;
  if (!zb_tensor_same_shape(x, out) || !zb_ref_walk_add(&walk, x)) return ZB_REF_BAD_SHAPE;
  ZB_REF_TRY(zb_ref_drop_of(call, 1, &drop));
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double value = zb_ref_get(x, walk.offset[1]), factor = zb_ref_drop_factor(&drop, walk.offset[0]);
    value = x->dtype == ZB_F64 ? value * factor : (double)((float)value * (float)factor);
    zb_ref_set(out, walk.offset[0], value);
  }
  return NULL;
}

const char *zb_ref_uniform(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *out = &call->outputs[0];
  const int64_t elements = zb_tensor_elements(out);
  zb_random_stream stream;
  if (out->dtype != ZB_F32 && out->dtype != ZB_I64) return ZB_REF_BAD_TYPE;
  ZB_REF_TRY(stream_of(call, 0, &stream));
  ZB_REF_CHECKED(call);
  for (int64_t i = 0; i < elements; ++i) {
    const uint32_t word = zb_random_word(&stream, i);
    if (out->dtype == ZB_F32)
      ((float *)out->data)[i] = zb_random_real(word);
    else
      ((int64_t *)out->data)[i] = (int64_t)word;
  }
  return NULL;
}
