/* The modules of the ranks, worked on side by side: zb_for_each_rank of passes/function.h.
 *
 * The ranks of an outlined program are isolated modules, so that passes which go rank by rank may do so on several
 * threads. Uniquing of types and attributes is the one thing they share; MLIR makes it safe while the context is
 * multi-threaded, and slower, so it is only then.
 *
 * Tested through zb-memory, zb-insert-comm, zb-allocate and zb-verify-plan with 8 ranks (test/e2e/bitwise.py). */

#include "passes/function.h"
#include "zb/kernel.h"

#include <unistd.h>

enum { PARALLEL_RANKS_MIN = 8, THREADS_MAX = 8 };

typedef struct all_ranks {
  zb_rank_run run;
  void *context;
  MlirOperation *ranks;
  zb_status *statuses;
} all_ranks;

int zb_rank_count(MlirModule module) {
  int count = 0;
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module))
    count += zb_op_is(op, "builtin.module");
  return count;
}

static void run_tile(void *context, int64_t tile, void *scratch) {
  all_ranks *all = context;
  (void)scratch;
  all->statuses[tile] = all->run(all->context, all->ranks[tile], (int)tile);
}

static void run_parallel(all_ranks *all, int count, MlirContext context, zb_threads *threads) {
  bool single = mlirContextGetNumThreads(context) <= 1;
  if (single) mlirContextEnableMultithreading(context, true);
  zb_parallel_for(threads, count, run_tile, all);
  if (single) mlirContextEnableMultithreading(context, false);
}

static zb_threads *create_threads(int ranks) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (ranks < PARALLEL_RANKS_MIN || online < 2) return NULL;
  return zb_threads_create(online < THREADS_MAX ? (int)online
                                                : THREADS_MAX); /* NULL for want of memory: one thread does it */
}

zb_status zb_for_each_rank(MlirModule module, zb_rank_run run, void *context) {
  int count = zb_rank_count(module), at = 0;
  all_ranks all = {.run = run, .context = context};
  zb_status status = NULL;
  zb_threads *threads = NULL;
  all.ranks = zb_alloc(((size_t)count + 1) * sizeof *all.ranks);
  all.statuses = zb_alloc(((size_t)count + 1) * sizeof *all.statuses);
  if (!all.ranks || !all.statuses) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module)) {
    if (zb_op_is(op, "builtin.module")) all.ranks[at++] = op;
  }
  threads = create_threads(count);
  if (threads) run_parallel(&all, count, mlirModuleGetContext(module), threads);
  for (int i = 0; i < count && !threads; ++i) {
    run_tile(&all, i, NULL);
    if (all.statuses[i]) break;
  }
  status = zb_status_first(all.statuses, count);
cleanup:
  if (threads) zb_threads_destroy(threads);
  zb_free(all.ranks);
  zb_free(all.statuses);
  return status;
}
