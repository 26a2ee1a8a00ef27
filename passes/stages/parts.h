/* Parts that replicas have of tensors: their types, and ops on them. */
#pragma once

#include "passes/function.h"
#include "runtime/base/arena.h"

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
