/* Sessions: from a folder to ranks that run, and steps. Tests: test/runtime/exec. */
#include "runtime/exec/session_parts.h"

#include "runtime/exec/agreement.h"

#include "runtime/exec/session_group.h"
#include "runtime/exec/values.h"

#include "runtime/base/text.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/clock/timeline.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, DELAY_MAX = 1000, TIMEOUT_MS = 60000, TELL_MS = 3000, SAID_BYTES = 64 << 20 };

/* ---- What can be known before anything is made ---- */

/* How processes were launched that nothing else is said of; NULL: by no launcher. */
static const zb_bootstrap *several_of(const zb_session_params *params) {
  return params->bootstrap && params->bootstrap->processes > 1 ? params->bootstrap : NULL;
}

/* A device with a transport of its own, in several processes: messages go its way between them too, but the processes
 * meet as they were launched. */
static zb_status choose_between(zb_session *session, const char *launch) {
  const zb_transport_def *meeting = NULL;
  if (!session->device->transport_between)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' runs all ranks in one process", session->device->name),
                          "start it without a launcher");
  ZB_TRY(zb_transport_find(launch, &meeting));
  session->group_def = meeting->group_def;
  session->transport_def = session->device->transport_between;
  return NULL;
}

/* How the ranks of a real device are launched; on a virtual clock they all run in the caller. */
static zb_status choose_transport(zb_session *session, const zb_session_params *params) {
  const zb_bootstrap *by = params->launch ? NULL : several_of(params);
  const char *launch = params->launch ? params->launch : by ? by->launch : "threads";
  const zb_transport_def *own = session->device->transport, *launched = NULL;
  session->driver_def = session->device->virtual_clock ? &zb_driver_virtual
                        : session->device->queue       ? &zb_driver_turns
                                                       : &zb_driver_threads;
  if (!own || params->launch) ZB_TRY(zb_transport_find(launch, &launched));
  bool several = by || (launched && launched->group_def);
  if (own && several && !own->group_def) return choose_between(session, launch);
  session->transport_def = own ? own : launched;
  session->group_def = session->transport_def->group_def;
  return NULL;
}

/* given: NULL, or the device, whatever the parameters say. */
static zb_status choose_device(zb_session *session, const zb_session_params *params, const zb_device_def *given) {
  const char *name = given ? given->name : params->device ? params->device : "cpu";
  session->device = given;
  if (!given) ZB_TRY(zb_device_find(name, &session->device));
  if (session->device->queue && params->profile)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' does not time the ops of every step", name),
                          "--profile FILE.json measures them in some steps; --timeline and --trace show its jobs");
  if (params->no_kernels && !session->device->virtual_clock)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' cannot run a plan without its kernels", name),
                          "use the device sim");
  if (params->seed != 0 && !session->device->virtual_clock)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' has no delays to seed", name),
                          "use the device sim; random ops (dropout) draw by --random-seed");
  if (params->delays != 0 && !session->device->virtual_clock)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' has no jobs to delay: they take what they take", name),
                          "use the device sim");
  if (params->delay_spread < 0 || params->delay_spread > DELAY_MAX)
    return ZB_ERROR(USAGE, "jobs are delayed by up to %g of their time: expected 0 to %d", params->delay_spread,
                    DELAY_MAX);
  if (params->costs && params->steps > 0) ZB_TRY(zb_measure_enough(session->device, params->steps));
  if (params->tf32 && !session->device->tf32)
    return zb_status_hint(ZB_ERROR(USAGE, "the device '%s' has no TF32: its products of f32 are products of f32", name),
                          "leave --tf32 out, or use the device cuda");
  if (params->threads < 0 || params->threads > THREADS_MAX)
    return ZB_ERROR(USAGE, "%d threads per rank: expected 1 to %d", params->threads, THREADS_MAX);
  if (params->weights && params->resume)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights and --resume are two ways to begin"),
                          "--resume goes on with optimizer, step and data position; --weights takes parameters alone");
  if (params->weights_partial && !params->weights) return ZB_ERROR(USAGE, "--weights-partial without --weights");
  if (params->shuffle < 0)
    return ZB_ERROR(USAGE, "the seed of --shuffle is %lld: expected 1 or more", (long long)params->shuffle);
  if (params->random_seed < 0)
    return ZB_ERROR(USAGE, "the random seed is %lld: expected 1 or more", (long long)params->random_seed);
  if (params->timeout_ms < 0)
    return ZB_ERROR(USAGE, "the time-out is %lld ms: expected more than 0", (long long)params->timeout_ms);
  snprintf(session->instruction_set, sizeof session->instruction_set, "%s%s", session->device->instruction_set(),
           params->tf32 ? " with TF32" : "");
  ZB_TRY(choose_transport(session, params));
  ZB_TRY(zb_session_check_bad_batch(session, params));
  session->overlaps = zb_session_may_overlap(session, params);
  return NULL;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const zb_owned_parameter *)a)->name, ((const zb_owned_parameter *)b)->name);
}

