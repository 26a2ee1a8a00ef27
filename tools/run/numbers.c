/* Numbers of steps as people read them. */
#include <math.h>
#include <stdio.h>

#include "tools/run/run.h"

double run_per_second(double tokens, double seconds) { return seconds > 0 ? tokens / seconds : (double)NAN; }

double run_tokens_per_second(const zb_step_result *result) { return run_per_second(result->tokens, result->seconds); }

const char *run_short_number(double value, char text[32]) {
  static const char *const units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  if (!isfinite(value)) return "-";
  while (value >= 999.95 && unit + 1 < sizeof units / sizeof units[0])
    value /= 1000, ++unit;
  snprintf(text, 32, "%.1f%s", value, units[unit]);
  return text;
}
