/* The diagnostic handler: file:line:col: error: text, the source line, a caret, then notes and the hint.
 *
 * An error of zb is one MLIR diagnostic whose text ends with "\nhint: ..." (ir/op.c), since mlirEmitError takes no
 * notes. The last source file is kept in memory with its line offsets, so that a thousand errors read it once.
 *
 * Tests: test/ir/diagnostics_test.c.
 */
#include "ir/dialect.h"

#include "runtime/base/assert.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES_MAX = 400, LINE_BYTES_MAX = 200, NAMES_MAX = 512 };

typedef struct handler_state {
  zb_diagnostics *diagnostics;
  char *path, *source; /* the last file that was shown; source NULL if it could not be read */
  size_t source_bytes;
} handler_state;

static void add_chunk(MlirStringRef chunk, void *user) { zb_text_add_bytes(user, chunk.data, chunk.length); }

/* Where a location points: a file position, and the name of a node where it has one. */
typedef struct place {
  MlirStringRef file, name;
  int line, column;
} place;

static void resolve(MlirLocation location, place *out, int depth) {
  if (depth > 16 || mlirLocationIsNull(location)) return;
  if (mlirLocationIsAFileLineColRange(location)) {
    out->file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
    out->line = mlirLocationFileLineColRangeGetStartLine(location);
    out->column = mlirLocationFileLineColRangeGetStartColumn(location);
  } else if (mlirLocationIsAName(location)) {
    if (!out->name.length) out->name = mlirIdentifierStr(mlirLocationNameGetName(location));
    resolve(mlirLocationNameGetChildLoc(location), out, depth + 1);
  } else if (mlirLocationIsACallSite(location)) {
    resolve(mlirLocationCallSiteGetCallee(location), out, depth + 1);
  } else if (mlirLocationIsAFused(location) && mlirLocationFusedGetNumLocations(location) == 1) {
    MlirLocation only;
    mlirLocationFusedGetLocations(location, &only);
    resolve(only, out, depth + 1);
  }
}

static void add_place(zb_text *text, const place *at) {
  if (at->file.length) zb_text_add(text, "%.*s:", (int)at->file.length, at->file.data);
  if (at->line > 0) zb_text_add(text, "%d:%d:", at->line, at->column);
  if (at->name.length) zb_text_add(text, "%s%.*s:", at->file.length ? " " : "", (int)at->name.length, at->name.data);
  if (text->length) zb_text_add(text, " ");
}

static void load_source(handler_state *state, const char *path) {
  if (state->path && strcmp(state->path, path) == 0) return;
  zb_free(state->path);
  zb_free(state->source);
  state->path = zb_strdup(path);
  state->source = NULL;
  zb_status_free(zb_file_read(path, (uint64_t)ZB_MLIR_BYTES_MAX, &state->source, &state->source_bytes));
}

/* Adds the source line and a caret under the column; nothing where the file cannot be read. */
static void add_source_line(zb_text *text, handler_state *state, const place *at) {
  char path[4096];
  if (at->line <= 0 || at->file.length >= sizeof path) return;
  snprintf(path, sizeof path, "%.*s", (int)at->file.length, at->file.data);
  load_source(state, path);
  if (!state->source) return;
  const char *line = state->source, *end = state->source + state->source_bytes;
  for (int i = 1; i < at->line && line; ++i) {
    line = memchr(line, '\n', (size_t)(end - line));
    if (line) ++line;
  }
  if (!line || line >= end) return;
  const char *line_end = memchr(line, '\n', (size_t)(end - line));
  size_t length = (size_t)((line_end ? line_end : end) - line);
  size_t column = at->column > 0 ? (size_t)at->column - 1 : 0;
  size_t from = column > LINE_BYTES_MAX / 2 ? column - LINE_BYTES_MAX / 2 : 0;
  if (from > length) return;
  size_t shown = length - from < LINE_BYTES_MAX ? length - from : LINE_BYTES_MAX;
  zb_text_add(text, "  %.*s\n  ", (int)shown, line + from);
  for (size_t i = from; i < column; ++i)
    zb_text_add(text, "%c", i < length && line[i] == '\t' ? '\t' : ' ');
  zb_text_add(text, "^\n");
}

