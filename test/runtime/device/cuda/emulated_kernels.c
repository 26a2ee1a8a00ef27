/* The emulated kernels as a kernel set: see emulated_kernels.h.
 *
 * What the host side of kernels/cuda launches is recorded, with a copy of its arguments, and put on the stream of the
 * fake as a kernel that runs the record. A record lives as long as its launcher, since graphs run it again. Each tells
 * the fake the operands of the calls that it was enqueued for, so that the fake sees races. */
#include "test/runtime/device/cuda/emulated_kernels.h"

#include "runtime/device/cuda/module/kernel_set.h"
#include "test/kernels/cuda/blas.h"
#include "test/kernels/cuda/driver.h"
#include "test/runtime/device/cuda/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS_MAX = 32 };

typedef struct access {
  const void *at;
  uint64_t bytes;
  bool writes;
} access;

/* One launch of a kernel, or one product. */
typedef struct record {
  struct record *next;
  access *accesses;
  int access_count;
  const zb_emulated_kernel *kernel; /* NULL: a product */
  unsigned grid[3], threads, shared_bytes;
  _Alignas(16) unsigned char args[FAKE_PARAMETER_BYTES];
  cublasLtMatmulDesc_t description;
  cublasLtMatrixLayout_t a_layout, b_layout, d_layout;
  const void *a, *b, *bias;
  void *d, *workspace;
  float alpha, beta;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
} record;

typedef struct started {
  void *launcher; /* of zb_cuda_kernels */
  record *records;
} started;

/* The functions of kernels/cuda carry no context: the table, what it was before, and for whom is being enqueued. */
static zb_cuda_api api, blas;
static CUresult (*fake_launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               CUstream, void **, void **);
static started *current;
static const zb_cuda_item *current_items;
static int current_count;

/* ---- When a record runs ---- */

static void fail(const char *what, const char *text) {
  fprintf(stderr, "emulated %s: %s\n", what, text);
  abort();
}

static void run_record(const void *parameters) {
  const record *r;
  memcpy(&r, parameters, sizeof r);
  fake_show_all();
  for (int i = 0; i < r->access_count; ++i)
    fake_touch(r->accesses[i].at, r->accesses[i].bytes, r->accesses[i].writes);
  if (r->kernel) {
    const char *error =
        zb_emulated_launch(r->kernel, r->grid[0], r->grid[1], r->grid[2], r->threads, r->shared_bytes, r->args);
    if (error) fail("kernel", error);
    return;
  }
  if (r->bias &&
      blas.cublasLtMatmulDescSetAttribute(r->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &r->bias, sizeof r->bias))
    fail("product", "the bias is not taken");
  cublasStatus_t status =
      blas.cublasLtMatmul(NULL, r->description, &r->alpha, r->a, r->a_layout, r->b, r->b_layout, &r->beta, r->d,
                          r->d_layout, r->d, r->d_layout, &r->algorithm, r->workspace, r->workspace_bytes, NULL);
  if (status) fail("product", "the descriptions do not fit");
}

static const fake_kernel record_kernel = {"emulated", sizeof(record *), run_record};

/* ---- Enqueueing ---- */

static void add_access(record *r, const zb_tensor *x, bool writes) {
  int64_t last = 0;
  if (x->rank < 0) return;
  for (int i = 0; i < x->rank; ++i) {
    if (x->shape[i] == 0) return;
    last += (x->shape[i] - 1) * x->strides[i];
  }
  r->accesses[r->access_count++] = (access){x->data, (uint64_t)(last + 1) * zb_dtype_bytes(x->dtype), writes};
}

static record *new_record(void) {
  record *r = calloc(1, sizeof *r);
  if (!r) abort();
  r->accesses = calloc((size_t)current_count * OPERANDS_MAX, sizeof *r->accesses);
  if (!r->accesses) abort();
  for (int i = 0; i < current_count; ++i) {
    const zb_kernel_call *call = current_items[i].call;
    if (call->input_count + 2 * call->output_count > OPERANDS_MAX) abort();
    for (int k = 0; k < call->input_count; ++k)
      add_access(r, &call->inputs[k], false);
    for (int k = 0; k < call->output_count; ++k) {
      if (call->accumulate) add_access(r, &call->outputs[k], false);
      add_access(r, &call->outputs[k], true);
    }
  }
  r->next = current->records;
  current->records = r;
  return r;
}

