/* zb-outline: one function a virtual stage and class, in one module a rank.
 *
 *   before                                     after
 *     func @model(...) {                         module @rank0 { func @s0_F ... func @s0_B ... func @s0_W ... }
 *       ops with zb.stage, zb.class              module @rank1 { func @s1_F ... }
 *     }
 *
 * A value that crosses from one function to another is a result there and an argument here, joined by its number:
 * {zb.value = 17}. What is cheap to remake does not cross: views and constants are cloned into each function that reads
 * them, and so are chains (values from parameters and constants alone; never saved, never sent). Other values of class
 * LOAD are results of the rank's
 * @LOAD, {zb.load = 9}.
 *
 * A parameter that is cast as it is stored (the bf16 copy of mixed precision) is no chain of its readers: one copy a
 * rank is kept, {zb.load} as well.
 * @LOAD makes it from the values that were loaded, and the optimizer makes it anew from what it updates. So no job
 * casts a parameter.
 *
 * Arguments also are {zb.param}, {zb.frozen}, {zb.state}, {zb.step}, {zb.constant}, inputs {zb.value, zb.input}, and
 * accumulators {zb.sum = "w", zb.use = 0}; results also {zb.loss}, {zb.report}, {zb.update = "w"}, {zb.sum, zb.use}.
 * Buffers {zb.buffer = "m"} are arguments and results of the F of their stage, and arguments of its E. What B or W
 * reads of one is a copy that F made: by then the next micro-batch may have updated it. Results {zb.output = "logits"}
 * of the program are results of an evaluation alone.
 *
 * An evaluation has functions of its own, @s0_E for each stage: clones of the forward ops that the loss needs. Their
 * values cross from one to another as those of F do, under the same numbers, and nothing is kept for B and W.
 *
 * The phases of the optimizer are one function, an UPDATE. That of a parameter that several stages use becomes
 * @tied<k>_UPDATE on each rank that holds it. So does that of a parameter of which one stage makes the gradient and
 * another rank only reads it (through a detach, in a comparison, for a buffer): that rank gets the sums, too.
 *
 * With clipping the phases are apart: SUM and NORM are @s<k>_NORM, whose results {zb.norm = 8} go into the frame that
 * all parameters share. Of a tied parameter that is @tied<k>_NORM on its owner, the lowest rank that adds to its
 * gradient, and @tied<k>_SUM, without the number, on the others: of a rank that only reads it, SUM brings the sum to a
 * place of its own, {zb.sum} without a use. Each rank that updates has @CLIP, which reads the whole frame as an
 * argument {zb.norm = 0}. A sum of uses is a result of SUM at the place {zb.sum, zb.use} of the last use that the rank
 * has.
 *
 * Tests: test/passes/outline.mlir. */

#include "passes/stages/functions/outline_parts.h"

#include "passes/pipeline.h"
#include "runtime/base/assert.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>
/* zb.accumulate(value) -> zb.accumulate(sum, value), the sum an argument. */
static bool move_accumulate(outline *o, int sub, const zb_node *node) {
  MlirValue local;
  if (!zb_outline_lookup(o, sub, o->graph.operands[node->operand_begin], &local)) return false;
  MlirValue result = mlirOperationGetResult(node->op, 0);
  const MlirAttribute port = zb_outline_sum_port(o, node->op);
  MlirValue sum = zb_function_argument(&o->subs[sub].f, mlirValueGetType(result), port);
  MlirValue operands[2] = {sum, local};
  mlirOperationSetOperands(node->op, 2, operands);
  zb_function_result(&o->subs[sub].f, result, port);
  return zb_outline_remember(o, sub, node->result_begin, result);
}

/* A copy with a home of its own. producer: of what is copied, for its place; -1: of the program. Out of memory: the
 * function has failed. */
static MlirValue copy_of(outline *o, int sub, int producer, MlirValue local) {
  MlirOperation made = producer < 0 ? o->graph.function : o->graph.nodes[producer].op;
  zb_builder builder = zb_builder_at_end(o->subs[sub].f.block, mlirOperationGetLocation(made));
  MlirValue copy = zb_build1(&builder, "contiguous", local);
  if (builder.failed) {
    o->subs[sub].f.failed = true;
    return local;
  }
  MlirOperation op = mlirOpResultGetOwner(copy);
  zb_class_set(op, o->subs[sub].kind);
  zb_set_i64(op, ZB_ATTR_STAGE, o->subs[sub].stage);
  return copy;
}

