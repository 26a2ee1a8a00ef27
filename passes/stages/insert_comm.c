/* zb-insert-comm: a straight-line @main for each rank: its jobs as calls on SSA values, with messages between ranks.
 *
 *   before                                         after
 *     module @rank1 {zb.order = "1F0 1B0 1W0"}       func.func @main(%p, %s, %k, %t) {
 *                                                      %g = zb.zeros
 *                                                      %a = zb.recv {peer = 0, part = 0}
 *                                                      %loss, %fb, %fw = call @s1_F(%p, %a, ...) {zb.micro_batch = 0}
 *
 * One message a hop (stage -> stage on another rank) and micro-batch, with a part a value. A transfer can start when
 * its producer has ended and its consumer is the next job of the receiver; the messages are numbered by that time in
 * the simulated schedule. A receive is posted right before its consumer, a send right after its producer unless a
 * message of the same channel with a lower number is posted later: so both sides of a channel post in the same order,
 * and a receive never blocks unrelated work. All edges of the plan go forward in the simulated time, which is why it
 * cannot deadlock, with zero buffering too (zb-verify-plan shows it again).
 *
 * The number of the message of every zb.send and zb.recv stands in zb.posts of the rank's module, in program order:
 * MLIR keeps every distinct attribute dictionary for good, and one for each of some hundred thousand messages would
 * cost more than the rest of a compile.
 *
 * Accumulators of a parameter that several ranks hold are gathered by all of them once a step (zb.all_gather), after
 * the last W and before its optimizer. Such a collective has a number among the messages, and its members in
 * zb.members.
 *
 * Tests: test/passes/insert-comm.mlir. */

#include "passes/stages/classes.h"
#include "passes/stages/frames.h"
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/tables.h"
#include "passes/stages/problem.h"
#include "runtime/plan/plan.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message of no hop is a collective: it has members instead of a source and a destination. */
enum { GRADIENT_HOP = -1 };

typedef struct message {
  int64_t time;            /* when the transfer can start */
  int64_t produced;        /* when its producer ends */
  int hop;                 /* index of problem.hops, or GRADIENT_HOP */
  int source, destination; /* ranks */
  int source_stage, destination_stage;
  int micro_batch;                  /* -1 for accumulators */
  int send_position, recv_position; /* before which job of the rank */
  int group;                        /* accumulators: index of gathers */
  int number;
} message;

/* What one member of a gather gives: its accumulators of the parameter, one a use. */
typedef struct member {
  int rank;
  char **keys;      /* "w#1" */
  int64_t *offsets; /* in its gradients */
  size_t count, key_capacity, offset_capacity;
} member;

/* A parameter that several ranks update: each gets the accumulators of all others. */
typedef struct gather {
  const char *parameter;
  member *members; /* by rank */
  size_t member_count, member_capacity;
  MlirType type; /* of every accumulator */
} gather;

/* What a function of a rank takes and gives, read once instead of once a call. */
typedef struct port {
  int kind;               /* PORT_* */
  int index;              /* pool or frame */
  int64_t id;             /* value */
  char key[ZB_KEY_BYTES]; /* accumulators */
  const char *input;
  MlirType type;
} port;
enum { PORT_POOL, PORT_FRAME, PORT_STEP, PORT_VALUE, PORT_INPUT, PORT_SUM, PORT_LOSS };

typedef struct signature {
  MlirOperation function;
  port *arguments, *results;
  int argument_count, result_count;
  MlirType *result_types;
  MlirAttribute callee;
} signature;

typedef struct connector {
  zb_pass *pass;
  zb_arena *arena; /* of the pass, or of the rank at hand */
  MlirContext context;
  MlirLocation location;
  zb_module_problem p;
  zb_order order;
  zb_simulation simulation;
  int micro_batches, stages;
  int *job_index; /* [(stage * 3 + kind) * M + m] -> position in its rank's order */
  message *messages;
  size_t message_count, message_capacity;
  gather *gathers;
  size_t gather_count, gather_capacity;
  signature *signatures; /* of the stage functions, by stage * 3 + class */
  zb_map *sources;       /* (stage, value) -> stage it comes from */
  /* Of the rank at hand: */
  int rank;
  MlirBlock block;
  MlirValue pools[POOL_COUNT];
  MlirValue step;
  MlirValue *frames; /* [(stage * FRAME_COUNT + frame) * M + m] */
  zb_map *values;    /* (value, stage, m) -> index of locals */
  MlirValue *locals;
  size_t local_count, local_capacity;
  MlirValue *operands;
  size_t operand_capacity;
  zb_posts_row *posts; /* of every send and receive, in program order */
  size_t post_count, post_capacity;
  int64_t changes;
  bool failed;
  atomic_int_least64_t *all_changes;
} connector;

static MlirStringRef text_ref(const char *text) { return mlirStringRefCreateFromCString(text); }

static int kind_index(const connector *c, int stage, int kind, int m) {
  return c->job_index[(stage * ZB_KIND_COUNT + kind) * c->micro_batches + m];
}

