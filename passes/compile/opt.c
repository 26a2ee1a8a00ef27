/* zb_opt: read MLIR text, run a pipeline, print. What zb-opt and the golden tests use.
 * --verify-diagnostics and --split-input-file exist in mlir-opt but not in MLIR's C API; they are here.
 * Tests: the .mlir files of test/passes. */

#include "ir/nesting.h"
#include "passes/pipeline.h"
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

#include <mlir-c/Diagnostics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One "// expected-error@+1 {{text}}" of the input, and one diagnostic that came. */
typedef struct expectation {
  int line;
  char severity; /* 'e' error, 'w' warning, 'n' note */
  char text[256];
  bool met;
} expectation;

typedef struct chunk {
  const zb_opt_params *params;
  const char *name;
  const char *text; /* of this chunk, NUL-terminated */
  int first_line;   /* line of its first character, from 1 */
  ZB_LIST(expectation) expected;
  zb_arena arena;
  int surprises;
} chunk;

static void write_ref(MlirStringRef text, void *context) {
  const zb_opt_params *params = context;
  params->write(params->context, text.data, text.length);
}

/* ---- Expected diagnostics ---- */

static bool parse_expectation(const char *at, int line, expectation *out) {
  static const char *const words[] = {"error", "warning", "note", "remark"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
    if (strncmp(at, words[i], strlen(words[i])) != 0) continue;
    at += strlen(words[i]);
    *out = (expectation){.line = line, .severity = words[i][0]};
    if (strncmp(at, "@below", 6) == 0)
      out->line += 1;
    else if (strncmp(at, "@above", 6) == 0)
      out->line -= 1;
    else if (*at == '@')
      out->line += atoi(at + 1);
    const char *begin = strstr(at, "{{"), *end = begin ? strstr(begin, "}}") : NULL;
    if (!end || (size_t)(end - begin) >= sizeof out->text) return false;
    memcpy(out->text, begin + 2, (size_t)(end - begin - 2));
    return true;
  }
  return false;
}

static zb_status find_expectations(chunk *c) {
  int line = c->first_line;
  for (const char *at = c->text; *at; ++at) {
    if (*at == '\n') ++line;
    expectation found;
    if (*at == 'e' && strncmp(at, "expected-", 9) == 0 && parse_expectation(at + 9, line, &found))
      (void)ZB_PUSH(&c->arena, &c->expected, found);
  }
  return zb_arena_status(&c->arena);
}

static void collect(MlirStringRef part, void *context) { zb_text_add_bytes(context, part.data, part.length); }

static int line_of(MlirLocation location) {
  if (mlirLocationIsAFileLineColRange(location)) return mlirLocationFileLineColRangeGetStartLine(location);
  if (mlirLocationIsAName(location)) return line_of(mlirLocationNameGetChildLoc(location));
  return -1;
}

static MlirLogicalResult match_diagnostic(MlirDiagnostic diagnostic, void *context) {
  chunk *c = context;
  zb_text text = {0};
  mlirDiagnosticPrint(diagnostic, collect, &text);
  static const char severities[] = {'e', 'w', 'n', 'r'};
  char severity = severities[mlirDiagnosticGetSeverity(diagnostic)];
  int line = line_of(mlirDiagnosticGetLocation(diagnostic));
  bool matched = false;
  for (size_t i = 0; i < c->expected.count && !matched; ++i) {
    expectation *e = &c->expected.items[i];
    if (e->met || e->severity != severity || e->line != line || !text.data || !strstr(text.data, e->text)) continue;
    e->met = matched = true;
  }
  if (!matched) {
    ++c->surprises;
    fprintf(stderr, "%s:%d: unexpected diagnostic: %s\n", c->name, line, text.data ? text.data : "");
  }
  zb_text_deinit(&text);
  return mlirLogicalResultSuccess();
}

static zb_status check_expectations(const chunk *c) {
  int missing = c->surprises;
  for (size_t i = 0; i < c->expected.count; ++i) {
    if (c->expected.items[i].met) continue;
    ++missing;
    fprintf(stderr, "%s:%d: expected diagnostic was not produced: %s\n", c->name, c->expected.items[i].line,
            c->expected.items[i].text);
  }
  return missing ? ZB_ERROR(INVALID, "%d diagnostics did not match", missing) : NULL;
}

/* ---- One chunk ---- */

static void after_pass(void *context, const zb_pass_def *def, MlirModule module, int64_t changes, double seconds) {
  const zb_opt_params *params = context;
  if (params->timing) fprintf(stderr, "%-20s %8.3f s  %8lld changes\n", def->name, seconds, (long long)changes);
  if (!params->print_after_all) return;
  char banner[128];
  int length = snprintf(banner, sizeof banner, "// -----// IR Dump After %s //----- //\n", def->name);
  params->write(params->context, banner, (size_t)length);
  mlirOperationPrint(mlirModuleGetOperation(module), write_ref, context);
  params->write(params->context, "\n", 1);
}

static void print_module(const zb_opt_params *params, MlirModule module) {
  zb_opt_params copy = *params;
  (params->emit_bytecode ? mlirOperationWriteBytecode : mlirOperationPrint)(mlirModuleGetOperation(module), write_ref,
                                                                            &copy);
  if (!params->emit_bytecode) params->write(params->context, "\n", 1); /* an empty line at the end, as mlir-opt has */
}

