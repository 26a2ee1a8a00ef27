/* Values of parameters from elsewhere: a checkpoint of Hugging Face's or one of ours, found under the names of a model.
 * For zbc --weights and zb-run --weights. Not thread-safe, but for zb_weights_find and zb_widen. */
#pragma once

#include "runtime/formats/safetensors.h"

/* Opens FILE.safetensors, an index FILE.safetensors.index.json with the files that it names, or a folder with
 * model.safetensors, model.safetensors.index.json or weights.safetensors (in this order). USAGE for pickles of PyTorch,
 * with what converts them. */
zb_status zb_weights_open(const char *path, zb_store **out) ZB_MUST_USE;

/* A parameter that is looked for. */
typedef struct zb_wanted {
  const char *name; /* each once */
  const zb_shape *shape;
} zb_wanted;

typedef struct zb_weights zb_weights;

/* Finds what is wanted in a store: by the same names, or else by the one prefix that, put before or taken from all
 * names, finds the most; never by a guess for one tensor. A wanted f32 takes f32, bf16 and f16; all else its own dtype
 * only. Texts of `wanted` and the store are borrowed until zb_weights_destroy. INVALID: two prefixes find equally
 * many; what is missing (unless `partial`), by name; shapes or dtypes that differ. `path`: for messages. */
zb_status zb_weights_match(const zb_store *store, const char *path, const zb_wanted *wanted, int count, bool partial,
                           zb_weights **out) ZB_MUST_USE;
void zb_weights_destroy(zb_weights *weights);
/* The value of a wanted parameter; NULL if it is missing. */
const zb_stored_tensor *zb_weights_find(const zb_weights *weights, const char *name);
/* What people should know of the match, a line each, without its end: the prefix, what is missing, what is surplus.
 * NULL past the last. */
const char *zb_weights_note(const zb_weights *weights, int index);

/* Values of f32, bf16 or f16 as f32, all exactly. `from` may be unaligned. */
void zb_widen(zb_dtype dtype, const void *from, size_t count, float *to);
bool zb_can_widen(zb_dtype dtype);
