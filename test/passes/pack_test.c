/* zb_pack: nothing overlaps, nothing is wasted where the answer is known, and random pieces stay near the bound that no
 * packing can beat. */

#include "passes/stages/places/pack.h"

#include "test/suite.h"

#include <stdlib.h>
#include <string.h>

static zb_piece whole(uint64_t bytes, int start, int end) {
  return (zb_piece){.bytes = bytes, .first = start, .start = start, .end = end, .last = end};
}

/* Bytes [begin, end) of a piece that are held at a time; false if none. */
static bool held_at(const zb_piece *p, int time, uint64_t *begin, uint64_t *end) {
  *begin = p->offset, *end = p->offset + p->bytes;
  if (time >= p->start && time <= p->end) return true;
  if (time < p->first || time > p->last) return false;
  const zb_piece_part *part = time < p->start ? &p->before : &p->after;
  *begin = p->offset + part->begin, *end = p->offset + part->end;
  return true;
}

static void check_apart(const zb_piece *pieces, size_t count, uint64_t bytes) {
  for (size_t i = 0; i < count; ++i) {
    CU_ASSERT_FATAL(pieces[i].offset + pieces[i].bytes <= bytes);
    for (size_t k = 0; k < i; ++k)
      for (int t = pieces[i].first; t <= pieces[i].last; ++t) {
        uint64_t b0, e0, b1, e1;
        if (held_at(&pieces[i], t, &b0, &e0) && held_at(&pieces[k], t, &b1, &e1)) CU_ASSERT_FATAL(e0 <= b1 || e1 <= b0);
      }
  }
}

static uint64_t pack(zb_piece *pieces, size_t count) {
  uint64_t bytes = 0;
  CU_ASSERT_PTR_NULL_FATAL(zb_pack(NULL, pieces, count, &bytes));
  check_apart(pieces, count, bytes);
  CU_ASSERT(bytes >= zb_pack_bound(pieces, count));
  return bytes;
}

static void test_known(void) {
  CU_ASSERT_EQUAL(pack(NULL, 0), 0);
  zb_piece alone[] = {whole(64, 3, 3)};
  CU_ASSERT_EQUAL(pack(alone, 1), 64);
  zb_piece after[] = {whole(64, 0, 1), whole(128, 2, 3), whole(64, 4, 4)};
  CU_ASSERT_EQUAL(pack(after, 3), 128);
  zb_piece together[] = {whole(64, 0, 2), whole(128, 2, 3), whole(64, 3, 4)};
  CU_ASSERT_EQUAL(pack(together, 3), 192);
  /* By start alone the last piece would not fit into the hole that the second leaves. */
  zb_piece holes[] = {whole(64, 0, 1), whole(64, 0, 9), whole(128, 2, 9), whole(64, 2, 3)};
  CU_ASSERT_EQUAL(pack(holes, 4), 256);
}

/* Of a frame only the part that is written early, or still being sent, is in the way of others. */
static void test_parts(void) {
  zb_piece early[] = {whole(256, 5, 9), whole(192, 0, 4)};
  early[0].first = 0;
  early[0].before = (zb_piece_part){192, 256};
  CU_ASSERT_EQUAL(pack(early, 2), 256);
  CU_ASSERT_EQUAL(early[0].offset, early[1].offset);
  zb_piece late[] = {whole(256, 0, 4), whole(192, 5, 9)};
  late[0].last = 7;
  late[0].after = (zb_piece_part){0, 64};
  CU_ASSERT_EQUAL(pack(late, 2), 256);
  CU_ASSERT_EQUAL(late[1].offset, 64);
  zb_piece middle[] = {whole(256, 0, 4), whole(192, 5, 9)};
  middle[0].last = 5;
  middle[0].after = (zb_piece_part){64, 128};
  CU_ASSERT_EQUAL(pack(middle, 2), 320);
}

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static void random_pieces(uint64_t seed, zb_piece *pieces, size_t count, uint64_t times) {
  for (size_t i = 0; i < count; ++i) {
    int start = (int)(next(&seed) % times);
    pieces[i] = whole(64 * (1 + next(&seed) % 16), start, start + (int)(next(&seed) % 12));
    uint64_t begin = 64 * (next(&seed) % (pieces[i].bytes / 64));
    if (next(&seed) % 4 == 0) {
      pieces[i].first -= (int)(next(&seed) % 5);
      pieces[i].before = (zb_piece_part){begin, begin + 64};
    }
    if (next(&seed) % 4 == 0) {
      pieces[i].last += (int)(next(&seed) % 5);
      pieces[i].after = (zb_piece_part){begin, pieces[i].bytes};
    }
  }
}

