/* What is said of options and names that are not there: runtime/base/words.c and the table of words. */
#include "zb/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/suite.h"
#include "tools/command/programs.h"

enum { ZBC = TOOL_ZBC, ZB_RUN = TOOL_ZB_RUN, ZB_SCHED = TOOL_ZB_SCHED, ZB_OPT = TOOL_ZB_OPT, PROGRAMS = TOOL_COUNT };

static const struct {
  const char *typed, *program, *option, *example, *why;
} words[] = {
#define ZB_OPTION_WORD(typed, program, option, example, why) {typed, program, option, example, why},
#include "runtime/base/words.def"
};
enum { WORDS = sizeof words / sizeof words[0] };

static const struct {
  const char *what, *typed, *why;
} values[] = {
#define ZB_VALUE_WORD(what, typed, why) {what, typed, why},
#include "runtime/base/words.def"
};
enum { VALUES = sizeof values / sizeof values[0] };

/* Whether `word` (of `length`) is one of a list with blanks between. */
static bool in_list(const char *list, const char *word, size_t length) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    const size_t here = strcspn(at, " ");
    if (here == length && strncmp(at, word, length) == 0) return true;
    at += here;
  }
  return false;
}

static const zb_program *find(const char *name) {
  for (int i = 0; i < PROGRAMS; ++i)
    if (strcmp(tool_programs[i].name, name) == 0) return &tool_programs[i];
  return NULL;
}

static bool fail(const char *row, const char *why) {
  printf("\n  '%.40s': %s", row, why);
  return false;
}

/* An option that a row names is one of its program. */
static void test_named(void) {
  for (int i = 0; i < WORDS; ++i) {
    const zb_program *program = find(words[i].program);
    if (!*words[i].program) {
      CU_ASSERT_TRUE((!*words[i].option && *words[i].why) || fail(words[i].typed, "says nothing"));
      continue;
    }
    CU_ASSERT_TRUE(program != NULL || fail(words[i].typed, "there is no such program"));
    if (program && *words[i].option)
      CU_ASSERT_TRUE(in_list(program->options, words[i].option, strlen(words[i].option)) ||
                     fail(words[i].typed, "its program has no such option"));
    CU_ASSERT_TRUE(*words[i].option || *words[i].why || fail(words[i].typed, "says nothing"));
  }
}

/* A word that is already an option of its program, or stands twice, would never be reached. */
static void test_reached(void) {
  for (int i = 0; i < WORDS; ++i)
    for (const char *at = words[i].typed; *at; at += strspn(at, " ")) {
      char option[80];
      const size_t length = strcspn(at, " ");
      snprintf(option, sizeof option, "--%.*s", (int)length, at);
      const zb_program *program = find(words[i].program);
      if (program) CU_ASSERT_TRUE(!in_list(program->options, option, strlen(option)) || fail(option, "is an option"));
      for (int k = 0; k < i; ++k)
        CU_ASSERT_TRUE(strcmp(words[k].program, words[i].program) != 0 || !in_list(words[k].typed, at, length) ||
                       fail(option, "stands twice"));
      at += length;
    }
  for (int i = 0; i < VALUES; ++i)
    for (const char *at = values[i].typed; *at; at += strspn(at, " ")) {
      const size_t length = strcspn(at, " ");
      for (int k = 0; k < i; ++k)
        CU_ASSERT_TRUE(strcmp(values[k].what, values[i].what) != 0 || !in_list(values[k].typed, at, length) ||
                       fail(at, "stands twice"));
      at += length;
    }
}

static bool hints(int own, const char *argument, const char *hint) {
  zb_status status = zb_unknown_option(tool_programs, PROGRAMS, own, argument);
  const char *got = zb_status_hint_text(status);
  bool good = zb_status_code(status) == ZB_USAGE && got && strstr(got, hint);
  if (!good) printf("\n  %s: got '%s', expected '%s'", argument, got ? got : "", hint);
  zb_status_free(status);
  return good;
}

