/* The command line of zb-sched: parsing, help and suggestions come from the rows of zb-sched.def
 * (tools/command/options.h). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/outputs.h"
#include "tools/sched/sched.h"

enum { COUNT_MAX = 1000000 };
static const option_row rows[] = {
#define ROW(option, group_of, goes_with, field, kind, value, help_text)                                                \
  {option,                                                                                                             \
   value,                                                                                                              \
   help_text,                                                                                                          \
   OPTION_##kind,                                                                                                      \
   .offset = offsetof(sched_settings, field),                                                                          \
   .lowest = 1,                                                                                                        \
   .highest = OPTION_##kind == OPTION_NUMBER ? INT_MAX : COUNT_MAX,                                                    \
   .group = group_of},
#include "tools/command/zb-sched.def"
};
/* What each option goes with, as the table says. */
static const char *const uses[] = {
#define ROW(option, group_of, goes_with, field, kind, value, help_text) goes_with,
#include "tools/command/zb-sched.def"
};
static zb_status take_word(void *settings, const char *word);
static const options_table table = {TOOL_ZB_SCHED, rows, sizeof rows / sizeof rows[0], .column = 27, .word = take_word};

void sched_print_help(void) {
  printf("zb-sched: pipeline schedules without a model. Costs in; the order of F, B and W jobs of every rank out, with "
         "exact\n"
         "time and memory, both bubbles, a proven lower bound and the critical path\n\n"
         "usage: zb-sched --ranks P --micro-batches M --schedule NAME [options]\n"
         "       zb-sched --groups SIZES --world N [options]\n"
         "       zb-sched --layout LAYOUT --layers N --ranks P [options]\n");
  options_print(&table);
  printf("\nSPEC: f=1,b=1,w=1,comm=0,opt=0,mem=1,mem_w=mem,base=0 (the defaults). f, b, w: ms of a micro-batch on a "
         "rank, over all its\n"
         "chunks; comm: ms of a message between ranks; opt: ms of the optimizer; mem: MiB that a micro-batch keeps on "
         "a rank from F\n"
         "to B, mem_w: how many of them until W; base: MiB always there.\n"
         "\nexamples:\n"
         "  zb-sched --ranks 4 --micro-batches 8 --schedule zb-h1 --chart\n"
         "  zb-sched --ranks 8 --micro-batches 24 --schedule all --costs f=18.5,b=18.1,w=9.3,comm=0.6 --memory-limit "
         "1.5p\n"
         "  zb-sched --problem mine.json --schedule 1f1b --timeline step.svg --csv step.csv\n"
         "  zb-sched --order step.csv --costs f=2,b=2,w=1,comm=0.1\n"
         "  zb-sched --groups tp2-pp4 --world 16 --json\n"
         "  zb-sched --layout 'Et*3|(tt|)*29,m|L' --ranks 16\n"
         "\nexit status: 0 done, 1 wrong input, 2 wrong command line, 3 memory limit too small, 4 file or memory "
         "trouble\n");
}

static void print_options(const zb_schedule_def *schedule) {
  for (int i = 0; schedule->options && i < ZB_SCHEDULE_OPTIONS_MAX && schedule->options[i].name; ++i) {
    const zb_schedule_option *o = &schedule->options[i];
    printf("  %-18s :%s=%lld  %s", "", o->name, (long long)o->value, o->help);
    if (o->most < INT_MAX) printf(" (%lld to %lld)", (long long)o->least, (long long)o->most);
    printf("\n");
  }
}

void sched_print_list(void) {
  printf("schedules:\n");
  for (int i = 0; i < zb_schedule_count(); ++i) {
    printf("  %-18s %s\n", zb_schedule_at(i)->name, zb_schedule_at(i)->summary);
    if (*zb_schedule_aliases(i)) printf("  %-18s also: %s\n", "", zb_schedule_aliases(i));
    print_options(zb_schedule_at(i));
  }
  printf("placements:\n");
  for (int i = 0; i < zb_placement_count(); ++i)
    printf("  %-18s %s\n", zb_placement_at(i)->name, zb_placement_at(i)->summary);
}

zb_status sched_see_help(zb_status status) { return zb_status_hint(status, "zb-sched --help lists the options"); }

static zb_status take_word(void *settings ZB_UNUSED, const char *word) {
  return sched_see_help(ZB_ERROR(USAGE, "expected an option, got '%s'", word));
}

bool sched_costs_is_file(const char *text) {
  const size_t length = strlen(text);
  return !strchr(text, '=') || (length > 5 && !strcmp(text + length - 5, ".json"));
}

/* ---- What fits together ---- */

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), wanted = strlen(ending);
  return length > wanted && !strcmp(text + length - wanted, ending);
}

bool sched_order_is_file(const char *text) { return ends_with(text, ".csv") || ends_with(text, ".txt"); }

