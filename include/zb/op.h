/* The row of an op: everything a pass may ask of it.
 *
 * Passes know no list of ops. They ask a table what an op is: whether it may be erased, what it costs, which operand it
 * updates in place, how its gradient splits into one op a result. The table has a row for each zb op (zb/ops.def), and
 * gets rows of other dialects by zb_op_register. An op without a row is taken as it is: it is not pure, is no view, is
 * never split, and its cost follows from its types. An example is examples/embed-c.
 *
 *   static MlirValue split(zb_builder *b, MlirOperation op, int result) { ... }      one op of ours for each result
 *   static const zb_op_def GRAD = {.name = "toy.mix_grads", .operands = "x, w, d", .results = "dx, dw",
 *                                  .op_class = ZB_CLASS_FOREIGN, .traits = ZB_TRAIT_PURE, .split = split};
 *   zb_status status = zb_op_register(&GRAD);
 *
 * Shapes are those of zb/base.h; an op whose operands have other types is not asked for what depends on shapes. What
 * regions of an op read of the program counts as its operands, of which a row cannot know: such an op is taken as one
 * without a row. A value without a size (index, a tensor of dynamic dimensions) cannot pass from one job to another; an
 * op without operands that makes one needs a row with the trait PURE, and is then made wherever it is read.
 * Functions of a row may run on several threads at a time, on different ops. They keep nothing, and report what is
 * wrong (zb_op_fail in `infer`, zb_op_error_at in `split` and `grad`).
 */
#ifndef ZB_OP_H
#define ZB_OP_H

#include "zb/kernel.h"
#include "zb/status.h"

#include <math.h>
#include <mlir-c/IR.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zb_result { ZB_FAIL = 0, ZB_OK = 1 } zb_result;

/* FOREIGN is the class of the ops of other dialects; the others are those of zb/ops.def. */
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
  /* Draws random numbers by its last operand, `counter`: a result element also depends on its place, so views may not
   * move past it where it is ELEMENTWISE. Where it drops elements, an evaluation has another op (`in_evaluation`). */
  ZB_TRAIT_RANDOM = 1 << 7,
  ZB_TRAIT_LINEAR = 1 << 8,   /* of sums of operands it gives the sum of its results */
  ZB_TRAIT_OF_PARTS = 1 << 9, /* an op whose tensors may all be the same part of larger ones: replicas then make a part
                                 of the results each, with the same bits */
  ZB_TRAIT_BORDER = 1 << 10,  /* its `place` tells values of one shard from others (ZB_LOCAL) */
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

/* The most operands, attributes, and numbers in lists of attributes, that an op with a row may have. */
enum { ZB_VIEW_OPERANDS = 64, ZB_VIEW_ATTRS = 24, ZB_VIEW_INTS = 256 };

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
ZB_API zb_result zb_op_fail(zb_op_error *error, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);

/* What mixed precision (zb-mixed-precision) does with an op, where `low` is the narrow type (bf16) and f32
 * the full one. */
typedef enum zb_mixed {
  ZB_MIXED_FULL,   /* operands and results in f32: what is not known to bear less */
  ZB_MIXED_LOW,    /* operands cast to low: products */
  ZB_MIXED_FOLLOW, /* low if its operands are; f32 if one of them is: views, copies, cheap arithmetic */
  ZB_MIXED_ANY,    /* takes each operand as it comes, computes in f32: casts, losses */
} zb_mixed;

/* What an op costs. The time of the built-in model follows from product_flops and bytes, since other ops wait for
 * memory; other flops are reported only. */
typedef struct zb_cost {
  double flops;         /* multiply and add count as one each */
  double product_flops; /* the part of them in matrix products */
  double bytes;         /* moved; 0 = operands + results from the types */
} zb_cost;

/* Where the elements of a tensor lie: offset into its base, and strides. */
typedef struct zb_strided {
  int64_t offset; /* elements */
  int64_t strides[ZB_DIMS_MAX];
} zb_strided;

/* ---- Building ops ---- */

/* Where ops go: before `before` if it is not null, else at the end of `block`. New ops get `location`, and every
 * attribute in `marks` (such as zb.of) is put on them. Bits of a builder may be changed freely between builds. An op
 * that is made by other means goes to the same place, with these marks. */
typedef struct zb_builder {
  MlirContext context;
  MlirBlock block;
  MlirOperation before;
  MlirLocation location;
  const MlirNamedAttribute *marks;
  int mark_count;
  bool failed; /* set when a build failed (the error was reported); all later builds return null */
} zb_builder;

/* Attribute literals for zb_build_op. */
ZB_API zb_attr zb_bool(const char *name, bool value);
ZB_API zb_attr zb_int(const char *name, int64_t value);
ZB_API zb_attr zb_float(const char *name, double value);
ZB_API zb_attr zb_ints(const char *name, const int64_t *values, int count);
ZB_API zb_attr zb_string(const char *name, const char *value);

