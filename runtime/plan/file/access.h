/* What a subprogram reads and writes, as byte ranges of its bases; for runtime/plan and runtime/device/cuda. Computed
 * once a subprogram, so that verifier and simulator cost what jobs cost, not what instructions cost. */
#pragma once

#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/intervals.h"

typedef struct zb_access {
  int base_count; /* with base 0: subprogram.base_count + 1 */
  zb_intervals
      *reads; /* [base_count] bytes read before the subprogram itself wrote them. Base 0: without the workspace */
  zb_intervals *writes; /* [base_count] bytes written. Base 0: without the workspace */
  zb_intervals
      workspace; /* arena ranges of the workspace that hold results at the end; writer: index of the instruction */
  /* The first instruction that breaks a rule inside of the subprogram, and the rule; NULL if there is none. */
  const char *fault;
  int fault_instruction;
  bool borrowed; /* the lists are those of another rank */
} zb_access;

/* Follows the instructions in order. The plan must have passed zb_plan_check_rank. MEMORY is the only error. */
zb_status zb_access_compute(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, zb_access *out) ZB_MUST_USE;
void zb_access_deinit(zb_access *access);

/* One a subprogram of the rank; *out has subprogram_count entries. Release with zb_access_destroy_all. */
zb_status zb_access_create_all(const zb_plan_rank *rank, zb_access **out) ZB_MUST_USE;
/* The same of a rank with the same regions as another one, of whose subprograms those with the same instructions have
 * the same lists: released before them. */
zb_status zb_access_create_like(const zb_plan_rank *rank, const zb_plan_rank *like, const zb_access *accesses,
                                zb_access **out) ZB_MUST_USE;
void zb_access_destroy_all(zb_access *accesses, int count);
