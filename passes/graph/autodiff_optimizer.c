/* The optimizer part of zb-autodiff: its text, the updates, and the program's new arguments and results. See
 * passes/graph/autodiff_parts.h.
 *
 *   %g = "zb.add"(%use2, %use1)             last use first
 *   %p, %m, %v = "zb.adamw"(%w, %g, %w.exp_avg, %w.exp_avg_sq, %step, %s) {beta1, ..., gradient_scale = 1/M}
 *
 * %s = {learning rate, weight decay} is an argument {zb.setting = "w.update"}: a run can set it. The line gives what it
 * is where nobody does: {zb.defaults}.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key of an optimizer line: an attribute of the op of the same name; lr and weight_decay are settings. */
typedef struct key_def {
  const char *name;
  zb_attr_kind kind;
  double default_number, least, below; /* least <= value < below */
} key_def;

enum { STATES_MAX = 2, WEIGHT_DECAY_RANK = 2, OPERANDS_MAX = 4 + STATES_MAX };

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

/* ---- Updates ---- */

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

/* The settings of a parameter, in order. */
static const char *const setting_keys[] = {"lr", "weight_decay"};
enum { SETTING_RATE, SETTING_DECAY, SETTING_KEYS };

static bool is_setting(const char *key) {
  return strcmp(key, setting_keys[SETTING_RATE]) == 0 || strcmp(key, setting_keys[SETTING_DECAY]) == 0;
}

static int optimizer_attrs(const zb_optimizer *optimizer, int64_t micro_batches, zb_attr *out) {
  int count = 0;
  for (const key_def *key = optimizer->def->keys; key->name; ++key) {
    const double value = optimizer->values[key - optimizer->def->keys];
    if (is_setting(key->name)) continue;
    out[count++] = key->kind == ZB_ATTR_BOOL ? zb_bool(key->name, value != 0) : zb_float(key->name, value);
  }
  out[count++] = zb_float("gradient_scale", 1.0 / (double)micro_batches);
  return count;
}

typedef struct update_plan {
  const zb_optimizer *optimizer;
  int64_t micro_batches;
  int states; /* a parameter */
  MlirValue step;
  zb_function_builder f;
} update_plan;

/* States of one parameter, as new arguments. */
static void add_states(update_plan *plan, const char *name, MlirType type, MlirValue *out) {
  for (int i = 0; i < plan->states; ++i) {
    char state[512];
    snprintf(state, sizeof state, "%s.%s", name, plan->optimizer->def->states[i]);
    out[i] = zb_function_argument(&plan->f, type, zb_state_port(plan->f.context, state));
  }
}

/* What a run can set of the update of a parameter, as a new argument. Vectors and scalars have no weight decay: biases,
 * norms. */
static MlirValue add_settings(update_plan *plan, const char *name, int rank) {
  const zb_shape shape = {.dtype = ZB_F64, .rank = 1, .dims = {SETTING_KEYS}};
  double values[SETTING_KEYS];
  char setting[ZB_KEY_BYTES];
  for (int i = 0; i < SETTING_KEYS; ++i)
    values[i] = plan->optimizer->values[key_index(plan->optimizer->def, setting_keys[i])];
  zb_port port = zb_no_port;
  port.own = 0;
  if (rank < WEIGHT_DECAY_RANK) values[SETTING_DECAY] = 0, port.own |= 1 << SETTING_DECAY;
  snprintf(setting, sizeof setting, "%s.update", name);
  port.setting = setting;
  port.defaults = mlirDenseF64ArrayGet(plan->f.context, SETTING_KEYS, values);
  return zb_function_argument(&plan->f, zb_shape_type(plan->f.context, &shape), zb_port_set(plan->f.context, &port));
}

