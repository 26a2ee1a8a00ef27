/* Finding the layers of a program: see passes/stages/layers.h. Tests: test/passes/recompute.mlir,
 * test/e2e/recompute.py.
 */

#include "passes/stages/layers.h"

#include "passes/function.h"
#include "passes/stages/cost.h"
#include "runtime/base/digest.h"

#include <string.h>

enum { PERIOD_MAX = 256 }; /* parts of a layer */

/* What lies between two places where few values cross. */
typedef struct part {
  int end;          /* entries before it and of it */
  uint64_t text;    /* of its ops */
  int64_t bytes;    /* that they make */
  int64_t crossing; /* bytes that its stage made and reads behind it */
  bool ends_stage, ends_layer;
} part;

typedef struct finder {
  zb_arena *arena;
  const zb_graph *graph;
  const zb_flow *flow;
  const int *stage; /* per node */
  int *entries;     /* node numbers of the forward ops that are no views, chains or constants */
  int entry_count;
  int *values;    /* [entries]: how many values cross behind each */
  int64_t *bytes; /* [entries]: bytes of those that the stage there made and reads again */
  part *parts;
  int part_count;
  int64_t *made;   /* [parts + 1]: bytes that those before make */
  int64_t *least;  /* [parts + 1]: bytes that cross where a layer ends there */
  int *from;       /* [parts + 1]: where that layer begins */
  int64_t largest; /* bytes of the largest layer that repeats; 0: none does */
} finder;

int zb_flow_base(const zb_graph *graph, const zb_flow *flow, int value) {
  const zb_node *maker;
  while ((maker = zb_maker(graph, value)) && (flow->nodes[maker->number] & ZB_FLOW_VIEW))
    value = zb_operand(graph, maker, 0);
  return value;
}

static int64_t value_bytes(const zb_graph *graph, int value) {
  return (int64_t)zb_align(zb_type_bytes(mlirValueGetType(graph->values[value].value)));
}

/* ---- Places where few values cross ---- */

static void count_crossing(finder *f, int *last, int *last_here) {
  int values = 0;
  int64_t bytes = 0;
  memset(last, -1, (size_t)f->graph->value_count * sizeof *last);
  memset(last_here, -1, (size_t)f->graph->value_count * sizeof *last_here);
  for (int i = 0; i < f->entry_count; ++i)
    ZB_FOR_EACH_OPERAND(operand, f->graph, &f->graph->nodes[f->entries[i]]) {
      const int value = zb_flow_base(f->graph, f->flow, operand), maker = f->graph->values[value].producer;
      last[value] = i;
      if (maker >= 0 && f->stage[maker] == f->stage[f->entries[i]]) last_here[value] = i;
    }
  for (int i = 0; i < f->entry_count; ++i) { /* first what ends at each entry */
    ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[i]]) {
      if (last[value] > i) ++values, --f->values[last[value]];
      if (last_here[value] <= i) continue;
      bytes += value_bytes(f->graph, value);
      f->bytes[last_here[value]] -= value_bytes(f->graph, value);
    }
    f->values[i] = values += f->values[i];
    f->bytes[i] = bytes += f->bytes[i];
  }
}

/* Entries of equal counts from `begin` on end here. */
static int end_of_level(const finder *f, int begin) {
  int end = begin;
  while (end < f->entry_count - 1 && f->values[end] == f->values[begin])
    ++end;
  return end;
}

static void add_part(finder *f, int begin, int end) {
  part *p = &f->parts[f->part_count++];
  *p = (part){.end = end, .text = ZB_FNV_START, .crossing = f->bytes[end - 1]};
  for (int i = begin; i < end; ++i) {
    const zb_node *node = &f->graph->nodes[f->entries[i]];
    char text[ZB_COST_TEXT_BYTES];
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(node->op));
    p->text = zb_cost_text(node->op, node->def, text) ? zb_fnv1a(p->text, text, strlen(text))
                                                      : zb_fnv1a(p->text, name.data, name.length);
    ZB_FOR_EACH_RESULT(value, node)
      p->bytes += value_bytes(f->graph, value);
  }
}

