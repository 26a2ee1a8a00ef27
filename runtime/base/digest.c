/* XXH64: see digest.h. Numbers are little-endian, as on every machine that zb runs on. Tests:
 * test/runtime/base/digest_test.c */
#include "runtime/base/digest.h"

#include <pthread.h>
#include <string.h>

static const uint64_t prime_1 = UINT64_C(0x9E3779B185EBCA87), prime_2 = UINT64_C(0xC2B2AE3D27D4EB4F),
                      prime_3 = UINT64_C(0x165667B19E3779F9), prime_4 = UINT64_C(0x85EBCA77C2B2AE63),
                      prime_5 = UINT64_C(0x27D4EB2F165667C5);

static inline uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static inline uint64_t round_of(uint64_t sum, uint64_t lane) { return rotate(sum + lane * prime_2, 31) * prime_1; }

static inline uint64_t lane_at(const unsigned char *at) {
  uint64_t lane;
  memcpy(&lane, at, sizeof lane);
  return lane;
}

/* Whole stripes. */
static void add_stripes(uint64_t sums[4], const unsigned char *at, size_t stripes) {
  uint64_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  for (; stripes > 0; --stripes, at += ZB_DIGEST_STRIPE) {
    a = round_of(a, lane_at(at));
    b = round_of(b, lane_at(at + 8));
    c = round_of(c, lane_at(at + 16));
    d = round_of(d, lane_at(at + 24));
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  sums[3] = d;
}

void zb_digest_begin(zb_digest *digest) { *digest = (zb_digest){.sums = {prime_1 + prime_2, prime_2, 0, 0 - prime_1}}; }

void zb_digest_add(zb_digest *digest, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  size_t waiting = (size_t)(digest->byte_count % ZB_DIGEST_STRIPE);
  digest->byte_count += count;
  if (waiting > 0) {
    size_t taken = count < ZB_DIGEST_STRIPE - waiting ? count : ZB_DIGEST_STRIPE - waiting;
    if (taken > 0) memcpy(digest->rest + waiting, at, taken);
    if (waiting + taken < ZB_DIGEST_STRIPE) return;
    add_stripes(digest->sums, digest->rest, 1);
    at += taken;
    count -= taken;
  }
  add_stripes(digest->sums, at, count / ZB_DIGEST_STRIPE);
  if (count % ZB_DIGEST_STRIPE > 0)
    memcpy(digest->rest, at + count / ZB_DIGEST_STRIPE * ZB_DIGEST_STRIPE, count % ZB_DIGEST_STRIPE);
}

/* The last bytes that fill no stripe. */
static uint64_t add_rest(uint64_t sum, const unsigned char *at, size_t count) {
  for (; count >= 8; count -= 8, at += 8)
    sum = rotate(sum ^ round_of(0, lane_at(at)), 27) * prime_1 + prime_4;
  if (count >= 4) {
    uint32_t lane;
    memcpy(&lane, at, sizeof lane);
    sum = rotate(sum ^ lane * prime_1, 23) * prime_2 + prime_3;
    count -= 4, at += 4;
  }
  for (; count > 0; --count, ++at)
    sum = rotate(sum ^ *at * prime_5, 11) * prime_1;
  return sum;
}

uint64_t zb_digest_end(const zb_digest *digest) {
  const uint64_t *sums = digest->sums;
  uint64_t sum = prime_5;
  if (digest->byte_count >= ZB_DIGEST_STRIPE) {
    sum = rotate(sums[0], 1) + rotate(sums[1], 7) + rotate(sums[2], 12) + rotate(sums[3], 18);
    for (int i = 0; i < 4; ++i)
      sum = (sum ^ round_of(0, sums[i])) * prime_1 + prime_4;
  }
  sum = add_rest(sum + digest->byte_count, digest->rest, (size_t)(digest->byte_count % ZB_DIGEST_STRIPE));
  sum = (sum ^ sum >> 33) * prime_2;
  sum = (sum ^ sum >> 29) * prime_3;
  sum ^= sum >> 32;
  return sum ? sum : 1;
}

uint64_t zb_digest_of(const void *bytes, size_t count) {
  zb_digest digest;
  zb_digest_begin(&digest);
  zb_digest_add(&digest, bytes, count);
  return zb_digest_end(&digest);
}

/* Tables for eight bytes at a time (slicing-by-8, M. Kounavis and F. Berry, 2005), filled once. */
static uint32_t crc_tables[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void fill_crc_tables(void) {
  const uint32_t polynomial = 0x82f63b78u; /* Castagnoli, bits reversed */
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 1) ? (crc >> 1) ^ polynomial : crc >> 1;
    crc_tables[0][i] = crc;
  }
  for (int slice = 1; slice < 8; ++slice)
    for (uint32_t i = 0; i < 256; ++i)
      crc_tables[slice][i] = (crc_tables[slice - 1][i] >> 8) ^ crc_tables[0][crc_tables[slice - 1][i] & 0xff];
}

uint32_t zb_crc32c(uint32_t seed, const void *bytes, size_t count) {
  pthread_once(&crc_once, fill_crc_tables);
  const unsigned char *at = bytes;
  uint32_t crc = ~seed;
  for (; count >= 8; count -= 8, at += 8) {
    crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    crc = crc_tables[7][crc & 0xff] ^ crc_tables[6][crc >> 8 & 0xff] ^ crc_tables[5][crc >> 16 & 0xff] ^
          crc_tables[4][crc >> 24] ^ crc_tables[3][at[4]] ^ crc_tables[2][at[5]] ^ crc_tables[1][at[6]] ^
          crc_tables[0][at[7]];
  }
  for (; count > 0; --count, ++at)
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

uint64_t zb_fnv1a(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  return hash;
}

enum { WHOLE_BYTES = 16 << 20, BLOCK_BYTES = 64 << 10, BLOCKS = 256 };

uint64_t zb_sample_bytes(const void *bytes, uint64_t count) {
  const unsigned char *at = bytes;
  uint64_t digest = zb_fnv1a(ZB_FNV_START, &count, sizeof count);
  if (count <= WHOLE_BYTES) return zb_fnv1a(digest, at, (size_t)count);
  for (uint64_t i = 0; i < BLOCKS; ++i) /* no overflow: count is below 2^63, so count / 255 * 255 is too */
    digest = zb_fnv1a(digest, at + (i + 1 < BLOCKS ? count / (BLOCKS - 1) * i : count - BLOCK_BYTES), BLOCK_BYTES);
  return digest;
}
