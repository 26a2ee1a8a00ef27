/* Messages between GPUs over NCCL: a communicator and a stream a channel (ordered pair of ranks), a rank a process.
 *
 * NCCL has no tags: what a communicator is given is matched in order. The plan gives both ends of a channel the same order, and a rank posts
 * in the order of its jobs, from one thread; an operation needs no buffer of NCCL to end, as the plan is proved without any. Channels are
 * numbered by their first message in the plan, and connected and warmed up in that order by all ranks, so nobody waits in a circle, and
 * no connection is built within a step.
 *
 * Communicators do not block: a call may come back while NCCL works on it, and nothing may follow on that communicator before it is done.
 * So the host can always give up: on an error, a peer that is gone or a time-out all communicators are aborted, which ends what their
 * streams hold. Sources: NCCL user guide, "Fault tolerance", "Group calls", "Point-to-point". Tests: test/runtime/device/cuda/nccl_test.c.
 */
#include "runtime/transport/nccl/nccl.h"

#include "runtime/base/clock.h"
#include "runtime/device/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* CTAS_MOST: a message must leave the multiprocessors to products. */
enum { CTAS_MOST = 4, WARM_UP_BYTES = ZB_ALIGNMENT, REASON_BYTES = 512, PAUSE_NS = 20 * 1000 };

typedef struct channel {
  int source, destination;
  ncclComm_t communicator; /* NULL: of other ranks, or aborted */
  CUstream stream;
  struct zb_nccl_id id;
} channel;

typedef struct posted {
  bool enqueued, ordered;
} posted;

struct zb_transport {
  const zb_plan *plan;
  zb_group *group;
  const zb_group_def *group_def;
  int64_t timeout_ms;
  int rank;
  zb_cuda_gpu *gpu;
  zb_device *device;
  channel *channels; /* of the whole plan, in the order of their first messages */
  int channel_count;
  int *channel_of; /* [message] */
  int *jobs;       /* zb_cuda_message_jobs */
  posted *messages;
  CUevent *done, *starts; /* [message]; starts: with a trace */
  CUdeviceptr warm_up; /* WARM_UP_BYTES a channel */
  bool aborted;
  char reason[REASON_BYTES];
};

static bool is_mine(const zb_transport *transport, const channel *c) {
  return c->source == transport->rank || c->destination == transport->rank;
}

static int peer_of(const zb_transport *transport, const channel *c) {
  return c->source == transport->rank ? c->destination : c->source;
}

/* ---- Making and ending ---- */

static void abort_all(zb_transport *transport) {
  for (int i = 0; transport->gpu && i < transport->channel_count; ++i) {
    channel *c = &transport->channels[i];
    if (c->communicator) transport->gpu->api.ncclCommAbort(c->communicator);
    c->communicator = NULL;
  }
  transport->aborted = true;
}

/* Communicators are aborted, not destroyed: a destroy may wait for peers, and after a step nothing is under way. */
static void nccl_close(zb_transport *transport) {
  if (!transport) return;
  abort_all(transport);
  if (transport->gpu) {
    const zb_cuda_gpu *gpu = transport->gpu;
    zb_cuda_gpu_quiet(transport->gpu);
    for (int i = 0; i < transport->channel_count; ++i)
      if (transport->channels[i].stream) gpu->api.cuStreamDestroy(transport->channels[i].stream);
    zb_cuda_events_destroy(gpu, transport->done, transport->plan->message_count);
    zb_cuda_events_destroy(gpu, transport->starts, transport->plan->message_count);
    if (transport->warm_up) gpu->api.cuMemFree(transport->warm_up);
  }
  zb_cuda_gpu_release(transport->gpu);
  zb_free(transport->channels);
  zb_free(transport->channel_of);
  zb_free(transport->jobs);
  zb_free(transport->messages);
  zb_free(transport);
}

static int find_channel(zb_transport *transport, int source, int destination) {
  for (int i = 0; i < transport->channel_count; ++i)
    if (transport->channels[i].source == source && transport->channels[i].destination == destination) return i;
  transport->channels[transport->channel_count] = (channel){.source = source, .destination = destination};
  return transport->channel_count++;
}

