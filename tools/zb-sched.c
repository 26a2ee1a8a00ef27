/* zb-sched: pipeline schedules without a model. Costs in, the order of every rank out, with exact time and memory, both
 * bubbles, a proven lower bound, a chart, a timeline.
 *
 * Uses include/zb only. Tests: test/tools/zb-sched.mlir and test/passes/schedule.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zb/schedule.h"

/* In a COSTS SPEC 1 is this long, and 1 of memory is this large: 1 ms, 1 MiB. */
static const double UNIT_PS = 1e9, UNIT_BYTES = 1048576;

typedef struct settings {
  int ranks, micro_batches, chunks;
  const char *schedule, *placement, *costs, *metric, *timeline, *trace;
  int64_t memory_limit;
  bool chart, json, list, help, version;
} settings;

/* ---- Options: one row each; parsing, help and suggestions come from this table ---- */

typedef enum option_kind { OPTION_COUNT, OPTION_TEXT, OPTION_BYTES, OPTION_FLAG } option_kind;

typedef struct option {
  const char *name, *value, *help;
  option_kind kind;
  size_t offset; /* of the field of settings */
} option;

static const option options[] = {
    {"--ranks", "P", "ranks of the pipeline", OPTION_COUNT, offsetof(settings, ranks)},
    {"--micro-batches", "M", "micro-batches a step", OPTION_COUNT, offsetof(settings, micro_batches)},
    {"--schedule", "NAME", "which schedule (see --list)", OPTION_TEXT, offsetof(settings, schedule)},
    {"--costs", "SPEC", "f=1,b=1,w=1,comm=0,opt=0,mem=1,mem_w=1,base=0 (the defaults)", OPTION_TEXT,
     offsetof(settings, costs)},
    {"--chunks", "V", "virtual stages a rank [1]", OPTION_COUNT, offsetof(settings, chunks)},
    {"--placement", "NAME", "plain, looped, v or wave [plain; looped for several chunks]", OPTION_TEXT,
     offsetof(settings, placement)},
    {"--memory-limit", "BYTES", "per rank, with K, M or G; exit status 3 if the schedule needs more", OPTION_BYTES,
     offsetof(settings, memory_limit)},
    {"--metric", "NAME", "barrier or stage: which bubble and bound the summary states [barrier]", OPTION_TEXT,
     offsetof(settings, metric)},
    {"--timeline", "F.svg", "write the step as a picture", OPTION_TEXT, offsetof(settings, timeline)},
    {"--trace", "F.json", "write the step as a Chrome trace (opens in Perfetto)", OPTION_TEXT,
     offsetof(settings, trace)},
    {"--chart", NULL, "print the order as a chart", OPTION_FLAG, offsetof(settings, chart)},
    {"--json", NULL, "print one JSON object, times in ms, and nothing else", OPTION_FLAG, offsetof(settings, json)},
    {"--list", NULL, "list schedules and placements", OPTION_FLAG, offsetof(settings, list)},
    {"--help", NULL, "print this", OPTION_FLAG, offsetof(settings, help)},
    {"--version", NULL, "print the version", OPTION_FLAG, offsetof(settings, version)},
};
enum { OPTION_ROWS = sizeof options / sizeof *options };

static void print_help(void) {
  printf("zb-sched: orders the F, B and W jobs of a pipeline, and says exactly what that costs\n\n"
         "usage: zb-sched --ranks P --micro-batches M --schedule NAME [options]\n\n");
  for (int i = 0; i < OPTION_ROWS; ++i) {
    char left[40];
    snprintf(left, sizeof left, "%s%s%s", options[i].name, options[i].value ? " " : "",
             options[i].value ? options[i].value : "");
    printf("  %-22s %s\n", left, options[i].help);
  }
  printf("\nCOSTS: f, b, w: ms of one micro-batch on one rank (a chunk takes a V-th); comm: ms of a message between "
         "ranks; opt: ms of the\n"
         "optimizer; mem: MiB that a micro-batch keeps on a rank from F to B, mem_w: how many of them until W; base: "
         "MiB always there.\n"
         "The barrier bubble counts the whole step, the stage bubble the longest rank (optimizers that need not wait "
         "for each other).\n"
         "\nexamples:\n"
         "  zb-sched --ranks 4 --micro-batches 8 --schedule zb-h1 --chart\n"
         "  zb-sched --ranks 8 --micro-batches 24 --schedule 1f1b --costs f=18.522,b=18.086,w=9.337,comm=0.601 "
         "--timeline step.svg\n"
         "  zb-sched --ranks 4 --micro-batches 8 --schedule fthenb --chunks 2 --json\n"
         "\nexit status: 0 done, 1 wrong input, 2 wrong command line, 3 memory limit too small, 4 file or memory "
         "trouble\n");
}

