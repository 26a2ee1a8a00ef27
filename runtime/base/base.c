/* Allocation, element types and shapes: include/zb/base.h.
 *
 * The only state of the process is three atomic numbers: how many allocations were asked for so far, which one (by
 * that number) is to fail, and how many got nothing. All are safe to use from every thread.
 *
 * Tests: test/runtime/base/base_test.c
 */
#include "runtime/base/memory.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static atomic_uint_fast64_t allocation_count;
static atomic_uint_fast64_t allocation_to_fail; /* absolute number; 0: none */
static atomic_uint_fast64_t allocations_refused;

/* What an allocation gives, noted if it is nothing. */
static void *noted(void *memory) {
  if (!memory) atomic_fetch_add_explicit(&allocations_refused, 1, memory_order_relaxed);
  return memory;
}

uint64_t zb_allocations_refused(void) { return atomic_load_explicit(&allocations_refused, memory_order_relaxed); }

zb_status zb_memory_first(zb_status status, uint64_t before) {
  if (zb_status_code(status) != ZB_INVALID || zb_allocations_refused() == before) return status;
  zb_status_free(status);
  return ZB_OUT_OF_MEMORY();
}

/* Counts one allocation; false if it is the one that must fail. */
static bool count_allocation(void) {
  uint64_t number = atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed) + 1;
  return number != atomic_load_explicit(&allocation_to_fail, memory_order_relaxed);
}

void *zb_alloc(size_t bytes) { return noted(count_allocation() ? calloc(1, bytes > 0 ? bytes : 1) : NULL); }

void *zb_realloc(void *memory, size_t bytes) {
  return noted(count_allocation() ? realloc(memory, bytes > 0 ? bytes : 1) : NULL);
}

/* Pages of 4 KiB are so many that looking them up costs the kernels of a step 2 to 8 %; Linux gives pages of 2 MiB to
 * who asks. */
enum { HUGE_PAGE = 1 << 21 };

void *zb_alloc_aligned(size_t bytes, size_t alignment) {
  if (!count_allocation()) return noted(NULL);
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (bytes >= HUGE_PAGE && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
  void *memory = NULL;
  if (posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) != 0) return noted(NULL);
#ifdef MADV_HUGEPAGE
  if (bytes >= HUGE_PAGE)
    (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* a wish: refused, all works the same */
#endif
  memset(memory, 0, bytes);
  return memory;
}

void zb_free(void *memory) { free(memory); }

/* Smaller ones come from the heap, where sanitizers see their ends. */
enum { PAGES_MIN = 4 * HUGE_PAGE };

static size_t whole_pages(size_t bytes) { return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

/* A mapping of the system's begins where a small page does: what lies before and behind the first and last huge page of
 * `size` bytes is given back. */
static void *map_huge_pages(size_t size) {
  char *memory = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
  if (before > 0) munmap(memory, before);
  if (before < HUGE_PAGE) munmap(memory + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
  (void)madvise(memory + before, size, MADV_HUGEPAGE); /* a wish, as above */
#endif
  return memory + before;
}

void *zb_alloc_pages(size_t bytes) {
  if (bytes < PAGES_MIN) return zb_alloc_aligned(bytes, ZB_ALIGNMENT);
  if (!count_allocation() || bytes > SIZE_MAX - 2 * (size_t)HUGE_PAGE) return NULL;
  return map_huge_pages(whole_pages(bytes));
}

void zb_free_pages(void *memory, size_t bytes) {
  if (bytes < PAGES_MIN)
    zb_free(memory);
  else if (memory)
    munmap(memory, whole_pages(bytes));
}

uint64_t zb_allocation_count(void) { return atomic_load_explicit(&allocation_count, memory_order_relaxed); }

void zb_allocation_fail_at(uint64_t n) {
  uint64_t number = n == 0 ? 0 : zb_allocation_count() + n;
  atomic_store_explicit(&allocation_to_fail, number, memory_order_relaxed);
}

char *zb_strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = zb_alloc(bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

static const struct dtype_row {
  const char *name;
  size_t bytes;
  const char *safetensors;
} dtype_rows[] = {
#define ZB_DTYPE(ID, name, bytes, safetensors, onnx) {name, bytes, safetensors},
#include "zb/dtypes.def"
#undef ZB_DTYPE
};

const char *zb_dtype_name(zb_dtype dtype) {
  return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].name : "invalid";
}

size_t zb_dtype_bytes(zb_dtype dtype) { return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].bytes : 0; }

const char *zb_dtype_safetensors(zb_dtype dtype) {
  return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].safetensors : "INVALID";
}

bool zb_dtype_parse(const char *name, zb_dtype *out) {
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i) {
    if (strcmp(dtype_rows[i].name, name) != 0 && strcmp(dtype_rows[i].safetensors, name) != 0) continue;
    *out = (zb_dtype)i;
    return true;
  }
  return false;
}

