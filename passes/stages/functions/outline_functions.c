/* Functions under construction of zb-outline: in which one an op lives, what comes to one as an argument, and what is
 * cloned into it. See outline.c. Tests: test/passes/outline.mlir. */

#include "passes/stages/functions/outline_parts.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>

/* Whether a rank makes no gradient of what a group updates. */
static bool only_reads(const outline *o, int group, int rank) {
  return o->group_rank[group * o->ranks + rank] == ZB_TIED_READS;
}

int zb_outline_home(const outline *o, int node) {
  unsigned flags = o->flow.nodes[node];
  if (flags & (ZB_FLOW_LOAD | ZB_FLOW_CHAIN | ZB_FLOW_VIEW | ZB_FLOW_COMMON) || o->group[node] >= 0) return -1;
  return o->stage[node] * SUBS_OF_STAGE + (!zb_job_is_optimizer(o->kind[node]) ? (int)(o->kind[node] - ZB_JOB_F)
                                           : before_clip(o, o->kind[node])     ? SUB_NORM
                                                                               : SUB_UPDATE);
}

/* Whether the producer of a value is cloned into function `sub` instead of crossing. */
static bool clonable(const outline *o, int sub, int node) {
  unsigned flags = o->flow.nodes[node];
  if (flags & ZB_FLOW_VIEW) return true;
  if (flags & ZB_FLOW_COMMON) return o->subs[sub].kind == ZB_JOB_CLIP && !zb_node_is(&o->graph.nodes[node], "zb.get");
  if (o->copy[node] >= 0) return o->subs[sub].kind == ZB_JOB_LOAD;
  if (flags & ZB_FLOW_LOAD)
    return o->subs[sub].kind == ZB_JOB_LOAD || zb_node_is(&o->graph.nodes[node], "zb.constant") ||
           zb_flow_is_sizeless(&o->graph, &o->graph.nodes[node]);
  if (o->group[node] >= 0)
    return o->subs[sub].group == o->group[node] && before_clip(o, o->subs[sub].kind) == before_clip(o, o->kind[node]);
  return (flags & ZB_FLOW_CHAIN) != 0;
}

/* The value as a function has it: in a step the first operand of a zb.by_mode stands for it. */
static int as_seen(const outline *o, int sub, int value) {
  for (const zb_node *maker;
       o->subs[sub].kind != ZB_JOB_EVALUATE && (maker = zb_maker(&o->graph, value)) && is_by_mode(maker);)
    value = zb_operand(&o->graph, maker, 0);
  return value;
}

bool zb_outline_lookup(const outline *o, int sub, int value, MlirValue *out) {
  int64_t index;
  if (!zb_map_get(o->memo, memo_key(o, sub, as_seen(o, sub, value)), &index)) return false;
  *out = o->locals.items[index];
  return true;
}

bool zb_outline_remember(outline *o, int sub, int value, MlirValue local) {
  return ZB_PUSH(&o->pass->arena, &o->locals, local) &&
         zb_map_set(o->memo, memo_key(o, sub, value), (int64_t)o->locals.count - 1);
}

void zb_outline_start(outline *o, int sub) {
  if (o->subs[sub].started) return;
  zb_function_begin(&o->subs[sub].f, o->context, mlirOperationGetLocation(o->graph.function));
  o->subs[sub].started = true;
}

/* ---- Arguments ---- */

MlirAttribute zb_outline_value_port(const outline *o, int value) {
  if (mlirAttributeIsNull(o->ports[value])) o->ports[value] = zb_value_port(o->context, value);
  return o->ports[value];
}

MlirAttribute zb_outline_sum_port(outline *o, MlirOperation accumulate) {
  const char *parameter = zb_get_string(accumulate, "parameter");
  zb_port port = zb_no_port;
  port.sum = parameter ? parameter : "";
  port.use = zb_get_i64(accumulate, "use", 0);
  return zb_port_set(o->context, &port);
}

/* The accumulator that a sum of uses is put into: that of the last use that the rank has (-1: that any has). Null: it
 * has none. */
