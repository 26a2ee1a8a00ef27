/* Which addresses a subprogram takes from its job, and how homes become (base, offset). Shared by zb-allocate and
 * zb-verify-plan. */
#pragma once

#include "passes/stages/places/workspace.h"
#include "runtime/plan/file/plan.h"

/* A subprogram with its packing and bases. */
typedef struct zb_subprogram_info {
  MlirOperation function;
  const char *name;
  zb_workspace workspace;
  int argument_count, result_count;
  int *base_of; /* per position (argument i, or argument_count + result k): base number >= 1, or 0: none */
  int base_count;
  int *base_position;   /* [base number - 1] -> position */
  uint64_t *base_bytes; /* [base number - 1] -> rounded bytes of what lies there */
} zb_subprogram_info;

/* Those of a rank but @main and @evaluate, in program order. They live in the arena. */
typedef struct zb_subprograms {
  zb_subprogram_info *infos;
  int count;
  zb_map *index; /* symbol -> infos */
} zb_subprograms;
zb_status zb_subprograms_build(zb_arena *arena, MlirOperation rank, zb_subprograms *out) ZB_MUST_USE;
int zb_callee(const zb_subprograms *subprograms, MlirOperation call); /* -1: none of them, or no call */

/* Region of the pool frame an argument stands for ("parameters", ..., the step counter); ZB_REGION_COUNT for others. */
zb_region_kind zb_argument_region(MlirOperation function, int argument);

/* Of the parts that jobs gather, by their pool: parameters, or copies that LOAD makes of them. */
zb_region_kind zb_region_of_gathered(int64_t pool);

/* Arena offset of an inline constant, as zb-allocate placed it. */
uint64_t zb_constant_address(MlirOperation constant);

/* (base, byte offset) of a home, without its layout offset. constant_offset: arena offset of inline constants by node,
 * may be NULL when the function has none. */
void zb_home_address(const zb_subprogram_info *info, const zb_home *home, const zb_plan_range regions[ZB_REGION_COUNT],
                     uint32_t *out_base, uint64_t *out_offset);
