/* What the files of the ONNX importer share: the file, constants on the host, values, nodes, errors.
 *
 * Flow (onnx.c): file.c maps and parses -> parameters.c says which initializers are parameters -> each node that the
 * loss needs, in order, is folded (fold.c) or built (build_*.c) by its row of onnx_ops.def -> literal.c turns constants
 * that are left into IR. Nothing here is thread-safe beyond one import at a time per zb_onnx. Tests: test/ir/import.
 */
#ifndef ZB_IR_IMPORT_IMPORT_H
#define ZB_IR_IMPORT_IMPORT_H

#include "ir/builder.h"
#include "ir/dialect.h"
#include "onnx.pb-c.h"
#include "runtime/base/map.h"
#include "runtime/base/text.h"

/* Versions of the format that are understood. */
enum { ZB_ONNX_IR_MAX = 13, ZB_ONNX_OPSET_MIN = 13, ZB_ONNX_OPSET_MAX = 24 };
/* What constants may take where nothing is said: this, and so many times what the files of the model have. Folding may
 * also read and write so many times the limit. */
#define ZB_ONNX_FOLD_BYTES (UINT64_C(256) << 20)
enum { ZB_ONNX_FOLD_OF_FILE = 4, ZB_ONNX_FOLD_WORK = 8 };
/* Constants up to this size are dense attributes of the IR. */
enum { ZB_ONNX_DENSE_BYTES = 1024 };

/* A file in memory, read only. */
typedef struct zb_onnx_mapping {
  char *name; /* NULL for the model itself */
  const uint8_t *data;
  size_t bytes;
} zb_onnx_mapping;

/* A range of the model file. */
typedef struct zb_onnx_range {
  size_t offset, bytes;
  bool present;
} zb_onnx_range;

/* A model file. The raw data of initializers stays in the mapping: raw[i] is that of graph->initializer[i]. */
typedef struct zb_onnx_file {
  zb_onnx_mapping map;
  Onnx__ModelProto *model;
  zb_onnx_range *raw;
  size_t raw_count, raw_capacity;
} zb_onnx_file;

/* A tensor that is known while importing. Contiguous; owned by the importer. */
typedef struct zb_onnx_const {
  zb_shape shape;
  void *data;
  int64_t elements;
  bool owned;
  struct zb_onnx_const *next;
} zb_onnx_const;

typedef enum zb_onnx_kind {
  ZB_VALUE_NONE,
  ZB_VALUE_INPUT,
  ZB_VALUE_INITIALIZER,
  ZB_VALUE_NODE,
  ZB_VALUE_SEQUENCE
} zb_onnx_kind;
typedef enum zb_onnx_role { ZB_ROLE_CONSTANT, ZB_ROLE_TRAINED, ZB_ROLE_FROZEN } zb_onnx_role;

/* A name of the graph. After its producer ran, exactly one of constant, value, items says what it is; a constant that
 * an op needed has both of the first. */
typedef struct zb_onnx_value {
  const char *name; /* "" for items of sequences */
  zb_onnx_kind kind;
  int producer; /* node that makes it, or -1 */
  int index;    /* INITIALIZER, INPUT: which */
  zb_onnx_role role;
  zb_onnx_const *constant;
  MlirValue value;
  struct zb_onnx_value **items;
  int item_count;
  bool defined;
  bool untrained; /* a gradient reaches it, and nothing says that it is a parameter */
} zb_onnx_value;

/* An argument of the function. */
typedef struct zb_onnx_argument {
  const char *attribute; /* ZB_ATTR_INPUT, ... */
  char *name;
  MlirLocation location;
} zb_onnx_argument;

/* A constant that has become IR. */
typedef struct zb_onnx_literal_entry {
  const zb_onnx_const *constant;
  MlirValue value;
} zb_onnx_literal_entry;

typedef struct zb_onnx {
  MlirContext context;
  const zb_import_params *params;
  zb_onnx_file file;
  Onnx__GraphProto *graph;
  int opset;
  zb_map *names; /* name -> index in values */
  zb_onnx_value **values;
  size_t value_count, value_capacity;
  const struct zb_onnx_op **rows; /* of each node */
  bool *needed;                   /* of each node: the loss depends on it */
  char **paths;                   /* of each node: module path, or NULL */
  zb_onnx_const *constants;
  uint64_t constant_bytes, fold_work,
      fold_limit; /* bytes: of all constants, that folding has read and written, that constants may have */
  zb_onnx_mapping *externals;
  size_t external_count, external_capacity;
  zb_onnx_argument *arguments; /* inputs, then parameters, then constants: as in the block */
  size_t argument_count, argument_capacity, input_count, parameter_count;
  zb_map *literals; /* content hash -> index in literal */
  zb_onnx_literal_entry *literal;
  size_t literal_count, literal_capacity;
  zb_store *weights, *stored_constants;
  zb_builder builder;
  bool failed; /* an error was reported */
  bool out_of_memory;
} zb_onnx;

/* The node that is being imported. */
typedef struct zb_onnx_node {
  zb_onnx *im;
  const Onnx__NodeProto *proto;
  const struct zb_onnx_op *row;
  zb_builder *b;
} zb_onnx_node;

