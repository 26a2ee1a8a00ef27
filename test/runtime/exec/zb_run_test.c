/* The program zb-run, as a user meets it: lines, exit statuses, what is on which stream. Runs build/bin/zb-run on the
 * small plan. */
#include "test/runtime/exec/tiny.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static char plan_folder[600], out_path[600], error_path[600];

/* Writes the small plan and its weights where zb-run reads them. */
static void make_plan_folder(void) {
  char path[700];
  tiny_path(plan_folder, "model");
  tiny_path(out_path, "stdout");
  tiny_path(error_path, "stderr");
  TINY_OK(zb_make_folder(plan_folder));
  zb_plan *plan = tiny_plan();
  snprintf(path, sizeof path, "%s/plan.zb", plan_folder);
  TINY_OK(zb_plan_write(plan, path));
  zb_plan_destroy(plan);
  zb_store *weights = tiny_weights();
  snprintf(path, sizeof path, "%s/weights.safetensors", plan_folder);
  TINY_OK(zb_store_write(weights, path));
  zb_store_destroy(weights);
}

/* Runs "zb-run ARGUMENTS"; the exit status. */
static int zb_run(const char *format, ...) {
  char arguments[4000], command[6000];
  va_list list;
  va_start(list, format);
  vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  snprintf(command, sizeof command, "'%s/bin/zb-run' %s >'%s' 2>'%s'", ZB_BINARY_DIR, arguments, out_path, error_path);
  int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The whole of a stream of the last run; static. */
static const char *stream(const char *path) {
  static char text[100000];
  char *data = NULL;
  size_t bytes = 0;
  TINY_OK(zb_file_read(path, sizeof text - 1, &data, &bytes));
  memcpy(text, data, bytes);
  text[bytes] = '\0';
  zb_free(data);
  return text;
}

static bool has(const char *path, const char *word) {
  bool found = strstr(stream(path), word) != NULL;
  if (!found) printf("\nexpected '%s' in: %s", word, stream(path));
  return found;
}

static int lines(const char *text) {
  int count = 0;
  for (; *text; ++text)
    count += *text == '\n';
  return count;
}

static void test_lines(void) {
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 3", plan_folder, tiny_data()), 0);
  CU_ASSERT(has(out_path, "tiny: by-hand, 2 ranks on cpu"));
  CU_ASSERT(has(out_path, "step 3/3  loss 5."));
  CU_ASSERT(has(out_path, "tokens/s  idle "));
  CU_ASSERT_EQUAL(lines(stream(out_path)), 4);
  CU_ASSERT_EQUAL(stream(error_path)[0], '\0');
  CU_ASSERT_EQUAL(zb_run("'%s' '--data=%s' --steps=3 --quiet --threads 2", plan_folder, tiny_data()), 0);
  CU_ASSERT_EQUAL(lines(stream(out_path)), 1);
}

/* Reads the last run's objects, one a line; checks that nothing else is there. */
static void read_json(int count, double *losses) {
  char *copy = zb_strdup(stream(out_path)), *rest = NULL;
  int k = 0;
  for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), ++k) {
    json_t *object = json_loads(line, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    CU_ASSERT(k < count);
    CU_ASSERT(json_real_value(json_object_get(object, "seconds")) > 0);
    CU_ASSERT(json_is_number(json_object_get(object, "tokens_per_second")));
    CU_ASSERT(json_is_number(json_object_get(object, "idle")));
    losses[2 * k] = (double)json_integer_value(json_object_get(object, "step"));
    losses[2 * k + 1] = json_real_value(json_object_get(object, "loss"));
    json_t *norms = json_object_get(object, "gradient_norms");
    if (norms) CU_ASSERT_EQUAL(json_object_size(norms), 3);
    json_decref(object);
  }
  CU_ASSERT_EQUAL(k, count);
  zb_free(copy);
}

