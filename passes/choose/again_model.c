/* The model of what is computed again: see passes/choose/again_model.h. Test: test/e2e/recompute.py. */

#include "passes/choose/again_model.h"

#include "passes/choose/split_choice.h"
#include "passes/function.h"
#include "passes/stages/functions/chosen.h"
#include "passes/stages/cost.h"
#include "passes/tables.h"

#include <string.h>

/* ---- Levels ---- */

/* The mode of a layer: the first ones of its stage are computed again first. */
static zb_again mode_of(const zb_again_model *m, int level, int index, int layers) {
  const int whole = level < 2 ? 0 : (layers * (level - 1) + m->levels - 3) / (m->levels - 2);
  return level == 0 ? ZB_AGAIN_NOTHING : index < whole ? ZB_AGAIN_ALL : ZB_AGAIN_CHEAP;
}

static zb_status set_picks(zb_again_model *m, const zb_pick *picks) {
  const zb_layers *layers = &m->cut.layers;
  zb_again *modes = ZB_NEW(&m->arena, zb_again, layers->count);
  ZB_TRY(zb_arena_status(&m->arena));
  for (int i = 0, index = 0; i < layers->count; ++i) {
    const int stage = layers->stage[i];
    index = i > 0 && layers->stage[i - 1] == stage ? index + 1 : 0;
    modes[i] = mode_of(m, picks[m->stage_rank[stage]].level, index, m->layers_of[stage]);
  }
  zb_recompute_set(&m->cut, modes);
  return NULL;
}

static void count_layers(zb_again_model *m) {
  int most = 0;
  for (int i = 0; i < m->cut.layers.count; ++i) {
    const int count = ++m->layers_of[m->cut.layers.stage[i]];
    if (count > most) most = count;
  }
  m->levels = 2 + (most < ZB_LAYER_LEVELS ? most : ZB_LAYER_LEVELS);
}

/* ---- Choices ---- */

/* Of a stage has the same groups as in the program with its level on all ranks. */
static zb_status add_shares(const zb_again_model *m, const zb_pick *picks, zb_choice *out) {
  out->decided |= ZB_CHOICE_IN_B;
  for (int s = 0; s < m->stages; ++s) {
    const zb_pick *pick = &picks[m->stage_rank[s]];
    const zb_choice_items *items = &m->level[pick->level].b_items[pick->share];
    for (size_t i = 0; i < items->count; ++i)
      if (items->items[i].stage == s && !ZB_PUSH(&out->arena, &out->in_b, items->items[i]))
        return zb_arena_status(&out->arena);
  }
  return NULL;
}

static zb_status choose_again(zb_again_model *m, const zb_pick *picks, zb_choice *out) {
  ZB_TRY(zb_choice_take(out, &m->placed, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS));
  ZB_TRY(set_picks(m, picks));
  ZB_TRY(zb_recompute_choose(&m->cut));
  return zb_chosen_put_again(&m->cut, out);
}

zb_status zb_again_choice(zb_again_model *m, const zb_pick *picks, zb_choice *out) {
  zb_status status = choose_again(m, picks, out);
  if (!status && m->shares > 1) status = add_shares(m, picks, out);
  if (status) zb_choice_deinit(out);
  return status;
}

