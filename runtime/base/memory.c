/* Growing arrays, and the report of an assertion that does not hold. Tests: test/runtime/base/text_test.c. */
#include "runtime/base/memory.h"

#include "runtime/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

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
