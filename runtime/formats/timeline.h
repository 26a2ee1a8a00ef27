/* Timelines: what each rank did when, from simulation and from a real run alike, as SVG and as Chrome trace. */
#pragma once

#include "zb/status.h"

typedef enum zb_lane { ZB_LANE_COMPUTE, ZB_LANE_SEND, ZB_LANE_RECV, ZB_LANE_COUNT } zb_lane;

typedef struct zb_event {
  int32_t rank;
  zb_lane lane;
  char kind;           /* letter of include/zb/jobs.def */
  int32_t stage;       /* virtual stage */
  int32_t chunk;       /* which chunk of its rank: shade */
  int32_t micro_batch; /* -1 none */
  int32_t message;     /* SEND, RECV: number, joins both ends with a flow arrow; else -1 */
  int64_t start_ps, end_ps;
  uint64_t bytes; /* messages */
  double flops;
} zb_event;

typedef struct zb_memory_sample {
  int32_t rank;
  int64_t time_ps;
  uint64_t bytes;
} zb_memory_sample;

typedef struct zb_timeline {
  const char *title; /* "zb-h1, 4 ranks, 8 micro-batches (simulated)" */
  const char *note;  /* clock error, version; may be NULL */
  int ranks, chunks;
  const zb_event *events;
  int64_t event_count;
  const zb_memory_sample *memory; /* by rank and time; may be NULL */
  int64_t memory_count;
} zb_timeline;

/* One self-contained SVG: a row a rank, F/B/W in colours with W hatched and lighter, chunks shaded, idle white, time
 * axis in real units, memory curve beneath each rank, <title> tooltips, idle share at the right, legend. Legible at 8
 * ranks x 24 micro-batches. */
zb_status zb_timeline_svg(const zb_timeline *timeline, const char *path) ZB_MUST_USE;
/* Several under each other in one SVG, on one scale of time and one of memory, so that they compare. */
zb_status zb_timeline_svg_all(const zb_timeline *timelines, int count, const char *path) ZB_MUST_USE;
/* Chrome/Perfetto JSON, object form: process = rank, thread = lane, X events, flow arrows per message, memory counters.
 */
zb_status zb_timeline_chrome(const zb_timeline *timeline, const char *path) ZB_MUST_USE;
