/* Placements of zb-shard: see passes/graph/shard_parts.h.
 *
 * One walk in program order asks the rule of every row. A parameter that nothing has decided yet (OPEN) gets what its
 * first reader asks for. If an op then needs whole what is cut, the parameters for which it was cut are cut in another
 * way (in runs: q, k and v of one product) or stay whole, and the walk begins again: an all-gather of activations is
 * never worth what it saves. O(ops) a walk, and a few walks, since all layers fail at once. */
#include "passes/graph/shard_parts.h"

#include <string.h>

static const zb_place REPLICATED = {.spread = ZB_REPLICATED};

bool zb_shard_view(const zb_shard *s, const zb_node *node, zb_op_view *view, zb_op_view_storage *storage) {
  if (!node->def || !zb_op_view_get(node->op, view, storage)) return false;
  for (int i = 0; i < node->operand_count; ++i)
    storage->shapes[zb_shard_named(view, i)] = s->shapes[zb_operand(&s->graph, node, i)];
  return true;
}

int zb_shard_named(const zb_op_view *view, int index) {
  for (int k = 0; k < view->operand_count; ++k) {
    if (view->operands[k].rank < 0) continue;
    if (index-- == 0) return k;
  }
  return view->operand_count;
}

/* Computed by every shard on its own values, as the op is. False: none of its operands is one, or the op's rule takes
 * them. */
static bool place_locally(zb_placing *p) {
  bool is_local = false;
  for (int k = 0; k < p->op->operand_count; ++k)
    is_local |= p->operands[k].spread == ZB_LOCAL;
  if (!is_local || (p->op->def->traits & ZB_TRAIT_BORDER)) return false;
  for (int k = 0; k < p->op->operand_count; ++k)
    if (p->operands[k].spread != ZB_LOCAL) p->operands[k] = REPLICATED;
  for (int r = 0; r < p->op->result_count && r < ZB_PLACED_RESULTS; ++r)
    p->out[r] = (zb_place){.spread = ZB_LOCAL};
  return true;
}

/* Where a sum of that shape is cut by tokens. False: it is not of tokens, or the shards do not divide them. */
static bool place_tokens(const zb_shard *s, const zb_shape *shape, zb_place *out) {
  for (size_t i = 0; i < s->inputs.count && shape->rank >= 2; ++i) {
    const int64_t samples = s->inputs.items[i].dims[0], length = s->inputs.items[i].dims[1];
    const int dim = shape->rank - 2;
    *out = zb_cut_at(dim);
    out->sequence = true;
    if (length % s->shards != 0 || length == 0) continue;
    if (shape->rank > 2 && shape->dims[dim] == length) return true;
    if (shape->rank > 2 || shape->dims[dim] != samples * length || samples > ZB_SEGMENTS_MAX) continue;
    out->segment_count = samples > 1 ? (int)samples : 0;
    for (int r = 0; r < out->segment_count; ++r)
      out->segments[r] = length;
    return true;
  }
  return false;
}

/* A placing for the rule of an op, with its operands and results REPLICATED. It has room for the largest ops, some 24
 * KiB, of which nearly all is none of this op's: that is left as it is, for to clear it takes longer than the rule. */
static void begin_placing(const zb_shard *s, const zb_node *node, const zb_op_view *view, const bool *from_data,
                          zb_placing *out) {
  const int named = zb_op_names_arity(view->def->operands).named; /* also those that the op leaves out at the end */
  const int operands = view->operand_count > named ? view->operand_count : named;
  out->op = view;
  out->results = s->shapes + node->result_begin;
  out->shards = s->shards;
  out->from_data = from_data;
  out->sequence = NULL;
  for (int k = 0; k < operands; ++k)
    out->operands[k] = REPLICATED;
  for (int r = 0; r < ZB_PLACED_RESULTS && (r == 0 || r < node->result_count); ++r)
    out->out[r] = REPLICATED;
  out->whole = 0;
  out->changed_count = 0;
  out->build = NULL;
  out->about = out->run_count = 0;
  out->undivided = 0;
}