static bool ends_stage(const finder *f, int entry) {
  return entry + 1 == f->entry_count || f->stage[f->entries[entry]] != f->stage[f->entries[entry + 1]];
}

/* Whether a part ends behind an entry: at the end of its stage, and where the level of the entry has higher ones, or
 * none, on both sides. */
static void find_ends(const finder *f, bool *ends) {
  int before = -1; /* the level before; -1: none */
  for (int low = 0; low < f->entry_count - 1;) {
    const int level = f->values[low], high = end_of_level(f, low);
    const bool rises = high == f->entry_count - 1 || f->values[high] > level, fell = before < 0 || before > level;
    for (int i = low; i < high; ++i)
      ends[i] = rises && fell;
    before = level;
    low = high;
  }
  for (int i = 0; i < f->entry_count; ++i)
    ends[i] |= ends_stage(f, i);
}

static void find_parts(finder *f, bool *ends) {
  int begin = 0;
  find_ends(f, ends);
  for (int i = 0; i < f->entry_count; ++i) {
    if (!ends[i]) continue;
    add_part(f, begin, i + 1);
    f->parts[f->part_count - 1].ends_stage = ends_stage(f, i);
    begin = i + 1;
  }
  for (int p = 0; p < f->part_count; ++p)
    f->made[p + 1] = f->made[p] + f->parts[p].bytes;
}

/* ---- Layers of parts ---- */

typedef struct repetition {
  int begin, period, count; /* count: parts, the last layer perhaps not whole */
  int64_t bytes;
} repetition;

/* The repetition of at least two layers that makes most bytes; of equal ones that of the shortest layers. */
static repetition find_repetition(const finder *f, int begin, int end) {
  repetition best = {0};
  for (int period = 1; period <= (end - begin) / 2 && period <= PERIOD_MAX; ++period)
    for (int from = end - period - 1, same = 0; from >= begin; --from) {
      same = f->parts[from].text == f->parts[from + period].text ? same + 1 : 0;
      if (same < period) continue;
      const int64_t bytes = f->made[from + same + period] - f->made[from];
      if (bytes > best.bytes) best = (repetition){from, period, same + period, bytes};
    }
  return best;
}

/* The largest layer that repeats: of the longest repetition, then of what is before and behind it, and so on. */
static zb_status find_largest(finder *f) {
  ZB_LIST(int) gaps = {0}; /* begin, end */
  if (!ZB_PUSH(f->arena, &gaps, 0) || !ZB_PUSH(f->arena, &gaps, f->part_count)) return zb_arena_status(f->arena);
  while (gaps.count) {
    const int end = gaps.items[--gaps.count], begin = gaps.items[--gaps.count];
    const repetition found = find_repetition(f, begin, end);
    if (!found.count || found.bytes < f->largest) continue;
    for (int i = found.begin; i + found.period <= found.begin + found.count; ++i)
      if (f->made[i + found.period] - f->made[i] > f->largest) f->largest = f->made[i + found.period] - f->made[i];
    (void)(ZB_PUSH(f->arena, &gaps, begin) && ZB_PUSH(f->arena, &gaps, found.begin) &&
           ZB_PUSH(f->arena, &gaps, found.begin + found.count) && ZB_PUSH(f->arena, &gaps, end));
  }
  return zb_arena_status(f->arena);
}

/* Cuts the parts [begin, end) of a stage into layers of at most `most` bytes, as far as parts allow, where fewest bytes
 * cross; of equal ones into fewer. Returns these bytes and those of the largest layer. */
