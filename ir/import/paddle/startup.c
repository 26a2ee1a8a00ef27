/* What is known of a program without running it: the numbers that its startup program fills variables with (learning
 * rates, states of the optimizer, scales and biases), and constants. Numbers that are drawn are not known.
 *
 *   fill_constant {value = 1e-3} -> learning_rate_0           full {value = 0.001} -> shadow_output "learning_rate_0"
 *
 * The startup program is --startup FILE, else the file beside the program whose name has startup in the place of main.
 * Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Constants ---- */

static bool number_of(const zb_paddle_op *op, const char *names, double *out) {
  const char *text = zb_paddle_text_in(op, names);
  char *end;
  if (!text || !*text) return zb_paddle_number_in(op, names, out);
  *out = strtod(text, &end); /* str_value of fill_constant: more digits than value has */
  return *end == '\0';
}

static bool constant(const zb_paddle *it, const zb_paddle_value *value, int depth, double *out) {
  enum { DEPTH_MAX = 16 };
  const zb_paddle_op *op = value ? value->producer : NULL;
  double factor, bias;
  if (!op) return value && value->is_persistable && zb_paddle_initial(it, value->name, out);
  if (depth > DEPTH_MAX) return false;
  if (strcmp(op->kind, "full") == 0 || strcmp(op->kind, "fill_constant") == 0)
    return number_of(op, "str_value", out) || number_of(op, "value", out);
  if (strcmp(op->kind, "assign") == 0 || strcmp(op->kind, "cast") == 0)
    return constant(it, zb_paddle_input(op, "X"), depth + 1, out);
  if (strcmp(op->kind, "full_like") == 0) return constant(it, zb_paddle_input(op, "Value"), depth + 1, out);
  if (strcmp(op->kind, "scale") != 0 || !constant(it, zb_paddle_input(op, "X"), depth + 1, out)) return false;
  const zb_paddle_value *by = zb_paddle_input(op, "ScaleTensor");
  if (by ? !constant(it, by, depth + 1, &factor) : !number_of(op, "scale", &factor)) return false;
  const zb_paddle_attribute *after = zb_paddle_find(op, "bias_after_scale");
  if (!number_of(op, "bias", &bias)) bias = 0;
  *out = !after || after->integer ? *out * factor + bias : (*out + bias) * factor;
  return true;
}

bool zb_paddle_constant(const zb_paddle *it, const zb_paddle_value *value, double *out) {
  return constant(it, value, 0, out);
}

/* Behind all ops of the startup program a variable has the value that was written last. */
bool zb_paddle_initial(const zb_paddle *it, const char *name, double *out) {
  for (size_t i = it->startup.op_count; i-- > 0;) {
    const zb_paddle_op *op = &it->startup.ops[i];
    const char *named = zb_paddle_text_in(op, "parameter_name output_name");
    if (named && strcmp(named, name) == 0 && op->input_count == 1)
      return op->operand_count == 1 && op->operands[0] && op->operands[0]->producer &&
             constant(it, op->operands[0], 0, out);
    for (int k = 0; k < op->result_count && !it->startup.is_pir; ++k)
      if (op->results[k] && strcmp(op->results[k]->name, name) == 0) return constant(it, op->results[k], 0, out);
  }
  return false;
}

/* ---- The file ---- */

/* "gpt.main.pir.json" -> "gpt.startup.pir.json"; NULL: the name has no "main", or memory ran out. */
static const char *beside(zb_import *im, const char *path) {
  const char *name = strrchr(path, '/'), *found = NULL;
  for (const char *at = name ? name + 1 : path; (at = strstr(at, "main")); ++at)
    found = at;
  if (!found) return NULL;
  zb_text text = {0};
  zb_text_add(&text, "%.*sstartup%s", (int)(found - path), path, found + strlen("main"));
  return zb_import_take_built(im, &text);
}

zb_result zb_paddle_read_startup(zb_paddle *it) {
  zb_import *im = &it->core;
  const char *path = im->params->startup;
  zb_import_source file;
  if (!path) {
    path = beside(im, im->params->path);
    if (im->failed) return ZB_FAIL;
    if (!path || access(path, F_OK) != 0) return ZB_OK;
  }
  zb_status status = zb_import_source_open(path, NULL, &file);
  if (status) return zb_import_fail_status(im, status);
  it->startup.path = path;
  zb_result result = zb_paddle_read_program(im, &file, &it->startup);
  zb_import_source_close(&file);
  return result;
}
