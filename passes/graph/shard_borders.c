/* Borders of regions that each shard computes alone: what zb-shard refuses (passes/graph/shard_parts.h).
 *
 * Tests: test/passes/local.mlir. */
#include "passes/graph/shard_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As the attribute says it. */
static void write_place(const zb_place *place, char out[40]) {
  static const char *const names[] = {[ZB_REPLICATED] = "R", [ZB_PARTIAL] = "P", [ZB_OPEN] = "R"};
  if (zb_is_cut(place))
    snprintf(out, 40, "S(%d)%s", place->dim, place->segment_count ? " in runs" : place->padded ? " padded" : "");
  else
    snprintf(out, 40, "%s", names[place->spread]);
}

static zb_result check_members(const zb_shard *s, const zb_node *node) {
  const int64_t members = zb_get_i64(node->op, "members", s->shards);
  char hint[64];
  if (members == s->shards) return ZB_OK;
  snprintf(hint, sizeof hint, "compile it with --tensor-parallel %" PRId64, members);
  return zb_op_error_at(node->op, hint, "the region is one of %" PRId64 " shards, and the program has %" PRId64,
                        members, s->shards);
}

/* Whether what the region gets, at `given`, is what it says that it takes: at `stated`, or (OPEN) of its shape. */
static bool is_as_stated(const zb_shard *s, const zb_node *node, const zb_place *given, const zb_place *stated) {
  const int value = zb_operand(&s->graph, node, 0);
  const zb_shape *expected = &s->shapes[node->result_begin];
  const zb_shape part = zb_part_shape(&s->shapes[value], given, s->shards);
  if (given->padded || given->segment_count > 0) return false;
  if (memcmp(part.dims, expected->dims, (size_t)part.rank * sizeof *part.dims) != 0) return false;
  if (stated->spread == ZB_OPEN || zb_same_placement(given, stated)) return true;
  return stated->spread == ZB_PARTIAL && zb_get_flag(node->op, "reshard"); /* made of the whole */
}

/* What comes in is where it is expected, or may be brought there. */
static zb_result check_entry(const zb_shard *s, const zb_node *node) {
  zb_place stated = {.spread = ZB_OPEN};
  zb_op_view_storage storage;
  zb_op_view view;
  zb_placing placing;
  char is[40], takes[40];
  if (s->places[zb_operand(&s->graph, node, 0)].spread == ZB_LOCAL)
    return zb_op_error_at(node->op, "let it go through zb.from_local first", "x is what one shard has already");
  if (!zb_shard_view(s, node, &view, &storage)) return ZB_OK;
  (void)zb_stated_place(&view.attrs, &stated);
  zb_shard_place(s, node, &view, &placing);
  if (is_as_stated(s, node, &placing.operands[0], &stated)) return ZB_OK;
  write_place(&placing.operands[0], is);
  write_place(&stated, takes);
  return zb_op_error_at(node->op, "with {reshard = true} it is brought there",
                        "x is placed %s, and the region takes %s", is,
                        stated.spread == ZB_OPEN ? "another part of it, by its shape" : takes);
}

/* What leaves as the same on all shards depends on no part. */
static zb_result check_exit(const zb_shard *s, const zb_node *node) {
  zb_place stated = {.spread = ZB_OPEN};
  zb_op_view_storage storage;
  zb_op_view view;
  if (!zb_shard_view(s, node, &view, &storage) || !zb_stated_place(&view.attrs, &stated)) return ZB_OK;
  const bool is_whole = stated.spread == ZB_OPEN || stated.spread == ZB_REPLICATED;
  if (!is_whole || s->places[zb_operand(&s->graph, node, 0)].spread != ZB_LOCAL) return ZB_OK;
  return zb_op_error_at(node->op, "state \"S(d)\" or \"P\", or put a zb.all_reduce before it",
                        "x is not the same on all shards: it depends on what one of them has");
}

static zb_result check_node(const zb_shard *s, const zb_node *node) {
  if (!node->def) {
    ZB_FOR_EACH_OPERAND(value, &s->graph, node)
      if (s->places[value].spread == ZB_LOCAL)
        return zb_op_error_at(node->op, "register the op: zb_op_register",
                              "nobody described this op, which reads what one shard has");
    return ZB_OK;
  }
  if (zb_node_is(node, "zb.all_reduce")) return check_members(s, node);
  if (zb_node_is(node, "zb.to_local")) return check_members(s, node) ? check_entry(s, node) : ZB_FAIL;
  if (zb_node_is(node, "zb.from_local")) return check_members(s, node) ? check_exit(s, node) : ZB_FAIL;
  return ZB_OK;
}

zb_result zb_shard_check_borders(const zb_shard *s) {
  ZB_FOR_EACH_NODE(node, &s->graph)
    if (!check_node(s, node)) return ZB_FAIL;
  for (int i = 0; i < s->graph.returned_count; ++i)
    if (s->places[s->graph.returned[i]].spread == ZB_LOCAL)
      return zb_op_error_at(s->graph.terminator, "let it go through zb.from_local", "result %d is what one shard has",
                            i);
  return ZB_OK;
}
