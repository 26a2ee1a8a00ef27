/* zb-partition: gives every op a virtual stage.
 *
 *   before                                   after (2 stages)
 *     %0 = zb.matmul(%x, %w0) {zb.id = 0}      ... {zb.id = 0, zb.stage = 0}
 *     %1 = zb.matmul(%0, %w1) {zb.id = 1}      ... {zb.id = 1, zb.stage = 1}
 *     ... {zb.of = 1}                          ... {zb.of = 1, zb.stage = 1}
 *
 * Stages are runs of the forward program, so a value is never used in an earlier stage than its own. Cuts are chosen to
 * make the longest stage (F + B + W) as short as possible among the places where few bytes cross, or are named by the
 * user. A gradient op has the stage of the use that it differentiates (zb.of); in an imported training graph, the
 * latest stage among the parameters it reads and the accumulates it leads to. A buffer (zb.buffer) lives with its
 * stage: no cut goes between ops that read it or make its new value. Ops that depend on constants only have no stage:
 * each rank runs its own. Optimizer ops of a parameter that is trained in several stages have stage -1: they run on
 * every rank that holds it (zb-outline adds those of one that other ranks only read).
 *
 * Tests: test/passes/partition.mlir. */

#include "passes/stages/functions/chosen.h"
#include "passes/stages/cost.h"
#include "passes/stages/cut/cuts.h"
#include "passes/stages/flow.h"
#include "passes/stages/layers.h"
#include "passes/stages/cut/named_layers.h"
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/tables.h"
#include "zb/layers.h"
#include "zb/schedule.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NO_STAGE = -2, SHARED_STAGE = -1 };

typedef struct partition {
  zb_pass *pass;
  zb_graph graph;
  zb_flow flow;
  int stages, ranks, chunks;
  const int *stage_rank; /* [stages] */
  int *stage;            /* per node */
  zb_map *numbered;      /* zb.id -> node */
  int *forward;          /* node numbers of the forward ops that can be cut between, program order */
  int forward_count;
  int *entry;  /* per node: its place in `forward`, -1 */
  int *places; /* entries after which may be cut, and the last one: `count` of them */
  int place_count;
  const char **kept_by;            /* per entry: the buffer that a cut after it would divide, or NULL */
  int64_t *cost;                   /* per entry of forward: its time and that of its gradient ops */
  int64_t *cut_bytes;              /* per entry: activation bytes alive after it */
  int *cut_after;                  /* stages - 1 entries: index into forward after which a stage ends */
  int *few;                        /* places of cuts, for recompute=auto: as of recompute=all; NULL: the same */
  zb_costs *costs;                 /* NULL: the model */
  int64_t micro_batches, bound_ps; /* bound_ps: zb_cuts.bound_ps */
} partition;

static unsigned flags_of(const partition *p, const zb_node *node) { return p->flow.nodes[node->number]; }

/* The forward op that a gradient op differentiates (zb.of): its number, or -1. */
static int differentiated(const partition *p, const zb_node *node) {
  int64_t of = zb_get_i64(node->op, ZB_ATTR_OF, -1);
  return of < 0 ? -1 : (int)zb_map_get_or(p->numbered, zb_id_key(of), -1);
}

/* ---- Costs of the forward ops ---- */

static zb_status collect_forward(partition *p) {
  zb_arena *arena = &p->pass->arena;
  int count = p->graph.node_count;
  p->stage = ZB_NEW(arena, int, count);
  p->numbered = zb_arena_map_pointer(arena);
  p->forward = ZB_NEW(arena, int, count);
  p->entry = ZB_NEW(arena, int, count);
  p->cost = ZB_NEW(arena, int64_t, count);
  p->cut_bytes = ZB_NEW(arena, int64_t, count);
  p->cut_after = ZB_NEW(arena, int, p->stages);
  p->places = ZB_NEW(arena, int, count);
  p->kept_by = ZB_NEW(arena, const char *, count);
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_NODE(node, &p->graph) {
    unsigned flags = flags_of(p, node);
    int64_t id = zb_get_i64(node->op, ZB_ATTR_ID, -1);
    p->stage[node->number] = NO_STAGE;
    p->entry[node->number] = -1;
    if (id >= 0) zb_arena_map_set(arena, p->numbered, zb_id_key(id), node->number);
    if (!zb_flow_is_place(flags)) continue;
    p->entry[node->number] = p->forward_count;
    p->forward[p->forward_count++] = node->number;
  }
  return zb_arena_status(arena);
}

/* ---- Buffers ---- */

/* First and last entry of what uses a buffer. */
typedef struct buffer_span {
  int first, last;
} buffer_span;

static void add_to_span(buffer_span *span, int entry) {
  if (entry < 0) return;
  if (span->first < 0 || entry < span->first) span->first = entry;
  if (entry > span->last) span->last = entry;
}

/* Adds the entries that read a buffer, through views too. lies_there: scratch, one a value. */
static void add_readers(const partition *p, int argument, bool *lies_there, buffer_span *span) {
  memset(lies_there, 0, (size_t)p->graph.value_count * sizeof *lies_there);
  lies_there[argument] = true;
  ZB_FOR_EACH_NODE(node, &p->graph) {
    bool reads = false;
    ZB_FOR_EACH_OPERAND(operand, &p->graph, node)
      reads |= lies_there[operand];
    if (!reads) continue;
    add_to_span(span, p->entry[node->number]);
    if (!(flags_of(p, node) & ZB_FLOW_VIEW)) continue;
    ZB_FOR_EACH_RESULT(result, node)
      lies_there[result] = true;
  }
}