static int64_t end_of(const connector *c, int stage, int kind, int m) {
  return c->simulation.jobs[c->p.stage_rank[stage]][kind_index(c, stage, kind, m)].end_ps;
}

/* ---- Messages ---- */

static zb_status add_message(connector *c, message m) {
  if (!zb_arena_grow(c->arena, (void **)&c->messages, &c->message_capacity, c->message_count + 1, sizeof m))
    return ZB_OUT_OF_MEMORY();
  c->messages[c->message_count++] = m;
  return NULL;
}

static zb_status plan_hop(connector *c, int hop_index) {
  const zb_hop *hop = &c->p.hops[hop_index];
  int source = c->p.stage_rank[hop->source], destination = c->p.stage_rank[hop->destination];
  if (source == destination) return NULL;
  zb_kind kind = hop->source < hop->destination ? ZB_F : ZB_B;
  for (int m = 0; m < c->micro_batches; ++m) {
    int consumer = kind_index(c, hop->destination, kind, m);
    int64_t ready = consumer ? c->simulation.jobs[destination][consumer - 1].end_ps : 0;
    int64_t produced = end_of(c, hop->source, kind, m);
    ZB_TRY(add_message(c, (message){.time = produced > ready ? produced : ready,
                                    .produced = produced,
                                    .hop = hop_index,
                                    .source = source,
                                    .destination = destination,
                                    .source_stage = hop->source,
                                    .destination_stage = hop->destination,
                                    .micro_batch = m,
                                    .send_position = kind_index(c, hop->source, kind, m) + 1,
                                    .recv_position = consumer}));
  }
  return NULL;
}

static int compare_messages(const void *a, const void *b) {
  const message *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->produced != y->produced) return x->produced < y->produced ? -1 : 1;
  if (x->hop != y->hop) /* a collective comes last: it is posted after all else */
    return (x->hop < 0) != (y->hop < 0) ? (x->hop < 0) - (y->hop < 0) : x->hop < y->hop ? -1 : 1;
  if (x->micro_batch != y->micro_batch) return x->micro_batch - y->micro_batch;
  return x->group - y->group;
}