static const char *severity_text(MlirDiagnosticSeverity severity) {
  static const char *const texts[] = {[MlirDiagnosticError] = "error",
                                      [MlirDiagnosticWarning] = "warning",
                                      [MlirDiagnosticNote] = "note",
                                      [MlirDiagnosticRemark] = "remark"};
  return texts[severity];
}

/* MLIR's parser says that an op of zb does not exist; the nearest name is the hint. */
static void add_nearest_op(const char *body, zb_text *hint) {
  static const char before[] = "unregistered operation 'zb.";
  const char *begin = strstr(body, before), *end = begin ? strchr(begin + sizeof before - 1, '\'') : NULL;
  char word[64];
  if (!end || (size_t)(end - begin) - (sizeof before - 1) >= sizeof word) return;
  begin += sizeof before - 1;
  snprintf(word, sizeof word, "%.*s", (int)(end - begin), begin);
  const char *names[NAMES_MAX];
  int count = zb_op_builtin_count() < NAMES_MAX ? zb_op_builtin_count() : NAMES_MAX;
  for (int i = 0; i < count; ++i)
    names[i] = zb_op_at(i)->name;
  const char *nearest = zb_nearest(word, names, count);
  if (nearest) zb_text_add(hint, "did you mean 'zb.%s'?", nearest);
}

/* One diagnostic without its notes. `hint` gets what follows "\nhint: ", to be printed after the notes. */
static void add_diagnostic(zb_text *text, handler_state *state, MlirDiagnostic diagnostic, bool is_note,
                           zb_text *hint) {
  place at = {.line = 0};
  resolve(mlirDiagnosticGetLocation(diagnostic), &at, 0);
  zb_text message = {0}, prefix = {0};
  mlirDiagnosticPrint(diagnostic, add_chunk, &message);
  add_place(&prefix, &at);
  const char *body = message.failed ? "out of memory while reporting an error" : message.data ? message.data : "";
  const char *split = strstr(body, "\nhint: ");
  size_t length = split ? (size_t)(split - body) : strlen(body);
  bool cut = is_note && length > NOTE_BYTES_MAX;
  zb_text_add(text, "%s%s: %.*s%s\n", prefix.data ? prefix.data : "",
              severity_text(mlirDiagnosticGetSeverity(diagnostic)), (int)(cut ? NOTE_BYTES_MAX : length), body,
              cut ? " ..." : "");
  if (split) zb_text_add(hint, "%s", split + strlen("\nhint: "));
  if (!is_note) {
    add_nearest_op(body, hint);
    add_source_line(text, state, &at);
  }
  zb_text_deinit(&message);
  zb_text_deinit(&prefix);
}

static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *user) {
  handler_state *state = user;
  zb_text text = {0}, hint = {0};
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) ++state->diagnostics->errors;
  add_diagnostic(&text, state, diagnostic, false, &hint);
  intptr_t notes = mlirDiagnosticGetNumNotes(diagnostic);
  for (intptr_t i = 0; i < notes; ++i)
    add_diagnostic(&text, state, mlirDiagnosticGetNote(diagnostic, i), true, &hint);
  if (hint.length) zb_text_add(&text, "  hint: %s\n", hint.data);
  char *all = zb_text_take(&text), *safe = all ? zb_shown(all) : NULL;
  const char *shown = safe ? safe : "error: out of memory while reporting an error\n";
  if (state->diagnostics->write)
    state->diagnostics->write(state->diagnostics->context, shown);
  else
    fputs(shown, stderr);
  zb_free(all);
  zb_free(safe);
  zb_text_deinit(&hint);
  return mlirLogicalResultSuccess();
}

static void destroy_state(void *user) {
  handler_state *state = user;
  zb_free(state->path);
  zb_free(state->source);
  zb_free(state);
}

MlirDiagnosticHandlerID zb_diagnostics_attach(MlirContext context, zb_diagnostics *diagnostics) {
  handler_state *state = zb_alloc(sizeof *state);
  ZB_ASSERT(state);
  state->diagnostics = diagnostics;
  return mlirContextAttachDiagnosticHandler(context, handle, state, destroy_state);
}
