/* The schedule problem of a program that was measured: zb_costs_problem of include/zb/costs.h. Tests:
 * test/passes/schedule/costs_test.c */
#include "zb/costs.h"

#include <string.h>

static void fill_stages(const zb_costs *from, zb_problem_data *out) {
  for (int64_t s = 0; s < from->stage_count; ++s) {
    const zb_cost_stage *stage = &from->stages[s];
    zb_stage_cost *cost = &out->costs[s];
    out->stage_rank[s] = (int)stage->rank;
    cost->keep_bytes[ZB_F] = stage->fb_bytes + stage->fw_bytes;
    cost->keep_bytes[ZB_B] = stage->bw_bytes;
    cost->free_bytes[ZB_B] = stage->fb_bytes;
    cost->free_bytes[ZB_W] = stage->fw_bytes + stage->bw_bytes;
  }
}

/* A job of the schedule is one of the plan and takes what the interpreter takes; the first of a step is spread over
 * all. */
static void fill_times(const zb_costs *from, zb_problem_data *out) {
  static const char *const kinds[] = {
#define ZB_KIND(name, summary) #name,
#include "zb/kinds.def"
#undef ZB_KIND
  };
  for (int64_t i = 0; i < from->subprogram_count; ++i) {
    const zb_cost_subprogram *s = &from->subprograms[i];
    int64_t time_ps = s->time_ps + (s->first_ps - s->time_ps) / out->problem.micro_batches + from->overheads.job_ps;
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (strcmp(s->kind, kinds[kind]) == 0) out->costs[s->stage].time_ps[kind] = time_ps;
    if (zb_cost_is_optimizer(s)) out->optimizer_ps[s->rank] += time_ps;
  }
}

zb_status zb_costs_problem(const zb_costs *costs, int micro_batches, zb_problem_data *out) {
  *out = (zb_problem_data){0};
  if (costs->program.ranks == 0)
    return zb_status_hint(ZB_ERROR(INVALID, "these costs are a calibration of the machine: they have no stages"),
                          "measure a plan: zb-run DIR --data ... --steps 20 --profile FILE.json");
  const int64_t ranks = costs->program.ranks, measured = costs->program.micro_batches;
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_problem_data_init(out, (int)ranks, (int)(costs->stage_count / ranks),
                                   micro_batches > 0 ? micro_batches : (int)measured));
  ZB_TRY_GOTO(zb_problem_data_edges(out, (int)costs->edge_count));
  /* A receiver waits for most of its messages, and goes on when it is awake. */
  out->problem.link_latency_ps = costs->link.latency_ps + costs->link.wake_ps;
  out->problem.link_ps_per_byte = costs->link.ps_per_byte;
  fill_stages(costs, out);
  fill_times(costs, out);
  for (int64_t i = 0; i < costs->edge_count; ++i) {
    const zb_cost_edge *edge = &costs->edges[i];
    out->edges[i] = (zb_edge){(int)edge->source, (int)edge->destination, edge->forward_bytes, edge->backward_bytes};
  }
  for (int64_t r = 0; r < ranks; ++r)
    out->base_bytes[r] = costs->ranks[r].base_bytes;
  status = zb_problem_check(&out->problem);
cleanup:
  if (status) zb_problem_data_deinit(out);
  return status;
}
