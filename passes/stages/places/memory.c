/* zb-memory: packs what a stage keeps between jobs into frames, and everything that lives for the whole run into one
 * frame a kind.
 *
 *   before                                           after
 *     @s1_F(%a {zb.value = 3}, %w {zb.param = "w"})    @s1_F(%p: !zb.frame<"parameters", 512>, %a {zb.value = 3})
 *       -> (%z {zb.value = 5})                           -> (%fb: !zb.frame<"fb", 128>, %fw: !zb.frame<"fw", 256>)
 *     @s1_B(%z {zb.value = 5}, ...)                    @s1_B(%p, %fb, ...)
 *
 * fb: saved by F (made, received or read there), last read by B. fw: saved by F, last read by W. bw: saved by B, read
 * by W. Where replicas sum the gradients of each micro-batch B and W make those in frames of their own, gb and gw, onto
 * zeros; else they add to the rank's. A value that is kept has its home in its frame from the start; zb.put says where.
 * Values that only travel stay arguments and results. Parameters, buffers, optimizer state, accumulators, values of
 * LOAD and settings become one frame a rank each: parameters, buffers, state, gradients, constants, step; their tables
 * are attributes of the rank's module. Every function gets zb.workspace (bytes) and the costs that schedules count
 * with.
 *
 * Where each replica has a part of every parameter, their frame has parts, and F, B and E read whole ones from a frame
 * "gathered" of their own; zb.gathers of the function says which part belongs where in it.
 *
 * Tests: test/passes/memory.mlir. */

#include "passes/stages/classes.h"
#include "passes/stages/cost.h"
#include "passes/stages/frames.h"
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/jobs/problem.h"
#include "passes/stages/functions/shard_optimizer.h"
#include "passes/tables.h"
#include "passes/stages/replicas.h"
#include "passes/stages/parts.h"
#include "runtime/plan/file/plan.h"
#include "passes/stages/places/hidden.h"
#include "passes/stages/places/workspace.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pool {
  zb_map *offsets;                /* key text -> offset */
  ZB_LIST(MlirAttribute) entries; /* of the module's table */
  uint64_t bytes;
} pool;

/* A value that a stage keeps. */
typedef struct kept {
  int64_t id;
  int frame;
  uint64_t offset;
  MlirType type;
  MlirValue value; /* while the function that puts it is rebuilt */
  bool incoming;   /* it came in: no op of that function makes it */
} kept;

typedef struct stage_info {
  ZB_LIST(kept) kept;
  uint64_t frame_bytes[FRAME_COUNT];
} stage_info;

/* What functions read of parameters of which each replica has a part: their frame. */
typedef struct gathered {
  zb_map *offsets; /* key text -> where in the frame */
  ZB_LIST(zb_gathers_row) rows;
  uint64_t bytes;
} gathered;

typedef struct memory {
  zb_pass *pass;
  zb_arena *arena; /* of the pass, or of the rank at hand */
  MlirContext context;
  stage_info *stages;
  int stage_count;
  int *stage_rank;
  MlirOperation *functions; /* [stage * ZB_KIND_COUNT + kind] */
  zb_map *producers;        /* of values: index of functions; absent: input */
  zb_map *leaving;          /* values that are read in another stage than their own */
  pool pools[POOL_COUNT];   /* of the rank at hand */
  bool of_micro_batch;      /* gradients of each micro-batch are summed over replicas: B and W make them in gb and gw */
  int parts;                /* replicas that have a part of optimizer state each; 1: every one has all */
  bool of_parameters;       /* they have a part of every parameter each */
  bool sums_of_parts;       /* a SUM makes parts */
  zb_gathered kept;         /* how long F and B keep what was gathered */
  gathered *gathers;        /* of the rank at hand: [stage * ZB_KIND_COUNT + kind] */
  zb_costs *costs;          /* NULL: the model */
} memory;

static MlirType frame_type(MlirContext context, const char *kind, uint64_t bytes) {
  char text[96];
  snprintf(text, sizeof text, "!zb.frame<\"%s\", %llu>", kind, (unsigned long long)bytes);
  return mlirTypeParseGet(context, mlirStringRefCreateFromCString(text));
}

static MlirOperation terminator(MlirOperation function) { return mlirBlockGetTerminator(zb_function_block(function)); }

static MlirOperation function_of(const memory *m, const stage_info *stage, int kind) {
  return m->functions[(stage - m->stages) * ZB_KIND_COUNT + kind];
}

static bool is_forward(int64_t producer) { return producer % ZB_KIND_COUNT == ZB_F; }

/* ---- Pools ---- */

