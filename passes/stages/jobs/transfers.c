/* The transfers of zb-insert-comm: what crosses from rank to rank, and in which order.
 *
 * One message a hop (stage -> stage on another rank) and micro-batch, with a part a value. A transfer can start when
 * its producer has ended and its consumer is the next job of the receiver; transfers are numbered by that time in the
 * simulated schedule, those of a channel in the order in which they are received. A receive is posted right before its
 * consumer, a send right after its producer unless a message of the same channel with a lower number is posted later:
 * so both sides of a channel post in the same order, and a receive never blocks unrelated work.
 *
 * With replicas every bucket (buckets.c) of a rank is a sum over them, right behind the job that completes it: the last
 * micro-batch, or each of them.
 *
 * Accumulators of a parameter that several ranks hold are gathered by all of them once a step, after the last W and
 * before its optimizer. Such a gather has a number among the messages, and its members in zb.members. With clipping one
 * more gather, behind all NORMs, gives every rank that has a CLIP the whole frame of norms; zb.parts names its parts.
 * Where replicas have parts of gradients, the numbers of each rank are summed over its replicas before that.
 *
 * Where they have a part of every parameter each, a gather brings those that a job reads, one job ahead of it, so that
 * it goes on while that one computes.
 *
 * Where replicas share optimizer state, what comes last is a gather over the replicas of each rank: of the parts of the
 * parameters that it updates. Sums of a tied parameter that its holders gather are then those of parts, unless a norm
 * is made of whole ones (sharding=optimizer).
 *
 * Tests: test/passes/insert-comm.mlir, test/passes/gathered.mlir. */

#include "passes/stages/jobs/transfers.h"

#include "passes/stages/jobs/buckets.h"
#include "passes/stages/classes.h"
#include "passes/stages/frames.h"
#include "passes/stages/parts.h"
#include "passes/stages/replicas.h"
#include "passes/stages/functions/shard_optimizer.h"
#include "runtime/base/assert.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int position_of(const zb_timetable *t, int stage, int kind, int m) {
  return t->positions[(stage * ZB_KIND_COUNT + kind) * t->p.problem.micro_batches + m];
}

/* When the job before `position` of the rank ends. */
static int64_t end_before(const zb_timetable *t, int rank, int position) {
  return position ? t->simulation.jobs[rank][position - 1].end_ps : 0;
}

static void add_messages(zb_arena *arena, const zb_timetable *t, const zb_hop *hop, zb_transfers *out) {
  int source = t->p.stage_rank[hop->source], destination = t->p.stage_rank[hop->destination];
  zb_kind kind = hop->source < hop->destination ? ZB_F : ZB_B;
  for (int m = 0; m < t->p.problem.micro_batches && source != destination; ++m) {
    int sent = position_of(t, hop->source, kind, m) + 1, consumer = position_of(t, hop->destination, kind, m);
    if (t->evaluates && consumer > 0) --consumer; /* what is posted a job ahead arrives while that one runs */
    int64_t ready = end_before(t, destination, consumer), produced = end_before(t, source, sent);
    (void)ZB_PUSH(arena, &out->list,
                  (zb_rank_transfer){.time = produced > ready ? produced : ready,
                                     .produced = produced,
                                     .hop = hop,
                                     .source = source,
                                     .destination = destination,
                                     .source_stage = hop->source,
                                     .destination_stage = hop->destination,
                                     .micro_batch = m,
                                     .send_position = sent,
                                     .recv_position = consumer});
  }
}

/* ---- Accumulators of tied parameters ---- */

/* Whether an optimizer of the rank reads an accumulator of the parameter that the rank does not have: arguments
 * {zb.sum} that are left on a function come from other ranks. */
static bool needs_sum(const zb_timetable *t, int rank, const char *parameter) {
  ZB_FOR_EACH_OP(function, zb_function_block(t->p.ranks[rank]))
    for (zb_ports at = zb_arguments(function); zb_next(&at);)
      if (at.port.sum && strcmp(at.port.sum, parameter) == 0) return true;
  return false;
}

