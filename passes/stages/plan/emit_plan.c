/* From allocated IR to the plan: every op of a function becomes an instruction on (base, offset), every op of @main a
 * job. Nothing is decided here: homes are computed again by the same rule as in zb-allocate, addresses are read off the
 * attributes. Tests: test/passes/parameter-products.mlir, test/passes/chunks.test; test/e2e trains what it makes. */

#include "passes/stages/plan/emit_plan.h"
#include "passes/stages/plan/emit_parts.h"
#include "passes/stages/classes.h"
#include "passes/stages/cost.h"
#include "passes/function.h"
#include "passes/stages/frames.h"
#include "passes/stages/replicas.h"
#include "runtime/base/digest.h"
#include "runtime/base/random.h"
#include "runtime/plan/mesh/mesh.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- Header ---- */

static zb_status emit_input(zb_emitter *e, const char *name, MlirOperation read) {
  if (zb_map_get(e->input_index, name, NULL)) return NULL;
  zb_plan_input input = {.name = zb_plan_strdup(e->memory, name)};
  if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(read, 0)), &input.shape))
    return ZB_ERROR(INVALID, "input %s is no static tensor", name);
  zb_arena_map_set(&e->arena, e->input_index, name, (int64_t)e->inputs.count);
  return input.name && ZB_PUSH(&e->arena, &e->inputs, input) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status emit_output(zb_emitter *e, const char *name, MlirOperation report) {
  if (zb_map_get(e->output_index, name, NULL)) return NULL;
  zb_plan_output output = {.name = zb_plan_strdup(e->memory, name)};
  if (!zb_type_shape(mlirValueGetType(mlirOperationGetOperand(report, 0)), &output.shape))
    return ZB_ERROR(INVALID, "output %s is no static tensor", name);
  zb_arena_map_set(&e->arena, e->output_index, name, (int64_t)e->outputs.count);
  return output.name && ZB_PUSH(&e->arena, &e->outputs, output) ? NULL : ZB_OUT_OF_MEMORY();
}

/* The name of the output that an op hands out; NULL: it does not. */
static const char *output_of(MlirOperation op) {
  return zb_op_is(op, "zb.report") && zb_has_attribute(op, "is_output") ? zb_get_string(op, "name") : NULL;
}

/* The names of the model's inputs, read or not. */
static zb_status emit_arguments(zb_emitter *e) {
  MlirAttribute list = zb_get_attribute(e->module, ZB_ATTR_ARGUMENTS);
  const bool known = !mlirAttributeIsNull(list);
  const int count = known ? (int)mlirArrayAttrGetNumElements(list) : (int)e->inputs.count;
  e->plan->arguments = ZB_EMIT_NEW(e, count, const char *);
  if (!e->plan->arguments) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i) {
    const char *name = known ? mlirStringAttrGetValue(mlirArrayAttrGetElement(list, i)).data : e->inputs.items[i].name;
    if (strcmp(name, ZB_COUNTER_INPUT) == 0) continue;
    const char *copy = e->plan->arguments[e->plan->argument_count++] = zb_plan_strdup(e->memory, name);
    if (!copy) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

/* Inputs in the order of arguments, and the counter of random numbers behind them. */
static zb_status sort_inputs(zb_emitter *e) {
  zb_plan *plan = e->plan;
  plan->inputs = ZB_EMIT_NEW(e, e->inputs.count, zb_plan_input);
  if (!plan->inputs) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i <= plan->argument_count; ++i) {
    const char *name = i < plan->argument_count ? plan->arguments[i] : ZB_COUNTER_INPUT;
    const int64_t at = zb_map_get_or(e->input_index, name, -1);
    if (at < 0) continue;
    zb_arena_map_set(&e->arena, e->input_index, name, plan->input_count);
    plan->inputs[plan->input_count++] = e->inputs.items[at];
  }
  if (plan->input_count != (int)e->inputs.count)
    return ZB_ERROR(INVALID, "the program reads %zu inputs, and %s names %d of them", e->inputs.count,
                    ZB_ATTR_ARGUMENTS, plan->input_count);
  return zb_arena_status(&e->arena);
}

/* Names and types of what zb.read and zb.report ops move. */
static zb_status emit_data(zb_emitter *e) {
  ZB_FOR_EACH_OP(rank, zb_function_block(e->module)) {
    if (!zb_op_is(rank, "builtin.module")) continue;
    const char *const lists[] = {"main", "evaluate"};
    for (int i = 0; i < 2; ++i) {
      MlirOperation list = zb_symbol_in(zb_function_block(rank), "func.func", lists[i]);
      if (mlirOperationIsNull(list)) continue;
      ZB_FOR_EACH_OP(op, zb_function_block(list)) {
        const char *input = zb_op_is(op, "zb.read") ? zb_get_string(op, "input") : NULL;
        const char *output = output_of(op);
        if (input) ZB_TRY(emit_input(e, input, op));
        if (output) ZB_TRY(emit_output(e, output, op));
      }
    }
  }
  ZB_TRY(emit_arguments(e));
  ZB_TRY(sort_inputs(e));
  e->plan->outputs = ZB_EMIT_KEEP(e, e->outputs);
  e->plan->output_count = (int)e->outputs.count;
  return e->plan->outputs ? zb_arena_status(&e->arena) : ZB_OUT_OF_MEMORY();
}

/* Gathers for jobs, and sums of micro-batches, are many times as many as functions that they are for, and their lists
 * are those of the function: they stand in a pool once. The `count` last items of a pool, from `begin` on: if the same
 * ones stand there already *begin is their place, and true is returned. */
