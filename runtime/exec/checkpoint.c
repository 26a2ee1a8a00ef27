/* Checkpoints: see checkpoint.h. Tests: test/runtime/exec/checkpoint_test.c. */
#include "runtime/exec/checkpoint.h"

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/plan/file/tensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEIGHTS_FILE "weights.safetensors"
#define OPTIMIZER_FILE "optimizer.safetensors"
/* Of a save by several processes: an index over one file of each, as Hugging Face's loaders look for it. */
#define WEIGHTS_INDEX "model.safetensors.index.json"
#define OPTIMIZER_INDEX "optimizer.safetensors.index.json"
#define FORMAT "zb-checkpoint-1"
#define IN_PLACE "the new checkpoint is in '%s'"
enum { NAME_BYTES = 64 };
/* How the files of a store are called: one, or one a process, "STEM-00001-of-00002.safetensors", with an index. */
typedef struct store_files {
  const char *stem, *file, *index;
} store_files;
static const store_files weights_files = {"weights", WEIGHTS_FILE, WEIGHTS_INDEX},
                         optimizer_files = {"optimizer", OPTIMIZER_FILE, OPTIMIZER_INDEX};
static const int64_t count_most = INT64_C(1) << 53; /* of steps and rows: what is added to them does not overflow */

/* What all files of one save have in common. */
static const char *const common_keys[] = {
    "zb.format",      "zb.model_hash", "zb.optimizer",  "zb.step",    "zb.data_position",
    "zb.random_seed", "zb.rates",      "zb.rate_table", "zb.skipped", NULL};

static bool is_ours(const char *name) {
  /* With what a stopped writer leaves: NAME.tmp.PID. */
  static const char *const patterns[] = {WEIGHTS_FILE "*", OPTIMIZER_FILE "*", WEIGHTS_INDEX "*",
                                         "weights-*-of-*.safetensors*", "optimizer-*-of-*.safetensors*"};
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i)
    if (zb_glob(patterns[i], name)) return true;
  return false;
}

static const zb_folder_kind kind = {.purpose = "save to", .who = "another run", .is_ours = is_ours};

/* One file: the name of a folder that is there is absolute, that of one to be made may not be. */
static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

zb_status zb_checkpoint_lock(const char *folder, const char *held, zb_folder_lock *out) {
  zb_folder at;
  out->held = false;
  ZB_TRY(zb_folder_prepare(folder, &kind, &at));
  return held && is_same_file(held, at.lock) ? NULL : zb_folder_lock_take(&at, out);
}

/* Access rights do not tell all (a read-only file system, a name that is too long, root, a machine that does not see
 * the folder): a folder is made, with a file of every process, and removed. */
zb_status zb_checkpoint_try_begin(const char *folder) {
  zb_folder at;
  ZB_TRY(zb_folder_prepare(folder, &kind, &at));
  ZB_TRY(zb_folder_check_leftovers(&at));
  return zb_folder_begin(&at);
}

/* What process 0 made must be there for all. */
static zb_status check_seen(const char *temporary, int part) {
  if (zb_is_folder(temporary)) return NULL;
  return zb_status_hint(ZB_ERROR(IO, "process %d does not see the folder '%s' that process 0 made", part, temporary),
                        "save to a folder on a file system that all processes see");
}

zb_status zb_checkpoint_try_part(const char *folder, int part, int parts) {
  zb_folder at;
  char name[NAME_BYTES];
  ZB_TRY(zb_folder_find(folder, &kind, &at));
  ZB_TRY(check_seen(at.temporary, part));
  snprintf(name, sizeof name, WEIGHTS_FILE ".try-%d-of-%d", part + 1, parts);
  char *path = zb_folder_file(at.temporary, name);
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_file_write_atomic(path, name, 1), failure = NULL;
  if (!status) unlink(path);
  zb_free(path);
  if (!status || zb_status_code(status) == ZB_MEMORY) return status;
  failure = ZB_ERROR(IO, "process %d cannot write to the folder '%s': %s", part, at.parent, zb_status_message(status));
  zb_status_free(status);
  return failure;
}

zb_status zb_checkpoint_try_end(const char *folder) {
  zb_folder at;
  ZB_TRY(zb_folder_find(folder, &kind, &at));
  return zb_folder_abandon(&at);
}

zb_status zb_checkpoint_check_folder(const char *folder) {
  zb_folder_lock lock;
  ZB_TRY(zb_checkpoint_lock(folder, NULL, &lock));
  zb_status status = zb_checkpoint_try_begin(folder), removed = NULL;
  if (!status) {
    status = zb_checkpoint_try_part(folder, 0, 1);
    removed = zb_checkpoint_try_end(folder);
  }
  zb_folder_lock_release(&lock);
  return zb_status_first((zb_status[]){status, removed}, 2);
}

