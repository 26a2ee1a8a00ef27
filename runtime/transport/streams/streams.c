/* Messages between ranks of one process on one GPU: copies within its memory, on a stream a channel (ordered pair of
 * ranks). Of several processes it moves what stays in this one; for the rest it has the events
 * (runtime/transport/nccl).
 *
 * The side that posts second enqueues: the channel's stream waits for the homes of both sides (edges.h), copies, and
 * records an event. The message is then complete as far as the host is concerned; a job that waits for it makes its
 * compute stream wait for the event. Channel streams have the highest priority, as copies must not queue behind a
 * product. One thread. Tests: test/runtime/device/cuda.
 */
#include "runtime/transport/streams/streams.h"

#include "runtime/base/arena.h"
#include "runtime/transport/copy.h"

#include <string.h>

enum { SEND_SIDE, RECEIVE_SIDE, SIDES };

typedef struct post {
  zb_transport_side bytes;
  bool posted, ordered; /* ordered: the rank's compute stream waits for the message already */
} post;

typedef struct parcel {
  post sides[SIDES];
  bool enqueued;
} parcel;

struct zb_transport {
  zb_arena memory; /* of devices, parcels, channels */
  const zb_plan *plan;
  int first_rank, rank_count; /* of this process */
  int channel_count;
  zb_cuda_gpu *gpu;       /* of the first device; NULL: none is attached */
  zb_device **devices;    /* [rank] */
  int *jobs;              /* zb_cuda_message_jobs */
  parcel *parcels;        /* [message] */
  CUstream *channels;     /* [source * ranks + destination]; NULL: no message goes there */
  CUevent *done, *starts; /* [message]; starts: with a trace */
};

static void streams_close(zb_transport *transport) {
  if (!transport) return;
  size_t ranks = (size_t)transport->plan->rank_count;
  if (transport->gpu) zb_cuda_gpu_quiet(transport->gpu);
  for (size_t i = 0; transport->gpu && transport->channels && i < ranks * ranks; ++i)
    if (transport->channels[i]) transport->gpu->api.cuStreamDestroy(transport->channels[i]);
  if (transport->gpu) {
    zb_cuda_events_destroy(transport->gpu, transport->done, transport->plan->message_count);
    zb_cuda_events_destroy(transport->gpu, transport->starts, transport->plan->message_count);
  }
  zb_cuda_gpu_release(transport->gpu);
  zb_arena_deinit(&transport->memory);
  zb_free(transport);
}

static zb_status streams_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  const zb_plan *plan = params->plan;
  size_t ranks = (size_t)plan->rank_count, messages = (size_t)plan->message_count + 1;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->plan = plan;
  transport->rank_count =
      zb_group_own_ranks(params->group_def, params->group, plan->rank_count, &transport->first_rank);
  ZB_TAKE(&transport->memory, transport->devices, ranks);
  transport->jobs = zb_cuda_message_jobs(plan, &transport->memory);
  ZB_TAKE(&transport->memory, transport->parcels, messages);
  ZB_TAKE(&transport->memory, transport->channels, ranks * ranks);
  zb_status status = zb_arena_status(&transport->memory);
  if (status)
    streams_close(transport);
  else
    *out = transport;
  return status;
}

static CUstream *channel_of(const zb_transport *transport, int message) {
  const zb_plan_message *m = &transport->plan->messages[message];
  return &transport->channels[(size_t)m->source * (size_t)transport->plan->rank_count + (size_t)m->destination];
}

static bool is_here(const zb_transport *transport, int rank) {
  return rank >= transport->first_rank && rank < transport->first_rank + transport->rank_count;
}

bool zb_cuda_streams_moves(const zb_transport *transport, int message) {
  const zb_plan_message *m = &transport->plan->messages[message];
  return is_here(transport, m->source) && is_here(transport, m->destination);
}

const CUevent *zb_cuda_streams_done(const zb_transport *transport) { return transport->done; }

const CUevent *zb_cuda_streams_starts(const zb_transport *transport) { return transport->starts; }

int zb_cuda_streams_channels(const zb_transport *transport) { return transport->channel_count; }

/* One a message that has an end here. */
static zb_status make_events(const zb_transport *transport, unsigned flags, CUevent **out) {
  const zb_plan *plan = transport->plan;
  *out = zb_alloc(sizeof(CUevent) * ((size_t)plan->message_count + 1));
  if (!*out) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < plan->message_count; ++i)
    if (is_here(transport, plan->messages[i].source) || is_here(transport, plan->messages[i].destination))
      ZB_TRY(ZB_CU(&transport->gpu->api, cuEventCreate, &(*out)[i], flags));
  return NULL;
}

/* Streams in the order of first use, and events: all before the first step. */
static zb_status make_streams(zb_transport *transport, bool trace) {
  const zb_cuda_gpu *gpu = transport->gpu;
  for (int i = 0; i < transport->plan->message_count; ++i) {
    CUstream *channel = channel_of(transport, i);
    if (*channel || !zb_cuda_streams_moves(transport, i)) continue;
    ZB_TRY(ZB_CU(&gpu->api, cuStreamCreateWithPriority, channel, CU_STREAM_NON_BLOCKING, gpu->priority_greatest));
    ++transport->channel_count;
  }
  ZB_TRY(make_events(transport, trace ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING, &transport->done));
  return trace ? make_events(transport, CU_EVENT_DEFAULT, &transport->starts) : NULL;
}

