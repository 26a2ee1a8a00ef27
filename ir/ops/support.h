/* Shared by the op rows: checks with labelled messages, broadcasting, and short forms for reading the op whose gradient
 * is built.
 *
 * Checks take the label of the constraint ("C1") as in the row's doc; it ends every message, so that one grep
 * goes from an error to its rule. They return ZB_FAIL after setting *error.
 */
#pragma once

#include "ir/builder.h"
#include "ir/op.h"

/* ---- Classes of element types ---- */
/* The type in which kernels keep sums and statistics of this one: f32 for bf16 and f16, else the type itself. */
zb_dtype zb_dtype_wide(zb_dtype dtype);

/* ---- Checks ---- */
/* The element type is of one of these kinds. */
enum { ZB_REALS = 1, ZB_INTEGERS = 2, ZB_LOGIC = 4, ZB_ANY_DTYPE = 7 };
zb_result zb_check_dtype(const zb_op_view *op, int operand, int kinds, const char *label, zb_op_error *error);
/* Operand has exactly this type. `what` says where it comes from: "the type of x". */
zb_result zb_check_type(const zb_op_view *op, int operand, const zb_shape *expected, const char *what,
                        const char *label, zb_op_error *error);
/* Both operands have one type. */
zb_result zb_check_same_type(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error);
zb_result zb_check_same_dtype(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error);
/* Attribute `name` is a dimension number: 0 <= value < rank. */
zb_result zb_check_axis(const zb_op_view *op, const char *name, int rank, const char *label, zb_op_error *error);
/* Attribute `name` (INTS) as a shape of this element type: at most ZB_DIMS_MAX entries, each >= 0, no overflow. */
zb_result zb_check_shape_attr(const zb_op_view *op, const char *name, zb_dtype dtype, zb_shape *out, const char *label,
                              zb_op_error *error);
/* Attribute `dtype` names an element type. */
zb_result zb_check_dtype_attr(const zb_op_view *op, zb_dtype *out, const char *label, zb_op_error *error);
/* The optional attribute `dtype` of a sum: the type of the result, which is that of the operand (the fallback) or the
 * wide one of it. */
zb_result zb_check_sum_dtype(const zb_op_view *op, zb_dtype operand, zb_dtype *out, const char *label,
                             zb_op_error *error);

/* What random ops have: the operand `counter` (i64 [4]; the label), and of ops that drop the attributes rate and op
 * (the two labels behind it). */
zb_result zb_check_counter(const zb_op_view *op, int operand, const char *label, zb_op_error *error);
zb_result zb_check_drop(const zb_op_view *op, const char *rate_label, const char *op_label, zb_op_error *error);
/* Operations of a draw and its use: a quarter of a call of Philox. */
enum { ZB_DRAW_FLOPS = 32 };
#define ZB_DROP_ATTRS                                                                                                  \
  {"rate", ZB_ATTR_FLOAT, false, 0, "the share that is dropped: rate = 0.1"},                                          \
      {"op", ZB_ATTR_INT, false, 0, "which random op of the program it is"}

/* What ops have that know how many shards there are, 2 or more. */
#define ZB_MEMBERS_ATTR {"members", ZB_ATTR_INT, false, 0, "how many shards there are: members = 2 : i64"}
zb_result zb_check_members(const zb_op_view *op, const char *label, zb_op_error *error);

/* ---- Reading ---- */
const zb_attr *zb_attr_ints(const zb_op_view *op,
                            const char *name); /* never NULL for a required attribute of a checked op */
double zb_elements(const zb_shape *shape);     /* as a double, for costs */
zb_shape zb_scalar_shape(zb_dtype dtype);

/* ---- Gradients ---- */
/* Operand, result and shape of an op that is known to be valid. */
MlirValue zb_operand(MlirOperation op, int index);
MlirValue zb_result_value(MlirOperation op, int index);
zb_shape zb_value_shape(MlirValue value);
/* "NAME_grad" of the op's row. */
enum { ZB_OP_NAME_BYTES = 80 };
const char *zb_op_grad_name(const zb_gradient *g, char text[ZB_OP_NAME_BYTES]);
/* A `grad` of rows whose gradient op says all by its names. zb.NAME_grad gets, by the names of its operands, operands
 * and results of the op, and as "dout" the gradient of the result "out"; a result "dx" is the gradient of the operand
 * "x". Its attributes are those of the op; where that has none of the name, "shape" is the shape of the operand whose
 * gradient comes first, "x_shape" that of x, and a flag named as an optional operand says whether that is there. The
 * gradient of a result without a "d..." is an error. */
void zb_grad_named(zb_gradient *g);

/* The row of the attribute of zb_check_sum_dtype. */
#define ZB_SUM_DTYPE_ATTR                                                                                              \
  {"dtype", ZB_ATTR_STRING, true, 0, "\"f32\": the sums of bf16 or f16 operands are not rounded back"}

/* Name and class of a row of zb/ops.def. */
#define ZB_ROW(NAME) .name = #NAME, .op_class = (zb_op_class)ZB_CLASS_OF_##NAME
enum {
#define ZB_OP(name, op_class) ZB_CLASS_OF_##name = ZB_CLASS_##op_class,
#define ZB_GRAD(name, op_class) ZB_CLASS_OF_##name##_grad = ZB_CLASS_##op_class,
#include "zb/ops.def"
#undef ZB_OP
#undef ZB_GRAD
};

/* Attribute tables of the rows: ATTRS({...}, {...}) with the row that ends it. */
#define ZB_ATTRS(...) ((const zb_attr_def[]){__VA_ARGS__, {.name = NULL}})
