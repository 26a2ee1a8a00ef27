/* Well-formedness of plans and small questions about them; private to runtime/plan. Thread-safe. */
#pragma once

#include "runtime/plan/file/plan.h"

/* Checks that every count, index, slice and range of the plan's header, or of one rank's program, is inside what it
 * refers to, so that code that follows it never reads outside of an array or an arena. INVALID with rank, place and
 * rule "structure". It looks at no meaning: that is the verifier's. Used by the reader on what it read, and by the
 * verifier and the simulator on what they are given. */
zb_status zb_plan_check_header(const zb_plan *plan) ZB_MUST_USE;
zb_status zb_plan_check_rank(const zb_plan *plan, int rank) ZB_MUST_USE;
/* Both, for all ranks; a rank that was not read is an error. */
zb_status zb_plan_check(const zb_plan *plan) ZB_MUST_USE;

/* Bytes from an operand's element 0 to the end of its last element; 0 for an absent or empty one; -1 when that
 * overflows. */
int64_t zb_operand_extent(const zb_plan_operand *operand);
/* Whether the strides are those of a contiguous row-major tensor (dimensions of size 1 may have any). */
bool zb_operand_is_contiguous(const zb_plan_operand *operand);

/* "rank 1 job 5 (F of stage 1, micro-batch 0)": how errors name a job. Returns text. */
enum { ZB_JOB_TEXT_BYTES = 128 };
const char *zb_plan_job_text(const zb_plan *plan, int rank, int job, char text[ZB_JOB_TEXT_BYTES]);

/* Whether a job of the rank waits for its job number `other`. */
bool zb_job_waits_for(const zb_plan_rank *rank, const zb_plan_job *job, int other);

/* "'update' of 'w'": how errors name a setting. Returns text. */
enum { ZB_SETTING_TEXT_BYTES = 192 };
const char *zb_setting_text(const zb_plan_setting *setting, char text[ZB_SETTING_TEXT_BYTES]);

/* The region that holds [offset, offset + bytes) as a whole, or ZB_REGION_COUNT. */
zb_region_kind zb_plan_region_of(const zb_plan_rank *rank, uint64_t offset, uint64_t bytes);
