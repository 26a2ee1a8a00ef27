/* Runs the ops of a block by their reference kernels, one after the other: what the check of gradients computes with.
 * Values are contiguous and released behind their last reader. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/machine.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

static bool allocate(const zb_shape *shape, zb_known *out) {
  *out = (zb_known){.shape = *shape, .data = zb_alloc((size_t)zb_shape_bytes(shape) + 1)};
  out->elements = zb_shape_elements(shape);
  return out->data != NULL;
}

static zb_known *value_of(const zb_stablehlo_machine *m, MlirValue value) {
  const int64_t number = zb_map_get_or(m->numbers, value.ptr, -1);
  return number < 0 ? NULL : &m->values[number];
}

/* A view as a copy: along the last dimension in one go where it lies dense. */
static bool run_view(const zb_op_view *view, const zb_known *in, int result, zb_known *out) {
  zb_strided strided, own = {.offset = 0};
  zb_strides(&in->shape, own.strides);
  if (!view->def->view(view, &own, result, &out->shape, &strided)) return false;
  const int last = out->shape.rank - 1;
  zb_shape outer = out->shape;
  const bool is_dense = last >= 0 && strided.strides[last] == 1;
  const int64_t run = is_dense ? out->shape.dims[last] : 1;
  if (is_dense) outer.rank = last;
  zb_walk walk = {.shape = &outer, .count = 1, .at = {strided.offset}};
  memcpy(walk.strides[0], strided.strides, sizeof strided.strides);
  for (int64_t i = 0; i < out->elements; i += run, zb_walk_next(&walk))
    zb_known_put(out, i, in, walk.at[0], run);
  return true;
}

static bool run_kernel(const zb_stablehlo_machine *m, MlirOperation op, const zb_op_view *view, zb_known **outs) {
  const zb_kernel *kernel = zb_kernel_reference(view->def->name);
  zb_tensor inputs[ZB_VIEW_OPERANDS], outputs[ZB_STABLEHLO_RESULTS];
  zb_shape shapes[ZB_STABLEHLO_RESULTS];
  const int results = (int)mlirOperationGetNumResults(op);
  if (!kernel) return false;
  for (int i = 0, taken = 0; i < view->operand_count; ++i) {
    if (view->operands[i].rank < 0)
      inputs[i] = (zb_tensor){.data = NULL, .rank = -1};
    else
      inputs[i] = zb_known_tensor(value_of(m, mlirOperationGetOperand(op, taken++)));
  }
  for (int i = 0; i < results; ++i)
    outputs[i] = zb_known_tensor(outs[i]), shapes[i] = outs[i]->shape;
  const uint64_t scratch = view->def->scratch_bytes ? view->def->scratch_bytes(view, shapes) : 0;
  void *workspace = scratch ? zb_alloc_aligned(scratch, ZB_ALIGNMENT) : NULL;
  if (scratch && !workspace) return false;
  const zb_kernel_call call = {.inputs = inputs,
                               .input_count = view->operand_count,
                               .outputs = outputs,
                               .output_count = results,
                               .attrs = view->attrs,
                               .workspace = workspace};
  const bool good = kernel->run(&call) == NULL;
  zb_free(workspace);
  return good;
}

