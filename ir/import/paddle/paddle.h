/* What the files of the Paddle importer share: a program as values and ops, whichever of the two formats it came in.
 *
 * Flow (paddle.c): description.c (ProgramDesc) or pir.c (PIR JSON) reads a program -> graph.c makes values and nodes of
 * the core -> step.c finds loss and optimizer of a whole train step, backward.c holds every gradient op against the
 * forward op that it belongs to -> each node that the loss needs is folded or built by its row of paddle_ops.def, which
 * serves both formats. Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#pragma once

#include "ir/import/meaning/meaning.h"
#include "ir/import/update.h"

typedef enum zb_paddle_kind {
  ZB_PADDLE_OTHER, /* what no row reads: a block, a place */
  ZB_PADDLE_INTEGER,
  ZB_PADDLE_REAL,
  ZB_PADDLE_TEXT,
  ZB_PADDLE_INTEGERS,
  ZB_PADDLE_REALS,
  ZB_PADDLE_TEXTS
} zb_paddle_kind;

typedef struct zb_paddle_attribute {
  const char *name;
  zb_paddle_kind kind;
  int64_t integer; /* also of a bool */
  double real;
  const char *text;
  int64_t *integers;
  double *reals;
  const char **texts;
  int count;
} zb_paddle_attribute;

typedef struct zb_paddle_op zb_paddle_op;

/* A value of a program: written once. A name of ProgramDesc that is written again is another value of that name. */
typedef struct zb_paddle_value {
  const char *name; /* of the variable; in PIR "kind:number" of its op where it has none */
  zb_shape shape;   /* element type and dimensions, where is_static */
  bool is_typed;    /* zbc has the element type */
  bool is_static;   /* and the dimensions are known, at most ZB_DIMS_MAX */
  bool is_persistable, is_parameter, stops_gradient;
  bool is_fetched;
  bool is_stopped; /* it stops a gradient that would flow through it to a parameter */
  const char *type_text;
  zb_paddle_op *producer; /* NULL: the program is given it */
  zb_import_value *core;
  /* Of PIR's vectors: what they are made of, or taken apart into. */
  struct zb_paddle_value **items;
  int item_count;
  size_t number;
} zb_paddle_value;

typedef struct zb_paddle_slot {
  const char *name;         /* NULL in PIR before graph.c has the row */
  zb_paddle_value **values; /* NULL: absent */
  int count;
} zb_paddle_slot;

struct zb_paddle_op {
  const char *kind;
  int number;       /* in the file, from 0 */
  int64_t role;     /* op_role; -1: the file says none */
  const char *path; /* of the layer, "GPT.Block_1.Linear"; NULL: none */
  const char *device;
  zb_paddle_attribute *attributes;
  int attribute_count;
  zb_paddle_slot *inputs, *outputs;
  int input_count, output_count;
  zb_paddle_value **operands, **results; /* of all slots, one after another; NULL: absent */
  int operand_count, result_count;
  const struct zb_paddle_row *row; /* NULL: none */
  const zb_paddle_op *of;          /* the forward op whose gradient this is, said backward.c; and the other way round */
  zb_paddle_op *gradient;
  zb_import_node *node;
  bool in_loss;
};

typedef struct zb_paddle_program {
  const char *path;
  zb_paddle_op *ops;
  size_t op_count, op_capacity;
  zb_paddle_value **values;
  size_t value_count, value_capacity;
  zb_paddle_value **fed; /* what ops data and feed give, in their order, read or not */
  size_t fed_count, fed_capacity;
  bool is_pir;
} zb_paddle_program;

/* A row of paddle_ops.def. */
typedef struct zb_paddle_row {
  zb_import_op op;              /* first: n->op is cast back to it; its name is that of ProgramDesc */
  const char *pir;              /* the name in PIR, without pd_op. */
  const char *inputs, *outputs; /* slots in the order of PIR's operands; a star behind one that is a list */
  zb_result (*build)(zb_import_node *n);
  enum { ZB_PADDLE_FORWARD, ZB_PADDLE_GRADIENT, ZB_PADDLE_UPDATE } class;
  const char *of; /* of a gradient op: the forward op, by its name in ProgramDesc */
} zb_paddle_row;

