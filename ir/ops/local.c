/* Regions of a program that each shard computes on what it has, as paddle.distributed.local_map and
 * torch.distributed.tensor.experimental.local_map make them. Their borders are ops: zb.to_local and zb.from_local.
 *
 *   %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)"} : (tensor<4x6xf32>) -> tensor<2x6xf32>
 *   %b = ...                                                                what a shard makes of its part
 *   %y = "zb.from_local"(%b) {members = 2 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
 *
 * Between them a value is that of one shard and stands for nothing whole; zb.all_reduce and zb.coordinate are what
 * shards know of each other. The gradient of what goes in has its placement, and is right where PyTorch needs
 * in_grad_placements for it: what all shards read gets the sum over shards.
 *
 * Tests: test/ir/ops/local.mlir, test/passes/local.mlir, test/e2e/local_map.py.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <inttypes.h>
#include <string.h>

/* ---- Names of placements ---- */

/* The long names are those of Paddle and PyTorch. "": as it comes. */
static const struct {
  const char *name;
  zb_spread spread;
} spreads[] = {
    {"R", ZB_REPLICATED},    {"Replicate", ZB_REPLICATED}, {"P", ZB_PARTIAL}, {"P(sum)", ZB_PARTIAL},
    {"Partial", ZB_PARTIAL}, {"Partial(sum)", ZB_PARTIAL}, {"", ZB_OPEN},
};

static bool read_cut(const char *text, zb_place *out) {
  const char *open = strchr(text, '(');
  const size_t length = open ? (size_t)(open - text) : 0;
  const bool named = (length == 1 && text[0] == 'S') || (length == 5 && strncmp(text, "Shard", 5) == 0);
  if (!named || open[1] < '0' || open[1] > '9' || strcmp(open + 2, ")") != 0) return false;
  *out = zb_cut_at(open[1] - '0');
  return true;
}

bool zb_stated_place(const zb_attrs *attrs, zb_place *out) {
  const char *text = zb_attr_string(attrs, "placement", "");
  for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; ++i)
    if (strcmp(spreads[i].name, text) == 0) {
      *out = (zb_place){.spread = spreads[i].spread};
      return true;
    }
  return read_cut(text, out);
}

/* ---- Both borders ---- */

#define PLACEMENT_HELP "\"S(0)\": a part of dimension 0; \"R\": all have it; \"P\": parts of a sum"

static zb_result check_border(const zb_op_view *op, zb_place *out, zb_op_error *error) {
  const char *text = zb_attr_string(&op->attrs, "placement", "");
  if (!zb_check_members(op, "C1", error)) return ZB_FAIL;
  if (!zb_stated_place(&op->attrs, out))
    return zb_op_fail(error, PLACEMENT_HELP, "unknown placement '%.40s' (C2)", text);
  if (out->spread == ZB_PARTIAL && !zb_dtype_is_float(op->operands[0].dtype))
    return zb_op_fail(error, NULL, "placement '%s' is of floats, got %s (C2)", text,
                      zb_dtype_name(op->operands[0].dtype));
  if (out->spread != ZB_CUT || out->dim < op->operands[0].rank) return ZB_OK;
  return zb_op_fail(error, NULL, "placement '%s' cuts a dimension that is not there: x has %d (C2)", text,
                    op->operands[0].rank);
}

enum { SAME_SHAPE = -1, NOT_A_PART = -2 };

/* The dimension of which `local` has a part. */
static int part_dimension(const zb_shape *whole, const zb_shape *local, int64_t members) {
  int dim = SAME_SHAPE;
  if (whole->rank != local->rank) return NOT_A_PART;
  for (int d = 0; d < whole->rank; ++d) {
    if (local->dims[d] == whole->dims[d]) continue;
    if (dim >= 0 || local->dims[d] * members != whole->dims[d]) return NOT_A_PART;
    dim = d;
  }
  return dim;
}

/* ---- to_local ---- */

static zb_result infer_to_local(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *whole = &op->operands[0];
  const int64_t members = zb_attr_int(&op->attrs, "members", 0);
  zb_place place;
  if (!check_border(op, &place, error)) return ZB_FAIL;
  if (place.spread == ZB_CUT && whole->dims[place.dim] % members != 0)
    return zb_op_fail(error, NULL, "%" PRId64 " shards do not divide dimension %d of x, which has %" PRId64 " (C3)",
                      members, place.dim, whole->dims[place.dim]);
  results[0] = zb_part_shape(whole, &place, members);
  if (place.spread != ZB_OPEN || !zb_attr_find(&op->attrs, "shape")) return ZB_OK;
  if (!zb_check_shape_attr(op, "shape", whole->dtype, &results[0], "C4", error)) return ZB_FAIL;
  if (part_dimension(whole, &results[0], members) != NOT_A_PART) return ZB_OK;
  return zb_op_fail(error, NULL, "shape is neither that of x nor a part of it in one dimension (C4)");
}

