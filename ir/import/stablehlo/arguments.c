/* What arguments and results of @main are called, and what they are.
 *
 * JAX names an argument by its path in the arguments of the Python function, in its location or its attribute
 * jax.arg_info, and a result in jax.result_info: params['block0']['fc1']['kernel'],
 * result[1]['block0']['fc1']['kernel']. Files without locations name results alone. --roles FILE.json says all of it,
 * and holds against the file:
 *
 *   {"arguments": [{"index": 0, "role": "param", "path": "block0.fc1.kernel", "shape": [64, 256]}, ...],
 *    "results": [{"index": 0, "role": "loss"}, {"index": 1, "updates_arg": 0}, ...]}
 *
 * role of an argument: "param", "opt_state", "input". The name is the first there is of safetensors_key, data_key and
 * path. Tests: test/ir/import/stablehlo, test/e2e/stablehlo.py. */
#include "ir/import/stablehlo/stablehlo.h"
#include "runtime/base/file.h"
#include "runtime/base/json.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

enum { ROLES_BYTES_MAX = 64 << 20 };

/* ---- Names ---- */

/* "params['block0'].w[3]" -> root "params", rest "block0.w.3"; both are taken. */
static zb_result split_path(zb_import *im, const char *path, size_t length, const char **root, const char **rest) {
  zb_text text = {0};
  size_t i = 0;
  while (i < length && path[i] != '[' && path[i] != '.')
    ++i;
  *root = zb_import_take_text(im, path, i);
  while (i < length) {
    const char c = path[i];
    const bool ends = c == '[' || c == ']' || c == '.' || c == '\'' || c == '"';
    if (ends && text.length > 0 && text.data[text.length - 1] != '.') zb_text_add(&text, ".");
    if (!ends) zb_text_add_bytes(&text, &path[i], 1);
    ++i;
  }
  while (text.length > 0 && text.data[text.length - 1] == '.')
    text.data[--text.length] = '\0';
  *rest = zb_import_take_text(im, text.length ? text.data : "", text.length);
  const bool failed = text.failed || !*root || !*rest;
  zb_text_deinit(&text);
  return failed ? zb_import_memory(im) : ZB_OK;
}

static const char *numbered(zb_import *im, const char *word, int number) {
  char text[32];
  snprintf(text, sizeof text, "%s%d", word, number);
  return zb_import_take_text(im, text, strlen(text));
}

/* What argument or result `index` has under a key; null: nothing. */
static MlirAttribute entry_of(MlirOperation op, const char *list, intptr_t index, const char *key) {
  MlirAttribute entry = zb_get_entry(op, list, index);
  return entry.ptr ? mlirDictionaryAttrGetElementByName(entry, mlirStringRefCreateFromCString(key)) : entry;
}

static MlirStringRef string_of(MlirAttribute attribute) {
  return attribute.ptr && mlirAttributeIsAString(attribute) ? mlirStringAttrGetValue(attribute)
                                                            : (MlirStringRef){NULL, 0};
}

/* ---- The signature of the file ---- */

static zb_result read_argument(zb_stablehlo *it, MlirValue value, int index) {
  zb_import *im = &it->core;
  zb_stablehlo_argument *a = &it->arguments[index];
  MlirStringRef path = string_of(entry_of(it->main, "arg_attrs", index, "jax.arg_info"));
  MlirLocation location = mlirValueGetLocation(value);
  if (!path.data && mlirLocationIsAName(location)) path = mlirIdentifierStr(mlirLocationNameGetName(location));
  MlirAttribute donated = entry_of(it->main, "arg_attrs", index, "tf.aliasing_output");
  a->donated_to = donated.ptr && mlirAttributeIsAInteger(donated) &&
                          mlirTypeIsAInteger(mlirAttributeGetType(donated)) &&
                          mlirIntegerTypeIsSignless(mlirAttributeGetType(donated)) &&
                          mlirIntegerTypeGetWidth(mlirAttributeGetType(donated)) <= 64
                      ? (int)mlirIntegerAttrGetValueInt(donated)
                      : -1;
  a->updated_by = -1;
  a->is_typed = zb_stablehlo_shape(mlirValueGetType(value), &a->shape);
  a->name = numbered(im, "arg", index);
  if (!a->name) return ZB_FAIL;
  if (!path.data || path.length == 0) return ZB_OK;
  const char *rest;
  if (!split_path(im, path.data, path.length, &a->root, &rest)) return ZB_FAIL;
  it->has_names = true;
  a->is_leaf = *rest != '\0';
  a->name = a->is_leaf ? rest : a->root;
  return ZB_OK;
}

