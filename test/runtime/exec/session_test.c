/* Sessions on cpu and sim: the same bits, no allocation in a step, and what happens when something goes wrong. */
#include "runtime/base/digest.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/exec/tiny.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

enum { STEPS = 5 };

/* Runs some steps; returns the losses, and all weights at the end if out_weights (two arenas' parameters, one after the
 * other). */
static void train_plan(const zb_session_params *params, zb_plan *plan, bool poison, double losses[STEPS],
                       float *out_weights) {
  zb_session *session = NULL;
  TINY_OK(tiny_session(params, plan, poison, &session));
  for (int i = 0; i < STEPS; ++i) {
    zb_step_result result;
    TINY_OK(zb_session_step(session, &result));
    CU_ASSERT_EQUAL(result.step, i);
    CU_ASSERT_EQUAL(result.tokens, TINY_TOKENS * TINY_MICRO_BATCHES);
    CU_ASSERT(result.seconds > 0 && result.idle_share > -0.01 && result.idle_share < 1);
    losses[i] = result.loss;
  }
  CU_ASSERT_EQUAL(zb_session_steps(session), STEPS);
  if (out_weights) {
    memcpy(out_weights, session->executors[0].arena, 8192 + 256);
    memcpy(out_weights + (8192 + 256) / 4, session->executors[1].arena, 8192);
  }
  zb_session_destroy(session);
}

static void train(const zb_session_params *params, bool poison, double losses[STEPS], float *out_weights) {
  train_plan(params, tiny_plan(), poison, losses, out_weights);
}

static void test_plan_verifies(void) {
  zb_plan *plan = tiny_plan();
  TINY_OK(zb_plan_verify(plan));
  zb_plan_destroy(plan);
}

static void test_same_bits_on_cpu_and_sim(void) {
  float weights[5000], other[5000];
  double losses[STEPS], again[STEPS];
  memset(weights, 0, sizeof weights);
  memset(other, 0, sizeof other);
  zb_session_params cpu = {.data = tiny_data(), .timeout_ms = 10000};
  train(&cpu, false, losses, weights);
  CU_ASSERT(losses[0] > 5 && losses[0] < 6); /* log 256 = 5.5: nothing is learnt yet */
  CU_ASSERT(losses[STEPS - 1] < losses[0]);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    zb_session_params sim = cpu;
    sim.device = "sim";
    sim.seed = seed;
    train(&sim, false, again, other);
    CU_ASSERT_EQUAL(memcmp(losses, again, sizeof losses), 0);
    CU_ASSERT_EQUAL(memcmp(weights, other, sizeof weights), 0);
  }
  cpu.threads = 2;
  train(&cpu, true, again, other); /* with poison, too */
  CU_ASSERT_EQUAL(memcmp(losses, again, sizeof losses), 0);
  CU_ASSERT_EQUAL(memcmp(weights, other, sizeof weights), 0);
}

/* The optimizer of rank 1 in two jobs, for which there is no need: SUM adds nothing. */
static zb_plan *phases_apart(void) {
  zb_plan *plan = tiny_plan();
  tiny_builder b = {.plan = plan, .rank = &plan->ranks[1]};
  const zb_plan_parameter *head = &b.rank->parameters[0];
  const zb_plan_operand gradient = TINY_F32(0, (uint64_t)head->gradient_offset, 8, TINY_VOCABULARY);
  zb_plan_operand zero = gradient;
  zero.offset = b.rank->constants[0].tensor.offset;
  zero.strides[0] = zero.strides[1] = 0;
  zb_plan_subprogram *sum = tiny_subprogram(&b, "s1_SUM", 1, ZB_JOB_SUM, 1000);
  tiny_add(&b, sum, "add", "head", 2, 1, (zb_plan_operand[]){gradient, zero, gradient}, 0, NULL);
  const zb_plan_job update = b.rank->jobs[b.rank->job_count - 1];
  --b.rank->job_count;
  tiny_job(&b, ZB_JOB_SUM, b.rank->subprogram_count - 1, 1, -1);
  b.rank->jobs[b.rank->job_count++] = update;
  return plan;
}

