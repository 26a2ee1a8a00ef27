/* A file of layers, one a line: what the recipe of an importer makes.
 *
 *   input ROWS TOKENS WIDTH      token numbers, looked up in a table of 256 x WIDTH
 *   linear NAME OUT              a product with a parameter
 *   tanh
 *   loss                         cross entropy over 256 classes
 */
#include <stdio.h>
#include <string.h>

#include "ir/dialect.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

zb_status zb_import_layers(MlirContext context, const zb_import_params *params, zb_module *out);

typedef struct reader {
  zb_text arguments, body;
  int rows, tokens, width, values;
} reader;

static void add_linear(reader *it, const char *name, int width) {
  zb_text_add(&it->arguments, ", %%%s: tensor<%dx%dxf32> {zb.param = \"%s\"}", name, it->width, width, name);
  zb_text_add(
      &it->body,
      "  %%v%d = \"zb.matmul\"(%%v%d, %%%s) : (tensor<%dx%dx%dxf32>, tensor<%dx%dxf32>) -> tensor<%dx%dx%dxf32>\n",
      it->values + 1, it->values, name, it->rows, it->tokens, it->width, it->width, width, it->rows, it->tokens, width);
  it->width = width;
  ++it->values;
}

static zb_status add_line(reader *it, const char *line, int number, const char *path) {
  char name[32];
  int width;
  if (sscanf(line, "input %d %d %d", &it->rows, &it->tokens, &it->width) == 3) {
    zb_text_add(&it->arguments, "%%x: tensor<%dx%dxi64> {zb.input = \"x\"}, %%y: tensor<%dx%dxi64> {zb.input = \"y\"}",
                it->rows, it->tokens, it->rows, it->tokens);
    zb_text_add(&it->arguments, ", %%table: tensor<256x%dxf32> {zb.param = \"table\"}", it->width);
    zb_text_add(&it->body,
                "  %%v0 = \"zb.gather\"(%%table, %%x) {axis = 0 : i64} : (tensor<256x%dxf32>, tensor<%dx%dxi64>) -> "
                "tensor<%dx%dx%dxf32>\n",
                it->width, it->rows, it->tokens, it->rows, it->tokens, it->width);
  } else if (sscanf(line, "linear %31[a-z0-9] %d", name, &width) == 2) {
    add_linear(it, name, width);
  } else if (strncmp(line, "tanh", 4) == 0) {
    zb_text_add(&it->body, "  %%v%d = \"zb.tanh\"(%%v%d) : (tensor<%dx%dx%dxf32>) -> tensor<%dx%dx%dxf32>\n",
                it->values + 1, it->values, it->rows, it->tokens, it->width, it->rows, it->tokens, it->width);
    ++it->values;
  } else if (strncmp(line, "loss", 4) == 0) {
    add_linear(it, "head", 256);
    zb_text_add(&it->body,
                "  %%loss, %%lse = \"zb.cross_entropy\"(%%v%d, %%y) {reduction = \"mean\"} : (tensor<%dx%dx256xf32>, "
                "tensor<%dx%dxi64>) -> (tensor<f32>, tensor<%dx%dxf32>)\n  return %%loss : tensor<f32>\n",
                it->values, it->rows, it->tokens, it->rows, it->tokens, it->rows, it->tokens);
  } else if (*line && *line != '\n') {
    return zb_status_hint(ZB_ERROR(INVALID, "%s:%d: no layer: '%.20s'", path, number, line),
                          "input, linear, tanh, loss");
  }
  return NULL;
}

static zb_status parse(MlirContext context, reader *it, zb_module *out) {
  zb_text text = {0};
  zb_text_add(&text,
              "module attributes {zb.level = \"graph\"} {\nfunc.func @model(%s) -> (tensor<f32> {zb.loss}) {\n%s}\n}",
              it->arguments.data, it->body.data);
  if (!text.failed) out->module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text.data));
  zb_status status = text.failed                     ? ZB_OUT_OF_MEMORY()
                     : mlirModuleIsNull(out->module) ? ZB_ERROR(INVALID, "the layers do not fit each other")
                                                     : NULL;
  zb_text_deinit(&text);
  return status;
}

zb_status zb_import_layers(MlirContext context, const zb_import_params *params, zb_module *out) {
  char *text = NULL;
  size_t bytes = 0;
  int number = 0;
  *out = (zb_module){.context = context};
  ZB_TRY(zb_file_read(params->path, 1 << 20, &text, &bytes));
  reader it = {0};
  zb_status status = NULL;
  for (char *line = text, *next; line && *line && !status; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    status = add_line(&it, line, ++number, params->path);
  }
  if (!status) status = parse(context, &it, out);
  zb_text_deinit(&it.arguments);
  zb_text_deinit(&it.body);
  zb_free(text);
  return status;
}
