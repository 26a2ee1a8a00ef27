/* The optimizer part of zb-autodiff: its text, the updates, and the program's new arguments and results. See
 * passes/graph/autodiff_parts.h.
 *
 *   %g = "zb.add"(%use2, %use1)             last use first
 *   %p, %m, %v = "zb.adamw"(%w, %g, %w.exp_avg, %w.exp_avg_sq, %step, %s) {beta1, ..., gradient_scale = 1/M}
 *
 * %s = {learning rate, weight decay} is an argument {zb.setting = "w.update"}: a run can set it. The line gives what it
 * is where nobody does: {zb.defaults}.
 *
 * With clipping each gradient gives a number to one vector, in the order of parameters, and all updates take what
 * follows from it:
 *
 *   %q = "zb.square_sum"(%g) {scale = 1/M}
 *   %f1 = "zb.put"(%f0, %q) {offset = 8 * number of the parameter}
 *   %scaled, %norm = "zb.clip_scale"(%parts, %step, %most)     parts: zb.get of the last frame
 *
 * Of shards (zb-shard) the numbers of parameters that are cut come first, and are summed over shards in one go; what is
 * whole has one number on all of them:
 *
 *   %parts = "zb.concat"("zb.all_reduce"(first numbers), the others)
 *
 * %most is a setting of the run: {zb.setting = "max_norm"}.
 *
 * Of a loss that is a sum with a weight (zb-loss-mean) gradients are sums, too: 1/M is 1, and the factor is divided by
 * the weight of the step, which comes last in the vector, behind the sum of losses:
 *
 *   %sums = "zb.accumulate"(%loss) {parameter = "zb.weighted_loss"}
 *   %f3 = "zb.put"(%f2, "zb.cast"(%sums)) {offset = 8 * number of parameters}
 *   %scaled, %norm = "zb.clip_scale"(%parts, %step, %most) {weighted}
 *
 * Formulas are those of torch.optim.AdamW, SGD and Adam, and of Lion (Chen et al. 2023). Defaults: the rows below, the
 * only place that has them. AdamW's are those that language models are trained with (beta2 0.95, weight decay 0.1:
 * Brown et al. 2020, appendix B), not those of PyTorch (0.999, 0.01). Tests: test/passes/autodiff-optimizer.mlir,
 * autodiff-options.mlir; test/tools/zbc-options.test. */

#include "passes/graph/autodiff_parts.h"
#include "ir/placement.h"
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

enum { STATES_MAX = 2, WEIGHT_DECAY_RANK = 2, OPERANDS_MAX = 4 + STATES_MAX };

/* A key of the line is an attribute of the op of the same name; lr and weight_decay are settings. */
typedef struct zb_optimizer_def {
  zb_line_row line; /* name: of the optimizer and of its op */
  const char *states[STATES_MAX + 1];
  const char *states_need;                 /* key that must not be 0 for the state to exist; NULL: always there */
  zb_status (*check)(const zb_line *line); /* settings that do not go together; NULL: all do */
} zb_optimizer_def;

enum { SGD_MOMENTUM = 1, SGD_DAMPENING, SGD_NESTEROV }; /* keys of sgd */

static zb_status check_sgd(const zb_line *line) {
  const double *values = line->values;
  if (values[SGD_NESTEROV] == 0 || (values[SGD_MOMENTUM] > 0 && values[SGD_DAMPENING] == 0)) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "optimizer 'sgd': nesterov needs a momentum and no dampening, got momentum %g, dampening %g",
               values[SGD_MOMENTUM], values[SGD_DAMPENING]),
      "for example sgd:lr=0.1,momentum=0.9,nesterov=true");
}

#define REAL(name, fallback, below) {name, ZB_KEY_REAL, fallback, 0, below, NULL}
/* The first is what trains when nothing is said. */
static const zb_optimizer_def optimizers[] = {
    {.line = {"adamw",
              {REAL("lr", 1e-3, INFINITY), REAL("beta1", 0.9, 1), REAL("beta2", 0.95, 1), REAL("eps", 1e-8, INFINITY),
               REAL("weight_decay", 0.1, INFINITY)}},
     .states = {"exp_avg", "exp_avg_sq"}},
    {.line = {"sgd",
              {REAL("lr", 1e-3, INFINITY),
               REAL("momentum", 0, INFINITY),
               REAL("dampening", 0, INFINITY),
               {"nesterov", ZB_KEY_BOOL, 0, 0, 2, NULL},
               REAL("weight_decay", 0, INFINITY)}},
     .states = {"momentum_buffer"},
     .states_need = "momentum",
     .check = check_sgd},
    {.line = {"adam",
              {REAL("lr", 1e-3, INFINITY), REAL("beta1", 0.9, 1), REAL("beta2", 0.999, 1), REAL("eps", 1e-8, INFINITY),
               REAL("weight_decay", 0, INFINITY)}},
     .states = {"exp_avg", "exp_avg_sq"}},
    {.line = {"lion",
              {REAL("lr", 1e-4, INFINITY), REAL("beta1", 0.9, 1), REAL("beta2", 0.99, 1),
               REAL("weight_decay", 0, INFINITY)}},
     .states = {"exp_avg"}},
};
enum { OPTIMIZER_COUNT = sizeof optimizers / sizeof optimizers[0] };

