/* The plan of all replicas: zb_plan_replicate of runtime/plan/plan.h.
 *
 * A plan of one pipeline is a program a rank, whatever the number of replicas. Here it becomes the ordinary plan of all
 * of them, so that the proof, the simulator, executors and transports know nothing of replicas: message m of replica c
 * is message m * replicas + c, which keeps the order of the list, and a collective over replicas lists the ranks that
 * differ in c alone. Lists of jobs are copied, since they name messages and micro-batches; everything else is shared.
 *
 * Tests: test/runtime/plan/replicas_test.c
 */
#include "runtime/plan/plan.h"

#include <string.h>

typedef struct replication {
  const zb_plan *from;
  zb_plan *to;
  int replicas;
  int *first_collective; /* [collective of from] the first that it became */
} replication;

static int rank_at(const replication *it, int rank, int replica) { return rank * it->replicas + replica; }

static zb_status replicate_messages(replication *it) {
  const zb_plan *from = it->from;
  zb_plan *to = it->to;
  if ((int64_t)from->message_count * it->replicas > INT32_MAX)
    return ZB_ERROR(INVALID, "the plan has more than 2^31 messages with its %d replicas", it->replicas);
  to->message_count = from->message_count * it->replicas;
  to->evaluation_messages = from->evaluation_messages * it->replicas;
  to->messages = zb_plan_alloc(to, (size_t)to->message_count * sizeof *to->messages);
  if (!to->messages) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < to->message_count; ++i) {
    const int replica = i % it->replicas;
    zb_plan_message *message = &to->messages[i];
    *message = from->messages[i / it->replicas];
    message->source = rank_at(it, message->source, replica);
    message->destination = rank_at(it, message->destination, replica);
    if (message->micro_batch >= 0) message->micro_batch += replica * from->micro_batches;
  }
  return NULL;
}

/* One collective of `to`: of a replica where members are listed, else of all. */
static void add_collective(replication *it, const zb_plan_collective *from, int replica) {
  zb_plan *to = it->to;
  zb_plan_collective *collective = &to->collectives[to->collective_count++];
  const uint32_t count = from->coordinate ? (uint32_t)it->replicas : from->members.count;
  *collective = *from;
  collective->coordinate = 0;
  collective->before = from->before * it->replicas;
  collective->members = (zb_plan_slice){to->pool_u64_count, count};
  for (uint32_t m = 0; m < count; ++m) {
    const int rank = (int)it->from->pool_u64[from->members.begin + (from->coordinate ? 0 : m)];
    to->pool_u64[to->pool_u64_count++] = (uint64_t)rank_at(it, rank, from->coordinate ? (int)m : replica);
  }
}

static zb_status replicate_collectives(replication *it) {
  const zb_plan *from = it->from;
  zb_plan *to = it->to;
  size_t count = 0, numbers = from->pool_u64_count;
  for (int c = 0; c < from->collective_count; ++c) {
    const zb_plan_collective *collective = &from->collectives[c];
    count += collective->coordinate ? 1 : (size_t)it->replicas;
    numbers += (size_t)it->replicas * collective->members.count;
  }
  to->collectives = zb_plan_alloc(to, (count + 1) * sizeof *to->collectives);
  to->pool_u64 = zb_plan_alloc(to, (numbers + 1) * sizeof *to->pool_u64);
  it->first_collective = zb_plan_alloc(to, ((size_t)from->collective_count + 1) * sizeof *it->first_collective);
  if (!to->collectives || !to->pool_u64 || !it->first_collective) return ZB_OUT_OF_MEMORY();
  if (from->pool_u64_count) memcpy(to->pool_u64, from->pool_u64, from->pool_u64_count * sizeof *to->pool_u64);
  to->collective_count = 0;
  for (int c = 0; c < from->collective_count; ++c) {
    it->first_collective[c] = to->collective_count;
    for (int replica = 0; replica < (from->collectives[c].coordinate ? 1 : it->replicas); ++replica)
      add_collective(it, &from->collectives[c], replica);
  }
  return NULL;
}

