/* A GPU that is none: see fake.h. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */

#include "test/runtime/device/cuda/fake_internal.h"

#include "runtime/base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HIDDEN_MOST = 4 << 20, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };

/* As of the driver: each thread has its own, and most calls need one. */
static _Thread_local CUcontext current;
#define NEEDS_CONTEXT()                                                                                                \
  do {                                                                                                                 \
    if (!current || fake_gpu.contexts < 1) {                                                                           \
      ++fake_gpu.astray;                                                                                               \
      return INVALID_CONTEXT;                                                                                          \
    }                                                                                                                  \
  } while (0)

fake_state fake_gpu;

void *fake_make(size_t bytes) {
  void *result = calloc(1, bytes);
  ZB_ASSERT(result);
  return result;
}

static void *memory_aligned(size_t bytes) {
  void *result = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ZB_ASSERT(result);
  memset(result, 0, bytes);
  return result;
}

bool fake_grow(void **array, size_t *capacity, size_t needed, size_t element_bytes) {
  if (needed <= *capacity) return true;
  *capacity = 2 * needed + 64;
  *array = realloc(*array, *capacity * element_bytes);
  return *array != NULL;
}

static uint64_t next_random(void) {
  fake_gpu.random = fake_gpu.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return fake_gpu.random >> 33;
}

/* ---- Clocks and races ---- */

static void join(clocks *to, const clocks *from) {
  for (int i = 0; i < fake_gpu.stream_count; ++i)
    if (from->at[i] > to->at[i]) to->at[i] = from->at[i];
}

static bool knows(const clocks *it, const clocks *other) {
  for (int i = 0; i < fake_gpu.stream_count; ++i)
    if (other->at[i] > it->at[i]) return false;
  return true;
}

static memory *memory_of(const void *at) {
  for (size_t i = 0; i < fake_gpu.memory_count; ++i) {
    memory *m = &fake_gpu.memories[i];
    if (m->live && (const unsigned char *)at >= m->at && (const unsigned char *)at < m->at + m->bytes) return m;
  }
  return NULL;
}

const char *fake_place(const void *at, char text[NAME_BYTES]) {
  const memory *m = memory_of(at);
  if (m && m->pinned)
    snprintf(text, NAME_BYTES, "host");
  else if (m)
    snprintf(text, NAME_BYTES, "%s+%llu", m->name, (unsigned long long)((const unsigned char *)at - m->at));
  else
    snprintf(text, NAME_BYTES, "host");
  return text;
}

/* Device memory is there for operations that run and touch it, and for nobody else: a host that reads or writes it ends
 * at once, as it would with a GPU. Not so of large ones, whose pages would take long: workspaces; and not while the
 * host only asks whether something is over. */
static void show(memory *m, bool shown) {
  if (m->shown != shown && m->live && !m->pinned && m->bytes <= HIDDEN_MOST)
    ZB_ASSERT(mprotect(m->at, m->bytes, shown ? PROT_READ | PROT_WRITE : PROT_NONE) == 0);
  m->shown = shown;
}

static void hide_all(void) {
  for (size_t i = 0; i < fake_gpu.memory_count; ++i)
    show(&fake_gpu.memories[i], false);
}

void fake_show_all(void) {
  for (size_t i = 0; i < fake_gpu.memory_count; ++i)
    show(&fake_gpu.memories[i], true);
}

static void check_pair(int other, const char *what, const void *at) {
  const operation *before = &fake_gpu.operations[other - 1], *now = fake_gpu.running;
  char where[NAME_BYTES];
  if (before == now || fake_gpu.streams[now->stream]->known.at[before->stream] >= before->tick) return;
  if (fake_gpu.races++ > 0) return;
  snprintf(fake_gpu.first_race, sizeof fake_gpu.first_race, "%s on %s and %s on %s are not ordered: %s at %s",
           before->text, fake_gpu.streams[before->stream]->name, now->text, fake_gpu.streams[now->stream]->name, what,
           fake_place(at, where));
}

/* The segment that begins at a place of the memory, made from the one that the place lies in; the number of segments
 * for its end. */
