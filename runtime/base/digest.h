/* Digest of the bytes of large tensors: XXH64 with seed 0, by its published description
 * (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). It finds accidents (a file that was replaced, bytes
 * that were lost), not forgery. */
#pragma once

#include "zb/base.h"

enum { ZB_DIGEST_STRIPE = 32 };

/* Bytes that come in pieces. */
typedef struct zb_digest {
  uint64_t sums[4];
  uint64_t byte_count;
  unsigned char rest[ZB_DIGEST_STRIPE]; /* the last byte_count % ZB_DIGEST_STRIPE bytes */
} zb_digest;

void zb_digest_begin(zb_digest *digest);
/* Fastest for pieces of a multiple of ZB_DIGEST_STRIPE bytes. */
void zb_digest_add(zb_digest *digest, const void *bytes, size_t count);
/* Never 0, which says "no digest" in plans: 0 becomes 1. */
uint64_t zb_digest_end(const zb_digest *digest);
/* Of one piece. */
uint64_t zb_digest_of(const void *bytes, size_t count);

/* CRC32C (Castagnoli) of bytes, continuing from seed (0 at the start). */
uint32_t zb_crc32c(uint32_t seed, const void *bytes, size_t count);
/* FNV-1a, 64 bits; start with ZB_FNV_START. */
#define ZB_FNV_START UINT64_C(1469598103934665603)
uint64_t zb_fnv1a(uint64_t hash, const void *bytes, size_t count);
/* A digest of bytes: of all of them up to 16 MiB; of more, 256 blocks of 64 KiB at even distances, the first and the
 * last bytes among them. So it takes no longer than a start can, and two large files that differ only between the
 * blocks are taken for the same. */
uint64_t zb_sample_bytes(const void *bytes, uint64_t count);
