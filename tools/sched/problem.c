/* The problem of a schedule: from --costs for whatever ranks, chunks and placement it takes, or from a file. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "tools/sched/sched.h"
#include "zb/costs.h"

/* Where a text is wrong and nothing more is known. */
static zb_status see_help(zb_status status) {
  return status && !zb_status_hint_text(status) && zb_status_code(status) == ZB_USAGE ? sched_see_help(status) : status;
}

/* ---- Files ---- */

static zb_status read_profile(const char *path, int micro_batches, zb_problem_data *out) {
  zb_costs *costs = NULL;
  zb_status status = zb_costs_read(path, &costs);
  if (zb_status_code(status) == ZB_IO && !zb_status_hint_text(status))
    return zb_status_hint(status, "--costs takes costs like f=2,b=2,w=1, or the file of zb-run --profile");
  if (status) return status;
  status = zb_costs_problem(costs, micro_batches, out);
  zb_costs_destroy(costs);
  return status;
}

static zb_status read_file(const sched_settings *s, sched_source *out) {
  const char *name = s->problem ? s->problem : s->costs;
  ZB_TRY(s->problem ? zb_problem_read(s->problem, &out->data) : read_profile(s->costs, s->micro_batches, &out->data));
  if (!s->ranks && !s->chunks) return NULL;
  return sched_see_help(ZB_ERROR(USAGE, "%s: %s says how many there are", s->ranks ? "--ranks" : "--chunks", name));
}

zb_status sched_source_init(const sched_settings *s, sched_source *out) {
  *out = (sched_source){.file = s->problem || (s->costs && sched_costs_is_file(s->costs))};
  if (s->problem && zb_costs_is(s->problem))
    return zb_status_hint(ZB_ERROR(USAGE, "%s: expected a problem, got measured costs", s->problem),
                          "pass it with --costs");
  if (out->file) return read_file(s, out);
  return see_help(zb_uniform_costs_parse(s->costs, &out->costs));
}

void sched_source_deinit(sched_source *source) { zb_problem_data_deinit(&source->data); }

void sched_case_deinit(sched_case *c) {
  zb_free(c->name);
  zb_problem_data_deinit(&c->data);
  zb_order_deinit(&c->order);
  zb_simulation_deinit(&c->simulation);
  zb_status_free(c->status);
  *c = (sched_case){0};
}

/* ---- Limit and metric ---- */

static zb_status set_rest(const sched_settings *s, bool two_pipelines, zb_problem_data *data) {
  if (s->metric) ZB_TRY(zb_metric_parse(s->metric, &data->problem.metric));
  return s->memory_limit ? see_help(zb_problem_limit(data, s->memory_limit, two_pipelines)) : NULL;
}

/* ---- The problem of a schedule or of an order ---- */

/* *name: of the placement, where one is named. */
static zb_status make(const sched_settings *s, const sched_source *source, const zb_schedule_def *schedule,
                      zb_problem_data *out, const char **name) {
  const bool two_pipelines = schedule && schedule->two_pipelines;
  if (source->file) {
    ZB_TRY(zb_problem_data_copy(out, &source->data.problem));
    if (s->micro_batches) ZB_TRY(zb_problem_set_micro_batches(out, schedule, s->micro_batches));
    const int chunks = out->problem.stages / out->problem.ranks;
    return s->placement ? zb_placement(s->placement, out->problem.ranks, chunks, out->stage_rank) : NULL;
  }
  const char *placement = s->placement;
  int chunks = s->chunks;
  ZB_TRY(zb_problem_uniform(&source->costs, schedule, s->ranks, s->micro_batches, &placement, &chunks, out));
  const bool is_named = placement && chunks > 1 && !isdigit((unsigned char)*placement); /* one chunk: all are plain */
  if (is_named && !two_pipelines) *name = placement;
  return NULL;
}

zb_status sched_make_problem(const sched_settings *s, const sched_source *source, const zb_schedule_def *schedule,
                             sched_case *c) {
  const bool two_pipelines = schedule && schedule->two_pipelines;
  const char *name = NULL;
  c->placement_open = !source->file && !s->placement;
  ZB_TRY(make(s, source, schedule, &c->data, &name));
  c->micro_batches = c->data.problem.micro_batches * (two_pipelines ? 2 : 1);
  c->placement = name ? name : zb_placement_name(&c->data.problem);
  return set_rest(s, two_pipelines, &c->data);
}

static zb_status make_for_order(const sched_source *source, const zb_order_file *file, zb_problem_data *out) {
  if (source->file) {
    ZB_TRY(zb_problem_data_copy(out, &source->data.problem));
    out->problem.micro_batches = file->micro_batches;
    return NULL;
  }
  int chunks = file->stages / file->order.ranks;
  const char *placement = NULL;
  ZB_TRY(zb_problem_uniform(&source->costs, NULL, file->order.ranks, file->micro_batches, &placement, &chunks, out));
  memcpy(out->stage_rank, file->stage_rank, (size_t)file->stages * sizeof *file->stage_rank);
  return NULL;
}

zb_status sched_read_order(const sched_settings *s, const sched_source *source, sched_case *c) {
  zb_order_file file = {0};
  zb_order_expected expected = {.ranks = s->ranks, .micro_batches = s->micro_batches};
  if (source->file) {
    expected.ranks = source->data.problem.ranks;
    expected.stages = source->data.problem.stages;
    expected.stage_rank = source->data.stage_rank;
  }
  ZB_TRY(zb_order_read_file(c->name, &expected, &file));
  zb_status status = make_for_order(source, &file, &c->data);
  c->order = file.order;
  file.order = (zb_order){0};
  c->micro_batches = file.micro_batches;
  c->renumbered = file.file_micro_batch != NULL;
  zb_order_file_deinit(&file);
  if (status) return status;
  c->placement = zb_placement_name(&c->data.problem);
  if (c->data.problem.whole_backward) c->order.whole_backward = true; /* then each W must follow its B */
  ZB_TRY(set_rest(s, false, &c->data));
  return zb_order_validate(&c->data.problem, &c->order);
}
