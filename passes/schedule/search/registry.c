/* The table of schedules: finding a row by its name, reading NAME:option=number,..., and running a row.
 *
 * It stands beside the search, which is a row of the table and goes through all the others. Tests:
 * test/passes/schedule/schedules_test.c, options_test.c.
 */
#include "passes/schedule/search/registry.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/base/words.h"

/* ---- The table of schedules ---- */

#define ZB_SCHEDULE(c_name, aliases) extern const zb_schedule_def zb_schedule_##c_name;
#include "passes/schedule/schedules.def"
#undef ZB_SCHEDULE
static const zb_schedule_def *const schedules[] = {
#define ZB_SCHEDULE(c_name, aliases) &zb_schedule_##c_name,
#include "passes/schedule/schedules.def"
#undef ZB_SCHEDULE
};
static const char *const schedule_aliases[] = {
#define ZB_SCHEDULE(c_name, aliases) aliases,
#include "passes/schedule/schedules.def"
#undef ZB_SCHEDULE
};
enum { SCHEDULE_COUNT = sizeof schedules / sizeof *schedules };

int zb_schedule_count(void) { return SCHEDULE_COUNT; }

const zb_schedule_def *zb_schedule_at(int index) {
  return index >= 0 && index < SCHEDULE_COUNT ? schedules[index] : NULL;
}

const char *zb_schedule_aliases(int index) {
  return index >= 0 && index < SCHEDULE_COUNT ? schedule_aliases[index] : NULL;
}

/* Whether a name is the `length` letters at `other`, but for case, '-' and '_'. */
static bool same_name(const char *name, const char *other, size_t length) {
  const char *end = other + length;
  for (;;) {
    name += strspn(name, "-_");
    while (other < end && (*other == '-' || *other == '_'))
      ++other;
    if (!*name || other == end) return !*name && other == end;
    if (tolower((unsigned char)*name++) != tolower((unsigned char)*other++)) return false;
  }
}

static bool is_alias(const char *name, const char *aliases) {
  for (const char *at = aliases; *at; at += strspn(at, " ")) {
    const size_t length = strcspn(at, " ");
    if (same_name(name, at, length)) return true;
    at += length;
  }
  return false;
}

const zb_schedule_def *zb_schedule_find(const char *name, const char **nearest) {
  const char *names[SCHEDULE_COUNT];
  if (nearest) *nearest = NULL;
  for (int i = 0; i < SCHEDULE_COUNT; ++i) {
    names[i] = schedules[i]->name;
    if (same_name(name, names[i], strlen(names[i])) || is_alias(name, schedule_aliases[i])) return schedules[i];
  }
  if (nearest) *nearest = zb_nearest(name, names, SCHEDULE_COUNT);
  return NULL;
}

/* ---- NAME:option=number,... ---- */

static int option_count(const zb_schedule_def *schedule) {
  int count = 0;
  while (count < ZB_SCHEDULE_OPTIONS_MAX && schedule->options && schedule->options[count].name)
    ++count;
  return count;
}

static zb_status unknown_option(const zb_schedule_def *schedule, const char *text, size_t length) {
  zb_status status = ZB_ERROR(USAGE, "%s has no option '%.*s'", schedule->name, (int)length, text);
  const int count = option_count(schedule);
  if (!count) return zb_status_hint(status, "it takes none");
  for (int i = 0; i < count; ++i) {
    const zb_schedule_option *option = &schedule->options[i];
    status = zb_status_note(status, "%s: %s, %lld to %lld [%lld]", option->name, option->help, (long long)option->least,
                            (long long)option->most, (long long)option->value);
  }
  return status;
}

/* Reads one "name=number"; *text moves behind it. given[option]: it was there before. */
static zb_status parse_option(zb_schedule_choice *out, bool *given, const char **text) {
  const zb_schedule_def *schedule = out->schedule;
  const size_t length = strcspn(*text, "=,");
  int index = 0;
  const int count = option_count(schedule);
  while (index < count && (strlen(schedule->options[index].name) != length ||
                           strncmp(schedule->options[index].name, *text, length) != 0))
    ++index;
  if (index == count) return unknown_option(schedule, *text, length);
  const zb_schedule_option *option = &schedule->options[index];
  const char *digits = *text + length + ((*text)[length] == '=');
  char *end = NULL;
  errno = 0;
  const long long value = *digits >= '0' && *digits <= '9' ? strtoll(digits, &end, 10) : 0;
  if (!end || errno || (*end && *end != ',') || value < option->least || value > option->most)
    return ZB_ERROR(USAGE, "%s: %s: expected a whole number of %lld to %lld, got '%.*s'", schedule->name, option->name,
                    (long long)option->least, (long long)option->most, (int)strcspn(digits, ","), digits);
  if (given[index]) return ZB_ERROR(USAGE, "%s: %s is given twice", schedule->name, option->name);
  given[index] = true;
  out->options[index] = value;
  *text = *end ? end + 1 : end;
  if (*end && !**text) return ZB_ERROR(USAGE, "%s: expected name=number after the last comma", schedule->name);
  return NULL;
}

