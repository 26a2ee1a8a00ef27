/* Folders replaced as a whole: see folder.h. Tests: test/runtime/base/folder_test.c,
 * test/runtime/exec/checkpoint_test.c, test/e2e/failing.py. */
#define _GNU_SOURCE /* renameat2 */

#include "runtime/base/folder.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *zb_folder_file(const char *folder, const char *name) {
  zb_text path = {0};
  zb_text_add(&path, "%s/%s", folder, name);
  return zb_text_take(&path);
}

bool zb_folder_has(const char *folder, const char *name) {
  char *path = zb_folder_file(folder, name);
  bool found = path && access(path, F_OK) == 0;
  zb_free(path);
  return found;
}

bool zb_is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static zb_status too_long(const char *folder) {
  return ZB_ERROR(IO, "the name of the folder '%.60s...' is too long", folder);
}

/* The folder without trailing slashes, and with links resolved if it exists, so that a link itself is never moved. */
static zb_status resolve(const char *folder, char out[PATH_MAX]) {
  size_t length = strlen(folder);
  if (realpath(folder, out)) return NULL;
  if (errno == ENOMEM) return ZB_OUT_OF_MEMORY();
  if (length >= PATH_MAX) return too_long(folder);
  memcpy(out, folder, length + 1);
  for (; length > 1 && out[length - 1] == '/'; --length)
    out[length - 1] = '\0';
  return NULL;
}

static void find_parent(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = !slash || slash == path ? 1 : (size_t)(slash - path);
  memcpy(out, slash ? path : ".", length);
  out[length] = '\0';
}

const char *zb_folder_present(const zb_folder *folder) {
  return !zb_is_folder(folder->path) && zb_is_folder(folder->old) ? folder->old : folder->path;
}

zb_status zb_folder_find(const char *folder, const zb_folder_kind *kind, zb_folder *out) {
  out->kind = kind;
  out->in_place = false;
  ZB_TRY(resolve(folder, out->path));
  find_parent(out->path, out->parent);
  snprintf(out->temporary, sizeof out->temporary, "%s.tmp", out->path);
  snprintf(out->old, sizeof out->old, "%s.old", out->path);
  snprintf(out->lock, sizeof out->lock, "%s.lock", out->path);
  return NULL;
}

/* ---- What is in it ---- */

typedef struct visit {
  const zb_folder_kind *kind;
  const char *from, *to;
  int from_folder, to_folder;
  char found[NAME_MAX + 1]; /* an entry that is not ours */
  bool changed;             /* an entry is gone: what was read of the folder has gaps */
} visit;

/* By errno. */
static zb_status folder_error(const char *what, const char *folder) {
  return ZB_ERROR(IO, "cannot %s the folder '%s': %s", what, folder, strerror(errno));
}

static zb_status open_folder(const char *what, const char *folder, int *out) {
  *out = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return *out < 0 ? folder_error(what, folder) : NULL;
}

/* Calls `each` for the entries of a folder, until it fails or has found something. Not readdir, which allocates. */
static zb_status read_entries(visit *v, zb_status (*each)(visit *v, const char *name)) {
  _Alignas(struct dirent64) char buffer[8192];
  ssize_t got = 0;
  if (lseek(v->from_folder, 0, SEEK_SET) < 0) return folder_error("read", v->from);
  while ((got = getdents64(v->from_folder, buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < got;) {
      const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);
      at += entry->d_reclen;
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !v->found[0])
        ZB_TRY(each(v, entry->d_name));
    }
  }
  return got < 0 ? folder_error("read", v->from) : NULL;
}

static zb_status each_entry(const char *folder, zb_status (*each)(visit *v, const char *name), visit *v) {
  zb_status status = NULL;
  v->from = folder;
  ZB_TRY(open_folder("read", folder, &v->from_folder));
  do {
    v->changed = false;
    status = read_entries(v, each);
  } while (!status && v->changed);
  close(v->from_folder);
  return status;
}

static zb_status find_other(visit *v, const char *name) {
  if (!v->kind->is_ours(name)) snprintf(v->found, sizeof v->found, "%s", name);
  return NULL;
}

static zb_status remove_ours(visit *v, const char *name) {
  if (!v->kind->is_ours(name)) return NULL;
  if (unlinkat(v->from_folder, name, 0) != 0 && errno != ENOENT)
    return ZB_ERROR(IO, "cannot remove '%s/%s': %s", v->from, name, strerror(errno));
  v->changed = true;
  return NULL;
}

