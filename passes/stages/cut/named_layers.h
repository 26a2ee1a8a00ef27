/* The layers of a program by its module paths: "transformer.h.0.attn" is in layer 0 of the list "transformer.h". Lists
 * within others (experts, the parts of a block) are no layers; of the others those are which have about as many ops a
 * module as the one that has most ops: an encoder's and a decoder's. No MLIR.
 */
#pragma once

#include "runtime/base/arena.h"

typedef struct zb_named_layers {
  int count;         /* 0: no path has a number in it */
  char **path;       /* [count] "transformer.h.0" */
  int *first, *last; /* [count] the first and the last of the names that are in it */
} zb_named_layers;

/* names: [name_count] "module.path (node)" of ops in program order; NULL: without one. wanted: only so many layers will
 * do, of one list, whichever it is, where those above are not so many; 0: any number. Layers are in the order of their
 * first names. Lives in the arena. O(length of the names). */
zb_status zb_named_layers_find(zb_arena *arena, const char *const *names, int name_count, int wanted,
                               zb_named_layers *out) ZB_MUST_USE;

struct zb_layer_layout;
/* Where the stages of a layout of these layers end: after[s] is the name after which stage s does, for all stages but
 * the last. What stands before the first layer is the embedding's, what stands behind the last one the loss's. USAGE
 * with a hint where a stage would have no op. */
zb_status zb_named_layers_cut(const zb_named_layers *layers, const struct zb_layer_layout *layout, int name_count,
                              int *after) ZB_MUST_USE;
