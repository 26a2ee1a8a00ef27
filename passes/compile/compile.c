/* zb_compile: a serialized graph in, a folder with plan and weights out; and the default pipeline, which reads like a
 * page. Tests: test/tools/zbc-options.test, test/tools/zbc-schedule.test, test/install/embed.c, test/e2e. */

#include "ir/import/importers.h"
#include "passes/compile/parts.h"
#include "passes/function.h"
#include "passes/graph.h"
#include "passes/options.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/mapping.h"
#include "runtime/base/memo.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/formats/arrays.h"
#include "runtime/plan/clock/timeline.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

/* ---- The default pipeline ---- */

/* Passes that change nothing without something of the parameters are left out then. */
typedef enum need {
  ALWAYS,
  CHOOSES,
  RAISES,
  HAS_SHARDS,
  MIXES,
  COMPUTES_AGAIN,
  SPLITS,
  VALIDATES_SHARDS,
  SHARES_STATE
} need;

static const struct {
  const char *pass;
  need needs;
} default_pipeline[] = {
    {"zb-canonicalize", ALWAYS},
    {"zb-cse", ALWAYS},
    {"zb-dce", ALWAYS},
    {"zb-raise", RAISES},
    {"zb-canonicalize", ALWAYS},
    {"zb-cse", ALWAYS},
    {"zb-dce", ALWAYS},
    {"zb-loss-mean", ALWAYS},
    {"zb-shard", HAS_SHARDS},
    {"zb-mixed-precision", MIXES},
    {"zb-autodiff", ALWAYS},
    {"zb-split-grad", ALWAYS},
    {"zb-canonicalize", ALWAYS},
    {"zb-cse", ALWAYS},
    {"zb-dce", ALWAYS},
    {"zb-fuse", RAISES},
    {"zb-layout", ALWAYS},
    {"zb-choose", CHOOSES},
    {"zb-partition", ALWAYS},
    {"zb-recompute", COMPUTES_AGAIN},
    {"zb-classify", ALWAYS},
    {"zb-split-policy", SPLITS},
    {"zb-outline", ALWAYS},
    {"zb-norm-sums", VALIDATES_SHARDS},
    {"zb-shard-optimizer", SHARES_STATE},
    {"zb-memory", ALWAYS},
    {"zb-schedule", ALWAYS},
    {"zb-insert-comm", ALWAYS},
    {"zb-allocate", ALWAYS},
    {"zb-verify-plan", ALWAYS},
};
enum { PIPELINE_LENGTH = sizeof default_pipeline / sizeof default_pipeline[0] };

static bool has(const zb_compile_params *p, zb_open open, need what) {
  const bool known[] = {[ALWAYS] = true,
                        [CHOOSES] = !p->choice && (open || p->memory_limit || strcmp(p->split, "auto") == 0),
                        [RAISES] = !p->no_raise,
                        [HAS_SHARDS] = p->tensor_parallel > 1,
                        [MIXES] = strcmp(p->precision, "f32") != 0,
                        [COMPUTES_AGAIN] = p->choice || strcmp(p->recompute, "none") != 0,
                        [SPLITS] = p->choice || strcmp(p->split, "all") != 0,
                        [VALIDATES_SHARDS] = p->tensor_parallel > 1 && p->post_validation,
                        [SHARES_STATE] = strcmp(p->sharding, "none") != 0};
  return known[what];
}

static const char *model_text(const zb_compile_params *p, zb_arena *arena) {
  return zb_arena_strdup(arena, zb_file_name(p->model));
}

static const char *replicas_text(const zb_compile_params *p, zb_arena *arena) {
  return zb_option_text(zb_option_find("data-parallel"), p, arena);
}

static const char *inner_text(const zb_compile_params *p, zb_arena *arena ZB_UNUSED) {
  return p->sum_inner ? "true" : "";
}

static const char *gathers_text(const zb_compile_params *p, zb_arena *arena ZB_UNUSED) {
  return zb_sharding_of_parameters(zb_sharding_of(p->sharding)) ? "true" : "";
}

/* Options of passes that are no option of zbc. All others that are to have a value have the name of one, because
 * zb_pass_option_error reports them as "--NAME". */