/* The accumulators that a rank has of a parameter are what it gives. It is no member if it neither has nor needs one.
 */
static zb_status add_member(zb_arena *arena, const zb_timetable *t, zb_gather *g, int rank) {
  zb_gather_member m = {.rank = rank};
  const zb_entries entries = zb_entries_get(t->p.ranks[rank], pool_tables[POOL_GRADIENTS]);
  const bool scatters = zb_replicas_scatter(t->p.top);
  for (int i = 0; i < entries.count; ++i) {
    const zb_entry entry = zb_entries_at(entries, i);
    if (!entry.port.sum || zb_port_is_summed(&entry.port) || strcmp(entry.port.sum, g->parameter) != 0) continue;
    (void)ZB_PUSH(arena, &m.sums, entry);
    const MlirType type = scatters ? zb_part_type(entry.type, t->replicas) : entry.type;
    if (!mlirTypeIsNull(g->type) && !mlirTypeEqual(g->type, type))
      return ZB_ERROR(INVALID, "the accumulators of %s have different types", g->parameter);
    g->type = type;
  }
  if (m.sums.count || needs_sum(t, rank, g->parameter)) (void)ZB_PUSH(arena, &g->members, m);
  return zb_arena_status(arena);
}

/* The members of a gather are the ranks that have sums of the parameter, and those that read them from others. */
static zb_status add_gather(zb_arena *arena, const zb_timetable *t, const char *parameter, zb_transfers *out) {
  zb_gather g = {.kind = ZB_GATHER_SUMS, .parameter = parameter};
  for (int rank = 0; rank < t->p.problem.ranks; ++rank)
    ZB_TRY(add_member(arena, t, &g, rank));
  if (g.members.count < 2 || mlirTypeIsNull(g.type))
    return ZB_ERROR(INVALID, "no rank makes the accumulator of %s that rank %d reads", parameter,
                    g.members.items[0].rank);
  return ZB_PUSH(arena, &out->gathers, g) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status find_gathers(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  zb_map *known = zb_arena_map(arena);
  ZB_TRY(zb_arena_status(arena));
  for (int rank = 0; rank < t->p.problem.ranks; ++rank)
    ZB_FOR_EACH_OP(function, zb_function_block(t->p.ranks[rank]))
      for (zb_ports at = zb_arguments(function); zb_next(&at);) {
        if (!at.port.sum || zb_map_get(known, at.port.sum, NULL)) continue;
        zb_arena_map_set(arena, known, at.port.sum, 1);
        ZB_TRY(add_gather(arena, t, at.port.sum, out));
      }
  return zb_arena_status(arena);
}

/* ---- Sums over replicas ---- */

/* Of the gradients of one micro-batch, or of all (the last one completes them). */
static void add_reduction(zb_arena *arena, const zb_bucket *bucket, int rank, int position, int micro_batch,
                          zb_transfers *out) {
  zb_gather g = {.kind = ZB_REDUCE_SUMS,
                 .position = position,
                 .lead_ps = bucket->lead_ps,
                 .stage = bucket->stage,
                 .frame = bucket->kind == ZB_B ? FRAME_GB : FRAME_GW,
                 .micro_batch = micro_batch,
                 .into = micro_batch >= 0 ? bucket->into.items : NULL};
  zb_gather_member m = {.rank = rank};
  m.parts.items = bucket->parts.items;
  m.parts.count = m.parts.capacity = bucket->parts.count;
  if (ZB_PUSH(arena, &g.members, m)) (void)ZB_PUSH(arena, &out->gathers, g);
}

/* The buckets of a rank in the order in which they are complete, each a sum over its replicas. Every accumulator is a
 * part: so a sum is that of one accumulator, whatever lies beside it. */
static zb_status add_reductions(zb_arena *arena, const zb_timetable *t, const zb_buckets *buckets, int rank,
                                zb_transfers *out) {
  const bool each = zb_replicas_sum_each(t->p.top);
  for (int i = 0; i < t->order.counts[rank]; ++i) {
    const zb_job job = t->order.jobs[rank][i];
    if (!each && job.micro_batch != t->p.problem.micro_batches - 1) continue;
    for (size_t b = 0; b < buckets->count; ++b)
      if (buckets->items[b].stage == job.stage && buckets->items[b].kind == job.kind)
        add_reduction(arena, &buckets->items[b], rank, i + 1, each ? job.micro_batch : -1, out);
  }
  return zb_arena_status(arena);
}

static zb_status find_reductions(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  zb_buckets buckets = {0};
  if (t->replicas < 2) return NULL;
  ZB_TRY(zb_buckets_find(arena, &t->p, zb_get_i64(t->p.top, ZB_ATTR_BUCKET_BYTES, INT64_MAX), &buckets));
  for (int rank = 0; rank < t->p.problem.ranks; ++rank)
    ZB_TRY(add_reductions(arena, t, &buckets, rank, out));
  return NULL;
}

/* ---- What parameters give to the norm ---- */

static int compare_ranges(const void *a, const void *b) {
  const zb_plan_range *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Numbers that lie side by side are one part. */
static void add_norm_member(zb_arena *arena, const zb_timetable *t, int rank, zb_gather *g) {
  zb_gather_member m = {.rank = rank};
  const zb_entries entries = zb_entries_get(t->p.ranks[rank], pool_tables[POOL_NORMS]);
  size_t last = 0;
  for (int i = 0; i < entries.count; ++i) {
    const zb_entry entry = zb_entries_at(entries, i);
    (void)ZB_PUSH(arena, &m.parts, (zb_plan_range){(uint64_t)entry.offset, zb_type_bytes(entry.type)});
  }
  if (m.parts.count) qsort(m.parts.items, m.parts.count, sizeof *m.parts.items, compare_ranges);
  for (size_t i = 1; i < m.parts.count; ++i) {
    zb_plan_range *before = &m.parts.items[last], next = m.parts.items[i];
    if (next.offset + next.bytes <= before->offset + before->bytes) continue; /* a sum over shards of those before */
    if (before->offset + before->bytes == next.offset)
      before->bytes += next.bytes;
    else
      m.parts.items[++last] = next;
  }
  if (m.parts.count) m.parts.count = last + 1;
  (void)ZB_PUSH(arena, &g->members, m);
}

static bool clips(MlirOperation rank) {
  ZB_FOR_EACH_OP(function, zb_function_block(rank))
    if (zb_class_get(function) == ZB_JOB_CLIP) return true;
  return false;
}

/* Of parts of gradients every replica has other numbers. */
static void find_norm_sums(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  for (int rank = 0; rank < t->p.problem.ranks && zb_replicas_scatter(t->p.top); ++rank) {
    zb_gather g = {.kind = ZB_REDUCE_NORM};
    if (clips(t->p.ranks[rank])) add_norm_member(arena, t, rank, &g);
    if (g.members.count && g.members.items[0].parts.count) (void)ZB_PUSH(arena, &out->gathers, g);
  }
}

static void find_norm_gather(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  zb_gather g = {.kind = ZB_GATHER_NORM};
  for (int rank = 0; rank < t->p.problem.ranks; ++rank)
    if (clips(t->p.ranks[rank])) add_norm_member(arena, t, rank, &g);
  if (g.members.count > 1) (void)ZB_PUSH(arena, &out->gathers, g);
}

/* ---- Buffers, of which all replicas have those of the first one when a step ends, and parameters of which each has
 * updated a part ---- */

/* What a member gives of an entry of the pool. */
static uint64_t given_bytes(const zb_timetable *t, int pool, const zb_entry *entry) {
  zb_shape shape;
  if (pool == POOL_BUFFERS) return zb_type_bytes(entry->type);
  return entry->port.param && zb_type_shape(entry->type, &shape) ? zb_plan_part_bytes(&shape, t->replicas) : 0;
}

static void find_pool_gathers(zb_arena *arena, const zb_timetable *t, int pool, zb_gather_kind kind,
                              zb_transfers *out) {
  for (int rank = 0; rank < t->p.problem.ranks; ++rank) {
    const zb_entries entries = zb_entries_get(t->p.ranks[rank], pool_tables[pool]);
    zb_gather g = {.kind = kind};
    zb_gather_member m = {.rank = rank};
    for (int i = 0; i < entries.count; ++i) {
      const zb_entry entry = zb_entries_at(entries, i);
      const zb_plan_range part = {(uint64_t)entry.offset, given_bytes(t, pool, &entry)};
      if (part.bytes > 0) (void)ZB_PUSH(arena, &m.parts, part);
    }
    if (m.parts.count && ZB_PUSH(arena, &g.members, m)) (void)ZB_PUSH(arena, &out->gathers, g);
  }
}

/* ---- Parameters that are gathered for jobs ---- */

/* What all jobs of a function gather; where it reads nothing that is gathered, there is none. */
static zb_status read_job_gather(zb_arena *arena, const zb_timetable *t, int rank, zb_job job, zb_gather *out) {
  const zb_table rows = zb_gathers_get(t->p.functions[job.stage * ZB_KIND_COUNT + (int)job.kind]);
  *out = (zb_gather){.kind = ZB_GATHER_FOR_JOBS, .stage = job.stage, .job_kind = job.kind};
  zb_gather_member m = {.rank = rank};
  int64_t *into = ZB_NEW(arena, int64_t, rows.count), *pools = ZB_NEW(arena, int64_t, rows.count);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < rows.count; ++i) {
    const zb_gathers_row row = zb_gathers_at(rows, i);
    into[i] = row.into;
    pools[i] = row.pool;
    (void)ZB_PUSH(arena, &m.parts, (zb_plan_range){(uint64_t)row.offset, (uint64_t)row.bytes});
  }
  out->into = into;
  out->pools = pools;
  (void)ZB_PUSH(arena, &out->members, m);
  return zb_arena_status(arena);
}

/* A gather in front of each job that reads parameters; where they are kept, of the first such job alone. Those of one
 * function share their lists: there are as many as micro-batches. */
static zb_status find_job_gathers(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  const char *text = zb_get_string(t->p.top, ZB_ATTR_GATHER);
  if (!text) return NULL;
  const zb_gathered kept = zb_gathered_of(text);
  const size_t micro_batches = (size_t)t->p.problem.micro_batches;
  bool *there = ZB_NEW(arena, bool, (size_t)t->p.problem.stages *micro_batches);
  zb_gather *of_functions = ZB_NEW(arena, zb_gather, (size_t)t->p.problem.stages * ZB_KIND_COUNT);
  ZB_TRY(zb_arena_status(arena));
  for (int rank = 0; rank < t->p.problem.ranks; ++rank)
    for (int i = 0; i < t->order.counts[rank]; ++i) {
      const zb_job job = t->order.jobs[rank][i];
      const bool of_all = kept == ZB_GATHERED_STEP;
      bool *known = &there[(size_t)job.stage * micro_batches + (of_all ? 0 : (size_t)job.micro_batch)];
      zb_gather *gather = &of_functions[job.stage * ZB_KIND_COUNT + (int)job.kind];
      const MlirOperation function = t->p.functions[job.stage * ZB_KIND_COUNT + (int)job.kind];
      if (job.kind == ZB_W || zb_gathers_get(function).count == 0 || (kept != ZB_GATHERED_JOB && *known)) continue;
      *known = true;
      if (!gather->members.count) ZB_TRY(read_job_gather(arena, t, rank, job, gather));
      gather->position = i > 0 ? i - 1 : 0; /* it goes on while the job before computes */
      gather->micro_batch = of_all ? -1 : job.micro_batch;
      (void)ZB_PUSH(arena, &out->gathers, *gather);
    }
  return zb_arena_status(arena);
}

/* Whether it stands at a place of its rank's order; others come when all jobs are done. */
static bool has_position(const zb_gather *gather) {
  return gather->kind == ZB_REDUCE_SUMS || gather->kind == ZB_GATHER_FOR_JOBS;
}

static void add_gather_transfer(zb_arena *arena, const zb_timetable *t, const zb_gather *gather, zb_transfers *out) {
  zb_rank_transfer all = {.gather = gather,
                          .source = -1,
                          .destination = -1,
                          .source_stage = -1,
                          .destination_stage = -1,
                          .micro_batch = has_position(gather) ? gather->micro_batch : -1};
  for (size_t i = 0; i < gather->members.count; ++i) {
    const int rank = gather->members.items[i].rank;
    const int64_t end = end_before(t, rank, has_position(gather) ? gather->position : t->order.counts[rank]);
    if (end > all.time) all.time = all.produced = end;
  }
  const bool is_last = gather->kind == ZB_GATHER_PARAMETERS; /* behind whatever the optimizers wait for */
  /* Numbers are gathered behind all their sums, also where a rank that gives none ends last. */
  const bool of_norm = gather->kind == ZB_REDUCE_NORM || gather->kind == ZB_GATHER_NORM;
  for (int rank = 0; rank < t->p.problem.ranks && (is_last || of_norm); ++rank) {
    const int64_t end = end_before(t, rank, t->order.counts[rank]) + is_last;
    if (end > all.time) all.time = all.produced = end;
  }
  (void)ZB_PUSH(arena, &out->list, all);
}

/* ---- Their order ---- */

static int position_in_order(const zb_gather *gather) { return has_position(gather) ? gather->position : INT_MAX; }

static int compare_transfers(const void *a, const void *b) {
  const zb_rank_transfer *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->produced != y->produced) return x->produced < y->produced ? -1 : 1;
  if (!x->hop != !y->hop) return x->hop ? -1 : 1; /* a gather comes last: it is posted after all else */
  if (x->hop != y->hop) return x->hop < y->hop ? -1 : 1;
  if (x->hop && x->micro_batch != y->micro_batch) return x->micro_batch - y->micro_batch;
  if (x->gather && position_in_order(x->gather) != position_in_order(y->gather))
    return position_in_order(x->gather) < position_in_order(y->gather) ? -1 : 1; /* jobs may take no time */
  return (x->gather > y->gather) - (x->gather < y->gather);
}

