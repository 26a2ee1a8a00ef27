/* Which initializers are parameters (the project's rule: "What is a parameter").
 *
 * tools/export_onnx.py writes the names of what requires a gradient, and of the other parameters, into the file's
 * metadata (zb.trained, zb.frozen: a name a line): then they are trained and frozen, and nothing is guessed. In other
 * files a float initializer of rank >= 1 that the loss can be differentiated by is trained if its name has a dot (a
 * module path); if no float initializer of rank >= 1 has one, each is. A dotted initializer that meets only constants
 * on its way into a Cos or Sin is a table of rotary frequencies, a buffer of its module and no parameter. What else a
 * gradient reaches is listed (zb.untrained of the module), and an error where it multiplies activations.
 *
 * --train and --freeze come before all that; of two patterns that match one name the one with more literal characters
 * holds. Tests: test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include "runtime/base/words.h"

#include <string.h>

enum { LIST_MAX = 6 };

static bool is_float(const Onnx__TensorProto *t) { return t->data_type == 1 || t->data_type == 11; }

static bool is_float_tensor(const Onnx__TensorProto *t) { return is_float(t) && t->n_dims > 0; }

static bool any_dotted(const zb_onnx *im) {
  for (size_t i = 0; i < im->graph->n_initializer; ++i)
    if (is_float_tensor(im->graph->initializer[i]) && strchr(im->graph->initializer[i]->name, '.')) return true;
  return false;
}

static zb_onnx_value *value_of(const zb_onnx *im, const char *name) {
  int64_t index;
  return *name && zb_map_get(im->names, name, &index) ? im->values[index] : NULL;
}

static size_t value_index(const zb_onnx *im, const char *name) { return (size_t)zb_map_get_or(im->names, name, 0); }

static bool is_float_dtype(int64_t number) {
  zb_dtype dtype;
  if (number < 0 || number > INT32_MAX || !zb_onnx_dtype((int32_t)number, &dtype)) return false;
  return dtype == ZB_F32 || dtype == ZB_F64 || dtype == ZB_BF16 || dtype == ZB_F16;
}

static bool gradient_flows(const zb_onnx_op *row, const Onnx__NodeProto *node, size_t input) {
  if (strcmp(node->op_type, "Cast") == 0) {
    for (size_t i = 0; i < node->n_attribute; ++i) {
      if (node->attribute[i]->name && strcmp(node->attribute[i]->name, "to") == 0)
        return is_float_dtype(node->attribute[i]->i);
    }
  }
  return (row->gradient >> (input < 31 ? input : 31)) & 1;
}

/* Marks the values that a gradient of the loss reaches: nodes are sorted, so one walk from the end is enough. */
static void mark_gradients(const zb_onnx *im, const char *loss, bool *reached) {
  reached[value_index(im, loss)] = true;
  for (size_t k = im->graph->n_node; k-- > 0;) {
    const Onnx__NodeProto *node = im->graph->node[k];
    bool any = false;
    for (size_t o = 0; o < node->n_output; ++o)
      any = any || (*node->output[o] && reached[value_index(im, node->output[o])]);
    if (!any || !im->needed[k]) continue;
    for (size_t i = 0; i < node->n_input; ++i) {
      if (*node->input[i] && gradient_flows(im->rows[k], node, i)) reached[value_index(im, node->input[i])] = true;
    }
  }
}

/* Who a value depends on: nobody, one dotted float initializer (its index + 1), or more than that or an input. */
enum { OWNER_NONE = 0, OWNER_MANY = -1 };

static bool is_cos_or_sin(const Onnx__NodeProto *node) {
  return strcmp(node->op_type, "Cos") == 0 || strcmp(node->op_type, "Sin") == 0;
}

/* Of an input of a node; nobody where only its type matters. */
static int owner_of(const zb_onnx *im, size_t node, size_t input, const int *owner) {
  const char *name = im->graph->node[node]->input[input];
  bool type_only = input < 31 && (im->rows[node]->types >> input & 1);
  return *name && !type_only ? owner[value_index(im, name)] : OWNER_NONE;
}

