/* What the files of the importer of torch.export's graphs share. Flow (aten.c): MLIR parses the text that zb.aten
 * (tools/python) wrote -> graph.c makes values and nodes -> each node that the loss needs is folded or built by its row
 * of aten_ops.def. Functions of rows are written with operands (ir/import/operand.h), which are constants or computed
 * alike. Tests: test/ir/import/aten, test/e2e/aten.py.
 */
#pragma once

#include "ir/import/meaning/meaning.h"

/* The form of the text that is understood (aten.format of the module). */
enum { ZB_ATEN_FORMAT = 1 };

#define ZB_ATEN_EXPORT_HINT "export it again: zb.aten.export(model, (x, y), path=\"exported.mlir\")"

typedef struct zb_aten {
  zb_import core; /* first: zb_aten_of casts a pointer to it */
  MlirModule module;
  MlirOperation main;
  zb_store *values;          /* of parameters, buffers and constants; NULL: the file names none */
  zb_import_results results; /* of @main */
  zb_map *numbers;           /* MlirValue -> number in core.values */
} zb_aten;

static inline zb_aten *zb_aten_of(zb_import *im) { return (zb_aten *)im; }

/* ---- graph.c ---- */
/* Sets main, and makes values of its arguments, nodes of its ops, and results. */
zb_result zb_aten_read_graph(zb_aten *it);

/* ---- attribute.c: arguments of the call by the names of the schema. A wrong kind is reported and fails the import. */
MlirAttribute zb_aten_attribute(const zb_import_node *n, const char *name); /* null: there is none */
bool zb_aten_has(const zb_import_node *n, const char *name);
int64_t zb_aten_int(zb_import_node *n, const char *name, int64_t fallback);
double zb_aten_real(zb_import_node *n, const char *name, double fallback); /* of a float, an integer or a bool */
zb_dtype zb_aten_number_type(const zb_import_node *n, const char *name);   /* of a number: f32, i64 or i1 */
bool zb_aten_flag(zb_import_node *n, const char *name, bool fallback);
/* "" where it is absent. */
void zb_aten_string(zb_import_node *n, const char *name, char *out, size_t room);
/* Integers, or one; false: absent, or reported. */
bool zb_aten_ints(zb_import_node *n, const char *name, int64_t *out, int room, int *count);
/* The argument `name` as a dimension of a tensor of that rank, at least 1; false after reporting. */
bool zb_aten_axis(zb_import_node *n, const char *name, int64_t fallback, int rank, int *out);
/* Reports that an argument has another value than the only one that is supported. */
zb_result zb_aten_refuse_argument(zb_import_node *n, const char *name, const char *hint);

/* ---- apply.c ---- */
/* The number that an argument is, in a type. */
zb_operand zb_aten_number(zb_import_node *n, const char *name, zb_dtype dtype);
/* What PyTorch makes of operands of two types. */
zb_dtype zb_aten_promoted(const zb_shape *a, const zb_shape *b);
/* The declared type of a result; false after reporting. */
bool zb_aten_result_shape(zb_import_node *n, int result, zb_shape *out);

/* ---- operators.c ---- */
const zb_import_op *zb_aten_op_find(const char *kind); /* "addmm", "add.Tensor" */
/* Why an op has no row, and what to do. */
void zb_aten_unknown_hint(const char *kind, zb_text *hint);

/* ---- The functions of ops, as the rows name them ---- */
#define ZB_ATEN(name, attributes, least, most, results, gradient, run, op) zb_result zb_aten_##run(zb_import_node *n);
#include "ir/import/aten/aten_ops.def"
#undef ZB_ATEN

static inline MlirOperation zb_aten_source(const zb_import_node *n) {
  return (MlirOperation){(void *)(uintptr_t)n->source};
}
