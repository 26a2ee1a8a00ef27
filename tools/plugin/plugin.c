/* zb-mlir-plugin.so: the passes and the dialect of zb in stock mlir-opt.
 *
 *   mlir-opt --load-pass-plugin=zb-mlir-plugin.so --load-dialect-plugin=zb-mlir-plugin.so \
 *     --pass-pipeline='builtin.module(zb-autodiff,zb-split-grad)' program.mlir
 *
 * What mlir-opt wants of a plugin are two structs returned by value, which are declared in headers for C++ alone.
 * Tests: test/passes/mlir/plugin.py. */
#include "zb/mlir.h"

/* MLIR_PLUGIN_API_VERSION of MLIR 22. */
enum { PLUGIN_API = 1 };

typedef struct pass_plugin {
  uint32_t api;
  const char *name, *version;
  void (*register_passes)(void);
} pass_plugin;

typedef struct dialect_plugin {
  uint32_t api;
  const char *name, *version;
  void (*register_dialects)(void *registry);
} dialect_plugin;

ZB_API pass_plugin mlirGetPassPluginInfo(void);
ZB_API dialect_plugin mlirGetDialectPluginInfo(void);

static void register_dialect(void *registry) {
  mlirDialectHandleInsertDialect(zb_dialect_handle(), (MlirDialectRegistry){registry});
}

pass_plugin mlirGetPassPluginInfo(void) { return (pass_plugin){PLUGIN_API, "zb", ZB_VERSION, zb_register_passes}; }

dialect_plugin mlirGetDialectPluginInfo(void) {
  return (dialect_plugin){PLUGIN_API, "zb", ZB_VERSION, register_dialect};
}
