/* zb-run: trains with a plan that zbc wrote. Only the public API: what this tool needs, an embedder has.
 *
 * Standard output: a line a step, or with --json an object a line and nothing else. Standard error: everything else.
 * Tests: test/runtime/exec/zb_run_test.c.
 */
#include "tools/programs.h"
#include "zb/runtime.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whether an option must be the same in all processes of a run. Every row of zb-run.def says so. SESSION: it is a
 * parameter of the session, which compares it, or what it leads to. SAME: compared here. GIVEN: it must be given in all
 * or in none; what a path leads to the session compares, and files of reports are written by process 0 alone. OWN: it
 * may differ, because. (--quiet is SAME: --grad-norms gathers from all processes for each line.) */
typedef enum across { ACROSS_SESSION, ACROSS_SAME, ACROSS_GIVEN, ACROSS_OWN } across;
typedef struct across_rule {
  across kind;
  const char *why;
} across_rule;
#define SESSION {ACROSS_SESSION, NULL}
#define SAME {ACROSS_SAME, NULL}
#define GIVEN {ACROSS_GIVEN, NULL}
#define OWN(why) {ACROSS_OWN, why}

typedef const char *field_TEXT;
typedef int64_t field_NUMBER;
typedef bool field_FLAG;
typedef enum kind { TEXT, NUMBER, FLAG } kind;

typedef struct arguments {
  const char *directory;
#define ROW(option, field, kind, across, argument, lowest, highest, help) field_##kind field;
#include "tools/zb-run.def"
} arguments;

typedef struct option_row {
  const char *option, *argument, *help;
  kind kind;
  across_rule across;
  size_t offset;
  int64_t lowest, highest;
} option_row;

