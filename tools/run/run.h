/* The parts of zb-run: arguments.c reads the command line, signals.c ends a run by a signal, report.c prints; zb-run.c
 * trains. */
#ifndef ZB_TOOLS_RUN_H
#define ZB_TOOLS_RUN_H

#include "tools/command/options.h"
#include "zb/runtime.h"

#include <signal.h>

typedef struct arguments {
  const char *directory;
#define ROW(option, field, kind, across, argument, lowest, highest, help) option_##kind field;
#include "tools/command/zb-run.def"
} arguments;

enum {
#define ROW(option, field, ...) RUN_OPTION_##field,
#include "tools/command/zb-run.def"
  RUN_OPTIONS,
  RUN_NUMBER_BYTES = 24
};

/* Reads the command line, and checks what can be checked of the words alone. */
zb_status run_parse(int count, char **words, arguments *out) ZB_MUST_USE;
void run_print_help(void);
/* What the session does not see of the options that must be the same. Numbers are written to `numbers`; everything is
 * borrowed. Returns how many there are. */
int run_list_settings(const arguments *args, zb_setting settings[RUN_OPTIONS],
                      char numbers[RUN_OPTIONS][RUN_NUMBER_BYTES]);

/* What signals change, and what they look at: the handler may touch nothing else. */
typedef struct run_signals {
  volatile sig_atomic_t seen, orders_seen;
  volatile sig_atomic_t many_processes, has_met, has_trained; /* by zb-run.c */
  zb_session *volatile session;                               /* the one that makes steps */
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
/* last: the number of the last step of this run. */
zb_status run_print_step(zb_session *session, const arguments *args, const zb_step_result *result,
                         int64_t last) ZB_MUST_USE;
/* last: the evaluation ends the run. */
void run_print_evaluation(const arguments *args, const zb_evaluation_result *result, bool last);
zb_status run_print_profile(zb_session *session, const arguments *args) ZB_MUST_USE;
/* What each rank was given, how much of it its jobs touch, and how much is alive at the fullest moment. */
zb_status run_print_memory(zb_session *session, const arguments *args) ZB_MUST_USE;
void run_print_parts(bool json);
/* During training. A failure is kept in *out, and the run ends after the next step, with its save: a reader that went
 * away (zb-run | head), a terminal that was closed, or a full disk must not lose what was trained. Who ignores SIGHUP
 * wants to go on without the terminal. */
void run_flush_or_stop(zb_session *session, zb_status *out);

#endif
