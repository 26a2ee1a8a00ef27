/* Layouts of layers: the rules, and where each layer is: see zb/layers.h.
 *
 * Tests: test/passes/mesh/layers_test.c, test/passes/mesh/groups.py, test/tools/zb-sched-layout.test. */

#include "passes/mesh/layer_string.h"

#include "runtime/base/line.h"
#include "zb/schedule.h"

#include <string.h>

/* ---- Rules ---- */

enum { FIRST, LAST, EMBEDDING, LOSS, STAGE };
static const zb_line_row even = {"even",
                                 {{"first", ZB_KEY_WHOLE, 0, 1, ZB_LAYERS_MAX, NULL},
                                  {"last", ZB_KEY_WHOLE, 0, 1, ZB_LAYERS_MAX, NULL},
                                  {"embedding", ZB_KEY_BOOL, 0, 0, 2, NULL},
                                  {"loss", ZB_KEY_BOOL, 0, 0, 2, NULL},
                                  {"stage", ZB_KEY_WHOLE, 0, 1, ZB_LAYERS_MAX, NULL},
                                  {0}}};
static const zb_line_row balanced = {"balanced", {{0}}};
static const zb_line_row *const rules[] = {&even, &balanced};

/* A layout that is being made. */
typedef struct maker {
  zb_arena arena;
  const char *text;
  zb_line line;           /* of a rule */
  zb_layer_stages string; /* of a string */
  zb_layer_layout *out;
  int *stage_rank; /* [stages] */
} maker;

static int value_of(const maker *m, int key) { return (int)m->line.values[key]; }

static const char *plural(int count) { return count == 1 ? "" : "s"; }

/* How many layers each rank has, by `even`. */
static zb_status divide_layers(const maker *m, int *first, int *last, int *other) {
  const zb_layer_layout *l = m->out;
  const int counted = l->layers + value_of(m, EMBEDDING) + value_of(m, LOSS);
  const int named = m->line.given[FIRST] + m->line.given[LAST], left = l->ranks - named;
  const int shared = counted - value_of(m, FIRST) - value_of(m, LAST);
  if (named && counted != l->layers)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': first and last do not go with embedding and loss", m->text),
                          "a first or last rank of its own size leaves room for them: leave embedding and loss out");
  if (left < 0)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': one rank is first and last", m->text),
                          "leave first and last out, or use more ranks");
  if (shared < 0 || (left == 0 && shared != 0))
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': %d layer%s for the first and the last rank, the model has %d",
                                   m->text, value_of(m, FIRST) + value_of(m, LAST),
                                   plural(value_of(m, FIRST) + value_of(m, LAST)), l->layers),
                          left ? "give them fewer layers" : "there is no other rank: together they have all layers");
  if (named && left && shared == 0)
    return zb_status_hint(
        ZB_ERROR(USAGE, "layout '%s': no layer is left for %d other rank%s of %d layers", m->text, left, plural(left),
                 l->layers),
        "give the first and the last rank fewer layers; a string as Et||tL has stages without a layer");
  if (left && shared % left)
    return zb_status_hint(
        ZB_ERROR(USAGE, "layout '%s': %d layer%s%s cannot be cut alike for %d%s rank%s", m->text, shared,
                 plural(shared), counted > l->layers ? ", embedding and loss counted," : "", left,
                 named ? " other" : "", plural(left)),
        "%d or %d can; layout balanced takes any number, and even:first=N,last=N or a string as Et|(tt|)*2tL say more",
        shared / left * left, (shared / left + 1) * left);
  *other = left ? shared / left : 0;
  *first = m->line.given[FIRST] ? value_of(m, FIRST) : *other;
  *last = m->line.given[LAST] ? value_of(m, LAST) : *other;
  if (l->ranks == 1 && m->line.given[LAST]) *first = *last;
  return NULL;
}

static zb_status check_chunks(const maker *m, int rank, int layers) {
  const int chunks = m->out->chunks;
  if (layers % chunks == 0) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': the %d layers of rank %d cannot be cut into %d chunks alike",
                                 m->text, layers, rank, chunks),
                        "%d or %d layers a rank can; layout balanced takes any number", layers / chunks * chunks,
                        (layers / chunks + 1) * chunks);
}

