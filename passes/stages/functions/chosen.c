/* Choices and programs: see passes/stages/functions/chosen.h. Tests: test/e2e/choice.py. */

#include "passes/stages/functions/chosen.h"

#include "passes/function.h"
#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

static void release(void *choice) { zb_choice_deinit(choice); }

/* For a pass that runs alone: from the program, once. */
static zb_result read_choice(zb_pass *pass, const char *text) {
  zb_choice *choice = zb_arena_take(&pass->arena, 1, sizeof *choice);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  ZB_PASS_TRY(pass, zb_choice_read(ZB_ATTR_CHOICE, text, strlen(text), choice));
  pass->release = release;
  pass->released = choice;
  return ZB_OK;
}

zb_result zb_chosen(zb_pass *pass, unsigned decision, const zb_choice **out) {
  const zb_compile_state *state = pass->state;
  const char *text = zb_get_string(mlirModuleGetOperation(pass->program->module), ZB_ATTR_CHOICE);
  const zb_choice *choice = state ? state->choice : NULL;
  *out = NULL;
  if (!choice && text && !pass->released && !read_choice(pass, text)) return ZB_FAIL;
  if (!choice) choice = pass->released;
  if (choice && (choice->decided & decision)) *out = choice;
  return ZB_OK;
}

zb_choice *zb_chosen_notes(const zb_pass *pass) {
  const zb_compile_state *state = pass->state;
  return state ? state->made : NULL;
}

/* ---- The program ---- */

static uint64_t add_shape(uint64_t digest, const zb_value *value) {
  zb_shape shape;
  if (!zb_value_shape(value->value, &shape)) return zb_fnv1a(digest, "?", 1);
  const int64_t head[] = {shape.dtype, shape.rank};
  digest = zb_fnv1a(digest, head, sizeof head);
  return zb_fnv1a(digest, shape.dims, (size_t)shape.rank * sizeof shape.dims[0]);
}

uint64_t zb_program_digest(const zb_graph *graph) {
  uint64_t digest = ZB_FNV_START;
  for (int a = 0; a < graph->argument_count; ++a) {
    const char *name = zb_argument_string(graph->function, a, ZB_ATTR_PARAM);
    if (name) digest = zb_fnv1a(digest, name, strlen(name) + 1);
    digest = add_shape(digest, &graph->values[a]);
  }
  ZB_FOR_EACH_NODE(node, graph) {
    digest = zb_fnv1a(digest, node->name.data, node->name.length);
    digest = zb_fnv1a(digest, &graph->operands[node->operand_begin],
                      (size_t)node->operand_count * sizeof graph->operands[0]);
    ZB_FOR_EACH_RESULT(value, node)
      digest = add_shape(digest, &graph->values[value]);
  }
  return digest;
}

zb_status zb_chosen_check(const zb_choice *choice, uint64_t program) {
  if (choice->program == program) return NULL;
  return zb_status_hint(
      zb_choice_error(choice, choice->program_at, "the choice is of another program: expected %016llx, got %016llx",
                      (unsigned long long)program, (unsigned long long)choice->program),
      "give the model and the options (--precision, --tensor-parallel, --sharding, --train, ..) that it was made with, "
      "or make another one with --choice-out");
}

/* ---- What is computed again ---- */

/* A view: it goes with what it looks at. */
static bool is_transparent(const zb_recompute *r, int node) { return (r->flow.nodes[node] & ZB_FLOW_VIEW) != 0; }

static zb_status set_again(const zb_choice *choice, const zb_choice_item *item, zb_recompute *r, const zb_node *node,
                           int place) {
  const char *name = zb_location_name(node->op);
  if (item->result >= node->result_count)
    return zb_choice_error(choice, item->at, "place %d has %d results, there is no result %d", place,
                           node->result_count, item->result);
  if (is_transparent(r, node->number)) return NULL;
  if (!zb_recompute_may_run_again(r, node->number))
    return zb_status_hint(zb_choice_error(choice, item->at, "place %d, %s, cannot be computed again", place,
                                          name ? name : "which has no name"),
                          "it makes what a step reports, or may have effects: leave it out");
  ZB_FOR_EACH_RESULT(value, node)
    if (item->result < 0 || value == node->result_begin + item->result) r->again[value] = true;
  return NULL;
}

