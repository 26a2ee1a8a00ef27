/* Pipelines: text -> list of passes with options -> run with level checks. */
#pragma once

#include "passes/pass.h"
#include "zb/compiler.h"

enum { ZB_PASS_OPTIONS_MAX = 24, ZB_PIPELINE_MAX = 64 };

typedef struct zb_pipeline_entry {
  const zb_pass_def *def;
  const char *values[ZB_PASS_OPTIONS_MAX]; /* one a row of def->options */
} zb_pipeline_entry;

typedef struct zb_pipeline {
  zb_pipeline_entry entries[ZB_PIPELINE_MAX];
  int count;
  zb_arena arena; /* of the values */
} zb_pipeline;

/* What the passes of a whole compile leave for its caller. */
typedef struct zb_compile_state {
  struct zb_plan *plan;           /* set by zb-verify-plan; owned by the state */
  bool proves_beside;             /* zb-verify-plan only begins the proof, and the caller ends it */
  struct zb_plan_proof *proof;    /* ended by zb_compile_proof_end */
  zb_compile_summary *summary;    /* filled as facts become known; may be NULL */
  const zb_compile_params *told;  /* whom searches tell how far they are (searching); NULL: nobody */
  const struct zb_choice *choice; /* that passes obey (passes/choice/choice.h); NULL: they decide */
  struct zb_choice *made;         /* what they decided, or obeyed; NULL: nobody asks */
  struct zb_choice *found;        /* where zb-choose puts what it decides, for `choice`; NULL: into the program */
  struct zb_cut_places *places;   /* filled by zb-partition (passes/stages/cut/cuts.h); NULL: nobody asks */
  zb_status status;               /* set when a pass failed with more than a wrong program (INFEASIBLE, MEMORY) */
  unsigned lost;                  /* zb_mappings_lost() as it began */
  bool options_of_zbc; /* the options of the passes are those of zbc, under the same names; false: of a pipeline's text
                        */
} zb_compile_state;

/* What the proof says that zb-verify-plan began; NULL where it began none. Called before the plan is changed or gone.
 */
zb_status zb_compile_proof_end(zb_compile_state *state) ZB_MUST_USE;

typedef struct zb_pipeline_hooks {
  /* After each pass; may be NULL. seconds: what the pass took. */
  void (*after)(void *context, const zb_pass_def *def, MlirModule module, int64_t changes, double seconds);
  void *context;
  bool verify; /* zb_verify_module and MLIR's verifier after each pass */
} zb_pipeline_hooks;

/* Parses "builtin.module(zb-a{x=1 y="a,b"},zb-b)" or the part inside. USAGE for unknown passes (nearest) and options.
 */
zb_status zb_pipeline_parse(const char *text, zb_pipeline *out) ZB_MUST_USE;
/* Adds one pass: options as "x=1,y=2" or NULL. */
zb_status zb_pipeline_add(zb_pipeline *pipeline, const char *name, const char *options) ZB_MUST_USE;
void zb_pipeline_deinit(zb_pipeline *pipeline);
/* Runs all passes. After diagnostics INVALID for a wrong program, USAGE for a wrong value of an option, or what
 * zb_pass_fail was given; state->status if a pass set it. */
zb_status zb_pipeline_run(const zb_pipeline *pipeline, zb_module *program, zb_compile_state *state,
                          const zb_pipeline_hooks *hooks) ZB_MUST_USE;

const zb_pass_def *zb_pass_find(const char *name);
/* The module's level; 0 (graph) where no attribute says so. */
int zb_module_level(MlirModule module);
void zb_module_set_level(MlirModule module, const char *level);

/* The value of an option is wrong: USAGE, said where the option was written, as "--NAME: ..." in a compile by zbc, else
 * as a diagnostic "NAME: ..." at `at`. hint may be NULL. Returns ZB_FAIL. */
zb_result zb_pass_option_error(zb_pass *pass, MlirOperation at, const char *name, const char *hint, const char *format,
                               ...) ZB_PRINTF(5, 6);
/* A pass reports a failure of the world (out of memory, infeasible) with this: remembers it and returns ZB_FAIL. */
zb_result zb_pass_fail(zb_pass *pass, zb_status status);
#define ZB_PASS_TRY(pass, expression)                                                                                  \
  do {                                                                                                                 \
    zb_status zb_pass_status = (expression);                                                                           \
    if (zb_pass_status) return zb_pass_fail(pass, zb_pass_status);                                                     \
  } while (0)