static const struct {
  const char *name;
  const char *(*text)(const zb_compile_params *p, zb_arena *arena);
} derived[] = {
    {"model", model_text}, {"replicas", replicas_text}, {"sum-inner", inner_text}, {"gathers", gathers_text}};
enum { DERIVED = sizeof derived / sizeof derived[0] };

static int find_derived(const char *name) {
  for (int i = 0; i < DERIVED; ++i)
    if (strcmp(derived[i].name, name) == 0) return i;
  return -1;
}

/* Options are filled in as values, not as text of the pipeline: a quote in a name stays a quote. */
static zb_status add_default(zb_pipeline *pipeline, const char *pass, const zb_compile_params *p, zb_open open) {
  static const char *const searched[] = {"order", "order", "cuts", "placement"};
  ZB_TRY(zb_pipeline_add(pipeline, pass, NULL));
  zb_pipeline_entry *entry = &pipeline->entries[pipeline->count - 1];
  for (int i = 0; entry->def->options[i].name; ++i) {
    const zb_compile_option *option = zb_option_find(entry->def->options[i].name);
    const int at = find_derived(entry->def->options[i].name);
    if (option) entry->values[i] = zb_option_text(option, p, &pipeline->arena);
    if (strcmp(entry->def->options[i].name, "search") == 0) entry->values[i] = searched[open];
    if (at >= 0) entry->values[i] = derived[at].text(p, &pipeline->arena);
  }
  return zb_arena_status(&pipeline->arena);
}

zb_status zb_pipeline_of_params(const zb_compile_params *p, zb_open open, zb_pipeline *out) {
  if (p->costs && strchr(p->costs, '"'))
    return ZB_ERROR(USAGE, "the path of a file of costs cannot hold a double quote: %s", p->costs);
  if (p->pipeline) return zb_pipeline_parse(p->pipeline, out);
  for (int i = 0; i < PIPELINE_LENGTH; ++i)
    if (has(p, open, default_pipeline[i].needs)) ZB_TRY(add_default(out, default_pipeline[i].pass, p, open));
  return NULL;
}

/* "zb-partition{ranks="$ranks",chunks="$chunks"}": with the options that add_default gives it. */
static size_t print_pass(const char *pass, char *out, size_t room) {
  size_t length = (size_t)snprintf(out, room, "%s", pass);
  const char *before = "{";
  for (const zb_option_def *it = zb_pass_find(pass)->options; it->name; ++it) {
    if (!zb_option_find(it->name) && find_derived(it->name) < 0) continue;
    length += (size_t)snprintf(out + length, room - length, "%s%s=\"$%s\"", before, it->name, it->name);
    before = ",";
  }
  return length + (size_t)snprintf(out + length, room - length, "%s", *before == ',' ? "}" : "");
}

const char *zb_default_pipeline(void) {
  static char text[4096];
  if (text[0]) return text;
  size_t length = (size_t)snprintf(text, sizeof text, "builtin.module(");
  for (int i = 0; i < PIPELINE_LENGTH; ++i) {
    length += (size_t)snprintf(text + length, sizeof text - length, "%s", i ? "," : "");
    length += print_pass(default_pipeline[i].pass, text + length, sizeof text - length);
  }
  snprintf(text + length, sizeof text - length, ")");
  return text;
}

/* ---- Running it ---- */

typedef struct run_context {
  const zb_compile_params *params;
  int passes_done;
  int ops;
  zb_status status;
} run_context;

static void add_chunk(MlirStringRef text, void *context) { zb_text_add_bytes(context, text.data, text.length); }

static void tell(const zb_compile_params *params, const char *part) {
  if (params->progress) params->progress(params->progress_context, part);
}

/* What is done behind a pass, for who waits. */
static void tell_next(const run_context *r, const char *pass) {
  if (strcmp(pass, "zb-layout") == 0) tell(r->params, "choosing what is open");
  if (strcmp(pass, "zb-choose") == 0) tell(r->params, "ordering jobs and placing memory");
}

