/* TensorBoard's event files: see zb/log.h. A record is the length of an event (8 bytes, little-endian), the masked
 * CRC32C of these 8 bytes, the event (events.proto), and the masked CRC32C of the event. Files of a folder are read in
 * the order of their names, which begin with the second in which they were made; the first event says the version, and
 * a start at step n makes readers forget what earlier files have from n on.
 * Tests: test/runtime/exec/log_test.c, test/e2e/logs.py. */
#include "runtime/exec/log.h"

#include "runtime/base/digest.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "events.pb-c.h"

enum { LENGTH_BYTES = 8, CRC_BYTES = 4, HOST_BYTES = 256 };
static const char prefix[] = "events.out.tfevents.";

static uint32_t masked_crc(const void *bytes, size_t count) {
  const uint32_t crc = zb_crc32c(0, bytes, count);
  return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

static void put_little(unsigned char *to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    to[i] = (unsigned char)(value >> 8 * i);
}

static zb_status write_event(zb_log *log, const Zb__Events__Event *event) {
  const size_t length = zb__events__event__get_packed_size(event),
               whole = LENGTH_BYTES + CRC_BYTES + length + CRC_BYTES;
  if (whole > log->capacity) {
    unsigned char *bytes = zb_realloc(log->bytes, whole);
    if (!bytes) return ZB_OUT_OF_MEMORY();
    log->bytes = bytes;
    log->capacity = whole;
  }
  unsigned char *data = log->bytes + LENGTH_BYTES + CRC_BYTES;
  put_little(log->bytes, length, LENGTH_BYTES);
  put_little(log->bytes + LENGTH_BYTES, masked_crc(log->bytes, LENGTH_BYTES), CRC_BYTES);
  zb__events__event__pack(event, data);
  put_little(data + length, masked_crc(data, length), CRC_BYTES);
  return zb_file_writer_add(&log->file, log->bytes, whole);
}

/* The second of the newest file of the folder; 0: there is none. */
static int64_t newest_second(const char *folder) {
  int64_t newest = 0;
  DIR *entries = opendir(folder);
  for (const struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries)) {
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0) continue;
    const int64_t second = strtoll(entry->d_name + sizeof prefix - 1, NULL, 10);
    if (second > newest) newest = second;
  }
  if (entries) closedir(entries);
  return newest;
}

/* A file that is read after all that are there, whatever the clock says. */
static zb_status open_file(zb_log *log) {
  char host[HOST_BYTES] = "localhost";
  if (gethostname(host, sizeof host) != 0 || !host[0]) snprintf(host, sizeof host, "localhost");
  host[HOST_BYTES - 1] = '\0';
  for (char *c = host; *c; ++c)
    if (*c == '/') *c = '_';
  const int64_t newest = newest_second(log->path), now = (int64_t)time(NULL);
  zb_text path = {0};
  zb_text_add(&path, "%s/%s%010" PRId64 ".%s.%ld", log->path, prefix, now > newest ? now : newest + 1, host,
              (long)getpid());
  zb_status status = path.failed ? ZB_OUT_OF_MEMORY() : zb_file_writer_append(&log->file, path.data, 0);
  log->is_open = !status;
  zb_text_deinit(&path);
  return status;
}

static zb_status begin_events(zb_log *log, const zb_log_params *params) {
  ZB_TRY(zb_make_folder(log->path));
  ZB_TRY(open_file(log));
  static char version[] = "brain.Event:2";
  Zb__Events__SessionLog start = ZB__EVENTS__SESSION_LOG__INIT;
  start.status = ZB__EVENTS__SESSION_LOG__STATUS__START;
  Zb__Events__Event event = ZB__EVENTS__EVENT__INIT;
  event.wall_time = (double)time(NULL);
  event.what_case = ZB__EVENTS__EVENT__WHAT_FILE_VERSION;
  event.file_version = version;
  ZB_TRY(write_event(log, &event));
  event.step = params->first_step;
  event.what_case = ZB__EVENTS__EVENT__WHAT_SESSION_LOG;
  event.session_log = &start;
  return write_event(log, &event);
}

static zb_status add_event(zb_log *log, int64_t step, double wall_time, const double *values) {
  typedef Zb__Events__Summary__Value row;
  zb_arena arena = {0};
  row *rows, **list;
  ZB_TAKE(&arena, rows, log->count + 1);
  ZB_TAKE(&arena, list, log->count + 1);
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(&arena));
  Zb__Events__Summary summary = ZB__EVENTS__SUMMARY__INIT;
  for (int i = 0; i < log->count; ++i) {
    if (!isfinite(values[i]) || (log->has_early && isfinite(log->early[i]))) continue;
    row *value = list[summary.n_value++] = &rows[i];
    zb__events__summary__value__init(value);
    value->tag = (char *)(uintptr_t)log->names[i];
    value->value_case = ZB__EVENTS__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    value->simple_value = (float)values[i];
  }
  if (log->has_early && summary.n_value == 0) goto cleanup;
  summary.value = list;
  Zb__Events__Event event = ZB__EVENTS__EVENT__INIT;
  event.wall_time = wall_time;
  event.step = step;
  event.what_case = ZB__EVENTS__EVENT__WHAT_SUMMARY;
  event.summary = &summary;
  status = write_event(log, &event);
cleanup:
  zb_arena_deinit(&arena);
  return status;
}

const zb_log_form zb_log_events = {NULL, begin_events, add_event};
