/* Every kernel on every device, through the interface of devices (runtime/device/device.h): the cases of
 * test/kernels/cases as plans of one instruction, prepared, uploaded, run, read back, and compared with the reference
 * kernels on the host. Devices are the rows of the table; one that this machine does not have is skipped, with what is
 * missing. Where there is a C++ compiler, the cuda device also runs on the emulated GPU
 * (test/runtime/device/cuda/emulated_kernels.h), so that its row is tested without one.
 *
 *   runtime-device-conformance_test [DEVICE [OP [TEXT]]]     only that device, only that op: a GPU takes nothing more
 * after a kernel that failed; only cases with that text in their names */
#include "test/kernels/cases.h"

#include "runtime/device/device.h"
#ifdef ZB_EMULATED
#include "test/runtime/device/cuda/emulated_kernels.h"
#include "test/runtime/device/cuda/fake.h"
#endif

enum { ARENA_BYTES = 16 << 20, SCRATCH_BYTES = 4 << 20, WAIT_MOST = 100 * 1000 * 1000 };

/* The sanitizer makes a switch of fibers many times slower: on the emulated GPU one case of some must do. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY_EMULATED = 16 };
#else
enum { EVERY_EMULATED = 1 };
#endif

/* The device under test, and its arena. */
static const zb_device_def *def;
static zb_device *device;
static unsigned char *arena;
static int cases_run, case_number, every = 1;
static const char *only_device, *only_op, *only_text; /* NULL: all */

static zb_plan_rank ranks[1];
static zb_plan plan = {.rank_count = 1, .ranks = ranks};

/* ---- A case as a program ---- */

typedef struct placed {
  zb_plan_operand inputs[OPERANDS_MAX], outputs[RESULTS_MAX];
  zb_plan_instruction instruction;
  zb_plan_subprogram subprogram;
  uint64_t end; /* of what is used of the arena */
} placed;

/* Bytes from element 0 to the last that the strides reach. */
static uint64_t span_of(const zb_tensor *x) {
  int64_t last = 0;
  if (x->rank < 0 || elements_of(x) == 0) return 0;
  for (int i = 0; i < x->rank; ++i)
    last += (x->shape[i] - 1) * x->strides[i];
  return (uint64_t)(last + 1) * zb_dtype_bytes(x->dtype);
}

/* As far from a multiple of 64 as on the host: views keep their alignment. */
static zb_plan_operand place_operand(const zb_tensor *x, placed *out) {
  zb_plan_operand operand = {.dtype = x->dtype, .rank = x->rank};
  if (x->rank < 0) return operand;
  operand.offset = zb_align(out->end) + (uintptr_t)x->data % ZB_ALIGNMENT;
  out->end = operand.offset + span_of(x);
  memcpy(operand.shape, x->shape, sizeof operand.shape);
  memcpy(operand.strides, x->strides, sizeof operand.strides);
  return operand;
}

static void place_case(const case_file *file, prepared *p, placed *out) {
  *out = (placed){0};
  for (int i = 0; i < p->call.input_count; ++i)
    out->inputs[i] = place_operand(&p->inputs[i], out);
  for (int i = 0; i < p->call.output_count; ++i) {
    out->outputs[i] = place_operand(&p->outputs[i], out);
    for (int k = 0; k < p->call.input_count; ++k)
      if (p->outputs[i].data == p->inputs[k].data) out->outputs[i].offset = out->inputs[k].offset;
  }
  out->instruction =
      (zb_plan_instruction){.op = file->op, .location = "", .cost_op = "", .accumulate = p->call.accumulate};
  out->instruction.scratch_offset =
      zb_align(out->end); /* the compiler knows how much an op needs; here it gets plenty */
  out->instruction.scratch_bytes = SCRATCH_BYTES;
  out->end = out->instruction.scratch_offset + SCRATCH_BYTES;
  out->instruction.inputs = out->inputs;
  out->instruction.input_count = p->call.input_count;
  out->instruction.outputs = out->outputs;
  out->instruction.output_count = p->call.output_count;
  out->instruction.attrs = p->attrs;
  out->instruction.attr_count = p->call.attrs.count;
  out->subprogram = (zb_plan_subprogram){
      .name = file->op, .kind = ZB_JOB_F, .instructions = &out->instruction, .instruction_count = 1};
}

