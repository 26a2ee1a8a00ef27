/* Growing text, nearest name, glob, hashes, growing arrays: runtime/base/text.h.
 *
 * Tests: test/runtime/base/text_test.c
 */
#include "runtime/base/text.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void zb_text_init(zb_text *text) { *text = (zb_text){0}; }

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

void zb_text_add(zb_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) {
    text->failed = true;
    return;
  }
  if (!reserve(text, (size_t)length)) return;
  va_start(arguments, format);
  vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  text->length += (size_t)length;
}

void zb_text_add_bytes(zb_text *text, const char *bytes, size_t count) {
  if (!reserve(text, count)) return;
  memcpy(text->data + text->length, bytes, count);
  text->length += count;
  text->data[text->length] = '\0';
}

/* C0, DEL, and C1 as UTF-8 writes it. */
size_t zb_text_control(const char *at) {
  unsigned char first = (unsigned char)at[0], second = first ? (unsigned char)at[1] : 0;
  if (first == 0xc2 && second >= 0x80 && second < 0xa0) return 2;
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
  zb_text shown;
  zb_text_init(&shown);
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

enum { WORD_MAX = 127 }; /* longer names are compared by their first bytes */

static char plain_letter(char c) { return c == '_' ? '-' : (char)tolower((unsigned char)c); }

static bool same_letter(char a, char b) { return plain_letter(a) == plain_letter(b); }

/* Edit distance: insert, delete, replace, and swap of neighbours (optimal string alignment). Neither the case of
 * letters nor '_' for '-' is a difference. */
static int edit_distance(const char *a, const char *b) {
  int rows[3][WORD_MAX + 1];
  int a_length = (int)strnlen(a, WORD_MAX), b_length = (int)strnlen(b, WORD_MAX);
  for (int j = 0; j <= b_length; ++j)
    rows[0][j] = j;
  for (int i = 1; i <= a_length; ++i) {
    int *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= b_length; ++j) {
      int best = before[j - 1] + !same_letter(a[i - 1], b[j - 1]);
      if (before[j] + 1 < best) best = before[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped && two_before[j - 2] + 1 < best) best = two_before[j - 2] + 1;
      now[j] = best;
    }
  }
  return rows[a_length % 3][b_length];
}

/* Whether `word` stands in a candidate as whole parts between dashes. */
static bool has_part(const char *candidate, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = candidate; *at; ++at) {
    size_t same = 0;
    while (same < length && at[same] && same_letter(at[same], word[same]))
      ++same;
    if (same == length && (at == candidate || same_letter(at[-1], '-')) && (!at[same] || same_letter(at[same], '-')))
      return true;
  }
  return false;
}

static bool starts_so(const char *candidate, const char *word) {
  while (*word && *candidate && same_letter(*word, *candidate))
    ++word, ++candidate;
  return !*word;
}

/* The only candidate that begins with the word, or has it as a part; two of them are none. */
static const char *only_longer(const char *word, const char *const *candidates, int count) {
  enum { PART_MIN = 3 };
  const char *found = NULL;
  if (strlen(word) < PART_MIN) return NULL;
  for (int i = 0; i < count; ++i) {
    if (!starts_so(candidates[i], word) && !has_part(candidates[i], word)) continue;
    if (found) return NULL;
    found = candidates[i];
  }
  return found;
}

const char *zb_nearest(const char *word, const char *const *candidates, int count) {
  enum { NEAR = 2, LETTERS_A_SLIP = 8 }; /* long names are typed with more slips */
  const char *nearest = NULL;
  int nearest_distance = 0;
  const int letters = (int)strnlen(word, WORD_MAX),
            far = letters / LETTERS_A_SLIP > NEAR ? letters / LETTERS_A_SLIP : NEAR;
  for (int i = 0; i < count; ++i) {
    int distance = edit_distance(word, candidates[i]);
    if (nearest && distance >= nearest_distance) continue;
    nearest = candidates[i];
    nearest_distance = distance;
  }
  if (nearest && nearest_distance <= far && nearest_distance * 2 < letters) return nearest;
  return only_longer(word, candidates, count);
}

bool zb_ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), wanted = strlen(ending);
  return length >= wanted && strcmp(text + length - wanted, ending) == 0;
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

/* Tables for eight bytes at a time (slicing-by-8, M. Kounavis and F. Berry, 2005), filled once. */
static uint32_t crc_tables[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void fill_crc_tables(void) {
  const uint32_t polynomial = 0x82f63b78u; /* Castagnoli, bits reversed */
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 1) ? (crc >> 1) ^ polynomial : crc >> 1;
    crc_tables[0][i] = crc;
  }
  for (int slice = 1; slice < 8; ++slice)
    for (uint32_t i = 0; i < 256; ++i)
      crc_tables[slice][i] = (crc_tables[slice - 1][i] >> 8) ^ crc_tables[0][crc_tables[slice - 1][i] & 0xff];
}

uint32_t zb_crc32c(uint32_t seed, const void *bytes, size_t count) {
  pthread_once(&crc_once, fill_crc_tables);
  const unsigned char *at = bytes;
  uint32_t crc = ~seed;
  for (; count >= 8; count -= 8, at += 8) {
    crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    crc = crc_tables[7][crc & 0xff] ^ crc_tables[6][crc >> 8 & 0xff] ^ crc_tables[5][crc >> 16 & 0xff] ^
          crc_tables[4][crc >> 24] ^ crc_tables[3][at[4]] ^ crc_tables[2][at[5]] ^ crc_tables[1][at[6]] ^
          crc_tables[0][at[7]];
  }
  for (; count > 0; --count, ++at)
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

uint64_t zb_fnv1a(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  return hash;
}

bool zb_grow(void **array, size_t *capacity, size_t needed, size_t element_bytes) {
  if (needed <= *capacity) return true;
  size_t wanted = *capacity < 8 ? 8 : *capacity;
  while (wanted < needed) {
    if (wanted > SIZE_MAX / 2) return false;
    wanted += wanted / 2;
  }
  size_t bytes = 0;
  if (__builtin_mul_overflow(wanted, element_bytes, &bytes)) return false;
  void *grown = zb_realloc(*array, bytes);
  if (!grown) return false;
  *array = grown;
  *capacity = wanted;
  return true;
}

void zb_assert_failed(const char *file, int line, const char *text) {
  fprintf(stderr, "%s:%d: bug: this must hold: %s\n", file, line, text);
  abort();
}
