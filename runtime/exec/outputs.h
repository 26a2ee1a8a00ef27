/* What evaluations give besides their loss: outputs of the plan, written as NumPy's arrays, or kept in memory. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/formats/npy.h"
#include "runtime/plan/file/plan.h"

/* An output that a rank of this process makes. */
typedef struct zb_output_file {
  int output;          /* of the plan */
  const char *path;    /* NULL: it stays in memory */
  uint64_t bytes;      /* of a batch */
  unsigned char *rows; /* in memory, of a batch of fewer rows: these; NULL: the last batch was whole */
  bool is_open;
  zb_npy_writer writer;
} zb_output_file;

typedef struct zb_outputs {
  zb_output_file *files;
  int count;
  bool *named;           /* [output of the plan] */
  unsigned char **batch; /* [output of the plan] M of them one behind the other; NULL: not made here, or not wanted */
  int64_t each;          /* rows of a micro-batch: zb_data_rows_of_plan */
} zb_outputs;

typedef struct zb_outputs_params {
  const zb_plan *plan;
  const char *const *texts; /* "NAME:FILE.npy", or in_memory "NAME" */
  int count;
  int first_rank, ranks; /* those of this process */
  bool in_memory;
  int64_t each;
} zb_outputs_params;

/* USAGE for a text that is wrong or names an output that the plan does not keep. Whether a file can be written is
 * checked where its output is made. Memory is the arena's; to be ended by zb_outputs_abandon. */
zb_status zb_outputs_open(zb_outputs *outputs, zb_arena *memory, const zb_outputs_params *params) ZB_MUST_USE;
/* As zb_session_output (zb/runtime.h). */
zb_status zb_outputs_find(const zb_outputs *outputs, const zb_plan *plan, const char *name, zb_shape *out_shape,
                          const void **out_data) ZB_MUST_USE;
/* Around the batches of an evaluation: begin, add after each batch, then commit, which replaces the files. rows: those
 * of a batch behind the whole ones; INVALID for an output that has no rows. */
zb_status zb_outputs_begin(zb_outputs *outputs, const zb_plan *plan, int64_t batches, int64_t rows) ZB_MUST_USE;
zb_status zb_outputs_add(zb_outputs *outputs) ZB_MUST_USE;
/* Of a batch of `rows` rows, behind the micro-batches that got part and those behind it (zb_batch_share_of). */
zb_status zb_outputs_add_rows(zb_outputs *outputs, const zb_plan *plan, int64_t rows, int64_t part) ZB_MUST_USE;
zb_status zb_outputs_commit(zb_outputs *outputs) ZB_MUST_USE;
/* What was begun is dropped; files that were there stay. */
void zb_outputs_abandon(zb_outputs *outputs);