/* A message in a list that is sorted by channels. */
typedef struct channel_entry {
  int64_t channel;
  int order, number; /* order: of receiving, or again the number */
} channel_entry;

static int compare_entries(const void *a, const void *b) {
  const channel_entry *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  return x->order != y->order ? x->order - y->order : x->number - y->number;
}

/* Gives the numbers of each channel to its messages in the order in which they are received. That is mostly the order
 * in time, but not between consumers that take no time, nor in an evaluation, where a receive is posted a job ahead:
 * what it waits for may be there before what that job waits for. */
static zb_status number_as_received(zb_arena *arena, int ranks, zb_transfers *transfers) {
  const size_t count = transfers->list.count;
  channel_entry *slots = ZB_NEW(arena, channel_entry, count), *received = ZB_NEW(arena, channel_entry, count);
  zb_rank_transfer *before = ZB_NEW(arena, zb_rank_transfer, count);
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < count; ++i) {
    const zb_rank_transfer *m = &transfers->list.items[i];
    const int64_t channel = (int64_t)m->source * ranks + m->destination;
    before[i] = *m;
    slots[i] = (channel_entry){channel, (int)i, (int)i};
    received[i] = (channel_entry){channel, m->hop ? m->recv_position : (int)i, (int)i};
  }
  if (count) qsort(slots, count, sizeof *slots, compare_entries);
  if (count) qsort(received, count, sizeof *received, compare_entries);
  for (size_t i = 0; i < count; ++i)
    transfers->list.items[slots[i].number] = before[received[i].number];
  return NULL;
}

