/* Learning rates of a run: the schedules against those of PyTorch and transformers (rates.csv, by make_rates.py), what
 * a checkpoint keeps of them, groups, and everything that is refused. */
#include "runtime/exec/rates.h"

#include <math.h>

#include "test/runtime/exec/tiny.h"

static void open_schedule(const char *line, zb_rates *out) {
  const zb_session_params params = {.lr_schedule = line};
  TINY_OK(zb_rates_open(&params, NULL, NULL, out));
}

/* ---- Schedules ---- */

static void test_pytorch(void) {
  char *text = NULL;
  size_t bytes = 0;
  int cases = 0, steps = 0; /* fixed ones, and drawn at random */
  TINY_OK(zb_file_read(ZB_SOURCE_DIR "/test/runtime/exec/rates.csv", 0, &text, &bytes));
  zb_rates rates = {0};
  double base = 0, worst = 0;
  int64_t step = 0;
  for (char *at = text, *next; at && *at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    char *blank = strchr(at, ' ');
    if (blank) {
      *blank = '\0';
      base = strtod(blank + 1, NULL);
      step = 0;
      ++cases;
      zb_rates_close(&rates);
      open_schedule(at, &rates);
      continue;
    }
    const double expected = strtod(at, NULL), got = base * zb_rates_factor(&rates, step++), off = fabs(got - expected);
    if (off > worst) worst = off;
    if (off > 1e-12 * base)
      printf("\n  %s, step %d: %.17g, PyTorch has %.17g", rates.schedule, (int)step - 1, got, expected);
    CU_ASSERT(off <= 1e-12 * base);
    ++steps;
  }
  CU_ASSERT(cases == 39 && steps > 5000);
  zb_rates_close(&rates);
  zb_free(text);
}

/* What PyTorch does not have: behind `steps` the rate stays. */
static void test_behind_the_end(void) {
  static const struct {
    const char *line;
    double at_end;
  } rows[] = {{"cosine:steps=10,end=0.25", 0.25},
              {"linear:steps=10", 0},
              {"linear:warmup=10,steps=10,end=0.5", 0.5},
              {"wsd:steps=10,decay=3,end=0.5", 0.5},
              {"constant:warmup=3", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    zb_rates rates;
    open_schedule(rows[i].line, &rates);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, 10), rows[i].at_end);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, INT64_C(1) << 40), rows[i].at_end);
    zb_rates_close(&rates);
  }
}

/* ---- Tables ---- */

static const char *write_table(const char *text) {
  static char path[600];
  TINY_OK(zb_file_write_atomic(tiny_path(path, "rates.csv"), text, strlen(text)));
  return path;
}

static void test_table(void) {
  char line[640];
  static const char *const texts[] = {
      "0,1\n1,0.5\n2,0.25\n", "step,factor\n0,1\n1,0.5\n2,0.25", "step,factor\r\n0, 1\r\n1, 5e-1\r\n2,0.25 \r\n",
      "\xEF\xBB\xBF\r\n\"step\",\"factor\"\r\n\"0\",\"1\"\r\n\r\n1,\"0.5\" \r\n2,0.25\r\n\r\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    zb_rates rates;
    snprintf(line, sizeof line, "table:%s", write_table(texts[i]));
    open_schedule(line, &rates);
    CU_ASSERT_EQUAL(rates.factor_count, 3);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, 0), 1);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, 1), 0.5);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, 2), 0.25);
    CU_ASSERT_EQUAL(zb_rates_factor(&rates, 1000), 0.25);
    zb_rates_close(&rates);
  }
  unlink(line + strlen("table:"));
}

/* Whether opening is refused with all of these. */
static void expect_refused(const zb_session_params *params, zb_code code, const char *message, const char *hint) {
  zb_rates rates;
  zb_status status = zb_rates_open(params, NULL, NULL, &rates);
  const char *said = status ? zb_status_text(status) : "no error";
  const bool right = zb_status_code(status) == code && strstr(said, message) && strstr(said, hint);
  if (!right) printf("\n  expected '%s' and '%s', got: %s", message, hint, said);
  CU_ASSERT(right);
  zb_status_free(status);
  zb_rates_close(&rates);
}

