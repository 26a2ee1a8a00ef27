/* zb_compile: the summary of a compile, and the order of its jobs as CSV. Tests: test/tools/zbc-options.test, test/e2e.
 */

#include "passes/compile/parts.h"
#include "passes/function.h"
#include "passes/stages/cut/named_layers.h"
#include "passes/stages/jobs/buckets.h"
#include "passes/stages/jobs/problem.h"
#include "passes/stages/jobs/step_time.h"
#include "passes/tables.h"
#include "runtime/base/sorted.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/tensors.h"
#include "runtime/plan/mesh/mesh.h"
#include "zb/layers.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdlib.h>

/* What a summary points to is in its arena. */
typedef struct owned_summary {
  zb_compile_summary summary;
  zb_arena arena;
} owned_summary;

zb_compile_summary *zb_summary_create(void) {
  owned_summary *owned = zb_alloc(sizeof *owned);
  return owned ? &owned->summary : NULL;
}

void zb_compile_summary_destroy(zb_compile_summary *summary) {
  if (summary) zb_arena_deinit(&((owned_summary *)summary)->arena);
  zb_free(summary);
}

static zb_arena *arena_of(zb_compile_summary *summary) { return &((owned_summary *)summary)->arena; }

static zb_status take_names(MlirOperation top, const char *attribute, zb_arena *arena, char ***out, int *out_count) {
  MlirAttribute names = zb_get_attribute(top, attribute);
  const int count = mlirAttributeIsNull(names) ? 0 : (int)mlirArrayAttrGetNumElements(names);
  *out = ZB_NEW(arena, char *, count);
  ZB_TRY(zb_arena_status(arena));
  for (; *out_count < count; ++*out_count)
    (*out)[*out_count] =
        zb_arena_strdup(arena, mlirStringAttrGetValue(mlirArrayAttrGetElement(names, *out_count)).data);
  return zb_arena_status(arena);
}

zb_status zb_summarize_import(MlirModule module, zb_compile_summary *out) {
  MlirOperation top = mlirModuleGetOperation(module);
  ZB_TRY(take_names(top, ZB_ATTR_UNTRAINED, arena_of(out), &out->untrained, &out->untrained_count));
  out->uncompared = zb_has_attribute(top, ZB_ATTR_UNCOMPARED);
  return zb_arena_status(arena_of(out));
}

/* First and last named op of a stage's forward function. */
static void stage_names(zb_arena *arena, MlirOperation function, zb_stage_summary *out) {
  out->first = out->last = NULL;
  MlirBlock block = zb_function_block(function);
  ZB_FOR_EACH_OP(op, block) {
    const char *name = zb_location_name(op);
    const zb_op_def *def = zb_op_find(op);
    if (zb_op_is(op, "func.return") || (def && def->op_class != ZB_CLASS_KERNEL)) continue;
    ++out->ops;
    if (!name) continue;
    if (!out->first) out->first = name;
    out->last = name;
  }
  out->first = zb_arena_strdup(arena, out->first ? out->first : "");
  out->last = zb_arena_strdup(arena, out->last ? out->last : "");
}

static int count_gradients(MlirOperation function) {
  int count = 0;
  ZB_FOR_EACH_OP(op, zb_function_block(function))
    count += zb_op_is(op, "zb.accumulate");
  return count;
}

static int count_recomputed(MlirOperation function) {
  int count = 0;
  ZB_FOR_EACH_OP(op, zb_function_block(function)) {
    const zb_op_def *def = zb_op_find(op);
    count += zb_has_attribute(op, ZB_ATTR_RECOMPUTED) && def && def->op_class == ZB_CLASS_KERNEL;
  }
  return count;
}

/* Of what F of other stages makes. */
static uint64_t count_received(MlirOperation function) {
  uint64_t bytes = 0;
  for (zb_ports at = zb_arguments(function); zb_next(&at);)
    if (at.port.value >= 0 && !at.port.input) bytes += zb_align(zb_type_bytes(at.type));
  return bytes;
}

