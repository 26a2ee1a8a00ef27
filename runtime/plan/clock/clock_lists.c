/* The lists of a mesh (clock_lists.h).
 *
 * Two replicas of two shards have every kind of job that more of them have: a sum over k members is expanded for two
 * (expand.c), and what stands for one message of a phase there stands for k - 1 here, each of which takes what it takes
 * with k members (timed_members). So the lists of replica 0, shard 0 are those of all, but for the jobs that shard 0
 * does for the others.
 *
 * Ranks run their lists in order and wait for what other ranks post, and sums join equal places of equal lists. So an
 * order of all jobs of one replica in which each comes behind what it waits for is one for all replicas together.
 * Tests: test/runtime/exec/clocks_test.c, test/e2e/mesh.py. */
#include "runtime/plan/clock/clock_lists.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

#include <math.h>
#include <string.h>

/* A job of replica 0, shard 0 of a rank, or the two posts of a phase. */
typedef struct item {
  zb_clock_node node;
  bool beside;
} item;
typedef ZB_LIST(item) items;

typedef struct builder {
  zb_clock_lists *out;
  const zb_plan *plan; /* two replicas, two shards, expanded */
  int *transfer_of;    /* [message] of the pipeline; -1 */
  int *channel_of;     /* [source * ranks + destination] of the pipeline; -1 */
  items *ranks;        /* [rank] */
  int *posted;         /* [transfer] posts that are in the order; there at `needed` */
  bool fits;
} builder;

static int side(const zb_plan *plan) { return zb_plan_mesh(plan) * zb_plan_shard_mesh(plan); }

static zb_clock_axis axis_of(const zb_plan *plan, const zb_plan_message *message) {
  if (zb_plan_rank_in_replica(plan, message->source) != zb_plan_rank_in_replica(plan, message->destination))
    return ZB_CLOCK_PIPELINE;
  return zb_plan_replica_of(plan, message->source) != zb_plan_replica_of(plan, message->destination) ? ZB_CLOCK_REPLICAS
                                                                                                     : ZB_CLOCK_SHARDS;
}

static zb_status add_transfer(builder *it, zb_clock_axis axis, int channel, const zb_plan_message *message,
                              int *out_index) {
  const double moving = (double)zb_plan_timed_bytes(message) * it->plan->link_ps_per_byte;
  const zb_clock_transfer transfer = {
      .axis = axis, .takes_ps = it->plan->link_latency_ps + llround(moving), .channel = channel};
  *out_index = (int)it->out->transfers.count;
  it->out->bound_ps += (double)transfer.takes_ps + (double)it->plan->link_wake_ps;
  return ZB_PUSH(&it->out->memory, &it->out->transfers, transfer) ? NULL : ZB_OUT_OF_MEMORY();
}

/* A message of the pipeline: both of its sides name one transfer. */
static zb_status transfer_of_message(builder *it, int index, int *out_index) {
  const zb_plan_message *message = &it->plan->messages[index];
  int *known = &it->transfer_of[index];
  const int source = zb_plan_rank_in_replica(it->plan, message->source);
  int *channel =
      &it->channel_of[source * it->out->rank_count + zb_plan_rank_in_replica(it->plan, message->destination)];
  if (*channel < 0) *channel = it->out->channels++;
  if (*known < 0) ZB_TRY(add_transfer(it, ZB_CLOCK_PIPELINE, *channel, message, known));
  *out_index = *known;
  return NULL;
}

/* ---- Items of a rank ---- */

/* What the waits of a rank's jobs refer to. */
typedef struct place {
  int transfer; /* of a post; -1 */
  bool sends;
} place;