/* Where no cut may be: an F reads of a buffer what the F of the micro-batch before left there, so one stage has all
 * that reads or updates it. */
static zb_status find_places(partition *p) {
  bool *lies_there = ZB_NEW(&p->pass->arena, bool, p->graph.value_count);
  ZB_TRY(zb_arena_status(&p->pass->arena));
  for (int i = 0; i < p->graph.returned_count; ++i) {
    buffer_span span = {-1, -1};
    /* A new value that is the old one of another buffer: all of them are in one stage. */
    for (int argument = zb_buffer_of_result(&p->graph, i), hops = 0; argument >= 0 && hops < p->graph.returned_count;
         ++hops) {
      const int updated = p->graph.returned[zb_buffer_result(&p->graph, argument)];
      const zb_node *maker = zb_maker(&p->graph, updated);
      add_readers(p, argument, lies_there, &span);
      if (maker) add_to_span(&span, p->entry[maker->number]);
      argument = zb_buffer_at(&p->graph, updated);
    }
    for (int entry = span.first; entry >= 0 && entry < span.last; ++entry)
      p->kept_by[entry] = zb_result_string(p->graph.function, i, ZB_ATTR_BUFFER);
  }
  for (int i = 0; i < p->forward_count; ++i)
    if (!p->kept_by[i]) p->places[p->place_count++] = i;
  return NULL;
}

static int64_t time_of(const partition *p, const zb_node *node) {
  return zb_cost_of(node->op, node->def, p->costs).time_ps;
}

/* The optimizer runs once a step, so a micro-batch bears its part. An op of it counts where the first accumulate that
 * it depends on was made. */
static zb_status add_optimizer(partition *p) {
  int *entry = ZB_NEW(&p->pass->arena, int, p->graph.node_count);
  ZB_TRY(zb_arena_status(&p->pass->arena));
  ZB_FOR_EACH_NODE(node, &p->graph) {
    unsigned flags = flags_of(p, node);
    int of = flags & ZB_FLOW_ACCUMULATE ? differentiated(p, node) : -1;
    int *own = &entry[node->number];
    *own = of < 0 ? -1 : p->entry[of];
    if (!(flags & ZB_FLOW_OPTIMIZE)) continue;
    ZB_FOR_EACH_OPERAND(operand, &p->graph, node) {
      const zb_node *maker = zb_maker(&p->graph, operand);
      if (*own < 0 && maker) *own = entry[maker->number];
    }
    if (*own >= 0) p->cost[*own] += time_of(p, node) / p->micro_batches;
  }
  return NULL;
}

/* A profile of another program knows few of these ops. Half is far from both: other shapes change nearly every op,
 * other options few. */
static zb_status check_costs(const partition *p) {
  int64_t known = 0, all = 0;
  if (!p->costs || !p->costs->program.ranks) return NULL;
  for (int n = 0; n < p->graph.node_count; ++n) {
    char text[ZB_COST_TEXT_BYTES];
    const zb_node *node = &p->graph.nodes[n];
    if ((p->flow.nodes[n] & ZB_FLOW_LOAD) || !zb_cost_text(node->op, node->def, text)) continue;
    ++all;
    known += zb_costs_op(p->costs, text) >= 0;
  }
  if (2 * known >= all) return NULL;
  return zb_status_hint(
      ZB_ERROR(INVALID,
               "%s knows %lld of the %lld ops of this program: it was measured on '%s', another model or other shapes",
               zb_pass_option(p->pass, "costs"), (long long)known, (long long)all, p->costs->program.model),
      "compile without --costs, measure that plan with zb-run --profile, and compile again");
}

/* The entries of ops; where ranks have several stages, of chains that of their first reader too, since few of them (a
 * lookup of positions) can be more than what one rank differs from the others by. */
static zb_status find_bearers(const partition *p, int **out) {
  int *bearer = *out = ZB_NEW(&p->pass->arena, int, p->graph.node_count);
  ZB_TRY(zb_arena_status(&p->pass->arena));
  ZB_FOR_EACH_NODE_BACKWARD(node, &p->graph) {
    int *own = &bearer[node->number];
    *own = p->entry[node->number];
    if (p->chunks == 1 || *own >= 0 || (flags_of(p, node) & (ZB_FLOW_CHAIN | ZB_FLOW_LOAD)) != ZB_FLOW_CHAIN) continue;
    ZB_FOR_EACH_USER(user, &p->graph, node)
      if ((p->flow.nodes[user] & ZB_FLOW_FORWARD) && bearer[user] >= 0 && (*own < 0 || bearer[user] < *own))
        *own = bearer[user];
  }
  return NULL;
}

/* A parameter's cast is no job of a micro-batch: zb-outline keeps its copy. */
static bool is_copy(const partition *p, const zb_node *node) {
  return (flags_of(p, node) & ZB_FLOW_CHAIN) && zb_node_is(node, "zb.cast") &&
         !zb_maker(&p->graph, zb_operand(&p->graph, node, 0));
}

static zb_status sum_costs(partition *p) {
  int *bearer;
  ZB_TRY(find_bearers(p, &bearer));
  ZB_FOR_EACH_NODE(node, &p->graph) {
    int of = flags_of(p, node) & ZB_FLOW_BACKWARD ? differentiated(p, node) : node->number;
    if (!(flags_of(p, node) & ZB_FLOW_STEP)) continue; /* of an evaluation alone */
    if (of >= 0 && bearer[of] >= 0 && !is_copy(p, node)) p->cost[bearer[of]] += time_of(p, node);
  }
  return p->costs ? add_optimizer(p) : NULL;
}