/* Keeps the order of posting on every channel that of the numbers. */
static zb_status keep_channels_in_order(zb_arena *arena, int ranks, zb_transfers *transfers) {
  zb_map *channels = zb_arena_map_pointer(arena); /* (source, destination) -> last send position */
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < transfers->list.count; ++i) {
    zb_rank_transfer *m = &transfers->list.items[i];
    void *channel = zb_id_key((int64_t)m->source * ranks + m->destination);
    if (!m->hop) continue;
    int64_t last = zb_map_get_or(channels, channel, 0);
    if (last > m->send_position) m->send_position = (int)last;
    zb_arena_map_set(arena, channels, channel, m->send_position);
  }
  return zb_arena_status(arena);
}

zb_status zb_transfers_find(zb_arena *arena, const zb_timetable *t, zb_transfers *out) {
  *out = (zb_transfers){0};
  for (size_t h = 0; h < t->p.hops.count; ++h)
    add_messages(arena, t, &t->p.hops.items[h], out);
  if (!t->evaluates)
    ZB_TRY(find_reductions(arena, t, out)); /* what holders of tied parameters gather are sums of all */
  if (!t->evaluates) ZB_TRY(find_gathers(arena, t, out));
  if (!t->evaluates && t->replicas > 1 && !zb_has_attribute(t->p.top, ZB_ATTR_INFERENCE))
    find_pool_gathers(arena, t, POOL_BUFFERS, ZB_GATHER_BUFFERS, out);
  if (!t->evaluates) find_norm_sums(arena, t, out);
  ZB_TRY(find_job_gathers(arena, t, out));
  if (!t->evaluates) find_norm_gather(arena, t, out);
  if (!t->evaluates && zb_replicas_parts(t->p.top) > 1 && !zb_has_attribute(t->p.top, ZB_ATTR_GATHER))
    find_pool_gathers(arena, t, POOL_PARAMETERS, ZB_GATHER_PARAMETERS, out); /* the last; else they stay parts */
  for (size_t g = 0; g < out->gathers.count; ++g)
    add_gather_transfer(arena, t, &out->gathers.items[g], out);
  ZB_TRY(zb_arena_status(arena));
  if (out->list.count) qsort(out->list.items, out->list.count, sizeof *out->list.items, compare_transfers);
  ZB_TRY(number_as_received(arena, t->p.problem.ranks, out));
  return keep_channels_in_order(arena, t->p.problem.ranks, out);
}

