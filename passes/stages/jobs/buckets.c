/* Buckets of accumulators: see buckets.h.
 *
 * W of a stage and the last micro-batch completes its accumulators one after the other, the layers that are last in the
 * model first. So a bucket is a run of them in that order, and may be on its way while W goes on with the next one.
 * What B completes waits for the end of B, since the stage before waits for B.
 *
 * As reductions of the schedule problem they are all-reduces of equal shards in two phases, in each of which a rank
 * sends all shards but one over its link: together 2 (D - 1) / D of their bytes, and two latencies. Where replicas
 * share optimizer state, a rank needs the sum of its own part alone: then the first phase is all there is.
 *
 * Tests: test/passes/buckets.mlir, test/e2e/replicas.py. */

#include "passes/stages/jobs/buckets.h"

#include "passes/stages/cost.h"
#include "passes/stages/frames.h"
#include "passes/stages/replicas.h"
#include "passes/tables.h"

#include <math.h>

/* The accumulator of a zb.accumulate: its place in the frame of gradients, of parts that of the first. */
static zb_status read_part(MlirOperation op, int parts, zb_plan_range *out) {
  const MlirValue sum = mlirOperationGetOperand(op, 0);
  const MlirOperation get = mlirOpResultGetOwner(sum);
  const char *parameter = zb_get_string(op, "parameter");
  zb_shape shape;
  if (!zb_type_shape(mlirValueGetType(sum), &shape) || shape.dtype != ZB_F32)
    return ZB_ERROR(INVALID, "the accumulator of %s is no tensor of f32", parameter ? parameter : "?");
  const uint64_t bytes = (uint64_t)zb_shape_bytes(&shape);
  *out = (zb_plan_range){(uint64_t)zb_get_i64(get, "offset", 0), parts > 1 ? zb_plan_part_bytes(&shape, parts) : bytes};
  return NULL;
}

/* Where parts of the gradients of all micro-batches of a rank are added up: key of the sum -> offset. */
static zb_status find_sums(zb_arena *arena, MlirOperation rank, zb_map **out) {
  const zb_entries entries = zb_entries_get(rank, pool_tables[POOL_GRADIENTS]);
  char key[ZB_KEY_BYTES];
  *out = zb_arena_map(arena);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < entries.count; ++i) {
    const zb_entry entry = zb_entries_at(entries, i);
    zb_arena_map_set(arena, *out, zb_sum_key(&entry.port, key), entry.offset);
  }
  return zb_arena_status(arena);
}

static zb_status add_to_bucket(zb_arena *arena, const zb_map *sums, MlirOperation op, zb_plan_range part,
                               zb_bucket *bucket) {
  char key[ZB_KEY_BYTES];
  zb_port port = zb_no_port;
  int64_t into = -1;
  port.sum = zb_get_string(op, "parameter");
  port.use = zb_get_i64(op, "use", 0);
  if (sums && !zb_map_get(sums, zb_sum_key(&port, key), &into))
    return ZB_ERROR(INVALID, "the gradients of %s are added up nowhere", port.sum ? port.sum : "?");
  (void)(ZB_PUSH(arena, &bucket->parts, part) && ZB_PUSH(arena, &bucket->into, into));
  return zb_arena_status(arena);
}

/* What a bucket of W has behind it: a part of the time that zb-memory gives the function, which is that of its ops
 * unless it was measured. */
static int64_t share_of(int64_t time_ps, int64_t behind, int64_t all) {
  if (time_ps == all || all == 0) return behind;
  return (int64_t)((double)time_ps * ((double)behind / (double)all));
}

static zb_status find_of_job(zb_arena *arena, const zb_module_problem *p, int stage, zb_kind kind, int64_t least,
                             zb_buckets *out) {
  const MlirOperation function = p->functions[stage * ZB_KIND_COUNT + (int)kind];
  if (mlirOperationIsNull(function)) return NULL;
  const int parts = zb_replicas_parts(p->top);
  const size_t first = out->count;
  zb_map *sums = NULL;
  int64_t done = 0; /* what ops take up to the last that was looked at; it matters in W alone */
  bool open = false;
  if (zb_replicas_sum_each(p->top)) ZB_TRY(find_sums(arena, p->ranks[p->stage_rank[stage]], &sums));
  ZB_FOR_EACH_OP(op, zb_function_block(function)) {
    if (kind == ZB_W && !zb_op_is(op, "func.return")) done += zb_cost_of(op, zb_op_find(op), NULL).time_ps;
    if (!zb_op_is(op, "zb.accumulate")) continue;
    zb_plan_range part = {0};
    ZB_TRY(read_part(op, parts, &part));
    if (part.bytes == 0) continue;
    if (!open && !ZB_PUSH(arena, out, (zb_bucket){.stage = stage, .kind = kind})) return ZB_OUT_OF_MEMORY();
    zb_bucket *bucket = &out->items[out->count - 1];
    ZB_TRY(add_to_bucket(arena, sums, op, part, bucket));
    bucket->bytes += (int64_t)part.bytes * parts;
    bucket->lead_ps = done;
    open = bucket->bytes < least;
  }
  for (size_t i = first; i < out->count; ++i)
    out->items[i].lead_ps = share_of(zb_get_i64(function, ZB_ATTR_TIME_PS, 0), done - out->items[i].lead_ps, done);
  return zb_arena_status(arena);
}

