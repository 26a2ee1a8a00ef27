/* Products by cuBLASLt: see blas.h. The library's matrices are stored by columns, and so the transposed product is
 * asked for: out^T (n x m) = rhs^T lhs^T, where the rows of a contiguous result are its columns. Nothing is copied.
 *
 * Leading dimensions become rows of one product where the rhs has none, else a strided batch, else (two batch strides
 * that do not merge, as in attention without a kernel of its own) several calls. Tests: test/kernels/cuda/blas_test.c
 */
#include "kernels/cuda/blas.h"
#include "kernels/cuda/matmul.h"

enum { BATCH_DIMENSIONS = ZB_DIMS_MAX, CALLS_MAX = 256, FIRST_CAPACITY = 64, RESULTS_ASKED = 8 };

/* A matrix as the library sees it. */
typedef struct layout {
  int64_t rows, columns, leading, batch_stride;
  int32_t type, transposed;
} layout;

/* All that decides the algorithm. Compared as bytes, so zeroed before it is filled. */
typedef struct key {
  layout a, b, d; /* rhs, lhs, out */
  int64_t batches;
  int32_t accumulate, alignment_a, alignment_b, alignment_d;
  int32_t alignment_bias, alignment_gradient; /* of the bias, of its gradient: 0 without one */
} key;

typedef struct entry {
  key key;
  bool refused; /* by the library */
  cublasLtMatmulDesc_t description;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulAlgo_t algorithm;
} entry;

struct zb_cuda_blas {
  const zb_cuda_api *api;
  cublasLtHandle_t handle;
  cublasComputeType_t compute_f32;
  entry *entries;
  int count, capacity;
};

/* A product in calls of the library: batch dimensions that it cannot take are counted outside. */
typedef struct calls {
  key key;
  int64_t outer_count, outer_shape[BATCH_DIMENSIONS], outer_lhs[BATCH_DIMENSIONS], outer_rhs[BATCH_DIMENSIONS];
  int outer_rank;
} calls;

zb_status zb_cuda_blas_create(const zb_cuda_api *api, const zb_cuda_blas_options *options, zb_cuda_blas **out) {
  *out = NULL;
  zb_cuda_blas *blas = zb_alloc(sizeof *blas);
  if (!blas) return ZB_OUT_OF_MEMORY();
  blas->api = api;
  blas->compute_f32 = options && options->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  zb_status status = ZB_BLAS(api, cublasLtCreate, &blas->handle);
  if (status) {
    zb_free(blas);
    return status;
  }
  *out = blas;
  return NULL;
}

/* What could not be destroyed stays with the library until the process ends. */
static void release(const zb_cuda_api *api, entry *e) {
  if (e->description) (void)api->cublasLtMatmulDescDestroy(e->description);
  if (e->a) (void)api->cublasLtMatrixLayoutDestroy(e->a);
  if (e->b) (void)api->cublasLtMatrixLayoutDestroy(e->b);
  if (e->d) (void)api->cublasLtMatrixLayoutDestroy(e->d);
  e->description = NULL;
  e->a = e->b = e->d = NULL;
}

void zb_cuda_blas_destroy(zb_cuda_blas *blas) {
  if (!blas) return;
  for (int i = 0; i < blas->count; ++i)
    release(blas->api, &blas->entries[i]);
  (void)blas->api->cublasLtDestroy(blas->handle);
  zb_free(blas->entries);
  zb_free(blas);
}

int zb_cuda_blas_products(const zb_cuda_blas *blas, int *out_refused) {
  *out_refused = 0;
  for (int i = 0; i < blas->count; ++i)
    *out_refused += blas->entries[i].refused;
  return blas->count;
}

/* ---- From a product to matrices of the library ---- */

static int32_t type_of(zb_dtype dtype) {
  return dtype == ZB_BF16 ? CUDA_R_16BF : dtype == ZB_F16 ? CUDA_R_16F : CUDA_R_32F;
}

/* `fast` x `slow` elements with the given strides as a matrix by columns, if `fast` is dense and columns do not
 * overlap. */
