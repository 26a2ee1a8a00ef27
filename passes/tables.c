/* Tables of the program as structs: see passes/tables.h. Tests: the golden programs of test/passes
 * from zb-outline on, such as test/passes/memory.mlir. */

#include "passes/tables.h"

#include "runtime/base/assert.h"

#include "ir/builder.h"
#include "passes/function.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

/* The verifier counts the numbers of an attribute by the width in its row. */
enum {
#define INTEGERS(columns) columns
#define ENTRIES(names, more) 0
#define ZB_ATTRIBUTE(ID, name, kind, ...) WIDTH_##ID = kind,
  UNIT = 0,
  REALS = 0,
  STRING = 0,
  STRINGS = 0,
  INTEGER = 0,
#include "ir/attributes.def"
};
#define ZB_TABLE(table, ID)                                                                                            \
  _Static_assert((int)ZB_##ID##_COLUMNS % (int)WIDTH_##ID == 0, "columns of a table and numbers of its attribute");
ZB_TABLES(ZB_TABLE)
#undef ZB_TABLE

zb_table zb_table_get(MlirOperation op, const char *name, int columns) {
  MlirAttribute numbers = zb_get_attribute(op, name);
  if (mlirAttributeIsNull(numbers) || !mlirAttributeIsADenseI64Array(numbers)) return (zb_table){0};
  return (zb_table){.numbers = numbers, .count = (int)mlirDenseArrayGetNumElements(numbers) / columns};
}

void zb_table_at(zb_table table, int row, int columns, int64_t *out) {
  ZB_ASSERT(row >= 0 && row < table.count);
  for (int i = 0; i < columns; ++i)
    out[i] = mlirDenseI64ArrayGetElement(table.numbers, (intptr_t)row * columns + i);
}

void zb_table_set(MlirOperation op, const char *name, const int64_t *numbers, int count) {
  zb_set_attribute(op, name, mlirDenseI64ArrayGet(mlirOperationGetContext(op), count, numbers));
}

/* The first row of a table whose first column is greater. */
static int first_row_behind(zb_table table, int columns, int64_t message) {
  int low = 0, high = table.count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (mlirDenseI64ArrayGetElement(table.numbers, (intptr_t)middle * columns) <= message)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

zb_row_range zb_table_rows_of(zb_table table, int columns, int64_t message) {
  return (zb_row_range){first_row_behind(table, columns, message - 1), first_row_behind(table, columns, message)};
}

int *zb_stage_ranks(zb_arena *arena, MlirOperation module, int *out_count) {
  const zb_table table = zb_stage_rank_get(module);
  int *ranks = ZB_NEW(arena, int, table.count);
  for (int s = 0; ranks && s < table.count; ++s)
    ranks[s] = (int)zb_stage_rank_at(table, s).rank;
  *out_count = table.count;
  return ranks;
}

/* ---- Ports ---- */

#define ZB_NAME(column, ID) .column = NULL,
#define ZB_NUMBER(column, ID) .column = -1,
#define ZB_FLAG(column, ID) .column = false,
#define ZB_REALS(column, ID) .column = {NULL},
const zb_port zb_no_port = {ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)};
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS

static void read_column(MlirStringRef name, MlirAttribute value, zb_port *out) {
#define ZB_COLUMN(column, ID, is, get)                                                                                 \
  if (name.length == sizeof ZB_ATTR_##ID - 1 && memcmp(name.data, ZB_ATTR_##ID, name.length) == 0 && is(value))        \
    out->column = get;
#define ZB_NAME(column, ID) ZB_COLUMN(column, ID, mlirAttributeIsAString, mlirStringAttrGetValue(value).data)
#define ZB_NUMBER(column, ID) ZB_COLUMN(column, ID, mlirAttributeIsAInteger, mlirIntegerAttrGetValueInt(value))
#define ZB_FLAG(column, ID) ZB_COLUMN(column, ID, !mlirAttributeIsNull, true)
#define ZB_REALS(column, ID) ZB_COLUMN(column, ID, mlirAttributeIsADenseF64Array, value)
  ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS
#undef ZB_COLUMN
}

zb_port zb_port_get(MlirAttribute dictionary) {
  zb_port out = zb_no_port;
  intptr_t count = mlirAttributeIsNull(dictionary) ? 0 : mlirDictionaryAttrGetNumElements(dictionary);
  for (intptr_t i = 0; i < count; ++i) {
    MlirNamedAttribute entry = mlirDictionaryAttrGetElement(dictionary, i);
    read_column(mlirIdentifierStr(entry.name), entry.attribute, &out);
  }
  return out;
}

zb_ports zb_arguments(MlirOperation function) {
  if (mlirOperationIsNull(function)) return (zb_ports){.function = function, .index = -1};
  const int count = (int)mlirBlockGetNumArguments(zb_function_block(function));
  return (zb_ports){.function = function, .index = -1, .count = count};
}

zb_ports zb_results(MlirOperation function) {
  if (mlirOperationIsNull(function)) return (zb_ports){.function = function, .index = -1};
  MlirOperation end = mlirBlockGetTerminator(zb_function_block(function));
  return (zb_ports){.function = function, .end = end, .index = -1, .count = (int)mlirOperationGetNumOperands(end)};
}

bool zb_next(zb_ports *at) {
  if (++at->index >= at->count) return false;
  const bool argument = mlirOperationIsNull(at->end);
  at->attributes =
      argument ? zb_argument_dictionary(at->function, at->index) : zb_result_dictionary(at->function, at->index);
  at->port = zb_port_get(at->attributes);
  at->value = argument ? mlirBlockGetArgument(zb_function_block(at->function), at->index)
                       : mlirOperationGetOperand(at->end, at->index);
  at->type = mlirValueGetType(at->value);
  return true;
}

zb_port zb_argument_port(MlirOperation function, int index) {
  return zb_port_get(zb_argument_dictionary(function, index));
}

zb_port zb_result_port(MlirOperation function, int index) { return zb_port_get(zb_result_dictionary(function, index)); }

enum { PORT_COLUMNS = sizeof(zb_port) / sizeof(bool) }; /* more than there are */

static int list_columns(MlirContext context, const zb_port *port, MlirNamedAttribute *out) {
  int count = 0;
#define ZB_NAME(column, ID)                                                                                            \
  if (port->column) out[count++] = zb_named(context, ZB_ATTR_##ID, zb_mlir_string(context, port->column));
#define ZB_NUMBER(column, ID)                                                                                          \
  if (port->column >= 0) out[count++] = zb_named(context, ZB_ATTR_##ID, zb_mlir_i64(context, port->column));
#define ZB_FLAG(column, ID)                                                                                            \
  if (port->column) out[count++] = zb_named(context, ZB_ATTR_##ID, mlirUnitAttrGet(context));
#define ZB_REALS(column, ID)                                                                                           \
  if (!mlirAttributeIsNull(port->column)) out[count++] = zb_named(context, ZB_ATTR_##ID, port->column);
  ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS
  return count;
}

MlirAttribute zb_port_set(MlirContext context, const zb_port *port) {
  MlirNamedAttribute columns[PORT_COLUMNS];
  return mlirDictionaryAttrGet(context, list_columns(context, port, columns), columns);
}

#define ZB_ONE(column, type)                                                                                           \
  MlirAttribute zb_##column##_port(MlirContext context, type column) {                                                 \
    zb_port port = zb_no_port;                                                                                         \
    port.column = column;                                                                                              \
    return zb_port_set(context, &port);                                                                                \
  }
#define ZB_NAME(column, ID) ZB_ONE(column, const char *)
#define ZB_NUMBER(column, ID) ZB_ONE(column, int64_t)
#define ZB_FLAG(column, ID) ZB_ONE(column, bool)
#define ZB_REALS(column, ID)
ZB_PORT_COLUMNS(ZB_NAME, ZB_NUMBER, ZB_FLAG, ZB_REALS)
#undef ZB_NAME
#undef ZB_NUMBER
#undef ZB_FLAG
#undef ZB_REALS

const char *zb_sum_key(const zb_port *port, char key[ZB_KEY_BYTES]) {
  const char *sum = port->sum ? port->sum : "";
  if (port->use < 0)
    snprintf(key, ZB_KEY_BYTES, "%s#", sum);
  else
    snprintf(key, ZB_KEY_BYTES, "%s#%lld", sum, (long long)port->use);
  return key;
}

/* ---- Entries of pools ---- */

zb_entries zb_entries_get(MlirOperation rank, const char *table) {
  MlirAttribute list = zb_get_attribute(rank, table);
  return (zb_entries){.list = list, .count = mlirAttributeIsNull(list) ? 0 : (int)mlirArrayAttrGetNumElements(list)};
}

static const char offset_key[] = "offset", type_key[] = "type";

zb_entry zb_entries_at(zb_entries entries, int index) {
  MlirAttribute dictionary = mlirArrayAttrGetElement(entries.list, index);
  MlirAttribute type = mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(type_key));
  return (zb_entry){.port = zb_port_get(dictionary),
                    .offset = zb_dictionary_i64(dictionary, offset_key, 0),
                    .type = mlirAttributeIsNull(type) ? (MlirType){0} : mlirTypeAttrGetValue(type)};
}

MlirAttribute zb_entry_set(MlirContext context, const zb_entry *entry) {
  MlirNamedAttribute columns[PORT_COLUMNS + 2];
  int count = list_columns(context, &entry->port, columns);
  columns[count++] = zb_named_i64(context, offset_key, entry->offset);
  columns[count++] = zb_named(context, type_key, mlirTypeAttrGet(entry->type));
  return mlirDictionaryAttrGet(context, count, columns);
}

void zb_entries_set(MlirOperation rank, const char *table, const MlirAttribute *entries, int count) {
  zb_set_attribute(rank, table, mlirArrayAttrGet(mlirOperationGetContext(rank), count, entries));
}
