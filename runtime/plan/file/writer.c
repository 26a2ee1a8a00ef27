/* Writing plan files: zb_plan_write of runtime/plan/file/plan.h. The layout is in plan.proto and container.h.
 *
 * Each section is one row, of the plan or of a rank, and all that it lists, as columns.c describes it. The same plan
 * always gives the same bytes.
 *
 * Tests: test/runtime/plan/file/reader_test.c
 */
#include <inttypes.h>
#include <string.h>

#include "plan.pb-c.h"
#include "runtime/base/arena.h"
#include "runtime/base/assert.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/columns.h"
#include "runtime/plan/file/container.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/runs.h"

/* What one section needs while it is put together. */
typedef struct section {
  zb_arena arena;
  zb_text text;
  zb_map *offsets; /* text -> its offset */
  Zb__Plan__Section message;
  Zb__Plan__Table tables[ZB_TABLE_COUNT];
  size_t rows[ZB_TABLE_COUNT], capacities[ZB_TABLE_COUNT];
  zb_text data; /* of the one column of bytes */
} section;

static zb_status section_begin(section *it) {
  *it = (section){0};
  zb__plan__section__init(&it->message);
  it->offsets = zb_arena_map(&it->arena);
  it->message.n_tables = ZB_TABLE_COUNT;
  it->message.tables = ZB_NEW(&it->arena, Zb__Plan__Table *, ZB_TABLE_COUNT);
  ZB_TRY(zb_arena_status(&it->arena));
  for (int t = 0; t < ZB_TABLE_COUNT; ++t) {
    Zb__Plan__Table *table = it->message.tables[t] = &it->tables[t];
    zb__plan__table__init(table);
    table->columns = ZB_NEW(&it->arena, Zb__Plan__Column *, zb_plan_tables[t].count);
    for (int c = 0; table->columns && c < zb_plan_tables[t].count; ++c) {
      table->columns[c] = ZB_NEW(&it->arena, Zb__Plan__Column, 1);
      if (table->columns[c]) zb__plan__column__init(table->columns[c]);
    }
  }
  return zb_arena_status(&it->arena);
}

static void section_end(section *it) {
  zb_arena_deinit(&it->arena);
  zb_text_deinit(&it->text);
  zb_text_deinit(&it->data);
}

/* Offset of the text in the section's blob. */
static int64_t intern(section *it, const char *text) {
  int64_t offset = 0;
  if (zb_map_get(it->offsets, text, &offset)) return offset;
  offset = (int64_t)it->text.length;
  zb_text_add_bytes(&it->text, text, strlen(text) + 1);
  if (!zb_map_set(it->offsets, text, offset)) it->arena.failed = true;
  return offset;
}

/* The list of a column that the kind has, each of whose items has 8 bytes. */
static void **items_of(Zb__Plan__Column *column, zb_column_kind kind) {
  if (kind == ZB_COLUMN_REAL) return (void **)&column->reals;
  return kind == ZB_COLUMN_ADDRESS ? (void **)&column->addresses : (void **)&column->values;
}

static size_t *count_of(Zb__Plan__Column *column, zb_column_kind kind) {
  if (kind == ZB_COLUMN_REAL) return &column->n_reals;
  return kind == ZB_COLUMN_ADDRESS ? &column->n_addresses : &column->n_values;
}

/* Room for one more row. */
static bool grow(section *it, zb_plan_table table) {
  const size_t had = it->capacities[table];
  for (int c = 0; c < zb_plan_tables[table].count && it->rows[table] == had; ++c) {
    void **items = items_of(it->tables[table].columns[c], zb_plan_tables[table].columns[c].kind);
    it->capacities[table] = had;
    if (!zb_arena_grow(&it->arena, items, &it->capacities[table], had + 1, sizeof(int64_t))) return false;
  }
  return !it->arena.failed;
}

static void add_rows(section *it, zb_plan_table table, const char *rows, size_t count);

/* The length of a list or of bytes; -1: there are none. */
static int64_t add_children(section *it, const zb_column *column, const char *row) {
  const char *rows = row + column->offset;
  int32_t length = column->length_max;
  if (column->length_offset != ZB_LENGTH_FIXED) memcpy(&length, row + column->length_offset, sizeof length);
  if (column->kind == ZB_COLUMN_LIST) memcpy(&rows, row + column->offset, sizeof rows);
  if (length > 0) add_rows(it, column->of, rows, (size_t)length);
  return length;
}

