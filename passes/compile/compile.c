/* zb_compile: a serialized graph in, a folder with plan and weights out; and the default pipeline, which reads like a
 * page. Tests: test/tools/zbc-options.test, test/tools/zbc-schedule.test, test/install/embed.c, test/e2e. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/problem.h"
#include "passes/stages/schedule_file.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/base/folder.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/formats/timeline.h"
#include "runtime/formats/weights.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/timeline.h"

#include <mlir-c/BuiltinAttributes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- The default pipeline ---- */

/* $words are filled in from zb_compile_params. An option of a pass that comes from an option of zbc has its name
 * (zb_pass_option_error). */
static const struct {
  const char *pass, *options;
} default_pipeline[] = {
    {"zb-canonicalize", NULL},
    {"zb-cse", NULL},
    {"zb-dce", NULL},
    {"zb-raise", NULL}, /* left out by --no-raise */
    {"zb-canonicalize", NULL},
    {"zb-cse", NULL},
    {"zb-dce", NULL},
    {"zb-mixed-precision", "precision=$precision"}, /* left out by --precision f32 */
    {"zb-autodiff", "optimizer=\"$optimizer\",micro-batches=$micro_batches"},
    {"zb-split-grad", NULL},
    {"zb-canonicalize", NULL},
    {"zb-cse", NULL},
    {"zb-dce", NULL},
    {"zb-fuse", NULL}, /* left out by --no-raise */
    {"zb-layout", NULL},
    {"zb-partition", "ranks=$ranks,chunks=$chunks,placement=\"$placement\",cuts=\"$cuts\",costs=\"$costs\",micro-"
                     "batches=$micro_batches"},
    {"zb-classify", NULL},
    {"zb-outline", NULL},
    {"zb-memory", "costs=\"$costs\""},
    {"zb-schedule", "schedule=\"$schedule\",micro-batches=$micro_batches,memory-limit=$memory_limit,metric=$metric"},
    {"zb-insert-comm", NULL},
    {"zb-allocate", "memory-limit=$memory_limit"},
    {"zb-verify-plan", "model=\"$model\",optimizer=\"$optimizer\""},
};
enum { PIPELINE_LENGTH = sizeof default_pipeline / sizeof default_pipeline[0] };

const char *zb_default_pipeline(void) {
  static char text[2048];
  if (text[0]) return text;
  size_t length = (size_t)snprintf(text, sizeof text, "builtin.module(");
  for (int i = 0; i < PIPELINE_LENGTH; ++i) {
    const char *options = default_pipeline[i].options;
    length +=
        (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%s%s", i ? "," : "", default_pipeline[i].pass,
                         options ? "{" : "", options ? options : "", options ? "}" : "");
  }
  snprintf(text + length, sizeof text - length, ")");
  return text;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Text of one $word; *out is the caller's. */
static zb_status word_text(const char *word, const zb_compile_params *p, char **out) {
  zb_text text;
  zb_text_init(&text);
#define WORD(name) (strcmp(word, "$" name) == 0)
  if (WORD("optimizer"))
    zb_text_add(&text, "%s", p->optimizer);
  else if (WORD("micro_batches"))
    zb_text_add(&text, "%d", p->micro_batches);
  else if (WORD("ranks"))
    zb_text_add(&text, "%d", p->ranks);
  else if (WORD("chunks"))
    zb_text_add(&text, "%d", p->chunks);
  else if (WORD("placement"))
    zb_text_add(&text, "%s", p->placement);
  else if (WORD("cuts"))
    zb_text_add(&text, "%s", p->cuts ? p->cuts : "");
  else if (WORD("costs"))
    zb_text_add(&text, "%s", p->costs ? p->costs : "");
  else if (WORD("schedule"))
    zb_text_add(&text, "%s", p->schedule);
  else if (WORD("precision"))
    zb_text_add(&text, "%s", p->precision);
  else if (WORD("metric"))
    zb_text_add(&text, "%s", p->metric ? p->metric : "barrier");
  else if (WORD("memory_limit"))
    zb_text_add(&text, "%llu", (unsigned long long)p->memory_limit);
  else if (WORD("model"))
    zb_text_add(&text, "%s", base_name(p->model));
  else
    ZB_ASSERT(!"a word of default_pipeline");
#undef WORD
  *out = zb_text_take(&text);
  return *out ? NULL : ZB_OUT_OF_MEMORY();
}

/* Words are filled in as values, not as text of the pipeline: a quote in a name stays a quote. */
static zb_status add_default(zb_pipeline *pipeline, const char *pass, const char *options, const zb_compile_params *p) {
  ZB_TRY(zb_pipeline_add(pipeline, pass, options));
  zb_pipeline_entry *entry = &pipeline->entries[pipeline->count - 1];
  for (int i = 0; i < ZB_PASS_OPTIONS_MAX; ++i) {
    char *value = NULL;
    if (!entry->values[i] || entry->values[i][0] != '$') continue;
    ZB_TRY(word_text(entry->values[i], p, &value));
    zb_free(entry->values[i]);
    entry->values[i] = value;
  }
  return NULL;
}

static zb_status build_pipeline(const zb_compile_params *p, zb_pipeline *out) {
  if (p->costs && strchr(p->costs, '"'))
    return ZB_ERROR(USAGE, "the path of a file of costs cannot hold a double quote: %s", p->costs);
  if (p->pipeline) return zb_pipeline_parse(p->pipeline, out);
  for (int i = 0; i < PIPELINE_LENGTH; ++i) {
    bool raises = strcmp(default_pipeline[i].pass, "zb-raise") == 0 || strcmp(default_pipeline[i].pass, "zb-fuse") == 0;
    if (p->no_raise && raises) continue;
    if (strcmp(p->precision, "f32") == 0 && strcmp(default_pipeline[i].pass, "zb-mixed-precision") == 0) continue;
    ZB_TRY(add_default(out, default_pipeline[i].pass, default_pipeline[i].options, p));
  }
  return NULL;
}

/* ---- Running it ---- */

typedef struct run_context {
  const zb_compile_params *params;
  int passes_done;
  int ops;
  zb_status status;
} run_context;

static void add_chunk(MlirStringRef text, void *context) { zb_text_add_bytes(context, text.data, text.length); }

static void after_pass(void *context, const zb_pass_def *def, MlirModule module, int64_t changes, double seconds) {
  run_context *r = context;
  (void)changes;
  (void)seconds;
  int number = r->passes_done++;
  if (strcmp(def->name, "zb-layout") == 0) {
    MlirOperation function;
    MlirBlock block;
    if (zb_pass_function(module, &function, &block))
      for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
           op = mlirOperationGetNextInBlock(op))
        ++r->ops;
  }
  if (!r->params->dump_directory || r->status) return;
  zb_text text, path;
  zb_text_init(&text);
  zb_text_init(&path);
  mlirOperationPrint(mlirModuleGetOperation(module), add_chunk, &text);
  zb_text_add(&path, "%s/%02d_%s.mlir", r->params->dump_directory, number, def->name);
  r->status = text.failed || path.failed ? ZB_OUT_OF_MEMORY() : zb_make_folder(r->params->dump_directory);
  if (!r->status) r->status = zb_file_write_atomic(path.data, text.data, text.length);
  zb_text_deinit(&text);
  zb_text_deinit(&path);
}

