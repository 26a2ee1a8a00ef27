/* Evaluations in a session: the loss of F, nothing else changes, and what can be wrong. The small plan gets jobs E by
 * hand, with homes in the slots of its step. */
#include "runtime/exec/data.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/exec/tiny.h"

#include <math.h>

enum { STEPS = 4 };

static const char *long_data(void) {
  static char source[TINY_SOURCE_BYTES];
  return tiny_text("valid.txt", TINY_TEXT_BYTES, 5, source);
}

static void add_programs(tiny_builder *b) {
  const zb_plan_subprogram *f = NULL;
  for (int i = 0; i < b->rank->subprogram_count; ++i)
    if (b->rank->subprograms[i].kind == ZB_JOB_F) f = &b->rank->subprograms[i];
  zb_plan_subprogram *e = tiny_subprogram(b, b->rank->rank ? "s1_E" : "s0_E", b->rank->rank, ZB_JOB_EVALUATE, 1000000);
  e->instructions = f->instructions; /* the same, in the same homes */
  e->instruction_count = f->instruction_count;
  e->bases = f->bases;
  e->base_bytes = f->base_bytes;
  e->base_count = f->base_count;
  e->loss_base = f->loss_base;
  e->loss_offset = f->loss_offset;
}

static void add_rank0(tiny_builder *b, int first_message) {
  int sends[TINY_MICRO_BATCHES];
  const int e = b->rank->subprogram_count - 1;
  for (int i = 0; i < TINY_MICRO_BATCHES; ++i) {
    const uint64_t set = b->slots + (uint64_t)(i % 2) * TINY_SET0_BYTES;
    zb_plan_job *read = tiny_job(b, ZB_JOB_READ, -1, 0, i);
    read->input = 0;
    tiny_job_part(b, read, set + TINY_X, 64);
    zb_plan_job *job = tiny_job(b, ZB_JOB_EVALUATE, e, 0, i);
    tiny_job_base(b, job, set);
    tiny_job_base(b, job, set + TINY_FW0_BYTES);
    if (i >= 2) tiny_job_wait(b, job, sends[i - 2]);
    sends[i] = tiny_message_job(b, ZB_JOB_SEND, first_message + i, 0, i, set + TINY_FW0_BYTES);
  }
}

static void add_rank1(tiny_builder *b, int first_message) {
  const int e = b->rank->subprogram_count - 1;
  for (int i = 0; i < TINY_MICRO_BATCHES; ++i) {
    const uint64_t fb = b->slots + (uint64_t)(i % 2) * TINY_SET1_BYTES, fw = fb + TINY_FB1_BYTES;
    const int received = tiny_message_job(b, ZB_JOB_RECV, first_message + i, 1, i, fw);
    zb_plan_job *read = tiny_job(b, ZB_JOB_READ, -1, 1, i);
    read->input = 1;
    tiny_job_part(b, read, fb + TINY_Y, 64);
    zb_plan_job *job = tiny_job(b, ZB_JOB_EVALUATE, e, 1, i);
    tiny_job_base(b, job, fb);
    tiny_job_base(b, job, fw);
    tiny_job_wait(b, job, received);
    tiny_job_part(b, tiny_job(b, ZB_JOB_REPORT, -1, 1, i), fb + TINY_LOSS, 4);
  }
}

static zb_plan *evaluating_plan(void) {
  zb_plan *plan = tiny_plan();
  const int first_message = plan->message_count;
  zb_plan_message *messages = zb_plan_alloc(plan, sizeof *messages * (size_t)(first_message + TINY_MICRO_BATCHES));
  memcpy(messages, plan->messages, sizeof *messages * (size_t)first_message);
  for (int i = 0; i < TINY_MICRO_BATCHES; ++i)
    messages[first_message + i] = (zb_plan_message){.destination = 1,
                                                    .destination_stage = 1,
                                                    .micro_batch = i,
                                                    .payload = ZB_PAYLOAD_FORWARD,
                                                    .bytes = 256,
                                                    .part_count = 1};
  plan->messages = messages;
  plan->message_count += plan->evaluation_messages = TINY_MICRO_BATCHES;
  plan->evaluates = true;
  for (int r = 0; r < 2; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    tiny_builder b = {.plan = plan, .rank = rank, .slots = rank->regions[ZB_REGION_SLOTS].offset};
    const int begin = rank->job_count;
    rank->evaluation_slots = rank->regions[ZB_REGION_SLOTS];
    rank->evaluation_workspace = rank->regions[ZB_REGION_WORKSPACE];
    add_programs(&b);
    (r ? add_rank1 : add_rank0)(&b, first_message);
    rank->evaluation_count = rank->job_count - begin;
  }
  return plan;
}

