/* zb-memory: packs what a stage keeps between jobs into frames, and everything that lives for the whole run into one
 * frame a kind.
 *
 *   before                                           after
 *     @s1_F(%a {zb.value = 3}, %w {zb.param = "w"})    @s1_F(%p: !zb.frame<"parameters", 512>, %a {zb.value = 3})
 *       -> (%z {zb.value = 5})                           -> (%fb: !zb.frame<"fb", 128>, %fw: !zb.frame<"fw", 256>)
 *     @s1_B(%z {zb.value = 5}, ...)                    @s1_B(%p, %fb, ...)
 *
 * fb: saved by F (made, received or read there), last read by B. fw: saved by F, last read by W. bw: saved by B, read
 * by W. A value that is kept has its home in its frame from the start; zb.put says where. Values that only travel stay
 * arguments and results. Parameters, optimizer state, accumulators and values of LOAD become one frame a rank each:
 * parameters, state, gradients, constants; their tables are attributes of the rank's module. Every function gets
 * zb.workspace (bytes) and the costs that schedules count with.
 *
 * Tests: test/passes/memory.mlir. */

#include "passes/stages/classes.h"
#include "passes/stages/cost.h"
#include "passes/stages/flow.h"
#include "passes/stages/frames.h"
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/tables.h"
#include "passes/stages/workspace.h"
#include "runtime/base/memory.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  MlirOperation functions[ZB_KIND_COUNT];
  ZB_LIST(kept) kept;
  uint64_t frame_bytes[FRAME_COUNT];
} stage_info;

typedef struct memory {
  zb_pass *pass;
  zb_arena *arena; /* of the pass, or of the rank at hand */
  MlirContext context;
  stage_info *stages;
  int stage_count;
  int *stage_rank;
  zb_map *producers;      /* value id + 1 -> stage * ZB_KIND_COUNT + class; absent: input */
  pool pools[POOL_COUNT]; /* of the rank at hand, as is: */
  int64_t changes;
  zb_costs *costs; /* NULL: the model */
} memory;

/* What the ranks share while each is rebuilt. */
typedef struct framing {
  const memory *memory;
  const zb_map *leaving;
  atomic_int_least64_t *changes;
} framing;

static MlirStringRef text_ref(const char *text) { return mlirStringRefCreateFromCString(text); }
static void *id_key(int64_t id) { return (void *)(uintptr_t)(id + 1); }

static MlirType frame_type(MlirContext context, const char *kind, uint64_t bytes) {
  char text[96];
  snprintf(text, sizeof text, "!zb.frame<\"%s\", %llu>", kind, (unsigned long long)bytes);
  return mlirTypeParseGet(context, text_ref(text));
}

static intptr_t argument_count(MlirOperation function) { return mlirBlockGetNumArguments(zb_function_block(function)); }

static MlirOperation terminator(MlirOperation function) { return mlirBlockGetTerminator(zb_function_block(function)); }

static int64_t argument_id(MlirOperation function, int index) { return zb_argument_port(function, index).value; }

static int64_t result_id(MlirOperation function, int index) { return zb_result_port(function, index).value; }

/* ---- Pools ---- */

/* Which pool an argument or result belongs to and its key; -1 for others. */
static int pool_of(const zb_port *port, char key[ZB_KEY_BYTES]) {
  const struct {
    const char *name;
    int pool;
  } kinds[] = {{port->param, POOL_PARAMETERS},
               {port->frozen, POOL_PARAMETERS},
               {port->state, POOL_STATE},
               {port->constant, POOL_CONSTANTS}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (!kinds[i].name) continue;
    snprintf(key, ZB_KEY_BYTES, "%s", kinds[i].name);
    return kinds[i].pool;
  }
  if (port->sum) return zb_sum_key(port, key), POOL_GRADIENTS;
  if (port->load < 0) return -1;
  snprintf(key, ZB_KEY_BYTES, "#%lld", (long long)port->load);
  return POOL_CONSTANTS;
}