static zb_status import(const zb_compile_params *p, zb_module *program) {
  if (zb_ends_with(p->model, ".onnx")) {
    zb_import_params params = {.path = p->model,
                               .loss = p->loss,
                               .train = p->train,
                               .train_count = p->train_count,
                               .freeze = p->freeze,
                               .freeze_count = p->freeze_count,
                               .fold_limit = p->fold_limit};
    return zb_import_onnx(program->context, &params, program);
  }
  if (zb_ends_with(p->model, ".mlir")) return zb_import_mlir(program->context, p->model, program);
  static const char *const weights[] = {".pt", ".pth", ".safetensors", ".bin", ".ckpt", ".py", ".pt2"};
  for (size_t i = 0; i < sizeof weights / sizeof weights[0]; ++i)
    if (zb_ends_with(p->model, weights[i]))
      return zb_status_hint(ZB_ERROR(USAGE, "'%s' is no graph", p->model),
                            "tools/export_onnx.py makes an .onnx file of a PyTorch model");
  return zb_status_hint(ZB_ERROR(USAGE, "cannot tell the format of '%s'", p->model), "zbc reads .onnx and .mlir files");
}

/* What the completed params point to beside what was given. */
typedef struct owned_texts {
  char *placement, *optimizer;
} owned_texts;

static zb_status count_error(const char *option, int most, int got, const char *hint) {
  return zb_status_hint(ZB_ERROR(USAGE, "--%s: expected 1 to %d, got %d", option, most, got), "%s", hint);
}

/* The numbers; 0 is what is left open. */
static zb_status check_counts(const zb_compile_params *p) {
  if (p->ranks < 0 || p->ranks > ZB_RANKS_MAX)
    return count_error("ranks", ZB_RANKS_MAX, p->ranks,
                       "it is how many executors train together, for example --ranks 4");
  if (p->chunks < 0 || p->chunks > ZB_CHUNKS_MAX)
    return count_error("chunks", ZB_CHUNKS_MAX, p->chunks,
                       "it is how many virtual stages a rank has, for example --chunks 2");
  if (p->micro_batches < 0 || p->micro_batches > ZB_MICRO_BATCHES_MAX)
    return count_error("micro-batches", ZB_MICRO_BATCHES_MAX, p->micro_batches,
                       "use at least as many as ranks, for example --micro-batches 8");
  return NULL;
}

static zb_status complete_optimizer(zb_compile_params *p, owned_texts *owned) {
  zb_status status = zb_optimizer_complete(p->optimizer, &owned->optimizer), named = NULL;
  if (!status) p->optimizer = owned->optimizer;
  if (!status || zb_status_code(status) != ZB_USAGE) return status;
  named = ZB_ERROR(USAGE, "--optimizer: %s", zb_status_message(status));
  if (zb_status_hint_text(status)) named = zb_status_hint(named, "%s", zb_status_hint_text(status));
  zb_status_free(status);
  return named;
}

/* Whether what is to be written can be, before the work is done. The folder itself is made at the end. */
static zb_status check_outputs(const zb_compile_params *p) {
  if (p->output && !*p->output) return ZB_ERROR(USAGE, "-o: the name of the folder is empty");
  if (p->timeline) ZB_TRY(zb_output_check("--timeline", p->timeline, ".svg .json"));
  if (p->csv) ZB_TRY(zb_output_check("--csv", p->csv, NULL));
  if (p->csv && p->timeline && strcmp(p->csv, p->timeline) == 0)
    return zb_status_hint(ZB_ERROR(USAGE, "--timeline and --csv would write the same file '%s'", p->csv),
                          "give each a name of its own");
  if (p->dump_directory) ZB_TRY(zb_output_folder_check("--dump-ir", p->dump_directory));
  return p->output ? zb_output_folder_check("-o", p->output) : NULL;
}