static void test_plan_verifies(void) {
  zb_plan *plan = evaluating_plan();
  TINY_OK(zb_plan_verify(plan));
  zb_plan_destroy(plan);
}

/* The loss of a batch is that of the step that trains on it; of several it is their mean. */
static void test_loss(void) {
  zb_session_params params = {.data = tiny_data(), .evaluation = tiny_data(), .evaluation_batches = 1};
  zb_session *session = NULL;
  zb_evaluation_result found;
  zb_step_result step;
  TINY_OK(tiny_session(&params, evaluating_plan(), true, &session));
  TINY_OK(zb_session_evaluate(session, &found));
  TINY_OK(zb_session_step(session, &step));
  CU_ASSERT(found.loss > 5 && found.loss < 6);
  CU_ASSERT_EQUAL(found.loss, step.loss);
  CU_ASSERT_EQUAL(found.step, 0);
  CU_ASSERT_EQUAL(found.batches, 1);
  CU_ASSERT_EQUAL(found.tokens, TINY_TOKENS * TINY_MICRO_BATCHES);
  CU_ASSERT(found.seconds > 0 && !found.stopping);
  zb_session_destroy(session);
  /* 400 tokens in rows of 4: 395 places to start at, so 99 rows, 12 batches of 8 rows and one of 3 */
  params.evaluation_batches = 0;
  double sum = 0;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  TINY_OK(zb_session_evaluate(session, &found));
  CU_ASSERT_EQUAL(found.batches, 13);
  for (int k = 1; k <= 13; ++k) { /* the first k batches have k times the mean; differences are batches */
    zb_session *first = NULL;
    zb_evaluation_result part;
    params.evaluation_batches = k;
    TINY_OK(tiny_session(&params, evaluating_plan(), false, &first));
    TINY_OK(zb_session_evaluate(first, &part));
    CU_ASSERT_EQUAL(part.batches, k);
    sum = part.loss;
    zb_session_destroy(first);
  }
  CU_ASSERT_EQUAL(sum, found.loss);
  zb_session_destroy(session);
}

/* Trains, with evaluations after each step where `evaluates`. */
static void train(zb_session_params params, bool evaluates, bool poison, double losses[STEPS], double found[STEPS],
                  unsigned char *out_weights) {
  zb_session *session = NULL;
  params.data = tiny_data();
  params.evaluation = evaluates ? long_data() : NULL;
  params.evaluation_batches = 3;
  TINY_OK(tiny_session(&params, evaluating_plan(), poison, &session));
  for (int i = 0; i < STEPS; ++i) {
    zb_step_result step;
    zb_evaluation_result evaluation = {.loss = 0};
    TINY_OK(zb_session_step(session, &step));
    if (evaluates) TINY_OK(zb_session_evaluate(session, &evaluation));
    if (evaluates) CU_ASSERT_EQUAL(evaluation.step, i + 1);
    losses[i] = step.loss;
    found[i] = evaluation.loss;
  }
  for (int r = 0; r < 2; ++r) { /* parameters, optimizer state, gradients */
    const zb_plan_range *end = &session->plan->ranks[r].regions[ZB_REGION_CONSTANTS];
    memcpy(out_weights, session->executors[r].arena, end->offset);
    out_weights += end->offset;
  }
  zb_session_destroy(session);
}

static void test_training_is_the_same(void) {
  static unsigned char plain[100000], other[100000];
  double losses[STEPS], again[STEPS], none[STEPS], found[STEPS], found_again[STEPS];
  zb_session_params params = {.timeout_ms = 10000};
  train(params, false, false, losses, none, plain);
  train(params, true, true, again, found, other);
  CU_ASSERT_EQUAL(memcmp(losses, again, sizeof losses), 0);
  CU_ASSERT_EQUAL(memcmp(plain, other, sizeof plain), 0);
  CU_ASSERT(found[STEPS - 1] < found[0]);
  params.device = "sim";
  for (params.seed = 0; params.seed < 4; ++params.seed) {
    memset(other, 0, sizeof other);
    train(params, true, params.seed % 2 == 1, again, found_again, other);
    CU_ASSERT_EQUAL(memcmp(losses, again, sizeof losses), 0);
    CU_ASSERT_EQUAL(memcmp(found, found_again, sizeof found), 0);
    CU_ASSERT_EQUAL(memcmp(plain, other, sizeof plain), 0);
  }
}

