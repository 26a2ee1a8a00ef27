/* zb.class of ops and functions: the kind of job in the plan (zb/jobs.def) that they become. A function that has all
 * phases of the optimizer is an UPDATE. */
#pragma once

#include "ir/dialect.h"
#include "runtime/plan/file/plan.h"

/* ZB_JOB_KIND_COUNT: the op has no class, or one that is not known. */
zb_job_kind zb_class_get(MlirOperation op);
void zb_class_set(MlirOperation op, zb_job_kind kind);
/* F, B and W as schedules count them (zb_kind); -1: of another class, or of none. */
int zb_class_kind(MlirOperation op);
