/* Random numbers, as tools/python/zb/_random.py writes them: `training` says that an evaluation has the mean.
 * Tests: test/e2e/dropout.py, test/e2e/aten.py. */
#include "ir/import/aten/aten.h"

#include <string.h>

static zb_result give(zb_import_node *n, zb_operand drawn, zb_operand mean) {
  return zb_operand_give(n, 0, zb_aten_flag(n, "training", false) ? zb_meaning_by_mode(n, drawn, mean) : drawn);
}

static zb_operand filled(zb_import_node *n, const zb_shape *shape, double value) {
  return zb_operand_filled(n, shape, zb_operand_scalar(n, shape->dtype, value));
}

zb_result zb_aten_random(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  if (strcmp(n->op->argument, "normal") == 0) return give(n, zb_meaning_normal(n, &out), filled(n, &out, 0));
  const double mean = out.dtype == ZB_I64 ? 2147483648.0 : 0.5;
  return give(n, zb_meaning_uniform(n, &out), filled(n, &out, mean));
}

zb_result zb_aten_bernoulli(zb_import_node *n) {
  zb_operand p = zb_operand_in(n, 0);
  return give(n, zb_meaning_bernoulli(n, p), p);
}

zb_result zb_aten_by_mode(zb_import_node *n) {
  return zb_operand_give(n, 0, zb_meaning_by_mode(n, zb_operand_in(n, 0), zb_operand_in(n, 1)));
}