static zb_status add_to_pool(memory *m, int which, const char *key, const zb_port *port, MlirType type) {
  pool *p = &m->pools[which];
  if (zb_map_get(p->offsets, key, NULL)) return NULL;
  if (!zb_map_set(p->offsets, key, (int64_t)p->bytes)) return ZB_OUT_OF_MEMORY();
  const zb_entry entry = {.port = *port, .offset = (int64_t)p->bytes, .type = type};
  if (!ZB_PUSH(m->arena, &p->entries, zb_entry_set(m->context, &entry))) return ZB_OUT_OF_MEMORY();
  p->bytes += zb_align(zb_type_bytes(type));
  return NULL;
}

static zb_status collect_pools(memory *m, MlirBlock body) {
  char key[ZB_KEY_BYTES];
  ZB_FOR_EACH_OP(function, body) {
    if (!zb_op_is(function, "func.func")) continue;
    bool optimizer = zb_job_is_optimizer(zb_class_get(function));
    for (intptr_t i = 0; i < argument_count(function); ++i) {
      const zb_port port = zb_argument_port(function, (int)i);
      int which = pool_of(&port, key);
      /* An accumulator of another rank arrives as a message: it is no entry here. W has made the own ones first. */
      if (which < 0 || (which == POOL_GRADIENTS && optimizer)) continue;
      ZB_TRY(add_to_pool(m, which, key, &port, mlirValueGetType(mlirBlockGetArgument(zb_function_block(function), i))));
    }
  }
  return NULL;
}

static void write_pool_tables(memory *m, MlirOperation rank) {
  for (int i = 0; i < POOL_COUNT; ++i)
    zb_entries_set(rank, pool_tables[i], m->pools[i].entries.items, (int)m->pools[i].entries.count);
}

/* ---- What a stage keeps ---- */

static zb_status keep(memory *m, stage_info *s, int64_t id, int frame, MlirType type) {
  return ZB_PUSH(m->arena, &s->kept, (kept){.id = id, .frame = frame, .type = type}) ? NULL : ZB_OUT_OF_MEMORY();
}

static int compare_kept(const void *a, const void *b) {
  int64_t x = ((const kept *)a)->id, y = ((const kept *)b)->id;
  return x < y ? -1 : x > y;
}

/* F-class values (made by F here or before, or inputs) are kept for B or W; B-class ones for W. */
static zb_status find_kept(memory *m, stage_info *s) {
  zb_map *w_reads = zb_arena_map_pointer(m->arena);
  if (!w_reads) return ZB_OUT_OF_MEMORY();
  MlirOperation b = s->functions[ZB_B], w = s->functions[ZB_W];
  for (intptr_t i = 0; i < argument_count(w); ++i) {
    int64_t id = argument_id(w, (int)i);
    if (id < 0) continue;
    int64_t producer = zb_map_get_or(m->producers, id_key(id), ZB_F);
    if (!zb_map_set(w_reads, id_key(id), 1)) return ZB_OUT_OF_MEMORY();
    ZB_TRY(keep(m, s, id, producer % ZB_KIND_COUNT == ZB_F ? FRAME_FW : FRAME_BW,
                mlirValueGetType(mlirBlockGetArgument(zb_function_block(w), i))));
  }
  for (intptr_t i = 0; i < argument_count(b); ++i) {
    int64_t id = argument_id(b, (int)i);
    if (id < 0 || zb_map_get(w_reads, id_key(id), NULL)) continue;
    int64_t producer = zb_map_get_or(m->producers, id_key(id), ZB_F);
    if (producer % ZB_KIND_COUNT == ZB_F)
      ZB_TRY(keep(m, s, id, FRAME_FB, mlirValueGetType(mlirBlockGetArgument(zb_function_block(b), i))));
  }
  if (s->kept.count) qsort(s->kept.items, s->kept.count, sizeof *s->kept.items, compare_kept);
  for (size_t i = 0; i < s->kept.count; ++i) {
    uint64_t *bytes = &s->frame_bytes[s->kept.items[i].frame];
    s->kept.items[i].offset = *bytes;
    *bytes += zb_align(zb_type_bytes(s->kept.items[i].type));
  }
  return NULL;
}

