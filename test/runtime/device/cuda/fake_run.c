/* Trains a plan on the fake GPU: what zb-run --device cuda would do, with the kernels of the cpu (for
 * test/e2e/cuda_fake.py), or, as the program cuda-emulated, with those of kernels/cuda on the emulation of their device
 * code (for test/e2e/cuda_emulated.py).
 *
 * usage: cuda-fake DIR text:FILE STEPS SEED SAVE
 *            one line a step, the loss with 17 digits, then "races N" and the first race
 *        cuda-fake DIR text:FILE STEPS SEED nccl:N[:SAVE]
 *            the same as N processes over NCCL, all of it fake; "communicators N" before the races; saves weights alone
 *        cuda-fake DIR text:FILE STEPS SEED costs:FILE
 *            the losses, measured: writes FILE instead of a checkpoint
 *        cuda-fake DIR text:FILE STEPS SEED eval:SAVE [NAME:FILE.npy]
 *            evaluates a batch of the same text after each step, too: "eval LOSS"
 *        cuda-fake DIR text:FILE STEPS SEED explain
 *            why ranks idled in the last step, as JSON; saves nothing
 *        cuda-fake DIR text:FILE mutate[:even|:odd]
 *            leaves out one wait of a step after the other, or every second: "waits N, found N of N that matter, N of
 *            messages, missed N of messages"
 */
#include "runtime/exec/session_parts.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/device/cuda/fake.h"
#include "test/runtime/device/cuda/emulated_kernels.h"
#include "test/runtime/device/cuda/host_kernels.h"
#include "test/runtime/device/cuda/nccl_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ZB_EMULATED
#define THE_DEVICE emulated_device()
#else
#define THE_DEVICE fake_device()
#endif

enum { PATH_BYTES = 4096, MUTATED_STEPS = 2 };

/* What lies in the folder of a plan. */
typedef struct folder_files {
  zb_plan *plan;
  zb_store *weights, *constants;
} folder_files;

static void close_files(folder_files *files) {
  zb_plan_destroy(files->plan);
  zb_store_destroy(files->weights);
  zb_store_destroy(files->constants);
}

static zb_status open_files(const char *folder, folder_files *out) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/plan.zb", folder);
  ZB_TRY(zb_plan_read(path, -1, &out->plan));
  ZB_TRY(zb_plan_verify(out->plan));
  snprintf(path, sizeof path, "%s/weights.safetensors", folder);
  ZB_TRY(zb_store_open(path, &out->weights));
  snprintf(path, sizeof path, "%s/constants.safetensors", folder);
  zb_status_free(zb_store_open(path, &out->constants)); /* few plans need it */
  return NULL;
}

static zb_status open_session(const char *folder, const zb_session_params *params, zb_session **out) {
  folder_files files = {0};
  *out = NULL;
  zb_status status = open_files(folder, &files);
  if (!status) {
    zb_session_sources sources = {
        .plan = files.plan, .weights = files.weights, .constants = files.constants, .device = THE_DEVICE};
    files.plan = NULL; /* taken */
    status = zb_session_create_from(params, &sources, out);
  }
  close_files(&files);
  return status;
}

#ifndef ZB_EMULATED
static zb_status train_over_nccl(const char *folder, const char *source, long steps, const char *how) {
  folder_files files = {0};
  zb_data *data = NULL;
  nccl_ranks *ranks = NULL;
  char *save = NULL;
  const int processes = (int)strtol(how, &save, 10);
  zb_status status = open_files(folder, &files);
  if (!status) status = zb_plan_unfold_own(&files.plan);
  if (!status) status = zb_plan_expand_own(&files.plan);
  const zb_data_params params = {.plan = files.plan, .source = source};
  if (!status) status = zb_data_create(&params, &data);
  if (!status) status = nccl_ranks_open(files.plan, processes, files.weights, files.constants, data, 60000, &ranks);
  for (long i = 0; i < steps && !status; ++i) {
    double loss = 0;
    status = nccl_ranks_step(ranks, i, &loss);
    if (!status) printf("%.17g\n", loss);
  }
  if (!status && *save == ':') status = nccl_ranks_save(ranks, save + 1);
  if (!status) printf("communicators %d\nraces %d %s\n", fake_nccl_made(), fake_races(), fake_first_race());
  nccl_ranks_close(ranks);
  zb_data_destroy(data);
  close_files(&files);
  return status;
}
#else
static zb_status train_over_nccl(const char *folder, const char *source, long steps, const char *how) {
  return ZB_ERROR(USAGE, "%s, %s, %ld, %s: the emulation has no NCCL", folder, source, steps, how);
}
#endif

