/* Arenas: memory of one lifetime.
 *
 * The arrays that a piece of work needs are taken from its arena and released with it, all at once. That memory ran out
 * is remembered, so that it is asked for once, behind the last array. Not thread-safe. {0} is an empty arena.
 */
#ifndef ZB_BASE_ARENA_H
#define ZB_BASE_ARENA_H

#include "zb/status.h"

typedef struct zb_arena {
  struct zb_arena_block *blocks;
  bool failed; /* memory ran out: what was taken then is NULL */
} zb_arena;

/* count x bytes, zeroed and 16-byte aligned; NULL when out of memory. */
void *zb_arena_take(zb_arena *arena, size_t count, size_t bytes) ZB_MUST_USE;
/* Sets a pointer to an array of so many. */
#define ZB_TAKE(arena, pointer, count) ((pointer) = zb_arena_take((arena), (size_t)(count), sizeof *(pointer)))
/* MEMORY if something could not be taken. */
zb_status zb_arena_status(const zb_arena *arena) ZB_MUST_USE;
/* Releases all that was taken; the arena is empty then. */
void zb_arena_deinit(zb_arena *arena);

#endif
