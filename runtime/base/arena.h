/* Arenas: memory of one lifetime.
 *
 * The arrays that a piece of work needs are taken from its arena and released with it, all at once. That memory ran out
 * is remembered, so that it is asked for once, behind the last array. Not thread-safe. {0} is an empty arena.
 */
#pragma once

#include "runtime/base/map.h"
#include "zb/status.h"

typedef struct zb_arena {
  struct zb_arena_block *blocks;
  struct zb_arena_map *maps;
  bool failed; /* memory ran out: what was taken then is NULL */
} zb_arena;

/* count x bytes, zeroed and 16-byte aligned; NULL when out of memory. */
void *zb_arena_take(zb_arena *arena, size_t count, size_t bytes) ZB_MUST_USE;
/* Sets a pointer to an array of `count`. */
#define ZB_TAKE(arena, pointer, count) ((pointer) = zb_arena_take((arena), (size_t)(count), sizeof *(pointer)))
/* The same as an expression, with room for one more. */
#define ZB_NEW(arena, type, count) ((type *)zb_arena_take(arena, (size_t)(count) + 1, sizeof(type)))
char *zb_arena_strdup(zb_arena *arena, const char *text) ZB_MUST_USE;
/* Maps that go with the arena; text keys or pointer keys. NULL when out of memory. */
zb_map *zb_arena_map(zb_arena *arena) ZB_MUST_USE;
zb_map *zb_arena_map_pointer(zb_arena *arena) ZB_MUST_USE;
/* zb_map_set; the arena remembers that memory ran out. map: NULL does nothing. */
void zb_arena_map_set(zb_arena *arena, zb_map *map, const void *key, int64_t value);

/* A list that grows in an arena: ZB_PUSH(arena, &list, value) is false when out of memory. */
#define ZB_LIST(type)                                                                                                  \
  struct {                                                                                                             \
    type *items;                                                                                                       \
    size_t count, capacity;                                                                                            \
  }
bool zb_arena_grow(zb_arena *arena, void **items, size_t *capacity, size_t needed, size_t element_bytes) ZB_MUST_USE;
#define ZB_PUSH(arena, list, ...)                                                                                      \
  (zb_arena_grow(arena, (void **)&(list)->items, &(list)->capacity, (list)->count + 1, sizeof *(list)->items)          \
       ? ((list)->items[(list)->count++] = (__VA_ARGS__), true)                                                        \
       : false)

/* MEMORY if something could not be taken. */
zb_status zb_arena_status(const zb_arena *arena) ZB_MUST_USE;
/* Releases all that was taken; the arena is empty then. */
void zb_arena_deinit(zb_arena *arena);