typedef struct zb_paddle {
  zb_import core; /* first: zb_paddle_of casts a pointer to it */
  zb_paddle_program program, startup;
  zb_import_source source;
  bool fills;       /* the startup program says what all parameters begin with */
  zb_store *values; /* of parameters, from the file beside the program; NULL: there is none */
  zb_paddle_value *loss;
  zb_paddle_value **outputs; /* that an evaluation hands out */
  int output_count;
  bool is_step;              /* ops of it update parameters */
  MlirOperation last_op;     /* of those that were marked with where they come from */
  zb_import_update *updates; /* what the step does to each parameter; none: gradients and update are left out */
  int update_count;
} zb_paddle;

static inline zb_paddle *zb_paddle_of(zb_import *im) { return (zb_paddle *)im; }
static inline zb_paddle_op *zb_paddle_source(const zb_import_node *n) { return (zb_paddle_op *)(uintptr_t)n->source; }

/* ---- program.c: what both readers make programs of. NULL after out of memory. ---- */
zb_paddle_value *zb_paddle_value_new(zb_import *im, zb_paddle_program *program, const char *name);
zb_result zb_paddle_add_fed(zb_import *im, zb_paddle_program *program, zb_paddle_value *value);
zb_paddle_op *zb_paddle_op_new(zb_import *im, zb_paddle_program *program);
/* "int64" and the like; false: zbc has no such type. */
bool zb_paddle_dtype(const char *name, zb_dtype *out);
/* By the number of ProgramDesc's VarType.Type; NULL: no element type. */
const char *zb_paddle_type_name(int64_t number);
/* Makes operands and results of the slots, which then point into them. */
zb_result zb_paddle_list_values(zb_import *im, zb_paddle_op *op);
/* Marks, per op of the program, those that give what an op reads. */
void zb_paddle_mark_producers(const zb_paddle_program *program, const zb_paddle_op *op, bool *in);
bool zb_paddle_reads(const zb_paddle_op *op, const zb_paddle_value *value);
/* Slots of PIR get the names of the row. */
zb_result zb_paddle_name_slots(zb_import *im, zb_paddle_op *op);
/* "/GPT/Block_1/Linear/" -> "GPT.Block_1.Linear"; NULL: nothing is left. */
const char *zb_paddle_layer_path(zb_import *im, const char *text);

/* ---- paddle.c, description.c, pir.c ---- */
/* By its contents, whichever format it is. */
zb_result zb_paddle_read_program(zb_import *im, const zb_import_source *file, zb_paddle_program *out);
zb_result zb_paddle_read_description(zb_import *im, const zb_import_source *file, zb_paddle_program *out);
zb_result zb_paddle_read_pir(zb_import *im, const zb_import_source *file, zb_paddle_program *out);
/* Reports at the file that a program was read from. */
zb_result zb_paddle_damaged(zb_import *im, const zb_paddle_program *program, const char *format, ...) ZB_PRINTF(3, 4);

/* ---- attribute.c. Names: the one of ProgramDesc, then those of PIR, separated by blanks. ---- */
const zb_paddle_attribute *zb_paddle_find(const zb_paddle_op *op, const char *names);
const char *zb_paddle_text_in(const zb_paddle_op *op, const char *names);         /* NULL: absent, or no text */
bool zb_paddle_number_in(const zb_paddle_op *op, const char *names, double *out); /* false: absent, or no number */
int64_t zb_paddle_integer(zb_import_node *n, const char *names, int64_t fallback);
double zb_paddle_real(zb_import_node *n, const char *names, double fallback);
const char *zb_paddle_text(zb_import_node *n, const char *names, const char *fallback);
const zb_paddle_slot *zb_paddle_input_slot(const zb_paddle_op *op, const char *name);
const zb_paddle_slot *zb_paddle_output_slot(const zb_paddle_op *op, const char *name);
/* The only value of a slot; NULL: absent. */
zb_paddle_value *zb_paddle_input(const zb_paddle_op *op, const char *name);
zb_paddle_value *zb_paddle_output(const zb_paddle_op *op, const char *name);
zb_paddle_value *zb_paddle_only_result(const zb_paddle_op *op); /* of the first slot; NULL: absent */
bool zb_paddle_has(const zb_import_node *n, const char *slot);
/* The operand in a slot; NULL, reported, where it is absent. */
zb_operand zb_paddle_in(zb_import_node *n, const char *slot);
zb_operand zb_paddle_optional(zb_import_node *n, const char *slot); /* NULL where it is absent */
/* A number, from the operand in a slot if there is one, else from an attribute. False after reporting. */
bool zb_paddle_number(zb_import_node *n, const char *names, const char *slot, double fallback, double *out);
/* The same of integers; *count is -1 where there are none. */
bool zb_paddle_integers(zb_import_node *n, const char *names, const char *slot, int64_t *out, int room, int *count);
/* What is reduced: X, and the dimensions that the op names, or all. False after reporting. */
typedef struct zb_paddle_reduced {
  zb_operand x;
  zb_shape in;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  bool keeps;
} zb_paddle_reduced;
bool zb_paddle_read_reduced(zb_import_node *n, zb_operand x, zb_paddle_reduced *out);
bool zb_paddle_axis(zb_import_node *n, const char *names, int64_t fallback, int rank, int *out);
/* The attribute `axis`, or the operand in a slot; of a tensor with dimensions. */
bool zb_paddle_given_axis(zb_import_node *n, const char *slot, int64_t fallback, int rank, int *out);
/* A shape of the type that the file declares of Out, by the attribute `shape` or the operand in a slot. */
bool zb_paddle_declared_shape(zb_import_node *n, const char *slot, zb_shape *out);
zb_result zb_paddle_refuse_attribute(zb_import_node *n, const char *name, const char *hint);
/* Gives the value in a slot of outputs; those that are not wanted are left alone. */
zb_result zb_paddle_give(zb_import_node *n, const char *slot, zb_operand value);
/* Whether nothing reads the results in these slots, separated by blanks; false after reporting. */
bool zb_paddle_check_unread(zb_import_node *n, const char *slots);
/* The element type that the file declares for the only value of a slot; false after reporting. */
bool zb_paddle_declared(zb_import_node *n, const char *slot, zb_dtype *out);