/* ---- The text ---- */

zb_status zb_optimizer_parse(const char *text, zb_optimizer *out) {
  const zb_line_row *rows[OPTIMIZER_COUNT];
  for (int i = 0; i < OPTIMIZER_COUNT; ++i)
    rows[i] = &optimizers[i].line;
  *out = (zb_optimizer){.def = NULL};
  ZB_TRY(zb_line_parse("optimizer", text, rows, OPTIMIZER_COUNT, &out->line));
  for (int i = 0; i < OPTIMIZER_COUNT; ++i)
    if (out->line.row == rows[i]) out->def = &optimizers[i];
  return out->def->check ? out->def->check(&out->line) : NULL;
}

zb_status zb_optimizer_complete(const char *text, char **out) {
  zb_optimizer optimizer;
  zb_text line = {0};
  *out = NULL;
  ZB_TRY(zb_optimizer_parse(text ? text : zb_optimizer_name(0), &optimizer));
  zb_line_add(&optimizer.line, &line);
  *out = zb_text_take(&line);
  return *out ? NULL : ZB_OUT_OF_MEMORY();
}

const char *zb_optimizer_name(int index) {
  return index >= 0 && index < OPTIMIZER_COUNT ? optimizers[index].line.name : NULL;
}

zb_status zb_clipping_parse(const char *max_norm, const char *type, zb_clipping *out) {
  static const char *const types[] = {"2", "inf"};
  char *end = NULL;
  *out = (zb_clipping){.greatest = type && strcmp(type, "inf") == 0};
  if (type && *type && !out->greatest && strcmp(type, "2") != 0) {
    const char *nearest = zb_nearest(type, types, 2);
    return zb_status_hint(ZB_ERROR(USAGE, "--clip-norm-type: unknown norm '%s'", type),
                          nearest ? "did you mean '%s'? known: 2 (root of the sum of squares), inf (greatest)"
                                  : "known: 2 (root of the sum of squares), inf (greatest)",
                          nearest);
  }
  if (!max_norm || !*max_norm)
    return type && *type
               ? zb_status_hint(ZB_ERROR(USAGE, "--clip-norm-type without --clip-norm"), "add --clip-norm 1.0")
               : NULL;
  out->max_norm = strtod(max_norm, &end);
  if (*end || end == max_norm || !(out->max_norm > 0))
    return zb_status_hint(ZB_ERROR(USAGE, "--clip-norm: expected a number above 0, or inf, got '%s'", max_norm),
                          "inf measures the norm and clips nothing; leave it out to train without a norm");
  return NULL;
}

zb_status zb_clip_norm_check(const char *clip_norm, const char *clip_norm_type) {
  zb_clipping clipping;
  return zb_clipping_parse(clip_norm, clip_norm_type, &clipping);
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
  if (def->states_need && optimizer->line.values[zb_line_key(&def->line, def->states_need)] == 0) return 0;
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
    if (uses->members.items[i]) value = zb_build_all_reduce(b, value, uses->members.items[i], "sum");
    sum = i == 0 ? value : zb_build2(b, "add", sum, value);
  }
  return sum;
}

static const char *const setting_keys[ZB_UPDATE_NUMBERS] = {"lr", "weight_decay"};

static bool is_setting(const char *key) {
  return strcmp(key, setting_keys[ZB_UPDATE_RATE]) == 0 || strcmp(key, setting_keys[ZB_UPDATE_DECAY]) == 0;
}

static bool is_weighted(const zb_update_rules *rules) { return !mlirValueIsNull(rules->weighted_loss); }

/* The mean over all micro-batches of a step. */
static double gradient_scale(const zb_update_rules *rules) {
  if (is_weighted(rules)) return 1;
  return 1.0 / (double)(rules->micro_batches * rules->replicas);
}

