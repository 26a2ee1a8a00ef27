/* Growing text, hash maps and small helpers that every room uses. Not thread-safe. */
#ifndef ZB_BASE_TEXT_H
#define ZB_BASE_TEXT_H

#include "zb/status.h"

/* A growing NUL-terminated text. Out of memory is sticky (`failed`), so that callers test once at the end. */
typedef struct zb_text {
  char *data;
  size_t length, capacity;
  bool failed;
} zb_text;
void zb_text_init(zb_text *text);
void zb_text_deinit(zb_text *text);
void zb_text_add(zb_text *text, const char *format, ...) ZB_PRINTF(2, 3);
void zb_text_add_bytes(zb_text *text, const char *bytes, size_t count);
/* Adds a text as a terminal may be given it: names come from files of strangers. Control characters other than tabs and
 * line ends as \xNN. */
void zb_text_add_shown(zb_text *text, const char *shown);
/* How many bytes the control character at `at` has that a terminal must not be given; 0 if there is none. */
size_t zb_text_control(const char *at);
/* Gives the text to the caller (zb_free); NULL if it failed. */
char *zb_text_take(zb_text *text);

/* Pointer or text keys to int64_t. Keys of text maps are copied. Open addressing. */
typedef struct zb_map zb_map;
zb_map *zb_map_create(void) ZB_MUST_USE;         /* text keys */
zb_map *zb_map_create_pointer(void) ZB_MUST_USE; /* pointer keys */
void zb_map_destroy(zb_map *map);
/* Makes room for `count` keys in all, so that setting them neither grows nor fails. */
bool zb_map_reserve(zb_map *map, size_t count) ZB_MUST_USE;
bool zb_map_set(zb_map *map, const void *key, int64_t value) ZB_MUST_USE; /* false: out of memory */
bool zb_map_get(const zb_map *map, const void *key, int64_t *out);        /* false: not there; out may be NULL */
int64_t zb_map_get_or(const zb_map *map, const void *key, int64_t fallback);
int64_t zb_map_count(const zb_map *map);

/* The candidate that `word` is probably meant to be, or NULL: the one at an edit distance of 1 or 2 (letters of either
 * case, '-' and '_' are the same) that is less than half of the word, else the only one that begins or ends with the
 * word or has it between dashes. */
const char *zb_nearest(const char *word, const char *const *candidates, int count);
/* Adds the hint for a NAME that is none of `names`: its meaning, else the nearest, else all of them. Takes and returns
 * ownership. */
zb_status zb_hint_name(zb_status status, const char *what, const char *name, const char *const *names,
                       int count) ZB_MUST_USE;
/* USAGE: there is no WHAT of that NAME, with that hint. */
zb_status zb_unknown_name(const char *what, const char *name, const char *const *names, int count) ZB_MUST_USE;
/* Whether a text ends so. */
bool zb_ends_with(const char *text, const char *ending);
/* Glob match with * and ?. */
bool zb_glob(const char *pattern, const char *text);
/* CRC32C (Castagnoli) of bytes, continuing from seed (0 at the start). */
uint32_t zb_crc32c(uint32_t seed, const void *bytes, size_t count);
/* FNV-1a, 64 bits; start with ZB_FNV_START. */
#define ZB_FNV_START UINT64_C(1469598103934665603)
uint64_t zb_fnv1a(uint64_t hash, const void *bytes, size_t count);

/* Grows *array (of *capacity elements) to hold at least `needed`; false when out of memory. */
bool zb_grow(void **array, size_t *capacity, size_t needed, size_t element_bytes) ZB_MUST_USE;

/* Whole file into memory (zb_free); limit_bytes 0: no limit. Text gets a NUL after it that is not counted. A pipe
 * without a name, as a shell makes it for
 * <(command) and /dev/stdin, is read to its end; IO for a named one, a folder or a device. */
zb_status zb_file_read(const char *path, uint64_t limit_bytes, char **out, size_t *out_bytes) ZB_MUST_USE;
/* Writes to PATH.tmp.PID, syncs, renames, syncs the folder: the old file stays on any failure. */
zb_status zb_file_write_atomic(const char *path, const void *bytes, size_t count) ZB_MUST_USE;
zb_status zb_make_folder(const char *path) ZB_MUST_USE; /* with parents; fine if it exists */
/* Whether zb_make_folder(path) would work, and files could be written there; makes nothing. `what` as in
 * zb_output_check. */
zb_status zb_output_folder_check(const char *what, const char *path) ZB_MUST_USE;

/* Bugs, on in release too; DASSERT only in debug builds (kernels, inner loops). */
_Noreturn void zb_assert_failed(const char *file, int line, const char *text);
#define ZB_ASSERT(condition) ((condition) ? (void)0 : zb_assert_failed(__FILE__, __LINE__, #condition))
#ifdef NDEBUG
#define ZB_DASSERT(condition) ((void)0)
#else
#define ZB_DASSERT(condition) ZB_ASSERT(condition)
#endif

#endif
