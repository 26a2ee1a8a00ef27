/* safetensors: round trip, alignment, every wrong header refused, mutated files never crash. */
#include "runtime/formats/safetensors.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/safetensors"

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

static zb_store *make_store(void) {
  static const float weights[6] = {1, 2, 3, 4, 5, 6};
  static const unsigned char mask[3] = {1, 0, 1};
  static const int64_t step = 42;
  zb_store *store = zb_store_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(store);
  zb_shape matrix = {ZB_F32, 2, {2, 3}}, flags = {ZB_I1, 1, {3}}, scalar = {ZB_I64, 0, {0}},
           empty = {ZB_BF16, 2, {0, 5}};
  CU_ASSERT_EQUAL(take_code(zb_store_add(store, "net.\"quoted\" w\n", &matrix, weights, true)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_add(store, "mask", &flags, mask, false)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_add(store, "empty", &empty, NULL, true)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_add(store, "step", &scalar, &step, false)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_add(store, "mask", &flags, mask, false)), ZB_USAGE);
  CU_ASSERT_EQUAL(take_code(zb_store_set_metadata(store, "format", "pt")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_set_metadata(store, "step", "6")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_store_set_metadata(store, "step", "7")), ZB_OK_CODE);
  return store;
}

static void test_round_trip(void) {
  CU_ASSERT_EQUAL_FATAL(take_code(zb_make_folder(FOLDER)), ZB_OK_CODE);
  zb_store *store = make_store(), *back = NULL;
  CU_ASSERT_EQUAL(take_code(zb_store_write(store, FOLDER "/a.safetensors")), ZB_OK_CODE);
  zb_status status = zb_store_open(FOLDER "/a.safetensors", &back);
  if (status) printf("%s", zb_status_text(status));
  CU_ASSERT_EQUAL_FATAL(take_code(status), ZB_OK_CODE);
  CU_ASSERT_EQUAL(zb_store_count(back), 4);
  for (int i = 0; i < zb_store_count(store); ++i) {
    const zb_stored_tensor *written = zb_store_at(store, i), *read = zb_store_at(back, i);
    CU_ASSERT_STRING_EQUAL(written->name, read->name); /* in the order of writing */
    CU_ASSERT_TRUE(zb_shape_equal(&written->shape, &read->shape));
    CU_ASSERT_EQUAL_FATAL(written->bytes, read->bytes);
    if (written->bytes > 0) CU_ASSERT_EQUAL(memcmp(written->data, read->data, read->bytes), 0);
    CU_ASSERT_PTR_EQUAL(zb_store_find(back, written->name), read);
  }
  CU_ASSERT_EQUAL((uintptr_t)zb_store_at(back, 0)->data % ZB_ALIGNMENT, 0); /* the header is padded */
  CU_ASSERT_STRING_EQUAL(zb_store_metadata(back, "format"), "pt");
  CU_ASSERT_STRING_EQUAL(zb_store_metadata(back, "step"), "7");
  CU_ASSERT_PTR_NULL(zb_store_metadata(back, "none"));
  CU_ASSERT_PTR_NULL(zb_store_find(back, "none"));
  CU_ASSERT_PTR_NULL(zb_store_at(back, 4));
  zb_store_destroy(back);
  zb_store_destroy(store);
}

/* A file whose header would not read back is not left, although its bytes are as they were written. */
static void test_reserved_name(void) {
  static const float value = 1;
  const zb_shape scalar = {ZB_F32, 0, {0}};
  (void)remove(FOLDER "/reserved.safetensors");
  for (int metadata = 0; metadata < 2; ++metadata) {
    zb_store *store = zb_store_create();
    CU_ASSERT_EQUAL(take_code(zb_store_add(store, "__metadata__", &scalar, &value, false)), ZB_OK_CODE);
    if (metadata) CU_ASSERT_EQUAL(take_code(zb_store_set_metadata(store, "format", "pt")), ZB_OK_CODE);
    CU_ASSERT_EQUAL(take_code(zb_store_write(store, FOLDER "/reserved.safetensors")), ZB_IO);
    CU_ASSERT_NOT_EQUAL(access(FOLDER "/reserved.safetensors", F_OK), 0);
    zb_store_destroy(store);
  }
}

/* Writes a file of this header and so many bytes of data, and opens it. The hint or message must hold `expected`. */
static void check_header(const char *header, size_t data_bytes, zb_code code, const char *expected) {
  zb_text file = {0};
  size_t length = strlen(header);
  for (int i = 0; i < 8; ++i)
    zb_text_add_bytes(&file, (char[1]){(char)(length >> (8 * i) & 0xff)}, 1);
  zb_text_add_bytes(&file, header, length);
  for (size_t i = 0; i < data_bytes; ++i)
    zb_text_add_bytes(&file, "x", 1);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/b.safetensors", file.data, file.length)), ZB_OK_CODE);
  zb_store *store = NULL;
  zb_status status = zb_store_open(FOLDER "/b.safetensors", &store);
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  if (expected && !strstr(zb_status_text(status), expected))
    printf("\n  expected '%s' in: %s", expected, zb_status_text(status));
  if (expected) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), expected));
  CU_ASSERT_EQUAL(store == NULL, code != ZB_OK_CODE);
  zb_status_free(status);
  zb_store_destroy(store);
  zb_text_deinit(&file);
}

