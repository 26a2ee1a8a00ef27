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
  int end;       /* entries before it and of it */
  uint64_t text; /* of its ops */
  int64_t bytes; /* that they make */
  int leaving_begin, leaving_count;
  bool ends_stage, ends_layer;
} part;

/* What a part makes, and its stage reads behind it. */
typedef struct leaving {
  int last; /* entry that reads it */
  int64_t bytes;
} leaving;

/* Layers of the whole program, as if it were one stage: what those of stages are measured by. */
typedef struct scale {
  int64_t most; /* bytes that a layer makes */
  int64_t kept; /* bytes that cross from layer to layer, each value once */
  int layers;
} scale;

typedef struct finder {
  zb_arena *arena;
  const zb_graph *graph;
  const zb_flow *flow;
  const int *stage; /* per node; NULL: one stage */
  int *entries;     /* node numbers of the forward ops that are no views, chains or constants */
  int entry_count;
  int64_t *sums; /* [entries + 1]: bytes that those before make */
  int *values;   /* [entries]: how many values cross behind each */
  int *last;     /* per value: the last entry of its stage that reads it; -1: none */
  part *parts;
  int part_count;
  ZB_LIST(leaving) leaving;
  int64_t *made;  /* [parts + 1]: bytes that those before make */
  int64_t *least; /* [parts + 1]: bytes kept where a layer ends there */
  int *from;      /* [parts + 1]: where that layer begins */
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

static int stage_of(const finder *f, int node) { return f->stage ? f->stage[node] : 0; }

/* ---- Places where few values cross ---- */

static void count_crossing(finder *f, int *last) {
  int values = 0;
  memset(last, -1, (size_t)f->graph->value_count * sizeof *last);
  memset(f->last, -1, (size_t)f->graph->value_count * sizeof *f->last);
  for (int i = 0; i < f->entry_count; ++i)
    ZB_FOR_EACH_OPERAND(operand, f->graph, &f->graph->nodes[f->entries[i]]) {
      const int value = zb_flow_base(f->graph, f->flow, operand), maker = f->graph->values[value].producer;
      last[value] = i;
      if (maker >= 0 && stage_of(f, maker) == stage_of(f, f->entries[i])) f->last[value] = i;
    }
  for (int i = 0; i < f->entry_count; ++i) { /* first what ends at each entry */
    ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[i]])
      if (last[value] > i) ++values, --f->values[last[value]];
    f->values[i] = values += f->values[i];
  }
}

/* Entries of equal counts from `begin` on end here. */
static int end_of_level(const finder *f, int begin) {
  int end = begin;
  while (end < f->entry_count - 1 && f->values[end] == f->values[begin])
    ++end;
  return end;
}

static void find_leaving(finder *f, part *p, int begin) {
  p->leaving_begin = (int)f->leaving.count;
  for (int i = begin; i < p->end; ++i)
    ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[i]])
      if (f->last[value] >= p->end)
        (void)ZB_PUSH(f->arena, &f->leaving, (leaving){f->last[value], value_bytes(f->graph, value)});
  p->leaving_count = (int)f->leaving.count - p->leaving_begin;
}

static void add_part(finder *f, int begin, int end) {
  part *p = &f->parts[f->part_count++];
  *p = (part){.end = end, .text = ZB_FNV_START, .bytes = f->sums[end] - f->sums[begin]};
  find_leaving(f, p, begin);
  for (int i = begin; i < end; ++i) {
    const zb_node *node = &f->graph->nodes[f->entries[i]];
    char text[ZB_COST_TEXT_BYTES];
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(node->op));
    p->text = zb_cost_text(node->op, node->def, text) ? zb_fnv1a(p->text, text, strlen(text))
                                                      : zb_fnv1a(p->text, name.data, name.length);
  }
}

static bool ends_stage(const finder *f, int entry) {
  return entry + 1 == f->entry_count || stage_of(f, f->entries[entry]) != stage_of(f, f->entries[entry + 1]);
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

/* An end is none where more crosses than half of what is made since the end before it, or from there to the end of the
 * stage: to keep that would cost more than smaller layers save. So a loss belongs to its logits. ending[entries]: 0. */
static void drop_ends(const finder *f, bool *ends, int64_t *ending) {
  int64_t crossing = 0; /* of what is made since `begin`; what ends where of it is in `ending` */
  for (int begin = 0, stage_end = -1, i = 0; i < f->entry_count; ++i) {
    while (stage_end < i || !ends_stage(f, stage_end))
      ++stage_end;
    ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[i]]) {
      if (f->last[value] <= i) continue;
      crossing += value_bytes(f->graph, value);
      ending[f->last[value]] += value_bytes(f->graph, value);
    }
    crossing -= ending[i];
    const int64_t before = f->sums[i + 1] - f->sums[begin], behind = f->sums[stage_end + 1] - f->sums[i + 1];
    if (i < stage_end) ends[i] &= 2 * crossing <= (before < behind ? before : behind);
    if (!ends[i]) continue;
    for (; begin <= i; ++begin)
      ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[begin]])
        if (f->last[value] > i) ending[f->last[value]] -= value_bytes(f->graph, value);
    crossing = 0;
  }
}