/* The value that would travel: views are remade where they are read. */
static int base_value(const partition *p, int value) {
  const zb_node *maker;
  while ((maker = zb_maker(&p->graph, value)) && (flags_of(p, maker) & ZB_FLOW_VIEW))
    value = zb_operand(&p->graph, maker, 0);
  return value;
}

/* Bytes that cross a cut after each entry: activations made at or before it and read after it by a forward op. */
static zb_status sum_cut_bytes(partition *p) {
  int *last = ZB_NEW(&p->pass->arena, int, p->graph.value_count);
  ZB_TRY(zb_arena_status(&p->pass->arena));
  for (int v = 0; v < p->graph.value_count; ++v)
    last[v] = -1;
  for (int i = 0; i < p->forward_count; ++i) {
    const zb_node *node = &p->graph.nodes[p->forward[i]];
    if ((flags_of(p, node) & ZB_FLOW_VIEW) || !(flags_of(p, node) & ZB_FLOW_STEP)) continue;
    ZB_FOR_EACH_OPERAND(operand, &p->graph, node)
      last[base_value(p, operand)] = i;
  }
  int64_t alive = 0;
  /* `cut_bytes` first collects what stops being alive at each entry. */
  for (int i = 0; i < p->forward_count; ++i) {
    const zb_node *node = &p->graph.nodes[p->forward[i]];
    ZB_FOR_EACH_RESULT(v, node) {
      if (last[v] <= i || (flags_of(p, node) & ZB_FLOW_VIEW)) continue;
      int64_t bytes = (int64_t)zb_align(zb_type_bytes(mlirValueGetType(p->graph.values[v].value)));
      alive += bytes;
      p->cut_bytes[last[v]] -= bytes;
    }
    alive += p->cut_bytes[i];
    p->cut_bytes[i] = alive;
  }
  return NULL;
}

/* ---- Choosing cuts ---- */

/* What crosses counts both ways, and by the model four times over, because it is also kept on both sides and the
 * model's times are none of this machine. */
static double worth_of_byte(const partition *p) {
  const double crossings = p->costs ? 2.0 : 8.0;
  return crossings * zb_link_costs_of(p->costs).ps_per_byte;
}

/* What the entries up to each place, from the one before it, take together; what crosses a cut there. */
static zb_status sum_places(const partition *p, zb_arena *arena, int64_t **out_cost, int64_t **out_bytes) {
  *out_cost = ZB_NEW(arena, int64_t, p->place_count);
  *out_bytes = ZB_NEW(arena, int64_t, p->place_count);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0, place = 0; i < p->forward_count; ++i) {
    (*out_cost)[place] += p->cost[i];
    (*out_bytes)[place] = p->cut_bytes[i];
    if (p->places[place] == i) ++place;
  }
  return NULL;
}

/* Bytes of an input, if it is of values that layers work on, not of numbers of words; else 0. */
static int64_t given_bytes(const partition *p, int argument) {
  zb_shape shape;
  if (!zb_argument_string(p->graph.function, argument, ZB_ATTR_INPUT)) return 0;
  if (!zb_value_shape(p->graph.values[argument].value, &shape)) return 0;
  const bool counts = shape.dtype == ZB_I64 || shape.dtype == ZB_I32 || shape.dtype == ZB_I1;
  return counts ? 0 : zb_shape_bytes(&shape);
}

/* An input that stages on both sides of a cut read is kept by both, although no message carries it: adds that to the
 * bytes of places. Returns the bytes of the widest such input. */
static int64_t add_given(const partition *p, int64_t *cut_bytes) {
  int64_t widest = 0;
  for (int a = 0; a < p->graph.argument_count; ++a) {
    const int64_t bytes = given_bytes(p, a);
    int first = p->forward_count, last = -1;
    if (bytes > widest) widest = bytes;
    ZB_FOR_EACH_USER(user, &p->graph, &p->graph.values[a]) {
      const int entry = bytes ? p->entry[user] : -1;
      if (entry >= 0 && entry < first) first = entry;
      if (entry > last) last = entry;
    }
    for (int place = 0; place < p->place_count; ++place)
      if (p->places[place] >= first && p->places[place] < last) cut_bytes[place] += bytes;
  }
  return widest;
}

/* What a stage receives, it keeps, whatever is computed again: with recompute=all cuts are no wider, on average, than
 * ends of layers, if that can be; or by the input of the first layer, which a checkpoint keeps too, where an op makes
 * it that runs again here. For auto these cuts are a choice (zb_cut_places.few). after: places. */
static zb_status choose_few(partition *p, const zb_cut_problem *problem, int *after) {
  const char *recompute = zb_pass_option(p->pass, "recompute");
  const bool is_all = strcmp(recompute, "all") == 0;
  const size_t bytes = (size_t)(p->stages - 1) * sizeof *after;
  int64_t kept, *cost, *cut_bytes;
  int layers;
  if (!is_all && strcmp(recompute, "auto") != 0) return NULL;
  int *few = ZB_NEW(&p->pass->arena, int, p->stages - 1);
  ZB_TRY(sum_places(p, &p->pass->arena, &cost, &cut_bytes));
  memcpy(few, after, bytes);
  const int64_t given = add_given(p, cut_bytes);
  ZB_TRY(zb_layers_kept(&p->pass->arena, &p->graph, &p->flow, &kept, &layers));
  const int64_t each = layers > 1 ? kept / (layers - 1) : 0, best = p->stages < layers ? each * (p->stages - 1) : kept;
  zb_cut_problem kept_by_both = *problem;
  kept_by_both.cut_bytes = cut_bytes;
  ZB_TRY(zb_cuts_few(&kept_by_both, &p->pass->arena, best, given < each ? best + each : best, few));
  if (memcmp(after, few, bytes) != 0) p->few = few;
  if (is_all) memcpy(after, few, bytes);
  return NULL;
}