static zb_status list_owned(zb_session *session) {
  const int first = session->first_rank, end = first + session->rank_count;
  int count = 0;
  for (int rank = first; rank < end; ++rank)
    count += session->plan->ranks[rank].parameter_count;
  if (!ZB_TAKE(&session->memory, session->owned, count + 1)) return ZB_OUT_OF_MEMORY();
  for (int rank = first; rank < end; ++rank) {
    for (int i = 0; i < session->plan->ranks[rank].parameter_count; ++i) {
      const zb_plan_parameter *parameter = &session->plan->ranks[rank].parameters[i];
      if (parameter->owner)
        session->owned[session->owned_count++] = (zb_owned_parameter){rank, i, parameter->tensor.name};
    }
  }
  if (session->owned_count) qsort(session->owned, (size_t)session->owned_count, sizeof *session->owned, by_name);
  return NULL;
}

/* ---- Making a session ---- */

/* By the parameters, else the checkpoint, else the default. */
static zb_status choose_random_seed(zb_session *session, const zb_session_params *params,
                                    const zb_checkpoint *checkpoint) {
  const int64_t saved = checkpoint ? checkpoint->random_seed : 0;
  if (params->no_kernels) return NULL;
  if (!zb_data_has_counter(session->plan)) {
    if (!params->random_seed) return NULL;
    return zb_status_hint(ZB_ERROR(USAGE, "--random-seed has no effect: nothing in the plan draws random numbers"),
                          "leave it out; a model draws where it was exported in training mode, with dropout");
  }
  session->random_seed = params->random_seed ? params->random_seed : saved ? saved : ZB_RANDOM_SEED;
  if (saved && saved != session->random_seed)
    zb_text_add(&session->rates.changes, "%s--random-seed %" PRId64 " replaces '%" PRId64 "' of the checkpoint",
                session->rates.changes.length ? "\n" : "", session->random_seed, saved);
  return NULL;
}

static zb_status make_data(zb_session *session, const zb_session_params *params, const zb_checkpoint *checkpoint) {
  const bool has_evaluation = params->evaluation || params->evaluation_input;
  const bool has_steps = params->data || params->input || !has_evaluation;
  if (session->plan->inference && has_steps)
    return zb_status_hint(ZB_ERROR(USAGE, "the plan is for inference: it has no loss, and trains nothing"),
                          "zb-run DIR --eval DATA --output NAME:FILE.npy evaluates it; to train, compile a model with "
                          "its loss, without --inference");
  if (params->no_kernels) return NULL;
  zb_data_params data = {
      .plan = session->plan,
      .source = params->data,
      .input = params->input,
      .input_context = params->input_context,
      .first_step = checkpoint ? checkpoint->step : 0,
      .first_row = checkpoint ? checkpoint->data_position : 0,
      .random_seed = (uint64_t)session->random_seed,
      .shuffle = params->shuffle > 0 ? (uint64_t)params->shuffle : 0,
  };
  if (has_evaluation) ZB_TRY(zb_session_open_evaluation(session, params));
  if (params->output_count > 0 && !has_evaluation)
    return zb_status_hint(ZB_ERROR(USAGE, "--output without --eval"), "add --eval text:FILE or --eval tokens:FILE");
  if (!has_steps) return NULL;
  return zb_data_create(&data, &session->data);
}

/* What is kept of the last step. */
static zb_status take_results(zb_session *session) {
  ZB_TAKE(&session->memory, session->micro_losses, session->plan->micro_batches);
  ZB_TAKE(&session->memory, session->losses_kept, (size_t)session->plan->micro_batches * ZB_STEPS_IN_FLIGHT);
  if (session->plan->weighted) {
    ZB_TAKE(&session->memory, session->micro_weights, session->plan->micro_batches);
    ZB_TAKE(&session->memory, session->weights_kept, (size_t)session->plan->micro_batches * ZB_STEPS_IN_FLIGHT);
  }
  ZB_TAKE(&session->memory, session->idle, session->plan->rank_count);
  ZB_TAKE(&session->memory, session->waiting, session->plan->rank_count);
  ZB_TAKE(&session->memory, session->times, session->plan->rank_count);
  ZB_TAKE(&session->memory, session->other_times, session->plan->rank_count);
  return zb_arena_status(&session->memory);
}

static zb_status make_executors(zb_session *session, const zb_session_params *params, bool poison) {
  ZB_TAKE(&session->memory, session->executors, session->rank_count + 1);
  if (params->costs) ZB_TAKE(&session->memory, session->resumed_ps, 2 * ((size_t)session->plan->message_count + 1));
  ZB_TRY(zb_arena_status(&session->memory));
  if (params->explain) ZB_TRY(zb_session_init_records(session));
  for (int i = 0; i < session->rank_count; ++i) {
    int rank = session->first_rank + i;
    zb_executor_params executor = {
        .plan = session->plan,
        .rank = rank,
        .device = session->device,
        .device_params = {.rank = rank,
                          .plan = session->plan,
                          .beside = session->executor_count > 0 ? session->executors[0].device : NULL,
                          .trace = session->params.trace || params->costs,
                          .outputs = session->outputs.count > 0,
                          .local_process = params->bootstrap && params->bootstrap->local_process > 0
                                               ? params->bootstrap->local_process
                                               : 0,
                          .threads = session->params.threads,
                          .no_kernels = params->no_kernels,
                          .reference = params->reference,
                          .tf32 = params->tf32,
                          .profile = params->profile,
                          .op_times = params->costs},
        .transport_def = session->transport_def,
        .transport = session->transport,
        .data = session->data,
        .evaluation = session->evaluation,
        .micro_losses = session->overlaps ? session->losses_kept : session->micro_losses,
        .micro_weights = session->overlaps ? session->weights_kept : session->micro_weights,
        .losses_kept = session->overlaps ? ZB_STEPS_IN_FLIGHT : 1,
        .outputs = session->outputs.batch,
        .interrupted = &session->interrupted,
        .trace = session->params.trace || params->costs,
        .resumed_ps = session->resumed_ps,
        .skip_non_finite = zb_session_skips(params),
        .delays = {params->delays, params->delay_spread},
        .poison = poison && !params->no_kernels,
    };
    ZB_TRY(zb_executor_init(&session->executors[i], &executor));
    ++session->executor_count;
    if (session->transport_def->attach)
      ZB_TRY(session->transport_def->attach(session->transport, rank, session->executors[i].device));
  }
  return NULL;
}