/* Which pool an argument or result belongs to and its key; -1 for others. */
static int pool_of(const zb_port *port, char key[ZB_KEY_BYTES]) {
  const struct {
    const char *name;
    int pool;
  } kinds[] = {{port->param, POOL_PARAMETERS}, {port->frozen, POOL_PARAMETERS},  {port->buffer, POOL_BUFFERS},
               {port->state, POOL_STATE},      {port->constant, POOL_CONSTANTS}, {port->setting, POOL_STEP}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (!kinds[i].name) continue;
    snprintf(key, ZB_KEY_BYTES, "%s", kinds[i].name);
    return kinds[i].pool;
  }
  if (port->sum) return zb_sum_key(port, key), POOL_GRADIENTS;
  if (port->norm >= 0) return snprintf(key, ZB_KEY_BYTES, "#%lld", (long long)port->norm), POOL_NORMS;
  if (port->load < 0) return -1;
  snprintf(key, ZB_KEY_BYTES, "#%lld", (long long)port->load);
  return POOL_CONSTANTS;
}

/* Where replicas update a part each, all parts of a parameter and of its accumulators are of one size. */
static uint64_t bytes_in_pool(const memory *m, int which, const zb_port *port, MlirType type) {
  zb_shape shape;
  const bool in_parts = (which == POOL_PARAMETERS && port->param) || which == POOL_GRADIENTS;
  const bool is_part = which == POOL_PARAMETERS && m->of_parameters;
  if (m->parts == 1 || !in_parts || is_part || !zb_type_shape(type, &shape)) return zb_type_bytes(type);
  const bool own = which == POOL_GRADIENTS && m->of_micro_batch; /* part of a replica */
  const uint64_t part =
      zb_port_is_summed(port) && m->sums_of_parts ? zb_type_bytes(type) : zb_plan_part_bytes(&shape, m->parts);
  return (uint64_t)(own ? 1 : m->parts) * part;
}

/* The part that a replica has of a parameter, or of its copy in another type. */
static MlirType part_of(const memory *m, int which, MlirType whole) {
  return which == POOL_PARAMETERS ? zb_part_type(whole, m->parts) : zb_copy_part_type(whole, m->parts);
}

static void add_to_pool(memory *m, int which, const char *key, const zb_port *port, MlirType type) {
  pool *p = &m->pools[which];
  if (zb_map_get(p->offsets, key, NULL)) return;
  zb_arena_map_set(m->arena, p->offsets, key, (int64_t)p->bytes);
  const zb_entry entry = {.port = *port, .offset = (int64_t)p->bytes, .type = type};
  (void)ZB_PUSH(m->arena, &p->entries, zb_entry_set(m->context, &entry));
  /* All settings are written at once, so they lie one after the other. */
  const uint64_t bytes = bytes_in_pool(m, which, port, type);
  p->bytes += which == POOL_STEP ? bytes : zb_align(bytes);
}

/* Offsets in the frame of norms are given. CLIP reads all of it, so it knows how large it is. */
static void collect_norm(memory *m, const zb_ports *at, bool given) {
  pool *p = &m->pools[POOL_NORMS];
  char key[ZB_KEY_BYTES];
  (void)pool_of(&at->port, key);
  zb_arena_map_set(m->arena, p->offsets, key, at->port.norm);
  const zb_entry entry = {.port = at->port, .offset = at->port.norm, .type = at->type};
  if (given)
    (void)ZB_PUSH(m->arena, &p->entries, zb_entry_set(m->context, &entry));
  else if (p->bytes < (uint64_t)at->port.norm + zb_type_bytes(at->type))
    p->bytes = (uint64_t)at->port.norm + zb_type_bytes(at->type);
}

/* A parameter, or a copy, that a function reads whole: the rank has a part of it. */
static void collect_part(memory *m, const zb_ports *at) {
  char key[ZB_KEY_BYTES];
  zb_port port = at->port;
  const int which = pool_of(&port, key);
  port.gathered = false;
  if (which == POOL_PARAMETERS) port.shard = zb_flat_text(m->arena, port.shard, at->type);
  add_to_pool(m, which, key, &port, part_of(m, which, at->type));
}

static void collect_pools(memory *m, MlirBlock body) {
  char key[ZB_KEY_BYTES];
  m->pools[POOL_STEP].bytes = sizeof(int64_t); /* the number of the step */
  ZB_FOR_EACH_OP(function, body) {
    if (!zb_op_is(function, "func.func")) continue;
    bool optimizer = zb_job_is_optimizer(zb_class_get(function));
    for (zb_ports at = zb_results(function); zb_next(&at);) {
      if (at.port.norm >= 0) collect_norm(m, &at, true);
      if (at.port.buffer) add_to_pool(m, POOL_BUFFERS, at.port.buffer, &at.port, at.type); /* it may never be read */
      if (zb_port_is_summed(&at.port)) add_to_pool(m, POOL_GRADIENTS, zb_sum_key(&at.port, key), &at.port, at.type);
    }
    for (zb_ports at = zb_arguments(function); zb_next(&at);) {
      int which = pool_of(&at.port, key);
      if (at.port.gathered) {
        collect_part(m, &at);
        continue;
      }
      if (which == POOL_NORMS) {
        collect_norm(m, &at, false);
        continue;
      }
      /* An accumulator of another rank arrives as a message: it is no entry here. W has made the rank's own first. */
      if (which >= 0 && !(which == POOL_GRADIENTS && optimizer)) add_to_pool(m, which, key, &at.port, at.type);
    }
  }
}

