/* What the files of the StableHLO importer share: the module, its arguments and results, attributes of its ops, and the
 * functions of the rows. Flow (stablehlo.c): pretty.c makes generic text of the printed form -> MLIR parses it ->
 * arguments.c names arguments and results -> flatten.c makes values and nodes, private functions inlined and loops
 * unrolled -> step.c finds what a whole train step updates, and optimizer.c how -> each node that the loss needs is
 * folded or built by its row of stablehlo_ops.def. Tests: test/ir/import/stablehlo, test/e2e/stablehlo.py.
 */
#pragma once

#include "ir/import/meaning/meaning.h"
#include "ir/import/update.h"

/* What an argument of @main is. OPEN: nobody has said yet. */
typedef enum zb_stablehlo_role {
  ZB_STABLEHLO_OPEN,
  ZB_STABLEHLO_INPUT,
  ZB_STABLEHLO_PARAMETER,
  ZB_STABLEHLO_STATE /* of the optimizer: what the step updates and the loss does not read */
} zb_stablehlo_role;

typedef struct zb_stablehlo_argument {
  const char *name; /* "block0.fc1.kernel", "x"; "arg3" where the file names nothing */
  const char *root; /* "params" of "params['block0']"; NULL: the file names nothing */
  bool is_leaf;     /* of a container: there is something behind the root */
  zb_stablehlo_role role;
  bool is_given;          /* the role: by a file of roles */
  int donated_to;         /* the result that its buffer is given to; -1: none */
  int updated_by;         /* the result that is its new value; -1: none */
  int place;              /* among the arguments of the block of check.c */
  zb_import_value *value; /* behind zb_stablehlo_flatten */
  zb_shape shape;
  bool is_typed;
} zb_stablehlo_argument;

typedef struct zb_stablehlo {
  zb_import core; /* first: zb_stablehlo_of casts a pointer to it */
  MlirModule module;
  MlirOperation main;
  zb_stablehlo_argument *arguments;
  int argument_count;
  zb_import_results results; /* their values: behind zb_stablehlo_flatten */
  bool has_names;            /* of arguments */
  bool is_unchecked;         /* gradients of the step were not compared */
  bool is_step;              /* some results are new values of arguments */
  bool *in_loss;             /* per value: the loss depends on it; set by step.c */
  zb_map *values;            /* MlirValue -> number in core.values; of what was inlined the last time */
  zb_map *integers;          /* value of the core -> the integer that it is known to be */
  const char *path;          /* of the call that is being inlined; NULL: none */
  size_t capacity;           /* of core.nodes */
  size_t positions;          /* ops that were walked, to bound what a small file can ask for */
  zb_import_update *updates; /* what the step does to each parameter; none: the file is a loss */
  int update_count;
  /* zb_stablehlo_op_find, for ops of regions: rows lie above what their functions use. */
  const zb_import_op *(*find_row)(const char *kind, bool is_chlo);
  int in_lanes; /* ops of a region are built for whole tensors: their shapes are not those that the file says */
} zb_stablehlo;

static inline zb_stablehlo *zb_stablehlo_of(zb_import *im) { return (zb_stablehlo *)im; }

/* What to do about a file that is no text of a module. */
#define ZB_STABLEHLO_TEXT_HINT                                                                                         \
  "write text: open(\"step.mlir\", \"w\").write(jax.jit(step).lower(*arguments).as_text(debug_info=True))"

/* ---- pretty.c ---- */
/* Text in which every op of stablehlo and chlo has its generic form, on the line where it was. INVALID, reported at the
 * line, for a form that is not understood. *out: zb_free. */
zb_status zb_stablehlo_generic(MlirContext context, const char *path, const char *text, size_t bytes,
                               char **out) ZB_MUST_USE;

/* ---- attribute.c: of ops whose dialect is not registered, by name ---- */
/* Integers of an array<i64: ...> or dense<...> : tensor<nxi64>; false after reporting. An absent one is empty where
 * `optional`. */
bool zb_stablehlo_ints(zb_import_node *n, const char *name, bool optional, int64_t *out, int room, int *count);
bool zb_stablehlo_int(zb_import_node *n, const char *name, int64_t *out); /* false after reporting */
/* The same with one entry a dimension; 1 each where an optional one is absent. */
bool zb_stablehlo_per_dimension(zb_import_node *n, const char *name, bool optional, int rank, int64_t *out);
/* The word W of #stablehlo<NAME W>, as "GE" of comparison_direction; false: absent or no such attribute. */
bool zb_stablehlo_text(MlirOperation op, const char *name, char *out, size_t room); /* all of an opaque one */
bool zb_stablehlo_word(MlirOperation op, const char *name, char *out, size_t room);
/* Field of an attribute such as #stablehlo.dot<field = [0, 1], other = 2>: a list, or one number. Absent: empty. False
 * after reporting. */
bool zb_stablehlo_field(zb_import_node *n, const char *attribute, const char *field, int64_t *out, int room,
                        int *count);
/* Copies a string or symbol attribute; false: absent. */
bool zb_stablehlo_string(MlirOperation op, const char *name, char *out, size_t room);

