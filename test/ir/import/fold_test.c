/* Folded constants have the bits that kernels give, for every elementwise op and element type that folds, on random and
 * on special values: those of the reference kernel; where all kernels give the same bits, those of the fast ones, too.
 * Casts, reductions and cumsum as well. */
#include "ir/import/fold.h"

#include "test/suite.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <string.h>

enum { ROWS = 97, COLUMNS = 11, ELEMENTS = ROWS * COLUMNS };

static uint64_t state = 20261123;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static double special_real(void) {
  static const double values[] = {
      0.0,        -0.0,   1,      -1,       2,         3,       0.5,          -2.5,          1e-45,
      -1e-45,     1e-310, 1e-38,  -1.2e-38, 3.4e38,    -3.4e38, 1e300,        88.5,          -88.5,
      -103.9,     20.25,  -20.25, INFINITY, -INFINITY, NAN,     2147483648.0, -2147483649.0, 9223372036854775808.0,
      16777217.0, 1e-8,   -1e-8};
  return values[next_random() % (sizeof values / sizeof *values)];
}

static int64_t special_integer(void) {
  static const int64_t values[] = {0, 1, -1, 2, -7, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 9007199254740993};
  return values[next_random() % (sizeof values / sizeof *values)];
}

/* Special values, values of moderate size, and any bits at all, in turn. */
static zb_known *random_known(zb_import *im, const zb_shape *shape) {
  zb_known *c = zb_known_new(im, shape);
  size_t width = zb_dtype_bytes(shape->dtype);
  CU_ASSERT_PTR_NOT_NULL_FATAL(c);
  for (int64_t i = 0; i < c->elements; ++i) {
    uint64_t bits = next_random(), kind = next_random() % 3;
    double small = ((double)(next_random() % 2000001) - 1000000) / 100000;
    if (kind == 0 && zb_known_is_float(c))
      zb_known_set_real(c, i, special_real());
    else if (kind == 0)
      zb_known_set_integer(c, i, special_integer());
    else if (kind == 1 || shape->dtype == ZB_I1)
      zb_known_set_real(c, i, small);
    else
      memcpy((char *)c->data + (size_t)i * width, &bits, width);
  }
  return c;
}

static zb_tensor as_tensor(const zb_known *c, void *data) {
  zb_tensor tensor = {.data = data, .dtype = c->shape.dtype, .rank = c->shape.rank};
  memcpy(tensor.shape, c->shape.dims, sizeof tensor.shape);
  zb_strides(&c->shape, tensor.strides);
  return tensor;
}

/* The bits, but one NaN is as good as another. */
static bool same_number(const zb_known *a, const zb_known *b, int64_t i) {
  size_t width = zb_dtype_bytes(a->shape.dtype);
  if (zb_known_is_float(a) && isnan(zb_known_real(a, i)) && isnan(zb_known_real(b, i))) return true;
  return memcmp((char *)a->data + (size_t)i * width, (char *)b->data + (size_t)i * width, width) == 0;
}

/* Compares what was folded with what a kernel gives. */
static void check_kernel(zb_import *im, const char *op, const zb_known *folded, const zb_known *const *in, int count,
                         zb_attrs attrs, bool fast) {
  zb_tensor tensors[3];
  CU_ASSERT_PTR_NOT_NULL_FATAL(folded);
  zb_known *expected = zb_known_new(im, &folded->shape);
  CU_ASSERT_PTR_NOT_NULL_FATAL(expected);
  for (int i = 0; i < count; ++i)
    tensors[i] = as_tensor(in[i], in[i]->data);
  zb_tensor result = as_tensor(expected, expected->data);
  const zb_kernel_call call = {
      .inputs = tensors, .input_count = count, .outputs = &result, .output_count = 1, .attrs = attrs};
  const zb_kernel *kernel = fast ? zb_kernel_cpu(op, &call) : zb_kernel_reference(op);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  CU_ASSERT_PTR_NULL(kernel->run(&call));
  int wrong = 0;
  for (int64_t i = 0; i < folded->elements; ++i) {
    if (same_number(folded, expected, i)) continue;
    if (wrong++ == 0)
      fprintf(stderr, "\n  %s of %s, %s kernel, operand %g: folded %.17g, expected %.17g", op,
              zb_dtype_name(in[0]->shape.dtype), fast ? "fast" : "reference", zb_known_real(in[0], i % in[0]->elements),
              zb_known_real(folded, i), zb_known_real(expected, i));
  }
  CU_ASSERT_EQUAL(wrong, 0);
}

/* Ops whose formula has one rounding at each place, the same in every kernel. */
static bool is_exact(const char *op) {
  static const char *const exact[] = {"abs",  "neg",   "relu",  "reciprocal", "sqrt",  "clip", "leaky_relu",
                                      "add",  "sub",   "mul",   "div",        "max",   "min",  "prelu",
                                      "sign", "where", "round", "ceil",       "floor", "cast", "equal"};
  for (size_t i = 0; i < sizeof exact / sizeof *exact; ++i)
    if (strcmp(op, exact[i]) == 0) return true;
  return false;
}

/* Divisors that are not 0, shifts that are not negative: others are refused. */
static void make_divisors(zb_known *y) {
  for (int64_t i = 0; i < y->elements; ++i) {
    int64_t value = zb_known_integer(y, i);
    zb_known_set_integer(y, i, value == 0 ? 3 : value == INT64_MIN ? 70 : value < 0 ? -value : value);
  }
}

