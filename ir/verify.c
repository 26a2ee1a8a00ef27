/* zb_verify_module: what IRDL cannot say. Every zb op against its row, and the zb.* attributes of functions.
 *
 * One walk; all errors are reported, each at its op. Attributes of an op are enumerated here (zb ops are registered, so
 * MLIR lists them all), which is how a misspelt one is found; those named zb.* are those of ir/attributes.def.
 *
 * Tests: test/ir/verify.mlir, test/ir/attributes.mlir, test/ir/ops/ (one case a constraint).
 */
#include "ir/builder.h"
#include "ir/dialect.h"
#include "ir/op_view.h"
#include "runtime/base/map.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

enum { RESULTS_MAX = 64, CANDIDATES_MAX = 64, CONSTANT_BYTES_MAX = 1024 };

typedef struct verify_state {
  int errors;
  MlirOperation top;
  int level;
} verify_state;

static bool starts_with(MlirStringRef text, const char *prefix) {
  size_t length = strlen(prefix);
  return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

static bool equals(MlirStringRef text, const char *word) {
  return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

/* ---- Ops ---- */

static bool row_has_attribute(const zb_op_def *def, MlirStringRef name) {
  for (const zb_attr_def *row = def->attrs; row && row->name; ++row)
    if (equals(name, row->name)) return true;
  return false;
}

static zb_result report_unknown_attribute(MlirOperation op, const zb_op_def *def, MlirStringRef name) {
  const char *candidates[CANDIDATES_MAX];
  int count = 0;
  for (const zb_attr_def *row = def->attrs; row && row->name && count < CANDIDATES_MAX; ++row)
    candidates[count++] = row->name;
  zb_name_hint text = zb_name_hint_of(name, candidates, count, "attributes of your own stand on the function");
  return zb_op_error_at(op, text.hint, "zb.%s has no attribute '%s'", def->name, text.name);
}

static zb_result check_attribute_names(MlirOperation op, const zb_op_def *def) {
  intptr_t count = mlirOperationGetNumAttributes(op);
  for (intptr_t i = 0; i < count; ++i) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetAttribute(op, i).name);
    if (starts_with(name, "zb.") || row_has_attribute(def, name)) continue;
    return report_unknown_attribute(op, def, name);
  }
  return ZB_OK;
}

static zb_result check_result_types(MlirOperation op, const zb_op_def *def, const zb_shape *expected, int count) {
  for (int i = 0; i < count; ++i) {
    zb_shape got;
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (!zb_type_shape(type, &got))
      return zb_op_error_at(
          op, "zb knows ranked static tensors of f32, f64, bf16, f16, i64, i32 and i1 with at most 8 dimensions",
          "zb.%s: result %d is no tensor that zb knows", def->name, i);
    if (zb_shape_equal(&got, &expected[i])) continue;
    char expected_text[96], got_text[96];
    return zb_op_error_at(op, "result types follow from the operands and attributes",
                          "zb.%s: the type of result %d is wrong: expected tensor<%s>, got tensor<%s>", def->name, i,
                          zb_shape_text(&expected[i], expected_text), zb_shape_text(&got, got_text));
  }
  return ZB_OK;
}

static zb_result check_result_count(MlirOperation op, const zb_op_def *def, intptr_t count) {
  zb_op_arity arity = zb_op_names_arity(def->results);
  if (count >= arity.least && count <= RESULTS_MAX && (count <= arity.named || arity.variadic >= 0)) return ZB_OK;
  return zb_op_error_at(op, NULL, "zb.%s: expected results (%s), got %" PRIdPTR " results", def->name,
                        def->results ? def->results : "", count);
}

