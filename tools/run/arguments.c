/* The command line of zb-run: see zb-run.def. Tests: test/runtime/exec/zb_run_test.c. */
#include "tools/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether an option must be the same in all processes of a run. Every row of zb-run.def says so. SESSION: it is a
 * parameter of the session, which compares it, or what it leads to. SAME: compared here. GIVEN: it must be given in all
 * or in none; what a path leads to the session compares, and files of reports are written by process 0 alone. OWN: it
 * may differ, because. (--quiet is SAME: --grad-norms gathers from all processes for each line.) */
typedef enum across { ACROSS_SESSION, ACROSS_SAME, ACROSS_GIVEN, ACROSS_OWN } across;
typedef struct across_rule {
  across kind;
  const char *why;
} across_rule;
enum { SEED_DIGITS_MAX = 20, DELAY_SHARE_MAX = 1000 };
static const double DELAY_SHARE = 0.1;

#define SESSION {ACROSS_SESSION, NULL}
#define SAME {ACROSS_SAME, NULL}
#define GIVEN {ACROSS_GIVEN, NULL}
#define OWN(why) {ACROSS_OWN, why}

static const option_row rows[] = {
#define ROW(option, field, kind, across, of, argument, low, high, help)                                                \
  {option, argument, help, OPTION_##kind, .offset = offsetof(arguments, field), .lowest = low, .highest = high},
#include "tools/command/zb-run.def"
};

static const across_rule rules[RUN_OPTIONS] = {
#define ROW(option, field, kind, across, ...) across,
#include "tools/command/zb-run.def"
};

static zb_status take_directory(void *settings, const char *word);
static const options_table table = {TOOL_ZB_RUN, rows, RUN_OPTIONS, .column = 25, .word = take_directory};

void run_print_help(void) {
  printf(
      "zb-run DIR --data SOURCE --steps N [options]\n"
      "zb-run DIR --eval SOURCE [options]\n\n"
      "Trains with the plan in DIR (written by zbc): one line a step. Without --data it computes the loss of the plan "
      "alone.\n\noptions:\n");
  options_print(&table);
  printf("\ndevices:\n");
  const char *name = NULL, *summary = NULL;
  for (int i = 0; zb_runtime_device_at(i, &name, &summary); ++i)
    printf("  %-22s %s\n", name, summary);
  printf("\nways to launch ranks:\n");
  for (int i = 0; zb_runtime_launch_at(i, &name, &summary); ++i)
    printf("  %-22s %s\n", name, summary);
  printf("\nschedules of the learning rate (--lr-schedule; the rate of a step is a factor times that of the "
         "parameter):\n");
  const char *example = NULL;
  for (int i = 0; zb_rate_schedule_at(i, &name, &example, &summary); ++i)
    printf("  %-36s %s\n", example, summary);
  printf("\nof several processes each must be given the same options, but for\n");
  for (int i = 0; i < RUN_OPTIONS; ++i)
    if (rules[i].kind == ACROSS_OWN) printf("  %-22s %s\n", rows[i].option, rules[i].why);
  printf("\nexamples:\n"
         "  zb-run model --data text:corpus.txt --steps 100\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --threads 4 --save checkpoint --save-every 100\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --resume checkpoint --save checkpoint --json\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --eval tokens:valid.bin:u16 --eval-every 100\n"
         "  zb-run model --data tokens:train.bin:u16 --steps 1000 --weights hub/gpt2      (fine-tune a checkpoint of "
         "Hugging Face)\n"
         "  zb-run model --data text:corpus.txt --steps 20 --profile costs.json   (then zbc --costs costs.json)\n"
         "  zb-run model --data text:corpus.txt --steps 1000 --lr 3e-4 --lr-schedule "
         "cosine:warmup=100,steps=1000,end=0.1\n"
         "  mpirun -n 4 zb-run model --data text:corpus.txt --steps 100            (ranks in 4 processes)\n"
         "  torchrun --no-python --nproc-per-node 4 zb-run model --data text:corpus.txt --steps 100\n"
         "  zb-run model --device sim --no-kernels --steps 1 --timeline step.svg\n"
         "\nexit status:\n");
#define ZB_CODE(ID, exit_code, help) printf("  %-4d %s\n", exit_code, help);
#include "zb/status.def"
#undef ZB_CODE
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

/* An option that makes something else than training: what it does not take is not ignored. with: what it takes. */
static zb_status takes_no_more(const arguments *args, const char *option, const char *with) {
  for (int i = 0; i < RUN_OPTIONS; ++i)
    if (option_is_given(&rows[i], args) && strcmp(rows[i].option, option) != 0 && strcmp(rows[i].option, with) != 0)
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect with %s, which trains nothing", rows[i].option, option),
                            "leave one of them out");
  return NULL;
}

/* Where parameters begin. */
static zb_status check_beginning(const arguments *args) {
  if (args->weights && args->resume)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights and --resume are two ways to begin"),
                          "--resume goes on with optimizer, step and data position; --weights takes parameters alone");
  if (args->weights_partial && !args->weights)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights-partial without --weights"), "add --weights PATH");
  return NULL;
}

