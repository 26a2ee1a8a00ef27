/* zb-autodiff: adds to a forward program its gradients, accumulates and the optimizer.
 *
 *   before: one function that returns a scalar {zb.loss}, with parameters as arguments {zb.param}.
 *   after:  forward ops have a number zb.id. Gradient ops, one call of the row's `grad` an op, carry zb.of = the zb.id
 * of the op whose use they differentiate. Each use of a parameter ends in a zb.accumulate {parameter, use}; their sum
 * feeds the update. State and step are new arguments, updated values new results {zb.update}.
 *
 * The order of sums is part of the meaning (passes/graph/DECISIONS.md, "The same bits"): the gradient of a value is a
 * chain of binary adds from the last use to the first, each add marked with the use it adds; uses of a parameter are
 * summed by the optimizer, last first. Reverse mode over straight-line code: Griewank and Walther, Evaluating
 * Derivatives (2008), chapter 3.
 *
 * A loss that zb-loss-mean made is a pair: a sum of losses, which is differentiated, and its weight. Both are
 * accumulated, too, as a use of no parameter, and gradients are divided by the sum of weights where those of a mean are
 * by that of micro-batches.
 *
 * Tests: test/passes/autodiff.mlir, test/passes/loss-mean.mlir; values against finite differences:
 * test/passes/gradient_program_test.c. */

#include "passes/tables.h"
#include "passes/graph/autodiff_parts.h"

#include <mlir-c/BuiltinAttributes.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct sweep {
  zb_graph graph;
  uint8_t *depends;
  bool *needed;        /* a value: it is a float that leads back to a trained parameter */
  MlirValue *gradient; /* a value: the sum so far, or null */
  int *owner;          /* a node: itself, or of a chain op the reader of its chain (node_count: the terminator) */
  zb_parameter_uses *parameters; /* of the trained ones, in the order of arguments */
  int *parameter_of;             /* an argument: its index in `parameters` or -1 */
  int parameter_count;
  int *touched; /* parameters with a gradient of the current owner */
  int touched_count;
  MlirValue *dout, *din; /* scratch, as long as the longest op */
  bool *needs;
  int loss; /* value number */
} sweep;

static bool is_float(MlirType type) {
  zb_shape shape;
  return zb_type_shape(type, &shape) && zb_dtype_is_float(shape.dtype);
}

/* ---- Checks ---- */

static zb_result find_loss(const zb_graph *graph, int *out_loss) {
  int found = -1;
  for (int i = 0; i < graph->returned_count; ++i) {
    if (zb_result_has(graph->function, i, ZB_ATTR_UPDATE))
      return zb_op_error_at(graph->function, "leave zb-autodiff out for a program that updates its parameters itself",
                            "already differentiated: result %d is marked zb.update", i);
    if (!zb_result_has(graph->function, i, ZB_ATTR_LOSS)) continue;
    if (found >= 0)
      return zb_op_error_at(graph->function, "mark one of them", "two results are marked zb.loss: %d and %d", found, i);
    found = i;
  }
  if (found < 0)
    return zb_op_error_at(graph->function, "mark the scalar to minimize with {zb.loss} in the function's results",
                          "no result is marked zb.loss");
  zb_shape shape;
  MlirType type = mlirValueGetType(graph->values[graph->returned[found]].value);
  char text[96];
  const bool weighted = !mlirValueIsNull(zb_weighted_sum(graph->values[graph->returned[found]].value));
  if (!weighted && (!is_float(type) || !zb_type_shape(type, &shape) || shape.rank != 0))
    return zb_op_error_at(graph->function, "reduce it first, for example with zb.reduce_mean over all axes",
                          "the loss must be a float scalar: expected tensor<f32>, got %s",
                          zb_type_shape(type, &shape) ? zb_shape_text(&shape, text) : "another type");
  *out_loss = graph->returned[found];
  return ZB_OK;
}