static size_t segment_at(memory *m, uint64_t place) {
  size_t low = 0, high = m->segment_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (m->segments[middle].begin < place)
      low = middle + 1;
    else
      high = middle;
  }
  if (place == m->bytes || (low < m->segment_count && m->segments[low].begin == place)) return low;
  ZB_ASSERT(fake_grow((void **)&m->segments, &m->segment_capacity, m->segment_count + 1, sizeof *m->segments));
  segment *it = &m->segments[low];
  memmove(it + 1, it, (m->segment_count++ - low) * sizeof *it);
  *it = (segment){.begin = place, .touches = fake_make(sizeof *it->touches)};
  if (low > 0) *it->touches = *m->segments[low - 1].touches;
  return low;
}

/* Makes segments from `first` to before `last` one that was touched by nobody. */
static struct touches *forget(memory *m, size_t first, size_t last) {
  for (size_t i = first + 1; i < last; ++i)
    free(m->segments[i].touches);
  memmove(&m->segments[first + 1], &m->segments[last], (m->segment_count - last) * sizeof *m->segments);
  m->segment_count -= last - first - 1;
  return memset(m->segments[first].touches, 0, sizeof *m->segments->touches);
}

static void check_segment(const memory *m, const segment *it, bool writes) {
  const struct touches *t = it->touches;
  const void *at = m->at + it->begin;
  if (t->write) check_pair(t->write, writes ? "both write" : "the first writes what the second reads", at);
  for (int s = 0; writes && s < fake_gpu.stream_count; ++s)
    if (t->reads[s]) check_pair(t->reads[s], "the second writes what the first reads", at);
}

void fake_touch(const void *at, uint64_t bytes, bool writes) {
  memory *m = memory_of(at);
  if (!m || m->pinned) return;
  show(m, true);
  if (bytes == 0) return;
  const uint64_t begin = (uint64_t)((const unsigned char *)at - m->at);
  ZB_ASSERT(fake_gpu.running && begin + bytes <= m->bytes);
  const size_t first = segment_at(m, begin), last = segment_at(m, begin + bytes);
  for (size_t i = first; i < last; ++i) {
    check_segment(m, &m->segments[i], writes);
    if (!writes) m->segments[i].touches->reads[fake_gpu.running->stream] = fake_gpu.running_index + 1;
  }
  if (writes) forget(m, first, last)->write = fake_gpu.running_index + 1;
}

/* ---- Running what is queued ---- */

static bool at_head(int index) {
  const operation *o = &fake_gpu.operations[index];
  const struct CUstream_st *s = fake_gpu.streams[o->stream];
  return !o->done && s->head < s->count && s->queue[s->head] == index;
}

/* A send moves when its receive is at the head of its stream, a receive after its send: nothing lies in between. */
static bool may_move(const operation *o) {
  const pair *p = o->pair;
  if (o->kind == SEND) return o->place < p->receive_count && at_head(p->receives[o->place]);
  return o->place < p->send_count && fake_gpu.operations[p->sends[o->place]].done;
}

static bool is_ready(CUstream s) {
  if (s->head >= s->count) return false;
  const operation *o = &fake_gpu.operations[s->queue[s->head]];
  if (o->kind == SEND || o->kind == RECEIVE) return may_move(o);
  return o->kind != WAIT || o->left_out || o->record < 0 || fake_gpu.operations[o->record].done;
}

static void run_wait(operation *o, CUstream s) {
  if (o->record < 0) return;
  const operation *record = &fake_gpu.operations[o->record];
  join(&s->known, &record->before); /* after it ran, `before` is what its stream knew */
  if (record->end_ps > s->now_ps) s->now_ps = record->end_ps;
}

static void run_receive(operation *o, CUstream s) {
  operation *send = &fake_gpu.operations[o->pair->sends[o->place]];
  ZB_ASSERT(send->bytes == o->bytes);
  join(&s->known, &send->before);
  fake_touch(o->to, o->bytes, true);
  memcpy(o->to, send->parameters, o->bytes);
  free(send->parameters);
  send->parameters = NULL;
}

