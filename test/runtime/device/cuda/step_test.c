/* Steps of the cuda device on a fake GPU: the values of the cpu, whatever order the GPU runs in; every pair of accesses
 * ordered; the golden order of launches, events and copies of a whole ZB-H1 step of two ranks (the plan of
 * test/runtime/exec/tiny.h); failures. */
#include "test/runtime/device/cuda/fake.h"
#include "test/runtime/device/cuda/host_kernels.h"
#include "test/runtime/exec/tiny.h"
#include "zb/costs.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 4, SEEDS = 12 };

static zb_status fake_session(const zb_session_params *params, zb_plan *plan, zb_session **out) {
  zb_store *weights = tiny_weights();
  zb_session_sources sources = {.plan = plan, .weights = weights, .device = fake_device()};
  zb_status status = zb_session_create_from(params, &sources, out);
  zb_store_destroy(weights);
  return status;
}

/* The losses of a run, and its files in FOLDER/name. */
static void run(zb_session *session, double losses[STEPS], const char *name) {
  char path[600];
  for (int i = 0; i < STEPS; ++i) {
    zb_step_result result = {0};
    TINY_OK(zb_session_step(session, &result));
    losses[i] = result.loss;
  }
  TINY_OK(zb_session_save(session, tiny_path(path, name)));
}

static bool same_file(const char *a, const char *b, const char *file) {
  char *texts[2] = {NULL, NULL};
  size_t sizes[2] = {0, 1};
  const char *const folders[] = {a, b};
  for (int i = 0; i < 2; ++i) {
    char path[700], full[800];
    snprintf(full, sizeof full, "%s/%s", tiny_path(path, folders[i]), file);
    TINY_OK(zb_file_read(full, 0, &texts[i], &sizes[i]));
  }
  bool same = sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0;
  zb_free(texts[0]);
  zb_free(texts[1]);
  return same;
}

static void test_values(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  double expected[STEPS], got[STEPS];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, expected, "cpu");
  zb_session_destroy(session);
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    fake_start(seed);
    params.trace = seed % 2;
    TINY_OK(fake_session(&params, tiny_plan(), &session));
    uint64_t largest = zb_session_arena_bytes(session, 0) > zb_session_arena_bytes(session, 1)
                           ? zb_session_arena_bytes(session, 0)
                           : zb_session_arena_bytes(session, 1);
    CU_ASSERT_EQUAL(fake_largest(), largest);
    run(session, got, "cuda");
    zb_session_destroy(session);
    CU_ASSERT_EQUAL(memcmp(expected, got, sizeof got), 0);
    CU_ASSERT(same_file("cpu", "cuda", "weights.safetensors"));
    CU_ASSERT(same_file("cpu", "cuda", "optimizer.safetensors"));
    CU_ASSERT_EQUAL(fake_races(), 0);
    if (fake_races()) printf("\n%s\n", fake_first_race());
    CU_ASSERT_EQUAL(fake_allocated(), 0);
    CU_ASSERT_EQUAL(fake_stop(), 0);
  }
}

/* A run that goes on where one on the cpu stopped, and the other way round. */
static void test_resume(void) {
  char from[600], to[600];
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  double whole[STEPS], rest[STEPS];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, whole, "half");
  run(session, whole, "whole");
  zb_session_destroy(session);
  params.resume = tiny_path(from, "half");
  fake_start(3);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  run(session, rest, "resumed");
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
  CU_ASSERT_EQUAL(memcmp(whole, rest, sizeof rest), 0);
  CU_ASSERT(same_file("whole", "resumed", "weights.safetensors"));
  params.resume = tiny_path(to, "resumed");
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  CU_ASSERT_EQUAL(zb_session_steps(session), 2 * STEPS);
  zb_session_destroy(session);
}

