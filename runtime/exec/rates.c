/* Learning rates and weight decays of a run: see rates.h. Tests: test/runtime/exec/rates_test.c (against PyTorch's
 * schedulers), test/e2e/rates.py. */
#include "runtime/exec/rates.h"

#include "runtime/base/file.h"
#include "runtime/base/map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Schedules ---- */

static double value_of(const zb_line *line, const char *key, double fallback) {
  const int index = zb_line_key(line->row, key);
  return index < 0 || isnan(line->values[index]) ? fallback : line->values[index];
}

/* The functions: `at` steps after the warm-up, of `length` until step `steps`. */
static double constant(const zb_line *line, double at, double length) {
  (void)line, (void)at, (void)length;
  return 1;
}

/* From 1 to `end`: share is 1 at the start and 0 at the end. */
static double between(const zb_line *line, double share) {
  const double end = value_of(line, "end", 0);
  return share * (1 - end) + end;
}

static double linear(const zb_line *line, double at, double length) {
  return at < length ? between(line, (length - at) / length) : value_of(line, "end", 0);
}

static double half_cosine(double at) { return 0.5 * (1 + cos(M_PI * at)); }

static double cosine(const zb_line *line, double at, double length) {
  return at < length ? between(line, half_cosine(at / length)) : value_of(line, "end", 0);
}

static double wsd(const zb_line *line, double at, double length) {
  enum { COSINE, LINEAR, ROOT };
  const double decay = value_of(line, "decay", 1), into = (at - (length - decay)) / decay;
  if (into < 0) return 1;
  if (into >= 1) return value_of(line, "end", 0);
  switch ((int)value_of(line, "shape", COSINE)) {
  case LINEAR:
    return between(line, 1 - into);
  case ROOT:
    return between(line, 1 - sqrt(into));
  default:
    return between(line, half_cosine(into));
  }
}

static double stairs(const zb_line *line, double at, double length ZB_UNUSED) {
  return pow(value_of(line, "gamma", 1), floor(at / value_of(line, "every", 1)));
}

static double exponential(const zb_line *line, double at, double length ZB_UNUSED) {
  return pow(value_of(line, "gamma", 1), at);
}

#define table constant /* which zb_rates_factor asks itself */
static const struct schedule {
  zb_line_row row;
  double (*factor)(const zb_line *line, double at, double length);
  const char *example, *help;
} schedules[] = {
#define ZB_RATE(name, function, example, help, ...) {{#name, {__VA_ARGS__}}, function, example, help},
#include "runtime/exec/rates.def"
};
#undef table
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static const struct schedule *schedule_of(const zb_line *line) {
  int i = 0;
  while (line->row != &schedules[i].row)
    ++i;
  return &schedules[i];
}

bool zb_rate_schedule_at(int index, const char **name, const char **example, const char **help) {
  if (index < 0 || index >= SCHEDULES) return false;
  *name = schedules[index].row.name;
  *example = schedules[index].example;
  *help = schedules[index].help;
  return true;
}

double zb_rates_factor(const zb_rates *rates, int64_t step) {
  const zb_line *line = &rates->line;
  if (!rates->schedule) return 1;
  if (rates->table) return rates->factors[step < rates->factor_count ? step : rates->factor_count - 1];
  const double at = (double)step, warmup = value_of(line, "warmup", 0),
               start = value_of(line, "warmup_start", value_of(line, "end", 0));
  if (at < warmup) return at / warmup * (1 - start) + start;
  return schedule_of(line)->factor(line, at - warmup, value_of(line, "steps", 0) - warmup);
}

static const char schedule_what[] = "rate schedule";

/* What a row cannot say: keys that a line must have, and stretches that do not fit into the steps. */
static zb_status check_schedule(const zb_line *line) {
  const char *example = schedule_of(line)->example;
  for (int i = 0; line->row->keys[i].kind != ZB_KEY_END; ++i)
    if (isnan(line->values[i]) && strcmp(line->row->keys[i].name, "warmup_start") != 0)
      return zb_status_hint(
          ZB_ERROR(USAGE, "%s '%s': %s is not given", schedule_what, line->row->name, line->row->keys[i].name),
          "for example %s", example);
  const double steps = value_of(line, "steps", INFINITY), warmup = value_of(line, "warmup", 0),
               decay = value_of(line, "decay", 0);
  if (warmup + decay <= steps) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': %s of %.0f steps %s longer than its %.0f steps", schedule_what,
                                 line->row->name, decay > 0 ? "warm-up and decay" : "a warm-up", warmup + decay,
                                 decay > 0 ? "are" : "is", steps),
                        "steps counts all steps from the first, those of the warm-up too: %s", example);
}

