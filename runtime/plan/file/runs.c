/* Repetitions in lists of addresses: runs.h.
 *
 *   rows     100 164 300 20   500 564 700   9   164 300 20
 *   runs     4 of its own;   3 from row 0 on, + 400;   1 of its own;   3 from row 1 on, + 0
 *
 * Two rows side by side (WINDOW), as they lie to each other, are looked for among earlier ones, of which the last that
 * was noted counts; as many as agree from there on are one run, if it is longer than its own row (SHORTEST).
 *
 * Tests: test/runtime/plan/file/runs_test.c
 */
#include "runtime/plan/file/runs.h"

#include <string.h>

enum { WINDOW = 2, SHORTEST = 3, NOTES_LOG_MAX = 20 };

typedef struct finder {
  const zb_table_def *def;
  const char *rows;
  size_t count;
  uint32_t *notes; /* [1 << notes_log] by hash: 1 + a row where a window begins */
  int notes_log;
} finder;

static const char *row_of(const finder *it, size_t row) { return it->rows + row * it->def->row_bytes; }
static uint64_t number_of(const finder *it, size_t row) {
  return (uint64_t)zb_column_get(&it->def->columns[0], row_of(it, row));
}

/* All of a row but its first number. */
static uint64_t rest_of(const finder *it, size_t row) {
  uint64_t rest = 0;
  for (int c = 1; c < it->def->count; ++c)
    rest = rest * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)zb_column_get(&it->def->columns[c], row_of(it, row));
  return rest;
}

static bool same_rest(const finder *it, size_t a, size_t b) {
  for (int c = 1; c < it->def->count; ++c)
    if (zb_column_get(&it->def->columns[c], row_of(it, a)) != zb_column_get(&it->def->columns[c], row_of(it, b)))
      return false;
  return true;
}

static uint32_t *note_of(const finder *it, size_t row) {
  const uint64_t base = number_of(it, row);
  uint64_t hash = 0;
  for (size_t i = 0; i < WINDOW; ++i) {
    hash = (hash ^ (number_of(it, row + i) - base)) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (hash >> 29) ^ rest_of(it, row + i)) * UINT64_C(0x9e3779b97f4a7c15);
  }
  return &it->notes[hash >> (64 - it->notes_log)];
}

/* How many rows from `row` on are those from `from` on, shifted. */
static size_t common(const finder *it, size_t from, size_t row) {
  const uint64_t shift = number_of(it, row) - number_of(it, from);
  size_t length = 0;
  while (row + length < it->count && number_of(it, row + length) - number_of(it, from + length) == shift &&
         same_rest(it, from + length, row + length))
    ++length;
  return length;
}

static void push(zb_arena *arena, zb_plan_runs *runs, zb_plan_run run) {
  if (run.count > 0) (void)ZB_PUSH(arena, runs, run);
}

void zb_plan_runs_find(const zb_table_def *def, const void *rows, size_t count, zb_arena *arena, zb_plan_runs *out) {
  finder it = {.def = def, .rows = rows, .count = count, .notes_log = 4};
  size_t own = 0, at = 0; /* where rows of their own begin that are in no run yet */
  *out = (zb_plan_runs){0};
  while (it.notes_log < NOTES_LOG_MAX && (size_t)1 << it.notes_log < 2 * count)
    ++it.notes_log;
  if (count > WINDOW) it.notes = ZB_NEW(arena, uint32_t, (size_t)1 << it.notes_log);
  while (it.notes && at + WINDOW <= count) {
    uint32_t *note = note_of(&it, at);
    const uint32_t from = *note;
    const size_t length = from ? common(&it, from - 1, at) : 0;
    if (length < SHORTEST) {
      *note = (uint32_t)++at;
      continue;
    }
    push(arena, out, (zb_plan_run){.count = (uint32_t)(at - own)});
    push(arena, out, (zb_plan_run){(uint32_t)length, from, (int64_t)(number_of(&it, at) - number_of(&it, from - 1))});
    own = at += length;
  }
  push(arena, out, (zb_plan_run){.count = (uint32_t)(count - own)});
}

bool zb_plan_run_repeat(const zb_table_def *def, void *rows, size_t at, const zb_plan_run *run) {
  const zb_column *first = &def->columns[0];
  if (run->from == 0 || run->from > at) return false;
  for (size_t i = 0; i < run->count; ++i) {
    const char *from = (const char *)rows + (run->from - 1 + i) * def->row_bytes;
    char *to = (char *)rows + (at + i) * def->row_bytes;
    memcpy(to, from, def->row_bytes);
    if (!zb_column_set(first, to, (int64_t)((uint64_t)zb_column_get(first, from) + (uint64_t)run->shift))) return false;
  }
  return true;
}