/* Ordered pairs of ranks that a plan connects: few, but never more than all. */
static size_t most_channels(const zb_plan *plan) {
  size_t ranks = (size_t)plan->rank_count, all = ranks * ranks, messages = (size_t)plan->message_count + 1;
  return all < messages ? all : messages;
}

static zb_status nccl_open(const zb_transport_params *params, zb_transport **out) {
  const zb_plan *plan = params->plan;
  size_t messages = (size_t)plan->message_count + 1;
  int processes = params->group ? params->group_def->processes(params->group) : 1;
  *out = NULL;
  if (processes != plan->rank_count)
    return zb_status_hint(ZB_ERROR(USAGE, "%d processes for %d ranks: over NCCL every rank is a process with a GPU", processes, plan->rank_count),
                          "start %d processes, or one with all ranks on one GPU", plan->rank_count);
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->plan = plan;
  transport->group = params->group;
  transport->group_def = params->group_def;
  transport->timeout_ms = params->timeout_ms;
  transport->channels = zb_alloc(sizeof(channel) * most_channels(plan));
  transport->channel_of = zb_alloc(sizeof(int) * messages);
  transport->messages = zb_alloc(sizeof(posted) * messages);
  transport->jobs = zb_cuda_message_jobs(plan);
  if (!transport->channels || !transport->channel_of || !transport->messages || !transport->jobs) {
    nccl_close(transport);
    return ZB_OUT_OF_MEMORY();
  }
  for (int i = 0; i < plan->message_count; ++i)
    transport->channel_of[i] = find_channel(transport, plan->messages[i].source, plan->messages[i].destination);
  *out = transport;
  return NULL;
}

static zb_status nccl_attach(zb_transport *transport, int rank, zb_device *device) {
  zb_cuda_gpu *gpu = transport->gpu = zb_cuda_gpu_share(device->gpu);
  int messages = transport->plan->message_count;
  transport->rank = rank;
  transport->device = device;
  if (!gpu->api.ncclSend) ZB_TRY(zb_cuda_api_open(&gpu->api, ZB_CUDA_NCCL));
  ZB_TRY(ZB_CU(&gpu->api, cuMemAlloc, &transport->warm_up, WARM_UP_BYTES * ((size_t)transport->channel_count + 1)));
  for (int i = 0; i < transport->channel_count; ++i)
    if (is_mine(transport, &transport->channels[i]))
      ZB_TRY(ZB_CU(&gpu->api, cuStreamCreateWithPriority, &transport->channels[i].stream, CU_STREAM_NON_BLOCKING, gpu->priority_greatest));
  ZB_TRY(zb_cuda_events_create(gpu, messages, device->params.trace ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING, &transport->done));
  return device->params.trace ? zb_cuda_events_create(gpu, messages, CU_EVENT_DEFAULT, &transport->starts) : NULL;
}

/* ---- Calls that may not be over when they return ---- */

static zb_status failed(zb_transport *transport, const channel *c, int result, const char *function) {
  zb_status status = zb_status_note(zb_cuda_error(&transport->gpu->api, ZB_CUDA_NCCL, result, function), "rank %d, channel from rank %d to rank %d",
                                    transport->rank, c->source, c->destination);
  abort_all(transport);
  return status;
}

/* Until NCCL has done what it was asked for on that communicator; this needs a peer only while connecting. */
static zb_status settle(zb_transport *transport, const channel *c, ncclResult_t result, const char *function) {
  const zb_cuda_api *api = &transport->gpu->api;
  int64_t start = 0;
  while (result == ncclInProgress) {
    int64_t now = zb_monotonic_ps();
    if (start == 0) start = now;
    if (now - start > transport->timeout_ms * INT64_C(1000000000)) {
      abort_all(transport);
      return ZB_ERROR(TIMEOUT, "rank %d waited %.1f s for %s with rank %d", transport->rank, (double)transport->timeout_ms / 1e3, function,
                      peer_of(transport, c));
    }
    if (start != now) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    ncclResult_t asked = api->ncclCommGetAsyncError(c->communicator, &result);
    if (asked != ncclSuccess) result = asked;
  }
  return result == ncclSuccess ? NULL : failed(transport, c, (int)result, function);
}