/* zb.constant C1, C2: the value has the type of the result and is small. */
static zb_result check_elements(MlirOperation op, const zb_op_def *def) {
  for (const zb_attr_def *row = def->attrs; row && row->name; ++row) {
    if (row->kind != ZB_ATTR_ELEMENTS) continue;
    MlirAttribute value = zb_get_attribute(op, row->name);
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
    if (!mlirTypeEqual(mlirAttributeGetType(value), type))
      return zb_op_error_at(op, "write the same type after dense<...> and as result",
                            "zb.%s: the type of %s differs from the type of the result (C1)", def->name, row->name);
    if (zb_type_bytes(type) > CONSTANT_BYTES_MAX)
      return zb_op_error_at(op, "make it an argument with {zb.constant = \"name\"} and store it as safetensors",
                            "zb.%s: %s is too large: expected at most %d bytes, got %" PRIu64 " (C2)", def->name,
                            row->name, CONSTANT_BYTES_MAX, zb_type_bytes(type));
  }
  return ZB_OK;
}

extern const zb_op_def zb_op_put, zb_op_get;

/* zb.put C1, zb.get C1: the value lies within the frame. */
static zb_result check_frame_place(MlirOperation op, const zb_op_def *def) {
  if (def != &zb_op_put && def != &zb_op_get) return ZB_OK;
  MlirValue value = def == &zb_op_put ? mlirOperationGetOperand(op, 1) : mlirOperationGetResult(op, 0);
  uint64_t frame_bytes = 0, bytes = zb_type_bytes(mlirValueGetType(value));
  int64_t offset = zb_get_i64(op, "offset", -1);
  zb_type_frame(mlirValueGetType(mlirOperationGetOperand(op, 0)), NULL, &frame_bytes);
  if (offset >= 0 && bytes <= frame_bytes && (uint64_t)offset <= frame_bytes - bytes) return ZB_OK;
  return zb_op_error_at(op, "frames are laid out by zb-memory",
                        "zb.%s: the value leaves the frame: expected offset + %" PRIu64 " to be at most %" PRIu64
                        ", got offset %" PRId64 " (C1)",
                        def->name, bytes, frame_bytes, offset);
}

static zb_result check_op(MlirOperation op, const zb_op_def *def, bool foreign) {
  zb_op_view view;
  zb_op_view_storage storage;
  zb_op_error error = {.text = ""};
  if (!foreign && !check_attribute_names(op, def)) return ZB_FAIL;
  zb_view_state state = zb_op_view_read(op, def, &view, &storage, &error);
  if (state == ZB_VIEW_OPAQUE && foreign) return ZB_OK;
  if (state == ZB_VIEW_INVALID || (state == ZB_VIEW_OPAQUE && def->infer))
    return zb_op_error_at(op, error.hint, "%s%s: %s", foreign ? "" : "zb.", def->name, error.text);
  if (!def->infer) return foreign || (check_elements(op, def) && check_frame_place(op, def)) ? ZB_OK : ZB_FAIL;
  intptr_t count = mlirOperationGetNumResults(op);
  if (!check_result_count(op, def, count)) return ZB_FAIL;
  zb_shape results[RESULTS_MAX];
  if (!def->infer(&view, results, &error))
    return zb_op_error_at(op, error.hint, "%s%s: %s", foreign ? "" : "zb.", def->name, error.text);
  return check_result_types(op, def, results, (int)count);
}

/* ---- Functions ---- */

static int check_value_attributes(MlirOperation function, const char *list_name, zb_attribute_place place, int level) {
  MlirAttribute list = zb_get_attribute(function, list_name);
  if (mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list)) return 0;
  int errors = 0;
  intptr_t values = mlirArrayAttrGetNumElements(list);
  for (intptr_t i = 0; i < values; ++i) {
    MlirAttribute dictionary = mlirArrayAttrGetElement(list, i);
    if (!mlirAttributeIsADictionary(dictionary)) continue;
    intptr_t count = mlirDictionaryAttrGetNumElements(dictionary);
    for (intptr_t j = 0; j < count; ++j)
      errors += !zb_check_attribute(function, mlirDictionaryAttrGetElement(dictionary, j), place, i, level);
  }
  return errors;
}

/* The string of attribute `name` in entry `index` of a list of dictionaries, or NULL. */
static const char *entry_string(MlirAttribute list, intptr_t index, const char *name) {
  MlirAttribute value =
      mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(list, index), mlirStringRefCreateFromCString(name));
  if (mlirAttributeIsNull(value) || !mlirAttributeIsAString(value)) return NULL;
  MlirStringRef text = mlirStringAttrGetValue(value);
  return text.length ? text.data : "";
}

