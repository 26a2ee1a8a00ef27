/* The problem of a schedule: from --costs for whatever ranks, chunks and placement it takes, or from a file. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sched/sched.h"
#include "zb/costs.h"

/* In a SPEC 1 is this long, and 1 of memory is this large: 1 ms, 1 MiB. */
static const double UNIT_PS = 1e9, UNIT_BYTES = 1048576;

/* ---- --costs ---- */

/* ROW(name, least): the keys of a SPEC. Without F and B there is no pipeline; w=0 is a model whose backwards are all B,
 * mem=0 one whose memory does not count. */
#define COST_KEYS(ROW)                                                                                                 \
  ROW(f, TIME_MIN) ROW(b, TIME_MIN) ROW(w, 0) ROW(comm, 0) ROW(opt, 0) ROW(mem, 0) ROW(mem_w, 0) ROW(base, 0)
static const double TIME_MIN = 1e-9; /* ms: a picosecond, below which all times are 0 */

static const struct {
  const char *name;
  size_t offset;
  double least;
} cost_keys[] = {
#define ROW(name, least) {#name, offsetof(sched_costs, name), least},
    COST_KEYS(ROW)
#undef ROW
};
enum { COST_KEY_COUNT = sizeof cost_keys / sizeof *cost_keys };

static zb_status wrong_cost(const char *text, size_t length) {
  static const char names[] = "names are f, b, w, comm, opt, mem, mem_w and base: zb-sched --help";
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  if (text[length] != '=')
    return zb_status_hint(ZB_ERROR(USAGE, "--costs: expected name=number, got '%s'", word), "%s", names);
  const char *meaning = zb_name_meaning("cost", word);
  return zb_status_hint(ZB_ERROR(USAGE, "--costs: unknown name '%s'", word), "%s", meaning ? meaning : names);
}

zb_status sched_parse_costs(const char *text, sched_costs *out) {
  unsigned given = 0;
  bool given_mem_w = false;
  *out = (sched_costs){.f = 1, .b = 1, .w = 1, .mem = 1, .mem_w = 1};
  while (text && *text) {
    const size_t length = strcspn(text, "=,");
    int key = 0;
    while (key < COST_KEY_COUNT &&
           (strlen(cost_keys[key].name) != length || strncmp(cost_keys[key].name, text, length) != 0))
      ++key;
    if (key == COST_KEY_COUNT || text[length] != '=') return wrong_cost(text, length);
    if (given & 1U << key) return ZB_ERROR(USAGE, "--costs: %s is given twice", cost_keys[key].name);
    given |= 1U << key;
    char *end;
    const char *number = text + length + 1;
    const double value = strtod(number, &end);
    const bool plain = (*number >= '0' && *number <= '9') || *number == '.'; /* no blanks, no names of infinity */
    if (!plain || end == number || (*end && *end != ',') || !(value >= cost_keys[key].least && value <= 1e9))
      return sched_see_help(ZB_ERROR(USAGE, "--costs: %s: expected a number of %g to 1e9, got '%.*s'",
                                     cost_keys[key].name, cost_keys[key].least, (int)strcspn(number, ","), number));
    memcpy((char *)out + cost_keys[key].offset, &value, sizeof value);
    given_mem_w |= cost_keys[key].offset == offsetof(sched_costs, mem_w);
    if (*end == ',' && !end[1]) return ZB_ERROR(USAGE, "--costs: expected name=number after the last comma");
    text = *end ? end + 1 : end;
  }
  if (!given_mem_w) out->mem_w = out->mem;
  if (out->mem_w > out->mem)
    return ZB_ERROR(USAGE, "--costs: mem_w: expected at most mem (%g), got %g", out->mem, out->mem_w);
  return NULL;
}

/* ---- Files ---- */

bool sched_costs_is_file(const char *text) {
  const size_t length = strlen(text);
  return !strchr(text, '=') || (length > 5 && !strcmp(text + length - 5, ".json"));
}

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
  return sched_parse_costs(s->costs, &out->costs);
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

/* ---- Uniform stages ---- */