/* The length of a list that is written as runs. */
static int64_t add_pool(section *it, const zb_column *column, const char *row) {
  const char *rows = NULL;
  uint32_t length = 0;
  zb_plan_runs runs;
  size_t at = 0;
  memcpy(&rows, row + column->offset, sizeof rows);
  memcpy(&length, row + column->length_offset, sizeof length);
  zb_plan_runs_find(&zb_plan_tables[column->of], rows, length, &it->arena, &runs);
  if (runs.count > 0) add_rows(it, ZB_TABLE_run, (const char *)runs.items, runs.count);
  for (size_t i = 0; i < runs.count; at += runs.items[i++].count)
    if (runs.items[i].from == 0)
      add_rows(it, column->of, rows + at * zb_plan_tables[column->of].row_bytes, runs.items[i].count);
  return length;
}

static int64_t add_bytes(section *it, const zb_column *column, const char *row) {
  const char *bytes = NULL;
  uint64_t length = 0;
  memcpy(&bytes, row + column->offset, sizeof bytes);
  memcpy(&length, row + column->length_offset, sizeof length);
  if (!bytes) return -1;
  zb_text_add_bytes(&it->data, bytes, (size_t)length);
  return (int64_t)length;
}

static int64_t value_of(section *it, const zb_column *column, const char *row) {
  const char *text = NULL;
  switch (column->kind) {
  case ZB_COLUMN_NUMBER:
  case ZB_COLUMN_BITS:
  case ZB_COLUMN_ADDRESS:
    return zb_column_get(column, row);
  case ZB_COLUMN_TEXT:
    memcpy(&text, row + column->offset, sizeof text);
    return intern(it, text ? text : "");
  case ZB_COLUMN_BYTES:
    return add_bytes(it, column, row);
  case ZB_COLUMN_LIST:
  case ZB_COLUMN_ARRAY:
    return add_children(it, column, row);
  case ZB_COLUMN_POOL:
    return add_pool(it, column, row);
  case ZB_COLUMN_REAL:
    break;
  }
  return 0;
}

/* What a row lists follows it in the other tables. */
static void add_rows(section *it, zb_plan_table table, const char *rows, size_t count) {
  const zb_table_def *def = &zb_plan_tables[table];
  for (size_t i = 0; i < count && grow(it, table); ++i) {
    const char *row = rows + i * def->row_bytes;
    const size_t at = it->rows[table]++;
    for (int c = 0; c < def->count && !it->arena.failed; ++c) {
      Zb__Plan__Column *column = it->tables[table].columns[c];
      if (def->columns[c].kind == ZB_COLUMN_REAL)
        memcpy(&column->reals[at], row + def->columns[c].offset, sizeof(double));
      else if (def->columns[c].kind == ZB_COLUMN_ADDRESS)
        column->addresses[at] = (uint64_t)value_of(it, &def->columns[c], row);
      else
        column->values[at] = value_of(it, &def->columns[c], row);
    }
  }
}

/* Lengths, now that they are known. */
static void finish(section *it) {
  it->message.text = (ProtobufCBinaryData){.len = it->text.length, .data = (uint8_t *)it->text.data};
  for (int t = 0; t < ZB_TABLE_COUNT; ++t) {
    it->tables[t].n_columns = it->rows[t] ? (size_t)zb_plan_tables[t].count : 0;
    for (size_t c = 0; c < it->tables[t].n_columns; ++c) {
      Zb__Plan__Column *column = it->tables[t].columns[c];
      const zb_column_kind kind = zb_plan_tables[t].columns[c].kind;
      *count_of(column, kind) = it->rows[t];
      if (kind == ZB_COLUMN_BYTES)
        column->data = (ProtobufCBinaryData){.len = it->data.length, .data = (uint8_t *)it->data.data};
    }
  }
}

static void add_names(section *it) {
  zb_plan_names names = {.items = ZB_NEW(&it->arena, const char *, ZB_PLAN_NAMES_MAX)};
  if (!names.items) return;
  zb_plan_names_fill(&names);
  add_rows(it, ZB_TABLE_names, (const char *)&names, 1);
}

/* ---- The file ---- */

/* A section as it stands in the file. */
typedef struct packed {
  zb_text bytes;
  uint32_t crc;
  zb_status status;
} packed;

typedef struct packing {
  const zb_plan *plan;
  packed *sections; /* the header is 0, rank r is r + 1 */
} packing;

static zb_status too_large(void) {
  return ZB_ERROR(MEMORY, "out of memory, or the plan is larger than %" PRIu64 " bytes", ZB_PLAN_BYTES_MAX);
}

