/* zb-run: trains with a plan that zbc wrote. Only the public API: what this tool needs, an embedder has. Its parts are
 * in tools/run.
 *
 * Standard output: a line a step, or with --json an object a line and nothing else. Standard error: everything else.
 * Tests: test/runtime/exec/zb_run_test.c.
 */
#include "tools/command/outputs.h"
#include "tools/run/run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Saves ---- */

/* Steps in the folder of --save: for certain, and those that were being written last; -1: none. */
typedef struct saves {
  int64_t done, begun;
  bool ended; /* the save that was begun last has ended, well or not, and there are no other processes that could know
                 better */
} saves;

static zb_status save(zb_session *session, const arguments *args, saves *saved) {
  saved->begun = zb_session_steps(session);
  saved->ended = false;
  run_progress_make_room();
  zb_status status = zb_session_save(session, args->save);
  saved->ended = !run_told.many_processes;
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

/* ---- Steps ---- */

/* *out_stopping: a signal came, which counts for more than the loss of some batches. */
static zb_status evaluate(zb_session *session, const arguments *args, run_logs *logs, bool last, bool *out_stopping) {
  zb_evaluation_result result;
  ZB_TRY(zb_session_evaluate(session, &result));
  *out_stopping = result.stopping;
  if (result.stopping) return NULL;
  run_print_evaluation(args, &result, last);
  run_logs_evaluated(logs, result.loss);
  return NULL;
}

/* What goes wrong with a log is kept in *out, as what goes wrong with standard output: the run ends after the next
 * step, with its save. */
static void write_row(zb_session *session, zb_status status, zb_status *out) {
  if (status) zb_session_stop(session);
  *out = zb_status_first((zb_status[]){*out, status}, 2);
}

/* Until how many steps in all nothing else is asked of the ranks. */
static int64_t next_pause(const arguments *args, int64_t steps, int64_t last) {
  const int64_t saving = args->save && args->save_every ? (steps / args->save_every + 1) * args->save_every : last;
  const int64_t evaluating = args->eval_every ? (steps / args->eval_every + 1) * args->eval_every : last;
  const int64_t pause = args->grad_norms ? steps + 1 : saving < evaluating ? saving : evaluating;
  return pause < last ? pause : last;
}

/* --epochs as steps that are left. */
static zb_status count_steps(const zb_session *session, arguments *args) {
  const int64_t each = zb_session_epoch_steps(session);
  if (!args->epochs) return NULL;
  if (!each || args->epochs > INT64_MAX / 2 / each)
    return zb_status_hint(ZB_ERROR(USAGE, "--epochs: how many steps an epoch has is not known"), "give --steps N");
  const int64_t all = args->epochs * each, done = zb_session_steps(session);
  args->steps = all > done ? all - done : 0;
  return NULL;
}

static zb_status make_steps(zb_session *session, const arguments *args, run_logs *logs, zb_status *out_output,
                            bool *out_stopped, saves *saved) {
  int64_t last = zb_session_steps(session) + args->steps;
  bool stopping = false;
  run_progress_begin(session, args, last);
  while (zb_session_steps(session) < last && !stopping) {
    zb_step_result result;
    zb_session_announce(session, next_pause(args, zb_session_steps(session), last));
    ZB_TRY(zb_session_step(session, &result));
    stopping = result.stopping;
    bool final = zb_session_steps(session) == last || stopping;
    double norm = (double)NAN;
    if (!args->quiet || final) ZB_TRY(run_print_step(session, args, &result, last, &norm));
    if (args->grad_norms && isnan(norm) && (args->log || args->tensorboard)) ZB_TRY(run_find_norm(session, &norm));
    run_logs_take(logs, &result, norm);
    const bool saves_now = args->save_every && zb_session_steps(session) % args->save_every == 0;
    if (args->save && (saves_now || final)) write_row(session, run_logs_write_early(logs), out_output);
    if (args->save && saves_now && !final) ZB_TRY(save(session, args, saved));
    if (args->eval_every && !final && zb_session_steps(session) % args->eval_every == 0)
      ZB_TRY(evaluate(session, args, logs, false, &stopping));
    if (!final || !args->eval)
      write_row(session, run_logs_write(logs), out_output); /* else the last evaluation belongs to it */
    run_flush_or_stop(session, out_output);
    run_progress_step(&result, last);
    *out_stopped = stopping;
  }
  run_progress_end();
  return NULL;
}

/* What ends a run that went well: a signal counts for more than what became of the output, which may have gone with it.
 * Takes ownership of `output`. */
static zb_status end_of(zb_session *session, const arguments *args, zb_status output, bool stopped, bool saved) {
  run_flush_or_stop(session, &output);
  if (output && !(stopped && run_told.seen))
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

static zb_status finish(zb_session *session, const arguments *args, run_logs *logs, int64_t first, bool *stopped,
                        saves *saved) {
  bool any = zb_session_steps(session) > first;
  if (any && args->save) ZB_TRY(save(session, args, saved));
  if (args->eval && !*stopped) ZB_TRY(evaluate(session, args, logs, true, stopped)); /* what it could lose is saved */
  if (any && args->timeline) ZB_TRY(zb_session_timeline(session, args->timeline));
  if (any && args->trace) ZB_TRY(zb_session_trace(session, args->trace));
  if (any && args->explain) ZB_TRY(run_print_explanation(session, args));
  if (any && args->profile_ops) ZB_TRY(run_print_profile(session, args));
  if (any && args->profile) ZB_TRY(write_costs(session, args, *stopped));
  if ((any || args->eval) && args->memory) ZB_TRY(run_print_memory(session, args));
  return NULL;
}

/* Before the first step: a run of hours must not end with a picture that cannot be written. */
static zb_status check_outputs(void *context, int process) {
  const arguments *args = context;
  run_told.has_met = 1;
  if (process > 0) return NULL;
  const output_place files[] = {{"--save", args->save, true},    {"--timeline", args->timeline, false},
                                {"--trace", args->trace, false}, {"--profile", args->profile, false},
                                {"--log", args->log, false},     {"--tensorboard", args->tensorboard, false}};
  enum { FILES = sizeof files / sizeof files[0] };
  output_place *outputs = zb_alloc((FILES + (size_t)args->outputs.count) * sizeof *outputs);
  if (!outputs) return ZB_OUT_OF_MEMORY();
  memcpy(outputs, files, sizeof files);
  for (int i = 0; i < args->outputs.count; ++i) { /* NAME:FILE.npy */
    const char *colon = strrchr(args->outputs.items[i], ':');
    outputs[FILES + i] = (output_place){"--output", colon ? colon + 1 : NULL, false};
  }
  const input_place inputs[] = {{"--data", args->data},
                                {"--eval", args->eval},
                                {"--lr-schedule", args->lr_schedule},
                                {"--weights", args->weights}};
  const int count = FILES + args->outputs.count;
  zb_status status = outputs_apart(outputs, count);
  if (!status) status = outputs_spare(outputs, count, inputs, sizeof inputs / sizeof inputs[0]);
  zb_free(outputs);
  ZB_TRY(status);
  if (args->timeline) ZB_TRY(zb_output_check("--timeline", args->timeline, ".svg"));
  if (args->trace) ZB_TRY(zb_output_check("--trace", args->trace, ".json"));
  if (args->profile) ZB_TRY(zb_output_check("--profile", args->profile, ".json"));
  if (args->log) ZB_TRY(zb_log_check("--log", args->log, false));
  if (args->tensorboard) ZB_TRY(zb_log_check("--tensorboard", args->tensorboard, true));
  return NULL;
}

static const char *environment(void *context ZB_UNUSED, const char *name) { return getenv(name); }

/* Takes and returns ownership. */
static zb_status print_error(zb_status status, const zb_bootstrap *by) {
  if (by->processes > 1 && zb_status_code(status) != ZB_INTERRUPTED)
    status = zb_status_note(status, "in process %d of %d", by->process, by->processes);
  run_progress_end();
  fflush(stdout);
  fprintf(stderr, "zb-run: %s", zb_status_text(status));
  return status;
}

/* The time-out is over in a wait that nothing else ends. */
static void give_up(zb_status status) {
  run_progress_hide();
  fprintf(stderr, "zb-run: %s", zb_status_text(status));
  _exit(zb_status_exit(status));
}

/* Another process has told it, but maybe not on this terminal. */
static void print_told(zb_status status) {
  char *shown = zb_shown(zb_status_message(status));
  fprintf(stderr, "zb-run: %s\n", shown ? shown : "another process failed");
  zb_free(shown);
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

/* What the command line asks of a session; settings and numbers hold what it points to. */
static zb_session_params params_of(arguments *args, zb_bootstrap *bootstrap, zb_setting settings[RUN_OPTIONS],
                                   char numbers[RUN_OPTIONS][RUN_NUMBER_BYTES], opening *called) {
  return (zb_session_params){
      .directory = args->directory,
      .data = args->data,
      .evaluation = args->eval,
      .evaluation_batches = args->eval_steps,
      .device = args->device,
      .launch = args->launch,
      .resume = args->resume,
      .weights = args->weights,
      .weights_partial = args->weights_partial,
      .lr = args->lr,
      .weight_decay = args->weight_decay,
      .lr_schedule = args->lr_schedule,
      .outputs = args->outputs.items,
      .output_count = args->outputs.count,
      .groups = args->groups.items,
      .group_count = args->groups.count,
      .clip_norm = run_clip_norm(args),
      .non_finite = args->non_finite,
      .bad_batch = args->bad_batch,
      .steps = args->steps,
      .threads = (int)args->threads,
      .shuffle = args->shuffle,
      .random_seed = args->random_seed,
      .barrier = args->barrier,
      .reference = args->reference,
      .tf32 = args->tf32,
      .explain = args->explain,
      .profile = args->profile_ops,
      .costs = args->profile != NULL,
      .timeout_ms = args->timeout * 1000,
      .give_up = give_up,
      .save = args->save,
      .settings = settings,
      .setting_count = run_list_settings(args, settings, numbers),
      .bootstrap = bootstrap,
      .opened = run_print_header,
      .say = run_say_line,
      .progress_context = called,
      .check = check_outputs,
      .check_context = args,
  };
}

/* *out_printed: the error that comes back was printed, while other processes still ran. */
static zb_status train(arguments *args, zb_bootstrap *bootstrap, bool *out_printed) {
  zb_session *session = NULL;
  zb_setting settings[RUN_OPTIONS];
  char numbers[RUN_OPTIONS][RUN_NUMBER_BYTES];
  opening called = {.args = args};
  zb_session_params params = params_of(args, bootstrap, settings, numbers, &called);
  run_set_simulation(args, &params);
  ZB_TRY(find_launcher(args, bootstrap));
  if (bootstrap->warning[0] && !args->launch) fprintf(stderr, "zb-run: warning: %s\n", bootstrap->warning);
  run_told.many_processes = bootstrap->processes > 1;
  run_catch_signals();
  called.launcher = bootstrap->launcher;
  ZB_TRY(zb_session_create(&params, &session));
  zb_session_info info = zb_session_describe(session);
  run_told.many_processes = info.processes > 1;
  if (info.process > 0 && !freopen("/dev/null", "w", stdout)) { /* process 0 prints */
    zb_session_abort(session, "cannot open the null device");
    zb_session_destroy(session);
    return ZB_ERROR(IO, "cannot open the null device: %s", strerror(errno));
  }
  const int64_t first = zb_session_steps(session);
  saves saved = {-1, -1, false};
  bool stopped = false;
  run_told.session = session;
  run_told.has_trained = 1;
  run_print_start(session, args);
  run_logs *logs = NULL;
  zb_status output = NULL, status = count_steps(session, args);
  run_flush_or_stop(session, &status); /* a full disk is found before the first step */
  if (run_told.seen)
    zb_session_stop(session); /* it came while the session was made: one step, so that all processes hear of it */
  if (!status) status = run_logs_open(session, args, &logs);
  if (!status && args->steps) status = make_steps(session, args, logs, &output, &stopped, &saved);
  if (!status) status = finish(session, args, logs, first, &stopped, &saved);
  output = zb_status_first((zb_status[]){output, run_logs_close(logs)}, 2);
  bool together = !status; /* all processes have come to the end */
  if (together)
    status = end_of(session, args, output, stopped, args->save && zb_session_steps(session) > first);
  else
    zb_status_free(output);
  run_told.session = NULL;
  bool common = zb_status_code(status) == ZB_INTERRUPTED; /* the end that all processes come to */
  if (status && !together) status = note_saves(status, &saved, args->save);
  *out_printed = status && !zb_status_told(status); /* now: the launcher may end this process when another one ends */
  if (*out_printed && !(common && info.process > 0)) status = print_error(status, bootstrap);
  if (status && !common && !together) zb_session_abort(session, zb_status_message(status));
  zb_session_destroy(session);
  return status;
}

static void write_text(void *context, const char *text, size_t bytes) { fwrite(text, 1, bytes, context); }

int main(int argument_count, char **words) {
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  arguments args = {0};
  zb_bootstrap bootstrap = {.processes = 1, .local_process = -1};
  bool printed = false;
  zb_status status = run_parse(argument_count, words, &args);
  if (status) {
    zb_status_free(find_launcher(&args, &bootstrap));
    status = print_error(status, &bootstrap);
    printed = true;
    tell_others(&args, &bootstrap, status);
  } else if (args.help) {
    run_print_help();
    status = tool_flush_output();
  } else if (args.version) {
    printf("zb-run %s\n", ZB_VERSION);
    status = tool_flush_output();
  } else if (args.list_devices) {
    run_print_parts(args.json);
    status = tool_flush_output();
  } else if (args.calibrate) {
    status = zb_output_check("--calibrate", args.calibrate, ".json");
    if (!status) status = zb_calibrate(args.calibrate, (int)args.threads);
  } else if (args.print_plan) {
    status = (args.json ? zb_plan_print_jobs_file : zb_plan_print_file)(args.directory, write_text, stdout);
    if (!status) status = tool_flush_output();
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
