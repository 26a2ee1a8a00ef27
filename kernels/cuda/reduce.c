/* Reductions: the plan of their blocks. The device side is reduce.cu. */
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/kernels.h"

#include <math.h>

/* Two blocks for each of the 132 multiprocessors of an H100. A constant, since how sums are split decides bits. */
enum { BLOCKS_WANTED = 264, SPLITS_MAX = 1024, ROW_PART_LEAST = 4096, COLUMN_PART_LEAST = 64, SHORT = 64 };

/* The kernels of one op: rows, then columns, of f32; the others follow in the order of functions.def. */
typedef struct reduction {
  zb_cuda_function row, column;
  bool floats_only, mean;
} reduction;

int64_t zb_cuda_splits(int64_t blocks, int64_t reduced, int64_t least, int64_t bytes, int64_t *part) {
  int64_t splits = zb_ceil_div(BLOCKS_WANTED, zb_max64(blocks, 1));
  splits = zb_min64(splits, zb_ceil_div(reduced, least));
  splits = zb_min64(splits, zb_min64(SPLITS_MAX, ZB_CUDA_SCRATCH_BYTES / zb_max64(bytes, 1)));
  splits = zb_max64(splits, 1);
  *part = zb_max64(zb_ceil_div(reduced, splits), 1);
  return zb_max64(zb_ceil_div(reduced, *part), 1);
}

/* Whether a thread can read 16 bytes of neighbouring results, of each of the positions that it goes over. */
static bool columns_in_groups(const zb_reduce_args *args, size_t element_bytes) {
  int n = zb_cuda_group_elements(element_bytes), last = args->kept_dims.rank - 1;
  zb_cuda_dims along = {.rank = 1, .shape = {args->kept_dims.shape[last]}, .stride = {args->kept_dims.stride[last]}},
               before = args->kept_dims;
  before.rank = last;
  return args->reduced_dims.rank == 1 && args->reduced_dims.stride[0] % n == 0 &&
         zb_cuda_in_groups(&before, &along, args->in, n, element_bytes);
}

static zb_status launch(zb_cuda_launcher *on, zb_cuda_function function, bool columns, zb_dtype dtype, int64_t splits,
                        zb_reduce_args *args) {
  size_t bytes = zb_dtype_bytes(dtype), sum_bytes = zb_cuda_is_float(dtype) ? sizeof(float) : sizeof(int64_t);
  args->dense = columns && columns_in_groups(args, bytes);
  int64_t in_thread = args->dense ? zb_cuda_group_elements(bytes) : 1;
  int64_t blocks = columns ? zb_ceil_div(args->kept, 32 * in_thread) : args->kept;
  int64_t shared = (columns ? ZB_REDUCE_THREADS * in_thread : ZB_REDUCE_THREADS / 32) * (int64_t)sum_bytes;
  return zb_cuda_enqueue(on, function, blocks, splits, ZB_REDUCE_THREADS, shared, args);
}

zb_status zb_cuda_combine(zb_cuda_launcher *on, zb_cuda_function column, zb_dtype dtype, const void *partial,
                          int64_t splits, int64_t kept, const zb_tensor *out, double count, bool accumulate) {
  zb_reduce_args args = {
      .in = partial, .out = out->data, .kept = kept, .reduced = splits, .part = splits, .count = count};
  args.out_dtype = (int32_t)out->dtype;
  args.accumulate = accumulate;
  args.kept_dims = (zb_cuda_dims){.rank = 1, .narrow = 1, .shape = {kept}, .stride = {1}};
  args.reduced_dims = (zb_cuda_dims){.rank = 1, .narrow = 1, .shape = {splits}, .stride = {kept}};
  return launch(on, column, true, dtype, 1, &args);
}