static const option_row rows[] = {
#define ROW(option, field, kind, across, argument, lowest, highest, help)                                              \
  {option, argument, help, kind, across, offsetof(arguments, field), lowest, highest},
#include "tools/zb-run.def"
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* Signals that end a run after the step that is running, and save it. ROW(signal, is_order). A second order gives the
 * step up; the others may come twice of themselves: a shell and the kernel tell of a closed terminal, a limit of
 * processor time is told again each second, a batch system sends SIGUSR1 or SIGUSR2 (Slurm's --signal) and SIGTERM
 * after it. SIGQUIT (Ctrl-\) stays what ends a program at once. */
#define SIGNALS(ROW)                                                                                                   \
  ROW(SIGINT, true) ROW(SIGTERM, true) ROW(SIGHUP, false) ROW(SIGUSR1, false) ROW(SIGUSR2, false) ROW(SIGXCPU, false)

static const struct signal_row {
  int number;
  bool is_order;
} signal_rows[] = {
#define ROW(number, is_order) {number, is_order},
    SIGNALS(ROW)
#undef ROW
};
enum { SIGNAL_COUNT = sizeof signal_rows / sizeof signal_rows[0] };

/* What signals change: the handler may touch nothing else. */
static volatile sig_atomic_t signals_seen, orders_seen;
static zb_session *volatile running_session;

static volatile sig_atomic_t many_processes, has_met, has_trained;

static bool outlives_terminal; /* SIGHUP was ignored when it began, as nohup has it */

static void say(const char *text, size_t bytes) {
  int kept = errno;
  if (write(STDERR_FILENO, text, bytes) < 0) errno = kept;
  errno = kept;
}

/* Before the first step. Who waits for processes that may never come ends at once, as if nothing were caught: 130 or
 * 143 in a shell. So does who is alone. But processes that have met count on each other: they end together, after the
 * first step. */
static void on_early_signal(int number) {
  static const char waiting[] = "zb-run: ended by a signal while it waited for other processes: nothing was trained\n";
  static const char loading[] = "zb-run: ended by a signal before the first step: nothing was trained\n";
  static const char together[] =
      "zb-run: ends with the other processes after the first step; a second signal ends it at once\n";
  signal(number, SIG_DFL);
  if (many_processes && has_met) {
    say(together, sizeof together - 1);
    return;
  }
  say(many_processes ? waiting : loading, many_processes ? sizeof waiting - 1 : sizeof loading - 1);
  raise(number);
}

static bool is_order(int number) {
  for (int i = 0; i < SIGNAL_COUNT; ++i)
    if (signal_rows[i].number == number) return signal_rows[i].is_order;
  return false;
}

static void on_signal(int number) {
  static const char text[] = "zb-run: finishing this step; a second signal abandons it\n";
  static const char told[] = "zb-run: told to end after this step (has a process died?):\n";
  char positions[4096];
  int kept = errno;
  zb_session *session = running_session;
  bool first = signals_seen == 0, gives_up = is_order(number) && orders_seen > 0;
  signals_seen = 1;
  if (is_order(number)) orders_seen = 1;
  if (session && first) {
    zb_session_stop(session);
    /* mpirun ends the other processes by SIGTERM when one dies, and kills them a second later: this may be all that
     * they can say. */
    size_t used = 0;
    if (many_processes && number == SIGTERM) {
      memcpy(positions, told, sizeof told - 1);
      used =
          sizeof told - 1 + zb_session_positions(session, positions + sizeof told - 1, sizeof positions - sizeof told);
    }
    say(used > 0 ? positions : text, used > 0 ? used : sizeof text - 1);
  } else if (session) {
    if (gives_up) zb_session_interrupt(session);
  } else if (!has_trained) {
    on_early_signal(number);
  } else { /* all is done but the end */
    signal(number, SIG_DFL);
  }
  errno = kept;
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < SIGNAL_COUNT; ++i) {
    struct sigaction given;
    if (sigaction(signal_rows[i].number, NULL, &given) != 0) continue;
    bool ignored =
        given.sa_handler == SIG_IGN &&
        !signal_rows[i].is_order; /* a script's background job has SIGINT ignored, and is still told to end by it */
    if (signal_rows[i].number == SIGHUP) outlives_terminal = ignored;
    if (!ignored) sigaction(signal_rows[i].number, &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN); /* who reads the output may go away: what was trained is saved first */
}

/* ---- The command line ---- */

static void print_help(void) {
  printf("zb-run DIR --data SOURCE --steps N [options]\n\n"
         "Trains with the plan in DIR (written by zbc): one line a step.\n\noptions:\n");
  for (int i = 0; i < ROW_COUNT; ++i) {
    char left[40];
    snprintf(left, sizeof left, "%s %s", rows[i].option, rows[i].argument);
    printf("  %-22s %s\n", left, rows[i].help);
  }
  printf("\ndevices:\n");
  const char *name = NULL, *summary = NULL;
  for (int i = 0; zb_runtime_device_at(i, &name, &summary); ++i)
    printf("  %-22s %s\n", name, summary);
  printf("\nways to launch ranks:\n");
  for (int i = 0; zb_runtime_launch_at(i, &name, &summary); ++i)
    printf("  %-22s %s\n", name, summary);
  printf("\nof several processes each must be given the same options, but for\n");
  for (int i = 0; i < ROW_COUNT; ++i)
    if (rows[i].across.kind == ACROSS_OWN) printf("  %-22s %s\n", rows[i].option, rows[i].across.why);
  printf("\nexamples:\n"
         "  zb-run model --data text:corpus.txt --steps 100\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --threads 4 --save checkpoint --save-every 100\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --resume checkpoint --save checkpoint --json\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --weights hub/gpt2      (fine-tune a checkpoint of "
         "Hugging Face)\n"
         "  zb-run model --data text:corpus.txt --steps 20 --profile costs.json   (then zbc --costs costs.json)\n"
         "  mpirun -n 4 zb-run model --data text:corpus.txt --steps 100            (ranks in 4 processes)\n"
         "  torchrun --no-python --nproc-per-node 4 zb-run model --data text:corpus.txt --steps 100\n"
         "  zb-run model --device sim --no-kernels --steps 1 --timeline step.svg\n"
         "\nexit status:\n");
#define ZB_CODE(ID, exit_code, help) printf("  %-4d %s\n", exit_code, help);
#include "zb/status.def"
#undef ZB_CODE
}

static zb_status parse_number(const option_row *row, const char *value, int64_t *out) {
  char *end = NULL;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (end == value || *end || errno || number < row->lowest || number > row->highest) {
    if (row->highest > 1000000)
      return ZB_ERROR(USAGE, "%s '%s': expected a whole number of at least %lld", row->option, value,
                      (long long)row->lowest);
    return ZB_ERROR(USAGE, "%s '%s': expected a whole number from %lld to %lld", row->option, value,
                    (long long)row->lowest, (long long)row->highest);
  }
  *out = number;
  return NULL;
}

/* Takes one option, "--name", "--name value" or "--name=value"; *index ends on its last word. */
static zb_status parse_option(int count, char **words, int *index, arguments *out) {
  const char *word = words[*index], *equals = strchr(word, '=');
  if (strcmp(word, "-h") == 0) return out->help = true, NULL;
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  for (int i = 0; i < ROW_COUNT; ++i) {
    const option_row *row = &rows[i];
    if (strlen(row->option) != length || strncmp(row->option, word, length) != 0) continue;
    void *field = (char *)out + row->offset;
    if (row->kind == FLAG) {
      if (equals) return ZB_ERROR(USAGE, "%s takes no value, got '%s'", row->option, equals + 1);
      *(bool *)field = true;
      return NULL;
    }
    const char *value = equals ? equals + 1 : *index + 1 < count ? words[++*index] : NULL;
    if (!value || !value[0]) return ZB_ERROR(USAGE, "%s needs a value: %s %s", row->option, row->option, row->argument);
    if (row->kind == NUMBER) return parse_number(row, value, field);
    *(const char **)field = value;
    return NULL;
  }
  return tool_unknown_option(TOOL_ZB_RUN, word);
}

static bool ends_so(const char *text, const char *ending) {
  const size_t length = strlen(text), wanted = strlen(ending);
  return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/* A model, or the file in the folder, in the place of the folder. */
static zb_status check_directory(const char *directory) {
  struct stat info;
  if (stat(directory, &info) == 0 && S_ISDIR(info.st_mode)) return NULL; /* whatever its name */
  if (ends_so(directory, ".onnx") || ends_so(directory, ".mlir"))
    return zb_status_hint(ZB_ERROR(USAGE, "'%s' is a model: zb-run takes the folder of a plan", directory),
                          "zbc %s -o DIR makes one", directory);
  if (ends_so(directory, "/plan.zb") || strcmp(directory, "plan.zb") == 0)
    return zb_status_hint(ZB_ERROR(USAGE, "'%s' is a file: zb-run takes the folder that it is in", directory),
                          "leave plan.zb out");
  return NULL;
}

static bool is_given(const arguments *args, const option_row *row) {
  const void *field = (const char *)args + row->offset;
  if (row->kind == FLAG) return *(const bool *)field;
  return row->kind == NUMBER ? *(const int64_t *)field != 0 : *(const char *const *)field != NULL;
}

/* An option that makes something else than training: what it does not take is not ignored. with: what it takes. */
static zb_status takes_no_more(const arguments *args, const char *option, const char *with) {
  for (int i = 0; i < ROW_COUNT; ++i)
    if (is_given(args, &rows[i]) && strcmp(rows[i].option, option) != 0 && strcmp(rows[i].option, with) != 0)
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect with %s, which trains nothing", rows[i].option, option),
                            "leave one of them out");
  return NULL;
}

static zb_status parse(int count, char **words, arguments *out) {
  for (int i = 1; i < count; ++i) {
    if (words[i][0] == '-' && words[i][1]) {
      ZB_TRY(parse_option(count, words, &i, out));
    } else if (out->directory) {
      return ZB_ERROR(USAGE, "two folders of a plan are given: '%s' and '%s'", out->directory, words[i]);
    } else {
      out->directory = words[i];
    }
  }
  if (out->help || out->version || out->list_devices) return NULL;
  if (out->calibrate && (out->directory || out->steps || out->data))
    return zb_status_hint(ZB_ERROR(USAGE, "--calibrate measures the machine alone: it takes no DIR, --data or --steps"),
                          "--profile FILE.json measures a plan");
  if (out->calibrate) return takes_no_more(out, "--calibrate", "--threads");
  if (!out->directory)
    return zb_status_hint(ZB_ERROR(USAGE, "no folder of a plan is given"),
                          "zb-run DIR --data text:FILE --steps N; zb-run --help says more");
  ZB_TRY(check_directory(out->directory));
  if (out->print_plan) return takes_no_more(out, "--print-plan", "");
  if (!out->steps) return zb_status_hint(ZB_ERROR(USAGE, "the number of steps is not given"), "add --steps N");
  if (out->save_every && !out->save)
    return zb_status_hint(ZB_ERROR(USAGE, "--save-every without --save"), "add --save FOLDER");
  if (out->weights && out->resume)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights and --resume are two ways to begin"),
                          "--resume goes on with optimizer, step and data position; --weights takes parameters alone");
  if (out->weights_partial && !out->weights)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights-partial without --weights"), "add --weights PATH");
  if (out->no_kernels && (out->save || out->resume || out->weights || out->grad_norms || out->profile_ops || out->data))
    return ZB_ERROR(
        USAGE, "--no-kernels computes nothing: it cannot go with --data, --save, --resume, --weights, --grad-norms or "
               "--profile-ops");
  return NULL;
}

/* ---- Output ---- */

static void print_json_text(const char *text) {
  putchar('"');
  for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
    if (*c == '"' || *c == '\\')
      printf("\\%c", *c);
    else if (*c < 0x20)
      printf("\\u%04x", *c);
    else
      putchar(*c);
  }
  putchar('"');
}

