/* The simulated step of a plan as a picture, and as JSON. */
#pragma once

#include "runtime/plan/file/plan.h"

/* Simulates the plan and writes SVG, or Chrome trace if the path ends in .json. USAGE for other endings. */
zb_status zb_plan_timeline(const zb_plan *plan, const char *path) ZB_MUST_USE;

/* The jobs of all ranks of a step, or of an inference, as one JSON object in one call of `write` (README.md). */
zb_status zb_plan_print_jobs(const zb_plan *plan, zb_write write, void *context) ZB_MUST_USE;
