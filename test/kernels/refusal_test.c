/* Calls that a kernel does not know must not run. Every case of test/kernels/cases is made wrong in every way: an
 * operand or a result more or less, another size, rank or type of each, an attribute that nobody knows, an addition
 * into a result that cannot be added into. Such a call is refused, or it is right after all: then the reference runs
 * it, and a fast kernel gives what the reference gives. */
#include "test/kernels/cases.h"

#include "test/suite.h"

enum { TENSORS_MOST = OPERANDS_MAX + RESULTS_MAX + 1, BUFFER_BYTES = 1 << 18 };

/* A wrong call, in tensors of its own. */
typedef struct changed {
  zb_tensor tensors[TENSORS_MOST]; /* operands, then results */
  zb_attr attrs[ATTRS_MAX + 1];
  zb_kernel_call call;
} changed;

static _Alignas(64) unsigned char memory[2][TENSORS_MOST][BUFFER_BYTES];
static long refused, taken;

static void start(const prepared *p, changed *out) {
  *out = (changed){.call = p->call};
  memcpy(out->tensors, p->inputs, sizeof(zb_tensor) * (size_t)p->call.input_count);
  memcpy(out->tensors + p->call.input_count, p->outputs, sizeof(zb_tensor) * (size_t)p->call.output_count);
  memcpy(out->attrs, p->call.attrs.items, sizeof(zb_attr) * (size_t)p->call.attrs.count);
  out->call.inputs = out->tensors;
  out->call.outputs = out->tensors + p->call.input_count;
  out->call.attrs.items = out->attrs;
}

static void make_dense(zb_tensor *x) {
  int64_t stride = 1;
  for (int i = x->rank - 1; i >= 0; stride *= x->shape[i--])
    x->strides[i] = stride;
}

/* Bytes that the strides reach; 0: too many for a buffer. */
static size_t span(const zb_tensor *x) {
  int64_t last = 0;
  for (int i = 0; i < x->rank; ++i) {
    if (x->shape[i] == 0) return 1;
    last += (x->shape[i] - 1) * x->strides[i];
  }
  size_t bytes = (size_t)(last + 1) * zb_dtype_bytes(x->dtype);
  return bytes <= BUFFER_BYTES ? bytes : 0;
}

/* Values that every op takes: integers are 0, or 1 where that is no first step or divisor; real numbers lie between 1/4
 * and 5/4, or from 1 on where one of them may be a step. */
static void fill(const case_file *file, const zb_tensor *x) {
  static const char *const not_zero[] = {"adamw", "adam", "lion", "sgd", "div", "mod"};
  bool one = false;
  for (size_t i = 0; i < sizeof not_zero / sizeof not_zero[0]; ++i)
    one |= strcmp(file->op, not_zero[i]) == 0;
  zb_tensor flat = *x;
  for (int64_t i = 0; i < (int64_t)(span(x) / zb_dtype_bytes(x->dtype)); ++i)
    zb_ref_set(&flat, i, zb_dtype_is_float(x->dtype) ? (one ? 1 : 0.25) + (double)(i * 37 % 64) / 64 : one);
}

/* Gives the tensors memory, results that of the operands that they are updated in; false if one is too large. */
static bool place(const case_file *file, const prepared *p, changed *c, int set) {
  int inputs = c->call.input_count, all = inputs + c->call.output_count;
  for (int i = 0; i < all; ++i) {
    zb_tensor *x = &c->tensors[i];
    x->data = NULL;
    if (x->rank < 0) continue;
    if (!span(x)) return false;
    x->data = memory[set][i];
    for (int k = 0; i >= inputs && i - inputs < p->call.output_count && k < p->call.input_count && k < inputs; ++k)
      if (p->outputs[i - inputs].data == p->inputs[k].data) x->data = memory[set][k];
    fill(file, x);
  }
  return true;
}

