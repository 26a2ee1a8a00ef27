/* W beside the sums of its B, as the model of orders knows it: hidden.h. Tests: test/passes/weave.test */
#include "passes/stages/places/hidden.h"

#include "passes/function.h"
#include "passes/graph.h"
#include "passes/stages/cost.h"
#include "passes/stages/frames.h"
#include "passes/stages/jobs/problem.h"
#include "passes/tables.h"

#include <string.h>

/* The sums of B, and beside which one each value that it leaves for W is ready first. */
typedef struct sums {
  zb_arena *arena;
  const zb_costs *costs;
  ZB_LIST(int64_t) ps;
  zb_map *ready; /* value of B, then offset in the frame bw -> the first sum */
  zb_map *offsets;
} sums;

static const void *key_of(MlirValue value) { return value.ptr; }

static int64_t ready_of(const zb_map *ready, MlirOperation op) {
  int64_t latest = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    const int64_t one = zb_map_get_or(ready, key_of(mlirOperationGetOperand(op, i)), 0);
    if (one > latest) latest = one;
  }
  return latest;
}

static void set_ready(sums *s, zb_map *ready, MlirOperation op, int64_t sum) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    zb_arena_map_set(s->arena, ready, key_of(mlirOperationGetResult(op, i)), sum);
}

/* What an op of B makes is ready beside the next sum; puts stand behind all others, whenever their value was made. */
static zb_status read_b(sums *s, MlirOperation b, MlirType frame) {
  const int64_t wake = zb_link_costs_of(s->costs).wake_ps;
  ZB_FOR_EACH_OP(op, zb_function_block(b)) {
    if (zb_op_is(op, "zb.put")) {
      if (mlirTypeEqual(mlirValueGetType(mlirOperationGetResult(op, 0)), frame))
        zb_arena_map_set(s->arena, s->offsets, zb_id_key(zb_get_i64(op, "offset", 0)),
                         zb_map_get_or(s->ready, key_of(mlirOperationGetOperand(op, 1)), 0));
      continue;
    }
    const zb_op_cost cost = zb_cost_of(op, zb_op_find(op), s->costs);
    if (cost.sums_ps && !ZB_PUSH(s->arena, &s->ps, cost.sums_ps - wake)) return ZB_OUT_OF_MEMORY();
    set_ready(s, s->ready, op, cost.time_ps ? (int64_t)s->ps.count : ready_of(s->ready, op));
  }
  return zb_arena_status(s->arena);
}

/* The argument of W that is the frame bw; -1: it has none. */
static int frame_argument(MlirOperation w, int kind) {
  const int count = (int)mlirBlockGetNumArguments(zb_function_block(w));
  for (int i = 0; i < count; ++i) {
    const char *frame = zb_argument_port(w, i).frame;
    if (frame && strcmp(frame, frame_names[kind]) == 0) return i;
  }
  return -1;
}

/* Beside which sum an op of W can run first. */
static int64_t ready_in_w(const sums *s, const zb_map *ready, MlirOperation op, MlirValue frame) {
  if (zb_op_is(op, "zb.get") && mlirValueEqual(mlirOperationGetOperand(op, 0), frame))
    return zb_map_get_or(s->offsets, zb_id_key(zb_get_i64(op, "offset", 0)), (int64_t)s->ps.count);
  return ready_of(ready, op);
}

/* Fills the sums with the ops of W, one after the other, up to its own first sum; a little may stand over. */
static int64_t fill(sums *s, MlirOperation w, MlirValue frame) {
  static const double late = 0.1;
  zb_map *ready = zb_arena_map_pointer(s->arena);
  int64_t hidden = 0, left = s->ps.count ? s->ps.items[0] : 0;
  size_t at = 0;
  ZB_FOR_EACH_OP(op, zb_function_block(w)) {
    const zb_op_cost cost = zb_cost_of(op, zb_op_find(op), s->costs);
    if (cost.sums_ps || !ready) break;
    const int64_t first = ready_in_w(s, ready, op, frame);
    set_ready(s, ready, op, first);
    if (cost.time_ps == 0 || zb_has_attribute(op, ZB_ATTR_IN_PRODUCT) || zb_op_is(op, "func.return")) continue;
    while (at < s->ps.count && ((int64_t)at < first || (double)cost.time_ps * (1 - late) > (double)left))
      left = ++at < s->ps.count ? s->ps.items[at] : 0;
    if (at == s->ps.count) break;
    hidden += cost.time_ps < left ? cost.time_ps : left;
    left -= cost.time_ps;
  }
  return hidden;
}

int64_t zb_hidden_in_b(zb_arena *arena, MlirOperation b, MlirOperation w, const zb_costs *costs) {
  sums s = {.arena = arena, .costs = costs};
  if (mlirOperationIsNull(b) || mlirOperationIsNull(w) || zb_get_i64(b, ZB_ATTR_SUMS_PS, 0) == 0) return 0;
  if (zb_frame_bytes(w, frame_names[FRAME_GW]) > 0) return 0; /* what it leaves there has its place from its own on */
  const int argument = frame_argument(w, FRAME_BW);
  if (argument < 0) return 0;
  s.ready = zb_arena_map_pointer(arena);
  s.offsets = zb_arena_map_pointer(arena);
  if (!s.ready || !s.offsets) return 0;
  const MlirValue frame = mlirBlockGetArgument(zb_function_block(w), argument);
  zb_status status = read_b(&s, b, mlirValueGetType(frame));
  zb_status_free(status); /* of memory alone, which the arena says as well */
  return status ? 0 : fill(&s, w, frame);
}
