/* Measured costs of a plan: see measure.h. Tests: test/runtime/exec/measure_test.c */
#include "runtime/exec/measure.h"

#include "runtime/base/arena.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Samples of one kind: one a step in which it ran. */
typedef struct series {
  int64_t *samples;
  size_t count, capacity;
  int64_t runs;
  int64_t sum, now; /* of the step at hand */
} series;

/* Messages between two ranks of one size. */
typedef struct message_kind {
  int source, destination;
  int64_t bytes;
} message_kind;

struct zb_measure {
  zb_arena memory; /* of the arrays whose size is known from the plan */
  zb_measure_params params;
  series *all; /* wake, job, read, step; subprograms by rank; kinds of ops; kinds of messages */
  size_t series_count;
  int *subprogram_series; /* [rank]: of its first subprogram */
  int **op_series;        /* [rank][subprogram's first + instruction], -1: not in the file */
  int **op_begin;         /* [rank][subprogram] */
  const char **op_texts;
  int op_count, op_first;
  int first_runs; /* series of first runs in a step, in the order of the subprograms' */
  bool *ran;      /* [subprogram of all ranks] in the step at hand */
  int *message_series;
  message_kind *message_kinds;
  int message_kind_count, message_first;
  int64_t *channel_ps;    /* [source * ranks + destination], links that do not copy */
  int (*message_jobs)[2]; /* [message]: jobs that post it at its source and destination */
  int64_t steps, counted_plain, counted_ops;
  bool plain, ops; /* what the step at hand is for */
};

enum { WAKE, JOB, READ, STEP, FIXED_SERIES };

static bool copies(const zb_measure *m) {
  return m->params.device->virtual_clock ? m->params.plan->link_copies : m->params.transport_def->copies;
}

/* ---- Making it ---- */