static bool pack(const ProtobufCMessage *message, packed *out) {
  const size_t bytes = protobuf_c_message_get_packed_size(message);
  if (bytes > ZB_PLAN_BYTES_MAX || !zb_grow((void **)&out->bytes.data, &out->bytes.capacity, bytes + 1, 1))
    return false;
  protobuf_c_message_pack(message, (uint8_t *)out->bytes.data);
  out->bytes.length = bytes;
  out->crc = zb_crc32c(0, out->bytes.data, bytes);
  return true;
}

static zb_status pack_section(const zb_plan *plan, int index, packed *out) {
  section it;
  zb_status status = section_begin(&it);
  if (!status) {
    intern(&it, "");
    if (index == 0) add_names(&it);
    add_rows(&it, index == 0 ? ZB_TABLE_header : ZB_TABLE_rank,
             index == 0 ? (const char *)plan : (const char *)&plan->ranks[index - 1], 1);
    finish(&it);
    if (it.arena.failed || it.text.failed || it.data.failed || !pack(&it.message.base, out)) status = too_large();
  }
  section_end(&it);
  return status;
}

static void pack_tile(void *context, int64_t tile, void *scratch) {
  packing *all = context;
  (void)scratch;
  all->sections[tile].status = pack_section(all->plan, (int)tile, &all->sections[tile]);
}

/* Sections know nothing of each other, so of a long plan they are packed on two threads. */
static zb_status pack_all(packing *all, int count) {
  zb_threads *threads = zb_plan_is_long(all->plan) ? zb_threads_create(2) : NULL; /* NULL: one thread does it */
  zb_status status = NULL;
  zb_parallel_for(threads, count, pack_tile, all);
  zb_threads_destroy(threads);
  for (int i = 0; i < count; ++i) {
    if (status)
      zb_status_free(all->sections[i].status);
    else
      status = all->sections[i].status;
  }
  return status;
}

/* Appends the section and fills its row of the table. */
static zb_status append(zb_text *file, const packed *made, unsigned char entry[ZB_PLAN_ENTRY_BYTES]) {
  const size_t at = file->length, bytes = made->bytes.length;
  if (bytes > ZB_PLAN_BYTES_MAX - at) return too_large();
  zb_text_add_bytes(file, made->bytes.data, bytes);
  zb_put_u64(entry, at);
  zb_put_u64(entry + 8, bytes);
  zb_put_u32(entry + 16, made->crc);
  zb_put_u32(entry + 20, 0);
  return file->failed ? too_large() : NULL;
}

zb_status zb_plan_write(const zb_plan *plan, const char *path) {
  zb_status status = NULL;
  zb_text file = {0};
  ZB_TRY(zb_plan_check(plan)); /* a file that no reader takes is not written */
  ZB_ASSERT(!zb_plan_is_derived(plan));
  const int count = plan->rank_count + 1;
  const size_t table_bytes = ZB_PLAN_START_BYTES + (size_t)count * ZB_PLAN_ENTRY_BYTES + ZB_PLAN_TRAILER_BYTES;
  packing all = {.plan = plan, .sections = zb_alloc((size_t)count * sizeof *all.sections)};
  unsigned char *table = zb_alloc(table_bytes);
  if (!all.sections || !table) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(pack_all(&all, count));
  zb_text_add_bytes(&file, (const char *)table, table_bytes); /* room for it */
  memcpy(table, ZB_PLAN_MAGIC, ZB_PLAN_MAGIC_BYTES);
  zb_put_u32(table + 8, ZB_PLAN_VERSION);
  zb_put_u32(table + 12, (uint32_t)count);
  for (int i = 0; i < count && !file.failed; ++i)
    ZB_TRY_GOTO(append(&file, &all.sections[i], table + ZB_PLAN_START_BYTES + (size_t)i * ZB_PLAN_ENTRY_BYTES));
  if (file.failed) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  unsigned char *trailer = table + table_bytes - ZB_PLAN_TRAILER_BYTES;
  zb_put_u32(trailer, zb_crc32c(0, table, table_bytes - ZB_PLAN_TRAILER_BYTES));
  memcpy(file.data, table, table_bytes);
  status = zb_file_write_atomic(path, file.data, file.length);

cleanup:
  if (status) status = zb_status_note(status, "writing the plan '%s'", path);
  for (int i = 0; i < count && all.sections; ++i)
    zb_text_deinit(&all.sections[i].bytes);
  zb_free(all.sections);
  zb_text_deinit(&file);
  zb_free(table);
  return status;
}
