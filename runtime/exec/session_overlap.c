/* Steps of a session that follow each other without a barrier: DECISIONS.md says why they are safe.
 *
 * The ranks make the steps that are announced, each as soon as its own one before is done; the session follows, and
 * shares the result of a step when all ranks have done it. No rank begins a step more than ZB_STEPS_IN_FLIGHT behind
 * the last one that was shared, so what is kept of a step has room. When a process asks for the end, all processes hear
 * of it with the result of one step; then each lets its ranks begin no more, and the last step that a rank of any
 * process has begun is the one that all end with. Tests: test/runtime/exec/overlap_test.c, test/e2e/overlap.py.
 */
#include "runtime/exec/session_group.h"

#include "runtime/base/clock.h"
#include "runtime/plan/clock/simulator.h"

/* What looks into a step counts its times from where all ranks begin it. */
bool zb_session_may_overlap(const zb_session *session, const zb_session_params *params) {
  const bool looks = params->trace || params->explain || params->costs;
  return session->driver_def->await && !params->barrier && !looks && !session->leaves_out;
}

bool zb_session_is_ahead(const zb_session *session) {
  return session->stepping || session->announced > session->steps + 1;
}

/* Whether a step is over only when ranks are in the next one. */
static bool validates(const zb_session *session) { return !session->clocks && session->executors[0].verdict >= 0; }

void zb_session_announce(zb_session *session, int64_t steps) {
  if (validates(session) && session->stepping) return; /* all ranks must know which step is followed at once */
  if (session->overlaps && !session->ending && steps > session->announced) session->announced = steps;
}

zb_status zb_session_check_still(const zb_session *session) {
  if (!session->stepping) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "ranks have gone on beyond step %lld: steps up to %lld were announced",
                                 (long long)session->steps, (long long)session->announced),
                        "announce no more steps than are made before anything else is asked (zb_session_announce)");
}

static void begin_step(void *context, int index, int64_t step) { zb_session_set_rank_rates(context, index, step); }

void zb_session_fill_driver(zb_session *session, zb_driver_params *out) {
  out->begin_step = begin_step;
  out->context = session;
}

/* Once this process was asked for the end its ranks begin no more than all are waited for in; with post-validation a
 * step more, in which its verdict is. */
static void allow(zb_session *session, int64_t done) {
  const bool last = atomic_load(&session->stopping) && !session->ending;
  const int64_t end = done + (last ? 1 + validates(session) : ZB_STEPS_IN_FLIGHT), until = session->announced;
  session->driver_def->allow(session->driver, end < until ? end : until, until);
}

zb_status zb_session_run_ahead(zb_session *session, int64_t *out_ps) {
  const int64_t step = session->steps;
  int64_t ended_ps = 0;
  if (!session->stepping) {
    ZB_TRY(session->transport_def->reset(session->transport));
    zb_session_begin_norm(session);
    session->driver_def->open(session->driver, step);
    session->stepping = true;
    session->step_start_ps = session->device->virtual_clock ? 0 : zb_monotonic_ps();
  }
  allow(session, step);
  ZB_TRY(session->driver_def->await(session->driver, step, &ended_ps));
  *out_ps = ended_ps - session->step_start_ps;
  ZB_TRY(zb_session_share_step(session, step, out_ps));
  session->step_start_ps = ended_ps;
  return NULL;
}

static void merge_most(void *total, const void *one, size_t bytes) {
  int64_t *most = total;
  const int64_t *other = one;
  (void)bytes;
  if (*other > *most) *most = *other;
}

zb_status zb_session_after_step(zb_session *session, bool *out_stopping) {
  const int64_t done = session->steps;
  *out_stopping = session->ends;
  if (!session->stepping) return NULL;
  if (session->ends && !session->ending) {
    int64_t last = session->clocks ? done : session->driver_def->halt(session->driver);
    if (session->group) ZB_TRY(session->group_def->merge(session->group, &last, sizeof last, merge_most));
    session->ending = true;
    session->announced = last;
  }
  session->stepping = done < session->announced;
  *out_stopping = session->ending && !session->stepping;
  if (session->stepping && !session->clocks) allow(session, done);
  return NULL;
}