/* The text is padded with line ends to its place in the file, so that locations are those of the file. */
static zb_status parse_chunk(const chunk *c, MlirContext context, MlirModule *out) {
  zb_text padded = {0};
  for (int i = 1; i < c->first_line; ++i)
    zb_text_add_bytes(&padded, "\n", 1);
  zb_text_add_bytes(&padded, c->text, strlen(c->text));
  MlirOperation op = {NULL};
  zb_status status =
      padded.failed ? ZB_OUT_OF_MEMORY() : zb_check_nesting(context, c->name, padded.data, padded.length);
  if (!status) {
    /* Parsing an op by name gives locations the file's name; mlirModuleCreateParse says "-". */
    int diagnostics = 0;
    MlirDiagnosticHandlerID counter = zb_count_diagnostics(context, &diagnostics);
    op = mlirOperationCreateParse(context, (MlirStringRef){padded.data, padded.length},
                                  mlirStringRefCreateFromCString(c->name));
    mlirContextDetachDiagnosticHandler(context, counter);
    if (mlirOperationIsNull(op)) status = zb_parse_refused(context, c->name, padded.data, padded.length, diagnostics);
  }
  zb_text_deinit(&padded);
  if (status) return status;
  *out = mlirModuleFromOperation(op);
  if (!mlirModuleIsNull(*out)) return NULL;
  /* A file with one function only: wrap it. */
  *out = mlirModuleCreateEmpty(mlirOperationGetLocation(op));
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(*out), op);
  return NULL;
}

static zb_status run_chunk(chunk *c, const zb_pipeline *pipeline) {
  const zb_opt_params *params = c->params;
  zb_status status = NULL;
  zb_module program = {.context = zb_context_create(params->allow_unregistered_dialect)};
  if (mlirContextIsNull(program.context)) return ZB_OUT_OF_MEMORY();
  zb_diagnostics diagnostics = {0}; /* to standard error */
  if (params->verify_diagnostics) {
    ZB_TRY_GOTO(find_expectations(c));
    mlirContextAttachDiagnosticHandler(program.context, match_diagnostic, c, NULL);
  } else {
    zb_diagnostics_attach(program.context, &diagnostics);
  }
  status = parse_chunk(c, program.context, &program.module);
  if (!status && !params->no_verify && !zb_verify_module(mlirModuleGetOperation(program.module)))
    status = ZB_ERROR(INVALID, "%s does not verify", c->name);
  if (!status && pipeline->count) {
    zb_opt_params copy = *params;
    zb_pipeline_hooks hooks = {.after = after_pass, .context = &copy, .verify = !params->no_verify};
    status = zb_pipeline_run(pipeline, &program, NULL, &hooks);
  }
  if (params->verify_diagnostics) {
    zb_status_free(status);
    status = check_expectations(c);
  } else if (!status) {
    print_module(params, program.module);
  }
cleanup:
  zb_arena_deinit(&c->arena);
  zb_module_deinit(&program);
  return status;
}

/* ---- The file ---- */

static zb_status read_input(const char *path, char **out, size_t *out_bytes) {
  if (strcmp(path, "-") != 0) return zb_file_read(path, UINT64_C(1) << 32, out, out_bytes);
  zb_text text = {0};
  char buffer[65536];
  size_t got = 0;
  while ((got = fread(buffer, 1, sizeof buffer, stdin)) > 0)
    zb_text_add_bytes(&text, buffer, got);
  *out_bytes = text.length;
  *out = text.data ? zb_text_take(&text) : zb_strdup("");
  return *out ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status run_chunks(const zb_opt_params *params, const zb_pipeline *pipeline, char *text) {
  static const char separator[] = "// -----";
  zb_status first = NULL;
  int line = 1;
  char *begin = text;
  for (bool more = true; more;) {
    char *end = params->split_input_file ? begin : NULL;
    while (end && (end = strstr(end, separator)) &&
           !((end == text || end[-1] == '\n') && strchr("\r\n", end[strlen(separator)])))
      end += strlen(separator);
    more = end != NULL;
    if (end) *end = '\0';
    chunk c = {.params = params,
               .name = strcmp(params->input, "-") == 0 ? "<stdin>" : params->input,
               .text = begin,
               .first_line = line};
    zb_status status = run_chunk(&c, pipeline);
    if (status && first)
      zb_status_free(status);
    else if (status)
      first = status;
    if (!more) break;
    if (!params->verify_diagnostics) params->write(params->context, "// -----\n", 9);
    for (const char *at = begin; *at; ++at)
      line += *at == '\n';
    begin = end + strlen(separator);
  }
  return first;
}

zb_status zb_opt(const zb_opt_params *params) {
  zb_pipeline pipeline = {0};
  char *text = NULL;
  size_t bytes = 0;
  const uint64_t refused = zb_allocations_refused();
  zb_status status = NULL;
  if (params->pipeline) ZB_TRY(zb_pipeline_parse(params->pipeline, &pipeline));
  ZB_TRY_GOTO(read_input(params->input, &text, &bytes));
  if (bytes >= 4 && memcmp(text, "ML\xEFR", 4) == 0)
    ZB_TRY_GOTO(zb_status_hint(ZB_ERROR(INVALID, "%s is MLIR bytecode", params->input),
                               "bytecode of strangers is not parsed in-process: convert it with mlir-opt to text"));
  ZB_TRY_GOTO(run_chunks(params, &pipeline, text));
cleanup:
  zb_free(text);
  zb_pipeline_deinit(&pipeline);
  return zb_memory_first(status, refused);
}