static zb_result check_not_differentiated(const zb_graph *graph) {
  ZB_FOR_EACH_NODE(node, graph)
    if (zb_node_is(node, "zb.accumulate"))
      return zb_op_error_at(node->op, "leave zb-autodiff out for a program that has its gradients",
                            "already differentiated: the program accumulates gradients");
  return ZB_OK;
}

static zb_result check_parameters(const zb_graph *graph) {
  for (int i = 0; i < graph->argument_count; ++i) {
    MlirType type = mlirValueGetType(graph->values[i].value);
    if (zb_argument_has(graph->function, i, ZB_ATTR_PARAM) && !is_float(type))
      return zb_op_error_at(graph->function, "freeze it (--freeze)",
                            "parameter '%s' cannot be trained: it is no float tensor",
                            zb_argument_string(graph->function, i, ZB_ATTR_PARAM));
  }
  return ZB_OK;
}

/* ---- Set-up ---- */

static void find_needed(sweep *s) {
  for (int v = 0; v < s->graph.argument_count; ++v)
    s->needed[v] = zb_argument_has(s->graph.function, v, ZB_ATTR_PARAM);
  ZB_FOR_EACH_NODE(node, &s->graph) {
    bool any = false;
    ZB_FOR_EACH_OPERAND(operand, &s->graph, node)
      any |= s->needed[operand];
    if (!any || zb_has_trait(node->def, ZB_TRAIT_ZERO_GRADIENT)) continue;
    ZB_FOR_EACH_RESULT(value, node)
      s->needed[value] = is_float(mlirValueGetType(s->graph.values[value].value));
  }
}

/* Chains are directly before their reader (zb_autodiff_own_chains), so the owner of a chain op is the next op that is
 * none. */
static void find_owners(sweep *s) {
  int owner = s->graph.node_count;
  ZB_FOR_EACH_NODE_BACKWARD(node, &s->graph) {
    if (!zb_is_chain(zb_node_depends(&s->graph, s->depends, node))) owner = node->number;
    s->owner[node->number] = owner;
  }
}

static zb_status sweep_init(zb_arena *arena, MlirOperation function, sweep *s) {
  ZB_TRY(zb_graph_build(arena, function, &s->graph));
  const int values = s->graph.value_count, arguments = s->graph.argument_count;
  int longest = 1;
  ZB_FOR_EACH_NODE(node, &s->graph) {
    if (node->operand_count > longest) longest = node->operand_count;
    if (node->result_count > longest) longest = node->result_count;
  }
  s->depends = zb_graph_depends(arena, &s->graph);
  s->needed = ZB_NEW(arena, bool, values);
  s->gradient = ZB_NEW(arena, MlirValue, values);
  s->owner = ZB_NEW(arena, int, s->graph.node_count);
  s->parameters = ZB_NEW(arena, zb_parameter_uses, arguments);
  s->parameter_of = ZB_NEW(arena, int, arguments);
  s->touched = ZB_NEW(arena, int, arguments);
  s->dout = ZB_NEW(arena, MlirValue, longest);
  s->din = ZB_NEW(arena, MlirValue, longest);
  s->needs = ZB_NEW(arena, bool, longest);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < s->graph.argument_count; ++i) {
    s->parameter_of[i] = -1;
    if (!zb_argument_has(function, i, ZB_ATTR_PARAM)) continue;
    s->parameter_of[i] = s->parameter_count;
    s->parameters[s->parameter_count++] = (zb_parameter_uses){.argument = i};
  }
  find_needed(s);
  find_owners(s);
  return NULL;
}

/* ---- The sweep ---- */

/* A builder at the end of the program whose ops get zb.of = the number of node n. */
static zb_builder builder_for(const sweep *s, int n, MlirNamedAttribute *mark) {
  zb_builder builder = zb_builder_before(s->graph.terminator);
  builder.location = mlirOperationGetLocation(s->graph.nodes[n].op);
  *mark = zb_named_i64(builder.context, ZB_ATTR_OF, n);
  builder.marks = mark;
  builder.mark_count = 1;
  return builder;
}

