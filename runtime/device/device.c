/* The table of devices, and the categories of the time profile. Tests: test/runtime/exec. */
#include "runtime/device/device.h"

#include "runtime/base/assert.h"
#include "runtime/base/module.h"
#include "runtime/base/words.h"

#include <string.h>

static const zb_device_row rows[] = {
#define ZB_DEVICE(id) {.name = #id, .built_in = &zb_device_##id},
#define ZB_DEVICE_MODULE(id, file, text) {.name = #id, .module = file, .summary = text},
#include "runtime/device/devices.def"
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

int zb_device_count(void) { return ROW_COUNT; }

const zb_device_row *zb_device_at(int index) {
  ZB_ASSERT(index >= 0 && index < ROW_COUNT);
  return &rows[index];
}

const char *zb_device_summary(const zb_device_row *row) {
  return row->built_in ? row->built_in->summary : row->summary;
}

zb_status zb_device_open_row(const zb_device_row *row, const zb_device_def **out, char **out_path) {
  const zb_module *module = NULL;
  *out = row->built_in;
  if (out_path) *out_path = NULL;
  if (row->built_in) return NULL;
  ZB_TRY(zb_module_open(row->module, &module, out_path));
  for (int i = 0; !*out && module->devices && module->devices[i]; ++i)
    if (strcmp(module->devices[i]->name, row->name) == 0) *out = module->devices[i];
  return *out ? NULL : ZB_ERROR(UNAVAILABLE, "the module '%s' has no device '%s'", row->module, row->name);
}

zb_status zb_device_find(const char *name, const zb_device_def **out) {
  const char *names[ROW_COUNT];
  int count = 0;
  *out = NULL;
  for (int i = 0; i < ROW_COUNT; ++i) {
    if (strcmp(rows[i].name, name) == 0) return zb_device_open_row(&rows[i], out, NULL);
    names[count++] = rows[i].name;
  }
  return zb_unknown_name("device", name, names, count);
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