/* ---- Running it ---- */

static zb_status wait_for_device(void) {
  bool done = !def->queue;
  uint64_t progress;
  for (long i = 0; !done && i < WAIT_MOST; ++i)
    ZB_TRY(def->queue->poll(device, &done, &progress));
  return done ? NULL : ZB_ERROR(TIMEOUT, "the device does not end");
}

static zb_status run_program(zb_device_program *program) {
  if (def->queue) {
    ZB_TRY(def->queue->bind(device, program, arena, NULL));
    ZB_TRY(def->queue->before_job(device, -1));
  }
  zb_status status = def->launch(device, program, arena, NULL);
  zb_status waited = wait_for_device();
  if (!status) return waited;
  zb_status_free(waited);
  return status;
}

static zb_status run_placed(prepared *p, placed *at) {
  zb_device_program *program = NULL;
  zb_status status = NULL;
  for (int i = 0; i < p->call.input_count; ++i)
    ZB_TRY(def->upload(device, arena + at->inputs[i].offset, p->inputs[i].data, span_of(&p->inputs[i])));
  for (int i = 0; i < p->call.output_count; ++i)
    ZB_TRY(def->upload(device, arena + at->outputs[i].offset, p->outputs[i].data, span_of(&p->outputs[i])));
  ZB_TRY_GOTO(def->prepare(device, &at->subprogram, &program));
  ZB_TRY_GOTO(run_program(program));
  for (int i = 0; i < p->call.output_count; ++i)
    ZB_TRY_GOTO(def->download(device, p->outputs[i].data, arena + at->outputs[i].offset, span_of(&p->outputs[i])));
cleanup:
  if (program) def->release_program(device, program);
  return status;
}

/* Narrow attention rounds shares before their products on a GPU: room by the largest result. */
static bounds bounds_of(const case_file *file, const prepared *p) {
  bounds allowed = file->fast;
  if (strncmp(file->op, "attention", 9) == 0 && p->inputs[0].dtype == ZB_BF16) allowed.scaled += 0x1p-7;
  return allowed;
}

/* Whether a GPU has no kernel of the op, by the table of its kernels. */
static bool is_of_cpus(const char *op) {
  static const char *const ops[] = {
#define ZB_CUDA_KERNEL(op, name)
#define ZB_CUDA_KERNEL_GROUPED(op, name)
#define ZB_CUDA_NO_KERNEL(op, reason) #op,
#include "kernels/cuda/kernels.def"
      NULL};
  for (int i = 0; ops[i]; ++i)
    if (strcmp(ops[i], op) == 0) return true;
  return false;
}

static void check_case(const case_file *file, json_t *row) {
  prepared want = {0}, got = {0};
  placed at;
  if (only_op && strcmp(file->op, only_op) != 0) return;
  if (only_text && !strstr(json_string_value(json_object_get(row, "name")), only_text)) return;
  if (json_is_string(json_object_get(row, "error"))) return; /* shapes, which the compiler checks */
  if (case_number++ % every != 0) return;
  if (!prepare(file, row, &want) || !prepare(file, row, &got)) {
    report(file, row, def->name, "the case cannot be read");
    goto cleanup;
  }
  place_case(file, &got, &at);
  if (at.end > ARENA_BYTES) {
    report(file, row, def->name, "the case is larger than the arena of the test");
    goto cleanup;
  }
  const char *error = zb_kernel_reference(file->op)->run(&want.call);
  zb_status status = run_placed(&got, &at);
  ++cases_run;
  if (strcmp(def->name, "cuda") == 0 && is_of_cpus(file->op)) {
    if (zb_status_code(status) != ZB_UNAVAILABLE) report(file, row, def->name, "an op without a kernel was taken");
  } else if (!status != !error)
    report(file, row, def->name, status ? zb_status_text(status) : "wrong values were not refused");
  for (int i = 0; !status && !error && i < got.call.output_count; ++i)
    check_tensor(file, row, def->name, i, &got.outputs[i], &want.outputs[i], bounds_of(file, &got));
  zb_status_free(status);
cleanup:
  release(&want);
  release(&got);
}

