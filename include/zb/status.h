/* zb_status: what goes wrong with the world (files, memory, peers, devices), and how a whole call ended.
 *
 * NULL is success. Anything else is an owned record: a code from zb/status.def, a message, an optional hint, and notes
 * that callers add on the way up. A wrong *program* (bad IR, bad graph) is reported as a diagnostic at its location
 * first; the status that then comes back says only that it was (code INVALID).
 */
#ifndef ZB_STATUS_H
#define ZB_STATUS_H

#include "zb/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zb_status_record *zb_status;

typedef enum zb_code {
#define ZB_CODE(ID, exit_code, help) ZB_##ID,
#include "zb/status.def"
#undef ZB_CODE
  ZB_CODE_COUNT
} zb_code;

/* Makes a record. Never fails: out of memory gives a static record. Use ZB_ERROR below. */
ZB_API zb_status zb_status_make(zb_code code, const char *file, int line, const char *format, ...)
    ZB_PRINTF(4, 5) ZB_MUST_USE;
/* Adds a note ("loading stage 3"), printed after the message, last added last; takes and returns ownership. */
ZB_API zb_status zb_status_note(zb_status status, const char *format, ...) ZB_PRINTF(2, 3) ZB_MUST_USE;
/* Sets the hint ("pass --memory-limit 2G or more"); takes and returns ownership. */
ZB_API zb_status zb_status_hint(zb_status status, const char *format, ...) ZB_PRINTF(2, 3) ZB_MUST_USE;
ZB_API zb_code zb_status_code(zb_status status);          /* ZB_OK_CODE for NULL */
ZB_API const char *zb_status_message(zb_status status);   /* first message, borrowed */
ZB_API const char *zb_status_hint_text(zb_status status); /* NULL if none, borrowed */
/* "error: MESSAGE\n  note: ...\n  hint: ...\n", owned by the record. */
ZB_API const char *zb_status_text(zb_status status);
/* The process exit status of the code: see status.def. */
ZB_API int zb_status_exit(zb_status status);
ZB_API const char *zb_code_name(zb_code code);
/* Marks a failure that the user was told already, by diagnostics or by another process of the run; takes and returns
 * ownership. */
ZB_API zb_status zb_status_set_told(zb_status status) ZB_MUST_USE;
ZB_API bool zb_status_told(zb_status status);
ZB_API void zb_status_free(zb_status status);
/* Of what several workers found, the first in order, whichever finished first; frees the others and takes ownership of
 * all. */
ZB_API zb_status zb_status_first(zb_status *statuses, int count) ZB_MUST_USE;

#define ZB_ERROR(code, ...) zb_status_make(ZB_##code, __FILE__, __LINE__, __VA_ARGS__)
#define ZB_OUT_OF_MEMORY() zb_status_make(ZB_MEMORY, __FILE__, __LINE__, "out of memory")

/* Returns early on failure. Only in functions that own nothing at this point. */
#define ZB_TRY(expression)                                                                                             \
  do {                                                                                                                 \
    zb_status zb_try_status = (expression);                                                                            \
    if (zb_try_status) return zb_try_status;                                                                           \
  } while (0)

/* Assigns to the local `status` and jumps to the label `cleanup` on failure. */
#define ZB_TRY_GOTO(expression)                                                                                        \
  do {                                                                                                                 \
    status = (expression);                                                                                             \
    if (status) goto cleanup;                                                                                          \
  } while (0)

/* For command lines: a name from a file as a terminal may be given it, control characters other than tabs and line ends
 * as \xNN. Release with zb_free; NULL when out of memory. Texts of statuses and diagnostics are already so. */
ZB_API char *zb_shown(const char *text) ZB_MUST_USE;

/* For command lines. A program, what it does ("trains with a plan"), and its options with blanks between: "-o --ranks".
 * All lent. */
typedef struct zb_program {
  const char *name, *does, *options;
} zb_program;
/* USAGE: programs[own] has no option `argument` ("--schedul=x"). The hint: what the word means here, by a table of what
 * people type who come from other trainers; else which of the `count` programs has the option; else the option that is
 * near; else where the list is. */
ZB_API zb_status zb_unknown_option(const zb_program *programs, int count, int own, const char *argument) ZB_MUST_USE;
/* What a name means that people who come from elsewhere give where one of `what` ("metric", "placement", "cost") is
 * asked for, by the same table. Lent; NULL if it has no word for it. */
ZB_API const char *zb_name_meaning(const char *what, const char *typed);

/* For command lines: whether a file could be written at `path`, to be asked before hours of work. `what` is how
 * messages call it
 * ("--timeline"), `endings` are those that its name may have (".svg .json"; NULL: any). USAGE for another ending, IO
 * where it cannot be written. What is there stays as it is. */
ZB_API zb_status zb_output_check(const char *what, const char *path, const char *endings) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