int64_t zb_shape_elements(const zb_shape *shape) {
  int64_t elements = 1;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0 || __builtin_mul_overflow(elements, shape->dims[i], &elements)) return -1;
  return elements;
}

int64_t zb_shape_bytes(const zb_shape *shape) {
  int64_t elements = zb_shape_elements(shape), bytes = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, (int64_t)zb_dtype_bytes(shape->dtype), &bytes)) return -1;
  return bytes;
}

bool zb_shape_equal(const zb_shape *a, const zb_shape *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

/* Appends a number and an 'x'; nothing of it where it does not fit before `limit`. Not snprintf: compiles write a shape
 * for every operand. */
static size_t add_dimension(char *text, size_t length, size_t limit, int64_t value) {
  char digits[24];
  size_t count = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do
    digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) digits[count++] = '-';
  if (length + count + 1 >= limit) return length;
  while (count > 0)
    text[length++] = digits[--count];
  text[length++] = 'x';
  return length;
}

const char *zb_shape_text(const zb_shape *shape, char text[96]) {
  enum { TEXT_BYTES = 96 };
  size_t length = 0;
  for (int i = 0; i < shape->rank; ++i) {
    size_t before = length;
    length = add_dimension(text, length, TEXT_BYTES, shape->dims[i]);
    if (length == before) break;
  }
  /* Eight dimensions of 19 digits do not fit: such a shape loses its end, never the terminator. */
  const char *name = zb_dtype_name(shape->dtype);
  size_t bytes = strlen(name);
  if (bytes > TEXT_BYTES - 1 - length) bytes = TEXT_BYTES - 1 - length;
  memcpy(text + length, name, bytes);
  text[length + bytes] = '\0';
  return text;
}

const char *zb_bytes_text(uint64_t bytes, char out[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) /* 1023.95 would be printed as 1024.0 */
    value /= 1024, ++unit;
  snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return out;
}

const char *zb_time_text(double seconds, char out[32]) {
  static const struct {
    const char *name;
    double size;
  } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  size_t unit = 0;
  while (seconds < 0.999995 * units[unit].size && unit + 1 < sizeof units / sizeof units[0])
    ++unit;
  if (seconds == 0) unit = 0; /* "0.00 s" */
  snprintf(out, 32, "%.2f %s", seconds / units[unit].size, units[unit].name);
  return out;
}

bool zb_bytes_parse(const char *text, uint64_t *out) {
  static const char units[] = "KMGT";
  char *end = NULL;
  if (!isdigit((unsigned char)*text)) return false; /* no sign, blank, infinity */
  const bool whole = strspn(text, "0123456789") == strcspn(text, "KMGTkmgt");
  const double number = strtod(text, &end);
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  const double bytes = unit ? number * (double)(UINT64_C(1) << (10 * (unit - units + 1))) : number;
  if (unit) end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
  if (*end || (!unit && !whole) || !(bytes >= 1 && bytes <= 1e18)) return false;
  *out = (uint64_t)bytes;
  return true;
}