static void run_one(CUstream s) {
  int index = s->queue[s->head++];
  operation *o = &fake_gpu.operations[index];
  fake_gpu.running = o;
  fake_gpu.running_index = index;
  join(&s->known, &o->before);
  o->tick = ++s->known.at[s->number];
  if (o->left_out) s->missing = o->record;
  if (o->kind != WAIT && o->kind != RECORD &&
      s->missing >= 0) { /* the first that needed the wait, unless other waits say as much */
    const operation *record = &fake_gpu.operations[s->missing];
    fake_gpu.left_out_matters = !record->done || !knows(&s->known, &record->before);
    s->missing = -1;
  }
  if (s->now_ps < o->asked_ps) s->now_ps = o->asked_ps;
  switch (o->kind) {
  case KERNEL:
    s->now_ps += (int64_t)KERNEL_PS * fake_gpu.kernel_times;
    o->kernel->run(o->parameters);
    break;
  case COPY:
    s->now_ps += COPY_PS;
    fake_touch(o->from, o->bytes, false);
    fake_touch(o->to, o->bytes, true);
    memmove(o->to, o->from, o->bytes);
    break;
  case MEMSET:
    s->now_ps += MEMSET_PS;
    fake_touch(o->to, o->bytes, true);
    for (size_t i = 0; i < o->bytes; i += (size_t)o->value_bytes)
      memcpy(o->to + i, &o->value, (size_t)o->value_bytes);
    break;
  case RECORD:
    o->before = s->known;
    if (o->event->record == index) {
      o->event->over = true;
      o->event->known = s->known;
    }
    --o->event->pending;
    o->event->ps = o->end_ps = s->now_ps;
    break;
  case WAIT:
    if (!o->left_out) run_wait(o, s);
    break;
  case SEND:
    s->now_ps += COPY_PS;
    fake_touch(o->from, o->bytes, false);
    o->before = s->known; /* what the receive then knows */
    o->parameters = fake_make(o->bytes + 1);
    memcpy(o->parameters, o->from, o->bytes);
    o->done = true;
    fake_gpu.running = NULL;
    return;
  case RECEIVE:
    s->now_ps += COPY_PS;
    run_receive(o, s);
    break;
  }
  o->done = true;
  free(o->parameters);
  o->parameters = NULL;
  fake_gpu.running = NULL;
}

static int find_ready(CUstream ready[FAKE_STREAMS]) {
  int count = 0;
  for (int i = 0; i < fake_gpu.stream_count && !fake_gpu.hangs; ++i)
    if (fake_gpu.streams[i] && is_ready(fake_gpu.streams[i])) ready[count++] = fake_gpu.streams[i];
  return count;
}

/* Runs some operations, in an order that the seed draws among streams that can go on. */
static void progress(int count) {
  CUstream ready[FAKE_STREAMS];
  int ready_count = find_ready(ready);
  for (; count-- > 0 && ready_count > 0; ready_count = find_ready(ready))
    run_one(ready[next_random() % (uint64_t)ready_count]);
  if (ready_count == 0) hide_all();
}

/* ---- Enqueuing ---- */

operation *fake_enqueue(CUstream s, kind what) {
  hide_all();
  operation o = {.kind = what, .stream = s->number, .record = -1};
  if (s->capturing) {
    struct CUgraph_st *g = s->capturing;
    ZB_ASSERT(fake_grow((void **)&g->items, &g->capacity, g->count + 1, sizeof o));
    g->items[g->count] = o;
    return &g->items[g->count++];
  }
  ZB_ASSERT(
      fake_grow((void **)&fake_gpu.operations, &fake_gpu.operation_capacity, fake_gpu.operation_count + 1, sizeof o));
  ZB_ASSERT(fake_grow((void **)&s->queue, &s->capacity, s->count + 1, sizeof(int)));
  o.before = fake_gpu.host;
  o.asked_ps = fake_gpu.host_ps;
  s->queue[s->count++] = (int)fake_gpu.operation_count;
  fake_gpu.operations[fake_gpu.operation_count] = o;
  return &fake_gpu.operations[fake_gpu.operation_count++];
}

