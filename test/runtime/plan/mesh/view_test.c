/* Plans of one list alone, and the proof of evaluations: right ones pass, and each way to break one is refused by its
 * rule. */
#include "test/runtime/plan/evaluation_plan.h"

#include "runtime/plan/clock/liveness.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

static void expect_right(const zb_plan *plan) {
  zb_status status = zb_plan_verify(plan);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
}

static zb_plan *view_of(const zb_plan *plan, zb_plan_list list) {
  zb_plan *view = NULL;
  zb_status status = zb_plan_view(plan, list, &view);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return view;
}

static void test_right_plans(void) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int micro_batches = 1; micro_batches <= 5; ++micro_batches)
      for (int depth = 1; depth <= micro_batches; ++depth) {
        zb_plan *plan = evaluation_plan(ranks, micro_batches, depth);
        expect_right(plan);
        zb_plan_destroy(plan);
      }
}

/* A step is what it was without an evaluation beside it. */
static void test_step(void) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    zb_plan *plain = sample_plan(ranks, 4, 0), *plan = evaluation_plan(ranks, 4, 2);
    zb_plan *view = view_of(plan, ZB_LIST_STEP);
    char *expected = sample_print(plain), *found = sample_print(view);
    CU_ASSERT_STRING_EQUAL(expected, found);
    zb_plan_simulation without, with;
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plain, &without));
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &with));
    CU_ASSERT_EQUAL(without.step_ps, with.step_ps);
    for (int r = 0; r < ranks; ++r)
      CU_ASSERT_EQUAL(without.ranks[r].peak_bytes, with.ranks[r].peak_bytes);
    zb_plan_simulation_free(&without);
    zb_plan_simulation_free(&with);
    zb_free(expected);
    zb_free(found);
    zb_plan_destroy(view);
    zb_plan_destroy(plan);
    zb_plan_destroy(plain);
  }
}

/* Micro-batches follow each other through the stages; what a stage reads is awaited only when the job before is over,
 * so a job and a message come after each other. */
static void test_evaluation(void) {
  zb_plan *plan = evaluation_plan(3, 5, 0), *view = view_of(plan, ZB_LIST_EVALUATION);
  zb_plan_simulation simulation;
  CU_ASSERT_EQUAL(view->message_count, 10);
  CU_ASSERT_EQUAL(view->ranks[1].job_count, 5 * 3); /* RECV, E, SEND */
  CU_ASSERT_EQUAL(view->ranks[1].subprogram_count, 1);
  CU_ASSERT_FALSE(view->evaluates);
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(view, &simulation));
  const int64_t message_ps = 3 + 2; /* of 256 bytes: evaluation_plan.h, sample_plan.h */
  CU_ASSERT_EQUAL(simulation.step_ps, 3 * EVALUATION_PS + 2 * message_ps + 4 * (EVALUATION_PS + message_ps));
  CU_ASSERT_EQUAL(simulation.ranks[0].busy_ps, 5 * EVALUATION_PS);
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(view);
  zb_plan_destroy(plan);
}

static void test_print(void) {
  zb_plan *plan = evaluation_plan(2, 2, 1);
  char *text = sample_print(plan);
  const char *const lines[] = {
      "\noutput logits 4x8xf32\n",
      "\nrank 1: 19 jobs, 6 messages, arena",
      "\n  evaluation: 10 jobs, 2 messages, slots 512   workspace 128\n",
      "\n  subprogram E: E of stage 1, time 7 ps",
      "\n    matmul  in+0:4x16xf32  parameters+0:16x8xf32  ->  workspace+0:4x8xf32",
      "\n    output logits at out+128\n",
      "\n  jobs of an evaluation\n",
      " REPORT logits stage 1 micro-batch 1  slots+384 (128)",
      " E      E micro-batch 1  in slots+0  out slots+256  after 24\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
    if (!strstr(text, lines[i])) printf("\n  not in the text: '%s'", lines[i]);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, lines[i]));
  }
  zb_free(text);
  zb_plan_destroy(plan);
}

