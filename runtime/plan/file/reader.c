/* Reading plan files: zb_plan_read of runtime/plan/file/plan.h. The layout is in plan.proto and container.h.
 *
 * Trust grows in steps, and nothing is used before its step: size, magic, version, checksums; then protobuf-c parses a
 * section with an allocator that has a limit (a few times the section, so that a small file cannot ask for much
 * memory); then this file copies it into the structs that columns.c describes, checking texts and lengths; then
 * zb_plan_check_* compares every number with what it indexes. Checksums only find accidents: each later step is safe on
 * bytes that somebody made up.
 *
 * Tests: test/runtime/plan/file/reader_test.c
 */
#include <string.h>

#include "plan.pb-c.h"
#include "runtime/base/digest.h"
#include "runtime/base/mapping.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/columns.h"
#include "runtime/plan/file/container.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/runs.h"

/* How far a table is read. */
typedef struct cursor {
  Zb__Plan__Column **columns;
  size_t at, left, data_at;
} cursor;

typedef struct reader {
  const char *name; /* of the file, for messages */
  const unsigned char *bytes;
  size_t byte_count;
  zb_plan *plan;
  const char *text; /* of the section, in the plan's memory; ends with NUL */
  size_t text_bytes;
  cursor tables[ZB_TABLE_COUNT]; /* of the section */
  uint64_t runs_left;            /* bytes that lists of runs may still take */
  const char *fault;             /* first thing that is wrong with the section; sticky */
  bool out_of_memory;
} reader;

static void fail(reader *it, const char *fault) {
  if (!it->fault) it->fault = fault;
}

static void *take(reader *it, size_t count, size_t element_bytes) {
  size_t bytes = 0;
  void *memory = __builtin_mul_overflow(count, element_bytes, &bytes) ? NULL : zb_plan_alloc(it->plan, bytes);
  if (!memory) {
    it->out_of_memory = true;
    fail(it, "out of memory");
  }
  return memory;
}

static const char *get_text(reader *it, int64_t offset) {
  if (offset >= 0 && (uint64_t)offset < it->text_bytes) return it->text + offset;
  fail(it, "a text lies outside of the section's texts");
  return "";
}

static void take_text(reader *it, ProtobufCBinaryData blob) {
  it->text = "";
  it->text_bytes = 0;
  if (blob.len == 0 || blob.data[blob.len - 1] != '\0') {
    fail(it, "its texts do not end with NUL");
    return;
  }
  char *copy = take(it, blob.len, 1);
  if (!copy) return;
  memcpy(copy, blob.data, blob.len);
  it->text = copy;
  it->text_bytes = blob.len;
}

/* A field of a later version would be skipped by protobuf: nothing is silently ignored here. */
static void check_known(reader *it, const ProtobufCMessage *message) {
  if (message->n_unknown_fields > 0) fail(it, "it has fields that this version does not know");
}

/* ---- protobuf-c's memory, limited ---- */

typedef struct parse_memory {
  zb_plan *scratch;
  uint64_t left;
  bool refused; /* there is no more memory: protobuf-c says of that only what it says of a damaged file */
} parse_memory;

static void *parse_alloc(void *context, size_t bytes) {
  parse_memory *memory = context;
  if (bytes > memory->left) return NULL;
  memory->left -= bytes;
  void *given = zb_plan_alloc(memory->scratch, bytes);
  if (!given) memory->refused = true;
  return given;
}

static void parse_free(void *context, void *pointer) {
  (void)context; /* all at once, with the scratch plan */
  (void)pointer;
}

/* ---- Rows ---- */

static size_t count_of(const Zb__Plan__Column *column, zb_column_kind kind) {
  if (kind == ZB_COLUMN_REAL) return column->n_reals;
  return kind == ZB_COLUMN_ADDRESS ? column->n_addresses : column->n_values;
}

