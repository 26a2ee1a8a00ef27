/* The table of devices, and the categories of the time profile. Tests: test/runtime/exec. */
#include "runtime/device/device.h"

#include "runtime/base/text.h"

#include <string.h>

#define ZB_DEVICE(name) extern const zb_device_def zb_device_##name;
#include "runtime/device/devices.def"
#undef ZB_DEVICE

static const zb_device_def *const devices[] = {
#define ZB_DEVICE(name) &zb_device_##name,
#include "runtime/device/devices.def"
#undef ZB_DEVICE
};
enum { DEVICE_COUNT = sizeof devices / sizeof devices[0] };

int zb_device_count(void) {
  return DEVICE_COUNT;
}

const zb_device_def *zb_device_at(int index) {
  ZB_ASSERT(index >= 0 && index < DEVICE_COUNT);
  return devices[index];
}

const zb_device_def *zb_device_find(const char *name, const char **nearest) {
  const char *names[DEVICE_COUNT];
  for (int i = 0; i < DEVICE_COUNT; ++i) {
    if (strcmp(devices[i]->name, name) == 0) return devices[i];
    names[i] = devices[i]->name;
  }
  if (nearest) *nearest = zb_nearest(name, names, DEVICE_COUNT);
  return NULL;
}

zb_profile_category zb_profile_of(const zb_plan_subprogram *subprogram, const zb_plan_instruction *instruction) {
  static const char attention[] = "attention"; /* with its gradients: attention_grad and the parts of it */
  if (subprogram->kind == ZB_JOB_OPT) return ZB_PROFILE_OPTIMIZER;
  if (strncmp(instruction->op, attention, sizeof attention - 1) == 0) return ZB_PROFILE_ATTENTION;
  return instruction->product_flops > 0 ? ZB_PROFILE_PRODUCTS : ZB_PROFILE_OTHER;
}

const char *zb_profile_name(zb_profile_category category) {
  static const char *const names[] = {
#define ZB_PROFILE(ID, name, help) name,
#include "runtime/device/profile.def"
#undef ZB_PROFILE
  };
  ZB_ASSERT(category >= 0 && category < ZB_PROFILE_COUNT);
  return names[category];
}

const char *zb_profile_help(zb_profile_category category) {
  static const char *const texts[] = {
#define ZB_PROFILE(ID, name, help) help,
#include "runtime/device/profile.def"
#undef ZB_PROFILE
  };
  ZB_ASSERT(category >= 0 && category < ZB_PROFILE_COUNT);
  return texts[category];
}
