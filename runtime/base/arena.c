/* Arenas: arena.h. Tests: test/runtime/base/arena_test.c */
#include "runtime/base/arena.h"

#include <stddef.h>
#include <string.h>

typedef struct zb_arena_block {
  struct zb_arena_block *next;
  _Alignas(max_align_t) char data[];
} block;

typedef struct zb_arena_map {
  struct zb_arena_map *next;
  zb_map *map;
} owned_map;

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

char *zb_arena_strdup(zb_arena *arena, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *out = zb_arena_take(arena, bytes, 1);
  return out ? memcpy(out, text, bytes) : NULL;
}

static zb_map *own(zb_arena *arena, zb_map *map) {
  owned_map *owned = map ? zb_arena_take(arena, 1, sizeof *owned) : NULL;
  arena->failed |= !owned;
  if (!owned) {
    zb_map_destroy(map);
    return NULL;
  }
  *owned = (owned_map){.next = arena->maps, .map = map};
  arena->maps = owned;
  return map;
}

zb_map *zb_arena_map(zb_arena *arena) { return own(arena, zb_map_create()); }
zb_map *zb_arena_map_pointer(zb_arena *arena) { return own(arena, zb_map_create_pointer()); }

void zb_arena_map_set(zb_arena *arena, zb_map *map, const void *key, int64_t value) {
  if (map && !zb_map_set(map, key, value)) arena->failed = true;
}

bool zb_arena_grow(zb_arena *arena, void **items, size_t *capacity, size_t needed, size_t element_bytes) {
  if (needed <= *capacity) return true;
  size_t more = *capacity < 8 ? 8 : 2 * *capacity;
  if (more < needed) more = needed;
  void *grown = zb_arena_take(arena, more, element_bytes);
  if (!grown) return false;
  if (*capacity) memcpy(grown, *items, *capacity * element_bytes);
  *items = grown;
  *capacity = more;
  return true;
}

zb_status zb_arena_status(const zb_arena *arena) { return arena->failed ? ZB_OUT_OF_MEMORY() : NULL; }

void zb_arena_deinit(zb_arena *arena) {
  for (owned_map *m = arena->maps; m; m = m->next)
    zb_map_destroy(m->map);
  arena->maps = NULL;
  while (arena->blocks) {
    block *next = arena->blocks->next;
    zb_free(arena->blocks);
    arena->blocks = next;
  }
  arena->failed = false;
}
