/* The logs of a run: a row a step, by the rows of fields.def. Process 0 writes them. Tests: test/e2e/logs.py. */
#include "tools/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct field {
  const char *name;
  bool per_rank;
  double (*value)(const run_row *row, int rank);
} field;

/* A function a row, by the line on which it stands. */
#define VALUE_OF_(line) value_##line
#define VALUE_OF(line) VALUE_OF_(line)
#define FIELD(name, unit, per_rank, value)                                                                             \
  static double VALUE_OF(__LINE__)(const run_row *row, int rank) {                                                     \
    (void)rank;                                                                                                        \
    return (double)(value);                                                                                            \
  }
#include "tools/run/fields.def"

static const field fields[] = {
#define FIELD(name, unit, per_rank, value) {name, per_rank, VALUE_OF(__LINE__)},
#include "tools/run/fields.def"
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0], NAME_BYTES = 48 };

static int columns_of(int ranks) {
  int count = 0;
  for (int i = 0; i < FIELD_COUNT; ++i)
    count += fields[i].per_rank ? ranks : 1;
  return count;
}

/* ---- What a run is, for the first line ---- */

static void write_pair(FILE *out, const char *key, const char *value) {
  tool_write_json_text(out, key);
  fputs(": ", out);
  tool_write_json_text(out, value);
  fputs(", ", out);
}

/* A JSON object; NULL when out of memory. To be released with free(). */
static char *describe_run(const zb_session_info *info, const arguments *args) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fputs("{", out);
  write_pair(out, "version", ZB_VERSION);
  write_pair(out, "model", info->model);
  write_pair(out, "schedule", info->schedule);
  write_pair(out, "optimizer", info->optimizer);
  write_pair(out, "precision", info->precision);
  write_pair(out, "device", info->device);
  write_pair(out, "instruction_set", info->instruction_set);
  write_pair(out, "launch", info->launch);
  fprintf(out,
          "\"ranks\": %d, \"stages\": %d, \"micro_batches\": %d, \"threads\": %d, \"processes\": %d, \"options\": ",
          info->ranks, info->stages, info->micro_batches, info->threads, info->processes);
  run_write_options(args, out);
  fputs("}", out);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- Opening ---- */

struct run_logs {
  zb_log *logs[2]; /* --log, --tensorboard */
  double *values;  /* [columns] */
  bool is_taken;   /* a row, which is not written yet */
  bool failed;     /* a row may be there in part: none comes behind it */
  double now;
  zb_step_result result;
  run_row row;
};

static zb_status open_log(run_logs *logs, int which, const zb_log_params *params, const arguments *args) {
  if (!params->path) return NULL;
  ZB_TRY(zb_log_open(params, &logs->logs[which]));
  const int64_t cut = zb_log_cut(logs->logs[which]);
  char *shown = cut > 0 && !args->quiet ? zb_shown(params->path) : NULL;
  if (shown)
    fprintf(stderr, "zb-run: '%s' goes on at step %lld: %lld row%s of later steps cut off\n", shown,
            (long long)params->first_step + 1, (long long)cut, cut == 1 ? "" : "s");
  zb_free(shown);
  return NULL;
}

static zb_status open_all(run_logs *logs, const zb_session *session, const arguments *args) {
  const zb_session_info info = zb_session_describe(session);
  const int count = columns_of(info.ranks);
  char (*texts)[NAME_BYTES] = zb_alloc((size_t)count * sizeof *texts);
  const char **names = zb_alloc((size_t)count * sizeof *names);
  char *config = describe_run(&info, args);
  zb_status status = NULL;
  logs->values = zb_alloc((size_t)count * sizeof *logs->values);
  if (!texts || !names || !config || !logs->values) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0, column = 0; i < FIELD_COUNT; ++i)
    for (int rank = 0; rank < (fields[i].per_rank ? info.ranks : 1); ++rank, ++column) {
      names[column] = fields[i].name;
      if (!fields[i].per_rank) continue;
      snprintf(texts[column], NAME_BYTES, "%s%d", fields[i].name, rank);
      names[column] = texts[column];
    }
  zb_log_params params = {
      .path = args->log, .names = names, .count = count, .config = config, .first_step = zb_session_steps(session)};
  ZB_TRY_GOTO(open_log(logs, 0, &params, args));
  params.path = args->tensorboard;
  params.events = true;
  ZB_TRY_GOTO(open_log(logs, 1, &params, args));
  for (int rank = 0; rank < info.ranks; ++rank)
    logs->row.arena_bytes = fmax(logs->row.arena_bytes, (double)zb_session_arena_bytes(session, rank));
cleanup:
  zb_free(texts);
  zb_free(names);
  free(config);
  return status;
}

zb_status run_logs_open(const zb_session *session, const arguments *args, run_logs **out) {
  *out = NULL;
  if ((!args->log && !args->tensorboard) || zb_session_describe(session).process > 0) return NULL;
  run_logs *logs = zb_alloc(sizeof *logs);
  if (!logs) return ZB_OUT_OF_MEMORY();
  zb_status status = open_all(logs, session, args);
  if (status)
    zb_status_free(run_logs_close(logs));
  else
    *out = logs;
  return status;
}

/* ---- Rows ---- */

/* Most that this process has had in memory. */
static double peak_bytes(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * 1024 : (double)NAN;
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void run_logs_take(run_logs *logs, const zb_step_result *result, double gradient_norm) {
  if (!logs) return;
  logs->result = *result; /* its arrays are those of the session until the next step */
  logs->row = (run_row){.result = &logs->result,
                        .gradient_norm = gradient_norm,
                        .evaluation_loss = (double)NAN,
                        .arena_bytes = logs->row.arena_bytes,
                        .peak_bytes = peak_bytes()};
  logs->now = now_seconds();
  logs->is_taken = true;
}

void run_logs_evaluated(run_logs *logs, double loss) {
  if (logs) logs->row.evaluation_loss = loss;
}

typedef zb_status (*add_row)(zb_log *log, int64_t step, double wall_time, const double *values);

static zb_status write_rows(run_logs *logs, add_row add) {
  logs->failed = true;
  for (int i = 0, column = 0; i < FIELD_COUNT; ++i)
    for (int rank = 0; rank < (fields[i].per_rank ? logs->result.ranks : 1); ++rank, ++column)
      logs->values[column] = fields[i].value(&logs->row, rank);
  for (int i = 0; i < 2; ++i)
    if (logs->logs[i]) ZB_TRY(add(logs->logs[i], logs->result.step, logs->now, logs->values));
  logs->failed = false;
  return NULL;
}

zb_status run_logs_write_early(run_logs *logs) {
  return logs && logs->is_taken && !logs->failed ? write_rows(logs, zb_log_add_early) : NULL;
}

zb_status run_logs_write(run_logs *logs) {
  if (!logs || !logs->is_taken || logs->failed) return NULL;
  logs->is_taken = false;
  return write_rows(logs, zb_log_add);
}

zb_status run_logs_close(run_logs *logs) {
  if (!logs) return NULL;
  zb_status ends[] = {run_logs_write(logs), zb_log_close(logs->logs[0]), zb_log_close(logs->logs[1])};
  zb_free(logs->values);
  zb_free(logs);
  return zb_status_first(ends, sizeof ends / sizeof ends[0]);
}
