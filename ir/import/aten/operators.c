/* The rows, and what is said of ops that have none. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <string.h>

/* A row, and the function that it names; run checks what that gives. */
typedef struct row {
  zb_import_op op; /* first: n->op is cast back to it */
  zb_result (*build)(zb_import_node *n);
} row;

/* Whether what a node gave has the types that the file declares. */
static zb_result check_results(zb_import_node *n) {
  for (int i = 0; i < n->output_count; ++i) {
    zb_shape declared;
    if (!n->outputs[i]) continue;
    if (!zb_aten_result_shape(n, i, &declared) || !zb_import_check_output(n, i, &declared)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* Of bf16 and f16 PyTorch computes these formulas in f32, and rounds what they give. */
static zb_result (*const wide_formulas[])(zb_import_node *n) = {
    zb_aten_attention, zb_aten_batch_norm, zb_aten_group_norm, zb_aten_loss,
    zb_aten_softplus,  zb_aten_variance,   zb_aten_vector_norm};

static bool widen_operands(zb_import_node *n) {
  bool any = false;
  for (int i = 0; i < n->input_count; ++i) {
    zb_shape shape;
    if (!n->inputs[i] || !zb_operand_shape(n, n->inputs[i], &shape) || !zb_dtype_is_narrow(shape.dtype)) continue;
    n->inputs[i] = zb_operand_cast(n, n->inputs[i], ZB_F32);
    any = true;
  }
  return any;
}

static zb_result round_results(zb_import_node *n) {
  for (int i = 0; i < n->output_count; ++i) {
    zb_shape declared;
    if (!n->outputs[i] || !zb_import_wants(n, i)) continue;
    if (!zb_aten_result_shape(n, i, &declared)) return ZB_FAIL;
    if (!zb_dtype_is_narrow(declared.dtype)) continue;
    const zb_import_value *rounded = zb_operand_cast(n, n->outputs[i], declared.dtype);
    if (!rounded) return ZB_FAIL;
    n->outputs[i]->known = NULL;
    n->outputs[i]->value = rounded->value;
  }
  return ZB_OK;
}

static zb_result run(zb_import_node *n) {
  const row *own = (const row *)n->op;
  bool widens = false;
  for (size_t i = 0; i < sizeof wide_formulas / sizeof *wide_formulas; ++i)
    widens = widens || own->build == wide_formulas[i];
  widens = widens && widen_operands(n);
  if (n->im->failed || !own->build(n) || n->im->failed || n->b->failed) return ZB_FAIL;
  return (!widens || round_results(n)) ? check_results(n) : ZB_FAIL;
}

static const row rows[] = {
#define ZB_ATEN(name, attributes, least, most, results, gradient, function, zb_op)                                     \
  {{#name, attributes, least, most, results, gradient, run, zb_op, ZB_FOLD_NEVER, 0}, zb_aten_##function},
#include "ir/import/aten/aten_ops.def"
#undef ZB_ATEN
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const zb_import_op *zb_aten_op_find(const char *kind) {
  for (size_t i = 0; i < ROW_COUNT; ++i)
    if (strcmp(rows[i].op.name, kind) == 0) return &rows[i].op;
  return NULL;
}

/* What is often met and has no row: the beginning of its name. */
static const struct {
  const char *kind, *hint;
} hints[] = {
    {"binomial", "draw it from torch.bernoulli or torch.rand"},
    {"_sample_dirichlet", "of distributions those that are made of uniform and normal numbers are drawn"},
    {"_standard_gamma", "of distributions those that are made of uniform and normal numbers are drawn"},
    {"poisson", "of distributions those that are made of uniform and normal numbers are drawn"},
    {"convolution", "convolutions are not imported yet"},
    {"_embedding_bag", "write it as F.embedding(...).sum(1), or .mean(1)"},
    {"item", "numbers that are read from tensors cannot be compiled: pass them as Python numbers when exporting"},
    {"_local_scalar_dense", "numbers that are read from tensors cannot be compiled"},
    {"max_pool", "pooling is not imported yet"},
    {"avg_pool", "pooling is not imported yet"},
    {"nonzero", "shapes that depend on data cannot be compiled: use torch.where(condition, a, b)"},
    {"randint", "numbers are drawn from at most 2^31 of them"},
    {"_to_sparse", "sparse tensors are not supported"},
};

void zb_aten_unknown_hint(const char *kind, zb_text *hint) {
  for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i)
    if (strncmp(kind, hints[i].kind, strlen(hints[i].kind)) == 0) {
      zb_text_add(hint, "%s", hints[i].hint);
      return;
    }
  zb_text_add(hint, "write it with ops that are rows of ir/import/aten/aten_ops.def");
}
