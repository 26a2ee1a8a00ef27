/* What zb-run prints: a line a step, or with --json an object a line. */
#include "tools/run/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Processes that are listed at the start, at most. */
enum { PROCESSES_SHOWN = 16 };

/* ,"key":number with 17 digits; null for what is no number. */
static void print_json_number(const char *key, double value) {
  printf(",\"%s\":", key);
  if (isfinite(value))
    printf("%.17g", value);
  else
    printf("null");
}

/* Norms of parameters, and of all of them. */
typedef struct norms {
  bool any;
  double squares;
} norms;

static void add_norm(void *context, const char *name ZB_UNUSED, double norm) {
  ((norms *)context)->squares += norm * norm;
}

static void json_norm(void *context, const char *name, double norm) {
  norms *all = context;
  add_norm(context, name, norm);
  if (all->any) putchar(',');
  all->any = true;
  tool_print_json_text(name);
  if (isfinite(norm))
    printf(":%.17g", norm);
  else
    printf(":null");
}

static void text_norm(void *context, const char *name, double norm) {
  add_norm(context, name, norm);
  char *shown = zb_shown(name);
  printf("  gradient norm %12.6g  %s\n", norm, shown ? shown : "(out of memory)");
  zb_free(shown);
}

zb_status run_find_norm(zb_session *session, double *out) {
  norms all = {0};
  ZB_TRY(zb_session_gradient_norms(session, add_norm, &all));
  *out = sqrt(all.squares);
  return NULL;
}

static zb_status print_step_json(zb_session *session, const arguments *args, const zb_step_result *result, norms *all) {
  printf("{\"step\":%lld", (long long)result->step);
  print_json_number("loss", result->loss);
  if (result->has_norm) print_json_number("norm", result->norm);
  if (result->has_norm || result->refused) printf(",\"skipped\":%s", result->skipped ? "true" : "false");
  if (result->refused) printf(",\"refused\":"), tool_print_json_text(result->refused);
  print_json_number("seconds", result->seconds);
  print_json_number("tokens_per_second", run_tokens_per_second(result));
  print_json_number("idle", result->idle_share);
  print_json_number("lr", result->lr);
  printf(",\"waiting\":[");
  for (int rank = 0; rank < result->ranks; ++rank)
    printf("%s%.6g", rank ? "," : "", result->waiting_shares[rank]);
  putchar(']');
  zb_status status = NULL;
  if (args->grad_norms) {
    printf(",\"gradient_norms\":{");
    status = zb_session_gradient_norms(session, json_norm, all);
    putchar('}');
  }
  printf("}\n");
  return status;
}

static zb_status print_step_text(zb_session *session, const arguments *args, const zb_step_result *result, int64_t last,
                                 norms *all) {
  char rate[32], time[32], loss[32] = "-", idle[32] = "-", norm[48] = "";
  if (isfinite(result->idle_share)) snprintf(idle, sizeof idle, "%.1f%%", 100 * result->idle_share);
  if (isfinite(result->loss)) snprintf(loss, sizeof loss, "%.6f", result->loss);
  if (result->has_norm) snprintf(norm, sizeof norm, isfinite(result->norm) ? "  norm %.6g" : "  norm -", result->norm);
  printf("step %lld/%lld  loss %s%s  %s  %s tokens/s  idle %s", (long long)result->step + 1, (long long)last, loss,
         norm, zb_time_text(result->seconds, time), run_short_number(run_tokens_per_second(result), rate), idle);
  if (result->scheduled) printf("  lr %.4g", result->lr);
  putchar('\n');
  if (result->refused)
    printf("  skipped: its batch was refused, so nothing was changed (%lld of %lld steps so far): %s",
           (long long)result->skipped_steps, (long long)result->step + 1, result->refused);
  else if (result->skipped)
    printf("  skipped: its gradients are not finite, so nothing was changed (%lld of %lld steps so far)\n",
           (long long)result->skipped_steps, (long long)result->step + 1);
  return args->grad_norms ? zb_session_gradient_norms(session, text_norm, all) : NULL;
}

zb_status run_print_step(zb_session *session, const arguments *args, const zb_step_result *result, int64_t last,
                         double *out_norm) {
  norms all = {0};
  run_progress_make_room();
  ZB_TRY(args->json ? print_step_json(session, args, result, &all)
                    : print_step_text(session, args, result, last, &all));
  if (args->grad_norms) *out_norm = sqrt(all.squares);
  return NULL;
}

