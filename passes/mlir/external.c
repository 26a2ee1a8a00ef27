/* Passes for pass managers of other compilers: each entry of a pipeline becomes an external pass of MLIR.
 *
 *   zb_passes_add(manager, "zb-partition{ranks=4},zb-classify")      two passes on builtin.module
 *
 * A pass keeps its parsed options and nothing else: what passes tell each other is in attributes of the module. MLIR
 * clones a pass for each thread, and clones share these options, so they are counted.
 *
 * Tests: test/passes/mlir/external_test.c, test/passes/mlir/plugin.py, test/install/embed.py. */
#include "passes/mlir/external.h"

#include "ir/nesting.h"
#include "passes/pipeline.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

#include <mlir-c/Dialect/Func.h>
#include <stdatomic.h>
#include <string.h>

/* ---- Running ---- */

/* Says at the module what no diagnostic has said. */
static void report(MlirOperation module, zb_status status) {
  zb_op_error_at(module, zb_status_hint_text(status), "%s", zb_status_message(status));
}

/* Whether the dialect is loaded, which MLIR's pass manager has seen to where it may. */
static zb_status check_dialect(MlirContext context) {
  if (!mlirDialectIsNull(mlirDialectHandleLoadDialect(zb_dialect_handle_of_passes(), context))) return NULL;
  if (!mlirContextGetAllowUnregisteredDialects(context))
    return ZB_ERROR(INTERNAL, "the dialect zb cannot be loaded into this context");
  return zb_status_hint(
      ZB_ERROR(USAGE, "the dialect zb is not loaded, and this context takes ops of unknown dialects"),
      "load it before the program is read: mlirDialectHandleLoadDialect(zb_dialect_handle(), context),"
      " or --load-dialect-plugin of mlir-opt");
}

/* As zb-opt does it. After a failure a diagnostic has said why. */
static zb_status run_pipeline(const zb_pipeline *pipeline, MlirOperation op) {
  zb_module program = {.context = mlirOperationGetContext(op), .module = mlirModuleFromOperation(op)};
  const zb_pipeline_hooks hooks = {.verify = true};
  const uint64_t refused = zb_allocations_refused();
  int diagnostics = 0;
  MlirDiagnosticHandlerID counter = zb_count_diagnostics(program.context, &diagnostics);
  zb_status status = check_dialect(program.context);
  if (!status && !zb_verify_module(op)) status = ZB_ERROR(INVALID, "the program is wrong");
  if (!status) status = zb_pipeline_run(pipeline, &program, NULL, &hooks);
  status = zb_memory_first(status, refused);
  mlirContextDetachDiagnosticHandler(program.context, counter);
  if (status && !diagnostics) report(op, status);
  return status;
}

/* ---- External passes ---- */

typedef struct external_pass {
  zb_pipeline pipeline; /* one entry */
  atomic_int owners;
} external_pass;

static void construct(void *user) { atomic_fetch_add(&((external_pass *)user)->owners, 1); }

static void destruct(void *user) {
  external_pass *pass = user;
  if (atomic_fetch_sub(&pass->owners, 1) > 1) return;
  zb_pipeline_deinit(&pass->pipeline);
  zb_free(pass);
}

static void *clone(void *user) { return user; }

static void run(MlirOperation op, MlirExternalPass pass, void *user) {
  external_pass *self = user;
  zb_status status = run_pipeline(&self->pipeline, op);
  if (!status) return;
  zb_status_free(status);
  mlirExternalPassSignalFailure(pass);
}

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }

/* Takes the pass. */
static MlirPass external(external_pass *pass, const zb_pass_def *def) {
  MlirDialectHandle dialects[] = {mlirGetDialectHandle__func__(), zb_dialect_handle_of_passes()};
  MlirExternalPassCallbacks callbacks = {.construct = construct, .destruct = destruct, .clone = clone, .run = run};
  return mlirCreateExternalPass(mlirTypeIDCreate(def), ref(def->name), ref(def->name), ref(def->summary),
                                ref("builtin.module"), sizeof dialects / sizeof dialects[0], dialects, callbacks, pass);
}

