/* Data movement: strided copies, gather and its relatives, and their gradients.
 *
 * Copies move units of 1 to 16 bytes; the host makes units of 16 where dimensions, strides and addresses allow. The
 * gradient of a gather has one owner a place of the result: the indices are sorted (stable, by digits, in one block),
 * and the block whose index is the first of a run adds the rows of the run in the order of the indices. No atomics; the
 * order of the sums is the CPU's. */
#include "kernels/cuda/device.cuh"

struct alignas(16) unit16 {
  uint32_t v[4];
};

template <typename U> ZB_DEVICE void move(const zb_move_args &a) {
  int64_t i = global_thread();
  if (i < a.elements) ((U *)a.out)[at(a.out_dims, i)] = ((const U *)a.in)[at(a.in_dims, i)];
}

template <typename U> ZB_DEVICE void gather(const zb_gather_args &a) {
  int64_t i = global_thread();
  if (i >= a.elements) return;
  int64_t inner = i % a.inner_size, rest = i / a.inner_size, k = a.by_element ? i : rest % a.index_count;
  int64_t place =
      place_from(a.least, load_integer(a.indices, a.index_dtype, at(a.index_dims, k)), a.axis_size, a.fault);
  int64_t from = a.by_element ? at(a.outer_dims, i) : at(a.outer_dims, rest / a.index_count) + at(a.inner_dims, inner);
  U nothing = U();
  ((U *)a.out)[i] = place < 0 ? nothing : ((const U *)a.data)[from + place * a.axis_stride];
}

