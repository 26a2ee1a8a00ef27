/* Columns of a plan's lists: expansions of plan_columns.def. Tests: test/runtime/plan/reader_test.c. */
#include "runtime/plan/columns.h"

#include <stddef.h>
#include <string.h>

#define COLUMN(structure, type, name) {#name, offsetof(structure, name), sizeof(type), (type) - 1 < (type)1},
#define SLICE(structure, name)                                                                                         \
  {#name "_begin", offsetof(structure, name.begin), sizeof(uint32_t), false},                                          \
      {#name "_count", offsetof(structure, name.count), sizeof(uint32_t), false},
#define COLUMNS_OF(items, structure) {items, sizeof items / sizeof items[0], sizeof(structure)}

static const zb_column messages[] = {
#define ZB_MESSAGE_COLUMN(type, name, low, high, fault) COLUMN(zb_plan_message, type, name)
#include "runtime/plan/plan_columns.def"
#undef ZB_MESSAGE_COLUMN
};
static const zb_column collectives[] = {
#define ZB_COLLECTIVE_COLUMN(type, name, low, high, fault) COLUMN(zb_plan_collective, type, name)
#define ZB_COLLECTIVE_SLICE(name, pool, fault) SLICE(zb_plan_collective, name)
#include "runtime/plan/plan_columns.def"
#undef ZB_COLLECTIVE_COLUMN
#undef ZB_COLLECTIVE_SLICE
};
static const zb_column segments[] = {
#define ZB_SEGMENT_COLUMN(type, name, low, high, fault) COLUMN(zb_plan_segment, type, name)
#include "runtime/plan/plan_columns.def"
#undef ZB_SEGMENT_COLUMN
};
static const zb_column jobs[] = {
#define ZB_JOB_COLUMN(type, name, low, high, fault) COLUMN(zb_plan_job, type, name)
#define ZB_JOB_SLICE(name, pool, fault) SLICE(zb_plan_job, name)
#include "runtime/plan/plan_columns.def"
#undef ZB_JOB_COLUMN
#undef ZB_JOB_SLICE
};

const zb_columns zb_message_columns = COLUMNS_OF(messages, zb_plan_message);
const zb_columns zb_collective_columns = COLUMNS_OF(collectives, zb_plan_collective);
const zb_columns zb_segment_columns = COLUMNS_OF(segments, zb_plan_segment);
const zb_columns zb_job_columns = COLUMNS_OF(jobs, zb_plan_job);

int64_t zb_column_get(const zb_column *column, const void *row) {
  const char *at = (const char *)row + column->offset;
  if (column->bytes == sizeof(int64_t)) {
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return column->is_signed ? (int64_t)(int32_t)value : (int64_t)value;
}

bool zb_column_set(const zb_column *column, void *row, int64_t value) {
  char *at = (char *)row + column->offset;
  if (!column->is_signed && value < 0) return false;
  if (column->bytes == sizeof(int64_t)) {
    memcpy(at, &value, sizeof value);
    return true;
  }
  if (column->is_signed ? value < INT32_MIN || value > INT32_MAX : value > UINT32_MAX) return false;
  uint32_t narrow = (uint32_t)value;
  memcpy(at, &narrow, sizeof narrow);
  return true;
}
