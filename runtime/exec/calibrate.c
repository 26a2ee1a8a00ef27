/* zb_calibrate of zb/runtime.h: measures the kernels, memory and threads of this machine, without a model.
 *
 * It makes a plan (in memory, without a file) that only does what is to be measured: products by size, a small and a
 * large elementwise op, messages of three sizes between neighbours. The plan runs on an even number of ranks, from 2 to
 * 8, as many as cores allow, so that cores are busy as in training, and is measured as any plan (measure.h). Tests:
 * test/runtime/exec/measure_test.c, test/e2e/costs.py.
 */
#include "runtime/exec/session_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 21, RANKS_MOST = 8, SMALL = 64, LARGE = 1 << 18, LARGEST_SIDE = 512 };
static const int64_t sides[] = {16, 32, 64, 128, 256, LARGEST_SIDE};
static const uint64_t message_bytes[] = {4096, 262144, 1048576};
enum { SIDE_COUNT = sizeof sides / sizeof sides[0], MESSAGE_COUNT = sizeof message_bytes / sizeof message_bytes[0] };
enum { INSTRUCTIONS = SIDE_COUNT + 2, JOBS = 2 + 4 * MESSAGE_COUNT };

/* Three tensors of the largest size one after the other: two operands and a result. */
static const uint64_t tensor_bytes = sizeof(float) * LARGEST_SIDE * LARGEST_SIDE;

static zb_plan_operand matrix(uint64_t offset, int64_t rows, int64_t columns) {
  return (zb_plan_operand){
      .offset = offset, .dtype = ZB_F32, .rank = 2, .shape = {rows, columns}, .strides = {columns, 1}};
}

static bool add_instruction(zb_plan *plan, zb_plan_subprogram *s, const char *op, const char *text, int64_t rows,
                            int64_t columns) {
  zb_plan_instruction *i = &s->instructions[s->instruction_count++];
  zb_plan_operand *operands = zb_plan_alloc(plan, 3 * sizeof *operands);
  i->op = op;
  i->location = "";
  i->cost_op = zb_plan_strdup(plan, text);
  if (!operands || !i->cost_op) return false;
  for (int k = 0; k < 3; ++k)
    operands[k] = matrix((uint64_t)k * tensor_bytes, rows, columns);
  i->inputs = operands;
  i->input_count = 2;
  i->outputs = operands + 2;
  i->output_count = 1;
  return true;
}

static bool make_subprogram(zb_plan *plan, zb_plan_subprogram *s) {
  char text[64];
  *s = (zb_plan_subprogram){.name = "F", .kind = ZB_JOB_F, .time_ps = 1};
  s->instructions = zb_plan_alloc(plan, INSTRUCTIONS * sizeof *s->instructions);
  if (!s->instructions) return false;
  bool ok = true;
  for (int i = SIDE_COUNT - 1; ok && i >= 0;
       --i) { /* small ones after large ones, which find cold caches at no great cost */
    snprintf(text, sizeof text, "product %lld", (long long)(2 * sides[i] * sides[i] * sides[i]));
    ok = add_instruction(plan, s, "matmul", text, sides[i], sides[i]);
  }
  return ok && add_instruction(plan, s, "add", "small", 1, SMALL) && add_instruction(plan, s, "add", "large", 1, LARGE);
}

static void add_post(zb_plan_rank *rank, zb_job_kind kind, int message) {
  zb_plan_job *job = &rank->jobs[rank->job_count++];
  *job = (zb_plan_job){.kind = kind, .subprogram = -1, .stage = -1, .micro_batch = -1, .message = message, .input = -1};
  job->parts = (zb_plan_slice){rank->pool_range_count, 1};
  uint64_t home = kind == ZB_JOB_SEND ? 0 : tensor_bytes; /* what is received is never read */
  rank->pool_ranges[rank->pool_range_count++] = (zb_plan_range){home, message_bytes[message % MESSAGE_COUNT]};
}

