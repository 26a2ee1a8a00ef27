/* Parts of what replicas share: see shard_optimizer.c. */
#ifndef ZB_PASSES_SHARD_OPTIMIZER_H
#define ZB_PASSES_SHARD_OPTIMIZER_H

#include "ir/dialect.h"

/* The type of the part that each of `replicas` has of a tensor of that type: flat, padded. Another type is no tensor,
 * and stays. */
MlirType zb_part_type(MlirType whole, int replicas);

#endif