static void test_phases_apart(void) {
  float weights[5000], other[5000];
  double losses[STEPS], again[STEPS];
  memset(weights, 0, sizeof weights);
  memset(other, 0, sizeof other);
  zb_plan *plan = phases_apart();
  TINY_OK(zb_plan_verify(plan));
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  train_plan(&params, tiny_plan(), false, losses, weights);
  train_plan(&params, plan, false, again, other);
  CU_ASSERT_EQUAL(memcmp(losses, again, sizeof losses), 0);
  CU_ASSERT_EQUAL(memcmp(weights, other, sizeof weights), 0);
}

static void test_sim_clock(void) {
  zb_session_params params = {.device = "sim", .data = tiny_data(), .trace = true};
  zb_session *session = NULL;
  zb_step_result result, delayed, plain;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &result));
  zb_session_destroy(session);
  /* The critical path by hand: F0 (1 us), message (0.1256 us), then rank 1 does 12 jobs of 1 us; its last B is followed
   * by a message, B and W of rank 0 and its optimizer (0.5 us); rank 1's own last W and optimizer are shorter. */
  CU_ASSERT_DOUBLE_EQUAL(result.seconds * 1e6, 1 + 0.1256 + 11 + 0.1256 + 2 + 0.5, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(result.idle_share, 1 - 12.5 / (result.seconds * 1e6), 1e-9);
  params.seed = 7;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &delayed));
  zb_session_destroy(session);
  CU_ASSERT(delayed.seconds > result.seconds);
  params.no_kernels = true;
  params.seed = 0;
  params.data = NULL;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &plain));
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(plain.seconds, result.seconds);
  CU_ASSERT(isnan(plain.loss));
}

/* The plan's own simulator shares no code with the virtual clock and the liveness of this room; they agree to the ps
 * and the byte. */
static void test_agrees_with_the_simulator(void) {
  zb_session_params params = {.device = "sim", .data = tiny_data()};
  zb_session *session = NULL;
  zb_step_result result;
  zb_plan_simulation simulation;
  zb_plan *plan = tiny_plan();
  TINY_OK(zb_plan_simulate(plan, &simulation));
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &result));
  CU_ASSERT_EQUAL((int64_t)(result.seconds * 1e12 + 0.5), simulation.step_ps);
  for (int rank = 0; rank < 2; ++rank) {
    CU_ASSERT_EQUAL(session->executors[rank].compute_ps, simulation.ranks[rank].busy_ps);
    zb_session_memory_use use;
    TINY_OK(zb_session_memory(session, rank, &use));
    CU_ASSERT(use.most_live_bytes <= simulation.ranks[rank].peak_bytes);
    CU_ASSERT(simulation.ranks[rank].peak_bytes <= zb_session_arena_bytes(session, rank));
  }
  zb_session_destroy(session);
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(plan);
}

static void test_no_allocation_in_a_step(void) {
  const char *devices[] = {"cpu", "sim"};
  for (int d = 0; d < 2; ++d) {
    zb_session_params params = {.device = devices[d], .data = tiny_data(), .trace = true, .profile = true};
    zb_session *session = NULL;
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    zb_step_result result;
    uint64_t before = zb_allocation_count();
    for (int i = 0; i < 3; ++i)
      TINY_OK(zb_session_step(session, &result));
    CU_ASSERT_EQUAL(zb_allocation_count(), before);
    zb_session_destroy(session);
  }
}

/* Every allocation of making a session fails once: an error each time, and nothing leaks (the sanitizer build tells).
 */
static void test_out_of_memory(void) {
  zb_session_params params = {.device = "sim", .data = tiny_data()};
  zb_store *weights = tiny_weights();
  int failures = 0;
  for (uint64_t n = 1; n < 10000; ++n) {
    zb_session *session = NULL;
    zb_session_sources sources = {.plan = tiny_plan(), .weights = weights, .poison = true};
    zb_allocation_fail_at(n);
    zb_status status = zb_session_create_from(&params, &sources, &session);
    zb_allocation_fail_at(0);
    if (!status) {
      zb_session_destroy(session);
      break;
    }
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
    ++failures;
  }
  CU_ASSERT(failures > 10);
  zb_store_destroy(weights);
}

