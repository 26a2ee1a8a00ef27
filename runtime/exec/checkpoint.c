/* Checkpoints: see checkpoint.h. Tests: test/runtime/exec/checkpoint_test.c. */
#include "runtime/exec/checkpoint.h"

#include "runtime/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEIGHTS_FILE "weights.safetensors"
#define OPTIMIZER_FILE "optimizer.safetensors"
#define FORMAT "zb-checkpoint-1"

static char *text_of(const char *format, ...) ZB_PRINTF(1, 2);
static char *text_of(const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : zb_alloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folder without trailing slashes, and with links resolved if it exists, so that a link itself is never moved. */
static char *resolve(const char *folder) {
  char *real = realpath(folder, NULL);
  char *path = zb_strdup(real ? real : folder);
  free(real); /* libc's, not ours */
  for (size_t length = path ? strlen(path) : 0; length > 1 && path[length - 1] == '/'; --length)
    path[length - 1] = '\0';
  return path;
}

static char *parent_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return zb_strdup(".");
  char *parent = zb_strdup(path);
  if (parent) parent[slash == path ? 1 : slash - path] = '\0';
  return parent;
}

static bool is_ours(const char *name) {
  return strncmp(name, WEIGHTS_FILE, sizeof WEIGHTS_FILE - 1) == 0 ||
         strncmp(name, OPTIMIZER_FILE, sizeof OPTIMIZER_FILE - 1) == 0;
}

/* Calls visit for each entry of a folder; stops when it returns false. */
static zb_status each_entry(const char *folder, bool (*visit)(void *context, const char *name), void *context) {
  DIR *directory = opendir(folder);
  if (!directory) return ZB_ERROR(IO, "cannot read the folder '%s': %s", folder, strerror(errno));
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !visit(context, entry->d_name)) break;
  closedir(directory);
  return NULL;
}

static bool find_foreign(void *context, const char *name) {
  char *found = context;
  if (is_ours(name)) return true;
  snprintf(found, NAME_MAX + 1, "%s", name);
  return false;
}

static bool remove_ours(void *context, const char *name) {
  char *path = is_ours(name) ? text_of("%s/%s", (const char *)context, name) : NULL;
  if (path) unlink(path);
  zb_free(path);
  return true;
}

/* Removes a folder with what a save has put there; nothing else in it is touched (then the folder stays, with an
 * error). */
static zb_status remove_folder(const char *folder) {
  if (!is_folder(folder)) return NULL;
  ZB_TRY(each_entry(folder, remove_ours, (void *)(uintptr_t)folder));
  if (rmdir(folder) == 0) return NULL;
  return ZB_ERROR(IO, "cannot remove the folder '%s' of an earlier save: %s", folder, strerror(errno));
}

static zb_status sync_folder(const char *folder) {
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || fsync(descriptor) != 0) {
    zb_status status = ZB_ERROR(IO, "cannot sync the folder '%s': %s", folder, strerror(errno));
    if (descriptor >= 0) close(descriptor);
    return status;
  }
  close(descriptor);
  return NULL;
}

static zb_status check_resolved(const char *path, const char *parent) {
  ZB_TRY(zb_make_folder(parent));
  if (access(parent, W_OK | X_OK) != 0)
    return ZB_ERROR(IO, "cannot write to the folder '%s': %s", parent, strerror(errno));
  struct stat info;
  if (stat(path, &info) != 0) return NULL;
  if (!S_ISDIR(info.st_mode)) return ZB_ERROR(USAGE, "cannot save to '%s': it is a file, expected a folder", path);
  char foreign[NAME_MAX + 1] = "";
  ZB_TRY(each_entry(path, find_foreign, foreign));
  if (!foreign[0]) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "cannot save to '%s': it holds other files ('%s'), and a save replaces the folder as a whole",
               path, foreign),
      "give a folder of its own, for example '%s/checkpoint'", path);
}

zb_status zb_checkpoint_check_folder(const char *folder) {
  char *path = resolve(folder), *parent = path ? parent_of(path) : NULL;
  zb_status status = parent ? check_resolved(path, parent) : ZB_OUT_OF_MEMORY();
  zb_free(path);
  zb_free(parent);
  return status;
}

/* ---- Writing ---- */

static zb_status set_metadata(zb_store *store, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  char step[32], position[32], hash[32];
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
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
    ZB_TRY(zb_store_set_metadata(store, pairs[i][0], pairs[i][1]));
  return NULL;
}

static zb_status write_store(const zb_store *store, const char *folder, const char *name) {
  char *path = text_of("%s/%s", folder, name);
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_store_write(store, path);
  zb_free(path);
  return status;
}

static zb_status move(const char *from, const char *to) {
  if (rename(from, to) == 0) return NULL;
  return ZB_ERROR(IO, "cannot move '%s' to '%s': %s", from, to, strerror(errno));
}

/* Puts the new folder in the place of the old one. */
static zb_status swap(const char *temporary, const char *path, const char *old, const char *parent) {
  if (is_folder(path)) {
    ZB_TRY(remove_folder(old)); /* of a save that was stopped after its last move: `path` is whole */
    ZB_TRY(move(path, old));
  }
  zb_status status = move(temporary, path);
  if (status) {
    if (!is_folder(path) && rename(old, path) != 0)
      status = zb_status_note(status, "the last checkpoint is in '%s'", old);
    return status;
  }
  ZB_TRY(sync_folder(parent));
  return remove_folder(old);
}