static bool run_op(zb_stablehlo_machine *m, MlirOperation op) {
  zb_op_view view;
  zb_known *outs[ZB_STABLEHLO_RESULTS];
  const intptr_t results = mlirOperationGetNumResults(op);
  if (results > ZB_STABLEHLO_RESULTS || !zb_op_view_get(op, &view, &m->storage)) return false;
  for (intptr_t i = 0; i < results; ++i) {
    zb_shape shape;
    outs[i] = value_of(m, mlirOperationGetResult(op, i));
    if (!outs[i] || !zb_stablehlo_shape(mlirValueGetType(mlirOperationGetResult(op, i)), &shape)) return false;
    if (!allocate(&shape, outs[i])) return false;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (!value_of(m, mlirOperationGetOperand(op, i)) || !value_of(m, mlirOperationGetOperand(op, i))->data)
      return false;
  if (strcmp(view.def->name, "constant") == 0)
    return zb_stablehlo_read_dense(zb_get_attribute(op, "value"), outs[0]), true;
  bool good = true;
  if (view.def->op_class != ZB_CLASS_VIEW)
    return view.def->op_class == ZB_CLASS_KERNEL && run_kernel(m, op, &view, outs);
  for (intptr_t i = 0; i < results && good; ++i)
    good = run_view(&view, value_of(m, mlirOperationGetOperand(op, 0)), (int)i, outs[i]);
  return good;
}

/* Operands that nothing behind this op reads. */
static void release_operands(zb_stablehlo_machine *m, MlirOperation op, size_t position) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    const int64_t number = zb_map_get_or(m->numbers, mlirOperationGetOperand(op, i).ptr, -1);
    if (number < 0 || m->last_reads[number] != position || m->is_kept[number]) continue;
    zb_free(m->values[number].data);
    m->values[number].data = NULL;
  }
}

static bool add_value(zb_stablehlo_machine *m, MlirValue value, bool is_kept) {
  m->is_kept[m->count] = is_kept;
  return zb_map_set(m->numbers, value.ptr, (int64_t)m->count++);
}

bool zb_stablehlo_machine_init(zb_stablehlo_machine *m, zb_arena *memory, MlirBlock block) {
  size_t count = (size_t)mlirBlockGetNumArguments(block), position = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    count += (size_t)mlirOperationGetNumResults(op);
  *m = (zb_stablehlo_machine){.block = block, .numbers = zb_arena_map_pointer(memory)};
  m->values = zb_arena_take(memory, count + 1, sizeof *m->values);
  m->last_reads = zb_arena_take(memory, count + 1, sizeof *m->last_reads);
  m->is_kept = zb_arena_take(memory, count + 1, sizeof *m->is_kept);
  if (!m->numbers || !m->values || !m->last_reads || !m->is_kept) return false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
    if (!add_value(m, mlirBlockGetArgument(block, i), true)) return false;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    ++position;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
      m->last_reads[zb_map_get_or(m->numbers, mlirOperationGetOperand(op, i).ptr, 0)] = position;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      if (!add_value(m, mlirOperationGetResult(op, i), false)) return false;
  }
  return true;
}

zb_known *zb_stablehlo_machine_argument(zb_stablehlo_machine *m, int argument) {
  zb_known *value = &m->values[argument];
  zb_shape shape;
  if (value->data) return value;
  if (!zb_stablehlo_shape(mlirValueGetType(mlirBlockGetArgument(m->block, argument)), &shape)) return NULL;
  return allocate(&shape, value) ? value : NULL;
}

void zb_stablehlo_machine_keep(zb_stablehlo_machine *m, MlirValue value) {
  const int64_t number = zb_map_get_or(m->numbers, value.ptr, -1);
  if (number >= 0) m->is_kept[number] = true;
}

const zb_known *zb_stablehlo_machine_value(const zb_stablehlo_machine *m, MlirValue value) {
  const zb_known *known = value_of(m, value);
  return known && known->data ? known : NULL;
}

static void clear(zb_stablehlo_machine *m, size_t from) {
  for (size_t i = from; i < m->count; ++i) {
    zb_free(m->values[i].data);
    m->values[i].data = NULL;
  }
}

bool zb_stablehlo_machine_run(zb_stablehlo_machine *m, MlirOperation last) {
  size_t position = 0;
  clear(m, (size_t)mlirBlockGetNumArguments(m->block));
  for (MlirOperation op = mlirBlockGetFirstOperation(m->block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    ++position;
    if (!run_op(m, op)) return false;
    release_operands(m, op, position);
    if (mlirOperationEqual(op, last)) break;
  }
  return true;
}

void zb_stablehlo_machine_deinit(zb_stablehlo_machine *m) { clear(m, 0); }
