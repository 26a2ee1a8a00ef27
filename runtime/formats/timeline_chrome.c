/* Timelines as Chrome trace, object form, as Perfetto and chrome://tracing read it.
 *
 * A rank is a process, a lane is a thread. Slices of one thread must nest or not overlap, and messages of one rank to
 * several peers do overlap, so sends and receives are spread over as few threads as needed. Times are microseconds with
 * six decimals: exact picoseconds. Format: "Trace Event Format" (Google). Tests: test/runtime/base/timeline_test.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/formats/json_fields.h"
#include "runtime/formats/timeline.h"

/* Threads of one kind in a rank: thread number = lane * LANE_THREADS + which of them. */
enum { LANE_THREADS = 1000 };

static const char *const lane_names[ZB_LANE_COUNT] = {"compute", "send", "recv"};

typedef struct trace {
  const zb_timeline *timeline;
  zb_text *out;
  const zb_event **events; /* by rank, lane, start */
  int *threads;            /* of events[i] */
  bool first;
  zb_arena memory;
} trace;

static int compare_events(const void *a, const void *b) {
  const zb_event *x = *(const zb_event *const *)a, *y = *(const zb_event *const *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->start_ps != y->start_ps) return x->start_ps < y->start_ps ? -1 : 1;
  if (x->end_ps != y->end_ps) return x->end_ps < y->end_ps ? -1 : 1;
  return x < y ? -1 : x > y; /* both lie in the caller's array: its order */
}

/* A time as text; it lives until the end of the call that it is an argument of. */
typedef struct microseconds {
  char text[32];
} microseconds;

static microseconds time_of(int64_t ps) {
  const uint64_t size = ps < 0 ? (uint64_t)0 - (uint64_t)ps : (uint64_t)ps;
  microseconds out;
  snprintf(out.text, sizeof out.text, "%s%llu.%06llu", ps < 0 ? "-" : "", (unsigned long long)(size / 1000000),
           (unsigned long long)(size % 1000000));
  return out;
}

static void next(trace *t) {
  zb_text_add(t->out, "%s", t->first ? "\n" : ",\n");
  t->first = false;
}

static void add_name(trace *t, const char *kind, int process, int thread, const char *name, int sort_index) {
  next(t);
  zb_text_add(t->out, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", kind, process,
              thread);
  zb_json_add_string(t->out, name);
  zb_text_add(t->out, "}}");
  next(t);
  zb_text_add(t->out, "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}}",
              kind, process, thread, sort_index);
}

/* Spreads the events of one rank and lane over threads: the first one that is free. Returns how many there are, 0 for
 * too many. */
static int spread(trace *t, int64_t begin, int64_t end) {
  int64_t free_at[LANE_THREADS];
  int used = 0;
  for (int64_t i = begin; i < end; ++i) {
    int thread = 0;
    while (thread < used && free_at[thread] > t->events[i]->start_ps)
      ++thread;
    if (thread == LANE_THREADS) return 0;
    if (thread == used) ++used;
    free_at[thread] = t->events[i]->end_ps;
    t->threads[i] = (int)t->events[i]->lane * LANE_THREADS + thread;
  }
  return used;
}

/* "rank 0 (stage 0,7)": virtual stages as they first occur. */
static void name_rank(trace *t, int rank, int64_t begin, int64_t end) {
  zb_text name = {0};
  zb_text_add(&name, "rank %d", rank);
  const size_t plain = name.length;
  for (int64_t i = begin; i < end; ++i) {
    const zb_event *event = t->events[i];
    bool known = event->stage < 0 || event->lane != ZB_LANE_COMPUTE;
    for (int64_t k = begin; k < i && !known && k < begin + 4096; ++k)
      known = t->events[k]->stage == event->stage;
    if (!known) zb_text_add(&name, "%s%d", name.length == plain ? " (stage " : ",", event->stage);
  }
  if (name.length != plain) zb_text_add(&name, ")");
  if (name.failed)
    t->out->failed = true;
  else
    add_name(t, "process", rank, 0, name.data, rank);
  zb_text_deinit(&name);
}

static zb_status name_threads(trace *t) {
  const int64_t count = t->timeline->event_count;
  for (int64_t begin = 0; begin < count;) {
    const int rank = t->events[begin]->rank;
    int64_t end = begin;
    while (end < count && t->events[end]->rank == rank)
      ++end;
    name_rank(t, rank, begin, end);
    while (begin < end) {
      const zb_lane lane = t->events[begin]->lane;
      int64_t lane_end = begin;
      while (lane_end < end && t->events[lane_end]->lane == lane)
        ++lane_end;
      const int threads = spread(t, begin, lane_end);
      if (!threads)
        return ZB_ERROR(INVALID, "timeline: rank %d has more than %d %s events at a time", rank, LANE_THREADS,
                        lane_names[lane]);
      for (int thread = 0; thread < threads; ++thread)
        add_name(t, "thread", rank, (int)lane * LANE_THREADS + thread, lane_names[lane],
                 (int)lane * LANE_THREADS + thread);
      begin = lane_end;
    }
  }
  return NULL;
}