/* Fills the first input's tokens as the file would, but with a token that is out of range in one micro-batch. */
static zb_status bad_input(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  int64_t *tokens = to;
  for (uint64_t i = 0; i < bytes / 8; ++i)
    tokens[i] = (int64_t)i + micro_batch;
  if (name[0] == 'x' && step == 1 && micro_batch == 2) tokens[3] = *(int64_t *)context;
  return NULL;
}

static void test_kernel_failure_names_rank_and_job(void) {
  const char *devices[] = {"cpu", "sim"};
  int64_t token = 999;
  for (int d = 0; d < 2; ++d) {
    zb_session_params params = {.device = devices[d], .input = bad_input, .input_context = &token, .timeout_ms = 10000};
    zb_session *session = NULL;
    zb_step_result result;
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    TINY_OK(zb_session_step(session, &result));
    zb_status status = zb_session_step(session, &result);
    CU_ASSERT_PTR_NOT_NULL_FATAL(status);
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "gather at wte"));
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "rank 0, 0F2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "got 999, expected 0 to "));
    CU_ASSERT_PTR_NOT_NULL(zb_status_hint_text(status));
    tiny_expect(status, ZB_INVALID, "step 2");
    if (d == 1) {
      tiny_expect(zb_session_step(session, &result), ZB_RUNTIME, "failed step");
      tiny_expect(zb_session_save(session, tiny_folder()), ZB_RUNTIME, "nothing is saved");
    }
    zb_session_destroy(session);
  }
}

/* Losses of four steps; of the second one the batch is refused `refusals` times before. */
static void make_steps(int refusals, double losses[4]) {
  int64_t token = 3;
  zb_session_params params = {.input = bad_input, .input_context = &token, .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  for (int i = 0; i < 4; ++i) {
    token = 999;
    for (int k = 0; i == 1 && k < refusals; ++k)
      tiny_expect(zb_session_step(session, &result), ZB_INVALID, "step 2");
    token = 3;
    TINY_OK(zb_session_step(session, &result));
    CU_ASSERT_EQUAL(result.step, i);
    losses[i] = result.loss;
  }
  zb_session_destroy(session);
}

static void test_refused_batch_changes_nothing(void) {
  double plain[4], refused[4];
  make_steps(0, plain);
  make_steps(3, refused);
  CU_ASSERT_EQUAL(memcmp(plain, refused, sizeof plain), 0);
}

static void test_loss_that_is_no_number(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &result));
  float *mid = (float *)(session->executors[0].arena + 8192);
  mid[5] = NAN;
  tiny_expect(zb_session_step(session, &result), ZB_RUNTIME, "the loss of step 2, micro-batch 0 is not a number");
  zb_session_destroy(session);
}

static zb_plan *plan_that_hangs(void) {
  zb_plan *plan = tiny_plan();
  zb_plan_rank *rank = &plan->ranks[1]; /* rank 1 never sends the gradient of micro-batch 1 */
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == ZB_JOB_SEND && rank->jobs[i].micro_batch == 1) {
      rank->jobs[i].kind = ZB_JOB_READ; /* harmless: reads y into its own home */
      rank->jobs[i].input = 1;
      rank->jobs[i].message = -1;
      for (int k = 0; k < rank->job_count; ++k)
        rank->jobs[k].waits.count *= rank->jobs[k].kind != ZB_JOB_B;
    }
  return plan;
}

static void test_hang_is_told(void) {
  zb_session_params params = {.device = "sim", .data = tiny_data(), .timeout_ms = 200};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(&params, plan_that_hangs(), false, &session));
  zb_status status = zb_session_step(session, &result);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "rank 0 is at 0B1"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "waiting for message 4 from rank 1"));
  tiny_expect(status, ZB_TIMEOUT, "only the receiver has posted it");
  zb_session_destroy(session);
  params.device = "cpu";
  TINY_OK(tiny_session(&params, plan_that_hangs(), false, &session));
  status = zb_session_step(session, &result);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "message 4"));
  tiny_expect(status, ZB_TIMEOUT, "the other side has not posted");
  zb_session_destroy(session);
}

