/* Sorting, by the number of elements before each: those that its comparison puts first, and of equal ones those that
 * come first already.
 *
 *   stablehlo.sort(%x [4, 8]) {dimension = 1} (less)     before [4, 8, 8] = less(x_j, x_i) or not less(x_i, x_j), j < i
 *                                                        zb.scatter(.., row * 8 + sum of before over j, x)
 *
 * That is the square of the dimension, so that only short ones are sorted. Tests: test/e2e/stablehlo_testdata.py, on
 * test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <inttypes.h>

enum { OPERANDS_MAX = ZB_STABLEHLO_LANES_MAX / 2, PAIRS_MAX = 1 << 24 };

/* A whole number whose order is the total order of floats: -NaN, -inf, .., -0, 0, .., inf, NaN. */
MlirValue zb_stablehlo_total_order(zb_import_node *n, MlirValue x) {
  zb_shape shape;
  zb_builder *b = n->b;
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  if (zb_dtype_is_narrow(shape.dtype)) x = zb_build_cast(b, x, ZB_F32);
  const bool is_wide = shape.dtype == ZB_F64;
  const zb_dtype dtype = is_wide ? ZB_I64 : ZB_I32;
  const zb_attr left = zb_bool("left", false);
  MlirValue bits = zb_stablehlo_as_bits(n, x, dtype);
  MlirValue sign =
      zb_build(b, "bit_shift", (MlirValue[]){bits, zb_stablehlo_scalar(n, dtype, is_wide ? 63 : 31)}, 2, &left, 1);
  sign = zb_build2(b, "bitwise_and", sign, zb_stablehlo_scalar(n, dtype, is_wide ? INT64_MAX : INT32_MAX));
  return zb_build2(b, "bitwise_xor", bits, sign);
}

/* [.., size] as [.., size, size] whose entry [i, j] is x_j, or x_i. */
static MlirValue pairs(zb_import_node *n, MlirValue x, bool is_last, int64_t size) {
  zb_shape shape;
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  shape.dims[shape.rank] = size;
  shape.dims[shape.rank - 1] = size;
  ++shape.rank;
  zb_shape thin = shape;
  thin.dims[shape.rank - (is_last ? 2 : 1)] = 1;
  return zb_import_expanded(n->b, zb_import_reshaped(n->b, x, thin.dims, thin.rank), &shape);
}

/* x with the sorted dimension last. */
static MlirValue turned(zb_import_node *n, MlirValue x, int axis, bool back) {
  zb_shape shape;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  for (int d = 0; d < shape.rank; ++d)
    permutation[d] = d < axis ? d : back ? (d == axis ? shape.rank - 1 : d - 1) : d + 1;
  if (!back) permutation[shape.rank - 1] = axis;
  return zb_import_transposed(n->b, x, permutation);
}

/* The place of every element in its order, counted over all rows: [elements], i64. first [.., i, j]: element j is
 * before element i by the comparison. */
static MlirValue places(zb_import_node *n, MlirValue first, const zb_shape *shape) {
  zb_builder *b = n->b;
  int64_t permutation[ZB_DIMS_MAX], count = zb_shape_elements(shape);
  const int64_t size = shape->dims[shape->rank - 1], axis = shape->rank;
  for (int d = 0; d <= shape->rank; ++d)
    permutation[d] = d;
  permutation[axis] = axis - 1;
  permutation[axis - 1] = axis;
  zb_shape column = {.dtype = ZB_I32, .rank = 2, .dims = {size, 1}},
           row = {.dtype = ZB_I32, .rank = 2, .dims = {1, size}};
  MlirValue is_left = zb_build2(b, "less", zb_build_iota(b, &row, 1, 0, 1), zb_build_iota(b, &column, 0, 0, 1));
  MlirValue last = zb_import_transposed(b, first, permutation);
  MlirValue tied = zb_build2(b, "and", zb_build1(b, "not", last), is_left);
  MlirValue before = zb_build_cast(b, zb_build2(b, "or", first, tied), ZB_I64);
  MlirValue rank = ZB_BUILD(b, "reduce_sum", before, zb_ints("axes", &axis, 1), zb_bool("keepdims", false));
  const int64_t rows[2] = {count / size, size};
  const zb_shape starts = {.dtype = ZB_I64, .rank = 2, .dims = {rows[0], 1}};
  rank = zb_import_reshaped(b, rank, rows, 2);
  rank = zb_build2(b, "add", rank, zb_build_iota(b, &starts, 0, 0, (double)size));
  return zb_import_reshaped(b, rank, &count, 1);
}