void zb_shard_place(const zb_shard *s, const zb_node *node, const zb_op_view *view, zb_placing *out) {
  bool from_data[ZB_VIEW_OPERANDS] = {false};
  zb_place tokens;
  begin_placing(s, node, view, from_data, out);
  if (s->sequence && node->result_count > 0 && s->known[node->result_begin] && place_tokens(s, out->results, &tokens))
    out->sequence = &tokens;
  for (int i = 0; i < node->operand_count; ++i) {
    const int k = zb_shard_named(view, i), value = zb_operand(&s->graph, node, i);
    out->operands[k] = s->places[value];
    from_data[k] = s->depends[value] & ZB_DEPENDS_DATA;
  }
  const bool is_local = place_locally(out);
  if (!is_local && node->def->place && node->result_count <= ZB_PLACED_RESULTS) node->def->place(out);
  if (!is_local && (!node->def->place || node->result_count > ZB_PLACED_RESULTS)) zb_place_whole(out);
  out->from_data = NULL;
  out->sequence = NULL;
}

void zb_shard_sum_once(zb_shard *s, int value, const zb_place *wanted) {
  if (s->places[value].spread != ZB_PARTIAL || wanted->spread == ZB_PARTIAL) return;
  s->places[value] = zb_is_cut(wanted) && wanted->sequence ? *wanted : REPLICATED;
}

/* ---- Arguments that are cut alike ---- */

static int class_of(const zb_shard *s, int argument) {
  while (s->arguments[argument].parent != argument)
    argument = s->arguments[argument].parent;
  return argument;
}

static int join(zb_shard *s, int a, int b) {
  if (a < 0 || b < 0) return a < 0 ? b : a;
  a = class_of(s, a);
  b = class_of(s, b);
  if (a == b) return a;
  const int next = s->arguments[a].next;
  s->arguments[a].next = s->arguments[b].next;
  s->arguments[b].next = next;
  s->arguments[a > b ? a : b].parent = a > b ? b : a;
  s->arguments[a > b ? b : a].size = s->arguments[a].size + s->arguments[b].size;
  return a > b ? b : a;
}

/* ---- What cannot stay cut ---- */

/* Ends of runs in both lists, as one list of runs. 0: too many. */
static int merge_runs(const int64_t *a, int a_count, const int64_t *b, int b_count, int64_t *out) {
  int count = 0, i = 0, k = 0;
  int64_t end_a = a_count ? a[0] : INT64_MAX, end_b = b[0], at = 0;
  while (k < b_count) {
    const int64_t end = end_a < end_b ? end_a : end_b;
    if (count == ZB_SEGMENTS_MAX) return 0;
    out[count++] = end - at;
    at = end;
    if (end_a == end) end_a = ++i < a_count ? end_a + a[i] : INT64_MAX;
    if (end_b == end && ++k < b_count) end_b += b[k];
  }
  return count;
}

/* The runs that an op needs of a dimension of `size` elements, for the argument. False: it has them already, or cannot
 * be cut so. */
static bool add_runs(zb_shard *s, zb_shard_argument *argument, const zb_shape *shape, const zb_placing *placing,
                     int64_t size) {
  const int64_t own = shape->dims[argument->placement.dim];
  int64_t scaled[ZB_SEGMENTS_MAX], merged[ZB_SEGMENTS_MAX];
  for (int i = 0; i < placing->run_count; ++i) {
    if (placing->runs[i] * own % size != 0) return false;
    scaled[i] = placing->runs[i] * own / size;
  }
  const int count = merge_runs(argument->runs, argument->run_count, scaled, placing->run_count, merged);
  for (int i = 0; i < count; ++i)
    if (merged[i] % s->shards != 0) {
      argument->doubt.undivided = merged[i];
      return false;
    }
  if (count == 0 || count == argument->run_count) return false;
  argument->run_count = count;
  memcpy(argument->runs, merged, (size_t)count * sizeof *merged);
  return true;
}

static void doubt(zb_shard_argument *argument, const zb_node *reader, int64_t undivided) {
  if (argument->doubt.reader) return;
  argument->doubt.reader = reader;
  if (undivided) argument->doubt.undivided = undivided;
}

