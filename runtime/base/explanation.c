/* See explanation.h and zb/explain.h. Tests: test/runtime/base/explanation_test.c. */
#include "runtime/base/explanation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/text.h"

enum { COLUMN = 12 };

static const struct {
  const char *name, *help, *remedy;
} causes[ZB_CAUSE_COUNT] = {
#define ZB_CAUSE(ID, name, help, remedy) {name, help, remedy},
#include "zb/causes.def"
#undef ZB_CAUSE
};

const char *zb_cause_name(zb_cause cause) { return causes[cause].name; }
const char *zb_cause_help(zb_cause cause) { return causes[cause].help; }
const char *zb_cause_remedy(zb_cause cause) { return causes[cause].remedy; }

/* ---- Putting together ---- */

zb_status zb_explanation_init(zb_explanation *out, int ranks) {
  *out = (zb_explanation){.ranks = ranks};
  out->idle_ps = zb_alloc((size_t)ranks * sizeof *out->idle_ps);
  out->part_ps = zb_alloc((size_t)ranks * sizeof *out->part_ps);
  if (out->idle_ps && out->part_ps) return NULL;
  zb_explanation_deinit(out);
  return ZB_OUT_OF_MEMORY();
}

void zb_explanation_deinit(zb_explanation *explanation) {
  zb_free(explanation->idle_ps);
  zb_free(explanation->part_ps);
  *explanation = (zb_explanation){0};
}

void zb_explanation_begin(zb_explanation *out) {
  out->has[ZB_CAUSE_DEPENDENCY] = true;
  for (int rank = 0; rank < out->ranks; ++rank)
    out->part_ps[rank][ZB_CAUSE_DEPENDENCY] = out->idle_ps[rank];
}

void zb_explanation_take(zb_explanation *out, zb_cause cause, int64_t time_ps, const int64_t *busy_ps) {
  out->has[cause] = true;
  for (int rank = 0; rank < out->ranks; ++rank) {
    int64_t *left = &out->part_ps[rank][ZB_CAUSE_DEPENDENCY], idle = time_ps - busy_ps[rank];
    if (idle < 0) idle = 0;
    if (idle >= *left) continue;
    out->part_ps[rank][cause] = *left - idle;
    *left = idle;
  }
}

void zb_explanation_save(zb_explanation *out, zb_cause cause, int64_t time_ps) {
  out->saved_ps[cause] = time_ps < out->time_ps ? out->time_ps - time_ps : 0;
}

void zb_explanation_end(zb_explanation *out) {
  double left = 0;
  for (int rank = 0; rank < out->ranks; ++rank)
    left += (double)out->part_ps[rank][ZB_CAUSE_DEPENDENCY];
  out->saved_ps[ZB_CAUSE_DEPENDENCY] = (int64_t)(left / out->ranks);
}

zb_cause zb_explanation_most(const zb_explanation *explanation) {
  zb_cause most = ZB_CAUSE_DEPENDENCY;
  for (int cause = ZB_CAUSE_COUNT - 1; cause >= 0; --cause)
    if (explanation->has[cause] && explanation->saved_ps[cause] > 0 &&
        explanation->saved_ps[cause] >= explanation->saved_ps[most])
      most = (zb_cause)cause;
  return most;
}

/* ---- The table ---- */

typedef struct unit {
  double size;
  const char *name;
} unit;

static unit unit_of(int64_t ps) {
  if (ps >= 10000000) return (unit){1e9, "ms"};
  return ps >= 10000 ? (unit){1e6, "us"} : (unit){1, "ps"};
}

/* A row of numbers: idle, then each cause. */
static void add_row(zb_text *text, const zb_explanation *e, const char *head, double idle, const double *parts,
                    const char *sign) {
  const int width = COLUMN - (int)(*sign != '\0');
  zb_text_add(text, "%-6s", head);
  if (idle >= 0)
    zb_text_add(text, "%*.*f%s", width, *sign ? 2 : 3, idle, sign);
  else
    zb_text_add(text, "%*s", COLUMN, "");
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
    if (e->has[cause]) zb_text_add(text, " %*.*f%s", width, *sign ? 2 : 3, parts[cause], sign);
  zb_text_add(text, "\n");
}

static void add_last_line(zb_text *text, const zb_explanation *e, double idle) {
  const zb_cause most = zb_explanation_most(e);
  if (!(idle > 0))
    zb_text_add(text, "no rank idles\n");
  else if (e->saved_ps[most] == 0)
    zb_text_add(text, "no cause makes the step longer by itself\n");
  else
    zb_text_add(text, "what would help most: %s %.1f%% of the step\n", causes[most].remedy,
                100 * (double)e->saved_ps[most] / (double)e->time_ps);
}

char *zb_explanation_text(const zb_explanation *e) {
  zb_text text = {0};
  const unit time = unit_of(e->time_ps);
  const double whole = (double)e->time_ps * e->ranks / 100;
  double idle = 0, all[ZB_CAUSE_COUNT] = {0}, parts[ZB_CAUSE_COUNT];
  char head[32];
  zb_text_add(&text, "%-6s%*s %s", "rank", COLUMN - 1 - (int)strlen(time.name), "idle", time.name);
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
    if (e->has[cause]) zb_text_add(&text, " %*s", COLUMN, causes[cause].name);
  zb_text_add(&text, "\n");
  for (int rank = 0; rank < e->ranks; ++rank) {
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
      parts[cause] = (double)e->part_ps[rank][cause] / time.size;
      all[cause] += (double)e->part_ps[rank][cause];
    }
    idle += (double)e->idle_ps[rank];
    snprintf(head, sizeof head, "%d", rank);
    add_row(&text, e, head, (double)e->idle_ps[rank] / time.size, parts, "");
  }
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
    parts[cause] = all[cause] / time.size;
  add_row(&text, e, "all", idle / time.size, parts, "");
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
    parts[cause] = whole > 0 ? all[cause] / whole : 0;
  add_row(&text, e, "share", whole > 0 ? idle / whole : 0, parts, "%");
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
    parts[cause] = e->time_ps > 0 ? 100 * (double)e->saved_ps[cause] / (double)e->time_ps : 0;
  add_row(&text, e, "saves", -1, parts, "%");
  add_last_line(&text, e, idle);
  return zb_text_take(&text);
}

char *zb_explanation_json(const zb_explanation *e) {
  zb_text text = {0};
  zb_text_add(&text, "{\"time_ps\": %" PRId64 ", \"most\": \"%s\", \"saved_ps\": {", e->time_ps,
              causes[zb_explanation_most(e)].name);
  const char *between = "";
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
    if (!e->has[cause]) continue;
    zb_text_add(&text, "%s\"%s\": %" PRId64, between, causes[cause].name, e->saved_ps[cause]);
    between = ", ";
  }
  zb_text_add(&text, "}, \"ranks\": [");
  for (int rank = 0; rank < e->ranks; ++rank) {
    zb_text_add(&text, "%s{\"idle_ps\": %" PRId64, rank ? ", " : "", e->idle_ps[rank]);
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause)
      if (e->has[cause]) zb_text_add(&text, ", \"%s_ps\": %" PRId64, causes[cause].name, e->part_ps[rank][cause]);
    zb_text_add(&text, "}");
  }
  zb_text_add(&text, "]}");
  return zb_text_take(&text);
}