/* One node of the walk below. */
static void follow_tables(const zb_onnx *im, size_t k, int *owner, bool *mixed, bool *ends) {
  const Onnx__NodeProto *node = im->graph->node[k];
  int all = OWNER_NONE;
  for (size_t i = 0; i < node->n_input; ++i) {
    int own = owner_of(im, k, i, owner);
    if (own != OWNER_NONE) all = all == OWNER_NONE || all == own ? own : OWNER_MANY;
  }
  for (size_t i = 0; i < node->n_input && all == OWNER_MANY; ++i) {
    int own = owner_of(im, k, i, owner);
    if (own > 0) mixed[own - 1] = true;
  }
  if (is_cos_or_sin(node) && all > 0) {
    ends[all - 1] = true;
    all = OWNER_NONE; /* a finished table is as good as a constant */
  }
  for (size_t o = 0; o < node->n_output; ++o) {
    if (*node->output[o]) owner[value_index(im, node->output[o])] = all;
  }
}

/* tables[i]: value i is an initializer all of whose paths end in a Cos or Sin before they meet an input or another
 * parameter. */
static zb_result find_frequency_tables(zb_onnx *im, bool *tables) {
  size_t count = im->value_count + 1;
  int *owner = zb_alloc(count * sizeof *owner);
  bool *mixed = zb_alloc(count);
  if (!owner || !mixed) {
    zb_free(owner);
    zb_free(mixed);
    return zb_onnx_memory(im);
  }
  for (size_t i = 0; i < im->value_count; ++i) {
    const zb_onnx_value *v = im->values[i];
    if (v->kind == ZB_VALUE_INPUT) owner[i] = OWNER_MANY;
    if (v->kind == ZB_VALUE_INITIALIZER && strchr(v->name, '.') && is_float_tensor(im->graph->initializer[v->index])) {
      owner[i] = (int)i + 1;
    }
  }
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    if (im->needed[k]) follow_tables(im, k, owner, mixed, tables);
  }
  for (size_t i = 0; i < im->value_count; ++i)
    tables[i] = tables[i] && !mixed[i];
  zb_free(owner);
  zb_free(mixed);
  return ZB_OK;
}

/* The best of the patterns that match: its number of literal characters plus 1; 0 if none matches. */
static int match(const char *const *globs, int count, const char *name, bool *used) {
  int best = 0;
  for (int i = 0; i < count; ++i) {
    if (!zb_glob(globs[i], name)) continue;
    used[i] = true;
    int literal = 1;
    for (const char *c = globs[i]; *c; ++c)
      literal += *c != '*' && *c != '?';
    if (literal > best) best = literal;
  }
  return best;
}

/* Pattern with a star at each end: '*wte' as it was meant, where that matches a parameter. False if it does not. */
static bool find_wider(const char *glob, const char *const *names, int count, zb_text *hint) {
  size_t length = strlen(glob), begin = strspn(glob, "*");
  while (length > begin && glob[length - 1] == '*')
    --length;
  zb_text wider;
  zb_text_init(&wider);
  zb_text_add(&wider, "*%.*s*", (int)(length - begin), glob + begin);
  bool found = false;
  for (int i = 0; i < count && !found && !wider.failed && length > begin; ++i) {
    found = zb_glob(wider.data, names[i]);
    if (found) zb_text_add(hint, "did you mean '%s'? it matches '%s'", wider.data, names[i]);
  }
  zb_text_deinit(&wider);
  return found;
}

static void hint_parameters(const char *glob, const char *const *names, int count, zb_text *hint) {
  if (find_wider(glob, names, count, hint)) return;
  const char *near = strpbrk(glob, "*?") ? NULL : zb_nearest(glob, names, count);
  if (near) {
    zb_text_add(hint, "did you mean '%s'?", near);
    return;
  }
  zb_text_add(hint, "the model's parameters are");
  for (int i = 0; i < count && i < LIST_MAX; ++i)
    zb_text_add(hint, "%s %s", i ? "," : "", names[i]);
  if (count > LIST_MAX) zb_text_add(hint, " and %d more", count - LIST_MAX);
}

/* Proposes only what may be trained: constants of formulas have float initializers, too. */
static zb_result report_unused(zb_onnx *im, const char *option, const char *const *globs, int count, const bool *used) {
  for (int g = 0; g < count; ++g) {
    if (used[g]) continue;
    const char **names = zb_alloc((im->value_count + 1) * sizeof *names);
    if (!names) return zb_onnx_memory(im);
    int found = 0;
    for (size_t i = 0; i < im->value_count; ++i) {
      const zb_onnx_value *value = im->values[i];
      if (value->kind == ZB_VALUE_INITIALIZER && (value->role != ZB_ROLE_CONSTANT || value->untrained))
        names[found++] = value->name;
    }
    zb_text hint;
    zb_text_init(&hint);
    hint_parameters(globs[g], names, found, &hint);
    zb_onnx_fail(im, hint.data, "%s '%s' matches no float initializer of rank 1 or more that the loss depends on",
                 option, globs[g]);
    zb_text_deinit(&hint);
    zb_free(names);
    return ZB_FAIL;
  }
  return ZB_OK;
}

