/* The verifier: right plans of many sizes pass; for each rule, plans that break that rule are refused by that rule. */
#include "test/runtime/plan/sample_plan.h"
#include "runtime/plan/proof/proof.h"

#include <math.h>
#include <stdio.h>

#include "test/suite.h"

static void test_right_plans(void) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches)
      for (int depth = 0; depth <= 1; ++depth) {
        zb_plan *plan = sample_plan(ranks, micro_batches, depth * (ranks + 2));
        zb_status status = zb_plan_verify(plan);
        if (status) printf("\n  %d ranks, %d micro-batches: %s", ranks, micro_batches, zb_status_text(status));
        CU_ASSERT_PTR_NULL(status);
        zb_status_free(status);
        zb_plan_destroy(plan);
      }
}

/* ---- Ways to break the plan of 3 ranks, 4 micro-batches, one slot a micro-batch ---- */

static zb_plan_job *job(zb_plan *plan, int rank, zb_job_kind kind, int micro_batch) {
  return &plan->ranks[rank].jobs[sample_find(plan, rank, kind, micro_batch)];
}

static uint64_t *base_of(zb_plan *plan, int rank, zb_job_kind kind, int micro_batch, uint32_t base) {
  return &plan->ranks[rank].pool_u64[job(plan, rank, kind, micro_batch)->bases.begin + base];
}

static zb_plan_range *part_of(zb_plan *plan, int rank, zb_job_kind kind, int micro_batch, uint32_t part) {
  return &plan->ranks[rank].pool_ranges[job(plan, rank, kind, micro_batch)->parts.begin + part];
}

static zb_plan_instruction *instruction(zb_plan *plan, int rank, int subprogram, int index) {
  return &plan->ranks[rank].subprograms[subprogram].instructions[index];
}

/* Swaps two jobs of a rank and what waits for them. */
static void swap_jobs(zb_plan *plan, int rank, int a, int b) {
  zb_plan_rank *it = &plan->ranks[rank];
  zb_plan_job kept = it->jobs[a];
  it->jobs[a] = it->jobs[b];
  it->jobs[b] = kept;
  for (uint32_t i = 0; i < it->pool_u32_count; ++i) {
    if (it->pool_u32[i] == (uint32_t)a)
      it->pool_u32[i] = (uint32_t)b;
    else if (it->pool_u32[i] == (uint32_t)b)
      it->pool_u32[i] = (uint32_t)a;
  }
}

/* Takes a job away; nothing may wait for it. */
static void remove_job(zb_plan *plan, int rank, int index) {
  zb_plan_rank *it = &plan->ranks[rank];
  for (int i = index; i + 1 < it->job_count; ++i)
    swap_jobs(plan, rank, i, i + 1);
  --it->job_count;
}

/* Moves a job to the place of another; the ones between close up. */
static void move_job(zb_plan *plan, int rank, int from, int to) {
  for (; from < to; ++from)
    swap_jobs(plan, rank, from, from + 1);
  for (; from > to; --from)
    swap_jobs(plan, rank, from, from - 1);
}

/* Puts a copy of a job right after it. */
static void copy_job(zb_plan *plan, int rank, int index) {
  zb_plan_rank *it = &plan->ranks[rank];
  it->jobs[it->job_count++] = it->jobs[index]; /* the sample has room for more jobs */
  move_job(plan, rank, it->job_count - 1, index + 1);
}

/* Makes a job wait for another one alone. */
static void wait_for(zb_plan *plan, int rank, int index, int waited) {
  zb_plan_rank *it = &plan->ranks[rank];
  it->jobs[index].waits = (zb_plan_slice){it->pool_u32_count, 1};
  it->pool_u32[it->pool_u32_count++] = (uint32_t)waited;
}