static void after_pass(void *context, const zb_pass_def *def, MlirModule module, int64_t changes, double seconds) {
  run_context *r = context;
  (void)changes;
  (void)seconds;
  int number = r->passes_done++;
  tell_next(r, def->name);
  if (strcmp(def->name, "zb-layout") == 0) {
    MlirOperation function;
    MlirBlock block;
    if (zb_pass_function(module, &function, &block))
      ZB_FOR_EACH_OP(op, block)
        ++r->ops;
  }
  if (!r->params->dump_directory || r->status) return;
  zb_text text = {0}, path = {0};
  mlirOperationPrint(mlirModuleGetOperation(module), add_chunk, &text);
  zb_text_add(&path, "%s/%02d_%s.mlir", r->params->dump_directory, number, def->name);
  r->status = text.failed || path.failed ? ZB_OUT_OF_MEMORY() : zb_make_folder(r->params->dump_directory);
  if (!r->status) r->status = zb_file_write_atomic(path.data, text.data, text.length);
  zb_text_deinit(&text);
  zb_text_deinit(&path);
}

/* "npz:FILE": values of inputs. */
static zb_status open_constants(const char *source, zb_arrays *out) {
  static const struct {
    const char *prefix;
    zb_arrays_kind kind;
  } kinds[] = {{"npz:", ZB_ARRAYS_NPZ}, {"safetensors:", ZB_ARRAYS_SAFETENSORS}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    const size_t prefix = strlen(kinds[i].prefix);
    if (strncmp(source, kinds[i].prefix, prefix) == 0 && source[prefix])
      return zb_arrays_open(kinds[i].kind, source + prefix, out);
  }
  return zb_status_hint(ZB_ERROR(USAGE, "--constants: cannot read arrays from '%s'", source),
                        "write npz:FILE, as numpy.savez(FILE, NAME=...) makes it, or safetensors:FILE");
}

static zb_status import_file(const zb_compile_params *p, bool has_optimizer, const zb_store *constants,
                             zb_module *program) {
  zb_import_params params = {.path = p->model,
                             .loss = p->loss,
                             .roles = p->roles,
                             .startup = p->startup,
                             .has_optimizer = has_optimizer,
                             .outputs = p->outputs,
                             .output_count = p->output_count,
                             .dims = p->dims,
                             .dim_count = p->dim_count,
                             .constants = constants,
                             .inference = p->inference,
                             .train = p->train,
                             .train_count = p->train_count,
                             .freeze = p->freeze,
                             .freeze_count = p->freeze_count,
                             .fold_limit = p->fold_limit};
  return zb_import_file(program->context, &params, program);
}

static zb_status import(const zb_compile_params *p, bool has_optimizer, zb_module *program) {
  zb_arrays constants = {0};
  if (p->constants) ZB_TRY(open_constants(p->constants, &constants));
  zb_status status = import_file(p, has_optimizer, constants.store, program);
  zb_arrays_close(&constants);
  return status;
}

/* Of a whole train step that was imported: its optimizer and groups, where the caller names none. The caller's groups
 * come behind them, and so hold against them. */
static zb_status take_optimizer(const zb_compile_params *given, const zb_module *program, zb_compile_params *p,
                                zb_owned_texts *owned) {
  MlirOperation module = mlirModuleGetOperation(program->module);
  const char *line = zb_get_string(module, ZB_ATTR_OPTIMIZER);
  if (given->optimizer || !line) return NULL;
  zb_free(owned->optimizer);
  owned->optimizer = NULL;
  ZB_TRY(zb_optimizer_complete(line, &owned->optimizer));
  p->optimizer = owned->optimizer;
  MlirAttribute list = zb_get_attribute(module, ZB_ATTR_UPDATE_GROUPS);
  const int count = mlirAttributeIsNull(list) ? 0 : (int)mlirArrayAttrGetNumElements(list);
  const char **groups = zb_arena_take(&owned->arena, (size_t)(count + given->group_count) + 1, sizeof *groups);
  if (!groups) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i)
    groups[i] = mlirStringAttrGetValue(mlirArrayAttrGetElement(list, i)).data; /* the context's, which ends in NUL */
  for (int i = 0; i < given->group_count; ++i)
    groups[count + i] = given->groups[i];
  p->groups = groups;
  p->group_count = count + given->group_count;
  return NULL;
}

/* What the importer made, as zb-opt reads it. */
static zb_status write_program(const zb_module *program, const char *path) {
  zb_text text = {0};
  mlirOperationPrint(mlirModuleGetOperation(program->module), add_chunk, &text);
  zb_text_add(&text, "\n");
  zb_status status = text.failed ? ZB_OUT_OF_MEMORY() : zb_file_write_atomic(path, text.data, text.length);
  zb_text_deinit(&text);
  return status;
}