static zb_status choose_cuts(partition *p) {
  int64_t *cost, *bytes;
  ZB_TRY(sum_places(p, &p->pass->arena, &cost, &bytes));
  const zb_cut_problem problem = {.count = p->place_count,
                                  .cost = cost,
                                  .cut_bytes = bytes,
                                  .stages = p->stages,
                                  .ranks = p->ranks,
                                  .stage_rank = p->stage_rank,
                                  .ps_per_byte = worth_of_byte(p)};
  zb_cuts cuts;
  ZB_TRY(zb_cuts_choose(&problem, &p->pass->arena, &cuts));
  ZB_TRY(choose_few(p, &problem, cuts.after));
  for (int s = 0; s + 1 < p->stages; ++s)
    p->cut_after[s] = p->places[cuts.after[s]];
  p->bound_ps = cuts.bound_ps;
  const zb_compile_state *state = p->pass->state;
  if (state && state->summary) state->summary->rank_bound_seconds = 1e-12 * (double)cuts.bound_ps;
  return NULL;
}

/* For those who want to try other cuts. */
static zb_status tell_places(const partition *p) {
  const zb_compile_state *state = p->pass->state;
  zb_cut_places *out = state ? state->places : NULL;
  if (!out) return NULL;
  out->number = ZB_NEW(&out->arena, int, p->place_count);
  out->after = ZB_NEW(&out->arena, int, p->stages);
  ZB_TRY(zb_arena_status(&out->arena));
  ZB_TRY(sum_places(p, &out->arena, &out->cost, &out->cut_bytes));
  out->count = p->place_count;
  out->stages = p->stages;
  out->ps_per_byte = worth_of_byte(p);
  out->bound_ps = p->bound_ps;
  for (int i = 0, s = 0; i < p->place_count; ++i) {
    out->number[i] = p->places[i];
    if (s + 1 < p->stages && p->cut_after[s] == p->places[i]) out->after[s++] = i;
  }
  if (!p->few) return NULL;
  out->few = ZB_NEW(&out->arena, int, p->stages);
  ZB_TRY(zb_arena_status(&out->arena));
  memcpy(out->few, p->few, (size_t)(p->stages - 1) * sizeof *p->few);
  return NULL;
}

/* ---- Cuts named by the user ---- */

/* "module.path (node)", or "(node)": the whole, the path, one that it is below, or the node may be given. */
static bool name_matches(MlirOperation op, const char *word, size_t length) {
  const char *name = zb_location_name(op), *blank = name ? strstr(name, " (") : NULL;
  if (!name) return false;
  const char *node = *name == '(' ? name + 1 : blank ? blank + 2 : NULL;
  if (strncmp(name, word, length) == 0 && (!name[length] || name[length] == '.' || name + length == blank)) return true;
  return node && strcspn(node, ")") == length && strncmp(node, word, length) == 0;
}

/* "#12": the op with that zb.id. */
static bool number_matches(MlirOperation op, const char *word, size_t length) {
  char text[32];
  const int64_t id = zb_get_i64(op, ZB_ATTR_ID, -1);
  return id >= 0 && snprintf(text, sizeof text, "#%lld", (long long)id) == (int)length &&
         strncmp(text, word, length) == 0;
}

/* The last place of that name; -1: none has it. A path also names every op below it. */
static int last_named(const partition *p, const char *word, size_t length) {
  int found = -1;
  for (int i = 0; i < p->forward_count; ++i)
    if (name_matches(p->graph.nodes[p->forward[i]].op, word, length) ||
        number_matches(p->graph.nodes[p->forward[i]].op, word, length))
      found = i;
  return found;
}

/* "a,b": a stage ends after the last op named a, and so on. */
static zb_result user_cuts(partition *p, const char *text) {
  MlirOperation module = mlirModuleGetOperation(p->pass->program->module);
  const char *all = text;
  int cut = 0, previous = -1;
  for (bool more = true; more;) {
    size_t length = strcspn(text, ",");
    if (!length)
      return zb_pass_option_error(p->pass, module, "cuts", "write A,B,...", "a name is missing in '%s'", all);
    const int found = last_named(p, text, length);
    if (found < 0)
      return zb_pass_option_error(p->pass, module, "cuts",
                                  "cuts are node names, module paths, or #ID of an op (zb.id in --dump-ir); the table "
                                  "after a compile shows paths",
                                  "no op is named '%.*s' to cut after", (int)length, text);
    if (found <= previous || found + 1 == p->forward_count || cut == p->stages - 1)
      return zb_pass_option_error(p->pass, module, "cuts", "cuts stand in program order, one less than virtual stages",
                                  "cannot cut after '%.*s': expected %d cuts in program order", (int)length, text,
                                  p->stages - 1);
    if (p->kept_by[found])
      return zb_pass_option_error(p->pass, module, "cuts", "cut before the first op that uses it, or behind the last",
                                  "cannot cut after '%.*s': the buffer '%s' is read or updated on both sides, and one "
                                  "stage has it",
                                  (int)length, text, p->kept_by[found]);
    p->cut_after[cut++] = previous = found;
    more = text[length] == ',';
    text += length + more;
  }
  if (cut != p->stages - 1)
    return zb_pass_option_error(p->pass, module, "cuts",
                                "give one cut less than there are virtual stages (ranks x chunks)",
                                "expected %d cuts, got %d", p->stages - 1, cut);
  return ZB_OK;
}

