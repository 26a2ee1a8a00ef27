/* Optimizer updates: neighbouring updates of a program with the same attributes become one launch. The device side is
 * optimizer.cu.
 *
 * A launch of few parameters has them in its arguments, by address. One of more has them in a table in device memory,
 * by home, so that the table stays as it is for every run, and a graph that was captured names it. */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

/* The operands of an optimizer. */
typedef struct optimizer {
  zb_cuda_function function;
  int inputs, step;  /* operands in all; which is the step; the settings stand behind it */
  int first, second; /* operands of the state, -1: none */
  const char *beta1, *beta2;
  double beta1_fallback, beta2_fallback;
} optimizer;

static const optimizer adamw = {ZB_FUNCTION_zb_adamw, 6, 4, 2, 3, "beta1", "beta2", 0.9, 0.999};
static const optimizer adam = {ZB_FUNCTION_zb_adam, 6, 4, 2, 3, "beta1", "beta2", 0.9, 0.999};
static const optimizer lion = {ZB_FUNCTION_zb_lion, 5, 3, 2, -1, "beta1", "beta2", 0.9, 0.99};
static const optimizer sgd = {ZB_FUNCTION_zb_sgd, 5, 3, 2, -1, "momentum", "dampening", 0, 0};

static bool state_fits(const zb_kernel_call *call, int operand, int result, const zb_tensor *parameter) {
  const zb_tensor *state = zb_call_input(call, operand), *out = zb_call_output(call, result);
  if (!state) return true;
  return out && zb_cuda_is_float(state->dtype) && out->dtype == state->dtype &&
         zb_tensor_same_shape(state, parameter) && zb_tensor_contiguous(state) && zb_tensor_contiguous(out);
}

static bool update_matches(const zb_kernel_call *call, const optimizer *op) {
  if (call->input_count != op->inputs || !zb_cuda_complete_up_to(call, 2, op->inputs, 1, false)) return false;
  const zb_tensor *parameter = &call->inputs[0], *gradient = &call->inputs[1], *step = zb_call_input(call, op->step);
  const zb_tensor *settings = zb_call_input(call, op->step + 1);
  bool scaled = step && step->dtype == ZB_F64 && zb_tensor_contiguous(step) && zb_tensor_elements(step) == 2;
  if (!step || (!scaled && (!zb_dtype_is_index(step->dtype) || zb_tensor_elements(step) != 1))) return false;
  if (!settings || settings->dtype != ZB_F64 || zb_tensor_elements(settings) != 2 || !zb_tensor_contiguous(settings))
    return false;
  if (!zb_cuda_is_float(parameter->dtype) || !zb_cuda_is_float(gradient->dtype)) return false;
  if (!zb_tensor_contiguous(parameter) || !zb_tensor_contiguous(gradient)) return false;
  if (!zb_tensor_same_shape(parameter, gradient) || !zb_tensor_same_shape(parameter, &call->outputs[0])) return false;
  if (call->outputs[0].dtype != parameter->dtype) return false;
  return state_fits(call, op->first, 1, parameter) && (op->second < 0 || state_fits(call, op->second, 2, parameter));
}

/* How operands are named: by address, or by place, with the bases of places numbered as they come. */
typedef struct naming {
  bool by_home;
  int base_count;
  uint32_t bases[ZB_UPDATE_BASES];
  uint64_t addresses[ZB_UPDATE_BASES];
} naming;

/* Operand `number` of an item, inputs first; NULL: absent. False if there are too many bases. */
static bool name_operand(naming *names, const zb_cuda_item *item, int number, const zb_tensor *x, uint64_t *offset,
                         uint8_t *base) {
  int k = 0;
  *offset = 0;
  *base = ZB_UPDATE_NONE;
  if (!x) return true;
  *base = 0;
  *offset = (uintptr_t)x->data;
  if (!names->by_home) return true;
  const zb_cuda_place *home = &item->places[number];
  while (k < names->base_count && names->bases[k] != home->base)
    ++k;
  if (k == ZB_UPDATE_BASES) return false;
  if (k == names->base_count) names->bases[names->base_count++] = home->base;
  names->addresses[k] = (uintptr_t)x->data - home->offset;
  *base = (uint8_t)k;
  *offset = home->offset;
  return true;
}

/* Results alias their operands, of which only those that are not updated are named. */
static bool update_tensor(naming *names, const zb_cuda_item *item, const optimizer *op, zb_update_tensor *t) {
  const zb_kernel_call *call = item->call;
  const zb_tensor *parameter = &call->outputs[0], *gradient = &call->inputs[1];
  const zb_tensor *first = zb_call_input(call, op->first) ? &call->outputs[1] : NULL;
  const zb_tensor *second = op->second >= 0 ? &call->outputs[2] : NULL;
  int results = call->input_count;
  memset(t, 0, sizeof *t);
  t->elements = zb_tensor_elements(parameter);
  t->parameter_dtype = (uint8_t)parameter->dtype;
  t->gradient_dtype = (uint8_t)gradient->dtype;
  t->state_dtype = (uint8_t)(first ? first->dtype : ZB_F32);
  t->dense = parameter->dtype == ZB_F32 && gradient->dtype == ZB_F32 && t->state_dtype == ZB_F32;
  return name_operand(names, item, 1, gradient, &t->gradient, &t->gradient_base) &&
         name_operand(names, item, op->step + 1, &call->inputs[op->step + 1], &t->settings, &t->settings_base) &&
         name_operand(names, item, results, parameter, &t->parameter, &t->parameter_base) &&
         name_operand(names, item, results + 1, first, &t->first, &t->first_base) &&
         name_operand(names, item, results + 2, second, &t->second, &t->second_base);
}