/* The second step: nothing in it depends on what happened before the first. */
static void test_golden(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  char *golden = NULL, path[600];
  size_t bytes = 0;
  fake_start(1);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  fake_name(session->executors[0].arena, "r0");
  fake_name(session->executors[1].arena, "r1");
  TINY_OK(zb_session_step(session, &result));
  fake_log_clear();
  uint64_t allocations = zb_allocation_count();
  TINY_OK(zb_session_step(session, &result));
  CU_ASSERT_EQUAL(zb_allocation_count(), allocations);
  TINY_OK(zb_file_read(ZB_SOURCE_DIR "/test/runtime/device/cuda/step.golden.txt", 0, &golden, &bytes));
  const char *log = fake_log(), *body = golden;
  while (*body == '#') /* its head says what is what */
    body = strchr(body, '\n') + 1;
  if (strcmp(body, log) != 0) {
    snprintf(path, sizeof path, "%s/test/step.golden.txt", ZB_BINARY_DIR);
    tiny_write(path, log, strlen(log));
    printf("\nthe order of a step is not that of step.golden.txt; what it is now lies in %s\n", path);
  }
  CU_ASSERT_STRING_EQUAL(body, log);
  zb_free(golden);
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* Two steps with one wait left out; what the fake says. */
static int races_without(int wait, uint64_t seed, bool *out_matters, int *out_waits, bool *out_last) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  fake_start(seed);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  fake_leave_out_wait(wait);
  for (int i = 0; i < 2; ++i) {
    zb_step_result result;
    zb_status status = zb_session_step(session, &result); /* values may be anything */
    zb_status_free(status);
    if (status) break;
  }
  int races = fake_races();
  *out_last = wait >= 0 && fake_wait_is_last(wait);
  *out_matters = fake_left_out_matters();
  *out_waits = fake_waits();
  zb_session_destroy(session);
  fake_stop();
  return races;
}

/* Every wait that tells its stream something new must be missed when it is left out; but of those that come last in a
 * step the host learns from the peer, too. */
static void test_mutations(void) {
  bool matters = false;
  int waits = 0, left_out = 0, needless = 0;
  bool last = false;
  CU_ASSERT_EQUAL(races_without(-1, 5, &matters, &waits, &last), 0);
  CU_ASSERT_FATAL(waits > 0);
  for (int i = 0, count = waits / 2; i < count; ++i) { /* those of the first of two steps */
    int races = 0;
    bool any = false;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      races += races_without(i, seed, &matters, &waits, &last);
      any |= matters && !last;
    }
    left_out += any;
    needless += !any;
    if (any && races == 0) printf("\nwait %d of %d is not missed\n", i, count);
    CU_ASSERT(!any || races > 0);
  }
  CU_ASSERT(left_out > 16);
  CU_ASSERT(needless < left_out);
}

static zb_status one_wrong_value(void *context, const char *name, int64_t step, int micro_batch, void *to,
                                 uint64_t bytes) {
  (void)context;
  int64_t *values = to;
  for (uint64_t i = 0; i < bytes / sizeof *values; ++i)
    values[i] = (int64_t)i;
  if (step == 1 && micro_batch == 2 && strcmp(name, "x") == 0) values[3] = 300;
  return NULL;
}

static void test_fault(void) {
  zb_session_params params = {.input = one_wrong_value, .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  fake_start(2);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  TINY_OK(zb_session_step(session, &result));
  zb_status status = zb_session_step(session, &result);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "gather at wte"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "rank 0"));
  tiny_expect(status, ZB_INVALID, "got 300, expected 0 to 255");
  tiny_expect(zb_session_step(session, &result), ZB_RUNTIME, "failed step");
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

static void test_loss_is_no_number(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  const float nan = NAN;
  fake_start(2);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  const zb_executor *e = &session->executors[1];
  TINY_OK(e->params.device->upload(e->device, e->arena, &nan, sizeof nan));
  tiny_expect(zb_session_step(session, &result), ZB_RUNTIME, "the loss of step 1, micro-batch 0 is not a number");
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* Whatever call fails, and whenever: a status that names it, and nothing left behind. */
static void test_failing_calls(void) {
  static const char *const functions[] = {"cuInit",
                                          "cuDeviceGetCount",
                                          "cuMemAlloc",
                                          "cuMemHostAlloc",
                                          "cuEventCreate",
                                          "cuStreamCreateWithPriority",
                                          "cuEventRecord",
                                          "cuStreamWaitEvent",
                                          "cuMemcpyHtoDAsync",
                                          "cuMemcpyDtoDAsync",
                                          "cuMemcpyDtoHAsync",
                                          "cuMemsetD8Async",
                                          "cuGraphLaunch",
                                          "cuLaunchKernel",
                                          "cuGraphInstantiate",
                                          "cuStreamBeginCapture",
                                          "cuStreamQuery"};
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    int failed = 0;
    for (int n = 0; n < 40; n = 2 * n + 1) {
      zb_session *session = NULL;
      zb_step_result result;
      fake_start(1);
      fake_fail(functions[i], n, CUDA_ERROR_ILLEGAL_ADDRESS);
      zb_status status = fake_session(&params, tiny_plan(), &session);
      if (!status) status = zb_session_step(session, &result);
      if (status) ++failed;
      if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), functions[i]));
      if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
      zb_status_free(status);
      zb_session_destroy(session);
      CU_ASSERT_EQUAL(fake_stop(), 0);
    }
    CU_ASSERT(failed > 0);
    if (!failed) printf("\n%s never failed\n", functions[i]);
  }
}

