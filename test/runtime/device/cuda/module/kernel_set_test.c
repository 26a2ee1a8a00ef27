/* The kernels of kernels/cuda under the cuda device, on the fake GPU with emulated device code and an emulated
 * cuBLASLt: what a user's options make of the calls, and an optimizer of any number of parameters as one launch of a
 * graph. */
#include "test/kernels/cuda/blas.h"
#include "test/runtime/device/cuda/emulated_kernels.h"
#include "test/runtime/device/cuda/fake.h"
#include "test/runtime/exec/tiny.h"

/* Two steps of the small plan, whose operands are all f32; gives what its products were described as. */
static void train(bool tf32, int *out_f32, int *out_tf32, char instruction_set[64]) {
  zb_store *weights = tiny_weights();
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000, .tf32 = tf32};
  zb_session_sources sources = {.plan = tiny_plan(), .weights = weights, .device = emulated_device()};
  zb_session *session = NULL;
  zb_step_result result;
  int f32 = emulated_blas_described(CUBLAS_COMPUTE_32F), fast = emulated_blas_described(CUBLAS_COMPUTE_32F_FAST_TF32);
  fake_start(1);
  TINY_OK(zb_session_create_from(&params, &sources, &session));
  int chosen = emulated_blas_described(CUBLAS_COMPUTE_32F) + emulated_blas_described(CUBLAS_COMPUTE_32F_FAST_TF32);
  for (int i = 0; i < 2; ++i)
    TINY_OK(zb_session_step(session, &result));
  CU_ASSERT_EQUAL(emulated_blas_described(CUBLAS_COMPUTE_32F) + emulated_blas_described(CUBLAS_COMPUTE_32F_FAST_TF32),
                  chosen); /* before the steps */
  snprintf(instruction_set, 64, "%s", zb_session_describe(session).instruction_set);
  zb_session_destroy(session);
  zb_store_destroy(weights);
  CU_ASSERT_EQUAL(fake_stop(), 0);
  *out_f32 = emulated_blas_described(CUBLAS_COMPUTE_32F) - f32;
  *out_tf32 = emulated_blas_described(CUBLAS_COMPUTE_32F_FAST_TF32) - fast;
}

/* A rank describes each of its products once: e mid, dh mid^T and e^T dh on rank 0, h head, dlogits head^T and h^T
 * dlogits on rank 1. */
static void test_tf32(void) {
  int f32 = 0, tf32 = 0;
  char set[64];
  train(false, &f32, &tf32, set);
  CU_ASSERT(f32 == 6 && tf32 == 0);
  CU_ASSERT_STRING_EQUAL(set, "cuda");
  train(true, &f32, &tf32, set);
  CU_ASSERT(f32 == 0 && tf32 == 6);
  CU_ASSERT_STRING_EQUAL(set, "cuda with TF32");
}

/* ---- All parameters of a subprogram in one launch ---- */

enum {
  PARAMETERS = 200,
  FEW = 62,
  ELEMENTS = 48,
  OPERANDS = 6,
  RESULTS = 3,
  TENSOR_BYTES = ELEMENTS * 4,
  GRADIENTS = 2048
};
/* The arena: the step and the settings of all, then parameters and both states; gradients twice, behind a base, as if
 * two micro-batches took turns. */
enum {
  STATE_AT = 64,
  GRADIENTS_AT = STATE_AT + PARAMETERS * 3 * TENSOR_BYTES,
  SET_BYTES = GRADIENTS + PARAMETERS * TENSOR_BYTES
};
enum { ARENA_BYTES = GRADIENTS_AT + 2 * SET_BYTES };

typedef struct optimizer_program {
  zb_plan_operand operands[PARAMETERS][OPERANDS + RESULTS];
  zb_plan_instruction instructions[PARAMETERS];
  zb_plan_subprogram subprogram;
  zb_attr attr;
} optimizer_program;

static void make_optimizer(optimizer_program *p, int count) {
  memset(p, 0, sizeof *p);
  p->attr = (zb_attr){.name = "gradient_scale", .kind = ZB_ATTR_FLOAT, .f = 0.25};
  for (int i = 0; i < count; ++i) {
    zb_plan_operand *x = p->operands[i];
    for (int k = 0; k < 3; ++k)
      x[k ? k + 1 : 0] = TINY_F32(0, (uint64_t)(STATE_AT + (i * 3 + k) * TENSOR_BYTES), ELEMENTS);
    x[1] = TINY_F32(1, (uint64_t)(GRADIENTS + i * TENSOR_BYTES), ELEMENTS);
    x[4] = TINY_I64(0, 0, 1);
    x[5] = tiny_operand(0, sizeof(int64_t), ZB_F64, TINY_SHAPE(2));
    for (int k = 0; k < RESULTS; ++k)
      x[OPERANDS + k] = x[k ? k + 1 : 0];
    p->instructions[i] = (zb_plan_instruction){.op = "adamw",
                                               .location = "",
                                               .cost_op = "",
                                               .inputs = x,
                                               .input_count = OPERANDS,
                                               .outputs = x + OPERANDS,
                                               .output_count = RESULTS,
                                               .attrs = &p->attr,
                                               .attr_count = 1};
  }
  p->subprogram = (zb_plan_subprogram){.name = "s0_UPDATE",
                                       .kind = ZB_JOB_UPDATE,
                                       .base_count = 1,
                                       .instructions = p->instructions,
                                       .instruction_count = count};
}

