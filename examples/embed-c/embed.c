/* A compiler of one's own in C, with a dialect of its own: it reads a train step of that dialect, lets zb's passes
 * split the gradients, cut the model in two, sort ops into F, B and W and order the jobs, and prints the result.
 *
 * usage: embed PROGRAM.mlir [PIPELINE]     exit status: 0 done, 1 the program is wrong, 2 the pipeline is */
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/IRDL.h>
#include <mlir-c/Diagnostics.h>
#include <stdio.h>
#include <string.h>
#include <zb/mlir.h>

/* ---- The dialect: a product, its two gradients, an activation. Operands and results are tensors. ---- */

static const char DIALECT[] = "irdl.dialect @toy {\n"
                              "  irdl.operation @mix {\n"
                              "    %t = irdl.any\n    %u = irdl.any\n    %v = irdl.any\n"
                              "    irdl.operands(x: %t, w: %u)\n    irdl.results(y: %v)\n  }\n"
                              "  irdl.operation @mix_grads {\n"
                              "    %t = irdl.any\n    %u = irdl.any\n    %v = irdl.any\n"
                              "    irdl.operands(x: %t, w: %u, dy: %v)\n    irdl.results(dx: %t, dw: %u)\n  }\n"
                              "  irdl.operation @dx {\n"
                              "    %t = irdl.any\n    %u = irdl.any\n    %v = irdl.any\n"
                              "    irdl.operands(dy: %t, w: %u)\n    irdl.results(dx: %v)\n  }\n"
                              "  irdl.operation @dw {\n"
                              "    %t = irdl.any\n    %u = irdl.any\n    %v = irdl.any\n"
                              "    irdl.operands(x: %t, dy: %u)\n    irdl.results(dw: %v)\n  }\n"
                              "  irdl.operation @act {\n"
                              "    %t = irdl.any\n    irdl.operands(x: %t)\n    irdl.results(y: %t)\n  }\n"
                              "  irdl.operation @act_grad {\n"
                              "    %t = irdl.any\n    irdl.operands(x: %t, dy: %t)\n    irdl.results(dx: %t)\n  }\n"
                              "  irdl.operation @loss {\n"
                              "    %t = irdl.any\n    %u = irdl.any\n"
                              "    irdl.operands(x: %t)\n    irdl.results(loss: %u)\n  }\n"
                              "  irdl.operation @loss_grad {\n"
                              "    %t = irdl.any\n    irdl.operands(x: %t)\n    irdl.results(dx: %t)\n  }\n"
                              "  irdl.operation @step {\n"
                              "    %t = irdl.any\n    irdl.operands(w: %t, g: %t)\n    irdl.results(out: %t)\n  }\n"
                              "}\n";

static bool load_dialect(MlirContext context) {
  MlirModule text = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(DIALECT));
  if (mlirModuleIsNull(text)) return false;
  MlirLogicalResult loaded = mlirLoadIRDLDialects(text);
  mlirModuleDestroy(text);
  return mlirLogicalResultIsSuccess(loaded);
}

/* ---- What zb may know of its ops: a row each ---- */

/* y [m, n] = x [m, k] w [k, n]. */
static zb_result infer_mix(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0], *w = &op->operands[1];
  if (x->rank != 2 || w->rank != 2 || x->dims[1] != w->dims[0])
    return zb_op_fail(error, "multiply [m, k] by [k, n]", "the matrices do not fit: %lld columns by %lld rows",
                      (long long)x->dims[x->rank > 1], (long long)w->dims[0]);
  results[0] = (zb_shape){.dtype = x->dtype, .rank = 2, .dims = {x->dims[0], w->dims[1]}};
  return ZB_OK;
}

static zb_cost cost_mix(const zb_op_view *op, const zb_shape *results) {
  double flops = 2.0 * (double)zb_shape_elements(&results[0]) * (double)op->operands[0].dims[1];
  return (zb_cost){.flops = flops, .product_flops = flops};
}

