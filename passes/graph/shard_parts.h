/* The parts of zb-shard: placements (shard_places.c), what users say and are told of single parameters (shard_pins.c),
 * and ops on parts with collectives between them (shard_rewrite.c). */
#pragma once

#include "ir/placement.h"
#include "passes/pipeline.h"
#include "passes/rewrite.h"

/* Why an argument is not cut: an op that needs all of what is made of it, or, where undivided is not 0, so many
 * elements (heads, columns) that the shards do not divide. reader NULL: nobody asked for a part. */
typedef struct zb_shard_doubt {
  const zb_node *reader;
  int64_t undivided;
} zb_shard_doubt;

/* What is decided of an argument. */
typedef struct zb_shard_argument {
  bool weight; /* a parameter, trained or frozen: it may be cut */
  bool decided;
  bool refused;       /* as the first that is cut it does not work: it stays whole, or follows others */
  bool doubted;       /* to be refused, unless others are cut otherwise now */
  bool leads;         /* it was cut although nothing else was, and readers follow */
  int parent, next;   /* arguments that are cut alike: a tree, and all of them in a ring */
  int size, refusals; /* of the root of a tree: how many there are; how many there were when all were refused last */
  zb_place placement; /* where decided */
  int run_count;      /* runs that it has to be cut in; 0: nobody asked for some */
  int64_t runs[ZB_SEGMENTS_MAX];
  bool pinned; /* the user has said where it is: at `pin` */
  zb_place pin;
  zb_shard_doubt doubt; /* the first in a walk, and that by which it was refused */
} zb_shard_argument;

typedef struct zb_shard {
  zb_pass *pass;
  zb_graph graph;
  int64_t shards;
  bool sequence;            /* activations between cut products are cut by tokens */
  ZB_LIST(zb_shape) inputs; /* of tokens: [samples, length, ..] */
  uint8_t *depends;
  bool *known;        /* a value is a tensor */
  zb_shape *shapes;   /* of values, whole */
  zb_place *places;   /* of values */
  int *root;          /* of a value that is OPEN: the argument that it is made of */
  zb_place *followed; /* of values: scratch of who follows what is made of an argument (shard_places.c) */
  bool *on_way;       /* of nodes: the same */
  int *origin;        /* of a value that is CUT: an argument for which; -1: none */
  zb_shard_argument *arguments;
  bool again, runs_added; /* in this walk: places are to be found again; something is to be cut in runs */
  int blocked;            /* an argument that cannot be where it is pinned; -1: none */
} zb_shard;

/* Reads an op as of the whole program; false: nobody described it. */
bool zb_shard_view(const zb_shard *s, const zb_node *node, zb_op_view *view, zb_op_view_storage *storage);
/* The place among named operands of operand `index` of an op. */
int zb_shard_named(const zb_op_view *view, int index);
/* Applies the rule of the row to the places that operands have. */
void zb_shard_place(const zb_shard *s, const zb_node *node, const zb_op_view *view, zb_placing *out);

/* What a reader wants as a whole is that for all readers behind it: it is summed up once. */
void zb_shard_sum_once(zb_shard *s, int value, const zb_place *wanted);

/* Reads the option "shard" into the pins of arguments. USAGE for a glob that fits nothing, and a dimension that is not
 * there or cannot be cut. */
zb_result zb_shard_read_pins(zb_shard *s);
/* The error that s->blocked is. */
zb_result zb_shard_report_pin(zb_shard *s);
/* Leaves zb.whole on the module. */
zb_status zb_shard_note_whole(zb_shard *s) ZB_MUST_USE;

/* Finds the places of all values: what the rules ask for, from the first op to the last, again and again until nothing
 * that is cut has to be put together for an op, or something pinned would have to be (s->blocked). */
void zb_shard_find_places(zb_shard *s);
/* Whether what goes over the borders of regions (zb.to_local, zb.from_local) is where they say, as far as they may not
 * bring it there (shard_borders.c). Reports the first that is not, at its op. */
zb_result zb_shard_check_borders(const zb_shard *s);
/* Makes the program of one shard. */
zb_result zb_shard_rewrite(zb_shard *s);
