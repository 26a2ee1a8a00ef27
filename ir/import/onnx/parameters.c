/* Which initializers are parameters (the project's rule: "What is a parameter").
 *
 * tools/export_onnx.py writes the names of what requires a gradient, and of the other parameters, into the file's
 * metadata (zb.trained, zb.frozen: a name a line): then they are trained and frozen, and nothing is guessed. In other
 * files a float initializer of rank >= 1 that the loss can be differentiated by is trained if its name has a dot (a
 * module path); if no float initializer of rank >= 1 has one, each is. A dotted initializer that meets only constants
 * on its way into a Cos or Sin is a table of rotary frequencies, a buffer of its module and no parameter. What else a
 * gradient reaches is an error where it multiplies activations. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <string.h>

static bool is_float_tensor(const zb_import *im, const zb_import_value *value) {
  const bool is_float = zb_import_is_float(value) || zb_import_is_narrow(im, value);
  return value->kind == ZB_VALUE_INITIAL && is_float && value->type.rank > 0;
}

/* Which is refused, to be trained, instead of left as it is. */
static bool is_narrow_tensor(const zb_import_value *value) {
  return value->kind == ZB_VALUE_INITIAL && value->is_typed && zb_dtype_is_narrow(value->type.dtype) &&
         value->type.rank > 0;
}

static bool has_dot(const zb_import_value *value) { return strchr(value->name, '.') != NULL; }

static bool any_dotted(const zb_import *im) {
  for (size_t i = 0; i < im->value_count; ++i)
    if (is_float_tensor(im, im->values[i]) && has_dot(im->values[i])) return true;
  return false;
}

static bool is_kind(const zb_import_node *n, const char *a, const char *b) {
  return strcmp(n->kind, a) == 0 || strcmp(n->kind, b) == 0;
}

/* ---- Tables of frequencies ---- */

/* What a value depends on: nothing, one dotted float initializer (its number + 1), or more, or an input. */
enum { OWNER_NONE = 0, OWNER_MANY = -1 };

/* What is noted of a value. */
typedef struct table_mark {
  int owner;
  bool mixed, ends; /* meets others; ends in a Cos or Sin */
} table_mark;

/* Of an input of a node; OWNER_NONE where only its type matters. */
static int owner_of(const zb_import_node *n, int input, const table_mark *marks) {
  bool type_only = input < 31 && (n->op->types >> input & 1);
  return n->inputs[input] && !type_only ? marks[n->inputs[input]->number].owner : OWNER_NONE;
}

/* One node of the walk below. */
static void follow_tables(const zb_import_node *n, table_mark *marks) {
  int all = OWNER_NONE;
  for (int i = 0; i < n->input_count; ++i) {
    int own = owner_of(n, i, marks);
    if (own != OWNER_NONE) all = all == OWNER_NONE || all == own ? own : OWNER_MANY;
  }
  for (int i = 0; i < n->input_count && all == OWNER_MANY; ++i) {
    int own = owner_of(n, i, marks);
    if (own > 0) marks[own - 1].mixed = true;
  }
  if (is_kind(n, "Cos", "Sin") && all > 0) {
    marks[all - 1].ends = true;
    all = OWNER_NONE; /* a finished table counts as a constant */
  }
  for (int o = 0; o < n->output_count; ++o)
    if (n->outputs[o]) marks[n->outputs[o]->number].owner = all;
}

/* Marks that end and are not mixed: initializers all of whose paths end in a Cos or Sin before they meet an input or
 * another parameter. NULL: out of memory. */
static const table_mark *find_frequency_tables(zb_import *im) {
  table_mark *marks = zb_import_take(im, im->value_count * sizeof *marks);
  for (size_t i = 0; marks && i < im->value_count; ++i) {
    if (im->values[i]->kind == ZB_VALUE_INPUT) marks[i].owner = OWNER_MANY;
    if (is_float_tensor(im, im->values[i]) && has_dot(im->values[i])) marks[i].owner = (int)i + 1;
  }
  for (size_t k = 0; marks && k < im->node_count; ++k)
    if (im->nodes[k].needed) follow_tables(&im->nodes[k], marks);
  return marks;
}

/* ---- What the file says of its parameters ---- */

static const struct {
  const char *key;
  zb_import_role role;
} listings[] = {{"zb.trained", ZB_ROLE_TRAINED}, {"zb.frozen", ZB_ROLE_FROZEN}}; /* keys of metadata */
enum { LISTING_COUNT = sizeof listings / sizeof *listings };

/* One name of a list: the initializer must be there, else a tool has changed the file after its export. */
static zb_result list_name(zb_import *im, const char *key, const char *name, size_t length, zb_import_role role) {
  const char *copy = zb_import_take_text(im, name, length);
  if (!copy) return ZB_FAIL;
  zb_import_value *value = zb_import_find(im, copy);
  if (!value || value->kind != ZB_VALUE_INITIAL)
    return zb_import_fail(
        im, "a tool changed the graph after the export: export again, and leave parameters as they are",
        "the file's metadata (%s) names the parameter '%s', but it has no such initializer", key, copy);
  value->role = role;
  value->is_listed = true;
  return ZB_OK;
}

static zb_result read_listings(zb_onnx *onnx) {
  const Onnx__ModelProto *model = onnx->file.model;
  for (size_t i = 0; i < model->n_metadata_props; ++i) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    for (int k = 0; k < LISTING_COUNT && entry->key && entry->value; ++k) {
      if (strcmp(entry->key, listings[k].key) != 0) continue;
      onnx->core.is_listed = true;
      for (const char *at = entry->value; *at;) {
        size_t length = strcspn(at, "\n");
        if (length && !list_name(&onnx->core, entry->key, at, length, listings[k].role)) return ZB_FAIL;
        at += length + (at[length] == '\n');
      }
    }
  }
  return ZB_OK;
}

