/* The options of all programs, from the rows that each of them reads its command line by; and what they do alike.
 * Tests: test/runtime/base/words_test.c, test/tools/words.test. */
#include "tools/command/programs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROW(option, ...) option " "
static const char zbc[] =
#include "tools/command/zbc.def"
    ;
#define ROW(option, ...) option " "
static const char zb_run[] =
#include "tools/command/zb-run.def"
    ;
#define ROW(option, ...) option " "
static const char zb_sched[] =
#include "tools/command/zb-sched.def"
    ;
#define ROW(option, ...) option " "
static const char zb_opt[] =
#include "tools/command/zb-opt.def"
    ;

const zb_program tool_programs[TOOL_COUNT] = {
    [TOOL_ZBC] = {"zbc", "makes the plan", zbc},
    [TOOL_ZB_RUN] = {"zb-run", "trains with a plan", zb_run},
    [TOOL_ZB_SCHED] = {"zb-sched", "makes schedules without a model", zb_sched},
    [TOOL_ZB_OPT] = {"zb-opt", "runs passes on MLIR text", zb_opt},
};

zb_status tool_unknown_option(tool program, const char *argument) {
  return zb_unknown_option(tool_programs, TOOL_COUNT, program, argument);
}

zb_status tool_flush_output(void) {
  static int first; /* of the flush that failed first: those after it fail for no reason of their own */
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return NULL;
  if (!first) first = errno ? errno : EIO; /* 0: a line was lost before, on a terminal */
  return ZB_ERROR(IO, "cannot write to standard output: %s", strerror(first));
}

int tool_end(tool program, zb_status status) {
  if (status && !zb_status_told(status)) fprintf(stderr, "%s: %s", tool_programs[program].name, zb_status_text(status));
  const int code = zb_status_exit(status);
  zb_status_free(status);
  return code;
}

void tool_write_json_text(FILE *out, const char *text) {
  putc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
    if (*c == '"' || *c == '\\')
      fprintf(out, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(out, "\\u%04x", *c);
    else
      putc(*c, out);
  }
  putc('"', out);
}

void tool_print_json_text(const char *text) { tool_write_json_text(stdout, text); }
