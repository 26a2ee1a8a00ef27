/* Measured costs of a plan: see measure.h. Tests: test/runtime/exec/measure_test.c */
#include "runtime/exec/measure.h"
#include "runtime/plan/file/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Samples of one kind: one a step in which it ran. */
typedef struct series {
  ZB_LIST(int64_t) samples;
  int64_t runs;
  int64_t sum, now; /* of the step at hand */
} series;

/* A subprogram of a rank. */
typedef struct program_runs {
  int rank;
  const zb_plan_subprogram *subprogram;
  zb_device_program *program;
  series first, later; /* the first run of a step; the others */
} program_runs;

/* Messages between two ranks of one size. */
typedef struct message_kind {
  int source, destination;
  int64_t bytes;
} message_kind;

enum { WAKE, JOB, READ, STEP, FIXED_SERIES };

struct zb_measure {
  zb_arena memory; /* of all arrays */
  zb_measure_params params;
  series *all; /* wake, job, read, step; ops; messages */
  series *ops, *messages;
  int series_count;
  ZB_LIST(program_runs) programs; /* of all ranks */
  int *first_program;             /* [rank] */
  ZB_LIST(const char *) op_texts;
  int *op_of; /* [instruction of all programs] of op_texts; -1: not in the file */
  ZB_LIST(message_kind) message_kinds;
  int *kind_of;           /* [message] of message_kinds */
  int64_t *channel_ps;    /* [source * ranks + destination], links that do not copy */
  int (*message_jobs)[2]; /* [message]: jobs that post it at its source and destination */
  bool *of_step;          /* [message]: jobs of a step post it, not those of an evaluation */
  int64_t steps, counted_plain, counted_ops;
  bool plain, ops_timed; /* what the step at hand is for */
};

static bool copies(const zb_measure *m) {
  return m->params.device->virtual_clock ? m->params.plan->link_copies : m->params.transport_def->copies;
}

/* ---- Making it ---- */

/* The number of a text; `next` if it is new. */
static int number_of(zb_measure *m, zb_map *known, const char *text, size_t next) {
  int64_t number = (int64_t)next;
  if (!zb_map_get(known, text, &number)) zb_arena_map_set(&m->memory, known, text, number);
  return (int)number;
}

static zb_status number_programs(zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  zb_map *known = zb_arena_map(&m->memory);
  size_t instructions = 0, at = 0;
  ZB_TAKE(&m->memory, m->first_program, plan->rank_count + 1);
  ZB_TRY(zb_arena_status(&m->memory));
  for (int r = 0; r < plan->rank_count; ++r) {
    m->first_program[r] = (int)m->programs.count;
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      const zb_plan_subprogram *s = &plan->ranks[r].subprograms[i];
      program_runs runs = {.rank = r, .subprogram = s, .program = m->params.executors[r].programs[i]};
      if (!ZB_PUSH(&m->memory, &m->programs, runs)) return ZB_OUT_OF_MEMORY();
      instructions += (size_t)s->instruction_count;
    }
  }
  if (!ZB_TAKE(&m->memory, m->op_of, instructions + 1)) return ZB_OUT_OF_MEMORY();
  for (size_t p = 0; p < m->programs.count; ++p)
    for (int k = 0; k < m->programs.items[p].subprogram->instruction_count; ++k, ++at) {
      const char *text = m->programs.items[p].subprogram->instructions[k].cost_op;
      m->op_of[at] = text && text[0] ? number_of(m, known, text, m->op_texts.count) : -1;
      if (m->op_of[at] == (int)m->op_texts.count && !ZB_PUSH(&m->memory, &m->op_texts, text)) return ZB_OUT_OF_MEMORY();
    }
  return zb_arena_status(&m->memory);
}

