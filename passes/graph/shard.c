/* zb-shard: makes of a forward program the program of one of t shards that compute it together (tensor parallel).
 *
 *   before   %y = matmul(%x, %w, %b)        %w: 8x12, %x replicated
 *            %z = matmul(gelu(%y), %v)
 *   after    %s = shared(%x)                its gradient is the sum over shards
 *            %y = matmul(%s, %w, %b)        %w: 8x6, its columns of this shard: {zb.shard = "1:12"}
 *            %p = matmul(gelu(%y), %v)      %v: its rows of this shard; %p is a part of a sum
 *            %z = all_reduce(%p)
 *
 * Where values are is found by the member `place` of the rows (ir/placement.h, shard_places.c): products by columns,
 * then by rows, attention by heads, embeddings and LM heads by vocabulary. Norms and biases behind sums stay whole. It
 * stands before zb-autodiff, which makes the collectives of the backward pass: of a sum the gradient is that of its
 * parts, and of what all shards read it is a sum (ir/ops/collective.c). So gradients and optimizer state are parts
 * without a rule.
 *
 * Tests: test/passes/shard*.mlir; numbers: test/passes/shard_test.c. */
#include "passes/graph/shard_parts.h"

#include "passes/tables.h"

/* Inputs of tokens, or of what is given for each. */
static zb_result find_inputs(zb_shard *s, MlirOperation function) {
  for (int a = 0; a < s->graph.argument_count; ++a) {
    if (!zb_argument_port(function, a).input || !s->known[a] || s->shapes[a].rank < 2) continue;
    if (!ZB_PUSH(&s->pass->arena, &s->inputs, s->shapes[a])) return zb_pass_fail(s->pass, ZB_OUT_OF_MEMORY());
  }
  return ZB_OK;
}

static zb_result init(zb_shard *s, MlirOperation function) {
  zb_arena *arena = &s->pass->arena;
  ZB_PASS_TRY(s->pass, zb_graph_build(arena, function, &s->graph));
  const int count = s->graph.value_count;
  s->depends = zb_graph_depends(arena, &s->graph);
  s->known = ZB_NEW(arena, bool, count);
  s->shapes = ZB_NEW(arena, zb_shape, count);
  s->places = ZB_NEW(arena, zb_place, count);
  s->root = ZB_NEW(arena, int, count);
  s->followed = ZB_NEW(arena, zb_place, count);
  s->on_way = ZB_NEW(arena, bool, s->graph.node_count);
  s->origin = ZB_NEW(arena, int, count);
  s->arguments = ZB_NEW(arena, zb_shard_argument, s->graph.argument_count);
  ZB_PASS_TRY(s->pass, zb_arena_status(arena));
  for (int v = 0; v < count; ++v)
    s->known[v] = zb_value_shape(s->graph.values[v].value, &s->shapes[v]);
  for (int a = 0; a < s->graph.argument_count; ++a) {
    const zb_port port = zb_argument_port(function, a);
    s->arguments[a].weight = s->known[a] && (port.param || port.frozen);
  }
  return s->sequence ? find_inputs(s, function) : ZB_OK;
}

static zb_result check_forward(const zb_graph *graph) {
  for (int i = 0; i < graph->returned_count; ++i)
    if (zb_result_has(graph->function, i, ZB_ATTR_UPDATE))
      return zb_op_error_at(graph->function, "give zbc the forward program, which it differentiates itself",
                            "shards need a forward program: result %d is marked zb.update", i);
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  zb_shard s = {.pass = pass, .shards = zb_pass_option_int(pass, "tensor-parallel", 0)};
  if (s.shards < 1 || s.shards > ZB_SHARDS_MAX)
    return zb_pass_option_error(pass, function, "tensor-parallel", NULL, "expected a number from 1 to %d, got '%s'",
                                ZB_SHARDS_MAX, zb_pass_option(pass, "tensor-parallel"));
  if (s.shards == 1) return ZB_OK;
  if (!zb_pass_option_flag(pass, "sequence-parallel", &s.sequence)) return ZB_FAIL;
  if (!init(&s, function) || !check_forward(&s.graph)) return ZB_FAIL;
  zb_set_i64(mlirModuleGetOperation(pass->program->module), ZB_ATTR_SHARDS, s.shards);
  if (!zb_shard_read_pins(&s)) return ZB_FAIL;
  zb_shard_find_places(&s);
  if (s.blocked >= 0) return zb_shard_report_pin(&s);
  if (!zb_shard_check_borders(&s)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_shard_note_whole(&s));
  return zb_shard_rewrite(&s);
}

static const zb_option_def options[] = {
    {"shard", "", "GLOB=DIM;GLOB=whole;...: where these parameters are cut; of several that fit the last counts"},
    {0},
};

const zb_pass_def zb_pass_shard = {
    .name = "zb-shard",
    .summary = "the program of one of several shards that compute it together, with the collectives between them",
    .options = options,
    .requires_level = "graph",
    .run_on_function = run,
};
