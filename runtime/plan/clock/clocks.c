/* A mesh on a virtual clock (clocks.h).
 *
 * All replicas and shards of a plan run the same lists, so the jobs of one, in an order in which each comes behind what
 * it waits for (clock_lists.h), are run for all of them together: a clock is an array of times, one a replica and shard
 * (a lane), and a job adds to it. What a message or a sum waits for is the maximum over its sides. No order of time is
 * needed: which message goes first on a channel is fixed by the lists.
 *
 * In a phase of a sum every member sends to every other. A message moves when both sides are posted and its channel is
 * free, so that from a to b is complete at max(v(a), v(b)) + takes, where v is when a member posts, or when its
 * channels are free: a channel that such a message leaves is free at the same maximum of v + takes. Who waits for all
 * its messages of a phase so waits for max(v) + takes, once for all members. Only where a rank takes time to post
 * (job_ps), or to go on after a wait (link_wake_ps), it matters in which order it does both, and pairs are looked at.
 *
 * The numbers are those of zb_plan_simulate and of the device sim, to the picosecond. Tests:
 * test/runtime/exec/clocks_test.c, test/e2e/mesh.py. */
#include "runtime/plan/clock/clocks.h"

#include <string.h>

#include "runtime/plan/clock/clock_lists.h"
#include "runtime/plan/clock/simulator.h"

typedef struct transfer_state {
  int posts, waits; /* in this step, so far */
  int64_t *at;      /* [lane] of a message: when its first side was posted, then when it is complete; of a phase: v, or,
                       where no pairs are looked at, when all is complete */
  int64_t *last;    /* [lane] of a phase whose pairs are looked at: when the last message of any member is complete */
} transfer_state;

struct zb_clocks {
  zb_clock_lists lists;
  zb_delays delays;
  zb_arena memory;
  int replicas, shards;    /* of the plan */
  int kept, lanes;         /* replicas that are run; kept * shards */
  int64_t wake_ps, job_ps; /* of the plan */
  transfer_state *transfers;
  int64_t **now, **second; /* [rank][lane] */
  int64_t **over_replicas; /* [2 * ranks][lane] when their channels are free, of the first clocks, then of the second */
  int64_t **channels;      /* [channel][lane] */
  int64_t **passed;        /* [job that is passed][lane] when; while it has not run */
  int64_t **began, **compute, **waiting;
  uint64_t **draws_of;              /* [rank] */
  int64_t ends[ZB_STEPS_IN_FLIGHT]; /* of the last steps */
  ZB_LIST(int64_t *) spare;         /* arrays of lanes that nobody uses */
};

/* ---- Arrays of lanes ---- */

static int64_t *take_lanes(zb_clocks *it) {
  if (it->spare.count > 0) return it->spare.items[--it->spare.count];
  return zb_arena_take(&it->memory, (size_t)it->lanes, sizeof(int64_t));
}

/* The list has room for every array that there is once it grew so far; where it cannot, the array is lost until the
 * end.
 */
static void give_lanes(zb_clocks *it, int64_t **lanes) {
  if (*lanes) (void)ZB_PUSH(&it->memory, &it->spare, *lanes);
  *lanes = NULL;
}

static int64_t **take_ranks(zb_clocks *it, int count) {
  int64_t **all;
  ZB_TAKE(&it->memory, all, count + 1);
  for (int i = 0; i < count && all; ++i)
    all[i] = take_lanes(it);
  return all;
}

/* ---- Making and releasing ---- */

static zb_status clocks_init(zb_clocks *it, const zb_plan *plan, const zb_delays *delays) {
  it->delays = *delays;
  it->replicas = zb_plan_replicas(plan);
  it->shards = zb_plan_shards(plan);
  it->kept = delays->seed ? it->replicas : 1;
  it->lanes = it->kept * it->shards;
  it->wake_ps = plan->link_wake_ps;
  it->job_ps = plan->job_ps;
  const int ranks = it->lists.rank_count;
  ZB_TAKE(&it->memory, it->transfers, it->lists.transfers.count + 1);
  it->now = take_ranks(it, ranks);
  it->second = take_ranks(it, ranks);
  it->over_replicas = take_ranks(it, 2 * ranks);
  it->began = take_ranks(it, ranks);
  it->compute = take_ranks(it, ranks);
  it->waiting = take_ranks(it, ranks);
  it->channels = take_ranks(it, it->lists.channels);
  ZB_TAKE(&it->memory, it->passed, it->lists.passed + 1);
  it->draws_of = NULL;
  if (delays->seed) ZB_TAKE(&it->memory, it->draws_of, ranks);
  for (int r = 0; r < ranks && it->draws_of; ++r)
    ZB_TAKE(&it->memory, it->draws_of[r], it->lanes);
  return zb_arena_status(&it->memory);
}

