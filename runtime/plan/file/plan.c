/* Plans in memory: creation, their memory, small questions: runtime/plan/file/plan.h.
 *
 * All memory of a plan comes from one list of blocks and is freed at once. Blocks grow, so that a plan of any size
 * takes few.
 *
 * Tests: test/runtime/plan/file/plan_test.c
 */
#include "runtime/plan/file/plan.h"

#include <string.h>

enum { FIRST_BLOCK_BYTES = 16 << 10, LARGEST_BLOCK_BYTES = 4 << 20, BLOCK_ALIGNMENT = 16 };

typedef struct plan_block {
  struct plan_block *next;
  size_t used, bytes; /* of what follows the struct */
} plan_block;

struct zb_plan_arena {
  plan_block *blocks;
  size_t next_bytes;
};

_Static_assert(sizeof(plan_block) % 8 == 0, "memory after a block's head is aligned by rounding up to 16");

int zb_plan_find_job(const zb_plan_rank *rank, zb_job_kind kind) {
  for (int i = rank->load_count; i < zb_plan_step_end(rank); ++i)
    if (rank->jobs[i].kind == kind) return i;
  return -1;
}

int zb_plan_job_before(const zb_plan_rank *rank, int job, int count) {
  while (count > 0 && --job >= rank->load_count)
    count -= zb_job_is_compute(rank->jobs[job].kind);
  return job >= rank->load_count ? job : -1;
}

uint64_t zb_plan_snapshot_place(const zb_plan_rank *rank, const zb_plan_job *snapshot, uint32_t number) {
  uint64_t at = rank->regions[ZB_REGION_SNAPSHOT].offset;
  for (uint32_t i = 0; i < number; ++i)
    at += zb_align(rank->pool_ranges[snapshot->parts.begin + i].bytes);
  return at;
}

int64_t zb_plan_snapshot_ps(const zb_plan *plan, int rank) {
  const zb_plan_rank *program = &plan->ranks[rank];
  const int snapshot = zb_plan_find_job(program, ZB_JOB_SNAPSHOT);
  const zb_plan_slice parts = snapshot < 0 ? (zb_plan_slice){0, 0} : program->jobs[snapshot].parts;
  double bytes = 0;
  for (uint32_t i = 0; i < parts.count; ++i)
    bytes += (double)program->pool_ranges[parts.begin + i].bytes;
  const double ps = bytes * plan->copy_ps_per_byte;
  return ps < 9e18 ? (int64_t)ps : INT64_MAX;
}

zb_status zb_plan_mark_crossing(zb_plan *plan) {
  enum { SENT = 1, RECEIVED = 2 };
  unsigned char *before = zb_alloc((size_t)plan->message_count + 1);
  if (!before) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    const int verdict = zb_plan_find_job(&plan->ranks[r], ZB_JOB_VERDICT);
    for (int i = 0; i < verdict; ++i)
      if (plan->ranks[r].jobs[i].message >= 0)
        before[plan->ranks[r].jobs[i].message] |= plan->ranks[r].jobs[i].kind == ZB_JOB_SEND ? SENT : RECEIVED;
  }
  for (int m = 0; m < plan->message_count; ++m)
    plan->messages[m].crosses = before[m] == SENT;
  zb_free(before);
  return NULL;
}

zb_plan *zb_plan_create(void) {
  zb_plan *plan = zb_alloc(sizeof *plan);
  if (!plan) return NULL;
  plan->arena = zb_alloc(sizeof *plan->arena);
  if (!plan->arena) {
    zb_free(plan);
    return NULL;
  }
  plan->arena->next_bytes = FIRST_BLOCK_BYTES;
  plan->producer = plan->model = plan->schedule = plan->placement = plan->optimizer = plan->precision = "";
  return plan;
}

zb_plan *zb_plan_create_like(const zb_plan *plan) {
  zb_plan *like = zb_plan_create();
  if (!like) return NULL;
  struct zb_plan_arena *memory = like->arena;
  *like = *plan;
  like->arena = memory;
  return like;
}

void zb_plan_destroy(zb_plan *plan) {
  if (!plan) return;
  plan_block *block = plan->arena->blocks;
  while (block) {
    plan_block *next = block->next;
    zb_free(block);
    block = next;
  }
  zb_free(plan->arena);
  zb_free(plan);
}

void zb_plan_take_memory(zb_plan *plan, zb_plan *other) {
  if (!other) return;
  plan_block **end = &plan->arena->blocks;
  while (*end)
    end = &(*end)->next;
  *end = other->arena->blocks;
  other->arena->blocks = NULL;
  zb_plan_destroy(other);
}

void zb_plan_replace(zb_plan **plan, zb_plan *made) {
  if (!made) return;
  zb_plan_take_memory(made, *plan);
  *plan = made;
}

/* Bytes from the start of the block's memory to the next aligned address. */
static size_t aligned_use(const plan_block *block) {
  uintptr_t start = (uintptr_t)(block + 1);
  uintptr_t at = (start + block->used + (BLOCK_ALIGNMENT - 1)) & ~(uintptr_t)(BLOCK_ALIGNMENT - 1);
  return (size_t)(at - start);
}

bool zb_plan_is_long(const zb_plan *plan) {
  enum { LONG_JOBS = 20000 };
  int64_t jobs = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    jobs += plan->ranks[r].job_count;
  return jobs >= LONG_JOBS;
}

void *zb_plan_alloc(zb_plan *plan, size_t bytes) {
  struct zb_plan_arena *arena = plan->arena;
  plan_block *block = arena->blocks;
  if (!block || aligned_use(block) > block->bytes || block->bytes - aligned_use(block) < bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t block_bytes = bytes + BLOCK_ALIGNMENT > arena->next_bytes ? bytes + BLOCK_ALIGNMENT : arena->next_bytes;
    plan_block *fresh = zb_alloc(sizeof *fresh + block_bytes);
    if (!fresh) return NULL;
    fresh->bytes = block_bytes;
    fresh->next = block;
    arena->blocks = block = fresh;
    if (arena->next_bytes < LARGEST_BLOCK_BYTES) arena->next_bytes *= 2;
  }
  size_t at = aligned_use(block);
  block->used = at + bytes;
  return (char *)(block + 1) + at;
}

const char *zb_plan_strdup(zb_plan *plan, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = zb_plan_alloc(plan, bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}
