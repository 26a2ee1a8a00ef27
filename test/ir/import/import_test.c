/* Imports every case of cases.json (made by make_cases.py): a good one must evaluate, with the reference kernels, to
 * the loss that onnxruntime gave and have the parameters and ops that it names; a bad one must fail with the texts that
 * it names. The shipped graphs are imported, too, and evaluated to PyTorch's first loss. */
#include "test/ir/evaluate.c"

#include "ir/import/importers.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "test/ir/import/base64.h"
#include "test/suite.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static MlirContext context;
static zb_text reported;
static json_t *cases;

static void collect(void *user, const char *text) {
  (void)user;
  zb_text_add(&reported, "%s", text);
}

static int set_up(void) {
  static zb_diagnostics diagnostics = {.write = collect};
  context = zb_context_create(false);
  zb_diagnostics_attach(context, &diagnostics);
  cases = json_load_file(ZB_SOURCE_DIR "/test/ir/import/cases.json", 0, NULL);
  zb_status status = zb_make_folder(ZB_BINARY_DIR "/import-cases");
  return !cases || status;
}

static int tear_down(void) {
  json_decref(cases);
  zb_text_deinit(&reported);
  mlirContextDestroy(context);
  return 0;
}

/* A failure with the name of the case. */
static bool check(bool good, const char *name, const char *what) {
  if (!good) fprintf(stderr, "\n  case %s: %s", name, what);
  CU_ASSERT(good);
  return good;
}

/* ---- Files of a case ---- */

static void write_base64(const char *path, const char *text) {
  zb_text bytes = {0};
  base64_decode(text, &bytes);
  zb_status status = zb_file_write_atomic(path, bytes.data ? bytes.data : "", bytes.length);
  CU_ASSERT_PTR_NULL_FATAL(status);
  zb_text_deinit(&bytes);
}

static void write_case(const json_t *row, char path[512]) {
  const char *key;
  const json_t *value;
  snprintf(path, 512, "%s/import-cases/%s.onnx", ZB_BINARY_DIR, json_string_value(json_object_get(row, "name")));
  write_base64(path, json_string_value(json_object_get(row, "model")));
  json_t *beside = json_object_get(row, "beside");
  json_object_foreach(beside, key, value) {
    char other[512];
    snprintf(other, sizeof other, "%s/import-cases/%s", ZB_BINARY_DIR, key);
    write_base64(other, json_string_value(value));
  }
}

static int text_list(const json_t *row, const char *key, const char **out) {
  const json_t *list = json_object_get(row, key);
  size_t count = json_array_size(list);
  for (size_t i = 0; i < count; ++i)
    out[i] = json_string_value(json_array_get(list, i));
  return (int)count;
}

static zb_status import_case(const json_t *row, zb_module *out) {
  const char *train[8], *freeze[8];
  char path[512];
  write_case(row, path);
  zb_text_deinit(&reported);
  zb_import_params params = {.path = path,
                             .loss = json_string_value(json_object_get(row, "wanted_loss")),
                             .train = train,
                             .freeze = freeze,
                             .fold_limit = (uint64_t)json_integer_value(json_object_get(row, "fold_limit"))};
  params.train_count = text_list(row, "train", train);
  params.freeze_count = text_list(row, "freeze", freeze);
  return zb_import_onnx(context, &params, out);
}

/* ---- The function of a module ---- */

static MlirOperation function_of(const zb_module *module) {
  return mlirBlockGetFirstOperation(mlirModuleGetBody(module->module));
}

static MlirBlock body_of(const zb_module *module) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(function_of(module), 0));
}

/* Value of the string attribute `name` of an argument; NULL if it has none. */
static const char *argument_text(MlirOperation function, intptr_t index, const char *name) {
  MlirAttribute all = mlirOperationGetAttributeByName(function, mlirStringRefCreateFromCString("arg_attrs"));
  MlirAttribute one = mlirArrayAttrGetElement(all, index);
  MlirAttribute value = mlirDictionaryAttrGetElementByName(one, mlirStringRefCreateFromCString(name));
  return mlirAttributeIsNull(value) ? NULL : mlirStringAttrGetValue(value).data;
}

