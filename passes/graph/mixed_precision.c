/* zb-mixed-precision: products in bf16, and what follows them where it can bear it; all else stays f32.
 *
 *   before                                        after
 *     %y = matmul(%x, %w)           f32             %xl = cast(%x) bf16     %wl = cast(%w) bf16
 *     %z = add(%y, %bias)           f32      ->     %y = matmul(%xl, %wl)   %z = add(%y, cast(%bias))    bf16
 *     %n = layer_norm(%z, ...)      f32             %n = layer_norm(cast(%z), ...)                       f32
 *
 * What an op does is a field of its row (`mixed`, ir/op.h), after PyTorch's autocast: LOW ops get bf16 operands, FULL
 * ops f32 ones, FOLLOW ops are bf16 if what they read is. Parameters, and scalars that bf16 holds exactly, never decide
 * for a FOLLOW op: a bias follows its product. Parameters themselves stay f32 arguments, so masters, gradients and
 * optimizer state are f32 without another rule; the gradient of a cast is a cast (which is why this runs before
 * zb-autodiff), and goes where its product goes.
 *
 * Casts move before views where that makes them smaller or shared: cast(transpose(w)) is transpose(cast(w)). A product
 * whose only reader widens it gives f32 sums itself ({dtype = "f32"}); zb-layout does the same for gradients, so dW is
 * never rounded to bf16.
 *
 * The list: https://docs.pytorch.org/docs/stable/amp.html, "Autocast Op Reference". Tests:
 * test/passes/mixed-precision*.mlir; classes of casts: test/passes/mixed-precision-classes.mlir. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "runtime/base/words.h"

#include <stdio.h>
#include <string.h>

enum { FORM_FULL, FORM_LOW, FORM_COUNT };
typedef enum value_kind { KIND_OTHER, KIND_FULL, KIND_LOW } value_kind; /* KIND_OTHER: integers, f64, f16, frames */

typedef struct mixed {
  zb_pass *pass;
  zb_graph graph;
  uint8_t *depends;
  zb_dtype low;
  value_kind *kind, *first_kind;  /* of each value: now, and in the program as it came */
  MlirValue (*forms)[FORM_COUNT]; /* of each value, null where not made yet */
} mixed;

static value_kind kind_of(const mixed *m, MlirType type) {
  zb_shape shape;
  if (!zb_type_shape(type, &shape)) return KIND_OTHER;
  return shape.dtype == ZB_F32 ? KIND_FULL : shape.dtype == m->low ? KIND_LOW : KIND_OTHER;
}

static void set_kind(mixed *m, int value, value_kind kind) {
  m->kind[value] = kind;
  if (kind == KIND_OTHER) return;
  m->forms[value][kind == KIND_LOW ? FORM_LOW : FORM_FULL] = m->graph.values[value].value;
}

/* ---- Forms of a value ---- */

/* The view op that makes the value, if a cast before it is no larger than one behind it, or NULL. */
static const zb_node *view_before(const mixed *m, int value) {
  const zb_node *node = zb_maker(&m->graph, value);
  if (!node || !node->def || node->def->op_class != ZB_CLASS_VIEW || node->operand_count != 1 ||
      node->result_count != 1)
    return NULL;
  zb_shape in, out;
  bool known = zb_value_shape(m->graph.values[zb_operand(&m->graph, node, 0)].value, &in) &&
               zb_value_shape(m->graph.values[value].value, &out);
  return known && zb_shape_elements(&in) <= zb_shape_elements(&out) ? node : NULL;
}

/* The view of another operand, of which it takes the element type. */
static MlirValue with_operand(zb_builder *b, MlirOperation view, MlirValue operand) {
  MlirOperation copy = mlirOperationClone(view);
  zb_shape shape, operand_shape;
  if (!zb_value_shape(mlirOperationGetResult(view, 0), &shape)) return (MlirValue){0};
  if (!zb_value_shape(operand, &operand_shape)) return (MlirValue){0};
  shape.dtype = operand_shape.dtype;
  mlirBlockInsertOwnedOperationBefore(b->block, b->before, copy);
  mlirOperationSetOperand(copy, 0, operand);
  mlirValueSetType(mlirOperationGetResult(copy, 0), zb_shape_type(b->context, &shape));
  return mlirOperationGetResult(copy, 0);
}

/* The value in a form, made before `reader` if it is not there: a cast, moved up through views. Later readers share it.
 */
static MlirValue form_of(mixed *m, int value, int form, MlirOperation reader) {
  enum { VIEWS_MAX = 64 }; /* deeper chains of views are cast behind the last one */
  int views[VIEWS_MAX], depth = 0, at = value;
  while (mlirValueIsNull(m->forms[at][form]) && depth < VIEWS_MAX && view_before(m, at)) {
    views[depth++] = at;
    at = zb_operand(&m->graph, view_before(m, at), 0);
  }
  zb_builder builder = zb_builder_before(reader);
  MlirValue made = m->forms[at][form];
  if (mlirValueIsNull(made)) {
    made = zb_build_cast(&builder, m->graph.values[at].value, form == FORM_LOW ? m->low : ZB_F32);
    ++m->pass->changes;
  }
  if (builder.failed) return (MlirValue){0};
  m->forms[at][form] = made;
  while (depth-- > 0) {
    made = with_operand(&builder, m->graph.nodes[m->graph.values[views[depth]].producer].op, made);
    m->forms[views[depth]][form] = made;
  }
  return made;
}

