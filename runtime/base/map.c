/* Hash maps from text or pointers to int64_t: see map.h. Open addressing, linear probing, at most 3/4 full.
 *
 * There is no way to walk a map: what must be walked is kept in an array, whose order is known.
 *
 * Tests: test/runtime/base/text_test.c
 */
#include "runtime/base/map.h"

#include "runtime/base/digest.h"

#include <string.h>

typedef struct map_entry {
  const void *key; /* NULL: empty */
  int64_t value;
} map_entry;

struct zb_map {
  bool text_keys;
  bool has_null; /* the NULL pointer is a key of pointer maps */
  int64_t null_value;
  size_t count;    /* without NULL */
  size_t capacity; /* a power of two, or 0 */
  map_entry *entries;
  uint64_t *hashes; /* of texts, beside the entries; of pointers, which are as fast to compare, none are kept */
};

static zb_map *create(bool text_keys) {
  zb_map *map = zb_alloc(sizeof *map);
  if (map) map->text_keys = text_keys;
  return map;
}

zb_map *zb_map_create(void) { return create(true); }

zb_map *zb_map_create_pointer(void) { return create(false); }

void zb_map_destroy(zb_map *map) {
  if (!map) return;
  for (size_t i = 0; map->text_keys && i < map->capacity; ++i)
    zb_free((void *)(uintptr_t)map->entries[i].key);
  zb_free(map->entries);
  zb_free(map->hashes);
  zb_free(map);
}

static uint64_t hash_of(const zb_map *map, const void *key) {
  if (map->text_keys) return zb_fnv1a(ZB_FNV_START, key, strlen(key));
  uint64_t bits = (uint64_t)(uintptr_t)key;
  bits = (bits ^ (bits >> 32)) * UINT64_C(0x9e3779b97f4a7c15); /* golden ratio: spreads the zero low bits */
  return bits ^ (bits >> 29);
}

/* The entry of the key, or the empty one where it belongs. capacity > 0. */
static size_t find(const zb_map *map, const void *key, uint64_t hash) {
  const size_t mask = map->capacity - 1;
  size_t i = (size_t)hash & mask;
  if (map->text_keys)
    while (map->entries[i].key && (map->hashes[i] != hash || strcmp(map->entries[i].key, key) != 0))
      i = (i + 1) & mask;
  else
    while (map->entries[i].key && map->entries[i].key != key)
      i = (i + 1) & mask;
  return i;
}

/* What the map has goes to tables of more entries, which are empty. */
static void move_entries(const zb_map *map, zb_map *bigger) {
  for (size_t i = 0; i < map->capacity; ++i) {
    const map_entry *entry = &map->entries[i];
    if (!entry->key) continue;
    const uint64_t hash = map->text_keys ? map->hashes[i] : hash_of(map, entry->key);
    const size_t to = find(bigger, entry->key, hash);
    bigger->entries[to] = *entry;
    if (map->text_keys) bigger->hashes[to] = hash;
  }
}

static bool grow_to(zb_map *map, size_t capacity) {
  zb_map bigger = *map;
  bigger.capacity = capacity;
  if (bigger.capacity > SIZE_MAX / sizeof *bigger.entries) return false;
  bigger.entries = zb_alloc(bigger.capacity * sizeof *bigger.entries);
  bigger.hashes = map->text_keys && bigger.entries ? zb_alloc(bigger.capacity * sizeof *bigger.hashes) : NULL;
  if (!bigger.entries || (map->text_keys && !bigger.hashes)) {
    zb_free(bigger.entries);
    return false;
  }
  move_entries(map, &bigger);
  zb_free(map->entries);
  zb_free(map->hashes);
  *map = bigger;
  return true;
}

static bool grow(zb_map *map) { return grow_to(map, map->capacity ? map->capacity * 2 : 16); }

bool zb_map_reserve(zb_map *map, size_t count) {
  size_t capacity = map->capacity ? map->capacity : 16;
  while (capacity / 4 * 3 < count) {
    if (capacity > SIZE_MAX / 2) return false;
    capacity *= 2;
  }
  return capacity == map->capacity || grow_to(map, capacity);
}

bool zb_map_set(zb_map *map, const void *key, int64_t value) {
  if (!key) {
    map->has_null = true;
    map->null_value = value;
    return true;
  }
  if (map->count + 1 > map->capacity / 4 * 3 && !grow(map)) return false;
  const uint64_t hash = hash_of(map, key);
  const size_t at = find(map, key, hash);
  if (!map->entries[at].key) {
    const void *kept = map->text_keys ? zb_strdup(key) : key;
    if (!kept) return false;
    map->entries[at].key = kept;
    if (map->text_keys) map->hashes[at] = hash;
    ++map->count;
  }
  map->entries[at].value = value;
  return true;
}

bool zb_map_get(const zb_map *map, const void *key, int64_t *out) {
  if (!key) {
    if (map->has_null && out) *out = map->null_value;
    return map->has_null;
  }
  if (map->capacity == 0) return false;
  const map_entry *entry = &map->entries[find(map, key, hash_of(map, key))];
  if (!entry->key) return false;
  if (out) *out = entry->value;
  return true;
}

int64_t zb_map_get_or(const zb_map *map, const void *key, int64_t fallback) {
  int64_t value = fallback;
  return zb_map_get(map, key, &value) ? value : fallback;
}

int64_t zb_map_count(const zb_map *map) { return (int64_t)map->count + (map->has_null ? 1 : 0); }
