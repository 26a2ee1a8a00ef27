/* W ops in groups, by what B could do in their place.
 *
 * A group is what leads to one gradient of a parameter, or to several that share ops. Each W op belongs to one group.
 * Where B does a group itself, what the group alone reads is no longer kept from B to W, at the price of a longer B.
 */
#pragma once

#include "passes/stages/flow.h"
#include "zb/costs.h"

/* What a stage keeps for its W: an activation or an input (from F on), or what B makes or receives. */
typedef struct zb_w_value {
  int64_t bytes; /* in its frame */
  bool forward;
  int stage, value;             /* value: its number in the graph */
  int waiting;                  /* of its groups: those that W does */
  int group_begin, group_count; /* w.value_groups: the groups that read it */
} zb_w_value;

typedef struct zb_w_group {
  int stage;
  bool in_b;        /* B does it */
  bool has_product; /* a product of matrices is among its ops */
  int64_t time_ps;
  int value_begin, value_count; /* w.group_values: what it reads */
  ZB_LIST(int) nodes;           /* without those that are cloned for each reader */
} zb_w_group;

/* What a stage has in B instead of W: the time of its groups, and the bytes that W no longer needs. */
typedef struct zb_w_moved {
  int64_t time_ps, forward_bytes, backward_bytes;
} zb_w_moved;

typedef struct zb_w_groups {
  const zb_graph *graph;
  zb_flow flow;
  int *stage; /* per node */
  zb_w_group *groups;
  int group_count;
  zb_w_value *values;
  int value_count, stages;
  int *value_groups, *group_values;
  zb_w_moved *moved; /* [stages] */
  zb_map *numbers;   /* (stage, value) -> index in values */
} zb_w_groups;

/* What ops read, through views, chains and constants: these are cloned for each reader (zb-outline). */
typedef struct zb_w_reader {
  zb_arena *arena;
  const zb_graph *graph;
  const zb_flow *flow;
  int *met; /* per value: the read that met it last */
  int reads;
  ZB_LIST(int) found, stack;
} zb_w_reader;
zb_status zb_w_reader_init(zb_w_reader *r, zb_arena *arena, const zb_graph *graph, const zb_flow *flow) ZB_MUST_USE;
/* r->found: values that the node reads, each once. That memory ran out the arena remembers. */
void zb_w_read(zb_w_reader *r, int node);
/* Whether a node is cloned for each reader. */
bool zb_w_is_cloned(const zb_flow *flow, int node);

/* The groups of a program of level classified, all in W. costs may be NULL. Lives in the
 * arena, as the graph must. MEMORY. O(operands). */
zb_status zb_w_groups_build(zb_arena *arena, const zb_graph *graph, const zb_costs *costs,
                            zb_w_groups *out) ZB_MUST_USE;

/* The index in w->values of what the stage keeps for its W; -1: it does not. */
int zb_w_value_of(const zb_w_groups *w, int stage, int value);

/* Gives a group to B, or back to W. O(what it reads). */
void zb_w_group_set(zb_w_groups *w, int group, bool in_b);

/* In B: nothing, what has no product, or all: then B and W are one, which takes the least memory. */
typedef enum zb_in_b { ZB_IN_B_NONE, ZB_IN_B_OTHERS, ZB_IN_B_ALL } zb_in_b;
void zb_w_groups_set_all(zb_w_groups *w, zb_in_b which);

/* Writes the classes of the ops: B or W. */
void zb_w_groups_write(const zb_w_groups *w);