zb_status zb_chosen_again(const zb_choice *choice, zb_recompute *r) {
  int *node_of = ZB_NEW(r->arena, int, r->graph.node_count), places = 0;
  ZB_TRY(zb_arena_status(r->arena));
  for (int n = 0; n < r->graph.node_count; ++n)
    if (zb_flow_is_place(r->flow.nodes[n])) node_of[places++] = n;
  for (size_t i = 0; i < choice->again.count; ++i) {
    const zb_choice_item *item = &choice->again.items[i];
    if (item->end > places)
      return zb_choice_error(choice, item->at, "there is no place %d: the program has places 0..%d", item->end - 1,
                             places - 1);
    for (int p = item->begin; p < item->end; ++p)
      ZB_TRY(set_again(choice, item, r, &r->graph.nodes[node_of[p]], p));
  }
  return NULL;
}

zb_status zb_chosen_put_again(const zb_recompute *r, zb_choice *made) {
  made->decided |= ZB_CHOICE_AGAIN;
  int place = 0, joined = -1; /* joined: behind the last one, if nothing but views stood there since */
  ZB_FOR_EACH_NODE(node, &r->graph) {
    const int n = node->number;
    int again = 0;
    if (!zb_flow_is_place(r->flow.nodes[n])) continue;
    const int own = place++;
    if (is_transparent(r, n)) continue;
    ZB_FOR_EACH_RESULT(value, node)
      again += r->again[value];
    const bool is_all = again == node->result_count && again;
    for (int p = joined; is_all && p >= 0 && p < own; ++p)
      ZB_TRY(zb_choice_add(made, &made->again, p, -1, r->stage[n], NULL));
    joined = is_all ? own + 1 : -1;
    if (is_all) ZB_TRY(zb_choice_add(made, &made->again, own, -1, r->stage[n], zb_location_name(node->op)));
    for (int i = 0; !is_all && i < node->result_count; ++i)
      if (r->again[node->result_begin + i])
        ZB_TRY(zb_choice_add(made, &made->again, own, i, r->stage[n], zb_location_name(node->op)));
  }
  return NULL;
}

/* ---- Gradients in B ---- */

static const char *parameter_of(const zb_w_groups *w, int node) {
  return zb_get_string(w->graph->nodes[node].op, "parameter");
}

/* The nodes of gradients, by number. NULL: out of memory. */
static int *gradient_nodes(const zb_w_groups *w, zb_arena *arena, int *out_count) {
  int *nodes = ZB_NEW(arena, int, w->graph->node_count);
  *out_count = 0;
  for (int n = 0; nodes && n < w->graph->node_count; ++n)
    if (w->flow.nodes[n] & ZB_FLOW_ACCUMULATE) nodes[(*out_count)++] = n;
  return nodes;
}

static zb_status unknown_gradient(const zb_choice *choice, const zb_choice_item *item, const zb_w_groups *w,
                                  const int *nodes, int count, zb_arena *arena) {
  if (!item->glob && count == 0)
    return zb_choice_error(choice, item->at, "there is no gradient %d: the program has none", item->end - 1);
  if (!item->glob)
    return zb_choice_error(choice, item->at, "there is no gradient %d: the program has gradients 0..%d", item->end - 1,
                           count - 1);
  const char **names = ZB_NEW(arena, const char *, count);
  char near[ZB_NEAREST_GLOB_BYTES];
  int named = 0;
  ZB_TRY(zb_arena_status(arena));
  for (int g = 0; g < count; ++g)
    if (parameter_of(w, nodes[g])) names[named++] = parameter_of(w, nodes[g]);
  zb_status status = zb_choice_error(choice, item->at, "'%s' names no trained parameter", item->glob);
  return zb_nearest_glob(item->glob, names, named, near, sizeof near)
             ? zb_status_hint(status, "did you mean '%s'?", near)
             : status;
}