static zb_array stored(const zb_store *store, const char *name) {
  const zb_stored_tensor *tensor = zb_store_find(store, name);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tensor);
  zb_array array = {.shape = tensor->shape, .data = zb_alloc(tensor->bytes + 1)};
  CU_ASSERT_PTR_NOT_NULL_FATAL(array.data);
  memcpy(array.data, tensor->data, tensor->bytes);
  return array;
}

static zb_array json_array_of(const json_t *input) {
  zb_array array = {.shape = {.rank = (int)json_array_size(json_object_get(input, "shape"))}};
  zb_dtype_parse(json_string_value(json_object_get(input, "dtype")), &array.shape.dtype);
  for (int i = 0; i < array.shape.rank; ++i) {
    array.shape.dims[i] = json_integer_value(json_array_get(json_object_get(input, "shape"), (size_t)i));
  }
  array.data = zb_alloc((size_t)zb_shape_bytes(&array.shape) + 1);
  const json_t *values = json_object_get(input, "values");
  for (size_t i = 0; i < json_array_size(values); ++i) {
    const json_t *value = json_array_get(values, i);
    switch (array.shape.dtype) {
    case ZB_F32:
      ((float *)array.data)[i] = (float)json_number_value(value);
      break;
    case ZB_I64:
      ((int64_t *)array.data)[i] = json_integer_value(value);
      break;
    case ZB_I32:
      ((int32_t *)array.data)[i] = (int32_t)json_integer_value(value);
      break;
    default:
      ((uint8_t *)array.data)[i] = json_integer_value(value) != 0;
      break;
    }
  }
  return array;
}

/* The loss of the module with these inputs by name (a json object, or the arrays x and y). NaN after a failure. */
static double loss_of(const zb_module *module, const json_t *inputs, const zb_array *x, const zb_array *y,
                      const char *name) {
  enum { ARGUMENTS_MAX = 256 };
  zb_array values[ARGUMENTS_MAX], loss = {.data = NULL};
  MlirBlock block = body_of(module);
  intptr_t count = mlirBlockGetNumArguments(block);
  CU_ASSERT_FATAL(count <= ARGUMENTS_MAX);
  for (intptr_t i = 0; i < count; ++i) {
    const char *text;
    MlirOperation function = function_of(module);
    if ((text = argument_text(function, i, ZB_ATTR_INPUT)) != NULL) {
      if (inputs)
        values[i] = json_array_of(json_object_get(inputs, text));
      else
        values[i] = strcmp(text, "x") == 0 ? *x : *y;
    } else if ((text = argument_text(function, i, ZB_ATTR_CONSTANT)) != NULL) {
      values[i] = stored(module->constants, text);
    } else {
      text = argument_text(function, i, ZB_ATTR_PARAM);
      if (!text) text = argument_text(function, i, ZB_ATTR_FROZEN);
      values[i] = stored(module->weights, text ? text : argument_text(function, i, ZB_ATTR_BUFFER));
    }
  }
  MlirValue wanted = mlirOperationGetOperand(mlirBlockGetTerminator(block), 0);
  const char *problem = zb_evaluate(block, values, &wanted, 1, &loss);
  double result = problem ? (double)NAN : zb_array_get(&loss, 0);
  if (problem) check(false, name, problem);
  zb_free(loss.data);
  for (intptr_t i = 0; i < count; ++i) {
    if (values[i].data != (x ? x->data : NULL) && values[i].data != (y ? y->data : NULL)) zb_free(values[i].data);
  }
  return result;
}

static void release(zb_module *module) { /* the context is shared by all cases */
  mlirModuleDestroy(module->module);
  zb_store_destroy(module->weights);
  zb_store_destroy(module->constants);
}