/* Sends or receives so many bytes; the other end has the index 0 (source) or 1 (destination). */
static ncclResult_t move(const zb_transport *transport, const channel *c, CUdeviceptr at, uint64_t bytes) {
  const zb_cuda_api *api = &transport->gpu->api;
  void *memory = (void *)(uintptr_t)at;
  return c->source == transport->rank ? api->ncclSend(memory, bytes, ncclUint8, 1, c->communicator, c->stream)
                                      : api->ncclRecv(memory, bytes, ncclUint8, 0, c->communicator, c->stream);
}

/* ---- Connecting ---- */

/* Every id was made by one process; the others have zeros there. */
static void merge_ids(void *total, const void *one, size_t bytes) {
  unsigned char *to = total;
  const unsigned char *from = one;
  for (size_t i = 0; i < bytes; ++i)
    to[i] |= from[i];
}

/* The source of a channel makes its id, all learn it. */
static zb_status exchange_ids(zb_transport *transport) {
  const zb_cuda_api *api = &transport->gpu->api;
  size_t bytes = sizeof(struct zb_nccl_id) * (size_t)transport->channel_count;
  struct zb_nccl_id *ids = zb_alloc(bytes + 1);
  if (!ids) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  for (int i = 0; i < transport->channel_count && !status; ++i)
    if (transport->channels[i].source == transport->rank) status = ZB_NCCL(api, ncclGetUniqueId, &ids[i]);
  zb_status merged = transport->group_def->merge(transport->group, ids, bytes, merge_ids); /* a failure here must not leave the others alone */
  for (int i = 0; i < transport->channel_count; ++i)
    transport->channels[i].id = ids[i];
  zb_free(ids);
  zb_status statuses[] = {status, merged};
  return zb_status_first(statuses, 2);
}

static zb_status connect_channel(zb_transport *transport, channel *c) {
  ncclConfig_t config = {.size = sizeof config,
                         .magic = (unsigned)ZB_NCCL_CONFIG_MAGIC,
                         .version = ZB_NCCL_CONFIG_VERSION,
                         .blocking = 0,
                         .cgaClusterSize = INT_MIN, /* "the default" */
                         .minCTAs = INT_MIN,
                         .maxCTAs = CTAS_MOST,
                         .splitShare = INT_MIN};
  int index = c->source == transport->rank ? 0 : 1;
  ncclResult_t result = transport->gpu->api.ncclCommInitRankConfig(&c->communicator, 2, c->id, index, &config);
  ZB_TRY(settle(transport, c, result, "ncclCommInitRankConfig"));
  CUdeviceptr own = transport->warm_up + WARM_UP_BYTES * (CUdeviceptr)(c - transport->channels);
  return settle(transport, c, move(transport, c, own, WARM_UP_BYTES), "the first message");
}

/* By all processes at the same time. Channels in rising order everywhere, so the lowest one that is not connected has both ends at it. */
static zb_status nccl_connect(zb_transport *transport) {
  ZB_TRY(exchange_ids(transport));
  transport->gpu->busy = true;
  for (int i = 0; i < transport->channel_count; ++i)
    if (is_mine(transport, &transport->channels[i])) ZB_TRY(connect_channel(transport, &transport->channels[i]));
  return NULL;
}

/* ---- Messages ---- */