static void summarize_stages(const zb_module_problem *p, zb_compile_summary *out) {
  for (int s = 0; s < out->stages; ++s) {
    zb_stage_summary *stage = &out->stage[s];
    const MlirOperation *f = &p->functions[s * ZB_KIND_COUNT];
    stage->rank = p->stage_rank[s];
    for (int k = 0; k < s; ++k)
      stage->chunk += p->stage_rank[k] == stage->rank;
    stage->f_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_F] - p->job_ps);
    stage->f_product_flops = (double)zb_get_i64(f[ZB_F], ZB_ATTR_PRODUCT_FLOPS, 0);
    stage_names(arena_of(out), f[ZB_F], stage);
    out->rank[stage->rank].seconds += stage->f_seconds;
    if (out->inference) continue;
    stage->b_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_B] - p->job_ps);
    stage->w_seconds = 1e-12 * (double)(p->costs[s].time_ps[ZB_W] + p->costs[s].hidden_ps - p->job_ps);
    out->rank[stage->rank].seconds += stage->b_seconds + stage->w_seconds;
    stage->b_product_flops = (double)zb_get_i64(f[ZB_B], ZB_ATTR_PRODUCT_FLOPS, 0);
    stage->w_product_flops = (double)zb_get_i64(f[ZB_W], ZB_ATTR_PRODUCT_FLOPS, 0);
    stage->fb_bytes = (uint64_t)zb_frame_bytes(f[ZB_F], "fb");
    stage->fw_bytes = (uint64_t)zb_frame_bytes(f[ZB_F], "fw");
    stage->bw_bytes = (uint64_t)zb_frame_bytes(f[ZB_B], "bw");
    stage->received_bytes = count_received(f[ZB_F]);
    stage->recomputed = count_recomputed(f[ZB_B]) + count_recomputed(f[ZB_W]);
    stage->gradients_in_b = count_gradients(f[ZB_B]);
    stage->gradients = count_gradients(f[ZB_W]) + stage->gradients_in_b;
  }
}

/* Layers by the module paths of forward ops; views are made again where they are read, so they are not looked at. */
static zb_status summarize_layers(const zb_module_problem *p, const char *layout, zb_compile_summary *out) {
  int wanted = 0; /* those that a string is of */
  zb_arena *arena = arena_of(out);
  ZB_LIST(const char *) names = {0};
  ZB_LIST(int) stages = {0};
  zb_named_layers layers;
  for (int s = 0; s < out->stages; ++s)
    ZB_FOR_EACH_OP(op, zb_function_block(p->functions[s * ZB_KIND_COUNT + ZB_F])) {
      const zb_op_def *def = zb_op_find(op);
      if (!def || def->op_class != ZB_CLASS_KERNEL) continue;
      if (!ZB_PUSH(arena, &names, zb_location_name(op)) || !ZB_PUSH(arena, &stages, s)) return zb_arena_status(arena);
    }
  if (layout && zb_layers_is_string(layout)) {
    zb_layer_layout cut;
    ZB_TRY(zb_layer_layout_init(&cut, &(zb_layer_params){.layout = layout}));
    wanted = cut.layers;
    zb_layer_layout_deinit(&cut);
  }
  ZB_TRY(zb_named_layers_find(arena, names.items, (int)names.count, wanted, &layers));
  out->layer = ZB_NEW(arena, zb_layer_summary, layers.count);
  ZB_TRY(zb_arena_status(arena));
  for (out->layers = 0; out->layers < layers.count; ++out->layers)
    out->layer[out->layers] = (zb_layer_summary){layers.path[out->layers], stages.items[layers.first[out->layers]],
                                                 stages.items[layers.last[out->layers]]};
  return NULL;
}

/* An operand at a fixed place, and the instruction that reads it; NULL: jobs do, of what is gathered from there. */
typedef struct fixed_read {
  uint64_t offset;
  size_t number; /* of it among all */
  const zb_plan_instruction *reader;
} fixed_read;

