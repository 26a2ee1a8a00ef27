/* Parts of tensors: what a shard, a replica, or a replica of a shard has of one. */
#pragma once

#include "runtime/plan/file/ranks.h"

/* The tensor as no shard has it: what files hold. */
zb_shape zb_plan_whole_shape(const zb_plan_tensor *tensor);
/* Its shape with the parts of all replicas, of one shard. */
zb_shape zb_plan_shape_of_replicas(const zb_plan_tensor *tensor);
/* Whether a rank has a part of it: of a shard, of a replica, or of both. */
static inline bool zb_plan_in_parts(const zb_plan_tensor *tensor) { return tensor->cut > 0 || tensor->flat; }
/* How it is cut, as zb-shard says it: "1:128,128" is dimension 1, which consists of two runs; "flat:8,5" a tensor of 8
 * x 5 elements, of which replicas have parts; "1:128,128;flat:8,64" what a shard of four has, in parts of replicas;
 * NULL: it is not. INVALID for another text. */
zb_status zb_plan_set_cut(zb_plan *plan, zb_plan_tensor *tensor, const char *text) ZB_MUST_USE;
/* FNV-1a of name and whole shape. */
uint64_t zb_plan_tensor_hash(const zb_plan_tensor *tensor);
/* Which part a rank has of what is cut: that of one of so many shards, and of its replica. */
typedef struct zb_plan_place {
  int shards, shard, replica;
} zb_plan_place;
static inline zb_plan_place zb_plan_place_of(const zb_plan *plan, int rank) {
  return (zb_plan_place){zb_plan_shard_mesh(plan), zb_plan_shard_of(plan, rank), zb_plan_replica_of(plan, rank)};
}
/* Whether the part of a rank of the owner goes to checkpoints: of what all shards, or all replicas, have alike one
 * does.
 */
static inline bool zb_plan_saves_part(const zb_plan_tensor *tensor, zb_plan_place place) {
  return zb_plan_in_parts(tensor) && (tensor->cut || place.shard == 0) && (tensor->flat || place.replica == 0);
}
/* Copies between the tensor as a whole and the part of a rank, elements of so many bytes: from the whole to the part,
 * where elements that mean nothing become zeros, or the other way. */
typedef enum zb_part_way { ZB_WHOLE_TO_PART, ZB_PART_TO_WHOLE } zb_part_way;
void zb_plan_copy_part(const zb_plan_tensor *tensor, zb_plan_place place, size_t element_bytes, zb_part_way way,
                       const void *from, void *to);