static int optimizer_attrs(const zb_optimizer *optimizer, double scale, zb_attr *out) {
  int count = 0;
  for (int i = 0; optimizer->def->line.keys[i].kind != ZB_KEY_END; ++i) {
    const zb_key *key = &optimizer->def->line.keys[i];
    const double value = optimizer->line.values[i];
    if (is_setting(key->name)) continue;
    out[count++] = key->kind == ZB_KEY_BOOL ? zb_bool(key->name, value != 0) : zb_float(key->name, value);
  }
  out[count++] = zb_float("gradient_scale", scale);
  return count;
}

typedef struct update_plan {
  const zb_update_rules *rules;
  const zb_optimizer *optimizer; /* of the rules */
  int states;                    /* a parameter */
  MlirValue max_norm;            /* null: gradients are not clipped */
  MlirValue step;                /* with clipping: step and factor, as zb.clip_scale gives them */
  zb_function_builder f;
} update_plan;

/* States of one parameter, as new arguments, cut as it is. */
static void add_states(update_plan *plan, const zb_port *parameter, MlirType type, MlirValue *out) {
  for (int i = 0; i < plan->states; ++i) {
    char state[512];
    zb_port port = zb_no_port;
    snprintf(state, sizeof state, "%s.%s", parameter->param, plan->optimizer->def->states[i]);
    port.state = state;
    port.shard = parameter->shard;
    out[i] = zb_function_argument(&plan->f, type, zb_port_set(plan->f.context, &port));
  }
}

/* What a run can set of the update of a parameter, as a new argument. Vectors and scalars have no weight decay: biases,
 * norms. */
static MlirValue add_settings(update_plan *plan, const char *name, int rank) {
  const zb_shape shape = {.dtype = ZB_F64, .rank = 1, .dims = {ZB_UPDATE_NUMBERS}};
  double values[ZB_UPDATE_NUMBERS];
  char setting[ZB_KEY_BYTES];
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i)
    values[i] = plan->optimizer->line.values[zb_line_key(&plan->optimizer->def->line, setting_keys[i])];
  zb_port port = zb_no_port;
  port.own = 0;
  if (rank < WEIGHT_DECAY_RANK) values[ZB_UPDATE_DECAY] = 0, port.own |= 1 << ZB_UPDATE_DECAY;
  port.own |= zb_update_groups_apply(plan->rules->groups, plan->rules->group_count, name, values);
  snprintf(setting, sizeof setting, "%s.update", name);
  port.setting = setting;
  port.defaults = mlirDenseF64ArrayGet(plan->f.context, ZB_UPDATE_NUMBERS, values);
  return zb_function_argument(&plan->f, zb_shape_type(plan->f.context, &shape), zb_port_set(plan->f.context, &port));
}

static MlirValue add_max_norm(update_plan *plan) {
  const zb_shape shape = {.dtype = ZB_F64, .rank = 1, .dims = {1}};
  zb_port port = zb_no_port;
  port.own = 0;
  port.setting = "max_norm";
  port.defaults = mlirDenseF64ArrayGet(plan->f.context, 1, &plan->rules->clipping.max_norm);
  return zb_function_argument(&plan->f, zb_shape_type(plan->f.context, &shape), zb_port_set(plan->f.context, &port));
}

static zb_status update_parameter(const update_plan *plan, zb_builder *b, const zb_parameter_uses *uses,
                                  MlirValue gradient, const MlirValue *states, MlirValue settings, MlirValue *out) {
  MlirValue parameter = mlirBlockGetArgument(plan->f.block, uses->argument), operands[OPERANDS_MAX];
  zb_attr attrs[ZB_LINE_KEYS + 1];
  int count = 0;
  operands[count++] = parameter;
  operands[count++] = gradient;
  for (int i = 0; i < plan->states; ++i)
    operands[count++] = states[i];
  operands[count++] = plan->step;
  operands[count++] = settings;
  int attr_count = optimizer_attrs(plan->optimizer, gradient_scale(plan->rules), attrs);
  MlirOperation op =
      zb_build_op(b, plan->optimizer->def->line.name, operands, count, attrs, attr_count, 1 + plan->states);
  if (b->failed) return ZB_ERROR(INVALID, "the update of a parameter could not be built");
  for (int i = 0; i <= plan->states; ++i)
    out[i] = mlirOperationGetResult(op, i);
  return NULL;
}

