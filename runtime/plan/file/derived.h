/* What a plan has that was made of another one (runtime/plan/mesh), and no file: zeros in a plan as it is read, and as
 * the compiler makes it. Each struct of plan.h that has some has it as `derived`. */
#pragma once

#include "runtime/plan/file/kinds.h"

/* Of an expanded plan. part_of: 1 + the subprogram of which it is a part. places: 1 + the first collective for which it
 * copies own parts of parameters to where those of others come. */
typedef struct zb_derived_subprogram {
  int part_of, places;
} zb_derived_subprogram;

/* Of an expanded plan. beside: it runs on the second clock of its rank (runtime/plan/mesh/expand.h). woven_ps: how much
 * longer than its subprogram it takes by what runs beside sums over shards (weave.h); of parts in their place it is 0.
 */
typedef struct zb_derived_job {
  bool beside;
  int64_t woven_ps;
} zb_derived_job;

/* Of a plan of all shards or replicas: the owner has what is cut of it (itself, its states) in parts, of which one is
 * this rank's (zb_plan_saves_part). */
typedef struct zb_derived_parameter {
  bool owns_part;
} zb_derived_parameter;

/* Of an expanded plan. part_of: 1 + the collective of which it carries a piece. phase_bytes: of a piece that adds: what
 * a rank sends in its phase, which is what it is timed by. */
typedef struct zb_derived_message {
  int32_t part_of;
  uint64_t phase_bytes;
} zb_derived_message;

/* timed_members: of a plan of fewer replicas or shards than there are: how many its time is that of; 0: as many as it
 * has. beside: a sum over shards that runs beside other jobs of its ranks. */
typedef struct zb_derived_collective {
  uint32_t timed_members;
  bool beside;
} zb_derived_collective;

/* list: of a view, its list. mesh, shard_mesh: how many replicas (zb_plan_replicate) and shards (zb_plan_shard) its
 * ranks are those of; 0: it is none of these. parts: of a plan of replicas with sharding, the parts of what replicas
 * share, as many as there are replicas, of which a proof looks at a few. carried: of an expanded plan the collectives
 * that its messages carry, for part_of; else NULL. */
typedef struct zb_derived_plan {
  zb_plan_list list;
  int mesh, shard_mesh, parts;
  const struct zb_plan_collective *carried;
} zb_derived_plan;