static void contribute(sweep *s, zb_builder *b, int value, MlirValue gradient) {
  MlirValue sum = s->gradient[value];
  if (mlirValueIsNull(sum) && value < s->graph.argument_count) s->touched[s->touched_count++] = s->parameter_of[value];
  s->gradient[value] = mlirValueIsNull(sum) ? gradient : zb_build2(b, "add", sum, gradient);
}

/* A sum over shards of the gradient of a parameter waits until all micro-batches are added: *gradient becomes what is
 * summed. 0: there is none. */
static int64_t take_sum(MlirValue *gradient) {
  MlirOperation op = zb_producer_named(*gradient, "zb.all_reduce");
  if (mlirOperationIsNull(op) || !zb_value_unused(*gradient)) return 0;
  const int64_t members = zb_get_i64(op, "members", 0);
  *gradient = mlirOperationGetOperand(op, 0);
  zb_erase_op(op);
  return members;
}

static bool has_elements(MlirValue value) {
  zb_shape shape;
  return !zb_value_shape(value, &shape) || zb_shape_elements(&shape) > 0;
}

/* The gradients of the current owner's parameters become accumulates, marked with the owner. One without elements has
 * nothing to update. */
static zb_result flush(zb_pass *pass, sweep *s, int n) {
  int owner = s->owner[n] < s->graph.node_count ? s->owner[n] : n;
  MlirNamedAttribute mark;
  zb_builder builder = builder_for(s, owner, &mark);
  for (int t = 0; t < s->touched_count; ++t) {
    zb_parameter_uses *uses = &s->parameters[s->touched[t]];
    const int64_t members = take_sum(&s->gradient[uses->argument]);
    MlirValue gradient = s->gradient[uses->argument];
    s->gradient[uses->argument] = (MlirValue){0};
    if (!has_elements(gradient)) continue;
    MlirType type = mlirValueGetType(gradient);
    const char *name = zb_argument_string(s->graph.function, uses->argument, ZB_ATTR_PARAM);
    MlirNamedAttribute attribute = zb_named(builder.context, "parameter", zb_mlir_string(builder.context, name));
    MlirOperation op = zb_build_any(&builder, "zb.accumulate", &gradient, 1, &type, 1, &attribute, 1);
    if (builder.failed) return ZB_FAIL;
    if (!ZB_PUSH(&pass->arena, &uses->accumulates, op) || !ZB_PUSH(&pass->arena, &uses->members, members))
      return zb_pass_fail(pass, ZB_OUT_OF_MEMORY());
  }
  s->touched_count = 0;
  return ZB_OK;
}

static zb_result not_differentiable(const zb_node *node) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(node->op));
  if (node->operand_count > mlirOperationGetNumOperands(node->op))
    return zb_op_error_at(node->op, "make them operands of it, and arguments of its region",
                          "'%.*s' is not differentiable: its region reads values of the program that are no operands",
                          (int)name.length, name.data);
  return zb_op_error_at(
      node->op,
      node->def ? "freeze the parameters before it (--freeze), or take it out of the way to the loss"
                : "write it with zb ops, or differentiate the program before: zbc takes training graphs as well",
      "'%.*s' is not differentiable: %s", (int)name.length, name.data,
      node->def ? "its row has no gradient rule" : "nobody described this op");
}

static zb_result add_operand_gradients(sweep *s, const zb_node *node, zb_builder *b) {
  /* The last operand is the last use. */
  for (int k = node->operand_count - 1; k >= 0; --k) {
    int value = zb_operand(&s->graph, node, k);
    if (!s->needs[k] || mlirValueIsNull(s->din[k])) continue;
    if (!zb_same_type(s->din[k], s->graph.values[value].value))
      return zb_op_error_at(node->op, "correct the grad of its row",
                            "the gradient of operand %d of '%s' has another type than the operand", k, node->def->name);
    contribute(s, b, value, s->din[k]);
    if (b->failed) return ZB_FAIL;
  }
  return ZB_OK;
}