static bool is_known(zb_emitter *e, const void *pool, size_t item_bytes, uint32_t *begin, uint32_t count) {
  const char *items = pool, *list = items + *begin * item_bytes;
  const uint64_t digest = zb_digest_of(list, count * item_bytes);
  void *key = zb_id_key((int64_t)(digest >> 1));
  const int64_t known = zb_map_get_or(e->lists, key, -1);
  const uint32_t at = (uint32_t)(known >> 32);
  if (known < 0) {
    zb_arena_map_set(&e->arena, e->lists, key, (int64_t)*begin << 32 | count);
    return false;
  }
  if ((uint32_t)known != count || memcmp(items + at * item_bytes, list, count * item_bytes) != 0) return false;
  *begin = at;
  return true;
}

/* The sizes of what members give, behind what the pool of the plan has: of one member with a list that others have,
 * too, they stand there already. */
static void emit_sizes(zb_emitter *e, zb_row_range members, zb_plan_slice *out) {
  zb_plan *plan = e->plan;
  uint64_t *pool = plan->pool_u64 + plan->pool_u64_count;
  const zb_members_row first = zb_members_at(e->members, members.begin);
  const bool one = members.end - members.begin == 1 && first.parts >= 0;
  const int64_t known = one ? zb_map_get_or(e->made, zb_id_key(first.parts), -1) : -1;
  const zb_row_range list = zb_parts_of(e->frame_parts, &first);
  *out = (zb_plan_slice){plan->pool_u64_count, 0};
  if (known >= 0) {
    *out = (zb_plan_slice){(uint32_t)known, (uint32_t)(list.end - list.begin)};
    return;
  }
  for (int m = members.begin; m < members.end; ++m) {
    const zb_members_row row = zb_members_at(e->members, m);
    const zb_row_range parts = zb_parts_of(e->frame_parts, &row);
    for (int64_t v = 0; v < row.values && row.bytes && row.parts < 0; ++v)
      pool[out->count++] = (uint64_t)row.bytes;
    for (int i = parts.begin; i < parts.end; ++i)
      pool[out->count++] = (uint64_t)zb_parts_at(e->frame_parts, i).bytes;
  }
  if (!is_known(e, plan->pool_u64, sizeof *plan->pool_u64, &out->begin, out->count)) plan->pool_u64_count += out->count;
  if (one) zb_arena_map_set(&e->arena, e->made, zb_id_key(first.parts), out->begin);
}

/* A collective of the plan from its rows of zb.members and zb.parts. */
static zb_status emit_collective(zb_emitter *e, int number, const zb_messages_row *message) {
  const zb_payload payload = zb_payload_of((char)message->kind);
  zb_plan *plan = e->plan;
  uint64_t *pool = plan->pool_u64 + plan->pool_u64_count;
  const zb_row_range own = zb_members_of(e->members, number);
  const uint32_t count = (uint32_t)(own.end - own.begin);
  if (count == 0) return ZB_ERROR(INVALID, "message %d is a collective without members", number);
  for (uint32_t m = 0; m < count; ++m) {
    const zb_members_row row = zb_members_at(e->members, own.begin + (int)m);
    pool[m] = (uint64_t)row.rank;
    pool[count + m] = (uint64_t)row.values;
  }
  const bool of_replicas = count == 1;
  const bool adds = zb_collective_adds(zb_replicas_collective(e->module, payload, of_replicas));
  plan->collectives[plan->collective_count++] =
      (zb_plan_collective){.kind = zb_replicas_collective(e->module, payload, of_replicas),
                           .coordinate = of_replicas,
                           .of_parts = zb_replicas_move_parts(e->module, payload, of_replicas),
                           .payload = payload,
                           .dtype = payload == ZB_PAYLOAD_NORMS ? ZB_F64 : ZB_F32,
                           .before = plan->message_count,
                           .apart = payload == ZB_PAYLOAD_PARAMETERS && zb_has_attribute(e->module, ZB_ATTR_GATHER),
                           .of_micro_batch = (int32_t)message->micro_batch + 1,
                           .greatest = adds && zb_replicas_give_greatest(e->module, payload),
                           .lead_ps = zb_members_at(e->members, own.begin).lead_ps,
                           .members = {plan->pool_u64_count, count},
                           .counts = {plan->pool_u64_count + count, adds ? 0 : count}};
  plan->pool_u64_count += 2 * count;
  emit_sizes(e, own, &plan->collectives[plan->collective_count - 1].sizes);
  return zb_arena_status(&e->arena);
}

/* Messages, and those that are collectives: place[number] is the index of a message, or -1 - that of a collective. */
static zb_status emit_transfers(zb_emitter *e) {
  zb_plan *plan = e->plan;
  const zb_table messages = zb_messages_get(e->module), members = zb_members_get(e->module);
  e->members = members;
  e->frame_parts = zb_parts_get(e->module);
  const int of_evaluation = (int)zb_get_i64(e->module, ZB_ATTR_EVALUATION_MESSAGES, 0);
  int64_t numbers = 0;
  for (int i = 0; i < members.count; ++i)
    numbers += 2 + zb_members_at(members, i).values;
  e->number_count = messages.count;
  e->place = ZB_EMIT_NEW(e, messages.count, int32_t);
  plan->messages = ZB_EMIT_NEW(e, messages.count, zb_plan_message);
  plan->collectives = ZB_EMIT_NEW(e, members.count, zb_plan_collective);
  plan->pool_u64 = ZB_EMIT_NEW(e, numbers, uint64_t);
  if (!e->place || !plan->messages || !plan->collectives || !plan->pool_u64) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < messages.count; ++i) {
    const zb_messages_row row = zb_messages_at(messages, i);
    e->place[i] = row.source < 0 ? -1 - plan->collective_count : plan->message_count;
    if (row.source < 0 && i >= messages.count - of_evaluation) ++plan->evaluation_collectives;
    if (row.source < 0)
      ZB_TRY(emit_collective(e, i, &row));
    else
      plan->messages[plan->message_count++] = (zb_plan_message){.source = (int32_t)row.source,
                                                                .destination = (int32_t)row.destination,
                                                                .source_stage = (int32_t)row.source_stage,
                                                                .destination_stage = (int32_t)row.destination_stage,
                                                                .micro_batch = (int32_t)row.micro_batch,
                                                                .payload = zb_payload_of((char)row.kind)};
  }
  return NULL;
}

