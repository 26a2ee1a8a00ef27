/* The optimizer of a whole train step as text. Tests: test/ir/import/stablehlo, test/ir/import/paddle. */
#include "ir/import/update.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[] = {"", "sgd", "adam", "adamw", "lion"};

bool zb_import_same_optimizer(const zb_import_update *a, const zb_import_update *b) {
  return a->kind == b->kind && a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->eps == b->eps &&
         a->momentum == b->momentum && a->nesterov == b->nesterov;
}

static bool is_adam(const zb_import_update *u) { return u->kind == ZB_OPTIMIZER_ADAM || u->kind == ZB_OPTIMIZER_ADAMW; }

bool zb_import_one_optimizer(const zb_import_update *updates, int count, int *other) {
  for (int u = 1; u < count; ++u) {
    zb_import_update first = updates[0];
    const bool may_be_both = updates[u].weight_decay == 0 || first.weight_decay == 0;
    if (may_be_both && is_adam(&first) && is_adam(&updates[u])) first.kind = updates[u].kind;
    *other = u;
    if (!zb_import_same_optimizer(&first, &updates[u])) return false;
  }
  return true;
}

static double as_written(double value) {
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if ((float)strtod(text, NULL) == (float)value) break;
  }
  const double rounded = strtod(text, NULL);
  return fabs(rounded) < 1e-12 ? 0 : rounded;
}

void zb_import_write_plainly(zb_import_update *update) {
  double *const numbers[] = {&update->lr,    &update->weight_decay, &update->beta1,
                             &update->beta2, &update->eps,          &update->momentum};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    *numbers[i] = as_written(*numbers[i]);
}

static void add_line(zb_text *text, const zb_import_update *u) {
  zb_text_add(text, "%s:lr=%.9g", kind_names[u->kind], u->lr);
  if (u->kind == ZB_OPTIMIZER_SGD)
    zb_text_add(text, ",momentum=%.9g,nesterov=%s", u->momentum, u->nesterov ? "true" : "false");
  else
    zb_text_add(text, ",beta1=%.9g,beta2=%.9g", u->beta1, u->beta2);
  if (is_adam(u)) zb_text_add(text, ",eps=%.9g", u->eps);
  zb_text_add(text, ",weight_decay=%.9g", u->weight_decay);
}

/* The setting of most parameters is that of the line. */
static zb_import_update most_common(const zb_import_update *updates, int count) {
  int best = 0, most = 0;
  for (int u = 0; u < count; ++u) {
    int same = 0;
    for (int k = 0; k < count; ++k)
      same += updates[k].lr == updates[u].lr && updates[k].weight_decay == updates[u].weight_decay;
    if (same > most) most = same, best = u;
  }
  zb_import_update line = updates[best];
  for (int u = 0; u < count; ++u) /* where one has a decay, adam without and adamw without are what it is */
    if (updates[u].weight_decay != 0) line.kind = updates[u].kind;
  return line;
}

/* Text as an attribute; empties the text. */
static MlirAttribute take_text(zb_import *im, zb_text *text) {
  MlirAttribute attribute = {NULL};
  if (text->failed || !text->data)
    zb_import_memory(im);
  else
    attribute = zb_mlir_string(im->context, text->data);
  zb_text_deinit(text);
  *text = (zb_text){0};
  return attribute;
}

/* Vectors have a decay only where a group says so. */
zb_result zb_import_mark_optimizer(zb_import *im, const zb_import_update *updates, int count, MlirOperation module) {
  zb_text text = {0};
  int group_count = 0;
  MlirAttribute *groups = zb_import_take(im, ((size_t)count + 2) * sizeof *groups);
  const zb_import_update line = most_common(updates, count);
  if (!groups) return ZB_FAIL;
  add_line(&text, &line);
  MlirAttribute optimizer = take_text(im, &text);
  if (line.weight_decay != 0) {
    zb_text_add(&text, "*:weight_decay=%.9g", line.weight_decay);
    groups[group_count++] = take_text(im, &text);
  }
  for (int u = 0; u < count; ++u) {
    if (updates[u].lr == line.lr && updates[u].weight_decay == line.weight_decay) continue;
    zb_text_add(&text, "%s:lr=%.9g,weight_decay=%.9g", updates[u].parameter, updates[u].lr, updates[u].weight_decay);
    groups[group_count++] = take_text(im, &text);
  }
  if (im->out_of_memory) return ZB_FAIL;
  zb_set_attribute(module, ZB_ATTR_OPTIMIZER, optimizer);
  if (group_count) zb_set_attribute(module, ZB_ATTR_UPDATE_GROUPS, mlirArrayAttrGet(im->context, group_count, groups));
  return ZB_OK;
}
