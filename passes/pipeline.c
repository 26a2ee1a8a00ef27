/* The pass table, pipeline text, and the loop that runs passes and checks levels.
 * Tests: test/passes/structure-errors.mlir (wrong order of passes), test/passes/levels.test,
 * test/tools/zb-opt-options.test. */

#include "passes/pipeline.h"

#include "ir/nesting.h"
#include "ir/scope.h"
#include "passes/graph.h"
#include "passes/options.h"
#include "runtime/base/assert.h"
#include "runtime/base/clock.h"
#include "runtime/base/words.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZB_PASS(c_name) extern const zb_pass_def zb_pass_##c_name;
#include "passes/passes.def"
#undef ZB_PASS

static const zb_pass_def *const rows[] = {
#define ZB_PASS(c_name) &zb_pass_##c_name,
#include "passes/passes.def"
#undef ZB_PASS
};
enum { PASS_COUNT = sizeof rows / sizeof rows[0] };

/* The rows with all their options: their own, then those of a compile that name the pass. */
static zb_pass_def passes[PASS_COUNT];
static zb_option_def pass_options[PASS_COUNT][ZB_PASS_OPTIONS_MAX + 1];

static void complete_row(int index) {
  int count = 0;
  passes[index] = *rows[index];
  for (; passes[index].options && passes[index].options[count].name; ++count) {
    ZB_ASSERT(count < ZB_PASS_OPTIONS_MAX);
    pass_options[index][count] = passes[index].options[count];
  }
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    if (!zb_option_is_of(it, passes[index].name)) continue;
    ZB_ASSERT(count < ZB_PASS_OPTIONS_MAX);
    const char *value = it->kind == ZB_OPTION_FLAG ? "false" : it->value ? it->value : "";
    pass_options[index][count++] = (zb_option_def){it->option + 2, value, it->help};
  }
  passes[index].options = pass_options[index];
}

/* -1: none is called so. */
static int row_of(const char *name) {
  for (int i = 0; i < PASS_COUNT; ++i)
    if (strcmp(rows[i]->name, name) == 0) return i;
  return -1;
}

static void complete_rows(void) {
  for (int i = 0; i < PASS_COUNT; ++i)
    complete_row(i);
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    bool known = !it->passes;
    for (int i = 0; i < PASS_COUNT; ++i)
      known |= zb_option_is_of(it, passes[i].name);
    ZB_ASSERT(known);
  }
}

static const zb_pass_def *pass_at(int index) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, complete_rows);
  return &passes[index];
}

const zb_pass_def *zb_pass_find(const char *name) {
  const int index = row_of(name);
  return index < 0 ? NULL : pass_at(index);
}

int zb_module_level(MlirModule module) {
  const char *level = zb_get_string(mlirModuleGetOperation(module), ZB_ATTR_LEVEL);
  int index = level ? zb_level_index(level) : 0;
  return index < 0 ? 0 : index;
}

void zb_module_set_level(MlirModule module, const char *level) {
  MlirOperation op = mlirModuleGetOperation(module);
  zb_set_attribute(op, ZB_ATTR_LEVEL, zb_mlir_string(mlirOperationGetContext(op), level));
}

/* ---- Public table ---- */

int zb_pass_count(void) { return PASS_COUNT; }

/* "stages=N (default 1): how many; ..." is put together once a row, in static storage: the table is constant. */
static const char *options_text(int index) {
  static char texts[PASS_COUNT][8192];
  char *text = texts[index];
  if (text[0]) return text;
  size_t length = 0;
  for (const zb_option_def *option = pass_at(index)->options; option->name; ++option) {
    const int wrote = snprintf(text + length, sizeof texts[0] - length, "%s%s=%s  %s", length ? "\n" : "", option->name,
                               option->default_value[0] ? option->default_value : "...", option->help);
    ZB_ASSERT(wrote > 0 && (size_t)wrote < sizeof texts[0] - length);
    for (char *end = text + length + (length > 0); (end = strchr(end, '\n'));) /* a line an option */
      *end = ' ';
    length += (size_t)wrote;
  }
  return text;
}