static bool move_op(outline *o, int sub, int node_index) {
  const zb_node *node = &o->graph.nodes[node_index];
  zb_outline_start(o, sub);
  zb_outline_drop_marks(node->op);
  for (int i = 0; i < node->operand_count; ++i)
    if (!zb_outline_resolve(o, sub, o->graph.operands[node->operand_begin + i])) return false;
  mlirOperationRemoveFromParent(node->op);
  mlirBlockAppendOwnedOperation(o->subs[sub].f.block, node->op);
  if (o->flow.nodes[node_index] & ZB_FLOW_ACCUMULATE) return move_accumulate(o, sub, node);
  if (!zb_outline_set_operands(o, sub, node, node->op)) return false;
  for (int r = 0; r < node->result_count; ++r)
    if (!zb_outline_remember(o, sub, node->result_begin + r, mlirOperationGetResult(node->op, r))) return false;
  return true;
}

/* ---- All ops, then results ---- */

static bool place_ops(outline *o, bool of_optimizer) {
  for (int n = 0; n < o->graph.node_count && !o->inference; ++n) {
    if (zb_job_is_optimizer(o->kind[n]) != of_optimizer) continue;
    const int sub = o->flow.nodes[n] & ZB_FLOW_STEP ? zb_outline_home(o, n) : -1;
    if (sub < 0 || is_by_mode(&o->graph.nodes[n])) continue;
    if (!move_op(o, sub, n)) return false;
    ++o->pass->changes;
  }
  return true;
}

/* The copy of a parameter that the rank keeps, made anew from the updated one in the optimizer `sub`. */
static bool refresh_copy(outline *o, int sub, int rank, const char *parameter, MlirValue updated) {
  int64_t copy;
  if (!zb_map_get(o->copies, parameter, &copy) ||
      !zb_map_get(o->load_needs, memo_key(o, load_sub(o, rank), (int)copy), NULL))
    return true;
  MlirOperation op = mlirOperationClone(o->graph.nodes[o->graph.values[copy].producer].op);
  zb_outline_drop_marks(op);
  zb_class_set(op, ZB_JOB_UPDATE);
  mlirBlockAppendOwnedOperation(o->subs[sub].f.block, op);
  mlirOperationSetOperand(op, 0, updated);
  zb_function_result(&o->subs[sub].f, mlirOperationGetResult(op, 0), zb_load_port(o->context, copy));
  return !o->subs[sub].f.failed;
}

static bool is_left_out(const outline *o, int sub, int producer) {
  return o->subs[sub].kind == ZB_JOB_EVALUATE && zb_outline_is_replaced(&o->graph.nodes[producer]);
}

/* What is reported needs a home of its own: a view lies in what it looks at, anywhere in it. One scalar is copied. */
static MlirValue reported_value(outline *o, int sub, int value, MlirValue local) {
  const int producer = o->graph.values[value].producer;
  const bool is_view = (o->flow.nodes[producer] & ZB_FLOW_VIEW) != 0;
  return is_view || is_left_out(o, sub, producer) ? copy_of(o, sub, producer, local) : local;
}