static CUresult enqueue(record *r, CUstream stream) {
  void *parameters[] = {&r};
  return fake_launch(fake_function(&record_kernel), 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                              void **parameters, void **extra) {
  record *r = new_record();
  if (block_y != 1 || block_z != 1 || extra) return CUDA_ERROR_INVALID_VALUE;
  r->kernel = (const zb_emulated_kernel *)(const void *)function;
  r->grid[0] = grid_x;
  r->grid[1] = grid_y;
  r->grid[2] = grid_z;
  r->threads = block_x;
  r->shared_bytes = shared_bytes;
  size_t bytes = zb_emulated_args_bytes(r->kernel);
  if (bytes > sizeof r->args) return CUDA_ERROR_INVALID_VALUE; /* a GPU takes no more either */
  memcpy(r->args, parameters[0], bytes);
  return enqueue(r, stream);
}

static cublasStatus_t product(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                              CUstream stream) {
  record *r = new_record();
  (void)handle, (void)c, (void)c_layout;
  memcpy(&r->alpha, alpha, sizeof r->alpha);
  memcpy(&r->beta, beta, sizeof r->beta);
  r->description = description;
  r->bias = emulated_blas_bias(description);
  r->a = a;
  r->a_layout = a_layout;
  r->b = b;
  r->b_layout = b_layout;
  r->d = d;
  r->d_layout = d_layout;
  r->algorithm = *algorithm;
  r->workspace = workspace;
  r->workspace_bytes = workspace_bytes;
  return enqueue(r, stream) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

/* While a stream captures the library cannot say what it would take. */
static cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t preference, int wanted,
                                cublasLtMatmulHeuristicResult_t results[], int *found) {
  if (fake_captures()) return CUBLAS_STATUS_INTERNAL_ERROR;
  return blas.cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, c, d, preference, wanted, results, found);
}

/* ---- The kernel set ---- */

static zb_status open_kernels(const zb_cuda_api *real, CUdevice device, void **out) {
  zb_cuda_code *code = NULL;
  (void)device;
  api = *real;
  fake_launch = real->cuLaunchKernel;
  emulated_blas(&api);
  blas = api;
  api.cuLaunchKernel = launch_kernel;
  api.cublasLtMatmul = product;
  api.cublasLtMatmulAlgoGetHeuristic = heuristic;
  *out = NULL;
  ZB_TRY(zb_cuda_code_from(emulated_function, &code));
  return zb_cuda_kernels_on(&api, code, out);
}

static zb_status start(void *kernels, const zb_cuda_kernel_options *options, CUstream stream, CUdeviceptr fault,
                       void **out) {
  started *it = calloc(1, sizeof *it);
  if (!it) abort();
  *out = it;
  ZB_TRY(zb_cuda_kernels.start(kernels, options, stream, fault, &it->launcher));
  ((zb_cuda_launcher *)it->launcher)->warpgroups = getenv("ZB_EMULATED_WARPGROUPS") != NULL;
  return NULL;
}

static void stop(void *memory) {
  started *it = memory;
  if (it->launcher) zb_cuda_kernels.stop(it->launcher);
  for (record *r = it->records, *next; r; r = next) {
    next = r->next;
    free(r->accesses);
    free(r);
  }
  free(it);
}

static zb_status prepare(void *launcher, const zb_calls *calls, void **out) {
  return zb_cuda_kernels.prepare(((started *)launcher)->launcher, calls, out);
}

/* Launch by launch, so that each knows for which calls it is. */
static zb_status run(void *launcher, void *program, int first_instruction, const zb_cuda_watch *watch,
                     int *out_failed) {
  const zb_cuda_chosen *it = program;
  current = launcher;
  for (int i = 0; i < zb_cuda_program_launches(it->program); ++i) {
    current_count = zb_cuda_program_items(it->program, i, out_failed);
    current_items = &it->items[*out_failed];
    if (watch) ZB_TRY(watch->at(watch->context, *out_failed));
    ZB_TRY(zb_cuda_program_run(it->program, i, current->launcher, first_instruction));
  }
  return NULL;
}

static zb_status settle(void *launcher, void *program, int *out_failed) {
  return zb_cuda_kernels.settle(((started *)launcher)->launcher, program, out_failed);
}

/* As zb_cuda_kernels, but for what is above. */
static zb_cuda_kernel_set emulated_kernels(void) {
  zb_cuda_kernel_set set = zb_cuda_kernels;
  set.open = open_kernels;
  set.start = start;
  set.stop = stop;
  set.prepare = prepare;
  set.settle = settle;
  set.run = run;
  return set;
}

static zb_status open_emulated(const zb_device_params *params, zb_device **out) {
  static zb_cuda_kernel_set kernels;
  kernels = emulated_kernels();
  const zb_cuda_setup setup = {.load = fake_load, .kernels = &kernels};
  return zb_cuda_open(params, &setup, out);
}

const zb_device_def *emulated_device(void) {
  static const zb_device_def def = {ZB_CUDA_DEVICE, .summary = "the cuda device and its kernels on a GPU that is none",
                                    .open = open_emulated};
  return &def;
}