static zb_status move_entry(visit *v, const char *name) {
  if (renameat(v->from_folder, name, v->to_folder, name) != 0)
    return ZB_ERROR(IO, "cannot move '%s/%s' to '%s': %s", v->from, name, v->to, strerror(errno));
  v->changed = true;
  return NULL;
}

/* Moves what is not ours to the same name in another folder, where nothing may have it. */
static zb_status move_others(visit *v, const char *name) {
  struct stat info;
  if (v->kind->is_ours(name)) return NULL;
  if (fstatat(v->to_folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
    return zb_status_hint(ZB_ERROR(IO, "cannot move '%s/%s' to '%s': there is one of that name", v->from, name, v->to),
                          "remove one of them");
  return move_entry(v, name);
}

static zb_status keep_others(const zb_folder *folder, const char *from, const char *to) {
  visit v = {.kind = folder->kind, .to = to};
  ZB_TRY(open_folder("open", to, &v.to_folder));
  zb_status status = each_entry(from, move_others, &v);
  close(v.to_folder);
  return status;
}

/* Removes a folder with our files; nothing else in it is touched (then the folder stays, with an error). */
static zb_status remove_folder(const zb_folder *folder, const char *path) {
  visit v = {.kind = folder->kind};
  if (!zb_is_folder(path) || rmdir(path) == 0) return NULL; /* an empty one need not be read for it */
  ZB_TRY(each_entry(path, remove_ours, &v));
  if (rmdir(path) == 0) return NULL;
  return ZB_ERROR(IO, "cannot remove the folder '%s', which is only there for a moment: %s", path, strerror(errno));
}

static zb_status sync_folder(const char *folder) {
  int descriptor = -1;
  ZB_TRY(open_folder("sync", folder, &descriptor));
  zb_status status = NULL;
  if (fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) status = folder_error("sync", folder);
  close(descriptor);
  return status;
}

/* ---- Whether it can be ---- */

/* A writer moves the folder away and another one into its place. */
static zb_status check_replaceable(const zb_folder *folder) {
  const char *path = folder->path, *purpose = folder->kind->purpose;
  struct stat info, above;
  if (stat(path, &info) != 0) {
    if (lstat(path, &info) != 0) return NULL;
    return zb_status_hint(ZB_ERROR(IO, "cannot %s '%s': it is a link that leads nowhere", purpose, path),
                          "give the folder itself");
  }
  if (!S_ISDIR(info.st_mode)) return ZB_ERROR(USAGE, "cannot %s '%s': it is a file, expected a folder", purpose, path);
  if (stat(folder->parent, &above) == 0 && above.st_dev != info.st_dev)
    return zb_status_hint(
        ZB_ERROR(IO, "cannot %s '%s': a file system is mounted there, and the folder is replaced as a whole", purpose,
                 path),
        "give a folder in it, for example '%s/%s'", path, folder->kind->keeps_others ? "plan" : "checkpoint");
  visit v = {.kind = folder->kind};
  if (folder->kind->keeps_others) return NULL;
  ZB_TRY(each_entry(path, find_other, &v));
  if (!v.found[0]) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE,
                                 "cannot %s '%s': it holds other files ('%s'), and the folder is replaced as a whole",
                                 purpose, path, v.found),
                        "give a folder of its own, for example '%s/checkpoint'", path);
}

