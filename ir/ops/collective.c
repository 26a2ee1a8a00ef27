/* What shards of one program say to each other: zb.all_reduce, zb.shared and zb.coordinate (tensor parallel),
 * zb.reduce_scatter, zb.gather_parts and zb.own_part (sequence parallel).
 *
 * zb.shared and a sum are each other's gradient: of what all shards read the gradient is the sum of what each has of
 * it, and of a sum that all read each has the whole gradient. So autodiff makes the collectives of the backward pass.
 *
 * Tests: test/ir/ops/collective.mlir, test/passes/shard_test.c.
 */
#include "ir/ops/support.h"

#include "ir/ops/place_rules.h"

#include <inttypes.h>
#include <string.h>

static bool is_sum(const zb_op_view *op) { return strcmp(zb_attr_string(&op->attrs, "reduction", ""), "sum") == 0; }

static zb_result infer_all_reduce(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const char *reduction = zb_attr_string(&op->attrs, "reduction", "");
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error) || !zb_check_members(op, "C2", error)) return ZB_FAIL;
  if (!is_sum(op) && strcmp(reduction, "max") != 0)
    return zb_op_fail(error, "use \"sum\" or \"max\"", "unknown reduction '%.40s' (C3)", reduction);
  results[0] = op->operands[0];
  return ZB_OK;
}

/* Room for the parts that the others send of what this shard adds up: one of each, aligned; all of the result, or that
 * divided among them. */
static uint64_t room_of(const zb_op_view *op, const zb_shape *result, bool divided) {
  const uint64_t members = (uint64_t)zb_attr_int(&op->attrs, "members", 2);
  const uint64_t part = (uint64_t)zb_shape_elements(result) / (divided ? members : 1);
  return members * zb_align((part + 1) * (uint64_t)zb_dtype_bytes(result->dtype));
}

static uint64_t scratch_bytes(const zb_op_view *op, const zb_shape *results) { return room_of(op, results, true); }

static void grad_all_reduce(zb_gradient *g) {
  if (is_sum(&g->view)) g->din[0] = g->dout[0];
}

const zb_op_def zb_op_all_reduce = {
    ZB_ROW(all_reduce),
    .summary = "The sum of x over all shards, in their order, or the greatest.",
    .doc = "C1: the element type of x is a float type. C2: there are 2 members or more. C3: reduction is \"sum\" or "
           "\"max\".\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR, {"reduction", ZB_ATTR_STRING, false, 0, "reduction = \"sum\" or \"max\""}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_BORDER | ZB_TRAIT_OF_PARTS,
    .mixed = ZB_MIXED_FOLLOW,
    .place = zb_place_all_reduce,
    .infer = infer_all_reduce,
    .scratch_bytes = scratch_bytes,
    .flops = 1,
    .grad = grad_all_reduce,
};

static zb_result infer_shared(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return zb_check_dtype(op, 0, ZB_REALS, "C1", error) && zb_check_members(op, "C2", error) ? ZB_OK : ZB_FAIL;
}

static bool view_shared(const zb_op_view *op ZB_UNUSED, const zb_strided *in, int result ZB_UNUSED,
                        const zb_shape *shape ZB_UNUSED, zb_strided *out) {
  *out = *in;
  return true;
}

static void grad_shared(zb_gradient *g) {
  g->din[0] = zb_build_all_reduce(g->b, g->dout[0], zb_attr_int(&g->view.attrs, "members", 2), "sum");
}

const zb_op_def zb_op_shared = {
    ZB_ROW(shared),
    .summary = "x, equal on all shards, for readers that compute a part; its gradient is summed over shards.",
    .doc = "C1: the element type of x is a float type. C2: there are 2 members or more.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_shared,
    .view = view_shared,
    .grad = grad_shared,
};

/* ---- Parts: of a dimension in front, of as many elements as there are shards ---- */