void zb_schedule_default(const zb_schedule_def *schedule, zb_schedule_choice *out) {
  *out = (zb_schedule_choice){.schedule = schedule};
  const int count = option_count(schedule);
  for (int i = 0; i < count; ++i)
    out->options[i] = schedule->options[i].value;
}

zb_status zb_schedule_parse(const char *text, zb_schedule_choice *out) {
  *out = (zb_schedule_choice){0};
  const size_t length = strcspn(text, ":");
  char *name = zb_strdup(text);
  if (!name) return ZB_OUT_OF_MEMORY();
  name[length] = '\0';
  const char *nearest = NULL;
  const zb_schedule_def *schedule = zb_schedule_find(name, &nearest);
  zb_status status = NULL;
  if (!schedule)
    status = zb_status_hint(ZB_ERROR(USAGE, "unknown schedule '%s'%s%s%s", name, nearest ? ", did you mean '" : "",
                                     nearest ? nearest : "", nearest ? "'?" : ""),
                            "zb-sched --list names them all");
  zb_free(name);
  if (status) return status;
  zb_schedule_choice choice;
  bool given[ZB_SCHEDULE_OPTIONS_MAX] = {false};
  zb_schedule_default(schedule, &choice);
  if (text[length] == ':') {
    const char *at = text + length + 1;
    do
      ZB_TRY(parse_option(&choice, given, &at));
    while (*at);
  }
  *out = choice;
  return NULL;
}

/* ---- Running a row ---- */

static bool has_edge(const zb_problem *problem, int stage) {
  for (int i = 0; i < problem->edge_count; ++i)
    if (problem->edges[i].source == stage && problem->edges[i].destination == stage + 1 &&
        problem->edges[i].backward_bytes > 0)
      return true;
  return false;
}

/* What a rank holds when one micro-batch alone has passed its stages and comes back: no order needs less. Where stages
 * do not form a chain, of the stage that keeps most. */
static int64_t alone_bytes(const zb_problem *problem, int rank) {
  const int64_t base = zb_base_bytes(problem, rank);
  int64_t live = base, most = base;
  for (int stage = 0; stage < problem->stages; ++stage) {
    if (problem->edges && stage > 0 && !has_edge(problem, stage - 1)) live = base;
    if (problem->stage_rank[stage] != rank) continue;
    const zb_stage_cost *cost = &problem->costs[stage];
    if (live + cost->keep_bytes[ZB_F] > most) most = live + cost->keep_bytes[ZB_F];
    live += cost->keep_bytes[ZB_F] - cost->free_bytes[ZB_F];
    if (live + cost->keep_bytes[ZB_B] > most) most = live + cost->keep_bytes[ZB_B];
  }
  return most;
}

/* INFEASIBLE names the rank that is furthest above its limit, so that one retry with that number succeeds. */
static zb_status check_memory(const zb_schedule_def *schedule, const zb_problem *problem, const zb_order *order) {
  if (problem->memory_limit_bytes == 0 && !problem->rank_limit_bytes) return NULL;
  int64_t *peak = zb_alloc((size_t)problem->ranks * sizeof *peak);
  if (!peak) return ZB_OUT_OF_MEMORY();
  zb_order_peaks(problem, order, peak);
  int worst = -1, above = 0;
  for (int rank = 0; rank < problem->ranks; ++rank) {
    const int64_t limit = zb_rank_limit(problem, rank);
    if (limit == 0 || peak[rank] <= limit) continue;
    ++above;
    if (worst < 0 || peak[rank] - limit > peak[worst] - zb_rank_limit(problem, worst)) worst = rank;
  }
  zb_status status = NULL;
  char needed[64], limit[64], least[64];
  if (above)
    status = zb_status_hint(
        ZB_ERROR(INFEASIBLE, "%s needs %s on rank %d, and the limit is %s (%d of %d ranks need more than that)",
                 schedule->name, zb_bytes_exact_text((uint64_t)peak[worst], needed), worst,
                 zb_bytes_exact_text((uint64_t)zb_rank_limit(problem, worst), limit), above, problem->ranks),
        "give %lld bytes or more a rank, or use a schedule or micro-batch size that keeps less",
        (long long)peak[worst]);
  const int64_t alone = above ? alone_bytes(problem, worst) : 0;
  if (above && alone > zb_rank_limit(problem, worst))
    status = zb_status_note(status, "one micro-batch alone needs %s on rank %d: no order of these stages fits",
                            zb_bytes_exact_text((uint64_t)alone, least), worst);
  zb_free(peak);
  return status;
}