static void fill_uniform(const sched_costs *c, int share, int copies, zb_problem_data *out) {
  const zb_problem *p = &out->problem;
  const int64_t keep = llround(c->mem * UNIT_BYTES / share), keep_w = llround(c->mem_w * UNIT_BYTES / share);
  const zb_stage_cost cost = {
      .time_ps = {llround(c->f * UNIT_PS / share), llround(c->b * UNIT_PS / share), llround(c->w * UNIT_PS / share)},
      .keep_bytes = {keep, 0, 0},
      .free_bytes = {0, keep - keep_w, keep_w}};
  for (int stage = 0; stage < p->stages; ++stage)
    out->costs[stage] = cost;
  for (int rank = 0; rank < p->ranks; ++rank) {
    out->base_bytes[rank] = copies * llround(c->base * UNIT_BYTES);
    out->optimizer_ps[rank] = llround(c->opt * UNIT_PS);
  }
  out->problem.link_latency_ps = llround(c->comm * UNIT_PS);
}

static zb_status check_even(const char *name, int micro_batches) {
  if (micro_batches % 2 == 0) return NULL;
  return ZB_ERROR(USAGE, "%s runs half of the micro-batches in each direction: expected an even number, got %d", name,
                  micro_batches);
}

/* Two pipelines in opposite directions, each with half of the micro-batches: stages 0..P-1 down the ranks, their copies
 * P..2P-1 up. The parameters are there twice. */
static zb_status make_two_pipelines(const sched_source *source, int ranks, int micro_batches, const char *name,
                                    zb_problem_data *out) {
  ZB_TRY(check_even(name, micro_batches));
  ZB_TRY(zb_problem_data_init(out, ranks, 2, micro_batches / 2));
  ZB_TRY(zb_placement("v", ranks, 2, out->stage_rank));
  ZB_TRY(zb_problem_data_edges(out, 2 * (ranks - 1)));
  for (int i = 0; i < ranks - 1; ++i) {
    out->edges[i] = (zb_edge){i, i + 1, 1, 1};
    out->edges[ranks - 1 + i] = (zb_edge){ranks + i, ranks + i + 1, 1, 1};
  }
  fill_uniform(&source->costs, 1, 2, out);
  return NULL;
}

/* ---- Limit and metric ---- */

/* Bytes that one micro-batch keeps on a rank after its F: the largest of all ranks. */
static int64_t micro_batch_bytes(const zb_problem *p, bool two_pipelines, int64_t *of_rank) {
  int64_t most = 0;
  for (int stage = 0; stage < p->stages; ++stage) {
    int64_t *bytes = &of_rank[p->stage_rank[stage]];
    *bytes += p->costs[stage].keep_bytes[ZB_F] - p->costs[stage].free_bytes[ZB_F];
    if (*bytes > most) most = *bytes;
  }
  return two_pipelines ? most / 2 : most;
}

/* 1.25p: in addition to what is always there, 1.25 times the ranks times what a micro-batch keeps. */
static zb_status limit_in_p(double value, bool two_pipelines, zb_problem_data *data) {
  ZB_TRY(zb_problem_data_limits(data));
  const zb_problem *p = &data->problem;
  const int64_t each = micro_batch_bytes(p, two_pipelines, data->rank_limit_bytes);
  const double bytes = value * p->ranks * (double)each;
  if (!(bytes >= 1 && bytes < 4e18))
    return ZB_ERROR(USAGE, "--memory-limit: %gp are %g bytes here: expected 1 to 4e18", value, bytes);
  for (int rank = 0; rank < p->ranks; ++rank)
    data->rank_limit_bytes[rank] = data->base_bytes[rank] + llround(bytes);
  return NULL;
}

static zb_status set_limit(const char *text, bool two_pipelines, zb_problem_data *data) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  const bool bad = end == text || errno || !isfinite(value) || !(value > 0) || !isdigit((unsigned char)*text);
  if (!bad && !strcmp(end, "p")) return limit_in_p(value, two_pipelines, data);
  uint64_t bytes = 0;
  if (!zb_bytes_parse(text, &bytes))
    return sched_see_help(
        ZB_ERROR(USAGE, "--memory-limit: expected bytes like 800, 64M or 1.5G, or 1.25p, got '%s'", text));
  zb_free(data->rank_limit_bytes);
  data->problem.rank_limit_bytes = data->rank_limit_bytes = NULL;
  data->problem.memory_limit_bytes = (int64_t)bytes;
  return NULL;
}

