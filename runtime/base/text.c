/* Growing text, glob: see text.h. Tests: test/runtime/base/text_test.c. */
#include "runtime/base/text.h"
#include "runtime/base/memory.h"

#include <stdio.h>
#include <string.h>

void zb_text_deinit(zb_text *text) {
  zb_free(text->data);
  *text = (zb_text){0};
}

/* Makes room for `more` bytes and a NUL. */
static bool reserve(zb_text *text, size_t more) {
  if (text->failed) return false;
  size_t needed = text->length + more + 1;
  if (needed <= text->length) text->failed = true; /* overflow */
  if (!text->failed && !zb_grow((void **)&text->data, &text->capacity, needed, 1)) text->failed = true;
  return !text->failed;
}

void zb_text_add_arguments(zb_text *text, const char *format, va_list arguments) {
  va_list measured;
  va_copy(measured, arguments);
  int length = vsnprintf(NULL, 0, format, measured);
  va_end(measured);
  if (length < 0) text->failed = true;
  if (!reserve(text, (size_t)length)) return;
  vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
  text->length += (size_t)length;
}

void zb_text_add(zb_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  zb_text_add_arguments(text, format, arguments);
  va_end(arguments);
}

void zb_text_add_bytes(zb_text *text, const char *bytes, size_t count) {
  if (!reserve(text, count)) return;
  memcpy(text->data + text->length, bytes, count);
  text->length += count;
  text->data[text->length] = '\0';
}

size_t zb_byte_order_mark(const char *text, size_t bytes) {
  return bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* C0, DEL, and as UTF-8 writes them: C1 and U+00A0 and U+00AD; U+2000 to U+200F, U+2028 to U+202F and U+205F to U+206F
 * (spaces, joiners, directions); U+FEFF. */
size_t zb_text_control(const char *at) {
  const unsigned char first = (unsigned char)at[0], second = first ? (unsigned char)at[1] : 0,
                      third = second ? (unsigned char)at[2] : 0;
  if (first == 0xc2 && ((second >= 0x80 && second <= 0xa0) || second == 0xad)) return 2;
  if (first == 0xe2 && second == 0x80 && ((third >= 0x80 && third <= 0x8f) || (third >= 0xa8 && third <= 0xaf)))
    return 3;
  if (first == 0xe2 && second == 0x81 && third >= 0x9f && third <= 0xaf) return 3;
  if (first == 0xef && second == 0xbb && third == 0xbf) return 3;
  return (first > 0 && first < 0x20 && first != '\n' && first != '\t') || first == 0x7f ? 1 : 0;
}

void zb_text_add_shown(zb_text *text, const char *shown) {
  const char *begin = shown;
  while (*shown) {
    size_t control = zb_text_control(shown);
    if (control > 0) zb_text_add_bytes(text, begin, (size_t)(shown - begin));
    for (size_t i = 0; i < control; ++i)
      zb_text_add(text, "\\x%02x", (unsigned)(unsigned char)shown[i]);
    shown += control > 0 ? control : 1;
    if (control > 0) begin = shown;
  }
  zb_text_add_bytes(text, begin, (size_t)(shown - begin));
}

char *zb_shown(const char *text) {
  zb_text shown = {0};
  zb_text_add_shown(&shown, text);
  return zb_text_take(&shown);
}

char *zb_text_take(zb_text *text) {
  if (!text->data && !text->failed) zb_text_add_bytes(text, "", 0);
  char *data = text->data;
  if (text->failed) {
    zb_free(data);
    data = NULL;
  }
  *text = (zb_text){0};
  return data;
}

bool zb_ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), wanted = strlen(ending);
  return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

int zb_word_index(const char *words, const char *word) {
  const size_t length = strlen(word);
  int index = 0;
  for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "), ++index)
    if (strcspn(at, " ") == length && strncmp(at, word, length) == 0) return index;
  return -1;
}

bool zb_glob(const char *pattern, const char *text) {
  const char *star = NULL, *star_text = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = pattern++;
      star_text = text;
    } else if (*pattern == '?' || *pattern == *text) {
      ++pattern;
      ++text;
    } else if (star) {
      pattern = star + 1; /* let the last star take one byte more */
      text = ++star_text;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    ++pattern;
  return *pattern == '\0';
}