/* What is read more than once: a pipe would be empty the second time. */
static zb_status check_inputs(const zb_compile_params *p) {
  const char *const paths[] = {p->costs, p->schedule && zb_schedule_is_file(p->schedule) ? p->schedule : NULL};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
    int file = -1;
    if (!paths[i]) continue;
    ZB_TRY(zb_file_open(NULL, paths[i], &file, NULL));
    close(file);
  }
  return NULL;
}

/* A pipeline of the caller's has its own options: what would have gone into the default one must not be dropped in
 * silence. */
static zb_status check_own_pipeline(const zb_compile_params *p) {
  const struct {
    const char *option;
    bool given;
  } options[] = {
      {"ranks", p->ranks != 0},
      {"chunks", p->chunks != 0},
      {"micro-batches", p->micro_batches != 0},
      {"schedule", p->schedule != NULL},
      {"placement", p->placement != NULL},
      {"metric", p->metric != NULL},
      {"optimizer", p->optimizer != NULL},
      {"cuts", p->cuts != NULL},
      {"costs", p->costs != NULL},
      {"memory-limit", p->memory_limit != 0},
      {"no-raise", p->no_raise},
      {"precision", p->precision != NULL},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i)
    if (options[i].given)
      return zb_status_hint(ZB_ERROR(USAGE, "--%s has no effect with --pass-pipeline", options[i].option),
                            "write it as an option of its pass; zbc --help-passes shows the default pipeline");
  return NULL;
}

/* Checks them and fills in what is left open. *out_open: the placement is left to the search, and what is filled in is
 * its first. */
static zb_status complete_params(zb_compile_params *p, owned_texts *owned, bool *out_open) {
  *out_open = false;
  if (!p->model) return ZB_ERROR(USAGE, "no model given");
  ZB_TRY(check_inputs(p));
  if (p->pipeline) ZB_TRY(check_own_pipeline(p));
  if (!p->precision) p->precision = "f32";
  ZB_TRY(check_counts(p));
  if (p->weights_partial && !p->weights)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights-partial without --weights"), "add --weights PATH");
  ZB_TRY(complete_optimizer(p, owned));
  ZB_TRY(check_outputs(p));
  zb_schedule_choice choice;
  if (!p->schedule) p->schedule = "zb-h1";
  if (zb_schedule_is_file(p->schedule))
    return zb_schedule_file_layout(p->schedule, &p->ranks, &p->chunks, &p->micro_batches, &p->placement,
                                   &owned->placement);
  if (!p->ranks) p->ranks = 1;
  if (!p->micro_batches) p->micro_batches = 1;
  ZB_TRY(zb_schedule_to_train(p->schedule, &choice));
  *out_open =
      choice.schedule->searches && choice.schedule->chunks_max > 1 && !p->placement && !p->chunks && !p->pipeline;
  return zb_schedule_layout(choice.schedule, p->ranks, &p->placement, &p->chunks);
}

/* ---- Initial values of parameters that came without weights ---- */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state) { return ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0; }

/* Rank >= 2: normal with deviation 0.02 (Box-Muller), drawn from the name alone; rank <= 1: zeros for biases, else
 * ones. */
static zb_status draw(zb_store *store, const char *name, const zb_shape *shape) {
  int64_t count = zb_shape_elements(shape);
  if (shape->dtype != ZB_F32 || count < 0)
    return ZB_ERROR(INVALID, "parameter '%s' is no f32 tensor: give its values with --weights", name);
  float *values = zb_alloc((size_t)count * sizeof *values + 1);
  if (!values) return ZB_OUT_OF_MEMORY();
  uint64_t state = zb_fnv1a(ZB_FNV_START, name, strlen(name));
  const double pi = 3.14159265358979323846;
  for (int64_t i = 0; i < count && shape->rank < 2; ++i)
    values[i] = zb_ends_with(name, "bias") ? 0.0f : 1.0f;
  for (int64_t i = 0; i < count && shape->rank >= 2; i += 2) { /* a pair a draw */
    double radius = 0.02 * sqrt(-2.0 * log(uniform(&state))), angle = 2.0 * pi * uniform(&state);
    values[i] = (float)(radius * cos(angle));
    if (i + 1 < count) values[i + 1] = (float)(radius * sin(angle));
  }
  zb_status status = zb_store_add(store, name, shape, values, true);
  zb_free(values);
  return status;
}

/* ---- Initial values from elsewhere ---- */

/* What --weights gives: opened before the work, matched as soon as the parameters are known. */
typedef struct given_values {
  zb_store *store;
  zb_wanted *wanted; /* names and shapes are lent from the importer's store or the plan */
  zb_weights *weights;
} given_values;

static void free_given(given_values *given) {
  zb_weights_destroy(given->weights);
  zb_free(given->wanted);
  zb_store_destroy(given->store);
}

static zb_status match_given(given_values *given, const zb_compile_params *p, int count, zb_diagnostics *diagnostics) {
  ZB_TRY(zb_weights_match(given->store, p->weights, given->wanted, count, p->weights_partial, &given->weights));
  for (int i = 0; zb_weights_note(given->weights, i) && diagnostics->write; ++i) {
    zb_text line;
    zb_text_init(&line);
    zb_text_add_shown(&line, p->weights);
    zb_text_add(&line, ": note: %s\n", zb_weights_note(given->weights, i));
    if (!line.failed) diagnostics->write(diagnostics->context, line.data);
    zb_text_deinit(&line);
  }
  return NULL;
}