/* A pass with a copy of the entry. */
static zb_status create(const zb_pipeline_entry *entry, MlirPass *out) {
  external_pass *pass = zb_alloc(sizeof *pass);
  if (!pass) return ZB_OUT_OF_MEMORY();
  pass->pipeline.entries[0] = (zb_pipeline_entry){.def = entry->def};
  pass->pipeline.count = 1;
  for (int i = 0; i < ZB_PASS_OPTIONS_MAX; ++i)
    if (entry->values[i])
      pass->pipeline.entries[0].values[i] = zb_arena_strdup(&pass->pipeline.arena, entry->values[i]);
  zb_status status = zb_arena_status(&pass->pipeline.arena);
  if (status) {
    zb_pipeline_deinit(&pass->pipeline);
    zb_free(pass);
    return status;
  }
  *out = external(pass, entry->def);
  return NULL;
}

zb_status zb_pass_create(const char *name, const char *options, MlirPass *out) {
  zb_pipeline pipeline = {0};
  *out = (MlirPass){NULL};
  zb_status status = zb_pipeline_add(&pipeline, name, options);
  if (!status) status = create(&pipeline.entries[0], out);
  zb_pipeline_deinit(&pipeline);
  return status;
}

/* ---- Pass managers ---- */

static void add_chunk(MlirStringRef chunk, void *text) { zb_text_add_bytes(text, chunk.data, chunk.length); }

/* MLIR ends the process where a pass does not fit its manager. */
static zb_status check_anchor(MlirOpPassManager manager) {
  zb_text text = {0};
  mlirPrintPassPipeline(manager, add_chunk, &text); /* "func.func(...)" */
  if (text.failed) return zb_text_deinit(&text), ZB_OUT_OF_MEMORY();
  char anchor[64] = "";
  size_t length = text.data ? strcspn(text.data, "(") : 0;
  if (length < sizeof anchor) memcpy(anchor, text.data ? text.data : "", length);
  zb_text_deinit(&text);
  if (strcmp(anchor, "builtin.module") == 0 || strcmp(anchor, "any") == 0) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "passes of zb run on builtin.module, and the manager is of '%s'", anchor),
                        "add them to the manager of the module");
}

zb_status zb_passes_add(MlirOpPassManager manager, const char *text) {
  zb_pipeline pipeline = {0};
  MlirPass passes[ZB_PIPELINE_MAX];
  ZB_TRY(check_anchor(manager));
  ZB_TRY(zb_pipeline_parse(text, &pipeline));
  zb_status status = NULL;
  int count = 0;
  while (!status && count < pipeline.count && !(status = create(&pipeline.entries[count], &passes[count])))
    ++count;
  /* MLIR has no function that ends a pass: those of a failure go to a manager that is. */
  MlirContext own = {NULL};
  MlirPassManager dropped = {NULL};
  if (status && count) {
    own = mlirContextCreateWithThreading(false);
    dropped = mlirPassManagerCreate(own);
    manager = mlirPassManagerGetAsOpPassManager(dropped);
  }
  for (int i = 0; i < count; ++i)
    mlirOpPassManagerAddOwnedPass(manager, passes[i]);
  if (dropped.ptr) mlirPassManagerDestroy(dropped);
  if (own.ptr) mlirContextDestroy(own);
  zb_pipeline_deinit(&pipeline);
  return status;
}

zb_status zb_passes_run(MlirModule module, const char *text) {
  zb_pipeline pipeline = {0};
  if (mlirModuleIsNull(module))
    return zb_status_hint(ZB_ERROR(USAGE, "the module is null"), "a text that does not parse gives a null module");
  MlirContext context = mlirModuleGetContext(module);
  ZB_TRY(zb_pipeline_parse(text, &pipeline));
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), context);
  zb_status status = run_pipeline(&pipeline, mlirModuleGetOperation(module));
  zb_pipeline_deinit(&pipeline);
  return status ? zb_status_set_told(status) : NULL;
}