static void test_headers(void) {
  static const struct {
    const char *header;
    size_t data_bytes;
    const char *expected; /* NULL: fine */
  } rows[] = {
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, NULL},
      {"{\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
       "offsets\":[0,4]}}   ",
       8, NULL},
      {"{}", 0, NULL},
      {"{}", 1, "the tensors fill 0 bytes"},
      {"[]", 0, "not a JSON object"},
      {"{", 0, "header byte"},
      {"{\"a\":1}", 0, "is not an object"},
      {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "\"dtype\" is missing"},
      {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype \"F31\" is not known"},
      {"{\"a\":{\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype \"f32\" is not known"},
      {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "\"shape\" is missing"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "dimension 0"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8, "has 9 dimensions"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0, "overflows"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,12]}}", 12, "its shape needs 8"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "\"data_offsets\""},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "\"data_offsets\""},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "ends at byte 8"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12, "no holes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
       "offsets\":[0,4]}}",
       4, "no overlaps"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_"
       "offsets\":[0,0]}}",
       0, "duplicate"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "is not text"},
      {"{\"__metadata__\":1}", 0, "\"__metadata__\" is not an object"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    check_header(rows[i].header, rows[i].data_bytes, rows[i].expected ? ZB_INVALID : ZB_OK_CODE, rows[i].expected);
}

/* Every prefix of a file is refused. */
static void test_truncated(void) {
  char *bytes = NULL;
  size_t count = 0;
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/a.safetensors", 0, &bytes, &count)), ZB_OK_CODE);
  for (size_t length = 0; length < count; length += length < 40 ? 1 : 37) {
    zb_store *store = NULL;
    FILE *file = fopen(FOLDER "/c.safetensors", "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, length, file), length);
    fclose(file);
    CU_ASSERT_EQUAL(take_code(zb_store_open(FOLDER "/c.safetensors", &store)), ZB_INVALID);
    CU_ASSERT_PTR_NULL(store);
  }
  zb_free(bytes);
}

/* Seeded damage: it opens or it is INVALID, and what opens can be read to its last byte. */
static void test_mutated(void) {
  char *bytes = NULL;
  size_t count = 0;
  uint64_t random = 1;
  unsigned sum = 0;
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/a.safetensors", 0, &bytes, &count)), ZB_OK_CODE);
  for (int i = 0; i < 1000; ++i) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t at = (size_t)(random >> 33) % count;
    char old = bytes[at];
    char flipped = (char)(old ^ (1 << (random >> 21) % 8)), typed = "0123456789[]{},\":"[(random >> 24) % 17];
    bytes[at] = (char)((random >> 20) % 2 ? flipped : typed);
    FILE *file = fopen(FOLDER "/c.safetensors", "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
    fclose(file);
    zb_store *store = NULL;
    zb_code code = take_code(zb_store_open(FOLDER "/c.safetensors", &store));
    CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_INVALID);
    for (int t = 0; store && t < zb_store_count(store); ++t)
      for (uint64_t b = 0; b < zb_store_at(store, t)->bytes; ++b)
        sum += ((const unsigned char *)zb_store_at(store, t)->data)[b];
    zb_store_destroy(store);
    bytes[at] = old;
  }
  CU_ASSERT_TRUE(sum > 0);
  zb_free(bytes);
}

static void test_errors(void) {
  zb_store *store = NULL;
  CU_ASSERT_EQUAL(take_code(zb_store_open(FOLDER "/none", &store)), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_store_open(FOLDER, &store)), ZB_IO);
  store = make_store();
  CU_ASSERT_EQUAL(take_code(zb_store_write(store, FOLDER "/none/x")), ZB_IO);
  zb_store_destroy(store);
}

static void test_without_memory(void) {
  for (uint64_t n = 1; n <= 60; ++n) {
    zb_store *store = NULL;
    zb_allocation_fail_at(n);
    zb_status status = zb_store_open(FOLDER "/a.safetensors", &store);
    zb_allocation_fail_at(0);
    zb_code code = take_code(status);
    CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_MEMORY);
    zb_store_destroy(store);
  }
}

SUITE_MAIN("safetensors", {"round trip", test_round_trip}, {"reserved name", test_reserved_name},
           {"headers", test_headers}, {"truncated", test_truncated}, {"mutated", test_mutated}, {"errors", test_errors},
           {"without memory", test_without_memory})