/* A result that is no update. */
static zb_result place_reported(outline *o, int index, int producer) {
  int value = o->graph.returned[index], reported = zb_outline_reported(o);
  bool loss = zb_result_has(o->graph.function, index, ZB_ATTR_LOSS);
  if (index != reported)
    return zb_op_error_at(
        o->graph.terminator, "drop results that are neither the loss nor updates",
        "result %d of the program cannot be reported: a plan reports one value, and that is result %d", index,
        reported);
  const zb_shape pair = {.dtype = ZB_F32, .rank = 1, .dims = {2}}; /* of a loss: a sum and its weight */
  zb_shape shape;
  bool scalar = zb_type_shape(mlirValueGetType(o->graph.values[value].value), &shape) &&
                (zb_shape_elements(&shape) == 1 || (loss && zb_shape_equal(&shape, &pair))) && shape.dtype == ZB_F32;
  int sub = producer < 0 ? -1 : zb_outline_home(o, producer);
  if (!scalar || sub < 0 || o->subs[sub].kind != ZB_JOB_F)
    return zb_op_error_at(o->graph.terminator,
                          "a plan reports a scalar f32 result that depends on an input; drop other results",
                          "result %d of the program cannot be reported", index);
  char name[32];
  snprintf(name, sizeof name, "output%d", index);
  const int subs[] = {sub, evaluation_sub(o->subs[sub].stage)};
  for (int i = 0; i < 2; ++i) {
    MlirValue local;
    if (!zb_outline_resolve(o, subs[i], value) || !zb_outline_lookup(o, subs[i], value, &local))
      return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
    zb_function_result(&o->subs[subs[i]].f, reported_value(o, subs[i], value, local),
                       loss ? zb_loss_port(o->context, true) : zb_report_port(o->context, name));
  }
  return ZB_OK;
}

/* What an evaluation hands out has a home of its own, for the same value may travel as well. */
static zb_result place_output(outline *o, int index, int producer) {
  const char *name = zb_result_string(o->graph.function, index, ZB_ATTR_OUTPUT);
  const int value = o->graph.returned[index], home = producer < 0 ? -1 : zb_outline_home(o, producer);
  if (home < 0 || o->subs[home].kind != ZB_JOB_F)
    return zb_op_error_at(o->graph.terminator, "an output is computed by forward ops that depend on an input",
                          "output '%s' cannot be handed out", name);
  const int sub = evaluation_sub(o->subs[home].stage);
  MlirValue local;
  if (!zb_outline_resolve(o, sub, value) || !zb_outline_lookup(o, sub, value, &local))
    return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
  zb_function_result(&o->subs[sub].f, copy_of(o, sub, producer, local), zb_output_port(o->context, name));
  return ZB_OK;
}

/* Adds a returned value to the function that makes it. */
static zb_result place_returned(outline *o, int index) {
  int value = o->graph.returned[index];
  const char *update = zb_result_string(o->graph.function, index, ZB_ATTR_UPDATE);
  int base = value;
  while (o->graph.values[base].producer >= 0 && (o->flow.nodes[o->graph.values[base].producer] & ZB_FLOW_VIEW))
    base = o->graph.operands[o->graph.nodes[o->graph.values[base].producer].operand_begin];
  int producer = o->graph.values[base].producer;
  MlirValue local;
  if (zb_result_string(o->graph.function, index, ZB_ATTR_BUFFER)) return ZB_OK; /* see place_buffers */
  if (update) {
    if (producer < 0) return ZB_OK; /* handed through: nothing updates it */
    MlirAttribute attributes = zb_result_dictionary(o->graph.function, index);
    if (mlirDictionaryAttrGetNumElements(attributes) != 1) attributes = zb_update_port(o->context, update);
    for (int rank = 0; rank < o->ranks; ++rank) {
      int sub = o->group[producer] >= 0 ? tied_sub(o, o->group[producer], rank, false) : zb_outline_home(o, producer);
      if (o->group[producer] >= 0 && !o->group_rank[o->group[producer] * o->ranks + rank]) continue;
      if (sub < 0 || !zb_outline_resolve(o, sub, value) || !zb_outline_lookup(o, sub, value, &local))
        return zb_op_error_at(o->graph.function, NULL, "update of '%s' is not made by the optimizer", update);
      zb_function_result(&o->subs[sub].f, local, attributes);
      if (!refresh_copy(o, sub, o->subs[sub].rank, update, local)) return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
      if (o->group[producer] < 0) break;
    }
    return ZB_OK;
  }
  if (zb_result_string(o->graph.function, index, ZB_ATTR_OUTPUT)) return place_output(o, index, producer);
  if (is_common(o, producer)) {
    o->reported_norm = index;
    return ZB_OK;
  }
  return place_reported(o, index, producer);
}

/* ---- What is made of all parameters together ---- */

static bool add_made(outline *o, int sub, int value, MlirAttribute port) {
  MlirValue local;
  if (!zb_outline_resolve(o, sub, value) || !zb_outline_lookup(o, sub, value, &local)) return false;
  if (mlirValueIsABlockArgument(local)) local = copy_of(o, sub, -1, local); /* a sum of another rank */
  zb_function_result(&o->subs[sub].f, local, port);
  return true;
}