static void region_over_another(zb_plan *p) { p->ranks[0].regions[ZB_REGION_SLOTS].offset -= 64; }
static void odd_region(zb_plan *p) { p->ranks[0].regions[ZB_REGION_GRADIENTS].offset += 8; }
static void no_step(zb_plan *p) { p->ranks[0].regions[ZB_REGION_STEP].bytes = 0; }
static void region_outside(zb_plan *p) { p->ranks[0].regions[ZB_REGION_WORKSPACE].bytes += 1; }
static void parameter_outside(zb_plan *p) { p->ranks[0].parameters[0].tensor.offset += 576; }
static void parameters_overlap(zb_plan *p) { p->ranks[0].parameters[1].tensor.offset -= 32; }
static void digest_missing(zb_plan *p) { p->ranks[1].parameters[0].tensor.digest = 0; }
static void digests_not_said(zb_plan *p) { p->value_digests = false; }
static void digest_of_state(zb_plan *p) { p->ranks[1].states[0].digest = 1; }
static void digest_of_inline_constant(zb_plan *p) { p->ranks[1].constants[0].tensor.digest = 1; }
static void digest_of_computed_constant(zb_plan *p) { p->ranks[1].constants[1].tensor.digest = 1; }
static void digest_of_copy(zb_plan *p) { p->ranks[2].parameters[1].tensor.digest ^= 2; }
static void gradient_outside(zb_plan *p) { p->ranks[0].parameters[0].gradient_offset = 0; }
static void segments_of_nothing(zb_plan *p) {
  static zb_plan_segment segment;
  p->ranks[1].segments = &segment;
  p->ranks[1].segment_count = 1;
}
static void w_twice(zb_plan *p) { job(p, 1, ZB_JOB_W, 1)->micro_batch = 0; }
static void no_w(zb_plan *p) { remove_job(p, 1, sample_find(p, 1, ZB_JOB_W, 3)); }
static void no_opt(zb_plan *p) { remove_job(p, 1, sample_find(p, 1, ZB_JOB_UPDATE, -1)); }
static void no_load(zb_plan *p) { remove_job(p, 1, 0), p->ranks[1].load_count = 0; }
static void foreign_stage(zb_plan *p) {
  for (int i = 0; i < p->ranks[1].job_count; ++i)
    if (p->ranks[1].jobs[i].kind == ZB_JOB_W) p->ranks[1].jobs[i].stage = 2;
  p->ranks[1].subprograms[SAMPLE_W].stage = 2;
}
static void two_of_a_kind(zb_plan *p) {
  p->ranks[1].subprograms[p->ranks[1].subprogram_count++] = p->ranks[1].subprograms[SAMPLE_W];
}
static void opt_of_a_micro_batch(zb_plan *p) { job(p, 1, ZB_JOB_UPDATE, -1)->micro_batch = 0; }
static void w_falls(zb_plan *p) { move_job(p, 1, sample_find(p, 1, ZB_JOB_W, 2), sample_find(p, 1, ZB_JOB_W, 3)); }
static void w_before_b(zb_plan *p) { swap_jobs(p, 2, sample_find(p, 2, ZB_JOB_B, 1), sample_find(p, 2, ZB_JOB_W, 1)); }
static void b_before_f(zb_plan *p) { swap_jobs(p, 2, sample_find(p, 2, ZB_JOB_F, 0), sample_find(p, 2, ZB_JOB_B, 0)); }
static void early_opt(zb_plan *p) {
  swap_jobs(p, 1, sample_find(p, 1, ZB_JOB_W, 3), sample_find(p, 1, ZB_JOB_UPDATE, -1));
}
static void early_opt_without_stage(zb_plan *p) { /* found by what it reads, not by its stage */
  p->ranks[1].subprograms[SAMPLE_OPT].stage = -1;
  job(p, 1, ZB_JOB_UPDATE, -1)->stage = -1;
  early_opt(p);
}
/* The optimizer of the tied parameter in two jobs on both of its ranks: SUM leaves the sum in place of the own one. */
static void tied_apart(zb_plan *p) {
  for (int r = 0; r < 3; r += 2) {
    zb_plan_rank *rank = &p->ranks[r];
    zb_plan_subprogram *sum = &rank->subprograms[SAMPLE_TIED], *update = &rank->subprograms[SAMPLE_SUBPROGRAMS];
    *update = *sum;
    update->name = "tied_UPDATE";
    ++update->instructions;
    sum->name = "tied_SUM";
    sum->kind = ZB_JOB_SUM;
    sum->instruction_count = update->instruction_count = 1;
    sum->instructions->outputs[0] = update->instructions->inputs[1] = sum->instructions->inputs[r != 0];
    rank->subprogram_count = SAMPLE_SUBPROGRAMS + 1;
    copy_job(p, r, rank->job_count - 1);
    rank->jobs[rank->job_count - 2].kind = ZB_JOB_SUM;
    rank->jobs[rank->job_count - 1].subprogram = SAMPLE_SUBPROGRAMS;
    rank->jobs[rank->job_count - 1].waits.count = 0;
  }
}
static void update_before_sum(zb_plan *p) {
  tied_apart(p);
  swap_jobs(p, 0, p->ranks[0].job_count - 2, p->ranks[0].job_count - 1);
}
static void phase(zb_plan *p, zb_job_kind first, zb_job_kind second) {
  zb_plan_rank *rank = &p->ranks[2];
  tied_apart(p);
  rank->subprograms[SAMPLE_TIED].kind = rank->jobs[rank->job_count - 2].kind = first;
  rank->subprograms[SAMPLE_SUBPROGRAMS].kind = rank->jobs[rank->job_count - 1].kind = second;
}
static void same_phase(zb_plan *p) { phase(p, ZB_JOB_UPDATE, ZB_JOB_UPDATE); }
static void sum_updates(zb_plan *p) { phase(p, ZB_JOB_SUM, ZB_JOB_NORM); }
static void sums_in_another_order(zb_plan *p) {
  tied_apart(p);
  zb_plan_instruction *sum = instruction(p, 2, SAMPLE_TIED, 0);
  zb_plan_operand first = sum->inputs[0];
  sum->inputs[0] = sum->inputs[1], sum->inputs[1] = first;
}
static void sum_left_out(zb_plan *p) {
  tied_apart(p);
  instruction(p, 2, SAMPLE_SUBPROGRAMS, 0)->inputs[1].offset += 64;
}
static void frozen_updated(zb_plan *p) { p->ranks[1].parameters[0].trained = false; }
static void never_updated(zb_plan *p) {
  instruction(p, 1, SAMPLE_OPT, 0)->outputs[0].shape[0] =
      7; /* not on its input any more, so the input must shrink too */
  instruction(p, 1, SAMPLE_OPT, 0)->inputs[0].shape[0] = 7;
}
static void gradient_never_made(zb_plan *p) { p->ranks[1].parameters[0].gradient_offset += 64; }
static void updated_twice(zb_plan *p) {
  instruction(p, 0, SAMPLE_TIED, 1)->outputs[0].offset -= 32;
  instruction(p, 0, SAMPLE_TIED, 1)->inputs[0].offset -= 32;
}
static void constant_never_computed(zb_plan *p) { instruction(p, 0, SAMPLE_LOAD, 0)->outputs[0].shape[0] = 4; }
static void constant_not_computed(zb_plan *p) {
  p->ranks[0].constants[1].computed = false;
  p->ranks[0].constants[1].tensor.digest = 1; /* of a file, then */
}
/* LOAD computes 'ramp' from the trained parameter 'w'. */
static void copy_never_renewed(zb_plan *p) {
  zb_plan_instruction *it = instruction(p, 0, SAMPLE_LOAD, 0);
  it->inputs = zb_plan_alloc(p, sizeof *it->inputs);
  it->inputs[0] = it->outputs[0];
  it->inputs[0].offset = p->ranks[0].parameters[0].tensor.offset;
  it->input_count = 1;
}
static void opt_writes_constant(zb_plan *p) {
  zb_plan_operand *out = &instruction(p, 1, SAMPLE_OPT, 0)->outputs[0];
  out->offset = p->ranks[1].constants[0].tensor.offset;
  out->shape[0] = 1;
}
static void b_reads_gradients(zb_plan *p) {
  instruction(p, 1, SAMPLE_B, 1)->inputs[1].offset = sample_at(&p->ranks[1], ZB_REGION_GRADIENTS);
}
static void constant_read_early(zb_plan *p) {
  zb_plan_instruction *it = instruction(p, 0, SAMPLE_LOAD, 0);
  it->accumulate = true;
}
static void f_writes_parameters(zb_plan *p) {
  instruction(p, 1, SAMPLE_F, 1)->outputs[0] =
      sample_operand(0, p->ranks[1].regions[ZB_REGION_PARAMETERS].offset, ZB_F32, 4, 16);
}
static void base_zero_in_slots(zb_plan *p) {
  instruction(p, 1, SAMPLE_F, 0)->inputs[1].offset = p->ranks[1].regions[ZB_REGION_SLOTS].offset;
}
static void unwritten_workspace(zb_plan *p) { instruction(p, 1, SAMPLE_B, 1)->inputs[1].offset += 64; }
static void result_over_input(zb_plan *p) {
  instruction(p, 1, SAMPLE_B, 1)->outputs[0] =
      sample_operand(0, p->ranks[1].regions[ZB_REGION_WORKSPACE].offset + 64, ZB_F32, 4, 8);
}
static void clobbered_workspace(zb_plan *p) { /* the scratch of a product lies where a result waits to be read */
  zb_plan_instruction *gradient = instruction(p, 1, SAMPLE_B, 1), *product = instruction(p, 1, SAMPLE_B, 2);
  uint64_t workspace = p->ranks[1].regions[ZB_REGION_WORKSPACE].offset;
  gradient->inputs[1] = gradient->inputs[0];
  gradient->scratch_offset = workspace + 64;
  gradient->scratch_bytes = 64;
  product->inputs[0] = sample_operand(0, workspace, ZB_F32, 4, 8);
}
static void scratch_on_operand(zb_plan *p) {
  instruction(p, 1, SAMPLE_B, 1)->scratch_offset = p->ranks[1].regions[ZB_REGION_WORKSPACE].offset;
  instruction(p, 1, SAMPLE_B, 1)->scratch_bytes = 64;
}
static void results_overlap(zb_plan *p) {
  instruction(p, 1, SAMPLE_OPT, 0)->outputs[1] = instruction(p, 1, SAMPLE_OPT, 0)->outputs[0];
}
static void small_workspace(zb_plan *p) { p->ranks[1].subprograms[SAMPLE_F].workspace_bytes = 128; }
static void base_outside_slots(zb_plan *p) { *base_of(p, 1, ZB_JOB_F, 0, 0) = 0; }
static void base_odd(zb_plan *p) { *base_of(p, 1, ZB_JOB_F, 0, 0) += 4; }
static void operand_outside_base(zb_plan *p) { instruction(p, 1, SAMPLE_F, 0)->inputs[0].offset = 4; }
static void part_in_parameters(zb_plan *p) { part_of(p, 0, ZB_JOB_READ, 0, 0)->offset = 0; }
static void recv_not_waited(zb_plan *p) { job(p, 1, ZB_JOB_F, 2)->waits.count = 0; }
static void exchange_not_waited(zb_plan *p) { p->ranks[0].jobs[p->ranks[0].job_count - 1].waits.count = 0; }
static void send_before_write(zb_plan *p) {
  int send = sample_find(p, 0, ZB_JOB_SEND, 0);
  swap_jobs(p, 0, send, send - 1);
}
static void changes_what_is_sent(zb_plan *p) {
  swap_jobs(p, 0, sample_find(p, 0, ZB_JOB_W, 3), sample_find(p, 0, ZB_JOB_SEND, -1));
}
static void changes_what_was_sent(zb_plan *p) {
  changes_what_is_sent(p);
  wait_for(p, 0, sample_find(p, 0, ZB_JOB_W, 3), sample_find(p, 0, ZB_JOB_SEND, -1));
}
static void recv_after_use(zb_plan *p) { /* the tied UPDATE reads zeros, and the other rank's sums come too late */
  zb_plan_rank *rank = &p->ranks[0];
  rank->jobs[rank->job_count - 1].waits.count = 0;
  move_job(p, 0, sample_find(p, 0, ZB_JOB_RECV, -1), rank->job_count - 1);
}
static void recv_over_own_sum(zb_plan *p) {
  zb_plan_rank *rank = &p->ranks[0];
  const zb_plan_job *send = &rank->jobs[sample_find(p, 0, ZB_JOB_SEND, -1)];
  const zb_plan_job *recv = &rank->jobs[sample_find(p, 0, ZB_JOB_RECV, -1)];
  rank->pool_ranges[recv->parts.begin].offset = rank->pool_ranges[send->parts.begin].offset;
}
static void other_micro_batch(zb_plan *p) { *base_of(p, 1, ZB_JOB_B, 2, 0) = *base_of(p, 1, ZB_JOB_B, 1, 0); }
static void overwritten(zb_plan *p) { *base_of(p, 1, ZB_JOB_F, 1, 0) = *base_of(p, 1, ZB_JOB_F, 0, 0); }
static void recv_over_live(zb_plan *p) {
  zb_plan_rank *rank = &p->ranks[1];
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == ZB_JOB_RECV && p->messages[rank->jobs[i].message].payload == ZB_PAYLOAD_BACKWARD &&
        rank->jobs[i].micro_batch == 0)
      rank->pool_ranges[rank->jobs[i].parts.begin].offset = *base_of(p, 1, ZB_JOB_F, 0, 1);
}
static void swapped_parts(zb_plan *p) { /* right sizes, right micro-batch, wrong order, in one micro-batch only */
  zb_plan_range *first = part_of(p, 1, ZB_JOB_RECV, 2, 0), *second = part_of(p, 1, ZB_JOB_RECV, 2, 1);
  uint64_t home = first->offset;
  first->offset = home + 192;
  second->offset = home;
}
static void shared_bytes(zb_plan *p) { *base_of(p, 1, ZB_JOB_B, 1, 1) = *base_of(p, 1, ZB_JOB_B, 1, 0); }
static void report_of_another(zb_plan *p) {
  job(p, 2, ZB_JOB_REPORT, 1)->micro_batch = 7; /* freed for the swap */
  job(p, 2, ZB_JOB_REPORT, 2)->micro_batch = 1;
  job(p, 2, ZB_JOB_REPORT, 7)->micro_batch = 2;
}
static void report_missing(zb_plan *p) { remove_job(p, 2, sample_find(p, 2, ZB_JOB_REPORT, 3)); }
static void report_twice(zb_plan *p) { copy_job(p, 2, sample_find(p, 2, ZB_JOB_REPORT, 3)); }
/* Every micro-batch alike: where the bytes come from does not differ between them. */
static void reports_other_bytes(zb_plan *p) {
  for (int m = 0; m < 4; ++m)
    part_of(p, 2, ZB_JOB_REPORT, m, 0)->offset -= SAMPLE_LOSS;
}
static void reports_what_b_wrote(zb_plan *p) {
  for (int m = 0; m < 4; ++m) {
    part_of(p, 2, ZB_JOB_REPORT, m, 0)->offset = *base_of(p, 2, ZB_JOB_B, m, 1);
    move_job(p, 2, sample_find(p, 2, ZB_JOB_REPORT, m), sample_find(p, 2, ZB_JOB_B, m));
  }
}
static void reports_workspace(zb_plan *p) {
  for (int m = 0; m < 4; ++m)
    part_of(p, 2, ZB_JOB_REPORT, m, 0)->offset = p->ranks[2].regions[ZB_REGION_WORKSPACE].offset;
}
static void loss_elsewhere(zb_plan *p) { p->ranks[2].subprograms[SAMPLE_F].loss_offset += 4; }
static void loss_in_another_base(zb_plan *p) { p->ranks[2].subprograms[SAMPLE_F].loss_base = 2; }
static void loss_outside(zb_plan *p) { p->ranks[2].subprograms[SAMPLE_F].loss_offset = SAMPLE_FB - 2; }
static void loss_of_b(zb_plan *p) { p->ranks[2].subprograms[SAMPLE_B].loss_base = 1; }
static void no_loss(zb_plan *p) { p->ranks[2].subprograms[SAMPLE_F].loss_base = 0; }
static void two_losses(zb_plan *p) { p->ranks[1].subprograms[SAMPLE_F].loss_base = 1; }
static void nothing_reported(zb_plan *p) {
  for (int m = 0; m < 4; ++m)
    remove_job(p, 2, sample_find(p, 2, ZB_JOB_REPORT, m));
}
static void no_owner(zb_plan *p) { p->ranks[1].parameters[0].owner = false; }
static void no_owner_of_tied(zb_plan *p) { p->ranks[0].parameters[1].owner = false; }
static void two_owners(zb_plan *p) { p->ranks[2].parameters[1].owner = true; }
static void held_twice(zb_plan *p) {
  p->ranks[0].parameters[1].tensor.name = "w0";
  p->ranks[0].setting_count = 1;
  instruction(p, 0, SAMPLE_TIED, 1)->inputs[4].offset = p->ranks[0].settings[0].offset;
}
static void other_name_of_tied(zb_plan *p) {
  p->ranks[2].parameters[1].tensor.name = p->ranks[2].settings[1].name = "tied2";
}
static void tied_of_other_shape(zb_plan *p) { p->ranks[2].parameters[1].tensor.shape = (zb_shape){ZB_F32, 2, {4, 4}}; }
static void state_of_nobody(zb_plan *p) { p->ranks[0].parameters[0].state_count = 0; }
static void state_of_another(zb_plan *p) {
  p->ranks[0].parameters[0].state_count = 0;
  p->ranks[0].parameters[1].state_count = 1;
}
static void state_of_two(zb_plan *p) { p->ranks[0].parameters[1].state_count = 1; }
static void state_with_no_suffix(zb_plan *p) { p->ranks[0].states[0].name = "w0."; }
static void state_not_listed(zb_plan *p) { p->ranks[0].parameters[0].state_count = p->ranks[0].state_count = 0; }
static void gradient_of_another(zb_plan *p) { p->ranks[0].parameters[0].gradient_offset += 64; }
static void no_send(zb_plan *p) { remove_job(p, 2, sample_find(p, 2, ZB_JOB_SEND, 3)); }
static void sent_twice(zb_plan *p) { copy_job(p, 2, sample_find(p, 2, ZB_JOB_SEND, 2)); }
static void unequal_parts(zb_plan *p) {
  for (int m = 0; m < 4; ++m) {
    part_of(p, 1, ZB_JOB_RECV, m, 0)->bytes = 128;
    part_of(p, 1, ZB_JOB_RECV, m, 1)->offset += 64;
    part_of(p, 1, ZB_JOB_RECV, m, 1)->bytes = 128;
  }
}
static void parts_of_other_size(zb_plan *p) { part_of(p, 1, ZB_JOB_RECV, 1, 1)->bytes -= 64; }
static void numbers_fall(zb_plan *p) { /* on the channel from rank 0 to rank 1 */
  move_job(p, 0, sample_find(p, 0, ZB_JOB_SEND, 0), sample_find(p, 0, ZB_JOB_SEND, 1));
}
/* Rank 0 computes F1 only when message #0 is taken; rank 1 takes it only after the message that F1 gives. */
static void hangs(zb_plan *p) {
  wait_for(p, 0, sample_find(p, 0, ZB_JOB_F, 1), sample_find(p, 0, ZB_JOB_SEND, 0));
  int first = sample_find(p, 1, ZB_JOB_RECV, 0);
  move_job(p, 1, sample_find(p, 1, ZB_JOB_RECV, 1), first);
  wait_for(p, 1, first + 1, first);
}
static zb_plan_setting *setting(zb_plan *p, int rank, int index) { return &p->ranks[rank].settings[index]; }
static void setting_outside(zb_plan *p) { setting(p, 1, 0)->offset += 64; } /* after 8 bytes of 64 */
static void setting_over_the_number(zb_plan *p) { setting(p, 1, 0)->offset -= 8; }
static void settings_overlap(zb_plan *p) { setting(p, 0, 1)->offset -= 8; }
static void setting_twice(zb_plan *p) { setting(p, 0, 1)->name = "w0"; }
static void setting_of_nobody(zb_plan *p) { setting(p, 1, 0)->name = "w2"; }
static void setting_of_the_frozen(zb_plan *p) {
  p->ranks[1].parameters[0].trained = false;
  p->ranks[1].parameters[0].gradient_offset = -1;
  p->ranks[1].subprograms[SAMPLE_OPT].instructions[0].outputs[0] =
      sample_operand(0, sample_at(&p->ranks[1], ZB_REGION_STATE), ZB_F32, 8, 16);
  p->ranks[1].subprograms[SAMPLE_OPT].instructions[0].output_count = 1;
}
static void setting_of_another_kind(zb_plan *p) { setting(p, 1, 0)->kind = ZB_SETTING_COUNT; }
static void setting_without_values(zb_plan *p) { setting(p, 1, 0)->default_count = 1; }
static void setting_owns_too_much(zb_plan *p) { setting(p, 1, 0)->own = 4; }
static void setting_odd(zb_plan *p) { setting(p, 1, 0)->offset += 4; }
static void setting_that_is_no_number(zb_plan *p) { setting(p, 1, 0)->defaults[1] = NAN; }
static void settings_disagree(zb_plan *p) { setting(p, 2, 1)->defaults[0] = 0.2; }
static void half_a_setting(zb_plan *p) {
  instruction(p, 1, SAMPLE_OPT, 0)->inputs[4] = sample_operand(0, setting(p, 1, 0)->offset, ZB_F64, 1, 0);
}
static void step_number_as_setting(zb_plan *p) {
  instruction(p, 1, SAMPLE_OPT, 0)->inputs[4].offset = sample_at(&p->ranks[1], ZB_REGION_STEP);
}
static void settings_of_another(zb_plan *p) {
  instruction(p, 0, SAMPLE_OPT, 0)->inputs[4].offset = setting(p, 0, 1)->offset;
}
static void update_writes_settings(zb_plan *p) {
  instruction(p, 1, SAMPLE_OPT, 0)->outputs[1] = sample_operand(0, setting(p, 1, 0)->offset, ZB_F64, 2, 0);
}
static void settings_received(zb_plan *p) {
  for (int m = 0; m < 4; ++m)
    part_of(p, 0, ZB_JOB_READ, m, 0)->offset = sample_at(&p->ranks[0], ZB_REGION_STEP);
}
/* Rank 1 gets a buffer, which its F doubles. */
static zb_plan_parameter *give_buffer(zb_plan *p) {
  zb_plan_rank *rank = &p->ranks[1];
  zb_plan_subprogram *f = &rank->subprograms[SAMPLE_F];
  zb_plan_parameter *buffer = &rank->parameters[rank->parameter_count++];
  sample it = {.plan = p};
  rank->regions[ZB_REGION_PARAMETERS].bytes -= 64;
  rank->regions[ZB_REGION_BUFFERS] = (zb_plan_range){rank->regions[ZB_REGION_BUFFERS].offset - 64, 64};
  const uint64_t at = sample_at(rank, ZB_REGION_BUFFERS);
  *buffer = (zb_plan_parameter){
      .tensor = {"seen", {ZB_F32, 1, {16}}, at, 7}, .buffer = true, .owner = true, .gradient_offset = -1};
  zb_plan_instruction *doubled = sample_add(&it, f, "add", 2, 1);
  doubled->inputs[0] = doubled->inputs[1] = doubled->outputs[0] = sample_operand(0, at, ZB_F32, 16, 0);
  return buffer;
}
static void buffer_elsewhere(zb_plan *p) { give_buffer(p)->tensor.offset -= 64; }
static void buffer_trained(zb_plan *p) { give_buffer(p)->trained = true; }
static void buffer_with_gradient(zb_plan *p) {
  give_buffer(p)->gradient_offset = (int64_t)sample_at(&p->ranks[1], ZB_REGION_GRADIENTS);
}
static void buffer_never_updated(zb_plan *p) {
  give_buffer(p);
  --p->ranks[1].subprograms[SAMPLE_F].instruction_count;
}
static void buffer_updated_in_part(zb_plan *p) {
  give_buffer(p);
  zb_plan_instruction *last = instruction(p, 1, SAMPLE_F, p->ranks[1].subprograms[SAMPLE_F].instruction_count - 1);
  last->inputs[0] = last->inputs[1] = last->outputs[0] = sample_operand(0, last->outputs[0].offset, ZB_F32, 8, 0);
}
/* Adds to the instructions of a subprogram one that reads the buffer, and writes it or the workspace. */
static void use_buffer(zb_plan *p, int subprogram, bool writes) {
  sample it = {.plan = p};
  const uint64_t at = give_buffer(p)->tensor.offset;
  zb_plan_instruction *use = sample_add(&it, &p->ranks[1].subprograms[subprogram], "neg", 1, 1);
  use->inputs[0] = sample_operand(0, at, ZB_F32, 16, 0);
  use->outputs[0] = sample_operand(0, writes ? at : sample_at(&p->ranks[1], ZB_REGION_WORKSPACE), ZB_F32, 16, 0);
}
static void buffer_read_by_b(zb_plan *p) { use_buffer(p, SAMPLE_B, false); }
static void buffer_read_by_update(zb_plan *p) { use_buffer(p, SAMPLE_OPT, false); }
static void buffer_written_by_w(zb_plan *p) { use_buffer(p, SAMPLE_W, true); }
static void buffer_written_by_update(zb_plan *p) { use_buffer(p, SAMPLE_OPT, true); }
static void buffer_on_two_ranks(zb_plan *p) {
  give_buffer(p)->tensor.name = "w0";
  p->ranks[1].parameters[1].owner = false;
}
static void buffer_falls(zb_plan *p) {
  give_buffer(p);
  zb_plan_job *second = job(p, 1, ZB_JOB_F, 2), *third = job(p, 1, ZB_JOB_F, 3);
  second->micro_batch = 3;
  third->micro_batch = 2;
}
static void inputs_in_another_order(zb_plan *p) {
  const zb_plan_input first = p->inputs[0];
  p->inputs[0] = p->inputs[1], p->inputs[1] = first;
}
static void arguments_in_another_order(zb_plan *p) { p->arguments[0] = "y", p->arguments[2] = "x"; }
static void input_of_no_argument(zb_plan *p) { p->argument_count = 2; }
static void argument_twice(zb_plan *p) { p->arguments[1] = "y"; }
static void bad_job_kind(zb_plan *p) { p->ranks[0].jobs[1].kind = ZB_JOB_KIND_COUNT; }
static void wait_forward(zb_plan *p) { p->ranks[1].pool_u32[job(p, 1, ZB_JOB_F, 0)->waits.begin] = 60; }

