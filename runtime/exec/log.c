/* Logs of numbers: see zb/log.h. A row is one write, so that a reader sees whole rows; a disk that is full leaves a
 * piece of a row, which is cut off when the log goes on. Tests: test/runtime/exec/log_test.c. */
#include "runtime/exec/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---- */

/* The fewest digits that read back as the same number. */
static void add_number(zb_text *out, double value) {
  enum { DIGITS = 17 };
  char text[40];
  for (int digits = 6; digits <= DIGITS; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  zb_text_add(out, "%s", text);
}

static zb_status write_row(zb_log *log) {
  if (log->row.failed) return ZB_OUT_OF_MEMORY();
  if (log->has_early) return zb_file_writer_replace_end(&log->file, log->early_bytes, log->row.data, log->row.length);
  return zb_file_writer_add(&log->file, log->row.data, log->row.length);
}

/* ---- Files that go on ---- */

/* The step of a line; -1: it has none. */
typedef int64_t (*step_of_line)(const char *line);

static int64_t number_at(const char *text) {
  char *end;
  if (*text < '0' || *text > '9') return -1;
  const long long step = strtoll(text, &end, 10);
  return *end == ',' || *end == '}' || *end == '\n' ? (int64_t)step : -1;
}

static int64_t csv_step(const char *line) { return number_at(line); }

static int64_t jsonl_step(const char *line) {
  static const char start[] = "{\"step\":";
  if (strncmp(line, start, sizeof start - 1) != 0) return -1;
  return number_at(line + sizeof start - 1 + strspn(line + sizeof start - 1, " "));
}

static zb_status no_log(const zb_log *log, int line) {
  return zb_status_hint(ZB_ERROR(INVALID, "'%s', line %d: not a row of a log", log->path, line),
                        "a log goes on after --resume: give another name, or remove the file");
}

/* How many bytes stay: the lines before the first row, which must be `head` where it is not NULL, and the rows of steps
 * before `first`. Counts the rows that do not. */
static zb_status find_end(zb_log *log, const char *text, const char *head, int64_t first, step_of_line step_of,
                          size_t *out) {
  const char *at = text;
  *out = 0;
  for (int line = 1; *at; ++line) {
    const char *end = strchr(at, '\n');
    if (line == 1 && head && (!end || strncmp(at, head, strlen(head)) != 0))
      return zb_status_hint(ZB_ERROR(USAGE, "the log '%s' has other columns than this run", log->path),
                            "give another name; a log that goes on has the columns of the run that began it");
    if (!end) return NULL; /* the piece of a row that a stop left */
    const bool is_head = line == 1 && (head || strncmp(at, "{\"config\":", 10) == 0);
    const int64_t step = is_head ? -1 : step_of(at);
    if (!is_head && step < 0) return no_log(log, line);
    if (step >= first)
      ++log->cut;
    else if (log->cut == 0)
      *out = (size_t)(end + 1 - text);
    at = end + 1;
  }
  return NULL;
}

/* Opens the file; *out_new: there is nothing in it. */
static zb_status open_file(zb_log *log, const zb_log_params *params, const char *head, step_of_line step_of,
                           bool *out_new) {
  char *text = NULL;
  size_t bytes = 0, keep = 0;
  zb_status status = NULL;
  if (params->first_step > 0 && zb_file_is_there(log->path)) {
    ZB_TRY_GOTO(zb_file_read(log->path, 0, &text, &bytes));
    ZB_TRY_GOTO(find_end(log, text, head, params->first_step, step_of, &keep));
  }
  ZB_TRY_GOTO(zb_file_writer_append(&log->file, log->path, keep));
  log->is_open = true;
  *out_new = keep == 0;
cleanup:
  zb_free(text);
  return status;
}

/* ---- CSV ---- */

static void add_csv_head(zb_log *log) {
  zb_text_add(&log->row, "step");
  for (int i = 0; i < log->count; ++i)
    zb_text_add(&log->row, ",%s", log->names[i]);
  zb_text_add(&log->row, "\n");
}

static zb_status begin_csv(zb_log *log, const zb_log_params *params) {
  bool is_new = false;
  add_csv_head(log);
  if (log->row.failed) return ZB_OUT_OF_MEMORY();
  ZB_TRY(open_file(log, params, log->row.data, csv_step, &is_new));
  return is_new ? write_row(log) : NULL;
}

static zb_status add_csv(zb_log *log, int64_t step, double wall_time ZB_UNUSED, const double *values) {
  zb_text_add(&log->row, "%" PRId64, step);
  for (int i = 0; i < log->count; ++i) {
    zb_text_add(&log->row, ",");
    if (isfinite(values[i])) add_number(&log->row, values[i]);
  }
  zb_text_add(&log->row, "\n");
  return write_row(log);
}

/* ---- JSON lines ---- */

static zb_status begin_jsonl(zb_log *log, const zb_log_params *params) {
  bool is_new = false;
  ZB_TRY(open_file(log, params, NULL, jsonl_step, &is_new));
  if (!is_new || !params->config) return NULL;
  zb_text_add(&log->row, "{\"config\": %s}\n", params->config);
  return write_row(log);
}

static zb_status add_jsonl(zb_log *log, int64_t step, double wall_time ZB_UNUSED, const double *values) {
  zb_text_add(&log->row, "{\"step\": %" PRId64, step);
  for (int i = 0; i < log->count; ++i) {
    if (!isfinite(values[i])) continue;
    zb_text_add(&log->row, ", \"%s\": ", log->names[i]);
    add_number(&log->row, values[i]);
  }
  zb_text_add(&log->row, "}\n");
  return write_row(log);
}

/* ---- All forms ---- */

static const zb_log_form csv = {".csv", begin_csv, add_csv}, jsonl = {".jsonl", begin_jsonl, add_jsonl};

zb_status zb_log_check(const char *what, const char *path, bool events) {
  if (events) return zb_output_folder_check(what, path);
  return zb_output_check(what, path, ".csv .jsonl");
}

static zb_status copy_names(zb_log *log, const zb_log_params *params) {
  ZB_TAKE(&log->memory, log->names, params->count + 1);
  ZB_TAKE(&log->memory, log->early, params->count + 1);
  log->path = zb_arena_strdup(&log->memory, params->path);
  for (int i = 0; log->names && i < params->count; ++i)
    log->names[i] = zb_arena_strdup(&log->memory, params->names[i]);
  log->count = params->count;
  return zb_arena_status(&log->memory);
}

static void destroy(zb_log *log) {
  if (log->is_open) zb_file_writer_abandon(&log->file);
  zb_text_deinit(&log->row);
  zb_free(log->bytes);
  zb_arena_deinit(&log->memory);
  zb_free(log);
}

/* Names stand in CSV and JSON as they are. */
static zb_status check_names(const zb_log_params *params) {
  for (int i = 0; i < params->count; ++i) {
    const char *name = params->names[i];
    bool good = *name != '\0';
    for (const char *c = name; *c; ++c)
      good = good && *c > ' ' && *c <= '~' && !strchr("\",\\", *c);
    if (!good)
      return ZB_ERROR(INVALID,
                      "the name of number %d of a log: expected ASCII without blanks, '\"', ',' and '\\', got '%s'", i,
                      name);
  }
  return NULL;
}

zb_status zb_log_open(const zb_log_params *params, zb_log **out) {
  *out = NULL;
  ZB_TRY(check_names(params));
  ZB_TRY(zb_log_check("the log", params->path, params->events));
  zb_log *log = zb_alloc(sizeof *log);
  if (!log) return ZB_OUT_OF_MEMORY();
  log->form = params->events ? &zb_log_events : zb_ends_with(params->path, csv.ending) ? &csv : &jsonl;
  zb_status status = copy_names(log, params);
  if (!status) status = log->form->begin(log, params);
  if (status)
    destroy(log);
  else
    *out = log;
  return status;
}

int64_t zb_log_cut(const zb_log *log) { return log->cut; }

zb_status zb_log_add(zb_log *log, int64_t step, double wall_time, const double *values) {
  log->row.length = 0;
  ZB_TRY(log->form->add(log, step, wall_time, values));
  log->has_early = false;
  return NULL;
}

zb_status zb_log_add_early(zb_log *log, int64_t step, double wall_time, const double *values) {
  if (!zb_file_writer_is_file(&log->file)) return NULL;
  ZB_TRY(zb_log_add(log, step, wall_time, values));
  for (int i = 0; i < log->count; ++i)
    log->early[i] = values[i];
  log->early_bytes = log->row.length;
  log->has_early = true;
  return NULL;
}

zb_status zb_log_close(zb_log *log) {
  if (!log) return NULL;
  log->is_open = false;
  zb_status status = zb_file_writer_commit(&log->file);
  destroy(log);
  return status;
}
