/* Out of memory where a library cannot say so: MLIR uses what malloc gives without a look, and ends the process when
 * operator new fails. */
#pragma once

/* From here on a crash of the process while the system gives no more memory ends with "NAME: error: out of memory",
 * exit status 4, instead of the signal; any other crash goes on as before. name must stay alive. Call once, before
 * other threads start. */
void zb_end_without_memory(const char *name);
