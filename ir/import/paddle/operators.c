/* The rows, and what is said of ops that have none. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"
#include "runtime/base/words.h"

#include <stdio.h>
#include <string.h>

/* Says of what a node made which op of the file it comes from, and which is the gradient of that. */
static void mark_origin(zb_paddle *it, const zb_paddle_op *op) {
  char text[256];
  const int length = snprintf(text, sizeof text, "%.60s #%d op_role %lld", op->kind, op->number, (long long)op->role);
  if (op->gradient)
    snprintf(text + length, sizeof text - (size_t)length, ", %.60s #%d op_role %lld", op->gradient->kind,
             op->gradient->number, (long long)op->gradient->role);
  MlirAttribute origin = zb_mlir_string(it->core.context, text);
  MlirOperation made =
      it->last_op.ptr ? mlirOperationGetNextInBlock(it->last_op) : mlirBlockGetFirstOperation(it->core.builder.block);
  for (; made.ptr; made = mlirOperationGetNextInBlock(made)) {
    zb_set_attribute(made, ZB_ATTR_ORIGIN, origin);
    it->last_op = made;
  }
}

/* Whether what a node gave has the types that the file declares. */
static zb_result check_results(zb_import_node *n) {
  const zb_paddle_op *op = zb_paddle_source(n);
  for (int i = 0; i < n->output_count; ++i)
    for (int k = 0; k < op->result_count; ++k) {
      const zb_paddle_value *value = op->results[k];
      if (!value || !n->outputs[i] || value->core != n->outputs[i] || !value->is_static || !value->is_typed) continue;
      if (n->outputs[i]->defined && !zb_import_check_output(n, i, &value->shape)) return ZB_FAIL;
    }
  return ZB_OK;
}

/* Results that nothing reads (Mean, XShape, Mask) need no value. */
static void define_unread(zb_import_node *n) {
  for (int i = 0; i < n->output_count; ++i)
    if (n->outputs[i] && !n->outputs[i]->defined && !n->outputs[i]->read) n->outputs[i]->defined = true;
}

/* A result that stops gradients, of operands that one would flow to, is zb.detach of it. */
static zb_result stop_gradients(zb_import_node *n) {
  const zb_paddle_op *op = zb_paddle_source(n);
  for (int k = 0; k < op->result_count; ++k) {
    const zb_paddle_value *value = op->results[k];
    zb_shape shape;
    if (!value || !value->is_stopped || !value->core || !value->core->value.ptr) continue;
    if (!zb_operand_shape(n, value->core, &shape) || !zb_dtype_is_float(shape.dtype)) continue;
    zb_operand stopped = zb_operand_apply1(n, "detach", value->core);
    if (!stopped) return ZB_FAIL;
    value->core->value = stopped->value;
  }
  return ZB_OK;
}

static zb_result run(zb_import_node *n) {
  zb_paddle *it = zb_paddle_of(n->im);
  const zb_paddle_op *op = zb_paddle_source(n);
  if (!op->row->build(n) || n->im->failed || n->b->failed || !stop_gradients(n)) return ZB_FAIL;
  mark_origin(it, op);
  define_unread(n);
  return check_results(n);
}

static const zb_paddle_row rows[] = {
#define ZB_PADDLE(name, pir, inputs, outputs, attributes, gradient, function, zb_op)                                   \
  {{#name, attributes, 0, -1, -1, gradient, run, zb_op, ZB_FOLD_NEVER, 0},                                             \
   #pir,                                                                                                               \
   inputs,                                                                                                             \
   outputs,                                                                                                            \
   zb_paddle_##function,                                                                                               \
   ZB_PADDLE_FORWARD,                                                                                                  \
   NULL},
#define ZB_PADDLE_GRAD(name, pir, inputs, outputs, of)                                                                 \
  {{#name, "", 0, -1, -1, 0, NULL, "", ZB_FOLD_NEVER, 0}, #pir, inputs, outputs, NULL, ZB_PADDLE_GRADIENT, #of},
#define ZB_PADDLE_STEP(name, pir, inputs, outputs, zb_op)                                                              \
  {{#name, "", 0, -1, -1, 0, NULL, zb_op, ZB_FOLD_NEVER, 0}, #pir, inputs, outputs, NULL, ZB_PADDLE_UPDATE, NULL},
#include "ir/import/paddle/paddle_ops.def"
#undef ZB_PADDLE
#undef ZB_PADDLE_GRAD
#undef ZB_PADDLE_STEP
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const zb_paddle_row *zb_paddle_row_find(const char *kind, bool is_pir) {
  for (size_t i = 0; i < ROW_COUNT; ++i)
    if (strcmp(is_pir ? rows[i].pir : rows[i].op.name, kind) == 0) return &rows[i];
  return NULL;
}

/* How and where an op is computed, and what is known of it otherwise: none changes what it gives. */
bool zb_paddle_is_ignored(const char *name) {
  return zb_word_index(
             "op_role op_role_var op_namescope op_callstack op_device with_quant_attr use_mkldnn mkldnn_data_type "
             "x_data_format y_data_format use_quantizer use_cudnn use_onednn data_format Scale_x Scale_y "
             "Scale_out is_test trainer_id epmap height_sections table_names slot remote_prefetch is_distributed "
             "is_sparse sparse stop_gradient persistable struct_name place infer_flags Scale_in Scale_weights "
             "Scale_in_eltwise workspace_size_MB exhaustive_search use_addto force_fp32_output fuse_alpha "
             "fuse_beta",
             name) >= 0;
}

/* What is often met and has no row: the beginning of its name. */
static const struct {
  const char *kind, *hint;
} hints[] = {
    {"c_", "save the program of one rank, before it is distributed: zbc cuts it into stages itself"},
    {"check_finite", "save the program without AMP: zbc --precision bf16 computes in bf16"},
    {"conditional_block", "write it with paddle.where, or as Python's if when the program is built"},
    {"flash_attn", "write attention as two products and a softmax"},
    {"fused_", "save the program before passes fuse its ops"},
    {"recv", "save the program of one rank, before it is distributed: zbc cuts it into stages itself"},
    {"send", "save the program of one rank, before it is distributed: zbc cuts it into stages itself"},
    {"while", "write loops as Python's for when the program is built"},
    {"if", "write it with paddle.where, or as Python's if when the program is built"},
};

void zb_paddle_unknown_hint(const char *kind, zb_text *hint) {
  const char *names[2 * ROW_COUNT];
  int count = 0;
  for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i)
    if (strncmp(kind, hints[i].kind, strlen(hints[i].kind)) == 0) {
      zb_text_add(hint, "%s", hints[i].hint);
      return;
    }
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (rows[i].class != ZB_PADDLE_FORWARD) continue;
    names[count++] = rows[i].op.name;
    names[count++] = rows[i].pir;
  }
  const char *near = zb_nearest(kind, names, count);
  if (near) zb_text_add(hint, "did you mean '%s'? ", near);
  zb_text_add(hint, "ops that are understood are rows of ir/import/paddle/paddle_ops.def");
}