/* Numbers the messages, and keeps the order of posting on every channel that of the numbers. */
static zb_status number_messages(connector *c) {
  int ranks = c->p.problem.ranks;
  zb_map *channel = zb_arena_map_pointer(c->arena); /* (source, destination) -> last send position */
  if (!channel) return ZB_OUT_OF_MEMORY();
  if (c->message_count) qsort(c->messages, c->message_count, sizeof *c->messages, compare_messages);
  for (size_t i = 0; i < c->message_count; ++i) {
    message *m = &c->messages[i];
    void *key = (void *)((uintptr_t)m->source * (uintptr_t)ranks + (uintptr_t)m->destination + 1);
    int64_t last = zb_map_get_or(channel, key, 0);
    m->number = (int)i;
    if (m->hop < 0) continue;
    if (last > m->send_position) m->send_position = (int)last;
    if (!zb_map_set(channel, key, m->send_position)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

/* ---- Accumulators of tied parameters ---- */

/* The accumulators that a rank has of a parameter are what it gives. */
static zb_status add_member(connector *c, gather *g, int rank) {
  if (!zb_arena_grow(c->arena, (void **)&g->members, &g->member_capacity, g->member_count + 1, sizeof *g->members))
    return ZB_OUT_OF_MEMORY();
  member *m = &g->members[g->member_count++];
  *m = (member){.rank = rank};
  const zb_entries entries = zb_entries_get(c->p.ranks[rank], pool_tables[POOL_GRADIENTS]);
  for (int i = 0; i < entries.count; ++i) {
    const zb_entry entry = zb_entries_at(entries, i);
    char key[ZB_KEY_BYTES];
    if (!entry.port.sum || strcmp(entry.port.sum, g->parameter) != 0) continue;
    if (!zb_arena_grow(c->arena, (void **)&m->keys, &m->key_capacity, m->count + 1, sizeof *m->keys) ||
        !zb_arena_grow(c->arena, (void **)&m->offsets, &m->offset_capacity, m->count + 1, sizeof *m->offsets))
      return ZB_OUT_OF_MEMORY();
    m->offsets[m->count] = entry.offset;
    m->keys[m->count] = zb_arena_strdup(c->arena, zb_sum_key(&entry.port, key));
    if (!m->keys[m->count++]) return ZB_OUT_OF_MEMORY();
    if (!mlirTypeIsNull(g->type) && !mlirTypeEqual(g->type, entry.type))
      return ZB_ERROR(INVALID, "the accumulators of %s have different types", g->parameter);
    g->type = entry.type;
  }
  return NULL;
}

/* Whether an optimizer of the rank reads an accumulator of the parameter (any: NULL) that the rank does not have:
 * arguments {zb.sum} that are left on a function come from other ranks. *out_parameter: which. */
static bool needs_sum(const connector *c, int rank, const char *parameter, const char **out_parameter,
                      const zb_map *known) {
  ZB_FOR_EACH_OP(function, zb_function_block(c->p.ranks[rank])) {
    intptr_t count = mlirBlockGetNumArguments(zb_function_block(function));
    for (intptr_t i = 0; i < count; ++i) {
      const zb_port argument = zb_argument_port(function, (int)i);
      if (!argument.sum || (parameter && strcmp(argument.sum, parameter) != 0)) continue;
      if (known && zb_map_get(known, argument.sum, NULL)) continue;
      *out_parameter = argument.sum;
      return true;
    }
  }
  return false;
}

/* The members of a gather are the ranks that read sums of the parameter from others, and each has sums that others
 * read. */
static zb_status find_members(connector *c, const char *parameter) {
  if (!zb_arena_grow(c->arena, (void **)&c->gathers, &c->gather_capacity, c->gather_count + 1, sizeof *c->gathers))
    return ZB_OUT_OF_MEMORY();
  gather *g = &c->gathers[c->gather_count++];
  *g = (gather){.parameter = parameter};
  const char *found = NULL;
  for (int rank = 0; rank < c->p.problem.ranks; ++rank)
    if (needs_sum(c, rank, parameter, &found, NULL)) ZB_TRY(add_member(c, g, rank));
  if (g->member_count < 2 || mlirTypeIsNull(g->type))
    return ZB_ERROR(INVALID, "no rank makes the accumulator of %s that rank %d reads", parameter, g->members[0].rank);
  return NULL;
}

static zb_status add_gather_message(connector *c, int index) {
  message m = {.hop = GRADIENT_HOP,
               .source = -1,
               .destination = -1,
               .source_stage = -1,
               .destination_stage = -1,
               .micro_batch = -1,
               .group = index};
  for (size_t i = 0; i < c->gathers[index].member_count; ++i) {
    const int rank = c->gathers[index].members[i].rank, last = c->order.counts[rank];
    const int64_t end = last ? c->simulation.jobs[rank][last - 1].end_ps : 0;
    if (end > m.time) m.time = m.produced = end;
  }
  return add_message(c, m);
}

static zb_status find_gathers(connector *c) {
  zb_map *known = zb_arena_map(c->arena);
  const char *parameter = NULL;
  if (!known) return ZB_OUT_OF_MEMORY();
  for (int rank = 0; rank < c->p.problem.ranks; ++rank)
    while (needs_sum(c, rank, NULL, &parameter, known)) {
      if (!zb_map_set(known, parameter, 1)) return ZB_OUT_OF_MEMORY();
      ZB_TRY(find_members(c, parameter));
      ZB_TRY(add_gather_message(c, (int)c->gather_count - 1));
    }
  return NULL;
}

/* ---- Signatures ---- */

static int name_index(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

static port read_port(zb_port from, MlirType type) {
  port out = {.kind = PORT_VALUE, .type = type, .id = from.value, .input = from.input};
  if (from.frame) {
    out.index = name_index(pool_names, POOL_COUNT, from.frame);
    out.kind = out.index >= 0 ? PORT_POOL : PORT_FRAME;
    if (out.index < 0) out.index = name_index(frame_names, FRAME_COUNT, from.frame);
  } else if (from.step) {
    out.kind = PORT_STEP;
  } else if (from.sum) {
    out.kind = PORT_SUM;
    zb_sum_key(&from, out.key);
  } else if (from.input) {
    out.kind = PORT_INPUT;
  } else if (from.loss || from.report) {
    out.kind = PORT_LOSS;
    out.input = from.report ? from.report : "loss";
  }
  return out;
}

static zb_status read_signature(connector *c, MlirOperation function, signature *out) {
  MlirBlock block = zb_function_block(function);
  MlirOperation end = mlirBlockGetTerminator(block);
  *out = (signature){.function = function,
                     .argument_count = (int)mlirBlockGetNumArguments(block),
                     .result_count = (int)mlirOperationGetNumOperands(end)};
  out->arguments = zb_arena_take(c->arena, ((size_t)out->argument_count + 1), sizeof *out->arguments);
  out->results = zb_arena_take(c->arena, ((size_t)out->result_count + 1), sizeof *out->results);
  out->result_types = zb_arena_take(c->arena, ((size_t)out->result_count + 1), sizeof *out->result_types);
  if (!out->arguments || !out->results || !out->result_types) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < out->argument_count; ++i)
    out->arguments[i] = read_port(zb_argument_port(function, i), mlirValueGetType(mlirBlockGetArgument(block, i)));
  for (int i = 0; i < out->result_count; ++i) {
    out->result_types[i] = mlirValueGetType(mlirOperationGetOperand(end, i));
    out->results[i] = read_port(zb_result_port(function, i), out->result_types[i]);
  }
  out->callee = mlirFlatSymbolRefAttrGet(c->context, text_ref(zb_symbol_name(function)));
  return NULL;
}

/* ---- Values of a rank ---- */

static void *value_key(const connector *c, int64_t id, int stage, int m) {
  return (void *)(((uintptr_t)id * (uintptr_t)c->stages + (uintptr_t)stage) * (uintptr_t)c->micro_batches +
                  (uintptr_t)m + 1);
}

static void remember(connector *c, int64_t id, int stage, int m, MlirValue value) {
  if (!zb_arena_grow(c->arena, (void **)&c->locals, &c->local_capacity, c->local_count + 1, sizeof value) ||
      !zb_map_set(c->values, value_key(c, id, stage, m), (int64_t)c->local_count)) {
    c->failed = true;
    return;
  }
  c->locals[c->local_count++] = value;
}

/* The value as stage `stage` sees it: made or received there, or handed over by a stage of the same rank. */
static MlirValue find_value(connector *c, int64_t id, int stage, int m) {
  for (int hops = 0; hops <= c->stages; ++hops) {
    int64_t index, source;
    if (zb_map_get(c->values, value_key(c, id, stage, m), &index)) return c->locals[index];
    void *key = (void *)((uintptr_t)id * (uintptr_t)c->stages + (uintptr_t)stage + 1);
    if (!zb_map_get(c->sources, key, &source)) break;
    stage = (int)source;
  }
  c->failed = true;
  return (MlirValue){0};
}

static zb_status find_sources(connector *c) {
  for (size_t h = 0; h < c->p.hop_count; ++h) {
    const zb_hop *hop = &c->p.hops[h];
    for (size_t i = 0; i < hop->value_count; ++i) {
      void *key = (void *)((uintptr_t)hop->values[i] * (uintptr_t)c->stages + (uintptr_t)hop->destination + 1);
      if (!zb_map_set(c->sources, key, hop->source)) return ZB_OUT_OF_MEMORY();
    }
  }
  return NULL;
}

/* ---- Building @main ---- */

static MlirOperation append(connector *c, const char *name, const MlirValue *operands, int operand_count,
                            const MlirType *results, int result_count, const MlirNamedAttribute *attributes,
                            int attribute_count) {
  MlirOperationState state = mlirOperationStateGet(text_ref(name), c->location);
  if (operand_count) mlirOperationStateAddOperands(&state, operand_count, operands);
  if (result_count) mlirOperationStateAddResults(&state, result_count, results);
  if (attribute_count) mlirOperationStateAddAttributes(&state, attribute_count, attributes);
  MlirOperation op = mlirOperationCreate(&state);
  if (mlirOperationIsNull(op)) {
    c->failed = true;
    return op;
  }
  mlirBlockAppendOwnedOperation(c->block, op);
  ++c->changes;
  return op;
}

static MlirNamedAttribute i64_named(connector *c, const char *name, int64_t value) {
  return zb_named(c->context, name, zb_mlir_i64(c->context, value));
}

static MlirValue read_input(connector *c, const port *p, int m) {
  MlirNamedAttribute attributes[2] = {zb_named(c->context, "input", zb_mlir_string(c->context, p->input)),
                                      i64_named(c, ZB_ATTR_MICRO_BATCH, m)};
  MlirOperation op = append(c, "zb.read", NULL, 0, &p->type, 1, attributes, 2);
  return c->failed ? (MlirValue){0} : mlirOperationGetResult(op, 0);
}

static MlirValue argument_of(connector *c, const port *p, int stage, int m, zb_map *sums) {
  switch (p->kind) {
  case PORT_POOL:
    return c->pools[p->index];
  case PORT_FRAME:
    return c->frames[(stage * FRAME_COUNT + p->index) * c->micro_batches + m];
  case PORT_STEP:
    return c->step;
  case PORT_INPUT:
    return read_input(c, p, m);
  case PORT_SUM: {
    int64_t index = -1;
    if (sums) index = zb_map_get_or(sums, p->key, -1);
    if (index >= 0) return c->locals[index];
    c->failed = true;
    return (MlirValue){0};
  }
  default:
    return find_value(c, p->id, stage, m);
  }
}

static void take_result(connector *c, const port *p, int stage, int m, MlirValue value) {
  switch (p->kind) {
  case PORT_POOL:
    c->pools[p->index] = value;
    break;
  case PORT_FRAME:
    c->frames[(stage * FRAME_COUNT + p->index) * c->micro_batches + m] = value;
    break;
  case PORT_LOSS: {
    MlirNamedAttribute attributes[2] = {zb_named(c->context, "name", zb_mlir_string(c->context, p->input)),
                                        i64_named(c, ZB_ATTR_MICRO_BATCH, m)};
    append(c, "zb.report", &value, 1, NULL, 0, attributes, 2);
    break;
  }
  default:
    remember(c, p->id, stage, m, value);
    break;
  }
}

/* One job: reads inputs, calls, hands out results, reports. m = -1 for LOAD and the optimizer. */
static void call(connector *c, const signature *s, int stage, int m, zb_map *sums) {
  if (!zb_arena_grow(c->arena, (void **)&c->operands, &c->operand_capacity, (size_t)s->argument_count + 1,
                     sizeof *c->operands)) {
    c->failed = true;
    return;
  }
  for (int i = 0; i < s->argument_count; ++i) {
    c->operands[i] = argument_of(c, &s->arguments[i], stage, m, sums);
    if (c->failed || mlirValueIsNull(c->operands[i])) {
      c->failed = true;
      return;
    }
  }
  MlirNamedAttribute attributes[2] = {zb_named(c->context, "callee", s->callee)};
  if (m >= 0) attributes[1] = i64_named(c, ZB_ATTR_MICRO_BATCH, m);
  MlirOperation op = append(c, "func.call", c->operands, s->argument_count, s->result_types, s->result_count,
                            attributes, m >= 0 ? 2 : 1);
  for (int i = 0; i < s->result_count && !c->failed; ++i)
    take_result(c, &s->results[i], stage, m, mlirOperationGetResult(op, i));
}

/* The next op of the program posts this message. */
static void note_post(connector *c, const message *m) {
  if (!zb_arena_grow(c->arena, (void **)&c->posts, &c->post_capacity, c->post_count + 1, sizeof *c->posts))
    c->failed = true;
  else
    c->posts[c->post_count++] = (zb_posts_row){.message = m->number};
}

static void message_attributes(connector *c, const message *m, bool send, int part, MlirNamedAttribute out[2]) {
  out[0] = i64_named(c, "peer", send ? m->destination : m->source);
  out[1] = i64_named(c, "part", part);
  note_post(c, m);
}

static void build_send(connector *c, const message *m) {
  const zb_hop *hop = &c->p.hops[m->hop];
  for (size_t part = 0; part < hop->value_count && !c->failed; ++part) {
    MlirNamedAttribute attributes[2];
    MlirValue value = find_value(c, hop->values[part], m->source_stage, m->micro_batch);
    if (c->failed) return;
    message_attributes(c, m, true, (int)part, attributes);
    append(c, "zb.send", &value, 1, NULL, 0, attributes, 2);
  }
}

/* Type of a value at the stage that receives it: an argument of one of its functions. */
static MlirType value_type(const connector *c, int stage, int64_t id) {
  for (int k = 0; k < ZB_KIND_COUNT; ++k) {
    const signature *s = &c->signatures[stage * ZB_KIND_COUNT + k];
    for (int i = 0; i < s->argument_count; ++i)
      if (s->arguments[i].kind == PORT_VALUE && s->arguments[i].id == id) return s->arguments[i].type;
  }
  return (MlirType){0};
}

static void build_recv(connector *c, const message *m) {
  const zb_hop *hop = &c->p.hops[m->hop];
  for (size_t part = 0; part < hop->value_count && !c->failed; ++part) {
    MlirNamedAttribute attributes[2];
    MlirType type = value_type(c, m->destination_stage, hop->values[part]);
    if (mlirTypeIsNull(type)) {
      c->failed = true;
      return;
    }
    message_attributes(c, m, false, (int)part, attributes);
    MlirOperation op = append(c, "zb.recv", NULL, 0, &type, 1, attributes, 2);
    if (!c->failed) remember(c, hop->values[part], m->destination_stage, m->micro_batch, mlirOperationGetResult(op, 0));
  }
}

/* The accumulator that came for a key. */
static void take_sum(connector *c, zb_map *sums, const char *key, MlirValue value) {
  if (!zb_arena_grow(c->arena, (void **)&c->locals, &c->local_capacity, c->local_count + 1, sizeof value) ||
      !zb_map_set(sums, key, (int64_t)c->local_count))
    c->failed = true;
  else
    c->locals[c->local_count++] = value;
}

static MlirOperation append_gather(connector *c, const gather *g, int64_t place, const int64_t *ranks,
                                   const int64_t *counts, MlirValue *own, MlirType *types, size_t others) {
  const member *self = &g->members[place];
  for (size_t i = 0; i < self->count; ++i) {
    MlirNamedAttribute offset = i64_named(c, "offset", self->offsets[i]);
    MlirOperation op = append(c, "zb.get", &c->pools[POOL_GRADIENTS], 1, &g->type, 1, &offset, 1);
    if (c->failed) return op;
    own[i] = mlirOperationGetResult(op, 0);
  }
  for (size_t i = 0; i < others; ++i)
    types[i] = g->type;
  const intptr_t members = (intptr_t)g->member_count;
  MlirNamedAttribute attributes[3] = {zb_named(c->context, "counts", mlirDenseI64ArrayGet(c->context, members, counts)),
                                      zb_named(c->context, "members", mlirDenseI64ArrayGet(c->context, members, ranks)),
                                      i64_named(c, "place", place)};
  return append(c, "zb.all_gather", own, (int)self->count, types, (int)others, attributes, 3);
}

/* The rank gives its accumulators and gets those of the other members. */
static void build_gather(connector *c, const message *m, zb_map *sums) {
  const gather *g = &c->gathers[m->group];
  size_t place = 0, total = 0, at = 0;
  int64_t *ranks = zb_arena_take(c->arena, 2 * g->member_count + 1, sizeof *ranks), *counts = ranks + g->member_count;
  for (size_t i = 0; ranks && i < g->member_count; ++i) {
    ranks[i] = g->members[i].rank;
    counts[i] = (int64_t)g->members[i].count;
    if (ranks[i] == c->rank) place = i;
    total += g->members[i].count;
  }
  MlirValue *own = zb_arena_take(c->arena, total + 1, sizeof *own);
  MlirType *types = zb_arena_take(c->arena, total + 1, sizeof *types);
  c->failed |= !ranks || !own || !types;
  if (!c->failed) note_post(c, m);
  if (!c->failed) {
    MlirOperation op = append_gather(c, g, (int64_t)place, ranks, counts, own, types, total - g->members[place].count);
    for (size_t i = 0; i < g->member_count && !c->failed; ++i)
      for (size_t k = 0; i != place && k < g->members[i].count && !c->failed; ++k)
        take_sum(c, sums, g->members[i].keys[k], mlirOperationGetResult(op, (intptr_t)at++));
  }
}

/* ---- One rank ---- */

/* What a rank posts, in order: (position, message number). */
typedef struct post {
  int position;
  int message;
  bool send;
} post;

static int compare_posts(const void *a, const void *b) {
  const post *x = a, *y = b;
  if (x->position != y->position) return x->position - y->position;
  if (x->send != y->send)
    return x->send ? -1 : 1; /* a receive may have to wait for memory: a send does not stand behind it */
  return x->message - y->message;
}

static void begin_main(connector *c, zb_function_builder *f) {
  MlirType types[POOL_COUNT] = {{0}};
  ZB_FOR_EACH_OP(function, zb_function_block(c->p.ranks[c->rank])) {
    MlirBlock block = zb_function_block(function);
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
      const char *frame = zb_argument_port(function, (int)i).frame;
      int index = frame ? name_index(pool_names, POOL_COUNT, frame) : -1;
      if (index < 0) continue;
      types[index] = mlirValueGetType(mlirBlockGetArgument(block, i));
    }
  }
  for (int i = 0; i < POOL_COUNT; ++i) {
    c->pools[i] = (MlirValue){0};
    if (mlirTypeIsNull(types[i]) || i == POOL_GRADIENTS) continue;
    c->pools[i] = zb_function_argument(f, types[i], zb_frame_port(c->context, pool_names[i]));
  }
  MlirType i64 = mlirIntegerTypeGet(c->context, 64);
  MlirType step = mlirRankedTensorTypeGet(0, NULL, i64, (MlirAttribute){0});
  c->step = zb_function_argument(f, step, zb_step_port(c->context, true));
  if (!mlirTypeIsNull(types[POOL_GRADIENTS]))
    c->pools[POOL_GRADIENTS] =
        mlirOperationGetResult(append(c, "zb.zeros", NULL, 0, &types[POOL_GRADIENTS], 1, NULL, 0), 0);
}

static zb_status collect_posts(connector *c, post **out, size_t *out_count) {
  size_t count = 0;
  post *posts = zb_arena_take(c->arena, c->message_count + 1, sizeof *posts);
  if (!posts) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < c->message_count; ++i) {
    const message *m = &c->messages[i];
    for (size_t k = 0; m->hop < 0 && k < c->gathers[m->group].member_count; ++k)
      if (c->gathers[m->group].members[k].rank == c->rank)
        posts[count++] = (post){.position = c->order.counts[c->rank], .message = (int)i};
    if (m->source == c->rank) posts[count++] = (post){.position = m->send_position, .message = (int)i, .send = true};
    if (m->destination == c->rank)
      posts[count++] = (post){.position = m->recv_position, .message = (int)i, .send = false};
  }
  if (count) qsort(posts, count, sizeof *posts, compare_posts);
  *out = posts;
  *out_count = count;
  return NULL;
}

/* Optimizers of stages first, those of tied parameters (without a stage) last: they wait for accumulators of other
 * ranks. */
static zb_status call_optimizers(connector *c, zb_map *sums, bool tied) {
  ZB_FOR_EACH_OP(function, zb_function_block(c->p.ranks[c->rank])) {
    if (!zb_job_is_optimizer(zb_class_get(function)) || (zb_get_i64(function, ZB_ATTR_STAGE, -1) < 0) != tied) continue;
    signature s;
    ZB_TRY(read_signature(c, function, &s));
    call(c, &s, -1, -1, sums);
  }
  return NULL;
}

static zb_status call_load(connector *c) {
  MlirOperation load = zb_symbol_in(zb_function_block(c->p.ranks[c->rank]), "func.func", "LOAD");
  if (mlirOperationIsNull(load)) return NULL;
  signature s;
  ZB_TRY(read_signature(c, load, &s));
  call(c, &s, -1, -1, NULL);
  return NULL;
}

static void build_posts(connector *c, const post *posts, size_t count, size_t *at, int position, zb_map *sums) {
  for (; *at < count && posts[*at].position <= position && !c->failed; ++*at) {
    const message *m = &c->messages[posts[*at].message];
    if (m->hop < 0)
      build_gather(c, m, sums);
    else if (posts[*at].send)
      build_send(c, m);
    else
      build_recv(c, m);
  }
}

static zb_status build_rank(connector *c, int rank, const post *posts, size_t post_count, zb_map *sums) {
  size_t at = 0;
  const zb_job *jobs = c->order.jobs[rank];
  ZB_TRY(call_load(c));
  for (int j = 0; j < c->order.counts[rank] && !c->failed; ++j) {
    build_posts(c, posts, post_count, &at, j, sums);
    if (!c->failed)
      call(c, &c->signatures[jobs[j].stage * ZB_KIND_COUNT + (int)jobs[j].kind], jobs[j].stage, jobs[j].micro_batch,
           NULL);
  }
  if (!c->failed) build_posts(c, posts, post_count, &at, c->order.counts[rank], sums);
  if (!c->failed) ZB_TRY(call_optimizers(c, sums, false));
  if (!c->failed) ZB_TRY(call_optimizers(c, sums, true));
  return c->failed ? ZB_ERROR(INVALID, "rank %d: a job reads a value that no earlier job or message gives", rank)
                   : NULL;
}

static zb_status connect_rank(connector *c, int rank) {
  zb_function_builder f;
  post *posts = NULL;
  size_t post_count = 0;
  zb_status status = NULL;
  zb_map *sums = zb_arena_map(c->arena);
  c->rank = rank;
  c->values = zb_arena_map_pointer(c->arena);
  c->location = mlirOperationGetLocation(c->p.ranks[rank]);
  zb_function_begin(&f, c->context, c->location);
  c->block = f.block;
  if (!sums || !c->values) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  begin_main(c, &f);
  ZB_TRY_GOTO(collect_posts(c, &posts, &post_count));
  ZB_TRY_GOTO(build_rank(c, rank, posts, post_count, sums));
  for (int i = 0; i < POOL_COUNT; ++i) {
    if (mlirValueIsNull(c->pools[i]) || (i != POOL_PARAMETERS && i != POOL_STATE)) continue;
    zb_function_result(&f, c->pools[i], zb_frame_port(c->context, pool_names[i]));
  }
  zb_posts_set(c->p.ranks[rank], c->posts, (int)c->post_count);
  if (mlirOperationIsNull(zb_function_finish(&f, zb_function_block(c->p.ranks[rank]), "main", true, NULL, 0)))
    ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
cleanup:
  if (status) zb_function_abandon(&f);
  return status;
}

/* ---- The pass ---- */

/* Bytes that a message brings: of a collective what comes to the member that gives least. */
static int64_t message_bytes(const connector *c, const message *m) {
  if (m->hop >= 0) return c->p.hops[m->hop].bytes;
  const gather *g = &c->gathers[m->group];
  size_t total = 0, least = SIZE_MAX;
  for (size_t i = 0; i < g->member_count; ++i) {
    total += g->members[i].count;
    if (g->members[i].count < least) least = g->members[i].count;
  }
  return (int64_t)(total - least) * (int64_t)zb_type_bytes(g->type);
}

/* The payload of a message, as its letter. */
static int64_t message_kind(const message *m) {
  if (m->hop < 0) return zb_payload_letter(ZB_PAYLOAD_GRADIENTS);
  return zb_payload_letter(m->source_stage < m->destination_stage ? ZB_PAYLOAD_FORWARD : ZB_PAYLOAD_BACKWARD);
}

static zb_status write_messages(connector *c) {
  zb_messages_row *rows = zb_arena_take(c->arena, c->message_count + 1, sizeof *rows);
  if (!rows) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < c->message_count; ++i) {
    const message *m = &c->messages[i];
    const int64_t bytes = message_bytes(c, m);
    rows[i] = (zb_messages_row){.source = m->source,
                                .destination = m->destination,
                                .source_stage = m->source_stage,
                                .destination_stage = m->destination_stage,
                                .micro_batch = m->micro_batch,
                                .kind = message_kind(m),
                                .bytes = bytes,
                                .complete_ps = m->time + c->p.problem.link_latency_ps +
                                               (int64_t)(c->p.problem.link_ps_per_byte * (double)bytes)};
  }
  zb_messages_set(mlirModuleGetOperation(c->pass->program->module), rows, (int)c->message_count);
  return NULL;
}