static bool by_columns(int64_t fast, int64_t slow, int64_t fast_stride, int64_t slow_stride, layout *out) {
  int64_t leading = slow == 1 ? fast : slow_stride;
  if ((fast_stride != 1 && fast != 1) || leading < fast) return false;
  out->rows = fast;
  out->columns = slow;
  out->leading = leading;
  return true;
}

/* The matrix of an operand whose columns (in the library's sense) are its rows, transposed where it is stored the other
 * way. */
static bool layout_of(const zb_cuda_matrix *x, zb_dtype dtype, layout *out) {
  out->type = type_of(dtype);
  out->transposed = 0;
  if (by_columns(x->columns, x->rows, x->column_stride, x->row_stride, out)) return true;
  out->transposed = 1;
  return by_columns(x->rows, x->columns, x->row_stride, x->column_stride, out);
}

/* The batch dimensions with one stride in each operand: out is contiguous, so its stride follows. */
typedef struct batch {
  int rank;
  int64_t shape[BATCH_DIMENSIONS], lhs[BATCH_DIMENSIONS], rhs[BATCH_DIMENSIONS];
} batch;

static int64_t stride_at(const zb_cuda_dims *dims, int64_t inner) {
  int64_t below = 1;
  for (int i = dims->rank - 1; i >= 0; below *= dims->shape[i--])
    if (inner < below * dims->shape[i]) return dims->stride[i] * (inner / below);
  return 0;
}

/* Cuts the positions of both operands at each other's dimensions: a dimension ends where one of both has an end. */
static bool cut_batch(const zb_cuda_product *p, batch *out) {
  *out = (batch){0};
  int64_t ends[2 * ZB_DIMS_MAX + 1] = {0}, below = 1;
  int end_count = 0;
  for (int i = p->lhs_batch.rank - 1; i >= 0; --i)
    ends[end_count++] = below *= p->lhs_batch.shape[i];
  below = 1;
  for (int i = p->rhs_batch.rank - 1; i >= 0; --i)
    ends[end_count++] = below *= p->rhs_batch.shape[i];
  for (int64_t done = 1; done < p->batches;) {
    int64_t next = p->batches;
    for (int i = 0; i < end_count; ++i)
      if (ends[i] > done && ends[i] < next) next = ends[i];
    if (next % done != 0 || out->rank == BATCH_DIMENSIONS) return false;
    out->shape[out->rank] = next / done; /* innermost first */
    out->lhs[out->rank] = stride_at(&p->lhs_batch, done);
    out->rhs[out->rank++] = stride_at(&p->rhs_batch, done);
    done = next;
  }
  return true;
}

/* Batches that share the rhs, and whose rows lie one after the other, are rows of one product. */
static void flatten_rows(zb_cuda_product *p, batch *b) {
  while (b->rank > 0 && b->rhs[0] == 0) {
    bool follows = p->m == 1 || b->lhs[0] == p->m * p->lhs.row_stride;
    if (!follows) return;
    zb_cuda_matrix wider = p->lhs;
    layout unused;
    if (p->m == 1) wider.row_stride = b->lhs[0];
    wider.rows = p->m * b->shape[0];
    if (!layout_of(&wider, p->in_dtype, &unused)) return;
    p->lhs = wider;
    p->m = wider.rows;
    --b->rank;
    for (int i = 0; i < b->rank; ++i) {
      b->shape[i] = b->shape[i + 1];
      b->lhs[i] = b->lhs[i + 1];
      b->rhs[i] = b->rhs[i + 1];
    }
  }
}

/* Of all addresses data + multiples of the strides (in elements), up to 16 bytes: more decides nothing, and where the
 * plan puts a value must not choose its algorithm. */
static int32_t alignment(const void *data, zb_dtype dtype, const int64_t *strides, int count) {
  uintptr_t all = (uintptr_t)data | 16;
  for (int i = 0; i < count; ++i)
    all |= (uintptr_t)strides[i] * zb_dtype_bytes(dtype);
  return (int32_t)(all & -all);
}