/* ,"key":number with 17 digits; null for what is no number. */
static void print_json_number(const char *key, double value) {
  printf(",\"%s\":", key);
  if (isfinite(value))
    printf("%.17g", value);
  else
    printf("null");
}

static void json_norm(void *context, const char *name, double norm) {
  bool *first = context;
  if (!*first) putchar(',');
  *first = false;
  print_json_text(name);
  if (isfinite(norm))
    printf(":%.17g", norm);
  else
    printf(":null");
}

static void text_norm(void *context, const char *name, double norm) {
  (void)context;
  char *shown = zb_shown(name);
  printf("  gradient norm %12.6g  %s\n", norm, shown ? shown : "(out of memory)");
  zb_free(shown);
}

static double tokens_per_second(const zb_step_result *result) {
  return result->seconds > 0 ? result->tokens / result->seconds : (double)NAN;
}

static zb_status print_step_json(zb_session *session, const arguments *args, const zb_step_result *result) {
  printf("{\"step\":%lld", (long long)result->step);
  print_json_number("loss", result->loss);
  print_json_number("seconds", result->seconds);
  print_json_number("tokens_per_second", tokens_per_second(result));
  print_json_number("idle", result->idle_share);
  printf(",\"waiting\":[");
  for (int rank = 0; rank < result->ranks; ++rank)
    printf("%s%.6g", rank ? "," : "", result->waiting_shares[rank]);
  putchar(']');
  zb_status status = NULL;
  if (args->grad_norms) {
    bool first = true;
    printf(",\"gradient_norms\":{");
    status = zb_session_gradient_norms(session, json_norm, &first);
    putchar('}');
  }
  printf("}\n");
  return status;
}

