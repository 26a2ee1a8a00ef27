/* dot_general as zb.matmul, and reductions. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <math.h>

#include <string.h>

/* ---- Products ---- */

/* The dimensions of one operand: those of the batch and those that are summed, in the order of the op, and the rest. */
typedef struct side {
  zb_shape shape;
  int64_t batch[ZB_DIMS_MAX], summed[ZB_DIMS_MAX], rest[ZB_DIMS_MAX];
  int batch_count, summed_count, rest_count;
} side;

static int64_t product(const side *s, const int64_t *dims, int count) {
  int64_t elements = 1;
  for (int i = 0; i < count; ++i)
    elements *= s->shape.dims[dims[i]];
  return elements;
}

static bool read_side(zb_import_node *n, int operand, const char *batch, const char *summed, side *s) {
  const char *attribute = "dot_dimension_numbers";
  bool seen[ZB_DIMS_MAX] = {false};
  *s = (side){.batch_count = 0};
  if (!zb_import_shape(n, operand, &s->shape) ||
      !zb_stablehlo_field(n, attribute, batch, s->batch, ZB_DIMS_MAX, &s->batch_count) ||
      !zb_stablehlo_field(n, attribute, summed, s->summed, ZB_DIMS_MAX, &s->summed_count))
    return false;
  for (int i = 0; i < s->batch_count + s->summed_count; ++i) {
    const int64_t d = i < s->batch_count ? s->batch[i] : s->summed[i - s->batch_count];
    if (d < 0 || d >= s->shape.rank || seen[d])
      return zb_import_refuse(n, NULL, "dimension %lld of operand %d is out of range, or named twice", (long long)d,
                              operand);
    seen[d] = true;
  }
  for (int d = 0; d < s->shape.rank; ++d)
    if (!seen[d]) s->rest[s->rest_count++] = d;
  return true;
}

/* The operand as [batch..., rows, columns]. */
static MlirValue arranged(zb_import_node *n, int operand, const side *s, bool summed_last) {
  int64_t permutation[ZB_DIMS_MAX], dims[ZB_DIMS_MAX];
  int count = 0, rank = 0;
  const int64_t *rows = summed_last ? s->rest : s->summed, *columns = summed_last ? s->summed : s->rest;
  const int row_count = summed_last ? s->rest_count : s->summed_count,
            column_count = s->shape.rank - s->batch_count - row_count;
  for (int i = 0; i < s->batch_count; ++i)
    permutation[count++] = s->batch[i], dims[rank++] = s->shape.dims[s->batch[i]];
  for (int i = 0; i < row_count; ++i)
    permutation[count++] = rows[i];
  for (int i = 0; i < column_count; ++i)
    permutation[count++] = columns[i];
  dims[rank++] = product(s, rows, row_count);
  dims[rank++] = product(s, columns, column_count);
  MlirValue x = zb_import_transposed(n->b, zb_import_ir(n, operand), permutation);
  return zb_import_reshaped(n->b, x, dims, rank);
}

/* Products of integers, which zb.matmul does not take: all of them, then their sums. [b.., m, k] and [b.., k, n]. */
static zb_result give_integers(zb_import_node *n, const MlirValue *in, const zb_shape *out) {
  enum { PRODUCTS_MAX = 1 << 24 };
  zb_shape a, b;
  if (!zb_import_ir_shape(n, in[0], &a) || !zb_import_ir_shape(n, in[1], &b)) return ZB_FAIL;
  const int rank = a.rank;
  const int64_t columns = b.dims[rank - 1], axis = rank - 1;
  if (rank + 1 > ZB_DIMS_MAX || zb_shape_elements(&a) > PRODUCTS_MAX / columns || a.dtype != b.dtype)
    return zb_import_refuse(n, "products of floats have no such limit", "a product of integers that is this large");
  zb_shape left = a, right = b;
  left.dims[rank - 1] = 1; /* [b.., m, 1, k] and [b.., 1, n, k] */
  left.dims[rank] = a.dims[rank - 1];
  right.dims[rank - 2] = 1;
  right.dims[rank - 1] = columns;
  right.dims[rank] = b.dims[rank - 2];
  int64_t swapped[ZB_DIMS_MAX];
  for (int d = 0; d < rank; ++d)
    swapped[d] = d < rank - 2 ? d : rank - 1 - (d - (rank - 2));
  MlirValue x = zb_import_reshaped(n->b, in[0], left.dims, rank + 1);
  MlirValue y = zb_import_reshaped(n->b, zb_import_transposed(n->b, in[1], swapped), right.dims, rank + 1);
  MlirValue all = zb_build2(n->b, "mul", x, y);
  const int64_t last = axis + 1;
  MlirValue sum = ZB_BUILD(n->b, "reduce_sum", all, zb_ints("axes", &last, 1), zb_bool("keepdims", false));
  if (sum.ptr) sum = zb_build_cast(n->b, sum, out->dtype);
  return sum.ptr ? zb_import_give(n, 0, zb_build_reshape(n->b, sum, out->dims, out->rank)) : ZB_FAIL;
}

