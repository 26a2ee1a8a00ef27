/* Programs of shards against the programs that they were made of: loss and gradients.
 *
 * One row of `programs` is a small forward program in f64 (test/passes/programs/). For each number of shards the test
 * makes the program of one shard (zb-shard), differentiates it, puts all shards into one program (zb-unroll-shards),
 * and runs it with the reference kernels on parts of the parameters. Each shard's gradient of a parameter, as its
 * update takes it, is that part of the gradient of the whole program, and the loss is that of the whole program.
 */
#include "ir/placement.h"
#include "passes/tables.h"
#include "test/passes/gradient_programs.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 400, PARAMETERS_MAX = 32, SHARDS_MAX = 5 };

/* As written, and raised: parameters of which a shard has a part, and collectives of a step. */
static const struct {
  const char *name; /* programs/NAME.mlir */
  int shards, cut[2], collectives[2];
} programs[] = {
    {"shards", 2, {7, 7}, {10, 10}}, /* embedding, two of the layer forward and backward, loss, head, norm of heads */
    {"shards", 3, {7, 7}, {10, 10}}, {"shards", 4, {4, 4}, {7, 7}}, /* six heads stay whole */
    {"shards", 5, {1, 1}, {5, 5}}, /* the embedding alone, with rows that mean nothing */
    {"block", 2, {7, 5}, {11, 4}}, /* a norm that was taken apart goes along */
    {"mlp", 2, {3, 0}, {8, 0}},      {"odd", 2, {2, 2}, {2, 2}},
};
enum { PROGRAM_COUNT = sizeof programs / sizeof programs[0] };

static const char *const before[2] = {"zb-canonicalize,zb-cse",
                                      "zb-canonicalize,zb-cse,zb-raise,zb-canonicalize,zb-dce"};
static const char behind[] = "zb-autodiff,zb-split-grad,zb-canonicalize,zb-cse,zb-dce,zb-fuse,zb-layout";

/* ---- Programs ---- */

/* A parameter as the program of one shard has it. */
typedef struct parameter {
  char name[64];
  bool trained;
  zb_shape shape;     /* whole */
  int dim, run_count; /* run_count 0: it is not cut */
  int64_t runs[ZB_SEGMENTS_MAX];
} parameter;

typedef struct step {
  zb_array loss, gradients[SHARDS_MAX * PARAMETERS_MAX]; /* of parameter p of shard c: p * shards + c */
} step;

/* What the name stands for, which depends on the name alone. */
static zb_array make_named(const char *name, const zb_shape *shape) {
  generator = 42;
  for (const char *at = name; *at; ++at)
    generator = generator * 31 + (uint64_t)*at;
  return make_array(shape);
}

/* ---- Parts ---- */

/* The index of an element of a part, in the whole; -1: it is behind the end. */
static int64_t whole_index(const parameter *p, int64_t index, int64_t shard, int64_t shards) {
  int64_t inner = 1, part = 0, begin = 0, local, run = 0;
  if (p->run_count == 0) return index;
  for (int d = p->dim + 1; d < p->shape.rank; ++d)
    inner *= p->shape.dims[d];
  for (int i = 0; i < p->run_count; ++i)
    part += (p->runs[i] + shards - 1) / shards;
  local = index / inner % part;
  for (int64_t each = 0; run < p->run_count; ++run, local -= each) {
    each = (p->runs[run] + shards - 1) / shards;
    if (local < each) {
      begin += shard * each + local;
      break;
    }
    begin += p->runs[run];
  }
  if (begin >= p->shape.dims[p->dim]) return -1;
  return (index / inner / part * p->shape.dims[p->dim] + begin) * inner + index % inner;
}

static zb_array part_of(const parameter *p, const zb_array *whole, const zb_shape *shape, int64_t shard,
                        int64_t shards) {
  zb_array part = new_array(shape);
  for (int64_t i = 0; i < zb_shape_elements(shape); ++i) {
    const int64_t from = whole_index(p, i, shard, shards);
    zb_array_set(&part, i, from < 0 ? 0 : zb_array_get(whole, from));
  }
  return part;
}

static void read_cut(parameter *p, const char *text) {
  p->run_count = 0;
  if (!text) return;
  p->dim = atoi(text);
  for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ','))
    p->runs[p->run_count++] = atoll(at + 1);
}

