/* The forms of logs, for log.c. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "zb/log.h"

typedef struct zb_log_form {
  const char *ending; /* of the file; NULL: not by an ending */
  /* Opens log->file and writes what comes before the first row. */
  zb_status (*begin)(zb_log *log, const zb_log_params *params);
  /* Appends a row to log->row, which is empty. */
  zb_status (*add)(zb_log *log, int64_t step, double wall_time, const double *values);
} zb_log_form;

struct zb_log {
  const zb_log_form *form;
  char *path;
  const char **names;
  int count;
  int64_t cut;
  zb_file_writer file;
  bool is_open;
  zb_text row;
  bool has_early; /* the last row is one of zb_log_add_early: its bytes, and its values */
  size_t early_bytes;
  double *early;        /* [count] */
  unsigned char *bytes; /* of an event */
  size_t capacity;
  zb_arena memory;
};

extern const zb_log_form zb_log_events;
