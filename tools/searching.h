/* What zbc says of a long search, and how Ctrl-C ends it. */
#pragma once

#include "zb/compiler.h"

/* Has the compile tell of its search: on a terminal there is a line from its first second on. From here on the first
 * Ctrl-C of a search ends it with the best plan so far; a second one, or one at another time, ends zbc at once. */
void searching_begin(zb_compile_params *params);
/* The line is gone. */
void searching_end(void);
/* Ends the process as Ctrl-C does. */
void searching_die(void);
