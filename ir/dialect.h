/* The dialect zb in a context, and the compile-time module: IR plus the tensors that never enter it. */
#ifndef ZB_IR_DIALECT_H
#define ZB_IR_DIALECT_H

#include "ir/op.h"
#include "runtime/formats/safetensors.h"

#include <mlir-c/Diagnostics.h>

/* A context with builtin, func and zb loaded, multithreading off, unregistered dialects allowed when asked. Null
 * context on failure. Destroy with mlirContextDestroy. The IRDL text is made from the op table once a process. */
MlirContext zb_context_create(bool allow_unregistered);

/* IRDL text of the dialect with all rows (only < 0) or with that of one row, so that a test can load each alone. The
 * caller frees it with zb_free; NULL when out of memory. zb_irdl_text() in zb/compiler.h is the text that contexts
 * load. */
char *zb_irdl_make(int only) ZB_MUST_USE;
/* Loads IRDL text into a context that has irdl loaded. False if it does not parse, verify or load (diagnostics say
 * why). */
bool zb_irdl_load(MlirContext context, const char *text);

/* A program on its way through the passes. */
typedef struct zb_module {
  MlirContext context;
  MlirModule module;
  zb_store *weights;   /* parameters by name; may be NULL */
  zb_store *constants; /* large constants by name ({zb.constant = "name"} arguments); may be NULL */
} zb_module;
void zb_module_deinit(zb_module *module); /* destroys all four */

/* Levels, stored as the module attribute zb.level = "graph" ... "allocated". */
#define ZB_LEVELS(X)                                                                                                   \
  X(graph)                                                                                                             \
  X(differentiated)                                                                                                    \
  X(split) X(staged) X(classified) X(outlined) X(framed) X(scheduled) X(connected) X(allocated) X(verified)

/* Attribute names (all discardable, on functions, arguments, results and ops). */
#define ZB_ATTR_PRECISION                                                                                              \
  "zb.precision" /* module: string, the precision that zb-mixed-precision gave the program; absent: f32 */
#define ZB_ATTR_UNCOMPARED                                                                                             \
  "zb.uncompared" /* module: unit, the exporter was told not to compare the graph with its model */
#define ZB_ATTR_UNTRAINED "zb.untrained" /* module: strings, constants that a gradient reaches and nobody trains */
#define ZB_ATTR_INPUT "zb.input"         /* argument: string, name of a model input */
#define ZB_ATTR_PARAM "zb.param"         /* argument: string, name of a trained parameter */
#define ZB_ATTR_FROZEN "zb.frozen"       /* argument: string, name of a frozen parameter */
#define ZB_ATTR_STATE "zb.state"         /* argument: string, "PARAM.exp_avg" */
#define ZB_ATTR_CONSTANT "zb.constant"   /* argument: string, name in the constant store */
#define ZB_ATTR_STEP "zb.step"           /* argument: unit, tensor<i64>: the step number from 1 */
#define ZB_ATTR_LOSS "zb.loss"           /* result: unit */
#define ZB_ATTR_UPDATE "zb.update"       /* result: string, parameter or state that it updates */
#define ZB_ATTR_ID "zb.id"               /* forward op: i64, its number, given by zb-autodiff */
#define ZB_ATTR_OF "zb.of"               /* backward op: i64, zb.id of the op whose use it differentiates */
#define ZB_ATTR_STAGE "zb.stage"         /* op: i64, virtual stage, given by zb-partition */
#define ZB_ATTR_CLASS "zb.class"         /* op: "F" "B" "W" "OPT" "LOAD" */

/* Imports an ONNX file: a module at level graph with one function @model on one micro-batch, inputs and parameters as
 * arguments, weights in module->weights. Names of parameters to train or freeze are globs. Errors were reported as text
 * through `diagnostic`
 * ("FILE: error: node 'n' (layer path): ...; hint"). */
typedef struct zb_import_params {
  const char *path;
  const char *loss; /* output to minimize or NULL */
  const char *const *train;
  int train_count;
  const char *const *freeze;
  int freeze_count;
  uint64_t fold_limit; /* bytes of folded constants; 0: the default (zb_compile_params) */
} zb_import_params;
zb_status zb_import_onnx(MlirContext context, const zb_import_params *params, zb_module *out) ZB_MUST_USE;
/* Reads .mlir text (never bytecode, at most ZB_MLIR_BYTES_MAX) and verifies it. What is wrong was reported as
 * diagnostics; the status then only says that it was. out->context is set in any case and stays the caller's to destroy
 * on failure. */
#define ZB_MLIR_BYTES_MAX (1L << 30)
zb_status zb_import_mlir(MlirContext context, const char *path, zb_module *out) ZB_MUST_USE;

/* Attaches the handler that prints "file:line:col: error: ..." with source line, caret and hint through write (NULL:
 * standard error). */
typedef struct zb_diagnostics {
  void (*write)(void *context, const char *text);
  void *context;
  int errors;
} zb_diagnostics;
MlirDiagnosticHandlerID zb_diagnostics_attach(MlirContext context, zb_diagnostics *diagnostics);

#endif
