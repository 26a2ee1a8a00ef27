/* The plan of all replicas: zb_plan_replicate of runtime/plan/file/plan.h.
 *
 * A plan of one pipeline is a program a rank, whatever the number of replicas. Here it becomes the ordinary plan of all
 * of them, so that the proof, the simulator, executors and transports know nothing of replicas: message m of replica c
 * is message m * replicas + c, which keeps the order of the list, and a collective over replicas lists the ranks that
 * differ in c alone. Lists of jobs are copied, since they name messages and micro-batches; everything else is shared.
 *
 * Where replicas share optimizer state each has its part of what they update (zb_plan_part_bytes), and the plan says
 * what replica 0 does: UPDATE of replica r works r parts behind, on parameters and on gradients, as do SUM and NORM
 * where gradients are in parts. A sum over replicas has buffers of as many parts as there are replicas, but for numbers
 * of the norm, which all replicas have; the gather of parameters brings the part of each to all. Where they share
 * parameters, too, each has its part of those in the place of replica 0's, and gathers bring them to jobs. Buffers are
 * those of replica 0, which gives them to all when a step ends.
 *
 * Tests: test/runtime/plan/mesh/replicas_test.c, test/runtime/plan/compiled/sharding_test.c
 */
#include "runtime/plan/file/check.h"

#include <string.h>

#include "runtime/base/assert.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/mesh/mesh.h"

