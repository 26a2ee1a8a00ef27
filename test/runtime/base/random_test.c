/* Philox against its published answers, and what is made of it against chance: over 2^24 words a test, with fixed
 * seeds, so that a figure is the same in every run. A limit of 5 standard deviations is exceeded by chance once in
 * 3,000,000 figures. */
#include "runtime/base/random.h"
#include "test/suite.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 1 << 24, BLOCKS = 1 << 10, PLACES = 256 };
static const double deviations_most = 5;

/* kat_vectors of Random123: philox4x32 10. */
static void test_known_answers(void) {
  static const struct {
    zb_philox_block counter;
    uint32_t key[2];
    zb_philox_block answer;
  } rows[] = {
      {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
       {0xffffffff, 0xffffffff},
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {0xa4093822, 0x299f31d0},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    zb_philox_block got = zb_philox(rows[i].counter, rows[i].key[0], rows[i].key[1]);
    for (int w = 0; w < 4; ++w)
      CU_ASSERT_EQUAL(got.word[w], rows[i].answer.word[w]);
  }
}

static zb_random_stream stream_of(int64_t seed, int64_t step, int64_t micro_batch, int64_t op) {
  const int64_t counter[ZB_COUNTER_WORDS] = {seed, step, micro_batch, 0};
  return zb_random_stream_of(counter, op);
}

/* Every part of a place reaches bits of its own: no two of these streams and calls give Philox the same input. */
static void test_fields(void) {
  const int64_t step_most = (INT64_C(1) << ZB_RANDOM_STEP_BITS) - 1;
  const int64_t micro_batch_most = (INT64_C(1) << ZB_RANDOM_MICRO_BATCH_BITS) - 1;
  const int64_t op_most = (INT64_C(1) << ZB_RANDOM_OP_BITS) - 1;
  zb_random_stream all = stream_of(-1, step_most, micro_batch_most, op_most);
  CU_ASSERT(all.key[0] == UINT32_MAX && all.key[1] == UINT32_MAX);
  CU_ASSERT(all.place[0] == UINT32_MAX && all.place[1] == UINT32_MAX);
  const uint64_t last = ((UINT64_C(1) << ZB_RANDOM_ELEMENT_BITS) - 1) / ZB_RANDOM_GROUP * ZB_RANDOM_LANES + 15;
  CU_ASSERT_EQUAL((uint32_t)(last >> 32) & all.op, 0);
  CU_ASSERT_EQUAL(((uint32_t)(last >> 32) | all.op), UINT32_MAX);
  zb_random_stream step = stream_of(0, 1, 0, 0), batch = stream_of(0, 0, micro_batch_most, 0);
  CU_ASSERT_EQUAL(step.place[0] & batch.place[0], 0);
  CU_ASSERT_EQUAL(step.place[0], batch.place[0] + 1);
}

/* Sixty-four elements get the sixty-four words of sixteen calls, each once. */
static void test_elements(void) {
  zb_random_stream stream = stream_of(7, 3, 2, 5);
  for (int64_t element = 0; element < 4 * ZB_RANDOM_GROUP; ++element) {
    int64_t group = element / 64, lane = element % 16, word = element / 16 % 4;
    zb_philox_block block = zb_random_call(&stream, (uint64_t)(group * 16 + lane));
    CU_ASSERT_EQUAL(zb_random_word(&stream, element), block.word[word]);
  }
}

static void test_threshold(void) {
  CU_ASSERT_EQUAL(zb_random_threshold(0), UINT64_C(1) << 32);
  CU_ASSERT_EQUAL(zb_random_threshold(0.5), UINT64_C(1) << 31);
  CU_ASSERT_EQUAL(zb_random_threshold(0.1), UINT64_C(3865470566)); /* 0.9 * 2^32 = 3865470566.4 */
  CU_ASSERT_EQUAL(zb_random_threshold(1 - 1e-12), 0);
}

/* A figure in standard deviations from what chance gives. */
static void expect_chance(const char *what, double deviations) {
  printf("\n    %-46s %+.2f deviations", what, deviations);
  CU_ASSERT(fabs(deviations) < deviations_most);
}

static void check_rate(double rate) {
  const uint64_t threshold = zb_random_threshold(rate);
  zb_random_stream stream = stream_of(11, 2, 3, 4);
  double stay = 1 - rate, kept = 0, squares = 0;
  int64_t by_place[PLACES] = {0};
  char text[64];
  for (int64_t block = 0; block < BLOCKS; ++block) { /* the variance of shares: that of independent draws */
    int64_t own = 0;
    for (int64_t i = 0; i < DRAWS / BLOCKS; ++i) {
      int64_t element = block * (DRAWS / BLOCKS) + i;
      bool stays = zb_random_word(&stream, element) < threshold;
      own += stays;
      by_place[element % PLACES] += stays;
    }
    double difference = (double)own - stay * (DRAWS / BLOCKS);
    kept += (double)own;
    squares += difference * difference;
  }
  snprintf(text, sizeof text, "rate %g: share that stays %.6f", rate, kept / DRAWS);
  expect_chance(text, (kept - stay * DRAWS) / sqrt(stay * rate * DRAWS));
  double ratio = squares / (stay * rate * DRAWS);
  snprintf(text, sizeof text, "rate %g: variance of shares, ratio %.4f", rate, ratio);
  expect_chance(text, (ratio - 1) / sqrt(2.0 / BLOCKS));
  double chi = 0, expected = stay * (DRAWS / PLACES);
  for (int i = 0; i < PLACES; ++i)
    chi += ((double)by_place[i] - expected) * ((double)by_place[i] - expected) / (expected * rate);
  snprintf(text, sizeof text, "rate %g: chi square of %d places, %.1f", rate, PLACES, chi);
  expect_chance(text, (chi - PLACES) / sqrt(2.0 * PLACES));
}

static void test_rates(void) {
  static const double rates[] = {0.1, 0.5, 0.9};
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; ++i)
    check_rate(rates[i]);
}