static zb_status push_wait(builder *it, zb_clock_node *node, place waited) {
  zb_clock_lists *out = it->out;
  zb_clock_wait *last = node->wait_count > 0 ? &out->waits.items[out->waits.count - 1] : NULL;
  if (last && last->transfer == waited.transfer) { /* of one phase, in its order */
    last->sends |= waited.sends;
    last->receives |= !waited.sends;
    return NULL;
  }
  if (node->wait_count++ == 0) node->first_wait = out->waits.count;
  ++out->transfers.items[waited.transfer].waits;
  return ZB_PUSH(&out->memory, &out->waits, (zb_clock_wait){waited.transfer, waited.sends, !waited.sends})
             ? NULL
             : ZB_OUT_OF_MEMORY();
}

static zb_status add_waits(builder *it, const zb_plan_rank *rank, const zb_plan_job *job, const place *places,
                           zb_clock_node *node) {
  for (uint32_t w = 0; w < job->waits.count; ++w)
    ZB_TRY(push_wait(it, node, places[rank->pool_u32[job->waits.begin + w]]));
  return NULL;
}

/* A post of a phase over replicas or shards; the phase has two, one behind the other. */
static zb_status add_phase_post(builder *it, int r, const zb_plan_rank *rank, int index, place *places, item *made,
                                bool *out_is_second) {
  const zb_plan_job *job = &rank->jobs[index], *before = index > 0 ? job - 1 : NULL;
  const zb_plan_message *message = &it->plan->messages[job->message];
  const bool follows = before && before->message >= 0 && before->kind != job->kind &&
                       it->plan->messages[before->message].derived.part_of == message->derived.part_of;
  const bool precedes = index + 1 < rank->job_count && job[1].message >= 0 && job[1].kind != job->kind &&
                        it->plan->messages[job[1].message].derived.part_of == message->derived.part_of;
  it->fits &= message->derived.part_of > 0 && follows != precedes;
  *out_is_second = follows;
  if (follows && it->fits) {
    places[index].transfer = places[index - 1].transfer;
    return NULL;
  }
  const zb_clock_axis axis = axis_of(it->plan, message);
  /* What replicas gather they post in line with the rest. Where that takes time each channel is free at another one,
   * of which the clocks keep one a member. */
  it->fits &= job->derived.beside ? axis != ZB_CLOCK_PIPELINE : axis != ZB_CLOCK_REPLICAS || it->plan->job_ps == 0;
  ZB_TRY(add_transfer(it, axis, job->derived.beside ? it->out->rank_count + r : r, message, &places[index].transfer));
  it->out->transfers.items[places[index].transfer].beside = job->derived.beside;
  made->node.kind = ZB_CLOCK_POST;
  made->node.transfer = places[index].transfer;
  return NULL;
}

static zb_status add_job(builder *it, int r, const zb_plan_rank *rank, int index, place *places, bool *ran) {
  const zb_plan_job *job = &rank->jobs[index];
  item made = {.node = {.kind = ZB_CLOCK_RUN, .rank = r, .second = job->derived.beside}, .beside = job->derived.beside};
  bool is_second_post = false;
  it->fits &= job->kind != ZB_JOB_VERDICT && job->kind != ZB_JOB_SNAPSHOT;
  if (job->message >= 0) {
    places[index].sends = job->kind == ZB_JOB_SEND;
    if (axis_of(it->plan, &it->plan->messages[job->message]) == ZB_CLOCK_PIPELINE) {
      it->fits &= !job->derived.beside;
      ZB_TRY(transfer_of_message(it, job->message, &places[index].transfer));
      made.node.kind = ZB_CLOCK_POST;
      made.node.transfer = places[index].transfer;
    } else {
      ZB_TRY(add_phase_post(it, r, rank, index, places, &made, &is_second_post));
    }
  }
  if (is_second_post) return NULL;
  if (job->subprogram >= 0) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[job->subprogram];
    const bool first = !ran[job->subprogram] && subprogram->first_ps;
    ran[job->subprogram] = true;
    made.node.computes = true;
    made.node.time_ps = first ? subprogram->first_ps : subprogram->time_ps;
    made.node.key = zb_delay_key(job->subprogram, job->micro_batch);
  }
  if (job->kind == ZB_JOB_READ) made.node.time_ps = it->plan->read_ps;
  made.node.one_shard = job->kind == ZB_JOB_REPORT && job->micro_batch >= 0 && zb_plan_shard_mesh(it->plan) > 1;
  it->out->bound_ps += (double)made.node.time_ps + (double)it->plan->job_ps;
  if (made.beside) made.node.passed = it->out->passed++;
  ZB_TRY(add_waits(it, rank, job, places, &made.node));
  return ZB_PUSH(&it->out->memory, &it->ranks[r], made) ? NULL : ZB_OUT_OF_MEMORY();
}