typedef struct replication {
  const zb_plan *from;
  zb_plan *to;
  int replicas;
  int *first_collective; /* [collective of from] the first that it became */
  zb_plan_slice *sizes;  /* [begin of sizes in from] those of the last collective of parts that has them there */
  int *sizes_of;         /* [begin of sizes in from] 1 + that collective; 0: none yet */
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

/* How many parts of what is gathered come from a replica: of a plan of fewer than there are the last one stands for
 * those that are not there, so that jobs read what all have. */
static int parts_of(const replication *it, const zb_plan_collective *from, int replica) {
  return from->apart && replica == it->replicas - 1 ? it->from->replicas - it->replicas + 1 : 1;
}

/* What grows where all replicas have parts: buffers that are added up, and the list of what is gathered. */
static void add_parts(replication *it, const zb_plan_collective *from, zb_plan_collective *collective) {
  zb_plan *to = it->to;
  const uint64_t *sizes = it->from->pool_u64 + from->sizes.begin, replicas = (uint64_t)it->replicas;
  const bool adds = zb_collective_adds(from->kind);
  const int before = it->sizes_of[from->sizes.begin] - 1;
  if (!adds) {
    collective->counts = (zb_plan_slice){to->pool_u64_count, (uint32_t)replicas};
    for (uint64_t m = 0; m < replicas; ++m)
      to->pool_u64[to->pool_u64_count++] = from->sizes.count;
  }
  if (before >= 0 && zb_collective_moves_alike(&it->from->collectives[before], from)) {
    collective->sizes = it->sizes[from->sizes.begin];
    return;
  }
  collective->sizes.begin = to->pool_u64_count;
  for (uint64_t m = 0; m < (adds ? 1 : replicas); ++m)
    for (uint32_t p = 0; p < from->sizes.count; ++p)
      to->pool_u64[to->pool_u64_count++] = sizes[p] * (adds ? replicas : (uint64_t)parts_of(it, from, (int)m));
  collective->sizes.count = to->pool_u64_count - collective->sizes.begin;
  it->sizes[from->sizes.begin] = collective->sizes;
  it->sizes_of[from->sizes.begin] = 1 + (int)(from - it->from->collectives);
}

/* One collective of `to`: of a replica where members are listed, else of all. */
static void add_collective(replication *it, const zb_plan_collective *from, int replica) {
  zb_plan *to = it->to;
  zb_plan_collective *collective = &to->collectives[to->collective_count++];
  const uint32_t count = from->coordinate ? (uint32_t)it->replicas : from->members.count;
  *collective = *from;
  collective->coordinate = 0;
  if (from->coordinate) collective->derived.timed_members = (uint32_t)it->from->replicas;
  collective->before = from->before * it->replicas;
  collective->members = (zb_plan_slice){to->pool_u64_count, count};
  for (uint32_t m = 0; m < count; ++m) {
    const int rank = (int)it->from->pool_u64[from->members.begin + (from->coordinate ? 0 : m)];
    to->pool_u64[to->pool_u64_count++] = (uint64_t)rank_at(it, rank, from->coordinate ? (int)m : replica);
  }
  if (from->coordinate && from->of_parts) add_parts(it, from, collective);
  if (from->payload != ZB_PAYLOAD_BUFFERS) return;
  collective->counts = (zb_plan_slice){to->pool_u64_count, count}; /* replica 0 gives all */
  for (uint32_t m = 0; m < count; ++m)
    to->pool_u64[to->pool_u64_count++] = m == 0 ? from->sizes.count : 0;
}

static zb_status replicate_collectives(replication *it) {
  const zb_plan *from = it->from;
  zb_plan *to = it->to;
  size_t count = 0, numbers = from->pool_u64_count;
  for (int c = 0; c < from->collective_count; ++c) {
    const zb_plan_collective *collective = &from->collectives[c];
    count += collective->coordinate ? 1 : (size_t)it->replicas;
    numbers += (size_t)it->replicas * collective->members.count;
    if (collective->payload == ZB_PAYLOAD_BUFFERS) numbers += (size_t)it->replicas;
    if (collective->coordinate && collective->of_parts)
      numbers += (size_t)it->replicas * ((size_t)collective->sizes.count + 1);
  }
  to->collectives = zb_plan_alloc(to, (count + 1) * sizeof *to->collectives);
  to->pool_u64 = zb_plan_alloc(to, (numbers + 1) * sizeof *to->pool_u64);
  it->first_collective = zb_plan_alloc(to, ((size_t)from->collective_count + 1) * sizeof *it->first_collective);
  it->sizes = zb_plan_alloc(to, ((size_t)from->pool_u64_count + 1) * sizeof *it->sizes);
  it->sizes_of = zb_plan_alloc(to, ((size_t)from->pool_u64_count + 1) * sizeof *it->sizes_of);
  if (!to->collectives || !to->pool_u64 || !it->first_collective || !it->sizes || !it->sizes_of)
    return ZB_OUT_OF_MEMORY();
  if (from->pool_u64_count) memcpy(to->pool_u64, from->pool_u64, from->pool_u64_count * sizeof *to->pool_u64);
  to->collective_count = 0;
  for (int c = 0; c < from->collective_count; ++c) {
    it->first_collective[c] = to->collective_count;
    for (int replica = 0; replica < (from->collectives[c].coordinate ? 1 : it->replicas); ++replica)
      add_collective(it, &from->collectives[c], replica);
  }
  return NULL;
}

/* Checkpoints hold what replica 0 has: all replicas have the same, but for the parts that they share. */
static zb_status disown_parameters(zb_plan *to, zb_plan_rank *rank, int replica) {
  zb_plan_parameter *parameters = zb_plan_alloc(to, ((size_t)rank->parameter_count + 1) * sizeof *parameters);
  if (!parameters) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->parameter_count; ++i) {
    parameters[i] = rank->parameters[i];
    parameters[i].derived.owns_part = parameters[i].owner;
    parameters[i].owner &= replica == 0;
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
    to->shard_sums[i] = it->from->shard_sums[i / 2 / it->replicas * 2 + i % 2];
  return NULL;
}

/* ---- Parts that replicas have ---- */

/* Whether the bytes lie where all replicas have parts of their own: of sums of micro-batches each has one alone. */
static bool in_parts(const zb_plan *plan, const zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  const zb_region_kind region = zb_plan_region_of(rank, offset, bytes);
  return bytes > 0 && ((region == ZB_REGION_PARAMETERS && !zb_sharding_of_parameters(plan->sharding)) ||
                       (region == ZB_REGION_GRADIENTS && !zb_sharding_sums_each(plan->sharding)));
}

static zb_status move_operands(zb_plan *to, const zb_plan_rank *rank, int replica, int count,
                               zb_plan_operand **operands) {
  zb_plan_operand *moved = zb_plan_alloc(to, ((size_t)count + 1) * sizeof *moved);
  if (!moved) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i) {
    const uint64_t bytes = (*operands)[i].rank < 0 ? 0 : (uint64_t)zb_operand_extent(&(*operands)[i]);
    moved[i] = (*operands)[i];
    if (moved[i].base == 0 && in_parts(to, rank, moved[i].offset, bytes)) moved[i].offset += (uint64_t)replica * bytes;
  }
  *operands = moved;
  return NULL;
}