static zb_status streams_attach(zb_transport *transport, int rank, zb_device *device) {
  transport->devices[rank] = device;
  if (transport->gpu) return NULL;
  transport->gpu = zb_cuda_gpu_share(device->gpu);
  return make_streams(transport, device->params.trace);
}

static zb_status copy(const zb_transport *transport, const parcel *it, CUstream channel) {
  zb_transport_pieces piece = {.from = &it->sides[SEND_SIDE].bytes, .to = &it->sides[RECEIVE_SIDE].bytes};
  while (zb_transport_next_piece(&piece))
    if (piece.bytes > 0)
      ZB_TRY(ZB_CU(&transport->gpu->api, cuMemcpyDtoDAsync, (CUdeviceptr)(uintptr_t)piece.destination,
                   (CUdeviceptr)(uintptr_t)piece.source, piece.bytes, channel));
  return NULL;
}

static zb_status enqueue(zb_transport *transport, int message) {
  const zb_plan_message *m = &transport->plan->messages[message];
  const zb_cuda_api *api = &transport->gpu->api;
  const int *jobs = &transport->jobs[2 * (size_t)message];
  parcel *it = &transport->parcels[message];
  CUstream channel = *channel_of(transport, message);
  ZB_TRY(zb_cuda_wait_for_home(transport->devices[m->source], jobs[SEND_SIDE], channel, transport->done));
  ZB_TRY(zb_cuda_wait_for_home(transport->devices[m->destination], jobs[RECEIVE_SIDE], channel, transport->done));
  if (transport->starts) ZB_TRY(ZB_CU(api, cuEventRecord, transport->starts[message], channel));
  ZB_TRY(copy(transport, it, channel));
  it->enqueued = true;
  return ZB_CU(api, cuEventRecord, transport->done[message], channel);
}

static post *side_of(zb_transport *transport, int rank, int message) {
  bool sends = rank == transport->plan->messages[message].source;
  return &transport->parcels[message].sides[sends ? SEND_SIDE : RECEIVE_SIDE];
}

/* Of both sides: which one follows from the rank. */
static zb_status streams_post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                              int part_count) {
  const post *sides = transport->parcels[message].sides;
  post *side = side_of(transport, rank, message);
  if (side->posted) return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  *side = (post){.bytes = {arena, parts, part_count}, .posted = true};
  return sides[SEND_SIDE].posted && sides[RECEIVE_SIDE].posted ? enqueue(transport, message) : NULL;
}

static bool streams_test(zb_transport *transport, int rank ZB_UNUSED, int message) {
  return transport->parcels[message].enqueued;
}

static zb_status streams_order(zb_transport *transport, int rank, int message) {
  post *it = side_of(transport, rank, message);
  if (it->ordered) return NULL;
  it->ordered = true;
  return ZB_CU(&transport->gpu->api, cuStreamWaitEvent, transport->devices[rank]->compute, transport->done[message], 0);
}

/* The driver takes turns, so a wait that is not over cannot be waited for. */
static zb_status streams_wait(zb_transport *transport, int rank, int message) {
  if (transport->parcels[message].enqueued) return NULL;
  return ZB_ERROR(TIMEOUT, "rank %d waits for message %d, which is not posted by both sides", rank, message);
}

static zb_status streams_reset(zb_transport *transport) {
  for (int message = 0; message < transport->plan->message_count; ++message) {
    const parcel *it = &transport->parcels[message];
    if (!it->enqueued && (it->sides[SEND_SIDE].posted || it->sides[RECEIVE_SIDE].posted))
      return ZB_ERROR(RUNTIME, "message %d is not complete at the end of a step", message);
  }
  memset(transport->parcels, 0, sizeof(parcel) * (size_t)transport->plan->message_count);
  return NULL;
}

/* Nothing waits in the host, and the GPU holds nothing that cannot end. */
static void streams_abort(zb_transport *transport ZB_UNUSED, int rank ZB_UNUSED, const char *reason ZB_UNUSED) {}

static zb_status streams_poll(zb_transport *transport ZB_UNUSED) { return NULL; }

static int64_t streams_start_ps(zb_transport *transport, int rank ZB_UNUSED, int message) {
  return transport->starts ? zb_cuda_event_ps(transport->gpu, transport->starts[message]) : 0;
}

static int64_t streams_complete_ps(zb_transport *transport, int rank ZB_UNUSED, int message) {
  return transport->starts ? zb_cuda_event_ps(transport->gpu, transport->done[message]) : 0;
}

const zb_transport_def zb_transport_streams = {
    .name = "streams",
    .summary = "ranks of one process on one GPU, by copies in its memory",
    .open = streams_open,
    .close = streams_close,
    .post = streams_post,
    .wait = streams_wait,
    .test = streams_test,
    .reset = streams_reset,
    .abort = streams_abort,
    .attach = streams_attach,
    .order = streams_order,
    .poll = streams_poll,
    .start_ps = streams_start_ps,
    .complete_ps = streams_complete_ps,
};