static void start_arena(const zb_device_def *def, zb_device *device, unsigned char *arena) {
  static float values[ARENA_BYTES / 4];
  const int64_t step = 3;
  const double settings[2] = {1e-2, 0.01};
  for (int i = 0; i < ARENA_BYTES / 4; ++i)
    values[i] = (float)(i * 37 % 101) / 128;
  memcpy(values, &step, sizeof step);
  memcpy((char *)values + sizeof step, settings, sizeof settings);
  TINY_OK(def->upload(device, arena, values, ARENA_BYTES));
}

static void run_once(const zb_device_def *def, zb_device *device, zb_device_program *program, unsigned char *arena,
                     uint64_t base) {
  bool done = false;
  uint64_t progress;
  TINY_OK(def->launch(device, program, arena, &base));
  while (!done)
    TINY_OK(def->queue->poll(device, &done, &progress));
}

/* Two jobs with other gradients, as one program of `count` instructions; what the arena is then, and what the fake
 * logged of the second. */
static void update_together(int count, unsigned char *out, char *log, size_t log_size, uint64_t *out_beside) {
  static optimizer_program whole;
  const zb_device_def *def = emulated_device();
  zb_plan_rank ranks[1] = {0};
  zb_plan plan = {.rank_count = 1, .ranks = ranks};
  zb_device_params params = {.threads = 1, .plan = &plan};
  zb_device *device = NULL;
  zb_device_program *program = NULL;
  void *arena = NULL;
  const uint64_t bases[2] = {GRADIENTS_AT, GRADIENTS_AT + SET_BYTES};
  make_optimizer(&whole, count);
  fake_start(1);
  TINY_OK(def->open(&params, &device));
  TINY_OK(def->alloc(device, ARENA_BYTES, &arena));
  fake_name(arena, "arena");
  uint64_t before = fake_allocated();
  TINY_OK(def->prepare(device, &whole.subprogram, &program));
  *out_beside = fake_allocated() - before;
  for (int i = 0; i < 2; ++i)
    TINY_OK(def->queue->bind(device, program, arena, &bases[i]));
  start_arena(def, device, arena);
  run_once(def, device, program, arena, bases[0]);
  fake_log_clear();
  uint64_t allocations = zb_allocation_count();
  run_once(def, device, program, arena, bases[1]);
  CU_ASSERT_EQUAL(zb_allocation_count(), allocations);
  snprintf(log, log_size, "%s", fake_log());
  TINY_OK(def->download(device, out, arena, ARENA_BYTES));
  def->release_program(device, program);
  def->release(device, arena);
  def->close(device);
  CU_ASSERT_EQUAL(fake_races(), 0);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* The same with a program an instruction. */
static void update_one_by_one(int count, unsigned char *out) {
  static optimizer_program whole;
  const zb_device_def *def = emulated_device();
  zb_plan_rank ranks[1] = {0};
  zb_plan plan = {.rank_count = 1, .ranks = ranks};
  zb_device_params params = {.threads = 1, .plan = &plan};
  zb_device *device = NULL;
  void *arena = NULL;
  make_optimizer(&whole, count);
  fake_start(1);
  TINY_OK(def->open(&params, &device));
  TINY_OK(def->alloc(device, ARENA_BYTES, &arena));
  start_arena(def, device, arena);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < count; ++i) {
      zb_plan_subprogram one = {.name = "one",
                                .kind = ZB_JOB_UPDATE,
                                .base_count = 1,
                                .instructions = &whole.instructions[i],
                                .instruction_count = 1};
      zb_device_program *program = NULL;
      TINY_OK(def->prepare(device, &one, &program));
      run_once(def, device, program, arena, (uint64_t)(GRADIENTS_AT + k * SET_BYTES));
      def->release_program(device, program);
    }
  }
  TINY_OK(def->download(device, out, arena, ARENA_BYTES));
  def->release(device, arena);
  def->close(device);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

static void test_optimizer(void) {
  static unsigned char together[ARENA_BYTES], alone[ARENA_BYTES];
  static const struct {
    int count;
    uint64_t table_bytes;
  } cases[] = {{FEW, 0}, {FEW + 1, 4096}, {PARAMETERS, 12800}}; /* 64 bytes each, rounded up to 256 */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char log[1000];
    uint64_t beside = 0;
    update_together(cases[i].count, together, log, sizeof log, &beside);
    update_one_by_one(cases[i].count, alone);
    CU_ASSERT(memcmp(together, alone, ARENA_BYTES) == 0);
    CU_ASSERT_EQUAL(beside, cases[i].table_bytes);
    /* The graph of the other bases, one launch; then the fault record, as after every run. */
    CU_ASSERT_STRING_EQUAL(log, "c0: graph g1, 1 nodes\nc0: download m0+0 -> host, 40\n");
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"TF32 only where it was asked for", test_tf32},
                         {"all parameters of a subprogram in one launch", test_optimizer},
                         CU_TEST_INFO_NULL};
  return tiny_run("the kernels of kernels/cuda under the device", tests);
}
