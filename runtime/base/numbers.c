/* Bytes and durations as text, and back: include/zb/base.h. Tests: test/runtime/base/base_test.c. */
#include "zb/base.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *zb_bytes_text(uint64_t bytes, char out[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) /* 1023.95 would be printed as 1024.0 */
    value /= 1024, ++unit;
  snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return out;
}

const char *zb_time_text(double seconds, char out[32]) {
  static const struct {
    const char *name;
    double size;
  } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  size_t unit = 0;
  while (seconds < 0.999995 * units[unit].size && unit + 1 < sizeof units / sizeof units[0])
    ++unit;
  if (seconds == 0) unit = 0; /* "0.00 s" */
  snprintf(out, 32, "%.2f %s", seconds / units[unit].size, units[unit].name);
  return out;
}

bool zb_bytes_parse(const char *text, uint64_t *out) {
  static const char units[] = "KMGT";
  char *end = NULL;
  if (!isdigit((unsigned char)*text)) return false; /* no sign, blank, infinity */
  const bool whole = strspn(text, "0123456789") == strcspn(text, "KMGTkmgt");
  const double number = strtod(text, &end);
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  const double bytes = unit ? number * (double)(UINT64_C(1) << (10 * (unit - units + 1))) : number;
  if (unit) end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
  if (*end || (!unit && !whole) || !(bytes >= 1 && bytes <= 1e18)) return false;
  *out = (uint64_t)bytes;
  return true;
}
