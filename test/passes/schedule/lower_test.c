/* Sends and receives in one global order: executors without any buffering run the lists of every schedule, placement
 * and size.
 *
 * The executors know nothing of keys or simulation: they have the lists of all ranks, and a transfer happens when both
 * of its ends are next. What they give is compared with the simulator, and with a table that was measured with other
 * code. PyTorch's own lists are made here as it makes them (_add_send_recv of
 * torch/distributed/pipelining/schedules.py), which shows that the executor is that of the table.
 */
#include <math.h>

#include "fixture.h"
#include "random_order.h"

typedef enum entry_kind { JOB, SEND, RECEIVE } entry_kind;
typedef struct entry {
  entry_kind kind;
  int index;  /* of the rank's job, or of the transfer */
  int behind; /* jobs before it in the list */
} entry;

/* BLOCKING: everything of a rank one after the other. STREAM: sends and receives on a stream of their own, each behind
 * the jobs before it in the list. FREE: on a stream of their own, each behind what it sends. */
typedef enum mode { BLOCKING, STREAM, FREE, MODE_COUNT } mode;

enum { RANKS_MAX = 16 };

typedef struct execution {
  const zb_problem *problem;
  const zb_order *order;
  const zb_transfer *transfers;
  size_t transfer_count;
  entry *lists[RANKS_MAX];
  int counts[RANKS_MAX], jobs[RANKS_MAX]; /* entries; jobs in the list so far */
  zb_job_times *times[RANKS_MAX];
  int64_t *arrival; /* [stage][micro_batch][F, B] */
  int *missing;
} execution;

static void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count + 1, bytes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
  return memory;
}

static void execution_init(execution *x, const zb_problem *problem, const zb_order *order,
                           const zb_lowering *lowering) {
  const size_t inputs = (size_t)problem->stages * (size_t)problem->micro_batches * 2;
  *x = (execution){
      .problem = problem, .order = order, .transfers = lowering->transfers, .transfer_count = lowering->count};
  CU_ASSERT_FATAL(problem->ranks <= RANKS_MAX);
  for (int rank = 0; rank < problem->ranks; ++rank) {
    x->lists[rank] = allocate((size_t)order->counts[rank] + lowering->count, sizeof(entry));
    x->times[rank] = allocate((size_t)order->counts[rank], sizeof(zb_job_times));
  }
  x->arrival = allocate(inputs, sizeof(int64_t));
  x->missing = allocate(inputs, sizeof(int));
}

static void execution_deinit(execution *x) {
  for (int rank = 0; rank < x->problem->ranks; ++rank) {
    free(x->lists[rank]);
    free(x->times[rank]);
  }
  free(x->arrival);
  free(x->missing);
}

static void add_entry(execution *x, int rank, entry_kind kind, int index) {
  x->lists[rank][x->counts[rank]++] = (entry){kind, index, x->jobs[rank]};
  if (kind == JOB) ++x->jobs[rank];
}

static int sender_of(const execution *x, const zb_transfer *t) { return x->problem->stage_rank[t->source]; }
static int receiver_of(const execution *x, const zb_transfer *t) { return x->problem->stage_rank[t->destination]; }

/* The lists as zb/schedule.h says that they are; places never fall. */
static void make_lists(execution *x) {
  for (size_t i = 0; i < x->transfer_count; ++i) {
    const zb_transfer *t = &x->transfers[i];
    const int ranks[] = {sender_of(x, t), receiver_of(x, t)}, at[] = {t->send_at, t->receive_at};
    for (int end = 0; end < 2; ++end) {
      while (x->jobs[ranks[end]] < at[end])
        add_entry(x, ranks[end], JOB, x->jobs[ranks[end]]);
      CU_ASSERT(x->jobs[ranks[end]] == at[end]);
      add_entry(x, ranks[end], end ? RECEIVE : SEND, (int)i);
    }
  }
  for (int rank = 0; rank < x->problem->ranks; ++rank)
    while (x->jobs[rank] < x->order->counts[rank])
      add_entry(x, rank, JOB, x->jobs[rank]);
}

