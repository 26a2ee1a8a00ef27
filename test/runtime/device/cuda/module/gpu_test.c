/* What only a GPU can say of the foreign interfaces, small and one at a time, before whole steps depend on it: products
 * of cuBLASLt in all the types and with all the epilogues that training asks for, captures, host time of what a job
 * costs, NCCL's communicators. Products run on the emulation, too, so that this program is tested where there is no
 * GPU; the rest is inactive there, with the reason. Facts that decide nothing here are printed ("note:"). */
#include "kernels/cuda/blas.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cpu/ref/ref.h"
#include "runtime/base/clock.h"
#include "test/kernels/cuda/blas.h"
#include "test/kernels/cuda/driver.h"
#include "test/suite.h"

#include <limits.h>
#include <string.h>
#include <time.h>

typedef enum epilogue { PLAIN, BIAS, GRADIENT } epilogue;

/* out (+)= lhs rhs, as zb.matmul; GRADIENT: with the sums of the columns of rhs beside it. */
typedef struct product {
  const char *name;
  zb_dtype in, out;
  epilogue epilogue;
  bool transpose_lhs, transpose_rhs, accumulate;
  int64_t batches, m, n, k;
} product;

static const product products[] = {
    {"forward", ZB_F32, ZB_F32, PLAIN, false, false, false, 1, 64, 96, 32},
    {"forward, bias", ZB_F32, ZB_F32, BIAS, false, false, false, 1, 64, 96, 32},
    {"forward", ZB_BF16, ZB_BF16, PLAIN, false, false, false, 1, 64, 96, 32},
    {"forward, bias", ZB_BF16, ZB_BF16, BIAS, false, false, false, 1, 64, 96, 32},
    {"forward, bias", ZB_F16, ZB_F16, BIAS, false, false, false, 1, 64, 96, 32},
    {"dX", ZB_BF16, ZB_BF16, PLAIN, false, true, false, 1, 64, 96, 32},
    {"dX into f32", ZB_BF16, ZB_F32, PLAIN, false, true, true, 1, 64, 96, 32},
    {"dW", ZB_F32, ZB_F32, PLAIN, true, false, true, 1, 64, 96, 128},
    {"dW into f32", ZB_BF16, ZB_F32, PLAIN, true, false, true, 1, 64, 96, 128},
    {"dW and the gradient of the bias", ZB_F32, ZB_F32, GRADIENT, true, false, true, 1, 64, 96, 128},
    {"dW and the gradient of the bias into f32", ZB_BF16, ZB_F32, GRADIENT, true, false, true, 1, 64, 96, 128},
    {"dW and the gradient of the bias into f32, stored", ZB_BF16, ZB_F32, GRADIENT, true, false, false, 1, 64, 96, 128},
    {"dW and the gradient of the bias into f32", ZB_F16, ZB_F32, GRADIENT, true, false, true, 1, 64, 96, 128},
    {"batches", ZB_BF16, ZB_BF16, PLAIN, false, true, false, 6, 32, 48, 16},
    {"batches at odd places", ZB_BF16, ZB_BF16, PLAIN, false, false, false, 3, 7, 13, 5},
    {"odd sizes", ZB_F32, ZB_F32, BIAS, false, false, false, 1, 7, 13, 5},
    {"odd sizes", ZB_BF16, ZB_BF16, PLAIN, false, false, false, 1, 7, 13, 5},
    {"a product that many blocks share", ZB_BF16, ZB_F32, GRADIENT, true, false, true, 1, 128, 64, 2048},
};
enum { PRODUCTS = sizeof products / sizeof products[0], ELEMENTS = 2048 * 128, OPERANDS = 4, ROUNDS = 2000 };
enum { LHS, RHS, OUT, BIAS_OF };

static zb_cuda_api real;
static CUdevice gpu;
static CUcontext context;
static CUstream stream;
static zb_cuda_launcher real_launcher;
static uint64_t host[OPERANDS][ELEMENTS / 2], want[2][ELEMENTS / 2]; /* of OUT, BIAS_OF */
static CUdeviceptr device[OPERANDS];

static bool fine(zb_status status, const char *what) {
  if (!status) return true;
  fprintf(stderr, "%s: %s", what, zb_status_text(status));
  zb_status_free(status);
  CU_FAIL("see standard error");
  return false;
}

/* ---- Products ---- */

static zb_tensor operand(zb_dtype dtype, int rank, int64_t batches, int64_t rows, int64_t columns, void *data) {
  zb_tensor x = {.data = data, .dtype = dtype, .rank = rank};
  const int64_t shape[] = {batches, rows, columns};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; stride *= x.shape[i--]) {
    x.shape[i] = shape[3 - rank + i];
    x.strides[i] = stride;
  }
  return x;
}

