/* jansson's memory, watched: see json.h.
 *
 * Its allocation functions are those of the process. Ours ask those that were set before, so that other users of
 * jansson in this process keep what they have; where those are malloc and free, zb_alloc counts, and tests make it
 * fail.
 *
 * A reader of jansson that is refused memory for the text of a token computes with the shorter text, and writes past
 * the end of what it takes for the value. So it is never refused that: a reserve is put aside before, and once it is
 * touched the reader finds the end of its input.
 *
 * Tests: test/runtime/base/json_test.c
 */
#include "runtime/base/json.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t given_malloc;
static json_free_t given_free;
static bool is_plain;
static _Thread_local bool refused;
static _Thread_local struct reserve {
  char *data; /* NULL: there is none */
  size_t used, bytes;
} reserve;

static void *take_from_reserve(size_t bytes) {
  enum { ALIGNMENT = 16 };
  size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!reserve.data || rounded > reserve.bytes - reserve.used) return NULL;
  reserve.used += rounded;
  return reserve.data + reserve.used - rounded;
}

static void *watched_malloc(size_t bytes) {
  void *memory = refused ? NULL : is_plain ? zb_alloc(bytes) : given_malloc(bytes);
  if (memory) return memory;
  refused = true;
  return take_from_reserve(bytes);
}

static void watched_free(void *memory) {
  uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)reserve.data;
  if (reserve.data && at >= begin && at - begin < reserve.bytes) return; /* with the reserve */
  given_free(memory);
}

static void watch_all(void) {
  json_get_alloc_funcs(&given_malloc, &given_free);
  is_plain = given_malloc == malloc && given_free == free;
  json_set_alloc_funcs(watched_malloc, watched_free);
}

void zb_json_watch(void) {
  pthread_once(&once, watch_all);
  refused = false;
}

bool zb_json_out_of_memory(void) { return refused; }

/* At least the bytes of the longest text or number: what lies between two quotes. */
static size_t longest_token(const char *text, size_t bytes) {
  size_t longest = 0, begin = 0;
  for (size_t i = 0; i < bytes; ++i) {
    i += text[i] == '\\'; /* and what it escapes */
    if (i >= bytes || text[i] != '"') continue;
    if (i - begin > longest) longest = i - begin;
    begin = i;
  }
  return bytes - begin > longest ? bytes - begin : longest;
}

/* The text, in small pieces, so that not much is read any more once memory was refused. */
typedef struct source {
  const char *text;
  size_t at, bytes;
} source;

static size_t next_piece(void *buffer, size_t size, void *context) {
  enum { PIECE_BYTES = 64 };
  source *from = context;
  size_t count = from->bytes - from->at;
  if (count > PIECE_BYTES) count = PIECE_BYTES;
  if (count > size) count = size;
  if (refused) return 0;
  memcpy(buffer, from->text + from->at, count);
  from->at += count;
  return count;
}

/* jansson's column is that of the end of the token that it names, "... near 'TOKEN'": here, of its first character. */
static void point_at_token(json_error_t *error) {
  static const char near[] = " near '";
  const char *token = strstr(error->text, near);
  const char *at = token ? token + sizeof near - 1 : "";
  for (int characters = 0; *at && at[1]; ++at)
    error->column -= (*at & 0xc0) != 0x80 && characters++ > 0;
  if (error->line < 1) error->line = 1;
  if (error->column < 1) error->column = 1;
}

zb_status zb_json_parse(const char *text, size_t bytes, size_t flags, json_t **out, json_error_t *error) {
  enum { PIECE_NEEDS = 1 << 16, TOKEN_NEEDS = 4 }; /* a text doubles until its token fits */
  source from = {text, zb_byte_order_mark(text, bytes), bytes};
  zb_json_watch();
  *out = NULL;
  reserve = (struct reserve){.bytes = TOKEN_NEEDS * longest_token(text, bytes) + PIECE_NEEDS};
  reserve.data = zb_alloc(reserve.bytes);
  if (!reserve.data) return ZB_OUT_OF_MEMORY();
  *out = json_load_callback(next_piece, &from, flags, error);
  if (refused) {
    json_decref(*out);
    *out = NULL;
  }
  zb_free(reserve.data);
  reserve = (struct reserve){0};
  if (!*out) point_at_token(error);
  return refused ? ZB_OUT_OF_MEMORY() : NULL;
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
  return failed ? ZB_ERROR(INVALID, "a value cannot be written as JSON: a text is not UTF-8, or a number is not finite")
                : NULL;
}