/* ---- Execution ---- */

/* Where a rank stands. */
typedef struct place {
  int job, operation; /* entries */
  int jobs_done;
  int64_t job_clock, operation_clock;
} place;

static int next_entry(const execution *x, int rank, int from, bool job) {
  while (from < x->counts[rank] && (x->lists[rank][from].kind == JOB) != job)
    ++from;
  return from;
}

static size_t input(const execution *x, int stage, int micro_batch, zb_kind kind) {
  return ((size_t)stage * (size_t)x->problem->micro_batches + (size_t)micro_batch) * 2 + (size_t)kind;
}

static bool run_job(execution *x, place *p, int rank, mode how) {
  if (p->job == x->counts[rank] || (how == BLOCKING && p->operation < p->job)) return false;
  const int index = x->lists[rank][p->job].index;
  const zb_job job = x->order->jobs[rank][index];
  int64_t start = p->job_clock;
  if (how == BLOCKING && p->operation_clock > start) start = p->operation_clock;
  if (job.kind != ZB_W) {
    const size_t in = input(x, job.stage, job.micro_batch, job.kind);
    if (x->missing[in] > 0) return false;
    if (x->arrival[in] > start) start = x->arrival[in];
  }
  p->job_clock = start + x->problem->costs[job.stage].time_ps[job.kind];
  x->times[rank][index] = (zb_job_times){start, p->job_clock};
  p->job = next_entry(x, rank, p->job + 1, true);
  ++p->jobs_done;
  return true;
}

/* Since when this end of the transfer is ready; -1: it is not. */
static int64_t ready(const execution *x, const place *p, int rank, int transfer, entry_kind kind, mode how) {
  if (p->operation == x->counts[rank]) return -1;
  const entry e = x->lists[rank][p->operation];
  if (e.kind != kind || e.index != transfer) return -1;
  const int behind = how != FREE ? e.behind : kind == SEND ? x->transfers[transfer].send_at : 0;
  if (p->jobs_done < behind) return -1;
  const int64_t jobs = behind ? x->times[rank][behind - 1].end_ps : 0;
  return jobs > p->operation_clock ? jobs : p->operation_clock;
}

static bool run_transfer(execution *x, place *places, int rank, mode how) {
  if (places[rank].operation == x->counts[rank]) return false;
  const int transfer = x->lists[rank][places[rank].operation].index;
  const zb_transfer *t = &x->transfers[transfer];
  const int from = sender_of(x, t), to = receiver_of(x, t);
  const int64_t send = ready(x, &places[from], from, transfer, SEND, how);
  const int64_t receive = ready(x, &places[to], to, transfer, RECEIVE, how);
  if (send < 0 || receive < 0) return false;
  const int64_t end = (send > receive ? send : receive) + x->problem->link_latency_ps;
  places[from].operation_clock = places[to].operation_clock = end;
  places[from].operation = next_entry(x, from, places[from].operation + 1, false);
  places[to].operation = next_entry(x, to, places[to].operation + 1, false);
  const size_t in = input(x, t->destination, t->micro_batch, t->kind);
  --x->missing[in];
  if (end > x->arrival[in]) x->arrival[in] = end;
  return true;
}

/* Runs the lists; the end of the last job, -1 for a deadlock. */
static int64_t execute(execution *x, mode how) {
  place places[RANKS_MAX] = {0};
  const size_t inputs = (size_t)x->problem->stages * (size_t)x->problem->micro_batches * 2;
  memset(x->missing, 0, inputs * sizeof *x->missing);
  memset(x->arrival, 0, inputs * sizeof *x->arrival);
  for (size_t i = 0; i < x->transfer_count; ++i)
    ++x->missing[input(x, x->transfers[i].destination, x->transfers[i].micro_batch, x->transfers[i].kind)];
  for (int rank = 0; rank < x->problem->ranks; ++rank) {
    places[rank].job = next_entry(x, rank, 0, true);
    places[rank].operation = next_entry(x, rank, 0, false);
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (int rank = 0; rank < x->problem->ranks; ++rank)
      while (run_job(x, &places[rank], rank, how) || run_transfer(x, places, rank, how))
        progress = true;
  }
  int64_t last = 0;
  for (int rank = 0; rank < x->problem->ranks; ++rank) {
    if (places[rank].job != x->counts[rank] || places[rank].operation != x->counts[rank]) return -1;
    if (places[rank].job_clock > last) last = places[rank].job_clock;
  }
  return last;
}