static zb_status number_messages(zb_measure *m) {
  const zb_plan *plan = m->params.plan;
  size_t count = (size_t)plan->message_count + 1, ranks = (size_t)plan->rank_count;
  zb_map *known = zb_arena_map(&m->memory);
  ZB_TAKE(&m->memory, m->kind_of, count);
  ZB_TAKE(&m->memory, m->message_jobs, count);
  ZB_TAKE(&m->memory, m->of_step, count);
  ZB_TAKE(&m->memory, m->channel_ps, ranks * ranks);
  ZB_TRY(zb_arena_status(&m->memory));
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    message_kind kind = {message->source, message->destination, (int64_t)message->bytes};
    char text[64];
    snprintf(text, sizeof text, "%d %d %lld", kind.source, kind.destination, (long long)kind.bytes);
    m->kind_of[i] = number_of(m, known, text, m->message_kinds.count);
    if (m->kind_of[i] == (int)m->message_kinds.count && !ZB_PUSH(&m->memory, &m->message_kinds, kind))
      return ZB_OUT_OF_MEMORY();
  }
  for (size_t r = 0; r < ranks; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &plan->ranks[r].jobs[i];
      if (job->message < 0) continue;
      m->message_jobs[job->message][zb_job_flow(job->kind) == ZB_PARTS_IN] = i;
      m->of_step[job->message] = i < zb_plan_step_end(&plan->ranks[r]);
    }
  return zb_arena_status(&m->memory);
}

static void add_run(series *s, int64_t ps) {
  s->sum += ps;
  ++s->now;
}

static int64_t length(zb_run_times times) { return times.end_ps - times.start_ps; }

/* A run of a subprogram; a further part of one (runtime/plan/mesh/expand.h) belongs to the run that the first part
 * began. */
static void add_program_run(zb_measure *m, const zb_executor *e, int number, int64_t ps) {
  const zb_plan_subprogram *part = &e->program->subprograms[number];
  const int whole = part->derived.part_of ? part->derived.part_of - 1 : number;
  program_runs *runs = &m->programs.items[m->first_program[e->params.rank] + whole];
  if (part->instructions == e->program->subprograms[whole].instructions)
    add_run(runs->first.now ? &runs->later : &runs->first, ps);
  else
    (runs->later.now ? &runs->later : &runs->first)->sum += ps;
}

/* A job that computes or reads; false: it is another one. */
static bool add_work(zb_measure *m, const zb_executor *e, int index) {
  const zb_plan_job *job = &e->program->jobs[index];
  if (job->subprogram >= 0) {
    add_program_run(m, e, job->subprogram, length(e->times[index]));
  } else if (job->kind == ZB_JOB_READ) {
    add_run(&m->all[READ], length(e->times[index]));
  } else {
    return false;
  }
  return true;
}

/* Ends a step for a series. */
static void keep(zb_measure *m, series *s) {
  if (s->now == 0 || !ZB_PUSH(&m->memory, &s->samples, llround((double)s->sum / (double)s->now))) return;
  s->runs += s->now;
  s->sum = s->now = 0;
}

static zb_status keep_all(zb_measure *m) {
  for (int i = 0; i < m->series_count; ++i)
    keep(m, &m->all[i]);
  for (size_t i = 0; i < m->programs.count; ++i) {
    keep(m, &m->programs.items[i].first);
    keep(m, &m->programs.items[i].later);
  }
  return zb_arena_status(&m->memory);
}

/* LOAD ran once, before the first step. */
static zb_status sample_load(zb_measure *m) {
  for (int r = 0; r < m->params.plan->rank_count; ++r)
    for (int i = 0; i < m->params.executors[r].program->load_count; ++i)
      (void)add_work(m, &m->params.executors[r], i);
  return keep_all(m);
}

zb_status zb_measure_create(const zb_measure_params *params, zb_measure **out) {
  zb_measure *m = zb_alloc(sizeof *m);
  zb_status status = NULL;
  *out = NULL;
  if (!m) return ZB_OUT_OF_MEMORY();
  m->params = *params;
  ZB_TRY_GOTO(number_programs(m));
  ZB_TRY_GOTO(number_messages(m));
  m->series_count = FIXED_SERIES + (int)(m->op_texts.count + m->message_kinds.count);
  ZB_TAKE(&m->memory, m->all, m->series_count);
  ZB_TRY_GOTO(zb_arena_status(&m->memory));
  m->ops = m->all + FIXED_SERIES;
  m->messages = m->ops + m->op_texts.count;
  ZB_TRY_GOTO(sample_load(m));
  *out = m;
  m = NULL;
cleanup:
  zb_measure_destroy(m);
  return status;
}

void zb_measure_destroy(zb_measure *m) {
  if (!m) return;
  zb_arena_deinit(&m->memory);
  zb_free(m);
}

/* ---- Steps ---- */

void zb_measure_begin_step(zb_measure *m) {
  bool virtual_clock = m->params.device->virtual_clock;
  m->plain = virtual_clock || m->steps % 2 == 1;
  m->ops_timed = !virtual_clock && m->steps > 0 && !m->plain;
  memset(m->params.resumed_ps, 0, 2 * (size_t)m->params.plan->message_count * sizeof *m->params.resumed_ps);
  for (int r = 0; r < m->params.plan->rank_count; ++r)
    m->params.device->time_ops(m->params.executors[r].device, m->ops_timed);
}

