/* Messages between GPUs over NCCL: a communicator and a stream a channel (ordered pair of ranks). A process has a GPU
 * and one rank or several; what stays in a process is copied by the streams of runtime/device/cuda, so the two ends of
 * a communicator are always two GPUs.
 *
 * NCCL has no tags: what a communicator is given is matched in order. The plan gives both ends of a channel the same
 * order, and a rank posts in the order of its jobs, from one thread; an operation needs no buffer of NCCL to end, as
 * the plan is proved without any. Channels are numbered by their first message in the plan, and connected and warmed up
 * in that order by all ranks, so there is no circle of waits, and no connection is built within a step.
 *
 * Communicators do not block: a call may come back while NCCL works on it, and nothing may follow on that communicator
 * before it is done. So the host can always abort: on an error, a peer that is gone or a time-out all communicators
 * are aborted, which ends what their streams hold. Sources: NCCL user guide, "Fault tolerance", "Group calls",
 * "Point-to-point". Tests: test/runtime/device/cuda/nccl_test.c.
 */
#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/transport/streams/streams.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* CTAS_MOST: the most CTAs (thread blocks) that NCCL may use for a channel. Few, so that a message leaves most
 * multiprocessors to matrix products, and so that all messages that wait fit on the GPU at once (check_room). */
enum { CTAS_MOST = 4, WARM_UP_BYTES = ZB_ALIGNMENT, REASON_BYTES = 512, PAUSE_NS = 20 * 1000 };

/* Between ranks of two processes. */
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
  zb_arena memory; /* of devices, channels, channel_of, messages */
  const zb_plan *plan;
  zb_group *group;
  const zb_group_def *group_def;
  int64_t timeout_ms;
  int processes, first_rank, rank_count; /* of this process */
  zb_cuda_gpu *gpu;
  zb_device **devices;  /* [rank of the plan], those of this process */
  zb_transport *inside; /* zb_transport_streams: messages that stay here, and the events of all */
  channel *channels;    /* of the whole plan, in the order of their first messages */
  int channel_count;
  int *channel_of; /* [message]; -1: stays in a process */
  int *jobs;       /* zb_cuda_message_jobs */
  posted *messages;
  CUdeviceptr warm_up; /* WARM_UP_BYTES a channel */
  bool aborted;
  char reason[REASON_BYTES];
};

static bool is_here(const zb_transport *transport, int rank) {
  return rank >= transport->first_rank && rank < transport->first_rank + transport->rank_count;
}

static bool is_mine(const zb_transport *transport, const channel *c) {
  return is_here(transport, c->source) || is_here(transport, c->destination);
}

static int own_of(const zb_transport *transport, const channel *c) {
  return is_here(transport, c->source) ? c->source : c->destination;
}

static int peer_of(const zb_transport *transport, const channel *c) {
  return is_here(transport, c->source) ? c->destination : c->source;
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
    if (transport->warm_up) gpu->api.cuMemFree(transport->warm_up);
  }
  if (transport->inside) zb_transport_streams.close(transport->inside);
  zb_cuda_gpu_release(transport->gpu);
  zb_arena_deinit(&transport->memory);
  zb_free(transport);
}

/* -1: within a process. */
static int find_channel(zb_transport *transport, int source, int destination) {
  const int ranks = transport->plan->rank_count;
  if (zb_group_process_of(ranks, transport->processes, source) ==
      zb_group_process_of(ranks, transport->processes, destination))
    return -1;
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

static zb_status allocate(zb_transport *transport, const zb_transport_params *params) {
  const zb_plan *plan = params->plan;
  size_t messages = (size_t)plan->message_count + 1;
  ZB_TAKE(&transport->memory, transport->devices, plan->rank_count);
  ZB_TAKE(&transport->memory, transport->channels, most_channels(plan));
  ZB_TAKE(&transport->memory, transport->channel_of, messages);
  ZB_TAKE(&transport->memory, transport->messages, messages);
  transport->jobs = zb_cuda_message_jobs(plan, &transport->memory);
  ZB_TRY(zb_arena_status(&transport->memory));
  return zb_transport_streams.open(params, &transport->inside);
}

static zb_status nccl_open(const zb_transport_params *params, zb_transport **out) {
  const zb_plan *plan = params->plan;
  int processes = params->group ? params->group_def->processes(params->group) : 1;
  *out = NULL;
  if (processes > plan->rank_count)
    return ZB_ERROR(USAGE, "%d processes for %d ranks: expected one rank a process at least", processes,
                    plan->rank_count);
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->plan = plan;
  transport->group = params->group;
  transport->group_def = params->group_def;
  transport->timeout_ms = params->timeout_ms;
  transport->processes = processes;
  transport->rank_count =
      zb_group_own_ranks(params->group_def, params->group, plan->rank_count, &transport->first_rank);
  zb_status status = allocate(transport, params);
  if (status) {
    nccl_close(transport);
    return status;
  }
  for (int i = 0; i < plan->message_count; ++i)
    transport->channel_of[i] = find_channel(transport, plan->messages[i].source, plan->messages[i].destination);
  *out = transport;
  return NULL;
}

/* An operation of NCCL keeps its stream and some multiprocessors until the other end is there, which may need work that
 * this process enqueues later: that must find a queue of the hardware in which nothing waits, and room. */
static zb_status check_room(const zb_transport *transport, int channels) {
  const zb_cuda_gpu *gpu = transport->gpu;
  int inside = zb_cuda_streams_channels(transport->inside), streams = transport->rank_count + inside + channels;
  if (channels > 0 && streams > gpu->queues)
    return zb_status_hint(
        ZB_ERROR(
            USAGE,
            "the GPU of ranks %d to %d has %d queues, and they need %d: one a rank, %d for messages between them, %d "
            "for messages to other processes; with fewer a message that waits could hold up what it waits for",
            transport->first_rank, transport->first_rank + transport->rank_count - 1, gpu->queues, streams, inside,
            channels),
        "start more processes, so that fewer ranks share a GPU");
  if (gpu->processors > 0 && channels * CTAS_MOST > gpu->processors)
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "the GPU of ranks %d to %d has %d multiprocessors, and their %d channels to other "
                                   "processes may take %d at a time",
                                   transport->first_rank, transport->first_rank + transport->rank_count - 1,
                                   gpu->processors, channels, channels * CTAS_MOST),
                          "start more processes, so that fewer ranks share a GPU");
  return NULL;
}