static int compare_reads(const void *a, const void *b) {
  const fixed_read *left = a, *right = b;
  if (left->offset != right->offset) return left->offset < right->offset ? -1 : 1;
  return (left->number > right->number) - (left->number < right->number);
}

/* What subprograms of this kind read at fixed places, sorted. stage: -1 for LOAD. */
static zb_status list_reads(const zb_plan_rank *rank, zb_job_kind kind, int stage, zb_arena *arena, fixed_read **out,
                            size_t *count) {
  ZB_LIST(fixed_read) list = {0};
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    if (subprogram->kind != kind || subprogram->stage != stage) continue;
    for (int n = 0; n < subprogram->instruction_count; ++n)
      for (int i = 0; i < subprogram->instructions[n].input_count; ++i) {
        const zb_plan_operand *operand = &subprogram->instructions[n].inputs[i];
        if (operand->rank < 0 || operand->base != 0) continue;
        if (!ZB_PUSH(arena, &list, ((fixed_read){operand->offset, list.count, &subprogram->instructions[n]})))
          return zb_arena_status(arena);
      }
  }
  if (list.count) qsort(list.items, list.count, sizeof *list.items, compare_reads);
  *out = list.items;
  *count = list.count;
  return NULL;
}

/* The first read within these bytes; NULL: there is none. */
static const fixed_read *find_read(const fixed_read *list, size_t count, uint64_t begin, uint64_t bytes) {
  const size_t at = zb_count_below(list, sizeof *list, offsetof(fixed_read, offset), count, begin);
  return at < count && list[at].offset - begin < bytes ? &list[at] : NULL;
}

/* The jobs of a stage that wait for a gather, of parameters of which every replica has a part: own parts, sorted. */
static zb_status list_gathered(const zb_plan *plan, const zb_plan_rank *rank, int stage, zb_arena *arena,
                               fixed_read **out, size_t *count) {
  ZB_LIST(fixed_read) list = {0};
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    for (uint32_t w = 0; w < job->waits.count && job->stage == stage && job->micro_batch <= 0; ++w) {
      const zb_plan_job *gather = &rank->jobs[rank->pool_u32[job->waits.begin + w]];
      const zb_plan_collective *collective = gather->collective ? &plan->collectives[gather->collective - 1] : NULL;
      for (uint32_t p = 0; collective && collective->apart && p < collective->sizes.count; ++p) {
        const zb_plan_range own = rank->pool_ranges[gather->parts.begin + collective->sizes.count + p];
        if (!ZB_PUSH(arena, &list, ((fixed_read){own.offset, list.count, NULL}))) return zb_arena_status(arena);
      }
    }
  }
  if (list.count) qsort(list.items, list.count, sizeof *list.items, compare_reads);
  *out = list.items;
  *count = list.count;
  return NULL;
}

/* Parameters of a stage, without buffers: those its F reads, or whose copy in bf16, which LOAD makes, it reads; where
 * they are gathered for jobs, those that are for one of its jobs. */
static zb_status count_stage_parameters(const zb_plan *plan, int s, zb_arena *scratch, zb_compile_summary *out) {
  const zb_plan_rank *rank = &plan->ranks[plan->stage_rank[s]];
  const bool of_parameters = zb_sharding_of_parameters(plan->sharding);
  fixed_read *loads, *reads;
  size_t load_count, read_count;
  ZB_TRY(list_reads(rank, ZB_JOB_LOAD, -1, scratch, &loads, &load_count));
  if (of_parameters)
    ZB_TRY(list_gathered(plan, rank, s, scratch, &reads, &read_count));
  else
    ZB_TRY(list_reads(rank, plan->inference ? ZB_JOB_EVALUATE : ZB_JOB_F, s, scratch, &reads, &read_count));
  for (int k = 0; k < rank->parameter_count; ++k) {
    if (rank->parameters[k].buffer) continue;
    const zb_plan_tensor *t = &rank->parameters[k].tensor;
    const uint64_t bytes = (uint64_t)zb_shape_bytes(&t->shape);
    const fixed_read *copy = find_read(loads, load_count, t->offset, bytes);
    bool read = find_read(reads, read_count, t->offset, bytes) != NULL;
    if (!read && copy) read = find_read(reads, read_count, copy->reader->outputs[0].offset, 1) != NULL;
    if (!read) continue;
    const zb_shape shape = zb_plan_shape_of_replicas(t);
    out->stage[s].parameter_bytes += (uint64_t)zb_shape_bytes(&shape);
    out->stage[s].parameters += (uint64_t)zb_shape_elements(&shape);
  }
  return NULL;
}