/* Who takes part in the collectives, by the number of the message; no table where there are none. */
static zb_status write_members(connector *c) {
  size_t count = 0, at = 0;
  for (size_t i = 0; i < c->gather_count; ++i)
    count += c->gathers[i].member_count;
  if (!count) return NULL;
  zb_members_row *rows = zb_arena_take(c->arena, count, sizeof *rows);
  if (!rows) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < c->message_count; ++i) {
    const gather *g = c->messages[i].hop < 0 ? &c->gathers[c->messages[i].group] : NULL;
    for (size_t k = 0; g && k < g->member_count; ++k)
      rows[at++] = (zb_members_row){.message = (int64_t)i,
                                    .rank = g->members[k].rank,
                                    .values = (int64_t)g->members[k].count,
                                    .bytes = (int64_t)zb_type_bytes(g->type)};
  }
  zb_members_set(mlirModuleGetOperation(c->pass->program->module), rows, (int)count);
  return NULL;
}

/* Of every job of the rank in the simulated schedule: zb-allocate holds memory by them. */
static zb_status write_times(connector *c, int rank) {
  int count = c->order.counts[rank];
  zb_times_row *times = zb_arena_take(c->arena, ((size_t)count + 1), sizeof *times);
  if (!times) return ZB_OUT_OF_MEMORY();
  for (int j = 0; j < count; ++j)
    times[j] =
        (zb_times_row){.start_ps = c->simulation.jobs[rank][j].start_ps, .end_ps = c->simulation.jobs[rank][j].end_ps};
  zb_times_set(c->p.ranks[rank], times, count);
  return NULL;
}

