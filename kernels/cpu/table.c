/* The table of the CPU kernels: kernels.def, what a kernel knows of a call, and the choice of the kernel of a call.
 * Tests: test/kernels/fast_table_test.c, test/kernels/refusal_test.c */
#include "kernels/cpu/kernels.h"

#include <stdio.h>
#include <string.h>

#define ZB_KERNEL(op, function, matches, ...) {#op, function, matches, &(const zb_kernel_knows){__VA_ARGS__}},
static const zb_kernel rows[] = {
#include "kernels/cpu/kernels.def"
};

static bool is_among(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names ? names : ""; *at; at += strcspn(at, " "), at += strspn(at, " "))
    if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

/* The first position that is unknown or lacking; -1 if there is none. */
static int wrong_tensor(const zb_tensor *tensors, int count, int known, unsigned optional) {
  for (int i = 0; i < count || (i < known && known != ZB_KNOWS_ANY); ++i) {
    bool present = i < count && zb_tensor_present(&tensors[i]);
    bool may_lack = i < 32 && (optional >> i & 1);
    if (present ? i >= known : i < known && !may_lack) return i;
  }
  return known == ZB_KNOWS_ANY && count == 0 ? 0 : -1;
}

static const zb_attr *wrong_attribute(const zb_kernel *kernel, const zb_kernel_call *call) {
  for (int i = 0; i < call->attrs.count; ++i)
    if (!is_among(kernel->knows->attributes, call->attrs.items[i].name)) return &call->attrs.items[i];
  return NULL;
}

/* What a call has that a kernel does not know, or lacks that it needs. */
static const char *unknown(const zb_kernel *kernel, const zb_kernel_call *call, char *text, size_t size) {
  const zb_kernel_knows *knows = kernel->knows;
  int operand = wrong_tensor(call->inputs, call->input_count, knows->operands, knows->optional);
  int result = wrong_tensor(call->outputs, call->output_count, knows->results, knows->optional_results);
  const zb_attr *attribute = wrong_attribute(kernel, call);
  if (operand >= 0)
    snprintf(text, size, "it %s operand %d", operand < knows->operands ? "lacks" : "does not know", operand);
  else if (result >= 0)
    snprintf(text, size, "it %s result %d", result < knows->results ? "lacks" : "does not know", result);
  else if (attribute)
    snprintf(text, size, "it does not know the attribute '%s'", attribute->name);
  else if (call->accumulate && !knows->accumulates)
    snprintf(text, size, "it cannot add into its result");
  else
    return NULL;
  return text;
}

/* What a reference kernel says of a call without data. One of more tensors than these is known by their number alone
 * (concat). */
enum { CHECKED_MOST = 64 };
static const char *check(const zb_kernel *reference, const zb_kernel_call *call) {
  zb_tensor tensors[CHECKED_MOST];
  if (call->input_count + call->output_count > CHECKED_MOST) return NULL;
  for (int i = 0; i < call->input_count; ++i)
    tensors[i] = call->inputs[i];
  for (int i = 0; i < call->output_count; ++i)
    tensors[call->input_count + i] = call->outputs[i];
  for (int i = 0; i < call->input_count + call->output_count; ++i)
    tensors[i].data = NULL;
  zb_kernel_call empty = *call;
  empty.inputs = tensors;
  empty.outputs = tensors + call->input_count;
  empty.fault = NULL;
  return reference->run(&empty);
}

const char *zb_kernel_refuses(const zb_kernel *kernel, const zb_kernel_call *call, char *text, size_t size) {
  const char *error = unknown(kernel, call, text, size);
  if (error || !kernel->matches) return error ? error : check(kernel, call);
  return kernel->matches(call) ? NULL : "it does not take these shapes, types or attributes";
}

const zb_kernel *zb_kernel_cpu(const char *op, const zb_kernel_call *call) {
  const zb_kernel *reference = zb_kernel_reference(op);
  char text[128];
  if (!reference || zb_kernel_refuses(reference, call, text, sizeof text)) return NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(rows[i].op, op) == 0 && !zb_kernel_refuses(&rows[i], call, text, sizeof text)) return &rows[i];
  return reference;
}