void fake_log_line(CUstream s, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (s->capturing) return;
  ZB_ASSERT(
      fake_grow((void **)&fake_gpu.log, &fake_gpu.log_capacity, fake_gpu.log_length + sizeof text + NAME_BYTES, 1));
  fake_gpu.log_length +=
      (size_t)snprintf(fake_gpu.log + fake_gpu.log_length, sizeof text + NAME_BYTES, "%s: %s\n", s->name, text);
}

static CUresult fake_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream s, void **parameters,
                            void **extra) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuLaunchKernel");
  const fake_kernel *kernel = (const fake_kernel *)(const void *)function;
  ZB_ASSERT(grid_x && grid_y && grid_z && block_x && block_y && block_z && !extra && shared_bytes < (1U << 18));
  operation *o = fake_enqueue(s, KERNEL);
  o->kernel = kernel;
  o->bytes = kernel->parameter_bytes;
  o->parameters = fake_make(kernel->parameter_bytes + 1);
  ZB_ASSERT(o->parameters);
  memcpy(o->parameters, parameters[0], kernel->parameter_bytes);
  snprintf(o->text, sizeof o->text, "%s", kernel->name);
  fake_log_line(s, "kernel %s", kernel->name);
  return CUDA_SUCCESS;
}

static CUresult copy(const char *what, void *to, const void *from, size_t bytes, CUstream s) {
  char a[NAME_BYTES], b[NAME_BYTES];
  operation *o = fake_enqueue(s, COPY);
  o->to = to;
  o->from = from;
  o->bytes = bytes;
  snprintf(o->text, sizeof o->text, "%s of %zu bytes", what, bytes);
  fake_log_line(s, "%s %s -> %s, %zu", what, fake_place(from, a), fake_place(to, b), bytes);
  return CUDA_SUCCESS;
}

static CUresult fake_upload(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemcpyHtoDAsync");
  return copy("upload", (void *)(uintptr_t)to, from, bytes, s);
}

static CUresult fake_download(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemcpyDtoHAsync");
  return copy("download", to, (const void *)(uintptr_t)from, bytes, s);
}

static CUresult fake_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemcpyDtoDAsync");
  return copy("copy", (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, s);
}

static CUresult set(CUdeviceptr at, unsigned value, int value_bytes, size_t count, CUstream s) {
  char text[NAME_BYTES];
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemsetD8Async");
  operation *o = fake_enqueue(s, MEMSET);
  o->to = (unsigned char *)(uintptr_t)at;
  o->bytes = count * (size_t)value_bytes;
  o->value = (int)value;
  o->value_bytes = value_bytes;
  snprintf(o->text, sizeof o->text, "memset of %zu bytes", o->bytes);
  fake_log_line(s, "memset %s, %zu", fake_place(o->to, text), o->bytes);
  return CUDA_SUCCESS;
}

static CUresult fake_memset8(CUdeviceptr at, unsigned char value, size_t count, CUstream s) {
  return set(at, value, 1, count, s);
}

static CUresult fake_memset32(CUdeviceptr at, unsigned value, size_t count, CUstream s) {
  return set(at, value, 4, count, s);
}

static CUresult fake_record(CUevent event, CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuEventRecord");
  if (s->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  operation *o = fake_enqueue(s, RECORD);
  o->event = event;
  event->record = (int)fake_gpu.operation_count - 1;
  event->over = false;
  ++event->pending;
  fake_log_line(s, "record e%d", event->number);
  return CUDA_SUCCESS;
}

static CUresult fake_wait(CUstream s, CUevent event, unsigned flags) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuStreamWaitEvent");
  if (s->capturing || flags) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  operation *o = fake_enqueue(s, WAIT);
  o->record = event->record;
  o->left_out = fake_gpu.waits++ == fake_gpu.leave_out;
  if (o->left_out) fake_gpu.left_out_of_message = s->of_messages;
  fake_log_line(s, "wait e%d", event->number);
  return CUDA_SUCCESS;
}

/* ---- Streams and events ---- */

