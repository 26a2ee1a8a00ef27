/* Damaged ONNX files: 1,000 seeded mutations of a small good one, and as many of models of the operators that are
 * written out or read many attributes (cases.json). Each must be imported or refused with a message; none may crash,
 * hang or, under the address sanitizer, touch memory that is not its own. */
#include "ir/import/importers.h"
#include "test/ir/import/base64.h"
#include "test/suite.h"
#include "runtime/base/file.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { MUTATIONS = 1000 };

static MlirContext context;
static char *good;
static size_t good_bytes;
static uint64_t state = 20240607;

static void ignore(void *user, const char *text) {
  int *count = user;
  *count += text[0] != '\0';
}

static int reported;

static int set_up(void) {
  static zb_diagnostics diagnostics = {.write = ignore, .context = &reported};
  context = zb_context_create(false);
  zb_diagnostics_attach(context, &diagnostics);
  zb_status status = zb_file_read(ZB_SOURCE_DIR "/test/data/gpt2-tiny.onnx", 0, &good, &good_bytes);
  return status != NULL;
}

static int tear_down(void) {
  zb_free(good);
  mlirContextDestroy(context);
  return 0;
}

static uint64_t next(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

/* One mutation of bytes[0..*count): room for twice the size. */
static void mutate(char *bytes, size_t *count) {
  size_t at = (size_t)(next() % *count), span = (size_t)(next() % 64) + 1;
  if (span > *count - at) span = *count - at;
  switch (next() % 6) {
  case 0:
    bytes[at] = (char)(bytes[at] ^ (1 << (next() % 8)));
    break;
  case 1:
    bytes[at] = (char)next();
    break;
  case 2:
    *count = at + 1;
    break; /* cut */
  case 3:  /* take a span out */
    if (span == *count) --span;
    memmove(bytes + at, bytes + at + span, *count - at - span);
    *count -= span;
    break;
  case 4: /* repeat a span */
    memmove(bytes + at + span, bytes + at, *count - at);
    *count += span;
    break;
  default: /* large numbers, where lengths, dimensions and types stand */
    for (size_t i = 0; i < span && i < 8; ++i)
      bytes[at + i] = (char)(i + 1 < span && i < 7 ? 0xff : 0x7f);
    break;
  }
}

static void import_bytes(const char *bytes, size_t count, int *imported, int *refused) {
  const char *path = ZB_BINARY_DIR "/mutated.onnx";
  FILE *file = fopen(path, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, count, file), count);
  fclose(file);
  zb_module module;
  zb_import_params params = {.path = path};
  reported = 0;
  zb_status status = zb_import_onnx(context, &params, &module);
  if (!status) {
    ++*imported;
    mlirModuleDestroy(module.module);
    zb_store_destroy(module.weights);
    zb_store_destroy(module.constants);
    return;
  }
  ++*refused;
  CU_ASSERT(*zb_status_message(status) != '\0');
  CU_ASSERT(reported > 0 || strstr(zb_status_message(status), "mutated.onnx") || zb_status_code(status) == ZB_MEMORY);
  CU_ASSERT(module.module.ptr == NULL && module.weights == NULL && module.constants == NULL);
  zb_status_free(status);
}

static void test_mutations(void) {
  char *bytes = zb_alloc(2 * good_bytes + 4096);
  int imported = 0, refused = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
  import_bytes(good, good_bytes, &imported, &refused);
  CU_ASSERT_EQUAL(imported, 1);
  for (int i = 0; i < MUTATIONS; ++i) {
    size_t count = good_bytes;
    memcpy(bytes, good, good_bytes);
    for (uint64_t k = next() % 3 + 1; k > 0; --k)
      mutate(bytes, &count);
    import_bytes(bytes, count, &imported, &refused);
  }
  CU_ASSERT(imported > MUTATIONS / 50);
  CU_ASSERT(refused > MUTATIONS / 4);
  zb_free(bytes);
}

/* Operators by names of cases. */
static bool is_chosen(const json_t *row) {
  static const char *const names[] = {"rnn-",    "gru-",    "lstm-", "resize-", "upsample-", "attention", "conv",
                                      "maxpool", "scan-",   "loop-", "if-",     "function",  "einsum-",   "rotary",
                                      "top-k",   "scatter", "pad-",  "average", "gather-nd", "one-hot",   "batch-norm"};
  const char *name = json_string_value(json_object_get(row, "name"));
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strncmp(name, names[i], strlen(names[i])) == 0) return json_object_get(row, "loss") != NULL;
  return false;
}

static void test_operators(void) {
  json_t *cases = json_load_file(ZB_SOURCE_DIR "/test/ir/import/cases.json", 0, NULL), *row;
  int imported = 0, refused = 0, chosen = 0;
  size_t i;
  CU_ASSERT_PTR_NOT_NULL_FATAL(cases);
  json_array_foreach(cases, i, row) chosen += is_chosen(row);
  CU_ASSERT_FATAL(chosen > 150);
  json_array_foreach(cases, i, row) {
    zb_text model = {0};
    if (is_chosen(row)) base64_decode(json_string_value(json_object_get(row, "model")), &model);
    char *bytes = zb_alloc(2 * model.length + 4096);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (int k = 0; model.length && k < MUTATIONS / chosen + 1; ++k) {
      size_t count = model.length;
      memcpy(bytes, model.data, count);
      for (uint64_t n = next() % 3 + 1; n > 0; --n)
        mutate(bytes, &count);
      import_bytes(bytes, count, &imported, &refused);
    }
    zb_free(bytes);
    zb_text_deinit(&model);
  }
  json_decref(cases);
  CU_ASSERT(imported + refused >= MUTATIONS);
  CU_ASSERT(imported > MUTATIONS / 50);
  CU_ASSERT(refused > MUTATIONS / 4);
}

/* Every allocation fails once: the import ends with an error, and nothing is lost (the leak sanitizer sees to that). */
static void fail_allocations(const char *path) {
  zb_import_params params = {.path = path};
  int failures = 0;
  for (uint64_t n = 1;; n += 1 + n / 8) {
    zb_module module;
    zb_allocation_fail_at(n);
    zb_status status = zb_import_onnx(context, &params, &module);
    zb_allocation_fail_at(0);
    if (!status) {
      mlirModuleDestroy(module.module);
      zb_store_destroy(module.weights);
      zb_store_destroy(module.constants);
      break;
    }
    ++failures;
    zb_status_free(status);
    CU_ASSERT_FATAL(n < UINT64_C(1) << 24);
  }
  CU_ASSERT(failures > 20);
}

static void test_memory(void) {
  const char *path = ZB_BINARY_DIR "/memory.onnx";
  json_t *cases = json_load_file(ZB_SOURCE_DIR "/test/ir/import/cases.json", 0, NULL), *row;
  size_t i;
  CU_ASSERT_PTR_NOT_NULL_FATAL(cases);
  fail_allocations(ZB_SOURCE_DIR "/test/data/gpt2-tiny.onnx");
  json_array_foreach(cases, i, row) {
    zb_text model = {0};
    if (!is_chosen(row) || i % 3 != 0) continue;
    base64_decode(json_string_value(json_object_get(row, "model")), &model);
    zb_status status = zb_file_write_atomic(path, model.data, model.length);
    CU_ASSERT_PTR_NULL_FATAL(status);
    fail_allocations(path);
    zb_text_deinit(&model);
  }
  json_decref(cases);
}

SUITE_MAIN_WITH("damaged files", set_up, tear_down, {"mutations", test_mutations}, {"operators", test_operators},
                {"out of memory", test_memory})