/* The tensors of a launch, those without elements left out; out may be NULL. Gives how many, and their blocks. */
static int update_tensors(naming *names, const zb_cuda_item *items, int count, const optimizer *op,
                          zb_update_tensor *out, int64_t *out_blocks) {
  int kept = 0;
  *out_blocks = 0;
  for (int i = 0; i < count; ++i) {
    zb_update_tensor t;
    (void)update_tensor(names, &items[i], op, &t); /* update_size saw that it fits */
    if (t.elements == 0) continue;
    t.first_block = (int32_t)*out_blocks;
    *out_blocks += zb_ceil_div(t.elements, ZB_UPDATE_ELEMENTS);
    if (out) out[kept] = t;
    ++kept;
  }
  return kept;
}

static void read_attrs(const zb_kernel_call *call, const optimizer *op, zb_update_args *args) {
  args->beta1 = zb_attr_number(call, op->beta1, op->beta1_fallback);
  args->beta2 = zb_attr_number(call, op->beta2, op->beta2_fallback);
  args->eps = zb_attr_number(call, "eps", 1e-8);
  args->gradient_scale = zb_attr_number(call, "gradient_scale", 1);
  args->nesterov = zb_attr_bool(&call->attrs, "nesterov", false);
}

static bool same_attrs(const zb_update_args *a, const zb_update_args *b) {
  return a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->eps == b->eps && a->gradient_scale == b->gradient_scale &&
         a->nesterov == b->nesterov;
}

static bool same_step(const zb_cuda_item *a, const zb_cuda_item *b, const optimizer *op) {
  const zb_tensor *x = &a->call->inputs[op->step], *y = &b->call->inputs[op->step];
  if (x->dtype != y->dtype) return false;
  if (!a->places || !b->places) return x->data == y->data;
  return a->places[op->step].base == b->places[op->step].base &&
         a->places[op->step].offset == b->places[op->step].offset;
}

/* Calls with the same step and the same attributes; without places as many as the arguments take. */
static int update_size(const zb_cuda_item *items, int count, const optimizer *op) {
  zb_update_args first, other;
  zb_update_tensor t;
  naming names = {.by_home = items[0].places != NULL};
  int64_t blocks = 0;
  int taken = 0;
  read_attrs(items[0].call, op, &first);
  for (; taken < count && (names.by_home || taken < ZB_UPDATE_TENSORS); ++taken) {
    if (items[taken].kernel != items[0].kernel || (names.by_home && !items[taken].places)) break;
    read_attrs(items[taken].call, op, &other);
    if (!same_attrs(&first, &other) || !same_step(&items[0], &items[taken], op)) break;
    if (!update_tensor(&names, &items[taken], op, &t)) break;
    blocks += zb_ceil_div(t.elements, ZB_UPDATE_ELEMENTS);
    if (blocks > INT32_MAX) break;
  }
  return taken > 0 ? taken : 1;
}

static uint64_t update_table_bytes(int count) {
  return count > ZB_UPDATE_TENSORS ? sizeof(zb_update_tensor) * (uint64_t)count : 0;
}

static void update_fill(const zb_cuda_item *items, int count, void *table, const optimizer *op) {
  naming names = {.by_home = true};
  int64_t blocks = 0;
  (void)update_tensors(&names, items, count, op, table, &blocks);
}

static zb_status update_run(const zb_cuda_item *items, int count, CUdeviceptr table, zb_cuda_launcher *on,
                            const optimizer *op) {
  zb_update_args args;
  naming names = {.by_home = table != 0};
  int64_t blocks = 0;
  memset(&args, 0, sizeof args);
  read_attrs(items[0].call, op, &args);
  args.table = (const zb_update_tensor *)(uintptr_t)table;
  args.step = items[0].call->inputs[op->step].data;
  args.step_dtype = items[0].call->inputs[op->step].dtype;
  args.tensor_count = update_tensors(&names, items, count, op, table ? NULL : args.tensors, &blocks);
  memcpy(args.bases, names.addresses, sizeof args.bases);
  if (blocks > INT32_MAX)
    return ZB_ERROR(UNAVAILABLE, "the parameters of one optimizer launch are too large for a grid");
  return zb_cuda_enqueue(on, op->function, blocks, 1, ZB_UPDATE_THREADS, 2 * sizeof(float), &args);
}

#define OPTIMIZER(name)                                                                                                \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) { return update_matches(call, &name); }                      \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return update_run(&(zb_cuda_item){.call = call}, 1, 0, on, &name);                                                 \
  }                                                                                                                    \
  static int size_##name(const zb_cuda_item *items, int count) { return update_size(items, count, &name); }            \
  static void fill_##name(const zb_cuda_item *items, int count, void *table) {                                         \
    update_fill(items, count, table, &name);                                                                           \
  }                                                                                                                    \
  static zb_status run_##name(const zb_cuda_item *items, int count, CUdeviceptr table, zb_cuda_launcher *on) {         \
    return update_run(items, count, table, on, &name);                                                                 \
  }                                                                                                                    \
  const zb_cuda_group zb_cuda_group_##name = {size_##name, update_table_bytes, fill_##name, run_##name};
OPTIMIZER(adamw)
OPTIMIZER(adam)
OPTIMIZER(lion)
OPTIMIZER(sgd)
