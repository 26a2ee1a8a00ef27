/* Modules: parts of zb that need libraries which a machine may not have (MPI, CUDA). Each is one file zb-NAME.so next
 * to the program, opened when what is in it is asked for.
 *
 * A module uses the functions of include/zb of the program that opens it (so there is one allocator, one kind of
 * status) and has its own copies of everything else that it needs. It is looked for relative to the program or library
 * that this code is part of, never on a path of the environment. Once open it stays: the libraries behind it cannot be
 * unloaded safely.
 */
#pragma once

#include "zb/status.h"

/* Of the layout of zb_module itself. What lies behind its pointers is guarded by the build id. */
enum { ZB_MODULE_ABI = 1 };

/* What every device and every transport says of itself. */
typedef struct zb_part_def {
  const char *name; /* "cpu" */
  const char *summary;
  /* What of it this machine has ("Open MPI 4.1.4"), into text; UNAVAILABLE if it cannot be used here. NULL: nothing to
   * say. */
  zb_status (*probe)(char *text, size_t size);
  bool unlisted; /* no choice for users: it comes with another part */
} zb_part_def;
/* The first member of zb_device_def and zb_transport_def: part, or its members by their own names. */
#define ZB_PART_MEMBERS                                                                                                \
  union {                                                                                                              \
    zb_part_def part;                                                                                                  \
    struct {                                                                                                           \
      const char *name, *summary;                                                                                      \
      zb_status (*probe)(char *text, size_t size);                                                                     \
      bool unlisted;                                                                                                   \
    };                                                                                                                 \
  }

/* What a module exports, as `zb_module_description`. abi and build_id stay where they are in every version. */
typedef struct zb_module {
  uint32_t abi;
  const char *build_id;            /* ZB_BUILD_ID of runtime/base/module_id.h, which the build generates */
  const char *name;                /* "mpi" */
  const zb_part_def *const *parts; /* ended by NULL; NULL: none */
} zb_module;

/* In exactly one file of a module:
 *   ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "mpi", .parts = parts}; */
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

/* One row of devices.def or transports.def. */
typedef struct zb_part_row {
  const char *name;
  const zb_part_def *built_in; /* NULL: in a module */
  const char *module;          /* a row of modules.def */
  const char *summary;         /* of a module's part; see zb_part_summary */
} zb_part_row;

typedef struct zb_part_table {
  const char *kind, *what; /* "transport"; how the user knows it: "way to launch ranks" */
  const zb_part_row *rows;
  int count;
} zb_part_table;

const char *zb_part_summary(const zb_part_row *row);
/* The part of a row. UNAVAILABLE, with what to install, if it is in a module that cannot be opened. out_path (may be
 * NULL): where the module lies, to be released with zb_free; NULL for what is built in. */
zb_status zb_part_open(const zb_part_table *table, const zb_part_row *row, const zb_part_def **out,
                       char **out_path) ZB_MUST_USE;
/* The same by name; USAGE with the nearest names if there is none of that name. */
zb_status zb_part_find(const zb_part_table *table, const char *name, const zb_part_def **out) ZB_MUST_USE;

/* What tells builds apart of the program or library that `address` lies in, as text: the start of the digest that the
 * linker makes of all its contents (GNU build id). False, and ZB_BUILD_ID, where the linker made none. Thread-safe. */
enum { ZB_OBJECT_ID_BYTES = 17 };
bool zb_object_id(const void *address, char text[ZB_OBJECT_ID_BYTES]);
