/* The parts of zb_compile, in the order in which they run: parameters, pipeline, layouts, cuts, values, folder,
 * summary. */
#ifndef ZB_PASSES_COMPILE_PARTS_H
#define ZB_PASSES_COMPILE_PARTS_H

#include "passes/choose/choice.h"
#include "passes/pipeline.h"
#include "passes/stages/cuts.h"
#include "runtime/formats/weights.h"
#include "runtime/plan/file/plan.h"

/* ---- params.c ---- */

/* What the completed params point to, besides what was given. */
typedef struct zb_owned_texts {
  char *placement, *optimizer;
  zb_arena arena;   /* of texts that a search found */
  zb_choice choice; /* that was given, or found */
} zb_owned_texts;
void zb_owned_texts_deinit(zb_owned_texts *owned);

/* What a schedule that searches is compiled with more than once for. */
typedef enum zb_open { ZB_OPEN_NOTHING, ZB_OPEN_CUTS, ZB_OPEN_PLACEMENT } zb_open;

/* Checks them and fills in what is left open; of an open placement that is the first. */
zb_status zb_params_complete(zb_compile_params *p, zb_owned_texts *owned, zb_open *out_open);

/* ---- compile.c ---- */

/* The pipeline of completed params, for zb_pipeline_deinit (also after an error). */
zb_status zb_pipeline_of_params(const zb_compile_params *p, zb_pipeline *out);

/* ---- layouts.c ---- */

/* The passes of a pipeline before (keep_before) or from zb-partition on; it owns nothing. */
void zb_pipeline_split(const zb_pipeline *pipeline, bool keep_before, zb_pipeline *out);

/* The plan that becomes of a copy of the program. */
typedef struct zb_attempt {
  int64_t step_ps;       /* by the metric; INT64_MAX: there is no plan, or it needs more than the limit */
  uint64_t needed_bytes; /* then: what it needs; UINT64_MAX: not known */
  int64_t *busy_ps;      /* [ranks], of a step */
  uint64_t *bytes;       /* [ranks] of the arena */
  int *stage_rank;       /* [stages] */
  char *waiting;         /* for --split: the parameters whose gradients wait in W; "" where that cannot be said */
  char *again;           /* for --recompute: the ops that are computed again, or none; "" where that cannot be said */
  zb_choice made;        /* as far as it came */
  zb_compile_summary facts; /* what its passes found out */
  zb_cut_places places;     /* its arena has these arrays, too */
} zb_attempt;
/* MEMORY, and what is no matter of placement or cuts. Release with zb_attempt_deinit, after a failure too. */
zb_status zb_attempt_run(const zb_compile_params *params, const zb_module *program, zb_attempt *out);
void zb_attempt_deinit(zb_attempt *attempt);
/* The shorter step; without plans the one that needs less. */
bool zb_attempt_is_better(const zb_attempt *x, const zb_attempt *y);

/* Sets the placement and chunks of the shortest step, if they are open; of equal ones the first. Where none makes a
 * plan those that need the least: the compile then says why, and what would be enough. With cuts open, too, it goes on
 * with zb_cuts_climb. */
zb_status zb_layout_search(zb_compile_params *params, zb_open open, zb_owned_texts *owned, const zb_module *program,
                           zb_diagnostics *diagnostics, zb_compile_summary *summary);

/* --recompute auto with cuts left open: those by cost, or those of --recompute all, where they are others. */
zb_status zb_recompute_cuts_search(zb_compile_params *params, zb_owned_texts *owned, const zb_module *program,
                                   zb_diagnostics *diagnostics, zb_compile_summary *summary) ZB_MUST_USE;

/* ---- joint.c ---- */

/* "#3,#12", for --cuts. cuts: entries, [places->stages - 1]. */
zb_status zb_cuts_text(const zb_cut_places *places, const int *cuts, zb_arena *arena, const char **out) ZB_MUST_USE;
/* Whether there are cuts, and all that could be have such a name: not in an imported training graph. */
bool zb_cuts_have_names(const zb_cut_places *places);

/* Cuts of a placement that were tried, and how far the next ones are to move. Starts as {0}. */
typedef struct zb_cuts_tried {
  zb_arena arena;
  ZB_LIST(int *) cuts;
  double part; /* of the mean stage; 0: nothing was tried yet */
} zb_cuts_tried;

/* From `best`, an attempt with these params: other cuts as long as steps get shorter, at most *trials of them, which
 * becomes less by those that were compiled. Then params has the cuts, and *best is what becomes of them. texts owns
 * what params points to then. Goes on where the call before with the same `tried` ended. */
zb_status zb_cuts_climb(zb_compile_params *params, const zb_module *program, zb_arena *texts, zb_cuts_tried *tried,
                        zb_attempt *best, int *trials);

/* ---- values.c ---- */

/* What --weights gives: opened before the work, matched as soon as the parameters are known. */
typedef struct zb_given_values {
  zb_store *store;
  zb_wanted *wanted; /* names and shapes are borrowed from the importer's store or the plan; shapes that are cut: */
  zb_shape *shapes;
  zb_weights *weights;
} zb_given_values;

void zb_given_values_deinit(zb_given_values *given);

/* An ONNX file has its parameters from the start: what is wrong is said before the passes run. */
zb_status zb_given_match_model(zb_given_values *given, const zb_compile_params *p, const zb_store *model);
zb_status zb_given_match_plan(zb_given_values *given, const zb_compile_params *p, const zb_plan *plan);

/* The parameters of a plan, each as --weights gives it (`given` may be NULL), else as the model has it, else drawn;
 * *out is released with zb_store_destroy, after a failure too. */
zb_status zb_gather_weights(const zb_plan *plan, const zb_store *model, const zb_weights *given, zb_store **out);

/* ---- folder.c ---- */

/* Ends the proof of the plan, ties the plan to its values and replaces the folder as a whole. constants: NULL where
 * there are none. */
zb_status zb_plan_folder_write(const char *path, zb_compile_state *state, const zb_store *weights,
                               const zb_store *constants);

/* ---- summary.c ---- */

/* Release with zb_compile_summary_destroy. NULL: out of memory. */
zb_compile_summary *zb_summary_create(void) ZB_MUST_USE;

/* What the imported program says: parameters that it does not train, and whether its loss could not be compared. */
zb_status zb_summarize_import(MlirModule module, zb_compile_summary *out);

/* What a search of placements and cuts found: the params that it set, beside those that were given. first_ps: the step
 * before other cuts were tried, INT64_MAX: there was no plan. */
zb_status zb_summarize_search(const zb_compile_params *given, const zb_compile_params *params, int cuts_tried,
                              int64_t first_ps, zb_compile_summary *out);

zb_status zb_summarize_choice(const zb_choice *made, zb_compile_summary *out);

/* What the program of the last pass and its plan say. */
zb_status zb_summarize(const zb_module *program, const zb_compile_params *params, const zb_plan *plan,
                       const zb_weights *given, zb_compile_summary *out);

#endif
