/* The instructions of a subprogram as calls of kernels: see calls.h. Tests: test/runtime/exec. */
#include "runtime/plan/file/calls.h"

#include <stdio.h>

const char *zb_call_text(const zb_plan_instruction *instruction, char *text, size_t size) {
  const char *location = instruction->location && instruction->location[0] ? instruction->location : NULL;
  snprintf(text, size, "%s%s%s", instruction->op, location ? " at " : "", location ? location : "");
  return text;
}

static void make_tensor(const zb_plan_operand *operand, zb_tensor *tensor, zb_call *item) {
  *tensor = (zb_tensor){.dtype = operand->dtype, .rank = operand->rank};
  if (operand->rank < 0) return;
  for (int i = 0; i < operand->rank; ++i) {
    tensor->shape[i] = operand->shape[i];
    tensor->strides[i] = operand->strides[i];
  }
  item->places[item->place_count++] = (zb_call_place){tensor, operand->offset, operand->base};
}

/* Takes its tensors and places from the fronts of what is left. */
static void make_call(const zb_plan_instruction *instruction, zb_call *item, zb_tensor **tensors,
                      zb_call_place **places) {
  zb_tensor *inputs = *tensors, *outputs = inputs + instruction->input_count;
  *item = (zb_call){.instruction = instruction, .places = *places};
  for (int i = 0; i < instruction->input_count; ++i)
    make_tensor(&instruction->inputs[i], &inputs[i], item);
  for (int i = 0; i < instruction->output_count; ++i)
    make_tensor(&instruction->outputs[i], &outputs[i], item);
  *tensors = outputs + instruction->output_count;
  *places += item->place_count;
  item->call = (zb_kernel_call){
      .inputs = inputs,
      .input_count = instruction->input_count,
      .outputs = outputs,
      .output_count = instruction->output_count,
      .attrs = {instruction->attrs, instruction->attr_count},
      .accumulate = instruction->accumulate,
  };
}

zb_status zb_calls_init(const zb_plan_subprogram *subprogram, zb_calls *out) {
  size_t operands = 0, count = (size_t)subprogram->instruction_count;
  for (size_t i = 0; i < count; ++i)
    operands += (size_t)(subprogram->instructions[i].input_count + subprogram->instructions[i].output_count);
  *out = (zb_calls){.count = subprogram->instruction_count};
  out->items = zb_alloc(sizeof(zb_call) * (count + 1));
  out->tensors = zb_alloc(sizeof(zb_tensor) * (operands + 1));
  out->places = zb_alloc(sizeof(zb_call_place) * (operands + 1));
  if (!out->items || !out->tensors || !out->places) {
    zb_calls_deinit(out);
    return ZB_OUT_OF_MEMORY();
  }
  zb_tensor *tensors = out->tensors;
  zb_call_place *places = out->places;
  for (size_t i = 0; i < count; ++i)
    make_call(&subprogram->instructions[i], &out->items[i], &tensors, &places);
  return NULL;
}

void zb_calls_deinit(zb_calls *calls) {
  zb_free(calls->items);
  zb_free(calls->tensors);
  zb_free(calls->places);
  *calls = (zb_calls){0};
}
