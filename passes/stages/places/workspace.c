/* Homes of the values of a function and packing of its workspace: see passes/stages/places/workspace.h.
 *
 * A value that is put into a frame lives there from the start; a value that is a result of its own lives where the
 * caller says; an accumulator, an optimizer update and a view live where their operand does. All others share the
 * workspace: first fit over the live intervals in program order, and an elementwise op takes over the buffer of an
 * operand that dies with it.
 *
 * Tests: test/passes/memory.mlir, test/passes/allocate.mlir. */

#include "passes/stages/places/workspace.h"

#include "passes/function.h"
#include "passes/rewrite.h"
#include "passes/tables.h"

#include <string.h>

typedef struct live_block {
  uint64_t offset, bytes;
  int last; /* node after which it is free */
} live_block;

typedef struct packer {
  zb_workspace *w;
  int *frame_base;          /* per value */
  int *root;                /* per value: the value whose buffer it shares (views) */
  int *last_use;            /* per root value */
  ZB_LIST(live_block) live; /* by offset */
  zb_arena *arena;
} packer;

static bool value_shape(const zb_graph *g, int value, zb_shape *out) {
  return zb_value_shape(g->values[value].value, out);
}

static uint64_t value_bytes(const zb_graph *g, int value) {
  return zb_align(zb_type_bytes(mlirValueGetType(g->values[value].value)));
}

/* ---- Frames ---- */

static bool is_frame(const zb_graph *g, int value) { return !value_shape(g, value, &(zb_shape){0}); }

/* The frame that puts began with: an argument, or of zb.empty_frame. */
static int under_puts(const zb_graph *g, int value) {
  for (const zb_node *maker; (maker = zb_maker(g, value)) && zb_node_is(maker, "zb.put");)
    value = zb_operand(g, maker, 0);
  return value;
}

/* Frame values: arguments are their own base, a frame made here has that of the result it ends as. */
static void find_frame_bases(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int v = 0; v < g->value_count; ++v)
    p->frame_base[v] = v < g->argument_count && is_frame(g, v) ? v : -1;
  for (int i = 0; i < g->returned_count; ++i) {
    int v = under_puts(g, g->returned[i]);
    if (is_frame(g, v) && v >= g->argument_count) p->frame_base[v] = g->argument_count + i; /* zb.empty_frame */
  }
  ZB_FOR_EACH_NODE(node, g)
    if (zb_node_is(node, "zb.put")) p->frame_base[node->result_begin] = p->frame_base[zb_operand(g, node, 0)];
}

static void fix(packer *p, int value, int base, uint64_t offset) {
  zb_home *home = &p->w->homes[value];
  zb_shape shape;
  if (home->fixed || !value_shape(&p->w->graph, value, &shape)) return;
  *home = (zb_home){.base = base, .offset = offset, .constant = -1, .fixed = true};
  zb_contiguous(&shape, &home->strided);
}

/* The value under contiguous views (reshapes): what a producer that adds, or an accumulate, really writes. */
static int under_views(const zb_graph *g, int value) {
  for (const zb_node *maker; (maker = zb_maker(g, value)) && maker->def && maker->def->op_class == ZB_CLASS_VIEW;)
    value = zb_operand(g, maker, 0);
  return value;
}

/* Homes that are given: gets, puts, results that are no part of a frame, accumulators. */
static void fix_homes(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int a = 0; a < g->argument_count; ++a) {
    bool copied = false, put = false;
    ZB_FOR_EACH_USER(user, g, &g->values[a]) {
      const zb_node *node = &g->nodes[user];
      if (!zb_node_is(node, "zb.put") || zb_operand(g, node, 1) != a) continue;
      put = true;
      copied |= zb_has_attribute(node->op, ZB_ATTR_COPY);
    }
    if (!put || copied) fix(p, a, a, 0);
  }
  ZB_FOR_EACH_NODE(node, g) {
    const bool is_get = zb_node_is(node, "zb.get"), is_put = zb_node_is(node, "zb.put");
    const uint64_t offset = is_get || is_put ? (uint64_t)zb_get_i64(node->op, "offset", 0) : 0;
    if (is_get) fix(p, node->result_begin, p->frame_base[zb_operand(g, node, 0)], offset);
    if (is_put) fix(p, zb_operand(g, node, 1), p->frame_base[node->result_begin], offset);
    if (zb_node_is(node, "zb.constant")) {
      fix(p, node->result_begin, ZB_BASE_CONSTANT, 0);
      p->w->homes[node->result_begin].constant = node->number;
    }
  }
  for (int i = 0; i < g->returned_count; ++i)
    fix(p, g->returned[i], g->argument_count + i, 0);
}

