/* What every importer shares: the source graph as values and nodes, tensors that are known while importing, roles of
 * parameters, errors with their place, and the function that is made.
 *
 * An importer (a row of importers.def) reads its format into values and nodes, each with the row of its kind, and
 * calls, in this order: zb_import_mark_needed, zb_import_mark_values, zb_import_choose_parameters, zb_import_input for
 * each input, zb_import_nodes, zb_import_finish; all within zb_import_run. ir/import/onnx is an example. Nothing here
 * knows a format, and nothing is thread-safe beyond one import at a time per zb_import. Tests: test/ir/import.
 */
#pragma once

#include "ir/builder.h"
#include "ir/dialect.h"
#include "runtime/base/arena.h"
#include "runtime/base/mapping.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

/* The default limit of constants: these bytes, and ZB_IMPORT_FOLD_OF_FILE times those of the model's files. Folding may
 * read and write at most ZB_IMPORT_FOLD_WORK times the limit. */
#define ZB_IMPORT_FOLD_BYTES (UINT64_C(256) << 20)
enum { ZB_IMPORT_FOLD_OF_FILE = 4, ZB_IMPORT_FOLD_WORK = 8 };
/* Constants up to this size are dense attributes of the IR. */
enum { ZB_IMPORT_DENSE_BYTES = 1024 };

typedef struct zb_import zb_import;
typedef struct zb_import_node zb_import_node;

/* A tensor that is known while importing. Contiguous; owned by the importer. */
typedef struct zb_known {
  zb_shape shape;
  void *data;
  int64_t elements;
} zb_known;

typedef enum zb_import_kind {
  ZB_VALUE_INPUT,
  ZB_VALUE_INITIAL, /* comes with the file: a parameter or a constant */
  ZB_VALUE_NODE,
  ZB_VALUE_SEQUENCE
} zb_import_kind;
typedef enum zb_import_role { ZB_ROLE_CONSTANT, ZB_ROLE_TRAINED, ZB_ROLE_FROZEN, ZB_ROLE_BUFFER } zb_import_role;

/* A name of the source graph. After its producer ran, exactly one of known, value, items says what it is; a constant
 * that an op needed has both of the first. */
typedef struct zb_import_value {
  const char *name; /* "" for items of sequences */
  size_t number;    /* in zb_import.values */
  zb_import_kind kind;
  zb_import_node *producer; /* NULL: an input or initial value */
  size_t index;             /* INITIAL, INPUT: the reader's number */
  zb_known *known;
  MlirValue value;
  struct zb_import_value **items;
  int item_count;
  bool defined;
  /* Of an initial value, set by the reader. */
  zb_shape type;              /* element type (where is_typed) and rank */
  bool is_typed;              /* zbc has the element type */
  const char *type_text;      /* its name in the format */
  zb_import_role role;        /* what it is if the command line does not say otherwise; then what it is */
  bool is_listed;             /* the file itself says its role */
  const char *const *aliases; /* what the model calls it as well: a tied weight */
  int alias_count;
  bool is_unset;   /* the file says that its value comes later */
  bool is_suspect; /* an error (zb_import_format.left) if a gradient reaches it and it stays a constant */
  /* Set by zb_import_mark_values, then by zb_import_choose_parameters. */
  bool reached, read, activation; /* a gradient of the loss reaches it; a needed node reads it; depends on an input */
  bool untrained;                 /* a gradient reaches it, and nothing says that it is a parameter */
  bool unreached;                 /* the file says that it is trained, and no gradient reaches it */
} zb_import_value;

/* A buffer: an initial value that the forward pass replaces by another for the next micro-batch. */
typedef struct zb_import_buffer {
  zb_import_value *initial, *updated;
} zb_import_buffer;

/* How the core folds a node of which all inputs are constants. */
typedef enum zb_import_fold {
  ZB_FOLD_NEVER, /* constants are given to it like other values */
  ZB_FOLD,
  ZB_FOLD_VIEW, /* without reading their data */
  ZB_FOLD_ONLY  /* and it is an error where one is none */
} zb_import_fold;

/* One kind of node: a row of an importer's table. */
typedef struct zb_import_op {
  const char *name;
  const char *attributes;              /* names that are understood, separated by blanks; any other is an error */
  int min_inputs, max_inputs;          /* -1: any number */
  int max_outputs;                     /* -1: any number */
  unsigned gradient;                   /* bit i: a gradient may flow to input i (bit 31: to all from there on) */
  zb_result (*run)(zb_import_node *n); /* sets the outputs: folds where n->folds, else builds */
  const char *argument;                /* for functions that serve a family: the zb op */
  zb_import_fold fold;
  unsigned types; /* bit i: the type of input i is needed, not its value */
} zb_import_op;