static void test_wrong_tables(void) {
  static const struct {
    const char *text, *message, *hint;
  } rows[] = {
      {"0,1\n2,1\n", ":2:1: expected step 1, got step 2", "a line for each step"},
      {"1,1\n", ":1:1: expected step 0, got step 1", "the first step of training is step 0"},
      {"0,1\n0,1\n", ":2:1: expected step 1, got step 0", ""},
      {"0,1\n\n \"1\" , \"x\"\n", ":3:9: the factor is no number from 0", ""},
      {"0,1\n1,fast\n", ":2:3: the factor is no number from 0", "STEP,FACTOR"},
      {"0,-1\n", ":1:3: the factor is no number from 0", ""},
      {"0,nan\n", ":1:3: the factor is no number from 0", ""},
      {"0,inf\n", ":1:3: the factor is no number from 0", ""},
      {"0,1e999\n", ":1:3: the factor is no number from 0", ""},
      {"0,1,2\n", ":1:3: the factor is no number from 0", ""},
      {"0 1\n", ":1:1: expected a step, a comma and a factor", "STEP,FACTOR"},
      {"x,1\n", ":1:1: expected a step, a comma and a factor", ""},
      {"0.5,1\n", ":1:1: expected a step, a comma and a factor", ""},
      {"step,factor\n", ":1:1: the table has no factors", ""},
      {"", ":1:1: the table has no factors", ""},
  };
  char line[640];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    snprintf(line, sizeof line, "table:%s", write_table(rows[i].text));
    expect_refused(&(zb_session_params){.lr_schedule = line}, ZB_INVALID, rows[i].message, rows[i].hint);
  }
  unlink(line + strlen("table:"));
  expect_refused(&(zb_session_params){.lr_schedule = line}, ZB_IO, line + strlen("table:"), "");
}

/* ---- What is refused ---- */

static void test_wrong_lines(void) {
  static const struct {
    const char *line, *message, *hint;
  } rows[] = {
      {"cosin:steps=10", "unknown rate schedule 'cosin'", "did you mean 'cosine'?"},
      {"cosine:step=10", "unknown key 'step' of rate schedule 'cosine'", "did you mean 'steps'?"},
      {"cosine", "rate schedule 'cosine': steps is not given", "for example cosine:"},
      {"cosine:steps=0", "steps must be a whole number from 1, got '0'", ""},
      {"cosine:steps=1.5", "steps must be a whole number from 1, got '1.5'", ""},
      {"cosine:steps=-10", "steps must be a whole number from 1, got '-10'", ""},
      {"cosine:steps=nan", "steps must be a whole number from 1, got 'nan'", ""},
      {"cosine:steps=inf", "steps must be a whole number from 1, got 'inf'", ""},
      {"cosine:steps=10,end=nan", "end must be a number from 0, got 'nan'", ""},
      {"cosine:steps=10,end=-0.1", "end must be a number from 0, got '-0.1'", ""},
      {"cosine:steps=10,warmup=11", "a warm-up of 11 steps is longer than its 10 steps", "steps counts all steps"},
      {"wsd:steps=10,decay=6,warmup=5", "warm-up and decay of 11 steps are longer than its 10 steps", "wsd:warmup"},
      {"wsd:steps=10", "rate schedule 'wsd': decay is not given", "for example wsd:"},
      {"wsd:steps=10,decay=2,shape=square", "there is no shape 'square'", "known: cosine linear 1-sqrt"},
      {"exponential", "rate schedule 'exponential': gamma is not given", "exponential:gamma=0.999"},
      {"step:every=0", "every must be a whole number from 1, got '0'", ""},
      {"linear:steps=10,", "a setting is missing after ':' or ','", ""},
      {"linear:steps", "'steps' has no value", "write key=value"},
      {"linear:steps=1,steps=2", "steps is given twice", "leave one of them out"},
      {"table", "rate schedule 'table': the file is not given", "write table:FILE.csv"},
      {"table:", "rate schedule 'table': the file is not given", "write table:FILE.csv"},
      {"", "unknown rate schedule ''", "known: constant, linear"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    expect_refused(&(zb_session_params){.lr_schedule = rows[i].line}, ZB_USAGE, rows[i].message, rows[i].hint);
  static const char *const numbers[] = {"-1", "nan", "inf", "fast", "", "1e999", "3e-4x"};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    expect_refused(&(zb_session_params){.lr = numbers[i]}, ZB_USAGE, "--lr must be a number from 0",
                   "for example --lr 3e-4");
    expect_refused(&(zb_session_params){.weight_decay = numbers[i]}, ZB_USAGE, "--weight-decay must be a number from 0",
                   "for example --weight-decay 0.1");
  }
  static const struct {
    const char *group, *message, *hint;
  } groups[] = {
      {"*.bias", "'*.bias' is no group of parameters", "GLOB:lr=1e-4"},
      {":lr=1", "':lr=1' is no group of parameters", ""},
      {"*:", "group '*': a setting is missing", ""},
      {"*:lr=-1", "group '*': lr must be a number from 0, got '-1'", ""},
      {"*:lr=nan", "group '*': lr must be a number from 0, got 'nan'", ""},
      {"*:decay=1", "unknown key 'decay' of group '*'", "weight_decay"},
  };
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i)
    expect_refused(&(zb_session_params){.groups = &groups[i].group, .group_count = 1}, ZB_USAGE, groups[i].message,
                   groups[i].hint);
}