/* Accumulates: the sum stays where it is, and a producer that can adds there itself. */
static void fix_accumulates(packer *p) {
  const zb_graph *g = &p->w->graph;
  ZB_FOR_EACH_NODE(node, g) {
    if (!zb_node_is(node, "zb.accumulate") || node->operand_count != 2) continue;
    const zb_home *sum = &p->w->homes[zb_operand(g, node, 0)];
    int value = under_views(g, zb_operand(g, node, 1));
    const zb_node *maker = zb_maker(g, value);
    p->w->accumulates[node->number] = true;
    /* A product of another job cannot add here: the accumulate does. */
    if (!zb_has_attribute(node->op, ZB_ATTR_IN_PRODUCT) || !maker || !zb_has_trait(maker->def, ZB_TRAIT_ACCUMULATES))
      continue;
    p->w->homes[value].fixed = false;
    fix(p, value, sum->base, sum->offset);
    p->w->accumulates[maker->number] = true;
    p->w->skipped[node->number] = true;
  }
}

/* The result lies where the operand does. */
static void share(packer *p, int result, int operand) {
  p->w->homes[result] = p->w->homes[operand];
  p->root[result] = p->root[operand];
}

/* ---- Views and aliases ---- */

static zb_status view_home(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  int operand = zb_operand(g, node, 0);
  if (!node->def->view || !zb_op_view_get(node->op, &view, &storage))
    return ZB_ERROR(INVALID, "view '%s' has no rule", node->def->name);
  for (int r = 0; r < node->result_count; ++r) {
    int value = node->result_begin + r;
    zb_shape shape;
    zb_strided strided;
    if (!value_shape(g, value, &shape) || !node->def->view(&view, &p->w->homes[operand].strided, r, &shape, &strided)) {
      zb_op_error_at(node->op, "run zb-layout before zb-memory: it copies where strides do not reach",
                     "zb.%s cannot be a view of its operand", node->def->name);
      return ZB_ERROR(INVALID, "a view cannot be a stride");
    }
    share(p, value, operand);
    p->w->homes[value].strided = strided;
  }
  return NULL;
}

/* Results that lie where an operand does: optimizer updates. True if all results were placed. */
static bool alias_home(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  if (zb_node_is(node, "zb.accumulate") && node->operand_count == 2) {
    share(p, node->result_begin, zb_operand(g, node, 0));
    return true;
  }
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  if (!node->def || !node->def->alias || !zb_op_view_get(node->op, &view, &storage)) return false;
  bool all = true;
  for (int r = 0; r < node->result_count; ++r) {
    int operand = node->def->alias(&view, r);
    bool shares = operand >= 0 && operand < node->operand_count;
    if (shares) share(p, node->result_begin + r, zb_operand(g, node, operand));
    all &= shares;
  }
  return all;
}

/* Whether a value of the shape of the result lies in the accumulators of this rank and is read here only. */
static bool owned_accumulator(packer *p, int value, const zb_shape *result) {
  const zb_graph *g = &p->w->graph;
  const zb_home *home = &p->w->homes[value];
  zb_shape shape;
  if (home->base < 0 || home->base >= g->argument_count || g->values[value].use_count != 1) return false;
  const char *kind = zb_argument_port(g->function, home->base).frame;
  return kind && strcmp(kind, "gradients") == 0 && value_shape(g, value, &shape) && zb_shape_equal(&shape, result);
}