/* Nothing lives between a step and an evaluation, so the liveness of each is that of its view. */
static void test_liveness(void) {
  zb_plan *plan = evaluation_plan(3, 4, 2);
  for (int r = 0; r < 3; ++r) {
    zb_liveness both;
    CU_ASSERT_PTR_NULL_FATAL(zb_liveness_init(plan, r, &both));
    for (zb_plan_list list = ZB_LIST_STEP; list < ZB_LIST_COUNT; ++list) {
      zb_plan *view = view_of(plan, list);
      zb_liveness alone;
      const zb_plan_rank *rank = &view->ranks[r];
      const int moved = zb_plan_list_begin(&plan->ranks[r], list) - rank->load_count;
      CU_ASSERT_PTR_NULL_FATAL(zb_liveness_init(view, r, &alone));
      for (int i = rank->load_count; i < rank->job_count; ++i) {
        CU_ASSERT_EQUAL(alone.use_bytes[i], both.use_bytes[moved + i]);
        CU_ASSERT_EQUAL(alone.free_after[i].count, both.free_after[moved + i].count);
        CU_ASSERT_EQUAL(alone.quiet[i].count, both.quiet[moved + i].count);
      }
      CU_ASSERT(alone.most_live_bytes <= both.most_live_bytes && alone.high_water_bytes <= both.high_water_bytes);
      zb_liveness_deinit(&alone);
      zb_plan_destroy(view);
    }
    zb_liveness_deinit(&both);
  }
  zb_plan_destroy(plan);
}

/* Every allocation of a view can fail. */
static void test_out_of_memory(void) {
  zb_plan *plan = evaluation_plan(2, 2, 1);
  for (uint64_t n = 1;; ++n) {
    zb_plan *view = NULL;
    zb_allocation_fail_at(n);
    zb_status status = zb_plan_view(plan, ZB_LIST_EVALUATION, &view);
    zb_allocation_fail_at(0);
    bool made = !status;
    CU_ASSERT_EQUAL(made, view != NULL);
    zb_status_free(status);
    zb_plan_destroy(view);
    if (made) break;
  }
  zb_plan_destroy(plan);
}

/* ---- Ways to break the evaluation of 3 ranks, 4 micro-batches, two slots ---- */

static zb_plan_instruction *instruction(zb_plan *plan, int rank, int index) {
  return &plan->ranks[rank].subprograms[evaluation_subprogram(plan, rank)].instructions[index];
}

/* The first job of that kind and micro-batch in the evaluation. */
static zb_plan_job *job(zb_plan *plan, int rank, zb_job_kind kind, int micro_batch) {
  zb_plan_rank *it = &plan->ranks[rank];
  for (int i = zb_plan_step_end(it); i < it->job_count; ++i)
    if (it->jobs[i].kind == kind && it->jobs[i].micro_batch == micro_batch) return &it->jobs[i];
  CU_ASSERT_TRUE_FATAL(false);
  return NULL;
}

static uint64_t *base_of(zb_plan *plan, int rank, int micro_batch, uint32_t base) {
  return &plan->ranks[rank].pool_u64[job(plan, rank, ZB_JOB_EVALUATE, micro_batch)->bases.begin + base];
}

static zb_plan_range *part_of(zb_plan *plan, int rank, zb_job_kind kind, int micro_batch) {
  return &plan->ranks[rank].pool_ranges[job(plan, rank, kind, micro_batch)->parts.begin];
}

static uint32_t *wait_of(zb_plan *plan, int rank, int micro_batch, uint32_t number) {
  return &plan->ranks[rank].pool_u32[job(plan, rank, ZB_JOB_EVALUATE, micro_batch)->waits.begin + number];
}

