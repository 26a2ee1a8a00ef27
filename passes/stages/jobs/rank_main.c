/* The @main, and the @evaluate, that zb-insert-comm gives a rank: jobs in order, each a call on SSA values, with the
 * ops that post its transfers between them.
 *
 * The number of the message of every zb.send, zb.recv and zb.all_gather is in zb.posts of the rank's module, in program
 * order: MLIR keeps every distinct attribute dictionary as long as the context, and one for each of some hundred
 * thousand messages would cost more than the rest of a compile.
 *
 * Tests: test/passes/insert-comm.mlir, test/passes/gathered.mlir. */

#include "passes/stages/jobs/rank_main.h"

#include "passes/stages/classes.h"
#include "passes/stages/frames.h"
#include "passes/stages/functions/shard_optimizer.h"
#include "passes/stages/replicas.h"
#include "runtime/plan/file/collective.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdlib.h>
#include <string.h>

typedef struct rank_main {
  const zb_connection *c;
  zb_rank_work *work;
  zb_arena *arena; /* of work */
  zb_builder b;    /* fails where a job reads a value that is not there */
  MlirValue pools[POOL_COUNT];
  MlirType norms_type; /* null: there is no clipping */
  MlirValue step;
  zb_kind kind;   /* of the job at hand */
  zb_map *values; /* (value, stage, m) */
  zb_map *common; /* values between jobs that run once a step */
  zb_map *sums;   /* keys of accumulators of other ranks */
  ZB_LIST(MlirValue) operands;
  zb_rank_posts *posts; /* of every op that posts, in program order */
} rank_main;

/* ---- Interfaces ---- */