static void test_meant(void) {
  static const struct {
    int program;
    const char *typed, *hint;
  } rows[] = {
      {ZBC, "--lr", "write --optimizer adamw:lr=3e-4"},
      {ZBC, "--learning-rate=3e-4", "write --optimizer adamw:lr=3e-4"},
      {ZBC, "--Learning_Rate", "write --optimizer adamw:lr=3e-4"},
      {ZB_RUN, "--learning-rate", "write --lr 3e-4"},
      {ZB_RUN, "--lr-scheduler", "write --lr-schedule cosine:"},
      {ZB_RUN, "--no-decay", "write --group GLOB:lr=1e-4,weight_decay=0"},
      {ZBC, "--micro-batch-size", "as it was exported"},
      {ZBC, "--seq-length", "as it was exported"},
      {ZBC, "--gradient-accumulation-steps", "write --micro-batches 8"},
      {ZB_SCHED, "--num-microbatches", "write --micro-batches 8"},
      {ZBC, "--num-gpus=4", "write --ranks 4"},
      {ZB_RUN, "--pipeline-model-parallel-size", "zbc --ranks 4"},
      {ZB_SCHED, "--stages", "write --ranks 4"},
      {ZB_RUN, "--num-epochs", "write --epochs N"},
      {ZBC, "--max-steps", "zb-run --steps N"},
      {ZBC, "--warmup", "zb-run --lr-schedule cosine:warmup=100,steps=1000,end=0.1"},
      {ZBC, "--max-norm", "write --clip-norm 1.0"},
      {ZB_RUN, "--max-grad-norm", "write --clip-norm 1.0"},
      {ZBC, "--dp", "write --data-parallel 2"},
      {ZBC, "--fp16", "write --precision bf16"},
      {ZBC, "--tp", "--tensor-parallel"},
      {ZBC, "--zero-stage", "--sharding optimizer"},
      {ZBC, "--zero2", "--sharding gradients:micro-batch"},
      {ZBC, "--recompute-granularity", "--recompute all"},
      {ZB_RUN, "--nproc-per-node", "torchrun"},
      {ZB_RUN, "--rdzv-backend", "torchrun"},
      {ZB_RUN, "--ckpt", "write --save FOLDER"},
      {ZBC, "--virtual-pipeline-model-parallel-size", "write --chunks 2"},
      {ZB_RUN, "--wandb-project", "--log"},
      {ZB_RUN, "--logdir", "--tensorboard"},
      {ZB_RUN, "--disable-tqdm", "--no-progress"},
      {ZB_RUN, "--bottleneck", "--explain"},
      {ZBC, "--cuda-graphs", "without being asked"},
      {ZB_SCHED, "--seed", "search:seed"},
      {ZB_OPT, "-o", "standard output"},
      /* options of a sister */
      {ZBC, "--data", "--data is an option of zb-run, which trains with a plan"},
      {ZB_RUN, "--ranks", "--ranks is an option of zbc"},
      {ZB_RUN, "--schedule=zb-v", "--schedule is an option of zbc"},
      {ZB_SCHED, "--steps", "--steps is an option of zb-run"},
      /* typing errors */
      {ZBC, "--shedule", "did you mean '--schedule'?"},
      {ZBC, "--micro_batches", "did you mean '--micro-batches'?"},
      {ZBC, "-ranks", "did you mean '--ranks'?"},
      {ZBC, "--RANKS", "did you mean '--ranks'?"},
      {ZBC, "--limit", "--memory-limit"},
      {ZB_RUN, "--grad", "did you mean '--grad-norms'?"},
      /* nothing is near */
      {ZBC, "--json-file", "zbc --help lists the options"},
      {ZB_RUN, "--xy", "zb-run --help lists the options"},
      {ZB_SCHED, "--", "zb-sched --help lists the options"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    CU_ASSERT_TRUE(hints(rows[i].program, rows[i].typed, rows[i].hint));
}

/* Options with one letter left out, doubled or replaced: no other option is proposed than the one that was meant. */
static void test_slips(void) {
  uint64_t random = 7;
  for (int program = 0; program < PROGRAMS; ++program)
    for (const char *at = tool_programs[program].options; *at; at += strspn(at, " ")) {
      const size_t length = strcspn(at, " ");
      for (int i = 0; i < 20 && length >= 8; ++i) {
        char option[64], typed[80], meant[80];
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        const size_t place = 2 + (size_t)(random >> 33) % (length - 2);
        const int kind = (int)(random >> 60) % 3;
        snprintf(option, sizeof option, "%.*s", (int)length, at);
        snprintf(typed, sizeof typed, "%.*s%s%s", (int)place, option,
                 kind == 0   ? ""
                 : kind == 1 ? "q"
                             : (char[]){option[place], option[place], 0},
                 option + place + 1);
        if (kind == 0) snprintf(typed, sizeof typed, "%.*s%s", (int)place, option, option + place + 1);
        if (in_list(tool_programs[program].options, typed, strlen(typed))) continue;
        snprintf(meant, sizeof meant, "did you mean '%s'?", option);
        zb_status status = zb_unknown_option(tool_programs, PROGRAMS, program, typed);
        const char *hint = zb_status_hint_text(status);
        if (strncmp(hint, "did you mean", 12) == 0 && strcmp(option, "--save-every") != 0)
          CU_ASSERT_TRUE(strcmp(hint, meant) == 0 || fail(typed, hint));
        zb_status_free(status);
      }
      at += length;
    }
}

/* Whatever is typed: an error with a hint, without a look behind the end of anything (the address sanitizer reads
 * along). */
static void test_noise(void) {
  uint64_t random = 3;
  for (int i = 0; i < 3000; ++i) {
    char typed[200];
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    const size_t length = (size_t)(random >> 40) % (sizeof typed - 1);
    for (size_t k = 0; k < length; ++k) {
      random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
      typed[k] = (char)(random >> 56);
      if (!typed[k] || (i & 1)) typed[k] = "-_=abclr"[(random >> 50) & 7];
    }
    typed[length] = '\0';
    zb_status status = zb_unknown_option(tool_programs, PROGRAMS, i % PROGRAMS, typed);
    CU_ASSERT_PTR_NOT_NULL(zb_status_hint_text(status));
    zb_status_free(status);
    (void)zb_name_meaning("device", typed);
  }
}

static void test_values(void) {
  static const struct {
    const char *what, *typed, *meaning;
  } rows[] = {
      {"device", "gpu", "--device cuda"},
      {"device", "CUDA:0", "--device cuda"},
      {"device", "cpu:1", "--device cpu"},
      {"device", "mps", "cpu, cuda and sim"},
      {"way to launch ranks", "nccl", "tcp"},
      {"way to launch ranks", "mpirun", "--launch mpi"},
      {"optimizer", "FusedAdam", "write adamw or adam"},
      {"optimizer", "lr=1e-3", "adamw:lr=3e-4"},
      {"optimizer key", "weight-decay", NULL},
      {"optimizer key", "betas", "beta1"},
      {"rate schedule", "cosine_annealing", "cosine:warmup"},
      {"rate schedule key", "min_lr", "it is end"},
      {"group key", "wd", "weight_decay"},
      {"precision", "fp16", "loss scale"},
      {"precision", "mixed", "bf16"},
      {"metric", "makespan", "barrier"},
      {"placement", "interleaved", "looped"},
      {"cost", "fwd", "it is f"},
      {"pass", "grad", "zb-autodiff"},
      {"device", "cpux", NULL},
      {"no such thing", "gpu", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const char *got = zb_name_meaning(rows[i].what, rows[i].typed);
    CU_ASSERT_TRUE((!rows[i].meaning && !got) || (rows[i].meaning && got && strstr(got, rows[i].meaning)) ||
                   fail(rows[i].typed, got ? got : "nothing"));
  }
}

static void test_units(void) {
  char text[32];
  static const struct {
    uint64_t bytes;
    const char *text;
  } bytes[] = {{0, "0 B"},
               {1023, "1023 B"},
               {1024, "1.0 KiB"},
               {59723776, "57.0 MiB"},
               {(uint64_t)1 << 30, "1.0 GiB"},
               {((uint64_t)1 << 20) - 1, "1.0 MiB"},
               {UINT64_MAX, "16.0 EiB"}};
  for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; ++i)
    CU_ASSERT_STRING_EQUAL(zb_bytes_text(bytes[i].bytes, text), bytes[i].text);
  static const struct {
    const char *text;
    uint64_t bytes; /* 0: none */
  } parsed[] = {{"800", 800},
                {"64M", (uint64_t)64 << 20},
                {"1.5G", (uint64_t)3 << 29},
                {"2g", (uint64_t)2 << 30},
                {"2GiB", (uint64_t)2 << 30},
                {"1KiB", 1024},
                {"1T", (uint64_t)1 << 40},
                {"1e3K", 1024000},
                {"2GB", 2000000000},
                {"2 GB", 2000000000},
                {"1.5kB", 1500},
                {"2 GiB", (uint64_t)2 << 30},
                {"2e9", 2000000000},
                {"2.5e-1", 0},
                {"1e3", 1000},
                {"0x10", 0},
                {"2G B", 0},
                {"2  GB", 0},
                {"2Gb", 0},
                {"2 ", 0},
                {"1.5", 0},
                {"0", 0},
                {"", 0},
                {"-1G", 0},
                {" 1G", 0},
                {"G", 0},
                {"1GG", 0},
                {"nan", 0},
                {"inf", 0},
                {"1e400", 0},
                {"2 G", (uint64_t)2 << 30},
                {"1Gi", 0},
                {"9999999999999999999999", 0}};
  for (size_t i = 0; i < sizeof parsed / sizeof parsed[0]; ++i) {
    uint64_t got = 0;
    CU_ASSERT_TRUE((zb_bytes_parse(parsed[i].text, &got) == (parsed[i].bytes > 0) && got == parsed[i].bytes) ||
                   fail(parsed[i].text, "other bytes"));
  }
  char exact[64];
  CU_ASSERT_STRING_EQUAL(zb_bytes_exact_text(800, exact), "800 bytes");
  CU_ASSERT_STRING_EQUAL(zb_bytes_exact_text(1230976, exact), "1.2 MiB (1,230,976 bytes)");
  CU_ASSERT_STRING_EQUAL(zb_bytes_exact_text(UINT64_MAX, exact), "16.0 EiB (18,446,744,073,709,551,615 bytes)");
  static const struct {
    double seconds;
    const char *text;
  } times[] = {{0, "0.00 s"},       {1.5, "1.50 s"},   {0.999999, "1.00 s"}, {0.0576, "57.60 ms"},
               {12e-6, "12.00 us"}, {5e-9, "5.00 ns"}, {1e-12, "0.00 ns"}};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; ++i)
    CU_ASSERT_STRING_EQUAL(zb_time_text(times[i].seconds, text), times[i].text);
}

SUITE_MAIN("options", {"named options exist", test_named}, {"every word is reached", test_reached},
           {"what is meant", test_meant}, {"slips of one letter", test_slips}, {"noise", test_noise},
           {"values", test_values}, {"units", test_units})