/* ---- graph.c ---- */
zb_result zb_paddle_make_graph(zb_paddle *it);
/* Finds where gradients of trained parameters are stopped; behind the choice of parameters. */
zb_result zb_paddle_mark_stops(zb_paddle *it);
/* New running statistics of batch normalization are new values of buffers. */
zb_result zb_paddle_find_buffers(zb_paddle *it);
/* Marks the ops that the loss and the outputs depend on. */
void zb_paddle_mark_loss(zb_paddle *it);

/* ---- step.c, backward.c, optimizer.c, startup.c ---- */
/* Sets loss, and of a whole train step optimizer and groups. */
zb_result zb_paddle_read_step(zb_paddle *it);
/* Whether the operands Grad of update ops are the gradients of the loss; says which op is the gradient of which.
 * *decays: of each op of the program, by its place, the factor of the parameter that is added to its Grad. */
zb_result zb_paddle_check_backward(zb_paddle *it, double **decays);
zb_result zb_paddle_read_optimizer(zb_paddle *it, const double *decays);
/* Reads the startup program, where there is one. */
zb_result zb_paddle_read_startup(zb_paddle *it);
/* The number that the startup program fills a variable with; false: it does not say. */
bool zb_paddle_initial(const zb_paddle *it, const char *name, double *out);
/* The number that every element of a value has, which is known without running the program. */
bool zb_paddle_constant(const zb_paddle *it, const zb_paddle_value *value, double *out);
/* Reports at an op. */
zb_result zb_paddle_refuse(zb_paddle *it, const zb_paddle_op *op, const char *hint, const char *format, ...)
    ZB_PRINTF(4, 5);

/* ---- parameters.c: .pdiparams beside the program ---- */
zb_result zb_paddle_open_values(zb_paddle *it);

/* ---- operators.c ---- */
const zb_paddle_row *zb_paddle_row_find(const char *kind, bool is_pir);
void zb_paddle_unknown_hint(const char *kind, zb_text *hint);
/* Attributes that say nothing about the result. */
bool zb_paddle_is_ignored(const char *name);

/* ---- spatial.c: whether a node is batch normalization by the statistics of its batch ---- */
bool zb_paddle_batch_norm_trains(zb_import_node *n);

/* ---- The functions of ops, as the rows name them ---- */
#define ZB_PADDLE(name, pir, inputs, outputs, attributes, gradient, run, op)                                           \
  zb_result zb_paddle_##run(zb_import_node *n);
#define ZB_PADDLE_GRAD(name, pir, inputs, outputs, of)
#define ZB_PADDLE_STEP(name, pir, inputs, outputs, op)
#include "ir/import/paddle/paddle_ops.def"
#undef ZB_PADDLE
#undef ZB_PADDLE_GRAD
#undef ZB_PADDLE_STEP