/* Kinds of ops get series by their text. */
static zb_status number_ops(zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  size_t ranks = (size_t)plan->rank_count, capacity = 0;
  zb_status status = NULL;
  zb_map *known = zb_map_create();
  ZB_TAKE(&m->memory, m->op_series, ranks);
  ZB_TAKE(&m->memory, m->op_begin, ranks);
  if (!known || m->memory.failed) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (size_t r = 0; r < ranks; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    int count = 0;
    for (int i = 0; i < rank->subprogram_count; ++i)
      count += rank->subprograms[i].instruction_count;
    ZB_TAKE(&m->memory, m->op_series[r], count + 1);
    ZB_TAKE(&m->memory, m->op_begin[r], rank->subprogram_count + 1);
    ZB_TRY_GOTO(zb_arena_status(&m->memory));
    int at = 0;
    for (int i = 0; i < rank->subprogram_count; ++i) {
      m->op_begin[r][i] = at;
      for (int k = 0; k < rank->subprograms[i].instruction_count; ++k, ++at) {
        const char *text = rank->subprograms[i].instructions[k].cost_op;
        int64_t index = -1;
        m->op_series[r][at] = -1;
        if (!text || !text[0]) continue;
        if (!zb_map_get(known, text, &index)) {
          index = m->op_count;
          bool grown = zb_grow((void **)&m->op_texts, &capacity, (size_t)m->op_count + 1, sizeof *m->op_texts);
          if (!grown || !zb_map_set(known, text, index)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
          m->op_texts[m->op_count++] = text;
        }
        m->op_series[r][at] = (int)index;
      }
    }
  }
cleanup:
  if (known) zb_map_destroy(known);
  return status;
}

static zb_status number_messages(zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  size_t count = (size_t)plan->message_count + 1, ranks = (size_t)plan->rank_count, capacity = 0;
  zb_status status = NULL;
  zb_map *known = zb_map_create();
  ZB_TAKE(&m->memory, m->message_series, count);
  ZB_TAKE(&m->memory, m->message_jobs, count);
  ZB_TAKE(&m->memory, m->channel_ps, ranks * ranks);
  if (!known || m->memory.failed) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    char text[64];
    int64_t index = 0;
    snprintf(text, sizeof text, "%d %d %llu", message->source, message->destination,
             (unsigned long long)message->bytes);
    if (!zb_map_get(known, text, &index)) {
      index = m->message_kind_count;
      size_t needed = (size_t)m->message_kind_count + 1;
      bool grown = zb_grow((void **)&m->message_kinds, &capacity, needed, sizeof *m->message_kinds);
      if (!grown || !zb_map_set(known, text, index)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
      m->message_kinds[m->message_kind_count++] =
          (message_kind){message->source, message->destination, (int64_t)message->bytes};
    }
    m->message_series[i] = (int)index;
  }
  for (size_t r = 0; r < ranks; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &plan->ranks[r].jobs[i];
      if (job->message >= 0) m->message_jobs[job->message][job->kind == ZB_JOB_RECV] = i;
    }
cleanup:
  if (known) zb_map_destroy(known);
  return status;
}

static void add_run(series *s, int64_t ps) {
  s->sum += ps;
  ++s->now;
}

/* Ends a step for a series. */
static zb_status keep(series *s) {
  if (s->now == 0) return NULL;
  if (!zb_grow((void **)&s->samples, &s->capacity, s->count + 1, sizeof *s->samples)) return ZB_OUT_OF_MEMORY();
  s->samples[s->count++] = llround((double)s->sum / (double)s->now);
  s->runs += s->now;
  s->sum = s->now = 0;
  return NULL;
}

/* A run of a subprogram, given by its series. */
static void add_subprogram_run(zb_measure *m, int number, int64_t ps) {
  bool *ran = &m->ran[number - FIXED_SERIES];
  add_run(&m->all[*ran ? number : m->first_runs + number - FIXED_SERIES], ps);
  *ran = true;
}

/* LOAD ran once, before the first step. */
static zb_status sample_load(zb_measure *m) {
  for (int r = 0; r < m->params.plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    for (int i = 0; i < e->program->load_count; ++i) {
      add_subprogram_run(m, m->subprogram_series[r] + e->program->jobs[i].subprogram,
                         e->times[i].end_ps - e->times[i].start_ps);
    }
  }
  for (size_t i = 0; i < m->series_count; ++i)
    ZB_TRY(keep(&m->all[i]));
  return NULL;
}

zb_status zb_measure_create(const zb_measure_params *params, zb_measure **out) {
  zb_measure *m = zb_alloc(sizeof *m);
  zb_status status = NULL;
  const zb_plan *plan = params->plan;
  *out = NULL;
  if (!m) return ZB_OUT_OF_MEMORY();
  m->params = *params;
  ZB_TAKE(&m->memory, m->subprogram_series, plan->rank_count + 1);
  ZB_TRY_GOTO(zb_arena_status(&m->memory));
  ZB_TRY_GOTO(number_ops(m));
  ZB_TRY_GOTO(number_messages(m));
  m->series_count = FIXED_SERIES;
  for (int r = 0; r < plan->rank_count; ++r) {
    m->subprogram_series[r] = (int)m->series_count;
    m->series_count += (size_t)plan->ranks[r].subprogram_count;
  }
  m->op_first = (int)m->series_count;
  m->message_first = m->op_first + m->op_count;
  m->first_runs = m->message_first + m->message_kind_count;
  m->series_count = (size_t)(m->first_runs + m->op_first - FIXED_SERIES);
  ZB_TAKE(&m->memory, m->ran, m->op_first - FIXED_SERIES + 1);
  ZB_TAKE(&m->memory, m->all, m->series_count);
  ZB_TRY_GOTO(zb_arena_status(&m->memory));
  ZB_TRY_GOTO(sample_load(m));
  *out = m;
  m = NULL;
cleanup:
  zb_measure_destroy(m);
  return status;
}

void zb_measure_destroy(zb_measure *m) {
  if (!m) return;
  for (size_t i = 0; m->all && i < m->series_count; ++i)
    zb_free(m->all[i].samples);
  zb_free(m->op_texts);
  zb_free(m->message_kinds);
  zb_arena_deinit(&m->memory);
  zb_free(m);
}

/* ---- Steps ---- */

void zb_measure_begin_step(zb_measure *m) {
  bool virtual_clock = m->params.device->virtual_clock;
  m->plain = virtual_clock || m->steps % 2 == 1;
  m->ops = !virtual_clock && m->steps > 0 && !m->plain;
  memset(m->params.resumed_ps, 0, 2 * (size_t)m->params.plan->message_count * sizeof *m->params.resumed_ps);
  for (int r = 0; r < m->params.plan->rank_count; ++r)
    m->params.device->time_ops(m->params.executors[r].device, m->ops);
}

static int64_t length(zb_run_times times) { return times.end_ps - times.start_ps; }

/* What ranks did beside waiting, and what is left for the interpreter. */
static void sample_jobs(zb_measure *m) {
  memset(m->ran, 0, (size_t)(m->op_first - FIXED_SERIES));
  const zb_plan *plan = m->params.plan;
  bool moves = copies(m);
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    int64_t left = e->ended_ps - e->started_ps - e->waiting_ps;
    for (int i = e->program->load_count; i < e->program->job_count; ++i) {
      const zb_plan_job *job = &e->program->jobs[i];
      int64_t time = length(e->times[i]);
      if (job->subprogram >= 0) add_subprogram_run(m, m->subprogram_series[r] + job->subprogram, time);
      if (job->kind == ZB_JOB_READ) add_run(&m->all[READ], time);
      bool second = false; /* whoever posts second copies */
      if (job->message >= 0 && moves) {
        const zb_plan_message *about = &plan->messages[job->message];
        int peer = job->kind == ZB_JOB_SEND ? about->destination : about->source;
        int other = m->message_jobs[job->message][job->kind == ZB_JOB_SEND];
        int64_t other_time = length(m->params.executors[peer].times[other]);
        second = time > other_time || (time == other_time && job->kind == ZB_JOB_RECV);
      }
      if (job->subprogram >= 0 || job->kind == ZB_JOB_READ || second) left -= time;
    }
    series *jobs = &m->all[JOB];
    jobs->sum += left > 0 ? left : 0;
    jobs->now += e->program->job_count - e->program->load_count;
  }
}

