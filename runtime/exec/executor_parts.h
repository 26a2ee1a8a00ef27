/* What executor.c and validation.c share of an executor. */
#pragma once

#include "runtime/exec/executor.h"

enum { ZB_POISON_BYTE = 0xFF };

/* Runs a compute job, or posts one side of a message. */
zb_status zb_executor_compute(zb_executor *e, const zb_plan_job *job) ZB_MUST_USE;
zb_status zb_executor_post(zb_executor *e, const zb_plan_job *job) ZB_MUST_USE;
/* Whether the message is complete; if so, what comes next comes after it. */
zb_status zb_executor_complete(zb_executor *e, int message, bool *out_done) ZB_MUST_USE;
void zb_executor_go_to(zb_executor *e, int job);
/* Zeroes the gradients, and writes the step number and the settings. */
zb_status zb_executor_prepare_step(zb_executor *e) ZB_MUST_USE;
/* A failure of the job that runs, with its name. Takes and returns ownership. */
zb_status zb_executor_name_job(const zb_executor *e, int job, zb_status status) ZB_MUST_USE;
/* Whether a step may go on with these: errors say why not. */
zb_status zb_executor_check_loss(const zb_executor *e, int64_t step, int micro_batch, float loss) ZB_MUST_USE;
zb_status zb_executor_check_norm(const zb_executor *e, int64_t step, float norm) ZB_MUST_USE;
/* Whether a step with that norm changed parameters. */
bool zb_executor_changed(const zb_executor *e, bool has_norm, float norm);

/* ---- validation.c ---- */

void zb_validation_init(zb_executor *e);
/* Whether the job does nothing now: it waits for the verdict, or there is none to find. */
bool zb_validation_skips(const zb_executor *e, const zb_plan_job *job);
/* Whether a message is complete at the verdict only. */
bool zb_validation_defers(const zb_executor *e, int message);
/* In the place of a job that is skipped, and of VERDICT and SNAPSHOT. */
zb_status zb_validation_run(zb_executor *e, const zb_plan_job *job) ZB_MUST_USE;
/* In the place of zb_executor_advance while the phase is not NONE. */
zb_status zb_validation_advance(zb_executor *e, zb_executor_state *out_state) ZB_MUST_USE;
/* Fills the slots with poison, but what a verdict needs. */
void zb_validation_poison_slots(const zb_executor *e);
