/* Fields of a plan's structs: runtime/plan/file/columns.h. Tests: test/runtime/plan/file/reader_test.c. */
#include "runtime/plan/file/columns.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/assert.h"

#define TYPE_OF(structure, member) __typeof__(((structure *)0)->member)
#define NUMBER(structure, member)                                                                                      \
  {.name = #member,                                                                                                    \
   .kind = ZB_COLUMN_NUMBER,                                                                                           \
   .offset = offsetof(structure, member),                                                                              \
   .bytes = sizeof(TYPE_OF(structure, member)),                                                                        \
   .is_signed = (TYPE_OF(structure, member)) - 1 < (TYPE_OF(structure, member))1},
#define BITS(structure, member)                                                                                        \
  {.name = #member, .kind = ZB_COLUMN_BITS, .offset = offsetof(structure, member), .bytes = sizeof(uint64_t)},
#define ADDRESS(structure, member)                                                                                     \
  {.name = #member,                                                                                                    \
   .kind = ZB_COLUMN_ADDRESS,                                                                                          \
   .offset = offsetof(structure, member),                                                                              \
   .bytes = sizeof(uint64_t),                                                                                          \
   .is_signed = (TYPE_OF(structure, member)) - 1 < (TYPE_OF(structure, member))1},
#define REAL(structure, member) {.name = #member, .kind = ZB_COLUMN_REAL, .offset = offsetof(structure, member)},
#define TEXT(structure, member) {.name = #member, .kind = ZB_COLUMN_TEXT, .offset = offsetof(structure, member)},
#define BYTES(structure, member, length)                                                                               \
  {.name = #member,                                                                                                    \
   .kind = ZB_COLUMN_BYTES,                                                                                            \
   .offset = offsetof(structure, member),                                                                              \
   .length_offset = offsetof(structure, length)},
#define CHILDREN(row_kind, structure, member, length_at, most, shared, table)                                          \
  {.name = #member,                                                                                                    \
   .kind = row_kind,                                                                                                   \
   .offset = offsetof(structure, member),                                                                              \
   .length_offset = length_at,                                                                                         \
   .shares_length = shared,                                                                                            \
   .length_max = most,                                                                                                 \
   .of = ZB_TABLE_##table},
#define ROWS_MAX(structure, member) (int)(sizeof(TYPE_OF(structure, member)) / sizeof(((structure *)0)->member[0]))
#define LIST(structure, member, length, table)                                                                         \
  CHILDREN(ZB_COLUMN_LIST, structure, member, offsetof(structure, length), INT32_MAX, false, table)
#define POOL(structure, member, length, table)                                                                         \
  CHILDREN(ZB_COLUMN_POOL, structure, member, offsetof(structure, length), INT32_MAX, false, table)
#define ARRAY(structure, member, length, table)                                                                        \
  CHILDREN(ZB_COLUMN_ARRAY, structure, member, offsetof(structure, length), ROWS_MAX(structure, member), false, table)
/* Their length is that of an earlier column. */
#define LIST_BESIDE(structure, member, length, table)                                                                  \
  CHILDREN(ZB_COLUMN_LIST, structure, member, offsetof(structure, length), INT32_MAX, true, table)
#define ARRAY_BESIDE(structure, member, length, table)                                                                 \
  CHILDREN(ZB_COLUMN_ARRAY, structure, member, offsetof(structure, length), ROWS_MAX(structure, member), true, table)
/* All rows of an array. */
#define ROWS(structure, member, table)                                                                                 \
  CHILDREN(ZB_COLUMN_ARRAY, structure, member, ZB_LENGTH_FIXED, ROWS_MAX(structure, member), false, table)
#define SLICE(structure, member)                                                                                       \
  NUMBER(structure, member.begin)                                                                                      \
  NUMBER(structure, member.count)
/* The fields of a tensor, which is the member `of` (with a dot) or the struct itself. */
#define TENSOR(structure, of)                                                                                          \
  TEXT(structure, of name)                                                                                             \
  NUMBER(structure, of shape.dtype)                                                                                    \
  ARRAY(structure, of shape.dims, of shape.rank, i64)                                                                  \
  ADDRESS(structure, of offset)                                                                                        \
  BITS(structure, of digest)                                                                                           \
  NUMBER(structure, of cut)                                                                                            \
  LIST(structure, of runs, of run_count, i64)                                                                          \
  NUMBER(structure, of flat)                                                                                           \
  LIST(structure, of dims, of dim_count, i64)
#define VALUE(type)                                                                                                    \
  {.name = "value", .kind = ZB_COLUMN_NUMBER, .bytes = sizeof(type), .is_signed = (type) - 1 < (type)1},

static const zb_column names_columns[] = {LIST(zb_plan_names, items, count, text)};
static const zb_column header_columns[] = {
    /* clang-format off */
    TEXT(zb_plan, producer) TEXT(zb_plan, model) TEXT(zb_plan, schedule) TEXT(zb_plan, placement)
    TEXT(zb_plan, optimizer) TEXT(zb_plan, precision)
    NUMBER(zb_plan, rank_count) NUMBER(zb_plan, chunk_count) NUMBER(zb_plan, micro_batches)
    NUMBER(zb_plan, replicas) NUMBER(zb_plan, sharding) NUMBER(zb_plan, sum_groups) NUMBER(zb_plan, sum_inner)
    NUMBER(zb_plan, shards)
    LIST(zb_plan, shard_sums, shard_sum_count, i32)
    LIST(zb_plan, stage_rank, stage_count, i32)
    NUMBER(zb_plan, link_latency_ps) REAL(zb_plan, link_ps_per_byte) NUMBER(zb_plan, link_copies)
    NUMBER(zb_plan, link_wake_ps) NUMBER(zb_plan, job_ps) NUMBER(zb_plan, read_ps) NUMBER(zb_plan, step_ps)
    REAL(zb_plan, copy_ps_per_byte)
    BITS(zb_plan, model_hash) NUMBER(zb_plan, value_digests)
    LIST(zb_plan, inputs, input_count, input)
    LIST(zb_plan, arguments, argument_count, text)
    LIST(zb_plan, outputs, output_count, output)
    LIST(zb_plan, messages, message_count, message)
    NUMBER(zb_plan, evaluates) NUMBER(zb_plan, weighted) NUMBER(zb_plan, inference)
    NUMBER(zb_plan, evaluation_messages) NUMBER(zb_plan, evaluation_collectives)
    LIST(zb_plan, collectives, collective_count, collective)
    POOL(zb_plan, pool_u64, pool_u64_count, u64)};
static const zb_column rank_columns[] = {
    NUMBER(zb_plan_rank, rank) NUMBER(zb_plan_rank, arena_bytes) NUMBER(zb_plan_rank, load_count)
    NUMBER(zb_plan_rank, evaluation_count)
    NUMBER(zb_plan_rank, evaluation_slots.offset) NUMBER(zb_plan_rank, evaluation_slots.bytes)
    NUMBER(zb_plan_rank, evaluation_workspace.offset) NUMBER(zb_plan_rank, evaluation_workspace.bytes)
    ROWS(zb_plan_rank, regions, range)
    LIST(zb_plan_rank, parameters, parameter_count, parameter)
    LIST(zb_plan_rank, states, state_count, tensor)
    LIST(zb_plan_rank, constants, constant_count, constant)
    LIST(zb_plan_rank, settings, setting_count, setting)
    LIST(zb_plan_rank, subprograms, subprogram_count, subprogram)
    LIST(zb_plan_rank, segments, segment_count, segment)
    LIST(zb_plan_rank, jobs, job_count, job)
    POOL(zb_plan_rank, pool_u64, pool_u64_count, u64)
    POOL(zb_plan_rank, pool_ranges, pool_range_count, range)
    POOL(zb_plan_rank, pool_u32, pool_u32_count, u32)};
static const zb_column text_columns[] = {{.name = "value", .kind = ZB_COLUMN_TEXT}};
static const zb_column i32_columns[] = {VALUE(int32_t)}, u32_columns[] = {VALUE(uint32_t)};
static const zb_column i64_columns[] = {VALUE(int64_t)}, u64_columns[] = {VALUE(uint64_t)};
static const zb_column f64_columns[] = {{.name = "value", .kind = ZB_COLUMN_REAL}};
static const zb_column range_columns[] = {NUMBER(zb_plan_range, offset) NUMBER(zb_plan_range, bytes)};
static const zb_column run_columns[] = {
    NUMBER(zb_plan_run, count) NUMBER(zb_plan_run, from) NUMBER(zb_plan_run, shift)};
static const zb_column input_columns[] = {
    TEXT(zb_plan_input, name)
    NUMBER(zb_plan_input, shape.dtype)
    ARRAY(zb_plan_input, shape.dims, shape.rank, i64)};
static const zb_column output_columns[] = {
    TEXT(zb_plan_output, name)
    NUMBER(zb_plan_output, shape.dtype)
    ARRAY(zb_plan_output, shape.dims, shape.rank, i64)};
static const zb_column output_home_columns[] = {
    NUMBER(zb_plan_output_home, output) NUMBER(zb_plan_output_home, base) NUMBER(zb_plan_output_home, offset)};
static const zb_column tensor_columns[] = {TENSOR(zb_plan_tensor, )};
static const zb_column parameter_columns[] = {
    TENSOR(zb_plan_parameter, tensor.)
    NUMBER(zb_plan_parameter, trained) NUMBER(zb_plan_parameter, buffer) NUMBER(zb_plan_parameter, owner)
    NUMBER(zb_plan_parameter, state_begin) NUMBER(zb_plan_parameter, state_count)
    ADDRESS(zb_plan_parameter, gradient_offset)};
static const zb_column constant_columns[] = {
    TENSOR(zb_plan_constant, tensor.)
    BYTES(zb_plan_constant, bytes, byte_count)
    NUMBER(zb_plan_constant, computed)};
static const zb_column setting_columns[] = {
    NUMBER(zb_plan_setting, kind) TEXT(zb_plan_setting, name) ADDRESS(zb_plan_setting, offset)
    NUMBER(zb_plan_setting, own)
    LIST(zb_plan_setting, defaults, default_count, f64)};
static const zb_column subprogram_columns[] = {
    TEXT(zb_plan_subprogram, name)
    NUMBER(zb_plan_subprogram, stage) NUMBER(zb_plan_subprogram, kind)
    LIST(zb_plan_subprogram, bases, base_count, text)
    LIST_BESIDE(zb_plan_subprogram, base_bytes, base_count, u64)
    LIST(zb_plan_subprogram, instructions, instruction_count, instruction)
    NUMBER(zb_plan_subprogram, workspace_bytes)
    NUMBER(zb_plan_subprogram, time_ps) NUMBER(zb_plan_subprogram, first_ps)
    REAL(zb_plan_subprogram, flops) REAL(zb_plan_subprogram, product_flops)
    BITS(zb_plan_subprogram, key)
    NUMBER(zb_plan_subprogram, loss_base) NUMBER(zb_plan_subprogram, loss_offset)
    LIST(zb_plan_subprogram, outputs, output_count, output_home)};
static const zb_column instruction_columns[] = {
    TEXT(zb_plan_instruction, op) TEXT(zb_plan_instruction, location)
    LIST(zb_plan_instruction, inputs, input_count, operand)
    LIST(zb_plan_instruction, outputs, output_count, operand)
    LIST(zb_plan_instruction, attrs, attr_count, attr)
    NUMBER(zb_plan_instruction, accumulate)
    ADDRESS(zb_plan_instruction, scratch_offset) NUMBER(zb_plan_instruction, scratch_bytes)
    NUMBER(zb_plan_instruction, time_ps)
    REAL(zb_plan_instruction, flops) REAL(zb_plan_instruction, product_flops)
    TEXT(zb_plan_instruction, cost_op)};
static const zb_column operand_columns[] = {
    NUMBER(zb_plan_operand, base) ADDRESS(zb_plan_operand, offset) NUMBER(zb_plan_operand, dtype)
    ARRAY(zb_plan_operand, shape, rank, i64)
    ARRAY_BESIDE(zb_plan_operand, strides, rank, i64)};
static const zb_column attr_columns[] = {
    TEXT(zb_attr, name) NUMBER(zb_attr, kind) NUMBER(zb_attr, i) REAL(zb_attr, f) TEXT(zb_attr, s)
    LIST(zb_attr, ints, count, i64)};
static const zb_column message_columns[] = {
#define ZB_MESSAGE_COLUMN(type, name, low, high, fault) NUMBER(zb_plan_message, name)
#include "runtime/plan/file/plan_columns.def"
};
static const zb_column collective_columns[] = {
#define ZB_COLLECTIVE_COLUMN(type, name, low, high, fault) NUMBER(zb_plan_collective, name)
#define ZB_COLLECTIVE_SLICE(name, pool, fault) SLICE(zb_plan_collective, name)
#include "runtime/plan/file/plan_columns.def"
};
static const zb_column segment_columns[] = {
#define ZB_SEGMENT_COLUMN(type, name, low, high, fault) NUMBER(zb_plan_segment, name)
#include "runtime/plan/file/plan_columns.def"
};
static const zb_column job_columns[] = {
#define ZB_JOB_COLUMN(type, name, low, high, fault) NUMBER(zb_plan_job, name)
#define ZB_JOB_SLICE(name, pool, fault) SLICE(zb_plan_job, name)
#include "runtime/plan/file/plan_columns.def"
};
/* clang-format on */

const zb_table_def zb_plan_tables[ZB_TABLE_COUNT] = {
#define TABLE(name, structure)                                                                                         \
  {#name, name##_columns, sizeof name##_columns / sizeof name##_columns[0], sizeof(structure)},
    ZB_PLAN_TABLES(TABLE)
#undef TABLE
};

static void add_name(zb_plan_names *names, const char *name) {
  ZB_ASSERT(names->count < ZB_PLAN_NAMES_MAX);
  names->items[names->count++] = name;
}

void zb_plan_names_fill(zb_plan_names *names) {
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i)
    add_name(names, zb_dtype_name((zb_dtype)i));
  for (int i = 0; i < ZB_JOB_KIND_COUNT; ++i)
    add_name(names, zb_job_mnemonic((zb_job_kind)i));
#define ZB_PAYLOAD(ID, letter, help) add_name(names, #ID);
#define ZB_COLLECTIVE(ID, name, adds, gathers, op, help) add_name(names, name);
#include "runtime/plan/file/transfers.def"
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    add_name(names, zb_region_name((zb_region_kind)i));
  for (int i = 0; i < ZB_SETTING_COUNT; ++i)
    add_name(names, zb_setting_find((zb_setting_kind)i)->name);
  for (int t = 0; t < ZB_TABLE_COUNT; ++t) {
    add_name(names, zb_plan_tables[t].name);
    for (int c = 0; c < zb_plan_tables[t].count; ++c)
      add_name(names, zb_plan_tables[t].columns[c].name);
  }
}

int64_t zb_column_get(const zb_column *column, const void *row) {
  const char *at = (const char *)row + column->offset;
  uint64_t value = 0; /* little-endian, as the file */
  memcpy(&value, at, column->bytes);
  return column->is_signed && column->bytes == sizeof(int32_t) ? (int32_t)value : (int64_t)value;
}

bool zb_column_set(const zb_column *column, void *row, int64_t value) {
  memcpy((char *)row + column->offset, &value, column->bytes);
  if (column->kind == ZB_COLUMN_BITS) return true;
  return (column->is_signed || value >= 0) && (column->bytes > 1 || value <= 1) && zb_column_get(column, row) == value;
}