/* Rank r works, then exchanges messages with its neighbour: even ranks send first, so that nobody waits in a circle. */
static bool make_rank(zb_plan *plan, int r) {
  zb_plan_rank *rank = &plan->ranks[r];
  rank->rank = r;
  rank->arena_bytes = 3 * tensor_bytes + ZB_ALIGNMENT;
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    rank->regions[i].offset = 3 * tensor_bytes;
  rank->regions[ZB_REGION_PARAMETERS] = (zb_plan_range){0, 3 * tensor_bytes};
  rank->regions[ZB_REGION_STEP] = (zb_plan_range){3 * tensor_bytes, 0};
  rank->regions[ZB_REGION_SLOTS] = (zb_plan_range){3 * tensor_bytes, ZB_ALIGNMENT};
  rank->regions[ZB_REGION_WORKSPACE].offset = rank->arena_bytes;
  rank->subprograms = zb_plan_alloc(plan, sizeof *rank->subprograms);
  rank->jobs = zb_plan_alloc(plan, JOBS * sizeof *rank->jobs);
  rank->pool_ranges = zb_plan_alloc(plan, JOBS * sizeof *rank->pool_ranges);
  if (!rank->subprograms || !rank->jobs || !rank->pool_ranges || !make_subprogram(plan, rank->subprograms))
    return false;
  rank->subprogram_count = 1;
  rank->jobs[rank->job_count++] = (zb_plan_job){.kind = ZB_JOB_F, .stage = -1, .message = -1, .input = -1};
  if (r == 0) { /* a step has a loss: here a zero */
    rank->jobs[rank->job_count++] = (zb_plan_job){.kind = ZB_JOB_REPORT,
                                                  .subprogram = -1,
                                                  .stage = -1,
                                                  .message = -1,
                                                  .input = -1,
                                                  .parts = {rank->pool_range_count, 1}};
    rank->pool_ranges[rank->pool_range_count++] =
        (zb_plan_range){0, sizeof(float)}; /* of the first operand, which nothing writes */
  }
  int first = (r / 2) * 2 * MESSAGE_COUNT;
  for (int i = 0; i < 2 * MESSAGE_COUNT; ++i)
    add_post(rank, (i % 2 == r % 2) ? ZB_JOB_SEND : ZB_JOB_RECV, first + i);
  return true;
}

static zb_plan *make_plan(int ranks) {
  zb_plan *plan = zb_plan_create();
  if (!plan) return NULL;
  plan->producer = plan->model = plan->schedule = plan->placement = plan->optimizer = plan->precision = "";
  plan->rank_count = ranks;
  plan->stage_count = plan->chunk_count = plan->micro_batches = 1;
  plan->message_count = ranks * MESSAGE_COUNT;
  plan->stage_rank = zb_plan_alloc(plan, sizeof(int));
  plan->ranks = zb_plan_alloc(plan, (size_t)ranks * sizeof *plan->ranks);
  plan->messages = zb_plan_alloc(plan, (size_t)plan->message_count * sizeof *plan->messages);
  bool ok = plan->stage_rank && plan->ranks && plan->messages;
  for (int i = 0; ok && i < plan->message_count; ++i) { /* of a pair in turn: even to odd, odd to even */
    int even = i / (2 * MESSAGE_COUNT) * 2, backward = i % 2;
    plan->messages[i] = (zb_plan_message){.source = even + backward,
                                          .destination = even + 1 - backward,
                                          .micro_batch = -1,
                                          .payload = ZB_PAYLOAD_FORWARD,
                                          .bytes = message_bytes[i % MESSAGE_COUNT],
                                          .part_count = 1};
  }
  for (int r = 0; ok && r < ranks; ++r)
    ok = make_rank(plan, r);
  if (ok) return plan;
  zb_plan_destroy(plan);
  return NULL;
}

static int64_t time_of(const zb_costs *costs, const char *op) {
  for (int64_t i = 0; i < costs->op_count; ++i)
    if (strcmp(costs->ops[i].op, op) == 0) return costs->ops[i].time_ps;
  return 0;
}

/* Turns the profile of the plan above into a calibration: everything of a program goes, rates and products come. */
static zb_status conclude(const zb_costs *from, const char *path) {
  zb_cost_product products[SIDE_COUNT];
  char text[64];
  for (int i = 0; i < SIDE_COUNT; ++i) {
    products[i].flops = 2 * sides[i] * sides[i] * sides[i];
    snprintf(text, sizeof text, "product %lld", (long long)products[i].flops);
    products[i].time_ps = time_of(from, text);
    if (products[i].time_ps < 1) products[i].time_ps = 1;
  }
  zb_costs out = {.machine = from->machine,
                  .link = from->link,
                  .overheads = from->overheads,
                  .has_rates = true,
                  .products = products,
                  .product_count = SIDE_COUNT};
  int64_t small = time_of(from, "small"), large = time_of(from, "large");
  out.rates.op_ps = small;
  out.rates.ps_per_byte = large > small ? (double)(large - small) / (3.0 * sizeof(float) * LARGE) : 0;
  return zb_costs_write(&out, path);
}

static zb_status run_steps(zb_session *session, zb_costs *out) {
  for (int i = 0; i < STEPS; ++i) {
    zb_step_result result;
    ZB_TRY(zb_session_step(session, &result));
  }
  return zb_measure_costs(session->measure, out);
}

zb_status zb_calibrate(const char *path, int threads) {
  zb_costs measured;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int most = (int)(cores / (threads > 1 ? threads : 1));
  int ranks = most < 2 ? 2 : most > RANKS_MOST ? RANKS_MOST : most - most % 2; /* in pairs that send to each other */
  zb_session *session = NULL;
  zb_session_params params = {.threads = threads, .costs = true};
  zb_session_sources sources = {.plan = make_plan(ranks)};
  if (!sources.plan) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_session_create_from(&params, &sources, &session));
  zb_status status = run_steps(session, &measured);
  if (!status) status = conclude(&measured, path);
  zb_session_destroy(session);
  return status;
}