/* ---- Post-validation ---- */

static int first_backward(const zb_order *order, int rank) {
  int position = 0;
  while (position < order->counts[rank] && order->jobs[rank][position].kind == ZB_F)
    ++position;
  return position;
}

static bool is_received_before(const zb_rank_transfer *m, int number, zb_verdict_place verdict) {
  return m->recv_position < verdict.position || (m->recv_position == verdict.position && number < verdict.message);
}

zb_status zb_verdicts_find(zb_arena *arena, const zb_timetable *t, const zb_transfers *transfers,
                           zb_verdict_place **out) {
  zb_verdict_place *places = *out = ZB_NEW(arena, zb_verdict_place, t->p.problem.ranks);
  ZB_TRY(zb_arena_status(arena));
  for (int rank = 0; rank < t->p.problem.ranks; ++rank) {
    if (!clips(t->p.ranks[rank]))
      return zb_status_hint(ZB_ERROR(INVALID, "post-validation: rank %d trains no parameter, so it gets no norm", rank),
                            "leave --post-validation out, or use fewer ranks or other --cuts");
    places[rank] = (zb_verdict_place){first_backward(&t->order, rank), INT_MAX};
  }
  for (bool changed = true; changed;) { /* places only become earlier */
    changed = false;
    for (int i = 0; i < (int)transfers->list.count; ++i) {
      const zb_rank_transfer *m = &transfers->list.items[i];
      if (!m->hop || !is_received_before(m, i, places[m->destination])) continue;
      if (m->send_position <= places[m->source].position) continue; /* sends come before receives */
      places[m->destination] = (zb_verdict_place){m->recv_position, i};
      changed = true;
    }
  }
  return NULL;
}