static void print_list(void) {
  printf("schedules:\n");
  for (int i = 0; i < zb_schedule_count(); ++i)
    printf("  %-10s %s\n", zb_schedule_at(i)->name, zb_schedule_at(i)->summary);
  printf("placements:\n");
  for (int i = 0; i < zb_placement_count(); ++i)
    printf("  %-10s %s\n", zb_placement_at(i)->name, zb_placement_at(i)->summary);
}

/* ---- Reading the command line ---- */

static zb_status see_help(zb_status status) {
  return zb_status_hint(status, "zb-sched --help lists the options");
}

/* Letters that both words share at their start and end: enough to find a mistyped option. */
static int similarity(const char *a, const char *b) {
  int left = 0, right = 0;
  const int length_a = (int)strlen(a), length_b = (int)strlen(b);
  while (left < length_a && left < length_b && a[left] == b[left])
    ++left;
  while (right < length_a - left && right < length_b - left && a[length_a - 1 - right] == b[length_b - 1 - right])
    ++right;
  const int longer = length_a > length_b ? length_a : length_b;
  return 2 * (left + right) - longer;
}

static zb_status unknown_option(const char *word) {
  int best = -1, score = 2; /* every option starts with the two dashes */
  for (int i = 0; i < OPTION_ROWS; ++i)
    if (similarity(word, options[i].name) > score) {
      best = i;
      score = similarity(word, options[i].name);
    }
  if (best < 0) return see_help(ZB_ERROR(USAGE, "unknown option '%s'", word));
  return see_help(ZB_ERROR(USAGE, "unknown option '%s', did you mean '%s'?", word, options[best].name));
}

static zb_status parse_count(const char *name, const char *text, int *out) {
  char *end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < 1 || value > 1000000)
    return see_help(ZB_ERROR(USAGE, "%s: expected a whole number of 1 to 1000000, got '%s'", name, text));
  *out = (int)value;
  return NULL;
}

static zb_status parse_bytes(const char *name, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  double unit = 1;
  if (*end == 'K') unit = 1024.0;
  if (*end == 'M') unit = 1024.0 * 1024;
  if (*end == 'G') unit = 1024.0 * 1024 * 1024;
  if (unit > 1) ++end;
  if (end == text || *end || errno || !isfinite(value) || value * unit < 1 || value * unit > 1e18)
    return see_help(ZB_ERROR(USAGE, "%s: expected bytes like 800, 64M or 1.5G, got '%s'", name, text));
  *out = (int64_t)(value * unit);
  return NULL;
}

static zb_status set_option(const option *row, const char *value, settings *out) {
  void *field = (char *)out + row->offset;
  switch (row->kind) {
  case OPTION_COUNT:
    return parse_count(row->name, value, field);
  case OPTION_BYTES:
    return parse_bytes(row->name, value, field);
  case OPTION_TEXT:
    *(const char **)field = value;
    return NULL;
  case OPTION_FLAG:
    *(bool *)field = true;
    return NULL;
  }
  return NULL;
}

