/* zb-dce: erases pure ops whose results nobody reads.
 *
 *   %h = "zb.matmul"(%x, %w)        %h = "zb.matmul"(%x, %w)
 *   %g = "zb.gelu"(%h)              return %h
 *   return %h
 *
 * MLIR's own pass leaves ops of IRDL dialects alone (no effect interface), so purity comes from the op's row. An op
 * that nobody described stays, and so do unused arguments: they are the program's interface.
 *
 * Tests: test/passes/dce.mlir. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"

static zb_result run(zb_pass *pass, MlirOperation function) {
  ZB_PASS_TRY(pass, zb_erase_dead(&pass->arena, function, &pass->changes));
  return ZB_OK;
}

const zb_pass_def zb_pass_dce = {
    .name = "zb-dce",
    .summary = "erase pure ops whose results nobody reads",
    .requires_level = "graph",
    .last_level = "split",
    .run_on_function = run,
};