static zb_status emit_header(zb_emitter *e, const char *model, const char *optimizer) {
  zb_plan *plan = e->plan;
  const char *schedule = zb_get_string(e->module, ZB_ATTR_SCHEDULE),
             *placement = zb_get_string(e->module, ZB_ATTR_PLACEMENT);
  const char *precision = zb_get_string(e->module, ZB_ATTR_PRECISION);
  plan->producer = "zbc " ZB_VERSION;
  plan->inference = zb_has_attribute(e->module, ZB_ATTR_INFERENCE);
  if (plan->inference) schedule = "inference", optimizer = NULL;
  plan->model = zb_plan_strdup(e->memory, model ? model : "");
  plan->optimizer = zb_plan_strdup(e->memory, optimizer ? optimizer : "");
  plan->precision = zb_plan_strdup(e->memory, precision ? precision : "f32");
  plan->schedule = zb_plan_strdup(e->memory, schedule ? schedule : "");
  plan->placement = zb_plan_strdup(e->memory, placement ? placement : "");
  plan->rank_count = (int)zb_get_i64(e->module, ZB_ATTR_RANKS, 0);
  const zb_table stage_rank = zb_stage_rank_get(e->module);
  plan->stage_count = stage_rank.count;
  plan->chunk_count = (int)zb_get_i64(e->module, ZB_ATTR_CHUNKS, 1);
  plan->micro_batches = (int)zb_get_i64(e->module, ZB_ATTR_MICRO_BATCHES, 0);
  plan->replicas = (int)zb_get_i64(e->module, ZB_ATTR_REPLICAS, 1);
  const char *sharding = zb_get_string(e->module, ZB_ATTR_SHARDING);
  plan->sharding = sharding ? zb_sharding_of(sharding) : ZB_SHARDING_NONE;
  plan->sum_groups = (int)zb_get_i64(e->module, ZB_ATTR_SUM_GROUPS, 1);
  plan->sum_inner = zb_has_attribute(e->module, ZB_ATTR_SUM_INNER);
  plan->shards = (int)zb_get_i64(e->module, ZB_ATTR_SHARDS, 1);
  zb_link_costs link = zb_link_costs_get(e->module);
  plan->link_latency_ps = link.latency_ps;
  plan->link_ps_per_byte = link.ps_per_byte;
  plan->link_copies = link.copies;
  plan->link_wake_ps = link.wake_ps;
  plan->job_ps = link.job_ps;
  plan->read_ps = link.read_ps;
  plan->step_ps = link.step_ps;
  plan->copy_ps_per_byte = link.copy_ps_per_byte;
  plan->model_hash = ZB_FNV_START;
  plan->stage_rank = ZB_EMIT_NEW(e, plan->stage_count, int);
  plan->ranks = ZB_EMIT_NEW(e, plan->rank_count, zb_plan_rank);
  if (!plan->stage_rank || !plan->ranks || !plan->model || !plan->optimizer || !plan->precision || !plan->schedule ||
      !plan->placement)
    return ZB_OUT_OF_MEMORY();
  for (int s = 0; s < plan->stage_count; ++s)
    plan->stage_rank[s] = (int)zb_stage_rank_at(stage_rank, s).rank;
  ZB_TRY(emit_transfers(e));
  plan->evaluation_messages = (int)zb_get_i64(e->module, ZB_ATTR_EVALUATION_MESSAGES, 0) - plan->evaluation_collectives;
  return emit_data(e);
}

/* ---- Subprograms ---- */

/* Where the regions are while the function runs. */
static const zb_plan_range *regions_of(const zb_emitter *e, const zb_subprogram_info *info) {
  return zb_class_get(info->function) == ZB_JOB_EVALUATE ? e->in_evaluation.regions : e->rank->regions;
}

static zb_status emit_operand(zb_emitter *e, const zb_subprogram_info *info, int value, zb_plan_operand *out) {
  const zb_home *home = &info->workspace.homes[value];
  zb_shape shape;
  if (!zb_type_shape(mlirValueGetType(info->workspace.graph.values[value].value), &shape) || home->base == ZB_BASE_NONE)
    return ZB_ERROR(INVALID, "%s: an operand has no home", info->name);
  zb_home_address(info, home, regions_of(e, info), &out->base, &out->offset);
  out->offset += (uint64_t)home->strided.offset * zb_dtype_bytes(shape.dtype);
  out->dtype = shape.dtype;
  out->rank = shape.rank;
  for (int d = 0; d < shape.rank; ++d) {
    out->shape[d] = shape.dims[d];
    out->strides[d] = home->strided.strides[d];
  }
  return NULL;
}

/* Where the op came from, as people know it: the name of its location. */
static const char *location_text(zb_emitter *e, MlirOperation op) {
  MlirLocation location = mlirOperationGetLocation(op);
  if (!mlirLocationIsAName(location)) return "";
  MlirStringRef name = mlirIdentifierStr(mlirLocationNameGetName(location));
  char *text = zb_plan_alloc(e->memory, name.length + 1);
  if (!text) return "";
  memcpy(text, name.data, name.length);
  return text;
}

static zb_status emit_attributes(zb_emitter *e, MlirOperation op, zb_plan_instruction *out) {
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  if (!zb_op_view_get(op, &view, &storage)) return NULL;
  out->attrs = ZB_EMIT_NEW(e, view.attrs.count, zb_attr);
  if (!out->attrs) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < view.attrs.count; ++i) {
    zb_attr attr = view.attrs.items[i];
    /* The name is of the op's row, which lives as long as the process. */
    if (attr.kind == ZB_ATTR_STRING) attr.s = zb_plan_strdup(e->memory, attr.s);
    if (attr.kind == ZB_ATTR_INTS) {
      int64_t *ints = ZB_EMIT_NEW(e, attr.count, int64_t);
      if (!ints) return ZB_OUT_OF_MEMORY();
      if (attr.count) memcpy(ints, attr.ints, (size_t)attr.count * sizeof *ints);
      attr.ints = ints;
    }
    out->attrs[out->attr_count++] = attr;
  }
  return NULL;
}