/* A result of E goes there instead. */
static void write_to(zb_plan *p, zb_region_kind region) {
  instruction(p, 1, 1)->outputs[0] = sample_operand(0, p->ranks[1].regions[region].offset, ZB_F32, 1, 0);
}
static void writes_parameter(zb_plan *p) { write_to(p, ZB_REGION_PARAMETERS); }
static void writes_state(zb_plan *p) { write_to(p, ZB_REGION_STATE); }
static void writes_gradient(zb_plan *p) { write_to(p, ZB_REGION_GRADIENTS); }
static void writes_constant(zb_plan *p) { write_to(p, ZB_REGION_CONSTANTS); }
static void writes_step(zb_plan *p) { write_to(p, ZB_REGION_STEP); }
static void reads_gradient(zb_plan *p) {
  instruction(p, 1, 0)->inputs[1].offset = p->ranks[1].regions[ZB_REGION_GRADIENTS].offset;
}
static void workspace_of_step(zb_plan *p) {
  instruction(p, 1, 0)->outputs[0].offset = p->ranks[1].regions[ZB_REGION_WORKSPACE].offset;
}
static void never_written(zb_plan *p) { *base_of(p, 1, 2, 0) = *base_of(p, 1, 2, 1) + EVALUATION_OUT; }
static void input_of_another(zb_plan *p) { *base_of(p, 1, 1, 0) = *base_of(p, 1, 0, 0); }
static void slots_overlap(zb_plan *p) {
  part_of(p, 2, ZB_JOB_RECV, 1)->offset = part_of(p, 2, ZB_JOB_RECV, 0)->offset;
  *base_of(p, 2, 1, 0) = part_of(p, 2, ZB_JOB_RECV, 0)->offset;
  part_of(p, 2, ZB_JOB_READ, 1)->offset = *base_of(p, 2, 1, 0) + 64;
  *base_of(p, 2, 1, 1) = *base_of(p, 2, 1, 0) + 64;
}
static void send_overwritten(zb_plan *p) { --job(p, 1, ZB_JOB_EVALUATE, 2)->waits.count; }
static void recv_not_waited(zb_plan *p) {
  zb_plan_job *e = job(p, 1, ZB_JOB_EVALUATE, 0);
  e->waits.count = 0;
}
static void outside_of_slots(zb_plan *p) { *base_of(p, 1, 1, 1) = p->ranks[1].evaluation_workspace.offset; }
static void in_gradients(zb_plan *p) {
  part_of(p, 1, ZB_JOB_RECV, 0)->offset = p->ranks[1].regions[ZB_REGION_GRADIENTS].offset;
}
static void message_shrunk(zb_plan *p) { part_of(p, 1, ZB_JOB_SEND, 1)->bytes -= 64; }
static void message_smaller(zb_plan *p) {
  zb_plan_message *message = &p->messages[evaluation_message(p, 1, 1)];
  part_of(p, 1, ZB_JOB_SEND, 1)->bytes -= 64;
  part_of(p, 2, ZB_JOB_RECV, 1)->bytes -= 64;
  message->bytes -= 64;
}
static void message_dropped(zb_plan *p) {
  zb_plan_rank *rank = &p->ranks[1];
  zb_plan_job *last = job(p, 1, ZB_JOB_SEND, 3);
  CU_ASSERT_PTR_EQUAL_FATAL(last, &rank->jobs[rank->job_count - 1]);
  --rank->job_count;
  --rank->evaluation_count;
}
static void message_of_step(zb_plan *p) { job(p, 1, ZB_JOB_SEND, 1)->message = 0; }
static void waits_for_step(zb_plan *p) {
  for (int i = 0; i < zb_plan_step_end(&p->ranks[1]); ++i)
    if (zb_job_is_post(p->ranks[1].jobs[i].kind)) *wait_of(p, 1, 0, 0) = (uint32_t)i;
}
static void kind_of_step(zb_plan *p) {
  p->ranks[1].subprograms[evaluation_subprogram(p, 1)].kind = ZB_JOB_F;
  for (int m = 0; m < 4; ++m)
    job(p, 1, ZB_JOB_EVALUATE, m)->kind = ZB_JOB_F;
}
static void e_in_step(zb_plan *p) { /* RECV, E of the first micro-batch */
  zb_plan_rank *rank = &p->ranks[1];
  zb_plan_job *first = &rank->jobs[zb_plan_step_end(rank)], received = first[0];
  first[0] = first[1];
  first[0].waits.count = 0;
  first[1] = received;
  --rank->evaluation_count;
}
static void no_evaluation(zb_plan *p) { p->ranks[1].evaluation_count = 0; }
static void not_said(zb_plan *p) { p->evaluates = false; }
static void e_missing(zb_plan *p) {
  zb_plan_rank *rank = &p->ranks[2];
  rank->job_count -= 3; /* E and two REPORTs of the last micro-batch */
  rank->evaluation_count -= 3;
}
static void e_twice(zb_plan *p) { job(p, 0, ZB_JOB_EVALUATE, 1)->micro_batch = 0; }
static void report_of_another_place(zb_plan *p) { part_of(p, 2, ZB_JOB_REPORT, 1)->offset -= 64; }
static zb_plan_job *output_job(zb_plan *p, int micro_batch) { return job(p, 2, ZB_JOB_REPORT, micro_batch) + 1; }
static zb_plan_subprogram *last_e(zb_plan *p) { return &p->ranks[2].subprograms[evaluation_subprogram(p, 2)]; }
static void output_of_another_place(zb_plan *p) {
  p->ranks[2].pool_ranges[output_job(p, 1)->parts.begin].offset -= EVALUATION_OUTPUT;
}
static void output_of_another_micro_batch(zb_plan *p) {
  p->ranks[2].pool_ranges[output_job(p, 1)->parts.begin] = p->ranks[2].pool_ranges[output_job(p, 0)->parts.begin];
}
static void output_twice(zb_plan *p) {
  output_job(p, 1)->micro_batch = 0;
  p->ranks[2].pool_ranges[output_job(p, 1)->parts.begin] = p->ranks[2].pool_ranges[output_job(p, 0)->parts.begin];
}
static void output_dropped(zb_plan *p) {
  --p->ranks[2].job_count;
  --p->ranks[2].evaluation_count;
}
static void output_shrunk(zb_plan *p) { --p->ranks[2].pool_ranges[output_job(p, 1)->parts.begin].bytes; }
static void output_as_loss(zb_plan *p) { output_job(p, 1)->output = 0; }
static void loss_as_output(zb_plan *p) { job(p, 2, ZB_JOB_REPORT, 1)->output = 1; }
static void output_unknown(zb_plan *p) { output_job(p, 1)->output = 2; }
static void output_of_send(zb_plan *p) { job(p, 1, ZB_JOB_SEND, 1)->output = 1; }
static void output_of_nobody(zb_plan *p) { last_e(p)->output_count = 0; }
static void output_home_elsewhere(zb_plan *p) { last_e(p)->outputs[0].offset = 0; }
static void output_home_outside(zb_plan *p) { last_e(p)->outputs[0].offset = EVALUATION_OUT - 64; }
static void output_home_of_f(zb_plan *p) {
  p->ranks[2].subprograms[SAMPLE_F].outputs = last_e(p)->outputs;
  p->ranks[2].subprograms[SAMPLE_F].output_count = 1;
}
static void output_of_two(zb_plan *p) {
  zb_plan_subprogram *e = &p->ranks[1].subprograms[evaluation_subprogram(p, 1)];
  e->outputs = last_e(p)->outputs;
  e->output_count = 1;
}
static void output_larger(zb_plan *p) { p->outputs[0].shape.dims[0] = 5; }
static void inference_with_a_step(zb_plan *p) { p->inference = true; }
static void slots_outside(zb_plan *p) { p->ranks[1].evaluation_slots.bytes = p->ranks[1].arena_bytes; }
static void workspace_outside(zb_plan *p) {
  p->ranks[1].evaluation_workspace.offset = p->ranks[1].arena_bytes - EVALUATION_WORKSPACE + 64;
}
static void slots_over_step(zb_plan *p) { p->ranks[1].evaluation_slots.offset -= 64; }
static void workspace_over_slots(zb_plan *p) { p->ranks[1].evaluation_workspace.offset -= 64; }
static void too_many_messages(zb_plan *p) { p->evaluation_messages = p->message_count + 1; }
static void loss_twice(zb_plan *p) {
  zb_plan_subprogram *e = &p->ranks[1].subprograms[evaluation_subprogram(p, 1)];
  e->loss_base = 2;
}

