/* Arenas: arena.h. Tests: test/runtime/base/arena_test.c */
#include "runtime/base/arena.h"

#include <stddef.h>

typedef struct zb_arena_block {
  struct zb_arena_block *next;
  _Alignas(max_align_t) char data[];
} block;

void *zb_arena_take(zb_arena *arena, size_t count, size_t bytes) {
  size_t all;
  const bool fits = !__builtin_mul_overflow(count, bytes, &all) && !__builtin_add_overflow(all, sizeof(block), &all);
  block *taken = fits ? zb_alloc(all) : NULL;
  if (!taken) {
    arena->failed = true;
    return NULL;
  }
  taken->next = arena->blocks;
  arena->blocks = taken;
  return taken->data;
}

zb_status zb_arena_status(const zb_arena *arena) { return arena->failed ? ZB_OUT_OF_MEMORY() : NULL; }

void zb_arena_deinit(zb_arena *arena) {
  while (arena->blocks) {
    block *next = arena->blocks->next;
    zb_free(arena->blocks);
    arena->blocks = next;
  }
  arena->failed = false;
}
