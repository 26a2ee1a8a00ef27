/* Random numbers. A program does not say what an evaluation draws: so it draws what a step draws, but for bernoulli,
 * which keeps or drops and whose mean an evaluation has. A seed of the program's own is refused: that of the run seeds
 * all. Tests: test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

static bool read_result(zb_import_node *n, zb_shape *out) {
  *out = (zb_shape){.rank = 0};
  if (zb_paddle_integer(n, "seed", 0) != 0)
    return zb_paddle_refuse_attribute(n, "seed", "leave it at 0: zb-run --random-seed N seeds all random ops of a run");
  return zb_paddle_declared_shape(n, "Shape", out);
}

zb_result zb_paddle_uniform(zb_import_node *n) {
  zb_shape out, real;
  double low, high;
  if (!read_result(n, &out) || !zb_paddle_number(n, "min", "Min", -1, &low) ||
      !zb_paddle_number(n, "max", "Max", 1, &high))
    return ZB_FAIL;
  real = out;
  real.dtype = ZB_F32;
  zb_operand drawn = zb_meaning_line(n, zb_meaning_uniform(n, &real), high - low, low);
  return zb_paddle_give(n, "Out", zb_operand_cast(n, drawn, out.dtype));
}

zb_result zb_paddle_gaussian(zb_import_node *n) {
  zb_shape out;
  if (!read_result(n, &out)) return ZB_FAIL;
  const double mean = zb_paddle_real(n, "mean", 0), deviation = zb_paddle_real(n, "std", 1);
  return zb_paddle_give(n, "Out",
                        zb_operand_cast(n, zb_meaning_line(n, zb_meaning_normal(n, &out), deviation, mean), out.dtype));
}

/* low + floor(word * (high - low) / 2^32), in i64. */
zb_result zb_paddle_randint(zb_import_node *n) {
  zb_shape out, word;
  const int64_t low = zb_paddle_integer(n, "low", 0), high = zb_paddle_integer(n, "high", 0);
  if (!read_result(n, &out)) return ZB_FAIL;
  if (high <= low || high - low > INT64_C(1) << 31)
    return zb_paddle_refuse_attribute(n, "high", "1 to 2^31 numbers are drawn from");
  word = out;
  word.dtype = ZB_I64;
  zb_operand drawn = zb_meaning_uniform(n, &word);
  drawn = zb_operand_apply2(n, "mul", drawn, zb_operand_scalar(n, ZB_I64, (double)(high - low)));
  drawn = zb_operand_apply2(n, "div", drawn, zb_operand_scalar(n, ZB_I64, 4294967296.0));
  drawn = zb_operand_apply2(n, "add", drawn, zb_operand_scalar(n, ZB_I64, (double)low));
  return zb_paddle_give(n, "Out", zb_operand_cast(n, drawn, out.dtype));
}

zb_result zb_paddle_bernoulli(zb_import_node *n) {
  zb_operand p = zb_paddle_in(n, "X");
  return zb_paddle_give(n, "Out", zb_meaning_by_mode(n, zb_meaning_bernoulli(n, p), p));
}
