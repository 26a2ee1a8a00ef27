/* The CUDA kernels against the reference, on the cases of all kernels, without a GPU: their device code runs on the CPU
 * (emulator.h), launched by the host code that launches it on a GPU.
 *
 * Each case runs in f32, and, where it has f32 operands, again with these in bf16 and in f16. It runs with blocks and
 * threads in up to three orders, which must give the same bits: a barrier that is missing, or a sum whose order is not
 * fixed, shows here. Every op of class KERNEL needs a CUDA kernel or a stated reason; every function of functions.def
 * must exist in the device code, and the other way round. */
#include "test/kernels/cases.h"

#include "kernels/cuda/blas.h"
#include "test/kernels/cuda/blas.h"
#include "test/kernels/cuda/driver.h"
#include "test/suite.h"

/* The sanitizer makes a switch of fibers many times slower: one case of some must do. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 16 };
#else
enum { EVERY = 1 };
#endif

static int case_number;
static int runs, narrow_runs;

/* ---- Cases in a narrow type ---- */

/* Operands and results that stay f32 when the others are narrow: statistics and losses, and what optimizers keep. Bit i
 * is operand i. */
static const struct stays_wide {
  const char *op;
  unsigned inputs, outputs;
} stays_wide[] = {
    {"layer_norm", 0, 6},
    {"rms_norm", 0, 2},
    {"layer_norm_grad_x", 12, 0},
    {"layer_norm_grad_scale", 6, 1},
    {"rms_norm_grad_x", 4, 0},
    {"rms_norm_grad_scale", 2, 1},
    {"cross_entropy", 0, 3},
    {"cross_entropy_grad", 12, 0},
    {"nll_loss", 0, 1},
    {"nll_loss_grad", 2, 0},
    {"attention", 8, 2},
    {"attention_grad", 8 + 32, 0},
    {"attention_dropout", 8, 2},
    {"attention_dropout_grad", 8 + 64, 0},
    {"adamw", 1 + 4 + 8, 7},
    {"adam", 1 + 4 + 8, 7},
    {"lion", 1 + 4, 3},
    {"sgd", 1 + 4, 3},
    {"accumulate_add", 0, 1},
    {"clip_scale", 0, 2},
    {"uniform", 0, 1},
};

/* The tensor with all elements that its strides can reach rounded to `dtype`, in memory of its own. */
static zb_tensor narrow_tensor(prepared *p, const zb_tensor *x, zb_dtype dtype) {
  int64_t span = 1;
  zb_tensor out = *x;
  for (int i = 0; i < x->rank; ++i)
    span += x->strides[i] * (x->shape[i] - 1);
  if (elements_of(x) == 0) span = 0;
  out.dtype = dtype;
  out.data = own(p, (size_t)span * zb_dtype_bytes(dtype));
  for (int64_t i = 0; i < span; ++i)
    zb_ref_set(&out, i, (double)((const float *)x->data)[i]);
  return out;
}

/* Makes a prepared case narrow; false where nothing in it is f32, or something is narrow already: such a case is one of
 * mixed types. */
static bool narrow_case(const char *op, prepared *p, zb_dtype dtype) {
  unsigned wide_inputs = 0, wide_outputs = 0;
  for (size_t i = 0; i < sizeof stays_wide / sizeof stays_wide[0]; ++i)
    if (strcmp(stays_wide[i].op, op) == 0) wide_inputs = stays_wide[i].inputs, wide_outputs = stays_wide[i].outputs;
  bool any = false;
  if (strcmp(op, "bitcast") == 0) return false; /* its attribute names the type */
  for (int i = 0; i < p->call.input_count; ++i)
    if (p->inputs[i].rank >= 0 && (p->inputs[i].dtype == ZB_BF16 || p->inputs[i].dtype == ZB_F16)) return false;
  for (int i = 0; i < p->call.input_count; ++i) {
    if (p->inputs[i].rank < 0 || p->inputs[i].dtype != ZB_F32 || (wide_inputs >> i & 1)) continue;
    p->inputs[i] = narrow_tensor(p, &p->inputs[i], dtype);
    any = true;
  }
  for (int i = 0; i < p->call.output_count; ++i) {
    if (p->outputs[i].dtype != ZB_F32 || (wide_outputs >> i & 1)) continue;
    p->outputs[i] = narrow_tensor(p, &p->outputs[i], dtype);
    any = any || p->call.input_count > 0;
  }
  return any && strcmp(op, "cast") != 0;
}