/* ---- What functions read of parameters that are gathered ---- */

static void add_gathered(memory *m, MlirOperation function, gathered *out) {
  char key[ZB_KEY_BYTES];
  for (zb_ports at = zb_arguments(function); zb_next(&at);) {
    if (!at.port.gathered || zb_map_get(out->offsets, (pool_of(&at.port, key), key), NULL)) continue;
    const int which = pool_of(&at.port, key);
    const uint64_t bytes = zb_type_bytes(part_of(m, which, at.type));
    const zb_gathers_row row = {.pool = which,
                                .offset = zb_map_get_or(m->pools[which].offsets, key, 0),
                                .bytes = (int64_t)bytes,
                                .into = (int64_t)out->bytes};
    zb_arena_map_set(m->arena, out->offsets, key, row.into);
    (void)ZB_PUSH(m->arena, &out->rows, row);
    out->bytes += zb_align((uint64_t)m->parts * bytes);
  }
}

static zb_status begin_gathered(const memory *m, gathered *out) {
  *out = (gathered){.offsets = zb_arena_map(m->arena)};
  return zb_arena_status(m->arena);
}

/* One frame for F and one for B, or, where what F reads is kept for B, one for both. */
static zb_status find_gathered(memory *m, int rank) {
  m->gathers = ZB_NEW(m->arena, gathered, m->stage_count * ZB_KIND_COUNT);
  ZB_TRY(zb_arena_status(m->arena));
  for (int s = 0; s < m->stage_count && m->of_parameters; ++s) {
    if (m->stage_rank[s] != rank) continue;
    const MlirOperation f = m->functions[s * ZB_KIND_COUNT + ZB_F], b = m->functions[s * ZB_KIND_COUNT + ZB_B];
    gathered *of_f = &m->gathers[s * ZB_KIND_COUNT + ZB_F], *of_b = &m->gathers[s * ZB_KIND_COUNT + ZB_B];
    ZB_TRY(begin_gathered(m, of_f));
    ZB_TRY(begin_gathered(m, of_b));
    add_gathered(m, f, of_f);
    if (m->kept != ZB_GATHERED_JOB) {
      add_gathered(m, b, of_f);
      *of_b = *of_f;
    } else {
      add_gathered(m, b, of_b);
    }
  }
  return zb_arena_status(m->arena);
}

/* ---- What a stage keeps ---- */

static int compare_kept(const void *a, const void *b) {
  int64_t x = ((const kept *)a)->id, y = ((const kept *)b)->id;
  return x < y ? -1 : x > y;
}

/* F-class values (made by F here or before, or inputs) are kept for B or W; B-class ones for W. */
static void find_kept(memory *m, stage_info *s) {
  zb_map *w_reads = zb_arena_map_pointer(m->arena);
  if (!w_reads) return;
  for (int c = ZB_W; c >= ZB_B; --c)
    for (zb_ports at = zb_arguments(function_of(m, s, c)); zb_next(&at);) {
      void *key = zb_id_key(at.port.value);
      if (at.port.value < 0 || zb_map_get(w_reads, key, NULL)) continue;
      bool forward = is_forward(zb_map_get_or(m->producers, key, ZB_F)), in_w = c == ZB_W;
      if (in_w) zb_arena_map_set(m->arena, w_reads, key, 1);
      if (!in_w && !forward) continue;
      int frame = !in_w ? FRAME_FB : forward ? FRAME_FW : FRAME_BW;
      (void)ZB_PUSH(m->arena, &s->kept, (kept){.id = at.port.value, .frame = frame, .type = at.type});
    }
  if (s->kept.count) qsort(s->kept.items, s->kept.count, sizeof *s->kept.items, compare_kept);
  for (size_t i = 0; i < s->kept.count; ++i) {
    uint64_t *bytes = &s->frame_bytes[s->kept.items[i].frame];
    const uint64_t own = zb_type_bytes(s->kept.items[i].type);
    s->kept.items[i].offset = *bytes;
    *bytes += zb_align(own > 0 ? own : 1); /* there is a frame, also where nothing in it has elements */
  }
}

static kept *find(stage_info *s, int64_t id) {
  kept key = {.id = id};
  return s && s->kept.count ? bsearch(&key, s->kept.items, s->kept.count, sizeof key, compare_kept) : NULL;
}

