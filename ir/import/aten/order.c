/* Sorting and what it decides: the greatest elements and their places. Places come from zb.top_k, whose ties are those
 * of PyTorch's stable sort; values are read at these places, so that a gradient goes to the elements that were chosen.
 * Tests: test/ir/import/aten, test/e2e/aten.py. */
#include "ir/import/aten/aten.h"

#include <string.h>

static bool is(const zb_import_node *n, const char *op) { return strcmp(n->op->argument, op) == 0; }

/* A tensor without dimensions is its own only element, at place 0. */
static zb_result give_single(zb_import_node *n, zb_operand x) {
  if (zb_import_wants(n, 1) && !zb_operand_give(n, 1, zb_operand_scalar(n, ZB_I64, 0))) return ZB_FAIL;
  return zb_operand_give(n, 0, x);
}

/* topk, sort and sort.stable: values and places. */
zb_result zb_aten_sort(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank == 0) return give_single(n, x);
  if (!zb_aten_axis(n, "dim", -1, in.rank, &axis)) return ZB_FAIL;
  const bool chooses = is(n, "topk");
  const int64_t k = chooses ? zb_aten_int(n, "k", 1) : in.dims[axis];
  if (n->im->failed) return ZB_FAIL;
  const bool largest = chooses ? zb_aten_flag(n, "largest", true) : zb_aten_flag(n, "descending", false);
  zb_operand values, places = zb_meaning_top_k(n, x, axis, k, largest, &values);
  if (zb_import_wants(n, 1) && !zb_operand_give(n, 1, places)) return ZB_FAIL;
  return zb_operand_give(n, 0, values);
}

/* argmax and argmin: without `dim` of all elements in their order. */
zb_result zb_aten_arg(zb_import_node *n) {
  zb_shape in, out;
  int axis = 0;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_aten_result_shape(n, 0, &out) || !zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank == 0) return zb_operand_give(n, 0, zb_operand_scalar(n, ZB_I64, 0));
  if (zb_aten_has(n, "dim")) {
    if (!zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  } else {
    in = (zb_shape){.dtype = in.dtype, .rank = 1, .dims = {zb_shape_elements(&in)}};
    x = zb_operand_reshape(n, x, &in);
  }
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_meaning_arg(n, x, axis, is(n, "max")), &out));
}

/* max.dim and min.dim: the value, and the place of the first of equal ones. */
zb_result zb_aten_extreme(zb_import_node *n) {
  zb_shape in, out;
  int axis;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank == 0) return give_single(n, x);
  if (!zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  zb_operand which = zb_meaning_arg(n, x, axis, is(n, "max"));
  for (int i = 0; i < n->output_count; ++i) {
    if (!zb_import_wants(n, i)) continue;
    zb_operand value = i == 0 ? zb_operand_gather_elements(n, x, which, axis, ZB_FROM_BOTH_ENDS) : which;
    if (!zb_aten_result_shape(n, i, &out) || !zb_operand_give(n, i, zb_operand_reshape(n, value, &out))) return ZB_FAIL;
  }
  return ZB_OK;
}