static zb_status run_load_jobs(zb_session *session) {
  int64_t took_ps = 0;
  for (int i = 0; i < session->executor_count; ++i)
    zb_executor_begin_load(&session->executors[i]);
  zb_status status = session->driver_def->run(session->driver, &took_ps);
  return status ? zb_status_note(status, "running what depends on constants only") : NULL;
}

/* For people: what takes a moment is said before and after. */
static void say_bytes(const zb_session *session, const char *format, uint64_t bytes, int64_t since_ps) {
  char line[160];
  if (!session->params.say || session->process > 0 || bytes < SAID_BYTES) return;
  snprintf(line, sizeof line, format, (double)bytes / (1 << 20), (double)(zb_monotonic_ps() - since_ps) / 1e12);
  session->params.say(session->params.progress_context, line);
}

static zb_status load_values(zb_session *session, const zb_session_sources *sources, const zb_values *values) {
  int64_t start_ps = zb_monotonic_ps();
  say_bytes(session, "reading %.1f MiB of weights", values->bytes, start_ps);
  ZB_TRY(zb_values_load(session, sources, values));
  say_bytes(session, "read %.1f MiB of weights in %.2f s", values->bytes, start_ps);
  return NULL;
}

static zb_status make_all(zb_session *session, const zb_session_params *params, const zb_session_sources *sources,
                          const zb_values *values) {
  bool poison = sources->poison;
  ZB_TRY(take_results(session));
  if (session->clocks) return NULL; /* it is what runs */
#ifdef ZB_POISON
  poison = true;
#endif
  zb_transport_params transport = {.plan = session->plan,
                                   .threads = session->params.threads,
                                   .seed = params->seed,
                                   .no_bytes = params->no_kernels,
                                   .timeout_ms = session->timeout_ms,
                                   .group = session->group,
                                   .group_def = session->group_def};
  ZB_TRY(session->transport_def->open(&transport, &session->transport));
  ZB_TRY(make_executors(session, params, poison));
  zb_session_set_clip_norm(session, params->clip_norm);
  ZB_TRY(load_values(session, sources, values));
  zb_driver_params driver = {.executors = session->executors,
                             .count = session->executor_count,
                             .transport_def = session->transport_def,
                             .transport = session->transport,
                             .interrupted = &session->interrupted,
                             .timeout_ms = session->timeout_ms,
                             .group = session->group,
                             .group_def = session->group_def};
  zb_session_fill_driver(session, &driver);
  ZB_TRY(session->driver_def->start(&driver, &session->driver));
  ZB_TRY(run_load_jobs(session));
  if (!params->costs) return NULL;
  zb_measure_params measure = {.plan = session->plan,
                               .device = session->device,
                               .transport_def = session->transport_def,
                               .instruction_set = session->instruction_set,
                               .threads = session->params.threads,
                               .executors = session->executors,
                               .resumed_ps = session->resumed_ps};
  return zb_measure_create(&measure, &session->measure);
}

/* NULL: there is none of that name, which is reported elsewhere. */
static const zb_transport_def *transport_of(const char *launch) {
  const zb_transport_def *def = NULL;
  zb_status_free(launch ? zb_transport_find(launch, &def) : NULL);
  return def;
}

/* Processes that do not meet would all train the same, and save to the same place. */
static zb_status check_not_apart(const zb_session_params *params) {
  const zb_bootstrap *by = several_of(params);
  const zb_transport_def *def = by ? transport_of(params->launch) : NULL;
  if (!def || def->group_def) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "%d processes were started by %s, and with --launch %s each of them would train alone",
               by->processes, by->launcher, params->launch),
      "leave --launch out to train together; to train alone, start it alone, or unset the variables of the launcher");
}

/* How the processes would meet if nothing were known of the device: by the options of this one, else as they were
 * launched. NULL: there is one, or it cannot be known. */
static const zb_group_def *meeting_of(const zb_session_params *params) {
  const zb_bootstrap *by = several_of(params);
  const zb_transport_def *def = transport_of(params->launch);
  if (!def || !def->group_def) def = transport_of(by ? by->launch : NULL);
  return def ? def->group_def : NULL;
}

/* The first words between processes that have met: whether each knows its device, whether all were given the same, and
 * can save. */