/* Whether something that leads a class may still be refused, so that what is pinned need not. */
static bool can_refuse(const zb_shard *s, int class) {
  int a = class;
  do {
    const zb_shard_argument *argument = &s->arguments[a];
    if (argument->leads && !argument->refused && !argument->pinned) return true;
    a = argument->next;
  } while (a != class);
  return false;
}

/* An op needs whole, or cut otherwise, what is cut: who cut it does so in runs, if that helps, or not at all. What is
 * pinned stays, if others can give way. Of a class that was refused as it is now nothing more can be: all layers may be
 * one class, which every one of their ops refuses. */
static void refuse(zb_shard *s, int value, const zb_placing *placing, int operand, const zb_node *node) {
  const int class = s->origin[value] < 0 ? -1 : class_of(s, s->origin[value]);
  const zb_place *place = &s->places[value];
  const int64_t size = s->shapes[value].dims[place->dim];
  const bool in_runs = placing->run_count > 0 && placing->about == operand;
  if (class < 0 || (!in_runs && s->arguments[class].refusals == s->arguments[class].size)) return;
  const bool others = can_refuse(s, class);
  int next = class;
  do {
    const int a = next;
    zb_shard_argument *argument = &s->arguments[a];
    next = argument->next;
    if (!argument->leads || argument->refused) continue;
    s->again = true;
    if (in_runs && add_runs(s, argument, &s->shapes[a], placing, size)) {
      s->runs_added = true;
      continue;
    }
    if (argument->pinned && others) continue;
    argument->doubted = true;
    doubt(argument, node, place->padded ? size : placing->undivided);
  } while (next != class);
  if (!in_runs) s->arguments[class].refusals = s->arguments[class].size;
}

/* ---- Parameters ---- */

/* Where the results of an op of such a chain are, if those of the ops before are as s->followed has them and the
 * argument is at `place`. False: it needs something else. */
static bool follow_op(const zb_shard *s, const zb_node *node, zb_place place) {
  zb_op_view_storage storage;
  zb_op_view view;
  zb_placing placing;
  zb_place given[ZB_VIEW_OPERANDS];
  const bool from_data[ZB_VIEW_OPERANDS] = {false};
  if (!zb_shard_view(s, node, &view, &storage) || !node->def->place) return false;
  begin_placing(s, node, &view, from_data, &placing);
  for (int i = 0; i < node->operand_count; ++i) {
    const int operand = zb_operand(&s->graph, node, i), k = zb_shard_named(&view, i);
    const bool made = zb_maker(&s->graph, operand) != NULL;
    placing.operands[k] = given[k] = s->root[operand] < 0 ? REPLICATED : made ? s->followed[operand] : place;
  }
  node->def->place(&placing);
  bool fits = !placing.build;
  for (int i = 0; i < node->operand_count && fits; ++i) {
    const int k = zb_shard_named(&view, i);
    fits = s->root[zb_operand(&s->graph, node, i)] < 0 || zb_same_placement(&placing.operands[k], &given[k]);
  }
  for (int r = 0; r < node->result_count && r < ZB_PLACED_RESULTS; ++r)
    s->followed[node->result_begin + r] = placing.out[r];
  return fits;
}

/* Where a value that is made of one argument alone is, if the argument is at `place`. False: an op on the way needs
 * something else. Each op on the way is asked once, however many ways there are (powers of a matrix). */
static bool follow_chain(const zb_shard *s, int value, zb_place place, zb_place *out) {
  const zb_node *last = zb_maker(&s->graph, value);
  *out = place;
  if (!last) return true;
  int first = last->number, open = 1;
  s->on_way[first] = true;
  for (int n = first; open > 0; --n) {
    const zb_node *node = &s->graph.nodes[n];
    if (!s->on_way[n]) continue;
    first = n;
    --open;
    ZB_FOR_EACH_OPERAND(operand, &s->graph, node) {
      const zb_node *maker = s->root[operand] >= 0 ? zb_maker(&s->graph, operand) : NULL;
      if (!maker || s->on_way[maker->number]) continue;
      s->on_way[maker->number] = true;
      ++open;
    }
  }
  bool fits = true;
  for (int n = first; n <= last->number; ++n) {
    if (s->on_way[n]) fits = fits && follow_op(s, &s->graph.nodes[n], place);
    s->on_way[n] = false;
  }
  if (fits) *out = s->followed[value];
  return fits;
}