/* ---- Their tables ---- */

static uint64_t given_by(const zb_gather *gather, const zb_gather_member *member) {
  if (gather->kind == ZB_GATHER_SUMS) return member->sums.count * zb_type_bytes(gather->type);
  uint64_t bytes = 0;
  for (size_t i = 0; i < member->parts.count; ++i)
    bytes += member->parts.items[i].bytes;
  return bytes;
}

/* Bytes that a transfer brings: of a gather what comes to the member that gives least, of a sum over replicas shards of
 * the others, and then their sums; of parts one part of each other. */
static int64_t bytes_of(const zb_timetable *t, const zb_rank_transfer *m) {
  if (m->hop) return m->hop->bytes;
  uint64_t total = 0, least = UINT64_MAX;
  if (m->gather->kind == ZB_GATHER_BUFFERS)
    return (int64_t)((uint64_t)(t->replicas - 1) * given_by(m->gather, &m->gather->members.items[0]));
  if (zb_replicas_parts(t->p.top) > 1 && m->gather->members.count == 1 && m->gather->kind != ZB_REDUCE_NORM) {
    const bool one = m->gather->kind != ZB_REDUCE_SUMS || zb_replicas_scatter(t->p.top);
    total = given_by(m->gather, &m->gather->members.items[0]);
    return (int64_t)((one ? 1 : 2) * (uint64_t)(t->replicas - 1) * total);
  }
  if (m->gather->kind == ZB_REDUCE_SUMS || m->gather->kind == ZB_REDUCE_NORM) {
    total = given_by(m->gather, &m->gather->members.items[0]);
    return (int64_t)(2 * (total - total / (uint64_t)t->replicas));
  }
  for (size_t i = 0; i < m->gather->members.count; ++i) {
    const uint64_t own = given_by(m->gather, &m->gather->members.items[i]);
    total += own;
    if (own < least) least = own;
  }
  return (int64_t)(total - least);
}

