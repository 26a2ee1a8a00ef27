/* A pool of threads that takes tiles: zb_parallel_for of include/zb/kernel.h.
 *
 * One word, `state`, says all: bit 32 and up count the calls (odd: a call is open), the low 32 bits count the workers
 * inside it. A worker enters an open call by adding 1 and then takes tiles from `next_tile`; the caller takes tiles
 * too, closes the call when there are none left, and waits until no worker is inside. A worker that wakes late finds
 * the call closed and costs nothing. Idle workers spin for a few microseconds, since kernels follow each other closely,
 * and then sleep.
 *
 * Tests: test/runtime/base/threads_test.c
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "runtime/base/assert.h"
#include "zb/kernel.h"

#define ONE_CALL (UINT64_C(1) << 32)
#define INSIDE_MASK (ONE_CALL - 1)

enum { SPIN_COUNT = 2000 }; /* a few microseconds of pause instructions */

typedef struct worker {
  zb_threads *pool;
  pthread_t thread;
  void *scratch;
} worker;

struct zb_threads {
  int count;       /* caller included */
  int started;     /* workers that run */
  worker *workers; /* [count]; entry 0 is the caller's scratch */
  atomic_uint_fast64_t state;
  atomic_bool stop;
  atomic_int sleepers;
  atomic_bool caller_sleeps;
  atomic_int_fast64_t next_tile;
  int64_t tile_count;
  zb_tile_run run;
  void *context;
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
};

/* Scratch is private to a thread, so a tile must not start a parallel loop of its own. */
static _Thread_local bool inside_tile;

static void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static bool is_open(uint64_t state) { return (state & ONE_CALL) != 0; }

static void take_tiles(zb_threads *pool, void *scratch) {
  inside_tile = true;
  for (;;) {
    int64_t tile = atomic_fetch_add_explicit(&pool->next_tile, 1, memory_order_relaxed);
    if (tile >= pool->tile_count) break;
    pool->run(pool->context, tile, scratch);
  }
  inside_tile = false;
}

/* Waits for an open call; false when the pool ends. */
static bool wait_for_work(zb_threads *pool, uint64_t last_call) {
  for (int i = 0; i < SPIN_COUNT; ++i) {
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_acquire);
    if (is_open(state) && state / ONE_CALL != last_call) return true;
    pause_a_little();
  }
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->sleepers, 1);
  for (;;) {
    uint64_t state = atomic_load(&pool->state);
    if (atomic_load(&pool->stop) || (is_open(state) && state / ONE_CALL != last_call)) break;
    pthread_cond_wait(&pool->work, &pool->mutex);
  }
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->mutex);
  return !atomic_load(&pool->stop);
}

static void leave_call(zb_threads *pool) {
  uint64_t after = atomic_fetch_sub(&pool->state, 1) - 1;
  if (is_open(after) || (after & INSIDE_MASK) != 0 || !atomic_load(&pool->caller_sleeps)) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *argument) {
  worker *self = argument;
  zb_threads *pool = self->pool;
  uint64_t last_call = 0;
  while (wait_for_work(pool, last_call)) {
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_acquire);
    while (is_open(state) && !atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
    }
    if (!is_open(state)) continue;
    last_call = state / ONE_CALL;
    take_tiles(pool, self->scratch);
    leave_call(pool);
  }
  return NULL;
}

static void wait_until_empty(zb_threads *pool) {
  for (int i = 0; i < SPIN_COUNT; ++i) {
    if ((atomic_load_explicit(&pool->state, memory_order_acquire) & INSIDE_MASK) == 0) return;
    pause_a_little();
  }
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeps, true);
  while ((atomic_load(&pool->state) & INSIDE_MASK) != 0)
    pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeps, false);
  pthread_mutex_unlock(&pool->mutex);
}

/* ---- One thread, no pool ---- */

static pthread_once_t inline_once = PTHREAD_ONCE_INIT;
static pthread_key_t inline_key;
static bool inline_key_made;
static _Thread_local void *inline_scratch;
/* For a thread whose scratch could not be allocated: slow, one at a time, but right. */
static pthread_mutex_t spare_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(ZB_ALIGNMENT) unsigned char spare_scratch[ZB_SCRATCH_BYTES];