static void test_interrupt(void) {
  zb_session_params params = {.data = tiny_data()};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  zb_session_interrupt(session);
  tiny_expect(zb_session_step(session, &result), ZB_INTERRUPTED, "interrupted");
  zb_session_destroy(session);
}

static void *interrupt_soon(void *session) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  zb_session_interrupt(session);
  return NULL;
}

/* Ranks that wait for a message that never comes are woken by an interrupt, long before the time-out. */
static void test_interrupt_of_a_hang(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 60000};
  zb_session *session = NULL;
  zb_step_result result;
  pthread_t thread;
  TINY_OK(tiny_session(&params, plan_that_hangs(), false, &session));
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, interrupt_soon, session), 0);
  int64_t start = zb_monotonic_ps();
  tiny_expect(zb_session_step(session, &result), ZB_INTERRUPTED, "step 1");
  CU_ASSERT(zb_monotonic_ps() - start < INT64_C(20000000000000));
  pthread_join(thread, NULL);
  zb_session_destroy(session);
}

static zb_status interrupting_input(void *context, const char *name, int64_t step, int micro_batch, void *to,
                                    uint64_t bytes) {
  (void)name;
  memset(to, 0, bytes);
  if (step == 1 && micro_batch == 1) zb_session_interrupt(*(zb_session **)context);
  return NULL;
}

static void test_interrupt_within_a_step(void) {
  zb_session *session = NULL;
  zb_session_params params = {.input = interrupting_input, .input_context = &session};
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(zb_session_step(session, &result));
  tiny_expect(zb_session_step(session, &result), ZB_INTERRUPTED, "step 2");
  tiny_expect(zb_session_save(session, tiny_folder()), ZB_RUNTIME, "nothing is saved");
  zb_session_destroy(session);
}

/* A job that reads a home which nobody wrote in this step gets poison: the labels of micro-batch 1 are read into
 * another home. */
static void test_poison_shows_what_was_never_written(void) {
  zb_session_params params = {.device = "sim", .data = tiny_data()};
  for (int poison = 0; poison < 2; ++poison) {
    zb_session *session = NULL;
    zb_step_result result;
    zb_plan *plan = tiny_plan();
    zb_plan_rank *rank = &plan->ranks[1];
    for (int i = 0; i < rank->job_count; ++i)
      if (rank->jobs[i].kind == ZB_JOB_READ && rank->jobs[i].micro_batch == 1)
        rank->pool_ranges[rank->jobs[i].parts.begin].offset += TINY_FB1_BYTES + 256; /* where dlogits will be */
    TINY_OK(tiny_session(&params, plan, poison, &session));
    zb_status status = zb_session_step(session, &result);
    if (session->executors[1].params.poison) /* always in a build with ZB_POISON */
      tiny_expect(status, ZB_INVALID, "rank 1, 1F1");
    else
      TINY_OK(status); /* labels 0 from the arena as it was made: nobody notices */
    zb_session_destroy(session);
  }
}

/* Writes one byte into the home of dlogits of micro-batch 1 on rank 1 when it is free again. */
static zb_status stray_input(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  const zb_session *session = *(zb_session **)context;
  memset(to, 0, bytes);
  if (step != 1 || micro_batch != 2 || name[0] != 'y') return NULL;
  uint64_t slots = session->plan->ranks[1].regions[ZB_REGION_SLOTS].offset;
  session->executors[1].arena[slots + TINY_SET1_BYTES + TINY_FB1_BYTES + 256 + 100] = 1;
  return NULL;
}

static void test_poison_finds_a_stray_write(void) {
  zb_session *session = NULL;
  zb_session_params params = {.device = "sim", .input = stray_input, .input_context = &session};
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), true, &session));
  TINY_OK(zb_session_step(session, &result));
  zb_status status = zb_session_step(session, &result);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "READ of 'y' for micro-batch 2"));
  tiny_expect(status, ZB_RUNTIME, "which the plan calls free");
  zb_session_destroy(session);
}