static zb_status set_rest(const sched_settings *s, bool two_pipelines, zb_problem_data *data) {
  if (s->metric) ZB_TRY(zb_metric_parse(s->metric, &data->problem.metric));
  return s->memory_limit ? set_limit(s->memory_limit, two_pipelines, data) : NULL;
}

/* ---- The problem of a schedule or of an order ---- */

const char *sched_placement_name(const zb_problem *p) {
  const int chunks = p->stages / p->ranks;
  for (int i = 0; i < zb_placement_count(); ++i) {
    const zb_placement_def *def = zb_placement_at(i);
    int stage = chunks >= def->chunks_min && chunks <= def->chunks_max ? 0 : -1;
    while (stage >= 0 && stage < p->stages && def->rank(p->ranks, stage) == p->stage_rank[stage])
      ++stage;
    if (stage == p->stages) return def->name;
  }
  return "given";
}

/* *name: of the placement, where one is named. */
static zb_status make(const sched_settings *s, const sched_source *source, const zb_schedule_def *schedule,
                      zb_problem_data *out, const char **name) {
  const bool two_pipelines = schedule && schedule->two_pipelines;
  if (source->file) {
    ZB_TRY(zb_problem_data_copy(out, &source->data.problem));
    if (s->micro_batches && two_pipelines) ZB_TRY(check_even(schedule->name, s->micro_batches));
    if (s->micro_batches) out->problem.micro_batches = s->micro_batches / (two_pipelines ? 2 : 1);
    const int chunks = out->problem.stages / out->problem.ranks;
    return s->placement ? zb_placement(s->placement, out->problem.ranks, chunks, out->stage_rank) : NULL;
  }
  const char *placement = s->placement;
  int chunks = s->chunks;
  if (schedule) ZB_TRY(zb_schedule_layout(schedule, s->ranks, &placement, &chunks));
  if (two_pipelines) {
    if (strcmp(placement, schedule->placement) != 0)
      return ZB_ERROR(USAGE, "%s is defined for placement %s only, got '%s'", schedule->name, schedule->placement,
                      placement);
    return make_two_pipelines(source, s->ranks, s->micro_batches, schedule->name, out);
  }
  if (!chunks) chunks = 1;
  if (placement && chunks > 1 && !isdigit((unsigned char)*placement)) *name = placement; /* one chunk: all are plain */
  ZB_TRY(zb_problem_data_init(out, s->ranks, chunks, s->micro_batches));
  if (placement) ZB_TRY(zb_placement(placement, s->ranks, chunks, out->stage_rank));
  fill_uniform(&source->costs, chunks, 1, out);
  return NULL;
}

zb_status sched_make_problem(const sched_settings *s, const sched_source *source, const zb_schedule_def *schedule,
                             sched_case *c) {
  const bool two_pipelines = schedule && schedule->two_pipelines;
  const char *name = NULL;
  c->placement_open = !source->file && !s->placement;
  ZB_TRY(make(s, source, schedule, &c->data, &name));
  c->micro_batches = c->data.problem.micro_batches * (two_pipelines ? 2 : 1);
  c->placement = name ? name : sched_placement_name(&c->data.problem);
  return set_rest(s, two_pipelines, &c->data);
}

static zb_status make_for_order(const sched_source *source, const zb_order_file *file, zb_problem_data *out) {
  if (source->file) {
    ZB_TRY(zb_problem_data_copy(out, &source->data.problem));
    out->problem.micro_batches = file->micro_batches;
    return NULL;
  }
  const int chunks = file->stages / file->order.ranks;
  ZB_TRY(zb_problem_data_init(out, file->order.ranks, chunks, file->micro_batches));
  memcpy(out->stage_rank, file->stage_rank, (size_t)file->stages * sizeof *file->stage_rank);
  fill_uniform(&source->costs, chunks, 1, out);
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
  ZB_TRY(zb_order_read_file(s->order, &expected, &file));
  zb_status status = make_for_order(source, &file, &c->data);
  c->order = file.order;
  file.order = (zb_order){0};
  c->micro_batches = file.micro_batches;
  c->renumbered = file.file_micro_batch != NULL;
  zb_order_file_deinit(&file);
  if (status) return status;
  c->placement = sched_placement_name(&c->data.problem);
  if (c->data.problem.whole_backward) c->order.whole_backward = true; /* then each W must follow its B */
  ZB_TRY(set_rest(s, false, &c->data));
  return zb_order_validate(&c->data.problem, &c->order);
}