#define ZB_MOVE_KERNELS(suffix, U)                                                                                     \
  ZB_KERNEL(zb_move_##suffix, zb_move_args, ZB_MOVE_THREADS) { move<U>(a); }                                           \
  ZB_KERNEL(zb_gather_##suffix, zb_gather_args, ZB_MOVE_THREADS) { gather<U>(a); }
ZB_MOVE_KERNELS(1, uint8_t)
ZB_MOVE_KERNELS(2, uint16_t)
ZB_MOVE_KERNELS(4, uint32_t)
ZB_MOVE_KERNELS(8, uint64_t)
ZB_MOVE_KERNELS(16, unit16)

/* ---- Sorting indices ---- */

/* The place that index number `position` names; one behind the last for an index that is out of range. */
ZB_DEVICE int64_t sort_key(const zb_sort_args &a, int64_t position) {
  int64_t place = place_of(load_integer(a.indices, a.index_dtype, at(a.index_dims, position)), a.axis_size, a.fault);
  return place < 0 ? a.axis_size : place;
}

/* Where count i lies: 16 neighbours, which one thread adds, and those of the next thread begin in different banks. */
ZB_DEVICE int slot(int i) { return i + i / ZB_SORT_DIGITS; }

/* counts[slot(0..ZB_SORT_DIGITS * ZB_SORT_THREADS)) become sums of all before them. */
ZB_DEVICE void sums_before(int32_t *counts, int32_t *sums) {
  int thread = (int)threadIdx.x;
  int32_t *mine = counts + slot(thread * ZB_SORT_DIGITS), own = 0;
  for (int d = 0; d < ZB_SORT_DIGITS; ++d)
    own += mine[d];
  sums[thread] = own;
  __syncthreads();
  for (int step = 1; step < ZB_SORT_THREADS; step *= 2) {
    int32_t other = thread >= step ? sums[thread - step] : 0;
    __syncthreads();
    sums[thread] += other;
    __syncthreads();
  }
  int32_t before = sums[thread] - own;
  for (int d = 0; d < ZB_SORT_DIGITS; ++d) {
    int32_t count = mine[d];
    mine[d] = before;
    before += count;
  }
  __syncthreads();
}

/* One block: positions 0..index_count-1 in the order of what their indices name, equal ones in their own order. */
ZB_KERNEL(zb_sort_indices, zb_sort_args, ZB_SORT_THREADS) {
  int32_t *counts = (int32_t *)zb_shared(), *sums = counts + slot(ZB_SORT_DIGITS * ZB_SORT_THREADS);
  int thread = (int)threadIdx.x;
  int64_t part = (a.index_count + ZB_SORT_THREADS - 1) / ZB_SORT_THREADS, begin = thread * part;
  int64_t end = begin + part < a.index_count ? begin + part : a.index_count;
  for (int pass = 0; pass < a.passes; ++pass) {
    bool last_half = (a.passes - pass) % 2 == 0;
    const int32_t *from = last_half ? a.positions : a.other;
    int32_t *to = last_half ? a.other : a.positions;
    int shift = pass * ZB_SORT_DIGIT_BITS;
    for (int d = 0; d < ZB_SORT_DIGITS; ++d)
      counts[slot(d * ZB_SORT_THREADS + thread)] = 0;
    for (int64_t i = begin; i < end; ++i) {
      int64_t position = pass == 0 ? i : from[i];
      ++counts[slot((int)(sort_key(a, position) >> shift & (ZB_SORT_DIGITS - 1)) * ZB_SORT_THREADS + thread)];
    }
    __syncthreads();
    sums_before(counts, sums);
    for (int64_t i = begin; i < end; ++i) {
      int64_t position = pass == 0 ? i : from[i];
      to[counts[slot((int)(sort_key(a, position) >> shift & (ZB_SORT_DIGITS - 1)) * ZB_SORT_THREADS + thread)]++] =
          (int32_t)position;
    }
    __syncthreads();
  }
}

/* ---- Adding rows where indices say ---- */

/* The place of the k-th index in sorted order; -1: out of range. */
ZB_DEVICE int64_t sorted_place(const zb_scatter_args &a, int64_t k) {
  return place_of(load_integer(a.indices, a.index_dtype, at(a.index_dims, a.positions[k])), a.axis_size, a.fault);
}

/* Behind the run of indices that name `place`, of which k = first is one: a frequent word has thousands, so in steps
 * that double, then halve. */
ZB_DEVICE int64_t run_end(const zb_scatter_args &a, int64_t first, int64_t place) {
  int64_t end = first + 1, step = 1;
  for (; end + step <= a.index_count && sorted_place(a, end + step - 1) == place; step *= 2)
    end += step;
  for (; step > 0; step /= 2)
    if (end + step <= a.index_count && sorted_place(a, end + step - 1) == place) end += step;
  return end;
}

/* The rows of a run at one place of the result, in order: many loads under way, one sum. */
template <typename T>
ZB_DEVICE float add_run(const zb_scatter_args &a, int64_t first, int64_t end, int64_t outer, int64_t inner,
                        float total) {
  enum { AHEAD = 16 };
  const T *dout = (const T *)a.dout;
  int64_t before = outer * a.index_count, k = first;
  if (a.dout_dims.rank == 1) {
    int64_t step = a.dout_dims.stride[0];
    for (; k + AHEAD <= end; k += AHEAD) {
      T x[AHEAD];
      for (int i = 0; i < AHEAD; ++i)
        x[i] = dout[((before + a.positions[k + i]) * a.inner_size + inner) * step];
      for (int i = 0; i < AHEAD; ++i)
        total += value_of(x[i]);
    }
  }
  for (; k < end; ++k)
    total += value_of(dout[at(a.dout_dims, (before + a.positions[k]) * a.inner_size + inner)]);
  return total;
}

ZB_KERNEL(zb_scatter_add, zb_scatter_args, ZB_SCATTER_THREADS) {
  int64_t first = blockIdx.x, place = sorted_place(a, first);
  if (place < 0 || (first > 0 && sorted_place(a, first - 1) == place)) return;
  int64_t end = run_end(a, first, place), elements = a.outer_size * a.inner_size,
          step = (int64_t)gridDim.y * blockDim.x;
  for (int64_t e = (int64_t)blockIdx.y * blockDim.x + threadIdx.x; e < elements; e += step) {
    int64_t outer = e / a.inner_size, inner = e - outer * a.inner_size,
            to = (outer * a.axis_size + place) * a.inner_size + inner;
    float total = load_float(a.ddata, a.data_dtype, to);
    if (a.dout_dtype == ZB_F32)
      total = add_run<float>(a, first, end, outer, inner, total);
    else if (a.dout_dtype == ZB_BF16)
      total = add_run<bf16>(a, first, end, outer, inner, total);
    else
      total = add_run<f16>(a, first, end, outer, inner, total);
    store_float(a.ddata, a.data_dtype, to, total);
  }
}

/* gather_elements: a thread owns a line along the axis, and adds its elements in order. */
ZB_KERNEL(zb_scatter_lines, zb_scatter_args, ZB_SCATTER_THREADS) {
  int64_t line = global_thread();
  if (line >= a.outer_size) return;
  int64_t data = at(a.data_dims, line), index = at(a.index_dims, line), dout = at(a.dout_dims, line);
  for (int64_t k = 0; k < a.index_count; ++k) {
    int64_t place =
        place_of(load_integer(a.indices, a.index_dtype, index + k * a.index_axis_stride), a.axis_size, a.fault);
    if (place < 0) continue;
    int64_t to = data + place * a.axis_stride;
    float total =
        load_float(a.ddata, a.data_dtype, to) + load_float(a.dout, a.dout_dtype, dout + k * a.dout_axis_stride);
    store_float(a.ddata, a.data_dtype, to, total);
  }
}

/* ---- scatter ---- */

/* As kernels/cpu/ref/move.c: a NaN of either stays. */
ZB_DEVICE float put_real(float a, float b, int reduction) {
  if (reduction == ZB_PUT_ADD) return a + b;
  if (reduction == ZB_PUT_MUL) return a * b;
  if (a != a) return a;
  return (reduction == ZB_PUT_MIN ? a < b : a > b) ? a : b;
}

ZB_DEVICE int64_t put_integer(int64_t a, int64_t b, int reduction) {
  if (reduction == ZB_PUT_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (reduction == ZB_PUT_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  return (reduction == ZB_PUT_MIN ? a < b : a > b) ? a : b;
}

/* A place and the updates of a run, in order. */
ZB_DEVICE void put_updates(const zb_put_args &a, int64_t first, int64_t end, int64_t inner, int64_t to) {
  if (is_float(a.dtype)) {
    float total = load_float(a.out, a.dtype, to);
    for (int64_t k = first; k < end; ++k)
      total = put_real(total, load_float(a.updates, a.dtype, at(a.update_dims, a.positions[k] * a.inner_size + inner)),
                       a.reduction);
    store_float(a.out, a.dtype, to, total);
    return;
  }
  int64_t total = load_integer(a.out, a.dtype, to);
  for (int64_t k = first; k < end; ++k)
    total = put_integer(
        total, load_integer(a.updates, a.dtype, at(a.update_dims, a.positions[k] * a.inner_size + inner)), a.reduction);
  store_integer(a.out, a.dtype, to, total);
}

/* The place of the k-th index in sorted order; -1: out of range. */
ZB_DEVICE int64_t put_place(const zb_put_args &a, int64_t k) {
  return place_of(load_integer(a.indices, a.index_dtype, at(a.index_dims, a.positions[k])), a.axis_size, a.fault);
}

/* A block an index in sorted order: the last of a run of equal ones owns the place. */
ZB_KERNEL(zb_put_rows, zb_put_args, ZB_SCATTER_THREADS) {
  int64_t last = blockIdx.x, place = put_place(a, last), first = last;
  if (place < 0 || (last + 1 < a.index_count && put_place(a, last + 1) == place)) return;
  while (a.reduction != ZB_PUT_NONE && first > 0 && put_place(a, first - 1) == place)
    --first;
  for (int64_t inner = threadIdx.x; inner < a.inner_size; inner += blockDim.x) {
    int64_t to = place * a.inner_size + inner, from = at(a.update_dims, a.positions[last] * a.inner_size + inner);
    if (a.reduction != ZB_PUT_NONE)
      put_updates(a, first, last + 1, inner, to);
    else if (is_float(a.dtype))
      store_float(a.out, a.dtype, to, load_float(a.updates, a.dtype, from));
    else
      store_integer(a.out, a.dtype, to, load_integer(a.updates, a.dtype, from));
  }
}

ZB_KERNEL(zb_ravel_index, zb_ravel_args, ZB_MOVE_THREADS) {
  int64_t i = global_thread(), number = 0;
  if (i >= a.tuples) return;
  int64_t from = at(a.tuple_dims, i);
  for (int k = 0; k < a.count; ++k) {
    int64_t place = place_of(load_integer(a.indices, a.index_dtype, from + k * a.entry_stride), a.shape[k], a.fault);
    number = number * a.shape[k] + (place < 0 ? 0 : place);
  }
  a.out[i] = number;
}

/* ---- cumsum ---- */

ZB_KERNEL(zb_cumsum, zb_cumsum_args, ZB_SCATTER_THREADS) {
  int64_t line = global_thread();
  if (line >= a.lines) return;
  int64_t from = at(a.x_lines, line), to = at(a.out_lines, line);
  float sum = 0;
  uint64_t whole = 0;
  for (int64_t k = 0; k < a.size; ++k, from += a.x_step, to += a.out_step) {
    if (is_float(a.dtype)) {
      float next = sum + load_float(a.x, a.dtype, from);
      store_float(a.out, a.dtype, to, a.exclusive ? sum : next);
      sum = next;
    } else {
      uint64_t next = whole + (uint64_t)load_integer(a.x, a.dtype, from);
      store_integer(a.out, a.dtype, to, (int64_t)(a.exclusive ? whole : next));
      whole = next;
    }
  }
}

/* ---- top_k ---- */

/* 1: element i comes before element j; -1: after it; 0: they are equal. NaN is the greatest. */
ZB_DEVICE int order_of(const zb_top_k_args &a, int64_t i, int64_t j) {
  int greater;
  if (is_float(a.dtype)) {
    float left = load_float(a.x, a.dtype, i), right = load_float(a.x, a.dtype, j);
    bool left_nan = left != left, right_nan = right != right;
    greater = left_nan || right_nan ? (int)left_nan - (int)right_nan : (left > right) - (left < right);
  } else {
    int64_t left = load_integer(a.x, a.dtype, i), right = load_integer(a.x, a.dtype, j);
    greater = (left > right) - (left < right);
  }
  return a.largest ? greater : -greater;
}

ZB_KERNEL(zb_top_k, zb_top_k_args, ZB_SCATTER_THREADS) {
  int64_t line = global_thread();
  if (line >= a.lines) return;
  int64_t from = at(a.x_lines, line), to = at(a.out_lines, line), last = -1;
  for (int64_t n = 0; n < a.k; ++n, to += a.out_step) {
    int64_t best = -1;
    for (int64_t i = 0; i < a.size; ++i) {
      int behind = last < 0 ? -1 : order_of(a, from + i * a.x_step, from + last * a.x_step);
      if (behind > 0 || (behind == 0 && i <= last)) continue;
      if (best < 0 || order_of(a, from + i * a.x_step, from + best * a.x_step) > 0) best = i;
    }
    a.out[to] = last = best;
  }
}
