/* A choice: all that could be otherwise in the plan of one program, as a value. Passes of passes/stages make one as
 * they decide, or obey one that is given (zb_compile_state). It has one text form, which people read and edit:
 *
 *   zbc-choice 1
 *   program 52f1c09be7d1a640     # the program before it is cut, by its ops and shapes
 *   schedule zb-h1
 *   ranks 2
 *   chunks 1
 *   placement plain
 *   micro-batches 4
 *   stage 0 ends 17              # h.0.mlp (gelu_1); or by a name, as --cuts takes it: stage 0 ends h.0
 *   again 2-5 9.1                # places whose values the backward pass computes again; 9.1: result 1 of place 9 alone
 *   in-b 0 4-7 h.0.ln_1.bias     # gradients of parameters that B computes, by number or name; the others wait in W
 *   order 0 0F0 0F1 0B0 0W0 ..
 *   order 1 ..
 *
 * A place is a forward op of the program before it is cut, counted in program order from 0; of a gradient it is its
 * zb.accumulate that is counted. No pass before zb-partition depends on a choice, so both mean the same with every cut.
 * Nothing in it is an address. No MLIR.
 */
#pragma once

#include "runtime/base/arena.h"
#include "zb/schedule.h"

/* Where a fact stands in the file, from 1; line 0: in none. */
typedef struct zb_choice_at {
  int line, column;
} zb_choice_at;

/* Places or gradients begin .. end - 1; or those of parameters whose names fit a GLOB. */
typedef struct zb_choice_item {
  const char *glob; /* NULL: numbers */
  int begin, end;
  int result; /* of a place; -1: all */
  zb_choice_at at;
  int stage; /* for a comment: with the names of the first and the last of them; names may be NULL */
  const char *first, *last;
} zb_choice_item;
typedef ZB_LIST(zb_choice_item) zb_choice_items;

/* The decisions; each is made by one pass, in this order. */
enum {
  ZB_CHOICE_PLACEMENT = 1, /* ranks, chunks, placement */
  ZB_CHOICE_CUTS = 2,
  ZB_CHOICE_AGAIN = 4,
  ZB_CHOICE_IN_B = 8,
  ZB_CHOICE_ORDER = 16,
  ZB_CHOICE_ALL = 31
};

typedef struct zb_choice {
  zb_arena arena;   /* owns all but the order, and what MLIR lends for as long as its context is there */
  unsigned decided; /* which of them it has; all others are open. One that was read has all */
  const char *file; /* that it was read from; NULL: a compile made it */
  uint64_t program; /* digest of the program before it is cut */
  zb_choice_at program_at;
  const char *schedule;  /* the name that the plan has */
  const char *placement; /* as --placement takes it */
  int ranks, chunks, micro_batches;
  int *after; /* [ranks * chunks - 1] the last place of each stage but the last; -1: the last of that name */
  zb_choice_at *after_at;
  const char **after_name; /* of after; else for comments, NULL: none */
  zb_choice_items again, in_b;
  zb_order order;
  ZB_LIST(zb_choice_at) * job_at; /* [ranks] of order.jobs; NULL: it was not read */
} zb_choice;

void zb_choice_deinit(zb_choice *choice);

/* ---- Making one ---- */

/* Adds these decisions of another one, but for names that MLIR lends: what was decided of them before is gone.
 * MEMORY. */
zb_status zb_choice_take(zb_choice *choice, const zb_choice *from, unsigned decisions) ZB_MUST_USE;
/* The same for equal ones, of these decisions as far as they are there, in any program. */
uint64_t zb_choice_digest(const zb_choice *choice, unsigned decisions);

/* The arrays for ranks x chunks stages. MEMORY. */
zb_status zb_choice_init(zb_choice *choice, int ranks, int chunks) ZB_MUST_USE;
/* Adds the next number, or a result of it; numbers rise, and those of one stage that follow each other are one item.
 * name: for a comment, may be NULL; lent for as long as the choice is there. */
zb_status zb_choice_add(zb_choice *choice, zb_choice_items *items, int number, int result, int stage,
                        const char *name) ZB_MUST_USE;
/* Goes on with `digest` (runtime/base/digest.h): the same for equal orders. */
uint64_t zb_order_digest(uint64_t digest, const zb_order *order);
/* Copies it, in the place of the one that is there. */
zb_status zb_choice_set_order(zb_choice *choice, const zb_order *order) ZB_MUST_USE;

/* ---- Text ---- */

/* The caller's (zb_free); NULL: out of memory. */
char *zb_choice_text(const zb_choice *choice) ZB_MUST_USE;
/* INVALID says FILE:LINE:COLUMN. name: of the file, for messages. Whether it fits a program is for the passes to say,
 * with zb_choice_error. Release with zb_choice_deinit; on failure it is empty. */
zb_status zb_choice_read(const char *name, const char *text, size_t bytes, zb_choice *out) ZB_MUST_USE;
zb_status zb_choice_read_file(const char *path, zb_choice *out) ZB_MUST_USE;

/* INVALID: a fact that the program cannot have. */
zb_status zb_choice_error(const zb_choice *choice, zb_choice_at at, const char *format, ...)
    ZB_PRINTF(3, 4) ZB_MUST_USE;
/* What zb_order_validate says of choice->order, at the job that it names; takes and returns ownership. */
zb_status zb_choice_order_error(const zb_choice *choice, zb_status status) ZB_MUST_USE;