/* When both sides of a message were posted. */
static void posts_of(const zb_measure *m, int message, zb_run_times *out_send, zb_run_times *out_recv) {
  const zb_plan_message *about = &m->params.plan->messages[message];
  *out_send = m->params.executors[about->source].times[m->message_jobs[message][0]];
  *out_recv = m->params.executors[about->destination].times[m->message_jobs[message][1]];
}

/* Whether it is this job that copies its message: the side that posts second does. */
static bool copies_here(const zb_measure *m, const zb_plan_job *job) {
  zb_run_times send, recv;
  if (job->message < 0 || !copies(m)) return false;
  posts_of(m, job->message, &send, &recv);
  return (zb_job_flow(job->kind) == ZB_PARTS_OUT) == (length(send) > length(recv));
}

/* What a rank did besides waiting, and what is left for the interpreter. */
static void sample_jobs(zb_measure *m, const zb_executor *e) {
  series *jobs = &m->all[JOB];
  int64_t left = e->ended_ps - e->started_ps - e->waiting_ps;
  for (int i = e->program->load_count; i < zb_plan_step_end(e->program); ++i)
    if (add_work(m, e, i) || copies_here(m, &e->program->jobs[i])) left -= length(e->times[i]);
  jobs->sum += left > 0 ? left : 0;
  jobs->now += zb_plan_step_end(e->program) - e->program->load_count;
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
  series *jobs = &m->all[JOB];
  int64_t before = e->times[e->program->load_count].start_ps, arrived = 0;
  for (int i = e->program->load_count; i < zb_plan_step_end(e->program); ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    const int64_t over = waits_over_ps(m, e, job);
    if (over > arrived) arrived = over;
    ++jobs->now;
    if (!add_work(m, e, i) && job->kind != ZB_JOB_REPORT) continue; /* moves on other queues */
    const bool waited = arrived > before;
    const int64_t gap = e->times[i].start_ps - (waited ? arrived : before);
    if (waited)
      add_run(&m->all[WAKE], gap > 0 ? gap : 0);
    else if (gap > 0)
      jobs->sum += gap;
    before = e->times[i].end_ps;
  }
}

/* From when its bytes could move until it was complete. */
static zb_run_times message_times(zb_measure *m, int message) {
  const zb_plan_message *about = &m->params.plan->messages[message];
  const zb_transport_def *def = m->params.transport_def;
  zb_transport *transport = m->params.executors[about->destination].params.transport;
  int64_t *channel = &m->channel_ps[about->source * m->params.plan->rank_count + about->destination];
  zb_run_times send, recv;
  posts_of(m, message, &send, &recv);
  if (copies(m) && !m->params.device->queue) return length(send) > length(recv) ? send : recv;
  int64_t start = send.start_ps > recv.start_ps ? send.start_ps : recv.start_ps;
  if (start < *channel) start = *channel;
  if (m->params.device->queue) start = def->start_ps(transport, about->destination, message);
  *channel = def->complete_ps(transport, about->destination, message);
  return (zb_run_times){start, *channel};
}

static void sample_messages(zb_measure *m) {
  size_t ranks = (size_t)m->params.plan->rank_count;
  memset(m->channel_ps, 0, ranks * ranks * sizeof *m->channel_ps);
  for (int i = 0; i < m->params.plan->message_count; ++i) {
    if (!m->of_step[i]) continue;
    zb_run_times times = message_times(m, i);
    add_run(&m->messages[m->kind_of[i]], length(times) > 0 ? length(times) : 0);
    for (int side = 0; side < 2; ++side) {
      int64_t resumed = m->params.resumed_ps[2 * i + side];
      if (resumed) add_run(&m->all[WAKE], resumed > times.end_ps ? resumed - times.end_ps : 0);
    }
  }
}

static void widen(zb_run_times *all, int64_t start_ps, int64_t end_ps) {
  if (start_ps < all->start_ps) all->start_ps = start_ps;
  if (end_ps > all->end_ps) all->end_ps = end_ps;
}