static void test_json_and_resume(void) {
  double whole[12], first[6], second[6];
  char folder[600];
  tiny_path(folder, "checkpoint");
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 6 --json --grad-norms", plan_folder, tiny_data()), 0);
  read_json(6, whole);
  CU_ASSERT(has(out_path, "\"gradient_norms\":{\"head.weight\":"));
  CU_ASSERT_EQUAL(
      zb_run("'%s' --data '%s' --steps 3 --json --save '%s' --save-every 2", plan_folder, tiny_data(), folder), 0);
  read_json(3, first);
  CU_ASSERT_EQUAL(
      zb_run("'%s' --data '%s' --steps 3 --json --device sim --seed 5 --resume '%s'", plan_folder, tiny_data(), folder),
      0);
  read_json(3, second);
  CU_ASSERT_EQUAL(memcmp(whole, first, sizeof first), 0);
  CU_ASSERT_EQUAL(memcmp(whole + 6, second, sizeof second), 0);
}

static void test_reports(void) {
  char svg[600], trace[600];
  CU_ASSERT_EQUAL(zb_run("'%s' --print-plan", plan_folder), 0);
  CU_ASSERT(has(out_path, "s1_F"));
  CU_ASSERT_EQUAL(zb_run("'%s' --device sim --no-kernels --steps 1 --timeline '%s' --trace '%s'", plan_folder,
                         tiny_path(svg, "s.svg"), tiny_path(trace, "t.json")),
                  0);
  CU_ASSERT(has(out_path, "loss -"));
  CU_ASSERT(has(svg, "</svg>"));
  json_t *json = json_load_file(trace, 0, NULL);
  CU_ASSERT(json_array_size(json_object_get(json, "traceEvents")) > 20);
  json_decref(json);
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 2 --profile-ops", plan_folder, tiny_data()), 0);
  CU_ASSERT(has(out_path, "waiting for messages of other ranks"));
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 2 --profile-ops --json --quiet", plan_folder, tiny_data()), 0);
  CU_ASSERT(has(out_path, "{\"profile\":[{\"category\":\"products\""));
  CU_ASSERT_EQUAL(zb_run("--help"), 0);
  CU_ASSERT(has(out_path, "--save-every N"));
  CU_ASSERT_EQUAL(zb_run("--version"), 0);
  CU_ASSERT(has(out_path, ZB_VERSION));
}

static void test_wrong_command_lines(void) {
  static const struct {
    const char *arguments, *word;
    int exit_status;
  } bad[] = {
      {"DIR --dta text:x --steps 1", "did you mean '--data'?", 2},
      {"DIR --steps", "--steps needs a value", 2},
      {"DIR --steps 1x", "expected a whole number of at least 1", 2},
      {"DIR --steps 0", "expected a whole number of at least 1", 2},
      {"DIR --steps 1 --threads 5000", "of 1 to 1024", 2},
      {"DIR --data text:x", "add --steps N", 2},
      {"--steps 1", "no folder of a plan", 2},
      {"DIR other --steps 1", "two folders", 2},
      {"DIR --json=yes --steps 1", "takes no value", 2},
      {"DIR --steps 1 --save-every 2", "--save-every without --save", 2},
      {"DIR --steps 1 --data text:x --no-kernels", "--no-kernels computes nothing", 2},
      {"DIR --steps 1 --device cpuu --data text:x", "did you mean 'cpu'?", 2},
      {"DIR --steps 1 --launch thread --data text:x", "did you mean 'threads'?", 2},
      {"DIR --steps 1 --data text:x --tf32", "the device 'cpu' has no TF32", 2},
      {"DIR --steps 1 --data text:x --device sim --tf32", "leave --tf32 out, or use the device cuda", 2},
      {"DIR --steps 1 --data text:x --random-sed 3", "did you mean '--random-seed'?", 2},
      {"DIR --steps 1 --data text:x --manual-seed 3", "--random-seed 7", 2},
      {"DIR --steps 1 --data text:x --random-seed 0", "expected a whole number of at least 1, got '0'", 2},
      {"DIR --steps 1 --data text:x --random-seed -3", "expected a whole number of at least 1, got '-3'", 2},
      {"DIR --steps 1 --data text:x --random-seed 9223372036854775808", "'9223372036854775808' is too large", 2},
      {"DIR --steps 1 --device sim --no-kernels --random-seed 3", "--no-kernels computes nothing", 2},
      {"DIR --steps 1 --data text:x --random-seed 3", "nothing in the plan draws random numbers", 2},
      {"DIR --steps 1", "--data", 2},
      {"DIR --steps 1 --data text:not-there", "not-there", 4},
      {"DIR --steps 1 --data text:not-there --resume not-there", "no such folder", 4},
      {"not-there --steps 1 --data text:x", "not-there", 4},
      {"DIR --steps 1 --data text:x --save DIR", "holds other files", 2},
      {"DIR --steps 1 --data text:x --log x.txt", "end it in one of .csv .jsonl", 2},
      {"DIR --steps 1 --data text:x --tensorboard DIR/plan.zb", "exists and is not a folder", 4},
      {"DIR --explain --print-plan", "--explain has no effect with --print-plan", 2},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    char arguments[3000] = "";
    for (const char *at = bad[i].arguments; *at;) { /* DIR is the plan */
      const char *dir = strstr(at, "DIR");
      size_t length = dir ? (size_t)(dir - at) : strlen(at);
      snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments), "%.*s%s%s%s", (int)length, at,
               dir ? "'" : "", dir ? plan_folder : "", dir ? "'" : "");
      at += length + (dir ? 3 : 0);
    }
    int exit_status = zb_run("%s", arguments);
    if (exit_status != bad[i].exit_status)
      printf("\n%s: exit status %d, %s", bad[i].arguments, exit_status, stream(error_path));
    CU_ASSERT_EQUAL(exit_status, bad[i].exit_status);
    CU_ASSERT(has(error_path, bad[i].word));
    CU_ASSERT(has(error_path, "zb-run: error: "));
    CU_ASSERT_EQUAL(stream(out_path)[0], '\0');
  }
}