static const struct breakage {
  const char *name;
  void (*make)(zb_plan *plan);
  const char *rule, *message;
} breakages[] = {
    {"region over another", region_over_another, "regions", "the region slots starts at 1792, before the end 1856"},
    {"region not aligned", odd_region, "regions", "gradients starts at"},
    {"no room for the step", no_step, "regions", "no room for the step number"},
    {"region outside", region_outside, "structure", "workspace ends outside of the arena"},
    {"parameter outside", parameter_outside, "regions", "'w0' at 576 does not lie in the region parameters"},
    {"parameters overlap", parameters_overlap, "regions", "'tied' at 480 overlaps"},
    {"digest missing", digest_missing, "structure", "tensor 'w1' has no digest of its value, expected one"},
    {"digests not said", digests_not_said, "structure", "tensor 'w0' has a digest of its value, expected none"},
    {"digest of a state", digest_of_state, "structure",
     "tensor 'w1.momentum' has a digest of its value, expected none"},
    {"digest of an inline constant", digest_of_inline_constant, "structure", "tensor 'one' has a digest"},
    {"digest of a computed constant", digest_of_computed_constant, "structure", "tensor 'ramp' has a digest"},
    {"digest of a copy", digest_of_copy, "owners", "the parameter 'tied' is not the same on rank 0 and on rank 2"},
    {"gradient outside", gradient_outside, "regions", "the gradient of 'w0'"},
    {"segments", segments_of_nothing, "structure", "segment 0 of its subprograms: it has no end"},
    {"a W twice", w_twice, "complete", "rank 1 job"},
    {"a W missing", no_w, "complete", "subprogram W runs 3 times, expected 4"},
    {"an UPDATE missing", no_opt, "complete", "subprogram UPDATE runs 0 times"},
    {"a LOAD missing", no_load, "load", "no LOAD computes the constant 'ramp'"},
    {"a stage of another rank", foreign_stage, "complete", "is of stage 2, which is on rank 2"},
    {"two subprograms of a kind", two_of_a_kind, "complete", "stage 1 has two subprograms of the kind W"},
    {"UPDATE of a micro-batch", opt_of_a_micro_batch, "complete", "others are not"},
    {"W falls", w_falls, "order", "adds to gradients before micro-batch 2"},
    {"W before B", w_before_b, "order", "(W of stage 2, micro-batch 1) comes before its B"},
    {"B before F", b_before_f, "order", "(B of stage 2, micro-batch 0) comes before its F"},
    {"UPDATE before W", early_opt, "optimizer", "runs before the last W of its stage"},
    {"UPDATE of no stage before W", early_opt_without_stage, "optimizer", "runs before the last run of W"},
    {"UPDATE before its SUM", update_before_sum, "optimizer", "which subprogram tied_SUM updates later"},
    {"two of a phase on a sum", same_phase, "optimizer", "which subprogram tied_SUM updates in no earlier phase"},
    {"NORM that updates", sum_updates, "ranges", "a NORM may not write to the region parameters"},
    {"SUM in another order", sums_in_another_order, "sums", "do not add the same sums of gradients in the same order"},
    {"SUM that nobody reads", sum_left_out, "owners", "reads a gradient that is not said to be its own"},
    {"frozen parameter updated", frozen_updated, "optimizer", "an UPDATE updates the frozen parameter 'w1'"},
    {"parameter never updated", never_updated, "optimizer", "no UPDATE updates the trained parameter 'w1'"},
    {"gradient never made", gradient_never_made, "optimizer",
     "no B or W adds to the gradient of the trained parameter 'w1'"},
    {"parameter updated twice", updated_twice, "optimizer", "both update arena byte"},
    {"constant never computed", constant_never_computed, "load", "no LOAD computes the constant 'ramp'"},
    {"constant that is not computed", constant_not_computed, "load", "where no constant is computed"},
    {"copy never renewed", copy_never_renewed, "load",
     "from a parameter that is updated, but no UPDATE computes it again"},
    {"UPDATE writes a constant", opt_writes_constant, "load", "an optimizer may not write to the constant 'one'"},
    {"constant read early", constant_read_early, "load", "before it is computed"},
    {"B reads gradients", b_reads_gradients, "ranges", "a B may not read the region gradients"},
    {"F writes parameters", f_writes_parameters, "ranges", "a F may not write to the region parameters"},
    {"slots without a base", base_zero_in_slots, "ranges", "lies in the slots, which only bases may address"},
    {"workspace that nobody wrote", unwritten_workspace, "ranges", "one of them was overwritten, or never whole"},
    {"workspace overwritten", clobbered_workspace, "ranges", "one of them was overwritten, or never whole"},
    {"result over an input", result_over_input, "ranges", "overlaps an input without lying exactly on it"},
    {"scratch on an operand", scratch_on_operand, "ranges", "its scratch overlaps its operands"},
    {"results overlap", results_overlap, "ranges", "two of its results overlap"},
    {"workspace too small", small_workspace, "ranges", "outside of the subprogram's workspace"},
    {"base outside of the slots", base_outside_slots, "ranges", "base 'fb' at 0 does not lie in the slots"},
    {"base not aligned", base_odd, "ranges", "not aligned to 8 bytes"},
    {"inputs in another order", inputs_in_another_order, "arguments",
     "input 'x' of the plan does not stand in the order"},
    {"arguments in another order", arguments_in_another_order, "arguments",
     "input 'y' of the plan does not stand in the order"},
    {"an input that is no argument", input_of_no_argument, "arguments",
     "input 'y' of the plan is none of its arguments"},
    {"an argument twice", argument_twice, "arguments", "two arguments of the plan are named 'y'"},
    {"operand outside of its base", operand_outside_base, "structure", "ends outside of its base"},
    {"part in the parameters", part_in_parameters, "ranges", "its part 0 lies neither in the slots"},
    {"RECV not waited for", recv_not_waited, "dataflow", "which is being received, without waiting for rank 1 job"},
    {"exchange not waited for", exchange_not_waited, "dataflow",
     "which is being received, without waiting for rank 0 job"},
    {"SEND before the value is there", send_before_write, "dataflow", "which no job wrote before"},
    {"sum changed while it is sent", changes_what_is_sent, "dataflow", "without waiting for the end of rank 0 job"},
    {"sums received after their use", recv_after_use, "dataflow",
     "which was used before it came, by rank 0 job 27 (UPDATE)"},
    {"sums received over own ones", recv_over_own_sum, "dataflow",
     "which was used before it came, by rank 0 job 12 (W of stage 0, micro-batch 0)"},
    {"sum changed after it was sent", changes_what_was_sent, "dataflow", "a sum that was already sent by"},
    {"another micro-batch's frame", other_micro_batch, "dataflow", "written for another micro-batch by"},
    {"live frame overwritten", overwritten, "dataflow", "written for another micro-batch by"},
    {"RECV over live bytes", recv_over_live, "dataflow", "rank 1 job"},
    {"parts swapped once", swapped_parts, "dataflow", "come from other writers or places than for"},
    {"two bases share bytes", shared_bytes, "dataflow", "which it uses through another base too"},
    {"report of another micro-batch", report_of_another, "dataflow", "written for another micro-batch by"},
    {"report of other bytes", reports_other_bytes, "dataflow",
     "not where an F left the loss: it was written by rank 2 job"},
    {"report of what B wrote", reports_what_b_wrote, "dataflow", "(B of stage 2, micro-batch 0)"},
    {"report of the workspace", reports_workspace, "dataflow", "which is not in the slots"},
    {"loss elsewhere", loss_elsewhere, "dataflow", "not where an F left the loss"},
    {"loss in another base", loss_in_another_base, "dataflow", "not where an F left the loss"},
    {"loss outside of its base", loss_outside, "structure", "its loss (or norm) must be 4 bytes of one of its bases"},
    {"loss of a B", loss_of_b, "structure", "made by an F"},
    {"no loss", no_loss, "dataflow", "not where an F left the loss"},
    {"two losses", two_losses, "reports", "gives a loss, and so does F"},
    {"nothing reported", nothing_reported, "reports", "0 of 4 micro-batches are reported"},
    {"no owner", no_owner, "owners", "'w1' has no owner: no checkpoint would hold it"},
    {"no owner of what several ranks hold", no_owner_of_tied, "owners", "'tied' has no owner"},
    {"two owners", two_owners, "owners", "'tied' has two owners, rank 0 and rank 2"},
    {"parameter twice on a rank", held_twice, "owners", "rank 0 holds the parameter 'w0' twice"},
    {"another name on one rank", other_name_of_tied, "owners", "'tied2' has no owner"},
    {"another shape on one rank", tied_of_other_shape, "owners", "'tied' is not the same on rank 0 and on rank 2"},
    {"state of nobody", state_of_nobody, "owners", "the state 'w0.momentum' belongs to no parameter"},
    {"state of another", state_of_another, "owners", "'w0.momentum' is said to be of the parameter 'tied'"},
    {"state of two", state_of_two, "owners", "'w0.momentum' belongs to 'tied' and to another parameter"},
    {"state without a name", state_with_no_suffix, "owners", "'w0.' is said to be of the parameter 'w0'"},
    {"state that is not listed", state_not_listed, "owners", "writes a state that is not said to be its own"},
    {"gradient of another", gradient_of_another, "owners", "reads a gradient that is not said to be its own"},
    {"report missing", report_missing, "reports", "3 of 4 micro-batches are reported"},
    {"report twice", report_twice, "reports", "there is one for each"},
    {"SEND missing", no_send, "messages", "has no SEND"},
    {"SEND twice", sent_twice, "messages", "the same side of the message is posted twice"},
    {"parts of unequal size", unequal_parts, "messages", "part 0 is sent as 64 bytes and received as 128"},
    {"parts not the message's", parts_of_other_size, "structure", "its parts are not those of its message"},
    {"numbers fall", numbers_fall, "messages", "numbers must rise on every"},
    {"ranks wait for each other", hangs, "deadlock", "without buffering the ranks wait for each other: rank"},
    {"setting outside", setting_outside, "settings", "'update' of 'w1' at 1864 does not lie in the region step"},
    {"setting over the number", setting_over_the_number, "settings", "overlaps the number of the step"},
    {"settings overlap", settings_overlap, "settings", "'update' of 'tied' at"},
    {"setting twice", setting_twice, "settings", "rank 0 has the setting 'update' of 'w0' twice"},
    {"setting of nobody", setting_of_nobody, "settings", "of no parameter that the rank trains"},
    {"setting of what is frozen", setting_of_the_frozen, "settings", "of no parameter that the rank trains"},
    {"setting of no kind", setting_of_another_kind, "structure", "setting 0 is of no kind that is known"},
    {"setting without values", setting_without_values, "structure", "'update' of 'w1' has 1 values, expected 2"},
    {"setting that owns too much", setting_owns_too_much, "structure", "own numbers that are not there"},
    {"setting not aligned", setting_odd, "structure", "not aligned to 8 bytes"},
    {"setting that is no number", setting_that_is_no_number, "structure", "its values must be numbers >= 0"},
    {"settings disagree", settings_disagree, "settings",
     "'update' of 'tied' has other values on rank 2 than on rank 0"},
    {"half a setting read", half_a_setting, "settings", "neither the number of the step nor one setting"},
    {"the number read as a setting", step_number_as_setting, "settings", "neither the number of the step nor one"},
    {"settings of another", settings_of_another, "owners", "the update of 'w0' reads the settings of 'tied'"},
    {"UPDATE writes settings", update_writes_settings, "ranges", "a UPDATE may not write to the region step"},
    {"an input in the settings", settings_received, "ranges", "lies neither in the slots nor"},
    {"buffer elsewhere", buffer_elsewhere, "regions", "'seen' at 448 does not lie in the region buffers"},
    {"buffer trained", buffer_trained, "buffers", "the buffer 'seen' is trained, or has a gradient or a state"},
    {"buffer with a gradient", buffer_with_gradient, "buffers", "is trained, or has a gradient or a state"},
    {"buffer never updated", buffer_never_updated, "buffers", "no F updates the buffer 'seen'"},
    {"buffer updated in part", buffer_updated_in_part, "buffers", "F updates a part of the buffer 'seen' only"},
    {"B reads a buffer", buffer_read_by_b, "buffers", "B reads the buffer 'seen', which F updates"},
    {"UPDATE reads a buffer", buffer_read_by_update, "buffers", "UPDATE reads the buffer 'seen', which F updates"},
    {"W writes a buffer", buffer_written_by_w, "ranges", "a W may not write to the region buffers"},
    {"UPDATE writes a buffer", buffer_written_by_update, "ranges", "a UPDATE may not write to the region buffers"},
    {"a buffer on two ranks", buffer_on_two_ranks, "owners", "ranks 0 and 1 both hold the buffer 'w0'"},
    {"F of a buffer falls", buffer_falls, "order", "updates buffers before micro-batch 2 does"},
    {"unknown kind", bad_job_kind, "structure", "its kind is not known"},
    {"waits for a later job", wait_forward, "structure", "it waits for a job that is not before it"},
};