/* ---- Groups ---- */

static void test_groups(void) {
  double defaults[] = {0.01, 0.1}, got[2];
  const zb_plan_setting matrix = {.name = "h.0.mlp.weight", .defaults = defaults, .default_count = 2},
                        vector = {.name = "h.0.mlp.bias",
                                  .own = 2,
                                  .defaults = (double[]){0.01, 0},
                                  .default_count = 2},
                        head = {.name = "head.weight", .own = 1, .defaults = (double[]){0.5, 0.1}, .default_count = 2};
  static const char *const groups[] = {"h.*:lr=1e-3", "*.bias:weight_decay=0.3", "h.0.*:lr=2e-3"};
  zb_rates rates;
  TINY_OK(zb_rates_open(&(zb_session_params){.lr = "3e-4", .weight_decay = "0.2"}, NULL, NULL, &rates));
  zb_rates_base(&rates, &matrix, got);
  CU_ASSERT(got[0] == 3e-4 && got[1] == 0.2);
  zb_rates_base(&rates, &vector, got); /* vectors have no weight decay */
  CU_ASSERT(got[0] == 3e-4 && got[1] == 0);
  zb_rates_base(&rates, &head, got); /* a group of the plan keeps its rate */
  CU_ASSERT(got[0] == 0.5 && got[1] == 0.2);
  zb_rates_close(&rates);
  TINY_OK(zb_rates_open(&(zb_session_params){.groups = groups, .group_count = 3}, NULL, NULL, &rates));
  zb_rates_base(&rates, &matrix, got); /* the last group that fits */
  CU_ASSERT(got[0] == 2e-3 && got[1] == 0.1);
  zb_rates_base(&rates, &vector, got);
  CU_ASSERT(got[0] == 2e-3 && got[1] == 0.3);
  zb_rates_base(&rates, &head, got);
  CU_ASSERT(got[0] == 0.5 && got[1] == 0.1);
  zb_rates_close(&rates);
}

static void test_group_of_nobody(void) {
  static const char *const groups[] = {"mid.*:lr=0", "mid.weigth:lr=1e-3"};
  zb_plan *plan = tiny_plan();
  zb_rates rates;
  TINY_OK(zb_rates_open(&(zb_session_params){.groups = groups, .group_count = 1}, NULL, NULL, &rates));
  TINY_OK(zb_rates_check_groups(&rates, plan));
  zb_rates_close(&rates);
  TINY_OK(zb_rates_open(&(zb_session_params){.groups = groups, .group_count = 2}, NULL, NULL, &rates));
  zb_status status = zb_rates_check_groups(&rates, plan);
  CU_ASSERT(zb_status_code(status) == ZB_USAGE && strstr(zb_status_text(status), "did you mean 'mid.weight'?"));
  zb_status_free(status);
  zb_rates_close(&rates);
  zb_plan_destroy(plan);
}

/* ---- Checkpoints ---- */

static char *saved_text(const zb_rates *rates) {
  zb_text text = {0};
  zb_rates_save(rates, &text);
  return zb_text_take(&text);
}