static zb_status nccl_post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts, int part_count) {
  const zb_cuda_api *api = &transport->gpu->api;
  channel *c = &transport->channels[transport->channel_of[message]];
  bool receives = rank == c->destination;
  ncclResult_t result = ncclSuccess;
  if (transport->aborted) return ZB_ERROR(PEER, "rank %d stops: %s", rank, transport->reason[0] ? transport->reason : "NCCL was aborted");
  if (transport->messages[message].enqueued) return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  ZB_TRY(zb_cuda_wait_for_home(transport->device, transport->jobs[2 * (size_t)message + receives], c->stream, transport->done));
  if (transport->starts) ZB_TRY(ZB_CU(api, cuEventRecord, transport->starts[message], c->stream));
  if (part_count > 1) ZB_TRY(zb_cuda_check(api, ZB_CUDA_NCCL, (int)api->ncclGroupStart(), "ncclGroupStart"));
  for (int i = 0; i < part_count && (result == ncclSuccess || result == ncclInProgress); ++i)
    result = move(transport, c, (CUdeviceptr)(uintptr_t)((unsigned char *)arena + parts[i].offset), parts[i].bytes);
  if (part_count > 1) { /* also after a failure: a group that is not ended would swallow the aborts */
    ncclResult_t ended = api->ncclGroupEnd();
    if (result == ncclSuccess || result == ncclInProgress) result = ended;
  }
  ZB_TRY(settle(transport, c, result, receives ? "ncclRecv" : "ncclSend"));
  transport->messages[message].enqueued = true;
  return ZB_CU(api, cuEventRecord, transport->done[message], c->stream);
}

static bool nccl_test(zb_transport *transport, int rank, int message) {
  (void)rank;
  return transport->messages[message].enqueued;
}

static zb_status nccl_order(zb_transport *transport, int rank, int message) {
  (void)rank;
  if (transport->messages[message].ordered) return NULL;
  transport->messages[message].ordered = true;
  return ZB_CU(&transport->gpu->api, cuStreamWaitEvent, transport->device->compute, transport->done[message], 0);
}

/* A post of ours needs nobody else, so there is nothing to wait for. */
static zb_status nccl_wait(zb_transport *transport, int rank, int message) {
  if (transport->messages[message].enqueued) return NULL;
  return ZB_ERROR(TIMEOUT, "rank %d waits for message %d, which it has not posted", rank, message);
}

static zb_status nccl_reset(zb_transport *transport) {
  memset(transport->messages, 0, sizeof(posted) * (size_t)transport->plan->message_count);
  return NULL;
}

static void nccl_abort(zb_transport *transport, int rank, const char *reason) {
  if (!transport->aborted) snprintf(transport->reason, sizeof transport->reason, "rank %d gave up: %s", rank, reason);
  abort_all(transport);
}

/* The watchdog: errors that NCCL found by itself, a peer that is gone above all. */
static zb_status nccl_poll(zb_transport *transport) {
  for (int i = 0; i < transport->channel_count; ++i) {
    const channel *c = &transport->channels[i];
    ncclResult_t error = ncclSuccess;
    if (!c->communicator) continue;
    ncclResult_t asked = transport->gpu->api.ncclCommGetAsyncError(c->communicator, &error);
    if (asked != ncclSuccess) error = asked;
    if (error != ncclSuccess && error != ncclInProgress)
      return zb_status_note(failed(transport, c, (int)error, "NCCL"), "noticed while waiting for rank %d", peer_of(transport, c));
  }
  return NULL;
}

static int64_t nccl_start_ps(zb_transport *transport, int rank, int message) {
  (void)rank;
  return transport->starts ? zb_cuda_event_ps(transport->gpu, transport->starts[message]) : 0;
}

static int64_t nccl_complete_ps(zb_transport *transport, int rank, int message) {
  (void)rank;
  return transport->starts ? zb_cuda_event_ps(transport->gpu, transport->done[message]) : 0;
}

const zb_transport_def zb_transport_nccl = {
    .name = "nccl",
    .summary = "a rank with a GPU a process, NCCL between them",
    .open = nccl_open,
    .close = nccl_close,
    .post_send = nccl_post,
    .post_recv = nccl_post,
    .wait = nccl_wait,
    .test = nccl_test,
    .reset = nccl_reset,
    .abort = nccl_abort,
    .attach = nccl_attach,
    .connect = nccl_connect,
    .order = nccl_order,
    .poll = nccl_poll,
    .start_ps = nccl_start_ps,
    .complete_ps = nccl_complete_ps,
};