static zb_status agree_on_options(zb_session *session, const zb_session_params *params, zb_status status) {
  zb_facts facts = {0};
  ZB_TRY(zb_session_agree(session, status));
  if (session->group) zb_facts_add_params(&facts, session, params);
  status = zb_session_compare_facts(session, &facts);
  zb_facts_deinit(&facts);
  if (!status)
    status = zb_session_agree(session, params->check ? params->check(params->check_context, session->process) : NULL);
  return status || !params->save ? status : zb_session_try_save(session, params->save);
}

/* Gives the session to the caller, or destroys it after a failure. */
static zb_status give(zb_session *session, zb_status status, zb_session **out) {
  *out = status ? NULL : session;
  if (status) zb_session_destroy(session);
  return status;
}

/* An empty session that knows its device (given, if not NULL) and the other processes. What is wrong with the device is
 * reported once they have met: else they would wait for this one. */
static zb_status begin(const zb_session_params *params, const zb_device_def *given, zb_session **out) {
  *out = NULL;
  zb_status status = check_not_apart(params);
  if (status) {
    zb_session_tell_failure(params, status);
    return status;
  }
  zb_session *session = zb_alloc(sizeof *session);
  if (!session) return ZB_OUT_OF_MEMORY();
  session->params = *params;
  session->params.directory = session->params.data = session->params.evaluation = session->params.device =
      session->params.resume = session->params.launch = session->params.save = session->params.weights =
          session->params.non_finite = session->params.bad_batch = NULL;
  session->params.bootstrap = NULL;
  session->params.settings = NULL;
  session->params.lr = session->params.weight_decay = session->params.lr_schedule = NULL;
  session->params.groups = session->params.outputs = NULL;
  session->params.trace = params->trace || params->explain;
  session->params.threads = params->threads > 1 ? params->threads : 1;
  session->timeout_ms = params->timeout_ms > 0 ? params->timeout_ms : TIMEOUT_MS;
  status = choose_device(session, params, given);
  if (status) session->group_def = meeting_of(params);
  zb_status met = zb_session_group_open(session, params);
  if (met) session->apart = true;
  status = met ? zb_status_first((zb_status[]){status, met}, 2) : agree_on_options(session, params, status);
  return give(session, status, out);
}

void zb_session_tell_failure(const zb_session_params *params, zb_status failure) {
  zb_session session = {.timeout_ms = TELL_MS, .processes = 1, .group_def = meeting_of(params)};
  if (!failure || !session.group_def) return;
  zb_status status = zb_session_group_open(&session, params);
  if (!status) {
    zb_status same = zb_status_make(zb_status_code(failure), __FILE__, __LINE__, "%s", zb_status_message(failure));
    if (zb_status_hint_text(failure)) same = zb_status_hint(same, "%s", zb_status_hint_text(failure));
    status = zb_session_agree(&session, same);
  }
  zb_status_free(status); /* a process that this does not reach finds out */
  if (session.group) session.group_def->close(session.group, !session.apart);
}

static void describe_store(zb_facts *facts, const char *name, const zb_store *store, const char *hint) {
  char text[80] = "not read";
  if (store)
    snprintf(text, sizeof text, "%d tensors, digest %016" PRIx64, zb_store_count(store), zb_sample_store(store));
  zb_facts_add(facts, name, text, hint);
}

/* What the options led to here, for the other processes: their paths may be spelled otherwise. */
static void describe_contents(zb_session *session, const zb_session_sources *sources, const zb_checkpoint *checkpoint,
                              const zb_store *chosen) {
  static const char same_file[] = "give all processes the same file, or copies of it",
                    same_folder[] = "give all processes the same folder, or copies of it";
  char text[128] = "none";
  if (!session->group) return;
  zb_data_describe(session->data, text, sizeof text);
  zb_facts_add(&session->contents, "the data (--data)", text, same_file);
  snprintf(text, sizeof text, "none");
  if (session->evaluation) zb_data_describe(session->evaluation, text, sizeof text);
  zb_facts_add(&session->contents, "the data of evaluations (--eval)", text, same_file);
  describe_store(&session->contents, "the file of weights", sources->weights, same_folder);
  describe_store(&session->contents, "the file of constants", sources->constants, same_folder);
  if (checkpoint)
    snprintf(text, sizeof text, "step %" PRId64 ", data position %" PRId64 ", digest %016" PRIx64, checkpoint->step,
             checkpoint->data_position, zb_sample_store(checkpoint->weights) ^ zb_sample_store(checkpoint->optimizer));
  zb_facts_add(&session->contents, "the checkpoint (--resume)", checkpoint ? text : NULL, same_folder);
  describe_store(&session->contents, "the weights (--weights)", chosen, same_folder);
  zb_session_describe_rates(session);
}

/* Weights from elsewhere, under the names of the model. */
typedef struct chosen_weights {
  zb_store *store;
  zb_wanted_list wanted;
  zb_weights *weights;
} chosen_weights;

static void free_chosen(chosen_weights *chosen) {
  zb_weights_destroy(chosen->weights);
  zb_wanted_deinit(&chosen->wanted);
  zb_store_destroy(chosen->store);
}