static inline MlirOperation zb_stablehlo_source(const zb_import_node *n) {
  return (MlirOperation){(void *)(uintptr_t)n->source};
}
/* "stablehlo.add" -> "add"; NULL: another dialect. Not NUL-terminated beyond the op's own name, which is. */
const char *zb_stablehlo_kind(MlirOperation op, bool *is_chlo);
MlirOperation zb_stablehlo_function(zb_stablehlo *it, const char *name); /* of the module; null: none */
/* The declared type of a result; false after reporting. */
bool zb_stablehlo_result_shape(zb_import_node *n, int result, zb_shape *out);
/* The name of the op that a region of two arguments (or more) applies to its first two and returns: "add". False: it
 * does something else. */
bool zb_stablehlo_region_op(const zb_import_node *n, int region, char *out, size_t room);
/* Whether what a node gave has the types that the file declares; reports. */
zb_result zb_stablehlo_check_results(zb_import_node *n);

/* Elements of dense<...>, floats or integers of any width, into a tensor of that shape (move.c). */
void zb_stablehlo_read_dense(MlirAttribute value, zb_known *out);

/* The number that all elements of a constant are, as one element at out->data (8 bytes). False: not one, or of 16 bits.
 */
bool zb_stablehlo_number(MlirOperation constant, zb_known *out);

/* ---- move.c: parts of tensors ---- */
MlirValue zb_stablehlo_cut(zb_import_node *n, MlirValue x, int axis, int64_t start, int64_t size, int64_t step);
/* x with `fill` before, behind and between its elements along an axis; fewer elements where low or high is negative. */
MlirValue zb_stablehlo_padded(zb_import_node *n, MlirValue x, MlirValue fill, int axis, int64_t low, int64_t high,
                              int64_t inner);
bool zb_stablehlo_is_pad(int64_t pad); /* a number that a pad may be */
/* zb.scatter, also of i1 by any reduction. */
zb_operand zb_stablehlo_scattered(zb_import_node *n, zb_operand data, zb_operand places, zb_operand updates,
                                  const char *reduction);

/* ---- integers.c: integers of types that zb does not have are held in wider ones ---- */
typedef struct zb_stablehlo_integer {
  int bits; /* 0: no integer of two bits or more */
  bool is_unsigned;
} zb_stablehlo_integer;
/* The type in which a value of this one is held, which is its own where zb has it. False: none. */
bool zb_stablehlo_shape(MlirType type, zb_shape *out);
zb_stablehlo_integer zb_stablehlo_integer_of(MlirType type);
zb_stablehlo_integer zb_stablehlo_operand_integer(const zb_import_node *n, int operand);
zb_stablehlo_integer zb_stablehlo_result_integer(const zb_import_node *n, int result);
bool zb_stablehlo_is_held(zb_stablehlo_integer type); /* in another type than its own */
bool zb_stablehlo_is_wide_unsigned(zb_stablehlo_integer type);
int64_t zb_stablehlo_wrap(int64_t value, zb_stablehlo_integer type);
MlirValue zb_stablehlo_wrapped(zb_import_node *n, MlirValue x, zb_stablehlo_integer type);
/* x as a signed number of so many bits. */
MlirValue zb_stablehlo_wrapped_as(zb_import_node *n, MlirValue x, int bits);
/* Results of a node whose kernel may leave the range of their type. */
zb_result zb_stablehlo_wrap_results(zb_import_node *n);
MlirValue zb_stablehlo_scalar(zb_import_node *n, zb_dtype dtype, int64_t value);
/* x such that signed order is its own, and back; x itself but for ui64. */
MlirValue zb_stablehlo_ordered(zb_import_node *n, MlirValue x, zb_stablehlo_integer type);
MlirValue zb_stablehlo_divided(zb_import_node *n, MlirValue x, MlirValue y, bool remainder); /* ui64 */
MlirValue zb_stablehlo_shifted(zb_import_node *n, MlirValue x, MlirValue places, zb_stablehlo_integer type,
                               bool keeps_sign);                     /* to the right */
MlirValue zb_stablehlo_real_of_wide(zb_import_node *n, MlirValue x); /* ui64 -> f64 */
MlirValue zb_stablehlo_wide_of_real(zb_import_node *n, MlirValue x); /* float -> ui64 */

MlirValue zb_stablehlo_as_bits(zb_import_node *n, MlirValue x, zb_dtype dtype); /* the same bits as another type */

/* ---- lanes.c ---- */
enum { ZB_STABLEHLO_LANES_MAX = 16 };
/* A region on whole tensors of the shape `lanes`, one for each of its arguments; its results, of that shape. */
zb_result zb_stablehlo_lanes(zb_import_node *n, int region, const MlirValue *arguments, int count,
                             const zb_shape *lanes, MlirValue *out, int out_count);