/* An ONNX file has its parameters from the start: what is wrong is said before the passes run. */
static zb_status match_model(given_values *given, const zb_compile_params *p, const zb_store *model,
                             zb_diagnostics *diagnostics) {
  int count = zb_store_count(model);
  given->wanted = zb_alloc(sizeof *given->wanted * ((size_t)count + 1));
  if (!given->wanted) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i)
    given->wanted[i] = (zb_wanted){zb_store_at(model, i)->name, &zb_store_at(model, i)->shape};
  return match_given(given, p, count, diagnostics);
}

static zb_status match_plan(given_values *given, const zb_compile_params *p, const zb_plan *plan,
                            zb_diagnostics *diagnostics) {
  int count = 0, most = 1;
  for (int r = 0; r < plan->rank_count; ++r)
    most += plan->ranks[r].parameter_count;
  given->wanted = zb_alloc(sizeof *given->wanted * (size_t)most);
  if (!given->wanted) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &plan->ranks[r].parameters[i];
      if (parameter->owner) given->wanted[count++] = (zb_wanted){parameter->tensor.name, &parameter->tensor.shape};
    }
  return match_given(given, p, count, diagnostics);
}

static zb_status add_widened(zb_store *out, const zb_plan_tensor *tensor, const zb_stored_tensor *t) {
  if (t->shape.dtype == tensor->shape.dtype) return zb_store_add(out, tensor->name, &t->shape, t->data, false);
  size_t count = (size_t)zb_shape_elements(&tensor->shape);
  float *values = zb_alloc(count * sizeof *values + 1);
  if (!values) return ZB_OUT_OF_MEMORY();
  zb_widen(t->shape.dtype, t->data, count, values);
  zb_status status = zb_store_add(out, tensor->name, &tensor->shape, values, true);
  zb_free(values);
  return status;
}

/* One parameter: as --weights gives it, else as the model has it, else drawn. */
static zb_status gather_weight(const zb_plan_tensor *tensor, const zb_store *model, const zb_weights *given,
                               zb_store *out) {
  const zb_stored_tensor *t = given ? zb_weights_find(given, tensor->name) : NULL;
  char want[96], got[96];
  if (t) return add_widened(out, tensor, t);
  if (!model) return draw(out, tensor->name, &tensor->shape);
  t = zb_store_find(model, tensor->name);
  if (!t) return ZB_ERROR(INVALID, "the weights have no tensor '%s'", tensor->name);
  if (!zb_shape_equal(&t->shape, &tensor->shape))
    return ZB_ERROR(INVALID, "parameter '%s': expected %s, the weights hold %s", tensor->name,
                    zb_shape_text(&tensor->shape, want), zb_shape_text(&t->shape, got));
  return zb_store_add(out, tensor->name, &t->shape, t->data, false);
}

static zb_status gather_weights(const zb_plan *plan, const zb_store *model, const zb_weights *given, zb_store *out) {
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      if (plan->ranks[r].parameters[i].owner)
        ZB_TRY(gather_weight(&plan->ranks[r].parameters[i].tensor, model, given, out));
  return NULL;
}

static uint64_t digest_in(const zb_store *store, const char *name) {
  const zb_stored_tensor *t = store ? zb_store_find(store, name) : NULL;
  return t ? zb_digest_of(t->data, (size_t)t->bytes) : 0;
}

/* Ties the plan to the values beside it. A parameter that several ranks hold is looked at once. */
static zb_status tie_values(zb_plan *plan, const zb_store *weights, const zb_store *constants) {
  zb_map *known = zb_map_create();
  if (!known) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  plan->value_digests = true;
  for (int r = 0; r < plan->rank_count; ++r) {
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      int64_t digest = 0;
      if (!zb_map_get(known, tensor->name, &digest)) digest = (int64_t)digest_in(weights, tensor->name);
      if (!zb_map_set(known, tensor->name, digest)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
      tensor->digest = (uint64_t)digest;
    }
    for (int i = 0; i < plan->ranks[r].constant_count; ++i) {
      zb_plan_constant *constant = &plan->ranks[r].constants[i];
      if (!constant->computed && !constant->bytes)
        constant->tensor.digest = digest_in(constants, constant->tensor.name);
    }
  }
cleanup:
  zb_map_destroy(known);
  return status;
}

/* What a compile writes. */
static const char *const folder_files[] = {"weights.safetensors", "constants.safetensors", "plan.zb"};
enum { FILE_WEIGHTS, FILE_CONSTANTS, FILE_PLAN, FILE_COUNT };

static char *join(const char *folder, const char *name) {
  zb_text path;
  zb_text_init(&path);
  zb_text_add(&path, "%s/%s", folder, name);
  return zb_text_take(&path);
}

static zb_status write_weights(char *const paths[FILE_COUNT], const zb_store *weights, const zb_store *constants) {
  ZB_TRY(zb_store_write(weights, paths[FILE_WEIGHTS]));
  return zb_store_write(constants, paths[FILE_CONSTANTS]);
}

typedef struct file_writer {
  char *const *paths;
  const zb_plan *plan;
  const zb_store *weights, *constants;
  zb_status statuses[2];
} file_writer;

static void write_tile(void *context, int64_t tile, void *scratch) {
  file_writer *w = context;
  (void)scratch;
  w->statuses[tile] =
      tile ? zb_plan_write(w->plan, w->paths[FILE_PLAN]) : write_weights(w->paths, w->weights, w->constants);
}