static CUresult fake_stream_create(CUstream *out, unsigned flags, int priority) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuStreamCreateWithPriority");
  ZB_ASSERT(fake_gpu.stream_count < FAKE_STREAMS && flags == CU_STREAM_NON_BLOCKING);
  CUstream s = fake_make(sizeof *s);
  ZB_ASSERT(s);
  s->number = fake_gpu.stream_count;
  s->missing = -1;
  s->of_messages = priority != 0;
  if (!s->of_messages)
    snprintf(s->name, sizeof s->name, "c%d", fake_gpu.compute_count++);
  else
    snprintf(s->name, sizeof s->name, "x%d", fake_gpu.channel_count++);
  fake_gpu.streams[fake_gpu.stream_count++] = s;
  ++fake_gpu.live;
  *out = s;
  return CUDA_SUCCESS;
}

static bool is_idle(CUstream s) { return s->head >= s->count; }

static CUresult look(CUstream s) {
  if (!is_idle(s)) return CUDA_ERROR_NOT_READY;
  join(&fake_gpu.host, &s->known);
  if (s->now_ps > fake_gpu.host_ps) fake_gpu.host_ps = s->now_ps;
  return CUDA_SUCCESS;
}

static CUresult fake_stream_query(CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuStreamQuery");
  progress(BATCH);
  return look(s);
}

static CUresult fake_stream_synchronize(CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuStreamSynchronize");
  if (s->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (fake_gpu.hangs) return CUDA_SUCCESS; /* as if its work had been aborted */
  progress(1 << 30);
  ZB_ASSERT(is_idle(s)); /* it waits for what nobody enqueued */
  return look(s);
}

/* The operations stay: other streams may have waited for them. */
static CUresult fake_stream_destroy(CUstream s) {
  NEEDS_CONTEXT();
  --fake_gpu.live;
  (void)s;
  return CUDA_SUCCESS;
}

static CUresult fake_event_create(CUevent *out, unsigned flags) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuEventCreate");
  CUevent event = fake_make(sizeof *event);
  ZB_ASSERT(event && (flags == CU_EVENT_DEFAULT || flags == CU_EVENT_DISABLE_TIMING));
  *event = (struct CUevent_st){
      .number = fake_gpu.event_count++, .record = -1, .over = true, .timed = flags == CU_EVENT_DEFAULT};
  ++fake_gpu.live;
  *out = event;
  return CUDA_SUCCESS;
}

static CUresult fake_event_destroy(CUevent event) {
  NEEDS_CONTEXT();
  ZB_ASSERT(event->pending == 0 || fake_gpu.hangs);
  free(event);
  --fake_gpu.live;
  return CUDA_SUCCESS;
}

static CUresult fake_event_query(CUevent event) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuEventQuery");
  progress(BATCH);
  if (!event->over) return CUDA_ERROR_NOT_READY;
  join(&fake_gpu.host, &event->known);
  return CUDA_SUCCESS;
}

static CUresult fake_event_synchronize(CUevent event) {
  while (fake_event_query(event) == CUDA_ERROR_NOT_READY && !fake_gpu.hangs)
    continue;
  return CUDA_SUCCESS;
}

static CUresult fake_elapsed(float *milliseconds, CUevent start, CUevent end) {
  NEEDS_CONTEXT();
  if (!start->timed || !end->timed || start->record < 0 || end->record < 0) return INVALID_HANDLE;
  if (!start->over || !end->over) return CUDA_ERROR_NOT_READY;
  *milliseconds = (float)((double)(end->ps - start->ps) / 1e9);
  return CUDA_SUCCESS;
}

/* ---- Graphs ---- */

static CUresult fake_begin_capture(CUstream s, CUstreamCaptureMode mode) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuStreamBeginCapture");
  ZB_ASSERT(!s->capturing && mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  s->capturing = fake_make(sizeof *s->capturing);
  ZB_ASSERT(s->capturing);
  ++fake_gpu.live;
  return CUDA_SUCCESS;
}

static CUresult fake_end_capture(CUstream s, CUgraph *out) {
  *out = s->capturing;
  s->capturing = NULL;
  return CUDA_SUCCESS;
}

static CUresult fake_graph_destroy(CUgraph graph) {
  for (size_t i = 0; i < graph->count; ++i)
    free(graph->items[i].parameters);
  free(graph->items);
  free(graph);
  --fake_gpu.live;
  return CUDA_SUCCESS;
}

