/* What passes leave for each other on the program, as structs: tables in attributes, and what an argument or a result
 * of a function stands for. Each column is named once, here; the attributes are in ir/attributes.def. A new table is a
 * row of ZB_TABLES and its columns, and the row of its attribute with as many numbers. */
#pragma once

#include "ir/dialect.h"
#include "runtime/base/arena.h"

/* ---- Tables of numbers: dense arrays, a row after the other ---- */

/* source, destination: -1 where the message is a collective, whose members are in zb.members. kind: the letter of its
 * payload (zb_payload_of). Times are those of the simulated schedule, in ps. */
#define ZB_COLUMNS_OF_MESSAGES(COLUMN)                                                                                 \
  COLUMN(source)                                                                                                       \
  COLUMN(destination)                                                                                                  \
  COLUMN(source_stage) COLUMN(destination_stage) COLUMN(micro_batch) COLUMN(kind) COLUMN(bytes) COLUMN(complete_ps)
/* In the order of messages. values: how many accumulators the member gives, or parts of a frame; bytes: of each
 * accumulator. lead_ps: of a sum over replicas, how long before the end of the job in front of it its parts are
 * complete. parts: the first of its `values` rows in zb.parts, which members of many messages may have; -1: it has
 * none. */
#define ZB_COLUMNS_OF_MEMBERS(COLUMN)                                                                                  \
  COLUMN(message) COLUMN(rank) COLUMN(values) COLUMN(bytes) COLUMN(lead_ps) COLUMN(parts)
/* What members of collectives on frames give, one list after the other: those of a function, or of a bucket, are there
 * once, for all micro-batches. into: of a sum of a micro-batch, where in the frame of gradients it is added up; of
 * parameters that are gathered for jobs, where in the frame of those; else -1. pool: of those, in which pool of the
 * rank the part lies; else -1. */
#define ZB_COLUMNS_OF_PARTS(COLUMN) COLUMN(offset) COLUMN(bytes) COLUMN(into) COLUMN(pool)
/* What a job reads of parameters of which every replica has a part: pool and place of the part, its bytes, and where
 * all parts lie in the frame "gathered". */
#define ZB_COLUMNS_OF_GATHERS(COLUMN) COLUMN(pool) COLUMN(offset) COLUMN(bytes) COLUMN(into)
#define ZB_COLUMNS_OF_POSTS(COLUMN) COLUMN(message)
#define ZB_COLUMNS_OF_TIMES(COLUMN) COLUMN(start_ps) COLUMN(end_ps)
#define ZB_COLUMNS_OF_ADDRESSES(COLUMN) COLUMN(number)
#define ZB_COLUMNS_OF_WAITS(COLUMN) COLUMN(op) COLUMN(message)
#define ZB_COLUMNS_OF_REGIONS(COLUMN) COLUMN(offset) COLUMN(bytes)
#define ZB_COLUMNS_OF_EVALUATION_REGIONS(COLUMN) COLUMN(offset) COLUMN(bytes)
#define ZB_COLUMNS_OF_STAGE_RANK(COLUMN) COLUMN(rank)
/* Attributes are integers here: the time of a byte is one of 2^-20 ps. */
#define ZB_COLUMNS_OF_COSTS(COLUMN)                                                                                    \
  COLUMN(latency_ps)                                                                                                   \
  COLUMN(ps_per_mebibyte)                                                                                              \
  COLUMN(copies) COLUMN(wake_ps) COLUMN(job_ps) COLUMN(read_ps) COLUMN(step_ps) COLUMN(copy_ps_per_mebibyte)
#define ZB_COLUMNS_OF_BASES(COLUMN) COLUMN(position)
#define ZB_COLUMNS_OF_AT(COLUMN) COLUMN(number)