/* Once a process. */
static zb_status make_streams(zb_transport *transport) {
  zb_cuda_gpu *gpu = transport->gpu;
  int mine = 0;
  if (!gpu->api.ncclSend) ZB_TRY(zb_cuda_api_open(&gpu->api, ZB_CUDA_NCCL));
  ZB_TRY(ZB_CU(&gpu->api, cuMemAlloc, &transport->warm_up, WARM_UP_BYTES * ((size_t)transport->channel_count + 1)));
  for (int i = 0; i < transport->channel_count; ++i) {
    if (!is_mine(transport, &transport->channels[i])) continue;
    ZB_TRY(ZB_CU(&gpu->api, cuStreamCreateWithPriority, &transport->channels[i].stream, CU_STREAM_NON_BLOCKING,
                 gpu->priority_greatest));
    ++mine;
  }
  return check_room(transport, mine);
}

static zb_status nccl_attach(zb_transport *transport, int rank, zb_device *device) {
  transport->devices[rank] = device;
  ZB_TRY(zb_transport_streams.attach(transport->inside, rank, device));
  if (transport->gpu) return NULL;
  transport->gpu = zb_cuda_gpu_share(device->gpu);
  return make_streams(transport);
}

/* ---- Calls that may not be over when they return ---- */

static zb_status failed(zb_transport *transport, const channel *c, int result, const char *function) {
  zb_status status =
      zb_status_note(zb_cuda_error(&transport->gpu->api, ZB_CUDA_NCCL, result, function),
                     "rank %d, channel from rank %d to rank %d", own_of(transport, c), c->source, c->destination);
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
    if (now - start > transport->timeout_ms * ZB_MS_PS) {
      abort_all(transport);
      return ZB_ERROR(TIMEOUT, "rank %d waited %.1f s for %s with rank %d", own_of(transport, c),
                      (double)transport->timeout_ms / 1e3, function, peer_of(transport, c));
    }
    if (start != now) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    ncclResult_t asked = api->ncclCommGetAsyncError(c->communicator, &result);
    if (asked != ncclSuccess) result = asked;
  }
  return result == ncclSuccess ? NULL : failed(transport, c, (int)result, function);
}

/* Sends or receives `bytes` bytes; the other end has the index 0 (source) or 1 (destination). */
static ncclResult_t move(const zb_transport *transport, const channel *c, CUdeviceptr at, uint64_t bytes) {
  const zb_cuda_api *api = &transport->gpu->api;
  void *memory = (void *)(uintptr_t)at;
  return is_here(transport, c->source) ? api->ncclSend(memory, bytes, ncclUint8, 1, c->communicator, c->stream)
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
    if (is_here(transport, transport->channels[i].source)) status = ZB_NCCL(api, ncclGetUniqueId, &ids[i]);
  /* Also after a failure: the others wait for this process. */
  zb_status merged = transport->group_def->merge(transport->group, ids, bytes, merge_ids);
  for (int i = 0; i < transport->channel_count; ++i)
    transport->channels[i].id = ids[i];
  zb_free(ids);
  return zb_status_first((zb_status[]){status, merged}, 2);
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
  int index = is_here(transport, c->source) ? 0 : 1;
  ncclResult_t result = transport->gpu->api.ncclCommInitRankConfig(&c->communicator, 2, c->id, index, &config);
  ZB_TRY(settle(transport, c, result, "ncclCommInitRankConfig"));
  CUdeviceptr own = transport->warm_up + WARM_UP_BYTES * (CUdeviceptr)(c - transport->channels);
  return settle(transport, c, move(transport, c, own, WARM_UP_BYTES), "the first message");
}

