/* What zb-sched prints: summary, critical path, JSON, and the table of several schedules. */
#include <stdio.h>
#include <string.h>

#include "tools/sched/sched.h"

static const double MIB = 1048576;
enum { PATH_LINES = 12, NAME_COLUMNS = 28 };

static double ms(int64_t ps) { return (double)ps / 1e9; }

/* Units in which people read this case: ms and MiB, unless all would be zeros. */
typedef struct unit {
  double size;
  const char *name;
} unit;

static unit time_unit(int64_t ps) {
  if (ps >= 10000000) return (unit){1e9, "ms"};
  return ps >= 10000 ? (unit){1e6, "us"} : (unit){1, "ps"};
}

static unit memory_unit(int64_t bytes) {
  return bytes >= 10240 || bytes == 0 ? (unit){MIB, "MiB"} : (unit){1, "bytes"};
}

static int64_t time_of(const sched_case *c) {
  const zb_metric metric = c->data.problem.metric;
  return metric == ZB_METRIC_PERIOD  ? c->period.period_ps
         : metric == ZB_METRIC_STAGE ? c->simulation.stage_ps
                                     : c->simulation.step_ps;
}

/* Time and bound by the metric of the problem. */
typedef struct score {
  int64_t time_ps, bound_ps;
  double above; /* time / bound - 1 */
} score;

static score score_of(const sched_case *c) {
  const zb_problem *p = &c->data.problem;
  score out = {.time_ps = time_of(c)};
  out.bound_ps = p->metric == ZB_METRIC_PERIOD  ? zb_lower_bound_period_ps(p)
                 : p->metric == ZB_METRIC_STAGE ? zb_lower_bound_stage_ps(p)
                                                : zb_lower_bound_ps(p);
  if (out.bound_ps > 0) out.above = (double)out.time_ps / (double)out.bound_ps - 1;
  return out;
}

static const char *metric_name(const sched_case *c) { return zb_metric_name(c->data.problem.metric); }

static void peaks(const sched_case *c, int64_t *least, int64_t *most) {
  *least = INT64_MAX;
  *most = 0;
  for (int rank = 0; rank < c->simulation.ranks; ++rank) {
    const int64_t peak = c->simulation.peak_bytes[rank];
    if (peak < *least) *least = peak;
    if (peak > *most) *most = peak;
  }
}

static void print_search(const sched_case *c) {
  const zb_search_report *r = &c->report;
  const unit time = time_unit(r->start_ps);
  if (r->start_ps > 0)
    printf("search       best start %s, %.3f %s; %.3f %s (%.2f%%) less after the search\n", r->start,
           (double)r->start_ps / time.size, time.name, (double)(r->start_ps - r->best_ps) / time.size, time.name,
           100 * (1 - (double)r->best_ps / (double)r->start_ps));
  else
    printf("search       no schedule fits the memory limit: from nothing\n");
  printf("             %s\n", r->summary);
}

void sched_print_summary(const sched_case *c) {
  const zb_problem *p = &c->data.problem;
  const score s = score_of(c);
  const int chunks = p->stages / p->ranks;
  int64_t least, most;
  peaks(c, &least, &most);
  printf("schedule     %s, %d rank%s, %d micro-batch%s, %d chunk%s a rank (%s)\n", c->name, p->ranks,
         p->ranks == 1 ? "" : "s", c->micro_batches, c->micro_batches == 1 ? "" : "es", chunks, chunks == 1 ? "" : "s",
         c->placement);
  const unit time = time_unit(s.time_ps), memory = memory_unit(most);
  printf("time         %.3f %s (%s metric)\n", (double)s.time_ps / time.size, time.name, metric_name(c));
  printf("bubble       %.2f%% barrier, %.2f%% stage, %.2f%% period\n", 100 * c->simulation.bubble_barrier,
         100 * c->simulation.bubble_stage, 100 * c->period.bubble);
  printf("lower bound  %.3f %s: no order is faster; this one is %.2f%% above\n", (double)s.bound_ps / time.size,
         time.name, 100 * s.above);
  printf("peak memory  %.3f to %.3f %s a rank\n", (double)least / memory.size, (double)most / memory.size, memory.name);
  if (c->searched) print_search(c);
  if (c->choice.schedule && c->choice.schedule->two_pipelines)
    printf("note         two pipelines, %d micro-batches each: every stage, and its base memory, is on two ranks\n",
           p->micro_batches);
  if (c->renumbered) printf("note         micro-batches are numbered by the order of their W, not as in the file\n");
}

/* ---- The critical path ---- */