/* "41.0k": three digits that a person can read. */
static const char *short_number(double value, char text[32]) {
  static const char *const units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  if (!isfinite(value)) return "-";
  while (value >= 999.95 && unit + 1 < sizeof units / sizeof units[0])
    value /= 1000, ++unit;
  snprintf(text, 32, "%.1f%s", value, units[unit]);
  return text;
}

static zb_status print_step_text(zb_session *session, const arguments *args, const zb_step_result *result,
                                 int64_t last) {
  char rate[32], time[32], loss[32] = "-", idle[32] = "-";
  if (isfinite(result->idle_share)) snprintf(idle, sizeof idle, "%.1f%%", 100 * result->idle_share);
  if (isfinite(result->loss)) snprintf(loss, sizeof loss, "%.6f", result->loss);
  printf("step %lld/%lld  loss %s  %s  %s tokens/s  idle %s\n", (long long)result->step + 1, (long long)last, loss,
         zb_time_text(result->seconds, time), short_number(tokens_per_second(result), rate), idle);
  return args->grad_norms ? zb_session_gradient_norms(session, text_norm, NULL) : NULL;
}

static int output_errno; /* of the flush of standard output that failed first: those after it fail for no reason of
                            their own */

static bool flush_stdout(void) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  if (!output_errno) output_errno = errno ? errno : EIO; /* 0: a line was lost before, on a terminal */
  return false;
}

/* Standard output that cannot be written is a failure: a full disk must not look like a run that went well. */
static zb_status flush_output(void) {
  return flush_stdout() ? NULL : ZB_ERROR(IO, "cannot write to standard output: %s", strerror(output_errno));
}

/* During training. A failure is kept in *out, and the run ends after the next step, with its save: a reader that went
 * away (zb-run | head), a terminal that was closed, or a full disk must not lose what was trained. Who ignores SIGHUP
 * wants to go on without the terminal. */
static void flush_or_stop(zb_session *session, zb_status *out) {
  if (*out || flush_stdout()) return;
  bool is_closed_terminal = write(STDOUT_FILENO, "", 0) < 0 && errno == EIO;
  if (is_closed_terminal && outlives_terminal && freopen("/dev/null", "w", stdout)) {
    output_errno = 0;
    return;
  }
  *out = flush_output();
  zb_session_stop(session);
}