static MlirValue put_at(zb_builder *b, MlirValue frame, MlirValue numbers, int place) {
  MlirNamedAttribute offset = zb_named(b->context, "offset", zb_mlir_i64(b->context, place * (int64_t)sizeof(double)));
  MlirType type = mlirValueGetType(frame);
  MlirValue operands[] = {frame, numbers};
  MlirOperation put = zb_build_any(b, "zb.put", operands, 2, &type, 1, &offset, 1);
  return b->failed ? frame : mlirOperationGetResult(put, 0);
}

/* What a gradient gives to the norm: its number, at its place in the frame. */
static MlirValue put_number(const update_plan *plan, zb_builder *b, MlirValue frame, MlirValue gradient, int place) {
  const zb_attr scale = zb_float("scale", gradient_scale(plan->rules));
  return put_at(b, frame,
                zb_build(b, plan->rules->clipping.greatest ? "abs_max" : "square_sum", &gradient, 1, &scale, 1), place);
}

/* Numbers `from` to `to` of the frame. */
static MlirValue get_numbers(zb_builder *b, MlirValue frame, int from, int to) {
  const zb_shape vector = {.dtype = ZB_F64, .rank = 1, .dims = {to - from}};
  MlirNamedAttribute offset = zb_named(b->context, "offset", zb_mlir_i64(b->context, from * (int64_t)sizeof(double)));
  MlirType type = zb_shape_type(b->context, &vector);
  MlirOperation get = zb_build_any(b, "zb.get", &frame, 1, &type, 1, &offset, 1);
  return b->failed ? frame : mlirOperationGetResult(get, 0);
}

/* The numbers of whole gradients. The first `cut` of the frame are of a part of the gradient, which becomes that of all
 * parts; the others are the same on all shards. */
static MlirValue whole_numbers(const update_plan *plan, zb_builder *b, MlirValue frame, int cut, int count) {
  MlirValue numbers[2];
  int vectors = 0;
  if (cut > 0)
    numbers[vectors++] = zb_build_all_reduce(b, get_numbers(b, frame, 0, cut), plan->rules->shards,
                                             plan->rules->clipping.greatest ? "max" : "sum");
  if (cut < count) numbers[vectors++] = get_numbers(b, frame, cut, count);
  return zb_build_concat(b, numbers, vectors, 0);
}

/* The vector with a number of each gradient, and the factor of all of them. */
static zb_status add_clipping(update_plan *plan, zb_builder *b, const MlirValue *gradients, const bool *is_cut,
                              int count) {
  enum { WEIGHTED_NUMBERS = 2 };
  const zb_update_rules *rules = plan->rules;
  const int numbers = count + (is_weighted(rules) ? WEIGHTED_NUMBERS : 0);
  zb_attr attrs[2];
  int attr_count = 0;
  if (rules->clipping.greatest) attrs[attr_count++] = zb_string("norm_type", "inf");
  if (is_weighted(rules)) attrs[attr_count++] = zb_bool("weighted", true);
  MlirType type = zb_frame_type(b->context, "norms", (uint64_t)numbers * sizeof(double));
  MlirValue frame = mlirOperationGetResult(zb_build_any(b, "zb.empty_frame", NULL, 0, &type, 1, NULL, 0), 0);
  int cut = 0, parts = 0, whole = 0;
  for (int i = 0; i < count; ++i)
    cut += is_cut[i];
  for (int i = 0; i < count && !b->failed; ++i)
    frame = put_number(plan, b, frame, gradients[i], is_cut[i] ? parts++ : cut + whole++);
  if (is_weighted(rules)) frame = put_at(b, frame, zb_build_cast(b, rules->weighted_loss, ZB_F64), count);
  MlirValue operands[] = {whole_numbers(plan, b, frame, cut, numbers), plan->step, plan->max_norm};
  MlirOperation clip = zb_build_op(b, "clip_scale", operands, 3, attrs, attr_count, 2);
  if (b->failed) return ZB_ERROR(INVALID, "the norm of the gradients could not be built");
  plan->step = mlirOperationGetResult(clip, 0);
  zb_function_result(&plan->f, mlirOperationGetResult(clip, 1), zb_report_port(b->context, "norm"));
  return NULL;
}

/* Beside those of the importer, for the summary. */
static zb_status add_unreached(zb_arena *arena, MlirOperation module, const char *name) {
  MlirAttribute list = zb_get_attribute(module, ZB_ATTR_UNREACHED);
  const intptr_t count = mlirAttributeIsNull(list) ? 0 : mlirArrayAttrGetNumElements(list);
  MlirContext context = mlirOperationGetContext(module);
  MlirAttribute *names = ZB_NEW(arena, MlirAttribute, count + 1);
  if (!names) return ZB_OUT_OF_MEMORY();
  for (intptr_t i = 0; i < count; ++i)
    names[i] = mlirArrayAttrGetElement(list, i);
  names[count] = zb_mlir_string(context, name);
  zb_set_attribute(module, ZB_ATTR_UNREACHED, mlirArrayAttrGet(context, count + 1, names));
  return NULL;
}