/* ---- Cuts by the layers of the user ---- */

static zb_result layout_error(partition *p, zb_status status) {
  if (zb_status_code(status) != ZB_USAGE) return zb_pass_fail(p->pass, status);
  const MlirOperation module = mlirModuleGetOperation(p->pass->program->module);
  zb_pass_option_error(p->pass, module, "layout", zb_status_hint_text(status), "%s", zb_status_message(status));
  zb_status_free(status);
  return ZB_FAIL;
}

/* The layers that the layout is of: those that it has, where it says how many. */
static zb_status find_layers(const partition *p, const char *text, zb_named_layers *out) {
  const char **names = ZB_NEW(&p->pass->arena, const char *, p->forward_count);
  zb_layer_layout layout = {0};
  ZB_TRY(zb_arena_status(&p->pass->arena));
  for (int i = 0; i < p->forward_count; ++i)
    names[i] = zb_location_name(p->graph.nodes[p->forward[i]].op);
  if (zb_layers_is_string(text))
    ZB_TRY(zb_layer_layout_init(&layout, &(zb_layer_params){.layout = text, .ranks = p->ranks, .chunks = p->chunks}));
  const int wanted = layout.layers, heads = layout.heads;
  zb_layer_layout_deinit(&layout);
  if (heads)
    return zb_status_hint(
        ZB_ERROR(USAGE, "'%s' has heads m: which ops of a model are heads of further tokens is not known", text),
        "write the layout without m, or --cuts with module paths");
  ZB_TRY(zb_named_layers_find(&p->pass->arena, names, p->forward_count, wanted, out));
  if (out->count) return NULL;
  ZB_TRY(zb_named_layers_find(&p->pass->arena, names, p->forward_count, 0, out));
  if (!out->count)
    return zb_status_hint(ZB_ERROR(USAGE, "the model names no layers: no module path has a number in it"),
                          "say with --cuts after which nodes stages end");
  return zb_status_hint(ZB_ERROR(USAGE, "'%s' has %d layers t, the model has %d: %s .. %s", text, wanted, out->count,
                                 out->path[0], out->path[out->count - 1]),
                        "every layer of the model is one t");
}

static zb_result layout_cuts(partition *p, const char *text) {
  zb_named_layers layers;
  zb_layer_layout layout;
  zb_status status = find_layers(p, text, &layers);
  if (status) return layout_error(p, status);
  const zb_layer_params params = {
      .layout = text,
      .layers = layers.count,
      .ranks = p->ranks,
      .chunks = p->chunks,
      .placement = zb_get_string(mlirModuleGetOperation(p->pass->program->module), ZB_ATTR_PLACEMENT)};
  status = zb_layer_layout_init(&layout, &params);
  if (!status) status = zb_named_layers_cut(&layers, &layout, p->forward_count, p->cut_after);
  zb_layer_layout_deinit(&layout);
  return status ? layout_error(p, status) : ZB_OK;
}

/* ---- Cuts of a choice ---- */

static zb_status obey_cuts(const partition *p, const zb_choice *choice) {
  for (int s = 0; s + 1 < p->stages; ++s) {
    const char *name = choice->after_name[s];
    const int after = choice->after[s] < 0 ? last_named(p, name, strlen(name)) : choice->after[s];
    const int before = s > 0 ? p->cut_after[s - 1] : -1;
    const zb_choice_at at = choice->after_at[s];
    if (after < 0)
      return zb_status_hint(zb_choice_error(choice, at, "no op is named '%s'", name),
                            "names are those of --cuts: nodes and module paths; or give a place by its number");
    if (after <= before)
      return zb_choice_error(choice, at, "stage %d ends at place %d, expected one behind %d, where stage %d ends", s,
                             after, before, s - 1);
    if (after + 1 >= p->forward_count)
      return zb_choice_error(choice, at, "stage %d ends at place %d, expected one before %d, the last of the program",
                             s, after, p->forward_count - 1);
    if (p->kept_by[after])
      return zb_status_hint(zb_choice_error(choice, at,
                                            "stage %d cannot end at place %d: the buffer '%s' is read or "
                                            "updated on both sides, and one stage has it",
                                            s, after, p->kept_by[after]),
                            "end it before the first op that uses the buffer, or behind the last");
    p->cut_after[s] = after;
  }
  return NULL;
}

static zb_status note_cuts(const partition *p) {
  zb_choice *notes = zb_chosen_notes(p->pass);
  if (!notes) return NULL;
  notes->decided |= ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS;
  const MlirOperation module = mlirModuleGetOperation(p->pass->program->module);
  ZB_TRY(zb_choice_init(notes, p->ranks, p->chunks));
  notes->program = zb_program_digest(&p->graph);
  notes->placement = zb_get_string(module, ZB_ATTR_PLACEMENT);
  for (int s = 0; s + 1 < p->stages; ++s) {
    notes->after[s] = p->cut_after[s];
    notes->after_name[s] = zb_location_name(p->graph.nodes[p->forward[p->cut_after[s]]].op);
  }
  return NULL;
}