static zb_status index_jobs(connector *c) {
  size_t count = (size_t)c->stages * ZB_KIND_COUNT * (size_t)c->micro_batches;
  c->job_index = zb_arena_take(c->arena, count + 1, sizeof *c->job_index);
  c->frames =
      zb_arena_take(c->arena, ((size_t)c->stages * FRAME_COUNT * (size_t)c->micro_batches + 1), sizeof *c->frames);
  if (!c->job_index || !c->frames) return ZB_OUT_OF_MEMORY();
  for (int rank = 0; rank < c->p.problem.ranks; ++rank)
    for (int j = 0; j < c->order.counts[rank]; ++j) {
      zb_job job = c->order.jobs[rank][j];
      c->job_index[(job.stage * ZB_KIND_COUNT + (int)job.kind) * c->micro_batches + job.micro_batch] = j;
    }
  return NULL;
}

/* Frames are rows of the rank's stages; everything else of a rank is in its own copy. */
static zb_status connect_one(void *context, MlirOperation rank, int index) {
  (void)index;
  connector *all = context, c = *all;
  zb_arena arena = {0};
  c.arena = &arena;
  int number = (int)zb_get_i64(rank, ZB_ATTR_RANK, -1);
  zb_status status = write_times(&c, number);
  if (!status) status = connect_rank(&c, number);
  zb_arena_deinit(&arena);
  atomic_fetch_add(all->all_changes, c.changes);
  return status;
}