/* ---- Rebuilding a function ---- */

typedef struct rebuild {
  memory *m;
  stage_info *stage; /* NULL for LOAD and optimizers of tied parameters */
  int kind;          /* ZB_F.. or -1 */
  MlirOperation old;
  zb_function_builder f;
  MlirValue pools[POOL_COUNT]; /* current value of each pool frame, null: not an argument */
  bool pool_changed[POOL_COUNT];
  MlirValue frames[FRAME_COUNT]; /* arguments (read) or frames under construction (written) */
  int gradients;                 /* the frame of gradients of its micro-batch; -1: it has none */
  zb_map *gradient_offsets;      /* key of a sum -> offset in that */
  gathered gathers;              /* its frame "gathered"; no rows: it has none */
  zb_builder builder;
} rebuild;

static MlirValue build_get(rebuild *r, MlirValue frame, uint64_t offset, MlirType type) {
  MlirNamedAttribute attribute = zb_named_i64(r->m->context, "offset", (int64_t)offset);
  return mlirOperationGetResult(zb_build_any(&r->builder, "zb.get", &frame, 1, &type, 1, &attribute, 1), 0);
}

static MlirValue build_put(rebuild *r, MlirValue frame, MlirValue value, uint64_t offset, bool copy) {
  MlirNamedAttribute attributes[2] = {zb_named_i64(r->m->context, "offset", (int64_t)offset),
                                      zb_named(r->m->context, ZB_ATTR_COPY, mlirUnitAttrGet(r->m->context))};
  MlirValue operands[2] = {frame, value};
  MlirType type = mlirValueGetType(frame);
  return mlirOperationGetResult(zb_build_any(&r->builder, "zb.put", operands, 2, &type, 1, attributes, copy ? 2 : 1),
                                0);
}

static bool is_of_gradients(int frame) { return frame == FRAME_GB || frame == FRAME_GW; }

/* Whether this function makes a frame (else it reads it). */
static bool writes_frame(int kind, int frame) {
  if (frame == FRAME_GATHERED) return false;
  return kind == (frame == FRAME_GW ? ZB_W : frame == FRAME_BW || frame == FRAME_GB ? ZB_B : ZB_F);
}

static MlirValue frame_argument(rebuild *r, const char *kind, uint64_t bytes) {
  return zb_function_argument(&r->f, frame_type(r->m->context, kind, bytes), zb_frame_port(r->m->context, kind));
}

/* Gradients that the function makes of its micro-batch lie in a frame, as long as all parts that replicas have of them.
 */
static zb_status find_gradients(rebuild *r) {
  char key[ZB_KEY_BYTES];
  uint64_t bytes = 0;
  r->gradients = -1;
  if (!r->m->of_micro_batch || !r->stage) return NULL;
  r->gradient_offsets = zb_arena_map(r->m->arena);
  ZB_TRY(zb_arena_status(r->m->arena));
  for (zb_ports at = zb_arguments(r->old); zb_next(&at);) {
    zb_shape shape;
    if (!at.port.sum || !zb_type_shape(at.type, &shape)) continue;
    zb_arena_map_set(r->m->arena, r->gradient_offsets, zb_sum_key(&at.port, key), (int64_t)bytes);
    bytes += (uint64_t)r->m->parts * zb_plan_part_bytes(&shape, r->m->parts);
  }
  if (bytes == 0) return zb_arena_status(r->m->arena);
  if (r->kind == ZB_F)
    return ZB_ERROR(INVALID, "%s makes gradients of parameters, and F has no frame for those of a micro-batch",
                    zb_symbol_name(r->old));
  r->gradients = r->kind == ZB_B ? FRAME_GB : FRAME_GW;
  r->stage->frame_bytes[r->gradients] = bytes;
  return zb_arena_status(r->m->arena);
}

/* The frame is zeros before anything is added to it. */
static void begin_gradients(rebuild *r) {
  if (r->gradients < 0) return;
  const MlirContext context = r->m->context;
  const uint64_t bytes = r->stage->frame_bytes[r->gradients];
  const zb_shape shape = {.dtype = ZB_F32, .rank = 1, .dims = {(int64_t)(bytes / sizeof(float))}};
  const MlirType type = zb_shape_type(context, &shape), frame = frame_type(context, frame_names[r->gradients], bytes);
  const MlirAttribute zero = mlirFloatAttrDoubleGet(context, mlirF64TypeGet(context), 0);
  MlirNamedAttribute attributes[5] = {zb_named(context, "shape", mlirDenseI64ArrayGet(context, 1, shape.dims)),
                                      zb_named_i64(context, "axis", 0), zb_named(context, "start", zero),
                                      zb_named(context, "step", zero),
                                      zb_named(context, "dtype", zb_mlir_string(context, zb_dtype_name(ZB_F32)))};
  MlirValue *gradients = &r->frames[r->gradients];
  *gradients = mlirOperationGetResult(zb_build_any(&r->builder, "zb.empty_frame", NULL, 0, &frame, 1, NULL, 0), 0);
  const MlirValue zeros =
      mlirOperationGetResult(zb_build_any(&r->builder, "zb.iota", NULL, 0, &type, 1, attributes, 5), 0);
  *gradients = build_put(r, *gradients, zeros, 0, false);
}