static void test_no_memory(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  fake_start(1);
  fake_fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY); /* 0 is the fault record of rank 0 */
  tiny_expect(fake_session(&params, tiny_plan(), &session), ZB_MEMORY,
              "the GPU has 1.0 MiB (1,048,576 bytes) free of 1.0 GiB");
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

static void test_hang(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 50};
  zb_session *session = NULL;
  zb_step_result result;
  fake_start(1);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  fake_hang(true);
  tiny_expect(zb_session_step(session, &result), ZB_TIMEOUT, "no job was started or ended for 0.1 s");
  zb_session_destroy(session);
  fake_stop();
}

static void test_plan_that_hangs(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 50};
  zb_session *session = NULL;
  zb_step_result result;
  zb_plan *plan = tiny_plan();
  zb_plan_rank *rank = &plan->ranks[1]; /* rank 1 never sends the gradient of micro-batch 1 */
  for (int i = 0; i < rank->job_count; ++i) {
    if (rank->jobs[i].kind == ZB_JOB_B) rank->jobs[i].waits.count = 0;
    if (rank->jobs[i].kind != ZB_JOB_SEND || rank->jobs[i].micro_batch != 1) continue;
    rank->jobs[i].kind = ZB_JOB_READ; /* harmless: reads y into its own home */
    rank->jobs[i].input = 1;
    rank->jobs[i].message = -1;
  }
  fake_start(1);
  TINY_OK(fake_session(&params, plan, &session));
  zb_status status = zb_session_step(session, &result);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "waiting for message"));
  zb_status_free(status);
  zb_session_destroy(session);
  fake_stop();
}

/* With a trace, times are those of the GPU: every kernel takes 10 us of the fake's clock, and jobs of a rank do not
 * overlap. */
static void test_times(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000, .trace = true};
  zb_session *session = NULL;
  zb_step_result result;
  char path[600];
  fake_start(1);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  for (int i = 0; i < 2; ++i)
    TINY_OK(zb_session_step(session, &result));
  CU_ASSERT(result.idle_share > 0 ||
            result.idle_share < 0); /* a number: the clock of the fake is not that of the step */
  for (int r = 0; r < 2; ++r) {
    const zb_executor *e = &session->executors[r];
    int64_t last = 0;
    for (int i = e->program->load_count; i < e->program->job_count; ++i) {
      const zb_plan_job *job = &e->program->jobs[i];
      if (!zb_job_is_compute(job->kind)) continue;
      int64_t kernels = e->program->subprograms[job->subprogram].instruction_count,
              took = e->times[i].end_ps - e->times[i].start_ps;
      CU_ASSERT(llabs(took - kernels * 10000000) < 1000000);
      CU_ASSERT(e->times[i].start_ps >= last);
      last = e->times[i].end_ps;
    }
    for (int m = 0; m < session->plan->message_count; ++m) {
      int64_t start = zb_transport_streams.start_ps(session->transport, r, m),
              end = zb_transport_streams.complete_ps(session->transport, r, m);
      CU_ASSERT(llabs(end - start - 4000000) < 1000000); /* a copy */
    }
  }
  TINY_OK(zb_session_timeline(session, tiny_path(path, "step.svg")));
  TINY_OK(zb_session_trace(session, tiny_path(path, "step.json")));
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* A GPU whose clock runs ahead of the host's: a rank does not end before its last job, and computes no longer than the
 * step takes. */