/* A rule for one placement goes by the order of the stages: ranks may have any names, but later chunks must stand where
 * the placement has them. All placements start down the ranks, so stage s < ranks names position s. */
static zb_status check_placement(const zb_schedule_def *schedule, const zb_problem *problem) {
  const zb_placement_def *placement = NULL;
  for (int i = 0; !schedule->any_placement && i < zb_placement_count(); ++i)
    if (!strcmp(zb_placement_at(i)->name, schedule->placement)) placement = zb_placement_at(i);
  for (int stage = 0; placement && stage < problem->stages; ++stage) {
    const int first = placement->rank(problem->ranks, stage);
    if (problem->stage_rank[stage] != problem->stage_rank[first])
      return zb_status_hint(ZB_ERROR(USAGE,
                                     "%s is defined for placement %s only: expected virtual stage %d on the rank of "
                                     "stage %d (%d), got rank %d",
                                     schedule->name, schedule->placement, stage, first, problem->stage_rank[first],
                                     problem->stage_rank[stage]),
                            "place the stages as '%s'", schedule->placement);
  }
  return NULL;
}

/* With the schedules that do take that many as a hint. */
static zb_status too_many_chunks(const zb_schedule_def *schedule, int chunks) {
  zb_status status = ZB_ERROR(USAGE, "%s is defined for at most %d chunk%s a rank, got %d", schedule->name,
                              schedule->chunks_max, schedule->chunks_max == 1 ? "" : "s", chunks);
  zb_text names = {0};
  for (int i = 0; i < SCHEDULE_COUNT; ++i)
    if (chunks >= schedules[i]->chunks_min && chunks <= schedules[i]->chunks_max && !schedules[i]->two_pipelines)
      zb_text_add(&names, "%s%s", names.length ? ", " : "", schedules[i]->name);
  if (!names.failed)
    status = zb_status_hint(status, "give every rank %d virtual stage%s; schedules for %d chunks: %s",
                            schedule->chunks_max, schedule->chunks_max == 1 ? "" : "s", chunks, names.data);
  zb_text_deinit(&names);
  return status;
}

static zb_status check_chunks(const zb_schedule_def *schedule, int chunks) {
  if (chunks > schedule->chunks_max) return too_many_chunks(schedule, chunks);
  if (chunks < schedule->chunks_min)
    return zb_status_hint(
        ZB_ERROR(USAGE, "%s needs %d chunks a rank, got %d", schedule->name, schedule->chunks_min, chunks),
        "give every rank %d virtual stages (--chunks %d), placed as '%s'", schedule->chunks_min, schedule->chunks_min,
        schedule->placement);
  return NULL;
}

bool zb_schedule_takes(const zb_schedule_def *schedule, const zb_problem *problem) {
  zb_status status = check_chunks(schedule, problem->stages / problem->ranks);
  if (!status) status = check_placement(schedule, problem);
  zb_status_free(status);
  return status == NULL;
}

zb_status zb_schedule_emit(const zb_schedule_choice *choice, const zb_problem *problem, zb_order *out) {
  const zb_schedule_def *schedule = choice->schedule;
  *out = (zb_order){0};
  ZB_TRY(check_chunks(schedule, problem->stages / problem->ranks));
  ZB_TRY(check_placement(schedule, problem));
  ZB_TRY(zb_order_init(out, problem->ranks));
  out->whole_backward = !schedule->splits_backward;
  zb_status status = schedule->emit(problem, choice->options, out);
  const int64_t timed_jobs = out->timed_jobs;
  if (status) zb_order_deinit(out);
  out->timed_jobs = timed_jobs;
  return status;
}

zb_status zb_schedule_place(const zb_schedule_def *schedule, int ranks, const char **placement, int *chunks) {
  ZB_TRY(zb_schedule_place_open(schedule, ranks, placement, chunks));
  return check_chunks(schedule, *chunks);
}

static zb_status check_whole(const zb_schedule_def *schedule, const zb_problem *problem, const zb_order *order) {
  if (!problem->whole_backward || order->whole_backward) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "%s splits backwards, and this problem has B and W as one job (whole_backward)", schedule->name),
      "use a schedule that keeps them whole (1f1b, interleaved-1f1b, fthenb), or search");
}

zb_status zb_schedule_run_choice(const zb_schedule_choice *choice, const zb_problem *problem, zb_order *out) {
  *out = (zb_order){0};
  ZB_TRY(zb_problem_check(problem));
  ZB_TRY(zb_schedule_emit(choice, problem, out));
  zb_status status = check_whole(choice->schedule, problem, out);
  if (!status) status = zb_order_validate(problem, out);
  if (!status) status = check_memory(choice->schedule, problem, out);
  if (status) zb_order_deinit(out);
  return status;
}

zb_status zb_schedule_run(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *out) {
  zb_schedule_choice choice;
  zb_schedule_default(schedule, &choice);
  return zb_schedule_run_choice(&choice, problem, out);
}
