/* The rows, and what is said of ops that have none. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <string.h>

/* A row, and the function that it names; run checks what that gives. */
typedef struct row {
  zb_import_op op; /* first: n->op is cast back to it */
  zb_result (*build)(zb_import_node *n);
  bool leaves_range;
} row;

static zb_result run(zb_import_node *n) {
  const row *r = (const row *)n->op;
  if (!r->build(n) || n->im->failed || n->b->failed) return ZB_FAIL;
  if (r->leaves_range && !zb_stablehlo_wrap_results(n)) return ZB_FAIL;
  return zb_stablehlo_check_results(n);
}

enum { STAYS = false, LEAVES = true };
#define ROW(name, least, most, results, gradient, function, zb_op, fold, range)                                        \
  {{#name, "", least, most, results, gradient, run, zb_op, fold, 0}, zb_stablehlo_##function, range},

static const row rows[] = {
#define ZB_STABLEHLO ROW
#define ZB_CHLO(...)
#include "ir/import/stablehlo/stablehlo_ops.def"
#undef ZB_STABLEHLO
#undef ZB_CHLO
};

static const row chlo_rows[] = {
#define ZB_STABLEHLO(...)
#define ZB_CHLO ROW
#include "ir/import/stablehlo/stablehlo_ops.def"
#undef ZB_STABLEHLO
#undef ZB_CHLO
};

static const zb_import_op *find(const row *list, size_t count, const char *kind) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(list[i].op.name, kind) == 0) return &list[i].op;
  return NULL;
}

const zb_import_op *zb_stablehlo_op_find(const char *kind, bool is_chlo) {
  return is_chlo ? find(chlo_rows, sizeof chlo_rows / sizeof *chlo_rows, kind)
                 : find(rows, sizeof rows / sizeof *rows, kind);
}

#define DYNAMIC "shapes must be numbers: lower with arrays of one size, not with jax.export.symbolic_shape"

/* What is often met and has no row. */
static const struct {
  const char *kind, *hint;
} hints[] = {
    {"all_gather", "lower the function for one device, without shardings: zbc makes replicas and shards itself"},
    {"all_reduce", "lower the function for one device, without shardings: zbc makes replicas and shards itself"},
    {"case", "write the branches with jnp.where, or choose in Python before the function is lowered"},
    {"dynamic_broadcast_in_dim", DYNAMIC},
    {"dynamic_conv", DYNAMIC},
    {"dynamic_gather", DYNAMIC},
    {"dynamic_iota", DYNAMIC},
    {"dynamic_pad", DYNAMIC},
    {"dynamic_reshape", DYNAMIC},
    {"get_dimension_size", DYNAMIC},
    {"if", "write the branches with jnp.where, or choose in Python before the function is lowered"},
    {"rng_bit_generator", "leave dropout and other random numbers out: pass deterministic=True"},
};

const char *zb_stablehlo_known_hint(const char *kind) {
  for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i)
    if (strcmp(hints[i].kind, kind) == 0) return hints[i].hint;
  return NULL;
}

const char *zb_stablehlo_unknown_hint(const char *kind) {
  const char *known = zb_stablehlo_known_hint(kind);
  return known ? known
               : "the rows of ir/import/stablehlo/stablehlo_ops.def are what can be imported; write it with those";
}

zb_result zb_stablehlo_check_node(zb_import_node *n) {
  bool is_chlo;
  MlirOperation op = zb_stablehlo_source(n);
  if (!n->op) {
    const char *kind = zb_stablehlo_kind(op, &is_chlo);
    return zb_import_refuse(n, zb_stablehlo_unknown_hint(kind ? kind : n->kind), "this op is not supported");
  }
  if (!zb_import_check_counts(n, n->output_count, "operands", "results")) return ZB_FAIL;
  if (!zb_stablehlo_of(n->im)->is_step && !n->im->params->inference && zb_stablehlo_is_placed(op, "custom_vjp_call"))
    return zb_import_refuse(
        n, "lower the whole step (jax.value_and_grad): its gradients are compared with those made here",
        "it is in a function of jax.custom_vjp, whose gradient the text of a loss does not have");
  return ZB_OK;
}
