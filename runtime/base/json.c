/* jansson's memory, watched: see json.h.
 *
 * Its allocation functions are those of the process. Ours ask those that were set before, so that whoever else uses jansson in this process keeps what
 * it has; where those are malloc and free, zb_alloc counts, and tests make it fail.
 *
 * Tests: test/runtime/base/json_test.c
 */
#include "runtime/base/json.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t given_malloc;
static json_free_t given_free;
static bool is_plain;
static _Thread_local bool refused;

static void *watched_malloc(size_t bytes) {
  void *memory = is_plain ? zb_alloc(bytes) : given_malloc(bytes);
  if (!memory) refused = true;
  return memory;
}

static void watch_all(void) {
  json_get_alloc_funcs(&given_malloc, &given_free);
  is_plain = given_malloc == malloc && given_free == free;
  json_set_alloc_funcs(watched_malloc, given_free);
}

void zb_json_watch(void) {
  pthread_once(&once, watch_all);
  refused = false;
}

bool zb_json_out_of_memory(void) {
  return refused;
}

zb_status zb_json_parse(const char *text, size_t bytes, size_t flags, json_t **out, json_error_t *error) {
  zb_json_watch();
  *out = json_loadb(text, bytes, flags, error);
  if (!refused) return NULL;
  json_decref(*out);
  *out = NULL;
  return ZB_OUT_OF_MEMORY();
}

static int add_to_text(const char *bytes, size_t count, void *text) {
  zb_text *out = text;
  zb_text_add_bytes(out, bytes, count);
  return out->failed ? -1 : 0;
}

zb_status zb_json_print(const json_t *value, size_t flags, zb_text *out) {
  zb_json_watch();
  int failed = json_dump_callback(value, add_to_text, out, flags);
  if (refused) out->failed = true;
  if (out->failed) return ZB_OUT_OF_MEMORY();
  return failed ? ZB_ERROR(INVALID, "a value cannot be written as JSON: a text is not UTF-8, or a number is not finite") : NULL;
}