/* The bit set of the reduced dimensions: all for an empty list. False where an axis is not one. */
static bool reduced_dimensions(const zb_kernel_call *call, unsigned *out) {
  const zb_attr *axes = zb_attr_find(&call->attrs, "axes");
  int rank = call->inputs[0].rank, count = axes && axes->kind == ZB_ATTR_INTS ? axes->count : 0;
  *out = count ? 0 : (1u << rank) - 1;
  for (int i = 0; i < count; ++i) {
    if (axes->ints[i] < 0 || axes->ints[i] >= rank) return false;
    *out |= 1u << axes->ints[i];
  }
  return true;
}

static bool matches(const zb_kernel_call *call, bool floats_only) {
  unsigned dimensions;
  if (!zb_cuda_complete(call, 1, 1, false) || !reduced_dimensions(call, &dimensions)) return false;
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  if (zb_cuda_count(x, ~dimensions) != zb_tensor_elements(out)) return false;
  if (zb_cuda_is_float(x->dtype)) return out->dtype == x->dtype || out->dtype == ZB_F32;
  return !floats_only && zb_dtype_is_index(x->dtype) && out->dtype == x->dtype;
}

static zb_cuda_function for_type(zb_cuda_function f32, zb_dtype dtype) {
  return zb_cuda_is_float(dtype) ? zb_cuda_for_float(f32, dtype) : zb_cuda_for_integer(f32 + 3, dtype);
}

static zb_status run(const zb_kernel_call *call, zb_cuda_launcher *on, const reduction *op) {
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  unsigned dimensions;
  (void)reduced_dimensions(call, &dimensions); /* matches() asked */
  zb_reduce_args args = {.in = x->data, .out = out->data, .out_dtype = (int32_t)out->dtype};
  args.kept = zb_tensor_elements(out);
  args.reduced = zb_cuda_count(x, dimensions);
  double count = op->mean ? (double)args.reduced : 0;
  if (op->mean && count == 0) count = NAN; /* the mean of nothing */
  (void)zb_cuda_dims_of(x, x, ~dimensions, &args.kept_dims);
  (void)zb_cuda_dims_of(x, x, dimensions, &args.reduced_dims);
  if (args.kept == 0) return NULL;
  bool side_by_side = args.kept_dims.stride[args.kept_dims.rank - 1] == 1;
  bool columns = args.kept > 1 && (side_by_side || args.reduced <= SHORT);
  bool real = zb_cuda_is_float(x->dtype);
  int64_t blocks = args.kept; /* of columns: as if they lay in groups, as how they lie must not decide bits */
  if (columns) blocks = zb_ceil_div(args.kept, 32 * zb_cuda_group_elements(zb_dtype_bytes(x->dtype)));
  int64_t least = columns ? COLUMN_PART_LEAST : ROW_PART_LEAST;
  int64_t splits = zb_cuda_splits(blocks, args.reduced, least, args.kept * (real ? 4 : 8), &args.part);
  zb_cuda_function function = for_type(columns ? op->column : op->row, x->dtype);
  zb_dtype sums = real ? ZB_F32 : ZB_I64;
  if (splits == 1) {
    args.count = count;
    return launch(on, function, columns, x->dtype, 1, &args);
  }
  args.out = zb_cuda_scratch(on);
  args.out_dtype = (int32_t)sums;
  ZB_TRY(launch(on, function, columns, x->dtype, splits, &args));
  return zb_cuda_combine(on, for_type(op->column, sums), sums, args.out, splits, args.kept, out, count, false);
}

#define REDUCTION(name, kernel, floats_only, mean)                                                                     \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return matches(call, floats_only); }                       \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    static const reduction op = {ZB_FUNCTION_zb_##kernel##_row_f32, ZB_FUNCTION_zb_##kernel##_column_f32, floats_only, \
                                 mean};                                                                                \
    return run(call, on, &op);                                                                                         \
  }
REDUCTION(reduce_sum, sum, false, false)
REDUCTION(reduce_mean, sum, true, true)
REDUCTION(reduce_prod, prod, false, false)
REDUCTION(reduce_max, max, false, false)
REDUCTION(reduce_min, min, false, false)