/* Checkpoints hold what replica 0 has: all replicas have the same. */
static zb_status disown_parameters(zb_plan *to, zb_plan_rank *rank) {
  zb_plan_parameter *parameters = zb_plan_alloc(to, ((size_t)rank->parameter_count + 1) * sizeof *parameters);
  if (!parameters) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->parameter_count; ++i) {
    parameters[i] = rank->parameters[i];
    parameters[i].owner = false;
  }
  rank->parameters = parameters;
  return NULL;
}

static zb_status replicate_shard_sums(replication *it) {
  zb_plan *to = it->to;
  to->shard_sum_count = it->from->shard_sum_count * it->replicas;
  to->shard_sums = zb_plan_alloc(to, ((size_t)to->shard_sum_count + 1) * sizeof *to->shard_sums);
  if (!to->shard_sums) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < to->shard_sum_count; ++i)
    to->shard_sums[i] = it->from->shard_sums[i / it->replicas];
  return NULL;
}

static zb_status replicate_rank(const replication *it, int r, int replica) {
  const zb_plan_rank *from = &it->from->ranks[r];
  zb_plan_rank *rank = &it->to->ranks[rank_at(it, r, replica)];
  *rank = *from;
  rank->rank = rank_at(it, r, replica);
  if (replica > 0) ZB_TRY(disown_parameters(it->to, rank));
  if (!from->jobs) return NULL; /* not read */
  rank->jobs = zb_plan_alloc(it->to, ((size_t)from->job_count + 1) * sizeof *rank->jobs);
  if (!rank->jobs) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < from->job_count; ++i) {
    zb_plan_job *job = &rank->jobs[i];
    *job = from->jobs[i];
    if (job->micro_batch >= 0) job->micro_batch += replica * it->from->micro_batches;
    if (job->message >= 0) job->message = job->message * it->replicas + replica;
    if (!job->collective) continue;
    const bool of_replicas = it->from->collectives[job->collective - 1].coordinate != 0;
    job->collective = 1 + it->first_collective[job->collective - 1] + (of_replicas ? 0 : replica);
  }
  return NULL;
}

zb_status zb_plan_replicate(const zb_plan *plan, int replicas, zb_plan **out) {
  zb_status status = NULL;
  *out = NULL;
  if (zb_plan_replicas(plan) == 1) return NULL;
  replication it = {.from = plan, .to = zb_plan_create(), .replicas = replicas ? replicas : plan->replicas};
  if (!it.to) return ZB_OUT_OF_MEMORY();
  if ((int64_t)plan->rank_count * it.replicas > INT32_MAX || (int64_t)plan->micro_batches * it.replicas > INT32_MAX)
    ZB_TRY_GOTO(ZB_ERROR(INVALID, "%d replicas of %d ranks and %d micro-batches are more than 2^31", it.replicas,
                         plan->rank_count, plan->micro_batches));
  struct zb_plan_arena *memory = it.to->arena;
  *it.to = *plan;
  it.to->arena = memory;
  it.to->replicas = 1;
  it.to->mesh = it.replicas;
  it.to->rank_count = plan->rank_count * it.replicas;
  it.to->micro_batches = plan->micro_batches * it.replicas;
  it.to->ranks = zb_plan_alloc(it.to, (size_t)it.to->rank_count * sizeof *it.to->ranks);
  if (!it.to->ranks) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(replicate_messages(&it));
  ZB_TRY_GOTO(replicate_collectives(&it));
  ZB_TRY_GOTO(replicate_shard_sums(&it));
  for (int r = 0; r < plan->rank_count; ++r)
    for (int replica = 0; replica < it.replicas; ++replica)
      ZB_TRY_GOTO(replicate_rank(&it, r, replica));
  *out = it.to;
  it.to = NULL;
cleanup:
  zb_plan_destroy(it.to);
  return status;
}

zb_status zb_plan_replicate_own(zb_plan **plan) {
  zb_plan *all;
  ZB_TRY(zb_plan_replicate(*plan, 0, &all));
  zb_plan_replace(plan, all);
  return NULL;
}
