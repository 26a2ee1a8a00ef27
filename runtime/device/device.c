/* The table of devices, and the categories of the time profile. Tests: test/runtime/exec. */
#include "runtime/device/device.h"

#include "runtime/base/assert.h"

#include <string.h>

static const zb_part_row rows[] = {
#define ZB_DEVICE(id) {.name = #id, .built_in = &zb_device_##id.part},
#define ZB_DEVICE_MODULE(id, file, text) {.name = #id, .module = file, .summary = text},
#include "runtime/device/devices.def"
};
const zb_part_table zb_devices = {"device", "device", rows, sizeof rows / sizeof rows[0]};

zb_status zb_device_find(const char *name, const zb_device_def **out) {
  const zb_part_def *part = NULL;
  zb_status status = zb_part_find(&zb_devices, name, &part);
  *out = (const zb_device_def *)part; /* whose first member it is */
  return status;
}

zb_profile_category zb_profile_of(const zb_plan_subprogram *subprogram, const zb_plan_instruction *instruction) {
  static const char attention[] = "attention"; /* with its gradients: attention_grad and the parts of it */
  if (zb_job_is_optimizer(subprogram->kind)) return ZB_PROFILE_OPTIMIZER;
  if (strncmp(instruction->op, attention, sizeof attention - 1) == 0) return ZB_PROFILE_ATTENTION;
  return instruction->product_flops > 0 ? ZB_PROFILE_PRODUCTS : ZB_PROFILE_OTHER;
}

static const struct {
  const char *name, *help;
} profile_rows[ZB_PROFILE_COUNT] = {
#define ZB_PROFILE(ID, name, help) {name, help},
#include "runtime/device/profile.def"
#undef ZB_PROFILE
};

const char *zb_profile_name(zb_profile_category category) {
  ZB_ASSERT(category >= 0 && category < ZB_PROFILE_COUNT);
  return profile_rows[category].name;
}

const char *zb_profile_help(zb_profile_category category) {
  ZB_ASSERT(category >= 0 && category < ZB_PROFILE_COUNT);
  return profile_rows[category].help;
}