/* The plan beside the weights: of a large compile each takes some tenths of a second. */
static zb_status write_files(char *const paths[FILE_COUNT], const zb_plan *plan, const zb_store *weights,
                             const zb_store *constants) {
  enum { PARALLEL_JOBS_MIN = 20000 };
  file_writer w = {.paths = paths, .plan = plan, .weights = weights, .constants = constants};
  int64_t jobs = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    jobs += plan->ranks[r].job_count;
  zb_threads *threads = jobs >= PARALLEL_JOBS_MIN ? zb_threads_create(2) : NULL;
  if (threads) {
    zb_parallel_for(threads, 2, write_tile, &w);
    zb_threads_destroy(threads);
  } else {
    write_tile(&w, 0, NULL);
    if (!w.statuses[0]) write_tile(&w, 1, NULL);
  }
  return zb_status_first(w.statuses, 2);
}

static bool is_ours(const char *name) {
  for (int i = 0; i < FILE_COUNT; ++i)
    if (strncmp(name, folder_files[i], strlen(folder_files[i])) == 0)
      return true; /* with what a stopped writer leaves: NAME.tmp.PID */
  return false;
}

static const zb_folder_kind folder_kind = {.purpose = "write the plan to",
                                           .who = "another compile",
                                           .is_ours = is_ours,
                                           .keeps_others = true,
                                           .first_file = "plan.zb"};

static zb_status write_temporary(const zb_folder *folder, const zb_plan *plan, const zb_store *weights,
                                 const zb_store *constants) {
  char *paths[FILE_COUNT] = {NULL};
  zb_status status = NULL;
  for (int i = 0; i < FILE_COUNT; ++i) {
    paths[i] = join(folder->temporary, folder_files[i]);
    if (!paths[i]) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
  status = write_files(paths, plan, weights, constants);
cleanup:
  for (int i = 0; i < FILE_COUNT; ++i)
    zb_free(paths[i]);
  return status;
}

/* The folder is replaced as a whole: whatever fails or stops it, a folder with a plan is an old or a new one. */
static zb_status write_stores(const char *path, const zb_plan *plan, const zb_store *weights,
                              const zb_store *constants) {
  zb_folder folder;
  zb_folder_lock lock;
  bool done = false;
  ZB_TRY(zb_folder_prepare(path, &folder_kind, &folder));
  ZB_TRY(zb_folder_lock_take(&folder, &lock));
  zb_status status = zb_folder_check_leftovers(&folder);
  if (!status) status = zb_folder_begin(&folder);
  if (!status) {
    status = write_temporary(&folder, plan, weights, constants);
    if (!status) status = zb_folder_commit(&folder, true, &done);
    if (status && !done) zb_status_free(zb_folder_abandon(&folder)); /* the first failure is the one to tell */
  }
  zb_folder_lock_release(&lock);
  if (status && zb_status_code(status) == ZB_IO) status = zb_status_note(status, "writing the folder '%s'", path);
  return status && done ? zb_status_note(status, "the new plan is in '%s'", path) : status;
}

static zb_status write_folder(const char *path, zb_plan *plan, const zb_module *program, const zb_weights *given) {
  zb_store *weights = zb_store_create(), *none = zb_store_create();
  const zb_store *constants = program->constants ? program->constants : none;
  zb_status status = NULL;
  if (!weights || !none) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(gather_weights(plan, program->weights, given, weights));
  ZB_TRY_GOTO(tie_values(plan, weights, constants));
  status = write_stores(path, plan, weights, constants);
cleanup:
  zb_store_destroy(weights);
  zb_store_destroy(none);
  return status;
}

/* ---- Summary ---- */

static zb_status add_name(char ***list, int *count, const char *name) {
  char **grown = zb_realloc(*list, ((size_t)*count + 1) * sizeof **list);
  if (!grown) return ZB_OUT_OF_MEMORY();
  *list = grown;
  grown[*count] = zb_strdup(name);
  return grown[(*count)++] ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status list_untrained(MlirModule module, zb_compile_summary *out) {
  MlirAttribute names = mlirOperationGetAttributeByName(mlirModuleGetOperation(module),
                                                        mlirStringRefCreateFromCString(ZB_ATTR_UNTRAINED));
  for (intptr_t i = 0; !mlirAttributeIsNull(names) && i < mlirArrayAttrGetNumElements(names); ++i)
    ZB_TRY(add_name(&out->untrained, &out->untrained_count,
                    mlirStringAttrGetValue(mlirArrayAttrGetElement(names, i)).data));
  return NULL;
}

static bool is_uncompared(MlirModule module) {
  return !mlirAttributeIsNull(mlirOperationGetAttributeByName(mlirModuleGetOperation(module),
                                                              mlirStringRefCreateFromCString(ZB_ATTR_UNCOMPARED)));
}

/* First and last named op of a stage's forward function. */
static void stage_names(MlirOperation function, zb_stage_summary *out) {
  out->first = out->last = NULL;
  MlirBlock block = zb_function_block(function);
  ZB_FOR_EACH_OP(op, block) {
    MlirLocation location = mlirOperationGetLocation(op);
    const zb_op_def *def = zb_op_find(op);
    if (zb_op_is(op, "func.return") || (def && def->op_class != ZB_CLASS_KERNEL)) continue;
    ++out->ops;
    if (!mlirLocationIsAName(location)) continue;
    const char *name = mlirIdentifierStr(mlirLocationNameGetName(location)).data;
    if (!out->first) out->first = name;
    out->last = name;
  }
  out->first = zb_strdup(out->first ? out->first : "");
  out->last = zb_strdup(out->last ? out->last : "");
}

static zb_status summarize_stages(const zb_module_problem *p, zb_compile_summary *out) {
  for (int s = 0; s < out->stages; ++s) {
    zb_stage_summary *stage = &out->stage[s];
    const MlirOperation *f = &p->functions[s * ZB_CLASS_INDEX_COUNT];
    stage->rank = p->stage_rank[s];
    for (int k = 0; k < s; ++k)
      stage->chunk += p->stage_rank[k] == stage->rank;
    stage->f_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_F] - p->job_ps);
    stage->b_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_B] - p->job_ps);
    stage->w_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_W] - p->job_ps);
    stage->f_product_flops = (double)zb_get_i64(f[0], "zb.product_flops", 0);
    stage->b_product_flops = (double)zb_get_i64(f[1], "zb.product_flops", 0);
    stage->w_product_flops = (double)zb_get_i64(f[2], "zb.product_flops", 0);
    stage->fb_bytes = (uint64_t)zb_frame_bytes(f[0], "fb");
    stage->fw_bytes = (uint64_t)zb_frame_bytes(f[0], "fw");
    stage->bw_bytes = (uint64_t)zb_frame_bytes(f[1], "bw");
    stage_names(f[0], stage);
    if (!stage->first || !stage->last) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

