/* What evaluations write besides their loss: outputs of the plan, as NumPy's arrays. */
#ifndef ZB_EXEC_OUTPUTS_H
#define ZB_EXEC_OUTPUTS_H

#include "runtime/base/arena.h"
#include "runtime/formats/npy.h"
#include "runtime/plan/plan.h"

/* An output that a rank of this process makes. */
typedef struct zb_output_file {
  int output; /* of the plan */
  const char *path;
  uint64_t bytes; /* of a batch */
  bool is_open;
  zb_npy_writer writer;
} zb_output_file;

typedef struct zb_outputs {
  zb_output_file *files;
  int count;
  unsigned char **batch; /* [output of the plan] M of them one behind the other; NULL: not written here */
} zb_outputs;

/* texts: "NAME:FILE.npy", `count` of them; USAGE for one that is wrong or names an output that the plan does not keep.
 * Whether a file can be written is checked where its output is made: by the ranks first .. first + ranks - 1. Memory is
 * the arena's; to be ended by zb_outputs_abandon. */
zb_status zb_outputs_open(zb_outputs *outputs, zb_arena *memory, const zb_plan *plan, const char *const *texts,
                          int count, int first, int ranks) ZB_MUST_USE;
/* Around the batches of an evaluation: begin, add after each batch, then commit, which replaces the files. */
zb_status zb_outputs_begin(zb_outputs *outputs, const zb_plan *plan, int64_t batches) ZB_MUST_USE;
zb_status zb_outputs_add(zb_outputs *outputs) ZB_MUST_USE;
zb_status zb_outputs_commit(zb_outputs *outputs) ZB_MUST_USE;
/* What was begun is dropped; files that were there stay. */
void zb_outputs_abandon(zb_outputs *outputs);

#endif