typedef struct marks {
  bool *reached, *read, *tables;  /* one a value */
  bool *activation, *multiplies;  /* one a value: depends on an input; is the other operand of its product */
  bool *train_used, *freeze_used; /* one a pattern */
  zb_map *listed;                 /* name -> zb_onnx_role; NULL: the file says nothing of its parameters */
  bool any_dot;
} marks;

/* ---- What the file says of its parameters ---- */

static const struct {
  const char *key;
  zb_onnx_role role;
} listings[] = {{"zb.trained", ZB_ROLE_TRAINED}, {"zb.frozen", ZB_ROLE_FROZEN}};
enum { LISTING_COUNT = sizeof listings / sizeof *listings };

/* One name of a list: the initializer must be there, else a tool has changed the file after its export. */
static zb_result list_name(zb_onnx *im, zb_map *listed, const char *key, const char *name, size_t length,
                           zb_onnx_role role) {
  char *copy = zb_alloc(length + 1);
  if (!copy) return zb_onnx_memory(im);
  memcpy(copy, name, length);
  const zb_onnx_value *value = value_of(im, copy);
  zb_result result = ZB_OK;
  if (!value || value->kind != ZB_VALUE_INITIALIZER) {
    result =
        zb_onnx_fail(im, "a tool changed the graph after the export: export again, and leave parameters as they are",
                     "the file's metadata (%s) names the parameter '%s', but it has no such initializer", key, copy);
  } else if (!zb_map_set(listed, copy, role)) {
    result = zb_onnx_memory(im);
  }
  zb_free(copy);
  return result;
}

static zb_result read_listings(zb_onnx *im, marks *m) {
  const Onnx__ModelProto *model = im->file.model;
  for (size_t i = 0; i < model->n_metadata_props; ++i) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    for (int k = 0; k < LISTING_COUNT && entry->key && entry->value; ++k) {
      if (strcmp(entry->key, listings[k].key) != 0) continue;
      if (!m->listed && !(m->listed = zb_map_create())) return zb_onnx_memory(im);
      for (const char *at = entry->value; *at;) {
        size_t length = strcspn(at, "\n");
        if (length && !list_name(im, m->listed, entry->key, at, length, listings[k].role)) return ZB_FAIL;
        at += length + (at[length] == '\n');
      }
    }
  }
  return ZB_OK;
}

/* ---- The choice ---- */

/* The exporter's optimizer made it out of a parameter: whoever trains this file would train the rest alone. */
static zb_result refuse_folded(zb_onnx *im, const char *name) {
  return zb_onnx_fail(im,
                      "export with tools/export_onnx.py, or with torch.onnx.export(..., optimize=False, "
                      "do_constant_folding=False); or say what it is with --train or --freeze",
                      "initializer '%s' multiplies activations and gets a gradient, but is no parameter by its name: "
                      "others have module paths as names, so the exporter folded a parameter into it",
                      name);
}

/* What an initializer is if nobody names it on the command line. */
static zb_onnx_role default_role(const zb_onnx *im, const zb_onnx_value *value, const marks *m) {
  size_t index = value_index(im, value->name);
  if (m->listed) return (zb_onnx_role)zb_map_get_or(m->listed, value->name, ZB_ROLE_CONSTANT);
  bool dot = strchr(value->name, '.') != NULL, tensor = is_float_tensor(im->graph->initializer[value->index]);
  bool parameter = tensor && m->reached[index] && (dot || !m->any_dot) && !m->tables[index];
  return parameter ? ZB_ROLE_TRAINED : ZB_ROLE_CONSTANT;
}

/* Scalars are constants of formulas, unless the file or a pattern without wildcards names them. */
static bool is_candidate(const zb_onnx *im, const zb_onnx_value *value, const marks *m) {
  const zb_import_params *p = im->params;
  const Onnx__TensorProto *tensor = im->graph->initializer[value->index];
  if (!is_float(tensor) || !m->read[value_index(im, value->name)]) return false;
  bool named = tensor->n_dims > 0 || (m->listed && zb_map_get(m->listed, value->name, NULL));
  for (int i = 0; i < p->train_count && !named; ++i)
    named = strcmp(p->train[i], value->name) == 0;
  for (int i = 0; i < p->freeze_count && !named; ++i)
    named = strcmp(p->freeze[i], value->name) == 0;
  return named;
}

