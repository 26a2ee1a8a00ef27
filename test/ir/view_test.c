/* view() of the view ops against brute force: where every element of the result lies, element by element.
 *
 * A buffer is walked through random chains of views. For zb.reshape the brute force also decides whether any strides
 * could express the result, so that both wrong strides and a needless copy fail.
 */
#include "test/ir/test.h"

enum { ELEMENTS_MAX = 4096 };

static uint64_t random_state = 1;

static int64_t random_below(int64_t n) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* Offsets of all elements in row-major order. */
static int64_t addresses(const zb_shape *shape, const zb_strided *strided, int64_t *out) {
  int64_t total = zb_shape_elements(shape), index[ZB_DIMS_MAX] = {0};
  CU_ASSERT_FATAL(total <= ELEMENTS_MAX);
  for (int64_t n = 0; n < total; ++n) {
    out[n] = strided->offset;
    for (int i = 0; i < shape->rank; ++i)
      out[n] += index[i] * strided->strides[i];
    for (int i = shape->rank - 1; i >= 0 && ++index[i] == shape->dims[i]; --i)
      index[i] = 0;
  }
  return total;
}

static void check_same(const zb_shape *shape, const zb_strided *strided, const int64_t *expected, int64_t count) {
  static int64_t got[ELEMENTS_MAX];
  CU_ASSERT_EQUAL_FATAL(addresses(shape, strided, got), count);
  CU_ASSERT(count == 0 || memcmp(got, expected, (size_t)count * sizeof got[0]) == 0);
}

/* Whether some strides give these addresses: each dimension's stride is the distance of its first two elements. */
static bool can_be_strided(const zb_shape *shape, const int64_t *wanted, int64_t count) {
  static int64_t got[ELEMENTS_MAX];
  zb_strided strided = {.offset = count ? wanted[0] : 0};
  int64_t step = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    strided.strides[i] = shape->dims[i] > 1 && count ? wanted[step] - wanted[0] : 0;
    step *= shape->dims[i];
  }
  addresses(shape, &strided, got);
  return count == 0 || memcmp(got, wanted, (size_t)count * sizeof got[0]) == 0;
}

/* ---- One op ---- */

typedef struct subject {
  const zb_op_def *def;
  zb_attr attrs[3];
  int attr_count;
  int64_t ints[3][ZB_DIMS_MAX];
} subject;

static void add_ints(subject *s, const char *name, int count) {
  s->attrs[s->attr_count] = zb_ints(name, s->ints[s->attr_count], count);
  ++s->attr_count;
}

static zb_op_view view_of(const subject *s, const zb_shape *x) {
  return (zb_op_view){.def = s->def, .operands = x, .operand_count = 1, .attrs = {s->attrs, s->attr_count}};
}

/* Applies an op whose view must exist; checks against `expected`; replaces *x and *strided. */
static void apply(const subject *s, zb_shape *x, zb_strided *strided, const int64_t *expected, int64_t count) {
  zb_op_view view = view_of(s, x);
  zb_op_error error;
  zb_shape result;
  zb_strided out;
  CU_ASSERT_FATAL(s->def->infer(&view, &result, &error));
  CU_ASSERT_FATAL(s->def->view(&view, strided, 0, &result, &out));
  check_same(&result, &out, expected, count);
  *x = result;
  *strided = out;
}

static int64_t expected[ELEMENTS_MAX], before[ELEMENTS_MAX];

static void step_transpose(zb_shape *x, zb_strided *strided) {
  subject s = {.def = zb_op_find_name("transpose")};
  for (int i = 0; i < x->rank; ++i)
    s.ints[0][i] = i;
  for (int i = x->rank - 1; i > 0; --i) {
    int64_t j = random_below(i + 1), swap = s.ints[0][i];
    s.ints[0][i] = s.ints[0][j];
    s.ints[0][j] = swap;
  }
  add_ints(&s, "permutation", x->rank);
  int64_t total = addresses(x, strided, before), strides[ZB_DIMS_MAX], index[ZB_DIMS_MAX] = {0}, stride = 1;
  for (int i = x->rank - 1; i >= 0; --i)
    strides[i] = stride, stride *= x->dims[i];
  for (int64_t n = 0; n < total; ++n) {
    int64_t from = 0;
    for (int i = 0; i < x->rank; ++i)
      from += index[i] * strides[s.ints[0][i]];
    expected[n] = before[from];
    for (int i = x->rank - 1; i >= 0 && ++index[i] == x->dims[s.ints[0][i]]; --i)
      index[i] = 0;
  }
  apply(&s, x, strided, expected, total);
}