/* ---- zb_compile ---- */

/* A program for inference gives outputs, and nothing else. */
static zb_status mark_inference(const zb_compile_params *p, const zb_module *program) {
  MlirOperation function;
  MlirBlock block;
  if (!p->inference) return NULL;
  zb_set_attribute(mlirModuleGetOperation(program->module), ZB_ATTR_INFERENCE, mlirUnitAttrGet(program->context));
  if (!zb_pass_function(program->module, &function, &block))
    return zb_status_set_told(ZB_ERROR(INVALID, "'%s' is no program", p->model));
  const intptr_t results = mlirOperationGetNumOperands(mlirBlockGetTerminator(block));
  for (int i = 0; i < (int)results; ++i)
    if (!zb_result_string(function, i, ZB_ATTR_OUTPUT))
      return zb_status_hint(ZB_ERROR(INVALID, "--inference: result %d of the program is no output", i),
                            "mark results with {zb.output = \"NAME\"}, and drop the others");
  return results > 0 ? NULL : ZB_ERROR(INVALID, "--inference: the program has no results");
}

static zb_status run_pipeline(const zb_compile_params *params, zb_open open, zb_module *program,
                              zb_compile_state *state, const zb_pipeline_hooks *hooks) {
  zb_pipeline pipeline = {0};
  zb_status status = zb_pipeline_of_params(params, open, &pipeline);
  if (!status) status = zb_pipeline_run(&pipeline, program, state, hooks);
  zb_pipeline_deinit(&pipeline);
  return status;
}

/* Behind the plan, which is good also where PyTorch cannot run its order. */
static zb_status write_csv(const zb_compile_summary *summary, const char *path) {
  if (summary->order) return zb_file_write_atomic(path, summary->order, strlen(summary->order));
  return zb_status_hint(ZB_ERROR(INVALID,
                                 "--csv: PyTorch's stages are one chain, each hands on to the next, and the "
                                 "order does not run there: %s",
                                 summary->order_refused),
                        "leave --csv out: the plan itself does not need it");
}

/* What comes of a plan: the summary, then its folder. The plan is proven meanwhile, so that all up to the end of the
 * proof only reads it. */
static zb_status finish(const zb_compile_params *params, zb_module *program, const zb_weights *given,
                        zb_compile_state *state) {
  zb_store *weights = NULL;
  zb_status status = NULL;
  tell(params, "proving and writing the plan");
  ZB_TRY_GOTO(zb_summarize(program, params, state->plan, given, state->summary));
  if (state->made) ZB_TRY_GOTO(zb_summarize_choice(state->made, state->summary));
  zb_module_drop_ir(program); /* nobody asks for it any more, and of a large program it takes a while */
  if (params->output) {
    ZB_TRY_GOTO(zb_gather_weights(state->plan, program->weights, given, &weights));
    ZB_TRY_GOTO(zb_plan_folder_write(params->output, state, weights, program->constants));
  }
  ZB_TRY_GOTO(zb_compile_proof_end(state));
  if (params->choice_out)
    ZB_TRY_GOTO(zb_file_write_atomic(params->choice_out, state->summary->choice, strlen(state->summary->choice)));
  if (params->csv) ZB_TRY_GOTO(write_csv(state->summary, params->csv));
  if (params->timeline) status = zb_plan_timeline(state->plan, params->timeline);
cleanup:
  if (status) { /* what the proof says comes first */
    zb_status both[] = {zb_compile_proof_end(state), status};
    status = zb_status_first(both, sizeof both / sizeof both[0]);
  }
  zb_store_destroy(weights);
  return status;
}

zb_status zb_compile_check(const zb_compile_params *given) {
  zb_compile_params params = *given;
  zb_owned_texts owned = {0};
  zb_open open;
  zb_store *weights = NULL;
  zb_arrays constants = {0};
  zb_status status = zb_params_complete(&params, &owned, &open);
  if (!status && params.weights) status = zb_weights_open(params.weights, &weights);
  if (!status && params.constants) status = open_constants(params.constants, &constants);
  if (!status && params.constants) zb_arrays_close(&constants);
  zb_store_destroy(weights);
  zb_owned_texts_deinit(&owned);
  return status;
}

