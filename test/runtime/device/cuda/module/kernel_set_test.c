/* The kernels of kernels/cuda under the cuda device, on the fake GPU with emulated device code and an emulated cuBLASLt: what a user's
 * options make of the calls. */
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
  for (int i = 0; i < 2; ++i)
    TINY_OK(zb_session_step(session, &result));
  snprintf(instruction_set, 64, "%s", zb_session_describe(session).instruction_set);
  zb_session_destroy(session);
  zb_store_destroy(weights);
  CU_ASSERT_EQUAL(fake_stop(), 0);
  *out_f32 = emulated_blas_described(CUBLAS_COMPUTE_32F) - f32;
  *out_tf32 = emulated_blas_described(CUBLAS_COMPUTE_32F_FAST_TF32) - fast;
}

/* A rank describes each of its products once: e mid, dh mid^T and e^T dh on rank 0, h head, dlogits head^T and h^T dlogits on rank 1. */
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

int main(void) {
  CU_TestInfo tests[] = {{"TF32 only where it was asked for", test_tf32}, CU_TEST_INFO_NULL};
  return tiny_run("the kernels of kernels/cuda under the device", tests);
}
