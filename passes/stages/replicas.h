/* What replicas of a program share, and what collectives over them do, as its attributes say (--sharding,
 * --sum-groups). */
#pragma once

#include "ir/dialect.h"
#include "runtime/plan/file/plan.h"

/* How many buffers as large as the gradients a rank has: more than one where groups of its micro-batches are added up
 * apart (zb.sum_groups, zb.sum_inner). */
int64_t zb_sum_buffers(MlirOperation top, int micro_batches);

/* How many replicas have a part of a parameter's update each; 1: every one makes all of it. */
int zb_replicas_parts(MlirOperation top);
/* Whether each gets the sum of its own part alone. */
bool zb_replicas_scatter(MlirOperation top);
/* Whether each bucket is added up before the next one of its rank is sent. */
bool zb_replicas_add_early(MlirOperation top);
/* Whether the gradients of each micro-batch are summed over replicas, into parts; else those of all of a step. */
bool zb_replicas_sum_each(MlirOperation top);
/* How a collective gives its members what it carries: replicas add up gradients, and numbers of the norm. */
zb_collective_kind zb_replicas_collective(MlirOperation top, zb_payload payload, bool of_replicas);
/* Whether one that adds gives the greatest: of numbers of the norm, where the norm is that. */
bool zb_replicas_give_greatest(MlirOperation top, zb_payload payload);
/* Whether a collective is one of parts (zb_plan_collective.of_parts). */
bool zb_replicas_move_parts(MlirOperation top, zb_payload payload, bool of_replicas);
