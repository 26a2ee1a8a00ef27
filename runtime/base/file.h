/* Atomic writing of a file in pieces: for files that are too large to be put together in memory first. Not thread-safe.
 */
#ifndef ZB_BASE_FILE_H
#define ZB_BASE_FILE_H

#include "zb/status.h"

/* A file under a temporary name beside its final one. */
typedef struct zb_file_writer {
  int descriptor;
  char *path, *temporary;
} zb_file_writer;

/* Creates PATH.tmp.PID. After success exactly one of commit and abandon must follow. */
zb_status zb_file_writer_open(zb_file_writer *writer, const char *path) ZB_MUST_USE;
zb_status zb_file_writer_add(zb_file_writer *writer, const void *bytes, size_t count) ZB_MUST_USE;
/* Syncs the file, renames it, syncs the folder. On failure the old file stays and the temporary one is removed. */
zb_status zb_file_writer_commit(zb_file_writer *writer) ZB_MUST_USE;
/* Removes the temporary file. */
void zb_file_writer_abandon(zb_file_writer *writer);

#endif