/* --name value and --name=value. */
static zb_status parse_arguments(int count, char **words, settings *out) {
  for (int i = 1; i < count; ++i) {
    const char *equals = strchr(words[i], '=');
    const size_t length = equals ? (size_t)(equals - words[i]) : strlen(words[i]);
    const option *row = NULL;
    for (int k = 0; k < OPTION_ROWS && !row; ++k)
      if (strlen(options[k].name) == length && !strncmp(options[k].name, words[i], length)) row = &options[k];
    if (!row) return unknown_option(words[i]);
    if (row->kind == OPTION_FLAG && equals) return see_help(ZB_ERROR(USAGE, "%s takes no value", row->name));
    if (row->kind != OPTION_FLAG && !equals && i + 1 >= count)
      return see_help(ZB_ERROR(USAGE, "%s needs a value", row->name));
    const char *value = equals ? equals + 1 : row->kind == OPTION_FLAG ? NULL : words[++i];
    ZB_TRY(set_option(row, value, out));
  }
  return NULL;
}

/* ---- The problem: uniform stages ---- */

typedef struct costs {
  double f, b, w, comm, opt, mem, mem_w, base;
} costs;

static const struct {
  const char *name;
  size_t offset;
} cost_keys[] = {
    {"f", offsetof(costs, f)},         {"b", offsetof(costs, b)},       {"w", offsetof(costs, w)},
    {"comm", offsetof(costs, comm)},   {"opt", offsetof(costs, opt)},   {"mem", offsetof(costs, mem)},
    {"mem_w", offsetof(costs, mem_w)}, {"base", offsetof(costs, base)},
};
enum { COST_KEYS = sizeof cost_keys / sizeof *cost_keys };

static zb_status parse_costs(const char *text, costs *out) {
  bool given_mem_w = false;
  *out = (costs){.f = 1, .b = 1, .w = 1, .mem = 1, .mem_w = 1};
  while (text && *text) {
    const size_t length = strcspn(text, "=,");
    int key = 0;
    while (key < COST_KEYS && (strlen(cost_keys[key].name) != length || strncmp(cost_keys[key].name, text, length)))
      ++key;
    if (key == COST_KEYS || text[length] != '=')
      return zb_status_hint(ZB_ERROR(USAGE, "--costs: expected name=number, got '%.*s'", (int)strcspn(text, ","), text),
                            "names are f, b, w, comm, opt, mem, mem_w and base");
    char *end;
    const double value = strtod(text + length + 1, &end);
    if (end == text + length + 1 || (*end && *end != ',') || !isfinite(value) || value < 0 || value > 1e9)
      return ZB_ERROR(USAGE, "--costs: %s: expected a number of 0 to 1e9, got '%.*s'", cost_keys[key].name,
                      (int)strcspn(text + length + 1, ","), text + length + 1);
    *(double *)(void *)((char *)out + cost_keys[key].offset) = value;
    given_mem_w |= cost_keys[key].offset == offsetof(costs, mem_w);
    if (*end == ',' && !end[1]) return ZB_ERROR(USAGE, "--costs: expected name=number after the last comma");
    text = *end ? end + 1 : end;
  }
  if (!given_mem_w) out->mem_w = out->mem;
  if (out->mem_w > out->mem)
    return ZB_ERROR(USAGE, "--costs: mem_w: expected at most mem (%g), got %g", out->mem, out->mem_w);
  return NULL;
}

typedef struct problem_memory {
  int *stage_rank;
  zb_stage_cost *costs;
  int64_t *base, *optimizer;
} problem_memory;

static void problem_free(problem_memory *memory) {
  zb_free(memory->stage_rank);
  zb_free(memory->costs);
  zb_free(memory->base);
  zb_free(memory->optimizer);
}