static MlirOperation last_use(const outline *o, int value, int rank) {
  const int producer = o->graph.values[value].producer;
  MlirOperation last = {0};
  if (producer < 0) return last;
  const zb_node *node = &o->graph.nodes[producer];
  if (o->flow.nodes[producer] & ZB_FLOW_ACCUMULATE)
    return rank < 0 || o->stage_rank[o->stage[producer]] == rank ? node->op : last;
  for (int i = 0; i < node->operand_count && o->kind[producer] == ZB_JOB_SUM; ++i) {
    MlirOperation one = last_use(o, o->graph.operands[node->operand_begin + i], rank);
    bool later = mlirOperationIsNull(last) ||
                 (!mlirOperationIsNull(one) && zb_get_i64(one, "use", 0) > zb_get_i64(last, "use", 0));
    if (later) last = one;
  }
  return last;
}

int zb_outline_sub_of(const outline *o, int value, int rank) {
  const int producer = o->graph.values[value].producer;
  return o->group[producer] >= 0 ? tied_sub(o, o->group[producer], rank, true) : zb_outline_home(o, producer);
}

/* Whether a function is the update, behind CLIP, of what its rank only reads. */
static bool updates_read(const outline *o, int sub) {
  const outlined *s = &o->subs[sub];
  return o->apart && s->kind == ZB_JOB_UPDATE && s->group >= 0 && only_reads(o, s->group, s->rank);
}

/* A value of SUM in an UPDATE of the rank. */
static MlirAttribute summed_attributes(outline *o, int sub, int value) {
  const int rank = o->subs[sub].rank;
  const bool read = updates_read(o, sub);
  const int maker = read ? tied_sub(o, o->subs[sub].group, rank, true) : zb_outline_sub_of(o, value, rank);
  MlirOperation use = last_use(o, value, read ? -1 : rank);
  if (mlirOperationIsNull(use) || !mlirTypeEqual(mlirValueGetType(mlirOperationGetResult(use, 0)),
                                                 mlirValueGetType(o->graph.values[value].value))) {
    o->subs[sub].f.failed = true;
    return mlirAttributeGetNull();
  }
  zb_port summed = zb_no_port;
  summed.sum = zb_get_string(use, "parameter");
  MlirAttribute port = read ? zb_port_set(o->context, &summed) : zb_outline_sum_port(o, use);
  if (!ZB_PUSH(&o->pass->arena, &o->sums, (common_sum){value, maker, port})) o->subs[sub].f.failed = true;
  return port;
}

/* A buffer as it is for the forward pass of the micro-batch. */
static MlirAttribute buffer_attributes(outline *o, int sub, int value, MlirAttribute own) {
  if (o->subs[sub].kind == ZB_JOB_F || o->subs[sub].kind == ZB_JOB_EVALUATE) return own;
  o->crosses[value] = true;
  return zb_outline_value_port(o, value);
}

/* How a value that is not made in the function comes into it. */
static MlirAttribute argument_attributes(outline *o, int sub, int value) {
  const zb_value *v = &o->graph.values[value];
  if (v->producer < 0) {
    MlirAttribute own = zb_argument_dictionary(o->graph.function, v->index);
    if (zb_dictionary_has(own, ZB_ATTR_BUFFER)) return buffer_attributes(o, sub, value, own);
    if (!(o->flow.arguments[v->index] & ZB_FLOW_INPUT)) return own;
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "arg%d", v->index);
    zb_port port = zb_no_port;
    port.value = value;
    port.input = zb_port_get(own).input;
    if (!port.input) port.input = unnamed;
    return zb_port_set(o->context, &port);
  }
  unsigned flags = o->flow.nodes[v->producer];
  if ((flags & ZB_FLOW_LOAD) || o->copy[v->producer] >= 0) {
    int load = load_sub(o, o->subs[sub].rank), made = o->copy[v->producer] >= 0 ? o->copy[v->producer] : value;
    o->crosses[made] = true;
    zb_outline_start(o, load);
    if (!zb_map_set(o->load_needs, memo_key(o, load, made), 1)) o->subs[sub].f.failed = true;
    return zb_load_port(o->context, made);
  }
  if (flags & ZB_FLOW_ACCUMULATE)
    return updates_read(o, sub) ? summed_attributes(o, sub, value)
                                : zb_outline_sum_port(o, o->graph.nodes[v->producer].op);
  if (flags & ZB_FLOW_COMMON) {
    if (o->subs[sub].kind == ZB_JOB_CLIP)
      return zb_norm_port(o->context, zb_get_i64(o->graph.nodes[v->producer].op, "offset", 0));
    zb_outline_start(o, clip_sub(o, o->subs[sub].rank));
  } else if (before_clip(o, o->kind[v->producer])) {
    return summed_attributes(o, sub, value);
  }
  *(o->subs[sub].kind == ZB_JOB_EVALUATE ? &o->crosses_evaluation[value] : &o->crosses[value]) = true;
  return zb_outline_value_port(o, value);
}