/* Opens a device, or says why this machine cannot. */
static bool open_device(const zb_device_def *of, bool quiet) {
  zb_device_params params = {.threads = 1, .plan = &plan};
  void *memory = NULL;
  def = of;
  zb_status status = def->open(&params, &device);
  if (!status) status = def->alloc(device, ARENA_BYTES, &memory);
  arena = memory;
  if (!status) return true;
  if (!quiet) fprintf(stderr, "%s", zb_status_text(status));
  zb_status_free(status);
  return false;
}

static void run_all_cases(void) {
  cases_run = 0;
  for_each_case(check_case);
  def->release(device, arena);
  def->close(device);
  printf(" (%d cases) ", cases_run);
  CU_ASSERT(cases_run > (only_op ? 0 : 2000 / every));
}

static void cases_on_cpu(void) {
  CU_ASSERT_FATAL(open_device(&zb_device_cpu, false));
  run_all_cases();
}

static void cases_on_sim(void) {
  CU_ASSERT_FATAL(open_device(&zb_device_sim, false));
  run_all_cases();
}

/* A module: opened when it can be, see main. */
static const zb_device_def *cuda;
static void cases_on_cuda(void) {
  CU_ASSERT_FATAL(open_device(cuda, false));
  run_all_cases();
}

#ifdef ZB_EMULATED
static void cases_on_emulated_cuda(void) {
  fake_start(1);
  CU_ASSERT_FATAL(open_device(emulated_device(), false));
  every = EVERY_EMULATED;
  run_all_cases();
  every = 1;
  CU_ASSERT_EQUAL(fake_races(), 0);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}
#endif

/* Whether the machine has a GPU that the cuda device takes; else a line says what is missing. */
static bool cuda_is_here(void) {
  zb_device *probe = NULL;
  zb_device_params params = {.threads = 1, .plan = &plan};
  zb_status status = zb_device_find("cuda", &cuda);
  if (!status) status = cuda->open(&params, &probe);
  if (!status) {
    cuda->close(probe);
    return true;
  }
  fprintf(stderr, "conformance on cuda is skipped: %s", zb_status_text(status));
  zb_status_free(status);
  return false;
}

/* A test of the suite, inactive if another device was asked for; NULL: it was not added. */
static CU_pTest add(CU_pSuite suite, const char *device_name, const char *name, CU_TestFunc run) {
  CU_pTest test = CU_add_test(suite, name, run);
  if (test && only_device && strcmp(device_name, only_device) != 0) CU_set_test_active(test, CU_FALSE);
  return test;
}

int main(int count, char **words) {
  if (CU_initialize_registry() != CUE_SUCCESS) return 2;
  only_device = count > 1 ? words[1] : NULL;
  only_op = count > 2 ? words[2] : NULL;
  only_text = count > 3 ? words[3] : NULL;
  CU_pSuite suite = CU_add_suite("conformance of devices", NULL, NULL);
  if (!suite || !add(suite, "cpu", "cases on cpu", cases_on_cpu) || !add(suite, "sim", "cases on sim", cases_on_sim))
    return 2;
#ifdef ZB_EMULATED
  if (!add(suite, "emulated", "cases on cuda, emulated", cases_on_emulated_cuda)) return 2;
#endif
  CU_pTest on_cuda = add(suite, "cuda", "cases on cuda", cases_on_cuda);
  if (!on_cuda) return 2;
  if ((!only_device || strcmp(only_device, "cuda") == 0) && !cuda_is_here()) CU_set_test_active(on_cuda, CU_FALSE);
  CU_set_fail_on_inactive(CU_FALSE);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  int result = CU_get_number_of_failures() ? 1 : 0;
  CU_cleanup_registry();
  return result;
}
