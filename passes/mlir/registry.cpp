/* What MLIR's C API cannot say: a dialect of ours in a DialectRegistry, and passes with options in MLIR's registry of
 * pipelines. The only C++ of zbc. Tests: test/passes/mlir/external_test.c, test/passes/mlir/plugin.py. */
#include "passes/mlir/external.h"
#include "zb/compiler.h"

#include <mlir-c/Dialect/IRDL.h>
#include <mlir/CAPI/IR.h>
#include <mlir/CAPI/Pass.h>
#include <mlir/CAPI/Registration.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Pass/PassRegistry.h>

#include <mutex>
#include <string>

/* ---- The dialect ---- */

/* Loads the IRDL text, unless another way (--irdl-file) was first. Null: the diagnostics have said why. */
static mlir::Dialect *load(mlir::MLIRContext *context) {
  if (mlir::Dialect *loaded = context->getLoadedDialect("zb")) return loaded;
  MlirContext handle = wrap(context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__irdl__(), handle);
  MlirModule text = mlirModuleCreateParse(handle, mlirStringRefCreateFromCString(zb_irdl_text()));
  if (mlirModuleIsNull(text)) return nullptr;
  mlirLoadIRDLDialects(text);
  mlirModuleDestroy(text);
  return context->getLoadedDialect("zb");
}

/* Loading the dialect frees what MLIR keeps of op names that it does not know, while ops still point to it. So a pass
 * manager, which loads what its passes need, does not where there may be such ops; the pass then says what to do. */
static mlir::Dialect *load_safely(mlir::MLIRContext *context) {
  return context->allowsUnregisteredDialects() ? context->getLoadedDialect("zb") : load(context);
}

/* The id is that of dynamic dialects, which have none of their own before they are loaded. */
static void insert(MlirDialectRegistry registry) { unwrap(registry)->insert(mlir::TypeID::get<void>(), "zb", load); }

static void insert_safely(MlirDialectRegistry registry) {
  unwrap(registry)->insert(mlir::TypeID::get<void>(), "zb", load_safely);
}

static MlirDialect load_into(MlirContext context) { return wrap(load(unwrap(context))); }

static MlirDialect load_into_safely(MlirContext context) { return wrap(load_safely(unwrap(context))); }

static MlirStringRef get_namespace() { return mlirStringRefCreateFromCString("zb"); }

MlirDialectHandle zb_dialect_handle(void) {
  static const MlirDialectRegistrationHooks hooks = {insert, load_into, get_namespace};
  return MlirDialectHandle{&hooks};
}

MlirDialectHandle zb_dialect_handle_of_passes(void) {
  static const MlirDialectRegistrationHooks hooks = {insert_safely, load_into_safely, get_namespace};
  return MlirDialectHandle{&hooks};
}

/* ---- Passes ---- */

/* MLIR hands the options over as they were written, which an external pass could not get. */
static void register_pass(const zb_pass_info &info) {
  std::string name = info.name;
  mlir::registerPassPipeline(
      name, info.summary,
      [name](mlir::OpPassManager &manager, llvm::StringRef options,
             llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> error) -> llvm::LogicalResult {
        zb_status status = zb_passes_add(wrap(&manager), (name + "{" + options.str() + "}").c_str());
        if (!status) return mlir::success();
        std::string text = zb_status_message(status);
        if (const char *hint = zb_status_hint_text(status)) text += std::string("\nhint: ") + hint;
        zb_status_free(status);
        return error(text);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)>) {});
}

void zb_register_passes(void) {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int i = 0; i < zb_pass_count(); ++i)
      register_pass(zb_pass_info_at(i));
  });
}