/* The tables must be whole before anything is read: as many columns as ours, of equal length. */
static void open_tables(reader *it, const Zb__Plan__Section *section) {
  if (section->n_tables != ZB_TABLE_COUNT) fail(it, "it was written by a version with other tables");
  for (int t = 0; !it->fault && t < ZB_TABLE_COUNT; ++t) {
    const Zb__Plan__Table *table = section->tables[t];
    const zb_table_def *def = &zb_plan_tables[t];
    check_known(it, &table->base);
    it->tables[t] = (cursor){.columns = table->columns};
    if (table->n_columns != 0 && table->n_columns != (size_t)def->count)
      fail(it, "it was written by a version with other columns");
    for (size_t c = 0; !it->fault && c < table->n_columns; ++c) {
      const Zb__Plan__Column *column = table->columns[c];
      const size_t count = count_of(column, def->columns[c].kind);
      check_known(it, &column->base);
      if (c == 0) it->tables[t].left = count;
      if (count != it->tables[t].left) fail(it, "the columns of a table have different lengths");
      const bool has_other = column->n_values + column->n_reals + column->n_addresses > count;
      if (has_other || (column->data.len > 0 && def->columns[c].kind != ZB_COLUMN_BYTES))
        fail(it, "a column has values of another kind");
    }
  }
}

/* Nothing may be left over: a reader that takes it for nothing would hide a fault of the writer. */
static void close_tables(reader *it, const Zb__Plan__Section *section) {
  for (int t = 0; !it->fault && t < ZB_TABLE_COUNT; ++t) {
    if (it->tables[t].left > 0) fail(it, "a table has rows that nothing refers to");
    for (size_t c = 0; c < section->tables[t]->n_columns; ++c)
      if (section->tables[t]->columns[c]->data.len > it->tables[t].data_at)
        fail(it, "a column has bytes that no row refers to");
  }
}

static void read_rows(reader *it, zb_plan_table table, char *rows, size_t count);

/* Bytes come one after the other, each row's as long as it says; -1: none. */
static void read_bytes(reader *it, cursor *from, const ProtobufCBinaryData *data, const zb_column *column,
                       int64_t length, char *row) {
  uint8_t *bytes = NULL;
  uint64_t count = length > 0 ? (uint64_t)length : 0;
  if (count > data->len - from->data_at) {
    fail(it, "the bytes of a column end too early");
    return;
  }
  if (length >= 0) bytes = take(it, (size_t)count, 1);
  if (bytes && count) memcpy(bytes, data->data + from->data_at, (size_t)count);
  from->data_at += (size_t)count;
  memcpy(row + column->offset, &bytes, sizeof bytes);
  memcpy(row + column->length_offset, &count, sizeof count);
}

static void read_children(reader *it, const zb_column *column, int64_t length, char *row) {
  const bool is_list = column->kind == ZB_COLUMN_LIST, is_fixed = column->length_offset == ZB_LENGTH_FIXED;
  const int32_t count = (int32_t)length;
  int32_t known = is_fixed ? column->length_max : 0;
  if (column->shares_length) memcpy(&known, row + column->length_offset, sizeof known);
  if (length < (is_list ? 0 : -1) || length > column->length_max ||
      ((is_fixed || column->shares_length) && count != known)) {
    fail(it, "a list has a wrong length");
    return;
  }
  char *rows = row + column->offset;
  const size_t used = count > 0 ? (size_t)count : 0;
  if (used > it->tables[column->of].left) {
    fail(it, "a list is longer than its table");
    return;
  }
  if (is_list) {
    rows = take(it, used, zb_plan_tables[column->of].row_bytes);
    memcpy(row + column->offset, &rows, sizeof rows);
  }
  if (!is_fixed) memcpy(row + column->length_offset, &count, sizeof count);
  read_rows(it, column->of, rows, used);
}

/* Whether the next runs are of so many rows; how many of them. */
static bool count_runs(const cursor *from, size_t rows, size_t *out) {
  size_t count = 0;
  for (; rows > 0; ++count) {
    const int64_t of_run = count < from->left ? from->columns[0]->values[from->at + count] : 0;
    if (of_run <= 0 || (uint64_t)of_run > rows) return false;
    rows -= (size_t)of_run;
  }
  *out = count;
  return true;
}

