/* What the two files of this folder share. */
#pragma once

#include "zb/mlir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As zb_dialect_handle, for what a pass needs: where the context allows unregistered dialects it loads nothing, and
 * gives a null dialect if zb is not loaded. */
MlirDialectHandle zb_dialect_handle_of_passes(void);

#ifdef __cplusplus
}
#endif
