/* Homes of the values of a function and packing of its workspace: see passes/stages/workspace.h.
 *
 * A value that is put into a frame lives there from the start; a value that stands alone as a result lives where the
 * caller says; an accumulator, an optimizer update and a view live where their operand does. All others share the
 * workspace: first fit over the live intervals in program order, and an elementwise op takes over the buffer of an
 * operand that dies with it.
 *
 * Tests: test/passes/memory.mlir, test/passes/allocate.mlir. */

#include "passes/stages/workspace.h"

#include "passes/function.h"
#include "passes/rewrite.h"
#include "passes/tables.h"
#include "runtime/base/memory.h"

#include <string.h>

typedef struct live_block {
  uint64_t offset, bytes;
  int last; /* node after which it is free */
} live_block;

typedef struct packer {
  zb_workspace *w;
  int *frame_base;  /* per value */
  int *root;        /* per value: the value whose buffer it shares (views) */
  int *last_use;    /* per root value */
  live_block *live; /* by offset */
  size_t live_count, live_capacity;
  zb_arena *arena;
} packer;

static void contiguous(const zb_shape *shape, zb_layout *out) {
  *out = (zb_layout){0};
  int64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; --d) {
    out->strides[d] = stride;
    stride *= shape->dims[d];
  }
}

static bool value_shape(const zb_graph *g, int value, zb_shape *out) {
  return zb_type_shape(mlirValueGetType(g->values[value].value), out);
}

static uint64_t value_bytes(const zb_graph *g, int value) {
  return zb_align(zb_type_bytes(mlirValueGetType(g->values[value].value)));
}

static bool node_is(const zb_node *node, const char *name) { return zb_op_is(node->op, name); }

/* ---- Frames ---- */

/* Frame values: arguments are their own base, a frame made here has that of the result it ends as. */
static void find_frame_bases(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int v = 0; v < g->value_count; ++v)
    p->frame_base[v] = -1;
  for (int a = 0; a < g->argument_count; ++a)
    if (!value_shape(g, a, &(zb_shape){0})) p->frame_base[a] = a;
  /* From the returned values back through the puts. */
  for (int i = 0; i < g->returned_count; ++i) {
    int v = g->returned[i];
    if (value_shape(g, v, &(zb_shape){0})) continue;
    while (g->values[v].producer >= 0 && node_is(&g->nodes[g->values[v].producer], "zb.put"))
      v = g->operands[g->nodes[g->values[v].producer].operand_begin];
    if (g->values[v].producer >= 0) p->frame_base[v] = g->argument_count + i; /* zb.empty_frame */
  }
  for (int n = 0; n < g->node_count; ++n)
    if (node_is(&g->nodes[n], "zb.put"))
      p->frame_base[g->nodes[n].result_begin] = p->frame_base[g->operands[g->nodes[n].operand_begin]];
}

static void fix(packer *p, int value, int base, uint64_t offset) {
  zb_home *home = &p->w->homes[value];
  zb_shape shape;
  if (home->fixed || !value_shape(&p->w->graph, value, &shape)) return;
  *home = (zb_home){.base = base, .offset = offset, .constant = -1, .fixed = true};
  contiguous(&shape, &home->layout);
}

/* The value under contiguous views (reshapes): what a fold or an accumulate really writes. */
static int under_views(const zb_graph *g, int value) {
  while (g->values[value].producer >= 0) {
    const zb_node *node = &g->nodes[g->values[value].producer];
    if (!node->def || node->def->op_class != ZB_CLASS_VIEW) break;
    value = g->operands[node->operand_begin];
  }
  return value;
}

/* Homes that are given: gets, puts, results that stand alone, accumulators. */
static void fix_homes(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int a = 0; a < g->argument_count; ++a) {
    bool copied = false, put = false;
    for (int u = 0; u < g->values[a].use_count; ++u) {
      const zb_node *user = &g->nodes[g->uses[g->values[a].use_begin + u]];
      if (!node_is(user, "zb.put") || g->operands[user->operand_begin + 1] != a) continue;
      put = true;
      copied |= zb_has_attribute(user->op, ZB_ATTR_COPY);
    }
    if (!put || copied) fix(p, a, a, 0);
  }
  for (int n = 0; n < g->node_count; ++n) {
    const zb_node *node = &g->nodes[n];
    uint64_t offset = (uint64_t)zb_get_i64(node->op, "offset", 0);
    if (node_is(node, "zb.get")) fix(p, node->result_begin, p->frame_base[g->operands[node->operand_begin]], offset);
    if (node_is(node, "zb.put"))
      fix(p, g->operands[node->operand_begin + 1], p->frame_base[node->result_begin], offset);
    if (node_is(node, "zb.constant")) {
      fix(p, node->result_begin, ZB_BASE_CONSTANT, 0);
      p->w->homes[node->result_begin].constant = n;
    }
  }
  for (int i = 0; i < g->returned_count; ++i)
    fix(p, g->returned[i], g->argument_count + i, 0);
}

