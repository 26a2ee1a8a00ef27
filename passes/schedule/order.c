/* Orders: the growing lists of jobs, their text, and exact peaks. Tests: test/passes/schedule/order_test.c. */
#include <limits.h>
#include <stdio.h>

#include "passes/schedule/model.h"
#include "runtime/base/text.h"

/* Jobs that zb_order_marked shows to the left and to the right of the mark. */
enum { MARK_WINDOW = 10 };

zb_status zb_order_init(zb_order *order, int ranks) {
  *order = (zb_order){0};
  if (ranks < 1) return ZB_ERROR(INVALID, "ranks: expected 1 or more, got %d", ranks);
  order->ranks = ranks;
  order->jobs = zb_alloc((size_t)ranks * sizeof *order->jobs);
  order->counts = zb_alloc((size_t)ranks * sizeof *order->counts);
  order->capacities = zb_alloc((size_t)ranks * sizeof *order->capacities);
  if (order->jobs && order->counts && order->capacities) return NULL;
  zb_order_deinit(order);
  return ZB_OUT_OF_MEMORY();
}

void zb_order_deinit(zb_order *order) {
  for (int rank = 0; order->jobs && rank < order->ranks; ++rank)
    zb_free(order->jobs[rank]);
  zb_free(order->jobs);
  zb_free(order->counts);
  zb_free(order->capacities);
  *order = (zb_order){0};
}

zb_status zb_order_add(zb_order *order, int rank, int stage, zb_kind kind, int micro_batch) {
  if (rank < 0 || rank >= order->ranks)
    return ZB_ERROR(INVALID, "expected a rank of 0..%d, got %d", order->ranks - 1, rank);
  if (order->counts[rank] == order->capacities[rank]) {
    if (order->capacities[rank] > INT_MAX / 2) return ZB_OUT_OF_MEMORY();
    const int capacity = order->capacities[rank] ? order->capacities[rank] * 2 : 64;
    zb_job *jobs = zb_realloc(order->jobs[rank], (size_t)capacity * sizeof *jobs);
    if (!jobs) return ZB_OUT_OF_MEMORY();
    order->jobs[rank] = jobs;
    order->capacities[rank] = capacity;
  }
  order->jobs[rank][order->counts[rank]++] = (zb_job){stage, micro_batch, kind};
  return NULL;
}

bool zb_order_is_whole(const zb_order *order, int rank, int index) {
  if (!order->whole_backward || index < 0 || index + 1 >= order->counts[rank]) return false;
  const zb_job job = order->jobs[rank][index], next = order->jobs[rank][index + 1];
  return job.kind == ZB_B && next.kind == ZB_W && next.stage == job.stage && next.micro_batch == job.micro_batch;
}

const char *zb_job_text(zb_job job, char text[32]) {
  const bool known = job.kind >= 0 && job.kind < ZB_KIND_COUNT;
  snprintf(text, 32, "%d%c%d", job.stage, known ? zb_kind_letter(job.kind) : '?', job.micro_batch);
  return text;
}

/* Reads digits up to INT_MAX; NULL where there are none. */
static const char *parse_number(const char *text, int32_t *out) {
  int64_t value = 0;
  const char *start = text;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + (*text - '0');
    if (value > INT32_MAX) return NULL;
  }
  *out = (int32_t)value;
  return text == start ? NULL : text;
}

bool zb_job_parse(const char *text, zb_job *out) {
  zb_job job;
  text = parse_number(text, &job.stage);
  if (!text) return false;
  if (*text == 'I')
    job.kind = ZB_B;
  else if (!zb_kind_parse(*text, &job.kind))
    return false;
  ++text;
  text = parse_number(text, &job.micro_batch);
  if (!text || *text) return false;
  *out = job;
  return true;
}

char *zb_order_marked(const zb_order *order, int rank, int index) {
  zb_text out = {0};
  char text[32];
  const bool window = index > MARK_WINDOW;
  const int begin = window ? index - MARK_WINDOW : 0;
  for (int r = 0; r < order->ranks; ++r) {
    zb_text_add(&out, "rank %d:%s", r, window ? " .." : "");
    for (int i = begin; i < order->counts[r]; ++i) {
      if (index >= 0 && i > begin + 2 * MARK_WINDOW) {
        zb_text_add(&out, " ..");
        break;
      }
      const bool marked = r == rank && i == index;
      zb_text_add(&out, "%s%s%s", marked ? " [" : " ", zb_job_text(order->jobs[r][i], text), marked ? "]" : "");
    }
    zb_text_add(&out, "\n");
  }
  return zb_text_take(&out);
}

void zb_order_peaks(const zb_problem *problem, const zb_order *order, int64_t *peak) {
  for (int rank = 0; rank < order->ranks; ++rank) {
    int64_t live = zb_base_bytes(problem, rank);
    peak[rank] = live;
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      live += problem->costs[job.stage].keep_bytes[job.kind];
      if (live > peak[rank]) peak[rank] = live;
      live -= problem->costs[job.stage].free_bytes[job.kind];
    }
  }
}