/* A node of the source graph. Nodes are sorted: producers first. */
struct zb_import_node {
  zb_import *im;
  zb_builder *b;
  const char *kind; /* as the format names it: "MatMul" */
  const char *name;
  const char *path;      /* of the module that it was made by, or NULL */
  MlirLocation location; /* of all that is reported and built for it */
  const zb_import_op *op;
  unsigned gradient;                   /* of the row, without what the attributes of this node rule out */
  zb_import_value **inputs, **outputs; /* NULL: absent; the last input is there */
  int input_count, output_count;
  bool needed;        /* the loss, or a kept output, depends on it */
  bool folds;         /* while it runs: its inputs are constants */
  const void *source; /* the reader's own: a message, an operation, an object */
};

/* What a formula of nodes means (rules.c): `value` is built in its place, or "" for what its nodes compute ("!name": it
 * is refused by that name), and its operands a, b, c get these gradients, or all of them "" for those of what is built.
 */
enum { ZB_IMPORT_RULE_OPERANDS = 3 };
typedef struct zb_import_rule {
  const char *function, *formula, *value, *slopes[ZB_IMPORT_RULE_OPERANDS];
} zb_import_rule;

/* Rows of a rules.def. */
#define ZB_EXACT(function, formula, value, a, b, c) {function, formula, value, {a, b, c}},
#define ZB_RULE(function, formula, value) ZB_EXACT(function, formula, value, "", "", "")
#define ZB_REFUSED ZB_RULE
#define ZB_SLOPES(function, formula, a, b, c) ZB_EXACT(function, formula, "", a, b, c)

typedef struct zb_import_rules {
  const zb_import_rule *rows;
  size_t count;
  const char *(*kind)(const zb_import_node *n, char *room, size_t size);    /* as formulas name it; NULL: none */
  bool (*is_within)(const zb_import_node *n, const char *function);         /* of the framework */
  bool (*number)(zb_import *im, const zb_import_value *value, double *out); /* that all elements are */
} zb_import_rules;

/* What the core must know of a format. */
typedef struct zb_import_format {
  const zb_import_rules *rules; /* may be NULL */
  const char *initial;          /* what an initial value is called */
  const char *types_hint;       /* what to do about an element type that is not supported */
  const char *parameters_hint;  /* what to do where there is no parameter */
  bool takes_f64;               /* constants of f64 may stay in the program; else they are only folded */
  /* Shape and data of an initial value; reports. Data NULL: a parameter whose values are not in the file. */
  zb_result (*load)(zb_import *im, const zb_import_value *value, zb_shape *shape, const void **data);
  /* Reports a suspect that is left a constant; NULL: in the common words. */
  zb_result (*left)(zb_import *im, const zb_import_value *value);
} zb_import_format;

/* A result that the file names. */
typedef struct zb_import_result {
  const char *name;       /* "loss"; where it updates nothing */
  zb_import_value *value; /* NULL: no node makes it */
  zb_shape shape;         /* where is_typed */
  bool is_typed, is_loss; /* is_loss: the file itself says so */
  const char *type_text;  /* as the format has it; NULL: that of the shape */
  int updates;            /* the number of what this is the new value of, so that it is no output; -1: of nothing */
} zb_import_result;

/* All of them, and how the format speaks of them. */
typedef struct zb_import_results {
  zb_import_result *items;
  int count, most_listed;              /* in an error; 0: all */
  const char *word, *whole, *scalar;   /* "output", "model", "float output" */
  const char *loss_hint, *output_hint; /* what to do where there is none */
} zb_import_results;

/* An argument of the function. */
typedef struct zb_import_argument {
  const char *attribute; /* ZB_ATTR_INPUT, ... */
  const char *name;
} zb_import_argument;