static int owner_of(const outline *o, int group) {
  int rank = 0;
  while (o->group_rank[group * o->ranks + rank] != ZB_TIED_ADDS)
    ++rank;
  return rank;
}

/* What each parameter puts into the frame, once: of a tied one its owner does. */
static zb_result place_norms(outline *o) {
  for (int n = 0; n < o->graph.node_count; ++n) {
    const zb_node *node = &o->graph.nodes[n];
    if (!is_common(o, n) || !zb_node_is(node, "zb.put")) continue;
    const int value = o->graph.operands[node->operand_begin + 1], producer = o->graph.values[value].producer;
    if (producer < 0 || !before_clip(o, o->kind[producer]))
      return zb_op_error_at(node->op, "put what depends on sums of gradients alone",
                            "a frame that all parameters share gets a value of another class than NORM");
    const int rank = o->group[producer] >= 0 ? owner_of(o, o->group[producer]) : 0;
    MlirAttribute port = zb_norm_port(o->context, zb_get_i64(node->op, "offset", 0));
    const int sub = zb_outline_sub_of(o, value, rank);
    if (!add_made(o, sub, value, port)) return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
    zb_outline_start(o,
                     clip_sub(o, o->subs[sub].rank)); /* who gives numbers takes part, although it may update nothing */
  }
  return ZB_OK;
}

/* Sums of uses, and what CLIP gives on each rank that asked for it. */
static bool place_common(outline *o) {
  for (size_t i = 0; i < o->sums.count; ++i) {
    const common_sum *it = &o->sums.items[i];
    if (!add_made(o, it->sub, it->value, it->port)) return false;
  }
  for (int rank = 0; rank < o->ranks; ++rank) {
    const int sub = clip_sub(o, rank);
    if (!o->subs[sub].started) continue;
    for (int v = 0; v < o->graph.value_count; ++v)
      if (o->crosses[v] && is_common(o, o->graph.values[v].producer) &&
          !add_made(o, sub, v, zb_outline_value_port(o, v)))
        return false;
    if (o->reported_norm < 0) continue;
    MlirAttribute port = zb_result_dictionary(o->graph.function, o->reported_norm);
    if (!add_made(o, sub, o->graph.returned[o->reported_norm], port)) return false;
  }
  return true;
}

/* Makes a value that other functions read a result of the one that makes it. */
static void add_crossing(outline *o, int sub, int value) {
  MlirValue local;
  const int producer = o->graph.values[value].producer;
  bool found = sub >= 0 && zb_outline_lookup(o, sub, value, &local);
  ZB_ASSERT(found);
  if (is_left_out(o, sub, producer)) local = copy_of(o, sub, producer, local); /* the operand has a home already */
  zb_function_result(&o->subs[sub].f, local, zb_outline_value_port(o, value));
}

/* ---- Buffers ---- */

/* The stage of a buffer: of its first reader in the forward pass, else of what makes its new value, or of the buffer
 * whose old value that is. zb-partition cuts none in two. */
static int stage_of_buffer(const outline *o, int argument) {
  for (int hops = 0; argument >= 0 && hops < o->graph.returned_count; ++hops) {
    const int updated = o->graph.returned[zb_buffer_result(&o->graph, argument)];
    ZB_FOR_EACH_USER(user, &o->graph, &o->graph.values[argument])
      if (o->kind[user] == ZB_JOB_F && o->stage[user] >= 0) return o->stage[user];
    argument = zb_buffer_at(&o->graph, updated);
    const zb_node *maker = zb_maker(&o->graph, updated);
    if (argument < 0 && maker && o->stage[maker->number] >= 0) return o->stage[maker->number];
  }
  return 0;
}

/* The chains that new values of buffers are, which F then reads. */
static bool resolve_buffers(outline *o) {
  const zb_graph *g = &o->graph;
  for (int i = 0; i < g->returned_count; ++i)
    if (zb_result_string(g->function, i, ZB_ATTR_BUFFER) &&
        !zb_outline_resolve(o, stage_of_buffer(o, zb_buffer_of_result(g, i)) * SUBS_OF_STAGE, g->returned[i]))
      return false;
  return true;
}

