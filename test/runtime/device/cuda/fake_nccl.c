/* NCCL that is none, on the fake GPU: see fake.h. What moves when is decided in fake.c, as for all operations. */
#include "test/runtime/device/cuda/fake_internal.h"

#include "runtime/base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct zb_nccl_id fake_nccl_id(int number) {
  struct zb_nccl_id id = {{0}};
  snprintf(id.internal, sizeof id.internal, "%d", number);
  return id;
}

static ncclResult_t fake_unique_id(ncclUniqueId *id) {
  memset(id, 0, sizeof *id);
  return ncclSuccess;
}

static ncclResult_t fake_init_rank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
  int number = atoi(id.internal);
  FAIL_IF_ASKED("ncclCommInitRankConfig");
  ZB_ASSERT(ranks == 2 && rank >= 0 && rank < 2 && config->blocking == 0 && config->size == sizeof *config &&
            number < FAKE_STREAMS * FAKE_STREAMS);
  if (!fake_gpu.pairs[number]) {
    fake_gpu.pairs[number] = fake_make(sizeof(pair));
    fake_gpu.pairs[number]->number = number;
  }
  *out = fake_make(sizeof **out);
  **out = (struct ncclComm){fake_gpu.pairs[number], rank, true};
  ++fake_gpu.made;
  ++fake_gpu.live;
  return ncclInProgress;
}

static ncclResult_t fake_async_error(ncclComm_t c, ncclResult_t *error) {
  *error = c->in_progress ? ncclInProgress : ncclSuccess;
  c->in_progress = false;
  if (fake_gpu.errors_in > 0 && --fake_gpu.errors_in == 0) *error = fake_gpu.nccl_error;
  return ncclSuccess;
}

static ncclResult_t fake_comm_abort(ncclComm_t c) {
  free(c);
  ++fake_gpu.aborted;
  --fake_gpu.live;
  fake_gpu.hangs = true; /* what its stream holds is over, whatever it was */
  return ncclSuccess;
}

static ncclResult_t fake_group_start(void) {
  ++fake_gpu.group_depth;
  return ncclSuccess;
}

static ncclResult_t fake_group_end(void) {
  ZB_ASSERT(fake_gpu.group_depth-- > 0);
  return ncclInProgress;
}

static ncclResult_t add_transfer(kind what, void *at, size_t bytes, ncclComm_t c, CUstream s) {
  char text[NAME_BYTES];
  pair *p = c->pair;
  bool sends = what == SEND;
  ZB_ASSERT(c->index == (sends ? 0 : 1) && (!c->in_progress || fake_gpu.group_depth > 0));
  operation *o = fake_enqueue(s, what);
  *(sends ? (void **)&o->from : (void **)&o->to) = at;
  o->bytes = bytes;
  o->pair = p;
  o->place = sends ? p->send_count : p->receive_count;
  ZB_ASSERT(sends ? fake_grow((void **)&p->sends, &p->send_capacity, p->send_count + 1, sizeof(int))
                  : fake_grow((void **)&p->receives, &p->receive_capacity, p->receive_count + 1, sizeof(int)));
  if (sends)
    p->sends[p->send_count++] = (int)fake_gpu.operation_count - 1;
  else
    p->receives[p->receive_count++] = (int)fake_gpu.operation_count - 1;
  snprintf(o->text, sizeof o->text, "%s of %zu bytes", sends ? "send" : "receive", bytes);
  fake_log_line(s, "%s %s, %zu", sends ? "send" : "receive", fake_place(at, text), bytes);
  c->in_progress = true;
  return ncclInProgress;
}

static ncclResult_t fake_send(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t c, CUstream s) {
  FAIL_IF_ASKED("ncclSend");
  ZB_ASSERT(type == ncclUint8 && peer == 1);
  return add_transfer(SEND, (void *)(uintptr_t)from, count, c, s);
}

static ncclResult_t fake_recv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t c, CUstream s) {
  FAIL_IF_ASKED("ncclRecv");
  ZB_ASSERT(type == ncclUint8 && peer == 0);
  return add_transfer(RECEIVE, to, count, c, s);
}

static const char *fake_nccl_text(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error" : "unhandled error";
}

void fake_nccl_fill(zb_cuda_api *api) {
  api->ncclGetErrorString = fake_nccl_text;
  api->ncclGetUniqueId = fake_unique_id;
  api->ncclCommInitRankConfig = fake_init_rank;
  api->ncclCommGetAsyncError = fake_async_error;
  api->ncclCommAbort = fake_comm_abort;
  api->ncclGroupStart = fake_group_start;
  api->ncclGroupEnd = fake_group_end;
  api->ncclSend = fake_send;
  api->ncclRecv = fake_recv;
}

void fake_nccl_error_after(int n, ncclResult_t error) {
  fake_gpu.errors_in = n;
  fake_gpu.nccl_error = error;
}

int fake_nccl_made(void) { return fake_gpu.made; }

int fake_nccl_aborted(void) { return fake_gpu.aborted; }
