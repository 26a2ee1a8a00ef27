/* The programs and their options, for what is said of an option that the one that was called does not have. */
#ifndef ZB_TOOLS_PROGRAMS_H
#define ZB_TOOLS_PROGRAMS_H

#include "zb/status.h"

typedef enum tool { TOOL_ZBC, TOOL_ZB_RUN, TOOL_ZB_SCHED, TOOL_ZB_OPT, TOOL_COUNT } tool;

/* USAGE: the program has no such option; the hint as zb_unknown_option. */
zb_status tool_unknown_option(tool program, const char *argument) ZB_MUST_USE;

#endif
