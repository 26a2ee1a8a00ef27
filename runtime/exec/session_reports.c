/* What the steps of a session report: the losses of micro-batches and the norm of gradients, and what becomes of a step
 * whose gradients are not finite. Tests: test/e2e/clipping.py, test/tools/clipping.test, test/runtime/exec. */
#include "runtime/exec/session_parts.h"

#include "runtime/base/words.h"

#include <math.h>
#include <string.h>

zb_status zb_session_check_reports(const zb_plan *plan, bool whole, zb_plan_list list) {
  int *seen = zb_alloc(sizeof(int) * (size_t)(plan->micro_batches + 1));
  if (!seen) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  for (int rank = 0; rank < plan->rank_count && !status; ++rank) {
    const int end = zb_plan_list_end(&plan->ranks[rank], list);
    for (int i = zb_plan_list_begin(&plan->ranks[rank], list); i < end && !status; ++i) {
      const zb_plan_job *job = &plan->ranks[rank].jobs[i];
      if (job->kind != ZB_JOB_REPORT || job->micro_batch < 0 || job->output) continue;
      bool fits = job->micro_batch < plan->micro_batches && job->parts.count == 1 &&
                  plan->ranks[rank].pool_ranges[job->parts.begin].bytes >= zb_plan_loss_bytes(plan);
      if (!fits || seen[job->micro_batch]++)
        status = ZB_ERROR(INVALID,
                          "rank %d, job %d reports the loss of micro-batch %d, which is not one scalar reported once",
                          rank, i, job->micro_batch);
    }
  }
  for (int i = 0; i < plan->micro_batches && !status && whole && !plan->inference; ++i)
    if (!seen[i]) status = ZB_ERROR(INVALID, "no job of the plan reports the loss of micro-batch %d", i);
  zb_free(seen);
  return status;
}

static bool is_skip(const char *choice) { return choice && strcmp(choice, "skip") == 0; }

bool zb_session_skips(const zb_session_params *params) { return is_skip(params->non_finite); }

static zb_status check_choice(const char *option, const char *choice, const char *hint) {
  static const char *const choices[] = {"stop", "skip"};
  if (!choice || is_skip(choice) || strcmp(choice, "stop") == 0) return NULL;
  const char *nearest = zb_nearest(choice, choices, 2);
  return zb_status_hint(ZB_ERROR(USAGE, "%s: expected stop or skip, got '%s'", option, choice),
                        nearest ? "did you mean '%s'?" : hint, nearest);
}

zb_status zb_session_check_bad_batch(zb_session *session, const zb_session_params *params) {
  ZB_TRY(check_choice("--bad-batch", params->bad_batch, "skip leaves out a step whose batch is refused"));
  session->leaves_out = is_skip(params->bad_batch);
  if (!session->leaves_out || (session->transport_def->revive && !session->group_def)) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--bad-batch skip: a step can be taken back by the device cpu in one process"),
                        "leave it out, and look at the data of a batch that is refused");
}

/* Whether a rank of this process updates parameters without knowing the norm of their gradients. */
static bool trains_unclipped(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r) {
    bool trains = false, clips = false;
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i)
      trains |= plan->ranks[r].parameters[i].trained && plan->ranks[r].parameters[i].gradient_offset >= 0;
    for (int i = 0; i < plan->ranks[r].setting_count; ++i)
      clips |= plan->ranks[r].settings[i].kind == ZB_SETTING_MAX_NORM;
    if (trains && !clips) return true;
  }
  return false;
}

zb_status zb_session_check_norm(const zb_plan *plan, const zb_session_params *params) {
  ZB_TRY(check_choice("--non-finite", params->non_finite, "skip leaves such a step out"));
  if (params->clip_norm != 0 && !(params->clip_norm > 0))
    return ZB_ERROR(USAGE, "the greatest norm of the gradients is %g: expected a number above 0", params->clip_norm);
  if ((params->clip_norm != 0 || zb_session_skips(params)) && trains_unclipped(plan))
    return zb_status_hint(ZB_ERROR(USAGE, "the plan was compiled without clipping: it knows no norm of the gradients"),
                          params->clip_norm != 0 ? "compile the model with zbc --clip-norm"
                                                 : "compile the model with zbc --clip-norm inf, which clips nothing");
  return NULL;
}

void zb_session_set_clip_norm(zb_session *session, double clip_norm) {
  for (int i = 0; i < session->executor_count && clip_norm > 0; ++i) {
    zb_executor *e = &session->executors[i];
    for (int k = 0; k < e->program->setting_count; ++k)
      if (e->program->settings[k].kind == ZB_SETTING_MAX_NORM) *zb_executor_setting(e, k) = clip_norm;
  }
}

void zb_session_begin_norm(zb_session *session) {
  for (int i = 0; i < session->executor_count; ++i)
    session->executors[i].updates = session->steps - session->skipped;
}

void zb_session_take_norm(zb_session *session, zb_step_result *out) {
  out->has_norm = session->has_norm;
  out->norm = session->has_norm ? session->norm : (double)NAN;
  out->skipped = session->has_norm && !isfinite(session->norm) && !session->params.no_kernels;
  session->skipped += out->skipped;
  out->skipped_steps = session->skipped;
  session->step_weight = zb_session_loss_weight(session);
}