static zb_status count_parameters(const zb_plan *plan, zb_compile_summary *out) {
  zb_status status = NULL;
  for (int s = 0; s < out->stages && !status; ++s) {
    zb_arena scratch = {0};
    status = count_stage_parameters(plan, s, &scratch, out);
    zb_arena_deinit(&scratch);
  }
  return status;
}

/* The times of a plan: of one step, and of steps that follow each other. */
typedef struct plan_times {
  zb_timed_step step;
  zb_plan_simulation simulation;
  zb_plan_period period;
  zb_status statuses[2];
} plan_times;

static void find_time(void *context, int64_t tile, void *scratch) {
  plan_times *it = context;
  (void)scratch;
  if (tile == 0)
    it->statuses[0] = zb_timed_step_simulate(&it->step, &it->simulation);
  else if (!it->step.plan->inference)
    it->statuses[1] = zb_timed_step_find_period(&it->step, &it->period);
}

/* Of a step, or where there is none of a batch of an evaluation. Both at the same time: of a large compile each takes
 * some tenths of a second. */
static zb_status find_times(const zb_plan *plan, plan_times *it) {
  zb_plan *view = NULL;
  if (plan->inference) ZB_TRY(zb_plan_view(plan, ZB_LIST_EVALUATION, &view));
  zb_status status = zb_timed_step_init(view ? view : plan, &it->step);
  if (!status) {
    zb_threads *threads = zb_plan_is_long(plan) ? zb_threads_create(2) : NULL; /* NULL: one thread does it */
    zb_parallel_for(threads, 2, find_time, it);
    zb_threads_destroy(threads);
    if (it->statuses[1] && !it->statuses[0]) zb_plan_simulation_free(&it->simulation);
    status = zb_status_first(it->statuses, 2);
  }
  zb_timed_step_deinit(&it->step);
  zb_plan_destroy(view);
  return status;
}

/* How long sums over replicas keep ranks waiting, by the schedule library; at_end: as one sum of each rank. */
static zb_status summarize_reductions(zb_module_problem *p, int replicas, zb_compile_summary *out) {
  zb_order order;
  zb_simulation simulation = {0};
  zb_status status = NULL;
  if (replicas < 2) return NULL;
  ZB_TRY(zb_module_order(p, &order));
  ZB_TRY_GOTO(zb_buckets_reductions(p, &order));
  ZB_TRY_GOTO(zb_simulate(&p->problem, &order, &simulation));
  for (int rank = 0; rank < order.ranks; ++rank) {
    const int count = order.counts[rank];
    const int64_t end = count > 0 ? simulation.jobs[rank][count - 1].end_ps : 0;
    const double exposed = 1e-12 * (double)(simulation.optimizer_start_ps[rank] - end);
    const double at_end = 1e-12 * (double)zb_buckets_at_end_ps(p, rank, replicas);
    if (exposed > out->exposed_by_schedule) out->exposed_by_schedule = exposed;
    if (at_end > out->exposed_at_end) out->exposed_at_end = at_end;
  }
cleanup:
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
  return status;
}

static uint64_t whole_state_bytes(const zb_plan *plan, const zb_plan_rank *rank) {
  uint64_t bytes = 0;
  for (int i = 0; i < rank->state_count && plan->sharding != ZB_SHARDING_NONE; ++i) {
    const zb_shape whole = zb_plan_shape_of_replicas(&rank->states[i]);
    bytes += (uint64_t)zb_shape_bytes(&whole);
  }
  return bytes;
}

static void raise_to(uint64_t *most, uint64_t bytes) {
  if (*most < bytes) *most = bytes;
}

