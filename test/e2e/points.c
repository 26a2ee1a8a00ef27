/* What a model computes, and the gradients of its parameters, non-finite ones too, for test/e2e/points.py: the passes
 * of zbc up to zb-layout run, and then every op by the kernel of the cpu device, or by its reference kernel.
 *
 * usage: points MODEL OUT.safetensors [--values FILE.safetensors] [--roles FILE] [--loss NAME] [--train GLOB]...
 *        [--reference] [--no-raise]
 * OUT gets the gradient of each trained parameter under its name. Parameters and inputs have the values of that file,
 * else those of the model; inputs are else zeros. */
#include "ir/import/importers.h"
#include "passes/compile/parts.h"
#include "passes/graph.h"
#include "passes/function.h"
#include "runtime/base/memo.h"
#include "test/ir/evaluate.c"

#include <stdio.h>
#include <string.h>

typedef struct points {
  zb_module program;
  zb_store *values; /* may be NULL */
  MlirOperation function;
  MlirBlock block;
  zb_array *inputs;
  MlirValue *wanted;
  const char **names;
  zb_array *found;
  int count;
} points;

static zb_status compile(points *p, zb_compile_params *params) {
  enum { MEMO_BYTES = 64 << 20 };
  zb_owned_texts owned = {0};
  zb_open open;
  zb_pipeline pipeline = {0}, part;
  zb_compile_state state = {0};
  zb_pipeline_hooks hooks = {0};
  zb_status status = NULL;
  const zb_import_params import = {.path = params->model,
                                   .loss = params->loss,
                                   .roles = params->roles,
                                   .train = params->train,
                                   .train_count = params->train_count};
  ZB_TRY_GOTO(zb_import_file(p->program.context, &import, &p->program));
  p->program.memo = zb_memo_create(MEMO_BYTES);
  ZB_TRY_GOTO(zb_params_complete(params, &owned, &open));
  ZB_TRY_GOTO(zb_pipeline_of_params(params, open, &pipeline));
  part = pipeline; /* which owns what they point to */
  for (part.count = 0; strcmp(part.entries[part.count].def->name, "zb-partition") != 0;)
    ++part.count; /* nothing is chosen for one rank */
  ZB_TRY_GOTO(zb_pipeline_run(&part, &p->program, &state, &hooks));
  if (!zb_pass_function(p->program.module, &p->function, &p->block)) status = ZB_ERROR(INVALID, "no program");
cleanup:
  zb_pipeline_deinit(&pipeline);
  zb_free(owned.placement);
  zb_free(owned.optimizer);
  zb_arena_deinit(&owned.arena);
  return status;
}

enum { KINDS = 5 };
static const char *const kinds[KINDS] = {ZB_ATTR_INPUT, ZB_ATTR_PARAM, ZB_ATTR_FROZEN, ZB_ATTR_BUFFER,
                                         ZB_ATTR_CONSTANT};

static const zb_stored_tensor *value_of(const points *p, int argument) {
  const zb_store *stores[] = {p->values, p->program.weights, p->program.constants};
  for (int i = 0; i < KINDS; ++i) {
    const char *name = zb_argument_string(p->function, argument, kinds[i]);
    for (int k = 0; k < 3 && name; ++k) {
      const zb_stored_tensor *found = stores[k] ? zb_store_find(stores[k], name) : NULL;
      if (found) return found;
    }
  }
  return NULL;
}

/* Whether it is no part of the optimizer, nor an input. */
static bool needs_value(const points *p, int argument) {
  bool needs = false;
  for (int i = 1; i < KINDS; ++i)
    needs = needs || zb_argument_string(p->function, argument, kinds[i]);
  return needs;
}

