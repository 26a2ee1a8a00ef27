/* The programs and their options, for what is said of an option that the one that was called does not have; and what
 * all programs do alike. */
#pragma once

#include <stdio.h>

#include "zb/status.h"

typedef enum tool { TOOL_ZBC, TOOL_ZB_RUN, TOOL_ZB_SCHED, TOOL_ZB_OPT, TOOL_COUNT } tool;

extern const zb_program tool_programs[TOOL_COUNT];

/* USAGE: the program has no such option; the hint as zb_unknown_option. */
zb_status tool_unknown_option(tool program, const char *argument) ZB_MUST_USE;
/* IO where standard output cannot be written: a full disk must not look like work that went well. */
zb_status tool_flush_output(void) ZB_MUST_USE;
/* Prints a failure, unless it was told already, and releases it; the exit status. NULL: 0. */
int tool_end(tool program, zb_status status);
/* A text in JSON's quotes; to standard output. */
void tool_write_json_text(FILE *out, const char *text);
void tool_print_json_text(const char *text);
