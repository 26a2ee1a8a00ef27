/* The dialect zb in a context: IRDL text made from the op rows, loaded with mlirLoadIRDLDialects.
 *
 * Operand and result lists of a row become one fresh `irdl.base "!builtin.tensor"` each: one variable used twice would
 * demand equal types. What IRDL cannot say (optional attributes, shapes, defaults) is checked by zb_verify_module.
 *
 * Tests: test/ir/dialect_test.c, test/ir/mlir_quirks_test.c.
 */
#include "ir/dialect.h"

#include "ir/nesting.h"
#include "runtime/base/file.h"
#include "runtime/base/memo.h"
#include "runtime/base/text.h"
#include "zb/compiler.h"

#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/IRDL.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- The IRDL text ---- */

/* The type of frames: its kinds are the rows of ir/frames.def. */
static const char frame_type[] = "  irdl.type @frame {\n"
#define ZB_FRAME(ID, name) "    %" name " = irdl.is \"" name "\"\n"
#define ZB_POOL(ID, name, TABLE, REGION) ZB_FRAME(ID, name)
#include "ir/frames.def"
                                 "    %kind = irdl.any_of(%fb" /* again among the rows: it only starts the list */
#define ZB_FRAME(ID, name) ", %" name
#define ZB_POOL(ID, name, TABLE, REGION) ZB_FRAME(ID, name)
#include "ir/frames.def"
                                 ")\n"
                                 "    %bytes = irdl.base \"#builtin.integer\"\n"
                                 "    irdl.parameters(kind: %kind, bytes: %bytes)\n"
                                 "  }\n";

/* Variables are numbered, o0.. and r0.. (IRDL wants the names of operands and results to differ too; the rows see to
 * that). */
static void add_variables(zb_text *text, const char *names, char prefix) {
  zb_op_name name;
  for (int i = 0; zb_op_name_at(names, i, &name); ++i)
    zb_text_add(text, "    %%%c%d = irdl.base \"!builtin.tensor\"\n", prefix, i);
}

static void add_list(zb_text *text, const char *keyword, const char *names, char prefix) {
  zb_op_name name;
  if (!zb_op_name_at(names, 0, &name)) return;
  zb_text_add(text, "    irdl.%s(", keyword);
  for (int i = 0; zb_op_name_at(names, i, &name); ++i)
    zb_text_add(text, "%s%.*s: %s%%%c%d", i ? ", " : "", name.length, name.text,
                name.optional   ? "optional "
                : name.variadic ? "variadic "
                                : "",
                prefix, i);
  zb_text_add(text, ")\n");
}

static void add_operation(zb_text *text, const zb_op_def *def) {
  zb_text_add(text, "  irdl.operation @%s {\n", def->name);
  if (def->irdl) {
    zb_text_add(text, "%s", def->irdl);
  } else {
    add_variables(text, def->operands, 'o');
    add_variables(text, def->results, 'r');
    add_list(text, "operands", def->operands, 'o');
    add_list(text, "results", def->results, 'r');
  }
  zb_text_add(text, "  }\n");
}

char *zb_irdl_make(int only) {
  zb_text text = {0};
  zb_text_add(&text, "irdl.dialect @zb {\n%s", frame_type);
  for (int i = 0; i < zb_op_builtin_count(); ++i)
    if (only < 0 || i == only) add_operation(&text, zb_op_at(i));
  zb_text_add(&text, "}\n");
  return zb_text_take(&text);
}

static char *irdl_text;
static pthread_once_t irdl_once = PTHREAD_ONCE_INIT;

static void make_irdl_text(void) { irdl_text = zb_irdl_make(-1); }

const char *zb_irdl_text(void) {
  pthread_once(&irdl_once, make_irdl_text);
  return irdl_text ? irdl_text : "";
}

/* ---- Contexts ---- */

bool zb_irdl_load(MlirContext context, const char *text) {
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text));
  if (mlirModuleIsNull(module)) return false;
  MlirLogicalResult loaded = mlirLoadIRDLDialects(module);
  mlirModuleDestroy(module);
  return mlirLogicalResultIsSuccess(loaded);
}

MlirContext zb_context_create(bool allow_unregistered) {
  MlirContext context = mlirContextCreateWithThreading(false);
  if (mlirContextIsNull(context)) return context;
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__irdl__(), context);
  if (!zb_irdl_load(context, zb_irdl_text())) {
    mlirContextDestroy(context);
    return (MlirContext){NULL};
  }
  mlirContextSetAllowUnregisteredDialects(context, allow_unregistered);
  return context;
}