static zb_status fill_even(maker *m) {
  zb_layer_layout *l = m->out;
  int first = 0, last = 0, other = 0;
  ZB_TRY(divide_layers(m, &first, &last, &other));
  for (int r = 0; r < l->ranks; ++r)
    ZB_TRY(check_chunks(m, r, r == 0 ? first : r == l->ranks - 1 ? last : other));
  for (int s = 0; s < l->stages; ++s) {
    const int rank = m->stage_rank[s];
    l->stage[s].layers = (rank == 0 ? first : rank == l->ranks - 1 ? last : other) / l->chunks;
  }
  l->stage[0].layers -= value_of(m, EMBEDDING);
  l->stage[l->stages - 1].layers -= value_of(m, LOSS);
  return NULL;
}

static zb_status fill_balanced(maker *m) {
  zb_layer_layout *l = m->out;
  if (l->layers < l->stages)
    return zb_status_hint(
        ZB_ERROR(USAGE, "layout '%s': %d layer%s for %d stages", m->text, l->layers, plural(l->layers), l->stages),
        "use fewer ranks or chunks; a string as Et||tL has stages without a layer");
  for (int s = 0; s < l->stages; ++s)
    l->stage[s].layers = l->layers / l->stages + (s < l->layers % l->stages);
  return NULL;
}

/* Chunks of even:stage=N. */
static zb_status count_chunks(const maker *m) {
  zb_layer_layout *l = m->out;
  const int stage = value_of(m, STAGE);
  const int64_t round = (int64_t)stage * l->ranks;
  if (l->layers % round)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': %d layers cannot be cut into stages of %d over %d rank%s",
                                   m->text, l->layers, stage, l->ranks, plural(l->ranks)),
                          "ranks x stage must divide the number of layers");
  const int chunks = (int)(l->layers / round);
  if (l->chunks && l->chunks != chunks)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': it makes %d chunks of each rank, and %d are asked for", m->text,
                                   chunks, l->chunks),
                          "--chunks %d goes with it", chunks);
  l->chunks = chunks;
  return NULL;
}

static zb_status read_rule(maker *m, const zb_layer_params *p) {
  zb_layer_layout *l = m->out;
  ZB_TRY(zb_line_parse("layout", m->text, rules, sizeof rules / sizeof rules[0], &m->line));
  if (!p->layers)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': how many layers there are is not said", m->text),
                          "give it with zb-sched --layers; a string as Et|(tt|)*2tL says it itself");
  l->layers = p->layers;
  l->ranks = p->ranks ? p->ranks : 1;
  l->chunks = p->chunks;
  if (m->line.given[STAGE] && m->line.row == &even) {
    for (int key = FIRST; key < STAGE; ++key)
      if (value_of(m, key))
        return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': stage does not go with %s", m->text, even.keys[key].name),
                              "say how many chunks there are (--chunks)");
    ZB_TRY(count_chunks(m));
  }
  if (!l->chunks) l->chunks = 1;
  return NULL;
}

/* ---- Strings ---- */

static zb_status read_string(maker *m, const zb_layer_params *p) {
  zb_layer_layout *l = m->out;
  ZB_TRY(zb_layer_string_read(&m->arena, m->text, &m->string));
  const int stages = (int)m->string.count;
  l->layers = m->string.layers;
  l->heads = m->string.heads;
  l->ranks = p->ranks;
  if (!l->ranks) l->ranks = p->chunks ? stages / p->chunks : stages;
  if (p->layers && p->layers != l->layers)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': it has %d layer%s t, the model %d", m->text, l->layers,
                                   plural(l->layers), p->layers),
                          "every layer of the model is one t");
  if (!l->ranks || stages % l->ranks)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': its %d stage%s cannot be dealt to %d rank%s alike", m->text,
                                   stages, plural(stages), l->ranks ? l->ranks : p->chunks, plural(l->ranks)),
                          "'|' stands between stages: one less than ranks x chunks of them");
  l->chunks = stages / l->ranks;
  if (p->chunks && p->chunks != l->chunks)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': its %d stages on %d rank%s are %d a rank, and %d are asked for",
                                   m->text, stages, l->ranks, plural(l->ranks), l->chunks, p->chunks),
                          "the string says how many chunks there are: leave --chunks out");
  return NULL;
}

