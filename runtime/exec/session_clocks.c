/* Steps of a session that computes nothing, of replicas and shards: times alone, by runtime/plan/clock/clocks.h. No
 * rank has an executor, an arena or messages. Tests: test/runtime/exec/clocks_test.c, test/e2e/mesh.py. */
#include "runtime/exec/session_parts.h"

bool zb_session_wants_clocks(const zb_session *session) {
  const zb_session_params *params = &session->params;
  const bool looks = params->trace || params->explain || params->profile || params->memory || params->costs;
  return params->no_kernels && session->device->virtual_clock && !looks && params->seed == 0 &&
         zb_plan_replicas(session->plan) * zb_plan_shards(session->plan) > 1;
}

/* The ranks of all replicas and shards, as far as they differ from each other: in nothing. */
static zb_status lay_ranks(const zb_plan *from, zb_plan *to) {
  const int each = zb_plan_replicas(from) * zb_plan_shards(from);
  if ((int64_t)from->rank_count * each > INT32_MAX || (int64_t)from->micro_batches * to->derived.mesh > INT32_MAX)
    return ZB_ERROR(INVALID, "%d replicas of %d shards of %d ranks are more than 2^31", zb_plan_replicas(from),
                    zb_plan_shards(from), from->rank_count);
  to->rank_count = from->rank_count * each;
  to->micro_batches = from->micro_batches * zb_plan_replicas(from);
  to->ranks = zb_plan_alloc(to, (size_t)to->rank_count * sizeof *to->ranks);
  if (!to->ranks) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < to->rank_count; ++r) {
    const zb_plan_rank *rank = &from->ranks[r / each];
    to->ranks[r] = (zb_plan_rank){.rank = r, .arena_bytes = rank->arena_bytes};
    if (r % each) continue; /* names of parameters once: for groups of rates */
    to->ranks[r].parameters = rank->parameters;
    to->ranks[r].parameter_count = rank->parameter_count;
  }
  return NULL;
}

static zb_status describe_all(const zb_plan *from, zb_plan **out) {
  zb_plan *to = *out = zb_plan_create_like(from);
  if (!to) return ZB_OUT_OF_MEMORY();
  to->replicas = to->shards = 1;
  to->derived.mesh = zb_plan_replicas(from);
  to->derived.shard_mesh = zb_plan_shards(from);
  to->message_count = to->evaluation_messages = to->collective_count = to->shard_sum_count = 0;
  to->messages = NULL;
  to->collectives = NULL;
  to->evaluates = false;
  return lay_ranks(from, to);
}

zb_status zb_session_open_clocks(zb_session *session) {
  const zb_delays delays = {session->params.delays, session->params.delay_spread};
  zb_plan *all = NULL;
  if (!zb_session_wants_clocks(session)) return NULL;
  ZB_TRY(zb_clocks_create(session->plan, &delays, &session->clocks));
  if (!session->clocks) return NULL;
  zb_status status = describe_all(session->plan, &all);
  if (status)
    zb_plan_destroy(all);
  else
    zb_plan_replace(&session->plan, all);
  return status;
}

zb_status zb_session_run_clocks(zb_session *session, int64_t *out_ps) {
  const bool ahead = zb_session_is_ahead(session), follows = session->stepping;
  ZB_TRY(zb_clocks_step(session->clocks, session->steps, follows));
  const int64_t end_ps = zb_clocks_end_ps(session->clocks);
  if (!follows) session->step_start_ps = 0;
  *out_ps = ahead ? end_ps - session->step_start_ps : end_ps + session->plan->step_ps;
  if (ahead) session->step_start_ps = end_ps;
  session->stepping = ahead;
  for (int r = 0; r < session->plan->rank_count; ++r) {
    const zb_clocks_times one = zb_clocks_times_of(session->clocks, r);
    session->times[r] = (zb_rank_time){one.began_ps, one.compute_ps, one.waiting_ps, one.ended_ps - one.began_ps};
  }
  session->ends = atomic_load(&session->stopping) != 0;
  return NULL;
}
