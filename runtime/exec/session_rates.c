/* The rates of a session (rates.h): opened, set before each step, told to the other processes. Tests:
 * test/e2e/rates.py, test/runtime/exec/session_test.c. */
#include "runtime/exec/session_parts.h"

#include "runtime/base/digest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rate in the line of the plan's optimizer, "adamw:lr=1e-3,..."; NaN: the line has none. */
static double rate_of_plan(const zb_plan *plan) {
  static const char key[] = "lr=";
  const char *line = plan->optimizer ? plan->optimizer : "", *at = strstr(line, key);
  while (at && at > line && at[-1] != ':' && at[-1] != ',')
    at = strstr(at + 1, key);
  return at ? strtod(at + sizeof key - 1, NULL) : (double)NAN;
}

/* A group is looked for among the parameters of all ranks. */
static zb_status check_groups(const zb_session *session, const zb_session_sources *sources) {
  zb_plan *whole = NULL;
  if (session->rates.group_count == 0) return NULL;
  if (sources->folder && session->processes > 1) ZB_TRY(zb_session_read_plan(sources->folder, 0, -1, &whole));
  zb_status status = zb_rates_check_groups(&session->rates, whole ? whole : session->plan);
  zb_plan_destroy(whole);
  return status;
}

zb_status zb_session_open_rates(zb_session *session, const zb_session_params *params, const zb_session_sources *sources,
                                const zb_checkpoint *resumed) {
  zb_text text = {0};
  zb_rates *rates = &session->rates;
  ZB_TRY(zb_rates_open(params, resumed ? resumed->rates : NULL, resumed ? resumed->rate_table : NULL, rates));
  ZB_TRY(check_groups(session, sources));
  session->lr = isnan(rates->numbers[ZB_UPDATE_RATE]) ? rate_of_plan(session->plan) : rates->numbers[ZB_UPDATE_RATE];
  zb_rates_describe(rates, &text);
  session->rates_text = text.failed ? NULL : zb_arena_strdup(&session->memory, text.data ? text.data : "");
  zb_text_deinit(&text);
  ZB_TAKE(&session->memory, session->bases, session->rank_count + 1);
  ZB_TRY(zb_arena_status(&session->memory));
  for (int i = 0; i < session->rank_count; ++i) {
    const zb_plan_rank *rank = &session->plan->ranks[session->first_rank + i];
    if (!ZB_TAKE(&session->memory, session->bases[i], rank->setting_count + 1)) return ZB_OUT_OF_MEMORY();
    for (int k = 0; k < rank->setting_count; ++k)
      if (rank->settings[k].kind == ZB_SETTING_UPDATE) zb_rates_base(rates, &rank->settings[k], session->bases[i][k]);
  }
  return session->rates_text ? NULL : ZB_OUT_OF_MEMORY();
}

void zb_session_set_rank_rates(zb_session *session, int index, int64_t step) {
  const double factor = zb_rates_factor(&session->rates, step);
  const zb_plan_rank *rank = session->executors[index].program;
  for (int k = 0; k < rank->setting_count; ++k) {
    double *numbers = zb_executor_setting(&session->executors[index], k);
    if (rank->settings[k].kind != ZB_SETTING_UPDATE) continue;
    numbers[ZB_UPDATE_RATE] = session->bases[index][k][ZB_UPDATE_RATE] * factor;
    numbers[ZB_UPDATE_DECAY] = session->bases[index][k][ZB_UPDATE_DECAY];
  }
}

void zb_session_set_rates(zb_session *session) {
  for (int i = 0; i < session->executor_count; ++i)
    zb_session_set_rank_rates(session, i, session->steps);
}

/* As one line, without the path of a table: its contents count. */
static void shorten(char *text) {
  static const char table[] = "schedule=table:";
  char *path = strstr(text, table);
  if (path) {
    path += sizeof table - 2; /* the colon */
    const char *end = path + strcspn(path, "\n");
    memmove(path, end, strlen(end) + 1);
  }
  for (char *at = text; (at = strchr(at, '\n'));)
    *at = at[1] ? ' ' : '\0';
}

void zb_session_describe_rates(zb_session *session) {
  const char *table = session->rates.table ? session->rates.table : "";
  zb_text text = {0};
  zb_rates_save(&session->rates, &text);
  if (text.data) {
    shorten(text.data);
    text.length = strlen(text.data);
  }
  if (*table) zb_text_add(&text, " %016" PRIx64, zb_fnv1a(ZB_FNV_START, table, strlen(table)));
  zb_facts_add(&session->contents, "the rates (--lr, --weight-decay, --group, --lr-schedule)", text.data,
               "start all processes with the same options, and the same table");
  session->contents.records.failed |= text.failed;
  zb_text_deinit(&text);
}