/* A list of rows of its own and of such that repeat earlier ones. */
static void read_pool(reader *it, const zb_column *column, int64_t length, char *row) {
  const zb_table_def *def = &zb_plan_tables[column->of];
  const size_t rows = length > 0 && length <= column->length_max ? (size_t)length : 0;
  const uint32_t count = (uint32_t)rows;
  size_t runs = 0, at = 0;
  if ((int64_t)rows != length || rows * def->row_bytes > it->runs_left ||
      !count_runs(&it->tables[ZB_TABLE_run], rows, &runs)) {
    fail(it, "a list of runs has a wrong length");
    return;
  }
  it->runs_left -= rows * def->row_bytes;
  char *list = take(it, rows, def->row_bytes);
  memcpy(row + column->offset, &list, sizeof list);
  memcpy(row + column->length_offset, &count, sizeof count);
  for (; !it->fault && runs > 0; --runs) {
    zb_plan_run run;
    read_rows(it, ZB_TABLE_run, (char *)&run, 1);
    if (it->fault) return;
    if (run.from == 0 && run.count > it->tables[column->of].left)
      fail(it, "a list is longer than its table");
    else if (run.from == 0)
      read_rows(it, column->of, list + at * def->row_bytes, run.count);
    else if (!zb_plan_run_repeat(def, list, at, &run))
      fail(it, "a list repeats what is not in it");
    at += run.count;
  }
}

static void read_value(reader *it, const zb_column *column, cursor *from, const Zb__Plan__Column *values, char *row) {
  const char *text = NULL;
  switch (column->kind) {
  case ZB_COLUMN_NUMBER:
  case ZB_COLUMN_BITS:
    if (!zb_column_set(column, row, values->values[from->at])) fail(it, "a number of a table is too large");
    return;
  case ZB_COLUMN_ADDRESS:
    if (!zb_column_set(column, row, (int64_t)values->addresses[from->at])) fail(it, "an address is too large");
    return;
  case ZB_COLUMN_REAL:
    memcpy(row + column->offset, &values->reals[from->at], sizeof(double));
    return;
  case ZB_COLUMN_TEXT:
    text = get_text(it, values->values[from->at]);
    memcpy(row + column->offset, &text, sizeof text);
    return;
  case ZB_COLUMN_BYTES:
    read_bytes(it, from, &values->data, column, values->values[from->at], row);
    return;
  case ZB_COLUMN_LIST:
  case ZB_COLUMN_ARRAY:
    read_children(it, column, values->values[from->at], row);
    return;
  case ZB_COLUMN_POOL:
    read_pool(it, column, values->values[from->at], row);
    return;
  }
}

/* The next `count` rows of a table, which has as many. What a row lists follows it in the other tables. */
static void read_rows(reader *it, zb_plan_table table, char *rows, size_t count) {
  const zb_table_def *def = &zb_plan_tables[table];
  cursor *from = &it->tables[table];
  for (size_t i = 0; !it->fault && i < count; ++i, ++from->at, --from->left)
    for (int c = 0; !it->fault && c < def->count; ++c)
      read_value(it, &def->columns[c], from, from->columns[c], rows + i * def->row_bytes);
}

/* The one row of a table that is not in a list. */
static void read_row(reader *it, zb_plan_table table, void *row) {
  if (it->tables[table].left != 1) fail(it, "it has not one row of what the section is about");
  read_rows(it, table, row, 1);
}

/* Numbers of enumerations mean what ours mean. */
static void read_names(reader *it) {
  zb_plan_names names = {0}, own = {0};
  read_row(it, ZB_TABLE_names, &names);
  own.items = take(it, ZB_PLAN_NAMES_MAX, sizeof *own.items);
  if (it->fault) return;
  zb_plan_names_fill(&own);
  bool same = names.count == own.count;
  for (int i = 0; same && i < own.count; ++i)
    same = strcmp(names.items[i], own.items[i]) == 0;
  if (!same) fail(it, "it was written by a version with other tables (dtypes, job kinds, regions or columns)");
}

