/* The row of an op: everything a pass may ask of it. One row an op; rows of ops of other dialects are added with
 * zb_op_register. All of it except `grad` and `split` is free of MLIR, so that it works on shapes alone. */
#ifndef ZB_IR_OP_H
#define ZB_IR_OP_H

#include "zb/kernel.h"
#include "zb/status.h"

#include <math.h>
#include <mlir-c/IR.h>

typedef enum zb_result { ZB_FAIL = 0, ZB_OK = 1 } zb_result;

typedef enum zb_op_class {
  ZB_CLASS_KERNEL,
  ZB_CLASS_VIEW,
  ZB_CLASS_COMPOSITE,
  ZB_CLASS_STRUCTURE,
  ZB_CLASS_FOREIGN
} zb_op_class;

enum {
  ZB_TRAIT_PURE = 1 << 0,        /* no effect but its results: may be erased, merged, cloned */
  ZB_TRAIT_ELEMENTWISE = 1 << 1, /* result element i reads operand element i (broadcast) only: may run in place */
  ZB_TRAIT_COMMUTATIVE = 1 << 2,
  ZB_TRAIT_ACCUMULATES = 1 << 3,   /* its kernels can add into result 0 */
  ZB_TRAIT_STRIDED = 1 << 4,       /* its kernels take operands of any strides (matmul, attention: one unit stride) */
  ZB_TRAIT_ZERO_GRADIENT = 1 << 5, /* gradient zero, or integer valued: autodiff stops here silently */
  ZB_TRAIT_UPDATE = 1 << 6,        /* an optimizer update: results alias operands (see `alias`) */
  /* Draws random numbers by its operand `counter`, and drops the share `rate`: a result element also depends on its
   * place, so views may not move past it although it is ELEMENTWISE. An evaluation has another op (`in_evaluation`).
   */
  ZB_TRAIT_RANDOM = 1 << 7,
  ZB_TRAIT_LINEAR = 1 << 8,   /* of sums of operands it gives the sum of its results */
  ZB_TRAIT_OF_PARTS = 1 << 9, /* an op whose tensors may all be the same part of larger ones: replicas then make a part
                                 of the results each, with the same bits */
  ZB_TRAIT_BORDER = 1 << 10,  /* its `place` tells values of one shard from others (ZB_LOCAL, ir/placement.h) */
  ZB_TRAIT_NUMBER = 1 << 11,  /* of parts of its operand it gives numbers, of which one of the whole can be made */
};

/* Kind of an attribute that only the IR has (`value` of zb.constant): any elements attribute. Never in a zb_op_view. */
#define ZB_ATTR_ELEMENTS ((zb_attr_kind)(ZB_ATTR_STRING + 1))

/* default_number of an optional attribute without a default: when absent it is absent from the view too. Optional INTS
 * and STRING attributes never have a default. */
#define ZB_NO_DEFAULT NAN

/* An attribute an op may carry. Required unless `optional`; a default applies when an optional one is absent. */
typedef struct zb_attr_def {
  const char *name;
  zb_attr_kind kind;
  bool optional;
  double default_number; /* BOOL, INT and FLOAT */
  const char *help;
} zb_attr_def;

/* An op as plain data: what infer, cost and view see. Absent optional operands have rank -1. */
typedef struct zb_op_view {
  const struct zb_op_def *def;
  const zb_shape *operands;
  int operand_count;
  zb_attrs attrs; /* defaults filled in */
  int result_count;
} zb_op_view;

/* Text of what is wrong and what to do, set by infer on failure. */
typedef struct zb_op_error {
  char text[256];
  char hint[192];
} zb_op_error;
/* Sets both texts (hint may be NULL) and returns ZB_FAIL. Text: "what is wrong: expected X, got Y (C1)". */
zb_result zb_op_fail(zb_op_error *error, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);

/* What mixed precision (passes/graph/mixed_precision.c) does with an op, where `low` is the narrow type (bf16) and f32
 * the full one. */
typedef enum zb_mixed {
  ZB_MIXED_FULL,   /* operands and results in f32: what is not known to bear less */
  ZB_MIXED_LOW,    /* operands cast to low: products */
  ZB_MIXED_FOLLOW, /* low if its operands are; f32 if one of them is: views, copies, cheap arithmetic */
  ZB_MIXED_ANY,    /* takes each operand as it comes, computes in f32: casts, losses */
} zb_mixed;

typedef struct zb_cost {
  double flops;         /* multiply and add count as one each */
  double product_flops; /* the part of them in matrix products */
  double bytes;         /* moved; 0 = operands + results from the types */
} zb_cost;

/* Where a tensor lies: element offset into its base and strides, for views. */
typedef struct zb_layout {
  int64_t offset; /* elements */
  int64_t strides[ZB_DIMS_MAX];
} zb_layout;

typedef struct zb_builder zb_builder; /* ir/builder.h */

/* What `grad` of a row works on. */
typedef struct zb_gradient {
  zb_builder *b;
  MlirOperation op;
  zb_op_view view;       /* of op */
  const MlirValue *dout; /* dout[i]: the gradient of result i, or null; one is there */
  const bool *needs;     /* which operands need a gradient: one does */
  MlirValue *din;        /* to set for each operand k with needs[k]; left null: zero */
} zb_gradient;