static zb_status take_operands(zb_emitter *e, zb_plan_instruction *out, int inputs, int outputs) {
  out->inputs = ZB_EMIT_NEW(e, inputs, zb_plan_operand);
  out->outputs = ZB_EMIT_NEW(e, outputs, zb_plan_operand);
  out->input_count = inputs;
  out->output_count = outputs;
  return out->inputs && out->outputs ? NULL : ZB_OUT_OF_MEMORY();
}

/* zb.accumulate(sum, value) that no product took over: sum += value. */
static zb_status emit_accumulate(zb_emitter *e, const zb_subprogram_info *info, const zb_node *node,
                                 zb_plan_instruction *out) {
  const zb_graph *g = &info->workspace.graph;
  out->op = "accumulate_add";
  out->accumulate = true;
  ZB_TRY(take_operands(e, out, 1, 1));
  ZB_TRY(emit_operand(e, info, g->operands[node->operand_begin + 1], &out->inputs[0]));
  return emit_operand(e, info, g->operands[node->operand_begin], &out->outputs[0]);
}

/* zb.put of a value that another stage of the rank keeps as well: copied into this stage's frame. */
static zb_status emit_copy(zb_emitter *e, const zb_subprogram_info *info, const zb_node *node,
                           zb_plan_instruction *out) {
  out->op = "contiguous";
  out->location = "";
  ZB_TRY(take_operands(e, out, 1, 1));
  ZB_TRY(emit_operand(e, info, info->workspace.graph.operands[node->operand_begin + 1], &out->inputs[0]));
  out->outputs[0] = out->inputs[0];
  out->outputs[0].base = (uint32_t)info->base_of[zb_workspace_frame_base(&info->workspace, node->result_begin)];
  out->outputs[0].offset = (uint64_t)zb_get_i64(node->op, "offset", 0);
  return NULL;
}

/* Which of the row's operand places each operand fills: an optional one in the middle (the mask of attention_grad) is
 * known by count. */
static int operand_place(const zb_op_def *def, int operand, int count) {
  int places = 1, optional = -1;
  for (const char *at = def->operands; *at; ++at) {
    if (*at == '?') optional = places - 1;
    places += *at == ',';
  }
  if (strchr(def->operands, '*') || optional < 0 || count == places) return operand;
  return operand < optional ? operand : operand + 1;
}

static int place_count(const zb_op_def *def, int count) {
  if (!def->operands || !*def->operands || strchr(def->operands, '*')) return count;
  int places = 1;
  for (const char *at = def->operands; *at; ++at)
    places += *at == ',';
  return places > count ? places : count;
}

/* cost_op: what the op is in a file of costs; NULL: nothing. */
static zb_status emit_instruction(zb_emitter *e, const zb_subprogram_info *info, int n, const char *cost_op,
                                  zb_plan_instruction *out) {
  const zb_workspace *w = &info->workspace;
  const zb_graph *g = &w->graph;
  const zb_node *node = &g->nodes[n];
  out->location = location_text(e, node->op);
  if (cost_op && !(out->cost_op = zb_plan_strdup(e->memory, cost_op))) return ZB_OUT_OF_MEMORY();
  if (zb_node_is(node, "zb.accumulate")) return emit_accumulate(e, info, node, out);
  if (!node->def || node->def->op_class != ZB_CLASS_KERNEL) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(node->op));
    return zb_status_hint(
        ZB_ERROR(INVALID, "no kernel runs op '%.*s' (%s)", (int)name.length, name.data, out->location),
        "a plan runs zb ops; ops of other dialects can be partitioned and scheduled, but not executed here");
  }
  out->op = node->def->name;
  out->accumulate = w->accumulates[n];
  out->scratch_bytes = w->scratch_bytes[n];
  out->scratch_offset = regions_of(e, info)[ZB_REGION_WORKSPACE].offset + w->scratch_offset[n];
  ZB_TRY(take_operands(e, out, place_count(node->def, node->operand_count), node->result_count));
  for (int i = 0; i < out->input_count; ++i)
    out->inputs[i].rank = -1;
  for (int i = 0; i < node->operand_count; ++i)
    ZB_TRY(emit_operand(e, info, g->operands[node->operand_begin + i],
                        &out->inputs[operand_place(node->def, i, node->operand_count)]));
  for (int r = 0; r < node->result_count; ++r) {
    /* A product that adds into the sum writes through reshapes into the accumulator; its own shape is what it computes.
     */
    ZB_TRY(emit_operand(e, info, node->result_begin + r, &out->outputs[r]));
  }
  zb_op_cost cost = zb_cost_of(node->op, node->def, NULL);
  out->flops = cost.flops;
  out->product_flops = cost.product_flops;
  return emit_attributes(e, node->op, out);
}

/* "fb", "fw", "bw", or "value 17". */
static const char *base_name(zb_emitter *e, const zb_subprogram_info *info, int position) {
  const zb_port port = position < info->argument_count
                           ? zb_argument_port(info->function, position)
                           : zb_result_port(info->function, position - info->argument_count);
  char text[256], key[ZB_KEY_BYTES];
  if (port.frame)
    snprintf(text, sizeof text, "%s", port.frame);
  else if (port.sum)
    snprintf(text, sizeof text, "sum %s", zb_sum_key(&port, key));
  else if (port.loss)
    snprintf(text, sizeof text, "loss");
  else if (port.report || port.output)
    snprintf(text, sizeof text, "%s", port.report ? port.report : port.output);
  else
    snprintf(text, sizeof text, "value %lld", (long long)port.value);
  return zb_plan_strdup(e->memory, text);
}