static int count_ops(const zb_module *module, const char *name) {
  int count = 0;
  MlirOperation op = mlirBlockGetFirstOperation(body_of(module));
  for (; op.ptr; op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef own = mlirIdentifierStr(mlirOperationGetName(op));
    count += own.length == strlen(name) && memcmp(own.data, name, own.length) == 0;
  }
  return count;
}

/* Names of the arguments with an attribute, in order, against a list of the case. */
static void check_arguments(const zb_module *module, const json_t *row, const char *key, const char *attribute,
                            const char *name) {
  const json_t *list = json_object_get(row, key);
  size_t found = 0;
  if (!list) return;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body_of(module)); ++i) {
    const char *text = argument_text(function_of(module), i, attribute);
    if (!text) continue;
    bool same = found < json_array_size(list) && strcmp(text, json_string_value(json_array_get(list, found))) == 0;
    check(same, name, text);
    ++found;
  }
  check(found == json_array_size(list), name, key);
}

static void check_untrained(const zb_module *module, const json_t *row, const char *name) {
  const json_t *list = json_object_get(row, "untrained");
  MlirAttribute found = mlirOperationGetAttributeByName(mlirModuleGetOperation(module->module),
                                                        mlirStringRefCreateFromCString(ZB_ATTR_UNTRAINED));
  if (!list) return;
  size_t count = mlirAttributeIsNull(found) ? 0 : (size_t)mlirArrayAttrGetNumElements(found);
  check(count == json_array_size(list), name, "number of untrained");
  for (size_t i = 0; i < count && i < json_array_size(list); ++i) {
    const char *text = mlirStringAttrGetValue(mlirArrayAttrGetElement(found, (intptr_t)i)).data;
    check(strcmp(text, json_string_value(json_array_get(list, i))) == 0, name, text);
  }
}

/* ---- Tests ---- */

static void run_good(const json_t *row) {
  const char *name = json_string_value(json_object_get(row, "name")), *key;
  zb_module module;
  zb_status status = import_case(row, &module);
  if (!check(!status, name, reported.data ? reported.data : zb_status_text(status))) {
    zb_status_free(status);
    return;
  }
  double loss = loss_of(&module, json_object_get(row, "inputs"), NULL, NULL, name),
         wanted = json_number_value(json_object_get(row, "loss"));
  char text[96];
  snprintf(text, sizeof text, "loss %.9g, onnxruntime's %.9g", loss, wanted);
  check(fabs(loss - wanted) <= 2e-5 * (1 + fabs(wanted)), name, text);
  check_arguments(&module, row, "trained", ZB_ATTR_PARAM, name);
  check_arguments(&module, row, "frozen", ZB_ATTR_FROZEN, name);
  check_arguments(&module, row, "buffers", ZB_ATTR_BUFFER, name);
  check_untrained(&module, row, name);
  const json_t *value;
  json_t *ops = json_object_get(row, "ops");
  json_object_foreach(ops, key, value) check(count_ops(&module, key) == json_integer_value(value), name, key);
  value = json_object_get(row, "stored");
  if (value) check(zb_store_count(module.constants) == json_integer_value(value), name, "number of stored constants");
  release(&module);
}

static void run_bad(const json_t *row) {
  const char *name = json_string_value(json_object_get(row, "name"));
  zb_module module;
  zb_status status = import_case(row, &module);
  if (!check(status != NULL, name, "was imported, expected an error")) {
    release(&module);
    return;
  }
  zb_text_add(&reported, "%s", zb_status_text(status));
  check(zb_status_code(status) == ZB_INVALID, name, "expected status INVALID");
  check(module.module.ptr == NULL && module.weights == NULL, name, "left something behind");
  const json_t *texts = json_object_get(row, "error");
  for (size_t i = 0; i < json_array_size(texts); ++i) {
    const char *wanted = json_string_value(json_array_get(texts, i));
    if (!check(strstr(reported.data, wanted) != NULL, name, wanted)) fprintf(stderr, "\n    got: %s", reported.data);
  }
  zb_status_free(status);
}