static uint64_t bytes_of(const zb_tensor *x) { return (uint64_t)zb_tensor_elements(x) * zb_dtype_bytes(x->dtype); }

/* Multiples of 1/8, so that sums of products are exact in f32. */
static void fill(zb_tensor *x, int number) {
  for (int64_t i = 0; i < zb_tensor_elements(x); ++i)
    zb_ref_set(x, i, (double)((i * 37 + number * 11) % 29 - 14) / 8);
}

typedef struct operands {
  zb_tensor inputs[3], out;
  zb_attr attrs[2];
  zb_kernel_call call;
} operands;

static void make_call(const product *p, void *const data[OPERANDS], operands *x) {
  int rank = p->batches > 1 ? 3 : 2;
  x->inputs[0] =
      operand(p->in, rank, p->batches, p->transpose_lhs ? p->k : p->m, p->transpose_lhs ? p->m : p->k, data[LHS]);
  x->inputs[1] =
      operand(p->in, rank, p->batches, p->transpose_rhs ? p->n : p->k, p->transpose_rhs ? p->k : p->n, data[RHS]);
  x->inputs[2] = operand(p->out, 1, 1, 1, p->n, data[BIAS_OF]);
  x->out = operand(p->out, rank, p->batches, p->m, p->n, data[OUT]);
  x->attrs[0] = (zb_attr){.name = "transpose_lhs", .kind = ZB_ATTR_BOOL, .i = p->transpose_lhs};
  x->attrs[1] = (zb_attr){.name = "transpose_rhs", .kind = ZB_ATTR_BOOL, .i = p->transpose_rhs};
  x->call = (zb_kernel_call){.inputs = x->inputs,
                             .input_count = p->epilogue == BIAS ? 3 : 2,
                             .outputs = &x->out,
                             .output_count = 1,
                             .attrs = {x->attrs, 2},
                             .accumulate = p->accumulate};
}

static void expect(const product *p, const operands *at_host) {
  operands x;
  void *data[OPERANDS] = {host[LHS], host[RHS], want[0], host[BIAS_OF]};
  memcpy(want[0], host[OUT], sizeof want[0]);
  make_call(p, data, &x);
  CU_ASSERT_PTR_NULL(zb_kernel_reference("matmul")->run(&x.call));
  if (p->epilogue != GRADIENT) return;
  zb_tensor sums = x.inputs[2];
  sums.data = want[1];
  for (int64_t column = 0; column < p->n; ++column) {
    double sum = 0;
    for (int64_t row = 0; row < p->k; ++row)
      sum += zb_ref_get(&at_host->inputs[1], row * p->n + column);
    zb_ref_set(&sums, column, sum);
  }
}

static zb_status upload(const zb_cuda_launcher *on, const operands *x) {
  const zb_tensor *all[OPERANDS] = {&x->inputs[0], &x->inputs[1], &x->out, &x->inputs[2]};
  for (int i = 0; i < OPERANDS; ++i)
    ZB_TRY(ZB_CU(on->api, cuMemcpyHtoDAsync, device[i], host[i], bytes_of(all[i]), on->stream));
  return ZB_CU(on->api, cuStreamSynchronize, on->stream);
}

static zb_status download(const zb_cuda_launcher *on, const operands *x) {
  ZB_TRY(ZB_CU(on->api, cuMemcpyDtoHAsync, host[OUT], device[OUT], bytes_of(&x->out), on->stream));
  ZB_TRY(ZB_CU(on->api, cuMemcpyDtoHAsync, host[BIAS_OF], device[BIAS_OF], bytes_of(&x->inputs[2]), on->stream));
  return ZB_CU(on->api, cuStreamSynchronize, on->stream);
}

/* Operands on the host and the device, and the product as the library is asked for it. */
static bool start(zb_cuda_launcher *on, const product *p, operands *at_host, zb_cuda_product *out) {
  operands at_device;
  void *data[OPERANDS] = {host[0], host[1], host[2], host[3]}, *addresses[OPERANDS];
  for (int i = 0; i < OPERANDS; ++i)
    addresses[i] = (void *)(uintptr_t)device[i];
  make_call(p, data, at_host);
  make_call(p, addresses, &at_device);
  fill(&at_host->inputs[0], 0);
  fill(&at_host->inputs[1], 1);
  fill(&at_host->out, 2);
  fill(&at_host->inputs[2], 3);
  expect(p, at_host);
  if (!zb_cuda_product_of(&at_device.call, out)) return false;
  if (p->epilogue == GRADIENT) out->bias_gradient = addresses[BIAS_OF];
  return fine(upload(on, at_host), p->name);
}