static void json_row(void *context, const zb_profile_row *row) {
  bool *first = context;
  printf("%s{\"category\":", *first ? "" : ",");
  *first = false;
  print_json_text(row->category);
  print_json_number("seconds", row->seconds);
  print_json_number("share", row->share);
  printf(",\"calls\":%llu", (unsigned long long)row->calls);
  print_json_number("flops", row->flops);
  putchar('}');
}

static void text_row(void *context, const zb_profile_row *row) {
  char time[32], rate[32] = "";
  (void)context;
  if (row->flops > 0 && row->seconds > 0) short_number(row->flops / row->seconds, rate);
  printf("  %-14s %10s %6.1f%% %10llu calls %9s%-6s  %s\n", row->category, zb_time_text(row->seconds, time),
         100 * row->share, (unsigned long long)row->calls, rate, rate[0] ? "FLOP/s" : "", row->help);
}

static zb_status print_profile(zb_session *session, const arguments *args) {
  bool first = true;
  printf(args->json ? "{\"profile\":[" : "where the time of all ranks went:\n");
  zb_status status = zb_session_profile(session, args->json ? json_row : text_row, &first);
  if (args->json) printf("]}\n");
  return status;
}

/* What each rank was given, how much of it its jobs touch, and how much is alive at the fullest moment. */
static zb_status print_memory(zb_session *session, const arguments *args) {
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
    flush_stdout(); /* what fails is told before the first step */
}

/* The arguments of a run and what started it: of all that is called back while its session is made. */
typedef struct opening {
  const arguments *args;
  const char *launcher;
} opening;

static void say_line(void *context, const char *line) {
  const opening *o = context;
  char *shown = o->args->quiet ? NULL : zb_shown(line);
  if (shown) fprintf(spoken(o->args), "%s\n", shown);
  flush_spoken(o->args); /* people wait, through a pipe too */
  zb_free(shown);
}

/* As soon as the plan is read: weights may take a while. */
static void print_header(void *context, const zb_session *session) {
  const arguments *args = ((const opening *)context)->args;
  const char *launcher = ((const opening *)context)->launcher;
  zb_session_info info = zb_session_describe(session);
  if (info.processes > 1 && info.process == 0)
    fprintf(stderr, "zb-run: %d processes over %s, started by %s; ranks are laid over them in blocks\n", info.processes,
            info.launch, launcher ? launcher : "hand");
  if (args->quiet) return;
  uint64_t largest = 0;
  char bytes[32];
  for (int rank = 0; rank < info.ranks; ++rank)
    if (zb_session_arena_bytes(session, rank) > largest) largest = zb_session_arena_bytes(session, rank);
  bool mixed = strcmp(info.precision, "f32") != 0;
  char *model = zb_shown(info.model);
  fprintf(spoken(args),
          "%s%s%s: %s, %d ranks on %s (%s), %d threads each, %d stages, %d micro-batches, at most %s a rank\n",
          model ? model : "", mixed ? " in " : "", mixed ? info.precision : "", info.schedule, info.ranks, info.device,
          info.instruction_set, info.threads, info.stages, info.micro_batches, zb_bytes_text(largest, bytes));
  zb_free(model);
  flush_spoken(args);
}

/* What is known once all is loaded. */
static void print_start(const zb_session *session, const arguments *args) {
  zb_session_info info = zb_session_describe(session);
  if (info.process > 0) return;
  if (info.warning) fprintf(stderr, "zb-run: warning: %s\n", info.warning);
  if (args->resume && !args->quiet)
    fprintf(spoken(args), "resumed after step %lld\n", (long long)zb_session_steps(session));
  flush_spoken(args);
}

/* ---- Running ---- */

/* Steps in the folder of --save: for certain, and those that were being written last; -1: none. */
typedef struct saves {
  int64_t done, begun;
  bool ended; /* the save that was begun last has ended, well or not, and there are no other processes that could know
                 better */
} saves;

static zb_status save(zb_session *session, const arguments *args, saves *saved) {
  saved->begun = zb_session_steps(session);
  saved->ended = false;
  zb_status status = zb_session_save(session, args->save);
  saved->ended = !many_processes;
  if (status) return status;
  saved->done = saved->begun;
  if (!args->json && !args->quiet) printf("saved step %lld to %s\n", (long long)zb_session_steps(session), args->save);
  return NULL;
}