/* The result: batch, what is left of the left operand, what is left of the right one. */
zb_result zb_stablehlo_dot_general(zb_import_node *n) {
  side a, b;
  zb_shape out;
  if (!read_side(n, 0, "lhs_batching_dimensions", "lhs_contracting_dimensions", &a) ||
      !read_side(n, 1, "rhs_batching_dimensions", "rhs_contracting_dimensions", &b) ||
      !zb_stablehlo_result_shape(n, 0, &out))
    return ZB_FAIL;
  bool fits = a.batch_count == b.batch_count && a.summed_count == b.summed_count && a.batch_count + 2 <= ZB_DIMS_MAX;
  for (int i = 0; fits && i < a.batch_count; ++i)
    fits = a.shape.dims[a.batch[i]] == b.shape.dims[b.batch[i]];
  for (int i = 0; fits && i < a.summed_count; ++i)
    fits = a.shape.dims[a.summed[i]] == b.shape.dims[b.summed[i]];
  if (!fits) return zb_import_refuse(n, NULL, "the dimensions of the operands do not fit each other");
  MlirValue in[2] = {arranged(n, 0, &a, true), arranged(n, 1, &b, false)};
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  const int64_t elements =
      product(&a, a.batch, a.batch_count) * product(&a, a.rest, a.rest_count) * product(&b, b.rest, b.rest_count);
  if (elements != zb_shape_elements(&out))
    return zb_import_refuse(n, NULL, "the result has another size than declared");
  if (!zb_dtype_is_float(out.dtype)) return give_integers(n, in, &out);
  const bool is_wide = out.dtype == ZB_F32 && a.shape.dtype != ZB_F32;
  zb_attr wide = zb_string("dtype", "f32");
  MlirValue made = zb_build(n->b, "matmul", in, 2, &wide, is_wide);
  return made.ptr ? zb_import_give(n, 0, zb_build_reshape(n->b, made, out.dims, out.rank)) : ZB_FAIL;
}

/* ---- Reductions ---- */

/* What a region that reduces applies, of which result, and where it begins. */
static const struct {
  const char *body, *op;
  double start;
} reductions[] = {
    {"add", "reduce_sum", 0},
    {"maximum", "reduce_max", -INFINITY},
    {"minimum", "reduce_min", INFINITY},
    {"multiply", "reduce_prod", 1},
    {"and", "reduce_min", 1},
    {"or", "reduce_max", 0},
};
enum { REDUCTION_COUNT = sizeof reductions / sizeof *reductions };

/* Whether the initial value changes nothing: of integers the least one is -infinity. */
static bool starts_at(const zb_known *c, double start) {
  if (!c || c->elements != 1) return false;
  if (zb_known_is_float(c)) return zb_known_real(c, 0) == start;
  const int64_t value = zb_known_integer(c, 0);
  const bool wide = c->shape.dtype == ZB_I64;
  if (start == -INFINITY) return value == (wide ? INT64_MIN : INT32_MIN);
  if (start == INFINITY) return value == (wide ? INT64_MAX : INT32_MAX);
  return (double)value == start;
}

/* Of i1 as i32, as zb reduces numbers. */
static zb_result give_reduced(zb_import_node *n, const char *op, const int64_t *axes, int count, zb_dtype dtype) {
  zb_operand x = zb_operand_in(n, 0);
  if (dtype == ZB_I1) x = zb_operand_cast(n, x, ZB_I32);
  return zb_operand_give(n, 0, zb_operand_cast(n, zb_operand_reduce(n, op, x, axes, count, false), dtype));
}

/* The fast form: one value, a reduction that zb has, from the value that changes nothing. -1: it is none. */
static int find_reduction(zb_import_node *n, const zb_shape *in) {
  char body[32];
  if (n->input_count != 2 || !zb_stablehlo_region_op(n, 0, body, sizeof body)) return -1;
  if (zb_stablehlo_is_held(zb_stablehlo_operand_integer(n, 0)) || in->dtype == ZB_F64) return -1;
  const bool is_logic = in->dtype == ZB_I1, is_word = strcmp(body, "and") == 0 || strcmp(body, "or") == 0;
  for (int row = 0; row < REDUCTION_COUNT; ++row)
    if (strcmp(reductions[row].body, body) == 0 && is_logic == is_word &&
        starts_at(zb_import_known(n, 1), reductions[row].start))
      return row;
  return -1;
}

zb_result zb_stablehlo_reduce(zb_import_node *n) {
  zb_shape in, out;
  int64_t axes[ZB_DIMS_MAX], size = 1;
  bool seen[ZB_DIMS_MAX] = {false};
  int count;
  if (!zb_import_shape(n, 0, &in) || !zb_stablehlo_result_shape(n, 0, &out) ||
      !zb_stablehlo_ints(n, "dimensions", false, axes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    if (axes[i] < 0 || axes[i] >= in.rank || seen[axes[i]])
      return zb_import_refuse(n, NULL, "the dimensions are out of range, or named twice");
    seen[axes[i]] = true;
    size *= in.dims[axes[i]];
  }
  const int row = find_reduction(n, &in);
  /* Of a product halves of halves have the gradient of JAX: of other factors, not by a division. */
  const bool is_product = row >= 0 && strcmp(reductions[row].op, "reduce_prod") == 0 && zb_dtype_is_float(in.dtype);
  if (row < 0 || (is_product && !n->folds && n->inputs[0]->reached)) return zb_stablehlo_reduce_any(n, axes, count);
  if (size != 1) return give_reduced(n, reductions[row].op, axes, count, in.dtype);
  if (zb_shape_elements(&in) != zb_shape_elements(&out))
    return zb_import_refuse(n, NULL, "the result has another size");
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_in(n, 0), &out));
}