static void test_clock_ahead(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000, .trace = true, .explain = true};
  zb_session *session = NULL;
  zb_step_result result;
  zb_explanation measured, simulated;
  fake_start(1);
  fake_slow(1000);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  for (int i = 0; i < 2; ++i)
    TINY_OK(zb_session_step(session, &result));
  CU_ASSERT(result.idle_share >= 0 && result.idle_share < 1);
  for (int r = 0; r < 2; ++r) {
    const zb_executor *e = &session->executors[r];
    int64_t last = 0;
    for (int i = e->program->load_count; i < zb_plan_step_end(e->program); ++i)
      last = e->times[i].end_ps > last ? e->times[i].end_ps : last;
    CU_ASSERT(last - e->started_ps > INT64_C(1000) * 10000000); /* by the clock of the GPU */
    CU_ASSERT(e->ended_ps >= last);
    CU_ASSERT(result.idle_shares[r] >= 0 && (double)(last - e->started_ps) <= result.seconds * 1e12);
  }
  TINY_OK(zb_session_explain(session, &measured, &simulated));
  for (int r = 0; r < measured.ranks; ++r)
    CU_ASSERT(measured.idle_ps[r] >= 0 && measured.idle_ps[r] < measured.time_ps);
  zb_explanation_deinit(&measured);
  zb_explanation_deinit(&simulated);
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* Without, no event has a time, and idle time is not known. */
static void test_no_times(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  fake_start(1);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  TINY_OK(zb_session_step(session, &result));
  CU_ASSERT(isnan(result.idle_share));
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
  params.profile = true;
  tiny_expect(fake_session(&params, tiny_plan(), &session), ZB_USAGE, "does not time the ops of every step");
}

enum {
  KERNEL_PS = 10000000,
  COPY_PS = 4000000,
  COST_STEPS = 7,
  COUNTED = 3
}; /* of the fake's clock; the first step is cold, then every second is for ops */

static bool about(int64_t got, int64_t expected) {
  if (llabs(got - expected) < 10000) return true; /* floats of milliseconds */
  printf("\ngot %lld ps, expected %lld\n", (long long)got, (long long)expected);
  return false;
}

static const zb_cost_subprogram *find(const zb_costs *costs, int rank, const char *name) {
  for (int64_t i = 0; i < costs->subprogram_count; ++i)
    if (costs->subprograms[i].rank == rank && strcmp(costs->subprograms[i].name, name) == 0)
      return &costs->subprograms[i];
  return NULL;
}

/* Every kernel takes 10 us, every copy 4: a subprogram as many kernels as it has instructions, a message and an input
 * one copy. */
static void check_costs(const zb_costs *costs, const zb_plan *plan) {
  CU_ASSERT_STRING_EQUAL(costs->machine.device, "cuda");
  CU_ASSERT_EQUAL(costs->program.steps, 2 * COUNTED);
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      const zb_plan_subprogram *s = &plan->ranks[r].subprograms[i];
      const zb_cost_subprogram *got = find(costs, r, s->name);
      CU_ASSERT_PTR_NOT_NULL_FATAL(got);
      CU_ASSERT(about(got->time_ps, (int64_t)s->instruction_count * KERNEL_PS) && about(got->first_ps, got->time_ps));
      CU_ASSERT_EQUAL(got->runs, s->kind == ZB_JOB_LOAD         ? 1
                                 : zb_job_is_optimizer(s->kind) ? COUNTED
                                                                : COUNTED * TINY_MICRO_BATCHES);
    }
  int64_t matmuls = 0;
  for (int64_t i = 0; i < costs->op_count; ++i) {
    CU_ASSERT(about(costs->ops[i].time_ps, KERNEL_PS));
    if (strcmp(costs->ops[i].op, "matmul") == 0) matmuls = costs->ops[i].runs;
  }
  CU_ASSERT_EQUAL(matmuls, COUNTED * 6); /* one run a step of F, B and W on two ranks, one product each */
  CU_ASSERT_EQUAL(costs->message_count, 2);
  for (int64_t i = 0; i < costs->message_count; ++i) {
    CU_ASSERT(about(costs->messages[i].time_ps, COPY_PS));
    CU_ASSERT_EQUAL(costs->messages[i].runs, COUNTED * TINY_MICRO_BATCHES);
  }
  CU_ASSERT_FALSE(costs->link.copies);
  CU_ASSERT(about(costs->link.wake_ps, 0) && about(costs->overheads.job_ps, 0) &&
            about(costs->overheads.read_ps, COPY_PS));
}

