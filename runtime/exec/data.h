/* Inputs of micro-batches from a file of text or tokens, or from the embedder; and the counter of random numbers, which
 * is an input that neither gives (runtime/base/random.h).
 *
 * A corpus is N tokens. Row r of micro-batch i of step k starts at token ((k*M + i)*B + r)*T mod (N - T - 1); y is x
 * shifted by one. So the only position to save is the number of rows taken so far. Arrays: data_rows.h.
 */
#pragma once

#include "runtime/plan/file/plan.h"
#include "zb/runtime.h"

typedef struct zb_data zb_data;

typedef struct zb_data_params {
  const zb_plan *plan; /* outlives the data */
  const char *source;  /* "text:FILE", "tokens:FILE[:u16|u32]", "npz:FILE" and so on; NULL: `input` is asked */
  const char *option;  /* by which the source was given, for errors: "--data" (NULL), "--eval" */
  zb_status (*input)(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes);
  void *input_context;
  int64_t first_step; /* steps done before this run */
  int64_t first_row;  /* rows taken before this run */
  uint64_t random_seed;
  bool all_rows;    /* of an evaluation: the last batch may have fewer rows than others */
  uint64_t shuffle; /* rows of arrays come in an order drawn by it, another one in each epoch; 0: as in the file */
} zb_data_params;

/* Whether the session itself fills an input. */
bool zb_data_has_counter(const zb_plan *plan);
/* The first input that data feeds; NULL: there is none. */
const zb_plan_input *zb_data_first_input(const zb_plan *plan);

/* Opens the corpus and checks that it fits the inputs of the plan. Release with zb_data_destroy. */
zb_status zb_data_create(const zb_data_params *params, zb_data **out) ZB_MUST_USE;
void zb_data_destroy(zb_data *data);
/* Writes an input of a micro-batch, contiguous, to `to` (the bytes of its shape). Thread-safe for a file; never
 * allocates then. An embedder's callback is called by the thread of the rank that reads. */
zb_status zb_data_read(const zb_data *data, int input, int64_t step, int micro_batch, void *to) ZB_MUST_USE;
/* From now on what is read is of a batch of `rows` rows from `first` on, fewer than M micro-batches have, in parts:
 * micro-batch m gets part part + m (zb_batch_share_of). rows 0: of whole ones. Not while anything is read. */
void zb_data_set_partial(zb_data *data, int64_t first, int64_t rows, int64_t part);
/* Adds to a failure where in the corpus the value is that caused it, and a hint, if that micro-batch (ZB_DATA_ANY:
 * one of the step) holds it. data may be NULL. Takes and returns ownership. O(tokens looked at). */
enum { ZB_DATA_ANY = -2 };
zb_status zb_data_blame(const zb_data *data, int64_t step, int micro_batch, const zb_kernel_fault *fault,
                        zb_status status) ZB_MUST_USE;
/* What tells this data from others, for people: "3192 bytes, 2 a token, digest 6bf1...". */
void zb_data_describe(const zb_data *data, char *text, size_t size);
/* Rows that begin at different tokens: after them the data begins again. 0 when the data is no file. */
int64_t zb_data_rows(const zb_data *data);
/* Of arrays: rows that an epoch leaves out, since they fill no whole step. */
int64_t zb_data_left_out(const zb_data *data);
/* Rows of a micro-batch. */
int64_t zb_data_rows_at_once(const zb_data *data);
/* Rows taken after this number of steps; 0 when the data is no file. */
int64_t zb_data_position(const zb_data *data, int64_t steps);