static void step_slice(zb_shape *x, zb_strided *strided) {
  subject s = {.def = zb_op_find_name("slice")};
  zb_shape result = *x;
  int64_t total = addresses(x, strided, before), strides[ZB_DIMS_MAX], index[ZB_DIMS_MAX] = {0}, stride = 1;
  for (int i = 0; i < x->rank; ++i) {
    s.ints[0][i] = random_below(x->dims[i]);
    s.ints[2][i] = 1 + random_below(3);
    int64_t most = (x->dims[i] - 1 - s.ints[0][i]) / s.ints[2][i] + 1;
    result.dims[i] = s.ints[1][i] = 1 + random_below(most);
  }
  add_ints(&s, "starts", x->rank);
  add_ints(&s, "sizes", x->rank);
  add_ints(&s, "steps", x->rank);
  for (int i = x->rank - 1; i >= 0; --i)
    strides[i] = stride, stride *= x->dims[i];
  total = zb_shape_elements(&result);
  for (int64_t n = 0; n < total; ++n) {
    int64_t from = 0;
    for (int i = 0; i < x->rank; ++i)
      from += (s.ints[0][i] + index[i] * s.ints[2][i]) * strides[i];
    expected[n] = before[from];
    for (int i = x->rank - 1; i >= 0 && ++index[i] == result.dims[i]; --i)
      index[i] = 0;
  }
  apply(&s, x, strided, expected, total);
}

/* Grows dimensions of size 1 and adds one in front. */
static void step_expand(zb_shape *x, zb_strided *strided) {
  subject s = {.def = zb_op_find_name("expand")};
  bool front = x->rank < 4 && random_below(2);
  int64_t total = addresses(x, strided, before), strides[ZB_DIMS_MAX], index[ZB_DIMS_MAX] = {0}, stride = 1;
  zb_shape result = {.dtype = x->dtype, .rank = x->rank + (front ? 1 : 0)};
  int extra = result.rank - x->rank;
  for (int i = 0; i < result.rank; ++i)
    result.dims[i] = s.ints[0][i] = i < extra || x->dims[i - extra] == 1 ? 1 + random_below(3) : x->dims[i - extra];
  if (zb_shape_elements(&result) > ELEMENTS_MAX) return;
  add_ints(&s, "shape", result.rank);
  for (int i = x->rank - 1; i >= 0; --i)
    strides[i] = stride, stride *= x->dims[i];
  total = zb_shape_elements(&result);
  for (int64_t n = 0; n < total; ++n) {
    int64_t from = 0;
    for (int i = 0; i < x->rank; ++i)
      from += (x->dims[i] == 1 ? 0 : index[i + extra]) * strides[i];
    expected[n] = before[from];
    for (int i = result.rank - 1; i >= 0 && ++index[i] == result.dims[i]; --i)
      index[i] = 0;
  }
  apply(&s, x, strided, expected, total);
}

/* A random shape with this many elements, ones among it. */
static int random_factors(int64_t left, int64_t dims[ZB_DIMS_MAX]) {
  int rank = 0;
  while (rank < 6 && (left > 1 || random_below(3) == 0)) {
    int64_t divisor = 1 + random_below(left);
    while (left % divisor != 0)
      --divisor;
    if (rank == 5) divisor = left;
    dims[rank++] = divisor;
    left /= divisor;
  }
  if (left > 1) dims[rank++] = left;
  return rank;
}

static int views_made, views_refused;

static void step_reshape(zb_shape *x, zb_strided *strided) {
  subject s = {.def = zb_op_find_name("reshape")};
  int64_t total = addresses(x, strided, expected);
  int rank = random_factors(total, s.ints[0]);
  add_ints(&s, "shape", rank);
  zb_op_view view = view_of(&s, x);
  zb_op_error error;
  zb_shape result;
  zb_strided out;
  CU_ASSERT_FATAL(s.def->infer(&view, &result, &error));
  bool possible = can_be_strided(&result, expected, total), made = s.def->view(&view, strided, 0, &result, &out);
  CU_ASSERT_EQUAL(made, possible);
  views_made += made;
  views_refused += !made;
  if (!made) return;
  check_same(&result, &out, expected, total);
  *x = result;
  *strided = out;
}