/* ---- What a lowering must be ---- */

/* Every message of every edge between ranks once, right after its producer, in the order of their ends. */
static void check_transfers(const zb_problem *p, const zb_order *order, const zb_simulation *simulation,
                            const zb_lowering *lowering) {
  const int edges = p->edges ? p->edge_count : p->stages - 1;
  int *seen = allocate((size_t)p->stages * (size_t)p->stages * (size_t)p->micro_batches, sizeof *seen);
  size_t expected = 0;
  for (int i = 0; i < edges; ++i) {
    const zb_edge edge = p->edges ? p->edges[i] : (zb_edge){i, i + 1, 0, 1};
    if (p->stage_rank[edge.source] == p->stage_rank[edge.destination]) continue;
    expected += (size_t)p->micro_batches * (edge.backward_bytes > 0 ? 2 : 1);
  }
  CU_ASSERT_EQUAL(lowering->count, expected);
  int64_t before = 0;
  for (size_t i = 0; i < lowering->count; ++i) {
    const zb_transfer *t = &lowering->transfers[i];
    const int rank = p->stage_rank[t->source];
    CU_ASSERT(t->kind == ZB_F ? t->source < t->destination : t->source > t->destination);
    CU_ASSERT(seen[((size_t)t->source * (size_t)p->stages + (size_t)t->destination) * (size_t)p->micro_batches +
                   (size_t)t->micro_batch]++ == 0);
    CU_ASSERT_FATAL(t->send_at > 0 && t->send_at <= order->counts[rank]);
    const zb_job made = order->jobs[rank][t->send_at - 1];
    CU_ASSERT(made.stage == t->source && made.micro_batch == t->micro_batch);
    CU_ASSERT(made.kind == t->kind || (order->whole_backward && made.kind == ZB_W && t->kind == ZB_B));
    CU_ASSERT(t->ready_ps == simulation->jobs[rank][t->send_at - 1].end_ps);
    CU_ASSERT(t->ready_ps >= before);
    before = t->ready_ps;
  }
  free(seen);
}

/* No job later than simulated. */
static bool as_simulated(const execution *x, const zb_simulation *simulation) {
  for (int rank = 0; rank < x->problem->ranks; ++rank)
    for (int i = 0; i < x->order->counts[rank]; ++i)
      if (x->times[rank][i].end_ps > simulation->jobs[rank][i].end_ps) return false;
  return true;
}

/* Ends in all modes; where messages are free, streams add nothing. */
static bool check_order(const zb_problem *problem, const zb_order *order) {
  zb_lowering lowering;
  zb_simulation simulation;
  execution x;
  expect_ok(zb_simulate(problem, order, &simulation));
  expect_ok(zb_order_lower(problem, order, &lowering));
  check_transfers(problem, order, &simulation, &lowering);
  execution_init(&x, problem, order, &lowering);
  make_lists(&x);
  const bool free_messages = problem->link_latency_ps == 0 && problem->link_ps_per_byte == 0;
  bool good = execute(&x, BLOCKING) >= 0;
  for (int how = STREAM; how <= FREE; ++how) {
    good = good && execute(&x, (mode)how) >= 0;
    if (good && free_messages) good = as_simulated(&x, &simulation);
  }
  execution_deinit(&x);
  zb_lowering_deinit(&lowering);
  zb_simulation_deinit(&simulation);
  return good;
}

/* ---- All schedules, placements and sizes ---- */

/* Every stage on two ranks: two chains. */
static void two_chains(fixture *x) {
  x->problem.edges = x->edges;
  for (int stage = 0; stage + 1 < x->problem.stages; ++stage)
    if (stage + 1 != x->problem.ranks) x->edges[x->problem.edge_count++] = (zb_edge){stage, stage + 1, 0, 1};
}