struct zb_import {
  MlirContext context;
  const zb_import_params *params;
  const zb_import_format *format;
  uint64_t source_bytes; /* of all files of the model */
  zb_arena memory;       /* of all below but the stores and the block */
  zb_map *names;         /* name -> index in values */
  zb_import_value **values;
  size_t value_count, value_capacity, initial_count;
  zb_import_value **outputs; /* that the reader found, before the marks */
  int output_count;
  zb_import_buffer *buffers; /* likewise */
  size_t buffer_count, buffer_capacity;
  zb_import_node *nodes;
  size_t node_count;
  bool is_listed;                                 /* the file says what its parameters are */
  uint64_t constant_bytes, fold_work, fold_limit; /* of all constants; read and written by folding; at most */
  zb_import_argument *arguments;                  /* inputs, then parameters, then constants: as in the block */
  size_t argument_count, argument_capacity, input_count, parameter_count;
  zb_map *literals; /* content hash -> a constant that has become IR (literal.c) */
  zb_store *weights, *constants;
  MlirValue counter; /* of random numbers; null before the first random op */
  int64_t random_ops;
  zb_builder builder;
  bool has_weights; /* values of parameters come with the file: else --weights brings them, or they are drawn */
  bool failed;      /* an error was reported */
  bool out_of_memory;
};

/* ---- import.c: the order of things ---- */
/* The initial value is a buffer, and this its new value. Before the marks. Reports one that is updated twice. */
zb_result zb_import_add_buffer(zb_import *im, zb_import_value *initial, zb_import_value *updated);
/* Runs `graph`, which reads and imports, with im->{context, params, format, source_bytes} set. On success *out has the
 * module and both stores, on failure nothing but the context. All else of im is released. */
zb_status zb_import_run(zb_import *im, zb_result (*graph)(zb_import *im, zb_module *out), zb_module *out) ZB_MUST_USE;
/* Marks the nodes that the loss, im->outputs and im->buffers need, and what reads, gradients and inputs reach. Twice:
 * the marks of values need the rows of needed nodes. */
void zb_import_mark_needed(zb_import *im, const zb_import_value *loss);
void zb_import_mark_values(zb_import *im, zb_import_value *loss);
/* Checks every needed node; reports a few different faults at once, so that a user sees what the model lacks. */
zb_result zb_import_check_nodes(zb_import *im, zb_result (*check)(zb_import_node *n));
/* Whether an output, behind its node, has the type that the file declares; reports. */
zb_result zb_import_check_output(zb_import_node *n, int output, const zb_shape *declared);
/* Folds a node before all others, for a reader that must know a value; false: it cannot be, or failed (im->failed). Of
 * nodes that never fold only one that hands its input on may be given. */
bool zb_import_fold_node(zb_import_node *n);
/* Folds or builds every needed node, in order. */
zb_result zb_import_nodes(zb_import *im);
/* Whether a row has so many inputs and outputs, as the format calls them; reports. */
zb_result zb_import_check_counts(zb_import_node *n, int outputs, const char *input_word, const char *output_word);
/* Whether the row reads an attribute of that name, which is a `what`; reports. none: the hint where it reads none. */
zb_result zb_import_check_name(zb_import_node *n, const char *what, const char *name, const char *none);
/* Whether an input of the mask (bit 31: all from there on) is marked, per number of values. */
bool zb_import_carries(const zb_import_node *n, unsigned inputs, const bool *marked);
/* Zeroed memory that lives as long as the import; NULL after out of memory was remembered. */
void *zb_import_take(zb_import *im, size_t bytes);
char *zb_import_take_text(zb_import *im, const char *text, size_t length);
char *zb_import_take_built(zb_import *im, zb_text *text); /* the same of a text that is built; deinits it */

/* ---- rules.c ---- */
/* Behind a node that was built: its result becomes what the rule of its formula says, if there is one. everywhere: also
 * where no gradient is known to flow. */
zb_result zb_import_apply_rule(zb_import_node *n, bool everywhere);
/* Whether the text begins with a name, with or without a number behind it ("relu_3"), and then `end`. The name goes as
 * far as a blank, or to a star, behind which anything may stand. */
bool zb_import_is_named(const char *text, const char *name, char end);