/* ---- Writing ---- */

static zb_status set_metadata(zb_store *store, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  char step[32], position[32], hash[32], seed[32], skipped[32];
  snprintf(step, sizeof step, "%" PRId64, checkpoint->step);
  snprintf(position, sizeof position, "%" PRId64, checkpoint->data_position);
  snprintf(hash, sizeof hash, "%016" PRIx64, plan->model_hash);
  const char *const pairs[][2] = {
      {"format", "pt"}, /* what loaders of other frameworks ask for */
      {"zb.format", FORMAT},
      {"zb.version", ZB_VERSION},
      {"zb.model", plan->model ? plan->model : ""},
      {"zb.model_hash", hash},
      {"zb.optimizer", plan->optimizer ? plan->optimizer : ""},
      {"zb.step", step},
      {"zb.data_position", position},
      {"zb.rates", checkpoint->rates},
      {"zb.rate_table", checkpoint->rate_table},
      {"zb.settings", checkpoint->settings},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
    if (pairs[i][1]) ZB_TRY(zb_store_set_metadata(store, pairs[i][0], pairs[i][1]));
  snprintf(seed, sizeof seed, "%" PRId64, checkpoint->random_seed);
  if (checkpoint->random_seed) ZB_TRY(zb_store_set_metadata(store, "zb.random_seed", seed));
  snprintf(skipped, sizeof skipped, "%" PRId64, checkpoint->skipped);
  return checkpoint->skipped ? zb_store_set_metadata(store, "zb.skipped", skipped) : NULL;
}

/* The name of the file of a part; of a save in one part the fixed one. */
static void name_part(const store_files *files, int part, int parts, char name[NAME_BYTES]) {
  if (parts > 1)
    snprintf(name, NAME_BYTES, "%s-%05d-of-%05d.safetensors", files->stem, part + 1, parts);
  else
    snprintf(name, NAME_BYTES, "%s", files->file);
}

static zb_status write_store(const zb_store *store, const char *folder, const store_files *files, int part, int parts) {
  char name[NAME_BYTES];
  name_part(files, part, parts, name);
  char *path = zb_folder_file(folder, name);
  zb_status status = path ? zb_store_write(store, path) : ZB_OUT_OF_MEMORY();
  zb_free(path);
  return status;
}

zb_status zb_checkpoint_begin(const char *folder) {
  zb_folder at;
  ZB_TRY(zb_folder_prepare(folder, &kind, &at));
  return zb_folder_begin(&at);
}

zb_status zb_checkpoint_write_part(const char *folder, const zb_plan *plan, const zb_checkpoint *checkpoint, int part,
                                   int parts) {
  zb_folder at;
  ZB_TRY(zb_folder_find(folder, &kind, &at));
  ZB_TRY(check_seen(at.temporary, part));
  ZB_TRY(set_metadata(checkpoint->weights, plan, checkpoint));
  ZB_TRY(set_metadata(checkpoint->optimizer, plan, checkpoint));
  ZB_TRY(write_store(checkpoint->weights, at.temporary, &weights_files, part, parts));
  return write_store(checkpoint->optimizer, at.temporary, &optimizer_files, part, parts);
}

/* The index over the files of all parts. */
static zb_status write_index(const char *temporary, const store_files *files, int parts) {
  zb_arena memory = {0};
  const char **names = ZB_NEW(&memory, const char *, parts);
  char *path = zb_folder_file(temporary, files->index), name[NAME_BYTES];
  for (int i = 0; names && i < parts; ++i) {
    name_part(files, i, parts, name);
    names[i] = zb_arena_strdup(&memory, name);
  }
  zb_status status = path ? zb_arena_status(&memory) : ZB_OUT_OF_MEMORY();
  if (!status) status = zb_store_write_index(path, names, parts);
  zb_free(path);
  zb_arena_deinit(&memory);
  return status;
}

zb_status zb_checkpoint_commit(const char *folder, int parts) { return zb_checkpoint_commit_by(folder, parts, true); }

zb_status zb_checkpoint_commit_by(const char *folder, int parts, bool by_exchange) {
  zb_folder at;
  bool done = false;
  ZB_TRY(zb_folder_find(folder, &kind, &at));
  if (parts > 1) ZB_TRY(write_index(at.temporary, &weights_files, parts));
  if (parts > 1) ZB_TRY(write_index(at.temporary, &optimizer_files, parts));
  zb_status status = zb_folder_commit(&at, by_exchange, &done);
  return status && done ? zb_status_note(status, IN_PLACE, at.path) : status;
}

zb_status zb_checkpoint_abandon(const char *folder, zb_status status) {
  zb_folder at;
  zb_status failed = zb_folder_find(folder, &kind, &at);
  bool is_there = !failed && zb_is_folder(at.path);
  bool removed = !failed && zb_is_folder(at.temporary);
  if (removed) failed = zb_folder_abandon(&at);
  zb_status_free(failed); /* the first failure is the one to tell */
  if (!removed) return status;
  return zb_status_note(status,
                        is_there ? "saving a checkpoint to '%s'; what was there before is untouched"
                                 : "saving a checkpoint to '%s'",
                        folder);
}

/* ---- Reading ---- */

/* One file, or several with an index. */
static zb_status open_store(const char *folder, const store_files *files, zb_store **out) {
  bool by_index = zb_folder_has(folder, files->index);
  char *path = zb_folder_file(folder, by_index ? files->index : files->file);
  zb_status status = !path      ? ZB_OUT_OF_MEMORY()
                     : by_index ? zb_store_open_index(path, common_keys, out)
                                : zb_store_open(path, out);
  zb_free(path);
  return status;
}

static zb_status number_of(const zb_store *store, const char *key, const char *folder, int64_t most, int64_t *out) {
  const char *text = zb_store_metadata(store, key);
  char *end = NULL;
  errno = 0;
  long long value = text ? strtoll(text, &end, 10) : -1;
  if (!text || end == text || *end || errno || value < 0 || value > most)
    return ZB_ERROR(INVALID,
                    "the checkpoint in '%s' has no valid '%s': expected a whole number from 0 to %" PRId64 ", got '%s'",
                    folder, key, most, text ? text : "nothing");
  *out = value;
  return NULL;
}

static const zb_plan_tensor *find_parameter(const zb_plan *plan, const char *name) {
  for (int rank = 0; rank < plan->rank_count; ++rank)
    for (int i = 0; i < plan->ranks[rank].parameter_count; ++i)
      if (strcmp(plan->ranks[rank].parameters[i].tensor.name, name) == 0)
        return &plan->ranks[rank].parameters[i].tensor;
  return NULL;
}

/* Says in *out what of the checkpoint is not as in the plan; "" if nothing is. */
static void find_difference(const zb_plan *plan, const zb_checkpoint *checkpoint, zb_text *out) {
  char here[96], there[96];
  for (int rank = 0; rank < plan->rank_count; ++rank) {
    for (int i = 0; i < plan->ranks[rank].parameter_count; ++i) {
      const zb_plan_tensor *tensor = &plan->ranks[rank].parameters[i].tensor;
      const char *what = plan->ranks[rank].parameters[i].buffer ? "buffer" : "parameter";
      const zb_stored_tensor *stored = zb_store_find(checkpoint->weights, tensor->name);
      if (!stored) {
        zb_text_add(out, "it has no %s '%s'", what, tensor->name);
        return;
      }
      const zb_shape whole = zb_plan_whole_shape(tensor);
      if (zb_shape_equal(&stored->shape, &whole)) continue;
      zb_text_add(out, "its %s '%s' is %s, the model's is %s", what, tensor->name, zb_shape_text(&stored->shape, there),
                  zb_shape_text(&whole, here));
      return;
    }
  }
  for (int i = 0; i < zb_store_count(checkpoint->weights); ++i) {
    const char *name = zb_store_at(checkpoint->weights, i)->name;
    if (find_parameter(plan, name)) continue;
    zb_text_add(out, "the model has no parameter or buffer '%s'", name);
    return;
  }
  const char *optimizer = zb_store_metadata(checkpoint->optimizer, "zb.optimizer");
  if (optimizer && plan->optimizer && strcmp(optimizer, plan->optimizer) != 0)
    zb_text_add(out, "its optimizer is '%s', the plan's is '%s'", optimizer, plan->optimizer);
}

static zb_status check_model(const char *folder, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  const zb_store *stores[] = {checkpoint->weights, checkpoint->optimizer};
  char hash[32];
  snprintf(hash, sizeof hash, "%016" PRIx64, plan->model_hash);
  bool same = true;
  for (int i = 0; i < 2; ++i) {
    const char *format = zb_store_metadata(stores[i], "zb.format"),
               *stored = zb_store_metadata(stores[i], "zb.model_hash");
    if (!format || strcmp(format, FORMAT) != 0)
      return zb_status_hint(ZB_ERROR(INVALID, "'%s' holds no checkpoint of zb-run: zb.format is '%s', expected '%s'",
                                     folder, format ? format : "not given", FORMAT),
                            "give the folder of an earlier --save");
    same = same && stored && strcmp(stored, hash) == 0;
  }
  if (same) return NULL;
  zb_text difference = {0};
  find_difference(plan, checkpoint, &difference);
  zb_status status = ZB_ERROR(INVALID, "the checkpoint in '%s' is of another model: %s", folder,
                              difference.length > 0 ? difference.data : "names or shapes of its parameters differ");
  zb_text_deinit(&difference);
  return status;
}

/* Whether the lines "adamw:lr=..." name the same optimizer; its settings may differ. */
static bool same_optimizer(const char *a, const char *b) {
  size_t length = strcspn(a, ":");
  return strcspn(b, ":") == length && memcmp(a, b, length) == 0;
}

static bool has_states(const zb_plan *plan, const zb_store *optimizer) {
  for (int rank = 0; rank < plan->rank_count; ++rank)
    for (int i = 0; i < plan->ranks[rank].state_count; ++i)
      if (!zb_store_find(optimizer, plan->ranks[rank].states[i].name)) return false;
  return true;
}

/* A run goes on with the optimizer that it began with. Another rate is fine; another optimizer, or one that needs what
 * was not saved, is not. */
static zb_status check_optimizer(const char *folder, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  const char *saved = zb_store_metadata(checkpoint->optimizer, "zb.optimizer"), *wanted = plan->optimizer;
  if (!saved || !wanted || plan->inference || strcmp(saved, wanted) == 0) return NULL;
  if (same_optimizer(saved, wanted) && has_states(plan, checkpoint->optimizer)) return NULL;
  return zb_status_hint(ZB_ERROR(INVALID,
                                 "the checkpoint in '%s' was saved with the optimizer '%s', the plan wants '%s'",
                                 folder, saved, wanted),
                        "compile the plan with zbc --optimizer '%s'", saved);
}

/* A checkpoint of somebody else's, or one of ours whose optimizer state was left behind, is no place to go on from. */
static zb_status check_optimizer_is_there(const char *folder) {
  bool weights = zb_folder_has(folder, WEIGHTS_FILE) || zb_folder_has(folder, WEIGHTS_INDEX) ||
                 zb_folder_has(folder, "model.safetensors");
  if (!weights || zb_folder_has(folder, OPTIMIZER_FILE) || zb_folder_has(folder, OPTIMIZER_INDEX)) return NULL;
  return zb_status_hint(ZB_ERROR(INVALID, "'%s' holds weights, but no optimizer state to go on with", folder),
                        "--weights '%s' starts from them, with a fresh optimizer and at step 0", folder);
}

static zb_status open_from(const char *folder, const zb_plan *plan, zb_checkpoint *out) {
  int64_t optimizer_step = 0;
  ZB_TRY(check_optimizer_is_there(folder));
  ZB_TRY(open_store(folder, &weights_files, &out->weights));
  ZB_TRY(open_store(folder, &optimizer_files, &out->optimizer));
  ZB_TRY(check_model(folder, plan, out));
  ZB_TRY(check_optimizer(folder, plan, out));
  ZB_TRY(number_of(out->weights, "zb.step", folder, count_most, &out->step));
  ZB_TRY(number_of(out->optimizer, "zb.step", folder, count_most, &optimizer_step));
  ZB_TRY(number_of(out->optimizer, "zb.data_position", folder, count_most, &out->data_position));
  if (zb_store_metadata(out->optimizer, "zb.random_seed"))
    ZB_TRY(number_of(out->optimizer, "zb.random_seed", folder, INT64_MAX, &out->random_seed));
  out->rates = zb_store_metadata(out->optimizer, "zb.rates");
  out->rate_table = zb_store_metadata(out->optimizer, "zb.rate_table");
  out->settings = zb_store_metadata(out->optimizer, "zb.settings");
  if (zb_store_metadata(out->optimizer, "zb.skipped"))
    ZB_TRY(number_of(out->optimizer, "zb.skipped", folder, count_most, &out->skipped));
  if (out->skipped > out->step)
    return ZB_ERROR(INVALID, "the checkpoint in '%s' says that %" PRId64 " of %" PRId64 " steps changed nothing",
                    folder, out->skipped, out->step);
  if (out->step == optimizer_step) return NULL;
  return ZB_ERROR(
      INVALID, "the two files in '%s' do not belong together: weights of step %" PRId64 ", optimizer of step %" PRId64,
      folder, out->step, optimizer_step);
}

zb_status zb_checkpoint_open(const char *folder, const zb_plan *plan, zb_checkpoint *out) {
  zb_folder at;
  memset(out, 0, sizeof *out);
  ZB_TRY(zb_folder_find(folder, &kind, &at));
  const char *from = zb_folder_present(&at);
  if (!zb_is_folder(from)) return ZB_ERROR(IO, "cannot resume from '%s': there is no such folder", folder);
  zb_status status = open_from(from, plan, out);
  if (status) zb_checkpoint_close(out);
  return status;
}

void zb_checkpoint_close(zb_checkpoint *checkpoint) {
  zb_store_destroy(checkpoint->weights);
  zb_store_destroy(checkpoint->optimizer);
  memset(checkpoint, 0, sizeof *checkpoint);
}
