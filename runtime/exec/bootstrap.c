/* Which launcher started this process: zb_bootstrap_find of zb/runtime.h. Sources of the variables: the manuals of
 * mpirun, srun ("output environment variables") and torchrun. Tests: test/runtime/exec/bootstrap_test.c. */
#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "zb/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 4, RUN_MAX = 2 };

typedef struct launcher_row {
  const char *name, *from, *launch, *needs, *rank, *size, *size2, *step, *local, *store;
  const char *hosts[HOSTS_MAX], *run[RUN_MAX];
  bool by_address, telling, apart;
} launcher_row;

static const launcher_row rows[] = {
#define ZB_LAUNCHER(...) {__VA_ARGS__},
#include "runtime/exec/launchers.def"
#undef ZB_LAUNCHER
};
static const char *const address_variable = "MASTER_ADDR", *const port_variable = "MASTER_PORT";
static const char port_from[] = "torchrun, or your shell or script (export)";
enum { ROW_COUNT = sizeof rows / sizeof rows[0], PORT_MAX = 65535, PROCESSES_MAX = 1 << 20 };
/* Of a run that is given no port: below those that Linux gives away (32768 and more). SPREAD of them are tried. */
enum { PORT_FIRST = 12000, PORT_COUNT = 16000, SPREAD = 16 };

typedef struct environment {
  const char *(*variable)(void *context, const char *name);
  void *context;
} environment;

/* The value of a variable; NULL if it has no name, is not set or is empty. */
static const char *value_of(const environment *from, const char *name) {
  const char *value = name ? from->variable(from->context, name) : NULL;
  return value && *value ? value : NULL;
}

/* A number of least..most. from: what may have set it. */
static zb_status number_of(const char *from, const char *name, const char *value, int least, int most, int *out) {
  char *end = NULL;
  errno = 0;
  long number = strtol(value, &end, 10);
  if (*end || errno || number < least || number > most)
    return zb_status_hint(
        ZB_ERROR(INVALID, "%s is '%s': expected a number of %d to %d", name, value, least, most),
        "it may come from %s; set it right or unset it, or say --launch threads to run all ranks in one process", from);
  *out = (int)number;
  return NULL;
}

/* The first host of a list of Slurm, as "a,b", "node[01-03,7],x", "rack[2-3]n[1,2]-ib": of every bracket the first
 * number. */
static zb_status first_host(const char *variable, const char *list, char *out, size_t size) {
  size_t length = 0;
  bool good = true;
  for (const char *at = list; *at && *at != ',' && good; ++at) {
    if (*at != '[') {
      good = *at != ']' && length + 1 < size;
      if (good) out[length++] = *at;
      continue;
    }
    size_t digits = strspn(at + 1, "0123456789"), inside = strcspn(at + 1, "]");
    good = digits > 0 && at[1 + inside] == ']' && strspn(at + 1, "0123456789,-") == inside && length + digits < size;
    if (!good) break;
    memcpy(out + length, at + 1, digits);
    length += digits;
    at += 1 + inside;
  }
  out[good ? length : 0] = '\0';
  if (good && length > 0) return NULL;
  return zb_status_hint(
      ZB_ERROR(INVALID, "%s is '%.100s': expected a list of hosts such as node[01-03,7],other", variable, list),
      "set MASTER_ADDR to the host of process 0");
}

/* Where process 0 is. */
static zb_status read_address(const environment *from, const launcher_row *row, zb_bootstrap *out) {
  const char *address = value_of(from, address_variable);
  if (address && strlen(address) >= sizeof out->address)
    return ZB_ERROR(INVALID, "%s is '%.40s...': expected a host of at most %zu characters", address_variable, address,
                    sizeof out->address - 1);
  if (address) snprintf(out->address, sizeof out->address, "%s", address);
  for (int i = 0; i < HOSTS_MAX && !out->address[0] && row->hosts[i]; ++i) {
    const char *list = value_of(from, row->hosts[i]);
    if (list) ZB_TRY(first_host(row->hosts[i], list, out->address, sizeof out->address));
  }
  return NULL;
}

