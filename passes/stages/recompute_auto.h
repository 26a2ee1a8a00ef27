/* What of a program to compute again under a limit of memory. */
#ifndef ZB_PASSES_RECOMPUTE_AUTO_H
#define ZB_PASSES_RECOMPUTE_AUTO_H

#include "passes/pass.h"
#include "passes/stages/recompute_choice.h"

/* What is wrong with auto where there is no limit, and what to do. */
#define ZB_RECOMPUTE_AUTO_ALONE "auto computes again what a memory limit asks for, and there is none"
#define ZB_RECOMPUTE_AUTO_HINT "give a memory limit too, for example 2G, or choose all"

/* Sets the modes of `r`, of the program `module`, by the options of zb-recompute: the fastest of the plans tried that
 * keeps the limit; where none does, that which needs least. */
zb_result zb_recompute_auto(zb_pass *pass, MlirModule module, zb_recompute *r);

#endif