/* Values of arguments, zeros for those of the optimizer. */
static zb_status fill(points *p) {
  const int count = (int)mlirBlockGetNumArguments(p->block);
  p->inputs = zb_alloc((size_t)count * sizeof *p->inputs + 1);
  for (int i = 0; i < count; ++i) {
    zb_array *input = &p->inputs[i];
    zb_value_shape(mlirBlockGetArgument(p->block, i), &input->shape);
    const uint64_t bytes = (uint64_t)zb_shape_bytes(&input->shape);
    input->data = zb_alloc(bytes + 1);
    memset(input->data, 0, bytes);
    if (zb_argument_has(p->function, i, ZB_ATTR_STEP)) *(int64_t *)input->data = 1;
    const zb_stored_tensor *tensor = value_of(p, i);
    if (tensor && tensor->bytes != bytes) return ZB_ERROR(INVALID, "'%s' has another size", tensor->name);
    if (!tensor && needs_value(p, i)) return ZB_ERROR(INVALID, "argument %d has no values", i);
    if (tensor) memcpy(input->data, tensor->data, bytes);
  }
  return NULL;
}

/* What the updates read. */
static void find_gradients(points *p) {
  MlirOperation terminator = mlirBlockGetTerminator(p->block);
  const int results = (int)mlirOperationGetNumOperands(terminator);
  p->wanted = zb_alloc((size_t)results * sizeof *p->wanted);
  p->names = zb_alloc((size_t)results * sizeof *p->names);
  p->found = zb_alloc((size_t)results * sizeof *p->found);
  for (int i = 0; i < results; ++i) {
    const char *name = zb_result_string(p->function, i, ZB_ATTR_UPDATE);
    MlirValue result = mlirOperationGetOperand(terminator, i);
    if (!name || !mlirValueIsAOpResult(result) || !zb_op_is(mlirOpResultGetOwner(result), "zb.sgd")) continue;
    p->names[p->count] = name;
    p->wanted[p->count++] = mlirOperationGetOperand(mlirOpResultGetOwner(result), 1);
  }
}

static zb_status write(const points *p, const char *path) {
  zb_store *store = zb_store_create();
  zb_status status = store ? NULL : ZB_OUT_OF_MEMORY();
  for (int i = 0; i < p->count && !status; ++i)
    status = zb_store_add(store, p->names[i], &p->found[i].shape, p->found[i].data, false);
  if (!status) status = zb_store_write(store, path);
  zb_store_destroy(store);
  return status;
}

static zb_status run(points *p, zb_compile_params *params, const char *path) {
  ZB_TRY(compile(p, params));
  ZB_TRY(fill(p));
  find_gradients(p);
  const char *error = zb_evaluate(p->block, p->inputs, p->wanted, p->count, p->found);
  return error ? ZB_ERROR(INVALID, "%s", error) : write(p, path);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *train[64];
  zb_compile_params params = {.model = argv[1],
                              .ranks = 1,
                              .micro_batches = 1,
                              .optimizer = "sgd:lr=1,momentum=0,weight_decay=0",
                              .train = train};
  zb_evaluate_kernel = zb_kernel_cpu;
  const char *values = NULL;
  for (int i = 3; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--reference") == 0) zb_evaluate_kernel = NULL;
    if (strcmp(argv[i], "--no-raise") == 0) params.no_raise = true;
    if (strcmp(argv[i], "--values") == 0 && has_value) values = argv[++i];
    if (strcmp(argv[i], "--roles") == 0 && has_value) params.roles = argv[++i];
    if (strcmp(argv[i], "--loss") == 0 && has_value) params.loss = argv[++i];
    if (strcmp(argv[i], "--train") == 0 && has_value && params.train_count < 64)
      train[params.train_count++] = argv[++i];
  }
  points p = {.program = {.context = zb_context_create(false)}};
  zb_diagnostics diagnostics = {0};
  zb_diagnostics_attach(p.program.context, &diagnostics);
  zb_status status = values ? zb_store_open(values, &p.values) : NULL;
  if (!status) status = run(&p, &params, argv[2]);
  if (status) fprintf(stderr, "%s\n", zb_status_text(status));
  return zb_status_exit(status); /* the system takes all memory back */
}
