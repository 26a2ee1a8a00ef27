/* Checkpoints: FOLDER/weights.safetensors and FOLDER/optimizer.safetensors, one consistent pair at any moment; of a run
 * of several processes each as one file a process with an index (model.safetensors.index.json,
 * optimizer.safetensors.index.json) as Hugging Face's loaders read them.
 *
 * A save replaces the folder as a whole (runtime/base/folder.h); opening looks in FOLDER.old too.
 */
#pragma once

#include "runtime/base/folder.h"
#include "runtime/formats/safetensors.h"
#include "runtime/plan/file/plan.h"

typedef struct zb_checkpoint {
  zb_store *weights, *optimizer;
  int64_t step;           /* steps done */
  int64_t skipped;        /* of them: those that changed no parameter, which the optimizer does not count */
  int64_t data_position;  /* rows taken from the data */
  int64_t random_seed;    /* 0: it says none */
  const char *rates;      /* zb_rates_save; NULL: nothing was said */
  const char *rate_table; /* the text of a table of rates, or NULL */
  const char *settings;   /* how the run trains: session_settings.c; NULL: it does not say */
} zb_checkpoint;

/* Opens a checkpoint of the model of the plan. INVALID, naming what differs, for one of another model or a pair that
 * does not belong together. Release with zb_checkpoint_close. */
zb_status zb_checkpoint_open(const char *folder, const zb_plan *plan, zb_checkpoint *out) ZB_MUST_USE;
void zb_checkpoint_close(zb_checkpoint *checkpoint);

/* Writes the tensors of both stores with step, position and the model of the plan as metadata: process 0 begins, then
 * each writes its part (part of `parts`, from 0), then process 0 commits. Between these steps all must know that the
 * one before went well. On a failure anywhere process 0 abandons, which takes and returns the status. */
zb_status zb_checkpoint_begin(const char *folder) ZB_MUST_USE;
zb_status zb_checkpoint_write_part(const char *folder, const zb_plan *plan, const zb_checkpoint *checkpoint, int part,
                                   int parts) ZB_MUST_USE;
zb_status zb_checkpoint_commit(const char *folder, int parts) ZB_MUST_USE;
/* by_exchange: try it in one step first, as zb_checkpoint_commit does. For tests. */
zb_status zb_checkpoint_commit_by(const char *folder, int parts, bool by_exchange) ZB_MUST_USE;
zb_status zb_checkpoint_abandon(const char *folder, zb_status status) ZB_MUST_USE;
/* Keeps other runs from saving to this folder; makes missing parents. What begins, writes and commits does so under it.
 * IO if another run holds it. held: the path of a lock that the caller has, or NULL; where it is the one, nothing is
 * taken. */
zb_status zb_checkpoint_lock(const char *folder, const char *held, zb_folder_lock *out) ZB_MUST_USE;
/* Whether a save to this folder could work: USAGE if it is no folder or holds other files (it will be replaced as a
 * whole), IO if no folder can be made next to it or it cannot be moved. Makes missing parents. */
zb_status zb_checkpoint_check_folder(const char *folder) ZB_MUST_USE;
/* The same by several processes: process 0 begins, then each tries its part, then process 0 ends it, also after a
 * failure of a part. */
zb_status zb_checkpoint_try_begin(const char *folder) ZB_MUST_USE;
zb_status zb_checkpoint_try_part(const char *folder, int part, int parts) ZB_MUST_USE;
zb_status zb_checkpoint_try_end(const char *folder) ZB_MUST_USE;