/* The number in front is the place in the tuple that the function returns. */
static zb_result read_result(zb_stablehlo *it, MlirType type, int index) {
  zb_import *im = &it->core;
  zb_import_result *r = &it->results.items[index];
  MlirStringRef path = string_of(entry_of(it->main, "res_attrs", index, "jax.result_info"));
  const char *root, *rest = "";
  r->updates = -1;
  r->is_typed = zb_stablehlo_shape(type, &r->shape);
  if (path.data && path.length && !split_path(im, path.data, path.length, &root, &rest)) return ZB_FAIL;
  const char *behind = rest + strspn(rest, "0123456789");
  r->name = *behind == '.' && behind > rest ? behind + 1 : *rest ? rest : numbered(im, "result", index);
  return r->name ? ZB_OK : ZB_FAIL;
}

/* ---- The file of roles ---- */

static zb_result refuse_roles(zb_stablehlo *it, const char *format, ...) ZB_PRINTF(2, 3);

static zb_result refuse_roles(zb_stablehlo *it, const char *format, ...) {
  char text[384];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return zb_import_fail(
      &it->core,
      "{\"arguments\": [{\"index\": 0, \"role\": \"param\", \"path\": \"w\"}, ...], \"results\": [{\"index\": "
      "0, \"role\": \"loss\"}, ...]}",
      "--roles '%s': %s", it->core.params->roles, text);
}

/* Index of an entry below `count`; -1 after reporting. */
static int index_of(zb_stablehlo *it, const json_t *entry, const char *list, int count) {
  const json_t *index = json_object_get(entry, "index");
  const json_int_t value = json_is_integer(index) ? json_integer_value(index) : -1;
  if (value >= 0 && value < count) return (int)value;
  refuse_roles(it, "an entry of %s has no index from 0 to %d", list, count - 1);
  return -1;
}

static zb_result check_shape(zb_stablehlo *it, const json_t *entry, const zb_stablehlo_argument *a, int index) {
  const json_t *shape = json_object_get(entry, "shape");
  if (!shape) return ZB_OK;
  bool same = json_is_array(shape) && a->is_typed && json_array_size(shape) == (size_t)a->shape.rank;
  for (int i = 0; same && i < a->shape.rank; ++i) {
    const json_t *dim = json_array_get(shape, (size_t)i);
    same = json_is_integer(dim) && json_integer_value(dim) == a->shape.dims[i];
  }
  return same ? ZB_OK
              : refuse_roles(it, "argument %d has another shape in the graph: the roles are of another file", index);
}

static zb_result apply_argument(zb_stablehlo *it, const json_t *entry) {
  static const char *const names[] = {"safetensors_key", "data_key", "path"};
  const int index = index_of(it, entry, "arguments", it->argument_count);
  if (index < 0) return ZB_FAIL;
  zb_stablehlo_argument *a = &it->arguments[index];
  const char *role = json_string_value(json_object_get(entry, "role")), *name = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !name; ++i)
    name = json_string_value(json_object_get(entry, names[i]));
  if (!role) return refuse_roles(it, "argument %d has no role", index);
  if (strcmp(role, "param") == 0)
    a->role = ZB_STABLEHLO_PARAMETER;
  else if (strcmp(role, "opt_state") == 0)
    a->role = ZB_STABLEHLO_STATE;
  else if (strcmp(role, "input") == 0)
    a->role = ZB_STABLEHLO_INPUT;
  else
    return refuse_roles(it, "argument %d has the role '%.40s', expected param, opt_state or input", index, role);
  a->is_given = true;
  if (name && *name) a->name = zb_import_take_text(&it->core, name, strlen(name));
  return a->name ? check_shape(it, entry, a, index) : ZB_FAIL;
}