/* ---- The proposal ---- */

/* The exporter's optimizer made it out of a parameter: training this file would train only the others. */
zb_result zb_onnx_refuse_folded(zb_import *im, const zb_import_value *value) {
  return zb_import_fail(im,
                        "export with tools/export_onnx.py, or with torch.onnx.export(..., optimize=False, "
                        "do_constant_folding=False); or say what it is with --train or --freeze",
                        "initializer '%s' multiplies activations and gets a gradient, but is no parameter by its "
                        "name: others have module paths as names, so the exporter folded a parameter into it",
                        value->name);
}

/* Suspects: the other operand of an activation's product. */
static void mark_factors(zb_import *im, const table_mark *tables) {
  for (const zb_import_node *n = im->nodes; n < im->nodes + im->node_count; ++n) {
    if (!n->needed || !is_kind(n, "MatMul", "Gemm")) continue;
    for (int i = 0; i < 2; ++i) {
      zb_import_value *value = n->inputs[i], *other = n->inputs[1 - i];
      const table_mark *table = value ? &tables[value->number] : NULL;
      if (value && other && other->activation && value->type.rank > 1 && !(table->ends && !table->mixed))
        value->is_suspect = true;
    }
  }
}

/* Without a loss: whether a needed node reads it other than as an argument (scales of Resize, bounds of Clip), which
 * are inputs without a gradient beside others that have one. One flag a value; NULL: out of memory. */
static bool *find_operands(zb_import *im) {
  bool *found = zb_import_take(im, im->value_count * sizeof *found + 1);
  for (const zb_import_node *n = im->nodes; found && n < im->nodes + im->node_count; ++n)
    for (int i = 0; n->needed && i < n->input_count; ++i) {
      const unsigned bit = n->op ? n->op->gradient >> (i < 31 ? i : 31) & 1 : 1;
      if (n->inputs[i] && (bit || n->op->gradient == 0)) found[n->inputs[i]->number] = true;
    }
  return found;
}

zb_result zb_onnx_propose_parameters(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  const table_mark *tables = find_frequency_tables(im);
  const bool *operands = find_operands(im);
  const bool dotted = any_dotted(im);
  if (!tables || !operands) return ZB_FAIL;
  mark_factors(im, tables);
  for (size_t i = 0; !im->is_listed && i < im->value_count; ++i) {
    zb_import_value *value = im->values[i];
    bool table = tables[i].ends && !tables[i].mixed;
    const bool is_wanted_here = im->params->inference ? value->read && operands[value->number] : value->reached;
    const bool is_tensor = is_float_tensor(im, value) || (is_narrow_tensor(value) && has_dot(value));
    if (value->role != ZB_ROLE_BUFFER && is_tensor && is_wanted_here && (has_dot(value) || !dotted) && !table)
      value->role = ZB_ROLE_TRAINED;
  }
  return ZB_OK;
}

/* ---- Files whose parameters were merged ---- */

/* Whether the module that owns the parameter is on the node's path: then the model itself shares it. */
static bool owns(const char *path, const char *parameter) {
  const char *dot = strrchr(parameter, '.');
  size_t length = dot ? (size_t)(dot - parameter) : 0;
  return path && length && strncmp(path, parameter, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* The value without Identity nodes, through which exporters share one initializer. */
static const zb_import_value *source_of(const zb_import_value *value) {
  while (value && value->producer && strcmp(value->producer->kind, "Identity") == 0 &&
         value->producer->input_count == 1)
    value = value->producer->inputs[0];
  return value;
}

/* Whether a pattern of the command line names it. */
static bool is_wanted(const zb_import_params *p, const char *name) {
  return zb_import_match(p->train, p->train_count, name, NULL) > 0 ||
         zb_import_match(p->freeze, p->freeze_count, name, NULL) > 0;
}

zb_result zb_onnx_check_merged(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  const bool dotted = any_dotted(im);
  if (!read_listings(onnx)) return ZB_FAIL;
  for (size_t i = 0; !im->is_listed && i < im->value_count; ++i) {
    const zb_import_value *value = im->values[i];
    if (value->kind != ZB_VALUE_INITIAL || (dotted && !has_dot(value))) continue; /* a constant of ones */
    int uses = 0, foreign = 0;
    const char *names[2] = {"", ""};
    for (const zb_import_node *n = im->nodes; n < im->nodes + im->node_count; ++n) {
      if (!n->needed || !is_kind(n, "LayerNormalization", "RMSNormalization") || n->input_count < 2 ||
          source_of(n->inputs[1]) != value)
        continue;
      if (uses < 2) names[uses] = n->name;
      ++uses;
      foreign += !owns(n->path, value->name);
    }
    if (uses < 2 || !foreign || is_wanted(im->params, value->name)) continue;
    return zb_import_fail(
        im,
        "export with tools/export_onnx.py, or with torch.onnx.export(..., optimize=False); if the model really shares "
        "it, "
        "name it with --train",
        "initializer '%s' is the scale of %d normalizations ('%s', '%s'%s): the exporter merged parameters of equal "
        "initial value, so this file cannot be trained",
        value->name, uses, names[0], names[1], uses > 2 ? ", ..." : "");
  }
  return ZB_OK;
}