/* One operator: one row of onnx_ops.def. */
typedef struct zb_onnx_op {
  const char *name;
  const char *attributes;     /* names that build and fold understand, separated by blanks; any other is an error */
  int min_inputs, max_inputs; /* -1: any number */
  int max_outputs;            /* -1: any number */
  unsigned gradient;          /* bit i: a gradient may flow to input i (bit 31: to all from there on) */
  zb_result (*build)(zb_onnx_node *n); /* NULL: only of constants */
  const char *argument;                /* for functions that serve a family: the zb op */
  zb_result (*fold)(
      zb_onnx_node *n); /* NULL: constants are given to build. May leave outputs undefined: then build runs */
  unsigned types;       /* bit i: fold needs the type of input i, not its value */
} zb_onnx_op;
const zb_onnx_op *zb_onnx_op_find(const char *name);
int zb_onnx_op_count(void);
const zb_onnx_op *zb_onnx_op_at(int index);

/* ---- operators.c: what is said of an operator, or a domain, that is no row: ": why" (may stay empty), and the hint
 * ---- */
void zb_onnx_unknown_hint(const char *name, zb_text *why, zb_text *hint);
void zb_onnx_domain_hint(const char *domain, zb_text *why, zb_text *hint);

/* ---- file.c ---- */
/* Maps a regular file. IO on failure; name (may be NULL) is copied. */
zb_status zb_onnx_mapping_open(const char *path, const char *name, zb_onnx_mapping *out) ZB_MUST_USE;
void zb_onnx_mapping_close(zb_onnx_mapping *mapping);
/* Maps and parses. INVALID with the byte for a damaged file. Close in any case. */
zb_status zb_onnx_file_open(const char *path, zb_onnx_file *out) ZB_MUST_USE;
void zb_onnx_file_close(zb_onnx_file *file);

/* ---- tensor.c: TensorProto -> shape and data ---- */
/* Bytes of the model file and of the data files that it names and that are there. UINT64_MAX: out of memory. */
uint64_t zb_onnx_model_bytes(const zb_onnx *im);
/* Reads a tensor: shape checked, data of exactly that size. raw may be NULL. *data points into the file, the message
 * or, if the layout differs, a new constant. Reports errors at `location` as "what 'name': ...". */
zb_result zb_onnx_tensor_read(zb_onnx *im, const Onnx__TensorProto *tensor, const zb_onnx_range *raw,
                              MlirLocation location, const char *what, zb_shape *shape, const void **data);
/* dtype of an ONNX element type number; false if zbc has none. */
bool zb_onnx_dtype(int32_t number, zb_dtype *out);
const char *zb_onnx_dtype_text(int32_t number); /* "float16"; "unknown" */
/* What to do about an element type that is not supported; the reason is said before it: "WHAT 'NAME' has the element
 * type ...". */
#define ZB_ONNX_TYPES_HINT                                                                                             \
  "export the model in float32 (model.float()); zbc --precision bf16 then computes in bf16. float32, int64, int32 "    \
  "and bool are supported, double "                                                                                    \
  "in constants that are folded away"

/* ---- constants (constant.c). NULL after an error was reported. ---- */
zb_onnx_const *zb_onnx_const_new(zb_onnx *im, const zb_shape *shape); /* zeros; an error beyond im->fold_limit */
/* Counts bytes that folding is to read; an error beyond what may be asked of it. */
zb_result zb_onnx_fold_charge(zb_onnx *im, uint64_t bytes);
zb_onnx_const *zb_onnx_const_alias(zb_onnx *im, const zb_onnx_const *of,
                                   const zb_shape *shape); /* the same data, another shape */
zb_onnx_const *zb_onnx_const_copy(zb_onnx *im, const zb_shape *shape, const void *data);
zb_onnx_const *zb_onnx_const_ints(zb_onnx *im, const int64_t *values, int64_t count); /* [count]xi64 */
/* out[i...] = in[offset + sum i*strides] (strides in elements, any sign). */
zb_onnx_const *zb_onnx_const_strided(zb_onnx *im, const zb_onnx_const *in, const zb_shape *shape, int64_t offset,
                                     const int64_t *strides);
zb_onnx_const *zb_onnx_const_cast(zb_onnx *im, const zb_onnx_const *in, zb_dtype dtype);
void zb_onnx_const_free_all(zb_onnx *im);
double zb_onnx_const_real(const zb_onnx_const *c, int64_t index);
int64_t zb_onnx_const_integer(const zb_onnx_const *c, int64_t index);
void zb_onnx_const_set_real(zb_onnx_const *c, int64_t index, double value);
void zb_onnx_const_set_integer(zb_onnx_const *c, int64_t index, int64_t value);
bool zb_onnx_const_is_float(const zb_onnx_const *c);
bool zb_onnx_const_all_equal(const zb_onnx_const *c); /* bitwise; false for no elements */
void zb_onnx_strides(const zb_shape *shape, int64_t *strides);
/* Broadcast of count shapes (NumPy); false if they do not fit. dtype is that of the first. */
bool zb_onnx_broadcast(const zb_shape *const *shapes, int count, zb_shape *out);
/* Strides of `in` when read as `out` (0 where broadcast). */
void zb_onnx_broadcast_strides(const zb_shape *in, const zb_shape *out, int64_t *strides);
/* Next index of an odometer over dims; offsets[k] moves along strides[k]. */
void zb_onnx_odometer_next(int rank, const int64_t *dims, int64_t *index, int count, int64_t strides[][ZB_DIMS_MAX],
                           int64_t *offsets);