/* Whether the folder has to stay the one that it is. */
static bool must_stay(const zb_folder *folder) {
  struct stat info, above, here;
  if (!folder->kind->keeps_others || stat(folder->path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  if (stat(folder->parent, &above) != 0 || above.st_dev != info.st_dev || access(folder->parent, W_OK | X_OK) != 0)
    return true;
  return stat(".", &here) == 0 && here.st_dev == info.st_dev && here.st_ino == info.st_ino;
}

static zb_status stay(zb_folder *folder) {
  folder->in_place = true;
  if (strlen(folder->path) + sizeof "/new.lock" > PATH_MAX) return too_long(folder->path);
  snprintf(folder->temporary, sizeof folder->temporary, "%.*s/new.tmp", PATH_MAX - 10, folder->path);
  snprintf(folder->lock, sizeof folder->lock, "%.*s/new.lock", PATH_MAX - 10, folder->path);
  if (access(folder->path, W_OK | X_OK) == 0) return NULL;
  return ZB_ERROR(IO, "cannot write to the folder '%s': %s", folder->path, strerror(errno));
}

/* Finds the places once the parents are there, so that a link or a dot in the name leads to the folder itself. */
zb_status zb_folder_prepare(const char *folder, const zb_folder_kind *kind, zb_folder *out) {
  ZB_TRY(zb_folder_find(folder, kind, out));
  ZB_TRY(zb_make_folder(out->parent));
  ZB_TRY(zb_folder_find(folder, kind, out));
  if (must_stay(out)) return stay(out);
  if (access(out->parent, W_OK | X_OK) != 0)
    return ZB_ERROR(IO, "cannot write to the folder '%s': %s", out->parent, strerror(errno));
  return check_replaceable(out);
}

static zb_status check_leftover(const zb_folder *folder, const char *path) {
  struct stat info;
  visit v = {.kind = folder->kind};
  if (lstat(path, &info) != 0) return NULL;
  if (S_ISDIR(info.st_mode)) ZB_TRY(each_entry(path, find_other, &v));
  if (S_ISDIR(info.st_mode) && (!v.found[0] || folder->kind->keeps_others)) return NULL;
  return zb_status_hint(ZB_ERROR(IO, "cannot %s '%s': '%s' is in the way, where a folder of its own is for a moment",
                                 folder->kind->purpose, folder->path, path),
                        "move it away, or give another folder");
}

zb_status zb_folder_check_leftovers(const zb_folder *folder) {
  ZB_TRY(check_leftover(folder, folder->temporary));
  return check_leftover(folder, folder->old);
}

/* ---- Replacing ---- */

/* A stopped writer may have had the other files of the folder in its hands. */
static zb_status take_back_others(const zb_folder *folder, const char *from) {
  if (!folder->kind->keeps_others || !zb_is_folder(from)) return NULL;
  visit v = {.kind = folder->kind};
  ZB_TRY(each_entry(from, find_other, &v));
  if (!v.found[0]) return NULL;
  ZB_TRY(zb_make_folder(folder->path));
  return keep_others(folder, from, folder->path);
}

zb_status zb_folder_begin(const zb_folder *folder) {
  ZB_TRY(take_back_others(folder, folder->temporary));
  ZB_TRY(remove_folder(folder, folder->temporary));
  if (mkdir(folder->temporary, 0777) == 0) return NULL;
  return ZB_ERROR(IO, "cannot make the folder '%s': %s", folder->temporary, strerror(errno));
}

zb_status zb_folder_abandon(const zb_folder *folder) { return remove_folder(folder, folder->temporary); }

static zb_status move(const char *from, const char *to) {
  if (rename(from, to) == 0) return NULL;
  return ZB_ERROR(IO, "cannot move '%s' to '%s': %s", from, to, strerror(errno));
}

/* By two moves, between which nothing is at `path`. */
static zb_status move_twice(const zb_folder *folder) {
  if (zb_is_folder(folder->path)) {
    ZB_TRY(take_back_others(folder, folder->old));
    ZB_TRY(remove_folder(folder, folder->old)); /* of a writer that was stopped after its last move: `path` is whole */
    ZB_TRY(move(folder->path, folder->old));
  }
  zb_status status = move(folder->temporary, folder->path);
  if (status && !zb_is_folder(folder->path) && zb_is_folder(folder->old) && rename(folder->old, folder->path) != 0)
    status = zb_status_note(status, "what was in '%s' before is in '%s'", folder->path, folder->old);
  return status;
}

/* Both folders take the other's place in one step. False where the file system or the kernel cannot do that (NFS, some
 * FUSE), or there is no folder. */
static bool exchange(const zb_folder *folder) {
  return zb_is_folder(folder->path) &&
         renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_EXCHANGE) == 0;
}

/* The older folder is where it went: in folder->temporary or folder->old. What is left of it goes with the next writer
 * at the latest. */
static zb_status clear_away(const zb_folder *folder, const char *from, bool has_others) {
  if (has_others && zb_is_folder(from)) ZB_TRY(keep_others(folder, from, folder->path));
  zb_status_free(remove_folder(folder, from));
  return NULL;
}

static zb_status move_ours(visit *v, const char *name) {
  return strcmp(name, v->kind->first_file) == 0 ? NULL : move_entry(v, name);
}

/* One by one, the file first_file being away meanwhile. */
static zb_status move_into_place(const zb_folder *folder) {
  const char *name = folder->kind->first_file;
  visit v = {.kind = folder->kind, .to = folder->path};
  ZB_TRY(open_folder("open", folder->path, &v.to_folder));
  zb_status status = NULL;
  if (unlinkat(v.to_folder, name, 0) != 0 && errno != ENOENT)
    status = ZB_ERROR(IO, "cannot remove '%s/%s': %s", folder->path, name, strerror(errno));
  if (!status) status = each_entry(folder->temporary, move_ours, &v);
  v.from = folder->temporary;
  v.from_folder = -1;
  if (!status) status = open_folder("open", folder->temporary, &v.from_folder);
  if (!status) status = move_entry(&v, name);
  if (v.from_folder >= 0) close(v.from_folder);
  close(v.to_folder);
  return status;
}

zb_status zb_folder_commit(const zb_folder *folder, bool by_exchange, bool *out_done) {
  *out_done = false;
  visit v = {.kind = folder->kind};
  ZB_TRY(sync_folder(folder->temporary));
  if (folder->kind->keeps_others && !folder->in_place && zb_is_folder(folder->path))
    ZB_TRY(each_entry(folder->path, find_other, &v));
  const bool has_others = v.found[0] != '\0';
  if (folder->in_place)
    ZB_TRY(move_into_place(folder));
  else if (!by_exchange || !exchange(folder))
    ZB_TRY(move_twice(folder));
  *out_done = true;
  zb_status synced = sync_folder(folder->in_place ? folder->path : folder->parent);
  zb_status cleared = clear_away(folder, folder->temporary, has_others),
            old = clear_away(folder, folder->old, has_others);
  return zb_status_first((zb_status[]){synced, cleared, old}, 3);
}

/* ---- The lock of the process that writes ---- */

enum { OWNER_BYTES = 256 };

static zb_status held_by_another(const zb_folder *folder, int descriptor) {
  char owner[OWNER_BYTES] = "";
  ssize_t got = pread(descriptor, owner, sizeof owner - 1, 0);
  owner[got > 0 ? strcspn(owner, "\n") : 0] = '\0';
  return zb_status_hint(ZB_ERROR(IO, "cannot %s '%s': %s is writing there%s%s", folder->kind->purpose, folder->path,
                                 folder->kind->who, owner[0] ? ": " : "", owner),
                        "give each a folder of its own, or wait until the other one has ended");
}

static void write_owner(int descriptor) {
  char host[128] = "", owner[OWNER_BYTES];
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  int length = snprintf(owner, sizeof owner, "process %ld on %s\n", (long)getpid(), host[0] ? host : "this machine");
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, owner, (size_t)length, 0) != length)
    return; /* the error of another writer says less */
}