/* What gradients take that replicas have parts of, and room for what others send: sums of one job follow each other in
 * the same. */
static void summarize_sums(const zb_plan *plan, const zb_plan_rank *rank, zb_rank_summary *out) {
  const uint64_t region = rank->regions[ZB_REGION_GRADIENTS].bytes, replicas = (uint64_t)plan->replicas;
  const bool each = zb_sharding_sums_each(plan->sharding);
  uint64_t of_job = 0;
  out->sum_bytes = each ? 0 : region;
  out->kept_sum_bytes = each ? region : region / replicas;
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const zb_plan_collective *collective = job->collective ? &plan->collectives[job->collective - 1] : NULL;
    of_job = collective ? of_job : 0;
    if (!collective || !collective->coordinate || collective->payload != ZB_PAYLOAD_GRADIENTS) continue;
    const uint64_t landing = rank->pool_ranges[job->parts.begin + collective->sizes.count].bytes;
    raise_to(&out->landing_bytes, landing);
    out->all_landing_bytes += landing;
    for (uint32_t b = 0; b < collective->sizes.count; ++b)
      of_job += replicas * rank->pool_ranges[job->parts.begin + b].bytes;
    if (each) raise_to(&out->sum_bytes, of_job);
  }
}

/* What parts of parameters take, the whole ones they are of, and the largest room for those that a job reads. */
static void summarize_parts(const zb_plan *plan, const zb_plan_rank *rank, zb_rank_summary *out) {
  out->part_bytes = rank->regions[ZB_REGION_PARAMETERS].bytes;
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_shape whole = zb_plan_shape_of_replicas(&rank->parameters[i].tensor);
    if (!rank->parameters[i].buffer) out->whole_part_bytes += (uint64_t)zb_shape_bytes(&whole);
  }
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const zb_plan_collective *collective = job->collective ? &plan->collectives[job->collective - 1] : NULL;
    uint64_t bytes = 0;
    for (uint32_t p = 0; collective && collective->apart && p < collective->sizes.count; ++p)
      bytes += zb_align((uint64_t)plan->replicas * rank->pool_ranges[job->parts.begin + p].bytes);
    raise_to(&out->gathered_bytes, bytes);
  }
}

static zb_status summarize_shard_sums(const zb_plan *plan, zb_compile_summary *out) {
  const double seconds = 1e-12 / plan->rank_count;
  for (int r = 0; r < plan->rank_count && zb_plan_shards(plan) > 1 && !plan->inference; ++r) {
    int64_t all, hidden;
    ZB_TRY(zb_weave_hidden(plan, &plan->ranks[r], &all, &hidden));
    out->shard_sums_seconds += seconds * (double)all;
    out->shard_sums_hidden_seconds += seconds * (double)hidden;
  }
  return NULL;
}

