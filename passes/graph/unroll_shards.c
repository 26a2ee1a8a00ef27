/* zb-unroll-shards: puts all shards of a program that zb-shard made into one, each op of it as often as there are
 * shards, and every collective as a sum in their order.
 *
 *   before   %p = matmul(%x, %w)             %w: 4x8 {zb.param = "w", zb.shard = "0:8"}
 *            %y = all_reduce(%p)
 *   after    %p0 = matmul(%x, %w0)           {zb.param = "w@0"}
 *            %p1 = matmul(%x, %w1)           {zb.param = "w@1"}
 *            %y = add(%p0, %p1)
 *
 * It is what runs of shards are compared with, to the bit: the same kernels on the same parts, without a message. So it
 * stands behind zb-layout, the last pass that may change a bit. Parameters, their state and settings are there once a
 * shard; the inputs, the loss and the step number once.
 *
 * Tests: test/passes/unroll-shards.mlir, test/passes/shard_test.c. */
#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "passes/tables.h"

#include <stdio.h>
#include <string.h>

typedef struct unrolling {
  zb_pass *pass;
  zb_graph graph;
  int64_t shards;
  MlirValue *copies; /* [value][shard] */
  zb_function_builder f;
} unrolling;

static MlirValue *copies_of(unrolling *u, int value) { return u->copies + (int64_t)value * u->shards; }

/* ---- Names ---- */

/* The length of the parameter's name at the beginning of that of its state or setting. */
static size_t owner_length(const unrolling *u, const char *name) {
  size_t longest = 0;
  for (int a = 0; a < u->graph.argument_count; ++a) {
    const zb_port port = zb_argument_port(u->graph.function, a);
    const char *owner = port.param ? port.param : port.frozen;
    const size_t length = owner ? strlen(owner) : 0;
    const bool fits = owner && strncmp(name, owner, length) == 0 && (name[length] == '.' || name[length] == '\0');
    if (fits && length > longest) longest = length;
  }
  return longest;
}

/* "w.exp_avg" of shard 1: "w@1.exp_avg". In the arena. */
static const char *name_of(unrolling *u, const char *name, int64_t shard) {
  char text[ZB_KEY_BYTES];
  const int length = (int)owner_length(u, name);
  snprintf(text, sizeof text, "%.*s@%d%s", length, name, (int)shard, name + length);
  const char *copy = zb_arena_strdup(&u->pass->arena, text);
  return copy ? copy : "";
}

/* ---- Arguments and results ---- */

static MlirAttribute port_of_shard(unrolling *u, zb_port port, int64_t shard) {
  if (port.param) port.param = name_of(u, port.param, shard);
  if (port.frozen) port.frozen = name_of(u, port.frozen, shard);
  if (port.state) port.state = name_of(u, port.state, shard);
  if (port.setting) port.setting = name_of(u, port.setting, shard);
  if (port.update) port.update = name_of(u, port.update, shard);
  port.shard = NULL;
  return zb_port_set(u->f.context, &port);
}

static bool is_of_shard(unrolling *u, const zb_port *port) {
  if (port->setting) return owner_length(u, port->setting) > 0;
  return port->param || port->frozen || port->state || port->update;
}

static void unroll_arguments(unrolling *u) {
  for (int a = 0; a < u->graph.argument_count; ++a) {
    MlirValue *copies = copies_of(u, a);
    const zb_port port = zb_argument_port(u->graph.function, a);
    for (int64_t c = 0; c < u->shards; ++c)
      copies[c] = u->graph.values[a].value;
    if (!is_of_shard(u, &port)) continue;
    for (int64_t c = 1; c < u->shards; ++c)
      copies[c] = zb_function_argument(&u->f, mlirValueGetType(copies[0]), port_of_shard(u, port, c));
    u->f.argument_attributes.items[a] = port_of_shard(u, port, 0);
  }
}

static void unroll_results(unrolling *u) {
  for (int i = 0; i < u->graph.returned_count; ++i) {
    const MlirValue *copies = copies_of(u, u->graph.returned[i]);
    const zb_port port = zb_result_port(u->graph.function, i);
    u->f.results.items[i] = copies[0];
    if (!is_of_shard(u, &port)) continue;
    for (int64_t c = 1; c < u->shards; ++c)
      zb_function_result(&u->f, copies[c], port_of_shard(u, port, c));
    u->f.result_attributes.items[i] = port_of_shard(u, port, 0);
  }
}

/* ---- Ops ---- */

/* A forward op and those of its gradient keep to each other: number n of shard c is n * shards + c. */
static void renumber(unrolling *u, MlirOperation op, int64_t shard) {
  const char *const names[] = {ZB_ATTR_ID, ZB_ATTR_OF};
  for (int i = 0; i < 2; ++i)
    if (zb_has_attribute(op, names[i])) zb_set_i64(op, names[i], zb_get_i64(op, names[i], 0) * u->shards + shard);
}

/* Ops that stand for one collective: of one shard each or, of a sum, of all. */
static void number_ops(const unrolling *u, const zb_node *node, MlirValue value, int64_t shard) {
  const char *const names[] = {ZB_ATTR_ID, ZB_ATTR_OF};
  for (int i = 0; i < 2; ++i)
    if (zb_has_attribute(node->op, names[i]))
      zb_set_i64(zb_producer(value), names[i], zb_get_i64(node->op, names[i], 0) * u->shards + (i ? 0 : shard));
}

/* ((x0 + x1) + x2) + ..: the order in which a run adds. */
static MlirValue sum_of_all(unrolling *u, zb_builder *b, const zb_node *node, const char *op) {
  const MlirValue *parts = copies_of(u, zb_operand(&u->graph, node, 0));
  MlirValue sum = parts[0];
  for (int64_t c = 1; c < u->shards && !b->failed; ++c) {
    sum = zb_build2(b, op, sum, parts[c]);
    if (!b->failed) number_ops(u, node, sum, c - 1);
  }
  return sum;
}