static void test_bad_parameters(void) {
  zb_session *session = NULL;
  zb_session_params params = {.device = "cpuu", .data = tiny_data()};
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "did you mean 'cpu'");
  params.device = "cpu";
  params.no_kernels = true;
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "without its kernels");
  params = (zb_session_params){.device = "cpu", .seed = 3};
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "seed");
  params = (zb_session_params){.threads = -1};
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "threads");
  params = (zb_session_params){0};
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "--data");
  zb_plan *plan = tiny_plan();
  plan->ranks[0].subprograms[0].instructions[0].op = "no_such_op";
  params.data = tiny_data();
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, "no kernel for no_such_op at wte");
  static zb_attr unknown[] = {{.name = "unheard_of", .kind = ZB_ATTR_INT, .i = 1}};
  for (int reference = 0; reference < 2; ++reference) {
    plan = tiny_plan();
    plan->ranks[0].subprograms[0].instructions[0].attrs = unknown;
    plan->ranks[0].subprograms[0].instructions[0].attr_count = 1;
    params.reference = reference;
    tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
                "it does not know the attribute 'unheard_of'");
  }
  params.reference = false;
  plan = tiny_plan();
  ++plan->ranks[0].subprograms[0].instructions[0].outputs[0].shape[0];
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "the shapes of the operands do not fit each other");
  plan = tiny_plan();
  plan->ranks[0].parameters[0].tensor.name = "wtf";
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, "nearest name that is there is 'wte'");
  plan = tiny_plan();
  plan->ranks[1].parameters[0].tensor.shape.dims[0] = 9;
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "the parameter 'head.weight' is 8x256xf32: expected 9x256xf32");
  plan = tiny_plan();
  for (int i = 0; i < plan->ranks[1].job_count; ++i)
    if (plan->ranks[1].jobs[i].kind == ZB_JOB_REPORT) plan->ranks[1].jobs[i].micro_batch = 0;
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, "reported once");
  CU_ASSERT_PTR_NULL(session);
}

static void check_norm(void *context, const char *name, double norm) {
  static const char *const names[] = {"head.weight", "mid.weight", "wte"};
  int *count = context;
  CU_ASSERT_STRING_EQUAL(name, names[(*count)++]);
  CU_ASSERT(norm > 0 && norm < 10);
}

static void check_row(void *context, const zb_profile_row *row) {
  double *total = context;
  CU_ASSERT(row->seconds >= 0);
  CU_ASSERT(row->help[0] != '\0');
  *total += row->share;
}

static void test_norms_and_profile(void) {
  zb_session_params params = {.data = tiny_data(), .profile = true};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  int count = 0;
  double total = 0;
  tiny_expect(zb_session_gradient_norms(session, check_norm, &count), ZB_USAGE, "before a step");
  TINY_OK(zb_session_step(session, &result));
  TINY_OK(zb_session_gradient_norms(session, check_norm, &count));
  CU_ASSERT_EQUAL(count, 3);
  TINY_OK(zb_session_profile(session, check_row, &total));
  CU_ASSERT(total > 0 && total <= 1.001);
  /* The norm is that of the mean gradient: recompute one from the arena. */
  const float *gradient =
      (const float *)(session->executors[1].arena + session->plan->ranks[1].parameters[0].gradient_offset);
  double sum = 0;
  for (int i = 0; i < 8 * TINY_VOCABULARY; ++i)
    sum += (double)gradient[i] * gradient[i];
  CU_ASSERT(sum > 0);
  zb_session_destroy(session);
}

static void test_arena(void) {
  zb_session_params params = {.data = tiny_data()};
  zb_session *session = NULL;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  for (int rank = 0; rank < 2; ++rank) {
    zb_session_memory_use use;
    TINY_OK(zb_session_memory(session, rank, &use));
    CU_ASSERT_EQUAL(use.arena_bytes, zb_session_arena_bytes(session, rank));
    CU_ASSERT_EQUAL(use.high_water_bytes, use.arena_bytes);
    CU_ASSERT(use.most_live_bytes > use.arena_bytes / 2 && use.most_live_bytes <= use.arena_bytes);
  }
  zb_session_memory_use none;
  zb_status status = zb_session_memory(session, 2, &none);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  zb_status_free(status);
  CU_ASSERT_EQUAL(zb_session_arena_bytes(session, 2), 0);
  zb_session_destroy(session);
}