/* A job of rank 0; then rank 1 waits for a message (0.1256 us) before each of its four jobs. */
static void test_clock(void) {
  zb_session_params params = {.device = "sim", .evaluation = tiny_data(), .evaluation_batches = 2};
  zb_session *session = NULL;
  zb_evaluation_result found;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  TINY_OK(zb_session_evaluate(session, &found));
  CU_ASSERT_DOUBLE_EQUAL(found.seconds * 1e6, 2 * (1 + 4 * 1.1256), 1e-9);
  zb_session_destroy(session);
}

static void test_no_allocation(void) {
  zb_session_params params = {.evaluation = tiny_data()};
  zb_session *session = NULL;
  zb_evaluation_result found;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  TINY_OK(zb_session_evaluate(session, &found));
  const uint64_t before = zb_allocation_count();
  TINY_OK(zb_session_evaluate(session, &found));
  CU_ASSERT_EQUAL(zb_allocation_count(), before);
  zb_session_destroy(session);
}

/* A timeline and measured costs are of steps. */
static void test_records(void) {
  char with[600], without[600];
  char *files[2] = {NULL, NULL};
  size_t bytes[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    zb_session_params params = {
        .device = "sim", .data = tiny_data(), .evaluation = tiny_data(), .trace = true, .costs = true};
    zb_session *session = NULL;
    zb_evaluation_result found;
    zb_step_result step;
    TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
    for (int i = 0; i < 3; ++i) {
      TINY_OK(zb_session_step(session, &step));
      if (k) TINY_OK(zb_session_evaluate(session, &found));
    }
    const char *path = tiny_path(k ? with : without, k ? "with.svg" : "without.svg");
    TINY_OK(zb_session_timeline(session, path));
    TINY_OK(zb_file_read(path, 0, &files[k], &bytes[k]));
    path = tiny_path(k ? with : without, k ? "with.json" : "without.json");
    TINY_OK(zb_session_write_costs(session, path));
    zb_session_destroy(session);
  }
  CU_ASSERT_EQUAL(bytes[0], bytes[1]);
  CU_ASSERT(bytes[0] == bytes[1] && memcmp(files[0], files[1], bytes[0]) == 0);
  for (int k = 0; k < 2; ++k) {
    zb_free(files[k]);
    TINY_OK(zb_file_read(k ? with : without, 0, &files[k], &bytes[k]));
  }
  CU_ASSERT(bytes[0] == bytes[1] && memcmp(files[0], files[1], bytes[0]) == 0);
  zb_free(files[0]);
  zb_free(files[1]);
}

static void test_wrong(void) {
  char path[600], source[700];
  zb_session_params params = {.data = tiny_data()};
  zb_session *session = NULL;
  zb_evaluation_result found;
  zb_step_result step;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  tiny_expect(zb_session_evaluate(session, &found), ZB_USAGE, "no data to evaluate");
  TINY_OK(zb_session_step(session, &step)); /* the session is as it was */
  zb_session_destroy(session);
  params.evaluation = tiny_data();
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_INVALID, "the plan has no evaluation");
  params.evaluation_batches = 14;
  tiny_expect(tiny_session(&params, evaluating_plan(), false, &session), ZB_INVALID,
              "has 99 rows, which are no 14 batches of 8");
  params.evaluation_batches = 0;
  snprintf(source, sizeof source, "text:%s", tiny_path(path, "short.txt"));
  tiny_write(path, "abcdefghijklmnopqrstuvwxyz", 26); /* 21 places to start at, so 6 rows */
  params.evaluation = source;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  TINY_OK(zb_session_evaluate(session, &found));
  CU_ASSERT_EQUAL(found.batches, 1);
  CU_ASSERT_EQUAL(found.tokens, 6 * 4);
  zb_session_destroy(session);
  params = (zb_session_params){.evaluation = tiny_data()};
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  tiny_expect(zb_session_step(session, &step), ZB_USAGE, "makes no steps");
  tiny_expect(zb_session_save(session, tiny_path(path, "save")), ZB_USAGE, "nothing to save");
  zb_session_stop(session); /* after the batch at hand */
  TINY_OK(zb_session_evaluate(session, &found));
  CU_ASSERT(found.stopping && found.batches == 1);
  zb_session_interrupt(session);
  tiny_expect(zb_session_evaluate(session, &found), ZB_INTERRUPTED, "the evaluation after step 0");
  zb_session_destroy(session);
}

