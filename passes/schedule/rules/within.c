/* Tests: test/passes/schedule/iclr24_test.c, v_schedules_test.c. */
#include "passes/schedule/rules/within.h"

#include "passes/schedule/rules/rules.h"

zb_status zb_within_emit(const zb_within_def *within, const zb_problem *problem, int64_t percent, bool is_fine,
                         zb_order *out) {
  zb_model model;
  zb_scheduler w;
  zb_slot *sequence;
  int64_t *limits, *most;
  void *state;
  zb_within_answer answer;
  zb_order made = {0};
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_scheduler_init(&model, &w));
  ZB_TAKE(w.arena, sequence, w.jobs);
  ZB_TAKE(w.arena, limits, w.ranks);
  ZB_TAKE(w.arena, most, w.ranks);
  ZB_TRY_GOTO(zb_arena_status(w.arena));
  ZB_TRY_GOTO(zb_level_limits(problem, percent, is_fine, limits));
  zb_level_rank_limits(&w, most);
  ZB_TRY_GOTO(within->open(&w, &state));
  const zb_within_request request = {limits, percent ? limits : most, INT64_MAX};
  ZB_TRY_GOTO(within->ask(state, &request, sequence, &answer));
  if (!answer.found) zb_sequence_least(&w, sequence, most);
  ZB_TRY_GOTO(zb_sequence_write(&w, sequence, &made));
  zb_order_deinit(out);
  *out = made;
cleanup:
  zb_model_deinit(&model);
  return status;
}