static bool add_argument(outline *o, int sub, int value) {
  MlirAttribute attributes = argument_attributes(o, sub, value);
  MlirValue argument =
      zb_function_argument(&o->subs[sub].f, mlirValueGetType(o->graph.values[value].value), attributes);
  return zb_outline_remember(o, sub, value, argument);
}

/* ---- Values inside a function ---- */

bool zb_outline_set_operands(outline *o, int sub, const zb_node *node, MlirOperation op) {
  for (int i = 0; i < node->operand_count; ++i) {
    MlirValue local;
    const int value = zb_operand(&o->graph, node, i);
    if (!zb_outline_lookup(o, sub, value, &local)) return false;
    zb_graph_set_operand(&o->graph, op, i, value, local);
  }
  return true;
}

void zb_outline_drop_marks(MlirOperation op) {
  mlirOperationRemoveAttributeByName(op, mlirStringRefCreateFromCString(ZB_ATTR_ID));
  mlirOperationRemoveAttributeByName(op, mlirStringRefCreateFromCString(ZB_ATTR_OF));
}

bool zb_outline_clone(outline *o, int sub, int node_index) {
  const zb_node *node = &o->graph.nodes[node_index];
  MlirOperation op = mlirOperationClone(node->op);
  zb_outline_drop_marks(op);
  if (o->subs[sub].kind == ZB_JOB_EVALUATE) zb_class_set(op, ZB_JOB_EVALUATE);
  mlirBlockAppendOwnedOperation(o->subs[sub].f.block, op);
  if (!zb_outline_set_operands(o, sub, node, op)) return false;
  for (int r = 0; r < node->result_count; ++r)
    if (!zb_outline_remember(o, sub, node->result_begin + r, mlirOperationGetResult(op, r))) return false;
  return true;
}

static bool push(outline *o, int value) { return ZB_PUSH(&o->pass->arena, &o->stack, value); }

/* A stack instead of recursion: chains of views may be long. */
bool zb_outline_resolve(outline *o, int sub, int value) {
  MlirValue local;
  zb_outline_start(o, sub);
  o->stack.count = 0;
  if (!push(o, as_seen(o, sub, value))) return false;
  while (o->stack.count) {
    int top = o->stack.items[o->stack.count - 1];
    if (zb_outline_lookup(o, sub, top, &local)) {
      --o->stack.count;
      continue;
    }
    int producer = o->graph.values[top].producer;
    if (producer < 0 || !clonable(o, sub, producer)) {
      if (!add_argument(o, sub, top)) return false;
      continue;
    }
    const zb_node *node = &o->graph.nodes[producer];
    bool ready = true;
    for (int i = 0; i < node->operand_count; ++i) {
      int operand = o->graph.operands[node->operand_begin + i];
      if (zb_outline_lookup(o, sub, operand, &local)) continue;
      ready = false;
      if (!push(o, as_seen(o, sub, operand))) return false;
    }
    if (ready && !zb_outline_clone(o, sub, producer)) return false;
  }
  return true;
}