static kept *find(stage_info *s, int64_t id) {
  kept key = {.id = id};
  return s->kept.count ? bsearch(&key, s->kept.items, s->kept.count, sizeof key, compare_kept) : NULL;
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
  zb_builder builder;
} rebuild;

static MlirValue build_get(rebuild *r, MlirValue frame, uint64_t offset, MlirType type) {
  MlirNamedAttribute attribute = zb_named(r->m->context, "offset", zb_mlir_i64(r->m->context, (int64_t)offset));
  return mlirOperationGetResult(zb_build_any(&r->builder, "zb.get", &frame, 1, &type, 1, &attribute, 1), 0);
}

static MlirValue build_put(rebuild *r, MlirValue frame, MlirValue value, uint64_t offset, bool copy) {
  MlirNamedAttribute attributes[2] = {zb_named(r->m->context, "offset", zb_mlir_i64(r->m->context, (int64_t)offset)),
                                      zb_named(r->m->context, ZB_ATTR_COPY, mlirUnitAttrGet(r->m->context))};
  MlirValue operands[2] = {frame, value};
  MlirType type = mlirValueGetType(frame);
  return mlirOperationGetResult(zb_build_any(&r->builder, "zb.put", operands, 2, &type, 1, attributes, copy ? 2 : 1),
                                0);
}

/* Whether this function makes a frame (else it reads it). */
static bool writes_frame(int kind, int frame) {
  return (kind == ZB_F && frame != FRAME_BW) || (kind == ZB_B && frame == FRAME_BW);
}

/* Frame arguments first, in fixed order, if anything of them is read. */
static void add_frame_arguments(rebuild *r) {
  bool pool_used[POOL_COUNT] = {0}, frame_used[FRAME_COUNT] = {0};
  char key[ZB_KEY_BYTES];
  for (intptr_t i = 0; i < argument_count(r->old); ++i) {
    const zb_port port = zb_argument_port(r->old, (int)i);
    int which = pool_of(&port, key);
    if (which >= 0 && zb_map_get(r->m->pools[which].offsets, key, NULL)) pool_used[which] = true;
    kept *k = r->stage ? find(r->stage, port.value) : NULL;
    if (k && !writes_frame(r->kind, k->frame)) frame_used[k->frame] = true;
  }
  /* LOAD, and an optimizer that makes a copy of its parameter anew, write the constants: they take the frame to put
   * their results in. */
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator(r->old)); ++i)
    if (zb_result_port(r->old, (int)i).load >= 0) pool_used[POOL_CONSTANTS] = true;
  for (int i = 0; i < POOL_COUNT; ++i)
    if (pool_used[i])
      r->pools[i] = zb_function_argument(&r->f, frame_type(r->m->context, pool_names[i], r->m->pools[i].bytes),
                                         zb_frame_port(r->m->context, pool_names[i]));
  /* The last reader takes a frame even if it reads nothing of it: that is where it ends. */
  if (r->kind == ZB_B) frame_used[FRAME_FB] = true;
  if (r->kind == ZB_W) frame_used[FRAME_FW] = frame_used[FRAME_BW] = true;
  for (int i = 0; i < FRAME_COUNT; ++i) {
    if (!r->stage || !r->stage->frame_bytes[i] || !frame_used[i]) continue;
    r->frames[i] = zb_function_argument(&r->f, frame_type(r->m->context, frame_names[i], r->stage->frame_bytes[i]),
                                        zb_frame_port(r->m->context, frame_names[i]));
  }
}

