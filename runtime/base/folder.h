/* Folders whose files belong together, replaced as a whole: checkpoints, plans.
 *
 * New files go to FOLDER.tmp. Then FOLDER.tmp and the older FOLDER are exchanged in one step (renameat2,
 * RENAME_EXCHANGE), and FOLDER.tmp, which is now the older one, is removed. Wherever the writer is stopped, FOLDER is
 * whole, for readers too. Where the file system cannot do that (NFS), FOLDER moves to FOLDER.old and FOLDER.tmp to
 * FOLDER; between these two moves the whole folder is FOLDER.old (zb_folder_present). The next writer removes what a
 * stopped one has left.
 *
 * FOLDER.lock is locked (flock) by the process that writes. The lock ends with the process; the file is removed when
 * the lock is released or, after a kill, when the next writer releases its own. On NFS the lock holds across machines
 * where the server knows locks; where it does not, nothing is locked.
 *
 * Some folders cannot be moved: a file system is mounted there, the folder above cannot be written to, or it is the
 * working folder. With keeps_others such a folder stays, and its files are replaced: new ones lie in FOLDER/new.tmp
 * until all are written; then first_file is removed, and they are moved one by one, first_file last. A kill between two
 * of these moves leaves a folder without first_file, never a mixed one.
 *
 * Nothing here allocates but statuses: cleaning up works without memory. Not thread-safe. */
#pragma once

#include <limits.h>

#include "zb/status.h"

/* A kind of such folders. */
typedef struct zb_folder_kind {
  const char *purpose,
      *who; /* for messages: "cannot PURPOSE 'FOLDER': WHO is writing there": "save to", "another run" */
  bool (*is_ours)(const char *name); /* files that a writer makes, with what a stopped one leaves (NAME.tmp.PID): only
                                        they are ever removed */
  bool keeps_others;                 /* other files in the folder move to the new one; else such a folder is refused */
  const char *first_file;            /* with keeps_others: the file without which a reader sees that there is nothing */
} zb_folder_kind;

enum { ZB_PATH_BYTES = PATH_MAX + 8 }; /* with an ending */

typedef struct zb_folder {
  const zb_folder_kind *kind;
  bool in_place;
  char path[PATH_MAX], parent[PATH_MAX], temporary[ZB_PATH_BYTES], old[ZB_PATH_BYTES], lock[ZB_PATH_BYTES];
} zb_folder;

/* Names only, links resolved; nothing is made. */
zb_status zb_folder_find(const char *folder, const zb_folder_kind *kind, zb_folder *out) ZB_MUST_USE;
/* The same once missing parents are made, and what is there could be replaced: USAGE or IO if not. */
zb_status zb_folder_prepare(const char *folder, const zb_folder_kind *kind, zb_folder *out) ZB_MUST_USE;
/* Whether what is in the way is only what a stopped writer has left. */
zb_status zb_folder_check_leftovers(const zb_folder *folder) ZB_MUST_USE;
/* An empty folder->temporary; what was left there is removed. */
zb_status zb_folder_begin(const zb_folder *folder) ZB_MUST_USE;
/* Removes folder->temporary with our files. */
zb_status zb_folder_abandon(const zb_folder *folder) ZB_MUST_USE;
/* Syncs folder->temporary and puts it in the place of folder->path. *out_done: it is there, though what comes after has
 * failed. by_exchange: try it in one step first; false for tests. */
zb_status zb_folder_commit(const zb_folder *folder, bool by_exchange, bool *out_done) ZB_MUST_USE;

bool zb_is_folder(const char *path);
/* FOLDER/NAME, to be released with zb_free; NULL when out of memory. */
char *zb_folder_file(const char *folder, const char *name) ZB_MUST_USE;
bool zb_folder_has(const char *folder, const char *name);
/* FOLDER, or FOLDER.old where a writer was stopped between its two moves. */
const char *zb_folder_present(const zb_folder *folder);

typedef struct zb_folder_lock {
  bool held;
  int descriptor;
  char path[ZB_PATH_BYTES];
} zb_folder_lock;
/* IO, naming the process and its machine, if another one holds it. folder->parent must be there. */
zb_status zb_folder_lock_take(const zb_folder *folder, zb_folder_lock *out) ZB_MUST_USE;
void zb_folder_lock_release(zb_folder_lock *lock);