/* toy.mix_grads (x, w, dy) -> dx, dw becomes toy.dx and toy.dw, which can run at different times. */
static MlirValue split_mix(zb_builder *b, MlirOperation op, int result) {
  MlirValue x = mlirOperationGetOperand(op, 0), w = mlirOperationGetOperand(op, 1), dy = mlirOperationGetOperand(op, 2);
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, result));
  MlirValue of_x[] = {dy, w}, of_w[] = {x, dy};
  MlirOperation made =
      zb_build_any(b, result == 0 ? "toy.dx" : "toy.dw", result == 0 ? of_x : of_w, 2, &type, 1, NULL, 0);
  return mlirOperationIsNull(made) ? (MlirValue){NULL} : mlirOperationGetResult(made, 0);
}

static int alias_step(const zb_op_view *op, int result) {
  (void)op;
  return result; /* the new weights take the place of the old ones */
}

static const zb_op_def ROWS[] = {
    {.name = "toy.mix",
     .operands = "x, w",
     .results = "y",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE,
     .infer = infer_mix,
     .cost = cost_mix},
    {.name = "toy.mix_grads",
     .operands = "x, w, dy",
     .results = "dx, dw",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE,
     .flops = 1,
     .split = split_mix},
    {.name = "toy.dx", .operands = "dy, w", .results = "dx", .op_class = ZB_CLASS_FOREIGN, .traits = ZB_TRAIT_PURE},
    {.name = "toy.dw", .operands = "x, dy", .results = "dw", .op_class = ZB_CLASS_FOREIGN, .traits = ZB_TRAIT_PURE},
    {.name = "toy.act",
     .operands = "x",
     .results = "y",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,
     .flops = 4},
    {.name = "toy.act_grad",
     .operands = "x, dy",
     .results = "dx",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,
     .flops = 6},
    {.name = "toy.step",
     .operands = "w, g",
     .results = "out",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE | ZB_TRAIT_UPDATE,
     .alias = alias_step},
};

static zb_status register_rows(void) {
  for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; ++i) {
    zb_status status = zb_op_register(&ROWS[i]);
    if (status) return status;
  }
  return NULL;
}

/* ---- The compiler ---- */

static void print(MlirStringRef text, void *file) { fwrite(text.data, 1, text.length, file); }

/* All diagnostics come here, those of zb's passes too. */
static MlirLogicalResult say(MlirDiagnostic diagnostic, void *context) {
  (void)context;
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), print, stderr);
  fputs(": ", stderr);
  mlirDiagnosticPrint(diagnostic, print, stderr);
  fputc('\n', stderr);
  return mlirLogicalResultSuccess();
}

static int compile(MlirContext context, const char *path, const char *pipeline) {
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__irdl__(), context);
  mlirDialectHandleLoadDialect(zb_dialect_handle(), context);
  if (!load_dialect(context)) return 70;
  MlirModule module = mlirModuleCreateParseFromFile(context, mlirStringRefCreateFromCString(path));
  if (mlirModuleIsNull(module)) return 1;
  MlirPassManager manager = mlirPassManagerCreate(context);
  zb_status status = zb_passes_add(mlirPassManagerGetAsOpPassManager(manager), pipeline);
  int code = 0;
  if (status) {
    fputs(zb_status_text(status), stderr);
    zb_status_free(status);
    code = 2;
  } else if (mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)))) {
    code = 1;
  } else {
    mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  }
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  return code;
}

int main(int count, char **arguments) {
  if (count < 2 || count > 3) return fputs("usage: embed PROGRAM.mlir [PIPELINE]\n", stderr), 2;
  const char *pipeline = count == 3 ? arguments[2]
                                    : "zb-split-grad,zb-partition{ranks=2,cuts=cut},zb-classify,zb-outline,zb-memory,"
                                      "zb-schedule{micro-batches=4}";
  zb_status status = register_rows();
  if (status) return fputs(zb_status_text(status), stderr), 70;
  MlirContext context = mlirContextCreate();
  MlirDiagnosticHandlerID handler = mlirContextAttachDiagnosticHandler(context, say, NULL, NULL);
  int code = compile(context, arguments[1], pipeline);
  mlirContextDetachDiagnosticHandler(context, handler);
  mlirContextDestroy(context);
  return code;
}
