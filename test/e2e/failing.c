/* A library to preload that lets one call of a program fail: the K-th allocation, or the K-th call that changes or
 * opens a file. test/e2e/failing.py builds and uses it. It counts from main on: what runs before belongs to the loader.
 *
 *   ZB_FAIL_COUNT=FILE          where both counters are kept, and whether the call that failed was to remove something:
 * three numbers of 64 bits; needed, and read after the run ZB_FAIL_MEMORY=K or K+      the K-th allocation fails; with
 * + every one from there on ZB_FAIL_FILES=K:WHAT        the K-th call on files fails with that errno (a number), or
 *                               (WHAT being "kill") ends the process before it is made
 *   ZB_FAIL_TRACE=1             says on standard error who made the call that fails
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's allocator under names that nobody replaces. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

typedef struct counters {
  atomic_uint_fast64_t memory, files, removes;
} counters;

static counters none, *counted = &none;
static uint64_t memory_from, files_at;
static bool memory_on, files_kill, traces;
static int files_error;
static atomic_bool armed;
static _Thread_local bool inside;

static void trace(const char *what) {
  void *frames[32];
  inside = true;
  dprintf(2, "failing: %s\n", what);
  backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  inside = false;
}

static bool fails_memory(void) {
  if (!atomic_load(&armed) || inside) return false;
  uint64_t number = atomic_fetch_add(&counted->memory, 1) + 1;
  if (memory_from == 0 || (memory_on ? number < memory_from : number != memory_from)) return false;
  if (traces) trace("allocation");
  errno = ENOMEM;
  return true;
}

static bool fails_file(const char *what) {
  if (!atomic_load(&armed) || inside) return false;
  uint64_t number = atomic_fetch_add(&counted->files, 1) + 1;
  if (number != files_at) return false;
  if (strncmp(what, "unlink", 6) == 0 || strcmp(what, "rmdir") == 0) atomic_store(&counted->removes, 1);
  if (traces) trace(what);
  if (files_kill) kill(getpid(), SIGKILL);
  errno = files_error;
  return true;
}

/* ---- Memory ---- */

void *malloc(size_t bytes) { return fails_memory() ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) { return fails_memory() ? NULL : __libc_calloc(count, bytes); }

void *realloc(void *memory, size_t bytes) { return fails_memory() ? NULL : __libc_realloc(memory, bytes); }

void *memalign(size_t alignment, size_t bytes) { return fails_memory() ? NULL : __libc_memalign(alignment, bytes); }

void *aligned_alloc(size_t alignment, size_t bytes) {
  return fails_memory() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  void *memory = fails_memory() ? NULL : __libc_memalign(alignment, bytes);
  if (memory) *out = memory;
  return memory ? 0 : ENOMEM;
}

/* ---- Files ---- */

/* A path that a test could be about; what the system keeps there is another matter. */
static bool counts(const char *path) {
  static const char *const others[] = {"/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i)
    if (strncmp(path, others[i], strlen(others[i])) == 0) return false;
  return true;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return counts(path) && fails_file("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return counts(path) && fails_file("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t count) {
  return file > 2 && fails_file("write") ? -1 : syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  return fails_file("pwrite") ? -1 : syscall(SYS_pwrite64, file, bytes, count, at);
}

int fsync(int file) { return fails_file("fsync") ? -1 : (int)syscall(SYS_fsync, file); }

int ftruncate(int file, off_t bytes) { return fails_file("ftruncate") ? -1 : (int)syscall(SYS_ftruncate, file, bytes); }

int close(int file) { /* the descriptor is gone, whatever close says */
  bool fails = file > 2 && fails_file("close");
  int error = errno, result = (int)syscall(SYS_close, file);
  if (fails) errno = error;
  return fails ? -1 : result;
}

int rename(const char *from, const char *to) {
  return fails_file("rename") ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  return fails_file("renameat2") ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int mkdir(const char *path, mode_t mode) {
  return fails_file("mkdir") ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int rmdir(const char *path) {
  return fails_file("rmdir") ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return fails_file("renameat") ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int unlinkat(int folder, const char *path, int flags) {
  return fails_file("unlinkat") ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path) { return fails_file("unlink") ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0); }

/* ---- From main on ---- */

static int (*real_main)(int, char **, char **);

static void read_settings(void) {
  const char *path = getenv("ZB_FAIL_COUNT"), *memory = getenv("ZB_FAIL_MEMORY"), *files = getenv("ZB_FAIL_FILES");
  int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0666) : -1;
  void *frame = NULL;
  if (file < 0 || syscall(SYS_ftruncate, file, sizeof *counted) != 0) return;
  void *mapping = mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapping == MAP_FAILED) return;
  counted = mapping;
  traces = getenv("ZB_FAIL_TRACE") != NULL;
  if (memory) {
    char *end = NULL;
    memory_from = strtoull(memory, &end, 10);
    memory_on = *end == '+';
  }
  if (files) {
    char *end = NULL;
    files_at = strtoull(files, &end, 10);
    files_kill = strcmp(end, ":kill") == 0;
    files_error = files_kill ? EIO : atoi(end + 1);
  }
  backtrace(&frame, 1); /* loads what it needs now */
  atomic_store(&armed, true);
}

static int counted_main(int count, char **words, char **environment) {
  read_settings();
  int status = real_main(count, words, environment);
  atomic_store(&armed, false);
  return status;
}

typedef int start_function(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                           void *);

int __libc_start_main(int (*program)(int, char **, char **), int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
  start_function *start;
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = program;
  return start(counted_main, count, words, init, fini, loader_fini, stack_end);
}