static operation copy_of(const operation *o) {
  operation result = *o;
  if (o->parameters) {
    result.parameters = fake_make(o->bytes + 1);
    ZB_ASSERT(result.parameters);
    memcpy(result.parameters, o->parameters, o->bytes);
  }
  return result;
}

static CUresult fake_instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuGraphInstantiate");
  (void)flags;
  CUgraphExec it = fake_make(sizeof *it);
  ZB_ASSERT(it);
  *it = (struct CUgraphExec_st){.items = fake_make(sizeof(operation) * (graph->count + 1)),
                                .count = graph->count,
                                .number = fake_gpu.graph_count++};
  ZB_ASSERT(it->items);
  for (size_t i = 0; i < graph->count; ++i)
    it->items[i] = copy_of(&graph->items[i]);
  ++fake_gpu.live;
  *out = it;
  return CUDA_SUCCESS;
}

static CUresult fake_exec_destroy(CUgraphExec it) {
  for (size_t i = 0; i < it->count; ++i)
    free(it->items[i].parameters);
  free(it->items);
  free(it);
  --fake_gpu.live;
  return CUDA_SUCCESS;
}

static CUresult fake_graph_upload(CUgraphExec it, CUstream s) {
  (void)it;
  (void)s;
  return CUDA_SUCCESS;
}

static CUresult fake_graph_launch(CUgraphExec it, CUstream s) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuGraphLaunch");
  for (size_t i = 0; i < it->count; ++i) {
    operation *o = fake_enqueue(s, it->items[i].kind), node = copy_of(&it->items[i]);
    node.before = o->before;
    node.asked_ps = o->asked_ps;
    node.stream = o->stream;
    *o = node;
  }
  fake_log_line(s, "graph g%d, %zu nodes", it->number, it->count);
  return CUDA_SUCCESS;
}

/* ---- Memory ---- */

static void *map_pages(size_t bytes) {
  void *result = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ZB_ASSERT(result != MAP_FAILED);
  return result;
}

static memory *add_memory(size_t bytes, bool pinned) {
  ZB_ASSERT(
      fake_grow((void **)&fake_gpu.memories, &fake_gpu.memory_capacity, fake_gpu.memory_count + 1, sizeof(memory)));
  memory *m = &fake_gpu.memories[fake_gpu.memory_count];
  *m =
      (memory){.at = pinned ? memory_aligned(bytes) : map_pages(bytes), .bytes = bytes, .pinned = pinned, .live = true};
  ZB_ASSERT(m->at);
  snprintf(m->name, sizeof m->name, "m%zu", fake_gpu.memory_count++);
  if (pinned) return m;
  memset(m->at, 0xFF, bytes); /* what nobody wrote is no number */
  m->shown = true;
  show(m, false);
  return m;
}

static CUresult fake_alloc(CUdeviceptr *out, size_t bytes) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemAlloc");
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = (CUdeviceptr)(uintptr_t)add_memory(bytes, false)->at;
  fake_gpu.allocated += bytes;
  if (bytes > fake_gpu.largest) fake_gpu.largest = bytes;
  return CUDA_SUCCESS;
}

/* Memory must not go while something enqueued may use it. */
static void check_unused(const memory *m) {
  for (size_t i = 0; i < fake_gpu.operation_count && !fake_gpu.hangs; ++i) {
    const operation *o = &fake_gpu.operations[i];
    ZB_ASSERT(o->done || o->kind == RECORD || o->kind == WAIT || !m->live);
  }
}

static CUresult release(const void *at) {
  memory *m = memory_of(at);
  ZB_ASSERT(m && m->at == at);
  check_unused(m);
  m->live = false;
  if (!m->pinned) fake_gpu.allocated -= m->bytes;
  if (m->pinned)
    free(m->at);
  else
    munmap(m->at, m->bytes);
  for (size_t i = 0; i < m->segment_count; ++i)
    free(m->segments[i].touches);
  free(m->segments);
  return CUDA_SUCCESS;
}

static CUresult fake_free(CUdeviceptr at) {
  NEEDS_CONTEXT();
  return release((const void *)(uintptr_t)at);
}

