/* What the files of the ONNX importer share: the file, its tensors, attributes of nodes, functions of operators.
 * Flow (onnx.c): file.c maps and parses -> onnx.c makes values and nodes -> parameters.c proposes which initializers
 * are parameters -> each node that the loss needs is folded or built by its row of onnx_ops.def. Tests: test/ir/import.
 */
#pragma once

#include "ir/import/meaning/meaning.h"
#include "onnx.pb-c.h"

/* Versions of the format that are understood. */
enum { ZB_ONNX_IR_MAX = 13, ZB_ONNX_OPSET_MIN = 1, ZB_ONNX_OPSET_MAX = 24 };

/* A range of the model file. */
typedef struct zb_onnx_extent {
  size_t offset, bytes;
  bool present;
} zb_onnx_extent;

/* A model file. The raw data of initializers stays in the mapping: raw[i] is that of graph->initializer[i]. */
typedef struct zb_onnx_file {
  zb_import_source map;
  Onnx__ModelProto *model;
  zb_onnx_extent *raw;
  size_t raw_count, raw_capacity;
} zb_onnx_file;

/* The size of a dynamic dimension. */
typedef struct zb_onnx_dim {
  const char *name;
  int64_t size;
} zb_onnx_dim;

typedef struct zb_onnx {
  zb_import core; /* first: zb_onnx_of casts a pointer to it */
  zb_onnx_file file;
  Onnx__GraphProto *graph;
  int64_t opset;     /* of the default domain */
  zb_onnx_dim *dims; /* of the command line */
  int dim_count;
  size_t node_capacity;
  int scope_count;             /* bodies that were written out */
  zb_import_source *externals; /* data files */
  size_t external_count, external_capacity;
} zb_onnx;

static inline zb_onnx *zb_onnx_of(zb_import *im) { return (zb_onnx *)im; }

/* ---- operators.c: the rows, and what is said of an operator, or a domain, that is none: ": why" (may stay empty), and
 * ---- the hint */
const zb_import_op *zb_onnx_op_find(const char *name);
void zb_onnx_unknown_hint(const char *name, zb_text *why, zb_text *hint);
void zb_onnx_domain_hint(const char *domain, zb_text *why, zb_text *hint);
/* Whether a node is as its row says; reports. */
zb_result zb_onnx_check_node(zb_import_node *n);

/* ---- file.c ---- */
/* Maps and parses. INVALID with the byte for a damaged file. Close in any case. */
zb_status zb_onnx_file_open(const char *path, zb_onnx_file *out) ZB_MUST_USE;
void zb_onnx_file_close(zb_onnx_file *file);
/* A graph that is an attribute of a node, for as long as the import; NULL after reporting. */
Onnx__GraphProto *zb_onnx_graph_unpack(zb_import_node *n, const ProtobufCBinaryData *bytes);

/* ---- nodes.c ---- */
/* The nodes of the model: functions written out, If with a known condition as its branch, Loop and Scan unrolled. */
zb_result zb_onnx_add_nodes(zb_onnx *onnx);

/* ---- tensor.c: TensorProto -> shape and data ---- */
/* The value of the first entry of a key; NULL: there is none. */
const char *zb_onnx_entry(Onnx__StringStringEntryProto *const *entries, size_t count, const char *key);
/* Bytes of the model file and of its data files that exist. UINT64_MAX: out of memory. */
uint64_t zb_onnx_model_bytes(const zb_onnx *im);
/* Reads a tensor: shape checked, data of exactly that size. raw may be NULL. *data points into the file, the message
 * or, if the layout differs, a new constant. f16 and bf16 are for an evaluation alone. Reports errors at `location` as
 * "what 'name': ...". */
zb_result zb_onnx_tensor_read(zb_onnx *im, const Onnx__TensorProto *tensor, const zb_onnx_extent *raw,
                              MlirLocation location, const char *what, zb_shape *shape, const void **data);