/* Every old argument becomes a get, or stays an argument. */
static void add_value_arguments(rebuild *r) {
  char key[ZB_KEY_BYTES];
  MlirBlock old_block = zb_function_block(r->old);
  for (intptr_t i = 0; i < argument_count(r->old); ++i) {
    MlirValue old = mlirBlockGetArgument(old_block, i);
    MlirType type = mlirValueGetType(old);
    MlirAttribute attributes = zb_argument_dictionary(r->old, (int)i);
    const zb_port port = zb_port_get(attributes);
    int which = pool_of(&port, key);
    int64_t offset = 0;
    kept *k = r->stage ? find(r->stage, port.value) : NULL;
    MlirValue now;
    if (which >= 0 && zb_map_get(r->m->pools[which].offsets, key, &offset))
      now = build_get(r, r->pools[which], (uint64_t)offset, type);
    else if (k && !writes_frame(r->kind, k->frame))
      now = build_get(r, r->frames[k->frame], k->offset, type);
    else
      now = zb_function_argument(&r->f, type, attributes);
    mlirValueReplaceAllUsesOfWith(old, now);
  }
}

static MlirValue frame_under_construction(rebuild *r, int frame) {
  if (mlirValueIsNull(r->frames[frame])) {
    MlirType type = frame_type(r->m->context, frame_names[frame], r->stage->frame_bytes[frame]);
    r->frames[frame] =
        mlirOperationGetResult(zb_build_any(&r->builder, "zb.empty_frame", NULL, 0, &type, 1, NULL, 0), 0);
  }
  return r->frames[frame];
}

/* An id that arrived from a stage of the same rank which keeps it itself has two homes: here it is copied. */
static bool kept_by_sender(rebuild *r, int64_t id) {
  int own = (int)zb_get_i64(r->old, ZB_ATTR_STAGE, -1), rank = r->m->stage_rank[own];
  for (int s = 0; s < r->m->stage_count; ++s)
    if (s != own && r->m->stage_rank[s] == rank && find(&r->m->stages[s], id)) {
      /* Of several holders on a rank the one that had it first keeps the home. */
      int64_t producer = zb_map_get_or(r->m->producers, id_key(id), -1);
      if (producer < 0) return false; /* inputs are read anew by each stage */
      bool forward = producer % ZB_KIND_COUNT == ZB_F;
      if (forward ? s < own : s > own) return true;
    }
  return false;
}

/* Finds every kept value among the results and arguments of the function: one walk over each. */
static void find_kept_values(rebuild *r) {
  MlirOperation end = terminator(r->old);
  for (size_t i = 0; i < r->stage->kept.count; ++i)
    r->stage->kept.items[i].value = (MlirValue){0};
  for (size_t n = 0; n < r->f.argument_count; ++n) {
    kept *k = find(r->stage, zb_port_get(r->f.argument_attributes[n]).value);
    if (!k) continue;
    k->value = mlirBlockGetArgument(r->f.block, (intptr_t)n);
    k->incoming = true;
  }
  for (intptr_t n = 0; n < mlirOperationGetNumOperands(end); ++n) {
    kept *k = find(r->stage, result_id(r->old, (int)n));
    if (!k) continue;
    k->value = mlirOperationGetOperand(end, n);
    k->incoming = false;
  }
}

/* A kept value that only a later class reads comes in here to be kept. */
static void take_in(rebuild *r, kept *k) {
  MlirAttribute id = zb_value_port(r->m->context, k->id);
  MlirOperation reader = r->stage->functions[k->frame == FRAME_FB ? ZB_B : ZB_W];
  for (intptr_t n = 0; n < argument_count(reader); ++n)
    if (argument_id(reader, (int)n) == k->id) id = zb_argument_dictionary(reader, (int)n);
  k->value = zb_function_argument(&r->f, k->type, id);
  k->incoming = true;
}