zb_status zb_clocks_create(const zb_plan *plan, const zb_delays *delays, zb_clocks **out) {
  bool fits = false;
  *out = NULL;
  zb_clocks *clocks = zb_alloc(sizeof *clocks);
  if (!clocks) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_clock_lists_init(plan, &clocks->lists, &fits);
  if (!status && fits) status = clocks_init(clocks, plan, delays);
  if (!status && fits)
    *out = clocks;
  else
    zb_clocks_destroy(clocks);
  return status;
}

void zb_clocks_destroy(zb_clocks *clocks) {
  if (!clocks) return;
  zb_clock_lists_deinit(&clocks->lists);
  zb_arena_deinit(&clocks->memory);
  zb_free(clocks);
}

/* ---- Waiting ---- */

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* A rank that waits goes on wake_ps after what it waited for. */
static int64_t wait_until(int64_t now, int64_t complete, int64_t wake_ps) {
  return complete > now ? complete + wake_ps : now;
}

/* waiting: how long; NULL: nobody counts. */
static void wait_lanes(const zb_clocks *it, const int64_t *complete, int64_t *now, int64_t *waiting, int step) {
  for (int i = 0; i < it->lanes; i += step) {
    const int64_t until = wait_until(now[i], complete[i], it->wake_ps);
    if (waiting) waiting[i] += until - now[i];
    now[i] = until;
  }
}

/* The members of a phase: those of a lane are `stride` apart, from `first` on. */
typedef struct members {
  int count, kept, stride;
} members;

static members members_of(const zb_clocks *it, zb_clock_axis axis) {
  if (axis == ZB_CLOCK_SHARDS) return (members){it->shards, it->shards, 1};
  return (members){it->replicas, it->kept, it->shards};
}

static int member_of(const zb_clocks *it, zb_clock_axis axis, int lane) {
  return axis == ZB_CLOCK_SHARDS ? lane % it->shards : lane / it->shards;
}

/* When the message of a round from one member to another is complete. A member posts two a round, that of the lower
 * source first (expand.h). v: of member 0 of the group. */
static int64_t pair_complete(const int64_t *v, members all, int64_t takes_ps, int64_t post_ps, int round, int source) {
  const int before = 2 * (round - 1);
  const int destination = source + round < all.count ? source + round : source + round - all.count;
  const int64_t sends = v[(ptrdiff_t)source * all.stride] + post_ps * (before + (source >= round));
  const int64_t receives = v[(ptrdiff_t)destination * all.stride] + post_ps * (before + (destination < round));
  return most(sends, receives) + takes_ps;
}

/* One member waits for messages of a phase, one after the other in the order in which it posted them. */
static int64_t wait_for_pairs(const zb_clocks *it, const zb_clock_wait *wait, int lane, int64_t now, int64_t post_ps) {
  const zb_clock_transfer *transfer = &it->lists.transfers.items[wait->transfer];
  const transfer_state *state = &it->transfers[wait->transfer];
  const members all = members_of(it, transfer->axis);
  const int own = member_of(it, transfer->axis, lane);
  const int64_t *v = state->at + (lane - own * all.stride);
  if (all.kept == 1) return wait_until(now, state->at[lane] + transfer->takes_ps, it->wake_ps); /* all are equal */
  for (int round = 1; round < all.count && now < state->last[lane]; ++round) {
    const int source = own >= round ? own - round : own - round + all.count;
    for (int second = 0; second < 2; ++second) {
      const bool sends = (own < source) == (second == 0);
      if (sends ? !wait->sends : !wait->receives) continue;
      const int64_t complete = pair_complete(v, all, transfer->takes_ps, post_ps, round, sends ? own : source);
      now = wait_until(now, complete, it->wake_ps);
    }
  }
  return now;
}

/* What a member takes for each post of a phase: on the second clock nothing. */
static int64_t post_ps_of(const zb_clocks *it, const zb_clock_transfer *transfer) {
  return transfer->axis == ZB_CLOCK_SHARDS && !transfer->beside ? it->job_ps : 0;
}

static bool looks_at_pairs(const zb_clocks *it, const zb_clock_transfer *transfer) {
  return it->wake_ps > 0 || post_ps_of(it, transfer) > 0;
}

static void wait_for(zb_clocks *it, const zb_clock_node *node, const zb_clock_wait *wait, int64_t *now,
                     int64_t *waiting) {
  const zb_clock_transfer *transfer = &it->lists.transfers.items[wait->transfer];
  transfer_state *state = &it->transfers[wait->transfer];
  const int step = node->one_shard ? it->shards : 1;
  if (transfer->axis == ZB_CLOCK_PIPELINE || !looks_at_pairs(it, transfer)) {
    wait_lanes(it, state->at, now, waiting, step);
  } else {
    for (int i = 0; i < it->lanes; i += step) {
      const int64_t until = wait_for_pairs(it, wait, i, now[i], post_ps_of(it, transfer));
      if (waiting) waiting[i] += until - now[i];
      now[i] = until;
    }
  }
  if (++state->waits < transfer->waits) return;
  give_lanes(it, &state->at);
  give_lanes(it, &state->last);
}