static zb_result apply_result(zb_stablehlo *it, const json_t *entry) {
  const int index = index_of(it, entry, "results", it->results.count);
  if (index < 0) return ZB_FAIL;
  zb_import_result *r = &it->results.items[index];
  const char *role = json_string_value(json_object_get(entry, "role"));
  const json_t *updates = json_object_get(entry, "updates_arg");
  r->is_loss = role && strcmp(role, "loss") == 0;
  if (!updates) return ZB_OK;
  const json_int_t argument = json_is_integer(updates) ? json_integer_value(updates) : -1;
  if (argument < 0 || argument >= it->argument_count)
    return refuse_roles(it, "result %d has no updates_arg from 0 to %d", index, it->argument_count - 1);
  if (it->arguments[argument].updated_by >= 0) return refuse_roles(it, "two results update argument %d", (int)argument);
  r->updates = (int)argument;
  it->arguments[argument].updated_by = index;
  return ZB_OK;
}

static zb_result apply_list(zb_stablehlo *it, const json_t *roles, const char *name,
                            zb_result (*apply)(zb_stablehlo *, const json_t *)) {
  const json_t *list = json_object_get(roles, name);
  if (!list) return ZB_OK;
  if (!json_is_array(list)) return refuse_roles(it, "%s is no list", name);
  for (size_t i = 0; i < json_array_size(list); ++i)
    if (!apply(it, json_array_get(list, i))) return ZB_FAIL;
  return ZB_OK;
}

static zb_result read_roles(zb_stablehlo *it) {
  char *text = NULL;
  size_t bytes = 0;
  json_t *roles = NULL;
  json_error_t error;
  zb_status status = zb_file_read(it->core.params->roles, ROLES_BYTES_MAX, &text, &bytes);
  if (!status) status = zb_json_parse(text, bytes, JSON_REJECT_DUPLICATES, &roles, &error);
  zb_free(text);
  if (status) {
    zb_result result = zb_status_code(status) == ZB_MEMORY ? zb_import_memory(&it->core)
                                                           : refuse_roles(it, "%s", zb_status_message(status));
    zb_status_free(status);
    return result;
  }
  zb_result result =
      roles ? apply_list(it, roles, "arguments", apply_argument) && apply_list(it, roles, "results", apply_result)
            : refuse_roles(it, "%d:%d: not JSON: %s", error.line, error.column, error.text);
  json_decref(roles);
  return result;
}

zb_result zb_stablehlo_read_signature(zb_stablehlo *it) {
  zb_import *im = &it->core;
  MlirAttribute type = zb_get_attribute(it->main, "function_type");
  if (!type.ptr || !mlirAttributeIsAType(type) || !mlirTypeIsAFunction(mlirTypeAttrGetValue(type)))
    return zb_import_fail(im, NULL, "@main has no function type");
  MlirType function = mlirTypeAttrGetValue(type);
  MlirRegion region = mlirOperationGetRegion(it->main, 0);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (mlirBlockIsNull(block)) return zb_import_fail(im, NULL, "@main has no body");
  it->argument_count = (int)mlirBlockGetNumArguments(block);
  it->results = (zb_import_results){
      .most_listed = 8,
      .word = "result",
      .whole = "function",
      .scalar = "f32 result",
      .loss_hint = "lower a function that returns the mean loss of the micro-batch; --inference compiles one without",
  };
  it->results.count = (int)mlirFunctionTypeGetNumResults(function);
  it->arguments = zb_import_take(im, ((size_t)it->argument_count + 1) * sizeof *it->arguments);
  it->results.items = zb_import_take(im, ((size_t)it->results.count + 1) * sizeof *it->results.items);
  if (!it->arguments || !it->results.items) return ZB_FAIL;
  for (int i = 0; i < it->argument_count; ++i)
    if (!read_argument(it, mlirBlockGetArgument(block, i), i)) return ZB_FAIL;
  for (int i = 0; i < it->results.count; ++i)
    if (!read_result(it, mlirFunctionTypeGetResult(function, i), i)) return ZB_FAIL;
  return im->params->roles ? read_roles(it) : ZB_OK;
}

/* @main, else the only function. */
zb_result zb_stablehlo_find_main(zb_stablehlo *it) {
  MlirOperation only = {NULL};
  int count = 0;
  it->main = zb_stablehlo_function(it, "main");
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(it->module)); op.ptr && !it->main.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!zb_op_is(op, "func.func")) continue;
    only = op;
    ++count;
  }
  if (count == 1) it->main = only;
  return it->main.ptr ? ZB_OK : zb_import_fail(&it->core, ZB_STABLEHLO_TEXT_HINT, "the module has no function @main");
}
