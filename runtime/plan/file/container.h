/* The container of a plan file, shared by writer and reader. All numbers are little-endian.
 *
 *   0   8 bytes  magic "ZBPLAN\0\1"
 *   8   u32      version
 *   12  u32      section count n: the header, then one a rank in order
 *   16  n times  u64 offset from the start of the file, u64 bytes, u32 CRC32C of the section, u32 zero
 *       u32      CRC32C of everything before it
 *       u32      zero
 *       ...      the sections, in order, without holes
 */
#pragma once

#include <stdint.h>

#define ZB_PLAN_MAGIC "ZBPLAN\0\1"
enum {
  ZB_PLAN_MAGIC_BYTES = 8,
  ZB_PLAN_VERSION = 17,
  ZB_PLAN_START_BYTES = 16,
  ZB_PLAN_ENTRY_BYTES = 24,
  ZB_PLAN_TRAILER_BYTES = 8,
  ZB_PLAN_RANKS_MAX = 65536,
  ZB_PLAN_REPLICAS_MAX = 65536,
  ZB_PLAN_SHARDS_MAX = 4096,
};
/* Largest file that is read: far above any real plan, below what could exhaust a machine. */
#define ZB_PLAN_BYTES_MAX (UINT64_C(1) << 30)

static inline void zb_put_u32(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    to[i] = (unsigned char)(value >> (8 * i) & 0xff);
}
static inline void zb_put_u64(unsigned char *to, uint64_t value) {
  for (int i = 0; i < 8; ++i)
    to[i] = (unsigned char)(value >> (8 * i) & 0xff);
}
static inline uint32_t zb_get_u32(const unsigned char *from) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | from[i];
  return value;
}
static inline uint64_t zb_get_u64(const unsigned char *from) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | from[i];
  return value;
}