/* ---- Stages of all ops ---- */

static void stage_forward(partition *p) {
  int s = 0;
  for (int i = 0; i < p->forward_count; ++i) {
    p->stage[p->forward[i]] = s;
    if (s < p->stages - 1 && p->cut_after[s] == i) ++s;
  }
  /* A chain follows its reader. */
  ZB_FOR_EACH_NODE_BACKWARD(node, &p->graph) {
    if (!(flags_of(p, node) & ZB_FLOW_CHAIN) || (flags_of(p, node) & ZB_FLOW_LOAD)) continue;
    int first = INT_MAX;
    ZB_FOR_EACH_USER(user, &p->graph, node)
      if ((p->flow.nodes[user] & ZB_FLOW_FORWARD) && p->stage[user] >= 0 && p->stage[user] < first)
        first = p->stage[user];
    p->stage[node->number] = first == INT_MAX ? 0 : first;
  }
}

/* The trained parameter of an accumulate without a name: the one that its optimizer updates with it. -1: none. */
static int updated_parameter(const partition *p, const zb_node *accumulate) {
  ZB_FOR_EACH_USER(user, &p->graph, accumulate)
    ZB_FOR_EACH_OPERAND(operand, &p->graph, &p->graph.nodes[user])
      if (operand < p->graph.argument_count && (p->flow.arguments[operand] & ZB_FLOW_TRAINED)) return operand;
  return -1;
}

/* The stage of an accumulate is that of its parameter. */
static zb_status stage_accumulates(const partition *p, const int *parameter, int *known) {
  zb_map *names = zb_arena_map(&p->pass->arena);
  for (int a = 0; a < p->graph.argument_count; ++a) {
    const char *name = zb_argument_string(p->graph.function, a, ZB_ATTR_PARAM);
    if (name) zb_arena_map_set(&p->pass->arena, names, name, a);
  }
  ZB_TRY(zb_arena_status(&p->pass->arena));
  ZB_FOR_EACH_NODE(node, &p->graph) {
    if (!(flags_of(p, node) & ZB_FLOW_ACCUMULATE)) continue;
    const char *name = zb_get_string(node->op, "parameter");
    int64_t argument = name ? zb_map_get_or(names, name, -1) : -1;
    if (argument < 0) argument = updated_parameter(p, node);
    if (argument >= 0 && parameter[argument] > known[node->number]) known[node->number] = parameter[argument];
  }
  return NULL;
}

/* Latest stage among the parameters that a backward op reads (their first forward reader) and the accumulates it leads
 * to. */
static zb_status stage_unmarked(partition *p) {
  zb_arena *arena = &p->pass->arena;
  int *parameter = ZB_NEW(arena, int, p->graph.argument_count), *known = ZB_NEW(arena, int, p->graph.node_count);
  ZB_TRY(zb_arena_status(arena));
  for (int a = 0; a < p->graph.argument_count; ++a) {
    parameter[a] = -1;
    if (!(p->flow.arguments[a] & ZB_FLOW_PARAMETER)) continue;
    ZB_FOR_EACH_USER(user, &p->graph, &p->graph.values[a])
      if (parameter[a] < 0 && (p->flow.nodes[user] & ZB_FLOW_FORWARD)) parameter[a] = p->stage[user];
  }
  ZB_FOR_EACH_NODE(node, &p->graph) { /* what it reads */
    known[node->number] = -1;
    ZB_FOR_EACH_OPERAND(operand, &p->graph, node) {
      const zb_node *maker = zb_maker(&p->graph, operand);
      int from = maker ? -1 : parameter[operand];
      /* An activation was made in its stage: its gradient op cannot come before it. */
      if (maker && (flags_of(p, maker) & ZB_FLOW_FORWARD)) from = p->stage[maker->number];
      if (from > known[node->number]) known[node->number] = from;
    }
  }
  ZB_TRY(stage_accumulates(p, parameter, known));
  ZB_FOR_EACH_NODE_BACKWARD(node, &p->graph) { /* what it leads to */
    int n = node->number;
    if (!(p->flow.nodes[n] & ZB_FLOW_BACKWARD)) continue;
    ZB_FOR_EACH_USER(user, &p->graph, node)
      if (!(p->flow.nodes[user] & ZB_FLOW_OPTIMIZE) && known[user] > known[n]) known[n] = known[user];
    if (p->stage[n] == NO_STAGE) p->stage[n] = known[n] < 0 ? 0 : known[n];
  }
  return NULL;
}

static zb_status stage_backward(partition *p) {
  bool unmarked = false;
  ZB_FOR_EACH_NODE(node, &p->graph) {
    if (!(flags_of(p, node) & ZB_FLOW_BACKWARD) || (flags_of(p, node) & ZB_FLOW_LOAD)) continue;
    int of = differentiated(p, node);
    if (of >= 0) p->stage[node->number] = p->stage[of];
    unmarked |= p->stage[node->number] == NO_STAGE;
  }
  return unmarked ? stage_unmarked(p) : NULL;
}

/* The optimizer of a parameter has the stage of its accumulates; it is shared where they are in several stages. Two
 * sweeps join what belongs together: down from the accumulates, then up, so that a chain that meets a shared one is
 * shared as a whole. What is made of all parameters together is shared, and joins nothing. */
