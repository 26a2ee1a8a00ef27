/* zb-sched: pipeline schedules without a model. Costs in, the order of every rank out, with exact time and memory, both
 * bubbles, a proven lower bound, the critical path, a chart, a timeline.
 *
 * Also the groups of ranks of a mesh, and layouts of layers on stages.
 *
 * Uses include/zb only; the parts are in tools/sched. Tests: test/tools/zb-sched*, test/passes/schedule and
 * test/passes/mesh.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/sched/sched.h"

static zb_status make_name(const char *text, size_t length, sched_case *c) {
  c->name = zb_strdup(text);
  if (!c->name) return ZB_OUT_OF_MEMORY();
  c->name[length] = '\0';
  return NULL;
}

static int64_t option_value(const zb_schedule_choice *choice, const char *name) {
  const zb_schedule_option *options = choice->schedule->options;
  for (int i = 0; options && i < ZB_SCHEDULE_OPTIONS_MAX && options[i].name; ++i)
    if (!strcmp(options[i].name, name)) return choice->options[i];
  return 0;
}

static zb_status time_order(sched_case *c) {
  ZB_TRY(zb_simulate(&c->data.problem, &c->order, &c->simulation));
  return zb_order_period(&c->data.problem, &c->order, &c->period);
}

/* A searching schedule, with its report; over placements too where none is named. */
static zb_status run_search(const sched_settings *s, sched_case *c) {
  const zb_search_params params = {.budget = option_value(&c->choice, "budget"),
                                   .seed = (uint64_t)option_value(&c->choice, "seed")};
  zb_problem_data *data = &c->data;
  int *placed = NULL;
  zb_status status = NULL;
  if (!c->placement_open) {
    status = zb_search(&data->problem, &params, &c->order, &c->report);
  } else {
    const size_t bytes = (size_t)data->problem.stages * sizeof *placed;
    placed = zb_alloc(bytes);
    status = placed ? zb_search_placement(&data->problem, &params, placed, &c->order, &c->report) : ZB_OUT_OF_MEMORY();
    if (!status) memcpy(data->stage_rank, placed, bytes);
    zb_free(placed);
  }
  if (status) return status;
  c->searched = true;
  c->placement = zb_placement_name(&data->problem);
  if (s->settle) ZB_TRY(zb_order_advance_w(&data->problem, &c->order));
  return time_order(c);
}

/* Parses the name of a case, and puts that of the table in the place of an alias. */
static zb_status parse_name(sched_case *c) {
  ZB_TRY(zb_schedule_parse(c->name, &c->choice));
  const char *name = c->choice.schedule->name, *options = c->name + strcspn(c->name, ":");
  const size_t bytes = strlen(name) + strlen(options) + 1;
  char *whole = zb_alloc(bytes);
  if (!whole) return ZB_OUT_OF_MEMORY();
  snprintf(whole, bytes, "%s%s", name, options);
  zb_free(c->name);
  c->name = whole;
  return NULL;
}

static zb_status run_schedule(const sched_settings *s, const sched_source *source, sched_case *c) {
  ZB_TRY(parse_name(c));
  ZB_TRY(sched_make_problem(s, source, c->choice.schedule, c));
  if (c->choice.schedule->searches) return run_search(s, c);
  ZB_TRY(zb_schedule_run_choice(&c->choice, &c->data.problem, &c->order));
  if (s->settle) ZB_TRY(zb_order_advance_w(&c->data.problem, &c->order));
  return time_order(c);
}

/* An order from outside runs as it is, but a limit is a limit. */
static zb_status check_limit(const sched_case *c) {
  const zb_problem *p = &c->data.problem;
  for (int rank = 0; rank < p->ranks; ++rank) {
    const int64_t limit = p->rank_limit_bytes ? p->rank_limit_bytes[rank] : p->memory_limit_bytes;
    char needed[64], given[64];
    if (limit && c->simulation.peak_bytes[rank] > limit)
      return ZB_ERROR(INFEASIBLE, "%s needs %s on rank %d, and the limit is %s", c->name,
                      zb_bytes_exact_text((uint64_t)c->simulation.peak_bytes[rank], needed), rank,
                      zb_bytes_exact_text((uint64_t)limit, given));
  }
  return NULL;
}

