/* Messages on a virtual clock: a transfer starts when both sides have posted, and takes latency + bytes * ps per byte
 * of the plan. With the plan's link_copies the side that posts second does it, as the transport of threads: the driver
 * asks how long that was (zb_virtual_copy_ps).
 *
 * With a seed, each message is delayed further, by up to DELAY_JOBS times the longest job, but never so that it
 * overtakes another on its channel (ordered pair of ranks and clock). Bytes are copied when the message arrives, not
 * when it is posted: a plan that overwrites a home too early computes something else here, which the bitwise comparison
 * with cpu shows. One thread only; nothing is allocated after open. Tests: test/runtime/exec.
 */
#include "runtime/transport/virtual/virtual.h"
#include "runtime/base/arena.h"
#include "runtime/base/assert.h"
#include "runtime/plan/clock/delays.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/transport/copy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DELAY_JOBS = 4, REASON_BYTES = 512 };

typedef enum state { IDLE, SENT, RECEIVING, FLYING } state;

typedef struct parcel {
  state state;
  int done;      /* how often it was complete since the last reset */
  int posted[2]; /* how often the sender and the receiver posted it since then */
  zb_transport_side from, to;
  int64_t arrival_ps; /* of the last one */
} parcel;

struct zb_transport {
  zb_arena memory; /* of the arrays */
  const zb_plan *plan;
  uint64_t seed, step;
  bool no_bytes;
  int64_t now_ps, delay_max_ps;
  int64_t copy_ps; /* what the last post took its rank */
  parcel *parcels;
  int *flying; /* messages on their way, in no order */
  int flying_count;
  int64_t *channel_ps; /* [2 * (source * ranks + destination) + beside]: last arrival, so that none overtakes */
  bool aborted;
  char reason[REASON_BYTES];
};

static void transport_close(zb_transport *transport) {
  if (!transport) return;
  zb_arena_deinit(&transport->memory);
  zb_free(transport);
}

static int64_t longest_job_ps(const zb_plan *plan) {
  int64_t longest = 0;
  for (int rank = 0; rank < plan->rank_count; ++rank)
    for (int i = 0; i < plan->ranks[rank].subprogram_count; ++i)
      if (plan->ranks[rank].subprograms[i].time_ps > longest) longest = plan->ranks[rank].subprograms[i].time_ps;
  return longest;
}

static zb_status transport_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  const zb_plan *plan = params->plan;
  size_t messages = (size_t)plan->message_count + 1, ranks = (size_t)plan->rank_count;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->plan = plan;
  transport->seed = params->seed;
  transport->no_bytes = params->no_bytes;
  transport->delay_max_ps = DELAY_JOBS * longest_job_ps(plan);
  ZB_TAKE(&transport->memory, transport->parcels, messages);
  ZB_TAKE(&transport->memory, transport->flying, messages);
  ZB_TAKE(&transport->memory, transport->channel_ps, 2 * ranks * ranks);
  zb_status status = zb_arena_status(&transport->memory);
  if (status)
    transport_close(transport);
  else
    *out = transport;
  return status;
}

static int64_t delay_ps(const zb_transport *transport, int message) {
  if (transport->seed == 0 || transport->delay_max_ps <= 0) return 0;
  const uint64_t step = transport->step + (uint64_t)transport->parcels[message].done;
  uint64_t random = zb_mix64(zb_mix64(zb_mix64(transport->seed) ^ step) ^ (uint64_t)message);
  return (int64_t)(random % (uint64_t)(transport->delay_max_ps + 1));
}

/* Both sides are there. */
static void depart(zb_transport *transport, int message) {
  const zb_plan_message *m = &transport->plan->messages[message];
  parcel *p = &transport->parcels[message];
  int64_t flight =
      transport->plan->link_latency_ps + llround((double)zb_plan_timed_bytes(m) * transport->plan->link_ps_per_byte);
  const size_t pair = (size_t)m->source * (size_t)transport->plan->rank_count + (size_t)m->destination;
  int64_t *channel = &transport->channel_ps[2 * pair + zb_plan_travels_beside(transport->plan, m)];
  int64_t start = transport->now_ps;
  if (!transport->plan->link_copies && start < *channel) start = *channel; /* one at a time */
  int64_t arrival = start + flight + delay_ps(transport, message);
  if (arrival < *channel) arrival = *channel;
  *channel = arrival;
  transport->copy_ps = transport->plan->link_copies ? flight : 0;
  p->arrival_ps = arrival;
  p->state = FLYING;
  transport->flying[transport->flying_count++] = message;
}