/* item_of: [nodes] the item that puts a gradient into B, from 1; 0: none does. */
static zb_status find_items(const zb_choice *choice, const zb_w_groups *w, zb_arena *arena, int *item_of) {
  int count, *nodes = gradient_nodes(w, arena, &count);
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < choice->in_b.count; ++i) {
    const zb_choice_item *item = &choice->in_b.items[i];
    bool found = !item->glob && item->end <= count;
    for (int g = 0; g < count; ++g) {
      const char *name = parameter_of(w, nodes[g]);
      if (item->glob ? !name || !zb_glob(item->glob, name) : !found || g < item->begin || g >= item->end) continue;
      item_of[nodes[g]] = (int)i + 1;
      found = true;
    }
    if (!found) return unknown_gradient(choice, item, w, nodes, count, arena);
  }
  return NULL;
}

/* "4 7": the gradients of a group. */
static void add_gradients(const zb_w_groups *w, int group, zb_text *out) {
  for (int n = 0, gradient = 0; n < w->graph->node_count; ++n) {
    if (!(w->flow.nodes[n] & ZB_FLOW_ACCUMULATE)) continue;
    for (size_t i = 0; i < w->groups[group].nodes.count; ++i)
      if (w->groups[group].nodes.items[i] == n) zb_text_add(out, " %d", gradient);
    ++gradient;
  }
}

/* A group is in B as a whole. */
static zb_status set_group(const zb_choice *choice, zb_w_groups *w, int group, const int *item_of) {
  int in = -1, out = -1;
  for (size_t i = 0; i < w->groups[group].nodes.count; ++i) {
    const int node = w->groups[group].nodes.items[i];
    if (w->flow.nodes[node] & ZB_FLOW_ACCUMULATE) *(item_of[node] ? &in : &out) = node;
  }
  zb_w_group_set(w, group, in >= 0);
  if (in < 0 || out < 0) return NULL;
  const char *own = parameter_of(w, in), *other = parameter_of(w, out);
  zb_text all = {0};
  add_gradients(w, group, &all);
  zb_status status =
      zb_status_hint(zb_choice_error(choice, choice->in_b.items[item_of[in] - 1].at,
                                     "the gradients of '%s' and '%s' are computed by the same ops, and only one of "
                                     "them would be in B",
                                     own ? own : "?", other ? other : "?"),
                     "give B all that these ops compute, or nothing: in-b%s", all.data ? all.data : "");
  zb_text_deinit(&all);
  return status;
}

zb_status zb_chosen_in_b(const zb_choice *choice, zb_w_groups *w) {
  zb_arena arena = {0};
  int *item_of = ZB_NEW(&arena, int, w->graph->node_count);
  zb_status status = zb_arena_status(&arena);
  if (!status) status = find_items(choice, w, &arena, item_of);
  for (int g = 0; g < w->group_count && !status; ++g)
    status = set_group(choice, w, g, item_of);
  zb_arena_deinit(&arena);
  return status;
}

zb_w_gradient *zb_chosen_gradients(const zb_w_groups *w, zb_arena *arena, int *out_count) {
  const int *nodes = gradient_nodes(w, arena, out_count);
  int *group_of = ZB_NEW(arena, int, w->graph->node_count);
  zb_w_gradient *out = ZB_NEW(arena, zb_w_gradient, *out_count);
  if (!nodes || !group_of || !out) return NULL;
  for (int g = 0; g < w->group_count; ++g)
    for (size_t i = 0; i < w->groups[g].nodes.count; ++i)
      group_of[w->groups[g].nodes.items[i]] = g;
  for (int i = 0; i < *out_count; ++i)
    out[i] = (zb_w_gradient){
        .group = group_of[nodes[i]], .stage = w->stage[nodes[i]], .parameter = parameter_of(w, nodes[i])};
  return out;
}

zb_status zb_chosen_put_in_b(const zb_w_groups *w, zb_choice *made) {
  zb_arena arena = {0};
  int count;
  const zb_w_gradient *gradients = zb_chosen_gradients(w, &arena, &count);
  zb_status status = zb_arena_status(&arena);
  made->decided |= ZB_CHOICE_IN_B;
  for (int g = 0; g < count && !status; ++g)
    if (w->groups[gradients[g].group].in_b)
      status = zb_choice_add(made, &made->in_b, g, -1, gradients[g].stage, gradients[g].parameter);
  zb_arena_deinit(&arena);
  return status;
}
