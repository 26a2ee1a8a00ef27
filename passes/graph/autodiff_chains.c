/* Parameter chains of zb-autodiff: one a reader. See passes/graph/autodiff_parts.h.
 *
 *   %t = transpose(%w)            %t0 = transpose(%w)
 *   %a = matmul(%x, %t)     ->    %a = matmul(%x, %t0)
 *   %b = matmul(%y, %t)           %t1 = transpose(%w)
 *                                 %b = matmul(%y, %t1)
 *
 * Why: a parameter that two stages read must not be computed in one stage and sent to the other, nor its gradient sent
 * back. With a chain a reader, every chain lies in its reader's stage, and a gradient of a parameter ends in an
 * accumulate there. Values that depend on constants alone stay shared: nothing is differentiated through them. */

#include "passes/graph/autodiff_parts.h"

#include <stdlib.h>

typedef struct chains {
  zb_graph graph;
  uint8_t *depends;    /* a value */
  bool *member;        /* a node: part of a chain */
  bool *taken;         /* a node: its op already belongs to a reader */
  int *mark;           /* a node: last reader (its number + 1) whose chain it was found in */
  MlirOperation *copy; /* a node: the op that stands for it in the chain of the current reader */
  int *found;          /* nodes of the current chain */
  int *stack;
  int found_count;
  int64_t clones;
} chains;

static zb_status chains_init(zb_arena *arena, MlirOperation function, chains *c) {
  ZB_TRY(zb_graph_build(arena, function, &c->graph));
  int count = c->graph.node_count;
  c->depends = zb_graph_depends(arena, &c->graph);
  c->member = ZB_NEW(arena, bool, count);
  c->taken = ZB_NEW(arena, bool, count);
  c->mark = ZB_NEW(arena, int, count);
  c->copy = ZB_NEW(arena, MlirOperation, count);
  c->found = ZB_NEW(arena, int, count);
  c->stack = ZB_NEW(arena, int, count);
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_NODE(node, &c->graph)
    c->member[node->number] = zb_is_chain(zb_node_depends(&c->graph, c->depends, node));
  return NULL;
}

static int compare_ints(const void *a, const void *b) {
  int left = *(const int *)a, right = *(const int *)b;
  return (left > right) - (left < right);
}

/* Pushes the chain node that makes `value` if this reader has not met it yet. */
static void push(chains *c, int value, int reader, int *depth) {
  int node = c->graph.values[value].producer;
  if (node < 0 || !c->member[node] || c->mark[node] == reader + 1) return;
  c->mark[node] = reader + 1;
  c->stack[(*depth)++] = node;
}

/* All chain nodes that the operands lead back to, in program order. */
static void find_chain(chains *c, const int *operands, int operand_count, int reader) {
  int depth = 0;
  c->found_count = 0;
  for (int i = 0; i < operand_count; ++i)
    push(c, operands[i], reader, &depth);
  while (depth > 0) {
    int n = c->stack[--depth];
    c->found[c->found_count++] = n;
    ZB_FOR_EACH_OPERAND(operand, &c->graph, &c->graph.nodes[n])
      push(c, operand, reader, &depth);
  }
  if (c->found_count) qsort(c->found, (size_t)c->found_count, sizeof c->found[0], compare_ints);
}

/* Makes operand `index` of `op` read the current chain's copy of the value. */
static void redirect(chains *c, MlirOperation op, int index, int value, int reader) {
  const zb_value *old = &c->graph.values[value];
  if (old->producer < 0 || !c->member[old->producer] || c->mark[old->producer] != reader + 1) return;
  zb_graph_set_operand(&c->graph, op, index, value, mlirOperationGetResult(c->copy[old->producer], old->index));
}

/* The first reader takes the ops themselves, later ones take clones; all are placed directly before the reader. */
static void place_chain(chains *c, MlirOperation reader_op, int reader) {
  for (int i = 0; i < c->found_count; ++i) {
    int n = c->found[i];
    const zb_node *node = &c->graph.nodes[n];
    if (c->taken[n]) {
      c->copy[n] = mlirOperationClone(node->op);
      mlirBlockInsertOwnedOperationBefore(c->graph.block, reader_op, c->copy[n]);
      ++c->clones;
    } else {
      c->copy[n] = node->op;
      c->taken[n] = true;
      mlirOperationMoveBefore(node->op, reader_op);
    }
    for (int k = 0; k < node->operand_count; ++k)
      redirect(c, c->copy[n], k, zb_operand(&c->graph, node, k), reader);
  }
}

static void own_chain(chains *c, MlirOperation reader_op, const int *operands, int operand_count, int reader) {
  find_chain(c, operands, operand_count, reader);
  if (c->found_count == 0) return;
  place_chain(c, reader_op, reader);
  for (int k = 0; k < operand_count; ++k)
    redirect(c, reader_op, k, operands[k], reader);
}

zb_status zb_autodiff_own_chains(zb_arena *arena, MlirOperation function, int64_t *changes) {
  chains c = {0};
  ZB_TRY(chains_init(arena, function, &c));
  ZB_FOR_EACH_NODE(node, &c.graph)
    if (!c.member[node->number])
      own_chain(&c, node->op, c.graph.operands + node->operand_begin, node->operand_count, node->number);
  own_chain(&c, c.graph.terminator, c.graph.returned, c.graph.returned_count, c.graph.node_count);
  *changes += c.clones;
  return NULL;
}
