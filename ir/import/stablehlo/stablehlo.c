/* zb_import_stablehlo: StableHLO text, as JAX prints it, becomes a module with one function on one micro-batch.
 *
 *   text = jax.jit(f).lower(*arguments).as_text(debug_info=True)          f: a loss, or a whole train step
 *
 * Order: printed form to generic form, parse, names and roles of arguments, one list of nodes, the step, the loss; then
 * the core builds what the loss needs, and zb-autodiff makes the gradients. Weights are no part of such a file: they
 * come from --weights, or are drawn. Tests: test/ir/import/stablehlo, test/e2e/stablehlo.py. */
#include "ir/import/stablehlo/stablehlo.h"
#include "ir/import/importers.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

/* ---- The text ---- */

static zb_status check_source(const zb_import_source *file, const char *path) {
  if (file->bytes >= 4 && memcmp(file->data, "ML\xEFR", 4) == 0)
    return zb_status_hint(ZB_ERROR(INVALID, "'%s' is a portable artifact (VHLO bytecode), and only text is read", path),
                          ZB_STABLEHLO_TEXT_HINT);
  if (file->bytes > ZB_MLIR_BYTES_MAX)
    return zb_status_hint(
        ZB_ERROR(INVALID, "'%s' has %zu bytes, and at most %ld are read", path, file->bytes, ZB_MLIR_BYTES_MAX),
        "pass weights as arguments of the function, not as values that it closes over");
  return NULL;
}

static zb_status read_module(MlirContext context, const char *path, MlirModule *out, uint64_t *out_bytes) {
  zb_import_source file;
  char *text = NULL;
  ZB_TRY(zb_import_source_open(path, NULL, &file));
  *out_bytes = file.bytes;
  zb_status status = check_source(&file, path);
  if (!status) status = zb_stablehlo_generic(context, path, (const char *)file.data, file.bytes, &text);
  zb_import_source_close(&file);
  /* The lines of the generic text are those of the file, which is what errors name. */
  if (!status) status = zb_import_parse(context, path, text, out);
  zb_free(text);
  return status;
}

/* ---- Arguments ---- */

#define NAMES_HINT                                                                                                     \
  "print the text with as_text(debug_info=True), which has their names; or say what they are with --roles FILE.json, " \
  "or name parameters with --train 'arg0'"

/* Floats of the first argument of the Python function are parameters, as jax.grad has it, and what --train names. */
static zb_result propose_roles(zb_stablehlo *it) {
  zb_import *im = &it->core;
  const zb_import_params *p = im->params;
  const char *root = it->argument_count ? it->arguments[0].root : NULL;
  bool is_given = p->train_count > 0;
  for (int i = 0; i < it->argument_count; ++i)
    is_given = is_given || it->arguments[i].is_given;
  if (!it->has_names && !is_given && !it->is_step)
    return zb_import_fail(im, NAMES_HINT, "nothing says which of the %d arguments are parameters", it->argument_count);
  for (int i = 0; i < it->argument_count; ++i) {
    zb_stablehlo_argument *a = &it->arguments[i];
    if (a->role != ZB_STABLEHLO_OPEN) continue;
    const bool is_float = a->is_typed && zb_dtype_is_float(a->shape.dtype);
    const bool is_first = !it->is_step && a->root && root && strcmp(a->root, root) == 0;
    const bool is_named = zb_import_match(p->train, p->train_count, a->name, NULL) > 0;
    a->role = is_float && (is_first || is_named) ? ZB_STABLEHLO_PARAMETER : ZB_STABLEHLO_INPUT;
  }
  return ZB_OK;
}

/* A name that no value has yet: with its root before it, else with a number behind it. */
static const char *unique_name(zb_import *im, const zb_stablehlo_argument *a) {
  char text[320];
  if (!zb_import_find(im, a->name)) return a->name;
  snprintf(text, sizeof text, "%.60s.%.200s", a->root ? a->root : "arg", a->name);
  for (int k = 2; zb_import_find(im, text); ++k)
    snprintf(text, sizeof text, "%.60s.%.200s.%d", a->root ? a->root : "arg", a->name, k);
  return zb_import_take_text(im, text, strlen(text));
}