/* What the step took beyond the work of its ranks. */
static void sample_step(zb_measure *m, int64_t took_ps) {
  zb_run_times all = {INT64_MAX, INT64_MIN};
  for (int r = 0; r < m->params.plan->rank_count; ++r) {
    const zb_executor *e = &m->params.executors[r];
    if (!m->params.device->queue) widen(&all, e->started_ps, e->ended_ps);
    for (int i = e->program->load_count; m->params.device->queue && i < zb_plan_step_end(e->program); ++i)
      widen(&all, e->times[i].start_ps, e->times[i].end_ps);
  }
  bool ran = all.start_ps <= all.end_ps;
  add_run(&m->all[STEP], ran && took_ps > length(all) ? took_ps - length(all) : 0);
}

static void sample_ops(zb_measure *m) {
  const int *op = m->op_of;
  for (size_t p = 0; p < m->programs.count; ++p) {
    zb_op_time *times = m->params.device->op_times(m->programs.items[p].program);
    int count = m->programs.items[p].subprogram->instruction_count;
    for (int k = 0; k < count; ++k, ++op) {
      if (*op < 0) continue;
      m->ops[*op].sum += times[k].ps;
      m->ops[*op].now += times[k].runs;
    }
    if (count > 0) memset(times, 0, (size_t)count * sizeof *times);
  }
}

zb_status zb_measure_end_step(zb_measure *m, int64_t took_ps) {
  ++m->steps;
  if (m->plain) {
    ++m->counted_plain;
    for (int r = 0; r < m->params.plan->rank_count; ++r)
      (m->params.device->queue ? sample_queue : sample_jobs)(m, &m->params.executors[r]);
    sample_messages(m);
    sample_step(m, took_ps);
  }
  if (m->ops_timed) {
    ++m->counted_ops;
    sample_ops(m);
    for (int r = 0; r < m->params.plan->rank_count; ++r) /* an evaluation may follow */
      m->params.device->time_ops(m->params.executors[r].device, false);
  }
  return keep_all(m);
}

/* ---- The result ---- */

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return left < right ? -1 : left > right;
}

/* 0 without samples. Sorts them: their order does not matter. */
static int64_t median(const series *s) {
  const int64_t *samples = s->samples.items;
  if (s->samples.count == 0) return 0;
  qsort(s->samples.items, s->samples.count, sizeof *samples, compare_times);
  int64_t low = samples[(s->samples.count - 1) / 2], high = samples[s->samples.count / 2];
  return low + (high - low) / 2;
}

/* Of a run that is not the first of a step, if there is one. */
static int64_t later_ps(const program_runs *runs) { return median(runs->later.runs ? &runs->later : &runs->first); }

static char *text_of(zb_measure *m, const char *text) { return zb_arena_strdup(&m->memory, text ? text : ""); }

static uint64_t frame_bytes(const zb_plan_rank *rank, int stage, const char *name) {
  for (int i = 0; i < rank->subprogram_count; ++i)
    for (int b = 0; rank->subprograms[i].stage == stage && b < rank->subprograms[i].base_count; ++b)
      if (strcmp(rank->subprograms[i].bases[b], name) == 0) return rank->subprograms[i].base_bytes[b];
  return 0;
}

/* A file of costs is of one replica and one shard: the first. */
static bool is_first(const zb_plan *plan, int rank) {
  return zb_plan_replica_of(plan, rank) == 0 && zb_plan_shard_of(plan, rank) == 0;
}

static void fill_program(zb_measure *m, zb_costs *out) {
  const zb_plan *plan = m->params.plan;
  const int replicas = zb_plan_mesh(plan) * zb_plan_shard_mesh(plan);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  out->machine = (zb_cost_machine){.device = text_of(m, m->params.device->name),
                                   .instruction_set = text_of(m, m->params.instruction_set),
                                   .cores = cores > 1 ? cores : 1,
                                   .threads = m->params.threads,
                                   .virtual_clock = m->params.device->virtual_clock};
  out->program = (zb_cost_program){.model = text_of(m, plan->model),
                                   .schedule = text_of(m, plan->schedule),
                                   .ranks = plan->rank_count / replicas,
                                   .micro_batches = zb_plan_own_micro_batches(plan),
                                   .steps = m->counted_plain + m->counted_ops};
  out->stage_count = plan->stage_count;
  out->rank_count = plan->rank_count / replicas;
  for (int s = 0; s < plan->stage_count; ++s) {
    const zb_plan_rank *rank = &plan->ranks[plan->stage_rank[s] * replicas];
    out->stages[s] = (zb_cost_stage){.stage = s,
                                     .rank = plan->stage_rank[s],
                                     .fb_bytes = (int64_t)frame_bytes(rank, s, "fb"),
                                     .fw_bytes = (int64_t)frame_bytes(rank, s, "fw"),
                                     .bw_bytes = (int64_t)frame_bytes(rank, s, "bw")};
  }
  for (int r = 0; r < out->rank_count; ++r) {
    const zb_plan_range *regions = plan->ranks[r * replicas].regions, last = regions[ZB_REGION_WORKSPACE];
    out->ranks[r] = (zb_cost_rank){r, (int64_t)(last.offset + last.bytes - regions[ZB_REGION_SLOTS].bytes)};
  }
}