zb_status zb_buckets_find(zb_arena *arena, const zb_module_problem *p, int64_t least, zb_buckets *out) {
  for (int stage = p->problem.stages - 1; stage >= 0; --stage)
    for (int kind = ZB_F; kind < ZB_KIND_COUNT; ++kind)
      ZB_TRY(find_of_job(arena, p, stage, (zb_kind)kind, least, out));
  return NULL;
}

/* ---- Reductions of the schedule problem ---- */

/* Bytes of the last shard of a sum, the largest; bytes: of the sum, or of parts the part. */
static int64_t shard_of(const zb_module_problem *p, int64_t bytes, int64_t replicas) {
  if (zb_replicas_parts(p->top) > 1) return bytes;
  const int64_t elements = bytes / (int64_t)sizeof(float), each = elements / replicas, rest = elements % replicas;
  return (int64_t)sizeof(float) * (elements - each * (replicas - 1) - rest * (replicas - 1) / replicas);
}

static int64_t shard_bytes(const zb_module_problem *p, const zb_bucket *bucket, int64_t replicas) {
  int64_t bytes = 0;
  for (size_t i = 0; i < bucket->parts.count; ++i)
    bytes += shard_of(p, (int64_t)bucket->parts.items[i].bytes, replicas);
  return bytes;
}

/* bytes: what a rank sends in one. */
static int64_t all_phases(const zb_module_problem *p, int64_t bytes) {
  return (zb_replicas_scatter(p->top) ? 1 : 2) *
         (p->problem.link_latency_ps + llround((double)bytes * p->problem.link_ps_per_byte));
}

int64_t zb_buckets_at_end_ps(const zb_module_problem *p, int rank, int64_t replicas) {
  const zb_entries entries = zb_entries_get(p->ranks[rank], pool_tables[POOL_GRADIENTS]);
  int64_t bytes = 0;
  const int parts = zb_replicas_parts(p->top);
  for (int i = 0; i < entries.count; ++i) {
    zb_shape shape;
    const zb_entry entry = zb_entries_at(entries, i);
    const MlirType type = entry.type;
    if (zb_port_is_summed(&entry.port)) continue; /* it is of all replicas already */
    const bool cut = parts > 1 && zb_type_shape(type, &shape);
    bytes += shard_of(p, cut ? (int64_t)zb_plan_part_bytes(&shape, parts) : (int64_t)zb_type_bytes(type), replicas);
  }
  return bytes ? all_phases(p, (replicas - 1) * bytes) : 0;
}

static zb_reduction reduction_of(const zb_module_problem *p, const zb_bucket *bucket, int micro_batch,
                                 int64_t replicas) {
  const int64_t w_ps = p->costs[bucket->stage].time_ps[ZB_W];
  const int64_t bytes = (replicas - 1) * shard_bytes(p, bucket, replicas);
  return (zb_reduction){.stage = bucket->stage,
                        .after = micro_batch,
                        .bytes = bucket->bytes,
                        .time_ps = all_phases(p, bytes),
                        .lead_ps = bucket->kind != ZB_W || bucket->lead_ps > w_ps ? w_ps : bucket->lead_ps};
}

/* Where the job stands that completes a bucket; 0 without an order. */
static int completed_at(const zb_module_problem *p, const zb_order *order, const zb_bucket *bucket, int micro_batch) {
  const int rank = p->stage_rank[bucket->stage];
  for (int i = 0; order && i < order->counts[rank]; ++i) {
    const zb_job job = order->jobs[rank][i];
    if (job.stage == bucket->stage && job.kind == bucket->kind && job.micro_batch == micro_batch) return i + 1;
  }
  return 0;
}

zb_status zb_buckets_reductions(zb_module_problem *p, const zb_order *order) {
  const int64_t replicas = zb_get_i64(p->top, ZB_ATTR_REPLICAS, 1);
  zb_buckets buckets = {0};
  if (replicas < 2 || p->problem.micro_batches < 1) return NULL;
  ZB_TRY(zb_buckets_find(&p->arena, p, zb_get_i64(p->top, ZB_ATTR_BUCKET_BYTES, INT64_MAX), &buckets));
  const int last = p->problem.micro_batches - 1, first = zb_replicas_sum_each(p->top) ? 0 : last;
  const size_t count = buckets.count * (size_t)(last - first + 1);
  zb_reduction *reductions = ZB_NEW(&p->arena, zb_reduction, count);
  int *places = ZB_NEW(&p->arena, int, count);
  ZB_TRY(zb_arena_status(&p->arena));
  for (size_t i = 0; i < count; ++i) {
    const zb_bucket *bucket = &buckets.items[i % buckets.count];
    const int micro_batch = first + (int)(i / buckets.count);
    const int place = completed_at(p, order, bucket, micro_batch);
    size_t at = i;
    for (; at > 0 && places[at - 1] > place; --at) {
      places[at] = places[at - 1];
      reductions[at] = reductions[at - 1];
    }
    places[at] = place;
    reductions[at] = reduction_of(p, bucket, micro_batch, replicas);
  }
  p->problem.reductions = reductions;
  p->problem.reduction_count = (int)count;
  return NULL;
}
