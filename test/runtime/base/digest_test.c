/* XXH64: the values that its reference program prints (xxhsum -H64), for every length of the last stripe, in one piece
 * and in many. */
#include "runtime/base/digest.h"

#include <string.h>

#include "test/suite.h"

enum { BYTES = 1000 };

static uint64_t of_text(const char *text) { return zb_digest_of(text, strlen(text)); }

static void test_published(void) {
  unsigned char bytes[BYTES];
  for (int i = 0; i < BYTES; ++i)
    bytes[i] = (unsigned char)(i * 7);
  CU_ASSERT_EQUAL(of_text(""), UINT64_C(0xef46db3751d8e999));
  CU_ASSERT_EQUAL(of_text("a"), UINT64_C(0xd24ec4f1a98c6e5b));
  CU_ASSERT_EQUAL(of_text("abc"), UINT64_C(0x44bc2cf5ad770999));
  CU_ASSERT_EQUAL(of_text("The quick brown fox jumps over the lazy dog"), UINT64_C(0x0b242d361fda71bc));
  CU_ASSERT_EQUAL(zb_digest_of(bytes, BYTES), UINT64_C(0x25275608a9cfc168));
}

static void test_pieces(void) {
  unsigned char bytes[BYTES];
  uint64_t random = 9;
  for (int i = 0; i < BYTES; ++i)
    bytes[i] = (unsigned char)(i * i + 3);
  for (int round = 0; round < 2000; ++round) {
    size_t length = (size_t)(round % BYTES), at = 0;
    zb_digest digest;
    zb_digest_begin(&digest);
    while (at < length) {
      random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      size_t piece = (random >> 33) % 100;
      if (piece > length - at) piece = length - at;
      zb_digest_add(&digest, bytes + at, piece);
      at += piece;
    }
    CU_ASSERT_EQUAL(zb_digest_end(&digest), zb_digest_of(bytes, length));
  }
}

/* Every bit counts. */
static void test_bits(void) {
  unsigned char bytes[100] = {0};
  uint64_t zero = zb_digest_of(bytes, sizeof bytes);
  for (size_t bit = 0; bit < 8 * sizeof bytes; ++bit) {
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CU_ASSERT_NOT_EQUAL(zb_digest_of(bytes, sizeof bytes), zero);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
}

SUITE_MAIN("digest", {"published values", test_published}, {"pieces", test_pieces}, {"bits", test_bits})
