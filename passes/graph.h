/* A function as plain arrays: ops and values with numbers, def-use both ways. Built in one walk, O(ops + operands);
 * passes that need global facts (partition, classify, outline, memory, CSE, DCE, layout) work on it and then write
 * attributes or rebuild. It is a snapshot: changes of the IR are not seen. */
#ifndef ZB_PASSES_GRAPH_H
#define ZB_PASSES_GRAPH_H

#include "ir/op.h"
#include "runtime/base/arena.h"

typedef struct zb_node {
  MlirOperation op;
  const zb_op_def *def;             /* NULL: nobody described it */
  int operand_begin, operand_count; /* graph.operands: value numbers */
  int result_begin, result_count;   /* value numbers are consecutive */
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
int zb_graph_value(const zb_graph *graph, MlirValue value); /* -1 if it is not of this function */
/* String attribute of argument or result `index` of a function ("zb.param"), or NULL. */
const char *zb_argument_string(MlirOperation function, int index, const char *name);
bool zb_argument_has(MlirOperation function, int index, const char *name);
const char *zb_result_string(MlirOperation function, int index, const char *name);
bool zb_result_has(MlirOperation function, int index, const char *name);

#endif
