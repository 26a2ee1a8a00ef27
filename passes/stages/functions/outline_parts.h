/* The parts of zb-outline: functions under construction (outline_functions.c), those of an evaluation
 * (outline_evaluation.c). */
#pragma once

#include "passes/stages/classes.h"
#include "passes/stages/flow.h"
#include "passes/stages/functions/tied.h"
#include "passes/function.h"
#include "passes/tables.h"
#include "zb/schedule.h"

/* The functions of a stage: F, B, W, the optimizer, whose phases before CLIP may be apart, and E. */
enum { SUB_NORM = ZB_KIND_COUNT, SUB_UPDATE, SUB_EVALUATION, SUBS_OF_STAGE };

/* A function under construction. */
typedef struct outlined {
  zb_function_builder f;
  int rank, stage; /* stage -1: LOAD and tied optimizers */
  zb_job_kind kind;
  int group; /* tied optimizer: which */
  bool started;
} outlined;

/* A sum of the uses of a parameter that the SUM `sub` gives to the UPDATE of its rank. */
typedef struct common_sum {
  int value, sub;
  MlirAttribute port;
} common_sum;

typedef struct outline {
  zb_pass *pass;
  MlirContext context;
  zb_graph graph;
  zb_flow flow;
  int ranks, stages;
  int *stage_rank;
  int *stage;        /* per node */
  zb_job_kind *kind; /* per node */
  int *group;        /* per node: tied optimizer group, -1 none */
  int group_count;
  zb_tied_part *group_rank; /* [group * ranks + rank] */
  bool apart;               /* the phases of the optimizer: something is made of all parameters together */
  outlined *subs; /* stage * SUBS_OF_STAGE + F, B, W, NORM, UPDATE; then rank LOADs, rank CLIPs; then tied groups x
                       ranks x (before CLIP, after it) */
  int sub_count;
  zb_map *memo; /* (sub, value) -> index into locals */
  ZB_LIST(MlirValue) locals;
  bool *crosses;            /* per value: a result of its function */
  MlirAttribute *ports;     /* per value: as an argument or result; null: not asked for yet */
  bool *crosses_evaluation; /* per value: a result of the E of its stage */
  bool evaluates, inference;
  ZB_LIST(common_sum) sums; /* of uses, that an UPDATE reads */
  int reported_norm;        /* which result of the program; -1: none */
  zb_map *load_needs;       /* (LOAD function, value): a rank needs a value of its LOAD */
  int *copy; /* per node: the value that stands for this copy of a parameter (the result of its first cast), or -1 */
  zb_map *copies;     /* name of a parameter -> that value */
  ZB_LIST(int) stack; /* of values, for resolve */
} outline;

static inline bool is_by_mode(const zb_node *node) { return zb_node_is(node, "zb.by_mode"); }

static inline int evaluation_sub(int stage) { return stage * SUBS_OF_STAGE + SUB_EVALUATION; }

static inline int load_sub(const outline *o, int rank) { return o->stages * SUBS_OF_STAGE + rank; }
static inline int clip_sub(const outline *o, int rank) { return load_sub(o, rank) + o->ranks; }
static inline int tied_sub(const outline *o, int group, int rank, bool before_clip) {
  return o->stages * SUBS_OF_STAGE + 2 * o->ranks + 2 * (group * o->ranks + rank) + !before_clip;
}

/* Whether an op, or a function, of that kind is of the optimizer and runs before CLIP. */
static inline bool before_clip(const outline *o, zb_job_kind kind) {
  return o->apart && zb_job_is_optimizer(kind) && kind < ZB_JOB_CLIP;
}

static inline bool is_common(const outline *o, int node) { return node >= 0 && (o->flow.nodes[node] & ZB_FLOW_COMMON); }

static inline void *memo_key(const outline *o, int sub, int value) {
  return (void *)((uintptr_t)sub * (uintptr_t)o->graph.value_count + (uintptr_t)value + 1);
}

/* ---- Functions under construction; false: out of memory ---- */

/* The function an op lives in, -1 for those that are cloned where needed. */
int zb_outline_home(const outline *o, int node);
void zb_outline_start(outline *o, int sub);
/* The value as a function has it; false: it does not have it yet. */
bool zb_outline_lookup(const outline *o, int sub, int value, MlirValue *out);
bool zb_outline_remember(outline *o, int sub, int value, MlirValue local);
bool zb_outline_clone(outline *o, int sub, int node_index);
/* Makes `value` available in a function. */
bool zb_outline_resolve(outline *o, int sub, int value);
/* What crosses is a result of one function and an argument of others. */
MlirAttribute zb_outline_value_port(const outline *o, int value);
MlirAttribute zb_outline_sum_port(outline *o, MlirOperation accumulate);
/* The function that makes a value of the optimizer for a rank (any, where one stage has it). */
int zb_outline_sub_of(const outline *o, int value, int rank);
bool zb_outline_set_operands(outline *o, int sub, const zb_node *node, MlirOperation op);
/* The marks of zb-autodiff have done their work. Without them the attributes of equal layers are equal again, which
 * MLIR keeps once. */
void zb_outline_drop_marks(MlirOperation op);

/* ---- Evaluation ---- */

/* Clones what the reported value needs into the functions E of the stages. A program that reports nothing has none. */
bool zb_outline_evaluation(outline *o);
/* Whether an evaluation has an operand of an op in place of its result. */
bool zb_outline_is_replaced(const zb_node *node);
/* The result that a plan reports: the loss, or where none is marked (a training graph from elsewhere) the first that is
 * no update. -1: none. */
int zb_outline_reported(const outline *o);