/* dtype of an ONNX element type number; false if zbc has none. */
bool zb_onnx_dtype(int64_t number, zb_dtype *out);
const char *zb_onnx_dtype_text(int64_t number); /* "float16"; "unknown" */
/* The hint at an element type that is not supported, after "WHAT 'NAME' has the element type ...". */
#define ZB_ONNX_TYPES_HINT                                                                                             \
  "export the model in float32 (model.float()); zbc --precision bf16 then computes in bf16. float32, int64, int32 "    \
  "and bool are supported; double and float16 by --inference, double also in constants that are folded away"

/* ---- attribute.c. Wrong kinds are reported and set failed. ---- */
const Onnx__AttributeProto *zb_onnx_attribute(const zb_import_node *n, const char *name);
int64_t zb_onnx_int(zb_import_node *n, const char *name, int64_t fallback);
double zb_onnx_float(zb_import_node *n, const char *name, double fallback);
void zb_onnx_string(zb_import_node *n, const char *name, const char *fallback, char *out, size_t room);
bool zb_onnx_string_is(zb_import_node *n, const char *name, const char *fallback, const char *value);
/* false: absent or reported */
bool zb_onnx_ints(zb_import_node *n, const char *name, int64_t *out, int room, int *count);
/* A list that may be absent, of up to `room` entries; false after reporting. */
bool zb_onnx_floats(zb_import_node *n, const char *name, double *out, int room, int *count);
bool zb_onnx_texts(zb_import_node *n, const char *name, const char **out, int room, int *count);
/* Integers of a constant input, or of an attribute where older opsets have them; false after reporting. */
bool zb_onnx_ints_of(zb_import_node *n, int input, const char *name, const char *what, int64_t *out, int room,
                     int *count);
/* The shape of input 0, and the attribute 'axis' of it; false after reporting. */
bool zb_onnx_shape_axis(zb_import_node *n, int64_t fallback, zb_shape *shape, int *axis);

/* ---- inputs.c ---- */
void zb_onnx_describe_type(const Onnx__TypeProto__Tensor *tensor, zb_text *text); /* "4xNx8xfloat32" */
/* Values of the model's inputs; those of --constants are known. Behind those of initializers. */
zb_result zb_onnx_add_inputs(zb_onnx *onnx);
/* What is said of a dimension: its size, by --dim where it is dynamic; -1 where nothing is. */
int64_t zb_onnx_dim_size(const zb_onnx *onnx, const Onnx__TensorShapeProto__Dimension *dim);
/* Arguments of the function, in the order of their values. */
zb_result zb_onnx_build_inputs(zb_onnx *onnx);

/* ---- norm_loss.c ---- */
/* Inputs and outputs of BatchNormalization. */
enum { ZB_BATCH_NORM_MEAN = 3, ZB_BATCH_NORM_VARIANCE = 4, ZB_BATCH_NORM_NEW_MEAN = 1, ZB_BATCH_NORM_NEW_VARIANCE = 2 };
/* Whether such a node normalizes by statistics of its input. */
bool zb_onnx_batch_norm_trains(zb_import_node *n);

/* ---- elementwise.c ---- */
/* The shape of input 0 as Softmax, LogSoftmax and Hardmax see it, and the dimension they work along: before opset 13
 * two dimensions, all from axis on being one. False after reporting. */
bool zb_onnx_softmax_shape(zb_import_node *n, zb_shape *whole, zb_shape *seen, int *axis);

/* ---- rules.c ---- */
extern const zb_import_rules zb_onnx_rules;

/* ---- parameters.c ---- */
/* Reads the file's lists of parameters; without them, refuses files in which an exporter merged parameters. */
zb_result zb_onnx_check_merged(zb_onnx *onnx);
/* Proposes the role of every initializer, of marked values. */
zb_result zb_onnx_propose_parameters(zb_onnx *onnx);
/* Reports an initializer that an exporter folded a parameter into. */
zb_result zb_onnx_refuse_folded(zb_import *im, const zb_import_value *value);

/* ---- The functions of operators, as the rows name them ---- */
#define ZB_ONNX(Name, attributes, min, max, outputs, gradient, run, op, fold, types)                                   \
  zb_result zb_onnx_##run(zb_import_node *n);
#include "ir/import/onnx/onnx_ops.def"
#undef ZB_ONNX