/* Bytes of words are even. */
static void test_bytes(void) {
  static int64_t counts[4][256];
  zb_random_stream stream = stream_of(1, 0, 0, 0);
  char text[64];
  for (int64_t i = 0; i < DRAWS; ++i) {
    uint32_t word = zb_random_word(&stream, i);
    for (int b = 0; b < 4; ++b)
      ++counts[b][word >> (8 * b) & 255];
  }
  for (int b = 0; b < 4; ++b) {
    double chi = 0, expected = DRAWS / 256.0;
    for (int v = 0; v < 256; ++v)
      chi += ((double)counts[b][v] - expected) * ((double)counts[b][v] - expected) / expected;
    snprintf(text, sizeof text, "byte %d: chi square of 255 degrees, %.1f", b, chi);
    expect_chance(text, (chi - 255) / sqrt(2.0 * 255));
  }
}

/* How often the same element stays in both, against independence: the correlation of two masks, in deviations. */
static double correlation(const zb_random_stream *a, const zb_random_stream *b, int64_t distance, double rate) {
  const uint64_t threshold = zb_random_threshold(rate);
  double sum = 0, stay = 1 - rate;
  for (int64_t i = 0; i < DRAWS; ++i) {
    double one = (double)(zb_random_word(a, i) < threshold) - stay;
    double two = (double)(zb_random_word(b, i + distance) < threshold) - stay;
    sum += one * two;
  }
  return sum / (stay * rate) / sqrt(DRAWS);
}

static void test_independence(void) {
  static const int64_t distances[] = {1, 16, 64, 128}; /* of the next call, word, group, and the one after */
  const zb_random_stream one = stream_of(1, 5, 2, 3);
  const zb_random_stream others[] = {stream_of(2, 5, 2, 3), stream_of(1, 6, 2, 3), stream_of(1, 5, 3, 3),
                                     stream_of(1, 5, 2, 4)};
  static const char *const names[] = {"seeds", "steps", "micro-batches", "ops"};
  char text[64];
  for (size_t i = 0; i < sizeof distances / sizeof distances[0]; ++i) {
    snprintf(text, sizeof text, "correlation of elements %lld apart", (long long)distances[i]);
    expect_chance(text, correlation(&one, &one, distances[i], 0.5));
  }
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    snprintf(text, sizeof text, "correlation of neighbouring %s", names[i]);
    expect_chance(text, correlation(&one, &others[i], 0, 0.1));
  }
}

SUITE_MAIN("random", {"known answers", test_known_answers}, {"fields", test_fields}, {"elements", test_elements},
           {"threshold", test_threshold}, {"rates", test_rates}, {"bytes", test_bytes},
           {"independence", test_independence})
