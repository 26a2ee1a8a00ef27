/* Problems of pipelines whose stages are all alike, from a few numbers; what zb-sched's --costs and --memory-limit are.
 * Tests: test/passes/schedule/uniform_test.c, test/tools/zb-sched*. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zb/schedule.h"

/* 1 is this long, and 1 of memory is this large: 1 ms, 1 MiB. */
static const double UNIT_PS = 1e9, UNIT_BYTES = 1048576;

/* ROW(name, least): the keys. Without F and B there is no pipeline; w=0 is a model whose backwards are all B,
 * mem=0 one whose memory does not count. */
#define COST_KEYS(ROW)                                                                                                 \
  ROW(f, TIME_MIN) ROW(b, TIME_MIN) ROW(w, 0) ROW(comm, 0) ROW(opt, 0) ROW(mem, 0) ROW(mem_w, 0) ROW(base, 0)
static const double TIME_MIN = 1e-9; /* ms: a picosecond, below which all times are 0 */

static const struct {
  const char *name;
  size_t offset;
  double least;
} cost_keys[] = {
#define ROW(name, least) {#name, offsetof(zb_uniform_costs, name), least},
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

zb_status zb_uniform_costs_parse(const char *text, zb_uniform_costs *out) {
  unsigned given = 0;
  bool given_mem_w = false;
  *out = (zb_uniform_costs){.f = 1, .b = 1, .w = 1, .mem = 1, .mem_w = 1};
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
      return ZB_ERROR(USAGE, "--costs: %s: expected a number of %g to 1e9, got '%.*s'", cost_keys[key].name,
                      cost_keys[key].least, (int)strcspn(number, ","), number);
    memcpy((char *)out + cost_keys[key].offset, &value, sizeof value);
    given_mem_w |= cost_keys[key].offset == offsetof(zb_uniform_costs, mem_w);
    if (*end == ',' && !end[1]) return ZB_ERROR(USAGE, "--costs: expected name=number after the last comma");
    text = *end ? end + 1 : end;
  }
  if (!given_mem_w) out->mem_w = out->mem;
  if (out->mem_w > out->mem)
    return ZB_ERROR(USAGE, "--costs: mem_w: expected at most mem (%g), got %g", out->mem, out->mem_w);
  return NULL;
}

/* ---- Uniform stages ---- */

static void fill_uniform(const zb_uniform_costs *c, int share, int copies, zb_problem_data *out) {
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
static zb_status make_two_pipelines(const zb_uniform_costs *costs, int ranks, int micro_batches, const char *name,
                                    zb_problem_data *out) {
  ZB_TRY(check_even(name, micro_batches));
  ZB_TRY(zb_problem_data_init(out, ranks, 2, micro_batches / 2));
  zb_status status = zb_placement("v", ranks, 2, out->stage_rank);
  if (!status) status = zb_problem_data_edges(out, 2 * (ranks - 1));
  if (status) {
    zb_problem_data_deinit(out);
    return status;
  }
  for (int i = 0; i < ranks - 1; ++i) {
    out->edges[i] = (zb_edge){i, i + 1, 1, 1};
    out->edges[ranks - 1 + i] = (zb_edge){ranks + i, ranks + i + 1, 1, 1};
  }
  fill_uniform(costs, 1, 2, out);
  return NULL;
}

const char *zb_placement_name(const zb_problem *p) {
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

zb_status zb_problem_uniform(const zb_uniform_costs *costs, const zb_schedule_def *schedule, int ranks,
                             int micro_batches, const char **placement, int *chunks, zb_problem_data *out) {
  if (schedule) ZB_TRY(zb_schedule_place(schedule, ranks, placement, chunks));
  if (schedule && schedule->two_pipelines) {
    if (strcmp(*placement, schedule->placement) != 0)
      return ZB_ERROR(USAGE, "%s is defined for placement %s only, got '%s'", schedule->name, schedule->placement,
                      *placement);
    return make_two_pipelines(costs, ranks, micro_batches, schedule->name, out);
  }
  if (!*chunks) *chunks = 1;
  ZB_TRY(zb_problem_data_init(out, ranks, *chunks, micro_batches));
  zb_status status = *placement ? zb_placement(*placement, ranks, *chunks, out->stage_rank) : NULL;
  if (status) zb_problem_data_deinit(out);
  if (!status) fill_uniform(costs, *chunks, 1, out);
  return status;
}

zb_status zb_problem_set_micro_batches(zb_problem_data *data, const zb_schedule_def *schedule, int micro_batches) {
  const bool two_pipelines = schedule && schedule->two_pipelines;
  if (two_pipelines) ZB_TRY(check_even(schedule->name, micro_batches));
  data->problem.micro_batches = micro_batches / (two_pipelines ? 2 : 1);
  return NULL;
}

/* ---- Limits ---- */

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

zb_status zb_problem_limit(zb_problem_data *data, const char *text, bool two_pipelines) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  const bool bad = end == text || errno || !isfinite(value) || !(value > 0) || !isdigit((unsigned char)*text);
  if (!bad && !strcmp(end, "p")) return limit_in_p(value, two_pipelines, data);
  uint64_t bytes = 0;
  if (!zb_bytes_parse(text, &bytes))
    return ZB_ERROR(USAGE, "--memory-limit: expected bytes like 800, 64M or 1.5G, or 1.25p, got '%s'", text);
  data->problem.rank_limit_bytes = data->rank_limit_bytes = NULL;
  data->problem.memory_limit_bytes = (int64_t)bytes;
  return NULL;
}