static int64_t cut_stage(finder *f, int begin, int end, int64_t most) {
  int64_t largest = 0;
  f->least[begin] = 0;
  for (int i = begin + 1; i <= end; ++i) { /* a layer ends before part i */
    f->least[i] = INT64_MAX;
    for (int from = i - 1; from >= begin && (from == i - 1 || f->made[i] - f->made[from] <= most); --from) {
      const int64_t bytes = f->least[from] + (i < end ? f->parts[i - 1].crossing : 0);
      if (bytes > f->least[i]) continue;
      f->least[i] = bytes;
      f->from[i] = from;
    }
  }
  for (int i = end; i > begin; i = f->from[i]) {
    f->parts[i - 1].ends_layer = true;
    if (f->made[i] - f->made[f->from[i]] > largest) largest = f->made[i] - f->made[f->from[i]];
  }
  return f->least[end] + largest;
}

static int64_t cut_stages(finder *f, int64_t most) {
  int64_t bytes = 0;
  for (int p = 0; p < f->part_count; ++p)
    f->parts[p].ends_layer = false;
  for (int begin = 0, end = 1; end <= f->part_count; ++end) {
    if (!f->parts[end - 1].ends_stage) continue;
    const int64_t stage = cut_stage(f, begin, end, most);
    if (stage > bytes) bytes = stage;
    begin = end;
  }
  return bytes;
}

/* Layers may be a quarter larger than one that repeats, for what stands before and behind those. Where none repeats,
 * what crosses and the largest layer together are least (as Chen, Xu, Zhang, Guestrin 2016, arXiv 1604.06174,
 * algorithm 3). */
static void find_layers(finder *f) {
  int64_t most = f->largest + f->largest / 4, best = INT64_MAX;
  for (int64_t tried = f->made[f->part_count]; f->largest == 0 && tried > 0; tried = tried * 3 / 4) {
    const int64_t bytes = cut_stages(f, tried);
    if (bytes >= best) continue;
    best = bytes;
    most = tried;
  }
  cut_stages(f, most);
}

/* ---- All ---- */

static zb_status collect(finder *f) {
  const int nodes = f->graph->node_count;
  f->entries = ZB_NEW(f->arena, int, nodes);
  f->values = ZB_NEW(f->arena, int, nodes);
  f->bytes = ZB_NEW(f->arena, int64_t, nodes);
  f->parts = ZB_NEW(f->arena, part, nodes);
  f->made = ZB_NEW(f->arena, int64_t, nodes + 1);
  f->least = ZB_NEW(f->arena, int64_t, nodes + 1);
  f->from = ZB_NEW(f->arena, int, nodes + 1);
  int *last = ZB_NEW(f->arena, int, f->graph->value_count), *last_here = ZB_NEW(f->arena, int, f->graph->value_count);
  bool *ends = ZB_NEW(f->arena, bool, nodes);
  ZB_TRY(zb_arena_status(f->arena));
  ZB_FOR_EACH_NODE(node, f->graph) {
    const unsigned flags = f->flow->nodes[node->number];
    if ((flags & (ZB_FLOW_FORWARD | ZB_FLOW_LOAD | ZB_FLOW_CHAIN | ZB_FLOW_VIEW)) == ZB_FLOW_FORWARD)
      f->entries[f->entry_count++] = node->number;
  }
  count_crossing(f, last, last_here);
  find_parts(f, ends);
  return NULL;
}

zb_status zb_layers_build(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage,
                          zb_layers *out) {
  finder f = {.arena = arena, .graph = graph, .flow = flow, .stage = stage};
  *out = (zb_layers){.layer = ZB_NEW(arena, int, graph->node_count), .stage = ZB_NEW(arena, int, graph->node_count)};
  ZB_TRY(zb_arena_status(arena));
  memset(out->layer, -1, (size_t)graph->node_count * sizeof *out->layer);
  ZB_TRY(collect(&f));
  ZB_TRY(find_largest(&f));
  find_layers(&f);
  for (int p = 0, i = 0; p < f.part_count; ++p) {
    out->stage[out->count] = stage[f.entries[f.parts[p].end - 1]];
    for (; i < f.parts[p].end; ++i)
      out->layer[f.entries[i]] = out->count;
    out->count += f.parts[p].ends_layer;
  }
  return NULL;
}