/* Builds "zb.<name>", or an op of another dialect whose row has `infer` by its full name, with the inferred result
 * types (result_count results; -1: as many as the row names without optional and variadic ones). Null operands at the
 * end are left out (absent optionals). On failure reports at the builder's location, sets b->failed and returns a null
 * op. */
ZB_API MlirOperation zb_build_op(zb_builder *b, const char *name, const MlirValue *operands, int operand_count,
                                 const zb_attr *attrs, int attr_count, int result_count);
/* The same for ops of one result; returns result 0 (null on failure). */
ZB_API MlirValue zb_build(zb_builder *b, const char *name, const MlirValue *operands, int operand_count,
                          const zb_attr *attrs, int attr_count);
/* Any op with given result types (for put, get, recv, accumulate and foreign ops), full name with dialect. */
ZB_API MlirOperation zb_build_any(zb_builder *b, const char *full_name, const MlirValue *operands, int operand_count,
                                  const MlirType *results, int result_count, const MlirNamedAttribute *attrs,
                                  int attr_count);

/* Shape of a value or type; false if it is no ranked static tensor of a known element type. */
ZB_API bool zb_type_shape(MlirType type, zb_shape *out);
ZB_API MlirType zb_shape_type(MlirContext context, const zb_shape *shape);
/* Reports an error at the op (at the location) through MLIR's diagnostics; returns ZB_FAIL. The hint, which may be
 * NULL, is the last line of the message, "hint: TEXT". */