/* ---- Modules ---- */

void zb_module_drop_ir(zb_module *module) {
  if (!mlirModuleIsNull(module->module)) mlirModuleDestroy(module->module);
  if (!mlirContextIsNull(module->context)) mlirContextDestroy(module->context);
  module->module = (MlirModule){NULL};
  module->context = (MlirContext){NULL};
}

void zb_module_deinit(zb_module *module) {
  zb_module_drop_ir(module);
  zb_store_destroy(module->weights);
  zb_store_destroy(module->constants);
  zb_memo_destroy(module->memo);
  *module = (zb_module){.weights = NULL};
}

/* Refuses what must not reach MLIR's parsers: bytecode (its reader crashes on damaged input) and giants. */
static zb_status check_source(const char *path) {
  int file = -1;
  uint64_t bytes = 0;
  zb_status status = zb_file_open(NULL, path, &file, &bytes);
  if (status)
    return zb_status_hint_text(status) ? status : zb_status_hint(status, "check the path and its permissions");
  char magic[4] = {0};
  ssize_t got = read(file, magic, sizeof magic);
  close(file);
  if (got == (ssize_t)sizeof magic && memcmp(magic, "ML\xEFR", sizeof magic) == 0)
    return zb_status_hint(ZB_ERROR(INVALID, "'%s' is MLIR bytecode, and only MLIR text is read", path),
                          "print it as text with `mlir-opt %s -o FILE.mlir`", path);
  if (bytes > ZB_MLIR_BYTES_MAX)
    return zb_status_hint(ZB_ERROR(INVALID, "'%s' has %llu bytes, and at most %ld are read", path,
                                   (unsigned long long)bytes, ZB_MLIR_BYTES_MAX),
                          "keep weights out of the IR: pass them as safetensors");
  return NULL;
}

/* MLIR gives no reason for a file that it could not read into memory: whether there is not enough for it. */
static bool lacks_memory(size_t bytes) {
  enum { BESIDE = 1 << 20 };
  void *probe = zb_alloc(bytes + BESIDE);
  zb_free(probe);
  return probe == NULL;
}

/* MLIR reads the file again, so that locations have its name. */
static zb_status parse_file(MlirContext context, const char *path, MlirModule *out) {
  char *text = NULL;
  size_t bytes = 0;
  int diagnostics = 0;
  ZB_TRY(zb_file_read(path, (uint64_t)ZB_MLIR_BYTES_MAX, &text, &bytes));
  zb_status status = zb_check_nesting(context, path, text, bytes);
  if (!status) {
    MlirDiagnosticHandlerID counter = zb_count_diagnostics(context, &diagnostics);
    *out = mlirModuleCreateParseFromFile(context, mlirStringRefCreateFromCString(path));
    mlirContextDetachDiagnosticHandler(context, counter);
    if (mlirModuleIsNull(*out) && !lacks_memory(bytes))
      status = zb_parse_refused(context, path, text, bytes, diagnostics);
    else if (mlirModuleIsNull(*out))
      status = ZB_OUT_OF_MEMORY();
  }
  zb_free(text);
  return status;
}

/* What the program says itself, in attributes. */
static zb_status check_unused(const zb_import_params *p) {
  const struct {
    const char *option, *hint;
    bool is_given;
  } rows[] = {{"--loss", "mark that result with {zb.loss}", p->loss != NULL},
              {"--keep-output", "mark that result with {zb.output = \"NAME\"}", p->output_count > 0},
              {"--train", "mark the argument with {zb.param = \"NAME\"}", p->train_count > 0},
              {"--freeze", "mark the argument with {zb.frozen = \"NAME\"}", p->freeze_count > 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (rows[i].is_given)
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect on a .mlir file", rows[i].option), "%s", rows[i].hint);
  return NULL;
}

zb_status zb_import_mlir(MlirContext context, const zb_import_params *params, zb_module *out) {
  const char *path = params->path;
  *out = (zb_module){.context = context};
  MlirModule module = {NULL};
  ZB_TRY(check_unused(params));
  ZB_TRY(check_source(path));
  ZB_TRY(parse_file(context, path, &module));
  if (!zb_verify_module(mlirModuleGetOperation(module))) {
    mlirModuleDestroy(module);
    return zb_status_set_told(ZB_ERROR(INVALID, "'%s' is not a valid program", path));
  }
  out->module = module;
  return NULL;
}