static const struct breakage {
  const char *name;
  void (*make)(zb_plan *plan);
  const char *rule, *message;
} breakages[] = {
    {"writes a parameter", writes_parameter, "ranges", "a E may not write to the region parameters"},
    {"writes state", writes_state, "ranges", "a E may not write to the region state"},
    {"writes a gradient", writes_gradient, "ranges", "a E may not write to the region gradients"},
    {"writes a constant", writes_constant, "ranges", "a E may not write to the region constants"},
    {"writes the step", writes_step, "ranges", "a E may not write to the region step"},
    {"reads a gradient", reads_gradient, "ranges", "a E may not read the region gradients"},
    {"workspace of the step", workspace_of_step, "ranges", "an operand of the arena lies in"},
    {"reads what nobody wrote", never_written, "dataflow", "reads slots+"},
    {"reads another micro-batch", input_of_another, "dataflow", "which was last written for another micro-batch by"},
    {"homes that overlap", slots_overlap, "dataflow", "rank 2 job"},
    {"send not waited for", send_overwritten, "dataflow", "which a SEND still reads that was not waited for"},
    {"receive not waited for", recv_not_waited, "dataflow", "which is being received, without waiting for"},
    {"base outside of the slots", outside_of_slots, "ranges", "does not lie in the slots"},
    {"receives into gradients", in_gradients, "dataflow", "which is no sum of gradients"},
    {"part of a message shrunk", message_shrunk, "structure", "its parts are not those of its message"},
    {"message shrunk at both ends", message_smaller, "dataflow", "whose bytes come from other writers or places"},
    {"message dropped", message_dropped, "messages", "has no SEND"},
    {"message of the step", message_of_step, "structure", "its message is of"},
    {"waits for the step", waits_for_step, "structure", "it waits for a job of another list"},
    {"an F in an evaluation", kind_of_step, "structure", "an evaluation computes by jobs E alone"},
    {"an E in a step", e_in_step, "structure", "a job E is of an evaluation"},
    {"a rank without an evaluation", no_evaluation, "structure", "of an evaluation"},
    {"an evaluation that is not said", not_said, "", "are said to be of an evaluation"},
    {"E of a micro-batch missing", e_missing, "complete", "subprogram E runs 3 times, expected 4"},
    {"E of a micro-batch twice", e_twice, "complete", "the same job is there twice"},
    {"reports another place", report_of_another_place, "dataflow", "which is not where an F left the loss"},
    {"an output from another place", output_of_another_place, "dataflow", "which is not where an E left the output"},
    {"an output of another micro-batch", output_of_another_micro_batch, "dataflow", "for another micro-batch"},
    {"an output twice", output_twice, "reports", "an output is reported once for each micro-batch"},
    {"an output dropped", output_dropped, "reports", "3 of 4 outputs of micro-batches are reported"},
    {"part of an output", output_shrunk, "structure", "one part that is no smaller than its output"},
    {"an output as the loss", output_as_loss, "dataflow", "which is not where an F left the loss"},
    {"the loss as an output", loss_as_output, "structure", "one part that is no smaller than its output"},
    {"an output that is not there", output_unknown, "structure", "its output is not there"},
    {"an output of a SEND", output_of_send, "structure", "only a REPORT has an output"},
    {"an output that nobody leaves", output_of_nobody, "dataflow", "which is not where an E left the output"},
    {"an output left elsewhere", output_home_elsewhere, "dataflow", "which is not where an E left the output"},
    {"an output left outside of its base", output_home_outside, "", "its output 0 must lie in one of its bases"},
    {"an output of an F", output_home_of_f, "", "made by an E"},
    {"an output of two", output_of_two, "reports", "gives output 'logits', and so does another"},
    {"an output that is larger", output_larger, "", "its output 0 must lie in one of its bases"},
    {"slots outside of the arena", slots_outside, "structure", "ends outside of the arena"},
    {"workspace outside of the arena", workspace_outside, "structure", "ends outside of the arena"},
    {"slots over the step number", slots_over_step, "regions", "before the end"},
    {"workspace over the slots", workspace_over_slots, "regions", "before the end"},
    {"more messages than there are", too_many_messages, "", "are said to be of an evaluation"},
    {"inference with a step", inference_with_a_step, "structure", "the plan is for inference, but"},
    {"two losses", loss_twice, "reports", "gives a loss, and so does"},
};

