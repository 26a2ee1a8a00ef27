/* Opening of files; reading of whole ones; atomic writing, of a whole file or in pieces: for files that are too large
 * to be put together in memory first. Not thread-safe. */
#pragma once

#include "zb/status.h"

/* Opens a file that is there for reading. Only a regular file: a pipe would block, and cannot be mapped or read twice;
 * IO with a hint for it, for a folder and for a device. `what` is how messages call it ("the plan", "the data file"),
 * or NULL. *out_bytes (may be NULL) gets its size; close. */
zb_status zb_file_open(const char *what, const char *path, int *out, uint64_t *out_bytes) ZB_MUST_USE;

/* A file under a temporary name next to its final one; a device or a pipe (/dev/stdout, /dev/null) itself, with
 * `temporary` NULL. */
typedef struct zb_file_writer {
  int descriptor;
  char *path, *temporary;
} zb_file_writer;

/* Creates PATH.tmp.PID; of what is no regular file nothing is created or replaced: it is written to. IO for a pipe that
 * nobody reads, so that nothing blocks. After success exactly one of commit and abandon must follow. */
zb_status zb_file_writer_open(zb_file_writer *writer, const char *path) ZB_MUST_USE;
/* The same for a file that is written as it goes, under its own name: what is there stays up to `keep` bytes. Commit
 * syncs and closes it, abandon closes it. */
zb_status zb_file_writer_append(zb_file_writer *writer, const char *path, uint64_t keep) ZB_MUST_USE;
zb_status zb_file_writer_add(zb_file_writer *writer, const void *bytes, size_t count) ZB_MUST_USE;
/* Whether it writes to a regular file, of which what was written can be replaced. */
bool zb_file_writer_is_file(const zb_file_writer *writer);
/* Puts bytes in the place of the last `old` ones of a regular file that is written under its own name; count >= old, so
 * that the file never becomes shorter. */
zb_status zb_file_writer_replace_end(zb_file_writer *writer, size_t old, const void *bytes, size_t count) ZB_MUST_USE;
/* Syncs what was added, so that a look at the temporary file sees it whole. */
zb_status zb_file_writer_sync(zb_file_writer *writer) ZB_MUST_USE;
/* Syncs the file, renames it, syncs the folder. On failure the old file stays and the temporary one is removed. */
zb_status zb_file_writer_commit(zb_file_writer *writer) ZB_MUST_USE;
/* Removes the temporary file. */
void zb_file_writer_abandon(zb_file_writer *writer);

/* Whether there is something of that name. */
bool zb_file_is_there(const char *path);

/* Whole file into memory (zb_free); limit_bytes 0: no limit. Text gets a NUL after it that is not counted. A pipe
 * without a name, as a shell makes it for
 * <(command) and /dev/stdin, is read to its end; IO for a named one, a folder or a device. */
zb_status zb_file_read(const char *path, uint64_t limit_bytes, char **out, size_t *out_bytes) ZB_MUST_USE;
/* Writes to PATH.tmp.PID, syncs, renames, syncs the folder: the old file stays on any failure. */
zb_status zb_file_write_atomic(const char *path, const void *bytes, size_t count) ZB_MUST_USE;
zb_status zb_make_folder(const char *path) ZB_MUST_USE; /* with parents; fine if it exists */
/* Whether zb_make_folder(path) would work, and files could be written there; makes nothing. `what` as in
 * zb_output_check. */
zb_status zb_output_folder_check(const char *what, const char *path) ZB_MUST_USE;
/* The name of a file without its folders. Lent. */
const char *zb_file_name(const char *path);
