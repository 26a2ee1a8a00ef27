/* The structs of a plan as rows of tables: which fields they have, and where. Writer and reader of plan files walk
 * these lists and know no field by name. A new field is a row of plan_columns.def or of columns.c. */
#pragma once

#include "runtime/plan/file/plan.h"

/* A part of a list as the file has it: runs.h. */
typedef struct zb_plan_run {
  uint32_t count, from;
  int64_t shift;
} zb_plan_run;

/* What the numbers of enumerations mean: the first row of the header. */
typedef struct zb_plan_names {
  const char **items; /* of dtypes, kinds of jobs, payloads, kinds of collectives, regions, settings, tables and their
                         columns */
  int count;
} zb_plan_names;

/* All tables and the struct of their rows. The header has a row of names and one of header; a rank one of rank. */
#define ZB_PLAN_TABLES(TABLE)                                                                                          \
  TABLE(names, zb_plan_names)                                                                                          \
  TABLE(header, zb_plan)                                                                                               \
  TABLE(rank, zb_plan_rank)                                                                                            \
  TABLE(text, const char *)                                                                                            \
  TABLE(i32, int32_t)                                                                                                  \
  TABLE(u32, uint32_t)                                                                                                 \
  TABLE(i64, int64_t)                                                                                                  \
  TABLE(u64, uint64_t)                                                                                                 \
  TABLE(f64, double)                                                                                                   \
  TABLE(range, zb_plan_range)                                                                                          \
  TABLE(run, zb_plan_run)                                                                                              \
  TABLE(input, zb_plan_input)                                                                                          \
  TABLE(output, zb_plan_output)                                                                                        \
  TABLE(output_home, zb_plan_output_home)                                                                              \
  TABLE(message, zb_plan_message)                                                                                      \
  TABLE(collective, zb_plan_collective)                                                                                \
  TABLE(tensor, zb_plan_tensor)                                                                                        \
  TABLE(parameter, zb_plan_parameter)                                                                                  \
  TABLE(constant, zb_plan_constant)                                                                                    \
  TABLE(setting, zb_plan_setting)                                                                                      \
  TABLE(subprogram, zb_plan_subprogram)                                                                                \
  TABLE(instruction, zb_plan_instruction)                                                                              \
  TABLE(operand, zb_plan_operand)                                                                                      \
  TABLE(attr, zb_attr)                                                                                                 \
  TABLE(segment, zb_plan_segment)                                                                                      \
  TABLE(job, zb_plan_job)
typedef enum zb_plan_table {
#define TABLE(name, structure) ZB_TABLE_##name,
  ZB_PLAN_TABLES(TABLE)
#undef TABLE
      ZB_TABLE_COUNT
} zb_plan_table;
typedef enum zb_column_kind {
  ZB_COLUMN_NUMBER,  /* an integer, an enumeration or a bool */
  ZB_COLUMN_BITS,    /* 64 bits of any value */
  ZB_COLUMN_ADDRESS, /* an integer of 8 bytes, in the file too: how large that is does not depend on where things lie */
  ZB_COLUMN_REAL,    /* a double */
  ZB_COLUMN_TEXT,    /* const char *; NULL is written as "" */
  ZB_COLUMN_BYTES,   /* a pointer to bytes, which can be NULL */
  ZB_COLUMN_LIST,    /* a pointer to rows of another table */
  ZB_COLUMN_POOL,    /* a LIST of rows of numbers, many of which repeat others: in the file as runs (runs.h) */
  ZB_COLUMN_ARRAY    /* rows of another table within the struct */
} zb_column_kind;

#define ZB_LENGTH_FIXED SIZE_MAX

typedef struct zb_column {
  const char *name;
  zb_column_kind kind;
  size_t offset, bytes; /* in the struct; bytes: of numbers */
  bool is_signed;       /* of numbers */
  /* Of BYTES (8 bytes), LIST, POOL and ARRAY (4 bytes): where their length is. An ARRAY can have -1 for none, or always
   * all of its rows: ZB_LENGTH_FIXED. */
  size_t length_offset;
  bool shares_length; /* an earlier column has the same */
  int length_max;     /* of ARRAY */
  zb_plan_table of;   /* of LIST, POOL and ARRAY */
} zb_column;

typedef struct zb_table_def {
  const char *name;
  const zb_column *columns;
  int count;
  size_t row_bytes;
} zb_table_def;

extern const zb_table_def zb_plan_tables[ZB_TABLE_COUNT];

/* Fills names->items, which has room for ZB_PLAN_NAMES_MAX. */
enum { ZB_PLAN_NAMES_MAX = 512 };
void zb_plan_names_fill(zb_plan_names *names);
/* The number that a row has in a column of the kinds NUMBER, BITS and ADDRESS. */
int64_t zb_column_get(const zb_column *column, const void *row);
/* False where the number does not fit the field. */
bool zb_column_set(const zb_column *column, void *row, int64_t value) ZB_MUST_USE;