static void test_full_standard_output(void) {
  char command[2000];
  snprintf(command, sizeof command, "'%s/bin/zb-run' '%s' --data '%s' --steps 2 >/dev/full 2>'%s'", ZB_BINARY_DIR,
           plan_folder, tiny_data(), error_path);
  int status = system(command);
  CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 4);
  CU_ASSERT(has(error_path, "cannot write to standard output"));
}

/* SIGTERM: the step ends, the checkpoint is written, the exit status says so; and it can be resumed. */
static void test_signal(void) {
  char folder[600], program[600], data[700];
  tiny_path(folder, "signal");
  snprintf(program, sizeof program, "%s/bin/zb-run", ZB_BINARY_DIR);
  snprintf(data, sizeof data, "%s", tiny_data());
  pid_t child = fork();
  if (child == 0) {
    if (!freopen(out_path, "w", stdout) || !freopen(error_path, "w", stderr)) _exit(99);
    execl(program, program, plan_folder, "--data", data, "--steps", "100000000", "--json", "--save", folder,
          (char *)NULL);
    _exit(98);
  }
  for (int i = 0; i < 500 && (access(out_path, R_OK) != 0 || !strstr(stream(out_path), "\"step\":1")); ++i)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  CU_ASSERT_EQUAL(kill(child, SIGTERM), 0);
  int status = 0;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 130);
  CU_ASSERT(has(error_path, "stopped by a signal"));
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 1 --resume '%s'", plan_folder, data, folder), 0);
  CU_ASSERT(has(out_path, "resumed after step"));
}

/* Plans that would train, and lose data: what a checkpoint needs is part of the proof. */
static void test_refused_plans(void) {
  char folder[600], path[700];
  tiny_path(folder, "refused");
  snprintf(path, sizeof path, "%s/plan.zb", folder);
  TINY_OK(zb_make_folder(folder));
  zb_plan *plan = tiny_plan();
  plan->ranks[1].parameters[0].owner = false;
  TINY_OK(zb_plan_write(plan, path));
  CU_ASSERT_EQUAL(zb_run("'%s' --data '%s' --steps 1", folder, tiny_data()), 1);
  CU_ASSERT(has(error_path, "error: the parameter 'head.weight' has no owner: no checkpoint would hold it"));
  CU_ASSERT(has(error_path, "is not right: its proof fails, so nothing was run with it"));
  CU_ASSERT(has(error_path, "hint: compile the model again; where zbc makes such a plan it has a bug"));
  zb_plan_destroy(plan);
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"make the plan folder", make_plan_folder},
      {"lines", test_lines},
      {"json and resume", test_json_and_resume},
      {"reports", test_reports},
      {"wrong command lines", test_wrong_command_lines},
      {"a full standard output", test_full_standard_output},
      {"a signal", test_signal},
      {"refused plans", test_refused_plans},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("zb-run", tests);
}
