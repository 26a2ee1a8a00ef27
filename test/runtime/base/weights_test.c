/* Values under other names: which prefix is taken, what is refused, and that 16-bit floats become f32 exactly. */
#include "runtime/formats/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test/suite.h"

static const float value[4] = {1, 2, 3, 4};
static const zb_shape four = {ZB_F32, 1, {4}}, half = {ZB_F16, 1, {2}};

/* A store with these names, separated by blanks. */
static zb_store *store_of(const char *names) {
  zb_store *store = zb_store_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(store);
  char name[64];
  for (int used = 0; sscanf(names, "%63s%n", name, &used) == 1; names += used)
    zb_status_free(zb_store_add(store, name, &four, value, false));
  return store;
}

/* Matches "a.w a.b" with a store: the notes, or the error, in text; the number of those found, -1 for an error. */
static int match(const char *model, const char *file, bool partial, char text[1024]) {
  char names[16][64];
  zb_wanted wanted[16];
  int count = 0, found = 0;
  for (int used = 0; sscanf(model, "%63s%n", names[count], &used) == 1; model += used, ++count)
    wanted[count] = (zb_wanted){names[count], &four};
  zb_store *store = store_of(file);
  zb_weights *weights = NULL;
  zb_status status = zb_weights_match(store, "FILE", wanted, count, partial, &weights);
  text[0] = '\0';
  if (status) snprintf(text, 1024, "%s", zb_status_text(status));
  for (int i = 0; weights && zb_weights_note(weights, i); ++i)
    snprintf(text + strlen(text), 1024 - strlen(text), "%s\n", zb_weights_note(weights, i));
  for (int i = 0; weights && i < count; ++i)
    found += zb_weights_find(weights, wanted[i].name) != NULL;
  if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  found = status ? -1 : found;
  zb_status_free(status);
  zb_weights_destroy(weights);
  zb_store_destroy(store);
  return found;
}

static void test_names(void) {
  static const struct {
    const char *model, *file;
    bool partial;
    int found;
    const char *says; /* "": nothing */
  } rows[] = {
      {"a b", "b a", false, 2, ""},
      {"lm.t.w lm.t.b", "t.w t.b", false, 2, "without 'lm.' in front"},
      {"lm.t.w lm.t.b", "w b", false, 2, "without 'lm.t.' in front"},
      {"t.w t.b", "lm.t.w lm.t.b other", false, 2, "with 'lm.' in front"},
      {"t.w t.b", "lm.t.w lm.t.b other", false, 2, "1 tensor is not of this model: other"},
      {"lm.t.w lm.t.b lm.head", "w b", false, -1, "1 of the model's 3 parameters are missing: lm.head"},
      {"lm.t.w lm.t.b lm.head", "w b head", false, -1,
       "'head' is left and has its shape"}, /* two prefixes at a time: never a guess for one */
      {"lm.t.w lm.t.b lm.head", "w b", true, 2, "1 of 3 parameters are missing and stay as they were: lm.head"},
      {"w b", "x.w x.b y.w y.b", false, -1, "two ways to spell names find 2 of 2"},
      {"w b", "w b y.w y.b", false, 2, "2 tensors are not of this model: y.w, y.b"}, /* the same names first */
      {"w b", "q r s t u", false, -1, "2 of the model's 2 parameters are missing: w, b"},
      {"w b", "q r s t u", true, -1, "are missing"}, /* nothing found is no partial match */
      {"w", "", false, -1, "missing"},
      {"", "a b c d e", false, 0, "5 tensors are not of this model: a, b, c and 2 more"},
  };
  char text[1024];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    int found = match(rows[i].model, rows[i].file, rows[i].partial, text);
    bool good = found == rows[i].found && (rows[i].says[0] ? strstr(text, rows[i].says) != NULL : text[0] == '\0');
    if (!good)
      printf("\n  '%s' in '%s': found %d, expected %d and '%s': %s", rows[i].model, rows[i].file, found, rows[i].found,
             rows[i].says, text);
    CU_ASSERT_TRUE(good);
  }
}

static void test_shapes(void) {
  zb_shape column = {ZB_F32, 2, {4, 1}}, wide = {ZB_F64, 1, {4}}, bits = {ZB_BF16, 1, {4}}, whole = {ZB_I32, 1, {4}},
           narrow = {ZB_F16, 1, {4}};
  static const struct {
    int wanted, stored;
    bool good;
  } rows[] = {{0, 0, true},  {0, 1, false}, {0, 2, false}, {0, 3, true}, {0, 5, true},
              {3, 0, false}, {3, 5, false}, {4, 4, true},  {4, 0, false}};
  const zb_shape *shapes[] = {&four, &column, &wide, &bits, &whole, &narrow};
  static const double data[4] = {0};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    zb_store *store = zb_store_create();
    zb_weights *weights = NULL;
    zb_wanted wanted = {"w", shapes[rows[i].wanted]};
    zb_status_free(zb_store_add(store, "w", shapes[rows[i].stored], data, false));
    zb_status status = zb_weights_match(store, "FILE", &wanted, 1, false, &weights);
    CU_ASSERT_EQUAL(zb_status_code(status), rows[i].good ? ZB_OK_CODE : ZB_INVALID);
    zb_status_free(status);
    zb_weights_destroy(weights);
    zb_store_destroy(store);
  }
}

static void test_without_memory(void) {
  zb_wanted wanted[] = {{"lm.t.w", &four}, {"lm.t.b", &four}, {"lm.head", &four}};
  zb_store *store = store_of("w b more");
  for (uint64_t n = 1; n < 60; ++n) {
    zb_weights *weights = NULL;
    zb_allocation_fail_at(n);
    zb_status status = zb_weights_match(store, "FILE", wanted, 3, true, &weights);
    zb_allocation_fail_at(0);
    zb_code code = zb_status_code(status);
    CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_MEMORY);
    CU_ASSERT_EQUAL(code == ZB_OK_CODE, weights != NULL);
    zb_status_free(status);
    zb_weights_destroy(weights);
  }
  zb_store_destroy(store);
}

/* Every half: by the definition of the format. */
static void test_widen_f16(void) {
  for (uint32_t i = 0; i < 65536; ++i) {
    uint16_t bits = (uint16_t)i;
    unsigned char unaligned[3] = {0};
    float got = 0;
    memcpy(unaligned + 1, &bits, sizeof bits);
    zb_widen(ZB_F16, unaligned + 1, 1, &got);
    int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023);
    double expected = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                      : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
    if (i >> 15) expected = -expected;
    CU_ASSERT_TRUE(isnan(expected) ? isnan(got) : (double)got == expected && (signbit(got) != 0) == (i >> 15 != 0));
  }
}

static void test_widen_bf16(void) {
  for (uint32_t i = 0; i < 65536; ++i) {
    uint16_t bits = (uint16_t)i;
    float got = 0;
    uint32_t back;
    zb_widen(ZB_BF16, &bits, 1, &got);
    memcpy(&back, &got, sizeof back);
    CU_ASSERT_EQUAL(back, i << 16);
  }
  CU_ASSERT_TRUE(zb_can_widen(half.dtype) && zb_can_widen(ZB_BF16) && zb_can_widen(ZB_F32) && !zb_can_widen(ZB_F64) &&
                 !zb_can_widen(ZB_I32));
}

SUITE_MAIN("weights", {"names", test_names}, {"shapes", test_shapes}, {"without memory", test_without_memory},
           {"f16", test_widen_f16}, {"bf16", test_widen_bf16})