/* Whether there is a folder, or FOLDER.old, where a save has it for a moment. */
static bool is_there(const char *folder) {
  char old[PATH_MAX];
  int length = snprintf(old, sizeof old, "%s.old", folder);
  return access(folder, F_OK) == 0 || (length > 0 && (size_t)length < sizeof old && access(old, F_OK) == 0);
}

/* What there is to go on from. A process that ends in the middle of a save of several does not know how far the others
 * came. */
static zb_status note_saves(zb_status status, const saves *saved, const char *folder) {
  long long done = saved->done, begun = saved->begun;
  if (begun < 0) return status;
  if (saved->ended && begun != done) begun = done; /* the save failed, and says itself what became of it */
  if (done < 0 && !is_there(folder)) return zb_status_note(status, "nothing is saved: there is no '%s'", folder);
  if (begun < 0) return zb_status_note(status, "this run has saved nothing; '%s' is of an earlier one", folder);
  if (begun == done)
    return zb_status_note(status, "the last save is that of step %lld: --resume '%s' goes on from there", done, folder);
  if (done < 0)
    return zb_status_note(status, "a save of step %lld was under way: '%s' holds it, or what was there before", begun,
                          folder);
  return zb_status_note(
      status,
      "the last save is that of step %lld, or of step %lld, which was under way: --resume '%s' goes on from there",
      done, begun, folder);
}

static zb_status interrupted(const zb_session *session, const arguments *args, bool saved) {
  zb_status status =
      ZB_ERROR(INTERRUPTED, "stopped by a signal after %lld steps", (long long)zb_session_steps(session));
  if (saved) return zb_status_note(status, "saved: --resume '%s' goes on from there", args->save);
  return zb_status_note(status,
                        args->save ? "nothing was saved: no step was made" : "nothing was saved: no --save was given");
}

static zb_status make_steps(zb_session *session, const arguments *args, zb_status *out_output, bool *out_stopped,
                            saves *saved) {
  int64_t last = zb_session_steps(session) + args->steps;
  bool stopping = false;
  if (signals_seen)
    zb_session_stop(session); /* it came while the session was made: one step, so that all processes hear of it */
  while (zb_session_steps(session) < last && !stopping) {
    zb_step_result result;
    ZB_TRY(zb_session_step(session, &result));
    stopping = result.stopping;
    bool final = zb_session_steps(session) == last || stopping;
    if (!args->quiet || final)
      ZB_TRY(args->json ? print_step_json(session, args, &result) : print_step_text(session, args, &result, last));
    if (args->save && !final && args->save_every && zb_session_steps(session) % args->save_every == 0)
      ZB_TRY(save(session, args, saved));
    flush_or_stop(session, out_output);
    *out_stopped = stopping;
  }
  return NULL;
}

/* What ends a run that went well: a signal counts for more than what became of the output, which may have gone with it.
 * Takes ownership of `output`. */
static zb_status end_of(zb_session *session, const arguments *args, zb_status output, bool stopped, bool saved) {
  flush_or_stop(session, &output);
  if (output && !(stopped && signals_seen))
    return saved ? zb_status_note(output, "saved: --resume '%s' goes on from there", args->save) : output;
  zb_status_free(output);
  return stopped ? interrupted(session, args, saved) : NULL;
}

/* A run that a signal stopped may have made too few steps: then that it was stopped is what is told. */
static zb_status write_costs(zb_session *session, const arguments *args, bool stopped) {
  zb_status status = zb_session_write_costs(session, args->profile);
  if (!stopped || zb_status_code(status) != ZB_USAGE) return status;
  fprintf(stderr, "zb-run: '%s' was not written: %s\n", args->profile, zb_status_message(status));
  zb_status_free(status);
  return NULL;
}

static zb_status finish(zb_session *session, const arguments *args, int64_t first, bool stopped, saves *saved) {
  bool any = zb_session_steps(session) > first;
  if (any && args->save) ZB_TRY(save(session, args, saved));
  if (any && args->timeline) ZB_TRY(zb_session_timeline(session, args->timeline));
  if (any && args->trace) ZB_TRY(zb_session_trace(session, args->trace));
  if (any && args->profile_ops) ZB_TRY(print_profile(session, args));
  if (any && args->profile) ZB_TRY(write_costs(session, args, stopped));
  if (any && args->memory) ZB_TRY(print_memory(session, args));
  return NULL;
}