static int check_op(zb_import_node *n, const zb_op_def *def, int count, zb_dtype dtype) {
  const bool is_where = strcmp(def->name, "where") == 0;
  zb_shape shapes[3], result;
  zb_known *in[3];
  zb_op_error error;
  for (int i = 0; i < count; ++i)
    shapes[i] =
        (zb_shape){.dtype = is_where && i == 0 ? ZB_I1 : dtype, .rank = 2, .dims = {i == 1 ? 1 : ROWS, COLUMNS}};
  const zb_op_view view = {.def = def, .operands = shapes, .operand_count = count, .result_count = 1};
  if (!def->infer(&view, &result, &error)) return 0;
  for (int i = 0; i < count; ++i)
    in[i] = random_known(n->im, &shapes[i]);
  if (count == 2 && !zb_known_is_float(in[1]) && dtype != ZB_I1) make_divisors(in[1]);
  const zb_known *const *operands = (const zb_known *const *)in;
  zb_known *folded = zb_import_fold_op(n, def->name, operands, count, NULL, 0);
  check_kernel(n->im, def->name, folded, operands, count, (zb_attrs){NULL, 0}, false);
  if (is_exact(def->name)) check_kernel(n->im, def->name, folded, operands, count, (zb_attrs){NULL, 0}, true);
  return 1;
}

/* Every elementwise op of one result that needs no attribute, on every element type that it takes. */
static void check_ops(zb_import_node *n) {
  static const zb_dtype dtypes[] = {ZB_F32, ZB_F64, ZB_I64, ZB_I32, ZB_I1};
  int checked = 0;
  for (int i = 0; i < zb_op_builtin_count(); ++i) {
    const zb_op_def *def = zb_op_at(i);
    int count = zb_op_names_arity(def->operands).named;
    bool needs = def->attrs && def->attrs[0].name && !def->attrs[0].optional;
    if (def->op_class != ZB_CLASS_KERNEL || !(def->traits & ZB_TRAIT_ELEMENTWISE) || needs || count < 1 || count > 3 ||
        zb_op_names_arity(def->results).named != 1 || strstr(def->name, "_grad"))
      continue;
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k)
      checked += check_op(n, def, count, dtypes[k]);
  }
  CU_ASSERT(checked > 140);
}

static void check_casts(zb_import_node *n) {
  static const zb_dtype dtypes[] = {ZB_F32, ZB_F64, ZB_I64, ZB_I32, ZB_I1};
  for (int k = 0; k < 25; ++k) {
    zb_shape shape = {.dtype = dtypes[k / 5], .rank = 2, .dims = {ROWS, COLUMNS}};
    const zb_known *x = random_known(n->im, &shape);
    zb_attr attr = zb_string("dtype", zb_dtype_name(dtypes[k % 5]));
    check_kernel(n->im, "cast", zb_import_fold_cast(n, x, dtypes[k % 5]), &x, 1, (zb_attrs){&attr, 1}, false);
  }
}

static void check_reductions(zb_import_node *n) {
  static const char *const ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"};
  static const zb_dtype dtypes[] = {ZB_F32, ZB_F64, ZB_I64, ZB_I32};
  for (int k = 0; k < 20; ++k) {
    zb_shape shape = {.dtype = dtypes[k / 5], .rank = 3, .dims = {2, ELEMENTS, 3}};
    const zb_known *x = random_known(n->im, &shape);
    if (k % 5 == 1 && !zb_known_is_float(x)) continue; /* no kernel */
    const zb_attr attrs[] = {zb_ints("axes", (int64_t[]){2, 0}, 2), zb_bool("keepdims", false)};
    zb_known *folded = zb_import_fold_reduce(n, ops[k % 5], x, attrs[0].ints, 2, false);
    check_kernel(n->im, ops[k % 5], folded, &x, 1, (zb_attrs){attrs, 2}, false);
  }
}

static const double mixed_results[] = {8, 0, 1, 4};
static void check_powers(zb_import_node *n) {
  static const int64_t bases[] = {2, 2, -1, 16}, exponents[] = {3, -1, 4, 0};
  const zb_known *a = zb_known_ints(n->im, bases, 4), *b = zb_known_ints(n->im, exponents, 4);
  zb_known *half = zb_known_new(n->im, &(zb_shape){.dtype = ZB_F32});
  zb_known_set_real(half, 0, 0.5);
  const zb_known *whole = zb_import_fold_binary(n, "pow", a, b, NULL, 0),
                 *root = zb_import_fold_binary(n, "pow", a, half, NULL, 0);
  CU_ASSERT_FATAL(whole && root);
  for (int i = 0; i < 3; ++i)
    CU_ASSERT_EQUAL(zb_known_integer(whole, i), (int64_t)mixed_results[i]);
  CU_ASSERT_EQUAL(zb_known_integer(root, 3), (int64_t)mixed_results[3]);
}

static zb_result run_checks(zb_import *im, zb_module *out) {
  zb_import_node n = {.im = im, .b = &im->builder, .kind = "Test", .name = "test", .location = im->builder.location};
  (void)out;
  check_ops(&n);
  check_casts(&n);
  check_reductions(&n);
  check_powers(&n);
  return ZB_FAIL; /* there is no module */
}

static void test_bits(void) {
  MlirContext context = zb_context_create(false);
  zb_module module;
  zb_import im = {.context = context, .params = &(zb_import_params){.path = "test", .fold_limit = UINT64_C(1) << 30}};
  zb_status status = zb_import_run(&im, run_checks, &module);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  zb_status_free(status);
  mlirContextDestroy(context);
}

SUITE_MAIN("fold", {"bits of kernels", test_bits})