/* The sum of the uses of a parameter goes into the accumulator of the last use that this rank owns; that of shards into
 * the accumulator of the use. So the gradient lies where the plan says, whoever asks for its norm. */
static bool in_gradient(packer *p, const zb_node *node) {
  zb_shape result;
  if (!zb_node_is(node, "zb.add") && !zb_node_is(node, "zb.all_reduce")) return false;
  if (!value_shape(&p->w->graph, node->result_begin, &result)) return false;
  ZB_FOR_EACH_OPERAND(operand, &p->w->graph, node) {
    if (!owned_accumulator(p, operand, &result)) continue;
    share(p, node->result_begin, operand);
    return true;
  }
  return false;
}

/* ---- Workspace ---- */

static void free_dead(packer *p, int node) {
  size_t kept = 0;
  for (size_t i = 0; i < p->live.count; ++i)
    if (p->live.items[i].last >= node) p->live.items[kept++] = p->live.items[i];
  p->live.count = kept;
}

/* Lowest gap that fits; the list stays sorted by offset. */
static uint64_t place(packer *p, uint64_t bytes, int last) {
  uint64_t offset = 0;
  size_t at = 0;
  for (; at < p->live.count && p->live.items[at].offset < offset + bytes; ++at)
    offset = p->live.items[at].offset + p->live.items[at].bytes;
  if (!ZB_PUSH(p->arena, &p->live, (live_block){0})) return 0;
  memmove(&p->live.items[at + 1], &p->live.items[at], (p->live.count - 1 - at) * sizeof *p->live.items);
  p->live.items[at] = (live_block){.offset = offset, .bytes = bytes, .last = last};
  if (offset + bytes > p->w->bytes) p->w->bytes = offset + bytes;
  return offset;
}

/* Whether another operand looks at the same buffer through other strides: then it would be overwritten while it is
 * read. */
static bool seen_otherwise(const packer *p, const zb_node *node, int root, const zb_strided *dense) {
  ZB_FOR_EACH_OPERAND(operand, &p->w->graph, node)
    if (p->root[operand] == root && memcmp(&p->w->homes[operand].strided, dense, sizeof *dense) != 0) return true;
  return false;
}

/* An elementwise op may write over an operand of the same shape that dies here. */
static bool take_over(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  zb_shape result, operand_shape;
  if (!zb_has_trait(node->def, ZB_TRAIT_ELEMENTWISE) || !value_shape(g, node->result_begin, &result)) return false;
  zb_strided dense;
  zb_contiguous(&result, &dense);
  ZB_FOR_EACH_OPERAND(operand, g, node) {
    int root = p->root[operand];
    const zb_home *home = &p->w->homes[operand];
    if (home->base != ZB_BASE_WORKSPACE || p->last_use[root] != node->number || home->strided.offset != 0) continue;
    if (!value_shape(g, operand, &operand_shape) || !zb_shape_equal(&operand_shape, &result)) continue;
    if (value_bytes(g, root) != value_bytes(g, operand) || seen_otherwise(p, node, root, &dense)) continue;
    if (value_bytes(g, operand) == 0) continue; /* another block may begin where it is */
    p->w->homes[node->result_begin] = *home;
    for (size_t b = 0; b < p->live.count; ++b)
      if (p->live.items[b].offset == home->offset) p->live.items[b].last = p->last_use[node->result_begin];
    return true;
  }
  return false;
}

static bool is_view(const zb_node *node) { return node->def && node->def->op_class == ZB_CLASS_VIEW; }

