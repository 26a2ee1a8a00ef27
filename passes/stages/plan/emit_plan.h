/* From allocated IR to the plan. */
#pragma once

#include "passes/pass.h"
#include "runtime/plan/file/plan.h"

/* Builds the plan of a module of level allocated. model: base name of the model file; optimizer: its whole line (both
 * may be NULL). constants: store with the bytes of large constants (may be NULL: they are read by name when the plan is
 * loaded). */
zb_status zb_emit_plan(MlirModule module, const char *model, const char *optimizer, zb_plan **out) ZB_MUST_USE;
