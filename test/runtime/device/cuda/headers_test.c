/* runtime/device/cuda/api*.def against the real headers of CUDA and NCCL, at compile time, where they are installed;
 * elsewhere the test is inactive, which test/run.py counts as skipped. */
#include "test/suite.h"

#if defined(__has_include)
#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>) && __has_include(<nccl.h>)
#define HEADERS 1
#endif
#endif

#ifdef HEADERS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#pragma GCC diagnostic pop

#define ZB_CUDA_REAL_HEADERS 1
#include "runtime/cuda/api_types.h"

#define ZB_CUDA_TYPE(name, definition) _Static_assert(sizeof(name) == sizeof(definition), #name " has another size");
#include "runtime/cuda/api_types.def"
#undef ZB_CUDA_TYPE

#define ZB_CUDA_VALUE(name, value) _Static_assert((long long)(name) == (value), #name " has another value");
#include "runtime/cuda/api_values.def"
#undef ZB_CUDA_VALUE

#define ZB_CUDA_FUNCTION(library, result, name, symbol, arguments)                                                     \
  _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), result arguments), #symbol " has another "           \
                                                                                             "signature");
#include "runtime/cuda/api.def"
#undef ZB_CUDA_FUNCTION

#define SAME_MEMBER(ours, theirs, member)                                                                              \
  _Static_assert(offsetof(struct ours, member) == offsetof(theirs, member) &&                                          \
                     sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->member),                              \
                 #theirs "." #member " lies elsewhere")
_Static_assert(sizeof(struct zb_blas_algorithm) == sizeof(cublasLtMatmulAlgo_t),
               "cublasLtMatmulAlgo_t has another size");
_Static_assert(sizeof(struct zb_blas_heuristic) == sizeof(cublasLtMatmulHeuristicResult_t), "another size");
SAME_MEMBER(zb_blas_heuristic, cublasLtMatmulHeuristicResult_t, algo);
SAME_MEMBER(zb_blas_heuristic, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_MEMBER(zb_blas_heuristic, cublasLtMatmulHeuristicResult_t, state);
SAME_MEMBER(zb_blas_heuristic, cublasLtMatmulHeuristicResult_t, wavesCount);
_Static_assert(sizeof(struct zb_nccl_id) == sizeof(ncclUniqueId), "ncclUniqueId has another size");
_Static_assert(sizeof(struct zb_nccl_config) <= sizeof(ncclConfig_t), "ncclConfig_t is smaller than that of 2.17");
SAME_MEMBER(zb_nccl_config, ncclConfig_t, size);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, magic);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, version);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, blocking);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, cgaClusterSize);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, minCTAs);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, maxCTAs);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, netName);
SAME_MEMBER(zb_nccl_config, ncclConfig_t, splitShare);

static void test_config(void) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  CU_ASSERT_EQUAL(config.magic, 0xcafebeefU);
  CU_ASSERT_EQUAL(config.blocking, INT_MIN); /* "take the default", as transport/nccl writes it */
  CU_ASSERT_PTR_NULL(config.netName);
}
#else
static void test_config(void) { CU_FAIL("inactive"); }
#endif

int main(void) {
  static CU_TestInfo tests[] = {{"types, values and signatures are those of the real headers", test_config},
                                CU_TEST_INFO_NULL};
  static CU_SuiteInfo suites[] = {{"cuda headers", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) return 2;
  CU_basic_set_mode(CU_BRM_VERBOSE);
#ifndef HEADERS
  printf("skipped: the headers of CUDA, cuBLAS and NCCL are not installed here\n");
  CU_set_test_active(CU_get_test(CU_get_suite("cuda headers"), tests[0].pName), CU_FALSE);
  CU_set_fail_on_inactive(CU_FALSE);
#endif
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures == 0 ? 0 : 1;
}