/* What the rank waits for behind its last job: what it posted, in the order of its list; but what its jobs have waited
 * for is complete. */
static zb_status add_end(builder *it, int r, const zb_plan_rank *rank, const place *places) {
  zb_clock_lists *out = it->out;
  item end = {.node = {.kind = ZB_CLOCK_END, .rank = r}};
  unsigned char *waited = zb_alloc(out->transfers.count + 1); /* bits: its sends, its receives */
  if (!waited) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < it->ranks[r].count; ++i) {
    const zb_clock_node *node = &it->ranks[r].items[i].node;
    for (size_t w = 0; w < node->wait_count && !node->second && !node->one_shard; ++w) {
      const zb_clock_wait *wait = &out->waits.items[node->first_wait + w];
      waited[wait->transfer] |= (unsigned char)(wait->sends | wait->receives << 1);
    }
  }
  zb_status status = NULL;
  for (int i = rank->load_count; i < zb_plan_step_end(rank) && !status; ++i)
    if (places[i].transfer >= 0 && !(waited[places[i].transfer] & (places[i].sends ? 1 : 2)))
      status = push_wait(it, &end.node, places[i]);
  zb_free(waited);
  if (!status && !ZB_PUSH(&out->memory, &it->ranks[r], end)) status = ZB_OUT_OF_MEMORY();
  return status;
}

static zb_status add_rank(builder *it, int r) {
  const zb_plan_rank *rank = &it->plan->ranks[r * side(it->plan)];
  zb_status status = NULL;
  place *places = zb_alloc(((size_t)rank->job_count + 1) * sizeof *places);
  bool *ran = zb_alloc((size_t)rank->subprogram_count + 1);
  if (!places || !ran) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0; i < rank->job_count; ++i)
    places[i].transfer = -1;
  for (int i = rank->load_count; i < zb_plan_step_end(rank) && it->fits; ++i)
    ZB_TRY_GOTO(add_job(it, r, rank, i, places, ran));
  if (it->fits) ZB_TRY_GOTO(add_end(it, r, rank, places));
cleanup:
  zb_free(places);
  zb_free(ran);
  return status;
}

/* ---- One order of all ---- */

/* How many posts a transfer needs: both sides of a message; a phase is one node. */
static int posts_of(const zb_clock_transfer *transfer) { return transfer->axis == ZB_CLOCK_PIPELINE ? 2 : 1; }

static bool can_run(const builder *it, const zb_clock_node *node) {
  for (size_t w = 0; w < node->wait_count; ++w) {
    const int transfer = it->out->waits.items[node->first_wait + w].transfer;
    if (it->posted[transfer] < posts_of(&it->out->transfers.items[transfer])) return false;
  }
  return true;
}

static zb_status put(builder *it, const zb_clock_node *node) {
  if (node->kind == ZB_CLOCK_POST) ++it->posted[node->transfer];
  return ZB_PUSH(&it->out->memory, &it->out->nodes, *node) ? NULL : ZB_OUT_OF_MEMORY();
}