static zb_status summarize_plan(const zb_plan *plan, const zb_store *model, const zb_weights *given,
                                zb_compile_summary *out) {
  plan_times times = {0};
  int64_t stage_ps;
  ZB_TRY(find_times(plan, &times));
  zb_plan_simulation simulation = times.simulation;
  if (!plan->inference) {
    out->period_seconds = 1e-12 * (double)times.period.cycle_ps / times.period.steps;
    out->bubble_period = times.period.bubble;
    out->period_cycle_ps = times.period.cycle_ps;
    out->period_steps = times.period.steps;
    out->period_exact = times.period.exact;
  }
  out->step_seconds = 1e-12 * (double)simulation.step_ps;
  ZB_TRY(zb_step_time(plan, &simulation, ZB_METRIC_STAGE, &stage_ps));
  out->stage_seconds = 1e-12 * (double)stage_ps;
  out->bubble_barrier = simulation.bubble_barrier;
  out->bubble_stage = simulation.bubble_stage;
  for (int r = 0; r < out->ranks; ++r) {
    const double exposed = 1e-12 * (double)simulation.ranks[r].exposed_ps;
    if (exposed > out->exposed_seconds) out->exposed_seconds = exposed;
  }
  for (int r = 0; r < out->ranks; ++r) {
    const zb_plan_range last = plan->ranks[r].regions[ZB_REGION_WORKSPACE];
    out->rank[r].peak_bytes = plan->ranks[r].arena_bytes;
    if (!plan->inference) out->rank[r].evaluation_bytes = plan->ranks[r].arena_bytes - (last.offset + last.bytes);
    out->rank[r].state_bytes = plan->ranks[r].regions[ZB_REGION_STATE].bytes;
    out->rank[r].whole_state_bytes = whole_state_bytes(plan, &plan->ranks[r]);
    out->rank[r].sum_bytes = plan->ranks[r].regions[ZB_REGION_GRADIENTS].bytes;
    if (zb_sharding_of_parameters(plan->sharding)) summarize_parts(plan, &plan->ranks[r], &out->rank[r]);
    if (zb_sharding_scatters(plan->sharding)) summarize_sums(plan, &plan->ranks[r], &out->rank[r]);
    out->rank[r].snapshot_bytes = plan->ranks[r].regions[ZB_REGION_SNAPSHOT].bytes;
    out->rank[r].idle_share =
        simulation.step_ps ? 1.0 - (double)simulation.ranks[r].busy_ps / (double)simulation.step_ps : 0.0;
  }
  zb_plan_simulation_free(&simulation);
  ZB_TRY(summarize_shard_sums(plan, out));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_parameter *p = &plan->ranks[r].parameters[i];
      if (!p->owner) continue;
      char *name = zb_arena_strdup(arena_of(out), p->tensor.name);
      const bool is_given = given && zb_weights_find(given, p->tensor.name);
      out->drawn += !model && !p->buffer && !is_given;
      out->later += model && !is_given && !zb_store_find(model, p->tensor.name);
      *(p->trained  ? &out->trained[out->trained_count++]
        : p->buffer ? &out->buffers[out->buffer_count++]
                    : &out->frozen[out->frozen_count++]) = name;
    }
  ZB_TRY(count_parameters(plan, out));
  return zb_arena_status(arena_of(out));
}

/* The order that the compile used. B and W are one cell where the schedule has one backward. Where PyTorch's stages
 * cannot run it that is no fault of the plan. */
/* The least that a step can take: W may run beside all sums over shards of its rank, not only those of its B. */
static zb_status summarize_bound(const zb_module_problem *problem, zb_compile_summary *out) {
  zb_problem least = problem->problem;
  zb_stage_cost *costs = ZB_NEW(arena_of(out), zb_stage_cost, least.stages);
  ZB_TRY(zb_arena_status(arena_of(out)));
  least.costs = costs;
  for (int s = 0; s < least.stages; ++s) {
    int64_t sums = 0;
    for (int i = 0; i < least.stages * ZB_KIND_COUNT; ++i)
      if (problem->stage_rank[i / ZB_KIND_COUNT] == problem->stage_rank[s] &&
          !mlirOperationIsNull(problem->functions[i]))
        sums += zb_get_i64(problem->functions[i], ZB_ATTR_SUMS_PS, 0);
    costs[s] = problem->costs[s];
    if (sums == 0) continue;
    const int64_t left = costs[s].time_ps[ZB_W] + costs[s].hidden_ps - sums;
    costs[s].time_ps[ZB_W] = left > 1 ? left : 1;
  }
  out->lower_bound_seconds = 1e-12 * (double)zb_lower_bound_ps(&least);
  return NULL;
}

static zb_status summarize_order(const zb_module_problem *problem, zb_compile_summary *out) {
  zb_order order;
  char *text = NULL;
  ZB_TRY(zb_module_order(problem, &order));
  const zb_order_style style = {.form = ZB_FORM_COMPUTE_ONLY};
  order.whole_backward = zb_get_i64(problem->top, ZB_ATTR_WHOLE_BACKWARD, 0) != 0;
  zb_status status = zb_order_write(&problem->problem, &order, &style, &text);
  zb_order_deinit(&order);
  if (text) out->order = zb_arena_strdup(arena_of(out), text);
  zb_free(text);
  if (!status || zb_status_code(status) == ZB_MEMORY) return status;
  out->order_refused = zb_arena_strdup(arena_of(out), zb_status_message(status));
  zb_status_free(status);
  return NULL;
}