/* ---- Posting ---- */

/* One side of a message; with the second its time is known. */
static zb_status post_message(zb_clocks *it, int index, const int64_t *now) {
  const zb_clock_transfer *transfer = &it->lists.transfers.items[index];
  transfer_state *state = &it->transfers[index];
  int64_t *channel = it->channels[transfer->channel];
  if (++state->posts == 1) {
    state->at = take_lanes(it);
    if (!state->at) return ZB_OUT_OF_MEMORY();
    memcpy(state->at, now, (size_t)it->lanes * sizeof *now);
    return NULL;
  }
  for (int i = 0; i < it->lanes; ++i)
    state->at[i] = channel[i] = most(most(state->at[i], now[i]), channel[i]) + transfer->takes_ps;
  if (transfer->waits == 0) give_lanes(it, &state->at);
  return NULL;
}

/* The greatest v of each group, as out[lane]. */
static void find_most(const zb_clocks *it, zb_clock_axis axis, const int64_t *v, int64_t *out) {
  const members all = members_of(it, axis);
  for (int first = 0; first < it->lanes && axis == ZB_CLOCK_SHARDS; first += all.count) {
    int64_t greatest = v[first];
    for (int k = 1; k < all.count; ++k)
      greatest = most(greatest, v[first + k]);
    for (int k = 0; k < all.count; ++k)
      out[first + k] = greatest;
  }
  if (axis == ZB_CLOCK_SHARDS) return;
  memcpy(out, v, (size_t)it->shards * sizeof *v);
  for (int first = it->shards; first < it->lanes; first += it->shards)
    for (int s = 0; s < it->shards; ++s)
      out[s] = most(out[s], v[first + s]);
  for (int first = it->shards; first < it->lanes; first += it->shards)
    memcpy(out + first, out, (size_t)it->shards * sizeof *v);
}

/* All posts of all members in a phase. */
static zb_status post_phase(zb_clocks *it, int index, const int64_t *now) {
  const zb_clock_transfer *transfer = &it->lists.transfers.items[index];
  transfer_state *state = &it->transfers[index];
  const int posts = 2 * (members_of(it, transfer->axis).count - 1);
  const int64_t posting_ps = posts * post_ps_of(it, transfer);
  int64_t *v = take_lanes(it), *last = take_lanes(it);
  state->at = v;
  state->last = last;
  if (!v || !last) return ZB_OUT_OF_MEMORY();
  memcpy(v, now, (size_t)it->lanes * sizeof *v);
  if (transfer->axis == ZB_CLOCK_REPLICAS) {
    int64_t *channel = it->over_replicas[transfer->channel];
    for (int i = 0; i < it->lanes; ++i) {
      v[i] = most(v[i], channel[i]);
      channel[i] = v[i] + transfer->takes_ps;
    }
  } /* shards wait for all of a phase before they post the next one: their channels are free */
  find_most(it, transfer->axis, v, last);
  for (int i = 0; i < it->lanes; ++i)
    last[i] += transfer->takes_ps + posting_ps;
  if (!looks_at_pairs(it, transfer)) { /* then posting takes no time */
    state->at = last;
    state->last = NULL;
    give_lanes(it, &v);
  }
  if (transfer->waits > 0) return NULL;
  give_lanes(it, &state->at);
  give_lanes(it, &state->last);
  return NULL;
}

/* ---- Jobs ---- */

static void compute(const zb_clocks *it, const zb_clock_node *node, int64_t *now) {
  int64_t *sum = it->compute[node->rank];
  const uint64_t *draws = it->draws_of ? it->draws_of[node->rank] : NULL;
  if (node->time_ps == 0) return;
  for (int i = 0; i < it->lanes; ++i) {
    const int64_t late = draws ? zb_delay_ps(draws[i], node->key, it->delays.spread, node->time_ps) : 0;
    now[i] += node->time_ps + late;
    sum[i] += node->time_ps + late;
  }
}

static void add_time(const zb_clocks *it, int64_t *now, int64_t time_ps, int step) {
  for (int i = 0; i < it->lanes && time_ps > 0; i += step)
    now[i] += time_ps;
}