zb_status sched_print_path(const sched_case *c) {
  zb_path path;
  ZB_TRY(zb_critical_path(&c->data.problem, &c->order, &c->simulation, &path));
  int64_t messages = 0, reductions = 0;
  for (int i = 0; i < path.count; ++i) {
    const int64_t took = path.steps[i].end_ps - path.steps[i].start_ps;
    if (path.steps[i].kind == ZB_PATH_MESSAGE) messages += took;
    if (path.steps[i].kind == ZB_PATH_REDUCTION) reductions += took;
  }
  char *text = zb_path_text(&c->data.problem, &path, PATH_LINES);
  zb_path_deinit(&path);
  if (!text) return ZB_OUT_OF_MEMORY();
  const unit time = time_unit(c->simulation.step_ps);
  printf("critical path of the step: %.3f %s of jobs, %.3f %s of messages",
         (double)(c->simulation.step_ps - messages - reductions) / time.size, time.name, (double)messages / time.size,
         time.name);
  if (reductions) printf(", %.3f %s of reductions", (double)reductions / time.size, time.name);
  printf("\n%s", text);
  zb_free(text);
  return NULL;
}

/* ---- Idle time ---- */

zb_status sched_print_explanation(const sched_case *c, bool json) {
  zb_explanation explanation;
  ZB_TRY(zb_schedule_explain(&c->data.problem, &c->order, &explanation));
  char *text = json ? zb_explanation_json(&explanation) : zb_explanation_text(&explanation);
  zb_explanation_deinit(&explanation);
  if (!text) return ZB_OUT_OF_MEMORY();
  if (json)
    printf(", \"explanation\": %s", text);
  else
    printf("why ranks idle, by the %s metric:\n%s", metric_name(c), text);
  zb_free(text);
  return NULL;
}

/* ---- JSON ---- */

static zb_status print_json_path(const sched_case *c) {
  static const char *const kinds[] = {[ZB_PATH_JOB] = "job",
                                      [ZB_PATH_MESSAGE] = "message",
                                      [ZB_PATH_REDUCTION] = "reduction",
                                      [ZB_PATH_OPTIMIZER] = "optimizer"};
  zb_path path;
  ZB_TRY(zb_critical_path(&c->data.problem, &c->order, &c->simulation, &path));
  printf(", \"critical_path\": [");
  for (int i = 0; i < path.count; ++i) {
    const zb_path_step *step = &path.steps[i];
    char job[32];
    printf("%s{\"kind\": \"%s\", \"rank\": %d, ", i ? ", " : "", kinds[step->kind], step->rank);
    if (step->kind == ZB_PATH_MESSAGE) printf("\"to\": %d, ", step->to_rank);
    if (step->kind != ZB_PATH_OPTIMIZER) printf("\"job\": \"%s\", ", zb_job_text(step->job, job));
    printf("\"start\": %.9f, \"end\": %.9f}", ms(step->start_ps), ms(step->end_ps));
  }
  printf("]");
  zb_path_deinit(&path);
  return NULL;
}

/* Every job with its start and end, a list a rank. */
static void print_json_jobs(const sched_case *c) {
  printf(", \"jobs\": [");
  for (int rank = 0; rank < c->order.ranks; ++rank) {
    printf("%s[", rank ? ", " : "");
    for (int i = 0; i < c->order.counts[rank]; ++i) {
      char job[32];
      const zb_job_times times = c->simulation.jobs[rank][i];
      printf("%s[\"%s\", %.9f, %.9f]", i ? ", " : "", zb_job_text(c->order.jobs[rank][i], job), ms(times.start_ps),
             ms(times.end_ps));
    }
    printf("]");
  }
  printf("]");
}

static void print_json_search(const zb_search_report *r) {
  printf(", \"search\": {\"evaluations\": %lld, \"start\": ", (long long)r->evaluations);
  tool_print_json_text(r->start);
  printf(", \"start_time\": %.9f, \"bound\": %.9f, \"proven\": %s, \"summary\": ", ms(r->start_ps), ms(r->bound_ps),
         r->proven ? "true" : "false");
  tool_print_json_text(r->summary);
  printf("}");
}