/* Where the function leaves the loss, as its homes say: the proof compares it with what REPORT jobs read. */
static zb_status emit_loss(zb_emitter *e, const zb_subprogram_info *info, zb_plan_subprogram *out) {
  for (int r = 0; r < info->result_count; ++r) {
    const zb_port port = zb_result_port(info->function, r);
    if (!port.loss && !port.report) continue;
    zb_plan_operand loss;
    ZB_TRY(emit_operand(e, info, info->workspace.graph.returned[r], &loss));
    if (port.loss && loss.rank == 1) e->plan->weighted = true; /* a pair: zb-loss-mean */
    out->loss_base = loss.base, out->loss_offset = loss.offset;
  }
  return NULL;
}

static zb_status emit_output_homes(zb_emitter *e, const zb_subprogram_info *info, zb_plan_subprogram *out) {
  out->outputs = ZB_EMIT_NEW(e, info->result_count, zb_plan_output_home);
  if (!out->outputs) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < info->result_count; ++r) {
    const zb_port port = zb_result_port(info->function, r);
    zb_plan_operand home;
    if (!port.output) continue;
    ZB_TRY(emit_operand(e, info, info->workspace.graph.returned[r], &home));
    out->outputs[out->output_count++] = (zb_plan_output_home){
        .output = (int32_t)zb_map_get_or(e->output_index, port.output, -1), .base = home.base, .offset = home.offset};
  }
  return NULL;
}

static zb_status emit_subprogram(zb_emitter *e, const zb_subprogram_info *info, zb_plan_subprogram *out) {
  const zb_graph *g = &info->workspace.graph;
  out->name = zb_plan_strdup(e->memory, info->name);
  out->stage = (int)zb_get_i64(info->function, ZB_ATTR_STAGE, -1);
  out->kind = zb_class_get(info->function);
  out->workspace_bytes = info->workspace.bytes;
  out->time_ps = zb_get_i64(info->function, ZB_ATTR_TIME_PS, 1);
  out->first_ps = zb_get_i64(info->function, ZB_ATTR_FIRST_PS, 0);
  out->base_count = info->base_count;
  out->bases = ZB_EMIT_NEW(e, info->base_count, const char *);
  out->base_bytes = ZB_EMIT_NEW(e, info->base_count, uint64_t);
  out->instructions = ZB_EMIT_NEW(e, g->node_count, zb_plan_instruction);
  if (!out->name || !out->bases || !out->base_bytes || !out->instructions) return ZB_OUT_OF_MEMORY();
  for (int b = 0; b < info->base_count; ++b) {
    int position = info->base_position[b];
    int value = position < info->argument_count ? position : g->returned[position - info->argument_count];
    out->bases[b] = base_name(e, info, position);
    out->base_bytes[b] = zb_align(zb_type_bytes(mlirValueGetType(g->values[value].value)));
    if (!out->bases[b]) return ZB_OUT_OF_MEMORY();
  }
  ZB_TRY(emit_loss(e, info, out));
  ZB_TRY(emit_output_homes(e, info, out));
  for (int n = 0; n < g->node_count; ++n) {
    const zb_node *node = &g->nodes[n];
    char cost_op[ZB_COST_TEXT_BYTES];
    const bool named = zb_cost_text(node->op, node->def, cost_op);
    bool copy = zb_node_is(node, "zb.put") && zb_has_attribute(node->op, ZB_ATTR_COPY);
    if (named) out->key += zb_cost_key(cost_op);
    if (info->workspace.skipped[n] && !copy) continue;
    zb_plan_instruction *instruction = &out->instructions[out->instruction_count++];
    ZB_TRY(copy ? emit_copy(e, info, node, instruction)
                : emit_instruction(e, info, n, named ? cost_op : NULL, instruction));
    const zb_op_cost cost = zb_cost_of(node->op, node->def, NULL);
    instruction->time_ps = cost.time_ps - cost.sums_ps;
    out->flops += instruction->flops;
    out->product_flops += instruction->product_flops;
  }
  return NULL;
}

static zb_status emit_subprograms(zb_emitter *e) {
  ZB_TRY(zb_subprograms_build(&e->arena, e->rank_op, &e->subprograms));
  e->rank->subprograms = ZB_EMIT_NEW(e, e->subprograms.count, zb_plan_subprogram);
  if (!e->rank->subprograms) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < e->subprograms.count; ++i)
    ZB_TRY(emit_subprogram(e, &e->subprograms.infos[i], &e->rank->subprograms[e->rank->subprogram_count++]));
  return NULL;
}

/* ---- Jobs ---- */

/* Waits of op number `op_number` of @main: the table goes by op. */
static zb_status add_waits(zb_emitter *e, int op_number, zb_plan_job *job) {
  if (!job->waits.count) job->waits.begin = (uint32_t)e->pool_u32.count;
  for (; e->wait_at < e->waits.count && zb_waits_at(e->waits, e->wait_at).op == op_number; ++e->wait_at) {
    int64_t message = zb_waits_at(e->waits, e->wait_at).message;
    if (message < 0 || message >= e->number_count || e->job_of_message[message] < 0)
      return ZB_ERROR(INVALID, "wait for message %lld, which was not posted", (long long)message);
    if (!ZB_PUSH(&e->arena, &e->pool_u32, (uint32_t)e->job_of_message[message])) return ZB_OUT_OF_MEMORY();
    ++job->waits.count;
  }
  return NULL;
}

static uint64_t next_address(zb_emitter *e) { return (uint64_t)zb_addresses_at(e->addresses, e->address_at++).number; }

static zb_status push_range(zb_emitter *e, zb_plan_job *job, uint64_t offset, uint64_t bytes) {
  if (!job->parts.count) job->parts.begin = (uint32_t)e->pool_ranges.count;
  ++job->parts.count;
  return ZB_PUSH(&e->arena, &e->pool_ranges, ((zb_plan_range){offset, bytes})) ? NULL : ZB_OUT_OF_MEMORY();
}