/* Puts every kept value of the frames that this function makes: results, and what came in. */
static void put_kept(rebuild *r) {
  if (!r->stage) return;
  for (int frame = 0; frame < FRAME_COUNT; ++frame) {
    if (!writes_frame(r->kind, frame) || !r->stage->frame_bytes[frame]) continue;
    r->frames[frame] = (MlirValue){0};
    frame_under_construction(r, frame);
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
  MlirOperation end = terminator(r->old);
  char key[ZB_KEY_BYTES];
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    const zb_port port = zb_result_port(r->old, (int)i);
    int which = pool_of(&port, key);
    if (port.update) {
      which = zb_map_get(r->m->pools[POOL_PARAMETERS].offsets, port.update, NULL) ? POOL_PARAMETERS : POOL_STATE;
      snprintf(key, sizeof key, "%s", port.update);
    }
    int64_t offset;
    if (which < 0 || !zb_map_get(r->m->pools[which].offsets, key, &offset) || mlirValueIsNull(r->pools[which]))
      continue;
    r->pools[which] = build_put(r, r->pools[which], mlirOperationGetOperand(end, i), (uint64_t)offset, false);
    r->pool_changed[which] = true;
  }
}

static void add_results(rebuild *r, const zb_map *leaving) {
  MlirOperation end = terminator(r->old);
  for (int i = 0; i < POOL_COUNT; ++i)
    if (r->pool_changed[i]) zb_function_result(&r->f, r->pools[i], zb_frame_port(r->m->context, pool_names[i]));
  for (int i = 0; r->stage && i < FRAME_COUNT; ++i)
    if (writes_frame(r->kind, i) && r->stage->frame_bytes[i])
      zb_function_result(&r->f, r->frames[i], zb_frame_port(r->m->context, frame_names[i]));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    MlirAttribute attributes = zb_result_dictionary(r->old, (int)i);
    const zb_port port = zb_port_get(attributes);
    if (port.loss || port.report || (port.value >= 0 && zb_map_get(leaving, id_key(port.value), NULL)))
      zb_function_result(&r->f, mlirOperationGetOperand(end, i), attributes);
  }
}

/* As a whole if it was measured, which counts what ops do to each other's caches, else the sum of its ops. */
static zb_status function_cost(const memory *m, MlirOperation function, zb_op_cost *out, int64_t *out_first_ps) {
  uint64_t key = 0;
  const char *kind = zb_get_string(function, ZB_ATTR_CLASS);
  *out = zb_cost_of_block(zb_function_block(function), m->costs, &key);
  if (!m->costs || !m->costs->program.ranks) return NULL;
  const zb_cost_subprogram *whole = zb_costs_subprogram(m->costs, kind, zb_get_i64(function, ZB_ATTR_STAGE, -1), key);
  if (whole)
    out->time_ps = whole->time_ps, *out_first_ps = whole->first_ps;
  else if (!m->costs->op_count && zb_class_get(function) != ZB_JOB_LOAD)
    return zb_status_hint(
        ZB_ERROR(
            INVALID,
            "the costs know whole subprograms only, and %s is not among them: they were measured on '%s' with other "
            "cuts or another number of ranks",
            zb_symbol_name(function), m->costs->program.model),
        "measure on the device cpu: such a profile knows single ops, and serves any cuts");
  return NULL;
}

