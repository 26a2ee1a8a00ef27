/* Growing text, and what a text looks like. Not thread-safe. */
#pragma once

#include <stdarg.h>

#include "zb/status.h"

/* A growing NUL-terminated text. Out of memory is sticky (`failed`), so that callers test once at the end. {0} is
 * an empty text. */
typedef struct zb_text {
  char *data;
  size_t length, capacity;
  bool failed;
} zb_text;
void zb_text_deinit(zb_text *text);
void zb_text_add(zb_text *text, const char *format, ...) ZB_PRINTF(2, 3);
void zb_text_add_arguments(zb_text *text, const char *format, va_list arguments) ZB_PRINTF(2, 0);
void zb_text_add_bytes(zb_text *text, const char *bytes, size_t count);
/* Adds a text as a terminal may be given it: names come from untrusted files. As \xNN: control characters other than
 * tabs and line ends, and characters that nobody sees (a byte order mark, a space that does not break). */
void zb_text_add_shown(zb_text *text, const char *shown);
/* How many bytes the character at `at` has that is written so; 0 if there is none. */
size_t zb_text_control(const char *at);
/* The bytes of a byte order mark at the start of a text: 3, as spreadsheets and editors write it, or 0. */
size_t zb_byte_order_mark(const char *text, size_t bytes);
/* Gives the text to the caller (zb_free); NULL if it failed. */
char *zb_text_take(zb_text *text);

/* Whether a text ends so. */
bool zb_ends_with(const char *text, const char *ending);
/* The number of a word in a list with blanks between; -1: it is not there. */
int zb_word_index(const char *words, const char *word);
/* Glob match with * and ?. */
bool zb_glob(const char *pattern, const char *text);