static void set_argument(zb_shard *s, int argument, zb_place place, bool leads) {
  s->arguments[argument].decided = true;
  s->arguments[argument].leads = leads;
  place.sequence = false; /* it is no activation */
  s->arguments[argument].placement = s->places[argument] = place;
  s->origin[argument] = zb_is_cut(&place) ? argument : -1;
}

/* Cut in the runs that readers asked for. */
static zb_place in_own_runs(const zb_shard_argument *argument, zb_place place) {
  if (!zb_is_cut(&place) || argument->run_count == 0 || place.padded) return place;
  place.segment_count = argument->run_count;
  memcpy(place.segments, argument->runs, sizeof place.segments);
  return place;
}

/* The argument that `value` is made of is cut so that value is at `place`; whole, if it cannot be. leads: nothing else
 * that the reader has is cut, so that the runs are the argument's own. */
static void decide(zb_shard *s, int value, zb_place place, bool leads) {
  const int root = s->root[value];
  zb_shard_argument *argument = &s->arguments[root];
  const zb_shape *whole = &s->shapes[root];
  const bool cut = zb_is_cut(&place) && !(leads && argument->refused);
  for (int d = 0; cut && d < whole->rank; ++d) {
    zb_place tried = place, reached;
    const int64_t size = s->shapes[value].dims[place.dim];
    tried.dim = d;
    for (int i = 0; i < place.segment_count; ++i)
      tried.segments[i] = place.segments[i] * whole->dims[d] / size;
    if (!zb_placement_fits(&tried, whole->dims[d], s->shards) || !follow_chain(s, value, tried, &reached) ||
        !zb_same_placement(&reached, &place))
      continue;
    set_argument(s, root, leads ? in_own_runs(argument, tried) : tried, leads);
    return;
  }
  set_argument(s, root, REPLICATED, false);
}

/* Where an OPEN value is by now. */
static void refresh(zb_shard *s, int value) {
  const int root = s->root[value];
  zb_place place;
  if (s->places[value].spread != ZB_OPEN || !s->arguments[root].decided) return;
  const bool fits = follow_chain(s, value, s->arguments[root].placement, &place);
  s->places[value] = fits ? place : REPLICATED;
  s->origin[value] = zb_is_cut(&s->places[value]) ? root : -1;
}

/* ---- The walk ---- */

/* Made of one parameter, and constants, by pure ops that pass on where it is cut. */
static int chain_root(const zb_shard *s, const zb_node *node) {
  int root = -1;
  if (!node->def || !node->def->place || node->operand_count == 0) return -1;
  if (node->def->traits & ZB_TRAIT_BORDER) return -1;
  for (int i = 0; i < node->operand_count; ++i) {
    const int value = zb_operand(&s->graph, node, i);
    if (s->root[value] < 0 && s->depends[value]) return -1;
    if (s->root[value] < 0) continue;
    if (root >= 0 && root != s->root[value]) return -1;
    root = s->root[value];
  }
  return root;
}

static bool has_cut_operand(const zb_placing *p) {
  for (int k = 0; k < p->op->operand_count; ++k)
    if (zb_is_cut(&p->operands[k]) && !p->operands[k].sequence) return true;
  return false;
}

/* Decides the first OPEN operand as the op wants it. False: there is none. */
static bool decide_one(zb_shard *s, const zb_node *node, const zb_op_view *view, const zb_placing *placing) {
  zb_placing before;
  before.op = view;
  int open = -1;
  for (int i = 0; i < node->operand_count; ++i) {
    const int value = zb_operand(&s->graph, node, i), k = zb_shard_named(view, i);
    refresh(s, value);
    before.operands[k] = s->places[value];
    if (s->places[value].spread == ZB_OPEN && open < 0) open = i;
  }
  for (int k = 0; k < view->operand_count; ++k)
    if (view->operands[k].rank < 0) before.operands[k] = REPLICATED;
  if (open < 0) return false;
  const int value = zb_operand(&s->graph, node, open);
  if (placing->undivided && s->shapes[value].rank > 1) doubt(&s->arguments[s->root[value]], node, placing->undivided);
  decide(s, value, placing->operands[zb_shard_named(view, open)], !has_cut_operand(&before));
  refresh(s, value);
  return true;
}

