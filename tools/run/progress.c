/* The line that says how far a run is, where standard error is a terminal: one line, written again and again, and gone
 * before anything else is printed. Tests: test/e2e/logs.py. */
#include "tools/run/run.h"
#include "tools/command/line.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_COLUMNS = 20, LINE_BYTES = 256, SMOOTH_STEPS = 20 };
static const double least_seconds = 0.1; /* between two lines, where nothing else is printed there */

static struct {
  bool is_on, shares_terminal; /* with the lines of the steps */
  int64_t steps;               /* that this run has timed */
  double last_step, last_drawn, step_seconds;
} shown;

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* "3 h 05 min", "4 min 05 s", "12 s" */
static const char *duration_text(double seconds, char out[32]) {
  const long long whole = seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
  if (whole >= 3600)
    snprintf(out, 32, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
  else if (whole >= 60)
    snprintf(out, 32, "%lld min %02lld s", whole / 60, whole % 60);
  else
    snprintf(out, 32, "%lld s", whole);
  return out;
}

/* result NULL: before the first step. */
static void draw(const zb_step_result *result, int64_t done, int64_t last) {
  char line[LINE_BYTES], bar[BAR_COLUMNS + 1], rate[32], left[32];
  const int full = (int)(BAR_COLUMNS * (double)done / (double)last);
  for (int i = 0; i < BAR_COLUMNS; ++i)
    bar[i] = i < full ? '#' : '.';
  bar[BAR_COLUMNS] = '\0';
  int length = snprintf(line, sizeof line, "[%s] step %lld/%lld", bar, (long long)done, (long long)last);
  if (result && isfinite(result->loss))
    length += snprintf(line + length, sizeof line - (size_t)length, "  loss %.6f", result->loss);
  if (result)
    snprintf(line + length, sizeof line - (size_t)length, "  %s tokens/s  %s left",
             run_short_number(run_tokens_per_second(result), rate),
             duration_text(shown.step_seconds * (double)(last - done), left));
  run_told.has_progress = 1;
  tool_draw_line(line);
  shown.last_drawn = now_seconds();
}

void run_progress_begin(const zb_session *session, const arguments *args, int64_t last) {
  shown.is_on =
      tool_has_line() && !args->quiet && !args->json && !args->no_progress && zb_session_describe(session).process == 0;
  if (!shown.is_on) return;
  shown.shares_terminal = isatty(STDOUT_FILENO);
  shown.last_step = now_seconds();
  draw(NULL, zb_session_steps(session), last);
}

void run_progress_step(const zb_step_result *result, int64_t last) {
  if (!shown.is_on) return;
  const double now = now_seconds(), took = now - shown.last_step;
  shown.last_step = now;
  ++shown.steps;
  /* The first step finds cold memory: it counts only until there is another. */
  const double weight =
      shown.steps <= 2 ? 1 : 1 / (double)(shown.steps < SMOOTH_STEPS ? shown.steps - 1 : SMOOTH_STEPS);
  shown.step_seconds += weight * (took - shown.step_seconds);
  if (shown.shares_terminal || now - shown.last_drawn >= least_seconds) draw(result, result->step + 1, last);
}

void run_progress_hide(void) {
  if (!run_told.has_progress) return;
  run_told.has_progress = 0;
  tool_hide_line();
}

void run_progress_make_room(void) {
  if (shown.shares_terminal) run_progress_hide();
}

void run_progress_end(void) {
  run_progress_hide();
  shown.is_on = false;
}
