/* Files as memory. A file that becomes shorter, or that cannot be read, while it is mapped does not end the program
 * (SIGBUS): what is missing reads as zeros, and zb_mapping_check says so. So who reads from a mapping asks it
 * before what was read counts. */
#pragma once

#include <sys/stat.h>

#include "zb/status.h"

typedef struct zb_mapping {
  const void *bytes; /* NULL: there are none */
  uint64_t count;
  char *path;
  struct stat opened; /* as the file was */
  int place;          /* among all of the process, from 1; 0: nothing is mapped */
} zb_mapping;

/* Maps a file that is there for reading. `what` as in zb_file_open; IO with a hint. On failure *out is empty. */
zb_status zb_mapping_open(const char *what, const char *path, zb_mapping *out) ZB_MUST_USE;
/* IO, naming the file, if it was written to, cut off, or could not be read since it was opened. Thread-safe. */
zb_status zb_mapping_check(const zb_mapping *mapping) ZB_MUST_USE;
void zb_mapping_close(zb_mapping *mapping); /* an empty one, too */

/* For who opens and closes many: how many files were lost in this process so far, and the status of the last one if
 * there are more by now, else `status`. Takes and returns ownership. */
unsigned zb_mappings_lost(void);
zb_status zb_mappings_lost_since(unsigned before, zb_status status) ZB_MUST_USE;
