/* Passes inside another compiler that is made with MLIR: on an MlirModule, in a pass manager, or in stock mlir-opt.
 *
 * The passes are those of zb-opt, with the same names, options and results (zb_pass_info_at in zb/compiler.h lists
 * them). Each takes a builtin.module whose program is one func.func with a body, with the attributes zb.* that
 * ir/README.md of the sources explains; what a pass needs of an earlier one is in attributes of the module, so passes
 * may stand alone, among others, or in several pass managers.
 *
 *   MlirPassManager manager = mlirPassManagerCreate(context);
 *   zb_status status = zb_passes_add(mlirPassManagerGetAsOpPassManager(manager),
 *                                    "zb-split-grad,zb-partition{ranks=4},zb-classify");
 *   if (!status && mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(manager, module))) ...
 *
 * The dialect zb must be loaded where a program is parsed or built that has its ops:
 * mlirDialectHandleLoadDialect(zb_dialect_handle(), context). Else the first pass loads it, but not into a context that
 * allows unregistered dialects: MLIR cannot load a dialect whose ops it has met before, so there it is an error.
 *
 * Ops of other dialects go through all passes up to zb-allocate; rows (zb/op.h, zb_op_register) say what passes may do
 * with them.
 *
 * What is wrong with a program comes as MLIR diagnostics to the handlers of the context, at the op; where there is
 * something to do about it, the last line of the message is "hint: ...". A pass then fails, and so does its pass
 * manager. What is wrong with a pipeline's text is the status that is returned.
 *
 * One MLIR: libzb links libMLIR.so.22.1 and has the C API of it inside. A program that uses this header must have that
 * same library; one with MLIR inside itself links libzb.a, which takes what it needs of MLIR from the program.
 *
 * Thread-safety: all functions may be called on several threads at once, on different managers and modules. Passes may
 * run on several modules of one context at the same time, as pass managers with threads do.
 */
#ifndef ZB_MLIR_H
#define ZB_MLIR_H

#include "zb/op.h"

#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The dialect zb, for the functions mlirDialectHandle*. Where its IRDL text (zb_irdl_text) cannot be loaded into a
 * context, the diagnostics say why, and loading gives a null dialect. */
ZB_API MlirDialectHandle zb_dialect_handle(void);

/* Registers all passes in MLIR's own registry, by name, for textual pipelines (mlirParsePassPipeline, --pass-pipeline
 * of programs like mlir-opt): "builtin.module(zb-partition{ranks=4})". Also zb-verify, which only checks zb ops and
 * attributes. Once for the process; later calls do nothing. */
ZB_API void zb_register_passes(void);

/* A pass by its name; options as "ranks=4,cuts=\"a,b\"", NULL or "" for none. The pass belongs to the caller, who gives
 * it to a pass manager. USAGE with a hint: there is no such pass, or it has no such option; MEMORY. */
ZB_API zb_status zb_pass_create(const char *name, const char *options, MlirPass *out) ZB_MUST_USE;

/* Adds the passes of a pipeline to a manager of builtin.module (or of any op): "zb-a{x=1},zb-b", or the same in
 * "builtin.module(...)". Nothing is added where it fails. USAGE with a hint: as above, or the manager is of another op.
 */
ZB_API zb_status zb_passes_add(MlirOpPassManager manager, const char *pipeline) ZB_MUST_USE;

/* Runs a pipeline on a module without a pass manager, on the calling thread. It checks zb ops and attributes before the
 * first pass and after each. INVALID: the program is wrong, and the diagnostics have
 * said why; the module is then as the failing pass left it. USAGE: the text of the pipeline or a value of an option is
 * wrong, or the module is null. MEMORY. */
ZB_API zb_status zb_passes_run(MlirModule module, const char *pipeline) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