/* Copies of what B and W read of buffers, then new values, at the end of the F of each stage: an op before may still
 * read the old ones. What lies in a buffer itself is saved from the new values of others first. */
static zb_result place_buffers(outline *o) {
  const zb_graph *g = &o->graph;
  int *subs = ZB_NEW(&o->pass->arena, int, g->returned_count);
  MlirValue *locals = ZB_NEW(&o->pass->arena, MlirValue, g->returned_count);
  ZB_PASS_TRY(o->pass, zb_arena_status(&o->pass->arena));
  for (int i = 0; i < g->returned_count; ++i) {
    const char *name = zb_result_string(g->function, i, ZB_ATTR_BUFFER);
    if (!name) continue;
    const int argument = zb_buffer_of_result(g, i), value = g->returned[i];
    subs[i] = stage_of_buffer(o, argument) * SUBS_OF_STAGE;
    if (!zb_outline_resolve(o, subs[i], value) || !zb_outline_lookup(o, subs[i], value, &locals[i]))
      return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
    if (zb_buffer_at(g, value) >= 0) locals[i] = copy_of(o, subs[i], -1, locals[i]);
    if (!o->crosses[argument]) continue;
    MlirValue old;
    if (!zb_outline_resolve(o, subs[i], argument) || !zb_outline_lookup(o, subs[i], argument, &old))
      return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
    zb_function_result(&o->subs[subs[i]].f, copy_of(o, subs[i], -1, old), zb_outline_value_port(o, argument));
  }
  for (int i = 0; i < g->returned_count; ++i) {
    const char *name = zb_result_string(g->function, i, ZB_ATTR_BUFFER);
    const zb_node *maker = name ? zb_maker(g, g->returned[i]) : NULL;
    if (name)
      zb_function_result(&o->subs[subs[i]].f, copy_of(o, subs[i], maker ? maker->number : -1, locals[i]),
                         zb_buffer_port(o->context, name));
  }
  return ZB_OK;
}

static zb_result place_results(outline *o) {
  for (int i = 0; i < o->graph.returned_count; ++i)
    if (!place_returned(o, i)) return ZB_FAIL;
  if (o->apart && !place_norms(o)) return ZB_FAIL;
  if (o->apart && !place_common(o)) return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
  /* Values that LOAD functions give: every rank that asked for one made an argument of it. */
  for (int v = o->graph.argument_count; v < o->graph.value_count; ++v) {
    int producer = o->graph.values[v].producer;
    if (o->crosses_evaluation[v]) add_crossing(o, evaluation_sub(o->stage[producer]), v);
    if (!o->crosses[v] || is_common(o, producer)) continue;
    MlirValue local;
    if ((o->flow.nodes[producer] & ZB_FLOW_LOAD) || o->copy[producer] >= 0) {
      for (int rank = 0; rank < o->ranks; ++rank) {
        int sub = load_sub(o, rank);
        if (!zb_map_get(o->load_needs, memo_key(o, sub, v), NULL)) continue;
        if (!zb_outline_resolve(o, sub, v) || !zb_outline_lookup(o, sub, v, &local))
          return zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY());
        zb_function_result(&o->subs[sub].f, local, zb_load_port(o->context, v));
      }
      continue;
    }
    add_crossing(o, zb_outline_home(o, producer), v);
  }
  return place_buffers(o);
}

/* ---- Modules ---- */

static zb_result finish_function(outline *o, MlirBlock body, int sub) {
  outlined *s = &o->subs[sub];
  char name[64];
  if (s->kind == ZB_JOB_LOAD || s->kind == ZB_JOB_CLIP)
    snprintf(name, sizeof name, "%s", zb_job_mnemonic(s->kind));
  else if (s->group >= 0)
    snprintf(name, sizeof name, "tied%d_%s", s->group, zb_job_mnemonic(s->kind));
  else
    snprintf(name, sizeof name, "s%d_%s", s->stage, zb_job_mnemonic(s->kind));
  MlirNamedAttribute attributes[2] = {
      zb_named(o->context, ZB_ATTR_CLASS, zb_mlir_string(o->context, zb_job_mnemonic(s->kind))),
      zb_named(o->context, ZB_ATTR_STAGE, zb_mlir_i64(o->context, s->stage))};
  MlirOperation function = zb_function_finish(&s->f, body, name, false, attributes, 2);
  s->started = false;
  return mlirOperationIsNull(function) ? zb_pass_fail(o->pass, ZB_OUT_OF_MEMORY()) : ZB_OK;
}

