/* What the patterns of zb-raise share: one function a pattern, and small matchers. */
#pragma once

#include "passes/rewrite.h"

typedef enum zb_raised {
  ZB_RAISED_NOT,    /* the pattern is not there */
  ZB_RAISED,        /* the root was replaced; it stays, without operands, until dead ops are erased */
  ZB_RAISED_FAILED, /* an error was reported */
} zb_raised;

/* The op that a pattern looks at, and what it may ask about the whole program. */
typedef struct zb_raise {
  MlirOperation root;
  const zb_graph *graph; /* of the program before the pass */
  const uint8_t *depends;
} zb_raise;
/* Whether a gradient may be asked of this value: it depends on a trained parameter, or was made by this pass. */
bool zb_raise_trainable(const zb_raise *r, MlirValue value);
/* The operands of the root, and whether a value has the type of its result. */
MlirValue zb_raise_operand(const zb_raise *r, int index);
bool zb_raise_has_type(const zb_raise *r, MlirValue value);

/* A pattern tries to replace the root; tried on every op in program order. */
typedef zb_raised (*zb_raise_pattern)(const zb_raise *r);
zb_raised zb_raise_gelu(const zb_raise *r);
zb_raised zb_raise_silu(const zb_raise *r);
zb_raised zb_raise_swiglu(const zb_raise *r);
zb_raised zb_raise_rms_norm(const zb_raise *r);
zb_raised zb_raise_layer_norm(const zb_raise *r);
zb_raised zb_raise_norm_bias(const zb_raise *r);
zb_raised zb_raise_attention(const zb_raise *r);
zb_raised zb_raise_rotary(const zb_raise *r);
zb_raised zb_raise_bias(const zb_raise *r);
zb_raised zb_raise_power(const zb_raise *r);

/* Replaces the root by a value; RAISED, or FAILED where the builder failed. */
zb_raised zb_raise_finish(const zb_builder *b, MlirOperation root, MlirValue value);
/* Replaces the root by result 0 of one op: zb_build_op. */
zb_raised zb_raise_replace(const zb_raise *r, const char *name, const MlirValue *operands, int operand_count,
                           const zb_attr *attrs, int attr_count);

/* transpose(value): composed with a transpose that makes it; or, where that makes all transposes above it cancel,
 * through the elementwise ops, slices and concats between (raise_hoist.c). At most one op may read `value`. Null and
 * b->failed on failure. */
MlirValue zb_raise_transposed(zb_builder *b, MlirValue value, const int64_t *permutation, int rank);

/* Constants written in decimal by exporters: equal within 1e-5 relative. */
bool zb_near(double a, double b);

/* The producer of a value if it is `name` and the value has no other reader, else null: what lies inside of a pattern.
 */
MlirOperation zb_inner(MlirValue value, const char *name);
/* An op "name"(x, constant) or, for either order, "name"(constant, x): gives x and the number. `value` must have no
 * other reader. */
bool zb_inner_with_scalar(MlirValue value, const char *name, bool either_order, MlirValue *x, double *number);
/* Operand `index` of such an op, or null. */
MlirValue zb_inner_operand(MlirValue value, const char *name, int index);

/* A value as polynomial in x of degree 3 at most, c[0] + c[1] x + ...; every value between must have one reader. */
enum { ZB_POLYNOMIAL_DEGREE = 3 };
typedef struct zb_polynomial {
  double c[ZB_POLYNOMIAL_DEGREE + 1];
} zb_polynomial;
bool zb_polynomial_of(MlirValue value, MlirValue x, int depth, zb_polynomial *out);

/* The x of x*x as mul(x, x) or pow(x, 2), read once, or null. */
MlirValue zb_square_root_of(MlirValue value);