static zb_dtype narrowest_operand(const prepared *p) {
  for (int i = 0; i < p->call.input_count; ++i)
    if (p->inputs[i].rank >= 0 && (p->inputs[i].dtype == ZB_BF16 || p->inputs[i].dtype == ZB_F16))
      return p->inputs[i].dtype;
  return ZB_F32;
}

/* Room for an error of the last digit of a narrow result, unless the op is exact. The reference of gather_grad and
 * scatter rounds after each sum, the kernel once; attention rounds shares and gradients of scores before their
 * products, the reference does not: so these get room by the largest result too. Cases that are narrow by themselves
 * have room for the last digit in their own bounds. */
static bounds narrow_bounds(const char *op, bounds fast, zb_dtype dtype, const prepared *p) {
  zb_dtype narrow = narrowest_operand(p);
  bool sums = strcmp(op, "gather_grad") == 0 || strcmp(op, "scatter") == 0 || strncmp(op, "attention", 9) == 0;
  if (narrow == ZB_F32 || (fast.relative == 0 && fast.scaled == 0)) return fast;
  double digit = narrow == ZB_BF16 ? 0x1p-7 : 0x1p-10;
  if (sums) fast.scaled += digit;
  if (dtype == ZB_F32) return fast;
  return (bounds){fast.relative + digit, fast.scaled, fast.absolute + (dtype == ZB_F16 ? 0x1p-24 : 0)};
}

/* ---- One case ---- */

static const char *const order_names[ZB_ORDER_COUNT] = {"forward", "scattered", "backward"};

/* NULL, or what the launch said; wrong values of operands become the fault's text. */
static const char *run_once(const char *op, const prepared *p, zb_emulated_order order, bool *matched) {
  static char text[512];
  const zb_cuda_kernel *kernel;
  zb_status status = zb_cuda_kernel_find(op, &p->call, NULL, &kernel);
  *matched = !status;
  if (!status) {
    zb_emulated_set_order(order);
    memset(emulated_launcher.fault, 0, sizeof *emulated_launcher.fault);
    memset((void *)(uintptr_t)emulated_launcher.workspace, 0xff, 1 << 16);
    emulated_launcher.instruction = 7;
    status = kernel->run(&p->call, &emulated_launcher);
    ++runs;
  }
  if (!status) return emulated_launcher.fault->set ? zb_cuda_fault_text(emulated_launcher.fault) : NULL;
  snprintf(text, sizeof text, "%s", zb_status_text(status));
  zb_status_free(status);
  return text;
}

static bool prepare_as(const case_file *file, json_t *row, zb_dtype dtype, prepared *p) {
  return prepare(file, row, p) && (dtype == ZB_F32 || narrow_case(file->op, p, dtype));
}

/* One run against the results of the reference, and, where there is one, the bits of the first run. */
static void check_order(const case_file *file, json_t *row, zb_dtype dtype, zb_emulated_order order,
                        const prepared *want, const char *want_error, const prepared *first, prepared *got) {
  bool matched = false;
  char what[64];
  snprintf(what, sizeof what, "cuda %s, order %s", zb_dtype_name(dtype), order_names[order]);
  if (!prepare_as(file, row, dtype, got)) {
    report(file, row, what, "the case cannot be read");
    return;
  }
  const char *error = run_once(file->op, got, order, &matched);
  if (!error != !want_error) {
    report(file, row, what, error ? error : "wrong values were not refused");
    return;
  }
  if (error && (!matched || strcmp(error, want_error) != 0)) report(file, row, what, error);
  for (int i = 0; !error && i < got->call.output_count; ++i) {
    check_tensor(file, row, what, i, &got->outputs[i], &want->outputs[i],
                 narrow_bounds(file->op, file->fast, dtype, got));
    if (first && memcmp(got->outputs[i].data, first->outputs[i].data, bytes_of(&got->outputs[i])))
      report(file, row, what, "other bits than in the order forward");
  }
  if (!guards_hold(got)) report(file, row, what, "wrote beyond a result");
}

