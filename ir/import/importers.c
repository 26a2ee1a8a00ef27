/* Which importer a file is for. Tests: test/ir/import/import_test.c, test/e2e/bad_input.py. */
#include "ir/import/importers.h"
#include "ir/import/import.h"

#include <stdio.h>
#include <string.h>

enum { MARK_BYTES = 1 << 16 };

static const zb_importer importers[] = {
#define ZB_IMPORTER(name, endings, mark) {#name, endings, mark, zb_import_##name},
#include "ir/import/importers.def"
#undef ZB_IMPORTER
};
enum { IMPORTER_COUNT = sizeof importers / sizeof importers[0] };

/* Whether a path ends in one of the words. */
static bool has_ending(const char *path, const char *endings) {
  size_t bytes = strlen(path);
  while (*endings) {
    size_t length = strcspn(endings, " ");
    if (length && length <= bytes && memcmp(path + bytes - length, endings, length) == 0) return true;
    endings += length + strspn(endings + length, " ");
  }
  return false;
}

/* Where the lines end that MLIR prints before a module: #loc1 = loc("..."), more than a mark is looked for in. */
static size_t behind_aliases(const zb_import_source *file) {
  size_t at = 0;
  while (at < file->bytes && file->data[at] == '#') {
    const uint8_t *end = memchr(file->data + at, '\n', file->bytes - at);
    at = end ? (size_t)(end - file->data) + 1 : file->bytes;
  }
  return at;
}

static zb_status has_mark(const char *path, const char *mark, bool *out) {
  zb_import_source file;
  ZB_TRY(zb_import_source_open(path, NULL, &file));
  const size_t begin = behind_aliases(&file), left = file.bytes - begin, length = strlen(mark);
  const size_t end = begin + (left < MARK_BYTES ? left : MARK_BYTES);
  *out = false;
  for (size_t i = begin; i + length <= end && !*out; ++i)
    *out = memcmp(file.data + i, mark, length) == 0;
  zb_import_source_close(&file);
  return NULL;
}

/* Adds ".onnx, .json and .mlir", each ending once; returns how many there are. list NULL: only counts. */
static int list_endings(const zb_importer *rows, int count, int all, zb_text *list) {
  int found = 0;
  for (int i = 0; i < count; ++i)
    for (const char *at = rows[i].endings; *at;) {
      char ending[32];
      size_t length = strcspn(at, " ");
      bool known = false;
      snprintf(ending, sizeof ending, "%.*s", (int)length, at);
      for (int k = 0; k < i; ++k)
        known = known || has_ending(ending, rows[k].endings);
      at += length + strspn(at + length, " ");
      if (known) continue;
      if (list) zb_text_add(list, "%s%s", found == 0 ? "" : found + 1 < all ? ", " : " and ", ending);
      ++found;
    }
  return found;
}

/* Files that are given for a model. */
static const struct {
  const char *ending, *mark, *what, *hint;
} others[] = {
    {".json", "\"model_type\"", "a configuration of transformers, without its graph",
     "make the module, AutoModelForCausalLM.from_config(...), and compile that: zb.compile(module, example), or "
     "zb.aten.export(module, example, path=\"model.mlir\")"},
    {".json", "\"weight_map\"", "an index of weights, without the model's graph", "it goes to --weights"},
    {".json", "\"arguments\"", "a file of roles", "it goes to --roles, beside StableHLO text"},
    {".json", NULL, "JSON, but no program of Paddle", "a program of Paddle has base_code and program at its top"},
    {".pt .pth .safetensors .bin .ckpt .py .pt2", NULL, "no graph",
     "tools/export_onnx.py makes an .onnx file of a PyTorch model, and zb.aten.export (tools/python) an .mlir file"},
};

static zb_status refuse_other(const char *path) {
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    bool found = has_ending(path, others[i].ending);
    if (found && others[i].mark) ZB_TRY(has_mark(path, others[i].mark, &found));
    if (found) return zb_status_hint(ZB_ERROR(USAGE, "'%s' is %s", path, others[i].what), "%s", others[i].hint);
  }
  return NULL;
}

zb_status zb_importer_find(const zb_importer *rows, int count, const char *path, const zb_importer **out) {
  for (int i = 0; i < count; ++i) {
    bool found = has_ending(path, rows[i].endings);
    if (found && rows[i].mark) ZB_TRY(has_mark(path, rows[i].mark, &found));
    if (found) *out = &rows[i];
    if (found) return NULL;
  }
  ZB_TRY(refuse_other(path));
  zb_text list = {0};
  list_endings(rows, count, list_endings(rows, count, 0, NULL), &list);
  zb_status status = zb_status_hint(ZB_ERROR(USAGE, "cannot tell the format of '%s'", path), "zbc reads %s files",
                                    list.failed ? "other" : list.data);
  zb_text_deinit(&list);
  return status;
}

zb_status zb_import_file(MlirContext context, const zb_import_params *params, zb_module *out) {
  const zb_importer *importer = NULL;
  ZB_TRY(zb_importer_find(importers, IMPORTER_COUNT, params->path, &importer));
  if (params->roles && importer->run != zb_import_stablehlo)
    return zb_status_hint(ZB_ERROR(USAGE, "--roles has no effect on '%s'", params->path), "it is for StableHLO text");
  if (params->startup && importer->run != zb_import_paddle)
    return zb_status_hint(ZB_ERROR(USAGE, "--startup has no effect on '%s'", params->path),
                          "it is for programs of Paddle");
  if ((params->constants || params->dim_count) && importer->run != zb_import_onnx)
    return zb_status_hint(
        ZB_ERROR(USAGE, "%s has no effect on '%s'", params->constants ? "--constants" : "--dim", params->path),
        "it is for ONNX files");
  return importer->run(context, params, out);
}