static void test_saved(void) {
  static const char *const groups[] = {"a=b*:lr=1e-3", "*:weight_decay=0"};
  const zb_session_params given = {
      .lr = "0.00030", .groups = groups, .group_count = 2, .lr_schedule = "cosine:warmup=2,steps=9"};
  zb_rates rates, again;
  TINY_OK(zb_rates_open(&given, NULL, NULL, &rates));
  char *saved = saved_text(&rates);
  CU_ASSERT_STRING_EQUAL(saved,
                         "lr=3e-4\ngroup=a=b*:lr=1e-3\ngroup=*:weight_decay=0\nschedule=cosine:warmup=2,steps=9");
  /* Without options it is the same again. */
  TINY_OK(zb_rates_open(&(zb_session_params){0}, saved, NULL, &again));
  char *same = saved_text(&again);
  CU_ASSERT_STRING_EQUAL(same, saved);
  CU_ASSERT_EQUAL(again.changes.length, 0);
  for (int64_t step = 0; step < 12; ++step)
    CU_ASSERT_EQUAL(zb_rates_factor(&again, step), zb_rates_factor(&rates, step));
  zb_rates_close(&again);
  zb_free(same);
  /* What is given counts, and is told. */
  TINY_OK(zb_rates_open(&(zb_session_params){.lr = "1e-4", .lr_schedule = "constant"}, saved, NULL, &again));
  same = saved_text(&again);
  CU_ASSERT_STRING_EQUAL(same, "lr=1e-4\ngroup=a=b*:lr=1e-3\ngroup=*:weight_decay=0\nschedule=constant");
  CU_ASSERT_STRING_EQUAL(again.changes.data,
                         "--lr 1e-4 replaces '3e-4' of the checkpoint\n"
                         "--lr-schedule constant replaces 'cosine:warmup=2,steps=9' of the checkpoint");
  zb_rates_close(&again);
  zb_free(same);
  zb_rates_close(&rates);
  zb_free(saved);
}

/* The file of a table may be gone when a run is resumed. */
static void test_saved_table(void) {
  char line[640];
  zb_rates rates, again;
  snprintf(line, sizeof line, "table:%s", write_table("0,1\n1,0.125\n"));
  open_schedule(line, &rates);
  char *saved = saved_text(&rates);
  unlink(line + strlen("table:"));
  TINY_OK(zb_rates_open(&(zb_session_params){0}, saved, rates.table, &again));
  CU_ASSERT_EQUAL(zb_rates_factor(&again, 1), 0.125);
  zb_rates_close(&again);
  zb_rates_close(&rates);
  zb_free(saved);
}

static void test_damaged(void) {
  static const char *const rows[] = {"lr", "lr=x", "rate=1", "schedule=cosin", "group=a", "\n", "lr=1\nlr"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    zb_rates rates;
    zb_status status = zb_rates_open(&(zb_session_params){0}, rows[i], NULL, &rates);
    CU_ASSERT_PTR_NOT_NULL(status);
    zb_status_free(status);
    zb_rates_close(&rates);
  }
}

/* Each allocation refused in turn: MEMORY, and nothing is left. */
static void test_without_memory(void) {
  static const char *const groups[] = {"*:lr=1"};
  static const char saved[] = "lr=1e-3\ngroup=a:lr=2\nschedule=table:gone.csv", table[] = "0,1\n1,2\n";
  const zb_session_params given = {.weight_decay = "0.1", .groups = groups, .group_count = 1};
  zb_status status = NULL;
  uint64_t n = 0;
  do {
    zb_rates rates;
    zb_text text = {0};
    zb_status_free(status);
    zb_allocation_fail_at(++n);
    status = zb_rates_open(&given, saved, table, &rates);
    if (!status) zb_rates_save(&rates, &text);
    zb_allocation_fail_at(0);
    CU_ASSERT(!status || zb_status_code(status) == ZB_MEMORY);
    if (!status) status = text.failed || rates.changes.failed ? ZB_OUT_OF_MEMORY() : NULL;
    zb_text_deinit(&text);
    zb_rates_close(&rates);
  } while (status && n < 100);
  CU_ASSERT(n > 5 && n < 100);
}

int main(void) {
  CU_TestInfo tests[] = {{"as PyTorch", test_pytorch},
                         {"behind the end", test_behind_the_end},
                         {"tables", test_table},
                         {"wrong tables", test_wrong_tables},
                         {"wrong lines", test_wrong_lines},
                         {"groups", test_groups},
                         {"a group of nobody", test_group_of_nobody},
                         {"saved", test_saved},
                         {"a saved table", test_saved_table},
                         {"damaged", test_damaged},
                         {"without memory", test_without_memory},
                         CU_TEST_INFO_NULL};
  return tiny_run("rates", tests);
}