/* ---- reduce.c, sort.c ---- */
typedef struct zb_stablehlo_window {
  int64_t size[ZB_DIMS_MAX], stride[ZB_DIMS_MAX], base[ZB_DIMS_MAX], dilation[ZB_DIMS_MAX];
  int64_t low[ZB_DIMS_MAX], high[ZB_DIMS_MAX];
  zb_shape out; /* how many windows */
} zb_stablehlo_window;
/* Whether the first `count` operands have one shape; reports. */
bool zb_stablehlo_are_alike(zb_import_node *n, int count);
bool zb_stablehlo_read_window(zb_import_node *n, const zb_shape *in, zb_stablehlo_window *w); /* false: reported */
zb_result zb_stablehlo_reduce_any(zb_import_node *n, const int64_t *axes, int axis_count);
MlirValue zb_stablehlo_total_order(zb_import_node *n, MlirValue x);

/* ---- arguments.c ---- */
/* Arguments and results of @main, with the names and roles that the file and --roles give. */
zb_result zb_stablehlo_read_signature(zb_stablehlo *it);
/* Sets it->main: @main, else the only function. */
zb_result zb_stablehlo_find_main(zb_stablehlo *it);

/* ---- flatten.c ---- */
/* Values for all arguments, nodes for all ops of @main. */
zb_result zb_stablehlo_flatten(zb_stablehlo *it);

/* ---- formula.c: what an elementwise part of the graph computes, of one element, in double ---- */
/* Values with their numbers, up to which a formula is followed. */
enum { ZB_STABLEHLO_KNOWNS = 12 };
typedef struct zb_stablehlo_point {
  const zb_import_value *values[ZB_STABLEHLO_KNOWNS];
  double numbers[ZB_STABLEHLO_KNOWNS];
  int count;
} zb_stablehlo_point;
/* False: it depends on other values, or on ops that are not elementwise. */
bool zb_stablehlo_evaluate(zb_stablehlo *it, const zb_import_value *value, const zb_stablehlo_point *point,
                           double *out);
/* The values that a value depends on through elementwise ops, itself the first, and the ends of these paths: arguments
 * and results of other ops. False: more than `room`. */
bool zb_stablehlo_formula(zb_stablehlo *it, const zb_import_value *value, const zb_import_value **out, size_t room,
                          size_t *count);
/* Whether a value is an end of such a path. */
bool zb_stablehlo_is_end(zb_stablehlo *it, const zb_import_value *value);
bool zb_stablehlo_value_shape(zb_stablehlo *it, const zb_import_value *value, zb_shape *out);

/* ---- rules.c ---- */
extern const zb_import_rules zb_stablehlo_rules;
/* Whether the location of an op has these letters. */
bool zb_stablehlo_is_placed(MlirOperation op, const char *word);

/* Whether a value is computed behind the loss, as gradients are: no argument, no number, nothing of the loss. */
bool zb_stablehlo_is_behind(zb_stablehlo *it, const zb_import_value *value);

/* ---- step.c, optimizer.c ---- */
/* The results that are new values of arguments, and the optimizer that makes them. A file without any is a loss. */
zb_result zb_stablehlo_read_step(zb_stablehlo *it);
/* How a step updates one parameter: the arguments that its new value depends on. */
enum { ZB_STABLEHLO_STATES = 2, ZB_STABLEHLO_COUNTERS = 4 };
typedef struct zb_stablehlo_update {
  int parameter; /* argument */
  int states[ZB_STABLEHLO_STATES], counters[ZB_STABLEHLO_COUNTERS];
  int state_count, counter_count;
} zb_stablehlo_update;
/* Sets it->updates. */
zb_result zb_stablehlo_read_optimizer(zb_stablehlo *it, const zb_stablehlo_update *updates, int count);

/* ---- check.c ---- */
/* Whether these values are the gradients of the loss, by differences along a random direction; reports where not. Sets
 * it->is_unchecked where that cannot be computed here, or takes too long. */
zb_result zb_stablehlo_check_gradients(zb_stablehlo *it, const zb_stablehlo_update *updates,
                                       const zb_import_value *const *gradients, int count);

/* ---- operators.c ---- */
/* Whether a node has a row, and as many operands and results as that says; the functions of rows rely on it. */
zb_result zb_stablehlo_check_node(zb_import_node *n);
const zb_import_op *zb_stablehlo_op_find(const char *kind, bool is_chlo);
/* Why an op has no row, and what to do: a hint for the error that names it. */
const char *zb_stablehlo_unknown_hint(const char *kind);
/* Only of ops that are often met; NULL: it is none of them. */
const char *zb_stablehlo_known_hint(const char *kind);

/* ---- stablehlo.c ---- */
extern const zb_import_format zb_stablehlo_format;

/* ---- The functions of ops, as the rows name them ---- */
#define ZB_STABLEHLO(name, least, most, results, gradient, run, op, fold, range)                                       \
  zb_result zb_stablehlo_##run(zb_import_node *n);
#define ZB_CHLO(name, least, most, results, gradient, run, op, fold, range)                                            \
  zb_result zb_stablehlo_##run(zb_import_node *n);
#include "ir/import/stablehlo/stablehlo_ops.def"
#undef ZB_STABLEHLO
#undef ZB_CHLO