static zb_result choose_one(zb_onnx *im, zb_onnx_value *value, marks *m) {
  const zb_import_params *p = im->params;
  size_t index = value_index(im, value->name);
  bool differentiable = m->reached[index];
  zb_onnx_role role = default_role(im, value, m);
  int train = match(p->train, p->train_count, value->name, m->train_used);
  int freeze = match(p->freeze, p->freeze_count, value->name, m->freeze_used);
  if (train && train == freeze) {
    return zb_onnx_fail(im, "make one of the two patterns more exact", "both --train and --freeze match '%s'",
                        value->name);
  }
  if (train > freeze && !differentiable) {
    return zb_onnx_fail(im, "leave it out of --train", "--train names '%s', but no gradient of the loss flows to it",
                        value->name);
  }
  if (train > freeze)
    value->role = ZB_ROLE_TRAINED;
  else if (freeze)
    value->role = ZB_ROLE_FROZEN;
  else
    value->role = role == ZB_ROLE_TRAINED && !differentiable ? ZB_ROLE_FROZEN : role;
  bool left = value->role == ZB_ROLE_CONSTANT && differentiable && !m->listed;
  if (left && !m->tables[index] && m->multiplies[index] && im->graph->initializer[value->index]->n_dims > 1)
    return refuse_folded(im, value->name);
  value->untrained = left && is_float_tensor(im->graph->initializer[value->index]);
  return ZB_OK;
}

static bool is_product(const Onnx__NodeProto *node) {
  return strcmp(node->op_type, "MatMul") == 0 || strcmp(node->op_type, "Gemm") == 0;
}

static void mark_activations(const zb_onnx *im, bool *activation) {
  for (size_t i = 0; i < im->value_count; ++i)
    activation[i] = im->values[i]->kind == ZB_VALUE_INPUT;
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    const Onnx__NodeProto *node = im->graph->node[k];
    bool any = false;
    for (size_t i = 0; im->needed[k] && i < node->n_input; ++i)
      any = any || (*node->input[i] && activation[value_index(im, node->input[i])]);
    for (size_t o = 0; any && o < node->n_output; ++o)
      if (*node->output[o]) activation[value_index(im, node->output[o])] = true;
  }
}

static void mark_reads(const zb_onnx *im, marks *m) {
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    const Onnx__NodeProto *node = im->graph->node[k];
    for (size_t i = 0; im->needed[k] && i < node->n_input; ++i) {
      if (!*node->input[i]) continue;
      size_t index = value_index(im, node->input[i]);
      m->read[index] = true;
      bool beside_input =
          is_product(node) && i < 2 && node->n_input > 1 && m->activation[value_index(im, node->input[1 - i])];
      m->multiplies[index] = m->multiplies[index] || beside_input;
    }
  }
}

/* What would be a parameter, were it float32: the first of them, or NULL. */
static const zb_onnx_value *other_float(const zb_onnx *im, const marks *m) {
  for (size_t i = 0; i < im->value_count; ++i) {
    const zb_onnx_value *value = im->values[i];
    if (value->kind != ZB_VALUE_INITIALIZER || !m->reached[i]) continue;
    const Onnx__TensorProto *tensor = im->graph->initializer[value->index];
    if (tensor->n_dims > 0 && tensor->data_type != 1 && is_float_dtype(tensor->data_type)) return value;
  }
  return NULL;
}

static zb_result choose(zb_onnx *im, const char *loss, marks *m) {
  mark_gradients(im, loss, m->reached);
  if (!read_listings(im, m) || !find_frequency_tables(im, m->tables)) return ZB_FAIL;
  mark_activations(im, m->activation);
  mark_reads(im, m);
  m->any_dot = any_dotted(im);
  int trained = 0;
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_onnx_value *value = im->values[i];
    if (value->kind != ZB_VALUE_INITIALIZER || !is_candidate(im, value, m)) continue;
    if (!choose_one(im, value, m)) return ZB_FAIL;
    trained += value->role == ZB_ROLE_TRAINED;
  }
  if (!report_unused(im, "--train", im->params->train, im->params->train_count, m->train_used) ||
      !report_unused(im, "--freeze", im->params->freeze, im->params->freeze_count, m->freeze_used)) {
    return ZB_FAIL;
  }
  if (trained > 0) return ZB_OK;
  if (im->params->freeze_count > 0)
    return zb_onnx_fail(im, "take a --freeze pattern back, or name what is to be trained with --train",
                        "no parameter is left to train: --freeze leaves none of the %zu initializers",
                        im->graph->n_initializer);
  const zb_onnx_value *narrow = other_float(im, m);
  if (narrow)
    return zb_onnx_fail(im, ZB_ONNX_TYPES_HINT, "parameter '%s' has the element type %s, which is not supported",
                        narrow->name, zb_onnx_dtype_text(im->graph->initializer[narrow->index]->data_type));
  return zb_onnx_fail(im,
                      "torch.onnx.export needs export_params=True and optimize=False: see tools/export_onnx.py; or "
                      "name them with --train",
                      "no parameter: none of the %zu initializers is a float tensor of rank 1 or more that gets a "
                      "gradient and is to be trained",
                      im->graph->n_initializer);
}

