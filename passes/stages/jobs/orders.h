/* Orders of schedules: what trials and the compile itself ask for the same problem is found once. */
#pragma once

#include "passes/stages/jobs/problem.h"
#include "runtime/base/memo.h"
#include "zb/schedule.h"

/* The order of a rule; settled: with W as early as costs nothing (zb_order_advance_w): measured, a W whose inputs have
 * left the caches takes up to a sixth longer. memo, which may be NULL, has those of slow schedules that were made
 * before. Release with zb_order_deinit; on failure it is empty. */
zb_status zb_choice_order(zb_memo *memo, const zb_schedule_choice *choice, bool settled, const zb_problem *problem,
                          zb_order *out) ZB_MUST_USE;

/* zb_module_problem_build, as orders are made for it: with the metric, and with the sums over replicas. */
zb_status zb_order_problem_build(MlirModule module, int micro_batches, zb_metric metric,
                                 zb_module_problem *out) ZB_MUST_USE;