static void stage_optimizer(partition *p) {
  ZB_FOR_EACH_NODE(node, &p->graph) {
    if (!(flags_of(p, node) & ZB_FLOW_OPTIMIZE)) continue;
    int stage = NO_STAGE;
    ZB_FOR_EACH_OPERAND(operand, &p->graph, node) {
      const zb_node *maker = zb_maker(&p->graph, operand);
      if (!maker || !(flags_of(p, maker) & (ZB_FLOW_OPTIMIZE | ZB_FLOW_ACCUMULATE))) continue;
      if (flags_of(p, maker) & ZB_FLOW_COMMON) continue;
      int from = p->stage[maker->number];
      stage = stage == NO_STAGE || stage == from ? from : SHARED_STAGE;
    }
    if (flags_of(p, node) & ZB_FLOW_COMMON) stage = SHARED_STAGE;
    p->stage[node->number] = stage == NO_STAGE ? 0 : stage;
  }
  ZB_FOR_EACH_NODE_BACKWARD(node, &p->graph)
    ZB_FOR_EACH_USER(user, &p->graph, node)
      if ((flags_of(p, node) & ZB_FLOW_OPTIMIZE) && p->stage[user] == SHARED_STAGE &&
          !(p->flow.nodes[user] & ZB_FLOW_COMMON))
        p->stage[node->number] = SHARED_STAGE;
}

static void write_stages(partition *p) {
  ZB_FOR_EACH_NODE(node, &p->graph) {
    if ((flags_of(p, node) & ZB_FLOW_LOAD) || p->stage[node->number] == NO_STAGE) continue;
    zb_set_i64(node->op, ZB_ATTR_STAGE, p->stage[node->number]);
    ++p->pass->changes;
  }
}

/* ---- Values that a gradient takes to another stage ---- */

/* The stage that has what a gradient op of the stage `reader` reads, where that must travel back to it: it updates what
 * a value is computed of (trained parameters and views alone), or it is a later stage, whose forward pass makes the
 * value or has the buffer. -1: none. Of a parameter that is used in `reader` itself, that one. */
static int stage_to_read_from(const partition *p, int value, int reader) {
  const zb_node *maker = zb_maker(&p->graph, value);
  for (; maker && (flags_of(p, maker) & (ZB_FLOW_VIEW | ZB_FLOW_CHAIN)) == ZB_FLOW_VIEW;
       maker = zb_maker(&p->graph, value))
    value = zb_operand(&p->graph, maker, 0);
  if (maker) {
    unsigned flags = flags_of(p, maker) & (ZB_FLOW_CHAIN | ZB_FLOW_TRAINED | ZB_FLOW_LOAD);
    const bool comes_back = zb_flow_is_activation(&p->graph, &p->flow, value) && p->stage[maker->number] > reader;
    return flags == (ZB_FLOW_CHAIN | ZB_FLOW_TRAINED) || comes_back ? p->stage[maker->number] : -1;
  }
  int found = -1;
  if (!(p->flow.arguments[value] & ZB_FLOW_TRAINED) && !zb_argument_has(p->graph.function, value, ZB_ATTR_BUFFER))
    return -1;
  ZB_FOR_EACH_USER(user, &p->graph, &p->graph.values[value]) {
    if (!(p->flow.nodes[user] & ZB_FLOW_FORWARD)) continue;
    if (p->stage[user] == reader) return reader;
    if (p->stage[user] > found) found = p->stage[user];
  }
  return found;
}

/* A loss times a weight has that weight as its gradient. A gradient op of an earlier stage that reads it must not take
 * a parameter itself, as other readers do: its rank does not update it; and what a later stage's forward pass makes
 * does not come to it. A copy is made where the weight is, and travels back. */
static zb_result send_weights(partition *p) {
  ZB_FOR_EACH_NODE(node, &p->graph) {
    int stage = p->stage[node->number];
    if ((flags_of(p, node) & (ZB_FLOW_BACKWARD | ZB_FLOW_VIEW | ZB_FLOW_LOAD)) != ZB_FLOW_BACKWARD || stage < 0)
      continue;
    for (int i = 0; i < node->operand_count; ++i) {
      int value = zb_operand(&p->graph, node, i), from = stage_to_read_from(p, value, stage);
      if (from < 0 || from == stage) continue;
      zb_builder builder = zb_builder_before(node->op);
      MlirValue copy = zb_build1(&builder, "contiguous", p->graph.values[value].value);
      if (builder.failed) return ZB_FAIL;
      zb_set_i64(mlirOpResultGetOwner(copy), ZB_ATTR_STAGE, from);
      zb_graph_set_operand(&p->graph, node->op, i, value, copy);
      p->pass->kept->is_old = true;
      ++p->pass->changes;
    }
  }
  return ZB_OK;
}

/* ---- The pass ---- */

static zb_result read_options(partition *p, int *stage_rank) {
  MlirOperation module = mlirModuleGetOperation(p->pass->program->module);
  const zb_choice *choice;
  if (!zb_chosen(p->pass, ZB_CHOICE_PLACEMENT, &choice)) return ZB_FAIL;
  const char *placement = choice ? choice->placement : zb_pass_option(p->pass, "placement");
  if (!*placement) placement = p->chunks == 1 ? "plain" : "looped";
  ZB_PASS_TRY(p->pass, zb_placement(placement, p->ranks, p->chunks, stage_rank));
  zb_stage_rank_row *ranks = ZB_NEW(&p->pass->arena, zb_stage_rank_row, p->stages);
  ZB_PASS_TRY(p->pass, zb_arena_status(&p->pass->arena));
  for (int s = 0; s < p->stages; ++s)
    ranks[s].rank = stage_rank[s];
  zb_set_i64(module, ZB_ATTR_RANKS, p->ranks);
  zb_set_i64(module, ZB_ATTR_CHUNKS, p->chunks);
  zb_set_string(module, ZB_ATTR_PLACEMENT, placement);
  zb_stage_rank_set(module, ranks, p->stages);
  return ZB_OK;
}