static void find_parts(finder *f, bool *ends, int64_t *ending) {
  int begin = 0;
  for (int i = 0; i < f->entry_count; ++i) {
    f->sums[i + 1] = f->sums[i];
    ZB_FOR_EACH_RESULT(value, &f->graph->nodes[f->entries[i]])
      f->sums[i + 1] += value_bytes(f->graph, value);
  }
  find_ends(f, ends);
  drop_ends(f, ends, ending);
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

/* Bytes of the largest layer that repeats: of the longest repetition, then of what is before and behind it, and so on.
 * 0: none does. */
static zb_status find_largest(finder *f, int64_t *out) {
  ZB_LIST(int) gaps = {0}; /* begin, end */
  *out = 0;
  if (!ZB_PUSH(f->arena, &gaps, 0) || !ZB_PUSH(f->arena, &gaps, f->part_count)) return zb_arena_status(f->arena);
  while (gaps.count) {
    const int end = gaps.items[--gaps.count], begin = gaps.items[--gaps.count];
    const repetition found = find_repetition(f, begin, end);
    if (!found.count || found.bytes < *out) continue;
    for (int i = found.begin; i + found.period <= found.begin + found.count; ++i)
      if (f->made[i + found.period] - f->made[i] > *out) *out = f->made[i + found.period] - f->made[i];
    (void)(ZB_PUSH(f->arena, &gaps, begin) && ZB_PUSH(f->arena, &gaps, found.begin) &&
           ZB_PUSH(f->arena, &gaps, found.begin + found.count) && ZB_PUSH(f->arena, &gaps, end));
  }
  return zb_arena_status(f->arena);
}

/* Bytes of what a part makes and is read behind an entry. */
static int64_t bytes_behind(const finder *f, const part *p, int entry) {
  int64_t bytes = 0;
  for (int i = 0; i < p->leaving_count; ++i) {
    const leaving *it = &f->leaving.items[p->leaving_begin + i];
    if (it->last > entry) bytes += it->bytes;
  }
  return bytes;
}

/* Cuts the parts [begin, end) of a stage into layers of at most `most` bytes, as far as parts allow, so that fewest
 * bytes are kept, of which each layer makes some for those behind it; of equal ones into fewer. Returns these bytes;
 * *largest becomes at least those of the largest layer. */
static int64_t cut_stage(finder *f, int begin, int end, int64_t most, int64_t *largest) {
  f->least[begin] = 0;
  for (int i = begin + 1; i <= end; ++i) { /* a layer ends before part i */
    int64_t kept = 0;
    f->least[i] = INT64_MAX;
    for (int from = i - 1; from >= begin && (from == i - 1 || f->made[i] - f->made[from] <= most); --from) {
      kept += bytes_behind(f, &f->parts[from], f->parts[i - 1].end - 1);
      const int64_t bytes = f->least[from] + kept;
      if (bytes > f->least[i]) continue;
      f->least[i] = bytes;
      f->from[i] = from;
    }
  }
  for (int i = end; i > begin; i = f->from[i]) {
    f->parts[i - 1].ends_layer = true;
    if (f->made[i] - f->made[f->from[i]] > *largest) *largest = f->made[i] - f->made[f->from[i]];
  }
  return f->least[end];
}

/* Returns the bytes that are kept for a layer by one before it. */
static int64_t cut_stages(finder *f, int64_t most, int64_t *largest) {
  int64_t bytes = 0;
  *largest = 0;
  for (int p = 0; p < f->part_count; ++p)
    f->parts[p].ends_layer = false;
  for (int begin = 0, end = 1; end <= f->part_count; ++end) {
    if (!f->parts[end - 1].ends_stage) continue;
    bytes += cut_stage(f, begin, end, most, largest);
    begin = end;
  }
  return bytes;
}

/* Layers may be a quarter larger than one that repeats, for what stands before and behind those. Where none repeats,
 * what crosses and the largest layer together are least (as Chen, Xu, Zhang, Guestrin 2016, arXiv 1604.06174,
 * algorithm 3). */
static zb_status find_scale(finder *f, scale *out) {
  int64_t layer, best = INT64_MAX, largest;
  ZB_TRY(find_largest(f, &layer));
  *out = (scale){.most = layer + layer / 4};
  for (int64_t tried = f->made[f->part_count]; layer == 0 && tried > 0; tried = tried * 3 / 4) {
    const int64_t bytes = cut_stages(f, tried, &largest);
    if (bytes + largest >= best) continue;
    best = bytes + largest;
    out->most = tried;
  }
  out->kept = cut_stages(f, out->most, &largest);
  for (int p = 0; p < f->part_count; ++p)
    out->layers += f->parts[p].ends_layer;
  return NULL;
}

/* What stages receive of other stages: they have to keep it. */
static zb_status count_received(const finder *f, int64_t *out) {
  int *counted = ZB_NEW(f->arena, int, f->graph->value_count); /* the last stage that received it, from 1 */
  ZB_TRY(zb_arena_status(f->arena));
  *out = 0;
  for (int i = 0; i < f->entry_count; ++i) {
    const int stage = stage_of(f, f->entries[i]);
    ZB_FOR_EACH_OPERAND(operand, f->graph, &f->graph->nodes[f->entries[i]]) {
      const int value = zb_flow_base(f->graph, f->flow, operand), maker = f->graph->values[value].producer;
      if (maker < 0 || counted[value] == stage + 1 || stage_of(f, maker) == stage ||
          (zb_flow_value(f->graph, f->flow, value) & (ZB_FLOW_LOAD | ZB_FLOW_CHAIN)))
        continue;
      counted[value] = stage + 1;
      *out += value_bytes(f->graph, value);
    }
  }
  return NULL;
}

/* The layers of stages keep no more, with what stages receive, than those of the whole program, if layers up to twice
 * as large do it: a stage that begins within a layer may have few of them, and more of their ends. */
static zb_status find_layers(finder *f, scale whole) {
  int64_t received, largest, most = whole.most;
  ZB_TRY(count_received(f, &received));
  while (most <= 2 * whole.most && received + cut_stages(f, most, &largest) > whole.kept)
    most += most / 8 + 1;
  cut_stages(f, most <= 2 * whole.most ? most : whole.most, &largest);
  return NULL;
}

/* ---- All ---- */

static zb_status collect(finder *f) {
  const int nodes = f->graph->node_count;
  f->entries = ZB_NEW(f->arena, int, nodes);
  f->sums = ZB_NEW(f->arena, int64_t, nodes + 1);
  f->values = ZB_NEW(f->arena, int, nodes);
  f->parts = ZB_NEW(f->arena, part, nodes);
  f->made = ZB_NEW(f->arena, int64_t, nodes + 1);
  f->least = ZB_NEW(f->arena, int64_t, nodes + 1);
  f->from = ZB_NEW(f->arena, int, nodes + 1);
  f->last = ZB_NEW(f->arena, int, f->graph->value_count);
  int *last = ZB_NEW(f->arena, int, f->graph->value_count);
  int64_t *ending = ZB_NEW(f->arena, int64_t, nodes);
  bool *ends = ZB_NEW(f->arena, bool, nodes);
  ZB_TRY(zb_arena_status(f->arena));
  ZB_FOR_EACH_NODE(node, f->graph) {
    const unsigned flags = f->flow->nodes[node->number];
    if ((flags & (ZB_FLOW_FORWARD | ZB_FLOW_LOAD | ZB_FLOW_CHAIN | ZB_FLOW_VIEW)) == ZB_FLOW_FORWARD)
      f->entries[f->entry_count++] = node->number;
  }
  count_crossing(f, last);
  find_parts(f, ends, ending);
  return zb_arena_status(f->arena);
}

zb_status zb_layers_build(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage,
                          zb_layers *out) {
  finder whole = {.arena = arena, .graph = graph, .flow = flow}, f = whole;
  scale size;
  f.stage = stage;
  *out = (zb_layers){.layer = ZB_NEW(arena, int, graph->node_count), .stage = ZB_NEW(arena, int, graph->node_count)};
  ZB_TRY(zb_arena_status(arena));
  memset(out->layer, -1, (size_t)graph->node_count * sizeof *out->layer);
  ZB_TRY(collect(&whole));
  ZB_TRY(find_scale(&whole, &size));
  ZB_TRY(collect(&f));
  ZB_TRY(find_layers(&f, size));
  for (int p = 0, i = 0; p < f.part_count; ++p) {
    out->stage[out->count] = stage[f.entries[f.parts[p].end - 1]];
    for (; i < f.parts[p].end; ++i)
      out->layer[f.entries[i]] = out->count;
    out->count += f.parts[p].ends_layer;
  }
  return NULL;
}

zb_status zb_layers_kept(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, int64_t *out, int *layers) {
  finder whole = {.arena = arena, .graph = graph, .flow = flow};
  scale size;
  ZB_TRY(collect(&whole));
  ZB_TRY(find_scale(&whole, &size));
  *out = size.kept;
  *layers = size.layers;
  return NULL;
}