/* The next (address, bytes) of the table becomes a part of the job. */
static zb_status add_range(zb_emitter *e, zb_plan_job *job, uint64_t *out_bytes) {
  if (e->address_at + 2 > e->addresses.count) return ZB_ERROR(INVALID, "zb.addresses is too short for @main");
  const uint64_t offset = next_address(e);
  *out_bytes = next_address(e);
  return push_range(e, job, offset, *out_bytes);
}

static zb_status emit_call(zb_emitter *e, MlirOperation op, zb_plan_job *job) {
  int index = zb_callee(&e->subprograms, op);
  if (index < 0) return ZB_ERROR(INVALID, "call of an unknown function");
  const zb_plan_subprogram *s = &e->rank->subprograms[index];
  job->kind = s->kind;
  job->subprogram = index;
  job->stage = s->stage;
  job->micro_batch = (int32_t)zb_get_i64(op, ZB_ATTR_MICRO_BATCH, -1);
  int count = s->base_count;
  if (e->address_at + count > e->addresses.count)
    return ZB_ERROR(INVALID, "%s: zb.addresses is too short for @main", s->name);
  job->bases = (zb_plan_slice){.begin = (uint32_t)e->pool_u64.count, .count = (uint32_t)count};
  for (int i = 0; i < count; ++i)
    if (!ZB_PUSH(&e->arena, &e->pool_u64, next_address(e))) return ZB_OUT_OF_MEMORY();
  if (job->kind == ZB_JOB_LOAD) ++e->rank->load_count;
  return NULL;
}

static zb_status emit_communication(zb_emitter *e, int64_t number, bool send, zb_plan_job *job) {
  zb_plan_message *m = &e->plan->messages[e->place[number]];
  uint64_t bytes = 0;
  job->kind = send ? ZB_JOB_SEND : ZB_JOB_RECV;
  job->message = e->place[number];
  job->stage = send ? m->source_stage : m->destination_stage;
  job->micro_batch = m->micro_batch;
  ZB_TRY(add_range(e, job, &bytes));
  if (send) {
    m->bytes += bytes;
    ++m->part_count;
  }
  return NULL;
}

/* The list of a job stands in the pool once. */
static zb_status share_ranges(zb_emitter *e, zb_plan_job *job) {
  if (is_known(e, e->pool_ranges.items, sizeof(zb_plan_range), &job->parts.begin, job->parts.count))
    e->pool_ranges.count -= job->parts.count;
  return zb_arena_status(&e->arena);
}

/* Where the first part of each parameter comes to, behind which those of the other replicas do; then the own parts. */
static zb_status emit_gathered_ranges(zb_emitter *e, zb_row_range rows, uint64_t frame, zb_plan_job *job) {
  for (int i = rows.begin; i < rows.end; ++i) {
    const zb_parts_row row = zb_parts_at(e->frame_parts, i);
    ZB_TRY(push_range(e, job, frame + (uint64_t)row.into, (uint64_t)row.bytes));
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    const zb_parts_row row = zb_parts_at(e->frame_parts, i);
    const zb_plan_range region = e->rank->regions[zb_region_of_gathered(row.pool)];
    ZB_TRY(push_range(e, job, region.offset + (uint64_t)row.offset, (uint64_t)row.bytes));
  }
  return share_ranges(e, job);
}

/* Parameters that are gathered for jobs: there are as many gathers as micro-batches, of few lists at few addresses. */
static zb_status emit_gathered(zb_emitter *e, zb_row_range rows, zb_plan_job *job) {
  if (e->address_at >= e->addresses.count) return ZB_ERROR(INVALID, "zb.addresses is too short for @main");
  const uint64_t frame = next_address(e), pair[2] = {frame, (uint64_t)rows.begin};
  void *key = zb_id_key((int64_t)(zb_digest_of(pair, sizeof pair) >> 1));
  const int64_t known = zb_map_get_or(e->gathered, key, -1);
  const zb_emitted_gather *before = known >= 0 ? &e->gathers.items[known] : NULL;
  if (before && before->frame == frame && before->first_row == rows.begin) {
    job->parts = before->parts;
    return NULL;
  }
  ZB_TRY(emit_gathered_ranges(e, rows, frame, job));
  zb_arena_map_set(&e->arena, e->gathered, key, (int64_t)e->gathers.count);
  (void)ZB_PUSH(&e->arena, &e->gathers, ((zb_emitted_gather){frame, rows.begin, job->parts}));
  return zb_arena_status(&e->arena);
}

static zb_status emit_gather(zb_emitter *e, int64_t number, zb_plan_job *job) {
  uint64_t bytes = 0;
  job->kind = ZB_JOB_COLLECTIVE;
  job->collective = -e->place[number];
  const zb_plan_collective *collective = &e->plan->collectives[job->collective - 1];
  const zb_row_range members = zb_members_of(e->members, number);
  const zb_members_row first = zb_members_at(e->members, members.begin);
  const zb_row_range rows = zb_parts_of(e->frame_parts, &first);
  if (collective->apart) return emit_gathered(e, rows, job);
  const bool of_micro_batch = collective->of_micro_batch > 0;
  for (uint32_t i = 0; i < zb_collective_job_parts(collective) - (of_micro_batch ? collective->sizes.count : 0); ++i)
    ZB_TRY(add_range(e, job, &bytes));
  for (int i = rows.begin; i < rows.end && of_micro_batch; ++i) { /* what each sum is added to */
    const zb_parts_row row = zb_parts_at(e->frame_parts, i);
    ZB_TRY(push_range(e, job, e->rank->regions[ZB_REGION_GRADIENTS].offset + (uint64_t)row.into, (uint64_t)row.bytes));
  }
  return share_ranges(e, job);
}

/* How many parts are kept, then where they lie. */
static zb_status emit_kept(zb_emitter *e, bool is_verdict, zb_plan_job *job) {
  uint64_t bytes = 0, left = e->address_at < e->addresses.count ? next_address(e) : 0;
  job->kind = is_verdict ? ZB_JOB_VERDICT : ZB_JOB_SNAPSHOT;
  for (; left > 0; --left)
    ZB_TRY(add_range(e, job, &bytes));
  return NULL;
}

