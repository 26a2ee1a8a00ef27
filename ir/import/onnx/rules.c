/* What rules of formulas need to know of ONNX, and those of PyTorch's exporter. Tests: test/e2e/points.py. */
#include "ir/import/onnx/onnx.h"

#include <stdio.h>
#include <string.h>

static const zb_import_rule rows[] = {
#include "ir/import/onnx/rules.def"
};

static const char *kind_of(const zb_import_node *n, char *room ZB_UNUSED, size_t size ZB_UNUSED) { return n->kind; }

/* Of constants: what they are is known by now, or is a number of the file. */
static bool number_of(zb_import *im, const zb_import_value *value, double *out) {
  zb_known *known = value->known;
  if (!known && value->kind == ZB_VALUE_INITIAL && value->role == ZB_ROLE_CONSTANT &&
      !zb_import_value_known(im, im->values[value->number], &known))
    return false;
  if (!known || known->elements < 1) return false;
  *out = zb_known_real(known, 0);
  for (int64_t i = 1; i < known->elements; ++i)
    if (zb_known_real(known, i) != *out) return false;
  return true;
}

/* "clamp from 15": of files that PyTorch 2.15 or a newer one wrote; "clamp until 15": of others. */
static bool is_of_version(const zb_import_node *n, const char *function) {
  const char *written = zb_onnx_of(n->im)->file.model->producer_version, *asked = strchr(function, ' ');
  int major = 0, minor = 0, since = 0;
  if (!asked) return true;
  const bool from = sscanf(asked, " from %d", &since) == 1;
  if (!from) sscanf(asked, " until %d", &since);
  if (written) sscanf(written, "%d.%d", &major, &minor);
  return from == (major > 2 || (major == 2 && minor >= since));
}

/* The exporter says the op of aten, target=torch.ops.aten.max.dim], or the last of the scopes is its name: ['', 'act',
 * 'relu6_1']. */
static bool is_within(const zb_import_node *n, const char *function) {
  if (!is_of_version(n, function)) return false;
  const Onnx__NodeProto *node = n->source;
  const char *op = zb_onnx_entry(node->metadata_props, node->n_metadata_props, "pkg.torch.onnx.fx_node");
  const char *scopes = zb_onnx_entry(node->metadata_props, node->n_metadata_props, "pkg.torch.onnx.name_scopes");
  op = op ? strstr(op, "torch.ops.aten.") : NULL;
  if (op) op += strlen("torch.ops.aten.");
  if (op) return zb_import_is_named(op, function, strchr(function, '.') ? ']' : '.');
  const char *end = scopes ? strrchr(scopes, '\'') : NULL;
  if (!end) return false;
  const char *last = end;
  while (last > scopes && last[-1] != '\'')
    --last;
  return zb_import_is_named(last, function, '\'');
}

const zb_import_rules zb_onnx_rules = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .kind = kind_of, .is_within = is_within, .number = number_of};