/* In the first of the orders. */
static void check_type(const case_file *file, json_t *row, zb_dtype dtype, int orders) {
  prepared want = {0}, got[ZB_ORDER_COUNT] = {0};
  if (!prepare_as(file, row, dtype, &want)) {
    if (dtype == ZB_F32) report(file, row, "reference", "the case cannot be read");
    goto cleanup;
  }
  narrow_runs += dtype != ZB_F32;
  const char *error = zb_kernel_reference(file->op)->run(&want.call);
  if (error && !json_object_get(row, "error")) {
    report(file, row, zb_dtype_name(dtype), error);
    goto cleanup;
  }
  for (int k = 0; k < orders; ++k)
    check_order(file, row, dtype, (zb_emulated_order)k, &want, error, k ? &got[0] : NULL, &got[k]);
cleanup:
  release(&want);
  for (int k = 0; k < ZB_ORDER_COUNT; ++k)
    release(&got[k]);
}

static void check_case(const case_file *file, json_t *row) {
  if (json_is_string(json_object_get(row, "error"))) return; /* shapes, which only the reference checks again */
  if (zb_cuda_kernel_missing(file->op) || case_number++ % EVERY != 0) return;
  bool large = json_object_get(row, "random") != NULL;
  check_type(file, row, ZB_F32, large ? 2 : ZB_ORDER_COUNT);
  check_type(file, row, ZB_BF16, large ? 1 : 2);
  if (!large) check_type(file, row, ZB_F16, 1);
}

static void kernels_match_the_reference(void) {
  for_each_case(check_case);
  printf(" (%d runs, %d cases in bf16 and f16) ", runs, narrow_runs);
  CU_ASSERT(runs > 10000 / EVERY && narrow_runs > 3000 / EVERY);
}

/* The cases of products again, through cuBLASLt. */
static void check_product(const case_file *file, json_t *row) {
  if (strcmp(file->op, "matmul") == 0) check_case(file, row);
}

static void products_match_through_cublaslt(void) {
  int refused = 0;
  emulated_blas(emulated_api());
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_blas_create(emulated_launcher.api, NULL, &emulated_launcher.blas));
  (void)emulated_blas_products();
  for_each_case(check_product);
  int products = emulated_blas_products(), kinds = zb_cuda_blas_products(emulated_launcher.blas, &refused);
  printf(" (%d products, %d kinds) ", products, kinds);
  CU_ASSERT(products > 400 / EVERY && refused == 0);
  zb_cuda_blas_destroy(emulated_launcher.blas);
  emulated_launcher.blas = NULL;
  CU_ASSERT_EQUAL(emulated_blas_alive(), 0);
}

/* The cases of attention again, on warpgroups. */
static void check_attention(const case_file *file, json_t *row) {
  if (strcmp(file->op, "attention") == 0 || strcmp(file->op, "attention_grad") == 0) check_case(file, row);
}

static void attention_matches_on_warpgroups(void) {
  int before = narrow_runs;
  emulated_launcher.warpgroups = true;
  for_each_case(check_attention);
  emulated_launcher.warpgroups = false;
  printf(" (%d cases in bf16 and f16) ", narrow_runs - before);
  CU_ASSERT(narrow_runs > before);
}

/* ---- Completeness ---- */