/* A process matches the names of all ranks, so that all of them find the same; it then reads what its own ranks need.
 */
static zb_status choose_weights(const zb_session *session, const zb_session_params *params,
                                const zb_session_sources *sources, chosen_weights *out) {
  zb_plan *whole = NULL;
  if (params->no_kernels) return ZB_ERROR(USAGE, "a run without kernels takes no weights");
  if (sources->folder && session->processes > 1) ZB_TRY(zb_session_read_plan(sources->folder, 0, -1, &whole));
  zb_status status = zb_wanted_init(whole ? whole : session->plan, &out->wanted);
  zb_plan_destroy(whole);
  ZB_TRY(status);
  ZB_TRY(zb_weights_open(params->weights, &out->store));
  ZB_TRY(zb_weights_match(out->store, params->weights, out->wanted.items, out->wanted.count, params->weights_partial,
                          &out->weights));
  return NULL;
}

/* Arenas are pages that are taken when they are used: that they do not fit would show in the middle of the first step.
 */
static void say_too_large(const zb_session *session) {
  char line[160];
  uint64_t needed = 0;
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  for (int i = session->first_rank; i < session->first_rank + session->rank_count; ++i)
    needed += session->plan->ranks[i].arena_bytes;
  bool of_host = !session->device->queue && !session->params.no_kernels;
  if (!of_host || memory <= 0 || (double)needed <= memory) return;
  snprintf(line, sizeof line,
           "warning: the ranks of this process need %.1f GiB, and this machine has %.1f GiB of memory",
           (double)needed / (1 << 30), memory / (1 << 30));
  session->params.say(session->params.progress_context, line);
}

static bool has_verdict(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r)
    if (plan->ranks[r].jobs && zb_plan_find_job(&plan->ranks[r], ZB_JOB_VERDICT) >= 0) return true;
  return false;
}

static void say_lines(const zb_session *session, char *lines) {
  for (char *at = lines, *next; at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    session->params.say(session->params.progress_context, at);
  }
}

static void say_left_out(const zb_session *session) {
  char line[160];
  const int64_t rows = zb_data_left_out(session->data), all = zb_data_rows(session->data);
  if (rows == 0) return;
  snprintf(line, sizeof line, "%" PRId64 " of %" PRId64 " rows are left out of each epoch: a step takes %" PRId64, rows,
           all, zb_data_rows_at_once(session->data) * session->plan->micro_batches);
  session->params.say(session->params.progress_context, line);
}

/* Process 0 tells people what will run, and what was found for it. */
static void say_opened(const zb_session *session, const zb_session_params *params, const zb_weights *weights) {
  if (session->process > 0) return;
  if (params->opened) params->opened(params->progress_context, session);
  if (params->say) say_too_large(session);
  if (params->say && !session->overlaps && has_verdict(session->plan))
    params->say(params->progress_context,
                "post-validation is not used: the ranks wait for each other at the end of every step");
  if (params->say && session->data) say_left_out(session);
  if (params->say && session->rates.changes.data) say_lines(session, session->rates.changes.data);
  for (int i = 0; weights && params->say && zb_weights_note(weights, i); ++i) {
    zb_text line = {0};
    zb_text_add(&line, "weights of '%s': %s", params->weights, zb_weights_note(weights, i));
    if (!line.failed) params->say(params->progress_context, line.data);
    zb_text_deinit(&line);
  }
}

static zb_status take_infinite(zb_session *session) {
  ZB_TAKE(&session->memory, session->infinite, session->rank_count + 1);
  for (int i = 0; session->infinite && i < session->rank_count; ++i)
    ZB_TAKE(&session->memory, session->infinite[i], session->plan->ranks[session->first_rank + i].parameter_count + 1);
  return zb_arena_status(&session->memory);
}

/* A file that was changed while it was read is to blame for whatever else is wrong. Takes and returns ownership. */
static zb_status check_files(const zb_session_sources *sources, const zb_checkpoint *checkpoint, const zb_store *chosen,
                             zb_status status) {
  const zb_store *stores[] = {sources->weights, sources->constants, checkpoint->weights, checkpoint->optimizer, chosen};
  zb_status changed = NULL;
  for (size_t i = 0; i < sizeof stores / sizeof stores[0] && !changed; ++i)
    if (stores[i]) changed = zb_store_check(stores[i]);
  return zb_status_first((zb_status[]){changed, status}, 2);
}

