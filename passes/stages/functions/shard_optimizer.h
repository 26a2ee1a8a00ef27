/* Who gathers parameters of which replicas have parts, and for how long: see shard_parameters.c. */
#pragma once

#include "ir/dialect.h"
#include "runtime/base/arena.h"

/* How long parameters are kept that were gathered. */
typedef enum zb_gathered {
#define ZB_GATHERED(ID, name, help) ZB_GATHERED_##ID,
#include "zb/gathers.def"
#undef ZB_GATHERED
  ZB_GATHERED_COUNT
} zb_gathered;
/* "job, micro-batch, step". */
const char *zb_gathered_names(void);
/* ZB_GATHERED_COUNT: none has that name. */
zb_gathered zb_gathered_of(const char *name);
const char *zb_gathered_name(zb_gathered gathered);

/* Parameters of the rank become parts, but for F, B and E, which are marked to read gathered ones (shard_parameters.c).
 * Those of UPDATE are parts already. INVALID where W reads one, or LOAD makes something of a whole one. */
zb_status zb_shard_parameters(zb_arena *arena, MlirOperation rank, int replicas) ZB_MUST_USE;