static const char *const function_names[] = {
#define ZB_CUDA_FUNCTION_ROW(name) #name,
#include "kernels/cuda/functions.def"
};

static void every_function_exists(void) {
  int count = (int)(sizeof function_names / sizeof function_names[0]);
  for (int i = 0; i < count; ++i)
    CU_ASSERT_PTR_NOT_NULL(zb_emulated_find(function_names[i]));
  CU_ASSERT_EQUAL(zb_emulated_count(), count);
}

static const char *const row_ops[] = {
#define ZB_CUDA_KERNEL(op, name) #op,
#define ZB_CUDA_KERNEL_GROUPED(op, name) #op,
#define ZB_CUDA_NO_KERNEL(op, reason)
#include "kernels/cuda/kernels.def"
};

static void every_op_has_a_row_or_a_reason(void) {
  for (int i = 0; i < OP_COUNT; ++i) {
    bool found = false;
    for (size_t k = 0; !found && k < sizeof row_ops / sizeof row_ops[0]; ++k)
      found = strcmp(row_ops[k], op_names[i]) == 0;
    const char *reason = zb_cuda_kernel_missing(op_names[i]);
    if (found == (reason != NULL)) {
      fprintf(stderr, "%s has %s\n", op_names[i],
              found ? "a kernel and a reason to have none" : "no CUDA kernel and no reason");
      CU_FAIL("see standard error");
    }
  }
  for (size_t k = 0; k < sizeof row_ops / sizeof row_ops[0]; ++k)
    CU_ASSERT_PTR_NOT_NULL(zb_kernel_reference(row_ops[k]));
}

static void a_call_that_no_kernel_takes_is_an_error(void) {
  double numbers[4] = {0};
  zb_tensor x = {.data = numbers, .dtype = ZB_F64, .rank = 1, .shape = {4}, .strides = {1}};
  zb_kernel_call call = {.inputs = &x, .input_count = 1, .outputs = &x, .output_count = 1};
  const zb_cuda_kernel *kernel;
  zb_status status = zb_cuda_kernel_find("exp", &call, "lm.head (node_3)", &kernel);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_UNAVAILABLE);
  CU_ASSERT_PTR_NULL(kernel);
  CU_ASSERT_PTR_NOT_NULL(
      strstr(zb_status_message(status), "exp at lm.head (node_3): (f64[4 strides 1]) -> (f64[4 strides 1])"));
  CU_ASSERT_PTR_NOT_NULL(zb_status_hint_text(status));
  zb_status_free(status);
}

static void an_unknown_operand_is_not_ignored(void) {
  float numbers[4] = {0};
  zb_tensor x = {.data = numbers, .dtype = ZB_F32, .rank = 1, .shape = {4}, .strides = {1}}, inputs[2] = {x, x};
  zb_kernel_call call = {.inputs = inputs, .input_count = 2, .outputs = &x, .output_count = 1};
  const zb_cuda_kernel *kernel;
  zb_status status = zb_cuda_kernel_find("exp", &call, NULL, &kernel);
  CU_ASSERT_PTR_NOT_NULL(status);
  zb_status_free(status);
  inputs[1].rank = -1; /* absent */
  CU_ASSERT_PTR_NULL(zb_cuda_kernel_find("exp", &call, NULL, &kernel));
}

SUITE_MAIN_WITH("CUDA kernels on the CPU", emulated_suite_open, emulated_suite_close,
                {"every function of the table is in the device code", every_function_exists},
                {"every op has a kernel or a reason", every_op_has_a_row_or_a_reason},
                {"a call that no kernel takes is an error", a_call_that_no_kernel_takes_is_an_error},
                {"an operand that a kernel does not know is not ignored", an_unknown_operand_is_not_ignored},
                {"kernels match the reference, emulated", kernels_match_the_reference},
                {"products match through cuBLASLt, emulated", products_match_through_cublaslt},
                {"attention matches on warpgroups, emulated", attention_matches_on_warpgroups})