static zb_result differentiate(sweep *s, int n) {
  const zb_node *node = &s->graph.nodes[n];
  bool any_gradient = false, any_need = false;
  for (int r = 0; r < node->result_count; ++r) {
    s->dout[r] = s->gradient[node->result_begin + r];
    any_gradient |= !mlirValueIsNull(s->dout[r]);
  }
  for (int k = 0; k < node->operand_count; ++k) {
    s->needs[k] = s->needed[zb_operand(&s->graph, node, k)];
    s->din[k] = (MlirValue){0};
    any_need |= s->needs[k];
  }
  if (!any_gradient || !any_need) return ZB_OK;
  if (!node->def || !node->def->grad) return not_differentiable(node);
  MlirNamedAttribute mark;
  zb_builder builder = builder_for(s, n, &mark);
  if (!zb_op_gradient(&builder, node->op, s->dout, s->needs, s->din)) return ZB_FAIL;
  return add_operand_gradients(s, node, &builder);
}

/* The pair of a loss and its weight has that of the loss, the first: the weight depends on no parameter. */
static zb_result seed(sweep *s) {
  const zb_value *loss = &s->graph.values[s->loss];
  zb_shape shape;
  if (loss->producer < 0 || !s->needed[s->loss])
    return zb_op_error_at(s->graph.function, "train at least one parameter that the loss depends on (--train)",
                          "the loss depends on no trained parameter");
  MlirNamedAttribute mark;
  zb_builder builder = builder_for(s, loss->producer, &mark);
  zb_value_shape(loss->value, &shape);
  const MlirValue sum = zb_weighted_sum(loss->value);
  MlirValue one = zb_build_scalar(&builder, shape.dtype, 1.0);
  if (!mlirValueIsNull(sum)) one = zb_build_reshape(&builder, one, (int64_t[]){1}, 1);
  s->gradient[mlirValueIsNull(sum) ? s->loss : zb_graph_value(&s->graph, sum)] = one;
  return builder.failed ? ZB_FAIL : ZB_OK;
}

/* Losses and weights are added over micro-batches, as gradients are: by the sum of weights those become a mean. */
static zb_result accumulate_weight(sweep *s, zb_update_rules *rules) {
  const zb_value *loss = &s->graph.values[s->loss];
  if (mlirValueIsNull(zb_weighted_sum(loss->value))) return ZB_OK;
  MlirNamedAttribute mark;
  zb_builder builder = builder_for(s, loss->producer, &mark);
  const MlirNamedAttribute attributes[] = {
      zb_named(builder.context, "parameter", zb_mlir_string(builder.context, ZB_WEIGHTED_LOSS)),
      zb_named_i64(builder.context, "use", 0)};
  MlirType type = mlirValueGetType(loss->value);
  MlirOperation op = zb_build_any(&builder, "zb.accumulate", &loss->value, 1, &type, 1, attributes, 2);
  if (builder.failed) return ZB_FAIL;
  rules->weighted_loss = mlirOperationGetResult(op, 0);
  return ZB_OK;
}

