/* What kernels that drop elements take of a call: attributes rate and op, and the operand `counter`. */
#pragma once

#include "kernels/call.h"
#include "runtime/base/random.h"

typedef struct zb_drop {
  zb_random_stream stream;
  uint32_t last; /* the greatest word that stays */
  float scale;   /* of what stays; 0 where nothing does */
} zb_drop;

static inline zb_drop zb_drop_of(const zb_kernel_call *call, int counter) {
  double rate = zb_attr_number(call, "rate", 0);
  uint64_t threshold = zb_random_threshold(rate);
  return (zb_drop){
      .stream = zb_random_stream_of(call->inputs[counter].data, zb_attr_int(&call->attrs, "op", 0)),
      .last = threshold > 0 ? (uint32_t)(threshold - 1) : 0,
      .scale = threshold > 0 ? (float)(1 / (1 - rate)) : 0,
  };
}
