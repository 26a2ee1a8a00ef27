/* The optimizer part of zb-autodiff: its text, the updates, and the program's new arguments and results. See
 * passes/graph/autodiff_parts.h.
 *
 *   %g = "zb.add"(%use2, %use1)             last use first
 *   %p, %m, %v = "zb.adamw"(%w, %g, %w.exp_avg, %w.exp_avg_sq, %step) {lr, ..., gradient_scale = 1/M}
 *
 * Formulas are those of torch.optim.AdamW and torch.optim.SGD. Defaults: the rows below, the only place that has them.
 * AdamW's are those that language models are trained with (beta2 0.95, weight decay 0.1: Brown et al. 2020, appendix
 * B), not those of PyTorch (0.999, 0.01). Tests: test/passes/autodiff-optimizer.mlir, autodiff-options.mlir;
 * test/tools/zbc-options.test. */

#include "passes/graph/autodiff_parts.h"
#include "passes/function.h"
#include "passes/tables.h"

#include "runtime/base/assert.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key of an optimizer line: an attribute of the op of the same name. */
typedef struct key_def {
  const char *name;
  zb_attr_kind kind;
  double default_number, least, below; /* least <= value < below */
} key_def;

enum { STATES_MAX = 2, WEIGHT_DECAY_RANK = 2, RESULTS_MAX = 1 + STATES_MAX, OPERANDS_MAX = 5 };

typedef struct zb_optimizer_def {
  const char *name; /* of the optimizer and of its op */
  key_def keys[ZB_OPTIMIZER_KEYS + 1];
  const char *states[STATES_MAX + 1];
  const char *states_need; /* key that must not be 0 for the state to exist; NULL: always there */
  zb_status (*check)(const zb_optimizer *optimizer); /* settings that do not go together; NULL: all do */
} zb_optimizer_def;

enum { SGD_MOMENTUM = 1, SGD_DAMPENING, SGD_NESTEROV }; /* keys of sgd */

static zb_status check_sgd(const zb_optimizer *optimizer) {
  const double *values = optimizer->values;
  if (values[SGD_NESTEROV] == 0 || (values[SGD_MOMENTUM] > 0 && values[SGD_DAMPENING] == 0)) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "optimizer 'sgd': nesterov needs a momentum and no dampening, got momentum %g, dampening %g",
               values[SGD_MOMENTUM], values[SGD_DAMPENING]),
      "for example sgd:lr=0.1,momentum=0.9,nesterov=true");
}

/* The first is what trains when nothing is said. */
static const zb_optimizer_def optimizers[] = {
    {.name = "adamw",
     .keys = {{"lr", ZB_ATTR_FLOAT, 1e-3, 0, INFINITY},
              {"beta1", ZB_ATTR_FLOAT, 0.9, 0, 1},
              {"beta2", ZB_ATTR_FLOAT, 0.95, 0, 1},
              {"eps", ZB_ATTR_FLOAT, 1e-8, 0, INFINITY},
              {"weight_decay", ZB_ATTR_FLOAT, 0.1, 0, INFINITY}},
     .states = {"exp_avg", "exp_avg_sq"}},
    {.name = "sgd",
     .keys = {{"lr", ZB_ATTR_FLOAT, 1e-3, 0, INFINITY},
              {"momentum", ZB_ATTR_FLOAT, 0, 0, INFINITY},
              {"dampening", ZB_ATTR_FLOAT, 0, 0, INFINITY},
              {"nesterov", ZB_ATTR_BOOL, 0, 0, 2},
              {"weight_decay", ZB_ATTR_FLOAT, 0, 0, INFINITY}},
     .states = {"momentum_buffer"},
     .states_need = "momentum",
     .check = check_sgd},
};
enum { OPTIMIZER_COUNT = sizeof optimizers / sizeof optimizers[0] };

static int key_index(const zb_optimizer_def *def, const char *name) {
  for (int i = 0; def->keys[i].name; ++i)
    if (strcmp(def->keys[i].name, name) == 0) return i;
  return -1;
}

/* ---- The text ---- */