static zb_result infer_part(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  const int64_t members = zb_attr_int(&op->attrs, "members", 0), place = zb_attr_int(&op->attrs, "place", 0);
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error) || !zb_check_members(op, "C2", error)) return ZB_FAIL;
  if (x->rank == 0 || x->dims[0] != members)
    return zb_op_fail(error, NULL, "dimension 0 of x is not of %" PRId64 ", one for each shard (C3)", members);
  if (place < 0 || place >= members)
    return zb_op_fail(error, NULL, "attribute 'place' is out of range: expected 0 to %" PRId64 ", got %" PRId64 " (C4)",
                      members - 1, place);
  results[0] = zb_subshape(x, 1, x->rank);
  return ZB_OK;
}

static zb_result infer_gather_parts(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error) || !zb_check_members(op, "C2", error)) return ZB_FAIL;
  if (x->rank == ZB_DIMS_MAX) return zb_op_fail(error, NULL, "x has %d dimensions, one too many (C3)", x->rank);
  results[0] = *x;
  results[0].rank = x->rank + 1;
  results[0].dims[0] = zb_attr_int(&op->attrs, "members", 0);
  memcpy(results[0].dims + 1, x->dims, (size_t)x->rank * sizeof *x->dims);
  return ZB_OK;
}

static uint64_t part_scratch_bytes(const zb_op_view *op, const zb_shape *results) {
  return room_of(op, results, false);
}

static zb_attr members_of(const zb_gradient *g) { return zb_int("members", zb_attr_int(&g->view.attrs, "members", 2)); }

static void grad_part(zb_gradient *g) { g->din[0] = ZB_BUILD(g->b, "gather_parts", g->dout[0], members_of(g)); }

static void grad_gather_parts(zb_gradient *g) {
  const bool shared = zb_attr_bool(&g->view.attrs, "shared", false);
  g->din[0] = ZB_BUILD(g->b, shared ? "reduce_scatter" : "own_part", g->dout[0], members_of(g));
}

const zb_op_def zb_op_reduce_scatter = {
    ZB_ROW(reduce_scatter),
    .summary = "Of the sum of x over all shards, in their order, the part of the shard.",
    .doc = "C1: the element type of x is a float type. C2: there are 2 members or more. C3: dimension 0 of x has one "
           "part for each.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR),
    .traits = ZB_TRAIT_PURE,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_part,
    .scratch_bytes = part_scratch_bytes,
    .flops = 1,
    .counted = ZB_OPERAND(0),
    .grad = grad_part,
};

const zb_op_def zb_op_gather_parts = {
    ZB_ROW(gather_parts),
    .summary = "The x of all shards, one behind the other.",
    .doc =
        "C1: the element type of x is a float type. C2: there are 2 members or more. C3: x has a dimension less than "
        "there may be.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR, {"shared", ZB_ATTR_BOOL, true, 0, "its readers compute a part"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_gather_parts,
    .grad = grad_gather_parts,
};

const zb_op_def zb_op_own_part = {
    ZB_ROW(own_part),
    .summary = "The part of the shard of what all shards have.",
    .doc = "C1: the element type of x is a float type. C2: there are 2 members or more. C3: dimension 0 of x has one "
           "part for each. C4: place is the number of one of them.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR, {"place", ZB_ATTR_INT, true, 0, "the number, which a run sets"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_part,
    .grad = grad_part,
};

static zb_result infer_coordinate(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const int64_t place = zb_attr_int(&op->attrs, "place", 0);
  if (place < 0) return zb_op_fail(error, NULL, "attribute 'place' is below 0: got %" PRId64 " (C1)", place);
  results[0] = (zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {1}};
  return ZB_OK;
}

const zb_op_def zb_op_coordinate = {
    ZB_ROW(coordinate),
    .summary = "The number of the shard.",
    .doc = "C1: place is 0 or more.\n",
    .operands = "",
    .results = "out",
    .attrs = ZB_ATTRS({"place", ZB_ATTR_INT, true, 0, "the number, which a run sets"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT | ZB_TRAIT_BORDER,
    .infer = infer_coordinate,
    .place = zb_place_coordinate,
};
