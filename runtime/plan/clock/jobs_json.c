/* The jobs of a plan as JSON, for other programs: zb_plan_print_jobs of runtime/plan/file/plan.h. The keys are in
 * README.md
 * ("Jobs as JSON"). Tests: test/python/package.py. */
#include <inttypes.h>

#include "runtime/formats/json_fields.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/clock/timeline.h"
#include "runtime/plan/mesh/mesh.h"

static void add_number(zb_text *out, const char *key, int64_t value) {
  zb_text_add(out, ",\"%s\":%" PRId64, key, value);
}

static void add_text(zb_text *out, const char *key, const char *value) {
  zb_text_add(out, ",\"%s\":", key);
  zb_json_add_string(out, value);
}

static void add_seconds(zb_text *out, const char *key, int64_t ps) {
  zb_text_add(out, ",\"%s\":", key);
  zb_json_add_real(out, (double)ps * 1e-12);
}

static void add_message(zb_text *out, const zb_plan *plan, int number, bool sends) {
  const zb_plan_message *message = &plan->messages[number];
  add_number(out, "message", number);
  add_number(out, "peer", sends ? message->destination : message->source);
  const int stage = sends ? message->destination_stage : message->source_stage;
  if (stage >= 0) add_number(out, "peer_stage", stage);
  add_number(out, "bytes", (int64_t)message->bytes);
  zb_text_add(out, ",\"carries\":\"%c\"", zb_payload_letter(message->payload));
}

/* times NULL: it is of no step. */
static void add_job(zb_text *out, const zb_plan *plan, const zb_plan_rank *rank, int index,
                    const zb_plan_times *times) {
  const zb_plan_job *job = &rank->jobs[index];
  zb_text_add(out, "{\"kind\":\"%s\"", zb_job_mnemonic(job->kind));
  if (job->subprogram >= 0) add_text(out, "subprogram", rank->subprograms[job->subprogram].name);
  if (job->stage >= 0) add_number(out, "stage", job->stage);
  if (job->micro_batch >= 0) add_number(out, "micro_batch", job->micro_batch);
  if (job->message >= 0) add_message(out, plan, job->message, job->kind == ZB_JOB_SEND);
  if (job->input >= 0) add_text(out, "input", plan->inputs[job->input].name);
  for (uint32_t i = 0; i < job->waits.count; ++i)
    zb_text_add(out, i ? ",%u" : ",\"after\":[%u", rank->pool_u32[job->waits.begin + i]);
  if (job->waits.count) zb_text_add(out, "]");
  if (times) add_seconds(out, "start", times->start_ps);
  if (times) add_seconds(out, "end", times->end_ps);
  zb_text_add(out, "}");
}

static void add_header(zb_text *out, const zb_plan *plan) {
  zb_text_add(out, "{\"version\":\"%s\"", ZB_VERSION);
  add_text(out, "model", plan->model);
  add_text(out, "schedule", plan->schedule);
  add_text(out, "placement", plan->placement);
  add_text(out, "optimizer", plan->optimizer);
  add_text(out, "precision", plan->precision);
  add_number(out, "ranks", plan->rank_count);
  add_number(out, "stages", plan->stage_count);
  add_number(out, "micro_batches", plan->micro_batches);
  add_number(out, "replicas", zb_plan_replicas(plan));
  add_number(out, "shards", zb_plan_shards(plan));
  zb_text_add(out, ",\"stage_rank\":[");
  for (int i = 0; i < plan->stage_count; ++i)
    zb_text_add(out, i ? ",%d" : "%d", plan->stage_rank[i]);
  zb_text_add(out, "]");
}

/* plan: of one list, without collectives. */
static zb_status print_lists(const zb_plan *given, const zb_plan *plan, zb_write write, void *context) {
  zb_plan_simulation simulation;
  zb_text out = {0};
  ZB_TRY(zb_plan_simulate(plan, &simulation));
  add_header(&out, given);
  add_seconds(&out, "step_seconds", simulation.step_ps);
  zb_text_add(&out, ",\"jobs\":[");
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    zb_text_add(&out, r ? "],\n[" : "\n[");
    for (int j = 0; j < rank->job_count; ++j) {
      zb_text_add(&out, j ? ",\n " : "");
      add_job(&out, plan, rank, j, j < rank->load_count ? NULL : &simulation.jobs[r][j]);
    }
  }
  zb_text_add(&out, "]]}\n");
  if (!out.failed) write(context, out.data, out.length);
  zb_status status = out.failed ? ZB_OUT_OF_MEMORY() : NULL;
  zb_text_deinit(&out);
  zb_plan_simulation_free(&simulation);
  return status;
}

zb_status zb_plan_print_jobs(const zb_plan *plan, zb_write write, void *context) {
  zb_plan *view = NULL, *expanded = NULL;
  zb_status status = NULL;
  const zb_plan_list list = plan->inference ? ZB_LIST_EVALUATION : ZB_LIST_STEP;
  if (plan->evaluates) ZB_TRY(zb_plan_view(plan, list, &view));
  const zb_plan *one = view ? view : plan;
  ZB_TRY_GOTO(zb_plan_expand(one, &expanded));
  status = print_lists(plan, expanded ? expanded : one, write, context);
cleanup:
  zb_plan_destroy(expanded);
  zb_plan_destroy(view);
  return status;
}