zb_pass_info zb_pass_info_at(int index) {
  const zb_pass_def *def = pass_at(index);
  return (zb_pass_info){.name = def->name,
                        .summary = def->summary,
                        .options = options_text(index),
                        .requires_level = def->requires_level ? def->requires_level : "any",
                        .ensures_level = def->ensures_level ? def->ensures_level : "unchanged"};
}

/* ---- Options ---- */

static int option_index(const zb_pass_def *def, const char *name) {
  for (int i = 0; def->options[i].name; ++i)
    if (strcmp(def->options[i].name, name) == 0) return i;
  return -1;
}

static zb_status unknown_option(const zb_pass_def *def, const char *name) {
  const char *names[ZB_PASS_OPTIONS_MAX];
  int count = 0;
  for (; def->options[count].name; ++count)
    names[count] = def->options[count].name;
  zb_status status = ZB_ERROR(USAGE, "pass %s has no option '%s'", def->name, name);
  return count ? zb_hint_name(status, "option of a pass", name, names, count)
               : zb_status_hint(status, "it takes no options");
}

/* Options: key=value separated by blanks or commas; a value may be in double quotes. Cuts `text`, which
 * must live as long as the entry. */
static zb_status parse_options(zb_pipeline_entry *entry, char *text) {
  while (*text) {
    text += strspn(text, " ,");
    if (!*text) break;
    char *name = text;
    text += strcspn(text, "=, ");
    if (*text != '=')
      return zb_status_hint(
          ZB_ERROR(USAGE, "option '%.*s' of pass %s has no value", (int)(text - name), name, entry->def->name),
          "write %s{name=value}; quote values that hold commas: name=\"a,b\"", entry->def->name);
    *text++ = '\0';
    char *value = text;
    if (*text == '"') {
      value = ++text;
      text += strcspn(text, "\"");
      if (!*text) return ZB_ERROR(USAGE, "option '%s' of pass %s: missing closing quote", name, entry->def->name);
    } else {
      text += strcspn(text, ", ");
    }
    bool more = *text != '\0';
    *text = '\0';
    int index = option_index(entry->def, name);
    if (index < 0) return unknown_option(entry->def, name);
    entry->values[index] = value;
    if (more) ++text;
  }
  return NULL;
}

zb_status zb_pipeline_add(zb_pipeline *pipeline, const char *name, const char *options) {
  const zb_pass_def *def = zb_pass_find(name);
  if (!def) {
    const char *names[PASS_COUNT];
    for (int i = 0; i < PASS_COUNT; ++i)
      names[i] = rows[i]->name;
    const char *nearest = zb_nearest(name, names, PASS_COUNT), *meaning = zb_name_meaning("pass", name);
    zb_status status = ZB_ERROR(USAGE, "unknown pass '%s'", name);
    if (meaning) return zb_status_hint(status, "%s", meaning);
    return nearest ? zb_status_hint(status, "did you mean '%s'?", nearest)
                   : zb_status_hint(status, "zb-opt --list-passes shows all");
  }
  if (pipeline->count == ZB_PIPELINE_MAX) return ZB_ERROR(USAGE, "a pipeline has at most %d passes", ZB_PIPELINE_MAX);
  zb_pipeline_entry *entry = &pipeline->entries[pipeline->count++];
  *entry = (zb_pipeline_entry){.def = def};
  for (int i = 0; def->options[i].name; ++i)
    entry->values[i] = def->options[i].default_value;
  char *copy = zb_arena_strdup(&pipeline->arena, options ? options : "");
  return copy ? parse_options(entry, copy) : ZB_OUT_OF_MEMORY();
}

/* One element "name" or "name{options}" that starts at text; *out_end is what follows it. */
static zb_status parse_element(zb_pipeline *pipeline, const char *text, const char **out_end) {
  char name[64];
  size_t length = strcspn(text, "{,) \t\n");
  if (length == 0 || length >= sizeof name) return ZB_ERROR(USAGE, "pipeline: expected a pass name at '%.20s'", text);
  memcpy(name, text, length);
  name[length] = '\0';
  text += length;
  if (*text != '{') {
    *out_end = text;
    return zb_pipeline_add(pipeline, name, NULL);
  }
  const char *begin = ++text;
  bool quoted = false;
  while (*text && (quoted || *text != '}'))
    quoted ^= *text++ == '"';
  if (!*text) return ZB_ERROR(USAGE, "pipeline: missing '}' after %s{", name);
  char *options = zb_arena_strdup(&pipeline->arena, begin);
  if (!options) return ZB_OUT_OF_MEMORY();
  options[text - begin] = '\0';
  *out_end = text + 1;
  return zb_pipeline_add(pipeline, name, options);
}