/* False where no matrices of the library describe the product. */
static bool plan_calls(const zb_cuda_product *product, calls *out) {
  zb_cuda_product p = *product;
  batch b;
  memset(out, 0, sizeof *out);
  if (!cut_batch(&p, &b)) return false;
  flatten_rows(&p, &b);
  key *k = &out->key;
  if (!layout_of(&p.rhs, p.in_dtype, &k->a) || !layout_of(&p.lhs, p.in_dtype, &k->b)) return false;
  k->d = (layout){.rows = p.n, .columns = p.m, .leading = p.n, .type = type_of(p.out_dtype)};
  k->batches = b.rank > 0 ? b.shape[0] : 1;
  k->a.batch_stride = b.rank > 0 ? b.rhs[0] : 0;
  k->b.batch_stride = b.rank > 0 ? b.lhs[0] : 0;
  k->d.batch_stride = b.rank > 0 ? p.m * p.n : 0;
  k->accumulate = p.accumulate;
  out->outer_count = 1;
  for (int i = 1; i < b.rank; ++i) {
    out->outer_shape[out->outer_rank] = b.shape[i];
    out->outer_lhs[out->outer_rank] = b.lhs[i];
    out->outer_rhs[out->outer_rank++] = b.rhs[i];
    out->outer_count *= b.shape[i];
  }
  int64_t out_step = p.m * p.n * k->batches;
  k->alignment_a = alignment(p.rhs.data, p.in_dtype, out->outer_rhs, out->outer_rank);
  k->alignment_b = alignment(p.lhs.data, p.in_dtype, out->outer_lhs, out->outer_rank);
  k->alignment_d = alignment(p.out, p.out_dtype, &out_step, out->outer_rank > 0);
  k->alignment_bias = p.bias ? alignment(p.bias, p.out_dtype, NULL, 0) : 0;
  k->alignment_gradient = p.bias_gradient ? alignment(p.bias_gradient, p.out_dtype, NULL, 0) : 0;
  return out->outer_count <= CALLS_MAX;
}

/* Whether rows lie at multiples of 16 bytes from an aligned address on, of every matrix of a batch. */
static bool aligned(const layout *x, zb_dtype dtype, int32_t alignment) {
  int64_t bytes = (int64_t)zb_dtype_bytes(dtype);
  return alignment == 16 && x->leading * bytes % 16 == 0 && x->batch_stride * bytes % 16 == 0;
}

/* Kernels of the library for rows that lie otherwise round a product to the type of the result before they add the
 * bias (seen in cuBLAS 13.1 on an H100), so that a sum near zero may lose all its bits. They round once what they add
 * to the result. */
static bool rounds_before_bias(const zb_cuda_product *p, const key *k) {
  return p->bias && p->out_dtype != ZB_F32 &&
         !(aligned(&k->a, p->in_dtype, k->alignment_a) && aligned(&k->b, p->in_dtype, k->alignment_b) &&
           aligned(&k->d, p->out_dtype, k->alignment_d));
}

/* Writes the bias into every row of the result. */
static zb_status bias_in_rows(zb_cuda_launcher *on, const zb_cuda_product *p) {
  zb_tensor rows = {.data = p->out, .dtype = p->out_dtype, .rank = 2};
  rows.shape[0] = p->batches * p->m;
  rows.shape[1] = p->n;
  zb_tensor bias = rows;
  union {
    const void *from;
    void *to;
  } place = {p->bias}; /* which is only read */
  bias.data = place.to;
  rows.strides[0] = p->n;
  rows.strides[1] = bias.strides[1] = 1;
  return zb_cuda_copy(on, &rows, &bias);
}

/* ---- Descriptions and algorithms ---- */