struct zb_placing; /* ir/placement.h */

#define ZB_OPERAND(k) ((k) + 1)

typedef struct zb_op_def {
  const char *name;         /* "matmul" (without "zb."), or with its dialect for foreign ops: "pd_op.matmul" */
  const char *summary;      /* one line */
  const char *doc;          /* constraints labelled C1:, C2:, ...; each label is named in an error text and in a test */
  const char *operands;     /* "lhs, rhs"; "x, scale, bias?" (one optional, anywhere); "first, second, rest*" */
  const char *results;      /* "out, mean, rstd"; "frame"; NULL or "" for none */
  const char *irdl;         /* NULL: made from operands and results, all tensors; else the body of irdl.operation */
  const zb_attr_def *attrs; /* ends with a row whose name is NULL; NULL for none */
  zb_op_class op_class;
  unsigned traits;
  zb_mixed mixed;         /* of VIEWs it counts as FOLLOW */
  unsigned full_operands; /* MIXED_LOW: bit k: operand k of the row stays f32 */
  int kinds;              /* of element types of operand 0, for an infer that serves a family (ir/ops/support.h) */
  double flops;           /* operations an element of result 0, or of operand k where counted is ZB_OPERAND(k) */
  int counted;
  /* Result shapes from operand shapes and attributes, checking all constraints; results has op->result_count entries.
   * NULL: results may have any type. */
  zb_result (*infer)(const zb_op_view *op, zb_shape *results, zb_op_error *error);
  /* NULL: `flops`, bytes from the types. */
  zb_cost (*cost)(const zb_op_view *op, const zb_shape *results);
  /* Bytes of workspace that one call needs besides its operands. NULL: 0. */
  uint64_t (*scratch_bytes)(const zb_op_view *op, const zb_shape *results);
  /* Which operand's buffer result i updates in place (-1: none). NULL: none. */
  int (*alias)(const zb_op_view *op, int result);
  /* VIEW: layout of result i over the operand's layout; false where strides cannot express it (then a copy is needed).
   */
  bool (*view)(const zb_op_view *op, const zb_layout *in, int result, const zb_shape *result_shape, zb_layout *out);
  /* Emits zb.<name>_grad or simpler ops at the builder's place, which fails after an error that was reported. NULL:
   * "not differentiable" error. */
  void (*grad)(zb_gradient *g);
  /* Of a RANDOM op, whose last operand is its counter: the op that stands for it in an evaluation, with its other
   * operands, those of its attributes that it has, and its results; "": result 0 is operand 0 as it is. NULL: the op is
   * the same in an evaluation. */
  const char *in_evaluation;
  /* Of forward ops: what it needs and gives where shards compute it together (ir/placement.h). NULL: every shard has
   * all of its operands, and computes all. */
  void (*place)(struct zb_placing *p);
  /* COMPOSITE gradient ops with several results: builds result i alone from other ops. NULL: the op stays whole. */
  MlirValue (*split)(zb_builder *b, MlirOperation op, int result);
} zb_op_def;

/* ---- The registry: built-in rows (zb/ops.def) and rows of embedders. Reading is thread-safe, registering is not. ----
 */
/* The row of an op, or NULL for an op without a row (the safe default: not pure, no views, never split). */
const zb_op_def *zb_op_find(MlirOperation op);
const zb_op_def *zb_op_find_name(const char *full_name); /* "zb.matmul", "pd_op.matmul"; also "matmul" for zb ops */
int zb_op_count(void);
const zb_op_def *zb_op_at(int index); /* in the order of ops.def, then the registered ones */
/* The row must live as long as the process. Fails with USAGE if the name is taken. */
zb_status zb_op_register(const zb_op_def *def) ZB_MUST_USE;

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
enum { ZB_VIEW_OPERANDS = 64, ZB_VIEW_ATTRS = 24, ZB_VIEW_INTS = 256 };
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
/* Shape of a value or type; false if it is no ranked static tensor of a known element type. */
bool zb_type_shape(MlirType type, zb_shape *out);
MlirType zb_shape_type(MlirContext context, const zb_shape *shape);
enum { ZB_FRAME_KIND_BYTES = 16 };
/* !zb.frame<"fb", 192>: kind is "fb", "fw", "bw", or a pool: "parameters", "state", "gradients", "constants",
 * "step".
 * zb_type_frame: false if the type is no frame. */
MlirType zb_frame_type(MlirContext context, const char *kind, uint64_t bytes);
bool zb_type_frame(MlirType type, char kind[ZB_FRAME_KIND_BYTES], uint64_t *bytes);
/* Bytes of a value of any type: tensors by shape (contiguous, not rounded), zb.frame by its size, else 0. */
uint64_t zb_type_bytes(MlirType type);

/* Reports an error at the op through MLIR's diagnostics, with the hint (may be NULL) after it; returns ZB_FAIL. The
 * driver's diagnostic handler prints file, line, source line, caret and hint (ir/diagnostics.c). */
zb_result zb_op_error_at(MlirOperation op, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
zb_result zb_location_error(MlirLocation location, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);

/* Checks a module: every zb op against its row (operand counts, attributes known and of the right kind, infer gives the
 * result types), attributes of functions and arguments (zb.*). All errors are reported, each at its op. */
zb_result zb_verify_module(MlirOperation module);

#endif
