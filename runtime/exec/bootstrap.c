/* Which launcher started this process: zb_bootstrap_find of zb/runtime.h. Tests: test/runtime/exec/bootstrap_test.c. */
#include "runtime/base/text.h"
#include "zb/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct launcher_row {
  const char *name, *launch, *rank, *size, *size2, *local, *address, *port;
  bool telling;
} launcher_row;

static const launcher_row rows[] = {
#define ZB_LAUNCHER(name, launch, rank, size, size2, local, address, port, telling)                                    \
  {name, launch, rank, size, size2, local, address, port, telling},
#include "runtime/exec/launchers.def"
#undef ZB_LAUNCHER
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0], PORT_MAX = 65535, PROCESSES_MAX = 1 << 20 };

typedef struct environment {
  const char *(*variable)(void *context, const char *name);
  void *context;
} environment;

/* The value of a variable; NULL if it has no name, is not set or is empty. */
static const char *value_of(const environment *from, const char *name) {
  const char *value = name ? from->variable(from->context, name) : NULL;
  return value && *value ? value : NULL;
}

/* A number of least..most. */
static zb_status number_of(const launcher_row *row, const char *name, const char *value, int least, int most, int *out) {
  char *end = NULL;
  errno = 0;
  long number = strtol(value, &end, 10);
  if (*end || errno || number < least || number > most)
    return zb_status_hint(ZB_ERROR(INVALID, "%s is '%s': expected a number of %d to %d", name, value, least, most),
                          "it should come from %s; unset it, or say --launch threads to run all ranks in one process", row->name);
  *out = (int)number;
  return NULL;
}

static zb_status read_row(const environment *from, const launcher_row *row, const char *size_name, zb_bootstrap *out) {
  *out = (zb_bootstrap){.launcher = row->name, .launch = row->launch, .local_process = -1};
  ZB_TRY(number_of(row, size_name, value_of(from, size_name), 1, PROCESSES_MAX, &out->processes));
  ZB_TRY(number_of(row, row->rank, value_of(from, row->rank), 0, out->processes - 1, &out->process));
  const char *local = value_of(from, row->local), *port = value_of(from, row->port);
  if (local) ZB_TRY(number_of(row, row->local, local, 0, PROCESSES_MAX, &out->local_process));
  out->address = value_of(from, row->address);
  return port ? number_of(row, row->port, port, 1, PORT_MAX, &out->port) : NULL;
}

/* Adds "NAME=value" to what was found, or NAME to what is missing. */
static void note(const environment *from, const char *name, zb_text *found, zb_text *missing) {
  const char *value = value_of(from, name);
  if (!name) return;
  if (value)
    zb_text_add(found, "%s%s=%.40s", found->length ? ", " : "", name, value);
  else
    zb_text_add(missing, "%s%s", missing->length ? ", " : "", name);
}

zb_status zb_bootstrap_find(const char *(*variable)(void *context, const char *name), void *context, zb_bootstrap *out) {
  environment from = {variable, context};
  const launcher_row *part = NULL;
  zb_status status = NULL;
  zb_text found, missing;
  *out = (zb_bootstrap){.processes = 1, .local_process = -1};
  zb_text_init(&found);
  zb_text_init(&missing);
  for (int i = 0; i < ROW_COUNT; ++i) {
    const launcher_row *row = &rows[i];
    const char *size = value_of(&from, row->size) || !row->size2 ? row->size : row->size2;
    bool has_rank = value_of(&from, row->rank), has_size = value_of(&from, size), has_place = true;
    if (row->address && has_size && strcmp(value_of(&from, size), "1") != 0)
      has_place = value_of(&from, row->address) && value_of(&from, row->port);
    if (has_rank && has_size && has_place) {
      status = read_row(&from, row, size, out);
      goto cleanup;
    }
    if (!has_rank && !(has_size && row->telling)) continue;
    if (!part) part = row;
    const char *const names[] = {row->rank, size, row->address, row->port};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k)
      note(&from, names[k], &found, &missing);
  }
  if (part)
    status = zb_status_hint(ZB_ERROR(INVALID, "the variables of %s are not complete: found %s, but not %s", part->name,
                                     found.failed ? "" : found.data, missing.failed ? "" : missing.data),
                            "unset them, or say --launch threads to run all ranks in one process");
cleanup:
  zb_text_deinit(&found);
  zb_text_deinit(&missing);
  return status;
}