void run_print_evaluation(const arguments *args, const zb_evaluation_result *result, bool last) {
  char rate[32], time[32], loss[32] = "-";
  const double speed = run_per_second(result->tokens, result->seconds);
  if (args->quiet && !last) return;
  run_progress_make_room();
  if (args->json) {
    printf("{\"eval\":{\"step\":%lld", (long long)result->step);
    if (result->has_loss) print_json_number("loss", result->loss);
    print_json_number("seconds", result->seconds);
    print_json_number("tokens_per_second", speed);
    printf(",\"batches\":%lld}}\n", (long long)result->batches);
    return;
  }
  if (isfinite(result->loss)) snprintf(loss, sizeof loss, "%.6f", result->loss);
  if (result->has_loss) printf("eval step %lld  loss %s", (long long)result->step, loss);
  printf("%s  %s  %s tokens/s  %lld batch%s\n", result->has_loss ? "" : "inference",
         zb_time_text(result->seconds, time), run_short_number(speed, rate), (long long)result->batches,
         result->batches == 1 ? "" : "es");
  if (result->has_loss && result->batches > 0 && !isfinite(result->loss))
    printf(
        "  not a finite number: where all targets of a micro-batch are ignored it has no mean, which zbc --loss-mean "
        "targets leaves out; else weights or data are not finite\n");
}

void run_flush_or_stop(zb_session *session, zb_status *out) {
  if (*out || !(*out = tool_flush_output())) return;
  bool is_closed_terminal = write(STDOUT_FILENO, "", 0) < 0 && errno == EIO;
  if (is_closed_terminal && run_told.outlives_terminal && freopen("/dev/null", "w", stdout)) {
    zb_status_free(*out);
    *out = NULL;
    return;
  }
  zb_session_stop(session);
}

static void json_row(void *context, const zb_profile_row *row) {
  bool *first = context;
  printf("%s{\"category\":", *first ? "" : ",");
  *first = false;
  tool_print_json_text(row->category);
  print_json_number("seconds", row->seconds);
  print_json_number("share", row->share);
  printf(",\"calls\":%llu", (unsigned long long)row->calls);
  print_json_number("flops", row->flops);
  putchar('}');
}

static void text_row(void *context, const zb_profile_row *row) {
  char time[32], rate[32] = "";
  (void)context;
  if (row->flops > 0 && row->seconds > 0) run_short_number(row->flops / row->seconds, rate);
  printf("  %-14s %10s %6.1f%% %10llu calls %9s%-6s  %s\n", row->category, zb_time_text(row->seconds, time),
         100 * row->share, (unsigned long long)row->calls, rate, rate[0] ? "FLOP/s" : "", row->help);
}

static zb_status print_explanations(int64_t step, const zb_explanation *measured, const zb_explanation *simulated,
                                    bool json) {
  char *(*text_of)(const zb_explanation *explanation) = json ? zb_explanation_json : zb_explanation_text;
  char *texts[] = {text_of(measured), text_of(simulated)};
  const bool good = texts[0] && texts[1];
  if (good && json) printf("{\"explanation\":{\"measured\":%s,\"simulated\":%s}}\n", texts[0], texts[1]);
  if (good && !json)
    printf("why ranks idled in step %lld, as measured:\n%sby the costs of the plan:\n%s", (long long)step, texts[0],
           texts[1]);
  zb_free(texts[0]);
  zb_free(texts[1]);
  return good ? NULL : ZB_OUT_OF_MEMORY();
}

zb_status run_print_explanation(zb_session *session, const arguments *args) {
  zb_explanation measured, simulated;
  ZB_TRY(zb_session_explain(session, &measured, &simulated));
  zb_status status = NULL;
  if (zb_session_describe(session).process == 0)
    status = print_explanations(zb_session_steps(session), &measured, &simulated, args->json);
  zb_explanation_deinit(&measured);
  zb_explanation_deinit(&simulated);
  return status;
}

zb_status run_print_profile(zb_session *session, const arguments *args) {
  bool first = true;
  printf(args->json ? "{\"profile\":[" : "where the time of all ranks went:\n");
  zb_status status = zb_session_profile(session, args->json ? json_row : text_row, &first);
  if (args->json) printf("]}\n");
  return status;
}

zb_status run_print_memory(zb_session *session, const arguments *args) {
  int ranks = zb_session_describe(session).ranks;
  if (args->json) printf("{\"memory\":[");
  for (int rank = 0; rank < ranks; ++rank) {
    zb_session_memory_use use;
    ZB_TRY(zb_session_memory(session, rank, &use));
    unsigned long long arena = use.arena_bytes, high = use.high_water_bytes, live = use.most_live_bytes;
    char texts[3][32];
    if (args->json)
      printf("%s{\"rank\":%d,\"arena\":%llu,\"high_water\":%llu,\"most_live\":%llu}", rank ? "," : "", rank, arena,
             high, live);
    else
      printf("rank %d: arena of %s, used up to %s, at most %s alive at a time\n", rank, zb_bytes_text(arena, texts[0]),
             zb_bytes_text(high, texts[1]), zb_bytes_text(live, texts[2]));
  }
  if (args->json) printf("]}\n");
  return NULL;
}

/* What a run says of itself goes where its steps go, but standard output is for JSON alone. */
static FILE *spoken(const arguments *args) { return args->json ? stderr : stdout; }

static void flush_spoken(const arguments *args) {
  if (args->json)
    fflush(stderr);
  else
    zb_status_free(tool_flush_output()); /* what fails is told before the first step */
}