/* What is trained does not depend on measuring, and what is measured is what the GPU took. */
static void test_costs(void) {
  double losses[4][COST_STEPS];
  char path[600];
  for (int on = 0; on < 4; ++on) {
    zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000, .costs = on > 0};
    zb_session *session = NULL;
    zb_step_result result;
    zb_costs *costs = NULL;
    zb_plan *plan = tiny_plan();
    for (int r = 0; r < plan->rank_count; ++r)
      for (int i = 0; i < plan->ranks[r].subprogram_count; ++i)
        for (int k = 0; k < plan->ranks[r].subprograms[i].instruction_count; ++k)
          plan->ranks[r].subprograms[i].instructions[k].cost_op = plan->ranks[r].subprograms[i].instructions[k].op;
    fake_start((uint64_t)on);
    TINY_OK(fake_session(&params, plan, &session));
    for (int i = 0; i < COST_STEPS; ++i) {
      uint64_t allocations = zb_allocation_count();
      TINY_OK(zb_session_step(session, &result));
      if (!on && i > 0) CU_ASSERT_EQUAL(zb_allocation_count(), allocations);
      losses[on][i] = result.loss;
    }
    if (on) {
      TINY_OK(zb_session_write_costs(session, tiny_path(path, "costs.json")));
      TINY_OK(zb_costs_read(path, &costs));
      check_costs(costs, session->plan);
      zb_costs_destroy(costs);
    }
    zb_session_destroy(session);
    CU_ASSERT_EQUAL(fake_races(), 0);
    CU_ASSERT_EQUAL(fake_stop(), 0);
  }
  for (int on = 1; on < 4; ++on)
    CU_ASSERT_EQUAL(memcmp(losses[0], losses[on], sizeof losses[0]), 0);
}

/* What the fake is for: a host that looks into the memory of the device does not get away with it. */
static void test_memory_of_the_device(void) {
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session *session = NULL;
  zb_step_result result;
  int status = 0;
  fake_start(1);
  TINY_OK(fake_session(&params, tiny_plan(), &session));
  TINY_OK(zb_session_step(session, &result));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would print a report */
    _exit(*(volatile const unsigned char *)session->executors[1].arena & 0);
  }
  CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child);
  CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

/* Opened, stepped, saved and ended on four threads: what a program in Python may do. */
static zb_session *handed_on;

static void *open_there(void *unused) {
  static const zb_session_params params = {.timeout_ms = 10000};
  zb_session_params with_data = params;
  with_data.data = tiny_data();
  TINY_OK(fake_session(&with_data, tiny_plan(), &handed_on));
  return unused;
}

static void *step_there(void *unused) {
  zb_step_result result;
  TINY_OK(zb_session_step(handed_on, &result));
  return unused;
}

static void *save_there(void *unused) {
  char path[600];
  TINY_OK(zb_session_save(handed_on, tiny_path(path, "threads")));
  return unused;
}

static void *end_there(void *unused) {
  zb_session_destroy(handed_on);
  return unused;
}

static void test_threads(void) {
  static void *(*const work[])(void *) = {open_there, step_there, save_there, step_there,
                                          end_there,  open_there, end_there};
  fake_start(1);
  for (size_t i = 0; i < sizeof work / sizeof work[0]; ++i) {
    pthread_t thread;
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, work[i], NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  CU_ASSERT_EQUAL(fake_stop(), 0);
}

int main(void) {
  CU_TestInfo tests[] = {{"values are bitwise those of the cpu, in any order", test_values},
                         {"checkpoints of the cpu, and for it", test_resume},
                         {"order of launches, events and copies is the golden one", test_golden},
                         {"a wait that is left out is found", test_mutations},
                         {"a value that a kernel cannot take", test_fault},
                         {"a loss that is no number", test_loss_is_no_number},
                         {"any call may fail", test_failing_calls},
                         {"an arena that does not fit", test_no_memory},
                         {"a GPU that stands still", test_hang},
                         {"a plan that hangs", test_plan_that_hangs},
                         {"a thread for each call", test_threads},
                         {"memory of the device is not the host's", test_memory_of_the_device},
                         {"times of jobs and messages", test_times},
                         {"a clock of the GPU that runs ahead", test_clock_ahead},
                         {"no times without a trace", test_no_times},
                         {"costs by events", test_costs},
                         CU_TEST_INFO_NULL};
  return tiny_run("cuda steps on a fake GPU", tests);
}