/* Frame arguments first, in fixed order, if anything of them is read. */
static void add_frame_arguments(rebuild *r) {
  bool pool_used[POOL_COUNT] = {0}, frame_used[FRAME_COUNT] = {0};
  char key[ZB_KEY_BYTES];
  for (zb_ports at = zb_arguments(r->old); zb_next(&at);) {
    int which = pool_of(&at.port, key);
    if (at.port.gathered) frame_used[FRAME_GATHERED] = true;
    if (at.port.gathered || (which == POOL_GRADIENTS && r->gradients >= 0)) continue;
    if (which >= 0 && zb_map_get(r->m->pools[which].offsets, key, NULL)) pool_used[which] = true;
    kept *k = find(r->stage, at.port.value);
    if (k && !writes_frame(r->kind, k->frame)) frame_used[k->frame] = true;
  }
  /* LOAD, and an optimizer that makes a copy of its parameter again, write the constants: they take the frame to put
   * their results in. */
  for (zb_ports at = zb_results(r->old); zb_next(&at);) {
    if (at.port.load >= 0) pool_used[POOL_CONSTANTS] = true;
    if (at.port.norm >= 0) pool_used[POOL_NORMS] = true;
    if (at.port.buffer) pool_used[POOL_BUFFERS] = true;
    if (zb_port_is_summed(&at.port)) pool_used[POOL_GRADIENTS] = true;
  }
  for (int i = 0; i < POOL_COUNT; ++i)
    if (pool_used[i]) r->pools[i] = frame_argument(r, pool_names[i], r->m->pools[i].bytes);
  /* The last reader takes a frame even if it reads nothing of it: that is where it ends. */
  if (r->kind == ZB_B) frame_used[FRAME_FB] = true;
  if (r->kind == ZB_W) frame_used[FRAME_FW] = frame_used[FRAME_BW] = true;
  for (int i = 0; i < FRAME_COUNT; ++i)
    if (r->stage && r->stage->frame_bytes[i] && frame_used[i])
      r->frames[i] = frame_argument(r, frame_names[i], r->stage->frame_bytes[i]);
  if (frame_used[FRAME_GATHERED])
    r->frames[FRAME_GATHERED] = frame_argument(r, frame_names[FRAME_GATHERED], r->gathers.bytes);
}

/* Every old argument becomes a get, or stays an argument. */
static void add_value_arguments(rebuild *r) {
  char key[ZB_KEY_BYTES];
  for (zb_ports at = zb_arguments(r->old); zb_next(&at);) {
    int which = pool_of(&at.port, key);
    int64_t offset = 0;
    kept *k = find(r->stage, at.port.value);
    MlirValue now;
    if (at.port.gathered)
      now = build_get(r, r->frames[FRAME_GATHERED], (uint64_t)zb_map_get_or(r->gathers.offsets, key, 0), at.type);
    else if (which == POOL_GRADIENTS && r->gradients >= 0)
      now = build_get(r, r->frames[r->gradients], (uint64_t)zb_map_get_or(r->gradient_offsets, key, 0), at.type);
    else if (which >= 0 && zb_map_get(r->m->pools[which].offsets, key, &offset))
      now = build_get(r, r->pools[which], (uint64_t)offset, at.type);
    else if (k && !writes_frame(r->kind, k->frame))
      now = build_get(r, r->frames[k->frame], k->offset, at.type);
    else
      now = zb_function_argument(&r->f, at.type, at.attributes);
    mlirValueReplaceAllUsesOfWith(at.value, now);
  }
}

/* Whether another stage of the rank, from which the value came, keeps it too: then it is in two places, and this stage
 * copies it. Of several stages of a rank the one that had it first keeps the original. */
static bool kept_by_sender(rebuild *r, int64_t id) {
  int own = (int)(r->stage - r->m->stages), rank = r->m->stage_rank[own];
  int64_t producer = zb_map_get_or(r->m->producers, zb_id_key(id), -1);
  for (int s = 0; s < r->m->stage_count && producer >= 0; ++s) /* inputs are read again by each stage */
    if ((is_forward(producer) ? s < own : s > own) && r->m->stage_rank[s] == rank && find(&r->m->stages[s], id))
      return true;
  return false;
}

