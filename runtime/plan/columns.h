/* The rows of a plan's long lists as columns of numbers: what plan_columns.def is for the file. Private to
 * runtime/plan. */
#ifndef ZB_PLAN_COLUMNS_H
#define ZB_PLAN_COLUMNS_H

#include "runtime/plan/plan.h"

/* One field of a struct. */
typedef struct zb_column {
  const char *name;
  size_t offset, bytes; /* in the struct; 4 or 8 bytes */
  bool is_signed;
} zb_column;

/* All fields of a struct, in the order of plan_columns.def. */
typedef struct zb_columns {
  const zb_column *items;
  int count;
  size_t row_bytes;
} zb_columns;

extern const zb_columns zb_message_columns, zb_collective_columns, zb_segment_columns, zb_job_columns;

/* The number that a row has in a column. */
int64_t zb_column_get(const zb_column *column, const void *row);
/* False where the number does not fit the field. */
bool zb_column_set(const zb_column *column, void *row, int64_t value) ZB_MUST_USE;

#endif