static zb_payload payload_of(const zb_rank_transfer *m) {
  if (!m->hop && (m->gather->kind == ZB_GATHER_PARAMETERS || m->gather->kind == ZB_GATHER_FOR_JOBS))
    return ZB_PAYLOAD_PARAMETERS;
  if (!m->hop && (m->gather->kind == ZB_GATHER_NORM || m->gather->kind == ZB_REDUCE_NORM)) return ZB_PAYLOAD_NORMS;
  if (!m->hop && m->gather->kind == ZB_GATHER_BUFFERS) return ZB_PAYLOAD_BUFFERS;
  if (!m->hop) return ZB_PAYLOAD_GRADIENTS;
  return m->source_stage < m->destination_stage ? ZB_PAYLOAD_FORWARD : ZB_PAYLOAD_BACKWARD;
}

/* When a transfer is complete. Sums over replicas that wait for each other follow each other; sums: [rank] when the
 * last one is complete. */
static int64_t complete_ps(const zb_timetable *t, const zb_rank_transfer *m, int64_t bytes, int64_t *sums) {
  const int64_t takes = t->p.problem.link_latency_ps + (int64_t)(t->p.problem.link_ps_per_byte * (double)bytes);
  if (m->hop || m->gather->kind != ZB_REDUCE_SUMS || !zb_replicas_add_early(t->p.top)) return m->time + takes;
  int64_t *before = &sums[m->gather->members.items[0].rank];
  *before = (*before > m->time ? *before : m->time) + takes;
  return *before;
}