/* A state is saved with its parameter, whose name its own begins with: "w.exp_avg" is one of "w". */
static int check_state_names(MlirOperation function, MlirAttribute arguments, intptr_t count, const zb_map *names) {
  int errors = 0;
  for (intptr_t i = 0; i < count; ++i) {
    const char *state = entry_string(arguments, i, ZB_ATTR_STATE), *dot = state ? strrchr(state, '.') : NULL;
    if (!state) continue;
    char *parameter = dot && dot[1] ? zb_strdup(state) : NULL;
    if (parameter) parameter[dot - state] = '\0';
    int64_t owner = parameter ? zb_map_get_or(names, parameter, -1) : -1;
    bool known = owner >= 0 && !entry_string(arguments, owner, ZB_ATTR_STATE) &&
                 !entry_string(arguments, owner, ZB_ATTR_CONSTANT);
    zb_free(parameter);
    if (known) continue;
    zb_op_error_at(function,
                   "name it as its parameter, a dot and what it is: zb.state = \"layer.weight.exp_avg\"; checkpoints "
                   "keep it with that",
                   "the state '%s' belongs to no parameter", state);
    ++errors;
  }
  return errors;
}

/* How many numbers a setting has, and in *out_length how long the name of its parameter is (0: of the run); 0: its name
 * is none that there is. */
static int setting_values(const char *name, size_t *out_length) {
  enum { RUN, PARAMETER };
  static const struct {
    const char *name;
    int values, of;
  } rows[] = {
#define ZB_SETTING(ID, name, values, of, help) {name, values, of},
#include "zb/settings.def"
  };
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const bool of_parameter = rows[i].of == PARAMETER;
    if (strcmp(of_parameter && dot ? dot + 1 : name, rows[i].name) != 0 || (of_parameter && (!dot || dot == name)))
      continue;
    *out_length = of_parameter ? (size_t)(dot - name) : 0;
    return rows[i].values;
  }
  return 0;
}

/* "w.update" is a setting of the trained parameter "w". */
static bool is_of_parameter(const char *setting, size_t length, MlirAttribute arguments, const zb_map *names) {
  char *parameter = zb_strdup(setting);
  if (parameter) parameter[length] = '\0';
  const int64_t owner = parameter ? zb_map_get_or(names, parameter, -1) : -1;
  zb_free(parameter);
  return owner >= 0 && entry_string(arguments, owner, ZB_ATTR_PARAM);
}

static zb_result check_setting(MlirOperation function, MlirAttribute arguments, intptr_t i, const zb_map *names) {
  const char *setting = entry_string(arguments, i, ZB_ATTR_SETTING);
  MlirAttribute defaults = mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(arguments, i),
                                                              mlirStringRefCreateFromCString(ZB_ATTR_DEFAULTS));
  size_t length = 0;
  const int values = setting_values(setting, &length);
  const intptr_t given = mlirAttributeIsNull(defaults) || !mlirAttributeIsADenseF64Array(defaults)
                             ? 0
                             : mlirDenseArrayGetNumElements(defaults);
  if (values == 0 || (length > 0 && !is_of_parameter(setting, length, arguments, names)))
    return zb_op_error_at(function,
                          "name it as its parameter, a dot and what it sets: zb.setting = \"layer.weight.update\"",
                          "the setting '%s' belongs to no trained parameter", setting);
  if (given != values)
    return zb_op_error_at(function, "give them: zb.defaults = array<f64: 0.001, 0.1>",
                          "the setting '%s' has %" PRIdPTR " defaults, expected %d", setting, given, values);
  MlirAttribute own = mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(arguments, i),
                                                         mlirStringRefCreateFromCString(ZB_ATTR_OWN));
  int64_t bits = -1;
  if (!mlirAttributeIsNull(own) && zb_attr_read_integer(own, &bits) && bits >= 0 && bits >> values == 0) return ZB_OK;
  return zb_op_error_at(function, "zb.own = 0 : i64: none of them",
                        "the setting '%s' does not say which of its numbers "
                        "are its own",
                        setting);
}