static zb_status run_order(const sched_settings *s, const sched_source *source, sched_case *c) {
  ZB_TRY(sched_read_order(s, source, c));
  if (s->settle) ZB_TRY(zb_order_advance_w(&c->data.problem, &c->order));
  ZB_TRY(time_order(c));
  return check_limit(c);
}

/* ---- Files ---- */

enum { TITLE_BYTES = 200 };

static const char *make_title(const sched_case *c, char out[TITLE_BYTES]) {
  snprintf(out, TITLE_BYTES, "%.120s, %d ranks, %d micro-batches (simulated)", c->name, c->data.problem.ranks,
           c->micro_batches);
  return out;
}

static zb_status write_files(const sched_settings *s, const sched_case *c) {
  const zb_problem *p = &c->data.problem;
  char title[TITLE_BYTES];
  const bool file = s->csv || s->lowered;
  if (file && c->choice.schedule && c->choice.schedule->two_pipelines)
    return zb_status_hint(ZB_ERROR(USAGE, "%s keeps every stage on two ranks, which PyTorch's CSV cannot say", c->name),
                          "dualpipev keeps each once; --text and --trace take both");
  make_title(c, title);
  if (s->timeline) ZB_TRY(zb_order_timeline(p, &c->order, &c->simulation, title, s->timeline));
  if (s->trace) ZB_TRY(zb_order_timeline(p, &c->order, &c->simulation, title, s->trace));
  const zb_order_style compute = {.form = ZB_FORM_COMPUTE_ONLY, .idle_cells = true};
  const zb_order_style lowered = {.form = ZB_FORM_COMPUTE_COMMS, .no_waits = s->no_waits};
  const zb_order_style text = {.form = ZB_FORM_TEXT};
  if (s->csv) ZB_TRY(zb_order_write_file(p, &c->order, &compute, s->csv));
  if (s->lowered) ZB_TRY(zb_order_write_file(p, &c->order, &lowered, s->lowered));
  if (s->text) ZB_TRY(zb_order_write_file(p, &c->order, &text, s->text));
  return s->write_problem ? zb_problem_write(p, s->write_problem) : NULL;
}

/* ---- One schedule, or an order from outside ---- */

static zb_status print_chart(const sched_case *c) {
  char *chart = zb_order_chart(&c->data.problem, &c->order, &c->simulation, 160);
  if (!chart) return ZB_OUT_OF_MEMORY();
  fputs(chart, stdout);
  zb_free(chart);
  return NULL;
}

static zb_status report(const sched_settings *s, const sched_case *c) {
  ZB_TRY(write_files(s, c));
  if (s->json) return sched_print_json(s, c);
  if (s->chart) ZB_TRY(print_chart(c));
  sched_print_summary(c);
  ZB_TRY(sched_print_path(c));
  return s->explain ? sched_print_explanation(c, false) : NULL;
}

static zb_status run_one(const sched_settings *s, const sched_source *source) {
  sched_case c = {0};
  zb_status status = NULL;
  const char *name = s->order ? s->order : s->schedule;
  ZB_TRY_GOTO(make_name(name, strlen(name), &c));
  ZB_TRY_GOTO(s->order ? run_order(s, source, &c) : run_schedule(s, source, &c));
  ZB_TRY_GOTO(report(s, &c));
cleanup:
  sched_case_deinit(&c);
  return status;
}

/* --write-problem alone. */
static zb_status run_none(const sched_settings *s, const sched_source *source) {
  sched_case c = {0};
  zb_status status = sched_make_problem(s, source, NULL, &c);
  if (!status) status = zb_problem_check(&c.data.problem);
  if (!status) status = zb_problem_write(&c.data.problem, s->write_problem);
  sched_case_deinit(&c);
  return status;
}

/* ---- Several schedules ---- */

/* Length of the next NAME:option=n,option=n of a list: a piece with = and without : belongs to the one before it. */
static size_t next_name(const char *text) {
  size_t length = strcspn(text, ",");
  while (text[length]) {
    const char *piece = text + length + 1;
    const size_t more = strcspn(piece, ",");
    if (!memchr(piece, '=', more) || memchr(piece, ':', more)) break;
    length += 1 + more;
  }
  return length;
}

static int count_names(const char *text) {
  int count = 0;
  for (; *text; ++count) {
    text += next_name(text);
    text += *text == ',';
  }
  return count;
}