/* Of both sides: which one follows from the rank. */
static zb_status post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                      int part_count) {
  parcel *p = &transport->parcels[message];
  bool sends = rank == transport->plan->messages[message].source;
  state side = sends ? SENT : RECEIVING;
  *(sends ? &p->from : &p->to) = (zb_transport_side){arena, parts, part_count};
  transport->copy_ps = 0;
  if (p->state == side || p->posted[!sends] > p->done)
    return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  ++p->posted[!sends];
  if (p->state == IDLE)
    p->state = side;
  else
    depart(transport, message);
  return NULL;
}

static bool transport_test(zb_transport *transport, int rank, int message) {
  const parcel *p = &transport->parcels[message];
  const int posted = p->posted[rank != transport->plan->messages[message].source];
  return posted > 0 && p->done == posted;
}

/* Only the driver can let time pass, so a wait that is not over never will be. */
static zb_status transport_wait(zb_transport *transport, int rank, int message) {
  if (transport_test(transport, rank, message)) return NULL;
  if (transport->aborted) return ZB_ERROR(PEER, "rank %d stops: %s", rank, transport->reason);
  return ZB_ERROR(TIMEOUT, "rank %d waits for message %d on a clock that stands still", rank, message);
}

static zb_status transport_reset(zb_transport *transport) {
  for (int message = 0; message < transport->plan->message_count; ++message) {
    parcel *p = &transport->parcels[message];
    if (p->state != IDLE) return ZB_ERROR(RUNTIME, "message %d is not complete at the end of a step", message);
    p->done = p->posted[0] = p->posted[1] = 0;
  }
  size_t ranks = (size_t)transport->plan->rank_count;
  memset(transport->channel_ps, 0, sizeof(int64_t) * 2 * ranks * ranks);
  transport->flying_count = 0;
  transport->now_ps = 0;
  ++transport->step;
  return NULL;
}

static void transport_abort(zb_transport *transport, int rank, const char *reason) {
  if (transport->aborted) return;
  transport->aborted = true;
  snprintf(transport->reason, sizeof transport->reason, "rank %d gave up: %s", rank, reason);
}

static int64_t complete_ps(zb_transport *transport, int rank ZB_UNUSED, int message) {
  return transport->parcels[message].arrival_ps;
}

void zb_virtual_set_time(zb_transport *transport, int64_t now_ps) {
  ZB_ASSERT(now_ps >= transport->now_ps);
  transport->now_ps = now_ps;
}

int64_t zb_virtual_copy_ps(const zb_transport *transport) { return transport->copy_ps; }

bool zb_virtual_next(const zb_transport *transport, int64_t *out_ps, int *out_message) {
  int best = -1;
  for (int i = 0; i < transport->flying_count; ++i) {
    int message = transport->flying[i];
    int64_t difference = best < 0 ? -1 : transport->parcels[message].arrival_ps - transport->parcels[best].arrival_ps;
    if (difference < 0 || (difference == 0 && message < best)) best = message; /* ties by number: deterministic */
  }
  if (best < 0) return false;
  *out_ps = transport->parcels[best].arrival_ps;
  *out_message = best;
  return true;
}

void zb_virtual_deliver(zb_transport *transport, int message) {
  parcel *p = &transport->parcels[message];
  ZB_ASSERT(p->state == FLYING);
  for (int i = 0; i < transport->flying_count; ++i) {
    if (transport->flying[i] != message) continue;
    transport->flying[i] = transport->flying[--transport->flying_count];
    break;
  }
  if (!transport->no_bytes) zb_transport_copy(&p->from, &p->to);
  p->state = IDLE;
  ++p->done;
}

const char *zb_virtual_state_text(const zb_transport *transport, int message, char *text, size_t size) {
  const zb_plan_message *m = &transport->plan->messages[message];
  static const char *const words[] = {[IDLE] = "neither side has posted it",
                                      [SENT] = "only the sender has posted it",
                                      [RECEIVING] = "only the receiver has posted it",
                                      [FLYING] = "it is on its way"};
  const parcel *p = &transport->parcels[message];
  const bool complete = p->state == IDLE && p->done > 0;
  snprintf(text, size, "message %d (rank %d to rank %d): %s", message, m->source, m->destination,
           complete ? "it is complete" : words[p->state]);
  return text;
}

const zb_transport_def zb_transport_virtual = {
    .name = "virtual",
    .summary = "messages on the virtual clock of the sim device",
    .unlisted = true,
    .open = transport_open,
    .close = transport_close,
    .post = post,
    .wait = transport_wait,
    .test = transport_test,
    .reset = transport_reset,
    .abort = transport_abort,
    .complete_ps = complete_ps,
};