static zb_status rebuild_function(memory *m, MlirBlock body, MlirOperation old, stage_info *stage, int kind,
                                  const zb_map *leaving) {
  rebuild r = {.m = m, .stage = stage, .kind = kind, .old = old};
  MlirBlock old_block = zb_function_block(old);
  zb_op_cost cost;
  int64_t first_ps = 0; /* 0: as the others */
  ZB_TRY(function_cost(m, old, &cost, &first_ps));
  zb_function_begin(&r.f, m->context, mlirOperationGetLocation(old));
  r.builder = zb_builder_at_end(r.f.block, r.f.location);
  add_frame_arguments(&r);
  add_value_arguments(&r);
  MlirOperation end = terminator(old);
  for (MlirOperation op = mlirBlockGetFirstOperation(old_block); !mlirOperationEqual(op, end);) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    mlirOperationRemoveFromParent(op);
    mlirBlockAppendOwnedOperation(r.f.block, op);
    op = next;
  }
  put_kept(&r);
  put_pool_results(&r);
  add_results(&r, leaving);
  char *name = zb_strdup(zb_symbol_name(old)), class_text[8];
  if (!name) return ZB_OUT_OF_MEMORY();
  snprintf(class_text, sizeof class_text, "%s", zb_get_string(old, ZB_ATTR_CLASS));
  MlirNamedAttribute attributes[5] = {
      zb_named(m->context, ZB_ATTR_CLASS, zb_mlir_string(m->context, class_text)),
      zb_named(m->context, ZB_ATTR_STAGE, zb_mlir_i64(m->context, zb_get_i64(old, ZB_ATTR_STAGE, -1))),
      zb_named(m->context, ZB_ATTR_TIME_PS, zb_mlir_i64(m->context, cost.time_ps > 0 ? cost.time_ps : 1)),
      zb_named(m->context, ZB_ATTR_FLOPS, zb_mlir_i64(m->context, (int64_t)cost.flops)),
      zb_named(m->context, ZB_ATTR_PRODUCT_FLOPS, zb_mlir_i64(m->context, (int64_t)cost.product_flops)),
  };
  MlirOperation now = zb_function_finish(&r.f, body, name, false, attributes, 5);
  zb_free(name);
  if (mlirOperationIsNull(now)) return ZB_OUT_OF_MEMORY();
  ++m->changes;
  if (stage) stage->functions[kind] = now;
  mlirOperationDestroy(old);
  zb_workspace workspace;
  zb_arena arena = {0};
  zb_status status = zb_workspace_build(&arena, now, &workspace);
  if (first_ps) zb_set_i64(now, ZB_ATTR_FIRST_PS, first_ps);
  zb_set_i64(now, ZB_ATTR_WORKSPACE, (int64_t)workspace.bytes);
  zb_arena_deinit(&arena);
  return status;
}

/* ---- The pass ---- */

static zb_status collect_functions(memory *m, MlirBlock top) {
  ZB_FOR_EACH_OP(rank, top) {
    if (!zb_op_is(rank, "builtin.module")) continue;
    ZB_FOR_EACH_OP(function, zb_function_block(rank)) {
      int stage = (int)zb_get_i64(function, ZB_ATTR_STAGE, -1), c = zb_class_kind(function);
      if (stage < 0 || stage >= m->stage_count || c < 0) continue;
      m->stages[stage].functions[c] = function;
      intptr_t results = mlirOperationGetNumOperands(terminator(function));
      for (intptr_t i = 0; i < results; ++i) {
        int64_t id = result_id(function, (int)i);
        if (id >= 0 && !zb_map_set(m->producers, id_key(id), stage * ZB_KIND_COUNT + c)) return ZB_OUT_OF_MEMORY();
      }
    }
  }
  return NULL;
}

/* Ids that are read in another stage than their own. */
static zb_status find_leaving(memory *m, zb_map *leaving) {
  for (int s = 0; s < m->stage_count; ++s)
    for (int c = 0; c < ZB_KIND_COUNT; ++c)
      for (intptr_t i = 0; i < argument_count(m->stages[s].functions[c]); ++i) {
        int64_t id = argument_id(m->stages[s].functions[c], (int)i), producer;
        if (id < 0 || !zb_map_get(m->producers, id_key(id), &producer) || producer / ZB_KIND_COUNT == s) continue;
        if (!zb_map_set(leaving, id_key(id), 1)) return ZB_OUT_OF_MEMORY();
      }
  return NULL;
}

