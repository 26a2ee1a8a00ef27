/* The table of the CUDA kernels: kernels.def, and the choice of a row for a call. */
#include "kernels/cuda/kernels.h"
#include "runtime/base/text.h"

#include <string.h>

static const zb_cuda_kernel rows[] = {
#define ZB_CUDA_KERNEL(op, name) {#op, zb_cuda_run_##name, zb_cuda_matches_##name, NULL},
#define ZB_CUDA_KERNEL_GROUPED(op, name) {#op, zb_cuda_run_##name, zb_cuda_matches_##name, &zb_cuda_group_##name},
#define ZB_CUDA_NO_KERNEL(op, reason)
#include "kernels/cuda/kernels.def"
};

static const struct missing {
  const char *op, *reason;
} missing[] = {
#define ZB_CUDA_KERNEL(op, name)
#define ZB_CUDA_KERNEL_GROUPED(op, name)
#define ZB_CUDA_NO_KERNEL(op, reason) {#op, reason},
#include "kernels/cuda/kernels.def"
    {NULL, NULL},
};

static const char *const fault_texts[] = {
#define ZB_CUDA_FAULT(ID, text) text,
#include "kernels/cuda/faults.def"
};

const char *zb_cuda_fault_text(const zb_cuda_fault_record *record) {
  int count = (int)(sizeof fault_texts / sizeof fault_texts[0]);
  return record->kind >= 0 && record->kind < count ? fault_texts[record->kind]
                                                   : "a fault record that no kernel of this build writes";
}

const char *zb_cuda_kernel_missing(const char *op) {
  for (const struct missing *row = missing; row->op; ++row)
    if (strcmp(row->op, op) == 0) return row->reason;
  return NULL;
}

/* "f32[4x8], f32[8x2 strides 1,8]" */
static void add_operands(zb_text *text, const zb_tensor *tensors, int count) {
  for (int i = 0; i < count; ++i) {
    const zb_tensor *x = &tensors[i];
    zb_text_add(text, "%s", i ? ", " : "");
    if (x->rank < 0) {
      zb_text_add(text, "none");
      continue;
    }
    zb_text_add(text, "%s[", zb_dtype_name(x->dtype));
    for (int k = 0; k < x->rank; ++k)
      zb_text_add(text, "%s%lld", k ? "x" : "", (long long)x->shape[k]);
    zb_text_add(text, " strides");
    for (int k = 0; k < x->rank; ++k)
      zb_text_add(text, "%s%lld", k ? "," : " ", (long long)x->strides[k]);
    zb_text_add(text, "]");
  }
}

static zb_status no_kernel(const char *op, const zb_kernel_call *call, const char *location) {
  const char *reason = zb_cuda_kernel_missing(op);
  const char *between = location && location[0] ? " at " : "", *place = location ? location : "";
  if (reason)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "the cuda device does not run %s%s%s", op, between, place), "%s",
                          reason);
  zb_text text = {0};
  zb_text_add(&text, "(");
  add_operands(&text, call->inputs, call->input_count);
  zb_text_add(&text, ") -> (");
  add_operands(&text, call->outputs, call->output_count);
  zb_text_add(&text, ")%s", call->accumulate ? ", added into its result" : "");
  zb_status status =
      ZB_ERROR(UNAVAILABLE, "no CUDA kernel takes %s%s%s: %s", op, between, place, text.failed ? "" : text.data);
  zb_text_deinit(&text);
  return zb_status_hint(status, "kernels take f32, bf16 and f16 (integers where the op does) and contiguous results; "
                                "compile the model again with this version of zbc, or run it with --device cpu");
}

zb_status zb_cuda_kernel_find(const char *op, const zb_kernel_call *call, const char *location,
                              const zb_cuda_kernel **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(rows[i].op, op) == 0 && rows[i].matches(call)) return *out = &rows[i], NULL;
  return no_kernel(op, call, location);
}