static void add_slice(trace *t, const zb_event *event, int thread) {
  zb_text *out = t->out;
  next(t);
  zb_text_add(out, "{\"ph\":\"X\",\"name\":\"");
  if (event->kind == 'O' || event->kind == 'A')
    zb_text_add(out, event->kind == 'O' ? "UPDATE" : "ADD");
  else if (event->micro_batch >= 0)
    zb_text_add(out, "%c%d", event->kind, event->micro_batch);
  else
    zb_text_add(out, "%c", event->kind);
  zb_text_add(out,
              "\",\"cat\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s,\"args\":{\"micro_batch\":%d,\"stage\":%d,"
              "\"chunk\":%d",
              event->kind, event->rank, thread, time_of(event->start_ps).text,
              time_of(event->end_ps - event->start_ps).text, event->micro_batch, event->stage, event->chunk);
  if (event->lane != ZB_LANE_COMPUTE)
    zb_text_add(out, ",\"message\":%d,\"bytes\":%llu", event->message, (unsigned long long)event->bytes);
  else
    zb_text_add(out, ",\"flops\":%.0f", event->flops);
  zb_text_add(out, "}}");
}

/* Both ends of a message. An arrow may not point back in time, and its end must lie inside the receive. */
static void add_flow(trace *t, const zb_event *event, int thread, int64_t send_start_ps) {
  const bool send = event->lane == ZB_LANE_SEND;
  int64_t at = event->start_ps;
  if (!send && at < send_start_ps) at = send_start_ps < event->end_ps ? send_start_ps : event->end_ps;
  next(t);
  zb_text_add(t->out,
              "{\"ph\":\"%s,\"name\":\"message\",\"cat\":\"message\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%s}",
              send ? "s\"" : "f\",\"bp\":\"e\"", event->message, event->rank, thread, time_of(at).text);
}

static void add_events(trace *t) {
  const int64_t count = t->timeline->event_count;
  int32_t most = -1;
  for (int64_t i = 0; i < count; ++i)
    if (t->events[i]->message > most) most = t->events[i]->message;
  int64_t *sent = ZB_NEW(&t->memory, int64_t, most + 1);
  if (!sent) return;
  for (int64_t i = 0; i < count; ++i)
    if (t->events[i]->lane == ZB_LANE_SEND && t->events[i]->message >= 0)
      sent[t->events[i]->message] = t->events[i]->start_ps;
  for (int64_t i = 0; i < count; ++i) {
    const zb_event *event = t->events[i];
    add_slice(t, event, t->threads[i]);
    if (event->lane != ZB_LANE_COMPUTE && event->message >= 0) add_flow(t, event, t->threads[i], sent[event->message]);
  }
}

static void add_memory(trace *t) {
  for (int64_t i = 0; i < t->timeline->memory_count; ++i) {
    const zb_memory_sample *sample = &t->timeline->memory[i];
    next(t);
    zb_text_add(t->out, "{\"ph\":\"C\",\"name\":\"memory rank %d\",\"pid\":%d,\"ts\":%s,\"args\":{\"total\":%llu}}",
                sample->rank, sample->rank, time_of(sample->time_ps).text, (unsigned long long)sample->bytes);
  }
}

static zb_status check(const zb_timeline *timeline) {
  for (int64_t i = 0; i < timeline->event_count; ++i) {
    const zb_event *event = &timeline->events[i];
    if (event->rank < 0 || event->rank >= timeline->ranks || event->lane < 0 || event->lane >= ZB_LANE_COUNT ||
        event->end_ps < event->start_ps || event->message < -1)
      return ZB_ERROR(
          INVALID,
          "timeline: event %lld: expected a rank of 0..%d, a lane, an end after the start and a message of -1 or more",
          (long long)i, timeline->ranks - 1);
  }
  return NULL;
}

zb_status zb_timeline_chrome(const zb_timeline *timeline, const char *path) {
  ZB_TRY(check(timeline));
  const size_t count = (size_t)timeline->event_count;
  zb_text text = {0};
  trace t = {.timeline = timeline, .out = &text, .first = true};
  t.events = ZB_NEW(&t.memory, const zb_event *, count);
  t.threads = ZB_NEW(&t.memory, int, count);
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(&t.memory));
  for (size_t i = 0; i < count; ++i)
    t.events[i] = &timeline->events[i];
  if (count) qsort(t.events, count, sizeof *t.events, compare_events);
  zb_text_add(&text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"zb " ZB_VERSION "\",\"title\":");
  zb_json_add_string(&text, timeline->title);
  zb_text_add(&text, ",\"note\":");
  zb_json_add_string(&text, timeline->note);
  zb_text_add(&text, "},\"traceEvents\":[");
  ZB_TRY_GOTO(name_threads(&t));
  add_events(&t);
  add_memory(&t);
  zb_text_add(&text, "\n]}\n");
  ZB_TRY_GOTO(text.failed ? ZB_OUT_OF_MEMORY() : zb_arena_status(&t.memory));
  status = zb_file_write_atomic(path, text.data, text.length);
cleanup:
  zb_arena_deinit(&t.memory);
  zb_text_deinit(&text);
  return status;
}