static void make_inline_key(void) { inline_key_made = pthread_key_create(&inline_key, zb_free) == 0; }

/* Scratch of the calling thread, allocated once and freed when the thread ends; NULL when out of memory. */
static void *get_inline_scratch(void) {
  if (inline_scratch) return inline_scratch;
  pthread_once(&inline_once, make_inline_key);
  if (!inline_key_made) return NULL;
  void *scratch = zb_alloc_aligned(ZB_SCRATCH_BYTES, ZB_ALIGNMENT);
  if (!scratch) return NULL;
  if (pthread_setspecific(inline_key, scratch) != 0) {
    zb_free(scratch);
    return NULL;
  }
  inline_scratch = scratch;
  return scratch;
}

static void run_inline(int64_t tile_count, zb_tile_run run, void *context, void *scratch) {
  inside_tile = true;
  for (int64_t tile = 0; tile < tile_count; ++tile)
    run(context, tile, scratch);
  inside_tile = false;
}

static void run_without_pool(int64_t tile_count, zb_tile_run run, void *context) {
  void *scratch = get_inline_scratch();
  if (scratch) {
    run_inline(tile_count, run, context, scratch);
    return;
  }
  pthread_mutex_lock(&spare_mutex);
  run_inline(tile_count, run, context, spare_scratch);
  pthread_mutex_unlock(&spare_mutex);
}

/* ---- Public ---- */

void zb_parallel_for(zb_threads *threads, int64_t tile_count, zb_tile_run run, void *context) {
  ZB_ASSERT(!inside_tile); /* nested loops would share their scratch */
  if (tile_count <= 0) return;
  if (!threads) {
    run_without_pool(tile_count, run, context);
    return;
  }
  if (tile_count == 1 || threads->started == 0) {
    run_inline(tile_count, run, context, threads->workers[0].scratch);
    return;
  }
  threads->tile_count = tile_count;
  threads->run = run;
  threads->context = context;
  atomic_store_explicit(&threads->next_tile, 0, memory_order_relaxed);
  atomic_fetch_add(&threads->state, ONE_CALL); /* opens */
  if (atomic_load(&threads->sleepers) > 0) {
    pthread_mutex_lock(&threads->mutex);
    pthread_cond_broadcast(&threads->work);
    pthread_mutex_unlock(&threads->mutex);
  }
  take_tiles(threads, threads->workers[0].scratch);
  atomic_fetch_add(&threads->state, ONE_CALL); /* closes */
  wait_until_empty(threads);
}

zb_threads *zb_threads_create(int thread_count) {
  if (thread_count < 1) thread_count = 1;
  zb_threads *pool = zb_alloc(sizeof *pool);
  if (!pool) return NULL;
  pool->count = thread_count;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->done, NULL);
  pool->workers = zb_alloc((size_t)thread_count * sizeof *pool->workers);
  if (!pool->workers) goto failed;
  for (int i = 0; i < thread_count; ++i) {
    pool->workers[i].pool = pool;
    pool->workers[i].scratch = zb_alloc_aligned(ZB_SCRATCH_BYTES, ZB_ALIGNMENT);
    if (!pool->workers[i].scratch) goto failed;
  }
  for (int i = 1; i < thread_count; ++i) {
    if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) goto failed;
    ++pool->started;
  }
  return pool;

failed:
  zb_threads_destroy(pool);
  return NULL;
}

void zb_threads_destroy(zb_threads *threads) {
  if (!threads) return;
  pthread_mutex_lock(&threads->mutex);
  atomic_store(&threads->stop, true);
  pthread_cond_broadcast(&threads->work);
  pthread_mutex_unlock(&threads->mutex);
  for (int i = 1; i <= threads->started; ++i)
    pthread_join(threads->workers[i].thread, NULL);
  for (int i = 0; threads->workers && i < threads->count; ++i)
    zb_free(threads->workers[i].scratch);
  zb_free(threads->workers);
  pthread_cond_destroy(&threads->work);
  pthread_cond_destroy(&threads->done);
  pthread_mutex_destroy(&threads->mutex);
  zb_free(threads);
}

int zb_threads_count(const zb_threads *threads) { return threads ? threads->count : 1; }