/* By all processes at the same time. Channels in rising order everywhere, so the lowest one that is not connected has
 * both ends at it. */
static zb_status nccl_connect(zb_transport *transport) {
  ZB_TRY(exchange_ids(transport));
  transport->gpu->busy = true;
  for (int i = 0; i < transport->channel_count; ++i)
    if (is_mine(transport, &transport->channels[i])) ZB_TRY(connect_channel(transport, &transport->channels[i]));
  return NULL;
}

/* ---- Messages ---- */

static bool is_inside(const zb_transport *transport, int message) { return transport->channel_of[message] < 0; }

static zb_status enqueue(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                         int part_count) {
  const zb_cuda_api *api = &transport->gpu->api;
  const CUevent *done = zb_cuda_streams_done(transport->inside), *starts = zb_cuda_streams_starts(transport->inside);
  channel *c = &transport->channels[transport->channel_of[message]];
  bool receives = rank == c->destination;
  ncclResult_t result = ncclSuccess;
  if (transport->messages[message].enqueued)
    return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  ZB_TRY(zb_cuda_wait_for_home(transport->devices[rank], transport->jobs[2 * (size_t)message + receives], c->stream,
                               done));
  if (starts) ZB_TRY(ZB_CU(api, cuEventRecord, starts[message], c->stream));
  if (part_count > 1) ZB_TRY(zb_cuda_check(api, ZB_CUDA_NCCL, (int)api->ncclGroupStart(), "ncclGroupStart"));
  for (int i = 0; i < part_count && (result == ncclSuccess || result == ncclInProgress); ++i)
    result = move(transport, c, (CUdeviceptr)(uintptr_t)((unsigned char *)arena + parts[i].offset), parts[i].bytes);
  if (part_count > 1) { /* also after a failure: a group that is not ended would swallow the aborts */
    ncclResult_t ended = api->ncclGroupEnd();
    if (result == ncclSuccess || result == ncclInProgress) result = ended;
  }
  ZB_TRY(settle(transport, c, result, receives ? "ncclRecv" : "ncclSend"));
  transport->messages[message].enqueued = true;
  return ZB_CU(api, cuEventRecord, done[message], c->stream);
}

/* Of both sides: which one follows from the rank. */
static zb_status nccl_post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                           int part_count) {
  if (transport->aborted)
    return ZB_ERROR(PEER, "rank %d stops: %s", rank, transport->reason[0] ? transport->reason : "NCCL was aborted");
  if (is_inside(transport, message))
    return zb_transport_streams.post(transport->inside, rank, message, arena, parts, part_count);
  return enqueue(transport, rank, message, arena, parts, part_count);
}

static bool nccl_test(zb_transport *transport, int rank, int message) {
  return is_inside(transport, message) ? zb_transport_streams.test(transport->inside, rank, message)
                                       : transport->messages[message].enqueued;
}

static zb_status nccl_order(zb_transport *transport, int rank, int message) {
  if (is_inside(transport, message)) return zb_transport_streams.order(transport->inside, rank, message);
  if (transport->messages[message].ordered) return NULL;
  transport->messages[message].ordered = true;
  return ZB_CU(&transport->gpu->api, cuStreamWaitEvent, transport->devices[rank]->compute,
               zb_cuda_streams_done(transport->inside)[message], 0);
}

/* A post of this process needs no other, so there is nothing to wait for. */
static zb_status nccl_wait(zb_transport *transport, int rank, int message) {
  if (is_inside(transport, message)) return zb_transport_streams.wait(transport->inside, rank, message);
  if (transport->messages[message].enqueued) return NULL;
  return ZB_ERROR(TIMEOUT, "rank %d waits for message %d, which it has not posted", rank, message);
}

static zb_status nccl_reset(zb_transport *transport) {
  memset(transport->messages, 0, sizeof(posted) * (size_t)transport->plan->message_count);
  return zb_transport_streams.reset(transport->inside);
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
      return zb_status_note(failed(transport, c, (int)error, "NCCL"), "noticed while waiting for rank %d",
                            peer_of(transport, c));
  }
  return NULL;
}

/* The events of all messages are those of the streams inside. */
static int64_t nccl_start_ps(zb_transport *transport, int rank, int message) {
  return zb_transport_streams.start_ps(transport->inside, rank, message);
}

static int64_t nccl_complete_ps(zb_transport *transport, int rank, int message) {
  return zb_transport_streams.complete_ps(transport->inside, rank, message);
}

const zb_transport_def zb_transport_nccl = {
    .name = "nccl",
    .summary = "a GPU a process, with one rank or several; NCCL between processes",
    .open = nccl_open,
    .close = nccl_close,
    .post = nccl_post,
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
