/* What must hold of a plan, proved. */
#pragma once

#include "runtime/plan/file/plan.h"

/* Proves the plan right, sharing no code with the scheduler: runtime/plan/proof/README.md lists the rules
 * (complete, dataflow: every read after its write, homes of live values never overlap, messages match, same order per
 * channel, no deadlock with zero buffering, W once, the optimizer after its W, memory inside the arena and its
 * regions), for a step and for an evaluation. INVALID names rank, job and rule. */
zb_status zb_plan_verify(const zb_plan *plan) ZB_MUST_USE;

/* The same proof beside what the caller does meanwhile, of a long plan on a thread of its own: until the end nobody may
 * change the plan. NULL: out of memory, and nothing began. */
typedef struct zb_plan_proof zb_plan_proof;
zb_plan_proof *zb_plan_proof_begin(const zb_plan *plan) ZB_MUST_USE;
/* Waits for it and gives what zb_plan_verify gives; NULL: nothing began, and there is nothing to say. */
zb_status zb_plan_proof_end(zb_plan_proof *proof) ZB_MUST_USE;
