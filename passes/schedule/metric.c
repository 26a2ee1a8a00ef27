/* The metrics of zb/metrics.def: names and reading. Tests: test/passes/schedule/period_test.c. */
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/base/words.h"
#include "zb/schedule.h"

static const char *const names[] = {
#define ZB_METRIC(name, text, meaning) text,
#include "zb/metrics.def"
#undef ZB_METRIC
};

const char *zb_metric_name(zb_metric metric) { return names[metric]; }

zb_status zb_metric_parse(const char *name, zb_metric *out) {
  for (int i = 0; i < ZB_METRIC_COUNT; ++i)
    if (strcmp(names[i], name) == 0) {
      *out = (zb_metric)i;
      return NULL;
    }
  zb_text known = {0};
  for (int i = 0; i < ZB_METRIC_COUNT; ++i)
    zb_text_add(&known, "%s%s", i == 0 ? "" : i + 1 < ZB_METRIC_COUNT ? ", " : " or ", names[i]);
  zb_status status = known.failed ? ZB_OUT_OF_MEMORY() : ZB_ERROR(USAGE, "expected %s, got '%s'", known.data, name);
  zb_text_deinit(&known);
  return zb_hint_name(status, "metric", name, names, ZB_METRIC_COUNT);
}