/* Whether an instruction reads arena bytes from `begin` on, by an operand that starts within `bytes` of it. */
static bool reads(const zb_plan_instruction *instruction, uint64_t begin, uint64_t bytes) {
  for (int i = 0; i < instruction->input_count; ++i) {
    const zb_plan_operand *operand = &instruction->inputs[i];
    if (operand->rank >= 0 && operand->base == 0 && operand->offset - begin < bytes && operand->offset >= begin)
      return true;
  }
  return false;
}

/* The instruction of a subprogram of this kind that reads the tensor, or NULL. stage: -1 for LOAD. */
static const zb_plan_instruction *find_reader(const zb_plan_rank *rank, zb_job_kind kind, int stage, uint64_t offset,
                                              uint64_t bytes) {
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const zb_plan_subprogram *s = &rank->subprograms[i];
    if (s->kind != kind || s->stage != stage) continue;
    for (int n = 0; n < s->instruction_count; ++n)
      if (reads(&s->instructions[n], offset, bytes)) return &s->instructions[n];
  }
  return NULL;
}

/* Parameters of a stage: those its F reads, or whose copy in bf16, which LOAD makes, it reads. */
static void count_parameters(const zb_plan *plan, zb_compile_summary *out) {
  for (int r = 0; r < plan->rank_count; ++r)
    for (int k = 0; k < plan->ranks[r].parameter_count; ++k) {
      const zb_plan_rank *rank = &plan->ranks[r];
      const zb_plan_tensor *t = &rank->parameters[k].tensor;
      uint64_t bytes = (uint64_t)zb_shape_bytes(&t->shape);
      const zb_plan_instruction *copy = find_reader(rank, ZB_JOB_LOAD, -1, t->offset, bytes);
      for (int s = 0; s < out->stages; ++s) {
        if (plan->stage_rank[s] != r) continue;
        bool read = find_reader(rank, ZB_JOB_F, s, t->offset, bytes) != NULL;
        if (!read && copy) read = find_reader(rank, ZB_JOB_F, s, copy->outputs[0].offset, 1) != NULL;
        if (!read) continue;
        out->stage[s].parameter_bytes += bytes;
        out->stage[s].parameters += (uint64_t)zb_shape_elements(&t->shape);
      }
    }
}

static zb_status summarize_plan(const zb_plan *plan, const zb_store *model, const zb_weights *given,
                                zb_compile_summary *out) {
  zb_plan_simulation simulation;
  ZB_TRY(zb_plan_simulate(plan, &simulation));
  out->step_seconds = 1e-12 * (double)simulation.step_ps;
  out->bubble_barrier = simulation.bubble_barrier;
  out->bubble_stage = simulation.bubble_stage;
  for (int r = 0; r < out->ranks; ++r) {
    out->rank[r].peak_bytes = plan->ranks[r].arena_bytes;
    out->rank[r].idle_share =
        simulation.step_ps ? 1.0 - (double)simulation.ranks[r].busy_ps / (double)simulation.step_ps : 0.0;
  }
  zb_plan_simulation_free(&simulation);
  zb_status status = NULL;
  for (int r = 0; r < plan->rank_count && !status; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count && !status; ++i) {
      const zb_plan_parameter *p = &plan->ranks[r].parameters[i];
      if (!p->owner) continue;
      out->drawn += !model && !(given && zb_weights_find(given, p->tensor.name));
      status = p->trained ? add_name(&out->trained, &out->trained_count, p->tensor.name)
                          : add_name(&out->frozen, &out->frozen_count, p->tensor.name);
    }
  count_parameters(plan, out);
  return status;
}

/* The order that the compile used. B and W are one cell where the schedule has one backward. */
static zb_status write_csv(const zb_module_problem *problem, const char *path) {
  zb_order order;
  ZB_TRY(zb_module_order(problem, &order));
  const zb_order_style style = {.form = ZB_FORM_COMPUTE_ONLY};
  order.whole_backward = zb_get_i64(problem->top, "zb.whole_backward", 0) != 0;
  zb_status status = zb_order_write_file(&problem->problem, &order, &style, path);
  zb_order_deinit(&order);
  return status;
}

