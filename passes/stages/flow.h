/* Dataflow facts that partition and classify share: what an op depends on and leads to. By dataflow alone, for any
 * dialect's ops. */
#pragma once

#include "passes/graph.h"
#include "passes/pass.h"

enum {
  ZB_FLOW_INPUT = 1 << 0,      /* depends on an input of the model */
  ZB_FLOW_PARAMETER = 1 << 1,  /* depends on a parameter, frozen parameter or optimizer state */
  ZB_FLOW_TRAINED = 1 << 2,    /* depends on a trained parameter */
  ZB_FLOW_LOAD = 1 << 3,       /* pure, of constants only, no sum over shards: runs once when the plan is loaded */
  ZB_FLOW_FORWARD = 1 << 4,    /* the loss or another plain output depends on it */
  ZB_FLOW_ACCUMULATE = 1 << 5, /* is an accumulate */
  ZB_FLOW_OPTIMIZE = 1 << 6,   /* depends on an accumulate */
  ZB_FLOW_BACKWARD = 1 << 7,   /* leads to an accumulate, not forward */
  ZB_FLOW_CHAIN = 1 << 8,      /* forward, pure, from parameters and constants alone: cloned for each reader */
  ZB_FLOW_VIEW = 1 << 9,       /* moves no data */
  ZB_FLOW_LOSS = 1 << 10,      /* leads to an output of the forward pass */
  ZB_FLOW_OUTPUT = 1 << 12,    /* is an output of an evaluation */
  ZB_FLOW_STEP = 1 << 13,      /* a step needs it: all but what leads to outputs of an evaluation alone; of a program
                                  for inference: all */
  ZB_FLOW_COMMON = 1 << 11, /* of the optimizer: made of what all parameters put into one frame, and of nothing else */
};

typedef struct zb_flow {
  unsigned *nodes;     /* flags per node */
  unsigned *arguments; /* INPUT, PARAMETER, TRAINED of each argument */
} zb_flow;

zb_status zb_flow_build(zb_arena *arena, const zb_graph *graph, zb_flow *out) ZB_MUST_USE;
/* Flags of the producer of a value (of its argument). */
unsigned zb_flow_value(const zb_graph *graph, const zb_flow *flow, int value);
/* An activation: a forward value that depends on an input. */
bool zb_flow_is_activation(const zb_graph *graph, const zb_flow *flow, int value);

/* Casts of parameters as they are stored. copies: name of a parameter -> the result of its first cast; copy[nodes]:
 * that value for each cast to the same type, -1 for all other ops: casts to another type are chains as others. MEMORY.
 */
zb_status zb_flow_copies(const zb_graph *graph, const zb_flow *flow, zb_map *copies, int *copy) ZB_MUST_USE;

/* A constant that no job can hand to another, as its type has no size (index): each has its own. */
bool zb_flow_is_sizeless(const zb_graph *graph, const zb_node *node);
/* What passes from job to job lies in memory, and has a size there: the values that cross, and inputs. */
zb_result zb_flow_check_sizes(const zb_graph *graph, const zb_flow *flow, const bool *crosses);

/* Buffers (zb.buffer) as numbers of arguments. The one whose new value result `index` is; -1: it is of none. */
int zb_buffer_of_result(const zb_graph *graph, int index);
/* The result that is its new value. */
int zb_buffer_result(const zb_graph *graph, int argument);
/* The buffer where a value lies, itself or as a view of it; -1: in none. */
int zb_buffer_at(const zb_graph *graph, int value);
