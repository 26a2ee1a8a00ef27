/* Small helpers of the passes that rewrite the ops of one block: canonicalize, cse, dce, raise, autodiff, split_grad,
 * layout. */
#pragma once

#include "passes/function.h"
#include "passes/graph.h"
#include "passes/pass.h"

/* ---- Ops and values ---- */

/* The op that makes a value; null for an argument. */
MlirOperation zb_producer(MlirValue value);
/* The op that makes a value if its full name is `name` ("zb.transpose"), else null. */
MlirOperation zb_producer_named(MlirValue value, const char *name);
bool zb_has_trait(const zb_op_def *def, unsigned trait); /* false for NULL */
bool zb_value_unused(MlirValue value);
bool zb_value_used_once(MlirValue value);      /* by one operand of one op, the terminator included */
int zb_value_uses(MlirValue value, int limit); /* operands that read it, counted up to `limit` */
bool zb_is_numbered(MlirOperation op); /* a forward op of a differentiated program: gradient ops name it (zb.id) */

/* A list of ops in program order, the terminator left out. */
typedef ZB_LIST(MlirOperation) zb_op_list;
zb_status zb_op_list_collect(zb_arena *arena, MlirOperation function, zb_op_list *out) ZB_MUST_USE; /* in the arena */

/* ---- Attributes ---- */

/* Array attribute (array<i64: ...>) of an op: its length, values in `out` (room for ZB_DIMS_MAX). -1 if absent, too
 * long or of another kind. */
int zb_get_ints(MlirOperation op, const char *name, int64_t out[ZB_DIMS_MAX]);
/* Boolean attribute: a bool, or a unit attribute (true); false when absent. */
bool zb_get_flag(MlirOperation op, const char *name);
/* Sets a flag to true, or takes the attribute away. */
void zb_set_flag(MlirOperation op, const char *name, bool value);

/* ---- Constants ---- */

/* The number that all elements of a value have: a zb.constant, perhaps behind zb.expand and zb.reshape. False if there
 * is none. */
bool zb_scalar_constant(MlirValue value, double *out);
/* The element types of constants that passes look into: dtype, name in MLIR's functions, type in memory, and whether
 * it is a float. */
#define ZB_DENSE_TYPES(TYPE)                                                                                           \
  TYPE(ZB_F32, Float, float, true)                                                                                     \
  TYPE(ZB_F64, Double, double, true)                                                                                   \
  TYPE(ZB_I64, Int64, int64_t, false) TYPE(ZB_I32, Int32, int32_t, false) TYPE(ZB_I1, Bool, int, false)
/* Element `index` of dense elements of one of these; false for others. */
bool zb_dense_element(MlirAttribute elements, zb_dtype dtype, int64_t index, double *out_float, int64_t *out_int);

/* ---- Building and erasing ---- */

/* A builder before `op`, at its location, that puts the zb.of of `mark` (if it has one) on what it builds. `storage`
 * must outlive it. */
zb_builder zb_builder_marked(MlirOperation op, MlirOperation mark, MlirNamedAttribute *storage);
/* x transposed; composes with a transpose that makes x, and is x itself where nothing moves. */
MlirValue zb_build_transpose(zb_builder *b, MlirValue x, const int64_t *permutation, int rank);
/* Replaces all uses of the only result of `op` and erases it. */
void zb_replace_op(MlirOperation op, MlirValue value);
void zb_erase_op(MlirOperation op);
/* Erases pure ops that nobody reads, those that they alone kept alive included: one walk from the last op to the first,
 * O(ops). *erased counts them. */
zb_status zb_erase_dead(zb_arena *arena, MlirOperation function, int64_t *erased) ZB_MUST_USE;

/* A zb.cast from bf16 or f16 to f32 of a sum that nobody else reads: its op gives f32 itself ({dtype = "f32"}, of rows
 * that have it), through views between, and the cast is erased. The sum is then not rounded on the way. Whether it was
 * done. */
bool zb_fold_widening_cast(MlirOperation op);

/* Strides of a dense value; a dimension of no elements counts as one. */
void zb_contiguous(const zb_shape *shape, zb_strided *out);

/* ---- What a value depends on ---- */

enum {
  ZB_DEPENDS_DATA = 1 << 0,    /* an input, the step, optimizer state, or an op nobody described or that is not pure */
  ZB_DEPENDS_TRAINED = 1 << 1, /* a zb.param argument */
  ZB_DEPENDS_FROZEN = 1 << 2,  /* a zb.frozen argument */
};
enum { ZB_DEPENDS_WEIGHT = ZB_DEPENDS_TRAINED | ZB_DEPENDS_FROZEN };
/* One byte of these bits a value of the graph, 0 for constants. NULL when out of memory. */
uint8_t *zb_graph_depends(zb_arena *arena, const zb_graph *graph) ZB_MUST_USE;
/* Of an op: the bits of its operands, DATA if it is not pure or unknown. */
unsigned zb_node_depends(const zb_graph *graph, const uint8_t *depends, const zb_node *node);
/* Whether bits are those of a parameter chain: WEIGHT and no DATA. */
bool zb_is_chain(unsigned depends);