/* ---- Ops ---- */

static bool bf16_holds(double number) {
  float narrow = (float)number;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return (double)narrow == number && (bits & 0xffff) == 0;
}

/* Whether the value leaves it to the others which type they are computed in: a parameter, or a scalar that loses
 * nothing. */
static bool is_weak(const mixed *m, int value) {
  double number;
  if (zb_is_chain(m->depends[value])) return true;
  return zb_scalar_constant(m->graph.values[value].value, &number) && bf16_holds(number);
}

/* The form of the operands of a FOLLOW op. */
static int form_to_follow(const mixed *m, const zb_node *node) {
  bool low = false, full = false, all_low = true;
  ZB_FOR_EACH_OPERAND(value, &m->graph, node) {
    if (m->kind[value] == KIND_OTHER) continue;
    all_low &= m->kind[value] == KIND_LOW;
    if (is_weak(m, value)) continue;
    low |= m->kind[value] == KIND_LOW;
    full |= m->kind[value] == KIND_FULL;
  }
  return !full && (low || all_low) ? FORM_LOW : FORM_FULL;
}

static zb_mixed mixed_of(const zb_node *node) {
  if (!node->def || !node->def->infer) return ZB_MIXED_FULL;
  return node->def->op_class == ZB_CLASS_VIEW ? ZB_MIXED_FOLLOW : node->def->mixed;
}

static zb_result set_operands(mixed *m, const zb_node *node) {
  zb_mixed rule = mixed_of(node);
  if (rule == ZB_MIXED_ANY) return ZB_OK;
  int form = rule == ZB_MIXED_LOW ? FORM_LOW : rule == ZB_MIXED_FOLLOW ? form_to_follow(m, node) : FORM_FULL;
  for (int i = 0; i < node->operand_count; ++i) {
    int value = zb_operand(&m->graph, node, i);
    if (m->kind[value] == KIND_OTHER) continue;
    bool stays = rule == ZB_MIXED_LOW && (node->def->full_operands >> i & 1);
    MlirValue operand = form_of(m, value, stays ? FORM_FULL : form, node->op);
    if (mlirValueIsNull(operand)) return ZB_FAIL;
    zb_graph_set_operand(&m->graph, node->op, i, value, operand);
  }
  return ZB_OK;
}

/* The types that the results now have. */
static zb_result set_results(mixed *m, const zb_node *node) {
  enum { RESULTS_MAX = 64 };
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape shapes[RESULTS_MAX];
  zb_op_error error;
  bool known =
      node->def && node->def->infer && node->result_count <= RESULTS_MAX && zb_op_view_get(node->op, &view, &storage);
  if (known && !node->def->infer(&view, shapes, &error))
    return zb_op_error_at(node->op, error.hint, "in %s, 'zb.%s' would be wrong: %s", zb_dtype_name(m->low),
                          node->def->name, error.text);
  ZB_FOR_EACH_RESULT(value, node) {
    MlirValue result = m->graph.values[value].value;
    const zb_shape *shape = &shapes[value - node->result_begin];
    if (known) mlirValueSetType(result, zb_shape_type(mlirOperationGetContext(node->op), shape));
    set_kind(m, value, kind_of(m, mlirValueGetType(result)));
  }
  return ZB_OK;
}

/* What the program returns keeps its type. */
static zb_result set_returned(mixed *m) {
  for (int i = 0; i < m->graph.returned_count; ++i) {
    int value = m->graph.returned[i];
    if (m->kind[value] == m->first_kind[value]) continue;
    MlirValue operand = form_of(m, value, m->first_kind[value] == KIND_LOW ? FORM_LOW : FORM_FULL, m->graph.terminator);
    if (mlirValueIsNull(operand)) return ZB_FAIL;
    mlirOperationSetOperand(m->graph.terminator, i, operand);
  }
  return ZB_OK;
}

/* ---- The pass ---- */

static const struct {
  const char *name, *help;
  zb_dtype low;
} precisions[] = {
#define ZB_PRECISION(ID, name, low, help) {name, help, low},
#include "zb/precisions.def"
#undef ZB_PRECISION
};
enum { PRECISION_COUNT = sizeof precisions / sizeof precisions[0] };

const char *zb_precision_name(int index) {
  return index >= 0 && index < PRECISION_COUNT ? precisions[index].name : NULL;
}

const char *zb_precision_help(int index) {
  return index >= 0 && index < PRECISION_COUNT ? precisions[index].help : NULL;
}