static int check_schedule(const zb_schedule_def *schedule, const char *placement, int ranks, int chunks,
                          int micro_batches) {
  static const int64_t costs[][4] = {{1, 1, 1, 0}, {20, 18, 9, 0}, {20, 18, 9, 7}};
  int checked = 0;
  for (size_t i = 0; i < sizeof costs / sizeof *costs; ++i) {
    fixture x;
    zb_order order;
    fixture_uniform(&x, placement, ranks, chunks, micro_batches, costs[i][0] * chunks, costs[i][1] * chunks,
                    costs[i][2] * chunks, costs[i][3], 0.5);
    if (schedule->two_pipelines) two_chains(&x);
    zb_status status = zb_schedule_run(schedule, &x.problem, &order);
    if (zb_status_code(status) == ZB_USAGE) {
      zb_status_free(status);
      return checked;
    }
    expect_ok(status);
    const bool good = check_order(&x.problem, &order);
    if (!good) fprintf(stderr, "\n%s %s p=%d v=%d m=%d\n", schedule->name, placement, ranks, chunks, micro_batches);
    CU_ASSERT(good);
    zb_order_deinit(&order);
    ++checked;
  }
  return checked;
}

/* Schedules that search take their time: fewer sizes. */
static void test_all(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const bool searches = zb_schedule_at(i)->searches || zb_schedule_at(i)->within;
    const int ranks_max = searches ? 3 : 8, micro_batches_max = searches ? 4 : 16;
    int checked = 0;
    for (int k = 0; k < zb_placement_count(); ++k) {
      const zb_placement_def *placement = zb_placement_at(k);
      for (int chunks = placement->chunks_min; chunks <= 3 && chunks <= placement->chunks_max; ++chunks)
        for (int ranks = 1; ranks <= ranks_max; ++ranks)
          for (int micro_batches = 1; micro_batches <= micro_batches_max; ++micro_batches)
            checked += check_schedule(zb_schedule_at(i), placement->name, ranks, chunks, micro_batches);
    }
    if (!checked) fprintf(stderr, "\n%s was never defined\n", zb_schedule_at(i)->name);
    CU_ASSERT(checked > 0);
  }
}

/* Orders and placements that nobody would choose, with skips, jobs of no time (ties everywhere) and messages that cost
 * bytes or nothing. */
static void test_random(void) {
  uint64_t seed = 11;
  for (int i = 0; i < 400; ++i) {
    fixture x;
    zb_order order;
    const int ranks = 1 + (int)fixture_random(&seed, 4), chunks = 1 + (int)fixture_random(&seed, 3);
    fixture_uneven(&x, &seed, "looped", ranks, chunks, 1 + (int)fixture_random(&seed, 4));
    for (int stage = x.problem.stages - 1; stage > 0; --stage) { /* any placement */
      const int64_t other = fixture_random(&seed, stage + 1);
      const int rank = x.stage_rank[stage];
      x.stage_rank[stage] = x.stage_rank[other];
      x.stage_rank[other] = rank;
    }
    if (i % 2) x.problem.link_ps_per_byte = 0, x.problem.link_latency_ps = 0;
    for (int stage = 0; i % 4 == 3 && stage < x.problem.stages; ++stage)
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
        x.costs[stage].time_ps[kind] = fixture_random(&seed, 2);
    random_order(&x.problem, &seed, &order);
    CU_ASSERT(check_order(&x.problem, &order));
    zb_order_deinit(&order);
  }
}

/* ---- PyTorch's order ---- */

typedef struct walker {
  execution *x;
  bool *done; /* by stage, micro-batch, kind: where the input of a job is at hand or promised */
  int at[RANKS_MAX];
} walker;