/* ---- The file ---- */

static zb_status damaged(const reader *it, const char *what) {
  return zb_status_hint(ZB_ERROR(INVALID, "%s: not a usable plan: %s", it->name, what),
                        "compile the model again with this version of zbc");
}

static zb_status check_container(const reader *it, uint32_t *section_count) {
  if (it->byte_count < ZB_PLAN_START_BYTES) return damaged(it, "the file is too short");
  if (it->byte_count > ZB_PLAN_BYTES_MAX) return damaged(it, "the file is larger than 1 GiB");
  if (memcmp(it->bytes, ZB_PLAN_MAGIC, ZB_PLAN_MAGIC_BYTES) != 0)
    return damaged(it, "it does not start with the magic of plans");
  uint32_t version = zb_get_u32(it->bytes + 8);
  if (version != ZB_PLAN_VERSION)
    return zb_status_hint(ZB_ERROR(INVALID, "%s: the plan is of format version %u, this program reads version %d",
                                   it->name, version, ZB_PLAN_VERSION),
                          "compile the model again with this version of zbc");
  uint32_t count = zb_get_u32(it->bytes + 12);
  if (count < 2 || count > ZB_PLAN_RANKS_MAX + 1) return damaged(it, "its number of sections is out of range");
  size_t table_bytes = ZB_PLAN_START_BYTES + (size_t)count * ZB_PLAN_ENTRY_BYTES;
  if (it->byte_count < table_bytes + ZB_PLAN_TRAILER_BYTES) return damaged(it, "the file ends inside of its table");
  if (zb_crc32c(0, it->bytes, table_bytes) != zb_get_u32(it->bytes + table_bytes))
    return damaged(it, "the checksum of its table is wrong: the file is damaged");
  uint64_t at = table_bytes + ZB_PLAN_TRAILER_BYTES;
  for (uint32_t i = 0; i < count; ++i) {
    const unsigned char *entry = it->bytes + ZB_PLAN_START_BYTES + (size_t)i * ZB_PLAN_ENTRY_BYTES;
    uint64_t bytes = zb_get_u64(entry + 8);
    if (zb_get_u64(entry) != at || bytes > it->byte_count - at)
      return damaged(it, "a section lies outside of the file");
    at += bytes;
  }
  if (at != it->byte_count) return damaged(it, "the file has bytes after its last section");
  *section_count = count;
  return NULL;
}

/* Parses section `index`: the header, or a rank. */
static zb_status read_section(reader *it, uint32_t index) {
  const unsigned char *entry = it->bytes + ZB_PLAN_START_BYTES + (size_t)index * ZB_PLAN_ENTRY_BYTES;
  const unsigned char *at = it->bytes + zb_get_u64(entry);
  size_t bytes = (size_t)zb_get_u64(entry + 8);
  if (zb_crc32c(0, at, bytes) != zb_get_u32(entry + 16))
    return damaged(it, index == 0 ? "the checksum of its header is wrong: the file is damaged"
                                  : "the checksum of a rank is wrong: the file is damaged");
  /* A number of one byte becomes one of eight. */
  parse_memory memory = {.scratch = zb_plan_create(), .left = (uint64_t)bytes * 16 + (1 << 16)};
  if (!memory.scratch) return ZB_OUT_OF_MEMORY();
  ProtobufCAllocator allocator = {.alloc = parse_alloc, .free = parse_free, .allocator_data = &memory};
  const Zb__Plan__Section *section = zb__plan__section__unpack(&allocator, bytes, at);
  it->fault = section ? NULL : "a section cannot be parsed";
  if (section) {
    check_known(it, &section->base);
    take_text(it, section->text);
    open_tables(it, section);
    if (index == 0) read_names(it);
    read_row(it, index == 0 ? ZB_TABLE_header : ZB_TABLE_rank,
             index == 0 ? (void *)it->plan : &it->plan->ranks[index - 1]);
    close_tables(it, section);
  }
  zb_plan_destroy(memory.scratch);
  if (it->out_of_memory || memory.refused) return ZB_OUT_OF_MEMORY();
  if (!it->fault) return NULL;
  zb_status status = damaged(it, it->fault);
  return index == 0 ? zb_status_note(status, "in its header")
                    : zb_status_note(status, "in the section of rank %u", index - 1);
}