/* The message of the next op that communicates: a collective or not. */
static zb_status next_post(zb_emitter *e, bool collective, int64_t *out) {
  if (e->post_at >= e->posts.count) return ZB_ERROR(INVALID, "zb.posts is too short for @main");
  *out = zb_posts_at(e->posts, e->post_at++).message;
  return *out >= 0 && *out < e->number_count && (e->place[*out] < 0) == collective
             ? NULL
             : ZB_ERROR(INVALID, "message %lld is not in the table", (long long)*out);
}

/* One op of @main: a job of its own, or one more part of the message before it. */
static zb_status emit_job(zb_emitter *e, MlirOperation op, int op_number) {
  bool send = zb_op_is(op, "zb.send"), recv = zb_op_is(op, "zb.recv"), read = zb_op_is(op, "zb.read"),
       report = zb_op_is(op, "zb.report");
  bool gather = zb_op_is(op, "zb.all_gather") || zb_op_is(op, "zb.gather_frame") ||
                zb_op_is(op, "zb.gather_parameters") || zb_op_is(op, "zb.reduce_frame");
  bool call = zb_op_is(op, "func.call"), posts = send || recv || gather, verdict = zb_op_is(op, "zb.verdict");
  bool validates = verdict || zb_op_is(op, "zb.snapshot");
  if (!posts && !read && !report && !call && !validates) return NULL;
  const size_t count = e->jobs.count;
  int64_t number = -1;
  if (posts) ZB_TRY(next_post(e, gather, &number));
  if ((send || recv) && count && e->jobs.items[count - 1].message == e->place[number]) {
    ZB_TRY(emit_communication(e, number, send, &e->jobs.items[count - 1]));
    return add_waits(e, op_number, &e->jobs.items[count - 1]);
  }
  const zb_plan_job blank = {.subprogram = -1,
                             .stage = -1,
                             .micro_batch = (int32_t)zb_get_i64(op, ZB_ATTR_MICRO_BATCH, -1),
                             .message = -1,
                             .input = -1};
  if (!ZB_PUSH(&e->arena, &e->jobs, blank)) return ZB_OUT_OF_MEMORY();
  zb_plan_job *job = &e->jobs.items[count];
  if (call) ZB_TRY(emit_call(e, op, job));
  if (send || recv) ZB_TRY(emit_communication(e, number, send, job));
  if (gather) ZB_TRY(emit_gather(e, number, job));
  if (validates) ZB_TRY(emit_kept(e, verdict, job));
  if (read || report) {
    uint64_t bytes = 0;
    job->kind = read ? ZB_JOB_READ : ZB_JOB_REPORT;
    if (read) job->input = (int32_t)zb_map_get_or(e->input_index, zb_get_string(op, "input"), -1);
    const char *output = output_of(op);
    if (output) job->output = 1 + (int32_t)zb_map_get_or(e->output_index, output, -1);
    ZB_TRY(add_range(e, job, &bytes));
  }
  ZB_TRY(add_waits(e, op_number, job));
  if (posts) e->job_of_message[number] = (int32_t)count;
  return NULL;
}

static zb_status emit_jobs(zb_emitter *e) {
  MlirBlock body = zb_function_block(e->rank_op);
  MlirOperation main = zb_symbol_in(body, "func.func", "main"), evaluate = zb_symbol_in(body, "func.func", "evaluate");
  if (mlirOperationIsNull(main)) return ZB_ERROR(INVALID, "a rank has no @main");
  for (int i = 0; i < e->number_count; ++i)
    e->job_of_message[i] = -1;
  e->addresses = zb_addresses_get(e->rank_op);
  e->waits = zb_waits_get(e->rank_op);
  e->posts = zb_posts_get(e->rank_op);
  e->address_at = e->wait_at = e->post_at = 0;
  zb_plan_rank *rank = e->rank;
  int op_number = 0;
  ZB_FOR_EACH_OP(op, zb_function_block(main))
    if (!zb_op_is(op, "func.return")) ZB_TRY(emit_job(e, op, op_number++));
  const size_t of_step = e->jobs.count;
  if (!mlirOperationIsNull(evaluate))
    ZB_FOR_EACH_OP(op, zb_function_block(evaluate))
      if (!zb_op_is(op, "func.return")) ZB_TRY(emit_job(e, op, op_number++));
  rank->evaluation_count = (int)(e->jobs.count - of_step);
  rank->jobs = ZB_EMIT_KEEP(e, e->jobs);
  rank->pool_u64 = ZB_EMIT_KEEP(e, e->pool_u64);
  rank->pool_u32 = ZB_EMIT_KEEP(e, e->pool_u32);
  rank->pool_ranges = ZB_EMIT_KEEP(e, e->pool_ranges);
  rank->job_count = (int)e->jobs.count;
  rank->pool_u64_count = (uint32_t)e->pool_u64.count;
  rank->pool_u32_count = (uint32_t)e->pool_u32.count;
  rank->pool_range_count = (uint32_t)e->pool_ranges.count;
  return rank->jobs && rank->pool_u64 && rank->pool_u32 && rank->pool_ranges ? NULL : ZB_OUT_OF_MEMORY();
}

/* ---- Ranks ---- */