/* --eval without --data: what belongs to steps has no meaning. */
static zb_status check_evaluation(const arguments *args) {
  enum { ANY, STEPS };
  static const int of_what[] = {
#define ROW(option, field, kind, across, of, ...) of,
#include "tools/command/zb-run.def"
  };
  for (int i = 0; i < RUN_OPTIONS; ++i)
    if (of_what[i] == STEPS && option_is_given(&rows[i], args))
      return zb_status_hint(ZB_ERROR(USAGE, "--eval without --data trains nothing: %s has no effect", rows[i].option),
                            "leave %s out, or add --data SOURCE", rows[i].option);
  return check_beginning(args);
}

static zb_status take_directory(void *settings, const char *word) {
  arguments *out = settings;
  if (out->directory) return ZB_ERROR(USAGE, "two folders of a plan are given: '%s' and '%s'", out->directory, word);
  out->directory = word;
  return NULL;
}

double run_clip_norm(const arguments *args) { return args->clip_norm ? strtod(args->clip_norm, NULL) : 0; }

static zb_status check_clip_norm(const arguments *args) {
  char *end = NULL;
  if (args->clip_norm && (!(strtod(args->clip_norm, &end) > 0) || *end))
    return zb_status_hint(ZB_ERROR(USAGE, "--clip-norm: expected a number above 0, or inf, got '%s'", args->clip_norm),
                          "inf clips nothing");
  return NULL;
}

void run_set_simulation(const arguments *args, zb_session_params *out) {
  const char *colon = args->delays ? strchr(args->delays, ':') : NULL;
  out->seed = (uint64_t)args->seed;
  out->delays = args->delays ? strtoull(args->delays, NULL, 10) : 0;
  out->delay_spread = colon ? strtod(colon + 1, NULL) : DELAY_SHARE;
  out->no_kernels = args->no_kernels;
  out->memory = args->memory;
  out->trace = args->timeline || args->trace;
}

static zb_status check_delays(const arguments *args) {
  const char *text = args->delays;
  char *end = NULL;
  if (!text) return NULL;
  bool good = *text >= '1' && *text <= '9' && strspn(text, "0123456789") < SEED_DIGITS_MAX;
  strtoull(text, &end, 10);
  if (good && *end == ':') {
    const char *share_text = end + 1;
    const double share = strtod(share_text, &end);
    good = end > share_text && share >= 0 && share <= DELAY_SHARE_MAX;
  }
  if (good && !*end) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE,
                                 "--delays: expected SEED or SEED:SHARE, a number from 1 and a share of the time of "
                                 "jobs from 0 to %d, got '%s'",
                                 DELAY_SHARE_MAX, text),
                        "--delays 7:0.1 makes every job up to a tenth longer");
}