static int check_settings(MlirOperation function, MlirAttribute arguments, intptr_t count, const zb_map *names) {
  int errors = 0;
  zb_map *seen = zb_map_create();
  if (!seen) return zb_op_error_at(function, NULL, "out of memory"), 1;
  for (intptr_t i = 0; i < count; ++i) {
    const char *setting = entry_string(arguments, i, ZB_ATTR_SETTING);
    if (!setting) continue;
    errors += !check_setting(function, arguments, i, names);
    if (zb_map_get(seen, setting, NULL))
      errors += !zb_op_error_at(function, "a name stands for one argument", "two settings are named '%s'", setting);
    else if (!zb_map_set(seen, setting, i))
      errors += !zb_op_error_at(function, NULL, "out of memory");
  }
  zb_map_destroy(seen);
  return errors;
}

enum { UPDATED = -1 }; /* in place of the argument's number */

/* Every update names an argument that no other result updates. */
static int check_update_names(MlirOperation function, zb_map *names) {
  MlirAttribute results = zb_get_attribute(function, "res_attrs");
  intptr_t count = mlirAttributeIsNull(results) ? 0 : mlirArrayAttrGetNumElements(results);
  int errors = 0;
  for (intptr_t i = 0; i < count; ++i) {
    const char *name = entry_string(results, i, ZB_ATTR_UPDATE);
    int64_t argument = 0;
    if (!name) continue;
    bool known = zb_map_get(names, name, &argument);
    if (known && argument != UPDATED && zb_map_set(names, name, UPDATED)) continue;
    if (known)
      zb_op_error_at(function, "one result is the new value",
                     "result %" PRIdPTR " updates '%s', and so does one before it", i, name);
    else
      zb_op_error_at(function, "it must name a zb.param or zb.state argument",
                     "result %" PRIdPTR " updates '%s', but no argument has that name", i, name);
    ++errors;
  }
  return errors;
}

/* Each buffer has one new value, of its type, and each new value a buffer. `names`: of arguments. */
static int check_buffers(MlirOperation function, const zb_map *names) {
  MlirAttribute arguments = zb_get_attribute(function, "arg_attrs"), results = zb_get_attribute(function, "res_attrs");
  const intptr_t argument_count = mlirAttributeIsNull(arguments) ? 0 : mlirArrayAttrGetNumElements(arguments);
  const intptr_t result_count = mlirAttributeIsNull(results) ? 0 : mlirArrayAttrGetNumElements(results);
  MlirType type = mlirTypeAttrGetValue(zb_get_attribute(function, "function_type"));
  int errors = 0;
  bool *updated = zb_alloc((size_t)argument_count + 1);
  if (!updated) return zb_op_error_at(function, NULL, "out of memory"), 1;
  for (intptr_t i = 0; i < result_count; ++i) {
    const char *name = entry_string(results, i, ZB_ATTR_BUFFER);
    const int64_t at = name ? zb_map_get_or(names, name, -1) : -1;
    if (!name) continue;
    if (at < 0 || !entry_string(arguments, at, ZB_ATTR_BUFFER))
      errors += !zb_op_error_at(function, "it must name a zb.buffer argument",
                                "result %" PRIdPTR " updates the buffer '%s', but no argument has that name", i, name);
    else if (updated[at])
      errors += !zb_op_error_at(function, "one result is the new value", "two results update the buffer '%s'", name);
    else if (!mlirTypeEqual(mlirFunctionTypeGetInput(type, at), mlirFunctionTypeGetResult(type, i)))
      errors +=
          !zb_op_error_at(function, "a buffer keeps its type", "the buffer '%s' is updated with another type", name);
    if (at >= 0) updated[at] = true;
  }
  for (intptr_t i = 0; i < argument_count; ++i) {
    const char *name = entry_string(arguments, i, ZB_ATTR_BUFFER);
    if (name && !updated[i])
      errors += !zb_op_error_at(function, "mark its new value in the results with zb.buffer, or the argument zb.frozen",
                                "nothing updates the buffer '%s'", name);
  }
  zb_free(updated);
  return errors;
}