zb_status zb_pipeline_parse(const char *text, zb_pipeline *out) {
  *out = (zb_pipeline){0};
  static const char anchor[] = "builtin.module(";
  text += strspn(text, " \t\n");
  bool anchored = strncmp(text, anchor, strlen(anchor)) == 0;
  if (anchored) text += strlen(anchor);
  zb_status status = NULL;
  for (;;) {
    text += strspn(text, " \t\n,");
    if (!*text || *text == ')') break;
    ZB_TRY_GOTO(parse_element(out, text, &text));
  }
  if (anchored && *text != ')') ZB_TRY_GOTO(ZB_ERROR(USAGE, "pipeline: missing ')' at the end"));
cleanup:
  if (status) zb_pipeline_deinit(out);
  return status;
}

void zb_pipeline_deinit(zb_pipeline *pipeline) {
  zb_arena_deinit(&pipeline->arena);
  pipeline->count = 0;
}

const char *zb_pass_option(const zb_pass *pass, const char *name) {
  int index = option_index(pass->def, name);
  ZB_ASSERT(index >= 0);
  return pass->option_values[index];
}

int64_t zb_pass_option_int(const zb_pass *pass, const char *name, int64_t fallback) {
  const char *text = zb_pass_option(pass, name);
  if (!*text) return fallback;
  char *end = NULL;
  long long value = strtoll(text, &end, 10);
  return *end ? fallback : (int64_t)value;
}

zb_result zb_pass_option_flag(zb_pass *pass, const char *name, bool *out) {
  const char *text = zb_pass_option(pass, name);
  *out = strcmp(text, "true") == 0;
  if (*out || strcmp(text, "false") == 0) return ZB_OK;
  return zb_pass_option_error(pass, mlirModuleGetOperation(pass->program->module), name, NULL,
                              "expected true or false, got '%s'", text);
}

zb_result zb_pass_option_bytes(zb_pass *pass, const char *name, uint64_t *out) {
  const char *text = zb_pass_option(pass, name);
  *out = 0;
  if (!*text || strcmp(text, "0") == 0 || zb_bytes_parse(text, out)) return ZB_OK; /* 0: no limit */
  return zb_pass_option_error(pass, mlirModuleGetOperation(pass->program->module), name, "for example 2G",
                              "expected bytes with K, M or G, got '%s'", text);
}

zb_result zb_pass_fail(zb_pass *pass, zb_status status) {
  zb_compile_state *state = pass->state;
  pass->failure = zb_status_code(status);
  if (state && !state->status) {
    state->status = status;
    return ZB_FAIL;
  }
  zb_op_error_at(mlirModuleGetOperation(pass->program->module), zb_status_hint_text(status), "%s",
                 zb_status_message(status));
  zb_status_free(status);
  return ZB_FAIL;
}

zb_result zb_pass_option_error(zb_pass *pass, MlirOperation at, const char *name, const char *hint, const char *format,
                               ...) {
  zb_compile_state *state = pass->state;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pass->failure = ZB_USAGE;
  if (!state || !state->options_of_zbc || state->status) return zb_op_error_at(at, hint, "%s: %s", name, text);
  state->status = ZB_ERROR(USAGE, "--%s: %s", name, text);
  if (hint) state->status = zb_status_hint(state->status, "%s", hint);
  return ZB_FAIL;
}

/* ---- Running ---- */