static zb_status connect_all(connector *c, MlirModule module) {
  ZB_TRY(zb_module_problem_build(module, c->micro_batches, &c->p));
  c->stages = c->p.problem.stages;
  ZB_TRY(zb_module_order(&c->p, &c->order));
  ZB_TRY(zb_order_validate(&c->p.problem, &c->order));
  ZB_TRY(zb_simulate(&c->p.problem, &c->order, &c->simulation));
  ZB_TRY(index_jobs(c));
  c->sources = zb_arena_map_pointer(c->arena);
  c->signatures = zb_arena_take(c->arena, ((size_t)c->stages * ZB_KIND_COUNT + 1), sizeof *c->signatures);
  if (!c->sources || !c->signatures) return ZB_OUT_OF_MEMORY();
  ZB_TRY(find_sources(c));
  for (int i = 0; i < c->stages * ZB_KIND_COUNT; ++i)
    ZB_TRY(read_signature(c, c->p.functions[i], &c->signatures[i]));
  for (size_t h = 0; h < c->p.hop_count; ++h)
    ZB_TRY(plan_hop(c, (int)h));
  ZB_TRY(find_gathers(c));
  ZB_TRY(number_messages(c));
  ZB_TRY(write_messages(c));
  ZB_TRY(write_members(c));
  ZB_TRY(zb_for_each_rank(module, connect_one, c));
  return NULL;
}

static void deinit(connector *c) {
  zb_simulation_deinit(&c->simulation);
  zb_order_deinit(&c->order);
  zb_module_problem_deinit(&c->p);
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  atomic_int_least64_t changes = 0;
  connector c = {.pass = pass,
                 .arena = &pass->arena,
                 .all_changes = &changes,
                 .context = mlirOperationGetContext(top),
                 .micro_batches = (int)zb_get_i64(top, ZB_ATTR_MICRO_BATCHES, 0)};
  if (c.micro_batches < 1)
    return zb_op_error_at(top, "run zb-schedule before zb-insert-comm", "module needs zb.micro_batches");
  zb_status status = connect_all(&c, module);
  pass->changes += atomic_load(&changes);
  deinit(&c);
  return status ? zb_pass_fail(pass, status) : ZB_OK;
}

const zb_pass_def zb_pass_insert_comm = {
    .name = "zb-insert-comm",
    .summary = "Build each rank's straight-line main: jobs as calls, messages between ranks in one global order.",
    .requires_level = "scheduled",
    .ensures_level = "connected",
    .run = run,
};
