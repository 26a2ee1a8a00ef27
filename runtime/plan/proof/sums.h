/* What the rules "sums" (collectives.c) and "norms" (norms.c) both look up: which sums of gradients an instruction of
 * an optimizer is made of. Private to the proof. */
#pragma once

#include "runtime/plan/file/check.h"

/* A sum of gradients: the rank and the place where B and W add to it; of what a collective adds up the collective, as
 * -1 - index, and the buffer. */
typedef struct zb_sums_origin {
  int64_t rank;
  uint64_t offset;
} zb_sums_origin;

/* An instruction of the optimizer of a rank: that of a job. */
typedef struct zb_sums_place {
  int job, instruction;
} zb_sums_place;

typedef struct zb_sums {
  const zb_plan *plan;
  struct zb_sums_of_rank *ranks; /* [rank] */
} zb_sums;

/* What an update adds up, from the last sum to the first as its instructions have them. */
typedef struct zb_sums_list {
  zb_sums_origin *items;
  size_t count, capacity;
  bool failed;
} zb_sums_list;

/* -1, 0 or 1. */
static inline int zb_sums_compare(uint64_t left, uint64_t right) { return (left > right) - (left < right); }
/* Looks through the jobs of all ranks. zb_sums_deinit also after an error. */
zb_status zb_sums_init(zb_sums *it, const zb_plan *plan) ZB_MUST_USE;
void zb_sums_deinit(zb_sums *it);
/* The job of a rank with that message (or, `collective`: with that collective); NULL: it has none. */
const zb_plan_job *zb_sums_job(const zb_plan_rank *rank, int message, int collective);
/* Of a part, the address that replica 0 has: so the optimizers of all replicas compare. */
uint64_t zb_sums_address(const zb_plan *plan, const zb_plan_rank *rank, int job, const zb_plan_operand *operand);
const zb_plan_instruction *zb_sums_instruction(const zb_plan_rank *rank, zb_sums_place at);
/* The instruction of the optimizer that writes there last, before *at; false: none does. Its phases may be jobs of
 * their own. */
bool zb_sums_writer(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place *at);
/* The same of 8 bytes that may be some of a vector of f64; *within: where in it they begin. */
bool zb_sums_maker(const zb_sums *it, const zb_plan_rank *rank, uint64_t address, zb_sums_place *at, uint64_t *within);
/* The sums that an instruction adds, or what it reads is made of. */
void zb_sums_added_at(const zb_sums *it, const zb_plan_rank *rank, zb_sums_place at, zb_sums_list *out);
/* The sums that the update of a parameter adds on a rank; none where the rank does not update it. */
void zb_sums_added(const zb_sums *it, const zb_plan_rank *rank, const zb_plan_parameter *parameter, zb_sums_list *out);
bool zb_sums_same(const zb_sums_list *a, const zb_sums_list *b);
/* Whether a B or W of the rank adds to the sum at that offset. */
bool zb_sums_is_added_to(const zb_sums *it, int rank, uint64_t offset);

/* Rule "norms". */
zb_status zb_verify_norms(const zb_sums *it) ZB_MUST_USE;
