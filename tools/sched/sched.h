/* The parts of zb-sched: options.c reads the command line, problem.c makes the problem of a schedule or an order,
 * report.c prints; groups.c and layout.c are --groups and --layout. */
#pragma once

#include "tools/command/options.h"
#include "zb/schedule.h"

typedef struct sched_settings { /* a number 0: open */
#define ROW(option, group, goes_with, field, kind, value, help) option_##kind field;
#include "tools/command/zb-sched.def"
} sched_settings;

/* Reads --name value and --name=value, and checks what can be checked of the words alone. */
zb_status sched_parse(int count, char **words, sched_settings *out) ZB_MUST_USE;
void sched_print_help(void);
void sched_print_list(void);
/* Adds the hint that --help lists the options. */
zb_status sched_see_help(zb_status status);

/* Whether it names a file of measured costs: without '=', or with the ending .json. */
bool sched_costs_is_file(const char *text);
/* Whether it names a file of an order, by the ending .csv or .txt. */
bool sched_order_is_file(const char *text);

/* Where problems come from: a file, which fixes ranks, stages and placement, or --costs for any of them. */
typedef struct sched_source {
  bool file;
  zb_problem_data data; /* of the file */
  zb_uniform_costs costs;
} sched_source;
zb_status sched_source_init(const sched_settings *s, sched_source *out) ZB_MUST_USE;
void sched_source_deinit(sched_source *source);

/* One schedule, or one order from outside, on its problem. */
typedef struct sched_case {
  char *name;                /* of the schedule, with the options that were given; or the file of an order */
  const char *placement;     /* its name; "given" for a list of ranks */
  int micro_batches;         /* of the whole step: of both directions where there are two */
  zb_schedule_choice choice; /* no schedule: an order from outside */
  bool renumbered;           /* its micro-batches, by the order of W */
  bool placement_open;       /* nobody named one: a search may choose */
  bool searched;
  zb_search_report report; /* of a search */
  zb_problem_data data;
  zb_order order;
  zb_simulation simulation;
  zb_period period;
  zb_status status; /* why there is no order: USAGE or INFEASIBLE */
} sched_case;
void sched_case_deinit(sched_case *c);

/* Fills data, placement and micro_batches for a schedule. */
zb_status sched_make_problem(const sched_settings *s, const sched_source *source, const zb_schedule_def *schedule,
                             sched_case *c) ZB_MUST_USE;

/* Reads the order that the case names and makes its problem: with its numbers of ranks, stages and micro-batches, and
 * its placement, or the problem of a file, which it then must fit. */
zb_status sched_read_order(const sched_settings *s, const sched_source *source, sched_case *c) ZB_MUST_USE;

void sched_print_summary(const sched_case *c);
/* Which jobs and messages make the step as long as it is. */
zb_status sched_print_path(const sched_case *c) ZB_MUST_USE;
/* Why ranks idle: a table, or a member of the object of sched_print_json. */
zb_status sched_print_explanation(const sched_case *c, bool json) ZB_MUST_USE;
zb_status sched_print_json(const sched_settings *s, const sched_case *c) ZB_MUST_USE;
/* Those that fit first, by time; else as they were. */
void sched_sort(sched_case *cases, int count);
/* A row a case. */
void sched_print_table(const sched_case *cases, int count);

/* --groups and --layout: make them and print them. */
zb_status sched_run_groups(const sched_settings *s) ZB_MUST_USE;
zb_status sched_run_layout(const sched_settings *s) ZB_MUST_USE;