/* The end of the messages that a job waits for; 0: none. */
static int64_t waits_over_ps(const zb_measure *m, const zb_executor *e, const zb_plan_job *job) {
  int64_t over = 0;
  for (uint32_t i = 0; i < job->waits.count; ++i) {
    const zb_plan_job *other = &e->program->jobs[e->program->pool_u32[job->waits.begin + i]];
    int64_t end = m->params.transport_def->complete_ps(e->params.transport, e->params.rank, other->message);
    if (end > over) over = end;
  }
  return over;
}

/* On a device with a queue a rank's queue runs one job after the other: what lies between two of them is a wait for a
 * message that came later than the job before, and what it takes to go on after it, or else the cost of starting a job.
 */
static void sample_queue(zb_measure *m, const zb_executor *e) {
  const int *subprogram_series = &m->subprogram_series[e->params.rank];
  series *jobs = &m->all[JOB];
  int64_t before = e->times[e->program->load_count].start_ps, arrived = 0;
  for (int i = e->program->load_count; i < e->program->job_count; ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    const zb_run_times *times = &e->times[i];
    const int64_t over = waits_over_ps(m, e, job);
    if (over > arrived) arrived = over;
    ++jobs->now;
    if (job->subprogram < 0 && job->kind != ZB_JOB_READ && job->kind != ZB_JOB_REPORT)
      continue; /* moves on other queues */
    const bool waited = arrived > before;
    const int64_t gap = times->start_ps - (waited ? arrived : before);
    if (waited)
      add_run(&m->all[WAKE], gap > 0 ? gap : 0);
    else if (gap > 0)
      jobs->sum += gap;
    if (job->subprogram >= 0) add_subprogram_run(m, *subprogram_series + job->subprogram, length(*times));
    if (job->kind == ZB_JOB_READ) add_run(&m->all[READ], length(*times));
    before = times->end_ps;
  }
}

static void sample_device(zb_measure *m, int64_t took_ps) {
  const zb_plan *plan = m->params.plan;
  int64_t first = INT64_MAX, last = INT64_MIN;
  memset(m->ran, 0, (size_t)(m->op_first - FIXED_SERIES));
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    const int load = e->program->load_count, end = e->program->job_count;
    if (end > load) sample_queue(m, e);
    for (int i = load; i < end; ++i) {
      if (e->times[i].start_ps < first) first = e->times[i].start_ps;
      if (e->times[i].end_ps > last) last = e->times[i].end_ps;
    }
  }
  for (int i = 0; i < plan->message_count; ++i) {
    int receiver = plan->messages[i].destination;
    zb_transport *transport = m->params.executors[receiver].params.transport;
    int64_t start = m->params.transport_def->start_ps(transport, receiver, i),
            over = m->params.transport_def->complete_ps(transport, receiver, i);
    add_run(&m->all[m->message_first + m->message_series[i]], over > start ? over - start : 0);
  }
  add_run(&m->all[STEP], last > first && took_ps > last - first ? took_ps - (last - first) : 0);
}