ZB_API zb_result zb_op_error_at(MlirOperation op, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
ZB_API zb_result zb_location_error(MlirLocation location, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);

/* What `grad` of a row works on. */
typedef struct zb_gradient {
  zb_builder *b;
  MlirOperation op;
  zb_op_view view;       /* of op */
  const MlirValue *dout; /* dout[i]: the gradient of result i, or null; one is there */
  const bool *needs;     /* which operands need a gradient: one does */
  MlirValue *din;        /* to set for each operand k with needs[k]; left null: zero */
} zb_gradient;

struct zb_placing;
struct zb_shard_build;

#define ZB_OPERAND(k) ((k) + 1)

typedef struct zb_op_def {
  const char *name;         /* "matmul" (without "zb."), or with its dialect for foreign ops: "pd_op.matmul" */
  const char *summary;      /* one line */
  const char *doc;          /* constraints labelled C1:, C2:, ...; each label is named in an error text and in a test */
  const char *operands;     /* "lhs, rhs"; "x, scale, bias?" (one optional, anywhere) or "first, second, rest*" */
  const char *results;      /* "out, mean, rstd"; "frame"; NULL or "" for none */
  const char *irdl;         /* NULL: made from operands and results, all tensors; else the body of irdl.operation */
  const zb_attr_def *attrs; /* ends with a row whose name is NULL; NULL for none */
  zb_op_class op_class;
  unsigned traits;
  zb_mixed mixed;         /* of VIEWs it counts as FOLLOW */
  unsigned full_operands; /* MIXED_LOW: bit k: operand k of the row stays f32 */
  int kinds;              /* of element types of operand 0, for an infer that serves a family (rows of zb ops) */
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
  /* VIEW: where result i lies, by where the operand does; false where strides cannot express it (then a copy is
   * needed).
   */
  bool (*view)(const zb_op_view *op, const zb_strided *in, int result, const zb_shape *result_shape, zb_strided *out);
  /* Emits zb.<name>_grad or simpler ops at the builder's place, which fails after an error that was reported. NULL:
   * "not differentiable" error. */
  void (*grad)(zb_gradient *g);
  /* Of a RANDOM op: the op that stands for it in an evaluation, with its operands but the counter, those of its
   * attributes that it has, and its results; "": result 0 is operand 0 as it is. NULL: the op is the same in an
   * evaluation. */
  const char *in_evaluation;
  /* Of forward ops: what it needs and gives where shards compute it together (below). NULL: every shard has
   * all of its operands, and computes all. */
  void (*place)(struct zb_placing *p);
  /* COMPOSITE and FOREIGN ops with several results: builds result i alone from other ops, and returns it, of the type
   * that the result has. Null: there is no rule for that result, which is an error. NULL: the op stays whole. */
  MlirValue (*split)(zb_builder *b, MlirOperation op, int result);
} zb_op_def;

/* Adds the row of an op of another dialect; `def` and what it points to must live as long as the process. USAGE with a
 * hint: the name is taken, has no dialect or that of zb, the class is not FOREIGN, or what the row says does not go
 * together. The table is one for the whole process, and no row leaves it: register all rows before passes run. Passes
 * on any number of threads read it; nothing may run at the same time as this function. */
ZB_API zb_status zb_op_register(const zb_op_def *def) ZB_MUST_USE;

/* ---- Placements ----
 *
 * Where the parts of a value are when several shards compute one program (tensor parallel), and what an op needs of its
 * operands for that.
 *
 * REPLICATED: every shard has all of it. CUT: a shard has an equal part of one dimension. PARTIAL: every shard has a
 * value of that shape, and the true one is their sum. OPEN: a parameter, or what is made of one alone, which may still
 * be cut as its readers want. LOCAL: of a region between zb.to_local and zb.from_local: every shard has a
 * value of its own; all that is computed of one is, whatever the row, but what is a BORDER. `place` of an op's row
 * says what it needs and what it gives; zb-shard puts collectives where that does not fit. */

typedef enum zb_spread { ZB_REPLICATED, ZB_CUT, ZB_PARTIAL, ZB_OPEN, ZB_LOCAL } zb_spread;

enum { ZB_SEGMENTS_MAX = 16, ZB_PLACED_RESULTS = 64 };

/* segments: the dimension consists of so many runs one behind the other, and a shard has a part of each (the columns of
 * q, k and v in one product); 0: of one run. padded: the shards do not divide it: the last ones have elements that mean
 * nothing (one run alone). sequence: of the tokens of activations (sequence parallel): an op that needs all of it gets
 * it, where another cut would be given up; equal runs are those of several samples. */
typedef struct zb_place {
  zb_spread spread;
  int dim;
  bool padded, sequence;
  int segment_count;
  int64_t segments[ZB_SEGMENTS_MAX];
} zb_place;

/* What `place` works on. Shapes are those of the whole program. It sets what the op needs of each operand (as it comes:
 * leave it), and what its results then are. What it does not set of results is REPLICATED. It is asked again whenever
 * an operand is decided: a parameter that it wanted cut comes OPEN first, and CUT as it said then. */
typedef struct zb_placing {
  const zb_op_view *op;
  const zb_shape *results;
  int64_t shards;
  const bool *from_data; /* [operand] depends on an input of the model */
  /* Where a sum over shards of the shape of result 0 is to be cut by tokens; NULL: nowhere, every shard gets it whole.
   */
  const zb_place *sequence;
  zb_place operands[ZB_VIEW_OPERANDS];
  zb_place out[ZB_PLACED_RESULTS];
  /* Operands that every shard reads for all: a REPLICATED one whose gradient is whole on every shard. Bit k: operand k.
   */
  uint64_t whole;
  /* An attribute that is another one for the part of a shard. */
  zb_attr changed[2];
  int changed_count;
  int64_t numbers[2][ZB_VIEW_INTS];
  /* What each shard computes where it is not the op on parts. NULL: it is. */
  void (*build)(struct zb_shard_build *s);
  /* Why operand `about` cannot stay cut, where another cut would do: ends of the runs that it has to consist of, in
   * elements of its dimension. 0: no other would. */
  int about, run_count;
  int64_t runs[ZB_SEGMENTS_MAX];
  int64_t undivided; /* heads or elements for whose number nothing is cut: the shards do not divide it; 0: none */
} zb_placing;

/* What `build` of a placing works on. */
typedef struct zb_shard_build {
  zb_builder *b;
  const zb_op_view *op; /* whole */
  const zb_placing *placing;
  MlirValue operands[ZB_VIEW_OPERANDS]; /* of a shard, as the op needs them; null: absent */
  MlirValue coordinate;                 /* i64 [1]: number of the shard */
  MlirValue results[ZB_PLACED_RESULTS]; /* to set */
} zb_shard_build;

/* ---- Rules that several rows share ---- */

/* Elementwise with broadcasting: all operands are cut where the first cut one is. LINEAR ops pass on PARTIAL values. */
ZB_API void zb_place_elementwise(zb_placing *p);
/* Of an op along dimensions from or at its axis ("axis"): others may be cut. Operand 0 and all results have its shape,
 * up to the axis; other operands are read whole. */
ZB_API void zb_place_rows(zb_placing *p);

/* Sets the attribute of that name, INTS, for the part of a shard. */
ZB_API void zb_placing_change(zb_placing *p, const char *name, const int64_t *values, int count);
/* What a parameter of so many elements along a dimension can be cut into: padded where the shards do not divide them,
 * of many. False: it stays whole. */
ZB_API bool zb_place_parameter(zb_placing *p, int dim, int64_t size, zb_place *out);
/* Nothing is cut: every shard has all operands. */
ZB_API void zb_place_whole(zb_placing *p);
/* The sum, or the greatest, over all shards. */
ZB_API MlirValue zb_build_all_reduce(zb_builder *b, MlirValue x, int64_t shards, const char *reduction);

#ifdef __cplusplus
}
#endif
#endif