/* A token that the model does not know: the file of the evaluation is blamed, with its batch. */
static void test_blame(void) {
  char path[600], source[700];
  uint16_t tokens[400];
  for (int i = 0; i < 400; ++i)
    tokens[i] = (uint16_t)(i == 70 ? 999 : i % 200);
  tiny_write(tiny_path(path, "tokens.bin"), tokens, sizeof tokens);
  snprintf(source, sizeof source, "tokens:%s", path);
  zb_session_params params = {.data = tiny_data(), .evaluation = source};
  zb_session *session = NULL;
  zb_evaluation_result found;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  zb_status status = zb_session_evaluate(session, &found);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "the token 999 stands at place 70 (from 0) of"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "tokens.bin"));
  tiny_expect(status, ZB_INVALID, "evaluation after step 0, batch 3");
  zb_session_destroy(session);
}

/* An embedder that reads the files by itself. */
typedef struct embedder {
  zb_plan *plan;
  zb_data *data;
  int calls, fails_at; /* fails_at -1: never */
} embedder;

static zb_status give(void *context, const char *name, int64_t number, int micro_batch, void *to, uint64_t bytes) {
  embedder *e = context;
  const int input = strcmp(name, "x") == 0 ? 0 : 1;
  CU_ASSERT_EQUAL(bytes, 64);
  if (number == e->fails_at) return ZB_ERROR(IO, "no more of it");
  __atomic_add_fetch(&e->calls, 1, __ATOMIC_SEQ_CST);
  return zb_data_read(e->data, input, number, micro_batch, to);
}

static embedder embed(const char *source) {
  embedder e = {.plan = tiny_plan(), .fails_at = -1};
  const zb_data_params params = {.plan = e.plan, .source = source};
  TINY_OK(zb_data_create(&params, &e.data));
  return e;
}

static void unembed(embedder *e) {
  zb_data_destroy(e->data);
  zb_plan_destroy(e->plan);
}

/* Batches that the embedder gives have the losses of those that the session reads from the same file, and steps between
 * them do not notice. */
static void test_batches(void) {
  embedder e = embed(tiny_data());
  zb_session_params params = {.data = tiny_data(), .input_context = &e, .evaluation_input = give, .timeout_ms = 10000};
  zb_session_params whole = {.data = tiny_data(), .evaluation = tiny_data()};
  zb_session *session = NULL, *other = NULL;
  zb_evaluation_result found = {0}, expected;
  zb_step_result step, plain;
  TINY_OK(tiny_session(&params, evaluating_plan(), true, &session));
  for (int k = 1; k <= 12; ++k) {
    whole.evaluation_batches = k;
    TINY_OK(tiny_session(&whole, evaluating_plan(), false, &other));
    TINY_OK(zb_session_evaluate_batch(session, &found));
    TINY_OK(zb_session_evaluate(other, &expected));
    CU_ASSERT_EQUAL(found.batches, k);
    CU_ASSERT_EQUAL(found.loss, expected.loss);
    CU_ASSERT_EQUAL(found.tokens, expected.tokens);
    CU_ASSERT(found.has_loss && found.loss_weight == k && found.step == 0);
    if (k == 12) TINY_OK(zb_session_step(other, &plain));
    zb_session_destroy(other);
  }
  CU_ASSERT_EQUAL(e.calls, 12 * TINY_MICRO_BATCHES * 2);
  TINY_OK(zb_session_step(session, &step));
  CU_ASSERT_EQUAL(step.loss, plain.loss);
  const uint64_t before = zb_allocation_count();
  found = (zb_evaluation_result){0};
  TINY_OK(zb_session_evaluate_batch(session, &found));
  CU_ASSERT_EQUAL(zb_allocation_count(), before);
  CU_ASSERT(found.step == 1 && found.batches == 1 && found.loss < expected.loss);
  zb_session_destroy(session);
  unembed(&e);
}

/* Whole batches in memory have the bits of the file that they were taken from: steps that are announced, evaluations.
 */