static void sample_messages(zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  size_t ranks = (size_t)plan->rank_count;
  bool moves = copies(m);
  memset(m->channel_ps, 0, ranks * ranks * sizeof *m->channel_ps);
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    zb_run_times send = m->params.executors[message->source].times[m->message_jobs[i][0]];
    zb_run_times recv = m->params.executors[message->destination].times[m->message_jobs[i][1]];
    int64_t *channel = &m->channel_ps[(size_t)message->source * ranks + (size_t)message->destination];
    int64_t start = send.start_ps > recv.start_ps ? send.start_ps : recv.start_ps, end = 0;
    if (moves) {
      const zb_run_times *second = length(send) > length(recv) ? &send : &recv;
      start = second->start_ps;
      end = second->end_ps;
    } else {
      end = m->params.transport_def->complete_ps(m->params.executors[message->destination].params.transport,
                                                 message->destination, i);
      if (start < *channel) start = *channel;
      *channel = end;
    }
    add_run(&m->all[m->message_first + m->message_series[i]], end > start ? end - start : 0);
    for (int side = 0; side < 2; ++side) {
      int64_t resumed = m->params.resumed_ps[2 * i + side];
      if (resumed) add_run(&m->all[WAKE], resumed > end ? resumed - end : 0);
    }
  }
}

static void sample_step(zb_measure *m, int64_t took_ps) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (int r = 0; r < m->params.plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    if (e->started_ps < first) first = e->started_ps;
    if (e->ended_ps > last) last = e->ended_ps;
  }
  add_run(&m->all[STEP], took_ps > last - first ? took_ps - (last - first) : 0);
}

static void sample_ops(zb_measure *m) {
  for (int r = 0; r < m->params.plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    for (int i = 0; i < e->program->subprogram_count; ++i) {
      zb_op_time *times = m->params.device->op_times(e->programs[i]);
      int count = e->program->subprograms[i].instruction_count;
      for (int k = 0; k < count; ++k) {
        int kind = m->op_series[r][m->op_begin[r][i] + k];
        if (kind < 0) continue;
        m->all[m->op_first + kind].sum += times[k].ps;
        m->all[m->op_first + kind].now += times[k].runs;
      }
      if (count > 0) memset(times, 0, (size_t)count * sizeof *times);
    }
  }
}

zb_status zb_measure_end_step(zb_measure *m, int64_t took_ps) {
  ++m->steps;
  if (m->plain) {
    ++m->counted_plain;
    if (m->params.device->queue) {
      sample_device(m, took_ps);
    } else {
      sample_jobs(m);
      sample_messages(m);
      sample_step(m, took_ps);
    }
  }
  if (m->ops) {
    ++m->counted_ops;
    sample_ops(m);
  }
  for (size_t i = 0; i < m->series_count; ++i)
    ZB_TRY(keep(&m->all[i]));
  return NULL;
}

/* ---- The result ---- */

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return left < right ? -1 : left > right;
}

/* 0 without samples. Sorts them: their order does not matter. */
static int64_t median(const series *s) {
  if (s->count == 0) return 0;
  qsort(s->samples, s->count, sizeof *s->samples, compare_times);
  int64_t low = s->samples[(s->count - 1) / 2], high = s->samples[s->count / 2];
  return low + (high - low) / 2;
}

static bool set_text(char **to, const char *text) {
  *to = zb_strdup(text ? text : "");
  return *to != NULL;
}

static uint64_t frame_bytes(const zb_plan_rank *rank, int stage, const char *name) {
  for (int i = 0; i < rank->subprogram_count; ++i)
    for (int b = 0; rank->subprograms[i].stage == stage && b < rank->subprograms[i].base_count; ++b)
      if (strcmp(rank->subprograms[i].bases[b], name) == 0) return rank->subprograms[i].base_bytes[b];
  return 0;
}