static CUresult fake_host_alloc(void **out, size_t bytes, unsigned flags) {
  NEEDS_CONTEXT();
  FAIL_IF_ASKED("cuMemHostAlloc");
  (void)flags;
  *out = add_memory(bytes, true)->at;
  return CUDA_SUCCESS;
}

static CUresult fake_host_free(void *at) {
  NEEDS_CONTEXT();
  return release(at);
}

static CUresult fake_mem_info(size_t *free_bytes, size_t *total_bytes) {
  NEEDS_CONTEXT();
  *free_bytes = (size_t)1 << 20;
  *total_bytes = (size_t)1 << 30;
  return CUDA_SUCCESS;
}

/* ---- The device ---- */

static CUresult fake_init(unsigned flags) {
  FAIL_IF_ASKED("cuInit");
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult fake_device_count(int *count) {
  FAIL_IF_ASKED("cuDeviceGetCount");
  *count = 1;
  return CUDA_SUCCESS;
}

static CUresult fake_device_get(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : 101;
}

static CUresult fake_device_name(char *name, int size, CUdevice device) {
  (void)device;
  snprintf(name, (size_t)size, "fake GPU");
  return CUDA_SUCCESS;
}

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  (void)device;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT   ? fake_gpu.processors
                                                                     : 0;
  return CUDA_SUCCESS;
}

static CUresult fake_retain(CUcontext *context, CUdevice device) {
  (void)device;
  *context = (CUcontext)(void *)&fake_gpu;
  ++fake_gpu.contexts;
  ++fake_gpu.live;
  return CUDA_SUCCESS;
}

static CUresult fake_release(CUdevice device) {
  (void)device;
  --fake_gpu.contexts;
  --fake_gpu.live;
  return CUDA_SUCCESS;
}