/* Everything of this process; the plan is there. */
static zb_status prepare(zb_session *session, const zb_session_params *params, const zb_session_sources *sources) {
  zb_status status = NULL;
  zb_checkpoint checkpoint = {0};
  const zb_checkpoint *resumed = params->resume ? &checkpoint : NULL;
  chosen_weights chosen = {0};
  zb_values values = {0};
  if (params->costs && session->processes > 1)
    return zb_status_hint(ZB_ERROR(USAGE, "costs are measured in one process, and there are %d", session->processes),
                          "measure with all ranks in one process: without a launcher, or with --launch threads");
  ZB_TRY(zb_session_check_norm(session->plan, params));
  ZB_TRY(zb_session_open_clocks(session));
  ZB_TRY(zb_plan_unfold_own(&session->plan));
  if (session->whole) ZB_TRY(zb_plan_unfold_own(&session->whole));
  ZB_TRY(zb_plan_expand_own(&session->plan));
  if (session->whole) ZB_TRY(zb_plan_expand_own(&session->whole));
  ZB_TRY(zb_session_ranks_of(session, session->plan->rank_count));
  if (session->clocks) session->rank_count = 0;
  ZB_TRY(zb_session_note_arenas(session, session->plan));
  if (params->resume) {
    if (params->no_kernels) return ZB_ERROR(USAGE, "a run without kernels has nothing to resume");
    ZB_TRY_GOTO(zb_checkpoint_open(params->resume, session->plan, &checkpoint));
    session->steps = checkpoint.step;
    session->skipped = checkpoint.skipped;
  }
  ZB_TRY_GOTO(zb_session_open_rates(session, params, sources, resumed));
  ZB_TRY_GOTO(zb_session_open_settings(session, params, sources, resumed));
  ZB_TRY_GOTO(take_infinite(session));
  if (params->weights) ZB_TRY_GOTO(choose_weights(session, params, sources, &chosen));
  ZB_TRY_GOTO(zb_values_find(session, sources, resumed, chosen.weights, &values));
  const bool whole = session->processes == 1 && !session->clocks;
  ZB_TRY_GOTO(zb_session_check_reports(session->plan, whole, ZB_LIST_STEP));
  if (session->plan->evaluates) ZB_TRY_GOTO(zb_session_check_reports(session->plan, whole, ZB_LIST_EVALUATION));
  ZB_TRY_GOTO(list_owned(session));
  ZB_TRY_GOTO(choose_random_seed(session, params, resumed));
  ZB_TRY_GOTO(make_data(session, params, resumed));
  say_opened(session, params, chosen.weights); /* what can be known to be wrong is known */
  status = make_all(session, params, sources, &values);
  if (!status) describe_contents(session, sources, resumed, chosen.store);
cleanup:
  status = check_files(sources, &checkpoint, chosen.store, status);
  zb_values_deinit(&values);
  free_chosen(&chosen);
  zb_checkpoint_close(&checkpoint);
  return status;
}

zb_status zb_session_create_from(const zb_session_params *params, const zb_session_sources *sources, zb_session **out) {
  *out = NULL;
  zb_session *session = NULL;
  zb_status status = begin(params, sources->device, &session);
  if (status) {
    zb_plan_destroy(sources->plan);
    return status;
  }
  session->plan = sources->plan;
  if (params->costs) zb_plan_unweave(session->plan);
  return give(session, zb_session_agree_start(session, prepare(session, params, sources)), out);
}

static zb_status open_optional(const char *folder, const char *name, bool needed, zb_store **out) {
  *out = NULL;
  if (!needed) return NULL;
  char *path = zb_folder_file(folder, name);
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_store_open(path, out);
  zb_free(path);
  return status ? zb_status_note(
                      status, "reading the values of the plan in '%s' (expected: the folder as zbc wrote it)", folder)
                : NULL;
}

/* For the ranks that run here. */
static bool needs_constants(const zb_plan *plan) {
  for (int rank = 0; rank < plan->rank_count; ++rank)
    for (int i = 0; i < plan->ranks[rank].constant_count; ++i)
      if (!plan->ranks[rank].constants[i].computed && !plan->ranks[rank].constants[i].bytes) return true;
  return false;
}

/* Its checksums were right, so the plan is as somebody wrote it: no accident changed it. */
static zb_status prove_plan(const zb_plan *plan, const char *directory) {
  zb_status status = zb_plan_verify(plan);
  if (zb_status_code(status) != ZB_INVALID) return status;
  status =
      zb_status_note(status, "the plan in '%s' is not right: its proof fails, so nothing was run with it", directory);
  return zb_status_hint(
      status,
      "compile the model again; where zbc makes such a plan it has a bug: please report it with the model and the "
      "command line of zbc");
}

/* Process 0 reads and verifies the whole plan, for all; what stays is the part of the ranks that run here. */
static zb_status open_plan(zb_session *session, const char *directory) {
  const bool reads_all = session->process == 0;
  ZB_TRY(zb_session_read_plan(directory, 0, reads_all ? -1 : 0, &session->plan));
  if (reads_all) ZB_TRY(prove_plan(session->plan, directory));
  if (zb_session_wants_clocks(session)) return NULL; /* there is nothing to read for the ranks */
  const int each = zb_plan_replicas(session->plan) * zb_plan_shards(session->plan); /* ranks of a rank of the file */
  if (session->params.costs) zb_plan_unweave(session->plan); /* whole subprograms are measured, not what runs ahead */
  ZB_TRY(zb_plan_unfold_own(&session->plan));
  if (reads_all) ZB_TRY(zb_session_note_arenas(session, session->plan));
  if (reads_all && session->processes == 1) return NULL;
  ZB_TRY(zb_session_ranks_of(session, session->plan->rank_count));
  zb_plan *part = NULL;
  const int first = session->first_rank / each, last = (session->first_rank + session->rank_count - 1) / each;
  ZB_TRY(zb_session_read_plan(directory, first, last - first + 1, &part));
  if (session->params.explain && session->process == 0)
    session->whole = session->plan;
  else
    zb_plan_destroy(session->plan);
  session->plan = part;
  return NULL;
}