static void made(walker *w, int stage, int micro_batch, zb_kind kind) {
  const int to = kind == ZB_F ? stage + 1 : stage - 1;
  if (kind == ZB_W || to < 0 || to >= w->x->problem->stages) return;
  w->done[input(w->x, to, micro_batch, kind)] = true;
  for (size_t i = 0; i < w->x->transfer_count; ++i) {
    const zb_transfer *t = &w->x->transfers[i];
    if (t->source != stage || t->micro_batch != micro_batch || t->kind != kind) continue;
    add_entry(w->x, sender_of(w->x, t), SEND, (int)i);
    add_entry(w->x, receiver_of(w->x, t), RECEIVE, (int)i);
  }
}

static bool has_input(const walker *w, zb_job job) {
  if (job.kind == ZB_W || job.stage == (job.kind == ZB_F ? 0 : w->x->problem->stages - 1)) return true;
  return w->done[input(w->x, job.stage, job.micro_batch, job.kind)];
}

/* Ranks in turn, an action each: as soon as its input was made, with its send there and its receive at the peer's end.
 */
static void make_pytorch_lists(execution *x) {
  walker w = {.x = x};
  w.done = allocate((size_t)x->problem->stages * (size_t)x->problem->micro_batches * 2, sizeof(bool));
  for (bool progress = true; progress;) {
    progress = false;
    for (int rank = 0; rank < x->problem->ranks; ++rank) {
      if (w.at[rank] == x->order->counts[rank]) continue;
      const zb_job job = x->order->jobs[rank][w.at[rank]];
      if (!has_input(&w, job)) continue;
      add_entry(x, rank, JOB, w.at[rank]++);
      if (x->order->whole_backward && job.kind == ZB_B) add_entry(x, rank, JOB, w.at[rank]++);
      made(&w, job.stage, job.micro_batch, job.kind);
      progress = true;
    }
  }
  for (int rank = 0; rank < x->problem->ranks; ++rank)
    CU_ASSERT(w.at[rank] == x->order->counts[rank]);
  free(w.done);
}

/* Barrier bubble in per cent, one in-order stream of communication a rank. */
static double stream_bubble(const zb_problem *problem, const zb_order *order, bool pytorch) {
  zb_lowering lowering;
  execution x;
  expect_ok(zb_order_lower(problem, order, &lowering));
  execution_init(&x, problem, order, &lowering);
  if (pytorch)
    make_pytorch_lists(&x);
  else
    make_lists(&x);
  const int64_t end = execute(&x, FREE);
  CU_ASSERT(end > 0);
  double busy = 0;
  for (int stage = 0; stage < problem->stages; ++stage)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      busy += (double)problem->costs[stage].time_ps[kind] * problem->micro_batches / problem->ranks;
  execution_deinit(&x);
  zb_lowering_deinit(&lowering);
  return 100 * (1 - busy / (double)end);
}

/* Measured by others' code: schedule, sizes, times (of a rank; a chunk takes its part), per cent: ideal, PyTorch's
 * order, sorted. */
static const struct row {
  const char *schedule, *placement;
  int ranks, micro_batches, chunks;
  int64_t f, b, w, message;
  double ideal, pytorch;
  bool at_most;
} table[] = {
    {"interleaved-1f1b", "looped", 8, 16, 2, 1000, 1000, 1000, 20, 18.78, 44.22, false},
    {"interleaved-1f1b", "looped", 8, 16, 2, 1000, 1000, 1000, 100, 21.95, 49.42, false},
    {"interleaved-1f1b", "looped", 8, 32, 2, 1000, 1000, 1000, 100, 12.33, 32.82, false},
    {"interleaved-1f1b", "looped", 4, 16, 2, 29718, 29444, 19927, 527, 9.06, 18.02, false},
    {"interleaved-1f1b", "looped", 8, 24, 2, 18522, 18086, 9337, 601, 13.96, 38.17, false},
    {"interleaved-1f1b", "looped", 8, 24, 3, 18522, 18086, 9337, 601, 10.90, 42.63, false},
    {"interleaved-1f1b", "looped", 16, 48, 3, 11347, 11248, 8132, 377, 11.36, 58.80, false},
    {"interleaved-zb", "looped", 8, 24, 2, 18522, 18086, 9337, 601, 9.60, 35.86, false},
    {"zb-v", "v", 8, 24, 2, 18522, 18086, 9337, 601, 7.28, 15.39, false},
    {"dualpipev", "v", 8, 24, 2, 18522, 18086, 9337, 601, 9.24, 18.58, true},
    {"zb-v", "v", 16, 48, 2, 11347, 11248, 8132, 377, 7.09, 15.98, false},
    {"interleaved-1f1b", "plain", 8, 24, 1, 18522, 18086, 9337, 601, 23.04, 23.04, false},
};