/* Whether the path still leads to the locked file: its holder before may have removed it in between. */
static bool is_current(int descriptor, const char *path) {
  struct stat locked, there;
  return fstat(descriptor, &locked) == 0 && stat(path, &there) == 0 && locked.st_dev == there.st_dev &&
         locked.st_ino == there.st_ino;
}

zb_status zb_folder_lock_take(const zb_folder *folder, zb_folder_lock *out) {
  out->held = false;
  memcpy(out->path, folder->lock, sizeof out->path);
  int descriptor = -1;
  do {
    if (descriptor >= 0) close(descriptor);
    descriptor = open(out->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    if (descriptor < 0)
      return ZB_ERROR(IO, "cannot %s '%s': cannot open '%s': %s", folder->kind->purpose, folder->path, out->path,
                      strerror(errno));
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      zb_status status = held_by_another(folder, descriptor);
      close(descriptor);
      return status;
    } /* another failure: the file system knows no locks */
  } while (!is_current(descriptor, out->path));
  write_owner(descriptor);
  out->held = true;
  out->descriptor = descriptor;
  return NULL;
}

void zb_folder_lock_release(zb_folder_lock *lock) {
  if (!lock->held) return;
  unlink(lock->path); /* first: a writer that opens it from here on makes a new one */
  close(lock->descriptor);
  lock->held = false;
}
