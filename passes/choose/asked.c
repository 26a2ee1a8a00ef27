/* What is asked of a compile: see passes/choose/asked.h. Tests: test/tools/zbc-schedule.test. */

#include "passes/choose/asked.h"

#include "passes/stages/jobs/orders.h"
#include "passes/stages/jobs/schedule_file.h"

#include <string.h>

zb_status zb_asked_rule(const zb_asked *asked, const char *schedule, zb_asked *out) {
  *out = *asked;
  out->schedule = schedule;
  out->limit = 0;
  out->is_file = zb_schedule_is_file(schedule);
  if (out->is_file) return NULL;
  ZB_TRY(zb_schedule_to_train(schedule, &out->rule));
  out->searches = out->rule.schedule->searches;
  out->keeps_limit = out->rule.schedule->keeps_limit;
  return NULL;
}

/* The option of the schedule; NULL: it has none of that name. */
static int64_t *option_of(zb_asked *asked, const char *name) {
  const zb_schedule_option *options = asked->is_file ? NULL : asked->rule.schedule->options;
  for (int i = 0; options && options[i].name; ++i)
    if (strcmp(options[i].name, name) == 0) return &asked->rule.options[i];
  return NULL;
}

bool zb_asked_quick(const zb_asked *asked, zb_asked *out) {
  enum { BUDGET = 8 };
  *out = *asked;
  int64_t *budget = option_of(out, "budget");
  if (!budget || (*budget && *budget <= BUDGET)) return false;
  *budget = BUDGET;
  return true;
}

/* 0: nothing is known. */
static void lower(int64_t *known, int64_t to) {
  if (!*known || to < *known) *known = to;
}

void zb_asked_tell(zb_asked *asked, double known_ps) {
  int64_t *known = option_of(asked, "known");
  if (known && asked->metric != ZB_METRIC_PERIOD && known_ps <= 9e18) lower(known, (int64_t)known_ps + 1);
}

int64_t zb_asked_bound(const zb_asked *asked, const zb_problem *problem) {
  return asked->metric == ZB_METRIC_STAGE    ? zb_lower_bound_stage_ps(problem)
         : asked->metric == ZB_METRIC_PERIOD ? zb_lower_bound_period_ps(problem)
                                             : zb_lower_bound_ps(problem);
}

zb_status zb_asked_goes_on(const zb_asked *asked) {
  if (!asked->watch || asked->watch->goes_on(asked->watch->context)) return NULL;
  return ZB_ERROR(INTERRUPTED, "the search was stopped before it had a plan to take");
}

zb_status zb_order_plain(const zb_asked *asked, zb_problem *problem, zb_order *order) {
  ZB_TRY(zb_asked_goes_on(asked));
  problem->metric = asked->metric;
  problem->watch = asked->watch;
  zb_order_deinit(order);
  if (asked->is_file)
    ZB_TRY(zb_schedule_file_order(asked->schedule, problem, order));
  else
    ZB_TRY(zb_choice_order(asked->pass->program->memo, &asked->rule, true, problem, order));
  order->whole_backward = false;
  return NULL;
}

static int64_t message_time(const zb_problem *problem, int64_t bytes) {
  return bytes ? problem->link_latency_ps + (int64_t)((double)bytes * problem->link_ps_per_byte) : 0;
}

static void wait_for(int64_t *longest, int64_t time_ps) {
  if (time_ps > *longest) *longest = time_ps;
}

void zb_find_waits(const zb_problem *problem, zb_job_waits *out) {
  memset(out, 0, (size_t)problem->stages * sizeof *out);
  for (int e = 0; e < problem->edge_count; ++e) {
    const zb_edge *edge = &problem->edges[e];
    const int low = edge->source, high = edge->destination;
    if (problem->stage_rank[low] == problem->stage_rank[high]) continue;
    wait_for(&out[high].ps[ZB_F], message_time(problem, edge->forward_bytes));
    wait_for(&out[low].ps[ZB_B], message_time(problem, edge->backward_bytes));
  }
}

void zb_add_waits(const zb_job_waits *waits, zb_problem *problem, zb_stage_cost *costs) {
  for (int s = 0; s < problem->stages; ++s)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      costs[s].time_ps[kind] += waits[s].ps[kind];
  problem->link_latency_ps = 0;
  problem->link_ps_per_byte = 0;
}

zb_status zb_order_one_by_one(const zb_problem *problem, zb_order *out) {
  ZB_TRY(zb_order_init(out, problem->ranks));
  for (int m = 0; m < problem->micro_batches; ++m) {
    for (int s = 0; s < problem->stages; ++s)
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_F, m));
    for (int s = problem->stages - 1; s >= 0; --s) {
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_B, m));
      ZB_TRY(zb_order_add(out, problem->stage_rank[s], s, ZB_W, m));
    }
  }
  return NULL;
}

/* ---- Placements ---- */

static const struct {
  const char *placement;
  int chunks;
} placements[] = {{"plain", 1}, {"v", 2}, {"looped", 2}, {"looped", 4}, {"wave", 4}, {"looped", 8}, {"wave", 8}};
/* More chunks than this are tried where so many are the best so far: each compile takes its time. */
enum { PLACEMENTS = sizeof placements / sizeof placements[0], CHUNKS_ALWAYS = 4 };

bool zb_placement_next(const zb_asked *asked, int chunks, int *at, zb_choice *out) {
  const zb_schedule_def *schedule = asked->rule.schedule;
  while (*at < PLACEMENTS) {
    const int next = (*at)++, own = placements[next].chunks;
    if (own < schedule->chunks_min || own > schedule->chunks_max || (own > CHUNKS_ALWAYS && chunks < CHUNKS_ALWAYS))
      continue;
    *out = (zb_choice){
        .decided = ZB_CHOICE_PLACEMENT, .ranks = asked->ranks, .chunks = own, .placement = placements[next].placement};
    return true;
  }
  return false;
}