/* For orders and packings that several trials of a compile ask for. */
enum { MEMO_BYTES = 256 << 20 };

zb_status zb_compile(const zb_compile_params *given, zb_compile_summary **out) {
  if (out) *out = NULL;
  zb_compile_params completed = *given;
  const zb_compile_params *params = &completed;
  zb_owned_texts owned = {0};
  zb_status status = NULL;
  const int64_t start = zb_monotonic_ps();
  const uint64_t refused = zb_allocations_refused();
  zb_open open = ZB_OPEN_NOTHING;
  zb_module program = {.context = {0}};
  zb_given_values given_weights = {0};
  zb_compile_state state = {.summary = zb_summary_create(),
                            .options_of_zbc = !given->pipeline,
                            .proves_beside = true,
                            .lost = zb_mappings_lost()};
  zb_choice made = {0}, found = {0};
  run_context context = {.params = params};
  zb_diagnostics diagnostics = {.write = params->diagnostic, .context = params->diagnostic_context};
  if (!state.summary) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  if (!params->model) ZB_TRY_GOTO(ZB_ERROR(USAGE, "no model given"));
  ZB_TRY_GOTO(zb_params_complete(&completed, &owned, &open));
  if (params->choice) state.choice = &owned.choice;
  if (!params->pipeline) state.made = &made;
  if (params->searching) state.told = params;
  state.found = &found;
  program.context = zb_context_create(params->pipeline != NULL);
  if (mlirContextIsNull(program.context)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  zb_diagnostics_attach(program.context, &diagnostics);
  if (params->weights) ZB_TRY_GOTO(zb_weights_open(params->weights, &given_weights.store));
  tell(params, "importing the model");
  ZB_TRY_GOTO(import(params, given->optimizer != NULL, &program));
  ZB_TRY_GOTO(take_optimizer(given, &program, &completed, &owned));
  ZB_TRY_GOTO(mark_inference(params, &program));
  if (params->import_only) {
    status = write_program(&program, params->output);
    goto cleanup;
  }
  program.memo = zb_memo_create(MEMO_BYTES);
  if (!program.memo) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  if (params->weights && program.weights && !program.values_later)
    ZB_TRY_GOTO(zb_given_match_model(&given_weights, params, program.weights));
  ZB_TRY_GOTO(zb_summarize_import(program.module, state.summary));
  zb_pipeline_hooks hooks = {.after = after_pass, .context = &context, .verify = params->dump_directory != NULL};
  ZB_TRY_GOTO(run_pipeline(params, open, &program, &state, &hooks));
  ZB_TRY_GOTO(context.status);
  context.status = NULL;
  if (!state.plan)
    ZB_TRY_GOTO(zb_status_hint(ZB_ERROR(USAGE, "the pipeline makes no plan"), "end it with zb-verify-plan"));
  state.summary->ops = context.ops;
  if (params->weights && !given_weights.weights) ZB_TRY_GOTO(zb_given_match_plan(&given_weights, params, state.plan));
  ZB_TRY_GOTO(finish(params, &program, given_weights.weights, &state));
  state.summary->compile_seconds = 1e-12 * (double)(zb_monotonic_ps() - start);
  if (out) {
    *out = state.summary;
    state.summary = NULL;
  }
cleanup:
  zb_owned_texts_deinit(&owned);
  zb_choice_deinit(&made);
  zb_choice_deinit(&found);
  zb_status_free(zb_compile_proof_end(&state)); /* of a compile that failed before anybody asked */
  zb_plan_destroy(state.plan);
  zb_compile_summary_destroy(state.summary);
  zb_given_values_deinit(&given_weights);
  zb_module_deinit(&program);
  status = zb_memory_first(status, refused); /* passes and importers that fail do not all know why */
  return status ? zb_mappings_lost_since(state.lost, status) : NULL;
}

zb_status zb_plan_timeline_file(const char *directory, const char *path) {
  zb_plan *plan = NULL;
  zb_text plan_path = {0};
  zb_text_add(&plan_path, "%s/plan.zb", directory);
  zb_status status = plan_path.failed ? ZB_OUT_OF_MEMORY() : zb_plan_read(plan_path.data, -1, &plan);
  if (!status) status = zb_plan_timeline(plan, path);
  zb_plan_destroy(plan);
  zb_text_deinit(&plan_path);
  return status;
}