static int compare_edges(const void *a, const void *b) {
  const zb_cost_edge *x = a, *y = b;
  if (x->source != y->source) return x->source < y->source ? -1 : 1;
  return x->destination < y->destination ? -1 : x->destination > y->destination;
}

/* What one micro-batch sends from stage to stage; neighbours on one rank hand over without a message. */
static void fill_edges(const zb_measure *m, zb_costs *out) {
  const zb_plan *plan = m->params.plan;
  zb_cost_edge *edges = out->edges;
  size_t count = 0;
  for (int s = 0; s + 1 < plan->stage_count; ++s)
    if (plan->stage_rank[s] == plan->stage_rank[s + 1])
      edges[count++] = (zb_cost_edge){.source = s, .destination = s + 1};
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    if (!m->of_step[i] || !is_first(plan, message->source)) continue;
    int a = message->source_stage, b = message->destination_stage;
    if (message->micro_batch != 0 || message->payload == ZB_PAYLOAD_GRADIENTS || a == b || a < 0 || b < 0) continue;
    zb_cost_edge edge = {.source = a < b ? a : b, .destination = a < b ? b : a};
    *(a < b ? &edge.forward_bytes : &edge.backward_bytes) = (int64_t)message->bytes;
    edges[count++] = edge;
  }
  if (count) qsort(edges, count, sizeof *edges, compare_edges);
  for (size_t i = 0; i < count; ++i) { /* the two directions of one edge */
    zb_cost_edge *last = out->edge_count > 0 ? &edges[out->edge_count - 1] : NULL;
    if (!last || compare_edges(last, &edges[i]) != 0)
      edges[out->edge_count++] = edges[i];
    else
      last->forward_bytes += edges[i].forward_bytes, last->backward_bytes += edges[i].backward_bytes;
  }
}

/* Which segment of a subprogram it is, between sums over shards: "s0_F.2" is 2; -1: it is a whole one. */
static int segment_of(const zb_plan *plan, const zb_plan_subprogram *s) {
  const char *point = zb_plan_shard_mesh(plan) > 1 ? strrchr(s->name, '.') : NULL;
  return point && point[1] >= '0' && point[1] <= '9' ? atoi(point + 1) : -1;
}

/* Segments are one subprogram, which takes as long as all of them. False: it is none of the last one in the file. */
static bool add_segment(const program_runs *segment, zb_costs *out) {
  zb_cost_subprogram *all = out->subprogram_count ? &out->subprograms[out->subprogram_count - 1] : NULL;
  const zb_plan_subprogram *s = segment->subprogram;
  if (!all || all->key != s->key || all->stage != s->stage || strcmp(all->kind, zb_job_mnemonic(s->kind)) != 0)
    return false;
  all->first_ps += median(&segment->first);
  all->time_ps += later_ps(segment);
  return true;
}

static void fill_subprograms(zb_measure *m, zb_costs *out) {
  for (size_t i = 0; i < m->programs.count; ++i) {
    const program_runs *runs = &m->programs.items[i];
    const zb_plan_subprogram *s = runs->subprogram;
    const int segment = segment_of(m->params.plan, s);
    if (runs->first.runs == 0 || !is_first(m->params.plan, runs->rank)) continue;
    if (segment > 0 && add_segment(runs, out)) continue;
    char *name = text_of(m, s->name);
    if (segment == 0 && name) *strrchr(name, '.') = '\0';
    out->subprograms[out->subprogram_count++] =
        (zb_cost_subprogram){.name = name,
                             .rank = zb_plan_rank_in_replica(m->params.plan, runs->rank),
                             .stage = s->stage,
                             .kind = text_of(m, zb_job_mnemonic(s->kind)),
                             .key = s->key,
                             .first_ps = median(&runs->first),
                             .time_ps = later_ps(runs),
                             .runs = runs->first.runs + runs->later.runs};
  }
}

