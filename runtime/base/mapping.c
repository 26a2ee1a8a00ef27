/* Files as memory: see mapping.h.
 *
 * A page that the system cannot fill raises SIGBUS in the thread that touches it. The handler puts zeros in the place
 * of the rest of that mapping, marks it, and returns, so that the thread goes on. What is of no mapping goes to the
 * handler that was there before, or ends the program as it would have. Threads must not block the signal.
 *
 * Tests: test/runtime/base/mapping_test.c, test/e2e/faults.py.
 */
#include "runtime/base/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/file.h"

enum { FILES_MOST = 16384 }; /* at once: a checkpoint of so many processes */

/* What the handler knows of a mapping; end 0: there is none in this place. */
typedef struct place {
  atomic_uintptr_t begin, end;
  atomic_bool lost;
  const char *path; /* of the mapping; NULL: the place is free */
} place;

static place places[FILES_MOST];
static atomic_int used; /* places that were ever taken */
static atomic_uint lost_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of what is below, and of taking places */
static char lost_path[1024];                              /* of the last one that is closed */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;

static int find(uintptr_t at) {
  for (int i = 0, count = atomic_load(&used); i < count; ++i)
    if (at >= atomic_load(&places[i].begin) && at < atomic_load(&places[i].end)) return i;
  return -1;
}

/* Zeros from the page of `at` to the end. A call of the system alone, as in a handler nothing else may be done. */
static bool lose(int index, uintptr_t at) {
  place *p = &places[index];
  const uintptr_t page = at - at % (uintptr_t)sysconf(_SC_PAGESIZE), end = atomic_load(&p->end);
  if (mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  if (!atomic_exchange(&p->lost, true)) atomic_fetch_add(&lost_count, 1);
  return true;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
  const int error = errno, index = info->si_code == BUS_ADRERR ? find((uintptr_t)info->si_addr) : -1;
  const bool is_ours = index >= 0 && lose(index, (uintptr_t)info->si_addr);
  errno = error;
  if (is_ours) return;
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    sigaction(number, &before, NULL);
    raise(number);
  }
}

static void catch_bus_errors(void) {
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

/* 0: there are too many. */
static int take_place(const zb_mapping *mapping) {
  int index = 0;
  pthread_mutex_lock(&mutex);
  while (index < FILES_MOST && places[index].path)
    ++index;
  if (index < FILES_MOST) {
    place *p = &places[index];
    p->path = mapping->path;
    atomic_store(&p->lost, false);
    atomic_store(&p->begin, (uintptr_t)mapping->bytes);
    atomic_store(&p->end, (uintptr_t)mapping->bytes + (uintptr_t)mapping->count);
    if (index >= atomic_load(&used)) atomic_store(&used, index + 1);
  }
  pthread_mutex_unlock(&mutex);
  return index < FILES_MOST ? index + 1 : 0;
}

static zb_status map(const char *what, int file, zb_mapping *out) {
  void *bytes =
      fstat(file, &out->opened) == 0 ? mmap(NULL, (size_t)out->count, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (bytes == MAP_FAILED)
    return ZB_ERROR(IO, "cannot map %s%s'%s': %s", what ? what : "", what ? " " : "", out->path, strerror(errno));
  out->bytes = bytes;
  out->place = take_place(out);
  if (out->place) return NULL;
  return ZB_ERROR(IO, "cannot map '%s': %d files are mapped already, which is the most", out->path, FILES_MOST);
}

zb_status zb_mapping_open(const char *what, const char *path, zb_mapping *out) {
  int file = -1;
  *out = (zb_mapping){.place = 0};
  pthread_once(&once, catch_bus_errors);
  ZB_TRY(zb_file_open(what, path, &file, &out->count));
  out->path = zb_strdup(path);
  zb_status status = out->path ? NULL : ZB_OUT_OF_MEMORY();
  if (!status && out->count > 0) status = map(what, file, out);
  close(file);
  if (status) zb_mapping_close(out);
  return status;
}

static zb_status lost_status(const char *path) {
  return zb_status_hint(ZB_ERROR(IO, "'%s' was changed, or could not be read, while it was in use", path),
                        "a file that is read stays as it is: write a new one under another name, and rename it");
}

/* Another file of that name is not the one that is mapped, which nobody can change by its name any more. */
zb_status zb_mapping_check(const zb_mapping *mapping) {
  const struct stat *was = &mapping->opened;
  struct stat now;
  if (!mapping->place) return NULL;
  const bool same = stat(mapping->path, &now) == 0 && now.st_dev == was->st_dev && now.st_ino == was->st_ino;
  const bool changed = same && (now.st_size != was->st_size || now.st_mtim.tv_sec != was->st_mtim.tv_sec ||
                                now.st_mtim.tv_nsec != was->st_mtim.tv_nsec);
  return changed || atomic_load(&places[mapping->place - 1].lost) ? lost_status(mapping->path) : NULL;
}

/* The mutex is held. */
static void note_lost(const place *p) {
  if (p->path && atomic_load(&p->lost)) snprintf(lost_path, sizeof lost_path, "%s", p->path);
}

void zb_mapping_close(zb_mapping *mapping) {
  if (mapping->place) {
    place *p = &places[mapping->place - 1];
    pthread_mutex_lock(&mutex);
    note_lost(p);
    atomic_store(&p->end, 0);
    p->path = NULL;
    pthread_mutex_unlock(&mutex);
  }
  if (mapping->bytes) munmap((void *)(uintptr_t)mapping->bytes, (size_t)mapping->count);
  zb_free(mapping->path);
  *mapping = (zb_mapping){.place = 0};
}

unsigned zb_mappings_lost(void) { return atomic_load(&lost_count); }

zb_status zb_mappings_lost_since(unsigned then, zb_status status) {
  if (atomic_load(&lost_count) == then) return status;
  zb_status_free(status); /* what was read instead of the file is to blame for it */
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < atomic_load(&used); ++i)
    note_lost(&places[i]);
  zb_status lost = lost_status(lost_path);
  pthread_mutex_unlock(&mutex);
  return lost;
}