/* Each parameter, frozen parameter, buffer, state and constant is one argument (inputs may come once a micro-batch).
 * `strict`: the program is whole, so that a state and its parameter are arguments of one function. */
static int check_argument_names(MlirOperation function, bool strict) {
  static const char *const unique[] = {ZB_ATTR_PARAM, ZB_ATTR_FROZEN, ZB_ATTR_BUFFER, ZB_ATTR_STATE, ZB_ATTR_CONSTANT};
  MlirAttribute arguments = zb_get_attribute(function, "arg_attrs");
  zb_map *names = zb_map_create();
  int errors = 0;
  if (!names) return zb_op_error_at(function, NULL, "out of memory"), 1;
  intptr_t count = mlirAttributeIsNull(arguments) ? 0 : mlirArrayAttrGetNumElements(arguments);
  for (intptr_t i = 0; i < count; ++i)
    for (size_t kind = 0; kind < sizeof unique / sizeof unique[0]; ++kind) {
      const char *name = entry_string(arguments, i, unique[kind]);
      if (!name) continue;
      if (!*name) {
        zb_op_error_at(function, "files of weights and the command line find it by its name",
                       "argument %d has an empty name (%s)", (int)i, unique[kind]);
        ++errors;
      } else if (zb_map_get(names, name, NULL)) {
        zb_op_error_at(function, "a name stands for one argument", "two arguments are named '%s'", name);
        ++errors;
      } else if (!zb_map_set(names, name, i)) {
        zb_op_error_at(function, NULL, "out of memory");
        ++errors;
      }
    }
  if (strict) errors += check_state_names(function, arguments, count, names);
  if (strict) errors += check_settings(function, arguments, count, names);
  if (strict) errors += check_buffers(function, names);
  errors += check_update_names(function, names);
  zb_map_destroy(names);
  return errors;
}

/* ---- The walk ---- */

static MlirWalkResult check(MlirOperation op, void *user) {
  verify_state *state = user;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  zb_attribute_place place = ZB_PLACE_OP;
  if (equals(name, "func.func")) place = ZB_PLACE_FUNCTION;
  if (equals(name, "builtin.module")) place = mlirOperationEqual(op, state->top) ? ZB_PLACE_MODULE : ZB_PLACE_RANK;
  for (intptr_t i = 0; i < mlirOperationGetNumDiscardableAttributes(op); ++i)
    state->errors += !zb_check_attribute(op, mlirOperationGetDiscardableAttribute(op, i), place, 0, state->level);
  if (place == ZB_PLACE_FUNCTION) {
    state->errors += check_value_attributes(op, "arg_attrs", ZB_PLACE_ARGUMENT, state->level);
    state->errors += check_value_attributes(op, "res_attrs", ZB_PLACE_RESULT, state->level);
    state->errors += check_argument_names(op, state->level <= ZB_LEVEL_split);
    return MlirWalkResultAdvance;
  }
  const zb_op_def *def = zb_op_find(op);
  if (def) state->errors += !check_op(op, def, !starts_with(name, "zb."));
  return MlirWalkResultAdvance;
}

zb_result zb_verify_module(MlirOperation module) {
  const char *level = zb_get_string(module, ZB_ATTR_LEVEL);
  verify_state state = {.top = module, .level = level ? zb_level_index(level) : ZB_LEVEL_graph};
  if (!mlirOperationVerify(module)) return ZB_FAIL;
  if (state.level < 0) {
    zb_name_hint text = zb_name_hint_of(mlirStringRefCreateFromCString(level), zb_level_names, ZB_LEVEL_COUNT,
                                        "zb-opt --list-passes shows the levels");
    return zb_op_error_at(module, text.hint, "unknown level '%s'", level);
  }
  mlirOperationWalk(module, check, &state, MlirWalkPreOrder);
  return state.errors == 0 ? ZB_OK : ZB_FAIL;
}
