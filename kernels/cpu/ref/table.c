/* The table of the reference kernels: the KERNEL rows of zb/ops.def, found by name.
 *
 * The rows are an expansion of the op table, so an op without a reference function does not link, and one without a row
 * of knows.def does not compile. They come in the order of that table; an index sorted by name is made once, under
 * pthread_once, on the first lookup. */
#include "kernels/cpu/ref/ref.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
#define ZB_REF_KNOWS(op, operands, optional, results, optional_results, accumulates, attributes) KNOWS_##op,
#include "kernels/cpu/ref/knows.def"
  KNOWS_COUNT
};

#define ZB_REF_KNOWS(op, operands, optional, results, optional_results, accumulates, attributes)                       \
  [KNOWS_##op] = {operands, optional, results, optional_results, accumulates, attributes},
static const zb_kernel_knows known[KNOWS_COUNT] = {
#include "kernels/cpu/ref/knows.def"
};

#define ZB_REF_ROW_KERNEL(text, name) {text, zb_ref_##name, NULL, &known[KNOWS_##name]},
#define ZB_REF_ROW_VIEW(text, name)
#define ZB_REF_ROW_COMPOSITE(text, name)
#define ZB_REF_ROW_STRUCTURE(text, name)
#define ZB_OP(name, CLASS) ZB_REF_ROW_##CLASS(#name, name)
#define ZB_GRAD(name, CLASS) ZB_REF_ROW_##CLASS(#name "_grad", name##_grad)
static const zb_kernel rows[] = {
#include "zb/ops.def"
};
#undef ZB_OP
#undef ZB_GRAD

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const zb_kernel *by_name[ROW_COUNT];

static int compare_rows(const void *a, const void *b) {
  const zb_kernel *const *left = a, *const *right = b;
  return strcmp((*left)->op, (*right)->op);
}

static void sort_rows(void) {
  for (int i = 0; i < ROW_COUNT; ++i)
    by_name[i] = &rows[i];
  qsort(by_name, ROW_COUNT, sizeof by_name[0], compare_rows);
}

static int compare_name(const void *key, const void *row) {
  const zb_kernel *const *kernel = row;
  return strcmp(key, (*kernel)->op);
}

const zb_kernel *zb_kernel_reference(const char *op) {
  if (!op || pthread_once(&once, sort_rows)) return NULL;
  const zb_kernel *const *found = bsearch(op, by_name, ROW_COUNT, sizeof by_name[0], compare_name);
  return found ? *found : NULL;
}
