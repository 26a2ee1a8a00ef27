/* Bytes and durations as text, and back: include/zb/base.h. Tests: test/runtime/base/base_test.c. */
#include "zb/base.h"

#include <ctype.h>
#include <math.h>
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

const char *zb_bytes_exact_text(uint64_t bytes, char out[64]) {
  char rounded[32], digits[32], grouped[48];
  const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
  size_t used = 0;
  for (int i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0) grouped[used++] = ',';
    grouped[used++] = digits[i];
  }
  grouped[used] = '\0';
  if (bytes < 1024)
    snprintf(out, 64, "%s byte%s", grouped, bytes == 1 ? "" : "s");
  else
    snprintf(out, 64, "%s (%s bytes)", zb_bytes_text(bytes, rounded), grouped);
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
  if (!isdigit((unsigned char)*text) || strpbrk(text, "xX")) return false; /* no sign, blank, infinity, hexadecimal */
  const double number = strtod(text, &end);
  end += *end == ' ' && end[1];
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  const bool decimal = unit && strcmp(end + 1, "B") == 0;
  double bytes = number;
  for (const char *u = units; unit && u <= unit; ++u)
    bytes *= decimal ? 1000 : 1024;
  if (unit) end += strcmp(end + 1, "iB") == 0 ? 3 : decimal ? 2 : 1;
  if (*end || (!unit && bytes != floor(bytes)) || !(bytes >= 1 && bytes <= 1e18)) return false;
  *out = (uint64_t)bytes;
  return true;
}