static void test_random(void) {
  enum { COUNT = 120, SEEDS = 30 };
  static zb_piece pieces[COUNT], again[COUNT];
  double ratio = 0;
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    random_pieces(seed, pieces, COUNT, 60);
    random_pieces(seed, again, COUNT, 60);
    uint64_t bytes = pack(pieces, COUNT);
    ratio += (double)bytes / (double)zb_pack_bound(pieces, COUNT) / SEEDS;
    CU_ASSERT_EQUAL(pack(again, COUNT), bytes);
    for (size_t i = 0; i < COUNT; ++i)
      CU_ASSERT_EQUAL(pieces[i].offset, again[i].offset);
  }
  CU_ASSERT(ratio < 1.01);
}

/* With a memo: the same, when asked first and again, of pieces that differ in one number too. */
static void test_memo(void) {
  enum { COUNT = 40, SEEDS = 6, KINDS = 8 };
  zb_memo *memo = zb_memo_create(1 << 20);
  for (uint64_t seed = 1; seed <= SEEDS; ++seed)
    for (int kind = 0; kind < KINDS; ++kind) {
      zb_piece alone[COUNT], first[COUNT], second[COUNT];
      const size_t count = kind == KINDS - 1 ? COUNT - 1 : COUNT;
      uint64_t bytes[2];
      random_pieces(seed, alone, COUNT, 20);
      zb_piece *p = &alone[seed % COUNT];
      p->bytes += kind == 1 ? 8192 : 0;
      p->first -= kind == 2, p->start -= kind == 3 && p->start > p->first;
      p->last += kind == 4 ? 3 : 0, p->end += kind == 5 && p->end < p->last;
      if (kind == 6) p->before.end = p->bytes, p->before.begin = 0;
      memcpy(first, alone, sizeof first);
      first[0].offset = 77; /* what was there before does not count */
      memcpy(second, alone, sizeof second);
      const uint64_t expected = pack(alone, count);
      CU_ASSERT_PTR_NULL_FATAL(zb_pack(memo, first, count, &bytes[0]));
      CU_ASSERT_PTR_NULL_FATAL(zb_pack(memo, second, count, &bytes[1]));
      CU_ASSERT(bytes[0] == expected && bytes[1] == expected);
      CU_ASSERT(memcmp(first, alone, count * sizeof *first) == 0 && memcmp(second, alone, count * sizeof *second) == 0);
    }
  zb_memo_destroy(memo);
}

/* Rank 1 of the small GPT-2 with ZB-V, two ranks and four micro-batches: frames of six sizes. First fit in any simple
 * order wastes 9 %. */
