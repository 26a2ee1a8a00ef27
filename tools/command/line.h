/* A line on standard error that is written again and again, where that is a terminal. Tests: test/e2e/logs.py,
 * test/e2e/stopped_search.py. */
#pragma once

#include <stdbool.h>

/* What takes the line away; signal handlers write it too. */
#define TOOL_HIDE_LINE "\r\x1b[K"

/* Whether there is a terminal that can have it. */
bool tool_has_line(void);
/* In the place of the one before; cut to the width of the terminal. */
void tool_draw_line(const char *text);
void tool_hide_line(void);