static void test_batches_in_memory(void) {
  enum { STEP_BYTES = 64 * TINY_MICRO_BATCHES };
  static int64_t inputs[STEPS][2][STEP_BYTES / 8];
  embedder e = embed(tiny_data());
  const char *const names[] = {"x", "y"};
  const void *data[STEPS][2];
  zb_batches batches = {.names = names, .count = 2, .evaluation = {.number = -1}};
  zb_session_params file = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session_params params = {.input = zb_batches_input,
                              .evaluation_input = zb_batches_evaluation,
                              .input_context = &batches,
                              .timeout_ms = 10000};
  zb_session *session = NULL, *other = NULL;
  zb_evaluation_result found = {0};
  zb_step_result step, plain;
  for (int k = 0; k < STEPS; ++k) {
    for (int i = 0; i < 2; ++i) {
      data[k][i] = inputs[k][i];
      for (int m = 0; m < TINY_MICRO_BATCHES; ++m)
        TINY_OK(zb_data_read(e.data, i, k, m, inputs[k][i] + 8 * m));
    }
    batches.steps[k % ZB_BATCHES] = (zb_batch){.number = k, .data = data[k]};
  }
  TINY_OK(tiny_session(&params, evaluating_plan(), true, &session));
  TINY_OK(tiny_session(&file, evaluating_plan(), false, &other));
  batches.evaluation = (zb_batch){.number = 0, .data = data[0]};
  TINY_OK(zb_session_evaluate_batch(session, &found));
  zb_session_announce(session, STEPS);
  for (int k = 0; k < STEPS; ++k) {
    TINY_OK(zb_session_step(session, &step));
    TINY_OK(zb_session_step(other, &plain));
    CU_ASSERT_EQUAL(step.loss, plain.loss);
    if (k == 0) CU_ASSERT_EQUAL(found.loss, step.loss);
  }
  tiny_expect(zb_session_evaluate_batch(session, &found), ZB_USAGE, "there is no batch for the evaluation of batch 2");
  zb_session_destroy(session);
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  batches.count = 1;
  tiny_expect(zb_session_step(session, &step), ZB_USAGE, "the batch for step 1 has no input 'y'");
  zb_session_destroy(session);
  zb_session_destroy(other);
  unembed(&e);
}

static void test_wrong_batches(void) {
  embedder e = embed(tiny_data());
  const char *const names[] = {"logits"};
  const void *data = &e;
  zb_shape shape;
  zb_session_params params = {.data = tiny_data(), .input_context = &e};
  zb_session *session = NULL;
  zb_evaluation_result found = {0};
  zb_step_result step;
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  tiny_expect(zb_session_evaluate_batch(session, &found), ZB_USAGE, "set evaluation_input in its parameters");
  TINY_OK(zb_session_step(session, &step));
  zb_session_destroy(session);
  params.evaluation = tiny_data(); /* of a file, batches are not asked for */
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  tiny_expect(zb_session_evaluate_batch(session, &found), ZB_USAGE, "set evaluation_input in its parameters");
  zb_session_destroy(session);
  params.evaluation = params.data = NULL;
  params.evaluation_input = give;
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_INVALID, "the plan has no evaluation");
  TINY_OK(tiny_session(&params, evaluating_plan(), false, &session));
  tiny_expect(zb_session_step(session, &step), ZB_USAGE, "makes no steps");
  tiny_expect(zb_session_evaluate(session, &found), ZB_USAGE, "no data to evaluate");
  tiny_expect(zb_session_output(session, "logits", &shape, &data), ZB_USAGE, "hands out no output 'logits'");
  CU_ASSERT_PTR_NULL(data);
  found = (zb_evaluation_result){0};
  TINY_OK(zb_session_evaluate_batch(session, &found));
  e.fails_at = 1;
  tiny_expect(zb_session_evaluate_batch(session, &found), ZB_IO, "no more of it");
  CU_ASSERT_EQUAL(found.batches, 1);
  tiny_expect(zb_session_evaluate_batch(session, &found), ZB_RUNTIME, "this session ended");
  zb_session_destroy(session);
  params.outputs = names;
  params.output_count = 1;
  tiny_expect(tiny_session(&params, evaluating_plan(), false, &session), ZB_USAGE, "keeps no output named 'logits'");
  unembed(&e);
}

int main(void) {
  static CU_TestInfo tests[] = {{"plan verifies", test_plan_verifies},
                                {"loss", test_loss},
                                {"training is the same", test_training_is_the_same},
                                {"clock", test_clock},
                                {"no allocation", test_no_allocation},
                                {"records", test_records},
                                {"wrong", test_wrong},
                                {"batches", test_batches},
                                {"batches in memory", test_batches_in_memory},
                                {"wrong batches", test_wrong_batches},
                                {"blame", test_blame},
                                CU_TEST_INFO_NULL};
  return tiny_run("evaluation", tests);
}