/* Whether parameters may begin with the values next to the plan. */
static bool needs_weights(const zb_session_params *params) {
  return !params->no_kernels && !params->resume && (!params->weights || params->weights_partial);
}

static zb_status open_and_prepare(zb_session *session, const zb_session_params *params) {
  zb_status status = NULL;
  const char *folder = params->directory;
  zb_store *weights = NULL, *constants = NULL;
  ZB_TRY(open_plan(session, folder));
  ZB_TRY_GOTO(open_optional(folder, "weights.safetensors", needs_weights(params), &weights));
  /* Where no rank of this process needs them they are read too, if they are there: all processes compare the file. */
  bool has_constants = zb_folder_has(folder, "constants.safetensors") || needs_constants(session->plan);
  ZB_TRY_GOTO(open_optional(folder, "constants.safetensors", !params->no_kernels && has_constants, &constants));
  zb_session_sources sources = {.weights = weights, .constants = constants, .folder = folder};
  status = prepare(session, params, &sources);
cleanup:
  zb_store_destroy(weights);
  zb_store_destroy(constants);
  return status;
}

zb_status zb_session_create(const zb_session_params *params, zb_session **out) {
  *out = NULL;
  zb_session *session = NULL;
  if (!params->directory || !*params->directory)
    return zb_status_hint(ZB_ERROR(USAGE, "no folder of a plan is given"), "give the folder that zbc wrote with -o");
  ZB_TRY(begin(params, NULL, &session));
  zb_status status = zb_session_share_values(session, params);
  if (!status) status = zb_session_agree_start(session, open_and_prepare(session, params));
  return give(session, status, out);
}

void zb_session_destroy(zb_session *session) {
  if (!session) return;
  zb_folder_lock_release(&session->save_lock); /* first: once another process has ended, a launcher may kill this one */
  if (session->stepping && !session->failed &&
      session->transport) /* a rank may wait for one that begins no more steps */
    session->transport_def->abort(session->transport, session->first_rank, "the session is destroyed");
  if (session->driver) session->driver_def->stop(session->driver);
  if (session->transport) session->transport_def->close(session->transport);
  if (session->group) session->group_def->close(session->group, !session->failed && !session->apart);
  for (int i = 0; i < session->executor_count; ++i) /* after what could still write to an arena */
    zb_executor_deinit(&session->executors[i]);
  zb_measure_destroy(session->measure);
  zb_outputs_abandon(&session->outputs);
  zb_data_destroy(session->data);
  zb_data_destroy(session->evaluation);
  zb_clocks_destroy(session->clocks);
  zb_plan_destroy(session->plan);
  zb_plan_destroy(session->whole);
  zb_arena_deinit(&session->memory);
  zb_facts_deinit(&session->contents);
  zb_rates_close(&session->rates);
  zb_status_free(session->refused);
  zb_free(session);
}

/* ---- Steps ---- */

/* What the step took a rank: where none waits for a step to end, from its own end of the one before. */
static int64_t own_time(const zb_session *session, int rank, int64_t took_ps) {
  return session->stepping ? session->times[rank].ended_ps : took_ps;
}

static void fill_result(const zb_session *session, int64_t took_ps, zb_step_result *out) {
  const zb_plan *plan = session->plan;
  double idle = 0;
  int64_t last_ps = INT64_MIN;
  bool timed = !session->device->queue || session->params.trace ||
               session->params.costs; /* else only the device knows when it computed */
  const int ranks = plan->rank_count;
  for (int i = 0; i < ranks; ++i) {
    const int64_t own_ps = own_time(session, i, took_ps);
    const double share = own_ps > 0 ? 1.0 - (double)session->times[i].compute_ps / (double)own_ps : 0;
    session->idle[i] = timed ? share : (double)NAN;
    idle += share;
    if (session->times[i].ended_ps > last_ps) last_ps = session->times[i].ended_ps;
  }
  for (int i = 0; i < ranks; ++i) {
    const zb_rank_time *t = &session->times[i];
    const int64_t own_ps = own_time(session, i, took_ps), end_ps = session->stepping ? own_ps : last_ps;
    session->waiting[i] = own_ps > 0 ? (double)(t->waiting_ps + end_ps - t->ended_ps) / (double)own_ps : 0;
  }
  *out = (zb_step_result){
      .step = session->steps,
      .loss = session->params.no_kernels ? (double)NAN : zb_session_mean_loss(session),
      .seconds = (double)took_ps / 1e12,
      .idle_share = !timed      ? (double)NAN
                    : ranks > 0 ? idle / ranks
                                : 0,
      .tokens = zb_session_batch_tokens(plan),
      .micro_losses = session->micro_losses,
      .micro_weights = session->micro_weights,
      .micro_batches = plan->micro_batches,
      .idle_shares = session->idle,
      .waiting_shares = session->waiting,
      .ranks = ranks,
      .lr_factor = zb_rates_factor(&session->rates, session->steps),
      .scheduled = session->rates.schedule != NULL,
  };
  out->lr = session->lr * out->lr_factor;
}

