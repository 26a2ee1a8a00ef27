/* Random numbers, and what an evaluation has in their place. Tests: test/e2e/dropout.py, test/e2e/aten.py. */
#include "ir/import/meaning/meaning.h"

static zb_operand counter_of(zb_import_node *n) {
  MlirValue counter = zb_import_counter(n->im);
  return counter.ptr ? zb_operand_computed(n, counter) : NULL;
}

zb_operand zb_meaning_drop(zb_import_node *n, zb_operand x, double rate) {
  if (rate == 0 || n->im->params->inference) return x;
  if (!(rate > 0 && rate < 1))
    return zb_import_refuse(n, "it is the share that is dropped", "the rate is %g, expected 0 <= rate < 1", rate), NULL;
  const zb_attr attrs[] = {zb_float("rate", (float)rate), zb_int("op", n->im->random_ops++)};
  zb_operand counter = counter_of(n);
  return counter ? zb_operand_build(n, "dropout", (zb_operand[]){x, counter}, 2, attrs, 2) : NULL;
}

zb_operand zb_meaning_uniform(zb_import_node *n, const zb_shape *shape) {
  const zb_attr attrs[] = {zb_ints("shape", shape->dims, shape->rank), zb_string("dtype", zb_dtype_name(shape->dtype)),
                           zb_int("op", n->im->random_ops++)};
  zb_operand counter = counter_of(n);
  return counter ? zb_operand_build(n, "uniform", &counter, 1, attrs, 3) : NULL;
}

/* By the method of G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates" (1958). */
zb_operand zb_meaning_normal(zb_import_node *n, const zb_shape *shape) {
  zb_shape real = *shape;
  real.dtype = ZB_F32;
  zb_operand one = zb_operand_scalar(n, ZB_F32, 1), minus_two = zb_operand_scalar(n, ZB_F32, -2);
  zb_operand above_zero = zb_operand_apply2(n, "sub", one, zb_meaning_uniform(n, &real));
  zb_operand square = zb_operand_apply2(n, "mul", zb_operand_apply1(n, "log", above_zero), minus_two);
  zb_operand turn = zb_operand_scalar(n, ZB_F32, 6.283185307179586);
  zb_operand angle = zb_operand_apply2(n, "mul", zb_meaning_uniform(n, &real), turn);
  return zb_operand_apply2(n, "mul", zb_operand_apply1(n, "sqrt", square), zb_operand_apply1(n, "cos", angle));
}

zb_operand zb_meaning_bernoulli(zb_import_node *n, zb_operand p) {
  zb_shape shape;
  if (!zb_operand_shape(n, p, &shape)) return NULL;
  shape.dtype = ZB_F32;
  return zb_operand_cast(n, zb_operand_apply2(n, "less", zb_meaning_uniform(n, &shape), p), ZB_F32);
}

zb_operand zb_meaning_by_mode(zb_import_node *n, zb_operand training, zb_operand evaluation) {
  if (n->im->params->inference) return evaluation;
  return zb_operand_build(n, "by_mode", (zb_operand[]){training, evaluation}, 2, NULL, 0);
}