static zb_result check_level(const zb_pass_def *def, MlirModule module) {
  if (!def->requires_level) return ZB_OK;
  int have = zb_module_level(module), first = zb_level_index(def->requires_level);
  int last = def->last_level ? zb_level_index(def->last_level) : first;
  ZB_ASSERT(first >= 0 && last >= first);
  if (have >= first && have <= last) return ZB_OK;
  char hint[256];
  const char *before = NULL;
  for (int i = 0; i < PASS_COUNT && have < first; ++i)
    if (rows[i]->ensures_level && strcmp(rows[i]->ensures_level, def->requires_level) == 0) before = rows[i]->name;
  if (before)
    snprintf(hint, sizeof hint, "run %s before it", before);
  else
    snprintf(hint, sizeof hint, "run it earlier: zb-opt --list-passes shows the order");
  return zb_op_error_at(mlirModuleGetOperation(module), hint, "%s needs a program at level '%s'%s%s%s, got level '%s'",
                        def->name, zb_level_names[first], last > first ? " to '" : "",
                        last > first ? zb_level_names[last] : "", last > first ? "'" : "", zb_level_names[have]);
}

static zb_result run_pass(zb_pass *pass, MlirModule module) {
  MlirOperation function;
  MlirBlock block;
  if (pass->def->run) return pass->def->run(pass, module);
  return zb_pass_function(module, &function, &block) ? pass->def->run_on_function(pass, function) : ZB_FAIL;
}

/* *out_failure: the code of what went wrong, where a diagnostic has said it. */
static zb_result run_one(const zb_pipeline_entry *entry, zb_module *program, zb_compile_state *state,
                         const zb_pipeline_hooks *hooks, zb_kept_graph *kept, zb_code *out_failure) {
  const zb_pass_def *def = entry->def;
  *out_failure = ZB_INVALID;
  if (!check_level(def, program->module)) return ZB_FAIL;
  const int64_t start = zb_monotonic_ps();
  zb_pass pass = {.def = def,
                  .program = program,
                  .option_values = entry->values,
                  .kept = kept,
                  .state = state,
                  .failure = ZB_INVALID};
  zb_result result = run_pass(&pass, program->module);
  if (pass.release) pass.release(pass.released);
  zb_arena_deinit(&pass.arena);
  if (!def->keeps_graph || !result || kept->is_old) zb_kept_graph_drop(kept);
  *out_failure = pass.failure;
  if (!result) return ZB_FAIL;
  if (def->ensures_level) zb_module_set_level(program->module, def->ensures_level);
  const double seconds = 1e-12 * (double)(zb_monotonic_ps() - start);
  MlirOperation module = mlirModuleGetOperation(program->module);
  if (hooks && hooks->verify && (!mlirOperationVerify(module) || !zb_verify_module(module)))
    return zb_op_error_at(module, "this is a bug of the pass: please report it with the input",
                          "the program is wrong after %s", def->name);
  if (hooks && hooks->after) hooks->after(hooks->context, def, program->module, pass.changes, seconds);
  return ZB_OK;
}

static zb_status run_entries(const zb_pipeline *pipeline, zb_module *program, zb_compile_state *state,
                             const zb_pipeline_hooks *hooks, zb_kept_graph *kept) {
  for (int i = 0; i < pipeline->count; ++i) {
    zb_code failure;
    int diagnostics = 0;
    MlirDiagnosticHandlerID counter = zb_count_diagnostics(program->context, &diagnostics);
    zb_result result = run_one(&pipeline->entries[i], program, state, hooks, kept, &failure);
    mlirContextDetachDiagnosticHandler(program->context, counter);
    if (result) continue;
    if (state && state->status) {
      zb_status status = state->status;
      state->status = NULL;
      return status;
    }
    zb_status status = zb_status_make(failure, __FILE__, __LINE__, "%s failed", pipeline->entries[i].def->name);
    if (failure == ZB_USAGE) return zb_status_hint(status, "zb-opt --list-passes shows the options of every pass");
    if (failure != ZB_INVALID) return status;
    if (diagnostics) return zb_status_set_told(status);
    zb_status_free(status);
    status = ZB_ERROR(INTERNAL, "a bug of zbc: %s failed and did not say why", pipeline->entries[i].def->name);
    return zb_status_hint(status, "please report it with the model and the command line");
  }
  return NULL;
}

zb_status zb_pipeline_run(const zb_pipeline *pipeline, zb_module *program, zb_compile_state *state,
                          const zb_pipeline_hooks *hooks) {
  const zb_scope outer = zb_scope_set(zb_scope_of(program->context));
  zb_kept_graph kept = {0};
  zb_status status = run_entries(pipeline, program, state, hooks, &kept);
  zb_kept_graph_drop(&kept);
  zb_scope_set(outer);
  return status;
}
