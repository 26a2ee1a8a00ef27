/* The processes of a run: what they do together besides the messages of a plan. A transport between processes brings
 * one.
 *
 * Ranks are laid over processes in contiguous blocks (zb_group_ranks). Every function that takes a group of more than
 * one process, but for abort, is called by all of them in the same order, by one thread each.
 */
#pragma once

#include "runtime/plan/file/plan.h"

typedef struct zb_group zb_group;

typedef struct zb_group_params {
  const char *launcher;   /* what started the processes, as its variables say: "mpirun"; NULL: nothing said so */
  int process, processes; /* by those variables; 0, 0: they say nothing */
  int64_t timeout_ms;
  void (*give_up)(zb_status status); /* as in zb_session_params */
  /* Where process 0 waits for the others, for a wire that has no launcher of its own. */
  const char *address; /* NULL: not said */
  int port, ports;     /* the first free one of `ports`, from `port` on */
  uint64_t run;        /* a digest of what tells this run from others that may be near */
} zb_group_params;

typedef struct zb_group_def {
  /* Finds the other processes. */
  zb_status (*open)(const zb_group_params *params, zb_group **out);
  /* together: all processes call it, so it waits for them; else it ends at once, after an abort has been sent. */
  void (*close)(zb_group *group, bool together);
  int (*process)(const zb_group *group); /* from 0 */
  int (*processes)(const zb_group *group);
  /* Merges a record of the same size of every process, in their order, into that of process 0, and gives all of them
   * the result. `merge` adds one to total. TIMEOUT and PEER name the process. No allocation when no record was larger
   * before. */
  zb_status (*merge)(zb_group *group, void *record, size_t bytes,
                     void (*merge)(void *total, const void *one, size_t bytes));
  /* Process 0 gets the bytes of every process, one after another in their order (zb_free). Elsewhere *out is NULL. */
  zb_status (*gather)(zb_group *group, const void *mine, size_t bytes, void **out, size_t *out_bytes);
  /* Asks the other processes whether they are there, for an eighth of the time-out or a second, and names those that do
   * not answer in text: "" if all do. False if the run was aborted meanwhile. Thread-safe. */
  bool (*find_silent)(zb_group *group, char *text, size_t size);
  /* Tells the other processes that `rank` aborts: what they wait for fails with PEER and this reason. Thread-safe. */
  void (*abort)(zb_group *group, int rank, const char *reason);
} zb_group_def;

/* The ranks of a process: *first and how many. With at least as many ranks as processes everyone has one. */
static inline int zb_group_ranks(int rank_count, int processes, int process, int *first) {
  *first = (int)((int64_t)rank_count * process / processes);
  return (int)((int64_t)rank_count * (process + 1) / processes) - *first;
}
/* The ranks of this process; without a group, all. */
static inline int zb_group_own_ranks(const zb_group_def *def, const zb_group *group, int rank_count, int *first) {
  return zb_group_ranks(rank_count, group ? def->processes(group) : 1, group ? def->process(group) : 0, first);
}
static inline int zb_group_process_of(int rank_count, int processes, int rank) {
  return (int)((((int64_t)rank + 1) * processes - 1) / rank_count);
}