static zb_status fill_program(const zb_measure *m, zb_costs *out) {
  const zb_plan *plan = m->params.plan;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  bool ok = set_text(&out->machine.device, m->params.device->name) &&
            set_text(&out->machine.instruction_set, m->params.instruction_set) &&
            set_text(&out->program.model, plan->model) && set_text(&out->program.schedule, plan->schedule);
  out->machine.cores = cores > 1 ? cores : 1;
  out->machine.threads = m->params.threads;
  out->machine.virtual_clock = m->params.device->virtual_clock;
  out->program.ranks = plan->rank_count;
  out->program.micro_batches = plan->micro_batches;
  out->program.steps = m->counted_plain + m->counted_ops;
  out->stages = zb_alloc((size_t)plan->stage_count * sizeof *out->stages);
  out->ranks = zb_alloc((size_t)plan->rank_count * sizeof *out->ranks);
  if (!ok || !out->stages || !out->ranks) return ZB_OUT_OF_MEMORY();
  out->stage_count = plan->stage_count;
  out->rank_count = plan->rank_count;
  for (int s = 0; s < plan->stage_count; ++s) {
    const zb_plan_rank *rank = &plan->ranks[plan->stage_rank[s]];
    out->stages[s] = (zb_cost_stage){.stage = s,
                                     .rank = plan->stage_rank[s],
                                     .fb_bytes = (int64_t)frame_bytes(rank, s, "fb"),
                                     .fw_bytes = (int64_t)frame_bytes(rank, s, "fw"),
                                     .bw_bytes = (int64_t)frame_bytes(rank, s, "bw")};
  }
  for (int r = 0; r < plan->rank_count; ++r)
    out->ranks[r] =
        (zb_cost_rank){r, (int64_t)(plan->ranks[r].arena_bytes - plan->ranks[r].regions[ZB_REGION_SLOTS].bytes)};
  return NULL;
}

static int compare_edges(const void *a, const void *b) {
  const zb_cost_edge *x = a, *y = b;
  if (x->source != y->source) return x->source < y->source ? -1 : 1;
  return x->destination < y->destination ? -1 : x->destination > y->destination;
}

/* What one micro-batch sends from stage to stage; neighbours on one rank hand over without a message. */
static zb_status fill_edges(const zb_plan *plan, zb_costs *out) {
  size_t capacity = (size_t)plan->stage_count, count = 0;
  for (int i = 0; i < plan->message_count; ++i)
    capacity += plan->messages[i].micro_batch == 0;
  zb_cost_edge *edges = out->edges = zb_alloc((capacity + 1) * sizeof *edges);
  if (!edges) return ZB_OUT_OF_MEMORY();
  for (int s = 0; s + 1 < plan->stage_count; ++s)
    if (plan->stage_rank[s] == plan->stage_rank[s + 1])
      edges[count++] = (zb_cost_edge){.source = s, .destination = s + 1};
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    int a = message->source_stage, b = message->destination_stage;
    if (message->micro_batch != 0 || message->payload == ZB_PAYLOAD_GRADIENTS || a == b || a < 0 || b < 0) continue;
    zb_cost_edge edge = {.source = a < b ? a : b, .destination = a < b ? b : a};
    *(a < b ? &edge.forward_bytes : &edge.backward_bytes) = (int64_t)message->bytes;
    edges[count++] = edge;
  }
  if (count) qsort(edges, count, sizeof *edges, compare_edges);
  for (size_t i = 0; i < count; ++i) { /* the two directions of one edge */
    bool same = out->edge_count > 0 && compare_edges(&edges[out->edge_count - 1], &edges[i]) == 0;
    zb_cost_edge *to = same ? &edges[out->edge_count - 1] : &edges[out->edge_count++];
    if (!same)
      *to = (zb_cost_edge){.source = edges[i].source,
                           .destination = edges[i].destination,
                           .forward_bytes = edges[i].forward_bytes,
                           .backward_bytes = edges[i].backward_bytes};
    else
      to->forward_bytes += edges[i].forward_bytes, to->backward_bytes += edges[i].backward_bytes;
  }
  return NULL;
}

static zb_status fill_subprograms(const zb_measure *m, zb_costs *out) {
  const zb_plan *plan = m->params.plan;
  size_t count = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    count += (size_t)plan->ranks[r].subprogram_count;
  out->subprograms = zb_alloc((count + 1) * sizeof *out->subprograms);
  if (!out->subprograms) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      const zb_plan_subprogram *s = &plan->ranks[r].subprograms[i];
      const series *others = &m->all[m->subprogram_series[r] + i];
      const series *first = &m->all[m->first_runs + m->subprogram_series[r] - FIXED_SERIES + i];
      if (first->runs == 0) continue;
      zb_cost_subprogram *to = &out->subprograms[out->subprogram_count++];
      *to = (zb_cost_subprogram){.rank = r,
                                 .stage = s->stage,
                                 .key = s->key,
                                 .first_ps = median(first),
                                 .time_ps = median(others->runs ? others : first),
                                 .runs = first->runs + others->runs};
      if (!set_text(&to->name, s->name) || !set_text(&to->kind, zb_job_mnemonic(s->kind))) return ZB_OUT_OF_MEMORY();
    }
  return NULL;
}

/* How long a step's subprograms take against the sum of their ops: reading clocks twice an op is in the latter. A
 * device with a queue times the ops of one run of each, its second if it has one. */
