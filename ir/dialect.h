/* The dialect zb in a context, and the compile-time module: IR plus the tensors that never enter it. */
#pragma once

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
struct zb_memo;
typedef struct zb_module {
  MlirContext context;
  MlirModule module;
  zb_store *weights;    /* parameters by name; may be NULL */
  bool values_later;    /* some parameters are not in weights: a run is given them */
  zb_store *constants;  /* large constants by name ({zb.constant = "name"} arguments); may be NULL */
  struct zb_memo *memo; /* what passes found for it and for copies of it (runtime/base/memo.h); may be NULL */
} zb_module;
void zb_module_deinit(zb_module *module);  /* destroys all five */
void zb_module_drop_ir(zb_module *module); /* module and context alone */

/* Levels, stored as the module attribute zb.level = "graph" ... "verified". */
#define ZB_LEVELS(X)                                                                                                   \
  X(graph)                                                                                                             \
  X(differentiated)                                                                                                    \
  X(split) X(staged) X(classified) X(outlined) X(framed) X(scheduled) X(connected) X(allocated) X(verified)
enum {
#define ZB_LEVEL(name) ZB_LEVEL_##name,
  ZB_LEVELS(ZB_LEVEL)
#undef ZB_LEVEL
      ZB_LEVEL_COUNT
};
extern const char *const zb_level_names[ZB_LEVEL_COUNT];
int zb_level_index(const char *level); /* -1 for an unknown name */

/* Names of the attributes zb.* (all discardable, on modules, functions, arguments, results and ops): ZB_ATTR_INPUT is
 * "zb.input". */
#define ZB_ATTRIBUTE(ID, name, ...) extern const char ZB_ATTR_##ID[sizeof "zb." #name];
#include "ir/attributes.def"

typedef enum zb_attribute_place {
  ZB_PLACE_MODULE = 1,
  ZB_PLACE_RANK = 2,
  ZB_PLACE_FUNCTION = 4,
  ZB_PLACE_OP = 8,
  ZB_PLACE_ARGUMENT = 16,
  ZB_PLACE_RESULT = 32
} zb_attribute_place;

/* Whether an attribute zb.* is allowed at that place in a program of that level (index of ZB_LEVELS), and of its kind.
 * Otherwise reports at `op`. index: of the argument or result. */
zb_result zb_check_attribute(MlirOperation op, MlirNamedAttribute attribute, zb_attribute_place place, intptr_t index,
                             int level);

/* What is imported, and how (ir/import/importers.h). Names of parameters to train or freeze are globs. */
typedef struct zb_import_params {
  const char *path;
  const char *loss;           /* output to minimize or NULL */
  const char *roles;          /* JSON that says what arguments and results of StableHLO are, or NULL */
  const char *startup;        /* of Paddle: the startup program, or NULL */
  bool has_optimizer;         /* one is named: that of a whole train step is left out */
  const char *const *outputs; /* names of outputs that an evaluation hands out */
  int output_count;
  const char *const *dims; /* of ONNX: "batch=4" */
  int dim_count;
  const struct zb_store *constants; /* of ONNX: values of inputs that are always the same; NULL: none */
  bool inference;                   /* no loss: outputs alone, all of them where none is named; nothing is trained */
  const char *const *train;
  int train_count;
  const char *const *freeze;
  int freeze_count;
  uint64_t fold_limit; /* bytes of folded constants; 0: the default (zb_compile_params) */
} zb_import_params;
/* Reads .mlir text (params->path; never bytecode, at most ZB_MLIR_BYTES_MAX) and verifies it. What is wrong was
 * reported as diagnostics; the status then only says that it was. out->context is set in any case and stays the
 * caller's to destroy on failure. */
#define ZB_MLIR_BYTES_MAX (1L << 30)
zb_status zb_import_mlir(MlirContext context, const zb_import_params *params, zb_module *out) ZB_MUST_USE;

/* Attaches the handler that prints "file:line:col: error: ..." with source line, caret and hint through write (NULL:
 * standard error). */
typedef struct zb_diagnostics {
  void (*write)(void *context, const char *text);
  void *context;
  int errors;
} zb_diagnostics;
MlirDiagnosticHandlerID zb_diagnostics_attach(MlirContext context, zb_diagnostics *diagnostics);