/* Finds every kept value among the results and arguments of the function: one walk over each. */
static void find_kept_values(rebuild *r) {
  for (size_t i = 0; i < r->stage->kept.count; ++i)
    r->stage->kept.items[i].value = (MlirValue){0};
  for (size_t n = 0; n < r->f.argument_attributes.count; ++n) {
    kept *k = find(r->stage, zb_port_get(r->f.argument_attributes.items[n]).value);
    if (!k) continue;
    k->value = mlirBlockGetArgument(r->f.block, (intptr_t)n);
    k->incoming = true;
  }
  for (zb_ports at = zb_results(r->old); zb_next(&at);) {
    kept *k = find(r->stage, at.port.value);
    if (!k) continue;
    k->value = at.value;
    k->incoming = false;
  }
}

/* A kept value that only a later class reads comes in here to be kept. */
static void take_in(rebuild *r, kept *k) {
  MlirAttribute id = zb_value_port(r->m->context, k->id);
  const int reader = k->frame == FRAME_FB ? ZB_B : ZB_W;
  for (zb_ports at = zb_arguments(function_of(r->m, r->stage, reader)); zb_next(&at);)
    if (at.port.value == k->id) id = at.attributes;
  k->value = zb_function_argument(&r->f, k->type, id);
  k->incoming = true;
}

/* Puts every kept value of the frames that this function makes: results, and what came in. */
static void put_kept(rebuild *r) {
  if (!r->stage) return;
  for (int frame = 0; frame < FRAME_COUNT; ++frame) {
    if (!writes_frame(r->kind, frame) || !r->stage->frame_bytes[frame] || is_of_gradients(frame)) continue;
    MlirType type = frame_type(r->m->context, frame_names[frame], r->stage->frame_bytes[frame]);
    r->frames[frame] =
        mlirOperationGetResult(zb_build_any(&r->builder, "zb.empty_frame", NULL, 0, &type, 1, NULL, 0), 0);
  }
  find_kept_values(r);
  for (size_t i = 0; i < r->stage->kept.count; ++i) {
    kept *k = &r->stage->kept.items[i];
    if (!writes_frame(r->kind, k->frame)) continue;
    if (mlirValueIsNull(k->value)) take_in(r, k);
    r->frames[k->frame] =
        build_put(r, r->frames[k->frame], k->value, k->offset, k->incoming && kept_by_sender(r, k->id));
  }
}

/* Updates and accumulators go back into their pools. */
static void put_pool_results(rebuild *r) {
  char key[ZB_KEY_BYTES];
  for (zb_ports at = zb_results(r->old); zb_next(&at);) {
    int which = pool_of(&at.port, key);
    if (at.port.update) {
      which = zb_map_get(r->m->pools[POOL_PARAMETERS].offsets, at.port.update, NULL) ? POOL_PARAMETERS : POOL_STATE;
      snprintf(key, sizeof key, "%s", at.port.update);
    }
    int64_t offset;
    if (which == POOL_GRADIENTS && r->gradients >= 0) {
      MlirValue *gradients = &r->frames[r->gradients];
      *gradients = build_put(r, *gradients, at.value, (uint64_t)zb_map_get_or(r->gradient_offsets, key, 0), false);
      continue;
    }
    if (which < 0 || !zb_map_get(r->m->pools[which].offsets, key, &offset) || mlirValueIsNull(r->pools[which]))
      continue;
    r->pools[which] = build_put(r, r->pools[which], at.value, (uint64_t)offset, false);
    r->pool_changed[which] = true;
  }
}

static void add_results(rebuild *r) {
  for (int i = 0; i < POOL_COUNT; ++i)
    if (r->pool_changed[i]) zb_function_result(&r->f, r->pools[i], zb_frame_port(r->m->context, pool_names[i]));
  for (int i = 0; r->stage && i < FRAME_COUNT; ++i)
    if (writes_frame(r->kind, i) && r->stage->frame_bytes[i])
      zb_function_result(&r->f, r->frames[i], zb_frame_port(r->m->context, frame_names[i]));
  const bool keeps_nothing = zb_class_get(r->old) == ZB_JOB_EVALUATE; /* all that others read travels */
  for (zb_ports at = zb_results(r->old); zb_next(&at);)
    if (at.port.loss || at.port.report || at.port.output ||
        (at.port.value >= 0 && zb_class_get(r->old) == ZB_JOB_CLIP) ||
        (at.port.value >= 0 && (keeps_nothing || zb_map_get(r->m->leaving, zb_id_key(at.port.value), NULL))))
      zb_function_result(&r->f, at.value, at.attributes);
}

