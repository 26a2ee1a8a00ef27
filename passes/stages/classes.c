/* zb.class: see passes/stages/classes.h. */
#include "passes/stages/classes.h"

#include <string.h>

#include "ir/builder.h"
#include "passes/function.h"
#include "zb/schedule.h"

zb_job_kind zb_class_get(MlirOperation op) {
  const char *name = zb_get_string(op, ZB_ATTR_CLASS);
  int kind = name ? 0 : ZB_JOB_KIND_COUNT;
  while (kind < ZB_JOB_KIND_COUNT &&
         !(zb_job_is_compute((zb_job_kind)kind) && strcmp(name, zb_job_mnemonic((zb_job_kind)kind)) == 0))
    ++kind;
  return (zb_job_kind)kind;
}

void zb_class_set(MlirOperation op, zb_job_kind kind) { zb_set_string(op, ZB_ATTR_CLASS, zb_job_mnemonic(kind)); }

int zb_class_kind(MlirOperation op) {
  const int kind = (int)zb_class_get(op) - (int)ZB_JOB_F;
  return kind >= 0 && kind < ZB_KIND_COUNT ? kind : -1;
}