/* Accumulates: the sum stays where it is, and a folded producer adds there itself. */
static void fix_accumulates(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int n = 0; n < g->node_count; ++n) {
    const zb_node *node = &g->nodes[n];
    if (!node_is(node, "zb.accumulate") || node->operand_count != 2) continue;
    const zb_home *sum = &p->w->homes[g->operands[node->operand_begin]];
    bool fold = zb_has_attribute(node->op, ZB_ATTR_FOLD);
    int value = under_views(g, g->operands[node->operand_begin + 1]);
    p->w->accumulates[n] = true;
    int producer = g->values[value].producer;
    bool made_here = producer >= 0 && zb_has_trait(g->nodes[producer].def, ZB_TRAIT_ACCUMULATES);
    if (!fold || !made_here) continue; /* a product of another job cannot add here: the accumulate does */
    p->w->homes[value].fixed = false;
    fix(p, value, sum->base, sum->offset);
    p->w->accumulates[producer] = true;
    p->w->skipped[n] = true;
  }
}

/* ---- Views and aliases ---- */

static zb_status view_home(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  int operand = g->operands[node->operand_begin];
  if (!node->def->view || !zb_op_view_get(node->op, &view, &storage))
    return ZB_ERROR(INVALID, "view '%s' has no rule", node->def->name);
  for (int r = 0; r < node->result_count; ++r) {
    int value = node->result_begin + r;
    zb_shape shape;
    zb_layout layout;
    if (!value_shape(g, value, &shape) || !node->def->view(&view, &p->w->homes[operand].layout, r, &shape, &layout)) {
      zb_op_error_at(node->op, "run zb-layout before zb-memory: it copies where strides do not reach",
                     "zb.%s cannot be a view of its operand", node->def->name);
      return ZB_ERROR(INVALID, "a view cannot be a stride");
    }
    p->w->homes[value] = p->w->homes[operand];
    p->w->homes[value].layout = layout;
    p->root[value] = p->root[operand];
  }
  return NULL;
}