/* Parameters of the program, and how it cuts them. */
static int list_parameters(MlirModule module, const parameter *whole, parameter *out) {
  MlirOperation function;
  MlirBlock body;
  int count = 0;
  zb_result found = zb_pass_function(module, &function, &body);
  ZB_ASSERT(found);
  for (zb_ports at = zb_arguments(function); zb_next(&at);) {
    const char *name = at.port.param ? at.port.param : at.port.frozen;
    if (!name) continue;
    ZB_ASSERT(count < PARAMETERS_MAX);
    parameter *p = &out[count];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->trained = at.port.param != NULL;
    read_cut(p, at.port.shard);
    if (whole)
      p->shape = whole[count].shape;
    else
      zb_type_shape(at.type, &p->shape);
    ++count;
  }
  return count;
}

/* ---- A step ---- */

/* "w@1" is of shard 1. */
static int find_parameter(const parameter *parameters, int count, const char *name, int *shard) {
  const char *at = strrchr(name, '@');
  const size_t length = at ? (size_t)(at - name) : strlen(name);
  *shard = at ? atoi(at + 1) : 0;
  for (int i = 0; i < count; ++i)
    if (strlen(parameters[i].name) == length && strncmp(parameters[i].name, name, length) == 0) return i;
  return -1;
}

/* Accumulates take one micro-batch. Values: the loss, then what the update of every parameter takes. */
static int list_values(MlirOperation function, MlirBlock body, const parameter *parameters, int count, int shards,
                       MlirValue *values, int *numbers) {
  int found = 0;
  zb_op_list list;
  zb_arena arena = {0};
  zb_status status = zb_op_list_collect(&arena, function, &list);
  ZB_ASSERT(!status);
  values[found++] = mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
  for (size_t i = 0; i < list.count; ++i) {
    if (zb_op_is(list.items[i], "zb.accumulate"))
      mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(list.items[i], 0),
                                    mlirOperationGetOperand(list.items[i], 0));
    if (!zb_op_is(list.items[i], "zb.adamw")) continue;
    int shard;
    MlirValue argument = mlirOperationGetOperand(list.items[i], 0);
    const char *name = zb_argument_string(function, (int)mlirBlockArgumentGetArgNumber(argument), ZB_ATTR_PARAM);
    const int p = find_parameter(parameters, count, name, &shard);
    ZB_ASSERT(p >= 0);
    numbers[found] = p * shards + shard;
    values[found++] = mlirOperationGetOperand(list.items[i], 1);
  }
  mlirOperationSetOperands(mlirBlockGetTerminator(body), found, values);
  erase_unread(&list);
  zb_arena_deinit(&arena);
  return found;
}

static void run_step(MlirModule module, const parameter *parameters, int count, int shards, step *out) {
  MlirOperation function;
  MlirBlock body;
  zb_array arguments[ARGUMENTS_MAX] = {{{0}, NULL}}, results[SHARDS_MAX * PARAMETERS_MAX + 1];
  MlirValue values[SHARDS_MAX * PARAMETERS_MAX + 1];
  int numbers[SHARDS_MAX * PARAMETERS_MAX + 1], argument_count = 0;
  zb_result known = zb_pass_function(module, &function, &body);
  ZB_ASSERT(known);
  for (zb_ports at = zb_arguments(function); zb_next(&at); ++argument_count) {
    zb_shape shape;
    int shard;
    ZB_ASSERT(argument_count < ARGUMENTS_MAX);
    zb_type_shape(at.type, &shape);
    if (at.port.input) arguments[argument_count] = make_named(at.port.input, &shape);
    const char *name = at.port.param ? at.port.param : at.port.frozen;
    if (!name) continue;
    const parameter *p = &parameters[find_parameter(parameters, count, name, &shard)];
    zb_array whole = make_named(p->name, &p->shape);
    arguments[argument_count] = part_of(p, &whole, &shape, shard, shards);
    zb_free(whole.data);
  }
  const int found = list_values(function, body, parameters, count, shards, values, numbers);
  const char *error = zb_evaluate(body, arguments, values, found, results);
  if (error) fprintf(stderr, "%s\n", error);
  CU_ASSERT_FATAL(error == NULL);
  out->loss = results[0];
  for (int i = 1; i < found; ++i)
    out->gradients[numbers[i]] = results[i];
  for (int i = 0; i < argument_count; ++i)
    zb_free(arguments[i].data);
}

/* ---- The test ---- */