#define ZB_TABLES(TABLE)                                                                                               \
  TABLE(messages, MESSAGES)                                                                                            \
  TABLE(members, MEMBERS)                                                                                              \
  TABLE(parts, PARTS)                                                                                                  \
  TABLE(gathers, GATHERS)                                                                                              \
  TABLE(posts, POSTS)                                                                                                  \
  TABLE(times, TIMES)                                                                                                  \
  TABLE(addresses, ADDRESSES)                                                                                          \
  TABLE(waits, WAITS)                                                                                                  \
  TABLE(regions, REGIONS)                                                                                              \
  TABLE(evaluation_regions, EVALUATION_REGIONS)                                                                        \
  TABLE(stage_rank, STAGE_RANK) TABLE(costs, COSTS) TABLE(bases, BASES) TABLE(at, AT)

/* A table of an op: count is 0 where it has none. The rows are read one by one, nothing is copied. */
typedef struct zb_table {
  MlirAttribute numbers;
  int count; /* rows */
} zb_table;
zb_table zb_table_get(MlirOperation op, const char *name, int columns);
void zb_table_at(zb_table table, int row, int columns, int64_t *out);
void zb_table_set(MlirOperation op, const char *name, const int64_t *numbers, int count);

/* For zb.messages: zb_messages_row; zb_messages_get(op) and zb_messages_at(table, row); zb_messages_set(op, rows,
 * count), which asserts what holds of them (hold.c). */