/* What every shard has, as parts of a sum: the first has it, the others zeros. Otherwise the operand as it is. */
static void build_to_local(zb_shard_build *s) {
  zb_place stated;
  const MlirValue x = s->results[0] = s->operands[0];
  const zb_dtype dtype = s->op->operands[0].dtype;
  if (!zb_stated_place(&s->op->attrs, &stated) || stated.spread != ZB_PARTIAL) return;
  if (s->placing->operands[0].spread != ZB_REPLICATED) return;
  MlirValue first = zb_build2(s->b, "equal", s->coordinate, zb_build_scalar(s->b, ZB_I64, 0));
  MlirValue choice[] = {zb_build_reshape(s->b, first, NULL, 0), x, zb_build_scalar(s->b, dtype, 0)};
  s->results[0] = zb_build(s->b, "where", choice, 3, NULL, 0);
}

/* What is elsewhere than stated, without `reshard`, stays there: zb-shard reports it. A parameter that nobody has cut
 * is cut as stated, or as the shape says. */
static void place_to_local(zb_placing *p) {
  const zb_place has = p->operands[0];
  zb_place wanted = {.spread = ZB_OPEN};
  (void)zb_stated_place(&p->op->attrs, &wanted);
  const bool is_part = wanted.spread == ZB_PARTIAL;
  const int dim = part_dimension(&p->op->operands[0], &p->results[0], p->shards);
  if (wanted.spread == ZB_OPEN) wanted = has.spread != ZB_OPEN || dim < 0 ? has : zb_cut_at(dim);
  if (wanted.spread == ZB_OPEN || (is_part && has.spread != ZB_PARTIAL)) wanted = (zb_place){.spread = ZB_REPLICATED};
  if (has.spread == ZB_OPEN || zb_attr_bool(&p->op->attrs, "reshard", false)) p->operands[0] = wanted;
  p->build = build_to_local;
  const bool is_whole = p->operands[0].spread == ZB_REPLICATED && !is_part && dim < 0;
  p->out[0].spread = is_whole ? ZB_REPLICATED : ZB_LOCAL;
  if (is_whole) p->whole = 1;
}

const zb_op_def zb_op_to_local = {
    ZB_ROW(to_local),
    .summary = "What each shard has of x, for a region that it computes alone.",
    .doc =
        "C1: there are 2 members or more. C2: placement is S(d), R, P or absent (as x comes); d is a dimension of x, "
        "and P is of floats. C3: the shards divide dimension d. C4: without a placement shape is that of x, or a "
        "part of it in one dimension. Without reshard x has the placement already.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR, {"placement", ZB_ATTR_STRING, true, ZB_NO_DEFAULT, PLACEMENT_HELP},
                      {"shape", ZB_ATTR_INTS, true, ZB_NO_DEFAULT, "of the part, without a placement"},
                      {"reshard", ZB_ATTR_BOOL, true, 0, "x may be elsewhere, and is brought there"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_BORDER,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_to_local,
    .place = place_to_local,
};

/* ---- from_local ---- */

static zb_result infer_from_local(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_place place;
  if (!check_border(op, &place, error)) return ZB_FAIL;
  results[0] = op->operands[0];
  if (place.spread == ZB_CUT) results[0].dims[place.dim] *= zb_attr_int(&op->attrs, "members", 0);
  return ZB_OK;
}

static void build_from_local(zb_shard_build *s) { s->results[0] = s->operands[0]; }

static void place_from_local(zb_placing *p) {
  const bool is_local = p->operands[0].spread == ZB_LOCAL;
  zb_place stated = {.spread = ZB_OPEN};
  (void)zb_stated_place(&p->op->attrs, &stated);
  if (!is_local) p->operands[0] = (zb_place){.spread = ZB_REPLICATED};
  if (stated.spread == ZB_OPEN) stated = (zb_place){.spread = ZB_REPLICATED};
  p->build = build_from_local;
  p->out[0] = stated;
  if (stated.spread == ZB_REPLICATED) p->whole = 1;
}

const zb_op_def zb_op_from_local = {
    ZB_ROW(from_local),
    .summary = "The whole value that what the shards have stands for.",
    .doc = "C1: there are 2 members or more. C2: placement is S(d), R or P; absent: R; d is a dimension of x, and P is "
           "of floats. With R what each shard has is the same on all: it depends on no part, or through a sum.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_MEMBERS_ATTR, {"placement", ZB_ATTR_STRING, true, ZB_NO_DEFAULT, PLACEMENT_HELP}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_BORDER,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_from_local,
    .place = place_from_local,
};

/* ---- Ops that shards know each other by ---- */

static void build_sum(zb_shard_build *s) {
  s->results[0] =
      zb_build_all_reduce(s->b, s->operands[0], s->placing->shards, zb_attr_string(&s->op->attrs, "reduction", "sum"));
}

/* Of the value of one shard the sum is the same on all. What is that already is added up as often as there are shards,
 * and so is its gradient. */
void zb_place_all_reduce(zb_placing *p) {
  if (p->operands[0].spread != ZB_LOCAL) {
    zb_place_whole(p);
    p->build = build_sum;
  }
  p->out[0] = (zb_place){.spread = ZB_REPLICATED};
}

void zb_place_coordinate(zb_placing *p) { p->out[0] = (zb_place){.spread = ZB_LOCAL}; }