static zb_status summarize(const zb_module *program, const char *csv, const zb_plan *plan, const zb_weights *given,
                           zb_compile_summary *out) {
  zb_module_problem problem;
  ZB_TRY(zb_module_problem_build(program->module, plan->micro_batches, &problem));
  zb_status status = NULL;
  out->ranks = plan->rank_count;
  out->stages = plan->stage_count;
  out->stage = zb_alloc(((size_t)out->stages + 1) * sizeof *out->stage);
  out->rank = zb_alloc(((size_t)out->ranks + 1) * sizeof *out->rank);
  if (!out->stage || !out->rank) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(summarize_stages(&problem, out));
  out->lower_bound_seconds = 1e-12 * (double)zb_lower_bound_ps(&problem.problem);
  ZB_TRY_GOTO(summarize_plan(plan, program->weights, given, out));
  if (csv) ZB_TRY_GOTO(write_csv(&problem, csv));
cleanup:
  zb_module_problem_deinit(&problem);
  return status;
}

void zb_compile_summary_destroy(zb_compile_summary *summary) {
  if (!summary) return;
  for (int s = 0; summary->stage && s < summary->stages; ++s) {
    zb_free((void *)(uintptr_t)summary->stage[s].first);
    zb_free((void *)(uintptr_t)summary->stage[s].last);
  }
  for (int i = 0; i < summary->trained_count; ++i)
    zb_free(summary->trained[i]);
  for (int i = 0; i < summary->frozen_count; ++i)
    zb_free(summary->frozen[i]);
  for (int i = 0; i < summary->untrained_count; ++i)
    zb_free(summary->untrained[i]);
  zb_free(summary->untrained);
  zb_free(summary->trained);
  zb_free(summary->frozen);
  zb_free(summary->stage);
  zb_free(summary->rank);
  zb_free(summary);
}

/* ---- The placement of a schedule that searches ---- */

/* Costs, memory and messages of a stage depend on how many there are and where, so each placement is compiled to its
 * plan. */
static const struct {
  const char *placement;
  int chunks;
} searched_layouts[] = {{"plain", 1}, {"v", 2}, {"looped", 2}, {"looped", 4}};

/* The passes of a pipeline before (keep_before) or from zb-partition on; it owns nothing. */
static void split_pipeline(const zb_pipeline *pipeline, bool keep_before, zb_pipeline *out) {
  int at = 0;
  while (at < pipeline->count && strcmp(pipeline->entries[at].def->name, "zb-partition") != 0)
    ++at;
  out->count = keep_before ? at : pipeline->count - at;
  memcpy(out->entries, pipeline->entries + (keep_before ? 0 : at), (size_t)out->count * sizeof out->entries[0]);
}

static int64_t step_of(const zb_plan_simulation *simulation, bool stage_metric) {
  if (!stage_metric) return simulation->step_ps;
  int64_t longest = 0;
  for (int r = 0; r < simulation->rank_count; ++r) {
    int64_t time = simulation->ranks[r].end_ps - simulation->ranks[r].start_ps;
    if (time > longest) longest = time;
  }
  return longest;
}

/* Time of a step of the plan that becomes of a copy of the program; INT64_MAX where none does. *out_bytes: what it
 * needs, where that is above the limit, else UINT64_MAX. */
static zb_status try_layout(const zb_compile_params *params, const zb_module *program, int64_t *out_ps,
                            uint64_t *out_bytes) {
  zb_pipeline pipeline = {0}, rest;
  zb_compile_state state = {.options_of_zbc = true};
  zb_module copy = *program;
  *out_ps = INT64_MAX;
  *out_bytes = UINT64_MAX;
  copy.module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(program->module)));
  zb_status status = mlirModuleIsNull(copy.module) ? ZB_OUT_OF_MEMORY() : build_pipeline(params, &pipeline);
  if (status) goto cleanup;
  split_pipeline(&pipeline, false, &rest);
  status = zb_pipeline_run(&rest, &copy, &state, NULL);
  zb_code code = zb_status_code(status);
  if (code == ZB_INVALID || code == ZB_INFEASIBLE || code == ZB_USAGE) {
    zb_status_free(status); /* not defined for these stages, or over the limit: other placements may do */
    status = NULL;
    if (state.needed_bytes) *out_bytes = state.needed_bytes;
  } else if (!status) {
    zb_plan_simulation simulation;
    ZB_TRY_GOTO(zb_plan_simulate(state.plan, &simulation));
    *out_ps = step_of(&simulation, params->metric && strcmp(params->metric, "stage") == 0);
    zb_plan_simulation_free(&simulation);
  }
cleanup:
  zb_pipeline_deinit(&pipeline);
  if (state.plan) zb_plan_destroy(state.plan);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

static void discard(void *context, const char *text) {
  (void)context;
  (void)text;
}

/* Sets the placement and chunks of the shortest step; of equal ones the first. Where none makes a plan those that need
 * the least: the compile then says why, and what would be enough. */