static int find_precision(const char *name) {
  int i = 0;
  while (i < PRECISION_COUNT && strcmp(precisions[i].name, name) != 0)
    ++i;
  return i;
}

zb_status zb_precision_check(const char *got) {
  char names[64] = "";
  const char *list[PRECISION_COUNT];
  if (!got || find_precision(got) < PRECISION_COUNT) return NULL;
  for (int i = 0; i < PRECISION_COUNT; ++i) {
    list[i] = precisions[i].name;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " or " : "", precisions[i].name);
  }
  const char *nearest = zb_nearest(got, list, PRECISION_COUNT), *meaning = zb_name_meaning("precision", got);
  zb_status status = ZB_ERROR(USAGE, "--precision: expected %s, got '%s'", names, got);
  if (meaning) return zb_status_hint(status, "%s", meaning);
  return nearest ? zb_status_hint(status, "did you mean '%s'?", nearest) : status;
}

/* Of zb-opt's pipelines, too, where no params were checked. */
static zb_result read_precision(zb_pass *pass, MlirOperation function, zb_dtype *out) {
  const int found = find_precision(zb_pass_option(pass, "precision"));
  if (found < PRECISION_COUNT) return *out = precisions[found].low, ZB_OK;
  zb_status status = zb_precision_check(zb_pass_option(pass, "precision"));
  (void)zb_pass_option_error(pass, function, "precision", zb_status_hint_text(status), "%s",
                             strstr(zb_status_message(status), "expected"));
  zb_status_free(status);
  return ZB_FAIL;
}

static zb_result check_forward(const zb_graph *graph) {
  static const char *const hint =
      "give zbc the forward program, which it differentiates itself, or leave the precision f32";
  for (int i = 0; i < graph->returned_count; ++i)
    if (zb_result_has(graph->function, i, ZB_ATTR_UPDATE))
      return zb_op_error_at(graph->function, hint,
                            "mixed precision needs a forward program: result %d is marked zb.update", i);
  ZB_FOR_EACH_NODE(node, graph)
    if (zb_node_is(node, "zb.accumulate"))
      return zb_op_error_at(node->op, hint, "mixed precision needs a forward program: this one accumulates gradients");
  return ZB_OK;
}

static zb_status mixed_init(mixed *m, MlirOperation function) {
  zb_arena *arena = &m->pass->arena;
  ZB_TRY(zb_graph_build(arena, function, &m->graph));
  const int count = m->graph.value_count;
  m->depends = zb_graph_depends(arena, &m->graph);
  m->kind = ZB_NEW(arena, value_kind, count);
  m->first_kind = ZB_NEW(arena, value_kind, count);
  m->forms = zb_arena_take(arena, (size_t)count + 1, sizeof *m->forms);
  ZB_TRY(zb_arena_status(arena));
  for (int v = 0; v < m->graph.value_count; ++v) {
    m->first_kind[v] = kind_of(m, mlirValueGetType(m->graph.values[v].value));
    set_kind(m, v, m->first_kind[v]);
  }
  return NULL;
}

static zb_result rewrite_all(mixed *m) {
  zb_op_list list;
  int64_t erased;
  if (!check_forward(&m->graph)) return ZB_FAIL;
  ZB_FOR_EACH_NODE(node, &m->graph) {
    /* Until set_results has seen the op again, its results have no forms. */
    ZB_FOR_EACH_RESULT(value, node)
      memset(m->forms[value], 0, sizeof m->forms[0]);
    if (!set_operands(m, node) || !set_results(m, node)) return ZB_FAIL;
  }
  if (!set_returned(m)) return ZB_FAIL;
  ZB_PASS_TRY(m->pass, zb_op_list_collect(&m->pass->arena, m->graph.function, &list));
  for (size_t i = 0; i < list.count; ++i)
    m->pass->changes += zb_fold_widening_cast(list.items[i]);
  /* Views that their readers now take behind the cast. */
  if (m->pass->changes > 0) ZB_PASS_TRY(m->pass, zb_erase_dead(&m->pass->arena, m->graph.function, &erased));
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  mixed m = {.pass = pass};
  if (!read_precision(pass, function, &m.low)) return ZB_FAIL;
  if (m.low == ZB_F32) return ZB_OK;
  zb_set_string(mlirModuleGetOperation(pass->program->module), ZB_ATTR_PRECISION, zb_pass_option(pass, "precision"));
  ZB_PASS_TRY(pass, mixed_init(&m, function));
  return rewrite_all(&m);
}

static const zb_option_def options[] = {
    {"precision", "bf16", "f32: change nothing; bf16: products and what follows them in bf16"},
    {0},
};

const zb_pass_def zb_pass_mixed_precision = {
    .name = "zb-mixed-precision",
    .summary = "products in bf16, parameters, norms, softmax and loss in f32",
    .options = options,
    .requires_level = "graph",
    .run_on_function = run,
};