/* The next jobs of a clock of a rank, as far as they can run. limit: of the second clock, where the rank is. */
static zb_status put_some(builder *it, int r, bool second, size_t limit, size_t *at) {
  for (; *at < limit; ++*at) {
    const item *next = &it->ranks[r].items[*at];
    zb_clock_node node = next->node;
    if (second && !next->beside) continue;
    if (!second && next->beside) {
      node = (zb_clock_node){.kind = ZB_CLOCK_PASS, .rank = r, .passed = next->node.passed};
    } else if (!can_run(it, &next->node)) {
      return NULL;
    }
    ZB_TRY(put(it, &node));
  }
  return NULL;
}

static zb_status put_all(builder *it) {
  zb_status status = NULL;
  const int ranks = it->out->rank_count;
  size_t *next = zb_alloc(2 * ((size_t)ranks + 1) * sizeof *next), before;
  it->posted = zb_alloc((it->out->transfers.count + 1) * sizeof *it->posted);
  if (!next || !it->posted) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  do {
    before = it->out->nodes.count;
    for (int r = 0; r < ranks; ++r) {
      ZB_TRY_GOTO(put_some(it, r, false, it->ranks[r].count, &next[r]));
      ZB_TRY_GOTO(put_some(it, r, true, next[r], &next[ranks + r]));
    }
  } while (it->out->nodes.count > before);
  for (int r = 0; r < ranks; ++r) /* a plan that hangs is for who runs all ranks, and tells why */
    it->fits &= next[r] == it->ranks[r].count && next[ranks + r] == it->ranks[r].count;
cleanup:
  zb_free(next);
  zb_free(it->posted);
  return status;
}

/* ---- The lists ---- */

static zb_status build(const zb_plan *plan, zb_clock_lists *out, bool *out_fits) {
  zb_status status = NULL;
  const int ranks = out->rank_count = plan->rank_count / side(plan);
  builder it = {.out = out, .plan = plan, .fits = true};
  ZB_TAKE(&out->memory, it.ranks, ranks);
  it.transfer_of = zb_alloc(((size_t)plan->message_count + 1) * sizeof *it.transfer_of);
  it.channel_of = zb_alloc((size_t)ranks * (size_t)ranks * sizeof *it.channel_of);
  if (!it.transfer_of || !it.channel_of) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  memset(it.transfer_of, -1, ((size_t)plan->message_count + 1) * sizeof *it.transfer_of);
  memset(it.channel_of, -1, (size_t)ranks * (size_t)ranks * sizeof *it.channel_of);
  ZB_TRY_GOTO(zb_arena_status(&out->memory));
  for (int r = 0; r < ranks && it.fits; ++r)
    ZB_TRY_GOTO(add_rank(&it, r));
  if (it.fits) ZB_TRY_GOTO(put_all(&it));
  *out_fits = it.fits;
cleanup:
  zb_free(it.transfer_of);
  zb_free(it.channel_of);
  return status;
}

zb_status zb_clock_lists_init(const zb_plan *plan, zb_clock_lists *out, bool *out_fits) {
  zb_plan *replicas = NULL, *shards = NULL, *expanded = NULL;
  zb_status status = NULL;
  *out = (zb_clock_lists){0};
  *out_fits = false;
  if (plan->link_copies || zb_plan_replicas(plan) * zb_plan_shards(plan) < 2) return NULL;
  ZB_TRY_GOTO(zb_plan_replicate(plan, 2, &replicas));
  const zb_plan *step = replicas ? replicas : plan;
  ZB_TRY_GOTO(zb_plan_shard(step, 2, &shards));
  if (shards) step = shards;
  ZB_TRY_GOTO(zb_plan_expand(step, &expanded));
  ZB_TRY_GOTO(build(expanded ? expanded : step, out, out_fits));
cleanup:
  zb_plan_destroy(expanded);
  zb_plan_destroy(shards);
  zb_plan_destroy(replicas);
  return status;
}

void zb_clock_lists_deinit(zb_clock_lists *lists) {
  zb_arena_deinit(&lists->memory);
  *lists = (zb_clock_lists){0};
}
