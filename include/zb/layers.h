/* Layouts of layers: which layers of a model are on which rank of a pipeline.
 *
 * A model is an embedding, layers 0, 1, ..., perhaps heads that predict further tokens, and a loss. A layout gives each
 * virtual stage a run of them, in order; a placement gives each virtual stage a rank, and its chunk is how many stages
 * of that rank come before it. A layout is a rule or a string.
 *
 *   even                   every stage the same number of layers; ranks x chunks divides that of all
 *   even:first=5,last=6    the first and the last rank have so many, the others share the rest alike, each rank cuts
 * its own into chunks alike even:embedding=true,loss=true   either counts as a layer: the first (last) stage has one
 * layer less even:stage=2           so many layers a stage, which says how many chunks there are balanced any number:
 * where it does not divide, the first stages have one layer more Et*3|(tt|)*29,m|L      a string: E embedding, t layer,
 * m head of further tokens, L loss; '|' ends a stage, x*n and
 *                          (..)*n repeat, commas are not read. Stages may be empty. Each head has its loss in the one
 *                          L, or there is an L for each and one for the model, on several stages: E|(t|)*10m|m|m|LL|LL
 *
 *   zb_layer_layout layout;
 *   zb_layer_place place;
 *   zb_layer_params params = {.layout = "even", .layers = 16, .ranks = 4, .chunks = 2};
 *   zb_status status = zb_layer_layout_init(&layout, &params);
 *   if (!status) status = zb_layer_place_of(&layout, 9, &place);     stage 4: chunk 1 of rank 0
 *   zb_layer_layout_deinit(&layout);
 *
 * The rules and the string are those of Megatron-Core, balanced is that of Paddle. Where a division leaves something,
 * that is an error: no layer is left out. All functions are thread-safe.
 */
#ifndef ZB_LAYERS_H
#define ZB_LAYERS_H

#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zb_layer_params {
  const char *layout;    /* a rule or a string */
  int layers;            /* 0: as many as the string has; a rule must be told */
  int ranks;             /* 0: as many as the string has stages, over chunks; a rule must be told */
  int chunks;            /* stages a rank; 0: what the string or stage=N says, else 1 */
  const char *placement; /* "looped", "v", "0,1,1,0": see zb/schedule.h; NULL: plain, of several chunks looped */
} zb_layer_params;

enum { ZB_LAYERS_MAX = 1000000 }; /* layers, heads, losses and stages of a layout */

/* What a virtual stage has. */
typedef struct zb_layer_stage {
  int rank, chunk;
  int first_layer, layers; /* [first_layer, first_layer + layers) */
  int heads, losses;
  bool embedding;
} zb_layer_stage;

typedef struct zb_layer_layout {
  int layers, heads, ranks, chunks, stages; /* stages = ranks x chunks */
  zb_layer_stage *stage;                    /* [stages] */
  int *layer_stage;                         /* [layers] */
} zb_layer_layout;

/* Whether a layout is a string, and not the name of a rule. */
ZB_API bool zb_layers_is_string(const char *layout);
/* USAGE: what does not fit, where in the string, and a hint. Released with zb_layer_layout_deinit; on failure it is
 * empty. */
ZB_API zb_status zb_layer_layout_init(zb_layer_layout *layout, const zb_layer_params *params) ZB_MUST_USE;
ZB_API void zb_layer_layout_deinit(zb_layer_layout *layout);

typedef struct zb_layer_place {
  int rank, stage, chunk;
} zb_layer_place;
/* Where a layer is. USAGE: there is no such layer. */
ZB_API zb_status zb_layer_place_of(const zb_layer_layout *layout, int layer, zb_layer_place *out) ZB_MUST_USE;

/* The layout as a string, repetitions short: reading it with as many ranks and the same placement gives the same
 * layout. Owned by the caller (zb_free); NULL when out of memory. */
ZB_API char *zb_layer_layout_string(const zb_layer_layout *layout) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
