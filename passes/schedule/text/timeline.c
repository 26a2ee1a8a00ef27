/* The simulated step as a timeline: jobs, optimizer, messages and live memory of every rank, in the form that real runs
 * write too. The writers are runtime/formats/timeline.h. Tests: test/passes/schedule/chart_test.c.
 */

#include "passes/schedule/model.h"
#include "runtime/base/text.h"
#include "runtime/formats/timeline.h"

typedef struct collection {
  zb_model model; /* its memory is that of the lists */
  ZB_LIST(zb_event) events;
  ZB_LIST(zb_memory_sample) memory;
  int messages;
} collection;

static zb_status add_event(collection *c, zb_event event) {
  return ZB_PUSH(&c->model.arena, &c->events, event) ? NULL : ZB_OUT_OF_MEMORY();
}

/* Samples at one time are one step of the curve: the first job of a rank does not start from a drop. */
static zb_status add_memory(collection *c, int rank, int64_t time_ps, int64_t bytes) {
  const zb_memory_sample sample = {rank, time_ps, (uint64_t)bytes};
  return ZB_PUSH(&c->model.arena, &c->memory, sample) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status collect_jobs(collection *c, const zb_order *order, const zb_simulation *simulation) {
  const zb_problem *p = c->model.problem;
  for (int rank = 0; rank < order->ranks; ++rank) {
    int64_t live = zb_base_bytes(p, rank);
    ZB_TRY(add_memory(c, rank, 0, live));
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      const zb_job_times times = simulation->jobs[rank][i];
      const zb_stage_cost *cost = &p->costs[job.stage];
      ZB_TRY(add_event(c, (zb_event){.rank = rank,
                                     .lane = ZB_LANE_COMPUTE,
                                     .kind = zb_kind_letter(job.kind),
                                     .stage = job.stage,
                                     .chunk = c->model.stage_chunk[job.stage],
                                     .micro_batch = job.micro_batch,
                                     .message = -1,
                                     .start_ps = times.start_ps,
                                     .end_ps = times.end_ps}));
      live += cost->keep_bytes[job.kind];
      if (cost->keep_bytes[job.kind]) ZB_TRY(add_memory(c, rank, times.start_ps, live));
      live -= cost->free_bytes[job.kind];
      if (cost->free_bytes[job.kind]) ZB_TRY(add_memory(c, rank, times.end_ps, live));
    }
    const int64_t optimizer = c->model.optimizer_ps[rank], start = simulation->optimizer_start_ps[rank];
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
  const int *rank = c->model.problem->stage_rank, *chunk = c->model.stage_chunk;
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

static zb_status draw(const zb_order_picture *picture, collection *c, zb_timeline *out) {
  ZB_TRY(zb_model_init(picture->problem, &c->model));
  ZB_TRY(collect_jobs(c, picture->order, picture->simulation));
  ZB_TRY(zb_order_messages(&c->model, picture->order, picture->simulation, collect_message, c));
  *out = (zb_timeline){.title = picture->title ? picture->title : "schedule (simulated)",
                       .note = "simulated, zb " ZB_VERSION,
                       .ranks = picture->problem->ranks,
                       .chunks = c->model.chunks,
                       .events = c->events.items,
                       .event_count = (int64_t)c->events.count,
                       .memory = c->memory.items,
                       .memory_count = (int64_t)c->memory.count};
  return NULL;
}

zb_status zb_order_timeline(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                            const char *title, const char *path) {
  const bool svg = zb_ends_with(path, ".svg");
  if (!svg && !zb_ends_with(path, ".json"))
    return ZB_ERROR(USAGE, "%s: expected a file name that ends in .svg or .json", path);
  const zb_order_picture picture = {problem, order, simulation, title};
  collection c = {0};
  zb_timeline timeline;
  zb_status status = draw(&picture, &c, &timeline);
  if (!status) status = svg ? zb_timeline_svg(&timeline, path) : zb_timeline_chrome(&timeline, path);
  zb_model_deinit(&c.model);
  return status;
}

zb_status zb_order_pictures(const zb_order_picture *pictures, int count, const char *path) {
  if (count < 1) return ZB_ERROR(USAGE, "pictures: expected 1 or more, got %d", count);
  if (!zb_ends_with(path, ".svg")) return ZB_ERROR(USAGE, "%s: expected a file name that ends in .svg", path);
  zb_status status = NULL;
  zb_arena arena = {0};
  collection *collections;
  zb_timeline *timelines;
  ZB_TAKE(&arena, collections, count);
  ZB_TAKE(&arena, timelines, count);
  ZB_TRY_GOTO(zb_arena_status(&arena));
  for (int i = 0; i < count; ++i)
    ZB_TRY_GOTO(draw(&pictures[i], &collections[i], &timelines[i]));
  ZB_TRY_GOTO(zb_timeline_svg_all(timelines, count, path));
cleanup:
  for (int i = 0; collections && i < count; ++i)
    zb_model_deinit(&collections[i].model);
  zb_arena_deinit(&arena);
  return status;
}