/* ---- Tables ---- */

enum { TABLE_BYTES = 32 << 20 }; /* more than a million steps as Python writes numbers */

static zb_status wrong_row(const char *file, int64_t line, int64_t column, const char *what, const char *hint) {
  return zb_status_hint(ZB_ERROR(INVALID, "%s:%" PRId64 ":%" PRId64 ": %s", file, line, column, what), "%s", hint);
}

/* Where something stands behind blanks, from 1. */
static int64_t column_of(const char *text, const char *at) { return at + strspn(at, " \t") - text + 1; }

/* One line, "3,0.5", of the step that is due. */
static zb_status read_factor(const char *file, int64_t line, char *text, int64_t step, double *out) {
  static const char form[] = "a line is STEP,FACTOR, such as 0,0.1; factors multiply the rate (--lr 1: they are it)";
  char *comma = strchr(text, ','), *end = NULL, due[96];
  for (char *at = text; *at; ++at)
    if (*at == '"') *at = ' '; /* spreadsheets put cells into quotes */
  const long long number = comma ? strtoll(text, &end, 10) : -1;
  if (!comma || end == text || end + strspn(end, " \t") != comma)
    return wrong_row(file, line, column_of(text, text), "expected a step, a comma and a factor", form);
  *out = strtod(comma + 1, &end) + 0.0; /* no -0 */
  end += strspn(end, " \t\r");
  if (end == comma + 1 || *end || !isfinite(*out) || *out < 0)
    return wrong_row(file, line, column_of(text, comma + 1), "the factor is no number from 0", form);
  if (number == step) return NULL;
  snprintf(due, sizeof due, "expected step %" PRId64 ", got step %lld", step, number);
  return wrong_row(file, line, column_of(text, text), due,
                   "there is a line for each step, in order; the first step of training is step 0");
}

static zb_status read_table(zb_rates *rates, const char *file) {
  char *copy = zb_arena_strdup(&rates->memory, rates->table);
  int64_t lines = 1;
  for (const char *at = rates->table; (at = strchr(at, '\n')); ++at)
    ++lines;
  if (!ZB_TAKE(&rates->memory, rates->factors, lines) || !copy) return ZB_OUT_OF_MEMORY();
  char *at = copy + zb_byte_order_mark(copy, strlen(copy));
  for (int64_t line = 1; at; ++line) {
    char *next = strchr(at, '\n');
    if (next) *next++ = '\0';
    const bool is_empty = at[strspn(at, " \t\r")] == '\0',
               is_title = rates->factor_count == 0 && strncasecmp(at + (*at == '"'), "step", 4) == 0;
    if (!is_empty && !is_title) {
      ZB_TRY(read_factor(file, line, at, rates->factor_count, &rates->factors[rates->factor_count]));
      ++rates->factor_count;
    }
    at = next;
  }
  return rates->factor_count > 0 ? NULL : wrong_row(file, 1, 1, "the table has no factors", "a line is STEP,FACTOR");
}

static zb_status load_table(zb_rates *rates, const char *file) {
  char *text = NULL;
  size_t bytes = 0;
  zb_status status = zb_file_read(file, TABLE_BYTES, &text, &bytes);
  if (status && zb_status_code(status) == ZB_IO)
    status = zb_status_hint(status, "--lr-schedule table:FILE.csv reads a line STEP,FACTOR for each step");
  ZB_TRY(status);
  const bool is_text = strlen(text) == bytes;
  rates->table = is_text ? zb_arena_strdup(&rates->memory, text) : NULL;
  zb_free(text);
  if (!is_text) return wrong_row(file, 1, 1, "the table is no text", "a line is STEP,FACTOR");
  return rates->table ? NULL : ZB_OUT_OF_MEMORY();
}

/* table: what a checkpoint has of it; NULL: the file is read. */
static zb_status set_schedule(zb_rates *rates, const char *text, const char *table) {
  static const char prefix[] = "table:";
  const zb_line_row *rows[SCHEDULES];
  for (int i = 0; i < SCHEDULES; ++i)
    rows[i] = &schedules[i].row;
  const bool is_table = strncmp(text, prefix, sizeof prefix - 1) == 0;
  rates->schedule = zb_arena_strdup(&rates->memory, text);
  if (!rates->schedule) return ZB_OUT_OF_MEMORY();
  if (!is_table) {
    ZB_TRY(zb_line_parse(schedule_what, text, rows, SCHEDULES, &rates->line));
    if (strcmp(rates->line.row->name, "table") != 0) return check_schedule(&rates->line);
  }
  const char *file = is_table ? text + sizeof prefix - 1 : "";
  if (!*file)
    return zb_status_hint(ZB_ERROR(USAGE, "%s 'table': the file is not given", schedule_what), "write table:FILE.csv");
  ZB_TRY(zb_line_parse(schedule_what, "table", rows, SCHEDULES, &rates->line));
  if (table)
    rates->table = zb_arena_strdup(&rates->memory, table);
  else
    ZB_TRY(load_table(rates, file));
  return rates->table ? read_table(rates, file) : ZB_OUT_OF_MEMORY();
}