zb_result zb_onnx_choose_parameters(zb_onnx *im, const char *loss) {
  size_t values = im->value_count + 1;
  size_t patterns = (size_t)(im->params->train_count + im->params->freeze_count) + 1;
  bool *memory = zb_alloc(5 * values + patterns);
  if (!memory) return zb_onnx_memory(im);
  marks m = {.reached = memory,
             .read = memory + values,
             .tables = memory + 2 * values,
             .multiplies = memory + 3 * values,
             .activation = memory + 4 * values,
             .train_used = memory + 5 * values};
  m.freeze_used = m.train_used + im->params->train_count;
  zb_result result = choose(im, loss, &m);
  if (m.listed) zb_map_destroy(m.listed);
  zb_free(memory);
  return result;
}

/* ---- Files whose parameters were merged ---- */

/* Whether the module that owns the parameter is on the node's path: then the model itself shares it. */
static bool owns(const char *path, const char *parameter) {
  const char *dot = strrchr(parameter, '.');
  size_t length = dot ? (size_t)(dot - parameter) : 0;
  return path && length && strncmp(path, parameter, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* The initializer that a name stands for: exporters share one through Identity nodes. */
static const char *source_name(const zb_onnx *im, const char *name) {
  for (;;) {
    const zb_onnx_value *value = value_of(im, name);
    if (!value || value->producer < 0) return name;
    const Onnx__NodeProto *node = im->graph->node[value->producer];
    if (strcmp(node->op_type, "Identity") != 0 || node->n_input != 1) return name;
    name = node->input[0];
  }
}

/* The file says itself what its parameters are: its exporter knows what it did. */
static bool is_listed(const zb_onnx *im) {
  const Onnx__ModelProto *model = im->file.model;
  for (size_t i = 0; i < model->n_metadata_props; ++i)
    for (int k = 0; k < LISTING_COUNT; ++k)
      if (model->metadata_props[i]->key && strcmp(model->metadata_props[i]->key, listings[k].key) == 0) return true;
  return false;
}

zb_result zb_onnx_check_merged(zb_onnx *im) {
  const bool dotted = any_dotted(im);
  if (is_listed(im)) return ZB_OK;
  for (size_t i = 0; i < im->graph->n_initializer; ++i) {
    const char *name = im->graph->initializer[i]->name;
    if (dotted && !strchr(name, '.')) continue; /* a constant of ones */
    const zb_onnx_value *value = value_of(im, name);
    int uses = 0, foreign = 0, first = -1, second = -1;
    for (size_t k = 0; value && k < im->graph->n_node; ++k) {
      const Onnx__NodeProto *node = im->graph->node[k];
      bool norm = strcmp(node->op_type, "LayerNormalization") == 0 || strcmp(node->op_type, "RMSNormalization") == 0;
      if (!im->needed[k] || !norm || node->n_input < 2 || strcmp(source_name(im, node->input[1]), name) != 0) continue;
      ++uses;
      foreign += !owns(im->paths[k], name);
      if (first < 0)
        first = (int)k;
      else if (second < 0)
        second = (int)k;
    }
    bool wanted = false, used[1];
    for (int g = 0; g < im->params->train_count + im->params->freeze_count; ++g) {
      int own = g - im->params->train_count;
      wanted = wanted || match(own < 0 ? &im->params->train[g] : &im->params->freeze[own], 1, name, used) > 0;
    }
    if (uses < 2 || !foreign || wanted) continue;
    const char *a = im->graph->node[first]->name, *b = im->graph->node[second]->name;
    return zb_onnx_fail(
        im,
        "export with tools/export_onnx.py, or with torch.onnx.export(..., optimize=False); if the model really shares "
        "it, "
        "name it with --train",
        "initializer '%s' is the scale of %d normalizations ('%s', '%s'%s): the exporter merged parameters of equal "
        "initial value, so this file cannot be trained",
        name, uses, a ? a : "", b ? b : "", uses > 2 ? ", ..." : "");
  }
  return ZB_OK;
}
