/* Whole files in, whole files out: see file.h.
 *
 * What is written is never half there: a temporary file next to the final one is written, synced and renamed over it,
 * then the folder is synced. EINTR is retried everywhere.
 *
 * Tests: test/runtime/base/file_test.c
 */
#define _GNU_SOURCE /* O_PATH */

#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/base/text.h"

static int open_file(const char *path, int flags) {
  int descriptor;
  do
    descriptor = open(path, flags | O_CLOEXEC, 0666);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

static zb_status io_error(const char *what, const char *path, int error) {
  return ZB_ERROR(IO, "cannot %s '%s': %s", what, path, strerror(error));
}

/* Reads to the end of the file. */
static zb_status read_all(int descriptor, const char *path, uint64_t limit_bytes, char **data, size_t *capacity,
                          size_t *length) {
  for (;;) {
    if (!zb_grow((void **)data, capacity, *length + 2, 1)) return ZB_OUT_OF_MEMORY();
    ssize_t got = read(descriptor, *data + *length, *capacity - *length - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path, errno);
    if (got == 0) return NULL;
    *length += (size_t)got;
    if (limit_bytes > 0 && *length > limit_bytes)
      return ZB_ERROR(INVALID, "'%s' is larger than the limit of %llu bytes", path, (unsigned long long)limit_bytes);
  }
}

/* What is there instead of a regular file. Takes no ownership of the descriptor. */
static zb_status not_regular(const char *what, const char *path, mode_t mode) {
  const char *blank = what ? " " : "", *kind = S_ISDIR(mode)    ? "a folder"
                                               : S_ISFIFO(mode) ? "a pipe"
                                               : S_ISSOCK(mode) ? "a socket"
                                                                : "a device";
  zb_status status = ZB_ERROR(IO, "%s%s'%s' is %s, expected a file", what ? what : "", blank, path, kind);
  return S_ISDIR(mode) ? status : zb_status_hint(status, "write it to a file first, and give that");
}

/* Opens without waiting for the other end of a pipe. */
static zb_status open_and_look(const char *what, const char *path, int *out, struct stat *about) {
  *out = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (*out >= 0 && fstat(*out, about) == 0) return NULL;
  int error = errno;
  if (*out >= 0) close(*out);
  *out = -1;
  return ZB_ERROR(IO, "cannot open %s%s'%s': %s", what ? what : "", what ? " " : "", path, strerror(error));
}

zb_status zb_file_open(const char *what, const char *path, int *out, uint64_t *out_bytes) {
  struct stat about;
  ZB_TRY(open_and_look(what, path, out, &about));
  if (S_ISREG(about.st_mode)) {
    if (out_bytes) *out_bytes = (uint64_t)about.st_size;
    return NULL;
  }
  close(*out);
  *out = -1;
  return not_regular(what, path, about.st_mode);
}

/* Whether it is a pipe without a name: a process holds its other end, or has written to it. */
static bool is_unnamed_pipe(int descriptor, mode_t mode) {
  enum { PIPE_FILE_SYSTEM = 0x50495045 };
  struct statfs system;
  return S_ISFIFO(mode) && fstatfs(descriptor, &system) == 0 && system.f_type == PIPE_FILE_SYSTEM;
}

/* From here on reads and writes wait. */
static bool waits(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

zb_status zb_file_read(const char *path, uint64_t limit_bytes, char **out, size_t *out_bytes) {
  static const uint64_t pipe_most = UINT64_C(1) << 30; /* of what has no size to be asked for */
  zb_status status = NULL;
  char *data = NULL;
  size_t capacity = 0, length = 0;
  int descriptor = -1;
  struct stat about;
  ZB_TRY(open_and_look(NULL, path, &descriptor, &about));
  if (is_unnamed_pipe(descriptor, about.st_mode)) {
    if (!waits(descriptor)) ZB_TRY_GOTO(io_error("read", path, errno));
    if (limit_bytes == 0) limit_bytes = pipe_most;
  } else if (!S_ISREG(about.st_mode)) {
    ZB_TRY_GOTO(not_regular(NULL, path, about.st_mode));
  } else if (about.st_size > 0) {
    uint64_t size = (uint64_t)about.st_size;
    if (limit_bytes > 0 && size > limit_bytes)
      ZB_TRY_GOTO(ZB_ERROR(INVALID, "'%s' has %llu bytes, more than the limit of %llu", path, (unsigned long long)size,
                           (unsigned long long)limit_bytes));
    capacity = (size_t)size + 2; /* the NUL, and one byte for the read that finds the end */
    data = zb_alloc(capacity);
    if (!data) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
  ZB_TRY_GOTO(read_all(descriptor, path, limit_bytes, &data, &capacity, &length));
  data[length] = '\0';
  *out = data;
  *out_bytes = length;
  data = NULL;

cleanup:
  zb_free(data);
  close(descriptor);
  return status;
}

static void forget(zb_file_writer *writer) {
  if (writer->descriptor >= 0) close(writer->descriptor);
  zb_free(writer->path);
  zb_free(writer->temporary);
  *writer = (zb_file_writer){.descriptor = -1};
}

/* Whether a name is one of the system's for an open file, or a link to one (/dev/stdout): what is in /proc. */
static bool names_open_file(const char *path) {
  enum { LINKS_MOST = 40, PROC_FILE_SYSTEM = 0x9fa0 };
  char at[PATH_MAX], target[PATH_MAX];
  if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) return false;
  for (int i = 0; i < LINKS_MOST; ++i) {
    struct statfs system;
    const int found = open_file(at, O_PATH | O_NOFOLLOW);
    const bool known = found >= 0 && fstatfs(found, &system) == 0;
    if (found >= 0) close(found);
    if (!known || system.f_type == PROC_FILE_SYSTEM) return known;
    const ssize_t length = readlink(at, target, sizeof target);
    const char *slash = strrchr(at, '/');
    const size_t folder = length > 0 && *target != '/' && slash ? (size_t)(slash + 1 - at) : 0;
    if (length <= 0 || folder + (size_t)length >= sizeof at) return false; /* no link */
    memcpy(at + folder, target, (size_t)length);
    at[folder + (size_t)length] = '\0';
  }
  return false;
}

/* What is written to as it is: a device, a pipe, an open file. */
static bool is_sink(const char *path) {
  struct stat about;
  if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) return false;
  return !S_ISREG(about.st_mode) || names_open_file(path);
}

/* Standard output under a name of its own goes on where it is, as another descriptor would write over it. */
static int open_sink(const char *path) {
  struct stat named, out;
  if (stat(path, &named) == 0 && fstat(STDOUT_FILENO, &out) == 0 && named.st_dev == out.st_dev &&
      named.st_ino == out.st_ino && !S_ISCHR(out.st_mode))
    return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int descriptor = open_file(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0 || waits(descriptor)) return descriptor;
  close(descriptor);
  return -1;
}

zb_status zb_file_writer_open(zb_file_writer *writer, const char *path) {
  *writer = (zb_file_writer){.descriptor = -1};
  zb_text name = {0};
  bool replaces = !is_sink(path);
  if (replaces) zb_text_add(&name, "%s.tmp.%ld", path, (long)getpid());
  writer->temporary = replaces ? zb_text_take(&name) : NULL;
  writer->path = zb_strdup(path);
  if ((replaces && !writer->temporary) || !writer->path) {
    forget(writer);
    return ZB_OUT_OF_MEMORY();
  }
  writer->descriptor = replaces ? open_file(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC) : open_sink(path);
  if (writer->descriptor >= 0) return NULL;
  int error = errno;
  zb_status status = io_error("write", path, error);
  if (!replaces && error == ENXIO)
    status = zb_status_hint(status, "nobody reads from this pipe: start the reader first, or name a file");
  forget(writer);
  return status;
}

zb_status zb_file_writer_append(zb_file_writer *writer, const char *path, uint64_t keep) {
  *writer = (zb_file_writer){.descriptor = -1, .path = zb_strdup(path)};
  if (!writer->path) return ZB_OUT_OF_MEMORY();
  const bool sink = is_sink(path);
  writer->descriptor = sink ? open_sink(path) : open_file(path, O_WRONLY | O_CREAT | O_APPEND);
  int error = writer->descriptor < 0 ? errno : 0;
  if (!error && !sink && ftruncate(writer->descriptor, (off_t)keep) != 0) error = errno;
  if (!error) return NULL;
  forget(writer);
  return io_error("write", path, error);
}

bool zb_file_is_there(const char *path) {
  struct stat about;
  return stat(path, &about) == 0;
}

zb_status zb_file_writer_add(zb_file_writer *writer, const void *bytes, size_t count) {
  const char *at = bytes;
  while (count > 0) {
    ssize_t written = write(writer->descriptor, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("write", writer->path, errno);
    at += written;
    count -= (size_t)written;
  }
  return NULL;
}

bool zb_file_writer_is_file(const zb_file_writer *writer) {
  struct stat about;
  return fstat(writer->descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

/* Through a descriptor of its own: one that appends writes at the end, whatever offset is given. */
zb_status zb_file_writer_replace_end(zb_file_writer *writer, size_t old, const void *bytes, size_t count) {
  struct stat about;
  const int descriptor = open_file(writer->path, O_WRONLY);
  int error = descriptor < 0 || fstat(descriptor, &about) != 0 ? errno : 0;
  off_t at = error || (off_t)old > about.st_size ? 0 : about.st_size - (off_t)old;
  for (const char *from = bytes; !error && count > 0;) {
    const ssize_t written = pwrite(descriptor, from, count, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) error = errno;
    if (error) break;
    from += written;
    at += written;
    count -= (size_t)written;
  }
  if (descriptor >= 0) close(descriptor);
  return error ? io_error("write", writer->path, error) : NULL;
}

/* Makes the rename durable. Some file systems cannot sync a folder (EINVAL): then there is nothing more to do. */
static zb_status sync_folder(char *path) {
  char *slash = strrchr(path, '/'), *end = !slash ? path : slash == path ? path + 1 : slash, kept = *end;
  *end = '\0'; /* for the call */
  int descriptor = open_file(slash ? path : ".", O_RDONLY | O_DIRECTORY);
  *end = kept;
  zb_status status = NULL;
  if (descriptor < 0) return NULL;
  if (fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) status = io_error("sync the folder of", path, errno);
  close(descriptor);
  return status;
}

zb_status zb_file_writer_sync(zb_file_writer *writer) {
  if (fsync(writer->descriptor) == 0 || errno == EINVAL) return NULL;
  return io_error("sync", writer->path, errno);
}

zb_status zb_file_writer_commit(zb_file_writer *writer) {
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_file_writer_sync(writer));
  int closed = close(writer->descriptor);
  writer->descriptor = -1;
  if ((closed != 0 && errno != EINTR) || (writer->temporary && rename(writer->temporary, writer->path) != 0))
    ZB_TRY_GOTO(io_error("write", writer->path, errno));
  if (writer->temporary) status = sync_folder(writer->path);
  forget(writer);
  return status;

cleanup:
  zb_file_writer_abandon(writer);
  return status;
}

void zb_file_writer_abandon(zb_file_writer *writer) {
  if (writer->temporary) unlink(writer->temporary);
  forget(writer);
}

zb_status zb_file_write_atomic(const char *path, const void *bytes, size_t count) {
  zb_file_writer writer;
  ZB_TRY(zb_file_writer_open(&writer, path));
  zb_status status = zb_file_writer_add(&writer, bytes, count);
  if (!status) return zb_file_writer_commit(&writer);
  zb_file_writer_abandon(&writer);
  return status;
}

/* Whether the name ends with one of the words of `endings`, which are separated by blanks. */
static bool has_ending(const char *path, const char *endings) {
  size_t length = strlen(path), count = 0;
  for (const char *at = endings; *at; at += count + (at[count] == ' ')) {
    count = strcspn(at, " ");
    if (length > count && memcmp(path + length - count, at, count) == 0) return true;
  }
  return false;
}

zb_status zb_output_check(const char *what, const char *path, const char *endings) {
  zb_file_writer writer;
  struct stat about;
  const bool sink = is_sink(path);
  if (endings && !has_ending(path, endings) && !(sink && !strchr(endings, ' ')))
    return zb_status_hint(ZB_ERROR(USAGE, "%s: the name '%s' does not say what to write", what, path), "end it in %s%s",
                          strchr(endings, ' ') ? "one of " : "", endings);
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
    return ZB_ERROR(IO, "%s: '%s' is a folder, expected a file", what, path);
  if (sink) /* opening and closing a pipe would end it for its reader */
    return access(path, W_OK) == 0 ? NULL : ZB_ERROR(IO, "%s: cannot write '%s': %s", what, path, strerror(errno));
  zb_status status = zb_file_writer_open(&writer, path);
  if (!status) zb_file_writer_abandon(&writer);
  if (zb_status_code(status) != ZB_IO) return status;
  zb_status named = zb_status_hint(ZB_ERROR(IO, "%s: %s", what, zb_status_message(status)),
                                   "name a file in a folder that exists and can be written");
  zb_status_free(status);
  return named;
}

zb_status zb_make_folder(const char *path) {
  zb_status status = NULL;
  char *prefix = zb_strdup(path);
  if (!prefix) return ZB_OUT_OF_MEMORY();
  size_t length = strlen(prefix);
  for (size_t i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != '\0') continue;
    prefix[i] = '\0';
    struct stat there;
    const int error = mkdir(prefix, 0777) != 0 ? errno : 0;
    if (error == EEXIST && stat(prefix, &there) == 0 && !S_ISDIR(there.st_mode))
      ZB_TRY_GOTO(ZB_ERROR(IO, "'%s' exists and is not a folder", prefix));
    if (error && error != EEXIST) ZB_TRY_GOTO(io_error("create the folder", prefix, error));
    prefix[i] = path[i];
  }
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
    status = ZB_ERROR(IO, "'%s' exists and is not a folder", path);

cleanup:
  zb_free(prefix);
  return status;
}

zb_status zb_output_folder_check(const char *what, const char *path) {
  char *nearest = zb_alloc(strlen(path) + 2); /* room for "." */
  if (!nearest) return ZB_OUT_OF_MEMORY();
  memcpy(nearest, path, strlen(path) + 1);
  struct stat about;
  int error = 0;
  while (stat(nearest, &about) != 0) { /* up to what exists */
    error = errno;
    char *slash = strrchr(nearest, '/');
    if ((error != ENOENT && error != ENOTDIR) || strcmp(nearest, ".") == 0)
      break; /* ENOTDIR: a part of the path is no folder */
    if (slash)
      slash[slash == nearest] = '\0';
    else
      memcpy(nearest, ".", 2);
    error = 0;
  }
  if (!error && !S_ISDIR(about.st_mode)) error = ENOTDIR;
  if (!error && access(nearest, W_OK | X_OK) != 0) error = errno;
  zb_status status = NULL;
  if (error == ENOTDIR)
    status = ZB_ERROR(IO, "%s: '%s' exists and is not a folder", what, nearest);
  else if (error)
    status = ZB_ERROR(IO, "%s: cannot write to the folder '%s': %s", what, nearest, strerror(error));
  zb_free(nearest);
  return status;
}

const char *zb_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