static zb_status update_parameter(const update_plan *plan, zb_builder *b, const zb_parameter_uses *uses,
                                  const MlirValue *states, MlirValue settings, MlirValue *out) {
  MlirValue parameter = mlirBlockGetArgument(plan->f.block, uses->argument), operands[OPERANDS_MAX];
  zb_attr attrs[ZB_OPTIMIZER_KEYS + 1];
  int count = 0;
  operands[count++] = parameter;
  operands[count++] = sum_uses(b, uses);
  for (int i = 0; i < plan->states; ++i)
    operands[count++] = states[i];
  operands[count++] = plan->step;
  operands[count++] = settings;
  int attr_count = optimizer_attrs(plan->optimizer, plan->micro_batches, attrs);
  MlirOperation op = zb_build_op(b, plan->optimizer->def->name, operands, count, attrs, attr_count, 1 + plan->states);
  if (b->failed) return ZB_ERROR(INVALID, "the update of a parameter could not be built");
  for (int i = 0; i <= plan->states; ++i)
    out[i] = mlirOperationGetResult(op, i);
  return NULL;
}

static zb_status add_updates(zb_arena *arena, MlirOperation function, update_plan *plan,
                             const zb_parameter_uses *parameters, int parameter_count) {
  zb_function_builder *f = &plan->f;
  const int stride = 1 + plan->states;
  MlirValue *state = ZB_NEW(arena, MlirValue, plan->states * parameter_count);
  MlirValue *updated = ZB_NEW(arena, MlirValue, stride * parameter_count);
  MlirValue *settings = ZB_NEW(arena, MlirValue, parameter_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_arena_status(&f->arena));
  for (int p = 0; p < parameter_count; ++p) {
    int argument = parameters[p].argument;
    MlirAttribute *attributes = &f->argument_attributes.items[argument];
    if (parameters[p].accumulates.count > 0)
      add_states(plan, zb_port_get(*attributes).param, mlirValueGetType(mlirBlockGetArgument(f->block, argument)),
                 state + p * plan->states);
    else
      *attributes = frozen_dictionary(f->context, *attributes);
  }
  const zb_shape step = {.dtype = ZB_I64};
  plan->step = zb_function_argument(f, zb_shape_type(f->context, &step), zb_step_port(f->context, true));
  for (int p = 0; p < parameter_count; ++p) {
    zb_shape shape;
    if (parameters[p].accumulates.count == 0) continue;
    zb_value_shape(mlirBlockGetArgument(f->block, parameters[p].argument), &shape);
    settings[p] =
        add_settings(plan, zb_port_get(f->argument_attributes.items[parameters[p].argument]).param, shape.rank);
  }
  zb_builder builder = zb_builder_before(mlirBlockGetTerminator(f->block));
  builder.location = f->location;
  for (int p = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      ZB_TRY(update_parameter(plan, &builder, &parameters[p], state + p * plan->states, settings[p],
                              updated + p * stride));
  for (int p = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      zb_function_result(
          f, updated[p * stride],
          zb_update_port(f->context, zb_argument_string(function, parameters[p].argument, ZB_ATTR_PARAM)));
  for (int p = 0; p < parameter_count; ++p)
    for (int i = 0; i < plan->states && parameters[p].accumulates.count > 0; ++i) {
      intptr_t argument = mlirBlockArgumentGetArgNumber(state[p * plan->states + i]);
      const char *name = zb_port_get(f->argument_attributes.items[argument]).state;
      zb_function_result(f, updated[p * stride + 1 + i], zb_update_port(f->context, name));
    }
  return NULL;
}

zb_status zb_autodiff_optimize(zb_arena *arena, MlirOperation function, const zb_optimizer *optimizer,
                               int64_t micro_batches, const zb_parameter_uses *parameters, int parameter_count) {
  update_plan plan = {.optimizer = optimizer, .micro_batches = micro_batches, .states = state_count(optimizer)};
  zb_function_open(&plan.f, function);
  zb_status status = add_updates(arena, function, &plan, parameters, parameter_count);
  zb_status closed = zb_function_close(&plan.f, function);
  if (status) zb_status_free(closed);
  return status ? status : closed;
}