zb_status run_parse(int count, char **words, arguments *out) {
  ZB_TRY(options_parse(&table, count, words, out));
  if (out->help || out->version || out->list_devices) return NULL;
  if (out->calibrate && (out->directory || out->steps || out->data))
    return zb_status_hint(ZB_ERROR(USAGE, "--calibrate measures the machine alone: it takes no DIR, --data or --steps"),
                          "--profile FILE.json measures a plan");
  if (out->calibrate) return takes_no_more(out, "--calibrate", "--threads");
  if (!out->directory)
    return zb_status_hint(ZB_ERROR(USAGE, "no folder of a plan is given"),
                          "zb-run DIR --data text:FILE --steps N; zb-run --help says more");
  ZB_TRY(check_directory(out->directory));
  if (out->print_plan) return takes_no_more(out, "--print-plan", "--json");
  if ((out->eval_every || out->eval_steps) && !out->eval)
    return zb_status_hint(ZB_ERROR(USAGE, "%s without --eval", out->eval_every ? "--eval-every" : "--eval-steps"),
                          "add --eval text:FILE or --eval tokens:FILE");
  if (out->outputs.count && !out->eval)
    return zb_status_hint(ZB_ERROR(USAGE, "--output without --eval: outputs are those of an evaluation"),
                          "add --eval text:FILE or --eval tokens:FILE");
  if (out->eval && !out->data) return check_evaluation(out);
  if (out->steps && out->epochs)
    return zb_status_hint(ZB_ERROR(USAGE, "--steps and --epochs both say when to end"), "leave one of them out");
  if (!out->steps && !out->epochs)
    return zb_status_hint(ZB_ERROR(USAGE, "the number of steps is not given"), "add --steps N, or --epochs N");
  if (out->save_every && !out->save)
    return zb_status_hint(ZB_ERROR(USAGE, "--save-every without --save"), "add --save FOLDER");
  ZB_TRY(check_clip_norm(out));
  ZB_TRY(check_delays(out));
  if (out->no_kernels && (out->save || out->resume || out->weights || out->grad_norms || out->profile_ops ||
                          out->data || out->random_seed))
    return ZB_ERROR(
        USAGE, "--no-kernels computes nothing: it cannot go with --data, --save, --resume, --weights, --grad-norms, "
               "--profile-ops or --random-seed");
  return check_beginning(out);
}

static void write_list(FILE *out, const option_list *list) {
  for (int i = 0; i < list->count; ++i) {
    fputs(i ? ", " : "[", out);
    tool_write_json_text(out, list->items[i]);
  }
  fputs("]", out);
}

void run_write_options(const arguments *args, FILE *out) {
  const char *between = "";
  fputs("{", out);
  for (int i = 0; i < RUN_OPTIONS; ++i) {
    const void *field = (const char *)args + rows[i].offset;
    if (!option_is_given(&rows[i], args)) continue;
    fputs(between, out);
    between = ", ";
    tool_write_json_text(out, rows[i].option + 2);
    fputs(": ", out);
    if (rows[i].kind == OPTION_LIST)
      write_list(out, field);
    else if (rows[i].kind == OPTION_NUMBER)
      fprintf(out, "%lld", (long long)*(const int64_t *)field);
    else if (rows[i].kind == OPTION_FLAG)
      fputs("true", out);
    else
      tool_write_json_text(out, *(const char *const *)field);
  }
  fputs("}", out);
}

int run_list_settings(const arguments *args, zb_setting settings[RUN_OPTIONS],
                      char numbers[RUN_OPTIONS][RUN_NUMBER_BYTES]) {
  int count = 0;
  for (int i = 0; i < RUN_OPTIONS; ++i) {
    const void *field = (const char *)args + rows[i].offset;
    const char *value = NULL;
    if (rules[i].kind != ACROSS_SAME && rules[i].kind != ACROSS_GIVEN) continue;
    if (rows[i].kind == OPTION_TEXT) value = *(const char *const *)field;
    if (rows[i].kind == OPTION_FLAG) value = *(const bool *)field ? "on" : "off";
    if (rows[i].kind == OPTION_NUMBER && *(const int64_t *)field != 0) {
      snprintf(numbers[i], RUN_NUMBER_BYTES, "%lld", (long long)*(const int64_t *)field);
      value = numbers[i];
    }
    settings[count++] = (zb_setting){rows[i].option, value && rules[i].kind == ACROSS_GIVEN ? "given" : value};
  }
  return count;
}