static const zb_piece two_chunks[] = {
    {116736, 3, 3, 20, 20, {0, 0}, {0, 0}, 0},
    {157696, 2, 3, 23, 23, {0, 8192}, {0, 0}, 0},
    {150528, 3, 4, 15, 15, {0, 24576}, {0, 0}, 0},
    {149504, 4, 4, 16, 16, {0, 0}, {0, 0}, 0},
    {116736, 9, 9, 34, 34, {0, 0}, {0, 0}, 0},
    {157696, 8, 9, 37, 37, {0, 8192}, {0, 0}, 0},
    {150528, 9, 10, 29, 29, {0, 24576}, {0, 0}, 0},
    {149504, 10, 10, 30, 30, {0, 0}, {0, 0}, 0},
    {180224, 15, 15, 16, 20, {0, 0}, {172032, 180224}, 0},
    {116736, 19, 19, 45, 45, {0, 0}, {0, 0}, 0},
    {157696, 18, 19, 54, 54, {0, 8192}, {0, 0}, 0},
    {204800, 15, 20, 23, 23, {0, 24576}, {0, 0}, 0},
    {150528, 19, 24, 43, 43, {0, 24576}, {0, 0}, 0},
    {149504, 24, 24, 44, 44, {0, 0}, {0, 0}, 0},
    {180224, 29, 29, 30, 34, {0, 0}, {172032, 180224}, 0},
    {116736, 33, 33, 51, 51, {0, 0}, {0, 0}, 0},
    {157696, 32, 33, 56, 56, {0, 8192}, {0, 0}, 0},
    {204800, 29, 34, 37, 37, {0, 24576}, {0, 0}, 0},
    {150528, 33, 38, 50, 50, {0, 24576}, {0, 0}, 0},
    {149504, 38, 38, 55, 55, {0, 0}, {0, 0}, 0},
    {180224, 43, 43, 44, 45, {0, 0}, {172032, 180224}, 0},
    {204800, 43, 45, 54, 54, {0, 24576}, {0, 0}, 0},
    {180224, 50, 50, 55, 55, {0, 0}, {0, 0}, 0},
    {204800, 50, 51, 56, 56, {0, 24576}, {0, 0}, 0},
    {8192, 1, 1, 3, 3, {0, 0}, {0, 0}, 0},
    {8192, 7, 7, 9, 9, {0, 0}, {0, 0}, 0},
    {8192, 13, 13, 15, 15, {0, 0}, {0, 0}, 0},
    {8192, 14, 14, 15, 15, {0, 0}, {0, 0}, 0},
    {8192, 17, 17, 19, 19, {0, 0}, {0, 0}, 0},
    {8192, 20, 20, 22, 23, {0, 0}, {0, 8192}, 0},
    {8192, 27, 27, 29, 29, {0, 0}, {0, 0}, 0},
    {8192, 28, 28, 29, 29, {0, 0}, {0, 0}, 0},
    {8192, 31, 31, 33, 33, {0, 0}, {0, 0}, 0},
    {8192, 34, 34, 36, 37, {0, 0}, {0, 8192}, 0},
    {8192, 41, 41, 43, 43, {0, 0}, {0, 0}, 0},
    {8192, 42, 42, 43, 43, {0, 0}, {0, 0}, 0},
    {8192, 45, 45, 47, 50, {0, 0}, {0, 8192}, 0},
    {8192, 48, 48, 50, 50, {0, 0}, {0, 0}, 0},
    {8192, 49, 49, 50, 50, {0, 0}, {0, 0}, 0},
    {8192, 51, 51, 53, 54, {0, 0}, {0, 8192}, 0},
};
enum { TWO_CHUNKS = sizeof two_chunks / sizeof two_chunks[0] };

static void test_two_chunks(void) {
  zb_piece pieces[TWO_CHUNKS];
  memcpy(pieces, two_chunks, sizeof pieces);
  CU_ASSERT_EQUAL(pack(pieces, TWO_CHUNKS), zb_pack_bound(pieces, TWO_CHUNKS));
}

static void test_many(void) {
  enum { COUNT = 3000 };
  static zb_piece pieces[COUNT];
  random_pieces(7, pieces, COUNT, 1500);
  uint64_t bytes = pack(pieces, COUNT);
  CU_ASSERT(bytes < 2 * zb_pack_bound(pieces, COUNT));
}

/* Whatever allocation fails. */
static void test_out_of_memory(void) {
  for (uint64_t n = 1; n <= 10; ++n) {
    zb_piece pieces[TWO_CHUNKS];
    uint64_t bytes = 0;
    memcpy(pieces, two_chunks, sizeof pieces);
    zb_allocation_fail_at(n);
    zb_status status = zb_pack(NULL, pieces, TWO_CHUNKS, &bytes);
    zb_allocation_fail_at(0);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
  }
}

SUITE_MAIN("pack", {"known answers", test_known}, {"parts of pieces", test_parts}, {"random pieces", test_random},
           {"with a memo", test_memo}, {"frames of two chunks", test_two_chunks}, {"many pieces", test_many},
           {"out of memory", test_out_of_memory})