/* How long a step's subprograms take against the sum of their ops: reading clocks twice an op is in the latter. A
 * device with a queue times the ops of one run of each, its second if it has one. */
static double whole_by_ops(const zb_measure *m) {
  double whole = 0, ops = 0;
  for (size_t i = 0; i < m->programs.count; ++i) {
    const program_runs *runs = &m->programs.items[i];
    const series *first = &runs->first, *later = &runs->later;
    if (runs->subprogram->kind == ZB_JOB_LOAD) continue;
    if (m->params.device->queue)
      whole += (double)later_ps(runs) * (double)m->counted_plain;
    else
      whole += (double)median(later) * (double)later->runs + (double)median(first) * (double)first->runs;
  }
  for (size_t i = 0; i < m->op_texts.count; ++i)
    ops += (double)median(&m->ops[i]) * (double)m->ops[i].runs;
  whole /= (double)m->counted_plain;
  ops /= m->counted_ops > 0 ? (double)m->counted_ops : 1;
  double ratio = ops > 0 ? whole / ops : 1;
  return ratio > 0.5 && ratio < 2 ? ratio : 1;
}

static void fill_ops(zb_measure *m, zb_costs *out) {
  const double ratio = whole_by_ops(m);
  for (size_t i = 0; i < m->op_texts.count; ++i) {
    const series *times = &m->ops[i];
    if (times->runs == 0) continue;
    out->ops[out->op_count++] = (zb_cost_op){
        .op = text_of(m, m->op_texts.items[i]), .time_ps = llround(ratio * (double)median(times)), .runs = times->runs};
  }
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

/* Messages between stages of the first, or all: of_sums. */
static void list_messages(const zb_measure *m, bool of_sums, zb_costs *out) {
  out->message_count = 0;
  for (size_t i = 0; i < m->message_kinds.count; ++i) {
    const message_kind *kind = &m->message_kinds.items[i];
    const zb_plan *plan = m->params.plan;
    if (!of_sums && (!is_first(plan, kind->source) || !is_first(plan, kind->destination))) continue;
    out->messages[out->message_count++] =
        (zb_cost_message){zb_plan_rank_in_replica(plan, kind->source), zb_plan_rank_in_replica(plan, kind->destination),
                          kind->bytes, median(&m->messages[i]), m->messages[i].runs};
  }
}

/* Of shards the pieces of their sums, of many sizes, say what the link takes, too; the file is of the first alone. */
static void fill_messages(const zb_measure *m, zb_costs *out) {
  list_messages(m, zb_plan_shard_mesh(m->params.plan) > 1, out);
  fit_link(out, &out->link);
  list_messages(m, false, out);
  out->link.copies = copies(m);
  out->link.wake_ps = median(&m->all[WAKE]);
  out->overheads = (zb_cost_overheads){
      .job_ps = median(&m->all[JOB]), .read_ps = median(&m->all[READ]), .step_ps = median(&m->all[STEP])};
}

zb_status zb_measure_enough(const zb_device_def *device, int64_t steps) {
  const int least = device->virtual_clock ? 1 : ZB_MEASURE_STEPS_LEAST;
  if (steps >= least) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "costs need at least %d step%s, got %lld", least, least == 1 ? "" : "s", (long long)steps),
      "add --steps 20: the more steps, the less a disturbed one matters");
}

zb_status zb_measure_costs(zb_measure *m, zb_costs *out) {
  const zb_plan *plan = m->params.plan;
  *out = (zb_costs){0};
  ZB_TRY(zb_measure_enough(m->params.device, m->steps));
  ZB_TAKE(&m->memory, out->stages, plan->stage_count);
  ZB_TAKE(&m->memory, out->ranks, plan->rank_count);
  ZB_TAKE(&m->memory, out->edges, plan->stage_count + plan->message_count);
  ZB_TAKE(&m->memory, out->subprograms, m->programs.count);
  ZB_TAKE(&m->memory, out->ops, m->op_texts.count);
  ZB_TAKE(&m->memory, out->messages, m->message_kinds.count);
  ZB_TRY(zb_arena_status(&m->memory));
  fill_program(m, out);
  fill_edges(m, out);
  fill_subprograms(m, out);
  fill_ops(m, out);
  fill_messages(m, out);
  return zb_arena_status(&m->memory);
}
