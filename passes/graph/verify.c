/* zb-verify: checks zb ops against their rows, and the attributes zb.*; changes nothing.
 *
 * zb-opt checks each program that it reads. In programs such as mlir-opt this pass does.
 *
 * Tests: test/passes/verify-errors.mlir. */

#include "passes/pass.h"

static zb_result run(zb_pass *pass ZB_UNUSED, MlirModule module) {
  return zb_verify_module(mlirModuleGetOperation(module));
}

const zb_pass_def zb_pass_verify = {
    .name = "zb-verify",
    .summary = "check zb ops against their rows, and attributes zb.*; changes nothing",
    .run = run,
};