static MlirValue build_numbered(unrolling *u, zb_builder *b, const zb_node *node, MlirValue value, int64_t shard) {
  if (!b->failed) number_ops(u, node, value, shard);
  return value;
}

/* Part `shard` of what has a dimension of parts in front. */
static MlirValue build_part(unrolling *u, zb_builder *b, const zb_node *node, MlirValue all, int64_t shard) {
  zb_shape shape;
  int64_t starts[ZB_DIMS_MAX] = {shard}, sizes[ZB_DIMS_MAX];
  if (b->failed || !zb_value_shape(all, &shape)) return all;
  memcpy(sizes, shape.dims, sizeof sizes);
  sizes[0] = 1;
  MlirValue part = build_numbered(u, b, node, zb_build_slice(b, all, starts, sizes, NULL, shape.rank), shard);
  return build_numbered(u, b, node, zb_build_reshape(b, part, shape.dims + 1, shape.rank - 1), shard);
}

static MlirValue all_parts(unrolling *u, zb_builder *b, const zb_node *node) {
  const MlirValue *parts = copies_of(u, zb_operand(&u->graph, node, 0));
  MlirValue rows[ZB_SHARDS_MAX];
  zb_shape shape;
  if (!zb_value_shape(parts[0], &shape)) return parts[0];
  memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
  shape.dims[0] = 1;
  for (int64_t c = 0; c < u->shards; ++c)
    rows[c] = build_numbered(u, b, node, zb_build_reshape(b, parts[c], shape.dims, shape.rank + 1), c);
  return build_numbered(u, b, node, zb_build_concat(b, rows, (int)u->shards, 0), 0);
}

static bool is_collective(const zb_node *node) {
  return zb_node_is(node, "zb.all_reduce") || zb_node_is(node, "zb.reduce_scatter") ||
         zb_node_is(node, "zb.gather_parts");
}

static zb_result unroll_collective(unrolling *u, const zb_node *node) {
  MlirValue *copies = copies_of(u, node->result_begin);
  const char *reduction = zb_get_string(node->op, "reduction");
  zb_builder builder = zb_builder_before(node->op), *b = &builder;
  const bool gathers = zb_node_is(node, "zb.gather_parts"), scatters = zb_node_is(node, "zb.reduce_scatter");
  MlirValue all = gathers ? all_parts(u, b, node)
                          : sum_of_all(u, b, node, reduction && strcmp(reduction, "max") == 0 ? "max" : "add");
  /* Behind accumulates each shard has a sum of its own: an update reads no gradient of another parameter. */
  const bool of_step = !zb_has_attribute(node->op, ZB_ATTR_ID) && !zb_has_attribute(node->op, ZB_ATTR_OF);
  for (int64_t c = 0; c < u->shards && !b->failed; ++c) {
    copies[c] = all;
    if (scatters)
      copies[c] = build_part(u, b, node, all, c);
    else if (of_step && c > 0)
      copies[c] = zb_build1(b, "contiguous", all);
  }
  return builder.failed ? ZB_FAIL : ZB_OK;
}

static void unroll_op(unrolling *u, const zb_node *node) {
  const bool counts = zb_node_is(node, "zb.coordinate") || zb_node_is(node, "zb.own_part");
  const bool accumulates = zb_node_is(node, "zb.accumulate");
  const char *name = accumulates ? zb_get_string(node->op, "parameter") : NULL;
  for (int64_t c = 0; c < u->shards; ++c) {
    MlirOperation op = mlirOperationClone(node->op);
    mlirBlockInsertOwnedOperationBefore(u->graph.block, node->op, op);
    for (int k = 0; k < node->operand_count; ++k) {
      const int operand = zb_operand(&u->graph, node, k);
      zb_graph_set_operand(&u->graph, op, k, operand, copies_of(u, operand)[c]);
    }
    if (counts) zb_set_i64(op, "place", c);
    if (name) zb_set_string(op, "parameter", name_of(u, name, c));
    renumber(u, op, c);
    for (int r = 0; r < node->result_count; ++r)
      copies_of(u, node->result_begin + r)[c] = mlirOperationGetResult(op, r);
  }
  ++u->pass->changes;
}

static zb_result unroll(unrolling *u) {
  unroll_arguments(u);
  ZB_FOR_EACH_NODE(node, &u->graph) {
    if (!is_collective(node))
      unroll_op(u, node);
    else if (!unroll_collective(u, node))
      return ZB_FAIL;
  }
  unroll_results(u);
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  MlirOperation top = mlirModuleGetOperation(pass->program->module);
  unrolling u = {.pass = pass, .shards = zb_get_i64(top, ZB_ATTR_SHARDS, 1)};
  if (u.shards == 1) return ZB_OK;
  ZB_PASS_TRY(pass, zb_graph_build(&pass->arena, function, &u.graph));
  u.copies = ZB_NEW(&pass->arena, MlirValue, u.graph.value_count * u.shards);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  zb_function_open(&u.f, function);
  zb_result result = unroll(&u);
  ZB_PASS_TRY(pass, zb_function_close(&u.f, function));
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  for (int n = u.graph.node_count; result && n-- > 0;)
    zb_erase_op(u.graph.nodes[n].op);
  zb_remove_attribute(top, ZB_ATTR_SHARDS);
  return result;
}

const zb_pass_def zb_pass_unroll_shards = {
    .name = "zb-unroll-shards",
    .summary = "all shards of a program in one, to compare runs of shards with",
    .requires_level = "split",
    .run_on_function = run,
};