/* As a whole if it was measured, which counts what ops do to each other's caches, else the sum of its ops. */
static zb_status function_cost(const memory *m, MlirOperation function, zb_op_cost *out, int64_t *out_first_ps) {
  uint64_t key = 0;
  const char *kind = zb_get_string(function, ZB_ATTR_CLASS);
  const bool by_function = m->costs && m->costs->program.ranks;
  *out = zb_cost_of_block(zb_function_block(function), m->costs, by_function ? &key : NULL);
  if (!by_function) return NULL;
  const zb_cost_subprogram *whole = zb_costs_subprogram(m->costs, kind, zb_get_i64(function, ZB_ATTR_STAGE, -1), key);
  if (whole)
    out->time_ps = whole->time_ps + out->sums_ps, *out_first_ps = whole->first_ps ? whole->first_ps + out->sums_ps : 0;
  else if (!m->costs->op_count && zb_class_get(function) != ZB_JOB_LOAD && zb_class_get(function) != ZB_JOB_EVALUATE)
    return zb_status_hint(
        ZB_ERROR(
            INVALID,
            "the costs know whole subprograms only, and %s is not among them: they were measured on '%s' with other "
            "cuts or another number of ranks",
            zb_symbol_name(function), m->costs->program.model),
        "measure on the device cpu: such a profile knows single ops, and serves any cuts");
  return NULL;
}

/* Of F and B it is known before; an evaluation has one for each of its functions. */
static zb_status find_own_gathered(rebuild *r, int stage) {
  if (!r->m->of_parameters) return NULL;
  if (r->stage) {
    r->gathers = r->m->gathers[stage * ZB_KIND_COUNT + r->kind];
    return NULL;
  }
  ZB_TRY(begin_gathered(r->m, &r->gathers));
  add_gathered(r->m, r->old, &r->gathers);
  return zb_arena_status(r->m->arena);
}

static zb_status rebuild_function(memory *m, MlirBlock body, MlirOperation old) {
  int stage = (int)zb_get_i64(old, ZB_ATTR_STAGE, -1), kind = zb_class_kind(old);
  bool of_stage = stage >= 0 && kind >= 0;
  rebuild r = {.m = m, .stage = of_stage ? &m->stages[stage] : NULL, .kind = kind, .old = old};
  MlirOperation end = terminator(old);
  zb_op_cost cost;
  int64_t first_ps = 0; /* 0: as the others */
  ZB_TRY(function_cost(m, old, &cost, &first_ps));
  ZB_TRY(find_gradients(&r));
  ZB_TRY(find_own_gathered(&r, stage));
  zb_function_begin(&r.f, m->context, mlirOperationGetLocation(old));
  r.builder = zb_builder_at_end(r.f.block, r.f.location);
  add_frame_arguments(&r);
  begin_gradients(&r);
  add_value_arguments(&r);
  for (MlirOperation op = mlirBlockGetFirstOperation(zb_function_block(old)); !mlirOperationEqual(op, end);) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    mlirOperationRemoveFromParent(op);
    mlirBlockAppendOwnedOperation(r.f.block, op);
    op = next;
  }
  put_kept(&r);
  put_pool_results(&r);
  add_results(&r);
  MlirNamedAttribute attributes[5] = {
      zb_named(m->context, ZB_ATTR_CLASS, zb_get_attribute(old, ZB_ATTR_CLASS)),
      zb_named_i64(m->context, ZB_ATTR_STAGE, stage),
      zb_named_i64(m->context, ZB_ATTR_TIME_PS, cost.time_ps > 0 ? cost.time_ps : 1),
      zb_named_i64(m->context, ZB_ATTR_FLOPS, (int64_t)cost.flops),
      zb_named_i64(m->context, ZB_ATTR_PRODUCT_FLOPS, (int64_t)cost.product_flops),
  };
  MlirOperation now = zb_function_finish(&r.f, body, zb_symbol_name(old), false, attributes, 5);
  if (mlirOperationIsNull(now)) return ZB_OUT_OF_MEMORY();
  if (!mlirValueIsNull(r.frames[FRAME_GATHERED])) zb_gathers_set(now, r.gathers.rows.items, (int)r.gathers.rows.count);
  if (of_stage) m->functions[stage * ZB_KIND_COUNT + kind] = now;
  mlirOperationDestroy(old);
  zb_workspace workspace;
  zb_arena arena = {0};
  zb_status status = zb_workspace_build(&arena, now, &workspace);
  if (first_ps) zb_set_i64(now, ZB_ATTR_FIRST_PS, first_ps);
  if (cost.sums_ps) zb_set_i64(now, ZB_ATTR_SUMS_PS, cost.sums_ps);
  zb_set_i64(now, ZB_ATTR_WORKSPACE, (int64_t)workspace.bytes);
  zb_arena_deinit(&arena);
  return status;
}

/* ---- The pass ---- */