/* By a choice, by what the user names, or by cost. */
static zb_result find_cuts(partition *p, const zb_choice *choice) {
  const char *cuts = zb_pass_option(p->pass, "cuts"), *layout = zb_pass_option(p->pass, "layout");
  if (*cuts && *layout)
    return zb_pass_option_error(p->pass, p->graph.function, "layout", "leave one of them out",
                                "cuts say where stages end, too");
  if (choice)
    ZB_PASS_TRY(p->pass, obey_cuts(p, choice));
  else if (*cuts)
    return user_cuts(p, cuts);
  else if (*layout)
    return layout_cuts(p, layout);
  else if (p->stages > 1)
    ZB_PASS_TRY(p->pass, choose_cuts(p));
  return ZB_OK;
}

static zb_result partition_graph(partition *p) {
  zb_pass *pass = p->pass;
  const zb_choice *choice;
  if (!zb_chosen(pass, ZB_CHOICE_CUTS, &choice)) return ZB_FAIL;
  if (choice) ZB_PASS_TRY(pass, zb_chosen_check(choice, zb_program_digest(&p->graph)));
  ZB_PASS_TRY(pass, zb_flow_build(&pass->arena, &p->graph, &p->flow));
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &p->costs));
  if (p->costs && p->costs->program.ranks &&
      !p->costs->op_count) { /* whole subprograms only (sim): good for the cuts that they have */
    zb_costs_destroy(p->costs);
    p->costs = NULL;
  }
  ZB_PASS_TRY(pass, check_costs(p));
  ZB_PASS_TRY(pass, collect_forward(p));
  ZB_PASS_TRY(pass, find_places(p));
  if (p->forward_count == 0)
    return zb_op_error_at(p->graph.function, "make the data of a batch an argument of the function whose loss it is",
                          "the loss reads no input: a micro-batch has nothing to compute");
  if (p->place_count < p->stages)
    return zb_pass_option_error(
        pass, p->graph.function, "ranks", "use fewer ranks or chunks: each virtual stage needs at least one forward op",
        "cannot cut %d forward ops into %d virtual stages (%d ranks x %d chunks)%s", p->place_count, p->stages,
        p->ranks, p->chunks, p->place_count < p->forward_count ? ", where ops that share a buffer count as one" : "");
  ZB_PASS_TRY(pass, sum_costs(p));
  ZB_PASS_TRY(pass, sum_cut_bytes(p));
  if (!find_cuts(p, choice)) return ZB_FAIL;
  ZB_PASS_TRY(pass, note_cuts(p));
  ZB_PASS_TRY(pass, tell_places(p));
  stage_forward(p);
  ZB_PASS_TRY(pass, stage_backward(p));
  stage_optimizer(p);
  write_stages(p);
  return send_weights(p);
}

static zb_result run(zb_pass *pass, MlirModule module) {
  partition p = {.pass = pass,
                 .ranks = (int)zb_pass_option_int(pass, "ranks", 0),
                 .chunks = (int)zb_pass_option_int(pass, "chunks", 0)};
  p.micro_batches = zb_pass_option_int(pass, "micro-batches", 0);
  MlirOperation function;
  MlirBlock block;
  if (p.ranks < 1 || p.chunks < 1 || p.ranks > ZB_RANKS_MAX || p.chunks > ZB_CHUNKS_MAX)
    return zb_pass_option_error(pass, mlirModuleGetOperation(module), "ranks", "for example ranks=4 chunks=1",
                                "expected ranks of 1 to %d and chunks of 1 to %d, got '%s' and '%s'", ZB_RANKS_MAX,
                                ZB_CHUNKS_MAX, zb_pass_option(pass, "ranks"), zb_pass_option(pass, "chunks"));
  if (p.micro_batches < 1)
    return zb_pass_option_error(pass, mlirModuleGetOperation(module), "micro-batches", "for example 8",
                                "expected 1 or more micro-batches, got '%s'", zb_pass_option(pass, "micro-batches"));
  const zb_choice *choice;
  if (!zb_chosen(pass, ZB_CHOICE_PLACEMENT, &choice)) return ZB_FAIL;
  if (choice) {
    p.ranks = choice->ranks;
    p.chunks = choice->chunks;
  }
  p.stages = p.ranks * p.chunks;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  int *stage_rank = ZB_NEW(&pass->arena, int, p.stages);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  if (!read_options(&p, stage_rank)) return ZB_FAIL;
  p.stage_rank = stage_rank;
  ZB_PASS_TRY(pass, zb_pass_graph(pass, function, &p.graph));
  zb_result result = partition_graph(&p);
  zb_costs_destroy(p.costs);
  return result;
}

static const zb_option_def options[] = {
    {"chunks", "1", "virtual stages a rank"},
    {0},
};

const zb_pass_def zb_pass_partition = {
    .name = "zb-partition",
    .summary = "Give every op a virtual stage, by cost and by the bytes that cross a cut.",
    .options = options,
    .requires_level = "split",
    .ensures_level = "staged",
    .keeps_graph = true,
    .run = run,
};