static zb_status make_problem(const settings *s, problem_memory *memory, zb_problem *out) {
  costs c;
  ZB_TRY(parse_costs(s->costs, &c));
  if (s->ranks > INT_MAX / s->chunks)
    return ZB_ERROR(USAGE, "%d ranks x %d chunks are too many virtual stages", s->ranks, s->chunks);
  const size_t stages = (size_t)s->ranks * (size_t)s->chunks;
  memory->stage_rank = zb_alloc(stages * sizeof *memory->stage_rank);
  memory->costs = zb_alloc(stages * sizeof *memory->costs);
  memory->base = zb_alloc((size_t)s->ranks * sizeof *memory->base);
  memory->optimizer = zb_alloc((size_t)s->ranks * sizeof *memory->optimizer);
  if (!memory->stage_rank || !memory->costs || !memory->base || !memory->optimizer) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_placement(s->placement    ? s->placement
                      : s->chunks > 1 ? "looped"
                                      : "plain",
                      s->ranks, s->chunks, memory->stage_rank));
  const int64_t keep = llround(c.mem * UNIT_BYTES / s->chunks), keep_w = llround(c.mem_w * UNIT_BYTES / s->chunks);
  const zb_stage_cost cost = {.time_ps = {llround(c.f * UNIT_PS / s->chunks), llround(c.b * UNIT_PS / s->chunks),
                                          llround(c.w * UNIT_PS / s->chunks)},
                              .keep_bytes = {keep, 0, 0},
                              .free_bytes = {0, keep - keep_w, keep_w}};
  for (size_t stage = 0; stage < stages; ++stage)
    memory->costs[stage] = cost;
  for (int rank = 0; rank < s->ranks; ++rank) {
    memory->base[rank] = llround(c.base * UNIT_BYTES);
    memory->optimizer[rank] = llround(c.opt * UNIT_PS);
  }
  *out = (zb_problem){.ranks = s->ranks,
                      .micro_batches = s->micro_batches,
                      .stages = (int)stages,
                      .stage_rank = memory->stage_rank,
                      .costs = memory->costs,
                      .link_latency_ps = llround(c.comm * UNIT_PS),
                      .base_bytes = memory->base,
                      .optimizer_ps = memory->optimizer,
                      .memory_limit_bytes = s->memory_limit};
  return NULL;
}

/* ---- Output ---- */

static double ms(int64_t ps) {
  return (double)ps / 1e9;
}

static void print_json(const settings *s, const zb_problem *problem, const zb_schedule_def *schedule,
                       const zb_simulation *simulation, const char *placement) {
  printf("{\"version\": \"%s\", \"schedule\": \"%s\", \"ranks\": %d, \"micro_batches\": %d, \"chunks\": %d, "
         "\"placement\": \"%s\", ",
         ZB_VERSION, schedule->name, s->ranks, s->micro_batches, s->chunks, placement);
  printf("\"time\": %.9f, \"stage_time\": %.9f, \"bubble\": {\"barrier\": %.9f, \"stage\": %.9f}, ",
         ms(simulation->step_ps), ms(simulation->stage_ps), simulation->bubble_barrier, simulation->bubble_stage);
  printf("\"lower_bound\": %.9f, \"lower_bound_stage\": %.9f, \"memory\": [", ms(zb_lower_bound_ps(problem)),
         ms(zb_lower_bound_stage_ps(problem)));
  for (int rank = 0; rank < simulation->ranks; ++rank)
    printf("%s%lld", rank ? ", " : "", (long long)simulation->peak_bytes[rank]);
  printf("]}\n");
}

static void print_summary(const settings *s, const zb_problem *problem, const zb_schedule_def *schedule,
                          const zb_simulation *simulation, const char *placement) {
  const bool stage = !strcmp(s->metric, "stage");
  const int64_t time = stage ? simulation->stage_ps : simulation->step_ps;
  const int64_t bound = stage ? zb_lower_bound_stage_ps(problem) : zb_lower_bound_ps(problem);
  int64_t least = INT64_MAX, most = 0;
  for (int rank = 0; rank < simulation->ranks; ++rank) {
    if (simulation->peak_bytes[rank] < least) least = simulation->peak_bytes[rank];
    if (simulation->peak_bytes[rank] > most) most = simulation->peak_bytes[rank];
  }
  printf("schedule     %s, %d ranks, %d micro-batches, %d chunk%s a rank (%s)\n", schedule->name, s->ranks,
         s->micro_batches, s->chunks, s->chunks == 1 ? "" : "s", placement);
  printf("time         %.3f ms (%s metric)\n", ms(time), s->metric);
  printf("bubble       %.2f%% barrier, %.2f%% stage\n", 100 * simulation->bubble_barrier,
         100 * simulation->bubble_stage);
  printf("lower bound  %.3f ms: no order is faster; this one is %.2f%% above\n", ms(bound),
         bound > 0 ? 100 * ((double)time / (double)bound - 1) : 0.0);
  printf("peak memory  %.3f to %.3f MiB a rank\n", (double)least / UNIT_BYTES, (double)most / UNIT_BYTES);
}