/* The optimizer of another replica than the first, on its parts. */
static zb_status move_optimizer(zb_plan *to, zb_plan_rank *rank, int replica) {
  zb_plan_subprogram *subprograms = zb_plan_alloc(to, ((size_t)rank->subprogram_count + 1) * sizeof *subprograms);
  if (!subprograms) return ZB_OUT_OF_MEMORY();
  for (int s = 0; s < rank->subprogram_count; ++s) {
    zb_plan_subprogram *it = &subprograms[s];
    *it = rank->subprograms[s];
    if (!zb_plan_works_on_parts(to, it->kind)) continue;
    it->instructions = zb_plan_alloc(to, ((size_t)it->instruction_count + 1) * sizeof *it->instructions);
    if (!it->instructions) return ZB_OUT_OF_MEMORY();
    for (int i = 0; i < it->instruction_count; ++i) {
      zb_plan_instruction *instruction = &it->instructions[i];
      *instruction = rank->subprograms[s].instructions[i];
      ZB_TRY(move_operands(to, rank, replica, instruction->input_count, &instruction->inputs));
      ZB_TRY(move_operands(to, rank, replica, instruction->output_count, &instruction->outputs));
    }
  }
  rank->subprograms = subprograms;
  return NULL;
}

/* The homes of what is gathered apart: where the parts of each replica come to, then the own ones. */
static zb_plan_slice place_gathered(const replication *it, zb_plan_rank *rank, const zb_plan_job *job) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const uint32_t begin = rank->pool_range_count, count = collective->sizes.count;
  for (int m = 0; m < it->replicas; ++m)
    for (uint32_t p = 0; p < count; ++p) {
      zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
      part.offset += (uint64_t)m * part.bytes;
      part.bytes *= (uint64_t)parts_of(it, collective, m);
      rank->pool_ranges[rank->pool_range_count++] = part;
    }
  for (uint32_t p = 0; p < count; ++p)
    rank->pool_ranges[rank->pool_range_count++] = rank->pool_ranges[job->parts.begin + count + p];
  return (zb_plan_slice){begin, rank->pool_range_count - begin};
}

/* The homes of what a collective of parts moves, behind those that the rank has. */
static zb_plan_slice place_parts(const replication *it, zb_plan_rank *rank, const zb_plan_job *job, int replica) {
  const zb_plan_collective *collective = &it->from->collectives[job->collective - 1];
  const bool adds = zb_collective_adds(collective->kind);
  const uint32_t begin = rank->pool_range_count;
  if (collective->apart) return place_gathered(it, rank, job);
  for (int m = 0; m < (collective->coordinate && !adds ? it->replicas : 1); ++m)
    for (uint32_t p = 0; p < job->parts.count; ++p) {
      zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
      const bool buffer = adds && p < collective->sizes.count;
      const int behind = adds ? 0 : collective->coordinate ? m : replica;
      if (!adds && in_parts(it->from, rank, part.offset, part.bytes)) part.offset += (uint64_t)behind * part.bytes;
      if (buffer) part.bytes *= (uint64_t)it->replicas;
      rank->pool_ranges[rank->pool_range_count++] = part;
    }
  return (zb_plan_slice){begin, rank->pool_range_count - begin};
}

/* What the parts of collectives with one list became; collective: 1 + the last that had it. */
typedef struct placed_list {
  int collective;
  zb_plan_slice parts;
} placed_list;