/* what: "key"; owner: " of optimizer 'adamw'". */
static zb_status unknown_name(const char *what, const char *name, const char *owner, const char *const *names,
                              int count) {
  char known[160] = "";
  const char *nearest = zb_nearest(name, names, count);
  int length = 0;
  for (int i = 0; i < count && length >= 0 && (size_t)length < sizeof known; ++i)
    length += snprintf(known + length, sizeof known - (size_t)length, "%s%s", i ? ", " : "", names[i]);
  zb_status status = ZB_ERROR(USAGE, "unknown %s '%s'%s", what, name, owner);
  const char *meaning = zb_name_meaning(what[0] == 'k' ? "optimizer key" : what, name);
  if (meaning) return zb_status_hint(status, "%s; known: %s", meaning, known);
  if (nearest) return zb_status_hint(status, "did you mean '%s'? known: %s", nearest, known);
  return zb_status_hint(status, "known: %s", known);
}

static zb_status unknown_key(const zb_optimizer_def *def, const char *name) {
  const char *names[ZB_OPTIMIZER_KEYS];
  int count = 0;
  while (def->keys[count].name) {
    names[count] = def->keys[count].name;
    ++count;
  }
  char owner[64];
  snprintf(owner, sizeof owner, " of optimizer '%s'", def->name);
  return unknown_name("key", name, owner, names, count);
}

static zb_status parse_value(const zb_optimizer_def *def, const key_def *key, const char *text, double *out) {
  char *end = NULL;
  *out = strtod(text, &end);
  if (key->kind == ZB_ATTR_BOOL) {
    *out = strcmp(text, "true") == 0;
    if (*out != 0 || strcmp(text, "false") == 0) return NULL;
    return ZB_ERROR(USAGE, "optimizer '%s': %s must be true or false, got '%s'", def->name, key->name, text);
  }
  if (end != text && !*end && *out >= key->least && *out < key->below) return NULL;
  return ZB_ERROR(USAGE, "optimizer '%s': %s must be a number from %g%s, got '%s'", def->name, key->name, key->least,
                  key->below == 1 ? " to below 1" : "", text);
}

/* `given`: which keys the line has had so far. */
static zb_status parse_pair(zb_optimizer *out, char *pair, bool given[ZB_OPTIMIZER_KEYS]) {
  char *value = strchr(pair, '=');
  if (!*pair)
    return zb_status_hint(ZB_ERROR(USAGE, "optimizer '%s': a setting is missing after ':' or ','", out->def->name),
                          "write %s:key=value,key=value", out->def->name);
  if (!value)
    return zb_status_hint(ZB_ERROR(USAGE, "optimizer '%s': '%s' has no value", out->def->name, pair),
                          "write key=value");
  *value++ = '\0';
  int index = key_index(out->def, pair);
  if (index < 0) return unknown_key(out->def, pair);
  if (given[index])
    return zb_status_hint(ZB_ERROR(USAGE, "optimizer '%s': %s is given twice", out->def->name, pair),
                          "leave one of them out");
  given[index] = true;
  return parse_value(out->def, &out->def->keys[index], value, &out->values[index]);
}

static const zb_optimizer_def *find_optimizer(const char *name) {
  for (int i = 0; i < OPTIMIZER_COUNT; ++i)
    if (strcmp(optimizers[i].name, name) == 0) return &optimizers[i];
  return NULL;
}

static void set_defaults(zb_optimizer *out) {
  for (int i = 0; out->def->keys[i].name; ++i)
    out->values[i] = out->def->keys[i].default_number;
}