static int name_index(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

static zb_interface_port read_port(zb_arena *arena, const zb_port *from) {
  char key[ZB_KEY_BYTES];
  if (from->frame) {
    int pool = name_index(pool_names, POOL_COUNT, from->frame);
    if (pool >= 0) return (zb_interface_port){.kind = ZB_PORT_POOL, .index = pool};
    return (zb_interface_port){.kind = ZB_PORT_FRAME, .index = name_index(frame_names, FRAME_COUNT, from->frame)};
  }
  if (from->step) return (zb_interface_port){.kind = ZB_PORT_STEP};
  if (from->sum) return (zb_interface_port){.kind = ZB_PORT_SUM, .name = zb_arena_strdup(arena, zb_sum_key(from, key))};
  if (from->input) return (zb_interface_port){.kind = ZB_PORT_INPUT, .name = from->input};
  if (from->output) return (zb_interface_port){.kind = ZB_PORT_OUTPUT, .name = from->output};
  if (from->report) return (zb_interface_port){.kind = ZB_PORT_REPORT, .name = from->report};
  if (from->loss) return (zb_interface_port){.kind = ZB_PORT_REPORT, .name = "loss"};
  return (zb_interface_port){.kind = ZB_PORT_VALUE, .id = from->value};
}

zb_status zb_subprogram_interface_read(zb_arena *arena, MlirOperation function, zb_subprogram_interface *out) {
  zb_ports arguments = zb_arguments(function), results = zb_results(function);
  *out = (zb_subprogram_interface){.arguments = ZB_NEW(arena, zb_interface_port, arguments.count),
                                   .results = ZB_NEW(arena, zb_interface_port, results.count),
                                   .argument_count = arguments.count,
                                   .result_count = results.count,
                                   .argument_types = ZB_NEW(arena, MlirType, arguments.count),
                                   .result_types = ZB_NEW(arena, MlirType, results.count)};
  ZB_TRY(zb_arena_status(arena));
  while (zb_next(&arguments)) {
    out->arguments[arguments.index] = read_port(arena, &arguments.port);
    out->argument_types[arguments.index] = arguments.type;
  }
  while (zb_next(&results)) {
    out->results[results.index] = read_port(arena, &results.port);
    out->result_types[results.index] = results.type;
  }
  out->callee = mlirFlatSymbolRefAttrGet(mlirOperationGetContext(function),
                                         mlirStringRefCreateFromCString(zb_symbol_name(function)));
  return zb_arena_status(arena);
}

/* ---- Values of the rank ---- */

void *zb_source_key(const zb_connection *c, int64_t value, int stage) {
  return zb_id_key(value * c->t.p.problem.stages + stage);
}

static void *value_key(const rank_main *r, int64_t id, int stage, int m) {
  const zb_problem *p = &r->c->t.p.problem;
  return zb_id_key((id * p->stages + stage) * p->micro_batches + m);
}

static void remember(rank_main *r, zb_map *map, const void *key, MlirValue value) {
  zb_arena_map_set(r->arena, map, key, (int64_t)(intptr_t)value.ptr);
}

static MlirValue recall(const zb_map *map, const void *key) {
  return (MlirValue){(const void *)(intptr_t)zb_map_get_or(map, key, 0)};
}

/* The value as the stage sees it: made or received there, or handed over by a stage of the same rank. */
static MlirValue find_value(rank_main *r, int64_t id, int stage, int m) {
  if (stage < 0) return recall(r->common, zb_id_key(id));
  for (int hops = 0; hops <= r->c->t.p.problem.stages && stage >= 0; ++hops) {
    MlirValue value = recall(r->values, value_key(r, id, stage, m));
    if (!mlirValueIsNull(value)) return value;
    stage = (int)zb_map_get_or(r->c->sources, zb_source_key(r->c, id, stage), -1);
  }
  return (MlirValue){0};
}

static MlirValue *frame_of(const rank_main *r, int stage, int frame, int m) {
  return &r->c->frames[(stage * FRAME_COUNT + frame) * r->c->t.p.problem.micro_batches + m];
}

static MlirValue *gathered_of(const rank_main *r, int stage, zb_kind kind, int m) {
  return &r->c->gathered[(stage * ZB_KIND_COUNT + (int)kind) * r->c->t.p.problem.micro_batches + m];
}

/* ---- Ops ---- */

static MlirOperation build(rank_main *r, const char *name, const MlirValue *operands, size_t operand_count,
                           const MlirType *results, size_t result_count, const MlirNamedAttribute *attributes,
                           int attribute_count) {
  ++r->work->changes;
  return zb_build_any(&r->b, name, operands, (int)operand_count, results, (int)result_count, attributes,
                      attribute_count);
}

static MlirValue result_of(MlirOperation op, size_t index) {
  return mlirOperationIsNull(op) ? (MlirValue){0} : mlirOperationGetResult(op, (intptr_t)index);
}

/* An input is named before it is read, a report as it is made: {input = "x", zb.micro_batch = m}. */
static void name_of_micro_batch(const rank_main *r, const char *attribute, const char *name, int m,
                                MlirNamedAttribute out[2]) {
  out[0] = zb_named(r->b.context, attribute, zb_mlir_string(r->b.context, name));
  if (m >= 0) out[1] = zb_named_i64(r->b.context, ZB_ATTR_MICRO_BATCH, m);
}

static MlirValue argument_of(rank_main *r, const zb_interface_port *p, const MlirType *type, int stage, int m) {
  MlirNamedAttribute attributes[2];
  switch (p->kind) {
  case ZB_PORT_POOL:
    return r->pools[p->index];
  case ZB_PORT_FRAME:
    return p->index == FRAME_GATHERED ? *gathered_of(r, stage, r->kind, m) : *frame_of(r, stage, p->index, m);
  case ZB_PORT_STEP:
    return r->step;
  case ZB_PORT_INPUT:
    name_of_micro_batch(r, "input", p->name, m, attributes);
    return result_of(build(r, "zb.read", NULL, 0, type, 1, attributes, 2), 0);
  case ZB_PORT_SUM:
    return recall(r->sums, p->name);
  default:
    return find_value(r, p->id, stage, m);
  }
}

static void take_result(rank_main *r, const zb_interface_port *p, int stage, int m, MlirValue value) {
  MlirNamedAttribute attributes[3];
  switch (p->kind) {
  case ZB_PORT_POOL:
    r->pools[p->index] = value;
    break;
  case ZB_PORT_FRAME:
    *frame_of(r, stage, p->index, m) = value;
    break;
  case ZB_PORT_REPORT:
    name_of_micro_batch(r, "name", p->name, m, attributes);
    build(r, "zb.report", &value, 1, NULL, 0, attributes, m >= 0 ? 2 : 1);
    break;
  case ZB_PORT_OUTPUT:
    name_of_micro_batch(r, "name", p->name, m, attributes);
    attributes[2] = zb_named(r->b.context, "is_output", mlirBoolAttrGet(r->b.context, 1));
    build(r, "zb.report", &value, 1, NULL, 0, attributes, 3);
    break;
  default:
    if (stage < 0)
      remember(r, r->common, zb_id_key(p->id), value);
    else
      remember(r, r->values, value_key(r, p->id, stage, m), value);
    break;
  }
}

/* One job: reads inputs, calls, hands out results, reports. m = -1 for LOAD and the optimizer. Its micro-batch is set
 * behind its making: the callee is no attribute of the op itself, and so as many dictionaries do as there are
 * micro-batches, and not one for each job. */
static void call(rank_main *r, const zb_subprogram_interface *f, int stage, int m) {
  r->operands.count = 0;
  for (int i = 0; i < f->argument_count; ++i) {
    MlirValue operand = argument_of(r, &f->arguments[i], &f->argument_types[i], stage, m);
    r->b.failed |= mlirValueIsNull(operand) || !ZB_PUSH(r->arena, &r->operands, operand);
  }
  const MlirNamedAttribute callee = zb_named(r->b.context, "callee", f->callee);
  MlirOperation op =
      build(r, "func.call", r->operands.items, r->operands.count, f->result_types, (size_t)f->result_count, &callee, 1);
  if (m >= 0 && !mlirOperationIsNull(op)) zb_set_i64(op, ZB_ATTR_MICRO_BATCH, m);
  for (int i = 0; i < f->result_count && !r->b.failed; ++i)
    take_result(r, &f->results[i], stage, m, result_of(op, (size_t)i));
}

/* ---- Posts ---- */

/* One of the ops that the rank adds for a transfer. */
typedef struct post {
  int position; /* before which job */
  int message;  /* number of the transfer */
  bool send;
  bool is_verdict; /* it posts nothing, but stands before the receive of that number */
  bool reduces;    /* over replicas: right behind the job that completes it, which may go on meanwhile */
} post;
typedef ZB_LIST(post) post_list;

static int compare_posts(const void *a, const void *b) {
  const post *x = a, *y = b;
  if (x->position != y->position) return x->position - y->position;
  if (x->reduces != y->reduces) return x->reduces ? -1 : 1;
  if (x->send != y->send) return x->send ? -1 : 1; /* a receive may have to wait for memory: sends go first */
  if (x->message != y->message) return x->message - y->message;
  return y->is_verdict - x->is_verdict;
}

/* Before which job of the rank, or of its optimizer, behind the others. */
static int position_of(const rank_main *r, const zb_gather *gather) {
  if (gather->kind == ZB_REDUCE_SUMS || gather->kind == ZB_GATHER_FOR_JOBS) return gather->position;
  const int behind[] = {[ZB_GATHER_SUMS] = 0,
                        [ZB_GATHER_BUFFERS] = 0,
                        [ZB_REDUCE_NORM] = 1,
                        [ZB_GATHER_NORM] = 2,
                        [ZB_GATHER_PARAMETERS] = 3};
  return r->c->t.order.counts[r->work->rank] + behind[gather->kind];
}

static zb_status find_posts(rank_main *r, post_list *out) {
  const int rank = r->work->rank;
  for (int i = 0; i < (int)r->c->transfers.list.count; ++i) {
    const zb_rank_transfer *m = &r->c->transfers.list.items[i];
    for (size_t k = 0; m->gather && k < m->gather->members.count; ++k)
      if (m->gather->members.items[k].rank == rank)
        (void)ZB_PUSH(
            r->arena, out,
            (post){.position = position_of(r, m->gather), .message = i, .reduces = m->gather->kind == ZB_REDUCE_SUMS});
    if (m->source == rank) (void)ZB_PUSH(r->arena, out, (post){m->send_position, i, .send = true});
    if (m->destination == rank) (void)ZB_PUSH(r->arena, out, (post){m->recv_position, i, .send = false});
  }
  if (r->c->verdicts) {
    const zb_verdict_place place = r->c->verdicts[rank];
    (void)ZB_PUSH(r->arena, out, (post){place.position, place.message, .is_verdict = true});
  }
  ZB_TRY(zb_arena_status(r->arena));
  if (out->count) qsort(out->items, out->count, sizeof *out->items, compare_posts);
  return NULL;
}

/* The next op of the program posts this message. */
static void note_post(rank_main *r, int message) {
  (void)ZB_PUSH(r->arena, r->posts, (zb_posts_row){.message = r->c->first_message + message});
}

/* Type of a value at the stage that receives it: an argument of one of its functions. */
static const MlirType *value_type(const rank_main *r, int stage, int64_t id) {
  const zb_subprogram_interface *f = &r->c->interfaces[stage * ZB_KIND_COUNT];
  for (int k = 0; k < ZB_KIND_COUNT; ++k)
    for (int i = 0; i < f[k].argument_count; ++i)
      if (f[k].arguments[i].kind == ZB_PORT_VALUE && f[k].arguments[i].id == id) return &f[k].argument_types[i];
  return NULL;
}

/* A send or a receive a part. */
static void build_message(rank_main *r, const zb_rank_transfer *m, const post *p) {
  for (size_t part = 0; part < m->hop->values.count && !r->b.failed; ++part) {
    int64_t id = m->hop->values.items[part];
    MlirNamedAttribute attributes[2] = {zb_named_i64(r->b.context, "peer", p->send ? m->destination : m->source),
                                        zb_named_i64(r->b.context, "part", (int64_t)part)};
    note_post(r, p->message);
    if (p->send) {
      MlirValue value = find_value(r, id, m->source_stage, m->micro_batch);
      r->b.failed |= mlirValueIsNull(value);
      build(r, "zb.send", &value, 1, NULL, 0, attributes, 2);
    } else {
      const MlirType *type = value_type(r, m->destination_stage, id);
      r->b.failed |= !type;
      remember(r, r->values, value_key(r, id, m->destination_stage, m->micro_batch),
               result_of(build(r, "zb.recv", NULL, 0, type, 1, attributes, 2), 0));
    }
  }
}

/* The rank gives its accumulators and gets those of the other members, in the order of members. */
static void build_gather(rank_main *r, const zb_gather *g, int message) {
  ZB_LIST(int64_t) ranks = {0}, counts = {0};
  ZB_LIST(MlirValue) own = {0};
  ZB_LIST(MlirType) types = {0};
  ZB_LIST(const zb_port *) others = {0};
  size_t place = 0;
  char key[ZB_KEY_BYTES];
  note_post(r, message);
  for (size_t i = 0; i < g->members.count; ++i) {
    const zb_gather_member *member = &g->members.items[i];
    (void)(ZB_PUSH(r->arena, &ranks, member->rank) && ZB_PUSH(r->arena, &counts, (int64_t)member->sums.count));
    if (member->rank == r->work->rank) place = i;
    for (size_t k = 0; k < member->sums.count; ++k) {
      const zb_entry *sum = &member->sums.items[k];
      MlirNamedAttribute offset = zb_named_i64(r->b.context, "offset", sum->offset);
      if (member->rank != r->work->rank)
        (void)(ZB_PUSH(r->arena, &others, &sum->port) && ZB_PUSH(r->arena, &types, g->type));
      else
        (void)ZB_PUSH(r->arena, &own,
                      result_of(build(r, "zb.get", &r->pools[POOL_GRADIENTS], 1, &g->type, 1, &offset, 1), 0));
    }
  }
  if (r->arena->failed) return;
  MlirNamedAttribute attributes[3] = {
      zb_named(r->b.context, "counts", mlirDenseI64ArrayGet(r->b.context, (intptr_t)counts.count, counts.items)),
      zb_named(r->b.context, "members", mlirDenseI64ArrayGet(r->b.context, (intptr_t)ranks.count, ranks.items)),
      zb_named_i64(r->b.context, "place", (int64_t)place)};
  MlirOperation op = build(r, "zb.all_gather", own.items, own.count, types.items, types.count, attributes, 3);
  for (size_t i = 0; i < others.count; ++i)
    remember(r, r->sums, zb_sum_key(others.items[i], key), result_of(op, i));
}

/* The rank gives its parts of a frame, and gets all others. */
static void build_frame_gather(rank_main *r, int pool, int message) {
  MlirValue *frame = &r->pools[pool];
  MlirType type = mlirValueGetType(*frame);
  note_post(r, message);
  *frame = result_of(build(r, "zb.gather_frame", frame, 1, &type, 1, NULL, 0), 0);
}

/* Room for what the other replicas send of these parts. */
static MlirType landing_type(const rank_main *r, const uint64_t *sizes, size_t count, zb_dtype dtype) {
  const uint64_t bytes = zb_landing_room(sizes, (uint32_t)count, r->c->t.replicas, dtype);
  const zb_shape shape = {.dtype = dtype, .rank = 1, .dims = {(int64_t)(bytes / zb_dtype_bytes(dtype))}};
  return zb_shape_type(r->b.context, &shape);
}

/* The numbers of the rank, of parts of gradients, become those of whole ones. */
static void build_norm_sum(rank_main *r, const zb_gather *g, int message) {
  const zb_gather_member *own = &g->members.items[0];
  MlirValue *frame = &r->pools[POOL_NORMS];
  uint64_t *sizes = ZB_NEW(r->arena, uint64_t, own->parts.count);
  if (!sizes) return;
  for (size_t i = 0; i < own->parts.count; ++i)
    sizes[i] = own->parts.items[i].bytes;
  MlirType types[2] = {mlirValueGetType(*frame), landing_type(r, sizes, own->parts.count, ZB_F64)};
  note_post(r, message);
  *frame = result_of(build(r, "zb.reduce_frame", frame, 1, types, 2, NULL, 0), 0);
}

/* The accumulators of the rank become the sums over replicas. */
static void build_reduction(rank_main *r, const zb_gather *g, int message) {
  const zb_gather_member *own = &g->members.items[0];
  uint64_t *sizes = ZB_NEW(r->arena, uint64_t, own->parts.count);
  if (!sizes) return;
  for (size_t i = 0; i < own->parts.count; ++i)
    sizes[i] = own->parts.items[i].bytes * (uint64_t)zb_replicas_parts(r->c->t.p.top);
  MlirValue *frame = &r->pools[POOL_GRADIENTS];
  MlirType types[2] = {mlirValueGetType(*frame), landing_type(r, sizes, own->parts.count, ZB_F32)};
  MlirValue operands[2] = {*frame};
  if (g->micro_batch >= 0) operands[1] = *frame_of(r, g->stage, g->frame, g->micro_batch);
  r->b.failed |= g->micro_batch >= 0 && mlirValueIsNull(operands[1]);
  if (r->b.failed) return;
  note_post(r, message);
  *frame = result_of(build(r, "zb.reduce_frame", operands, g->micro_batch >= 0 ? 2 : 1, types, 2, NULL, 0), 0);
}

/* Parameters that a job reads, or, where they are kept, several. */
static void build_job_gather(rank_main *r, const zb_gather *g, int message) {
  const zb_gathered kept = zb_gathered_of(zb_get_string(r->c->t.p.top, ZB_ATTR_GATHER));
  const zb_subprogram_interface *f = &r->c->interfaces[g->stage * ZB_KIND_COUNT + (int)g->job_kind];
  const MlirValue *parameters = &r->pools[POOL_PARAMETERS];
  MlirValue frame;
  int port = 0;
  while (f->arguments[port].kind != ZB_PORT_FRAME || f->arguments[port].index != FRAME_GATHERED)
    ++port;
  note_post(r, message);
  frame = result_of(build(r, "zb.gather_parameters", parameters, mlirValueIsNull(*parameters) ? 0 : 1,
                          &f->argument_types[port], 1, NULL, 0),
                    0);
  for (int m = 0; m < r->c->t.p.problem.micro_batches; ++m)
    for (zb_kind kind = ZB_F; kind <= ZB_B; ++kind)
      if ((g->micro_batch < 0 || g->micro_batch == m) && (kept != ZB_GATHERED_JOB || kind == g->job_kind))
        *gathered_of(r, g->stage, kind, m) = frame;
}

static void build_posts(rank_main *r, const post_list *posts, size_t *at, int position) {
  for (; *at < posts->count && posts->items[*at].position <= position && !r->b.failed; ++*at) {
    const post *p = &posts->items[*at];
    if (p->is_verdict) {
      build(r, "zb.verdict", NULL, 0, NULL, 0, NULL, 0);
      continue;
    }
    const zb_rank_transfer *m = &r->c->transfers.list.items[p->message];
    if (!m->gather)
      build_message(r, m, p);
    else if (m->gather->kind == ZB_GATHER_NORM)
      build_frame_gather(r, POOL_NORMS, p->message);
    else if (m->gather->kind == ZB_GATHER_BUFFERS)
      build_frame_gather(r, POOL_BUFFERS, p->message);
    else if (m->gather->kind == ZB_GATHER_PARAMETERS)
      build_frame_gather(r, POOL_PARAMETERS, p->message);
    else if (m->gather->kind == ZB_REDUCE_NORM)
      build_norm_sum(r, m->gather, p->message);
    else if (m->gather->kind == ZB_REDUCE_SUMS)
      build_reduction(r, m->gather, p->message);
    else if (m->gather->kind == ZB_GATHER_FOR_JOBS)
      build_job_gather(r, m->gather, p->message);
    else
      build_gather(r, m->gather, p->message);
  }
}

/* ---- The function ---- */

static void begin_main(rank_main *r, zb_function_builder *f) {
  MlirType types[POOL_COUNT] = {{0}};
  const bool gathers = zb_has_attribute(r->c->t.p.top, ZB_ATTR_GATHER);
  ZB_FOR_EACH_OP(function, zb_function_block(r->work->module)) {
    const bool other = r->c->t.evaluates && zb_class_get(function) != ZB_JOB_EVALUATE;
    if (other && !gathers) continue;
    for (zb_ports at = zb_arguments(function); zb_next(&at);) {
      int index = at.port.frame ? name_index(pool_names, POOL_COUNT, at.port.frame) : -1;
      if (other && index != POOL_PARAMETERS) continue; /* that it gathers from */
      if (index >= 0) types[index] = at.type;
    }
  }
  for (int i = 0; i < POOL_COUNT; ++i)
    if (!mlirTypeIsNull(types[i]) && i != POOL_GRADIENTS && i != POOL_NORMS)
      r->pools[i] = zb_function_argument(f, types[i], zb_frame_port(f->context, pool_names[i]));
  if (r->c->t.evaluates) return;
  const zb_shape step = {.dtype = ZB_I64};
  r->step = zb_function_argument(f, zb_shape_type(f->context, &step), zb_step_port(f->context, true));
  if (!mlirTypeIsNull(types[POOL_GRADIENTS]))
    r->pools[POOL_GRADIENTS] = result_of(build(r, "zb.zeros", NULL, 0, &types[POOL_GRADIENTS], 1, NULL, 0), 0);
  r->norms_type = types[POOL_NORMS];
}

/* Whether it is a NORM that makes numbers of what others gave to the frame of norms: a sum over shards (zb-norm-sums).
 */
static bool sums_numbers(MlirOperation function) {
  if (zb_class_get(function) != ZB_JOB_NORM) return false;
  for (zb_ports at = zb_arguments(function); zb_next(&at);) {
    if (!at.port.frame || strcmp(at.port.frame, pool_names[POOL_NORMS]) != 0) continue;
    ZB_FOR_EACH_OP(op, zb_function_block(function))
      if (zb_op_is(op, "zb.get") && mlirValueEqual(mlirOperationGetOperand(op, 0), at.value)) return true;
  }
  return false;
}

/* Which functions are called: of stages; of none; sums of numbers. */
typedef enum calls { CALLS_OF_STAGES, CALLS_OF_NONE, CALLS_OF_NUMBERS } calls;

/* Calls the functions from one kind to another. */
static zb_status call_once(rank_main *r, zb_job_kind first, zb_job_kind last, calls which) {
  ZB_FOR_EACH_OP(function, zb_function_block(r->work->module)) {
    const zb_job_kind kind = zb_class_get(function);
    if (kind < first || kind > last || kind == ZB_JOB_KIND_COUNT) continue;
    const calls its = zb_get_i64(function, ZB_ATTR_STAGE, -1) >= 0 ? CALLS_OF_STAGES
                      : sums_numbers(function)                     ? CALLS_OF_NUMBERS
                                                                   : CALLS_OF_NONE;
    if (its != which) continue;
    zb_subprogram_interface f;
    ZB_TRY(zb_subprogram_interface_read(r->arena, function, &f));
    call(r, &f, -1, -1);
  }
  return NULL;
}

/* Optimizers of tied parameters come after those of stages: they wait for accumulators of other ranks. */
static zb_status call_phases(rank_main *r, zb_job_kind first, zb_job_kind last) {
  ZB_TRY(call_once(r, first, last, CALLS_OF_STAGES));
  return call_once(r, first, last, CALLS_OF_NONE);
}

static zb_status call_optimizer(rank_main *r, const post_list *posts, size_t *at) {
  const int jobs = r->c->t.order.counts[r->work->rank];
  if (!mlirTypeIsNull(r->norms_type))
    r->pools[POOL_NORMS] = result_of(build(r, "zb.empty_frame", NULL, 0, &r->norms_type, 1, NULL, 0), 0);
  ZB_TRY(call_phases(r, ZB_JOB_SUM, ZB_JOB_NORM));
  build_posts(r, posts, at, jobs + 1);
  ZB_TRY(call_once(r, ZB_JOB_NORM, ZB_JOB_NORM, CALLS_OF_NUMBERS));
  build_posts(r, posts, at, jobs + 2);
  if (r->c->verdicts) build(r, "zb.snapshot", NULL, 0, NULL, 0, NULL, 0);
  ZB_TRY(call_phases(r, ZB_JOB_CLIP, ZB_JOB_CLIP));
  ZB_TRY(call_phases(r, ZB_JOB_UPDATE, ZB_JOB_UPDATE));
  build_posts(r, posts, at, jobs + 3);
  return call_phases(r, ZB_JOB_RENEW, ZB_JOB_RENEW);
}

static zb_status build_body(rank_main *r) {
  const zb_order *order = &r->c->t.order;
  const int rank = r->work->rank;
  post_list posts = {0};
  size_t at = 0;
  ZB_TRY(find_posts(r, &posts));
  if (!r->c->t.evaluates) ZB_TRY(call_once(r, ZB_JOB_LOAD, ZB_JOB_LOAD, CALLS_OF_NONE));
  for (int j = 0; j < order->counts[rank] && !r->b.failed; ++j) {
    const zb_job job = order->jobs[rank][j];
    build_posts(r, &posts, &at, j);
    r->kind = job.kind;
    call(r, &r->c->interfaces[job.stage * ZB_KIND_COUNT + (int)job.kind], job.stage, job.micro_batch);
  }
  build_posts(r, &posts, &at, order->counts[rank]);
  if (!r->c->t.evaluates) ZB_TRY(call_optimizer(r, &posts, &at));
  ZB_TRY(zb_arena_status(r->arena));
  return r->b.failed ? ZB_ERROR(INVALID, "rank %d: a job reads a value that no earlier job or message gives", rank)
                     : NULL;
}

zb_status zb_rank_main_build(const zb_connection *connection, zb_rank_work *work, zb_rank_posts *posts) {
  zb_arena *arena = &work->arena;
  zb_function_builder f;
  MlirLocation location = mlirOperationGetLocation(work->module);
  zb_function_begin(&f, mlirOperationGetContext(work->module), location);
  rank_main r = {.c = connection,
                 .work = work,
                 .arena = arena,
                 .posts = posts,
                 .b = zb_builder_at_end(f.block, location),
                 .values = zb_arena_map_pointer(arena),
                 .common = zb_arena_map_pointer(arena),
                 .sums = zb_arena_map(arena)};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(arena));
  begin_main(&r, &f);
  ZB_TRY_GOTO(build_body(&r));
  for (int i = 0; i < POOL_COUNT && !connection->t.evaluates; ++i)
    if (!mlirValueIsNull(r.pools[i]) && (i == POOL_PARAMETERS || i == POOL_BUFFERS || i == POOL_STATE))
      zb_function_result(&f, r.pools[i], zb_frame_port(f.context, pool_names[i]));
  if (mlirOperationIsNull(zb_function_finish(&f, zb_function_block(work->module), connection->name, true, NULL, 0)))
    status = ZB_OUT_OF_MEMORY();
cleanup:
  if (status) zb_function_abandon(&f);
  return status;
}