/* The call is wrong in one way: nobody takes it, or it is right and all give the same. */
static void check(const case_file *file, json_t *row, const prepared *p, changed *c, const char *what) {
  const zb_kernel *reference = zb_kernel_reference(file->op), *kernel = zb_kernel_cpu(file->op, &c->call);
  if (!kernel) {
    ++refused;
    return;
  }
  ++taken;
  changed second = *c;
  second.call.inputs = second.tensors;
  second.call.outputs = second.tensors + c->call.input_count;
  second.call.attrs.items = second.attrs;
  if (!place(file, p, c, 0) || !place(file, p, &second, 1)) return;
  const char *error = reference->run(&c->call);
  if (error) {
    report(file, row, what, error);
    return;
  }
  if (kernel == reference) return;
  error = kernel->run(&second.call);
  if (error) report(file, row, what, error);
  for (int i = 0; !error && i < c->call.output_count; ++i)
    if (c->call.outputs[i].rank >= 0)
      check_tensor(file, row, what, i, &second.call.outputs[i], &c->call.outputs[i], file->fast);
}

/* No kernel may take it, neither the one of the call as it was nor another. */
static void check_refused(const case_file *file, json_t *row, const prepared *p, const changed *c, const char *what) {
  char text[128];
  const zb_kernel *before = zb_kernel_cpu(file->op, &p->call);
  if (zb_kernel_cpu(file->op, &c->call)) report(file, row, what, "it was not refused");
  if (before && !zb_kernel_refuses(before, &c->call, text, sizeof text))
    report(file, row, what, "its kernel does not refuse it");
  ++refused;
}

/* ---- The ways to be wrong ---- */

static void change_types(const case_file *file, json_t *row, const prepared *p, int number) {
  for (int dtype = 0; dtype < ZB_DTYPE_COUNT; ++dtype) {
    changed c;
    start(p, &c);
    if (c.tensors[number].dtype == (zb_dtype)dtype) continue;
    c.tensors[number].dtype = (zb_dtype)dtype;
    check(file, row, p, &c, "another type");
  }
}

static void change_sizes(const case_file *file, json_t *row, const prepared *p, int number) {
  for (int way = 0; way < 3 * ZB_DIMS_MAX; ++way) {
    changed c;
    start(p, &c);
    zb_tensor *x = &c.tensors[number];
    int d = way / 3;
    int64_t sizes[] = {x->shape[d] + 1, x->shape[d] - 1, 1};
    if (d >= x->rank || sizes[way % 3] < 1 || sizes[way % 3] == x->shape[d]) continue;
    x->shape[d] = sizes[way % 3];
    make_dense(x);
    check(file, row, p, &c, "another size");
  }
}

static void change_rank(const case_file *file, json_t *row, const prepared *p, int number) {
  changed c;
  start(p, &c);
  zb_tensor *x = &c.tensors[number];
  if (x->rank > 0) {
    --x->rank;
    make_dense(x);
    check(file, row, p, &c, "a rank less");
  }
  start(p, &c);
  if (x->rank < ZB_DIMS_MAX) {
    x->shape[x->rank++] = 2;
    make_dense(x);
    check(file, row, p, &c, "a rank more");
  }
}

static void leave_out(const case_file *file, json_t *row, const prepared *p, int number) {
  changed c;
  start(p, &c);
  c.tensors[number].rank = -1;
  check(file, row, p, &c, "one absent");
}