void run_say_line(void *context, const char *line) {
  const opening *o = context;
  char *shown = o->args->quiet ? NULL : zb_shown(line);
  if (shown) fprintf(spoken(o->args), "%s\n", shown);
  flush_spoken(o->args); /* people wait, through a pipe too */
  zb_free(shown);
}

/* Which ranks the processes of a mesh have. */
static void print_processes(const zb_session_info *info) {
  char text[ZB_SESSION_RANKS_TEXT];
  for (int process = 0; process < info->processes && process < PROCESSES_SHOWN; ++process)
    fprintf(stderr, "  process %-4d %s\n", process, zb_session_ranks_text(info, process, text));
  if (info->processes > PROCESSES_SHOWN) fprintf(stderr, "  and %d more\n", info->processes - PROCESSES_SHOWN);
}

void run_print_header(void *context, const zb_session *session) {
  const arguments *args = ((const opening *)context)->args;
  const char *launcher = ((const opening *)context)->launcher;
  zb_session_info info = zb_session_describe(session);
  if (info.processes > 1 && info.process == 0)
    fprintf(stderr, "zb-run: %d processes over %s, started by %s; ranks are laid over them in blocks\n", info.processes,
            info.launch, launcher ? launcher : "hand");
  if (info.processes > 1 && info.process == 0 && info.replicas * info.shards > 1 && !args->quiet)
    print_processes(&info);
  if (args->quiet) return;
  uint64_t largest = 0;
  char bytes[32];
  for (int rank = 0; rank < info.ranks; ++rank)
    if (zb_session_arena_bytes(session, rank) > largest) largest = zb_session_arena_bytes(session, rank);
  bool mixed = strcmp(info.precision, "f32") != 0;
  char replicas[40] = "", shards[40] = "";
  if (info.replicas > 1) snprintf(replicas, sizeof replicas, "%d replicas of ", info.replicas);
  if (info.shards > 1) snprintf(shards, sizeof shards, "%d shards of ", info.shards);
  char *model = zb_shown(info.model);
  fprintf(spoken(args),
          "%s%s%s: %s, %s%s%d ranks on %s (%s), %d threads each, %d stages, %d micro-batches, at most %s a rank\n",
          model ? model : "", mixed ? " in " : "", mixed ? info.precision : "", info.schedule, replicas, shards,
          info.ranks / info.replicas / info.shards, info.device, info.instruction_set, info.threads, info.stages,
          info.micro_batches, zb_bytes_text(largest, bytes));
  zb_free(model);
  if (strcmp(info.sharding, "none") != 0)
    fprintf(spoken(args), "replicas share optimizer state: rank 0 has %llu bytes of it\n",
            (unsigned long long)info.state_bytes);
  if (args->barrier) fprintf(spoken(args), "all ranks end a step before any begins the next one\n");
  if (*info.rates) fprintf(spoken(args), "rates: %s\n", info.rates);
  if (info.random_seed) fprintf(spoken(args), "random seed %lld\n", (long long)info.random_seed);
  flush_spoken(args);
}

void run_print_start(const zb_session *session, const arguments *args) {
  zb_session_info info = zb_session_describe(session);
  if (info.process > 0) return;
  if (info.warning) fprintf(stderr, "zb-run: warning: %s\n", info.warning);
  if (args->resume && !args->quiet)
    fprintf(spoken(args), "resumed after step %lld\n", (long long)zb_session_steps(session));
  flush_spoken(args);
}

static void json_part(void *context ZB_UNUSED, const zb_runtime_part *part) {
  const char *const pairs[][2] = {{"name", part->name},   {"summary", part->summary}, {"module", part->path},
                                  {"found", part->found}, {"missing", part->missing}, {"hint", part->hint}};
  printf("{\"kind\":\"%s\"", part->kind);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    printf(",\"%s\":", pairs[i][0]);
    if (pairs[i][1])
      tool_print_json_text(pairs[i][1]);
    else
      printf("null");
  }
  printf("}\n");
}

/* context: the kind of the part before. */
static void text_part(void *context, const zb_runtime_part *part) {
  const char **before = context;
  if (!*before || strcmp(*before, part->kind) != 0)
    printf("%s:\n", strcmp(part->kind, "device") == 0 ? "devices" : "ways to launch ranks");
  *before = part->kind;
  printf("  %-8s %s%s%s", part->name, part->missing ? "not here: " : "", part->missing ? part->missing : part->summary,
         part->missing && part->hint ? "; " : "");
  if (part->missing) {
    printf("%s\n", part->hint ? part->hint : "");
    return;
  }
  printf(" (%s%s%s%s)\n", part->path ? "module " : "built in", part->path ? part->path : "", part->found[0] ? ": " : "",
         part->found);
}

void run_print_parts(bool json) {
  const char *before = NULL;
  zb_runtime_parts(json ? json_part : text_part, &before);
}