static int count_ops(MlirModule module, const char *name) {
  MlirOperation function;
  MlirBlock body;
  int count = 0;
  zb_result found = zb_pass_function(module, &function, &body);
  ZB_ASSERT(found);
  ZB_FOR_EACH_OP(op, body)
    count += zb_op_is(op, name);
  return count;
}

static void check_gradients(const char *name, const parameter *parameters, int count, int shards, const step *whole,
                            const step *parts) {
  const double loss = zb_array_get(&whole->loss, 0);
  CU_ASSERT_DOUBLE_EQUAL(zb_array_get(&parts->loss, 0), loss, 1e-12 * fabs(loss));
  for (int p = 0; p < count; ++p)
    for (int c = 0; c < shards; ++c) {
      const zb_array *part = &parts->gradients[p * shards + c];
      CU_ASSERT_EQUAL(part->data != NULL, parameters[p].trained);
      if (!parameters[p].trained) continue;
      for (int64_t i = 0; i < zb_shape_elements(&part->shape); ++i) {
        const int64_t from = whole_index(&parameters[p], i, c, shards);
        const double wanted = from < 0 ? 0 : zb_array_get(&whole->gradients[p], from), got = zb_array_get(part, i);
        const bool near = fabs(got - wanted) <= 1e-12 + 1e-10 * fabs(wanted);
        if (!near)
          fprintf(stderr, "%s, %d shards: %s of shard %d, element %lld: %.12g, of the whole program %.12g\n", name,
                  shards, parameters[p].name, c, (long long)i, got, wanted);
        CU_ASSERT_FATAL(near);
      }
    }
}

static void free_step(step *s) {
  zb_free(s->loss.data);
  for (int i = 0; i < SHARDS_MAX * PARAMETERS_MAX; ++i)
    zb_free(s->gradients[i].data);
}

static void check_program(int row, int as) {
  const char *first = before[as];
  char text[512];
  parameter whole_parameters[PARAMETERS_MAX], parameters[PARAMETERS_MAX];
  step whole_step = {.loss = {{0}, NULL}}, parts_step = {.loss = {{0}, NULL}};
  const int shards = programs[row].shards;
  int cut = 0;
  MlirModule whole = parse(programs[row].name), parts = parse(programs[row].name);
  const int count = list_parameters(whole, NULL, whole_parameters);
  snprintf(text, sizeof text, "%s,%s", first, behind);
  CU_ASSERT_FATAL(run_passes(whole, text));
  run_step(whole, whole_parameters, count, 1, &whole_step);
  snprintf(text, sizeof text, "%s,zb-shard{tensor-parallel=%d},%s", first, shards, behind);
  CU_ASSERT_FATAL(run_passes(parts, text));
  list_parameters(parts, whole_parameters, parameters);
  for (int p = 0; p < count; ++p)
    cut += parameters[p].run_count > 0;
  const int collectives = count_ops(parts, "zb.all_reduce");
  if (cut != programs[row].cut[as] || collectives != programs[row].collectives[as])
    fprintf(stderr, "%s, %d shards: %d parameters are cut, %d collectives\n", programs[row].name, shards, cut,
            collectives);
  CU_ASSERT_EQUAL(cut, programs[row].cut[as]);
  CU_ASSERT_EQUAL(collectives, programs[row].collectives[as]);
  CU_ASSERT_FATAL(run_passes(parts, "zb-unroll-shards"));
  CU_ASSERT_EQUAL(count_ops(parts, "zb.all_reduce"), 0);
  run_step(parts, parameters, count, shards, &parts_step);
  check_gradients(programs[row].name, parameters, count, shards, &whole_step, &parts_step);
  free_step(&whole_step);
  free_step(&parts_step);
  mlirModuleDestroy(whole);
  mlirModuleDestroy(parts);
}

static void test_shards(void) {
  for (int row = 0; row < PROGRAM_COUNT; ++row)
    for (int as = 0; as < 2; ++as)
      check_program(row, as);
}

int main(void) {
  zb_diagnostics diagnostics = {0};
  context = zb_context_create(false);
  MlirDiagnosticHandlerID handler = zb_diagnostics_attach(context, &diagnostics);
  if (CU_initialize_registry() != CUE_SUCCESS) return (int)CU_get_error();
  CU_pSuite suite = CU_add_suite("shards", NULL, NULL);
  CU_add_test(suite, "gradients", test_shards);
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  mlirContextDetachDiagnosticHandler(context, handler);
  mlirContextDestroy(context);
  return failures ? 1 : 0;
}