/* Tables while they are written. */
typedef struct transfer_tables {
  zb_arena *arena;
  ZB_LIST(zb_messages_row) messages;
  ZB_LIST(zb_members_row) members;
  ZB_LIST(zb_parts_row) parts;
  zb_map *lists; /* the parts of a member -> their first row */
} transfer_tables;

/* The first row of the parts of a member: gathers that share a list have the same rows. -1: it has none. */
static int64_t write_parts(transfer_tables *to, const zb_gather *gather, const zb_gather_member *member) {
  const int64_t known = member->parts.count ? zb_map_get_or(to->lists, member->parts.items, -1) : -1;
  const int64_t first = (int64_t)to->parts.count;
  if (!member->parts.count || known >= 0) return known;
  for (size_t p = 0; p < member->parts.count; ++p)
    (void)ZB_PUSH(to->arena, &to->parts,
                  (zb_parts_row){.offset = (int64_t)member->parts.items[p].offset,
                                 .bytes = (int64_t)member->parts.items[p].bytes,
                                 .into = gather->into ? gather->into[p] : -1,
                                 .pool = gather->pools ? gather->pools[p] : -1});
  zb_arena_map_set(to->arena, to->lists, member->parts.items, first);
  return first;
}

static void write_members(transfer_tables *to, const zb_gather *gather, int64_t message) {
  const bool sums = gather->kind == ZB_GATHER_SUMS;
  for (size_t k = 0; k < gather->members.count; ++k) {
    const zb_gather_member *member = &gather->members.items[k];
    (void)ZB_PUSH(to->arena, &to->members,
                  (zb_members_row){.message = message,
                                   .rank = member->rank,
                                   .values = (int64_t)(sums ? member->sums.count : member->parts.count),
                                   .bytes = sums ? (int64_t)zb_type_bytes(gather->type) : 0,
                                   .lead_ps = gather->lead_ps,
                                   .parts = write_parts(to, gather, member)});
  }
}

zb_status zb_transfers_write(zb_arena *arena, const zb_timetable *t, const zb_transfers *step,
                             const zb_transfers *evaluation) {
  const size_t of_step = step->list.count, count = of_step + evaluation->list.count;
  int64_t *summed = ZB_NEW(arena, int64_t, t->p.problem.ranks);
  transfer_tables to = {.arena = arena, .lists = zb_arena_map_pointer(arena)};
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < count; ++i) {
    const zb_rank_transfer *m = i < of_step ? &step->list.items[i] : &evaluation->list.items[i - of_step];
    const int64_t bytes = bytes_of(t, m);
    (void)ZB_PUSH(arena, &to.messages,
                  (zb_messages_row){.source = m->source,
                                    .destination = m->destination,
                                    .source_stage = m->source_stage,
                                    .destination_stage = m->destination_stage,
                                    .micro_batch = m->micro_batch,
                                    .kind = zb_payload_letter(payload_of(m)),
                                    .bytes = bytes,
                                    .complete_ps = complete_ps(t, m, bytes, summed)});
    if (m->gather) write_members(&to, m->gather, (int64_t)i);
  }
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < to.members.count; ++i) {
    const zb_members_row *it = &to.members.items[i];
    ZB_ASSERT(it->message < (int64_t)count && to.messages.items[it->message].source < 0);
    ZB_ASSERT(it->parts < 0 || it->parts + it->values <= (int64_t)to.parts.count);
  }
  zb_messages_set(t->p.top, to.messages.items, (int)to.messages.count);
  if (to.members.count) zb_members_set(t->p.top, to.members.items, (int)to.members.count);
  if (count > of_step) zb_set_i64(t->p.top, ZB_ATTR_EVALUATION_MESSAGES, (int64_t)(count - of_step));
  if (to.parts.count) zb_parts_set(t->p.top, to.parts.items, (int)to.parts.count);
  return NULL;
}