zb_status zb_summarize_choice(const zb_choice *made, zb_compile_summary *out) {
  char *text = zb_choice_text(made);
  if (text) out->choice = zb_arena_strdup(arena_of(out), text);
  zb_free(text);
  if (out->cuts_tried) out->placement = zb_arena_strdup(arena_of(out), made->placement);
  return text ? zb_arena_status(arena_of(out)) : ZB_OUT_OF_MEMORY();
}

/* Names and reasons that zb-shard left. */
static zb_status summarize_whole(MlirModule module, zb_compile_summary *out) {
  MlirAttribute pairs = zb_get_attribute(mlirModuleGetOperation(module), ZB_ATTR_WHOLE);
  const int count = mlirAttributeIsNull(pairs) ? 0 : (int)mlirArrayAttrGetNumElements(pairs);
  zb_arena *arena = arena_of(out);
  out->whole = ZB_NEW(arena, zb_whole_summary, count / 2);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i + 1 < count; i += 2)
    out->whole[out->whole_count++] =
        (zb_whole_summary){zb_arena_strdup(arena, mlirStringAttrGetValue(mlirArrayAttrGetElement(pairs, i)).data),
                           zb_arena_strdup(arena, mlirStringAttrGetValue(mlirArrayAttrGetElement(pairs, i + 1)).data)};
  return zb_arena_status(arena);
}

/* What zb-loss-mean left. */
static zb_status summarize_loss_mean(MlirModule module, zb_compile_summary *out) {
  const char *text = zb_get_string(mlirModuleGetOperation(module), ZB_ATTR_LOSS_MEAN);
  if (text) out->loss_mean = zb_arena_strdup(arena_of(out), text);
  return zb_arena_status(arena_of(out));
}

zb_status zb_summarize(const zb_module *program, const zb_compile_params *params, const zb_plan *plan,
                       const zb_weights *given, zb_compile_summary *out) {
  zb_module_problem problem;
  out->inference = plan->inference;
  ZB_TRY(plan->inference ? zb_module_evaluation_build(program->module, plan->micro_batches, &problem)
                         : zb_module_problem_build(program->module, plan->micro_batches, &problem));
  zb_status status = NULL;
  out->ranks = plan->rank_count;
  out->stages = plan->stage_count;
  size_t parameters = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    parameters += (size_t)plan->ranks[r].parameter_count;
  zb_arena *arena = arena_of(out);
  out->stage = ZB_NEW(arena, zb_stage_summary, out->stages);
  out->rank = ZB_NEW(arena, zb_rank_summary, out->ranks);
  out->trained = ZB_NEW(arena, char *, parameters);
  out->frozen = ZB_NEW(arena, char *, parameters);
  out->buffers = ZB_NEW(arena, char *, parameters);
  ZB_TRY_GOTO(zb_arena_status(arena));
  summarize_stages(&problem, out);
  ZB_TRY_GOTO(summarize_layers(&problem, params->layout, out));
  if (!plan->inference) ZB_TRY_GOTO(summarize_reductions(&problem, zb_plan_replicas(plan), out));
  if (!plan->inference) ZB_TRY_GOTO(summarize_bound(&problem, out));
  ZB_TRY_GOTO(summarize_plan(plan, program->weights, given, out));
  ZB_TRY_GOTO(summarize_whole(program->module, out));
  ZB_TRY_GOTO(summarize_loss_mean(program->module, out));
  ZB_TRY_GOTO(take_names(mlirModuleGetOperation(program->module), ZB_ATTR_UNREACHED, arena, &out->unreached,
                         &out->unreached_count));
  if (!plan->inference) ZB_TRY_GOTO(summarize_order(&problem, out));
  status = zb_arena_status(arena);
cleanup:
  zb_module_problem_deinit(&problem);
  return status;
}