/* Whether each output can be written, and in a file of its own, before a search of minutes. */
static zb_status check_outputs(const sched_settings *s) {
  const output_place outputs[] = {{"--timeline", s->timeline, false}, {"--trace", s->trace, false},
                                  {"--csv", s->csv, false},           {"--lowered", s->lowered, false},
                                  {"--text", s->text, false},         {"--write-problem", s->write_problem, false}};
  enum { COUNT = sizeof outputs / sizeof outputs[0] };
  for (int i = 0; i < COUNT; ++i)
    if (outputs[i].path) ZB_TRY(zb_output_check(outputs[i].option, outputs[i].path, NULL));
  const input_place inputs[] = {{"--problem", s->problem}, {"--order", s->order}, {"--costs", s->costs}};
  ZB_TRY(outputs_apart(outputs, COUNT));
  return outputs_spare(outputs, COUNT, inputs, sizeof inputs / sizeof inputs[0]);
}

static zb_status check_files(const sched_settings *s) {
  if (s->timeline && !ends_with(s->timeline, ".svg"))
    return zb_status_hint(ZB_ERROR(USAGE, "--timeline: expected a name that ends in .svg, got '%s'", s->timeline),
                          "--trace writes a Chrome trace (.json)");
  if (s->trace && !ends_with(s->trace, ".json"))
    return zb_status_hint(ZB_ERROR(USAGE, "--trace: expected a name that ends in .json, got '%s'", s->trace),
                          "--timeline writes a picture (.svg)");
  return check_outputs(s);
}

/* Options of schedules say nothing of groups, and so on. */
static zb_status check_uses(const sched_settings *s) {
  const char use = s->groups ? 'g' : s->layout ? 'l' : 's';
  if (s->groups && s->layout) return sched_see_help(ZB_ERROR(USAGE, "expected one of --groups and --layout"));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    if (strchr(uses[i], use) || !option_is_given(&rows[i], s)) continue;
    if (use == 's')
      return sched_see_help(
          ZB_ERROR(USAGE, "%s goes with %s", rows[i].option, *uses[i] == 'g' ? "--groups SIZES" : "--layout LAYOUT"));
    return sched_see_help(
        ZB_ERROR(USAGE, "%s does not go with %s", rows[i].option, use == 'g' ? "--groups" : "--layout"));
  }
  return NULL;
}

static bool is_table(const sched_settings *s) { return s->compare || (s->schedule && !strcmp(s->schedule, "all")); }

static zb_status check(const sched_settings *s) {
  ZB_TRY(check_uses(s));
  if (s->groups || s->layout) return NULL;
  const int orders = (s->schedule != NULL) + (s->compare != NULL) + (s->order != NULL);
  if (orders > 1) return sched_see_help(ZB_ERROR(USAGE, "expected one of --schedule, --compare and --order"));
  if (s->order && (s->chunks || s->placement))
    return sched_see_help(
        ZB_ERROR(USAGE, "%s: %s says where its stages stand", s->chunks ? "--chunks" : "--placement", s->order));
  if (!orders && !s->write_problem) return sched_see_help(ZB_ERROR(USAGE, "--schedule is missing"));
  if (!orders &&
      (s->chart || s->explain || s->json || s->settle || s->timeline || s->trace || s->csv || s->lowered || s->text))
    return sched_see_help(ZB_ERROR(USAGE, "--write-problem alone runs no schedule: add --schedule for other output"));
  const bool file = s->problem || (s->costs && sched_costs_is_file(s->costs));
  if (s->problem && s->costs) return sched_see_help(ZB_ERROR(USAGE, "expected one of --problem and --costs"));
  if (!file && !s->order && !s->ranks) return sched_see_help(ZB_ERROR(USAGE, "--ranks is missing"));
  if (!file && !s->order && !s->micro_batches) return sched_see_help(ZB_ERROR(USAGE, "--micro-batches is missing"));
  zb_metric metric;
  zb_status status = s->metric ? zb_metric_parse(s->metric, &metric) : NULL;
  if (status) {
    zb_status named =
        zb_status_hint(ZB_ERROR(USAGE, "--metric: %s", zb_status_message(status)), "%s", zb_status_hint_text(status));
    zb_status_free(status);
    return named;
  }
  if (is_table(s) && (s->chart || s->trace || s->csv || s->lowered || s->text || s->write_problem || s->explain))
    return sched_see_help(
        ZB_ERROR(USAGE, "a table of several schedules goes with --timeline and --json, not with other output"));
  return check_files(s);
}

zb_status sched_parse(int count, char **words, sched_settings *out) {
  *out = (sched_settings){0};
  ZB_TRY(options_parse(&table, count, words, out));
  if (out->schedule && !out->order && sched_order_is_file(out->schedule)) {
    out->order = out->schedule; /* as zbc takes it */
    out->schedule = NULL;
  }
  return out->help || out->version || out->list ? NULL : check(out);
}