static zb_status run(const settings *s) {
  zb_schedule_choice choice;
  ZB_TRY(zb_schedule_parse(s->schedule, &choice));
  const zb_schedule_def *schedule = choice.schedule;
  const char *placement = s->placement ? s->placement : s->chunks > 1 ? "looped" : "plain";
  problem_memory memory = {0};
  zb_problem problem;
  zb_order order = {0};
  zb_simulation simulation = {0};
  char title[160];
  zb_status status = NULL;
  ZB_TRY_GOTO(make_problem(s, &memory, &problem));
  ZB_TRY_GOTO(zb_schedule_run_choice(&choice, &problem, &order));
  ZB_TRY_GOTO(zb_simulate(&problem, &order, &simulation));
  snprintf(title, sizeof title, "%s, %d ranks, %d micro-batches (simulated)", schedule->name, s->ranks,
           s->micro_batches);
  if (s->timeline) ZB_TRY_GOTO(zb_order_timeline(&problem, &order, &simulation, title, s->timeline));
  if (s->trace) ZB_TRY_GOTO(zb_order_timeline(&problem, &order, &simulation, title, s->trace));
  if (s->json) print_json(s, &problem, schedule, &simulation, placement);
  if (s->chart && !s->json) {
    char *chart = zb_order_chart(&problem, &order, &simulation, 160);
    if (!chart) {
      status = ZB_OUT_OF_MEMORY();
      goto cleanup;
    }
    fputs(chart, stdout);
    zb_free(chart);
  }
  if (!s->json) print_summary(s, &problem, schedule, &simulation, placement);
cleanup:
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
  problem_free(&memory);
  return status;
}

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), wanted = strlen(ending);
  return length > wanted && !strcmp(text + length - wanted, ending);
}

static zb_status check_settings(const settings *s) {
  if (!s->ranks) return see_help(ZB_ERROR(USAGE, "--ranks is missing"));
  if (!s->micro_batches) return see_help(ZB_ERROR(USAGE, "--micro-batches is missing"));
  if (!s->schedule) return see_help(ZB_ERROR(USAGE, "--schedule is missing"));
  if (strcmp(s->metric, "barrier") && strcmp(s->metric, "stage"))
    return ZB_ERROR(USAGE, "--metric: expected barrier or stage, got '%s'", s->metric);
  if (s->timeline && !ends_with(s->timeline, ".svg"))
    return zb_status_hint(ZB_ERROR(USAGE, "--timeline: expected a name that ends in .svg, got '%s'", s->timeline),
                          "--trace writes a Chrome trace (.json)");
  if (s->trace && !ends_with(s->trace, ".json"))
    return zb_status_hint(ZB_ERROR(USAGE, "--trace: expected a name that ends in .json, got '%s'", s->trace),
                          "--timeline writes a picture (.svg)");
  return NULL;
}

int main(int count, char **words) {
  settings s = {.chunks = 1, .metric = "barrier"};
  zb_status status = parse_arguments(count, words, &s);
  if (!status && (s.help || s.version || s.list)) {
    if (s.help)
      print_help();
    else if (s.version)
      printf("zb-sched %s\n", ZB_VERSION);
    else
      print_list();
    return 0;
  }
  if (!status) status = check_settings(&s);
  if (!status) status = run(&s);
  if (!status && (fflush(stdout) || ferror(stdout))) status = ZB_ERROR(IO, "standard output: %s", strerror(errno));
  if (status) fprintf(stderr, "zb-sched: %s", zb_status_text(status));
  const int exit_status = zb_status_exit(status);
  zb_status_free(status);
  return exit_status;
}