static zb_status write_pair(const char *temporary, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  ZB_TRY(remove_folder(temporary));
  if (mkdir(temporary, 0777) != 0) return ZB_ERROR(IO, "cannot make the folder '%s': %s", temporary, strerror(errno));
  ZB_TRY(set_metadata(checkpoint->weights, plan, checkpoint));
  ZB_TRY(set_metadata(checkpoint->optimizer, plan, checkpoint));
  ZB_TRY(write_store(checkpoint->weights, temporary, WEIGHTS_FILE));
  ZB_TRY(write_store(checkpoint->optimizer, temporary, OPTIMIZER_FILE));
  return sync_folder(temporary);
}

zb_status zb_checkpoint_write(const char *folder, const zb_plan *plan, const zb_checkpoint *checkpoint) {
  zb_status status = NULL;
  char *path = resolve(folder), *parent = path ? parent_of(path) : NULL;
  char *temporary = path ? text_of("%s.tmp", path) : NULL, *old = path ? text_of("%s.old", path) : NULL;
  if (!parent || !temporary || !old) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  ZB_TRY_GOTO(check_resolved(path, parent));
  status = write_pair(temporary, plan, checkpoint);
  if (!status) status = swap(temporary, path, old, parent);
  if (status) {
    zb_status_free(remove_folder(temporary)); /* the first failure is the one to tell */
    status = zb_status_note(status, "saving a checkpoint to '%s'; what was there before is untouched", path);
  }
cleanup:
  zb_free(path);
  zb_free(parent);
  zb_free(temporary);
  zb_free(old);
  return status;
}

/* ---- Reading ---- */

static zb_status open_store(const char *folder, const char *name, zb_store **out) {
  char *path = text_of("%s/%s", folder, name);
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_store_open(path, out);
  zb_free(path);
  return status;
}

static zb_status number_of(const zb_store *store, const char *key, const char *folder, int64_t *out) {
  const char *text = zb_store_metadata(store, key);
  char *end = NULL;
  errno = 0;
  long long value = text ? strtoll(text, &end, 10) : -1;
  if (!text || end == text || *end || errno || value < 0)
    return ZB_ERROR(INVALID, "the checkpoint in '%s' has no valid '%s': got '%s'", folder, key,
                    text ? text : "nothing");
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
      const zb_stored_tensor *stored = zb_store_find(checkpoint->weights, tensor->name);
      if (!stored) {
        zb_text_add(out, "it has no parameter '%s'", tensor->name);
        return;
      }
      if (zb_shape_equal(&stored->shape, &tensor->shape)) continue;
      zb_text_add(out, "its parameter '%s' is %s, the model's is %s", tensor->name,
                  zb_shape_text(&stored->shape, there), zb_shape_text(&tensor->shape, here));
      return;
    }
  }
  for (int i = 0; i < zb_store_count(checkpoint->weights); ++i) {
    const char *name = zb_store_at(checkpoint->weights, i)->name;
    if (find_parameter(plan, name)) continue;
    zb_text_add(out, "the model has no parameter '%s'", name);
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
  zb_text difference;
  zb_text_init(&difference);
  find_difference(plan, checkpoint, &difference);
  zb_status status = ZB_ERROR(INVALID, "the checkpoint in '%s' is of another model: %s", folder,
                              difference.length > 0 ? difference.data : "names or shapes of its parameters differ");
  zb_text_deinit(&difference);
  return status;
}

static zb_status open_from(const char *folder, const zb_plan *plan, zb_checkpoint *out) {
  int64_t optimizer_step = 0;
  ZB_TRY(open_store(folder, WEIGHTS_FILE, &out->weights));
  ZB_TRY(open_store(folder, OPTIMIZER_FILE, &out->optimizer));
  ZB_TRY(check_model(folder, plan, out));
  ZB_TRY(number_of(out->weights, "zb.step", folder, &out->step));
  ZB_TRY(number_of(out->optimizer, "zb.step", folder, &optimizer_step));
  ZB_TRY(number_of(out->optimizer, "zb.data_position", folder, &out->data_position));
  if (out->step == optimizer_step) return NULL;
  return ZB_ERROR(
      INVALID, "the two files in '%s' do not belong together: weights of step %" PRId64 ", optimizer of step %" PRId64,
      folder, out->step, optimizer_step);
}

zb_status zb_checkpoint_open(const char *folder, const zb_plan *plan, zb_checkpoint *out) {
  memset(out, 0, sizeof *out);
  char *path = resolve(folder), *old = path ? text_of("%s.old", path) : NULL;
  zb_status status = NULL;
  if (!old) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  const char *from = is_folder(path) || !is_folder(old) ? path : old; /* a save was stopped between its two moves */
  if (!is_folder(from)) {
    status = ZB_ERROR(IO, "cannot resume from '%s': there is no such folder", folder);
    goto cleanup;
  }
  ZB_TRY_GOTO(open_from(from, plan, out));
cleanup:
  if (status) zb_checkpoint_close(out);
  zb_free(path);
  zb_free(old);
  return status;
}

void zb_checkpoint_close(zb_checkpoint *checkpoint) {
  zb_store_destroy(checkpoint->weights);
  zb_store_destroy(checkpoint->optimizer);
  memset(checkpoint, 0, sizeof *checkpoint);
}
