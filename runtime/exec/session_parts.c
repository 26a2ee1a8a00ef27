/* What all parts of a session ask of it: see session_parts.h. Tests: test/runtime/exec/session_test.c,
 * test/runtime/exec/evaluation_test.c */
#include "runtime/exec/session_parts.h"

#include "runtime/base/folder.h"

zb_status zb_session_read_plan(const char *directory, int first, int count, zb_plan **out) {
  char *path = zb_folder_file(directory, "plan.zb");
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_plan_read_some(path, first, count, out);
  zb_free(path);
  if (status) return zb_status_note(status, "opening the plan in '%s' (expected: a folder that zbc wrote)", directory);
  return NULL;
}

void zb_session_abort(zb_session *session, const char *reason) {
  if (!session->group) return;
  session->apart = true;
  session->group_def->abort(session->group, session->first_rank, reason);
}

static double sum_of(const double *numbers, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += numbers[i];
  return sum;
}

double zb_session_loss_sum(const zb_session *session) {
  return sum_of(session->micro_losses, session->plan->micro_batches);
}

double zb_session_loss_weight(const zb_session *session) {
  const int count = session->plan->micro_batches;
  return session->micro_weights ? sum_of(session->micro_weights, count) : count;
}

double zb_session_mean_loss(const zb_session *session) {
  return zb_session_loss_sum(session) / zb_session_loss_weight(session);
}

double zb_session_batch_tokens(const zb_plan *plan) {
  const zb_plan_input *input = zb_data_first_input(plan);
  return input ? (double)zb_shape_elements(&input->shape) * plan->micro_batches : 0;
}
