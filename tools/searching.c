/* See searching.h. Tests: test/e2e/stopped_search.py. */
#include "tools/searching.h"
#include "tools/command/line.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* What the handler changes and looks at. */
static struct {
  volatile sig_atomic_t searches, is_stopped, has_line;
} told;

static struct {
  bool is_on, has_begun;
  time_t first, last;
} shown;

static void say(const char *text, size_t bytes) {
  const int kept = errno;
  if (write(STDERR_FILENO, text, bytes) < 0) errno = kept;
}

static void on_interrupt(int number) {
  static const char hide[] = TOOL_HIDE_LINE;
  static const char text[] =
      "zbc: the search ends, with the best plan so far if there is one; a second Ctrl-C ends zbc at once\n";
  if (told.has_line) say(hide, sizeof hide - 1);
  told.has_line = 0;
  if (told.searches && !told.is_stopped) {
    told.is_stopped = 1;
    say(text, sizeof text - 1);
    return;
  }
  signal(number, SIG_DFL);
  raise(number);
}

static void hide(void) {
  if (told.has_line) tool_hide_line();
  told.has_line = 0;
}

/* In 80 columns. */
static void draw(const zb_search_state *state) {
  const long long seconds = (long long)(shown.last - shown.first);
  char line[256], step[32], bytes[32], bound[32];
  if (state->best_seconds > 0)
    snprintf(line, sizeof line, "search %lld s: %d plans, best %s in %s, bound %s; ^C takes it", seconds, state->plans,
             zb_time_text(state->best_seconds, step), zb_bytes_text(state->best_bytes, bytes),
             zb_time_text(state->bound_seconds, bound));
  else
    snprintf(line, sizeof line, "search %lld s: %d plans, none yet within the limit", seconds, state->plans);
  told.has_line = 1;
  tool_draw_line(line);
}

static zb_search_answer on_search(void *context, const zb_search_state *state) {
  struct timespec now;
  (void)context;
  told.searches = 1;
  if (told.is_stopped) return ZB_SEARCH_TAKE_BEST;
  if (!shown.is_on) return ZB_SEARCH_GO_ON;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!shown.has_begun) shown.first = shown.last = now.tv_sec;
  shown.has_begun = true;
  if (now.tv_sec == shown.last) return ZB_SEARCH_GO_ON;
  shown.last = now.tv_sec;
  draw(state);
  return ZB_SEARCH_GO_ON;
}

/* A search is over where something else begins. */
static void on_part(void *context, const char *part) {
  (void)context;
  (void)part;
  searching_end();
}

static void on_diagnostic(void *context, const char *text) {
  (void)context;
  hide();
  fputs(text, stderr);
}

void searching_begin(zb_compile_params *params) {
  struct sigaction given, action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
  params->searching = on_search;
  params->progress = on_part;
  params->diagnostic = on_diagnostic;
  shown.is_on = tool_has_line();
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGINT, NULL, &given) == 0 && given.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
}

void searching_end(void) {
  told.searches = 0;
  hide();
}

void searching_die(void) {
  signal(SIGINT, SIG_DFL);
  raise(SIGINT);
}
