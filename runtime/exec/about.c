/* What a plan is made for, in the words of the public API, before there is a session. Tests:
 * test/runtime/exec/about_test.c. */
#include "runtime/base/arena.h"
#include "runtime/exec/data.h"
#include "runtime/exec/data_rows.h"
#include "runtime/exec/session_parts.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

typedef struct owned_about {
  zb_plan_about about; /* first: it is what the caller has */
  zb_arena memory;
} owned_about;

static const char *copy(zb_arena *memory, const char *text) { return zb_arena_strdup(memory, text ? text : ""); }

static zb_status fill(zb_arena *memory, const zb_plan *plan, zb_plan_about *out) {
  zb_plan_value *inputs = ZB_NEW(memory, zb_plan_value, plan->input_count);
  zb_plan_value *outputs = ZB_NEW(memory, zb_plan_value, plan->output_count);
  const char **arguments = ZB_NEW(memory, const char *, plan->argument_count);
  ZB_TRY(zb_arena_status(memory));
  *out = (zb_plan_about){.model = copy(memory, plan->model),
                         .schedule = copy(memory, plan->schedule),
                         .placement = copy(memory, plan->placement),
                         .optimizer = copy(memory, plan->optimizer),
                         .precision = plan->precision && *plan->precision ? copy(memory, plan->precision) : "f32",
                         .ranks = plan->rank_count,
                         .stages = plan->stage_count,
                         .micro_batches = plan->micro_batches,
                         .replicas = zb_plan_mesh(plan),
                         .shards = zb_plan_shard_mesh(plan),
                         .inputs = inputs,
                         .arguments = arguments,
                         .argument_count = plan->argument_count,
                         .outputs = outputs,
                         .output_count = plan->output_count,
                         .evaluates = plan->evaluates,
                         .inference = plan->inference,
                         .random = zb_data_has_counter(plan)};
  for (int i = 0; i < plan->input_count; ++i)
    if (!zb_data_is_counter(&plan->inputs[i]))
      inputs[out->input_count++] = (zb_plan_value){copy(memory, plan->inputs[i].name), plan->inputs[i].shape};
  for (int i = 0; i < plan->argument_count; ++i)
    arguments[i] = copy(memory, plan->arguments[i]);
  for (int i = 0; i < plan->output_count; ++i)
    outputs[i] = (zb_plan_value){copy(memory, plan->outputs[i].name), plan->outputs[i].shape};
  return zb_arena_status(memory);
}

zb_status zb_plan_about_read(const char *directory, zb_plan_about **out) {
  zb_plan *plan = NULL;
  *out = NULL;
  if (!directory || !*directory)
    return zb_status_hint(ZB_ERROR(USAGE, "no folder of a plan is given"), "give the folder that zbc wrote with -o");
  owned_about *about = zb_alloc(sizeof *about);
  zb_status status = about ? zb_session_read_plan(directory, 0, 0, &plan) : ZB_OUT_OF_MEMORY();
  if (!status) status = zb_plan_unfold_own(&plan);
  if (!status) status = fill(&about->memory, plan, &about->about);
  zb_plan_destroy(plan);
  if (status && about) zb_plan_about_destroy(&about->about);
  if (!status) *out = &about->about;
  return status;
}

void zb_plan_about_destroy(zb_plan_about *about) {
  if (!about) return;
  zb_arena_deinit(&((owned_about *)about)->memory);
  zb_free(about);
}