zb_status zb_optimizer_parse(const char *text, zb_optimizer *out) {
  const char *names[OPTIMIZER_COUNT];
  for (int i = 0; i < OPTIMIZER_COUNT; ++i)
    names[i] = optimizers[i].name;
  char copy[512];
  bool given[ZB_OPTIMIZER_KEYS] = {false};
  if (strlen(text) >= sizeof copy) return ZB_ERROR(USAGE, "the optimizer line is too long");
  snprintf(copy, sizeof copy, "%s", text);
  char *pairs = strchr(copy, ':');
  if (pairs) *pairs++ = '\0';
  *out = (zb_optimizer){.def = find_optimizer(copy)};
  if (!out->def) return unknown_name("optimizer", copy, "", names, OPTIMIZER_COUNT);
  set_defaults(out);
  while (pairs) {
    char *next = strchr(pairs, ',');
    if (next) *next++ = '\0';
    ZB_TRY(parse_pair(out, pairs, given));
    pairs = next;
  }
  return out->def->check ? out->def->check(out) : NULL;
}

/* The shortest text that reads back as the same number: "1e-3", "0.95". */
static void number_text(double value, char out[32]) {
  int digits = 1;
  do
    snprintf(out, 32, "%.*g", digits, value);
  while (strtod(out, NULL) != value && ++digits <= 17);
  char scientific[32];
  snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
  char *exponent = strchr(scientific, 'e');
  if (!exponent) return;
  snprintf(exponent + 1, 8, "%d", atoi(exponent + 1)); /* without leading zeros */
  if (strlen(scientific) < strlen(out)) memcpy(out, scientific, strlen(scientific) + 1);
}

static void add_line(const zb_optimizer *optimizer, zb_text *out) {
  zb_text_add(out, "%s", optimizer->def->name);
  for (int i = 0; optimizer->def->keys[i].name; ++i) {
    char number[32];
    number_text(optimizer->values[i], number);
    bool is_bool = optimizer->def->keys[i].kind == ZB_ATTR_BOOL;
    zb_text_add(out, "%c%s=%s", i ? ',' : ':', optimizer->def->keys[i].name,
                !is_bool                    ? number
                : optimizer->values[i] != 0 ? "true"
                                            : "false");
  }
}

zb_status zb_optimizer_complete(const char *text, char **out) {
  zb_optimizer optimizer;
  zb_text line;
  *out = NULL;
  ZB_TRY(zb_optimizer_parse(text ? text : optimizers[0].name, &optimizer));
  zb_text_init(&line);
  add_line(&optimizer, &line);
  *out = zb_text_take(&line);
  return *out ? NULL : ZB_OUT_OF_MEMORY();
}

const char *zb_optimizer_name(int index) {
  return index >= 0 && index < OPTIMIZER_COUNT ? optimizers[index].name : NULL;
}

/* ---- Signature ---- */

/* What is added to a function: types and attribute dictionaries of arguments and results. */
typedef struct signature {
  MlirContext context;
  MlirType *inputs, *outputs;
  MlirAttribute *input_attrs, *output_attrs;
  MlirValue *returned;
  size_t input_count, output_count;
} signature;

static MlirAttribute or_empty(MlirContext context, MlirAttribute dictionary) {
  return mlirAttributeIsNull(dictionary) ? mlirDictionaryAttrGet(context, 0, NULL) : dictionary;
}

static zb_status signature_init(zb_arena *arena, MlirOperation function, size_t more_inputs, size_t more_outputs,
                                signature *s) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  MlirOperation terminator = mlirBlockGetTerminator(block);
  *s = (signature){.context = mlirOperationGetContext(function)};
  s->input_count = (size_t)mlirBlockGetNumArguments(block);
  s->output_count = (size_t)mlirOperationGetNumOperands(terminator);
  size_t inputs = s->input_count + more_inputs, outputs = s->output_count + more_outputs;
  s->inputs = ZB_NEW(arena, MlirType, inputs);
  s->input_attrs = ZB_NEW(arena, MlirAttribute, inputs);
  s->outputs = ZB_NEW(arena, MlirType, outputs);
  s->output_attrs = ZB_NEW(arena, MlirAttribute, outputs);
  s->returned = ZB_NEW(arena, MlirValue, outputs);
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < s->input_count; ++i) {
    s->inputs[i] = mlirValueGetType(mlirBlockGetArgument(block, (intptr_t)i));
    s->input_attrs[i] = or_empty(s->context, zb_argument_dictionary(function, (int)i));
  }
  for (size_t i = 0; i < s->output_count; ++i) {
    s->returned[i] = mlirOperationGetOperand(terminator, (intptr_t)i);
    s->outputs[i] = mlirValueGetType(s->returned[i]);
    s->output_attrs[i] = or_empty(s->context, zb_result_dictionary(function, (int)i));
  }
  return NULL;
}