static zb_status read_groups(zb_again_model *m, const zb_judged *classified, zb_graph *graph, zb_w_groups *out) {
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  if (!zb_pass_function(classified->program.module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_graph_build(&m->arena, function, graph));
  ZB_TRY(zb_pass_costs(m->asked->pass, &costs));
  zb_status status = zb_w_groups_build(&m->arena, graph, costs, out);
  zb_costs_destroy(costs);
  return status;
}

/* ---- Shares ---- */

static void keep_share(zb_level *level, int share) {
  for (int g = 0; g < level->w.group_count; ++g)
    level->in_b[share][g] = level->w.groups[g].in_b;
}

static void set_all(zb_level *level, zb_in_b which, int share) {
  zb_w_groups_set_all(&level->w, which);
  keep_share(level, share);
}

/* Equal parts of what ranks can do without in the order of level 0, each with as little time in B as is found; of large
 * programs, whose frames take their time, fewer. */
static zb_status find_parts(zb_again_model *m, zb_level *level, zb_split_problem *split) {
  enum { WORK = 200000, NODES = 4000 };
  const int stride = 1 + level->graph.node_count / NODES;
  int64_t *least = ZB_NEW(&m->arena, int64_t, m->ranks), *most = ZB_NEW(&m->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  set_all(level, ZB_IN_B_ALL, ZB_SHARE_ALL_IN_B);
  for (int r = 0; r < m->ranks; ++r)
    least[r] = zb_split_peak(split, r);
  set_all(level, ZB_IN_B_NONE, 0);
  for (int r = 0; r < m->ranks; ++r)
    most[r] = zb_split_peak(split, r);
  for (int share = 0; share < ZB_SHARE_PARTS; ++share) {
    for (int r = 0; r < m->ranks && share % stride == 0; ++r) {
      const int64_t limit = most[r] - (most[r] - least[r]) * share / ZB_SHARE_PARTS;
      int64_t least_ps;
      ZB_TRY(zb_split_choose_rank(split, r, limit, 0, WORK, &least_ps));
    }
    keep_share(level, share);
  }
  set_all(level, ZB_IN_B_OTHERS, ZB_SHARE_PRODUCTS);
  return NULL;
}

/* ---- What stages take ---- */

/* The problem of a level with a share. */
static zb_status frame(zb_again_model *m, const zb_level *level, int share, zb_module_problem *out) {
  const zb_judged *framed;
  zb_choice choice = {0};
  zb_status status = zb_choice_take(&choice, &m->placed, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS);
  choice.decided |= ZB_CHOICE_AGAIN | (m->shares > 1 ? ZB_CHOICE_IN_B : 0U);
  choice.again = level->again;
  choice.in_b = level->b_items[share];
  if (!status) status = zb_judge_program(&m->search->judge, m->asked, &choice, ZB_JUDGED_FRAMED, &framed);
  if (!status) status = zb_module_problem_build(framed->program.module, m->asked->micro_batches, out);
  zb_choice_deinit(&choice);
  return status;
}

static zb_status keep_costs(zb_again_model *m, zb_level *level, int share, const zb_module_problem *problem) {
  level->costs[share] = ZB_NEW(&m->arena, zb_stage_cost, m->stages);
  level->base_bytes[share] = ZB_NEW(&m->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  memcpy(level->costs[share], problem->costs, (size_t)m->stages * sizeof *problem->costs);
  memcpy(level->base_bytes[share], problem->base_bytes, (size_t)m->ranks * sizeof *problem->base_bytes);
  return NULL;
}

/* The gradients of the groups that are in B, by number. */
static zb_status put_share(zb_again_model *m, zb_level *level, int share) {
  zb_choice groups = {0};
  zb_status status = zb_chosen_put_in_b(&level->w, &groups);
  for (size_t i = 0; i < groups.in_b.count && !status; ++i)
    if (!ZB_PUSH(&m->arena, &level->b_items[share], groups.in_b.items[i])) status = zb_arena_status(&m->arena);
  zb_choice_deinit(&groups);
  return status;
}

/* By a compile: those that take least, whose bytes an error names. */
static zb_status frame_share(zb_again_model *m, zb_level *level, int share) {
  zb_module_problem problem = {0};
  for (int g = 0; g < level->w.group_count; ++g)
    zb_w_group_set(&level->w, g, level->in_b[share][g]);
  ZB_TRY(put_share(m, level, share));
  zb_w_groups_set_all(&level->w, ZB_IN_B_NONE);
  zb_status status = frame(m, level, share, &problem);
  if (!status) status = keep_costs(m, level, share, &problem);
  zb_module_problem_deinit(&problem);
  return status;
}

/* A share changes what stages take by sums: the same times as its plan has, and nearly the same bytes. */
static zb_status measure_share(zb_again_model *m, zb_level *level, int share, const zb_split_problem *split) {
  zb_w_groups *w = &level->w;
  ZB_TRY(keep_costs(m, level, share, &level->problem));
  for (int r = 0; r < m->ranks; ++r)
    level->base_bytes[share][r] -= zb_split_beside(split->memory, r);
  for (int g = 0; g < w->group_count; ++g) {
    zb_w_group_set(w, g, level->in_b[share][g]);
    level->costs[share][w->groups[g].stage].b_accumulates |= level->in_b[share][g];
  }
  for (int r = 0; r < m->ranks; ++r)
    level->base_bytes[share][r] += zb_split_beside(split->memory, r);
  for (int s = 0; s < m->stages; ++s) {
    const bool accumulates = level->costs[share][s].b_accumulates;
    level->costs[share][s] = zb_split_cost(split, s);
    level->costs[share][s].b_accumulates = accumulates;
  }
  ZB_TRY(put_share(m, level, share));
  zb_w_groups_set_all(w, ZB_IN_B_NONE);
  return NULL;
}

static zb_status find_shares(zb_again_model *m, zb_level *level) {
  zb_split_memory memory;
  ZB_TRY(zb_split_memory_build(&m->arena, &level->w, &level->problem, &memory));
  zb_split_problem split = {.w = &level->w, .memory = &memory, .problem = &level->problem.problem, .order = &m->order};
  ZB_TRY(find_parts(m, level, &split));
  zb_w_groups_set_all(&level->w, ZB_IN_B_NONE);
  for (int share = 1; share < m->shares; ++share)
    ZB_TRY(share < ZB_SHARE_PRODUCTS ? measure_share(m, level, share, &split) : frame_share(m, level, share));
  return NULL;
}

/* The first order. A search stands behind rules in time and is never worse than their orders, so one of them, of those
 * that hold little, says what choices are good for it. */
static zb_status find_rule(zb_again_model *m) {
  static const char *const rules[] = {"zb-h1", "v-half", "zb-v", "interleaved-1f1b", "1f1b"};
  zb_problem *problem = &m->level[0].problem.problem;
  m->rule = *m->asked;
  for (size_t i = 0; m->searches && i < sizeof rules / sizeof rules[0]; ++i) {
    zb_status status = zb_asked_rule(m->asked, rules[i], &m->rule);
    if (!status) status = zb_order_plain(&m->rule, problem, &m->order);
    m->has_rule = !status;
    if (!status) return NULL;
    const zb_code code = zb_status_code(status);
    if (code == ZB_MEMORY) return status;
    zb_status_free(status);
  }
  m->rule = *m->asked;
  m->has_rule = !m->searches && !m->asked->is_file;
  return zb_order_plain(m->asked, problem, &m->order);
}

static zb_status keep_again(zb_again_model *m, int number, zb_choice *choice) {
  zb_pick *picks = ZB_NEW(&m->arena, zb_pick, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  for (int r = 0; r < m->ranks; ++r)
    picks[r].level = number;
  ZB_TRY(choose_again(m, picks, choice));
  for (size_t i = 0; i < choice->again.count; ++i)
    if (!ZB_PUSH(&m->arena, &m->level[number].again, choice->again.items[i])) return zb_arena_status(&m->arena);
  return NULL;
}

static zb_status build_level(zb_again_model *m, int number) {
  zb_level *level = &m->level[number];
  const zb_judged *classified;
  zb_choice choice = {0};
  zb_status status = keep_again(m, number, &choice);
  if (!status) status = zb_judge_program(&m->search->judge, m->asked, &choice, ZB_JUDGED_CLASSIFIED, &classified);
  zb_choice_deinit(&choice);
  if (!status) status = read_groups(m, classified, &level->graph, &level->w);
  ZB_TRY(status);
  for (int share = 0; share < m->shares; ++share)
    level->in_b[share] = ZB_NEW(&m->arena, bool, level->w.group_count);
  ZB_TRY(zb_arena_status(&m->arena));
  ZB_TRY(frame(m, level, 0, &level->problem));
  ZB_TRY(keep_costs(m, level, 0, &level->problem));
  if (number == 0) ZB_TRY(find_rule(m));
  return m->shares > 1 ? find_shares(m, level) : NULL;
}

/* ---- Looking ---- */

static zb_problem problem_of(zb_again_model *m, const zb_pick *picks) {
  zb_problem problem = m->level[0].problem.problem;
  for (int s = 0; s < m->stages; ++s) {
    const zb_pick *own = &picks[m->stage_rank[s]];
    m->costs[s] = m->level[own->level].costs[own->share][s];
  }
  for (int r = 0; r < m->ranks; ++r)
    m->base_bytes[r] = m->level[picks[r].level].base_bytes[picks[r].share][r] + m->besides[r];
  problem.costs = m->costs;
  problem.base_bytes = m->base_bytes;
  problem.metric = m->metric;
  m->jobs += (int64_t)m->stages * problem.micro_batches * ZB_KIND_COUNT;
  return problem;
}

static zb_status step_of(const zb_again_model *m, const zb_problem *problem, const zb_simulation *simulation,
                         int64_t *out) {
  zb_period period;
  *out = m->metric == ZB_METRIC_STAGE ? simulation->stage_ps : simulation->step_ps;
  if (m->metric != ZB_METRIC_PERIOD) return NULL;
  ZB_TRY(zb_order_period(problem, &m->order, &period));
  *out = period.period_ps;
  return NULL;
}

/* With the order at hand. */
static zb_status measure(const zb_again_model *m, const zb_problem *problem, int64_t bytes, zb_outlook *out) {
  zb_simulation simulation = {0};
  zb_status status = NULL;
  *out = (zb_outlook){0};
  ZB_TRY_GOTO(zb_simulate(problem, &m->order, &simulation));
  ZB_TRY_GOTO(step_of(m, problem, &simulation, &out->step_ps));
  for (int r = 0; r < m->ranks; ++r) {
    const int64_t peak = simulation.peak_bytes[r];
    if (peak > out->most) out->most = peak;
    if (peak > bytes) out->above += peak - bytes;
  }
cleanup:
  zb_simulation_deinit(&simulation);
  return status;
}

zb_status zb_again_look(zb_again_model *m, const zb_pick *picks, int64_t bytes, zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  if (m->has_rule) ZB_TRY(zb_order_plain(&m->rule, &problem, &m->order));
  return measure(m, &problem, bytes, out);
}

zb_status zb_again_look_within(zb_again_model *m, const zb_pick *picks, int64_t limit, double known_ps,
                               zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  zb_asked asked = *m->asked;
  zb_asked_tell(&asked, known_ps);
  problem.memory_limit_bytes = limit;
  zb_order before = m->order; /* it stands for the orders of all others */
  m->order = (zb_order){0};
  *out = (zb_outlook){.step_ps = INT64_MAX};
  zb_status status = zb_order_plain(&asked, &problem, &m->order);
  if (zb_status_code(status) == ZB_INFEASIBLE) {
    zb_status_free(status);
    status = NULL;
  } else if (!status) {
    status = measure(m, &problem, limit, out);
  }
  zb_order_deinit(&m->order);
  m->order = before;
  return status;
}

int64_t zb_again_bound(zb_again_model *m, const zb_pick *picks, int64_t limit) {
  zb_problem problem = problem_of(m, picks);
  problem.memory_limit_bytes = limit;
  return m->metric == ZB_METRIC_STAGE    ? zb_lower_bound_stage_ps(&problem)
         : m->metric == ZB_METRIC_PERIOD ? zb_lower_bound_period_ps(&problem)
                                         : zb_lower_bound_ps(&problem);
}

void zb_again_peaks(zb_again_model *m, zb_pick pick, int64_t *peak) {
  const zb_level *level = &m->level[pick.level];
  zb_problem problem = m->level[0].problem.problem;
  for (int r = 0; r < m->ranks; ++r)
    m->base_bytes[r] = level->base_bytes[pick.share][r] + m->besides[r];
  problem.costs = level->costs[pick.share];
  problem.base_bytes = m->base_bytes;
  zb_order_peaks(&problem, &m->order, peak);
}

/* ---- All ---- */

static zb_status read_program(zb_again_model *m) {
  const zb_judged *staged;
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  ZB_TRY(zb_judge_program(&m->search->judge, m->asked, m->above, ZB_JUDGED_STAGED, &staged));
  ZB_TRY(zb_choice_take(&m->placed, &staged->made, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS));
  const MlirOperation top = mlirModuleGetOperation(staged->program.module);
  m->ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 1);
  m->stage_rank = zb_stage_ranks(&m->arena, top, &m->stages);
  if (!zb_pass_function(staged->program.module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_pass_costs(m->asked->pass, &costs));
  zb_status status = zb_recompute_build(&m->arena, function, costs, &m->cut);
  zb_costs_destroy(costs);
  return status;
}

zb_status zb_again_model_init(zb_choice_search *search, const zb_asked *asked, const zb_choice *above,
                              zb_again_model *out) {
  *out = (zb_again_model){
      .search = search, .asked = asked, .above = above, .metric = asked->metric, .searches = asked->keeps_limit};
  ZB_TRY(read_program(out));
  out->shares = strcmp(asked->split, "auto") == 0 ? ZB_SHARES : 1;
  out->layers_of = ZB_NEW(&out->arena, int, out->stages);
  out->besides = ZB_NEW(&out->arena, int64_t, out->ranks);
  out->base_bytes = ZB_NEW(&out->arena, int64_t, out->ranks);
  out->costs = ZB_NEW(&out->arena, zb_stage_cost, out->stages);
  ZB_TRY(zb_arena_status(&out->arena));
  count_layers(out);
  return NULL;
}

zb_status zb_again_model_build(zb_again_model *m) {
  for (int l = 0; l < m->levels; ++l)
    ZB_TRY(build_level(m, l));
  return NULL;
}

void zb_again_model_deinit(zb_again_model *m) {
  for (int l = 0; l < m->levels; ++l)
    zb_module_problem_deinit(&m->level[l].problem);
  zb_order_deinit(&m->order);
  zb_choice_deinit(&m->placed);
  zb_arena_deinit(&m->arena);
}
