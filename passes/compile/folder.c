/* zb_compile: the folder of plan, weights and constants, replaced as a whole. Tests: test/e2e. */

#include "passes/compile/parts.h"
#include "runtime/base/digest.h"
#include "runtime/base/folder.h"
#include "runtime/base/map.h"
#include "runtime/base/mapping.h"

#include <string.h>

static uint64_t digest_in(const zb_store *store, const char *name) {
  const zb_stored_tensor *t = store ? zb_store_find(store, name) : NULL;
  return t ? zb_digest_of(t->data, (size_t)t->bytes) : 0;
}

/* Ties the plan to the values in its folder. A parameter that several ranks hold is looked at once. */
static zb_status tie_values(zb_plan *plan, const zb_store *weights, const zb_store *constants) {
  zb_map *known = zb_map_create();
  if (!known) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  plan->value_digests = true;
  for (int r = 0; r < plan->rank_count; ++r) {
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      int64_t digest = 0;
      if (!zb_map_get(known, tensor->name, &digest)) digest = (int64_t)digest_in(weights, tensor->name);
      if (!digest) digest = ZB_PLAN_VALUE_LATER;
      if (!zb_map_set(known, tensor->name, digest)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
      tensor->digest = (uint64_t)digest;
    }
    for (int i = 0; i < plan->ranks[r].constant_count; ++i) {
      zb_plan_constant *constant = &plan->ranks[r].constants[i];
      if (!constant->computed && !constant->bytes)
        constant->tensor.digest = digest_in(constants, constant->tensor.name);
    }
  }
cleanup:
  zb_map_destroy(known);
  return status;
}

/* What a compile writes. */
static const char *const folder_files[] = {"weights.safetensors", "constants.safetensors", "plan.zb"};
enum { FILE_WEIGHTS, FILE_CONSTANTS, FILE_PLAN, FILE_COUNT };

typedef struct file_writer {
  char *paths[FILE_COUNT];
  zb_compile_state *state;
  const zb_store *weights, *constants;
} file_writer;

/* The plan is proven while the values are written; from then on it may be changed. */
static zb_status write_files(const file_writer *w) {
  ZB_TRY(zb_store_write(w->weights, w->paths[FILE_WEIGHTS]));
  ZB_TRY(zb_store_write(w->constants, w->paths[FILE_CONSTANTS]));
  ZB_TRY(zb_compile_proof_end(w->state));
  ZB_TRY(tie_values(w->state->plan, w->weights, w->constants));
  return zb_plan_write(w->state->plan, w->paths[FILE_PLAN]);
}

static bool is_ours(const char *name) {
  for (int i = 0; i < FILE_COUNT; ++i)
    if (strncmp(name, folder_files[i], strlen(folder_files[i])) == 0)
      return true; /* with what a stopped writer leaves: NAME.tmp.PID */
  return false;
}

static const zb_folder_kind folder_kind = {.purpose = "write the plan to",
                                           .who = "another compile",
                                           .is_ours = is_ours,
                                           .keeps_others = true,
                                           .first_file = "plan.zb"};

static zb_status write_temporary(const zb_folder *folder, file_writer *w) {
  zb_status status = NULL;
  for (int i = 0; i < FILE_COUNT; ++i)
    if (!(w->paths[i] = zb_folder_file(folder->temporary, folder_files[i]))) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  status = write_files(w);
cleanup:
  for (int i = 0; i < FILE_COUNT; ++i)
    zb_free(w->paths[i]);
  return status;
}

/* The folder is replaced as a whole: whatever fails or stops it, a folder with a plan is an old or a new one. */
static zb_status replace_folder(const char *path, file_writer *w) {
  zb_folder folder;
  zb_folder_lock lock;
  bool done = false;
  ZB_TRY(zb_folder_prepare(path, &folder_kind, &folder));
  ZB_TRY(zb_folder_lock_take(&folder, &lock));
  zb_status status = zb_folder_check_leftovers(&folder);
  if (!status) status = zb_folder_begin(&folder);
  if (!status) {
    status = zb_mappings_lost_since(w->state->lost, write_temporary(&folder, w));
    if (!status) status = zb_folder_commit(&folder, true, &done);
    if (status && !done) zb_status_free(zb_folder_abandon(&folder)); /* the first failure is the one to tell */
  }
  zb_folder_lock_release(&lock);
  if (status && zb_status_code(status) == ZB_IO) status = zb_status_note(status, "writing the folder '%s'", path);
  return status && done ? zb_status_note(status, "the new plan is in '%s'", path) : status;
}

zb_status zb_plan_folder_write(const char *path, zb_compile_state *state, const zb_store *weights,
                               const zb_store *constants) {
  zb_store *none = zb_store_create();
  if (!none) return ZB_OUT_OF_MEMORY();
  zb_status status = replace_folder(
      path, &(file_writer){.state = state, .weights = weights, .constants = constants ? constants : none});
  zb_store_destroy(none);
  return status;
}
