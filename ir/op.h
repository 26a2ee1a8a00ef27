/* The op table: the rows of zb ops (zb/ops.def) and those that embedders registered. What a row says is in zb/op.h. All
 * of a row except `grad` and `split` is free of MLIR, so that it works on shapes alone. */
#pragma once

#include "zb/op.h"

/* ---- The registry: built-in rows (zb/ops.def) and rows of embedders. Reading is thread-safe, registering is not. ----
 */
/* The row of an op, or NULL for an op without a row (the safe default: not pure, no views, never split). */
const zb_op_def *zb_op_find(MlirOperation op);
const zb_op_def *zb_op_find_name(const char *full_name); /* "zb.matmul", "pd_op.matmul"; also "matmul" for zb ops */
int zb_op_count(void);
const zb_op_def *zb_op_at(int index); /* in the order of ops.def, then the registered ones */
/* Number of rows of ops.def: rows 0..n-1 are zb ops, the others were registered. */
int zb_op_builtin_count(void);

/* Entry `index` of an operand or result list of a row ("x, scale, bias?"); the text is not NUL-terminated. False past
 * the end. */
typedef struct zb_op_name {
  const char *text;
  int length;
  bool optional, variadic;
} zb_op_name;
bool zb_op_name_at(const char *names, int index, zb_op_name *out);
/* How many entries such a list has. At most one entry is optional or variadic; it may be anywhere (`-1`: there is
 * none). */
typedef struct zb_op_arity {
  int named;              /* entries */
  int least;              /* values an op has at least: entries that are neither optional nor variadic */
  int optional, variadic; /* their index */
} zb_op_arity;
zb_op_arity zb_op_names_arity(const char *names);

/* The op as plain data. An absent optional operand has rank -1 at its named place, so operand numbers of a view are
 * those of the row (in the IR the operands after it are one lower). Fills shapes (room for ZB_VIEW_OPERANDS operands)
 * and attrs; memory is in *storage. False if an operand is no ranked static tensor of a known element type (frames,
 * foreign types). */
typedef struct zb_op_view_storage {
  zb_shape shapes[ZB_VIEW_OPERANDS];
  zb_attr attrs[ZB_VIEW_ATTRS];
  int64_t ints[ZB_VIEW_INTS];
  char strings[512];
} zb_op_view_storage;
bool zb_op_view_get(MlirOperation op, zb_op_view *view, zb_op_view_storage *storage);

/* What the op costs, by `cost` or `flops` of its row. */
zb_cost zb_op_view_cost(const zb_op_view *op, const zb_shape *results);

/* The shape of dims [from, to) of x. */
zb_shape zb_subshape(const zb_shape *x, int from, int to);
/* NumPy broadcast of dims (dtype of out is left alone); out is neither of both. */
bool zb_broadcast(const zb_shape *a, const zb_shape *b, zb_shape *out);
enum { ZB_FRAME_KIND_BYTES = 16 };
/* !zb.frame<"fb", 192>: kind is "fb", "fw", "bw", or a pool: "parameters", "state", "gradients", "constants",
 * "step".
 * zb_type_frame: false if the type is no frame. */
MlirType zb_frame_type(MlirContext context, const char *kind, uint64_t bytes);
bool zb_type_frame(MlirType type, char kind[ZB_FRAME_KIND_BYTES], uint64_t *bytes);
/* Bytes of a value of any type: tensors by shape (contiguous, not rounded), zb.frame by its size, else 0. */
uint64_t zb_type_bytes(MlirType type);

/* Checks a module: every zb op against its row (operand counts, attributes known and of the right kind, infer gives the
 * result types), attributes of functions and arguments (zb.*). All errors are reported, each at its op. */
zb_result zb_verify_module(MlirOperation module);