/* ---- What was said ---- */

static const char *const number_options[ZB_UPDATE_NUMBERS] = {"--lr", "--weight-decay"};
static const char *const number_keys[ZB_UPDATE_NUMBERS] = {"lr", "weight_decay"};

static zb_status set_number(zb_rates *rates, int which, const char *text) {
  char *end = NULL;
  const double value = strtod(text, &end) + 0.0; /* no -0 */
  if (end == text || *end || !isfinite(value) || value < 0)
    return zb_status_hint(ZB_ERROR(USAGE, "%s must be a number from 0, got '%s'", number_options[which], text),
                          "for example %s %s", number_options[which], which == ZB_UPDATE_RATE ? "3e-4" : "0.1");
  rates->numbers[which] = value;
  return NULL;
}

static zb_status add_group(zb_rates *rates, const char *text) {
  ZB_TRY(zb_update_group_parse(text, &rates->parsed[rates->group_count]));
  rates->groups[rates->group_count] = zb_arena_strdup(&rates->memory, text);
  return rates->groups[rates->group_count++] ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status take_params(zb_rates *rates, const zb_session_params *params) {
  const char *const numbers[ZB_UPDATE_NUMBERS] = {params->lr, params->weight_decay};
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i)
    if (numbers[i]) ZB_TRY(set_number(rates, i, numbers[i]));
  for (int i = 0; i < params->group_count; ++i)
    ZB_TRY(add_group(rates, params->groups[i]));
  return params->lr_schedule ? set_schedule(rates, params->lr_schedule, NULL) : NULL;
}

/* now: what is given in the place of what the checkpoint has. */
static zb_status replace(zb_rates *rates, const char *option, const char *now, const char *saved) {
  if (strcmp(now, saved) != 0)
    zb_text_add(&rates->changes, "%s%s %s replaces '%s' of the checkpoint", rates->changes.length ? "\n" : "", option,
                now, saved);
  return rates->changes.failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* One line of a checkpoint, for what the parameters do not say. */
static zb_status take_saved(zb_rates *rates, const zb_session_params *params, const char *key, const char *value,
                            const char *table) {
  const char *const numbers[ZB_UPDATE_NUMBERS] = {params->lr, params->weight_decay}, *schedule = params->lr_schedule;
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i)
    if (strcmp(key, number_keys[i]) == 0)
      return numbers[i] ? replace(rates, number_options[i], numbers[i], value) : set_number(rates, i, value);
  if (strcmp(key, "group") == 0) return params->group_count > 0 ? NULL : add_group(rates, value);
  if (strcmp(key, "schedule") == 0)
    return schedule ? replace(rates, "--lr-schedule", schedule, value) : set_schedule(rates, value, table);
  return ZB_ERROR(INVALID, "the checkpoint has rates of a kind that this version does not know: '%s'", key);
}

static void join_group(zb_text *joined, const char *group, size_t length) {
  zb_text_add(joined, "%s%.*s", joined->length ? " --group " : "", (int)length, group);
}

/* Groups are replaced all together, since their order counts. */
static zb_status replace_groups(zb_rates *rates, const zb_session_params *params, const char *saved) {
  static const char key[] = "group=";
  zb_text now = {0}, before = {0};
  for (int i = 0; i < params->group_count; ++i)
    join_group(&now, params->groups[i], strlen(params->groups[i]));
  for (const char *at = saved, *end; *at; at = *end ? end + 1 : end) {
    end = at + strcspn(at, "\n");
    if (strncmp(at, key, sizeof key - 1) == 0)
      join_group(&before, at + sizeof key - 1, (size_t)(end - at) - (sizeof key - 1));
  }
  zb_status status = now.failed || before.failed ? ZB_OUT_OF_MEMORY() : NULL;
  if (!status && now.length && before.length) status = replace(rates, "--group", now.data, before.data);
  zb_text_deinit(&now);
  zb_text_deinit(&before);
  return status;
}