/* Before the first step: a run of hours must not end with a picture that cannot be written. */
static zb_status check_outputs(void *context, int process) {
  const arguments *args = context;
  has_met = 1;
  if (process > 0) return NULL;
  if (args->trace && args->profile && strcmp(args->trace, args->profile) == 0)
    return zb_status_hint(ZB_ERROR(USAGE, "--trace and --profile would write the same file '%s'", args->trace),
                          "give each a name of its own");
  if (args->timeline) ZB_TRY(zb_output_check("--timeline", args->timeline, ".svg"));
  if (args->trace) ZB_TRY(zb_output_check("--trace", args->trace, ".json"));
  if (args->profile) ZB_TRY(zb_output_check("--profile", args->profile, ".json"));
  return NULL;
}

static const char *environment(void *context, const char *name) {
  (void)context;
  return getenv(name);
}

/* Takes and returns ownership. */
static zb_status print_error(zb_status status, const zb_bootstrap *by) {
  if (by->processes > 1 && zb_status_code(status) != ZB_INTERRUPTED)
    status = zb_status_note(status, "in process %d of %d", by->process, by->processes);
  fflush(stdout);
  fprintf(stderr, "zb-run: %s", zb_status_text(status));
  return status;
}

/* The time-out is over in a wait that nothing else ends. */
static void give_up(zb_status status) {
  fprintf(stderr, "zb-run: %s", zb_status_text(status));
  _exit(zb_status_exit(status));
}

/* Another process has told it, but maybe not on this terminal. */
static void print_told(zb_status status) {
  char *shown = zb_shown(zb_status_message(status));
  fprintf(stderr, "zb-run: %s\n", shown ? shown : "another process failed");
  zb_free(shown);
}

enum { NUMBER_BYTES = 24 };

/* What the session does not see of the options that must be the same. Numbers are written to `numbers`; all is lent.
 * Returns how many there are. */
static int list_settings(const arguments *args, zb_setting settings[ROW_COUNT], char numbers[ROW_COUNT][NUMBER_BYTES]) {
  int count = 0;
  for (int i = 0; i < ROW_COUNT; ++i) {
    const void *field = (const char *)args + rows[i].offset;
    const char *value = NULL;
    if (rows[i].across.kind != ACROSS_SAME && rows[i].across.kind != ACROSS_GIVEN) continue;
    if (rows[i].kind == TEXT) value = *(const char *const *)field;
    if (rows[i].kind == FLAG) value = *(const bool *)field ? "on" : "off";
    if (rows[i].kind == NUMBER && *(const int64_t *)field != 0) {
      snprintf(numbers[i], NUMBER_BYTES, "%lld", (long long)*(const int64_t *)field);
      value = numbers[i];
    }
    settings[count++] = (zb_setting){rows[i].option, value && rows[i].across.kind == ACROSS_GIVEN ? "given" : value};
  }
  return count;
}

/* A wrong command line in one process: the others would wait for it. */
static void tell_others(const arguments *args, const zb_bootstrap *by, zb_status failure) {
  zb_session_params params = {.launch = args->launch, .bootstrap = by};
  if (by->processes > 1) zb_session_tell_failure(&params, failure);
}

static zb_status find_launcher(const arguments *args, zb_bootstrap *out) {
  zb_status status = zb_bootstrap_find(environment, NULL, out);
  if (status) *out = (zb_bootstrap){.processes = 1, .local_process = -1};
  if (status && args->launch && strcmp(args->launch, "threads") == 0) { /* what is left over of another run */
    zb_status_free(status);
    status = NULL;
  }
  return status;
}

