/* The model of picks: see passes/choose/pick_model.h. Tests: test/e2e/recompute.py, test/e2e/split.py. */

#include "passes/choose/pick_model.h"

#include "passes/function.h"
#include "passes/stages/cost.h"
#include "passes/tables.h"

#include <math.h>
#include <string.h>

/* ---- What is computed again ---- */

/* The mode of a layer: the first ones of its stage are computed again first. */
static zb_again mode_of(const zb_pick_model *m, int level, int index, int layers) {
  const int whole = level < 2 ? 0 : (layers * (level - 1) + m->levels - 3) / (m->levels - 2);
  return level == 0 ? ZB_AGAIN_NOTHING : index < whole ? ZB_AGAIN_ALL : ZB_AGAIN_CHEAP;
}

static zb_status set_picks(zb_pick_model *m, const zb_pick *picks) {
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

static void count_layers(zb_pick_model *m) {
  int most = 0;
  for (int i = 0; i < m->cut.layers.count; ++i) {
    const int count = ++m->layers_of[m->cut.layers.stage[i]];
    if (count > most) most = count;
  }
  m->levels = 2 + (most < ZB_LAYER_LEVELS ? most : ZB_LAYER_LEVELS);
}

/* ---- Choices ---- */

/* Of a stage has the same groups as in the program with its level on all ranks. */
static zb_status add_shares(const zb_pick_model *m, const zb_pick *picks, zb_choice *out) {
  out->decided |= ZB_CHOICE_IN_B;
  for (int s = 0; s < m->stages; ++s) {
    const zb_pick pick = picks[m->stage_rank[s]];
    const zb_level *level = &m->level[pick.level];
    for (int i = 0; i < level->gradient_count; ++i) {
      const zb_w_gradient *it = &level->gradients[i];
      if (it->stage == s && zb_picked_share(m, pick)->in_b[it->group])
        ZB_TRY(zb_choice_add(out, &out->in_b, i, -1, s, it->parameter));
    }
  }
  return NULL;
}

static zb_status choose_again(zb_pick_model *m, const zb_pick *picks, zb_choice *out) {
  ZB_TRY(zb_choice_take(out, &m->placed, ZB_CHOICE_ALL));
  if (!m->chooses_again) return NULL;
  ZB_TRY(set_picks(m, picks));
  ZB_TRY(zb_recompute_choose(&m->cut));
  return zb_chosen_put_again(&m->cut, out);
}

zb_status zb_picks_choice(zb_pick_model *m, const zb_pick *picks, zb_choice *out) {
  zb_status status = choose_again(m, picks, out);
  if (!status && m->chooses_in_b) status = add_shares(m, picks, out);
  if (status) zb_choice_deinit(out);
  return status;
}

/* ---- What stages take ---- */

static zb_split_problem split_of(zb_pick_model *m, zb_level *level) {
  return (zb_split_problem){
      .w = &level->w, .memory = &level->memory, .problem = &level->problem.problem, .order = &m->order};
}

/* The problem of a level with the groups as they stand. */
static zb_status frame(zb_pick_model *m, const zb_level *level, zb_module_problem *out) {
  const zb_judged *framed;
  zb_choice choice = {0};
  zb_status status = zb_choice_take(&choice, &m->placed, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS);
  choice.decided |= ZB_CHOICE_AGAIN;
  choice.again = level->again;
  if (!status && m->chooses_in_b) status = zb_chosen_put_in_b(&level->w, &choice);
  if (!status) status = zb_judge_program(&m->search->judge, m->asked, &choice, ZB_JUDGED_FRAMED, &framed);
  if (!status) status = zb_module_problem_build(framed->program.module, m->asked->micro_batches, out);
  zb_choice_deinit(&choice);
  return status;
}

/* What a problem says. */
static zb_status copy_costs(zb_pick_model *m, const zb_module_problem *problem, zb_share *out) {
  out->costs = ZB_NEW(&m->arena, zb_stage_cost, m->stages);
  out->base_bytes = ZB_NEW(&m->arena, int64_t, m->ranks);
  out->peak = ZB_NEW(&m->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  memcpy(out->costs, problem->costs, (size_t)m->stages * sizeof *problem->costs);
  memcpy(out->base_bytes, problem->base_bytes, (size_t)m->ranks * sizeof *problem->base_bytes);
  return NULL;
}

/* By a compile: the first, whose problem stays, and those that take least, whose bytes an error names. */
static zb_status frame_share(zb_pick_model *m, zb_level *level, zb_share *out) {
  zb_module_problem problem = {0};
  zb_status status = frame(m, level, level->shares.count ? &problem : &level->problem);
  if (!status) status = copy_costs(m, level->shares.count ? &problem : &level->problem, out);
  zb_module_problem_deinit(&problem);
  return status;
}

/* A share changes what stages take by sums: the same times as its plan has, and nearly the same bytes. */
static zb_status sum_share(zb_pick_model *m, zb_level *level, zb_share *out) {
  const zb_split_problem split = split_of(m, level);
  zb_w_groups *w = &level->w;
  ZB_TRY(copy_costs(m, &level->problem, out));
  for (int r = 0; r < m->ranks; ++r)
    out->base_bytes[r] += zb_split_beside(&level->memory, r) - level->beside[r];
  for (int s = 0; s < m->stages; ++s)
    out->costs[s] = zb_split_cost(&split, s);
  for (int g = 0; g < w->group_count; ++g)
    out->costs[w->groups[g].stage].b_accumulates |= w->groups[g].in_b;
  return NULL;
}

/* Messages that lie beside the frames while B runs. */
static void add_messages(const zb_level *level, int stages, zb_share *share) {
  for (int s = 0; s < stages; ++s) {
    const int64_t bytes = zb_split_messages(&level->memory, s);
    share->costs[s].keep_bytes[ZB_B] += bytes;
    share->costs[s].free_bytes[ZB_B] += bytes;
  }
}

/* ---- Shares ---- */

/* On a rank; -1: on all. */
static bool is_share(const zb_pick_model *m, const zb_level *level, const zb_share *share, int rank) {
  for (int g = 0; g < level->w.group_count; ++g) {
    const zb_w_group *group = &level->w.groups[g];
    if ((rank < 0 || m->stage_rank[group->stage] == rank) && share->in_b[g] != group->in_b) return false;
  }
  return true;
}

/* Of the groups as they stand, by a compile or by sums. */
static zb_status add_share(zb_pick_model *m, zb_level *level, bool by_compile) {
  zb_share made = {.in_b = ZB_NEW(&m->arena, bool, level->w.group_count)};
  ZB_TRY(zb_arena_status(&m->arena));
  for (int g = 0; g < level->w.group_count; ++g)
    made.in_b[g] = level->w.groups[g].in_b;
  ZB_TRY(by_compile ? frame_share(m, level, &made) : sum_share(m, level, &made));
  if (level->shares.count) add_messages(level, m->stages, &made);
  (void)ZB_PUSH(&m->arena, &level->shares, made);
  return zb_arena_status(&m->arena);
}

/* That of the groups of a rank (-1: of all) as they stand, by a compile or by sums; made where there is none. */
static zb_status find_share(zb_pick_model *m, zb_level *level, int rank, bool by_compile, int *out) {
  for (*out = 0; *out < (int)level->shares.count; ++*out)
    if (is_share(m, level, &level->shares.items[*out], rank)) return NULL;
  return add_share(m, level, by_compile);
}

/* Equal parts of what ranks can do without in the order of level 0, each with as little time in B as is found; of large
 * programs, whose frames take their time, fewer. */
static zb_status find_parts(zb_pick_model *m, zb_level *level) {
  enum { PARTS = 16, WORK = 200000, NODES = 4000 };
  const int stride = 1 + level->graph.node_count / NODES;
  zb_split_problem split = split_of(m, level);
  int64_t *least = ZB_NEW(&m->arena, int64_t, m->ranks), *most = ZB_NEW(&m->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  zb_w_groups_set_all(&level->w, ZB_IN_B_ALL);
  for (int r = 0; r < m->ranks; ++r)
    least[r] = zb_split_peak(&split, r);
  zb_w_groups_set_all(&level->w, ZB_IN_B_NONE);
  for (int r = 0; r < m->ranks; ++r)
    most[r] = zb_split_peak(&split, r);
  for (int part = stride; part < PARTS; part += stride) {
    int64_t least_ps;
    int share;
    for (int r = 0; r < m->ranks; ++r)
      ZB_TRY(zb_split_choose_rank(&split, r, most[r] - (most[r] - least[r]) * part / PARTS, 0, WORK, &least_ps));
    ZB_TRY(find_share(m, level, -1, false, &share));
  }
  return NULL;
}

/* Nothing in B, what is no product of matrices, everything; then parts. */
static zb_status find_shares(zb_pick_model *m, zb_level *level) {
  ZB_TRY(zb_split_memory_build(&m->arena, &level->w, &level->problem, &level->memory));
  for (int r = 0; r < m->ranks; ++r)
    level->beside[r] = zb_split_beside(&level->memory, r);
  add_messages(level, m->stages, &level->shares.items[0]);
  for (int which = ZB_IN_B_OTHERS; which <= ZB_IN_B_ALL; ++which) {
    zb_w_groups_set_all(&level->w, (zb_in_b)which);
    ZB_TRY(find_share(m, level, -1, true, &level->plain[which]));
  }
  return find_parts(m, level);
}

/* ---- Levels ---- */

/* The first order. A search stands behind rules in time and is never worse than their orders, so one of them, of those
 * that hold little, says what choices are good for it. */
static zb_status find_rule(zb_pick_model *m) {
  static const char *const rules[] = {"zb-h1", "v-half", "zb-v", "interleaved-1f1b", "1f1b"};
  zb_problem *problem = &m->level[0].problem.problem;
  m->rule = *m->asked;
  for (size_t i = 0; m->keeps_limit && i < sizeof rules / sizeof rules[0]; ++i) {
    zb_status status = zb_asked_rule(m->asked, rules[i], &m->rule);
    if (!status) status = zb_order_plain(&m->rule, problem, &m->order);
    m->has_rule = !status;
    if (!status) return NULL;
    const zb_code code = zb_status_code(status);
    if (code == ZB_MEMORY) return status;
    zb_status_free(status);
  }
  m->rule = *m->asked;
  m->has_rule = !m->keeps_limit && !m->asked->is_file;
  return zb_order_plain(m->asked, problem, &m->order);
}

static zb_status keep_again(zb_pick_model *m, int number, zb_choice *choice) {
  zb_pick *picks = ZB_NEW(&m->arena, zb_pick, m->ranks);
  ZB_TRY(zb_arena_status(&m->arena));
  for (int r = 0; r < m->ranks; ++r)
    picks[r].level = number;
  ZB_TRY(choose_again(m, picks, choice));
  for (size_t i = 0; i < choice->again.count; ++i)
    if (!ZB_PUSH(&m->arena, &m->level[number].again, choice->again.items[i])) return zb_arena_status(&m->arena);
  return NULL;
}

/* What the judge has lent is gone afterwards. */
static zb_status read_groups(zb_pick_model *m, const zb_judged *classified, zb_level *level) {
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  if (!zb_pass_function(classified->program.module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_graph_build(&m->arena, function, &level->graph));
  ZB_TRY(zb_pass_costs(m->asked->pass, &costs));
  zb_status status = zb_w_groups_build(&m->arena, &level->graph, costs, &level->w);
  zb_costs_destroy(costs);
  level->gradients = zb_chosen_gradients(&level->w, &m->arena, &level->gradient_count);
  level->beside = ZB_NEW(&m->arena, int64_t, m->ranks);
  return status ? status : zb_arena_status(&m->arena);
}

static zb_status build_level(zb_pick_model *m, int number) {
  zb_level *level = &m->level[number];
  const zb_judged *classified;
  zb_choice choice = {0};
  zb_status status = keep_again(m, number, &choice);
  if (!status) status = zb_judge_program(&m->search->judge, m->asked, &choice, ZB_JUDGED_CLASSIFIED, &classified);
  zb_choice_deinit(&choice);
  if (!status) status = read_groups(m, classified, level);
  if (!status) status = add_share(m, level, true);
  ZB_TRY(status);
  if (number == 0) zb_find_waits(&level->problem.problem, m->waits);
  if (number == 0) ZB_TRY(find_rule(m));
  return m->chooses_in_b ? find_shares(m, level) : NULL;
}

/* ---- Looking ---- */

static zb_problem problem_of(zb_pick_model *m, const zb_pick *picks) {
  zb_problem problem = m->level[0].problem.problem;
  for (int s = 0; s < m->stages; ++s)
    m->costs[s] = zb_picked_share(m, picks[m->stage_rank[s]])->costs[s];
  for (int r = 0; r < m->ranks; ++r)
    m->base_bytes[r] = zb_picked_share(m, picks[r])->base_bytes[r] + m->besides[r];
  problem.costs = m->costs;
  problem.base_bytes = m->base_bytes;
  problem.metric = m->metric;
  m->jobs += (int64_t)m->stages * problem.micro_batches * ZB_KIND_COUNT;
  return problem;
}

static zb_status step_of(const zb_pick_model *m, const zb_problem *problem, const zb_simulation *simulation,
                         int64_t *out) {
  zb_period period;
  *out = m->metric == ZB_METRIC_STAGE ? simulation->stage_ps : simulation->step_ps;
  if (m->metric != ZB_METRIC_PERIOD) return NULL;
  ZB_TRY(zb_order_period(problem, &m->order, &period));
  *out = period.period_ps;
  return NULL;
}

/* With the order at hand. */
static zb_status measure(const zb_pick_model *m, zb_problem *problem, int64_t bytes, zb_outlook *out) {
  zb_simulation simulation = {0};
  zb_status status = NULL;
  *out = (zb_outlook){0};
  if (m->metric != ZB_METRIC_STAGE) zb_add_waits(m->waits, problem, m->costs);
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

zb_status zb_picks_look(zb_pick_model *m, const zb_pick *picks, int64_t bytes, zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  if (m->has_rule) ZB_TRY(zb_order_plain(&m->rule, &problem, &m->order));
  return measure(m, &problem, bytes, out);
}

/* The order that the schedule finds within the limit (0: none), in the place of that at hand. *out: there is one. */
static zb_status order_within(zb_pick_model *m, zb_problem *problem, int64_t limit, double known_ps, bool *out) {
  zb_asked asked = *m->asked;
  zb_asked_tell(&asked, known_ps);
  problem->memory_limit_bytes = limit;
  m->order = (zb_order){0};
  zb_status status = zb_order_plain(&asked, problem, &m->order);
  *out = !status;
  if (zb_status_code(status) != ZB_INFEASIBLE) return status;
  zb_status_free(status);
  return NULL;
}

zb_status zb_picks_look_within(zb_pick_model *m, const zb_pick *picks, int64_t limit, double known_ps,
                               zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  const zb_order before = m->order; /* it stands for the orders of all others */
  bool found;
  *out = (zb_outlook){.step_ps = INT64_MAX};
  zb_status status = order_within(m, &problem, limit, known_ps, &found);
  if (!status && found) status = measure(m, &problem, limit, out);
  zb_order_deinit(&m->order);
  m->order = before;
  return status;
}

zb_status zb_picks_fit_within(zb_pick_model *m, int64_t limit, const int64_t *bytes, zb_pick *picks, bool *out) {
  zb_problem problem = problem_of(m, picks);
  const zb_order before = m->order;
  zb_status status = order_within(m, &problem, limit, INFINITY, out);
  if (!status && *out) status = zb_picks_fit(m, bytes, picks);
  zb_order_deinit(&m->order);
  m->order = before;
  return status;
}

int64_t zb_picks_bound(zb_pick_model *m, const zb_pick *picks, int64_t limit) {
  zb_problem problem = problem_of(m, picks);
  problem.memory_limit_bytes = limit;
  return m->metric == ZB_METRIC_STAGE    ? zb_lower_bound_stage_ps(&problem)
         : m->metric == ZB_METRIC_PERIOD ? zb_lower_bound_period_ps(&problem)
                                         : zb_lower_bound_ps(&problem);
}

void zb_picks_peaks(zb_pick_model *m, const zb_pick *picks, int64_t *peak) {
  const zb_problem problem = problem_of(m, picks);
  zb_order_peaks(&problem, &m->order, peak);
}

/* ---- Fitting ---- */

/* The sums of the share count less than plans take: the rest is as of the pick before. */
static zb_status fit_rank(zb_pick_model *m, int rank, int64_t bytes, int64_t peak, zb_pick *pick) {
  enum { FIT_WORK = 50000 };
  zb_level *level = &m->level[pick->level];
  const zb_share *share = zb_picked_share(m, *pick);
  zb_split_problem split = split_of(m, level);
  int64_t least_ps;
  for (int g = 0; g < level->w.group_count; ++g)
    zb_w_group_set(&level->w, g, share->in_b[g]);
  const int64_t beside = peak - zb_split_peak(&split, rank);
  ZB_TRY(zb_split_choose_rank(&split, rank, bytes - beside, 0, FIT_WORK, &least_ps));
  return find_share(m, level, rank, false, &pick->share);
}

zb_status zb_picks_of_groups(zb_pick_model *m, int rank, zb_pick *out) {
  *out = (zb_pick){0};
  return find_share(m, &m->level[0], rank, false, &out->share);
}

zb_status zb_picks_fit(zb_pick_model *m, const int64_t *bytes, zb_pick *picks) {
  zb_arena arena = {0};
  int64_t *peak = ZB_NEW(&arena, int64_t, m->ranks);
  zb_status status = zb_arena_status(&arena);
  if (!status) zb_picks_peaks(m, picks, peak);
  for (int r = 0; r < m->ranks && !status; ++r)
    status = fit_rank(m, r, bytes[r], peak[r], &picks[r]);
  if (!status) zb_picks_peaks(m, picks, peak);
  for (int r = 0; r < m->ranks && !status; ++r) {
    int64_t *own = &zb_picked_share(m, picks[r])->peak[r];
    if (!*own) *own = peak[r];
  }
  zb_arena_deinit(&arena);
  return status;
}

/* ---- All ---- */

/* What is not to choose is as decided, or as the option says. */
static zb_status read_program(zb_pick_model *m) {
  const zb_judged *judged;
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  const zb_judged_level level = m->chooses_again ? ZB_JUDGED_STAGED : ZB_JUDGED_CLASSIFIED;
  ZB_TRY(zb_judge_program(&m->search->judge, m->asked, m->above, level, &judged));
  ZB_TRY(zb_choice_take(&m->placed, &judged->made, ZB_CHOICE_ALL));
  const MlirOperation top = mlirModuleGetOperation(judged->program.module);
  m->ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 1);
  m->stage_rank = zb_stage_ranks(&m->arena, top, &m->stages);
  m->levels = 1;
  if (!m->chooses_again) return NULL;
  if (!zb_pass_function(judged->program.module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_pass_costs(m->asked->pass, &costs));
  zb_status status = zb_recompute_build(&m->arena, function, costs, &m->cut);
  zb_costs_destroy(costs);
  return status;
}

zb_status zb_pick_model_init(zb_choice_search *search, const zb_asked *asked, const zb_choice *above,
                             zb_pick_model *out) {
  *out = (zb_pick_model){
      .search = search, .asked = asked, .above = above, .metric = asked->metric, .keeps_limit = asked->keeps_limit};
  out->chooses_again = strcmp(asked->recompute, "auto") == 0 && !(above->decided & ZB_CHOICE_AGAIN);
  out->chooses_in_b = strcmp(asked->split, "auto") == 0;
  ZB_TRY(read_program(out));
  out->layers_of = ZB_NEW(&out->arena, int, out->stages);
  out->besides = ZB_NEW(&out->arena, int64_t, out->ranks);
  out->base_bytes = ZB_NEW(&out->arena, int64_t, out->ranks);
  out->costs = ZB_NEW(&out->arena, zb_stage_cost, out->stages);
  out->waits = ZB_NEW(&out->arena, zb_job_waits, out->stages);
  ZB_TRY(zb_arena_status(&out->arena));
  if (out->chooses_again) count_layers(out);
  return NULL;
}

zb_status zb_pick_model_build(zb_pick_model *m) {
  for (int l = 0; l < m->levels; ++l)
    ZB_TRY(build_level(m, l));
  return NULL;
}

void zb_pick_model_deinit(zb_pick_model *m) {
  for (int l = 0; l < m->levels; ++l)
    zb_module_problem_deinit(&m->level[l].problem);
  zb_order_deinit(&m->order);
  zb_choice_deinit(&m->placed);
  zb_arena_deinit(&m->arena);
}
