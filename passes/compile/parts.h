/* The parts of zb_compile, in the order in which they run: parameters, pipeline, values, folder,
 * summary. */
#pragma once

#include "passes/choice/choice.h"
#include "passes/pipeline.h"
#include "runtime/formats/weights.h"
#include "runtime/plan/file/plan.h"

/* ---- params.c ---- */

/* What the completed params point to, besides what was given. */
typedef struct zb_owned_texts {
  char *placement, *optimizer;
  zb_arena arena;   /* of the optimizer of an imported step */
  zb_choice choice; /* that was given */
} zb_owned_texts;
void zb_owned_texts_deinit(zb_owned_texts *owned);

/* What a schedule that searches is compiled with more than once for. */
typedef enum zb_open { ZB_OPEN_NOTHING, ZB_OPEN_ORDER, ZB_OPEN_CUTS, ZB_OPEN_PLACEMENT } zb_open;

/* Checks them and fills in what is left open; of an open placement that is the first. */
zb_status zb_params_complete(zb_compile_params *p, zb_owned_texts *owned, zb_open *out_open);

/* ---- compile.c ---- */

/* The pipeline of completed params, for zb_pipeline_deinit (also after an error). */
zb_status zb_pipeline_of_params(const zb_compile_params *p, zb_open open, zb_pipeline *out);

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

zb_status zb_summarize_choice(const zb_choice *made, zb_compile_summary *out);

/* What the program of the last pass and its plan say. */
zb_status zb_summarize(const zb_module *program, const zb_compile_params *params, const zb_plan *plan,
                       const zb_weights *given, zb_compile_summary *out);