static double whole_by_ops(const zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  const bool one = m->params.device->queue;
  double whole = 0, ops = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      const series *others = &m->all[m->subprogram_series[r] + i];
      const series *first = &m->all[m->first_runs + m->subprogram_series[r] - FIXED_SERIES + i];
      if (plan->ranks[r].subprograms[i].kind == ZB_JOB_LOAD) continue;
      if (one)
        whole += (double)median(others->runs ? others : first) * (double)m->counted_plain;
      else
        whole += (double)median(others) * (double)others->runs + (double)median(first) * (double)first->runs;
    }
  for (int i = 0; i < m->op_count; ++i)
    ops += (double)median(&m->all[m->op_first + i]) * (double)m->all[m->op_first + i].runs;
  whole /= (double)m->counted_plain;
  ops /= m->counted_ops > 0 ? (double)m->counted_ops : 1;
  double ratio = ops > 0 ? whole / ops : 1;
  return ratio > 0.5 && ratio < 2 ? ratio : 1;
}

static zb_status fill_ops(const zb_measure *m, zb_costs *out) {
  const double ratio = whole_by_ops(m);
  out->ops = zb_alloc(((size_t)m->op_count + 1) * sizeof *out->ops);
  if (!out->ops) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < m->op_count; ++i) {
    const series *times = &m->all[m->op_first + i];
    if (times->runs == 0) continue;
    zb_cost_op *to = &out->ops[out->op_count++];
    *to = (zb_cost_op){.time_ps = llround(ratio * (double)median(times)), .runs = times->runs};
    if (!set_text(&to->op, m->op_texts[i])) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

/* The line of least squares through the times by size, each size as often as it was sent. One size alone fixes no line:
 * all by the byte. */
static void fit_link(const zb_costs *costs, zb_cost_link *out) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int64_t i = 0; i < costs->message_count; ++i) {
    const zb_cost_message *m = &costs->messages[i];
    double weight = (double)m->runs, bytes = (double)m->bytes, time = (double)m->time_ps;
    n += weight, x += weight * bytes, y += weight * time, xx += weight * bytes * bytes, xy += weight * bytes * time;
  }
  double spread = n * xx - x * x;
  double slope = spread > 1e-9 * n * xx ? (n * xy - x * y) / spread : -1;
  double start = n > 0 ? (y - slope * x) / n : 0;
  if (slope < 0 || start < 0) start = 0, slope = xx > 0 ? xy / xx : 0;
  if (xx <= 0 && n > 0) start = y / n;
  out->latency_ps = llround(start);
  out->ps_per_byte = slope;
}

static zb_status fill_messages(const zb_measure *m, zb_costs *out) {
  out->messages = zb_alloc(((size_t)m->message_kind_count + 1) * sizeof *out->messages);
  if (!out->messages) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < m->message_kind_count; ++i) {
    const series *times = &m->all[m->message_first + i];
    const message_kind *kind = &m->message_kinds[i];
    out->messages[out->message_count++] =
        (zb_cost_message){kind->source, kind->destination, kind->bytes, median(times), times->runs};
  }
  fit_link(out, &out->link);
  out->link.copies = copies(m);
  out->link.wake_ps = median(&m->all[WAKE]);
  out->overheads = (zb_cost_overheads){
      .job_ps = median(&m->all[JOB]), .read_ps = median(&m->all[READ]), .step_ps = median(&m->all[STEP])};
  return NULL;
}

zb_status zb_measure_enough(const zb_device_def *device, int64_t steps) {
  const int least = device->virtual_clock ? 1 : ZB_MEASURE_STEPS_LEAST;
  if (steps >= least) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "costs need at least %d step%s, got %lld", least, least == 1 ? "" : "s", (long long)steps),
      "add --steps 20: the more steps, the less a disturbed one matters");
}

zb_status zb_measure_costs(const zb_measure *m, zb_costs **out) {
  *out = NULL;
  ZB_TRY(zb_measure_enough(m->params.device, m->steps));
  zb_costs *costs = zb_alloc(sizeof *costs);
  if (!costs) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  ZB_TRY_GOTO(fill_program(m, costs));
  ZB_TRY_GOTO(fill_edges(m->params.plan, costs));
  ZB_TRY_GOTO(fill_subprograms(m, costs));
  ZB_TRY_GOTO(fill_ops(m, costs));
  ZB_TRY_GOTO(fill_messages(m, costs));
  *out = costs;
  costs = NULL;
cleanup:
  zb_costs_destroy(costs);
  return status;
}