static zb_status make_step(zb_session *session, int64_t *out_ps) {
  if (session->clocks) return zb_session_run_clocks(session, out_ps);
  if (zb_session_is_ahead(session)) return zb_session_run_ahead(session, out_ps);
  if (session->measure) zb_measure_begin_step(session->measure);
  zb_session_set_rates(session);
  zb_session_begin_norm(session);
  ZB_TRY(zb_session_run_list(session, zb_executor_begin_step, session->steps, out_ps));
  return session->measure ? zb_measure_end_step(session->measure, *out_ps) : NULL;
}

/* Without a barrier the driver says which step it was. Takes and returns ownership. */
static zb_status fail_step(zb_session *session, zb_status status) {
  session->failed = !zb_session_take_back(session, status);
  return session->stepping ? status : zb_status_note(status, "step %lld", (long long)session->steps + 1);
}

/* A step that changed nothing, and whose batch counts as taken. */
static zb_status leave_out(zb_session *session, zb_status refused, zb_step_result *out) {
  zb_status_free(session->refused);
  session->refused = refused;
  for (int i = 0; i < session->plan->rank_count; ++i)
    session->idle[i] = session->waiting[i] = 0;
  fill_result(session, 0, out);
  out->loss = (double)NAN;
  out->norm = (double)NAN;
  out->skipped = true;
  out->refused = zb_status_text(refused);
  out->skipped_steps = ++session->skipped;
  ++session->steps;
  out->stopping = atomic_load(&session->stopping) != 0;
  return NULL;
}

zb_status zb_session_step(zb_session *session, zb_step_result *out) {
  memset(out, 0, sizeof *out);
  ZB_TRY(zb_session_check_alive(session, "step", session->steps + 1));
  if (!session->data && !session->params.no_kernels)
    return ZB_ERROR(USAGE, "the session has the data of evaluations alone, so it makes no steps");
  int64_t took_ps = 0;
  zb_status status = make_step(session, &took_ps);
  if (status) {
    status = fail_step(session, status);
    return session->leaves_out && !session->failed ? leave_out(session, status, out) : status;
  }
  fill_result(session, took_ps, out);
  zb_session_take_norm(session, out);
  ++session->steps;
  ++session->steps_here;
  status = zb_session_after_step(session, &out->stopping);
  if (status) return fail_step(session, status);
  session->took_ps = took_ps;
  zb_session_record_step(session);
  session->ran_ps += took_ps;
  for (int i = 0; i < session->plan->rank_count; ++i)
    session->waiting_ps += session->times[i].waiting_ps;
  return NULL;
}

int64_t zb_session_epoch_steps(const zb_session *session) {
  const int64_t needed = session->data ? zb_data_rows_at_once(session->data) * session->plan->micro_batches : 0;
  return needed > 0 ? zb_data_rows(session->data) / needed : 0;
}

int64_t zb_session_steps(const zb_session *session) { return session->steps; }

void zb_session_interrupt(zb_session *session) { atomic_store(&session->interrupted, 1); }

void zb_session_stop(zb_session *session) { atomic_store(&session->stopping, 1); }

size_t zb_session_positions(const zb_session *session, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < session->executor_count && used < size; ++i) {
    used += zb_executor_position_safe(&session->executors[i], text + used, size - used);
    if (used < size) text[used++] = '\n';
  }
  return used;
}

zb_session_info zb_session_describe(const zb_session *session) {
  const zb_plan *plan = session->plan;
  return (zb_session_info){
      .model = plan->model ? plan->model : "",
      .schedule = plan->schedule ? plan->schedule : "",
      .optimizer = plan->optimizer ? plan->optimizer : "",
      .precision = plan->precision && *plan->precision ? plan->precision : "f32",
      .rates = session->rates_text ? session->rates_text : "",
      .device = session->device->name,
      .instruction_set = session->instruction_set,
      .ranks = plan->rank_count,
      .stages = plan->stage_count,
      .micro_batches = plan->micro_batches,
      .replicas = zb_plan_mesh(plan),
      .sharding = zb_sharding_name(plan->sharding),
      .state_bytes = plan->ranks[session->first_rank].regions[ZB_REGION_STATE].bytes,
      .shards = zb_plan_shard_mesh(plan),
      .threads = session->params.threads,
      .process = session->process,
      .processes = session->processes,
      .launch = session->transport_def->name,
      .warning = session->mixed[0] ? session->mixed : NULL,
      .random_seed = session->random_seed,
  };
}

/* ---- Questions that need no session ---- */

zb_status zb_plan_print_file(const char *directory, void (*write)(void *context, const char *text, size_t bytes),
                             void *context) {
  zb_plan *plan = NULL;
  ZB_TRY(zb_session_read_plan(directory, 0, -1, &plan));
  zb_status status = prove_plan(plan, directory);
  if (!status) zb_plan_print(plan, write, context);
  zb_plan_destroy(plan);
  return status;
}

zb_status zb_plan_print_jobs_file(const char *directory, void (*write)(void *context, const char *text, size_t bytes),
                                  void *context) {
  zb_plan *plan = NULL;
  ZB_TRY(zb_session_read_plan(directory, 0, -1, &plan));
  zb_status status = prove_plan(plan, directory);
  if (!status) status = zb_plan_print_jobs(plan, write, context);
  zb_plan_destroy(plan);
  return status;
}