static void place_op(zb_shard *s, const zb_node *node) {
  zb_op_view_storage storage;
  zb_op_view view;
  zb_placing placing;
  int origin = -1;
  if (!zb_shard_view(s, node, &view, &storage)) { /* takes and gives everything whole */
    for (int i = 0; i < node->operand_count; ++i) {
      const int value = zb_operand(&s->graph, node, i);
      refresh(s, value);
      if (s->places[value].spread == ZB_OPEN) decide(s, value, REPLICATED, false), refresh(s, value);
      if (zb_is_cut(&s->places[value]) && !s->places[value].sequence) refuse(s, value, &(zb_placing){0}, 0, node);
    }
    return;
  }
  for (int i = 0; i < node->operand_count; ++i)
    refresh(s, zb_operand(&s->graph, node, i));
  zb_shard_place(s, node, &view, &placing);
  while (decide_one(s, node, &view, &placing))
    zb_shard_place(s, node, &view, &placing);
  for (int i = 0; i < node->operand_count; ++i) {
    const int value = zb_operand(&s->graph, node, i), k = zb_shard_named(&view, i);
    zb_shard_sum_once(s, value, &placing.operands[k]);
    if (!zb_is_cut(&s->places[value])) continue;
    if (s->places[value].sequence && !zb_same_placement(&s->places[value], &placing.operands[k])) continue;
    if (zb_same_placement(&s->places[value], &placing.operands[k]))
      origin = zb_is_cut(&placing.out[0]) ? join(s, origin, s->origin[value]) : origin;
    else
      refuse(s, value, &placing, k, node);
  }
  for (int r = 0; r < node->result_count; ++r) {
    s->places[node->result_begin + r] = placing.out[r];
    s->origin[node->result_begin + r] = zb_is_cut(&placing.out[r]) ? origin : -1;
  }
}

static void begin_walk(zb_shard *s) {
  s->again = s->runs_added = false;
  for (int v = 0; v < s->graph.value_count; ++v) {
    s->places[v] = REPLICATED;
    s->root[v] = s->origin[v] = -1;
  }
  for (int a = 0; a < s->graph.argument_count; ++a) {
    zb_shard_argument *argument = &s->arguments[a];
    argument->parent = argument->next = a;
    argument->size = 1;
    argument->refusals = 0;
    argument->decided = argument->leads = argument->doubted = false;
    if (!argument->refused) argument->doubt = (zb_shard_doubt){NULL, 0};
    if (!argument->weight) continue;
    s->root[a] = a;
    s->places[a].spread = ZB_OPEN;
    if (argument->pinned) set_argument(s, a, in_own_runs(argument, argument->pin), zb_is_cut(&argument->pin));
  }
}

static void walk(zb_shard *s) {
  begin_walk(s);
  ZB_FOR_EACH_NODE(node, &s->graph) {
    const int root = chain_root(s, node);
    if (root < 0) {
      place_op(s, node);
      continue;
    }
    ZB_FOR_EACH_RESULT(value, node) {
      s->root[value] = root;
      s->places[value].spread = ZB_OPEN;
    }
  }
  for (int v = 0; v < s->graph.value_count; ++v) {
    if (s->places[v].spread != ZB_OPEN) continue;
    if (!s->arguments[s->root[v]].decided) set_argument(s, s->root[v], REPLICATED, false);
    refresh(s, v);
  }
}

/* What fails behind something that is to be cut in runs may fail for want of them: only the next walk tells. */
void zb_shard_find_places(zb_shard *s) {
  s->blocked = -1;
  do {
    walk(s);
    for (int a = 0; a < s->graph.argument_count && !s->runs_added; ++a) {
      zb_shard_argument *argument = &s->arguments[a];
      argument->refused |= argument->doubted;
      if (argument->doubted && argument->pinned && s->blocked < 0) s->blocked = a;
    }
  } while (s->again && s->blocked < 0);
}
