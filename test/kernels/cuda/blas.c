/* The emulated cuBLASLt: see blas.h. */
#include "test/kernels/cuda/blas.h"

#include "kernels/cpu/ref/ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID = CUBLAS_STATUS_INVALID_VALUE, MAGIC = 0x5a42 };

struct cublasLtContext {
  int unused;
};
struct zb_blas_product {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transposed_a, transposed_b, epilogue;
  const void *bias;
};
struct zb_blas_layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading, batch_stride;
  int32_t batches;
};
struct zb_blas_preference {
  uint64_t workspace_bytes;
  uint32_t schemes, alignments[4];
};

static int alive, products, described_f32, described_tf32;
static bool refusing, refusing_gradients;
static char last[512];

static void *make(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) abort();
  ++alive;
  return memory;
}

static void end(void *memory) {
  if (memory) --alive;
  free(memory);
}

static cublasStatus_t create(cublasLtHandle_t *out) {
  *out = make(sizeof **out);
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t destroy(cublasLtHandle_t handle) {
  end(handle);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t description_create(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale) {
  *out = make(sizeof **out);
  (*out)->compute = compute;
  (*out)->scale = scale;
  (*out)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  described_f32 += compute == CUBLAS_COMPUTE_32F;
  described_tf32 += compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t description_destroy(cublasLtMatmulDesc_t description) {
  end(description);
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t description_set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                      const void *value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER && bytes == sizeof d->bias)
    return memcpy(&d->bias, value, bytes), CUBLAS_STATUS_SUCCESS;
  if (bytes != sizeof(int32_t)) return INVALID;
  int32_t *to = attribute == CUBLASLT_MATMUL_DESC_TRANSA     ? &d->transposed_a
                : attribute == CUBLASLT_MATMUL_DESC_TRANSB   ? &d->transposed_b
                : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE ? &d->epilogue
                                                             : NULL;
  if (!to) return INVALID;
  memcpy(to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t layout_create(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows, uint64_t columns,
                                    int64_t leading) {
  if (leading < (int64_t)rows || rows == 0 || columns == 0) return INVALID;
  *out = make(sizeof **out);
  **out = (struct zb_blas_layout){type, rows, columns, leading, 0, 1};
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_destroy(cublasLtMatrixLayout_t layout) {
  end(layout);
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(int32_t))
    memcpy(&layout->batches, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(int64_t))
    memcpy(&layout->batch_stride, value, bytes);
  else
    return INVALID;
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t preference_create(cublasLtMatmulPreference_t *out) {
  *out = make(sizeof **out);
  (*out)->schemes = 7;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t preference_destroy(cublasLtMatmulPreference_t preference) {
  end(preference);
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t preference_set(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *value, size_t bytes) {
  int alignment = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof p->workspace_bytes)
    memcpy(&p->workspace_bytes, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof p->schemes)
    memcpy(&p->schemes, value, bytes);
  else if (alignment >= 0 && alignment < 4 && bytes == sizeof p->alignments[0])
    memcpy(&p->alignments[alignment], value, bytes);
  else
    return INVALID;
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- Products ---- */

static zb_dtype dtype_of(cudaDataType_t type) {
  return type == CUDA_R_16BF ? ZB_BF16 : type == CUDA_R_16F ? ZB_F16 : ZB_F32;
}

static uint64_t op_rows(const struct zb_blas_layout *x, int32_t transposed) {
  return transposed ? x->columns : x->rows;
}
static uint64_t op_columns(const struct zb_blas_layout *x, int32_t transposed) {
  return transposed ? x->rows : x->columns;
}

/* Whether the descriptions make a product that the library computes. */
static bool fits(const struct zb_blas_product *m, const struct zb_blas_layout *a, const struct zb_blas_layout *b,
                 const struct zb_blas_layout *c, const struct zb_blas_layout *d) {
  bool compute =
      m->compute == CUBLAS_COMPUTE_32F || (m->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type == CUDA_R_32F);
  bool types = m->scale == CUDA_R_32F && a->type == b->type && c == d && (d->type == a->type || d->type == CUDA_R_32F);
  bool batches = a->batches == d->batches && b->batches == d->batches &&
                 (d->batches == 1 || d->batch_stride >= d->leading * (int64_t)(d->columns - 1) + (int64_t)d->rows);
  bool gradient = m->epilogue == CUBLASLT_EPILOGUE_BGRADA && d->batches == 1;
  bool epilogue =
      m->epilogue == CUBLASLT_EPILOGUE_DEFAULT || ((m->epilogue == CUBLASLT_EPILOGUE_BIAS || gradient) && m->bias);
  return compute && types && batches && epilogue && op_rows(a, m->transposed_a) == d->rows &&
         op_columns(b, m->transposed_b) == d->columns && op_columns(a, m->transposed_a) == op_rows(b, m->transposed_b);
}

static cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t m, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t p, int wanted, cublasLtMatmulHeuristicResult_t results[],
                                int *found) {
  (void)handle;
  *found = 0;
  if (!fits(m, a, b, c, d)) return INVALID;
  if (refusing_gradients && m->epilogue == CUBLASLT_EPILOGUE_BGRADA) return CUBLAS_STATUS_INVALID_VALUE;
  if (refusing) return CUBLAS_STATUS_NOT_SUPPORTED;
  memset(results, 0, sizeof *results * (size_t)wanted);
  results[0].state = CUBLAS_STATUS_NOT_SUPPORTED; /* the library may list what it cannot run */
  results[1].state = CUBLAS_STATUS_SUCCESS;
  results[1].workspaceSize = p->workspace_bytes;
  results[1].algo.data[0] = MAGIC;
  results[1].algo.data[1] = (uint64_t)(uintptr_t)m;
  results[1].algo.data[2] = p->alignments[0] << 16 | p->alignments[1] << 8 | p->alignments[3];
  results[1].algo.data[3] = p->schemes;
  if (m->epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    results[1].algo.data[4] = (uint64_t)((uintptr_t)m->bias & (~(uintptr_t)m->bias + 1));
  *found = 2;
  return CUBLAS_STATUS_SUCCESS;
}

static double element(const struct zb_blas_layout *x, const void *data, int32_t transposed, int64_t batch, uint64_t row,
                      uint64_t column) {
  zb_tensor view = {.dtype = dtype_of(x->type)};
  union {
    const void *from;
    void *to;
  } bytes = {data};
  view.data = bytes.to;
  uint64_t stored_row = transposed ? column : row, stored_column = transposed ? row : column;
  return zb_ref_get(&view, batch * x->batch_stride + (int64_t)stored_row + (int64_t)stored_column * x->leading);
}

static void describe(const struct zb_blas_product *m, const struct zb_blas_layout *a, const struct zb_blas_layout *b,
                     const struct zb_blas_layout *d, double beta, const cublasLtMatmulAlgo_t *algorithm) {
  const struct zb_blas_layout *all[3] = {a, b, d};
  const char *const names[3] = {"A", "B", "D"};
  int32_t transposed[3] = {m->transposed_a, m->transposed_b, 0};
  size_t used = 0;
  for (int i = 0; i < 3; ++i)
    used += (size_t)snprintf(last + used, sizeof last - used, "%s %s %s %llux%llu ld %lld stride %lld; ", names[i],
                             zb_dtype_name(dtype_of(all[i]->type)), transposed[i] ? "T" : "N",
                             (unsigned long long)all[i]->rows, (unsigned long long)all[i]->columns,
                             (long long)all[i]->leading, (long long)all[i]->batch_stride);
  if (m->epilogue == CUBLASLT_EPILOGUE_BIAS)
    used += (size_t)snprintf(last + used, sizeof last - used, "bias aligned %llx, ",
                             (unsigned long long)algorithm->data[4]);
  if (m->epilogue == CUBLASLT_EPILOGUE_BGRADA)
    used += (size_t)snprintf(last + used, sizeof last - used, "bias gradient aligned %llx, ",
                             (unsigned long long)algorithm->data[4]);
  snprintf(last + used, sizeof last - used, "%s%d batches, beta %g, aligned %llx, schemes %llu",
           m->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? "tf32, " : "", d->batches, beta,
           (unsigned long long)algorithm->data[2], (unsigned long long)algorithm->data[3]);
}

static bool at_16_bytes(const struct zb_blas_layout *x) {
  return x->leading * (int64_t)zb_dtype_bytes(dtype_of(x->type)) % 16 == 0;
}

/* As the library does, seen on an H100. */
static bool rounds_before_bias(const struct zb_blas_product *m, const struct zb_blas_layout *a,
                               const struct zb_blas_layout *b, const struct zb_blas_layout *d) {
  return m->epilogue == CUBLASLT_EPILOGUE_BIAS && dtype_of(d->type) != ZB_F32 &&
         !(at_16_bytes(a) && at_16_bytes(b) && at_16_bytes(d));
}

static cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t m, const void *alpha, const void *a,
                             cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                             const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                             cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                             size_t workspace_bytes, CUstream stream) {
  (void)handle, (void)stream;
  float scale_product, scale_before;
  memcpy(&scale_product, alpha, sizeof scale_product);
  memcpy(&scale_before, beta, sizeof scale_before);
  if (!fits(m, a_layout, b_layout, c_layout, d_layout) || c != d || !workspace || (uintptr_t)workspace % 256 != 0)
    return INVALID;
  if (algorithm->data[0] != MAGIC || algorithm->data[1] != (uint64_t)(uintptr_t)m) return INVALID;
  uintptr_t aligned[3] = {algorithm->data[2] >> 16 & 255, algorithm->data[2] >> 8 & 255, algorithm->data[2] & 255};
  if ((uintptr_t)a % aligned[0] || (uintptr_t)b % aligned[1] || (uintptr_t)d % aligned[2]) return INVALID;
  if (algorithm->data[4] && (uintptr_t)m->bias % algorithm->data[4]) return INVALID;
  zb_tensor bias = {.dtype = dtype_of(d_layout->type)};
  memcpy(&bias.data, &m->bias, sizeof bias.data);
  memset(workspace, 0x77, workspace_bytes < 4096 ? workspace_bytes : 4096);
  zb_tensor out = {.data = d, .dtype = dtype_of(d_layout->type)};
  uint64_t depth = op_columns(a_layout, m->transposed_a);
  for (int64_t batch = 0; batch < d_layout->batches; ++batch)
    for (uint64_t column = 0; column < d_layout->columns; ++column)
      for (uint64_t row = 0; row < d_layout->rows; ++row) {
        double sum = 0;
        for (uint64_t k = 0; k < depth; ++k)
          sum += element(a_layout, a, m->transposed_a, batch, row, k) *
                 element(b_layout, b, m->transposed_b, batch, k, column);
        int64_t to = batch * d_layout->batch_stride + (int64_t)row + (int64_t)column * d_layout->leading;
        sum *= (double)scale_product;
        double before = scale_before != 0 ? (double)scale_before * zb_ref_get(&out, to) : 0;
        if (m->epilogue == CUBLASLT_EPILOGUE_BIAS) before += zb_ref_get(&bias, (int64_t)row);
        if (rounds_before_bias(m, a_layout, b_layout, d_layout)) {
          zb_ref_set(&out, to, sum);
          sum = zb_ref_get(&out, to);
        }
        zb_ref_set(&out, to, sum + before);
      }
  for (uint64_t row = 0; m->epilogue == CUBLASLT_EPILOGUE_BGRADA && row < d_layout->rows;
       ++row) { /* stored, not added */
    double sum = 0;
    for (uint64_t k = 0; k < depth; ++k)
      sum += element(a_layout, a, m->transposed_a, 0, row, k);
    zb_ref_set(&bias, (int64_t)row, sum);
  }
  ++products;
  describe(m, a_layout, b_layout, d_layout, (double)scale_before, algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

static const char *status_name(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_INVALID_VALUE";
}

void emulated_blas(zb_cuda_api *api) {
  api->cublasLtGetStatusName = status_name;
  api->cublasLtGetStatusString = status_name;
  api->cublasLtCreate = create;
  api->cublasLtDestroy = destroy;
  api->cublasLtMatmulDescCreate = description_create;
  api->cublasLtMatmulDescDestroy = description_destroy;
  api->cublasLtMatmulDescSetAttribute = description_set;
  api->cublasLtMatrixLayoutCreate = layout_create;
  api->cublasLtMatrixLayoutDestroy = layout_destroy;
  api->cublasLtMatrixLayoutSetAttribute = layout_set;
  api->cublasLtMatmulPreferenceCreate = preference_create;
  api->cublasLtMatmulPreferenceDestroy = preference_destroy;
  api->cublasLtMatmulPreferenceSetAttribute = preference_set;
  api->cublasLtMatmulAlgoGetHeuristic = heuristic;
  api->cublasLtMatmul = matmul;
}

int emulated_blas_products(void) {
  int count = products;
  products = 0;
  return count;
}

const char *emulated_blas_last(void) { return last; }

const void *emulated_blas_bias(cublasLtMatmulDesc_t description) { return description->bias; }

int emulated_blas_alive(void) { return alive; }

int emulated_blas_described(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F ? described_f32 : compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? described_tf32 : 0;
}

void emulated_blas_refuse(bool refuses) { refusing = refuses; }

void emulated_blas_refuse_gradients(bool refuses) { refusing_gradients = refuses; }
