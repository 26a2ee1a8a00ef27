/* Modules: parts of zb that need libraries which a machine may not have (MPI, CUDA). Each is one file zb-NAME.so next
 * to the program, opened when what is in it is asked for.
 *
 * A module uses the functions of include/zb of the program that opens it (so there is one allocator, one kind of
 * status) and has its own copies of everything else that it needs. It is looked for relative to the program or library
 * that this code is part of, never on a path of the environment. Once open it stays: the libraries behind it cannot be
 * unloaded safely.
 */
#ifndef ZB_BASE_MODULE_H
#define ZB_BASE_MODULE_H

#include "zb/status.h"

/* Of the layout of zb_module itself. What lies behind its pointers is guarded by the build id. */
enum { ZB_MODULE_ABI = 1 };

struct zb_device_def;    /* runtime/device/device.h */
struct zb_transport_def; /* runtime/transport/transport.h */

/* What a module exports, as `zb_module_description`. abi and build_id stay where they are in every version. */
typedef struct zb_module {
  uint32_t abi;
  const char *build_id;                       /* ZB_BUILD_ID of runtime/base/module_id.h, which the build generates */
  const char *name;                           /* "mpi" */
  const struct zb_device_def *const *devices; /* ended by NULL; NULL: none */
  const struct zb_transport_def *const *transports;
} zb_module;

/* In exactly one file of a module:
 *   ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "mpi", .transports = transports}; */
#define ZB_MODULE_EXPORT                                                                                               \
  ZB_API extern const zb_module zb_module_description;                                                                 \
  const zb_module zb_module_description
#define ZB_MODULE_SYMBOL "zb_module_description"

/* Opens the module of a row of modules.def. UNAVAILABLE, with what to install, where its file or a library of it is
 * missing or of another build. Thread-safe; opening again costs little. out_path (may be NULL): where it lies, to be
 * released with zb_free. */
zb_status zb_module_open(const char *name, const zb_module **out, char **out_path) ZB_MUST_USE;
/* The same from a given file. */
zb_status zb_module_open_file(const char *name, const char *path, const zb_module **out) ZB_MUST_USE;

/* What tells builds apart of the program or library that `address` lies in, as text: the start of the digest that the
 * linker makes of all its contents (GNU build id). False, and ZB_BUILD_ID, where the linker made none. Thread-safe. */
enum { ZB_OBJECT_ID_BYTES = 17 };
bool zb_object_id(const void *address, char text[ZB_OBJECT_ID_BYTES]);

#endif