#define ZB_COLUMN(column) int64_t column;
#define ZB_TABLE(table, ID)                                                                                            \
  typedef struct zb_##table##_row {                                                                                    \
    ZB_COLUMNS_OF_##ID(ZB_COLUMN)                                                                                      \
  } zb_##table##_row;                                                                                                  \
  enum { ZB_##ID##_COLUMNS = sizeof(zb_##table##_row) / sizeof(int64_t) };                                             \
  static inline zb_table zb_##table##_get(MlirOperation op) {                                                          \
    return zb_table_get(op, ZB_ATTR_##ID, ZB_##ID##_COLUMNS);                                                          \
  }                                                                                                                    \
  static inline zb_##table##_row zb_##table##_at(zb_table table, int row) {                                            \
    zb_##table##_row out;                                                                                              \
    zb_table_at(table, row, ZB_##ID##_COLUMNS, (int64_t *)&out);                                                       \
    return out;                                                                                                        \
  }                                                                                                                    \
  void zb_##table##_hold(const zb_##table##_row *rows, int count);                                                     \
  static inline void zb_##table##_set(MlirOperation op, const zb_##table##_row *rows, int count) {                     \
    zb_##table##_hold(rows, count);                                                                                    \
    zb_table_set(op, ZB_ATTR_##ID, (const int64_t *)rows, count * ZB_##ID##_COLUMNS);                                  \
  }
ZB_TABLES(ZB_TABLE)
#undef ZB_TABLE
#undef ZB_COLUMN

/* The rows begin .. end - 1 of a table whose first column is the message, which rises; found by bisection. */
typedef struct zb_row_range {
  int begin, end;
} zb_row_range;
zb_row_range zb_table_rows_of(zb_table table, int columns, int64_t message);
static inline zb_row_range zb_members_of(zb_table members, int64_t message) {
  return zb_table_rows_of(members, ZB_MEMBERS_COLUMNS, message);
}
/* The rows of a member in zb.parts; none where the table does not have them. */
static inline zb_row_range zb_parts_of(zb_table parts, const zb_members_row *member) {
  const bool there = member->parts >= 0 && member->values >= 0 && member->parts <= parts.count &&
                     member->values <= parts.count - member->parts;
  return there ? (zb_row_range){(int)member->parts, (int)(member->parts + member->values)} : (zb_row_range){0, 0};
}

/* The rank of each stage, from zb.stage_rank. NULL: out of memory. */
int *zb_stage_ranks(zb_arena *arena, MlirOperation module, int *out_count) ZB_MUST_USE;

/* ---- What an argument or a result stands for ---- */

/* A column for each attribute that an argument or a result of a function may have. Where one is absent, the column is
 * NULL (a name), -1 (a number), false (a flag) or null (a list of reals). Names are borrowed from the MLIR context. */
#define ZB_PORT_COLUMNS(NAME, NUMBER, FLAG, REALS)                                                                     \
  NAME(input, INPUT)                                                                                                   \
  NAME(param, PARAM)                                                                                                   \
  NAME(frozen, FROZEN)                                                                                                 \
  NAME(buffer, BUFFER)                                                                                                 \
  NAME(state, STATE)                                                                                                   \
  NAME(constant, CONSTANT)                                                                                             \
  NAME(update, UPDATE)                                                                                                 \
  NAME(report, REPORT)                                                                                                 \
  NAME(output, OUTPUT)                                                                                                 \
  NAME(sum, SUM)                                                                                                       \
  NAME(frame, FRAME)                                                                                                   \
  NAME(setting, SETTING)                                                                                               \
  NAME(shard, SHARD)                                                                                                   \
  REALS(defaults, DEFAULTS)                                                                                            \
  NUMBER(value, VALUE)                                                                                                 \
  NUMBER(load, LOAD)                                                                                                   \
  NUMBER(use, USE) NUMBER(own, OWN) NUMBER(norm, NORM) FLAG(step, STEP) FLAG(loss, LOSS) FLAG(gathered, GATHERED)

typedef struct zb_port {
#define ZB_NAME(column, ID) const char *column;
#define ZB_NUMBER(column, ID) int64_t column;
#define ZB_FLAG(column, ID) bool column;
#define ZB_REALS(column, ID) MlirAttribute column;
  ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS
} zb_port;
extern const zb_port zb_no_port;

zb_port zb_port_get(MlirAttribute dictionary); /* null: zb_no_port */
/* A walk over the arguments or results of a function (null: none): for (zb_ports at = zb_arguments(f); zb_next(&at);)
 * reads at.port.
 */
typedef struct zb_ports {
  MlirOperation function, end; /* end: the terminator; null: arguments */
  int index, count;
  MlirAttribute attributes;
  zb_port port;
  MlirValue value;
  MlirType type;
} zb_ports;
zb_ports zb_arguments(MlirOperation function);
zb_ports zb_results(MlirOperation function);
bool zb_next(zb_ports *at); /* false behind the last */
zb_port zb_argument_port(MlirOperation function, int index);
zb_port zb_result_port(MlirOperation function, int index);
/* The dictionary of what is present. */
MlirAttribute zb_port_set(MlirContext context, const zb_port *port);
/* The dictionary of one column: zb_frame_port(context, "fb"), zb_value_port(context, 17), zb_loss_port(context, true).
 */
#define ZB_NAME(column, ID) MlirAttribute zb_##column##_port(MlirContext context, const char *column);
#define ZB_NUMBER(column, ID) MlirAttribute zb_##column##_port(MlirContext context, int64_t column);
#define ZB_FLAG(column, ID) MlirAttribute zb_##column##_port(MlirContext context, bool column);
#define ZB_REALS(column, ID)
ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS

/* A sum without a use: what a SUM makes of the accumulators that others have, on a rank that has none. */
static inline bool zb_port_is_summed(const zb_port *port) { return port->sum && port->use < 0; }
/* An accumulator as text: "w#1"; such a sum: "w#". */
enum { ZB_KEY_BYTES = 512 };
const char *zb_sum_key(const zb_port *port, char key[ZB_KEY_BYTES]);

/* ---- What lies in the frame of a pool ---- */

typedef struct zb_entry {
  zb_port port;
  int64_t offset; /* in the frame */
  MlirType type;  /* null: the entry has none */
} zb_entry;

/* table: ZB_ATTR_PARAMETERS and its like, of the module of a rank. */
typedef struct zb_entries {
  MlirAttribute list;
  int count;
} zb_entries;
zb_entries zb_entries_get(MlirOperation rank, const char *table);
zb_entry zb_entries_at(zb_entries entries, int index);
/* entries: of zb_entry_set. */
void zb_entries_set(MlirOperation rank, const char *table, const MlirAttribute *entries, int count);
MlirAttribute zb_entry_set(MlirContext context, const zb_entry *entry);