static void check(const product *p, const operands *x) {
  bool same = memcmp(host[OUT], want[0], bytes_of(&x->out)) == 0;
  bool sums = p->epilogue != GRADIENT || memcmp(host[BIAS_OF], want[1], bytes_of(&x->inputs[2])) == 0;
  if (!same || !sums)
    fprintf(stderr, "%s, %s to %s: wrong %s\n", p->name, zb_dtype_name(p->in), zb_dtype_name(p->out),
            same ? "sums of columns" : "product");
  CU_ASSERT(same && sums);
}

/* A gradient of a bias may be refused: then reduce_sum runs. */
static void run_products(zb_cuda_launcher *on) {
  for (int i = 0; i < PRODUCTS; ++i) {
    const product *p = &products[i];
    operands x;
    zb_cuda_product described;
    bool done = false;
    CU_ASSERT_FATAL(start(on, p, &x, &described));
    if (!fine(zb_cuda_blas_product(on, &described, &done), p->name)) continue;
    if (!done)
      printf("\n  note: cuBLASLt does not take: %s, %s to %s", p->name, zb_dtype_name(p->in), zb_dtype_name(p->out));
    CU_ASSERT(done || p->epilogue == GRADIENT);
    if (done && fine(download(on, &x), p->name)) check(p, &x);
  }
}

static void products_on_the_emulation(void) {
  CUdeviceptr kept[OPERANDS];
  memcpy(kept, device, sizeof kept);
  CU_ASSERT_FATAL(emulated_suite_open() == 0);
  emulated_blas(emulated_api());
  CU_ASSERT_FATAL(fine(zb_cuda_blas_create(emulated_launcher.api, NULL, &emulated_launcher.blas), "cuBLASLt"));
  for (int i = 0; i < OPERANDS; ++i)
    device[i] = (CUdeviceptr)(uintptr_t)zb_alloc_aligned(sizeof host[i], 256);
  run_products(&emulated_launcher);
  for (int i = 0; i < OPERANDS; ++i)
    zb_free((void *)(uintptr_t)device[i]);
  zb_cuda_blas_destroy(emulated_launcher.blas);
  emulated_launcher.blas = NULL;
  CU_ASSERT_EQUAL(emulated_suite_close(), 0);
  memcpy(device, kept, sizeof kept);
}

static void products_on_the_gpu(void) {
  printf("\n  note: cuBLASLt %zu", real.cublasLtGetVersion());
  run_products(&real_launcher);
}

/* ---- Captures ---- */