static void test_cases(bool good) {
  size_t i;
  const json_t *row;
  int count = 0;
  json_array_foreach(cases, i, row) {
    bool is_good = !json_object_get(row, "error");
    if (is_good != good) continue;
    ++count;
    if (good)
      run_good(row);
    else
      run_bad(row);
  }
  CU_ASSERT(count > 40);
}

static void test_good(void) { test_cases(true); }

static void test_bad(void) { test_cases(false); }

/* Every row of the table of operators is in some case that is imported. make_cases.py lists the operators of the good
 * ones. */
static void test_complete(void) {
  static const char *const names[] = {
#define ZB_ONNX(Name, attributes, min, max, outputs, gradient, build, op, fold, types) #Name,
#include "ir/import/onnx/onnx_ops.def"
#undef ZB_ONNX
  };
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    bool found = false;
    size_t i, j;
    const json_t *row, *op;
    json_array_foreach(cases, i, row) {
      if (json_object_get(row, "error")) continue;
      json_array_foreach(json_object_get(row, "uses"), j, op) found =
          found || strcmp(json_string_value(op), names[k]) == 0;
    }
    check(found, names[k], "no case uses this operator");
  }
}

/* The shipped graphs: parameters and op counts, and PyTorch's loss of the first micro-batch. */
static void run_shipped(const char *name, int parameters, int matmuls) {
  char path[512];
  snprintf(path, sizeof path, "%s/test/data/%s.onnx", ZB_SOURCE_DIR, name);
  zb_import_params params = {.path = path};
  zb_module module;
  zb_status status = zb_import_onnx(context, &params, &module);
  CU_ASSERT_PTR_NULL_FATAL(status);
  CU_ASSERT_EQUAL(zb_store_count(module.weights), parameters);
  CU_ASSERT_EQUAL(count_ops(&module, "zb.matmul"), matmuls);
  CU_ASSERT_EQUAL(count_ops(&module, "zb.triangle"), 1);
  snprintf(path, sizeof path, "%s/test/data/%s.reference.json", ZB_SOURCE_DIR, name);
  json_t *reference = json_load_file(path, 0, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(reference);
  int64_t rows = json_integer_value(json_object_get(reference, "batch")),
          tokens = json_integer_value(json_object_get(reference, "seq"));
  char *corpus;
  size_t bytes;
  status = zb_file_read(ZB_SOURCE_DIR "/test/data/corpus.txt", 0, &corpus, &bytes);
  CU_ASSERT_PTR_NULL_FATAL(status);
  zb_array in[2];
  for (int k = 0; k < 2; ++k) { /* row r of micro-batch 0 of step 0 starts at byte r*T; y is shifted by one */
    in[k] = (zb_array){.shape = {.dtype = ZB_I64, .rank = 2, .dims = {rows, tokens}}};
    in[k].data = zb_alloc((size_t)(rows * tokens) * sizeof(int64_t));
    for (int64_t i = 0; i < rows * tokens; ++i)
      ((int64_t *)in[k].data)[i] = (unsigned char)corpus[i + k];
  }
  double loss = loss_of(&module, NULL, &in[0], &in[1], name);
  double wanted = json_number_value(
      json_array_get(json_object_get(json_object_get(reference, "fp32"), "first_step_micro_losses"), 0));
  char text[96];
  snprintf(text, sizeof text, "loss %.9g, PyTorch's %.9g", loss, wanted);
  check(fabs(loss - wanted) <= 2e-6 * wanted, name, text);
  for (int k = 0; k < 2; ++k)
    zb_free(in[k].data);
  zb_free(corpus);
  json_decref(reference);
  release(&module);
}

static void test_gpt2(void) { run_shipped("gpt2-small", 100, 49); }

static void test_llama(void) { run_shipped("llama-small", 75, 73); }

static void add_chunk(MlirStringRef chunk, void *text) { zb_text_add_bytes(text, chunk.data, chunk.length); }

/* The module as text, constants of more than a few elements left out. */
static zb_text print_graph(const char *name) {
  char path[512];
  zb_text text = {0};
  snprintf(path, sizeof path, "%s/test/data/%s.onnx", ZB_SOURCE_DIR, name);
  zb_import_params params = {.path = path};
  zb_module module;
  zb_status status = zb_import_onnx(context, &params, &module);
  CU_ASSERT_PTR_NULL_FATAL(status);
  /* Which constants there are beside the parameters is what the two exports differ in. */
  mlirOperationRemoveAttributeByName(mlirModuleGetOperation(module.module),
                                     mlirStringRefCreateFromCString(ZB_ATTR_UNTRAINED));
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsElideLargeElementsAttrs(flags, 4);
  mlirOperationPrintWithFlags(mlirModuleGetOperation(module.module), flags, add_chunk, &text);
  mlirOpPrintingFlagsDestroy(flags);
  release(&module);
  return text;
}

/* What the exporter leaves to be folded (--raw) makes no difference. */
static void test_raw(void) {
  static const char *const names[][2] = {{"gpt2-tiny", "gpt2-tiny-raw"}, {"llama-tiny", "llama-tiny-raw"}};
  for (int i = 0; i < 2; ++i) {
    zb_text tidy = print_graph(names[i][0]), raw = print_graph(names[i][1]);
    check(tidy.length > 1000 && strcmp(tidy.data, raw.data) == 0, names[i][1], "differs from the tidy export");
    zb_text_deinit(&tidy);
    zb_text_deinit(&raw);
  }
}

/* Which row takes a file: the first whose ending it has and whose mark is in it. */
static void test_formats(void) {
  static const zb_importer rows[] = {{"other", ".mlir .txt", "other.op", NULL}, {"mlir", ".mlir", NULL, NULL}};
  static const struct {
    const char *name, *text, *row;
  } files[] = {{"marked.mlir", "a \"other.op\"() b", "other"},
               {"marked.txt", "other.op", "other"},
               {"plain.mlir", "another", "mlir"},
               {"empty.mlir", "", "mlir"},
               {"plain.txt", "other.o", NULL},
               {"marked.mli", "other.op", NULL}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
    char path[512];
    const zb_importer *found = NULL;
    snprintf(path, sizeof path, "%s/import-cases/%s", ZB_BINARY_DIR, files[i].name);
    zb_status status = zb_file_write_atomic(path, files[i].text, strlen(files[i].text));
    CU_ASSERT_PTR_NULL_FATAL(status);
    status = zb_importer_find(rows, 2, path, &found);
    check(files[i].row ? !status : zb_status_code(status) == ZB_USAGE, files[i].name, "the status");
    check(files[i].row ? found && strcmp(found->name, files[i].row) == 0 : !found, files[i].name, "the row");
    if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "zbc reads .mlir and .txt files"));
    zb_status_free(status);
  }
}

/* Ops point at their node: "module path (node name)" in the file. */
static void test_locations(void) {
  zb_import_params params = {.path = ZB_SOURCE_DIR "/test/data/gpt2-tiny.onnx"};
  zb_module module;
  zb_status status = zb_import_onnx(context, &params, &module);
  CU_ASSERT_PTR_NULL_FATAL(status);
  bool norm = false, split = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(body_of(&module)); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    zb_text text = {0};
    mlirLocationPrint(mlirOperationGetLocation(op), add_chunk, &text);
    norm = norm || strstr(text.data, "lm.transformer.h.1.ln_2 (node_layer_norm_3)");
    split = split || strstr(text.data, "lm.transformer.h.1.attn.c_attn (node_Split"); /* has no path of its own */
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "gpt2-tiny.onnx"));
    zb_text_deinit(&text);
  }
  CU_ASSERT(norm && split);
  release(&module);
}

SUITE_MAIN_WITH("import", set_up, tear_down, {"operators, folding, parameters", test_good}, {"errors", test_bad},
                {"every operator has a case", test_complete}, {"GPT-2", test_gpt2}, {"Llama", test_llama},
                {"raw exports", test_raw}, {"locations", test_locations}, {"formats", test_formats})
