/* A library to preload that lets a program wait for a minute where it opens the file whose name ends in ZB_SLOW_FILE:
 * what a slow file system does. test/e2e/processes_starts.py builds and uses it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*opener)(const char *path, int flags, ...);

/* As a read from a disk that does not answer: a handler runs, and the wait goes on. */
static void wait_if_slow(const char *path) {
  const char *slow = getenv("ZB_SLOW_FILE");
  size_t length = strlen(path), wanted = slow ? strlen(slow) : 0;
  if (!slow || length < wanted || strcmp(path + length - wanted, slow) != 0) return;
  struct timespec left = {.tv_sec = 60};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    continue;
}

#define OPEN(name)                                                                                                     \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    int mode = va_arg(more, int);                                                                                      \
    va_end(more);                                                                                                      \
    wait_if_slow(path);                                                                                                \
    return ((opener)dlsym(RTLD_NEXT, #name))(path, flags, mode);                                                       \
  }

OPEN(open)
OPEN(open64)