static void test_timelines(void) {
  char path[600], *text = NULL;
  size_t bytes = 0;
  const char *devices[] = {"cpu", "sim"};
  for (int d = 0; d < 2; ++d) {
    zb_session_params params = {.device = devices[d], .data = tiny_data(), .trace = true};
    zb_session *session = NULL;
    zb_step_result result;
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    tiny_expect(zb_session_trace(session, tiny_path(path, "trace.json")), ZB_USAGE, "before a step");
    TINY_OK(zb_session_step(session, &result));
    TINY_OK(zb_session_trace(session, tiny_path(path, "trace.json")));
    TINY_OK(zb_file_read(path, 0, &text, &bytes));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "traceEvents"));
    zb_free(text);
    TINY_OK(zb_session_timeline(session, tiny_path(path, "timeline.svg")));
    TINY_OK(zb_file_read(path, 0, &text, &bytes));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "</svg>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "step 1)")); /* the first */
    zb_free(text);
    zb_session_destroy(session);
  }
}

/* The small plan with the digests of its weights. */
static zb_plan *tied_plan(void) {
  zb_plan *plan = tiny_plan();
  zb_store *weights = tiny_weights();
  plan->value_digests = true;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      const zb_stored_tensor *stored = zb_store_find(weights, tensor->name);
      tensor->digest = zb_digest_of(stored->data, (size_t)stored->bytes);
    }
  zb_store_destroy(weights);
  return plan;
}

/* Each value is compared with its plan, on every device that computes; a plan that is run without computing needs none.
 */
static void test_tied_values(void) {
  zb_session_params params = {.data = tiny_data()}, empty = {.device = "sim", .no_kernels = true};
  const char *const devices[] = {"cpu", "sim"};
  zb_session *session = NULL;
  for (int d = 0; d < 2; ++d) {
    params.device = devices[d];
    TINY_OK(tiny_session(&params, tied_plan(), false, &session));
    zb_session_destroy(session);
    for (int r = 0; r < 2; ++r) {
      zb_plan *plan = tied_plan();
      plan->ranks[r].parameters[0].tensor.digest ^= 1;
      tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, r == 0 ? "'wte'" : "'head.weight'");
    }
  }
  zb_plan *plan = tied_plan();
  plan->ranks[0].parameters[0].tensor.digest ^= 1;
  TINY_OK(zb_session_create_from(&empty, &(zb_session_sources){.plan = plan}, &session));
  zb_session_destroy(session);
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"the plan by hand verifies", test_plan_verifies},
      {"same bits on cpu and sim, seeds and poison", test_same_bits_on_cpu_and_sim},
      {"virtual clock", test_sim_clock},
      {"phases of the optimizer apart", test_phases_apart},
      {"agrees with the simulator of the plan", test_agrees_with_the_simulator},
      {"no allocation in a step", test_no_allocation_in_a_step},
      {"out of memory at every allocation", test_out_of_memory},
      {"a kernel that fails names rank and job", test_kernel_failure_names_rank_and_job},
      {"a refused batch changes nothing", test_refused_batch_changes_nothing},
      {"a loss that is no number", test_loss_that_is_no_number},
      {"a hang is told", test_hang_is_told},
      {"interrupt", test_interrupt},
      {"interrupt of a hang", test_interrupt_of_a_hang},
      {"interrupt within a step", test_interrupt_within_a_step},
      {"poison shows what was never written", test_poison_shows_what_was_never_written},
      {"poison finds a stray write", test_poison_finds_a_stray_write},
      {"bad parameters", test_bad_parameters},
      {"gradient norms and profile", test_norms_and_profile},
      {"arena", test_arena},
      {"timelines", test_timelines},
      {"values are those of the plan", test_tied_values},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("session", tests);
}