static zb_status add_updates(zb_arena *arena, MlirOperation function, update_plan *plan,
                             const zb_parameter_uses *parameters, int parameter_count) {
  zb_function_builder *f = &plan->f;
  const bool clips = plan->rules->clipping.max_norm > 0;
  const int stride = 1 + plan->states;
  MlirValue *state = ZB_NEW(arena, MlirValue, plan->states * parameter_count);
  MlirValue *updated = ZB_NEW(arena, MlirValue, stride * parameter_count);
  MlirValue *settings = ZB_NEW(arena, MlirValue, parameter_count);
  MlirValue *gradients = ZB_NEW(arena, MlirValue, parameter_count); /* of the trained ones */
  bool *is_cut = ZB_NEW(arena, bool, parameter_count);              /* of them: each shard has a part */
  int trained = 0;
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_arena_status(&f->arena));
  for (int p = 0; p < parameter_count; ++p) {
    int argument = parameters[p].argument;
    MlirAttribute *attributes = &f->argument_attributes.items[argument];
    const zb_port port = zb_port_get(*attributes);
    if (parameters[p].accumulates.count > 0) {
      add_states(plan, &port, mlirValueGetType(mlirBlockGetArgument(f->block, argument)), state + p * plan->states);
    } else {
      ZB_TRY(add_unreached(arena, mlirOperationGetParentOperation(function),
                           zb_argument_string(function, argument, ZB_ATTR_PARAM)));
      *attributes = frozen_dictionary(f->context, *attributes);
    }
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
  if (clips) plan->max_norm = add_max_norm(plan);
  zb_builder builder = zb_builder_before(mlirBlockGetTerminator(f->block));
  builder.location = f->location;
  for (int p = 0; p < parameter_count && clips; ++p) {
    if (parameters[p].accumulates.count == 0) continue;
    is_cut[trained] = zb_port_get(f->argument_attributes.items[parameters[p].argument]).shard != NULL;
    gradients[trained++] = sum_uses(&builder, &parameters[p]);
  }
  if (trained) ZB_TRY(add_clipping(plan, &builder, gradients, is_cut, trained));
  for (int p = 0, k = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      ZB_TRY(update_parameter(plan, &builder, &parameters[p],
                              trained ? gradients[k++] : sum_uses(&builder, &parameters[p]), state + p * plan->states,
                              settings[p], updated + p * stride));
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

static zb_status check_groups(const zb_update_rules *rules, MlirOperation function, zb_arena *arena,
                              const zb_parameter_uses *parameters, int parameter_count) {
  const char **names = ZB_NEW(arena, const char *, parameter_count);
  int count = 0;
  ZB_TRY(zb_arena_status(arena));
  for (int p = 0; p < parameter_count; ++p)
    if (parameters[p].accumulates.count > 0)
      names[count++] = zb_argument_string(function, parameters[p].argument, ZB_ATTR_PARAM);
  return zb_update_groups_check(rules->groups, rules->group_count, names, count);
}

zb_status zb_optimizer_groups(zb_arena *arena, const char *text, zb_update_group **out, int *out_count) {
  *out_count = 0;
  int count = 1;
  for (const char *at = text; (at = strchr(at, ';')); ++at)
    ++count;
  char *copy = zb_arena_strdup(arena, text);
  *out = ZB_NEW(arena, zb_update_group, count);
  ZB_TRY(zb_arena_status(arena));
  for (char *at = *copy ? copy : NULL, *next; at; at = next) {
    next = strchr(at, ';');
    if (next) *next++ = '\0';
    ZB_TRY(zb_update_group_parse(at, &(*out)[(*out_count)++]));
  }
  return NULL;
}

zb_status zb_autodiff_optimize(zb_arena *arena, MlirOperation function, const zb_update_rules *rules,
                               const zb_parameter_uses *parameters, int parameter_count) {
  update_plan plan = {.rules = rules, .optimizer = &rules->optimizer, .states = state_count(&rules->optimizer)};
  ZB_TRY(check_groups(rules, function, arena, parameters, parameter_count));
  zb_function_open(&plan.f, function);
  zb_status status = add_updates(arena, function, &plan, parameters, parameter_count);
  zb_status closed = zb_function_close(&plan.f, function);
  if (status) zb_status_free(closed);
  return status ? status : closed;
}