static void test_table(void) {
  enum { SCALE = 6 }; /* so that the parts of chunks are whole */
  const double tolerance = 0.02;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    const struct row *row = &table[i];
    const zb_schedule_def *schedule = zb_schedule_find(row->schedule, NULL);
    fixture x;
    zb_order order;
    zb_simulation simulation;
    if (!schedule) fprintf(stderr, "\nno schedule %s\n", row->schedule);
    CU_ASSERT_PTR_NOT_NULL(schedule);
    if (!schedule) continue;
    fixture_uniform(&x, row->placement, row->ranks, row->chunks, row->micro_batches, row->f * SCALE, row->b * SCALE,
                    row->w * SCALE, row->message * SCALE, 0.5);
    expect_ok(zb_schedule_run(schedule, &x.problem, &order));
    expect_ok(zb_simulate(&x.problem, &order, &simulation));
    const double ideal = 100 * simulation.bubble_barrier, ours = stream_bubble(&x.problem, &order, false),
                 pytorch = stream_bubble(&x.problem, &order, true);
    printf("\n  %-17s p=%-2d m=%-2d v=%d  ideal %.2f%%, PyTorch's order %.2f%%, ours %.2f%%", row->schedule, row->ranks,
           row->micro_batches, row->chunks, ideal, pytorch, ours);
    CU_ASSERT(row->at_most ? ideal < row->ideal : fabs(ideal - row->ideal) < 0.0051);
    CU_ASSERT(row->at_most ? pytorch < row->pytorch : fabs(pytorch - row->pytorch) < tolerance);
    CU_ASSERT(ours < ideal + tolerance);
    zb_simulation_deinit(&simulation);
    zb_order_deinit(&order);
  }
  printf("\n");
}

/* ---- Errors ---- */

static void test_wrong(void) {
  fixture x;
  zb_order order;
  zb_lowering lowering;
  fixture_uniform(&x, "plain", 2, 1, 1, 6, 6, 6, 1, 0.5);
  expect_ok(zb_order_init(&order, 2));
  expect_ok(zb_order_add(&order, 0, 0, ZB_F, 0));
  expect_ok(zb_order_add(&order, 1, 1, ZB_B, 0));
  expect_status(zb_order_lower(&x.problem, &order, &lowering), ZB_TIMEOUT,
                "rank 1 at 1B0 (job 0) waits for 1F0, which is in no list");
  CU_ASSERT(lowering.transfers == NULL && lowering.count == 0);
  expect_ok(zb_order_add(&order, 1, 0, ZB_B, 0));
  expect_status(zb_order_lower(&x.problem, &order, &lowering), ZB_INVALID, "0B0 belongs to rank 0");
  zb_order_deinit(&order);
}

static void test_out_of_memory(void) {
  fixture x;
  zb_order order;
  zb_lowering lowering;
  fixture_uniform(&x, "plain", 3, 1, 4, 6, 6, 6, 1, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  int failed = 0;
  for (uint64_t n = 1;; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_order_lower(&x.problem, &order, &lowering);
    zb_allocation_fail_at(0);
    if (!status) break;
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    CU_ASSERT_PTR_NULL(lowering.transfers);
    zb_status_free(status);
    ++failed;
  }
  CU_ASSERT(failed > 10);
  zb_lowering_deinit(&lowering);
  zb_order_deinit(&order);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"all schedules, placements and sizes", test_all},
                                      {"random orders with skips and ties", test_random},
                                      {"measured bubbles of one in-order stream", test_table},
                                      {"wrong orders", test_wrong},
                                      {"out of memory", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("lower", tests);
}
