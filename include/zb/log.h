/* Logs: numbers of a run, a row a step, for programs that draw or upload them. Three forms:
 *
 *   FILE.csv     a line of names, then a line a step; an empty field is a number that there is not
 *   FILE.jsonl   an object a line, flat: {"step": 0, "loss": 2.5}, without what is no number; the first line is
 *                {"config": {...}} and describes the run
 *   a folder     TensorBoard's event files: events.out.tfevents.SECONDS.HOST.PROCESS, a new one each time
 *
 * Steps count from 0, as in all that programs read. A row is handed to the system before zb_log_add returns.
 *
 * Thread-safety: a log is used by one thread at a time.
 */
#ifndef ZB_LOG_H
#define ZB_LOG_H

#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zb_log zb_log;

typedef struct zb_log_params {
  const char *path; /* a file that ends in .csv or .jsonl, or the folder of events */
  bool events;      /* path is a folder, for TensorBoard */
  const char *const
      *names; /* [count] of the numbers of a row, without the step: ASCII without blanks, quotes, commas */
  int count;
  const char *config; /* .jsonl: a JSON object that describes the run, for the first line; NULL: none */
  /* 0: the log begins anew. Else it goes on: rows of steps before this one stay, as they are; rows from it on, which a
   * run made before it went back to a save, and a last row that is not whole are cut off. TensorBoard is told so by an
   * event, and leaves them out. */
  int64_t first_step;
} zb_log_params;

/* Whether there could be a log, to be asked before hours of work; `what` is how messages call it ("--log"). USAGE for
 * another ending than .csv and .jsonl, IO where it cannot be written. Makes nothing. */
ZB_API zb_status zb_log_check(const char *what, const char *path, bool events) ZB_MUST_USE;
/* Opens the log; texts are copied. On failure *out is NULL. USAGE if a file that goes on has other columns, INVALID if
 * it is no log; IO. Close with zb_log_close. */
ZB_API zb_status zb_log_open(const zb_log_params *params, zb_log **out) ZB_MUST_USE;
/* How many rows were cut off when it was opened. */
ZB_API int64_t zb_log_cut(const zb_log *log);
/* A row: values[count], NaN where there is none. wall_time: seconds since 1970, which TensorBoard keeps. IO names the
 * file and says why; nothing may be added after that. */
ZB_API zb_status zb_log_add(zb_log *log, int64_t step, double wall_time, const double *values) ZB_MUST_USE;
/* The same for a row of which numbers are not known yet: it is there whatever becomes of the run. The next zb_log_add
 * must be of the same step and of no fewer numbers, the others as they were: it completes the row. To what is no file
 * nothing is written before that. */
ZB_API zb_status zb_log_add_early(zb_log *log, int64_t step, double wall_time, const double *values) ZB_MUST_USE;
/* Syncs and closes. NULL does nothing. */
ZB_API zb_status zb_log_close(zb_log *log) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