static zb_result make_modules(outline *o) {
  MlirBlock top = mlirModuleGetBody(o->pass->program->module);
  MlirLocation location = mlirOperationGetLocation(o->graph.function);
  for (int rank = 0; rank < o->ranks; ++rank) {
    MlirModule nested = mlirModuleCreateEmpty(location);
    MlirOperation op = mlirModuleGetOperation(nested);
    char name[32];
    snprintf(name, sizeof name, "rank%d", rank);
    zb_set_string(op, "sym_name", name);
    zb_set_i64(op, ZB_ATTR_RANK, rank);
    mlirBlockAppendOwnedOperation(top, op);
    MlirBlock body = mlirModuleGetBody(nested);
    if (o->subs[load_sub(o, rank)].started && !finish_function(o, body, load_sub(o, rank))) return ZB_FAIL;
    for (int s = 0; s < o->stages; ++s) {
      if (o->stage_rank[s] != rank) continue;
      for (int c = 0; c <= SUB_UPDATE; ++c) {
        int sub = s * SUBS_OF_STAGE + c;
        if (c < ZB_KIND_COUNT)
          zb_outline_start(o, sub); /* F, B and W always exist, empty or not: the schedule counts them */
        if (o->subs[sub].started && !finish_function(o, body, sub)) return ZB_FAIL;
      }
    }
    for (int g = 0; g < 2 * o->group_count; ++g) {
      const int sub = tied_sub(o, g / 2, rank, g % 2 == 0);
      if (o->subs[sub].started && !finish_function(o, body, sub)) return ZB_FAIL;
    }
    if (o->subs[clip_sub(o, rank)].started && !finish_function(o, body, clip_sub(o, rank))) return ZB_FAIL;
    for (int s = 0; s < o->stages && o->evaluates; ++s) {
      if (o->stage_rank[s] != rank) continue;
      zb_outline_start(o, evaluation_sub(s)); /* as F: empty or not */
      if (!finish_function(o, body, evaluation_sub(s))) return ZB_FAIL;
    }
  }
  return ZB_OK;
}

/* ---- The pass ---- */

static zb_result read_marks(outline *o) {
  for (int n = 0; n < o->graph.node_count; ++n) {
    MlirOperation op = o->graph.nodes[n].op;
    zb_job_kind kind = o->kind[n] = zb_class_get(op);
    o->stage[n] = (int)zb_get_i64(op, ZB_ATTR_STAGE, -1);
    bool stage_ok = o->stage[n] < o->stages && (o->stage[n] >= 0 || kind == ZB_JOB_LOAD || zb_job_is_optimizer(kind));
    if (kind == ZB_JOB_KIND_COUNT || !stage_ok)
      return zb_op_error_at(op, "run zb-partition and zb-classify before zb-outline",
                            "op needs zb.class (F, B, W, SUM, NORM, CLIP, UPDATE, LOAD) and a zb.stage below %d",
                            o->stages);
    o->apart |= is_common(o, n);
  }
  return ZB_OK;
}

static zb_result make_subs(outline *o) {
  o->sub_count = tied_sub(o, 0, 0, true);
  o->subs = ZB_NEW(&o->pass->arena, outlined, o->sub_count);
  ZB_PASS_TRY(o->pass, zb_arena_status(&o->pass->arena));
  for (int s = 0; s < o->stages; ++s)
    for (int c = 0; c < SUBS_OF_STAGE; ++c)
      o->subs[s * SUBS_OF_STAGE + c] = (outlined){.rank = o->stage_rank[s],
                                                  .stage = s,
                                                  .kind = c == SUB_UPDATE       ? ZB_JOB_UPDATE
                                                          : c == SUB_NORM       ? ZB_JOB_NORM
                                                          : c == SUB_EVALUATION ? ZB_JOB_EVALUATE
                                                                                : (zb_job_kind)(ZB_JOB_F + c),
                                                  .group = -1};
  for (int rank = 0; rank < o->ranks; ++rank) {
    o->subs[load_sub(o, rank)] = (outlined){.rank = rank, .stage = -1, .kind = ZB_JOB_LOAD, .group = -1};
    o->subs[clip_sub(o, rank)] = (outlined){.rank = rank, .stage = -1, .kind = ZB_JOB_CLIP, .group = -1};
  }
  return ZB_OK;
}