/* ---- literal.c ---- */
/* The constant as IR by its structure (dense, expand, triangle, iota, argument). Null value after an error. */
MlirValue zb_onnx_literal(zb_onnx *im, const zb_onnx_const *c, const char *name);

/* ---- node.c: what build and fold functions use ---- */
/* Reports "node 'n' (module path): Op: text" at the node. Returns ZB_FAIL. */
zb_result zb_onnx_node_fail(zb_onnx_node *n, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
/* Reports at the file. */
zb_result zb_onnx_fail(zb_onnx *im, const char *hint, const char *format, ...) ZB_PRINTF(3, 4);
zb_result zb_onnx_memory(zb_onnx *im); /* out of memory: remembered; ZB_FAIL */
MlirLocation zb_onnx_file_location(const zb_onnx *im);
MlirLocation zb_onnx_node_location(const zb_onnx *im, int node);
int zb_onnx_node_inputs(const zb_onnx_node *n); /* without absent ones at the end */
bool zb_onnx_node_has(const zb_onnx_node *n, int input);
bool zb_onnx_node_output_used(const zb_onnx_node *n, int output);    /* named; it may still be unread */
zb_onnx_value *zb_onnx_node_input(const zb_onnx_node *n, int input); /* NULL if absent */
/* The constant of an input, or NULL: absent or not constant. */
const zb_onnx_const *zb_onnx_node_constant(const zb_onnx_node *n, int input);
/* The IR value of an input (constants and parameters come into being here); null and b->failed after an error. */
MlirValue zb_onnx_node_value(zb_onnx_node *n, int input);
/* Shape of any input, constant or not; false (reported) for a sequence. */
bool zb_onnx_node_shape(zb_onnx_node *n, int input, zb_shape *out);
/* Integers of a constant input of rank 0 or 1 with at most `room` elements; false (reported) otherwise. */
bool zb_onnx_node_ints(zb_onnx_node *n, int input, const char *what, int64_t *out, int room, int *count);
zb_result zb_onnx_node_set(zb_onnx_node *n, int output, MlirValue value);           /* fails on a null value */
zb_result zb_onnx_node_set_constant(zb_onnx_node *n, int output, zb_onnx_const *c); /* fails on NULL */
zb_result zb_onnx_node_set_sequence(zb_onnx_node *n, int output, zb_onnx_value **items, int count); /* takes items */
zb_result zb_onnx_node_set_like(zb_onnx_node *n, int output, const zb_onnx_value *source); /* output is the input */
zb_onnx_value *zb_onnx_value_new(zb_onnx *im, const char *name,
                                 zb_onnx_kind kind); /* NULL: out of memory, remembered */
MlirValue zb_onnx_value_ir(zb_onnx *im, zb_onnx_value *value);
/* A new argument of the function: {zb.constant = name} behind all others, {zb.input = name} behind the other inputs. */
MlirValue zb_onnx_constant_argument(zb_onnx *im, const char *name, const zb_shape *shape);
MlirValue zb_onnx_input_argument(zb_onnx *im, const char *name, const zb_shape *shape);
/* The value as a constant, loading an initializer that is one. *out NULL if it is not constant. ZB_FAIL after an error.
 */
zb_result zb_onnx_value_constant(zb_onnx *im, zb_onnx_value *value, zb_onnx_const **out);
/* Attributes. Wrong kinds are reported and set im->failed. */
const Onnx__AttributeProto *zb_onnx_node_attr(const zb_onnx_node *n, const char *name);
int64_t zb_onnx_node_int(zb_onnx_node *n, const char *name, int64_t fallback);
double zb_onnx_node_float(zb_onnx_node *n, const char *name, double fallback);
bool zb_onnx_node_string_is(zb_onnx_node *n, const char *name, const char *fallback, const char *value);
void zb_onnx_node_string(zb_onnx_node *n, const char *name, const char *fallback, char *out, size_t room);
bool zb_onnx_node_attr_ints(zb_onnx_node *n, const char *name, int64_t *out, int room,
                            int *count); /* false: absent or reported */
/* Axis in -rank..rank-1 -> 0..rank-1; false after reporting. */
bool zb_onnx_node_axis(zb_onnx_node *n, int64_t axis, int rank, int *out);
bool zb_onnx_node_value_shape(zb_onnx_node *n, MlirValue value, zb_shape *out);

/* ---- parameters.c ---- */
/* Gives every initializer its role. */
zb_result zb_onnx_choose_parameters(zb_onnx *im, const char *loss);
/* Refuses files whose parameters were merged by an exporter. */
zb_result zb_onnx_check_merged(zb_onnx *im);

#endif