static zb_status rebuild_functions(memory *m, MlirBlock body, const zb_map *leaving) {
  MlirOperation last = {0};
  ZB_FOR_EACH_OP(function, body)
    last = function;
  MlirOperation op = mlirBlockGetFirstOperation(body);
  while (!mlirOperationIsNull(last) && !mlirOperationIsNull(op)) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    bool is_last = mlirOperationEqual(op, last);
    int stage = (int)zb_get_i64(op, ZB_ATTR_STAGE, -1), c = zb_class_kind(op);
    ZB_TRY(rebuild_function(m, body, op, stage >= 0 && c >= 0 ? &m->stages[stage] : NULL, c, leaving));
    if (is_last) break;
    op = next;
  }
  return NULL;
}

/* A rank changes its own functions and the rows of its own stages; the rest is in its own copy. */
static zb_status rebuild_rank(void *context, MlirOperation rank, int index) {
  (void)index;
  const framing *all = context;
  memory m = *all->memory;
  MlirBlock body = zb_function_block(rank);
  zb_status status = NULL;
  zb_arena arena = {0};
  m.arena = &arena;
  for (int i = 0; i < POOL_COUNT; ++i)
    m.pools[i].offsets = zb_arena_map(&arena);
  ZB_TRY_GOTO(zb_arena_status(&arena));
  ZB_TRY_GOTO(collect_pools(&m, body));
  ZB_TRY_GOTO(rebuild_functions(&m, body, all->leaving));
  write_pool_tables(&m, rank);
  atomic_fetch_add(all->changes, m.changes);
cleanup:
  zb_arena_deinit(&arena);
  return status;
}

static zb_result frame_all(memory *m, MlirBlock top) {
  zb_pass *pass = m->pass;
  ZB_PASS_TRY(pass, collect_functions(m, top));
  for (int s = 0; s < m->stage_count; ++s) {
    for (int c = 0; c < ZB_KIND_COUNT; ++c)
      if (mlirOperationIsNull(m->stages[s].functions[c]))
        return zb_op_error_at(mlirModuleGetOperation(pass->program->module), "run zb-outline before zb-memory",
                              "stage %d has no function of class %c", s, "FBW"[c]);
    ZB_PASS_TRY(pass, find_kept(m, &m->stages[s]));
  }
  zb_map *leaving = zb_arena_map_pointer(m->arena);
  ZB_PASS_TRY(pass, zb_arena_status(m->arena));
  ZB_PASS_TRY(pass, find_leaving(m, leaving));
  atomic_int_least64_t changes = 0;
  framing all = {.memory = m, .leaving = leaving, .changes = &changes};
  zb_status status = zb_for_each_rank(pass->program->module, rebuild_rank, &all);
  pass->changes += atomic_load(&changes);
  return status ? zb_pass_fail(pass, status) : ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  const zb_table stage_rank = zb_stage_rank_get(top);
  memory m = {.pass = pass,
              .arena = &pass->arena,
              .context = mlirOperationGetContext(top),
              .stage_count = stage_rank.count,
              .stages = ZB_NEW(&pass->arena, stage_info, stage_rank.count),
              .stage_rank = ZB_NEW(&pass->arena, int, stage_rank.count),
              .producers = zb_arena_map_pointer(&pass->arena)};
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  for (int s = 0; s < m.stage_count; ++s)
    m.stage_rank[s] = (int)zb_stage_rank_at(stage_rank, s).rank;
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &m.costs));
  const zb_link_costs link = zb_link_costs_of(m.costs);
  if (m.costs) zb_link_costs_set(top, &link);
  zb_result result = frame_all(&m, mlirModuleGetBody(module));
  zb_costs_destroy(m.costs);
  return result;
}

static const zb_option_def options[] = {
    {"costs", "", "file of costs that zb-run --profile or --calibrate wrote (default: the built-in model)"},
    {0},
};

const zb_pass_def zb_pass_memory = {
    .name = "zb-memory",
    .summary = "Pack what stages keep between jobs into frames; compute the bytes of each and the workspace.",
    .options = options,
    .requires_level = "outlined",
    .ensures_level = "framed",
    .run = run,
};