/* zb.arguments of a program that no importer made: its inputs. They are in the order of the function, which goes. */
static void list_arguments(outline *o, MlirOperation top, int count, MlirAttribute *names) {
  intptr_t found = 0;
  for (int i = 0; i < count; ++i) {
    const char *name = zb_argument_string(o->graph.function, i, ZB_ATTR_INPUT);
    if (name) names[found++] = zb_mlir_string(o->context, name);
  }
  zb_set_attribute(top, ZB_ATTR_ARGUMENTS, mlirArrayAttrGet(o->context, found, names));
}

/* Whether a job of a stage of the rank reads a parameter, or the copy of it that the rank keeps. */
static bool rank_reads(const outline *o, int rank, int argument, const char *name) {
  MlirValue local;
  int64_t copy;
  if (zb_map_get(o->copies, name, &copy) && zb_map_get(o->load_needs, memo_key(o, load_sub(o, rank), (int)copy), NULL))
    return true;
  for (int s = 0; s < o->stages; ++s)
    for (int c = 0; c < SUBS_OF_STAGE && o->stage_rank[s] == rank; ++c)
      if (zb_outline_lookup(o, s * SUBS_OF_STAGE + c, argument, &local)) return true;
  return false;
}

/* [result * ranks + rank], as zb_tied has it. All functions but those of the optimizer are known. */
static bool *find_readers(const outline *o) {
  const zb_graph *g = &o->graph;
  bool *reads = ZB_NEW(&o->pass->arena, bool, (size_t)g->returned_count *(size_t)o->ranks);
  zb_map *results = zb_arena_map(&o->pass->arena);
  for (int i = 0; i < g->returned_count && results; ++i) {
    const char *update = zb_result_string(g->function, i, ZB_ATTR_UPDATE);
    if (update) zb_arena_map_set(&o->pass->arena, results, update, i);
  }
  for (int a = 0; a < g->argument_count && reads && results; ++a) {
    const char *name = zb_argument_string(g->function, a, ZB_ATTR_PARAM);
    const int64_t result = name ? zb_map_get_or(results, name, -1) : -1;
    for (int rank = 0; result >= 0 && rank < o->ranks; ++rank)
      reads[result * o->ranks + rank] = rank_reads(o, rank, a, name);
  }
  return reads;
}

/* Which optimizer ops run on several ranks, and their functions. */
static zb_status make_tied_subs(outline *o) {
  zb_arena *arena = &o->pass->arena;
  const zb_tied tied = {&o->graph, &o->flow, o->stage, o->stage_rank, o->ranks, find_readers(o)};
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_tied_groups(arena, &tied, o->group, &o->group_count));
  const int own_count = o->sub_count, count = tied_sub(o, o->group_count, 0, true);
  const outlined *own = o->subs;
  outlined *all = ZB_NEW(arena, outlined, count);
  o->group_rank = ZB_NEW(arena, zb_tied_part, (size_t)o->group_count * (size_t)o->ranks);
  ZB_TRY(zb_arena_status(arena));
  memcpy(all, own, (size_t)own_count * sizeof *own);
  o->subs = all;
  o->sub_count = count;
  zb_tied_group_ranks(&tied, o->group, o->group_rank);
  for (int g = 0; g < o->group_count; ++g)
    for (int rank = 0; rank < o->ranks; ++rank) {
      const zb_job_kind first = rank == owner_of(o, g) ? ZB_JOB_NORM : ZB_JOB_SUM;
      o->subs[tied_sub(o, g, rank, true)] = (outlined){.rank = rank, .stage = -1, .kind = first, .group = g};
      o->subs[tied_sub(o, g, rank, false)] = (outlined){.rank = rank, .stage = -1, .kind = ZB_JOB_UPDATE, .group = g};
    }
  ZB_FOR_EACH_NODE(node, &o->graph) {
    if (o->group[node->number] < 0 || o->stage[node->number] < 0) continue;
    o->stage[node->number] = -1;
    zb_set_i64(node->op, ZB_ATTR_STAGE, -1);
  }
  return NULL;
}