static zb_status search_layout(zb_compile_params *params, const zb_module *program, zb_diagnostics *diagnostics) {
  zb_diagnostics spoken = *diagnostics;
  int64_t best = INT64_MAX;
  uint64_t least = UINT64_MAX;
  zb_compile_params candidate = *params;
  zb_schedule_choice choice;
  zb_status status = zb_schedule_parse(params->schedule, &choice);
  diagnostics->write = discard;
  for (size_t i = 0; i < sizeof searched_layouts / sizeof searched_layouts[0] && !status; ++i) {
    int64_t time;
    uint64_t bytes;
    if (searched_layouts[i].chunks < choice.schedule->chunks_min ||
        searched_layouts[i].chunks > choice.schedule->chunks_max)
      continue;
    candidate.placement = searched_layouts[i].placement;
    candidate.chunks = searched_layouts[i].chunks;
    status = try_layout(&candidate, program, &time, &bytes);
    bool is_better = time < best || (best == INT64_MAX && bytes < least);
    if (status || !is_better) continue;
    best = time;
    least = bytes;
    params->placement = candidate.placement;
    params->chunks = candidate.chunks;
  }
  *diagnostics = spoken;
  return status;
}

/* ---- zb_compile ---- */

/* Runs the pipeline of the params; with an open placement the part before zb-partition, then the search, then the rest.
 */
static zb_status run_pipeline(zb_compile_params *params, bool open_layout, zb_module *program, zb_compile_state *state,
                              zb_pipeline_hooks *hooks, zb_diagnostics *diagnostics) {
  zb_pipeline pipeline = {0}, part;
  zb_status status = build_pipeline(params, &pipeline);
  if (!status && open_layout) {
    split_pipeline(&pipeline, true, &part);
    ZB_TRY_GOTO(zb_pipeline_run(&part, program, state, hooks));
    ZB_TRY_GOTO(search_layout(params, program, diagnostics));
    zb_pipeline_deinit(&pipeline);
    pipeline = (zb_pipeline){0};
    ZB_TRY_GOTO(build_pipeline(params, &pipeline));
    split_pipeline(&pipeline, false, &part);
    status = zb_pipeline_run(&part, program, state, hooks);
  } else if (!status) {
    status = zb_pipeline_run(&pipeline, program, state, hooks);
  }
cleanup:
  zb_pipeline_deinit(&pipeline);
  return status;
}

static double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void write_stderr(void *context, const char *text) {
  (void)context;
  fputs(text, stderr);
}

zb_status zb_compile(const zb_compile_params *given, zb_compile_summary **out) {
  if (out) *out = NULL;
  zb_compile_params completed = *given;
  const zb_compile_params *params = &completed;
  owned_texts owned = {0};
  zb_status status = NULL;
  double start = now_seconds();
  const uint64_t refused = zb_allocations_refused();
  bool open_layout = false;
  zb_module program = {.context = {0}};
  given_values given_weights = {0};
  zb_compile_state state = {.summary = zb_alloc(sizeof *state.summary), .options_of_zbc = !given->pipeline};
  run_context context = {.params = params};
  zb_diagnostics diagnostics = {.write = params->diagnostic ? params->diagnostic : write_stderr,
                                .context = params->diagnostic_context};
  if (!state.summary) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(complete_params(&completed, &owned, &open_layout));
  program.context = zb_context_create(params->pipeline != NULL);
  if (mlirContextIsNull(program.context)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  zb_diagnostics_attach(program.context, &diagnostics);
  if (params->weights) ZB_TRY_GOTO(zb_weights_open(params->weights, &given_weights.store));
  ZB_TRY_GOTO(import(params, &program));
  if (params->weights && program.weights)
    ZB_TRY_GOTO(match_model(&given_weights, params, program.weights, &diagnostics));
  ZB_TRY_GOTO(list_untrained(program.module, state.summary));
  state.summary->uncompared = is_uncompared(program.module);
  zb_pipeline_hooks hooks = {.after = after_pass, .context = &context, .verify = params->dump_directory != NULL};
  ZB_TRY_GOTO(run_pipeline(&completed, open_layout, &program, &state, &hooks, &diagnostics));
  ZB_TRY_GOTO(context.status);
  context.status = NULL;
  if (!state.plan)
    ZB_TRY_GOTO(zb_status_hint(ZB_ERROR(USAGE, "the pipeline makes no plan"), "end it with zb-verify-plan"));
  state.summary->ops = context.ops;
  if (params->weights && !given_weights.weights)
    ZB_TRY_GOTO(match_plan(&given_weights, params, state.plan, &diagnostics));
  ZB_TRY_GOTO(summarize(&program, params->csv, state.plan, given_weights.weights, state.summary));
  if (params->output) ZB_TRY_GOTO(write_folder(params->output, state.plan, &program, given_weights.weights));
  if (params->timeline) ZB_TRY_GOTO(zb_plan_timeline(state.plan, params->timeline));
  state.summary->compile_seconds = now_seconds() - start;
  if (out) {
    *out = state.summary;
    state.summary = NULL;
  }
cleanup:
  zb_free(owned.placement);
  zb_free(owned.optimizer);
  if (state.plan) zb_plan_destroy(state.plan);
  zb_compile_summary_destroy(state.summary);
  free_given(&given_weights);
  if (!mlirContextIsNull(program.context)) zb_module_deinit(&program);
  return zb_memory_first(status, refused); /* passes and importers that fail do not all know why */
}

zb_status zb_plan_timeline_file(const char *directory, const char *path) {
  zb_plan *plan = NULL;
  zb_text plan_path;
  zb_text_init(&plan_path);
  zb_text_add(&plan_path, "%s/plan.zb", directory);
  zb_status status = plan_path.failed ? ZB_OUT_OF_MEMORY() : zb_plan_read(plan_path.data, -1, &plan);
  if (!status) status = zb_plan_timeline(plan, path);
  if (plan) zb_plan_destroy(plan);
  zb_text_deinit(&plan_path);
  return status;
}