/* *out_printed: the error that comes back was printed, while other processes still ran. */
static zb_status train(arguments *args, zb_bootstrap *bootstrap, bool *out_printed) {
  zb_session *session = NULL;
  zb_setting settings[ROW_COUNT];
  char numbers[ROW_COUNT][NUMBER_BYTES];
  opening called = {.args = args};
  zb_session_params params = {
      .directory = args->directory,
      .data = args->data,
      .device = args->device,
      .launch = args->launch,
      .resume = args->resume,
      .weights = args->weights,
      .weights_partial = args->weights_partial,
      .steps = args->steps,
      .threads = (int)args->threads,
      .seed = (uint64_t)args->seed,
      .no_kernels = args->no_kernels,
      .reference = args->reference,
      .tf32 = args->tf32,
      .trace = args->timeline || args->trace,
      .profile = args->profile_ops,
      .costs = args->profile != NULL,
      .timeout_ms = args->timeout * 1000,
      .give_up = give_up,
      .save = args->save,
      .settings = settings,
      .setting_count = list_settings(args, settings, numbers),
      .bootstrap = bootstrap,
      .opened = print_header,
      .say = say_line,
      .progress_context = &called,
      .check = check_outputs,
      .check_context = args,
  };
  ZB_TRY(find_launcher(args, bootstrap));
  if (bootstrap->warning[0] && !args->launch) fprintf(stderr, "zb-run: warning: %s\n", bootstrap->warning);
  many_processes = bootstrap->processes > 1;
  catch_signals();
  called.launcher = bootstrap->launcher;
  ZB_TRY(zb_session_create(&params, &session));
  zb_session_info info = zb_session_describe(session);
  many_processes = info.processes > 1;
  if (info.process > 0 && !freopen("/dev/null", "w", stdout)) { /* process 0 prints */
    zb_session_abort(session, "cannot open the null device");
    zb_session_destroy(session);
    return ZB_ERROR(IO, "cannot open the null device: %s", strerror(errno));
  }
  int64_t first = zb_session_steps(session);
  saves saved = {-1, -1, false};
  bool stopped = false;
  running_session = session;
  has_trained = 1;
  print_start(session, args);
  zb_status output = NULL, status = NULL;
  flush_or_stop(session, &status); /* a full disk is found before the first step */
  if (!status) status = make_steps(session, args, &output, &stopped, &saved);
  if (!status) status = finish(session, args, first, stopped, &saved);
  bool together = !status; /* all processes have come to the end */
  if (together)
    status = end_of(session, args, output, stopped, args->save && zb_session_steps(session) > first);
  else
    zb_status_free(output);
  running_session = NULL;
  bool common = zb_status_code(status) == ZB_INTERRUPTED; /* the end that all processes come to */
  if (status && !together) status = note_saves(status, &saved, args->save);
  *out_printed = status && !zb_status_told(status); /* now: the launcher may end this process when another one ends */
  if (*out_printed && !(common && info.process > 0)) status = print_error(status, bootstrap);
  if (status && !common && !together) zb_session_abort(session, zb_status_message(status));
  zb_session_destroy(session);
  return status;
}

static void json_part(void *context, const zb_runtime_part *part) {
  (void)context;
  const char *const pairs[][2] = {{"name", part->name},   {"summary", part->summary}, {"module", part->path},
                                  {"found", part->found}, {"missing", part->missing}, {"hint", part->hint}};
  printf("{\"kind\":\"%s\"", part->kind);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    printf(",\"%s\":", pairs[i][0]);
    if (pairs[i][1])
      print_json_text(pairs[i][1]);
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

static void write_text(void *context, const char *text, size_t bytes) { fwrite(text, 1, bytes, context); }

int main(int argument_count, char **words) {
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  arguments args = {0};
  zb_bootstrap bootstrap = {.processes = 1, .local_process = -1};
  bool printed = false;
  zb_status status = parse(argument_count, words, &args);
  if (status) {
    zb_status_free(find_launcher(&args, &bootstrap));
    status = print_error(status, &bootstrap);
    printed = true;
    tell_others(&args, &bootstrap, status);
  } else if (args.help) {
    print_help();
    status = flush_output();
  } else if (args.version) {
    printf("zb-run %s\n", ZB_VERSION);
    status = flush_output();
  } else if (args.list_devices) {
    const char *before = NULL;
    zb_runtime_parts(args.json ? json_part : text_part, &before);
    status = flush_output();
  } else if (args.calibrate) {
    status = zb_output_check("--calibrate", args.calibrate, ".json");
    if (!status) status = zb_calibrate(args.calibrate, (int)args.threads);
  } else if (args.print_plan) {
    status = zb_plan_print_file(args.directory, write_text, stdout);
    if (!status) status = flush_output();
  } else {
    status = train(&args, &bootstrap, &printed);
  }
  int exit_status = zb_status_exit(status);
  if (status && !printed && !zb_status_told(status)) status = print_error(status, &bootstrap);
  if (zb_status_told(status) && bootstrap.apart) print_told(status);
  /* The launcher ends all processes when one has failed: let the one that tells why go first. */
  if (zb_status_told(status)) nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  zb_status_free(status);
  return exit_status;
}