/* count -1: all ranks. */
static zb_status read_plan(reader *it, int first, int count) {
  uint32_t section_count = 0;
  ZB_TRY(check_container(it, &section_count));
  ZB_TRY(read_section(it, 0));
  zb_plan *plan = it->plan;
  if ((uint32_t)plan->rank_count + 1 != section_count) return damaged(it, "it has not one section a rank");
  ZB_TRY(zb_plan_check_header(plan));
  /* The table has the checksum of every section. */
  plan->digest = zb_fnv1a(ZB_FNV_START, it->bytes, ZB_PLAN_START_BYTES + (size_t)section_count * ZB_PLAN_ENTRY_BYTES);
  if (count < 0) count = plan->rank_count;
  if (first < 0 || first > plan->rank_count - count)
    return ZB_ERROR(USAGE, "%s: the plan is for %d ranks, there is no rank %d", it->name, plan->rank_count,
                    first + count - 1);
  plan->ranks = zb_plan_alloc(plan, (size_t)plan->rank_count * sizeof *plan->ranks);
  if (!plan->ranks) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < plan->rank_count; ++i)
    plan->ranks[i].rank = i;
  for (int i = 0; i < plan->rank_count; ++i) {
    if (i < first || i >= first + count) continue;
    ZB_TRY(read_section(it, (uint32_t)i + 1));
    if (plan->ranks[i].rank != i) return damaged(it, "the section of a rank is that of another one");
    ZB_TRY(zb_plan_check_rank(plan, i));
  }
  return NULL;
}

static zb_status read_some(const void *bytes, size_t byte_count, const char *name, int first, int count,
                           zb_plan **out) {
  *out = NULL;
  reader it = {
      .name = name, .bytes = bytes, .byte_count = byte_count, .plan = zb_plan_create(), .runs_left = ZB_PLAN_BYTES_MAX};
  if (!it.plan) return ZB_OUT_OF_MEMORY();
  zb_status status = read_plan(&it, first, count);
  if (status) {
    zb_plan_destroy(it.plan);
    return zb_status_note(status, "reading the plan '%s'", name);
  }
  *out = it.plan;
  return NULL;
}

zb_status zb_plan_read_memory(const void *bytes, size_t byte_count, const char *name, int rank, zb_plan **out) {
  return read_some(bytes, byte_count, name, rank < 0 ? 0 : rank, rank < 0 ? -1 : 1, out);
}

zb_status zb_plan_read(const char *path, int rank, zb_plan **out) {
  return zb_plan_read_some(path, rank < 0 ? 0 : rank, rank < 0 ? -1 : 1, out);
}

zb_status zb_plan_read_some(const char *path, int first, int count, zb_plan **out) {
  zb_status status = NULL;
  zb_mapping file; /* some ranks touch only their own pages */
  *out = NULL;
  status = zb_mapping_open("the plan", path, &file);
  if (status)
    return zb_status_hint_text(status) ? status : zb_status_hint(status, "give the folder that zbc wrote with -o");
  status = file.count ? read_some(file.bytes, (size_t)file.count, path, first, count, out)
                      : ZB_ERROR(INVALID, "%s: not a usable plan: the file is empty", path);
  status = zb_status_first((zb_status[]){zb_mapping_check(&file), status}, 2);
  if (status) zb_plan_destroy(*out), *out = NULL;
  zb_mapping_close(&file);
  return status;
}