static zb_status make_layout(const zb_cuda_api *api, const layout *from, int64_t batches, cublasLtMatrixLayout_t *out) {
  ZB_TRY(ZB_BLAS(api, cublasLtMatrixLayoutCreate, out, from->type, (uint64_t)from->rows, (uint64_t)from->columns,
                 from->leading));
  if (batches == 1) return NULL;
  int32_t count = (int32_t)batches;
  ZB_TRY(
      ZB_BLAS(api, cublasLtMatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  return ZB_BLAS(api, cublasLtMatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                 &from->batch_stride, sizeof from->batch_stride);
}

/* The rows of the library's result are our columns: a bias a row, and its gradient the sums over the rows of A. Both
 * are of the type of the result. The heuristic looks at the alignment of the address only; the address itself is that
 * of each call. */
static zb_status describe_bias(const zb_cuda_api *api, entry *e) {
  int32_t epilogue = e->key.alignment_gradient ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BIAS;
  uintptr_t address = (uintptr_t)(e->key.alignment_gradient ? e->key.alignment_gradient : e->key.alignment_bias);
  if (!address) return NULL;
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulDescSetAttribute, e->description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                 sizeof epilogue));
  return ZB_BLAS(api, cublasLtMatmulDescSetAttribute, e->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address,
                 sizeof address);
}

static zb_status describe(zb_cuda_blas *blas, entry *e) {
  const zb_cuda_api *api = blas->api;
  const key *k = &e->key;
  cublasComputeType_t compute = k->a.type == CUDA_R_32F ? blas->compute_f32 : CUBLAS_COMPUTE_32F;
  int32_t transposed_a = k->a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
          transposed_b = k->b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulDescCreate, &e->description, compute, CUDA_R_32F));
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulDescSetAttribute, e->description, CUBLASLT_MATMUL_DESC_TRANSA, &transposed_a,
                 sizeof transposed_a));
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulDescSetAttribute, e->description, CUBLASLT_MATMUL_DESC_TRANSB, &transposed_b,
                 sizeof transposed_b));
  ZB_TRY(describe_bias(api, e));
  ZB_TRY(make_layout(api, &k->a, k->batches, &e->a));
  ZB_TRY(make_layout(api, &k->b, k->batches, &e->b));
  return make_layout(api, &k->d, k->batches, &e->d);
}

static zb_status set_preference(const zb_cuda_api *api, cublasLtMatmulPreference_t preference, const key *k) {
  uint64_t bytes = ZB_CUDA_BLAS_BYTES;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const struct {
    int attribute;
    uint32_t bytes;
  } alignments[] = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint32_t)k->alignment_a},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint32_t)k->alignment_b},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint32_t)k->alignment_d},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint32_t)k->alignment_d}};
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 &bytes, sizeof bytes));
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 &schemes, sizeof schemes));
  for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; ++i)
    ZB_TRY(ZB_BLAS(api, cublasLtMatmulPreferenceSetAttribute, preference, alignments[i].attribute, &alignments[i].bytes,
                   sizeof alignments[i].bytes));
  return NULL;
}

/* Asks the heuristic, which orders by expected time, and keeps the first that fits; refused where there is none. */
static zb_status choose(zb_cuda_blas *blas, entry *e) {
  const zb_cuda_api *api = blas->api;
  cublasLtMatmulHeuristicResult_t results[RESULTS_ASKED];
  cublasLtMatmulPreference_t preference = NULL;
  int found = 0;
  ZB_TRY(ZB_BLAS(api, cublasLtMatmulPreferenceCreate, &preference));
  zb_status status = set_preference(api, preference, &e->key);
  if (!status) {
    cublasStatus_t result = api->cublasLtMatmulAlgoGetHeuristic(blas->handle, e->description, e->a, e->b, e->d, e->d,
                                                                preference, RESULTS_ASKED, results, &found);
    bool unknown = result == CUBLAS_STATUS_INVALID_VALUE &&
                   e->key.alignment_gradient; /* an epilogue that is not for these types */
    if (result == CUBLAS_STATUS_NOT_SUPPORTED || unknown)
      found = 0;
    else
      status = zb_cuda_check(api, ZB_CUDA_BLAS, result, "cublasLtMatmulAlgoGetHeuristic");
  }
  (void)api->cublasLtMatmulPreferenceDestroy(preference);
  e->refused = true;
  for (int i = 0; !status && e->refused && i < found; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS || results[i].workspaceSize > ZB_CUDA_BLAS_BYTES) continue;
    e->algorithm = results[i].algo;
    e->refused = false;
  }
  return status;
}