static zb_status emit_rank(zb_emitter *e, MlirOperation op, const zb_map *owners) {
  int index = (int)zb_get_i64(op, ZB_ATTR_RANK, -1);
  const zb_table regions = zb_regions_get(op);
  if (index < 0 || index >= e->plan->rank_count || regions.count != ZB_REGION_COUNT)
    return ZB_ERROR(INVALID, "a rank's module has no zb.rank or zb.regions: run zb-allocate");
  e->rank_op = op;
  e->rank = &e->plan->ranks[index];
  e->rank->rank = index;
  e->rank->arena_bytes = (uint64_t)zb_get_i64(op, ZB_ATTR_ARENA, 0);
  for (int r = 0; r < ZB_REGION_COUNT; ++r) {
    const zb_regions_row row = zb_regions_at(regions, r);
    e->rank->regions[r] = (zb_plan_range){.offset = (uint64_t)row.offset, .bytes = (uint64_t)row.bytes};
  }
  const zb_table of_evaluation = zb_evaluation_regions_get(op);
  if (of_evaluation.count == 2) {
    const zb_evaluation_regions_row slots = zb_evaluation_regions_at(of_evaluation, 0),
                                    workspace = zb_evaluation_regions_at(of_evaluation, 1);
    e->rank->evaluation_slots = (zb_plan_range){(uint64_t)slots.offset, (uint64_t)slots.bytes};
    e->rank->evaluation_workspace = (zb_plan_range){(uint64_t)workspace.offset, (uint64_t)workspace.bytes};
  }
  e->in_evaluation = *e->rank;
  e->in_evaluation.regions[ZB_REGION_SLOTS] = e->rank->evaluation_slots;
  e->in_evaluation.regions[ZB_REGION_WORKSPACE] = e->rank->evaluation_workspace;
  e->job_of_message = ZB_NEW(&e->arena, int32_t, e->number_count);
  ZB_TRY(zb_arena_status(&e->arena));
  ZB_TRY(emit_subprograms(e));
  ZB_TRY(zb_emit_tables(e, owners));
  ZB_TRY(zb_emit_constants(e));
  ZB_TRY(zb_emit_settings(e));
  return emit_jobs(e);
}

/* What the ranks share. */
typedef struct emission {
  const zb_emitter *header; /* plan and inputs */
  const zb_map *owners;     /* parameter -> the rank that saves it */
  zb_plan **memories;       /* [rank modules] */
  atomic_uint_least64_t model_hash;
} emission;

static zb_status emit_one(void *context, zb_rank_work *work) {
  emission *all = context;
  zb_emitter e = {.module = all->header->module,
                  .plan = all->header->plan,
                  .input_index = all->header->input_index,
                  .output_index = all->header->output_index,
                  .place = all->header->place,
                  .number_count = all->header->number_count,
                  .members = all->header->members,
                  .frame_parts = all->header->frame_parts};
  e.memory = all->memories[work->index] = zb_plan_create();
  e.lists = zb_arena_map_pointer(&e.arena);
  e.gathered = zb_arena_map_pointer(&e.arena);
  zb_status status = e.memory && e.lists && e.gathered ? emit_rank(&e, work->module, all->owners) : ZB_OUT_OF_MEMORY();
  atomic_fetch_add(&all->model_hash, e.model_hash);
  zb_arena_deinit(&e.arena);
  return status;
}

/* The first rank of all that have an entry with that name is its owner. */
static zb_status map_first(zb_emitter *e, const char *table, bool of_sums, zb_map *owners) {
  ZB_FOR_EACH_OP(op, zb_function_block(e->module)) {
    if (!zb_op_is(op, "builtin.module")) continue;
    const zb_entries entries = zb_entries_get(op, table);
    for (int i = 0; i < entries.count; ++i) {
      const zb_entry entry = zb_entries_at(entries, i);
      const char *name = of_sums ? entry.port.sum : zb_emit_parameter_name(&entry);
      if (!name || zb_port_is_summed(&entry.port) || zb_map_get(owners, name, NULL)) continue;
      if (!zb_map_set(owners, name, zb_get_i64(op, ZB_ATTR_RANK, -1))) return ZB_OUT_OF_MEMORY();
    }
  }
  return NULL;
}

/* The owner of a parameter is the first rank that has its gradient, which it reports; without one the first that holds
 * it. */
static zb_status map_owners(zb_emitter *e, zb_map *owners) {
  ZB_TRY(map_first(e, pool_tables[POOL_GRADIENTS], true, owners));
  ZB_TRY(map_first(e, pool_tables[POOL_PARAMETERS], false, owners));
  return map_first(e, pool_tables[POOL_BUFFERS], false, owners);
}

static zb_status emit_ranks(zb_emitter *e, MlirModule module) {
  int modules = zb_rank_count(module);
  zb_map *owners = zb_map_create();
  emission all = {.header = e, .owners = owners, .memories = zb_alloc(((size_t)modules + 1) * sizeof *all.memories)};
  zb_status status = NULL;
  if (!owners || !all.memories) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(map_owners(e, owners));
  status = zb_for_each_rank(module, emit_one, &all, NULL);
  e->plan->model_hash += atomic_load(&all.model_hash);
  if (!status) status = zb_plan_count_shard_sums(e->plan);
  e->plan->evaluates = e->plan->rank_count > 0 && e->plan->ranks[0].evaluation_count > 0;
cleanup:
  for (int i = 0; all.memories && i < modules; ++i)
    zb_plan_take_memory(e->plan, all.memories[i]);
  zb_free(all.memories);
  if (owners) zb_map_destroy(owners);
  return status;
}

zb_status zb_emit_plan(MlirModule module, const char *model, const char *optimizer, zb_plan **out) {
  zb_emitter e = {.module = mlirModuleGetOperation(module)};
  zb_status status = NULL;
  *out = NULL;
  e.plan = e.memory = zb_plan_create();
  e.input_index = zb_arena_map(&e.arena);
  e.output_index = zb_arena_map(&e.arena);
  e.lists = zb_arena_map_pointer(&e.arena);
  e.made = zb_arena_map_pointer(&e.arena);
  if (!e.plan || !e.input_index || !e.output_index || !e.lists || !e.made) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(emit_header(&e, model, optimizer));
  ZB_TRY_GOTO(emit_ranks(&e, module));
  ZB_TRY_GOTO(zb_plan_mark_crossing(e.plan));
  *out = e.plan;
  e.plan = NULL;
cleanup:
  zb_plan_destroy(e.plan);
  zb_arena_deinit(&e.arena);
  return status;
}