/* What is there beside the operands and results of the op. concat takes any number. */
static void add_more(const case_file *file, json_t *row, const prepared *p) {
  changed c;
  zb_tensor extra = p->call.output_count > 0 ? p->outputs[0] : p->inputs[0];
  start(p, &c);
  c.tensors[p->call.input_count + p->call.output_count] = extra;
  ++c.call.output_count;
  check_refused(file, row, p, &c, "an unknown result");
  start(p, &c);
  memmove(c.tensors + p->call.input_count + 1, c.tensors + p->call.input_count,
          sizeof(zb_tensor) * (size_t)p->call.output_count);
  c.tensors[p->call.input_count] = extra;
  ++c.call.input_count;
  ++c.call.outputs;
  bool next = c.call.input_count <= zb_kernel_reference(file->op)->knows->operands; /* an optional one at the end */
  if (next)
    check(file, row, p, &c, "an operand more");
  else
    check_refused(file, row, p, &c, "an unknown operand");
  start(p, &c);
  c.attrs[c.call.attrs.count++] = (zb_attr){.name = "unheard_of", .kind = ZB_ATTR_INT, .i = 1};
  check_refused(file, row, p, &c, "an unknown attribute");
  start(p, &c);
  c.call.accumulate = !c.call.accumulate;
  if (zb_kernel_reference(file->op)->knows->accumulates)
    check(file, row, p, &c, "added or not");
  else
    check_refused(file, row, p, &c, "an addition that the op has not");
}

static void check_case(const case_file *file, json_t *row) {
  prepared p;
  if (json_object_get(row, "random") || json_object_get(row, "error")) return;
  if (!prepare(file, row, &p)) {
    report(file, row, "reference", "the case cannot be read");
    release(&p);
    return;
  }
  if (!zb_kernel_cpu(file->op, &p.call)) report(file, row, "as it is", "it is refused");
  add_more(file, row, &p);
  for (int i = 0; i < p.call.input_count + p.call.output_count; ++i) {
    const zb_tensor *x = i < p.call.input_count ? &p.inputs[i] : &p.outputs[i - p.call.input_count];
    if (x->rank < 0) continue;
    change_types(file, row, &p, i);
    change_sizes(file, row, &p, i);
    change_rank(file, row, &p, i);
    leave_out(file, row, &p, i);
  }
  release(&p);
}

static void wrong_calls_are_refused(void) {
  for_each_case(check_case);
  printf(" (%ld refused, %ld right after all) ", refused, taken);
  CU_ASSERT(refused > 50000 && taken > 1000);
}

/* Why, in words that an error can have. */
static void a_refusal_says_why(void) {
  float numbers[4] = {0};
  char text[128];
  zb_tensor x = {.data = numbers, .dtype = ZB_F32, .rank = 1, .shape = {4}, .strides = {1}}, inputs[3] = {x, x, x};
  zb_attr attr = {.name = "groups", .kind = ZB_ATTR_INT, .i = 2};
  const zb_kernel *exp = zb_kernel_reference("exp");
  zb_kernel_call call = {.inputs = inputs, .input_count = 1, .outputs = &x, .output_count = 1};
  CU_ASSERT_PTR_NULL(zb_kernel_refuses(exp, &call, text, sizeof text));
  call.input_count = 2;
  CU_ASSERT_STRING_EQUAL(zb_kernel_refuses(exp, &call, text, sizeof text), "it does not know operand 1");
  inputs[1].rank = -1; /* absent: as if it were not there */
  CU_ASSERT_PTR_NULL(zb_kernel_refuses(exp, &call, text, sizeof text));
  call.input_count = 0;
  CU_ASSERT_STRING_EQUAL(zb_kernel_refuses(exp, &call, text, sizeof text), "it lacks operand 0");
  call.input_count = 1;
  call.attrs = (zb_attrs){&attr, 1};
  CU_ASSERT_STRING_EQUAL(zb_kernel_refuses(exp, &call, text, sizeof text), "it does not know the attribute 'groups'");
  call.attrs.count = 0;
  call.accumulate = true;
  CU_ASSERT_STRING_EQUAL(zb_kernel_refuses(exp, &call, text, sizeof text), "it cannot add into its result");
  call.accumulate = false;
  x.shape[0] = 3;
  CU_ASSERT_STRING_EQUAL(zb_kernel_refuses(exp, &call, text, sizeof text), ZB_REF_BAD_SHAPE);
}

SUITE_MAIN("calls that kernels refuse", {"a refusal says why", a_refusal_says_why},
           {"a call that is wrong is refused, or is right for all", wrong_calls_are_refused})