static zb_status read_place(const environment *from, const launcher_row *row, zb_bootstrap *out) {
  const char *port = value_of(from, port_variable), *store = value_of(from, row->store);
  bool is_known = port; /* which run this is: without that processes of two could meet */
  ZB_TRY(read_address(from, row, out));
  out->run = zb_fnv1a(ZB_FNV_START, port ? port : "", port ? strlen(port) : 0);
  for (int i = 0; i < RUN_MAX; ++i) {
    const char *value = value_of(from, row->run[i]);
    out->run = zb_fnv1a(out->run, "/", 1);
    if (value) out->run = zb_fnv1a(out->run, value, strlen(value));
    is_known |= value != NULL;
  }
  out->port = (int)(PORT_FIRST + out->run % PORT_COUNT);
  out->ports = SPREAD;
  if (!is_known) out->address[0] = '\0';
  if (!port) return NULL;
  ZB_TRY(number_of(port_from, port_variable, port, 1, PORT_MAX, &out->port));
  out->ports = 1;
  if (!store || strcmp(store, "True") != 0) return NULL;
  out->ports = SPREAD;
  out->port = out->port + SPREAD <= PORT_MAX ? out->port + 1 : out->port - SPREAD;
  return NULL;
}

static zb_status read_row(const environment *from, const launcher_row *row, const char *size_name, zb_bootstrap *out) {
  *out = (zb_bootstrap){.launcher = row->name, .launch = row->launch, .local_process = -1, .apart = row->apart};
  ZB_TRY(number_of(row->from, size_name, value_of(from, size_name), 1, PROCESSES_MAX, &out->processes));
  ZB_TRY(number_of(row->from, row->rank, value_of(from, row->rank), 0, out->processes - 1, &out->process));
  const char *local = value_of(from, row->local);
  if (local) ZB_TRY(number_of(row->from, row->local, local, 0, PROCESSES_MAX, &out->local_process));
  return read_place(from, row, out);
}

/* Adds "NAME=value" to what was found, or NAME to what is missing. */
static void note(const environment *from, const char *name, zb_text *found, zb_text *missing) {
  const char *value = value_of(from, name);
  if (value)
    zb_text_add(found, "%s%s=%.40s", found->length ? ", " : "", name, value);
  else
    zb_text_add(missing, "%s%s", missing->length ? ", " : "", name);
}

/* The row does not count: a variable that it needs is not there, or this is the shell of a job, not a step of it. */
static bool is_left_out(const environment *from, const launcher_row *row) {
  if (row->needs && !value_of(from, row->needs)) return true;
  return row->step && !value_of(from, row->step) && !value_of(from, row->size);
}

/* A process alone in a job that was asked for several tasks. */
static void warn_of_tasks(const environment *from, zb_bootstrap *out) {
  for (int i = 0; i < ROW_COUNT; ++i) {
    const char *tasks = rows[i].step ? value_of(from, rows[i].size2) : NULL;
    if (!tasks || strtol(tasks, NULL, 10) <= 1) continue;
    snprintf(out->warning, sizeof out->warning,
             "%s=%.20s, but %s did not start this process: it trains alone, with all ranks as threads ('%s zb-run ...' "
             "starts %.20s processes; "
             "--launch threads says that one is meant)",
             rows[i].size2, tasks, rows[i].name, rows[i].name, tasks);
    return;
  }
}

zb_status zb_bootstrap_find(const char *(*variable)(void *context, const char *name), void *context,
                            zb_bootstrap *out) {
  environment from = {variable, context};
  const launcher_row *part = NULL;
  zb_status status = NULL;
  zb_text found = {0}, missing = {0};
  *out = (zb_bootstrap){.processes = 1, .local_process = -1};
  for (int i = 0; i < ROW_COUNT; ++i) {
    const launcher_row *row = &rows[i];
    const char *size = value_of(&from, row->size) || !row->size2 ? row->size : row->size2;
    bool has_rank = value_of(&from, row->rank), has_size = value_of(&from, size), has_place = true;
    if (is_left_out(&from, row)) continue;
    if (row->by_address && has_size && strcmp(value_of(&from, size), "1") != 0)
      has_place = value_of(&from, address_variable) && value_of(&from, port_variable);
    if (has_rank && has_size && has_place) {
      status = read_row(&from, row, size, out);
      goto cleanup;
    }
    if (!has_rank && !(has_size && row->telling)) continue;
    if (!part) part = row;
    const char *const names[] = {row->rank, size, address_variable, port_variable};
    for (size_t k = 0; k < (row->by_address ? 4 : 2); ++k)
      note(&from, names[k], &found, &missing);
  }
  if (part)
    status = zb_status_hint(ZB_ERROR(INVALID, "the variables of a start by %s are not complete: found %s, but not %s",
                                     part->name, found.failed ? "" : found.data, missing.failed ? "" : missing.data),
                            "what was found may come from %s; set the others too or unset it, or say --launch threads "
                            "to run all ranks in one process",
                            part->from);
  else
    warn_of_tasks(&from, out);
cleanup:
  zb_text_deinit(&found);
  zb_text_deinit(&missing);
  return status;
}
