/* The parts of zb-run: arguments.c reads the command line, signals.c ends a run by a signal, report.c prints, log.c
 * keeps numbers of steps in files, progress.c says how far a run is; zb-run.c trains. */
#pragma once

#include "tools/command/options.h"
#include "zb/log.h"
#include "zb/runtime.h"

#include <signal.h>
#include <stdio.h>

typedef struct arguments {
  const char *directory;
#define ROW(option, field, kind, ...) option_##kind field;
#include "tools/command/zb-run.def"
} arguments;

enum {
#define ROW(option, field, ...) RUN_OPTION_##field,
#include "tools/command/zb-run.def"
  RUN_OPTIONS,
  RUN_NUMBER_BYTES = 24
};

/* --clip-norm as a number; 0: not given. What is no number above 0 was refused. */
double run_clip_norm(const arguments *args);
/* What the device sim is to do; what all its ranks must be run for: --memory, --timeline, --trace. */
void run_set_simulation(const arguments *args, zb_session_params *out);
/* Reads the command line, and checks what can be checked of the words alone. */
zb_status run_parse(int count, char **words, arguments *out) ZB_MUST_USE;
void run_print_help(void);
/* What the session does not see of the options that must be the same. Numbers are written to `numbers`; everything is
 * borrowed. Returns how many there are. */
int run_list_settings(const arguments *args, zb_setting settings[RUN_OPTIONS],
                      char numbers[RUN_OPTIONS][RUN_NUMBER_BYTES]);

/* The options that were given, as a JSON object: {"data": "text:x", "steps": 10}. */
void run_write_options(const arguments *args, FILE *out);

/* What signals change, and what they look at: the handler may touch nothing else. */
typedef struct run_signals {
  volatile sig_atomic_t seen, orders_seen;
  volatile sig_atomic_t many_processes, has_met, has_trained; /* by zb-run.c */
  zb_session *volatile session;                               /* the one that makes steps */
  volatile sig_atomic_t has_progress;                         /* the line of progress.c stands there */
  bool outlives_terminal;                                     /* SIGHUP was ignored when it began, as nohup has it */
} run_signals;
extern run_signals run_told;
void run_catch_signals(void);

/* The arguments of a run and what started it: of all that is called back while its session is made. */
typedef struct opening {
  const arguments *args;
  const char *launcher;
} opening;

/* As the callbacks of zb_session_params; context: an opening. */
void run_say_line(void *context, const char *line);
/* As soon as the plan is read: weights may take a while. */
void run_print_header(void *context, const zb_session *session);
/* What is known once all is loaded. */
void run_print_start(const zb_session *session, const arguments *args);
/* last: the number of the last step of this run. *out_norm is set where --grad-norms prints norms. */
zb_status run_print_step(zb_session *session, const arguments *args, const zb_step_result *result, int64_t last,
                         double *out_norm) ZB_MUST_USE;
/* The L2 norm of all gradients of the last step. Called by all processes. */
zb_status run_find_norm(zb_session *session, double *out) ZB_MUST_USE;
/* NaN: in no time. */
double run_per_second(double tokens, double seconds);
double run_tokens_per_second(const zb_step_result *result);
/* "41.0k": three digits that a person can read. */
const char *run_short_number(double value, char text[32]);
/* last: the evaluation ends the run. */
void run_print_evaluation(const arguments *args, const zb_evaluation_result *result, bool last);
zb_status run_print_explanation(zb_session *session, const arguments *args) ZB_MUST_USE;
zb_status run_print_profile(zb_session *session, const arguments *args) ZB_MUST_USE;
/* What each rank was given, how much of it its jobs touch, and how much is alive at the fullest moment. */
zb_status run_print_memory(zb_session *session, const arguments *args) ZB_MUST_USE;
void run_print_parts(bool json);
/* During training. A failure is kept in *out, and the run ends after the next step, with its save: a reader that went
 * away (zb-run | head), a terminal that was closed, or a full disk must not lose what was trained. Who ignores SIGHUP
 * wants to go on without the terminal. */
void run_flush_or_stop(zb_session *session, zb_status *out);

/* ---- Logs ---- */

/* What the fields of a row are made of (fields.def). */
typedef struct run_row {
  const zb_step_result *result;
  double gradient_norm, evaluation_loss, arena_bytes, peak_bytes;
} run_row;

typedef struct run_logs run_logs;
/* Opens the files of --log and --tensorboard, in process 0; *out is NULL where there are none, and the functions below
 * do nothing then. */
zb_status run_logs_open(const zb_session *session, const arguments *args, run_logs **out) ZB_MUST_USE;
/* A row of a step, which is written by run_logs_write or at the end; the loss of an evaluation behind it belongs to it.
 */
void run_logs_take(run_logs *logs, const zb_step_result *result, double gradient_norm);
void run_logs_evaluated(run_logs *logs, double loss);
zb_status run_logs_write(run_logs *logs) ZB_MUST_USE;
/* Before a save that counts the step: a run that is killed before its row is written has it, too. */
zb_status run_logs_write_early(run_logs *logs) ZB_MUST_USE;
zb_status run_logs_close(run_logs *logs) ZB_MUST_USE;

/* ---- Progress, in process 0 on a terminal; else these do nothing ---- */

void run_progress_begin(const zb_session *session, const arguments *args, int64_t last);
/* A step is made: the line tells of it. */
void run_progress_step(const zb_step_result *result, int64_t last);
/* Before a line on standard output; and before one on standard error. */
void run_progress_make_room(void);
void run_progress_hide(void);
/* There is no line from now on. */
void run_progress_end(void);
