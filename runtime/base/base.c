/* Allocation: include/zb/base.h, memory.h.
 *
 * The only state of the process is three atomic numbers: how many allocations were asked for so far, which one (by
 * that number) is to fail, and how many got nothing. All are safe to use from every thread.
 *
 * Tests: test/runtime/base/base_test.c
 */
#include "runtime/base/memory.h"

#include <stdatomic.h>
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

/* Counts one allocation; false if it is the one that must fail. */
static bool count_allocation(void) {
  uint64_t number = atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed) + 1;
  return number != atomic_load_explicit(&allocation_to_fail, memory_order_relaxed);
}

void *zb_alloc(size_t bytes) { return noted(count_allocation() ? calloc(1, bytes > 0 ? bytes : 1) : NULL); }

void *zb_realloc(void *memory, size_t bytes) {
  return noted(count_allocation() ? realloc(memory, bytes > 0 ? bytes : 1) : NULL);
}

/* Looking up pages of 4 KiB costs the kernels of a step 2 to 8 %; Linux gives pages of 2 MiB on request. */
enum { HUGE_PAGE = 1 << 21 };

void *zb_alloc_aligned(size_t bytes, size_t alignment) {
  if (!count_allocation()) return noted(NULL);
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (bytes >= HUGE_PAGE && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
  void *memory = NULL;
  if (posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) != 0) return noted(NULL);
#ifdef MADV_HUGEPAGE
  if (bytes >= HUGE_PAGE)
    (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* a hint: refused, all works the same */
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
  (void)madvise(memory + before, size, MADV_HUGEPAGE); /* a hint, as above */
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
