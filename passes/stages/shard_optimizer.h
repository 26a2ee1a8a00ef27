/* Parts that replicas have of parameters, their gradients, and optimizer state: see shard_optimizer.c. */
#ifndef ZB_PASSES_SHARD_OPTIMIZER_H
#define ZB_PASSES_SHARD_OPTIMIZER_H

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

/* The type of the part that each of `replicas` has of a tensor of that type: flat, padded. Another type is no tensor,
 * and stays. */
MlirType zb_part_type(MlirType whole, int replicas);
/* The same of a copy of a tensor of f32 in another type: as many elements as the part of the tensor has. */
MlirType zb_copy_part_type(MlirType whole, int replicas);
/* "flat:8,5": what a tensor is as a whole, of which replicas have parts; behind how shards cut it (NULL: not), as in
 * "0:16;flat:8,5". In the memory of the arena. */
const char *zb_flat_text(zb_arena *arena, const char *cut, MlirType whole);
/* Whether an op whose operands become parts can make parts, too. INVALID: it needs whole tensors. */
zb_status zb_check_of_parts(MlirOperation op) ZB_MUST_USE;
/* Its results become parts. */
void zb_make_part(MlirOperation op, int replicas);

/* Parameters of the rank become parts, but for F, B and E, which are marked to read gathered ones (shard_parameters.c).
 * Those of UPDATE are parts already. INVALID where W reads one, or LOAD makes something of a whole one. */
zb_status zb_shard_parameters(zb_arena *arena, MlirOperation rank, int replicas) ZB_MUST_USE;

#endif
