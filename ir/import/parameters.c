/* The role of every initial value but buffers, which their new values tell: what --train and --freeze say, else what
 * the reader proposes. Of two patterns that match one name the one with more literal characters holds. What else a
 * gradient reaches is listed (zb.untrained of the module). Tests: test/ir/import/import_test.c. */
#include "ir/import/import.h"
#include "runtime/base/words.h"

#include <string.h>

enum { LIST_MAX = 6 };

bool zb_import_is_float(const zb_import_value *value) {
  return value->is_typed && (value->type.dtype == ZB_F32 || value->type.dtype == ZB_F64);
}

bool zb_import_is_narrow(const zb_import *im, const zb_import_value *value) {
  return im->params->inference && value->is_typed && zb_dtype_is_narrow(value->type.dtype);
}

/* ---- Patterns ---- */

int zb_import_match(const char *const *globs, int count, const char *name, bool *used) {
  int best = 0;
  for (int i = 0; i < count; ++i) {
    if (!zb_glob(globs[i], name)) continue;
    if (used) used[i] = true;
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
  zb_text wider = {0};
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

/* Proposes only what may be trained: constants of formulas are floats, too. */
static zb_result report_unused(zb_import *im, const char *option, const char *const *globs, int count,
                               const bool *used) {
  int g = 0, found = 0;
  while (g < count && used[g])
    ++g;
  if (g == count) return ZB_OK;
  const char **names = zb_import_take(im, im->value_count * sizeof *names);
  if (!names) return ZB_FAIL;
  for (size_t i = 0; i < im->value_count; ++i) {
    const zb_import_value *value = im->values[i];
    if (value->kind == ZB_VALUE_INITIAL && (value->role != ZB_ROLE_CONSTANT || value->untrained))
      names[found++] = value->name;
  }
  zb_text hint = {0};
  hint_parameters(globs[g], names, found, &hint);
  zb_import_fail(im, hint.data, "%s '%s' matches no float %s of rank 1 or more that the loss depends on", option,
                 globs[g], im->format->initial);
  zb_text_deinit(&hint);
  return ZB_FAIL;
}

/* ---- The choice ---- */

static bool is_named(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* Scalars are constants of formulas, unless the file or a pattern without wildcards names them. */
static bool is_candidate(const zb_import *im, const zb_import_value *value) {
  const zb_import_params *p = im->params;
  if (value->kind != ZB_VALUE_INITIAL || !value->read) return false;
  if (!zb_import_is_float(value) && !zb_import_is_narrow(im, value)) return false;
  return value->type.rank > 0 || value->is_listed || is_named(p->train, p->train_count, value->name) ||
         is_named(p->freeze, p->freeze_count, value->name);
}

/* How well the patterns fit the best of a value's names. */
static int match_names(const char *const *globs, int count, const zb_import_value *value, bool *used) {
  int best = zb_import_match(globs, count, value->name, used);
  for (int i = 0; i < value->alias_count; ++i) {
    const int other = zb_import_match(globs, count, value->aliases[i], used);
    if (other > best) best = other;
  }
  return best;
}

/* used: one a pattern, those of --train first. */
static zb_result choose_one(zb_import *im, zb_import_value *value, zb_import_role proposed, bool *used) {
  const zb_import_params *p = im->params;
  int train = match_names(p->train, p->train_count, value, used);
  int freeze = match_names(p->freeze, p->freeze_count, value, used + p->train_count);
  if (train && train == freeze)
    return zb_import_fail(im, "make one of the two patterns more exact", "both --train and --freeze match '%s'",
                          value->name);
  if (p->inference) {
    const bool is_constant = proposed == ZB_ROLE_CONSTANT || value->type.dtype == ZB_F64; /* parameters are f32 */
    value->role = is_constant ? ZB_ROLE_CONSTANT : ZB_ROLE_FROZEN;
    return ZB_OK;
  }
  if (train > freeze && !value->reached)
    return zb_import_fail(im, "leave it out of --train", "--train names '%s', but no gradient of the loss flows to it",
                          value->name);
  if (train > freeze)
    value->role = ZB_ROLE_TRAINED;
  else if (freeze && (value->reached || value->is_listed || is_named(p->freeze, p->freeze_count, value->name)))
    value->role = ZB_ROLE_FROZEN;
  else if (freeze) /* a wildcard does not make parameters of scales and bounds, which ops need as constants */
    value->role = proposed == ZB_ROLE_CONSTANT ? ZB_ROLE_CONSTANT : ZB_ROLE_FROZEN;
  else
    value->role = proposed == ZB_ROLE_TRAINED && !value->reached ? ZB_ROLE_FROZEN : proposed;
  bool left = value->role == ZB_ROLE_CONSTANT && value->reached && !im->is_listed;
  if (left && value->is_suspect)
    return im->format->left ? im->format->left(im, value)
                            : zb_import_fail(im, NULL, "the parameter '%s' is not trained", value->name);
  value->untrained = left && value->type.rank > 0;
  return ZB_OK;
}

/* A gradient reaches it, and it is to be trained, but its element type is one that zbc does not train: left as it is it
 * would be frozen without a word. */
static zb_result check_type(zb_import *im, const zb_import_value *value, zb_import_role proposed, bool *used) {
  const zb_import_params *p = im->params;
  const bool is_narrow = value->is_typed && zb_dtype_is_narrow(value->type.dtype);
  if (p->inference || value->kind != ZB_VALUE_INITIAL || !value->reached || (value->is_typed && !is_narrow))
    return ZB_OK;
  const int train = is_narrow ? match_names(p->train, p->train_count, value, used) : 0;
  const int freeze = match_names(p->freeze, p->freeze_count, value, used + p->train_count);
  if (train <= freeze && (freeze || proposed != ZB_ROLE_TRAINED)) return ZB_OK;
  zb_text hint = {0};
  zb_text_add(&hint, "%s; or leave it as it is with --freeze '%s'", im->format->types_hint, value->name);
  zb_import_fail(im, hint.data, "parameter '%s' has the element type %s, which is not trained", value->name,
                 value->type_text);
  zb_text_deinit(&hint);
  return ZB_FAIL;
}

/* What would be a parameter, were it float32: the first of them, or NULL. */
static const zb_import_value *other_float(const zb_import *im) {
  for (size_t i = 0; i < im->value_count; ++i) {
    const zb_import_value *value = im->values[i];
    if (value->kind != ZB_VALUE_INITIAL || !value->reached || !value->is_typed || value->type.rank == 0) continue;
    zb_dtype dtype = value->type.dtype;
    if (dtype == ZB_F64 || zb_dtype_is_narrow(dtype)) return value;
  }
  return NULL;
}

static zb_result none_to_train(zb_import *im) {
  const zb_import_value *narrow = other_float(im);
  const char *initial = im->format->initial;
  if (im->params->freeze_count > 0)
    return zb_import_fail(im, "take a --freeze pattern back, or name what is to be trained with --train",
                          "no parameter is left to train: --freeze leaves none of the %zu %ss", im->initial_count,
                          initial);
  if (narrow)
    return zb_import_fail(im, im->format->types_hint, "parameter '%s' has the element type %s, which is not supported",
                          narrow->name, narrow->type_text);
  return zb_import_fail(im, im->format->parameters_hint,
                        "no parameter: none of the %zu %ss is a float tensor of rank 1 or more that gets a gradient "
                        "and is to be trained",
                        im->initial_count, initial);
}

/* No optimizer updates a buffer, and no pattern stops the forward pass from it. */
static zb_result check_buffer(zb_import *im, const char *name) {
  const zb_import_params *p = im->params;
  const char *option = is_named(p->train, p->train_count, name)     ? "--train"
                       : is_named(p->freeze, p->freeze_count, name) ? "--freeze"
                                                                    : NULL;
  if (!option) return ZB_OK;
  return zb_import_fail(im, "leave it out; to keep it as it is, export the model with that module in eval()",
                        "%s names '%s', a buffer that forward() updates", option, name);
}

zb_result zb_import_choose_parameters(zb_import *im) {
  const zb_import_params *p = im->params;
  bool *used = zb_import_take(im, (size_t)(p->train_count + p->freeze_count));
  int trained = 0;
  if (!used) return ZB_FAIL;
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_import_value *value = im->values[i];
    zb_import_role proposed = value->role;
    if (proposed == ZB_ROLE_BUFFER && !check_buffer(im, value->name)) return ZB_FAIL;
    if (proposed == ZB_ROLE_BUFFER) continue;
    value->role = ZB_ROLE_CONSTANT;
    value->unreached = !p->inference && value->is_listed && proposed == ZB_ROLE_TRAINED && !value->reached &&
                       !match_names(p->freeze, p->freeze_count, value, used + p->train_count);
    if (!is_candidate(im, value) && !check_type(im, value, proposed, used)) return ZB_FAIL;
    if (!is_candidate(im, value)) continue;
    if (!choose_one(im, value, proposed, used)) return ZB_FAIL;
    trained += value->role == ZB_ROLE_TRAINED;
  }
  if (!report_unused(im, "--train", p->train, p->train_count, used) ||
      !report_unused(im, "--freeze", p->freeze, p->freeze_count, used + p->train_count))
    return ZB_FAIL;
  return trained > 0 || p->inference ? ZB_OK : none_to_train(im);
}
