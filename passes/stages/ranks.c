/* The modules of the ranks, worked on side by side: zb_for_each_rank of passes/function.h.
 *
 * The ranks of an outlined program are isolated modules, so that passes which go rank by rank may do so on several
 * threads. Uniquing of types and attributes is the one thing they share; MLIR makes it safe while the context is
 * multi-threaded, and slower, so it is only then.
 *
 * Tested through zb-memory, zb-insert-comm, zb-allocate and zb-verify-plan with 8 ranks (test/e2e/bitwise.py). */

#include "ir/scope.h"
#include "passes/function.h"
#include "zb/kernel.h"

#include <unistd.h>

enum { PARALLEL_RANKS_MIN = 8, THREADS_MAX = 8 };

typedef struct all_ranks {
  zb_rank_run run;
  void *context;
  zb_rank_work *works;
  zb_status *statuses;
  zb_scope scope; /* of the thread that asked */
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
  const zb_scope outer = zb_scope_set(all->scope);
  all->statuses[tile] = all->run(all->context, &all->works[tile]);
  zb_scope_set(outer);
  zb_arena_deinit(&all->works[tile].arena);
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
  /* NULL when out of memory: one thread does it. */
  return zb_threads_create(online < THREADS_MAX ? (int)online : THREADS_MAX);
}

zb_status zb_for_each_rank(MlirModule module, zb_rank_run run, void *context, int64_t *changes) {
  int count = zb_rank_count(module), at = 0;
  zb_arena arena = {0};
  all_ranks all = {.run = run,
                   .context = context,
                   .works = ZB_NEW(&arena, zb_rank_work, count),
                   .statuses = ZB_NEW(&arena, zb_status, count),
                   .scope = zb_scope_here()};
  zb_threads *threads = NULL;
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(&arena));
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module)) {
    if (!zb_op_is(op, "builtin.module")) continue;
    all.works[at] = (zb_rank_work){.module = op, .index = at, .rank = (int)zb_get_i64(op, ZB_ATTR_RANK, -1)};
    ++at;
  }
  threads = create_threads(count);
  if (threads) run_parallel(&all, count, mlirModuleGetContext(module), threads);
  for (int i = 0; i < count && !threads; ++i) {
    run_tile(&all, i, NULL);
    if (all.statuses[i]) break;
  }
  for (int i = 0; i < count && changes; ++i)
    *changes += all.works[i].changes;
  status = zb_status_first(all.statuses, count);
cleanup:
  if (threads) zb_threads_destroy(threads);
  zb_arena_deinit(&arena);
  return status;
}