static MlirValue add_input(signature *s, MlirBlock block, MlirType type, MlirLocation location,
                           MlirAttribute dictionary) {
  s->inputs[s->input_count] = type;
  s->input_attrs[s->input_count++] = dictionary;
  return mlirBlockAddArgument(block, type, location);
}

static void add_output(signature *s, MlirValue value, const char *updates) {
  s->returned[s->output_count] = value;
  s->outputs[s->output_count] = mlirValueGetType(value);
  s->output_attrs[s->output_count++] = zb_update_port(s->context, updates);
}

/* zb.param = "w" becomes zb.frozen = "w"; other entries stay. */
static MlirAttribute frozen_dictionary(MlirContext context, MlirAttribute old) {
  MlirNamedAttribute entries[16];
  intptr_t count = mlirDictionaryAttrGetNumElements(old);
  ZB_ASSERT(count <= (intptr_t)(sizeof entries / sizeof entries[0]));
  for (intptr_t i = 0; i < count; ++i) {
    entries[i] = mlirDictionaryAttrGetElement(old, i);
    if (mlirStringRefEqual(mlirIdentifierStr(entries[i].name), mlirStringRefCreateFromCString(ZB_ATTR_PARAM)))
      entries[i] = zb_named(context, ZB_ATTR_FROZEN, entries[i].attribute);
  }
  return mlirDictionaryAttrGet(context, count, entries);
}

static void signature_apply(const signature *s, MlirOperation function, MlirOperation terminator) {
  MlirType type =
      mlirFunctionTypeGet(s->context, (intptr_t)s->input_count, s->inputs, (intptr_t)s->output_count, s->outputs);
  zb_set_attribute(function, "function_type", mlirTypeAttrGet(type));
  zb_set_attribute(function, "arg_attrs", mlirArrayAttrGet(s->context, (intptr_t)s->input_count, s->input_attrs));
  zb_set_attribute(function, "res_attrs", mlirArrayAttrGet(s->context, (intptr_t)s->output_count, s->output_attrs));
  mlirOperationSetOperands(terminator, (intptr_t)s->output_count, s->returned);
}

/* ---- Updates ---- */

static int state_count(const zb_optimizer *optimizer) {
  const zb_optimizer_def *def = optimizer->def;
  if (def->states_need && optimizer->values[key_index(def, def->states_need)] == 0) return 0;
  int count = 0;
  while (count < STATES_MAX && def->states[count])
    ++count;
  return count;
}

/* Numbers the uses in program order and sums them from the last to the first. */
static MlirValue sum_uses(zb_builder *b, const zb_parameter_uses *uses) {
  MlirValue sum = {0};
  for (size_t i = 0; i < uses->accumulates.count; ++i) {
    MlirOperation op = uses->accumulates.items[i];
    zb_set_attribute(op, "use", zb_mlir_i64(b->context, (int64_t)(uses->accumulates.count - 1 - i)));
    MlirValue value = mlirOperationGetResult(op, 0);
    sum = i == 0 ? value : zb_build2(b, "add", sum, value);
  }
  return sum;
}

static int optimizer_attrs(const zb_optimizer *optimizer, int rank, int64_t micro_batches, zb_attr *out) {
  int count = 0;
  for (const key_def *key = optimizer->def->keys; key->name; ++key, ++count) {
    double value = optimizer->values[count];
    if (rank < WEIGHT_DECAY_RANK && strcmp(key->name, "weight_decay") == 0) value = 0;
    out[count] = key->kind == ZB_ATTR_BOOL ? zb_bool(key->name, value != 0) : zb_float(key->name, value);
  }
  out[count++] = zb_float("gradient_scale", 1.0 / (double)micro_batches);
  return count;
}