static void find_leaving(memory *m) {
  for (int f = 0; f < m->stage_count * ZB_KIND_COUNT; ++f)
    for (zb_ports at = zb_arguments(m->functions[f]); zb_next(&at);) {
      int64_t producer;
      void *key = zb_id_key(at.port.value);
      if (at.port.value < 0 || !zb_map_get(m->producers, key, &producer)) continue;
      if (producer / ZB_KIND_COUNT != f / ZB_KIND_COUNT) zb_arena_map_set(m->arena, m->leaving, key, 1);
    }
}

/* A rank changes its own functions and the rows of its own stages; the rest is in its own copy. */
static zb_status rebuild_rank(void *context, zb_rank_work *work) {
  memory m = *(const memory *)context;
  MlirBlock body = zb_function_block(work->module);
  m.arena = &work->arena;
  for (int i = 0; i < POOL_COUNT; ++i)
    m.pools[i].offsets = zb_arena_map(m.arena);
  ZB_TRY(zb_arena_status(m.arena));
  collect_pools(&m, body);
  ZB_TRY(zb_arena_status(m.arena));
  ZB_TRY(find_gathered(&m, work->rank));
  ZB_FOR_EACH_OP(function, body)
    ++work->changes;
  MlirOperation op = mlirBlockGetFirstOperation(body);
  for (int64_t i = 0; i < work->changes; ++i) { /* what is rebuilt goes to the end */
    MlirOperation next = mlirOperationGetNextInBlock(op);
    ZB_TRY(rebuild_function(&m, body, op));
    op = next;
  }
  for (int i = 0; i < POOL_COUNT; ++i)
    if ((i != POOL_NORMS && i != POOL_BUFFERS) || m.pools[i].entries.count)
      zb_entries_set(work->module, pool_tables[i], m.pools[i].entries.items, (int)m.pools[i].entries.count);
  return NULL;
}

static zb_result frame_all(memory *m) {
  zb_pass *pass = m->pass;
  MlirModule module = pass->program->module;
  for (int f = 0; f < m->stage_count * ZB_KIND_COUNT; ++f)
    if (mlirOperationIsNull(m->functions[f]))
      return zb_op_error_at(mlirModuleGetOperation(module), "run zb-outline before zb-memory",
                            "stage %d has no function of class %c", f / ZB_KIND_COUNT, "FBW"[f % ZB_KIND_COUNT]);
  m->producers = zb_value_producers(m->arena, m->functions, m->stage_count);
  m->leaving = zb_arena_map_pointer(m->arena);
  ZB_PASS_TRY(pass, zb_arena_status(m->arena));
  for (int s = 0; s < m->stage_count; ++s)
    find_kept(m, &m->stages[s]);
  find_leaving(m);
  ZB_PASS_TRY(pass, zb_arena_status(m->arena));
  ZB_PASS_TRY(pass, zb_for_each_rank(module, rebuild_rank, m, &pass->changes));
  for (int s = 0; s < m->stage_count; ++s) {
    const MlirOperation *of_stage = &m->functions[s * ZB_KIND_COUNT];
    const int64_t hidden = zb_hidden_in_b(m->arena, of_stage[ZB_B], of_stage[ZB_W], m->costs);
    if (hidden > 0) zb_set_i64(of_stage[ZB_W], ZB_ATTR_HIDDEN_PS, hidden);
  }
  ZB_PASS_TRY(pass, zb_arena_status(m->arena));
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  memory m = {.pass = pass, .arena = &pass->arena, .context = mlirOperationGetContext(top)};
  m.parts = zb_has_attribute(top, ZB_ATTR_SHARDING) ? (int)zb_get_i64(top, ZB_ATTR_REPLICAS, 1) : 1;
  m.of_micro_batch = zb_replicas_sum_each(top);
  m.sums_of_parts = zb_replicas_scatter(top);
  m.of_parameters = zb_has_attribute(top, ZB_ATTR_GATHER);
  if (m.of_parameters) m.kept = zb_gathered_of(zb_get_string(top, ZB_ATTR_GATHER));
  m.stage_rank = zb_stage_ranks(m.arena, top, &m.stage_count);
  m.stages = ZB_NEW(m.arena, stage_info, m.stage_count);
  m.functions = zb_stage_functions(m.arena, module, m.stage_count);
  ZB_PASS_TRY(pass, zb_arena_status(m.arena));
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &m.costs));
  const zb_link_costs link = zb_link_costs_of(m.costs);
  if (m.costs) zb_link_costs_set(top, &link);
  zb_result result = frame_all(&m);
  zb_costs_destroy(m.costs);
  return result;
}

const zb_pass_def zb_pass_memory = {
    .name = "zb-memory",
    .summary = "Pack what stages keep between jobs into frames; compute the bytes of each and the workspace.",
    .requires_level = "outlined",
    .ensures_level = "framed",
    .run = run,
};