/* Whether the list of a job was placed before, for a collective that moves the same; else it is now. */
static bool was_placed(const replication *it, placed_list *lists, const zb_plan_job *job) {
  const zb_plan_collective *all = it->from->collectives;
  placed_list *list = &lists[job->parts.begin];
  if (list->collective && zb_collective_moves_alike(&all[list->collective - 1], &all[job->collective - 1])) return true;
  list->collective = job->collective;
  return false;
}

static bool has_parts(const replication *it, const zb_plan_job *job) {
  return job->collective && it->from->collectives[job->collective - 1].of_parts;
}

/* Equal lists of collectives that are alike stay one. */
static zb_status place_all_parts(const replication *it, zb_plan_rank *rank, int replica) {
  const size_t list_bytes = ((size_t)rank->pool_range_count + 1) * sizeof(placed_list);
  size_t ranges = rank->pool_range_count;
  placed_list *lists = zb_alloc(list_bytes);
  for (int i = 0; i < rank->job_count && lists; ++i)
    if (has_parts(it, &rank->jobs[i]) && !was_placed(it, lists, &rank->jobs[i]))
      ranges += (size_t)it->replicas * rank->jobs[i].parts.count;
  zb_plan_range *pool = zb_plan_alloc(it->to, (ranges + 1) * sizeof *pool);
  if (!pool || !lists) {
    zb_free(lists);
    return ZB_OUT_OF_MEMORY();
  }
  memset(lists, 0, list_bytes); /* now they are placed */
  if (rank->pool_range_count) memcpy(pool, rank->pool_ranges, rank->pool_range_count * sizeof *pool);
  rank->pool_ranges = pool;
  for (int i = 0; i < rank->job_count; ++i) {
    zb_plan_job *job = &rank->jobs[i];
    if (!has_parts(it, job)) continue;
    placed_list *list = &lists[job->parts.begin];
    if (!was_placed(it, lists, job)) list->parts = place_parts(it, rank, job, replica);
    job->parts = list->parts;
  }
  ZB_ASSERT(rank->pool_range_count <= ranges);
  zb_free(lists);
  return NULL;
}

/* ---- Ranks ---- */

static zb_status replicate_rank(const replication *it, int r, int replica) {
  const zb_plan_rank *from = &it->from->ranks[r];
  zb_plan_rank *rank = &it->to->ranks[rank_at(it, r, replica)];
  *rank = *from;
  rank->rank = rank_at(it, r, replica);
  const bool shares = it->from->sharding != ZB_SHARDING_NONE;
  if (replica > 0 || shares) ZB_TRY(disown_parameters(it->to, rank, replica));
  if (!from->jobs) return NULL; /* not read */
  rank->jobs = zb_plan_alloc(it->to, ((size_t)from->job_count + 1) * sizeof *rank->jobs);
  if (!rank->jobs) return ZB_OUT_OF_MEMORY();
  if (from->job_count) memcpy(rank->jobs, from->jobs, (size_t)from->job_count * sizeof *rank->jobs);
  if (shares) ZB_TRY(place_all_parts(it, rank, replica));
  if (shares && replica > 0) ZB_TRY(move_optimizer(it->to, rank, replica));
  for (int i = 0; i < from->job_count; ++i) {
    zb_plan_job *job = &rank->jobs[i];
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
  ZB_ASSERT(!plan->derived.mesh && !plan->derived.shard_mesh); /* replicas come first */
  replication it = {.from = plan, .to = zb_plan_create_like(plan), .replicas = replicas ? replicas : plan->replicas};
  if (!it.to) return ZB_OUT_OF_MEMORY();
  if ((int64_t)plan->rank_count * it.replicas > INT32_MAX || (int64_t)plan->micro_batches * it.replicas > INT32_MAX)
    ZB_TRY_GOTO(ZB_ERROR(INVALID, "%d replicas of %d ranks and %d micro-batches are more than 2^31", it.replicas,
                         plan->rank_count, plan->micro_batches));
  it.to->replicas = 1;
  it.to->derived.mesh = it.replicas;
  it.to->derived.parts = plan->sharding != ZB_SHARDING_NONE ? plan->replicas : 0;
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