static void test_broken_plans(void) {
  for (size_t i = 0; i < sizeof breakages / sizeof breakages[0]; ++i) {
    const struct breakage *it = &breakages[i];
    char rule[64];
    zb_plan *plan = sample_plan(3, 4, 0);
    it->make(plan);
    zb_status status = zb_plan_verify(plan);
    snprintf(rule, sizeof rule, "rule \"%s\"", it->rule);
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

static void test_buffer(void) {
  zb_plan *plan = sample_plan(3, 4, 0);
  give_buffer(plan);
  zb_status status = zb_plan_verify(plan);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  zb_plan_destroy(plan);
}

static void test_phases_apart(void) {
  zb_plan *plan = sample_plan(3, 4, 0);
  tied_apart(plan);
  zb_status status = zb_plan_verify(plan);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  zb_plan_destroy(plan);
}

/* Slots used in turn: whoever writes a slot again must wait for the SEND that read it. */
static void test_send_not_waited(void) {
  zb_plan *plan = sample_plan(2, 8, 4);
  zb_plan_job *f = job(plan, 0, ZB_JOB_F, 4);
  CU_ASSERT_EQUAL_FATAL(f->waits.count, 1);
  f->waits.count = 0;
  zb_status status = zb_plan_verify(plan);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "which a SEND still reads that was not waited for"));
  zb_status_free(status);
  zb_plan_destroy(plan);
}

/* Too few slots: a frame is overwritten while it lives. */
static void test_too_few_slots(void) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    zb_plan *plan = sample_plan(ranks, 6, 1);
    zb_status status = zb_plan_verify(plan);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "rule \"dataflow\""));
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN("verifier", {"right plans", test_right_plans}, {"broken plans", test_broken_plans},
           {"phases apart", test_phases_apart}, {"a buffer", test_buffer},
           {"send not waited for", test_send_not_waited}, {"too few slots", test_too_few_slots})