/* Names and kinds of the values of arguments; states that nothing needs stay without a name. */
static zb_result settle_arguments(zb_stablehlo *it) {
  zb_import *im = &it->core;
  for (int i = 0; i < it->argument_count; ++i) {
    zb_stablehlo_argument *a = &it->arguments[i];
    zb_import_value *value = a->value;
    if (!value->read && a->role == ZB_STABLEHLO_STATE) continue;
    if (!(value->name = unique_name(im, a)) || !zb_map_set(im->names, value->name, (int64_t)value->number))
      return zb_import_memory(im);
    if (a->role == ZB_STABLEHLO_STATE)
      return zb_import_fail(im, "give it the role param or input in --roles",
                            "the loss reads argument %d ('%s'), which is said to be state of the optimizer", i,
                            a->name);
    if (a->role != ZB_STABLEHLO_PARAMETER) continue;
    value->kind = ZB_VALUE_INITIAL;
    value->is_typed = a->is_typed;
    value->type = a->shape;
    value->type_text = a->is_typed ? zb_dtype_name(a->shape.dtype) : "unknown type";
    const bool is_kept = it->is_step && a->updated_by >= 0 && it->results.items[a->updated_by].value == value;
    value->role = is_kept ? ZB_ROLE_FROZEN : ZB_ROLE_TRAINED;
    value->is_listed = true;
    ++im->initial_count;
  }
  return ZB_OK;
}

/* What nothing needs is no input: JAX drops it, too. */
static zb_result build_inputs(zb_stablehlo *it) {
  zb_import *im = &it->core;
  for (int i = 0; i < it->argument_count; ++i) {
    zb_stablehlo_argument *a = &it->arguments[i];
    if (a->value->kind != ZB_VALUE_INPUT || !a->value->read) continue;
    if (!a->is_typed || zb_shape_bytes(&a->shape) < 0 || zb_shape_elements(&a->shape) < 1)
      return zb_import_fail(im, "floats, integers and i1 with known dimensions, at most 8, are supported",
                            "the type of input '%s' (argument %d) is not supported", a->name, i);
    a->value->value = zb_import_input(im, a->value->name, &a->shape);
    if (!a->value->value.ptr) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- The whole ---- */

/* Weights are no part of the file. */
static zb_result load(zb_import *im ZB_UNUSED, const zb_import_value *value, zb_shape *shape, const void **data) {
  *shape = value->type;
  *data = NULL;
  return ZB_OK;
}

const zb_import_format zb_stablehlo_format = {
    .rules = &zb_stablehlo_rules,
    .initial = "argument",
    .types_hint = "make parameters float32; zbc --precision bf16 then computes in bf16",
    .parameters_hint = NAMES_HINT,
    .takes_f64 = true,
    .load = load,
};

/* What the step does to parameters, for zb_compile. Nothing in a loss alone says what its gradients are. */
static zb_result mark_optimizer(zb_stablehlo *it, MlirOperation module) {
  if (it->is_unchecked || (!it->is_step && !it->core.params->inference))
    zb_set_attribute(module, ZB_ATTR_UNCOMPARED, mlirUnitAttrGet(it->core.context));
  return it->update_count ? zb_import_mark_optimizer(&it->core, it->updates, it->update_count, module) : ZB_OK;
}

static zb_result import_graph(zb_import *im, zb_module *out) {
  zb_stablehlo *it = zb_stablehlo_of(im);
  const bool inference = im->params->inference;
  if (!zb_stablehlo_find_main(it) || !zb_stablehlo_read_signature(it) || !zb_stablehlo_flatten(it) ||
      !zb_stablehlo_read_step(it))
    return ZB_FAIL;
  zb_import_result *loss = inference ? NULL : zb_import_find_loss(im, &it->results);
  if ((!inference && !loss) || !zb_import_keep_outputs(im, &it->results, loss) || !propose_roles(it)) return ZB_FAIL;
  if (loss) loss->value->name = loss->name;
  zb_import_mark_needed(im, loss ? loss->value : NULL);
  if (!zb_import_check_nodes(im, zb_stablehlo_check_node)) return ZB_FAIL;
  zb_import_mark_values(im, loss ? loss->value : NULL);
  if (!settle_arguments(it)) return ZB_FAIL;
  zb_import_mark_values(im, loss ? loss->value : NULL);
  if (!zb_import_choose_parameters(im) || !build_inputs(it) || !zb_import_nodes(im)) return ZB_FAIL;
  if (!zb_import_finish(im, loss ? loss->value : NULL, out)) return ZB_FAIL;
  return mark_optimizer(it, mlirModuleGetOperation(out->module));
}

zb_status zb_import_stablehlo(MlirContext context, const zb_import_params *params, zb_module *out) {
  *out = (zb_module){.context = context};
  zb_stablehlo it = {.core = {.context = context, .params = params, .format = &zb_stablehlo_format},
                     .find_row = zb_stablehlo_op_find};
  const bool allowed = mlirContextGetAllowUnregisteredDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true);
  zb_status status = read_module(context, params->path, &it.module, &it.core.source_bytes);
  if (!status) status = zb_import_run(&it.core, import_graph, out);
  if (!mlirModuleIsNull(it.module)) mlirModuleDestroy(it.module);
  mlirContextSetAllowUnregisteredDialects(context, allowed);
  return status;
}
