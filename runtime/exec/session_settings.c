/* What a checkpoint keeps of how a run was trained, and what of it the plan and the options of a run that goes on with
 * it change: that is said, as a run may be meant to change, but not unseen. Tests: test/e2e/faults.py. */
#include "runtime/exec/session_parts.h"

#include "runtime/base/digest.h"
#include "runtime/base/map.h"
#include "runtime/base/text.h"
#include "runtime/exec/data_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of rates and decays that parameters have of their own, by zbc --group: of which ranks have them nothing depends. */
static zb_status hash_groups(const zb_plan *plan, uint64_t *out) {
  zb_map *seen = zb_map_create();
  bool failed = !seen;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].setting_count && !failed; ++i) {
      const zb_plan_setting *setting = &plan->ranks[r].settings[i];
      if (setting->kind != ZB_SETTING_UPDATE || !setting->own || zb_map_get(seen, setting->name, NULL)) continue;
      uint64_t hash = zb_fnv1a(ZB_FNV_START, setting->name, strlen(setting->name));
      for (int k = 0; k < ZB_UPDATE_NUMBERS; ++k)
        if (setting->own >> k & 1) hash = zb_fnv1a(hash ^ (uint64_t)k, &setting->defaults[k], sizeof(double));
      *out ^= hash;
      failed = !zb_map_set(seen, setting->name, 1);
    }
  zb_map_destroy(seen);
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

static double greatest_norm(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].setting_count; ++i)
      if (plan->ranks[r].settings[i].kind == ZB_SETTING_MAX_NORM) return plan->ranks[r].settings[i].defaults[0];
  return (double)NAN;
}

/* The keys of a line "adamw:lr=1e-3,beta1=0.9". */
static void add_optimizer(const char *line, zb_text *out) {
  const char *at = line ? strchr(line, ':') : NULL;
  while (at && *at && at[1]) {
    const size_t length = strcspn(at + 1, ",");
    zb_text_add(out, "%.*s\n", (int)length, at + 1);
    at += 1 + length;
  }
}

/* Lines "KEY=VALUE". */
static zb_status describe(const zb_session *session, const zb_plan *whole, double clip_norm, zb_text *out) {
  const zb_plan *plan = session->plan;
  const double norm = clip_norm > 0 ? clip_norm : greatest_norm(whole);
  uint64_t groups = 0;
  ZB_TRY(hash_groups(whole, &groups));
  add_optimizer(plan->optimizer, out);
  zb_text_add(out, "clip-norm=");
  if (isnan(norm))
    zb_text_add(out, "none");
  else
    zb_number_add(norm, out);
  zb_text_add(
      out, "\nloss-mean=%s\nprecision=%s\nmicro-batches=%d\nrows of a step=%" PRId64 "\ngroups=%016" PRIx64 "\n",
      plan->weighted ? "targets" : "micro-batches", plan->precision && *plan->precision ? plan->precision : "f32",
      plan->micro_batches, zb_data_rows_of_plan(plan) * plan->micro_batches, groups);
  return out->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* The value of a key; NULL: there is none. */
static const char *value_of(const char *lines, const char *key, size_t length, size_t *out_length) {
  for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n')
    if (strncmp(at, key, length) == 0 && at[length] == '=') {
      *out_length = strcspn(at + length + 1, "\n");
      return at + length + 1;
    }
  return NULL;
}

static bool is_same(const char *a, size_t a_length, const char *b, size_t b_length) {
  char *a_end = NULL, *b_end = NULL;
  const double x = strtod(a, &a_end), y = strtod(b, &b_end);
  if (a_end == a + a_length && b_end == b + b_length && a_length && b_length) return x == y;
  return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* Whether a number of the plan's optimizer does not count, as the run or the checkpoint says another for all. */
static bool is_covered(const zb_session *session, const char *key, size_t length) {
  static const char *const keys[ZB_UPDATE_NUMBERS] = {"lr", "weight_decay"};
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i)
    if (strlen(keys[i]) == length && strncmp(keys[i], key, length) == 0) return !isnan(session->rates.numbers[i]);
  return false;
}

/* now, saved: lines. Says each key whose value is another. */
static void compare(zb_session *session, const char *now, const char *saved) {
  zb_text *out = &session->rates.changes;
  for (const char *at = now; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    const size_t length = strcspn(at, "="), value_length = strcspn(at + length + 1, "\n");
    size_t old_length = 0;
    const char *value = at + length + 1, *old = value_of(saved, at, length, &old_length);
    if (!old || is_same(value, value_length, old, old_length) || is_covered(session, at, length)) continue;
    zb_text_add(out, "%swarning: ", out->length ? "\n" : "");
    if (strncmp(at, "groups=", 7) == 0)
      zb_text_add(out,
                  "rates or decays that parameters have of their own (zbc --group) are not those of the checkpoint");
    else
      zb_text_add(out, "%.*s %.*s replaces '%.*s' of the checkpoint", (int)length, at, (int)value_length, value,
                  (int)old_length, old);
  }
}

/* Process 0 writes the text, and says what differs: it alone looks at the plan of all ranks. */
zb_status zb_session_open_settings(zb_session *session, const zb_session_params *params,
                                   const zb_session_sources *sources, const zb_checkpoint *resumed) {
  zb_plan *whole = NULL;
  zb_text now = {0}, saved = {0};
  if (session->process > 0 || session->plan->inference || session->clocks) return NULL;
  if (sources->folder && session->processes > 1) ZB_TRY(zb_session_read_plan(sources->folder, 0, -1, &whole));
  zb_status status = describe(session, whole ? whole : session->plan, params->clip_norm, &now);
  zb_plan_destroy(whole);
  session->settings = status ? NULL : zb_arena_strdup(&session->memory, now.data);
  if (!status && resumed && !resumed->settings)
    add_optimizer(zb_store_metadata(resumed->optimizer, "zb.optimizer"), &saved);
  if (!status && resumed)
    compare(session, now.data, resumed->settings ? resumed->settings : saved.data ? saved.data : "");
  if (!status && (!session->settings || saved.failed || session->rates.changes.failed)) status = ZB_OUT_OF_MEMORY();
  zb_text_deinit(&now);
  zb_text_deinit(&saved);
  return status;
}
