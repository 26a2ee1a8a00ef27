/* safetensors: 8 bytes of header length, a JSON header, then the tensors. Read by mmap, written atomically.
 * Format: https://github.com/huggingface/safetensors (README, "Format"). */
#pragma once

#include "zb/status.h"

typedef struct zb_stored_tensor {
  const char *name;
  zb_shape shape;
  const void *data; /* contiguous, little-endian; may be unaligned */
  uint64_t bytes;
} zb_stored_tensor;

/* A set of named tensors: from a file (mapped) or put together in memory. Used by importers, weights, constants,
 * checkpoints. */
typedef struct zb_store zb_store;
zb_store *zb_store_create(void) ZB_MUST_USE;
void zb_store_destroy(zb_store *store);
/* INVALID with what and where for a damaged file: every offset, shape and length is checked. */
zb_status zb_store_open(const char *path, zb_store **out) ZB_MUST_USE;
/* Whether what was read of it so far is what its files had: zb_mapping_check. */
zb_status zb_store_check(const zb_store *store) ZB_MUST_USE;
int zb_store_count(const zb_store *store);
const zb_stored_tensor *zb_store_at(const zb_store *store, int index);
const zb_stored_tensor *zb_store_find(const zb_store *store, const char *name); /* O(1); NULL if absent */
/* Adds a tensor; data is copied if `copy`, else borrowed and must outlive the store. USAGE for a name that is there. */
zb_status zb_store_add(zb_store *store, const char *name, const zb_shape *shape, const void *data,
                       bool copy) ZB_MUST_USE;
/* Metadata of the header ("__metadata__"): text by key. */
const char *zb_store_metadata(const zb_store *store, const char *key);
zb_status zb_store_set_metadata(zb_store *store, const char *key, const char *value) ZB_MUST_USE;
/* Writes all tensors, in order, atomically (temporary file, sync, reading it back, rename). A full disk gives IO and
 * leaves the old file. */
zb_status zb_store_write(const zb_store *store, const char *path) ZB_MUST_USE;

/* A set that lies in several files next to an index, as Hugging Face's model.safetensors.index.json: "weight_map" says
 * which file has a tensor. Opening maps all of them; of metadata the first file in the order of names that has a key
 * counts, and each of `same_keys` (ended by NULL) must have the same value in all files. INVALID for an index that
 * names what is not there. */
zb_status zb_store_open_index(const char *path, const char *const *same_keys, zb_store **out) ZB_MUST_USE;
/* Writes the index of these files, all in the folder of `path`, atomically. USAGE if two have a tensor of one name. */
zb_status zb_store_write_index(const char *path, const char *const *files, int count) ZB_MUST_USE;
