/* Rules of placement of single rows, which have files of their own: what shards need and have of the operands and
 * results of views and gathers (place_movement.c), products and attention (place_products.c), sums and losses
 * (place_sums.c). Each is the member `place` of the row of that name. */
#pragma once

#include "ir/placement.h"

void zb_place_reshape(zb_placing *p);
void zb_place_transpose(zb_placing *p);
void zb_place_slice(zb_placing *p);
void zb_place_expand(zb_placing *p);
void zb_place_split(zb_placing *p);
void zb_place_concat(zb_placing *p);
void zb_place_gather(zb_placing *p);
void zb_place_gather_elements(zb_placing *p);
void zb_place_rotary(zb_placing *p);
void zb_place_matmul(zb_placing *p);
void zb_place_attention(zb_placing *p);
/* reduce_sum and reduce_mean; of the others dimensions that stay. */
void zb_place_reduce(zb_placing *p);
void zb_place_cross_entropy(zb_placing *p);
/* Of values of one shard (local.c). */
void zb_place_all_reduce(zb_placing *p);
void zb_place_coordinate(zb_placing *p);
