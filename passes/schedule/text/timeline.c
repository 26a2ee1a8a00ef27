/* The simulated step as a timeline: jobs, optimizer, messages and live memory of every rank, in the form that real runs
 * write too. The writers are runtime/formats/timeline.h. Tests: test/passes/schedule/chart_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/formats/timeline.h"

typedef struct collection {
  const zb_model *model;
  zb_event *events;
  size_t event_count, event_capacity;
  zb_memory_sample *memory;
  size_t memory_count, memory_capacity;
  int messages;
} collection;

static zb_status add_event(collection *c, zb_event event) {
  if (!zb_grow((void **)&c->events, &c->event_capacity, c->event_count + 1, sizeof *c->events))
    return ZB_OUT_OF_MEMORY();
  c->events[c->event_count++] = event;
  return NULL;
}

/* Samples at one time are one step of the curve: the first job of a rank does not start from a drop. */
static zb_status add_memory(collection *c, int rank, int64_t time_ps, int64_t bytes) {
  if (!zb_grow((void **)&c->memory, &c->memory_capacity, c->memory_count + 1, sizeof *c->memory))
    return ZB_OUT_OF_MEMORY();
  c->memory[c->memory_count++] = (zb_memory_sample){rank, time_ps, (uint64_t)bytes};
  return NULL;
}

static zb_status collect_jobs(collection *c, const zb_order *order, const zb_simulation *simulation) {
  const zb_problem *p = c->model->problem;
  for (int rank = 0; rank < order->ranks; ++rank) {
    int64_t live = p->base_bytes ? p->base_bytes[rank] : 0;
    ZB_TRY(add_memory(c, rank, 0, live));
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      const zb_job_times times = simulation->jobs[rank][i];
      const zb_stage_cost *cost = &p->costs[job.stage];
      ZB_TRY(add_event(c, (zb_event){.rank = rank,
                                     .lane = ZB_LANE_COMPUTE,
                                     .kind = zb_kind_letter(job.kind),
                                     .stage = job.stage,
                                     .chunk = c->model->stage_chunk[job.stage],
                                     .micro_batch = job.micro_batch,
                                     .message = -1,
                                     .start_ps = times.start_ps,
                                     .end_ps = times.end_ps}));
      live += cost->keep_bytes[job.kind];
      if (cost->keep_bytes[job.kind]) ZB_TRY(add_memory(c, rank, times.start_ps, live));
      live -= cost->free_bytes[job.kind];
      if (cost->free_bytes[job.kind]) ZB_TRY(add_memory(c, rank, times.end_ps, live));
    }
    const int64_t optimizer = c->model->optimizer_ps[rank], start = simulation->optimizer_start_ps[rank];
    if (optimizer)
      ZB_TRY(add_event(c, (zb_event){.rank = rank,
                                     .lane = ZB_LANE_COMPUTE,
                                     .kind = 'O',
                                     .stage = -1,
                                     .micro_batch = -1,
                                     .message = -1,
                                     .start_ps = start,
                                     .end_ps = start + optimizer}));
  }
  return NULL;
}

static zb_status collect_message(void *context, const zb_message_times *message) {
  collection *c = context;
  const int *rank = c->model->problem->stage_rank, *chunk = c->model->stage_chunk;
  const int64_t start = message->start_ps, end = message->end_ps;
  zb_event event = {.rank = rank[message->source],
                    .lane = ZB_LANE_SEND,
                    .kind = 'S',
                    .stage = message->source,
                    .chunk = chunk[message->source],
                    .micro_batch = message->micro_batch,
                    .message = c->messages++,
                    .start_ps = start,
                    .end_ps = end,
                    .bytes = (uint64_t)message->bytes};
  ZB_TRY(add_event(c, event));
  event.rank = rank[message->destination];
  event.lane = ZB_LANE_RECV;
  event.kind = 'R';
  event.stage = message->destination;
  event.chunk = chunk[message->destination];
  return add_event(c, event);
}

/* A timeline and what it points to. */
typedef struct drawing {
  zb_model model;
  collection collected;
} drawing;

static void drawing_deinit(drawing *d) {
  zb_free(d->collected.events);
  zb_free(d->collected.memory);
  zb_model_deinit(&d->model);
}

static zb_status draw(const zb_order_picture *picture, drawing *d, zb_timeline *out) {
  ZB_TRY(zb_model_init(picture->problem, &d->model));
  collection *c = &d->collected;
  c->model = &d->model;
  ZB_TRY(collect_jobs(c, picture->order, picture->simulation));
  ZB_TRY(zb_order_messages(&d->model, picture->order, picture->simulation, collect_message, c));
  *out = (zb_timeline){.title = picture->title ? picture->title : "schedule (simulated)",
                       .note = "simulated, zb " ZB_VERSION,
                       .ranks = picture->problem->ranks,
                       .chunks = d->model.chunks,
                       .events = c->events,
                       .event_count = (int64_t)c->event_count,
                       .memory = c->memory,
                       .memory_count = (int64_t)c->memory_count};
  return NULL;
}

zb_status zb_order_timeline(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                            const char *title, const char *path) {
  const bool svg = zb_ends_with(path, ".svg");
  if (!svg && !zb_ends_with(path, ".json"))
    return ZB_ERROR(USAGE, "%s: expected a file name that ends in .svg or .json", path);
  const zb_order_picture picture = {problem, order, simulation, title};
  drawing d = {0};
  zb_timeline timeline;
  zb_status status = draw(&picture, &d, &timeline);
  if (!status) status = svg ? zb_timeline_svg(&timeline, path) : zb_timeline_chrome(&timeline, path);
  drawing_deinit(&d);
  return status;
}

zb_status zb_order_pictures(const zb_order_picture *pictures, int count, const char *path) {
  if (count < 1) return ZB_ERROR(USAGE, "pictures: expected 1 or more, got %d", count);
  if (!zb_ends_with(path, ".svg")) return ZB_ERROR(USAGE, "%s: expected a file name that ends in .svg", path);
  zb_status status = NULL;
  drawing *drawings = zb_alloc((size_t)count * sizeof *drawings);
  zb_timeline *timelines = zb_alloc((size_t)count * sizeof *timelines);
  if (!drawings || !timelines) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  for (int i = 0; i < count; ++i)
    ZB_TRY_GOTO(draw(&pictures[i], &drawings[i], &timelines[i]));
  ZB_TRY_GOTO(zb_timeline_svg_all(timelines, count, path));
cleanup:
  for (int i = 0; drawings && i < count; ++i)
    drawing_deinit(&drawings[i]);
  zb_free(drawings);
  zb_free(timelines);
  return status;
}