static void test_chains(void) {
  void (*const steps[])(zb_shape *, zb_strided *) = {step_transpose, step_slice, step_expand, step_reshape,
                                                     step_reshape};
  for (int round = 0; round < 4000; ++round) {
    zb_shape x = {.dtype = ZB_F32};
    zb_strided strided = {.offset = random_below(5)};
    int64_t stride = 1;
    x.rank = random_factors(1 + random_below(96), x.dims);
    for (int i = x.rank - 1; i >= 0; --i)
      strided.strides[i] = stride, stride *= x.dims[i];
    for (int step = 0; step < 6; ++step)
      steps[random_below(5)](&x, &strided);
  }
  /* Both outcomes must have been seen often. */
  CU_ASSERT(views_made > 1000);
  CU_ASSERT(views_refused > 100);
}

static void test_split(void) {
  zb_shape x = {ZB_F32, 2, {3, 7}}, results[3];
  zb_strided strided = {.offset = 2, .strides = {10, 1}}, out;
  int64_t sizes[] = {1, 4, 2};
  zb_attr attrs[] = {zb_int("axis", 1), zb_ints("sizes", sizes, 3)};
  zb_op_view view = {
      .def = zb_op_find_name("split"), .operands = &x, .operand_count = 1, .attrs = {attrs, 2}, .result_count = 3};
  zb_op_error error;
  CU_ASSERT_FATAL(view.def->infer(&view, results, &error));
  static const int64_t offsets[] = {2, 3, 7};
  for (int i = 0; i < 3; ++i) {
    CU_ASSERT_FATAL(view.def->view(&view, &strided, i, &results[i], &out));
    CU_ASSERT_EQUAL(out.offset, offsets[i]);
    CU_ASSERT(out.strides[0] == 10 && out.strides[1] == 1);
    CU_ASSERT_EQUAL(results[i].dims[1], sizes[i]);
  }
}

/* Cases worth a name: dims, strides, new dims, whether it is a view. */
static void test_reshape_by_hand(void) {
  static const struct {
    int rank, new_rank;
    int64_t dims[4], strides[4], new_dims[4];
    bool possible;
  } cases[] = {
      {2, 1, {4, 6}, {6, 1}, {24}, true},
      {2, 1, {4, 6}, {1, 4}, {24}, false},     /* transposed */
      {2, 3, {4, 6}, {1, 4}, {2, 2, 6}, true}, /* splitting a transposed dimension is fine */
      {2, 1, {4, 6}, {0, 0}, {24}, true},      /* one element, broadcast */
      {2, 1, {4, 6}, {0, 1}, {24}, false},
      {2, 3, {4, 6}, {0, 1}, {2, 2, 6}, true},
      {3, 2, {4, 1, 6}, {6, 999, 1}, {4, 6}, true}, /* the stride of a 1 has no say */
      {2, 4, {4, 6}, {8, 1}, {4, 1, 2, 3}, true},
      {2, 1, {4, 6}, {8, 1}, {24}, false}, /* rows of a wider matrix */
      {0, 2, {0}, {0}, {1, 1}, true},
      {2, 2, {0, 6}, {1, 4}, {3, 0}, true}, /* no elements */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_shape x = {.dtype = ZB_F32, .rank = cases[i].rank}, result;
    zb_strided strided = {.offset = 0}, out;
    memcpy(x.dims, cases[i].dims, sizeof cases[i].dims);
    memcpy(strided.strides, cases[i].strides, sizeof cases[i].strides);
    zb_attr attr = zb_ints("shape", cases[i].new_dims, cases[i].new_rank);
    zb_op_view view = {.def = zb_op_find_name("reshape"), .operands = &x, .operand_count = 1, .attrs = {&attr, 1}};
    zb_op_error error;
    CU_ASSERT_FATAL(view.def->infer(&view, &result, &error));
    CU_ASSERT_EQUAL(view.def->view(&view, &strided, 0, &result, &out), cases[i].possible);
  }
}

int main(void) {
  static const test_row rows[] = {
      {"random chains", test_chains},
      {"split", test_split},
      {"reshape by hand", test_reshape_by_hand},
      {NULL, NULL},
  };
  return run_tests("view", rows);
}