/* ---- All ---- */

static zb_status check_counts(const zb_layer_params *p) {
  const struct {
    const char *what;
    int got;
  } counts[] = {{"layers", p->layers}, {"ranks", p->ranks}, {"chunks", p->chunks}};
  for (int i = 0; i < 3; ++i)
    if (counts[i].got < 0 || counts[i].got > ZB_LAYERS_MAX)
      return ZB_ERROR(USAGE, "layout: expected 1 to %d %s, got %d", ZB_LAYERS_MAX, counts[i].what, counts[i].got);
  return NULL;
}

static zb_status place_stages(maker *m, const char *placement) {
  zb_layer_layout *l = m->out;
  if ((int64_t)l->ranks * l->chunks > ZB_LAYERS_MAX)
    return ZB_ERROR(USAGE, "layout '%s': %d ranks x %d chunks are more than %d stages", m->text, l->ranks, l->chunks,
                    ZB_LAYERS_MAX);
  l->stages = l->ranks * l->chunks;
  m->stage_rank = ZB_NEW(&m->arena, int, l->stages);
  int *chunks = ZB_NEW(&m->arena, int, l->ranks);
  l->stage = zb_alloc((size_t)l->stages * sizeof *l->stage);
  if (!l->stage) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_arena_status(&m->arena));
  ZB_TRY(zb_placement(placement ? placement : l->chunks == 1 ? "plain" : "looped", l->ranks, l->chunks, m->stage_rank));
  if (m->string.count) memcpy(l->stage, m->string.items, (size_t)l->stages * sizeof *l->stage);
  for (int s = 0; s < l->stages; ++s) {
    l->stage[s].rank = m->stage_rank[s];
    l->stage[s].chunk = chunks[m->stage_rank[s]]++;
  }
  return NULL;
}

static zb_status number_layers(zb_layer_layout *l) {
  l->layer_stage = zb_alloc((size_t)l->layers * sizeof *l->layer_stage + 1);
  if (!l->layer_stage) return ZB_OUT_OF_MEMORY();
  for (int s = 0, layer = 0; s < l->stages; ++s) {
    l->stage[s].first_layer = layer;
    for (int i = 0; i < l->stage[s].layers; ++i)
      l->layer_stage[layer++] = s;
  }
  return NULL;
}

zb_status zb_layer_layout_init(zb_layer_layout *layout, const zb_layer_params *p) {
  maker m = {.text = p->layout, .out = layout};
  const bool is_string = zb_layers_is_string(p->layout);
  zb_status status = NULL;
  *layout = (zb_layer_layout){0};
  ZB_TRY_GOTO(check_counts(p));
  ZB_TRY_GOTO(is_string ? read_string(&m, p) : read_rule(&m, p));
  ZB_TRY_GOTO(place_stages(&m, p->placement));
  if (!is_string) {
    layout->stage[0].embedding = true;
    layout->stage[layout->stages - 1].losses = 1;
    ZB_TRY_GOTO(m.line.row == &balanced ? fill_balanced(&m) : fill_even(&m));
  }
  status = number_layers(layout);
cleanup:
  zb_arena_deinit(&m.arena);
  if (status) zb_layer_layout_deinit(layout);
  return status;
}

void zb_layer_layout_deinit(zb_layer_layout *layout) {
  zb_free(layout->stage);
  zb_free(layout->layer_stage);
  *layout = (zb_layer_layout){0};
}

zb_status zb_layer_place_of(const zb_layer_layout *layout, int layer, zb_layer_place *out) {
  if (layer < 0 || layer >= layout->layers)
    return ZB_ERROR(USAGE, "there is no layer %d: the layout has layers 0 to %d", layer, layout->layers - 1);
  const int stage = layout->layer_stage[layer];
  *out = (zb_layer_place){layout->stage[stage].rank, stage, layout->stage[stage].chunk};
  return NULL;
}