static zb_result outline_graph(outline *o) {
  zb_pass *pass = o->pass;
  zb_arena *arena = &pass->arena;
  int nodes = o->graph.node_count;
  ZB_PASS_TRY(pass, zb_flow_build(arena, &o->graph, &o->flow));
  o->stage = ZB_NEW(arena, int, nodes);
  o->kind = ZB_NEW(arena, zb_job_kind, nodes);
  o->group = ZB_NEW(arena, int, nodes);
  o->copy = ZB_NEW(arena, int, nodes);
  o->crosses = ZB_NEW(arena, bool, o->graph.value_count);
  o->crosses_evaluation = ZB_NEW(arena, bool, o->graph.value_count);
  o->ports = ZB_NEW(arena, MlirAttribute, o->graph.value_count);
  o->memo = zb_arena_map_pointer(arena);
  o->load_needs = zb_arena_map_pointer(arena);
  o->copies = zb_arena_map(arena);
  ZB_PASS_TRY(pass, zb_arena_status(arena));
  if (!zb_map_reserve(o->memo, (size_t)o->graph.value_count)) return zb_pass_fail(pass, ZB_OUT_OF_MEMORY());
  if (!read_marks(o)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_flow_copies(&o->graph, &o->flow, o->copies, o->copy));
  for (int n = 0; n < nodes; ++n)
    o->group[n] = -1;
  if (!make_subs(o)) return ZB_FAIL;
  if (!zb_outline_evaluation(o) || !place_ops(o, false) || !resolve_buffers(o))
    return zb_pass_fail(pass, ZB_OUT_OF_MEMORY());
  ZB_PASS_TRY(pass, make_tied_subs(o));
  if (!place_ops(o, true)) return zb_pass_fail(pass, ZB_OUT_OF_MEMORY());
  if (!place_results(o) || !zb_flow_check_sizes(&o->graph, &o->flow, o->crosses)) return ZB_FAIL;
  if (!zb_flow_check_sizes(&o->graph, &o->flow, o->crosses_evaluation) || !make_modules(o)) return ZB_FAIL;
  mlirOperationDestroy(o->graph.function);
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module), function;
  MlirBlock block;
  outline o = {.pass = pass,
               .context = mlirOperationGetContext(top),
               .reported_norm = -1,
               .inference = zb_has_attribute(top, ZB_ATTR_INFERENCE)};
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  o.ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 0);
  const zb_table stage_rank = zb_stage_rank_get(top);
  o.stages = stage_rank.count;
  if (o.ranks < 1 || o.stages < 1)
    return zb_op_error_at(top, "run zb-partition before zb-outline", "module needs zb.ranks and zb.stage_rank");
  o.stage_rank = ZB_NEW(&pass->arena, int, o.stages);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  for (int s = 0; s < o.stages; ++s)
    o.stage_rank[s] = (int)zb_stage_rank_at(stage_rank, s).rank;
  ZB_PASS_TRY(pass, zb_pass_graph(pass, function, &o.graph));
  if (!zb_has_attribute(top, ZB_ATTR_ARGUMENTS)) {
    const int count = (int)mlirBlockGetNumArguments(block);
    MlirAttribute *names = ZB_NEW(&pass->arena, MlirAttribute, count);
    if (!names) return zb_pass_fail(pass, ZB_OUT_OF_MEMORY());
    list_arguments(&o, top, count, names);
  }
  zb_result result = outline_graph(&o);
  for (int i = 0; i < o.sub_count && o.subs; ++i)
    if (o.subs[i].started) zb_function_abandon(&o.subs[i].f);
  return result;
}

const zb_pass_def zb_pass_outline = {
    .name = "zb-outline",
    .summary = "Make one function of each virtual stage and class, in one module a rank.",
    .requires_level = "classified",
    .ensures_level = "outlined",
    .run = run,
};