static void test_broken_plans(void) {
  for (size_t i = 0; i < sizeof breakages / sizeof breakages[0]; ++i) {
    const struct breakage *it = &breakages[i];
    char rule[64] = "";
    zb_plan *plan = evaluation_plan(3, 4, 2);
    it->make(plan);
    zb_status status = zb_plan_verify(plan);
    if (it->rule[0]) snprintf(rule, sizeof rule, "rule \"%s\"", it->rule);
    bool right = zb_status_code(status) == ZB_INVALID && strstr(zb_status_text(status), rule) &&
                 strstr(zb_status_text(status), it->message);
    if (!right)
      printf("\n  %s: expected %s and '%s', got: %s", it->name, rule, it->message,
             status ? zb_status_text(status) : "no error\n");
    CU_ASSERT_TRUE(right);
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
}

/* Without a step; then the loss of the evaluation is one too many. */
static void test_inference(void) {
  zb_plan *plan = evaluation_plan(3, 4, 2), *view = NULL;
  zb_status status = zb_plan_view(plan, ZB_LIST_EVALUATION, &view);
  CU_ASSERT_PTR_NULL_FATAL(status);
  view->inference = true;
  status = zb_plan_verify(view);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "the plan is for inference, but an E gives a loss"));
  zb_status_free(status);
  zb_plan_destroy(view);
  zb_plan_destroy(plan);
}

SUITE_MAIN("views", {"right plans", test_right_plans}, {"step", test_step}, {"evaluation", test_evaluation},
           {"print", test_print}, {"liveness", test_liveness}, {"out of memory", test_out_of_memory},
           {"broken plans", test_broken_plans}, {"inference", test_inference})