/* Calls for each line of what a checkpoint keeps, which is cut into key and value. */
static zb_status take_all_saved(zb_rates *rates, const zb_session_params *params, char *saved, const char *table) {
  for (char *at = saved, *next; at && *at; at = next) {
    char *value = strchr(at, '=');
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    if (!value || (next && value >= next))
      return ZB_ERROR(INVALID, "the rates of the checkpoint are damaged: '%s'", at);
    *value++ = '\0';
    zb_status status = take_saved(rates, params, at, value, table);
    if (status) return zb_status_note(status, "in the rates that the checkpoint keeps");
  }
  return NULL;
}

zb_status zb_rates_open(const zb_session_params *params, const char *saved, const char *saved_table, zb_rates *out) {
  *out = (zb_rates){.numbers = {NAN, NAN}};
  int groups = params->group_count;
  for (const char *at = saved; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : "")
    ++groups;
  ZB_TAKE(&out->memory, out->groups, groups + 1);
  ZB_TAKE(&out->memory, out->parsed, groups + 1);
  char *copy = saved ? zb_arena_strdup(&out->memory, saved) : NULL;
  ZB_TRY(zb_arena_status(&out->memory));
  ZB_TRY(take_params(out, params));
  if (!copy) return NULL;
  ZB_TRY(replace_groups(out, params, saved));
  return take_all_saved(out, params, copy, saved_table);
}

void zb_rates_close(zb_rates *rates) {
  zb_arena_deinit(&rates->memory);
  zb_text_deinit(&rates->changes);
  *rates = (zb_rates){0};
}

/* ---- What it comes to ---- */

/* Names of trained parameters, each once: several ranks hold a tied one, and all replicas and shards theirs. */
static zb_status trained_names(const zb_plan *plan, const char **names, int *out_count) {
  zb_map *seen = zb_map_create();
  bool failed = !seen;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].setting_count && !failed; ++i) {
      const zb_plan_setting *setting = &plan->ranks[r].settings[i];
      if (setting->kind != ZB_SETTING_UPDATE || zb_map_get(seen, setting->name, NULL)) continue;
      names[(*out_count)++] = setting->name;
      failed = !zb_map_set(seen, setting->name, 1);
    }
  zb_map_destroy(seen);
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

zb_status zb_rates_check_groups(const zb_rates *rates, const zb_plan *plan) {
  zb_arena memory = {0};
  int room = 0, count = 0;
  if (rates->group_count == 0) return NULL;
  for (int r = 0; r < plan->rank_count; ++r)
    room += plan->ranks[r].setting_count;
  const char **names = ZB_NEW(&memory, const char *, room);
  zb_status status = zb_arena_status(&memory);
  if (!status) status = trained_names(plan, names, &count);
  if (!status) status = zb_update_groups_check(rates->parsed, rates->group_count, names, count);
  zb_arena_deinit(&memory);
  return status;
}

void zb_rates_base(const zb_rates *rates, const zb_plan_setting *setting, double out[ZB_UPDATE_NUMBERS]) {
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i) {
    const bool own = setting->own >> i & 1;
    out[i] = own || isnan(rates->numbers[i]) ? setting->defaults[i] : rates->numbers[i];
  }
  zb_update_groups_apply(rates->parsed, rates->group_count, setting->name, out);
}

/* ---- As text ---- */

void zb_rates_save(const zb_rates *rates, zb_text *out) {
  const char *before = "";
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i) {
    if (isnan(rates->numbers[i])) continue;
    zb_text_add(out, "%s%s=", before, number_keys[i]);
    zb_number_add(rates->numbers[i], out);
    before = "\n";
  }
  for (int i = 0; i < rates->group_count; ++i, before = "\n")
    zb_text_add(out, "%sgroup=%s", before, rates->groups[i]);
  if (rates->schedule) zb_text_add(out, "%sschedule=%s", before, rates->schedule);
}

void zb_rates_describe(const zb_rates *rates, zb_text *out) {
  const char *before = "";
  for (int i = 0; i < ZB_UPDATE_NUMBERS; ++i) {
    if (isnan(rates->numbers[i])) continue;
    zb_text_add(out, "%s%s ", before, number_keys[i]);
    zb_number_add(rates->numbers[i], out);
    before = ", ";
  }
  if (rates->schedule) zb_text_add(out, "%sschedule %s", before, rates->schedule), before = ", ";
  for (int i = 0; i < rates->group_count; ++i, before = ", ")
    zb_text_add(out, "%sgroup %s", before, rates->groups[i]);
}