typedef struct update_plan {
  const zb_optimizer *optimizer;
  int64_t micro_batches;
  int states; /* a parameter */
  MlirValue step;
  MlirBlock block;
  MlirOperation function;
} update_plan;

/* States of one parameter, as new arguments. */
static void add_states(const update_plan *plan, signature *s, const char *name, MlirType type, MlirValue *out) {
  for (int i = 0; i < plan->states; ++i) {
    char state[512];
    snprintf(state, sizeof state, "%s.%s", name, plan->optimizer->def->states[i]);
    out[i] =
        add_input(s, plan->block, type, mlirOperationGetLocation(plan->function), zb_state_port(s->context, state));
  }
}

static zb_status update_parameter(const update_plan *plan, zb_builder *b, const zb_parameter_uses *uses,
                                  const MlirValue *states, MlirValue *out) {
  MlirValue parameter = mlirBlockGetArgument(plan->block, uses->argument), operands[OPERANDS_MAX];
  zb_attr attrs[ZB_OPTIMIZER_KEYS + 1];
  zb_shape shape;
  int count = 0;
  zb_type_shape(mlirValueGetType(parameter), &shape);
  operands[count++] = parameter;
  operands[count++] = sum_uses(b, uses);
  for (int i = 0; i < plan->states; ++i)
    operands[count++] = states[i];
  operands[count++] = plan->step;
  int attr_count = optimizer_attrs(plan->optimizer, shape.rank, plan->micro_batches, attrs);
  MlirOperation op = zb_build_op(b, plan->optimizer->def->name, operands, count, attrs, attr_count, 1 + plan->states);
  if (b->failed) return ZB_ERROR(INVALID, "the update of a parameter could not be built");
  for (int i = 0; i <= plan->states; ++i)
    out[i] = mlirOperationGetResult(op, i);
  return NULL;
}

zb_status zb_autodiff_optimize(zb_arena *arena, MlirOperation function, const zb_optimizer *optimizer,
                               int64_t micro_batches, const zb_parameter_uses *parameters, int parameter_count) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  MlirOperation terminator = mlirBlockGetTerminator(block);
  MlirLocation location = mlirOperationGetLocation(function);
  signature s = {0};
  update_plan plan = {optimizer, micro_batches, state_count(optimizer), {0}, block, function};
  size_t states = (size_t)plan.states * (size_t)parameter_count;
  MlirValue *state = ZB_NEW(arena, MlirValue, states);
  MlirValue *updated = ZB_NEW(arena, MlirValue, states + (size_t)parameter_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(signature_init(arena, function, states + 1, states + (size_t)parameter_count, &s));
  for (int p = 0; p < parameter_count; ++p) {
    int argument = parameters[p].argument;
    const char *name = zb_argument_string(function, argument, ZB_ATTR_PARAM);
    if (parameters[p].accumulates.count > 0)
      add_states(&plan, &s, name, s.inputs[argument], state + p * plan.states);
    else
      s.input_attrs[argument] = frozen_dictionary(s.context, s.input_attrs[argument]);
  }
  zb_shape step = {.dtype = ZB_I64};
  plan.step = add_input(&s, block, zb_shape_type(s.context, &step), location, zb_step_port(s.context, true));
  zb_builder builder = zb_builder_before(terminator);
  builder.location = location;
  int stride = 1 + plan.states;
  for (int p = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      ZB_TRY(update_parameter(&plan, &builder, &parameters[p], state + p * plan.states, updated + p * stride));
  for (int p = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      add_output(&s, updated[p * stride], zb_argument_string(function, parameters[p].argument, ZB_ATTR_PARAM));
  for (int p = 0; p < parameter_count; ++p)
    for (int i = 0; i < plan.states && parameters[p].accumulates.count > 0; ++i) {
      MlirAttribute dictionary = s.input_attrs[mlirBlockArgumentGetArgNumber(state[p * plan.states + i])];
      add_output(&s, updated[p * stride + 1 + i], zb_port_get(dictionary).state);
    }
  signature_apply(&s, function, terminator);
  return NULL;
}