/* ---- error.c: all return ZB_FAIL ---- */
/* Reports "KIND: text" at the node. */
zb_result zb_import_refuse(zb_import_node *n, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
/* Reports at the file. */
zb_result zb_import_fail(zb_import *im, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
zb_result zb_import_memory(zb_import *im); /* out of memory: remembered */
/* Reports at the file why it, or one that belongs to it, cannot be read; takes the status. */
zb_result zb_import_fail_status(zb_import *im, zb_status status);
MlirLocation zb_import_file_location(const zb_import *im);
/* "module.path (node name)" over the file, with the node's number as its column, for formats without lines. */
MlirLocation zb_import_node_location(const zb_import *im, const char *path, const char *name, unsigned number);

/* ---- value.c: values, and what a node has of them ---- */
zb_import_value *zb_import_value_new(zb_import *im, const char *name, zb_import_kind kind); /* NULL: out of memory */
zb_import_value *zb_import_find(const zb_import *im, const char *name);                     /* NULL: none */
/* The value as a constant, loading an initial one. *out NULL if it is not constant. */
zb_result zb_import_value_known(zb_import *im, zb_import_value *value, zb_known **out);
MlirValue zb_import_value_ir(zb_import *im, zb_import_value *value); /* constants and parameters come into being here */
bool zb_import_has(const zb_import_node *n, int input);
bool zb_import_wants(const zb_import_node *n, int output);     /* named; it may still be unread */
zb_known *zb_import_known(const zb_import_node *n, int input); /* NULL: absent or not constant */
MlirValue zb_import_ir(zb_import_node *n, int input);          /* null and b->failed after an error */
/* Shape of any input, constant or not; false (reported) for a sequence. */
bool zb_import_shape(zb_import_node *n, int input, zb_shape *out);
bool zb_import_ir_shape(zb_import_node *n, MlirValue value, zb_shape *out);
/* Integers of a constant input of rank 0 or 1 with at most `room` elements; false (reported) otherwise. */
bool zb_import_ints(zb_import_node *n, int input, const char *what, int64_t *out, int room, int *count);
/* The same as the dimensions of a shape, none negative. */
bool zb_import_dims(zb_import_node *n, int input, zb_shape *out);
/* The dimensions of a, then those of b, with the type of b; false after reporting too many. */
bool zb_import_join(zb_import_node *n, const zb_shape *a, const zb_shape *b, zb_shape *out);
/* Axis in -rank..rank-1 -> 0..rank-1; false after reporting. */
bool zb_import_axis(zb_import_node *n, int64_t axis, int rank, int *out);
/* The dimensions of a list in their order, or all where it has none (found < 1). False after reporting. */
bool zb_import_axes(zb_import_node *n, const int64_t *given, int found, int rank, int64_t *axes, int *count);
zb_import_value *zb_import_sequence(zb_import_node *n, int input);              /* NULL after reporting */
zb_result zb_import_give(zb_import_node *n, int output, MlirValue value);       /* fails on a null value */
zb_result zb_import_give_known(zb_import_node *n, int output, zb_known *known); /* fails on NULL */
zb_result zb_import_give_items(zb_import_node *n, int output, zb_import_value **items, int count);
zb_result zb_import_give_value(zb_import_node *n, int output, zb_import_value *source); /* output is the source */

/* ---- known.c: tensors on the host. NULL after an error was reported. ---- */
zb_known *zb_known_new(zb_import *im, const zb_shape *shape); /* zeros; an error beyond im->fold_limit */
/* Counts bytes that folding is to read; an error beyond what may be asked of it. */
zb_result zb_known_charge(zb_import *im, uint64_t bytes);
zb_known *zb_known_alias(zb_import *im, const zb_known *of, const zb_shape *shape); /* the same data, another shape */
zb_known *zb_known_copy(zb_import *im, const zb_shape *shape, const void *data);
zb_known *zb_known_filled(zb_import *im, const zb_shape *shape, const void *element);
zb_known *zb_known_ints(zb_import *im, const int64_t *values, int64_t count); /* [count]xi64 */
/* out[i...] = in[offset + sum i*strides] (strides in elements, any sign). */
zb_known *zb_known_strided(zb_import *im, const zb_known *in, const zb_shape *shape, int64_t offset,
                           const int64_t *strides);
void zb_known_put(zb_known *out, int64_t to, const zb_known *in, int64_t from, int64_t count); /* copies elements */
/* Converts elements as zb.cast does. */
void zb_known_convert(zb_dtype from, const void *in, zb_dtype to, void *out, int64_t count);
double zb_known_real(const zb_known *c, int64_t index);
int64_t zb_known_integer(const zb_known *c, int64_t index);
void zb_known_set_real(zb_known *c, int64_t index, double value);
void zb_known_set_integer(zb_known *c, int64_t index, int64_t value);
bool zb_known_is_float(const zb_known *c); /* f16 and bf16 as well */
void zb_strides(const zb_shape *shape, int64_t *strides);
zb_tensor zb_known_tensor(const zb_known *c); /* its data, as kernels take it */
/* Broadcast of count shapes (NumPy); false if they do not fit. dtype is that of the first. */
bool zb_broadcast_all(const zb_shape *const *shapes, int count, zb_shape *out);
/* Strides of `in` when read as `out` (0 where broadcast). */
void zb_broadcast_strides(const zb_shape *in, const zb_shape *out, int64_t *strides);
/* A walk over the elements of a shape: at[k] is the place in the k-th of up to three tensors. */
typedef struct zb_walk {
  const zb_shape *shape;
  int count;
  int64_t index[ZB_DIMS_MAX], strides[3][ZB_DIMS_MAX], at[3];
} zb_walk;
zb_walk zb_walk_over(const zb_shape *shape, int count, const zb_shape *const *broadcast);
/* In a tensor of shape `in`, without moving along one axis; *step is what that axis moves by. */
zb_walk zb_walk_beside(const zb_shape *shape, const zb_shape *in, int axis, int64_t *step);
void zb_walk_next(zb_walk *walk);

/* ---- literal.c ---- */
/* The constant as IR by its structure (dense, expand, triangle, iota, argument). Null value after an error. */
MlirValue zb_import_literal_ir(zb_import *im, const zb_known *c, const char *name);

/* ---- build.c: movement that leaves out what changes nothing and joins what follows itself ---- */
MlirValue zb_import_transposed(zb_builder *b, MlirValue x, const int64_t *permutation);
MlirValue zb_import_reshaped(zb_builder *b, MlirValue x, const int64_t *dims, int rank);
MlirValue zb_import_expanded(zb_builder *b, MlirValue x, const zb_shape *shape);

/* ---- arguments.c ---- */
/* A new argument: {zb.input = name} behind the other inputs, {zb.constant = name} behind all others. */
MlirValue zb_import_input(zb_import *im, const char *name, const zb_shape *shape);
/* Makes arguments of the inputs that something reads, of the types in which data comes. hint: what is supported. */
zb_result zb_import_inputs(zb_import *im, const char *hint);
MlirValue zb_import_constant(zb_import *im, const char *name, const zb_shape *shape);
/* A parameter or a buffer becomes an argument at its first use; its data goes to the weights. */
MlirValue zb_import_parameter(zb_import *im, zb_import_value *value);

/* ---- results.c ---- */
/* The result to minimize: that of --loss, else the only scalar float or the one named "loss". NULL after reporting. */
zb_import_result *zb_import_find_loss(zb_import *im, const zb_import_results *from);
/* im->outputs: the results that --keep-output names; all of them where there is no loss and none is named. */
zb_result zb_import_keep_outputs(zb_import *im, const zb_import_results *from, const zb_import_result *loss);

/* ---- function.c ---- */
/* The input ZB_COUNTER_INPUT, an argument from the first random op on. Null (reported) if the model has an input of
 * that name. */
MlirValue zb_import_counter(zb_import *im);
/* func.func @model over what was built, which gives the loss (NULL: there is none), im->outputs and new values of
 * buffers, in a module at level graph, verified. */
zb_result zb_import_finish(zb_import *im, const zb_import_value *loss, zb_module *out);

/* ---- parameters.c ---- */
bool zb_import_is_float(const zb_import_value *value); /* f32 or f64 */
/* f16 or bf16 for an evaluation alone, where a parameter of it is kept as f32 and rounded to what it was. */
bool zb_import_is_narrow(const zb_import *im, const zb_import_value *value);
/* How well a name fits the best of the patterns: its number of literal characters plus 1; 0 if none matches. used may
 * be NULL. */
int zb_import_match(const char *const *globs, int count, const char *name, bool *used);
/* Gives every initial value its role: what the command line says, else what the reader proposes. */
zb_result zb_import_choose_parameters(zb_import *im);

/* ---- source.c: the files of a model ---- */
/* A file in memory, read only. */
typedef struct zb_import_source {
  char *name; /* NULL for the model itself */
  const uint8_t *data;
  size_t bytes;
  zb_mapping file;
} zb_import_source;
/* Maps a regular file. IO on failure; name (may be NULL) is copied. */
zb_status zb_import_source_open(const char *path, const char *name, zb_import_source *out) ZB_MUST_USE;
void zb_import_source_close(zb_import_source *source);
/* Memory of ours for a decoder that takes functions (ProtobufCAllocator). refused: a bool that is set when memory runs
 * out, which decoders report as they report a damaged file; or NULL. */
void *zb_import_allocate(void *refused, size_t bytes);
void zb_import_release(void *refused, void *memory);
/* Parses the text of a module, which ends in NUL; the path is that of its locations. INVALID, reported. */
zb_status zb_import_parse(MlirContext context, const char *path, const char *text, MlirModule *out) ZB_MUST_USE;
