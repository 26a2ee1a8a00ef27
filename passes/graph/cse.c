/* zb-cse: merges pure ops that compute the same: same name, operands, attributes and result types. The first one stays.
 *
 *   %a = exp(%x)          %a = exp(%x)
 *   %b = exp(%x)    ->    %c = add(%a, %a)
 *   %c = add(%a, %b)
 *
 * Never merged: an op computed from parameters and constants alone, for a use of a parameter is one chain of its own
 * (ARCHITECTURE.md, "use"); ops with different zb.of, for they may end in different stages; numbered forward ops
 * of a differentiated program, for gradient ops name them (zb.id, zb.of); ops of dialects that the context does not
 * know, for their attributes cannot be listed. Locations and zb.origin do not count. Merging is part of the program's
 * meaning (it decides the order of sums), so it happens before partition.
 *
 * Tests: test/passes/cse.mlir. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "runtime/base/digest.h"

#include <string.h>

typedef struct table {
  MlirOperation *slots; /* open addressing */
  uint64_t *hashes;
  size_t mask;
} table;

static uint64_t mix(uint64_t hash, const void *pointer) { return zb_fnv1a(hash, &pointer, sizeof pointer); }

/* Operands in the order of comparison: of a commutative op of two the smaller pointer first. Only equality depends on
 * it. */
static void ordered_operands(MlirOperation op, bool commutative, MlirValue out[2]) {
  out[0] = mlirOperationGetOperand(op, 0);
  out[1] = mlirOperationGetOperand(op, 1);
  if (!commutative || (uintptr_t)out[0].ptr <= (uintptr_t)out[1].ptr) return;
  MlirValue first = out[0];
  out[0] = out[1];
  out[1] = first;
}

static bool swaps(MlirOperation op) {
  return mlirOperationGetNumOperands(op) == 2 && zb_has_trait(zb_op_find(op), ZB_TRAIT_COMMUTATIVE);
}

/* Where an op comes from is not what it computes. */
static bool is_origin(MlirNamedAttribute attribute) {
  return strcmp(mlirIdentifierStr(attribute.name).data, ZB_ATTR_ORIGIN) == 0;
}

/* MLIR makes names, attributes and types unique within a context: equal ones have equal pointers. */
static uint64_t hash_op(MlirOperation op) {
  uint64_t hash = mix(ZB_FNV_START, mlirOperationGetName(op).ptr);
  MlirValue pair[2];
  intptr_t operands = mlirOperationGetNumOperands(op);
  if (operands == 2) ordered_operands(op, swaps(op), pair);
  for (intptr_t i = 0; i < operands; ++i)
    hash = mix(hash, operands == 2 ? pair[i].ptr : mlirOperationGetOperand(op, i).ptr);
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); ++i) {
    MlirNamedAttribute attribute = mlirOperationGetAttribute(op, i);
    if (!is_origin(attribute)) hash = mix(mix(hash, attribute.name.ptr), attribute.attribute.ptr);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    hash = mix(hash, mlirValueGetType(mlirOperationGetResult(op, i)).ptr);
  return hash;
}

static bool equal_operands(MlirOperation a, MlirOperation b) {
  intptr_t count = mlirOperationGetNumOperands(a);
  if (count != mlirOperationGetNumOperands(b)) return false;
  if (count == 2) {
    MlirValue left[2], right[2];
    ordered_operands(a, swaps(a), left);
    ordered_operands(b, swaps(b), right);
    return mlirValueEqual(left[0], right[0]) && mlirValueEqual(left[1], right[1]);
  }
  for (intptr_t i = 0; i < count; ++i)
    if (!mlirValueEqual(mlirOperationGetOperand(a, i), mlirOperationGetOperand(b, i))) return false;
  return true;
}

static bool equal_results(MlirOperation a, MlirOperation b) {
  intptr_t count = mlirOperationGetNumResults(a);
  if (count != mlirOperationGetNumResults(b)) return false;
  for (intptr_t i = 0; i < count; ++i)
    if (!zb_same_type(mlirOperationGetResult(a, i), mlirOperationGetResult(b, i))) return false;
  return true;
}

static intptr_t count_attributes(MlirOperation op) {
  return mlirOperationGetNumAttributes(op) - zb_has_attribute(op, ZB_ATTR_ORIGIN);
}

static bool equal_attributes(MlirOperation a, MlirOperation b) {
  if (count_attributes(a) != count_attributes(b)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(a); ++i) {
    MlirNamedAttribute attribute = mlirOperationGetAttribute(a, i);
    if (is_origin(attribute)) continue;
    MlirAttribute other = mlirOperationGetAttributeByName(b, mlirIdentifierStr(attribute.name));
    if (mlirAttributeIsNull(other) || !mlirAttributeEqual(other, attribute.attribute)) return false;
  }
  return true;
}

static bool same(MlirOperation a, MlirOperation b) {
  return mlirIdentifierEqual(mlirOperationGetName(a), mlirOperationGetName(b)) && equal_operands(a, b) &&
         equal_results(a, b) && equal_attributes(a, b);
}

/* The op that computes the same, or null after entering this one. */
static MlirOperation find_or_enter(table *t, MlirOperation op) {
  uint64_t hash = hash_op(op);
  size_t slot = (size_t)hash & t->mask;
  for (; !mlirOperationIsNull(t->slots[slot]); slot = (slot + 1) & t->mask)
    if (t->hashes[slot] == hash && same(t->slots[slot], op)) return t->slots[slot];
  t->slots[slot] = op;
  t->hashes[slot] = hash;
  return (MlirOperation){0};
}

static bool may_merge(const zb_graph *graph, const uint8_t *depends, const zb_node *node) {
  if (!zb_has_trait(node->def, ZB_TRAIT_PURE) || mlirOperationGetNumRegions(node->op) > 0 || zb_is_numbered(node->op))
    return false;
  if (node->def->op_class == ZB_CLASS_FOREIGN &&
      !mlirContextIsRegisteredOperation(mlirOperationGetContext(node->op),
                                        mlirIdentifierStr(mlirOperationGetName(node->op))))
    return false;
  return !zb_is_chain(zb_node_depends(graph, depends, node));
}

static zb_status merge_all(zb_arena *arena, MlirOperation function, int64_t *changes) {
  zb_graph graph;
  table t = {0};
  ZB_TRY(zb_graph_build(arena, function, &graph));
  size_t size = 16;
  while (size < (size_t)graph.node_count * 2)
    size *= 2;
  t.slots = zb_arena_take(arena, size, sizeof *t.slots);
  t.hashes = zb_arena_take(arena, size, sizeof *t.hashes);
  t.mask = size - 1;
  const uint8_t *depends = zb_graph_depends(arena, &graph);
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_NODE(node, &graph) {
    MlirOperation op = node->op, first = {0};
    if (may_merge(&graph, depends, node)) first = find_or_enter(&t, op);
    if (mlirOperationIsNull(first)) continue;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
      mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, r), mlirOperationGetResult(first, r));
    zb_erase_op(op);
    ++*changes;
  }
  return NULL;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  ZB_PASS_TRY(pass, merge_all(&pass->arena, function, &pass->changes));
  return ZB_OK;
}

const zb_pass_def zb_pass_cse = {
    .name = "zb-cse",
    .summary = "merge pure ops that compute the same, except uses of parameters",
    .requires_level = "graph",
    .last_level = "split",
    .run_on_function = run,
};
