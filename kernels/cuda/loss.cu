/* Losses: cross entropy of logits, negative log-likelihood, and their gradients.
 *
 * Forward: one block a row gives lse, in one pass over its scores; then one block adds the losses of all rows, in f64,
 * from lse and the logits of the labels: no probability is stored. Gradient: one block counts the rows that the mean is
 * over, then one block a row writes exp(logit - lse). A label that is out of range counts as ignored and is a fault. */
#include "kernels/cuda/device.cuh"

/* The class of a row, or -1 where it counts for nothing. */
ZB_DEVICE int64_t label_of(const zb_loss_args &a, int64_t row, bool report) {
  int64_t label = load_integer(a.labels, a.label_dtype, at(a.label_rows, row));
  if (a.ignores && label == a.ignore_index) return -1;
  if (label >= 0 && label < a.classes) return label;
  if (report) report_fault(a.fault, ZB_FAULT_LABEL, label, 0, a.classes - 1);
  return -1;
}

template <typename T> ZB_DEVICE void row_lse(const zb_loss_args &a) {
  constexpr int N = 16 / sizeof(T);
  const T *scores = (const T *)a.scores + at(a.score_rows, blockIdx.x);
  exponential_sum sum = {-INFINITY, 0};
  for (int64_t first = (int64_t)threadIdx.x * N; first < a.classes; first += (int64_t)blockDim.x * N) {
    float x[N];
    if (a.dense)
      load_dense(scores + first, x);
    else
      for (int i = 0; i < N; ++i)
        x[i] = first + i < a.classes ? value_of(scores[(first + i) * a.class_stride]) : -INFINITY;
    sum.add(x);
  }
  sum.over_threads(zb_shared());
  if (threadIdx.x == 0) store_float(a.lse, a.lse_dtype, at(a.lse_rows, blockIdx.x), sum.largest + log(sum.total));
}

ZB_DEVICE double row_loss(const zb_loss_args &a, int64_t row, int64_t label) {
  if (label < 0) return 0;
  double score = (double)load_float(a.scores, a.score_dtype, at(a.score_rows, row) + label * a.class_stride);
  return a.negative_likelihood ? -score : (double)load_float(a.lse, a.lse_dtype, at(a.lse_rows, row)) - score;
}

/* One block: the loss of every row, or their sum or mean. */
ZB_KERNEL(zb_loss_total, zb_loss_args, ZB_LOSS_SUM_THREADS) {
  double total = 0;
  int64_t counted = 0;
  for (int64_t row = threadIdx.x; row < a.rows; row += blockDim.x) {
    int64_t label = label_of(a, row, true);
    double value = row_loss(a, row, label);
    if (a.reduction == ZB_LOSS_NONE) store_float(a.loss, a.loss_dtype, row, (float)value);
    total += value;
    counted += label >= 0;
  }
  if (a.reduction == ZB_LOSS_NONE) return;
  total = over_block(total, add_values(), zb_shared());
  counted = over_block(counted, add_values(), zb_shared());
  if (threadIdx.x == 0)
    store_double(a.loss, a.loss_dtype, 0, a.reduction == ZB_LOSS_MEAN ? total / (double)counted : total);
}

/* One block: the weight of a row in a mean. */
ZB_KERNEL(zb_loss_weight, zb_loss_args, ZB_LOSS_SUM_THREADS) {
  int64_t counted = 0;
  for (int64_t row = threadIdx.x; row < a.rows; row += blockDim.x)
    counted += label_of(a, row, true) >= 0;
  counted = over_block(counted, add_values(), zb_shared());
  if (threadIdx.x == 0) *a.weight = a.reduction == ZB_LOSS_MEAN ? (float)(1 / (double)counted) : 1;
}

/* dlogits = (exp(logit - lse) - [c is the label]) * dloss * weight; of log-probabilities: -[c is the label] * dloss *
 * weight. */
template <typename T> ZB_DEVICE void loss_grad(const zb_loss_args &a) {
  int64_t row = blockIdx.x, label = label_of(a, row, false);
  constexpr int N = 16 / sizeof(T);
  T *to = (T *)a.dscores + row * a.classes;
  float factor = label < 0 ? 0 : load_float(a.dloss, a.loss_dtype, at(a.dloss_rows, row)) * *a.weight;
  float lse = a.negative_likelihood ? 0 : load_float(a.saved_lse, a.lse_dtype, at(a.lse_rows, row));
  int64_t from = a.negative_likelihood ? 0 : at(a.score_rows, row);
  for (int64_t first = (int64_t)threadIdx.x * N; first < a.classes; first += (int64_t)blockDim.x * N) {
    T out[N];
    float scores[N] = {};
    int count = count_before(first, a.classes, N),
        hit = label >= first && label < first + N ? (int)(label - first) : -1;
    if (a.dense && !a.negative_likelihood)
      load_dense((const T *)a.scores + from + first, scores);
    else
      for (int i = 0; i < N && !a.negative_likelihood; ++i)
        if (i < count) scores[i] = load_float(a.scores, a.score_dtype, from + (first + i) * a.class_stride);
    for (int i = 0; i < N; ++i) {
      float share = a.negative_likelihood ? 0 : exp(scores[i] - lse);
      set(out[i], label < 0 ? 0.0f : (share - (i == hit ? 1.0f : 0.0f)) * factor);
    }
    store_part(to + first, a.dense_out, count, out);
  }
}

ZB_FLOAT_KERNELS(zb_row_lse, zb_loss_args, ZB_ROW_THREADS, row_lse)
ZB_FLOAT_KERNELS(zb_loss_grad, zb_loss_args, ZB_ROW_THREADS, loss_grad)
