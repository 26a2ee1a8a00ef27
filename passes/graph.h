/* A function as plain arrays: ops and values with numbers, def-use both ways. Built in one walk, O(ops + operands);
 * passes that need global facts (partition, classify, outline, memory, CSE, DCE, layout) work on it and then write
 * attributes or rebuild. It is a snapshot: changes of the IR are not seen. */
#pragma once

#include "ir/op.h"
#include "runtime/base/arena.h"

#include <string.h>

/* What regions of an op (of another dialect: zb ops have none) read of the program are operands of its node behind its
 * own. Its row, which does not know them, then says nothing of it. */
typedef struct zb_node {
  MlirOperation op;
  const zb_op_def *def;             /* NULL: nobody described it, or its regions read values of the program */
  MlirStringRef name;               /* of the op; zb_node_is */
  int operand_begin, operand_count; /* graph.operands: value numbers, those that regions of the op read last */
  int result_begin, result_count;   /* value numbers are consecutive */
  int use_begin, use_count;         /* of all results */
  int number;
} zb_node;

typedef struct zb_value {
  MlirValue value;
  int producer;             /* node, or -1: argument */
  int index;                /* result or argument number */
  int use_begin, use_count; /* graph.uses: node numbers, in program order, one entry an operand */
  bool returned;            /* an operand of the terminator */
} zb_value;

typedef struct zb_graph {
  MlirOperation function;
  MlirBlock block;
  MlirOperation terminator;
  zb_node *nodes; /* program order, terminator left out */
  int node_count;
  zb_value *values; /* arguments first */
  int value_count, argument_count;
  int *operands, *uses;
  int *returned; /* value numbers of the terminator's operands */
  int returned_count;
  zb_map *numbers; /* MlirValue.ptr -> value number */
} zb_graph;

/* Lives in the arena. */
zb_status zb_graph_build(zb_arena *arena, MlirOperation function, zb_graph *out) ZB_MUST_USE;

/* A graph that several passes use, one after the other: made by the first that asks, for as long as none changes more
 * than attributes (keeps_graph of its row). */
typedef struct zb_kept_graph {
  zb_arena arena;
  zb_graph graph;
  bool is_old; /* the pass changed more after all */
} zb_kept_graph;
struct zb_pass;
/* That of a function, which belongs to the pipeline. */
zb_status zb_pass_graph(struct zb_pass *pass, MlirOperation function, zb_graph *out) ZB_MUST_USE;
void zb_kept_graph_drop(zb_kept_graph *kept);

int zb_graph_value(const zb_graph *graph, MlirValue value); /* -1 if it is not of this function */
static inline int zb_operand(const zb_graph *graph, const zb_node *node, int index) {
  return graph->operands[node->operand_begin + index];
}
/* Puts another value in the place of operand `index` of an op, or of a clone of it, which is the value of that number;
 * of one that its regions read, in the place of every use there. */
void zb_graph_set_operand(const zb_graph *graph, MlirOperation op, int index, int value, MlirValue other);
/* The node that makes a value; NULL for an argument. */
static inline const zb_node *zb_maker(const zb_graph *graph, int value) {
  return graph->values[value].producer < 0 ? NULL : &graph->nodes[graph->values[value].producer];
}

/* The shape of a value; false for a frame and what else has none. */
static inline bool zb_value_shape(MlirValue value, zb_shape *out) {
  return zb_type_shape(mlirValueGetType(value), out);
}
static inline bool zb_same_type(MlirValue a, MlirValue b) {
  return mlirTypeEqual(mlirValueGetType(a), mlirValueGetType(b));
}

/* Walks. Nodes are const zb_node *, all others numbers; `of` is a node or a value. */
#define ZB_FOR_EACH_NODE(node, graph)                                                                                  \
  for (const zb_node *node = (graph)->nodes; node < (graph)->nodes + (graph)->node_count; ++node)
#define ZB_FOR_EACH_NODE_BACKWARD(node, graph)                                                                         \
  for (const zb_node *node = (graph)->nodes + (graph)->node_count; node-- > (graph)->nodes;)
#define ZB_FOR_EACH_RESULT(value, node)                                                                                \
  for (int value = (node)->result_begin; value < (node)->result_begin + (node)->result_count; ++value)
#define ZB_FOR_EACH_IN(number, list, begin, count)                                                                     \
  for (int number##_at = 0, number; number##_at < (count) && ((number = (list)[(begin) + number##_at]), true);         \
       ++number##_at)
#define ZB_FOR_EACH_OPERAND(value, graph, node)                                                                        \
  ZB_FOR_EACH_IN(value, (graph)->operands, (node)->operand_begin, (node)->operand_count)
#define ZB_FOR_EACH_USER(user, graph, of) ZB_FOR_EACH_IN(user, (graph)->uses, (of)->use_begin, (of)->use_count)
static inline bool zb_node_is(const zb_node *node, const char *full_name) {
  return node->name.length == strlen(full_name) && memcmp(node->name.data, full_name, node->name.length) == 0;
}
/* Key of a number from 0 on, such as a zb.id, in a map of pointers. */
static inline void *zb_id_key(int64_t id) { return (void *)(uintptr_t)(id + 1); }
/* String attribute of argument or result `index` of a function ("zb.param"), or NULL. */
const char *zb_argument_string(MlirOperation function, int index, const char *name);
bool zb_argument_has(MlirOperation function, int index, const char *name);
const char *zb_result_string(MlirOperation function, int index, const char *name);
bool zb_result_has(MlirOperation function, int index, const char *name);