static zb_status find_entry(zb_cuda_blas *blas, const key *k, entry **out) {
  for (int i = 0; i < blas->count; ++i)
    if (memcmp(&blas->entries[i].key, k, sizeof *k) == 0) return *out = &blas->entries[i], NULL;
  if (blas->count == blas->capacity) {
    int capacity = blas->capacity ? 2 * blas->capacity : FIRST_CAPACITY;
    entry *entries = zb_realloc(blas->entries, sizeof *entries * (size_t)capacity);
    if (!entries) return ZB_OUT_OF_MEMORY();
    blas->entries = entries;
    blas->capacity = capacity;
  }
  entry *e = &blas->entries[blas->count];
  memset(e, 0, sizeof *e);
  e->key = *k;
  zb_status status = describe(blas, e);
  if (!status) status = choose(blas, e);
  if (status) {
    release(blas->api, e);
    return status;
  }
  ++blas->count;
  *out = e;
  return NULL;
}

/* ---- Running ---- */

static void *moved(void *data, int64_t elements, zb_dtype dtype) {
  return (void *)((uintptr_t)data + (uintptr_t)elements * zb_dtype_bytes(dtype));
}

static zb_status run_one(zb_cuda_launcher *on, const entry *e, const zb_cuda_product *p, int64_t lhs, int64_t rhs,
                         int64_t out) {
  float one = 1, before = p->accumulate ? 1 : 0;
  void *d = moved(p->out, out, p->out_dtype);
  const void *bias = p->bias_gradient ? p->bias_gradient : p->bias;
  if (bias)
    ZB_TRY(ZB_BLAS(on->api, cublasLtMatmulDescSetAttribute, e->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                   sizeof bias));
  return ZB_BLAS(on->api, cublasLtMatmul, on->blas->handle, e->description, &one, moved(p->rhs.data, rhs, p->in_dtype),
                 e->a, moved(p->lhs.data, lhs, p->in_dtype), e->b, &before, d, e->d, d, e->d, &e->algorithm,
                 (void *)(uintptr_t)on->workspace, ZB_CUDA_BLAS_BYTES, on->stream);
}

zb_status zb_cuda_blas_product(zb_cuda_launcher *on, const zb_cuda_product *p, bool *done) {
  calls all;
  entry *e = NULL;
  *done = false;
  if (p->m == 0 || p->n == 0 || p->k == 0 || p->batches == 0 || !plan_calls(p, &all)) return NULL;
  zb_cuda_product onto_bias = *p;
  bool bias_first = rounds_before_bias(p, &all.key);
  if (bias_first) {
    if (p->accumulate) return NULL;
    onto_bias.bias = NULL;
    onto_bias.accumulate = true;
    if (!plan_calls(&onto_bias, &all)) return NULL;
  }
  ZB_TRY(find_entry(on->blas, &all.key, &e));
  if (e->refused) return NULL;
  if (bias_first) ZB_TRY(bias_in_rows(on, p));
  int64_t out_step = all.key.d.rows * all.key.d.columns * all.key.batches;
  for (int64_t i = 0; i < all.outer_count && !on->only_choosing; ++i) {
    int64_t rest = i, lhs = 0, rhs = 0;
    for (int d = 0; d < all.outer_rank; ++d) {
      lhs += rest % all.outer_shape[d] * all.outer_lhs[d];
      rhs += rest % all.outer_shape[d] * all.outer_rhs[d];
      rest /= all.outer_shape[d];
    }
    ZB_TRY(run_one(on, e, bias_first ? &onto_bias : p, lhs, rhs, i * out_step));
  }
  *done = true;
  return NULL;
}