static MlirValue moved(zb_import_node *n, MlirValue x, MlirValue to, const zb_shape *shape) {
  const int64_t count = zb_shape_elements(shape);
  zb_shape line = *shape;
  line.rank = 1;
  line.dims[0] = count;
  if (!x.ptr || !to.ptr) return (MlirValue){NULL};
  const MlirValue in[] = {zb_build_splat(n->b, &line, 0), to, zb_import_reshaped(n->b, x, &count, 1)};
  const zb_attr attr = zb_string("reduction", "none");
  x = zb_build(n->b, "scatter", in, 3, &attr, 1);
  return zb_import_reshaped(n->b, x, shape->dims, shape->rank);
}

static bool is_short(zb_import_node *n, const zb_shape *shape, int64_t size) {
  if (shape->rank >= ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "it has too many dimensions");
  return zb_shape_elements(shape) <= PAIRS_MAX / size ||
         zb_import_refuse(n, NULL, "only short dimensions are sorted: %" PRId64 " elements are %" PRId64 " pairs", size,
                          zb_shape_elements(shape) * size);
}

zb_result zb_stablehlo_sort(zb_import_node *n) {
  zb_shape shape, lanes, turned_shape;
  int64_t axis;
  const int count = n->input_count;
  MlirValue x[OPERANDS_MAX], both[2 * OPERANDS_MAX], first;
  if (!zb_import_shape(n, 0, &shape) || !zb_stablehlo_int(n, "dimension", &axis)) return ZB_FAIL;
  if (axis < 0) axis += shape.rank;
  if (count > OPERANDS_MAX || n->output_count != count || axis < 0 || axis >= shape.rank)
    return zb_import_refuse(n, NULL, "its operands or its dimension do not fit");
  if (!zb_stablehlo_are_alike(n, count)) return ZB_FAIL;
  const int64_t size = shape.dims[axis];
  if (!is_short(n, &shape, size)) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    x[i] = turned(n, zb_import_ir(n, i), (int)axis, false);
    both[2 * i] = pairs(n, x[i], true, size);
    both[2 * i + 1] = pairs(n, x[i], false, size);
  }
  if (n->im->failed || n->b->failed || !zb_import_ir_shape(n, both[0], &lanes)) return ZB_FAIL;
  if (!zb_stablehlo_lanes(n, 0, both, 2 * count, &lanes, &first, 1)) return ZB_FAIL;
  if (!zb_import_ir_shape(n, x[0], &turned_shape)) return ZB_FAIL;
  MlirValue to = places(n, first, &turned_shape);
  for (int i = 0; i < count && !n->b->failed; ++i) {
    if (!zb_import_ir_shape(n, x[i], &turned_shape)) return ZB_FAIL;
    if (!zb_import_give(n, i, turned(n, moved(n, x[i], to, &turned_shape), (int)axis, true))) return ZB_FAIL;
  }
  return n->b->failed ? ZB_FAIL : ZB_OK;
}

/* The k largest of the last dimension in the total order, and where they were. */
zb_result zb_stablehlo_top_k(zb_import_node *n) {
  zb_shape shape, out;
  int64_t k;
  if (!zb_import_shape(n, 0, &shape) || !zb_stablehlo_int(n, "k", &k) || !zb_stablehlo_result_shape(n, 1, &out))
    return ZB_FAIL;
  if (shape.rank < 1 || n->output_count != 2) return zb_import_refuse(n, NULL, "its operands or results do not fit");
  zb_operand x = zb_operand_in(n, 0), key = x;
  if (zb_dtype_is_float(shape.dtype)) key = zb_operand_computed(n, zb_stablehlo_total_order(n, zb_import_ir(n, 0)));
  if (zb_stablehlo_is_wide_unsigned(zb_stablehlo_operand_integer(n, 0)))
    key = zb_operand_computed(n, zb_stablehlo_ordered(n, zb_import_ir(n, 0), zb_stablehlo_operand_integer(n, 0)));
  zb_operand places = zb_meaning_top_k(n, key, shape.rank - 1, k, true, NULL);
  return zb_operand_give(n, 0, zb_operand_gather_elements(n, x, places, shape.rank - 1, ZB_FROM_BOTH_ENDS)) &&
                 zb_operand_give(n, 1, zb_operand_cast(n, places, out.dtype))
             ? ZB_OK
             : ZB_FAIL;
}
