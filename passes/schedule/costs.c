/* The schedule problem of a program that was measured: zb_costs_problem of include/zb/costs.h. Tests:
 * test/passes/schedule/costs_test.c */
#include "zb/costs.h"

#include <inttypes.h>
#include <string.h>

void zb_costs_problem_deinit(zb_problem *problem) {
  zb_free((void *)(uintptr_t)problem->stage_rank);
  zb_free((void *)(uintptr_t)problem->costs);
  zb_free((void *)(uintptr_t)problem->edges);
  zb_free((void *)(uintptr_t)problem->base_bytes);
  zb_free((void *)(uintptr_t)problem->optimizer_ps);
  *problem = (zb_problem){0};
}

static void fill_stages(const zb_costs *from, int *stage_rank, zb_stage_cost *costs) {
  for (int64_t s = 0; s < from->stage_count; ++s) {
    const zb_cost_stage *stage = &from->stages[s];
    stage_rank[s] = (int)stage->rank;
    costs[s].keep_bytes[ZB_F] = stage->fb_bytes + stage->fw_bytes;
    costs[s].keep_bytes[ZB_B] = stage->bw_bytes;
    costs[s].free_bytes[ZB_B] = stage->fb_bytes;
    costs[s].free_bytes[ZB_W] = stage->fw_bytes + stage->bw_bytes;
  }
}

/* A job of the schedule is one of the plan and takes what the interpreter takes; the first of a step is spread over
 * all. */
static void fill_times(const zb_costs *from, int64_t micro_batches, zb_stage_cost *costs, int64_t *optimizer_ps) {
  static const char *const kinds[] = {
#define ZB_KIND(name, summary) #name,
#include "zb/kinds.def"
#undef ZB_KIND
  };
  for (int64_t i = 0; i < from->subprogram_count; ++i) {
    const zb_cost_subprogram *s = &from->subprograms[i];
    int64_t time_ps = s->time_ps + (s->first_ps - s->time_ps) / micro_batches + from->overheads.job_ps;
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (strcmp(s->kind, kinds[kind]) == 0) costs[s->stage].time_ps[kind] = time_ps;
    if (strcmp(s->kind, "OPT") == 0) optimizer_ps[s->rank] += time_ps;
  }
}

zb_status zb_costs_problem(const zb_costs *costs, int micro_batches, zb_problem *out) {
  *out = (zb_problem){0};
  if (costs->program.ranks == 0)
    return zb_status_hint(ZB_ERROR(INVALID, "these costs are a calibration of the machine: they have no stages"),
                          "measure a plan: zb-run DIR --data ... --steps 20 --profile FILE.json");
  const size_t stages = (size_t)costs->stage_count, ranks = (size_t)costs->program.ranks,
               edges = (size_t)costs->edge_count;
  int *stage_rank = zb_alloc(stages * sizeof *stage_rank);
  zb_stage_cost *stage_costs = zb_alloc(stages * sizeof *stage_costs);
  zb_edge *edge = zb_alloc((edges + 1) * sizeof *edge);
  int64_t *base_bytes = zb_alloc(ranks * sizeof *base_bytes), *optimizer_ps = zb_alloc(ranks * sizeof *optimizer_ps);
  *out = (zb_problem){
      .ranks = (int)ranks,
      .micro_batches = micro_batches > 0 ? micro_batches : (int)costs->program.micro_batches,
      .stages = (int)stages,
      .stage_rank = stage_rank,
      .costs = stage_costs,
      .edges = edge,
      .edge_count = (int)edges,
      /* a receiver waits for most of its messages, and goes on when it is awake */
      .link_latency_ps = costs->link.latency_ps + costs->link.wake_ps,
      .link_ps_per_byte = costs->link.ps_per_byte,
      .base_bytes = base_bytes,
      .optimizer_ps = optimizer_ps,
  };
  if (!stage_rank || !stage_costs || !edge || !base_bytes || !optimizer_ps) {
    zb_costs_problem_deinit(out);
    return ZB_OUT_OF_MEMORY();
  }
  fill_stages(costs, stage_rank, stage_costs);
  fill_times(costs, out->micro_batches, stage_costs, optimizer_ps);
  for (size_t i = 0; i < edges; ++i)
    edge[i] = (zb_edge){(int)costs->edges[i].source, (int)costs->edges[i].destination, costs->edges[i].forward_bytes,
                        costs->edges[i].backward_bytes};
  for (size_t r = 0; r < ranks; ++r)
    base_bytes[r] = costs->ranks[r].base_bytes;
  zb_status status = zb_problem_check(out);
  if (status) zb_costs_problem_deinit(out);
  return status;
}