/* text NULL: all there are. */
static zb_status name_cases(const char *text, sched_case *cases, int count) {
  for (int i = 0; i < count; ++i) {
    const char *name = text ? text : zb_schedule_at(i)->name;
    const size_t length = text ? next_name(text) : strlen(name);
    ZB_TRY(make_name(name, length, &cases[i]));
    if (!sched_order_is_file(cases[i].name)) ZB_TRY(parse_name(&cases[i])); /* a wrong name is no row */
    if (text) text += length + (text[length] == ',');
  }
  return NULL;
}

/* Those that fit, the fastest first as in the table. */
static zb_status write_pictures(const sched_case *cases, int count, const char *path) {
  zb_order_picture *pictures = zb_alloc((size_t)count * sizeof *pictures);
  char (*titles)[TITLE_BYTES] = zb_alloc((size_t)count * sizeof *titles);
  int drawn = 0;
  for (int i = 0; pictures && titles && i < count; ++i)
    if (!cases[i].status) {
      const sched_case *c = &cases[i];
      pictures[drawn++] = (zb_order_picture){&c->data.problem, &c->order, &c->simulation, make_title(c, titles[i])};
    }
  zb_status status = NULL;
  if (!pictures || !titles)
    status = ZB_OUT_OF_MEMORY();
  else if (drawn)
    status = zb_order_pictures(pictures, drawn, path);
  zb_free(pictures);
  zb_free(titles);
  return status;
}

/* A schedule that does not fit is a row; what would be wrong for all of them ends the run. */
static bool is_row(zb_status status) {
  const zb_code code = zb_status_code(status);
  return code == ZB_USAGE || code == ZB_INFEASIBLE;
}

static zb_status run_cases(const sched_settings *s, const sched_source *source, sched_case *cases, int count) {
  int good = 0;
  for (int i = 0; i < count; ++i) {
    const bool file = sched_order_is_file(cases[i].name);
    zb_status status = file ? run_order(s, source, &cases[i]) : run_schedule(s, source, &cases[i]);
    if (status && !is_row(status)) return status;
    cases[i].status = status;
    good += !status;
  }
  sched_sort(cases, count);
  for (int i = 0; s->json && i < count; ++i)
    ZB_TRY(sched_print_json(s, &cases[i]));
  if (!s->json) sched_print_table(cases, count);
  if (s->timeline) ZB_TRY(write_pictures(cases, count, s->timeline));
  if (good) return NULL;
  return zb_status_hint(ZB_ERROR(INFEASIBLE, "none of the %d schedules fits", count),
                        "the table says what each needs; more memory, or other --ranks, --micro-batches, --chunks");
}

static zb_status run_table(const sched_settings *s, const sched_source *source) {
  const int count = s->compare ? count_names(s->compare) : zb_schedule_count();
  if (!count) return sched_see_help(ZB_ERROR(USAGE, "--compare: expected names of schedules, got '%s'", s->compare));
  sched_case *cases = zb_alloc((size_t)count * sizeof *cases);
  if (!cases) return ZB_OUT_OF_MEMORY();
  zb_status status = name_cases(s->compare, cases, count);
  if (!status) status = run_cases(s, source, cases, count);
  for (int i = 0; i < count; ++i)
    sched_case_deinit(&cases[i]);
  zb_free(cases);
  return status;
}

static zb_status run(const sched_settings *s) {
  sched_source source;
  zb_status status = sched_source_init(s, &source);
  if (!status) {
    if (s->compare || (s->schedule && !strcmp(s->schedule, "all")))
      status = run_table(s, &source);
    else if (s->schedule || s->order)
      status = run_one(s, &source);
    else
      status = run_none(s, &source);
  }
  sched_source_deinit(&source);
  return status;
}

int main(int count, char **words) {
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  sched_settings s;
  zb_status status = sched_parse(count, words, &s);
  if (!status) {
    if (s.help)
      sched_print_help();
    else if (s.version)
      printf("zb-sched %s\n", ZB_VERSION);
    else if (s.list)
      sched_print_list();
    else if (s.groups)
      status = sched_run_groups(&s);
    else if (s.layout)
      status = sched_run_layout(&s);
    else
      status = run(&s);
  }
  return tool_end(TOOL_ZB_SCHED, zb_status_first((zb_status[]){status, tool_flush_output()}, 2));
}