/* Results that lie where an operand does: optimizer updates. True if all results were placed. */
static bool alias_home(packer *p, const zb_node *node, int node_index) {
  const zb_graph *g = &p->w->graph;
  if (node_is(node, "zb.accumulate") && node->operand_count == 2) {
    int sum = g->operands[node->operand_begin];
    p->w->homes[node->result_begin] = p->w->homes[sum];
    p->root[node->result_begin] = p->root[sum];
    return true;
  }
  (void)node_index;
  if (!node->def || !node->def->alias) return false;
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  if (!zb_op_view_get(node->op, &view, &storage)) return false;
  bool all = true;
  for (int r = 0; r < node->result_count; ++r) {
    int operand = node->def->alias(&view, r);
    if (operand < 0 || operand >= node->operand_count) {
      all = false;
      continue;
    }
    int from = g->operands[node->operand_begin + operand];
    p->w->homes[node->result_begin + r] = p->w->homes[from];
    p->root[node->result_begin + r] = p->root[from];
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

/* The sum of the uses of a parameter goes into the accumulator of the last use that this rank owns. */
static bool in_gradient(packer *p, const zb_node *node) {
  const zb_graph *g = &p->w->graph;
  zb_shape result;
  if (!node_is(node, "zb.add") || node->operand_count != 2 || !value_shape(g, node->result_begin, &result))
    return false;
  for (int i = 0; i < 2; ++i) {
    int operand = g->operands[node->operand_begin + i];
    if (!owned_accumulator(p, operand, &result)) continue;
    p->w->homes[node->result_begin] = p->w->homes[operand];
    p->root[node->result_begin] = p->root[operand];
    return true;
  }
  return false;
}

/* ---- Workspace ---- */

static void free_dead(packer *p, int node) {
  size_t kept = 0;
  for (size_t i = 0; i < p->live_count; ++i)
    if (p->live[i].last >= node) p->live[kept++] = p->live[i];
  p->live_count = kept;
}

/* Lowest gap that fits; the list stays sorted by offset. */
static bool place(packer *p, uint64_t bytes, int last, uint64_t *out_offset) {
  if (!zb_arena_grow(p->arena, (void **)&p->live, &p->live_capacity, p->live_count + 1, sizeof *p->live)) return false;
  uint64_t offset = 0;
  size_t at = 0;
  while (at < p->live_count && p->live[at].offset < offset + bytes) {
    offset = p->live[at].offset + p->live[at].bytes;
    ++at;
  }
  memmove(&p->live[at + 1], &p->live[at], (p->live_count - at) * sizeof *p->live);
  p->live[at] = (live_block){.offset = offset, .bytes = bytes, .last = last};
  ++p->live_count;
  if (offset + bytes > p->w->bytes) p->w->bytes = offset + bytes;
  *out_offset = offset;
  return true;
}

/* Whether another operand looks at the same buffer through other strides: then it would be overwritten while it is
 * read. */
static bool seen_otherwise(const packer *p, const zb_node *node, int operand_index, const zb_layout *dense) {
  const zb_graph *g = &p->w->graph;
  int root = p->root[g->operands[node->operand_begin + operand_index]];
  for (int i = 0; i < node->operand_count; ++i) {
    int operand = g->operands[node->operand_begin + i];
    if (p->root[operand] == root && memcmp(&p->w->homes[operand].layout, dense, sizeof *dense) != 0) return true;
  }
  return false;
}

/* An elementwise op may write over an operand of the same shape that dies here. */
static bool take_over(packer *p, const zb_node *node, int node_index) {
  const zb_graph *g = &p->w->graph;
  zb_shape result, operand_shape;
  if (!node->def || !(node->def->traits & ZB_TRAIT_ELEMENTWISE) || node->result_count != 1) return false;
  if (!value_shape(g, node->result_begin, &result)) return false;
  zb_layout dense;
  contiguous(&result, &dense);
  for (int i = 0; i < node->operand_count; ++i) {
    int operand = g->operands[node->operand_begin + i], root = p->root[operand];
    const zb_home *home = &p->w->homes[operand];
    if (home->base != ZB_BASE_WORKSPACE || p->last_use[root] != node_index || home->layout.offset != 0) continue;
    if (!value_shape(g, operand, &operand_shape) || !zb_shape_equal(&operand_shape, &result)) continue;
    if (value_bytes(g, root) != value_bytes(g, operand) || seen_otherwise(p, node, i, &dense)) continue;
    p->w->homes[node->result_begin] = *home;
    for (size_t b = 0; b < p->live_count; ++b)
      if (p->live[b].offset == home->offset) p->live[b].last = p->last_use[node->result_begin];
    return true;
  }
  return false;
}

static zb_status place_results(packer *p, const zb_node *node, int node_index) {
  const zb_graph *g = &p->w->graph;
  if (node_is(node, "zb.put") || node_is(node, "zb.empty_frame") || node_is(node, "zb.get") ||
      node_is(node, "zb.constant")) {
    p->w->skipped[node_index] = true;
    return NULL;
  }
  if (node->def && node->def->op_class == ZB_CLASS_VIEW) {
    p->w->skipped[node_index] = true;
    return view_home(p, node);
  }
  if (alias_home(p, node, node_index)) return NULL;
  if (node->result_count == 1 && !p->w->homes[node->result_begin].fixed &&
      (in_gradient(p, node) || take_over(p, node, node_index)))
    return NULL;
  for (int r = 0; r < node->result_count; ++r) {
    int value = node->result_begin + r;
    zb_home *home = &p->w->homes[value];
    zb_shape shape;
    if (home->fixed || home->base != ZB_BASE_NONE || !value_shape(g, value, &shape)) continue;
    int last = p->last_use[value] > node_index ? p->last_use[value] : node_index;
    *home = (zb_home){.base = ZB_BASE_WORKSPACE, .constant = -1};
    contiguous(&shape, &home->layout);
    if (!place(p, value_bytes(g, value), last, &home->offset)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

static zb_status place_scratch(packer *p, const zb_node *node, int node_index) {
  if (!node->def || !node->def->scratch_bytes) return NULL;
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape results[8];
  if (node->result_count > 8 || !zb_op_view_get(node->op, &view, &storage)) return NULL;
  for (int r = 0; r < node->result_count; ++r)
    if (!value_shape(&p->w->graph, node->result_begin + r, &results[r])) return NULL;
  uint64_t bytes = zb_align(node->def->scratch_bytes(&view, results));
  p->w->scratch_bytes[node_index] = bytes;
  if (bytes && !place(p, bytes, node_index, &p->w->scratch_offset[node_index])) return ZB_OUT_OF_MEMORY();
  return NULL;
}

/* Last node that reads the buffer of each root. Views share the buffer of what they look at. */
static void find_last_uses(packer *p) {
  const zb_graph *g = &p->w->graph;
  for (int v = 0; v < g->value_count; ++v)
    p->root[v] = v, p->last_use[v] = -1;
  for (int n = 0; n < g->node_count; ++n) {
    const zb_node *node = &g->nodes[n];
    bool view = node->def && node->def->op_class == ZB_CLASS_VIEW;
    for (int i = 0; i < node->operand_count; ++i) {
      int root = p->root[g->operands[node->operand_begin + i]];
      p->last_use[root] = n;
      for (int r = 0; view && r < node->result_count; ++r)
        p->root[node->result_begin + r] = root;
    }
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
  for (int n = 0; n < g->node_count; ++n) {
    const zb_node *node = &g->nodes[n];
    free_dead(p, n);
    ZB_TRY(place_results(p, node, n));
    ZB_TRY(place_scratch(p, node, n));
  }
  return NULL;
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
  if (value_shape(g, value, &(zb_shape){0})) return -1;
  for (;;) {
    int producer = g->values[value].producer;
    if (producer < 0) return value;
    if (!node_is(&g->nodes[producer], "zb.put")) break;
    value = g->operands[g->nodes[producer].operand_begin];
  }
  for (int i = 0; i < g->returned_count; ++i) {
    int v = g->returned[i];
    while (g->values[v].producer >= 0 && node_is(&g->nodes[g->values[v].producer], "zb.put"))
      v = g->operands[g->nodes[g->values[v].producer].operand_begin];
    if (v == value) return g->argument_count + i;
  }
  return -1;
}