static zb_status print_explanation(zb_session *session) {
  zb_explanation measured, simulated;
  ZB_TRY(zb_session_explain(session, &measured, &simulated));
  char *text = zb_explanation_json(&measured);
  printf("explain %s\n", text ? text : "");
  zb_free(text);
  zb_explanation_deinit(&measured);
  zb_explanation_deinit(&simulated);
  return NULL;
}

static zb_status train(const char *folder, const zb_session_params *params, long steps, const char *save) {
  zb_session *session = NULL;
  zb_status status = open_session(folder, params, &session);
  for (long i = 0; i < steps && !status; ++i) {
    zb_step_result result;
    status = zb_session_step(session, &result);
    if (!status) printf("%.17g\n", result.loss);
    zb_evaluation_result evaluation;
    if (!status && params->evaluation) status = zb_session_evaluate(session, &evaluation);
    if (!status && params->evaluation) printf("eval %.17g\n", evaluation.loss);
  }
  if (!status && params->explain)
    status = print_explanation(session);
  else if (!status)
    status = params->costs ? zb_session_write_costs(session, save) : zb_session_save(session, save);
  if (!status) printf("races %d %s\n", fake_races(), fake_first_race());
  zb_session_destroy(session);
  return status;
}

/* What became of some steps without a wait. */
typedef struct mutant {
  bool found;      /* a race */
  bool matters;    /* the next operation of its stream did not know from other waits what it would have told */
  bool of_message; /* it is one of a message, not of a job */
  int waits;       /* of the first step */
} mutant;

static zb_status without(const char *folder, const zb_session_params *params, int wait, uint64_t seed, mutant *out) {
  zb_session *session = NULL;
  fake_start(seed);
  ZB_TRY(open_session(folder, params, &session));
  fake_leave_out_wait(wait);
  for (int i = 0; i < MUTATED_STEPS; ++i) {
    zb_step_result result;
    zb_status status = zb_session_step(session, &result); /* values may be anything */
    zb_status_free(status);
    if (i == 0) out->waits = fake_waits();
    if (status) break;
  }
  out->found |= fake_races() > 0;
  out->matters |= fake_left_out_matters() && !fake_wait_is_last(wait);
  out->of_message = fake_left_out_of_message();
  zb_session_destroy(session);
  fake_stop();
  return NULL;
}

static zb_status mutate(const char *folder, const zb_session_params *params, int begin, int every) {
  int waits = begin + 1, tried = 0, found = 0, matter = 0, of_messages = 0, missed = 0;
  for (int i = begin; i < waits; i += every, ++tried) {
    mutant it = {0};
    for (uint64_t seed = 0; seed < 2 && !it.found; ++seed)
      ZB_TRY(without(folder, params, i, seed, &it));
    waits = it.waits;
    found += it.found;
    matter += it.matters;
    of_messages += it.of_message && it.found;
    missed += it.of_message && it.matters && !it.found;
  }
  printf("waits %d, found %d of %d that matter, %d of messages, missed %d of messages\n", tried, found, matter,
         of_messages, missed);
  return NULL;
}

int main(int count, char **words) {
  bool mutates = count == 4 && strncmp(words[3], "mutate", 6) == 0;
  const bool with_output = count == 7 && strncmp(words[5], "eval:", 5) == 0;
  if (!mutates && count != 6 && !with_output) return 2;
  zb_session_params params = {.data = words[2], .timeout_ms = 60000};
  zb_status status = NULL;
  int left = 0;
  if (mutates) {
    const bool is_odd = strcmp(words[3], "mutate:odd") == 0;
    status = mutate(words[1], &params, is_odd, is_odd || strcmp(words[3], "mutate:even") == 0 ? 2 : 1);
  } else {
    fake_start(strtoull(words[4], NULL, 10));
    long steps = strtol(words[3], NULL, 10);
    const bool evaluates = strncmp(words[5], "eval:", 5) == 0;
    params.explain = strcmp(words[5], "explain") == 0;
    params.costs = strncmp(words[5], "costs:", 6) == 0;
    params.evaluation = evaluates ? words[2] : NULL;
    params.evaluation_batches = 1;
    params.outputs = (const char *const *)&words[6];
    params.output_count = with_output ? 1 : 0;
    const int prefix = params.costs ? 6 : evaluates ? 5 : 0;
    status = strncmp(words[5], "nccl:", 5) == 0 ? train_over_nccl(words[1], words[2], steps, words[5] + 5)
                                                : train(words[1], &params, steps, words[5] + prefix);
    left = fake_stop();
  }
  if (status) fprintf(stderr, "cuda-fake: %s", zb_status_text(status));
  if (left) fprintf(stderr, "cuda-fake: %d things were not released\n", left);
  int exit_status = status || left ? 1 : 0;
  zb_status_free(status);
  return exit_status;
}