static zb_status capture(zb_cuda_launcher *on, const zb_cuda_product *p, CUgraphExec *out) {
  CUgraph graph = NULL;
  bool done = false;
  ZB_TRY(ZB_CU(on->api, cuStreamBeginCapture, on->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  zb_status status = zb_cuda_blas_product(on, p, &done);
  zb_status ended = ZB_CU(on->api, cuStreamEndCapture, on->stream, &graph);
  if (!status && !ended) status = ZB_CU(on->api, cuGraphInstantiate, out, graph, 0);
  if (graph) on->api->cuGraphDestroy(graph);
  zb_status statuses[] = {status, ended};
  return zb_status_first(statuses, 2);
}

/* A library that nothing was asked of yet loads code when it is used first: in a capture, here. */
static void a_product_is_captured(void) {
  const product *p = &products[7];
  zb_cuda_launcher on = real_launcher;
  operands x;
  zb_cuda_product described;
  CUgraphExec graph = NULL;
  bool done = false;
  on.blas = NULL;
  CU_ASSERT_FATAL(fine(zb_cuda_blas_create(on.api, NULL, &on.blas), "cuBLASLt") && start(&on, p, &x, &described));
  on.only_choosing = true;
  CU_ASSERT(fine(zb_cuda_blas_product(&on, &described, &done), "choosing") && done);
  on.only_choosing = false;
  if (fine(capture(&on, &described, &graph), "a capture")) {
    CU_ASSERT(fine(ZB_CU(on.api, cuGraphUpload, graph, on.stream), "cuGraphUpload"));
    CU_ASSERT(fine(ZB_CU(on.api, cuGraphLaunch, graph, on.stream), "cuGraphLaunch"));
    if (fine(download(&on, &x), "a graph")) check(p, &x);
    on.api->cuGraphExecDestroy(graph);
  }
  zb_cuda_blas_destroy(on.blas);
}

static void what_is_asked_in_a_capture(void) {
  zb_cuda_launcher on = real_launcher;
  operands x;
  zb_cuda_product described;
  CUgraphExec graph = NULL;
  on.blas = NULL;
  CU_ASSERT_FATAL(fine(zb_cuda_blas_create(on.api, NULL, &on.blas), "cuBLASLt") &&
                  start(&on, &products[2], &x, &described));
  zb_status status = capture(&on, &described, &graph);
  printf("\n  note: the heuristic in a capture: %s", status ? zb_status_message(status) : "works");
  zb_status_free(status);
  if (graph) on.api->cuGraphExecDestroy(graph);
  zb_cuda_blas_destroy(on.blas);
}

/* ---- What a job costs the host ---- */

static void note_us(const char *what, int64_t ps) { printf("\n  note: %s: %.2f us", what, (double)ps / ROUNDS / 1e6); }

static void host_time_of_a_job(void) {
  zb_cuda_launcher *on = &real_launcher;
  operands x;
  zb_cuda_product described;
  CUgraphExec graph = NULL;
  CUevent event = NULL;
  bool done = false;
  CU_ASSERT_FATAL(start(on, &products[0], &x, &described) &&
                  fine(zb_cuda_blas_product(on, &described, &done), "a product"));
  CU_ASSERT_FATAL(fine(capture(on, &described, &graph), "a capture") &&
                  fine(ZB_CU(&real, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING), "an event"));
  zb_status status = ZB_CU(&real, cuStreamSynchronize, stream);
  int64_t begin = zb_monotonic_ps();
  for (int i = 0; i < ROUNDS && !status; ++i)
    status = ZB_CU(&real, cuGraphLaunch, graph, stream);
  note_us("a graph of one product, launched", zb_monotonic_ps() - begin);
  if (!status) status = ZB_CU(&real, cuStreamSynchronize, stream);
  note_us("the same, until it is over", zb_monotonic_ps() - begin);
  begin = zb_monotonic_ps();
  for (int i = 0; i < ROUNDS && !status; ++i)
    status = zb_cuda_blas_product(on, &described, &done);
  note_us("a product without a graph", zb_monotonic_ps() - begin);
  begin = zb_monotonic_ps();
  for (int i = 0; i < ROUNDS && !status; ++i) {
    status = ZB_CU(&real, cuEventRecord, event, stream);
    if (!status) status = ZB_CU(&real, cuStreamWaitEvent, stream, event, 0);
  }
  note_us("an event recorded and waited for", zb_monotonic_ps() - begin);
  if (!status) status = ZB_CU(&real, cuStreamSynchronize, stream);
  CU_ASSERT(fine(status, "launches"));
  real.cuEventDestroy(event);
  real.cuGraphExecDestroy(graph);
}

/* ---- NCCL ---- */

static zb_status settle(ncclComm_t communicator, ncclResult_t result) {
  int64_t begin = zb_monotonic_ps();
  while (result == ncclInProgress && zb_monotonic_ps() - begin < INT64_C(60000000000000)) {
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    ncclResult_t asked = real.ncclCommGetAsyncError(communicator, &result);
    if (asked != ncclSuccess) result = asked;
  }
  return zb_cuda_check(&real, ZB_CUDA_NCCL, (int)result, "NCCL");
}

/* With itself, as there is one GPU: a send and a receive in one group, on a communicator made as transport/nccl makes
 * its own. */
static zb_status talk_to_itself(ncclComm_t *communicator) {
  struct zb_nccl_id id;
  ncclConfig_t config = {.size = sizeof config,
                         .magic = (unsigned)ZB_NCCL_CONFIG_MAGIC,
                         .version = ZB_NCCL_CONFIG_VERSION,
                         .blocking = 0,
                         .cgaClusterSize = INT_MIN,
                         .minCTAs = INT_MIN,
                         .maxCTAs = 4,
                         .splitShare = INT_MIN};
  void *from = (void *)(uintptr_t)device[LHS], *to = (void *)(uintptr_t)device[RHS];
  ZB_TRY(ZB_NCCL(&real, ncclGetUniqueId, &id));
  ncclResult_t made = real.ncclCommInitRankConfig(communicator, 1, id, 0, &config);
  ZB_TRY(settle(*communicator, made));
  memset(host[LHS], 0x5a, sizeof host[LHS]);
  memset(host[OUT], 0, sizeof host[OUT]);
  ZB_TRY(ZB_CU(&real, cuMemcpyHtoDAsync, device[LHS], host[LHS], sizeof host[LHS], stream));
  ZB_TRY(zb_cuda_check(&real, ZB_CUDA_NCCL, (int)real.ncclGroupStart(), "ncclGroupStart"));
  ncclResult_t sent = real.ncclSend(from, sizeof host[LHS], ncclUint8, 0, *communicator, stream);
  ncclResult_t received = real.ncclRecv(to, sizeof host[LHS], ncclUint8, 0, *communicator, stream),
               ended = real.ncclGroupEnd();
  CU_ASSERT((sent == ncclSuccess || sent == ncclInProgress) && (received == ncclSuccess || received == ncclInProgress));
  ZB_TRY(settle(*communicator, ended));
  ZB_TRY(ZB_CU(&real, cuMemcpyDtoHAsync, host[OUT], device[RHS], sizeof host[OUT], stream));
  return ZB_CU(&real, cuStreamSynchronize, stream);
}

static void nccl_talks_to_itself(void) {
  ncclComm_t communicator = NULL;
  int version = 0;
  zb_status status = zb_cuda_api_open(&real, ZB_CUDA_NCCL);
  if (status) {
    printf("\n  note: no NCCL: %s", zb_status_message(status));
    zb_status_free(status);
    return;
  }
  if (real.ncclGetVersion(&version) == ncclSuccess) printf("\n  note: NCCL %d", version);
  if (fine(talk_to_itself(&communicator), "NCCL")) CU_ASSERT(memcmp(host[OUT], host[LHS], sizeof host[OUT]) == 0);
  if (communicator) CU_ASSERT_EQUAL(real.ncclCommAbort(communicator), ncclSuccess);
}

/* ---- The GPU ---- */

static zb_status open_gpu(void) {
  int count = 0;
  ZB_TRY(zb_cuda_api_open(&real, ZB_CUDA_DRIVER));
  ZB_TRY(zb_cuda_api_open(&real, ZB_CUDA_BLAS));
  ZB_TRY(ZB_CU(&real, cuInit, 0));
  ZB_TRY(ZB_CU(&real, cuDeviceGetCount, &count));
  if (count < 1) return zb_cuda_error(&real, ZB_CUDA_DRIVER, CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount");
  ZB_TRY(ZB_CU(&real, cuDeviceGet, &gpu, 0));
  ZB_TRY(ZB_CU(&real, cuDevicePrimaryCtxRetain, &context, gpu));
  ZB_TRY(ZB_CU(&real, cuCtxSetCurrent, context));
  ZB_TRY(ZB_CU(&real, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0));
  real_launcher = (zb_cuda_launcher){.api = &real, .stream = stream};
  ZB_TRY(ZB_CU(&real, cuMemAlloc, &real_launcher.workspace, ZB_CUDA_WORKSPACE_BYTES));
  for (int i = 0; i < OPERANDS; ++i)
    ZB_TRY(ZB_CU(&real, cuMemAlloc, &device[i], sizeof host[i]));
  return zb_cuda_blas_create(&real, NULL, &real_launcher.blas);
}

static void close_gpu(void) {
  zb_cuda_blas_destroy(real_launcher.blas);
  for (int i = 0; i < OPERANDS && context; ++i)
    if (device[i]) real.cuMemFree(device[i]);
  if (real_launcher.workspace) real.cuMemFree(real_launcher.workspace);
  if (stream) real.cuStreamDestroy(stream);
  if (context) real.cuDevicePrimaryCtxRelease(gpu);
  zb_cuda_api_close(&real);
}

int main(void) {
  static CU_TestInfo emulated[] = {{"products, emulated", products_on_the_emulation}, CU_TEST_INFO_NULL};
  static CU_TestInfo tests[] = {{"products of cuBLASLt", products_on_the_gpu},
                                {"a product is captured", a_product_is_captured},
                                {"what is asked in a capture", what_is_asked_in_a_capture},
                                {"host time of a job", host_time_of_a_job},
                                {"NCCL talks to itself", nccl_talks_to_itself},
                                CU_TEST_INFO_NULL};
  static CU_SuiteInfo suites[] = {{"the emulation", NULL, NULL, NULL, NULL, emulated},
                                  {"this machine's GPU", NULL, NULL, NULL, NULL, tests},
                                  CU_SUITE_INFO_NULL};
  if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) return 2;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_set_fail_on_inactive(CU_FALSE);
  zb_status status = open_gpu();
  if (status) printf("skipped: %s", zb_status_text(status));
  for (int i = 0; status && tests[i].pName; ++i)
    CU_set_test_active(CU_get_test(CU_get_suite(suites[1].pName), tests[i].pName), CU_FALSE);
  zb_status_free(status);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  close_gpu();
  return failures == 0 ? 0 : 1;
}
