/* Hash maps. Not thread-safe; they cannot be walked, so that no output depends on the order of a hash. */
#pragma once

#include "zb/base.h"

/* Pointer or text keys to int64_t. Keys of text maps are copied. Open addressing. */
typedef struct zb_map zb_map;
zb_map *zb_map_create(void) ZB_MUST_USE;         /* text keys */
zb_map *zb_map_create_pointer(void) ZB_MUST_USE; /* pointer keys */
void zb_map_destroy(zb_map *map);
/* Makes room for `count` keys in all, so that setting them neither grows nor fails. */
bool zb_map_reserve(zb_map *map, size_t count) ZB_MUST_USE;
bool zb_map_set(zb_map *map, const void *key, int64_t value) ZB_MUST_USE; /* false: out of memory */
bool zb_map_get(const zb_map *map, const void *key, int64_t *out);        /* false: not there; out may be NULL */
int64_t zb_map_get_or(const zb_map *map, const void *key, int64_t fallback);
int64_t zb_map_count(const zb_map *map);
