/* Inputs of micro-batches from arrays of a file: an array for each input of the plan, with one more row for each that
 * there is: an input that is 4x128 in a micro-batch comes from N x 128. Where inputs of a micro-batch have different
 * numbers of rows, or one has none (a scalar), what is taken in turn is whole micro-batches: 4x128, 7 and a scalar come
 * from 4N x 128, 7N and N (a scalar alone is N = 1).
 *
 * An epoch has as many whole steps as the rows are enough for; what is left over is not used in it. Row j of an epoch
 * is row j of the file, or, with a seed, row p(j) of it, where p is a permutation drawn for each epoch. So the only
 * position to save is the number of rows taken so far.
 */
#pragma once

#include "runtime/formats/arrays.h"
#include "runtime/plan/file/plan.h"
#include "runtime/base/random.h"

#include <string.h>

/* Whether the session itself fills the input. */
static inline bool zb_data_is_counter(const zb_plan_input *input) { return strcmp(input->name, ZB_COUNTER_INPUT) == 0; }

/* Rows of each input in a micro-batch, where all have as many; else 1: whole micro-batches are the rows. */
int64_t zb_data_rows_of_plan(const zb_plan *plan);

typedef struct zb_rows {
  zb_arrays arrays;
  const zb_stored_tensor **of; /* [input of the plan]; NULL: it is not data's (the counter) */
  bool whole;                  /* a row is a micro-batch */
  int64_t rows, at_once;       /* of the file; of a micro-batch */
  int64_t epoch_rows;          /* that an epoch uses */
  uint64_t seed;               /* 0: as they are in the file */
} zb_rows;

/* option: by which the file was given, for errors. all: an epoch uses all rows, however few (evaluations). INVALID
 * names the input, what it needs and what there is. */
zb_status zb_rows_open(zb_rows *rows, zb_arrays_kind kind, const char *path, const zb_plan *plan, const char *option,
                       uint64_t seed, bool all) ZB_MUST_USE;
void zb_rows_close(zb_rows *rows);
/* The row of the file that is the index-th that training takes. */
int64_t zb_rows_place(const zb_rows *rows, int64_t index);
/* Where p(index) is, of `count` rows in that epoch: a permutation of 0 .. count - 1, O(1) on average. */
int64_t zb_rows_shuffled(uint64_t seed, int64_t epoch, int64_t count, int64_t index);
/* Copies at_once rows of an input: those from index on, `count` of them, again and again. */
void zb_rows_read(const zb_rows *rows, int input, int64_t index, int64_t count, void *to);
/* Whether the integer stands in rows index .. index + count - 1 of an input: at which row of the file. */
bool zb_rows_find(const zb_rows *rows, int input, int64_t index, int64_t count, int64_t value, int64_t *out_row);