static zb_status place_results(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  const int n = node->number;
  const bool moves_nothing = zb_node_is(node, "zb.put") || zb_node_is(node, "zb.empty_frame") ||
                             zb_node_is(node, "zb.get") || zb_node_is(node, "zb.constant");
  p->w->skipped[n] |= moves_nothing || is_view(node);
  if (is_view(node)) return view_home(p, node);
  if (moves_nothing || alias_home(p, node)) return NULL;
  if (node->result_count == 1 && !p->w->homes[node->result_begin].fixed && (in_gradient(p, node) || take_over(p, node)))
    return NULL;
  ZB_FOR_EACH_RESULT(value, node) {
    zb_home *home = &p->w->homes[value];
    zb_shape shape;
    if (home->fixed || home->base != ZB_BASE_NONE || !value_shape(g, value, &shape)) continue;
    *home = (zb_home){.base = ZB_BASE_WORKSPACE, .constant = -1};
    zb_contiguous(&shape, &home->strided);
    home->offset = place(p, value_bytes(g, value), p->last_use[value] > n ? p->last_use[value] : n);
  }
  return NULL;
}

uint64_t zb_scratch_bytes(const zb_graph *graph, const zb_node *node) {
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape results[8];
  if (!node->def || !node->def->scratch_bytes || node->result_count > 8 || !zb_op_view_get(node->op, &view, &storage))
    return 0;
  for (int r = 0; r < node->result_count; ++r)
    if (!value_shape(graph, node->result_begin + r, &results[r])) return 0;
  return zb_align(node->def->scratch_bytes(&view, results));
}

static void place_scratch(packer *p, const zb_node *node) {
  const uint64_t bytes = zb_scratch_bytes(&p->w->graph, node);
  p->w->scratch_bytes[node->number] = bytes;
  if (bytes) p->w->scratch_offset[node->number] = place(p, bytes, node->number);
}

/* Last node that reads the buffer of each root. Views share the buffer of what they look at. */
static void find_last_uses(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int v = 0; v < g->value_count; ++v)
    p->root[v] = v, p->last_use[v] = -1;
  ZB_FOR_EACH_NODE(node, g)
    ZB_FOR_EACH_OPERAND(operand, g, node) {
      p->last_use[p->root[operand]] = node->number;
      for (int r = 0; is_view(node) && r < node->result_count; ++r)
        p->root[node->result_begin + r] = p->root[operand];
    }
}

static zb_status pack(packer *p) {
  const zb_graph *g = &p->w->graph;
  find_frame_bases(p);
  for (int v = 0; v < g->value_count; ++v)
    p->w->homes[v] = (zb_home){.base = ZB_BASE_NONE, .constant = -1};
  fix_homes(p);
  fix_accumulates(p);
  find_last_uses(p);
  ZB_FOR_EACH_NODE(node, g) {
    free_dead(p, node->number);
    ZB_TRY(place_results(p, node));
    place_scratch(p, node);
  }
  return zb_arena_status(p->arena);
}

zb_status zb_workspace_build(zb_arena *arena, MlirOperation function, zb_workspace *out) {
  *out = (zb_workspace){0};
  packer p = {.w = out, .arena = arena};
  ZB_TRY(zb_graph_build(arena, function, &out->graph));
  const int values = out->graph.value_count, nodes = out->graph.node_count;
  out->homes = ZB_NEW(arena, zb_home, values);
  out->scratch_offset = ZB_NEW(arena, uint64_t, nodes);
  out->scratch_bytes = ZB_NEW(arena, uint64_t, nodes);
  out->accumulates = ZB_NEW(arena, bool, nodes);
  out->skipped = ZB_NEW(arena, bool, nodes);
  p.frame_base = ZB_NEW(arena, int, values);
  p.root = ZB_NEW(arena, int, values);
  p.last_use = ZB_NEW(arena, int, values);
  ZB_TRY(zb_arena_status(arena));
  return pack(&p);
}

int zb_workspace_frame_base(const zb_workspace *workspace, int value) {
  const zb_graph *g = &workspace->graph;
  if (!is_frame(g, value)) return -1;
  value = under_puts(g, value);
  if (value < g->argument_count) return value;
  for (int i = 0; i < g->returned_count; ++i)
    if (under_puts(g, g->returned[i]) == value) return g->argument_count + i;
  return -1;
}