zb_status sched_print_json(const sched_settings *s, const sched_case *c) {
  const zb_problem *p = &c->data.problem;
  printf("{\"version\": \"%s\", \"schedule\": ", ZB_VERSION);
  tool_print_json_text(c->name);
  if (c->status) {
    if (p->ranks) printf(", \"chunks\": %d, \"placement\": \"%s\"", p->stages / p->ranks, c->placement);
    printf(", \"error\": ");
    tool_print_json_text(zb_status_message(c->status));
    printf("}\n");
    return NULL;
  }
  const score found = score_of(c);
  printf(", \"ranks\": %d, \"micro_batches\": %d, \"chunks\": %d, \"placement\": \"%s\", ", p->ranks, c->micro_batches,
         p->stages / p->ranks, c->placement);
  printf("\"time\": %.9f, \"stage_time\": %.9f, \"period\": {\"time\": %.9f, \"steps\": %d}, ",
         ms(c->simulation.step_ps), ms(c->simulation.stage_ps), ms(c->period.cycle_ps), c->period.cycle_steps);
  printf("\"bubble\": {\"barrier\": %.9f, \"stage\": %.9f, \"period\": %.9f}, ", c->simulation.bubble_barrier,
         c->simulation.bubble_stage, c->period.bubble);
  printf("\"lower_bound\": %.9f, \"lower_bound_stage\": %.9f, \"lower_bound_period\": %.9f, ", ms(zb_lower_bound_ps(p)),
         ms(zb_lower_bound_stage_ps(p)), ms(zb_lower_bound_period_ps(p)));
  printf("\"metric\": \"%s\", \"above_bound\": %.9f, \"memory\": [", metric_name(c), found.above);
  for (int rank = 0; rank < c->simulation.ranks; ++rank)
    printf("%s%lld", rank ? ", " : "", (long long)c->simulation.peak_bytes[rank]);
  printf("]");
  if (c->searched) print_json_search(&c->report);
  ZB_TRY(print_json_path(c));
  if (s->explain) ZB_TRY(sched_print_explanation(c, true));
  print_json_jobs(c);
  printf("}\n");
  return NULL;
}

/* ---- The table ---- */

static bool comes_before(const sched_case *a, const sched_case *b) {
  if (!a->status != !b->status) return !a->status;
  return !a->status && time_of(a) < time_of(b);
}

/* By insertion: equal ones keep their order, and there are few. */
void sched_sort(sched_case *cases, int count) {
  for (int i = 1; i < count; ++i) {
    const sched_case moved = cases[i];
    int at = i;
    for (; at > 0 && comes_before(&moved, &cases[at - 1]); --at)
      cases[at] = cases[at - 1];
    cases[at] = moved;
  }
}

/* Why a schedule has no order, without its name again. */
static const char *reason(const sched_case *c) {
  const char *message = zb_status_message(c->status), *name = c->choice.schedule ? c->choice.schedule->name : c->name;
  const size_t length = strlen(name);
  if (strncmp(message, name, length) != 0) return message;
  message += length;
  return message + strspn(message, ": ");
}

void sched_print_table(const sched_case *cases, int count) {
  int width = (int)strlen("schedule");
  const char *metric = zb_metric_name(ZB_METRIC_BARRIER);
  int64_t longest = 0, largest = 0;
  for (int i = 0; i < count; ++i) {
    const int length = (int)strlen(cases[i].name);
    if (length > width) width = length < NAME_COLUMNS ? length : NAME_COLUMNS;
    if (cases[i].status) continue;
    int64_t least, most;
    peaks(&cases[i], &least, &most);
    metric = metric_name(&cases[i]);
    if (time_of(&cases[i]) > longest) longest = time_of(&cases[i]);
    if (most > largest) largest = most;
  }
  const unit time = time_unit(longest), memory = memory_unit(largest);
  char heads[3][16];
  snprintf(heads[0], sizeof heads[0], "time %s", time.name);
  snprintf(heads[1], sizeof heads[1], "bound %s", time.name);
  snprintf(heads[2], sizeof heads[2], "peak %s", memory.name);
  printf("%-*s  %-9s %6s %13s %9s %9s %9s %13s %8s %12s\n", width, "schedule", "placement", "chunks", heads[0],
         "barrier", "stage", "period", heads[1], "above", heads[2]);
  for (int i = 0; i < count; ++i) {
    const sched_case *c = &cases[i];
    const zb_problem *p = &c->data.problem; /* empty where the problem itself cannot be made */
    if (p->ranks)
      printf("%-*s  %-9s %6d ", width, c->name, c->placement, p->stages / p->ranks);
    else
      printf("%-*s  %-9s %6s ", width, c->name, "", "");
    if (c->status) {
      printf(" -- %s\n", reason(c));
      continue;
    }
    const score s = score_of(c);
    int64_t least, most;
    peaks(c, &least, &most);
    printf("%13.3f %8.2f%% %8.2f%% %8.2f%% %13.3f %7.2f%% %12.3f\n", (double)s.time_ps / time.size,
           100 * c->simulation.bubble_barrier, 100 * c->simulation.bubble_stage, 100 * c->period.bubble,
           (double)s.bound_ps / time.size, 100 * s.above, (double)most / memory.size);
  }
  printf("time, bound and order of the rows by the %s metric; a bound holds for the placement of its row\n", metric);
}
