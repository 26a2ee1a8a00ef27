/* How a signal ends a run: after the step that is running, with its save; or at once. Tests: test/e2e/signals.py. */
#include "tools/command/line.h"
#include "tools/run/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Signals that end a run after the step that is running, and save it. ROW(signal, is_order). A second order gives the
 * step up; the others may come twice of themselves: a shell and the kernel tell of a closed terminal, a limit of
 * processor time is told again each second, a batch system sends SIGUSR1 or SIGUSR2 (Slurm's --signal) and SIGTERM
 * after it. SIGQUIT (Ctrl-\) stays what ends a program at once. */
#define SIGNALS(ROW)                                                                                                   \
  ROW(SIGINT, true) ROW(SIGTERM, true) ROW(SIGHUP, false) ROW(SIGUSR1, false) ROW(SIGUSR2, false) ROW(SIGXCPU, false)

static const struct signal_row {
  int number;
  bool is_order;
} signal_rows[] = {
#define ROW(number, is_order) {number, is_order},
    SIGNALS(ROW)
#undef ROW
};
enum { SIGNAL_COUNT = sizeof signal_rows / sizeof signal_rows[0] };

run_signals run_told;

static void say(const char *text, size_t bytes) {
  static const char hide[] = TOOL_HIDE_LINE;
  int kept = errno;
  if (run_told.has_progress && write(STDERR_FILENO, hide, sizeof hide - 1) < 0) errno = kept;
  if (write(STDERR_FILENO, text, bytes) < 0) errno = kept;
  errno = kept;
}

/* Before the first step. Who waits for processes that may never come ends at once, as if nothing were caught: 130 or
 * 143 in a shell. So does who is alone. But processes that have met count on each other: they end together, after the
 * first step. */
static void on_early_signal(int number) {
  static const char waiting[] = "zb-run: ended by a signal while it waited for other processes: nothing was trained\n";
  static const char loading[] = "zb-run: ended by a signal before the first step: nothing was trained\n";
  static const char together[] =
      "zb-run: ends with the other processes after the first step; a second signal ends it at once\n";
  signal(number, SIG_DFL);
  if (run_told.many_processes && run_told.has_met) {
    say(together, sizeof together - 1);
    return;
  }
  say(run_told.many_processes ? waiting : loading, run_told.many_processes ? sizeof waiting - 1 : sizeof loading - 1);
  raise(number);
}

static bool is_order(int number) {
  for (int i = 0; i < SIGNAL_COUNT; ++i)
    if (signal_rows[i].number == number) return signal_rows[i].is_order;
  return false;
}

static void on_signal(int number) {
  static const char text[] = "zb-run: finishing this step; a second signal abandons it\n";
  static const char told[] = "zb-run: told to end after this step (has a process died?):\n";
  char positions[4096];
  int kept = errno;
  zb_session *session = run_told.session;
  bool first = run_told.seen == 0, gives_up = is_order(number) && run_told.orders_seen > 0;
  run_told.seen = 1;
  if (is_order(number)) run_told.orders_seen = 1;
  if (session && first) {
    zb_session_stop(session);
    /* mpirun ends the other processes by SIGTERM when one dies, and kills them a second later: this may be all that
     * they can say. */
    size_t used = 0;
    if (run_told.many_processes && number == SIGTERM) {
      memcpy(positions, told, sizeof told - 1);
      used =
          sizeof told - 1 + zb_session_positions(session, positions + sizeof told - 1, sizeof positions - sizeof told);
    }
    say(used > 0 ? positions : text, used > 0 ? used : sizeof text - 1);
  } else if (session) {
    if (gives_up) zb_session_interrupt(session);
  } else if (!run_told.has_trained) {
    on_early_signal(number);
  } else { /* all is done but the end */
    signal(number, SIG_DFL);
  }
  errno = kept;
}

void run_catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < SIGNAL_COUNT; ++i) {
    struct sigaction given;
    if (sigaction(signal_rows[i].number, NULL, &given) != 0) continue;
    bool ignored =
        given.sa_handler == SIG_IGN &&
        !signal_rows[i].is_order; /* a script's background job has SIGINT ignored, and is still told to end by it */
    if (signal_rows[i].number == SIGHUP) run_told.outlives_terminal = ignored;
    if (!ignored) sigaction(signal_rows[i].number, &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN); /* who reads the output may go away: what was trained is saved first */
}
