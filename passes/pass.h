/* A pass: one row of passes.def, one file. All passes anchor on builtin.module. */
#pragma once

#include "ir/builder.h"
#include "ir/dialect.h"
#include "runtime/base/arena.h"

/* The most of each that options may ask for. Replicas: a compile simulates all of them, whose sums are messages between
 * every two. */
enum { ZB_RANKS_MAX = 4096, ZB_CHUNKS_MAX = 256, ZB_MICRO_BATCHES_MAX = 1 << 16, ZB_REPLICAS_MAX = 4096 };
enum { ZB_SHARDS_MAX = 64, ZB_CUT_TRIALS_MAX = 10000 };

/* An option of a pass: name{key=value}. A row of zb/compile_options.def that names the pass is one, too. */
typedef struct zb_option_def {
  const char *name;
  const char *default_value; /* "" = none */
  const char *help;
} zb_option_def;

typedef struct zb_pass {
  const struct zb_pass_def *def;
  zb_module *program;               /* IR and stores */
  const char *const *option_values; /* one a row of def->options, defaults filled in */
  zb_arena arena;                   /* for what lives as long as the run; released after it */
  int64_t changes;                  /* how many changes were made: 0 = "no change" */
  struct zb_kept_graph *kept;       /* for zb_pass_graph (passes/graph.h) */
  struct zb_compile_state *state;   /* of a whole compile (passes/pipeline.h), NULL in zb-opt */
  void (*release)(void *released);  /* called at the end of the run, if not NULL */
  void *released;
  zb_code failure; /* why it failed: ZB_INVALID (the program is wrong) unless zb_pass_fail or zb_pass_option_error was
                      called */
} zb_pass;

typedef struct zb_pass_def {
  const char *name; /* "zb-dce" */
  const char *summary;
  const zb_option_def *options; /* ends with a NULL name; NULL for none */
  const char *requires_level;   /* lowest level it takes: "graph"; NULL: any */
  const char *last_level;       /* highest level it takes; NULL: the same as requires_level */
  const char *ensures_level;    /* level after it; NULL: unchanged */
  bool keeps_graph;             /* it changes attributes alone: the next pass may have its graph of the function */
  /* Both report errors themselves, at locations. */
  zb_result (*run)(zb_pass *pass, MlirModule module);
  zb_result (*run_on_function)(zb_pass *pass, MlirOperation function); /* instead: on that of zb_pass_function */
} zb_pass_def;

const char *zb_pass_option(const zb_pass *pass, const char *name); /* never NULL */
int64_t zb_pass_option_int(const zb_pass *pass, const char *name, int64_t fallback);
/* "true" or "false"; reports anything else. */
zb_result zb_pass_option_flag(zb_pass *pass, const char *name, bool *out);
/* "2G", "512M", "64K" or bytes; 0 for an empty text. Reports anything else. */
zb_result zb_pass_option_bytes(zb_pass *pass, const char *name, uint64_t *out);

/* The function a pass before zb-outline works on: the only func.func of the module with a body. Error if there is not
 * exactly one. */
zb_result zb_pass_function(MlirModule module, MlirOperation *out_function, MlirBlock *out_block);