static zb_result sweep_back(zb_pass *pass, sweep *s, zb_update_rules *out) {
  if (!seed(s)) return ZB_FAIL;
  if (!accumulate_weight(s, out)) return ZB_FAIL;
  for (int n = s->graph.node_count - 1; n >= 0; --n) {
    if (!differentiate(s, n)) return ZB_FAIL;
    if (n > 0 && s->owner[n - 1] == s->owner[n]) continue;
    if (s->touched_count > 0 && !flush(pass, s, n)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- The pass ---- */

/* A wrong value is said where the option was written. Takes ownership. */
static zb_result fail_option(zb_pass *pass, MlirOperation function, const char *option, zb_status status) {
  if (!status) return ZB_OK;
  if (zb_status_code(status) != ZB_USAGE) return zb_pass_fail(pass, status);
  zb_pass_option_error(pass, function, option, zb_status_hint_text(status), "%s", zb_status_message(status));
  zb_status_free(status);
  return ZB_FAIL;
}

static zb_result read_options(zb_pass *pass, MlirOperation function, zb_update_rules *out) {
  out->micro_batches = zb_pass_option_int(pass, "micro-batches", 0);
  if (out->micro_batches < 1)
    return zb_pass_option_error(pass, function, "micro-batches", NULL, "expected a number from 1, got '%s'",
                                zb_pass_option(pass, "micro-batches"));
  if (!fail_option(pass, function, "optimizer", zb_optimizer_parse(zb_pass_option(pass, "optimizer"), &out->optimizer)))
    return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_clipping_parse(zb_pass_option(pass, "clip-norm"), zb_pass_option(pass, "clip-norm-type"),
                                      &out->clipping));
  bool validates = false;
  if (!zb_pass_option_flag(pass, "post-validation", &validates)) return ZB_FAIL;
  if (validates && out->clipping.max_norm == 0)
    return zb_pass_option_error(pass, function, "post-validation", "add clip-norm", "nothing is clipped");
  if (validates)
    zb_set_attribute(mlirModuleGetOperation(pass->program->module), ZB_ATTR_POST_VALIDATION,
                     mlirUnitAttrGet(mlirOperationGetContext(function)));
  return fail_option(pass, function, "group",
                     zb_optimizer_groups(&pass->arena, zb_pass_option(pass, "group"), &out->groups, &out->group_count));
}

/* How gradients of replicas are summed, which later passes decide about. */
static zb_result read_replicas(zb_pass *pass, MlirOperation function, zb_update_rules *out) {
  const MlirOperation module = mlirModuleGetOperation(pass->program->module);
  uint64_t bucket_bytes = 0;
  out->replicas = zb_pass_option_int(pass, "replicas", 0);
  if (out->replicas < 1 || out->replicas > ZB_REPLICAS_MAX)
    return zb_pass_option_error(pass, function, "replicas", NULL, "expected a number from 1 to %d, got '%s'",
                                ZB_REPLICAS_MAX, zb_pass_option(pass, "replicas"));
  if (!zb_pass_option_bytes(pass, "bucket-bytes", &bucket_bytes)) return ZB_FAIL;
  if (out->replicas == 1) return ZB_OK;
  zb_set_i64(module, ZB_ATTR_REPLICAS, out->replicas);
  zb_set_i64(module, ZB_ATTR_BUCKET_BYTES, bucket_bytes < INT64_MAX ? (int64_t)bucket_bytes : INT64_MAX);
  return ZB_OK;
}

/* Groups of micro-batches are the place of replicas: a plan has one of them. */
static zb_result read_groups(zb_pass *pass, MlirOperation function, const zb_update_rules *rules) {
  const int64_t groups = zb_pass_option_int(pass, "sum-groups", 0);
  if (groups < 1)
    return zb_pass_option_error(pass, function, "sum-groups", NULL, "expected a number from 1, got '%s'",
                                zb_pass_option(pass, "sum-groups"));
  if (groups > 1 && rules->replicas > 1)
    return zb_pass_option_error(pass, function, "sum-groups", "leave one of them out",
                                "one pipeline sums groups of micro-batches in the place of replicas, and here are %lld",
                                (long long)rules->replicas);
  if (rules->micro_batches % groups != 0)
    return zb_pass_option_error(pass, function, "sum-groups", "each group has as many as a replica has",
                                "expected a divisor of the %lld micro-batches, got %lld",
                                (long long)rules->micro_batches, (long long)groups);
  const MlirOperation module = mlirModuleGetOperation(pass->program->module);
  const bool inner = *zb_pass_option(pass, "sum-inner") != '\0';
  if (inner && groups == 1)
    return zb_pass_option_error(pass, function, "sum-inner", "name sum-groups as well", "there is one group alone");
  if (groups > 1) zb_set_i64(module, ZB_ATTR_SUM_GROUPS, groups);
  if (inner) zb_set_attribute(module, ZB_ATTR_SUM_INNER, mlirUnitAttrGet(mlirOperationGetContext(module)));
  return ZB_OK;
}

/* The mean is made where the norm is: both need numbers of all ranks. */
static zb_result read_weighted(zb_pass *pass, MlirOperation function, zb_update_rules *rules) {
  if (zb_has_attribute(mlirModuleGetOperation(pass->program->module), ZB_ATTR_POST_VALIDATION))
    return zb_pass_option_error(
        pass, function, "post-validation", "leave one of both out",
        "a mean over the targets of a step (--loss-mean targets) divides by their number, which "
        "ranks that go on before a step is done do not know");
  if (rules->clipping.max_norm == 0) rules->clipping.max_norm = INFINITY;
  return ZB_OK;
}

/* Regions of shards have a meaning where there are shards: zb-shard takes their borders out. */
static zb_result check_no_borders(const zb_graph *graph) {
  ZB_FOR_EACH_NODE(node, graph) {
    char hint[64];
    if (!zb_node_is(node, "zb.to_local") && !zb_node_is(node, "zb.from_local")) continue;
    snprintf(hint, sizeof hint, "compile it with --tensor-parallel %" PRId64, zb_get_i64(node->op, "members", 2));
    return zb_op_error_at(node->op, hint, "the border of a region of shards, and the program has no shards");
  }
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  sweep s = {0};
  zb_update_rules rules = {0};
  if (!read_options(pass, function, &rules) || !read_replicas(pass, function, &rules) ||
      !read_groups(pass, function, &rules))
    return ZB_FAIL;
  rules.shards = zb_get_i64(mlirModuleGetOperation(pass->program->module), ZB_ATTR_SHARDS, 1);
  zb_arena *arena = &pass->arena;
  ZB_PASS_TRY(pass, zb_autodiff_own_chains(arena, function, &pass->changes));
  ZB_PASS_TRY(pass, sweep_init(arena, function, &s));
  const bool inference = zb_has_attribute(mlirModuleGetOperation(pass->program->module), ZB_ATTR_INFERENCE);
  if (!check_no_borders(&s.graph)) return ZB_FAIL;
  if (!inference &&
      (!check_not_differentiated(&s.graph) || !check_parameters(&s.graph) || !find_loss(&s.graph, &s.loss)))
    return ZB_FAIL;
  ZB_FOR_EACH_NODE(node, &s.graph)
    zb_set_i64(node->op, ZB_ATTR_ID, node->number);
  if (inference) return ZB_OK;
  if (!mlirValueIsNull(zb_weighted_sum(s.graph.values[s.loss].value)) && !read_weighted(pass, function, &rules))
    return ZB_FAIL;
  if (!sweep_back(pass, &s, &rules)) return ZB_FAIL;
  if (!fail_option(pass, function, "group",
                   zb_autodiff_optimize(arena, function, &rules, s.parameters, s.parameter_count)))
    return ZB_FAIL;
  pass->changes += s.graph.node_count;
  return ZB_OK;
}

static const zb_option_def options[] = {
    {"optimizer", "adamw", "adamw:lr=,beta1=,beta2=,eps=,weight_decay= or another line that zbc --help shows"},
    {"group", "", "GLOB:lr=,weight_decay=;GLOB:...: defaults of these parameters; the last that fits counts"},
    {"micro-batches", "1", "M: the sum of the gradients of a step is multiplied by 1/M"},
    {"replicas", "1", "D: of the whole program, each with M micro-batches: by 1/(D M)"},
    {"sum-groups", "1", "D: groups of the M micro-batches, which are summed apart, and then in their order"},
    {"sum-inner", "", "true: the same micro-batch of all groups is summed first, then all of them in their order"},
    {0},
};

const zb_pass_def zb_pass_autodiff = {
    .name = "zb-autodiff",
    .summary = "add gradients, accumulates and the optimizer to a forward program",
    .options = options,
    .requires_level = "graph",
    .ensures_level = "differentiated",
    .run_on_function = run,
};