/* A job of the rank itself. */
static zb_status run_first(zb_clocks *it, const zb_clock_node *node) {
  int64_t *now = it->now[node->rank];
  const int step = node->one_shard ? it->shards : 1;
  for (size_t w = 0; w < node->wait_count; ++w)
    wait_for(it, node, &it->lists.waits.items[node->first_wait + w], now, it->waiting[node->rank]);
  if (node->kind == ZB_CLOCK_END) return NULL;
  if (node->kind == ZB_CLOCK_POST) {
    const zb_clock_axis axis = it->lists.transfers.items[node->transfer].axis;
    const int posts = axis == ZB_CLOCK_PIPELINE ? 1 : 2 * (members_of(it, axis).count - 1);
    ZB_TRY(axis == ZB_CLOCK_PIPELINE ? post_message(it, node->transfer, now) : post_phase(it, node->transfer, now));
    add_time(it, now, posts * it->job_ps, 1);
    return NULL;
  }
  if (node->computes)
    compute(it, node, now);
  else
    add_time(it, now, node->time_ps, step);
  add_time(it, now, it->job_ps, step);
  return NULL;
}

/* A job of its second clock. */
static zb_status run_second(zb_clocks *it, const zb_clock_node *node) {
  int64_t *now = it->second[node->rank], *passed = it->passed[node->passed];
  for (int i = 0; i < it->lanes; ++i)
    now[i] = most(now[i], passed[i]);
  give_lanes(it, &it->passed[node->passed]);
  for (size_t w = 0; w < node->wait_count; ++w)
    wait_for(it, node, &it->lists.waits.items[node->first_wait + w], now, NULL);
  if (node->kind == ZB_CLOCK_POST) return post_phase(it, node->transfer, now);
  compute(it, node, now);
  return NULL;
}

static zb_status pass(zb_clocks *it, const zb_clock_node *node) {
  int64_t *passed = it->passed[node->passed] = take_lanes(it);
  if (!passed) return ZB_OUT_OF_MEMORY();
  memcpy(passed, it->now[node->rank], (size_t)it->lanes * sizeof *passed);
  return NULL;
}

/* ---- Steps ---- */

static void begin(zb_clocks *it, int64_t step, bool follows) {
  const size_t bytes = (size_t)it->lanes * sizeof(int64_t);
  const int64_t gate = it->ends[ZB_STEPS_IN_FLIGHT - 1];
  for (int r = 0; r < it->lists.rank_count; ++r) {
    memset(it->compute[r], 0, bytes);
    memset(it->waiting[r], 0, bytes);
    if (follows) memcpy(it->began[r], it->now[r], bytes);
    for (int i = 0; i < it->lanes && follows; ++i)
      it->now[r][i] = most(it->now[r][i], gate);
    if (!follows) {
      memset(it->began[r], 0, bytes);
      memset(it->now[r], 0, bytes);
      memset(it->second[r], 0, bytes);
      memset(it->over_replicas[r], 0, bytes);
      memset(it->over_replicas[it->lists.rank_count + r], 0, bytes);
    }
    for (int i = 0; i < it->lanes && it->draws_of; ++i)
      it->draws_of[r][i] = zb_delays_of_rank(&it->delays, step, r * it->lanes + i);
  }
  for (int c = 0; c < it->lists.channels && !follows; ++c)
    memset(it->channels[c], 0, bytes);
  if (!follows) memset(it->ends, 0, sizeof it->ends);
  for (size_t t = 0; t < it->lists.transfers.count; ++t)
    it->transfers[t].posts = it->transfers[t].waits = 0;
}

zb_status zb_clocks_step(zb_clocks *clocks, int64_t step, bool follows) {
  const double bound = clocks->lists.bound_ps * (1 + clocks->delays.spread) * (2 + 2 * clocks->shards);
  if (bound + (follows ? (double)clocks->ends[0] : 0) > 9e18)
    return ZB_ERROR(INVALID, "the plan's times add up to more than 2^63 ps");
  begin(clocks, step, follows);
  for (size_t i = 0; i < clocks->lists.nodes.count; ++i) {
    const zb_clock_node *node = &clocks->lists.nodes.items[i];
    ZB_TRY(node->kind == ZB_CLOCK_PASS ? pass(clocks, node)
           : node->second              ? run_second(clocks, node)
                                       : run_first(clocks, node));
  }
  int64_t end = 0;
  for (int r = 0; r < clocks->lists.rank_count; ++r)
    for (int i = 0; i < clocks->lanes; ++i)
      end = most(end, clocks->now[r][i]);
  memmove(clocks->ends + 1, clocks->ends, (ZB_STEPS_IN_FLIGHT - 1) * sizeof *clocks->ends);
  clocks->ends[0] = end;
  return NULL;
}

zb_clocks_times zb_clocks_times_of(const zb_clocks *clocks, int rank) {
  const int each = clocks->replicas * clocks->shards, r = rank / each, lane = rank % each % clocks->lanes;
  return (zb_clocks_times){clocks->began[r][lane], clocks->now[r][lane], clocks->compute[r][lane],
                           clocks->waiting[r][lane]};
}

int64_t zb_clocks_end_ps(const zb_clocks *clocks) { return clocks->ends[0]; }