static CUresult fake_set_current(CUcontext context) {
  current = context;
  return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_context_synchronize(void) {
  NEEDS_CONTEXT();
  progress(1 << 30);
  return CUDA_SUCCESS;
}

static CUresult fake_priorities(int *least, int *greatest) {
  NEEDS_CONTEXT();
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

static CUresult fake_error_name(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                              : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

zb_status fake_load(zb_cuda_api *out) {
  *out = (zb_cuda_api){
      .cuInit = fake_init,
      .cuGetErrorName = fake_error_name,
      .cuGetErrorString = fake_error_name,
      .cuDeviceGetCount = fake_device_count,
      .cuDeviceGet = fake_device_get,
      .cuDeviceGetName = fake_device_name,
      .cuDeviceGetAttribute = fake_attribute,
      .cuDevicePrimaryCtxRetain = fake_retain,
      .cuDevicePrimaryCtxRelease = fake_release,
      .cuCtxSetCurrent = fake_set_current,
      .cuCtxSynchronize = fake_context_synchronize,
      .cuCtxGetStreamPriorityRange = fake_priorities,
      .cuMemGetInfo = fake_mem_info,
      .cuMemAlloc = fake_alloc,
      .cuMemFree = fake_free,
      .cuMemHostAlloc = fake_host_alloc,
      .cuMemFreeHost = fake_host_free,
      .cuMemcpyHtoDAsync = fake_upload,
      .cuMemcpyDtoHAsync = fake_download,
      .cuMemcpyDtoDAsync = fake_copy,
      .cuMemsetD8Async = fake_memset8,
      .cuMemsetD32Async = fake_memset32,
      .cuStreamCreateWithPriority = fake_stream_create,
      .cuStreamDestroy = fake_stream_destroy,
      .cuStreamQuery = fake_stream_query,
      .cuStreamSynchronize = fake_stream_synchronize,
      .cuStreamWaitEvent = fake_wait,
      .cuEventCreate = fake_event_create,
      .cuEventDestroy = fake_event_destroy,
      .cuEventRecord = fake_record,
      .cuEventQuery = fake_event_query,
      .cuEventSynchronize = fake_event_synchronize,
      .cuEventElapsedTime = fake_elapsed,
      .cuStreamBeginCapture = fake_begin_capture,
      .cuStreamEndCapture = fake_end_capture,
      .cuGraphDestroy = fake_graph_destroy,
      .cuGraphInstantiate = fake_instantiate,
      .cuGraphExecDestroy = fake_exec_destroy,
      .cuGraphUpload = fake_graph_upload,
      .cuGraphLaunch = fake_graph_launch,
      .cuLaunchKernel = fake_launch,
  };
  fake_nccl_fill(out);
  return NULL;
}

/* ---- For tests ---- */

void fake_start(uint64_t seed) {
  memset(&fake_gpu, 0, sizeof fake_gpu);
  fake_gpu.random = seed * 2 + 1;
  fake_gpu.leave_out = -1;
  fake_gpu.kernel_times = 1;
}

int fake_stop(void) {
  int left = fake_gpu.live + fake_gpu.astray;
  for (size_t i = 0; i < fake_gpu.memory_count; ++i) {
    left += fake_gpu.memories[i].live;
    if (fake_gpu.memories[i].live) release(fake_gpu.memories[i].at);
  }
  for (size_t i = 0; i < fake_gpu.operation_count; ++i)
    free(fake_gpu.operations[i].parameters);
  for (int i = 0; i < fake_gpu.stream_count; ++i) {
    free(fake_gpu.streams[i]->queue);
    free(fake_gpu.streams[i]);
  }
  for (int i = 0; i < FAKE_STREAMS * FAKE_STREAMS; ++i) {
    if (!fake_gpu.pairs[i]) continue;
    free(fake_gpu.pairs[i]->sends);
    free(fake_gpu.pairs[i]->receives);
    free(fake_gpu.pairs[i]);
  }
  free(fake_gpu.operations);
  free(fake_gpu.memories);
  free(fake_gpu.log);
  return left;
}

CUfunction fake_function(const fake_kernel *kernel) { return (CUfunction)(void *)(uintptr_t)kernel; }

const char *fake_log(void) { return fake_gpu.log_length ? fake_gpu.log : ""; }

void fake_log_clear(void) { fake_gpu.log_length = 0; }

void fake_name(const void *at, const char *name) {
  memory *m = memory_of(at);
  ZB_ASSERT(m);
  snprintf(m->name, sizeof m->name, "%s", name);
}

int fake_races(void) { return fake_gpu.races; }

const char *fake_first_race(void) { return fake_gpu.first_race; }

void fake_leave_out_wait(int n) { fake_gpu.leave_out = n; }

int fake_waits(void) { return fake_gpu.waits; }

bool fake_left_out_of_message(void) { return fake_gpu.left_out_of_message; }

bool fake_left_out_matters(void) { return fake_gpu.left_out_matters; }

/* What a stream does after a line of the log that is not another wait: "graph g0, ...". */
static const char *next_on_stream(const char *line) {
  size_t length = strcspn(line, " ") + 1;
  for (const char *next = strchr(line, '\n') + 1; *next; next = strchr(next, '\n') + 1)
    if (strncmp(next, line, length) == 0 && strncmp(next + length, "wait", 4) != 0) return next + length;
  return "";
}

bool fake_wait_is_last(int n) {
  for (const char *line = fake_log(); *line; line = strchr(line, '\n') + 1) {
    const char *what = strchr(line, ' ') + 1;
    if (strncmp(what, "wait", 4) == 0 && n-- == 0) return strncmp(next_on_stream(line), "download", 8) == 0;
  }
  return false;
}

void fake_fail(const char *function, int n, CUresult result) {
  fake_gpu.fail_function = function;
  fake_gpu.fail_in = n;
  fake_gpu.fail_result = result;
}

void fake_hang(bool hangs) { fake_gpu.hangs = hangs; }

bool fake_captures(void) {
  for (int i = 0; i < fake_gpu.stream_count; ++i)
    if (fake_gpu.streams[i]->capturing) return true;
  return false;
}

void fake_slow(int times) { fake_gpu.kernel_times = times; }

void fake_processors(int count) { fake_gpu.processors = count; }

uint64_t fake_allocated(void) { return fake_gpu.allocated; }

uint64_t fake_largest(void) { return fake_gpu.largest; }
