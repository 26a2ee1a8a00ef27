/* The instructions of a subprogram as calls of kernels: built once, then only data pointers are written. Shared by
 * devices.
 *
 * Every operand has its place in the call, absent ones with rank -1 and data NULL. A set of calls belongs to one rank:
 * it is patched in place, so two threads may not use it. Tests: test/runtime/exec.
 */
#pragma once

#include "runtime/plan/file/plan.h"

/* Where the data of one tensor of a call lies. */
typedef struct zb_call_place {
  zb_tensor *tensor;
  uint64_t offset;
  uint32_t base; /* 0: the arena */
} zb_call_place;

typedef struct zb_call {
  const zb_plan_instruction *instruction;
  zb_kernel_call call; /* threads and fault are the device's to set */
  zb_call_place *places;
  int place_count;
} zb_call;

typedef struct zb_calls {
  zb_call *items;
  int count;
  zb_tensor *tensors; /* of all calls, in order */
  zb_call_place *places;
} zb_calls;

/* One call an instruction of the subprogram, which must outlive them. MEMORY is the only error; release with
 * zb_calls_deinit. */
zb_status zb_calls_init(const zb_plan_subprogram *subprogram, zb_calls *out) ZB_MUST_USE;
void zb_calls_deinit(zb_calls *calls);
/* "gather at lm.transformer.wte (node_12)" for messages; returns text. */
const char *zb_call_text(const zb_plan_instruction *instruction, char *text, size_t size);

/* Lets a call work on an arena: bases are arena offsets of bases 1... The arena may be an address of a GPU: it is only
 * added to. */
static inline void zb_call_place_at(zb_call *it, unsigned char *arena, const uint64_t *bases) {
  for (int i = 0; i < it->place_count; ++i) {
    const zb_call_place *place = &it->places[i];
    place->tensor->data = arena + place->offset + (place->base > 0 ? bases[place->base - 1] : 0);
  }
  it->call.workspace = it->instruction->scratch_bytes > 0 ? arena + it->instruction->scratch_offset : NULL;
}
