/* Every kernel against numbers of other programs: the reference of each op against test/kernels/cases/OP.safetensors,
 * and the kernel that the CPU table chooses against the reference, on every instruction set of the machine, with one
 * thread and with three (equal bits).
 *
 * The cases are written by test/kernels/make_cases.py, which describes the files. An op of class KERNEL without cases
 * fails. */
#include "test/kernels/cases.h"

#include "kernels/cpu/isa.h"
#include "test/suite.h"

static void check_reference(const case_file *file, json_t *row) {
  if (json_object_get(row, "random")) return;
  prepared p;
  if (!prepare(file, row, &p)) {
    report(file, row, "reference", "the case cannot be read");
    release(&p);
    return;
  }
  const char *error = zb_kernel_reference(file->op)->run(&p.call);
  bool refuses = json_object_get(row, "error") != NULL;
  if (refuses != (error != NULL)) report(file, row, "reference", error ? error : "wrong values were not refused");
  json_t *outputs = json_object_get(row, "outputs");
  for (int i = 0; !error && !refuses && i < p.call.output_count; ++i) {
    zb_tensor want;
    if (!copy_stored(file, json_string_value(json_array_get(outputs, (size_t)i)), &p, &want)) {
      report(file, row, "reference", "the expected result is missing");
      continue;
    }
    check_tensor(file, row, "reference", i, &p.outputs[i], &want, file->reference);
  }
  if (!guards_hold(&p)) report(file, row, "reference", "wrote beyond a result");
  release(&p);
}

static void reference_matches_other_programs(void) { for_each_case(check_reference); }

static zb_threads *three_threads;
static int fast_cases;

/* One run of the fast kernel against the results of the reference, then again with three threads: the same bits. */
static void check_fast_once(const case_file *file, json_t *row, const prepared *want, const char *want_error) {
  prepared one, three;
  bool good = prepare(file, row, &one);
  good = prepare(file, row, &three) && good;
  if (!good) {
    report(file, row, zb_isa_name(), "the case cannot be read");
    goto cleanup;
  }
  const zb_kernel *kernel = zb_kernel_cpu(file->op, &one.call);
  if (!kernel || kernel->run == zb_kernel_reference(file->op)->run) goto cleanup;
  ++fast_cases;
  three.call.threads = three_threads;
  const char *error = kernel->run(&one.call), *error_three = kernel->run(&three.call);
  if (!error != !want_error || !error != !error_three) {
    report(file, row, zb_isa_name(), error ? error : "wrong values were not refused");
    goto cleanup;
  }
  for (int i = 0; !error && i < one.call.output_count; ++i) {
    check_tensor(file, row, zb_isa_name(), i, &one.outputs[i], &want->outputs[i], file->fast);
    if (memcmp(one.outputs[i].data, three.outputs[i].data, bytes_of(&one.outputs[i])))
      report(file, row, zb_isa_name(), "three threads give other bits than one");
  }
  if (!guards_hold(&one) || !guards_hold(&three)) report(file, row, zb_isa_name(), "wrote beyond a result");
cleanup:
  release(&one);
  release(&three);
}

static void check_fast(const case_file *file, json_t *row) {
  /* The compiler checks shapes; only the reference checks them again. */
  if (json_is_string(json_object_get(row, "error"))) return;
  prepared want;
  if (!prepare(file, row, &want)) {
    report(file, row, "reference", "the case cannot be read");
    release(&want);
    return;
  }
  const zb_kernel *kernel = zb_kernel_cpu(file->op, &want.call);
  if (kernel && kernel->run == zb_kernel_reference(file->op)->run && !json_object_get(row, "random")) {
    release(&want); /* there is no fast kernel for this case, and the reference was checked */
    return;
  }
  const char *error = zb_kernel_reference(file->op)->run(&want.call);
  if (error && !json_object_get(row, "error")) report(file, row, "reference", error);
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    if ((int)zb_isa() == level) check_fast_once(file, row, &want, error);
  }
  zb_isa_limit((zb_isa_level)(ZB_ISA_COUNT - 1));
  release(&want);
}

static void fast_kernels_match_the_reference(void) {
  fast_cases = 0;
  three_threads = zb_threads_create(3);
  CU_ASSERT_PTR_NOT_NULL_FATAL(three_threads);
  for_each_case(check_fast);
  zb_threads_destroy(three_threads);
  printf(" (%d calls of fast kernels) ", fast_cases);
  CU_ASSERT(fast_cases > 0);
}

static void every_op_has_a_reference(void) {
  for (int i = 0; i < OP_COUNT; ++i) {
    const zb_kernel *kernel = zb_kernel_reference(op_names[i]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_STRING_EQUAL(kernel->op, op_names[i]);
  }
  CU_ASSERT_PTR_NULL(zb_kernel_reference("reshape"));
  CU_ASSERT_PTR_NULL(zb_kernel_reference("no_such_op"));
  CU_ASSERT_PTR_NULL(zb_kernel_reference(""));
  CU_ASSERT_PTR_NULL(zb_kernel_reference(NULL));
}

/* A call that does not fit its op is refused with a text, whatever the op. */
static void every_op_refuses_a_call_without_operands(void) {
  for (int i = 0; i < OP_COUNT; ++i) {
    zb_kernel_call call = {0};
    CU_ASSERT_PTR_NOT_NULL(zb_kernel_reference(op_names[i])->run(&call));
  }
}

/* Element types are refused, not read as others: no op takes i1 as a real number and none adds i1 up. */
static void wrong_types_are_refused(void) {
  static const char *const real_ops[] = {"exp",     "tanh_grad",  "add",    "pow",
                                         "softmax", "reduce_sum", "matmul", "accumulate_add"};
  uint8_t bytes[4] = {0};
  zb_tensor x = {.data = bytes, .dtype = ZB_I1, .rank = 2, .shape = {2, 2}, .strides = {2, 1}};
  zb_tensor inputs[2] = {x, x};
  for (size_t i = 0; i < sizeof real_ops / sizeof real_ops[0]; ++i) {
    zb_kernel_call call = {.inputs = inputs, .input_count = 2, .outputs = &x, .output_count = 1};
    CU_ASSERT_PTR_NOT_NULL(zb_kernel_reference(real_ops[i])->run(&call));
  }
}

static void only_some_ops_accumulate(void) {
  float number = 1;
  zb_tensor x = {.data = &number, .dtype = ZB_F32, .rank = 1, .shape = {1}, .strides = {1}};
  zb_kernel_call call = {.inputs = &x, .input_count = 1, .outputs = &x, .output_count = 1, .accumulate = true};
  CU_ASSERT_PTR_NOT_NULL(zb_kernel_reference("exp")->run(&call));
  CU_ASSERT_PTR_NULL(zb_kernel_reference("accumulate_add")->run(&call));
  CU_ASSERT_DOUBLE_EQUAL(number, 2, 0);
}

SUITE_MAIN("kernel conformance", {"every op has a reference kernel", every_op_has_a_reference},
           {"every op refuses a call without operands", every_op_refuses_a_call_without_operands},
           {"wrong element types are refused", wrong_types_are_refused},
           {"only some ops accumulate", only_some_ops_accumulate},
           {"the reference matches other programs", reference_matches_other_programs},
           {"fast kernels match the reference", fast_kernels_match_the_reference})
